"""The units of one file, its types by signature, and what else it takes to read them.

What is broken in one unit does not hide the others: it is an error when that unit is used, and is in `problems`
when something else was asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.objfile.info.abbrevs import AbbreviationTable
from dwarfgpu.objfile.info.forms import AttributeDialect, dialect
from dwarfgpu.objfile.info.unit import Unit, read_headers
from dwarfgpu.objfile.section_source import ImageSections, SectionSource

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.split import Contributions, OpenSplit, SplitFile

LOADED = 1 << 26
"""How many bytes of units are held in pieces besides the section itself."""
ABBREVIATIONS = 1 << 18
"""So many abbreviations a section may have in any case; more of them only if the entries have as many bytes."""
MAX_PROBLEMS = 1000


class _Noting:
    def __init__(self, dwarf: DebugFile) -> None:
        self._dwarf = dwarf

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, DwarfGpuError):
            self._dwarf.note(error)
            return True
        return False


class DebugFile:
    """All units of one file.

    ``attributes`` chooses how the numbers of LLVM's attributes are read (`attributes`); without it the rule of
    `dialect_for` does, for each unit. ``open_split`` opens the files that skeleton units name, ``package`` is the
    ``.dwp`` of the program, and ``supplementary`` the file that dwz moved common entries to.
    """

    def __init__(
        self,
        sections: ImageSections,
        *,
        attributes: AttributeDialect | str | None = None,
        open_split: OpenSplit | None = None,
        package: ImageSections | None = None,
        supplementary: ImageSections | None = None,
        machine: int = 0,
    ) -> None:
        self.source = SectionSource(sections)
        self.name = sections.name
        self.machine = machine
        """The ELF machine of the program, which says what address spaces there are; 0 where it is not known."""
        self.dialect = dialect(attributes) if isinstance(attributes, str) else attributes
        """The dialect that was asked for, if any."""
        self.problems: list[DwarfGpuError] = []
        """What has been found broken so far, without having been in the way."""
        self.noting = _Noting(self)
        """``with dwarf.noting:`` ends at an error, which becomes a problem."""
        self.package: DebugFile | None = None if package is None else self._related(package)
        self._supplementary = None if supplementary is None else self._related(supplementary)
        self._open_split = open_split
        self._tables: dict[tuple[str, int, Format], AbbreviationTable] = {}
        self._room: dict[str, list[int]] = {}  # by section how many more abbreviations there may be
        self._units: dict[str, tuple[Unit, ...]] = {}
        self._offsets: dict[str, list[int]] = {}
        self._types: dict[str, dict[int, Unit]] = {}
        self._split: dict[Unit, Unit] = {}
        self._files: dict[SplitFile, DebugFile | None] = {}
        self._loaded: OrderedDict[Unit, int] = OrderedDict()
        self._loaded_size = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def _related(self, sections: ImageSections) -> DebugFile:
        return type(self)(sections, attributes=self.dialect, machine=self.machine)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of ``.debug_info``, then those of ``.debug_types``."""
        return self.units_of(".debug_info") + self.units_of(".debug_types")

    @property
    def split_units(self) -> tuple[Unit, ...]:
        """The split units that are in this file: a ``.dwo``, a package, or a program that was not linked."""
        return self.units_of(".debug_info.dwo") + self.units_of(".debug_types.dwo")

    def units_of(self, section: str) -> tuple[Unit, ...]:
        """Return the units of a section that could be read; errors of the others are in `problems`."""
        units = self._units.get(section)
        if units is None:
            units = self._units[section] = tuple(self._read_units(section))
            self._offsets[section] = [unit.offset for unit in units]
        return units

    def _read_units(self, section: str) -> Iterator[Unit]:
        try:
            data = self.source.view(section)
            parts = self._parts(section) if section.endswith(".dwo") and data else {}
        except DwarfGpuError as error:
            self.note(error)
            return
        for header in read_headers(data, section, self.source.byte_order):
            if isinstance(header, DwarfGpuError):
                self.note(header)
            else:
                yield Unit(self, header, parts.get(header.offset))

    def _parts(self, section: str) -> dict[int, Contributions]:
        """Return by offset the parts of the units of a section in a package; a file that is not one has none."""
        from dwarfgpu.objfile.info.split import package_parts

        parts_by_offset: dict[int, Contributions] = {}
        mine = section.removesuffix(".dwo")
        for name in (".debug_cu_index", ".debug_tu_index"):
            data = self.source.data(name)
            rows = package_parts(data, self.source.byte_order, name) if data else {}
            parts_by_offset.update((offset, parts) for offset, parts in rows.items() if mine in parts)
        return parts_by_offset

    def unit_at(self, offset: int, section: str = ".debug_info") -> Unit:
        """Return the unit that an offset of a section lies in."""
        units = self.units_of(section)
        i = bisect_right(self._offsets[section], offset) - 1
        if i >= 0 and offset < units[i].header.end:
            return units[i]
        error = MalformedFile("bad_reference", f"no unit contains {offset:#x}", spec="DWARF 5, 7.5.5")
        raise error.at(section=section, offset=offset)

    def die_at(self, offset: int, section: str = ".debug_info") -> Die:
        """Return the entry at an offset of a section; raise an error if none begins there."""
        unit = self.unit_at(offset, section)
        return unit.die_at(offset - unit.offset)

    def type_unit(self, signature: int, *, split: bool = False) -> Unit:
        """Return the type unit with a signature (DWARF 5, 7.32)."""
        suffix = ".dwo" if split else ""
        known = self._types.get(suffix)
        if known is None:
            known = self._types[suffix] = {}
            for unit in (*self.units_of(f".debug_info{suffix}"), *self.units_of(f".debug_types{suffix}")):
                if unit.header.signature is not None:
                    known.setdefault(unit.header.signature, unit)
        match = known.get(signature)
        if match is None:
            message = f"no type unit of {self.name} has the signature {signature:#018x}"
            raise MissingContext("type_unit", message, spec="DWARF 5, 7.5.5")
        return match

    def type_at(self, signature: int, unit: Unit) -> Die:
        """Return the type that DW_FORM_ref_sig8 in a unit means."""
        type_unit = self.type_unit(signature, split=bool(unit.suffix))
        return type_unit.die_at(type_unit.header.type_offset)

    def split_unit(self, skeleton: Unit) -> Unit:
        """Return the unit with the entries of a skeleton; raise an error if it cannot be found."""
        from dwarfgpu.objfile.info.split import find_split_unit

        split = self._split.get(skeleton)
        if split is None:
            split = self._split[skeleton] = find_split_unit(self, skeleton)
            split.skeleton = skeleton
            split.tables.drop()  # that there was no skeleton is no reason any more
        return split

    def split_unit_with(self, unit_id: int | None) -> Unit | None:
        """Return the split compilation unit of this file that has an id."""
        return self._by_id.get(unit_id)

    @cached_property
    def _by_id(self) -> dict[int | None, Unit]:
        units: dict[int | None, Unit] = {}
        for unit in self.split_units:
            with self.noting:
                if not unit.header.is_type_unit:
                    units.setdefault(unit.dwo_id, unit)
        return units

    def open_split_file(self, wanted: SplitFile) -> DebugFile | None:
        """Open the file that a skeleton names, once."""
        if wanted not in self._files:
            sections = None if self._open_split is None else self._open_split(wanted)
            self._files[wanted] = None if sections is None else self._related(sections)
        return self._files[wanted]

    def supplementary_file(self) -> DebugFile:
        """Return the supplementary object file (DWARF 5, 7.3.6)."""
        if self._supplementary is None:
            message = f"{self.name} refers to a supplementary file, which was not given"
            raise MissingContext("supplementary_file", message, spec="DWARF 5, 7.3.6")
        return self._supplementary

    def compile_units(self) -> Iterator[Unit]:
        """Yield the units whose entries can be read, also the type units.

        In place of a skeleton this gives its split unit, if that can be found.
        """
        skeletons = []
        for unit in self.units:
            try:
                if unit.is_skeleton:
                    skeletons.append(unit)
                    yield self.split_unit(unit)
                else:
                    yield unit
            except DwarfGpuError as error:
                self.note(error)
        linked = set(self._split.values())
        yield from (unit for unit in self.split_units if unit not in linked)
        for other in self._related_files():
            yield from (unit for unit in other.split_units if unit not in linked and unit.header.is_type_unit)

    def _related_files(self) -> Iterable[DebugFile]:
        return [other for other in (self.package, *self._files.values()) if other is not None]

    def abbreviations(self, section: str, offset: int, format: Format) -> AbbreviationTable:
        """Return the abbreviations at an offset; units that share them share the table."""
        key = (section, offset, format)
        table = self._tables.get(key)
        if table is None:
            data = self.source.data(section)
            room = self._room.get(section)
            if room is None:
                count = 0
                for name in (".debug_info", ".debug_types"):
                    with suppress(DwarfGpuError):  # reading the section says so
                        count += len(self.source.view(section.replace(".debug_abbrev", name)))
                room = self._room[section] = [min(len(data), max(ABBREVIATIONS, count))]
            table = self._tables[key] = AbbreviationTable(data, offset, format, section, room)
        return table

    def note(self, error: DwarfGpuError) -> None:
        """Remember an error that does not prevent an answer."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(error)

    def recently_used(self, unit: Unit) -> None:
        """Account for the data of a unit that has just been loaded, and release what was loaded long ago."""
        loaded = self._loaded
        size = unit.header.end - unit.offset
        self._loaded_size += size - loaded.get(unit, 0)
        loaded[unit] = size
        while self._loaded_size > LOADED and len(loaded) > 1:
            oldest, size = loaded.popitem(last=False)
            oldest.release()
            self._loaded_size -= size

    def drop_caches(self) -> None:
        """Free all memory but the headers of units; what is needed later is read again."""
        for units in self._units.values():
            for unit in units:
                unit.drop()
        self._loaded.clear()
        self._loaded_size = 0
        self._tables.clear()
        self._room.clear()
        self.source.drop()
        for other in (*self._related_files(), self._supplementary):
            if other is not None:
                other.drop_caches()
