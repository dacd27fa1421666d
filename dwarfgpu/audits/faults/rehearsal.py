"""A wave in a loop that it cannot leave alone, told by letting it execute a copy of what is known of it.

The copy has one wave. It cannot leave the loop if its registers and its memory come back to what they were, if nothing
that other waves see has changed on the way, and if nothing was read that is not known. What it does then depends on
nothing but the memory that it reads, so it goes on until somebody else writes there. A loop that counts is not told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np

from dwarfgpu.audits.faults.lane_addresses import lane_addresses
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.device_memory import MemorySegment
from dwarfgpu.execution.faults import BROKEN
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.repetition import is_same_state
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind, OperandRole
from dwarfgpu.lanes import lanes_in
from dwarfgpu.machines.machine import Machine
from dwarfgpu.machines.protocol import BLOCK, KnownRange, LastChange
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_WAVE
from dwarfgpu.targets.target import TargetRegister

LONGEST = 2000
"""So many instructions are executed."""
LARGEST = 1 << 22
"""Larger ranges of memory are not copied."""
_NOT_ALONE = re.compile(
    r"s_(barrier|sendmsg|trap|mem(real)?time|get_|getreg|setreg|sethalt|set_gpr|ttrace)|ds_gws|.*_lds"
)
"""What asks or changes more than the registers of the wave and its memory."""
_READS_VCC = re.compile(r"v_cndmask|v_(add|sub)c|v_(add|sub|subrev)b?_co_ci|v_div_fmas|s_cbranch_vcc")
_COMPARES = re.compile(r"[sv]_cmp")
_MOVES = re.compile(r"[sv]_mov_b32|v_readfirstlane_b32")
_FILES = {OperandKind.VGPR: "v", OperandKind.SGPR: "s", OperandKind.AGPR: "a"}


@frozen
class SpinRead:
    """A location that the loop reads each time."""

    instruction: str
    address: int
    """Where it is."""
    space: str
    size: int
    value: int
    compared: tuple[str, ...] = ()
    """What the value is compared with, and by which instruction."""
    name: str | None = None
    """The argument or the variable whose memory it is, with an offset."""
    last_change: LastChange | None = None
    """Who has changed it last, if that is known."""


@frozen
class Spin:
    """A loop that a wave cannot leave."""

    wave: int
    path: tuple[int, ...]
    """The addresses of the instructions of one turn."""
    reads: tuple[SpinRead, ...]


class _UnknownNeeded(Exception):
    """The wave needs what is not known."""


def spin_of(machine: Machine, wave: int) -> Spin | None:
    """Return the loop that a wave cannot leave, whatever SCC is, which no state has; None if that is not certain."""
    if getattr(machine, "weak_memory", None) is not None:  # registers may still be about to be loaded
        return None
    try:
        first, second = (_Rehearsal(machine, wave, scc).spin() for scc in (0, 1))
    except (_UnknownNeeded, DwarfGpuError, *BROKEN):
        return None
    return first if first == second else None


class _Rehearsal:
    """A copy of one wave, with the memory that it has needed so far."""

    def __init__(self, machine: Machine, wave: int, scc: int) -> None:
        self.machine, self.wave = machine, wave
        self.gpu = gpu = Gpu(machine.target)
        generic: Any = gpu.target.space(1)
        if generic is None or getattr(generic.alias, "apertures", None) is None:
            raise _UnknownNeeded
        gpu.add_waves(1, work_group=(0, 0, 0), wave_in_group=0)
        self.known: set[str] = set()
        self._copy_registers()
        if "exec" not in self.known:
            raise _UnknownNeeded
        for number in (LOCAL, PRIVATE_WAVE):
            space: Any = gpu.target.space(number)
            size = machine.extent(space, wave)
            if 0 < size <= LARGEST:
                gpu.memory.map(space, 0, bytearray(machine.read_memory(space, 0, size, wave, None)))
        gpu.scratch_base = self._stack()
        self.device = gpu.device
        self.major = self.device.generation
        self.batch.scc = scc
        self.shared: list[MemorySegment] = []

    @property
    def batch(self) -> Any:
        """The wave, while it can go on."""
        if not self.device.batches:
            raise _UnknownNeeded
        return self.device.batches[0]

    def _copy_registers(self) -> None:
        found: dict[TargetRegister, bytes] = {}
        dense: list[TargetRegister] = []  # the machine takes the place of a vector register for its number
        for register in self.machine.target.registers():
            with suppress(DwarfGpuError):
                found[register] = self.machine.read_register(register, self.wave, None)
        kinds = {(register.name[0], register.bit_size) for register in found if register.lane_bits}
        for kind in sorted(kinds):
            own = [each for each in self.machine.target.registers() if (each.name[0], each.bit_size) == kind]
            dense += own[: max(index for index, each in enumerate(own) if each in found) + 1]
        self.gpu.allocate_registers(dict.fromkeys([*dense, *found]))
        for register, data in found.items():
            self.gpu.write_register(register, data, 0, None)
            if not self.machine.unknown_lanes(register, self.wave):
                self.known |= {register.name, f"{register.name}_lo", f"{register.name}_hi"}

    def _stack(self) -> int:
        """Return the global address of the private memory of the wave, if s[0:3] describe a stack; else 0."""
        words = []
        for number in range(4):
            register = self.gpu.register_named(f"s{number}")
            if register is None or register.name not in self.known:
                return 0
            words.append(int.from_bytes(self.gpu.read_register(register, 0, None), "little"))
        is_stack = words[1] >> 31 and words[3] >> 23 & 1  # swizzled, by the number of the lane
        return words[0] | (words[1] & 0xFFFF) << 32 if is_stack else 0

    # --- Memory ---------------------------------------------------------------------------------------------------

    def _need(self, address: int) -> None:
        """Copy the memory around an address."""
        memory = self.device.memory.memory
        around = self._around(address)
        if around is None or around.size > LARGEST or memory.segment_of(address, address) is not None:
            raise _UnknownNeeded
        data = self.machine.read_memory(self.machine.target.default_space, around.address, around.size, self.wave, None)
        self.shared.append(MemorySegment.of(around.address, np.frombuffer(bytearray(data), np.uint8)))
        memory.__init__([*memory.segments, self.shared[-1]])  # type: ignore[misc]

    def _around(self, address: int) -> KnownRange | None:
        """Return the memory around an address; of memory whose end nobody knows one block."""
        machine, start = self.machine, address & -BLOCK
        known = machine.memory_around(address)
        with suppress(DwarfGpuError):
            if known is None and machine.read_memory(machine.target.default_space, start, BLOCK, self.wave, None):
                known = KnownRange(start, BLOCK)
        return known

    def _digest(self, *, is_whole: bool) -> bytes:
        """Return what tells the memory that others see, or all, from any other."""
        found, memory = hashlib.blake2b(), self.device.memory
        for segment in (memory.local, *self.shared, *([memory.scratch] if is_whole else [])):
            found.update(segment.data.tobytes())
        return found.digest()

    # --- Going on -------------------------------------------------------------------------------------------------

    def spin(self) -> Spin | None:
        """Return the loop, if its state comes back."""
        start, before = self.batch.pc, None
        path: list[int] = []
        reads: list[Any] = []
        for _ in range(LONGEST):
            if self.batch.pc == start:
                now = self.batch.copy(), self._digest(is_whole=True), self.device.clock.now
                if before is not None and before[1:] == now[1:] and is_same_state(before[0], now[0]):
                    return Spin(self.wave, tuple(path), tuple(self._compared(path, reads)))
                before, path, reads = now, [], []
            instruction = self._instruction()
            path.append(self.batch.pc)
            reads.append((instruction, self._values(instruction), self._read(instruction)))
            self._step(instruction)
        return None

    def _instruction(self) -> GpuInstruction:
        """Return the instruction that is next, whose registers are all known."""
        if self.device.memory.memory.segment_of(self.batch.pc, self.batch.pc + 3) is None:
            self._need(self.batch.pc)
        try:
            instruction = self.device.instruction(self.batch.pc)
        except Exception as problem:  # a fault of the machine
            raise _UnknownNeeded from problem
        if _NOT_ALONE.match(instruction.name) or instruction.modifiers.get("lds"):
            raise _UnknownNeeded
        operands = [each for part in (instruction.components or (instruction,)) for each in part.operands]
        needed = {name for each in operands if each.role is not OperandRole.DST for name in _names(each)}
        if _READS_VCC.match(instruction.name) and instruction.encoding != "VOP3":
            needed.add("vcc")
        if not needed <= self.known:
            raise _UnknownNeeded
        self.known |= {name for each in operands if each.role is not OperandRole.SRC for name in _names(each)}
        if instruction.name.startswith("v_cmp") and not instruction.name.startswith("v_cmpx"):
            self.known |= {"vcc"} if not instruction.destinations else set()
        return instruction

    def _step(self, instruction: GpuInstruction) -> None:
        operation = actions.action_of(instruction, self.major).operation
        before = self._digest(is_whole=False) if operation not in ("", "load") else None
        count = len(self.shared)
        pc, executed = self.batch.pc, self.device.executed
        self.device.step(0)
        if self.device.stopped and self.device.executed == executed:
            stop = self.device.stops[0]
            if stop.reasons != ("MEMORY_VIOLATION",) or stop.address is None:
                raise _UnknownNeeded
            self._need(stop.address)
            batch = self.device.stopped.pop()[0]
            batch.pc = pc
            self.device.batches.append(batch)
            self._step(instruction)
        elif before is not None and count == len(self.shared) and self._digest(is_whole=False) != before:
            raise _UnknownNeeded  # others see it

    # --- What it reads --------------------------------------------------------------------------------------------

    def _values(self, instruction: GpuInstruction) -> dict[str, str]:
        """Return the operands of a comparison as numbers, by their text."""
        if not _COMPARES.match(instruction.name):
            return {}
        is_float = re.search(r"_f\d+$", instruction.name) is not None
        return {each.text: each.text if is_float else self._value(each) for each in instruction.sources}

    def _value(self, operand: GpuOperand) -> str:
        if operand.kind in _FILES and operand.count <= 1:
            if operand.kind is OperandKind.SGPR:
                return f"{int(np.max(self.batch.scalar[operand.index]))}"
            lanes = lanes_in(int(np.max(self.batch.exec)))
            whole = np.broadcast_to(self.batch.vector[operand.index], (1, self.gpu.target.lane_count))[0][lanes]
            low, high = (int(whole.min()), int(whole.max())) if len(whole) else (0, -1)
            return f"{low}" if low == high else operand.text
        return operand.text

    def _read(self, instruction: GpuInstruction) -> list[SpinRead]:
        """Return what a load or an atomic operation reads of memory that others see."""
        action = actions.action_of(instruction, self.major)
        if not action.operation or action.operation == "store" or action.space == actions.PRIVATE:
            return []
        self.device.write_back()
        here: Any = SimpleNamespace(stopped=SimpleNamespace(machine=self.gpu), index=0, state=self.gpu)
        found = lane_addresses(here, instruction, int(np.max(self.batch.exec)))
        if found is None or found.size > 8 or not found.size:
            return []
        return list(self._reads(instruction, found.space, found.size, dict.fromkeys(found.addresses.tolist())))

    def _reads(
        self, instruction: GpuInstruction, space: str, size: int, addresses: dict[int, None]
    ) -> Iterator[SpinRead]:
        for address in addresses:
            if space == actions.LOCAL:
                data = self.device.memory.local.data[address : address + size].tobytes()
            else:
                around = self._around(address)
                if around is None or address + size > around.address + around.size:
                    continue  # memory of its own, through an aperture
                data = self.machine.read_memory(self.machine.target.default_space, address, size, self.wave, None)
            value = int.from_bytes(data, "little")
            yield SpinRead(instruction_text(instruction), address, space, size, value)

    def _compared(self, path: list[int], rows: list[Any]) -> Iterator[SpinRead]:
        """Yield the reads of a turn with what they are compared with; only those that are, if some are."""
        holders: dict[str, int] = {}
        compared: dict[int, dict[str, str]] = {}
        turn = [*enumerate(rows)]
        for index, (instruction, values, reads) in [*turn, *turn]:
            sources = {each.text: {*_names(each)} for each in instruction.sources}
            if values:
                for text, names in sources.items():
                    for owner in {holders[name] for name in names if name in holders}:
                        for value in (value for other, value in values.items() if other != text):
                            compared.setdefault(owner, {}).setdefault(value, instruction.name)
            moved = {holders[name] for names in sources.values() for name in names if name in holders}
            is_move = bool(_MOVES.match(instruction.name))
            for name in {name for each in instruction.destinations for name in _names(each)}:
                holders.pop(name, None)
                if reads:
                    holders[name] = index
                elif is_move and moved:
                    holders[name] = moved.pop()
        chosen = compared or {index: {} for index, row in turn if row[2]}
        for index, found in sorted(chosen.items()):
            texts = tuple(f"{value} ({name})" for value, name in found.items())
            yield from (evolve(read, compared=texts) for read in rows[index][2])


def _names(operand: GpuOperand) -> Iterator[str]:
    """Yield the registers of an operand."""
    if operand.kind in _FILES:
        yield from (f"{_FILES[operand.kind]}{operand.index + word}" for word in range(max(operand.count, 1)))
    elif operand.kind is OperandKind.SPECIAL and operand.register.startswith(("vcc", "m0", "flat_scratch")):
        yield operand.register.removesuffix("_lo").removesuffix("_hi")
