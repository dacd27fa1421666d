"""The checks of indexes that producers write: names, the addresses of units, and public names."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.file_code import FileCode, code_of, overlapping
from dwarfgpu.audits.verify.findings import ERROR, WARNING, Problem, rules
from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import initial_length
from dwarfgpu.objfile.indexes.address_index import SECTION as ARANGES
from dwarfgpu.objfile.indexes.address_index import AddressSet, read_sets
from dwarfgpu.objfile.indexes.debug_names import SECTION as NAMES
from dwarfgpu.objfile.indexes.debug_names import NameEntry, NameTable, hash_of, read_tables
from dwarfgpu.objfile.indexes.name_index import ADDRESS_OPERATIONS
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.forms import class_of, form_name
from dwarfgpu.objfile.info.readers import CODES
from dwarfgpu.objfile.info.scopes import ANONYMOUS, AddressSpans
from dwarfgpu.program.types.reader import TYPES
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

_AGAIN = "make the index again, with the producer's or the linker's option for it"

RULES = rules(
    "index",
    ("names-unreadable", ERROR, "DWARF 5, 6.1.1.4", "An index of names can be read to its end.", _AGAIN,
     "names share their entries: there are more of them than the index has bytes"),
    ("names-version", ERROR, "DWARF 5, 6.1.1.4.1 (2)", "The version of an index of names is 5.", "write version 5"),
    ("names-unit", ERROR, "DWARF 5, 6.1.1.4.2", "The units of an index are units of the file, each of one index.",
     "correct the list of units, or the index into it", "no unit begins at {unit:#x} of .debug_info",
     "the unit at {unit:#x} is in the index at {other:#x}, too"),
    ("names-missing-unit", WARNING, "DWARF 5, 6.1.1.3", "An index of names covers all units.", _AGAIN,
     "no index of names covers the unit at {unit:#x}"),
    ("names-bucket", ERROR, "DWARF 5, 6.1.1.4.5", "A bucket leads to the first name with a hash of the bucket.",
     "order the names by bucket, and let each bucket lead to its first one",
     "the names of the bucket {bucket} are not in one piece",
     "the bucket {bucket} leads to the name {name}, not {first}"),
    ("names-hash", ERROR, "DWARF 5, 6.1.1.4.5", "The hash of a name is that of 7.33.",
     "hash the name with the case folded", "the hash of {name!r:.80} is {written:#x}, not {expected:#x}"),
    ("names-string", ERROR, "DWARF 5, 6.1.1.4.6", "A name is a string of .debug_str.", "correct the offset",
     "the name {number}: {reason}"),
    ("names-abbreviation", ERROR, "DWARF 5, 6.1.1.4.7",
     "An abbreviation has a code of its own and an offset of an entry, and the unit where there are several.",
     "describe entries by DW_IDX_die_offset and DW_IDX_compile_unit",
     "more abbreviations than one have the code {code}", "the abbreviation {number} has {what}"),
    ("names-form", ERROR, "DWARF 5, 6.1.1.4.7", "An index attribute has an allowed form.",
     "choose a form of the class in table 6.1", "{attribute} of the abbreviation {code} has {form}"),
    ("names-entry", ERROR, "DWARF 5, 6.1.1.4.8", "A name has entries, which are in the pool.", "correct the offset",
     "the name {number} has no entry"),
    ("names-die", ERROR, "DWARF 5, 6.1.1.4.8", "An index entry leads to the start of an entry.",
     "correct DW_IDX_die_offset, which counts from the header of the unit",
     "no entry begins at {offset:#x} of the unit at {unit:#x}"),
    ("names-tag", ERROR, "DWARF 5, 6.1.1.4.7", "An abbreviation has the tag of the entries that it leads to.",
     "correct the tag", "the entry at {entry:#x} is a {tag}, not {expected}"),
    ("names-name", ERROR, "DWARF 5, 6.1.1.1", "An index entry leads to an entry with its name.",
     "put the entry under its name", "the entry at {entry:#x} is not called {name!r:.80}"),
    ("names-parent", ERROR, "DWARF 5, 6.1.1.2", "DW_IDX_parent leads to the index entry of the owner.",
     "correct the offset in the pool", "the parent of the entry at {entry:#x} is {owner}"),
    ("names-missing", WARNING, "DWARF 5, 6.1.1.1",
     "Named functions, types, namespaces and static variables are in the index of their unit.", _AGAIN,
     "the index of the unit does not have {name}"),
    ("aranges-unreadable", ERROR, "DWARF 5, 6.1.2", "A set of addresses can be read to its end.", _AGAIN),
    ("aranges-version", ERROR, "DWARF 5, 6.1.2 (2)", "The version of a set of addresses is 2.", "write version 2"),
    ("aranges-address-size", ERROR, "DWARF 5, 6.1.2 (4)", "The addresses of a set have the size that the unit has.",
     "write the size of addresses of the target",
     "addresses of the set have {size} bytes, those of the unit {expected}"),
    ("aranges-segment-size", ERROR, "DWARF 5, 6.1.2 (5)",
     "Segment selectors have the size that the target has, which is 0.", "write 0",
     "segment selectors have {size} bytes, there are none"),
    ("aranges-unit", ERROR, "DWARF 5, 6.1.2 (3)", "A set belongs to a unit, which has no other.",
     "write the offset of the header of the unit", "no unit begins at {unit:#x} of .debug_info",
     "the set at {other:#x} belongs to the unit at {unit:#x}, too"),
    ("aranges-end", ERROR, "DWARF 5, 6.1.2", "A set ends with a tuple of zeros, and has no other.",
     "end the set with a tuple of zeros", "the set does not end with zeros", "the tuple {number} of {count} is zeros"),
    ("aranges-range", ERROR, "DWARF 5, 6.1.2", "The code of a set is code of its unit; there may be gaps.", _AGAIN,
     "{low:#x} to {high:#x} is not code of the unit at {unit:#x}"),
    ("aranges-missing", WARNING, "DWARF 5, 6.1.2", "The set of a unit has all code of the unit.", _AGAIN,
     "{low:#x} to {high:#x} of the unit at {unit:#x} is not in its set"),
    ("aranges-overlap", WARNING, "DWARF 5, 6.1.2", "An address is in one set.", _AGAIN,
     "the range at {other:#x} overlaps the one from {low:#x} to {high:#x}"),
    ("aranges-missing-unit", WARNING, "DWARF 5, 6.1.2", "A unit with code has a set of addresses.", _AGAIN,
     "the unit at {unit:#x} has code, and no set of addresses"),
    ("public-unreadable", ERROR, "DWARF 4, 6.1.1", "A set of public names can be read to its end.", _AGAIN),
    ("public-unit", ERROR, "DWARF 4, 6.1.1", "A set of public names belongs to a unit.",
     "write the offset of the header of the unit, and its size", "the unit at {other:#x} has another set",
     "no unit begins at {unit:#x} of .debug_info", "the unit at {unit:#x} has {size} bytes, the set says {written}"),
    ("public-die", ERROR, "DWARF 4, 6.1.1", "A public name leads to the start of an entry.",
     "write the offset of the entry from the header of the unit",
     "no entry begins at {offset:#x} of the unit at {unit:#x}"),
)  # fmt: skip

_OF_TABLES = {"bad_version": "names-version"}
"""The rules by the kinds of errors about indexes of names."""
_OF_SETS = {
    "bad_version": "aranges-version",
    "bad_address_size": "aranges-address-size",
    "bad_segment_size": "aranges-segment-size",
}
"""The rules by the kinds of errors about sets of addresses."""
_OF_NAMES = {
    "bad_offset": "names-entry",
    "unknown_abbreviation": "names-abbreviation",
    "index_out_of_range": "names-unit",
}
"""The rules by the kinds of errors about the entries of a name."""
_ADDRESSED = frozenset((dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine, dw.DW_TAG_label))
_ADDRESSES = (dw.DW_AT_low_pc, dw.DW_AT_ranges, dw.DW_AT_entry_pc)
_NAMED = TYPES | {dw.DW_TAG_namespace}
_CLASSES = {
    dw.DW_IDX_compile_unit: ("constant",),
    dw.DW_IDX_type_unit: ("constant",),
    dw.DW_IDX_die_offset: ("reference",),
    dw.DW_IDX_parent: ("constant", "reference", "flag"),
    dw.DW_IDX_type_hash: ("constant",),
}
"""The classes that an index attribute may have (DWARF 5, table 6.1); compilers write a reference to the parent."""


class IndexChecks:
    """The checks of the indexes of a file."""

    def __init__(self, file: CodeObject) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.code = FileCode(file.image)
        self.units = {unit.offset: unit for unit in self.dwarf.units_of(".debug_info")}

    def problems(self) -> Iterator[Problem]:
        yield from self._names()
        yield from self._address_sets()
        for section in (".debug_pubnames", ".debug_pubtypes"):
            yield from self._public(section, gnu=False)
        for section in (".debug_gnu_pubnames", ".debug_gnu_pubtypes"):
            yield from self._public(section, gnu=True)

    def _has(self, section: str) -> bool:
        try:
            return bool(self.dwarf.source.view(section))
        except DwarfGpuError:  # which the check of the file reports
            return False

    # --- Names ----------------------------------------------------------------------------------------------------

    def _names(self) -> Iterator[Problem]:
        if not self._has(NAMES):
            return
        covered: dict[int, int] = {}
        broken = False
        for table in read_tables(self.dwarf.source):
            if isinstance(table, DwarfGpuError):
                broken = True
                yield RULES.broken(_OF_TABLES.get(table.kind, "names-unreadable"), table, NAMES)
                continue
            yield from self._units_of(table, covered)
            yield from _NamesCheck(table, self.units).problems()
        for offset, unit in self.units.items():
            if offset not in covered and not broken and not unit.header.is_type_unit:
                yield RULES.problem("names-missing-unit", unit.section, offset, unit=offset)

    def _units_of(self, table: NameTable, covered: dict[int, int]) -> Iterator[Problem]:
        for offset in (*table.compile_units, *table.type_units):
            if offset not in self.units:
                yield RULES.problem("names-unit", NAMES, table.start, unit=offset)
            elif offset in covered:
                yield RULES.problem("names-unit", NAMES, table.start, unit=offset, other=covered[offset])
            else:
                covered[offset] = table.start

    # --- Addresses of units ---------------------------------------------------------------------------------------

    def _address_sets(self) -> Iterator[Problem]:
        if not self._has(ARANGES):
            return
        seen: dict[int, int] = {}
        spans: list[tuple[int, int, int]] = []
        broken = False
        for table in read_sets(self.dwarf.source.data(ARANGES), self.dwarf.source.byte_order):
            if isinstance(table, DwarfGpuError):
                broken = True
                yield RULES.broken(_OF_SETS.get(table.kind, "aranges-unreadable"), table, ARANGES)
                continue
            unit = self.units.get(table.unit)
            if unit is None or table.unit in seen:
                others = {} if unit is None else {"other": seen[table.unit]}
                broken = True
                yield RULES.problem("aranges-unit", ARANGES, table.offset, unit=table.unit, **others)
                continue
            seen[table.unit] = table.offset
            yield from self._address_set(table, unit, spans)
        for (other, end, offset), (low, high, first) in overlapping(spans):
            if (low, high) != (other, end) or first == offset:  # else a linker has kept one of two functions
                yield RULES.problem("aranges-overlap", ARANGES, offset, other=other, low=low, high=high)
        for offset, unit in self.units.items():
            if not broken and offset not in seen and code_of(unit):
                yield RULES.problem("aranges-missing-unit", unit.section, offset, unit=offset)

    def _address_set(self, table: AddressSet, unit: Unit, spans: list[tuple[int, int, int]]) -> Iterator[Problem]:
        at = ARANGES, table.offset
        size = next(size for size, code in CODES.items() if code == table.format[-1])
        if struct.calcsize(table.format) != 2 * size:
            yield RULES.problem("aranges-segment-size", *at, size=struct.calcsize(table.format) - 2 * size)
            return
        if size != unit.address_size:
            yield RULES.problem("aranges-address-size", *at, size=size, expected=unit.address_size)
            return
        pairs = list(struct.iter_unpack(table.format, table.pairs))
        last = pairs.index((0, 0)) if (0, 0) in pairs else -1
        if last != len(pairs) - 1 or not pairs:
            values = {} if last < 0 else {"number": last, "count": len(pairs)}
            yield RULES.problem("aranges-end", *at, **values)
        if not self.file.image.is_linked:  # where each section begins at 0
            return
        live = [(low, low + length) for low, length in pairs if length and not self.code.is_dropped(low)]
        own = code_of(unit)
        folded = Counter(own) - Counter({*own})  # functions of which a linker has kept one
        spans += [(low, high, table.offset) for low, high in (Counter(live) - folded).elements()]
        code = AddressSpans(own)
        if not code or unit.version < 3:  # which can describe one range only
            return
        for low, high in live:
            if self.code.touch(low, low + 1) and not code.touch(low, high):
                yield RULES.problem("aranges-range", *at, low=low, high=high, unit=unit.offset)
        known = AddressSpans(live)
        for low, high in code:
            if not self.code.is_dropped(low) and not known.cover(low, high):
                yield RULES.problem("aranges-missing", *at, low=low, high=high, unit=unit.offset)

    # --- Public names ---------------------------------------------------------------------------------------------

    def _public(self, section: str, *, gnu: bool) -> Iterator[Problem]:
        if not self._has(section):
            return
        source = self.dwarf.source
        data = source.data(section)
        position = 0
        seen: set[int] = set()
        while position < len(data):
            cursor = Cursor(data, position, byte_order=source.byte_order, error=MalformedFile, section=section)
            try:
                length, offset_size = initial_length(cursor)
                if length > cursor.remaining:
                    message = f"a set of {length} bytes is longer than the {cursor.remaining} left"
                    raise cursor.fail("truncated", message, "DWARF 4, 6.1.1", position)
                end = cursor.end = cursor.position + length
                yield from self._public_set(cursor, offset_size, seen, gnu=gnu)
            except DwarfGpuError as error:
                yield RULES.broken("public-unreadable", error, section)
                return
            position = end

    def _public_set(self, cursor: Cursor, offset_size: int, seen: set[int], *, gnu: bool) -> Iterator[Problem]:
        section = cursor.section or ""
        start = cursor.position - (4 if offset_size == 4 else 12)
        version = cursor.unsigned(2)
        if version != 2:
            raise cursor.fail("bad_version", f"version {version} of public names is not known", "DWARF 4, 7.19", start)
        offset, size = cursor.unsigned(offset_size), cursor.unsigned(offset_size)
        unit = self.units.get(offset)
        if offset in seen:
            yield RULES.problem("public-unit", section, start, other=offset)
            return
        seen.add(offset)
        own = 0 if unit is None else unit.header.end - offset
        if unit is None or (size != own and not (unit.is_skeleton and size > own)):  # GCC writes that of the .dwo file
            sizes = {} if unit is None else {"size": own, "written": size}
            yield RULES.problem("public-unit", section, start, unit=offset, **sizes)
            return
        wanted: dict[int, int] = {}
        while True:
            place = cursor.position
            entry = cursor.unsigned(offset_size)
            if not entry:
                break
            wanted[entry] = place
            stop = cursor.data.find(b"\0", cursor.position + gnu, cursor.end)
            if stop < 0:
                raise cursor.fail("truncated", "a name has no end", "DWARF 4, 6.1.1", place)
            cursor.position = stop + 1
        if unit.is_skeleton:  # its entries are in another file
            return
        yield from _lost(unit, wanted, section)


def _lost(unit: Unit, wanted: dict[int, int], section: str) -> Iterator[Problem]:
    """Yield the offsets of a set at which no entry of the unit begins."""
    try:
        for offset, _depth, _abbreviation, _values in unit.entries():
            wanted.pop(offset, None)
            if not wanted:
                break
    except DwarfGpuError:  # which the check of entries reports
        return
    finally:
        unit.release()
    for offset, place in wanted.items():
        yield RULES.problem("public-die", section, place, offset=offset, unit=unit.offset)


# --- One index of names -----------------------------------------------------------------------------------------------


_Indexed = tuple[int, NameEntry]
"""The index of a name, and an entry of it."""


class _NamesCheck:
    def __init__(self, table: NameTable, units: dict[int, Unit]) -> None:
        self.table = table
        self.units = units
        self.of_units: dict[int, list[_Indexed]] = defaultdict(list)
        self.places: dict[int, int] = {}
        """Where each index entry leads: the offset in the section by the offset of the index entry."""
        self.is_whole = True
        """Whether all index entries could be read."""
        self.room = table.end - table.pool
        """How many more entries there may be."""

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong with the index by itself, then with where it leads."""
        yield from self._buckets()
        yield from self._abbreviations()
        for index in range(len(self.table)):
            yield from self._name(index)
            if self.room < 0:
                self.is_whole = False
                yield self._problem("names-unreadable")
                return
        covered = dict.fromkeys((*self.table.compile_units, *self.table.type_units))
        for offset in counted(tuple(covered), "units of an index"):
            unit = self.units.get(offset)
            if unit is not None:
                yield from self._unit(unit, self.of_units.pop(offset, []))

    def _problem(self, rule: str, at: int | None = None, /, **values: object) -> Problem:
        """Return a problem of the index, at its start or at another place."""
        return RULES.problem(rule, NAMES, self.table.start if at is None else at, **values)

    # --- The index by itself --------------------------------------------------------------------------------------

    def _buckets(self) -> Iterator[Problem]:
        buckets, hashes = self.table.buckets, self.table.hashes
        count = len(buckets)
        firsts: dict[int, int] = {}
        previous = None
        for index, digest in enumerate(hashes, 1):
            bucket = digest % count
            if bucket != previous and firsts.setdefault(bucket, index) != index:
                yield self._problem("names-bucket", bucket=bucket)
                return
            previous = bucket
        for bucket, index in enumerate(buckets):
            if index != firsts.get(bucket, 0):
                yield self._problem("names-bucket", bucket=bucket, name=index, first=firsts.get(bucket, 0))

    def _abbreviations(self) -> Iterator[Problem]:
        table = self.table
        for code in table.repeated:
            yield self._problem("names-abbreviation", code=code)
        several = len(table.compile_units) > 1
        if any(dw.DW_IDX_die_offset not in dict(attributes) for _tag, attributes in table.abbreviations.values()):
            self.is_whole = False
        for code, (_tag, attributes) in table.abbreviations.items():
            numbers = [attribute for attribute, _form in attributes]
            if dw.DW_IDX_die_offset not in numbers:
                yield self._problem("names-abbreviation", number=code, what="no DW_IDX_die_offset")
            elif len(set(numbers)) != len(numbers):
                yield self._problem("names-abbreviation", number=code, what="an attribute twice")
            elif several and dw.DW_IDX_compile_unit not in numbers and dw.DW_IDX_type_unit not in numbers:
                what = "no DW_IDX_compile_unit, and there are several units"
                yield self._problem("names-abbreviation", number=code, what=what)
            for attribute, form in attributes:
                allowed = _CLASSES.get(attribute)
                if (allowed is not None and class_of(form, 0, 5) not in allowed) or (
                    attribute == dw.DW_IDX_type_hash and form != dw.DW_FORM_data8
                ):
                    values = {"attribute": name_of("DW_IDX", attribute), "code": code, "form": form_name(form)}
                    yield self._problem("names-form", **values)

    def _name(self, index: int) -> Iterator[Problem]:
        table = self.table
        try:
            name = table.name(index)
        except DwarfGpuError as error:
            yield self._problem("names-string", number=index + 1, reason=error.message)
        else:
            if table.hashes and name.isascii() and table.hashes[index] != hash_of(name):
                hashes = {"written": table.hashes[index], "expected": hash_of(name)}
                yield self._problem("names-hash", name=name.decode(), **hashes)
        try:
            entries = table.entries(index)
        except DwarfGpuError as error:
            self.is_whole = False
            if error.kind != "bad_form":  # which is a problem of the abbreviation
                yield RULES.broken(_OF_NAMES.get(error.kind, "names-unreadable"), error, NAMES)
            return
        self.room -= len(entries)
        if not entries:
            yield self._problem("names-entry", number=index + 1)
        for entry in entries:
            if entry.unit is None and entry.signature is None:
                self.is_whole = False
            elif entry.unit is not None and entry.signature is None and (entry.die_offset or self.is_whole):
                self.of_units[entry.unit].append((index, entry))
                self.places[entry.offset] = entry.unit + entry.die_offset

    # --- Where it leads -------------------------------------------------------------------------------------------

    def _unit(self, unit: Unit, indexed: list[_Indexed]) -> Iterator[Problem]:
        try:
            if unit.is_skeleton:
                unit = unit.dwarf.split_unit(unit)
        except DwarfGpuError:  # its entries are in a file that is not there
            return
        wanted: dict[int, list[_Indexed]] = defaultdict(list)
        for each in indexed:
            wanted[each[1].die_offset].append(each)
        owners: list[int] = []
        plans: dict[Abbreviation, bool] = {}
        try:
            for offset, depth, abbreviation, values in unit.entries():
                del owners[depth:]
                owners.append(offset)
                leading = wanted.pop(offset, None)
                if leading is not None:
                    yield from self._led(Die(unit, offset, abbreviation, values), leading, owners)
                    continue
                known = plans.get(abbreviation)
                if known is None:
                    known = plans[abbreviation] = _may_be_indexed(abbreviation)
                if known and self.is_whole:
                    yield from self._missing(Die(unit, offset, abbreviation, values))
        except DwarfGpuError:  # which the check of entries reports
            return
        finally:
            unit.release()
        for offset, leading in wanted.items():
            for _name, entry in leading:
                yield self._problem("names-die", entry.offset, offset=offset, unit=unit.offset)

    def _led(self, die: Die, leading: list[_Indexed], owners: list[int]) -> Iterator[Problem]:
        names: set[bytes] | None = None
        for index, entry in leading:
            if entry.tag != die.tag:
                values = {"tag": die.tag_name, "expected": name_of("DW_TAG", entry.tag)}
                yield self._problem("names-tag", entry.offset, entry=die.section_offset, **values)
            try:
                name = self.table.name(index)
            except DwarfGpuError:  # which is a problem of the name
                continue
            if names is None and not _has_name(die, name):
                names = _names_of(die)
            if names and name not in names and name[:2] not in (b"-[", b"+["):
                shown = name.decode("utf-8", "backslashreplace")
                yield self._problem("names-name", entry.offset, entry=die.section_offset, name=shown)
            if entry.parent is not None:
                place = self.places.get(entry.parent)
                owner = die.unit.offset + owners[-2] if len(owners) > 1 else None
                if self.is_whole and (entry.unit == die.unit.offset or place is None) and place != owner:
                    leads = "no entry" if place is None else f"the entry at {place:#x}"
                    yield self._problem("names-parent", entry.offset, entry=die.section_offset, owner=leads)

    def _missing(self, die: Die) -> Iterator[Problem]:
        if die.tag == dw.DW_TAG_variable:
            location = die.number(dw.DW_AT_location)
            data = location.value if location is not None and location.value_class == "exprloc" else b""
            if not data or data[0] not in ADDRESS_OPERATIONS:
                return
        is_internal = die.tag == dw.DW_TAG_base_type and (die.name or "").startswith("DW_ATE_")  # LLVM, of expressions
        if _names_of(die) and not is_internal:
            at = die.unit.section, die.section_offset, die
            yield RULES.problem("names-missing", *at, name=f"{die.name or ANONYMOUS!r:.80}")


