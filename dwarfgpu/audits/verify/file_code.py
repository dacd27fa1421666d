"""The code of a file, and the addresses that linkers write for code that they drop."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info.scopes import AddressSpans, dead_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.info.unit import Unit


def overlapping(spans: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield each range, a start, an end and more, that begins in one before it, and that one."""
    last: tuple[Any, ...] = 0, 0
    for span in sorted(spans, key=itemgetter(0, 1)):
        if span[0] < last[1]:
            yield span, last
        if span[1] > last[1]:
            last = span


def code_of(unit: Unit) -> list[tuple[int, int]]:
    """Return the code of a unit, as the unit entry has it."""
    if unit.header.is_type_unit:
        return []
    try:
        return unit.root.ranges()
    except DwarfGpuError:  # which the check of entries reports
        return []


class FileCode(AddressSpans):
    """The addresses of the executable sections of a file."""

    def __init__(self, image: Image) -> None:
        super().__init__((section.address, section.address + section.size) for section in image.code_sections)
        self.are_known = image.is_linked or len(image.code_sections) == 1
        """Whether addresses name code: where an object has one section of code, they are offsets in it."""
        self._dead_from = dead_from(image.address_size)
        self._are_first_dead = image.is_linked and not self.touch(0, 1)

    def is_dropped(self, address: int) -> bool:
        """Return whether a linker writes this address for code that it drops.

        That is all ones, or 0; in lists of version 4 it is 1, because a pair of zeros would end them.
        """
        return address >= self._dead_from or (address < 2 and self._are_first_dead)
