"""The barriers of GFX12, which are in two parts: a wave signals that it has arrived, and waits for all others later.

"RDNA4 Instruction Set Architecture", section 5.5: a barrier counts signals, and is complete when each wave of the
work-group has signalled or ended. Then each of them has a flag, which its next wait takes. Barrier -1 is that of the
work-group; barrier -2 is for trap handlers, and barrier 0 for nobody: programs that signal or wait there do nothing.
A work-group of one wave has no barrier. GFX12.5 also has named barriers, 1 to 16, and that of a cluster, -3, which
counts a signal for each work-group; -4 is for trap handlers ("CDNA5 Instruction Set Architecture", 5.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import WaveBatch, number_of
from dwarfgpu.execution.faults import UnknownInstruction

GROUP = -1
"""The barrier of a work-group."""
CLUSTER, CLUSTER_TRAP = -3, -4
"""The barrier of a cluster, and that of its trap handlers."""
WITHOUT_EFFECT = (0, -2, CLUSTER_TRAP)
"""The barriers that a program cannot use."""
NAMED = 16
"""How many named barriers a work-group may have."""


class BarrierPart(Enum):
    """What an instruction is for the barrier of a work-group."""

    WHOLE = 1
    SIGNAL = 2
    WAIT = 3


class BarrierListener:
    """Is told of named barriers, (work-group, number), and of barriers of clusters, (cluster, -3)."""

    def signal_other(self, batch: WaveBatch, row: int, barrier: tuple[int, int]) -> None:
        """Take note of the signal of a wave, which has a row in a batch."""

    def meet_other(self, barrier: tuple[int, int], waves: Any) -> None:
        """Take note that a barrier is complete, and for which waves."""

    def pass_other(self, waves: Any) -> None:
        """Take note of waves that have waited for such a barrier, and go on."""


class NamedBarriers:
    """The named barriers of each work-group: how many waves each has, and how many have signalled.

    A wave joins one, and its waits are for that one. An instruction gives the number of a barrier, in bits 4:0, and how
    many waves it is to have from now on, in bits 22:16; 0 changes nothing.
    """

    def __init__(self) -> None:
        self.on_complete: Callable[[], None] = lambda: None
        self.listener = BarrierListener()

    def use(self, groups: Any, allocated: Any) -> None:
        """Use the barriers of other waves: the group of each, and how many barriers each group has."""
        self.groups, self.allocated = groups, allocated
        self.members, self.signals = np.zeros((2, len(allocated), NAMED + 1), np.int64)
        self.joined = np.zeros(len(groups), np.int64)
        """The number of the barrier that each wave has joined; 0 if it has joined none."""
        self.complete, self.is_waited = np.zeros((2, len(groups)), bool)
        """Whether the barrier of a wave is complete, and whether the wave waits for it."""

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs."""
        return tuple(each.copy() for each in (self.members, self.signals, self.joined, self.complete, self.is_waited))

    def restore(self, saved: Sequence[Any]) -> None:
        """Bring the barriers back to where they were."""
        arrays = (each.copy() for each in saved)
        self.members, self.signals, self.joined, self.complete, self.is_waited = arrays

    def _each(self, batch: WaveBatch, given: Any) -> Iterator[tuple[int, int, tuple[int, int], int]]:
        """Yield the row of a wave, the wave, its group with the barrier, and the members, where there is a barrier."""
        numbers = np.broadcast_to(np.asarray(given, np.int64).reshape(-1), batch.count)
        for row, (wave, number) in enumerate(zip(batch.waves.tolist(), numbers.tolist(), strict=True)):
            if len(self.groups) and 1 <= number & 31 <= self.allocated[self.groups[wave]]:
                yield row, wave, (int(self.groups[wave]), number & 31), number >> 16 & 127

    def initialize(self, batch: WaveBatch, given: Any) -> None:
        """Forget the signals of a barrier."""
        for _row, _wave, barrier, members in self._each(batch, given):
            self.members[barrier], self.signals[barrier] = members or self.members[barrier], 0
            self.listener.meet_other(barrier, np.zeros(0, np.int64))

    def signal(self, batch: WaveBatch, given: Any) -> Any:
        """Count signals of waves; return, as a number of each, whether it is the first, or SCC without a barrier."""
        is_first = np.broadcast_to(np.asarray(batch.scc, np.uint64).reshape(-1, 1), (batch.count, 1)).copy()
        for row, _wave, barrier, members in self._each(batch, given):
            is_first[row] = self.signals[barrier] == 0
            self.members[barrier] = members or self.members[barrier]
            self.signals[barrier] += 1
            self.listener.signal_other(batch, row, barrier)
            self._check(barrier)
        return number_of(is_first)

    def _check(self, barrier: tuple[int, int]) -> None:
        """Let the waves that have joined a barrier go on if it has all its signals."""
        if self.signals[barrier] == self.members[barrier] > 0:
            self.signals[barrier] = 0
            chosen = (self.groups == barrier[0]) & (self.joined == barrier[1])
            self.complete |= chosen
            self.listener.meet_other(barrier, np.flatnonzero(chosen))
            self.on_complete()

    def join(self, batch: WaveBatch, given: Any) -> None:
        """Let waves wait for another barrier from now on."""
        numbers = np.broadcast_to(np.asarray(given, np.int64).reshape(-1) & 31, batch.count)
        if len(self.groups):
            allocated = self.allocated[self.groups[batch.waves]]
            numbers = np.where(numbers > NAMED, 0, numbers)
            chosen = (allocated > 0) & (numbers <= allocated)
            self.joined[batch.waves[chosen]], self.complete[batch.waves[chosen]] = numbers[chosen], False

    def leave(self, batch: WaveBatch) -> Any:
        """Let waves leave their barriers, which then need a signal less; return whether each was the last one."""
        is_last = np.broadcast_to(np.asarray(batch.scc, np.uint64).reshape(-1, 1), (batch.count, 1)).copy()
        for row, wave in enumerate(batch.waves.tolist() if len(self.groups) else ()):
            barrier = int(self.groups[wave]), int(self.joined[wave])
            if not self.allocated[barrier[0]]:
                continue
            if barrier[1] and not self.members[barrier]:
                raise UnknownInstruction("s_barrier_leave of a barrier without members: no document says what it does")
            self.joined[wave], is_last[row] = 0, 1
            if barrier[1]:
                self.members[barrier] -= 1
                is_last[row] = self.members[barrier] == 0
                self._check(barrier)
        return number_of(is_last)

    def wait(self, batch: WaveBatch, number: int) -> None:
        """Let waves wait for the barriers that they have joined; they go on at once where there is no barrier."""
        if len(self.groups):
            is_there = (self.joined[batch.waves] > 0) & (number <= self.allocated[self.groups[batch.waves]])
            self.complete[batch.waves[~is_there]] = True
            self.is_waited[batch.waves] = True

    def state(self, batch: WaveBatch, given: Any) -> Any:
        """Return what S_GET_BARRIER_STATE says of a barrier: as of others; and a quarter of how many there are."""
        state = np.zeros((batch.count, 1), np.uint64)
        for row, _wave, barrier, _members in self._each(batch, given):
            count = int(self.allocated[barrier[0]]) // 4
            state[row] = count << 24 | int(self.signals[barrier]) << 16 | int(self.members[barrier]) << 4 | 1
        return number_of(state)


