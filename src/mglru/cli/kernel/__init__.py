# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel`: one module a command."""
