import json
import re
import subprocess
import sys

import pytest

import dwarfgpu as dg
from dwarfgpu.machines import snapshot
from dwarfgpu.states.program import open_core
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run as run_command
from tests.builders.folders import FIXTURES
from tests.gdb.running import INSIDE, ROOT, environment, python, run_gdb, stub, typed
from tests.machines.conformance import BIG, WAVE32, WAVE64, State
from tests.machines.test_conformance import machine_of

EXAMPLES = ROOT / "dwarfgpu" / "examples"
SNAPSHOTS = {
    "variables": EXAMPLES / "lane-pc.co",
    "lanes": EXAMPLES / "lane-pc.co",
    "calls": FIXTURES / "llvm24" / "hip-calls.gfx1100.w32.O2.co",
    "launch": FIXTURES / "containers" / "tiny.gfx90a.co"}  # fmt: skip
LOAD_ADDRESS = 0x7F0000000000


def states(names) -> dict:
    return {name: EXAMPLES / f"{name}.json" for name in names}


def connected(sockets, name: str, *, as_rocgdb: bool = False) -> list[str]:
    """What a user types to see the waves of a server; ``as_rocgdb`` is for one that is not dwarfgpu's.

    GDB's own unwinders do not know the code of its files.
    """
    if not as_rocgdb:
        return ["-ex", f"target remote {sockets / name}"]
    return [
        *("-ex", "maint set dwarf unwinders off"),
        *("-ex", f"add-symbol-file {SNAPSHOTS[name]} -o {LOAD_ADDRESS:#x}"),
        *("-ex", f"target remote {sockets / name}"),
        *python(f"from tests.gdb.inside import spaces; spaces.teach({str(EXAMPLES / f'{name}.json')!r})"),
    ]


def said(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("@@")]


@pytest.mark.slow
@pytest.mark.parametrize("as_rocgdb", [False, True], ids=["served", "as-rocgdb"])
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_script_runs_on_a_snapshot_unchanged(tmp_path, require_tool, name, as_rocgdb):
    code, state, script = SNAPSHOTS[name], EXAMPLES / f"{name}.json", INSIDE / "report.py"
    with stub(tmp_path, states([name]), plain=as_rocgdb) as sockets:
        inside = said(run_gdb(require_tool, *connected(sockets, name, as_rocgdb=as_rocgdb), script=script))
    attach = f"gdb.use(dwarfgpu.open({str(code)!r}).attach({str(state)!r}))"
    run = f"import dwarfgpu, runpy; from dwarfgpu import gdb; {attach}; runpy.run_path({str(script)!r})"
    python_alone = [sys.executable, "-c", run]
    debugger = [sys.executable, "-m", "dwarfgpu", "debug", str(code), "--state", str(state), "-ex", f"source {script}"]
    for command in (python_alone, debugger):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert said(done.stdout) == inside, done.stderr
    assert len(inside) > 20


@pytest.mark.slow
def test_the_target_is_found_by_the_code_and_the_registers(tmp_path, require_tool):
    names = {"variables": "amdgcn-gfx90a", "calls": "amdgcn-gfx1100-wave32"}
    with stub(tmp_path, states(names)) as sockets:
        for name, target in names.items():
            show = python("import dwarfgpu.gdb as dg; print('@@', dg.selected().target.name, len(dg.waves()))")
            found = said(run_gdb(require_tool, *connected(sockets, name), *show))
            count = len(dg.load_snapshot(EXAMPLES / f"{name}.json").ids)
            assert found == [f"@@ {target} {count}"]


@pytest.mark.slow
def test_what_is_selected_in_gdb_is_what_is_asked(tmp_path, require_tool):
    script = tmp_path / "script.py"
    script.write_text("""
import gdb
import dwarfgpu.gdb as dg
def show():
    frame = dg.selected()
    print("@@", dg.wave().id, frame.selected_lane, frame.expression("$lane").value(), gdb.selected_thread().num)
show()
gdb.execute("thread 3", to_string=True)
show()
[each.frame(0).active_mask for each in dg.waves()]
show()
gdb.execute("set $_lane = 7")
show()
gdb.execute("thread 1", to_string=True)
show()
gdb.execute("set $_lane = 64")
try:
    show()
except dg.DwarfGpuError as error:
    print("@@", error)
""")
    with stub(tmp_path, states(["lanes"])) as sockets:
        found = said(run_gdb(require_tool, *connected(sockets, "lanes"), script=script))
    first = [
        (mask & -mask).bit_length() - 1
        for mask in (wave.frame(0).active_mask for wave in dg.open(SNAPSHOTS["lanes"]).attach(EXAMPLES / "lanes.json"))
    ]
    assert found == [
        f"@@ 1:1:1:1 {first[0]} {first[0]} 1",
        f"@@ 1:1:3:1 {first[2]} {first[2]} 3",
        f"@@ 1:1:3:1 {first[2]} {first[2]} 3",
        "@@ 1:1:3:1 7 7 3",
        "@@ 1:1:1:1 7 7 1",
        "@@ amdgcn-gfx90a has 64 lanes, no lane 64",
    ]


