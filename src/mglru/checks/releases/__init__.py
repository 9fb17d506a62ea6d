# SPDX-License-Identifier: GPL-2.0-only
"""On which point releases the series was tried, and how it went."""
