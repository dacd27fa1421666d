"""The waves of a GPU core file as machines: one for each processor and wave size in the file."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.immutable import define, field, frozen
from dwarfgpu.machines.columns import Cells, RegisterFile
from dwarfgpu.machines.gpu_core import layout
from dwarfgpu.machines.gpu_core.mapped_registers import MappedRegisters, RecordRows
from dwarfgpu.machines.gpu_core.note import ALWAYS_TTMPS, AQL, ENABLED, QUEUE_BITS, exceptions_in
from dwarfgpu.machines.gpu_core.runtime import (
    TRAPS_KEEP_PC,
    read_objects,
    read_packet,
    read_queue,
    scratch_regions,
    scratch_size,
)
from dwarfgpu.machines.gpu_core.save_area import SavedWaves, area_stride, read_area
from dwarfgpu.machines.gpu_core.stop_reasons import (
    BARRIER_BITS,
    BARRIER_WAIT,
    HALT,
    STOP_REGISTERS,
    is_waiting,
    reasons_of,
)
from dwarfgpu.machines.machine import NONE, Dispatch, LoadedCodeObject, Machine
from dwarfgpu.machines.protocol import IS_HALTED, TRAPS, WAITS, Capabilities, WaveStop, not_writable
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.address_spaces import SIZE, Apertures
from dwarfgpu.targets.amdgpu.processors import processor_named
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory
    from dwarfgpu.machines.gpu_core.layout import CoreFamily, RecordShape
    from dwarfgpu.machines.gpu_core.note import AgentEntry, CoreState, QueueEntry
    from dwarfgpu.machines.gpu_core.runtime import DispatchPacket, LoadedObject, QueueMemory
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

MAX_WAVES = 1 << 20
FEW = 64
"""The stop reasons of fewer waves are read one by one. Those of 30,000 are read together in 40 times less time."""
MAX_FAILURES = 8
"""After this many unreadable save areas of a queue, the remaining ones are skipped."""
MAX_AREAS = 1 << 12
"""How many save areas are read at most: one per queue and XCC."""

VALID, STOPPED, HALTED, NEVER_RAN, MOVED = (1 << bit for bit in range(5))
"""Of a wave: its trap temporaries have a meaning; it is stopped; it was halted before; it was launched halted; its
program counter is that of the trap before the one in the file."""


@frozen
class QueueSummary:
    """A queue of the process, and what the files contain of it."""

    number: int
    """From 1, in the order of the note."""
    agent: int
    """The number of its agent; 0 if the note does not list the agent."""
    entry: QueueEntry
    memory: QueueMemory
    wave_count: int
    has_waves: bool
    """Whether the file can contain its waves: it is an AQL queue with a save area."""


@define
class SavedColumns:
    """The waves of one processor and one size, in columns."""

    processor: str
    lanes: int
    family: CoreFamily
    agent: AgentEntry
    shapes: dict[RecordShape, int] = field(factory=dict)
    """The shapes of waves, with their numbers."""
    ids: list[str] = field(factory=list)
    shape: Any = field(factory=lambda: array("I"))
    records: Any = field(factory=lambda: array("Q"))
    words: Any = field(factory=lambda: array("I"))
    pcs: Any = field(factory=lambda: array("Q"))
    flags: Any = field(factory=lambda: array("B"))
    traps: Any = field(factory=lambda: array("B"))
    dispatches: Any = field(factory=lambda: array("q"))
    groups: list[tuple[int, int, int]] = field(factory=list)
    numbers: Any = field(factory=lambda: array("q"))
    first_waves: Any = field(factory=lambda: array("q"))
    """The index of the first wave of the work-group of each wave."""
    scratch: list[tuple[int, int] | None] = field(factory=list)
    no_vgprs: set[int] = field(factory=set)
    """The waves that have released their vector registers."""
    pc_known: bytearray = field(factory=bytearray)


@define
class GpuCore:
    """The GPUs of a process as read from a GPU core file."""

    state: CoreState
    memory: FileMemory
    r_version: int | None
    objects: list[LoadedObject]
    queues: list[QueueSummary] = field(factory=list)
    dispatches: list[Dispatch] = field(factory=list)
    packets: list[DispatchPacket] = field(factory=list)
    machines: list[SavedGpu] = field(factory=list)
    problems: list[DwarfGpuError] = field(factory=list)

    @property
    def wave_count(self) -> int:
        """The number of waves in all machines."""
        return sum(machine.wave_count for machine in self.machines)


class SavedGpu(Machine):
    """The waves of a GPU core file with one processor and one wave size."""

    capabilities = Capabilities(
        name="gpu-core",
        summary="the waves of a GPU core file, of one processor and one wave size, in the mapped file",
        many_waves=True,
        writes="stays in memory; the files are never changed",
        unknown="registers that a wave has not allocated, memory that is in none of the files",
        gathered="array operations",
        instances=True,
    )

    def __init__(self, target: Target, core: GpuCore | None = None, columns: SavedColumns | None = None) -> None:
        Machine.__init__(self, target)
        self.core = core
        self.columns = columns
        self._reasons: dict[Any, tuple[tuple[str, ...], str]] = {}
        """Stop reasons with details, cached by trap ID and the contents of the registers that give them."""
        self._all_stops: tuple[int, list[WaveStop | None]] | None = None
        """Why each wave has stopped, and the number of changes then."""

    @property
    def group_numbers(self) -> array[int]:
        """The first wave of each wave's work-group, from the control stack."""
        if self.columns is None:
            return super().group_numbers
        first_waves: array[int] = self.columns.first_waves
        return first_waves

    def stop_of(self, wave: int) -> WaveStop | None:
        columns = self.columns
        if columns is None or not 0 <= wave < len(columns.flags):
            return None
        flags = columns.flags[wave]
        is_stopped = bool(flags & STOPPED)
        trap = columns.traps[wave] if is_stopped else 0
        traps = self.traps_at(columns.pcs[wave]) if trap else TRAPS
        numbers = ((name, file.read(wave, number), mask) for name, file, number, mask in self._stop_registers)
        contents = tuple(
            (name, int.from_bytes(data, "little") & mask) for name, data, mask in numbers if data is not None
        )
        code = self._code_at(columns.pcs[wave])
        key = trap, id(traps), contents, code == BARRIER_WAIT
        if key not in self._reasons:
            values = dict(contents)
            reasons = reasons_of(columns.family, trap, values, traps=traps)
            self._reasons[key] = reasons, WAITS if not reasons and is_waiting(columns.family, values, code) else ""
        reasons, detail = self._reasons[key]
        if flags & HALTED and not reasons:
            detail = detail or IS_HALTED
        return WaveStop(
            reasons,
            detail=detail,
            is_stopped=is_stopped,
            was_halted=bool(flags & HALTED),
            never_ran=bool(flags & NEVER_RAN),
            trap=trap,
        )

    def all_stops(self) -> Sequence[WaveStop | None]:
        columns, count = self.columns, self.wave_count
        if columns is None or count < FEW:
            return super().all_stops()
        if self._all_stops is None or self._all_stops[0] != self.changes:
            import numpy as np

            waves, traps = np.arange(count), np.asarray(columns.traps)
            pcs = np.asarray(columns.pcs)
            at_waits = [pc for pc in np.unique(pcs).tolist() if self._code_at(pc) == BARRIER_WAIT]
            parts = [traps, np.asarray(columns.flags), np.where(traps, pcs, 0), np.isin(pcs, at_waits)]
            for _name, file, number, mask in self._stop_registers:
                parts.append(file.flags(waves, number, count))
                parts.append(file.gather(waves, number, 0, 4, count).view("<u4")[:, 0] & mask)
            key = np.zeros(count, "i8")
            for part in parts:
                if (part != part[0]).any():
                    places = np.unique(part, return_inverse=True)[1].reshape(count)
                    key = np.unique(key * count + places, return_inverse=True)[1].reshape(count)
            _keys, firsts = np.unique(key, return_index=True)
            stops = [self.stop_of(wave) for wave in firsts.tolist()]
            self._all_stops = self.changes, [stops[place] for place in key.tolist()]
        return self._all_stops[1]

    def _code_at(self, pc: int) -> bytes | None:
        """Return the code at a program counter, where it can say that a wave waits."""
        is_needed = self.core is not None and self.columns is not None and self.columns.family.stops != "trapsts"
        code = self.core.memory.read(pc, 4) if is_needed and self.core is not None else None
        return None if code is None else bytes(code)

    @cached_property
    def _stop_registers(self) -> list[tuple[str, RegisterFile, int, int]]:
        """The registers that say why a wave has stopped, with the bits of them that do."""
        found = ((name, self.register_named(name)) for name in STOP_REGISTERS)
        return [
            (name, self._file_of[register.number], register.number, BARRIER_BITS.get(name, 0xFFFFFFFF))
            for name, register in found
            if register is not None and register.number in self._file_of
        ]

    def write_memory(self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None) -> None:
        if self.core is not None and not self.core.memory.is_writable:
            self.read_memory(space, address, len(data), wave, lane)
            raise not_writable(f"memory at {space.name}#{address:#x} of a core file that is mapped read-only")
        Machine.write_memory(self, space, address, data, wave, lane)


