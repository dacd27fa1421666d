"""What the runtime of a process keeps in its memory: queues and packets, and the list of loaded code objects.

``amd_queue_t`` and the packet are those of `targets.amdgpu.queue`; ``r_debug`` and ``link_map`` have the layout of
glibc for x86-64 (``<link.h>``), with a version of the HSA runtime's own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.gpu_core.layout import CoreFamily, bits
from dwarfgpu.targets.amdgpu.queue import PACKET_SIZE, QUEUE, READ_DISPATCH_ID_OFFSET

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory
    from dwarfgpu.machines.gpu_core.note import AgentEntry, QueueEntry

R_DEBUG = struct.Struct("<i4xQQi4xQ")
"""``r_version``, ``r_map``, ``r_brk``, ``r_state``, ``r_ldbase``."""
LINK_MAP = struct.Struct("<5Q")
"""``l_addr``, ``l_name``, ``l_ld``, ``l_next``, ``l_prev``."""
PACKET = struct.Struct("<5H2x3I2I2Q8xQ")
MAX_OBJECTS = 1 << 16
MAX_URI = 1 << 14
TRAPS_KEEP_PC = 12
"""The ``r_version`` from which the program counter of a wave is at its ``s_trap``, and not after it."""


@frozen
class LoadedObject:
    """One entry of the link map."""

    address: int
    """The number that is added to the addresses in the file."""
    uri: str


def read_objects(memory: FileMemory, r_debug: int) -> tuple[int | None, list[LoadedObject], list[DwarfGpuError]]:
    """Return what ``r_debug`` says: its version, the list of loaded code objects, and what is wrong with that."""
    data = memory.read(r_debug, R_DEBUG.size) if r_debug else None
    if data is None:
        message = (
            f"the list of code objects (r_debug) is at {r_debug:#x}, which is in none of the files: no code object and "
            "no version of the runtime is known"
        )
        return None, [], [MissingContext("r_debug", message, spec="", hint=ADD_HOST)]
    version, item, _brk, state, _base = R_DEBUG.unpack(data)
    problems: list[DwarfGpuError] = []
    if state:
        message = "the list of code objects was being changed when the core file was written: it may be incomplete"
        problems.append(_bad(message))
    objects: list[LoadedObject] = []
    seen: set[int] = set()
    while item:
        row = memory.read(item, LINK_MAP.size)
        if row is None:
            problems.append(_bad(f"the list of code objects goes on at {item:#x}, which is in none of the files"))
            break
        if item in seen or len(objects) >= MAX_OBJECTS:
            problems.append(_bad(f"the list of code objects has no end: it comes back to {item:#x}"))
            break
        seen.add(item)
        address, name, _dynamic, following, _previous = LINK_MAP.unpack(row)
        uri = memory.text(name, MAX_URI)
        if uri is None:
            problems.append(_bad(f"the URI of a code object is at {name:#x}, and its end is in none of the files"))
        objects.append(LoadedObject(address, (uri or b"").decode("utf-8", "surrogateescape")))
        item = following
    return version, objects, problems


ADD_HOST = "it is memory of the host: name the host's core file as well (--state core.PID --state gpucore.PID)"


# --- Queues -------------------------------------------------------------------------------------------------------


@frozen
class QueueMemory:
    """What the queue object of a queue says; None where it is in none of the files."""

    address: int
    """Of ``amd_queue_t``."""
    read: int | None = None
    write: int | None = None
    packets: int | None = None
    """How many the ring holds, as ``hsa_queue_t`` says."""
    tmpring: int | None = None
    scratch: int | None = None
    """The address of the scratch memory of XCC 0."""


def read_queue(memory: FileMemory, queue: QueueEntry) -> QueueMemory:
    """Read the queue object that the read pointer of a queue is in."""
    address = queue.read_pointer - READ_DISPATCH_ID_OFFSET
    data = memory.read(address, QUEUE.size) if address > 0 else None
    if data is None:
        read, write = memory.number(queue.read_pointer, 8), memory.number(queue.write_pointer, 8)
        return QueueMemory(max(address, 0), read, write)
    names = "read_dispatch_id", "write_dispatch_id", "size", "compute_tmpring_size", "scratch_backing_memory_location"
    fields = {each.field.name: each.value for each in QUEUE.decode(data)}
    return QueueMemory(address, *(fields[name] for name in names))


@frozen
class DispatchPacket:
    """One dispatch packet."""

    index: int
    address: int
    number: int | None = None
    """Counted from the first packet of the queue, where the queue object is known."""
    header: int | None = None
    """That of a packet which was taken may say anything."""
    grid: tuple[int, int, int] | None = None
    work_group: tuple[int, int, int] | None = None
    kernel_object: int | None = None
    kernarg: int | None = None
    is_outside: bool = False
    """Whether it is outside the ring or outside the packets that are executed."""


def read_packet(memory: FileMemory, queue: QueueEntry, about: QueueMemory, index: int) -> DispatchPacket:
    """Read the packet with an index in the ring of a queue."""
    address = queue.ring_base + index * PACKET_SIZE & (1 << 64) - 1
    count = queue.ring_size // PACKET_SIZE
    if index >= count and about.packets:  # some versions of the runtime wrote packets instead of bytes
        count = about.packets
    number = None
    is_outside = bool(count) and index >= count
    if about.read is not None and about.write is not None and count:
        number = about.read // count * count + index
        number += count if number < about.read else 0
        is_outside = is_outside or not about.read <= number < about.write
    data = memory.read(address, PACKET_SIZE)
    if data is None:
        return DispatchPacket(index, address, number, is_outside=is_outside)
    header, setup, *sizes, _private, _group, kernel, kernarg, _signal = PACKET.unpack(data)
    used = setup & 3
    work_group, grid = sizes[:3], sizes[3:]
    if 1 <= used < 3:  # the others are not looked at
        work_group, grid = [[*sides[:used], *(1,) * (3 - used)] for sides in (work_group, grid)]
    x, y, z = work_group
    gx, gy, gz = grid
    is_whole = all((*work_group, *grid))
    return DispatchPacket(
        index, address, number, header, (gx, gy, gz) if is_whole else None, (x, y, z) if is_whole else None, kernel,
        kernarg, is_outside,
    )  # fmt: skip


# --- Scratch memory -----------------------------------------------------------------------------------------------


def scratch_regions(
    family: CoreFamily, agent: AgentEntry, about: QueueMemory, xcc: int
) -> Callable[[int], tuple[int, int] | None] | None:
    """Return a function that computes the address and the size of a wave's scratch memory from its slot.

    It takes the word of the wave in the control stack, and returns None for a wave without such memory. None: no wave
    of the queue has some.
    """
    if about.tmpring is None or about.scratch is None:
        return None
    rules, engines = family.scratch, agent.engines
    waves, size = bits(about.tmpring, rules.waves), bits(about.tmpring, rules.size) * rules.unit
    if not size or not waves or (not rules.per_engine and waves % engines):
        return None
    per_engine = waves if rules.per_engine else waves // engines
    base = about.scratch + xcc * per_engine * engines * size
    has_scratch = 1 << family.has_scratch
    (engine_at, engine_bits), (slot_at, slot_bits) = family.engine, family.wave_id
    engine_mask, slot_mask = (1 << engine_bits) - 1, (1 << slot_bits) - 1

    def region(word: int) -> tuple[int, int] | None:
        if not word & has_scratch:
            return None
        number = per_engine * (word >> engine_at & engine_mask) + (word >> slot_at & slot_mask)
        return base + number * size, size

    return region


def scratch_size(family: CoreFamily, about: QueueMemory) -> int | None:
    """Return the bytes of scratch memory of a wave of a queue."""
    if about.tmpring is None:
        return None
    return bits(about.tmpring, family.scratch.size) * family.scratch.unit


def _bad(message: str) -> MalformedFile:
    return MalformedFile("bad_link_map", message)
