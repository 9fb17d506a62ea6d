# SPDX-License-Identifier: GPL-2.0-only
"""Step 1, source: from a kernel's name to a pristine tree of its base."""
