"""The kinds of expressions against the evaluator: what is told without an evaluation is what one gives."""

import json

import pytest

from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.repairs import OFF
from tests.builders.commands import run
from tests.builders.hostile import gpu, variable

EXPRESSIONS = (
    "DW_OP_regx s4",
    "DW_OP_reg0",  # the target has no register 0
    "DW_OP_plus",
    "DW_OP_regx s4; DW_OP_lit2; DW_OP_LLVM_offset",
    "DW_OP_addr 0x10000",
    "DW_OP_lit16",
    "DW_OP_lit16; DW_OP_lit4; DW_OP_plus",
    "DW_OP_lit16; DW_OP_lit0; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit16; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit16; DW_OP_lit2; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit1; DW_OP_bra @a; DW_OP_regx s4; DW_OP_skip @b; a: DW_OP_lit1; DW_OP_stack_value; b:",
    "DW_OP_lit1; DW_OP_stack_value",
    "DW_OP_implicit_value 01020304",
    "DW_OP_LLVM_undefined",
    "DW_OP_lit1; DW_OP_lit2; DW_OP_drop; DW_OP_drop; DW_OP_LLVM_undefined",
    "DW_OP_regx s4; DW_OP_piece 4; DW_OP_regx s5; DW_OP_piece 4",
    "DW_OP_regx s4; DW_OP_piece 4; DW_OP_piece 4",
    "DW_OP_piece 4; DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 4",
    "DW_OP_regx s4; DW_OP_regx s5; DW_OP_swap; DW_OP_drop",
)


def evaluated(text: str) -> str:
    options = ("--target", "amdgcn-gfx90a", "--want", "location", "--json")
    document = json.loads(run("eval", "--ops", text, *options).stdout)
    if document["status"] != "ok":
        return "ill-formed"
    result = document["result"]
    kind = result["kind"]
    if kind == "memory":
        return f"memory {result['space_name']}"
    if kind == "composite" and any(part["location"]["kind"] == "undefined" for part in result["parts"]):
        return "partial composite"
    return kind


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_kind_is_that_of_the_evaluated_location(text):
    (record,) = FileAvailability(opened(gpu(variable("x", location=text))), repair=OFF)
    (told,) = [kind for kind, _count in (*record.written, *record.missing)]
    assert told == evaluated(text)
