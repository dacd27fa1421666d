"""Steps of one wave, forwards and back: by instructions, by lines, over calls, out of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.running import halts
from dwarfgpu.backends.running.stops import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.backends.running.batch import WaveBatch
    from dwarfgpu.backends.running.device import Device
    from dwarfgpu.program.program import Attached

THREAD_EXITED = "Command aborted, thread exited."
_CALLS = ("s_swappc_b64", "s_call_b64", "s_swap_pc_i64", "s_call_i64")
_RETURNS = ("s_setpc_b64", "s_set_pc_i64")


@frozen
class CodeFacts:
    """What steps need to know of an instruction."""

    size: int
    is_call: bool
    is_jump: bool
    """Whether it goes to an address in registers, as returns do."""
    line: tuple[str, int] | None
    """The file and the number of the line."""
    is_start: bool
    """Whether a line begins here."""
    functions: int
    """How many calls that are inlined are around it, and the function."""


class CodeReader:
    """The facts of the instructions of a machine."""

    def __init__(self, attached: Attached, device: Device) -> None:
        self._attached = attached
        self._device = device
        self._known: dict[int, CodeFacts] = {}

    def at(self, pc: int) -> CodeFacts:
        """Return the facts of an address."""
        facts = self._known.get(pc)
        if facts is None:
            facts = self._known[pc] = self._read(pc)
        return facts

    def _read(self, pc: int) -> CodeFacts:
        device, state = self._device, self._attached.state
        try:
            instruction = decode(device.code_at(pc), 0, device.processor, device.lanes)
            name, size = instruction.name, instruction.size
        except MachineFault:
            name, size = "", 4
        line = state.sources.at(pc)
        code = state.loaded.at(pc)
        depth = 0
        die = None if code is None or not code.file.has_dwarf else code.function_at(pc)
        if die is not None and code is not None:
            depth = 1 + _inlined_around(die, code.in_file(pc))
        where = None if line is None else (line.file.name, line.line)
        return CodeFacts(size, name in _CALLS, name in _RETURNS, where, line is not None and line.start == pc, depth)


def _inlined_around(die: Any, place: int) -> int:
    """Return how many inlined calls contain an address."""
    count = 0
    waiting = list(die.children())
    while waiting:
        child = waiting.pop()
        if child.tag not in (0x1D, 0x0B):  # DW_TAG_inlined_subroutine, DW_TAG_lexical_block
            continue
        ranges = list(child.ranges())
        if ranges and not any(low <= place < high for low, high in ranges):
            continue
        count += child.tag == 0x1D and bool(ranges)
        waiting += child.children()
    return count


class CallDepth:
    """How deep a wave is in calls, counted from where it was first seen."""

    def __init__(self, reader: CodeReader) -> None:
        self._reader = reader
        self._returns: list[int] = []
        self._before: CodeFacts | None = None
        self._place = 0
        self.depth = 0

    def arrive(self, pc: int) -> int:
        """Take note of the next instruction of the wave; return how deep it is."""
        before = self._before
        if before is not None:
            following = self._place + before.size
            if before.is_call and pc != following:
                self._returns.append(following)
                self.depth += 1
            elif before.is_jump:
                if self._returns and pc == self._returns[-1]:
                    self._returns.pop()
                    self.depth -= 1
                elif not self._returns and self._leaves(pc):
                    self.depth -= 1
        self._before, self._place = self._reader.at(pc), pc
        return self.depth

    def _leaves(self, pc: int) -> bool:
        """Return whether a jump goes behind a call, which it then returns from."""
        return any(self._reader.at(pc - size).is_call and self._reader.at(pc - size).size == size for size in (4, 8))


class StepGoal:
    """Watches one wave, and stops it where a question says so.

    The question gets the address and the depth of calls, for each instruction after the first.
    """

    def __init__(self, device: Device, reader: CodeReader, wave: int, is_there: Callable[[int, int], bool]) -> None:
        self._device = device
        self._wave = wave
        self._is_there = is_there
        self._depth = CallDepth(reader)
        self._has_begun = False
        self._at = -1
        self._ended = len(device.ended)

    def observe(self, batch: WaveBatch) -> bool:
        """Look at a batch before its instruction; return whether it stops."""
        device = self._device
        if len(device.ended) != self._ended:
            self._ended = len(device.ended)
            if any(self._wave in each.waves for each in device.ended):
                device.halt = halts.Halt(halts.ENDED, THREAD_EXITED)
                return True
        if self._wave not in batch.waves or device.executed == self._at:
            return False
        self._at = device.executed
        depth = self._depth.arrive(batch.pc)
        if not self._has_begun:
            self._has_begun = True
            return False
        if not self._is_there(batch.pc, depth):
            return False
        flags = halts.executing(batch) & (batch.waves == self._wave)[:, None]
        masks = halts.lane_masks(batch.waves, flags) or {self._wave: 0}
        device.halt = halts.Halt(halts.STEP, "stepped", batch.pc, masks)
        batch.passed = True
        return True


@frozen
class PastStep:
    """An instruction that a wave has executed."""

    time: int
    pc: int
    depth: int
