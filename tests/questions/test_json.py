"""Every question of the table answers as JSON at the prompt, and its data has what its text shows."""

import json

import pytest

from dwarfgpu.questions.table import COMMANDS
from tests.questions.harness import CALLS, IN_CALLS, KERNEL, STATE, Run, commands

SAMPLED = "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co"
ASKED = {
    name: words.strip()
    for name, _, words in (
        line.partition(":")
        for line in commands(f"""
            info sharedlibrary; info agents; info targets: gfx1100; info dispatches; info queues
            info dispatch; info kernel-args
            info kernels; info file; info images: {KERNEL}; maint snapshot: info {STATE}; info waves; info lanes
            map: even; backtrace; info frame; print: even; eval: even; locals; info locals
            info args; ptype: even; whatis: even; x: slots; info registers: v2 exec; info all-registers; list
            info line; info source; info sources; find: slots, +16, 1
            disassemble; info symbol: $pc; info address: even; info scope: X; info functions; info variables
            info types; explain: even; locate: even; coverage; report; verify; maint disasm: 31 23 04
            maint asm: DW_OP_lit1; maint operations: offset; maint print die: even; maint print dwarf-expr: even
            maint print cfi; info address-spaces; info outstanding; info fault
            maint print registers: v2; maint info sections
            maint core: info dwarfgpu/examples/crash.core
            maint launch-state: -grid 64 -work-group 64 X; memmodel: -target gfx1200 table store release agent
            maint annotate: fixtures/src/samples/divergent.O2.results.json {SAMPLED}
            maint judge: -grid 64 -work-group 64 X zeros(64) 40; maint print structure
            info macro: ITEM; macro expand: even + 1; macro expand-once: even + 1; macro list
        """)
    )
}
"""What each question is asked."""
ACTION = "it does something, and says what it did"
SELECTS = "it selects, and shows where that is: `bt`, `info waves` and `info lanes` have it as data"
RUNS = "it runs another command, which may have JSON"
DEBUGGER = "it is about the debugger itself"
VIEW = "it puts other answers together on the screen, each of which has JSON"
ALONE = "it writes exactly the text that the user has asked for"
LAUNCHED = frozenset(
    ("run", "start", "continue", "step", "next", "stepi", "nexti", "finish", "until", "advance", "jump",
     "reverse-continue", "reverse-step", "reverse-next", "reverse-stepi", "reverse-nexti", "reverse-finish",
     "info breakpoints", "info checkpoints", "info machine", "info launches", "info layout", "host", "history")
)  # fmt: skip
"""The questions about kernels and programs that run, which `test_execution` and tests/runtimes ask."""
NO_JSON = {
    **dict.fromkeys(("kill", "break", "tbreak", "watch", "rwatch", "awatch", "catch", "delete", "clear"), ACTION),
    **dict.fromkeys(("enable", "disable", "condition", "ignore", "commands", "dprintf"), ACTION),
    **dict.fromkeys(("file", "core-file", "target snapshot", "target launch", "save snapshot", "set var"), ACTION),
    **dict.fromkeys(("generate-core-file", "macro define", "macro undef"), ACTION),
    **dict.fromkeys(("wave", "wave find", "lane", "frame", "up", "down", "up-silently", "down-silently"), SELECTS),
    **dict.fromkeys(("wave apply", "lane apply", "frame apply", "with", "pipe", "source", "shell"), RUNS),
    **dict.fromkeys(("context", "display", "undisplay", "info display", "tui", "layout", "focus", "refresh"), VIEW),
    **dict.fromkeys(("output", "printf", "echo"), ALONE),
    **dict.fromkeys(("directory", "set substitute-path", "unset substitute-path", "show substitute-path"), DEBUGGER),
    **dict.fromkeys(("help", "apropos", "set", "show", "show values", "show convenience", "show version"), DEBUGGER),
    **dict.fromkeys(("show user", "define", "end", "alias", "quit", "complete"), DEBUGGER)}  # fmt: skip


