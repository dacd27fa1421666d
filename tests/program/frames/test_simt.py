"""The SIMT attributes (A.3.3.5): lanes, places, masks, iterations; by the document's own example and by small units."""

import random

import numpy as np
import pytest

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.machine import Dispatch, Machine
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED, lanes_of_wave
from dwarfgpu.program.frames.wave_groups import wave_groups, wave_runs
from dwarfgpu.render.lanes import wave_json
from dwarfgpu.states.stopped import Stopped
from tests.builders.divergence import NAMES, REGIONS, VARIANTS, Example, Masks
from tests.builders.parameters import for_each

ALL = (1 << 64) - 1
MASKS = {
    "all": Masks(ALL, 0x0F0F0F0F_0F0F0F0F, 0x55555555_55555555),
    "partial": Masks(0x00FF00FF_0FFFFFF0, 0xFFFF0000_FFFF3C3C, 0x33333333_33333333),
    "one lane": Masks(1 << 5, 1 << 5, 0),
    "no condition holds": Masks(ALL, 0, 0),
    "both conditions hold": Masks(ALL, ALL, ALL),
    "nobody": Masks(0, ALL, 0),
}


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: variant[0][4:-3])
def example(request):
    return Example(*request.param)


def cut(masks, example):
    full = (1 << example.lane_count) - 1
    return Masks(*(mask & full for mask in masks))


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("region", REGIONS, ids=NAMES)
def test_every_lane_stands_where_the_table_says(example, region, masks):
    name, end = region[:2]
    masks = cut(masks, example)
    for pc in (example.at(name), example.at(end) - 4):
        simt = Simt(example.stopped((name, masks, pc)).stack(0).top)

        assert simt.lane_count == example.lane_count
        assert simt.says_places
        assert simt.active_mask() == example.execution_mask(name, masks)
        assert [(each.pc, each.error) for each in simt.lane_pcs()] == [
            (place, None) for place in example.truth(name, masks, pc)
        ]


def test_random_masks(example):
    chance = random.Random(7)
    for _ in range(10):
        masks = cut(Masks(*(chance.getrandbits(64) for _ in range(3))), example)
        name = chance.choice(NAMES)
        found = Simt(example.stopped((name, masks, None)).stack(0).top).lane_pcs()
        assert [each.pc for each in found] == example.truth(name, masks, example.at(name))


def test_lanes_have_states_functions_and_lines(example):
    found = lanes_of_wave(example.stopped(("lex_1_1_else", cut(MASKS["all"], example), None)), 0)
    lines = {example.at("lex_1_1_end"): 19, example.at("lex_1_1_else"): 16, example.at("lex_1_start"): 10}

    assert (found.wave, found.frame, found.pc) == ("0", 0, example.at("lex_1_1_else"))
    assert found.by_attribute
    assert not found.problems
    for lane in found.lanes:
        assert lane.state == (ACTIVE if found.mask >> lane.number & 1 else INACTIVE)
        assert (lane.frame, lane.call.function, lane.call.source.line) == (0, "X", lines[lane.pc])
        assert lane.work_item is None


def test_a_lane_that_was_never_active_is_in_no_frame(example):
    found = lanes_of_wave(example.stopped(("lex_1_then", Masks(1, 1, 1), None)), 0)

    assert [lane.frame for lane in found.lanes[:2]] == [0, None]
    assert (found.lanes[1].state, found.lanes[1].pc, found.lanes[1].call) == (INACTIVE, None, None)


def test_what_is_missing_is_said_of_the_lanes_that_need_it(example):
    """Without the saved masks nobody knows where lanes wait; the active ones stand where the wave does."""
    machine = Machine(example.target)
    machine.add_waves(1)
    pc = example.at("lex_1_then")
    machine.set_register("pc", pc)
    machine.set_register("exec", 5)
    found = lanes_of_wave(Stopped(machine, example.stopped(("lex_start", Masks(1, 1, 1), None)).loaded), 0)

    assert [lane.pc for lane in found.lanes[:4]] == [pc, None, pc, None]
    assert found.problems[0].kind == "register_unavailable"
    assert found.lanes[1].error is found.problems[0]


def test_an_unknown_mask_leaves_states_open(example):
    machine = Machine(example.target)
    machine.add_waves(1)
    machine.set_register("pc", example.at("X"))
    found = lanes_of_wave(Stopped(machine, example.stopped(("lex_start", Masks(1, 1, 1), None)).loaded), 0)

    assert found.mask is None
    assert {lane.state for lane in found.lanes} == {UNKNOWN}
    assert {error.kind for error in found.problems} == {"register_unavailable"}


def at_whole_wave(example, symbol):
    machine = Machine(example.target)
    machine.add_waves(2)
    machine.set_register("pc", example.at(symbol))
    machine.set_register("exec", (1 << example.lane_count) - 1)
    machine.set_register("s34", np.array([0x1234, 0xFF], dtype=np.uint32))
    machine.set_register("s35", np.array([0x8000_0000, 0], dtype=np.uint32))
    return Stopped(machine, example.stopped(("lex_start", Masks(1, 1, 1), None)).loaded)


