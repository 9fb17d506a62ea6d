# SPDX-License-Identifier: GPL-2.0-only
"""Step 4, machine: from a request to boot to what came of it, on UML or QEMU."""
