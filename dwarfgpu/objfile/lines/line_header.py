"""The header of a line number program: parameters, directories and files (DWARF 5 section 6.2.4).

Versions 2 to 4 number files from 1, and directory 0 is the compilation directory, which the unit names; from version
5 on both tables begin with entry 0. Version 6, as compilers write it, has the layout of version 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import check_address_size, initial_length
from dwarfgpu.objfile.info.forms import BLOCKS, STRING_INDEX, read_value
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder

StringAt: TypeAlias = Callable[[str, int], bytes]
"""The bytes of a string in another section, for a form such as ``line_strp`` and its offset or index."""

MAX_ENTRIES = 1 << 20
"""How many files or directories one table may have."""
MAX_TEXT = 1 << 27
"""How many bytes of names and sources one table may have: strings may overlap, so a small file could ask for any."""

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
    """The digest of the contents; None also where DW_LNCT_LLVM_is_MD5 says that it is not valid."""
    source: str | None = None
    """The embedded text (DW_LNCT_LLVM_source); None if there is no text. An empty file has a single newline."""


@frozen
class LineHeader:
    """What a line number program needs to run, and the tables that its registers point into."""

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
    """What is wrong with the tables or the length. The program can still be run."""
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
    """Return a path below a directory, unless it is absolute by itself."""
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
    """Read the header at an offset. ``address_size`` is the unit's, for versions whose header does not say it."""
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
    """Reads the directory and file tables."""

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
        md5 = values.get(dw.DW_LNCT_MD5)
        source = values.get(dw.DW_LNCT_LLVM_source)
        return FileEntry(
            name=_text(values.get(dw.DW_LNCT_path)),
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


def _text(value: int | bytes | str | None) -> str:
    return value if isinstance(value, str) else ""


def _number(value: int | bytes | str | None) -> int:
    """Return a number; a compiler writes a block for a time of more than 8 bytes (DWARF 5, 6.2.4.1 (3))."""
    if isinstance(value, bytes):
        return int.from_bytes(value[:8], "little")
    return value if isinstance(value, int) else 0
