# SPDX-License-Identifier: GPL-2.0-only
"""Debian's archive: packages fetched and unpacked, installed where the lab needs them."""
