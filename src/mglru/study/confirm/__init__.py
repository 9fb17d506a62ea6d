# SPDX-License-Identifier: GPL-2.0-only
"""Whether what some seeds found holds with others: boots with those, and a table of both."""
