"""Accesses at addresses that the hardware or the type of the source does not allow.

Code objects for HSA run in the unaligned access mode: from GFX9 on loads and stores may be anywhere. The addresses of
atomic operations must be multiples of their size, and up to GFX8 those of all accesses of local memory; from GFX10 on
elements of buffers with a format are aligned to 2 bytes, or to 4 if they are larger (RDNA 2 ISA document, 8.1.7; RDNA 3
and RDNA 4, 3.3.3 and 9.5); scalar loads ignore the lowest two bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import BUFFER, FLAT, LOCAL, SCRATCH
from dwarfgpu.execution.checks.findings import ALIGN, ATOMIC, MISALIGNED, CheckFinding, FindingSide
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.execution.memory_access import OUTSIDE

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.bounds_check import BoundsCheck

Lanes = Any
LAST_WITH_ALIGNED_LOCAL, FIRST_WITH_ALIGNED_FORMATS = 8, 10
SPACES = {LOCAL: "local", SCRATCH: "private"}
MOST_OF_FORMAT = 4
MOST = 16
"""The bytes to which anything must be aligned at most."""


def multiple(size: int) -> int:
    """Return what the address of an access of some bytes is a multiple of where it is aligned."""
    return min(size & -size, MOST)


class AlignCheck(KeptState):
    """Looks at the addresses of accesses."""

    CHANGING = ("found",)

    def __init__(
        self,
        now: BoundsCheck,
        side: Callable[..., FindingSide],
        first_wave: Callable[[], int],
        source: Callable[[int], tuple[int, str] | None],
        generation: int,
        apertures: tuple[int, int],
    ) -> None:
        self.now = now
        """The access that is executed."""
        self.side = side
        self.first_wave = first_wave
        self.source = source
        """Returns how the source demands that an instruction is aligned, and because of which type."""
        self.has_aligned_local = generation <= LAST_WITH_ALIGNED_LOCAL
        self.has_aligned_formats = generation >= FIRST_WITH_ALIGNED_FORMATS
        self.spaces = dict(zip((each >> 32 for each in apertures), ("local", "private"), strict=True))
        """The memory of flat addresses, by their upper half, where it is not global."""
        self.found: dict[tuple[Any, ...], CheckFinding] = {}
        self.on_finding: Callable[[CheckFinding, WaveBatch, int, tuple[str, int]], None] = lambda *_finding: None
        """Is told of a finding while its wave is there, as by `InitCheck`."""

    def access(self, batch: WaveBatch, space: str, address: Lanes, size: int) -> None:
        """Look at the addresses of lanes."""
        low = multiple(size) - 1
        if not int(np.bitwise_or.reduce(address, axis=None)) & low:
            return
        if batch.mask is not None and not int(np.bitwise_or.reduce(address * batch.mask, axis=None)) & low:
            return
        if space == BUFFER:  # what is not in the buffer is not accessed
            address = np.where(address == OUTSIDE, np.uint64(0), address)
        needs: tuple[int, str] | None
        if self.now.action == ATOMIC:
            needs = low + 1, "an atomic operation"
        elif self.has_aligned_formats and self.now.pc in self.now.formatted:
            needs = min(low + 1, MOST_OF_FORMAT), "a format"
        elif space == LOCAL and self.has_aligned_local:
            needs = low + 1, "local memory"
        elif space == SCRATCH and address.shape[-1:] != (batch.lanes,):
            needs = None  # a place in the frame, such as that of a saved register, is for the compiler to choose
        else:
            needs = self.source(self.now.pc)
        if needs is not None:
            self._look(batch, space, address, size, needs)

    def scalar(self, batch: WaveBatch, address: Lanes, size: int) -> None:
        """Look at the addresses of a scalar load of words."""
        self._look(batch, "", address, size, (4, "a scalar load"))

    def _look(self, batch: WaveBatch, space: str, address: Lanes, size: int, needs: tuple[int, str]) -> None:
        shape = batch.count, batch.lanes
        wrong = np.broadcast_to((address & address.dtype.type(needs[0] - 1)) != 0, shape)
        if batch.mask is not None:
            wrong = wrong & batch.mask
        if not wrong.any():
            return
        key = self.now.action, self.now.pc
        finding = self.found.get(key)
        if finding is None:
            row = int(wrong.any(axis=1).argmax())
            lanes = np.flatnonzero(wrong[row])
            first = int(np.broadcast_to(address, shape)[row, lanes[0]]) & (1 << 64) - 1
            wave = int(batch.waves[row]) + self.first_wave()
            side = self.side(self.now.action, self.now.pc, wave, lanes, int(lanes[0]), batch=batch)
            kind = MISALIGNED[self.now.action]
            name = SPACES.get(space, "global")
            if space == FLAT and first >> 32 in self.spaces:
                name, first = self.spaces[first >> 32], first & 0xFFFFFFFF
            finding = CheckFinding(ALIGN, kind, (side,), name, first, size)
            finding.needs = needs
            self.found[key] = finding
            self.on_finding(finding, batch, row, (name, first))
        finding.count += int(wrong.sum())
