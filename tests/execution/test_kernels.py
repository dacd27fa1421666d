"""Kernels that clang compiles, run, and compared with the same work done by the host."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution.device import Device
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.memory_access import MemoryAccess
from dwarfgpu.isa.semantics import functions
from tests.builders import kept
from tests.builders.float_models import to_bf16
from tests.builders.parameters import for_each
from tests.execution.control.test_running import steps

HERE = Path(__file__).parent
PROCESSORS = ("gfx900", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1102", "gfx1200", "gfx1201")
QUICK = ("gfx90a", "gfx1100")
HALVES = " with halves"
"""What a level ends with where 16-bit numbers are in halves of registers, as LLVM 24 has them on GFX12 by default."""
COUNT = 512
GROUP = 128


@pytest.fixture(scope="module")
def compiled(require_tool, tmp_path_factory):
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("kernels")

    @cache
    def build(processor: str, level: str) -> str:
        words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}"]
        words += [f"-{level.removesuffix(HALVES)}", "-g", "-w", "-nogpulib"]
        words += ["-Xclang", "-target-feature", "-Xclang", "+real-true16"] * level.endswith(HALVES)
        words += ["-include", str(HERE / "kernels.h"), str(HERE / "kernels.cl")]
        return kept.built(words, folder / f"kernels.{processor}.{level}.co")

    return build


def run(path, kernel, args, *, local=0, private=None, count=COUNT):
    """Run a kernel; return what its arrays hold afterwards."""
    machine = machine_for(path, kernel)
    launched = launch(
        machine, path, kernel, grid=(count,), work_group=(GROUP,), args=args, dynamic_local=local, private_size=private
    )
    device = Device(machine)
    device.run(50_000_000)
    assert not device.batches
    assert [reason for _batch, reason in device.stopped] == []
    assert not device.waiting
    assert sum(batch.count for batch in device.ended) == machine.wave_count
    return list(launched.buffers.values())


def everywhere(*levels):
    """Each processor with one of the levels in turn, and those of quick runs with all."""
    return [
        pytest.param(processor, level, marks=() if processor in QUICK and level == "O2" else pytest.mark.slow)
        for number, processor in enumerate(PROCESSORS)
        for level in (levels if processor in QUICK else levels[number % len(levels) :][:1])
    ]


RANDOM = np.random.default_rng(7)
NUMBERS = RANDOM.integers(1, 3000, COUNT).astype(np.int32)
ZEROS = np.zeros(COUNT, np.int32)


@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_floats_of_all_sizes_are_rounded_once(compiled, processor, level):
    x, y = RANDOM.random(COUNT, np.float32), RANDOM.random(COUNT, np.float32)
    (found, _x) = run(compiled(processor, level), "saxpy", [y, x, 2.7, COUNT - 12])
    exact = np.float64(np.float32(2.7)) * x + y
    assert (found[:-12] == exact.astype(np.float32)[:-12]).all()
    assert (found[-12:] == y[-12:]).all()
    numbers = RANDOM.random(COUNT) * 10.0 ** RANDOM.integers(-300, 300, COUNT)
    left, right = 12345678901234567890, 987654321
    found, _numbers = run(compiled(processor, level), "dbl", [np.zeros(COUNT), numbers, left, right])
    assert (found == numbers / 3.0 + float(left // right)).all()
    numbers = RANDOM.random(2 * COUNT).astype(np.float16)
    found, _numbers = run(compiled(processor, level), "half_", [np.zeros(2 * COUNT, np.float16), numbers, 1])
    exact = numbers.astype(np.float64) ** 2 + np.tile([1.5, 2.5], COUNT)
    assert (found == exact.astype(np.float16)).all()
    numbers = RANDOM.normal(size=COUNT).astype(np.float32)
    halfs = RANDOM.normal(size=2 * COUNT).astype(np.float16)
    args = [np.zeros(COUNT, np.float32), np.zeros(COUNT, np.uint16), numbers, halfs]
    found, narrow, *_sources = run(compiled(processor, level), "narrow", args)
    exact = np.longdouble(halfs[0::2]) * np.longdouble(halfs[1::2]) + np.longdouble(numbers)
    assert (found == exact.astype(np.float32)).all()
    assert narrow.tolist() == [to_bf16(bits) for bits in numbers.view(np.uint32).tolist()]


@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_lanes_leave_a_loop_one_by_one(compiled, processor, level):
    found, _numbers = run(compiled(processor, level), "col", [ZEROS, NUMBERS])
    assert found.tolist() == [steps(number) for number in NUMBERS.tolist()]


@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_lanes_and_groups_add_to_the_same_numbers(compiled, processor, level):
    totals = np.zeros(COUNT // GROUP, np.int64)
    found, _numbers = run(compiled(processor, level), "red", [totals, NUMBERS, 4 * GROUP], local=4 * GROUP)
    assert found.tolist() == (NUMBERS.reshape(-1, GROUP).sum(axis=1).astype(np.int64) ** 2).tolist()
    found, _numbers, totals = run(compiled(processor, level), "counted", [ZEROS, NUMBERS, np.zeros(2, np.int32)])
    assert found.tolist() == [number.bit_count() + 32 - (number | 1).bit_length() for number in NUMBERS.tolist()]
    assert totals.tolist() == [NUMBERS[NUMBERS & 1 == 1].sum(), NUMBERS.max()]
    args = [np.zeros(2, np.float32), np.zeros(1), np.zeros(2, np.int64), np.zeros(2, np.uint32), NUMBERS, 64]
    singles, doubles, longs, words, _numbers = run(compiled(processor, level), "totals", args, local=64)
    groups = (NUMBERS & 15).reshape(-1, GROUP).sum(axis=1)
    assert singles.tolist() == [(NUMBERS & 31).sum(), groups.max()]
    assert doubles.tolist() == [NUMBERS.sum()]
    assert longs.tolist() == [min(0, NUMBERS.min() - 100), np.bitwise_xor.reduce(NUMBERS.astype(np.int64) << 20)]
    assert words.tolist() == [COUNT % 100, np.bitwise_or.reduce(NUMBERS)]


@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_functions_call_themselves_and_lanes_have_their_own_arrays(compiled, processor, level):
    found, _numbers = run(compiled(processor, level), "recursive", [ZEROS, NUMBERS], private=4096)
    assert found.tolist() == [(0, 1, 1, 2, 3, 5, 8, 13)[number & 7] for number in NUMBERS.tolist()]

    def sorted_by_low_byte(number):
        cells = sorted((number * (k + 1) for k in range(8)), key=lambda cell: cell & 0xFF)
        return cells[number & 7] ^ cells[0]

    found, _numbers = run(compiled(processor, level), "private_array", [ZEROS, NUMBERS])
    assert found.tolist() == [sorted_by_low_byte(number) for number in NUMBERS.tolist()]


def moved_between_lanes(numbers, chars, shorts, lanes):
    """What the kernel `sub` computes, by its source."""
    count = len(numbers)
    lane = np.arange(count) % lanes
    x = numbers.astype(np.int64)
    x = x + np.where(lane % 16 == 0, 7, np.roll(x, 1))
    x = x + x.reshape(-1, 4)[:, ::-1].reshape(-1)
    source = np.arange(count) // lanes * lanes + ((np.arange(count) * 28 & 255) // 4) % lanes
    x = (x & 0xFFFFFFFF) ^ (x[source] & 0xFFFFFFFF)
    x = x + x.reshape(-1, 2)[:, ::-1].reshape(-1)
    chars, shorts = chars.astype(np.int64), shorts.astype(np.int64)
    difference = (shorts - chars + 0x8000) % 0x10000 - 0x8000
    return (x + (chars * 3 & 255) + difference * (chars ^ 5) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


@pytest.mark.parametrize("processor, level", everywhere("O2"))
def test_lanes_read_other_lanes(compiled, processor, level):
    chars = RANDOM.integers(0, 255, COUNT).astype(np.uint8)
    shorts = RANDOM.integers(-3000, 3000, COUNT).astype(np.int16)
    found, *_others = run(compiled(processor, level), "sub", [ZEROS, NUMBERS, chars, shorts])
    lanes = 64 if processor.startswith("gfx9") else 32
    assert (found == moved_between_lanes(NUMBERS, chars, shorts, lanes)).all()


@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_registers_by_number(compiled, processor, level):
    def chosen(lane, k):
        cells = NUMBERS[8 * (lane & 3) : 8 * (lane & 3) + 8].tolist()
        cells[k & 7] = lane
        cells[(k + 3) & 7] += cells[(k + 1) & 7]
        return cells[(k + lane) & 7]

    for k in (0, 5):
        found, _numbers = run(compiled(processor, level), "by_number", [ZEROS, NUMBERS, k])
        assert found.tolist() == [chosen(lane, k) for lane in range(COUNT)]


@for_each("processor, level",
    ("gfx1200", f"O2{HALVES}"),
    *everywhere("O2"),
    pytest.param("gfx1201", f"O0{HALVES}", marks=pytest.mark.slow))  # fmt: skip
def test_bytes_are_multiplied_and_added_as_16_bits(compiled, processor, level):
    left, right = RANDOM.integers(-128, 128, (2, COUNT, 8)).astype(np.int8)
    sums, highs, lows = np.zeros((3, COUNT), np.int64)
    for x, y in zip(left.T.astype(np.int64), right.T.astype(np.int64), strict=True):
        sums = 2 * sums + x * y & 0xFFFF
        highs |= (x & y & 0xFF) << 8
        lows = (lows + x & 0xFF) >> 1
    exact = np.stack([sums, highs | lows], axis=1)
    found, *_bytes = run(compiled(processor, level), "bytes", [np.zeros((COUNT, 2), np.uint16), left, right])
    assert (found.reshape(COUNT, 2) == exact).all()


def with_matrices(*levels):
    return [
        pytest.param(
            processor, level, marks=() if processor in (*QUICK, "gfx1200") and level == "O2" else pytest.mark.slow
        )
        for number, processor in enumerate(PROCESSORS)
        if processor not in ("gfx900", "gfx906", "gfx1030")
        for level in (levels if processor in QUICK else levels[number % len(levels) :][:1])
    ]


@pytest.mark.parametrize("processor, level", with_matrices("O0", "O2"))
def test_waves_multiply_matrices(compiled, processor, level):
    waves = COUNT // (64 if processor.startswith("gfx9") else 32)
    left, right = (RANDOM.integers(-16, 17, (waves, 16, 16)).astype(np.float16) / np.float16(8) for _ in range(2))
    args = [np.zeros(256 * waves, np.float32), left.reshape(-1), right.reshape(-1)]
    found, *_sources = run(compiled(processor, level), "matrix", args)
    exact = left.astype(np.float64) @ right.astype(np.float64) + 0.5
    assert (found.reshape(waves, 16, 16) == exact).all()


def test_waves_of_gfx8(compiled):
    """Its additions with a carry have the names that later are those of additions without one."""
    path = compiled("gfx803", "O2")
    found, _numbers = run(path, "red", [np.zeros(COUNT // GROUP, np.int64), NUMBERS, 4 * GROUP], local=4 * GROUP)
    assert found.tolist() == (NUMBERS.reshape(-1, GROUP).sum(axis=1).astype(np.int64) ** 2).tolist()
    halfs = RANDOM.random(2 * COUNT).astype(np.float16)
    found, _halfs = run(path, "half_", [np.zeros(2 * COUNT, np.float16), halfs, 1])
    exact = halfs.astype(np.float64) ** 2 + np.tile([1.5, 2.5], COUNT)
    assert (found == exact.astype(np.float16)).all()
    args = [np.zeros(2, np.float32), np.zeros(1), np.zeros(2, np.int64), np.zeros(2, np.uint32), NUMBERS, 64]
    _singles, doubles, longs, _words, _numbers = run(path, "totals", args, local=64)
    assert doubles.tolist() == [NUMBERS.sum()]
    assert longs.tolist() == [min(0, NUMBERS.min() - 100), np.bitwise_xor.reduce(NUMBERS.astype(np.int64) << 20)]


def launches():
    """Return arguments and bytes of local memory for each kernel."""
    random = np.random.default_rng(8)
    singles = random.random(COUNT, np.float32)
    halfs = random.normal(size=2 * COUNT).astype(np.float16)
    chars, shorts = (random.integers(0, 200, COUNT).astype(kind) for kind in (np.uint8, np.int16))
    totals = [np.zeros(2, np.float32), np.zeros(1), np.zeros(2, np.int64), np.zeros(2, np.uint32), NUMBERS, 64]
    return {
        "saxpy": ([singles, singles[::-1].copy(), 2.5, COUNT - 100], 0),
        "col": ([ZEROS, NUMBERS], 0),
        "red": ([np.zeros(COUNT // GROUP, np.int64), NUMBERS, 4 * GROUP], 4 * GROUP),
        "dbl": ([np.zeros(COUNT), singles.astype(np.float64), 12345678901234567890, 987654321], 0),
        "sub": ([ZEROS, NUMBERS, chars, shorts], 0),
        "half_": ([np.zeros(2 * COUNT, np.float16), halfs, 1], 0),
        "recursive": ([ZEROS, NUMBERS], 0),
        "private_array": ([ZEROS, NUMBERS], 0),
        "counted": ([ZEROS, NUMBERS, np.zeros(2, np.int32)], 0),
        "by_number": ([ZEROS, NUMBERS, 5], 0),
        "narrow": ([np.zeros(COUNT, np.float32), np.zeros(COUNT, np.uint16), singles, halfs], 0),
        "totals": (totals, 64),
    }


def left_behind(path, kernel, args, local):
    """Run a kernel; return how many instructions it had, all memory, and all registers."""
    machine = machine_for(path, kernel)
    private = 4096 if kernel == "recursive" else None
    launch(
        machine, path, kernel, grid=(COUNT,), work_group=(GROUP,), args=args, dynamic_local=local, private_size=private
    )
    device = Device(machine)
    device.run(50_000_000)
    assert len(device.ended) > 0
    device.write_back()
    blocks = [bytes(block.buffer) for store in machine.memory.stores.values() for block in store.blocks]
    return device.executed, blocks, [(file.known.tobytes(), file.data.tobytes()) for file in machine.files]


@pytest.mark.slow
@pytest.mark.parametrize("processor, level", everywhere("O0", "O2"))
def test_ways_for_many_lanes_change_nothing(compiled, processor, level, monkeypatch):
    for kernel, (args, local) in launches().items():
        path = compiled(processor, level)
        monkeypatch.setattr(MemoryAccess, "has_shortcuts", True)
        monkeypatch.setattr(functions, "MANY", 0)
        quick = left_behind(path, kernel, args, local)
        monkeypatch.setattr(MemoryAccess, "has_shortcuts", False)
        monkeypatch.setattr(functions, "MANY", 1 << 62)
        assert left_behind(path, kernel, args, local) == quick, kernel
