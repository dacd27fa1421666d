"""Waves in a loop that they never leave are told from those that make progress."""

import numpy as np
import pytest

from dwarfgpu.execution import halts, repetition
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.report import report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.render.running import report_text
from tests.builders.parameters import for_each


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Look after some thousand instructions already."""
    monkeypatch.setattr(repetition, "FIRST", 4000)
    monkeypatch.setattr(repetition, "LEAST", 16)
    monkeypatch.setattr(repetition, "LEAST_COMPILED", 16)


def launched(path, kernel, args, *, jit="off", **options):
    machine = machine_for(path, kernel)
    machine.jit, machine.keeps_code = jit, False
    return launch(machine, path, kernel, grid=(128,), work_group=(128,), args=args, **options)


@for_each(
    "kernel, args, reason",
    ("spins", {"flag": "zeros(1)", "out": "zeros(128)"}, "all waves that have not ended go round a loop for ever"),
    ("two_loops", {"flags": "zeros(4)"}, "all waves that have not ended go round loops for ever"),
    ("spins", {"flag": "ones(1)", "out": "zeros(128)"}, "all waves have ended"),
    ("counts_in_memory", {"at": "zeros(1)", "n": 3000}, "all waves have ended"),
    ("counts", {"out": "zeros(128)", "n": 3000}, "all waves have ended")
)  # fmt: skip
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(("gfx90a", "O2", "off"), marks=pytest.mark.slow),
        pytest.param(("gfx1100", "O2", "auto"), marks=pytest.mark.slow),
        ("gfx1100", "O0", "auto"),
    ],
)
def test_only_waves_without_progress_are_in_a_loop_for_ever(built, key, kernel, args, reason):
    *build, jit = key
    machine = launched(built(*build), kernel, args, jit=jit).machine
    halt = machine.run(limit=2_000_000)
    assert halt.reason == reason
    assert halt.has_ended or (halt.kind == halts.STUCK and set(halt.lanes) == set(range(machine.wave_count)))


@pytest.mark.slow
def test_time_is_progress(built):
    done = launched(built("gfx90a", "O2"), "waits_for_time", {"out": "zeros(128)", "time": 400_000})
    assert done.machine.run(limit=2_000_000).has_ended


@pytest.mark.slow
def test_a_seed_and_weak_memory_have_no_state_that_comes_back(built):
    for options in ({"seed": 1}, {"weak_memory": 1}):
        done = launched(built("gfx1100", "O2"), "spins", {"flag": "zeros(1)", "out": "zeros(128)"}, **options)
        assert done.machine.run(limit=20_000).kind == halts.LIMIT


def test_the_report_has_the_condition_and_its_values(built):
    done = launched(built("gfx1100", "O0"), "spins", {"flag": "zeros(1)", "out": "zeros(128)"})
    running = Running(done)
    found = report(running, running.run())
    lines = list(report_text(found))
    assert any(line.endswith("\twhile (*flag == 0)") for line in lines)
    assert f"  flag = (volatile int *) {done.addresses['flag']:#x}  *flag = 0" in lines
    assert "only a debugger can end the loop" in found.notices[-1]
    assert found.has_failed


@pytest.mark.slow
def test_a_debugger_ends_the_loop_or_goes_back(built):
    done = launched(built("gfx1100", "O0"), "spins", {"flag": "zeros(1)", "out": "zeros(128)"})
    debugging = Debugging(done)
    assert debugging.go_on().kind == halts.STUCK
    time = debugging.device.executed
    assert debugging.go_on().kind == halts.STUCK  # nothing has changed
    assert debugging.reverse_instruction(0)
    assert debugging.device.executed > time
    done.buffers["flag"][:] = 1
    assert debugging.go_on().has_ended
    assert done.buffers["out"].tolist() == [1] * 128


@pytest.mark.slow
def test_the_order_of_waves_does_not_depend_on_looking(built, monkeypatch):
    args = {"out": np.zeros(128, np.int32), "in": np.arange(1, 129, dtype=np.int32), "n": 128}
    orders = []
    for first in (50, 1 << 40):
        monkeypatch.setattr(repetition, "FIRST", first)
        machine = launched(built("gfx1100", "O0"), "steps_", args).machine
        order = []
        machine.device.on_turn = lambda device, order=order: order.append((device.executed, device.is_within_turn))
        assert machine.run().has_ended
        orders.append([executed for executed, is_within in order if not is_within])
    assert orders[0] == orders[1]