def test_the_active_lanes_while_all_lanes_run(example):
    """A.3.3.5 (6): bit N of the mask, as large as DW_AT_LLVM_lanes, is lane N; else the execution mask counts."""
    simt = Simt(at_whole_wave(example, "whole_wave_begin").stack(0).top)
    saved = 0x8000_0000_0000_1234 if example.lane_count == 64 else 0x1234
    full = (1 << example.lane_count) - 1

    # with the current numbers the attribute has none, and the function does not have it
    has_it = example.file.name.find("old") > 0 or example.file.name.find("legacy") > 0
    assert (simt.find("DW_AT_LLVM_active_lane") is not None) == has_it
    assert simt.active_mask() == (saved if has_it else full)
    assert Simt(at_whole_wave(example, "whole_wave").stack(0).top).active_mask() == full
    assert not simt.says_places
    assert {each.pc for each in simt.lane_pcs()} == {example.at("whole_wave_begin")}


def test_the_masks_of_many_waves_are_found_at_once(example):
    stopped = at_whole_wave(example, "whole_wave_begin")
    rows = wave_runs(stopped)
    masks = [Simt(stopped.stack(wave).top).active_mask() for wave in (0, 1)]

    assert [(row.numbers, row.mask) for row in rows] == (
        [([0], masks[0]), ([1], masks[1])] if masks[0] != masks[1] else [([0, 1], masks[0])]
    )


def in_dispatch(example, grid, work_group, group, number):
    stopped = example.stopped(("lex_start", cut(MASKS["all"], example), None))
    machine = stopped.machine
    machine.dispatches.append(Dispatch(1, "X", grid, work_group))
    machine.dispatch[0] = 0
    machine.work_group[0] = group
    machine.wave_in_group[0] = number
    return stopped


def test_lanes_beyond_a_partial_work_group_are_unused(example):
    count = example.lane_count
    found = lanes_of_wave(in_dispatch(example, (count + 3, 1, 1), (2 * count, 1, 1), (0, 0, 0), 1), 0)

    assert [lane.state for lane in found.lanes[2:]] == [ACTIVE] + [UNUSED] * (count - 3)
    assert [lane.work_item for lane in found.lanes[:4]] == [(count, 0, 0), (count + 1, 0, 0), (count + 2, 0, 0), None]


def test_work_items_of_three_dimensions(example):
    found = lanes_of_wave(in_dispatch(example, (8, 8, 8), (4, 4, 4), (1, 1, 1), 0), 0)

    assert found.lanes[21].work_item == (1, 1, 1)
    assert found.lanes[31].work_item == (3, 3, 1)


@for_each(
    "grid, work_group, group, number",
    ((64, 1, 1), (64, 1, 1), (1, 0, 0), 0),
    ((64, 1, 1), (64, 1, 1), (0, 0, 0), 9),
    ((0, 1, 1), (1, 1, 1), (0, 0, 0), 0),
)
def test_a_place_that_cannot_be_is_a_problem(example, grid, work_group, group, number):
    found = lanes_of_wave(in_dispatch(example, grid, work_group, group, number), 0)

    assert found.problems
    assert {lane.work_item for lane in found.lanes} == {None}
    assert UNUSED not in {lane.state for lane in found.lanes}


def test_waves_are_grouped_by_where_they_stand(example):
    masks = cut(MASKS["all"], example)
    places = ["lex_1_else", "lex_start", "lex_1_else", "lex_1_else"]
    stopped = example.stopped(*((name, masks, None) for name in places))
    stopped.machine.add_waves(1)

    groups = wave_groups(stopped)
    expected = [([0, 2, 3], example.at("lex_1_else")), ([1], example.at("lex_start")), ([4], None)]
    assert [(group.numbers, group.pc) for group in groups] == expected
    assert [group.numbers for group in wave_groups(stopped, [3, 1, 2])] == [[1], [2, 3]]
    rows = [wave_json(stopped, run) for run in wave_runs(stopped)]
    expected = [(["0"], 21), (["1"], 5), (["2", "3"], 21), (["4"], None)]
    assert [(row["waves"], row["source"] and row["source"]["line"]) for row in rows] == expected
    assert rows[3]["error"]["kind"] == "pc"
    assert len(wave_runs(stopped, separate=True)) == 5


def test_no_waves(example):
    stopped = example.stopped()
    assert wave_groups(stopped) == []
    assert wave_runs(stopped) == []


def test_frames_are_numbered(example):
    stopped = example.stopped(("lex_start", Masks(1, 1, 1), None))
    with pytest.raises(UsageError, match="there is no frame 1: wave 0 has 1"):
        lanes_of_wave(stopped, 0, 1)
    with pytest.raises(DwarfGpuError):
        lanes_of_wave(stopped, 0, 1 << 40)
