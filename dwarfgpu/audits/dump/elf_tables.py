"""The dump of what an ELF file says beside its debugging information: symbols, relocations, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.dump.parts import SectionPart, Table
from dwarfgpu.errors import Unsupported
from dwarfgpu.objfile.elf.header import SHT_CREL, SHT_DYNSYM, SHT_NOTE, SHT_REL, SHT_RELA, SHT_SYMTAB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.sections import Section
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.program.code.code_object import CodeObject

_SYMBOL_COLUMNS = "index:number value:address size:number type:text bind:text visibility:text section:text name:text"
_NOTE_COLUMNS = "offset:address owner:text type:text size:number content:text"
_RELOCATION_COLUMNS = "offset:address type:text addend:address symbol:text"
_SPECIAL = {0: "undefined", 0xFFF1: "absolute", 0xFFF2: "common", 0xFF00: "local memory"}
"""What section numbers of symbols that are in no section mean."""
_LONGEST_CONTENT = 32
"""The bytes of a note that are shown; what longer ones hold is metadata, which other commands show."""


def _symbols(image: Image, section: Section) -> SectionPart:
    table = image.symbol_table(section)

    def row(symbol: Symbol) -> tuple[Any, ...]:
        number = symbol.section_index
        place = symbol.section.name if symbol.section is not None else _SPECIAL.get(number, f"{number:#x}")
        head = symbol.index, symbol.value, symbol.size, symbol.type, symbol.bind, symbol.visibility
        return (*head, place, symbol.demangled)

    return SectionPart(section.name, 0, "symbol table", {}, (Table("symbols", _SYMBOL_COLUMNS, map(row, table)),))


def _notes(image: Image, section: Section) -> SectionPart:
    rows = [
        (note.offset, note.owner, note.type_name, len(note.data), _content(note.data))
        for note in image.notes()
        if note.place == section.name
    ]
    return SectionPart(section.name, 0, "note section", {}, (Table("notes", _NOTE_COLUMNS, rows),))


def _content(data: bytes) -> str | None:
    """Return a short note as text if all of it is, else in hexadecimal; nothing for a long one."""
    text = data.rstrip(b"\0")
    if text and all(32 <= byte < 127 for byte in text) and len(text) <= 2 * _LONGEST_CONTENT:
        return text.decode("ascii")
    return data.hex() if len(data) <= _LONGEST_CONTENT else None


def _relocations(image: Image, section: Section) -> SectionPart:
    from dwarfgpu.objfile.elf.relocation import RULES

    if section.type == SHT_CREL:
        raise Unsupported("relocation", f"{image.name}: compact relocations ({section.name}) are not supported")
    header, data = section.header, section.decompressed()
    has_symbols = 0 < header.link < len(image.sections)
    table = image.symbol_table(image.sections[header.link]) if has_symbols else None
    rules = RULES.get(image.machine, {})

    def rows() -> Iterator[tuple[Any, ...]]:
        for offset, index, number, addend in image.layout.relocations(data, have_addends=section.type == SHT_RELA):
            name = None
            if index:
                is_known = table is not None and index < table.count
                name = table.symbol(index).demangled if is_known and table is not None else f"symbol {index}"
            kind = rules[number].name if number in rules else str(number)
            yield offset, kind, addend, name

    target = image.sections[header.info].name if 0 < header.info < len(image.sections) else None
    tables = (Table("relocations", _RELOCATION_COLUMNS, rows()),)
    return SectionPart(section.name, 0, "relocation section", {"relocates": target}, tables)


WORDS = {"symtab": (SHT_SYMTAB,), "dynsym": (SHT_DYNSYM,), "note": (SHT_NOTE,), "rela": (SHT_RELA, SHT_REL, SHT_CREL)}
"""Words that mean all sections of some types."""
_READERS = {
    **dict.fromkeys((SHT_SYMTAB, SHT_DYNSYM), _symbols),
    SHT_NOTE: _notes,
    **dict.fromkeys(WORDS["rela"], _relocations),
}


def sections(file: CodeObject) -> Iterator[tuple[Image, Section]]:
    """Yield the sections that are shown here, and the image of each: of the file, and of its debug file."""
    for image in dict.fromkeys((file.image, file.debug.image)):
        yield from ((image, section) for section in image.sections if section.type in _READERS)


def parts(file: CodeObject, name: str) -> Iterator[SectionPart]:
    """Yield what the sections with a name hold."""
    for image, section in sections(file):
        if section.name == name:
            yield _READERS[section.type](image, section)
