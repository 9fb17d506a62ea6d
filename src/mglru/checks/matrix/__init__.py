# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check --matrix`: does the series compile, quietly, however a kernel is set up?"""
