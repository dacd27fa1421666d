"""Values that are kept while what they come from stays: they are those that reading everything anew gives."""

import pytest

from dwarfgpu.audits.judge import kept_values
from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.statement_recorder import StatementRecorder
from dwarfgpu.audits.judge.wave_registers import Inputs
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.states.program import open_program
from tests.builders.folders import FIXTURES

LIMIT = 1500
KERNELS = (
    ("llvm24/hip-calls.gfx1100.w32.O0.co", "_Z5callsPiPfi", ["zeros(4096)", "zeros(4096)", "20"]),
    ("llvm24/hip-calls.gfx90a.w64.O2.co", "_Z5callsPiPfi", ["zeros(4096)", "zeros(4096)", "20"]),
    ("llvm24/hip-kernels.gfx1200.w32.O2.co", "_Z9divergentPii", ["zeros(64)", "40"]),
    ("amdgpu/cl-kernels.gfx1100.w32.O0.v5.co", "saxpy", ["zeros(64)", "ones(64)", "2", "64"]),
)


def history_of(name, kernel, arguments, inputs, monkeypatch):
    monkeypatch.setattr(kept_values, "Inputs", inputs)
    options = {"grid": "64", "work-group": "64"}
    running = launched_with(open_program(str(FIXTURES / name)), kernel, arguments, options.get)
    run = FollowedRun(running, lambda _batch, arrivals, *_others: [recorder.observe(each) for each in arrivals])
    recorder = StatementRecorder(run)
    run.run(LIMIT)
    between = [stop for stops in recorder.history.between.values() for _behind, stop in stops]
    return [(stop.pc, stop.lanes, stop.values) for stop in (*recorder.history.stops, *between)]


@pytest.mark.parametrize("name, kernel, arguments", KERNELS, ids=lambda each: each if isinstance(each, str) else "")
def test_kept_values_are_those_that_are_read_anew(name, kernel, arguments, monkeypatch):
    counts = {"kept": 0, "anew": 0}

    class Kept(Inputs):
        def __init__(self, registers):
            counts["kept"] += 1
            super().__init__(registers)

    class Anew(Inputs):
        def __init__(self, registers):
            counts["anew"] += 1
            super().__init__(registers)

        def are_same(self):
            return False

    kept, anew = (history_of(name, kernel, arguments, each, monkeypatch) for each in (Kept, Anew))
    assert kept == anew
    assert any(values for _pc, _lanes, values in kept)
    assert counts["kept"] < counts["anew"]
