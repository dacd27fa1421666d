"""Waves that run: where they part and meet, what stops them, and what the machine has afterwards."""

from typing import Any

import numpy as np
import pytest

from dwarfgpu.execution.access_shapes import ACTIONS, TWO_SOURCES, AccessShape, changed_in_turn, shape_of
from dwarfgpu.execution.batch import NOTHING, WaveBatch, lane_flags, lane_mask
from dwarfgpu.execution.block_writer import joined, put_long
from dwarfgpu.execution.device import Device
from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment, gather, scatter
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.local_places import LocalPlaces
from dwarfgpu.execution.memory_access import MemoryAccess
from dwarfgpu.isa.semantics.functions import merged
from dwarfgpu.targets.amdgpu.initial_state import scratch_descriptor
from dwarfgpu.targets.amdgpu.processors import processor_named
from tests.builders.parameters import for_each

LAUNCH = "fixtures/amdgpu/launch.gfx1100.w32.O2.co"


def a_batch(count, lanes=32):
    numbers = np.random.default_rng(1)
    batch = WaveBatch(range(count), lanes, 4, 0)
    batch.vector[1] = numbers.integers(0, 99, (count, lanes)).astype(np.uint32)
    batch.vector[2] = np.full((1, 1), 7, np.uint32)
    batch.scalar[3] = np.arange(count, dtype=np.uint64)[:, None]
    batch.scalar[4] = 5
    batch.set_exec(numbers.integers(0, 1 << 32, (count, 1)).astype(np.uint64))
    return batch


def test_waves_that_part_and_meet_have_what_they_had():
    batch = a_batch(5)
    flags = np.array([True, False, True, True, False])
    joined = batch.part(flags).join([batch.part(~flags)])
    assert joined.waves.tolist() == [0, 2, 3, 1, 4]
    assert (joined.vector[1] == batch.vector[1][joined.waves]).all()
    assert joined.vector[2] is batch.vector[2]
    assert joined.vector[3] is NOTHING
    assert joined.scalar[3][:, 0].tolist() == [0, 2, 3, 1, 4]
    assert joined.scalar[4] == 5
    assert (np.broadcast_to(joined.mask, (5, 32)) == batch.mask[joined.waves]).all()


def test_a_copy_changes_on_its_own():
    batch = a_batch(2)
    other = batch.copy()
    other.vector[1] = NOTHING
    other.set_exec(1)
    assert batch.vector[1] is not NOTHING
    assert not isinstance(batch.exec, int)


@pytest.mark.parametrize("lanes", [32, 64])
def test_flags_and_masks_are_inverse(lanes):
    numbers = np.random.default_rng(2)
    batch = WaveBatch(range(3), lanes, 0, 0)
    batch.set_exec((1 << lanes) - 1)
    assert batch.mask is None
    for mask in (0, 1, 1 << lanes - 1, int(numbers.integers(0, 1 << 62)) & (1 << lanes) - 1):
        assert lane_mask(lane_flags(mask, lanes), batch) == mask
    masks = numbers.integers(0, 1 << 32, (3, 1)).astype(np.uint64)
    assert (lane_mask(lane_flags(masks, lanes), batch) == masks).all()


def test_memory_of_several_segments_and_any_alignment():
    bytes_ = np.arange(64, dtype=np.uint8)
    memory = GlobalMemory([MemorySegment.of(0x1000, bytes_.copy()), MemorySegment.of(0x2003, bytes_.copy())])
    addresses = np.array([[0x1001, 0x2003 + 60, 0x1000 + 56, 0x2003]], np.uint64)
    found = np.zeros((1, 4), np.uint32)
    for segment, mask, offsets in memory.places(addresses, None, 4):
        found = np.where(mask, gather(segment, offsets, mask, 4, 1)[0], found)
    expected = [int.from_bytes(bytes(range(start, start + 4)), "little") for start in (1, 60, 56, 0)]
    assert found[0].tolist() == expected
    for segment, mask, offsets in memory.places(addresses, None, 4):
        scatter(segment, offsets, mask, 4, [~found])
    assert memory.read(0x1001, 4) == expected[0] ^ 0xFFFFFFFF
    with pytest.raises(MachineFault, match="no memory at 0x3000") as fault:
        memory.places(np.array([[0x1000], [0x3000]], np.uint64), None, 4)
    assert fault.value.waves.tolist() == [False, True]


