"""Who a wave is, as its trap temporaries say: its work-group, its number there, its packet, and how it has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwarfgpu.backends.gpu_core.layout import Family

MARKED_FROM = 10
"""The ``r_version`` from which waves of GFX9 to GFX11 are marked whose temporaries are not set up."""


class Decoder:
    """Reads the trap temporaries of one family."""

    def __init__(self, family: Family, r_version: int | None) -> None:
        self.identity = family.identity
        has_mark = len(self.identity.not_set_up) > 1 or r_version is None or r_version >= MARKED_FROM
        self._not_set_up = self.identity.not_set_up if has_mark else ()
        (self._x, self._y, self._z), self._wave = self.identity.group, self.identity.wave
        self._packet = self.identity.packet

    def not_set_up(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the hardware has not set the temporaries."""
        marks = self._not_set_up
        return bool(marks) and all(ttmps[register] >> bit & 1 for register, bit in marks)

    def debugger_valid(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the temporaries of the trap handler are set."""
        mark = self.identity.debugger_valid
        return mark is None or bool(ttmps[mark[0]] >> mark[1] & 1)

    def place(self, ttmps: tuple[int, ...]) -> tuple[tuple[int, int, int], int, int]:
        """Return the work-group, the number of the wave in it, and the index of the packet."""
        x, y, z = _bits(ttmps, self._x), _bits(ttmps, self._y), _bits(ttmps, self._z)
        valid = self.identity.yz_valid
        if valid is not None and not ttmps[valid[0]] >> valid[1] & 1:
            y = z = 0
        return (x, y, z), _bits(ttmps, self._wave), _bits(ttmps, self._packet)

    def trap(self, ttmps: tuple[int, ...]) -> int:
        return _bits(ttmps, self.identity.trap)


def _bits(ttmps: tuple[int, ...], place: tuple[int, int, int]) -> int:
    register, low, width = place
    return ttmps[register] >> low & (1 << width) - 1
