"""Compiled code passes a breakpoint while its condition is false, and stops where Python would."""

import pytest

from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_slow
from tests.execution.control.test_going_back import STORE, assert_same, rounds_of, state_of

LOOP = 78
"""The line of `mixed` with numbers of all sizes."""
CONDITIONS = (
    "c < 0 && d > 200", "s == k * 77 || (t & 63) == 7", "i > u", "l < -5 * k", "m > l", "!(k - 13)", "-c == 37",
    "~d == -4", "u * 3 < 1000000", "k >= 28 && i != 0", "c * 1000 < s", "d - 250 < 0 && k == 20", "t == 99 || k == 1",
    "k == 7 && 4294967295 > i", "(l ^ k) == 3", "1",
)  # fmt: skip
BUILDS = [("gfx90a", "O0"), ("gfx1100", "O0"), ("gfx1100", "O2"), ("gfx1200", "O0")]


def mixed_of(path, jit):
    machine = machine_for(path, "mixed")
    machine.jit = jit
    return Debugging(launch(machine, path, "mixed", grid=192, work_group=64, args={"out": "zeros(192,i8)", "n": 30}))


def places_of(debugging):
    """Where waves stop until they end: the times, the places and the lanes."""
    found = []
    while not (halt := debugging.go_on()).has_ended:
        found.append((debugging.device.executed, halt.pc, halt.lanes))
    return found


def counted_questions(debugging):
    """Count how often Python asks whether waves stop."""
    asked, breaks = [], debugging.device._breaks
    debugging.device._breaks = lambda batch: asked.append(batch.pc) or breaks(batch)
    return asked


@pytest.mark.parametrize("processor, level", some_slow(BUILDS, quick=BUILDS[:1]))
def test_waves_stop_where_they_would_without_compiled_code(built, processor, level):
    path, passed = built(processor, level), 0
    for condition in CONDITIONS:
        found = []
        for jit in ("off", "on"):
            debugging = mixed_of(path, jit)
            debugging.break_at(f"kernels.cl:{LOOP}", condition)
            asked = counted_questions(debugging)
            found.append(places_of(debugging))
            end = state_of(debugging.machine)
            if jit == "off":
                expected, questions = end, len(asked)
        assert found[0] == found[1], condition
        assert_same(expected, end)
        passed += len(asked) < questions
    assert passed > 8 or level == "O2"


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_the_breakpoint_may_be_at_any_instruction_and_waves_may_be_many(built, processor):
    addresses = []
    debugging = rounds_of(built(processor), 9)
    debugging.go_on(lambda batch: addresses.append(batch.pc))
    assert debugging.has_ended
    loop = sorted({each for each in addresses if addresses.count(each) > 5})
    fewer = 0
    for address in loop[::9]:
        found, asked = [], []
        for jit in ("off", "on"):
            debugging = rounds_of(built(processor), 9, jit=jit)
            debugging.break_at(f"*{address:#x}", "k == 6 && s != 0")
            asked.append(counted_questions(debugging))
            found.append((places_of(debugging), state_of(debugging.machine)))
        assert found[0][0] == found[1][0]
        assert_same(found[0][1], found[1][1])
        fewer += len(asked[1]) < len(asked[0])
    assert fewer > len(loop[::9]) // 2


def test_what_is_changed_at_a_stop_counts_from_then_on(built):
    debugging = rounds_of(built(), 200)
    point = debugging.break_at(f"kernels.cl:{STORE}", "k == 50")
    asked = counted_questions(debugging)
    first = debugging.go_on()
    assert first.points == (point,)
    assert len(asked) < 30
    debugging.condition(point, "k == 60")
    halt = debugging.go_on()
    assert halt.points == (point,)
    assert debugging.attached[min(halt.lanes)].frame(0)["k"].value(lane=0) == 60
    point.is_enabled = False
    other = debugging.break_at(f"kernels.cl:{STORE}", "k == 70")
    assert debugging.go_on().points == (other,)
    point.is_enabled = True
    debugging.condition(point, None)  # each time now
    hits = point.hits
    for _ in range(10):
        debugging.go_on()
    assert point.hits == hits + 10


def test_a_search_of_the_past_asks_only_where_a_condition_is_true(built):
    debugging = rounds_of(built(), 300)
    assert debugging.go_on().has_ended
    point = debugging.break_at(f"kernels.cl:{STORE}", "k == 3")
    asked = counted_questions(debugging)
    assert debugging.reverse_go_on().points == (point,)
    assert len(asked) < 150  # of 2,400 times: once for each part of the past that is searched