@for_each("name, wanted",
    ("global_load_dwordx4", ("load", "global", 4, 4)),       ("global_load_b96", ("load", "global", 4, 3)),
    ("buffer_store_short_d16_hi", ("store", "buffer", 2, 1)),
    ("scratch_load_d16_hi_u8", ("load", "scratch", 1, 1)),   ("ds_read2st64_b64", ("load", "ds", 4, 2)),
    ("ds_load_2addr_stride64_b32", ("load", "ds", 4, 1)),    ("ds_write_b8_d16_hi", ("store", "ds", 1, 1)),
    ("flat_atomic_add_x2", ("add", "flat", 8, 1)),           ("global_atomic_smax", ("max", "global", 4, 1)),
    ("global_atomic_max_u64", ("max", "global", 8, 1)),      ("global_atomic_add_f32", ("add", "global", 4, 1)),
    ("global_atomic_cmpswap_b32", ("cmpswap", "global", 4, 1)),
    ("ds_add_rtn_u32", ("add", "ds", 4, 1)),                 ("ds_cmpst_rtn_b64", ("cmpst", "ds", 8, 1)),
    ("ds_min_i32", ("min", "ds", 4, 1)),                     ("ds_max_num_rtn_f64", ("max", "ds", 8, 1)),
    ("ds_pk_add_rtn_bf16", ("pk_add_bf16", "ds", 4, 1)),
    ("global_atomic_pk_add_f16", ("pk_add_f16", "global", 4, 1)),
    ("flat_atomic_fcmpswap_x2", ("cmpswap", "flat", 8, 1)),  ("buffer_atomic_csub_u32", ("csub", "buffer", 4, 1)),
    ("global_atomic_ordered_add_b64", ("ordered_add", "global", 8, 1)))  # fmt: skip
def test_names_say_what_is_moved(name, wanted):
    shape = shape_of(name)
    assert (shape.action, shape.space, shape.size, shape.count) == wanted


def test_what_is_no_access_of_memory():
    assert shape_of("v_add_u32") is None
    assert shape_of("image_load") is None
    assert shape_of("global_load_tr_b128") is None


IN_TURN = [(action, "u") for action in (*ACTIONS, *TWO_SOURCES) if not action.startswith("pk_")] + [
    *(("min", "i"), ("max", "i"), ("add", "f"), ("min", "f"), ("max", "f"), ("cmpswap", "f"))
]


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("places", [[0, 0, 0, 5, 6, 9], range(40)], ids=["few", "many"])
@pytest.mark.parametrize("action, number", IN_TURN)
def test_lanes_at_one_place_change_it_in_their_order(action, number, places, size):
    random, shape = np.random.default_rng(size), AccessShape(action, "global", size, number=number)
    count, word = 200, np.dtype(f"u{size}")
    index = random.choice(places, count)
    numbers = [random.integers(0, 4 if action in TWO_SOURCES else 1 << 30, count) for _ in range(2)]
    numbers = [(each / 7 if number == "f" else each).astype(f"{number}{size}").view(word) for each in numbers]
    other = numbers[1] if action in TWO_SOURCES else None
    together, one_by_one = (np.arange(40, dtype=word) for _ in range(2))
    old = changed_in_turn(together, index, shape, numbers[0], other)
    for lane in range(count):
        rows = slice(lane, lane + 1)
        before = changed_in_turn(
            one_by_one, index[rows], shape, numbers[0][rows], other if other is None else other[rows]
        )
        assert before == old[rows]
    assert together.tolist() == one_by_one.tolist()


def test_a_limit_of_instructions_leaves_waves_that_go_on_with_their_registers():
    machine = machine_for(LAUNCH, "group_x")
    args = [np.zeros(1, np.int32)]
    launch(machine, LAUNCH, "group_x", grid=(300,), work_group=(256,), args=args)
    changes = machine.changes
    device = Device(machine)
    device.run()
    assert device.executed == 6 * 10
    device.write_back()
    assert machine.changes > changes
    assert machine.column("v1")[:, 0].tolist() == [0] * 8 + [1] * 2
    assert {machine.stop_text(wave) for wave in range(10)} == {"has ended"}
    assert {machine.program_counter(wave) for wave in range(10)} == {device.ended[0].pc}
    assert not machine.knows(machine.register_named("s5"), 0)
    machine = machine_for(LAUNCH, "group_x")
    args = [np.zeros(1, np.int32)]
    launch(machine, LAUNCH, "group_x", grid=(300,), work_group=(256,), args=args)
    device = Device(machine)
    device.run(0)
    assert device.executed == 0
    device.run()
    assert not device.batches


def test_memory_that_is_not_mapped_stops_the_waves_with_the_instruction():
    machine = machine_for(LAUNCH, "group_x")
    launched = launch(machine, LAUNCH, "group_x", grid=(64,), work_group=(64,), args=[0x1234])
    device = Device(machine)
    device.run()
    (reason,) = {reason for _batch, reason in device.stopped}
    assert reason == "MEMORY_VIOLATION: no memory at 0x1234"
    assert sum(batch.count for batch, _reason in device.stopped) == 2
    device.write_back()
    assert machine.stop_text(1) == reason
    assert machine.program_counter(0) == launched.plan.start.entry + 0x14


