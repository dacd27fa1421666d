"""What is looked at where lines begin, while waves run as forms, against waves that are interpreted."""

import pytest

from dwarfgpu.execution import turns
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.value_history import ValueHistory
from dwarfgpu.execution.launch.launch import machine_for
from dwarfgpu.machines.machine import Machine
from tests.execution.forms.kernel_runs import PROCESSORS, prepared, start, state

COUNT = 64


def history_of(path, kernel, hot, texts, lane=None, wave=None, count=COUNT):
    """Return the rows of histories, what lacks, the state at the end, and how many looks there were."""
    machine = machine_for(path, kernel)
    running = Running(start(machine, path, kernel, count))
    prepared(machine, hot, in_step=True)
    times, original = [0], ValueHistory.__call__

    def told(self, batch):
        times[0] += 1
        return original(self, batch)

    histories = [ValueHistory(running, text, wave=wave, lane=lane) for text in texts]
    for history in histories:
        history.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ValueHistory, "__call__", told)
        running.run()
    for history in reversed(histories):
        history.end()
    assert machine.device.compiled.problem == ""
    found = [
        (
            [(row.time, row.waves, row.position, row.values.tolist(), row.declared, row.writers) for row in each.rows],
            each.lacking, each.gap, each.lacks_last, each.last_writer,
        )
        for each in histories
    ]  # fmt: skip
    return (found, state(machine.device)), times[0]


CASES = [
    ("O0", "in_rows", ["k"]),
    ("O0", "in_rows", ["own[1]", "i"]),
    ("O0", "col", ["n"]),
    ("O0", "tiles", ["sum * 2", "k"]),
    ("O0", "parting", ["sum"]),
    ("O0", "recursive", ["n"]),
    ("O0", "long_body", ["x"]),
    ("O0", "quotients", ["wide"]),
    ("O0", "tiles", ["t[3]"]),
    ("O2", "in_rows", ["k"]),
    ("O2", "tiles", ["sum", "k"]),
    ("O2", "parting", ["sum"]),
    ("O2", "long_body", ["y"]),
    ("O2", "recursive", ["n"]),
]


def runs():
    """Each case on two processors, which change; gfx803 has no loads of the stack, which -O0 needs. One is quick."""
    for number, (level, *_rest) in enumerate(CASES):
        others = [each for each in PROCESSORS[level == "O0" :] if each != "gfx90a"]
        yield pytest.param("gfx90a", number, marks=() if number == 5 else pytest.mark.slow)
        yield pytest.param(others[(number + 5) % len(others)], number, marks=pytest.mark.slow)


@pytest.mark.parametrize("processor, number", [*runs()])
def test_values_are_those_of_the_interpreter(build, processor, number):
    level, kernel, watched = CASES[number]
    expected, interpreted = history_of(build(processor, level), kernel, 0, watched)
    for hot in (1 << 16, 1):
        found, times = history_of(build(processor, level), kernel, hot, watched)
        assert found == expected
        assert times < interpreted or watched == ["t[3]"]


def test_an_element_is_watched_before_all_waves_have_begun(build, monkeypatch):
    """Python looks at the waves until the first one has begun a line, and not until all have."""
    monkeypatch.setattr(turns, "WIDEST", 1)
    path, watched = build("gfx90a", "O0"), ['$_arg("out")[3]']
    expected, interpreted = history_of(path, "in_rows", 0, watched, 3, 0, 4 * COUNT)
    found, times = history_of(path, "in_rows", 1, watched, 3, 0, 4 * COUNT)
    assert found == expected
    assert len(found[0][0][0]) > 1
    assert times < interpreted / 100, (times, interpreted)


def test_the_dispatch_is_looked_up_for_each_wave_and_not_for_each_lane(build, monkeypatch):
    asked, original = [], Machine.place_of
    monkeypatch.setattr(Machine, "place_of", lambda machine, wave: asked.append(wave) or original(machine, wave))
    _found, times = history_of(build("gfx90a", "O0"), "in_rows", 1, ['$_arg("out")[3]'], count=4 * COUNT)
    assert len(asked) < 8 * times
