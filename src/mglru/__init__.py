# SPDX-License-Identifier: GPL-2.0-only
"""The lab of mglru-next: kernel source, series, build, boot, run, results, report."""