# --- Reading ------------------------------------------------------------------------------------------------------


def read_gpu_core(state: CoreState, memory: FileMemory) -> GpuCore:
    """Read agents, queues, dispatches and waves. Record what cannot be read as a problem, and read the rest."""
    r_version, objects, problems = read_objects(memory, state.r_debug)
    core = GpuCore(state, memory, r_version, objects, problems=problems)
    if state.runtime_state != ENABLED:
        message = f"the runtime was not enabled (state {state.runtime_state}): its waves may not be readable"
        core.problems.append(MalformedFile("runtime_state", message))
    reader = _Collector(core)
    reader.read()
    code = [LoadedCodeObject(entry.uri, entry.address) for entry in objects]
    for columns in reader.columns.values():
        core.machines.append(_machine(core, columns, code))
    return core


_OF_WAVES = {
    "truncated": "have registers that none of the files contain; a file may be truncated",
    "scratch_differs": "have a scratch address in their register that their slots contradict; the register is used",
    "pc_of_trap": "have a program counter after their s_trap in the file; dwarfgpu shows the s_trap",
}


class _Area:
    """A queue whose save areas are being read, with the facts that all its waves share."""

    def __init__(
        self, core: GpuCore, number: int, owner: int, queue: QueueEntry, about: QueueMemory, family: CoreFamily
    ) -> None:
        self.number = number
        self.owner = owner
        self.queue = queue
        self.about = about
        self.family = family
        self.agent = agent = core.state.agents[owner - 1]
        self.has_ttmps = core.state.ttmp_setup or bool(agent.debug_prop & ALWAYS_TTMPS)
        self.parks = family.parks_at(core.r_version)
        self.decoder = layout.IdentityDecoder(family, core.r_version)
        self.pc_mask = (1 << family.pc_bits) - 1
        name, self.halt_bit = HALT[family.stops]
        halt, status = family.hardware_register(name), family.hardware_register("status")
        self.halt_at = 0 if halt is None else halt.index
        self.vgprs_at = status.index if status is not None and family.name == "gfx11" else None
        """The index of STATUS if it can show that a wave has released its vector registers; else None."""
        self.scratch_bytes = scratch_size(family, about)


