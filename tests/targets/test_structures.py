import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import UsageError
from dwarfgpu.targets.amdgpu.initial_state import scratch_descriptor
from dwarfgpu.targets.amdgpu.processors import processor_named
from dwarfgpu.targets.amdgpu.queue import (
    AGENT_PACKET,
    BARRIER_VALUE_PACKET,
    DISPATCH_PACKET,
    KERNEL_DISPATCH_HEADER,
    OTHER_PACKET,
    PACKETS,
    QUEUE,
    SIGNAL,
    VENDOR_PACKET,
    Structure,
    broken_rules,
    packet_structure,
)
from dwarfgpu.targets.amdgpu.resources import buffer_parts, buffer_resource
from tests.builders.errors import raised
from tests.builders.parameters import for_each

STRUCTURES = [QUEUE, SIGNAL, DISPATCH_PACKET]
OTHERS = [AGENT_PACKET, BARRIER_VALUE_PACKET, VENDOR_PACKET, OTHER_PACKET, PACKETS[3], PACKETS[5]]

# AMDGPU Compute ABI 0.40, "AMD Queue" and "Signals": (first bit, bytes); the packet: HSA, "Kernel dispatch packet"
DOCUMENTED = {
    "amd_queue_t": {"write_dispatch_id": (448, 8), "group_segment_aperture_base_hi": (512, 4),
        "private_segment_aperture_base_hi": (544, 4), "max_cu_id": (576, 4), "max_wave_id": (608, 4),
        "max_legacy_doorbell_dispatch_id_plus_1": (640, 8), "legacy_doorbell_lock": (704, 4),
        "read_dispatch_id": (1024, 8), "read_dispatch_id_field_base_byte_offset": (1088, 4)},
    "amd_signal_t": {"kind": (0, 8), "value": (64, 8), "event_mailbox_ptr": (128, 8), "event_id": (192, 4),
        "start_ts": (256, 8), "end_ts": (320, 8), "queue_ptr": (384, 8)},
    "hsa_kernel_dispatch_packet_t": {
        "header": (0, 2), "setup": (16, 2), "workgroup_size_x": (32, 2), "workgroup_size_y": (48, 2),
        "workgroup_size_z": (64, 2), "grid_size_x": (96, 4), "grid_size_y": (128, 4), "grid_size_z": (160, 4),
        "private_segment_size": (192, 4), "group_segment_size": (224, 4), "kernel_object": (256, 8),
        "kernarg_address": (320, 8), "completion_signal": (448, 8)}}  # fmt: skip


@pytest.mark.parametrize("structure", STRUCTURES + OTHERS, ids=lambda one: one.name)
def test_the_rows_cover_every_byte(structure: Structure) -> None:
    end = 0
    for field in structure.fields:
        assert field.offset == end
        assert (field.kind == "reserved") == (not field.name)
        assert all(bits.shift + bits.width <= field.size * 8 for bits in field.bits)
        end += field.size
    assert end == structure.size
    names = [field.name for field in structure.fields if field.name]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_fields_are_where_the_documents_have_them(structure: Structure) -> None:
    found = {field.name: (field.offset * 8, field.size) for field in structure.fields}
    assert {name: found[name] for name in DOCUMENTED[structure.name]} == DOCUMENTED[structure.name]


@given(st.sampled_from(STRUCTURES), st.data())
def test_decoding_is_the_inverse_of_encoding_and_any_bytes_are_an_object(structure: Structure, data) -> None:
    values = {}
    for field in structure.fields:
        if field.name and data.draw(st.booleans()):
            bits = field.size * 8
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if field.kind == "signed" else (0, (1 << bits) - 1)
            values[field.name] = data.draw(st.integers(low, high))
    encoded = structure.encode(values)
    assert len(encoded) == structure.size
    decoded = {each.field.name: each.value for each in structure.decode(encoded) if each.field.name}
    assert {name: value for name, value in decoded.items() if value} == {n: v for n, v in values.items() if v}
    assert structure.violations(structure.decode(encoded)) == ()
    content = data.draw(st.binary(min_size=structure.size, max_size=structure.size))
    values = structure.decode(content)
    named = {each.field.name: each.value for each in values if each.field.name}
    reserved = [each for each in values if each.field.kind == "reserved"]
    again = bytearray(structure.encode(named))
    for each in reserved:
        again[each.field.offset : each.field.offset + each.field.size] = each.value.to_bytes(each.field.size, "little")
    assert bytes(again) == content
    assert len(structure.violations(values)) == sum(each.value != 0 for each in reserved)


