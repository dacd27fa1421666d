"""Kernels that run to their end, to breakpoints, faults and traps, and what their arguments may be."""

import os
import signal
import subprocess
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.control.line_traces import LineTrace
from dwarfgpu.execution.control.placed import Discoveries
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.program.code.code_lookup import name_and_offset
from dwarfgpu.render.values import value_text
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.parameters import every, for_each, pairs

SLOW = pytest.mark.slow
PROCESSORS = ["gfx90a", "gfx1100", *(pytest.param(name, marks=SLOW) for name in ("gfx900", "gfx1030", "gfx1200"))]
WAVE64 = ("gfx1030", "O0", "-mwavefrontsize64")
COUNT, GROUP = 300, 64
NUMBERS = np.random.default_rng(3).integers(1, 128, COUNT).astype(np.int32)


def started(path, kernel, *, count=COUNT, group=GROUP, **options):
    return launch(machine_for(path, kernel), path, kernel, grid=(count,), work_group=(group,), **options)


def steps(number):
    count = 0
    while number != 1:
        number = 3 * number + 1 if number & 1 else number // 2
        count += 1
    return count


STEPS = [steps(number) for number in NUMBERS.tolist()]


def steps_launched(path, **options):
    return started(path, "steps_", args={"out": np.zeros(COUNT, np.int32), "in": NUMBERS, "n": COUNT}, **options)


def lanes_of(mask):
    return [lane for lane in range(64) if mask >> lane & 1]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_buffers_are_what_the_host_computes(built, processor):
    launched = steps_launched(built(processor))
    halt = launched.machine.run()
    assert (halt.kind, str(halt), halt.has_ended) == ("ended", "all waves have ended", True)
    assert launched.buffers["out"].dtype == np.int32
    assert launched.buffers["out"].tolist() == STEPS
    assert launched.machine.run().has_ended


@pytest.mark.parametrize("jit", ["on", "off"])
def test_registers_are_taken_over_when_somebody_reads_them(built, jit):
    read, unread = (steps_launched(built("gfx1100")).machine for _ in range(2))
    start = unread.program_counter(0)
    for machine in (read, unread):
        machine.jit = jit
        assert machine.run(limit=machine.wave_count).kind == "limit"
        assert machine is unread or machine.program_counter(0) != start
        assert machine.run().has_ended
    assert [stop.detail for stop in unread.stops.values()] == [HAS_ENDED] * unread.wave_count
    assert (read.sgpr == unread.sgpr).all()
    assert (read.vgpr == unread.vgpr).all()


