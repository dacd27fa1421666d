"""Bits that are followed through the registers of waves: another batch beside theirs, with a 1 for each such bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import NOTHING, UNSET, VCC, WaveBatch
from dwarfgpu.isa.semantics.numbers import ALL, LOW

DEFINED = np.zeros((1, 1), np.uint32)
"""The undefined bits of a vector register that has none. It is told by identity."""
UNDEFINED = np.full((1, 1), LOW, np.uint32)
_ITSELF = np.zeros((1, 1), np.uint32)
"""The origins of a register that has only itself."""
for _bits in (DEFINED, UNDEFINED, _ITSELF):
    _bits.setflags(write=False)


class UndefinedRegisters:
    """Undefined bits that part and join as the waves do."""

    def __init__(self, registers: WaveBatch, origins: dict[tuple[str, int], Any] | None = None) -> None:
        self.registers = registers
        self.origins = origins or {}
        """Where those of registers come from: a number for each wave and lane, 0 for the register itself."""

    def part(self, index: Any, count: int) -> UndefinedRegisters:
        """Return those of some waves; of a slice, which is all, a copy."""
        flags = np.zeros(count, bool)
        flags[index] = True
        origins = {cell: column[flags] if len(column) == count else column for cell, column in self.origins.items()}
        registers = self.registers.copy() if isinstance(index, slice) else self.registers.part(flags)
        return UndefinedRegisters(registers, origins)

    def join(self, others: Sequence[UndefinedRegisters], counts: list[int]) -> UndefinedRegisters:
        origins, parts = {}, [self, *others]
        for cell in dict.fromkeys(cell for each in parts for cell in each.origins):
            columns = [each.origins.get(cell, _ITSELF) for each in parts]
            width = max(column.shape[1] for column in columns)
            pairs = zip(columns, counts, strict=True)
            origins[cell] = np.concatenate([np.broadcast_to(column, (count, width)) for column, count in pairs])
        return UndefinedRegisters(self.registers.join([other.registers for other in others]), origins)


class FollowedBits:
    """The bits that a check follows: their name in a batch, and whether those of unwritten registers are among them."""

    def __init__(self, name: str, *, has_unwritten: bool) -> None:
        self.name = name
        self.has_unwritten = has_unwritten

    def of(self, batch: WaveBatch) -> WaveBatch:
        """Return the bits of the registers of waves."""
        beside: UndefinedRegisters | None = batch.beside.get(self.name)
        if beside is not None:
            return beside.registers
        known, unwritten = WaveBatch(batch.waves, batch.lanes, 0, 0), UNDEFINED if self.has_unwritten else DEFINED
        known.vector = [unwritten if column is NOTHING else DEFINED for column in batch.vector]
        known.accumulation = [unwritten if column is NOTHING else DEFINED for column in batch.accumulation]
        known.scalar = [LOW if number is UNSET and self.has_unwritten else 0 for number in batch.scalar]
        if known.scalar[VCC] and batch.lanes == 64:
            known.scalar[VCC] = ALL
        known.scc = int(self.has_unwritten)
        batch.beside[self.name] = UndefinedRegisters(known)
        return known

    def origins(self, batch: WaveBatch) -> dict[tuple[str, int], Any]:
        """Return where the bits of registers come from."""
        self.of(batch)
        origins: dict[tuple[str, int], Any] = batch.beside[self.name].origins
        return origins


UNDEFINED_BITS = FollowedBits("undefined", has_unwritten=True)
