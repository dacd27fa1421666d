"""A question has one text, one JSON and one error, at the command line and at the debugger's prompt."""

from typing import Any

import pytest

from dwarfgpu.questions.table import AT_SHELL
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

FILE = str(ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co")
STATE = str(ROOT / "dwarfgpu/examples/variables.json")
CORE = str(ROOT / "dwarfgpu/examples/crash.core")
STOPPED = ("--state", STATE)
LAUNCHED = ("-grid 64 -work-group 64 X", "X --grid 64 --work-group 64")


@pytest.fixture
def at_prompt(run: Any) -> Any:
    """Run a line at the prompt of a debugger without a terminal, without what opening the files says."""

    def at_prompt(line: str, *opened: str) -> tuple[int, str, str]:
        words = ("debug", *opened, "-nx", "-q", "-batch")
        before = run(*words)[1]
        status, out, err = run(*words, "-ex", line)
        return status, out.removeprefix(before), err

    return at_prompt


EQUAL = (
    (f"files {FILE} --state {STATE}", "info sharedlibrary FORM"),
    (f"agents {FILE} --state {STATE}", "info agents FORM"),
    (f"dispatches {FILE} --state {STATE}", "info dispatches FORM"),
    (f"queues {FILE} --state {STATE}", "info queues FORM"),
    (f"kernels {FILE} --fields", "info kernels FORM -fields"),
    (f"info {FILE} --units", "info file FORM -units"),        (f"ls {FILE}", "info images FORM"),
    (f"snapshot info {STATE}", f"maint snapshot FORM info {STATE}"),
    (f"core {CORE}", f"maint core FORM info {CORE}"),    (f"waves {FILE} --state {STATE}", "info waves FORM"),
    (f"lanes {FILE} --state {STATE} --lane 0-5", "info lanes FORM -lane 0-5"),
    (f"bt {FILE} --state {STATE} --registers", "bt FORM -registers"),
    (f"bt {FILE} --state {STATE} --full --lane 2", "bt FORM -full -lane 2"),
    (f"eval {FILE} even --state {STATE} --lane 2 --location", "eval FORM -lane 2 -location even"),
    (f"eval {FILE} even --state {STATE} --lane 0-3,6 --format x", "eval/x FORM -lane 0-3,6 even"),
    (f"eval {FILE} even --state {STATE} --all --trace", "eval FORM -all -trace even"),
    (f"eval {FILE} even", "eval FORM even"),                  (f"coverage {FILE}", "coverage FORM"),
    (f"report {FILE} --state {STATE}", "report FORM"),        (f"dump {FILE} even", "maint print die FORM even"),
    (f"cfi {FILE} --pc 0x1548", "maint print cfi FORM 0x1548"),
    (f"state {FILE} {LAUNCHED[1]}", f"maint launch-state FORM {LAUNCHED[0]}"),
    (f"judge {FILE} X --grid 128 --work-group 64 zeros(128) 40",
     "maint judge FORM -grid 128 -work-group 64 X zeros(128) 40"),
    (f"memmodel show {FILE}", f"memmodel FORM show {FILE}"),  ("targets gfx1100", "info targets FORM gfx1100"),
    ("ops offset", "maint operations FORM offset"),
    ("ops --isa v_bfe_u32", "maint operations FORM -isa v_bfe_u32"),
    ("ops --rules overlay", "maint operations FORM -rules overlay"),
    ("ops --repairs vector-register", "maint operations FORM -repairs vector-register"),
    ("disasm --target amdgcn-gfx90a 312304", "maint disasm FORM -target amdgcn-gfx90a 312304"),
    ("asm --target amdgcn-gfx90a DW_OP_lit1", "maint asm FORM -target amdgcn-gfx90a DW_OP_lit1"))  # fmt: skip
"""A question at the command line, and at the prompt, where FORM is `--json`, `--jsonl` or nothing."""


@pytest.mark.parametrize("form", ["", "--json", "--jsonl"])
@pytest.mark.parametrize("command, line", EQUAL)
@pytest.mark.sampled(6)
def test_a_question_has_one_answer_at_every_face(run, at_prompt, command, line, form):
    words = command.split()
    opened = (FILE, *(STOPPED if STATE in words[2:] else ()))
    assert at_prompt(line.replace("FORM", form), *opened) == run(*words, *([form] if form else []))


@for_each("command, line", ("--lane 2", "locals -lane 2"), ("--all --location", "locals -all -location"))
def test_locals_are_the_same_below_the_head_that_a_command_line_needs(run, at_prompt, command, line):
    head, *lines = run("locals", FILE, *STOPPED, *command.split(), "-t", "int$")[1].splitlines()
    assert head == "#0  X at src/asm/lane-pc.c:15"
    chosen = at_prompt(f"{line} -t int$", FILE, *STOPPED, "--lane", "2")[1]
    assert chosen.split() == " ".join(lines).split(), "lines begin further left, so that some are cut elsewhere"


def test_locals_of_the_lane_in_focus_are_in_the_words_of_gdb(at_prompt):
    lines = at_prompt("locals", FILE, *STOPPED, "--lane", "2")[1].splitlines()
    assert "out = generic#0x10000" in lines
    assert "unused = <optimized out> (it has neither a location nor a constant value)" in lines
    assert set(at_prompt("info locals", FILE, *STOPPED, "--lane", "2")[1].splitlines()) <= set(lines)


@pytest.mark.parametrize("form", ["--json", "--jsonl"])
@for_each("command, line, status",
    ("info {} {} --pc 1", "info file {} -pc 1", 1),
    ("cfi {} {} --pc 1", "maint print cfi {} -pc 1", 1),
    ("info {} {} --budget 1 --pc X", "with budget 1 -- info file {} -pc X", None))  # fmt: skip
def test_what_is_wrong_with_an_answer_that_is_data_is_said_beside_it(run, at_prompt, command, line, status, form):
    expected = run(*command.format(FILE, form).split())
    assert at_prompt(line.format(form), FILE) == expected
    if status is not None:
        assert expected[0] == status
        assert expected[2].startswith("dwarfgpu: error: ")


@for_each("words",
    *("eval even --lane 99", "eval even --lane 3-1", "eval even --lane x", "eval nosuch"),
    *("eval even --format q", "eval even --format 3x", "eval even --repair zz", "lanes --lane 99"),
    *("lanes --lane x", "bt --lane 99", "bt --lane x", "bt --wave 9", "waves 9", "waves 3-1"))  # fmt: skip
def test_an_error_has_one_text_at_every_face(run, at_prompt, words):
    name, *rest = words.split()
    expected = run(name, FILE, *rest, *STOPPED)
    assert expected[0] == 2
    options = " ".join(rest).replace("--", "-")
    line = f"{options} ".replace("even ", "", 1) + "even" if "even" in rest else options
    if "-format" in line:
        line = f"/{rest[-1]} even"
    name = AT_SHELL[name].name
    assert at_prompt(f"{name}{'' if line.startswith('/') else ' '}{line}", FILE, *STOPPED) == expected


def test_verify_takes_no_unknown_rules_for_the_list_of_rules(at_prompt):
    assert at_prompt("verify -rules zz", FILE)[2].startswith(
        "dwarfgpu: error: `verify` takes no arguments, and 'zz' is"
    )
