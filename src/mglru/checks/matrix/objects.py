# SPDX-License-Identifier: GPL-2.0-only
"""Which objects to compile: of the files that a series touches, those that a configuration has.

Make compiles any object that it is asked for, also one that the configuration leaves out, and
which then cannot compile. So kbuild's own Makefiles are asked what they would build.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from mglru.core import process

# Users of what the headers declare that a series touches: the LRU, reclaim, memory cgroups, the
# page cache, the flags of pages. Not all that include them: that would be the whole kernel.
HEADER_USERS = (
    "mm/page_alloc.c",
    "mm/memcontrol.c",
    "mm/memory.c",
    "mm/rmap.c",
    "mm/vmstat.c",
    "mm/mlock.c",
    "mm/swap_state.c",
    "mm/swapfile.c",
    "mm/truncate.c",
    "mm/compaction.c",
    "mm/memory_hotplug.c",
    "mm/mm_init.c",
    "fs/buffer.c",
    "fs/ext4/inode.c",
    "kernel/fork.c",
)
_LIST = r"""
include include/config/auto.conf
obj := $(directory)
include $(srctree)/$(directory)/Makefile
parts = $(foreach o,$(1),$(if $($(o:.o=)-y)$($(o:.o=)-objs),\
	$(call parts,$($(o:.o=)-y) $($(o:.o=)-objs)),$(o)))
$(foreach o,$(filter %.o,$(call parts,$(obj-y) $(obj-m))),$(info object: $(directory)/$(o)))
.PHONY: list
list: ; @:
"""
_MARK = "object: "
_PROGRAMS = ("tools/", "samples/", "scripts/", "usr/")


def sources_of(touched: Iterable[str], tree: Path) -> tuple[str, ...]:
    """Return the C files to compile that a tree has: those touched, and users of the headers.

    Programs beside the kernel, such as its selftests, are not among them.
    """
    kernel = {name for name in touched if not name.startswith(_PROGRAMS)}
    wanted = {name for name in kernel if name.endswith(".c")} | set(HEADER_USERS)
    return tuple(sorted(name for name in wanted if (tree / name).is_file()))


def enabled_objects(sources: Sequence[str], tree: Path, output: Path) -> tuple[str, ...]:
    """Return the objects of C files that a configured and prepared build directory has.

    Raises:
        LabError: make does not understand a directory's Makefile.
    """
    objects = {f"{name.removesuffix('.c')}.o" for name in sources}
    known: set[str] = set()
    for directory in sorted({posixpath.dirname(name) for name in objects}):
        known |= _listed(directory, tree, output)
    return tuple(sorted(objects & known))


def objects_to_compile(touched: Iterable[str], tree: Path, output: Path) -> tuple[str, ...]:
    """Return the objects for touched files, none of which is there: each gives its messages again.

    Args:
        touched: the files that a series touches.
        tree: the source tree.
        output: the build directory, configured and prepared.
    """
    objects = enabled_objects(sources_of(touched, tree), tree, output)
    for name in objects:
        # compilers, sparse and kernel-doc only look at what is compiled
        (output / name).unlink(missing_ok=True)
    return objects


def _listed(directory: str, tree: Path, output: Path) -> set[str]:
    if not (tree / directory / "Makefile").is_file():
        return set()
    text = process.run(
        [
            *("make", "-rR", "--no-print-directory", "-f", "/dev/null", f"--eval={_LIST}"),
            *(f"srctree={tree}", f"src={tree / directory}", f"directory={directory}", "list"),
        ],
        purpose=f"list what is compiled in {directory}",
        cwd=output,
    )
    lines = (line.removeprefix(_MARK) for line in text.splitlines() if line.startswith(_MARK))
    return {posixpath.normpath(line) for line in lines}
