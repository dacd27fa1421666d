"""Where in the local memory of all work-groups the lanes of waves read and write."""

from __future__ import annotations

from typing import Any

import numpy as np

Lanes = Any
RUN = 8
"""The dwords of a run: as many as numpy copies at once."""


class LocalPlaces:
    """A column of addresses of dwords, which are aligned, and where in the local memory of all groups they are.

    A search of one number for each lane is what reading costs. Where lanes read runs of dwords that follow each other,
    a search for each run does; where all work-groups read the same places of their memory, one list of places does for
    all. Whether that is so is only asked of columns that are used a second time.
    """

    def __init__(self, address: Lanes, index: Lanes) -> None:
        self.address = address
        self.highest = int(address.max())
        self.index = index
        """The number of the dword for each lane, ``[wave, lane]``; None if an address is not aligned."""
        self._uses = 0
        self._is_known = False
        self._runs: Lanes = None
        self._lines: Lanes = None
        self._columns: tuple[int, int, int, Lanes] | None = None

    def use(self, groups: Any, size: int) -> None:
        """Count a use: by waves of some groups, which have so many dwords of memory."""
        self._uses += 1
        if self._uses == 2:
            self._find_pattern(groups, size)

    def _find_pattern(self, groups: Any, size: int) -> None:
        index = self.index
        self._lines = _starts_of_runs(index, index.shape[1])
        self._runs = _starts_of_runs(index, RUN)
        first, count = int(groups[0]), int(groups[-1]) - int(groups[0]) + 1
        if self._runs is not None or count < 2 or len(groups) % count:
            return
        each = np.arange(count)
        if (groups.reshape(count, -1) - first == each[:, None]).all():
            places = index.reshape(count, -1) - (first + each[:, None]) * size
            if (places == places[0]).all():
                self._columns = first * size, count, size, places[0]

    def read(self, memory: Any, offset: int) -> Lanes:
        """Return the dwords that are so many dwords behind the places."""
        # The indices are inside, and "wrap" is the mode that asks the least.
        if self._runs is not None:
            return _in_runs(memory, offset, RUN).take(self._runs, axis=0, mode="wrap").reshape(self.index.shape)
        if self._columns is not None:
            start, count, size, columns = self._columns
            table = memory[start : start + count * size].reshape(count, size)
            return table.take(columns + offset, axis=1, mode="wrap").reshape(self.index.shape)
        return memory[offset:].take(self.index, mode="wrap")

    def write(self, memory: Any, offset: int, value: Lanes) -> None:
        """Write dwords so many dwords behind the places."""
        if self._lines is not None:
            _in_runs(memory, offset, self.index.shape[1])[self._lines] = value
        else:
            memory[offset:][self.index] = value


def _starts_of_runs(index: Lanes, size: int) -> Lanes:
    """Return where runs of dwords start, in units of their size, if lanes have aligned runs; else None."""
    if index.shape[1] % size:
        return None
    runs = index.reshape(-1, size)
    starts = runs[:, 0]
    if (starts % size).any() or not (runs == starts[:, None] + np.arange(size)).all():
        return None
    return starts // size


def _in_runs(memory: Any, offset: int, size: int) -> Any:
    """Return memory from an offset on as runs; what is left behind the last whole one is in no run of lanes."""
    return memory[offset : offset + (len(memory) - offset) // size * size].reshape(-1, size)
