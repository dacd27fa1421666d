"""The machine in columns: waves, registers, memory behind all its views, and the cells that hold them."""

import mmap

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dwarfgpu.dialects import get as dialect
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError
from dwarfgpu.expr.asm import parse
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.columns import Cells, byte_size, item_size
from dwarfgpu.machines.extents import Extents, Overlap
from dwarfgpu.machines.machine import Dispatch, Machine, NumberedNames
from dwarfgpu.program.frames.lone_wave import TopFrame
from dwarfgpu.targets.amdgpu.address_spaces import Apertures
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import in_python
from tests.builders.errors import raised
from tests.builders.parameters import for_each

WAVE64, WAVE32 = resolve("gfx90a"), resolve("gfx1100")
TARGETS = st.sampled_from([WAVE64, WAVE32])


def u64(*numbers):
    return np.array(numbers, dtype=np.uint64)


def machine_with(target, count=1, **arguments):
    machine = Machine(target)
    machine.add_waves(count, **arguments)
    return machine


def test_waves_are_added_in_columns():
    machine = Machine(WAVE64)
    machine.dispatches.append(Dispatch(1))
    assert machine.add_waves(2, dispatch=0, work_group=(4, 5, 6), wave_in_group=[0, 1]) == range(2)
    machine.set_register("s0", [7, 8])
    assert machine.add_waves(1, ids=["x"]) == range(2, 3)
    assert machine.ids == ["0", "1", "x"]
    assert machine.dispatch.tolist() == [0, 0, -1]
    assert machine.work_group.tolist() == [[4, 5, 6], [4, 5, 6], [-1, -1, -1]]
    assert machine.groups().tolist() == [0, 0, -1]
    assert machine.wave_named("x") == 2
    assert machine.wave_named("y") is None
    assert machine.column("s0").tolist() == [7, 8, 0]
    assert [machine.knows(machine.register_named("s0"), wave) for wave in range(3)] == [True, True, False]
    machine.add_waves(2, ids=NumberedNames("wave ", range(4, 6)))
    assert (machine.wave_count, machine.ids[2:]) == (5, ["x", "wave 4", "wave 5"])
    assert machine.column("s0").tolist() == [7, 8, 0, 0, 0]
    machine = Machine(WAVE64)
    assert "0 dispatches" in str(raised(UsageError, machine.add_waves, 1, dispatch=0))
    assert "2 waves have 1 names" in str(raised(UsageError, machine.add_waves, 2, ids=["x"]))
    assert machine.wave_count == 0
    machine = machine_with(resolve("generic", byte_order="big", address_size=4))
    machine.set_register("r1", 0x0102)
    machine.add_waves(1)
    machine.set_register("r1", 0x0304, 1)
    r1 = machine.register_named("r1")
    assert [machine.read_register(r1, wave, None) for wave in range(2)] == [b"\0\0\1\2", b"\0\0\3\4"]


def test_registers_are_one_array_for_each_kind():
    machine = machine_with(WAVE64, 3)
    machine.allocate_registers(WAVE64.registers())
    assert machine.vgpr.shape == (3, 256, 64)
    assert machine.agpr.shape == (3, 256, 64)
    assert machine.sgpr.shape == (3, 106)
    machine.set_register("v3", np.arange(64))
    machine.set_register("s65", [1, 2, 3])
    assert (machine.vgpr[:, 3] == np.arange(64)).all()
    assert machine.sgpr[:, 65].tolist() == [1, 2, 3]
    assert machine.column("v3").shape == (3, 64)


def test_registers_are_set_in_some_waves():
    machine = machine_with(WAVE32, 4)
    machine.set_register("m0", -1, [1, 3])
    machine.set_register("v0", np.arange(2 * 32).reshape(2, 32), slice(2, 4))
    assert machine.column("m0").tolist() == [0, 0xFFFFFFFF, 0, 0xFFFFFFFF]
    assert machine.column("v0")[3, 5] == 37
    v0 = machine.register_named("v0")
    assert [machine.knows(v0, wave) for wave in range(4)] == [False, False, True, True]


@for_each("call",
    lambda machine: machine.set_register("q7", 1),
    lambda machine: machine.column("s1"),
    lambda machine: machine.vgpr,
    lambda machine: machine.write_register(machine.register_named("s0"), b"\0", 0, None),
    lambda machine: machine.set_apertures(Apertures(1, 1 << 32)),
    lambda machine: machine.memory.map(WAVE64.space_named("generic"), 0, b"x"),
    lambda machine: machine.memory.map(WAVE64.space_named("local"), (1 << 32) - 1, b"xy"),
    lambda machine: machine.memory.map(WAVE64.space_named("local"), 0, b"xy"),
    lambda machine: machine.memory.map(WAVE64.space_named("private_wave"), 0, b"xy", instance=7))  # fmt: skip
