"""What is a case and what is none, and what is wrong with one: each with its path or its kind."""

import json
import re

import pytest
from cases import run_case

from dwarfgpu.errors import MalformedFile
from dwarfgpu.strict_json import NotACase
from tests.builders.cases import run_lines
from tests.builders.errors import raised
from tests.builders.parameters import for_each, told

BASE = {"expr": "31"}
FAR = {"name": "far", "address_size": 4}
REGION = {"space": 0, "address": 0, "bytes": "0102"}
BYTE = {"space": 0, "address": 0, "bytes": "00"}
GPU = {"target": "amdgcn-gfx90a"}
S32 = {"encoding": "signed", "byte_size": 4}
CONTEXT = {
    "registers", "memory", "spaces", "lane", "lane_count", "iteration", "iterations", "pc", "cfa", "frame_base", "dies",
    "object", "initial_stack", "base_types", "debug_addr", "tls", "entry_values", "entry_registers"}  # fmt: skip
SEVEN_BITS = {"encoding": "signed", "byte_size": 1, "bit_size": 7}
THREE = {"encoding": "signed", "byte_size": 1, "vector_size": 3}
LOCAL = {"kind": "memory", "space": 0, "space_name": "local", "address": 0}
NOWHERE = {"kind": "undefined"}


def keys_of(text):
    """Return the keys of a case, those of its context in their place."""
    keys = eval(f"dict({text})", globals())
    around = {key: keys.pop(key) for key in [*keys] if key in CONTEXT}
    return {**keys, "context": around} if around else keys


