"""The scopes of variables: functions, inlined calls and blocks, with the addresses of their code."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from operator import lt
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.scopes import qualified_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.objfile.info.unit import Unit

FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
MAX_CHAIN = 256
"""Calls that are inlined in each other deeper than this are not named."""


class CodeScope:
    """A function, an inlined call or a block that variables are declared in."""

    __slots__ = (
        "_sums",
        "facts",
        "frame_base",
        "function",
        "is_own",
        "offset",
        "parent",
        "size",
        "spans",
        "tag",
        "unit",
    )

    def __init__(
        self,
        unit: Unit,
        offset: int,
        tag: int,
        parent: CodeScope | None,
        spans: list[tuple[int, int]],
        *,
        is_own: bool = True,
    ) -> None:
        self.unit = unit
        self.offset = offset
        """The offset of the entry in the unit."""
        self.tag = tag
        self.parent = parent
        self.spans = spans
        """The addresses of the code, in order and apart from each other."""
        self.is_own = is_own
        """Whether these are its own, and not those of what is around it."""
        self.size = sum([high - low for low, high in spans])
        self.function: CodeScope = self if parent is None or tag == dw.DW_TAG_subprogram else parent.function
        """The function whose code it is part of."""
        self.facts: dict[Hashable, Any] = {} if self.function is self else self.function.facts
        """What is known of that function."""
        self.frame_base: tuple[bytes, Format] | None = None if self.function is self else self.function.frame_base
        self._sums: list[int] | None = None

    @property
    def has_expression_base(self) -> bool:
        """Whether its function has a frame base that is an expression."""
        return self.frame_base is not None

    def before(self, address: int) -> int:
        """Return how many bytes of the code are below an address."""
        spans = self.spans
        if len(spans) == 1:
            low, high = spans[0]
            return 0 if address <= low else min(address, high) - low
        if self._sums is None:
            self._sums = [0]
            for low, high in spans:
                self._sums.append(self._sums[-1] + high - low)
        index = bisect_right(spans, (address,))  # the spans that begin below it
        if not index:
            return 0
        return self._sums[index] - max(0, spans[index - 1][1] - address)

    @property
    def die(self) -> Die:
        return self.unit.die_known_at(self.offset)

    @property
    def name(self) -> str:
        """The qualified name of a function."""
        key = self.unit, self.offset
        name = self.facts.get(key)
        if name is None:
            try:
                name = qualified_name(self.die) or "(unnamed)"
            except DwarfGpuError as error:
                self.unit.dwarf.note(error)
                name = "(unreadable)"
            self.facts[key] = name
        return str(name)

    @property
    def linkage_name(self) -> str | None:
        """The name that the linker knows a function by, if it has one."""
        try:
            return self.die.linkage_name
        except DwarfGpuError as error:
            self.unit.dwarf.note(error)
            return None

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
            names[function] = f"{name} ({other})"
    return names


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order and without overlaps."""
    if len(spans) < 2:
        return spans
    lows, highs = zip(*spans, strict=True)
    if all(map(lt, highs, lows[1:])):
        return spans
    result: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if result and low <= result[-1][1]:
            if high > result[-1][1]:
                result[-1] = result[-1][0], high
        else:
            result.append((low, high))
    return result
