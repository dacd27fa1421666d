"""What a kernel does on its way, counted for each instruction: executions, lanes that took part, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import LOCAL, SCRATCH, line_bytes
from dwarfgpu.execution.batch import WaveBatch, return_addresses
from dwarfgpu.execution.forms.counting_functions import BANKS
from dwarfgpu.execution.forms.instruction_records import InstructionRecords
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.scopes import SourceCall
from dwarfgpu.program.code.weighted_stacks import (
    StackProfile,
    TimedCalls,
    WaveTrack,
    WeightedStack,
    calls_of,
    stack_levels,
    stack_profile,
)

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.device import Device

    Callers = tuple[int, ...] | None

WEIGHTS = ("instructions", "active lanes", "inactive lanes", "accesses", "transactions", "bank turns")
"""What is counted of each instruction: `Counts`, and the lanes of its waves that did not execute it."""
COUNTED = ("instructions", "lanes", "accesses", "transactions", "bank_turns")
"""The numbers of `Counts`, in the order of `InstructionRecords`."""
MOST_SLICES = 1 << 19
"""The slices of all waves that are kept in their order."""
NOT_KEPT = (SourceCall("[not kept: too many slices]", None, None, inlined=False, offset=None),)


class Counts:
    """What is counted of one instruction, or of a line."""

    __slots__ = ("accesses", "bank_turns", "instructions", "lanes", "transactions")

    def __init__(self) -> None:
        self.instructions = 0
        """Executions, each counted once for each wave."""
        self.lanes = 0
        """The lanes that executed it, in all of them."""
        self.accesses = 0
        """Of them, those that reach memory with their lanes."""
        self.transactions = 0
        """The cache lines that these touch, each counted once for each execution of a wave."""
        self.bank_turns = 0
        """The turns that local memory takes for them: what one bank has to give to a wave one after the other."""

    def add(self, other: Counts) -> None:
        """Add what was counted of another instruction."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@frozen(eq=False)
class ProfiledLine:
    """What was counted of a line of the source, or of code without one."""

    file: str | None
    line: int
    function: str | None
    counts: Counts
    lane_count: int

    @property
    def active_share(self) -> float:
        """The share of lanes that took part, of all lanes of the waves that executed it."""
        whole = self.counts.instructions * self.lane_count
        return self.counts.lanes / whole if whole else 0.0


class WaveSlice:
    """What a wave counts while it stays in one line of one function, with the same callers."""

    __slots__ = ("calls", "counts")

    def __init__(self, calls: tuple[SourceCall, ...]) -> None:
        self.calls = calls
        """Outermost first."""
        self.counts = Counts()