WRONG = told("""
    # keys that do not exist, at every level
    dies={"unit:0": {"location": {"op": "x"}}} -> dies.unit:0.location.op
    object={"kind": "undefined", "bit_offset": 0} -> object.bit_offset
    object={"kind": "composite", "parts": [{"bit_size": 8, "loc": 0}]} -> object.parts[0].loc
    initial_stack=[{"value": 1, "type": "generic", "unit": 0}] -> initial_stack[0].unit
    exprs="31" -> exprs          context={"register": {}} -> context.register
    limits={"step": 1} -> limits.step                         read={"byte": 4} -> read.byte
    read={"type": {**S32, "size": 4}} -> read.type.size       memory=[{**BYTE, "spaces": 0}] -> memory[0].spaces
    registers={"0": {"hex": "00"}} -> registers.0.hex         dies={"unit:0": {"loc": "31"}} -> dies.unit:0.loc
    # wrong types
    address_size=True | address_size=8.0 | address_size="eight" -> address_size
    read=4 | read={} | read={"bytes": 4, "type": "generic"} -> read
    read={"type": "int"} | read={"type": 5} | read={"type": {"encoding": "signed"}} -> read.type
    read={"type": {**S32, "encoding": "int"}} -> read.type.encoding
    read={"type": {**S32, "byte_size": "4.0"}} | read={"type": {**S32, "byte_size": -1}} -> read.type.byte_size
    write=[1] | write="0x01" | write="123" | write="01 02" -> write
    registers={"0": "zero"} | registers={"0": True} | registers={"0": {"float32": 1e+39}} |
        registers={"0": {"float16": 1.5}} -> registers.0
    memory=[0] | memory=[{"space": 0, "address": 0}] -> memory[0]
    memory=[{**BYTE, "address": -1}] | memory=[{**BYTE, "address": 1 << 64}] | memory=[{**BYTE, "address": []}]
        -> memory[0].address
    initial_stack=[[]] | initial_stack=[None] | initial_stack=[1.5] | initial_stack=[{"value": 1}] |
        initial_stack=[{"type": "generic"}] -> initial_stack[0]
    initial_stack=[{"value": 1.5, "type": "generic"}] |
        initial_stack=[{"value": "x", "type": {"encoding": "float", "byte_size": 4}}] -> initial_stack[0].value
    initial_stack=[{"kind": "number", "value": 1, "type": "generic"}] -> initial_stack[0].kind
    dies={"unit:1": {"location": 31}} -> dies.unit:1.location
    dies={"unit:1": {"location": [31]}} -> dies.unit:1.location[0]
    dies={"unit:1": {"const_value": "x"}} -> dies.unit:1.const_value
    expr=31 -> expr              expr=None, ops=None ->       target=5 -> target           dialect=5 -> dialect
    rules=5 -> rules             byte_order=0 -> byte_order   want=None -> want
    lanes=5 | lanes="some" | lanes=[0, 1, 0] -> lanes         lanes=[True] | lanes=[-1] -> lanes[0]
    read={"bytes": -4} -> read.bytes                          read={"bytes": 4, "offset": "x"} -> read.offset
    stack=1 -> stack             limits=[] -> limits          limits={"steps": -1} -> limits.steps
    context=[] -> context        registers=[] -> registers    registers={"0": [1, False]} -> registers.0[1]
    registers={"0": {"bytes": "0"}} -> registers.0.bytes      memory={} -> memory
    memory=[{**BYTE, "bytes": "zz"}] -> memory[0].bytes       lane="a" | lane=None -> lane
    lane_count=0 -> lane_count   iteration=-1 -> iteration    iterations=0 -> iterations   pc=-4 -> pc
    cfa="here" -> cfa            frame_base=[] -> frame_base                               object=-1 -> object
    initial_stack={} -> initial_stack                         base_types=[] -> base_types
    base_types={"a": "generic"} -> base_types.a               debug_addr={"0": -1} -> debug_addr.0
    tls={"0": -1} -> tls.0       entry_values={"5": 5} -> entry_values.5
    entry_values={"55": "x"} -> entry_values.55               entry_registers={"0": 5} -> entry_registers.0
    dies={"0x10": {}} -> dies.0x10                            dies={"cu:1": {}} -> dies.cu:1
    dies={"unit:-1": {}} -> dies.unit:-1                      dies={"unit:1": None} -> dies.unit:1
    # words that nobody knows
    object={"kind": "place"} | object={"kind": 5} -> object.kind
    memory=[{**BYTE, "space": "local"}] | memory=[{**BYTE, "space": 7}] -> memory[0].space
    target="gfx1" -> target      dialect="dwarf7" -> dialect                               rules="amdgpu" -> rules
    byte_order="middle" -> byte_order                         want="anything" -> want
    object={"address": 5} -> object                           **GPU, registers={"v256": 0} -> registers.v256
    **GPU, registers={"7": 0} -> registers.7                  **GPU, registers={"-1": 0} -> registers.-1
    # numbers that cannot be
    target="x86_64", address_size=4 | target="amdgcn-gfx90a", byte_order="big" -> target
    registers={"0": 1 << 64} | registers={"0": "0x" + "f" * 4000} | registers={"0": "9" * 5000} |
        registers={"0": {"bytes": ""}} -> registers.0
    target="x86_64", registers={"rax": {"bytes": "00"}} -> registers.rax
    **GPU, memory=[{"space": 5, "address": 0, "bytes": "00"}] |
        **GPU, memory=[{"space": 5, "lane": 64, "address": 0, "bytes": "00"}] |
        **GPU, memory=[{"space": 3, "address": (1 << 32) - 1, "bytes": "0000"}] -> memory[0]
    **GPU, memory=[{"space": 3, "lane": 0, "address": 0, "bytes": "00"}] -> memory[0].lane
    **GPU, memory=[{"space": 3, "address": 1 << 32, "bytes": "00"}] -> memory[0].address
    object=256, address_size=1 | object={"kind": "register"} -> object
    address_size=1, initial_stack=[256] | address_size=1, initial_stack=[-129] -> initial_stack[0]
    initial_stack=[{"value": 200, "type": SEVEN_BITS}] | initial_stack=[{"value": [1, 2], "type": THREE}]
        -> initial_stack[0].value
    object={"kind": "memory", "address": 1 << 64} -> object.address
    object={"kind": "memory", "address": 0, "bit": 8} -> object.bit
    object={"kind": "memory", "address": 0, "lane": 0} -> object.lane
    object=LOCAL | object=LOCAL, target="gfx90a" -> object.space_name
    object={"kind": "register", "register": 0, "name": "r1"} -> object.name
    object={"kind": "register", "register": "v0"} -> object.register
    object={"kind": "register", "register": 0, "bit_offset": 64} |
        object={"kind": "implicit", "bytes": "00", "bit_offset": 8} |
        object={"kind": "implicit_pointer", "die": "info:0", "bit_offset": 64} -> object.bit_offset
    object={"kind": "implicit_pointer", "die": "0x4c"} -> object.die
    object={"kind": "implicit_pointer", "die": "info:0", "space": 3} -> object.space
    object={"kind": "multiple", "places": []} -> object.places
    address_size=0 | address_size=9 -> address_size           offset_size=2 -> offset_size
    dwarf_version=1 | dwarf_version=7 -> dwarf_version        **GPU, registers={"v0": [0] * 65} -> registers.v0
    **GPU, registers={"s0": [0]} -> registers.s0              address_size=1, debug_addr={"0": 256} -> debug_addr.0
    # address spaces
    spaces={"1": {**FAR, "name": "default"}} | spaces={"1": {**FAR, "name": "none"}} |
        spaces={"1": {**FAR, "name": "1"}} -> spaces.1.name
    spaces={"1": {**FAR, "address_size": 9}} -> spaces.1.address_size
    spaces=[] | **GPU, spaces={"1": FAR} | target="x86_64", spaces={} -> spaces
    object={"kind": "composite", "parts": [], "bit_offset": 1} -> object.bit_offset
    spaces={"0": FAR} -> spaces.0                             spaces={"x": FAR} -> spaces.x
    spaces={"1": FAR, "0x1": FAR} -> spaces.0x1               spaces={"1": FAR, "2": FAR} -> spaces.2.name
    spaces={"1": {"name": "far"}} -> spaces.1
    # what is given twice
    base_types={"1": "generic", "0x1": "generic"} -> base_types.0x1
    entry_registers={"0": NOWHERE, "r0": NOWHERE} -> entry_registers.r0
    registers={"0": 1, "r0": 1} -> registers.r0               dies={"unit:16": {}, "unit:0x10": {}} -> dies.unit:0x10
    entry_values={"9F": 1, "9f": 1} -> entry_values.9f        memory=[REGION, {**REGION, "address": 1}] -> memory[1]
    """)