class _Collector:
    """Fills the columns, queue after queue in the order of the note."""

    def __init__(self, core: GpuCore) -> None:
        self.core = core
        self.columns: dict[tuple[str, int], SavedColumns] = {}
        self.dispatch_of: dict[tuple[int, int], int] = {}
        """The index of a dispatch by its queue and packet."""
        self.count = 0
        self.areas = 0
        self.told: set[str] = set()

    def read(self) -> None:
        state = self.core.state
        numbers: dict[int, int] = {}
        for number, agent in enumerate(state.agents, 1):
            numbers.setdefault(agent.gpu_id, number)
            for name in exceptions_in(agent.exception_status):
                self.problem(f"agent {number} has raised: {name}", "agent_exception")
        for number, queue in enumerate(state.queues, 1):
            owner = numbers.get(queue.gpu_id, 0)
            before = self.count
            about = read_queue(self.core.memory, queue)
            has_waves = queue.queue_type == AQL and bool(queue.save_area)
            if has_waves:
                self.queue(number, owner, queue, about)
            summary = QueueSummary(number, owner, queue, about, self.count - before, has_waves)
            self.core.queues.append(summary)
            for name in exceptions_in(queue.exception_status):
                self.problem(f"queue {number} has raised: {name}", "queue_exception")
            if queue.queue_id & QUEUE_BITS:
                self.problem(f"queue {number} is marked as being in error", "queue_error")

    def problem(self, message: str, kind: str, hint: str | None = None) -> None:
        """Add a problem, once."""
        if message not in self.told:
            self.told.add(message)
            self.core.problems.append(MalformedFile(kind, message, hint=hint))

    def queue(self, number: int, owner: int, queue: QueueEntry, about: QueueMemory) -> None:
        """Read the waves of one queue."""
        if not owner:
            self.problem(f"queue {number} belongs to no agent of the note (its gpu_id is {queue.gpu_id})", "bad_queue")
            return
        agent = self.core.state.agents[owner - 1]
        family = layout.family_of(agent.processor)
        if family is None or processor_named(agent.processor) is None:
            message = f"the waves of agent {owner}, a {agent.processor}, are not shown: the layout is unknown"
            self.problem(message, "unknown_processor")
            return
        if family.is_documented_only:
            message = f"the layout of the waves of {agent.processor} is untested on files from hardware"
            self.problem(message, "unverified_layout")
        area = _Area(self.core, number, owner, queue, about, family)
        failures = 0
        stride = area_stride(self.core.memory, queue, agent.xccs)
        for xcc in range(agent.xccs):
            self.areas += 1
            if failures >= MAX_FAILURES:
                self.problem(f"the other XCCs of queue {number} are skipped: too many cannot be read", "save_area")
                return
            if self.areas > MAX_AREAS:
                self.problem(f"the note names more than {MAX_AREAS} save areas: the others are not read", "too_large")
                return
            try:
                waves = read_area(self.core.memory, queue, str(number), xcc, family, stride)
            except DwarfGpuError as error:
                if str(error) not in self.told:
                    self.told.add(str(error))
                    self.core.problems.append(error)
                failures += 1
                continue
            self.core.problems += waves.problems
            if self.count + len(waves) > MAX_WAVES:
                self.problem(f"there are more than {MAX_WAVES} waves: the others are not read", "too_large")
                return
            self.waves(area, waves)

    def waves(self, area: _Area, waves: SavedWaves) -> None:
        """Add the waves of one save area to the columns."""
        family = area.family
        if not area.has_ttmps and len(waves):
            message = (
                f"the trap temporaries of agent {area.owner} were not set up, so dispatches, work-groups and stop "
                "reasons of its waves are not known"
            )
            self.problem(message, "no_ttmps")
        read = _record_reader(self.core.memory, family)
        first_bit, last_bit = 1 << family.first, 1 << family.last
        leader: dict[int, int] = {}
        is_open = False
        counts = dict.fromkeys(_OF_WAVES, 0)
        find_scratch = scratch_regions(family, area.agent, area.about, waves.xcc)
        before: RecordShape | None = None
        columns: Any = None
        number = 0
        for word, record, index in zip(waves.words, waves.records, waves.shape, strict=True):
            shape = waves.shapes[index]
            if shape is not before:
                key = area.agent.processor, shape.lanes
                columns = self.columns.get(key)
                if columns is None:
                    columns = self.columns[key] = SavedColumns(*key, family, area.agent)
                number, before = columns.shapes.setdefault(shape, len(columns.shapes)), shape
            wave = len(columns.records)
            self.count += 1
            if word & first_bit or not is_open:
                leader = {shape.lanes: wave}
            is_open = not word & last_bit
            columns.first_waves.append(leader.setdefault(shape.lanes, wave))
            columns.shape.append(number)
            columns.records.append(record)
            columns.words.append(word)
            region = None if find_scratch is None else find_scratch(word)
            data = read(record, shape)
            counts["truncated"] += data is None
            self.wave(area, columns, data, counts)
            if data is not None and family.has_architected_scratch:
                own = self.scratch_register(family, shape, record, data[0])
                region, differs = _own_region(family, word, own, region, area.scratch_bytes)
                counts["scratch_differs"] += differs
            columns.scratch.append(region)
        place = f"queue {area.number}" if not waves.xcc else f"XCC {waves.xcc} of queue {area.number}"
        for kind, count in counts.items():
            if count:
                self.problem(f"{count} waves of {place} {_OF_WAVES[kind]}", kind)

    def wave(
        self,
        area: _Area,
        columns: SavedColumns,
        data: tuple[tuple[int, ...], tuple[int, ...]] | None,
        counts: dict[str, int],
    ) -> None:
        """Add the identity and state of a wave from its registers; without them both are unknown."""
        family = area.family
        pc = flags = trap = 0
        dispatch, group, number = NONE, (NONE, NONE, NONE), NONE
        hardware, ttmps = data or ((), ())
        if data is not None:
            pc = (hardware[1] | hardware[2] << 32) & area.pc_mask
            if area.vgprs_at is not None and hardware[area.vgprs_at] & layout.NO_VGPRS:
                columns.no_vgprs.add(len(columns.records) - 1)
        if data is not None and area.has_ttmps:
            if not area.decoder.not_set_up(ttmps):
                flags |= VALID
                group, number, packet = area.decoder.place(ttmps)
                dispatch = self.dispatch(area.number, area.queue, area.about, packet)
                if ttmps[6] >> 30 & 1 and area.decoder.debugger_valid(ttmps):
                    flags |= STOPPED | (HALTED if ttmps[6] >> 29 & 1 else 0)
                    trap = area.decoder.trap(ttmps)
                    if area.parks and family.identity.parked is not None:
                        pc = ttmps[family.identity.parked] | (ttmps[11] >> 7 & 0xFFFF) << 32
            if not flags & STOPPED and hardware[area.halt_at] >> area.halt_bit & 1:
                flags |= HALTED if flags & VALID else NEVER_RAN
        r_version = self.core.r_version
        if trap and (r_version is None or r_version < TRAPS_KEEP_PC) and self.is_trap(pc - 4, family):
            pc -= 4
            flags |= MOVED
            counts["pc_of_trap"] += 1
        columns.pc_known.append(data is not None)
        columns.pcs.append(pc)
        columns.flags.append(flags)
        columns.traps.append(trap)
        columns.dispatches.append(dispatch)
        columns.groups.append(group)
        columns.numbers.append(number)
        known = self.core.dispatches[dispatch].id if dispatch >= 0 else 0
        columns.ids.append(f"{area.owner}:{area.number}:{known}:{self.count}")

    def dispatch(self, number: int, queue: QueueEntry, about: QueueMemory, index: int) -> int:
        """Return the index of the dispatch of a packet; read each packet once."""
        core = self.core
        known = self.dispatch_of.setdefault((number, index), len(core.dispatches))
        if known < len(core.dispatches):
            return known
        packet = read_packet(core.memory, queue, about, index)
        if packet.is_outside:
            message = f"packet {index} of queue {number} is not among those that it executes"
            self.problem(message, "packet_outside")
        if packet.header is None:
            message = (
                f"the packets of queue {number} are at {queue.ring_base:#x}, which is in none of the files, so its "
                "kernels and grids are not known"
            )
            self.problem(message, "no_packets", "packets are in host memory: name the host's core file, too")
        kernarg, queue_at = packet.kernarg or None, about.address or None
        sizes = packet.grid, packet.work_group
        core.dispatches.append(Dispatch(known + 1, None, *sizes, kernarg, queue_at, packet.address))
        core.packets.append(packet)
        return known

    def is_trap(self, address: int, family: CoreFamily) -> bool:
        """Return whether there is an ``s_trap`` at an address."""
        code = self.core.memory.read(address, 4) if address >= 0 else None
        return code is not None and code[2:] == family.trap_bytes

    def scratch_register(
        self, family: CoreFamily, shape: RecordShape, record: int, hardware: tuple[int, ...]
    ) -> int | None:
        """Return the scratch address in FLAT_SCRATCH, which the hardware has set for a wave."""
        register = family.hardware_register("flat_scratch")
        if register is not None:
            return hardware[register.index] | hardware[register.index + 1] << 32
        slot = layout.named_slots(family, shape.slots)[2]
        return None if slot is None or slot < 0 else self.core.memory.number(record + shape.sgpr_at + 4 * slot, 8)


