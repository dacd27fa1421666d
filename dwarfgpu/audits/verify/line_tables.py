"""The checks of line tables: their headers, the tables of files, and the rows that their programs make."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.expressions import has_addresses
from dwarfgpu.audits.verify.file_code import FileCode, code_of, overlapping
from dwarfgpu.audits.verify.findings import ERROR, WARNING, Problem, rules
from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import following, initial_length
from dwarfgpu.objfile.info.forms import BLOCKS, STRING_INDEX, UNSIGNED, form_name
from dwarfgpu.objfile.info.scopes import AddressSpans
from dwarfgpu.objfile.line_table import LineHeader, LineMatrix, LineTable, Sequence
from dwarfgpu.objfile.line_table import line_table as read_table
from dwarfgpu.program.code.code_lookup import free_bytes, line_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject

_LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
"""The numbers of operands of the standard opcodes (DWARF 5, table 7.25)."""
_WRITE = "write the header as 6.2.4 of the standard lists its fields"
_ROWS = "emit the instruction as 6.2.5 of the standard describes it"

RULES = rules(
    "line",
    ("unreadable", ERROR, "DWARF 5, 6.2", "A line table can be read to its end.", _WRITE),
    ("truncated", ERROR, "DWARF 5, 6.2.4",
     "A line table ends before its section does, and its program after an instruction.",
     "correct the length of the table"),
    ("version", ERROR, "DWARF 5, 6.2.4 (2)", "The version of a line table is known.", "write version 2 to 5"),
    ("header-length", ERROR, "DWARF 5, 6.2.4 (5)", "The header length leads to the first instruction.",
     "count the bytes from the end of the field to the first instruction",
     "the tables end at {end:#x}, the header length leads to {program:#x}"),
    ("address-size", ERROR, "DWARF 5, 6.2.4 (3)", "The addresses of a line table have the size that the file has.",
     "write the size of addresses of the target",
     "addresses of the table have {size} bytes, those of the file {expected}"),
    ("segment-size", ERROR, "DWARF 5, 6.2.4 (4)", "Segment selectors have the size that the target has, which is 0.",
     "write 0", "segment selectors have {size} bytes, there are none"),
    ("instruction-length", ERROR, "DWARF 5, 6.2.4 (6)", "The smallest instruction has a size.",
     "write 1, or the size that divides those of all instructions", "the smallest instruction has 0 bytes"),
    ("operations", ERROR, "DWARF 5, 6.2.4 (7)", "An instruction has one operation or more.", "write 1",
     "an instruction has 0 operations at most"),
    ("range", ERROR, "DWARF 5, 6.2.4 (10)", "The line range, by which special opcodes are divided, is not 0.",
     "write the number of line advances that special opcodes encode", "the line range is 0"),
    ("opcode-base", ERROR, "DWARF 5, 6.2.4 (11)", "The opcode base is greater than 0.",
     "write 1 more than the number of standard opcodes"),
    ("opcode-lengths", ERROR, "DWARF 5, 6.2.4 (12)", "A standard opcode has as many operands as the standard says.",
     f"write {', '.join(map(str, _LENGTHS))}", "{opcode} has {length} operands, the standard gives it {expected}"),
    ("format", ERROR, "DWARF 5, 6.2.4 (13)", "The format of directories and files has a path, and each content once.",
     "describe a path by DW_LNCT_path", "the {table} have no DW_LNCT_path", "the {table} have a content {count}"),
    ("form", ERROR, "DWARF 5, 6.2.4.1", "A content type has an allowed form.",
     "choose a form that 6.2.4.1 lists for the content", "{content} of the {table} has {form}"),
    ("content", WARNING, "DWARF 5, 6.2.4.1", "The standard or a vendor defines each content type.",
     "take a number from DW_LNCT_lo_user on", "the content {content:#x} of the {table} has no meaning"),
    ("md5", ERROR, "DWARF 5, 6.2.4.1 (5)", "An MD5 digest has 16 bytes.", "write it with DW_FORM_data16",
     "{content} of the {table} has {form}"),
    ("directory", ERROR, "DWARF 5, 6.2.4 (18)", "The directory of a file is in the table.", "correct the index",
     "the file {file} is in the directory {directory}, they end at {last}"),
    ("string", ERROR, "DWARF 5, 7.5.5", "A name is in its section.", "correct the offset, or emit the string",
     "the {form} {value:#x}: {reason}"),
    ("file", ERROR, "DWARF 5, 6.2.2", "The file of a row is in the table.",
     "add the file, or set one that is there; from version 5 on they are numbered from 0",
     "the row for {address:#x} has the file {file}, they are {first} to {last}"),
    ("number", ERROR, "DWARF 5, 6.2.2", "A line number is not negative, and has 32 bits at most.",
     "correct the advances of the line"),
    ("register", ERROR, "DWARF 5, 6.2.2", "What is set in a register of the machine fits in it.", _ROWS),
    ("unknown-opcode", WARNING, "DWARF 5, 7.22", "The standard defines each extended opcode for the version.",
     "take one of table 7.26", "the extended opcode {opcode:#x} is unknown in version {version}"),
    ("opcode-size", ERROR, "DWARF 5, 6.2.5.3", "An extended instruction is as long as its opcode and operands.",
     "write the number of bytes after the length", "{opcode} is {length} bytes long",
     "{opcode} is {length} bytes long, not {expected}"),
    ("decreasing", ERROR, "DWARF 5, 6.2.5", "Addresses do not decrease within a sequence.",
     "order the rows, or begin a new sequence", "the row for {address:#x} follows the one for {previous:#x}"),
    ("no-end", ERROR, "DWARF 5, 6.2.5.3 (1)", "A sequence ends with DW_LNE_end_sequence.", "add the instruction"),
    ("empty", WARNING, "DWARF 5, 6.2.5.3 (1)", "A sequence has code.", "leave out a sequence without code",
     "the sequence at {low:#x} has no code"),
    ("overlap", WARNING, "DWARF 5, 6.2.1", "Sequences do not overlap.", "describe an instruction once",
     "the sequence from {low:#x} to {high:#x} overlaps the one from {other:#x} to {end:#x}"),
    ("gap", WARNING, "DWARF 5, 6.2", "The line tables have rows for all code of a function.",
     "end the sequence where the code ends", "the sequences have only a part of the code from {low:#x} to {high:#x}"),
    ("not-in-code", ERROR, "DWARF 5, 6.2.2", "A sequence is within an executable section.",
     "set the address of the code", "{low:#x} to {high:#x} is not within an executable section"),
    ("offset", ERROR, "DWARF 5, 3.1.1 (5)", "DW_AT_stmt_list is the offset of a line table.", "correct the offset",
     "DW_AT_stmt_list is {table:#x}, {lines} has {size} bytes", "no line table of {lines} begins at {table:#x}"),
    ("shared", WARNING, "DWARF 5, 3.1.1 (5)", "Compilation units have line tables of their own.",
     "emit a line table for each", "the unit at {unit:#x} has the line table at {table:#x}, too"),
    ("no-table", WARNING, "DWARF 5, 3.1.1 (5)", "A unit with code has a line table.",
     "compile with -gline-tables-only at least", "the unit has code, and no DW_AT_stmt_list"),
    ("unused", WARNING, "DWARF 5, 6.2", "A line table belongs to a unit.", "remove the table, or refer to it",
     "no unit refers to the line table"),
)  # fmt: skip

_RULES_OF_KINDS = {
    "truncated": "truncated",
    "line_version": "version",
    "bad_header_length": "header-length",
    "bad_opcode_base": "opcode-base",
    "bad_line_range": "range",
    "bad_format": "format",
    "bad_form": "form",
    "unknown_form": "form",
    "bad_line": "number",
    "register_overflow": "register",
    "no_end_sequence": "no-end",
    "bad_extended_opcode": "opcode-size",
}
_TEXTS = frozenset((
    *(dw.DW_FORM_string, dw.DW_FORM_line_strp, dw.DW_FORM_strp, dw.DW_FORM_strp_sup, dw.DW_FORM_GNU_strp_alt),
    *STRING_INDEX,
))  # fmt: skip
_CONTENT_FORMS: dict[int, frozenset[int]] = {
    dw.DW_LNCT_path: _TEXTS,
    dw.DW_LNCT_directory_index: frozenset((dw.DW_FORM_data1, dw.DW_FORM_data2, dw.DW_FORM_udata)),
    dw.DW_LNCT_timestamp: frozenset((dw.DW_FORM_udata, dw.DW_FORM_data4, dw.DW_FORM_data8, *BLOCKS)),
    dw.DW_LNCT_size: UNSIGNED,
    dw.DW_LNCT_LLVM_source: _TEXTS,
}
"""The forms that a content may have (DWARF 5, 6.2.4.1)."""


class LineChecks:
    """The checks of the line tables of a file."""

    def __init__(self, file: CodeObject) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.code = FileCode(file.image)
        self.users: dict[tuple[str, int], Unit] = {}
        """The first unit that refers to each table, by section and offset."""
        self.spans: list[tuple[int, int, str, int]] = []
        """The sequences with code: start, end, and the table."""
        self._beginnings: dict[tuple[str, int], Counter[int]] = {}

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of what units say, then those of the tables."""
        for unit in (*self.dwarf.units, *self.dwarf.split_units):
            try:
                yield from self._user(unit)
            except DwarfGpuError:  # which the check of entries reports
                continue
        for section in (".debug_line", ".debug_line.dwo"):
            yield from self._section(section)
        yield from self._overlaps()

    # --- Units ----------------------------------------------------------------------------------------------------

    def _user(self, unit: Unit) -> Iterator[Problem]:
        part, section = unit.part(".debug_line")
        offset = unit.root_number(dw.DW_AT_stmt_list)
        if offset is None:
            if unit.suffix:
                self.users.setdefault((section, part), unit)  # the files of its entries (DWARF 5, 7.3.2.2)
            elif has_addresses(unit) and code_of(unit):
                yield RULES.problem("no-table", unit.section, unit.offset, unit.root)
            return
        offset += part
        data, at = unit.source.view(section), (unit.section, unit.root.section_offset, unit.root)
        if offset >= len(data):
            yield RULES.problem("offset", *at, table=offset, lines=section, size=len(data))
            return
        other = self.users.setdefault((section, offset), unit)
        if other is not unit and unit.root.tag == other.root.tag == dw.DW_TAG_compile_unit:
            yield RULES.problem("shared", *at, unit=other.offset, table=offset)

    # --- Tables ---------------------------------------------------------------------------------------------------

    def _section(self, section: str) -> Iterator[Problem]:
        source = self.dwarf.source
        try:
            data = source.data(section)
        except DwarfGpuError:  # which the check of the file reports
            return
        known = {offset for name, offset in self.users if name == section and offset < len(data)}
        begun: set[int] = set()
        position: int | None = 0
        while position is not None and position < len(data):
            if not any(data[position : position + 4]) and not any(data[position:]):
                break  # padding
            begun.add(position)
            if position not in known:
                yield RULES.problem("unused", section, position)
            yield from self._table(section, position)
            position = following(data, position, source.byte_order)
        for offset in sorted(known - begun):
            unit = self.users[section, offset]
            if unit.root_number(dw.DW_AT_stmt_list) is None:
                continue
            at = unit.section, unit.root.section_offset, unit.root
            yield RULES.problem("offset", *at, table=offset, lines=section)

    def _table(self, section: str, offset: int) -> Iterator[Problem]:
        unit = self.users.get((section, offset))
        try:
            table = self._read(section, offset, unit)
        except DwarfGpuError as error:
            yield self._unread(error, section, offset)
            return
        header = table.header
        yield from self._header(table.data, header)
        yield from _files(table)
        if header.error is not None:
            problem = self._unread(header.error, section, offset)
            yield problem
            if problem.rule is RULES["header-length"]:  # it is not known where the program begins
                return
        if header.line_range:
            yield from self._rows(table)
        table.drop()

    def _unread(self, error: DwarfGpuError, section: str, offset: int) -> Problem:
        """Return the problem that a header cannot be read."""
        name = _RULES_OF_KINDS.get(error.kind, "unreadable")
        if error.kind == "bad_address_size":
            name = "address-size"
        elif error.kind == "truncated" and not self._is_cut(section, offset):
            name = "header-length"  # the tables do not end before the program begins
        return RULES.broken(name, error, section, offset)

    def _is_cut(self, section: str, offset: int) -> bool:
        """Return whether a table is longer than its section, or too short for its header length."""
        source = self.dwarf.source
        data = source.data(section)
        cursor = Cursor(data, offset, byte_order=source.byte_order, error=MalformedFile)
        try:
            length, offset_size = initial_length(cursor)
            if length > cursor.remaining:
                return True
            cursor.end = cursor.position + length
            version = cursor.unsigned(2)
            cursor.bytes((2 if version >= 5 else 0) + offset_size)
        except MalformedFile:
            return True
        return False

    def _read(self, section: str, offset: int, unit: Unit | None) -> LineTable:
        if unit is not None and unit.root_number(dw.DW_AT_stmt_list) is not None:
            table = line_table(self.file, unit, of_entries=True)
            if table is not None and (table.header.section, table.header.offset) == (section, offset):
                return table
        source = self.dwarf.source

        def string_at(form: str, value: int) -> bytes:
            if form.startswith("strx") and unit is not None:
                value = unit.tables.string_offset(value)
            suffix = ".dwo" if section.endswith(".dwo") else ""
            return source.string(".debug_line_str" if form == "line_strp" else ".debug_str" + suffix, value)

        return read_table(
            source.data(section),
            offset,
            byte_order=source.byte_order,
            address_size=self.file.image.address_size if unit is None else unit.address_size,
            string_at=string_at,
            section=section,
            zero_is_code=not self.file.image.is_linked,
            free=free_bytes(self.file, section),
        )

    def _header(self, data: bytes, header: LineHeader) -> Iterator[Problem]:
        offset = header.offset
        fields = offset + (4 if header.offset_size == 4 else 12) + 2 + (2 if header.version >= 5 else 0)
        first = fields + header.offset_size
        at = header.section, offset
        size = self.file.image.address_size
        if header.version >= 5:
            if header.address_size != size:
                yield RULES.problem("address-size", *at, size=header.address_size, expected=size)
            if data[fields - 1]:
                yield RULES.problem("segment-size", *at, size=data[fields - 1])
        if header.error is None and header.tables_end != header.program:
            yield RULES.problem("header-length", *at, end=header.tables_end, program=header.program)
        if not header.min_instruction_length:
            yield RULES.problem("instruction-length", *at)
        if header.version >= 4 and not data[first + 1]:
            yield RULES.problem("operations", *at)
        if not header.line_range:
            yield RULES.problem("range", *at)
        lengths = header.opcode_lengths[: len(_LENGTHS)]
        for opcode, (length, expected) in enumerate(zip(lengths, _LENGTHS, strict=False), 1):
            if length != expected:
                values = {"opcode": name_of("DW_LNS", opcode), "length": length, "expected": expected}
                yield RULES.problem("opcode-lengths", *at, **values)
                break
        yield from _formats(header)

    # --- Rows -----------------------------------------------------------------------------------------------------

    def _rows(self, table: LineTable) -> Iterator[Problem]:
        header, rows = table.header, table.rows
        if rows.error is not None and not rows.is_cut:
            name = _RULES_OF_KINDS.get(rows.error.kind, "unreadable")
            name = "opcode-size" if rows.error.kind == "bad_address_size" else name
            yield RULES.broken(name, rows.error, header.section, header.offset)
        yield from _oddities(header, rows)
        yield from _files_of_rows(table, rows)
        for sequence in rows.sequences:
            yield from self._sequence(header, rows, sequence)

    def _sequence(self, header: LineHeader, rows: LineMatrix, sequence: Sequence) -> Iterator[Problem]:
        at = header.section, header.offset
        if self.code.is_dropped(sequence.origin):
            return
        addresses = rows.addresses[sequence.first : sequence.stop].tolist()
        ordered = sorted(addresses)
        low, high = ordered[0], ordered[-1]
        if ordered != addresses:
            previous, address = next((a, b) for a, b in pairwise(addresses) if b < a)
            yield RULES.problem("decreasing", *at, address=address, previous=previous)
            return
        if low == high:
            yield RULES.problem("empty", *at, low=low)
            return
        if not self.code.are_known:
            return
        self.spans.append((low, high, *at))
        if not self.code.cover(low, high):
            yield RULES.problem("not-in-code", *at, low=low, high=high)

    def _overlaps(self) -> Iterator[Problem]:
        """Yield overlaps; equal sequences are of functions of which a linker has kept one (`--icf`)."""
        for (low, high, section, offset), (other, end, _section, first) in overlapping(self.spans):
            is_same = (low, high) == (other, end)
            if not is_same or (offset == first and self._functions_at(section, offset, low) <= 1):
                values = {"low": low, "high": high, "other": other, "end": end}
                yield RULES.problem("overlap", section, offset, **values)

    def gaps(self, functions: Iterable[tuple[int, int, Unit, int]]) -> Iterator[Problem]:
        """Yield the functions that begin in a sequence, and go on where there is none; to be asked after `problems`."""
        known = AddressSpans((low, high) for low, high, _section, _offset in self.spans)
        for low, high, unit, offset in functions:
            if known.touch(low, low + 1) and not known.cover(low, high):
                die = unit.die_known_at(offset)
                yield RULES.problem("gap", unit.section, die.section_offset, die, low=low, high=high)

    def _functions_at(self, section: str, offset: int, address: int) -> int:
        """Return how many functions of the unit with a table begin at an address, or have lost theirs to a linker."""
        key = section, offset
        if key not in self._beginnings:
            unit = self.users.get(key)
            beginnings: Counter[int] = Counter()
            with suppress(DwarfGpuError):  # which the check of entries reports
                for die in unit.dies() if unit is not None else ():
                    attribute = die.number(dw.DW_AT_low_pc)
                    if die.tag == dw.DW_TAG_subprogram and attribute is not None:
                        low = attribute.address()
                        beginnings[0 if self.code.is_dropped(low) else low] += 1
            self._beginnings[key] = beginnings
        return self._beginnings[key][address] + self._beginnings[key][0]


