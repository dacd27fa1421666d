"""``lanes``: one evaluation answers for each lane, as if it had been asked alone."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from cases import run_case
from fuzz.grammar import Maker
from hypothesis import example, given

from dwarfgpu.strict_json import NotACase

GPU = {"target": "amdgcn-gfx90a"}


def ask(text, context=None, **case):
    return run_case({"ops": text, "context": context or {}, **case}, 1)


def short(answer):
    if answer["status"] == "error":
        return answer["error"]["kind"]
    if "read" in answer:
        return answer["read"].get("value", answer["read"]["bytes"])
    return answer["result"].get("value", answer["result"]["kind"])


def lanes(text, context=None, **case):
    return {lane: short(answer) for lane, answer in ask(text, context, **case)["lanes"].items()}


def test_lanes_that_are_few_many_or_not_there():
    assert lanes("DW_OP_LLVM_push_lane", lanes=[63, 64], **GPU) == {"63": 63, "64": "bad_operand"}
    assert lanes("DW_OP_lit1", lanes=[100000], **GPU) == {"100000": 1}
    assert lanes("DW_OP_lit4; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_deref", lanes=[64, 65], **GPU) == {
        "64": "memory_unavailable", "65": "memory_unavailable"}  # fmt: skip
    assert ask("DW_OP_drop", lanes=[], **GPU) == {"id": 1, "dialect": "llvm-user", "rules": "amd", "lanes": {}}
    with pytest.raises(NotACase):
        ask("DW_OP_lit1", {"lane_count": 1 << 30}, lanes="all")
    with pytest.raises(NotACase):
        ask("DW_OP_lit1", lanes=list(range((1 << 16) + 1)))
    assert lanes("DW_OP_LLVM_push_lane", {"lane": 9}, lanes=[3], **GPU) == {"3": 3}
    answer = ask("DW_OP_nothing", lanes=[0, 1], **GPU)
    assert (list(answer), answer["status"]) == (["id", "status", "error"], "error")


def outcome(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what only a single one has, and without words, which may be for all lanes at once."""
    kept = {key: one for key, one in answer.items() if key not in ("id", "dialect", "rules")}
    if "error" in kept:
        kept["error"] = {key: one for key, one in kept["error"].items() if key != "message"}
    return kept


@given(st.integers(0, 2**32))
@example(3052)
def test_lanes_together_are_lanes_alone(seed):
    choose = random.Random(seed)
    case = {"context": {}, **Maker(choose, Path()).question()}
    for key in ("write", "lanes"):
        case.pop(key, None)
    asked = choose.sample(range(8), 5) + ([31] if case.get("target", "").startswith("amdgcn") else [])
    try:
        together = run_case({**copy.deepcopy(case), "lanes": asked}, 1)
        alone = {}
        for lane in asked:
            case["context"]["lane"] = lane
            alone[str(lane)] = run_case(case, 1)
    except NotACase:
        return
    found = together.get("lanes", dict.fromkeys(alone, together))
    assert {lane: outcome(one) for lane, one in found.items()} == {lane: outcome(one) for lane, one in alone.items()}, (
        json.dumps(case)
    )