def test_every_command_is_a_question_or_has_a_reason_not_to_be():
    rows = [row for row in COMMANDS if row.run]
    assert {row.name for row in rows if row.is_question} == {*ASKED, *LAUNCHED}
    assert {row.name for row in rows if not row.is_question} == set(NO_JSON)


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_question_answers_as_one_document_or_as_lines(run, name):
    if name == "maint print structure":
        error = run.fails("maint print structure --json queue 0x10")
        assert error.kind == "memory_unavailable"  # the state has no queue
        return
    if name == "info fault":
        assert run.fails("info fault --json").kind == "no_fault"  # no wave of the state has crashed
        return
    if name == "info macro":
        assert run.fails("info macro --json ITEM").kind == "no_name"  # the file has no macros
        return
    document = json.loads(run(f"{name} --json {ASKED[name]}"))
    assert next(iter(document.items())) == ("schema", 1)
    for line in run(f"{name} --jsonl {ASKED[name]}").splitlines():
        assert json.loads(line)["schema"] == 1


def ask(run, line):
    """The document of a question."""
    return json.loads(run(line))


def test_print_eval_and_locals_have_one_document(run):
    lanes = ask(run, "eval --json -lane 2 even")["answers"][0]["lanes"]
    assert lanes["2"]["value"] == 14
    assert ask(run, "print --json -lane 2 even")["answers"][0]["lanes"] == lanes
    assert (
        ask(run, "locate --json -lane 2 even")["answers"] == ask(run, "eval --json -location -lane 2 even")["answers"]
    )
    (frame,) = ask(run, "locals --json -lane 2")["frames"]
    assert next(entry for entry in frame["variables"] if entry["name"] == "even")["lanes"] == lanes
    assert ask(run, "map --json even")["answers"] == ask(run, "eval --json -all even")["answers"]
    assert ask(run, "map --json") == ask(run, "info lanes --json -all -each")
    run("lane 2")
    assert ask(run, "print --json even")["answers"][0]["lanes"]["2"]["value"] == 14
    assert run("print $1") == "$3 = 14\n"


def test_list_goes_on_behind_what_was_data(run):
    (missing,) = ask(run, "list --json 10,12")["listings"]
    assert missing["missing"] in run("list 10,12").replace("\n", " ")
    run("directory fixtures")
    (listing,) = ask(run, "list --json 10,12")["listings"]
    assert listing["file"] == "src/asm/lane-pc.c"
    assert listing["found"].endswith("fixtures/src/asm/lane-pc.c")
    assert [row["line"] for row in listing["lines"]] == [10, 11, 12]
    (following,) = run("list --jsonl").splitlines()
    assert json.loads(following)["first"] == 13
    assert run("list").startswith("23\t")


def test_lines_of_the_source_and_symbols(run):
    run("directory fixtures")
    (listing,) = ask(run, "list --json 15,15")["listings"]
    (row,) = listing["lines"]
    assert (row["line"], row["is_frame"], row["lanes"]) == (15, True, "0x55555")
    (line,) = ask(run, "info line --json 15")["lines"]
    assert run("info line 15") == (
        f'Line 15 of "{line["file"]}" starts at address {line["start"]:#x} <{line["function"]}+{line["offset"]}>\n'
        f"  and ends at {line['end']:#x} <{line['function']}+{line['offset'] + 4}>.\n"
    )
    source = ask(run, "info source --json")["source"]
    assert source["file"] == "src/asm/lane-pc.c"
    assert f"DWARF {source['dwarf_version']}" in run("info source")
    symbol = ask(run, "info symbol --json $pc")["symbol"]
    assert (symbol["name"], symbol["offset"], symbol["section"]) == ("X", 72, ".text")
    assert ask(run, "info symbol --json 1") == {"schema": 1, "address": 1, "symbol": None}
    function = ask(run, "info address --json X")["function"]
    assert run("info address X") == f'Symbol "X" is a function at address {function["address"]:#x}.\n'


