# SPDX-License-Identifier: GPL-2.0-only
"""From a dataset's spec, and the files that a guest needs, to images of disks."""
