"""The addresses of one unit: which function is where."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile import attributes as at
from dwarfgpu.objfile.forms import ADDR, ADDRESS_INDEX
from dwarfgpu.objfile.pc_ranges import is_dead
from dwarfgpu.objfile.scan import scan

if TYPE_CHECKING:
    from dwarfgpu.objfile.abbrevs import Abbreviation
    from dwarfgpu.objfile.scan import Plan
    from dwarfgpu.objfile.units import Unit

_SUBPROGRAM = 0x2E
_PLAIN = frozenset((ADDR, *ADDRESS_INDEX))
_SIZES = frozenset((0x0B, 0x05, 0x06, 0x07, 0x0F))
"""DW_FORM_data1, data2, data4, data8 and udata: the forms of a DW_AT_high_pc that is a size."""
_WANTED = (at.LOW_PC, at.HIGH_PC, at.RANGES)


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != _SUBPROGRAM:
        return None
    found = [abbreviation.form_of(number) for number in _WANTED]
    return _WANTED if found[2] or (found[0] and found[1]) else None


class AddressIndex:
    """The functions of one unit by address. A function with several ranges stands here several times."""

    __slots__ = ("_highs", "_lows", "_offsets", "_reach")

    def __init__(self, unit: Unit) -> None:
        found: list[tuple[int, int, int]] = []
        for offset, plan, picked in scan(unit, _select):
            try:
                found += [(low, high, offset) for low, high in _ranges(unit, plan, picked, offset)]
            except DwarfGpuError as error:
                unit.dwarf.note(unit.error(error, offset))
        found.sort()
        self._lows = [low for low, _, _ in found]
        self._highs = [high for _, high, _ in found]
        self._offsets = [offset for _, _, offset in found]
        self._reach: list[int] = []  # for each the highest end of those before it and its own
        highest = 0
        for high in self._highs:
            highest = max(highest, high)
            self._reach.append(highest)

    def __len__(self) -> int:
        return len(self._lows)

    def spans(self) -> list[tuple[int, int, int]]:
        """All ranges with the offset of their function, by address."""
        return list(zip(self._lows, self._highs, self._offsets, strict=True))

    def at(self, address: int) -> list[int]:
        """The offsets of the functions with code at an address; a nested one after the one it is in."""
        i = bisect_right(self._lows, address) - 1
        found = []
        while i >= 0 and self._reach[i] > address:
            if self._highs[i] > address:
                found.append(self._offsets[i])
            i -= 1
        return found[::-1]


def _ranges(unit: Unit, plan: Plan, picked: tuple[int, ...], offset: int) -> list[tuple[int, int]]:
    places, abbreviation = plan.places, plan.abbreviation
    if at.RANGES in abbreviation.attributes:
        return unit.die_known_at(offset).ranges()
    forms = plan.note
    if forms is None:
        forms = plan.note = (abbreviation.form_of(at.LOW_PC), abbreviation.form_of(at.HIGH_PC))
    low_form, high_form = forms
    if low_form not in _PLAIN or high_form not in _SIZES:
        return unit.die_known_at(offset).ranges()
    low = picked[places[at.LOW_PC]]
    if low_form != ADDR:
        low = unit.tables.address(low)
    high = low + picked[places[at.HIGH_PC]]
    return [(low, high)] if low < high and not is_dead(low, unit.address_size) else []
