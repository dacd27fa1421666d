"""Macros: ``.debug_macro`` (DWARF 5 section 6.3, and GNU's form of it for version 4) and ``.debug_macinfo`` (DWARF 4).

A unit of macros is a list of entries: definitions, the files they stand in, and other units that are included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.entries.forms import read_value
from dwarfgpu.objfile.source import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from dwarfgpu.encoding.cursor import ByteOrder

    StringAt: TypeAlias = Callable[[str, int], str]
    """The text of a string in another section: ``strp``, ``strp_sup`` or ``strx``, and its offset or index."""

MACRO, MACINFO = ".debug_macro", ".debug_macinfo"
SPEC = "DWARF 5, 6.3"
MAX_ENTRIES = 1 << 22
"""A unit with more entries is refused."""
_OFFSET_64, _HAS_LINES, _HAS_OPERANDS = 1, 2, 4
_VENDOR = 0xFF

# Operands: `l` a line, `f` the number of a file, `s` a string here, `p`, `u` and `x` one elsewhere, `o` an offset.
_KINDS = {
    0x01: ("define", "ls"),
    0x02: ("undef", "ls"),
    0x03: ("start_file", "lf"),
    0x04: ("end_file", ""),
    0x05: ("define_strp", "lp"),
    0x06: ("undef_strp", "lp"),
    0x07: ("import", "o"),
    0x08: ("define_sup", "lu"),
    0x09: ("undef_sup", "lu"),
    0x0A: ("import_sup", "o"),
    0x0B: ("define_strx", "lx"),
    0x0C: ("undef_strx", "lx"),
}
"""DWARF 5, table 7.25. GNU's numbers up to 0x0a are the same, under other names."""
_GNU_NAMES = {
    0x05: "define_indirect",
    0x06: "undef_indirect",
    0x07: "transparent_include",
    0x08: "define_indirect_alt",
    0x09: "undef_indirect_alt",
    0x0A: "transparent_include_alt",
}
_STRINGS = {"p": "strp", "u": "strp_sup", "x": "strx"}


@frozen
class MacroEntry:
    """One entry."""

    offset: int
    kind: str
    """``DW_MACRO_define_strx``, ``DW_MACINFO_start_file``, ..."""
    line: int | None = None
    text: str | None = None
    """The name of a macro with its parameters, and behind a blank what it stands for."""
    file: int | None = None
    """The number of a file of the line table."""
    unit: int | None = None
    """The offset of the unit that is included, for those of a supplementary file in that."""


@frozen
class MacroUnit:
    """The entries of one unit. Some may be missing when there is an ``error``."""

    section: str
    offset: int
    end: int
    version: int
    offset_size: int
    lines: int | None
    """The line table whose files are meant, where the header says it."""
    entries: tuple[MacroEntry, ...]
    error: DwarfGpuError | None = None


def read_macro_unit(
    data: bytes,
    offset: int,
    *,
    section: str = MACRO,
    byte_order: ByteOrder = "little",
    string_at: StringAt | None = None,
) -> MacroUnit:
    """The unit at an offset, up to its end or to what cannot be read; an error if its header cannot be."""
    cursor = Cursor(data, offset, byte_order=byte_order, error=MalformedFile, section=section)
    version, offset_size, lines = 4, 4, None
    known: dict[int, tuple[int, ...]] = {}
    if not section.startswith(MACINFO):
        version, offset_size, lines, known = _header(cursor, offset)
    form = Format(8, offset_size, byte_order, version)
    entries: list[MacroEntry] = []
    problem: DwarfGpuError | None = None
    try:
        for entry in _entries(cursor, form, section, known, string_at):
            if len(entries) == MAX_ENTRIES:
                raise cursor.fail("limit_exceeded", f"a unit has more than {MAX_ENTRIES} entries", SPEC)
            entries.append(entry)
    except DwarfGpuError as error:
        problem = error.at(section=section, offset=cursor.position)
    return MacroUnit(section, offset, cursor.position, version, offset_size, lines, tuple(entries), problem)


