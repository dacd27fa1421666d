"""Kernels that are executed as compiled blocks, against the same kernels interpreted: every register and every byte."""

import itertools
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution import device as device_module
from dwarfgpu.execution import turns
from dwarfgpu.execution.batch import NOTHING, UNSET, return_addresses
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.breakpoints import Breakpoint
from dwarfgpu.execution.compiled import native, regions
from dwarfgpu.execution.compiled.entrance import Entrance
from dwarfgpu.execution.compiled.native import is_available
from dwarfgpu.execution.compiled.regions import LARGEST, CompiledRegions
from dwarfgpu.execution.device import Device
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.audits.judge.test_frames_by_code import by_hand

pytestmark = pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
FOLDER = Path(__file__).parents[1]
PROCESSORS = ("gfx803", "gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200")
COUNT = 256
RANDOM = np.random.default_rng(3)
NUMBERS = RANDOM.integers(1, 300, COUNT).astype(np.int32)
ZEROS = np.zeros(COUNT, np.int32)
SINGLES = RANDOM.random(COUNT, np.float32)
BYTES = np.arange(8 * COUNT).astype(np.int8)
KERNELS = {
    "saxpy": (SINGLES, SINGLES * 2, 1.5, COUNT - 3),
    "col": (ZEROS, NUMBERS),
    "red": (np.zeros(COUNT, np.int64), NUMBERS, 512),
    "dbl": (np.zeros(COUNT), RANDOM.random(COUNT), 12345678901, 77),
    "sub": (ZEROS, NUMBERS, NUMBERS.astype(np.uint8), NUMBERS.astype(np.int16)),
    "recursive": (ZEROS, NUMBERS),
    "private_array": (ZEROS, NUMBERS),
    "counted": (ZEROS, NUMBERS, np.zeros(2, np.int32)),
    "by_number": (ZEROS, NUMBERS, 3),
    "narrow": (np.zeros(COUNT, np.float32), np.zeros(COUNT, np.uint16), SINGLES, np.zeros(2 * COUNT, np.float16)),
    "bytes": (np.zeros(2 * COUNT, np.int16), BYTES, BYTES),
    "long_body": (ZEROS, NUMBERS, 2),
    "in_rows": (ZEROS, NUMBERS, 20),
    "tiles": (ZEROS, NUMBERS, 9),
    "one_address": (ZEROS, NUMBERS, 9),
    "parting": (ZEROS, NUMBERS, 12),
    "quotients": (SINGLES, SINGLES.astype(float) + 0.1, RANDOM.random(COUNT).astype(np.float16), NUMBERS, 5),
    "totals": (np.zeros(2, np.float32), np.zeros(1), np.zeros(2, np.int64), np.zeros(2, np.uint32), NUMBERS, 4),
}
"""The arguments of the kernels."""


@pytest.fixture(scope="module")
def build(require_tool, tmp_path_factory):
    clang, folder, known = require_tool("clang-22"), tmp_path_factory.mktemp("compiled"), {}

    def build(processor, level):
        path = str(folder / f"{processor}.{level}.co")
        if path not in known:
            words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -{level} -g -w -nogpulib -include"
            own = str(Path(__file__).with_name("loops.cl"))
            files = [str(FOLDER / "kernels.h"), "-include", own, str(FOLDER / "kernels.cl"), "-o", path]
            subprocess.run([clang, *words.split(), *files], check=True, capture_output=True)
            known[path] = True
        return path

    return build


def ready(path, kernel, hot, count=COUNT):
    """Return a device that is about to run a kernel, and its launch; with ``hot`` 0 it interprets."""
    machine = machine_for(path, kernel)
    machine.jit = "off"
    launched = start(machine, path, kernel, count)
    machine.device.compiled = CompiledRegions(machine.device, hot) if hot else None
    return machine.device, launched


def start(machine, path, kernel, count):
    """Launch a kernel, for the first time or again."""
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in KERNELS[kernel]]
    private = 1024 if kernel == "recursive" else None
    group = min(count, 128)
    return launch(machine, path, kernel, grid=(count,), work_group=(group,), args=args, private_size=private)


def state(device):
    """Return everything that waves have, and where they are, by their number."""

    def number(value, row):
        return "unset" if value is UNSET else value if isinstance(value, int) else int(value[row, 0])

    def column(value, row, batch):
        return None if value is NOTHING else np.broadcast_to(value, (batch.count, batch.lanes))[row].tobytes()

    return {
        wave: (
            reason, batch.pc, batch.mode, number(batch.scc, row), number(batch.exec, row),
            return_addresses(batch.each_calls()[row]),
            [number(value, row) for value in batch.scalar],
            [column(value, row, batch) for value in (*batch.vector, *batch.accumulation)],
        )
        for batch, reason in device.every_batch()
        for row, wave in enumerate(batch.waves.tolist())
    }  # fmt: skip


