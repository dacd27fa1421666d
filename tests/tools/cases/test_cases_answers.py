"""Answers: every form of values and locations, with exactly its keys in their order."""

import json

import pytest
from cases import run_case

from tests.builders.cases import run_lines
from tests.builders.parameters import every, for_each

AMD = {"rules": "amd", "dialect": "llvm-user"}
BIG = {"byte_order": "big", **AMD}
GPU = {"target": "amdgcn-gfx90a"}
GPU32 = {"target": "amdgcn-gfx1100-wave32"}
GFX8 = {"target": "amdgcn-gfx803"}


def ops(text, **keys):
    """The answer to a program; keys that are not those of a case are those of its context."""
    names = {
        *("target", "dialect", "rules", "address_size", "byte_order", "offset_size", "want", "read", "stack"),
        "lanes",
    }
    return run_case({"ops": text, **{key: keys.pop(key) for key in list(keys) if key in names}, "context": keys}, 1)


def result(text, **keys):
    answer = ops(text, **keys)
    assert answer["status"] == "ok", answer
    return answer["result"]


def memory(address, bit=0, space=0, name="default"):
    return {"kind": "memory", "space": space, "space_name": name, "address": address, "bit": bit}


def value(number, kind="generic"):
    return {"kind": "value", "type": kind, "value": number}


def register(number, name, bit_offset=0):
    return {"kind": "register", "register": number, "name": name, "bit_offset": bit_offset}


def composite(*parts, bit_offset=0):
    listed = [{"bit_size": size, "location": location} for size, location in parts]
    return {"kind": "composite", "bit_offset": bit_offset, "parts": listed}


def implicit(data, bit_offset=0):
    return {"kind": "implicit", "bytes": data, "bit_offset": bit_offset}


UNDEFINED = {"kind": "undefined"}
BOTH = {"kind": "multiple", "places": [register(0, "r0"), register(1, "r1")]}
TWICE = {**AMD, "dies": {"unit:16": {"location": ["50", "51"]}}}
POINTER = {"kind": "implicit_pointer", "die": "info:0x4c", "byte_offset": 4, "space": 0}
LANE_5 = {**GPU, "lane": 5}
LOCATIONS = [
    ("DW_OP_addr 0x10", {}, memory(16)),
    ("DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", AMD, memory(16, 3)),
    ("DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address", GPU, memory(16, 0, 3, "local")),
    ("DW_OP_lit16; DW_OP_lit6; DW_OP_LLVM_form_aspace_address", GPU, memory(16, 0, 6, "private_wave")),
    ("DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", LANE_5,
     {**memory(16, 0, 5, "private_lane"), "lane": 5}),
    ("DW_OP_lit16; DW_OP_const1u 0x23; DW_OP_LLVM_form_aspace_address", GPU, memory(16, 0, 0x23, "private_lane3")),
    ("DW_OP_lit16; DW_OP_lit1; DW_OP_LLVM_form_aspace_address", LANE_5, memory(16, 0, 1, "generic")),
    ("DW_OP_const8u 0x2000000000010; DW_OP_lit1; DW_OP_LLVM_form_aspace_address", LANE_5,
     {**memory(0x2000000000010, 0, 1, "generic"), "lane": 5}),
    ("DW_OP_lit16; DW_OP_lit1; DW_OP_LLVM_form_aspace_address", {**GFX8, "lane": 5}, memory(16, 0, 1, "generic")),
    ("DW_OP_regx 2564; DW_OP_const2u 160; DW_OP_LLVM_bit_offset", GPU, register(2564, "v4", 160)),
    ("DW_OP_regx 1540", GPU32, register(1540, "v4")),         ("DW_OP_reg7", {"target": "x86_64"}, register(7, "rsp")),
    ("DW_OP_regx 0x25726431", {}, register(0x25726431, "r628253745")),
    ("DW_OP_lit5; DW_OP_stack_value", {}, implicit("0500000000000000")),
    ("DW_OP_lit5; DW_OP_stack_value", {"address_size": 4}, implicit("05000000")),
    ("DW_OP_lit5; DW_OP_stack_value", {"address_size": 3, "byte_order": "big"}, implicit("000005")),
    ("DW_OP_implicit_value 010203; DW_OP_lit9; DW_OP_LLVM_bit_offset", AMD, implicit("010203", 9)),
    ("DW_OP_implicit_value 010203; DW_OP_lit9; DW_OP_LLVM_bit_offset", BIG, implicit("010203", 9)),
    ("DW_OP_implicit_value 0x", {}, implicit("")),            ("DW_OP_implicit_pointer 0x4c 4", {}, POINTER),
    ("DW_OP_implicit_pointer 0x4c 4; DW_OP_lit9; DW_OP_LLVM_bit_offset", AMD, {**POINTER, "bit_offset": 9}),
    ("DW_OP_implicit_pointer 0x4c 4; DW_OP_LLVM_offset_uconst 4; DW_OP_piece 4", AMD,
     composite((32, {**POINTER, "bit_offset": 32}))),
    ("DW_OP_lit3; DW_OP_LLVM_aspace_implicit_pointer 0x4c -4", GPU, {**POINTER, "byte_offset": -4, "space": 3}),
    ("DW_OP_implicit_pointer 0x4c 4; DW_OP_deref", AMD, POINTER),
    ("", {}, UNDEFINED),
    ("DW_OP_LLVM_undefined; DW_OP_lit3; DW_OP_LLVM_offset", AMD, UNDEFINED),
    ("DW_OP_reg0; DW_OP_piece 4; DW_OP_piece 2; DW_OP_addr 8; DW_OP_bit_piece 3 5", {},
     composite((32, register(0, "r0")), (16, UNDEFINED), (3, memory(8, 5)))),
    ("DW_OP_piece 2; DW_OP_LLVM_piece_end; DW_OP_lit9; DW_OP_LLVM_bit_offset", AMD,
     composite((16, UNDEFINED), bit_offset=9)),
    ("DW_OP_addr 8; DW_OP_LLVM_extend 12 3", AMD, composite(*[(12, memory(8))] * 3)),
    ("DW_OP_addr 0x10; DW_OP_addr 0x20; DW_OP_lit4; DW_OP_LLVM_select_bit_piece 12 4", AMD,
     composite((12, memory(0x10)), (12, memory(0x11, 4)), (12, memory(0x23)), (12, memory(0x14, 4)))),
    ("DW_OP_LLVM_undefined; DW_OP_addr 0x20; DW_OP_lit2; DW_OP_LLVM_select_bit_piece 8 3", AMD,
     composite((8, UNDEFINED), (8, memory(0x21)), (8, UNDEFINED))),
    ("DW_OP_addr 8; DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_LLVM_extend 8 2", AMD,
     composite(*[(8, composite((8, memory(8))))] * 2)),
    ("DW_OP_call4 0x10", TWICE, BOTH),
    ("DW_OP_call4 0x10; DW_OP_LLVM_extend 8 1", TWICE, composite((8, BOTH)))]  # fmt: skip


