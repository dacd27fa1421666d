"""What is a case and what is none: unknown keys, wrong types and impossible descriptions, each with its path."""

import json

import pytest

from dwarfgpu.cases.case import run_case
from dwarfgpu.errors import MalformedFile
from dwarfgpu.strict_json import NotACase
from tests.builders.cases import run_lines
from tests.builders.errors import raised
from tests.builders.parameters import for_each

BASE = {"expr": "31"}
FAR = {"name": "far", "address_size": 4}
REGION = {"space": 0, "address": 0, "bytes": "0102"}
STACK = "context.initial_stack[0]"
SEVEN_BITS = {"encoding": "signed", "byte_size": 1, "bit_size": 7}
THREE = {"encoding": "signed", "byte_size": 1, "vector_size": 3}
LOCAL = {"kind": "memory", "space": 0, "space_name": "local", "address": 0}
NOWHERE = {"kind": "undefined"}


def memory(**keys):
    return {"context": {"memory": [{"space": 0, "address": 0, "bytes": "00", **keys}]}}


def entry(value):
    return {"context": {"initial_stack": [value]}}


def typed(**kind):
    return {"read": {"type": {"encoding": "signed", "byte_size": 4, **kind}}}


def amdgpu(**context):
    return {"target": "amdgcn-gfx90a", "context": context}


def obj(value, **case):
    return {**case, "context": {"object": value}}


