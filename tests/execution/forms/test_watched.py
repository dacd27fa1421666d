"""Watchpoints whose waves run as forms, against those of the same kernels interpreted."""

import pytest

from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.watching import Watcher
from dwarfgpu.execution.launch.launch import machine_for
from tests.execution.forms.kernel_runs import COUNT, PROCESSORS, prepared, start, state


def stops_of(path, kernel, hot, watched, most=12):
    """Return where watchpoints stop, the state at the end, and how many instructions were told to the watcher."""
    machine = machine_for(path, kernel)
    debugging = Debugging(start(machine, path, kernel, COUNT))
    prepared(machine, hot, in_step=True)
    times, original = [0], Watcher.__call__

    def told(self, batch):
        times[0] += 1
        return original(self, batch)

    if watched[0].startswith("kernels"):
        debugging.break_at(watched[0])
        debugging.go_on()
        assert debugging.last_points
        watched = watched[1:]
    for text in watched:
        debugging.watch(text.format(**debugging.running.launched.addresses))
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watcher, "__call__", told)
        for _number in range(most):
            stop = debugging.go_on()
            change = stop.change and (stop.change.old, stop.change.new)
            points = [point.number for point in stop.points]
            found.append(
                (stop.kind, stop.pc, stop.lanes, change, points, machine.device.executed, state(machine.device))
            )
            if stop.has_ended:
                break
    assert machine.device.compiled.problem == ""
    return found, times[0]


CASES = [
    ("O2", "col", ["*(int *)({out:#x} + 40)"]),
    ("O2", "col", ["*(int *)({out:#x} + 40)", "*(int *)({out:#x} + 400)"]),
    ("O0", "col", ["*(int *)({out:#x} + 40)"]),
    ("O0", "col", ["kernels.cl:8", "c"]),
    ("O0", "col", ["kernels.cl:7", "n"]),
    ("O2", "counted", ["*(int *)({out:#x} + 40)"]),
]


@pytest.mark.parametrize("processor, number", [
    pytest.param(processor, number, marks=() if first else pytest.mark.slow)
    for number in range(len(CASES))
    for first, processor in ((True, ("gfx90a", "gfx1100")[number % 2]), (False, PROCESSORS[1 + number]))
])  # fmt: skip
def test_watchpoints_stop_where_those_of_the_interpreter_do(build, processor, number):
    level, kernel, watched = CASES[number]
    expected, interpreted = stops_of(build(processor, level), kernel, 0, watched)
    for hot in (1 << 16, 1):
        found, times = stops_of(build(processor, level), kernel, hot, watched)
        assert found == expected
        assert times < interpreted
    assert len(expected) > 1 or kernel == "counted"


def test_what_is_never_stored_to_costs_no_call_of_python(build):
    expected, interpreted = stops_of(build("gfx1100", "O2"), "col", 0, ["*(int *)({in:#x} + 40)"])
    found, times = stops_of(build("gfx1100", "O2"), "col", 1, ["*(int *)({in:#x} + 40)"])
    assert found == expected
    assert len(found) == 1
    assert times < 12 < interpreted / 12
