"""A kernel that runs, followed from instruction to instruction: the registers, the calls and the lanes of its waves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.call_record import CallRecord, InstructionVisit, RecordedCall
from dwarfgpu.audits.judge.wave_registers import BatchRegisters
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind
from dwarfgpu.states.stopped import Stopped

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.halts import Halt

_WHOLE = ("s_or_saveexec_b64", "s_or_saveexec_b32", "s_xor_saveexec_b64", "s_xor_saveexec_b32", "s_mov_b64",
          "s_mov_b32", "s_or_saveexec", "s_orn2_saveexec_b64")  # fmt: skip
"""Instructions with which code makes all lanes active, or those that were not, if the constant -1 is their source."""


class LaneRecord:
    """Which lanes of each wave execute the source."""

    def __init__(self, running: Running) -> None:
        self.machine = running.machine
        self.lanes = running.machine.target.lane_count
        self._resize()

    def _resize(self) -> None:
        count = self.machine.wave_count
        self.active = np.zeros(count, np.uint64)
        """The lanes that execute the source: those of EXEC, but for code that the compiler has for a whole wave."""
        self.entered = np.zeros(count, np.uint64)
        """The lanes that were active when the kernel began."""
        self._exec = np.zeros(count, np.uint64)
        self._is_whole = np.zeros(count, bool)
        self._becomes_whole = np.zeros(count, bool)

    def observe(self, batch: WaveBatch, instruction: GpuInstruction) -> None:
        """Take notice of waves that are about to execute an instruction."""
        if len(self.active) != self.machine.wave_count:
            self._resize()
        waves = batch.waves
        value = batch.exec
        masks = np.full(batch.count, value, np.uint64) if isinstance(value, int) else value[:, 0].astype(np.uint64)
        before = self.active[waves]
        new = self.entered[waves] == 0
        if new.any():
            self.entered[waves[new]] = masks[new]
        becomes = self._becomes_whole[waves]
        changed = (masks != self._exec[waves]) & ~becomes
        self._is_whole[waves] = (self._is_whole[waves] & ~changed) | becomes
        self.active[waves] = np.where(self._is_whole[waves], before, masks)
        self._exec[waves] = masks
        self._becomes_whole[waves] = _makes_whole(instruction)

    def end(self, batch: WaveBatch) -> None:
        """Forget waves that end."""
        waves = batch.waves
        self.active[waves] = self.entered[waves] = self._exec[waves] = 0
        self._is_whole[waves] = self._becomes_whole[waves] = False


def _makes_whole(instruction: GpuInstruction) -> bool:
    """Return whether an instruction makes lanes active that the control flow of the source does not."""
    if instruction.name not in _WHOLE:
        return False
    source = instruction.sources[0] if instruction.sources else None
    if source is None or source.kind not in (OperandKind.CONSTANT, OperandKind.LITERAL):
        return False
    if source.value not in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF):
        return False
    return "saveexec" in instruction.name or any(
        operand.register.startswith("exec") for operand in instruction.destinations
    )


class FollowedRun:
    """Follows a kernel that runs. What judges it is asked before each instruction, with the waves of each call."""

    def __init__(
        self,
        running: Running,
        observe: Callable[[WaveBatch, list[InstructionVisit], bool], None],
        end_call: Callable[[RecordedCall, WaveBatch, Any], None] = lambda _call, _batch, _rows: None,
    ) -> None:
        self.running = running
        self.registers = BatchRegisters(running.machine)
        self.stopped = Stopped(self.registers, running.attached.stopped.loaded)
        self.lanes = LaneRecord(running)
        self.calls = CallRecord(running.machine.device, end_call)
        self._asked = observe
        """Gets a batch, its waves by their calls, and whether the waves end."""

    def run(self, limit: int | None) -> Halt:
        """Run the kernel to its end, or until so many instructions have been executed."""
        device = self.running.machine.device
        device.observer = self._observe
        try:
            return self.running.run(limit=limit)
        finally:
            device.observer = None

    def _observe(self, batch: WaveBatch) -> bool:
        try:
            instruction = self.calls.observe(batch)
        except MachineFault:  # there is no code, which stops the waves
            return False
        self.lanes.observe(batch, instruction)
        ends = instruction.name.startswith("s_endpgm")
        self._asked(batch, [*self.calls.arrivals(batch, instruction)], ends)
        if ends:
            self.calls.end(batch)
            self.lanes.end(batch)
        return False
