# SPDX-License-Identifier: GPL-2.0-only
"""The optimum and other policies beside kernels: page accesses in, refaults out."""
