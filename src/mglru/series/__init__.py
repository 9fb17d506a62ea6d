# SPDX-License-Identifier: GPL-2.0-only
"""Step 2, series: from the patches of `patches/<base>/` to patched files, and back from commits."""
