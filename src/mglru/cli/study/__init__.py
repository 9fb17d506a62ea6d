# SPDX-License-Identifier: GPL-2.0-only
"""The commands for questions that take many runs."""
