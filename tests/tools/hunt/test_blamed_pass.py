"""The pass that makes a finding, found in what passes print and by leaving them out."""

import pytest
from hunt.blamed_pass import PassFinder, dumps_of, limited, option_name, sightings
from hunt.cause_finder import CauseFinder
from hunt.source_levels import SourceFinding, SourceLevels
from hunt.source_variants import SourceVariants

from dwarfgpu.errors import DwarfGpuError, Unsupported

IR = """*** IR Dump After {} on k ***
define amdgpu_kernel void @k(i32 %0) {{
  %2 = add i32 %0, 1
    #dbg_value(i32 {}, !7, !DIExpression(), !9)
  ret void
}}
!7 = !DILocalVariable(name: "id", scope: !5, file: !1, line: 2, type: !8)
"""
MIR = """*** IR Dump After {} on k ***
# Machine code for function k: NoPHIs
bb.0:
{}
# End machine code for function k.
"""
DEFINED = "  renamable $vgpr0 = V_LSHLREV_B32_e32 2, killed $vgpr0, debug-location !9; k.cl:6:3"
BEFORE = "  $vgpr0 = COPY $vgpr1, debug-location !9; k.cl:2:12"
VALUE = '  DBG_VALUE $vgpr0, $noreg, !"id", !DIExpression(), debug-location !9; k.cl:0 line no:2'
BISECT = "".join(f"BISECT: running pass ({n}) {name} on k\n" for n, name in enumerate(("sroa", "postmisched"), 1))
MESSAGES = (
    IR.format("SROAPass", "%0")
    + MIR.format("AMDGPU DAG->DAG Pattern Instruction Selection (amdgpu-isel)", f"{BEFORE}\n{VALUE}\n{DEFINED}")
    + MIR.format("PostRA Machine Instruction Scheduler (postmisched)", f"{BEFORE}\n{DEFINED}\n{VALUE}")
    + BISECT
)


def finder(is_wrong, messages=MESSAGES):
    return PassFinder(lambda _words: messages, is_wrong)


def test_dumps_are_of_one_function_with_the_names_of_variables():
    dumps = dumps_of(MESSAGES, "k")
    assert [option_name(dump) for dump in dumps] == ["sroa", "amdgpu-isel", "postmisched"]
    assert dumps_of(MESSAGES, "other") == []
    assert [sightings(dump, "id") for dump in dumps] == [
        [("i32 %", "")], [("register", "k.cl:2:12")], [("register", "k.cl:6:3")],
    ]  # fmt: skip
    assert [
        dump.name
        for dump in dumps_of(MESSAGES.replace("@k(", "@_Z1kPi(").replace("function k", "function _Z1kPi"), "k(int*)")
    ]


def test_the_pass_without_which_the_finding_is_gone():
    tried = []

    def is_wrong(words):
        tried.append(words)
        return words != ("-mllvm", "-opt-disable=postmisched")

    found = finder(is_wrong).of_variable("k", "id")
    assert (found.name, found.is_confirmed) == ("postmisched", True)
    assert any("V_LSHLREV" in line for line in found.after)
    assert not any("debug-location" in line for line in found.after)
    assert tried == [("-mllvm", "-opt-disable=postmisched")]


def test_without_such_a_pass_one_that_always_runs():
    found = finder(lambda _words: True).of_variable("k", "id")
    assert (found.name, found.is_confirmed) == ("amdgpu-isel", False)


def test_a_pass_that_takes_a_variable_out_of_memory_is_no_suspect():
    declared = IR.format("InlinerPass", "ptr %2").replace("#dbg_value", "#dbg_declare")
    tried = []

    def is_wrong(words):
        tried.append(words)
        return "-opt-disable=sroa" not in words

    assert finder(is_wrong, declared + IR.format("SROAPass", "%0") + BISECT).of_variable("k", "id") is None
    assert tried == []


def not_built(_words):
    raise Unsupported("clang", "unknown argument")


def test_a_build_that_fails_confirms_nothing():
    found = finder(not_built).of_variable("k", "id")
    assert (found.name, found.is_confirmed) == ("amdgpu-isel", False)


def test_what_cannot_be_built_without_a_pass_may_still_be_wrong(require_tool, monkeypatch):
    monkeypatch.setenv("CLANG", require_tool("clang-22", "clang"))
    text = "kernel void k(global int *out) { *out = 1; }\n"
    with SourceVariants(SourceLevels("k.cl", "gfx90a"), "k") as variants:
        found = CauseFinder(variants, "1", SourceFinding("value-failed", "k", "out", 0, 1, ""))
        assert found.found_in("kernel") is None
        assert found.found_in(text) is None
        with pytest.raises(DwarfGpuError):
            found.found_in(text, ("-mllvm", "-no-such-option"))


def test_the_pass_behind_which_a_variable_is_lost():
    lost = IR.format("SROAPass", "%0") + IR.format("InstCombinePass", "poison") + BISECT
    found = finder(lambda words: "-opt-disable=instcombine" not in words, lost).of_variable("k", "id", is_lost=True)
    assert (found.name, found.is_confirmed) == ("instcombine", True)


@pytest.mark.parametrize("first, name", [(1, "sroa"), (2, "postmisched")])
def test_a_result_is_bisected(first, name):
    def is_wrong(words):
        number = int(words[1].partition("=")[2])
        return number == -1 or number >= first

    found = finder(is_wrong).of_result()
    assert (found.name, found.is_confirmed) == (name, True)
    assert found.how == f"wrong with `-mllvm -opt-bisect-limit={first}`, right with {first - 1}"


def test_a_result_that_is_wrong_without_passes_is_one_of_the_selection():
    assert finder(lambda words: "-global-isel" not in words).of_result().name == "SelectionDAG"
    assert finder(lambda _words: True).of_result().name == "code generation"
    assert limited(-1) == ("-mllvm", "-opt-bisect-limit=-1")
