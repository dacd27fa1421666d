import pytest
from cases import run_case

from tests.builders.cases import Rows, answer

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
S32 = {"encoding": "signed", "byte_size": 4}
U16 = {"encoding": "unsigned", "byte_size": 2}


def ask(text, context=None, **case):
    return run_case({"ops": text, "context": context or {}, **case}, 1)


def short(found):
    """The kind of an error, a number, or the location without what is 0."""
    if found["status"] == "error":
        return found["error"]["kind"]
    found = found["result"]
    if found["kind"] == "value":
        return found["value"]
    return {key: one for key, one in found.items() if one and key not in ("space_name", "name")}


def mem(address, **more):
    return {"kind": "memory", "address": address, **more}


class Asked(Rows):
    """Rows as their programs, what is given with them, and what comes of it."""

    def row(self, clause, ops, expected, **case):
        return ops, case, expected


CASES = Asked("", vars())("""
    # --- registers
    breg5 2 => mem(0x12) where registers={"5": 0x10}          breg5 2 => mem(0x12) where registers={"r5": "0x10"}
    breg5 -1 => mem(2**64 - 1) where registers={"0x5": 0}     breg5 0 -> register_unavailable where registers={"4": 1}
    breg5 0 -> register_unavailable                           bregx 9999 0 -> bad_operand where **GPU
    bregx 9999 0 => mem(3) where registers={"9999": 3}
    breg7 8 => mem(0x1008) where registers={"rsp": "0x1000"}, target="x86_64"
    breg7 8 => mem(0x1008) where registers={"RSP": {"bytes": "0010000000000000"}}, target="x86_64"
    regval_type 5 1 => 0x0201 where registers={"5": {"bytes": "0102"}}, base_types={"1": U16}
    regval_type 5 1 => 0x0102 where registers={"5": {"bytes": "0102"}}, base_types={"1": U16}, byte_order="big"
    breg5 0 -> read_past_storage where registers={"5": {"bytes": "0102"}}
    breg5 0 => mem(8) where registers={"5": [7, 8]}, lane=1
    breg5 0 -> register_unavailable where registers={"5": [7, 8]}, lane=2
    breg5 0 | regx 5 -> lane where registers={"5": [7, 8]}
    # --- memory
    addr 4; deref_size 2 => 0x0201 where memory=[{"space": 0, "address": 4, "bytes": "0102"}]
    addr 4; deref_size 2 => 0x0102 where memory=[{"space": "none", "address": "0x4", "bytes": "0102"}], byte_order="big"
    addr 4; deref_size 3 -> memory_unavailable where memory=[{"space": 0, "address": 4, "bytes": "0102"}]
    lit4; lit3; LLVM_form_aspace_address; deref_size 1 => 9
        where memory=[{"space": "local", "address": 4, "bytes": "09"}], **GPU
    lit4; lit3; LLVM_form_aspace_address; deref_size 1 -> memory_unavailable
        where memory=[{"space": 0, "address": 4, "bytes": "09"}], **GPU
    lit4; lit5; LLVM_form_aspace_address; deref_size 1 => 9
        where lane=3, memory=[{"space": 5, "address": 4, "bytes": "09"}], **GPU
    lit4; lit5; LLVM_form_aspace_address; deref_size 1 => 9
        where lane=3, memory=[{"space": 5, "lane": 3, "address": 4, "bytes": "09"}], **GPU
    lit4; lit5; LLVM_form_aspace_address; deref_size 1 -> memory_unavailable
        where lane=3, memory=[{"space": 5, "lane": 2, "address": 4, "bytes": "09"}], **GPU
    # --- lane, lane_count, iteration, iterations
    LLVM_push_lane => 7 where lane=7, **GPU                   LLVM_push_lane -> bad_operand where lane=64, **GPU
    LLVM_push_lane -> bad_operand where lane=7, lane_count=7, **GPU
    LLVM_push_lane => 7 where lane=7, lane_count=8, **AMD
    LLVM_push_lane | lit4; lit5; LLVM_form_aspace_address -> lane where **GPU
    LLVM_push_iteration => 2 where iteration=2, iterations=3, **AMD
    LLVM_push_iteration -> bad_operand where iteration=2, iterations=2, **AMD
    LLVM_push_iteration => 0 where iteration=0, **AMD
    LLVM_push_iteration -> bad_operand where iteration=1, **AMD
    LLVM_push_iteration -> iteration where **AMD
    # --- cfa, frame_base, object
    call_frame_cfa => mem(256) where cfa="0x100"
    call_frame_cfa => mem(16, space=6) where cfa={"kind": "memory", "space": "private_wave", "address": 16}, **GPU
    call_frame_cfa => mem(16, space=5, lane=4) where cfa={"kind": "memory", "space": 5, "address": 16}, lane=4, **GPU
    call_frame_cfa -> lane where cfa={"kind": "memory", "space": 5, "address": 16}, **GPU
    call_frame_cfa -> frame      fbreg -8 => mem(0xF8) where frame_base="0x100"
    fbreg 8 => mem(72) where frame_base={"kind": "register", "name": "rbp"}, registers={"rbp": 64}, target="x86_64"
    fbreg 8 -> wrong_kind where frame_base={"kind": "undefined"}
    fbreg 8 -> wrong_kind where frame_base={"kind": "composite", "parts": []}
    fbreg 8 -> frame where cfa=5                              push_object_address => mem(16) where object=16
    push_object_address => {"kind": "register", "register": 2564, "bit_offset": 32}
        where object={"kind": "register", "register": "v4", "bit_offset": 32}, **GPU
    push_object_address => mem(16, bit=3, space=3)
        where object={"kind": "memory", "space_name": "local", "address": 16, "bit": 3}, **GPU
    push_object_address -> lane where object={"kind": "memory", "space": 5, "address": 1}, **GPU
    push_object_address -> lane where object={"kind": "register", "register": 5}, registers={"5": [1]}
    push_object_address -> object
    # --- initial_stack
    plus => 7 where initial_stack=[3, "0x4"]
    minus => 2**64 - 1 where initial_stack=[3, {"value": 4, "type": "generic"}]
    plus => -1 where initial_stack=[{"value": 3, "type": S32}, {"value": -4, "type": S32}]
    plus -> type_mismatch where initial_stack=[3, {"value": 4, "type": S32}]
    LLVM_offset_uconst 4 => mem(8) where initial_stack=[{"kind": "memory", "address": 4}], **AMD
    nop -> bad_type where initial_stack=[{"value": 1, "type": {"encoding": "signed", "byte_size": 0}}]
    # --- base_types
    const_type 0x2a ffffffff => -1 where base_types={"0x2a": S32}
    const_type 42 ffffffff -> bad_type where base_types={"41": S32}
    const_type 42 ffffffff -> unit
    const_type 42 ffff -> bad_size where base_types={"42": S32}
    lit1; convert 42 => 1.0 where base_types={"42": {"encoding": "float", "byte_size": 8}}
    lit1; convert 42 -> bad_type where base_types={"42": {"encoding": "signed", "byte_size": 4, "vector_size": 0}}
    lit1; convert 42 -> bad_type where base_types={"42": {"encoding": "signed", "byte_size": 1, "bit_size": 9}}
    lit1; convert 42 -> bad_type where base_types={"42": {"encoding": "signed", "byte_size": 1 << 31}}
    lit1 => 1 where base_types={"42": {"encoding": "signed", "byte_size": 0}}
    # --- debug_addr, tls
    addrx 3 => mem(0x40) where debug_addr={"3": "0x40"}       constx 3 => 0x40 where debug_addr={"3": "0x40"}
    constx 2 -> bad_operand where debug_addr={"3": "0x40"}    constx 2 -> unit
    lit4; form_tls_address => mem(0x40) where tls={"0x4": "0x40"}
    lit4; form_tls_address -> memory_unavailable where tls={"5": "0x40"}
    lit4; form_tls_address -> thread
    # --- entry_values, entry_registers
    entry_value (reg5) => 9 where entry_values={"55": 9}
    entry_value 55 => 2**64 - 1 where entry_values={"DW_OP_reg5": -1}
    entry_value (reg4) -> frame where entry_values={"55": 9}
    entry_value (reg4) | GNU_parameter_ref 16 -> frame
    LLVM_call_frame_entry_reg 5 => mem(8) where entry_registers={"5": {"kind": "memory", "address": 8}}, **AMD
    LLVM_call_frame_entry_reg 5 => {"kind": "register", "register": 6}
        where entry_registers={"r5": {"kind": "register", "register": 6}}, **AMD
    LLVM_call_frame_entry_reg 5 => {"kind": "undefined"} where entry_registers={"4": {"kind": "undefined"}}, **AMD
    LLVM_call_frame_entry_reg 17 => {"kind": "register", "register": 17} where **GPU
    LLVM_call_frame_entry_reg 2600 => {"kind": "register", "register": 2600} where **GPU
    LLVM_call_frame_entry_reg 2560 => {"kind": "undefined"} where **GPU
    LLVM_call_frame_entry_reg 64; deref_size 4 => 512 where cfa={"kind": "memory", "space": 6, "address": 512}, **GPU
    LLVM_call_frame_entry_reg 64; deref_size 4 => 16
        where cfa={"kind": "memory", "space": 6, "address": 512}, target="amdgcn-gfx1100-wave32"
    LLVM_call_frame_entry_reg 64 -> wrong_kind where cfa={"kind": "undefined"}, **GPU
    LLVM_call_frame_entry_reg 64 -> frame where **GPU
    LLVM_call_frame_entry_reg 7 => {"kind": "implicit", "bytes": "4000000000000000"}
        where cfa=64, **AMD, target="x86_64"
    LLVM_call_frame_entry_reg 3 => {"kind": "register", "register": 3} where **AMD, target="x86_64"
    LLVM_call_frame_entry_reg 9999 -> bad_operand where **GPU
    # --- dies
    call2 16 => 5 where dies={"unit:0x10": {"location": "35"}}
    call4 16 => 5 where dies={"unit:16": {"location": {"ops": "DW_OP_lit5"}}}
    call_ref 16 => 5 where dies={"info:16": {"location": "35"}}
    call_ref 16 -> bad_operand where dies={"unit:16": {"location": "35"}}
    lit1; call4 16 => 1 where dies={"unit:16": {}}
    lit1; call4 16 => 1 where dies={"unit:16": {"location": None}}
    lit1; call4 16 => 2 where dies={"unit:16": {"location": "3122"}}
    call4 16 => {"kind": "implicit", "bytes": "0102"} where dies={"unit:16": {"const_value": "0102"}}
    call4 16 => {"kind": "undefined"} where dies={"unit:16": {"location": []}}, **AMD
    call4 16 => {"kind": "register"} where dies={"unit:16": {"location": ["50"]}}, **AMD
    lit1; call4 16 -> stack_underflow where dies={"unit:16": {"location": ["22"]}}, **AMD
    lit1; call4 16 => 3 where dies={"unit:16": {"location": [{"ops": "DW_OP_lit2; DW_OP_plus"}]}}
    call4 16 -> bad_operand where dies={}                     call4 16 -> unit
    implicit_pointer 16 1; deref; deref_size 1 => 2 where dies={"info:16": {"const_value": "0102"}}, **AMD
    implicit_pointer 16 0; deref; deref_size 1 -> implicit_pointer_misuse where dies={"info:16": {}}, **AMD
    implicit_pointer 16 0; deref; deref_size 1 => 9
        where dies={"info:16": {"location": "50"}}, registers={"0": 9}, **AMD
    push_object_address; deref; deref_size 1 => 7
        where object={"kind": "implicit_pointer", "die": "unit:16"}, dies={"unit:16": {"const_value": "07"}}, **AMD
    implicit_pointer 16 0 -> unit where rules="dwarf6"
    GNU_variable_value 16 => 0x0807060504030201 where dies={"info:16": {"const_value": "0102030405060708"}}
    # --- pc does no harm
    lit1 => 1 where pc="0x1000"
    """)


@pytest.mark.parametrize("text, case, expected", CASES, ids=[f"{i}-{row[0]}" for i, row in enumerate(CASES)])
def test_what_a_context_describes(text, case, expected):
    assert short(answer(text, **case)) == expected


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
