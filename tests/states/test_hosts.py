from functools import partial

import numpy as np
import pytest

import dwarfgpu
import dwarfgpu.gdb as dg
from dwarfgpu.program.frames.all_waves import all_waves
from dwarfgpu.program.frames.backtrace import backtraces
from dwarfgpu.states import hosts
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"


@pytest.fixture(autouse=True)
def _no_host(monkeypatch):
    monkeypatch.setattr(hosts, "_current", [])


def attached(name: str = "lanes"):
    return dwarfgpu.open(FILE).attach(f"dwarfgpu/examples/{name}.json")


@for_each("ask", dg.selected, dg.wave, dg.waves, dg.attached, lambda: dg.eval("1"), lambda: dg.locate("x"))
def test_without_a_host_it_is_said_what_to_do(ask):
    caught = raised(dwarfgpu.UsageError, ask)
    assert "no program is selected" in str(caught)
    assert caught.kind == "no_host"
    assert "dwarfgpu.gdb.use(dwarfgpu.open(FILE).attach(STATE))" in caught.hint


def test_a_snapshot_is_a_host():
    dg.use(attached("variables"))
    assert (dg.wave().id, [each.id for each in dg.waves()], len(dg.attached())) == ("1:1:1:1", ["1:1:1:1"], 1)
    frame = dg.selected()
    assert (frame.name, frame.selected_lane) == ("X", 0)
    assert frame.variable("even").value() == frame["even"].value(0) == 10
    assert dg.eval("left", lanes=[2, 4]).array.tolist() == [4, 8]
    assert [str(each) for each in dg.locate("even")] == ["4 bytes of v2 lane 0"]
    assert [str(each) for each in dg.locate("even", 6)] == ["4 bytes of v2 lane 6"]
    with pytest.raises(dwarfgpu.Unavailable, match="`even` is not in scope at line 12, where the lane is"):
        dg.locate("even", 5)
    dg.use(None)
    raised(dwarfgpu.UsageError, dg.selected)


def test_what_is_selected_can_be_chosen():
    dg.use(attached(), wave="1:1:2:1", lane=9)
    assert (dg.wave().id, dg.selected().selected_lane) == ("1:1:2:1", 9)
    host = dg.host()
    host.select(wave=2)
    mask = dg.wave().frame(0).active_mask
    assert (dg.wave().id, dg.selected().selected_lane) == ("1:1:3:1", (mask & -mask).bit_length() - 1)
    host.select(lane=3)
    assert dg.selected().expression("$lane").value() == 3
    host.select(lane=64)
    assert "no lane 64" in str(raised(dwarfgpu.UsageError, dg.selected))
    host.select(wave=0, frame=99)
    assert "no frame 99" in str(raised(dwarfgpu.UsageError, dg.selected))


GPU, LLVM = dwarfgpu.target("gfx90a"), dwarfgpu.dialect("llvm-user")
PUSH_LANE = dwarfgpu.parse("DW_OP_LLVM_push_lane", LLVM, dwarfgpu.Format())


def questions(lane):
    """Ask everything that takes a lane for one lane."""
    stopped = attached("variables")
    wave = stopped[0]
    frame = wave.frame(0)
    even = frame["even"]
    waves = list(range(1))
    dg.use(stopped)
    return {
        "LaneSet.one": lambda: dwarfgpu.LaneSet.one(lane),
        "LaneSet.of": lambda: dwarfgpu.LaneSet.of([lane]),
        "evaluate": lambda: dwarfgpu.evaluate(PUSH_LANE, dwarfgpu.Context(GPU, lanes=dwarfgpu.LaneSet(1, 0, lane))),
        "Frame.lane": lambda: frame.lane(lane),
        "Frame.in_lane": lambda: frame.in_lane(lane),
        "Frame.eval": lambda: frame.eval("even", lanes=[lane]),
        "Frame.eval of one": lambda: frame.eval("even", lanes=lane),
        **{
            f"Quantity.{name}": partial(getattr(even, name), lane)
            for name in ("value", "object", "location", "provenance", "why", "in_lane")
        },
        "Quantity.values": lambda: even.values([0, lane]),
        "Quantity.write": lambda: even.write(1, [lane]),
        "Values.of": lambda: even.values([0]).of(lane),
        "Wave.seen_by": lambda: wave.seen_by(lane),
        "all waves": lambda: all_waves(stopped, "1", lanes=[lane]),
        "backtraces": lambda: list(backtraces(stopped.stopped, waves, lane=lane)),
        "dwarfgpu.gdb.eval": lambda: dg.eval("even", lane),
        "dwarfgpu.gdb.locate": lambda: dg.locate("even", lane),
        "dwarfgpu.gdb.use": lambda: (dg.use(stopped, lane=lane), dg.selected()),
    }


@every(lane=[-1, np.int64(-1), 1.5], name=list(questions(0)))
def test_what_is_no_lane_is_a_usage_error(name, lane):
    assert raised(dwarfgpu.UsageError, questions(lane)[name]).kind == "no_lane"


@every(lane=[0, np.int64(2), np.uint8(4)], name=[name for name in questions(0) if name != "Values.of"])
def test_a_lane_is_any_integer(name, lane):
    questions(lane)[name]()


def test_sets_without_lanes_and_processes_without_lanes():
    assert "one lane or more" in str(raised(dwarfgpu.UsageError, dwarfgpu.LaneSet.of, []))
    assert dwarfgpu.LaneSet.one().lane is None
    assert hosts.in_lane(dwarfgpu.open("fixtures/host/pie.clang.O2.v5.x86_64").outside, 3).selected_lane is None


def test_a_host_of_ones_own():
    class Host:
        def frame(self):
            return "a frame"

        def waves(self):
            return []

    dg.use(Host())
    assert (dg.selected(), dg.waves()) == ("a frame", [])
    with hosts.using(hosts.Chosen(attached())):
        assert dg.selected().name == "X"
    assert dg.selected() == "a frame"