@pytest.mark.parametrize("text, keys, expected", LOCATIONS, ids=[text or "(empty)" for text, *_ in LOCATIONS])
def test_locations(text, keys, expected):
    assert json.dumps(result(text, **keys)) == json.dumps(expected)


@pytest.mark.parametrize("keys, location", [row[1:] for row in LOCATIONS])
def test_an_answer_can_be_given_back_in_a_context(keys, location):
    for rules in ("dwarf5", "amd"):
        described = {**keys, "rules": rules, "dialect": "llvm-user", "object": location}
        assert result("DW_OP_push_object_address", **described) == location
        assert result("", **{**described, "initial_stack": [0, location]}) == location


S32 = {"encoding": "signed", "byte_size": 4}
U8 = {"encoding": "unsigned", "byte_size": 1}
F32 = {"encoding": "float", "byte_size": 4}
F64 = {"encoding": "float", "byte_size": 8}
F16 = {"encoding": "float", "byte_size": 2}
BF16 = {"encoding": "bfloat16", "byte_size": 2}
S5 = {"encoding": "signed", "byte_size": 1, "bit_size": 5}
U128 = {"encoding": "unsigned", "byte_size": 16}
V3 = {"encoding": "signed", "byte_size": 2, "vector_size": 3}
VF = {"encoding": "float", "byte_size": 4, "vector_size": 2}
V5 = {"encoding": "unsigned", "byte_size": 1, "bit_size": 4, "vector_size": 3}
BOOLEAN = {"encoding": "boolean", "byte_size": 1}
UTF = {"encoding": "UTF", "byte_size": 4}
VALUES = [
    ("generic", 5, 5),     ("generic", -1, 2**64 - 1),                   (S32, -5, -5),         (S32, 0xFFFFFFFF, -1),
    (U8, 255, 255),        (U8, -1, 255),         ({"encoding": "signed_char", "byte_size": 1}, 200, -56),
    ({"encoding": "unsigned_char", "byte_size": 1}, 200, 200),
    ({"encoding": "address", "byte_size": 8}, "0x1000", 4096),           (BOOLEAN, 1, 1),
    (UTF, 0x1F600, 0x1F600),                      (S5, -16, -16),        (U128, 2**128 - 1, 2**128 - 1),
    (F32, 1.5, 1.5),       (F32, 3, 3.0),         (F32, "nan", "nan"),   (F32, "inf", "inf"),   (F64, "-inf", "-inf"),
    (F64, 0.1, 0.1),       (F16, 65504.0, 65504.0),                      (F16, 1e30, "inf"),    (BF16, 1.0, 1.0),
    (V3, [1, -2, 3], [1, -2, 3]),                 (VF, [1.5, "nan"], [1.5, "nan"]),
    (V5, [1, 2, 15], [1, 2, 15])]  # fmt: skip


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("kind, given, expected", VALUES)
def test_values(kind, given, expected, order):
    entry = given if kind == "generic" else {"value": given, "type": kind}
    found = result("DW_OP_nop", byte_order=order, initial_stack=[entry])
    assert json.dumps(found) == json.dumps(value(expected, kind))
    assert result("DW_OP_nop", byte_order=order, initial_stack=[found]) == found


