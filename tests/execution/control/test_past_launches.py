"""Earlier launches of a program, executed again on machines of their own."""

import numpy as np
import pytest

from dwarfgpu.execution import halts
from dwarfgpu.execution.control import checkpoints
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.past_launches import PastLaunches
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for

FILE = "fixtures/amdgpu/cl-kernels.gfx1200.w32.O0.v5.co"


class Launches:
    """Launches of a kernel on one machine, which all add to the same cells, and the memory that each has left."""

    def __init__(self, count):
        self.machine, self.past, self.ends = machine_for(FILE, "divergent"), PastLaunches(), []
        out = "zeros(192)"
        for number in range(count):
            given = {"args": {"out": out, "limit": 8 + number}, "at_once": 2 if number == 1 else None}
            running = Running(launch(self.machine, FILE, "divergent", grid=192, work_group=64, **given))
            self.past.keep(number, running, lambda: None)
            out = running.launched.addresses.get("out", out)
            running.run()
            self.ends.append(self.content)

    @property
    def content(self):
        return contents(self.machine)


def contents(machine):
    store = machine.memory.store(machine.target.default_space)
    return [bytes(store.blocks[owner].buffer) for owner in store.owners]


def test_a_launch_does_again_what_it_did():
    launches = Launches(3)
    present = launches.content
    for kept, end in zip(launches.past.kept, launches.ends, strict=True):
        running = kept.again(launches.past.size)
        running.machine.past.run_to_end()
        assert running.machine.device.rest().has_ended
        assert contents(running.machine) == end
    assert launches.content == present, "the program keeps what it has"


def test_one_goes_back_in_it():
    kept = Launches(2).past.kept[0]
    running = kept.again(0)
    debugging = Debugging(running)
    running.machine.past.run_to_end()
    debugging.break_at("divergent")
    assert debugging.reverse_go_on().kind == halts.BREAKPOINT
    assert debugging.reverse_go_on().is_at_start
    assert not debugging.history.is_changed


def test_equal_memory_is_kept_once():
    past = Launches(4).past
    whole = sum(len(chunk) for chunks in past.kept[0].memory.values() for chunk in chunks if any(chunk))
    assert past.size < 2.5 * whole
    assert not past.why


@pytest.mark.parametrize("limit", ["bytes", "count"])
def test_the_oldest_are_dropped(limit, monkeypatch):
    if limit == "bytes":
        monkeypatch.setattr(checkpoints, "MOST_BYTES", 2 * Launches(2).past.size)
    else:
        monkeypatch.setattr("dwarfgpu.execution.control.past_launches.MOST", 2)
    past = Launches(5).past
    assert 0 < len(past.kept) < 5
    assert past.kept[-1].of == 4
    assert past.size <= checkpoints.MOST_BYTES // 2
    assert f"the last {len(past.kept)} fill" in past.why
    assert past.kept[-1].again(past.size).machine.past.most_bytes == checkpoints.MOST_BYTES - past.size
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 1000)
    assert Launches(2).past.why == "one has more than half of what `info checkpoints` shows"


def test_what_a_user_has_changed():
    running = Launches(1).past.kept[0].again(0)
    debugging = Debugging(running)
    debugging.step_instruction(0)
    debugging.machine.memory.writable(next(iter(running.launched.addresses.values())), 4)[:] = np.int32(5).tobytes()
    debugging.machine.changes += 1
    debugging.go_on()
    assert debugging.history.is_changed
    while not debugging.reverse_go_on().is_at_start:
        pass
    assert not debugging.history.is_changed, "it was before that"