def test_variables_are_described_without_a_state_too(run):
    (variable,) = ask(run, "maint print dwarf-expr --json even")["variables"]
    (location,) = variable["locations"]
    assert [line["operation"] for line in location["listing"]] == [
        text.split()[0] for text in location["operations"].split("; ")
    ]
    (explained,) = ask(run, "explain --json -lane 2 even")["variables"]
    assert variable.items() <= explained.items()
    assert explained["trace"][0]["text"] == "DW_OP_regx 2562"
    assert explained["answer"]["lanes"]["2"]["location"]
    of_scope = {entry["name"]: entry for entry in ask(run, "info scope --json *$pc")["variables"]}
    assert of_scope["even"]["byte_size"] == 4
    assert ask(run, "info address --json even")["variable"] == of_scope["even"]
    alone = Run(KERNEL)
    (answer,) = ask(alone, "locate --json even")["answers"]
    assert answer["name"] == "even"
    assert answer["locations"]
    assert "trace" not in ask(alone, "explain --json even")["variables"][0]
    document = ask(run, "explain --json -lane 2 even + limit")
    assert [variable["name"] for variable in document["variables"]] == ["even", "limit"]
    assert document["answers"][0]["lanes"]["2"]["value"] == 34


def test_what_there_is_and_no_document_behind_an_error(run):
    functions = ask(run, "info functions --json")
    assert functions["functions"][0]["name"] == "X"
    for function in functions["functions"]:
        assert f"{function['line']}:\t{function['text']}" in run("info functions")
    assert {entry["name"] for entry in ask(run, "info types --json int")["types"]} >= {"int"}
    document = ask(run, "info registers --json exec v2 pc")
    mask, vector, pc = document["registers"]
    assert document["frame"] == 0
    assert mask == {"name": "exec", "bit_size": 64, "value": "0x55555", "text": "349525"}
    assert vector["lanes"][2] == "0xe"
    assert len(vector["lanes"]) == 64
    assert int(pc["value"], 16) == 0x7F0000001548
    for line in ("info address --json zork", "explain --json zork", "list --json zork", "info registers --json zork"):
        run.fails(line)
        assert not run.written


def test_frames_and_backtraces_have_callers_and_locals():
    run = Run(CALLS, IN_CALLS)
    run("frame 1")
    document = ask(run, "info frame --json")
    stack = ask(run, "bt --json")["stacks"][0]["frames"]
    assert [document[key]["number"] for key in ("callee", "frame", "caller")] == [0, 1, 2]
    assert document["frame"] == stack[1]
    for name in document["saved_registers"]:
        assert f"  {name}: " in run("info frame")
    declared = ask(run, "ptype --json unsigned int")
    assert (declared["kind"], declared["byte_size"]) == ("base", 4)
    assert f"type = {declared['declaration']}\n" == run("ptype unsigned int")
    array = ask(run, "whatis --json int[2][3]")
    assert (array["kind"], array["element"], array["counts"], array["byte_size"]) == ("array", "int", [2, 3], 24)
    run = Run(CALLS, IN_CALLS)
    assert len(ask(run, "bt --json -wave 1-2")["stacks"]) == 1
    stacks = ask(run, "bt --json -full -wave 1-2")["stacks"]
    assert [stack["waves"] for stack in stacks] == [["1:1:1:1"], ["1:1:1:2"]]
    text = run("bt -full -wave 1-2")
    assert text.count("Wave 1 (1:1:1:1):\n") == text.count("Wave 2 (1:1:1:2):\n") == 1
    for frame in stacks[0]["frames"]:
        run(f"frame {frame['number']}")
        (shown,) = ask(run, "info locals --json")["frames"]
        assert frame["locals"] == shown["variables"]


def test_memory_and_code_are_numbers_and_text(run):
    document = ask(run, "x/2xw --json slots")
    (row,) = document["rows"]
    assert (document["format"], document["unit_size"]) == ("x", 4)
    assert (row["space"], row["address"], row["values"]) == ("private_lane", 0x10, [0, 1])
    assert row["texts"] == ["0x00000000", "0x00000001"]
    assert run("x") == "private_lane#0x18:\t0x00000002\t0x00000003\n"  # it goes on behind what was data
    run.fails("x/8dw --json &slots[2]")
    assert [row["values"] for row in json.loads("".join(run.written))["rows"]] == [[2, 3]]
    (stretch,) = ask(run, "disassemble --json $pc,+8")["ranges"]
    assert stretch["instructions"] == ask(run, "x/2i --json $pc")["instructions"]
    assert [row["text"] for row in stretch["instructions"]] == [
        line.split("\t")[1] for line in run("disassemble $pc,+8").splitlines()[1:-1]
    ]
    (whole,) = ask(run, "disassemble --json")["ranges"]
    assert whole["function"] == "X"
    assert whole["low"] <= 0x7F0000001548 < whole["high"]
