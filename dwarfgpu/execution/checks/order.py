"""What each wave knows of the accesses of others: the order that barriers and atomics give ("happens before").

Each wave counts its memory instructions by counter, as the hardware does. What it has waited for is complete. A barrier
tells all waves of the work-group what is complete of each; of global memory only behind an invalidate of the nearest
cache, unless they share it (AMDGPU usage, "Memory Model GFX10-GFX11": in CU mode, as up to GFX9, a fence of a
work-group needs neither the wait nor the invalidate). Named barriers and those of clusters tell those who have waited
for them what those who have signalled knew then.

A store or an atomic operation *publishes* what its wave has released: for its work-group, and for all others, what is
complete and written back as the memory model of the family asks for at that scope. Who reads the value acquires that
behind the wait and the invalidates of the scope, in whatever instructions they are (`Release`, `WaveClock`).

Memory instructions of waves are also numbered as they are executed: these are rows. Where a work-group has waited for
everything before a barrier, as compilers let it, each wave only remembers how many rows there were: the accesses of its
work-group below that *floor* are before its own. What else it knows, it counts by wave and counter.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.barriers import BarrierListener
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.immutable import evolve, immutable
from dwarfgpu.isa.memory_actions import counters_of, covers
from dwarfgpu.targets.amdgpu.memory_families import family_rules

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch

Rows = Any
DIRECT = "direct loads"
"""A counter of no hardware: loads that write local memory, by their numbers in the counter of loads."""
MOST_PENDING = 256
"""The releases that a wave has read and not yet acquired, at most; the oldest are forgotten."""
MOST_BARRIERS = 8
"""The barriers of a group that are remembered for what was published before them."""
FEW_WAVES, MOST_BYTES = 1024, 1 << 28
"""The waves up to which clocks are written out for good, and the bytes of others that are."""


class Reach(IntEnum):
    """How far apart two waves are: FAR in different clusters, NEAR in one work-group, CLUSTER in one cluster."""

    FAR, NEAR, CLUSTER = range(3)


class WaveClock:
    """How many accesses of each wave are before what acquires it, by counter: those of a release, and of others.

    More columns have the access itself that was read, by its number in its counter.
    """

    def __init__(self, waves: Rows, counts: Rows, before: Iterable[WaveClock | None]) -> None:
        self.waves, self.counts = waves, counts
        self.before = tuple(clock for clock in before if clock is not None)
        self.all: Rows = None
        """Those of all waves that the launch had when somebody asked."""

    def write_out(self, shape: tuple[int, int]) -> list[WaveClock]:
        """Find the counts of all waves; return the clocks that have them now."""
        found, waiting = [], [self]
        while waiting:
            clock = waiting[-1]
            unknown = [each for each in clock.before if each.all is None]
            waiting += unknown
            if unknown:
                continue
            waiting.pop()
            if clock.all is None:
                found.append(clock)
                clock.all = np.zeros(shape, np.int32)
                clock.all[clock.waves] = clock.counts
                for each in clock.before:
                    known = clock.all[: len(each.all)]
                    np.maximum(known, each.all, out=known)
        return found


def joined(*clocks: WaveClock | None) -> WaveClock:
    """Return a clock that has all of some."""
    every = {id(clock): clock for clock in clocks if clock is not None}
    return next(iter(every.values())) if len(every) == 1 else WaveClock(slice(0), 0, every.values())


class Release:
    """What some waves have published with one instruction: arrays with an element for each."""

    def __init__(self, waves: Rows, **parts: Any) -> None:
        self.waves = waves
        self.parts = parts
        self.after: dict[int, set[tuple[Release, int]]] = {}
        """By wave, what it carries on: an atomic operation continues the release sequence of what it reads."""
        self.is_mixed = set[int]()
        """The waves whose sequence began in another group."""
        self.made: dict[tuple[int, Reach], WaveClock] = {}

    def carry_on(self, index: int, release: Release, its: int, *, is_own: bool, is_near: bool) -> None:
        """Let a wave continue the release sequence of one of another instruction, or of itself, if of no other."""
        if not is_own:
            self.after.setdefault(index, set()).add((release, its))
        elif index not in self.after and its in release.after:
            self.after[index] = release.after[its]
        if not is_near or its in release.is_mixed:
            self.is_mixed.add(index)


@immutable
class PendingClock:
    """What a wave has read, and knows as soon as the access is complete and caches are invalidated."""

    source: WaveClock | tuple[Release, int, Reach]
    """A clock, or the release, its row, and how far both waves are apart."""
    missing: tuple[str, ...]
    """The invalidates that are to come."""
    kind: int | None = None
    """The counter of the access, and its number there; None if it is complete."""
    number: int = 0


@immutable
class Signal:
    """What a wave knew when it signalled a barrier that is not that of its work-group."""

    release: Release
    floor: int
    """The floor of local memory."""
    known: Rows
    """By wave of its group, and counter, the accesses of local memory that were before the signal."""


class KnownOrder(KeptState, BarrierListener):
    """What waves know of each other; waves are counted from the first of the launch on, ``first`` is the first now."""

    def __init__(self, processor: str, generation: int, mode: str, *, is_followed: bool) -> None:
        counters = counters_of(generation)
        self.names = (*counters.all, DIRECT)
        self.local, self.load, self.direct = map(self.names.index, (counters.local, counters.load, DIRECT))
        self.lates = [self.names.index(name) for name in counters.others]
        """The counters of loads and stores of local memory that code has to wait for itself."""
        self.locals = [self.local, self.direct, *self.lates]
        """The counters of what is done in local memory."""
        self.vectors = sorted({self.names.index(counters.load), self.names.index(counters.store), *self.lates})
        """The counters that a release waits for."""
        levels = family_rules(processor).caches[mode]
        self.near, self.far = levels["workgroup"], levels["agent"]
        """What a work-group needs, and what all others do."""
        self.levels = self.far, self.near, levels["cluster"]
        """The same by `Reach`, with what a cluster needs."""
        self.signals: dict[tuple[int, int], list[Signal]] = {}
        """By barrier, named or of a cluster, the signals since it was complete."""
        self.met_signals: dict[int, list[Signal]] = {}
        """By wave, those of the barrier that its next wait is for."""
        self.shares_cache = not self.near.waits
        self.is_followed = is_followed
        """Whether somebody asks which accesses are ordered; else only the barriers are followed."""
        self.rows = 1
        """How many rows there are; row 0 is no access."""
        self.first = 0
        self.group_count = self.groups_before = 0
        self.groups = self.places = np.zeros(0, np.int64)
        """The work-group of each wave, counted over the launch, and its number in it."""
        self.clocks: dict[int, WaveClock] = {}
        """By wave, what it has acquired; and what it told and was told at barriers."""
        self.told_clocks: dict[int, tuple[WaveClock | None, list[PendingClock]]] = {}
        self.met_clocks: dict[int, tuple[WaveClock, list[PendingClock]]] = {}
        self.pending_clocks: dict[int, list[PendingClock]] = {}
        self.invalidates: dict[int, list[tuple[int, WaveClock | None, list[PendingClock]]]] = {}
        """By wave, invalidates that count as loads: its clock before each, and what it has acquired behind it."""
        self.written_out: list[WaveClock] = []
        self.written, self.written_at = np.zeros((0, len(self.names)), np.int64), np.zeros(0, np.int64)
        self.barriers = np.zeros((0, MOST_BARRIERS, len(self.names)), np.int32)
        """By wave, how many accesses it had issued at the latest barriers of its group, in turn."""
        self.met_count = np.zeros(0, np.int64)

    def use(self, group_of: Rows) -> None:
        """Begin with other waves, of some groups."""
        self.first, self.groups_before = len(self.groups), self.group_count
        self.signals, self.met_signals = {}, {}
        count = len(group_of)
        self.row_of = group_of
        """The group of each wave that runs."""
        groups = int(group_of.max()) + 1 if count else 0
        order = np.argsort(group_of, kind="stable")
        sizes = np.bincount(group_of, minlength=groups)
        places = np.zeros(count, np.int64)
        places[order] = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.groups = np.concatenate([self.groups, group_of + self.group_count])
        self.places = np.concatenate([self.places, places])
        self.group_count += groups
        widest, kinds = int(sizes.max()) if count else 0, len(self.names)
        self.issued, self.latest = np.zeros((count, kinds), np.int64), np.zeros((count, kinds), np.int64)
        """How many accesses each wave has begun; and which is the latest that others may see, not of private memory."""
        self.complete, self.emptied = np.zeros((count, kinds), np.int64), np.zeros((count, kinds), np.int64)
        """Up to which access each wave has waited, and has waited until none remained."""
        self.floor, self.told_floor, self.pending_floor, self.met_floor = (
            np.ones((count, 2), np.int64) for _ in range(4)
        )
        """Below which row all accesses of its group are before those of a wave, of local and of global memory."""
        self.ordered_row = np.ones(count, np.int64)
        """Below which row all that a wave did is before a barrier or an atomic operation of its own."""
        self.has_told_all = np.zeros((count, 2), bool)
        """Whether everything of a wave was complete at its last barrier: in local memory, and in global memory."""
        shape = count, widest if self.is_followed else 0, kinds
        self.known = np.zeros(shape, np.int64)
        """By wave, how many accesses of each wave of the group it knows to be before its own, beside those below."""
        self.told, self.pending, self.met = (np.zeros_like(self.known) for _ in range(3))
        """What it told at its last barrier, what it knows behind an invalidate, and what its next wait tells it."""
        self.done = np.zeros((count, kinds), np.int64)
        """What was complete of it then."""
        self.written = np.concatenate([self.written, np.zeros((count, kinds), np.int64)])
        """What each wave of the launch had issued when it last wrote back for other groups."""
        self.written_at = np.concatenate([self.written_at, np.zeros(count, np.int64)])
        self.barriers = np.pad(self.barriers, ((0, count * self.is_followed), (0, 0), (0, 0)))
        self.met_count = np.concatenate([self.met_count, np.zeros(groups, np.int64)])
        """How many barriers each group has met at with all complete; and how many those were at the write-back."""
        self.has_known = False
        """Whether anything is known beside what is below the floors."""
        self.has_local = False
        """Whether there is local memory."""
        self.by_group, self.starts = order, np.cumsum(sizes) - sizes
        """The waves, those of a group together, and where each group begins there."""
        self.sizes, self.arrived, self.ended = sizes, np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        self.is_alone = widest < 2
        """Whether each work-group is one wave."""
        self.has_ended, self.has_arrived = np.zeros(count, bool), np.zeros(count, bool)
        self.is_free, self.is_waiting = np.zeros(count, bool), np.zeros(count, bool)
        """Whether a wave's barrier is complete, and whether it waits for that."""

    # --- What is complete ---------------------------------------------------------------------------------------------

    def issue(self, batch: WaveBatch, kinds: tuple[int, ...], *, is_direct: bool) -> None:
        """Count an access."""
        for kind in kinds:
            self.issued[batch.index, kind] += 1
        if is_direct and self.load in kinds:
            self.issued[batch.index, self.direct] = self.issued[batch.index, self.load]

    def wait(self, batch: WaveBatch, waits: tuple[tuple[int, int], ...]) -> None:
        """Take note that all but some accesses are complete."""
        for kind, left in waits:
            done = self.issued[batch.index, kind] - left
            for each in (kind, self.direct) if kind == self.load else (kind,):
                self.complete[batch.index, each] = np.maximum(self.complete[batch.index, each], done)
            if not left:
                self.emptied[batch.index, kind] = done

    def invalidate(self, batch: WaveBatch, text: str, *, is_counted: bool) -> None:
        """Let waves see global memory as it was at their last barrier, and acquire what they have read."""
        if any(covers(text, part) for part in self.near.invalidate):
            self.floor[batch.index, 1] = np.maximum(self.floor[batch.index, 1], self.pending_floor[batch.index, 1])
            if self.has_known:
                self.known[batch.index] = np.maximum(self.known[batch.index], self.pending[batch.index])
        for wave in batch.waves.tolist() if self.pending_clocks else ():
            pending = self.pending_clocks.pop(wave + self.first, None)
            if is_counted and pending:
                before, done = self.clocks.get(wave + self.first), self._complete(wave, pending)
                number = int(self.issued[wave, self.load])
                self.invalidates.setdefault(wave + self.first, []).append((number, before, done))
            for each in pending or ():
                is_complete = each.kind is None or self.complete[wave, each.kind] >= each.number
                missing = tuple(part for part in each.missing if not (is_complete and covers(text, part)))
                self._await(wave + self.first, evolve(each, missing=missing))

    def is_quiet(self, batch: WaveBatch) -> bool:
        """Return whether all that others may see of waves is complete, and there is some of each."""
        latest, complete = (each[batch.waves][:, self.vectors] for each in (self.latest, self.complete))
        return bool((latest > 0).any(axis=1).all() and (latest <= complete).all())

    def write_back(self, batch: WaveBatch, text: str) -> None:
        """Note that waves write back."""
        if all(covers(text, part) for part in self.far.write_back):
            waves = batch.waves + self.first
            self.written[waves] = self.issued[batch.index]
            self.written_at[waves] = self.met_count[self.groups[waves]]

    # --- Barriers -----------------------------------------------------------------------------------------------------

    def signal(self, batch: WaveBatch) -> Rows:
        """Take note that waves tell their group what they know; return the groups whose barrier is complete."""
        waves, index = batch.waves, batch.index
        if self.is_followed:
            done, issued = self.complete[index], self.issued[index]
            if self.shares_cache:
                local, done = done[:, self.locals], issued.copy()
                done[:, self.locals] = local
            self.done[index] = done
            is_complete = done >= issued
            self.has_told_all[index, 0] = is_complete[:, self.locals].all(axis=1)
            self.has_told_all[index, 1] = is_complete.all(axis=1)
            self.told_floor[index] = self.floor[index]
            if self.has_known:
                self.told[index] = self.known[index]
            if self.clocks or self.pending_clocks:
                self._tell_clocks(waves)
        self.has_arrived[index] = True
        arrived = np.bincount(self.row_of[waves], minlength=len(self.arrived))
        self.arrived += arrived
        return self._met(np.flatnonzero(arrived))

    def wait_at_barrier(self, batch: WaveBatch) -> None:
        """Take note that waves wait until the barrier is complete, which it may be."""
        self.is_waiting[batch.waves] = True
        self._go_on(batch.waves[self.is_free[batch.waves]])

    def end(self, batch: WaveBatch) -> Rows:
        """Take note that waves end; return the groups whose barrier is complete by that."""
        self.has_ended[batch.waves] = True
        np.add.at(self.ended, self.row_of[batch.waves], 1)
        return self._met(np.unique(self.row_of[batch.waves]))

    def members(self, groups: Rows) -> tuple[Rows, Rows]:
        """Return the waves of some groups, one group after the other, and where each begins."""
        sizes = self.sizes[groups]
        firsts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) - np.repeat(firsts, sizes)
        return self.by_group[np.repeat(self.starts[groups], sizes) + places], firsts

    def _met(self, groups: Rows) -> Rows:
        whole = groups[(self.arrived[groups] > 0) & (self.arrived[groups] + self.ended[groups] == self.sizes[groups])]
        if not len(whole):
            return whole
        members, firsts = self.members(whole)
        has_arrived = self.has_arrived[members]
        if self.is_followed:
            has_told_all = np.logical_and.reduceat(self.has_told_all[members] & has_arrived[:, None], firsts)
            floors = np.maximum.reduceat(self.told_floor[members] * has_arrived[:, None], firsts)
            floors = np.where(has_told_all, self.rows, floors)
            self.met_floor[members] = np.repeat(floors, self.sizes[whole], axis=0)
            if self.has_known or not has_told_all.all():
                self._tell(members, firsts, has_arrived)
            told_all = whole[has_told_all[:, 1]]
            self.met_count[told_all + self.groups_before] += 1
            waves = self.members(told_all)[0] + self.first
            number = self.met_count[self.groups[waves]] % MOST_BARRIERS
            self.barriers[waves, number] = self.issued[waves - self.first]
            if self.told_clocks:
                self._meet_clocks(members, firsts)
        members = members[has_arrived]
        self.is_free[members] = True
        self._go_on(members[self.is_waiting[members]])
        return whole

    def _tell(self, members: Rows, firsts: Rows, has_arrived: Rows) -> None:
        """Let the waves of some groups that have arrived know together what each of them told."""
        self.has_known = True
        arrived, places = members[has_arrived], self.places[self.first + members[has_arrived]]
        self.told[arrived, places] = np.maximum(self.told[arrived, places], self.done[arrived])
        told = np.maximum.reduceat(self.told[members] * has_arrived[:, None, None], firsts)
        self.met[members] = np.repeat(told, self.sizes[self.row_of[members[firsts]]], axis=0)

    def _tell_clocks(self, waves: Rows) -> None:
        """Let waves tell their group what they have acquired, and what only an invalidate is missing for."""
        for wave in waves.tolist():
            at = wave + self.first
            clock = self._firm(at)
            complete = self._complete(wave, self.pending_clocks.get(at, ()))
            complete += [each for _number, _before, acquired in self.invalidates.get(at, ()) for each in acquired]
            if clock is not None or complete:
                self.told_clocks[at] = clock, complete

    def _complete(self, wave: int, pending: Iterable[PendingClock]) -> list[PendingClock]:
        """Return what a wave has read with accesses that are complete."""
        done = (each for each in pending if each.kind is None or self.complete[wave, each.kind] >= each.number)
        return [evolve(each, kind=None) for each in done]

    def _firm(self, wave: int) -> WaveClock | None:
        """Return what a wave has acquired behind invalidates that are complete, in the caches of its whole group."""
        every = self.invalidates.pop(wave, ())
        left = [each for each in every if each[0] > self.complete[wave - self.first, self.load]]
        if not left:
            return self.clocks.get(wave)
        self.invalidates[wave] = left
        return left[0][1]

    def _meet_clocks(self, members: Rows, firsts: Rows) -> None:
        """Let waves know together what they have acquired."""
        for group in np.split(members + self.first, firsts[1:]):
            waves = group.tolist()
            told = [self.told_clocks.pop(wave) for wave in waves if wave in self.told_clocks]
            if told:
                met = joined(*(clock for clock, _all in told)), [each for _clock, all_ in told for each in all_]
                self.met_clocks.update(dict.fromkeys(waves, met))

    def reset(self, groups: Rows) -> None:
        """Begin the next barrier of some groups."""
        self.arrived[groups] = 0
        self.has_arrived[self.members(groups)[0]] = False

    def _go_on(self, waves: Rows) -> None:
        if not len(waves):
            return
        self.is_free[waves] = self.is_waiting[waves] = False
        if not self.is_followed:
            return
        self.ordered_row[waves] = self.rows
        met = self.met_floor[waves]
        self.pending_floor[waves] = np.maximum(self.pending_floor[waves], met)
        is_told_all = not self.near.invalidate
        parts = slice(None) if is_told_all else slice(0, 1)
        self.floor[waves, parts] = np.maximum(self.floor[waves, parts], met[:, parts])
        if self.has_known:
            told = self.met[waves]
            self.pending[waves] = np.maximum(self.pending[waves], told)
            if not is_told_all:
                told = np.where(np.isin(np.arange(len(self.names)), self.locals), told, 0)
            self.known[waves] = np.maximum(self.known[waves], told)
        for wave in waves.tolist() if self.met_clocks else ():
            if (met_clock := self.met_clocks.pop(wave + self.first, None)) is not None:
                for each in [PendingClock(met_clock[0], self.near.invalidate), *met_clock[1]]:
                    self._await(wave + self.first, each)

    def lowest_floors(self) -> Rows:
        """Return by group below which row all accesses of local memory are before all that comes."""
        floors = np.where(self.has_ended, np.iinfo(np.int64).max, self.floor[:, 0])
        return np.minimum.reduceat(floors[self.by_group], self.starts)

    def least_known(self) -> Rows:
        """Return by wave how many of its accesses of local memory are before all that comes in its group."""
        known = np.where(self.has_ended[:, None], np.iinfo(np.int64).max, self.known[:, :, self.local])
        least = np.minimum.reduceat(known[self.by_group], self.starts)
        return least[self.row_of, self.places[self.first :]]

    def number_anew(self, before: Rows) -> None:
        """Number the rows anew, of which so many are left before each."""
        for floors in (self.floor, self.told_floor, self.pending_floor, self.met_floor, self.ordered_row):
            floors[...] = before[floors]
        every: Any
        for every in (self.signals, self.met_signals):
            for key, signals in every.items():
                every[key] = [evolve(each, floor=int(before[each.floor])) for each in signals]
        self.rows = int(before[-1])

    # --- Order --------------------------------------------------------------------------------------------------------

    def is_ordered(
        self, accesses: Rows, theirs: Rows, kinds: Rows, numbers: Rows, mine: Rows, *, is_local: bool
    ) -> Rows:
        """Return which accesses of other waves are before what some waves do now.

        Each has its row, its wave, its counter, and its number in that.
        """
        groups, own = self.groups[theirs], self.groups[mine]
        inside = groups == own
        ordered = inside & (accesses < self.floor[mine - self.first, 0 if is_local else 1])
        if self.has_known:
            left = np.flatnonzero(inside & ~ordered)
            known = self.known[mine[left] - self.first, self.places[theirs[left]], kinds[left]]
            ordered[left] = numbers[left] <= known
        for wave in self.clocks.keys() & set(mine.tolist()) if self.clocks and not is_local else ():
            rows = np.flatnonzero((mine == wave) & ~ordered)
            if rows.size:
                counts = self._counts(self.clocks[wave])
                rows = rows[theirs[rows] < len(counts)]
                their, kind, number = theirs[rows], kinds[rows], numbers[rows]
                ordered[rows] = (number <= counts[their, kind]) | (number == counts[their, kind + len(self.names)])
        return ordered

    def _counts(self, clock: WaveClock) -> Rows:
        """Return how many accesses of each wave a clock has: of small launches for good, else of the latest clocks."""
        if clock.all is None:
            found = clock.write_out((len(self.groups), 2 * len(self.names)))
            if len(self.groups) <= FEW_WAVES:
                for each in found:
                    each.before = ()
            else:
                self.written_out += found
        counts = clock.all
        while len(self.written_out) > MOST_BYTES // counts.nbytes:
            self.written_out.pop(0).all = None
        return counts

    # --- Named barriers, and those of clusters ------------------------------------------------------------------------

    def signal_other(self, batch: WaveBatch, row: int, barrier: tuple[int, int]) -> None:
        wave = int(batch.waves[row])
        known = self.known[wave].copy()
        at = self.places[wave + self.first]
        known[at] = np.maximum(known[at], self.complete[wave])
        release = self.publish(batch.waves[row : row + 1], None, known=known)
        self.signals.setdefault(barrier, []).append(Signal(release, int(self.floor[wave, 0]), known))

    def meet_other(self, barrier: tuple[int, int], waves: Rows) -> None:
        signals = self.signals.pop(barrier, [])
        self.met_signals.update(dict.fromkeys(waves.tolist(), signals))

    def pass_other(self, waves: Rows) -> None:
        for wave in waves.tolist():
            own = self.groups[wave + self.first]
            for signal in self.met_signals.pop(wave, ()):
                is_near = self.groups[signal.release.waves[0]] == own
                if is_near:
                    self.has_known = True
                    self.known[wave][:, self.locals] = np.maximum(self.known[wave], signal.known)[:, self.locals]
                    self.floor[wave, 0] = max(self.floor[wave, 0], signal.floor)
                reach = Reach.NEAR if is_near else Reach.CLUSTER
                self._await(wave + self.first, PendingClock((signal.release, 0, reach), self.levels[reach].invalidate))
            self.ordered_row[wave] = self.rows

    # --- Atomics ------------------------------------------------------------------------------------------------------

    def publish(self, waves_now: Rows, kind: int | None, *, known: Rows = None) -> Release:
        """Return what waves release: with an access that counts in a counter; or with a signal, and what they know."""
        waves = waves_now + self.first
        return Release(
            waves,
            kind=kind,
            known=known,
            complete=self.complete[waves_now],
            issued=self.issued[waves_now],
            met=self.met_count[self.groups[waves]],
            written=self.written[waves] if self.far.write_back else None,
            written_at=self.written_at[waves] if self.far.write_back else None,
            clocks=[self.clocks.get(wave) for wave in waves.tolist()] if self.clocks else None,
            firm=[self._firm(wave) for wave in waves.tolist()] if self.clocks else None,
        )

    def acquire(self, release: Release, index: int, mine: int, kind: int, number: int, *, is_near: bool) -> None:
        """Let a wave read what another one has published, with an access that has a number in a counter."""
        if is_near and self.has_local:
            at, its = mine - self.first, int(release.waves[index]) - self.first
            self.has_known = True
            told = self.known[its][:, self.locals]
            told[self.places[its + self.first]] = release.parts["complete"][index, self.locals]
            self.known[at][:, self.locals] = np.maximum(self.known[at][:, self.locals], told)
            self.floor[at, 0] = max(self.floor[at, 0], self.floor[its, 0])
        reach = Reach(is_near and index not in release.is_mixed)
        self._await(mine, PendingClock((release, index, reach), self.levels[reach].invalidate, kind, number))

    def has_acquired(self, wave: int, release: Release, index: int) -> bool:
        """Return whether a wave knows what another one has published."""
        clock, kind = self.clocks.get(wave), release.parts["kind"]
        if clock is None or (theirs := release.waves[index]) >= len(counts := self._counts(clock)):
            return False
        return bool(counts[theirs, kind + len(self.names)] == release.parts["issued"][index, kind])

    def _await(self, wave: int, pending: PendingClock) -> None:
        """Let a wave know what it has read, or wait for what is missing."""
        if pending.missing:
            every = self.pending_clocks.setdefault(wave, [])
            every.append(pending)
            if len(every) > 2 * MOST_PENDING:
                del every[:-MOST_PENDING]
        else:
            source = pending.source
            clock = source if isinstance(source, WaveClock) else self._clock(*source)
            self.clocks[wave] = joined(self.clocks.get(wave), clock)

    def _clock(self, release: Release, index: int, reach: Reach) -> WaveClock:
        """Return what one wave has released, for those that it reaches, with all that it carries on."""
        waiting = [(release, index)]
        while waiting:
            other, its = waiting[-1]
            left = [each for each in other.after.get(its, ()) if (each[1], reach) not in each[0].made]
            waiting += left
            if not left:
                waiting.pop()
                if (its, reach) not in other.made:
                    other.made[its, reach] = self._new_clock(other, its, reach)
        return release.made[index, reach]

    def _new_clock(self, release: Release, index: int, reach: Reach) -> WaveClock:
        own, parts = int(release.waves[index]), release.parts
        group = int(self.groups[own])
        members = np.flatnonzero(self.groups == group)
        counts = self._before_barrier(group, int(parts["met"][index]), members)
        known = parts["known"]
        if known is None and self.has_known and own >= self.first:
            known = self.known[own - self.first]
        if known is not None:
            counts = np.maximum(counts, known[: len(members)])
        mine = parts["issued"][index].copy()
        level = self.levels[reach]
        if level.waits:
            mine[self.vectors] = parts["complete"][index][self.vectors]
        if level.write_back:  # by this wave behind the barrier, or by the others before it
            written = self._before_barrier(group, int(parts["written_at"][index]), members)
            counts = np.maximum(written, np.minimum(counts, self.written[members]))
            mine = np.minimum(mine, parts["written"][index])
        counts = np.hstack([counts, np.zeros_like(counts)])
        counts[self.places[own], : len(mine)] = mine
        if (kind := parts["kind"]) is not None:
            counts[self.places[own], len(mine) + kind] = parts["issued"][index, kind]
        before = [each[0].made[each[1], reach] for each in release.after.get(index, ())]
        acquired = parts["firm" if reach is Reach.NEAR else "clocks"]
        return WaveClock(members, counts, before if acquired is None else [*before, acquired[index]])

    def _before_barrier(self, group: int, number: int, members: Rows) -> Rows:
        """Return how many accesses waves of a group had issued at one of its barriers, or the next that is known."""
        kept = max(number, int(self.met_count[group]) + 1 - MOST_BARRIERS)
        return self.barriers[members, kept % MOST_BARRIERS] * bool(number)
