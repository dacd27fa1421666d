"""The addresses that a memory instruction makes of the registers of a wave that has stopped.

The interpreter executes the instruction with these registers and a memory that reads and writes nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution import access_shapes as shapes
from dwarfgpu.execution.batch import EXEC, EXEC_HI, M0, VCC, VCC_HI, WaveBatch, lane_flags
from dwarfgpu.execution.block_writer import BlockWriter
from dwarfgpu.execution.device_memory import GlobalMemory
from dwarfgpu.execution.faults import BROKEN, MachineFault, UnknownInstruction
from dwarfgpu.execution.memory_access import OUTSIDE, MemoryAccess
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind
from dwarfgpu.isa.semantics.numbers import ALL
from dwarfgpu.isa.tables import is_gfx12_5
from dwarfgpu.machines.machine import Machine
from dwarfgpu.targets.amdgpu import GENERIC
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.targets.amdgpu.address_spaces import Apertures

SPACES = {
    shapes.GLOBAL: actions.GLOBAL, shapes.FLAT: actions.GENERIC, shapes.SCRATCH: actions.PRIVATE,
    shapes.LOCAL: actions.LOCAL, shapes.BUFFER: actions.GLOBAL,
}  # fmt: skip
ADDS = re.compile(r"v_(add(_co|_nc)?_[ui]32|lshl_add_u64|mov_b32)(_e32|_e64)?$")
"""What makes the low half of an address of a pointer in scalar registers."""
NAMES = {VCC_HI: "vcc_hi", M0: "m0", EXEC: "exec_lo", EXEC_HI: "exec_hi"}


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
    """Their addresses: unsigned 64-bit numbers, of local and private memory signed ones."""
    base: int | None = None
    """The address in scalar registers that all lanes count from."""
    unit: int = 4
    """The alignment that the hardware may ask for."""
    is_of_stack: bool = False
    """Whether private memory is addressed by scalar registers alone, as the places of a frame are."""
    parts: tuple[tuple[int, int], ...] = ()
    """Of an operation with two offsets, how far behind the addresses each lane's places are, and their sizes."""


def lane_addresses(wave: Wave, instruction: GpuInstruction, mask: int) -> LaneAddresses | None:
    """Return the addresses that the registers make now; None where they are not known, or nothing is accessed."""
    try:
        return _SeenAccesses(wave).addresses(instruction, mask)
    except (DwarfGpuError, UnknownInstruction, *BROKEN):
        return None


class _Registers(dict[int, Any]):
    """The registers of a wave, each read when it is first needed."""

    def __init__(self, wave: Wave, kind: str) -> None:
        self.machine, self.wave, self.kind = wave.stopped.machine, wave.index, kind

    def __missing__(self, index: int) -> Any:
        name = f"{self.kind}{index}" if self.kind != "s" else NAMES.get(index, f"s{index}")
        if self.kind == "s" and index == VCC:
            name = "vcc" if self.machine.target.lane_count > 32 else "vcc_lo"
        register = self.machine.target.register_named(name) or self.machine.target.unnumbered_register(name)
        if register is None:
            raise LookupError(name)
        data = self.machine.read_register(register, self.wave, None)
        self[index] = int.from_bytes(data, "little") if self.kind == "s" else np.frombuffer(data, "<u4")[None, :]
        return self[index]


