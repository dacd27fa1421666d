"""How the batches of a device run as forms: the part of `Device` that today's compiled regions have, too.

A batch runs until a block ends where the turn does, waves part, or an instruction has no form. That one is executed
by Python; then forms go on.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.batch import NOWHERE, WaveBatch
from dwarfgpu.execution.compiled.block_code import SPAN, CompiledRun
from dwarfgpu.execution.compiled.memory_table import MemoryTable, address_of
from dwarfgpu.execution.compiled.native import CompilerError, compiler
from dwarfgpu.execution.forms.engine import library
from dwarfgpu.execution.forms.layout import MOST_CALLS, TurnCell, TurnExit
from dwarfgpu.execution.forms.program import FormHost, FormProgram
from dwarfgpu.execution.forms.wave_states import FormBatch, WaveStates

if TYPE_CHECKING:
    from dwarfgpu.isa.instruction import GpuInstruction

HOT = 1 << 16
"""How many waves have been at an instruction before a stretch is compiled from there on.

Each of them then takes about 5 ns less for an instruction of the stretch, which takes a millisecond to compile.
"""
NEVER = (1 << 62) - 1
_TOP = (1 << 64) - 1
"""A slot behind all."""


class CompiledForms:
    """The forms of a device."""

    what, unit = "each form of an instruction is", "form"
    ready = None

    def __init__(self, device: FormHost) -> None:
        self.device, self.hot = device, HOT
        self.problem = ""
        """Why nothing is compiled any more."""
        self._table = MemoryTable()
        self._states: WaveStates | None = None
        self._programs: dict[tuple[int, int], FormProgram] = {}
        self._counts = device.register_counts
        self._cells = (ctypes.c_uint64 * len(TurnCell))()
        self._place = ctypes.addressof(self._cells)
        self._calls = (ctypes.c_uint64 * MOST_CALLS)()
        self._cells[TurnCell.CALLS] = ctypes.addressof(self._calls)
        try:
            self._library = library(keeps_code=device.machine.keeps_code)
            self._run = self._library.run
        except CompilerError as error:
            self.problem = str(error)

    @property
    def has_all_code(self) -> bool:
        """Whether Python executes only single instructions, between two of compiled code."""
        return not self.problem

    @property
    def compiler(self) -> str:
        return compiler()

    def counted(self) -> tuple[int, int, int]:
        """Return how many forms the process has, their instructions in programs, and the bytes of machine code."""
        if self.problem:
            return 0, 0, 0
        count = sum(program.count for program in self._programs.values())
        return len(self._library), count, self._library.size

    def begin(self, batches: list[WaveBatch]) -> None:
        """Prepare for the waves of a launch."""

    def add_atomics(self, _key: tuple[int, int], _lanes: int) -> None:
        """Forms do not depend on how often something runs."""

    def forget(self, address: int) -> None:
        """Let waves leave forms at an address."""
        for program in self._programs.values():
            program.forget(address)

    def entered(self, batch: WaveBatch) -> WaveBatch:
        """Return a batch with its registers where forms have them, if forms can reach all memory."""
        device, counts = self.device, self.device.register_counts
        memory = device.memory
        is_plain = not self.problem and device.observer is None and device.machine.seed is None and not memory.is_weak
        if not is_plain or not self._table.can_reach_all(memory):
            return batch
        if counts != self._counts:
            self._counts, self._programs = counts, {}
        states, waves = self._states, device.machine.wave_count
        if states is None or states.counts != counts or states.count < waves:
            states = self._states = WaveStates(waves, device.lanes, counts)
        if not states.are_of(memory):
            states.begin(memory, self._table)
        elif isinstance(batch, FormBatch) and batch.states is states:
            return batch
        return states.enter(batch)

    def run_together(self, batch: WaveBatch, left: int, _limit: int | None) -> tuple[WaveBatch, int, int, bool]:
        """Let the batch go on by itself."""
        return batch, left, 0, False

    def run(
        self, batch: WaveBatch, left: int, nearest: int | None, limit: int | None, since: int
    ) -> CompiledRun | None:
        """Let a batch execute forms from where it is, as `CompiledRegions.run` does."""
        device, memory, cells = self.device, self.device.memory, self._cells
        is_seen = memory.watch is not None or memory.watch_waves is not None
        if self.problem or is_seen or not isinstance(batch, FormBatch) or not self._table.can_reach_all(memory):
            return None
        program = self._program(batch)
        if program is None:
            return None
        batch.settle()
        most = max(SPAN // batch.count, 1)
        if limit is not None:
            most = min(most, -(-(limit - device.executed) // batch.count))
        cells[TurnCell.WAVES], cells[TurnCell.COUNT] = address_of(batch.pointers), batch.count
        cells[TurnCell.NEAREST] = _TOP if nearest is None else program.slot_of(nearest)
        cells[TurnCell.HOT], cells[TurnCell.CALL_COUNT] = self.hot, 0
        cells[TurnCell.SLOT], cells[TurnCell.SINCE] = program.slot_of(batch.pc), since
        done = 0
        while True:
            cells[TurnCell.TURN], cells[TurnCell.MOST] = max(left - done, 0), max(most - done, 0)
            reason = self._run(self._place)
            done += cells[TurnCell.EXECUTED]
            batch.pc = program.address_of(cells[TurnCell.SLOT])
            if reason == TurnExit.HOT:
                with suppress(CompilerError):  # what there is goes on
                    program.extend(batch.pc)
            elif reason != TurnExit.STOPPED or not self._fill(program, batch.pc):
                break
        return self._result(batch, program, reason, done)

    def _fill(self, program: FormProgram, address: int) -> bool:
        try:
            return program.fill(address)
        except CompilerError as error:
            self.problem = str(error)
            return False

    def _result(self, batch: FormBatch, program: FormProgram, reason: int, done: int) -> CompiledRun | None:
        since = self._cells[TurnCell.SINCE]
        for slot in self._calls[: self._cells[TurnCell.CALL_COUNT]]:
            batch.calls = batch.called(program.address_of(slot))
        if reason == TurnExit.STOPPED:
            return CompiledRun(done, since=since, is_inside=True) if done else None
        if reason == TurnExit.TORN:
            following = program.address_of(batch.states.next_slots(batch.waves))
            return CompiledRun(done, following, is_whole=True, rest=self._cells[TurnCell.REST])
        if reason == TurnExit.FULL:
            return CompiledRun(done, since=since)
        following = None
        if reason == TurnExit.PARTED:
            following = program.address_of(batch.states.next_slots(batch.waves))
        if reason == TurnExit.NOTED or (following is not None and program.is_noted(self._cells[TurnCell.LAST])):
            last = program.address_of(self._cells[TurnCell.LAST])
            target = batch.pc if following is None else following[:, None]
            self._note(batch, self.device.instruction(last), last, target)
        return CompiledRun(done, following, is_whole=True)

    def _note(self, batch: WaveBatch, instruction: GpuInstruction, address: int, target: Any) -> None:
        """Note a call or a jump."""
        behind = address + instruction.size
        if instruction.name in ("s_swappc_b64", "s_call_b64"):
            batch.calls = batch.called(behind)
        elif instruction.name == "s_setpc_b64":
            is_far = self.device.is_far_branch(instruction, address)
            batch.calls = batch.calls_after_jump(NOWHERE if is_far else target, behind)

    def _program(self, batch: WaveBatch) -> FormProgram | None:
        programs = (each for (_start, mode), each in self._programs.items() if mode == batch.mode)
        found = next((each for each in programs if each.start <= batch.pc < each.end), None)
        if found is not None or batch.pc % 4:
            return found
        segment = self.device.memory.memory.segment_of(batch.pc, batch.pc)
        if segment is None:
            return None
        found = self._programs[segment.start, batch.mode] = FormProgram(self.device, segment, batch.mode)
        return found
