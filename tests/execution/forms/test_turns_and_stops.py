"""Where kernels stop that run as forms, in which turns waves run, and what is odd: against the interpreter."""

import itertools
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dwarfgpu.execution import device as device_module
from dwarfgpu.execution import turns
from dwarfgpu.execution.breakpoints import Breakpoint
from dwarfgpu.execution.faults import Pause, UnknownInstruction
from dwarfgpu.execution.forms import compiled_forms, native, program
from dwarfgpu.execution.forms.engine import library
from tests.audits.judge.test_frames_by_code import by_hand
from tests.execution.forms.kernel_runs import CALLED, COUNT, JUMPS, KERNELS, assert_same, order_of, ready, start, state


@pytest.mark.slow  # LLVM compiles some 60 long stretches for each limit
@pytest.mark.parametrize("processor, level, count, step", [
    ("gfx1100", "O2", 128, 397), ("gfx1100", "O0", 32, 97), ("gfx90a", "O0", 256, 401), ("gfx1100", "O2", 32, 101),
])  # fmt: skip
def test_every_limit_stops_at_the_same_instruction(build, processor, level, count, step):
    path = build(processor, level)
    devices = [ready(path, "long_body", hot, count, in_step=True)[0] for hot in (0, 1)]
    for device in devices:
        device.run()
    whole = devices[0].executed
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
@pytest.mark.sampled(6)
def test_waves_pass_barriers_as_in_the_interpreter(build, monkeypatch, patience, widest):
    """Also where work-groups are in several batches, which get turns of few instructions."""
    monkeypatch.setattr(turns, "PATIENCE", patience)
    monkeypatch.setattr(turns, "WIDEST", widest)
    monkeypatch.setattr(device_module, "ALONE", 800)
    for step in (61, 1009):
        devices = [ready(build("gfx1100", "O2"), "tiles", hot, in_step=True)[0] for hot in (0, 1)]
        for at in range(step, 6 * step, step):
            for device in devices:
                device.run(at)
            assert_same(*devices)
            assert [batch.spent for batch in devices[0].batches] == [batch.spent for batch in devices[1].batches]
        for device in devices:
            device.run()
        assert_same(*devices)


@pytest.mark.parametrize("patience", [10_000, 700])
@pytest.mark.parametrize(
    "level, kernel, step",
    [("O2", "col", 997), ("O2", "parting", 499), *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        ("O0", "col", 9973), ("O0", "parting", 2001), ("O0", "in_rows", 997),
    ))],
)  # fmt: skip
def test_waves_that_part_have_the_same_turns(build, monkeypatch, level, kernel, step, patience):
    monkeypatch.setattr(turns, "PATIENCE", patience)
    devices = [ready(build("gfx1100", level), kernel, hot, in_step=True)[0] for hot in (0, 1)]
    for at in range(step, 12 * step, step):
        for device in devices:
            device.run(at)
        assert_same(*devices)
        assert order_of(devices[0]) == order_of(devices[1])
    for device in devices:
        device.run()
    assert_same(*devices)


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
@pytest.mark.sampled(2)
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


def test_an_interrupt_in_a_compiled_loop_stops_where_a_limit_stops_the_interpreter(build, monkeypatch):
    monkeypatch.setattr(compiled_forms, "SPAN", 500)
    devices = [ready(build("gfx1100", "O2"), "col", hot, in_step=True)[0] for hot in (0, 2)]
    devices[1].run(100)
    plain, calls = devices[1].compiled.library.run, itertools.count()
    for after in (30, 45):

        def call(place, after=after):
            if next(calls) == after:
                devices[1].interrupt()
            return plain(place)

        devices[1].compiled.library = SimpleNamespace(run=call)
        devices[1].run()
        assert devices[1].batches
        devices[0].run(devices[1].executed)
        assert_same(*devices)


def test_a_fault_in_compiled_code_is_that_of_the_interpreter(build):
    found = []
    for hot in (0, 2):
        device, _ = ready(build("gfx1100", "O2"), "col", hot)
        device.run(3000)
        buffer, segments = device.memory.memory.buffers[0], device.memory.mapped
        kept = [each for each in segments if not each.start <= buffer.address < each.end]
        assert len(kept) < len(segments)
        device.memory.mapped = kept
        device.memory.memory.use(kept)
        device.run()
        found.append((state(device), [reason for _batch, reason in device.stopped]))
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
    """All is interpreted then."""

    def fails(*_args, **_options):
        raise error

    devices = [ready(build("gfx1100", "O2"), "private_array", hot)[0] for hot in (0, 1)]
    for each in (library, native._host, native._writer):
        each.cache_clear()
    if error is None:
        monkeypatch.delattr(native._binding(), name)
    else:
        monkeypatch.setattr(native._binding(), name, fails)
    devices[1].machine.keeps_code = False
    for device in devices:
        device.run()
    assert_same(*devices)
    assert devices[1].compiled.problem
    assert "\n" not in devices[1].compiled.problem


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
@pytest.mark.sampled(6)
def test_waves_that_are_launched_again_do_the_same(build, before, kernel):
    """Compiled code has their registers until something else happens to them."""
    devices = [ready(build("gfx90a", "O2"), kernel, hot)[0] for hot in (0, 1)]
    for _ in range(3):
        for device in devices:
            device.run()
            start(device.machine, build("gfx90a", "O2"), kernel, COUNT)
    for device in devices:
        BEFORE_RUNNING[before](device)
        device.run()
    assert_same(*devices)


