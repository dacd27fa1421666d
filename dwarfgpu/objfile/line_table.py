"""Line tables: from addresses to source positions and back (DWARF 5 section 6.2).

The header has parameters, directories and files. Versions 2 to 4 number files from 1, and directory 0 is the
compilation directory, which the unit names; from version 5 on both tables begin with entry 0. Version 6, as compilers
write it, has the layout of version 5.

A large program has hundreds of thousands of rows, so they are kept as columns of numbers, and the loop that makes
them does as little as it can for each. File and column change less often than address and line, and share a number;
so do the flags, the instruction set, the operation index and the discriminator.

Look-ups must not find code that the linker has dropped. So they skip a sequence whose first address is a *tombstone*,
which the linker writes for a dropped function: 0 by default (but not in relocatable objects, whose code begins at 0),
or, with an option, all ones or all ones minus one. The rows of these sequences are kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import budget
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import (
    DW_LNE_define_file,
    DW_LNE_end_sequence,
    DW_LNE_set_address,
    DW_LNE_set_discriminator,
    DW_LNS_advance_line,
    DW_LNS_advance_pc,
    DW_LNS_const_add_pc,
    DW_LNS_copy,
    DW_LNS_fixed_advance_pc,
    DW_LNS_negate_stmt,
    DW_LNS_set_basic_block,
    DW_LNS_set_column,
    DW_LNS_set_epilogue_begin,
    DW_LNS_set_file,
    DW_LNS_set_isa,
    DW_LNS_set_prologue_end,
)
from dwarfgpu.encoding import Cursor, Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.contributions import ADDRESS_SIZES, check_address_size, each_contribution, initial_length
from dwarfgpu.objfile.info.forms import BLOCKS, STRING_INDEX, read_value
from dwarfgpu.objfile.info.scopes import Ranges
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder


StringAt: TypeAlias = Callable[[str, int], bytes]
"""The bytes of a string in another section, for a form such as ``line_strp`` and its offset or index."""

MAX_ENTRIES = 1 << 20
"""The most files or directories of one table."""
MAX_TEXT = 1 << 27
"""The most bytes of names and sources of one table: strings may overlap, so a small file could need any amount."""

_OFFSET_FORMS = {
    dw.DW_FORM_line_strp: "line_strp",
    dw.DW_FORM_strp: "strp",
    dw.DW_FORM_strp_sup: "strp_sup",
    dw.DW_FORM_GNU_strp_alt: "strp_sup",
}
_NUMBERS = (dw.DW_FORM_data1, dw.DW_FORM_data2, dw.DW_FORM_data4, dw.DW_FORM_data8, dw.DW_FORM_sdata)
_OTHER_FORMS = frozenset((*_NUMBERS, dw.DW_FORM_flag, dw.DW_FORM_sec_offset, *BLOCKS, *STRING_INDEX))


@frozen
class FileEntry:
    """A row of the file table."""

    name: str
    directory: int = 0
    timestamp: int = 0
    size: int = 0
    md5: bytes | None = None
    """The digest of the contents; also None if DW_LNCT_LLVM_is_MD5 says that it is not valid."""
    source: str | None = None
    """The embedded text (DW_LNCT_LLVM_source); None if there is no text. An empty file has a single newline."""


@frozen
class LineHeader:
    """The parameters of a line number program, and the tables of directories and files."""

    section: str
    offset: int
    end: int
    """Where the next program begins; never past the end of the section."""
    version: int
    offset_size: int
    address_size: int
    byte_order: ByteOrder
    program: int
    """Where the first instruction begins."""
    min_instruction_length: int
    max_operations: int
    default_is_stmt: bool
    line_base: int
    line_range: int
    opcode_base: int
    opcode_lengths: bytes
    """The number of LEB128 operands of each standard opcode, from opcode 1 on."""
    directories: tuple[str, ...]
    files: tuple[FileEntry, ...]
    error: DwarfGpuError | None = None
    """The error in the tables or the length. The program can still be run."""
    tables_end: int = 0
    """Where the tables end, as far as they could be read; the program should begin there."""
    formats: tuple[tuple[tuple[int, int], ...], ...] = ()
    """The content types and forms of the directories and of the files, from version 5 on."""
    lost_strings: tuple[tuple[str, int, str], ...] = ()
    """The strings of other sections that cannot be read: form, value, and why."""

    @property
    def first_file(self) -> int:
        """The number of the first row of ``files``."""
        return 0 if self.version >= 5 else 1

    def directory(self, index: int, compilation_directory: str = "") -> str:
        """Return the path of a directory; those before the compilation directory are relative to it."""
        if self.version >= 5:
            if index == 0 and self.directories:  # the compilation directory, not relative to it (6.2.4 (16))
                return self.directories[0]
            path = self.directories[index] if 0 <= index < len(self.directories) else ""
            base = self.directories[0] if self.directories else compilation_directory
        else:
            path = self.directories[index - 1] if 0 < index <= len(self.directories) else ""
            base = compilation_directory
        return join(base, path)


def join(directory: str, name: str) -> str:
    """Return a path below a directory, unless the path is absolute."""
    if not directory or name.startswith(("/", "\\")) or name[1:3] in {":\\", ":/"}:
        return name
    return f"{directory.rstrip('/')}/{name}" if name else directory


def read_line_header(
    data: bytes,
    offset: int,
    *,
    byte_order: ByteOrder = "little",
    address_size: int = 8,
    string_at: StringAt | None = None,
    section: str = ".debug_line",
) -> LineHeader:
    """Read the header at an offset. ``address_size`` is the unit's, for versions whose header does not have it."""
    cursor = Cursor(data, offset, byte_order=byte_order, error=MalformedFile, section=section)
    if offset < 0:
        raise cursor.fail("bad_offset", f"a line number program cannot begin at {offset}", "DWARF 5, 6.2.4")
    length, offset_size = initial_length(cursor)
    error: DwarfGpuError | None = None
    if length > cursor.remaining:
        message = f"the table claims {length} more bytes, {cursor.remaining} are left"
        error = cursor.fail("truncated", message, "DWARF 5, 6.2.4", offset)
    end = cursor.end = min(cursor.position + length, len(data))
    version = cursor.unsigned(2)
    if not 2 <= version <= 6:
        message = f"version {version} of line tables is not known"
        raise Unsupported("line_version", message, spec="DWARF 5, 6.2.4").at(section=section, offset=offset)
    if version >= 5:
        address_size = cursor.unsigned(1)
        check_address_size(cursor, address_size)
        cursor.unsigned(1)  # the size of segment selectors
    header_length = cursor.unsigned(offset_size)
    if header_length > cursor.remaining:
        message = f"the header claims {header_length} more bytes, {cursor.remaining} are left"
        raise cursor.fail("bad_header_length", message, "DWARF 5, 6.2.4")
    program = cursor.position + header_length
    cursor.end = program
    min_instruction_length = cursor.unsigned(1)
    max_operations = cursor.unsigned(1) if version >= 4 else 1
    default_is_stmt = bool(cursor.unsigned(1))
    line_base = cursor.signed(1)
    line_range = cursor.unsigned(1)
    opcode_base = cursor.unsigned(1)
    if opcode_base == 0:
        raise cursor.fail("bad_opcode_base", "special opcodes cannot begin at 0", "DWARF 5, 6.2.4 (11)")
    opcode_lengths = cursor.bytes(opcode_base - 1)
    tables = _Tables(cursor, Format(address_size, offset_size, byte_order, version), string_at)
    try:
        tables.read(version)
    except DwarfGpuError as problem:
        error = error or problem.at(section=section, offset=cursor.position)
    return LineHeader(
        section=section,
        offset=offset,
        end=end,
        version=version,
        offset_size=offset_size,
        address_size=address_size,
        byte_order=byte_order,
        program=program,
        min_instruction_length=min_instruction_length,
        max_operations=max_operations or 1,  # old files of producers without wide instructions have 0
        default_is_stmt=default_is_stmt,
        line_base=line_base,
        line_range=line_range,
        opcode_base=opcode_base,
        opcode_lengths=opcode_lengths,
        directories=tuple(tables.directories),
        files=tuple(tables.files),
        error=error,
        tables_end=cursor.position,
        formats=tuple(tables.formats),
        lost_strings=tuple(tables.lost),
    )


