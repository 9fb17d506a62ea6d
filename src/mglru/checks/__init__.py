# SPDX-License-Identifier: GPL-2.0-only
"""Whether patches, kernels and the lab itself are as they should be."""