def _own_region(
    family: CoreFamily, word: int, own: int | None, computed: tuple[int, int] | None, size: int | None
) -> tuple[tuple[int, int] | None, bool]:
    """Return the scratch memory at the address that a wave holds, and whether its slot gives another address."""
    if not word >> family.has_scratch & 1 or own == 0:
        return None, False
    if own is None:
        return computed, False
    if not size:
        return None, False
    return (own, size), computed is not None and computed[0] != own


def _record_reader(memory: FileMemory, family: CoreFamily) -> Any:
    """Return a function that reads the hardware registers and the trap temporaries of a record."""
    count = family.hardware_bytes // 4
    unpack_hardware = struct.Struct(f"<{count}I").unpack_from
    unpack_ttmps = struct.Struct("<16I").unpack_from
    first = last = offset = -1
    buffer: Any = b""

    def read(record: int, shape: RecordShape) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        nonlocal first, last, offset, buffer
        start = record + shape.hardware_at
        low = min(start, record + shape.ttmp_at)
        high = record + shape.size
        if not (first <= low and high <= last):
            there = memory.locate(low, high - low)
            if there is None:
                data = memory.read(low, high - low)
                if data is None:
                    return None
                return unpack_hardware(data, start - low), unpack_ttmps(data, record + shape.ttmp_at - low)
            last = low + memory.room(low)
            offset, buffer = there[1] - low, memory.blocks[there[0]].buffer
            first = memory.starts[bisect_right(memory.starts, low) - 1]
        return unpack_hardware(buffer, offset + start), unpack_ttmps(buffer, offset + record + shape.ttmp_at)

    return read


