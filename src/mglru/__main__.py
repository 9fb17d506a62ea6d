# SPDX-License-Identifier: GPL-2.0-only
"""`python -m mglru`: what the launcher runs."""

from mglru.cli import main

if __name__ == "__main__":
    main()
