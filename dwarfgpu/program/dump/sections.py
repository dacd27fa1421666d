"""Sections as a dump shows them: which there are, which names they go by, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.dump import lines, macros, tables
from dwarfgpu.program.dump.code import CodeReader
from dwarfgpu.program.dump.lists import ListSection
from dwarfgpu.program.dump.parts import Columns, Part, Table
from dwarfgpu.program.files.codeobject import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.program.files.frames import Entry, ListedEntry

ALL = "all"
ENTRIES = frozenset((".debug_info", ".debug_types"))
"""The sections that are shown as entries."""
FRAMES = frozenset((".debug_frame", ".eh_frame"))
"""The sections that are shown as call frame information."""
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
    ".debug_macinfo": macros.parts,
    ".debug_macro": macros.parts,
    ".debug_names": tables.names,
    ".debug_pubnames": tables.public_names,
    ".debug_pubtypes": tables.public_names,
    ".debug_str": tables.strings,
    ".debug_str_offsets": tables.string_offsets,
    ".debug_tu_index": tables.package_index,
    ".eh_frame_hdr": tables.frame_header,
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
    images = dict.fromkeys((file.image, file.debug.image))
    known = list(dict.fromkeys(each.name for image in images for each in image.sections if each.name))
    found: dict[str, None] = {}
    for name in names:
        if name == ALL:
            debug = [each for each in known if each.startswith((".debug_", ".eh_frame"))]
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
    """The sections of one file that have no debugging information entries; with ``pc`` what is about an address."""

    def __init__(self, file: CodeObject, dialect: str | None = None, pc: int | None = None) -> None:
        self.file = file
        self.code = CodeReader(file, dialect)
        self.pc = pc
        if dialect is not None:
            file.frames.use_dialect(dialect)

    def frames(self, section: str) -> Iterator[ListedEntry]:
        """The entries of a section of call frame information."""
        frames = self.file.frames
        indexes = [index for index in frames.indexes if index.section.name == section]
        found: Iterable[Entry | DwarfGpuError]
        if self.pc is None:
            found = (entry for index in indexes for entry in index.section.entries())
        else:
            found = [fde for index in indexes for fde in index.fdes_at(self.pc)]
            if not found:
                raise self._nothing(section)
        for entry in found:
            if isinstance(entry, DwarfGpuError):
                self.file.dwarf.note(entry)
                continue
            listed = frames.listed(entry)
            if listed.error is not None:
                self.file.dwarf.note(listed.error)
            yield listed

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
            raise self._nothing(section)

    def _nothing(self, section: str) -> NotFound:
        return NotFound("no_address", f"{section} of {self.file.name} has nothing at {self.pc:#x}")

    def _parts(self, section: str) -> Iterator[Part]:
        name = base_name(section)
        if name in _BY_ADDRESS:
            return _BY_ADDRESS[name](self.file, section, self.pc)
        if self.pc is not None:
            hint = "an address can be looked for in entries, lines, aranges and call frame information"
            raise UsageError(f"{section} cannot be asked for an address", hint=hint)
        if name in _LISTS:
            return ListSection(self.file, section, _LISTS[name], self.code).parts()
        if name in _TABLES:
            return _TABLES[name](self.file, section)
        return _bytes(self.file, section)


def _bytes(file: CodeObject, section: str) -> Iterator[Part]:
    """A section that is not decoded: its bytes."""
    owner = file if file.image.section(section) is not None else file.debug
    found = owner.image.section(section)
    data = bytes(owner.sections.data(section) or b"")
    start = found.address if found is not None else 0
    pieces = ((i, data[i : i + BYTES]) for i in range(0, len(data), BYTES))
    rows = ((start + i, piece.hex(" ", 4), _printable(piece)) for i, piece in pieces)
    columns: Columns = (("address", "address"), ("bytes", "text"), ("text", "text"))
    yield Part(section, 0, "bytes", {"size": len(data)}, (Table("bytes", columns, rows),))


def _printable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
