"""Answers: numbers, with exactly the keys of their form."""

import json

from cases import run_case

from tests.builders.cases import run_lines


def of_float(number, byte_size):
    return {"initial_stack": [{"value": number, "type": {"encoding": "float", "byte_size": byte_size}}]}


def test_numbers_are_written_as_what_they_are():
    wide = {"encoding": "unsigned", "byte_size": 256}
    context = {"base_types": {"1": wide}, "registers": {"v0": [0] * 63 + [1]}}
    answer = run_case({"ops": "DW_OP_regval_type 2560 1", "target": "amdgcn-gfx90a", "context": context}, 1)
    assert answer["result"] == {"kind": "value", "type": wide, "value": 1 << (63 * 32)}
    error = run_case({"ops": "", "context": of_float(1, 10)}, 1)["error"]
    assert (error["class"], error["kind"]) == ("unsupported", "float_format")
    assert '"value": -0.0' in next(run_lines([json.dumps({"expr": "", "context": of_float(-0.0, 8)})]))
