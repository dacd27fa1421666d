"""A planned dispatch: the addresses, packets, arguments and registers that a kernel gets.

AMDGPU usage, "Kernel Dispatch". `planning.plan` makes one before any machine is touched. Launching writes it to a
machine; `initial_state` explains the registers of a wave from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import field, frozen
from dwarfgpu.targets.amdgpu import address_spaces, queue
from dwarfgpu.targets.amdgpu.geometry import AXES, Geometry, GridPosition
from dwarfgpu.targets.amdgpu.initial_state import DWORD, align, item_words, mode_fields, problems, tmpring_size
from dwarfgpu.targets.amdgpu.resources import buffer_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.launch.argument_values import PlannedBuffer
    from dwarfgpu.execution.launch.kernarg import Kernarg, Written
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.targets.amdgpu.address_spaces import Apertures
    from dwarfgpu.targets.amdgpu.initial_state import InitialRegisters, Start
    from dwarfgpu.targets.amdgpu.processors import Processor
    from dwarfgpu.targets.target import Target

FIRST_ADDRESS = 0x7F00_0000_0000
"""Where the memory of a dispatch begins by default: in the upper half of what a process has."""
GAP = 256
"""The bytes without memory behind what an earlier launch has put into memory."""
PADDING = 1 << 16
"""The bytes without memory before and after each buffer, unless a launch says otherwise: accesses there are faults."""
MOST_PADDING = 1 << 32
QUEUE_PACKETS = 64
PRINTF_BYTES = 1 << 20
"""Of the buffer for `printf`. What does not fit is lost, and the program is told."""
UNWRITTEN = b"\xfb"
"""What each byte of it is until a lane writes there."""
MAX_SCRATCH = 1 << 30
"""Of the waves of a work-group, and of all that run at a time; Scratch Wavefront Offset has 32 bits."""


class Addresses:
    """An allocator of global memory, which gives out one address after the other.

    ``loaded`` is where address 0 of the code object is, if a launch before has placed it.
    """

    def __init__(self, first: int = FIRST_ADDRESS, loaded: int | None = None) -> None:
        self.next = first
        self.loaded = loaded

    def take(self, size: int, alignment: int, gap: int = 0) -> int:
        """Return the address of a new block; before and behind it there are so many bytes without memory, or more."""
        address = align(self.next + gap, alignment)
        self.next = address + size + gap
        return address


@frozen
class GlobalBlock:
    """Global memory that a dispatch needs."""

    name: str
    address: int
    data: bytes
    stays: bool = False
    """Whether a user may look at it, or launch with it, when the waves have ended."""


@frozen
class DispatchAddresses:
    """The addresses of the structures of a dispatch."""

    queue: int
    ring: int
    """The packets of the queue; that of the dispatch is the first."""
    doorbell: int
    """What a doorbell signal points to."""
    doorbell_signal: int
    completion_signal: int
    kernarg: int


@frozen
class PlannedDispatch:
    """One dispatch of one kernel."""

    file: CodeObject
    kernel: Kernel
    target: Target
    start: Start
    rows: tuple[InitialRegisters, ...]
    """The initial state of its waves."""
    load_address: int
    """Where address 0 of the file is."""
    places: DispatchAddresses
    arguments: tuple[Written, ...]
    blocks: tuple[GlobalBlock, ...]
    """All memory that it needs, but that of the waves themselves."""
    buffers: tuple[PlannedBuffer, ...] = ()
    """The memory of the arrays that were given."""
    printf_buffer: int = 0
    """The address of the buffer for `printf`; 0 where the kernel needs none."""
    notes: tuple[str, ...] = ()
    """What the launch assumes that the user should know."""
    lacks_arguments: bool = False
    """Whether the first of these says that there are no arguments."""
    lay_out: Callable[..., Kernarg] = field(kw_only=True, eq=False, repr=False)
    """Lays out other arguments of the same launch: `kernarg.lay_out` with all else."""

    @property
    def geometry(self) -> Geometry:
        return self.start.geometry

    @property
    def problems(self) -> tuple[str, ...]:
        """The requests of the kernel's descriptor that are not met."""
        return problems(self.start)

    @property
    def apertures(self) -> Apertures | None:
        """The addresses at which generic addresses mean local and private memory; None on GFX6, which has none."""
        return apertures_of(self.start.processor)


def apertures_of(processor: Processor) -> Apertures | None:
    """Return the apertures that the driver gives a process."""
    if not processor.has("generic"):
        return None
    if processor.has("queue-apertures"):
        return address_spaces.GFX7
    return address_spaces.GFX12_5 if processor.has("lane-addresses") else address_spaces.GFX9


# --- Initial registers --------------------------------------------------------------------------------------------


@frozen
class RegisterState:
    """The content of a row of the initial state for one wave."""

    row: InitialRegisters
    words: tuple[int, ...]
    """The 32-bit words, the lowest first; of a vector register, one for each lane that executes."""
    parts: tuple[tuple[str, int], ...] = ()
    """The parts of a register that has some, by name."""