class _Tables:
    def __init__(self, cursor: Cursor, form: Format, string_at: StringAt | None) -> None:
        self.cursor = cursor
        self.format = form
        self.string_at = string_at
        self.directories: list[str] = []
        self.files: list[FileEntry] = []
        self.text_left = MAX_TEXT
        self.elsewhere: dict[tuple[str, int], str] = {}
        self.formats: list[tuple[tuple[int, int], ...]] = []
        self.lost: list[tuple[str, int, str]] = []

    def read(self, version: int) -> None:
        """Read both tables. After an error they have the entries before it."""
        if version >= 5:
            self.directories.extend(entry.name for entry in self._entries())
            self.files.extend(self._entries())
            return
        while name := self._string():
            self.directories.append(name)
            self._check_count(len(self.directories))
        while name := self._string():
            self.files.append(file_entry(self.cursor, name))
            self._check_count(len(self.files))

    def _entries(self) -> Iterator[FileEntry]:
        """Read a table that describes its own form (DWARF 5, 6.2.4 (12) to (19))."""
        cursor = self.cursor
        form_of = [(cursor.uleb(), cursor.uleb()) for _ in range(cursor.unsigned(1))]
        self.formats.append(tuple(form_of))
        start = cursor.position
        count = cursor.uleb()
        if count > cursor.remaining:  # a value has at least one byte, whatever its form
            message = f"{count} entries do not fit in the {cursor.remaining} bytes left"
            raise cursor.fail("truncated", message, "DWARF 5, 6.2.4", start)
        if count and not form_of:
            message = f"the table has {count} entries, but no format for them"
            raise cursor.fail("bad_format", message, "DWARF 5, 6.2.4", start)
        self._check_count(count)
        return (self._entry(form_of) for _ in range(count))

    def _entry(self, form_of: list[tuple[int, int]]) -> FileEntry:
        values: dict[int, int | bytes | str] = {type_: self._value(form) for type_, form in form_of}
        md5, path = values.get(dw.DW_LNCT_MD5), values.get(dw.DW_LNCT_path)
        source = values.get(dw.DW_LNCT_LLVM_source)
        return FileEntry(
            name=path if isinstance(path, str) else "",
            directory=_number(values.get(dw.DW_LNCT_directory_index)),
            timestamp=_number(values.get(dw.DW_LNCT_timestamp)),
            size=_number(values.get(dw.DW_LNCT_size)),
            md5=md5 if isinstance(md5, bytes) and len(md5) == 16 and values.get(dw.DW_LNCT_LLVM_is_MD5) != 0 else None,
            source=source if isinstance(source, str) and source else None,
        )

    def _value(self, form: int) -> int | bytes | str:
        cursor = self.cursor
        if form == dw.DW_FORM_string:
            return self._string()
        if form in _OFFSET_FORMS:
            return self._elsewhere(_OFFSET_FORMS[form], cursor.unsigned(self.format.offset_size))
        if form == dw.DW_FORM_udata:
            return cursor.uleb()
        if form == dw.DW_FORM_data16:
            return cursor.bytes(16)
        if form not in _OTHER_FORMS:
            message = f"the form {form:#x} is not allowed in a line table"
            raise cursor.fail("bad_form", message, "DWARF 5, 7.22")
        value: int | bytes = read_value(cursor, form, self.format)
        return self._elsewhere("strx", int(value)) if form in STRING_INDEX else value

    def _string(self) -> str:
        return self._decoded(self.cursor.string("a string", "DWARF 5, 7.5.5"))

    def _elsewhere(self, form: str, value: int) -> str:
        text = self.elsewhere.get((form, value))
        if text is None:
            try:
                data = None if self.string_at is None else self.string_at(form, value)
            except DwarfGpuError as error:  # a name that cannot be read hides neither the rows nor the other names
                data = None
                self.lost.append((form, value, error.message))
            text = f"<{form} {value:#x}>" if data is None else self._decoded(data)
            self.elsewhere[form, value] = text
        return text

    def _decoded(self, data: bytes) -> str:
        self.text_left -= len(data)
        if self.text_left < 0:
            message = f"names and sources of more than {MAX_TEXT} bytes"
            raise self.cursor.fail("limit_exceeded", message, "DWARF 5, 6.2.4")
        return decode(data)

    def _check_count(self, count: int) -> None:
        if count > MAX_ENTRIES:
            raise self.cursor.fail("limit_exceeded", f"more than {MAX_ENTRIES} entries", "DWARF 5, 6.2.4")


