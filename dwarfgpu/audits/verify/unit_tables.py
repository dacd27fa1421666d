"""The checks of the tables that units refer to: abbreviations, strings and addresses by index, and the units' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.findings import ERROR, Problem, rules
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import ADDRESS_SIZES, VERSIONS, initial_length
from dwarfgpu.objfile.info.forms import FORMS, form_name
from dwarfgpu.objfile.info.unit_tables import numbers

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from dwarfgpu.objfile.info.abbrevs import AbbreviationTable
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

_LENGTH = "write the number of bytes after the length, in the header"
_BASE = "write the offset of the first element, after the header of the table"

RULES = rules(
    "table",
    ("unit-length", ERROR, "DWARF 5, 7.5.1.1 (1)", "Units fill their section.", _LENGTH,
     "{left} bytes follow the last unit", "the unit claims {length} more bytes, {left} are left",
     "{zeros} zeros follow the last unit"),
    ("abbreviation-twice", ERROR, "DWARF 5, 7.5.3", "A table has one abbreviation of a code.",
     "give each abbreviation a code of its own", "more abbreviations than one of the table have the code {code}"),
    ("abbreviation-children", ERROR, "DWARF 5, 7.5.3", "An abbreviation says DW_CHILDREN_no or DW_CHILDREN_yes.",
     "write 0 or 1", "the abbreviation {code} says neither that there are children nor that there are none"),
    ("abbreviation-tag", ERROR, "DWARF 5, 7.5.3", "An abbreviation has a tag, which is not 0.", "write the tag",
     "the tag of the abbreviation {code} is 0"),
    ("abbreviation-form", ERROR, "DWARF 5, 7.5.6", "An abbreviation has forms of the standard, or of a known vendor.",
     "choose a form of table 7.6", "the abbreviation {code} has {form}"),
    ("abbreviation-end", ERROR, "DWARF 5, 7.5.3", "A table of abbreviations ends with a code of 0.", "add it",
     "the table at {table:#x} has no end"),
    ("abbreviation-unreadable", ERROR, "DWARF 5, 7.5.3", "Abbreviations can be read to the end of their table.",
     "write code, tag, children, and pairs that end with two zeros", "{reason}"),
    ("strings-length", ERROR, "DWARF 5, 7.26 (1)",
     "A table of string offsets is within its section, and has whole offsets.", _LENGTH,
     "{left} bytes are not whole offsets of {size} bytes", "{reason}"),
    ("strings-version", ERROR, "DWARF 5, 7.26 (2)", "The version of a table of string offsets is 5.", "write 5",
     "the version is {version}"),
    ("strings-base", ERROR, "DWARF 5, 3.1.1 (14)", "DW_AT_str_offsets_base is the offset of the first of a table.",
     _BASE, "the base is {base:#x} of {table}, where no table has its first element"),
    ("strings-offset", ERROR, "DWARF 5, 7.26", "A string offset is within .debug_str.", "correct the offset",
     "the string {number} is at {place:#x} of {strings}, which has {size} bytes"),
    ("addresses-length", ERROR, "DWARF 5, 7.27 (1)",
     "A table of addresses is within its section, and has whole addresses.", _LENGTH,
     "{left} bytes are not whole addresses of {size} bytes", "{reason}"),
    ("addresses-version", ERROR, "DWARF 5, 7.27 (2)", "The version of a table of addresses is 5.", "write 5",
     "the version is {version}"),
    ("addresses-size", ERROR, "DWARF 5, 7.27 (3)", "The addresses of a table have the size that the file has.",
     "write the size of addresses of the target",
     "addresses of the table have {size} bytes, those of the file {expected}"),
    ("addresses-segment-size", ERROR, "DWARF 5, 7.27 (4)",
     "Segment selectors have the size that the target has, which is 0.", "write 0",
     "segment selectors have {size} bytes, there are none"),
    ("addresses-base", ERROR, "DWARF 5, 3.1.1 (17)", "DW_AT_addr_base is the offset of the first of a table.", _BASE,
     "the base is {base:#x} of {table}, where no table has its first element"),
    ("lists-length", ERROR, "DWARF 5, 7.28", "A table of lists ends where the next one begins, or the section ends.",
     _LENGTH, "{reason}"),
    ("lists-version", ERROR, "DWARF 5, 7.28", "The version of a table of lists is 5.", "write 5",
     "the version is {version}"),
    ("lists-size", ERROR, "DWARF 5, 7.28", "The addresses of a table of lists have the size that the file has.",
     "write the size of addresses of the target",
     "addresses of the table have {size} bytes, those of the file {expected}"),
    ("lists-segment-size", ERROR, "DWARF 5, 7.28", "Segment selectors have the size that the target has, which is 0.",
     "write 0", "segment selectors have {size} bytes, there are none"),
    ("lists-offsets", ERROR, "DWARF 5, 7.28", "The offsets of a table lead to lists, which follow the offsets.",
     "write how many offsets there are, and each from where the offsets begin",
     "{count} offsets of {size} bytes do not fit in {left} bytes",
     "offset {number} is {offset:#x}, the lists are from {first:#x} to {end:#x}"),
    ("macros", ERROR, "DWARF 5, 6.3", "The macros of a unit can be read to their end, with all that they import.",
     "write the entries as table 7.24 lists them, and the offset of each import", "{reason}",
     "DW_MACRO_start_file is of file {number}, the files of the line table end at {last}"),
)  # fmt: skip
_LISTS = {".debug_loclists": "DWARF 5, 7.29", ".debug_rnglists": "DWARF 5, 7.28"}
"""The sections with tables of lists, and the clauses that define them."""


class UnitTableChecks:
    """The checks of the tables of the units of a file."""

    def __init__(self, file: CodeObject) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.source = self.dwarf.source

    def problems(self) -> Iterator[Problem]:
        for section in (".debug_info", ".debug_types", ".debug_info.dwo", ".debug_types.dwo"):
            yield from self._lengths(section)
        yield from self._abbreviations()
        for suffix in ("", ".dwo"):
            yield from self._strings(suffix)
            for section, clause in _LISTS.items():
                yield from self._tables("lists", section + suffix, suffix, clause, set())
        yield from self._addresses()
        for unit in (*self.dwarf.units, *self.dwarf.split_units):
            yield from self._macros(unit)

    def _data(self, section: str) -> bytes:
        try:
            return self.source.data(section)
        except DwarfGpuError:  # which the check of the file reports
            return b""

    def _macros(self, unit: Unit) -> Iterator[Problem]:
        try:
            if unit.root_number(dw.DW_AT_macros, dw.DW_AT_GNU_macros, dw.DW_AT_macro_info) is None:
                return
            from dwarfgpu.objfile.macros import START_FILE, macro_events
            from dwarfgpu.program.code.code_lookup import line_table

            events = macro_events(unit)
            table = line_table(self.file, unit, of_entries=True) if events else None
        except MalformedFile as error:
            if error.kind != "limit_exceeded":
                values = error.where.section, error.where.offset, None, error.spec
                yield RULES.problem("macros", *values, reason=error.message)
            return
        except DwarfGpuError:  # of another file, or of a part that has a rule of its own
            return
        last = max((number for number, _file in table.files()), default=0) if table is not None else None
        wrong = next(
            (each for each in events if each.kind == START_FILE and last is not None and each.file > last), None
        )
        if wrong is not None:
            at = unit.section, unit.root.section_offset, unit.root
            yield RULES.problem("macros", *at, number=wrong.file, last=last)

    # --- Units ----------------------------------------------------------------------------------------------------

    def _lengths(self, section: str) -> Iterator[Problem]:
        """Check that each unit is followed by the next one, or by the end of the section."""
        try:
            data = self.source.view(section)
        except DwarfGpuError:  # which the check of the file reports
            return
        position = 0
        zeros: int | None = None
        whole = memoryview(data)
        while position < len(data):
            cursor = Cursor(whole, position, byte_order=self.source.byte_order, error=MalformedFile)  # type: ignore[arg-type]
            try:
                length, _ = initial_length(cursor)
            except DwarfGpuError as error:
                if error.kind == "truncated":
                    yield RULES.problem("unit-length", section, position, left=len(data) - position)
                return
            if length > cursor.remaining:
                yield RULES.problem("unit-length", section, position, length=length, left=cursor.remaining)
                return
            if not length and zeros is None:
                zeros = len(bytes(whole).rstrip(b"\0"))  # where the bytes begin that are 0 to the end
            if zeros is not None and position >= zeros:
                yield RULES.problem("unit-length", section, position, zeros=len(data) - position)
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
                yield RULES.problem("abbreviation-unreadable", section, error.where.offset, reason=error.message)
        elif not table.is_terminated:
            yield RULES.problem("abbreviation-end", section, offset, table=offset)
        for code in table.repeated:
            yield RULES.problem("abbreviation-twice", section, offset, code=code)
        for code in table.odd_children:
            yield RULES.problem("abbreviation-children", section, offset, code=code)
        for abbreviation in abbreviations:
            if not abbreviation.tag:
                yield RULES.problem("abbreviation-tag", section, offset, code=abbreviation.code)
            unknown = next((form for form in abbreviation.forms if form not in FORMS), None)
            if unknown is not None and not self._is_unreadable(unit):
                values = {"code": abbreviation.code, "form": form_name(unknown)}
                yield RULES.problem("abbreviation-form", section, offset, **values)
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

    # --- Strings and addresses by index ---------------------------------------------------------------------------

    def _users(self, suffix: str) -> list[Unit]:
        return [unit for unit in (*self.dwarf.units, *self.dwarf.split_units) if unit.suffix == suffix]

    def _strings(self, suffix: str) -> Iterator[Problem]:
        section, users = f".debug_str_offsets{suffix}", self._users(suffix)
        length = len(self._data(section))
        if length and all(unit.version < 5 for unit in users):  # the GNU table of split units has no header
            for size in {unit.offset_size for unit in users}:
                yield from self._offsets(section, suffix, 0, length, size)
        else:
            yield from self._indexed("strings", section, suffix, "DWARF 5, 7.26", dw.DW_AT_str_offsets_base)

    def _addresses(self) -> Iterator[Problem]:
        if any(unit.version >= 5 for unit in self._users("")):  # the GNU table of split units has no header
            yield from self._indexed("addresses", ".debug_addr", "", "DWARF 5, 7.27", dw.DW_AT_addr_base)

    def _indexed(self, part: str, section: str, suffix: str, clause: str, attribute: int) -> Iterator[Problem]:
        """Check the tables of strings or addresses one by one, then whether what units refer to is one of them."""
        bases: set[int] = set()
        if (yield from self._tables(part, section, suffix, clause, bases)):
            yield from self._bases(f"{part}-base", section, self._users(suffix), bases, attribute)

    def _tables(
        self, part: str, section: str, suffix: str, clause: str, bases: set[int]
    ) -> Generator[Problem, None, bool]:
        """Check the tables of a section, collect where they begin, and return whether all are found."""
        data = self._data(section)
        position, is_whole, expected = 0, True, self.file.image.address_size
        while position < len(data):
            if part == "lists" and not any(data[position : position + 4]) and not any(data[position:]):
                break  # padding
            at = section, position, None, clause if part == "lists" else None
            cursor = Cursor(data, position, byte_order=self.source.byte_order, error=MalformedFile, section=section)
            try:
                length, size = initial_length(cursor)
                if length > cursor.remaining:
                    raise cursor.fail("truncated", f"the table claims {length} more bytes", clause, position)
                position = cursor.end = cursor.position + length
                version, address_size, selector = cursor.unsigned(2), cursor.unsigned(1), cursor.unsigned(1)
                count = cursor.unsigned(4) if part == "lists" else 0
            except DwarfGpuError as error:
                yield RULES.problem(f"{part}-length", *at, reason=error.message)
                return False
            bases.add(cursor.position)
            has_addresses = part != "strings"
            element = address_size if part == "addresses" else size
            if version not in VERSIONS:
                is_whole = False
                yield RULES.problem(f"{part}-version", *at, version=version)
            elif has_addresses and address_size != expected:
                is_whole = is_whole and address_size in ADDRESS_SIZES
                yield RULES.problem(f"{part}-size", *at, size=address_size, expected=expected)
            elif has_addresses and selector:
                yield RULES.problem(f"{part}-segment-size", *at, size=selector)
            elif part == "lists":
                yield from self._places(cursor, count, size, at)
            elif (position - cursor.position) % element:
                yield RULES.problem(f"{part}-length", *at, left=position - cursor.position, size=element)
            elif not has_addresses:
                yield from self._offsets(section, suffix, cursor.position, position, element)
        return is_whole

    def _places(
        self, cursor: Cursor, count: int, size: int, at: tuple[str, int, None, str | None]
    ) -> Iterator[Problem]:
        """Check the offsets of a table of lists, which begin at the cursor; the first wrong one is reported."""
        start, first, end = cursor.position, count * size, cursor.remaining
        if first > end:
            yield RULES.problem("lists-offsets", *at, count=count, size=size, left=end)
            return
        offsets = numbers(cursor.data, start, start + first, size, little=self.source.byte_order == "little")
        if offsets and not first <= min(offsets) <= max(offsets) < end:
            number, offset = next(each for each in enumerate(offsets) if not first <= each[1] < end)
            yield RULES.problem("lists-offsets", *at, number=number, offset=offset, first=first, end=end)

    def _offsets(self, section: str, suffix: str, start: int, end: int, size: int) -> Iterator[Problem]:
        """Check the offsets of a table; the first wrong one is reported."""
        strings = self._data(f".debug_str{suffix}")
        offsets = numbers(self._data(section), start, end, size, little=self.source.byte_order == "little")
        if offsets and max(offsets) >= len(strings):
            wrong = next(index for index, offset in enumerate(offsets) if offset >= len(strings))
            values = {"number": wrong, "place": offsets[wrong], "strings": f".debug_str{suffix}", "size": len(strings)}
            yield RULES.problem("strings-offset", section, start + wrong * size, **values)

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
                at = unit.section, unit.root.section_offset, unit.root
                yield RULES.problem(rule, *at, base=part + base, table=section)