# --- Parts of a table -------------------------------------------------------------------------------------------------


def _formats(header: LineHeader) -> Iterator[Problem]:
    """Yield what is wrong with the formats of the tables of version 5."""
    counts = len(header.directories), len(header.files)
    for table, contents, count in zip(("directories", "files"), header.formats, counts, strict=False):
        at = header.section, header.offset
        numbers = [content for content, _form in contents]
        if count and dw.DW_LNCT_path not in numbers:
            yield RULES.problem("format", *at, table=table)
        elif len(set(numbers)) != len(numbers):
            yield RULES.problem("format", *at, table=table, count="twice")
        for content, form in contents:
            values = {"content": name_of("DW_LNCT", content), "table": table, "form": form_name(form)}
            if content == dw.DW_LNCT_MD5:
                if form != dw.DW_FORM_data16:
                    yield RULES.problem("md5", *at, **values)
            elif content in _CONTENT_FORMS:
                if form not in _CONTENT_FORMS[content] and (header.error is None or header.error.kind != "bad_form"):
                    yield RULES.problem("form", *at, **values)
            elif content < dw.DW_LNCT_lo_user:
                yield RULES.problem("content", *at, content=content, table=table)


def _files(table: LineTable) -> Iterator[Problem]:
    """Yield what is wrong with the entries of the tables."""
    header = table.header
    at = header.section, header.offset
    last = len(header.directories) - (1 if header.version >= 5 else 0)
    if header.error is None:
        for number, entry in table.files():
            if entry.directory > last:
                yield RULES.problem("directory", *at, file=number, directory=entry.directory, last=last)
    for form, value, why in header.lost_strings:
        yield RULES.problem("string", *at, form=form, value=value, reason=why)


