# SPDX-License-Identifier: GPL-2.0-only
"""Many families of experiments, and where a kernel is worse than the stock ones."""
