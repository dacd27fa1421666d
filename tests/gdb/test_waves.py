import json
import re
import subprocess
import sys

import pytest

import dwarfgpu as dg
from dwarfgpu.machines import snapshot
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run as run_command
from tests.builders.folders import FIXTURES
from tests.gdb.running import INSIDE, ROOT, python, run_gdb, stub
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


def connected(sockets, name: str) -> list[str]:
    """What a user types to see the waves of a server, in a GDB that knows as much as ROCgdb.

    GDB's own unwinders do not know the code of its files.
    """
    return [
        *("-ex", "maint set dwarf unwinders off"),
        *("-ex", f"add-symbol-file {SNAPSHOTS[name]} -o {LOAD_ADDRESS:#x}"),
        *("-ex", f"target remote {sockets / name}"),
        *python(f"from tests.gdb.inside import spaces; spaces.teach({str(EXAMPLES / f'{name}.json')!r})"),
    ]


def said(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("@@")]


@pytest.mark.slow
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_script_runs_on_a_snapshot_unchanged(tmp_path, require_tool, name):
    code, state, script = SNAPSHOTS[name], EXAMPLES / f"{name}.json", INSIDE / "report.py"
    with stub(tmp_path, states([name])) as sockets:
        inside = said(run_gdb(require_tool, *connected(sockets, name), script=script))
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
    with stub(tmp_path, states(["variables"])) as sockets:
        words = connected(sockets, "variables")[:-2]
        found = said(run_gdb(require_tool, *words, script=script))
    why = "this GDB does not know the address space local: Invalid character '#' in expression"
    assert found == [
        "@@ memory_unavailable 10",
        f"@@ 4 bytes of memory at local#0x10 are not available: {why} [A.2.5.4.4.3]",
    ]


STATES = (WAVE64, WAVE32, BIG, State(resolve("amdgcn-gfx803"), {"s0": 1}, []))


@pytest.mark.slow
def test_gdb_is_a_backend(tmp_path, require_tool):
    states = {}
    for state in STATES:
        path = tmp_path / f"{state.target.name}.json"
        snapshot.save(machine_of(state), path)
        states[state.target.name] = path
    with stub(tmp_path, states) as sockets:
        text = run_gdb(
            require_tool,
            script=INSIDE / "run_pytest.py",
            variables={"STUB_SOCKETS": str(sockets), "PYTEST_FILES": str(INSIDE / "conformance_member.py"),
                "HYPOTHESIS_PROFILE": "dev"})  # fmt: skip
    assert "@@pytest 0@@" in text, text[-6000:]
    assert int(re.search(r"(\d+) passed", text)[1]) >= 35
    assert "skipped" not in text


@pytest.mark.slow
def test_what_waves_wait_for_is_known_in_a_live_program(tmp_path, require_tool):
    source, code, state = ROOT / "tests" / "cli" / "hangs.cl", tmp_path / "hangs.co", tmp_path / "late.json"
    words = f"-target amdgcn-amd-amdhsa -mcpu=gfx1100 -x cl -cl-std=CL2.0 -g -O0 -w -nogpulib -DTHREADS=96 -o {code}"
    clang = [require_tool("clang-22"), *words.split(), "-Xclang", "-finclude-default-header", str(source)]
    subprocess.run(clang, check=True, capture_output=True)
    launch = ["--grid", "96", "--work-group", "96", "flag=zeros(1)", "out=zeros(96)", "--limit", "20000"]
    run_command("run", str(code), "late", *launch, "--state", str(state))
    stopped = json.loads(state.read_text("utf-8"))
    for wave in stopped["waves"]:  # registers say that waves are at a barrier
        wave["registers"]["status"] = 1 << 12 if wave.pop("stop_detail", None) else 0
    state.write_text(json.dumps(stopped), "utf-8")
    with stub(tmp_path, {"late": state}) as sockets:
        load = ("-ex", f"add-symbol-file {code} -o {LOAD_ADDRESS:#x}", "-ex", f"target remote {sockets / 'late'}")
        teach = python(f"from tests.gdb.inside import spaces; spaces.teach({str(state)!r})")
        connect = ["-ex", "maint set dwarf unwinders off", *load, *teach]
        text = run_gdb(require_tool, *connect, "-ex", "dwarfgpu fault", "-ex", "dwarfgpu bt")
    text = " ".join(text.split())
    for sentence in (
        "waves 1,3 wait at the barrier of hangs.cl:12; not there: wave 2",
        "wave 2 is in the loop of hangs.cl:10 wave 2 cannot leave it while it reads: 4 bytes at",
        "0, compared with 0 (v_cmp_eq_u32)",
        "(clang's wrapper, by the code)",
    ):
        assert sentence in text
