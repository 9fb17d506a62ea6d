# SPDX-License-Identifier: GPL-2.0-only
"""Both ends of a guest: its programs and its plan go in, what it reports is read and counted."""
