import re
import subprocess
import sys

import pytest

import dwarfgpu as dg
from dwarfgpu.machines import snapshot
from dwarfgpu.targets.resolve import resolve
from tests.gdb.running import INSIDE, ROOT, python, run_gdb, stub
from tests.machines.conformance import BIG, WAVE32, WAVE64, State
from tests.machines.test_conformance import machine_of

EXAMPLES = ROOT / "docs" / "examples"
FIXTURES = ROOT / "fixtures"
SNAPSHOTS = {
    "variables": FIXTURES / "asm" / "lane-pc.gfx90a.w64.co",
    "lanes": FIXTURES / "asm" / "lane-pc.gfx90a.w64.co",
    "calls": FIXTURES / "llvm24" / "hip-calls.gfx1100.w32.O2.co",
    "launch": FIXTURES / "containers" / "tiny.gfx90a.co",
}
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
            variables={
                "STUB_SOCKETS": str(sockets),
                "PYTEST_FILES": str(INSIDE / "conformance_member.py"),
                "HYPOTHESIS_PROFILE": "dev",
            },
        )
    assert "@@pytest 0@@" in text, text[-6000:]
    assert int(re.search(r"(\d+) passed", text)[1]) >= 35
    assert "skipped" not in text
