# SPDX-License-Identifier: GPL-2.0-only
"""Kernel configuration: fragments in, a .config out, and proof that it says what was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError
from mglru.core.paths import KCONFIG
from mglru.source.kernel_id import KernelId

_SET = re.compile(r"CONFIG_(\w+)=(.*)")
_UNSET = re.compile(r"# CONFIG_(\w+) is not set")
_WISH = re.compile(r"# CONFIG_(\w+)=(\S+) if the kernel has it")
# Ends the value of an option that a kernel may lack.
WISH = "?"
# What a configuration starts from: everything off that can be.
NOTHING = "allnoconfig"


def parse(text: str) -> dict[str, str]:
    """Read options from a .config or a fragment: name without CONFIG_ -> value, `n` if unset.

    A later line wins over an earlier one, as in kconfig. `# CONFIG_X=y if the kernel has it` gives
    the value `y?`, of an option that a kernel may not know.
    """
    options: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.fullmatch(line.strip()):
            options[match[1]] = match[2]
        elif match := _UNSET.fullmatch(line.strip()):
            options[match[1]] = "n"
        elif match := _WISH.fullmatch(line.strip()):
            options[match[1]] = match[2] + WISH
    return options


def render(options: Mapping[str, str]) -> str:
    """Write options as a fragment, sorted by name."""
    plain = {name: value.removesuffix(WISH) for name, value in options.items()}
    return "".join(
        f"# CONFIG_{name} is not set\n" if value == "n" else f"CONFIG_{name}={value}\n"
        for name, value in sorted(plain.items())
    )


def requested(kernel: KernelId, fragments: Sequence[str]) -> dict[str, str]:
    """Merge the named fragments of kconfig/ and the options in the kernel's own name.

    Raises:
        LabError: a kernel's variant has no fragment.
    """
    options: dict[str, str] = {}
    variants = [name for name, value in kernel.options if not value]
    for name in [*fragments, *variants]:
        path = KCONFIG / f"{name}.config"
        if not path.is_file():
            raise LabError(
                f"'{kernel}': no kernel configuration '{name}'",
                next_step="kconfig/ has " + ", ".join(p.stem for p in KCONFIG.glob("*.config")),
            )
        options |= parse(path.read_text())
    explicit = {name: value for name, value in kernel.options if value}
    switched_off = tuple(f"{name}_" for name, value in explicit.items() if value == "n")
    # LRU_GEN=n takes LRU_GEN_STATS along: what depends on an option carries its name.
    kept = {name: value for name, value in options.items() if not name.startswith(switched_off)}
    return kept | explicit


def unmet(asked: Mapping[str, str], config: Mapping[str, str]) -> list[str]:
    """List the requested options that a .config does not have as asked."""
    required = {
        name: value.removesuffix(WISH)
        for name, value in sorted(asked.items())
        if name in config or not value.endswith(WISH)
    }
    return [
        f"CONFIG_{name}: asked for {value}, got {config.get(name, 'n')}"
        for name, value in required.items()
        if config.get(name, "n") != value
    ]


def configure(
    tree: Path,
    arch: str,
    asked: Mapping[str, str],
    make: Sequence[str],
    start: str = NOTHING,
) -> str:
    """Write `tree`/.config and return its text.

    The file is replaced only if it differs, so that make rebuilds only what must be.

    Args:
        tree: the kernel tree to configure.
        arch: make's ARCH.
        asked: the requested options; everything else is as `start` has it, or follows from these.
        make: the make command with its common arguments.
        start: make's target that sets all options first.

    Raises:
        LabError: make failed, or a requested option is not in the result.
    """
    new = tree / ".config.mglru"
    command = [*make, f"ARCH={arch}", f"KCONFIG_CONFIG={new.name}"]
    process.run([*command, start], purpose="configure the kernel", cwd=tree)
    with new.open("a") as file:
        file.write(render(asked))
    process.run([*command, "olddefconfig"], purpose="configure the kernel", cwd=tree)
    text = new.read_text()
    if problems := unmet(asked, parse(text)):
        raise LabError(
            f"{len(problems)} requested kernel options cannot be set on this kernel",
            log_tail=problems,
            next_step="a missing dependency: see the option's Kconfig entry, and mend kconfig/",
        )
    target = tree / ".config"
    if target.exists() and target.read_text() == text:
        new.unlink()
    else:
        new.replace(target)
    return text
