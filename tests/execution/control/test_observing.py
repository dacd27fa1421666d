"""Traces, profiles and watchpoints: what one wave does, what all of them cost, and who reaches some memory."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, READ_WATCH, WATCH
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.profile import Profile
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.render.running import TraceWriter
from dwarfgpu.render.values import value_text


def running(path, kernel, args, *, count=128, group=64, **options):
    machine = machine_for(path, kernel)
    return Running(launch(machine, path, kernel, grid=(count,), work_group=(group,), args=args, **options))


@pytest.mark.parametrize("key", [("gfx90a", "O2"), ("gfx1100", "O2")])
def test_instructions_of_a_wave_with_their_results(built, key):
    run = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 100})
    steps = []
    trace = StepTrace(run, steps.append, wave=1, lane=5)
    assert run.run().has_ended
    trace.end()
    lanes = run.launched.geometry.wave_size
    alone = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 100})
    pcs = []
    while not alone.machine.device.ended or 1 not in np.concatenate([b.waves for b in alone.machine.device.ended]):
        pcs.append(alone.machine.program_counter(1))
        alone.machine.step(1)
    assert [step.position.address for step in steps] == pcs
    loads = [step for step in steps if step.text.startswith("global_load")]
    shown = [dict(step.results) for step in loads]
    words = [int(next(iter(result.values())), 16) for result in shown]
    numbers = [np.array(word, "u4").view("f4") for word in words]
    assert {float(number) for number in numbers} == {lanes + 5.0, 1.0}
    assert steps[-1].text == "s_endpgm"
    assert [line for step in steps[:1] for line in TraceWriter().lines(step)][1].startswith(f"  {pcs[0]:#x}  s_")


def test_lines_with_variables_that_changed(built):
    run = running(built("gfx90a", "O0"), "steps_", {"out": "zeros(64)", "in": "full(64, 3)", "n": 64}, count=64)
    steps = []
    StepTrace(run, steps.append, show=value_text)
    assert run.run().has_ended
    assert {step.position.file.rpartition("/")[2] for step in steps} == {"kernels.cl"}
    changes = [(step.position.line, dict(step.results)) for step in steps]
    assert [values["steps"] for _line, values in changes if "steps" in values][-7:] == [str(n) for n in range(1, 8)]
    assert [values["x"] for _line, values in changes if "x" in values][-7:] == ["10", "5", "16", "8", "4", "2", "1"]
    assert 2 in [line for line, _values in changes]


def test_waves_and_lanes_that_there_are_not(built):
    run = running(built(), "saxpy", None)
    for wave, lane in ((4, None), (-1, None), (0, 32)):
        with pytest.raises(UsageError, match=r"there is no (wave|lane)"):
            StepTrace(run, print, wave=wave, lane=lane)


@pytest.mark.parametrize("key, line", [(("gfx90a", "O2"), 64), (("gfx1100", "O2"), 128)])
def test_transactions_are_cache_lines(built, key, line):
    run = running(built(*key), "saxpy", {"y": "ones(128)", "x": "arange(128)", "a": 2, "n": 96})
    profile = Profile(run.machine.device)
    assert run.run().has_ended
    total = sum(counts.instructions for counts in profile.counts.values())
    assert total == run.machine.device.executed
    rows = {row.line: row for row in profile.rows(run)}
    waves = 128 // profile.lane_count
    working = -(-96 // profile.lane_count)
    assert rows[16].counts.accesses == 3 * working
    assert rows[16].counts.transactions == 3 * 96 * 4 // line
    assert rows[15].counts.instructions >= waves
    assert 0 < rows[16].active_share < 1


def test_turns_of_local_memory(built):
    args = {"out": "zeros(1)", "in": "arange(64)", "cells": 256}
    run = running(built("gfx90a", "O2"), "shared_sum", args, count=64)
    profile = Profile(run.machine.device)
    run.run()
    rows = {row.line: row for row in profile.rows(run)}
    assert rows[34].counts.bank_turns == 2  # 64 lanes, 32 banks
    assert rows[37].counts.bank_turns >= 6
    assert sum(row.counts.instructions for row in rows.values()) == run.machine.device.executed


def test_divergence_is_the_share_of_lanes(built):
    numbers = np.where(np.arange(64) < 16, 27, 1).astype(np.int32)
    run = running(built("gfx90a", "O2"), "steps_", {"out": "zeros(64)", "in": numbers, "n": 64}, count=64)
    profile = Profile(run.machine.device)
    run.run()
    rows = {row.line: row for row in profile.rows(run)}
    assert 0.2 < rows[10].active_share < 0.3


SOURCE = Path(__file__).with_name("watched.cl")


@pytest.fixture(scope="module")
def watched(require_tool, tmp_path_factory):
    """``watched("gfx90a", "counted", **args)`` is a kernel in its first line."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("watched")

    def build(processor, kernel, **args):
        path = folder / f"watched.{processor}.co"
        if not path.exists():
            options = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-g"]
            scalar = ["-O2", "-DSCALAR"] if processor == "gfx900" else ["-O0"]
            command = [clang, *options, *scalar, "-w", "-nogpulib", str(SOURCE), "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True)
        machine = dg.machine_for(str(path), kernel)
        done = dg.launch(machine, str(path), kernel, grid=64, work_group=64, args=args)
        debugging = Debugging(done)
        if processor == "gfx900":
            return debugging
        line = next(number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if f" {kernel}(" in text)
        debugging.break_at(f"watched.cl:{line + 1}")
        debugging.go_on()
        return debugging

    return build


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030", "gfx1200"])
def test_a_counter_of_lanes_in_local_memory(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    watchpoint = debugging.watch("*counter")
    seen = []
    while not (stop := debugging.go_on()).has_ended:
        assert stop.points == (watchpoint,)
        seen.append((stop.change.old, stop.change.new, stop.lanes[min(stop.lanes)]))
    assert seen == [("0", "5", 1), ("5", "15", 0x3FF)]
    assert debugging.reverse_go_on().change.new == "5"


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030", "gfx1200"])
def test_a_counter_of_lanes_is_read_and_written(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    debugging.watch("*counter", READ_WATCH)
    assert debugging.go_on().lanes == {0: 0x3FF}


@pytest.mark.parametrize("kernel, place", [("stored", 1), ("added", 2)])
@pytest.mark.parametrize("kind", [WATCH, ACCESS_WATCH])
def test_scalar_stores_and_atomic_operations(watched, kernel, place, kind):
    debugging = watched("gfx900", kernel, out="zeros(64,i4)", number=7)
    address = debugging.running.launched.addresses["out"]
    debugging.watch(f"*(int *){address + 4 * place:#x}", kind)
    debugging.watch(f"*(int *){address + 20:#x}", kind)
    stop = debugging.go_on()
    assert (stop.points[0].number, stop.change.old, stop.change.new) == (1, "0", "7")
    assert stop.lanes == {0: (1 << 64) - 1}
    assert debugging.go_on().has_ended
    assert debugging.reverse_go_on().change.new == "0"


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1200"])
def test_a_watchpoint_with_a_condition_stops_only_where_it_is_true(watched, processor):
    debugging = watched(processor, "counted", out="zeros(64)", counter=4)
    watchpoint = debugging.watch("*counter", condition="*counter > 5")
    stop = debugging.go_on()
    assert (stop.change.old, stop.change.new, watchpoint.hits) == ("5", "15", 1)
    assert debugging.go_on().has_ended
    stop = debugging.reverse_go_on()
    assert (stop.change.old, stop.change.new) == ("15", "5")
    assert debugging.reverse_go_on().points[0].kind == BREAK
    debugging.condition(watchpoint, None)
    assert debugging.go_on().change.new == "5"
    debugging.condition(watchpoint, "*counter == 99")
    assert debugging.go_on().has_ended


def test_conditions_of_watchpoints_that_have_no_value_or_no_sense(watched):
    debugging = watched("gfx90a", "counted", out="zeros(64)", counter=4)
    with pytest.raises(dg.DwarfGpuError, match="nobody"):
        debugging.watch("*counter", condition="nobody > 3")
    with pytest.raises(dg.DwarfGpuError, match="assignment"):
        debugging.watch("*counter", condition="*counter = 3")
    assert list(debugging.points)[-1].watched is None
    debugging.watch("*counter", condition="*(int *)0 == 3")
    stop = debugging.go_on()
    assert stop.change.new == "5"
    assert stop.problem.startswith("*(int *)0 == 3: ")