def memory(device):
    """Return all bytes that the waves can reach."""
    segments = [segment.data.tobytes() for segment in device.memory.memory.segments]
    return [*segments, device.memory.local.data.tobytes(), device.memory.scratch.data.tobytes()]


def assert_same(one, other):
    assert one.executed == other.executed
    assert state(one) == state(other)
    assert memory(one) == memory(other)
    assert [batch.waves.tolist() for batch in one.ended] == [batch.waves.tolist() for batch in other.ended]


QUICK = {
    ("gfx90a", "O2", "private_array"), ("gfx90a", "O0", "counted"), ("gfx90a", "O0", "one_address"),
    *(("gfx1100", "O2", kernel) for kernel in ("red", "in_rows", "tiles")),
}  # fmt: skip
BEFORE_GFX9 = KERNELS.keys() - {"totals", "narrow", "sub", "quotients"}
"""The kernels whose source GFX8 has all instructions for."""


@pytest.mark.parametrize(
    "processor, level, kernel",
    [
        pytest.param(processor, level, kernel, marks=() if (processor, level, kernel) in QUICK else pytest.mark.slow)
        for processor in PROCESSORS
        for level in ("O0", "O2")
        for kernel in (sorted(BEFORE_GFX9) if processor == "gfx803" else KERNELS)
        if kernel not in ("in_rows", "tiles", "one_address") or processor in ("gfx90a", "gfx1100")
    ],
)
@pytest.mark.sampled(2)
def test_every_register_and_byte_is_the_same(build, processor, level, kernel):
    path = build(processor, level)
    interpreted, _ = ready(path, kernel, 0)
    compiled, _ = ready(path, kernel, 2)
    interpreted.run()
    compiled.run()
    assert not interpreted.waiting
    assert_same(interpreted, compiled)


@pytest.mark.parametrize(
    "processor, level, count, step",
    [("gfx1100", "O2", 128, 97), *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        ("gfx1100", "O0", 32, 17), ("gfx90a", "O0", 256, 111), ("gfx1100", "O2", 32, 11),
    ))],
)  # fmt: skip
def test_every_limit_stops_at_the_same_instruction(build, processor, level, count, step):
    path = build(processor, level)
    devices = [ready(path, "long_body", hot, count)[0] for hot in (0, 1)]
    for device in devices:
        device.run()
    whole = devices[0].executed
    assert any(region.longest > LONGEST for region, _number in devices[1].compiled.entries.values())
    waves = devices[0].machine.wave_count
    for limit in range(whole // 3, whole // 3 + 700 * waves, step):
        for device in devices:
            start(device.machine, path, "long_body", count)
            device.run(limit)
        assert_same(*devices)
        for device in devices:
            device.run()


@pytest.mark.parametrize(
    "level, kernel, steps", [*(("O2", "col", steps) for steps in (100, 1000, 3333, 20_000)), ("O0", "recursive", 4019)]
)
def test_a_limit_stops_at_the_same_instruction(build, level, kernel, steps):
    devices, depths = [ready(build("gfx1100", level), kernel, hot)[0] for hot in (0, 2)], set()
    for at in range(steps, 4 * steps, steps):
        for device in devices:
            device.run(at)
        assert_same(*devices)
        depths |= {calls[2] for batch in devices[1].batches for calls in batch.each_calls()}
    assert kernel == "col" or max(depths) > 4


@pytest.mark.parametrize("patience, widest", [(10_000, 1024), (90, 1024), (150, 4), (10_000, 2)])
@pytest.mark.sampled(3)
def test_waves_pass_barriers_as_in_the_interpreter(build, monkeypatch, patience, widest):
    """Also where work-groups are in several batches, which get turns of few instructions."""
    monkeypatch.setattr(turns, "PATIENCE", patience)
    monkeypatch.setattr(turns, "WIDEST", widest)
    monkeypatch.setattr(device_module, "ALONE", 800)
    passed = []
    for step in (61, 1009):
        devices = [ready(build("gfx1100", "O2"), "tiles", hot)[0] for hot in (0, 1)]
        plain = devices[1].patience_at_barriers
        devices[1].patience_at_barriers = lambda batch, plain=plain: passed.append(plain(batch)) or passed[-1]
        for at in range(step, 6 * step, step):
            for device in devices:
                device.run(at)
            assert_same(*devices)
            assert [batch.spent for batch in devices[0].batches] == [batch.spent for batch in devices[1].batches]
        for device in devices:
            device.run()
        assert_same(*devices)
    assert (max(passed) > 0) == (widest >= 4)  # else no batch has all waves of a work-group


@pytest.mark.parametrize("patience", [10_000, 700])
@pytest.mark.parametrize(
    "level, kernel, step",
    [("O2", "col", 997), ("O2", "parting", 499), *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        ("O0", "col", 9973), ("O0", "parting", 2001), ("O0", "in_rows", 997),
    ))],
)  # fmt: skip
def test_waves_that_part_stay_in_compiled_code_and_have_the_same_turns(
    build, monkeypatch, level, kernel, step, patience
):
    monkeypatch.setattr(turns, "PATIENCE", patience)
    runs, plain = [], Entrance.run_some
    monkeypatch.setattr(Entrance, "run_some", lambda self, *args: runs.append(1) or plain(self, *args))
    devices = [ready(build("gfx1100", level), kernel, hot)[0] for hot in (0, 1)]
    for at in range(step, 12 * step, step):
        for device in devices:
            device.run(at)
        assert_same(*devices)
        assert order_of(devices[0]) == order_of(devices[1])
    for device in devices:
        device.run()
    assert_same(*devices)
    assert len(runs) > 10