def initial_state(dispatch: PlannedDispatch, place: GridPosition) -> tuple[RegisterState, ...]:
    """Return every register of one wave that the documents define."""
    start = dispatch.start
    lanes = range(start.geometry.lanes_of(place))
    return tuple(
        RegisterState(
            row,
            tuple(item_words(row, start, place, lane) for lane in lanes)
            if row.kind == "v"
            else row.words(start, place),
            _parts(row, start, place),
        )
        for row in dispatch.rows
    )


def _parts(row: InitialRegisters, start: Start, place: GridPosition) -> tuple[tuple[str, int], ...]:
    """Return the named parts of a register: of MODE, and of the buffer resource of scratch memory."""
    if row.kind == "mode":
        return tuple((name, value) for name, _first, _width, value in mode_fields(start.fields))
    if row.rule.enable == "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER" and row.is_set:
        return buffer_parts(row.words(start, place), start.processor.major)
    return ()


def scratch_waves(wave_bytes: int, wave_count: int) -> int:
    """Return for how many waves of a dispatch there is scratch memory at a time."""
    return wave_count if not wave_bytes else min(wave_count, MAX_SCRATCH // wave_bytes)


# --- Structures in memory -----------------------------------------------------------------------------------------


def structures(start: Start, places: DispatchAddresses, kernel_object: int) -> tuple[GlobalBlock, ...]:
    """Return packets, queue and signals in memory."""
    invalid = queue.DISPATCH_PACKET.encode({"header": queue.INVALID})
    packets = _packet(start, places, kernel_object) + invalid * (QUEUE_PACKETS - 1)
    # GFX7-GFX8 have legacy doorbells; the value of either is the address of the doorbell itself
    kind = queue.LEGACY_DOORBELL if start.processor.major <= 8 else queue.DOORBELL
    bell = queue.SIGNAL.encode({"kind": kind, "value": places.doorbell, "queue_ptr": places.queue})
    return (
        GlobalBlock("queue", places.queue, _queue(start, places)),
        GlobalBlock("packets", places.ring, packets),
        GlobalBlock("doorbell", places.doorbell, bytes(8)),
        GlobalBlock("doorbell signal", places.doorbell_signal, bell),
        GlobalBlock(
            "completion signal", places.completion_signal, queue.SIGNAL.encode({"kind": queue.USER, "value": 1})
        ),
    )


def _packet(start: Start, places: DispatchAddresses, kernel_object: int) -> bytes:
    shape = start.geometry
    return queue.DISPATCH_PACKET.encode(
        {
            "header": queue.KERNEL_DISPATCH_HEADER,
            "setup": shape.dimensions,
            **{f"workgroup_size_{axis}": size for axis, size in zip(AXES, shape.work_group, strict=True)},
            **{f"grid_size_{axis}": size for axis, size in zip(AXES, shape.grid, strict=True)},
            "private_segment_size": start.private_segment_size,
            "group_segment_size": start.group_segment_size,
            "kernel_object": kernel_object,
            "kernarg_address": start.kernarg,
            "completion_signal": places.completion_signal,
        }
    )


def _queue(start: Start, places: DispatchAddresses) -> bytes:
    """Encode the queue after the packet has been read. Unknown limits of the device are 0."""
    scratch, processor = start.scratch, start.processor
    scratch_count = scratch_waves(scratch.wave_bytes, start.geometry.wave_count)
    words = b"".join(word.to_bytes(DWORD, "little") for word in scratch.descriptor)
    values = {
        "type": queue.SINGLE,  # "For GFX8 and earlier systems, only HSA Queue type SINGLE is supported."
        "features": queue.KERNEL_DISPATCH_FEATURE,
        "base_address": places.ring,
        "doorbell_signal": places.doorbell_signal,
        "size": QUEUE_PACKETS,
        "write_dispatch_id": start.dispatch_id + 1,
        "read_dispatch_id": start.dispatch_id + 1,
        "read_dispatch_id_field_base_byte_offset": queue.READ_DISPATCH_ID_OFFSET,
        "compute_tmpring_size": tmpring_size(processor, scratch.wave_bytes, scratch_count),
        "scratch_resource_descriptor": int.from_bytes(words, "little"),
        "scratch_backing_memory_location": scratch.offset if processor.has("flat-offset") else scratch.base,
        "scratch_backing_memory_byte_size": scratch.wave_bytes * scratch_count,
        "scratch_wave64_lane_byte_size": scratch.wave_bytes // 64,
        "queue_properties": queue.IS_PTR64,
    }
    bases = apertures_of(processor)
    if bases is not None:
        values["group_segment_aperture_base_hi"] = bases.shared >> 32
        values["private_segment_aperture_base_hi"] = bases.private >> 32
    return queue.QUEUE.encode(values)
