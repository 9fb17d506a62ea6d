# SPDX-License-Identifier: GPL-2.0-only
"""Names of kernels.

`6.12` stock, `6.12+next` with the series, `6.12+next:7` with its first seven patches,
`6.12%LRU_GEN=n` with an option set, `6.12%debug` with kconfig/debug.config merged,
`6.12@classic` with the multi-gen LRU switched off at run time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mglru.core.errors import UsageError

BASES = ("6.12", "7.3")
SERIES_BASES = ("6.12",)

_PATTERN = re.compile(
    r"(?P<base>\d+\.\d+)"
    r"(?P<series>\+next(:(?P<upto>\d+))?)?"
    r"(%(?P<options>OPTION(,OPTION)*))?"
    r"(?P<classic>@classic)?".replace("OPTION", r"([A-Z0-9_]+=[a-z0-9]+|[a-z]+)")
)


@dataclass(frozen=True, order=True)
class KernelId:
    """One kernel, as named on the command line and in every result.

    Attributes:
        base: the upstream version, `6.12` or `7.3`.
        series: whether our series is applied.
        upto: apply only the first so many patches (None: all of them).
        options: kernel options on top of the lab's own, as (name, value) pairs; an empty
            value makes the name that of a fragment in kconfig/.
        classic: switch the multi-gen LRU off at run time (same binary).
    """

    base: str
    series: bool = False
    upto: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    classic: bool = False

    def __str__(self) -> str:
        return self._text("" if self.upto is None else f":{self.upto}")

    @property
    def of_any_length(self) -> str:
        """The name that all starts of a series share: `6.12+next:N` for `6.12+next:7`."""
        return self._text("" if self.upto is None else ":N")

    def _text(self, upto: str) -> str:
        text = f"{self.base}+next{upto}" if self.series else self.base
        if self.options:
            text += "%" + ",".join(
                f"{name}={value}" if value else name for name, value in self.options
            )
        return text + ("@classic" if self.classic else "")

    @property
    def built(self) -> KernelId:
        """The kernel to build for this one: without the switches of the run."""
        return replace(self, classic=False)

    @classmethod
    def parse(cls, text: str) -> KernelId:
        """Read a kernel's name.

        Raises:
            UsageError: not a kernel's name, or no such base or series.
        """
        match = _PATTERN.fullmatch(text.strip())
        known = "see `./mglru kernels`"
        if not match:
            raise UsageError(f"'{text}' is not a kernel's name", next_step=known)
        base = match["base"]
        if base not in BASES:
            raise UsageError(f"no kernel '{base}'; there are {', '.join(BASES)}", next_step=known)
        if match["series"] and base not in SERIES_BASES:
            raise UsageError(
                f"'{text}': the series is for {', '.join(SERIES_BASES)} only", next_step=known
            )
        pairs = match["options"].split(",") if match["options"] else []
        return cls(
            base=base,
            series=bool(match["series"]),
            upto=int(match["upto"]) if match["upto"] else None,
            options=tuple(
                (pair.partition("=")[0], pair.partition("=")[2]) for pair in sorted(pairs)
            ),
            classic=bool(match["classic"]),
        )


def parse_list(text: str) -> list[KernelId]:
    """Read `A,B,...`; commas inside a kernel's own option list stay with it.

    Raises:
        UsageError: an empty list, a bad name, or a kernel named twice.
    """
    names: list[str] = []
    for piece in text.split(","):
        if names and "%" in names[-1] and not piece.strip()[:1].isdigit():
            names[-1] += "," + piece
        else:
            names.append(piece)
    kernels = [KernelId.parse(name) for name in names]
    if len(set(kernels)) != len(kernels):
        raise UsageError(f"'{text}' names a kernel twice")
    return kernels
