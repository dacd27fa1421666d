"""The addresses of one unit: which function is where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_high_pc,
    DW_AT_low_pc,
    DW_AT_ranges,
    DW_FORM_addr,
    DW_FORM_data1,
    DW_FORM_data2,
    DW_FORM_data4,
    DW_FORM_data8,
    DW_FORM_udata,
    DW_TAG_subprogram,
)
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.forms import ADDRESS_INDEX
from dwarfgpu.objfile.entries.pc_ranges import Budget, Ranges, is_dead
from dwarfgpu.objfile.entries.scan import scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.scan import Plan
    from dwarfgpu.objfile.units.unit import Unit

_SIZES = frozenset((DW_FORM_data1, DW_FORM_data2, DW_FORM_data4, DW_FORM_data8, DW_FORM_udata))
"""DW_FORM_data1, data2, data4, data8 and udata: the forms of a DW_AT_high_pc that is a size."""
_WANTED = (DW_AT_low_pc, DW_AT_high_pc, DW_AT_ranges)


def functions_of(unit: Unit) -> Ranges:
    """Return the ranges of the functions of a unit, each with the offset of the entry. Broken ones are left out."""
    ranges: list[tuple[int, int, int]] = []
    try:
        ranges.extend(_functions(unit))
    except DwarfGpuError as error:
        unit.dwarf.note(unit.error(error))
    return Ranges(ranges)


def _functions(unit: Unit) -> Iterator[tuple[int, int, int]]:
    budget = Budget(unit.header.end - unit.offset)
    dead = (1 << 8 * unit.address_size) - 2  # from here on there are only tombstones
    for offset, plan, picked in scan(unit, _select):
        places = plan.note
        if places is None:
            places = plan.note = _plain_places(plan)
        if places:
            low = picked[places[0]]
            size = picked[places[1]]
            if size and low < dead:
                yield low, low + size, offset
            continue
        ranges: list[tuple[int, int]] = []
        try:
            ranges = _ranges(unit, plan, picked, offset)
        except DwarfGpuError as error:
            unit.dwarf.note(unit.error(error, offset))
        budget.spend(unit, ranges)
        for low, high in ranges:
            yield low, high, offset


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != DW_TAG_subprogram:
        return None
    low, high, ranges = map(abbreviation.form_of, _WANTED)
    return _WANTED if ranges or (low and high) else None


def _plain_places(plan: Plan) -> tuple[int, int] | tuple[()]:
    """Return where address and size are among the picked values, for entries with just these."""
    low, high, ranges = map(plan.abbreviation.form_of, _WANTED)
    return (
        (plan.places[DW_AT_low_pc], plan.places[DW_AT_high_pc])
        if low == DW_FORM_addr and high in _SIZES and not ranges
        else ()
    )


def _ranges(unit: Unit, plan: Plan, picked: tuple[int, ...], offset: int) -> list[tuple[int, int]]:
    low_form, high_form, ranges = map(plan.abbreviation.form_of, _WANTED)
    if low_form not in ADDRESS_INDEX or high_form not in _SIZES or ranges:
        return unit.die_known_at(offset).ranges()
    low = unit.tables.address(picked[plan.places[DW_AT_low_pc]])
    high = low + picked[plan.places[DW_AT_high_pc]]
    return [(low, high)] if low < high and not is_dead(low, unit.address_size) else []
