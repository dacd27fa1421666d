"""Data races: accesses of a byte by different waves, or by two lanes of one instruction, that nothing orders.

A *row* is one memory instruction of one wave; rows are numbered as they are executed. A shadow has, for each dword or
byte of a segment, the row and the lane (a *mark*) of the latest write, of the latest one that is not atomic, and of the
latest reads since: of any wave, of another wave in that group, and of a wave in another group.

Few accesses need a look at each lane. Where all writes so far are before a read, the read is only listed; it gets its
marks when a write comes that no barrier has put behind it. Lanes that access dwords one after the other are a slice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.caches import AGENT
from dwarfgpu.execution.checks.findings import (
    ATOMIC,
    IN_WAVE,
    LOST_UPDATE,
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
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.execution.device_memory import MemorySegment, first_of_row
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.memory_actions import NO_ACTION, STORE

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.order import KnownOrder, Release
    from dwarfgpu.execution.checks.updates import Update
    from dwarfgpu.isa.memory_actions import MemoryAction

Rows = Any
LANE_BITS = 6
LANE = (1 << LANE_BITS) - 1
MARK = np.uint32
MOST_ROWS = 1 << 25
"""Up to how many rows marks of 32 bits have room for twice as many."""
MANY_ROWS = 1 << 20
"""The rows that there are before those that nothing refers to are forgotten."""
SMALL = 1 << 11
"""The units of a read that gets its marks with others, at most."""
MOST_LISTED, LEAST_LISTED, LISTED_BYTES = 64, 1 << 12, 1 << 25
"""The reads of local memory that are listed at most, and the bytes of places of others: many are never written."""
PLAIN, SYNC_LOAD, SMALL_STORE, LATE_STORE, SYNC_STORE, RMW, SWAP_LOAD = range(7)
"""Accesses: neither of the following, a load that passes caches by, a store that could be an atomic one, such a store
when all before it is complete as at a release, one that has a scope or follows a wait, an atomic operation, the load
before a loop that compares and swaps, which is not looked at. Code does not tell relaxed atomic loads and stores from
plain ones everywhere."""
FINE = np.zeros((6, 6), bool)
"""Pairs that are atomic on both sides, or may be."""
for _first, _second in ((SYNC_LOAD, SMALL_STORE), (SYNC_LOAD, LATE_STORE), (SYNC_LOAD, SYNC_STORE), (SYNC_LOAD, RMW),
                        (LATE_STORE, SYNC_STORE), (LATE_STORE, RMW), (SYNC_STORE, SYNC_STORE), (SYNC_STORE, RMW),
                        (RMW, RMW)):  # fmt: skip
    FINE[_first, _second] = FINE[_second, _first] = True


@frozen(eq=False)
class ListedRead:
    """The places that an instruction accesses, as it has them."""

    first: int
    """The row of the first wave."""
    waves: Rows
    """The waves, by their numbers in the machine."""
    places: Rows
    """``[wave, lane]``; None if lanes access places one after the other."""
    offset: Rows
    """The bytes that are added to a place; a column where it is in the memory of the group of a wave."""
    mask: Rows
    size: int
    lane: int = 0
    """The first lane that has a place."""


class AccessedLanes:
    """The units of memory that the lanes of an instruction access, with the marks of the lanes."""

    def __init__(self, action: str, at: Rows, marks: Rows, new: Callable[[], Rows] | None, count: int = 1) -> None:
        self.action = action
        self.at, self.marks = at, marks
        self.count = count
        """The units of each lane, which follow each other."""
        self._new = new

    @cached_property
    def new(self) -> Rows:
        """What is written in each unit, ``[unit, byte]``; None for others."""
        return None if self._new is None else self._new()

    def units(self, index: Rows) -> Rows:
        """Return some of the units by their indices, or by flags."""
        if not isinstance(self.at, slice):
            return self.at[index]
        return self.at.start + (np.flatnonzero(index) if index.dtype == bool else index)


class Shadow(KeptState):
    """The latest accesses of each dword of a segment, or of each byte."""

    def __init__(self, segment: MemorySegment, groups: Rows = None) -> None:
        self.segment = segment
        self.groups = groups
        """By wave that runs, the work-group that the memory is of; None for global memory."""
        self.unit = 4
        self.has_short_places = len(segment.data) >> 32 == 0
        self.size = len(segment.data) + 3 >> 2
        self.write = np.zeros(self.size, MARK)
        self.plain: Rows = None
        """The latest write that is no atomic operation; None as long as there is no other."""
        self.reads: list[Rows] = []
        """The latest reads, from the first one on that has got its mark."""
        self.listed: list[ListedRead] = []
        self.listed_bytes = 0
        count = 1 if groups is None else int(groups.max(initial=0)) + 1
        self.written, self.stored, self.read = (np.zeros(count, np.int64) for _ in range(3))
        """The latest rows that write, that do so without an atomic operation, and that read, by work-group.

        All of global memory is one.
        """

    @property
    def is_local(self) -> bool:
        return self.groups is not None

    def change(self, function: Callable[[Rows], Rows]) -> None:
        """Change the marks of all units."""
        self.write, self.reads = function(self.write), [function(column) for column in self.reads]
        self.plain = None if self.plain is None else function(self.plain)

    @property
    def columns(self) -> list[Rows]:
        return [self.write, *self.reads, *([] if self.plain is None else [self.plain])]

    def split(self) -> None:
        """Tell bytes apart from now on."""
        self.unit = 1
        self.size *= 4
        self.change(lambda column: np.repeat(column, 4) if column.any() else np.zeros(self.size, column.dtype))


class RaceCheck(KeptState):
    """Looks for races among the accesses that it is told of."""

    CHANGING = "found", "shadows", "wave_of", "site_of", "number_of", "told", "most_rows", "kind", "latest", "covered"

    def __init__(
        self, order: KnownOrder, lanes: int, side: Callable[..., FindingSide], starts: Callable[[], Sequence[int]]
    ) -> None:
        self.order = order
        self.lanes = lanes
        self.side = side
        self.starts = starts
        """Returns where variables begin in local memory, as far as it is known."""
        self.found: dict[tuple[Any, ...], CheckFinding] = {}
        self.shadows: dict[int, Shadow] = {}
        """By the start of a segment, which for local memory is 0."""
        self.pcs: list[int] = []
        self.covered = set[int]()
        """The addresses of instructions that were executed, or have accessed memory if that may be private."""
        self.private = set[int]()
        """Those that may access private memory alone."""
        self.reaches: list[int] = []
        self.queues = np.zeros(0, np.int64)
        """By site, what it is done in turn with in local memory: 0 as its wave goes on, else later."""
        self.local_kinds = np.zeros(0, np.int64)
        """By site, the counter of what it does in local memory."""
        self.has_late = False
        """Whether something is done there later."""
        self.releases: list[bool] = []
        """Whether each is behind a wait for local memory, without which its atomic operations order nothing there."""
        self.kinds = np.zeros(0, np.int64)
        self.classes = np.zeros(0, np.int64)
        """By site, an instruction: the counter of it, and what it is of the classes above."""
        self.wave_of, self.site_of, self.number_of = (np.zeros(1 << 12, np.int32) for _ in range(3))
        self.told: list[tuple[int, Release]] = []
        """What instructions have published that others may synchronize with, with their first rows."""
        self.updates: dict[int, list[tuple[int, Update]]] = {}
        """By store, the loads whose words it may update."""
        self.updated: set[int] = set()
        self.latest: dict[tuple[int, int], list[tuple[int, ListedRead]]] = {}
        """Those loads, and the latest that each has read, by segment, with the number of the place."""
        self.repeated: list[tuple[Rows, Rows]] = []
        """Pairs of rows of a wave whose later one reads what the earlier one has written."""
        self.places: Counter[int] = Counter()
        """By segment, how many places the instruction has accessed."""
        self.place, self.raced = 0, False
        """Of the latest write: the number of its place, and whether it may have raced."""
        self.most_rows = MANY_ROWS
        self.kind: Any = MARK
        self._lane_marks: Rows = np.zeros((0, lanes), MARK)
        self.before: Callable[[MemorySegment, Rows], Rows] = bytes_of
        """Returns bytes of a segment as they were before the access."""

    def site(self, pc: int, kind: int, access_class: int, reach: int, *, is_release: bool, action: MemoryAction) -> int:
        """Add an instruction; return its number. Before a small store is the same as a late one."""
        if access_class == SMALL_STORE:
            self.site(pc, kind, LATE_STORE, reach, is_release=is_release, action=NO_ACTION)
        local_kind = kind if kind in self.order.lates else self.order.direct if action.is_direct else self.order.local
        queue = 0 if local_kind == self.order.local else 2 * local_kind + (action.operation == STORE)
        self.has_late |= queue > 0
        self.local_kinds, self.queues = np.append(self.local_kinds, local_kind), np.append(self.queues, queue)
        self.pcs.append(pc)
        self.reaches.append(reach)
        self.releases.append(is_release)
        self.kinds, self.classes = np.append(self.kinds, kind), np.append(self.classes, access_class)
        return len(self.pcs) - 1

    def add_updates(self, load: int, updates: Iterable[Update]) -> None:
        """Add stores of what was computed from words of a load."""
        for update in updates:
            self.updates.setdefault(update.store, []).append((load, update))
            self.updated.add(load)

    def use_local(self, segment: MemorySegment) -> None:
        """Use the local memory of other work-groups."""
        self.latest.clear()
        self.shadows[segment.start] = Shadow(segment, self.order.row_of)
        self.order.has_local = bool(len(segment.data))

    def begin(self, batch: Any, site: int) -> None:
        """Begin an instruction of some waves, which has rows from its first access on."""
        self.now, self.first, self.batch, self.waves = site, 0, batch, batch.waves
        pc = self.pcs[site]
        if pc not in self.covered and pc not in self.private and (batch.mask is None or batch.mask.any()):
            self.covered.add(pc)
        self.places.clear()

    def _begin_rows(self, *, is_local: bool) -> None:
        batch, site = self.batch, self.now
        if self.classes[site] == SMALL_STORE and self.order.is_quiet(batch):
            site = self.now = site - 1
        if self.order.rows + batch.count > self.most_rows:
            self._forget_rows()
        self.first = first = self.order.rows
        self.order.rows = last = first + batch.count
        if last > len(self.wave_of):
            self._make_room(2 * last, slice(None))
        self.wave_of[first:last] = batch.waves + self.order.first
        self.site_of[first:last] = site
        self.covered.add(self.pcs[site])
        kind = int(self.kinds[site])
        self.number_of[first:last] = self.order.latest[batch.index, kind] = self.order.issued[batch.index, kind]
        if self.classes[site] == RMW or (self.classes[site] == SYNC_LOAD and not is_local):
            self.order.ordered_row[batch.index] = last
        if self.classes[site] >= SMALL_STORE:
            self.told.append((first, self.order.publish(batch.waves, kind)))

    def _make_room(self, count: int, kept: Rows) -> None:
        """Make room for so many rows, and keep some."""
        columns = [column[kept] for column in (self.wave_of, self.site_of, self.number_of)]
        self.wave_of, self.site_of, self.number_of = (
            np.concatenate([column, np.zeros(max(0, count - len(column)), np.int32)]) for column in columns
        )

    def _synchronize(self, rows: Rows, mine: Rows) -> None:
        """Let accesses, by their rows, read what earlier ones have published."""
        is_rmw, kind = self.classes[self.now] == RMW, int(self.kinds[self.now])
        theirs, waves = self.wave_of[rows], self.wave_of[mine]
        is_near = self.order.groups[theirs] == self.order.groups[waves]
        pairs = rows, mine, waves, theirs == waves, is_near, self.number_of[mine]
        first, release, end = 0, self.told[-1][1], 0
        for row, own, wave, is_own, near, number in zip(*(each.tolist() for each in pairs), strict=True):
            if not first <= row < end:
                first, release = self.told[bisect_right(self.told, row, key=itemgetter(0)) - 1]
                end = first + len(release.waves)
            if not is_own:
                self.order.acquire(release, row - first, wave, kind, number, is_near=near)
            for other, its in release.after.get(row - first, ()) if is_own else ():
                if not self.order.has_acquired(wave, other, its):
                    near = bool(self.order.groups[other.waves[its]] == self.order.groups[wave])  # noqa: PLW2901
                    self.order.acquire(other, its, wave, kind, number, is_near=near)
            if is_rmw:
                self.told[-1][1].carry_on(own - self.first, release, row - first, is_own=is_own, is_near=near)

    def _synchronize_own(self) -> None:
        """Let waves read what they have written themselves, which may carry on what others have published."""
        while self.repeated:
            self._synchronize(*self.repeated.pop())

    def _forget_rows(self) -> None:
        """Number the rows anew, without those that no mark refers to."""
        used = np.zeros(self.order.rows, bool)
        used[0] = True
        for shadow in self.shadows.values():
            self._mark_listed(shadow)
            for column in shadow.columns:
                used[column >> LANE_BITS] = True
        self.told = [each for each in self.told if used[each[0] : each[0] + len(each[1].waves)].any()]
        for first, release in self.told:
            used[first : first + len(release.waves)] = True
        kept, before = np.flatnonzero(used), np.append(0, np.cumsum(used))
        """The rows that are left, and how many of them are before each."""
        self._make_room(1 << 12, kept)
        self.kind = MARK if len(kept) < MOST_ROWS else np.int64
        for shadow in self.shadows.values():
            shadow.change(lambda column: (before[column >> LANE_BITS] << LANE_BITS | column & LANE).astype(self.kind))
            rows = shadow.written, shadow.stored, shadow.read
            shadow.written, shadow.stored, shadow.read = (before[each + 1] - 1 for each in rows)
        self.told = [(int(before[first]), release) for first, release in self.told]
        self.order.number_anew(before)
        self.most_rows = max(MANY_ROWS, 2 * len(kept))

    def number_as_local(self, batch: WaveBatch) -> None:
        """Count a flat instruction as one of local memory, where it turns out to access that, unless it is late."""
        if self.queues[self.now] or self.kinds[self.now] == self.order.local:
            return
        if not self.first:
            self._begin_rows(is_local=True)
        self.number_of[self.first : self.order.rows] = self.order.issued[batch.index, self.order.local]

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def access(
        self, segment: MemorySegment, offsets: Rows, mask: Rows, size: int, action: str,
        new: Callable[[], Rows] | None = None,
    ) -> None:  # fmt: skip
        """Look at an access, ``[wave, lane]``, before it is done; ``new`` returns the bytes that lanes write."""
        if mask is not None and not mask.any():
            return
        shadow = self._shadow(segment)
        is_plain = mask is None and not size & 3 and offsets.shape[1] == self.lanes
        row = first_of_row(offsets, size) if is_plain else None
        if row is None:
            offsets = offsets.astype(np.uint32) if shadow.has_short_places else offsets
            access = ListedRead(self.first, self.waves, offsets, 0, mask, size)
        else:
            access = ListedRead(self.first, self.waves, None, row, None, size)
        if action == READ:
            self._read(shadow, access)
        else:
            self._write(shadow, access, action, new)

    def access_places(
        self, segment: MemorySegment, places: Rows, offset: Rows, mask: Rows, size: int, action: str = READ,
        new: Callable[[], Rows] | None = None,
    ) -> None:  # fmt: skip
        """Look at an access to some bytes, at an offset from places of local memory, ``[wave, lane]``."""
        if action != READ and mask is not None and not mask.any():
            return
        shadow = self._shadow(segment)
        access = ListedRead(self.first, self.waves, places, offset, mask, size)
        if action == READ:
            self._read(shadow, access)
        else:
            self._write(shadow, access, action, new)

    def _shadow(self, segment: MemorySegment) -> Shadow:
        """Begin an access of the next place of the instruction."""
        if not self.first:
            self._begin_rows(is_local=not segment.start)
        shadow = self.shadows.get(segment.start)
        if shadow is None:
            shadow = self.shadows[segment.start] = Shadow(segment)
        self.place = self.places[segment.start]
        self.places[segment.start] += 1
        return shadow

    def touched(self) -> Iterator[tuple[int, int, str]]:
        """Yield the ranges of global memory that waves have used, each with what they did there."""
        for start, shadow in self.shadows.items():
            if shadow.is_local:
                continue
            self._mark_listed(shadow)
            plain = shadow.write if shadow.plain is None else shadow.plain
            atomic = shadow.write * (plain == 0)
            for action, column in ((READ, shadow.reads), (WRITE, [plain]), (ATOMIC, [atomic])):
                used = [np.flatnonzero(each) for each in column]
                ends = [int(each[end]) for each in used if each.size for end in (0, -1)]
                if ends:
                    yield start + min(ends) * shadow.unit, start + (max(ends) + 1) * shadow.unit, action

    def _may_race(self, shadow: Shadow, action: str) -> bool:
        """Return whether not all earlier writes are before what waves do, or, of a write, not all accesses."""
        is_write = action != READ
        if shadow.groups is None:
            return bool(shadow.written[0] or (is_write and shadow.read[0]))
        if self._is_in_turn:
            return False
        written = shadow.written if action != ATOMIC or any(self.releases) else shadow.stored
        latest, floor = np.maximum(written, shadow.read * is_write), self.order.floor[:, 0]
        return bool(latest.max() >= floor.min() and (latest[shadow.groups[self.waves]] >= floor[self.waves]).any())

    @property
    def _is_in_turn(self) -> bool:
        """Whether accesses of local memory are done in turn: those of a wave, if none is late."""
        return self.order.is_alone and not self.looks_in_waves and not self.has_late

    def _read(self, shadow: Shadow, read: ListedRead) -> None:
        if self.classes[self.now] == SWAP_LOAD:
            return
        if self.pcs[self.now] in self.updated:
            latest = self.latest.setdefault((self.pcs[self.now], shadow.segment.start), [])
            latest.append((self.place, read))
            del latest[:-MOST_LISTED]
        if self._may_race(shadow, READ):
            self._compare_with_writes(shadow, self._accessed(shadow, read, READ))
            self._synchronize_own()
        if shadow.is_local and self._is_in_turn:
            return
        shadow.read[0 if shadow.groups is None else shadow.groups[self.waves]] = self.order.rows - 1
        shadow.listed.append(read)
        shadow.listed_bytes += LEAST_LISTED if read.places is None else read.places.nbytes
        if shadow.is_local and len(shadow.listed) >= MOST_LISTED:
            self._forget_ordered_reads(shadow)
        if len(shadow.listed) >= MOST_LISTED if shadow.is_local else shadow.listed_bytes > LISTED_BYTES:
            self._mark_listed(shadow)

    def _write(self, shadow: Shadow, write: ListedRead, action: str, new: Callable[[], Rows] | None) -> None:
        may_race = self._may_race(shadow, action)
        if may_race and shadow.is_local and self.place and not self.raced:  # only with the other place, if they meet
            own = shadow.write[self._accessed(shadow, write, action).at] >> LANE_BITS
            may_race = bool((own >= self.first).any())
        self.raced = may_race
        if may_race:
            self._mark_listed(shadow)
        accessed = self._accessed(shadow, write, action, new)
        if action == ATOMIC and shadow.plain is None:
            shadow.plain = shadow.write.copy()
        if may_race:
            for reads in shadow.reads:
                self._compare(shadow, accessed, reads[accessed.at], is_write=False)
                reads[accessed.at] = 0
            self._compare_with_writes(shadow, accessed)
        shadow.write[accessed.at] = accessed.marks
        if action == WRITE and shadow.plain is not None:
            shadow.plain[accessed.at] = accessed.marks
        groups = 0 if shadow.groups is None else shadow.groups[self.waves]
        shadow.written[groups] = self.order.rows - 1
        if action == WRITE:
            shadow.stored[groups] = self.order.rows - 1
        if not isinstance(accessed.at, slice):
            self._compare_lanes(shadow, accessed)
        self._synchronize_own()

    def _marks(self, first: int, count: int) -> Rows:
        """Return the marks of the lanes of waves, ``[wave, lane]``."""
        if len(self._lane_marks) < count:
            waves, lanes = np.arange(count, dtype=MARK)[:, None], np.arange(self.lanes, dtype=MARK)
            self._lane_marks = waves << LANE_BITS | lanes
        return self._lane_marks[:count] + self.kind(first << LANE_BITS)

    def _accessed(
        self, shadow: Shadow, access: ListedRead, action: str, new: Callable[[], Rows] | None = None
    ) -> AccessedLanes:
        """Return the units of an access, with their marks."""
        size, places = access.size, access.places
        marks, positions = self._marks(access.first, len(access.waves)), None
        if places is not None and places.shape != marks.shape:  # of whole waves
            marks = marks[:, access.lane : access.lane + places.shape[1]]
        if places is None:
            if shadow.unit == 4 and access.offset & 3:
                shadow.split()
            first = access.offset // shadow.unit
            at: Rows = slice(first, first + marks.size * (size // shadow.unit))
            marks = marks.reshape(-1)
        else:
            at = (places.astype(np.int64, copy=False) + access.offset).reshape(-1)
            marks = marks.reshape(-1)
            if access.mask is not None:
                positions = np.flatnonzero(np.broadcast_to(access.mask, places.shape))
                at, marks = at[positions], marks[positions]
            if shadow.unit == 4:
                if size & 3 or int(np.bitwise_or.reduce(at)) & 3:
                    shadow.split()
                else:
                    at = at >> 2
        units = size // shadow.unit
        if units > 1:
            at = at if places is None else (at[:, None] + np.arange(units)).reshape(-1)
            marks = np.repeat(marks, units)

        def written() -> Rows:
            assert new is not None  # noqa: S101 (it is only asked of writes)
            lanes = new().reshape(-1, size)
            return (lanes if positions is None else lanes[positions]).reshape(-1, shadow.unit)

        return AccessedLanes(action, at, marks, None if new is None else written, units)

    # --- Reads --------------------------------------------------------------------------------------------------------

    def _mark_listed(self, shadow: Shadow) -> None:
        """Give the reads that are listed their marks, besides those that are before all that comes."""
        self._forget_ordered_reads(shadow)
        listed, shadow.listed, shadow.listed_bytes = shadow.listed, [], 0
        count = (2 if shadow.is_local else 3) + self.looks_in_waves
        if listed and not shadow.reads:
            shadow.reads = [np.zeros(shadow.size, shadow.write.dtype) for _ in range(count)]
        group: list[tuple[ListedRead, AccessedLanes]] = []
        spans: list[tuple[int, int]] = []
        for each in map(self._narrowed, listed):
            unit, accessed = shadow.unit, self._accessed(shadow, each, READ)
            if shadow.unit != unit:
                group = [(read, self._accessed(shadow, read, READ)) for read, _accessed in group]
                spans = [(low * unit, high * unit + unit - 1) for low, high in spans]
            is_small = not isinstance(accessed.at, slice) and 0 < accessed.at.size <= SMALL
            low, high = (int(accessed.at.min()), int(accessed.at.max())) if is_small else (0, shadow.size)
            if any(low <= last and first <= high for first, last in spans):
                self._mark_group(shadow, group)
                group, spans = [], []
            if is_small:
                group.append((each, accessed))
                spans.append((low, high))
            else:
                self._mark(shadow, accessed)
        self._mark_group(shadow, group)

    def _forget_ordered_reads(self, shadow: Shadow) -> None:
        """Forget the listed reads of local memory that are before all that comes."""
        if shadow.groups is not None and shadow.listed:
            floors, known = self.order.lowest_floors()[shadow.groups], self.order.least_known()
            late = (each for each in shadow.listed if each.first + len(each.waves) > floors.min())
            shadow.listed = [each for each in late if self._may_be_open(each, floors[each.waves], known[each.waves])]

    def _narrowed(self, read: ListedRead) -> ListedRead:
        """Return a read with two lanes of each wave if all lanes read the same: earlier ones would leave no mark."""
        places = read.places
        is_whole = places is not None and read.mask is None and places.shape[1] == self.lanes
        if is_whole and (places == places[:, :1]).all():
            return evolve(read, places=places[:, -2:], lane=self.lanes - 2)
        return read

    def _mark_group(self, shadow: Shadow, group: list[tuple[ListedRead, AccessedLanes]]) -> None:
        """Give reads of different units their marks, together."""
        if group:
            at, marks = (
                np.concatenate(each) for each in zip(*((one.at, one.marks) for _read, one in group), strict=True)
            )
            self._mark(shadow, AccessedLanes(READ, at, marks, None))

    def _may_be_open(self, read: ListedRead, floors: Rows, known: Rows) -> bool:
        """Return whether a read of local memory may not be before all that comes in its group."""
        rows = slice(read.first, read.first + len(read.waves))
        is_open = (known < self.number_of[rows]) | (self.queues[self.site_of[rows]] > 0)
        return bool(((floors <= np.arange(rows.start, rows.stop)) & is_open).any())

    def _mark(self, shadow: Shadow, accessed: AccessedLanes) -> None:
        at, marks, latest = accessed.at, accessed.marks, shadow.reads[0]
        before = latest[at].copy() if isinstance(at, slice) else latest[at]
        latest[at] = marks
        if before.any():
            self._keep(shadow, accessed, before, marks)
        if isinstance(at, slice):
            return
        after = latest[at]
        lost = np.flatnonzero((after ^ marks) > (0 if self.looks_in_waves else LANE))  # marks of other waves, or lanes
        if lost.size:
            self._keep(shadow, AccessedLanes(READ, at[lost], marks, None), marks[lost], after[lost])

    def _keep(self, shadow: Shadow, accessed: AccessedLanes, marks: Rows, others: Rows) -> None:
        """Keep reads beside the latest ones, which are of other waves."""
        waves, theirs = self.wave_of[marks >> LANE_BITS], self.wave_of[others >> LANE_BITS]
        is_other = waves != theirs
        if self.looks_in_waves:
            inside = np.flatnonzero(~is_other & (((marks ^ others) & LANE) != 0) & (marks != 0))
            shadow.reads[-1][accessed.units(inside)] = marks[inside]
        kept = np.flatnonzero(is_other & (marks != 0))
        at, marks = accessed.units(kept), marks[kept]
        if shadow.is_local:
            shadow.reads[1][at] = marks
            return
        is_inside = self.order.groups[waves[kept]] == self.order.groups[theirs[kept]]
        for reads, flags in zip(shadow.reads[1:3], (is_inside, ~is_inside), strict=True):
            reads[at[flags]] = marks[flags]

    # --- Pairs --------------------------------------------------------------------------------------------------------

    def _compare_with_writes(self, shadow: Shadow, accessed: AccessedLanes) -> None:
        """Compare an access with the latest writes, and last with the one that it may synchronize with.

        What that makes known is known behind the access only: it could itself have come before all others.
        """
        latest = shadow.write[accessed.at]
        if shadow.plain is not None:
            plain = shadow.plain[accessed.at]
            is_plain = plain == latest
            self._compare(shadow, accessed, np.where(is_plain, plain.dtype.type(0), plain), is_write=True)
            if shadow.is_local and accessed.action == ATOMIC and not any(self.releases):
                latest *= is_plain  # two atomic operations do not race
        self._compare(shadow, accessed, latest, is_write=True)

    def _compare(self, shadow: Shadow, accessed: AccessedLanes, before: Rows, *, is_write: bool) -> None:
        """Compare an access with earlier ones of the same units."""
        least = 1 if shadow.groups is None else int(self.order.floor[self.waves, 0].min()) << LANE_BITS
        found = np.flatnonzero(before >= least)
        if not found.size:
            return
        before, own_rows = before[found], (accessed.marks[found] >> LANE_BITS).astype(np.int64)
        rows, mine = (before >> LANE_BITS).astype(np.int64), self.wave_of[own_rows]
        theirs = self.wave_of[rows]
        is_other = theirs != mine
        if shadow.is_local and self.has_late:
            is_other |= self._is_late(rows, mine)
        is_own = not is_other.all()
        own, sites = int(self._classes(shadow, self.now)), self.site_of[rows]
        if self.looks_in_waves and is_own and self.classes[self.now] != RMW:
            self._compare_in_wave(shadow, accessed, found, before, own_rows, is_write=is_write)
        classes, synchronizes = self._classes(shadow, sites), is_write and own in (SYNC_LOAD, RMW)
        if synchronizes and not shadow.is_local and is_own:
            repeated = (theirs == mine) & (classes >= SMALL_STORE)
            self.repeated.append(_each_once(rows[repeated], own_rows[repeated]))
        racing = is_other & ~FINE[classes, own]
        if not shadow.is_local:
            reaches = np.array(self.reaches)
            is_short = np.minimum(reaches[sites], reaches[self.now]) < AGENT
            racing |= is_other & is_short & (self.order.groups[theirs] != self.order.groups[mine])
        chosen = racing
        if synchronizes:
            published = is_other & (classes >= SMALL_STORE)
            chosen = racing | (published & np.array(self.releases)[sites] if shadow.is_local else published)
        chosen = np.flatnonzero(chosen)
        if not chosen.size:
            return
        found, before, rows, own_rows, theirs, mine, racing, classes = (
            each[chosen] for each in (found, before, rows, own_rows, theirs, mine, racing, classes)
        )
        is_open = ~self._is_ordered(shadow, rows, theirs, mine)
        synchronized, racing = is_open & ~racing, is_open & racing
        if synchronized.any():
            self._synchronize(*_each_once(rows[synchronized], own_rows[synchronized]))
        if racing.any():
            found, size = found[racing], np.arange(shadow.unit)
            old = self.before(shadow.segment, (accessed.units(found) * shadow.unit)[:, None] + size)
            is_narrow = FINE[classes, own][racing]
            self._report(shadow, accessed, found, before[racing], old, is_write=is_write, is_narrow=is_narrow)

    def _compare_in_wave(
        self, shadow: Shadow, accessed: AccessedLanes, found: Rows, before: Rows, own_rows: Rows, *, is_write: bool
    ) -> None:
        """Compare lanes with others of their wave since its latest barrier or atomic operation."""
        rows, mine = (before >> LANE_BITS).astype(np.int64), self.wave_of[own_rows]
        differs = (before & LANE) != (accessed.marks[found] & LANE)
        racing = (self.wave_of[rows] == mine) & (rows < own_rows) & differs
        racing &= rows >= self.order.ordered_row[mine - self.order.first]
        racing &= self.classes[self.site_of[rows]] != RMW
        if not racing.any() or not self.says_items(self.pcs[self.now]):
            return
        units, size = accessed.units(found), np.arange(shadow.unit)
        old = self.before(shadow.segment, (units * shadow.unit)[:, None] + size)
        if is_write and accessed.action == WRITE:
            racing &= (old != accessed.new[found]).any(axis=1)
        racing = np.flatnonzero(racing)
        if racing.size:
            self._report(
                shadow, accessed, found[racing], before[racing], old[racing], is_write=is_write, is_in_wave=True
            )

    def _compare_lanes(self, shadow: Shadow, accessed: AccessedLanes) -> None:
        """Compare the lanes of an instruction that write the same units: the last one wins."""
        is_atomic = self._classes(shadow, self.now) == RMW
        if is_atomic and shadow.is_local and not self.releases[self.now]:
            return
        winners = shadow.write[accessed.at]
        lost = np.flatnonzero(winners != accessed.marks)
        if not lost.size:
            return
        if is_atomic:  # one wave after the other
            order = np.lexsort((accessed.marks, accessed.at))
            at, rows = accessed.at[order], (accessed.marks[order] >> LANE_BITS).astype(np.int64)
            waves = self.wave_of[rows]
            next_ = np.flatnonzero((at[1:] == at[:-1]) & (waves[1:] != waves[:-1]))
            self._synchronize(*_each_once(rows[next_], rows[next_ + 1]))
            return
        winners = winners[lost]
        order = np.lexsort((accessed.at, accessed.marks))
        marks = accessed.marks.astype(np.int64)
        keys = marks[order] << 32 | accessed.at[order]
        winning = order[np.searchsorted(keys, winners.astype(np.int64) << 32 | accessed.at[lost])]
        old, is_lost = accessed.new[lost], np.zeros(len(lost), bool)
        is_inside = self.wave_of[accessed.marks[lost] >> LANE_BITS] == self.wave_of[winners >> LANE_BITS]
        if self.pcs[self.now] in self.updates:
            at, words = accessed.at[lost], lost % accessed.count * shadow.unit >> 2
            data = self.before(shadow.segment, (at * shadow.unit)[:, None] + np.arange(shadow.unit))
            is_lost = is_inside & (data != old).any(axis=1)
            is_lost &= words == winning % accessed.count * shadow.unit >> 2
            for marks in (accessed.marks[lost], winners):
                is_lost &= self._has_read(shadow, at, marks, words)
        self._report(shadow, accessed, winning, accessed.marks[lost], old, is_write=True, is_lost=is_lost)

    def _has_read(self, shadow: Shadow, at: Rows, marks: Rows, words: Rows) -> Rows:
        """Return whether lanes have read the units that they write, by loads that the numbers were computed from."""
        waves, lanes = self.wave_of[marks >> LANE_BITS] - self.order.first, (marks & LANE).astype(np.int64)
        starts, found = at * shadow.unit, np.zeros(len(at), bool)
        for pc, update in self.updates[self.pcs[self.now]]:
            is_left = (words == update.stored[1]) & (self.place == update.stored[0])
            for number, read in reversed(self.latest.get((pc, shadow.segment.start), ())):
                if number != update.read[0]:
                    continue
                chosen = np.flatnonzero(is_left & np.isin(waves, read.waves))
                is_left[chosen] = False
                if read.places is None or not chosen.size:  # no two lanes read the same
                    continue
                order = np.argsort(read.waves)
                row = order[np.searchsorted(read.waves, waves[chosen], sorter=order)]
                index = row, np.minimum(lanes[chosen], read.places.shape[1] - 1)
                offset = np.broadcast_to(read.offset, read.places.shape)[index] + 4 * update.read[1]
                first = read.places[index].astype(np.int64) + offset
                end = first + min(4, read.size - 4 * update.read[1])
                is_read = (first <= starts[chosen]) & (starts[chosen] + shadow.unit <= end)
                if read.mask is not None:
                    is_read &= np.broadcast_to(read.mask, read.places.shape)[index]
                found[chosen] |= is_read
        return found

    def _is_late(self, rows: Rows, waves: Rows) -> Rows:
        """Return which accesses of local memory are not complete for their waves, which have not waited for them."""
        sites = self.site_of[rows]
        queues = self.queues[sites]
        is_own = (queues > 0) & (queues != self.queues[self.now]) & (self.wave_of[rows] == waves)
        return is_own & (self.number_of[rows] > self.order.complete[waves - self.order.first, self.local_kinds[sites]])

    def _is_ordered(self, shadow: Shadow, rows: Rows, theirs: Rows, mine: Rows) -> Rows:
        kinds = self.kinds[self.site_of[rows]]
        if shadow.is_local:
            kinds = self.local_kinds[self.site_of[rows]]
        numbers = self.number_of[rows]
        return self.order.is_ordered(rows, theirs, kinds, numbers, mine, is_local=shadow.is_local)

    def _classes(self, shadow: Shadow, sites: Rows) -> Rows:
        classes = self.classes[sites]
        return np.where(classes == RMW, RMW, PLAIN) if shadow.is_local else classes

    def _report(  # noqa: PLR0913
        self, shadow: Shadow, accessed: AccessedLanes, found: Rows, before: Rows, old: Rows, *, is_write: bool,
        is_lost: Rows = None, is_narrow: Rows = None, is_in_wave: bool = False,
    ) -> None:  # fmt: skip
        """Report pairs: units of an access, the marks of the earlier ones, and the bytes that these had there.

        The flags of ``is_lost`` are set where both have read them before, those of ``is_narrow`` where both are atomic.
        """
        sites = self.site_of[before >> LANE_BITS]
        is_atomic = self.classes[sites] == RMW
        kinds = np.full(len(found), 0 if is_write and accessed.action != READ else 1)
        names = [WRITE_WRITE, READ_WRITE, SAME_VALUE, NARROW_SCOPE, LOST_UPDATE, IN_WAVE]
        pairs = _pairs(accessed, found, before)
        if is_write and accessed.action == WRITE:
            differs = np.bincount(pairs, (old != accessed.new[found]).any(axis=1))[pairs] > 0
            kinds[~differs & ~is_atomic] = 2
        if is_narrow is not None:
            kinds[is_narrow] = 3
        if is_lost is not None:
            kinds[(kinds == 2) & (np.bincount(pairs, is_lost)[pairs] > 0)] = 4
        if is_in_wave:
            kinds[:] = 5
        start = shadow.segment.start
        variables: Rows = np.zeros(len(found), np.int64)
        if shadow.is_local:
            variables = np.searchsorted(self.starts(), self._offsets(shadow, accessed.units(found)), side="right")
        keys = variables << 40 | sites * 8 + kinds
        for key in np.unique(keys).tolist():
            rows = np.flatnonzero(keys == key)
            site, kind = (key & (1 << 40) - 1) >> 3, names[key & 7]
            if kind == SAME_VALUE and self.has_tensors(self.pcs[self.now]):  # a layout repeats elements in a program
                mine, theirs = (
                    self.order.groups[self.wave_of[marks[rows] >> LANE_BITS]]
                    for marks in (accessed.marks[found], before)
                )
                rows = rows[mine != theirs]
                if not rows.size:
                    continue
            pair = (kind, *sorted((self.pcs[site], self.pcs[self.now])), shadow.is_local, start, key >> 40)
            finding = self.found.get(pair)
            if finding is None:
                finding = self.found[pair] = self._finding(
                    kind, shadow, accessed, found[rows], before[rows], old[rows], is_write=is_write
                )
            finding.count += len(np.unique(pairs[rows]))

    def _finding(
        self, kind: str, shadow: Shadow, accessed: AccessedLanes, found: Rows, before: Rows, old: Rows, *,
        is_write: bool,
    ) -> CheckFinding:  # fmt: skip
        at = accessed.units(found)
        first = int(np.argmin(at))
        marks, theirs = accessed.marks[found], self.wave_of[before >> LANE_BITS]
        waves = self.wave_of[marks >> LANE_BITS]
        mine, other, its = int(waves[first]), int(theirs[first]), before[first] >> LANE_BITS
        rows = (waves == mine) & (theirs == other) & (before >> LANE_BITS == its)
        site = int(self.site_of[its])
        does = ATOMIC if self.classes[site] == RMW else WRITE if is_write else READ
        units = np.flatnonzero((marks == marks[first]) & (before == before[first]))
        units = units[np.argsort(at[units])]
        units = units[at[units] == at[first] + np.arange(len(units))]
        earlier = now = old[units].tobytes()
        if accessed.action != READ:
            now = None if accessed.new is None else accessed.new[found[units]].tobytes()
        sides = (
            self.side(does, self.pcs[site], other, before[rows] & LANE, int(before[first]) & LANE, earlier),
            self.side(
                accessed.action,
                self.pcs[self.now],
                mine,
                marks[rows] & LANE,
                int(marks[first]) & LANE,
                now,
                batch=self.batch,
            ),
        )
        address = int(self._offsets(shadow, at[first])) + shadow.segment.start
        size = len(units) * shadow.unit
        return CheckFinding(RACE, kind, sides, "local" if shadow.is_local else "global", address, size)

    def _offsets(self, shadow: Shadow, units: Rows) -> Rows:
        """Return where units begin in their segment; of local memory, in that of a work-group."""
        offsets = units * shadow.unit
        return offsets % (len(shadow.segment.data) // max(1, self.local_count)) if shadow.is_local else offsets

    local_count = 1
    """The work-groups that local memory is of."""

    looks_in_waves = False
    """Whether lanes of a wave are compared: the code has all barriers of the source."""

    says_items: Callable[[int], bool]
    """Returns whether the source of an instruction says work-items, and orders lanes by barriers alone."""

    has_tensors: Callable[[int], bool]
    """Returns whether the source of an instruction has tensors; the compiler lets lanes of a wave repeat elements."""


def bytes_of(segment: MemorySegment, at: Rows) -> Rows:
    """Return the bytes of a segment at some places."""
    return segment.data[at]


def _each_once(rows: Rows, others: Rows) -> tuple[Rows, Rows]:
    """Return each pair of rows once, the lowest first."""
    keys = np.unique(rows << 32 | others)
    return keys >> 32, keys & (1 << 32) - 1


def _pairs(accessed: AccessedLanes, found: Rows, before: Rows) -> Rows:
    """Return for each unit the number of the pair of lanes that access it: several units may have the same pair."""
    if accessed.count == 1:
        return np.arange(len(found))
    lanes = np.stack([accessed.marks[found], before], axis=1)
    return np.unique(lanes, axis=0, return_inverse=True)[1].reshape(-1)
