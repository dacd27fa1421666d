"""A.2.5.4 DWARF Operation Expressions: the result of an evaluation, the empty expression, the initial stack, errors."""

from __future__ import annotations

import pytest

from tests.builders.cases import Case, answer, table

TYPES = {
    "1": {"encoding": "signed", "byte_size": 4},
    "2": {"encoding": "unsigned", "byte_size": 8},
    "3": {"encoding": "float", "byte_size": 8},
    "4": {"encoding": "address", "byte_size": 8},
    "5": {"encoding": "boolean", "byte_size": 1},
    "6": {"encoding": "unsigned", "byte_size": 1, "vector_size": 2},
    "7": {"encoding": "signed", "byte_size": 16},
    "8": {"encoding": "UTF", "byte_size": 4},
}
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "memory", "address": 32}]}
DIES = {"info:0x4c": {"location": {"ops": "DW_OP_reg7"}}, "info:0x50": {}}
GPU = {"target": "amdgcn-gfx90a"}


def row(ops, expected, clause="A.2.5.4", **case):
    return Case(
        clause, ops, expected, **{"rules": "amd", "dialect": "llvm-user", "base_types": TYPES, "dies": DIES, **case}
    )


LOCATION_WANTED = [
    # "If the stack is empty, the result is a location description with one undefined location description."
    row("", "undefined", want="location"),
    row("DW_OP_nop", "undefined", want="location"),
    row("DW_OP_lit1; DW_OP_drop", "undefined", want="location"),
    # "If the top stack entry is a location description, ... then the result is that"
    row("DW_OP_addr 0x10", "mem 0x10", want="location"),
    row("DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", "mem 0x10.3", want="location"),
    row("DW_OP_reg5", "r5", want="location"),
    row("DW_OP_implicit_value 0102", "implicit 0102", want="location"),
    row("DW_OP_lit7; DW_OP_stack_value", "implicit 0700000000000000", want="location"),
    row("DW_OP_implicit_pointer 0x4c 4", "ptr info:0x4c+4", want="location"),
    row("DW_OP_LLVM_undefined", "undefined", want="location"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_piece_end", "{32:r5}", want="location"),
    row("DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address", "local#0x10", want="location", **GPU),
    row("DW_OP_nop", "mem 0x10 | mem 0x20", want="location", initial_stack=[TWO_PLACES]),
    # ... also one that is incomplete: it "is converted to a complete composite location description" (A.2.5.4.4.6).
    row("DW_OP_reg5; DW_OP_piece 4", "{32:r5}", want="location"),
    row("DW_OP_piece 4; DW_OP_reg5; DW_OP_piece 4", "{32:undefined 32:r5}", want="location"),
    # "... or can be converted to one": a value of the generic type is an address in the default address space,
    row("DW_OP_lit16", "mem 0x10", want="location"),
    row("DW_OP_const1s -1", "mem 0xffffffffffffffff", want="location"),
    row("DW_OP_const1s -1", "mem 0xffffff", want="location", address_size=3),
    row("DW_OP_lit16", "mem 0x10", want="location", **GPU),
    # ... and an implicit pointer value is the location of what it points to.
    row("DW_OP_implicit_pointer 0x4c 0; DW_OP_deref", "r7", want="location"),
    row("DW_OP_implicit_pointer 0x4c 4; DW_OP_deref", "r7+32", want="location"),
    # "Any other entries on the stack are discarded."
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_reg5", "r5", want="location"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6", "r6", want="location"),
    # "Otherwise the DWARF expression is ill-formed": a value of another type.
    row("DW_OP_const_type 1 01000000", "bad_result_kind", want="location"),
    row("DW_OP_const_type 2 0100000000000000", "bad_result_kind", want="location"),
    row("DW_OP_const_type 3 0000000000000000", "bad_result_kind", want="location"),
    row("DW_OP_const_type 4 0100000000000000", "bad_result_kind", want="location"),
    row("DW_OP_const_type 5 01", "bad_result_kind", want="location"),
    row("DW_OP_const_type 6 0102", "bad_result_kind", want="location"),
    row(f"DW_OP_const_type 7 {'00' * 16}", "bad_result_kind", want="location"),
    row("DW_OP_const_type 8 41000000", "bad_result_kind", want="location"),
    # ... it is the top entry that counts.
    row("DW_OP_reg5; DW_OP_const_type 1 01000000", "bad_result_kind", want="location"),
    # An implicit pointer value whose object has no location is an evaluation error (A.2.5.4.4.5 (3)).
    row("DW_OP_implicit_pointer 0x50 0; DW_OP_deref", "implicit_pointer_misuse", want="location"),
]

