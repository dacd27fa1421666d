"""What each wave knows of the accesses of others: the order that barriers and atomics give ("happens before").

Each wave counts its memory instructions by counter, as the hardware does. What it has waited for is complete. A barrier
tells all waves of the work-group what is complete of each; of global memory only behind an invalidate of the nearest
cache, unless they share it (AMDGPU usage, "Memory Model GFX10-GFX11": in CU mode, as up to GFX9, a fence of a
work-group needs neither the wait nor the invalidate).

Memory instructions of waves are also numbered as they are executed: these are rows. Where a work-group has waited for
everything before a barrier, as compilers let it, each wave only remembers how many rows there were: the accesses of its
work-group below that *floor* are before its own. What else it knows, it counts by wave and counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.isa.memory_actions import counters_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.batch import WaveBatch

Rows = Any


class KnownOrder(KeptState):
    """What waves know of each other; waves are counted from the first of the launch on, ``first`` is the first now."""

    def __init__(self, generation: int, *, shares_cache: bool, is_followed: bool) -> None:
        self.names = counters_of(generation).all
        self.local = self.names.index(counters_of(generation).local)
        self.shares_cache = shares_cache
        self.is_followed = is_followed
        """Whether somebody asks which accesses are ordered; else only the barriers are followed."""
        self.rows = 1
        """How many rows there are; row 0 is no access."""
        self.first = 0
        self.group_count = 0
        self.groups = self.places = np.zeros(0, np.int64)
        """The work-group of each wave, counted over the launch, and its number in it."""
        self.groups_known: dict[int, Rows] = {}
        """By group, up to which access it knows what each other group did, from atomics."""

    def use(self, group_of: Rows) -> None:
        """Begin with other waves, of some groups."""
        self.first = len(self.groups)
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
        self.issued = np.zeros((count, kinds), np.int64)
        self.complete, self.emptied = np.zeros((count, kinds), np.int64), np.zeros((count, kinds), np.int64)
        """Up to which access each wave has waited, and has waited until none remained."""
        self.floor, self.told_floor, self.pending_floor, self.met_floor = (
            np.ones((count, 2), np.int64) for _ in range(4)
        )
        """Below which row all accesses of its group are before those of a wave, of local and of global memory."""
        self.has_told_all = np.zeros((count, 2), bool)
        """Whether everything of a wave was complete at its last barrier: in local memory, and in global memory."""
        shape = count, widest if self.is_followed else 0, kinds
        self.known = np.zeros(shape, np.int64)
        """By wave, how many accesses of each wave of the group it knows to be before its own, beside those below."""
        self.told, self.pending, self.met = (np.zeros_like(self.known) for _ in range(3))
        """What it told at its last barrier, what it knows behind an invalidate, and what its next wait tells it."""
        self.done = np.zeros((count, kinds), np.int64)
        """What was complete of it then."""
        self.has_known = False
        """Whether anything is known beside what is below the floors."""
        self.by_group, self.starts = order, np.cumsum(sizes) - sizes
        """The waves, those of a group together, and where each group begins there."""
        self.sizes, self.arrived, self.ended = sizes, np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        self.is_alone = widest < 2
        """Whether each work-group is one wave."""
        self.has_ended, self.has_arrived = np.zeros(count, bool), np.zeros(count, bool)
        self.is_free, self.is_waiting = np.zeros(count, bool), np.zeros(count, bool)
        """Whether a wave's barrier is complete, and whether it waits for that."""

    # --- What is complete ---------------------------------------------------------------------------------------------

    def issue(self, batch: WaveBatch, kinds: tuple[int, ...]) -> None:
        """Count an access."""
        for kind in kinds:
            self.issued[batch.index, kind] += 1

    def wait(self, batch: WaveBatch, waits: tuple[tuple[int, int], ...]) -> None:
        """Take note that all but some accesses are complete."""
        for kind, left in waits:
            done = self.issued[batch.index, kind] - left
            self.complete[batch.index, kind] = np.maximum(self.complete[batch.index, kind], done)
            if not left:
                self.emptied[batch.index, kind] = done

    def invalidate(self, batch: WaveBatch) -> None:
        """Let waves see global memory as it was at their last barrier."""
        self.floor[batch.index, 1] = np.maximum(self.floor[batch.index, 1], self.pending_floor[batch.index, 1])
        if self.has_known:
            self.known[batch.index] = np.maximum(self.known[batch.index], self.pending[batch.index])

    # --- Barriers -----------------------------------------------------------------------------------------------------

    def signal(self, batch: WaveBatch) -> Rows:
        """Take note that waves tell their group what they know; return the groups whose barrier is complete."""
        waves, index = batch.waves, batch.index
        if self.is_followed:
            done, issued = self.complete[index], self.issued[index]
            if self.shares_cache:
                local, done = done[:, self.local], issued.copy()
                done[:, self.local] = local
            self.done[index] = done
            is_complete = done >= issued
            self.has_told_all[index, 0] = is_complete[:, self.local]
            self.has_told_all[index, 1] = is_complete.all(axis=1)
            self.told_floor[index] = self.floor[index]
            if self.has_known:
                self.told[index] = self.known[index]
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
        met = self.met_floor[waves]
        self.pending_floor[waves] = np.maximum(self.pending_floor[waves], met)
        parts = slice(None) if self.shares_cache else slice(0, 1)
        self.floor[waves, parts] = np.maximum(self.floor[waves, parts], met[:, parts])
        if self.has_known:
            told = self.met[waves]
            self.pending[waves] = np.maximum(self.pending[waves], told)
            if not self.shares_cache:
                is_local = np.arange(len(self.names)) == self.local
                told = np.where(is_local, told, 0)
            self.known[waves] = np.maximum(self.known[waves], told)

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
        for floors in (self.floor, self.told_floor, self.pending_floor, self.met_floor):
            floors[...] = before[floors]
        self.groups_known = {group: before[known + 1] - 1 for group, known in self.groups_known.items()}
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
        if self.groups_known:
            for group in np.unique(own).tolist():
                if (known := self.groups_known.get(group)) is not None:
                    rows = np.flatnonzero((own == group) & (groups != group))
                    ordered[rows] = accesses[rows] <= known[groups[rows]]
        return ordered

    def acquire(self, accesses: Rows, theirs: Rows, mine: Rows, complete: Callable[[int], Rows]) -> None:
        """Let waves know what others knew that wrote what they read, by atomics; ``complete`` tells what was then.

        What the other group did before is known to the whole group, so a fence that is missing is not noticed.
        """
        groups, own = self.groups[theirs], self.groups[mine]
        inside = groups == own
        self.has_known |= bool(inside.any())
        for wave, other, access in zip(*(rows[inside].tolist() for rows in (mine, theirs, accesses)), strict=True):
            at, its, place = wave - self.first, other - self.first, self.places[other]
            told = self.known[its].copy()
            told[place] = complete(access)
            self.known[at] = np.maximum(self.known[at], told)
            self.floor[at] = np.maximum(self.floor[at], self.floor[its])
        outside = np.flatnonzero(~inside)
        latest: dict[tuple[int, int], int] = {}
        rows = zip(own[outside].tolist(), groups[outside].tolist(), accesses[outside].tolist(), strict=True)
        for group, other, access in rows:
            latest[group, other] = max(access, latest.get((group, other), 0))
        for (group, other), access in latest.items():
            known = self.groups_known.get(group)
            if known is None:
                known = self.groups_known[group] = np.zeros(self.group_count, np.int64)
            if (theirs_known := self.groups_known.get(other)) is not None:
                count = len(theirs_known)
                known[:count] = np.maximum(known[:count], theirs_known)
            known[other] = max(int(known[other]), access)
