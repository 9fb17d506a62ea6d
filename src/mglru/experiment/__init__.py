# SPDX-License-Identifier: GPL-2.0-only
"""From the TOML of `experiments/` to an experiment as a value."""
