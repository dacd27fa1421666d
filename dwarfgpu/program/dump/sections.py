"""Sections as a dump shows them: which there are, which names they go by, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.codeobject import NotFound
from dwarfgpu.program.dump import lines, tables
from dwarfgpu.program.dump.code import CodeReader
from dwarfgpu.program.dump.lists import ListSection
from dwarfgpu.program.dump.parts import Columns, Part, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.codeobject import CodeObject

ALL = "all"
ENTRIES = frozenset((".debug_info", ".debug_types"))
"""The sections that are shown as entries."""
_LISTS = {
    ".debug_loc": "loclist",
    ".debug_loclists": "loclist",
    ".debug_ranges": "rnglist",
    ".debug_rnglists": "rnglist",
}
_TABLES: dict[str, Callable[[CodeObject, str], Iterator[Part]]] = {
    ".debug_abbrev": tables.abbreviations,
    ".debug_addr": tables.addresses,
    ".debug_cu_index": tables.package_index,
    ".debug_gnu_pubnames": tables.public_names,
    ".debug_gnu_pubtypes": tables.public_names,
    ".debug_line_str": tables.strings,
    ".debug_names": tables.names,
    ".debug_pubnames": tables.public_names,
    ".debug_pubtypes": tables.public_names,
    ".debug_str": tables.strings,
    ".debug_str_offsets": tables.string_offsets,
    ".debug_tu_index": tables.package_index,
}
_BY_ADDRESS: dict[str, Callable[[CodeObject, str, int | None], Iterator[Part]]] = {
    ".debug_aranges": tables.address_ranges,
    ".debug_line": lines.parts,
}
"""The sections that can be asked for an address."""
BYTES = 16
"""How many bytes of a section that is not decoded stand in a line."""


def base_name(section: str) -> str:
    """The name without the ending of split sections."""
    return section.removesuffix(".dwo")


def find_sections(file: CodeObject, names: Iterable[str]) -> list[str]:
    """The sections that are meant: ``.debug_line``, ``debug_line``, ``line``, or all of the debugging information."""
    known = list(dict.fromkeys(each.name for each in file.image.sections if each.name))
    found: dict[str, None] = {}
    for name in names:
        if name == ALL:
            debug = [each for each in known if each.startswith(".debug_") or each == ".eh_frame"]
            found.update(dict.fromkeys(sorted(debug, key=lambda each: base_name(each) not in ENTRIES)))
            continue
        meant = [name, f".{name}", f".debug_{name}"]
        matches = [each for each in known if each in meant or base_name(each) in meant]
        if not matches:
            raise _no_section(file, name, known)
        found.update(dict.fromkeys(matches))
    return list(found)


def _no_section(file: CodeObject, name: str, known: list[str]) -> NotFound:
    debug = [each for each in known if each.startswith((".debug_", ".eh_frame"))]
    hint = f"there are {', '.join(debug)}" if debug else "it has no debugging information"
    return NotFound("no_section", f"{file.name} has no section {name!r}", hint=hint)


class SectionDump:
    """The parts of the sections of one file that are not entries."""

    def __init__(self, file: CodeObject, dialect: str | None = None, pc: int | None = None) -> None:
        self.file = file
        self.code = CodeReader(file, dialect)
        self.pc = pc

    def parts(self, section: str) -> Iterator[Part]:
        """What a section holds; what cannot be read is among the problems of the file."""
        count = 0
        try:
            for part in self._parts(section):
                count += 1
                yield part
        except DwarfGpuError as error:
            if isinstance(error, (NotFound, UsageError)):
                raise
            self.file.dwarf.note(error)
        if self.pc is not None and not count:
            raise NotFound("no_address", f"{section} of {self.file.name} has nothing at {self.pc:#x}")

    def _parts(self, section: str) -> Iterator[Part]:
        name = base_name(section)
        if name in _BY_ADDRESS:
            return _BY_ADDRESS[name](self.file, section, self.pc)
        if self.pc is not None:
            hint = "an address can be looked for in entries, in .debug_line and in .debug_aranges"
            raise UsageError(f"{section} cannot be asked for an address", hint=hint)
        if name in _LISTS:
            return ListSection(self.file, section, _LISTS[name], self.code).parts()
        if name in _TABLES:
            return _TABLES[name](self.file, section)
        return _bytes(self.file, section)


def _bytes(file: CodeObject, section: str) -> Iterator[Part]:
    """A section that is not decoded: its bytes."""
    data = file.dwarf.source.data(section)
    found = file.image.section(section)
    start = found.address if found is not None else 0
    rows = (
        (start + i, data[i : i + BYTES].hex(" ", 4), _printable(data[i : i + BYTES]))
        for i in range(0, len(data), BYTES)
    )
    columns: Columns = (("address", "address"), ("bytes", "text"), ("text", "text"))
    yield Part(section, 0, "bytes", {"size": len(data)}, (Table("bytes", columns, rows),))


def _printable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
