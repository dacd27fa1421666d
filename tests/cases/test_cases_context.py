import pytest

from dwarfgpu.cases.case import run_case

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
S32 = {"encoding": "signed", "byte_size": 4}
U16 = {"encoding": "unsigned", "byte_size": 2}


def ask(text, context=None, **case):
    return run_case({"ops": text, "context": context or {}, **case}, 1)


def short(answer):
    """The kind of an error, a number, or the location without what is 0."""
    if answer["status"] == "error":
        return answer["error"]["kind"]
    found = answer["result"]
    if found["kind"] == "value":
        return found["value"]
    return {key: one for key, one in found.items() if one and key not in ("space_name", "name")}


def mem(address, **more):
    return {"kind": "memory", "address": address, **more}


CASES = [
    # --- registers
    ("DW_OP_breg5 2", {"registers": {"5": 0x10}}, {}, mem(0x12)),
    ("DW_OP_breg5 2", {"registers": {"r5": "0x10"}}, {}, mem(0x12)),
    ("DW_OP_breg5 -1", {"registers": {"0x5": 0}}, {}, mem(2**64 - 1)),
    ("DW_OP_breg5 0", {"registers": {"4": 1}}, {}, "register_unavailable"),
    ("DW_OP_breg5 0", {}, {}, "register_unavailable"),
    ("DW_OP_bregx 9999 0", {}, GPU, "bad_operand"),
    ("DW_OP_bregx 9999 0", {"registers": {"9999": 3}}, {}, mem(3)),
    ("DW_OP_breg7 8", {"registers": {"rsp": "0x1000"}}, {"target": "x86_64"}, mem(0x1008)),
    ("DW_OP_breg7 8", {"registers": {"RSP": {"bytes": "0010000000000000"}}}, {"target": "x86_64"}, mem(0x1008)),
    ("DW_OP_regval_type 5 1", {"registers": {"5": {"bytes": "0102"}}, "base_types": {"1": U16}}, {}, 0x0201),
    ("DW_OP_regval_type 5 1",
     {"registers": {"5": {"bytes": "0102"}}, "base_types": {"1": U16}}, {"byte_order": "big"}, 0x0102),
    ("DW_OP_breg5 0", {"registers": {"5": {"bytes": "0102"}}}, {}, "read_past_storage"),
    ("DW_OP_breg5 0", {"registers": {"5": [7, 8]}, "lane": 1}, {}, mem(8)),
    ("DW_OP_breg5 0", {"registers": {"5": [7, 8]}, "lane": 2}, {}, "register_unavailable"),
    ("DW_OP_breg5 0", {"registers": {"5": [7, 8]}}, {}, "lane"),
    ("DW_OP_regx 5", {"registers": {"5": [7, 8]}}, {}, "lane"),
    # --- memory
    ("DW_OP_addr 4; DW_OP_deref_size 2", {"memory": [{"space": 0, "address": 4, "bytes": "0102"}]}, {}, 0x0201),
    ("DW_OP_addr 4; DW_OP_deref_size 2",
     {"memory": [{"space": "none", "address": "0x4", "bytes": "0102"}]}, {"byte_order": "big"}, 0x0102),
    ("DW_OP_addr 4; DW_OP_deref_size 3",
     {"memory": [{"space": 0, "address": 4, "bytes": "0102"}]}, {}, "memory_unavailable"),
    ("DW_OP_lit4; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 1",
     {"memory": [{"space": "local", "address": 4, "bytes": "09"}]}, GPU, 9),
    ("DW_OP_lit4; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 1",
     {"memory": [{"space": 0, "address": 4, "bytes": "09"}]}, GPU, "memory_unavailable"),
    ("DW_OP_lit4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 1",
     {"lane": 3, "memory": [{"space": 5, "address": 4, "bytes": "09"}]}, GPU, 9),
    ("DW_OP_lit4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 1",
     {"lane": 3, "memory": [{"space": 5, "lane": 3, "address": 4, "bytes": "09"}]}, GPU, 9),
    ("DW_OP_lit4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 1",
     {"lane": 3, "memory": [{"space": 5, "lane": 2, "address": 4, "bytes": "09"}]}, GPU, "memory_unavailable"),
    # --- lane, lane_count, iteration, iterations
    ("DW_OP_LLVM_push_lane", {"lane": 7}, GPU, 7),
    ("DW_OP_LLVM_push_lane", {"lane": 64}, GPU, "bad_operand"),
    ("DW_OP_LLVM_push_lane", {"lane": 7, "lane_count": 7}, GPU, "bad_operand"),
    ("DW_OP_LLVM_push_lane", {"lane": 7, "lane_count": 8}, AMD, 7),
    ("DW_OP_LLVM_push_lane", {}, GPU, "lane"),
    ("DW_OP_lit4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", {}, GPU, "lane"),
    ("DW_OP_LLVM_push_iteration", {"iteration": 2, "iterations": 3}, AMD, 2),
    ("DW_OP_LLVM_push_iteration", {"iteration": 2, "iterations": 2}, AMD, "bad_operand"),
    ("DW_OP_LLVM_push_iteration", {"iteration": 0}, AMD, 0),
    ("DW_OP_LLVM_push_iteration", {"iteration": 1}, AMD, "bad_operand"),
    ("DW_OP_LLVM_push_iteration", {}, AMD, "iteration"),
    # --- cfa, frame_base, object
    ("DW_OP_call_frame_cfa", {"cfa": "0x100"}, {}, mem(256)),
    ("DW_OP_call_frame_cfa",
     {"cfa": {"kind": "memory", "space": "private_wave", "address": 16}}, GPU, mem(16, space=6)),
    ("DW_OP_call_frame_cfa",
     {"cfa": {"kind": "memory", "space": 5, "address": 16}, "lane": 4}, GPU, mem(16, space=5, lane=4)),
    ("DW_OP_call_frame_cfa", {"cfa": {"kind": "memory", "space": 5, "address": 16}}, GPU, "lane"),
    ("DW_OP_call_frame_cfa", {}, {}, "frame"),
    ("DW_OP_fbreg -8", {"frame_base": "0x100"}, {}, mem(0xF8)),
    ("DW_OP_fbreg 8",
     {"frame_base": {"kind": "register", "name": "rbp"}, "registers": {"rbp": 64}}, {"target": "x86_64"}, mem(72)),
    ("DW_OP_fbreg 8", {"frame_base": {"kind": "undefined"}}, {}, "wrong_kind"),
    ("DW_OP_fbreg 8", {"frame_base": {"kind": "composite", "parts": []}}, {}, "wrong_kind"),
    ("DW_OP_fbreg 8", {"cfa": 5}, {}, "frame"),
    ("DW_OP_push_object_address", {"object": 16}, {}, mem(16)),
    ("DW_OP_push_object_address", {"object": {"kind": "register", "register": "v4", "bit_offset": 32}}, GPU,
     {"kind": "register", "register": 2564, "bit_offset": 32}),
    ("DW_OP_push_object_address",
     {"object": {"kind": "memory", "space_name": "local", "address": 16, "bit": 3}}, GPU, mem(16, bit=3, space=3)),
    ("DW_OP_push_object_address", {"object": {"kind": "memory", "space": 5, "address": 1}}, GPU, "lane"),
    ("DW_OP_push_object_address",
     {"object": {"kind": "register", "register": 5}, "registers": {"5": [1]}}, {}, "lane"),
    ("DW_OP_push_object_address", {}, {}, "object"),
    # --- initial_stack
    ("DW_OP_plus", {"initial_stack": [3, "0x4"]}, {}, 7),
    ("DW_OP_minus", {"initial_stack": [3, {"value": 4, "type": "generic"}]}, {}, 2**64 - 1),
    ("DW_OP_plus", {"initial_stack": [{"value": 3, "type": S32}, {"value": -4, "type": S32}]}, {}, -1),
    ("DW_OP_plus", {"initial_stack": [3, {"value": 4, "type": S32}]}, {}, "type_mismatch"),
    ("DW_OP_LLVM_offset_uconst 4", {"initial_stack": [{"kind": "memory", "address": 4}]}, AMD, mem(8)),
    ("DW_OP_nop", {"initial_stack": [{"value": 1, "type": {"encoding": "signed", "byte_size": 0}}]}, {}, "bad_type"),
    # --- base_types
    ("DW_OP_const_type 0x2a ffffffff", {"base_types": {"0x2a": S32}}, {}, -1),
    ("DW_OP_const_type 42 ffffffff", {"base_types": {"41": S32}}, {}, "bad_type"),
    ("DW_OP_const_type 42 ffffffff", {}, {}, "unit"),
    ("DW_OP_const_type 42 ffff", {"base_types": {"42": S32}}, {}, "bad_size"),
    ("DW_OP_lit1; DW_OP_convert 42", {"base_types": {"42": {"encoding": "float", "byte_size": 8}}}, {}, 1.0),
    ("DW_OP_lit1; DW_OP_convert 42",
     {"base_types": {"42": {"encoding": "signed", "byte_size": 4, "vector_size": 0}}}, {}, "bad_type"),
    ("DW_OP_lit1; DW_OP_convert 42",
     {"base_types": {"42": {"encoding": "signed", "byte_size": 1, "bit_size": 9}}}, {}, "bad_type"),
    ("DW_OP_lit1; DW_OP_convert 42",
     {"base_types": {"42": {"encoding": "signed", "byte_size": 1 << 31}}}, {}, "bad_type"),
    ("DW_OP_lit1", {"base_types": {"42": {"encoding": "signed", "byte_size": 0}}}, {}, 1),
    # --- debug_addr, tls
    ("DW_OP_addrx 3", {"debug_addr": {"3": "0x40"}}, {}, mem(0x40)),
    ("DW_OP_constx 3", {"debug_addr": {"3": "0x40"}}, {}, 0x40),
    ("DW_OP_constx 2", {"debug_addr": {"3": "0x40"}}, {}, "bad_operand"),
    ("DW_OP_constx 2", {}, {}, "unit"),
    ("DW_OP_lit4; DW_OP_form_tls_address", {"tls": {"0x4": "0x40"}}, {}, mem(0x40)),
    ("DW_OP_lit4; DW_OP_form_tls_address", {"tls": {"5": "0x40"}}, {}, "memory_unavailable"),
    ("DW_OP_lit4; DW_OP_form_tls_address", {}, {}, "thread"),
    # --- entry_values, entry_registers
    ("DW_OP_entry_value (DW_OP_reg5)", {"entry_values": {"55": 9}}, {}, 9),
    ("DW_OP_entry_value 55", {"entry_values": {"DW_OP_reg5": -1}}, {}, 2**64 - 1),
    ("DW_OP_entry_value (DW_OP_reg4)", {"entry_values": {"55": 9}}, {}, "frame"),
    ("DW_OP_entry_value (DW_OP_reg4)", {}, {}, "frame"),
    ("DW_OP_GNU_parameter_ref 16", {}, {}, "frame"),
    ("DW_OP_LLVM_call_frame_entry_reg 5", {"entry_registers": {"5": {"kind": "memory", "address": 8}}}, AMD, mem(8)),
    ("DW_OP_LLVM_call_frame_entry_reg 5",
     {"entry_registers": {"r5": {"kind": "register", "register": 6}}}, AMD, {"kind": "register", "register": 6}),
    ("DW_OP_LLVM_call_frame_entry_reg 5",
     {"entry_registers": {"4": {"kind": "undefined"}}}, AMD, {"kind": "undefined"}),
    ("DW_OP_LLVM_call_frame_entry_reg 17", {}, GPU, {"kind": "register", "register": 17}),
    ("DW_OP_LLVM_call_frame_entry_reg 2600", {}, GPU, {"kind": "register", "register": 2600}),
    ("DW_OP_LLVM_call_frame_entry_reg 2560", {}, GPU, {"kind": "undefined"}),
    ("DW_OP_LLVM_call_frame_entry_reg 64; DW_OP_deref_size 4",
     {"cfa": {"kind": "memory", "space": 6, "address": 512}}, GPU, 512),
    ("DW_OP_LLVM_call_frame_entry_reg 64; DW_OP_deref_size 4",
     {"cfa": {"kind": "memory", "space": 6, "address": 512}},
     {"target": "amdgcn-gfx1100-wave32"}, 16),
    ("DW_OP_LLVM_call_frame_entry_reg 64", {"cfa": {"kind": "undefined"}}, GPU, "wrong_kind"),
    ("DW_OP_LLVM_call_frame_entry_reg 64", {}, GPU, "frame"),
    ("DW_OP_LLVM_call_frame_entry_reg 7",
     {"cfa": 64}, {**AMD, "target": "x86_64"}, {"kind": "implicit", "bytes": "4000000000000000"}),
    ("DW_OP_LLVM_call_frame_entry_reg 3", {}, {**AMD, "target": "x86_64"}, {"kind": "register", "register": 3}),
    ("DW_OP_LLVM_call_frame_entry_reg 9999", {}, GPU, "bad_operand"),
    # --- dies
    ("DW_OP_call2 16", {"dies": {"unit:0x10": {"location": "35"}}}, {}, 5),
    ("DW_OP_call4 16", {"dies": {"unit:16": {"location": {"ops": "DW_OP_lit5"}}}}, {}, 5),
    ("DW_OP_call_ref 16", {"dies": {"info:16": {"location": "35"}}}, {}, 5),
    ("DW_OP_call_ref 16", {"dies": {"unit:16": {"location": "35"}}}, {}, "bad_operand"),
    ("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {}}}, {}, 1),
    ("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": None}}}, {}, 1),
    ("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": "3122"}}}, {}, 2),
    ("DW_OP_call4 16", {"dies": {"unit:16": {"const_value": "0102"}}}, {}, {"kind": "implicit", "bytes": "0102"}),
    ("DW_OP_call4 16", {"dies": {"unit:16": {"location": []}}}, AMD, {"kind": "undefined"}),
    ("DW_OP_call4 16", {"dies": {"unit:16": {"location": ["50"]}}}, AMD, {"kind": "register"}),
    ("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": ["22"]}}}, AMD, "stack_underflow"),
    ("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": [{"ops": "DW_OP_lit2; DW_OP_plus"}]}}}, {}, 3),
    ("DW_OP_call4 16", {"dies": {}}, {}, "bad_operand"),
    ("DW_OP_call4 16", {}, {}, "unit"),
    ("DW_OP_implicit_pointer 16 1; DW_OP_deref; DW_OP_deref_size 1",
     {"dies": {"info:16": {"const_value": "0102"}}}, AMD, 2),
    ("DW_OP_implicit_pointer 16 0; DW_OP_deref; DW_OP_deref_size 1",
     {"dies": {"info:16": {}}}, AMD, "implicit_pointer_misuse"),
    ("DW_OP_implicit_pointer 16 0; DW_OP_deref; DW_OP_deref_size 1",
     {"dies": {"info:16": {"location": "50"}}, "registers": {"0": 9}}, AMD, 9),
    ("DW_OP_push_object_address; DW_OP_deref; DW_OP_deref_size 1",
     {"object": {"kind": "implicit_pointer", "die": "unit:16"}, "dies": {"unit:16": {"const_value": "07"}}}, AMD, 7),
    ("DW_OP_implicit_pointer 16 0", {}, {"rules": "dwarf6"}, "unit"),
    ("DW_OP_GNU_variable_value 16",
     {"dies": {"info:16": {"const_value": "0102030405060708"}}}, {}, 0x0807060504030201),
    # --- pc does no harm
    ("DW_OP_lit1", {"pc": "0x1000"}, {}, 1)]  # fmt: skip


