import pytest

from dwarfgpu.cases.case import run_case
from tests.builders.parameters import for_each

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
GFX8 = {"target": "amdgcn-gfx803"}
DWARF6 = {"rules": "dwarf6", "dialect": "dwarf6"}
S32 = {"encoding": "signed", "byte_size": 4}
F32 = {"encoding": "float", "byte_size": 4}
CHAR = {"encoding": "complex_float", "byte_size": 8}
TYPES = {"base_types": {"1": S32, "2": F32, "3": {**S32, "byte_size": 0}, "4": CHAR}}
LOOP = {
    "dies": {"info:16": {"location": {"ops": "DW_OP_implicit_pointer 16 0; DW_OP_deref; DW_OP_LLVM_offset_uconst 1"}}}
}
BAD_DIE = {"ops": "DW_OP_lit1", "context": {"dies": {"unit:0": {"location": "3"}}}}
IPV = "DW_OP_implicit_pointer 16 0; DW_OP_deref"

# class, kind, program, context, case, operation, offset, clause
ILL, EVAL, MISS, UNSUPPORTED, MALFORMED = (
    "ill_formed",
    "evaluation_error",
    "missing_context",
    "unsupported",
    "malformed",
)
ERRORS = [
    (ILL, "stack_underflow", "DW_OP_lit1; DW_OP_plus", {}, {}, "DW_OP_plus", 1, "DWARF 5, 2.5.1.4 (10)"),
    (ILL, "stack_underflow", "DW_OP_pick 3", {}, {}, "DW_OP_pick", 0, "A.2.5.4.1 (3)"),
    (ILL, "wrong_kind", "DW_OP_lit1; DW_OP_reg0; DW_OP_plus", {}, AMD, "DW_OP_plus", 2, "DWARF 5, 2.5.1.4 (10)"),
    (ILL, "wrong_kind", "DW_OP_const_type 1 00000000; DW_OP_deref", TYPES, AMD, "DW_OP_deref", 7, "A.2.5.4.3.4 (2)"),
    (ILL, "wrong_kind", "DW_OP_reg0; DW_OP_stack_value", {}, AMD, "DW_OP_stack_value", 1, "A.2.5.4.4.5 (2)"),
    (ILL, "type_mismatch", "DW_OP_lit1; DW_OP_const_type 1 00000000; DW_OP_plus",
     TYPES, {}, "DW_OP_plus", 8, "DWARF 5, 2.5.1.4"),
    (ILL, "integral_type_required", "DW_OP_const_type 2 00000000; DW_OP_not",
     TYPES, {}, "DW_OP_not", 7, "DWARF 5, 2.5.1.4 (8)"),
    (ILL, "integral_type_required", "DW_OP_addr 0; DW_OP_const_type 2 00000000; DW_OP_LLVM_offset", TYPES, AMD,
     "DW_OP_LLVM_offset", 16, "A.2.5.4.4.1 (1)"),
    (ILL, "unsupported_type_operation", "DW_OP_const_type 4 0000000000000000; DW_OP_neg",
     TYPES, {}, "DW_OP_neg", 11, "DWARF 5, 2.5.1.4"),
    (ILL, "unknown_operation", {"expr": "3105"}, {}, {}, None, 1, "DWARF 5, 7.7.1"),
    (ILL, "unknown_operation", {"expr": "31e97f"}, {}, AMD, None, 1, "DWARF 5, 7.7.1"),
    (ILL, "unknown_operation", {"expr": "e900"}, {}, AMD, None, 0, "A.2.5.4.0"),
    (ILL, "truncated", {"expr": "310a01"}, {}, {}, "DW_OP_const2u", 1, "DWARF 5, 7"),
    (ILL, "truncated", {"expr": "1080"}, {}, {}, "DW_OP_constu", 0, "DWARF 5, 7.6"),
    (ILL, "truncated", {"expr": "9e0500"}, {}, {}, "DW_OP_implicit_value", 0, "DWARF 5, 7.7.1"),
    (ILL, "truncated", {"expr": "e9"}, {}, AMD, None, 0, "DWARF 5, 7.6"),
    (ILL, "leb128_overflow", {"expr": "10" + "ff" * 9 + "7f"}, {}, {}, "DW_OP_constu", 0, "DWARF 5, 7.6"),
    (ILL, "bad_branch", "DW_OP_skip 5", {}, {}, "DW_OP_skip", 0, "A.2.5.4.2 (3)"),
    (ILL, "bad_branch", "DW_OP_lit1; DW_OP_bra -2", {}, {}, "DW_OP_bra", 1, "A.2.5.4.2 (3)"),
    (ILL, "incomplete_composite", "DW_OP_piece 4; DW_OP_deref", {}, AMD, "DW_OP_deref", 2, "A.2.5.4.4.6"),
    (ILL, "incomplete_composite", "DW_OP_piece 4; DW_OP_lit1; DW_OP_over", {}, AMD, "DW_OP_over", 3, "A.2.5.4.1"),
    (ILL, "bad_address_space", "DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_form_aspace_address", {}, GPU,
     "DW_OP_LLVM_form_aspace_address", 2, "A.2.5.4.4.3 (3)"),
    (ILL, "bad_address_space", "DW_OP_lit4; DW_OP_LLVM_aspace_bregx 32 0", {"registers": {"s0": 0}}, GPU,
     "DW_OP_LLVM_aspace_bregx", 1, "A.2.5.4.4.3 (9)"),
    (ILL, "bad_piece", "DW_OP_reg0; DW_OP_piece 9", {}, AMD, "DW_OP_piece", 1, "A.2.5.4.4.6"),
    (ILL, "bad_type", "DW_OP_const_type 9 00", TYPES, {}, "DW_OP_const_type", 0, "A.2.5.4.3.1 (7)"),
    (ILL, "bad_type", "DW_OP_const_type 3 00", TYPES, {}, "DW_OP_const_type", 0, "DWARF 5, 5.1"),
    (ILL, "bad_size", "DW_OP_const_type 1 00", TYPES, {}, "DW_OP_const_type", 0, "A.2.5.4.3.1 (7)"),
    (ILL, "bad_size", "DW_OP_addr 0; DW_OP_deref_size 9", {}, {}, "DW_OP_deref_size", 9, "DWARF 5, 2.5.1.3 (8)"),
    (ILL, "bad_operand", "DW_OP_LLVM_push_lane", {"lane": 64}, GPU, "DW_OP_LLVM_push_lane", 0, "A.2.5.4.3.1 (8)"),
    (ILL, "bad_operand", "DW_OP_regx 9999", {}, GPU, "DW_OP_regx", 0, "A.2.5.4.4.4 (2)"),
    (ILL, "bad_operand", "DW_OP_addrx 9", {"debug_addr": {}}, {}, "DW_OP_addrx", 0, "A.2.5.4.4.3 (2)"),
    (ILL, "bad_operand", "DW_OP_call4 9", {"dies": {}}, {}, "DW_OP_call4", 0, "A.2.5.4.2 (5)"),
    (ILL, "bad_operand", "DW_OP_addr 0; DW_OP_LLVM_extend 0 1", {}, AMD, "DW_OP_LLVM_extend", 9, "A.2.5.4.4.6 (4)"),
    (ILL, "bad_result_kind", "DW_OP_reg0", {}, {"want": "value"}, None, 1, "A.2.5.4"),
    (ILL, "after_location", "DW_OP_reg0; DW_OP_lit1", {}, {}, "DW_OP_lit1", 1, "DWARF 5, 2.6.1"),
    (ILL, "after_location", "DW_OP_lit1; DW_OP_stack_value; DW_OP_deref", {}, {}, "DW_OP_deref", 2, "DWARF 5, 2.6.1"),
    (EVAL, "division_by_zero", "DW_OP_lit8; DW_OP_lit0; DW_OP_div", {}, {}, "DW_OP_div", 2, "DWARF 5, 2.5.1.4"),
    (EVAL, "undefined_read", "DW_OP_LLVM_undefined; DW_OP_deref", {}, AMD, "DW_OP_deref", 2, "A.2.5.4.3.4 (4)"),
    (EVAL, "offset_out_of_storage", "DW_OP_reg0; DW_OP_lit8; DW_OP_LLVM_offset",
     {}, AMD, "DW_OP_LLVM_offset", 2, "A.2.5.4.4.1 (1)"),
    (EVAL, "read_past_storage", "DW_OP_implicit_value 00; DW_OP_deref", {}, AMD, "DW_OP_deref", 3, "A.2.5.4.3.4 (4)"),
    (EVAL, "implicit_pointer_misuse", f"{IPV}; DW_OP_lit1; DW_OP_plus", {}, AMD, "DW_OP_plus", 8, "A.2.5.4.4.5 (3)"),
    (EVAL, "memory_unavailable", "DW_OP_addr 0; DW_OP_deref", {}, {}, "DW_OP_deref", 9, "A.2.5.4.4.3"),
    (EVAL, "memory_unavailable", "DW_OP_lit0; DW_OP_form_tls_address",
     {"tls": {}}, {}, "DW_OP_form_tls_address", 1, "A.2.5.4.4.3 (4)"),
    (EVAL, "register_unavailable", "DW_OP_breg0 0", {}, {}, "DW_OP_breg0", 0, "A.2.5.4.4.4"),
    (EVAL, "not_writable", "", {}, {"write": "00"}, None, None, "A.2.5.3"),
    (EVAL, "limit_exceeded", "DW_OP_skip -3", {}, {}, "DW_OP_skip", 0, None),
    (EVAL, "cycle", f"{IPV}; DW_OP_LLVM_offset_uconst 0", LOOP, AMD, None, None, None),
    (MISS, "lane", "DW_OP_LLVM_push_lane", {}, GPU, "DW_OP_LLVM_push_lane", 0, "A.2.5.1"),
    (MISS, "iteration", "DW_OP_LLVM_push_iteration", {}, GPU, "DW_OP_LLVM_push_iteration", 0, "A.2.5.1"),
    (MISS, "object", "DW_OP_push_object_address", {}, {}, "DW_OP_push_object_address", 0, "A.2.5.1"),
    (MISS, "frame", "DW_OP_call_frame_cfa", {}, {}, "DW_OP_call_frame_cfa", 0, "A.2.5.1"),
    (MISS, "unit", "DW_OP_addrx 0", {}, {}, "DW_OP_addrx", 0, "A.2.5.1"),
    (MISS, "thread", "DW_OP_lit0; DW_OP_form_tls_address", {}, {}, "DW_OP_form_tls_address", 1, "A.2.5.1"),
    (MISS, "apertures", "DW_OP_lit0; DW_OP_lit1; DW_OP_LLVM_form_aspace_address; DW_OP_deref",
     {}, GFX8, "DW_OP_deref", 4, "A.2.5.1"),
    (UNSUPPORTED, "DW_OP_LLVM_NVIDIA_mux", {"expr": "e90d0102"}, {}, AMD, "DW_OP_LLVM_NVIDIA_mux", 0, None),
    (UNSUPPORTED, "pointer_encoding", "DW_OP_GNU_encoded_addr 0x10 4",
     {}, {}, "DW_OP_GNU_encoded_addr", 0, "LSB 5.0, 10.5.1"),
    (MALFORMED, "bad_hex", {"expr": "3"}, {}, {}, None, None, None),
    (MALFORMED, "bad_hex", {"expr": "0x31"}, {}, {}, None, None, None),
    (MALFORMED, "bad_hex", {"ops": "DW_OP_lit1", "context": {"dies": {"unit:0": {"location": "3"}}}},
     None, {}, None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    "error_class, kind, program, context, case, operation, offset, spec",
    ERRORS,
    ids=[f"{i}-{row[1]}" for i, row in enumerate(ERRORS)],
)
def test_errors(error_class, kind, program, context, case, operation, offset, spec):
    asked = dict(case) if context is None else {"context": context, **case}
    answer = run_case({**(program if isinstance(program, dict) else {"ops": program}), **asked, "id": "here"}, 1)
    assert list(answer) == ["id", "status", "error"], answer
    assert (answer["id"], answer["status"]) == ("here", "error")
    error = answer["error"]
    assert (error["class"], error["kind"]) == (error_class, kind), error
    if kind == "cycle":
        return
    assert error.get("operation") == operation, error
    assert error.get("offset") == offset, error
    assert spec is None or error.get("spec") == spec, error


@for_each("text", "DW_OP_nothing", "DW_OP_lit1 5", "DW_OP_skip @nowhere", "DW_OP_const1u 256", "lit1", "(")
def test_text_that_is_no_program_is_ill_formed(text):
    error = run_case({"ops": text}, 1)["error"]
    assert error["class"] in {"ill_formed", "unsupported"}
    assert error["message"]


def test_every_key_of_an_error_has_its_type():
    for row in ERRORS:
        program, context, case = row[2:5]
        asked = dict(case) if context is None else {"context": context, **case}
        error = run_case({**(program if isinstance(program, dict) else {"ops": program}), **asked}, 1)["error"]
        assert {type(value) for key, value in error.items() if key != "offset"} == {str}
        assert type(error.get("offset", 0)) is int
        assert set(error) <= {"class", "kind", "message", "offset", "operation", "spec"}