def file_entry(cursor: Cursor, name: str) -> FileEntry:
    """Read the rest of a file entry as versions 2 to 4 and DW_LNE_define_file have it (DWARF 4, 6.2.4 (16))."""
    return FileEntry(name, cursor.uleb(), cursor.uleb(), cursor.uleb())


def _number(value: int | bytes | str | None) -> int:
    """Return a number; a time of more than 8 bytes is a block (DWARF 5, 6.2.4.1 (3))."""
    if isinstance(value, bytes):
        return int.from_bytes(value[:8], "little")
    return value if isinstance(value, int) else 0


# The low bits of a mark; from bit 8 on it has the operation index, from 16 the isa, from 32 the discriminator.
IS_STMT, BASIC_BLOCK, END_SEQUENCE, PROLOGUE_END, EPILOGUE_BEGIN = 1, 2, 4, 8, 16
_OP_INDEX, _ISA, DISCRIMINATOR = 8, 16, 32

_LAST = {32: (1 << 32) - 1, 16: (1 << 16) - 1}
"""The largest number of a register, by the bits in which it is kept."""
MAX_DEFINED_FILES = 1 << 20
MAX_ODDITIES = 1000


@frozen
class LineRow:
    """One row of a line table (DWARF 5, 6.2.2)."""

    address: int
    line: int
    column: int
    file: int
    """The number of a row of the file table; the header says whether it counts from 0 or 1."""
    is_stmt: bool = False
    basic_block: bool = False
    end_sequence: bool = False
    prologue_end: bool = False
    epilogue_begin: bool = False
    isa: int = 0
    discriminator: int = 0
    op_index: int = 0


