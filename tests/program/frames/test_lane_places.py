"""Lanes are evaluated where they are (A.2.5.1 current program location, current call frame; A.3.3.5 (5)).

"If the current lane is specified and the architecture program location LPC computed by the DW_AT_LLVM_lane_pc attribute
for the current lane is not the undefined location description, it must be LPC." So a lane that is elsewhere in a
function has the variables, and the values, that a wave at that place with the same registers would have.
"""

import numpy as np
import pytest

import dwarfgpu
from dwarfgpu.errors import UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.frames.all_waves import by_place
from dwarfgpu.program.frames.backtrace import backtraces
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.states.hosts import in_lane
from tests.builders.divergence import FIXTURES, NAMES, VARIANTS, Example, Masks
from tests.builders.errors import raised
from tests.builders.parameters import pairs

MASKS = Masks(0x0FFF_FFF0, 0x00FF_FF0F, 0x5555_5555)
NEVER_ENTERED = 0
"""A lane that was not active on entry to the kernel."""


def attached(name, dialect, *places):
    """Return waves at places of X, all with the same registers."""
    example = Example(name, dialect)
    machine = Machine(example.target)
    machine.add_waves(len(places), work_group=[[number, 0, 0] for number in range(len(places))])
    for number in range(8):
        machine.set_register(f"v{number}", np.arange(example.lane_count, dtype=np.uint32) * 7 + 1000 * number)
    for number in range(48):
        machine.set_register(f"s{number}", np.full(len(places), 100 + number, dtype=np.uint32))
    for wave, (region, pc) in enumerate(places):
        example.put(machine, wave, region, MASKS, pc)
    program = dwarfgpu.open(str(FIXTURES / name)).attach(machine)
    program.stopped.loaded = program.state.loaded = example.loaded
    return example, program


def variables(frame, lane):
    """Return what each variable is in a lane."""
    known = {}
    for variable in frame.in_lane(lane).variables():
        try:
            known[variable.name] = variable.value(lane)
        except Unavailable as error:
            known[variable.name] = error.reason.kind
    return {name: str(value) for name, value in known.items()}


@pytest.mark.parametrize("region, variant", pairs(NAMES, VARIANTS))
def test_a_lane_has_what_a_wave_at_its_place_has(region, variant):
    example, program = attached(*variant, (region, None))
    frame = program[0].frame(0)
    truth = example.truth(region, MASKS, example.at(region))
    for lane in range(0, example.lane_count, 3):
        if truth[lane] is None:
            assert "the lane was not active when `X` was called" in str(raised(Unavailable, frame.in_lane, lane))
            continue
        _example, there = attached(*variant, (region, truth[lane]))
        own = there[0].frame(0)
        assert variables(frame, lane) == {
            variable.name: variables_of_wave(variable, lane) for variable in own.variables()
        }


def variables_of_wave(variable, lane):
    """Return what a variable is in a lane at the place of its frame, whatever is said of the lane's place."""
    try:
        return str(dwarfgpu.program.frames.columns.python_value(variable.find(variable.frame.lane(lane))))
    except Unavailable as error:
        return error.reason.kind
    except dwarfgpu.DwarfGpuError as error:
        return dwarfgpu.program.frames.reasons.reason_of(error).kind


@pytest.mark.parametrize("name, dialect", VARIANTS[::3])
def test_all_lanes_together_are_each_lane_by_itself(name, dialect):
    for region in NAMES:
        _example, program = attached(name, dialect, (region, None))
        frame = program[0].frame(0)
        for text in ("lane", "left", "even", "odd", "result", "limit + lane", "&slots[1]", "$v1"):
            try:
                together = frame.eval(text, "all")
            except UsageError:  # no lane is where the name means something
                continue
            for lane in together.lanes[::5]:
                if lane in together.reasons and together.reasons[lane].kind == "not_in_scope":
                    assert "no variable" in str(raised(UsageError, frame.expression(text).values, [lane]))
                    continue
                alone = frame.eval(text, [lane])
                assert together.of(lane).state == alone.of(lane).state, (region, text, lane)
                assert str(together.of(lane).reason) == str(alone.of(lane).reason)
                if lane not in together.reasons:
                    assert np.array_equal(together.array[lane], alone.array[0])


def test_a_name_that_is_in_scope_for_some_lanes_only():
    _example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)
    assert [lane for lane, state in enumerate(frame["lane"].values().states) if state == "active"] == [
        lane for lane in range(64) if MASKS.entry & MASKS.first & MASKS.second & 1 << lane
    ]
    other = frame["even"].values()
    reasons = {lane: reason.kind for lane, reason in other.reasons.items()}
    odd = next(lane for lane in range(64) if MASKS.entry & MASKS.first & ~MASKS.second & 1 << lane)
    assert (reasons[odd], reasons[NEVER_ENTERED]) == ("not_in_scope", "not_entered")
    assert other.reasons[odd].state == "absent"
    assert "no variable `nosuch` in X" in str(raised(UsageError, frame.eval, "nosuch"))


