"""Profiles whose counters are in forms, against those of the same kernels interpreted."""

import pytest

from dwarfgpu.execution.control.profile import COUNTED, Profile
from dwarfgpu.execution.forms import instruction_records, loops
from dwarfgpu.execution.forms.compiled_forms import HOT
from tests.audits.judge.test_frames_by_code import by_hand
from tests.builders.parameters import some_slow
from tests.execution.forms.kernel_runs import CALLED, COUNT, JUMPS, KERNELS, in_turn, ready, state

QUICK = ("gfx1100", "O2", "tiles"), ("gfx803", "O0", "col"), ("gfx90a", "O0", "recursive"), ("gfx1100", "O2", "totals")
LOOPS = ("gfx1100", "O2", "parting"), ("gfx90a", "O2", "in_rows"), ("gfx1200", "O2", "tiles")
ALSO = *QUICK, ("gfx1100", "O0", "private_array")


class Told(Profile):
    """A profile that knows how many instructions Python has counted."""

    times = 0

    def __call__(self, batch):
        self.times += 1
        return super().__call__(batch)


def counted(device, limit=None):
    """Let a device run; return what was counted, and the profile."""
    profile = Told(device)
    device.run(limit)
    assert device.compiled.problem == ""
    rows = {key: tuple(getattr(counts, name) for name in COUNTED) for key, counts in profile.counts.items()}
    return rows, profile


@pytest.mark.parametrize("in_step", [False, True])
@pytest.mark.parametrize("processor, level, kernel", some_slow(in_turn(2, also=ALSO), quick=QUICK))
def test_forms_count_what_the_interpreter_counts(build, processor, level, kernel, in_step):
    path = build(processor, level)
    devices = [ready(path, kernel, hot, in_step=in_step)[0] for hot in (0, HOT, 1)]
    (expected, interpreted), *others = [counted(device) for device in devices]
    failed = sum(batch.count for batch, _reason in devices[0].stopped)
    assert sum(row[0] for row in expected.values()) == devices[0].executed + failed
    for device, (rows, profile) in zip(devices[1:], others, strict=True):
        assert rows == expected
        assert profile.times < interpreted.times
        assert profile.counts == profile.counts
        assert state(device) == state(devices[0])


def test_most_instructions_are_counted_without_python(build):
    interpreted, compiled = (counted(ready(build("gfx1100", "O0"), "in_rows", hot)[0])[1] for hot in (0, 1))
    assert compiled.times < 20 < interpreted.times / 20


def test_calls_by_hand_and_waves_that_part(compile_text, monkeypatch):
    """A wave calls itself, another one jumps out of several calls, and there is a branch that is far."""
    path = compile_text("gfx1100", by_hand(JUMPS, CALLED), "-x", "assembler")
    monkeypatch.setitem(KERNELS, "kernel", ())
    found = [counted(ready(path, "kernel", hot, 64)[0])[0] for hot in (0, HOT, 1)]
    assert found[0] == found[1] == found[2]
    assert max(len(callers or ()) for _pc, callers in found[0]) > 1


def test_calls_without_room_for_their_records_are_counted_by_python(build, monkeypatch):
    expected = counted(ready(build("gfx90a", "O0"), "recursive", 0)[0])[0]
    monkeypatch.setattr(instruction_records, "MOST_WAYS", 3)
    for in_step in (False, True):
        assert counted(ready(build("gfx90a", "O0"), "recursive", HOT, in_step=in_step)[0])[0] == expected


@pytest.mark.parametrize("processor", ["gfx1100", pytest.param("gfx90a", marks=pytest.mark.slow)])
def test_waves_that_stop_have_counted_the_instruction_that_failed(build, processor, monkeypatch):
    out, numbers = KERNELS["col"]
    monkeypatch.setitem(KERNELS, "col", (out[: COUNT - 70], numbers))
    devices = [ready(build(processor, "O0"), "col", hot)[0] for hot in (0, HOT, 1)]
    found = [counted(device)[0] for device in devices]
    assert found[0] == found[1] == found[2]
    assert sum(batch.count for batch, _reason in devices[1].stopped) > 1
    assert state(devices[1]) == state(devices[0])


@pytest.mark.parametrize(
    "processor, level, kernel",
    some_slow([*LOOPS, ("gfx803", "O2", "col"), ("gfx1030", "O0", "red"), ("gfx942", "O2", "totals")], quick=LOOPS),
)
def test_loops_that_are_one_function_count_where_they_are_left(build, monkeypatch, processor, level, kernel):
    """Waves leave them before accesses that fail, and at limits."""
    monkeypatch.setattr(loops, "SHARE", 0)
    out, *others = KERNELS[kernel]
    monkeypatch.setitem(KERNELS, kernel, (out[: -len(out) // 4], *others))
    path, found = build(processor, level), []
    for hot in (0, 1):
        device = ready(path, kernel, hot)[0]
        rows = [counted(device, at)[0] for at in (2000, 2071, 2500, None)]
        found.append((rows, state(device)))
    assert found[0] == found[1]
