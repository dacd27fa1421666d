"""Tiles of tensors that GFX1250 moves: each element by the words of its document (CDNA 5, 10.11)."""

import itertools

import numpy as np
import pytest

from dwarfgpu.execution.faults import UnknownInstruction
from tests.builders.instruction_bench import LOCAL_SIZE, MEMORY, InstructionBench
from tests.builders.parameters import for_each

LANES = 32
NUMBERS = np.random.default_rng(1011)
GROUPS = (4, 8, 4, 4)
FIRST = (8, 12, 20, 24)
"""The scalar registers of the groups of a descriptor."""
FIELDS = {
    "count": (0, 0, 2), "gather_wide": (0, 30, 1), "gather": (0, 31, 1), "lds": (0, 32, 32), "base": (0, 64, 57),
    "type": (0, 126, 2), "mask": (1, 0, 16), "data_size": (1, 16, 2), "barrier": (1, 18, 1), "iterate": (1, 19, 1),
    "pad": (1, 20, 1), "interval": (1, 22, 3), "amount": (1, 25, 7), "dim0": (1, 48, 32), "dim1": (1, 80, 32),
    "tile0": (1, 112, 16), "tile1": (1, 128, 16), "tile2": (1, 144, 16), "stride0": (1, 160, 48),
    "stride1": (1, 208, 48), "dim2": (2, 0, 32), "dim3": (2, 32, 32), "stride2": (2, 64, 48), "tile3": (2, 112, 16),
    "address": (1, 32, 16), "stride3": (3, 0, 48), "dim4": (3, 48, 32), "tile4": (3, 80, 16),
}  # fmt: skip
"""Group, first bit and width (tables 62 to 65)."""


@pytest.fixture
def it(require_tool):
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    it.local[:] = NUMBERS.integers(0, 256, it.local.shape)
    return it


def describe(bench, **fields):
    groups = [0, 0, 0, 0]
    for name, number in ({"count": 1, "type": 2} | fields).items():
        group, first, width = FIELDS[name]
        assert number < 1 << width
        groups[group] |= number << first
    for group, count, first in zip(groups, GROUPS, FIRST, strict=True):
        for number in range(count):
            bench.scalar(first + number, group >> 32 * number)


SMALL = "s[8:11], s[12:19]"
LARGE = f"{SMALL}, s[20:23], s[24:27]"


def tile(fields, *, is_load):
    """Yield for each element its place in local memory, its address, and whether it is in the tensor (10.11.2)."""
    size = 1 << fields.get("data_size", 0)
    sizes = [max(fields.get(f"tile{number}", 0), 1) for number in range(5)]
    place, stored = fields.get("lds", 0), 0
    for e, d, c, b, a in itertools.product(*(range(sizes[number]) for number in (4, 3, 2, 1, 0))):
        point = a, b, c, d, e
        inside = all(
            point[number] < fields.get(f"dim{number}", 0) for number in range(5) if fields.get(f"tile{number}", 0)
        )
        steps = [1, *(fields.get(f"stride{number}", 0) for number in range(4))]
        at = fields["base"] + size * sum(where * step for where, step in zip(point, steps, strict=True))
        yield place, at, inside
        place, stored = place + size, stored + size
        if is_load and fields.get("pad") and stored == 4 << fields["interval"] + 1:
            place, stored = place + 4 * (fields["amount"] + 1), 0


def moved(bench, name, operands, elements, size):
    local, memory = bench.local[0].copy(), bench.bytes.copy()
    bench.batch.set_exec(0)  # EXEC is ignored
    bench.run(f"tensor_{name} {operands}\ns_wait_tensorcnt 0x0")
    for place, address, inside in elements:
        at = address - MEMORY
        if name == "load_to_lds":
            local[place : place + size] = memory[at : at + size] if inside else 0
        elif inside:
            memory[at : at + size] = local[place : place + size]
    assert (bench.local[0] == local).all()
    assert (bench.bytes == memory).all()


TILES = [
    {"tile0": 40, "dim0": 37},
    {"tile0": 12, "tile1": 7, "dim0": 12, "dim1": 6, "stride0": 20},
    {"tile0": 8, "tile1": 3, "tile2": 4, "dim0": 7, "dim1": 3, "dim2": 3, "stride0": 8, "stride1": 24},
    {"tile0": 4, "tile1": 2, "tile2": 2, "tile3": 2, "tile4": 3, "dim0": 4, "dim1": 2, "dim2": 2, "dim3": 1, "dim4": 2,
     "stride0": 4, "stride1": 8, "stride2": 16, "stride3": 32},
]  # fmt: skip


@pytest.mark.parametrize("shape", TILES)
@for_each("data_size", 0, 1, 2, 3)
@for_each("name", "load_to_lds", "store_from_lds")
def test_tiles(it, shape, data_size, name):
    fields = shape | {"data_size": data_size, "base": MEMORY + 64, "lds": 128}
    describe(it, **fields)
    elements = [*tile(fields, is_load=name == "load_to_lds")]
    moved(it, name, LARGE if "tile2" in shape else SMALL, elements, 1 << data_size)