def test_waves_at_one_place_whose_lanes_are_elsewhere_are_asked_together():
    places = [("lex_1_1_then", None), ("lex_1_1_else", None), ("lex_1_1_then", None)]
    _example, program = attached(*VARIANTS[0], *places)
    for text in ("lane", "even", "left"):
        for _index, values in by_place(program, (text,)):
            for number, wave in enumerate(values.waves.tolist()):
                try:
                    alone = program[wave].frame(0).eval(text)
                except UsageError:
                    assert text == "even"
                    continue
                assert values.states[number] == alone.states
                whole = [position for position, state in enumerate(alone.states) if state in ("active", "inactive")]
                assert values.array[number][whole].tolist() == alone.array[whole].tolist()
    assert [values.names for _index, values in by_place(program, ("lane",))] == [["0", "2"], ["1"]]


def test_the_selected_frame_is_at_the_place_of_the_selected_lane():
    example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)
    odd = next(lane for lane in range(64) if MASKS.entry & MASKS.first & ~MASKS.second & 1 << lane)
    even = next(lane for lane in range(64) if MASKS.entry & MASKS.first & MASKS.second & 1 << lane)
    assert in_lane(frame, even).place == example.at("lex_1_1_then")
    elsewhere = in_lane(frame, odd)
    assert elsewhere.pc == elsewhere.place == example.at("lex_1_1_start")
    assert "even" not in {variable.name for variable in elsewhere.variables()}
    assert elsewhere.active_mask == frame.active_mask  # it is a fact of the wave
    assert in_lane(frame, NEVER_ENTERED).place == frame.place


def test_lanes_active_on_entry_are_those_with_a_place():
    """A.2.5.1 current call frame: "that lane must have been active on entry" (see DW_AT_LLVM_lane_pc)."""
    example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)
    assert frame.active_mask == MASKS.entry & MASKS.first & MASKS.second
    assert frame.active_lanes() == MASKS.entry
    odd = next(lane for lane in range(64) if MASKS.entry & MASKS.first & ~MASKS.second & 1 << lane)
    (stack,) = backtraces(program.stopped, [0], lane=odd)
    assert stack.skipped == 0
    assert stack.frames[0].pc == example.at("lex_1_1_start")
    (stack,) = backtraces(program.stopped, [0], lane=NEVER_ENTERED)
    assert (stack.skipped, stack.frames) == (1, ())


def test_an_assignment_goes_to_where_each_lane_has_the_variable():
    _example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)
    entered = [lane for lane in range(64) if MASKS.entry >> lane & 1]
    frame["lane"].write("lane * 2", entered)
    assert frame["lane"].values(entered).array.tolist() == [14 * lane for lane in entered]
    with pytest.raises(Unavailable, match="was not active when `X` was called"):
        frame["lane"].write("7", [entered[0], NEVER_ENTERED])
    assert frame["lane"].value(entered[0]) == 14 * entered[0]


def test_what_is_kept_for_lanes_follows_the_machine():
    """Where the lanes are, and what is in them, is kept until something is written."""
    example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)

    def answers():
        values = frame["lane"].values()
        lanes = frame.eval("lane + left", [lane for lane in range(64) if (MASKS.entry & MASKS.first) >> lane & 1])
        return values.states, values.array.tolist(), lanes.array.tolist(), lanes.states

    before = answers()
    assert answers() == before
    moved = Masks(MASKS.entry, MASKS.first, MASKS.second ^ 0xF0F000)  # lanes 12 to 15 and 20 to 23 change places
    machine = program.state.backend
    example.put(machine, 0, "lex_1_1_then", moved)
    _example, there = attached(*VARIANTS[0], ("lex_1_1_then", None))
    example.put(there.state.backend, 0, "lex_1_1_then", moved)
    after = answers()
    assert after[0] != before[0]
    assert after[0] == there[0].frame(0)["lane"].values().states
    example.put(machine, 0, "lex_1_1_then", MASKS)
    assert answers() == before


def test_an_error_of_lanes_names_its_own_lane_each_time():
    _example, program = attached(*VARIANTS[0], ("lex_1_1_then", None))
    frame = program[0].frame(0)
    for _ in range(2):
        assert str(raised(Unavailable, frame["lane"].write, "7", [4, NEVER_ENTERED])).count("(lane 0)") == 1


def test_a_register_of_as_many_elements_as_lanes_is_whole_in_every_lane():
    _example, program = attached(*VARIANTS[0], ("lex_start", None))
    array = program[0].frame(0).eval("$v1").array
    assert array.shape == (64, 64)
    assert (array == np.arange(64) * 7 + 1000).all()