def test_what_cannot_be_is_refused(call):
    raised(UsageError, call, machine_with(WAVE64))


def test_a_target_without_generic_addresses_has_no_apertures():
    for name in ("gfx600", "x86_64", "generic"):
        assert "no generic addresses" in str(raised(UsageError, Machine, resolve(name), Apertures(1 << 32, 2 << 32)))


def test_registers_of_other_sizes_are_kept_in_bytes():
    target = resolve("x86_64")
    machine = machine_with(target)
    for name in ("rax", "st0", "xmm3", "es", "k1"):
        register = target.register_named(name)
        data = bytes(range(1, register.bit_size // 8 + 1))
        machine.write_register(register, data, 0, None)
        assert machine.read_register(register, 0, None) == data
        rows, found = machine.gather_register(register, u64(0, 1), 1, 0, None, 2)
        assert found.all()
        assert rows.tolist() == [[1], [2]]


@given(target=TARGETS, data=st.data())
def test_the_views_of_private_memory_agree(target, data):
    size = target.lane_count
    lane = data.draw(st.integers(0, size - 1))
    address = data.draw(st.integers(0, 100))
    content = data.draw(st.binary(min_size=1, max_size=20))
    machine = machine_with(target, 2)
    machine.memory.map_rows(target.space_named("private_wave"), np.zeros((2, 32 * 4 * size), dtype=np.uint8))
    generic = (2 << 48) + address
    views = [("private_lane", address), (f"private_lane{lane}", address), ("generic", generic)]
    name, start = data.draw(st.sampled_from(views))
    machine.write_memory(target.space_named(name), start, content, 1, lane)
    for name, start in views:
        assert machine.read_memory(target.space_named(name), start, len(content), 1, lane) == content
        assert not any(machine.read_memory(target.space_named(name), start, len(content), 0, lane))
    stored = machine.read_memory(target.space_named("private_wave"), 0, 32 * 4 * size, 1, None)
    expected = bytearray(len(stored))
    for i, byte in enumerate(content, address):
        expected[i // 4 * size * 4 + lane * 4 + i % 4] = byte
    assert stored == expected


@given(data=st.data())
def test_a_gather_of_many_waves_is_many_reads(data):
    machine = machine_with(WAVE32, 5, work_group=[[i // 2, 0, 0] for i in range(5)])
    for name, count in (("private_wave", 5), ("local", 2)):
        space = WAVE32.space_named(name)
        for instance in range(count):
            start = data.draw(st.sampled_from([0, 0, 128]))
            content = np.random.default_rng(instance).bytes(data.draw(st.sampled_from([512, 512, 300])))
            machine.memory.map(space, start, content, instance=instance * (1 if count == 5 else 2))
    name = data.draw(st.sampled_from(["private_wave", "private_lane", "local", "generic", "private_lane3"]))
    space = WAVE32.space_named(name)
    base = data.draw(st.sampled_from([1, 2])) << 48 if name == "generic" else 0
    limit = 24 if "lane" in name or base == 2 << 48 else 700
    slots = data.draw(
        st.lists(st.tuples(st.integers(0, limit), st.integers(0, 6), st.integers(0, 33)), min_size=1, max_size=9)
    )
    size = data.draw(st.sampled_from([1, 2, 4, 5, 8, 16]))
    addresses, waves, lanes = (u64(*column) for column in zip(*slots, strict=True))
    rows, found = machine.gather_memory(space, addresses + np.uint64(base), size, waves, lanes, len(slots))
    for row, flag, (address, wave, lane) in zip(rows, found, slots, strict=True):
        try:
            expected = machine.read_memory(space, base + address, size, wave, lane)
        except EvaluationError:
            expected = None
        assert flag == (expected is not None)
        assert expected is None or row.tobytes() == expected


def test_private_addresses_beyond_the_memory_of_a_wave_are_not_those_of_the_next():
    machine = machine_with(WAVE64, 2)
    space = WAVE64.space_named("private_lane")
    machine.memory.map_rows(WAVE64.space_named("private_wave"), np.full((2, 1024), 7, dtype=np.uint8))
    beyond = (1 << 32) // 64
    assert machine.gather_memory(space, u64(0, beyond), 4, 0, 0, 2)[1].tolist() == [True, False]
    assert "end of the address space" in str(raised(EvaluationError, machine.read_memory, space, beyond, 4, 0, 0))


def test_memory_without_a_wave_is_missing_context():
    machine = machine_with(WAVE64)
    machine.memory.map(WAVE64.space_named("private_wave"), 0, b"abcd")
    with pytest.raises(MissingContext, match="no current thread"):
        machine.memory.read(WAVE64.space_named("private_wave"), 0, 4, None, None)
    assert not machine.gather_memory(WAVE64.space_named("private_wave"), 0, 4, None, None, 1)[1].any()


@pytest.mark.parametrize("name", ["global", "generic", "local", "private_lane", "private_wave", "region"])
def test_null_is_named_in_the_error(name):
    machine = machine_with(WAVE64, work_group=(0, 0, 0))
    space = WAVE64.space_named(name)
    assert "it is the null address" in str(raised(EvaluationError, machine.read_memory, space, space.null, 1, 0, 0))


def test_memory_is_mapped_without_a_copy_and_allocated_above_what_there_is():
    machine = Machine(WAVE64)
    space = WAVE64.space_named("global")
    numbers = np.arange(8, dtype=np.float32)
    machine.memory.map(space, 0x1000, numbers)
    machine.write_memory(space, 0x1004, np.float32(9).tobytes(), 0, None)
    assert numbers[1] == 9
    machine.memory.map(space, 0x2000, np.broadcast_to(np.uint32(5), (4,)))
    assert machine.read_memory(space, 0x200C, 4, 0, None) == b"\5\0\0\0"
    machine = Machine(WAVE64)
    first, second = machine.memory.allocate(10), machine.memory.allocate(100, alignment=4096)
    assert first % 256 == second % 4096 == 0
    assert second >= first + 10
    assert machine.read_memory(WAVE64.space_named("global"), second, 100, 0, None) == bytes(100)


@for_each("name,address,lane,expected",
    ("private_lane", 0, 3, 9),            ("private_lane", 5, 3, 4),            ("private_lane", 8, 3, 1),
    ("private_lane", 9, 3, 0),            ("private_lane3", 2, None, 7),        ("private_lane", 4, 5, 4),
    ("private_wave", 0, None, 525),       ("private_wave", 525, None, 0),       ("generic", (2 << 48) + 4, 3, 5),
    ("generic", 0x1004, None, 12),        ("global", 0x0FFF, None, 0),          ("local", 0, None, 0))  # fmt: skip
def test_what_is_available_from_an_address_on(name, address, lane, expected):
    machine = machine_with(WAVE64)
    machine.memory.map(WAVE64.space_named("private_wave"), 0, bytes(512 + 13))
    machine.memory.map(WAVE64.space_named("global"), 0x1000, bytes(8))
    machine.memory.map(WAVE64.space_named("global"), 0x1008, bytes(8))
    assert machine.memory.available(WAVE64.space_named(name), address, 0, lane) == expected


def test_every_lane_of_every_wave_is_evaluated_at_once():
    """Vector and scalar registers, scratch and LDS of four waves: the same as each lane alone."""
    machine = machine_with(WAVE32, 4, work_group=[[i // 2, 0, 0] for i in range(4)])
    machine.set_register("v1", np.arange(4 * 32).reshape(4, 32))
    machine.set_register("s3", [5, 6, 7], [0, 1, 3])
    for space, instance in (("private_wave", 0), ("private_wave", 1), ("local", 0), ("local", 2)):
        data = np.random.default_rng(instance).bytes(1024)
        machine.memory.map(WAVE32.space_named(space), 0, data, instance=instance)
    llvm, form = dialect("llvm-user"), Format(8)
    lane_of_v1 = "DW_OP_regx v1; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4"
    in_space = "DW_OP_lit{}; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 4"
    for ops in (
        lane_of_v1,
        "DW_OP_regx s3; DW_OP_deref_size 4",
        f"DW_OP_lit8; {in_space.format(5)}",
        f"{lane_of_v1}; {in_space.format(3)}",
        f"DW_OP_regx s3; DW_OP_deref_size 2; {in_space.format(6)}",
    ):
        program = parse(ops, llvm, form, target=WAVE32)

        def evaluated(lanes, program=program):
            context = Context(WAVE32, backend=machine, frame=TopFrame(machine), lanes=lanes)
            return [
                (one.kind, str(one)) if isinstance(one, DwarfGpuError) else one for one in evaluate(program, context)
            ]

        together = evaluated(LaneSet.grid(4, 32))
        assert together == [evaluated(LaneSet.one(lane, wave))[0] for wave in range(4) for lane in range(32)]


@given(data=st.data())
def test_extents_hold_what_a_dictionary_would(data):
    extents, model = Extents(), {}
    for _ in range(data.draw(st.integers(0, 5))):
        starts, sizes, position = [], [], data.draw(st.integers(0, 60))
        for _ in range(data.draw(st.integers(0, 4))):
            sizes.append(data.draw(st.integers(0, 9)))
            starts.append(position)
            position += sizes[-1] + data.draw(st.integers(0, 3))
        content = np.frombuffer(bytearray(data.draw(st.binary(min_size=sum(sizes), max_size=sum(sizes)))), np.uint8)
        keys = [start + i for start, size in zip(starts, sizes, strict=True) for i in range(size)]
        try:
            extents.add(u64(*starts), np.array(sizes, dtype=np.int64), content)
        except Overlap as clash:
            overlap = clash.key
        else:
            overlap = None
        if overlap is not None:
            assert overlap in model
            continue
        assert not model.keys() & set(keys)
        model.update(zip(keys, content.tolist(), strict=True))
    wanted = data.draw(st.lists(st.integers(0, 90), min_size=1, max_size=8))
    size = data.draw(st.integers(1, 9))
    rows, found = extents.gather(u64(*wanted), size)
    for row, flag, key in zip(rows.tolist(), found, wanted, strict=True):
        expected = [model.get(key + i) for i in range(size)]
        missing = [key + i for i, byte in enumerate(expected) if byte is None]
        assert flag == (not missing)
        assert extents.missing(key, size) == (missing[0] if missing else None)
        assert (extents.read(key, size) or b"") == (b"" if missing else bytes(expected))
        assert missing or row == expected
    assert extents.joined().tolist() == [model[key] for key in sorted(model)]


@pytest.mark.parametrize("kind", ["<u4", ">u4", "<i8", "|u1", "<u8"])
def test_bytes_and_array_are_one_memory(kind):
    cells = Cells(kind, (3, 2))
    size = item_size(kind)
    assert cells.row_size == 2 * size
    cells.buffer[size : 2 * size] = bytes(range(1, size + 1))
    assert cells.array[0, 1] == np.frombuffer(bytes(range(1, size + 1)), kind)[0]
    cells.array[2, 0] = 5
    assert bytes(cells.buffer[4 * size : 5 * size]) == np.array(5, kind).tobytes()
    assert cells.array is cells.array
    assert cells.shaped(6).array[4] == 5


def test_numbers_and_texts():
    cells = Cells("<i8", (2, 3))
    cells.array[:] = [[1, -2, 3], [1 << 62, -1, 0]]
    assert cells.tolist() == [1, -2, 3, 1 << 62, -1, 0]
    assert cells.row(1) == (1 << 62, -1, 0)
    assert item_size("<U5") == 20
    assert byte_size("<U5", (2, 3)) == 120


@pytest.mark.parametrize("shape", [(40_000, 4), (8, 1 << 14)])
@pytest.mark.parametrize("is_advised", [True, False])
def test_many_cells_are_zeros_that_can_be_written(shape, is_advised, monkeypatch):
    if not is_advised:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    cells = Cells("<u4", shape)
    assert not cells.array.any()
    cells.array[-1] = 7
    assert bytes(cells.buffer[-4 * shape[1] :]) == b"\7\0\0\0" * shape[1]


@pytest.mark.parametrize("count", [1, 100_000])
def test_rows_are_added_as_zeros_or_as_they_are_given(count):
    cells = Cells("<u4", (1, 2), memoryview(bytearray(b"\1\0\0\0\2\0\0\0")))
    more = cells.with_rows(count)
    assert more.shape == (count + 1, 2)
    assert more.array[0].tolist() == [1, 2]
    assert not more.array[1:].any()
    assert cells.with_rows(1, b"\3\0\0\0\4\0\0\0").array.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
def test_there_may_be_none(shape):
    assert Cells("<u8", shape).array.shape == shape
    assert Cells("<u8", shape).tolist() == []
    assert byte_size("<u8", shape) == 0
    assert len(Cells.of_bytes(b"").buffer) == len(Cells.of_bytes(np.zeros(0, "<u4")).buffer) == 0


def test_what_can_be_written_is_not_copied():
    array, data = np.zeros(4, ">u4"), bytearray(4)
    Cells.of_bytes(array).buffer[3] = 7
    Cells.of_bytes(data).buffer[0] = 7
    assert array.tolist() == [7, 0, 0, 0]
    assert data == b"\7\0\0\0"
    constant = np.zeros(2, "u1")
    constant.flags.writeable = False
    for fixed in (constant, bytes(2), np.broadcast_to(np.uint8(0), (2,))):
        Cells.of_bytes(fixed).buffer[0] = 7
        assert not np.frombuffer(fixed, "u1").any() if isinstance(fixed, bytes) else not fixed.any()


def test_a_forked_process_has_cells_of_its_own():
    code = (
        "import os\nfrom dwarfgpu.machines.columns import Cells\n"
        "cells = Cells('|u1', (100_000,))\n"
        "if not os.fork():\n    cells.buffer[0] = 1\n    os._exit(0)\n"
        "print(os.wait()[1], cells.buffer[0])"
    )
    assert in_python(code) == "0 0\n"