def _may_be_indexed(abbreviation: Abbreviation) -> bool:
    """Return whether entries of an abbreviation belong into an index, if they have names (DWARF 5, 6.1.1.1)."""
    attributes, tag = abbreviation.attributes, abbreviation.tag
    if dw.DW_AT_declaration in attributes:
        return False
    if tag in _ADDRESSED:
        return any(attribute in attributes for attribute in _ADDRESSES)
    if tag == dw.DW_TAG_variable:
        return dw.DW_AT_location in attributes
    return tag in _NAMED


def _has_name(die: Die, name: bytes) -> bool:
    """Return whether an entry has a name by itself, which most have."""
    try:
        for number in (dw.DW_AT_name, dw.DW_AT_linkage_name):
            attribute = die.number(number)
            if attribute is not None and attribute.string() == name:
                return True
    except DwarfGpuError:  # which the check of entries reports
        return False
    return False


def _names_of(die: Die) -> set[bytes]:
    """Return the names that an entry may have in an index; none where they cannot be read."""
    names: set[bytes] = set()
    try:
        for number in (dw.DW_AT_name, dw.DW_AT_linkage_name, dw.DW_AT_MIPS_linkage_name):
            attribute = die.find_number(number)
            if attribute is not None:
                names.add(attribute.string())
    except DwarfGpuError:
        return set()
    names |= {name[: name.index(b"<")] for name in names if name.endswith(b">") and name.find(b"<") > 0}
    if not names and die.tag == dw.DW_TAG_namespace:
        names.add(ANONYMOUS.encode())
    return names
