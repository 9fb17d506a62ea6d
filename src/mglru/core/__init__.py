# SPDX-License-Identifier: GPL-2.0-only
"""What every stage uses: errors, other programs, paths and the cache, statistics, the terminal."""
