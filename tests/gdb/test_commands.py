"""`dwarfgpu eval` and the others in GDB: what they print is what the debugger prints, about what GDB has selected."""

import json
import re
import subprocess
import sys

import pytest

from dwarfgpu.questions.table import COMMANDS
from tests.builders.commands import PseudoTerminal
from tests.gdb.running import ENTRY, ROOT, environment, run_gdb, stub, typed
from tests.gdb.test_waves import EXAMPLES, SNAPSHOTS, connected, states

ROWS = {row.gdb: row for row in COMMANDS if row.gdb}
WAVES = (
    *("eval even", "eval/x -lane 0-3,8 even + $lane", "eval -all -location left", "eval -trace even"),
    *("eval --json even", "locate --jsonl even", "explain --json even", "map --json", "bt --json -full"),
    "eval -ops DW_OP_lit3; DW_OP_LLVM_push_lane; DW_OP_plus; DW_OP_stack_value",
    *("locals", "locals -lane 0,2 e", "lanes", "map", "map even", "lanes --json", "bt", "bt -full", "explain even"),
    *("explain slots", "locate slots", "locate -all even", "dump X", "verify", "verify even", "waves", "waves -each"),
)
EVERYWHERE = ("lanes", "map", "bt", "bt -full", "verify")


def test_what_gdb_has():
    assert set(ROWS) == {
        *("eval", "locals", "lane", "lane apply", "lanes", "map", "bt", "explain", "locate", "dump", "coverage"),
        *("fault", "report", "verify", "waves", "snapshot", "set"),
    }


def in_debugger(name: str, commands: list[str]) -> str:
    words = [sys.executable, "-m", "dwarfgpu", "debug", str(SNAPSHOTS[name]), "--state"]
    words += [str(EXAMPLES / f"{name}.json"), "-ex", "set width 80"]
    for command in commands:
        words += ["-ex", command]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["variables", "lanes"])
def test_waves_are_shown_as_the_debugger_shows_them(tmp_path, require_tool, name):
    asked, typed = [], []
    for command in WAVES if name == "variables" else EVERYWHERE:
        mark = f"@@ {command}"
        word, _, rest = command.partition(" ")
        verb, slash, form = word.partition("/")
        asked += ["-ex", f"echo {mark}\\n", "-ex", f"dwarfgpu {command}"]
        typed += [f"echo {mark}\\n", f"{ROWS[verb].name}{slash}{form} {rest}"]
    with stub(tmp_path, states([name])) as sockets:
        text = run_gdb(require_tool, *connected(sockets, name), "-ex", "set width 80", *asked)
    expected = in_debugger(name, typed)
    assert text[text.index("@@") : text.rindex("[Inferior")] == expected[expected.index("@@") :]
    assert expected.count("@@") >= 4


@pytest.mark.slow
def test_a_lane_is_selected_and_commands_of_gdb_run_in_several(tmp_path, require_tool):
    commands = (
        "dwarfgpu lane",
        'dwarfgpu lane apply 0,2 -q print $dwarfgpu("left")',
        "dwarfgpu lane 5",
        'print $dwarfgpu("left")',
        'dwarfgpu lane apply all -active -q print $dwarfgpu("left")',
        'dwarfgpu lane apply 1,2 -s print $dwarfgpu("even")',
        'dwarfgpu lane apply 1,2 -c print $dwarfgpu("even")',
        "print $_lane",
        "dwarfgpu lane 99",
        "dwarfgpu lane apply 0 nosuch",
        "dwarfgpu lane apply 0",
    )
    with stub(tmp_path, states(["variables"])) as sockets:
        text = run_gdb(require_tool, *connected(sockets, "variables"), *typed(*commands))
    assert "[Current wave is 1, lane 0 (AMDGPU Lane 1:1:1:1/0 (0,0,0)[0,0,0])]" in text
    assert "[Switching to wave 1, lane 5 (AMDGPU Lane 1:1:1:1/5 (0,0,0)[5,0,0])]" in text
    values = [int(value) for value in re.findall(r"^\$\d+ = (\d+)$", text, re.MULTILINE)]
    assert values == [0, 4, 10, *range(0, 40, 4), 14, 14, 5]
    assert text.count("no variable `even` in X") == 1
    assert "Lane 99 does not exist on this thread." in text
    assert 'Undefined command: "nosuch".' in text
    assert "`lane apply` needs a command after the list" in text


