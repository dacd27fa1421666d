"""`finish` shows what a function has returned: types of all kinds, by the calling convention that clang uses."""

import json
import re
from pathlib import Path

import pytest

from tests.builders import kept
from tests.questions.harness import Run

SOURCE = Path(__file__).parent / "returned.cl"
LANE = 3
VALUES = {
    "a_char": "-2 '\\376'", "a_uchar": "253 '\\375'", "a_short": "-3", "a_bool": "true", "an_int": "3000",
    "a_long": "30000000000", "a_half": "3.5", "a_float": "3.25", "a_double": "3.125", "a_color": "RED",
    "a_float2": "{3, 4}", "a_float3": "{3, 4, 5}", "an_int4": "{3, -3, 5, 7}", "a_long2": "{3, -3}",
    "a_half2": "{3, 4}", "a_half3": "{3, 4, 5}", "a_short4": "{3, -3, 5, 7}",
    "a_char4": "{3, -3, 5, 7}", "a_double2": "{3, 3.5}", "a_one_char": "{c = 63 '?'}",
    "a_small": "{a = 3, b = -3 '\\375'}", "an_eight": "{a = 3, b = -3 '\\375', c = 5}",
    "a_mixed": "{a = 3 '\\003', b = -3, c = 3.5}", "a_with_vector": "{x = 3, v = {1, 2, 3}}",
    "a_dozen": "{all = {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33}}", "an_either": "{i = 3, f = 4.20389539e-45}",
    "a_halves": "{h = {3, 2}, k = 3, s = {4, 5, 3}}"}  # fmt: skip
UNKNOWN = {"a_large": "large", "a_fields": "fields"}
QUICK = (("gfx90a", "O0"), ("gfx1100", "O1"))
ALL = [(processor, level) for processor in ("gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1200")
       for level in ("O0", "O1", "O2")]  # fmt: skip


@pytest.fixture(scope="module",
                params=[pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in ALL],
                ids="-".join)  # fmt: skip
def code(request, require_tool, tmp_path_factory):
    processor, level = request.param
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa"]
    words += [f"-mcpu={processor}", f"-{level}", "-g", "-nogpulib", "-w", "-Xclang", "-finclude-default-header"]
    return kept.built([*words, SOURCE], tmp_path_factory.mktemp("returned") / "returned.co"), level


@pytest.fixture
def run(code):
    path, level = code
    run = Run(path, width=200)
    run("target launch returns 64 64 out=zeros(64)")
    run.level = level
    return run


def returned(run, *names):
    """Yield the name of each function that the kernel calls, in their order, and what `finish` says of it."""
    run(*(f"tbreak {name}" for name in names))
    for number in range(len(names)):
        if "exited normally" in run("continue" if number else "run"):
            return  # a call whose result is known beforehand is not made
        run(f"lane {LANE}")
        name = re.search(r"#0  (?:0x\w+ in )?(\w+) \(", run("frame"))[1]
        yield name, run("finish")


@pytest.mark.slow
def test_values_of_all_types(run):
    seen = []
    for number, (name, text) in enumerate(returned(run, *VALUES), 1):
        assert f"\nValue returned is ${number} = {VALUES[name]}\n" in text, name
        seen.append(name)
    assert len(VALUES) - len(seen) <= (run.level != "O0")
    number = seen.index("an_int") + 1
    assert run(f"print -lane 3-4 ${number}") == f"${len(seen) + 1} = {{[3]=3000, [4]=4000}}\n"


@pytest.mark.slow
def test_pointers_and_what_is_in_memory(run):
    texts = dict(returned(run, "a_pointer", *UNKNOWN, "nothing"))
    assert int(re.search(r"Value returned is \$1 = .*0x(\w+)", texts["a_pointer"])[1], 16) % 0x100 == 4 * LANE
    for name, kind in UNKNOWN.items():
        assert f"\nValue returned has type: {kind}. Cannot determine contents\n" in texts[name]
    assert "Value returned" not in texts["nothing"]


def test_each_lane_has_its_own_value_and_programs_have_it_too(run):
    run("tbreak an_int", "run", "lane 5", "finish")
    assert "[4]=4000, [5]=5000" in run("print -lane 4-5 $1")
    run("tbreak a_double", "run", f"lane {LANE}")
    assert json.loads(run("finish --json"))["result"] == {"type": "double", "number": 3, "value": "3.125"}
