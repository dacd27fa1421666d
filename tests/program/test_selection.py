"""Hosts of scripts: who is asked for the selected frame outside GDB."""

from __future__ import annotations

import pytest

import dwarfgpu
import dwarfgpu.gdb as dg
from dwarfgpu.program import selection as hosts

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"


@pytest.fixture(autouse=True)
def _no_host(monkeypatch):
    monkeypatch.setattr(hosts, "_current", [])


def attached(name: str = "lanes"):
    return dwarfgpu.open(FILE).attach(f"docs/examples/{name}.json")


@pytest.mark.parametrize(
    "ask", [dg.selected, dg.wave, dg.waves, dg.attached, lambda: dg.eval("1"), lambda: dg.locate("x")]
)
def test_without_a_host_it_is_said_what_to_do(ask):
    with pytest.raises(dwarfgpu.UsageError, match="no program is selected") as caught:
        ask()
    assert caught.value.kind == "no_host"
    assert "dwarfgpu.gdb.use(dwarfgpu.open(FILE).attach(STATE))" in caught.value.hint


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
    with pytest.raises(dwarfgpu.UsageError):
        dg.selected()


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
    with pytest.raises(dwarfgpu.UsageError, match="no lane 64"):
        dg.selected()
    host.select(wave=0, frame=99)
    with pytest.raises(dwarfgpu.UsageError, match="no frame 99"):
        dg.selected()


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


def test_a_process_without_lanes_has_no_selected_lane():
    frame = dwarfgpu.open("fixtures/host/pie.clang.O2.v5.x86_64").outside
    assert hosts.in_lane(frame, 3).selected_lane is None
