# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series`: one module a command."""
