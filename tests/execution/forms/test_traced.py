"""What one wave is traced to do, while it runs as forms, against waves that are interpreted."""

import pytest

from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.launch.launch import machine_for
from tests.builders.parameters import some_slow
from tests.execution.forms.kernel_runs import KERNELS, start, state

COUNT = 128


def traced(path, kernel, jit, **options):
    """Return the steps of a wave, the state at the end, and how many instructions Python has executed of it."""
    machine = machine_for(path, kernel)
    machine.jit = jit
    running, steps, times, original = Running(start(machine, path, kernel, COUNT)), [], [0], StepTrace.__call__

    def told(self, batch):
        times[0] += 1
        return original(self, batch)

    trace = StepTrace(running, steps.append, wave=1, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepTrace, "__call__", told)
        running.run()
    trace.end()
    assert jit == "off" or machine.device.compiled is None  # forms that follow a wave are of no use any more
    return steps, state(machine.device), times[0]


@pytest.mark.parametrize("kernel", some_slow([*KERNELS], quick=["recursive", "parting", "tiles", "kinds"]))
@pytest.mark.parametrize("processor, level", [("gfx90a", "O0"), ("gfx942", "O2"), ("gfx1100", "O2")])
@pytest.mark.parametrize("lane", [None, 5])
def test_instructions_have_the_results_that_python_finds(build, kernel, processor, level, lane):
    path = build(processor, level)
    (expected, state_before, _times), (found, state_after, times) = (
        traced(path, kernel, jit, lane=lane) for jit in ("off", "on")
    )
    for own, other in zip(found, expected, strict=True):
        assert own == other
    assert state_after == state_before
    assert times < len(found) // 2 or kernel == "recursive"