@for_each("interval, amount", (0, 0), (1, 3), (2, 0))
@for_each("name", "load_to_lds", "store_from_lds")
def test_room_between_elements(it, interval, amount, name):
    """Stores ignore it: they leave nothing out."""
    fields = {"pad": 1, "interval": interval, "amount": amount, "data_size": 1, "base": MEMORY, "lds": 16, "tile0": 16,
              "tile1": 5, "dim0": 16, "dim1": 4, "stride0": 32}  # fmt: skip
    describe(it, **fields)
    moved(it, name, SMALL, [*tile(fields, is_load=name == "load_to_lds")], 2)


@for_each("wide", 0, 1)
@for_each("name", "load_to_lds", "store_from_lds")
def test_chosen_rows(it, wide, name):
    """Groups 2 and 3 have the numbers of rows, which may repeat; rows behind the tensor are 0 (10.11.3.2)."""
    rows = [0, 3, 3, 5, 9] if name == "load_to_lds" else [0, 3, 4, 5, 9]
    fields = {"gather": 1, "gather_wide": wide, "data_size": 2, "base": MEMORY, "lds": 64, "tile0": 6, "tile1": 5,
              "dim0": 5, "dim1": 9, "stride0": 16}  # fmt: skip
    describe(it, **fields)
    bits = 32 if wide else 16
    whole = sum(row << bits * number for number, row in enumerate(rows))
    for number in range(8):
        it.scalar(20 + number, whole >> 32 * number)
    elements = [
        (64 + 4 * (6 * number + x), MEMORY + 4 * (x + 16 * row), x < 5 and row < 9)
        for number, row in enumerate(rows)
        for x in range(6)
    ]
    moved(it, name, LARGE, elements, 4)
    it.scalar(20, 12)
    with pytest.raises(UnknownInstruction, match="do not grow"):
        it.run(f"tensor_{name} {LARGE}")


def test_repeated_tiles(it):
    """Each repetition begins further on, in both memories (10.11.3.1)."""
    fields = {"iterate": 1, "data_size": 1, "base": MEMORY, "lds": 32, "tile0": 6, "tile1": 2, "dim0": 6, "dim1": 2,
              "stride0": 8}  # fmt: skip
    describe(it, **fields, tile3=2, dim3=20, stride2=50)  # three times
    one = list(tile(fields, is_load=True))
    elements = [(place + 40 * turn, at + 100 * turn, inside) for turn in range(3) for place, at, inside in one]
    moved(it, "load_to_lds", LARGE, elements, 2)
    describe(it, **fields | {"dim1": 1}, tile3=2, dim3=20, stride2=50)
    with pytest.raises(UnknownInstruction, match="a repeated tile that is partly outside"):
        it.run(f"tensor_load_to_lds {LARGE}")


@for_each("fields", {"count": 0}, {"tile0": 0})
def test_descriptors_that_move_nothing(it, fields):
    describe(it, **{"tile0": 4, "dim0": 4, "base": MEMORY} | fields)
    moved(it, "load_to_lds", SMALL, [], 1)


@for_each("fields, message",
    ({"type": 0}, "that no program may use, or of another type"), ({"mask": 1}, "outside of a cluster"),
    ({"barrier": 1, "iterate": 1, "tile3": 2}, "who arrives"), ({"barrier": 1, "tile0": 0}, "who arrives"),
    ({"gather": 1, "tile1": 17}, "17 chosen rows, of 16"))  # fmt: skip
def test_descriptors_that_are_not_known(it, fields, message):
    describe(it, **{"tile0": 4, "dim0": 4, "base": MEMORY} | fields)
    with pytest.raises(UnknownInstruction, match=message):
        it.run(f"tensor_load_to_lds {LARGE}")


def test_a_wave_arrives_at_a_barrier_when_its_tile_is_moved(require_tool):
    """10.11.3: once for the tile, whatever EXEC is; not if the descriptor is none."""
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    cells = it.local[0].view(np.uint64)
    cells[5] = 3 << 32 | 1 << 29 | 1
    fields = {"data_size": 2, "base": MEMORY, "lds": 128, "tile0": 5, "dim0": 5, "barrier": 1, "address": 5}
    describe(it, **fields)
    it.batch.set_exec(0)
    for expected in (1 << 29, 3, 2):
        it.run(f"tensor_load_to_lds {SMALL}\ns_wait_tensorcnt 0x0")
        assert cells[5] == 3 << 32 | expected
    assert (it.local[0, 128:148] == it.bytes[:20]).all()
    describe(it, **fields | {"count": 0})
    it.run(f"tensor_store_from_lds {SMALL}")
    assert cells[5] == 3 << 32 | 2


def test_each_wave_has_a_tile(require_tool):
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES, waves=2)
    it.bytes[:] = NUMBERS.integers(0, 256, it.bytes.shape)
    describe(it, data_size=2, base=MEMORY, tile0=5, dim0=5)
    it.batch.scalar[10] = np.array([[MEMORY & 0xFFFFFFFF], [(MEMORY & 0xFFFFFFFF) + 40]], np.uint64)
    it.batch.scalar[12] = np.array([[2 << 16], [1 << 16]], np.uint64)
    it.run(f"tensor_load_to_lds {SMALL}")
    assert (it.local[0, :20] == it.bytes[:20]).all()
    assert (it.local[1, :10] == it.bytes[40:50]).all()
    assert not it.local[1, 10:].any()
    assert LOCAL_SIZE >= 64
