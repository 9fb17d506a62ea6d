# SPDX-License-Identifier: GPL-2.0-only
"""Boots on many machines: what is asked as values, what is answered as values."""
