"""The scopes of variables: functions, inlined calls and blocks, with the addresses of their code."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from operator import lt, sub
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.coverage.tally import ONE_BYTE, Tally

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.lists.quick_lists import PackedRanges
    from dwarfgpu.program.coverage.kinds import Meaning
    from dwarfgpu.program.coverage.tally import CoverageSum

FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
MAX_CHAIN = 256
"""Calls that are inlined in each other deeper than this are not named."""


class CodeScope:
    """A function, an inlined call or a block that variables are declared in."""

    __slots__ = ("_edges", "_facts", "code", "frame_base", "function", "is_own", "meanings", "offset", "parent", "size",
                 "tag", "tally", "unit", "weight")  # fmt: skip

    def __init__(
        self,
        unit: Unit,
        offset: int,
        tag: int,
        parent: CodeScope | None,
        code: int | PackedRanges | list[tuple[int, int]],
        size: int,
        is_own: bool = True,  # noqa: FBT001, FBT002 (a name would cost each of the many scopes of a file)
    ) -> None:
        self.unit = unit
        self.offset = offset
        """The offset of the entry in the unit."""
        self.tag = tag
        self.parent = parent
        self.code = code
        """The addresses of its code: where it begins if it is in one piece, packed ranges, or `spans`."""
        self.size = size
        """How many bytes of code it has."""
        self.weight = size * ONE_BYTE + 1
        """What one of its variables adds to the numbers of a `Tally`."""
        self.is_own = is_own
        """Whether these are its own, and not those of what is around it."""
        self._edges: tuple[int, Sequence[int], Sequence[int], Sequence[int]] | None = None
        self.function: CodeScope
        """The function whose code it is part of. The rest is for this one alone."""
        if parent is not None and tag != dw.DW_TAG_subprogram:
            self.function = parent.function
        else:
            self.function = self
            self.frame_base: bytes | None = None
            """Its frame base, if that is an expression."""
            self.meanings: dict[bytes, Meaning]
            """What expressions say of its variables; the walk shares it between functions."""
            self.tally = Tally()
            """The sum over its variables, where they are only counted."""
            self._facts: dict[Hashable, Any] | None = None

    @property
    def facts(self) -> dict[Hashable, Any]:
        """What is known of the function."""
        if self._facts is None:
            self._facts = {}
        return self._facts

    def forget(self) -> None:
        """Forget what is made again when it is asked for."""
        self._edges = None

    @property
    def sum(self) -> CoverageSum:
        """The sum over the variables of a function, with those of the calls that are inlined in it."""
        return self.function.tally.sum()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The addresses of the code, in order and apart from each other."""
        code = self.code
        if isinstance(code, int):
            self.code = code = [(code, code + self.size)]
        elif not isinstance(code, list):
            self.code = code = code.spans()
        return code

    def edges(self) -> tuple[int, Sequence[int], Sequence[int], Sequence[int]]:
        """Return an address; counted from it, where parts of the code begin and end; and the sums of their sizes.

        The sum for a part is the size of this one and of all before it.
        """
        edges = self._edges
        if edges is None:
            code = self.code
            if isinstance(code, int):
                edges = code, (0,), (self.size,), (self.size,)
            elif not isinstance(code, list):
                edges = code.bounds()
            else:
                lows, highs = [low for low, _high in code], [high for _low, high in code]
                edges = 0, lows, highs, [*accumulate(map(sub, highs, lows))]
            self._edges = edges
        return edges

    def before(self, address: int) -> int:
        """Return how many bytes of the code are below an address."""
        base, lows, highs, sums = self.edges()
        address -= base
        part = bisect_right(lows, address) - 1
        if part < 0:
            return 0
        return sums[part] - max(0, highs[part] - address)

    @property
    def die(self) -> Die:
        return self.unit.die_known_at(self.offset)

    @property
    def name(self) -> str:
        """The qualified name of a function."""
        key = self.unit, self.offset
        name = self.function.facts.get(key)
        if name is None:
            try:
                name = qualified_name(self.die) or "(unnamed)"
            except DwarfGpuError as error:
                self.unit.dwarf.note(error)
                name = "(unreadable)"
            self.function.facts[key] = name
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