WRONG = [
    # keys that do not exist, at every level
    ({"exprs": "31"}, "exprs"),
    ({"context": {"register": {}}}, "context.register"),
    ({"limits": {"step": 1}}, "limits.step"),
    ({"read": {"byte": 4}}, "read.byte"),
    (typed(size=4), "read.type.size"),
    (memory(spaces=0), "context.memory[0].spaces"),
    ({"context": {"registers": {"0": {"hex": "00"}}}}, "context.registers.0.hex"),
    ({"context": {"dies": {"unit:0": {"loc": "31"}}}}, "context.dies.unit:0.loc"),
    ({"context": {"dies": {"unit:0": {"location": {"op": "x"}}}}}, "context.dies.unit:0.location.op"),
    (obj({"kind": "undefined", "bit_offset": 0}), "context.object.bit_offset"),
    (obj({"kind": "composite", "parts": [{"bit_size": 8, "loc": 0}]}), "context.object.parts[0].loc"),
    (entry({"value": 1, "type": "generic", "unit": 0}), "context.initial_stack[0].unit"),
    # wrong types
    ({"expr": 31}, "expr"),
    ({"expr": None, "ops": None}, ""),
    ({"target": 5}, "target"),
    ({"dialect": 5}, "dialect"),
    ({"rules": 5}, "rules"),
    ({"address_size": True}, "address_size"),
    ({"address_size": 8.0}, "address_size"),
    ({"address_size": "eight"}, "address_size"),
    ({"byte_order": 0}, "byte_order"),
    ({"want": None}, "want"),
    ({"lanes": 5}, "lanes"),
    ({"lanes": "some"}, "lanes"),
    ({"lanes": [True]}, "lanes[0]"),
    ({"lanes": [-1]}, "lanes[0]"),
    ({"lanes": [0, 1, 0]}, "lanes"),
    ({"read": 4}, "read"),
    ({"read": {}}, "read"),
    ({"read": {"bytes": 4, "type": "generic"}}, "read"),
    ({"read": {"bytes": -4}}, "read.bytes"),
    ({"read": {"bytes": 4, "offset": "x"}}, "read.offset"),
    ({"read": {"type": "int"}}, "read.type"),
    ({"read": {"type": 5}}, "read.type"),
    (typed(encoding="int"), "read.type.encoding"),
    (typed(byte_size="4.0"), "read.type.byte_size"),
    (typed(byte_size=-1), "read.type.byte_size"),
    ({"read": {"type": {"encoding": "signed"}}}, "read.type"),
    ({"write": [1]}, "write"),
    ({"write": "0x01"}, "write"),
    ({"write": "123"}, "write"),
    ({"write": "01 02"}, "write"),
    ({"stack": 1}, "stack"),
    ({"limits": []}, "limits"),
    ({"limits": {"steps": -1}}, "limits.steps"),
    ({"context": []}, "context"),
    ({"context": {"registers": []}}, "context.registers"),
    ({"context": {"registers": {"0": "zero"}}}, "context.registers.0"),
    ({"context": {"registers": {"0": True}}}, "context.registers.0"),
    ({"context": {"registers": {"0": {"float32": 1e39}}}}, "context.registers.0"),
    ({"context": {"registers": {"0": {"float16": 1.5}}}}, "context.registers.0"),
    ({"context": {"registers": {"0": [1, False]}}}, "context.registers.0[1]"),
    ({"context": {"registers": {"0": {"bytes": "0"}}}}, "context.registers.0.bytes"),
    ({"context": {"memory": {}}}, "context.memory"),
    ({"context": {"memory": [0]}}, "context.memory[0]"),
    ({"context": {"memory": [{"space": 0, "address": 0}]}}, "context.memory[0]"),
    (memory(address=-1), "context.memory[0].address"),
    (memory(address=1 << 64), "context.memory[0].address"),
    (memory(address=[]), "context.memory[0].address"),
    (memory(bytes="zz"), "context.memory[0].bytes"),
    ({"context": {"lane": "a"}}, "context.lane"),
    ({"context": {"lane": None}}, "context.lane"),
    ({"context": {"lane_count": 0}}, "context.lane_count"),
    ({"context": {"iteration": -1}}, "context.iteration"),
    ({"context": {"iterations": 0}}, "context.iterations"),
    ({"context": {"pc": -4}}, "context.pc"),
    ({"context": {"cfa": "here"}}, "context.cfa"),
    ({"context": {"frame_base": []}}, "context.frame_base"),
    (obj(-1), "context.object"),
    ({"context": {"initial_stack": {}}}, "context.initial_stack"),
    (entry([]), STACK),
    (entry(None), STACK),
    (entry(1.5), STACK),
    (entry({"value": 1}), STACK),
    (entry({"type": "generic"}), STACK),
    (entry({"value": 1.5, "type": "generic"}), f"{STACK}.value"),
    (entry({"value": "x", "type": {"encoding": "float", "byte_size": 4}}), f"{STACK}.value"),
    (entry({"kind": "number", "value": 1, "type": "generic"}), "context.initial_stack[0].kind"),
    ({"context": {"base_types": []}}, "context.base_types"),
    ({"context": {"base_types": {"a": "generic"}}}, "context.base_types.a"),
    ({"context": {"debug_addr": {"0": -1}}}, "context.debug_addr.0"),
    ({"context": {"tls": {"0": -1}}}, "context.tls.0"),
    ({"context": {"entry_values": {"5": 5}}}, "context.entry_values.5"),
    ({"context": {"entry_values": {"55": "x"}}}, "context.entry_values.55"),
    ({"context": {"entry_registers": {"0": 5}}}, "context.entry_registers.0"),
    ({"context": {"dies": {"0x10": {}}}}, "context.dies.0x10"),
    ({"context": {"dies": {"cu:1": {}}}}, "context.dies.cu:1"),
    ({"context": {"dies": {"unit:-1": {}}}}, "context.dies.unit:-1"),
    ({"context": {"dies": {"unit:1": None}}}, "context.dies.unit:1"),
    ({"context": {"dies": {"unit:1": {"location": 31}}}}, "context.dies.unit:1.location"),
    ({"context": {"dies": {"unit:1": {"location": [31]}}}}, "context.dies.unit:1.location[0]"),
    ({"context": {"dies": {"unit:1": {"const_value": "x"}}}}, "context.dies.unit:1.const_value"),
    # words that nobody knows
    ({"target": "gfx1"}, "target"),
    ({"dialect": "dwarf7"}, "dialect"),
    ({"rules": "amdgpu"}, "rules"),
    ({"byte_order": "middle"}, "byte_order"),
    ({"want": "anything"}, "want"),
    (obj({"kind": "place"}), "context.object.kind"),
    (obj({"kind": 5}), "context.object.kind"),
    (obj({"address": 5}), "context.object"),
    (memory(space="local"), "context.memory[0].space"),
    (memory(space=7), "context.memory[0].space"),
    (amdgpu(registers={"v256": 0}), "context.registers.v256"),
    (amdgpu(registers={"7": 0}), "context.registers.7"),
    (amdgpu(registers={"-1": 0}), "context.registers.-1"),
    # numbers that cannot be
    ({"address_size": 0}, "address_size"),
    ({"address_size": 9}, "address_size"),
    ({"target": "x86_64", "address_size": 4}, "target"),
    ({"target": "amdgcn-gfx90a", "byte_order": "big"}, "target"),
    ({"offset_size": 2}, "offset_size"),
    ({"dwarf_version": 1}, "dwarf_version"),
    ({"dwarf_version": 7}, "dwarf_version"),
    ({"context": {"registers": {"0": 1 << 64}}}, "context.registers.0"),
    ({"context": {"registers": {"0": "0x" + "f" * 4000}}}, "context.registers.0"),
    ({"context": {"registers": {"0": "9" * 5000}}}, "context.registers.0"),
    ({"context": {"registers": {"0": {"bytes": ""}}}}, "context.registers.0"),
    ({"target": "x86_64", "context": {"registers": {"rax": {"bytes": "00"}}}}, "context.registers.rax"),
    (amdgpu(registers={"v0": [0] * 65}), "context.registers.v0"),
    (amdgpu(registers={"s0": [0]}), "context.registers.s0"),
    (amdgpu(memory=[{"space": 5, "address": 0, "bytes": "00"}]), "context.memory[0]"),
    (amdgpu(memory=[{"space": 5, "lane": 64, "address": 0, "bytes": "00"}]), "context.memory[0]"),
    (amdgpu(memory=[{"space": 3, "lane": 0, "address": 0, "bytes": "00"}]), "context.memory[0].lane"),
    (amdgpu(memory=[{"space": 3, "address": 1 << 32, "bytes": "00"}]), "context.memory[0].address"),
    (amdgpu(memory=[{"space": 3, "address": (1 << 32) - 1, "bytes": "0000"}]), "context.memory[0]"),
    (obj(256, address_size=1), "context.object"),
    ({"address_size": 1, "context": {"debug_addr": {"0": 256}}}, "context.debug_addr.0"),
    ({"address_size": 1, "context": {"initial_stack": [256]}}, STACK),
    ({"address_size": 1, "context": {"initial_stack": [-129]}}, STACK),
    (entry({"value": 200, "type": SEVEN_BITS}), f"{STACK}.value"),
    (entry({"value": [1, 2], "type": THREE}), f"{STACK}.value"),
    (obj({"kind": "memory", "address": 1 << 64}), "context.object.address"),
    (obj({"kind": "memory", "address": 0, "bit": 8}), "context.object.bit"),
    (obj({"kind": "memory", "address": 0, "lane": 0}), "context.object.lane"),
    (obj(LOCAL), "context.object.space_name"),
    (obj(LOCAL, target="gfx90a"), "context.object.space_name"),
    (obj({"kind": "register"}), "context.object"),
    (obj({"kind": "register", "register": 0, "name": "r1"}), "context.object.name"),
    (obj({"kind": "register", "register": "v0"}), "context.object.register"),
    (obj({"kind": "register", "register": 0, "bit_offset": 64}), "context.object.bit_offset"),
    (obj({"kind": "implicit", "bytes": "00", "bit_offset": 8}), "context.object.bit_offset"),
    (obj({"kind": "implicit_pointer", "die": "0x4c"}), "context.object.die"),
    (obj({"kind": "implicit_pointer", "die": "info:0", "space": 3}), "context.object.space"),
    (obj({"kind": "implicit_pointer", "die": "info:0", "bit_offset": 64}), "context.object.bit_offset"),
    (obj({"kind": "multiple", "places": []}), "context.object.places"),
    # address spaces
    ({"context": {"spaces": {"0": FAR}}}, "context.spaces.0"),
    ({"context": {"spaces": {"x": FAR}}}, "context.spaces.x"),
    ({"context": {"spaces": {"1": FAR, "0x1": FAR}}}, "context.spaces.0x1"),
    ({"context": {"spaces": {"1": FAR, "2": FAR}}}, "context.spaces.2.name"),
    ({"context": {"spaces": {"1": {**FAR, "name": "default"}}}}, "context.spaces.1.name"),
    ({"context": {"spaces": {"1": {**FAR, "name": "none"}}}}, "context.spaces.1.name"),
    ({"context": {"spaces": {"1": {**FAR, "name": "1"}}}}, "context.spaces.1.name"),
    ({"context": {"spaces": {"1": {**FAR, "address_size": 9}}}}, "context.spaces.1.address_size"),
    ({"context": {"spaces": {"1": {"name": "far"}}}}, "context.spaces.1"),
    ({"context": {"spaces": []}}, "context.spaces"),
    (amdgpu(spaces={"1": FAR}), "context.spaces"),
    ({"target": "x86_64", "context": {"spaces": {}}}, "context.spaces"),
    (obj({"kind": "composite", "parts": [], "bit_offset": 1}), "context.object.bit_offset"),
    # what is given twice
    ({"context": {"registers": {"0": 1, "r0": 1}}}, "context.registers.r0"),
    ({"context": {"base_types": {"1": "generic", "0x1": "generic"}}}, "context.base_types.0x1"),
    ({"context": {"dies": {"unit:16": {}, "unit:0x10": {}}}}, "context.dies.unit:0x10"),
    ({"context": {"entry_values": {"9F": 1, "9f": 1}}}, "context.entry_values.9f"),
    ({"context": {"entry_registers": {"0": NOWHERE, "r0": NOWHERE}}}, "context.entry_registers.r0"),
    ({"context": {"memory": [REGION, {**REGION, "address": 1}]}}, "context.memory[1]"),
]  # fmt: skip