@pytest.mark.parametrize("text, context, case, expected", CASES, ids=[f"{i}-{row[0]}" for i, row in enumerate(CASES)])
def test_what_a_context_describes(text, context, case, expected):
    assert short(ask(text, context, **case)) == expected


MISSING = [
    ("DW_OP_const_type 1 00", "unit", "base types"),         ("DW_OP_addrx 1", "unit", ".debug_addr"),
    ("DW_OP_call4 1", "unit", "entries"), ("DW_OP_call_frame_cfa", "frame", "Canonical Frame Address"),
    ("DW_OP_fbreg 0", "frame", "frame base"),                ("DW_OP_push_object_address", "object", "object"),
    ("DW_OP_lit0; DW_OP_form_tls_address", "thread", "thread-local"),
    ("DW_OP_entry_value 50", "frame", "called this one"),    ("DW_OP_GNU_parameter_ref 1", "frame", "parameter"),
]  # fmt: skip


@pytest.mark.parametrize("text, kind, word", MISSING)
def test_missing_context_says_what_is_missing(text, kind, word):
    error = ask(text)["error"]
    assert (error["class"], error["kind"], error["spec"]) == ("missing_context", kind, "A.2.5.1")
    assert word in error["message"]
    assert error["operation"] == text.split("; ")[-1].split()[0]


