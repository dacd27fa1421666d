"""The addresses that a memory instruction makes of the registers of a wave that has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field

from dwarfgpu.errors import EvaluationError
from dwarfgpu.execution.access_shapes import FLAT, LOCAL, SCRATCH, shape_of
from dwarfgpu.execution.access_shapes import GLOBAL as GLOBAL_SHAPE
from dwarfgpu.execution.memory_access import has_base, local_offsets
from dwarfgpu.immutable import frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.lanes import lanes_in

if TYPE_CHECKING:
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
    from dwarfgpu.program.frames.wave import Wave

SPACES = {GLOBAL_SHAPE: actions.GLOBAL, FLAT: actions.GENERIC, SCRATCH: actions.PRIVATE, LOCAL: actions.LOCAL}
LOW, ALL = (1 << 32) - 1, (1 << 64) - 1


@frozen
class LaneAddresses:
    """The address of each lane that executes an instruction."""

    space: str
    action: str
    size: int
    """How many bytes each lane accesses."""
    lanes: Any = field(eq=False)
    """The numbers of the lanes, an array; none of a scalar access."""
    addresses: Any = field(eq=False)
    """Their addresses, unsigned 64-bit numbers."""
    base: int | None = None
    """The address in scalar registers that all lanes count from."""


def lane_addresses(wave: Wave, instruction: GpuInstruction, mask: int) -> LaneAddresses | None:
    """Return the addresses that the registers make now; None where they are not known, or nothing is accessed."""
    try:
        return _Reading(wave, mask).addresses(instruction)
    except EvaluationError:
        return None


class _Reading:
    """The registers of one wave."""

    def __init__(self, wave: Wave, mask: int) -> None:
        self.machine, self.wave = wave.stopped.machine, wave.index
        self.lanes = np.array(lanes_in(mask & (1 << wave.state.target.lane_count) - 1), np.int64)

    def addresses(self, instruction: GpuInstruction) -> LaneAddresses | None:
        if instruction.encoding == "SMEM":
            return self._scalar_access(instruction)
        shape = shape_of(instruction.name)
        if shape is None or shape.space not in SPACES or not len(self.lanes):
            return None
        action = shape.action if shape.action in ("load", "store") else "atomic"
        offset, base = instruction.modifiers.get("offset", 0), None
        total = np.zeros(len(self.lanes), np.uint64)
        vaddr, saddr = instruction.operand("vaddr") or instruction.operand("addr"), instruction.operand("saddr")
        has_lane = vaddr is not None and vaddr.kind is OperandKind.VGPR and not instruction.modifiers.get("sve_off")
        if shape.space == LOCAL:
            offset = local_offsets(instruction, shape)[0]
        if has_base(saddr):
            bits = 32 if shape.space == SCRATCH else 64
            base = self._number(saddr, bits)  # type: ignore[arg-type]
            total += np.uint64(base)
        if has_lane:
            total += self._vector(vaddr.index)  # type: ignore[union-attr]
            if shape.space in (GLOBAL_SHAPE, FLAT) and base is None:
                total += self._vector(vaddr.index + 1) << np.uint64(32)  # type: ignore[union-attr]
        total += np.uint64(offset & ALL)
        if shape.space in (LOCAL, SCRATCH):
            total &= np.uint64(LOW)
        return LaneAddresses(SPACES[shape.space], action, shape.size * shape.count, self.lanes, total, base)

    def _scalar_access(self, instruction: GpuInstruction) -> LaneAddresses | None:
        sbase, soffset = instruction.operand("sbase"), instruction.operand("soffset")
        if sbase is None or sbase.kind is not OperandKind.SGPR or "buffer" in instruction.name:
            return None
        base = self._number(sbase, 64)
        offset = instruction.modifiers.get("offset", 0)
        offset += 0 if soffset is None or soffset.kind is OperandKind.OFF else self._number(soffset, 32)
        size = sum(operand.bits for operand in instruction.destinations) // 8
        address = np.array([(base + offset) & ALL & ~3], np.uint64)
        return LaneAddresses(actions.SCALAR, "load", size or 4, np.zeros(0, np.int64), address, base)

    def _number(self, operand: GpuOperand, bits: int) -> int:
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE):
            return operand.value
        if operand.kind is OperandKind.SPECIAL:
            return 0 if operand.register == "null" else self._bytes(operand.register, bits)
        words = (self._bytes(f"s{operand.index + word}", 32) << 32 * word for word in range(bits // 32))
        return sum(words)

    def _bytes(self, name: str, bits: int) -> int:
        return int.from_bytes(self._contents(name), "little") & ((1 << bits) - 1)

    def _contents(self, name: str) -> bytes:
        register = self.machine.target.register_named(name) or self.machine.target.unnumbered_register(name)
        if register is None:
            raise EvaluationError("no_register", f"the target has no register {name}")
        return self.machine.read_register(register, self.wave, None)

    def _vector(self, index: int) -> Any:
        whole = np.frombuffer(self._contents(f"v{index}"), "<u4")
        return whole[self.lanes].astype(np.uint64)
