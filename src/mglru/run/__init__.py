# SPDX-License-Identifier: GPL-2.0-only
"""Step 5, run: builds and data made once, boots made, judged and recorded."""