class _SeenAccesses(MemoryAccess):
    """The accesses of one instruction: a memory that keeps them, and does none."""

    has_shortcuts = False

    def __init__(self, wave: Wave) -> None:
        machine, self.wave = wave.stopped.machine, wave
        if isinstance(machine, Machine):
            machine.find_apertures()
        generic: Any = machine.target.space(GENERIC)
        self.aperture: Apertures | None = None if generic is None else generic.alias.apertures
        super().__init__(GlobalMemory([]), lanes=machine.target.lane_count)
        processor = processor_named(machine.target.processor)
        self.generation = self.generation if processor is None else processor.major
        self.swizzles_dwords = self.generation >= 9
        self.found: list[tuple[str, Any, int, str]] = []
        self.is_stack = False
        self.watch_waves = self._see_waves

    def addresses(self, instruction: GpuInstruction, mask: int) -> LaneAddresses | None:
        """Execute an instruction, and return the addresses that it makes."""
        batch: Any = WaveBatch([0], self.lanes, 0, 0)
        batch.vector, batch.accumulation, batch.scalar = (_Registers(self.wave, kind) for kind in "vas")
        batch.exec, batch.mask = mask, lane_flags(mask, self.lanes)
        writer = BlockWriter(self.lanes, 0)
        writer.processor, writer.generation = self.wave.state.target.processor, self.generation
        if not self.write(writer, instruction):
            return None
        with suppress(MachineFault, DwarfGpuError, *BROKEN):  # afterwards it may need what only results need
            writer.function()(batch)
        if not self.found:
            return None
        space, addresses, size, action = self.found[0]
        places = [(other, width) for kind, other, width, _action in self.found if kind == space]
        for other_space, other, other_size, _action in self.found[1:]:
            if other_space == space and other.shape == addresses.shape:  # both of an operation that has two offsets
                first = np.minimum(addresses, other)
                size = int((np.maximum(addresses + size, other + other_size) - first).max())
                addresses = first
        lanes, shape = np.zeros(0, np.int64), shapes.shape_of(instruction.name)
        parts = tuple((int((other - addresses).flat[0]), width) for other, width in places if addresses.ndim > 1)
        if addresses.ndim > 1:
            inside = batch.mask[0] & (addresses[0] != OUTSIDE)
            lanes, addresses = np.flatnonzero(inside), addresses[0][inside]
        if space == actions.GENERIC and self.aperture is not None and len(lanes):
            is_local, is_private = self.aperture.is_local(addresses), self.aperture.is_private(addresses)
            space = actions.LOCAL if is_local.all() else actions.PRIVATE if is_private.all() else space
        if space in (actions.LOCAL, actions.PRIVATE):
            addresses = addresses.astype(np.uint32).view(np.int32).astype(np.int64)
        vaddr = instruction.operand("vaddr")
        is_of_frame = space == actions.PRIVATE and (vaddr is None or vaddr.kind is not OperandKind.VGPR)
        bits = 0x1FFFFFF if is_gfx12_5(writer.processor) else 0xFFFF
        base_of_all, unit = _base(instruction, batch.scalar, bits), 4 if shape is None else shape.size
        return LaneAddresses(space, action, size, lanes, addresses, base_of_all, unit, is_of_frame, parts)

    # --- What the interpreter calls -------------------------------------------------------------------------------

    def _places(self, _batch: WaveBatch, space: str, address: Any, size: int) -> list[Any]:
        kind = actions.PRIVATE if self.is_stack else SPACES[space]
        self.found.append((kind, np.broadcast_to(address, (1, self.lanes)), size, self.moving[0]))
        return []

    def _see_waves(self, space: str, address: Any, size: int, action: str) -> None:
        kind = actions.SCALAR if space == shapes.GLOBAL else SPACES[space]
        self.found.append((kind, np.array([int(address) & ALL & ~3], np.uint64), size, action))
        raise MachineFault("an access has been seen")

    def buffer_address(self, batch: WaveBatch, words: Any, index: Any, offset: Any, scalar: Any, size: int) -> Any:
        """Return the address that a resource gives; of a stack, where dwords of lanes take turns, the private one."""
        if self.generation >= 11 or not words[3] >> 23 & 1:
            return super().buffer_address(batch, words, index, offset, scalar, size)
        self.is_stack, place = True, self.private_place(scalar)
        if place is None:
            raise LookupError("a stack pointer between two dwords")
        return np.asarray(offset).astype(np.int64) + place


