"""The log of the accesses of waves that are checked for races: what a record has, and how it is read.

A record has a slot, the lanes that execute, how many accesses of each counter the wave has issued and how many are
complete; where lanes reach; what was there, if they change it; and what they store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import LOCAL
from dwarfgpu.execution.batch import lane_flags
from dwarfgpu.execution.checks.findings import ATOMIC, READ, WRITE
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.wave_states import FormBatch


def head_of(kinds: int) -> int:
    """Return the words of a record before the addresses, where there are so many counters."""
    return -(-(2 + kinds) // 8) * 8


@frozen
class LoggedParts:
    """What is known of an access in the log."""

    reached: tuple[tuple[str, int, int, int], ...]
    """For each space the name (none if a wave has one address), the bytes, the words of the addresses of lanes, and how
    far these are from the first ones if there are none of its own. Addresses of local memory have 32 bits."""
    changed: int
    """The dwords of each lane that it changes; the record has what they were."""
    is_store: bool
    """Whether the record also has what they become."""

    def words(self, lanes: int, kinds: int) -> int:
        """Return how many words a record has."""
        rows = self.changed * (1 + self.is_store) * lanes // 2
        return -(-(head_of(kinds) + sum(words for _space, _size, words, _distance in self.reached) + rows) // 8) * 8

    @classmethod
    def most_words(cls, lanes: int, kinds: int) -> int:
        """Return how many the longest record has, that of a store of four dwords."""
        return cls((("", 0, lanes, 0),), 4, is_store=True).words(lanes, kinds)


class LoggedAccess:
    """Waves as they were when they executed an access that a check is told of later, and what the log has of it."""

    def __init__(self, batch: FormBatch, address: int, parts: LoggedParts, rows: Any, kinds: int) -> None:
        self.waves, self.index, self.count, self.lanes = batch.waves, batch.index, batch.count, batch.lanes
        executing = rows[:, 1]
        is_whole = (executing.view(np.uint64) == (1 << batch.lanes) - 1).all()
        self.mask = None if is_whole else lane_flags(executing[:, None], batch.lanes)
        self.local: list[Any] = []
        self.each_calls, self.address = batch.each_calls, address
        numbers = rows[:, 2 : 2 + kinds].view(np.int32)
        self.issued, self.complete = numbers[:, :kinds], numbers[:, kinds:]
        self.parts: list[tuple[str, int, Any, int]] = []
        """The space, the bytes, and where lanes reach, a distance from some places."""
        self.does = WRITE if parts.is_store else ATOMIC if parts.changed else READ
        at = head_of(kinds)
        places: Any = None
        for space, size, words, distance in parts.reached:
            if words:
                places = rows[:, at : at + words].view(np.uint32 if space == LOCAL else np.uint64)
                places = places.copy() if space == LOCAL and not parts.changed else places  # the check keeps reads
            self.parts.append((space, size, places, distance))
            at += words
        self._rows, self._changed = rows[:, at:].view(np.uint32), parts.changed

    def changes(self, part: int, *, is_new: bool) -> Any:
        """Return the bytes of a part as they become, or as they were: ``[wave, lane, byte]``."""
        count = self._changed // len(self.parts)
        first = (part * count + is_new * self._changed) * self.lanes
        rows = self._rows[:, first : first + count * self.lanes].reshape(self.count, count, self.lanes)
        found = np.ascontiguousarray(rows.transpose(0, 2, 1)).view(np.uint8)
        return found[:, :, : self.parts[part][1]]
