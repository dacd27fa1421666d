"""The scopes of variables: functions, inlined calls and blocks, with the addresses of their code."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import lt, sub
from typing import Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.tally import CoverageSum, Tally
from dwarfgpu.audits.noting import noted
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.scopes import AddressSpans, qualified_name
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.program.code.kernel_parameters import is_body, listed_name

FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
MAX_CHAIN = 256
"""Calls that are inlined in each other deeper than this are not named."""


class CodeScope:
    """A function, an inlined call or a block that variables are declared in."""

    __slots__ = ("_facts", "_sums", "frame_base", "function", "highs", "lows", "offset", "parent", "size", "tag",
                 "tally", "unit")  # fmt: skip

    def __init__(
        self, unit: Unit, offset: int, tag: int, parent: CodeScope | None, lows: Sequence[int], highs: Sequence[int]
    ) -> None:
        self.unit = unit
        self.offset = offset
        """The offset of the entry in the unit."""
        self.tag = tag
        self.parent = parent
        self.lows = lows
        """Where the parts of its code begin, in order; the parts do not touch."""
        self.highs = highs
        """Where they end."""
        self.size = sum(highs) - sum(lows)
        self._sums: list[int] | None = None
        self.function: CodeScope
        """The function whose code it is part of. The rest is for this one alone."""
        if parent is not None and tag != dw.DW_TAG_subprogram:
            self.function = parent.function
        else:
            self.function = self
            self.frame_base: bytes | None = None
            """Its frame base, if that is an expression."""
            self.tally = Tally()
            """The sum over its variables, where they are only counted."""
            self._facts: dict[Hashable, Any] | None = None

    @property
    def facts(self) -> dict[Hashable, Any]:
        """What is known of the function."""
        if self._facts is None:
            self._facts = {}
        return self._facts

    @property
    def sum(self) -> CoverageSum:
        """The sum over the variables of a function, with those of the calls that are inlined in it."""
        return self.function.tally.sum()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The addresses of the code, in order and apart from each other."""
        return list(zip(self.lows, self.highs, strict=True))

    @property
    def sums(self) -> list[int]:
        """For each part of the code the size of it and of all before it."""
        if self._sums is None:
            self._sums = [*accumulate(map(sub, self.highs, self.lows))]
        return self._sums

    def before(self, address: int) -> int:
        """Return how many bytes of the code are below an address."""
        part = bisect_right(self.lows, address) - 1
        return 0 if part < 0 else self.sums[part] - max(0, self.highs[part] - address)

    @property
    def die(self) -> Die:
        return self.unit.die_known_at(self.offset)

    @property
    def name(self) -> str:
        """The qualified name of a function."""
        key = self.unit, self.offset
        name = self.function.facts.get(key)
        if name is None:
            name = noted(self.unit, lambda: qualified_name(self.die) or "(unnamed)", "(unreadable)")
            self.function.facts[key] = name
        return str(name)

    @property
    def linkage_name(self) -> str | None:
        """The name that the linker knows a function by, if it has one."""
        return noted(self.unit, lambda: self.die.linkage_name, None)

    def calls(self) -> Iterator[CodeScope]:
        """Yield the functions that it is in, from the innermost call to the function that has the code."""
        scope: CodeScope | None = self
        for _ in range(MAX_CHAIN):
            while scope is not None and scope.tag not in FUNCTIONS:
                scope = scope.parent
            if scope is None:
                return
            yield scope
            if scope.tag == dw.DW_TAG_subprogram:
                return
            scope = scope.parent


def distinct_names(functions: Iterable[CodeScope]) -> dict[CodeScope, str]:
    """Return the names of functions; where several have the same one, with the names that the linker knows them by."""
    names = {function: function.name for function in functions}
    counts = Counter(names.values())
    for function, name in names.items():
        other = function.linkage_name if counts[name] > 1 else None
        if other is not None and other != name:
            names[function] = listed_name(other) if is_body(other) else f"{name} ({other})"
    return names


def merged(lows: Sequence[int], highs: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return where ranges begin and end, in order and without those that touch."""
    if all(map(lt, highs, lows[1:])):
        return lows, highs
    spans = [*AddressSpans(zip(lows, highs, strict=True))]
    return [low for low, _high in spans], [high for _low, high in spans]
