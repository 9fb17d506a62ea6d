# SPDX-License-Identifier: GPL-2.0-only
"""Step 8, report: results as one HTML page.

The order of the modules is that of the data: inputs (files) -> sections (of the page, with
tables and charts) -> page (HTML). Charts are Vega-Lite specifications, one module a kind.
"""