@pytest.mark.parametrize("count", [3, 40, 2000])
def test_lanes_are_merged_as_their_flags_say(count):
    numbers = np.random.default_rng(3)
    new, old = (numbers.integers(0, 1 << 32, (count, 64)).astype(np.uint32) for _ in range(2))
    for mask in (numbers.random((count, 64)) < 0.5, np.arange(64)[None, :] < 7):
        assert (merged(mask, new, old) == np.where(mask, new, old)).all()
        assert (merged(mask, new[:, :1], old) == np.where(mask, new[:, :1], old)).all()
        assert (merged(mask, new[:, :1], old[:1]) == np.where(mask, new[:, :1], old[:1])).all()
        assert (merged(mask, new[:, :1], old[:1, :1]) == np.where(mask, new[:, :1], old[:1, :1])).all()
        assert (merged(mask[:1], new[:, :1], old[:, 1:2]) == np.where(mask[:1], new[:, :1], old[:, 1:2])).all()
    for flag in (np.True_, np.False_):
        assert (merged(flag, new, np.uint32(7)) == np.where(flag, new, 7)).all()
        assert (merged(mask, new[:1, :1], NOTHING) == np.where(mask, new[:1, :1], NOTHING)).all()


@pytest.mark.parametrize("high", [0, 7, None])
def test_two_registers_are_one_number(high):
    numbers = np.random.default_rng(4)
    low = numbers.integers(0, 1 << 32, (40, 64)).astype(np.uint32)
    upper = numbers.integers(0, 1 << 32, (40, 64)) if high is None else np.full((40, 64), high)
    whole = low.astype(np.uint64) | upper.astype(np.uint64) << np.uint64(32)
    registers = [NOTHING, NOTHING, NOTHING]
    put_long({}, registers, 1, whole, None)
    assert (registers[1] == low).all()
    assert (registers[2] == upper).all()
    assert (joined({}, registers, 1) == whole).all()
    flags = numbers.random((40, 64)) < 0.5
    put_long({}, registers, 1, whole + np.uint64(1 << 40), flags)
    assert (joined({}, registers, 1) == np.where(flags, whole + np.uint64(1 << 40), whole)).all()
    registers = [low[:1, :1], upper.astype(np.uint32)]
    assert (joined({}, registers, 0) == int(low[0, 0]) | upper.astype(np.uint64) << np.uint64(32)).all()


def a_row(count=40, lanes=32):
    """Return a batch, memory of it, and the addresses of a row of dwords in two registers."""
    batch = WaveBatch(range(count), lanes, 0, 0)
    batch.set_exec((1 << lanes) - 1)
    start = 0x5_FFFF_FF00
    data = np.random.default_rng(5).integers(0, 256, 16 * count * lanes + 64).astype(np.uint8)
    memory = MemoryAccess(GlobalMemory([MemorySegment.of(start, data)]), lanes=lanes)
    addresses = start + 4 * np.arange(count * lanes, dtype=np.uint64).reshape(count, lanes)
    return batch, memory, start, addresses


def a_stack(lanes, generation, waves=(0, 1, 2)):
    """Return waves with private memory of random bytes, and the resource of their stacks, up to GFX10."""
    batch = WaveBatch(waves, lanes, 0, 0)
    batch.set_exec((1 << lanes) - 1)
    base, size = 0x7_FFFF_0000, 16 * 4 * lanes
    memory = MemoryAccess(GlobalMemory([]), lanes=lanes, scratch_base=base, apertures=(1 << 32, 2 << 32))
    memory.generation, memory.swizzles_dwords = generation, True
    scratch = np.random.default_rng(8).integers(0, 256, (5, size)).astype(np.uint8)
    memory.use(np.zeros((0, 0), np.uint8), np.zeros(5, np.int64), scratch)
    words = scratch_descriptor(processor_named({9: "gfx90a", 10: "gfx1030"}[generation]), base, 5 * size, lanes)
    own = base + size * batch.waves.astype(np.uint64)[:, None]
    return batch, memory, (own & np.uint64(0xFFFF_FFFF), own >> np.uint64(32) | np.uint64(words[1]), *words[2:])


