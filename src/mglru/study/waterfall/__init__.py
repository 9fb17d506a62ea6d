# SPDX-License-Identifier: GPL-2.0-only
"""What each patch does: runs on prefixes of the series, and each step as a table."""