@pytest.mark.parametrize("keys, path", WRONG, ids=[f"{path}-{i}" for i, (_, path) in enumerate(WRONG)])
def test_what_is_not_a_case_is_named(keys, path):
    caught = raised(NotACase, run_case, {**BASE, **keys}, 3)
    assert caught.path == path
    assert caught.line == 3
    assert str(caught).startswith("not a case at line 3: ")


@pytest.mark.parametrize("case", [None, 5, "31", [], [BASE], True, {}, {"id": 1}, {"expr": "31", "ops": "DW_OP_lit1"}])
def test_a_case_is_an_object_with_one_expression(case):
    with pytest.raises(NotACase):
        run_case(case, 1)


def test_what_is_wrong_with_the_form_comes_first():
    assert issubclass(NotACase, MalformedFile)
    with pytest.raises(NotACase):
        run_case({"expr": "zz", "context": {"nothing": 1}}, 1)
    with pytest.raises(NotACase):
        run_case({"ops": "DW_OP_nothing", "stack": "yes"}, 1)


@for_each(
    "number, expected",
    (5, 5),
    ("5", 5),
    ("0x10", 16),
    ("0XfF", 255),
    ("-3", 2**64 - 3),
    (-3, 2**64 - 3),
    ("-0x3", 2**64 - 3),
    ("007", 7),
)
def test_integers_are_numbers_or_strings(number, expected):
    assert run_case({"expr": "", "context": {"initial_stack": [number]}}, 1)["result"]["value"] == expected


