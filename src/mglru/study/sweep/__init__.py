# SPDX-License-Identifier: GPL-2.0-only
"""An experiment at many points, into one file, as tables and curves."""
