"""`dwarfgpu serve` with a real GDB: waves without dwarfgpu in GDB, with it, and a core file of a host program."""

import json
import re
import subprocess
import sys

import pytest

import dwarfgpu as dg
from dwarfgpu.states.program import open_core
from tests.gdb.running import ROOT, environment, run_gdb, typed

EXAMPLES = ROOT / "docs" / "examples"
CALLS = ROOT / "fixtures" / "llvm24" / "hip-calls.gfx1100.w32.O2.co"


def remote(*words: object) -> tuple[str, str]:
    """What a user types to connect to a server that GDB starts itself."""
    command = " ".join([f"env PYTHONPATH={ROOT}", sys.executable, "-m dwarfgpu serve", *map(str, words)])
    return "-ex", f"target remote | {command} --stdio"


@pytest.mark.slow
def test_a_gdb_without_dwarfgpu_shows_waves_registers_and_memory(require_tool):
    commands = typed("info threads", "thread 3", "print $v1[5]", "print/x $exec", "print/x $s33", "info symbol $pc")
    text = run_gdb(require_tool, *remote(EXAMPLES / "calls.json"), *commands, load=False)
    rows = re.findall(
        r'^[* ] (\d) +Thread \d "calls" \(AMDGPU Wave (\S+) \((\d),0,0\)/0\) (\w+) \(', text, re.MULTILINE
    )
    assert rows == [("1", "1:1:1:1", "0", "leaf"), ("2", "1:1:1:2", "1", "leaf"), ("3", "1:1:1:3", "2", "inner")]
    assert re.search(r"^\$2 = 0x[0-9a-f]+$", text, re.MULTILINE)
    assert re.search(r"^inner\(int, int\*\) in section .text$", text, re.MULTILINE)
    assert "internal-error" not in text


@pytest.mark.slow
def test_waves_have_variables_and_do_not_run(require_tool):
    commands = typed("set dwarfgpu unwinder on", "bt", "up 4", 'print $dwarfgpu("lane", 5)')
    text = run_gdb(require_tool, *remote(EXAMPLES / "calls.json"), *commands)
    assert re.findall(r"^#\d.* (\w+) \(", text, re.MULTILINE)[:5] == ["leaf", "inner", "middle", "outer", "calls"]
    frame = dg.open(CALLS).attach(EXAMPLES / "calls.json")[0].frame(4)
    assert f"$1 = {frame['lane'].value(5)}\n" in text
    commands = typed("continue", "stepi", "break leaf", "continue", "info threads")
    text = run_gdb(require_tool, *remote(EXAMPLES / "calls.json"), *commands)
    assert text.count("This is a snapshot: it cannot run.\n") == 3
    assert text.count('Thread 1 "calls" (AMDGPU Wave 1:1:1:1 (0,0,0)/0)') == 1


