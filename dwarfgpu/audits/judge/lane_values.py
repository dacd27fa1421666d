"""Lanes of variables, judged by execution: whether a value that was computed for some lanes is shown in others.

A location that begins where EXEC is narrow says where the lanes have the variable that are active there. If it goes on
behind the place where EXEC is wide again, then the other lanes have in the register what was in it before. That may be
the variable, too, if it is a constant: compilers give a variable its first value ahead of the branch that changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import NOTHING, WaveBatch, lane_flags
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun

VECTORS = 512
EVERY = range(VECTORS)
_NUMBERS = OperandKind.CONSTANT, OperandKind.LITERAL
_INDEXED = ("v_movrel", "s_set_gpr_idx_on")
"""The beginnings of the names of instructions behind which any vector register may have been written."""


@frozen
class VectorSource:
    """The vector registers that the value of a variable comes from, where an entry of its location is valid."""

    variable: str
    die: int
    expressions: tuple[bytes, ...]
    """The operations of the entry."""
    registers: tuple[int, ...]


@frozen
class StaleLane:
    """A lane that has not computed the variable that it shows."""

    lane: int
    register: int
    written: int
    """The instruction that has written the register in this lane; 0 where none has."""
    computed: int
    """The one that has in a lane that computed the variable; 0 where no lane has."""


AT_LAUNCH = 1
"""Stands for the instruction that has written a register which has a value when the wave begins."""


class VectorWrites:
    """Which instruction has written each vector register last, in each lane of a wave."""

    def __init__(self, batch: WaveBatch, lanes: int) -> None:
        self.last = np.zeros((VECTORS, lanes), np.uint64)
        for number, column in enumerate(batch.vector[:VECTORS]):
            if column is not NOTHING:
                self.last[number] = AT_LAUNCH

    def note(self, registers: Iterable[range], exec_mask: int, pc: int) -> None:
        (flags,) = lane_flags(exec_mask, self.last.shape[1])
        for each in registers:
            self.last[each.start : each.stop, flags] = pc


class LaneValues:
    """Follows which lanes have computed the variables of waves, as long as their locations stay the same."""

    def __init__(self, run: FollowedRun) -> None:
        self.run = run
        self._writes: dict[int, VectorWrites] = {}
        self._destinations: dict[int, tuple[range, ...]] = {}
        self._numbers: set[tuple[int, int]] = set()
        """Instructions that write a number of the code to a register, with the register."""
        self._computed: dict[tuple[int, int], dict[VectorSource, int]] = {}
        """By wave and call the lanes that had a variable in its registers when they were active last."""
        self._present: dict[tuple[int, int], frozenset[VectorSource]] = {}

    def end(self, wave: int, number: int) -> None:
        """Forget a wave that ends, or that returns from a call."""
        self._computed.pop((wave, number), None)
        self._present.pop((wave, number), None)
        if not number:
            self._writes.pop(wave, None)

    def stale(
        self, arrival: InstructionVisit, row: int, sources: frozenset[VectorSource]
    ) -> Iterator[tuple[VectorSource, list[StaleLane]]]:
        """Yield variables at an instruction with the active lanes that have not computed them; note what it writes."""
        wave = arrival.wave(row)
        key = wave, arrival.number
        active = int(self.run.lanes.active[wave])
        writes = self._writes.get(wave)
        if writes is None:
            writes = self._writes[wave] = VectorWrites(arrival.batch, self.run.lanes.lanes)
        computed = self._computed.setdefault(key, {})
        present = self._present.get(key, frozenset())
        for source in [source for source in computed if source not in sources]:
            computed[source] &= ~active
            if not computed[source]:
                del computed[source]
        for source in sources.difference(present):
            computed[source] = computed.get(source, 0) | active
        self._present[key] = sources
        for source in sources:
            lanes = computed[source]
            if active & ~lanes:
                stale = _stale_lanes(writes, source, active & ~lanes, lanes)
                certain = (each for each in stale if (each.written, each.register) not in self._numbers)
                yield source, sorted(certain, key=lambda each: each.lane)
        self._note(arrival, row, writes, computed, sources)

    def _note(
        self,
        arrival: InstructionVisit,
        row: int,
        writes: VectorWrites,
        computed: dict[VectorSource, int],
        sources: frozenset[VectorSource],
    ) -> None:
        destinations = self._destinations.get(arrival.pc)
        if destinations is None:
            destinations = self._destinations[arrival.pc] = tuple(_vectors_written(arrival.instruction))
            self._numbers.update((arrival.pc, register) for register in _numbers_written(arrival.instruction))
        if not destinations:
            return
        value: Any = arrival.batch.exec
        mask = value if isinstance(value, int) else int(value[row, 0])
        if arrival.instruction.name == "v_writelane_b32":
            mask = -1  # a lane that need not be active
        if destinations == (EVERY,):
            computed.update(dict.fromkeys(computed, -1))
        writes.note(destinations, mask, arrival.pc)
        for source, lanes in computed.items():
            if any(register in each for each in destinations for register in source.registers):
                computed[source] = lanes | mask if source in sources else lanes & ~mask


def _stale_lanes(writes: VectorWrites, source: VectorSource, doubtful: int, computed: int) -> Iterator[StaleLane]:
    """Yield the lanes whose register was written by another instruction than that of the lanes that computed it.

    Where no lane has computed it, as the whole wave has branched around that, only a lane in which nothing has ever
    written the register is certain.
    """
    (flags,) = lane_flags(doubtful, writes.last.shape[1])
    for register in source.registers:
        last = writes.last[register]
        known = {*last[lane_flags(computed, len(last))[0]].tolist()}
        for lane in np.nonzero(flags)[0].tolist():
            written = int(last[lane])
            if written not in known and (not written or any(known)):
                yield StaleLane(lane, register, written, max(known, default=0))


def _vectors_written(instruction: GpuInstruction) -> Iterator[range]:
    """Yield the vector registers that an instruction writes."""
    if instruction.name.startswith(_INDEXED):
        yield EVERY
        return
    for part in instruction.components or (instruction,):
        for operand in part.destinations:
            if operand.kind is OperandKind.VGPR:
                yield range(operand.index, operand.index + operand.count)


def _numbers_written(instruction: GpuInstruction) -> Iterator[int]:
    """Yield the vector registers that get a number of the code."""
    for part in instruction.components or (instruction,):
        if all(operand.kind in _NUMBERS for operand in part.sources):
            yield from (each.index for each in part.destinations if each.kind is OperandKind.VGPR)