def test_an_answer_with_a_bit_offset_is_a_location_that_a_context_takes():
    given = {"kind": "implicit_pointer", "die": "info:0x4c", "byte_offset": -4, "space": 0, "bit_offset": 9}
    assert result("DW_OP_push_object_address", object=given) == given


SPACES = {"spaces": {"1": {"name": "far", "address_size": 4}, "0x20": {"name": "Wide", "address_size": 8}}}


def test_address_spaces_are_declared_for_the_generic_target():
    in_space = "DW_OP_const8u 0x100000010; DW_OP_const1u {}; DW_OP_LLVM_form_aspace_address"
    assert result(in_space.format(1), **AMD, **SPACES) == memory(0x10, 0, 1, "far")
    assert result(in_space.format(32), **AMD, **SPACES) == memory(0x100000010, 0, 32, "wide")
    stored = [{"space": "far", "address": 16, "bytes": "07"}, {"space": 0, "address": 16, "bytes": "08"}]
    contents = {**AMD, **SPACES, "memory": stored}
    assert result("DW_OP_lit1; DW_OP_lit16; DW_OP_xderef_size 1", **contents)["value"] == 7
    assert result("DW_OP_lit16; DW_OP_deref_size 1", **contents)["value"] == 8
    assert result("DW_OP_push_object_address", **contents, object=memory(0x10, 0, 1, "far")) == memory(
        0x10, 0, 1, "far"
    )


@pytest.mark.parametrize("order, data", [("little", "0100feff0300"), ("big", "0001fffe0003")])
def test_the_elements_of_a_vector_are_in_the_order_of_memory(order, data):
    assert result(f"DW_OP_const_type 1 {data}", byte_order=order, base_types={"1": V3})["value"] == [1, -2, 3]
    stack = [{"value": [1, -2, 3], "type": V3}]
    assert result("DW_OP_stack_value", byte_order=order, initial_stack=stack)["bytes"] == data


def test_numbers_are_written_as_what_they_are():
    found = result("DW_OP_regval_type 2560 1", **GPU, base_types={"1": {"encoding": "unsigned", "byte_size": 256}},
                   registers={"v0": [0] * 63 + [1]})  # fmt: skip
    assert found == value(1 << (63 * 32), {"encoding": "unsigned", "byte_size": 256})
    answer = ops("", initial_stack=[{"value": 1, "type": {"encoding": "float", "byte_size": 10}}])
    expected = ("error", "unsupported", "float_format")
    assert (answer["status"], answer["error"]["class"], answer["error"]["kind"]) == expected
    line = json.dumps({"expr": "", "context": {"initial_stack": [{"value": -0.0, "type": F64}]}})
    assert '"value": -0.0' in next(run_lines([line]))


def test_the_keys_of_an_answer():
    assert list(ops("DW_OP_lit1")) == ["id", "status", "dialect", "rules", "result"]
    found = ops("DW_OP_addr 0", read={"bytes": 1}, stack=True, memory=[{"space": 0, "address": 0, "bytes": "07"}])
    assert list(found) == ["id", "status", "dialect", "rules", "result", "stack", "read"]
    assert list(ops("DW_OP_drop")) == ["id", "status", "error"]
    assert list(ops("DW_OP_drop")["error"]) == ["class", "kind", "message", "offset", "operation", "spec"]


@for_each("keys, dialect, rules",
    ({}, "gnu", "dwarf5"),      ({"target": "x86_64"}, "gnu", "dwarf5"),                (GPU, "llvm-user", "amd"),
    ({**GPU, "rules": "dwarf6"}, "llvm-user", "dwarf6"),    ({"dialect": "amdgpu-2020"}, "amdgpu-2020", "dwarf5"),
    ({"dialect": "dwarf6", "rules": "dwarf6"}, "dwarf6", "dwarf6"),
    ({"dialect": "dwarf5"}, "dwarf5", "dwarf5"),            ({"dialect": "llvm-legacy"}, "llvm-legacy", "dwarf5"),
)  # fmt: skip
def test_an_answer_says_by_which_dialect_and_rules(keys, dialect, rules):
    found = ops("DW_OP_lit1", **keys)
    assert (found["dialect"], found["rules"]) == (dialect, rules)