@pytest.mark.slow
def test_a_report_has_the_waves_that_gdb_has(tmp_path, require_tool):
    page = tmp_path / "page.html"
    with stub(tmp_path, states(["variables"])) as sockets:
        text = run_gdb(require_tool, *connected(sockets, "variables"), "-ex", f"dwarfgpu report -o {page}")
    assert "error" not in text.lower()
    sections = re.findall(r'<h2 id="([a-z]+)-title', page.read_text("utf-8"))
    assert sections == ["kernels", "lanes", "stacks", "values", "findings", "functions"]


@pytest.mark.slow
def test_a_snapshot_of_gdbs_waves_is_the_snapshot(tmp_path, require_tool):
    """What a stub serves is saved, and then has the same answers as what was served."""
    for name in ("variables", "calls", "launch"):
        saved = tmp_path / f"{name}.json"
        with stub(tmp_path, states([name])) as sockets:
            text = run_gdb(require_tool, *connected(sockets, name), "-ex", f"dwarfgpu snapshot {saved}")
        count = len(json.loads((EXAMPLES / f"{name}.json").read_text())["waves"])
        waves = f"{count} wave{'' if count == 1 else 's'}"
        assert f"Saved {waves} to {saved}\n" in text
        answers = []
        for state in (EXAMPLES / f"{name}.json", saved):
            words = [sys.executable, "-m", "dwarfgpu", "debug", SNAPSHOTS[name], "--state", state]
            asked = typed("set width 0; wave apply all bt -full; wave apply all info waves")
            done = subprocess.run([*words, *asked], cwd=ROOT, capture_output=True, text=True, check=True)
            answers.append(re.sub(r" \(launched with [^)]*\)", "", done.stdout))  # GDB knows no dispatches
        assert answers[0] == answers[1]
        assert json.loads(saved.read_text())["code_objects"][0]["load_address"] == "0x7f0000000000"
        (sockets / name).unlink()


@pytest.mark.slow
def test_a_snapshot_of_threads_is_a_core_file(tmp_path, require_tool, runnable_host):
    commands = typed("break stop_here; run; dwarfgpu set pushed = 1234; dwarfgpu snapshot core; dwarfgpu snapshot core")
    commands += typed("dwarfgpu snapshot waves.json; dwarfgpu snapshot")
    text = run_gdb(require_tool, *commands, program=runnable_host, folder=tmp_path)
    assert "Saved 1 thread as a core file to core\n" in text
    assert f"Open it with `dwarfgpu debug {runnable_host} --state core`\n" in text
    assert "core exists already (name another file)\n" in text
    assert "waves.json would be a snapshot of waves, and these are threads of x86_64" in text
    assert "`dwarfgpu snapshot` takes one file; put a name with blanks in quotes\n" in text
    words = [sys.executable, "-m", "dwarfgpu", "debug", str(runnable_host), "--state", str(tmp_path / "core")]
    done = subprocess.run([*words, "-ex", "bt"], cwd=ROOT, capture_output=True, text=True, check=True)
    opened, frames = ("", "inner"), [("", "inner"), ("outer", ""), ("_start", "")]
    assert re.findall(r"#\d.* in (\w+)|#0  (\w+)", done.stdout) == [opened, *frames]


@pytest.mark.slow
def test_the_focus_is_gdbs(tmp_path, require_tool, runnable_host):
    commands = typed("break stop_here; run; dwarfgpu eval pushed; up; dwarfgpu locals; down; dwarfgpu eval pushed + 1")
    commands += typed("set var $rbx = 99; dwarfgpu eval counter; kill; dwarfgpu bt; dwarfgpu dump inner; run")
    commands += typed("dwarfgpu eval counter; stepi 3; dwarfgpu waves")
    found = run_gdb(require_tool, *commands, program=runnable_host).splitlines()
    for line in (
        *("pushed = 77", "local = 42", "std_local = 42", "rbx_of_outer = 1234605616436508552", "pushed + 1 = 78"),
        *("counter = 99", "counter = 5"),
        "GDB has no process to read from (start the program, attach to one, or open a core file)",
    ):
        assert found.count(line) == 1, (line, found)
    assert any(line.endswith("DW_TAG_subprogram") for line in found)
    assert any(line.startswith("* 1  LWP ") for line in found), found


