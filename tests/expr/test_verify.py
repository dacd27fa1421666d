"""The verifier: what is wrong with a program, and what is not."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwarfgpu.encoding.operands import Format
from dwarfgpu.expr import rules, table
from dwarfgpu.expr.asm import parse
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.verify import _MAX_STATES, MAX_DEPTH, Finding, _ExpressionWalk, verify
from tests.expr.programs import (
    AMDGCN,
    DIALECTS,
    FORM,
    LLVM_USER,
    X86_64,
    failed,
    forward_programs,
    near_programs,
    nested,
    run,
    straight_programs,
)

PRESETS = list(rules.PRESETS.values())


def found(program, preset=rules.AMD, **options):
    """The findings as words: ``error stack_underflow 0x1``."""
    expression = parse(program, LLVM_USER, options.pop("form", FORM), target=options.get("target"))
    return [f"{one.severity} {one.kind} {one.offset:#x}" for one in verify(expression, rules=preset, **options)]


# --- The stack -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("A.2.5.4")
@pytest.mark.parametrize(
    "program, expected",
    [
        ("", []),
        ("DW_OP_lit1; DW_OP_lit2; DW_OP_plus", []),
        ("DW_OP_plus", ["error stack_underflow 0x0"]),
        ("DW_OP_lit1; DW_OP_plus", ["error stack_underflow 0x1"]),
        ("DW_OP_lit1; DW_OP_swap", ["error stack_underflow 0x1"]),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_rot", ["error stack_underflow 0x2"]),
        ("DW_OP_lit1; DW_OP_drop; DW_OP_drop", ["error stack_underflow 0x2"]),
        ("DW_OP_dup", ["error stack_underflow 0x0"]),
        ("DW_OP_lit1; DW_OP_over", ["error stack_underflow 0x1"]),
        ("DW_OP_lit1; DW_OP_lit2; DW_OP_over; DW_OP_drop; DW_OP_drop; DW_OP_drop", []),
        ("DW_OP_lit1; DW_OP_pick 0", []),
        ("DW_OP_lit1; DW_OP_pick 1", ["error stack_underflow 0x1"]),
        ("DW_OP_pick 255", ["error stack_underflow 0x0"]),
        ("DW_OP_deref", ["error stack_underflow 0x0"]),
        ("DW_OP_stack_value", ["error stack_underflow 0x0"]),
        ("DW_OP_LLVM_piece_end", ["error stack_underflow 0x0"]),
        ("DW_OP_lit1; DW_OP_LLVM_overlay", ["error stack_underflow 0x1"]),
        # what follows an underflow is not known, and not reported
        ("DW_OP_plus; DW_OP_plus; DW_OP_plus", ["error stack_underflow 0x0"]),
        # nor is what follows a call
        ("DW_OP_call2 8; DW_OP_plus; DW_OP_drop", []),
        ("DW_OP_call4 8; DW_OP_LLVM_piece_end", []),
        ("DW_OP_plus; DW_OP_call_ref 8", ["error stack_underflow 0x0"]),
    ],
)
def test_depth(program, expected):
    assert found(program) == expected


@pytest.mark.parametrize(
    "depth, expected", [(0, ["error stack_underflow 0x0"]), (1, ["error stack_underflow 0x1"]), (2, [])]
)
def test_the_initial_stack_counts(depth, expected):
    assert found("DW_OP_drop; DW_OP_drop", initial_depth=depth) == expected


def test_an_initial_entry_may_be_anything():
    for program in (
        "DW_OP_deref",
        "DW_OP_lit1; DW_OP_plus",
        "DW_OP_stack_value",
        "DW_OP_piece 4",
        "DW_OP_dup",
    ):
        assert found(program, initial_depth=1) == []


@pytest.mark.spec("A.2.5.4.2 (4)")
@pytest.mark.parametrize(
    "program, expected",
    [
        # one way has an entry less
        (
            "DW_OP_lit1; DW_OP_push_lane; DW_OP_bra @x; DW_OP_drop; x: DW_OP_drop",
            ["error stack_underflow 0x7"],
        ),
        ("DW_OP_lit1; DW_OP_push_lane; DW_OP_bra @x; DW_OP_dup; x: DW_OP_drop", []),
        # a literal decides
        ("DW_OP_lit1; DW_OP_lit0; DW_OP_bra @x; DW_OP_dup; x: DW_OP_drop", []),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_bra @x; DW_OP_drop; x: DW_OP_drop", ["warning unreachable 0x5"]),
        # one way leaves another kind
        (
            "DW_OP_lit1; DW_OP_push_lane; DW_OP_bra @x; DW_OP_drop; DW_OP_reg5; x: DW_OP_stack_value",
            ["error wrong_kind 0x8"],
        ),
        # loops
        ("DW_OP_push_lane; x: DW_OP_dup; DW_OP_bra @x", []),
        ("DW_OP_lit1; x: DW_OP_dup; DW_OP_bra @x", ["error limit_exceeded 0x5"]),
        ("DW_OP_lit8; x: DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @x", []),
        ("x: DW_OP_push_lane; DW_OP_dup; DW_OP_bra @x", ["warning limit_exceeded 0x3"]),
        (
            "DW_OP_lit1; DW_OP_lit2; x: DW_OP_drop; DW_OP_push_lane; DW_OP_bra @x",
            ["warning stack_underflow 0x2"],
        ),
        ("x: DW_OP_skip @x", ["error limit_exceeded 0x3"]),
        ("x: DW_OP_lit1; DW_OP_bra @x", ["error limit_exceeded 0x4"]),
        ("x: DW_OP_lit0; DW_OP_bra @x", []),
        ("x: DW_OP_push_lane; DW_OP_bra @x", []),
        (
            "x: DW_OP_lit1; DW_OP_skip @x",
            ["warning limit_exceeded 0x1", "error limit_exceeded 0x4"],
        ),
    ],
)
def test_paths(program, expected):
    assert found(program) == expected


@pytest.mark.spec("A.2.5.4.2 (3)")
@pytest.mark.parametrize(
    "program, expected",
    [
        ("DW_OP_skip 0", []),
        ("DW_OP_skip 1", ["error bad_branch 0x0"]),
        ("DW_OP_skip -4", ["error bad_branch 0x0"]),
        ("DW_OP_skip -1", ["error bad_branch 0x0"]),
        ("DW_OP_push_lane; DW_OP_bra 1; DW_OP_const2u 5", ["error bad_branch 0x2"]),
        ("DW_OP_lit0; DW_OP_bra 100", ["error bad_branch 0x1"]),  # a branch that is never taken
        ("DW_OP_skip @end; DW_OP_skip 100; end:", ["warning bad_branch 0x3", "warning unreachable 0x3"]),
        ("DW_OP_skip 0; (undecoded: ff)", ["error unknown_operation 0x3"]),
        ("DW_OP_skip 1; (undecoded: ffff)", ["error unknown_operation 0x3"]),
        ("DW_OP_skip -2; (undecoded: ffff)", ["error bad_branch 0x0", "error unknown_operation 0x3"]),
    ],
)
def test_branches(program, expected):
    assert found(program) == expected


@pytest.mark.parametrize("count, expected", [(20, ["error stack_underflow 0x8d"]), (60, [])])
def test_where_too_many_ways_meet_the_stack_is_not_known(count, expected):
    program = "DW_OP_push_lane; DW_OP_push_lane; DW_OP_bra @x; " * count + "x: DW_OP_drop; DW_OP_drop"
    assert found(program) == expected


def test_operations_that_no_path_reaches_are_reported_once_for_each_run_of_them():
    program = "DW_OP_skip @a; DW_OP_dup; DW_OP_dup; a: DW_OP_skip @b; DW_OP_dup; b:"
    assert found(program) == ["warning unreachable 0x3", "warning unreachable 0x8"]


# --- Kinds ---------------------------------------------------------------------------------------------------------

OK: list[str] = []
KIND = ["wrong_kind"]

KINDS = [
    # program, then what is found with the rules dwarf5, amd and dwarf6
    ("DW_OP_addr 8; DW_OP_lit1; DW_OP_plus", OK, OK, OK),  # a byte address is a value
    ("DW_OP_breg7 8; DW_OP_plus_uconst 4; DW_OP_deref", OK, OK, OK),
    ("DW_OP_fbreg 8; DW_OP_plus_uconst 4; DW_OP_deref", OK, OK, OK),
    ("DW_OP_push_object_address; DW_OP_plus_uconst 4; DW_OP_deref", OK, OK, OK),
    ("DW_OP_reg5; DW_OP_plus_uconst 4", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_regx 5; DW_OP_stack_value", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_reg5; DW_OP_deref", ["after_location"], OK, OK),
    ("DW_OP_reg5; DW_OP_dup", ["after_location"], OK, OK),
    ("DW_OP_reg5; DW_OP_piece 4", OK, OK, OK),
    ("DW_OP_reg5; DW_OP_GNU_uninit", OK, OK, OK),
    ("DW_OP_implicit_value 01; DW_OP_neg", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_lit1; DW_OP_stack_value; DW_OP_not", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_implicit_pointer 8 0; DW_OP_not", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_LLVM_undefined; DW_OP_lit1; DW_OP_eq", KIND, KIND, KIND),
    ("DW_OP_LLVM_undefined; DW_OP_bra 0", KIND, KIND, KIND),
    ("DW_OP_lit1; DW_OP_LLVM_extend 8 4; DW_OP_not", KIND, KIND, KIND),
    ("DW_OP_lit8; DW_OP_lit0; DW_OP_LLVM_form_aspace_address; DW_OP_not", OK, OK, OK),
    ("DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_not", KIND, KIND, KIND),
    ("DW_OP_reg5; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", ["after_location", *KIND], KIND, KIND),
    ("DW_OP_lit5; DW_OP_LLVM_aspace_bregx 5 0; DW_OP_not", KIND, KIND, KIND),
    ("DW_OP_const_type 8 0102; DW_OP_deref", KIND, KIND, KIND),
    ("DW_OP_const_type 8 0102; DW_OP_piece 2", KIND, KIND, KIND),
    ("DW_OP_const_type 8 0102; DW_OP_const_type 8 0102; DW_OP_plus; DW_OP_deref", KIND, KIND, KIND),
    ("DW_OP_const_type 8 0102; DW_OP_const_type 8 0102; DW_OP_lt; DW_OP_deref", OK, OK, OK),
    ("DW_OP_const_type 8 0102; DW_OP_convert 0; DW_OP_deref", OK, OK, OK),
    ("DW_OP_const_type 8 0102; DW_OP_lit1; DW_OP_plus", *[["type_mismatch"]] * 3),
    ("DW_OP_lit1; DW_OP_convert 8; DW_OP_lit1; DW_OP_shl", *[["type_mismatch"]] * 3),
    # moved locations
    ("DW_OP_addr 8; DW_OP_LLVM_offset_uconst 4; DW_OP_not", OK, OK, OK),
    ("DW_OP_addr 8; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_not", OK, OK, OK),
    ("DW_OP_addr 8; DW_OP_lit8; DW_OP_LLVM_bit_offset; DW_OP_not", OK, OK, OK),
    ("DW_OP_addr 8; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_not", KIND, KIND, KIND),
    ("DW_OP_reg5; DW_OP_LLVM_offset_uconst 4; DW_OP_not", ["after_location", *KIND], KIND, KIND),
    # composites
    ("DW_OP_piece 4; DW_OP_piece 4", OK, OK, OK),
    ("DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4", OK, OK, OK),
    ("DW_OP_reg5; DW_OP_piece 4; DW_OP_dup", *[["incomplete_composite"]] * 2, OK),
    (
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit0; DW_OP_pick 1",
        ["incomplete_composite", "bad_piece"],
        ["incomplete_composite"],
        OK,
    ),
    ("DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_offset_uconst 1", *[["incomplete_composite"]] * 2, OK),
    ("DW_OP_reg5; DW_OP_piece 4; DW_OP_stack_value", *[["incomplete_composite"]] * 2, KIND),
    ("DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_dup", OK, OK, ["wrong_kind"]),
    ("DW_OP_lit1; DW_OP_LLVM_piece_end", KIND, KIND, KIND),
    ("DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4", OK, OK, ["bad_piece"]),
    ("DW_OP_composite; DW_OP_reg5; DW_OP_piece 4", OK, OK, OK),
    ("DW_OP_piece 4; DW_OP_reg5", ["bad_piece"], OK, OK),
    ("DW_OP_piece 4; DW_OP_lit1; DW_OP_lit2", ["bad_piece"], OK, OK),
    ("DW_OP_addr 8; DW_OP_addr 8; DW_OP_multiloc; DW_OP_not", KIND, KIND, KIND),
    ("DW_OP_addr 8; DW_OP_addr 8; DW_OP_lit0; DW_OP_lit0; DW_OP_overlay; DW_OP_not", OK, OK, KIND),
]


@pytest.mark.spec("A.2.5.4.4.3")
@pytest.mark.spec("A.2.5.4.4.6")
@pytest.mark.parametrize("program, dwarf5, amd, dwarf6", KINDS, ids=[case[0] for case in KINDS])
def test_kinds(program, dwarf5, amd, dwarf6):
    for preset, expected in ((rules.DWARF5, dwarf5), (rules.AMD, amd), (rules.DWARF6, dwarf6)):
        assert sorted(line.split()[1] for line in found(program, preset)) == sorted(expected), preset.name


@pytest.mark.parametrize(
    "program, preset, expected",
    [
        # only the type tells
        ("DW_OP_const_type 8 0102; DW_OP_deref", rules.AMD, ["error wrong_kind 0x5"]),
        ("DW_OP_const_type 8 0102; DW_OP_deref", rules.DWARF5, ["warning wrong_kind 0x5"]),
        # only the location tells
        ("DW_OP_LLVM_call_frame_entry_reg 5; DW_OP_not", rules.AMD, ["warning wrong_kind 0x3"]),
        (
            "DW_OP_lit8; DW_OP_push_lane; DW_OP_LLVM_form_aspace_address; DW_OP_not",
            rules.AMD,
            ["warning wrong_kind 0x5"],
        ),
        (
            "DW_OP_addr 8; DW_OP_addr 8; DW_OP_lit0; DW_OP_push_lane; DW_OP_overlay; DW_OP_not",
            rules.AMD,
            ["warning wrong_kind 0x16"],
        ),
        # an implicit pointer is found where it points
        (
            "DW_OP_fbreg 0; DW_OP_deref; DW_OP_LLVM_offset_uconst 4; DW_OP_not",
            rules.AMD,
            ["warning wrong_kind 0x6"],
        ),
    ],
)
def test_what_depends_on_the_evaluation_is_a_warning(program, preset, expected):
    assert found(program, preset) == expected


@pytest.mark.parametrize("target, expected", [(X86_64, []), (AMDGCN, ["warning wrong_kind 0x2"]), (None, [])])
def test_where_there_are_several_address_spaces_a_frame_base_may_be_in_another(target, expected):
    assert found("DW_OP_fbreg 8; DW_OP_plus_uconst 4", target=target) == expected


@pytest.mark.parametrize(
    "program, wanted, expected",
    [
        ("", "location", []),
        ("", "value", ["error bad_result_kind 0x0"]),
        ("DW_OP_lit1", "value", []),
        ("DW_OP_lit1", "location", []),
        ("DW_OP_reg5", "location", []),
        ("DW_OP_reg5", "value", ["error bad_result_kind 0x1"]),
        ("DW_OP_addr 8", "value", []),
        ("DW_OP_lit1; DW_OP_stack_value", "value", ["error bad_result_kind 0x2"]),
        ("DW_OP_piece 4", "location", []),
        ("DW_OP_piece 4", "value", ["error bad_result_kind 0x2"]),
        ("DW_OP_const_type 8 01", "location", ["error bad_result_kind 0x4"]),
        ("DW_OP_const_type 8 01", "value", []),
        ("DW_OP_reg5; DW_OP_call2 4", "value", []),
        ("DW_OP_lit0; DW_OP_push_lane; DW_OP_bra @x; DW_OP_reg5; x:", "value", ["error bad_result_kind 0x7"]),
    ],
)
def test_result_kind(program, wanted, expected):
    assert found(program, result_kind=wanted) == expected


# --- Operands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, expected",
    [
        ("DW_OP_piece 0x1ffffffffffffff", []),
        ("DW_OP_piece 0x2000000000000000", []),
        ("DW_OP_bit_piece 0x2000000000000000 0", []),
        ("DW_OP_lit1; DW_OP_LLVM_extend 0 4", ["error bad_operand 0x1"]),
        ("DW_OP_lit1; DW_OP_LLVM_extend 8 0", ["error bad_operand 0x1"]),
        ("DW_OP_lit1; DW_OP_LLVM_extend 0x100000000 0x800000000", []),
        ("DW_OP_lit1; DW_OP_LLVM_extend 0x100000000 0x900000000", ["error bad_piece 0x1"]),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 0 4", ["error bad_operand 0x3"]),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 32 64", []),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 32 65", ["error bad_size 0x3"]),
        ("DW_OP_lit1; DW_OP_deref_size 0", ["error bad_size 0x1"]),
        ("DW_OP_lit1; DW_OP_deref_size 8", []),
        ("DW_OP_lit1; DW_OP_deref_size 9", ["warning bad_size 0x1"]),
        ("DW_OP_lit1; DW_OP_deref_type 0 8", ["error bad_size 0x1"]),
        ("DW_OP_lit1; DW_OP_deref_type 16 8", []),
        ("DW_OP_lit1; DW_OP_lit1; DW_OP_xderef_size 9", ["warning bad_size 0x2", "warning deprecated 0x2"]),
    ],
)
def test_operands(program, expected):
    assert found(program) == expected


@pytest.mark.spec("A.2.5.4.4.6 (1)")
@pytest.mark.parametrize("form, largest", [(Format(address_size=4), 1 << 32), (Format(address_size=2), 1 << 16)])
def test_a_part_is_no_larger_than_the_largest_address_space(form, largest):
    assert found(f"DW_OP_piece {largest}", form=form) == []
    assert found(f"DW_OP_piece {largest + 1}", form=form) == ["error bad_piece 0x0"]
    assert found(f"DW_OP_bit_piece {8 * largest + 1} 0", form=form) == ["error bad_piece 0x0"]
    assert found(f"DW_OP_piece {largest + 1}", form=form, target=AMDGCN) == []
    assert found(f"DW_OP_piece {largest + 1}", form=form, address_size=8) == []


@pytest.mark.spec("DWARF 5, 2.5.1.3 (8)")
def test_the_size_of_a_value_depends_on_the_address_size_and_the_rules():
    program = "DW_OP_lit1; DW_OP_deref_size 8"
    assert found(program, rules.DWARF5, form=Format(address_size=4)) == ["error bad_size 0x1"]
    assert found(program, rules.AMD, form=Format(address_size=4)) == ["warning bad_size 0x1"]
    assert found(program, rules.DWARF5, form=Format(address_size=4), address_size=8) == []


def test_the_mask_is_as_wide_as_an_address():
    program = "DW_OP_lit1; DW_OP_lit1; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 32 64"
    assert found(program, form=Format(address_size=4)) == ["error bad_size 0x3"]
    typed = program.replace("DW_OP_lit1; DW_OP_LLVM", "DW_OP_const_type 8 01; DW_OP_LLVM")
    assert found(typed, form=Format(address_size=4)) == []


@pytest.mark.spec("A.2.5.4.4.3 (3)")
@pytest.mark.parametrize(
    "program, target, expected",
    [
        ("DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", AMDGCN, []),
        ("DW_OP_lit8; DW_OP_lit4; DW_OP_LLVM_form_aspace_address", AMDGCN, ["error bad_address_space 0x2"]),
        ("DW_OP_lit8; DW_OP_lit4; DW_OP_LLVM_form_aspace_address", None, []),
        ("DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", X86_64, ["error bad_address_space 0x2"]),
        (
            "DW_OP_lit4; DW_OP_lit8; DW_OP_swap; DW_OP_LLVM_form_aspace_address",
            AMDGCN,
            ["error bad_address_space 0x3"],
        ),
        ("DW_OP_lit4; DW_OP_LLVM_aspace_bregx s32+0", AMDGCN, ["error bad_address_space 0x1"]),
        ("DW_OP_lit4; DW_OP_lit8; DW_OP_mem", AMDGCN, ["error bad_address_space 0x2"]),
        (
            "DW_OP_lit4; DW_OP_lit8; DW_OP_xderef",
            AMDGCN,
            ["error bad_address_space 0x2", "warning deprecated 0x2"],
        ),
        ("DW_OP_lit4; DW_OP_aspace_implicit_pointer 8 0", AMDGCN, ["error bad_address_space 0x1"]),
        ("DW_OP_lit8; DW_OP_push_lane; DW_OP_LLVM_form_aspace_address", AMDGCN, []),
    ],
)
def test_address_spaces(program, target, expected):
    assert found(program, target=target) == expected


@pytest.mark.parametrize(
    "program, target, expected",
    [
        ("DW_OP_regx v4", AMDGCN, []),
        ("DW_OP_regx 5", AMDGCN, ["error register_unavailable 0x0"]),
        ("DW_OP_reg5", AMDGCN, ["error register_unavailable 0x0"]),
        ("DW_OP_breg5 0", AMDGCN, ["error register_unavailable 0x0"]),
        ("DW_OP_reg5", X86_64, []),
        ("DW_OP_regx 0x10000", X86_64, ["error register_unavailable 0x0"]),
        ("DW_OP_regx 0x10000", None, []),
    ],
)
def test_registers(program, target, expected):
    assert found(program, target=target) == expected


# --- Expressions in expressions ------------------------------------------------------------------------------------


@pytest.mark.spec("A.2.5.4.3.4 (8)")
@pytest.mark.parametrize(
    "inner, expected",
    [
        ("DW_OP_reg5", []),
        ("DW_OP_breg5 0; DW_OP_deref", []),
        ("DW_OP_breg5 0", ["error bad_result_kind 0x4"]),
        ("", ["error bad_result_kind 0x2"]),
        ("DW_OP_plus", ["error stack_underflow 0x2"]),
        ("DW_OP_reg5; DW_OP_not", ["error wrong_kind 0x3"]),
        ("DW_OP_lit1; DW_OP_skip 5", ["error bad_branch 0x3"]),
        ("DW_OP_entry_value (DW_OP_reg5)", []),
        ("DW_OP_lit1; DW_OP_entry_value (DW_OP_lit1; DW_OP_plus)", ["error stack_underflow 0x6"]),
    ],
)
def test_entry_values(inner, expected):
    lines = [line for line in found(f"DW_OP_entry_value ({inner})") if "deprecated" not in line]
    assert lines == expected


def test_a_finding_in_an_expression_in_an_expression_names_its_operation():
    expression = parse("DW_OP_entry_value (DW_OP_lit1; (undecoded: ff))", LLVM_USER, FORM)
    (finding,) = [one for one in verify(expression, rules=rules.AMD) if one.severity == "error"]
    assert (finding.kind, finding.offset) == ("unknown_operation", 3)


# --- Call frame information ----------------------------------------------------------------------------------------

FORBIDDEN = """
    DW_OP_addrx 0, DW_OP_call2 0, DW_OP_call4 0, DW_OP_call_ref 0, DW_OP_const_type 0 00, DW_OP_constx 0,
    DW_OP_convert 0, DW_OP_deref_type 1 0, DW_OP_fbreg 0, DW_OP_implicit_pointer 0 0, DW_OP_regval_type 0 0,
    DW_OP_reinterpret 0, DW_OP_xderef_type 1 0, DW_OP_push_object_address, DW_OP_LLVM_push_lane,
    DW_OP_LLVM_push_iteration, DW_OP_call_frame_cfa, DW_OP_entry_value 55