def test_expressions_of_the_context_are_evaluated_where_they_are_used():
    error = ask("DW_OP_lit1; DW_OP_call4 16", {"dies": {"unit:16": {"location": "3030301b"}}})["error"]
    assert (error["kind"], error["operation"], error["offset"]) == ("division_by_zero", "DW_OP_div", 3)
    context = {"dies": {"unit:16": {"location": "05"}, "unit:17": {"location": {"ops": "DW_OP_lit4"}}}}
    assert short(ask("DW_OP_call4 17", context)) == 4
    assert short(ask("DW_OP_call4 16", context)) == "unknown_operation"
    dies = {f"unit:{i}": {"location": [{"ops": f"DW_OP_call4 {i + 1}"}]} for i in range(2000)}
    dies["unit:2000"] = {"location": ["50"]}
    assert short(ask("DW_OP_call4 0", {"dies": dies}, limits={"nesting": 10**9}, **AMD)) == "limit_exceeded"
    assert short(ask("DW_OP_call4 1970", {"dies": dies}, **AMD)) == {"kind": "register"}


@pytest.mark.parametrize("name", ["location", "list", "entry"])
def test_text_that_is_no_expression_anywhere_in_the_context_is_an_error(name):
    bad = {"ops": "DW_OP_nothing"}
    context = {
        "location": {"dies": {"unit:1": {"location": bad}}},
        "list": {"dies": {"unit:1": {"location": ["31", bad]}}},
        "entry": {"entry_values": {"DW_OP_nothing": 1}},
    }[name]
    error = ask("DW_OP_lit1", context)["error"]
    assert (error["class"], error["kind"]) == ("ill_formed", "unknown_operation")
