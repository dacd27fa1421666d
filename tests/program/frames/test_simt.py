"""The SIMT attributes (A.3.3.5): lanes, places, masks, iterations; by the document's own example and by small units."""

import random
from contextlib import suppress
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.machine import Dispatch, Machine
from dwarfgpu.program.code import code_object
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED, lanes_of_wave
from dwarfgpu.program.frames.wave_groups import wave_groups, wave_runs
from dwarfgpu.render.lanes import wave_json
from dwarfgpu.states.stopped import Stopped
from dwarfgpu.targets.resolve import resolve
from tests.builders.divergence import NAMES, REGIONS, VARIANTS, Example, Masks
from tests.builders.dwarf import build, entry, unit
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder
from tests.builders.parameters import for_each, in_one_test
from tests.builders.spread import GFX90A, TARGET, expression

ALL = (1 << 64) - 1
MASKS = {
    "all": Masks(ALL, 0x0F0F0F0F_0F0F0F0F, 0x55555555_55555555),
    "partial": Masks(0x00FF00FF_0FFFFFF0, 0xFFFF0000_FFFF3C3C, 0x33333333_33333333),
    "one lane": Masks(1 << 5, 1 << 5, 0),                    "no condition holds": Masks(ALL, 0, 0),
    "both conditions hold": Masks(ALL, ALL, ALL),            "nobody": Masks(0, ALL, 0)}  # fmt: skip


@pytest.fixture(scope="module", params=VARIANTS, ids=lambda variant: variant[0][4:-3])
def example(request):
    return Example(*request.param)


def cut(masks, example):
    full = (1 << example.lane_count) - 1
    return Masks(*(mask & full for mask in masks))


@in_one_test("region, masks", product(REGIONS, MASKS.values()))
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


@for_each("grid, work_group, group, number",
    ((64, 1, 1), (64, 1, 1), (1, 0, 0), 0),
    ((64, 1, 1), (64, 1, 1), (0, 0, 0), 9),
    ((0, 1, 1), (1, 1, 1), (0, 0, 0), 0))  # fmt: skip
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
    assert "there is no frame 1: wave 0 has 1" in str(raised(UsageError, lanes_of_wave, stopped, 0, 1))
    raised(DwarfGpuError, lanes_of_wave, stopped, 0, 1 << 40)


# --- The SIMT attributes one by one (A.3.3.5 (4) to (7)): values, defaults, what is ill-formed, calls, inlining ----


OUTER, INNER, SIZE = 0x1000, 0x2000, 0x100
CALL = OUTER + 0x40
"""Where the outer function goes on when the inner one returns."""
INLINED = (INNER + 0x20, INNER + 0x40)
SECOND = (INNER + 0x60, INNER + 0x70)
"""Another call of the same function."""
NOT_ACTIVE = "DW_OP_LLVM_undefined; DW_OP_LLVM_extend 64 64"
ALL_AT_PC = "DW_OP_regx pc; DW_OP_LLVM_extend 64 64"
ACTIVE_AT_PC = f"{NOT_ACTIVE}; {ALL_AT_PC}; DW_OP_regx {{}}; DW_OP_deref_size 4; DW_OP_LLVM_select_bit_piece 64 64"
CHOSEN = "DW_OP_regx s10; DW_OP_deref_size 4; DW_OP_LLVM_select_bit_piece 64 64"
"""The second of two vectors in the lanes of a mask."""
KERNEL = expression("DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address").hex()
RETURN = expression("DW_OP_regx s30; DW_OP_piece 4; DW_OP_regx s31; DW_OP_piece 4").hex()


def attributes(**found):
    """Attributes of the current numbers: numbers are constants, texts and bytes expressions."""
    result = []
    for name, value in found.items():
        if isinstance(value, int):
            result.append((f"LLVM_{name}", "sdata", value))
        elif value is not None:
            data = expression(value) if isinstance(value, str) else value
            result.append((f"LLVM_{name}", "exprloc", data))
    return result


