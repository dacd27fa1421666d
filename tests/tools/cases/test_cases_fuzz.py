"""Whatever a line holds, it is answered or it is no case; nothing else ever happens."""

import contextlib
import json
import random
from pathlib import Path

import hypothesis.strategies as st
import pytest
from cases import run_case
from fuzz.grammar import Maker
from hypothesis import example, given

from dwarfgpu import dialects
from dwarfgpu.strict_json import NotACase
from tests.builders.cases import run_lines
from tests.builders.parameters import for_each

CLASSES = {"ill_formed", "evaluation_error", "missing_context", "malformed", "unsupported"}
WIDE = {"encoding": "unsigned", "byte_size": 2000}
ODD = (
    *(None, True, False, 0, 1, -1, 7, 64, 1 << 31, 1 << 64, -(1 << 70), 1 << 9000, 0.5, -0.0, 1e300),
    *("", "0", "-1", "0x10", "0x" + "f" * 40, "9" * 3000, "zz", "00", "ff" * 40, "\u0000", "\ud800"),
    *("generic", "memory", "DW_OP_lit1", "r0", "v0", "unit:16", "info:0x10", "nan", "value", "all", "local"),
    *([], [0], [[]], {}, {"kind": "undefined"}, {"kind": "memory", "address": 0}, {"ops": "DW_OP_lit1"}),
    *({"bytes": "00"}, {"value": 1, "type": "generic"}, {"encoding": "float", "byte_size": 4}, WIDE))  # fmt: skip


def random_case(choose):
    """A case with a random program in a random context."""
    return {"context": {}, **Maker(choose, Path()).question()}


def check(case):
    """Ask, and look at what came back."""
    try:
        answer = run_case(case, 1)
    except NotACase:
        return None
    text = json.dumps(answer)
    assert json.loads(text) == answer or "NaN" not in text
    for one in answer["lanes"].values() if "lanes" in answer else [answer]:
        if one["status"] == "error":
            assert one["error"]["class"] in CLASSES
            assert one["error"]["kind"]
            assert one["error"]["message"]
        else:
            assert one["result"]["kind"]
    return answer


@given(st.integers(0, 2**32))
@example(0)
def test_random_programs_in_random_contexts(seed):
    check(json.loads(json.dumps(random_case(random.Random(seed)))))


@given(st.integers(0, 2**32), st.binary(max_size=24), st.sampled_from(dialects.NAMES))
@example(0, bytes.fromhex("e90d"), "llvm-user")
def test_random_bytes(seed, data, dialect):
    case = random_case(random.Random(seed))
    case.pop("ops", None)
    check({**case, "dialect": dialect, "expr": data.hex(), "limits": {"steps": 300}})


@given(st.integers(0, 2**32))
def test_cases_that_somebody_damaged(seed):
    choose = random.Random(seed)
    case = random_case(choose)
    for _ in range(choose.randrange(1, 4)):
        case = damaged(choose, case)
    check(case)


def damaged(choose, value):
    """A JSON value with one thing in it changed, removed, added or moved."""
    if not isinstance(value, (dict, list)) or not value or choose.random() < 0.08:
        return choose.choice(ODD)
    if isinstance(value, list):
        index = choose.randrange(len(value))
        changed = list(value)
        what = choose.random()
        if what < 0.1:
            del changed[index]
        elif what < 0.2:
            changed.append(choose.choice(changed))
        else:
            changed[index] = damaged(choose, changed[index])
        return changed
    key = choose.choice(list(value))
    changed = dict(value)
    what = choose.random()
    if what < 0.05:
        del changed[key]
    elif what < 0.1:
        changed[str(choose.choice(ODD))] = changed.pop(key)
    elif what < 0.15:
        changed[key] = changed[choose.choice(list(value))]
    else:
        changed[key] = damaged(choose, changed[key])
    return changed


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


def nested(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)


@given(st.recursive(PLAIN, nested))
def test_any_value(value):
    check(value)
    check({"expr": "31", "context": value})
    check({"expr": "31", "read": value, "lanes": value, "limits": value})


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_any_line(line):
    with contextlib.suppress(NotACase):
        assert len(list(run_lines([line]))) <= 1


@given(st.text(alphabet="DW_OP_litpluskbra@:; 0123456789xabcdef()-,#\n", max_size=60))
def test_any_text(text):
    check({"ops": text, "limits": {"steps": 100}})
    check({"ops": f"DW_OP_{text}", "limits": {"steps": 100}})


@for_each("text",
    "DW_OP_constu " + "9" * 5000, "DW_OP_consts -0x" + "f" * 3000, "DW_OP_skip " + "1" * 5000,
    "DW_OP_implicit_value " + "00" * 100_000, "DW_OP_entry_value " + "(DW_OP_entry_value " * 3000 + ")" * 3000,
    "DW_OP_lit1; " * 20_000, "x" * 100_000, "a:" * 5000, "(" * 5000, ids=range(9))  # fmt: skip
def test_long_text(text):
    check({"ops": text})


@for_each("text",
    pytest.param("DW_OP_addr 0; DW_OP_LLVM_extend 1 65536; DW_OP_LLVM_extend 65536 65536", marks=pytest.mark.slow),
    "DW_OP_addr 0; DW_OP_LLVM_extend 1 65537",
    "DW_OP_addr 0; DW_OP_LLVM_extend 1 0xffffffffffffffff",
    "DW_OP_addr 1; DW_OP_piece 0xffffffffffffffff; DW_OP_piece 2",
    "DW_OP_addr 2; DW_OP_piece 0xffffffffffffffff",
    "DW_OP_addr 8; DW_OP_LLVM_offset_uconst 0x7fffffffffffffff; DW_OP_deref; DW_OP_LLVM_offset")  # fmt: skip
def test_composites_that_are_too_large(text):
    answer = check({"ops": text, "rules": "amd", "dialect": "llvm-user", "stack": True})
    assert answer is not None
    assert answer["status"] == "error"


def test_composites_may_be_large_in_many_lanes():
    answer = check({"ops": "DW_OP_addr 0; DW_OP_piece 0xffffffffffffffff", "rules": "amd", "dialect": "llvm-user"})
    assert answer is not None
    assert answer["result"]["parts"][0]["bit_size"] == 8 * (2**64 - 1)
    case = {"ops": "DW_OP_reg0; DW_OP_LLVM_extend 8 64", "rules": "amd", "dialect": "llvm-user", "lanes": "all"}
    answer = check({**case, "context": {"lane_count": 100}})
    assert answer is not None
    assert len(answer["lanes"]["99"]["result"]["parts"]) == 64
