"""``lanes``: one evaluation answers for each lane, as if it had been asked alone."""

import copy
import json
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from cases import run_case
from hypothesis import example, given

from dwarfgpu.strict_json import NotACase
from tests.tools.cases.generators import random_case

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
GPU32 = {"target": "amdgcn-gfx1100-wave32"}
S32 = {"encoding": "signed", "byte_size": 4}
LANE_OF_V4 = "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset"


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


def test_the_keys_of_an_answer_for_lanes():
    found = ask("DW_OP_LLVM_push_lane", lanes=[5, 0], **GPU)
    assert list(found) == ["id", "dialect", "rules", "lanes"]
    assert list(found["lanes"]) == ["5", "0"]
    assert found["lanes"]["5"] == {"status": "ok", "result": {"kind": "value", "type": "generic", "value": 5}}
    failed = ask(
        "DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_minus; DW_OP_lit4; DW_OP_swap; DW_OP_div", lanes=[0, 1], **GPU
    )
    assert list(failed["lanes"]["1"]) == ["status", "error"]
    assert failed["lanes"]["0"]["status"] == "ok"


COUNTS = [
    (GPU, {}, 64),                        (GPU32, {}, 32),                      ({}, {}, 1),
    (AMD, {"lane_count": 7}, 7),          (GPU, {"lane_count": 1}, 1),          (GPU, {"lane_count": 100}, 100),
]  # fmt: skip


@pytest.mark.parametrize("case, context, count", COUNTS)
def test_all_lanes_are_those_of_the_subprogram_or_of_the_target(case, context, count):
    keys = {**AMD, **case}
    assert lanes("DW_OP_LLVM_push_lane", context, lanes="all", **keys) == {str(lane): lane for lane in range(count)}


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


@pytest.mark.parametrize("wave, case", [(64, GPU), (32, GPU32)])
def test_each_lane_has_its_dword_of_a_vector_register(wave, case):
    numbers = [3 * lane - 50 for lane in range(wave)]
    found = lanes(LANE_OF_V4, {"registers": {"v4": numbers}}, lanes="all", read={"type": S32}, **case)
    assert list(found.values()) == numbers


def test_lanes_read_their_memory_and_keep_their_registers():
    data = b"".join(i.to_bytes(4, "little") for i in range(256)).hex()
    context = {"memory": [{"space": "private_wave", "address": 0, "bytes": data}]}
    text = "DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
    expected = {str(lane): 128 + lane for lane in range(64)}
    assert lanes(text, context, lanes="all", read={"type": S32}, **GPU) == expected
    assert lanes(f"{text}; DW_OP_deref_size 4", context, lanes="all", **GPU) == expected
    context = {"registers": {"3": [10, 20, 30]}}
    assert lanes("DW_OP_breg3 1; DW_OP_lit0; DW_OP_plus", context, lanes=[2, 0, 3], **AMD) == {
        "2": 31, "0": 11, "3": "register_unavailable"}  # fmt: skip
    context = {"registers": {"3": [10, 0, 30, 0, 50]}, "cfa": {"kind": "register", "register": 3}, "lane_count": 5}
    text = "DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_mod; DW_OP_bra @odd; DW_OP_breg3 1; DW_OP_lit0; DW_OP_plus; "
    text += "DW_OP_skip @end; odd: DW_OP_call_frame_cfa; DW_OP_deref; DW_OP_lit7; DW_OP_plus; end: DW_OP_nop"
    assert lanes(text, context, lanes="all", **AMD) == {"0": 11, "1": 7, "2": 31, "3": 7, "4": 51}


def test_an_element_of_the_context_may_belong_to_each_lane():
    data = b"".join(i.to_bytes(4, "little") for i in range(256)).hex()
    private = {"kind": "memory", "space": "private_lane", "address": 4}
    context = {
        "memory": [{"space": "private_wave", "address": 0, "bytes": data}],       "object": private,
        "initial_stack": [private],          "frame_base": private,               "entry_registers": {"v0": private},
    }  # fmt: skip
    for text in ("DW_OP_push_object_address", "DW_OP_nop", "DW_OP_fbreg 0", "DW_OP_LLVM_call_frame_entry_reg v0"):
        assert lanes(text, context, lanes=[0, 5, 63], read={"type": S32}, **GPU) == {"0": 64, "5": 69, "63": 127}, text


def test_each_lane_has_its_stack_and_writes_before_any_reads():
    found = ask("DW_OP_LLVM_push_lane; DW_OP_dup; DW_OP_lit2; DW_OP_plus", lanes=[0, 5], stack=True, **GPU)["lanes"]
    assert [entry["value"] for entry in found["0"]["stack"]] == [0, 2]
    assert [entry["value"] for entry in found["5"]["stack"]] == [5, 7]
    context = {"memory": [{"space": 0, "address": 0, "bytes": "00" * 8}]}
    assert lanes("DW_OP_addr 4", context, lanes=[0, 1], write="07", read={"bytes": 1}) == {"0": "07", "1": "07"}
    text = "DW_OP_LLVM_push_lane"
    assert lanes(text, context, lanes=[0, 1, 2, 9], write="0708", read={"bytes": 2}, **GPU) == {
        "0": "0707", "1": "0707", "2": "0708", "9": "memory_unavailable"}  # fmt: skip


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
    case = random_case(choose)
    case.pop("write", None)
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
