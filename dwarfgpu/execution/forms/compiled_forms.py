"""How the batches of a device run as forms.

A batch runs until a block ends where the turn does, waves part, or an instruction has no form. That one is executed
by Python; then forms go on. What writes and compiles forms is imported with the first one: many kernels end before.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from dwarfgpu.execution.batch import NOWHERE, WaveBatch
from dwarfgpu.execution.checks.findings import ALIGN, BOUNDS
from dwarfgpu.execution.forms.layout import MOST_CALLS, SPAN, TurnCell, TurnExit
from dwarfgpu.execution.forms.memory_table import MemoryTable, address_of
from dwarfgpu.execution.forms.native import CompilerError, compiler
from dwarfgpu.execution.forms.wave_states import FormBatch, WaveStates
from dwarfgpu.immutable import immutable
from dwarfgpu.isa.instruction import CALLS, JUMPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.execution.forms.compiled_rounds import CompiledRound
    from dwarfgpu.execution.forms.guarded_forms import Guard
    from dwarfgpu.execution.forms.program import FormProgram

HOT = 1 << 16
"""How many waves have been at an instruction before a stretch is compiled from there on.

Each of them then takes about 5 ns less for an instruction of the stretch, which takes a millisecond to compile.
"""
WAIT = 50_000
"""How long Python executes in a process before forms are compiled, where they wait: about as long as LLVM is loaded.