def test_expressions_are_bytes_or_text_in_a_dialect():
    """0xE9 0x02 is DW_OP_LLVM_form_aspace_address; or 0xE9 is DW_OP_LLVM_aspace_implicit_pointer; or it is nothing."""
    case = {"expr": "4033e902", "rules": "amd", "target": "gfx90a"}
    assert run_case({**case, "dialect": "llvm-user"}, 1)["result"] == memory(16, 0, 3, "local")
    assert run_case({**case, "dialect": "llvm-legacy"}, 1)["error"]["kind"] == "truncated"
    assert run_case({**case, "dialect": "gnu"}, 1)["error"]["kind"] == "unknown_operation"
    assert run_case({"expr": "08FF"}, 1)["result"] == value(255)
    assert result("DW_OP_LLVM_user DW_OP_LLVM_undefined", **AMD) == UNDEFINED
    assert result("DW_OP_lit3; again: DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @again") == value(0)
    assert result("DW_OP_lit1; DW_OP_LLVM_push_iteration", **AMD, iteration=2, iterations=3) == value(2)


@every(size=[1, 2, 3, 4, 5, 8], order=["little", "big"])
def test_addresses_have_the_size_and_the_byte_order_of_the_case(size, order):
    address = 0x0102030405060708 >> (8 * (8 - size))
    case = {"expr": "03" + address.to_bytes(size, order).hex(), "address_size": size, "byte_order": order}
    assert run_case(case, 1)["result"] == memory(address)
    assert run_case({**case, "expr": "09ff"}, 1)["result"] == value((1 << (8 * size)) - 1)


@pytest.mark.parametrize("offset_size, version, size", [(4, 5, 4), (8, 5, 8), (4, 2, 2), (8, 3, 8)])
def test_references_have_the_size_that_format_and_version_say(offset_size, version, size):
    keys = {"address_size": 2, "offset_size": offset_size, "dwarf_version": version}
    found = run_case({"expr": "9a" + (16).to_bytes(size, "little").hex(), **keys, "context": {
        "dies": {"info:16": {"location": "35"}}}}, 1)  # fmt: skip
    assert found["result"] == value(5)


@for_each("text, want, expected",
    ("DW_OP_lit5", None, value(5)),       ("DW_OP_lit5", "value", value(5)),
    ("DW_OP_lit5", "location", memory(5)),                                      ("DW_OP_addr 5", None, memory(5)),
    ("DW_OP_addr 5", "value", value(5)),  ("DW_OP_reg0", "location", register(0, "r0")),
    ("", "location", UNDEFINED),          ("DW_OP_piece 1", "location", composite((8, UNDEFINED))),
    ("DW_OP_reg0", "value", "bad_result_kind"),                                 ("", "value", "bad_result_kind"),
    ("DW_OP_lit1; DW_OP_stack_value", "value", "bad_result_kind"))  # fmt: skip
def test_the_kind_that_is_wanted(text, want, expected):
    answer = ops(text, **({} if want is None else {"want": want}))
    assert (answer["error"]["kind"] if answer["status"] == "error" else answer["result"]) == expected


@for_each("text, keys, expected",
    ("", {}, []),
    ("DW_OP_lit1; DW_OP_reg0; DW_OP_addr 8", AMD, [value(1), register(0, "r0"), memory(8)]),
    ("DW_OP_lit1; DW_OP_lit2; DW_OP_plus", {}, [value(3)]),
    ("DW_OP_lit1; DW_OP_drop", {}, []),
    ("DW_OP_lit1; DW_OP_skip 1; DW_OP_lit2", {}, [value(1)]),
    ("DW_OP_call4 0x10; DW_OP_lit3", {"dies": {"unit:16": {"location": "3132"}}}, [value(1), value(2), value(3)]),
    ("DW_OP_lit1; DW_OP_piece 2", AMD, [composite((16, memory(1)))]))  # fmt: skip
def test_the_final_stack_is_reported_bottom_first(text, keys, expected):
    assert ops(text, stack=True, **keys)["stack"] == expected


def test_the_stack_is_reported_from_the_initial_one_up():
    found = ops("DW_OP_lit7", stack=True, initial_stack=[1, {"kind": "undefined"}, {"value": 2, "type": S32}])
    assert found["stack"] == [value(1), UNDEFINED, value(2, S32), value(7)]
    found = ops("DW_OP_lit5", stack=True, want="location")
    assert (found["result"], found["stack"]) == (memory(5), [value(5)])
