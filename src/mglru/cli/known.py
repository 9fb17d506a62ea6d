# SPDX-License-Identifier: GPL-2.0-only
"""What options offer, as those modules have it that take long to import: help needs no more.

tests/unit/cli/test_help.py holds them equal.
"""

from __future__ import annotations

UML = "uml"
MACHINES = (UML, "qemu", "qemu-smp", "qemu-threads", "kvm")
MOST_CPUS = 4
MOST_NODES = 4
# Of `confirm`.
CONFIRMING_SEED = 1001
MIN_PAIRS = 5
# Of `compare`, made of all runs together.
FORMS_OF_ALL = ("suite", "overview", "headline")
# Of `bound`.
SMALLEST_CACHE = 64
PATTERN_SETS = ("train", "validate", "all")
# Of `sweep`.
SWEEP_FORMATS = ("table", "markdown")
# Of `series tested`.
TESTED_WITH = "memcg-stress"