@pytest.mark.slow
def test_waves_have_stop_reasons_and_memory_of_spaces(require_tool, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import gdb
import dwarfgpu.gdb as dg
machine = dg.attached().stopped.machine
frame = dg.selected()
frame.expression("slots[1]").write(1234, lanes=2)
address = dg.locate("slots[1]", lane=2)[0]
print("@@", address.kind, frame.eval("slots[1]", lanes=[2]).array.tolist())
wave = machine.target.space_named("private_wave")
for lane in (0, 2):
    there = gdb.parse_and_eval(f"*(unsigned *) {((0x20 + lane) << 56) + address.address:#x}")
    print("@@", int(there) == frame.eval("slots[1]", lanes=[lane]).array.item())
""")
    text = run_gdb(require_tool, *remote(EXAMPLES / "variables.json"), script=script)
    assert "@@ memory [1234]\n" in text, text
    assert text.count("@@ True") == 2, text
    script = tmp_path / "script.py"
    script.write_text(
        "import dwarfgpu.gdb as dg\n"
        "for wave in dg.waves():\n"
        "    stop = wave.stop\n"
        "    print('@@', stop and (stop.reasons, stop.signal, stop.lanes, stop.is_stopped), wave.stop_reason)\n"
    )
    text = run_gdb(require_tool, *remote(EXAMPLES / "crash.core"), script=script)
    expected = []
    for wave in open_core(str(EXAMPLES / "crash.core")):
        stop = wave.stop
        expected.append(f"@@ {(stop.reasons, stop.signal, stop.lanes, stop.is_stopped)} {wave.stop_reason}")
    assert [line for line in text.splitlines() if line.startswith("@@")] == expected, text
    assert "MEMORY_VIOLATION" in text


@pytest.mark.slow
def test_two_thousand_waves_are_listed(require_tool):
    launch = ("--launch", "_Z5callsPiPfi", "--grid", 64000, "--work-group", 32)
    commands = typed("info threads", "thread 1999", "dwarfgpu lanes", "print $v0[5]")
    text = run_gdb(require_tool, *remote(CALLS, *launch), *commands)
    assert len(re.findall(r'^[* ] \d+ +Thread \d+ "\w+" \(AMDGPU Wave 1:1:1:\d+ ', text, re.MULTILINE)) == 2000
    assert "Wave 1:1:1:1999 (1998,0,0)/0" in text
    assert "AMDGPU Lane 1:1:1:1999/" in text
    assert text.rstrip().splitlines()[-2] == "$1 = 5"


@pytest.mark.slow
def test_several_gdbs_one_after_the_other(require_tool, tmp_path):
    words = [sys.executable, "-m", "dwarfgpu", "serve", EXAMPLES / "variables.json", "--socket", tmp_path / "waves"]
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True) as server:
        try:
            while "target remote" not in server.stderr.readline():
                pass
            first, second = (
                run_gdb(require_tool, "-ex", f"target remote {tmp_path / 'waves'}", *commands)
                for commands in (
                    typed("set var $v2[4] = 99", "dwarfgpu eval even"),
                    typed("set $_lane = 4", "dwarfgpu locals even"),
                )
            )
        finally:
            server.terminate()
    assert "internal-error" not in first
    assert "even = 99\n" in second


@pytest.mark.slow
def test_the_threads_of_a_core_file(require_tool, tmp_path):
    source, program, core = tmp_path / "a.c", tmp_path / "a", tmp_path / "core"
    source.write_text(
        "#include <stdlib.h>\n"
        "struct pair { int x; double y; };\n"
        "static int inner(struct pair *p) { if (p->x == 7) abort(); return p->x; }\n"
        "int main(void) { struct pair here = {7, 2.5}; return inner(&here); }\n"
    )
    subprocess.run([require_tool("gcc"), "-g", "-O0", source, "-o", program], check=True)
    run_gdb(require_tool, "-ex", "run", "-ex", f"generate-core-file {core}", program=program, load=False)
    asked = typed("info threads; bt; frame function inner; print *p; info registers rip rsp rbx eflags mxcsr")
    asked += typed("print $xmm0.v2_double")
    theirs = run_gdb(require_tool, program, core, *asked, load=False)
    served = run_gdb(require_tool, *remote(core), *asked, load=False)
    wanted = re.compile(r"^(?:#\d.*|\$1 = .*|r\w+ .*|eflags .*|mxcsr .*|\$2 = .*)$", re.MULTILINE)
    shown = [wanted.findall(text[text.index("Target Id") :]) for text in (served, theirs)]
    assert shown[0] == shown[1], served
    assert "{x = 7, y = 2.5}" in served
    with_plugin = run_gdb(require_tool, *remote(core), *typed("frame function inner", "dwarfgpu eval *p"))
    assert "*p = {x = 7, y = 2.5}" in with_plugin


@pytest.mark.slow
def test_a_file_that_differs_from_that_of_the_server_is_not_taken_for_it(require_tool, tmp_path):
    code, state = tmp_path / "code.co", tmp_path / "state.json"
    code.write_bytes((ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co").read_bytes())
    document = json.loads((EXAMPLES / "variables.json").read_text())
    document["code_objects"] = [{"path": "code.co", "load_address": "0x7f0000000000"}]
    state.write_text(json.dumps(document))
    words = [sys.executable, "-m", "dwarfgpu", "serve", state, "--socket", tmp_path / "waves"]
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True) as server:
        try:
            while "target remote" not in server.stderr.readline():
                pass
            connect = ("-ex", f"target remote {tmp_path / 'waves'}")
            same = run_gdb(require_tool, *connect, *typed("dwarfgpu eval even"))
            code.write_bytes(code.read_bytes() + b"changed")
            other = run_gdb(require_tool, *connect, *typed("info symbol $pc", "dwarfgpu eval even"))
        finally:
            server.terminate()
    assert "lanes 0-7     10    14    18    22" in same
    assert "X + " in other  # GDB itself has the file of the server
    assert "lanes 0-7" not in other
