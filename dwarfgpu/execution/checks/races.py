"""Data races: accesses of a byte by different waves, or by two lanes of one instruction, that nothing orders.

A *row* is one memory instruction of one wave; rows are numbered as they are executed. A shadow has, for each dword or
byte of a segment, the row and the lane (a *mark*) of the latest write, of the latest one that is not atomic, and of the
latest reads since: of any wave, of another wave in that group, and of a wave in another group.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.caches import AGENT
from dwarfgpu.execution.checks.findings import (
    ATOMIC,
    NARROW_SCOPE,
    RACE,
    READ,
    READ_WRITE,
    SAME_VALUE,
    WRITE,
    WRITE_WRITE,
    CheckFinding,
    FindingSide,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.order import KnownOrder
    from dwarfgpu.execution.device_memory import MemorySegment

Rows = Any
LANE_BITS = 6
LANE = (1 << LANE_BITS) - 1
PLAIN, SYNC_LOAD, SMALL_STORE, SYNC_STORE, RMW = range(5)
"""Accesses: neither of the following, a load that passes caches by, a store that could be an atomic one, one that has
a scope or follows a wait as a release does, an atomic operation. Code does not tell relaxed atomic loads and stores
from plain ones everywhere."""
FINE = np.zeros((5, 5), bool)
"""Pairs that are atomic on both sides, or may be."""
for _first, _second in ((SYNC_LOAD, SMALL_STORE), (SYNC_LOAD, SYNC_STORE), (SYNC_LOAD, RMW), (SYNC_STORE, SYNC_STORE),
                        (SYNC_STORE, RMW), (RMW, RMW)):  # fmt: skip
    FINE[_first, _second] = FINE[_second, _first] = True


class Shadow:
    """The latest accesses of each dword of a segment, or of each byte."""

    def __init__(self, segment: MemorySegment, *, is_local: bool) -> None:
        size = len(segment.data) + 3 >> 2
        self.segment = segment
        self.is_local = is_local
        self.unit = 4
        self.write, self.plain = np.zeros(size, np.int64), np.zeros(size, np.int64)
        """The latest write, and the latest one that is no atomic operation."""
        self.reads = [np.zeros(size, np.int64) for _ in range(2 if is_local else 3)]

    def split(self) -> None:
        """Tell bytes apart from now on."""
        self.unit = 1
        columns = (self.write, self.plain, *self.reads)
        self.write, self.plain, *self.reads = (np.repeat(column, 4) for column in columns)


class AccessedLanes:
    """The units of memory that the lanes of an instruction access, with the marks and waves of the lanes."""

    def __init__(self, action: str, size: int, at: Rows, marks: Rows, mine: Rows, new: Rows) -> None:
        self.action = action
        self.size = size
        self.at, self.marks, self.mine = at, marks, mine
        self.new = new
        """What is written in each unit, ``[unit, byte]``; None for others."""


class RaceCheck:
    """Looks for races among the accesses that it is told of."""

    def __init__(self, order: KnownOrder, lanes: int, side: Callable[..., FindingSide]) -> None:
        self.order = order
        self.lanes = lanes
        self.side = side
        self.found: dict[tuple[Any, ...], CheckFinding] = {}
        self.shadows: dict[int, Shadow] = {}
        self.pcs: list[int] = []
        self.reaches: list[int] = []
        self.releases: list[bool] = []
        """Whether each is behind a wait for local memory, without which its atomic operations order nothing there."""
        self.kinds = np.zeros(0, np.int64)
        self.classes = np.zeros(0, np.int64)
        """By site, an instruction: the counter of it, and what it is of the classes above."""
        self.wave_of, self.site_of, self.number_of = (np.zeros(1 << 12, np.int64) for _ in range(3))
        self.told: list[tuple[int, Rows]] = []
        """What was complete at instructions that others may synchronize with, with their first rows."""
        self.count = 1
        """The rows that there are; row 0 is no access."""

    def site(self, pc: int, kind: int, access_class: int, reach: int, *, is_release: bool) -> int:
        """Add an instruction; return its number."""
        self.pcs.append(pc)
        self.reaches.append(reach)
        self.releases.append(is_release)
        self.kinds, self.classes = np.append(self.kinds, kind), np.append(self.classes, access_class)
        return len(self.pcs) - 1

    def use_local(self, segment: MemorySegment) -> None:
        """Use the local memory of other work-groups."""
        self.shadows[0] = Shadow(segment, is_local=True)

    def begin(self, batch: WaveBatch, site: int) -> None:
        """Begin an instruction of some waves."""
        self.now, self.first, first = site, self.count, self.count
        self.count += batch.count
        if self.count > len(self.wave_of):
            room = max(self.count, 2 * len(self.wave_of))
            self.wave_of, self.site_of, self.number_of = (
                np.concatenate([column, np.zeros(room - len(column), np.int64)])
                for column in (self.wave_of, self.site_of, self.number_of)
            )
        self.waves = batch.waves + self.order.first
        self.wave_of[first : self.count] = self.waves
        self.site_of[first : self.count] = site
        self.number_of[first : self.count] = self.order.issued[batch.index, self.kinds[site]]
        if self.classes[site] >= SMALL_STORE:
            self.told.append((first, self.order.complete[batch.waves]))

    def _complete(self, row: int) -> Rows:
        """Return what was complete of a wave at a row that others may synchronize with."""
        first, complete = self.told[bisect_right(self.told, row, key=itemgetter(0)) - 1]
        return complete[row - first]

    def number_as_local(self, batch: WaveBatch) -> None:
        """Count the instruction as one of local memory, which a flat one turns out to be."""
        self.number_of[self.first : self.count] = self.order.issued[batch.index, self.order.local]

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def access(
        self, segment: MemorySegment, offsets: Rows, mask: Rows, size: int, action: str, new: Rows = None
    ) -> None:
        """Look at an access, ``[wave, lane]``, before it is done; ``new`` are the bytes that lanes write."""
        shadow = self.shadows.get(segment.start)
        if shadow is None:
            shadow = self.shadows[segment.start] = Shadow(segment, is_local=False)
        lanes = offsets.shape[1]
        places, positions = offsets.reshape(-1), np.arange(offsets.size)
        if mask is not None:
            positions = np.flatnonzero(mask)
            places = places[positions]
        if not len(places):
            return
        if shadow.unit == 4 and (size & 3 or int(np.bitwise_or.reduce(places)) & 3):
            shadow.split()
        rows = positions // lanes
        marks, mine, units = (rows + self.first << LANE_BITS) | positions % lanes, self.waves[rows], size // shadow.unit
        at = places // shadow.unit
        if units > 1:
            at = (at[:, None] + np.arange(units)).reshape(-1)
            marks, mine = np.repeat(marks, units), np.repeat(mine, units)
        if new is not None:
            new = new.reshape(-1, size)[positions].reshape(-1, shadow.unit)
        accessed = AccessedLanes(action, size, at, marks, mine, new)
        latest, plain = shadow.write[at], shadow.plain[at]
        self._compare(shadow, accessed, latest, is_write=True)
        plain[plain == latest] = 0
        self._compare(shadow, accessed, plain, is_write=True)
        if action == READ:
            self._note_read(shadow, accessed)
            return
        for reads in shadow.reads:
            self._compare(shadow, accessed, reads[at], is_write=False)
            reads[at] = 0
        shadow.write[at] = marks
        if action == WRITE:
            shadow.plain[at] = marks
        self._compare_lanes(shadow, accessed)

    def _note_read(self, shadow: Shadow, accessed: AccessedLanes) -> None:
        at, marks, latest = accessed.at, accessed.marks, shadow.reads[0]
        before = latest[at]
        latest[at] = marks
        if before.any():
            self._keep(shadow, at, before, accessed.mine)
        after = latest[at]
        lost = np.flatnonzero(after != marks)
        if lost.size:
            self._keep(shadow, at[lost], marks[lost], self.wave_of[after[lost] >> LANE_BITS])

    def _keep(self, shadow: Shadow, at: Rows, marks: Rows, others: Rows) -> None:
        """Keep reads beside the latest ones, which are of other waves."""
        waves, groups = self.wave_of[marks >> LANE_BITS], self.order.groups
        kept = (marks != 0) & (waves != others)
        if not kept.any():
            return
        if shadow.is_local:
            shadow.reads[1][at[kept]] = marks[kept]
            return
        is_inside = groups[waves] == groups[others]
        for reads, flags in zip(shadow.reads[1:], (kept & is_inside, kept & ~is_inside), strict=True):
            reads[at[flags]] = marks[flags]

    # --- Pairs --------------------------------------------------------------------------------------------------------

    def _compare(self, shadow: Shadow, accessed: AccessedLanes, before: Rows, *, is_write: bool) -> None:
        """Compare an access with earlier ones of the same units."""
        if not before.any():
            return
        rows = before >> LANE_BITS
        theirs = self.wave_of[rows]
        found = np.flatnonzero((before != 0) & (theirs != accessed.mine))
        if not found.size:
            return
        rows, theirs, mine = rows[found], theirs[found], accessed.mine[found]
        is_open = ~self._is_ordered(shadow, rows, theirs, mine)
        classes, own = self._classes(shadow, self.site_of[rows]), int(self._classes(shadow, self.now))
        racing = is_open & ~FINE[classes, own]
        if own == RMW and not shadow.is_local:
            reaches = np.array(self.reaches)
            is_narrow = np.minimum(reaches[self.site_of[rows]], reaches[self.now]) < AGENT
            is_far = self.order.groups[theirs] != self.order.groups[mine]
            racing |= is_open & (classes == RMW) & is_narrow & is_far
        if is_write and own in (SYNC_LOAD, RMW):
            synchronized = is_open & ~racing & (classes >= SMALL_STORE)
            if shadow.is_local:
                synchronized &= np.array(self.releases)[self.site_of[rows]]
            if synchronized.any():
                _, first = np.unique(np.stack([rows, mine])[:, synchronized], axis=1, return_index=True)
                chosen = np.flatnonzero(synchronized)[first]
                self.order.acquire(rows[chosen], theirs[chosen], mine[chosen], self._complete)
        if racing.any():
            found = found[racing]
            size = np.arange(shadow.unit)
            old = shadow.segment.data[(accessed.at[found] * shadow.unit)[:, None] + size]
            self._report(shadow, accessed, found, before[found], old, is_write=is_write)

    def _compare_lanes(self, shadow: Shadow, accessed: AccessedLanes) -> None:
        """Compare the lanes of an instruction that write the same units: the last one wins."""
        winners = shadow.write[accessed.at]
        lost = np.flatnonzero(winners != accessed.marks)
        if not lost.size:
            return
        if self._classes(shadow, self.now) == RMW:  # one wave after the other
            if shadow.is_local and not self.releases[self.now]:
                return
            order = np.lexsort((accessed.marks, accessed.at))
            at, rows, waves = accessed.at[order], accessed.marks[order] >> LANE_BITS, accessed.mine[order]
            next_ = np.flatnonzero((at[1:] == at[:-1]) & (waves[1:] != waves[:-1]))
            self.order.acquire(rows[next_], waves[next_], waves[next_ + 1], self._complete)
            return
        winners = winners[lost]
        order = np.lexsort((accessed.at, accessed.marks))
        keys = accessed.marks[order] << 32 | accessed.at[order]
        winning = order[np.searchsorted(keys, winners << 32 | accessed.at[lost])]
        self._report(shadow, accessed, winning, accessed.marks[lost], accessed.new[lost], is_write=True)

    def _is_ordered(self, shadow: Shadow, rows: Rows, theirs: Rows, mine: Rows) -> Rows:
        kinds = self.kinds[self.site_of[rows]]
        if shadow.is_local:
            kinds = np.full(len(rows), self.order.local)
        return self.order.is_ordered(rows, theirs, kinds, self.number_of[rows], mine)

    def _classes(self, shadow: Shadow, sites: Rows) -> Rows:
        classes = self.classes[sites]
        return np.where(classes == RMW, RMW, PLAIN) if shadow.is_local else classes

    def _report(
        self, shadow: Shadow, accessed: AccessedLanes, found: Rows, before: Rows, old: Rows, *, is_write: bool
    ) -> None:
        """Report pairs: units of an access, the marks of the earlier ones, and the bytes that these had there."""
        sites = self.site_of[before >> LANE_BITS]
        is_atomic = self.classes[sites] == RMW
        kinds = np.full(len(found), 0 if is_write and accessed.action != READ else 1)
        names = [WRITE_WRITE, READ_WRITE, SAME_VALUE, NARROW_SCOPE]
        if is_write and accessed.action == WRITE:
            kinds[(old == accessed.new[found]).all(axis=1) & ~is_atomic] = 2
        if accessed.action == ATOMIC:
            kinds[is_atomic] = 3
        for key in np.unique(sites * 4 + kinds).tolist():
            rows = np.flatnonzero(sites * 4 + kinds == key)
            site, kind = key >> 2, names[key & 3]
            pair = (kind, *sorted((self.pcs[site], self.pcs[self.now])), shadow.is_local)
            finding = self.found.get(pair)
            if finding is None:
                finding = self.found[pair] = self._finding(
                    kind, shadow, accessed, found[rows], before[rows], old[rows], is_write=is_write
                )
            finding.count += len(rows)

    def _finding(
        self, kind: str, shadow: Shadow, accessed: AccessedLanes, found: Rows, before: Rows, old: Rows, *,
        is_write: bool,
    ) -> CheckFinding:  # fmt: skip
        first = int(np.argmin(accessed.at[found]))
        marks, waves = accessed.marks[found], self.wave_of[before >> LANE_BITS]
        mine, other, its = int(accessed.mine[found[first]]), int(waves[first]), before[first] >> LANE_BITS
        rows = (accessed.mine[found] == mine) & (waves == other) & (before >> LANE_BITS == its)
        site = int(self.site_of[its])
        does = ATOMIC if self.classes[site] == RMW else WRITE if is_write else READ
        earlier, now = old[first].tobytes(), old[first].tobytes()
        if accessed.action != READ:
            now = None if accessed.new is None else accessed.new[found[first]].tobytes()
        sides = (
            self.side(does, self.pcs[site], other, before[rows] & LANE, int(before[first]) & LANE, earlier),
            self.side(accessed.action, self.pcs[self.now], mine, marks[rows] & LANE, int(marks[first]) & LANE, now),
        )
        address = int(accessed.at[found[first]]) * shadow.unit
        if shadow.is_local:
            address %= len(shadow.segment.data) // max(1, self.local_count)
        return CheckFinding(RACE, kind, sides, "local" if shadow.is_local else "global",
                       address + shadow.segment.start, shadow.unit)  # fmt: skip

    local_count = 1
    """The work-groups that local memory is of."""