def _oddities(header: LineHeader, rows: LineMatrix) -> Iterator[Problem]:
    """Yield the extended instructions that are unknown or have another length."""
    known = {dw.DW_LNE_end_sequence: 1, dw.DW_LNE_set_address: header.address_size + 1, dw.DW_LNE_set_discriminator: 0}
    for opcode, length, offset in rows.oddities:
        if opcode in known:
            values = {"opcode": name_of("DW_LNE", opcode), "length": length}
            if known[opcode]:
                values["expected"] = known[opcode]
            yield RULES.problem("opcode-size", header.section, offset, **values)
        else:
            yield RULES.problem("unknown-opcode", header.section, offset, opcode=opcode, version=header.version)


def _files_of_rows(table: LineTable, rows: LineMatrix) -> Iterator[Problem]:
    header = table.header
    if header.error is not None:  # then some files are not known
        return
    stop = header.first_file + len(header.files) + len(rows.defined_files)
    used = {place >> 32 for place in rows.places}
    wrong = {number for number in used if not header.first_file <= number < stop}
    if not wrong:
        return
    alone = {sequence.first for sequence in rows.sequences if sequence.stop - sequence.first == 1}
    for index, place in enumerate(rows.places):
        number = place >> 32
        if number in wrong and index not in alone:
            wrong.discard(number)
            files = {"file": number, "first": header.first_file, "last": stop - 1}
            yield RULES.problem("file", header.section, header.offset, address=rows.addresses[index], **files)