@pytest.mark.parametrize("text", ["", " 5", "5 ", "+5", "0x", "x10", "1_000", "--3", "5.0", "0b1", "\u0665", "five"])
def test_other_strings_are_no_integers(text):
    with pytest.raises(NotACase):
        run_case({"expr": "", "context": {"initial_stack": [text]}}, 1)


def test_lines_are_answered_in_order_and_as_they_come():
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


def test_a_line_counts_although_it_is_blank():
    assert json.loads(next(run_lines(["\n", "  \n", '{"expr": "31"}'])))["id"] == 3


@for_each(
    "line",
    "31",
    "{",
    '{"expr": "31"} {}',
    "{'expr': '31'}",
    '{"expr": "31", "expr": "32"}',
    '{"expr": "31", "context": {"lane": 1, "lane": 2}}',
    '{"expr": "31", "context": {"lane": NaN}}',
    '{"expr": "31", "id": Infinity}',
    '{"expr": "31", "id": ' + "9" * 5000 + "}",
    '{"expr": "31", "id": ' + "[" * 100_000,
    '{"expr": "31", "context": {"object": ' + '{"kind": "multiple", "places": [' * 200 + "]}" * 200 + "}}",
    "\ufeff{}",
)  # fmt: skip
def test_a_line_that_is_no_case_ends_the_run_and_is_named(line):
    answers = run_lines(['{"expr": "31"}', line, '{"expr": "31"}'])
    next(answers)
    caught = raised(NotACase, next, answers)
    assert caught.line == 2
    assert "line 2" in str(caught)


@pytest.mark.parametrize("name", ["a", "\u20ac \ud800", {"a": [1, None]}, 1.5, True, None, "", 10**30])
def test_the_id_is_echoed(name):
    assert json.loads(next(run_lines([json.dumps({"id": name, "expr": "31"})])))["id"] == name
