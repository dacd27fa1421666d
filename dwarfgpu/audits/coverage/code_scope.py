"""The scopes of variables: functions, inlined calls and blocks, with the addresses of their code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.tally import CoverageSum, Tally
from dwarfgpu.audits.noting import noted
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.program.code.kernel_parameters import is_body, listed_name

FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
MAX_CHAIN = 256
"""Calls that are inlined in each other deeper than this are not named."""


class CodeScope:
    """A function, an inlined call or a block that variables are declared in."""

    __slots__ = ("facts", "frame_base", "function", "offset", "parent", "size", "spans", "tag", "tally", "unit")

    def __init__(
        self, unit: Unit, offset: int, tag: int, parent: CodeScope | None, spans: Sequence[tuple[int, int]]
    ) -> None:
        self.unit = unit
        self.offset = offset
        """The offset of the entry in the unit."""
        self.tag = tag
        self.parent = parent
        self.spans = spans
        """The addresses of the code, in order and apart from each other."""
        self.size = sum([high - low for low, high in spans])
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
            self.facts: dict[Hashable, Any] = {}
            """What is known of it."""

    @property
    def sum(self) -> CoverageSum:
        """The sum over the variables of a function, with those of the calls that are inlined in it."""
        return self.function.tally.sum()

    def before(self, address: int) -> int:
        """Return how many bytes of the code are below an address."""
        return sum([min(high, address) - low for low, high in self.spans if low < address])

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
