"""A dispatch that runs: the waves of a launch, in batches, until they end, stop, or have executed enough.

Waves at the same instruction are one batch. The batch with the lowest address goes first, so waves that went
different ways meet again where the ways do; a batch that others wait for too long gives way. The order is the same
each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.backends.running import instructions
from dwarfgpu.backends.running.batch import FLAT_SCRATCH, M0, NOTHING, UNSET, VCC, VCC_HI, WaveBatch, number_of
from dwarfgpu.backends.running.block_writer import INDEX_ENABLE, BlockWriter, Clock
from dwarfgpu.backends.running.device_memory import GlobalMemory, Segment
from dwarfgpu.backends.running.memory_access import MemoryAccess
from dwarfgpu.backends.running.stops import MachineFault, Pause, UnknownInstruction
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decode
from dwarfgpu.targets.amdgpu.numbers import GENERIC, LOCAL, PRIVATE_WAVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.backends.machine import Machine

LONGEST = 256
"""The instructions of a block."""
PATIENCE = 1000
"""The blocks that a batch executes before another gets its turn."""


@frozen(eq=False)
class Block:
    """Straight code from one address."""

    function: Callable[[WaveBatch], Any]
    addresses: tuple[int, ...]
    """The address of the instruction of each line of the function, from its third line on."""
    count: int
    """Its instructions."""
    following: int


@frozen
class Stopped:
    """Waves that cannot go on."""

    waves: tuple[int, ...]
    pc: int
    reason: str


class Device:
    """The waves of a machine, running."""

    def __init__(self, machine: Machine, *, scratch_base: int = 0) -> None:
        self.machine = machine
        target = machine.target
        self.processor = target.name.split("-")[1]
        self.lanes = target.lane_count
        self.generation = _generation(self.processor)
        machine.find_apertures()
        generic: Any = machine.target.space(GENERIC)
        apertures = generic.alias.apertures
        self.memory = MemoryAccess(
            GlobalMemory(_segments(machine)),
            lanes=self.lanes,
            local=_instances(machine, LOCAL),
            group_of=_rows_of_groups(machine),
            scratch=_instances(machine, PRIVATE_WAVE),
            scratch_base=scratch_base,
            apertures=(apertures.shared, apertures.private),
        )
        self.memory.swizzles_dwords = self.generation >= 9
        self.memory.generation = self.generation
        self.apertures = apertures
        self.clock = Clock()
        self.blocks: dict[tuple[int, int], Block] = {}
        self.batches = [_batch_of(machine, self.lanes)]
        self.waiting: list[WaveBatch] = []
        """Waves at a barrier."""
        self.ended: list[WaveBatch] = []
        self.stopped: list[tuple[WaveBatch, str]] = []
        self.executed = 0
        """The instructions, each counted once for each wave."""
        self._groups = machine.groups()
        self._alive = np.bincount(np.maximum(self._groups, 0), minlength=machine.wave_count)

    # --- Running --------------------------------------------------------------------------------------------------

    def run(self, limit: int | None = None) -> None:
        """Run until every wave has ended or stopped, or a number of instructions has been executed."""
        with np.errstate(all="ignore"):
            while self.batches and (limit is None or self.executed < limit):
                self._turn(limit)

    def _turn(self, limit: int | None) -> None:
        """Run the batch with the lowest address until it meets another, parts, or waits."""
        batch = min(self.batches, key=lambda each: each.pc)
        self.batches.remove(batch)
        others = [each for each in self.batches if each.pc == batch.pc and each.mode == batch.mode]
        if others:
            batch = batch.join(others)
            self.batches = [each for each in self.batches if each not in others]
        nearest = min((each.pc for each in self.batches), default=None)
        blocks, count = self.blocks, batch.count
        for _ in range(PATIENCE if self.batches else 1 << 62):
            pc, mode = batch.pc, batch.mode
            block = blocks.get((pc, mode))
            if block is None:
                block = self._block(pc, mode)
                blocks[pc, mode] = block
            try:
                following = block.function(batch)
            except MachineFault as fault:
                self._fault(batch, block, fault)
                return
            self.executed += block.count * count
            if not isinstance(following, int):
                self._part(batch, following)
                return
            if following < 0:
                self._pause(batch, following)
                return
            batch.pc = following
            if nearest is not None and following >= nearest:
                break
            if limit is not None and self.executed >= limit:
                break
        self.batches.append(batch)

    def _part(self, batch: WaveBatch, following: Any) -> None:
        addresses = np.unique(following)
        for address in addresses.tolist():
            part = batch if len(addresses) == 1 else batch.part(following == address)
            part.pc = address
            self.batches.append(part)

    def _pause(self, batch: WaveBatch, pause: int) -> None:
        if pause == Pause.END:
            self.ended.append(batch)
            np.subtract.at(self._alive, self._groups[batch.waves], 1)
            self._release()
        elif pause == Pause.BARRIER:
            self.waiting.append(batch)
            self._release()
        else:
            self.stopped.append((batch, "trap" if pause == Pause.TRAP else "halt"))

    def _release(self) -> None:
        """Let the waves go on whose whole work-group is at the barrier."""
        if not self.waiting:
            return
        arrived = np.zeros(len(self._alive), np.int64)
        for batch in self.waiting:
            np.add.at(arrived, self._groups[batch.waves], 1)
        whole = arrived == self._alive
        waiting, self.waiting = self.waiting, []
        for batch in waiting:
            free = whole[self._groups[batch.waves]]
            if free.all():
                self.batches.append(batch)
            elif free.any():
                self.batches.append(batch.part(free))
                self.waiting.append(batch.part(~free))
            else:
                self.waiting.append(batch)

    def _fault(self, batch: WaveBatch, block: Block, fault: MachineFault) -> None:
        """Stop the waves that cannot execute an instruction; the others go on with it."""
        trace = fault.__traceback__
        line = 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<block>":
                line = trace.tb_lineno
            trace = trace.tb_next
        batch.pc = block.addresses[line - 3]
        self.executed += batch.count * len({address for address in block.addresses[: line - 3] if address != batch.pc})
        if fault.waves is None or fault.waves.all():
            self.stopped.append((batch, fault.reason))
            return
        self.stopped.append((batch.part(fault.waves), fault.reason))
        self.batches.append(batch.part(~fault.waves))

    # --- Code -----------------------------------------------------------------------------------------------------

    def _block(self, pc: int, mode: int) -> Block:
        """Compile the code from an address to the next branch."""
        writer = BlockWriter(self.lanes, mode)
        writer.names_of_apertures = self._special_sources()
        writer.processor, writer.generation, writer.clock = self.processor, self.generation, self.clock
        writer.keeps_halves = self.generation >= 10
        writer.permuted_lanes = 32 if self.generation >= 10 else self.lanes
        address, count = pc, 0
        while True:
            if count == LONGEST:
                writer.write(f"return {address}")
                break
            writer.address = address
            instruction = decode(self._code(address), 0, self.processor, self.lanes)
            start = len(writer.lines)
            try:
                ends = instructions.write_instruction(writer, instruction, address, self.memory)
            except UnknownInstruction as problem:
                del writer.lines[start:], writer.addresses[start:]
                text = writer.name(_unable(str(problem), instruction.data))
                writer.write(f"{text}()")
                writer.write(f"return {address}")
                break
            count += 1
            address += instruction.size
            if ends:
                break
        return Block(writer.function(), tuple(writer.addresses), count, address)

    def _code(self, address: int) -> bytes:
        segment = self.memory.memory.segment_of(address, address + 3)
        if segment is None:
            raise MachineFault(f"memory violation: no code at {address:#x}")
        start = address - segment.start
        code: bytes = segment.data[start : start + 20].tobytes()
        return code

    def _special_sources(self) -> dict[str, int]:
        shared, private = self.apertures.shared, self.apertures.private
        return {
            "src_shared_base": shared, "src_private_base": private, "src_shared_base_lo": 0, "src_private_base_lo": 0,
            "src_shared_limit": shared + 0xFFFFFFFF, "src_private_limit": private + 0xFFFFFFFF,
        }  # fmt: skip

    # --- The machine ----------------------------------------------------------------------------------------------

    def every_batch(self) -> list[tuple[WaveBatch, str | None]]:
        """Return all waves, with why they do not run."""
        return [
            *((batch, None) for batch in self.batches),
            *((batch, "waits at a barrier") for batch in self.waiting),
            *self.stopped,
            *((batch, "has ended") for batch in self.ended),
        ]

    def write_back(self) -> None:
        """Put the registers of the waves into the machine, where they are read; memory is there already."""
        machine = self.machine
        machine.stop_reasons.clear()
        for batch, reason in self.every_batch():
            for prefix, registers in (("v", batch.vector), ("a", batch.accumulation)):
                for number, column in enumerate(registers):
                    if column is not NOTHING:
                        machine.set_register(
                            f"{prefix}{number}", np.broadcast_to(column, (batch.count, self.lanes)), batch.waves
                        )
            for name, value in self._scalars(batch):
                numbers = np.full(batch.count, value, np.uint64) if isinstance(value, int) else value[:, 0]
                machine.set_register(name, numbers, batch.waves)
            if reason is not None:
                machine.stop_reasons.update(dict.fromkeys(batch.waves.tolist(), reason))
        machine.changes += 1

    def _scalars(self, batch: WaveBatch) -> Iterator[tuple[str, Any]]:
        """Yield the scalar registers that are known, by the names that the target has."""
        scalar, named = batch.scalar, self.machine.register_named
        for number in range(VCC):
            if scalar[number] is not UNSET and named(f"s{number}") is not None:
                yield f"s{number}", scalar[number]
        for number in range(16):
            if scalar[108 + number] is not UNSET:
                yield f"ttmp{number}", scalar[108 + number]
        for name, number in (("vcc", VCC), ("m0", M0), ("vcc_hi", VCC_HI)):
            if scalar[number] is not UNSET and named(name) is not None:
                yield name, scalar[number]
        if scalar[FLAT_SCRATCH] is not UNSET and named("flat_scratch") is not None:
            yield "flat_scratch", scalar[FLAT_SCRATCH] | scalar[FLAT_SCRATCH + 1] << 32
        yield from (("pc", batch.pc), ("exec", batch.exec), ("mode", batch.mode & INDEX_ENABLE * 2 - 1))


def _unable(reason: str, data: bytes) -> Any:
    def raise_it() -> None:
        raise MachineFault(f"{reason}: {data.hex(' ', 4)}")

    return raise_it


def _generation(processor: str) -> int:
    digits = processor.removeprefix("gfx").partition("-")[0]
    return int(digits[:-2]) if digits[:-2].isdigit() else int(digits[0])


def _segments(machine: Machine) -> list[Segment]:
    store = machine.memory.store(machine.target.default_space)
    found = []
    for start, last, owner, offset in zip(store.starts, store.lasts, store.owners, store.offsets, strict=True):
        whole = np.frombuffer(store.blocks[owner].buffer, np.uint8)
        found.append(Segment.of(start, whole[offset : offset + last - start + 1]))
    return found


def _instances(machine: Machine, number: int) -> Any:
    """Return the memory of all instances of an address space, ``[instance, byte]``."""
    store = machine.memory.stores.get(number)
    if store is None or not len(store.starts):
        return np.zeros((0, 0), np.uint8)
    (block,) = store.blocks
    return np.frombuffer(block.buffer, np.uint8).reshape(len(store.starts), -1)


def _rows_of_groups(machine: Machine) -> Any:
    groups = machine.groups()
    first = np.unique(groups)
    return np.searchsorted(first, groups)


def _batch_of(machine: Machine, lanes: int) -> WaveBatch:
    """Return the waves of a machine as one batch, which must be at one address."""
    count = machine.wave_count
    files = {name: file for file in machine.files for name in [file.registers[0].name]}
    vector, accumulation = files.get("v0"), files.get("a0")
    batch = WaveBatch(
        np.arange(count),
        lanes,
        len(vector.registers) if vector else 0,
        len(accumulation.registers) if accumulation else 0,
    )
    for file, columns in ((vector, batch.vector), (accumulation, batch.accumulation)):
        if file is not None:
            for number, register in enumerate(file.registers):
                if file.known[:, file.positions[register.number]].any():
                    columns[number] = np.array(file.data[:, number])
    for file in machine.files:
        for position, register in enumerate(file.registers):
            if register.lane_bits or not file.known[:, position].any():
                continue
            _set(batch, register.name, number_of(file.data[:, position].astype(np.uint64)))
    return batch


def _set(batch: WaveBatch, name: str, number: Any) -> None:
    if name[0] == "s" and name[1:].isdigit():
        batch.scalar[int(name[1:])] = number
    elif name.startswith("ttmp"):
        batch.scalar[108 + int(name[4:])] = number
    elif name == "pc":
        batch.pc = int(number)
    elif name == "exec":
        batch.set_exec(number)
    elif name == "vcc":
        batch.scalar[VCC] = number
    elif name == "mode":
        batch.mode = int(number)
    elif name == "m0":
        batch.scalar[M0] = number
    elif name == "flat_scratch":
        batch.scalar[FLAT_SCRATCH], batch.scalar[FLAT_SCRATCH + 1] = number & 0xFFFFFFFF, number >> 32
    elif name == "status":
        batch.status = number