class ClusterBarriers:
    """The barrier of each cluster, which is complete when each of its work-groups has signalled once or has ended."""

    def __init__(self) -> None:
        self.on_complete: Callable[[], None] = lambda: None
        self.listener = BarrierListener()

    def use(self, groups: Any, size: tuple[int, int, int] = (1, 1, 1)) -> None:
        """Use the barriers of other waves: the work-group of each, and how many of these a cluster has."""
        self.are_there = len(groups) > 0 and size != (1, 1, 1)
        """Whether clusters have more than one work-group."""
        self.of_waves = np.zeros(len(groups), np.int64)
        """The cluster of each wave."""
        if self.are_there:
            self.of_waves = np.unique(groups // size, axis=0, return_inverse=True)[1].reshape(-1)
        x, y, z = (groups % size).T
        self.places = x + size[0] * (y + size[1] * z)
        """The number of the work-group of each wave in its cluster."""
        self.signals = np.zeros(int(self.of_waves.max(initial=-1)) + 1, np.int64)
        self.complete, self.is_waited = np.zeros((2, len(groups)), bool)

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs."""
        return self.signals.copy(), self.complete.copy(), self.is_waited.copy()

    def restore(self, saved: Sequence[Any]) -> None:
        """Bring the barriers back to where they were."""
        self.signals, self.complete, self.is_waited = (each.copy() for each in saved)

    def contains(self, batch: WaveBatch) -> list[bool]:
        """Return whether each wave is in a cluster."""
        return [self.are_there] * batch.count

    def status(self, batch: WaveBatch) -> Any:
        """Return what IB_STS2 says: a number of the cluster that is not 0, and the place of the work-group in it."""
        if not self.are_there:
            return 0
        numbers = self.of_waves[batch.waves] % 15 + 1 << 6 | self.places[batch.waves] << 21
        return number_of(numbers.astype(np.uint64)[:, None])

    def signal(self, batch: WaveBatch, alive: Any) -> Any:
        """Count signals of waves; return, as a number of each, 1 for the first, or else its SCC."""
        firsts = np.broadcast_to(np.asarray(batch.scc, np.uint64).reshape(-1, 1), (batch.count, 1)).copy()
        for row, cluster in enumerate(self.of_waves[batch.waves].tolist() if self.are_there else ()):
            firsts[row] |= np.uint64(self.signals[cluster] == 0)
            self.signals[cluster] += 1
            self.listener.signal_other(batch, row, (cluster, CLUSTER))
        self.check(alive)
        return number_of(firsts)

    def check(self, alive: Any) -> None:
        """Let the waves go on of all clusters in which no work-group is missing, of those that have not ended."""
        whole = (self.signals > 0) & (
            self.signals >= np.bincount(self.of_waves[alive > 0], minlength=len(self.signals))
        )
        if whole.any():
            self.signals[whole] = 0
            self.complete |= whole[self.of_waves]
            for cluster in np.flatnonzero(whole).tolist():
                self.listener.meet_other((cluster, CLUSTER), np.flatnonzero(self.of_waves == cluster))
            self.on_complete()

    def wait(self, batch: WaveBatch) -> None:
        """Let waves wait for the barrier of their cluster; those in none go on at once."""
        if len(self.complete):
            self.complete[batch.waves] |= not self.are_there
            self.is_waited[batch.waves] = True


class GroupBarriers:
    """The barrier of each work-group."""

    def __init__(self) -> None:
        self.named, self.clusters = NamedBarriers(), ClusterBarriers()
        self.on_complete: Callable[[], None] = lambda: None
        """A function that is told when waves may go on."""
        self.use(*np.zeros((2, 0), np.int64))

    def use(self, groups: Any, alive: Any, named: int = 0, clusters: tuple[Any, ...] = ()) -> None:
        """Use the barriers of other waves: the group of each, and how many of each group have not ended.

        ``alive`` is shared with the caller, who counts the waves that end. ``named`` is how many named barriers each
        group has, and ``clusters`` are the arguments of `ClusterBarriers.use`.
        """
        self.groups = np.maximum(groups, 0)
        self.alive = alive
        self.has_barrier = alive > 1
        """Whether a group has more than one wave."""
        self.signals = np.zeros(len(alive), np.int64)
        self.complete = np.zeros(len(groups), bool)
        """The waves whose next wait is over at once."""
        self.named.use(self.groups, np.where(self.has_barrier, named, 0))
        self.clusters.use(*(clusters or [np.zeros((len(groups), 3), np.int64)]))

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs."""
        return self.signals.copy(), self.complete.copy(), *self.named.saved(), *self.clusters.saved()

    def restore(self, saved: tuple[Any, ...], alive: Any) -> None:
        """Bring the barriers back to where they were."""
        signals, complete, *others = saved
        self.signals, self.complete, self.alive = signals.copy(), complete.copy(), alive
        self.named.restore(others[:-3])
        self.clusters.restore(others[-3:])

    def _groups_of(self, batch: WaveBatch) -> Any:
        """Return the group of each wave, and whether it has a barrier."""
        if not len(self.groups):
            return np.zeros(batch.count, np.int64), np.zeros(batch.count, bool)
        groups = self.groups[batch.waves]
        return groups, self.has_barrier[groups]

    def signal(self, batch: WaveBatch) -> Any:
        """Count the signals of waves; return, as a number of each, whether it is the first of its group."""
        groups, counts = self._groups_of(batch)
        is_first = np.zeros(batch.count, np.uint64)
        if counts.any():
            chosen = np.nonzero(counts)[0]
            _, firsts = np.unique(groups[chosen], return_index=True)
            firsts = chosen[firsts]
            is_first[firsts] = self.signals[groups[firsts]] == 0
            np.add.at(self.signals, groups[chosen], 1)
            self.check()
        return number_of(is_first[:, None])

    def check(self) -> None:
        """Let the waves go on of all groups in which nobody is missing."""
        whole = (self.signals >= self.alive) & (self.signals > 0)
        if whole.any():
            self.signals[whole] = 0
            self.complete |= whole[self.groups]
            self.on_complete()
        if self.clusters.signals.any():
            self.clusters.check(self.alive)

    def signal_cluster(self, batch: WaveBatch) -> Any:
        """Count signals for clusters; return, as a number of each wave, whether it is the first, or else its SCC."""
        return self.clusters.signal(batch, self.alive)

    def tell(self, listener: BarrierListener) -> None:
        """Tell a listener of all barriers except those of work-groups."""
        self.named.listener = self.clusters.listener = listener

    def go_on(self, batch: WaveBatch) -> Any:
        """Return flags of the waves whose wait is over, which takes their flags."""
        _groups, counts = self._groups_of(batch)
        waves = batch.waves
        if not len(self.groups):
            return ~counts
        free, is_own = self.complete[waves] | ~counts, np.ones(batch.count, bool)
        for other in (self.named, self.clusters):
            chosen = other.is_waited[waves]
            free, is_own = np.where(chosen, other.complete[waves], free), is_own & ~chosen
            gone = waves[chosen & free]
            other.complete[gone] = other.is_waited[gone] = False
            if len(gone):
                other.listener.pass_other(gone)
        self.complete[waves[free & is_own]] = False
        return free

    def are_complete(self, batch: WaveBatch) -> Any:
        """Return, as a number of each wave, whether its next wait is over at once."""
        return number_of(self.complete[batch.waves][:, None].astype(np.uint64)) if len(self.complete) else 0

    def state(self, batch: WaveBatch, *, is_group: bool) -> Any:
        """Return what S_GET_BARRIER_STATE says: signals from bit 16 on, members from bit 4 on, and 1 for validity."""
        groups, counts = self._groups_of(batch)
        if not counts.any():
            return 0
        members = self.alive[groups] << 4
        signals = self.signals[groups] << 16 if is_group else 0
        named = self.named.allocated[groups] // 4 << 24
        return number_of(np.where(counts, named | signals | members | 1, 0).astype(np.uint64)[:, None])
