"""Machines of waves written as GPU core files, which ROCgdb's library reads too.

Three forms: one merged core file of an x86-64 process (as ROCgdb's ``gcore`` writes it), the pair of the host's core
file and the GPU's, and the file of the GPU alone (as the HSA runtime writes it). A core file cannot say that a register
is not known: registers of which nothing is known are written as 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.machines.gpu_core import layout
from dwarfgpu.machines.gpu_core.layout import CoreFamily, RecordShape
from dwarfgpu.machines.gpu_core.note import (
    AGENT_SIZE,
    ALWAYS_TTMPS,
    AQL,
    QUEUE_SIZE,
    AgentEntry,
    Arguments,
    CoreState,
    QueueEntry,
    arguments_note,
    elf_note,
    target_version,
    write_note,
)
from dwarfgpu.machines.gpu_core.runtime import LINK_MAP, PACKET, R_DEBUG, TRAPS_KEEP_PC
from dwarfgpu.machines.gpu_core.save_area import DEBUG_OFFSET_AT, HEADER
from dwarfgpu.machines.gpu_core.stop_reasons import BARRIER_WAIT, HALT, IN_BARRIER, flags_of
from dwarfgpu.machines.machine import NONE, Machine, queue_of
from dwarfgpu.machines.protocol import WAITS, WaveStop, trap_number
from dwarfgpu.progress import counted
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.queue import KERNEL_DISPATCH_HEADER, PACKET_SIZE, QUEUE

PAGE = 4096
CONTROL_AT = 64
"""Where the control stack begins in a save area."""
PARKED_AT = 0x1000
"""The address that the hardware register of a parked wave has: of the trap handler."""
MAX_SEGMENTS = 0xFFFE
"""``e_phnum`` has 16 bits, of which one value has another meaning."""
PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS = 1
PRSTATUS_SIZE, PRSTATUS_PID, PRSTATUS_SIGNAL = 336, 32, 12


@frozen
class LoadedImage:
    """A code object that is loaded: its URI, what is added to its addresses, and its bytes in memory."""

    uri: str
    address: int
    segments: tuple[tuple[int, bytes], ...] = ()
    """Bytes of the device, at their addresses in memory."""
    host: tuple[int, bytes] | None = None
    """Where the file itself is in the memory of the host, for a ``memory://`` URI."""
    arguments: Arguments = ()
    """The names and types of the first arguments of its kernels, where the file does not have them."""


@frozen
class CoreForm:
    """The choices that a writer has, all of which occur."""

    r_version: int = 12
    """The version of the runtime. ROCgdb's library of 2024 reads 8 to 10, that of 2026 reads 12 only."""
    xccs: int = 1
    engines: int = 1
    pid: int = 4711
    ttmp_setup: bool = True
    has_always_ttmps: bool = False
    runtime_state: int = 1
    agent_size: int = AGENT_SIZE
    queue_size: int = QUEUE_SIZE
    has_events: bool = False
    """Whether the control stack has events between the waves."""
    extra_queues: tuple[QueueEntry, ...] = ()
    """Further queues of the note, before the others."""
    host_notes: bytes | None = None
    """The notes of the host's threads; by default one thread without registers."""
    host_memory: tuple[tuple[int, bytes], ...] = ()


# --- The contents -------------------------------------------------------------------------------------------------


def core_contents(
    machines: Machine | Sequence[Machine],
    images: Iterable[LoadedImage] = (),
    stops: Callable[[int, int], WaveStop] | None = None,
    form: CoreForm | None = None,
    kernel_objects: Mapping[str, int] | None = None,
) -> CoreContents:
    """Return the core file of machines of one process, which share their global memory: that of the first.

    ``stops`` gives the state of a wave, by the index of its machine and its own; by default what its machine knows, or
    that a debugger has stopped it. ``kernel_objects`` are the addresses of kernel descriptors by the names of kernels.
    """
    given: list[Machine] = [machines] if isinstance(machines, Machine) else list(machines)
    images = list(images)
    stops = stops or (lambda machine, wave: given[machine].stop_of(wave) or WaveStop())
    contents = CoreContents(form or CoreForm(), stops, kernel_objects or {})
    contents.add_memory(given[0], images)
    for index, machine in enumerate(given):
        contents.add_machine(index, machine)
    contents.finish(images)
    return contents