def stopped(*, outer=None, inner=None, inlined=None, pc=INNER, mask=0xFF, **registers):
    """A wave in the inner function, which the outer one has called, and into which another is inlined."""

    def call(span, *parts):
        return entry(
            "inlined_subroutine", None, *parts, abstract_origin="small", low_pc=span[0], high_pc=span[1] - span[0]
        )

    calls = call(INLINED, *attributes(**(inlined or {}))), call(SECOND)
    functions = (
        entry("subprogram", "small", label="small", inline=1),
        function("outer", OUTER, *attributes(**(outer or {}))),
        function("inner", INNER, *attributes(**(inner or {})), *calls),
    )
    tree = entry("compile_unit", None, *functions, producer="tests", low_pc=OUTER, high_pc=INNER + SIZE - OUTER)
    frames = FrameBuilder()
    cie = frames.cie(code=4, data=4)
    frames.fde(cie, OUTER, SIZE, f"def_cfa_expression {KERNEL}; undefined 16")
    frames.fde(cie, INNER, SIZE, f"LLVM_def_aspace_cfa 64 0 6; expression 16 {RETURN}; same_value 17")
    known = {"pc": pc, "exec": mask, "s30": CALL, "s31": 0, "s32": 0x400, **registers}
    return loaded(tree, known, (".debug_frame", frames.data))


def loaded(tree, registers, *sections):
    """A wave with some registers, in a file with these entries and sections."""
    elf = ElfBuilder(flags=GFX90A)
    text = elf.section(".text", bytes(INNER + SIZE - OUTER), flags=0x6, address=OUTER)
    for name, data in (*build(unit(tree)).sections.items(), *sections):
        elf.section(name, data)
    elf.segment(1, OUTER, text, flags=5)
    machine = Machine(resolve(TARGET))
    machine.add_waves(1)
    for name, value in registers.items():
        machine.set_register(name, value)
    return Stopped(machine, Loaded([LoadedCode(code_object.opened(elf.build()))]))


def function(name, low, *parts):
    return entry("subprogram", name, *parts, low_pc=low, high_pc=SIZE)


def simt(depth=None, **found):
    return Simt(stopped(**found).stack(0).call(0)[0 if depth is None else -1 - depth])


def test_defaults():
    """A.3.3.5 (5), A.3.3.5 (6) and A.3.3.5 (7): what counts without the attributes."""
    found = simt()
    assert found.lane_count == 64
    assert found.iterations() == 1
    assert found.active_mask() == 0xFF
    assert {each.pc for each in found.lane_pcs()} == {INNER}


@pytest.mark.parametrize("lanes", [1, 8, 32, 64])
def test_fewer_lanes(lanes):
    """A.3.3.5 (4): the number of lanes is the constant of DW_AT_LLVM_lanes."""
    found = simt(inner={"lanes": lanes}, mask=(1 << 64) - 1)
    assert found.lane_count == lanes
    assert found.active_mask() == (1 << lanes) - 1
    assert len(found.lane_pcs()) == lanes


def test_lanes_that_nothing_counts():
    """A.3.3.5 (4) has the default 1; compilers that leave the attribute out use all lanes (docs/differences.md)."""
    found = simt(mask=0b1010)
    assert found.lane_count == 64
    assert found.active_mask() == 0b1010


@for_each("lanes, kind, message",
    (0, "bad_operand", "DW_AT_LLVM_lanes is 0"),
    (-1, "bad_value", None),
    (1 << 40, "limit_exceeded", "more than the limit of 1024"))  # fmt: skip
def test_lanes_that_cannot_be(lanes, kind, message):
    """A.3.3.5 (4): a value that is less than or equal to 0 is ill-formed."""
    with pytest.raises(DwarfGpuError, match=message) as caught:
        _ = simt(inner={"lanes": lanes}).lane_count
    assert message is None or caught.value.kind == kind


def test_more_lanes_than_the_execution_mask_has():
    with pytest.raises(DwarfGpuError, match="is 128, and the execution mask has 64 bits"):
        simt(inner={"lanes": 128}).active_mask()


# DW_AT_LLVM_iterations has a number in the old numbering alone, which an augmentation string chooses.