def added_base(wave: Wave, function: FunctionCode, index: int) -> int | None:
    """Return the 64-bit number in scalar registers that was added, before an instruction, to make its addresses.

    None if it was not added in the same block, or if EXEC was written since. If its registers were, it is what they
    were loaded with from the kernarg segment, whose address is in registers yet.
    """
    pointer = function.steps[index].instruction.operand("vaddr")
    if pointer is None or pointer.kind is not OperandKind.VGPR or pointer.count != 2:
        return None
    low, written, lost = pointer.index, set[actions.Register](), None
    for number in range(index - 1, function.blocks[function.block_at(index)].first - 1, -1):
        whole = function.steps[number].instruction
        parts = whole.components or (whole,)
        if lost is not None:
            for word in whole.destinations:
                if word.kind is OperandKind.SGPR and -1 <= lost - word.index <= word.count - 1:  # one of both at least
                    is_whole = 0 <= lost - word.index < word.count - 1
                    return _of_kernarg(wave, whole, 4 * (lost - word.index), written) if is_whole else None
                written.update(actions.registers_of(word))
            continue
        if writes_exec(whole):
            return None
        for each in parts:
            if any(word.kind is OperandKind.VGPR and 0 <= low - word.index < word.count for word in each.destinations):
                if not ADDS.match(each.name):
                    return None
                scalars = [word for word in each.sources if word.kind is OperandKind.SGPR]
                vectors = [word.index for word in each.sources if word.kind is OperandKind.VGPR]
                if scalars and written.isdisjoint(actions.registers_of(evolve(scalars[0], bits=64))):
                    return _pair(wave, scalars[0].index)
                if scalars and function.major >= 8:  # before, offsets of loads count dwords
                    lost = scalars[0].index
                elif scalars or len(vectors) != 1:
                    return None
                else:
                    low = vectors[0]
        written.update(*(actions.registers_of(word) for each in parts for word in each.destinations))
    return None


def _pair(wave: Wave, index: int) -> int | None:
    """Return the number in two scalar registers."""
    held = _Registers(wave, "s")
    with suppress(DwarfGpuError, LookupError):
        return int(held[index] | held[index + 1] << 32)
    return None


def _of_kernarg(wave: Wave, load: GpuInstruction, offset: int, written: set[actions.Register]) -> int | None:
    """Return the pointer that an instruction loaded from the kernarg segment, if that can still be told."""
    base, place = load.operand("sbase"), load.operand("offset")
    more = load.operand("soffset")
    is_plain = (more is None or more.register == "null") and (place is None or place.kind is OperandKind.IMMEDIATE)
    if not load.name.startswith("s_load_") or base is None or base.kind is not OperandKind.SGPR or not is_plain:
        return None
    launch = wave.launch
    if not written.isdisjoint(actions.registers_of(base)) or _pair(wave, base.index) != launch.kernarg:
        return None
    at = offset + (0 if place is None else place.value)
    return next((row.number for row in launch.arguments if row.offset == at and row.size == 8), None)


def writes_exec(instruction: GpuInstruction) -> bool:
    """Return whether an instruction writes EXEC."""
    parts = instruction.components or (instruction,)
    return any("saveexec" in each.name or "cmpx" in each.name for each in parts) or any(
        word.register in ("exec", "exec_lo", "exec_hi") for each in parts for word in each.destinations
    )


def _base(instruction: GpuInstruction, scalars: Any, bits: int) -> int | None:
    """Return the 64-bit address that an instruction counts from, or that of the resource of a buffer.

    ``bits`` are those of the second word of a resource that belong to its address.
    """
    resource = instruction.operand("srsrc") or instruction.operand("rsrc")
    base = resource or instruction.operand("saddr") or instruction.operand("sbase")
    if base is None or base.kind is not OperandKind.SGPR or base.bits == 32:
        return None
    high = scalars[base.index + 1]
    return int(scalars[base.index] | (high if resource is None else high & bits) << 32)
