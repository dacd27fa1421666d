"""Scopes: the names in them (``ns::Type::f``), and the addresses of their code (DWARF 5 section 2.17)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info.forms import class_of

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit


NAMED_SCOPES = dw.numbers(
    "DW_TAG", "namespace module class_type structure_type union_type interface_type enumeration_type"
)
"""Namespaces, modules, classes, structures, unions, interfaces and enumerations: scopes that are part of a name."""
CODE_SCOPES = dw.numbers(
    "DW_TAG", "subprogram inlined_subroutine lexical_block entry_point with_stmt catch_block try_block subroutine_type"
)
"""Functions, blocks and function types: what is declared in them is local."""
ANONYMOUS = "(anonymous namespace)"
"""How an unnamed namespace is named (DWARF 5, 6.1.1.1)."""
MAX_SCOPES = 256
"""Names in more scopes than this are refused: each entry would have a name as long as the file is deep."""
_OPEN, _CLOSE = "<([{", ">)]}"


def scopes_of(die: Die) -> list[tuple[str, bool]]:
    """Return the scopes that are part of an entry's name, outermost first, each with whether a name may leave it out.

    They are those of its declaration. What is local to a function has none above that function.
    """
    *_, first = die.origins()
    scopes: tuple[tuple[str, bool], ...] = ()
    owners: list[Die] = []
    for owner in first.ancestors():
        known = owner.unit.scopes.get(owner.offset)
        if known is not None or owner.tag in CODE_SCOPES:
            scopes = known or ()
            break
        owners.append(owner)
    for owner in reversed(owners):
        if len(scopes) <= MAX_SCOPES:
            scopes = (*scopes, *_scope(owner))
        owner.unit.scopes[owner.offset] = scopes
    if len(scopes) > MAX_SCOPES:
        message = f"a name is in more than {MAX_SCOPES} scopes"
        raise die.unit.error(MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.3"), die.offset)
    return list(scopes)


def _scope(owner: Die) -> tuple[tuple[str, bool], ...]:
    """Return what an entry adds to the names of the entries it owns."""
    if owner.tag not in NAMED_SCOPES:
        return ()
    name = owner.name
    if owner.tag == dw.DW_TAG_namespace:
        return ((name or ANONYMOUS, name is None or owner.number(dw.DW_AT_export_symbols) is not None),)
    if name is None:
        return ()
    return ((name, owner.tag == dw.DW_TAG_enumeration_type and owner.number(dw.DW_AT_enum_class) is None),)


def qualified_name(die: Die) -> str | None:
    """Return the name with its scopes, or None for an entry without a name."""
    name = die.name
    if name is None:
        if die.tag != dw.DW_TAG_namespace:
            return None
        name = ANONYMOUS
    return "::".join([*(scope for scope, _ in scopes_of(die)), name])


def enclosing_function(die: Die) -> Die | None:
    """Return the function that an entry is in, or the inlined copy of one; None outside of functions."""
    functions = (dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine)
    return next((owner for owner in die.ancestors() if owner.tag in functions), None)


def split_name(text: str) -> tuple[str, ...]:
    """Split a qualified name into its parts; an empty first part means the outermost scope.

    ``::`` between brackets belongs to template arguments or a function type, and an operator's name is one part.
    """
    parts: list[str] = []
    depth = start = i = 0
    while i < len(text):
        if text.startswith("operator", i) and (i == 0 or not (text[i - 1].isalnum() or text[i - 1] == "_")):
            after = text[i + 8 : i + 9]
            if not (after.isalnum() or after == "_"):
                return (*parts, text[start:])
        character = text[i]
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE and not (character == ">" and text[i - 1 : i] == "-"):
            depth -= 1
        elif character == ":" and depth <= 0 and text.startswith("::", i):
            parts.append(text[start:i])
            i += 2
            start = i
            continue
        i += 1
    return (*parts, text[start:])


def in_scopes(parts: tuple[str, ...], scopes: list[tuple[str, bool]]) -> bool:
    """Return whether an entry in these scopes can be meant by a name with ``parts`` before the last one.

    The outermost scopes may be missing, unless the name begins with ``::``; inline and unnamed namespaces and
    enumerations that are not classes may be missing everywhere.
    """
    if not parts:
        return True
    anchored = parts[0] == ""
    wanted = list(parts[1:] if anchored else parts)
    for name, optional in reversed(scopes):
        if wanted and wanted[-1] == name:
            wanted.pop()
        elif not optional:
            return not wanted and not anchored
    return not wanted


def is_local(die: Die) -> bool:
    """Return whether an entry is declared in a function."""
    return any(owner.tag in CODE_SCOPES for owner in die.ancestors())


MIN_RANGES = 1 << 16
"""How many ranges, and bytes of lists, are always read, whatever the size of the entries that have them."""


def ranges_of(die: Die) -> list[tuple[int, int]]:
    """Return the ranges of an entry that are not empty; an entry without code has no range."""
    ranges = die.number(dw.DW_AT_ranges)
    if ranges is not None:
        return listed(die.unit, *ranges.list_place())
    low, high = die.number(dw.DW_AT_low_pc), die.number(dw.DW_AT_high_pc)
    if low is None or high is None:
        return []
    return between(die.unit, low.address(), high.form, high.value)


def between(unit: Unit, low: int, form: int, high: int) -> list[tuple[int, int]]:
    """Return the range of DW_AT_low_pc and DW_AT_high_pc: an address, or since version 4 a size (2.17.2)."""
    is_size = class_of(form, dw.DW_AT_high_pc, unit.version) == "constant"
    end = low + high if is_size else unit.address(form, high)
    return [] if is_dead(low, unit.address_size) or low >= end else [(low, end)]


def listed(unit: Unit, section: str, offset: int) -> list[tuple[int, int]]:
    """Return the ranges of a range list. The last one is remembered, because entries may share it."""
    known = unit.tables.ranges
    if known is None or known[:2] != (section, offset):
        from dwarfgpu.objfile.list_encoding import read_list

        data = unit.tables.list_data(section)
        range_list = read_list(data, offset, section=section, context=unit.list_context)
        unit.tables.ranges = known = section, offset, range_list
    return known[2].spans()


class Budget:
    """How many ranges may be read for one index.

    Each entry that has ranges takes some bytes, and each list some of its section. Entries that share lists, or have
    lists that overlap, could ask for any number of either.
    """

    def __init__(self, size: int) -> None:
        """Set the limit: ``size`` is that of the entries, in bytes."""
        self._most = max(MIN_RANGES, size)
        self._room = MIN_RANGES
        self._ranges = self._read = 0
        self._last: object = None
        self.is_spent = False

    def spend(self, unit: Unit, ranges: list[tuple[int, int]]) -> None:
        """Count the ranges that an entry of a unit has just given; an error when they are too many."""
        self._ranges += len(ranges)
        known = unit.tables.ranges
        if known is not None and known is not self._last:
            self._last = known
            section, offset, range_list = known
            self._read += range_list.end - offset
            self._room = max(self._room, MIN_RANGES + 4 * len(unit.tables.list_data(section)))
        if self._ranges > self._most or self._read > self._room:
            self.is_spent = True
            message = f"entries share lists of ranges: there are {self._ranges}, in lists of {self._read} bytes"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.17.3")


def is_dead(address: int, address_size: int) -> bool:
    """Return whether a linker has put a tombstone here: all ones for code that it dropped (DWARF 6 drafts, 2.4.3)."""
    return address >= dead_from(address_size)


def dead_from(address_size: int) -> int:
    """Return the address from which on all are tombstones."""
    return (1 << 8 * address_size) - 2


class AddressSpans:
    """Ranges of addresses, of which those that touch are one."""

    __slots__ = ("_highs", "_lows")

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._lows: list[int] = []
        self._highs: list[int] = []
        for low, high in sorted(spans):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(high, self._highs[-1])
            else:
                self._lows.append(low)
                self._highs.append(high)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges by address."""
        return zip(self._lows, self._highs, strict=True)

    def __len__(self) -> int:
        return len(self._lows)

    def cover(self, low: int, high: int) -> bool:
        """Return whether all addresses from ``low`` up to ``high`` are in them."""
        i = bisect_right(self._lows, low) - 1
        return i >= 0 and high <= self._highs[i]

    def touch(self, low: int, high: int) -> bool:
        """Return whether an address from ``low`` up to ``high`` is in them."""
        i = bisect_left(self._lows, high) - 1
        return i >= 0 and low < self._highs[i]