@pytest.mark.slow
def test_the_lane_is_gdbs(tmp_path, require_tool):
    commands = typed('dwarfgpu locals even; set $_lane = 4; dwarfgpu locals even; print $dwarfgpu("even")')
    commands += typed('print $dwarfgpu("even", 2); dwarfgpu set even = 77; print $v2[4]; set $_lane = 64')
    with stub(tmp_path, states(["variables"])) as sockets:
        words = [*connected(sockets, "variables"), *commands, *typed("dwarfgpu locals even")]
        found = run_gdb(require_tool, *words).splitlines()
    values = [line for line in found if line.startswith(("even", "$"))]
    assert values == ["even = 10", "even = 18", "$1 = 18", "$2 = 14", "$3 = 77"]
    assert "amdgcn-gfx90a has 64 lanes, no lane 64" in found


@pytest.mark.slow
def test_help_is_that_of_the_rows_with_prefix_characters(require_tool):
    text = run_gdb(require_tool, *typed("help dwarfgpu", *(f"help dwarfgpu {name}" for name in ROWS)))
    for name, row in ROWS.items():
        summary = f"{row.summary[:1].upper()}{row.summary[1:]}."
        assert f"dwarfgpu {name} -- {summary}\n" in text
        assert f"{summary}\nUsage: dwarfgpu {name}" in text
        for option in row.options:
            assert option.help in text
        if name != "snapshot":
            assert " ".join(row.help.split()) in " ".join(text.split())
    assert "Threads of a host program are saved as a core file, which GDB writes." in text
    assert run_gdb(require_tool, "-ex", "dwarfgpu") == run_gdb(require_tool, "-ex", "help dwarfgpu")
    about = run_gdb(require_tool, "-ex", "help function dwarfgpu").splitlines()
    assert about[2].startswith("A value that GDB can reach")
    show = "python from dwarfgpu.gdbplugin.debugger import write; write('\\u2192 \\xe9\\n')"
    assert run_gdb(require_tool, "-ex", show, variables={"LC_ALL": "C"}) == "\\u2192 \\xe9\n"
    show = "from dwarfgpu.gdbplugin.commands import TableCommand, COMMANDS; "
    show += "print([TableCommand(each).complete('1', None) for each in COMMANDS if each.gdb == 'eval'])"
    assert run_gdb(require_tool, "-ex", f"python {show}") == "[None]\n"


@pytest.mark.slow
def test_what_goes_wrong_is_one_line(require_tool, runnable_host):
    wrong = {
        "dwarfgpu eval": "`eval` needs EXPR",
        "dwarfgpu eval nowhere": "no variable `nowhere` in inner, at column 1",
        "dwarfgpu eval -lane 3 counter": "threads of x86_64 have no lanes",
        "dwarfgpu lanes": "threads of x86_64 have no lanes",
        "dwarfgpu eval/q counter": 'Undefined output format "q".',
        "dwarfgpu bt x": "`backtrace` takes a number",
        "dwarfgpu eval -repair x counter": "there is no repair 'x'",
        "set dwarfgpu repair x": "there is no repair 'x'",
        "set dwarfgpu x": 'There is no setting "dwarfgpu x".',
        "dwarfgpu snapshot '": "`dwarfgpu snapshot` takes one file; put a name with blanks in quotes",
        "dwarfgpu nothing": 'Undefined dwarfgpu command: "nothing".  Try "help dwarfgpu".',
    }
    words = ["-ex", "break stop_here", "-ex", "run"]
    for command in wrong:
        words += ["-ex", f"echo @@{command}\\n", "-ex", command]
    said = dict(part.split("\n", 1) for part in run_gdb(require_tool, *words, program=runnable_host).split("@@")[1:])
    for command, expected in wrong.items():  # each alone
        assert said[command].startswith(expected), said[command]
        assert said[command].count("\n") == 1, said[command]


@pytest.mark.slow
def test_an_interrupt_and_what_gdb_does_not_do(require_tool, runnable_host, tmp_path):
    """Both are a line; GDB goes on."""
    script = tmp_path / "script.py"
    script.write_text("""
import gdb
from dwarfgpu.gdbplugin.debugger import debugger
gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
def fails(command, error):
    def raises(line):
        raise error
    debugger().execute = raises
    try:
        gdb.execute(command)
    except gdb.error as found:
        print("@@", type(found).__name__, found)
    del debugger().execute
fails("dwarfgpu bt", KeyboardInterrupt())
fails("dwarfgpu eval 1", gdb.error("no\\nmemory"))
gdb.execute("dwarfgpu eval counter")
""")
    text = run_gdb(require_tool, program=runnable_host, script=script)
    assert "@@ error Quit\n@@ error no memory\ncounter = 5\n" in text, text


