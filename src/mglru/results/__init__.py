# SPDX-License-Identifier: GPL-2.0-only
"""The result of a run as values: what a file keeps, and kernels compared. Knows no machine."""
