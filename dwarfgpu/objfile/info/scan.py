"""Scanning a unit: a few values of a few entries, and a step over each of the others.

Which entries and which values is a *selection*. Per table of abbreviations it becomes a list of plans, so that for an
entry that is not wanted the scan only reads a list of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.readers import FAILURES, truncated

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import Abbreviation, AbbreviationTable
    from dwarfgpu.objfile.info.readers import Pick, Unpack
    from dwarfgpu.objfile.info.unit import Unit

    Select: TypeAlias = Callable[[Abbreviation], tuple[int, ...] | None]
    """The numbers of the attributes that are wanted of such entries; None when the entries are not."""


class Plan:
    """What to do with the entries of one abbreviation."""

    __slots__ = ("_indices", "abbreviation", "note", "pick", "places", "size", "unpack", "wanted")

    def __init__(self, abbreviation: Abbreviation, wanted: tuple[int, ...] | None) -> None:
        self.abbreviation = abbreviation
        self.wanted = wanted
        self.note: Any = None
        """What the caller of the scan remembers about these entries."""
        layout = abbreviation.layout
        indexes = [] if wanted is None else [abbreviation.index_of(number) for number in wanted]
        present = sorted({i for i in indexes if i >= 0 and layout.slots[i] >= 0})
        self._indices = tuple(present)
        self.places = {
            number: present.index(i) for number, i in zip(wanted or (), indexes, strict=True) if i in present
        }
        """The index among the picked values of each wanted attribute that is in the data."""
        self.size = layout.size
        self.unpack: Unpack | None = layout.picking_unpack(self._indices) if layout.size >= 0 else None
        """The reader of entries of fixed size."""
        self.pick: Pick = self._first_pick
        """The reader of all others, which returns the values, then the next position."""

    def _first_pick(self, data: bytes, position: int) -> tuple[Any, ...]:
        self.pick = self.abbreviation.layout.picker(self._indices)
        return self.pick(data, position)

    def values(self, data: bytes, position: int) -> tuple[Any, ...]:
        """Return the picked values of an entry."""
        return self.pick(data, position) if self.unpack is None else self.unpack(data, position)


def is_declaration(abbreviation: Abbreviation) -> bool:
    """Return whether all entries of an abbreviation are declarations. DW_FORM_flag says it in the entry."""
    return abbreviation.form_of(dw.DW_AT_declaration) == dw.DW_FORM_flag_present


def _plans(table: AbbreviationTable, select: Select) -> tuple[list[int], list[Plan | None]]:
    sizes = [0] * len(table.dense)
    plans: list[Plan | None] = [None] * len(table.dense)
    sizes[0] = 1
    for code, abbreviation in enumerate(table.dense):
        if abbreviation is not None:
            wanted = select(abbreviation)
            if wanted is None and abbreviation.layout.size >= 0:
                sizes[code] = abbreviation.layout.size
            else:
                plans[code] = Plan(abbreviation, wanted)
    return sizes, plans


def scan(unit: Unit, select: Select) -> Iterator[tuple[int, Plan, tuple[Any, ...]]]:
    """Yield all wanted entries as (offset, plan, picked values); before an error those that precede it."""
    try:
        yield from _scan(unit, select)
    except DwarfGpuError as error:
        unit.dwarf.note(error)


def _scan(unit: Unit, select: Select) -> Iterator[tuple[int, Plan, tuple[Any, ...]]]:
    position = unit.first
    data, table = unit.data, unit.table
    try:
        sizes, plans = table.keep(select, lambda table: _plans(table, select))
        rows, end = table.rows, len(data)
        while position < end:
            code = data[position]
            if code > 127:
                code = rows[data[position + 1]][code]
            size = sizes[code]
            if size:
                position += size
                continue
            at_code = position
            plan = plans[code]
            if plan is None:
                abbreviation, at_code = table.at(data, position)
                plan = Plan(abbreviation, select(abbreviation))
            unpack = plan.unpack
            if unpack is not None:
                picked = unpack(data, at_code)
                following = at_code + plan.size
            elif plan.wanted is not None:
                picked = plan.pick(data, at_code)
                following = picked[-1]
            else:
                position = plan.abbreviation.layout.skip(data, at_code)
                continue
            if following > end:
                raise truncated(unit.offset + position, unit.section)
            if plan.wanted is not None:
                yield position, plan, picked
            position = following
    except FAILURES:
        raise truncated(unit.offset + position, unit.section) from None
    except DwarfGpuError as error:
        raise unit.error(error, position) from None
    if position > end:
        raise truncated(unit.offset + end, unit.section)