@pytest.mark.slow
def test_without_a_process(require_tool, runnable_host):
    commands = ("locals", "bt", "waves", "eval counter", "snapshot x", "eval sizeof(int)", "dump inner", "verify")
    words = typed(*(f"dwarfgpu {command}" for command in commands))
    found = run_gdb(require_tool, *words, program=runnable_host).splitlines()
    nothing = "GDB has no process to read from (start the program, attach to one, or open a core file)"
    assert found.count(nothing) == 4, found
    assert "sizeof(int) = 4" in found
    assert any("DW_TAG_subprogram" in line for line in found)
    assert found[-1].startswith("1 file, 38 entries: "), found
    without = run_gdb(require_tool, *typed("dwarfgpu bt; dwarfgpu dump inner"))
    assert without == f"{nothing}\nno file is open (`file FILE` opens one)\n"


@pytest.mark.slow
def test_settings(require_tool, runnable_host):
    commands = typed("break stop_here; run; set dwarfgpu print elements 2; dwarfgpu eval extended")
    commands += typed("show dwarfgpu print elements; set dwarfgpu print elements unlimited; dwarfgpu eval extended")
    commands += typed("set dwarfgpu repair off; set dwarfgpu print symbol off; set dwarfgpu dialect gnu")
    commands += typed("set dwarfgpu attributes llvm-old; dwarfgpu eval std_counter; set dwarfgpu dialect auto")
    commands += typed("dwarfgpu eval extended; show dwarfgpu")
    text = run_gdb(require_tool, *commands, program=runnable_host)
    shown = re.findall(r'^(?:extended.*|"dwarfgpu .*)$', text, re.MULTILINE)
    assert shown[:3] == ["extended = {7, 7...}", '"dwarfgpu print elements" is 2.', "extended = {7, 7, 7, 7}"]
    settings = {"print elements": "unlimited", "repair": "off", "dialect": "auto", "attributes": "llvm-old"}
    for name, value in (settings | {"print symbol": "off", "unwinder": "off"}).items():
        assert f'"dwarfgpu {name}" is {value}.' in shown


@pytest.mark.slow
def test_completion(require_tool, runnable_host):
    beginnings = ("eval std_", "eval 1 + mid", "ex", "eval -lo", "eval split.h")
    commands = typed("break stop_here; run", *(f"complete dwarfgpu {text}" for text in beginnings))
    commands += typed("complete set dwarfgpu frame-filter un")
    found = run_gdb(require_tool, *commands, program=runnable_host).splitlines()
    for line in (
        *("dwarfgpu eval std_counter", "dwarfgpu eval std_vector", "dwarfgpu eval 1 + middle_bits"),
        *("dwarfgpu explain", "dwarfgpu eval -location", "dwarfgpu eval split.high"),
        "set dwarfgpu frame-filter unreadable",
    ):
        assert line in found, found


@pytest.mark.slow
def test_styles_are_for_those_who_look_at_them(require_tool, runnable_host, tmp_path):
    """What is typed at a terminal has GDB's colours; what a script asks for has none."""
    script = tmp_path / "script"
    asked = "python print(repr(gdb.execute('dwarfgpu locals gone', False, True)))"
    commands = ("set width 60", "set style enabled on", "break stop_here", "run", "dwarfgpu locals gone")
    script.write_text("\n".join((*commands, asked, "quit\n")))
    words = [require_tool("gdb"), "-nx", "-q", "-iex", "set debuginfod enabled off", "-iex", "set confirm off"]
    words += ["-x", str(ENTRY), str(runnable_host)]
    terminal = PseudoTerminal(lines=0)
    shown, settings = terminal.stream, environment(TERM="xterm", NO_COLOR="")
    subprocess.run(words, input=script.read_bytes(), stdout=shown, stderr=shown, env=settings, cwd=ROOT, check=False)
    said = terminal.close()
    assert "'gone = <optimized out> (its location" in said
    assert "\x1b[36mgone\x1b[0m = " in said