@immutable
class Sequence:
    """The rows of one contiguous piece of code (DWARF 5, 6.2.1)."""

    first: int
    stop: int
    """The row past the last one, which is the end_sequence row unless the program is cut short."""
    origin: int
    """The first address that the program sets: the address of the code, or a tombstone if the linker dropped it."""


class LineMatrix:
    """The rows of a table in the order of its program, as columns."""

    def __init__(self) -> None:
        self.addresses = array("Q")
        self.lines = array("I")
        self.places = array("Q")
        """File number << 32 | column."""
        self.marks = array("Q")
        self.sequences: list[Sequence] = []
        self.origin: int | None = None
        """The origin of the current sequence."""
        self.defined_files: list[FileEntry] = []
        """The files of DW_LNE_define_file, which follow those of the header."""
        self.error: DwarfGpuError | None = None
        """The error that stopped the program. The rows before it are valid."""
        self.is_cut = False
        """Whether the budget was spent before the end of the program."""
        self.oddities: list[tuple[int, int, int]] = []
        """The first extended instructions that are unknown or have a wrong length: opcode, length, and offset in the
        section."""

    def __len__(self) -> int:
        return len(self.marks)

    def __getitem__(self, index: int) -> LineRow:
        mark, place = self.marks[index], self.places[index]
        return LineRow(
            self.addresses[index],
            self.lines[index],
            place & 0xFFFFFFFF,
            place >> 32,
            bool(mark & IS_STMT),
            bool(mark & BASIC_BLOCK),
            bool(mark & END_SEQUENCE),
            bool(mark & PROLOGUE_END),
            bool(mark & EPILOGUE_BEGIN),
            mark >> _ISA & 0xFFFF,
            mark >> DISCRIMINATOR,
            mark >> _OP_INDEX & 0xFF,
        )

    def __iter__(self) -> Iterator[LineRow]:
        return (self[index] for index in range(len(self)))

    def note(self, payload: bytes, left: int) -> None:
        """Remember an extended instruction that differs from the standard, with the number of bytes after it."""
        if len(self.oddities) < MAX_ODDITIES:
            self.oddities.append((payload[0], len(payload), left))

    def close(self) -> bool:
        """End the sequence of the rows since the last one, if there are any."""
        first, origin = self.sequences[-1].stop if self.sequences else 0, self.origin or 0
        self.origin = None
        if first == len(self):
            return False
        self.sequences.append(Sequence(first, len(self), origin))
        return True


