"""Lists of locations and of ranges as a dump shows them: every entry as it is encoded, and the addresses it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.dwarf_constants import DW_LLE_default_location, DW_LLE_GNU_view_pair
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.lists import location_lists, range_lists
from dwarfgpu.objfile.lists.encoding import Bounds, ListContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.lists.encoding import RawEntry
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.dump.code import Code, CodeReader
    from dwarfgpu.program.files.codeobject import CodeObject


@frozen
class ListedEntry:
    """One entry of a list. Without addresses it has none, or they cannot be found out."""

    offset: int
    kind: str
    """As the standard calls it; empty before version 5, which has no kinds but a pair that sets the base address."""
    operands: tuple[int, ...]
    start: int | None = None
    end: int | None = None
    is_default: bool = False
    code: Code | None = None
    views: tuple[int, int] | None = None
    """GCC's views at start and end, which the entry before says."""


@frozen
class ListedList:
    """One list."""

    section: str
    offset: int
    entries: tuple[ListedEntry, ...]
    end: int
    """Where the next one may begin."""
    base: int | None
    error: DwarfGpuError | None
    """Why there may be more entries."""


class ListReader:
    """Reads the lists of a file; what is wrong with them is among the problems of the file."""

    def __init__(self, file: CodeObject, code: CodeReader) -> None:
        self.file = file
        self.code = code
        self._last: tuple[tuple[object, ...], ListedList] | None = None
        self._seen: set[tuple[str, int]] = set()
        self._counts: dict[str, int] = {}
        """How many entries the lists of a section have that were read so far, each list counted once."""

    def read(
        self, section: str, offset: int, kind: str, unit: Unit | None, end: int | None = None
    ) -> ListedList:
        """The list of a kind (``loclist`` or ``rnglist``) at an offset, which belongs to a unit if that is known.

        The last one is remembered, because entries may share it.
        """
        key = (section, offset, kind, unit, end)
        if self._last is None or self._last[0] != key:
            self._last = key, self._read(section, offset, kind, unit, end)
        return self._last[1]

    def _read(self, section: str, offset: int, kind: str, unit: Unit | None, end: int | None) -> ListedList:
        dwarf = self.file.dwarf if unit is None else unit.dwarf
        data = dwarf.source.data(section) if unit is None else unit.tables.list_data(section)
        context = self._context(unit)
        read = location_lists.raw_location_list if kind == "loclist" else range_lists.raw_range_list
        raw, after, error = read(data, offset, section=section, context=context, end=end)
        if (section, offset) not in self._seen:
            self._seen.add((section, offset))
            self._counts[section] = self._counts.get(section, 0) + len(raw)
        if 2 * self._counts[section] > len(data):  # an entry has at least two bytes
            message = f"the lists of {section} overlap: they have more entries than there is room for"
            limit = MalformedFile("limit_exceeded", message, spec="DWARF 5, 7.28")
            raise limit.at(section=section, offset=offset)
        if error is not None:
            dwarf.note(error)
        entries = tuple(self._entries(raw, section, kind, context, unit))
        return ListedList(section, offset, entries, after, context.base, error)

    def _entries(
        self, raw: list[RawEntry], section: str, kind: str, context: ListContext, unit: Unit | None
    ) -> Iterator[ListedEntry]:
        bounds = Bounds(context, before_5="lists" not in section)
        form = Format(context.address_size, 4, context.byte_order) if unit is None else unit.format
        name = location_lists.kind_name if kind == "loclist" else range_lists.kind_name
        views: tuple[int, int] | None = None
        dwarf: Dwarf | None = self.file.dwarf if unit is None else unit.dwarf
        for each in raw:
            start: int | None = None
            end: int | None = None
            if each.kind not in (DW_LLE_default_location, DW_LLE_GNU_view_pair):
                try:
                    start, end = bounds.of(each.kind, each.operands) or (None, None)
                except DwarfGpuError as error:
                    if dwarf is not None:  # the first of a list speaks for all
                        dwarf.note(error.at(section=section, offset=each.offset))
                    dwarf = None
            code = None
            if each.expression is not None:
                code = self.code.read(each.expression, form, section, each.expression_offset, unit)
            yield ListedEntry(
                each.offset,
                name(each.kind, section),
                each.operands,
                start,
                end,
                each.kind == DW_LLE_default_location,
                code,
                views,
            )
            views = (each.operands[0], each.operands[1]) if each.kind == DW_LLE_GNU_view_pair else None

    def _context(self, unit: Unit | None) -> ListContext:
        if unit is None:
            return ListContext(self.file.image.address_size, self.file.dwarf.source.byte_order)
        base = None
        try:
            base = unit.low_pc
        except DwarfGpuError as error:
            unit.dwarf.note(error)
        return ListContext(unit.address_size, unit.format.byte_order, base, unit.tables.address)
