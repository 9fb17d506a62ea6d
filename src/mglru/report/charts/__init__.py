# SPDX-License-Identifier: GPL-2.0-only
"""Charts as Vega-Lite specifications: one module a kind."""