# --- Machines -----------------------------------------------------------------------------------------------------


def _machine(core: GpuCore, columns: SavedColumns, code: list[LoadedCodeObject]) -> SavedGpu:
    processor = processor_named(columns.processor)
    suffix = f"-wave{columns.lanes}" if processor is not None and len(processor.wave_sizes) > 1 else ""
    machine = SavedGpu(resolve(f"amdgcn-{columns.processor}{suffix}"), core, columns)
    machine.code_objects = code
    machine.dispatches = core.dispatches
    machine.ids = columns.ids
    flat = array("q", [number if number < 1 << 31 else NONE for group in columns.groups for number in group])
    machine.places = {
        "dispatch": _cells(columns.dispatches, 1), "work_group": _cells(flat, 3),
        "wave_in_group": _cells(columns.numbers, 1),
    }  # fmt: skip
    agent = columns.agent
    if agent.lds_base and agent.scratch_base and not (agent.lds_base % SIZE or agent.scratch_base % SIZE):
        if agent.lds_base != agent.scratch_base:
            machine.set_apertures(Apertures(agent.lds_base, agent.scratch_base))
    else:
        message = f"a {agent.processor} has impossible apertures: {agent.lds_base:#x} and {agent.scratch_base:#x}"
        core.problems.append(MalformedFile("bad_apertures", message))
    for file in _register_files(core.memory, columns, machine.target):
        machine.add_file(file)
    _add_memory(core, columns, machine)
    machine.changes = 0
    return machine