class Profile:
    """Counts for each instruction while a device runs; of a program that runs also in what order each wave does it."""

    def __init__(self, device: Device, ordered: Running | None = None) -> None:
        self.lane_count = device.lanes
        self._line_bytes = line_bytes(device.generation)
        self._known: dict[tuple[int, Callers], Counts] = {}
        self._ordered = ordered
        self.slices: dict[int, list[WaveSlice]] = {}
        """What each wave does, in its order, if that is kept."""
        self._left = MOST_SLICES
        self._calls: dict[tuple[int, Callers], tuple[SourceCall, ...]] = {}
        self._equal: dict[tuple[SourceCall, ...], tuple[SourceCall, ...]] = {}
        self._current: list[tuple[Counts, Any]] = []
        """Where the instruction counts, and of which rows of the batch; None for all."""
        self.compiled_part = InstructionRecords() if ordered is None else None
        """Where compiled code counts; None if the order of instructions is to be kept."""
        self._device = device
        device.observer, device.memory.watch = self, self.access

    def end(self) -> None:
        """Count no more: what runs from now on repeats the past."""
        self._known, self.compiled_part = self.counts, None
        self._device.observer = self._device.memory.watch = None

    def settle(self) -> bool:
        """Stop nothing behind an instruction."""
        return False

    @property
    def counts(self) -> dict[tuple[int, Callers], Counts]:
        """What was counted, by the address of the instruction and the return addresses of the calls around it."""
        for address, callers, numbers in () if self.compiled_part is None else self.compiled_part.taken():
            counts = self._counts((address, callers))
            for name, number in zip(COUNTED, numbers, strict=True):
                setattr(counts, name, getattr(counts, name) + number)
        return self._known

    def __call__(self, batch: WaveBatch) -> bool:
        """Count an instruction that a batch is about to execute."""
        if isinstance(batch.calls, list) or self._ordered is not None:
            self._observe_apart(batch)
            return False
        counts = self._counts((batch.pc, return_addresses(batch.calls)))
        self._current, mask = [(counts, None)], batch.mask
        counts.instructions += batch.count
        if mask is None:
            counts.lanes += batch.count * batch.lanes
        else:
            counts.lanes += int(mask.sum()) * (batch.count if mask.shape[0] == 1 else 1)
        return False

    def _observe_apart(self, batch: WaveBatch) -> None:
        """Count for waves with different callers, or for each wave: 1.6 times as slow, where all could be together."""
        rows_of: dict[Callers, Any] = {}
        for row, calls in enumerate(batch.each_calls()):
            rows_of.setdefault(return_addresses(calls), []).append(row)
        self._current = [(self._counts((batch.pc, callers)), rows) for callers, rows in rows_of.items()]
        if self._ordered is not None:
            for callers, rows in rows_of.items():
                place = self._calls_at(self._ordered, (batch.pc, callers))
                self._current += ((self._slice(int(batch.waves[row]), place).counts, [row]) for row in rows)
        mask = batch.mask
        lanes = np.full(batch.count, batch.lanes) if mask is None else np.broadcast_to(mask.sum(axis=1), batch.count)
        self._add("instructions", np.ones(batch.count, np.int64))
        self._add("lanes", lanes)

    def _add(self, name: str, counted: Any) -> None:
        """Add what was counted of each wave of the batch."""
        for counts, rows in self._current:
            setattr(counts, name, getattr(counts, name) + int((counted if rows is None else counted[rows]).sum()))

    def _counts(self, key: tuple[int, Callers]) -> Counts:
        counts = self._known.get(key)
        if counts is None:
            counts = self._known[key] = Counts()
        return counts

    def _calls_at(self, running: Running, key: tuple[int, Callers]) -> tuple[SourceCall, ...]:
        if key not in self._calls:
            calls = calls_of(stack_levels(running.attached.state.loaded, *key))
            self._calls[key] = self._equal.setdefault(calls, calls)
        return self._calls[key]

    def _slice(self, wave: int, calls: tuple[SourceCall, ...]) -> WaveSlice:
        """Return the slice that a wave counts in; when there are too many, its last one is for all that follows."""
        slices = self.slices.setdefault(wave, [])
        if not slices or (slices[-1].calls is not calls and slices[-1].calls is not NOT_KEPT):
            self._left -= 1
            slices.append(WaveSlice(calls if self._left >= 0 else NOT_KEPT))
        return slices[-1]

    def access(self, space: str, addresses: Any, mask: Any, size: int) -> None:
        """Count what lanes touch: ``addresses`` and ``mask`` are ``[wave, lane]``."""
        executing = np.ones(addresses.shape, bool) if mask is None else mask
        self._add("accesses", executing.any(axis=1))
        numbers = addresses.astype(np.int64)
        if space == LOCAL:
            self._add("bank_turns", _bank_turns(numbers >> 2, executing))
            return
        if space == SCRATCH:  # dwords of the lanes follow each other
            numbers = (numbers >> 2) * (4 * addresses.shape[1]) + np.arange(addresses.shape[1]) * 4
            size = 4
        touched = np.concatenate([numbers, numbers + (size - 1)], axis=1) // self._line_bytes
        _lines, different = _ordered(touched, np.concatenate([executing, executing], axis=1))
        self._add("transactions", different.sum(axis=1))

    def rows(self, running: Running) -> list[ProfiledLine]:
        """Return what was counted by line of the source, the line with most instructions first."""
        lines: dict[tuple[str | None, int, str | None], Counts] = {}
        for (address, _callers), counts in self.counts.items():
            position = running.position(address)
            key = (position.file, position.line, None if position.file else position.function)
            lines.setdefault(key, Counts()).add(counts)
        rows = [ProfiledLine(*place, counts, self.lane_count) for place, counts in lines.items()]
        return sorted(rows, key=lambda row: (-row.counts.instructions, row.file or "", row.line))

    def stacks(self, running: Running) -> StackProfile:
        """Return what was counted by instruction and its callers."""
        loaded = running.attached.state.loaded
        stacks = (
            WeightedStack(stack_levels(loaded, *key), self._weights(counts))
            for key, counts in sorted(self.counts.items(), key=lambda item: (item[0][0], item[0][1] or ()))
        )
        return stack_profile(running.launched.plan.kernel.name, WEIGHTS, tuple(stacks), loaded.codes[0])

    def _weights(self, counts: Counts) -> tuple[int, ...]:
        idle = counts.instructions * self.lane_count - counts.lanes
        return counts.instructions, counts.lanes, idle, counts.accesses, counts.transactions, counts.bank_turns

    def tracks(self, running: Running) -> tuple[WaveTrack, ...]:
        """Return what each wave has done, in its order."""
        return tuple(
            WaveTrack(
                wave, running.machine.ids[wave], running.machine.place_of(wave)[1], tuple(map(self._timed, slices))
            )
            for wave, slices in sorted(self.slices.items())
        )

    def _timed(self, part: WaveSlice) -> TimedCalls:
        return TimedCalls(
            part.calls, part.counts.instructions, dict(zip(WEIGHTS, self._weights(part.counts), strict=True))
        )


def _ordered(numbers: Any, flags: Any) -> tuple[Any, Any]:
    """Return each row in order, and flags of the first of equal numbers among those that have a flag."""
    lowest = np.iinfo(np.int64).min
    ordered = np.sort(np.where(flags, numbers, lowest), axis=1)
    new = ordered != lowest
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return ordered, new


def _bank_turns(words: Any, flags: Any) -> Any:
    """Return the turns that banks need for the different words of each row."""
    ordered, new = _ordered(words, flags)
    rows = np.nonzero(new)[0]
    counted = np.bincount(rows * BANKS + ordered[new] % BANKS, minlength=len(words) * BANKS)
    return counted.reshape(len(words), BANKS).max(axis=1)
