"""Sections as a dump shows them: which there are, which names they go by, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.dump import lines, tables
from dwarfgpu.program.dump.code import CodeReader
from dwarfgpu.program.dump.lists import ListSection
from dwarfgpu.program.files.codeobject import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.dump.parts import Part
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
    ".debug_names": tables.names,
    ".eh_frame_hdr": tables.frame_header,
}
_BY_ADDRESS: dict[str, Callable[[CodeObject, str, int | None], Iterator[Part]]] = {
    ".debug_aranges": tables.address_ranges,
    ".debug_line": lines.parts,
}
"""The sections that can be asked for an address."""
_SHOWN = ENTRIES | FRAMES | _LISTS.keys() | _TABLES.keys() | _BY_ADDRESS.keys()
_REST = "llvm-dwarfdump prints the other sections"


def base_name(section: str) -> str:
    """The name without the ending of split sections."""
    return section.removesuffix(".dwo")


def find_sections(file: CodeObject, names: Iterable[str]) -> list[str]:
    """Return the sections that are meant: ``.debug_line``, ``debug_line``, ``line``, or all that can be shown."""
    images = dict.fromkeys((file.image, file.debug.image))
    known = dict.fromkeys(section.name for image in images for section in image.sections)
    shown = [section for section in known if base_name(section) in _SHOWN]
    chosen: dict[str, None] = {}
    for name in names:
        if name == ALL:
            chosen.update(dict.fromkeys(sorted(shown, key=lambda section: base_name(section) not in ENTRIES)))
            continue
        meant = [name, f".{name}", f".debug_{name}"]
        matches = [section for section in shown if section in meant or base_name(section) in meant]
        if not matches:
            raise _no_section(file, name, shown)
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def _no_section(file: CodeObject, name: str, shown: list[str]) -> NotFound:
    there = f"there are {', '.join(shown)}" if shown else "it has no debugging information"
    message = f"{file.name} has no section {name!r} that can be shown"
    return NotFound("no_section", message, hint=f"{there}; {_REST}")


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
        return _TABLES[name](self.file, section)
