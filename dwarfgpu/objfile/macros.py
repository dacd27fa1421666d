"""Macro information: each ``#define``, ``#undef`` and ``#include`` of a unit.

It is in `.debug_macro` (DWARF 5, 6.3), or in `.debug_macinfo` (DWARF 2 to 4, 6.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.section_source import SectionSource, decode

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.unit import Unit

DEFINE, UNDEF, START_FILE, END_FILE = 1, 2, 3, 4
_DEFINE_STRP, _UNDEF_STRP, _IMPORT, _DEFINE_SUP, _UNDEF_SUP, _IMPORT_SUP, _DEFINE_STRX, _UNDEF_STRX = range(5, 13)
_DEFINITIONS = frozenset((DEFINE, _DEFINE_STRP, _DEFINE_SUP, _DEFINE_STRX))
_VENDOR_EXTENSION = 0xFF
"""DW_MACINFO_vendor_ext: a number and a text, which mean nothing here."""
_OFFSET_8, _HAS_LINES, _HAS_OPERANDS = 1, 2, 4
VERSIONS = frozenset((4, 5))
"""Version 4 is the form of GCC before DWARF 5, with the same entries."""
MAX_IMPORTS = 64
"""How deep imports are nested at most."""
MAX_FILES = 200
"""How deep files include each other at most, as in GCC."""
MAX_TABLES = 1 << 14
"""How many tables a unit reads at most, each import counted."""
MAX_ENTRIES = 1 << 18


@frozen
class MacroEvent:
    """One entry: a macro is defined or undefined at a line, or a file is entered from a line, or left."""

    kind: int
    line: int = 0
    text: str = ""
    """The name and the definition, or the name that is undefined."""
    file: int = 0
    """The number of the file in the line table."""


def macro_events(unit: Unit) -> list[MacroEvent]:
    """Return the macro information of a unit, in the order of the source; none if it has none."""
    offset, name = unit.root_number(dw.DW_AT_macros, dw.DW_AT_GNU_macros), ".debug_macro"
    if offset is None:
        offset, name = unit.root_number(dw.DW_AT_macro_info), ".debug_macinfo"
    if offset is None:
        return []
    part, section = unit.part(name)
    start = part + offset
    if name == ".debug_macro":
        entries = _entries(unit, unit.source, section, start, count())
    else:
        entries = _old_entries(_cursor(unit, unit.source, section, start, "DWARF 4, 6.3"))
    events: list[MacroEvent] = []
    depth = 0
    for event in entries:
        depth += (event.kind == START_FILE) - (event.kind == END_FILE)
        if len(events) == MAX_ENTRIES or depth > MAX_FILES:
            message = f"the macros of a unit have more than {MAX_ENTRIES} entries, or {MAX_FILES} files in each other"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 6.3").at(section=section, offset=offset)
        events.append(event)
    return events


def _cursor(unit: Unit, source: SectionSource, section: str, start: int, clause: str) -> Cursor:
    order = unit.format.byte_order
    cursor = Cursor(source.data(section), start, byte_order=order, error=MalformedFile, section=section)
    if not 0 <= start < cursor.end:
        message = f"there is no table of macros at {start:#x}: the section has {cursor.end} bytes"
        raise cursor.fail("bad_offset", message, clause)
    return cursor


def _old_entries(cursor: Cursor) -> Iterator[MacroEvent]:
    """Yield the entries of `.debug_macinfo`, which has no header."""
    while kind := cursor.unsigned(1):
        if kind in (DEFINE, UNDEF):
            yield MacroEvent(kind, cursor.uleb(), decode(cursor.string("the text of a macro", "DWARF 4, 6.3.1.1")))
        elif kind == START_FILE:
            yield MacroEvent(START_FILE, cursor.uleb(), file=cursor.uleb())
        elif kind == END_FILE:
            yield MacroEvent(END_FILE)
        elif kind == _VENDOR_EXTENSION:
            cursor.uleb()
            cursor.string("the text of a vendor", "DWARF 4, 6.3.1.4")
        else:
            message = f"an entry of kind {kind:#x} in .debug_macinfo"
            raise cursor.fail("bad_macro", message, "DWARF 4, 7.22", cursor.position - 1)


def _entries(
    unit: Unit,
    source: SectionSource,
    section: str,
    start: int,
    tables: Iterator[int],
    around: tuple[tuple[SectionSource, int], ...] = (),
) -> Iterator[MacroEvent]:
    """Yield the entries of a table, with those of the tables it imports.

    ``tables`` counts them, and ``around`` are the tables that import it.
    """
    cursor = _cursor(unit, source, section, start, "DWARF 5, 6.3.1")
    here = source, start
    if here in around or len(around) >= MAX_IMPORTS or next(tables) >= MAX_TABLES:
        raise cursor.fail("bad_import", "a table of macros imports itself, or imports too many", "DWARF 5, 6.3.3")
    version, flags = cursor.unsigned(2), cursor.unsigned(1)
    if version not in VERSIONS:
        raise cursor.fail("bad_version", f"version {version} of a table of macros", "DWARF 5, 6.3.1", start)
    if flags & _HAS_OPERANDS:
        message = "entries of a vendor in a table of macros"
        raise Unsupported("vendor_macros", message, spec="DWARF 5, 6.3.1").at(section=section, offset=start)
    size = 8 if flags & _OFFSET_8 else 4
    if flags & _HAS_LINES:
        cursor.unsigned(size)
    while True:
        place = cursor.position
        kind = cursor.unsigned(1)
        if not kind:
            return
        if kind in (_IMPORT, _IMPORT_SUP):
            target, into, base = source, section, 0
            if kind == _IMPORT_SUP:
                target, into = unit.dwarf.supplementary_file().source, ".debug_macro"
            elif source is unit.source:
                base = unit.part(".debug_macro")[0]
            yield from _entries(unit, target, into, base + cursor.unsigned(size), tables, (*around, here))
        elif kind == START_FILE:
            line = cursor.uleb()
            yield MacroEvent(START_FILE, line, file=cursor.uleb())
        elif kind == END_FILE:
            yield MacroEvent(END_FILE)
        elif kind <= _UNDEF_STRX:
            line = cursor.uleb()
            text = _text(unit, kind, cursor, source, size)
            yield MacroEvent(DEFINE if kind in _DEFINITIONS else UNDEF, line, text)
        else:
            raise cursor.fail("bad_macro", f"an entry of kind {kind:#x} in a table of macros", "DWARF 5, 7.23", place)


def _text(unit: Unit, kind: int, cursor: Cursor, source: SectionSource, size: int) -> str:
    if kind in (DEFINE, UNDEF):
        return decode(cursor.string("the text of a macro", "DWARF 5, 6.3.2"))
    if kind in (_DEFINE_STRX, _UNDEF_STRX):
        return source.text(".debug_str" + unit.suffix, unit.tables.string_offset(cursor.uleb()))
    offset = cursor.unsigned(size)
    if kind in (_DEFINE_SUP, _UNDEF_SUP):
        return unit.dwarf.supplementary_file().source.text(".debug_str", offset)
    return source.text(".debug_str" + (unit.suffix if source is unit.source else ""), offset)