def test_words_and_bits_are_told_and_given_by_name() -> None:
    packet = DISPATCH_PACKET.decode(DISPATCH_PACKET.encode({"header": KERNEL_DISPATCH_HEADER, "setup": 2}))
    assert {bits.name: (value, meaning) for bits, value, meaning in packet[0].parts} == {
        "type": (2, "kernel dispatch"), "barrier": (0, None), "acquire_fence_scope": (2, "system"),
        "release_fence_scope": (2, "system"), "reserved": (0, None)}  # fmt: skip
    kind = SIGNAL.decode(SIGNAL.encode({"kind": -2}))[0]
    assert (kind.value, kind.meaning) == (-2, "AMD_SIGNAL_KIND_LEGACY_DOORBELL")
    assert SIGNAL.decode(SIGNAL.encode({"kind": 77}))[0].meaning is None
    with pytest.raises(UsageError, match=r"amd_signal_t.event_id has 4 bytes, which 4294967296 does not fit"):
        SIGNAL.encode({"event_id": 1 << 32})
    assert "amd_signal_t has no field 'mailbox'" in str(raised(UsageError, SIGNAL.encode, {"mailbox": 0}))
    assert "has no field ''" in str(raised(UsageError, SIGNAL.encode, {"": 1}))


@for_each("start, name",
    ("02", "hsa_kernel_dispatch_packet_t"),                  ("03", "hsa_barrier_and_packet_t"),
    ("04", "hsa_agent_dispatch_packet_t"),                   ("05", "hsa_barrier_or_packet_t"),
    ("000002", "hsa_amd_barrier_value_packet_t"),            ("000001", "packet of a vendor"),
    ("01", "AQL packet"),                                    ("77", "AQL packet"))  # fmt: skip
def test_a_packet_is_what_its_header_says(start: str, name: str) -> None:
    data = bytes.fromhex(start).ljust(64, b"\0")
    structure = packet_structure(data)
    assert structure.name == name
    assert {value.field.name: value for value in structure.decode(data)}["header"].parts[0][1] == data[0]


def test_what_a_barrier_waits_for() -> None:
    """HSA, "Barrier-AND packet": five signals from byte 8 on, and the one that tells of the end at byte 56."""
    signals = b"".join((0x1000 * n).to_bytes(8, "little") for n in range(1, 6))
    data = b"\x03\x01" + bytes(6) + signals + bytes(8) + (0x9000).to_bytes(8, "little")
    values = {value.field.name: value.value for value in packet_structure(data).decode(data)}
    assert [values[f"dep_signal_{n}"] for n in range(5)] == [0x1000, 0x2000, 0x3000, 0x4000, 0x5000]
    assert values["completion_signal"] == 0x9000


@pytest.mark.parametrize("kind, reserved", [(2, (48, 55)), (3, (48, 55)), (4, (4, 7)), (5, (2, 3))])
def test_reserved_bytes_of_packets_must_be_0(kind: int, reserved: tuple[int, int]) -> None:
    first, last = reserved
    data = bytearray(64)
    data[0], data[first] = kind, 1
    structure = packet_structure(bytes(data))
    assert structure.violations(structure.decode(bytes(data))) == (f"reserved bytes {first} to {last} must be 0",)


GOOD_PACKET = {
    "header": KERNEL_DISPATCH_HEADER, "setup": 1, "grid_size_x": 64, "grid_size_y": 1, "grid_size_z": 1,
    "workgroup_size_x": 64, "workgroup_size_y": 1, "workgroup_size_z": 1}  # fmt: skip
GOOD_QUEUE = {"size": 64, "base_address": 0x10000}


