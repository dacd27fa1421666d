"""The figures inside GDB: what loading adds to its start, a variable that is asked for again, and one after a stop."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from bench_measure import ROOT, compile_all, in_turns, process, show

ENTRY = ROOT / "dwarfgpu" / "gdbplugin" / "entry.py"
PROGRAM = ROOT / "fixtures" / "asm" / "host.x86_64"
WHAT = ("memory", "a register", "a vector in four parts", "a global variable")
SCRIPT = """
import time
import gdb
import dwarfgpu.gdb as dg

def best(ask, count, rounds=9):
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            ask()
        times.append((time.perf_counter() - started) / count)
    return min(times)

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
    compile_all()
    start = (found, "-nx", "-batch", "-ex", "python pass")
    bare, loaded = in_turns([process(*start), process(*start, "-x", str(ENTRY))], rounds=7)
    show("loading into GDB, seconds", loaded - bare, "at most 0.3", f"{loaded * 1e3:.0f} - {bare * 1e3:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        program, script = Path(folder) / "host", Path(folder) / "script.py"
        shutil.copy(PROGRAM, program)
        program.chmod(0o755)
        script.write_text(SCRIPT, "utf-8")
        words = [found, "-nx", "-batch", "-x", str(ENTRY), "-x", str(script), str(program)]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    said = done.stdout.partition("@@")[2].split("\n", 1)[0].split()
    theirs, ours, user, stopped, *asked = (float(each) * 1e6 for each in said)
    show("dg.selected()[x].value() in GDB, microseconds", ours, "at most 500", "a register, warm")
    show("the same / frame.read_var(x) of GDB", ours / theirs, "-", f"{ours:.0f} us / {theirs:.0f} us")
    show("one that GDB cannot read, microseconds", user, "at most 500", "DW_OP_LLVM_user, warm")
    show("the first one after a stop, microseconds", stopped, "-", "frames are found again")
    for what, warm in zip(WHAT, asked, strict=True):
        show('print $dwarfgpu("x") in GDB, microseconds', warm, "at most 500", f"{what}, warm")
