# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru try`: a user's command in, an experiment out; how it ended, in words."""
