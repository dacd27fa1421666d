"""Which waves run next: those at the lowest address, with all others at their instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch

PATIENCE = 10_000
"""The instructions that a batch executes before all others get their turns."""
WIDEST = 1024
"""The waves of a batch, so that its arrays stay in the cache and are cheap to allocate."""


def first_of(batches: list[WaveBatch], waiting: list[WaveBatch]) -> WaveBatch:
    """Return the waves whose turn it is: those with the lowest address that have not had a long turn."""
    if len(batches) == 1 and batches[0].spent < PATIENCE:
        return batches[0]
    rested = [each for each in batches if each.spent < PATIENCE]
    if not rested:
        rested = batches
        for each in (*batches, *waiting):
            each.spent = 0
    lowest = min(each.pc for each in rested)
    return next(each for each in rested if each.pc == lowest)


def nearest_of(batch: WaveBatch, batches: Sequence[WaveBatch]) -> int | None:
    """Return the address at which the turn of a batch ends, since others that have not had a long one go first or join.

    Too many to join one batch need not go step by step: those that go stay in the cache.
    """
    room = WIDEST - batch.count
    return min([each.pc + (each.count > room) for each in batches if each.spent < PATIENCE], default=None)


def joining(batch: WaveBatch, batches: list[WaveBatch]) -> list[WaveBatch]:
    """Return the waves that join others at one instruction."""
    room, others = WIDEST - batch.count, []
    for each in batches:
        is_alike = each.pc == batch.pc and each.mode == batch.mode and each.has_passed == batch.has_passed
        if is_alike and each.count <= room:
            others.append(each)
            room -= each.count
    return others
