"""The NaNs and infinities that a launch gives a kernel, until the kernel writes others in their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dwarfgpu.execution.checks.findings import CAME_IN
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.execution.checks.made_numbers import MadeOrigin

Lanes = Any
INFINITE = "infinity came in"
"""Not a finding of its own; findings of what is made of it name it."""
MOST_TOLD = 64
"""How many NaNs, and how many infinities, of one instruction are followed one by one."""


class GivenNumbers(KeptState):
    """Where the NaNs and infinities of arguments are."""

    CHANGING = ("_ends",)

    def __init__(self, memory: Any, marked: Any, floats: Iterable[tuple[int, int, str]]) -> None:
        self._memory = memory
        self._marked = marked
        """The memory whose bits are marked where they are those of such a number."""
        self._floats = (*floats,)
        parts = [np.zeros((0, 3), np.uint64), *(self._of(*each) for each in self._floats)]
        rows = np.concatenate(parts)
        self._starts, self._ends, nans = rows[np.argsort(rows[:, 0], kind="stable")].T.copy()
        self._nans = nans != 0
        self._told: dict[tuple[int, bool], list[int]] = {}
        """Those that each instruction tells apart, by its address, and whether they are NaNs."""

    def _of(self, start: int, size: int, kind: str) -> Any:
        """Return where each number of an argument begins and ends, and whether it is a NaN."""
        segment = self._memory.segment_of(start, start + max(size, 1) - 1)
        width = np.dtype(kind).itemsize
        if segment is None or size < width:
            return np.zeros((0, 3), np.uint64)
        data = segment.data[start - segment.start :][: size // width * width]
        odd = ~np.isfinite(data.view(kind))
        if odd.any():
            self._marked.put(start, np.repeat(odd, width).view(np.uint8) * np.uint8(0xFF))
        starts = np.uint64(start) + np.uint64(width) * np.flatnonzero(odd).astype(np.uint64)
        return np.stack([starts, starts + np.uint64(width), np.isnan(data.view(kind)[odd])], axis=1).astype(np.uint64)

    def at(self, address: Any, width: int = 1) -> Lanes:
        """Return the number of what some bytes at an address belong to, -1 for others."""
        places = np.asarray(address).astype(np.uint64)
        last = np.searchsorted(self._starts, places + np.uint64(width - 1), "right") - 1
        return np.where((last >= 0) & (self._ends[last] > places), last, -1) if len(self._ends) else last

    def starts(self, addresses: Any) -> Lanes:
        """Return where what is at some addresses begins, 0 for others."""
        found = self.at(addresses)
        return np.where(found >= 0, self._starts[found], 0).astype(np.int64) if len(self._ends) else found + 1

    def origins(self, pc: int, numbers: Lanes) -> Iterator[tuple[MadeOrigin, Lanes]]:
        """Yield the origin of each number that an instruction reads, and where it is; of many, the rest share one."""
        rest = numbers >= 0
        if not rest.any():
            return
        for number in np.unique(numbers[rest]).tolist():
            told = self._told.setdefault((pc, bool(self._nans[number])), [])
            if number in told or len(told) < MOST_TOLD:
                told += [number] * (number not in told)
                here, start = numbers == number, int(self._starts[number])
                kind = CAME_IN if self._nans[number] else INFINITE
                yield MadeOrigin(pc, kind, address=start, size=int(self._ends[number]) - start), here
                rest = rest & ~here
        for kind, is_nan in (CAME_IN, True), (INFINITE, False):
            if (here := rest & (self._nans[numbers] == is_nan)).any():
                yield MadeOrigin(pc, kind), here

    def forget(self, address: Lanes, flags: Lanes) -> None:
        """Take note that the kernel has written other NaNs or infinities to places of arguments."""
        if len(self._ends):
            found = self.at(np.broadcast_to(address, flags.shape)[flags])
            self._ends[found[found >= 0]] = 0

    def are_single(self, places: Lanes) -> Lanes:
        """Return which places hold single floats, by the types of arguments."""
        found = np.zeros(np.shape(places), bool)
        for start, size, kind in self._floats:
            if np.dtype(kind) == np.float32:
                found |= (places >= start) & (places < start + size)
        return found
