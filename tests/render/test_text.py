"""Results as lines of text, tables and judgements, which fit the screen."""

import pytest
from cases import parse_case
from hypothesis import example, given
from hypothesis import strategies as st

from dwarfgpu.audits.judge.judgement import JudgedPart, Judgement
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.execution.control.profile import Counts, ProfiledLine
from dwarfgpu.execution.halts import ENDED, Halt
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.questions.judging import judgement_text
from dwarfgpu.render.layout import NARROWEST, TableLine, columns, laid_out
from dwarfgpu.render.layout import shown as escaped
from dwarfgpu.render.running import profile_text
from dwarfgpu.render.verification import in_lanes
from tests.builders.parameters import for_each

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
S32 = {"encoding": "signed", "byte_size": 4}
MEMORY = {"memory": [{"space": 0, "address": 0, "bytes": "000102030405060708090a0b0c0d0e0f"}]}


def outcome(text, context=None, **case):
    question = parse_case({"ops": text, "context": context or {}, **case}, 1).question
    return question.context.target, question.answer()[0]


def shown(text, context=None, **case):
    target, found = outcome(text, context, **case)
    return TextRenderer(target.byte_order).outcome(found)


def typed(kind, number):
    return {"initial_stack": [{"value": number, "type": kind}]}


LINES = [
    ("DW_OP_lit5", {}, {}, "value 5 (generic)"),
    ("DW_OP_lit0; DW_OP_not", {}, {"address_size": 2}, "value 65535 (generic)"),
    ("", typed(S32, -5), {}, "value -5 (signed32)"),
    ("", typed({"encoding": "float", "byte_size": 8}, 1.5), {}, "value 1.5 (float64)"),
    ("", typed({"encoding": "float", "byte_size": 4}, "nan"), {}, "value nan (float32)"),
    ("", typed({**S32, "vector_size": 2}, [1, -2]), {}, "value [1, -2] (signed32 x 2)"),
    ("", typed({**S32, "vector_size": 2}, [1, -2]), {"byte_order": "big"}, "value [1, -2] (signed32 x 2)"),
    ("", typed({**S32, "vector_size": 80}, [7] * 80), {}, f"value [{'7, ' * 64}...] (signed32 x 80)"),
    ("", typed({"encoding": "complex_float", "byte_size": 2}, 0x1234), {}, "value 0x1234 (complex_float16)"),
    ("", typed({"encoding": "unsigned", "byte_size": 65}, 1), {}, "value of 520 bits (unsigned520)"),
    ("DW_OP_addr 0x10", {}, {}, "default#0x10"),
    ("DW_OP_addr 0x10", {}, GPU, "global#0x10"),
    ("DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_lit3; DW_OP_LLVM_bit_offset",
     {}, GPU, "local#0x10 bit 3"),
    ("DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", {"lane": 5}, GPU, "private_lane#0x8 (lane 5)"),
    ("DW_OP_lit8; DW_OP_const1u 0x25; DW_OP_LLVM_form_aspace_address", {}, GPU, "private_lane5#0x8"),
    ("DW_OP_reg3", {}, {"target": "x86_64"}, "rbx"),
    ("DW_OP_regx v4", {}, GPU, "v4"),
    ("DW_OP_regx v4; DW_OP_const1u 160; DW_OP_LLVM_bit_offset", {}, GPU, "v4 bit 160 (v4[5])"),
    ("DW_OP_regx v4; DW_OP_const1u 163; DW_OP_LLVM_bit_offset", {}, GPU, "v4 bit 163 (v4[5] bit 3)"),
    ("DW_OP_reg3", {"registers": {"3": [1, 2]}, "lane": 1}, {}, "r3 (lane 1)"),
    ("DW_OP_lit5; DW_OP_stack_value", {}, {"address_size": 4}, "implicit 05000000"),
    ("DW_OP_implicit_value 0102; DW_OP_lit8; DW_OP_LLVM_bit_offset", {}, AMD, "implicit 0102 bit 8"),
    ("DW_OP_implicit_value 0x", {}, {}, "implicit (no bytes)"),
    (f"DW_OP_implicit_value {'ab' * 65}", {}, {}, f"implicit {'ab' * 64}... (65 bytes)"),
    ("DW_OP_implicit_pointer 0x4c 4", {}, {}, "implicit pointer to info:0x4c+0x4 in default"),
    ("DW_OP_implicit_pointer 0x4c -4; DW_OP_deref", {}, AMD, "implicit pointer to info:0x4c-0x4 in default (value)"),
    ("", {}, {}, "undefined (optimized out)"),
    ("DW_OP_regx v4; DW_OP_piece 4; DW_OP_piece 4", {}, GPU, "{v4: 32 bits, undefined: 32 bits}"),
    ("DW_OP_addr 1; DW_OP_LLVM_extend 8 4", {}, AMD, "{default#0x1: 4 times 8 bits}"),
    ("DW_OP_addr 0; DW_OP_addr 64; DW_OP_lit12; DW_OP_LLVM_select_bit_piece 8 4", {}, AMD,
     "{default#0x0: 16 bits, default#0x42: 16 bits}"),
    ("DW_OP_piece 2; DW_OP_LLVM_piece_end; DW_OP_lit9; DW_OP_LLVM_bit_offset", {}, AMD, "{undefined: 16 bits} bit 9"),
    ("DW_OP_call4 1", {"dies": {"unit:1": {"location": ["50", "51"]}}}, AMD, "r0 and r1"),
    ("; ".join(["DW_OP_reg0; DW_OP_piece 1"] * 70), {}, {}, f"{{{'r0: 8 bits, ' * 64}and 6 more parts}}"),
    # --- what was read
    ("DW_OP_addr 4", MEMORY, {"read": {"bytes": 4}}, "default#0x4: 04050607"),
    ("DW_OP_addr 4", MEMORY, {"read": {"type": S32}}, "default#0x4: 04050607 = 117835012 (signed32)"),
    ("DW_OP_addr 4; DW_OP_piece 1; DW_OP_piece 1", MEMORY, {"read": {"bytes": 2}},
     "{default#0x4: 8 bits, undefined: 8 bits}: 0400 without a value: 00ff"),
    # --- errors
    ("DW_OP_lit8; DW_OP_lit0; DW_OP_div", {}, {},
     "division by zero at DW_OP_div, offset 0x2: the divisor is 0 [DWARF 5, 2.5.1.4]")]  # fmt: skip


