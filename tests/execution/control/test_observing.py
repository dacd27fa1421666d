"""Traces and profiles: what one wave does, and what all of them cost."""

import numpy as np
import pytest

from dwarfgpu.errors import UsageError
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