"""


@pytest.mark.spec("A.6.4.2")
@pytest.mark.parametrize("operation", [one.strip() for one in FORBIDDEN.split(",")])
def test_what_call_frame_information_must_not_use(operation):
    program = f"{operation}; DW_OP_drop"
    assert "error not_allowed_in_cfi 0x0" in found(program, in_cfi=True, initial_depth=3)
    assert "error not_allowed_in_cfi 0x0" not in found(program, initial_depth=3)


@pytest.mark.spec("A.6.4.2")
def test_what_call_frame_information_must_not_use_anywhere():
    program = "DW_OP_skip @x; DW_OP_push_lane; x: DW_OP_LLVM_call_frame_entry_reg 5"
    assert found(program, in_cfi=True) == ["error not_allowed_in_cfi 0x3", "warning unreachable 0x3"]


@pytest.mark.spec("A.6.4.2")
def test_what_compilers_emit_for_a_spilled_register_is_right():
    program = """
        DW_OP_regx v40; DW_OP_swap; DW_OP_LLVM_offset_uconst 256
        DW_OP_LLVM_call_frame_entry_reg exec; DW_OP_deref_size 8
        DW_OP_LLVM_select_bit_piece 32 64
    """
    options = {"in_cfi": True, "initial_depth": 1, "result_kind": "location", "target": AMDGCN}
    assert found(program, **options) == []


# --- What else is reported -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, expected",
    [
        ("DW_OP_lit1; (undecoded: ff)", ["error unknown_operation 0x1"]),
        ("DW_OP_lit1; (undecoded: 08)", ["error truncated 0x1"]),
        ("DW_OP_lit1; (undecoded: e9 00)", ["error unknown_operation 0x1"]),
        ("DW_OP_lit1; (undecoded: 10 ffffffffffffffffffff01)", ["error leb128_overflow 0x1"]),
        ("DW_OP_lit1; DW_OP_LLVM_NVIDIA_mux 0102", ["warning DW_OP_LLVM_NVIDIA_mux 0x1"]),
    ],
)
def test_faults(program, expected):
    assert found(program) == expected


@pytest.mark.parametrize("row", [row for row in table.rows() if row.deprecated], ids=lambda row: row.name)
def test_deprecated_operations(row):
    operands = {"expression": "55", "u1": "8", "uleb": "8"}
    program = " ".join([row.name, *[operands[operand.kind] for operand in row.operands]])
    assert f"warning deprecated {2:#x}" in found(f"DW_OP_lit0; DW_OP_lit8; {program}")


def test_a_finding_says_what_where_and_which_rule():
    expression = parse("DW_OP_lit1; DW_OP_reg5; DW_OP_plus", LLVM_USER, FORM)
    message = "DW_OP_plus needs a value, found a register location"
    assert verify(expression, rules=rules.AMD) == [
        Finding("error", "wrong_kind", message, 2, "DW_OP_plus", "A.2.5.4.4.3")
    ]


# --- Any program ---------------------------------------------------------------------------------------------------

STATIC = frozenset(
    ("stack_underflow", "bad_branch", "wrong_kind", "unknown_operation", "incomplete_composite", "truncated")
)
"""Kinds of errors that the program alone decides."""


@given(straight_programs(), st.sampled_from(PRESETS))
@example("DW_OP_implicit_pointer 8 0; DW_OP_deref; DW_OP_LLVM_offset_uconst 8; DW_OP_not", rules.AMD)
def test_a_program_without_findings_never_fails_for_a_reason_it_carries(program, preset):
    expression = parse(program, LLVM_USER, FORM)
    outcome = run(expression, preset)
    if failed(outcome) and outcome.kind in STATIC:
        assert outcome.kind in {finding.kind for finding in verify(expression, rules=preset)}, outcome


@given(straight_programs(), st.sampled_from(PRESETS), st.sampled_from([None, "value", "location"]))
def test_a_program_with_an_error_fails(program, preset, wanted):
    expression = parse(program, LLVM_USER, FORM)
    findings = verify(expression, rules=preset, result_kind=wanted)
    errors = [finding for finding in findings if finding.severity == "error"]
    outcome = run(expression, preset, result_kind=wanted)
    assert failed(outcome) or not errors, errors


@given(forward_programs(), st.sampled_from(PRESETS))
def test_the_same_holds_for_every_way_through_a_program(program, preset):
    expression = parse(program, LLVM_USER, FORM)
    outcome = run(expression, preset)
    if failed(outcome) and outcome.kind in STATIC:
        assert outcome.kind in {finding.kind for finding in verify(expression, rules=preset)}, outcome


@given(straight_programs(), st.sampled_from(PRESETS), st.sampled_from(["value", "location"]))
def test_a_result_of_the_wrong_kind_is_found(program, preset, wanted):
    expression = parse(program, LLVM_USER, FORM)
    outcome = run(expression, preset)
    if failed(outcome):
        return
    findings = verify(expression, rules=preset, result_kind=wanted)
    if any(finding.kind == "bad_result_kind" for finding in findings):
        assert not isinstance(outcome, Location) if wanted == "location" else isinstance(outcome, Location)


@given(
    st.data(),
    st.sampled_from(DIALECTS),
    st.sampled_from(PRESETS),
    st.sampled_from([None, AMDGCN, X86_64]),
    st.booleans(),
    st.integers(0, 3),
)
def test_any_bytes_can_be_verified(data, dialect, preset, target, in_cfi, depth):
    program = data.draw(st.one_of(st.binary(max_size=60), near_programs(dialect)))
    expression = decode(program, dialect, FORM)
    findings = verify(expression, rules=preset, target=target, in_cfi=in_cfi, initial_depth=depth)
    assert [one.offset for one in findings] == sorted(one.offset for one in findings)
    assert all(0 <= one.offset <= len(program) for one in findings)
    assert all(one.severity in ("error", "warning") and one.kind and one.message for one in findings)
    if expression.fault is not None:
        assert (expression.end, expression.fault.kind) in {(one.offset, one.kind) for one in findings}


# --- Hostile programs ----------------------------------------------------------------------------------------------


def branches(seed):
    """A hundred kilobytes of branches to anywhere, over a deep stack."""
    source = random.Random(seed)
    chunks = [b"\x70\x00"] * 2_000
    for _ in range(30_000):
        branch = b"\x28" + source.randrange(1 << 16).to_bytes(2, "little")
        chunks.append(source.choice([branch, branch, b"\x70\x00", b"\x12", b"\x16", b"\x70\x04", b"\x20"]))
    return b"".join(chunks)


HOSTILE = {
    "literals": b"\x31" * 100_000,
    "a deep stack copied": b"\x31" * 300 + b"\x15\xff" * 50_000,
    "branches to anywhere": branches(1),
    "every branch doubles the paths": b"\x70\x00\x28\x01\x00\x31" * 17_000,
    "every branch goes back": b"\x70\x00\x31\x28\xf0\xff" * 17_000,
    "one loop that drops": b"\x31" * 30_000 + (b"\x13" * 2_000 + b"\x70\x00\x28\x2b\xf8") * 30,
    "expressions": b"\xa3\x01\x55\x13" * 25_000,
    "pieces": b"\x93\x04" * 50_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_programs_do_not_multiply_the_work(data):
    expression = decode(data, LLVM_USER, FORM)
    walk = _ExpressionWalk(expression, rules.AMD, AMDGCN, 8)
    walk.findings(0, None)
    assert sum(map(len, walk.seen)) <= (_MAX_STATES + 1) * (len(expression.instructions) + 1)


def test_very_deep_nesting_is_no_problem():
    findings = verify(decode(nested(1000), LLVM_USER, FORM), rules=rules.AMD)
    assert len(findings) == MAX_DEPTH + 1  # a deprecated operation in each
