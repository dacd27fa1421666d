"""Without numpy every lane is asked by itself, and what is found is the same."""

import sys

import pytest

import dwarfgpu as dg
from dwarfgpu import bits
from dwarfgpu.program.frames.answers import answer, listed

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"


@pytest.fixture
def without_numpy(monkeypatch):
    def set_to(*, there: bool) -> None:
        monkeypatch.setattr(bits, "_numpy", [there])

    return set_to


def frame() -> dg.Frame:
    return dg.open(FILE).attach(STATE)[0].frame(0)


def test_values_are_lists(without_numpy):
    whole = {variable.name: variable.values() for variable in frame().variables()}
    without_numpy(there=False)
    for variable in frame().variables():
        found, expected = variable.values(), whole[variable.name]
        assert isinstance(found.array, list)
        assert found.array == list(found) == list(expected)
        assert all(found.array[lane] is None for lane in found.reasons)
        assert found.states == expected.states
        assert {lane: each.kind for lane, each in found.reasons.items()} == {
            lane: each.kind for lane, each in expected.reasons.items()
        }
        assert (len(found), found.lanes) == (len(expected), expected.lanes)
        assert repr(found.type) == repr(expected.type)
    left = frame()["left"].values([2, 4])
    assert (left[2], left[4]) == (4, 8)
    with pytest.raises(dg.UsageError, match="lane 3 was not asked for"):
        left[3]
    with pytest.raises(dg.Unavailable):
        frame()["unused"].values([0])[0]


def test_answers_and_writes_are_the_same(without_numpy):
    expected = [(each.lane, each.state) for each in answer(frame()["slots"], "slots", [0, 1, 2, 5]).by_lane]
    without_numpy(there=False)
    assert [(each.lane, each.state) for each in answer(frame()["slots"], "slots", [0, 1, 2, 5]).by_lane] == expected
    changed = frame()
    changed["even"].write("left + $lane", lanes=[0, 2, 4])
    assert changed["even"].values([0, 2, 4]).array == [0, 6, 12]
    with pytest.raises(dg.UsageError, match="no lane 64"):
        changed["even"].write("1", lanes=[0, 64])
    assert changed.eval("left * 2", "active").array[:3] == [0, 8, 16]


def test_objects_as_lists_and_dictionaries():
    names = dg.open("fixtures/host/values.gcc.O0.v5.x86_64").outside
    found = {name: listed(names[name].object()) for name in ("static_double", "message", "matrix", "third")}
    assert found == {
        "static_double": 2.5, "message": [104, 101, 108, 108, 111, 0],    "matrix": [[1, 2, 3], [4, 5, 6]],
        "third": {"next": 0, "name": found["third"]["name"], "value": 3, "at": {"x": 30, "y": -30}}}  # fmt: skip


def test_whether_there_is_numpy_is_found_once(monkeypatch):
    import builtins

    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "numpy":
            raise ImportError("built for another Python")
        return real(name, *arguments, **options)

    monkeypatch.setattr(bits, "_numpy", [])
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert not bits.has_arrays()
    monkeypatch.setattr(builtins, "__import__", real)
    assert not bits.has_arrays()
    monkeypatch.setattr(bits, "_numpy", [])
    assert bits.has_arrays()


def test_the_first_lanes_are_asked_in_turn(monkeypatch):
    """numpy is loaded when more lanes are asked than its import is worth."""
    modules = {name: module for name, module in sys.modules.items() if name != "numpy"}
    monkeypatch.setattr(bits, "_numpy", [])
    monkeypatch.setattr(bits, "_in_turn", [0])
    assert bits.arrays_pay(64), "something has loaded it"
    monkeypatch.setattr(bits, "_numpy", [])
    monkeypatch.setattr(sys, "modules", modules)
    assert not bits.arrays_pay(bits.MOST_IN_TURN)
    assert bits.arrays_pay(2)
    assert bits.arrays_pay(2)