The unit is a microsecond: an instruction takes about 2, and as much for 2,800 lanes more.
"""
MOST_PROGRAMS = 64
"""The programs that are kept: waves that change MODE again and again have other ones each time."""
_TOP = (1 << 64) - 1
"""A slot behind all."""


@immutable
class CompiledRun:
    """What a batch has done in compiled code."""

    count: int
    """The instructions that each wave has executed."""
    following: Any = None
    """The address of each wave, where they part."""
    since: int = 0
    """How many instructions of a block the interpreter would have executed there."""
    is_inside: bool = False
    """Whether the next instruction is to be interpreted."""
    is_whole: bool = False
    """Whether a block has ended where another batch may get its turn."""
    rest: int = 0
    """The instructions that waves have executed one by one, counted for each of them."""


def _parts_of(memory: Any) -> list[Any]:
    """Return the parts of the checks of some memory."""
    from dwarfgpu.execution.forms.followed_waves import AlignedWaves, OrderedWaves

    checks, parts = memory.settings.checks, list[Any]()
    if ALIGN in checks:
        parts.append(AlignedWaves())
    if memory.is_counted:
        parts.append(OrderedWaves(memory))
    if BOUNDS in checks:
        from dwarfgpu.execution.forms.pointer_waves import PointerWaves

        parts.append(PointerWaves(memory, memory.bounds))
    if memory.init_check is not None:
        from dwarfgpu.execution.forms.marked_waves import MarkedWaves

        parts.append(MarkedWaves(memory.init_check))
    return parts


class CompiledForms:
    """The forms of a device."""

    _waited: ClassVar[float] = 0
    """How long Python has executed for those that wait."""

    def __init__(self, device: Any, *, waits: bool = False) -> None:
        self.device, self.hot = device, HOT
        self.wait: float = WAIT if waits else 0
        self.problem = ""
        """Why nothing is compiled any more."""
        self._states: WaveStates | None = None
        self._parts: list[Any] = []
        """What forms do for checks."""
        self.writers: tuple[Any, Any, dict[str, Any]] | None = None
        """What writes forms and stretches, and what they need to know, where checks need others."""
        checks, followed = device.machine.checks, device.followed
        if checks is not None or followed is not None:
            from dwarfgpu.execution.forms.followed_waves import writers_of

            self._parts = [] if followed is None else [followed]  # whose records come before the changes of others
            self._parts += [] if checks is None else _parts_of(device.memory)
            self.writers = writers_of(self._parts, frozenset() if checks is None else checks.checks)
        self.table = MemoryTable(lambda: [each for part in self._parts for each in part.hidden()])
        self._programs: dict[tuple[int, int, bool | None, Any], FormProgram] = {}
        """By the start, MODE, where waves run one after the other whether they are many, and how forms are written."""
        self.guarded: set[int] = set()
        """The addresses of breakpoints whose forms are guarded."""
        self._counts = device.register_counts
        self.cells = (ctypes.c_uint64 * len(TurnCell))()
        self.place = ctypes.addressof(self.cells)
        self._calls = (ctypes.c_uint64 * MOST_CALLS)()
        self.cells[TurnCell.CALLS] = ctypes.addressof(self._calls)
        self.library: Any = None
        self._executed = 0

    def begins(self) -> bool:
        """Prepare to compile; return whether that can be done, and is worth it."""
        try:
            if self.library is None and not self.problem and self._waited >= self.wait:
                from dwarfgpu.execution.forms.engine import library

                self.library = library(keeps_code=self.device.machine.keeps_code)
                for part in self._parts:
                    part.prepare(self.library)
            if self.library is not None and self.device.compiled_part is not None:
                self.device.compiled_part.prepare(self.library)
        except CompilerError as error:
            self.problem = str(error)
        return self.library is not None and not self.problem

    def has_waited(self, executed: int) -> None:
        """Take note that Python has executed a turn of a wave."""
        CompiledForms._waited += 2 * executed + 50

    def can_reach_all(self) -> bool:
        """Return whether compiled code can reach all memory."""
        return self.table.can_reach_all(self.device.memory)

    @property
    def compiler(self) -> str:
        return compiler()

    def counted(self) -> tuple[int, int, int]:
        """Return how many forms the process has, their instructions in programs, and the bytes of machine code."""
        if self.library is None or self.problem:
            return 0, 0, 0
        count = sum(program.count for program in self._programs.values())
        return len(self.library), count, self.library.size

    def forget(self, address: int) -> None:
        """Let waves leave forms at an address."""
        for program in self._programs.values():
            program.forget(address)

    def guard(self, batch: WaveBatch, guards: Sequence[Guard]) -> None:
        """Let waves pass the breakpoints where a batch is, while a form that is guarded does not refuse."""
        self.guarded.add(batch.pc)
        program = self._program(batch.pc, batch.mode)
        if program is not None:
            program.guard(batch.pc, guards)

    def end_guards(self) -> None:
        """Let waves leave forms at all breakpoints, whose conditions may have changed."""
        for address in self.guarded:
            self.forget(address)
        self.guarded.clear()

    def entered(self, batch: WaveBatch) -> WaveBatch:
        """Return a batch with its registers where forms have them, if forms can reach all memory."""
        device, counts = self.device, self.device.register_counts
        memory = device.memory
        if not self.begins():
            executed, self._executed = device.executed - self._executed, device.executed
            CompiledForms._waited += max(executed, 0) * (2 / batch.count + batch.lanes / 1400)
            return batch
        is_plain = not device.is_observed and device.machine.seed is None and not memory.is_weak
        if device.is_observed and isinstance(batch, FormBatch):  # compiled code does not pay any more
            passed, batch = batch.passed, batch.copy()
            batch.passed = passed
        if not (is_plain and self.can_reach_all() and all(part.can_reach_all() for part in self._parts)):
            return batch
        if counts != self._counts:
            self._counts, self._programs = counts, {}
        states, waves = self._states, device.machine.wave_count
        if states is None or states.counts != counts or states.count < waves:
            states = self._states = WaveStates(waves, device.lanes, counts, states)
            for part in self._parts:
                part.renew(waves, device.lanes, counts)
        if not states.are_of(memory):
            for part in self._parts:
                part.begin()
            states.begin(memory, self.table)
            for part in self._parts:
                states.tell(part.places(device.machine.wave_count))
        elif isinstance(batch, FormBatch) and batch.states is states:
            return batch
        entered = states.enter(batch)
        for part in self._parts:
            entered = part.entered(batch, entered)
        return entered

    def executes(self, batch: WaveBatch) -> bool:
        """Return whether Python executes only what has no form of the instructions of a batch."""
        device = self.device
        if not isinstance(batch, FormBatch) or self.problem or device.is_observed or device.is_memory_watched:
            return False
        return self.table.can_reach_all(self.device.memory)

    def round_of(self, batch: Any, places: Any, turn: int, begin: tuple[int, int]) -> CompiledRound:
        """Return the turns of waves that are at some places of one piece of code.

        ``begin`` is how many have had theirs, and what the work-group of these has executed.
        """
        from dwarfgpu.execution.forms.compiled_rounds import CompiledRound

        batch.pc = int(places[0])
        program = self._program(batch.pc, batch.mode, is_by_wave=True)
        assert program is not None  # noqa: S101 (there is code)
        return CompiledRound(self, batch, program, places, turn, begin)

    def run(self, batch: Any, left: int, nearest: int | None, limit: int | None, since: int) -> CompiledRun | None:
        """Let a batch that it executes go on; return what it has done, or None if Python executes the instruction."""
        device, cells = self.device, self.cells
        program = self._program(batch.pc, batch.mode)
        part, quiet = device.compiled_part, device.quiet
        if program is None or not (part is None or part.enter(program, batch)):
            return None
        if quiet is not None and not quiet.enters(batch):
            return None
        batch.settle()
        for each in self._parts:
            each.settle(batch, program.distance)
            if each.hides_local:
                batch.states.hide_local()
        most = max(SPAN // batch.count, 1)
        if limit is not None:
            most = min(most, -(-(limit - device.executed) // batch.count))
        cells[TurnCell.WAVES], cells[TurnCell.COUNT] = address_of(batch.pointers), batch.count
        cells[TurnCell.NEAREST] = _TOP if nearest is None else program.slot_of(nearest)
        cells[TurnCell.HOT], cells[TurnCell.CALL_COUNT] = self.hot, 0
        asks = device.stops_at_faults or device.memory.is_permissive or bool(self._parts) or part is not None
        cells[TurnCell.ASKS] = asks
        cells[TurnCell.SLOT], cells[TurnCell.SINCE] = program.slot_of(batch.pc), since
        done = 0
        while True:
            cells[TurnCell.TURN], cells[TurnCell.MOST] = max(left - done, 0), max(most - done, 0)
            reason = self.library.run(self.place)
            done += cells[TurnCell.EXECUTED]
            batch.pc = program.address_of(cells[TurnCell.SLOT])
            if reason == TurnExit.HOT:
                with suppress(CompilerError):  # what there is goes on
                    program.extend(batch.pc)
            elif reason != TurnExit.STOPPED or not (self._drain(batch, program) or self.fill(program, batch.pc)):
                break
        self._drain(batch, program)
        if quiet is not None:
            quiet.passed(batch, done + (cells[TurnCell.REST] // batch.count if reason == TurnExit.TORN else 0))
        return self._result(batch, program, reason, done)

    def _drain(self, batch: FormBatch, program: FormProgram) -> bool:
        """Tell checks what waves have done inside the calls that are noted; return whether that makes room for more."""
        for slot in self._calls[: self.cells[TurnCell.CALL_COUNT]]:
            batch.calls = batch.called(program.address_of(slot))
        self.cells[TurnCell.CALL_COUNT] = 0
        return True in [each.drain(batch, program) for each in self._parts]

    def fill(self, program: FormProgram, address: int) -> bool:
        """Fill the slots from an address on; return whether its own is filled."""
        try:
            return program.fill(address)
        except CompilerError as error:
            self.problem = str(error)
            return False

    def _result(self, batch: FormBatch, program: FormProgram, reason: int, done: int) -> CompiledRun | None:
        since = self.cells[TurnCell.SINCE]
        if reason == TurnExit.STOPPED:
            return CompiledRun(done, since=since, is_inside=True) if done else None
        if reason == TurnExit.TORN:
            following = program.address_of(batch.states.next_slots(batch.waves))
            return CompiledRun(done, following, is_whole=True, rest=self.cells[TurnCell.REST])
        if reason == TurnExit.FULL:
            return CompiledRun(done, since=since)
        is_parted = reason == TurnExit.PARTED
        following = program.address_of(batch.states.next_slots(batch.waves)) if is_parted else None
        if reason == TurnExit.NOTED or (following is not None and program.is_noted(self.cells[TurnCell.LAST])):
            last = program.address_of(self.cells[TurnCell.LAST])
            target = batch.pc if following is None else following[:, None]
            self.note(batch, last, target)
        return CompiledRun(done, following, is_whole=True)

    def note(self, batch: WaveBatch, address: int, target: Any) -> None:
        """Note the call or jump at an address, which leads to a target."""
        instruction = self.device.instruction(address)
        behind = address + instruction.size
        if instruction.name in CALLS:
            batch.calls = batch.called(behind)
        elif instruction.name in JUMPS:
            is_far = self.device.is_far_branch(instruction, address)
            batch.calls = batch.calls_after_jump(NOWHERE if is_far else target, behind)

    def has_form(self, address: int, mode: int) -> bool:
        """Return whether an instruction of waves that run one after the other has a form."""
        program = self._program(address, mode, is_by_wave=True)
        return program is not None and program.has_form(address)

    def _program(self, address: int, mode: int, *, is_by_wave: bool = False) -> FormProgram | None:
        kind = self.device.has_many_waves if is_by_wave else None
        part = self.device.compiled_part
        how = None if part is None else part.writers[0], self.device.quiet
        same = (each for key, each in self._programs.items() if key[1:] == (mode, kind, how))
        program = next((each for each in same if each.has(address)), None)
        if program is not None or address % 4:
            return program
        segment = self.device.memory.memory.segment_of(address, address)
        if segment is None:
            return None
        from dwarfgpu.execution.forms.program import FormProgram

        if len(self._programs) >= MOST_PROGRAMS:
            self._programs.clear()
        program = FormProgram(self.device, segment, mode, is_by_wave=is_by_wave)
        self._programs[segment.start, mode, kind, how] = program
        return program
