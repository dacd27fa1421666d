"""The structures of AMD's queues in memory: queue, signal and dispatch packet, bit by bit.

AMDGPU Compute ABI 0.40, "AMD Queue" and "Signals". The fields that the packet processor alone reads have no row there;
they and the HSA structures at the beginning are those of ROCr (``amd_hsa_queue.h``, ``hsa.h``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from dwarfgpu.errors import UsageError, shown
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    Kind = Literal["number", "signed", "address", "words", "reserved"]


# --- Structures in memory -----------------------------------------------------------------------------------------
# A table covers every byte of its structure: what a document reserves is a row too, so that writing sets it
# to 0 and reading can tell when it is not.


@frozen
class BitRange:
    """Some bits of a field that have a meaning of their own."""

    name: str
    shift: int
    width: int
    meanings: tuple[tuple[int, str], ...] = ()
    """All values that are allowed, if only some are."""
    text: Callable[[int], str | None] | None = None
    """What a value means, if any value may be there."""

    def meaning_of(self, value: int) -> str | None:
        """Return what a value means, if there is a word for it."""
        return dict(self.meanings).get(value) if self.text is None else self.text(value)


@frozen
class StructureField:
    """One row of a structure."""

    offset: int
    size: int
    name: str
    """Empty for what is reserved."""
    kind: Kind
    meaning: str
    clause: str
    bits: tuple[BitRange, ...] = ()
    meanings: tuple[tuple[int, str], ...] = ()


@frozen
class FieldValue:
    """A field of one object."""

    field: StructureField
    value: int

    @property
    def meaning(self) -> str | None:
        """The meaning of the value, if the document has a word for it."""
        return dict(self.field.meanings).get(self.value)

    @property
    def parts(self) -> tuple[tuple[BitRange, int, str | None], ...]:
        """The bit ranges of the field, with their values and what these mean."""
        ranges = []
        for bit_range in self.field.bits:
            value = self.value >> bit_range.shift & ((1 << bit_range.width) - 1)
            ranges.append((bit_range, value, bit_range.meaning_of(value)))
        return tuple(ranges)


@frozen
class Structure:
    """A structure: its name in the document, its size and alignment in bytes, and its rows."""

    name: str
    size: int
    alignment: int
    clause: str
    fields: tuple[StructureField, ...]

    def field(self, name: str) -> StructureField:
        """Return the row with a name."""
        for field in self.fields:
            if field.name == name and name:
                return field
        raise UsageError(f"{self.name} has no field {name!r}")

    def encode(self, values: Mapping[str, int]) -> bytes:
        """Encode an object with some values; all other fields are 0."""
        data = bytearray(self.size)
        for name, value in values.items():
            field = self.field(name)
            bits = field.size * 8
            low = -(1 << (bits - 1)) if field.kind == "signed" else 0
            if not low <= value < 1 << bits:
                raise UsageError(f"{self.name}.{name} has {field.size} bytes, which {shown(value)} does not fit")
            data[field.offset : field.offset + field.size] = (value % (1 << bits)).to_bytes(field.size, "little")
        return bytes(data)

    def decode(self, data: bytes) -> tuple[FieldValue, ...]:
        """Decode all fields of an object, in their order."""
        fields = []
        for field in self.fields:
            content = data[field.offset : field.offset + field.size]
            fields.append(FieldValue(field, int.from_bytes(content, "little", signed=field.kind == "signed")))
        return tuple(fields)

    def violations(self, values: tuple[FieldValue, ...]) -> tuple[str, ...]:
        """Return a message for each reserved field that is not 0."""
        return tuple(
            f"reserved bytes {value.field.offset} to {value.field.offset + value.field.size - 1} must be 0"
            for value in values
            if value.field.kind == "reserved" and value.value
        )


def forbidden(values: tuple[FieldValue, ...]) -> tuple[str, ...]:
    """Return a message for reserved bits that are not 0, and for values that a closed list of meanings leaves out."""
    found = []
    for value in values:
        field = value.field
        if field.meanings and value.meaning is None and field.clause != ROCR_PACKETS:
            found.append(f"{field.name} must not be {value.value}")
        for bits, number, meaning in value.parts:
            last = f"{bits.shift + bits.width - 1}:{bits.shift}"
            if bits.name == "reserved" and number:
                found.append(f"bits {last} of {field.name} must be 0, found {number:#x}")
            elif bits.meanings and meaning is None:
                found.append(f"{bits.name} must not be {number}")
    return tuple(found)


def broken_rules(structure: Structure, address: int, values: tuple[FieldValue, ...]) -> tuple[str, ...]:
    """Return what the texts forbid of a structure at an address."""
    found = [f"{structure.name} must be aligned to {structure.alignment} bytes"] * bool(address % structure.alignment)
    found += [*structure.violations(values), *forbidden(values)]
    named = {value.field.name: value.value for value in values}
    if structure is QUEUE:
        size, base = named["size"], named["base_address"]
        if address >> 32 != address + structure.size - 1 >> 32:
            found.append("the queue must not span a boundary of 4 GiB")
        if not size or size & size - 1:
            found.append(f"size must be a power of 2, found {size}")
        if base % PACKET_SIZE:
            found.append(f"base_address must be aligned to {PACKET_SIZE} bytes, found {base:#x}")
    if structure is DISPATCH_PACKET:
        dimensions = named["setup"] & 3
        if not dimensions:
            found.append("dimensions must be 1, 2 or 3, found 0")
        for number, axis in enumerate("xyz"):
            for name in (f"workgroup_size_{axis}", f"grid_size_{axis}"):
                if not named[name]:
                    found.append(f"{name} must not be 0")
                elif dimensions and number >= dimensions and named[name] != 1:
                    found.append(f"{name} must be 1 with dimensions {dimensions}, found {named[name]}")
    return tuple(found)


def fields_of(clause: str, *rows: tuple[Any, ...]) -> tuple[StructureField, ...]:
    """Return rows, given as offset, size, name, kind, meaning, bits and meanings, that one clause defines."""
    return tuple(StructureField(*row[:5], clause, *row[5:]) for row in rows)  # type: ignore[call-arg]


QUEUE_CLAUSE = 'AMDGPU Compute ABI 0.40, "AMD AQL Queue Object amd_queue_t"'
SIGNAL_CLAUSE = 'AMDGPU Compute ABI 0.40, "Signal object amd_signal_t"'
PACKET_CLAUSE = 'HSA Platform System Architecture Specification, "Kernel dispatch packet"'
HSA_QUEUE = "ROCr, hsa.h: hsa_queue_t"
ROCR_QUEUE = "ROCr, amd_hsa_queue.h"

PACKET_SIZE = 64
PACKET_TYPES = (
    (0, "vendor specific"), (1, "invalid"), (2, "kernel dispatch"), (3, "barrier and"), (4, "agent dispatch"),
    (5, "barrier or"),
)  # fmt: skip
INVALID, KERNEL_DISPATCH = 1, 2
FENCE_SCOPES = ((0, "none"), (1, "agent"), (2, "system"))
SYSTEM_SCOPE = 2
HEADER_BITS = (
    BitRange("type", 0, 8, PACKET_TYPES),
    BitRange("barrier", 8, 1),
    BitRange("acquire_fence_scope", 9, 2, FENCE_SCOPES),
    BitRange("release_fence_scope", 11, 2, FENCE_SCOPES),
    BitRange("reserved", 13, 3),
)
KERNEL_DISPATCH_HEADER = KERNEL_DISPATCH | SYSTEM_SCOPE << 9 | SYSTEM_SCOPE << 11

SETUP_BITS = (BitRange("dimensions", 0, 2), BitRange("reserved", 2, 14))

DISPATCH_PACKET = Structure(
    "hsa_kernel_dispatch_packet_t", PACKET_SIZE, 64, PACKET_CLAUSE,
    fields_of(
        PACKET_CLAUSE,
        (0, 2, "header", "number", "what the packet is, and its fences", HEADER_BITS),
        (2, 2, "setup", "number", "dimensions of the grid", SETUP_BITS),
        (4, 2, "workgroup_size_x", "number", "work-items of a work-group in X"),
        (6, 2, "workgroup_size_y", "number", "work-items of a work-group in Y"),
        (8, 2, "workgroup_size_z", "number", "work-items of a work-group in Z"),
        (10, 2, "", "reserved", "must be 0"),
        (12, 4, "grid_size_x", "number", "work-items of the grid in X"),
        (16, 4, "grid_size_y", "number", "work-items of the grid in Y"),
        (20, 4, "grid_size_z", "number", "work-items of the grid in Z"),
        (24, 4, "private_segment_size", "number", "bytes of private memory of a work-item"),
        (28, 4, "group_segment_size", "number", "bytes of local memory of a work-group"),
        (32, 8, "kernel_object", "address", "kernel descriptor or amd_kernel_code_t"),
        (40, 8, "kernarg_address", "address", "kernarg segment"),
        (48, 8, "", "reserved", "must be 0"),
        (56, 8, "completion_signal", "address", "signal that tells of the end, or 0"),
    ),
)  # fmt: skip

_HEADER = (0, 2, "header", "number", "what the packet is, and its fences", HEADER_BITS)
_COMPLETION = (56, 8, "completion_signal", "address", "signal that tells of the end, or 0")


def _barrier(name: str, condition: str) -> Structure:
    clause = f'HSA Platform System Architecture Specification, "Barrier-{condition} packet"'
    return Structure(
        f"hsa_barrier_{name}_packet_t", PACKET_SIZE, 64, clause,
        fields_of(
            clause,
            _HEADER,
            (2, 2, "", "reserved", "must be 0"),
            (4, 4, "", "reserved", "must be 0"),
            *((8 + 8 * n, 8, f"dep_signal_{n}", "address", "signal that is waited for, or 0") for n in range(5)),
            (48, 8, "", "reserved", "must be 0"),
            _COMPLETION,
        ),
    )  # fmt: skip


AGENT_CLAUSE = 'HSA Platform System Architecture Specification, "Agent dispatch packet"'
AGENT_PACKET = Structure(
    "hsa_agent_dispatch_packet_t", PACKET_SIZE, 64, AGENT_CLAUSE,
    fields_of(
        AGENT_CLAUSE,
        _HEADER,
        (2, 2, "type", "number", "the function that is asked for"),
        (4, 4, "", "reserved", "must be 0"),
        (8, 8, "return_address", "address", "where results go, or 0"),
        *((16 + 8 * n, 8, f"arg_{n}", "number", "argument of the function") for n in range(4)),
        (48, 8, "", "reserved", "must be 0"),
        _COMPLETION,
    ),
)  # fmt: skip

ROCR_PACKETS = "ROCr, hsa_ext_amd.h: hsa_amd_vendor_packet_header_t"
CONDITIONS = ((0, "equal"), (1, "not equal"), (2, "less"), (3, "greater or equal"))
VENDOR_FORMATS = ((1, "commands of the packet processor (PM4)"), (2, "barrier value"))
_VENDOR = (2, 1, "amd_format", "number", "what kind of packet of AMD it is", (), VENDOR_FORMATS)
BARRIER_VALUE_PACKET = Structure(
    "hsa_amd_barrier_value_packet_t", PACKET_SIZE, 64, ROCR_PACKETS,
    fields_of(
        ROCR_PACKETS,
        _HEADER,
        _VENDOR,
        (3, 1, "", "reserved", "must be 0"),
        (4, 4, "", "reserved", "must be 0"),
        (8, 8, "signal", "address", "signal that is waited for"),
        (16, 8, "value", "signed", "what its value is compared with"),
        (24, 8, "mask", "number", "bits of its value that are compared"),
        (32, 4, "cond", "number", "how they are compared", (), CONDITIONS),
        (36, 4, "", "reserved", "must be 0"),
        (40, 16, "", "reserved", "must be 0"),
        _COMPLETION,
    ),
)  # fmt: skip
VENDOR_PACKET = Structure(
    "packet of a vendor", PACKET_SIZE, 64, ROCR_PACKETS,
    fields_of(
        ROCR_PACKETS,
        _HEADER,
        _VENDOR,
        (3, 53, "contents", "words", "as the vendor says"),
        _COMPLETION,
    ),
)  # fmt: skip
OTHER_PACKET = Structure(
    "AQL packet", PACKET_SIZE, 64, PACKET_CLAUSE,
    fields_of(PACKET_CLAUSE, _HEADER, (2, 62, "contents", "words", "without a meaning in a packet of this type")),
)  # fmt: skip
"""A packet that is invalid: a free place of the queue. Packets of a type that is not known are the same."""

BARRIER_VALUE = 2
PACKETS = {
    0: VENDOR_PACKET,
    KERNEL_DISPATCH: DISPATCH_PACKET,
    3: _barrier("and", "AND"),
    4: AGENT_PACKET,
    5: _barrier("or", "OR"),
}


def packet_structure(data: bytes) -> Structure:
    """Return what a packet is, which its header says."""
    kind = data[0]
    if kind == 0 and data[2] == BARRIER_VALUE:
        return BARRIER_VALUE_PACKET
    return PACKETS.get(kind, OTHER_PACKET)


QUEUE_TYPES = ((0, "multiple producers"), (1, "single producer"), (2, "cooperative"))
SINGLE = 1
KERNEL_DISPATCH_FEATURE = 1
FEATURES = (BitRange("kernel_dispatch", 0, 1), BitRange("agent_dispatch", 1, 1))
QUEUE_PROPERTIES = (
    BitRange("enable_trap_handler", 0, 1),
    BitRange("is_ptr64", 1, 1),
    BitRange("enable_trap_handler_debug_sgprs", 2, 1),
    BitRange("enable_profiling", 3, 1),
)
IS_PTR64 = 1 << 1
READ_DISPATCH_ID_OFFSET = 128

QUEUE = Structure(
    "amd_queue_t", 256, 64, QUEUE_CLAUSE,
    (
        *fields_of(
            HSA_QUEUE,
            (0, 4, "type", "number", "who may write packets", (), QUEUE_TYPES),
            (4, 4, "features", "number", "packets that are understood", FEATURES),
            (8, 8, "base_address", "address", "the first packet"),
            (16, 8, "doorbell_signal", "address", "signal that tells of new packets"),
            (24, 4, "size", "number", "packets that the queue can hold"),
            (28, 4, "", "reserved", "must be 0"),
            (32, 8, "id", "number", "number of the queue in the process"),
        ),
        *fields_of(
            QUEUE_CLAUSE,
            (40, 16, "", "reserved", "must be 0"),
            (56, 8, "write_dispatch_id", "number", "index of the next packet to be written"),
            (64, 4, "group_segment_aperture_base_hi", "address", "upper half of the local aperture's base"),
            (68, 4, "private_segment_aperture_base_hi", "address", "upper half of the private aperture's base"),
            (72, 4, "max_cu_id", "number", "compute units of the agent"),
            (76, 4, "max_wave_id", "number", "waves of a compute unit"),
            (80, 8, "max_legacy_doorbell_dispatch_id_plus_1", "number",
             "largest write_dispatch_id that a legacy doorbell has told"),
            (88, 4, "legacy_doorbell_lock", "number", "1 while a legacy doorbell is being rung"),
            (92, 36, "", "reserved", "must be 0"),
            (128, 8, "read_dispatch_id", "number", "index of the next packet to be read"),
            (136, 4, "read_dispatch_id_field_base_byte_offset", "number", "offset of read_dispatch_id"),
        ),
        *fields_of(
            ROCR_QUEUE,
            (140, 4, "compute_tmpring_size", "number", "scratch memory of a wave"),
            (144, 16, "scratch_resource_descriptor", "words", "V# of the scratch memory"),
            (160, 8, "scratch_backing_memory_location", "address",
             "scratch memory; on GFX7-GFX8 its offset from SH_HIDDEN_PRIVATE_BASE_VIMID"),
            (168, 8, "scratch_backing_memory_byte_size", "number", "bytes of scratch memory"),
            (176, 4, "scratch_wave64_lane_byte_size", "number", "bytes of scratch memory of a lane of 64"),
            (180, 4, "queue_properties", "number", "properties of the queue", QUEUE_PROPERTIES),
            (184, 8, "", "reserved", "must be 0"),
            (192, 8, "queue_inactive_signal", "address", "signal that tells of errors"),
            (200, 56, "", "reserved", "must be 0"),
        ),
    ),
)  # fmt: skip
"""Queues of newer runtimes use some of the reserved bytes from 40 and from 184 to give back scratch memory."""

SIGNAL_KINDS = (
    (0, "AMD_SIGNAL_KIND_INVALID"), (1, "AMD_SIGNAL_KIND_USER"), (-1, "AMD_SIGNAL_KIND_DOORBELL"),
    (-2, "AMD_SIGNAL_KIND_LEGACY_DOORBELL"),
)  # fmt: skip
USER, DOORBELL, LEGACY_DOORBELL = 1, -1, -2

SIGNAL = Structure(
    "amd_signal_t", 64, 64, SIGNAL_CLAUSE,
    fields_of(
        SIGNAL_CLAUSE,
        (0, 8, "kind", "signed", "the kind of signal", (), SIGNAL_KINDS),
        (8, 8, "value", "signed", "user: the value; doorbell: its address (hardware_doorbell_ptr)"),
        (16, 8, "event_mailbox_ptr", "address", "user: the address of the event"),
        (24, 4, "event_id", "number", "user: the number of the event"),
        (28, 4, "", "reserved", "must be 0"),
        (32, 8, "start_ts", "number", "when the packet was started, if profiled"),
        (40, 8, "end_ts", "number", "when the packet ended, if profiled"),
        (48, 8, "queue_ptr", "address", "doorbell: its amd_queue_t"),
        (56, 8, "", "reserved", "must be 0"),
    ),
)  # fmt: skip
