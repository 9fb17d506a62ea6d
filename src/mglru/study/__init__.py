# SPDX-License-Identifier: GPL-2.0-only
"""Questions that take many runs: sweeps, suites, bounds, waterfalls, a user's own program."""
