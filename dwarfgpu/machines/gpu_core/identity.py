"""Who a wave is, as its trap temporaries say: its work-group, its number there, its packet, and how it has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.layout import CoreFamily

MARKED_FROM = 10
"""The ``r_version`` from which waves of GFX9 to GFX11 are marked whose temporaries are not set up."""


class IdentityDecoder:
    """Reads the trap temporaries of one family; ``ttmps`` are all sixteen."""

    def __init__(self, family: CoreFamily, r_version: int | None) -> None:
        identity = family.identity
        has_mark = len(identity.not_set_up) > 1 or r_version is None or r_version >= MARKED_FROM
        marks = identity.not_set_up if has_mark else ()
        self._marks = [(register, 1 << bit) for register, bit in marks]
        self._debugger = identity.debugger_valid
        self._yz_valid = identity.yz_valid
        self._trap = _masked(identity.trap)
        self._places = tuple(_masked(place) for place in (*identity.group, identity.wave, identity.packet))

    def not_set_up(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the hardware has not set the temporaries."""
        for register, bit in self._marks:
            if not ttmps[register] & bit:
                return False
        return bool(self._marks)

    def debugger_valid(self, ttmps: tuple[int, ...]) -> bool:
        """Return whether the temporaries of the trap handler are set."""
        mark = self._debugger
        return mark is None or bool(ttmps[mark[0]] >> mark[1] & 1)

    def place(self, ttmps: tuple[int, ...]) -> tuple[tuple[int, int, int], int, int]:
        """Return the work-group, the number of the wave in it, and the index of the packet."""
        (rx, lx, mx), (ry, ly, my), (rz, lz, mz), (rw, lw, mw), (rp, lp, mp) = self._places
        y, z = ttmps[ry] >> ly & my, ttmps[rz] >> lz & mz
        valid = self._yz_valid
        if valid is not None and not ttmps[valid[0]] >> valid[1] & 1:
            y = z = 0
        return (ttmps[rx] >> lx & mx, y, z), ttmps[rw] >> lw & mw, ttmps[rp] >> lp & mp

    def trap(self, ttmps: tuple[int, ...]) -> int:
        """Return the trap ID."""
        register, low, mask = self._trap
        return ttmps[register] >> low & mask


def _masked(place: tuple[int, int, int]) -> tuple[int, int, int]:
    register, low, width = place
    return register, low, (1 << width) - 1