@pytest.mark.parametrize(
    "text, context, case, expected", LINES, ids=[f"{i}-{row[0][:40]}" for i, row in enumerate(LINES)]
)
def test_lines(text, context, case, expected):
    assert shown(text, context, **case) == expected


def test_composites_stay_short_and_say_that_they_are_incomplete():
    target, found = outcome("DW_OP_lit1; DW_OP_piece 1; DW_OP_lit2", stack=True, **AMD)
    texts = [TextRenderer(target.byte_order).entry(entry) for entry in found.stack]
    assert texts == ["incomplete {default#0x1: 8 bits}", "value 2 (generic)"]
    location = {"kind": "undefined"}
    for _ in range(3):
        location = {"kind": "composite", "parts": [{"bit_size": 1, "location": location}] * 20}
    text = shown("DW_OP_push_object_address", {"object": location})
    assert text.count("undefined") == 20 * 16 * 4
    assert text.count("and 16 more parts") == 20 * 16
    assert text.count("and 4 more parts") == 20
    deep = "DW_OP_addr 0; " + "; ".join(["DW_OP_LLVM_extend 8 30"] * 6)
    assert shown(deep, **AMD) == "{" * 5 + "30 parts}" + ": 30 times 8 bits}" * 4


def test_the_same_results_as_json():
    target, found = outcome("DW_OP_addr 4", MEMORY, read={"bytes": 1})
    location = {"kind": "memory", "space": 0, "space_name": "default", "address": 4, "bit": 0}
    write = JsonWriter(target.byte_order)
    assert write.entry(found.result) == write.location(found.result) == location
    assert write.reading(found.reading) == {"bytes": "04"}


CELLS = st.text(st.characters(codec="utf-8"), max_size=120)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, st.booleans()), max_size=6), st.integers(1, 130))
@example([("", "0", "", False), ("x" * 18, "", "", False)], 1)
def test_no_line_is_wider_than_the_screen(rows, width):
    head = ("Id", "Target Id", "Frame")
    with laid_out(width):
        lines = list(columns(head, [TableLine((a, b, c), mark) for a, b, c, mark in rows]))
    assert all(len(line) <= max(width, NARROWEST) for line in lines if len(line.split()) > 1)
    assert all(line.isprintable() for line in lines)
    found = "".join("".join(lines).split())
    for row in rows:
        for cell in row[:3]:
            assert "".join(escaped(cell).split()) in found


def test_long_rows_go_on_below_and_styles_do_not_count():
    rows = [
        TableLine(("1", "short", "x")),
        TableLine(("2", "m" * 30, "last"), True),
        TableLine(("3", "short", "y" * 40)),
    ]
    with laid_out(30):
        lines = list(columns(("Id", "Name", "What"), rows))
    assert lines == ["  Id Name What", "  1  short x", "* 2", "m" * 30, "    last", "  3  short", "    " + "y" * 40]
    with laid_out(40, lambda style, text: f"<{style}>{text}"):
        lines = list(columns(("Id", "What"), [TableLine(("1", "x"), style="dim")]))
    assert lines == ["<dim>  Id What", "<dim>  1  x"]


def test_numbers_stay_in_their_columns_below_a_long_name():
    counts = Counts()
    counts.instructions = counts.lanes = 12_345
    rows = [ProfiledLine(name, 7, None, counts, 1) for name in ("a" * 40 + ".cl", "b.cl")]
    with laid_out(80):
        head, *lines = profile_text((*rows,))
    assert lines[0].strip() == "a" * 40 + ".cl:7"
    assert [len(line) for line in (head, *lines[1:])] == [len(head)] * 3
    assert (len(head) <= 80, lines[2].split()[0]) == (True, "b.cl:7")


def test_long_names_of_functions_are_cut():
    report = FileReport("k.co")
    long = JudgedPart("very::long<int, int>" * 9, 123_456, 123_456, frames_right=123_456)
    functions = (long, JudgedPart("short", 4, 8, frames_right=2, lanes_right=1))
    lines = list(judgement_text(Judgement(report, functions, Halt(ENDED, "all waves have ended"), 9), report))
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("  very::long<int...")
    (short,) = (line.split() for line in lines if line.startswith("  short"))
    assert short == ["short", "4", "of", "8", "0", "0", "0", "-", "50%", "25%"]


@for_each("lanes, text",
    ({"1": 0b1110, "2": 0b1}, "lanes 1-3 of wave 1 and some of 1 more wave (4 lanes)"),
    ({"1": 0b100, "2": 0b100, "3": 0b100}, "lane 2 of 3 waves (3 lanes)"),
    ({"1": 0x5555_5555, "2": 1, "3": 1}, "lanes 0,2,4,6,8,10,12,14,... of wave 1 and some of 2 more waves (18 lanes)"),
    ids=str)  # fmt: skip
def test_the_lanes_of_a_finding_are_a_short_list(lanes, text):
    assert in_lanes(lanes) == text
