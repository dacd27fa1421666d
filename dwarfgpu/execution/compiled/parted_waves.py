"""Waves of a region that went different ways: compiled code has their registers, and lets some of them run at a time.

The order is that of `Device`: those at the lowest address go first, and meet the others there. Waves become batches
again where it is the turn of some at an instruction that the region does not have, and where somebody is told of turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import NOWHERE, WaveBatch, shared_calls
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.compiled.layout import Cell, Exit
from dwarfgpu.execution.turns import first_of, joining, nearest_of

if TYPE_CHECKING:
    from dwarfgpu.execution.compiled.block_code import CompiledRegion, CompiledRun
    from dwarfgpu.execution.compiled.entrance import Entrance
    from dwarfgpu.execution.compiled.regions import CompiledRegions


class WavePart(WaveBatch):
    """Waves at one instruction, whose registers compiled code has."""

    __slots__ = ("inside", "places", "visited")

    def __init__(self, places: list[int], waves: Any, like: WaveBatch) -> None:
        WaveBatch.__init__(self, waves, like.lanes, 0, 0)
        self.places = places
        """Where they are among all waves that compiled code has."""
        self.pc, self.mode, self.spent, self.calls = like.pc, like.mode, like.spent, like.calls
        self.visited: int = like.visited if isinstance(like, WavePart) else 0
        """The blocks that any of them has executed, as a byte for each."""
        self.inside = 0
        """The block and the instruction in it before which they have left it, as ``block << 16 | instruction``."""

    def some(self, positions: list[int], pc: int) -> WavePart:
        """Return some of the waves, at another instruction."""
        part = WavePart([self.places[each] for each in positions], self.waves[positions], self)
        part.pc = pc
        if isinstance(self.calls, list):
            part.calls = shared_calls([self.calls[each] for each in positions])
        return part

    def with_others(self, others: Sequence[WaveBatch]) -> WavePart:
        """Return these waves and other parts at the same instruction."""
        parts = [self, *(each for each in others if isinstance(each, WavePart))]
        places = [place for part in parts for place in part.places]
        whole = WavePart(places, np.concatenate([part.waves for part in parts]), self)
        whole.spent = max(part.spent for part in parts)
        if isinstance(self.calls, list) or any(part.calls is not self.calls for part in others):
            whole.calls = shared_calls([calls for part in parts for calls in part.each_calls()])
        for part in parts:
            whole.visited |= part.visited
        return whole


class PartedWaves:
    """Waves that are in one region, among all that can run."""

    def __init__(self, regions: CompiledRegions, region: CompiledRegion, batches: list[WaveBatch]) -> None:
        self._regions, self._region, self._batches = regions, region, batches
        self._device = regions.device
        self._numbers = {(block.start, block.mode): number for number, block in enumerate(region.blocks)}
        self._entrance: Entrance = regions.entrance(region, sum(batch.count for batch in batches))
        self._whole: WaveBatch | None = None
        """All waves as they were, once one of them becomes a batch again."""
        parts: dict[int, WavePart] = {}
        first = 0
        for batch in batches:
            parts[id(batch)] = WavePart([*range(first, first + batch.count)], batch.waves, batch)
            first += batch.count
        self._first = parts[id(batches[0])]
        self._every: list[WaveBatch] = [parts.get(id(each), each) for each in self._device.batches]
        """All waves, those that are not in the region as batches."""

    def run(self, left: int, limit: int | None) -> tuple[WaveBatch, int, int, bool] | None:
        """Let waves run in turns; the first batch has so many instructions left.

        Return the batch that goes on in the middle of its turn, how many instructions are left to it, how many of a
        block it has executed, and whether its next instruction is to be interpreted; None where a turn has ended.
        """
        device, parts, runs = self._device, self._every, 0
        device.batches = []
        self._entrance.gather(self._batches, self._regions.table, device.memory)
        part, since = self._first, 0
        try:
            while True:
                nearest = nearest_of(parts)
                run = self._run(part, nearest, left, limit, since)
                if run is None:
                    return self._batch(part), left, since, False
                runs += 1
                if run.passed and not parts:
                    left = device.patience(part, is_alone=True) + run.passed
                left, since = left - run.count, run.since
                if run.following is None and run.pause is None:
                    has_ended = run.is_whole and (left <= 0 or (nearest is not None and part.pc >= nearest))
                    if has_ended:
                        parts.append(part)
                    elif run.is_whole or since >= LONGEST or part.pc in device.breakpoints:
                        since = 0
                        if self._is_told(limit):
                            device.keep_turn(self._batch(part), left)
                            return None
                    if run.is_inside:
                        return self._batch(part), left, since, True
                    if not has_ended:
                        continue
                if not parts or device.batches or device.tells_turns or self._is_told(limit):
                    return None
                following = first_of(parts, device.waiting)
                if not isinstance(following, WavePart) or (following.pc, following.mode) not in self._numbers:
                    return None
                part = following
                parts.remove(part)
                if others := joining(part, parts):
                    part = part.with_others(others)
                    parts[:] = [each for each in parts if each not in others]
                left, since = device.patience(part, is_alone=not parts), 0
        finally:
            known = [self._batch(each) if isinstance(each, WavePart) else each for each in parts]
            device.batches = [*known, *device.batches]
            self._entrance.release()
            self._regions.rest(runs, len(self._batches))

    def _is_told(self, limit: int | None) -> bool:
        return self._device.is_interrupted or (limit is not None and self._device.executed >= limit)

    def _run(self, part: WavePart, nearest: int | None, left: int, limit: int | None, since: int) -> CompiledRun | None:
        """Let some waves run; return None where they have no compiled code."""
        device, region, entrance = self._device, self._region, self._entrance
        number = self._numbers.get((part.pc, part.mode))
        stop = 0 if number is None else self._regions.stop(region, part, left, limit, since)
        if number is None or stop <= 0:
            return None
        barrier = device.patience_at_barriers(part) if region.has_barriers else 0
        reason = entrance.run_some(part.places, number, (stop, -1 if nearest is None else nearest, barrier))
        part.visited |= entrance.visited
        place = entrance.cells[Cell.PLACE]
        part.inside = place if reason == Exit.INSIDE else 0
        ending = region.blocks[place >> 16].ending
        if reason == Exit.PARTED and ending is not None and ending.address is not None:  # their registers say where to
            batch = self._batch(part)
            run = self._regions.result(region, entrance, batch, reason, since)
            if device.is_together(batch, run):
                device.batches.append(batch)
            return run
        run = self._regions.result(region, entrance, part, reason, since)
        if run.pause is not None:
            device.is_together(self._batch(part), run)
            return run
        device.executed += run.count * part.count
        part.spent += run.count
        if run.following is not None:
            ways: dict[int, list[int]] = {}
            for position, address in enumerate(run.following.tolist()):
                ways.setdefault(address, []).append(position)
            self._every += [part.some(positions, address) for address, positions in sorted(ways.items())]
        return run

    def _batch(self, part: WavePart) -> WaveBatch:
        if self._whole is None:
            first, *others = self._batches
            self._whole = first.join(others) if others else first
        batch = self._whole.take(part.places)
        batch.pc, batch.mode, batch.spent, batch.calls = part.pc, part.mode, part.spent, part.calls
        batch.passed = NOWHERE
        self._entrance.leave_some(batch, part.places, (part.visited, part.inside >> 16, part.inside & 0xFFFF))
        return batch