def with_iterations(form, value):
    from dwarfgpu.objfile.info.forms import LLVM_OLD

    place = {"low_pc": OUTER, "high_pc": SIZE, "dialect": LLVM_OLD}
    inner = entry("subprogram", "f", (0x3E0A, form, value), **place)
    tree = entry("compile_unit", None, ("LLVM_augmentation", "string", "[amd:v0.0]"), inner, **place)
    return Simt(loaded(tree, {"pc": OUTER, "exec": 1, "s5": 3}).stack(0).top)


@for_each("text, count",
    ("DW_OP_lit4; DW_OP_stack_value", 4),
    ("DW_OP_regx s5; DW_OP_deref_size 4; DW_OP_lit1; DW_OP_plus; DW_OP_stack_value", 4))  # fmt: skip
def test_iterations_of_an_expression(text, count):
    """A.3.3.5 (7): one implicit location, read as the generic type."""
    assert with_iterations("exprloc", expression(text)).iterations() == count


@for_each("text, message",
    ("DW_OP_lit0; DW_OP_stack_value", "is 0"),               ("DW_OP_lit0; DW_OP_not; DW_OP_stack_value", "is -1"),
    ("DW_OP_regx s5", "gives no implicit location"),         ("DW_OP_lit4", "gives no implicit location"),
    ("DW_OP_LLVM_undefined", "gives no implicit location"),  ("", "gives no implicit location"))  # fmt: skip
def test_iterations_that_are_ill_formed(text, message):
    """A.3.3.5 (7): another location than one implicit one, or a value that is not positive."""
    with pytest.raises(DwarfGpuError, match=message):
        with_iterations("exprloc", expression(text)).iterations()


def test_the_vector_may_be_in_memory_or_registers():
    """Any location will do: here two vector registers hold 64 bits for each of 32 lanes.

    A.3.3.5 (5): a lane count sized vector of elements of the generic type.
    """
    import numpy as np

    places = np.arange(64, dtype=np.uint32) * 0x10
    pcs = [int(places[2 * lane]) | int(places[2 * lane + 1]) << 32 for lane in range(32)]
    found = simt(inner={"lanes": 32, "lane_pc": "DW_OP_regx v3"}, v3=places[None])
    assert [each.pc for each in found.lane_pcs()] == pcs


def test_an_expression_that_depends_on_the_lane_is_evaluated_for_each():
    text = "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_stack_value; DW_OP_LLVM_extend 64 64"
    found = simt(inner={"lanes": 64, "lane_pc": text}).lane_pcs()
    assert [each.pc for each in found] == [4 * lane for lane in range(64)]


@for_each("text, message",
    ("DW_OP_lit1; DW_OP_stack_value", "describes 64 bits, and its vector has 4096"),
    ("DW_OP_regx pc; DW_OP_LLVM_extend 64 63", "describes 4032 bits, and its vector has 4096"),
    ("DW_OP_drop", "stack"),
    ("DW_OP_regx v200", "v200"))  # fmt: skip
def test_vectors_that_are_ill_formed_or_not_known(text, message):
    """A.3.3.5 (5): the location must hold an element for each lane."""
    made = simt(inner={"lanes": 64, "lane_pc": text})
    try:
        errors = [str(each.error) for each in made.lane_pcs()]
    except DwarfGpuError as error:
        errors = [str(error)]
    assert message in errors[0]


def test_elements_with_some_bits_alone_are_errors():
    text = "DW_OP_regx s5; DW_OP_piece 4; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_LLVM_extend 64 64"
    found = simt(inner={"lane_pc": text}, s5=7).lane_pcs()
    assert found[3].pc is None
    assert found[3].error.message == "the place of lane 3 has bits without a value"


def test_a_lane_that_was_not_active_on_entry_stands_in_the_caller():
    """A.3.3.5 (5): the element of a lane that was not active at the call is undefined."""
    found = lanes_of_wave(stopped(inner={"lane_pc": ACTIVE_AT_PC.format("s10")}, mask=0x3, s10=0x7, s11=0), 0)
    assert [(lane.frame, lane.pc) for lane in found.lanes[:4]] == [(0, INNER), (0, INNER), (0, INNER), (1, CALL)]
    assert [lane.call.function for lane in found.lanes[2:4]] == ["inner", "outer"]


