"""Waves that run one after the other, where nobody watches their order.

A round has two parts. First each wave that does not wait has a turn, in the order of their numbers: until it meets
others, or has executed many instructions. If all waves of a work-group are then before a barrier, they pass it, and
have other turns before the next work-group has its own. Then what waves meet before is executed, for all waves that
are there: the end of a wave, other barriers, what changes MODE, and what Python executes for many waves as fast as for
one. The order is the same whether Python executes a wave or compiled code does. Where a run stops at faults, all waves
have their turns first: so each that fails is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import turns
from dwarfgpu.execution.barriers import BarrierPart
from dwarfgpu.execution.batch import WaveBatch

if TYPE_CHECKING:
    from dwarfgpu.execution.device import CompiledBlock, Device

_FIRST = {BarrierPart.WHOLE, BarrierPart.SIGNAL}
"""Where the waves of a work-group wait for each other, and count as there."""
ALONE = 1 << 18
"""The instructions of a turn of the only wave, in compiled code."""
NO_LIMIT = 1 << 62


class WaveRounds:
    """The rounds of a device."""

    def __init__(self, device: Device, compiled: Any, limit: int | None) -> None:
        self._device, self._compiled = device, compiled
        self._limit = NO_LIMIT if limit is None else limit
        self._observer = device.observer
        """What counts instructions, if they are counted."""
        self._can_count = True
        """Whether compiled code has room to count them."""

    def run(self) -> bool:
        """Let all waves have a round, or the part of it that the limit leaves; return whether there can be others."""
        device = self._device
        device.ignore_errors()
        batches, device.batches = device.batches, []
        going: dict[tuple[int, int, int], list[WaveBatch]] = defaultdict(list)
        for batch in batches:
            if device.waves_meet(batch.pc, batch.mode):
                device.batches.append(batch)
            else:
                code = device.code_around(batch.pc)
                going[batch.mode, code.start, code.stop].append(batch)
        are_all = len(going) == 1 and not device.batches
        for _mode, start, stop in sorted(going):
            self._have_turns(going[_mode, start, stop], range(start, stop), are_all=are_all)
        device.batches = _together(device.batches)
        if not (self._is_over or device.halt):
            self._meet()
        return self._can_count

    def _execute(self, batch: WaveBatch, block: CompiledBlock) -> bool:
        """Execute a block, of one instruction if these are counted; return whether the batch is whole and goes on."""
        if self._observer is not None:
            self._observer(batch)
        return self._device.execute(batch, block)

    @property
    def _room(self) -> int:
        """How many instructions may be executed."""
        return max(self._limit - self._device.executed, 0)

    @property
    def _is_over(self) -> bool:
        return self._device.is_interrupted or not self._room

    # --- Turns ----------------------------------------------------------------------------------------------------

    def _have_turns(self, batches: list[WaveBatch], code: range, *, are_all: bool) -> None:
        """Let the waves of batches that run in one piece of code, with one MODE, have their turns."""
        device, begin = self._device, (0, 0)
        if not self._is_compiled(code):
            batches, begin = self._interpret_turns(batches, code)
        if batches and not self._is_over:
            self._run_compiled(batches, code, begin, are_all=are_all and not device.batches)
        else:
            device.batches += batches

    def _is_compiled(self, code: range) -> bool:
        return len(code) > 1 and self._compiled.begins()

    def _interpret_turns(self, batches: list[WaveBatch], code: range) -> tuple[list[WaveBatch], tuple[int, int]]:
        """Let Python execute turns until compiled code does.

        Return the waves that have not had theirs, with those of the first work-group of them that have, and how many
        these are and have executed.
        """
        places = [(wave, number, row) for number, each in enumerate(batches) for row, wave in enumerate(each.waves)]
        places.sort()
        bounds, are_whole = self._device.groups_of(np.array([wave for wave, _number, _row in places]))
        for first, end, is_whole in zip(bounds[:-1].tolist(), bounds[1:].tolist(), are_whole.tolist(), strict=True):
            group = [batches[number].take([row]) for _wave, number, row in places[first:end]]
            begin = self._interpret_group(group, code, is_whole=is_whole)
            if begin is not None:
                rest: dict[int, list[int]] = defaultdict(list)
                for _wave, number, row in places[end:]:
                    rest[number].append(row)
                others = (
                    batches[number] if len(rows) == batches[number].count else batches[number].take(rows)
                    for number, rows in rest.items()
                )
                return [*group, *others], begin
            self._device.batches += group
        return [], (0, 0)

    def _interpret_group(self, group: list[WaveBatch], code: range, *, is_whole: bool) -> tuple[int, int] | None:
        """Let Python execute the turns of a work-group, which then has the waves that go on in the code.

        Return how many waves have had theirs, and what all have executed, if the others have not.
        """
        device, begin, count = self._device, self._device.executed, len(group)
        while True:
            number = 0
            while number < len(group):
                if self._is_over or self._is_compiled(code):
                    return number, device.executed - begin
                if self._interpret(group[number], code):
                    number += 1
                else:
                    del group[number]
            has_turn = device.executed - begin < turns.PATIENCE * count
            if not (is_whole and has_turn and len(group) == count and self._pass_barrier(group)):
                return None

    def _interpret(self, wave: WaveBatch, code: range) -> bool:
        """Let Python execute the turn of a wave; return whether it goes on in the code."""
        device, begin, mode = self._device, self._device.executed, wave.mode
        left, is_there = min(turns.PATIENCE, self._room), True
        while left and is_there:
            if device.waves_meet(wave.pc, mode):
                if not self._passes_wait(wave):
                    break
                left -= 1
                continue
            block = device.block_of_wave(wave.pc, mode, left if self._observer is None else 1)
            left -= block.count
            goes_on = self._execute(wave, block)
            is_there = goes_on and wave.pc in code and wave.mode == mode
            if goes_on and not is_there:
                device.batches.append(wave)
        self._compiled.has_waited(device.executed - begin)
        return is_there

    def _pass_barrier(self, group: list[WaveBatch]) -> bool:
        """Let all waves of a work-group pass barriers, if each is before one; return whether they have."""
        device, complete = self._device, self._device.barriers.complete
        parts = [device.barrier_part(wave.pc, wave.mode) for wave in group]
        has_signal = any(complete[wave.waves[0]] for wave in group)
        if has_signal or not _FIRST.issuperset(parts) or len(group) > self._room:
            return False
        for wave, part in zip(group, parts, strict=True):
            complete[wave.waves] = part is BarrierPart.SIGNAL
            self._pass(wave)
        return True

    def _passes_wait(self, wave: WaveBatch) -> bool:
        """Let a wave pass the second part of a barrier, if it is complete; return whether it has."""
        complete = self._device.barriers.complete
        if self._device.barrier_part(wave.pc, wave.mode) is not BarrierPart.WAIT or not complete[wave.waves[0]]:
            return False
        complete[wave.waves] = False
        self._pass(wave)
        return True

    def _pass(self, wave: WaveBatch) -> None:
        if self._observer is not None:
            self._observer(wave)
        wave.pc += 4
        wave.spent += 1
        self._device.executed += 1

    def _run_compiled(self, batches: list[WaveBatch], code: range, begin: tuple[int, int], *, are_all: bool) -> None:
        """Let compiled code execute the turns of waves; some of the first work-group may have had theirs."""
        device, compiled = self._device, self._compiled
        entered: list[Any] = [compiled.entered(batch) for batch in batches]
        batch, places = entered[0], np.repeat([each.pc for each in entered], [each.count for each in entered])
        if len(entered) > 1:
            batch = batch.beside_others(entered[1:])
            order = np.argsort(batch.waves)
            batch, places = batch.take(order), places[order]
        turn = ALONE if are_all and batch.count == 1 else turns.PATIENCE
        rounds = compiled.round_of(batch, places, turn, begin)
        if not self._can_be_counted(rounds, batch):
            device.batches += rounds.parts(np.ones(batch.count, bool))
            return
        is_gone = np.zeros(batch.count, bool)
        while not self._is_over:
            wave = rounds.run(self._room)
            if wave is None:
                if is_gone.any() or not are_all or device.is_due or not rounds.begins_again():
                    break
                continue
            row, goes_on = rounds.row, self._execute(wave, device.block_of_wave(wave.pc, batch.mode, 1))
            if goes_on and wave.mode == batch.mode and wave.pc in code and self._can_be_counted(rounds, wave):
                rounds.go_on(wave)
                continue
            is_gone[row] = True
            rounds.leave_out()
            if goes_on:
                device.batches.append(wave)
        device.batches += rounds.parts(~is_gone)

    def _can_be_counted(self, rounds: Any, batch: Any) -> bool:
        """Return whether compiled code has room to count what waves do in their calls, or need not."""
        self._can_count &= rounds.can_be_counted(batch)
        return self._can_count

    # --- Meetings -------------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        """Execute what waves meet before."""
        device = self._device
        batches, device.batches = device.batches, []
        while batches:
            batch, room = batches.pop(0), self._room
            is_over = self._is_over or device.halt or not device.waves_meet(batch.pc, batch.mode)
            if not is_over and batch.count > room:
                batches.append(batch.take(np.arange(room, batch.count)))
                batch = batch.take(np.arange(room))
            if is_over or self._execute(batch, device.block_of_wave(batch.pc, batch.mode, 1)):
                device.batches.append(batch)


def _together(batches: Iterable[WaveBatch]) -> list[WaveBatch]:
    """Return waves with all others that are at the same instruction, as far as one batch goes."""
    found: list[WaveBatch] = []
    same: dict[tuple[int, int], list[WaveBatch]] = defaultdict(list)
    for batch in sorted(batches, key=lambda each: int(each.waves[0])):
        same[batch.pc, batch.mode].append(batch)
    for group in same.values():
        parts: list[list[WaveBatch]] = []
        for batch in group:
            if not parts or sum(each.count for each in parts[-1]) + batch.count > turns.WIDEST:
                parts.append([])
            parts[-1].append(batch)
        found += [first.join(others) if others else first for first, *others in parts]
    return found
