"""Frames that GDB finds and the library does not: their variables are read with the registers that GDB has for them."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.gdb.running import run_gdb

PROGRAMS = Path(__file__).parent / "programs"
COMPARE = """
import gdb, json
import dwarfgpu.gdb as dg
def compared():
    found, number = [], 0
    frame = gdb.newest_frame()
    while frame is not None:
        frame.select()
        if frame.type() == gdb.NORMAL_FRAME and frame.function() is not None:
            ours = dg.selected()
            for variable in ours.variables():
                theirs = frame.read_var(variable.name).format_string()
                asked = gdb.execute(f"dwarfgpu eval {variable.name}", to_string=True).strip().partition(" = ")[2]
                value = gdb.parse_and_eval(f'$dwarfgpu("{variable.name}")').format_string()
                found.append([frame.name(), ours.name, variable.name, theirs, asked, value, ours.place - frame.pc()])
        elif frame.type() == gdb.DUMMY_FRAME:
            try:
                found.append(dg.selected().name)
            except dg.DwarfGpuError as error:
                found.append(error.kind)
        frame = frame.older()
    gdb.newest_frame().select()
    print("@@" + json.dumps(found))
gdb.execute("set width 0")
gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
compared()
try:
    gdb.execute("print middle(5)", to_string=True)
except gdb.error:
    compared()
    gdb.execute("frame function middle")
    gdb.execute("dwarfgpu set n = 99")
    print("@@" + json.dumps([int(gdb.parse_and_eval("n")), gdb.selected_frame().name()]))
"""


@pytest.fixture(scope="module")
def bare(require_tool, tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("bare") / "bare"
    subprocess.run([require_tool("gcc"), "-g", "-O0", PROGRAMS / "bare.c", "-o", program], check=True)
    return program


@pytest.mark.slow
def test_frames_behind_code_without_information(require_tool, bare, tmp_path):
    script = tmp_path / "compare.py"
    script.write_text(COMPARE)
    text = run_gdb(require_tool, program=bare, script=script)
    assert "Traceback" not in text, text
    first, called, written = (json.loads(line[2:]) for line in text.splitlines() if line.startswith("@@"))
    assert [row[2] for row in first] == ["code", "n", "doubled", "many", "argc", "argv", "start"]
    assert called[4] == "no_frame"  # `<function called from gdb>`
    rows = [*first, *called[:4], *called[5:]]
    assert len(rows) == 7 + 4 + 7
    for theirs, ours, name, value, asked, function, _ in rows:
        assert theirs == ours
        assert value == function, name
        assert asked.endswith(value), name
    # a caller is looked up in its call; one that was stopped is looked up where it stopped
    assert [row[-1] for row in rows] == [0, *[-1] * 6, 0, *[-1] * 3, 0, *[-1] * 6]
    assert written == [99, "middle"]


@pytest.mark.slow
def test_backtraces_show_these_frames_and_where_they_end(require_tool, bare):
    commands = ("set dwarfgpu frame-filter all", "break stop_here", "run", "bt -full")
    text = run_gdb(require_tool, *(word for command in commands for word in ("-ex", command)), program=bare)
    assert "        doubled = 22\n        many = {11, 12, 13}\n" in text
    assert "        start = 11\n" in text
    commands = ("break stop_here", "run", "dwarfgpu bt")
    text = run_gdb(require_tool, *(word for command in commands for word in ("-ex", command)), program=bare)
    assert "Backtrace stopped: the callers are not known: " in text


@pytest.mark.slow
def test_the_beginning_of_a_thread(require_tool, tmp_path):
    """Every frame of a thread that GDB shows has an answer, also those of the C library that begin it."""
    source = "#include <pthread.h>\nvoid *work(void *p) { return p; }\nint main(void)\n{ pthread_t t;\n"
    (tmp_path / "a.c").write_text(source + "pthread_create(&t, 0, work, 0); return pthread_join(t, 0); }\n")
    words = [require_tool("gcc"), "-g", "-O0", "-pthread", tmp_path / "a.c", "-o", tmp_path / "a"]
    subprocess.run(words, check=True)
    show = "import dwarfgpu.gdb as dg; print('@@', gdb.selected_frame().name(), dg.selected().name)"
    commands = ["break work", "run"]
    for number in range(3):
        commands += [f"frame {number}", f"python {show}", "dwarfgpu eval $rsp"]
    text = run_gdb(require_tool, *(word for command in commands for word in ("-ex", command)), program=tmp_path / "a")
    frames = [line.split()[1:] for line in text.splitlines() if line.startswith("@@")]
    assert len(frames) == 3
    assert frames[0] == ["work", "work"]
    assert text.count("$rsp = (void *) 0x") == 3