def order_of(device):
    """Return the order of the batches of a device, and what they have spent."""
    return [(batch.pc, batch.spent, batch.waves.tolist()) for batch in device.batches]


@pytest.mark.parametrize(
    "processor, code",
    [
        ("gfx1100", "c101febe"),  # s_mov_b64 exec, -1 in waves of 32 lanes
        ("gfx90a", "810881be 001d80be"),  # s_brev_b32 s1, 1; s_setpc_b64 s[0:1]: the highest bit of an address
        ("gfx90a", "5404047e"),  # v_readfirstlane_b32 s2, s84
        # ds_read_b32 v1, v0 offset:4; v_add_u32 v2, v1, v0; ds_read2_b32 v[0:1], v0 ...; ds_read_b32 v4, v3
        ("gfx90a", "04006cd800000001 01010468 01096ed800000000 00006cd803000004"),
        ("gfx90a", "430084be"),  # s_mov_b32 s4, s67, which nothing has written
        # registers that nothing has written: v_mov_b32 v4, v3; v_swap_b32 v2, v6; v_dual_mov_b32 v4, v3 ::
        # v_dual_mov_b32 v7, v2; s_mov_b32 m0, 1; v_movrels_b32 v3, v4; v_swaprel_b32 v2, v1
        ("gfx90a", "0303087e 06a3047e"),
        ("gfx1100", "030110ca02010604 8100fdbe 0487067e 01d1047e"),
        (
            "gfx90a",
            "f902067e010d0b00",
        ),  # v_mov_b32_sdwa v3, sext(v1) dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3
        ("gfx90a", "f90a083e001215a0"),  # v_add_f16_sdwa v4, -v0, |s5| dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE ...
        ("gfx90a", "f908887d01000089"),  # v_cmp_gt_i32_sdwa vcc, v1, sext(s4) src0_sel:BYTE_0 src1_sel:BYTE_1
        ("gfx90a", "f90c0c5200050885"),  # v_mul_lo_u16_sdwa v6, sext(v0), s6 dst_sel:WORD_1 src1_sel:WORD_1
        # one address of all lanes: v_pk_mov_b32 v[2:3], s[4:5]; flat_load_dwordx2 v[4:5], v[2:3]; flat_load_ushort ...
        # offset:17; v_mov_b32 v1, 4; global_load_sbyte v1, v1, s[4:5]; and that of a buffer, read and written
        ("gfx90a", "0250b3d304080018 040054dc02000004 110048dc02000006 8402027e 108044dc01000401"),
        ("gfx90a", "020106c000000000 0402047e 0502067e 080050dc02000001 0c0070dc02000000"),
        # negated NaNs: v_or_b32 v2, 0x7fc00000, v0; v_add_f32 v3, v0, -v2; v_mul_f32 v4, -v2, -v0; v_fma_f32 ...
        ("gfx90a", "ff000428 0000c07f 030001d1 00050240 040005d1 02010260 0600cbd1 00010a84 0700cbd1 00050244"),
        # a NaN as a constant: v_subrev_f32 v3, -15, v0; v_subrev_f16 v4, -15, v0; v_subrev_f32 v6, -1, v0
        ("gfx90a", "cf000606 cf000842 c1000c06"),
        ("gfx90a", "03721ad1 4146c000"),  # v_sub_co_u32_e64 v3, ttmp[6:7], s65, s35, which the interpreter refuses
    ],
)
def test_odd_instructions_do_the_same(build, processor, code):
    devices = []
    for hot in (0, 1):
        device, launched = ready(build(processor, "O2"), "saxpy", hot)
        end = "0000b0bf" if processor == "gfx1100" else "000081bf"  # s_endpgm
        whole = bytes.fromhex(code + "81020a7e" + end)  # v_mov_b32 v5, 1
        device.machine.memory.writable(launched.plan.start.entry, len(whole))[:] = whole
        device.run()
        devices.append(device)
    assert_same(*devices)


