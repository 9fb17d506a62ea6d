# SPDX-License-Identifier: GPL-2.0-only
"""Step 3, build: from a patched source and a configuration to a kernel, or to packages of it."""
