"""The figures inside GDB: what loading adds to its start, a variable that is asked for again, and one after a stop."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_measure import ROOT, compile_all, in_turns, process, show

sys.path.insert(0, str(ROOT))

ENTRY = ROOT / "dwarfgpu" / "gdbplugin" / "entry.py"
PROGRAM = ROOT / "fixtures" / "asm" / "host.x86_64"
WHAT = ("memory", "a register", "a vector in four parts", "a global variable")
HELPER = """
import time
import gdb

def best(ask, count, rounds=9):
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            ask()
        times.append((time.perf_counter() - started) / count)
    return min(times)
"""
"""What both scripts begin with."""
SCRIPT = """
import dwarfgpu.gdb as dg

def stepped():
    gdb.execute("stepi", to_string=True)
    started = time.perf_counter()
    dg.selected()["std_counter"].value()
    return time.perf_counter() - started

gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
frame = gdb.selected_frame()
theirs = best(lambda: int(frame.read_var("std_counter")), 400)
ours = best(lambda: dg.selected()["std_counter"].value(), 400)
user = best(lambda: dg.selected()["counter"].value(), 400)
asked = [best(lambda: gdb.parse_and_eval(f'$dwarfgpu("{name}")').fetch_lazy(), 200)
         for name in ("pushed", "counter", "selected", "global_word")]
print("@@", theirs, ours, user, min(stepped() for _ in range(2)), *asked)
"""


def gdb() -> None:
    """GDB, where there is one."""
    found = shutil.which("gdb")
    if found is None:
        return
    from tests.gdb.running import environment

    compile_all()
    start = (found, "-nx", "-batch", "-ex", "python pass")
    bare, loaded = in_turns([process(*start), process(*start, "-x", str(ENTRY))], rounds=7)
    show("loading into GDB, seconds", loaded - bare, "at most 0.3", f"{loaded * 1e3:.0f} - {bare * 1e3:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        program, script = Path(folder) / "host", Path(folder) / "script.py"
        shutil.copy(PROGRAM, program)
        program.chmod(0o755)
        script.write_text(HELPER + SCRIPT, "utf-8")
        words = [found, "-nx", "-batch", "-x", str(ENTRY), "-x", str(script), str(program)]
        done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
    said = done.stdout.partition("@@")[2].split("\n", 1)[0].split()
    theirs, ours, user, stopped, *asked = (float(each) * 1e6 for each in said)
    show("dg.selected()[x].value() in GDB, microseconds", ours, "at most 500", "a register, warm")
    show("the same / frame.read_var(x) of GDB", ours / theirs, "-", f"{ours:.0f} us / {theirs:.0f} us")
    show("one that GDB cannot read, microseconds", user, "at most 500", "DW_OP_LLVM_user, warm")
    show("the first one after a stop, microseconds", stopped, "-", "frames are found again")
    for what, warm in zip(WHAT, asked, strict=True):
        show('print $dwarfgpu("x") in GDB, microseconds', warm, "at most 500", f"{what}, warm")


# --- Many waves ---------------------------------------------------------------------------------------------------

WAVES = 2_000
CALLS = ROOT / "fixtures" / "llvm24" / "hip-calls.gfx1100.w32.O2.co"
STATE = ROOT / "dwarfgpu" / "examples" / "calls.json"
LOAD_ADDRESS = 0x7F0000000000
WAVES_SCRIPT = """
def listed():
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("info threads", to_string=True)

without = best(listed, 1, 3)
gdb.execute("thread 1501", to_string=True)
warm = best(lambda: gdb.parse_and_eval('$dwarfgpu("$s33")').fetch_lazy(), 200)
gdb.execute("set dwarfgpu unwinder on")
print("@@", warm, without, best(listed, 1, 3))
"""


def many_waves(folder: Path) -> Path:
    """Write a snapshot of many waves, which are those of an example again and again."""
    document = json.loads(STATE.read_text("utf-8"))
    document["code_objects"][0]["path"] = str(CALLS)
    first, own = document["waves"], document["memory"]
    waves, memory = [], []
    for number in range(WAVES):
        model = first[number % len(first)]
        name = f"1:1:1:{number + 1}"
        waves.append({**model, "id": name, "work_group": [number, 0, 0], "wave_in_group": 0})
        memory += [{**part, "wave": name} for part in own if part.get("wave") == model["id"]]
    memory += [part for part in own if "wave" not in part and "work_group" not in part]
    document["dispatches"][0]["grid"] = [32 * WAVES, 1, 1]
    path = folder / "waves.json"
    path.write_text(json.dumps({**document, "waves": waves, "memory": memory}), "utf-8")
    return path


def gdb_waves() -> None:
    """GDB with many waves, which a stub of its remote protocol shows."""
    found = shutil.which("gdb")
    if found is None:
        return
    from tests.gdb.running import environment, stub

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(HELPER + WAVES_SCRIPT, "utf-8")
        with stub(folder, {"waves": many_waves(folder)}) as sockets:
            words = [found, "-nx", "-batch", "-x", str(ENTRY), "-ex", "maint set dwarf unwinders off"]
            words += ["-ex", f"add-symbol-file {CALLS} -o {LOAD_ADDRESS:#x}"]
            words += ["-ex", f"target remote {sockets / 'waves'}", "-x", str(script)]
            done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    said = done.stdout.partition("@@")[2].split("\n", 1)[0].split()
    warm, without, unwound = (float(each) for each in said)
    show(f"$dwarfgpu with {WAVES:,} waves, milliseconds", warm * 1e3, "at most 0.3", "a register, warm")
    show(
        "info threads with the unwinder / without", unwound / without, "at most 2", f"{unwound:.2f} s / {without:.2f} s"
    )
