"""The scopes of an address: the functions that stand there, inlined ones too, their blocks, and what each declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile import attributes as at
from dwarfgpu.objfile.inlining import covers, scopes_at
from dwarfgpu.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.dies import Die

BLOCK, INLINED, SUBPROGRAM, PARAMETER, VARIABLE, CONSTANT = 0x0B, 0x1D, 0x2E, 0x05, 0x34, 0x27
DECLARED = frozenset((PARAMETER, VARIABLE, CONSTANT))
_BLOCKS = frozenset((BLOCK, 0x22, 0x25, 0x32))
MAX_BLOCKS = 256
"""Deeper nested blocks without code of their own are not looked into."""
MAX_ENTRIES = 1 << 16
"""More than any scope declares."""


@record
class FunctionScope:
    """A function that stands at an address: the function that is really there, or one that was inlined into it."""

    die: Die
    blocks: tuple[Die, ...]
    """The blocks that hold the address, innermost first. The function itself is the last of them."""

    @property
    def is_inlined(self) -> bool:
        return self.die.tag == INLINED


def functions_at(function: Die, address: int) -> tuple[FunctionScope, ...]:
    """The functions at an address, innermost first; ``function`` is the one whose code it is."""
    found: list[FunctionScope] = []
    blocks: list[Die] = []
    inner: list[Die] = [die for die in scopes_at(function, address)]  # type: ignore[misc]
    for die in reversed([function, *inner]):
        blocks.append(die)
        if die.tag in (INLINED, SUBPROGRAM):
            found.append(FunctionScope(die, tuple(blocks)))
            blocks = []
            if die.tag == SUBPROGRAM:
                break
    return tuple(found)


def declared_in(scope: Die) -> list[Die]:
    """Parameters, variables and constants of a block or function, in the order of the source.

    Blocks without code of their own belong to the one around them. What only the abstract instance has was optimized
    out of this copy of it (DWARF 5, 3.3.8.1), and is declared all the same.
    """
    found = list(_entries(scope, 0))
    origin = scope.number(at.ABSTRACT_ORIGIN)
    if origin is None:
        return found
    try:
        abstract = origin.reference()
        seen = {origin for die in found for origin in die.origins()}
        seen |= _origins_below(scope)
        missing = [die for die in _entries(abstract, 0, seen) if die not in seen]
    except DwarfGpuError as error:
        scope.unit.dwarf.note(error)
        return found
    return found + missing


def _entries(scope: Die, depth: int, seen: set[Die] | None = None) -> Iterator[Die]:
    """The declarations of a scope, and of blocks in it that no address distinguishes."""
    for count, die in enumerate(scope.children()):
        if count > MAX_ENTRIES:
            return
        if die.tag in DECLARED:
            yield die
        elif die.tag in _BLOCKS and depth < MAX_BLOCKS and not (seen and die in seen) and not die.ranges():
            yield from _entries(die, depth + 1, seen)


def _origins_below(scope: Die) -> set[Die]:
    """The abstract blocks of which a scope has copies: what they declare belongs to those."""
    found: set[Die] = set()
    for die in scope.children():
        if die.tag in _BLOCKS or die.tag == INLINED:
            found.update(die.origins())
    return found


def holds(die: Die, address: int) -> bool:
    """Whether an entry has code at an address."""
    return covers(die.ranges(), address)