@pytest.mark.parametrize("keys, path", WRONG, ids=[f"{path}-{i}" for i, (_, path) in enumerate(WRONG)])
def test_what_is_not_a_case_is_named(keys, path):
    caught = raised(NotACase, run_case, {**BASE, **keys_of(keys)}, 3)
    whole = f"context.{path}" if re.match(r"\w*", path)[0] in CONTEXT else path
    assert (caught.path, caught.line) == (whole, 3)
    assert str(caught).startswith("not a case at line 3: ")


@pytest.mark.parametrize("case", [None, 5, "31", [], [BASE], True, {}, {"id": 1}, {"expr": "31", "ops": "DW_OP_lit1"}])
def test_a_case_is_an_object_with_one_expression(case):
    raised(NotACase, run_case, case, 1)


def test_what_is_wrong_with_the_form_comes_first():
    assert issubclass(NotACase, MalformedFile)
    raised(NotACase, run_case, {"expr": "zz", "context": {"nothing": 1}}, 1)
    raised(NotACase, run_case, {"ops": "DW_OP_nothing", "stack": "yes"}, 1)


@for_each("number, expected",
    (5, 5),                     ("5", 5),                   ("0x10", 16),               ("0XfF", 255),
    ("-3", 2**64 - 3),          (-3, 2**64 - 3),            ("-0x3", 2**64 - 3),        ("007", 7))  # fmt: skip
def test_integers_are_numbers_or_strings(number, expected):
    assert run_case({"expr": "", "context": {"initial_stack": [number]}}, 1)["result"]["value"] == expected


@pytest.mark.parametrize("text", ["", " 5", "5 ", "+5", "0x", "x10", "1_000", "--3", "5.0", "0b1", "\u0665", "five"])
def test_other_strings_are_no_integers(text):
    raised(NotACase, run_case, {"expr": "", "context": {"initial_stack": [text]}}, 1)


def test_lines_are_answered_in_order_and_counted_with_blank_ones():
    seen = []

    def lines():
        for text in ('{"expr": "31"}\n', "\n", '{"id": "b", "expr": "zz"}\r\n', ' {"id": null, "expr": "32"} '):
            seen.append(text)
            yield text

    answers = run_lines(lines())
    first = json.loads(next(answers))
    assert len(seen) == 1
    assert (first["id"], first["result"]["value"]) == (1, 1)
    second, third = map(json.loads, answers)
    assert (second["id"], second["status"]) == ("b", "error")
    assert (third["id"], third["result"]["value"]) == (None, 2)
    assert json.loads(next(run_lines(["\n", "  \n", '{"expr": "31"}'])))["id"] == 3


@for_each("line",
    "31", "{", '{"expr": "31"} {}', "{'expr': '31'}", '{"expr": "31", "expr": "32"}',
    '{"expr": "31", "context": {"lane": 1, "lane": 2}}', '{"expr": "31", "context": {"lane": NaN}}',
    '{"expr": "31", "id": Infinity}', '{"expr": "31", "id": ' + "9" * 5000 + "}",
    '{"expr": "31", "id": ' + "[" * 100_000,
    '{"expr": "31", "context": {"object": ' + '{"kind": "multiple", "places": [' * 200 + "]}" * 200 + "}}",
    "\ufeff{}")  # fmt: skip
def test_a_line_that_is_no_case_ends_the_run_and_is_named(line):
    answers = run_lines(['{"expr": "31"}', line, '{"expr": "31"}'])
    next(answers)
    caught = raised(NotACase, next, answers)
    assert caught.line == 2
    assert "line 2" in str(caught)


@pytest.mark.parametrize("name", ["a", "\u20ac \ud800", {"a": [1, None]}, 1.5, True, None, "", 10**30])
def test_the_id_is_echoed(name):
    assert json.loads(next(run_lines([json.dumps({"id": name, "expr": "31"})])))["id"] == name


AMD = {"rules": "amd", "dialect": "llvm-user"}
GFX8 = {"target": "amdgcn-gfx803"}
DWARF6 = {"rules": "dwarf6", "dialect": "dwarf6"}
F32 = {"encoding": "float", "byte_size": 4}
CHAR = {"encoding": "complex_float", "byte_size": 8}
TYPES = {"base_types": {"1": S32, "2": F32, "3": {**S32, "byte_size": 0}, "4": CHAR}}
LOOP = {
    "dies": {"info:16": {"location": {"ops": "DW_OP_implicit_pointer 16 0; DW_OP_deref; DW_OP_LLVM_offset_uconst 1"}}}
}
IPV = "DW_OP_implicit_pointer 16 0; DW_OP_deref"

# class, kind, program, context, case, operation, offset, clause
ILL, EVAL, MISS, UNSUPPORTED, MALFORMED = (
    "ill_formed", "evaluation_error", "missing_context", "unsupported", "malformed")  # fmt: skip
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
     None, {}, None, None, None)]  # fmt: skip


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
