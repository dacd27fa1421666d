"""Steps of one wave, forwards and back: by instructions, by lines, over calls, out of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu.execution import halts
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import executed
from dwarfgpu.isa.instruction import CALLS, JUMPS
from dwarfgpu.program.code.kernel_parameters import is_body, source_name

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.states.program import Attached

THREAD_EXITED = "Command aborted, thread exited."


@frozen
class CodeFacts:
    """What steps need to know of an instruction."""

    size: int
    is_call: bool
    is_jump: bool
    """Whether it goes to an address in registers, as returns do."""
    line: tuple[str, int] | None
    is_start: bool
    functions: int
    """How many calls that are inlined are around it, and the function."""
    body: int
    """Where the function begins behind its prologue; 0 without a function."""
    is_prologue: bool
    """Whether it comes before that."""
    symbol: str | None
    """The function that the symbols say it is in."""

    def is_body_of(self, other: CodeFacts) -> bool:
        """Return whether its function has the code of the OpenCL kernel that another instruction is in."""
        return is_body(self.symbol) and source_name(self.symbol or "") == other.symbol


class CodeMap:
    """The facts of the instructions of a machine."""

    def __init__(self, attached: Attached, device: Device) -> None:
        self._attached = attached
        self._device = device
        self.at = cache(self._read)

    def _read(self, pc: int) -> CodeFacts:
        """Return the facts of an address."""
        device, state = self._device, self._attached.state
        try:
            instruction = executed(device.code_at(pc), 0, device.processor, device.lanes)
            name, size = instruction.name, instruction.size
            is_jump = name in JUMPS and not device.is_far_branch(instruction, pc)
        except MachineFault:
            name, size, is_jump = "", 4, False
        line = state.sources.at(pc)
        code = state.loaded.at(pc)
        has_functions = code is not None and code.file.has_dwarf and code.function_at(pc) is not None
        depth = len(code.functions_at(pc)) if code is not None and has_functions else 0
        prologue = state.sources.prologue(pc)
        body = 0 if prologue is None else prologue.stop
        is_prologue = prologue is not None and pc in prologue
        where = None if line is None else (line.file.path, line.line)
        is_start = line is not None and line.start == pc
        symbol, _offset = state.symbol_place(pc) or (None, 0)
        return CodeFacts(size, name in CALLS, is_jump, where, is_start, depth, body, is_prologue, symbol)


def change_of_depth(reader: CodeMap, pc: int, following: int) -> int:
    """Return 1 if an instruction has called the function at the following one, -1 if it has returned there, else 0."""
    facts = reader.at(pc)
    if facts.is_call:
        return 1 if following != pc + facts.size else 0
    if facts.is_jump:  # a return goes behind a call
        before = (reader.at(following - size) for size in (4, 8))
        return -1 if any(call.is_call and call.size == size for call, size in zip(before, (4, 8), strict=True)) else 0
    return 0


class StepGoal:
    """Watches one wave, and stops it where a question says so.

    The question gets the address and the depth of calls, for each instruction after the first.
    """

    def __init__(self, device: Device, reader: CodeMap, wave: int, is_there: Callable[[int, int], bool]) -> None:
        self._device = device
        self._wave = wave
        self._is_there = is_there
        self._reader = reader
        self._before: int | None = None
        """The address of the instruction before."""
        self._depth = 0
        self._at = -1
        self._ended = len(device.ended)

    def observe(self, batch: WaveBatch) -> bool:
        """Look at a batch before its instruction; return whether it stops."""
        device = self._device
        if len(device.ended) != self._ended:
            self._ended = len(device.ended)
            if any(self._wave in ended.waves for ended in device.ended):
                device.halt = halts.Halt(halts.ENDED, THREAD_EXITED)
                return True
        if self._wave not in batch.waves or device.executed == self._at:
            return False
        self._at = device.executed
        before, self._before = self._before, batch.pc
        if before is None:
            return False
        self._depth += change_of_depth(self._reader, before, batch.pc)
        if not self._is_there(batch.pc, self._depth):
            return False
        flags = halts.executing(batch) & (batch.waves == self._wave)[:, None]
        masks = halts.lane_masks(batch.waves, flags) or {self._wave: 0}
        device.halt = halts.Halt(halts.STEP, "stepped", batch.pc, masks)
        batch.passed = batch.pc
        return True


@frozen
class PastStep:
    """An instruction that a wave has executed."""

    time: int
    pc: int
    depth: int
    """Of calls; 0 is where the wave is now."""


def backwards(reader: CodeMap, now: int, stretches: Iterable[list[tuple[int, int]]]) -> Iterator[PastStep]:
    """Yield what a wave has executed, the latest first. A stretch is times and addresses in the order of time."""
    following, depth = now, 0
    for stretch in stretches:
        for time, pc in reversed(stretch):
            depth -= change_of_depth(reader, pc, following)
            following = pc
            yield PastStep(time, pc, depth)


def line_before(reader: CodeMap, now: int, steps: Iterable[PastStep], *, over: bool) -> int | None:
    """Return the time when a wave was at the beginning of its line; if it is there, of the line executed before it."""
    inlined = reader.at(now).functions
    found: PastStep | None = None
    line, level = None, 0
    for step in steps:
        facts = reader.at(step.pc)
        is_inside = step.depth > 0 or (not step.depth and facts.functions > inlined > 0)
        if over and is_inside:
            continue
        if found is None or (not over and step.depth > level):  # the way back enters a function that was called
            if facts.line is None or facts.is_prologue:
                continue
            found, line, level = step, facts.line, step.depth
        elif step.depth == level and facts.line == line and not facts.is_prologue:
            found = step
        elif step.depth > level or (step.depth == level and facts.line is None):
            continue
        else:
            return found.time
    return found.time if found is not None and reader.at(found.pc).is_start else None
