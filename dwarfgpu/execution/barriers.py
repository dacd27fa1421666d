"""The barriers of GFX12, which are in two parts: a wave signals that it has arrived, and waits for all others later.

"RDNA4 Instruction Set Architecture", section 5.5: a barrier counts signals, and is complete when each wave of the
work-group has signalled or ended. Then each of them has a flag, which its next wait takes. Barrier -1 is that of the
work-group; barrier -2 is for trap handlers, and barrier 0 for nobody: programs that signal or wait there do nothing.
Other numbers are of processors with named barriers. A work-group of one wave has no barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import WaveBatch, number_of

GROUP = -1
"""The barrier of a work-group."""
WITHOUT_EFFECT = (0, -2)
"""The barriers that a program cannot use."""


class BarrierPart(Enum):
    """What an instruction is for the barrier of a work-group."""

    WHOLE = 1
    SIGNAL = 2
    WAIT = 3


class GroupBarriers:
    """The barrier of each work-group."""

    def __init__(self) -> None:
        nothing = np.zeros(0, np.int64)
        self.on_complete: Callable[[], None] = lambda: None
        """A function that is told when waves may go on."""
        self.use(nothing, nothing)

    def use(self, groups: Any, alive: Any) -> None:
        """Use the barriers of other waves: the group of each, and how many of each group have not ended.

        ``alive`` is shared with the caller, who counts the waves that end.
        """
        self.groups = np.maximum(groups, 0)
        self.alive = alive
        self.has_barrier = alive > 1
        """Whether a group has more than one wave."""
        self.signals = np.zeros(len(alive), np.int64)
        self.complete = np.zeros(len(groups), bool)
        """The waves whose next wait is over at once."""

    def saved(self) -> tuple[Any, Any]:
        """Return what `restore` needs."""
        return self.signals.copy(), self.complete.copy()

    def restore(self, saved: tuple[Any, Any], alive: Any) -> None:
        """Bring the barriers back to where they were."""
        self.signals, self.complete = (array.copy() for array in saved)
        self.alive = alive

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

    def go_on(self, batch: WaveBatch) -> Any:
        """Return flags of the waves whose wait is over, which takes their flags."""
        _groups, counts = self._groups_of(batch)
        if not counts.any():
            return ~counts
        free = self.complete[batch.waves] | ~counts
        self.complete[batch.waves[free]] = False
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
        return number_of(np.where(counts, signals | members | 1, 0).astype(np.uint64)[:, None])
