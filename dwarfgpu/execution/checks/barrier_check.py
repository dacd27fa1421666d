"""Barriers that not all work-items of a work-group reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.checks.findings import (
    ARRIVE,
    BARRIER,
    DIFFERENT,
    DIVERGENT,
    END,
    MISSED,
    CheckFinding,
    FindingSide,
)
from dwarfgpu.execution.checks.kept_state import KeptState

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.order import KnownOrder


class BarrierCheck(KeptState):
    """Looks at the waves that arrive at barriers."""

    CHANGING = "found", "pcs"

    def __init__(self, order: KnownOrder, side: Callable[..., FindingSide], used: Callable[[Any], Any]) -> None:
        self.order = order
        self.side = side
        self.used = used
        """Returns how many lanes of waves have a work-item."""
        self.found: dict[tuple[Any, ...], CheckFinding] = {}

    def use(self, count: int) -> None:
        """Begin with other waves."""
        self.pcs = np.zeros(count, np.int64)
        """Where each wave has arrived, or ended."""
        self.lanes = self.used(np.arange(count)) if count else np.zeros(0, np.int64)

    def arrive(self, batch: WaveBatch, pc: int) -> None:
        """Take note of where waves arrive at the barrier of their work-group."""
        self.pcs[batch.waves] = pc
        self.reach(batch, pc)

    def reach(self, batch: WaveBatch, pc: int) -> None:
        """Look at the lanes with which waves reach a barrier."""
        if batch.mask is None:
            return
        flags = np.broadcast_to(batch.mask, (batch.count, batch.lanes))
        missing = ~flags & (np.arange(batch.lanes) < self.lanes[batch.waves][:, None])
        rows = np.flatnonzero(missing.any(axis=1) & flags.any(axis=1))
        if rows.size:
            row = rows[0]
            wave = int(batch.waves[row]) + self.order.first
            sides = (
                self.side(ARRIVE, pc, wave, np.flatnonzero(flags[row]), batch=batch),
                self.side("", pc, wave, np.flatnonzero(missing[row]), batch=batch),
            )
            self._report(DIVERGENT, sides, len(rows))

    def end(self, batch: WaveBatch, pc: int) -> None:
        """Take note of where waves end."""
        self.pcs[batch.waves] = pc

    def meet(self, groups: Any) -> None:
        """Look at the waves of groups whose barrier is complete."""
        order = self.order
        members, firsts = order.members(groups)
        has_arrived = order.has_arrived[members]
        lowest = np.minimum.reduceat(np.where(has_arrived, self.pcs[members], np.iinfo(np.int64).max), firsts)
        highest = np.maximum.reduceat(np.where(has_arrived, self.pcs[members], 0), firsts)
        for group in groups[(lowest != highest) | (order.ended[groups] > 0)].tolist():
            members, _firsts = order.members(np.array([group]))
            arrived, ended = members[order.has_arrived[members]], members[order.has_ended[members]]
            first = arrived[np.argmin(self.pcs[arrived])]
            others = arrived[self.pcs[arrived] != self.pcs[first]]
            if len(others):
                self._report(DIFFERENT, (self._side(ARRIVE, first), self._side(ARRIVE, others[0])), 1)
            if len(ended):
                self._report(MISSED, (self._side(ARRIVE, first), self._side(END, ended[0])), 1)

    def _side(self, action: str, wave: Any) -> FindingSide:
        return self.side(action, int(self.pcs[wave]), int(wave) + self.order.first, np.arange(self.lanes[wave]))

    def _report(self, kind: str, sides: tuple[FindingSide, ...], count: int) -> None:
        key = kind, *sorted(side.pc for side in sides)
        finding = self.found.setdefault(key, CheckFinding(BARRIER, kind, sides))
        finding.count += count
