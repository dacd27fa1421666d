"""Answers: every form of values and locations, with exactly its keys in their order."""

import json

from cases import run_case

from tests.builders.cases import run_lines

GPU = {"target": "amdgcn-gfx90a"}


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


F64 = {"encoding": "float", "byte_size": 8}
UTF = {"encoding": "UTF", "byte_size": 4}


def test_numbers_are_written_as_what_they_are():
    found = result("DW_OP_regval_type 2560 1", **GPU, base_types={"1": {"encoding": "unsigned", "byte_size": 256}},
                   registers={"v0": [0] * 63 + [1]})  # fmt: skip
    assert found == value(1 << (63 * 32), {"encoding": "unsigned", "byte_size": 256})
    answer = ops("", initial_stack=[{"value": 1, "type": {"encoding": "float", "byte_size": 10}}])
    expected = ("error", "unsupported", "float_format")
    assert (answer["status"], answer["error"]["class"], answer["error"]["kind"]) == expected
    line = json.dumps({"expr": "", "context": {"initial_stack": [{"value": -0.0, "type": F64}]}})
    assert '"value": -0.0' in next(run_lines([line]))
