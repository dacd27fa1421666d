"""The scopes of an address: the functions there, inlined ones too, their blocks, and what each declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import noting
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.indexes.name_index import is_static as is_static_location
from dwarfgpu.objfile.info.scopes import SCOPES, covers, enclosing_function, listed, scopes_at

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.lookup import Index
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.code_object import CodeObject

DECLARED = frozenset((dw.DW_TAG_formal_parameter, dw.DW_TAG_variable, dw.DW_TAG_constant))
_BLOCKS = frozenset((dw.DW_TAG_lexical_block, dw.DW_TAG_with_stmt, dw.DW_TAG_catch_block, dw.DW_TAG_try_block))
MAX_BLOCKS = 256
"""Deeper nested blocks without code of their own are not looked into."""
MAX_ENTRIES = 1 << 16
"""More than any scope declares."""


@frozen
class FunctionScope:
    """A function at an address: the function whose code it is, or one that is inlined into it."""

    die: Die
    blocks: tuple[Die, ...]
    """The blocks that hold the address, innermost first. The function itself is the last of them."""

    @property
    def is_inlined(self) -> bool:
        return self.die.tag == dw.DW_TAG_inlined_subroutine


@frozen
class SourceLine:
    """A place in the source. 0 for line or column is unknown."""

    file: str | None
    line: int
    column: int


@frozen
class SourceCall:
    """One level of the calls at an address: a function, and the line in it."""

    function: str | None
    linkage_name: str | None
    source: SourceLine | None
    inlined: bool
    """Whether it is inlined into the next level."""
    offset: int | None
    """Of its entry in the section of its unit; None where only a symbol is known."""


NOWHERE = SourceCall(None, None, None, inlined=False, offset=None)
"""The call in code of which nothing is known."""


def functions_at(file: CodeObject, address: int) -> tuple[FunctionScope, ...]:
    """Return the functions at an address of code, innermost first: those inlined there, and the one they are in."""
    if not file.has_dwarf:
        return ()
    functions: Sequence[Die] = ()
    with noting(file.dwarf.note):
        functions = file.dwarf.index.functions_at(address)
        return _nested(functions[-1], address) if functions else ()
    return tuple(FunctionScope(function, (function,)) for function in functions[-1:])


def _nested(function: Die, address: int) -> tuple[FunctionScope, ...]:
    """Return the functions at an address, innermost first; ``function`` is the one whose code it is."""
    scopes: list[FunctionScope] = []
    blocks: list[Die] = []
    inner: list[Die] = list(scopes_at(function, address))
    for die in reversed([function, *inner]):
        blocks.append(die)
        if die.tag in (dw.DW_TAG_inlined_subroutine, dw.DW_TAG_subprogram):
            scopes.append(FunctionScope(die, tuple(blocks)))
            blocks = []
            if die.tag == dw.DW_TAG_subprogram:
                break
    return tuple(scopes)


def scope_edges(function: Die) -> list[int] | None:
    """Return the addresses at which scopes in a function begin or end, in ascending order.

    None where a declaration is visible in a part of its scope.
    """
    edges: set[int] = set()
    for die, _depth in function.walk():
        if dw.DW_AT_start_scope in die.abbreviation.attributes:
            return None
        if die.tag in SCOPES:
            with noting(die.unit.dwarf.note):
                edges.update(address for span in die.ranges() for address in span)
    return sorted(edges)


def declared_in(scope: Die, address: int, index: Index) -> list[Die]:
    """Return the parameters, variables and constants of a block or function at an address, in source order.

    Blocks without code of their own belong to the one around them, as do the parameters of the entry
    points of a function: by which of them it was entered is not known. What only the abstract instance
    has was optimized out of this copy of it (DWARF 5, 3.3.8.1), and is declared too. A static variable is
    one for all copies, but LLVM describes it only in the copy that has code of its own.
    """
    entries = [die for die in _entries(scope, 0) if is_visible(die, scope, address)]
    origin = scope.number(dw.DW_AT_abstract_origin)
    if origin is None:
        return entries
    with noting(scope.unit.dwarf.note):
        copied = _copied(scope)
        whole = origin.reference()
        abstract = [*_entries(whole, 0, copied), *_static_in_copies(whole, index)]
        missing = [die for die in abstract if die not in copied and die not in entries]
        return _in_source_order(entries, missing, abstract) if missing else entries
    return entries


def _static_in_copies(abstract: Die, index: Index) -> Iterator[Die]:
    """Yield the static variables of an abstract scope that only a copy of it describes."""
    function = abstract if abstract.tag == dw.DW_TAG_subprogram else enclosing_function(abstract)
    for copy in () if function is None else index.copies_in(function.unit).get(function, ()):
        for die, _depth in copy.walk():
            if die.tag == dw.DW_TAG_variable and dw.DW_AT_abstract_origin not in die.abbreviation.attributes:
                owner = die.parent()
                if is_static(die) and owner is not None and owner.origin() == abstract:
                    yield die


def is_static(die: Die) -> bool:
    """Return whether a variable of a function is there without a frame of it."""
    location = die.find_number(dw.DW_AT_location)
    if location is None:
        return die.find_number(dw.DW_AT_const_value) is not None
    return location.value_class in ("exprloc", "block") and is_static_location(location.block().data)


def _in_source_order(entries: list[Die], missing: list[Die], abstract: list[Die]) -> list[Die]:
    """Return entries and those that have no copy as the abstract instance lists them."""
    places, place = {die: number for number, die in enumerate(abstract)}, -1
    for die in entries:
        place = places[die] = next((places[each] for each in die.origins() if each in places), place)
    return sorted([*missing, *entries], key=places.__getitem__)


def is_visible(die: Die, scope: Die, address: int) -> bool:
    """Return whether the scope of a declaration, which may begin later than the block it is in, holds an address.

    DW_AT_start_scope counts from the beginning of the block, or lists addresses (DWARF 5, 3.9).
    """
    if dw.DW_AT_start_scope not in die.abbreviation.attributes:
        return True
    with noting(die.unit.dwarf.note):
        start = die.number(dw.DW_AT_start_scope)
        if start is None:
            return True
        if start.value_class == "rnglist":
            return covers(listed(start.die.unit, *start.list_place()), address)
        around = scope.ranges()
        return not around or address >= around[0][0] + start.unsigned()
    return True


def scope_of_name(function: Die, name: str) -> list[tuple[int, int]]:
    """Return where in a function a block declares a name, at addresses of the file."""
    owners: list[Die] = []
    for die, depth in function.walk():
        del owners[depth:]
        owners.append(die)
        if die.tag in DECLARED and die.name == name:
            return next((found for owner in reversed(owners[:-1]) if (found := owner.ranges())), [])
    return []


def names_within(entry: Die) -> Iterator[str]:
    """Yield the names of the variables and parameters that all scopes below an entry declare."""
    return (die.name for die, _depth in entry.walk() if die.tag in DECLARED and die.name)


def entry_points(function: Die) -> Iterator[Die]:
    """Yield the other entries of a function, each with a name and parameters of its own (DWARF 5, 3.3)."""
    return (die for die in function.children() if die.tag == dw.DW_TAG_entry_point)


def _entries(scope: Die, depth: int, seen: set[Die] | None = None) -> Iterator[Die]:
    """Yield the declarations of a scope, and of blocks in it that no address distinguishes."""
    for count, die in enumerate(scope.children()):
        if count > MAX_ENTRIES:
            return
        if die.tag in DECLARED:
            yield die
        elif depth < MAX_BLOCKS and not (seen and die in seen) and _is_no_place(die, depth):
            yield from _entries(die, depth + 1, seen)


def _is_no_place(die: Die, depth: int) -> bool:
    """Return whether no address tells what an entry declares from what is around it."""
    return (die.tag in _BLOCKS and not die.ranges()) or (die.tag == dw.DW_TAG_entry_point and not depth)


def _copied(scope: Die) -> set[Die]:
    """Return the abstract entries that have a copy somewhere in a scope, or in a block within it."""
    origins: set[Die] = set()
    waiting = [scope.children()]
    while waiting:
        for die in waiting[-1]:
            if die.tag in DECLARED or die.tag in _BLOCKS:
                origins.update(die.origins())
            if die.tag in _BLOCKS and len(waiting) < MAX_BLOCKS:
                waiting.append(die.children())
                break
        else:
            waiting.pop()
    return origins


def holds(die: Die, address: int) -> bool:
    """Return whether an entry has code at an address."""
    return covers(die.ranges(), address)