def test_a_breakpoint_in_a_compiled_loop_stops_as_it_does_in_an_interpreted_one(build):
    devices = [ready(build("gfx1100", "O2"), "col", hot)[0] for hot in (0, 2)]
    devices[1].run(20_000)
    entries = sorted(address for address, _mode in devices[1].compiled.entries)
    assert entries
    devices[0].run(20_000)
    middle = entries[len(entries) // 2]
    address = middle + devices[1].instruction(middle).size
    for device in devices:
        device.add_breakpoint(Breakpoint(1, [address]))
    for _ in range(6):
        for device in devices:
            device.run()
        assert devices[0].halt is not None
        assert devices[1].halt.pc == devices[0].halt.pc == address
        assert_same(*devices)


def test_an_interrupt_in_a_compiled_loop_stops_where_a_limit_stops_the_interpreter(build, monkeypatch):
    monkeypatch.setattr(regions, "SPAN", 500)
    devices = [ready(build("gfx1100", "O2"), "col", hot)[0] for hot in (0, 2)]
    plain, calls = Entrance._call, itertools.count()
    for after in (30, 45):

        def call(self, *args, after=after):
            if next(calls) == after:
                devices[1].interrupt()
            return plain(self, *args)

        monkeypatch.setattr(Entrance, "_call", call)
        devices[1].run()
        assert devices[1].batches
        devices[0].run(devices[1].executed)
        assert_same(*devices)


def test_a_fault_in_compiled_code_is_that_of_the_interpreter(build):
    found = []
    for hot in (0, 2):
        device, launched = ready(build("gfx1100", "O2"), "col", hot)
        device.run(3000)
        name, buffer = next((each for each in device.memory.memory.buffers), None), device.memory.memory.buffers[0]
        device.memory.memory.segments[:] = [
            each for each in device.memory.memory.segments if not each.start <= buffer.address < each.end
        ]
        device.memory.memory.__init__(list(device.memory.memory.segments))
        device.run()
        found.append((state(device), [reason for _batch, reason in device.stopped]))
        assert name
        assert launched
    assert found[0][1]
    assert found[0] == found[1]


def test_two_machines_run_in_two_threads(build):
    path = build("gfx1100", "O2")
    devices = [ready(path, kernel, 2)[0] for kernel in ("col", "private_array")]
    threads = [threading.Thread(target=device.run) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for device, kernel in zip(devices, ("col", "private_array"), strict=True):
        alone, _ = ready(path, kernel, 0)
        alone.run()
        assert_same(alone, device)


@pytest.mark.parametrize(
    "name, error",
    [
        ("parse_assembly", RuntimeError("LLVM IR parsing error\nin line 3")),
        ("create_mcjit_compiler", MemoryError()),
        ("get_host_cpu_features", RuntimeError("failed to get host cpu features")),
        ("ObjectFileRef", None),
        ("get_default_triple", TypeError("another version")),
    ],
)
def test_an_error_of_llvm_is_never_seen(build, monkeypatch, name, error):
    """What has been compiled until then stays, and all else is interpreted."""
    devices = [ready(build("gfx1100", "O2"), "private_array", hot)[0] for hot in (0, 1)]
    devices[1].compiled._cache = None
    native._host.cache_clear()

    def fails(*_args, **_options):
        raise error

    if error is None:
        monkeypatch.delattr(native._binding(), name)
    else:
        monkeypatch.setattr(native._binding(), name, fails)
    for device in devices:
        device.run()
    assert_same(*devices)
    assert devices[1].compiled.entries == {}
    assert devices[1].compiled.problem
    assert "\n" not in devices[1].compiled.problem


@pytest.mark.parametrize("has_memory", [True, False])
def test_code_that_runs_for_long_is_optimized_if_llvm_can(build, monkeypatch, has_memory):
    devices = [ready(build("gfx1100", "O2"), "private_array", hot)[0] for hot in (0, 1)]
    levels, loaded = [], native._loaded

    def load(text, cache, level):
        levels.append(level)
        if level and not has_memory:
            raise MemoryError
        return loaded(text, cache, level)

    monkeypatch.setattr(native, "_COMPILING", 0)
    monkeypatch.setattr(native, "_loaded", load)
    for device in devices:
        device.run()
    assert_same(*devices)
    assert set(levels) == {0, 1}
    assert not devices[1].compiled.problem


def test_compiled_code_is_bounded(build, monkeypatch):
    for name, most in (("MOST_REGIONS", 2), ("MOST_BLOCKS", 8)):
        monkeypatch.setattr(regions, name, most)
    monkeypatch.setattr(CompiledRegions, "_texts", {})
    devices = [ready(build("gfx1100", "O2"), "col", hot)[0] for hot in (0, 1)]
    for device in devices:
        device.run(30_000)
    compiled = devices[1].compiled
    assert_same(*devices)
    assert 0 < compiled.counted()[0] <= 2
    assert max(map(len, (compiled.heat, compiled._texts, compiled._compilations, compiled._followers))) <= 8 + 8


def test_a_loop_is_one_region_and_straight_code_is_compiled_once(build, monkeypatch):
    path, calls, plain = build("gfx1100", "O0"), [], Entrance._leave
    device, _launched = ready(path, "col", 1, 32)
    device.run()
    assert max(device.compiled._compilations.values()) <= 2
    assert max(sum(block.count for block in region.blocks) for region, _ in device.compiled.entries.values()) <= LARGEST
    start(device.machine, path, "col", 32)
    monkeypatch.setattr(Entrance, "_leave", lambda self, *args: calls.append(1) or plain(self, *args))
    device.run()
    assert device.executed > 10_000
    assert len(calls) < 60, len(calls)


def test_no_block_is_written_from_where_waves_leave_compiled_code(build, monkeypatch):
    written, plain = [], Device._block
    monkeypatch.setattr(Device, "_block", lambda *args: written.append(plain(*args)) or written[-1])
    device, _launched = ready(build("gfx90a", "O0"), "long_body", 1)
    device.run()
    assert len(written) > 100  # instructions that are interpreted, each behind the other
    assert sum(block.count for block in written) <= len(written) + LONGEST


@pytest.mark.parametrize("most, ends", [(COUNT // 32, 2), (0, 0)])
def test_a_kernel_that_is_launched_often_is_compiled(build, monkeypatch, most, ends):
    """Two kernels in turns on one machine; each has regions of its own, in which its waves end."""
    monkeypatch.setattr(regions, "MOST_LAUNCHED", most)
    path, kernels = build("gfx1100", "O2"), ("saxpy", "dbl")
    devices = [ready(path, kernels[0], hot)[0] for hot in (0, 3)]
    for kernel in kernels * 4:
        for device in devices:
            device.run()
        assert_same(*devices)
        for device in devices:
            start(device.machine, path, kernel, COUNT)
    blocks = [block for region, _number in devices[1].compiled.entries.values() for block in region.blocks]
    assert sum(block.ending is not None and block.ending.end is not None for block in blocks) >= ends
    assert ends or not blocks  # it is no loop


@pytest.mark.parametrize("lanes, is_compiled", [(4, True), (COUNT + 1, False)])
def test_atomic_operations_of_many_lanes_heat_the_blocks_of_large_launches(build, monkeypatch, lanes, is_compiled):
    """Their counts are kept from launch to launch, though those of other blocks are not."""
    monkeypatch.setattr(regions, "MOST_LAUNCHED", 0)
    monkeypatch.setattr(regions, "ATOMIC_LANES", lanes)
    path = build("gfx90a", "O2")
    devices = [ready(path, "totals", hot)[0] for hot in (0, regions.HOT)]
    for _ in range(3):
        for device in devices:
            device.run()
        assert_same(*devices)
        for device in devices:
            start(device.machine, path, "totals", COUNT)
    assert bool(devices[1].compiled.entries) is is_compiled


def test_vector_registers_do_not_share_a_place_in_the_caches_of_the_host(build):
    """A cache finds a place by the last 12 bits of an address; 16 waves of 64 lanes are as many bytes."""
    device, _launched = ready(build("gfx90a", "O2"), "private_array", 1, 1024)
    device.run()
    (entrance, *_) = device.compiled._entrances.values()
    places = [address % 4096 for address in entrance._table]
    assert len(set(places)) == min(len(places), 16) > 8


def changed(device):
    device.machine.set_register("s6", 7)
    device.machine.set_register("v0", np.arange(64)[::-1])


def stopped(device):
    device.add_breakpoint(Breakpoint(1, [device.batches[0].pc]))


BEFORE_RUNNING = {
    "nothing": repr,
    "changed": changed,
    "stepped": lambda device: device.step(),
    "one wave stepped": lambda device: device.step(0),
    "alone": lambda device: device.let_run(1),
    "stopped": stopped,
    "observed": lambda device: setattr(device, "observer", [].append),
    "brought back": lambda device: device.restore(device.saved()),
    "limit": lambda device: device.run(limit=device.executed + 40),
    "faults stop": lambda device: device.run(stops_at_faults=True),
}


@pytest.mark.parametrize("kernel", ["saxpy", "tiles"])
@pytest.mark.parametrize("before", BEFORE_RUNNING)
@pytest.mark.sampled(3)
def test_waves_that_are_launched_in_compiled_code_do_the_same(build, before, kernel):
    """Compiled code has their registers from the launch on, until something else happens to them."""
    devices = [ready(build("gfx90a", "O2"), kernel, hot)[0] for hot in (0, 1)]
    for _ in range(3):
        for device in devices:
            device.run()
            start(device.machine, build("gfx90a", "O2"), kernel, COUNT)
    assert devices[1].compiled.ready is not None
    for device in devices:
        BEFORE_RUNNING[before](device)
        device.run()
    assert devices[1].compiled.ready is None
    assert_same(*devices)


def test_an_address_that_is_expected_to_be_private_is_given_up_where_it_is_not(build):
    devices = [ready(build("gfx90a", "O0"), "one_address", hot)[0] for hot in (0, 1)]
    for device in devices:
        device.run()
    assert_same(*devices)
    compiled = devices[1].compiled
    expecting = frozenset().union(*(region.expecting for region, _number in compiled.entries.values()))
    assert expecting
    assert compiled.differing
    assert not expecting & compiled.differing


JUMPS = """
down: v_writelane_b32 v4, s30, s32; v_writelane_b32 v5, s31, s32; s_add_u32 s32, s32, 1
  s_cmp_eq_u32 s32, 3; s_cbranch_scc1 deep; s_call_b64 s[30:31], down
behind: s_sub_u32 s32, s32, 1; v_readlane_b32 s30, v4, s32; v_readlane_b32 s31, v5, s32; s_setpc_b64 s[30:31]
deep: s_getpc_b64 s[6:7]; here: s_add_u32 s6, s6, behind-here; s_addc_u32 s7, s7, -1; s_setpc_b64 s[6:7]
"""
CALLED = """v_readfirstlane_b32 s8, v0; s_call_b64 s[30:31], down
  s_getpc_b64 s[30:31]; link: s_add_u32 s30, s30, after-link; s_addc_u32 s31, s31, 0; s_cmp_eq_u32 s8, 0
  s_cselect_b32 s30, s30, 0; s_getpc_b64 s[4:5]; from: s_add_u32 s4, s4, there-from; s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]; after: s_nop 0; there: s_nop 1
"""


def test_a_far_branch_is_no_return_and_each_wave_says_what_it_calls(require_tool, tmp_path):
    """A branch behind a call that is open, with a sum of the program counter; then a call by hand of the first wave."""
    path, seen = str(tmp_path / "jumps.co"), []
    words = f"--target=amdgcn-amd-amdhsa -mcpu=gfx1100 -x assembler - -o {path}"
    subprocess.run([require_tool("clang-22"), *words.split()], input=by_hand(JUMPS, CALLED).encode(), check=True)
    KERNELS["kernel"] = ()
    devices = [ready(path, "kernel", hot, 64)[0] for hot in (0, 1)]
    for limit in range(2, 200, 2):
        for device in devices:
            device.run(limit)
        assert_same(*devices)
        depths = [each[2] for batch in devices[0].batches for each in batch.each_calls()]
        seen += [depths] if depths else []
    assert [depths for depths, _same in itertools.groupby(seen)] == [*([n] * 2 for n in (1, 2, 3, 2, 1, 0)), [1, 0]]