def test_a_far_branch_is_no_return_and_each_wave_says_what_it_calls(compile_text):
    """A branch behind a call that is open, with a sum of the program counter; then a call by hand of the first wave."""
    path, seen = compile_text("gfx1100", by_hand(JUMPS, CALLED), "-x", "assembler"), []
    KERNELS["kernel"] = ()
    devices = [ready(path, "kernel", hot, 64, in_step=True)[0] for hot in (0, 1)]
    for limit in range(2, 200, 2):
        for device in devices:
            device.run(limit)
        assert_same(*devices)
        depths = [each[2] for batch in devices[0].batches for each in batch.each_calls()]
        seen += [depths] if depths else []
    assert [depths for depths, _same in itertools.groupby(seen)] == [*([n] * 2 for n in (1, 2, 3, 2, 1, 0)), [1, 0]]


@pytest.mark.parametrize(
    "processor, level, kernel, patience",
    [("gfx1100", "O2", "tiles", 10_000), ("gfx1200", "O2", "tiles", 90),
     *(pytest.param(*each, marks=pytest.mark.slow) for each in (
         ("gfx90a", "O2", "tiles", 10_000), *(("gfx90a", "O2", "parting", patience) for patience in (90, 10_000)),
         *(("gfx90a", "O0", "recursive", patience) for patience in (90, 10_000)),
     ))],
)  # fmt: skip
def test_waves_that_run_one_after_the_other_have_the_same_turns(build, monkeypatch, processor, level, kernel, patience):
    """Python executes the first ones of a round, and forms go on."""
    monkeypatch.setattr(turns, "PATIENCE", patience)
    devices = [ready(build(processor, level), kernel, hot)[0] for hot in (0, 1, 1)]
    devices[2].compiled.wait = compiled_forms.CompiledForms._waited + 5000
    for at in range(997, 9970, 499):
        for device in devices:
            device.run(at)
            assert device.executed <= at
        assert_same(*devices[:2])
        assert state(devices[0]) == state(devices[2])
    for device in devices:
        device.run()
    assert_same(*devices[:2])
    assert state(devices[0]) == state(devices[2])


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100", "gfx1200"])
@pytest.mark.parametrize("hot", [0, 1])
def test_work_groups_pass_barriers_by_themselves(build, monkeypatch, processor, hot):
    pauses = []
    plain = device_module.Device._pause
    monkeypatch.setattr(device_module.Device, "_pause", lambda *given: pauses.append(given[2]) or plain(*given))
    device, _ = ready(build(processor, "O2"), "tiles", hot)
    device.run()
    assert set(pauses) == {Pause.END}


HEADER = Path(__file__).parents[1] / "kernels.h"
LATER = """
kernel void later_group(global atomic_int *flag, global int *y) {
  local int seen;
  int group = get_group_id(0), is_first = get_local_id(0) == 0, now;
  do {
    if (is_first) seen = __opencl_atomic_load(flag, __ATOMIC_ACQUIRE, 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    now = seen;
    barrier(CLK_LOCAL_MEM_FENCE);
  } while (now != 3 - group);
  if (is_first) { y[3 - group] = group; __opencl_atomic_fetch_add(flag, 1, __ATOMIC_RELEASE, 2); }
}
kernel void later(global atomic_int *flag, global int *y) {
  int wave = get_global_id(0) / 32;
  while (__opencl_atomic_load(flag, __ATOMIC_ACQUIRE, 2) != 3 - wave);
  if (get_global_id(0) % 32 == 0) { y[3 - wave] = wave; __opencl_atomic_fetch_add(flag, 1, __ATOMIC_RELEASE, 2); }
}
"""


@pytest.mark.parametrize(
    "kernel, count, most",
    [("later", 128, 400_000), pytest.param("later_group", 512, 1_000_000, marks=pytest.mark.slow)],
)
def test_a_wave_that_waits_for_a_later_one_lets_it_run(require_tool, tmp_path, kernel, count, most):
    source, path = tmp_path / "later.cl", str(tmp_path / "later.co")
    source.write_text(LATER)
    words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx1100 -O2 -g -w -nogpulib -include {HEADER}"
    subprocess.run([require_tool("clang-22"), *words.split(), source, "-o", path], check=True)
    KERNELS[kernel] = (np.zeros(1, np.int32), np.zeros(4, np.int32))
    devices = [ready(path, kernel, hot, count)[0] for hot in (0, 1)]
    for device in devices:
        device.run(most)
        assert device.rest().has_ended
    assert_same(*devices)


@pytest.mark.parametrize("few", [0, 8])
def test_waves_meet_before_what_has_no_form_where_they_are_many(build, monkeypatch, few):
    plain = program.write_form

    def write(writer, instruction, *rest):
        if instruction.name.startswith("v_ashr"):
            raise UnknownInstruction("no form")
        return plain(writer, instruction, *rest)

    monkeypatch.setattr(program, "write_form", write)
    monkeypatch.setattr(program.FormProgram, "_forms", {})
    monkeypatch.setattr(device_module, "_FEW", few)
    devices = [ready(build("gfx1100", "O2"), "col", hot)[0] for hot in (0, 1)]
    for at in (100, 997, 5003):
        for device in devices:
            device.run(at)
        assert_same(*devices)
    for device in devices:
        device.run()
    assert_same(*devices)