def test_a_lane_that_was_never_active_is_nowhere():
    never = {"lane_pc": NOT_ACTIVE}
    found = lanes_of_wave(stopped(inner=never, outer=never), 0)
    assert {(lane.frame, lane.pc) for lane in found.lanes} == {(None, None)}


def test_inlined_calls_have_attributes_of_their_own():
    """Lanes that have not come into the inlined call stand where the function around it says."""
    inlined = {"lane_pc": ACTIVE_AT_PC.format("s10"), "lanes": 16}
    inner = {"lane_pc": f"DW_OP_addr {INNER + 8:#x}; DW_OP_stack_value; DW_OP_LLVM_extend 64 64"}
    made = stopped(inner=inner, inlined=inlined, pc=INLINED[0], s10=0x1, s11=0)
    found = lanes_of_wave(made, 0)
    assert found.call.function == "small"
    assert found.lane_count == 16
    expected = [(INLINED[0], 0, "small"), (INNER + 8, 0, "inner")]
    assert [(lane.pc, lane.frame, lane.call.function) for lane in found.lanes[:2]] == expected
    around = lanes_of_wave(made, 0, 1)
    assert (around.call.function, around.lane_count) == ("inner", 64)
    assert {(lane.pc, lane.call.function) for lane in around.lanes} == {(INNER + 8, "inner")}
    caller = lanes_of_wave(made, 0, 2)
    assert (caller.call.function, caller.pc) == ("outer", CALL)


@for_each("pc, other, expected",
    (INLINED[0], INNER + 8, ["small", "inner"]),  # behind the inlined call that the wave is in
    (INLINED[0], SECOND[0], ["small", "small"]),  # in another call of the same function
    (INNER + 8, INLINED[0], ["inner", "small"]),  # in an inlined call, and the wave is around it
    (INLINED[0], INLINED[0] + 4, ["small", "small"]))  # fmt: skip
def test_a_lane_counts_for_the_innermost_frame_that_it_is_in(pc, other, expected):
    """Of the function alone the attribute says that lanes stand elsewhere; its inlined calls go with the address."""
    places = f"{ALL_AT_PC}; DW_OP_addr {other:#x}; DW_OP_stack_value; DW_OP_LLVM_extend 64 64; {CHOSEN}"
    found = lanes_of_wave(stopped(inner={"lane_pc": places}, pc=pc, s10=0x2, s11=0), 0)
    assert [(lane.frame, lane.call.function) for lane in found.lanes[:2]] == [(0, name) for name in expected]


def test_seen_from_the_function_around_an_inlined_call_lanes_are_in_it():
    places = f"{ALL_AT_PC}; DW_OP_addr {SECOND[0]:#x}; DW_OP_stack_value; DW_OP_LLVM_extend 64 64; {CHOSEN}"
    found = lanes_of_wave(stopped(inner={"lane_pc": places}, pc=INLINED[0], s10=0x2, s11=0), 0, 1)
    assert {(lane.frame, lane.call.function) for lane in found.lanes} == {(1, "inner")}


def test_the_mask_of_a_caller_is_the_one_it_has():
    found = lanes_of_wave(stopped(mask=0x1), 0, 1)
    assert (found.mask, found.pc, found.call.function) == (1, CALL, "outer")


@given(st.binary(max_size=20), st.integers(-2, 70))
def test_any_attributes_give_a_result_or_an_error(data, lanes):
    made = stopped(inner={"lanes": lanes, "lane_pc": data}, s10=1)
    try:
        found = lanes_of_wave(made, 0)
    except DwarfGpuError:
        return
    assert len(found.lanes) == found.lane_count


@given(st.binary(max_size=20))
def test_any_iterations_give_a_number_or_an_error(data):
    with suppress(DwarfGpuError):
        assert with_iterations("exprloc", data).iterations() > 0
