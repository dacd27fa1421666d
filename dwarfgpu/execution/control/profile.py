"""What a kernel does on its way, counted for each instruction: executions, lanes that took part, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.device import Device

LOCAL_BANKS = 32
_LOCAL, _SCRATCH = "ds", "scratch"


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


class Profile:
    """Counts for each instruction while a device runs."""

    def __init__(self, device: Device) -> None:
        self.lane_count = device.lanes
        self.line_bytes = 128 if device.generation >= 10 else 64
        """Of a line of the vector cache: what one transaction moves."""
        self.counts: dict[int, Counts] = {}
        """By the address of the instruction."""
        self._current = Counts()
        device.observer = self._observe
        device.memory.watch = self._access

    def _observe(self, batch: WaveBatch) -> bool:
        counts = self.counts.get(batch.pc)
        if counts is None:
            counts = self.counts[batch.pc] = Counts()
        self._current = counts
        counts.instructions += batch.count
        mask = batch.mask
        if mask is None:
            counts.lanes += batch.count * batch.lanes
        else:
            counts.lanes += int(mask.sum()) * (batch.count if mask.shape[0] == 1 else 1)
        return False

    def _access(self, space: str, addresses: Any, mask: Any, size: int) -> None:
        """Count what lanes touch: ``addresses`` and ``mask`` are ``[wave, lane]``."""
        counts = self._current
        executing = np.ones(addresses.shape, bool) if mask is None else mask
        counts.accesses += int(executing.any(axis=1).sum())
        numbers = addresses.astype(np.int64)
        if space == _LOCAL:
            counts.bank_turns += _bank_turns(numbers >> 2, executing)
            return
        if space == _SCRATCH:  # dwords of the lanes follow each other
            numbers = (numbers >> 2) * (4 * addresses.shape[1]) + np.arange(addresses.shape[1]) * 4
            size = 4
        touched = np.concatenate([numbers, numbers + (size - 1)], axis=1) // self.line_bytes
        _lines, different = _ordered(touched, np.concatenate([executing, executing], axis=1))
        counts.transactions += int(different.sum())

    def rows(self, running: Running) -> list[ProfiledLine]:
        """Return what was counted by line of the source, the line with most instructions first."""
        lines: dict[tuple[str | None, int, str | None], Counts] = {}
        for address, counts in self.counts.items():
            position = running.position(address)
            key = (position.file, position.line, None if position.file else position.function)
            lines.setdefault(key, Counts()).add(counts)
        rows = [ProfiledLine(*place, counts, self.lane_count) for place, counts in lines.items()]
        return sorted(rows, key=lambda row: (-row.counts.instructions, row.file or "", row.line))


def _ordered(numbers: Any, flags: Any) -> tuple[Any, Any]:
    """Return each row in order, and flags of the first of equal numbers among those that have a flag."""
    lowest = np.iinfo(np.int64).min
    ordered = np.sort(np.where(flags, numbers, lowest), axis=1)
    new = ordered != lowest
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return ordered, new


def _bank_turns(words: Any, flags: Any) -> int:
    """Return the turns that banks need for the different words of each row, in all rows together."""
    ordered, new = _ordered(words, flags)
    rows = np.nonzero(new)[0]
    counted = np.bincount(rows * LOCAL_BANKS + ordered[new] % LOCAL_BANKS, minlength=len(words) * LOCAL_BANKS)
    return int(counted.reshape(len(words), LOCAL_BANKS).max(axis=1).sum()) if len(words) else 0
