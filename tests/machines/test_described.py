"""The described machine: what is described is there, in every view of it, and nothing else is."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.locations import Memory
from dwarfgpu.lanes import LaneFault
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.machines.extents import Extents
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.parameters import for_each

GFX90A = resolve("amdgcn-gfx90a")
GFX1100 = resolve("amdgcn-gfx1100-wave32")
GENERIC = resolve("generic")
X86_64 = resolve("x86_64")


def machine(target, *regions, registers=None):
    described = [
        Region(target.space_named(name), address, bytes.fromhex(data), lane) for name, address, data, lane in regions
    ]
    return DescribedMachine(target, registers, described)


def read(described, name, address, size, lane=None):
    return described.read_memory(described.target.space_named(name), address, size, 0, lane).hex()


def test_regions_adjoin_overlap_and_may_be_missing():
    found = machine(GENERIC, ("none", 0x10, "0102", None), ("none", 0x12, "0304", None))
    assert read(found, "none", 0x10, 4) == "01020304"
    assert read(found, "none", 0x11, 2) == "0203"
    assert read(machine(GENERIC), "none", 0x10, 0) == ""
    found = machine(GENERIC, ("none", 0, "0102", None), ("none", 1, "0203", None))
    assert read(found, "none", 0, 3) == "010203"
    with pytest.raises(UsageError, match="default#0x2 is given twice"):
        machine(GENERIC, ("none", 0, "010203", None), ("none", 1, "0204", None))
    with pytest.raises(UsageError, match="private_lane#0x4 is given twice"):
        machine(GFX90A, ("private_wave", 256 + 20, "01", None), ("private_lane", 2, "000002", 5))


@pytest.mark.parametrize("start", [0, 254, 255, 256, 1000])
def test_regions_may_be_long_and_begin_anywhere(start):
    data = bytes(i & 0xFF for i in range(1000))
    found = machine(GENERIC, ("none", start, data.hex(), None))
    assert read(found, "none", start, 1000) == data.hex()
    assert read(found, "none", start + 1, 700) == data[1:701].hex()


@for_each(
    "address, size, first", (0x0F, 2, None), (0x10, 5, 0x14), (0x12, 300, 0x14), (0x20, 1, None), (0xFF, 400, None)
)
def test_a_read_names_the_first_byte_without_a_value(address, size, first):
    caught = raised(EvaluationError, read, machine(GENERIC, ("none", 0x10, "01020304", None)), "none", address, size)
    assert (caught.kind, caught.spec) == ("memory_unavailable", "A.2.5.4.4.3")
    assert f"default#{address:#x}" in caught.message
    assert first is None or f"default#{first:#x}" in caught.message


@pytest.mark.parametrize("target, name, address", [(GENERIC, "none", (1 << 64) - 1), (GFX90A, "local", (1 << 32) - 1)])
def test_a_region_ends_where_its_address_space_ends(target, name, address):
    assert read(machine(target, (name, address, "01", None)), name, address, 1) == "01"
    assert "not in the address space" in str(raised(UsageError, machine, target, (name, address, "0102", None)))


def test_a_write_changes_what_is_described_and_nothing_else():
    found = machine(GENERIC, ("none", 0xFE, "01020304", None))
    space = GENERIC.default_space
    found.write_memory(space, 0xFF, b"\xaa\xbb", 0, None)
    assert read(found, "none", 0xFE, 4) == "01aabb04"
    with pytest.raises(EvaluationError, match="default#0x102 is the first"):
        found.write_memory(space, 0x101, b"\xcc\xdd", 0, None)
    assert read(found, "none", 0xFE, 4) == "01aabb04"
    found.write_memory(space, 0x500, b"", 0, None)


@given(
    st.lists(st.tuples(st.integers(0, 600), st.binary(max_size=300)), max_size=8),
    st.integers(0, 900),                  st.integers(0, 300),                  st.binary(max_size=20))  # fmt: skip
def test_memory_is_a_dictionary_of_bytes(regions, address, size, written):
    memory, model = Extents(), {}
    for start, data in regions:
        if all(model.get(start + i, byte) == byte for i, byte in enumerate(data)):
            assert memory.describe(start, data) is None
            model.update((start + i, byte) for i, byte in enumerate(data))
    missing = next((a for a in range(address, address + size) if a not in model), None)
    assert memory.missing(address, size) == missing
    expected = bytes(model[a] for a in range(address, address + size)) if missing is None else None
    assert memory.read(address, size) == expected
    if memory.missing(address, len(written)) is None:
        memory.write(address, written)
        assert memory.read(address, len(written)) == written


def test_private_lane_memory_is_private_wave_memory_with_every_64th_dword():
    found = machine(GFX90A, ("private_lane", 0x8, "0102030405060708", 5))
    # dword 2 of lane 5: (8 / 4) * 64 * 4 + 5 * 4; dword 3 is a row of 64 dwords further on
    assert read(found, "private_wave", 2 * 256 + 20, 4) == "01020304"
    assert read(found, "private_wave", 3 * 256 + 20, 4) == "05060708"
    assert read(found, "private_lane", 0x9, 5, 5) == "0203040506"
    assert read(found, "private_lane5", 0x8, 4) == "01020304"
    raised(EvaluationError, read, found, "private_lane", 0x8, 4, 6)


def test_views_share_their_bytes():
    rows = b"".join(i.to_bytes(4, "little") for i in range(128))
    found = machine(GFX1100, ("private_wave", 0, rows.hex(), None))
    for lane in range(32):
        assert read(found, "private_lane", 4, 4, lane) == (32 + lane).to_bytes(4, "little").hex()
    found = machine(GFX90A, ("private_wave", 0, "00" * 1024, None))
    found.write_memory(GFX90A.space_named("private_lane"), 2, b"\x01\x02\x03\x04", 0, 7)
    assert read(found, "private_wave", 28, 4) == "00000102"
    assert read(found, "private_wave", 256 + 28, 4) == "03040000"
    assert read(found, "generic", (2 << 48) + 4, 2, 7) == "0304"
    found = machine(GFX90A, ("global", 0x1000, "01", None), ("local", 0x10, "02", None), ("private_lane", 0x8, "03", 3))
    assert read(found, "generic", 0x1000, 1) == "01"
    assert read(found, "generic", (1 << 48) + 0x10, 1) == "02"
    assert read(found, "generic", (2 << 48) + 0x8, 1, 3) == "03"
    raised(MissingContext, read, found, "generic", (2 << 48) + 0x8, 1)


@pytest.mark.parametrize("lane", [None, 64])
def test_private_lane_memory_needs_a_lane_that_exists(lane):
    raised(DwarfGpuError, machine, GFX90A, ("private_lane", 0, "00", lane))


@for_each("target, number, contents, expected",
    (GENERIC, 5, 0x1234, "3412000000000000"),                                   (GENERIC, 5, -2, "feffffffffffffff"),
    (resolve("generic", byte_order="big", address_size=4), 5, 0x1234, "00001234"),
    (GENERIC, 5, b"\x01\x02\x03", "010203"),                                    (X86_64, 17, 1, "01" + "00" * 15),
    (GFX90A, 32, -1, "ffffffff"),         (GFX90A, 2560, [1, -1], "01000000ffffffff" + "00000000" * 62),
    (GFX90A, 2560, [], "00000000" * 64),  (GFX90A, 2560, 7, "07000000" + "00000000" * 63),
    (GFX1100, 1536, list(range(32)), "".join(i.to_bytes(4, "little").hex() for i in range(32))))  # fmt: skip
def test_registers_hold_numbers_bytes_or_lanes(target, number, contents, expected):
    found = DescribedMachine(target, {number: contents})
    register = found.register(number)
    assert found.read_register(register, 0, None).hex() == expected
    assert register.bit_size == 4 * len(expected)
    assert not found.lane_owned(register)


@for_each("target, number, contents",
    (GENERIC, 5, 1 << 64),      (GENERIC, 5, -(1 << 63) - 1),                           (GENERIC, 5, b""),
    (GENERIC, 5, bytes((1 << 16) + 1)),                     (GENERIC, 5, [1 << 64]),    (X86_64, 0, b"\0" * 4),
    (X86_64, 56, 0),            (GFX90A, 32, [1, 2]),       (GFX90A, 32, 1 << 32),      (GFX90A, 2560, [0] * 65),
    (GFX90A, 2560, [1 << 32]),  (GFX90A, 2560, bytes(128)), (GFX1100, 1536, [0] * 33),  (GFX1100, 2560, [0]),
)  # fmt: skip
def test_what_is_no_register_or_does_not_fit_is_an_error(target, number, contents):
    raised(UsageError, DescribedMachine, target, {number: contents})


def test_without_lanes_in_registers_a_list_gives_each_lane_a_copy():
    found = DescribedMachine(X86_64, {0: [10, 20]})
    register = found.register(0)
    assert found.lane_owned(register)
    assert found.read_register(register, 0, 1) == (20).to_bytes(8, "little")
    found.write_register(register, b"\1" * 8, 0, 0)
    assert found.read_register(register, 0, 0) == b"\1" * 8
    assert found.read_register(register, 0, 1) == (20).to_bytes(8, "little")
    assert raised(EvaluationError, found.read_register, register, 0, 2).kind == "register_unavailable"
    assert raised(MissingContext, found.read_register, register, 0, None).kind == "lane"


def test_a_register_that_is_not_described_is_not_available():
    found = DescribedMachine(GENERIC, {0: 1})
    register = found.register(1)
    assert register.bit_size == 64
    assert raised(EvaluationError, found.read_register, register, 0, None).kind == "register_unavailable"
    found.write_register(register, bytes(range(8)), 0, None)  # what is written as a whole is known from then on
    assert found.read_register(register, 0, None) == bytes(range(8))


FULL = machine(
    GFX90A, ("private_wave", 0, bytes(i % 251 for i in range(2048)).hex(), None),
    ("global", 0x1000, bytes(i % 241 for i in range(1024)).hex(), None), ("local", 0, bytes(range(64)).hex(), None),
)  # fmt: skip


def gathered(space, addresses, size, lanes):
    """What each slot reads: its bytes, or the kind and message of its error; once gathered, once one by one."""
    count = len(lanes)

    def one(slot):
        try:
            return FULL.read_memory(space, addresses[slot], size, 0, lanes[slot])
        except DwarfGpuError as error:
            return (error.kind, str(error))

    alone = [one(slot) for slot in range(count)]
    slots = None if lanes[0] is None else np.array(lanes, dtype=np.uint64)
    data, found = FULL.gather_memory(space, np.array(addresses, dtype=np.uint64), size, 0, slots, count)
    assert found.tolist() == [isinstance(one, bytes) for one in alone]
    for row, has, one in zip(data, found, alone, strict=True):
        assert not has or row.tobytes() == one
    return alone


ADDRESSES = {
    "global": st.integers(0xFF8, 0x1408), "local": st.integers(0, 70),          "private_wave": st.integers(0, 2060),
    "private_lane": st.integers(0, 40),   "private_lane3": st.integers(0, 40),
    "generic": st.one_of(
        st.integers(0xFF8, 0x1408),
        st.integers(0, 70).map(lambda a: (1 << 48) + a),
        st.integers(0, 40).map(lambda a: (2 << 48) + a))}  # fmt: skip


@given(st.data())
def test_a_gather_is_many_reads(data):
    name = data.draw(st.sampled_from(sorted(ADDRESSES)))
    addresses = data.draw(st.lists(ADDRESSES[name], min_size=2, max_size=12))
    lanes = data.draw(st.lists(st.integers(0, 66), min_size=len(addresses), max_size=len(addresses)))
    with_lanes = data.draw(st.booleans())
    gathered(
        GFX90A.space_named(name), addresses, data.draw(st.integers(0, 9)), lanes if with_lanes else [None] * len(lanes)
    )


def test_one_address_of_all_lanes_is_gathered():
    space = GFX90A.space_named("private_lane")
    data, found = FULL.gather_memory(space, 4, 4, 0, np.arange(64, dtype=np.uint64), 64)
    plain, _ = Backend.gather_memory(FULL, space, 4, 4, 0, np.arange(64, dtype=np.uint64), 64)
    assert found.all()
    assert (data == plain).all()


def test_apertures_that_nobody_knows_are_missing_context_for_each_slot():
    target = resolve("amdgcn-gfx803")
    found = DescribedMachine(target)
    generic = target.space_named("generic")
    assert found.gather_memory(generic, 0, 4, 0, None, 3)[1].tolist() == [False] * 3
    location = locations.at(Memory(generic), np.array([0, 8, 16], dtype=np.uint64))
    caught = raised(LaneFault, Accessor(found, "little", 3).read, location, 32)
    assert [caught.error_at(slot).kind for slot in range(3)] == ["apertures"] * 3


def test_copies_of_registers_are_gathered():
    found = DescribedMachine(GENERIC, {0: [10, 20, 30], 1: 5})
    lanes = np.array([2, 0], dtype=np.uint64)
    data, _ = found.gather_register(found.register(0), 0, 8, 0, lanes, 2)
    assert [int.from_bytes(row.tobytes(), "little") for row in data] == [30, 10]
    data, _ = found.gather_register(found.register(1), 0, 8, 0, lanes, 2)
    assert [int.from_bytes(row.tobytes(), "little") for row in data] == [5, 5]
    for register, of, flags in (
        (0, np.array([0, 3]), [True, False]),
        (0, None, [False, False]),
        (7, None, [False, False]),
    ):
        _data, there = found.gather_register(found.register(register), 0, 8, 0, of, 2)
        assert there.tolist() == flags