def _cells(column: Any, width: int, kind: str = "<i8") -> Cells:
    return Cells(kind, (len(column) // width, width), memoryview(bytearray(column)))


def _register_files(memory: FileMemory, columns: SavedColumns, target: Target) -> Iterator[RegisterFile]:
    shapes, family = list(columns.shapes), columns.family
    pc: Any = target.register_named("pc")
    known = _cells(columns.pc_known, 1, "|b1") if 0 in columns.pc_known else None
    yield RegisterFile((pc,), _cells(columns.pcs, 1, "<u8").shaped(len(columns.pcs), 1, 1), known)

    def mapped(
        names: list[str], offsets: list[int], counts: list[int], stored: int | None = None, *, shared: bool = False,
        elsewhere: Sequence[tuple[int, int]] = (),
    ) -> Iterator[RegisterFile]:  # fmt: skip
        """Yield consecutive registers, which begin at an offset in the record that depends on the shape."""
        registers = [register for name in names if (register := _register(target, name)) is not None]
        if registers and any(counts):
            has_shared = shared and any(shape.shared for shape in shapes)
            lacking = frozenset(columns.no_vgprs) if names[0][0] in "va" and names[0] != "vcc" else frozenset()
            many = [shape.shared for shape in shapes]
            rows = RecordRows(columns.records, columns.shape, offsets, counts, many, elsewhere)
            yield MappedRegisters(registers, memory, rows, stored=stored, has_shared=has_shared, lacking=lacking)

    everywhere = [1] * len(shapes)
    most = max((shape.vgprs + shape.shared for shape in shapes), default=0)
    for low, high in ((0, min(most, 512)), (512, most)):  # v512 and above are registers of a second block
        names = [f"v{index}" for index in range(low, high)]
        counts = [max(0, shape.vgprs - low) for shape in shapes]
        yield from mapped(names, [low * 4 * columns.lanes for _ in shapes], counts, shared=True)
    counts = [shape.agprs for shape in shapes]
    names = [f"a{index}" for index in range(max(counts, default=0))]
    yield from mapped(names, [shape.agpr_at for shape in shapes], counts)
    slots = [(shape.sgpr_at, *layout.named_slots(family, shape.slots)) for shape in shapes]
    counts = [count for _at, count, *_named in slots]
    names = [f"s{index}" for index in range(max(counts, default=0))]
    places = [layout.mask_at(family, shape) for shape in shapes]
    elsewhere = [(count - 4, at) for count, at in zip(counts, places, strict=True) if at is not None]
    yield from mapped(names, [at for at, *_named in slots], counts, elsewhere=elsewhere)
    for name, place in (("vcc", 2), ("flat_scratch", 3)):
        if family.hardware_register(name) is None:
            yield from mapped(
                [name], [named[0] + 4 * (named[place] or 0) for named in slots],
                [int((named[place] or -1) >= 0) for named in slots],
            )  # fmt: skip
    for hardware in family.hardware:
        if hardware.name != "pc":
            register = _register(target, hardware.name)
            size = 0 if register is None else -(-register.bit_size // 8)
            offsets = [shape.hardware_at + 4 * hardware.index for shape in shapes]
            yield from mapped([hardware.name], offsets, everywhere, min(4 * hardware.dwords, size))
    for low, high in ((4, 11), (13, 13)):
        names = [f"ttmp{index}" for index in range(low, high + 1)]
        offsets = [shape.ttmp_at + 4 * low for shape in shapes]
        yield from mapped(names, offsets, [len(names) for _ in shapes])


def _register(target: Target, name: str) -> TargetRegister | None:
    return target.register_named(name) or target.unnumbered_register(name)


def _add_memory(core: GpuCore, columns: SavedColumns, machine: SavedGpu) -> None:
    """Add the memory of the machine: the files hold global memory; local and private memory are windows into it."""
    memory, shapes = core.memory, list(columns.shapes)
    machine.memory.stores[machine.target.default_space.number] = memory
    local = []
    for wave, first in enumerate(columns.first_waves):
        shape = shapes[columns.shape[wave]]
        if wave == first and shape.lds:
            local.append((wave << 32, columns.records[wave] + shape.lds_at, shape.lds))
    if local:
        machine.memory.stores[LOCAL] = memory.windows(local)
    private = [(wave << 32, *region) for wave, region in enumerate(columns.scratch) if region is not None]
    if private:
        machine.memory.stores[PRIVATE_WAVE] = memory.windows(private)


# --- Consistency --------------------------------------------------------------------------------------------------


def group_problems(machine: SavedGpu) -> Iterator[DwarfGpuError]:
    """Yield inconsistencies in the work-groups of a machine: signs that the assumed layout is wrong."""
    columns = machine.columns
    if columns is None:
        return
    wrong = numbers = 0
    flags, groups, owners, own = columns.flags, columns.groups, columns.dispatches, columns.numbers
    seen: dict[int, set[int]] = {}
    for wave, first in enumerate(columns.first_waves):
        if wave == first or not flags[wave] & VALID:
            continue
        wrong += groups[wave] != groups[first] or owners[wave] != owners[first]
        members = seen.setdefault(first, {own[first]})
        numbers += own[wave] in members
        members.add(own[wave])
    if wrong:
        message = f"{wrong} waves of {machine.target.name} name another work-group than the first wave of their group"
        yield MalformedFile("bad_groups", message)
    if numbers:
        message = f"{numbers} waves of {machine.target.name} have the same number as another wave of their work-group"
        yield MalformedFile("bad_groups", message)


def no_waves(problems: Iterable[DwarfGpuError]) -> MissingContext:
    """Return the error for a core file without readable waves."""
    kinds = ("truncated", "save_area", "bad_save_area", "unknown_processor")
    causes = sorted((each for each in problems if each.kind in kinds), key=lambda each: kinds.index(each.kind))
    problem = causes[0] if causes else None
    why, hint = ("no queue has a wave", None) if problem is None else (problem.message, problem.hint)
    return MissingContext("waves", f"the core file has no waves that can be read: {why}", spec="", hint=hint)