VALUE_WANTED = [
    # "If the top stack entry is a value, ... then the result is that"
    row("DW_OP_lit16", "16", want="value"),
    row("DW_OP_const_type 1 feffffff", "-2:signed32", want="value"),
    row("DW_OP_const_type 3 000000000000f83f", "1.5:float64", want="value"),
    row("DW_OP_const_type 6 0102", "[1, 2]:unsigned8x2", want="value"),
    # "... or can be converted to one": a byte address in the default address space.
    row("DW_OP_addr 0x10", "16", want="value"),
    row("DW_OP_addr 0xffffffffffffffff", "18446744073709551615", want="value"),
    row("DW_OP_addr 0x10; DW_OP_lit16; DW_OP_LLVM_bit_offset", "18", want="value"),
    row("DW_OP_lit16; DW_OP_lit0; DW_OP_LLVM_form_aspace_address", "16", want="value", **GPU),
    # "Any other entries on the stack are discarded."
    row("DW_OP_lit1; DW_OP_reg5; DW_OP_lit3", "3", want="value"),
    # "Otherwise the DWARF expression is ill-formed": nothing at all,
    row("", "bad_result_kind", want="value"),
    row("DW_OP_lit1; DW_OP_drop", "bad_result_kind", want="value"),
    # ... a bit field, another address space, several places, and every storage but memory.
    row("DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", "bad_result_kind", want="value"),
    row("DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address", "bad_result_kind", want="value", **GPU),
    row("DW_OP_lit16; DW_OP_lit1; DW_OP_LLVM_form_aspace_address", "bad_result_kind", want="value", **GPU),
    row("DW_OP_nop", "bad_result_kind", want="value", initial_stack=[TWO_PLACES]),
    row("DW_OP_reg5", "bad_result_kind", want="value"),
    row("DW_OP_LLVM_undefined", "bad_result_kind", want="value"),
    row("DW_OP_implicit_value 0100000000000000", "bad_result_kind", want="value"),
    row("DW_OP_lit7; DW_OP_stack_value", "bad_result_kind", want="value"),
    row("DW_OP_implicit_pointer 0x4c 0", "bad_result_kind", want="value"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_piece_end", "bad_result_kind", want="value"),
    row("DW_OP_reg5; DW_OP_piece 4", "bad_result_kind", want="value"),
    # ... a composite is none of the five, even where its only part is in memory.
    row("DW_OP_addr 0x10; DW_OP_piece 8; DW_OP_LLVM_piece_end", "bad_result_kind", want="value"),
]

NOTHING_WANTED = [
    # "If the stack is empty, the result is a location description with one undefined location description."
    row("", "undefined"),
    row("DW_OP_nop", "undefined"),
    row("DW_OP_lit1; DW_OP_drop", "undefined"),
    # "Otherwise, the top stack entry is returned", as it is.
    row("DW_OP_lit16", "16"),
    row("DW_OP_addr 0x10", "mem 0x10"),
    row("DW_OP_const_type 1 feffffff", "-2:signed32"),
    row("DW_OP_reg5", "r5"),
    row("DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", "mem 0x10.3"),
    row("DW_OP_implicit_pointer 0x4c 4", "ptr info:0x4c+4"),
    row("DW_OP_nop", "mem 0x10 | mem 0x20", initial_stack=[TWO_PLACES]),
    row("DW_OP_reg5; DW_OP_piece 4", "{32:r5}"),
    # "Any other entries on the stack are discarded": the stack of the evaluation still has them.
    row("DW_OP_lit1; DW_OP_reg5; DW_OP_lit3", "3"),
    row("DW_OP_lit1; DW_OP_reg5; DW_OP_lit3", ("1", "r5", "3")),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_lit3", "3"),
]

INITIAL_STACK = [
    # "starts with an empty stack on which the entries from the initial stack ... are pushed in the order provided"
    row("", "3", initial_stack=[1, 2, 3]),
    row("", ("1", "2", "3"), initial_stack=[1, 2, 3]),
    row("", "mem 0x3", want="location", initial_stack=[1, 2, 3]),
    row("", "3", want="value", initial_stack=[1, 2, 3]),
    row("DW_OP_drop", "2", initial_stack=[1, 2, 3]),
    row("DW_OP_drop; DW_OP_drop; DW_OP_drop", "undefined", initial_stack=[1, 2, 3]),
    row("DW_OP_minus", ("1", "18446744073709551615"), initial_stack=[1, 2, 3]),
    row("", "r5", want="location", initial_stack=[{"kind": "register", "register": 5}]),
    row("DW_OP_plus_uconst 4", "20", initial_stack=[{"kind": "memory", "address": 16}]),
    # A location of the initial stack may be a composite, and is a complete one.
    row(
        "DW_OP_lit2; DW_OP_LLVM_offset",
        "{16:r1 16:r2}+16",
        initial_stack=[
            {
                "kind": "composite",
                "parts": [
                    {"bit_size": 16, "location": {"kind": "register", "register": 1}},
                    {"bit_size": 16, "location": {"kind": "register", "register": 2}},
                ],
            }
        ],
    ),
]

# "If the kind of a stack entry does not match the kind required by the operation and is not implicitly convertible to
# the required kind ..., then the DWARF operation expression is ill-formed."
KINDS = [
    # A value is required, and a byte address in the default address space is converted to one ...
    row("DW_OP_addr 0x10; DW_OP_lit1; DW_OP_plus", "17"),
    row("DW_OP_lit1; DW_OP_addr 0x10; DW_OP_minus", str(2**64 - 15)),
    row("DW_OP_addr 0x10; DW_OP_neg", str(2**64 - 16)),
    row("DW_OP_addr 0x10; DW_OP_stack_value", "implicit 1000000000000000"),
    row("DW_OP_addr 0; DW_OP_bra @end; DW_OP_lit5; end:", "5"),
    # ... but no other location is.
    row("DW_OP_reg5; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row("DW_OP_lit1; DW_OP_reg5; DW_OP_plus", "wrong_kind"),
    row("DW_OP_reg5; DW_OP_neg", "wrong_kind"),
    row("DW_OP_reg5; DW_OP_stack_value", "wrong_kind"),
    row("DW_OP_reg5; DW_OP_bra @end; end:", "wrong_kind"),
    row("DW_OP_implicit_value 0100000000000000; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row("DW_OP_LLVM_undefined; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row("DW_OP_addr 0x10; DW_OP_lit1; DW_OP_LLVM_bit_offset; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row("DW_OP_plus", "wrong_kind", initial_stack=[1, TWO_PLACES]),
    row("DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_neg", "wrong_kind", **GPU),
    row("DW_OP_reg5; DW_OP_piece 8; DW_OP_LLVM_piece_end; DW_OP_neg", "wrong_kind"),
    # A location is required, and a value of the generic type is converted to one, but no other value is.
    row("DW_OP_lit16; DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x14"),
    row("DW_OP_const_type 2 1000000000000000; DW_OP_lit4; DW_OP_LLVM_offset", "wrong_kind"),
    row("DW_OP_const_type 3 0000000000000000; DW_OP_deref", "wrong_kind"),
    row("DW_OP_const_type 1 10000000; DW_OP_piece 4", "wrong_kind"),
    # An incomplete composite is neither (A.2.5.4.4.6).
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_lit1; DW_OP_plus", "incomplete_composite"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_deref", "incomplete_composite"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_lit1; DW_OP_LLVM_offset", "incomplete_composite"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_neg", "incomplete_composite"),
    row("DW_OP_reg5; DW_OP_piece 4; DW_OP_stack_value", "incomplete_composite"),
]

# "If an operation has an evaluation error, or an operation evaluates an expression that has an evaluation error, then
# the result is an evaluation error": whatever kind is wanted, and wherever it happens.
ERRORS = [
    row("DW_OP_lit1; DW_OP_lit0; DW_OP_div", "division_by_zero"),
    row("DW_OP_lit1; DW_OP_lit0; DW_OP_div; DW_OP_drop; DW_OP_lit1", "division_by_zero"),
    row("DW_OP_lit1; DW_OP_lit0; DW_OP_div", "division_by_zero", want="location"),
    row("DW_OP_lit1; DW_OP_lit0; DW_OP_div", "division_by_zero", want="value"),
    row(
        "DW_OP_call4 4; DW_OP_lit1",
        "division_by_zero",
        dies={"unit:4": {"location": {"ops": "DW_OP_lit1; DW_OP_lit0; DW_OP_mod"}}},
    ),
    row(
        "DW_OP_call4 4; DW_OP_lit1",
        "division_by_zero",
        dies={"unit:4": {"location": [{"ops": "DW_OP_lit1; DW_OP_lit0; DW_OP_mod"}]}},
    ),
    row(
        "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref",
        "division_by_zero",
        dies={"info:4": {"location": {"ops": "DW_OP_lit1; DW_OP_lit0; DW_OP_mod"}}},
    ),
    # What is not reached has no error.
    row("DW_OP_lit1; DW_OP_skip @end; DW_OP_lit0; DW_OP_div; end:", "1"),
    # What was computed before an error is not a result.
    row("DW_OP_lit7; DW_OP_LLVM_undefined; DW_OP_deref", "undefined_read"),
]

test_a_location_is_wanted = table(LOCATION_WANTED)
test_a_value_is_wanted = table(VALUE_WANTED)
test_nothing_is_wanted = table(NOTHING_WANTED)
test_the_initial_stack = table(INITIAL_STACK)
test_entries_of_the_wrong_kind = table(KINDS)
test_errors_are_the_result = table(ERRORS)

# The branch of the error that each sentence of A.2.5.1 to A.2.5.4.3.4 speaks of, and the program that shows it.
CLASSES = """
    ill_formed        stack_underflow             DW_OP_drop
    ill_formed        wrong_kind                  DW_OP_reg5; DW_OP_neg
    ill_formed        type_mismatch               DW_OP_lit1; DW_OP_const_type 1 01000000; DW_OP_plus
    ill_formed        integral_type_required      DW_OP_const_type 3 0000000000000000; DW_OP_not
    ill_formed        unsupported_type_operation  DW_OP_const_type 6 0102; DW_OP_neg
    ill_formed        bad_branch                  DW_OP_skip 1
    ill_formed        incomplete_composite        DW_OP_reg5; DW_OP_piece 4; DW_OP_dup
    ill_formed        bad_address_space           DW_OP_lit9; DW_OP_lit0; DW_OP_xderef
    ill_formed        bad_piece                   DW_OP_reg5; DW_OP_piece 9
    ill_formed        bad_type                    DW_OP_const_type 0x99 01
    ill_formed        bad_size                    DW_OP_const_type 1 01
    ill_formed        bad_operand                 DW_OP_call4 0x99
    evaluation_error  division_by_zero            DW_OP_lit1; DW_OP_lit0; DW_OP_mod
    evaluation_error  undefined_read              DW_OP_LLVM_undefined; DW_OP_deref
    evaluation_error  read_past_storage           DW_OP_implicit_value 01; DW_OP_deref
    evaluation_error  offset_out_of_storage       DW_OP_reg5; DW_OP_lit8; DW_OP_LLVM_offset
    evaluation_error  implicit_pointer_misuse     DW_OP_implicit_pointer 0x4c 0; DW_OP_deref_size 1
    evaluation_error  memory_unavailable          DW_OP_lit0; DW_OP_deref
    evaluation_error  register_unavailable        DW_OP_reg5; DW_OP_deref
    evaluation_error  limit_exceeded              again: DW_OP_skip @again
    missing_context   lane                        DW_OP_LLVM_push_lane
    unsupported       DW_OP_LLVM_NVIDIA_mux       DW_OP_LLVM_NVIDIA_mux 01
"""
CLASS_ROWS = [tuple(line.split(None, 2)) for line in CLASSES.strip().splitlines()]


@pytest.mark.parametrize("name, kind, ops", CLASS_ROWS)
def test_every_kind_of_error_has_its_class(name, kind, ops):
    error = answer(ops, rules="amd", dialect="llvm-user", base_types=TYPES, dies=DIES)["error"]

    assert (error["class"], error["kind"]) == (name, kind)
    assert error["message"]
    assert "we " not in error["message"]


@pytest.mark.parametrize("want, ops", [("value", "DW_OP_reg5"), ("value", ""), ("location", "DW_OP_const_type 5 01")])
def test_a_result_of_the_wrong_kind_is_ill_formed(want, ops):
    error = answer(ops, rules="amd", base_types=TYPES, want=want)["error"]

    assert (error["class"], error["kind"], error["spec"]) == ("ill_formed", "bad_result_kind", "A.2.5.4")


# "truncated", "leb128_overflow" and "unknown_operation" are found before anything runs.
@pytest.mark.parametrize(
    "kind, data",
    [
        ("truncated", "08"),
        ("truncated", "1080"),
        ("leb128_overflow", "10" + "ff" * 9 + "02"),
        ("unknown_operation", "01"),
    ],
)
def test_bytes_that_are_no_operation_are_ill_formed(kind, data):
    error = answer("", expr=data)["error"]

    assert (error["class"], error["kind"], error["offset"]) == ("ill_formed", kind, 0)