def read_macro_units(
    data: bytes, *, section: str = MACRO, byte_order: ByteOrder = "little", string_at: StringAt | None = None
) -> Iterator[MacroUnit | DwarfGpuError]:
    """All units of a section. They have no length: behind one that cannot be read no other can be found."""
    position = 0
    while position < len(data):
        try:
            found = read_macro_unit(
                data, position, section=section, byte_order=byte_order, string_at=string_at
            )
        except DwarfGpuError as error:
            yield error
            return
        yield found
        if found.error is not None:
            return
        position = found.end


def _header(cursor: Cursor, start: int) -> tuple[int, int, int | None, dict[int, tuple[int, ...]]]:
    """Version, size of offsets, line table, and the forms of the operands of further kinds (DWARF 5, 6.3.1)."""
    version, flags = cursor.unsigned(2), cursor.unsigned(1)
    if version not in (4, 5, 6):
        error = Unsupported("bad_version", f"version {version} of macros is not known", spec=SPEC)
        raise error.at(section=cursor.section, offset=start)
    offset_size = 8 if flags & _OFFSET_64 else 4
    lines = cursor.unsigned(offset_size) if flags & _HAS_LINES else None
    known = {}
    if flags & _HAS_OPERANDS:
        for _ in range(cursor.unsigned(1)):
            kind = cursor.unsigned(1)
            known[kind] = tuple(cursor.bytes(cursor.uleb()))
    return version, offset_size, lines, known


def _entries(
    cursor: Cursor, form: Format, section: str, known: dict[int, tuple[int, ...]], string_at: StringAt | None
) -> Iterator[MacroEntry]:
    is_macinfo = section.startswith(MACINFO)
    while True:
        offset = cursor.position
        number = cursor.unsigned(1)
        if not number:
            return
        name, operands = _KINDS.get(number, ("", ""))
        if is_macinfo:
            if number == _VENDOR:  # a constant and a string (DWARF 4, 6.3.1.4)
                cursor.uleb()
                yield MacroEntry(offset, "DW_MACINFO_vendor_ext", text=_string(cursor))
                continue
            if number > 0x04:
                name = ""
        elif number in known or not name:
            if number not in known:
                raise _unknown(cursor, number, offset)
            for each in known[number]:
                read_value(cursor, each, form)
            yield MacroEntry(offset, f"DW_MACRO_{name or f'unknown_{number:#x}'}")
            continue
        elif form.version < 5:
            name = f"GNU_{_GNU_NAMES.get(number, name)}"
        if not name:
            raise _unknown(cursor, number, offset)
        kind = f"{'DW_MACINFO' if is_macinfo else 'DW_MACRO'}_{name}"
        yield _entry(cursor, form, offset, kind, operands, string_at)


def _entry(
    cursor: Cursor, form: Format, offset: int, kind: str, operands: str, string_at: StringAt | None
) -> MacroEntry:
    line = text = file = unit = None
    for operand in operands:
        if operand == "l":
            line = cursor.uleb()
        elif operand == "f":
            file = cursor.uleb()
        elif operand == "s":
            text = _string(cursor)
        elif operand == "o":
            unit = cursor.unsigned(form.offset_size)
        else:
            value = cursor.uleb() if operand == "x" else cursor.unsigned(form.offset_size)
            text = _elsewhere(_STRINGS[operand], value, string_at)
    return MacroEntry(offset, kind, line, text, file, unit)


def _elsewhere(form: str, value: int, string_at: StringAt | None) -> str:
    """A string of another section; one that cannot be read hides no other entry."""
    try:
        if string_at is not None:
            return string_at(form, value)
    except DwarfGpuError:
        pass
    return f"<{form} {value:#x}>"


def _string(cursor: Cursor) -> str:
    end = cursor.data.find(b"\0", cursor.position, cursor.end)
    if end < 0:
        raise cursor.fail("truncated", "a string has no end", SPEC)
    return decode(cursor.bytes(end + 1 - cursor.position)[:-1])


def _unknown(cursor: Cursor, number: int, offset: int) -> DwarfGpuError:
    return cursor.fail("unknown_entry_kind", f"the macro entry kind {number:#x} is not known", SPEC, offset)