@pytest.mark.slow
def test_writes_reach_registers_and_memory(tmp_path, require_tool):
    script = tmp_path / "script.py"
    script.write_text("""
import gdb
import dwarfgpu.gdb as dg
frame = dg.selected()
frame["even"].write("left + $lane", lanes=[0, 2, 4])
theirs = gdb.parse_and_eval("$v2")
print("@@", [int(theirs[lane]) for lane in (0, 1, 2, 4)], frame["even"].values([0, 2, 4]).array.tolist())
frame.expression("slots[1]").write(7, lanes=2)
print("@@", frame["slots"].values([2]).array.tolist(), dg.selected()["slots"].values([0, 2]).array.tolist())
gdb.execute("set var $v2[4] = 99")
gdb.execute("set var $exec = 0xff")
print("@@", frame["even"].value(4), dg.selected().active_mask)
frame.expression("$s6").write(5)
print("@@", int(gdb.parse_and_eval("$s6")))
""")
    with stub(tmp_path, states(["variables"])) as sockets:
        found = said(run_gdb(require_tool, *connected(sockets, "variables"), script=script))
    assert found == [
        "@@ [0, 0, 6, 12] [0, 6, 12]",
        "@@ [[20, 7, 22, 23]] [[0, 1, 2, 3], [20, 7, 22, 23]]",
        "@@ 99 255",
        "@@ 5",
    ]


@pytest.mark.slow
def test_a_gdb_without_address_spaces_says_so(tmp_path, require_tool):
    script = tmp_path / "script.py"
    script.write_text("""
import dwarfgpu.gdb as dg
print("@@", dg.selected()["slots"].why(0).kind, dg.selected()["even"].value(0))
machine = dg.attached().stopped.machine
try:
    machine.read_memory(machine.target.space_named("local"), 16, 4, 0, None)
except dg.DwarfGpuError as error:
    print("@@", error)
""")
    with stub(tmp_path, states(["variables"]), plain=True) as sockets:
        words = connected(sockets, "variables", as_rocgdb=True)[:-2]
        found = said(run_gdb(require_tool, *words, script=script))
    why = "this GDB does not know the address space local: Invalid character '#' in expression"
    assert found == [
        "@@ memory_unavailable 10",
        f"@@ 4 bytes of memory at local#0x10 are not available: {why} [A.2.5.4.4.3]",
    ]


STATES = (WAVE64, WAVE32, BIG, State(resolve("amdgcn-gfx803"), {"s0": 1}, []))


@pytest.mark.slow
@pytest.mark.parametrize("plain", [False, True], ids=["served", "plain"])
def test_gdb_is_a_backend(tmp_path, require_tool, plain):
    states = {}
    for state in STATES:
        path = tmp_path / f"{state.target.name}.json"
        snapshot.save(machine_of(state), path)
        states[state.target.name] = path
    with stub(tmp_path, states, plain=plain) as sockets:
        text = run_gdb(
            require_tool,
            script=INSIDE / "run_pytest.py",
            variables={"STUB_SOCKETS": str(sockets), "PYTEST_FILES": str(INSIDE / "conformance_member.py"),
                "HYPOTHESIS_PROFILE": "dev"})  # fmt: skip
    assert "@@pytest 0@@" in text, text[-6000:]
    assert int(re.search(r"(\d+) passed", text)[1]) >= 35
    assert "skipped" not in text


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


@pytest.mark.slow
@pytest.mark.parametrize("as_rocgdb", [False, True], ids=["served", "as-rocgdb"])
def test_what_waves_wait_for_is_known_in_a_live_program(tmp_path, require_tool, as_rocgdb):
    """What only a machine that ran knows, who has ended and which calls were executed, comes from its server alone."""
    source, code, state = ROOT / "tests" / "cli" / "hangs.cl", tmp_path / "hangs.co", tmp_path / "late.json"
    words = f"-target amdgcn-amd-amdhsa -mcpu=gfx1100 -x cl -cl-std=CL2.0 -g -O0 -w -nogpulib -DTHREADS=96 -o {code}"
    clang = [require_tool("clang-22"), *words.split(), "-Xclang", "-finclude-default-header", str(source)]
    subprocess.run(clang, check=True, capture_output=True)
    launch = ["--grid", "96", "--work-group", "96", "flag=zeros(1)", "out=zeros(96)", "--limit", "20000"]
    run_command("run", str(code), "late", *launch, "--state", str(state))
    if as_rocgdb:  # registers say that waves are at a barrier
        stopped = json.loads(state.read_text("utf-8"))
        for wave in stopped["waves"]:
            wave["registers"]["status"] = 1 << 12 if wave.pop("stop_detail", None) else 0
        state.write_text(json.dumps(stopped), "utf-8")
    with stub(tmp_path, {"late": state}, plain=as_rocgdb) as sockets:
        connect = ["-ex", f"target remote {sockets / 'late'}"]
        if as_rocgdb:
            load = f"add-symbol-file {code} -o {LOAD_ADDRESS:#x}"
            teach = python(f"from tests.gdb.inside import spaces; spaces.teach({str(state)!r})")
            connect = ["-ex", "maint set dwarf unwinders off", "-ex", load, *connect, *teach]
        text = run_gdb(require_tool, *connect, "-ex", "dwarfgpu fault", "-ex", "dwarfgpu bt")
    text = " ".join(text.split())
    for sentence in (
        "waves 1,3 wait at the barrier of hangs.cl:12; not there: wave 2",
        "wave 2 is in the loop of hangs.cl:10 wave 2 cannot leave it while it reads: 4 bytes at",
        "0, compared with 0 (v_cmp_eq_u32)",
        "(clang's wrapper, by the code)" if as_rocgdb else "(clang's wrapper, as executed)",
    ):
        assert sentence in text