def test_registers_are_taken_over_again_where_that_was_interrupted(built, monkeypatch):
    """And waves that come later do not count among those whose registers they are."""
    one, other = (steps_launched(built("gfx1100")).machine for _ in range(2))
    one.run(limit=300)
    other.run(limit=300)
    expected, put = one.column("pc").copy(), other.set_numbers

    def interrupted(*given):
        put(*given)
        raise KeyboardInterrupt

    before = other.changes
    monkeypatch.setattr(other, "set_numbers", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.column("pc")
    monkeypatch.undo()
    assert (other.ahead, other.changes) == (other.device, before)
    assert other.column("pc").tolist() == expected.tolist()
    other.run()
    other.add_waves(2, dispatch=0)
    assert {len(file.data) for file in other.files} == {other.wave_count}


def test_a_buffer_is_the_memory_of_the_machine_and_may_be_empty(built, tmp_path):
    launched = steps_launched(built(), at_once=4)
    launched.buffers["in"][:] = 1
    launched.machine.run()
    assert not launched.buffers["out"].any()
    launched = started(built(), "saxpy", args={"y": "ones(0)", "x": "ones(4)", "a": 1.0, "n": 0})
    running = Running(launched)
    assert running.run().has_ended
    running.save("y", str(tmp_path / "y.npy"))
    assert np.load(tmp_path / "y.npy").shape == (0,)


@pytest.mark.slow
@every(key=[("gfx90a", "O0"), ("gfx1100", "O2"), pytest.param(WAVE64, marks=SLOW)], seed=[None, 0, 5])
def test_work_groups_start_when_others_have_ended(built, key, seed):
    launched = steps_launched(built(*key), at_once=2, seed=seed)
    machine = launched.machine
    assert machine.wave_count == 2
    assert machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS
    assert machine.device.waves_ended == launched.geometry.wave_count
    whole = steps_launched(built(*key))
    whole.machine.run()
    assert whole.machine.wave_count == launched.geometry.wave_count


@pytest.mark.parametrize("at_once", [None, 4])
def test_scratch_and_local_memory_belong_to_the_waves_that_there_are(built, at_once):
    for key in (("gfx90a", "O0"), WAVE64):
        launched = started(built(*key), "spill", args={"out": "zeros(300)", "n": 7}, at_once=at_once)
        assert launched.machine.run().has_ended
        wanted = [sum(i + (k * 5 & 15) for k in range(7)) for i in range(COUNT)]
        assert launched.buffers["out"].tolist() == wanted
        args = {"out": "zeros(4)", "in": np.arange(256, dtype=np.int32), "cells": 4 * GROUP}
        launched = started(built(*key), "shared_sum", count=256, args=args, at_once=at_once)
        assert launched.machine.run().has_ended
        assert launched.buffers["out"].tolist() == np.arange(256).reshape(4, 64).sum(axis=1).tolist()


@pytest.mark.slow
def test_a_seed_gives_the_same_order_each_time(built):
    def order(seed):
        args = {"y": "ones(300)", "x": "arange(300)", "a": 2, "n": COUNT}
        launched = started(built(), "saxpy", args=args, at_once=4, seed=seed)
        machine, seen = launched.machine, []
        while not machine.run(limit=100).has_ended:
            seen.append((machine.device.executed, tuple(machine.work_group[:, 0].tolist())))
        return seen

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_a_second_kernel_uses_the_memory_of_the_first(built):
    path = built()
    launched = started(path, "saxpy", args={"y": "ones(300)", "x": "arange(300)", "a": 2, "n": COUNT})
    machine = launched.machine
    machine.run(limit=1)
    with pytest.raises(UsageError, match="waves of an earlier launch have not ended"):
        launch(machine, path, "saxpy", grid=(1,), work_group=(1,))
    machine.run()
    args = {"y": launched.addresses["y"], "x": launched.addresses["y"], "a": 1.0, "n": COUNT}
    again = launch(machine, path, "saxpy", grid=(COUNT,), work_group=(GROUP,), args=args)
    assert machine.wave_count == again.geometry.wave_count
    assert machine.run().has_ended
    assert launched.buffers["y"].tolist() == [2.0 * (1 + 2 * i) for i in range(COUNT)]


@every(version=[4, 5, 6], processor=["gfx900", "gfx1100"])
@pytest.mark.sampled(4)
def test_hidden_arguments_have_the_sizes_of_the_launch(built, processor, version):
    path = built(processor, "O0", f"-mcode-object-version={version}")
    machine = machine_for(path, "sizes")
    launched = launch(machine, path, "sizes", grid=(100, 7), work_group=(32, 2), args={"out": "zeros(7)"})
    assert machine.run().has_ended
    wanted = [3, 3, 32, 2, 4, 1, 2] if version > 4 else [0] * 7
    assert launched.buffers["out"].tolist() == wanted


@for_each("key",
    ("gfx90a", "O0"),
    *(pytest.param((name, "O0"), marks=SLOW) for name in ("gfx900", "gfx1100", "gfx1200")),
    WAVE64)  # fmt: skip
def test_a_condition_of_the_source_says_which_lanes_stop(built, key):
    launched = steps_launched(built(*key))
    running = Running(launched)
    (point,) = running.break_at("kernels.cl:10", "x > 300 && (i & 1)")
    seen = set()
    while not (halt := running.run()).has_ended:
        assert (halt.kind, halt.breakpoint, halt.pc) == ("breakpoint", point, point.address)
        for wave, mask in halt.lanes.items():
            frame = running.attached[wave].frame(0)
            lanes = lanes_of(mask)
            assert (frame.eval("x", lanes).array > 300).all()
            seen |= {64 * launched.machine.place_of(wave)[1][0] + _in_group(launched, wave, lane) for lane in lanes}
        if point.hits == 40:
            point.is_enabled = False
    assert launched.buffers["out"].tolist() == STEPS
    assert seen <= {i for i, number in enumerate(NUMBERS.tolist()) if i & 1 and highest(number) > 300}
    assert seen


PAIRS = "cd", "st", "iu", "lm", "cu", "sm", "dl", "ti"
CONDITIONS = [
    *(f"{left} {sign} {right}" for left, right in PAIRS for sign in ("<", "==", ">=")),
    "c + d > s - t", "(i ^ u) & 64", "l * 3 + i != m", "-c < ~d", "!(u & 4) || s > 'a'", "k > 1 && (l | 1) < -m",
    "-1 < u", "4294967295 == u * 4294967296 - 1", "d - 200 < 0", "t * t > i", "m", "+c", "k == 2u"]  # fmt: skip


@pytest.mark.slow
@for_each(
    "key", ("gfx90a", "O0"), *(pytest.param(key, marks=SLOW) for key in (("gfx1100", "O0"), WAVE64, ("gfx90a", "O2")))
)
def test_a_condition_of_integers_is_what_it_is_without_columns(built, key, monkeypatch):
    running = Running(started(built(*key), "mixed", args={"out": np.zeros(COUNT, np.int64), "n": 4}))
    points = running.break_at("kernels.cl:78")
    counts = {True: 0, False: 0}

    def ask(arrival):
        for text in CONDITIONS:
            quick = running.truth(text, arrival)
            counts[running._conditions[text, None].at(arrival.batch) is not None] += 1
            with monkeypatch.context() as changed:
                changed.setattr(Discoveries, "at", lambda *_: None)
                assert (quick == running.truth(text, arrival)).all(), text
        return False

    for point in points:
        point.holds = ask
    assert running.run().has_ended
    assert counts[True]
    assert key[1] == "O2" or not counts[False]


SPECIAL = [
    "$wave == 4",
    "$lane == 3",
    "$pc != 0",
    "$exec & 8",
    "get_local_id(0) == 3",
    "get_group_id(0) == 2",
    "1",
    "0",
]


@for_each("level, every", ("O0", 15), pytest.param("O0", 1, marks=SLOW), pytest.param("O2", 1, marks=SLOW))
def test_a_condition_of_waves_and_lanes_is_what_it_is_in_each_lane(built, level, every):
    """Some names have one value for all waves, some one for each wave, some one for each lane."""
    running = Running(started(built("gfx1100", level), "mixed", args={"out": np.zeros(COUNT, np.int64), "n": 4}))
    pairs = permutations(SPECIAL, 2)
    texts = [*SPECIAL, *(f"{left} {sign} {right}" for left, right in pairs for sign in ("&&", "||", "+"))][::every]
    widths = []

    def ask(arrival):
        waves = arrival.waves.tolist()
        if len(widths) == 2:
            return False
        widths.append(len(waves))
        truth = {text: running.truth(text, arrival).tolist() for text in texts}
        for row, wave in enumerate(waves):
            frame = running.attached[wave].frame(0)
            for lane in (0, 3, 9):
                for text in texts:
                    number = frame.expression(text).find(frame.lane(lane)).number()
                    assert truth[text][row][lane] == bool(number), (text, wave, lane)
        return False

    (point, *_others) = running.break_at("kernels.cl:78")
    point.holds = ask
    assert running.run().has_ended
    assert max(widths) > 4


def highest(number):
    top = 0
    while number != 1:
        number = 3 * number + 1 if number & 1 else number // 2
        top = max(top, number)
    return top


def _in_group(launched, wave, lane):
    return launched.machine.place_of(wave)[2] * launched.geometry.wave_size + lane


def test_breakpoints_without_a_condition_or_a_value_of_it_stop_all(built):
    launched = steps_launched(built("gfx90a", "O2"))
    running = Running(launched)
    running.break_at("kernels.cl:4")
    halt = running.run()
    assert halt.waves == tuple(range(5))
    assert halt.lanes[4] == (1 << 44) - 1
    assert launched.machine.program_counter(0) == halt.pc
    assert running.position(halt.pc).line == 4
    assert running.run().has_ended
    running = Running(steps_launched(built("gfx1100", "O2")))
    running.break_at("steps_", "steps > 3")
    halt = running.run()
    assert halt.kind == "breakpoint"
    assert running.condition_problem.text.startswith("steps > 3 (steps: ")


INLINED = """#ifndef __OPENCL_C_VERSION__
#define global
#define kernel
#endif
LINKAGE __attribute__((always_inline)) int pick(global volatile int *a, int t) {
  int s = a[t];
  if (s > 4)
    s -= a[t + 1];
  return s;
}
kernel void both(global volatile int *a) {
  a[7] = 3;
  a[1] = pick(a, 3);
  a[2] = pick(a, 5);
#pragma unroll
  for (int k = 0; k < 4; k++)
    a[k] += a[8];
}
#ifndef __OPENCL_C_VERSION__
void around(volatile int *a) { both(a); }
#endif
"""


@pytest.mark.parametrize(
    "built, processor", pairs([("-O2", "static inline"), ("-O2", ""), ("-O0", "")], ["gfx90a", "gfx1100"])
)
@pytest.mark.sampled(6)
def test_an_inlined_function_and_its_lines_stop_at_each_call_as_in_gdb(require_tool, tmp_path, built, processor):
    """Not behind the prologue of the function around the calls. A line of an unrolled loop has one place in each.

    A function with external linkage has a copy of its own, too. Of a kernel, clang's wrapper is no place.
    """
    clang, gdb, source = require_tool("clang-22"), require_tool("gdb"), tmp_path / "both.cl"
    level, linkage = built
    source.write_text(INLINED)
    kernel, host = tmp_path / "both.co", tmp_path / "both"
    options = "-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"
    for words in ((*options, "-o", str(kernel)), ("-x", "c", "-nostdlib", "-Wl,-e,around", "-o", str(host))):
        command = [clang, *words, f"-DLINKAGE={linkage}", level, "-g", "-w", str(source)]
        subprocess.run(command, check=True, capture_output=True)
    running = Running(started(str(kernel), "both", count=1, group=1, args={"a": np.arange(9, dtype=np.int32)}))
    for place in ("pick", "both", "both.cl:6", "both.cl:8", "both.cl:17"):
        command = [gdb, "-nx", "-batch", "-ex", f"break {place}", str(host)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        stops = running.stops(place)
        assert (f"({len(stops)} locations)" if len(stops) > 1 else "Breakpoint 1 at") in text
        assert ":" not in place or {running.position(address).line for address in stops} == {int(place[8:])}
    running.break_at("pick")
    calls = []
    while not (halt := running.run()).has_ended:
        frame = running.attached[0].frame(0)
        calls.append((frame.name, frame.eval("t", [0]).filled(0).tolist()))
        assert halt.kind == "breakpoint"
        assert " in pick, inlined in both" in str(running.position(halt.pc))
    assert calls == [("pick", [3]), ("pick", [5])]


UNROLLED = """kernel void unrolled(global int *a, global int *b) {
  int sum = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int v = a[k * 7];
    sum += v * b[k];
  }
  a[0] = sum;
}
"""


def test_a_breakpoint_at_all_places_of_a_line_stops_in_each_round_of_an_unrolled_loop(require_tool, tmp_path):
    """They are what llvm-dwarfdump lists; without -all it is at the first of each block, as in GDB, and counts them."""
    clang, dump, source = require_tool("clang-22"), require_tool("llvm-dwarfdump-22"), tmp_path / "unrolled.cl"
    source.write_text(UNROLLED)
    path = str(tmp_path / "unrolled.co")
    options = "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib", "-O1", "-g", "-o", path
    subprocess.run([clang, *options, str(source)], check=True, capture_output=True)
    text = subprocess.run([dump, "--debug-line", path], check=True, capture_output=True, text=True).stdout
    rows = [row.split() for row in text.splitlines() if row.startswith("0x") and "is_stmt" in row]
    arguments = {"a": np.arange(32, dtype=np.int32), "b": np.arange(32, dtype=np.int32)}
    running = Running(started(path, "unrolled", count=1, group=1, args=arguments))
    lines = [line for line in (5, 6) if sum(int(row[1]) == line for row in rows) > 2]
    assert lines
    for line in lines:
        place = f"unrolled.cl:{line}"
        listed = {int(row[0], 0) + running.launched.plan.load_address for row in rows if int(row[1]) == line}
        starts, first = running.stops(f"{place} -all"), running.stops(place)
        assert set(first) < set(starts) <= listed
        assert starts == running.stops(f"-all {place}")
        missed = running.missed_text(place, running.break_at(place, "0"), "0")
        some = f"{len(first)} of the line's {len(starts)} places"
        assert missed == f"no lane came to {place} with `0`, at {some}: `{place} -all` stops at each"
        assert running.missed_text(f"{place} -all", running.break_at(f"{place} -all", "0")).endswith(place)
    reached = {running.launched.plan.start.entry}
    running.break_at(f"{place} -all")
    while not (halt := running.run()).has_ended:
        assert halt.pc not in reached
        reached.add(halt.pc)
    assert len(reached) > 2  # the others are of the function that the kernel is inlined from


def test_a_place_where_a_condition_means_nothing_is_told(require_tool, tmp_path):
    """The kernel ends in the function that clang makes around its body, which has none of its variables."""
    clang, source = require_tool("clang-22"), tmp_path / "unrolled.cl"
    source.write_text(UNROLLED)
    path, last = str(tmp_path / "unrolled.co"), UNROLLED.count("\n")
    options = "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib", "-O2", "-g", "-o", path
    subprocess.run([clang, *options, str(source)], check=True, capture_output=True)
    arguments = {"a": np.arange(32, dtype=np.int32), "b": np.arange(32, dtype=np.int32)}
    running = Running(started(path, "unrolled", count=1, group=1, args=arguments))
    place = f"unrolled.cl:{last}"
    count = len(running.stops(place))
    points = running.break_at(place, "sum == 3")
    assert 0 < len(points) < count
    text = f"`sum == 3` means nothing at {count - len(points)} of {count} places, so no wave stops there: no variable"
    assert running.left_out_text(place, "sum == 3").startswith(text)
    assert running.run().has_ended
    assert text in running.missed_text(place, points, "sum == 3")
    assert running.left_out_text(place, None) is None is running.left_out_text(place, "1")


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_function_is_entered_where_its_parameters_have_their_values(built, processor):
    running = Running(
        started(built(processor), "steps_", args={"out": np.zeros(COUNT, np.int32), "in": NUMBERS, "n": COUNT})
    )
    running.break_at("helper", "v == 7")
    halt = running.run()
    assert halt.lanes
    for wave, mask in halt.lanes.items():
        values = running.attached[wave].frame().eval("v", list(range(running.machine.target.lane_count))).filled(0)
        executing = int(running.machine.column("exec")[wave])
        assert mask == sum(1 << lane for lane, v in enumerate(values.tolist()) if v == 7 and executing >> lane & 1)


def test_functions_of_python_are_conditions(built):
    launched = steps_launched(built("gfx90a", "O2"))
    machine = launched.machine
    asked = []

    def only_wave_2(arrival):
        asked.append(arrival.waves.tolist())
        assert arrival.lanes.shape == arrival.register("v0").shape == (len(arrival.waves), 64)
        assert arrival.register("s6").tolist() == machine.work_group[arrival.waves, 0].tolist()
        return arrival.waves == 2

    point = machine.break_at(launched.plan.start.entry, only_wave_2)
    assert machine.run().waves == (2,)
    assert asked == [[0, 1, 2, 3, 4]]
    assert machine.run().has_ended
    assert point.hits == 1


def test_until_an_address_a_function_or_a_line(built):
    launched = steps_launched(built("gfx1100", "O2"))
    machine, entry = launched.machine, launched.plan.start.entry
    halt = machine.run(until=entry)
    assert (halt.pc, len(halt.lanes)) == (entry, 10)
    assert not machine.device.breakpoints
    halt = machine.run(until=lambda arrival: arrival.pc > entry)
    assert halt.pc > entry
    assert machine.device.executed == 10
    assert machine.run().has_ended
    running = Running(steps_launched(built("gfx1100", "O2")))
    entry = running.launched.plan.start.entry
    assert entry in running.addresses("steps_")
    assert running.addresses(f"{entry:#x}") == running.addresses(f"*{entry:#x}") == [entry]
    assert entry + 8 in running.addresses("steps_+0x8")
    assert running.addresses("10") == running.addresses("kernels.cl:10")


@for_each("place, condition, message",
    ("nowhere.cl:3", None, "No source file named nowhere.cl"),
    ("kernels.cl:9999", None, "kernels.cl:9999 or a later line"),
    ("no_function", None, 'Function "no_function" not defined'),
    ("0x1234", None, "there is no code at 0x1234"),
    ("kernels.cl:10", "x = 3", "is an assignment"),
    ("kernels.cl:10", "x +", "x +"))  # fmt: skip
def test_places_and_conditions_that_mean_nothing(built, place, condition, message):
    running = Running(steps_launched(built("gfx1100", "O0")))
    error = raised(DwarfGpuError, running.break_at, place, condition)
    assert message.lower() in f"{error} {error.hint}".lower()


@pytest.mark.parametrize("key", [("gfx90a", "O0"), ("gfx1100", "O0")])
def test_waves_step_alone_and_together(built, key):
    launched = steps_launched(built(*key))
    machine, entry = launched.machine, launched.plan.start.entry
    assert machine.step(1).kind == "step"
    pcs = [machine.program_counter(wave) for wave in range(machine.wave_count)]
    assert pcs[1] > entry
    assert pcs[:1] + pcs[2:] == [entry] * (machine.wave_count - 1)
    machine.step(0, alone=False)
    assert {machine.program_counter(wave) for wave in range(machine.wave_count)} == {pcs[1]}
    assert machine.device.executed == machine.wave_count
    for _ in range(20):
        machine.step()
    assert machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS
    assert machine.step(0).has_ended


def test_what_is_written_to_a_stopped_machine_counts(built):
    launched = steps_launched(built("gfx90a", "O0"))
    running = Running(launched)
    running.break_at("kernels.cl:8")
    wave = running.run().waves[0]
    frame = running.attached[wave].frame(0)
    frame.assign(frame["x"], "1", lanes=[3])
    machine = launched.machine
    machine.set_register("v200" if machine.register_named("v200") is None else "v5", 0, slice(wave, wave + 1))
    for points in list(machine.device.breakpoints.values()):
        machine.device.remove_breakpoint(points[0])
    assert running.run().has_ended
    place = launched.machine.place_of(wave)
    number = GROUP * place[1][0] + 64 * place[2] + 3
    wanted = [0 if index == number else count for index, count in enumerate(STEPS)]
    assert launched.buffers["out"].tolist() == wanted


def test_a_wave_is_sent_elsewhere(built):
    launched = steps_launched(built("gfx1100", "O2"))
    machine, entry = launched.machine, launched.plan.start.entry
    machine.step(0)
    machine.step(0)
    machine.set_register("pc", np.array([entry], np.uint64), slice(0, 1))
    assert machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS


@pytest.mark.parametrize("processor", PROCESSORS)
def test_faults_and_traps_name_the_reason_the_waves_and_the_lanes(built, processor):
    launched = started(built(processor), "wild", args={"p": "zeros(10)"})
    running = Running(launched)
    halt = running.run()
    assert halt.kind == "fault"
    assert halt.reason.startswith("MEMORY_VIOLATION: no memory at 0x")
    assert 0 not in lanes_of(halt.lanes[halt.waves[0]])
    assert running.position(halt.pc).line == 18
    assert running.attached[halt.waves[0]].stop_reason == halt.reason
    assert launched.machine.run().kind == "fault"
    launched = started(built(processor, "O2"), "trapped", args={"p": "zeros(300)", "lane": 40})
    halt = launched.machine.run()
    assert (halt.kind, halt.reason) == ("trap", "ASSERT_TRAP")


@for_each("number, reason",
    (1, "DEBUG_TRAP: debugtrap(0x0 to 0x3f), queue 0x80007f0000010000"), (2, "ASSERT_TRAP: queue 0x80007f0000010000"),
    (3, "DEBUG_TRAP"),     (4, "TRAP"),           (7, "BREAKPOINT"))  # fmt: skip
def test_traps_of_old_code_objects_have_other_numbers(number, reason):
    """AMDGPU usage of 2020, "Trap Handler ABI"; s[0:1] of this kernel has half of its scratch buffer."""
    path = "fixtures/asm/code-object-v2.gfx803.co"
    machine = machine_for(path, "vector_add")
    code = machine.memory.writable(launch(machine, path, "vector_add", grid=64, work_group=64).plan.start.entry, 8)
    code[:8] = (0xBF920000 | number).to_bytes(4, "little") + (0xBF810000).to_bytes(4, "little")  # s_trap; s_endpgm
    halt = machine.run()
    assert (halt.kind, halt.reason) == ("trap", reason)


def test_machines_that_cannot_run_and_limits_say_so(built, tmp_path):
    launched = steps_launched(built("gfx1100", "O0"))
    assert launched.machine.run(limit=100).kind == "limit"
    assert launched.machine.device.executed >= 100
    assert launched.machine.run().has_ended
    with pytest.raises(UsageError, match="the machine has no waves that could run"):
        machine_for(built(), "saxpy").run()
    launched = steps_launched(built())
    snapshot.save(launched.machine, tmp_path / "s.json")
    assert "a snapshot cannot run" in str(raised(UsageError, snapshot.load(tmp_path / "s.json").run))
    launch(launched.machine, built(), "saxpy", grid=(64,), work_group=(64,))
    assert "waves of several dispatches cannot run together" in str(raised(UsageError, launched.machine.run))
    machine = Gpu(resolve("gfx90a"))
    machine.add_waves(2)
    assert "the waves have no program counter" in str(raised(UsageError, machine.step))


def test_interrupted_runs_lose_no_wave_and_can_go_on(built):
    launched = steps_launched(built("gfx1100", "O0"))
    device = launched.machine.device
    device.on_turn = lambda device: device.interrupt()
    assert launched.machine.run().kind == "interrupted"
    device.on_turn = None
    assert launched.machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS
    launched = steps_launched(built("gfx1100", "O0"))
    device = launched.machine.device
    before = signal.getsignal(signal.SIGINT)
    device.on_turn = lambda _device: os.kill(os.getpid(), signal.SIGINT)
    assert launched.machine.run().kind == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    device.on_turn = None
    assert launched.machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS


@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_stack_that_is_too_deep_is_a_fault_and_no_other_wave_suffers(built, processor):
    depth = np.full(256, 5, np.int32)
    depth[64:128] = 60
    args = {"out": np.zeros(256, np.int32), "depth": depth}
    launched = started(built(processor), "stacks", count=256, args=args, private_size=16 << 10)
    halt = launched.machine.run()
    assert halt.reason.startswith("MEMORY_VIOLATION: stack overflow or wrong index: no private memory at 0x40")
    past = "bytes past the end of private memory, which has 16384 bytes; --private-size gives more)"
    assert halt.reason.endswith(past)
    lanes = launched.machine.target.lane_count
    assert set(halt.lanes) == set(range(64 // lanes, 128 // lanes))
    launched.machine.run()  # the others go on
    out = launched.buffers["out"]
    assert not out[64:128].any()
    assert set(out[:64].tolist() + out[128:].tolist()) == {1 + 5 + 4 + 3 + 2 + 1}


@for_each(
    "size, count, where",
    (256, 65, "just past the end of `x`, which has 256 bytes"),
    (200, 64, "just past the end of `x`, which has 200 bytes"),
    (4, 4096, "just past the end of `x`, which has 4 bytes")
)  # fmt: skip
@pytest.mark.parametrize("key", [("gfx90a", "O2"), ("gfx1100", "O0")])
def test_a_fault_names_the_buffer(built, key, size, count, where):
    args = {"y": f"zeros({count})", "x": f"ones({size // 4})", "a": 1.0, "n": count}
    launched = started(built(*key), "saxpy", count=count, args=args)
    halt = launched.machine.run()
    assert halt.reason.startswith("MEMORY_VIOLATION: no memory at 0x")
    assert f"({where})" in halt.reason


@for_each(
    "padding, size, distance, where",
    (None, 64, 4096, "4096 bytes past the end of `out`, which has 64 bytes"),
    (None, 64, 65532, "nearest: 65532 bytes past the end of `out`, which has 64 bytes"),
    (None, 64, -65536 - 4, None),
    (0x20000, 64, -0x20000, "nearest: 131072 bytes before the start of `out`, which has 64 bytes"),
    (256, 64, 0, "just past the end of `out`, which has 64 bytes"),
    (0, 8, -3, "from byte 5 across the end of `out`, which has 8 bytes")
)  # fmt: skip
def test_memory_around_a_buffer_is_missing(built, padding, size, distance, where):
    path = built("gfx1100", "O0")
    args = {"out": bytearray(size), "depth": "zeros(32)"}
    done = launch(machine_for(path, "stacks"), path, "stacks", grid=32, work_group=32, args=args, padding=padding)
    memory, start = done.machine.device.memory.memory, done.addresses["out"]
    address = start + distance if distance < -4 else start + size + distance
    assert memory.segment_of(address, address + 3) is None
    text = f"no memory at {address:#x}"
    assert memory.missing(address) == (f"{text} ({where})" if where else text)
    first, last = start - (padding or 0 if padding is not None else 1 << 16), start - 1
    assert all(segment.end <= first or segment.start > last for segment in memory.segments)


def test_each_wave_of_a_fault_names_its_own_address(built):
    args = {"y": "zeros(64)", "x": "ones(10)", "a": 1.0, "n": 64}
    machine = started(built("gfx1100", "O0"), "saxpy", count=64, args=args).machine
    machine.run()
    first, second = (machine.stop_of(wave) for wave in range(2))
    assert (first.lanes, second.lanes) == (0xFFFFFC00, 0xFFFFFFFF)
    assert first.detail == f"no memory at {first.address:#x} (just past the end of `x`, which has 40 bytes)"
    assert second.detail == f"no memory at {second.address:#x} (88 bytes past the end of `x`, which has 40 bytes)"
    assert second.address - first.address == 88


def test_a_dynamic_stack_has_a_kibibyte_more():
    path = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"
    machine = machine_for(path, "divergent")
    args = {"out": "zeros(64)", "limit": 4}
    assert launch(machine, path, "divergent", grid=64, work_group=64).plan.start.private_segment_size == 128 + 1024
    machine = machine_for(path, "divergent")
    done = launch(machine, path, "divergent", grid=64, work_group=64, args=args, private_size=200)
    assert done.plan.start.private_segment_size == 200


@pytest.mark.slow
def test_blocks_are_kept_up_to_a_number(built, monkeypatch):
    monkeypatch.setattr("dwarfgpu.execution.device.MOST_BLOCKS", 4)
    launched = steps_launched(built("gfx1100", "O0"))
    launched.machine.jit = "off"  # all of them are of the interpreter
    assert launched.machine.run().has_ended
    assert launched.buffers["out"].tolist() == STEPS
    assert 0 < len(launched.machine.device.blocks) <= 4
    stepped = steps_launched(built("gfx1100", "O0"))
    stepped.machine.run(until=lambda _arrival: False, limit=9000)
    assert 0 < len(stepped.machine.device._single) <= 4


def test_a_trace_of_a_wave_that_jumps_where_no_code_is(built):
    launched = steps_launched(built("gfx1100", "O0"))
    machine = launched.machine
    machine.step(0)
    machine.set_register("pc", np.array([16], np.uint64), slice(0, 1))
    steps = []
    trace = StepTrace(Running(launched), steps.append)
    halt = machine.run()
    trace.end()
    assert halt.reason == "MEMORY_VIOLATION: no code at 0x10"
    assert steps == []


TRACED = [
    ("mixed", ["zeros(64, i8)", 2]), ("stacks", ["zeros(64)", "arange(64)"]),
    ("saxpy", ["ones(64)", "ones(64)", 2, 64]), ("structs", None),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kernel, args", TRACED)
@for_each("key", ("gfx90a", "O0"), ("gfx1100", "O0"), ("gfx90a", "O2"))
def test_a_trace_of_lines_is_what_it_is_without_columns(built, key, kernel, args, monkeypatch):
    traces = []
    for is_quick in (True, False):
        if not is_quick:
            monkeypatch.setattr(Discoveries, "at", lambda *_: None)
        launched = started(built(*key), kernel, count=64, args=args, private_size=4096 if kernel == "stacks" else None)
        steps = []
        trace = LineTrace(Running(launched), steps.append, value_text, lane=5)
        launched.machine.run(limit=3000)
        trace.end()
        traces.append([(step.position, step.active, step.results) for step in steps])
    assert traces[0] == traces[1]
    assert any(results for _position, _active, results in traces[0])


def test_code_behind_its_description_has_the_name_of_the_kernel():
    path = "fixtures/asm/clrx.gfx801.co"
    launched = launch(machine_for(path, "test1"), path, "test1", grid=64, work_group=64, args={0: bytes(8)})
    running = Running(launched)
    assert " in test1" in str(running.position(launched.plan.start.entry))
    assert " in test1+8" in str(running.position(launched.plan.start.entry + 8))
    assert running.run().has_ended


PAIR = {"a": 3, "b": [1, 2], "c": [0, 0, -5]}
MANY = [{"a": 1, "b": [10, 20], "c": [0, 0, 0]}, {"a": 1, "b": [100, 200], "c": [0, 0, 0]}]


def launched(path, **changed):
    machine = machine_for(path, "structs")
    args = {"out": "zeros(8)", "s": PAIR, "many": MANY, **changed}
    return launch(machine, path, "structs", grid=(8,), work_group=(8,), args=args)


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1200"])
def test_structures_by_value_and_in_memory(built, processor):
    run = launched(built(processor))
    assert run.machine.run().has_ended
    assert run.buffers["out"].tolist() == [3 + 2 * i + (10, 100)[i & 1] - 5 for i in range(8)]


def test_a_structure_as_a_list_or_as_text(built):
    run = launched(built(), s=[3, np.array([1, 2]), [0, 0, -5]], many="[[1,[10,20],[0,0,0]],[1,[100,200],[0,0,0]]]")
    assert run.machine.run().has_ended
    assert run.buffers["out"].tolist() == [3 + 2 * i + (10, 100)[i & 1] - 5 for i in range(8)]


@for_each("wrong, message",
    ({**PAIR, "d": 1}, "argument s (struct pair) of structs has no member 'd'"),
    ({"a": 1}, "argument s (struct pair) of structs lacks b, c"),
    ({**PAIR, "a": 1.5}, "argument s.a of structs is int, an integer, not 1.5"),
    ({**PAIR, "a": 1 << 40}, "argument s.a of structs is int, which 1099511627776 does not fit"),
    ({**PAIR, "b": [1]}, "argument s.b of structs has 2 elements, and 1 are given"),
    ({**PAIR, "c": [1, 2, 300]}, "argument s.c[2] of structs is char, which 300 does not fit"),
    ([1, 2], "argument s (struct pair) of structs has 3 members, and 2 values are given"),
    (5, "argument s (struct pair) of structs is struct pair, not 5"),
    ("5", "argument s (struct pair) of structs is struct pair, not 5"),
    ({**PAIR, "a": {}}, "argument s.a of structs is int, not {}"))  # fmt: skip
def test_structures_that_do_not_fit(built, wrong, message):
    error = raised(UsageError, launched, built(), s=wrong)
    assert error.message == message


@for_each(
    "args, message, hint",
    ({"x": 1}, "structs has no argument 'x'", "it takes float* out, struct pair s, struct pair* many"),
    ({"mani": 1}, "structs has no argument 'mani'", "did you mean many?"),
    ({"out": 0}, "no value for s, many of structs", "it takes float* out, struct pair s, struct pair* many"),
)
def test_names_that_are_not_there(built, args, message, hint):
    with pytest.raises(UsageError) as error:
        launch(machine_for(built(), "structs"), built(), "structs", grid=(8,), work_group=(8,), args=args)
    assert error.value.message == message
    assert error.value.hint.startswith(hint)


FUNCTIONS = ["operator+(V, V)", "operator+=(V&, V)", "operator++(V&)"]
SIZES = ("--grid", "32", "--work-group", "32", "zeros(1)")


@pytest.fixture(scope="module")
def operators(require_tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("operators") / "k.co"
    options = "-x hip --offload-device-only --offload-arch=gfx1100 -nogpuinc -nogpulib -g -O0 --no-gpu-bundle-output"
    source = Path(__file__).with_name("operators.hip")
    subprocess.run([require_tool("clang-22"), *options.split(), source, "-o", path], check=True, capture_output=True)
    return str(path)


@for_each("text, expected",
    ("k", ("k", None)),                   ("k+0x10", ("k", 16)),                ("k + 4", ("k", 4)),
    ("operator+", ("operator+", None)),   ("operator+ + 4", ("operator+", 4)),  ("operator++4", ("operator+", 4)),
    ("operator+=", ("operator+=", None)), ("operator+(V, V)", ("operator+(V, V)", None)),
    ("operator+(V, V)+0x10", ("operator+(V, V)", 16)))  # fmt: skip
def test_a_number_behind_the_last_plus_is_an_offset(text, expected):
    assert name_and_offset(text) == expected


def test_what_begins_as_a_number_and_is_none_is_refused():
    with pytest.raises(UsageError, match="'k\\+0xzz' is not an address"):
        name_and_offset("k+0xzz")


@pytest.mark.slow
def test_judge_trace_and_functions_have_whole_names(operators):
    judged = run("judge", operators, "k", *SIZES)
    assert judged.returncode == 0, judged.stderr  # it has no call frame information, which is a limit of the producer
    traced = run("run", operators, "k", *SIZES, "--trace=lines").stdout
    for name in FUNCTIONS:
        assert f"\n  {name} " in judged.stdout
        assert f" in {name}, lanes" in " ".join(traced.split())


@pytest.mark.parametrize("name", [*FUNCTIONS, "operator+", "'operator+(V, V)'", "operator+=(V&,V)", "operator++"])
def test_breakpoints_and_addresses(operators, name):
    debug = ("debug", operators, "-batch", "-ex", "target launch k 32 32 zeros(1)", "-ex")
    at, behind = (run(*debug, f"info line {place}").stdout for place in (f"*{name}", f"*{name}+4"))
    bare = name.strip("'").partition("(")[0]
    assert f"<{bare}>" in at
    assert f"<{bare}+4>" in behind or f"<{bare}>" in behind
    stopped = run(*debug, f"break {name}", "-ex", "continue")
    assert f"#0  {bare} (" in stopped.stdout, stopped.stderr
    assert stopped.stderr == ""


def test_a_kernel_with_preloaded_arguments_is_entered_behind_what_hardware_skips():
    path = FIXTURES / "llvm24/triton-calls.gfx942.w64.co"
    running = Running(
        launch(
            machine_for(path, "calls"),
            path,
            "calls",
            args=[np.zeros(64, "f4"), np.zeros(64, "f4"), 8, 0, 0],
            grid=(64,),
            work_group=(64,),
        )
    )
    (point,) = running.break_at("calls")
    assert point.addresses == [running.launched.plan.start.entry + 256]
    assert running.run().kind == "breakpoint"
