"""The checks of the tables that units refer to: abbreviations, strings and addresses by index, and the units' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import ADDRESS_SIZES, initial_length
from dwarfgpu.objfile.info.forms import FORMS, form_name
from dwarfgpu.objfile.info.unit_tables import numbers
from dwarfgpu.verification.findings import ERROR, CheckRule, Problem, rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.info.abbrevs import AbbreviationTable
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

_LENGTH = "write the number of bytes behind the length, in the header"
_BASE = "write the offset of the first element, behind the header of the table"

RULES: dict[str, CheckRule] = rules(
    "table",
    ("unit-length", ERROR, "DWARF 5, 7.5.1.1 (1)", "Units fill their section.", _LENGTH),
    ("abbreviation-twice", ERROR, "DWARF 5, 7.5.3", "A table has one abbreviation of a code.",
     "give each abbreviation a code of its own"),
    ("abbreviation-children", ERROR, "DWARF 5, 7.5.3", "An abbreviation says DW_CHILDREN_no or DW_CHILDREN_yes.",
     "write 0 or 1"),
    ("abbreviation-tag", ERROR, "DWARF 5, 7.5.3", "An abbreviation has a tag, which is not 0.", "write the tag"),
    ("abbreviation-form", ERROR, "DWARF 5, 7.5.6", "An abbreviation has forms of the standard, or of a known vendor.",
     "choose a form of table 7.6"),
    ("abbreviation-end", ERROR, "DWARF 5, 7.5.3", "A table of abbreviations ends with a code of 0.", "add it"),
    ("abbreviation-unreadable", ERROR, "DWARF 5, 7.5.3", "Abbreviations can be read to the end of their table.",
     "write code, tag, children, and pairs that end with two zeros"),
    ("strings-length", ERROR, "DWARF 5, 7.26 (1)",
     "A table of string offsets is within its section, and has whole offsets.", _LENGTH),
    ("strings-version", ERROR, "DWARF 5, 7.26 (2)", "The version of a table of string offsets is 5.", "write 5"),
    ("strings-base", ERROR, "DWARF 5, 3.1.1 (14)", "DW_AT_str_offsets_base is the offset of the first of a table.",
     _BASE),
    ("strings-offset", ERROR, "DWARF 5, 7.26", "A string offset is within .debug_str.", "correct the offset"),
    ("addresses-length", ERROR, "DWARF 5, 7.27 (1)",
     "A table of addresses is within its section, and has whole addresses.", _LENGTH),
    ("addresses-version", ERROR, "DWARF 5, 7.27 (2)", "The version of a table of addresses is 5.", "write 5"),
    ("addresses-size", ERROR, "DWARF 5, 7.27 (3)", "The addresses of a table have the size that the file has.",
     "write the size of addresses of the target"),
    ("addresses-segment-size", ERROR, "DWARF 5, 7.27 (4)",
     "Segment selectors have the size that the target has, which is 0.", "write 0"),
    ("addresses-base", ERROR, "DWARF 5, 3.1.1 (17)", "DW_AT_addr_base is the offset of the first of a table.", _BASE),
)  # fmt: skip


class UnitTableChecks:
    """The checks of the tables of the units of a file."""

    def __init__(self, file: CodeObject) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.source = self.dwarf.source

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of each table."""
        for section in (".debug_info", ".debug_types", ".debug_info.dwo", ".debug_types.dwo"):
            yield from self._lengths(section)
        yield from self._abbreviations()
        for suffix in ("", ".dwo"):
            yield from self._strings(suffix)
        yield from self._addresses()

    def _data(self, section: str) -> bytes:
        try:
            return self.source.data(section)
        except DwarfGpuError:  # which the check of the file reports
            return b""

    # --- Units ----------------------------------------------------------------------------------------------------

    def _lengths(self, section: str) -> Iterator[Problem]:
        """Check that each unit is followed by the next one, or by the end of the section."""
        try:
            data = self.source.view(section)
        except DwarfGpuError:  # which the check of the file reports
            return
        position = 0
        whole = memoryview(data)
        while position < len(data):
            cursor = Cursor(whole, position, byte_order=self.source.byte_order, error=MalformedFile)  # type: ignore[arg-type]
            try:
                length, _ = initial_length(cursor)
            except DwarfGpuError as error:
                if error.kind == "truncated":
                    message = f"{len(data) - position} bytes follow the last unit"
                    yield Problem(RULES["unit-length"], message, section, position)
                return
            if length > cursor.remaining:
                message = f"the unit claims {length} more bytes, {cursor.remaining} are left"
                yield Problem(RULES["unit-length"], message, section, position)
                return
            if not length and not any(whole[position:]):
                message = f"{len(data) - position} zeros follow the last unit"
                yield Problem(RULES["unit-length"], message, section, position)
                return
            position = cursor.position + length

    # --- Abbreviations --------------------------------------------------------------------------------------------

    def _abbreviations(self) -> Iterator[Problem]:
        seen: set[tuple[str, int]] = set()
        for unit in (*self.dwarf.units, *self.dwarf.split_units):
            part, section = unit.part(".debug_abbrev")
            place = section, part + unit.header.abbreviations
            if place in seen:
                continue
            seen.add(place)
            try:
                table = unit.table
            except DwarfGpuError:  # which the check of entries reports
                continue
            yield from self._table(table, unit, *place)

    def _table(self, table: AbbreviationTable, unit: Unit, section: str, offset: int) -> Iterator[Problem]:
        abbreviations = table.all()
        if table.problem is not None:
            error = table.problem
            if not self._is_unreadable(unit):
                yield Problem(RULES["abbreviation-unreadable"], error.message, section, error.where.offset)
        elif not table.is_terminated:
            yield Problem(RULES["abbreviation-end"], f"the table at {offset:#x} has no end", section, offset)
        for code in table.repeated:
            message = f"more abbreviations than one of the table have the code {code}"
            yield Problem(RULES["abbreviation-twice"], message, section, offset)
        for code in table.odd_children:
            message = f"the abbreviation {code} says neither that there are children nor that there are none"
            yield Problem(RULES["abbreviation-children"], message, section, offset)
        for abbreviation in abbreviations:
            if not abbreviation.tag:
                message = f"the tag of the abbreviation {abbreviation.code} is 0"
                yield Problem(RULES["abbreviation-tag"], message, section, offset)
            unknown = next((form for form in abbreviation.forms if form not in FORMS), None)
            if unknown is not None and not self._is_unreadable(unit):
                message = f"the abbreviation {abbreviation.code} has {form_name(unknown)}"
                yield Problem(RULES["abbreviation-form"], message, section, offset)
                return

    @staticmethod
    def _is_unreadable(unit: Unit) -> bool:
        """Return whether the entries of a unit cannot be read, which the check of entries reports."""
        try:
            for _entry in unit.entries():
                pass
        except DwarfGpuError:
            return True
        finally:
            unit.release()
        return False

    # --- Strings by index -----------------------------------------------------------------------------------------

    def _users(self, suffix: str) -> list[Unit]:
        return [unit for unit in (*self.dwarf.units, *self.dwarf.split_units) if unit.suffix == suffix]

    def _strings(self, suffix: str) -> Iterator[Problem]:
        section = f".debug_str_offsets{suffix}"
        data = self._data(section)
        users = self._users(suffix)
        if data and all(unit.version < 5 for unit in users):  # the GNU table of split units has no header
            for size in {unit.offset_size for unit in users}:
                yield from self._offsets(section, suffix, 0, len(data), size)
            return
        bases: set[int] = set()
        position = 0
        order = self.source.byte_order
        is_whole = True
        while position < len(data):
            cursor = Cursor(data, position, byte_order=order, error=MalformedFile, section=section)
            try:
                length, size = initial_length(cursor)
                if length > cursor.remaining:
                    raise cursor.fail("truncated", f"the table claims {length} more bytes", "DWARF 5, 7.26", position)
                end = cursor.end = cursor.position + length
                version = cursor.unsigned(2)
                cursor.unsigned(2)
            except DwarfGpuError as error:
                is_whole = False
                yield Problem(RULES["strings-length"], error.message, section, position)
                break
            bases.add(cursor.position)
            if version not in (5, 6):
                is_whole = False
                yield Problem(RULES["strings-version"], f"the version is {version}", section, position)
            elif (end - cursor.position) % size:
                message = f"{end - cursor.position} bytes are not whole offsets of {size} bytes"
                yield Problem(RULES["strings-length"], message, section, position)
            else:
                yield from self._offsets(section, suffix, cursor.position, end, size)
            position = end
        if is_whole:
            yield from self._bases("strings-base", section, users, bases, dw.DW_AT_str_offsets_base)

    def _offsets(self, section: str, suffix: str, start: int, end: int, size: int) -> Iterator[Problem]:
        """Check the offsets of a table; the first wrong one is reported."""
        strings = self._data(f".debug_str{suffix}")
        offsets = numbers(self._data(section), start, end, size, little=self.source.byte_order == "little")
        if offsets and max(offsets) >= len(strings):
            wrong = next(index for index, offset in enumerate(offsets) if offset >= len(strings))
            message = f"the string {wrong} is at {offsets[wrong]:#x} of .debug_str{suffix}, which has"
            message += f" {len(strings)} bytes"
            yield Problem(RULES["strings-offset"], message, section, start + wrong * size)

    # --- Addresses by index ---------------------------------------------------------------------------------------

    def _addresses(self) -> Iterator[Problem]:
        section = ".debug_addr"
        data = self._data(section)
        users = self._users("")
        if not any(unit.version >= 5 for unit in users):  # the GNU table of split units has no header
            return
        bases: set[int] = set()
        position = 0
        is_whole = True
        while position < len(data):
            cursor = Cursor(data, position, byte_order=self.source.byte_order, error=MalformedFile, section=section)
            try:
                length, _ = initial_length(cursor)
                if length > cursor.remaining:
                    raise cursor.fail("truncated", f"the table claims {length} more bytes", "DWARF 5, 7.27", position)
                end = cursor.end = cursor.position + length
                version, size, selector = cursor.unsigned(2), cursor.unsigned(1), cursor.unsigned(1)
            except DwarfGpuError as error:
                is_whole = False
                yield Problem(RULES["addresses-length"], error.message, section, position)
                break
            bases.add(cursor.position)
            expected = self.file.image.address_size
            if version not in (5, 6):
                is_whole = False
                yield Problem(RULES["addresses-version"], f"the version is {version}", section, position)
            elif size != expected:
                is_whole = is_whole and size in ADDRESS_SIZES
                message = f"addresses of the table have {size} bytes, those of the file {expected}"
                yield Problem(RULES["addresses-size"], message, section, position)
            elif selector:
                message = f"segment selectors have {selector} bytes, there are none"
                yield Problem(RULES["addresses-segment-size"], message, section, position)
            elif (end - cursor.position) % size:
                message = f"{end - cursor.position} bytes are not whole addresses of {size} bytes"
                yield Problem(RULES["addresses-length"], message, section, position)
            position = end
        if is_whole:
            yield from self._bases("addresses-base", section, users, bases, dw.DW_AT_addr_base)

    # --- Bases ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _bases(rule: str, section: str, users: list[Unit], bases: set[int], attribute: int) -> Iterator[Problem]:
        """Check that what units refer to are tables."""
        for unit in users:
            try:
                base = unit.root_number(attribute)
                part = unit.part(section.removesuffix(".dwo"))[0]
            except DwarfGpuError:  # which the check of entries reports
                continue
            if base is not None and unit.version >= 5 and part + base not in bases:
                message = f"the base is {part + base:#x} of {section}, where no table has its first element"
                yield Problem(RULES[rule], message, unit.section, unit.root.section_offset, unit.root)
