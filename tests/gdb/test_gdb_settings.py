"""What GDB's user has set or named holds in the commands, too: variables, history, pretty-printers, `set print`."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.gdb.running import run_gdb

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def nodes(require_tool, tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("nodes") / "list"
    subprocess.run([require_tool("gcc"), "-g", "-O0", PROGRAMS / "list.c", "-o", program], check=True)
    return program


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def holders(request, require_tool, tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("holders") / "holders"
    words = [require_tool("g++"), "-g", request.param, "-std=c++17", PROGRAMS / "holders.cc", "-o", program]
    subprocess.run(words, check=True)
    return program


def answers(require_tool, program: Path, *commands: str, stop: str) -> list[str]:
    """Return what each command prints, at a place of the program."""
    words = ["-ex", f"break {stop}", "-ex", "run"]
    for command in commands:
        words += ["-ex", "echo \\n@@", "-ex", command]
    text = run_gdb(require_tool, *words, program=program)
    assert "Traceback" not in text, text
    assert "Python Exception" not in text, text
    return [part.strip() for part in text.split("\n@@")[1:]]


@pytest.mark.slow
def test_expressions_know_gdbs_variables_and_history(require_tool, nodes):
    shown = "{d = {1, 2, 3, 4, 5, 6, 7, 8}, next = 0x~ <nodes+64>, in = {s = 3, f = 2.5, low = 5}}"
    commands = {
        "set $i = 3": "",                                      "dwarfgpu eval n->d[$i]": "n->d[$i] = 4",
        'print $dwarfgpu("n->d[$i + 1]")': "$1 = 5",           "print *n": f"$2 = {shown}",
        "set var n->d[0] = 100": "",  # the history has what was there
        "dwarfgpu eval $2": f"$2 = {shown}",                   "dwarfgpu eval $2.in.f + $1": "$2.in.f + $1 = 7.5",
        "dwarfgpu eval $$1 * $.in.low": "$$1 * $.in.low = 25", "set $p = n->next": "",
        "dwarfgpu eval $p->d[0] + $p->in.s": "$p->d[0] + $p->in.s = 15",
        "set $f = 1.5": "",                                    "dwarfgpu eval $f * 2": "$f * 2 = 3",
        'set $text = "abc"': "",                               "dwarfgpu eval $text": '$text = "abc"',
        "dwarfgpu eval $_thread": "$_thread = 1",              "dwarfgpu eval $nosuch": "$nosuch = void"}  # fmt: skip
    found = answers(require_tool, nodes, *commands, stop="list.c:7")
    assert [re.sub(r"0x[0-9a-f]{9,}", "0x~", text) for text in found] == list(commands.values())


@pytest.mark.slow
def test_what_is_set_here_is_gdbs_and_what_has_no_value_is_one_line(require_tool, nodes):
    pairs = (
        ("dwarfgpu set $j = n->d[2] * 10", ""),                ("print $j", "$1 = 30"),
        ("whatis $j", "type = int"),                           ("dwarfgpu set $s = *n->next", ""),
        ("print $s.d[1] + $s.in.s", "$2 = 16"),                ("dwarfgpu set $j = $j + 1", ""),
        ("print $j", "$3 = 31"))  # fmt: skip
    found = answers(require_tool, nodes, *(command for command, _ in pairs), stop="list.c:7")
    assert found == [text for _, text in pairs]
    commands = {
        "dwarfgpu eval $9": "History has not yet reached $9, at column 1 of '$9'",
        "dwarfgpu eval $": "The history is empty, at column 1 of '$'",
        "dwarfgpu eval n->d[$void]": "Non-integral right operand for \"[]\" operator, at column 5 of 'n->d[$void]'",
        "dwarfgpu eval $_siginfo": "GDB's $_siginfo has no value here: the program has no type struct siginfo",
    }
    for text, expected in zip(answers(require_tool, nodes, *commands, stop="list.c:7"), commands.values(), strict=True):
        assert text.startswith(expected)
        assert "\n" not in text


@pytest.mark.slow
def test_settings_of_gdb_hold_until_there_is_another(require_tool, nodes):
    commands = (
        *("set print elements 3", "dwarfgpu eval n->d", "show dwarfgpu print elements",
            "set dwarfgpu print elements 5"),
        *("dwarfgpu eval n->d", "show dwarfgpu print elements", "set print pretty on", "dwarfgpu eval n->in"),
        *("set print address off", "dwarfgpu locals n", "set print array-indexes on", "dwarfgpu eval n->next->d"),
        *("set print symbol off", "set print address on", "dwarfgpu locals n"))  # fmt: skip
    shown = answers(require_tool, nodes, *commands, stop="list.c:7")
    assert shown[1] == "n->d = {1, 2, 3...}"
    assert shown[2] == '"dwarfgpu print elements" is 3, as in GDB.'
    assert (shown[4], shown[5]) == ("n->d = {1, 2, 3, 4, 5...}", '"dwarfgpu print elements" is 5.')
    assert shown[7].splitlines() == ["n->in = {", "  s = 3,", "  f = 2.5,", "  low = 5", "}"]
    assert shown[9] == "n = <nodes>"
    assert shown[11] == "n->next->d = {[0] = 11, [1] = 12, [2] = 13, [3] = 0, [4] = 0...}"
    assert re.fullmatch("n = 0x[0-9a-f]+", shown[14])


@pytest.mark.slow
def test_pretty_printers_write_values(require_tool, holders):
    commands = ("up", "dwarfgpu locals", "dwarfgpu eval v", "dwarfgpu eval s", "dwarfgpu eval held")
    commands += ("disable pretty-printer", "dwarfgpu eval v")
    commands += ("enable pretty-printer", "dwarfgpu eval v[1]", "dwarfgpu eval --json v")
    stop = 'nothing if $_caller_is("show")'
    _, variables, v, s, held, _, raw, _, element, document = answers(require_tool, holders, *commands, stop=stop)
    vector = "std::vector of length 3, capacity 3 = {1, 2, 3}"
    assert v == f"v = {vector}"
    assert f"v = {vector}" in variables.splitlines()
    assert s.endswith('"hello"')
    assert held == f"held = {{inside = {vector}, beside = 1}}" or "neither a location nor a constant" in held
    assert raw.startswith("v = {<std::_Vector_base")
    assert "_M_impl" in document
    assert element.startswith(("v[1] = 2", "the type", "a value", "operator"))


@pytest.mark.slow
def test_references_are_shown_with_what_they_refer_to_as_gdb_does(require_tool, tmp_path):
    program = tmp_path / "references"
    subprocess.run([require_tool("g++"), "-g", "-O0", PROGRAMS / "references.cc", "-o", program], check=True)
    commands = [command for name in ("v", "p", "p.r", "t") for command in (f"print {name}", f"dwarfgpu eval {name}")]
    shown = answers(require_tool, program, *commands, "info args", "dwarfgpu locals", stop="first")
    theirs, ours = ([text.partition(" = ")[2] for text in shown[start:-2:2]] for start in (0, 1))
    assert ours == theirs
    assert "41" in ours[0]
    assert shown[-1] == shown[-2]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["off", "unreadable", "all"])
def test_backtraces_with_variables_are_as_short_as_gdbs(require_tool, holders, mode):
    """What is optimized out is one word, a pretty-printer is not run on it, and a frame without variables says so."""
    (text,) = answers(require_tool, holders, f"set dwarfgpu frame-filter {mode}", "bt -full", stop="nothing")[1:]
    frame, none, *rest = text.splitlines()
    assert frame.startswith("#0  nothing () at ")
    assert none == "No locals."
    assert max(map(len, rest)) < 400
    variables = dict(line.strip().split(" = ", 1) for line in rest if line.startswith("        "))
    assert variables["text"] == '"hello"'
    assert variables["v"] == "std::vector of length 3, capacity 3 = {1, 2, 3}"
    assert variables["p"].startswith("std::shared_ptr<int> (use count 1") or variables["p"] == "<optimized out>"
    if "<optimized out>" in variables["gone"] and not variables["gone"].startswith("{"):
        assert variables["gone"] == "<optimized out>"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++-22"])
def test_undefined_padding_does_not_matter(require_tool, tmp_path, compiler):
    """Members in registers leave what is between them undefined; GDB has the value, and so has `$dwarfgpu`."""
    program = tmp_path / "padding"
    subprocess.run([require_tool(compiler), "-g", "-O1", PROGRAMS / "padding.cc", "-o", program], check=True)
    commands = [word for name in ("two", "maybe") for word in (f"output {name}", f'output $dwarfgpu("{name}")')]
    two, our_two, maybe, our_maybe = answers(require_tool, program, *commands, stop="padding.cc:9")
    assert "is_set = true" in maybe
    assert our_maybe == maybe
    if "<optimized out>" in two or "<synthetic pointer>" in two:  # a part that is no padding
        assert "a part of it is optimized out" in our_two
    else:
        assert our_two == two


@pytest.mark.slow
def test_registers_that_count_as_kept_are_a_setting(require_tool, tmp_path):
    """By default a caller's value is GDB's, and marked; with `saved` it is refused."""
    source, program = PROGRAMS.parents[1] / "program" / "corpus" / "stops.c", tmp_path / "stops"
    subprocess.run([require_tool("gcc"), "-g", "-O2", "-w", source, "-o", program], check=True)
    script = tmp_path / "kept.py"
    script.write_text(KEPT)
    text = run_gdb(require_tool, program=program, script=script)
    pairs = [line[2:].split("|") for line in text.splitlines() if line.startswith("@@")]
    assert len(pairs) >= 5, text
    for theirs, function, listed, saved in pairs:
        assert function == theirs
        assert ", kept across the call by its location)" in listed
        assert "nothing says where it was saved" in saved or "<optimized out>" in saved or "<undefined>" in saved
    assert '"dwarfgpu caller-registers" is saved.' in text


KEPT = """
import gdb
import dwarfgpu.gdb as dg
gdb.execute("set width 0")
gdb.execute("break checkpoint")
gdb.execute("run", to_string=True)
def asked(name):
    return " ".join(gdb.execute(f"dwarfgpu eval {name}", to_string=True).split())
for _ in range(12):
    frame = gdb.newest_frame().older()
    while frame is not None:
        if frame.type() != gdb.TAILCALL_FRAME:
            frame.select()
            ours = dg.selected()
            for variable in ours.variables() if ours.function is not None else ():
                listed = asked(variable.name)
                if "kept across" not in listed or variable.object().scalar is None:
                    continue
                theirs = gdb.parse_and_eval(variable.name).format_string()
                function = gdb.parse_and_eval(f'$dwarfgpu("{variable.name}")').format_string()
                gdb.execute("set dwarfgpu caller-registers saved")
                saved = asked(variable.name)
                gdb.execute("set dwarfgpu caller-registers listed")
                print("@@" + "|".join((theirs, function, listed, saved)))
        frame = frame.older()
    gdb.newest_frame().select()
    gdb.execute("continue", to_string=True)
gdb.execute("set dwarfgpu caller-registers saved")
gdb.execute("show dwarfgpu caller-registers")
"""