class CoreContents:
    """What a core file is made of, collected machine by machine."""

    state: CoreState
    """What its note says; known when all is collected."""

    def __init__(
        self, form: CoreForm, stops: Callable[[int, int], WaveStop], kernel_objects: Mapping[str, int]
    ) -> None:
        self.form = form
        self.stops = stops
        self.kernel_objects = kernel_objects
        self.agents: list[AgentEntry] = []
        self.queues: list[QueueEntry] = [*form.extra_queues]
        self.host: list[tuple[int, Any]] = [*form.host_memory]
        self.device: list[tuple[int, Any]] = []
        self.taken: list[tuple[int, int]] = [(address, len(data)) for address, data in form.host_memory]
        self.free = 0
        self.unknown = 0
        """How many registers of waves are 0 because nothing is known of them."""
        self.lost: set[str] = set()
        """The stop reasons of waves that have no place in the file."""
        self.arguments: dict[int, Arguments] = {}
        """The names of arguments, by the addresses of code objects that do not have them."""

    def add_memory(self, machine: Machine, images: list[LoadedImage]) -> None:
        """Add the global memory of the machines, and of code objects what is not in it."""
        store = machine.memory.store(machine.target.default_space)
        for start, last, owner, offset in zip(store.starts, store.lasts, store.owners, store.offsets, strict=True):
            self.device.append((start, store.blocks[owner].buffer[offset : offset + last - start + 1]))
            self.taken.append((start, last - start + 1))
        for image in images:
            for address, data in image.segments:
                for first, end in store.gaps(address, len(data)):
                    self.device.append((first, data[first - address : end - address]))
                    self.taken.append((first, end - first))
            if image.host is not None:
                self.host.append(image.host)
                self.taken.append((image.host[0], len(image.host[1])))
        top = max((address + size for address, size in self.taken if address + size < 1 << 46), default=0)
        self.free = -(-max(top, 1 << 32) // (1 << 30) + 1) * (1 << 30)

    def allocate(self, size: int) -> int:
        """Return the address of free memory."""
        address = self.free
        self.free += -(-max(size, 1) // PAGE) * PAGE + PAGE  # a page between, so that no two segments are neighbours
        if any(start < address + size and address < start + length for start, length in self.taken):
            self.free = max(start + length for start, length in self.taken) + PAGE & -PAGE
            return self.allocate(size)
        return address

    # --- Agents and queues ----------------------------------------------------------------------------------------

    def add_machine(self, index: int, machine: Machine) -> None:
        """Add the waves of one machine, as an agent with its queues."""
        processor = machine.target.processor
        family = layout.family_of(processor)
        if family is None or "-" in processor:
            raise UsageError(
                f"waves of {machine.target.name} cannot be saved as a core file",
                hint="core files have waves of gfx900 to gfx1250; a snapshot has those of every processor",
            )
        form, apertures = self.form, machine.apertures
        gpu_id = index + 1
        agent = AgentEntry(
            gpu_id=gpu_id,
            gfx_target_version=target_version(processor),
            simd_count=4 * form.engines,
            max_waves_per_simd=16,
            array_count=form.engines,
            simd_arrays_per_engine=1,
            num_xcc=form.xccs,
            debug_prop=ALWAYS_TTMPS if form.has_always_ttmps else 0,
        )
        if apertures is not None:
            agent = evolve(agent, lds_base=apertures.shared, scratch_base=apertures.private)
        self.agents.append(agent)
        members: dict[tuple[str, str], list[int]] = {}
        for wave, name in enumerate(machine.ids):
            members.setdefault(queue_of(name), []).append(wave)
        for waves in members.values():
            self.queues.append(_QueueWriter(self, machine, index, agent, family, waves).write())

    def finish(self, images: list[LoadedImage]) -> None:
        """Add what the runtime knows of the code objects."""
        self.arguments = {image.address & (1 << 64) - 1: image.arguments for image in images}
        names = [image.uri.encode("utf-8", "surrogateescape") + b"\0" for image in images]
        size = R_DEBUG.size + LINK_MAP.size * len(images) + sum(map(len, names))
        address = self.allocate(size)
        maps = address + R_DEBUG.size
        name_at = maps + LINK_MAP.size * len(images)
        data = R_DEBUG.pack(self.form.r_version, maps if images else 0, 0, 0, 0)
        for number, (image, name) in enumerate(zip(images, names, strict=True)):
            here = maps + number * LINK_MAP.size
            following = here + LINK_MAP.size if number + 1 < len(images) else 0
            data += LINK_MAP.pack(
                image.address & (1 << 64) - 1, name_at, 0, following, here - LINK_MAP.size if number else 0
            )
            name_at += len(name)
        self.host.append((address, data + b"".join(names)))
        form = self.form
        self.state = CoreState(
            tuple(self.agents), tuple(self.queues), address, form.runtime_state, form.ttmp_setup, (1, 14)
        )


class _QueueWriter:
    def __init__(
        self,
        writer: CoreContents,
        machine: Machine,
        index: int,
        agent: AgentEntry,
        family: CoreFamily,
        waves: list[int],
    ) -> None:
        self.writer = writer
        self.form = writer.form
        self.machine = machine
        self.index = index
        self.agent = agent
        self.family = family
        self.waves = waves
        self.stops = {wave: writer.stops(index, wave) for wave in waves}
        self.dispatches = sorted({machine.place_of(wave)[0] for wave in waves} - {NONE})
        self.scratch = machine.memory.extents_of_owners(PRIVATE_WAVE)
        self.lds = machine.memory.extents_of_owners(LOCAL)
        self.scratch_at = self.per_wave = 0
        """The address of the scratch memory of the queue, and the bytes of a wave."""
        self.pool = bytearray()
        """The scratch memory."""
        self.words: list[int] = []
        self.records: list[bytes] = []
        """Of the area that is being written, from the highest address to the lowest."""
        self.registers = {
            register.name: (file, register.number) for file in machine.files for register in file.registers
        }
        self.indices = {
            prefix: sorted(
                (int(name[1:]) for name in self.registers if name[0] == prefix and name[1:].isdecimal()), reverse=True
            )
            for prefix in ("v", "a")
        }
        """The numbers of the vector registers that the machine has, the highest first."""

    def write(self) -> QueueEntry:
        """Write packets, queue object, scratch memory and save areas; return the entry of the note."""
        writer, form = self.writer, self.form
        count = 1
        while count < len(self.dispatches) + 2:
            count *= 2
        ring = writer.allocate(count * PACKET_SIZE)
        packets = b"".join(map(self._packet, self.dispatches)).ljust(count * PACKET_SIZE, b"\0")
        writer.host.append((ring, packets))
        areas = self._by_xcc()
        tmpring, self.per_wave, part = self._scratch_plan(areas)
        if self.per_wave:
            self.scratch_at = writer.allocate(part * form.xccs)
            self.pool = bytearray(part * form.xccs)
        queue = writer.allocate(QUEUE.size)
        apertures = self.machine.apertures
        has_unplaced = any(self.machine.place_of(wave)[0] == NONE for wave in self.waves)
        values = {
            "features": 1, "base_address": ring, "size": count, "id": len(writer.queues),
            "write_dispatch_id": len(self.dispatches) + has_unplaced, "read_dispatch_id": 0,
            "read_dispatch_id_field_base_byte_offset": 128, "compute_tmpring_size": tmpring,
            "scratch_backing_memory_location": self.scratch_at, "scratch_backing_memory_byte_size": part,
            "group_segment_aperture_base_hi": (apertures.shared if apertures else 1 << 48) >> 32,
            "private_segment_aperture_base_hi": (apertures.private if apertures else 2 << 48) >> 32,
        }  # fmt: skip
        writer.host.append((queue, QUEUE.encode(values)))
        built = [self._area(xcc, groups) for xcc, groups in enumerate(areas)]
        stride = -(-max(len(area) for area in built) // PAGE) * PAGE
        save_area = writer.allocate(stride * form.xccs)
        for xcc, area in enumerate(built):
            if form.xccs > 1:  # the debugger's memory is behind all of them
                struct.pack_into("<I", area, DEBUG_OFFSET_AT, (form.xccs - xcc) * stride)
            writer.host.append((save_area + xcc * stride, bytes(area)))
        if self.per_wave:
            writer.device.append((self.scratch_at, self.pool))
        return QueueEntry(
            ring_base=ring,
            write_pointer=queue + 56,
            read_pointer=queue + 128,
            save_area=save_area,
            queue_id=len(writer.queues),
            gpu_id=self.agent.gpu_id,
            ring_size=count * PACKET_SIZE,
            queue_type=AQL,
            save_area_size=stride,
        )

    def _packet(self, index: int) -> bytes:
        """Return the packet of a dispatch: the one in memory, or one that is made."""
        dispatch, machine = self.machine.dispatches[index], self.machine
        kernel = self.writer.kernel_objects.get(dispatch.kernel or "", 0)
        if dispatch.packet is not None:
            data = machine.memory.store(machine.target.default_space).read(dispatch.packet, PACKET_SIZE)
            if data is not None:
                return data
        grid, group = dispatch.grid or (0, 0, 0), dispatch.work_group or (0, 0, 0)
        return PACKET.pack(KERNEL_DISPATCH_HEADER, 3, *group, *grid, 0, 0, kernel, dispatch.kernarg or 0, 0)

    def _by_xcc(self) -> list[list[list[int]]]:
        groups: dict[tuple[int, int], list[int]] = {}
        numbers = self.machine.group_numbers
        for wave in self.waves:
            key = (0, numbers[wave]) if numbers[wave] >= 0 else (1, wave)
            groups.setdefault(key, []).append(wave)
        areas: list[list[list[int]]] = [[] for _ in range(self.form.xccs)]
        for position, members in enumerate(groups.values()):
            ordered = sorted(members, key=lambda wave: self.machine.place_of(wave)[2])
            areas[position % self.form.xccs].append(ordered)
        return areas

    def _scratch_plan(self, areas: list[list[list[int]]]) -> tuple[int, int, int]:
        """Return COMPUTE_TMPRING_SIZE, the bytes of a wave, and those of one XCC."""
        rules, engines = self.family.scratch, self.agent.engines
        most = max((at + size for wave in self.waves for at, size in self.scratch.get(wave, ())), default=0)
        if not most:
            return 0, 0, 0
        units = -(-most // rules.unit)
        per_engine = -(-max(sum(map(len, groups)) for groups in areas) // engines)
        waves = per_engine if rules.per_engine else per_engine * engines
        if per_engine > 1 << self.family.wave_id[1] or waves >> rules.waves[1] or units >> rules.size[1]:
            message = f"{len(self.waves)} waves with {most} bytes of scratch memory do not fit one queue"
            raise UsageError(message, hint="save fewer waves, or more shader engines")
        size = units * rules.unit
        return waves | units << rules.size[0], size, waves * size * (engines if rules.per_engine else 1)

    def _register(self, name: str, wave: int) -> bytes | None:
        place = self.registers.get(name)
        return None if place is None else place[0].read(wave, place[1])

    def _number(self, name: str, wave: int, default: int = 0) -> int:
        data = self._register(name, wave)
        return default if data is None else int.from_bytes(data, "little")

    def _count(self, prefix: str, wave: int) -> int:
        """Return how many registers of a kind a wave needs: up to the last that is known."""
        for index in self.indices[prefix]:
            if self._register(f"{prefix}{index}", wave) is not None:
                return index + 1
        return 0

    def _area(self, xcc: int, groups: list[list[int]]) -> bytearray:
        self.words, self.records = [0, 0], []
        before = None
        position = 0
        for group in counted(groups, "work-groups", len(groups)):
            lds = self._lds(group)
            word = self._state_word(group, len(lds))
            if word != before:
                self.words += [word] if self.family.state_words == 1 else [word, 0]
                before = word
            shape = layout.shape_of(self.family, word)
            if len(lds) < shape.lds:
                lds = lds.ljust(shape.lds, b"\0")
            for number, wave in enumerate(group):
                word = self._slot_word(wave, position, is_first=not number, is_last=number == len(group) - 1)
                record = self._record(wave, shape, xcc, position)
                self.words.append(word)
                self.records.append(bytes(record) + (b"" if number else lds) + bytes(self.family.gap))
                position += 1
            if self.form.has_events:
                self.words.append(layout.EVENT | 0x123)
        if not groups:
            return bytearray(HEADER.pack(CONTROL_AT, 0, CONTROL_AT, 0, 0, 0, 0, 0, 0).ljust(CONTROL_AT, b"\0"))
        stack = struct.pack(f"<{len(self.words)}I", *self.words)
        waves = b"".join(reversed(self.records))
        end = CONTROL_AT + len(stack) + len(waves)
        header = HEADER.pack(CONTROL_AT, len(stack), end, len(waves), 0, 0, 0, 0, 0)
        return bytearray(header.ljust(CONTROL_AT, b"\0") + stack + waves)

    def _lds(self, group: list[int]) -> bytes:
        first = self.machine.group_numbers[group[0]]
        extents = self.lds.get(first, []) if first >= 0 else []
        space: Any = self.machine.target.space(LOCAL)
        data = bytearray(max((at + size for at, size in extents), default=0))
        for at, size in extents:
            data[at : at + size] = self.machine.memory.read(space, at, size, group[0], None)
        return bytes(data)

    def _state_word(self, group: list[int], lds: int) -> int:
        """Return the word that says how much each wave of a group has."""
        family = self.family
        lanes = self.machine.target.lane_count
        vgprs = max(1, *(self._count("v", wave) for wave in group)) if group else 1
        agprs = max(self._count("a", wave) for wave in group)
        word = layout.STATE
        if family.accumulation_offset is not None:
            offset = -(-vgprs // 4)
            blocks = -(-(offset * 4 + agprs) // 8)
            word |= (offset - 1) << family.accumulation_offset[0]
        else:
            granule = family.granule[lanes]
            blocks = -(-(max(vgprs, agprs) if family.accumulation == "same" else vgprs) // granule)
        units = -(-lds // family.lds_unit)
        if family.takeover is not None and lds > 65536:
            word |= 1 << family.takeover
            units = 0
        for what, value, place in (
            ("vector registers", blocks - 1, family.vgprs),
            ("bytes of local memory", units, family.lds),
        ):
            if value >> place[1]:
                raise UsageError(f"a wave of {self.machine.target.name} has more {what} than a core file can record")
            word |= value << place[0]
        if family.sgprs is not None:
            word |= 7 << family.sgprs[0]
        if family.has_wave32_bit and lanes == 32:
            word |= 1 << 24
        return word

    def _record(self, wave: int, shape: RecordShape, xcc: int, position: int) -> bytearray:
        family = self.family
        record = bytearray(shape.size)
        row = 4 * shape.lanes
        for prefix, start, count in (("v", 0, shape.vgprs), ("a", shape.agpr_at, shape.agprs)):
            for index in range(count):
                data = self._register(f"{prefix}{index}", wave)
                self.writer.unknown += data is None
                if data is not None:
                    record[start + index * row : start + index * row + row] = data
        named = layout.named_slots(family, shape.slots)
        _put(record, shape.sgpr_at + 4 * named[1], self._register("vcc", wave), 8)
        if named[2] is not None:
            _put(record, shape.sgpr_at + 4 * named[2], self._register("flat_scratch", wave), 8)
        for index in range(named[0]):
            data = self._register(f"s{index}", wave)
            self.writer.unknown += data is None and index < (named[2] or named[0])
            if data is not None:
                record[shape.sgpr_at + 4 * index : shape.sgpr_at + 4 * index + 4] = data
        for hardware in family.hardware:
            _put(
                record, shape.hardware_at + 4 * hardware.index, self._register(hardware.name, wave), 4 * hardware.dwords
            )
        if (at := layout.mask_at(family, shape)) is not None:
            for part in (0, 1):  # of XNACK_MASK, where readers look for these SGPRs
                _put(record, at + 4 * part, self._register(f"s{named[0] - 4 + part}", wave), 4)
        self._add_scratch(wave, shape, xcc, position, record)
        self._add_identity(wave, shape, record)
        return record

    def _slot_word(self, wave: int, position: int, *, is_first: bool, is_last: bool) -> int:
        family = self.family
        slot, engine = divmod(position, self.agent.engines)
        word = slot % (1 << family.wave_id[1]) << family.wave_id[0] | engine << family.engine[0]
        has_scratch = bool(self.per_wave and wave in self.scratch)
        return word | has_scratch << family.has_scratch | is_first << family.first | is_last << family.last

    def _add_scratch(self, wave: int, shape: RecordShape, xcc: int, position: int, record: bytearray) -> None:
        """Write the scratch memory of a wave, and its address where a register has it."""
        family = self.family
        if not self.per_wave or wave not in self.scratch:
            return
        slot, engine = divmod(position, self.agent.engines)
        part = len(self.pool) // self.form.xccs
        number = part // self.per_wave // self.agent.engines * engine + slot
        at = xcc * part + number * self.per_wave
        space: Any = self.machine.target.space(PRIVATE_WAVE)
        for address, size in self.scratch[wave]:
            data = self.machine.memory.read(space, address, size, wave, None)
            self.pool[at + address : at + address + size] = data
        if family.has_architected_scratch:
            hardware = family.hardware_register("flat_scratch")
            slot = layout.named_slots(family, shape.slots)[2] or 0
            place = shape.sgpr_at + 4 * slot if hardware is None else shape.hardware_at + 4 * hardware.index
            struct.pack_into("<Q", record, place, self.scratch_at + at)

    def _pc_in_file(self, wave: int, trap: int) -> int:
        """Return the program counter of a wave as the runtime leaves it, which may be behind a trap."""
        pc = self._number("pc", wave)
        if trap and self._is_trap(pc - 4) and not self._is_trap(pc):  # at a debugger's trap waves are behind it
            pc -= 4
        if self.stops[wave].detail == WAITS and self._is_code(pc - 4, BARRIER_WAIT):
            pc -= 4
        return pc + 4 if trap and self.form.r_version < TRAPS_KEEP_PC else pc

    def _is_code(self, address: int, code: bytes) -> bool:
        """Return whether an instruction at an address ends with some bytes."""
        data = self.machine.memory.store(self.machine.target.default_space).read(address, 4) if address >= 0 else None
        return data is not None and bytes(data).endswith(code)

    def _is_trap(self, address: int) -> bool:
        return self._is_code(address, self.family.trap_bytes)

    def _add_identity(self, wave: int, shape: RecordShape, record: bytearray) -> None:
        """Write the program counter and the trap temporaries of a wave."""
        family, identity = self.family, self.family.identity
        stop = self.stops[wave]
        ttmps = [self._number(f"ttmp{index}", wave) if index in layout.SAVED_TTMPS else 0 for index in range(16)]
        dispatch, group, number = self.machine.place_of(wave)

        def put(place: tuple[int, int, int], value: int) -> None:
            register, low, width = place
            mask = (1 << width) - 1
            ttmps[register] = ttmps[register] & ~(mask << low) | (value & mask) << low

        is_placed = dispatch != NONE and min(group) >= 0 and not stop.never_ran
        if is_placed:
            sizes = layout.cluster_of(family.name, ttmps)[1]
            for place, value, size in zip(identity.group, group, sizes, strict=True):
                put(place, value // size)
            put(identity.wave, max(number, 0))
            put(identity.packet, self.dispatches.index(dispatch))
            if identity.yz_valid is not None:
                put((*identity.yz_valid, 1), 1)
        if identity.debugger_valid is not None:
            put((*identity.debugger_valid, 1), int(is_placed))
        if not is_placed:
            for register, bit in identity.not_set_up:
                put((register, bit, 1), 1)
            if not identity.not_set_up:
                put(identity.packet, len(self.dispatches))
        elif family.identity.not_set_up == ((6, 31),):
            put((6, 31, 1), 0)
        put((6, 30, 1), int(is_placed and stop.is_stopped))
        put((6, 29, 1), int(stop.was_halted))
        trap = stop.trap
        if trap is None:
            trap = trap_number(stop.reasons, self.machine.traps_at(self._number("pc", wave)))
        put(identity.trap, trap)
        pc = self._pc_in_file(wave, trap if is_placed else 0)
        hardware_pc = pc
        if is_placed and stop.is_stopped and identity.parked is not None and family.parks_at(self.form.r_version):
            ttmps[identity.parked] = pc & 0xFFFFFFFF
            put((11, 7, 16), pc >> 32)
            hardware_pc = PARKED_AT
        _put(record, shape.hardware_at + 4, struct.pack("<Q", hardware_pc), 8)
        self._add_flags(stop, shape, record)
        for index in layout.SAVED_TTMPS:
            _put(record, shape.ttmp_at + 4 * index, struct.pack("<I", ttmps[index]), 4)

    def _add_flags(self, stop: WaveStop, shape: RecordShape, record: bytearray) -> None:
        """Write why a wave has stopped into its hardware registers, beside what they have."""
        family = self.family
        flags, lost = flags_of(family, stop.reasons)
        self.writer.lost.update(lost)
        if stop.never_ran or (stop.was_halted and not stop.is_stopped):
            name, bit = HALT[family.stops]
            flags[name] = flags.get(name, 0) | 1 << bit
        if stop.detail == WAITS and family.stops == "trapsts":
            flags[IN_BARRIER[0]] = flags.get(IN_BARRIER[0], 0) | 1 << IN_BARRIER[1]
        for name, bits in flags.items():
            hardware: Any = family.hardware_register(name)
            start = shape.hardware_at + 4 * hardware.index
            before = int.from_bytes(record[start : start + 4], "little")
            _put(record, start, (before | bits).to_bytes(4, "little"), 4)


def _put(record: bytearray, start: int, data: bytes | None, size: int) -> None:
    """Write the bytes of a register into a place that may be shorter or longer."""
    if data is not None and start >= 0:
        record[start : start + min(size, len(data))] = data[:size]


# --- Files --------------------------------------------------------------------------------------------------------


def write_merged(file: BinaryIO, contents: CoreContents) -> None:
    """Write one core file with everything."""
    _write(file, _host_notes(contents) + _gpu_note(contents), [*contents.host, *contents.device])


def write_host(file: BinaryIO, contents: CoreContents) -> None:
    """Write the core file of the host, with an empty segment for each range of the device."""
    _write(file, _host_notes(contents), contents.host, contents.device)


def write_gpu(file: BinaryIO, contents: CoreContents) -> None:
    """Write the core file of the GPU, as the HSA runtime does."""
    _write(file, _gpu_note(contents), contents.device, is_gpu=True)


def _gpu_note(contents: CoreContents) -> bytes:
    form = contents.form
    note = elf_note(write_note(contents.state, agent_size=form.agent_size, queue_size=form.queue_size))
    return note + arguments_note(contents.arguments)


def _host_notes(contents: CoreContents) -> bytes:
    if contents.form.host_notes is not None:
        return contents.form.host_notes
    status = bytearray(PRSTATUS_SIZE)
    struct.pack_into("<i", status, PRSTATUS_PID, contents.form.pid)
    struct.pack_into("<h", status, PRSTATUS_SIGNAL, 6)
    return struct.pack("<III", 5, PRSTATUS_SIZE, NT_PRSTATUS) + b"CORE\0\0\0\0"[:8] + bytes(status)


def _write(
    file: BinaryIO,
    notes: bytes,
    memory: Iterable[tuple[int, Any]],
    without_bytes: Iterable[tuple[int, Any]] = (),
    *,
    is_gpu: bool = False,
) -> None:
    """Write an ELF core file: its header, its segments, the notes, and memory; some of it is only named."""
    loads = [(address, len(data), data) for address, data in memory]
    loads += [(address, len(data), b"") for address, data in without_bytes]
    loads.sort(key=lambda load: load[0])
    machine, osabi = (224, 64) if is_gpu else (62, 0)
    count = 1 + len(loads)
    if count > MAX_SEGMENTS:
        raise UsageError(f"{len(loads)} ranges of memory are too many for a core file")
    ident = b"\x7fELF" + bytes([2, 1, 1, osabi]) + bytes(8)
    position = 64 + 56 * count
    headers = [
        struct.pack(
            "<IIQQQQQQ", PT_NOTE, 0, position, 0, 0, len(notes), len(notes) if is_gpu else 0, 2 if is_gpu else 4
        )
    ]
    position += len(notes)
    step = 16 if is_gpu else PAGE
    offsets = []
    for address, size, data in loads:
        if not 0 <= address <= address + size <= 1 << 64:
            message = f"memory of {size} bytes at {address:#x} has no place in a core file: its addresses have 64 bits"
            raise UsageError(message, hint="load the code object at another address, or leave out this memory")
        position = -(-position // step) * step
        if not is_gpu and address % PAGE:  # offset and address agree in the page
            position += address % PAGE
        offsets.append(position)
        headers.append(
            struct.pack(
                "<IIQQQQQQ", PT_LOAD, 3 if is_gpu else 6, position, address, 0, len(data), size, 4 if is_gpu else 1
            )
        )
        position += len(data)
    file.write(ident + struct.pack("<HHIQQQIHHHHHH", 4, machine, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0))
    file.write(b"".join(headers))
    file.write(notes)
    at = 64 + 56 * count + len(notes)
    for offset, (_start, _size, data) in zip(offsets, counted(loads, "ranges of memory", len(loads)), strict=True):
        file.write(bytes(offset - at))
        file.write(data)
        at = offset + len(data)
