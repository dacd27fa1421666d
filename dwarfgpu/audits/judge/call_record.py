"""The calls that waves of a running kernel are in, followed from the instructions that make and end them.

Nothing of it comes from debugging information: a call is an instruction that saves its return address and goes
elsewhere, and it ends when its wave goes back there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import UNSET, WaveBatch
from dwarfgpu.immutable import immutable
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.frame_state import RETURN_HIGH, RETURN_LOW
from dwarfgpu.isa.instruction import CALLS, JUMPS, GpuInstruction

if TYPE_CHECKING:
    from dwarfgpu.execution.device import Device
    from dwarfgpu.targets.target import TargetRegister

NOTHING_PENDING, CALL, JUMP = range(3)
MAX_DEPTH = 512
"""The calls that are followed into each other; a wave that goes deeper is not judged any more."""
LOST = -1
"""In place of the number of a call, for waves that are not followed."""


class RecordedCall:
    """A call that some waves have made together: what they had at the first instruction of the callee."""

    def __init__(self, number: int, start: WaveBatch, return_address: int, caller: RecordedCall | None) -> None:
        self.number = number
        self.start = start
        """The waves with their registers, at the first instruction."""
        self.return_address = return_address
        self.caller = caller
        """None where the caller is the kernel."""
        self.depth: int = 1 if caller is None else caller.depth + 1
        self.chain: tuple[int, ...] = (return_address, *(() if caller is None else caller.chain))
        """The return addresses, the innermost first."""
        self.rows = {wave: row for row, wave in enumerate(start.waves.tolist())}
        """The positions of waves in the batch that made the call."""
        self.cfas: dict[tuple[int, int], tuple[int, int]] = {}
        """For code that one entry of call frame information is about, by its start, and a wave: space and address."""
        self.held: list[Any] | None = None
        """The registers in which the caller has something, once they were asked for."""
        self.deferred: dict[TargetRegister, list[Any]] = {}
        """What counts as wrong only if the function gives a register back as it was."""


@immutable
class InstructionVisit:
    """Waves of one call that are about to execute an instruction."""

    batch: WaveBatch
    call: RecordedCall | None
    """None for the kernel."""
    rows: Any
    """Those of the waves in the batch."""
    instruction: GpuInstruction
    visits: int
    """How often waves have come to the instruction in this chain of calls."""

    @property
    def pc(self) -> int:
        return self.batch.pc

    @property
    def number(self) -> int:
        """The number of the call; 0 is the kernel."""
        return 0 if self.call is None else self.call.number

    @property
    def chain(self) -> tuple[int, ...]:
        """Where the calls that it is in return to; none in the kernel."""
        return () if self.call is None else self.call.chain

    def wave(self, row: int) -> int:
        return int(self.batch.waves[row])


class CallRecord:
    """The call that each wave of a device is in."""

    def __init__(self, device: Device, ended: Callable[[RecordedCall, WaveBatch, Any], None]) -> None:
        self.device = device
        self._ended = ended
        """Is told of a call that ends, with the waves behind it, and which of their rows end it."""
        self._calls: dict[int, RecordedCall] = {}
        self.instruction = cache(self.decoded)
        self._is_far_branch = cache(lambda pc: device.is_far_branch(self.instruction(pc), pc))
        self._numbers = 0
        self._visits: dict[tuple[tuple[int, ...], int], int] = {}
        """How often waves have come to an instruction, by the chain of calls and its address."""
        self._resize()

    def _resize(self) -> None:
        count = self.device.machine.wave_count
        self._current = np.zeros(count, np.int64)
        """The number of the call that each wave is in; 0 is the kernel."""
        self._pending = np.zeros(count, np.int8)
        self._behind = np.zeros(count, np.uint64)
        """The address behind the instruction that may have made a call."""
        self._is_far = np.zeros(count, bool)
        """Whether it is a branch too far for an offset."""

    def decoded(self, pc: int) -> GpuInstruction:
        """Return the instruction at an address, which is not kept."""
        return decode(self.device.code_at(pc), 0, self.device.processor, self.device.lanes)

    def observe(self, batch: WaveBatch) -> GpuInstruction:
        """Take notice of a batch that is about to execute an instruction, and return the instruction."""
        if len(self._current) != self.device.machine.wave_count:
            self._resize()
        waves = batch.waves
        pending = self._pending[waves]
        if pending.any():
            self._arrive(batch, pending)
        instruction = self.instruction(batch.pc)
        kind = CALL if instruction.name in CALLS else JUMP if instruction.name in JUMPS else NOTHING_PENDING
        if kind:
            self._pending[waves] = kind
            self._behind[waves] = batch.pc + instruction.size
            self._is_far[waves] = kind == JUMP and self._is_far_branch(batch.pc)
        return instruction

    def end(self, batch: WaveBatch) -> None:
        """Take notice of waves that end; the calls that they are in stay open."""
        self._current[batch.waves] = 0

    def _arrive(self, batch: WaveBatch, pending: Any) -> None:
        """Find out what an instruction was that went elsewhere."""
        waves = batch.waves
        behind = self._behind[waves]
        self._pending[waves] = NOTHING_PENDING
        is_followed = self._current[waves] != LOST
        calls = (pending == CALL) & is_followed
        jumps = (pending == JUMP) & is_followed
        if jumps.any():
            made_by_hand = jumps & (_return_addresses(batch) == behind)  # s_getpc, s_add, s_setpc
            returning = jumps & ~made_by_hand & ~self._is_far[waves]
            if returning.any():
                self._return(batch, returning)
            calls = calls | made_by_hand
        if not calls.any():
            return
        keys = np.stack([behind, self._current[waves].astype(np.uint64)], axis=1)
        for key in np.unique(keys[calls], axis=0).tolist():
            flags = calls & (keys == key).all(axis=1)
            part = batch.copy() if flags.all() else batch.part(flags)
            caller = self._calls.get(int(key[1]))
            if caller is not None and caller.depth >= MAX_DEPTH:
                self._current[part.waves] = LOST
                continue
            self._numbers += 1
            part.pc = batch.pc
            self._calls[self._numbers] = RecordedCall(self._numbers, part, int(key[0]), caller)
            self._current[part.waves] = self._numbers

    def _return(self, batch: WaveBatch, returning: Any) -> None:
        """End the calls of waves that have gone back to where one of them was made."""
        for number in np.unique(self._current[batch.waves][returning]).tolist():
            call = self._calls.get(number)
            rows = returning & (self._current[batch.waves] == number)
            if call is not None and batch.pc not in call.chain:
                continue  # a jump, or a call in place of a return
            while call is not None:
                self._ended(call, batch, rows)
                is_it = call.return_address == batch.pc
                outer = call.caller
                self._current[batch.waves[rows]] = 0 if outer is None else outer.number
                waves = batch.waves[rows]
                for wave in waves.tolist():
                    call.rows.pop(wave, None)
                if not call.rows:
                    self._calls.pop(call.number, None)
                call = None if is_it else outer

    def arrivals(self, batch: WaveBatch, instruction: GpuInstruction) -> Iterator[InstructionVisit]:
        """Yield the waves of a batch that are about to execute an instruction, those of each call together."""
        numbers = self._current[batch.waves]
        for number in [int(numbers[0])] if (numbers == numbers[0]).all() else np.unique(numbers).tolist():
            if number != LOST:
                call = self._calls.get(number)
                key = () if call is None else call.chain, batch.pc
                visits = self._visits[key] = self._visits.get(key, 0) + 1
                yield InstructionVisit(batch, call, np.nonzero(numbers == number)[0], instruction, visits)

    def open_calls(self) -> Iterator[RecordedCall]:
        """Yield the calls that have not ended."""
        yield from self._calls.values()


def _return_addresses(batch: WaveBatch) -> Any:
    """Return what waves have in the registers of the return address."""
    low, high = batch.scalar[RETURN_LOW], batch.scalar[RETURN_HIGH]
    if low is UNSET or high is UNSET:
        return np.zeros(batch.count, np.uint64)
    words = [
        np.full(batch.count, each, np.uint64) if isinstance(each, int) else each[:, 0].astype(np.uint64)
        for each in (low, high)
    ]
    return words[0] | words[1] << np.uint64(32)