@pytest.mark.parametrize("lanes, generation", [(64, 9), (32, 10), (64, 10)])
@pytest.mark.parametrize("waves", [(0, 1, 2), (2,), (4, 1)])
@pytest.mark.parametrize("size, count, offset", [(4, 1, 8), (4, 4, 0), (2, 1, 6), (1, 1, 13)])
@pytest.mark.parametrize("mask", [None, 0, 0xF0F0_0001])
def test_one_private_address_is_a_row_in_each_wave(lanes, generation, waves, size, count, offset, mask):
    batch, memory, words = a_stack(lanes, generation, waves)
    if mask is not None:
        batch.set_exec(mask)
    scalar = 4 * lanes * 3
    addresses = memory.buffer_address(batch, words, 0, offset, scalar, size * count)
    flags = np.broadcast_to(True if batch.mask is None else batch.mask, (batch.count, lanes))
    own = memory.stack_address(batch, words, offset, scalar, size * count)
    assert own == offset + 4 * 3
    assert memory.stack_address(batch, words, offset, scalar + 4, size * count) is None
    generic = np.full((1, 1), own - 4, np.uint32), np.full((1, 1), 2, np.uint32)
    assert memory.flat_private(*generic, 4) == own
    quick = memory.load_private(batch, own, size, count)
    wanted = memory.load(batch, "buffer", addresses, size, count)
    assert quick is not None
    assert all((one[flags] == other[flags]).all() for one, other in zip(quick, wanted, strict=True))
    values = [np.full((1, 1), number, f"u{size}") for number in range(count)]
    before = memory.scratch.data.copy()
    memory.store(batch, "buffer", addresses, size, values)
    after = memory.scratch.data.copy()
    memory.scratch.data[:] = before
    assert memory.store_private(batch, own, size, values)
    assert (memory.scratch.data == after).all()


@pytest.mark.parametrize("change", ["outside", "unaligned", "watched", "lanes", "form", "waves", "records", "none"])
def test_what_is_no_private_row(change):
    batch, memory, words = a_stack(64, 9)
    offset: Any = 8
    if change == "outside":
        offset = 61
    elif change == "unaligned":
        offset = 10
    elif change == "watched":
        memory.watch = print
    elif change == "lanes":
        offset = None
    elif change == "form":
        words = (*words[:3], words[3] ^ 1 << 21)
    elif change == "waves":
        words = (words[0][::-1], *words[1:])
    elif change == "records":
        words = (*words[:2], 8, words[3])
    own = memory.stack_address(batch, words, offset, 0, 4)
    assert (memory.load_private(batch, own, 4, 1) is None) == (change != "none")
    assert memory.store_private(batch, own, 4, [np.zeros((1, 1), np.uint32)]) == (change == "none")


@pytest.mark.parametrize("pattern", ["runs", "lines", "groups", "runs with one exception", "groups with one", "other"])
def test_places_in_local_memory_that_are_used_again(pattern):
    """Reads and writes by runs of lanes and by columns of groups are those of each lane."""
    groups, dwords = np.repeat([2, 3, 4, 5], 3), 100
    numbers = np.random.default_rng(8)
    lanes = np.arange(64)
    relative = np.broadcast_to(lanes % 16 + lanes // 32 * 16, (12, 64))
    if pattern == "lines":
        relative = lanes[None] + 0 * relative
        dwords = 128
    elif "groups" in pattern:
        relative = np.tile(numbers.integers(0, 90, (3, 64)), (4, 1))
    elif pattern == "other":
        relative = numbers.integers(0, 90, (12, 64))
    relative = np.array(relative)
    if pattern == "runs":
        dwords = 96
    elif "one" in pattern:
        relative[7, 9] ^= 1
    index = relative + groups[:, None] * dwords
    memory = numbers.integers(0, 1 << 32, 8 * dwords).astype(np.uint32)
    places = LocalPlaces((4 * relative).astype(np.uint32), index)
    for offset in (0, 3, 8):
        places.use(groups, dwords)
        value = numbers.integers(0, 1 << 32, (12, 64)).astype(np.uint32)
        assert (places.read(memory, offset) == memory[offset:][index]).all()
        wanted = memory.copy()
        wanted[offset:][index] = value
        places.write(memory, offset, value)
        assert (memory == wanted).all()
        places.write(memory, offset, value[:1, :1])
        assert (memory[offset:][index] == value[0, 0]).all()


def test_the_last_lane_wins_every_byte():
    """Numbers that overlap are written one after another, wherever they begin."""
    for step in (1, 2, 3):
        segment = MemorySegment.of(0, np.zeros(64, np.uint8))
        wanted, numbers = bytearray(64), np.arange(8, dtype=np.uint32) * 0x1010101 + 0x3020100
        for lane, number in enumerate(numbers.tolist()):
            wanted[1 + step * lane : 5 + step * lane] = number.to_bytes(4, "little")
        scatter(segment, 1 + step * np.arange(8), None, 4, [numbers])
        assert segment.data.tobytes() == wanted