class Ranges:
    """Ranges of addresses, each with a number, sorted for look-up by address. They may overlap."""

    __slots__ = ("_highs", "_lows", "_numbers", "_reach")

    def __init__(self, ranges: Iterable[tuple[int, int, int]]) -> None:
        by_address = sorted(ranges)
        self._lows = [low for low, _, _ in by_address]
        self._highs = [high for _, high, _ in by_address]
        self._numbers = [number for _, _, number in by_address]
        self._reach: list[int] = []  # for each the highest end of those before it and its own
        highest = 0
        for high in self._highs:
            highest = max(highest, high)
            self._reach.append(highest)

    def __len__(self) -> int:
        return len(self._lows)

    def spans(self) -> list[tuple[int, int]]:
        """Return all ranges, by address."""
        return list(zip(self._lows, self._highs, strict=True))

    def numbers(self) -> set[int]:
        """Return the numbers of all ranges."""
        return set(self._numbers)

    def at(self, address: int) -> list[int]:
        """Return the numbers of the ranges with an address; a range that begins later comes later."""
        i = bisect_right(self._lows, address) - 1
        numbers = []
        while i >= 0 and self._reach[i] > address:
            if self._highs[i] > address:
                numbers.append(self._numbers[i])
            i -= 1
        return numbers[::-1]

    def between(self, low: int, high: int) -> list[int]:
        """Return the numbers of the ranges that have an address from ``low`` up to ``high``, by their beginning."""
        first, last = bisect_right(self._lows, low), bisect_left(self._lows, high)
        return self.at(low) + self._numbers[first:last] if low < high else []