def run(data: bytes, header: LineHeader, free: int | None = None) -> LineMatrix:
    """Run the program of a header over the bytes of its section.

    Addresses wrap around at the address size, because a dropped function may begin at the last address.
    ``free`` is the number of bytes of the program that cost nothing. The rest is paid from the budget, or cut.
    """
    rows = LineMatrix()
    end = header.end
    if free is not None and end - header.program > free and not budget.take(end - header.program - free):
        end = header.program + free
        rows.is_cut = True
    rest = iter(data[header.program : end])
    wide = _Wide(header) if header.max_operations > 1 else None
    try:
        _run(rest, header, rows, wide)
    except StopIteration:
        rows.error = _error("truncated", "the program ends inside an instruction", "6.2.5")
    except DwarfGpuError as error:
        rows.error = error
    if rows.close() and rows.error is None:
        rows.error = _error("no_end_sequence", "the last sequence has no end", "6.2.5.3")
    if rows.is_cut:
        rows.error = budget.exceeded("the rest of a compressed line program is left out")
    if rows.error is not None:
        rows.error.at(section=header.section, offset=end - length_hint(rest))
        del rows.addresses[len(rows) :], rows.lines[len(rows) :]  # columns of an unfinished row
    rows.oddities = [(code, length, end - left - length) for code, length, left in rows.oddities]
    if wide is not None:
        wide.convert(rows)
    last = (1 << 8 * header.address_size) - 1
    if rows.addresses and max(rows.addresses) > last:
        rows.addresses = array("Q", (address & last for address in rows.addresses))
    return rows


def _run(rest: Iterator[int], header: LineHeader, rows: LineMatrix, wide: _Wide | None) -> None:  # noqa: C901, PLR0912, PLR0915
    """Run the loop.

    All registers are local variables of one function: a call would cost more than making a row.

    With wide instructions (``wide``) the address register counts operations, which `_Wide` converts to addresses.
    """
    add_address, add_line = rows.addresses.append, rows.lines.append
    add_place, add_mark = rows.places.append, rows.marks.append
    first_special = header.opcode_base
    step = header.min_instruction_length if wide is None else 1
    address_steps, line_steps = _special_steps(header, step)
    initial = IS_STMT if header.default_is_stmt else 0
    address, line, file, column = 0, 1, 1 << 32, 0
    place = file | column
    mark = lasting = initial  # `lasting`: the mark after a row (DWARF 5, 6.2.5.1 (4))
    while True:
        try:
            for op in rest:
                if op >= first_special:
                    address += address_steps[op]
                    line += line_steps[op]
                    add_address(address)
                    add_line(line)
                    add_place(place)
                    add_mark(mark)
                    mark = lasting
                elif op == DW_LNS_set_column:
                    column = next(rest)
                    if column > 0x7F:
                        column = _register(_uleb(rest, column), 32, "column")
                    place = file | column
                elif op == DW_LNS_negate_stmt:
                    mark ^= IS_STMT
                    lasting ^= IS_STMT
                elif op == DW_LNS_advance_line:
                    line += _sleb(rest)
                elif op == 0x00:
                    payload = _extended(rest)
                    code = payload[0]
                    if code == DW_LNE_set_discriminator:
                        number = payload[1] if len(payload) == 2 else _discriminator(rows, payload, rest)
                        mark = mark & 0xFFFFFFFF | _register(number, 32, "discriminator") << DISCRIMINATOR
                    elif code == DW_LNE_end_sequence:
                        if len(payload) != 1:
                            rows.note(payload, length_hint(rest))
                        add_address(address & 0xFFFFFFFFFFFFFFFF)
                        add_line(line)
                        add_place(place)
                        add_mark(mark | END_SEQUENCE)
                        rows.close()
                        address, line, file, column = 0, 1, 1 << 32, 0
                        place = file
                        mark = lasting = initial
                        if wide is not None:
                            wide.begin(len(rows), 0)
                    elif code == DW_LNE_set_address:
                        address = _address(payload, header.byte_order)
                        if len(payload) != header.address_size + 1:
                            rows.note(payload, length_hint(rest))
                        if rows.origin is None:
                            rows.origin = address
                        if wide is not None:
                            wide.begin(len(rows), address)
                            address = 0
                    elif code == DW_LNE_define_file:
                        cursor = Cursor(payload, payload.find(b"\0") + 1, error=MalformedFile)
                        if cursor.position == 0 or len(rows.defined_files) >= MAX_DEFINED_FILES:
                            raise _error("bad_file", "DW_LNE_define_file has no end, or there are too many", "6.2.5.3")
                        name = decode(payload[1 : cursor.position - 1])
                        rows.defined_files.append(file_entry(cursor, name))
                        if header.version >= 5:  # the instruction was removed
                            rows.note(payload, length_hint(rest))
                    else:
                        rows.note(payload, length_hint(rest))
                elif op == DW_LNS_advance_pc:
                    address += _uleb(rest) * step
                elif op == DW_LNS_copy:
                    add_address(address)
                    add_line(line)
                    add_place(place)
                    add_mark(mark)
                    mark = lasting
                elif op == DW_LNS_const_add_pc:
                    address += address_steps[255]
                elif op == DW_LNS_set_file:
                    file = _register(_uleb(rest), 32, "file") << 32
                    place = file | column
                elif op == DW_LNS_set_prologue_end:
                    mark |= PROLOGUE_END
                elif op == DW_LNS_set_epilogue_begin:
                    mark |= EPILOGUE_BEGIN
                elif op == DW_LNS_set_basic_block:
                    mark |= BASIC_BLOCK
                elif op == DW_LNS_fixed_advance_pc:
                    advance = int.from_bytes((next(rest), next(rest)), header.byte_order)
                    if wide is None:
                        address += advance
                    else:
                        wide.begin(len(rows), wide.address(address) + advance)
                        address = 0
                elif op == DW_LNS_set_isa:
                    isa = _register(_uleb(rest), 16, "isa") << _ISA
                    mark = mark & ~(0xFFFF << _ISA) | isa
                    lasting = lasting & ~(0xFFFF << _ISA) | isa
                else:  # an opcode of a later version or a vendor
                    for _ in range(header.opcode_lengths[op - 1]):
                        _uleb(rest)
            return
        except OverflowError:  # of the columns
            if len(rows.addresses) > len(rows.lines) or wide is not None:
                raise _error("bad_line", f"line {line} is not a line number", "6.2.2") from None
            address &= 0xFFFFFFFFFFFFFFFF
            add_address(address)
            if not 0 <= line <= _LAST[32]:
                raise _error("bad_line", f"line {line} is not a line number", "6.2.2") from None
            add_line(line)
            add_place(place)
            add_mark(mark)
            mark = lasting
        except IndexError:
            raise _error("bad_line_range", "a special opcode in a table whose line range is 0", "6.2.5.1") from None


