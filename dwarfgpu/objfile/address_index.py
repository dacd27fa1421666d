"""The addresses of one unit: which function is where."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile import attributes as at
from dwarfgpu.objfile.forms import ADDR, ADDRESS_INDEX, class_of
from dwarfgpu.objfile.pc_ranges import is_dead, listed
from dwarfgpu.objfile.scan import scan

if TYPE_CHECKING:
    from dwarfgpu.objfile.abbrevs import Abbreviation
    from dwarfgpu.objfile.scan import Plan
    from dwarfgpu.objfile.units import Unit

_SUBPROGRAM = 0x2E
_WANTED = (at.LOW_PC, at.HIGH_PC, at.RANGES)


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != _SUBPROGRAM:
        return None
    known = abbreviation.attributes
    return _WANTED if at.RANGES in known or (at.LOW_PC in known and at.HIGH_PC in known) else None


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
    if at.RANGES in places:
        form = abbreviation.form_of(at.RANGES)
        return listed(unit, *unit.tables.list_offset(form, picked[places[at.RANGES]], "rnglist"))
    low_form, high_form = abbreviation.form_of(at.LOW_PC), abbreviation.form_of(at.HIGH_PC)
    if not (at.LOW_PC in places and at.HIGH_PC in places and (low_form == ADDR or low_form in ADDRESS_INDEX)):
        return unit.die_known_at(offset).ranges()
    low = picked[places[at.LOW_PC]]
    if low_form != ADDR:
        low = unit.tables.address(low)
    high = picked[places[at.HIGH_PC]]
    end = (
        unit.address(high_form, high)
        if class_of(high_form, at.HIGH_PC, unit.version) == "address"
        else low + high
    )
    return [(low, end)] if low < end and not is_dead(low, unit.address_size) else []
