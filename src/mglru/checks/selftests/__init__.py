# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own selftests: compiled, run in a guest, and their output read."""