@for_each("structure, good, changed, address, rules",
    (DISPATCH_PACKET, GOOD_PACKET, {}, 0x1000, ()),
    (DISPATCH_PACKET, GOOD_PACKET, {"header": KERNEL_DISPATCH_HEADER | 5 << 13}, 0x1000,
     ("bits 15:13 of header must be 0, found 0x5",)),
    (DISPATCH_PACKET, GOOD_PACKET, {"header": 2 | 3 << 9}, 0x1000, ("acquire_fence_scope must not be 3",)),
    (DISPATCH_PACKET, GOOD_PACKET, {"setup": 5}, 0x1000, ("bits 15:2 of setup must be 0, found 0x1",)),
    (DISPATCH_PACKET, GOOD_PACKET, {"setup": 0}, 0x1000, ("dimensions must be 1, 2 or 3, found 0",)),
    (DISPATCH_PACKET, GOOD_PACKET, {"grid_size_z": 0, "workgroup_size_y": 2}, 0x1000,
     ("workgroup_size_y must be 1 with dimensions 1, found 2", "grid_size_z must not be 0")),
    (DISPATCH_PACKET, GOOD_PACKET, {}, 0x1020, ("hsa_kernel_dispatch_packet_t must be aligned to 64 bytes",)),
    (OTHER_PACKET, {}, {"header": 9}, 0x1000, ("type must not be 9",)),
    (OTHER_PACKET, {}, {"header": 1}, 0x1000, ()),
    (SIGNAL, {}, {"kind": 1}, 0x1000, ()),
    (SIGNAL, {}, {"kind": 2}, 0x1000, ("kind must not be 2",)),
    (QUEUE, GOOD_QUEUE, {}, 0xFFFFFF00, ()),
    (QUEUE, GOOD_QUEUE, {}, 0xFFFFFF40, ("the queue must not span a boundary of 4 GiB",)),
    (QUEUE, GOOD_QUEUE, {"size": 48, "base_address": 0x10020}, 0x1000,
     ("size must be a power of 2, found 48", "base_address must be aligned to 64 bytes, found 0x10020")),
    (QUEUE, GOOD_QUEUE, {"type": 3}, 0x1000, ("type must not be 3",)))  # fmt: skip
def test_what_the_texts_forbid(structure, good, changed, address, rules) -> None:
    assert broken_rules(structure, address, structure.decode(structure.encode(good | changed))) == rules


@for_each("processor, lanes, parts",
    ("gfx803", 64, {"swizzle_enable": 1, "element_size": 4, "index_stride": 64}),
    ("gfx90a", 64, {"swizzle_enable": 1, "index_stride": 64}),
    ("gfx1030", 32, {"swizzle_enable": 1, "index_stride": 32}))  # fmt: skip
def test_the_buffer_of_scratch_memory_is_read_as_it_is_made(processor, lanes, parts) -> None:
    row = processor_named(processor)
    words = scratch_descriptor(row, 0x7F1234560000, 0x8000, lanes)
    wanted = {"base": 0x7F1234560000, "num_records": 0x8000, "stride": 0, "add_tid_enable": 1, **parts}
    assert dict(buffer_parts(words, row.major)) == wanted


def test_buffers_have_a_stride() -> None:
    """GFX11: the swizzle has two bits, the format six."""
    words = (0x12340000, 0x7F00 | 24 << 16 | 1 << 30, 100, 4 | 5 << 3 | 22 << 12 | 1 << 21 | 3 << 28)
    data = b"".join(word.to_bytes(4, "little") for word in words)
    structure = buffer_resource(11)
    values = structure.decode(data)
    bits = {part.name: number for value in values for part, number, _meaning in value.parts}
    assert (bits["stride"], bits["swizzle_enable"], bits["format"], bits["index_stride"], bits["oob_select"]) == (
        24, 1, 22, 1, 3)  # fmt: skip
    assert {part.name: meaning for value in values for part, _number, meaning in value.parts}["format"] == "32_float"
    assert broken_rules(structure, 0x1000, values) == ()
