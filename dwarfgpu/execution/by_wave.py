"""Waves that run one after the other, where nobody watches their order.

A round has two parts. First each wave that does not wait has a turn, in the order of their numbers: until it meets
others, or has executed many instructions. Then what they meet before is executed, for all waves that are there: the
end of a wave, a barrier, what changes MODE, and what Python executes for many waves as fast as for one. The order is
the same whether Python executes a wave or compiled code does. Where a run stops at faults, all waves have their turns
first: so each that fails is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import turns
from dwarfgpu.execution.batch import WaveBatch

if TYPE_CHECKING:
    from dwarfgpu.execution.device import Device

ALONE = 1 << 18
"""The instructions of a turn of the only wave."""
NO_LIMIT = 1 << 62


class WaveRounds:
    """The rounds of a device."""

    def __init__(self, device: Device, compiled: Any, limit: int | None) -> None:
        self._device, self._compiled = device, compiled
        self._limit = NO_LIMIT if limit is None else limit

    def run(self) -> None:
        """Let all waves have a round, or the part of it that the limit leaves."""
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
        for _mode, start, stop in sorted(going):
            self._have_turns(going[_mode, start, stop], range(start, stop))
        device.batches = _together(device.batches)
        if not (self._is_over or device.halt):
            self._meet()

    @property
    def _room(self) -> int:
        """How many instructions may be executed."""
        return max(self._limit - self._device.executed, 0)

    @property
    def _is_over(self) -> bool:
        return self._device.is_interrupted or not self._room

    # --- Turns ----------------------------------------------------------------------------------------------------

    def _have_turns(self, batches: list[WaveBatch], code: range) -> None:
        """Let the waves of batches that run in one piece of code, with one MODE, have their turns."""
        device = self._device
        is_only = len(batches) == 1 and batches[0].count == 1 and not device.batches
        turn = ALONE if is_only else turns.PATIENCE
        left = self._interpret_turns(batches, turn, code) if not self._is_compiled(code) else batches
        if left and not self._is_over:
            self._run_compiled(left, turn, code)
        else:
            device.batches += left

    def _is_compiled(self, code: range) -> bool:
        return len(code) > 1 and self._compiled.begins()

    def _interpret_turns(self, batches: list[WaveBatch], turn: int, code: range) -> list[WaveBatch]:
        """Let Python execute turns until compiled code does; return the waves that have not had theirs."""
        order = [(wave, number, row) for number, each in enumerate(batches) for row, wave in enumerate(each.waves)]
        rest: dict[int, list[int]] = defaultdict(list)
        for _wave, number, row in sorted(order):
            if rest or self._is_over or self._is_compiled(code):
                rest[number].append(row)
            else:
                batch = batches[number]
                self._interpret(batch if batch.count == 1 else batch.take([row]), turn, code)
        return [
            batches[number] if len(rows) == batches[number].count else batches[number].take(rows)
            for number, rows in rest.items()
        ]

    def _interpret(self, wave: WaveBatch, turn: int, code: range) -> None:
        """Let Python execute the turn of a wave."""
        device, begin, mode = self._device, self._device.executed, wave.mode
        left = min(turn, self._room)
        while left and wave.pc in code and wave.mode == mode and not device.waves_meet(wave.pc, mode):
            block = device.block_of_wave(wave.pc, mode, left)
            left -= block.count
            if not device.execute(wave, block):
                break
        else:
            device.batches.append(wave)
        self._compiled.has_waited(device.executed - begin)

    def _run_compiled(self, batches: list[WaveBatch], turn: int, code: range) -> None:
        """Let compiled code execute the turns of waves."""
        device, compiled = self._device, self._compiled
        entered: list[Any] = [compiled.entered(batch) for batch in batches]
        batch, places = entered[0], np.repeat([each.pc for each in entered], [each.count for each in entered])
        if len(entered) > 1:
            batch = batch.beside_others(entered[1:])
            order = np.argsort(batch.waves)
            batch, places = batch.take(order), places[order]
        rounds = compiled.round_of(batch, places, turn)
        is_gone = np.zeros(batch.count, bool)
        while not self._is_over and (wave := rounds.run(self._room)) is not None:
            row, goes_on = rounds.row, device.execute(wave, device.block_of_wave(wave.pc, batch.mode, 1))
            if goes_on and wave.mode == batch.mode and wave.pc in code:
                rounds.go_on(wave)
                continue
            is_gone[row] = True
            rounds.skip()
            if goes_on:
                device.batches.append(wave)
        device.batches += rounds.parts(~is_gone)

    # --- Meetings -------------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        """Execute what waves meet before."""
        device = self._device
        batches, device.batches = device.batches, []
        for batch in batches:
            is_over = self._is_over or device.halt or not device.waves_meet(batch.pc, batch.mode)
            if is_over or device.execute(batch, device.block_of_wave(batch.pc, batch.mode, 1)):
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
