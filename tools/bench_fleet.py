"""The figures of many inputs: two workers against one process, and what asking them costs beside the answers.

One process is the quickest way to the same rows without `fleet`: a loop over the inputs that keeps the code open and
collects garbage as seldom as a command does, and that writes nothing. What two processors of a machine are worth,
two such processes show, each with half of the inputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench_measure import DWARFGPU, ROOT, compile_all, not_measured, show

INPUTS = 2000
ROUNDS = 3
WAVES = 8
"""Of the larger snapshots."""
TICK = 0.05
LOOP = """
import gc, sys
gc.set_threshold(50_000)
from dwarfgpu.fleet.answers import make_question, rows_of
from dwarfgpu.fleet.inputs import find_inputs
name, *words = sys.argv[1].split()
question = make_question(name, *words)
for item in find_inputs(sys.argv[2:]):
    for row in rows_of(question, item):
        pass
"""
NAMES = {
    "small": "one process / 2 workers, 2,000 snapshots of 1 wave, eval",
    "large": f"one process / 2 workers, 2,000 snapshots of {WAVES} waves, bt",
    "plain": "the same: one process / 2 of them with half each",
    "extra": "processor time beside the answers, a small file / 2 ms",
}


def fleet() -> None:
    """Print the figures."""
    if not Path("/proc/self/task").exists():
        for name in NAMES.values():
            not_measured(name, "", "processor time of other processes is read from /proc")
        return
    compile_all()
    with tempfile.TemporaryDirectory(prefix="dwarfgpu-bench-") as passing:
        folder = Path(passing)
        for kind, question, waves, rounds in (("small", "eval even", 1, ROUNDS), ("large", "bt", WAVES, 1)):
            halves = _write(folder / kind, waves)
            one = [sys.executable, "-c", LOOP, question]
            workers = [*DWARFGPU, "fleet", question, *halves, "--scheduler", "local:2", "--out"]
            times: list[list[tuple[float, float]]] = [[], [], []]
            for turn in range(rounds):
                times[0].append(_run([*one, *halves]))
                times[1].append(_run([*workers, str(folder / f"{kind}-{turn}")]))
                times[2].append(_run(*([*one, half] for half in halves)))
            alone, together, plain = (min(column) for column in times)
            show(NAMES[kind], alone[0] / together[0], "at least 1.8", f"{alone[0]:.1f} s, {together[0]:.1f} s")
            show(NAMES["plain"], alone[0] / plain[0], "", "what the processors are worth")
            if kind == "small":
                extra = max(0.0, min(each[1] for each in times[1]) - min(each[1] for each in times[2])) / INPUTS
                show(NAMES["extra"], extra / 0.002, "at most 1", f"{extra * 1e3:.2f} ms, with start and Parquet")


def _write(folder: Path, waves: int) -> list[str]:
    """Write snapshots, each with another value, to two folders; return these."""
    document = json.loads((ROOT / "dwarfgpu" / "examples" / "variables.json").read_text("utf-8"))
    document["code_objects"][0]["path"] = str(ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co")
    wave = document["waves"][0]
    halves = [folder / "first", folder / "second"]
    for half in halves:
        half.mkdir(parents=True)
    for rank in range(INPUTS):
        wave["registers"]["v2"] = [rank] * 64
        document["waves"] = [{**wave, "id": f"1:1:{number + 1}:1"} for number in range(waves)]
        (halves[rank % 2] / f"rank{rank:05}.json").write_text(json.dumps(document), "utf-8")
    return [str(half) for half in halves]


def _run(*commands: list[str]) -> tuple[float, float]:
    """Run commands at the same time; return the seconds until all have ended, and those of all their processes."""
    begun = time.perf_counter()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd=ROOT)
                 for words in commands]  # fmt: skip
    known: dict[int, float] = {}
    while any(process.poll() is None for process in processes):
        for process in processes:
            known.update(_processor_times(process.pid))
        time.sleep(TICK)
    seconds = time.perf_counter() - begun
    if any(process.returncode for process in processes):
        raise RuntimeError(f"{' '.join(commands[0][:6])} ended with {[process.returncode for process in processes]}")
    return seconds, sum(known.values())


def _processor_times(process: int) -> Iterator[tuple[int, float]]:
    """Yield a process and those that it has started, with their seconds of processor time so far."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        yield process, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                yield from _processor_times(int(child))
