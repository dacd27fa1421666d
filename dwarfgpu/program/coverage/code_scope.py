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

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.lists.quick_lists import PackedRanges
    from dwarfgpu.program.coverage.kinds import Meaning

FUNCTIONS = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine))
MAX_CHAIN = 256
"""Calls that are inlined in each other deeper than this are not named."""


class CodeScope:
    """A function, an inlined call or a block that variables are declared in."""

    __slots__ = (
        "_edges",
        "alike",
        "code",
        "facts",
        "frame_base",
        "function",
        "is_own",
        "offset",
        "parent",
        "size",
        "tag",
        "unit",
    )

    def __init__(
        self,
        unit: Unit,
        offset: int,
        tag: int,
        parent: CodeScope | None,
        code: list[tuple[int, int]] | PackedRanges,
        size: int,
        is_own: bool = True,  # noqa: FBT001, FBT002 (a name would cost each of the many scopes of a file)
    ) -> None:
        self.unit = unit
        self.offset = offset
        """The offset of the entry in the unit."""
        self.tag = tag
        self.parent = parent
        self.code = code
        """The addresses of its code, as `spans` or packed."""
        self.size = size
        """How many bytes of code it has."""
        self.is_own = is_own
        """Whether these are its own, and not those of what is around it."""
        self._edges: tuple[int, Sequence[int], Sequence[int], Sequence[int]] | None = None
        self.frame_base: tuple[bytes, Format] | None
        self.alike: dict[Meaning | str, list[int]]
        self.facts: dict[Hashable, Any]
        self.function: CodeScope
        if parent is None or tag == dw.DW_TAG_subprogram:
            self.function = self
            """The function whose code it is part of."""
            self.facts = {}
            """What is known of that function."""
            self.alike = {}
            """What is said everywhere in their scopes of how many of its variables, and the bytes of these scopes."""
            self.frame_base = None
        else:
            self.function = parent.function
            self.facts = parent.facts
            self.alike = parent.alike
            self.frame_base = parent.frame_base

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The addresses of the code, in order and apart from each other."""
        code = self.code
        if not isinstance(code, list):
            self.code = code = code.spans()
        return code

    def count(self, said: Meaning | str, variables: int = 1) -> None:
        """Count variables of which the same is said everywhere in this scope."""
        count = self.alike.get(said)
        if count is None:
            self.alike[said] = [variables, variables * self.size]
        else:
            count[0] += variables
            count[1] += variables * self.size

    @property
    def has_expression_base(self) -> bool:
        """Whether its function has a frame base that is an expression."""
        return self.frame_base is not None

    @property
    def edges(self) -> tuple[int, Sequence[int], Sequence[int], Sequence[int]]:
        """An address; counted from it, where parts of the code begin and end; and the sums of their sizes.

        The sum for a part is the size of this one and of all before it.
        """
        edges = self._edges
        if edges is None:
            code = self.code
            if isinstance(code, list):
                lows, highs = [low for low, _high in code], [high for _low, high in code]
                edges = 0, lows, highs, [*accumulate(map(sub, highs, lows))]
            else:
                edges = code.bounds()
            self._edges = edges
        return edges

    def before(self, address: int) -> int:
        """Return how many bytes of the code are below an address."""
        base, lows, highs, sums = self._edges or self.edges
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
