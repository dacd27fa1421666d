"""Stops of a host program: core files that GDB writes, and what GDB says about the frames there."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

SOURCE = """
#include <signal.h>
#include <string.h>

volatile long sink;
#define KEEP __attribute__((noinline))

KEEP static long leaf(long x) { sink = x; return x * 2 + sink; }
KEEP static long saves(long a, long b) {
  __asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15", "memory");
  return leaf(a) + b;
}
KEEP static long recursion(long depth, long sum) {
  long here = depth * 100 + saves(sum, depth);
  if (depth > 0)
    here += recursion(depth - 1, here) * 3;
  sink = here;
  return here + sum;
}
KEEP static long dynamic(long count) {
  char *data = __builtin_alloca(count * 8);
  memset(data, (int)count, count * 8);
  sink = data[count];
  return recursion(2, data[1]) + data[0];
}
KEEP static long many(long a, long b, long c, long d, long e, long f, long g, long h) {
  return dynamic(a + b) + c + d + e + f + leaf(g) + h;
}
KEEP static long aligned(long value) {
  long data[8] __attribute__((aligned(64)));
  for (int i = 0; i < 8; ++i)
    data[i] = value + i;
  sink = (long)data;
  return leaf(data[value & 7]);
}
static void handler(int signal) { sink = signal; saves(signal, 1); }

int main(int argc, char **argv) {
  signal(SIGUSR1, handler);
  long r = many(argc, 2, 3, 4, 5, 6, 7, 8) + aligned(argc);
  raise(SIGUSR1);
  return r + leaf(r) == 1;
}
"""

# What GDB runs: at every function, and some instructions further on, it writes a core file and describes each frame.
# It unwinds by heuristics where call frame information ends, which is behind _start.
SCRIPT = r"""
import gdb, json, re
folder, limit = FOLDER, LIMIT
def values(frame):
    try: block = frame.block()
    except RuntimeError: return {}
    found = {}
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and str(symbol.type) == "long" and symbol.name not in found:
                try:
                    value = frame.read_var(symbol, block)
                    found[symbol.name] = None if value.is_optimized_out else int(value)
                except gdb.error:
                    found[symbol.name] = None
        if block.function is not None: break
        block = block.superblock
    return found
def frames():
    found, frame, level = [], gdb.newest_frame(), 0
    while frame is not None:
        frame.select()
        text = gdb.execute("info frame", to_string=True)
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            older = frame.older()
            base = re.search(r"frame at (0x[0-9a-f]+)", text)
            saved = text.partition("Saved registers:")[2]
            found.append({"pc": frame.pc(), "name": frame.name(), "type": frame.type(),
                          "cfa": int(base[1], 16) if base else None,
                          "values": values(frame) if frame.type() == gdb.NORMAL_FRAME else {},
                          "called_by_real": older is None or older.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME),
                          "saved": {n: int(a, 16) for n, a in re.findall(r"(\w+) at (0x[0-9a-f]+)", saved)}})
        frame = frame.older()
    gdb.newest_frame().select()
    return found
for setting in ("confirm off", "pagination off", "backtrace past-main on", "debuginfod enabled off",
                "disable-randomization on", "width 0"):
    try: gdb.execute("set " + setting)
    except gdb.error: pass
gdb.execute("handle SIGUSR1 nostop noprint pass", to_string=True)
for name in ("leaf", "saves", "recursion", "dynamic", "many", "aligned", "handler", "main"):
    gdb.execute("break *" + name, to_string=True)
gdb.execute("run", to_string=True)
stops, step = [], 0
while len(stops) < limit and gdb.selected_inferior().threads():
    path = "%s/core%d" % (folder, len(stops))
    gdb.execute("generate-core-file " + path, to_string=True)
    stops.append({"core": path, "frames": frames()})
    if len(stops) == limit - 10:
        gdb.execute("delete")
        gdb.execute("break *handler", to_string=True)
        gdb.execute("continue", to_string=True)  # the rest is in the handler
        continue
    step = (step + 1) % 6
    goes_on = not step and len(stops) < limit - 10
    gdb.execute("continue" if goes_on else "stepi %d" % (step or 3), to_string=True)
json.dump(stops, open(folder + "/stops.json", "w"))
gdb.execute("kill", to_string=True)
"""


def program(folder: Path, compiler: str, options: str) -> Path:
    """The program, compiled; all symbols of libraries are bound when it starts, so no stop is in the dynamic linker."""
    source, out = folder / "stops.c", folder / "stops"
    source.write_text(SOURCE)
    subprocess.run([compiler, *shlex.split(options), "-g", "-Wl,-z,now", str(source), "-o", str(out)], check=True)
    return out


def stops(gdb: str, binary: Path, limit: int) -> list[dict[str, Any]]:
    script = binary.parent / "stops.py"
    script.write_text(SCRIPT.replace("FOLDER", repr(str(binary.parent))).replace("LIMIT", str(limit)))
    command = [gdb, "-nx", "-batch", "-x", str(script), str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=binary.parent)
    result = binary.parent / "stops.json"
    assert result.exists(), done.stderr
    found: list[dict[str, Any]] = json.loads(result.read_text())
    return found