def _special_steps(header: LineHeader, step: int) -> tuple[list[int], list[int]]:
    if not header.line_range:
        return [], []
    adjusted = [max(0, op - header.opcode_base) for op in range(256)]
    return (
        [number // header.line_range * step for number in adjusted],
        [header.line_base + number % header.line_range for number in adjusted],
    )


def _uleb(rest: Iterator[int], first: int | None = None) -> int:
    byte = next(rest) if first is None else first
    result = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        byte = next(rest)
        result |= (byte & 0x7F) << shift
        shift += 7
        if result >> 64:
            raise _error("leb128_overflow", "an unsigned LEB128 number has more than 64 bits", "7.6")
    return result


def _sleb(rest: Iterator[int]) -> int:
    byte = next(rest)
    result = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        byte = next(rest)
        if shift < 70:
            result |= (byte & 0x7F) << shift
            shift += 7
        elif byte & 0x7F != (0x7F if result >> 69 else 0):  # only the sign may follow
            raise _error("leb128_overflow", "a signed LEB128 number has more than 64 bits", "7.6")
    if result >> (shift - 1):
        result -= 1 << shift
    if not -(1 << 63) <= result < 1 << 63:
        raise _error("leb128_overflow", "a signed LEB128 number has more than 64 bits", "7.6")
    return result


def _register(value: int, bits: int, name: str) -> int:
    """Refuse a number that is too large for its register; no producer writes such numbers."""
    if value > _LAST[bits]:
        raise _error("register_overflow", f"the {name} {value:#x} has more than {bits} bits", "6.2.2")
    return value


def _extended(rest: Iterator[int]) -> bytes:
    """Return the bytes of an extended instruction after its length; the opcode is the first."""
    length = _uleb(rest)
    if length > length_hint(rest):
        message = f"an extended instruction claims {length} bytes, {length_hint(rest)} are left"
        raise _error("truncated", message, "6.2.5.3")
    if length == 0:
        raise _error("bad_extended_opcode", "an extended instruction has no opcode", "6.2.5.3")
    return bytes(islice(rest, length))


def _address(payload: bytes, byte_order: ByteOrder) -> int:
    size = len(payload) - 1
    if size not in ADDRESS_SIZES:
        raise _error("bad_address_size", f"an address cannot have {size} bytes", "6.2.5.3 (2)")
    return int.from_bytes(payload[1:], byte_order)


def _discriminator(rows: LineMatrix, payload: bytes, rest: Iterator[int]) -> int:
    operand = iter(payload[1:])
    number = _uleb(operand)
    if length_hint(operand):
        rows.note(payload, length_hint(rest))
    return number


def _error(kind: str, message: str, section: str) -> MalformedFile:
    return MalformedFile(kind, message, spec=f"DWARF 5, {section}")


class _Wide:
    """Addresses and operation indices of a machine with several operations in an instruction (DWARF 5, 6.2.5.1).

    After an address is set, operation ``n`` is operation ``n % max_operations`` of instruction
    ``n // max_operations``, so the loop only counts operations.
    """

    def __init__(self, header: LineHeader) -> None:
        self.max_operations = header.max_operations
        self.length = header.min_instruction_length
        self.parts = [(0, 0)]  # the first row of a count of operations, and its address

    def begin(self, row: int, address: int) -> None:
        self.parts.append((row, address))

    def address(self, operations: int) -> int:
        return self.parts[-1][1] + operations // self.max_operations * self.length

    def convert(self, rows: LineMatrix) -> None:
        stops = [row for row, _ in self.parts[1:]]
        for (start, base), stop in zip(self.parts, [*stops, len(rows)], strict=True):
            for row in range(start, min(stop, len(rows))):
                instructions, op_index = divmod(rows.addresses[row], self.max_operations)
                rows.addresses[row] = (base + instructions * self.length) & 0xFFFFFFFFFFFFFFFF
                rows.marks[row] |= op_index << _OP_INDEX


@frozen
class LineSpan:
    """The addresses to which a row applies: from its own address to the address of the next row."""

    start: int
    end: int
    """The end of the addresses; equal to ``start`` if the next row has the same address."""
    row: LineRow


@immutable
class _Piece:
    """A sequence of code that the linker has kept."""

    start: int
    end: int
    sequence: Sequence
    ordered: bool
    """Whether its addresses never decrease, as they must (DWARF 5, 6.2.5)."""


class LineTable:
    """The line table of one or several units. The program is run when its rows are first needed."""

    def __init__(self, data: bytes, header: LineHeader, *, zero_is_code: bool = False, free: int | None = None) -> None:
        self.data = data
        self.free = free
        """The number of bytes of the program that cost nothing; None means all."""
        self._cut_for: object = None
        """The budget of the question in which the program was cut."""
        self.header = header
        self.zero_is_code = zero_is_code
        self._rows: LineMatrix | None = None
        self._pieces: list[_Piece] | None = None
        self._ranges: Ranges | None = None

    @property
    def rows(self) -> LineMatrix:
        if self._rows is None or (self._cut_for is not None and self._cut_for is not budget.asked()):
            self.drop()
            self._rows = run(self.data, self.header, self.free)
            self._cut_for = budget.asked() if self._rows.is_cut else None
        return self._rows

    @property
    def error(self) -> DwarfGpuError | None:
        """The error in the header's tables or the program; the rows before it are valid."""
        return self.header.error or self.rows.error

    def drop(self) -> None:
        """Free the memory. The next question runs the program again."""
        self._rows = self._pieces = self._ranges = None

    def at(self, address: int, *, prefers_statements: bool = False) -> list[LineSpan]:
        """Return the rows that apply to an address: one row for each sequence that contains it.

        If several rows of a sequence have the address, return the last, as addr2line does, or with
        ``prefers_statements`` the last that begins a statement, as GDB does.
        """
        pieces = self._live()
        if self._ranges is None:
            self._ranges = Ranges((piece.start, piece.end, index) for index, piece in enumerate(pieces))
        rows_there = []
        for index in self._ranges.at(address):
            row = self._row_at(pieces[index], address)
            if row is not None:
                chosen = self._statement(row, pieces[index].sequence.first) if prefers_statements else row
                rows_there.append(self._span(chosen, row))
        return rows_there

    def ranges(self) -> list[tuple[int, int]]:
        """Return the address ranges of the sequences that the linker has kept, by their start."""
        return [(piece.start, piece.end) for piece in self._live()]

    def spans(self, line: int, files: Collection[int], column: int | None = None) -> list[LineSpan]:
        """Return the code of a line: its rows in one of the files, in the order of the table."""
        rows = self.rows
        rows_there = []
        for piece in sorted(self._live(), key=lambda piece: piece.sequence.first):
            for index in _indices(rows, line, piece.sequence):
                place = rows.places[index]
                if place >> 32 in files and (column is None or place & 0xFFFFFFFF == column):
                    rows_there.append(self._span(index))
        return rows_there

    def next_line(self, line: int, files: Collection[int]) -> int | None:
        """Return the first line from ``line`` on that has code: the place of a breakpoint on ``line``."""
        rows = self.rows
        best: int | None = None
        for piece in self._live():
            first, stop = piece.sequence.first, piece.sequence.stop - 1
            for row_line, place in zip(rows.lines[first:stop], rows.places[first:stop], strict=True):
                if row_line >= line and (best is None or row_line < best) and place >> 32 in files:
                    best = row_line
        return best

    def _live(self) -> list[_Piece]:
        if self._pieces is None:
            rows, last = self.rows, (1 << 8 * self.header.address_size) - 1
            dead = {last, last - 1} if self.zero_is_code else {0, last, last - 1}
            pieces = (_piece(rows, sequence) for sequence in rows.sequences if sequence.origin not in dead)
            self._pieces = sorted((p for p in pieces if p.start < p.end), key=lambda piece: piece.start)
        return self._pieces

    def _row_at(self, piece: _Piece, address: int) -> int | None:
        addresses, sequence = self.rows.addresses, piece.sequence
        if piece.ordered:
            return bisect_right(addresses, address, sequence.first, sequence.stop) - 1
        for row in range(sequence.first, sequence.stop - 1):
            if addresses[row] <= address < addresses[row + 1]:
                return row
        return None

    def _statement(self, last: int, first: int) -> int:
        """Return the last row at an address that begins a statement, else the last row there."""
        rows = self.rows
        row = last
        while row >= first and rows.addresses[row] == rows.addresses[last]:
            if rows[row].is_stmt:
                return row
            row -= 1
        return last

    def _span(self, index: int, last: int | None = None) -> LineSpan:
        """Return a row with its addresses, which end after the last row at the same address."""
        row, next_address = self.rows[index], self.rows.addresses[(index if last is None else last) + 1]
        return LineSpan(row.address, max(row.address, next_address), row)

    def file(self, number: int) -> FileEntry | None:
        """Return the entry of the file table with a number from a line row or DW_AT_decl_file."""
        index = number - self.header.first_file
        if index < 0:
            return None
        if index < len(self.header.files):
            return self.header.files[index]
        defined = self.rows.defined_files
        index -= len(self.header.files)
        return defined[index] if index < len(defined) else None

    def files(self) -> Iterator[tuple[int, FileEntry]]:
        """Yield all rows of the file table with their numbers."""
        return enumerate([*self.header.files, *self.rows.defined_files], self.header.first_file)

    def path(self, number: int, compilation_directory: str = "") -> str | None:
        """Return the path of a file; ``compilation_directory`` is the unit's, which tables before version 5 omit."""
        entry = self.file(number)
        if entry is None:
            return None
        return join(self.header.directory(entry.directory, compilation_directory), entry.name)


def _piece(rows: LineMatrix, sequence: Sequence) -> _Piece:
    addresses = rows.addresses[sequence.first : sequence.stop].tolist()
    ordered = sorted(addresses)
    return _Piece(ordered[0], ordered[-1], sequence, addresses == ordered)


def _indices(rows: LineMatrix, line: int, sequence: Sequence) -> Iterator[int]:
    index = sequence.first - 1
    while True:
        try:
            index = rows.lines.index(line, index + 1, sequence.stop - 1)
        except ValueError:
            return
        yield index


def line_table(
    data: bytes,
    offset: int,
    *,
    byte_order: ByteOrder = "little",
    address_size: int = 8,
    string_at: StringAt | None = None,
    section: str = ".debug_line",
    zero_is_code: bool = False,
    free: int | None = None,
) -> LineTable:
    """Read the table at an offset, such as DW_AT_stmt_list of a unit."""
    header = read_line_header(
        data, offset, byte_order=byte_order, address_size=address_size, string_at=string_at, section=section
    )
    return LineTable(data, header, zero_is_code=zero_is_code, free=free)


def line_tables(data: bytes, *, byte_order: ByteOrder = "little", **how: Any) -> Iterator[LineTable | DwarfGpuError]:
    """Yield all tables of a section in order, read as by `line_table`, with an error in place of a broken one."""
    read = partial(line_table, data, byte_order=byte_order, **how)
    return each_contribution(data, byte_order, read, lambda table: table.header.end)