# --- The scopes that cover an address (DWARF 5 section 3.3.8) -----------------------------------------------------
# An inlined call is an entry below the function it was inlined into, with the ranges of its code. So the scopes that
# cover an address, from the outside in, tell who called whom.

SCOPES = CODE_SCOPES - {dw.DW_TAG_entry_point, dw.DW_TAG_subroutine_type}
"""Entries that own addresses."""
_GROUPS = frozenset((dw.DW_TAG_module, dw.DW_TAG_namespace, dw.DW_TAG_lexical_block))
"""Entries that may own scopes without having ranges of their own."""
_HIDING = _GROUPS | {dw.DW_TAG_subprogram, dw.DW_TAG_class_type, dw.DW_TAG_structure_type, dw.DW_TAG_union_type}
"""Entries that in some languages own functions whose code lies elsewhere: methods, and functions inside functions."""


@frozen
class Position:
    """A place in the source. The file is a number of the unit's line table; 0 for line or column is unknown."""

    file: int | None = None
    line: int | None = None
    column: int | None = None


def scopes_at(root: Die, address: int) -> list[Die]:
    """Return the scopes that cover an address, outermost first, found below a unit or any other entry.

    Where siblings overlap, the first one is taken. A scope without ranges is passed through: it may own some that have.
    Only when that finds nothing, functions inside functions and types are looked for, whose code lies elsewhere.
    """
    return _search(root, address, _GROUPS) or _search(root, address, _HIDING)


def _search(root: Die, address: int, passed_through: frozenset[int]) -> list[Die]:
    scopes: list[Die] = []
    waiting: list[Iterator[Die]] = [iter(root.children())]
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
