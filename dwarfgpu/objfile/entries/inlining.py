"""The chain of inlined calls at an address (DWARF 5 section 3.3.8).

An inlined call is an entry below the function it was inlined into, with the ranges of its code and the position of the
call. So the scopes that cover an address, from the outside in, tell who called whom, and each call says where its
caller is; only the innermost position comes from the line table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_TAG_catch_block,
    DW_TAG_class_type,
    DW_TAG_inlined_subroutine,
    DW_TAG_lexical_block,
    DW_TAG_module,
    DW_TAG_namespace,
    DW_TAG_structure_type,
    DW_TAG_subprogram,
    DW_TAG_try_block,
    DW_TAG_union_type,
    DW_TAG_with_stmt,
)

# Tags (DWARF 5, 7.5.3).

SCOPES = frozenset(
    (
        DW_TAG_lexical_block,
        DW_TAG_inlined_subroutine,
        DW_TAG_subprogram,
        DW_TAG_with_stmt,
        DW_TAG_catch_block,
        DW_TAG_try_block,
    )
)
"""Entries that own addresses."""
_GROUPS = frozenset((DW_TAG_module, DW_TAG_namespace, DW_TAG_lexical_block))
"""Entries that may own scopes without having ranges of their own."""
_HIDING = _GROUPS | {DW_TAG_subprogram, DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_union_type}
"""Entries that in some languages own functions whose code lies elsewhere: methods, and functions inside functions."""


class ScopeDie(Protocol):
    """What this module needs of a debugging information entry."""

    @property
    def tag(self) -> int:
        """DW_TAG_*, by number."""

    @property
    def name(self) -> str | None:
        """DW_AT_name, its own or that of the entry its DW_AT_abstract_origin or DW_AT_specification leads to."""

    @property
    def call_file(self) -> int | None: ...

    @property
    def call_line(self) -> int | None: ...

    @property
    def call_column(self) -> int | None: ...

    def ranges(self) -> Sequence[tuple[int, int]]:
        """Return the address ranges of DW_AT_low_pc and DW_AT_high_pc or DW_AT_ranges; empty without these."""

    def children(self) -> Iterable[ScopeDie]:
        """Return the entries it owns."""


@frozen
class Position:
    """A place in the source. The file is a number of the unit's line table; 0 for line or column is unknown."""

    file: int | None = None
    line: int | None = None
    column: int | None = None


@frozen
class InlinedFrame:
    """One level of the chain: a function, and where execution is in it."""

    function: str | None
    position: Position
    inlined: bool
    """Whether it is inlined into the next level; false for the outermost one alone."""
    die: ScopeDie


def scopes_at(root: ScopeDie, address: int) -> list[ScopeDie]:
    """Return the scopes that cover an address, outermost first, found below a unit or any other entry.

    Where siblings overlap, the first one is taken. A scope without ranges is passed through: it may own some that have.
    Only when that finds nothing, functions inside functions and types are looked for, whose code lies elsewhere.
    """
    return _search(root, address, _GROUPS) or _search(root, address, _HIDING)


def _search(root: ScopeDie, address: int, passed_through: frozenset[int]) -> list[ScopeDie]:
    scopes: list[ScopeDie] = []
    waiting: list[Iterator[ScopeDie]] = [iter(root.children())]
    while waiting:
        for die in waiting[-1]:
            tag = die.tag
            ranges = die.ranges() if tag in SCOPES else ()
            if covers(ranges, address):
                scopes.append(die)
                waiting = [iter(die.children())]  # nothing beside it is asked for any more
                break
            if tag in passed_through and not (ranges and tag in _GROUPS):
                waiting.append(iter(die.children()))
                break
        else:
            waiting.pop()
    return scopes


def covers(ranges: Iterable[tuple[int, int]], address: int) -> bool:
    """Return whether one of the ranges holds an address."""
    return any(start <= address < end for start, end in ranges)


def inlined_chain(scopes: Iterable[ScopeDie], position: Position) -> list[InlinedFrame]:
    """Return the chain of calls at an address: the innermost inlined one first, the physical function last.

    ``scopes`` cover the address, outermost first (`scopes_at`); ``position`` is what the line table says about it. A
    nested function begins a new chain: it is called, not inlined. Without any function the chain is empty.
    """
    chain: list[InlinedFrame] = []
    for die in reversed(list(scopes)):
        if die.tag == DW_TAG_subprogram:
            chain.append(InlinedFrame(die.name, position, inlined=False, die=die))
            break
        if die.tag == DW_TAG_inlined_subroutine:
            chain.append(InlinedFrame(die.name, position, inlined=True, die=die))
            position = Position(die.call_file, die.call_line, die.call_column)
    return chain
