#!/usr/bin/env python3
"""Judge the kernels that the project runs: what their compilers say of them, compared with what happens.

    python3 tools/dev.py judge_kernels [--compiler 24] [--processor gfx90a] [--level O0] [--jobs 2] [--kernels 'loops*']

The kernels are those of tools/corpus/programs, of the tests that run kernels, and 12 random ones
(tools/fuzz/random_kernels.py). Each is compiled for one processor, launched with the arguments that `judge` makes,
and judged as it does. Findings are counted by rule and shown by kernel with --findings; --json FILE keeps them. The
last line has the time, that of the processors, and the memory of the largest process.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fixtures import llvm24  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROGRAMS = ROOT / "tools" / "corpus" / "programs"
RUNNING = ROOT / "tests" / "execution"
DEBUGGED = ROOT / "tests" / "execution" / "control"
SCRIPTS = ROOT / "fixtures" / "src" / "scripts"
RANDOM = "random"
IN_FILE = 12
GROUP, GRID = 64, 128
LIMIT = 3_000_000
"""The instructions after which a kernel is taken for one that does not end."""
PRIVATE = 16384


class Way(NamedTuple):
    """How the kernels are compiled."""

    compiler: str
    processor: str
    level: str
    repair: str


class KernelResult(NamedTuple):
    """What judging a kernel gives."""

    program: str
    kernel: str
    instructions: int
    seconds: float
    findings: list[tuple[str, str, str]]
    """The rule, the place and the message."""
    problem: str = ""


# --- Compiling --------------------------------------------------------------------------------------------------------


def programs() -> Iterator[tuple[str, Path | None]]:
    """Yield the names of the programs, and their files; the random one has none."""
    for path in sorted(PROGRAMS.iterdir()):
        if path.suffix in (".cl", ".hip"):
            yield path.name, path
    yield "running/kernels.cl", RUNNING / "kernels.cl"
    yield "debugged/kernels.cl", DEBUGGED / "kernels.cl"
    yield RANDOM, None


def compiled(way: Way, name: str, source: Path | None, folder: Path) -> Path:
    """Compile a program; raise RuntimeError with what the compiler says."""
    if source is None:
        from fuzz.random_kernels import kernels
        from fuzz.random_kernels import source as text_of

        source = folder / "random.cl"
        source.write_text(text_of(kernels("judged", IN_FILE)))
    flags = ["-g", f"-{way.level}", "-nogpulib", "-w", str(source)]
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={way.processor}"]
    if source.suffix == ".cl":
        head = ["-x", "cl", "-cl-std=CL2.0", *target]
        if name.endswith("/kernels.cl"):
            head += ["-include", str(RUNNING / "kernels.h")]
    else:
        head = ["-x", "hip", "--cuda-device-only", f"--offload-arch={way.processor}", "-nogpuinc"]
        head += ["--no-gpu-bundle-output"]
    text, moved, unit, out = (folder / end for end in ("k.ll", "m.ll", "k.o", "k.co"))
    commands = [["clang-22", *head, *flags, "-S", "-emit-llvm", "-o", str(text)]]
    if way.compiler == "24":
        features = "" if way.processor.startswith("gfx9") else "+wavefrontsize32"
        commands.append([sys.executable, str(SCRIPTS / "move_local_globals.py"), str(text), str(moved)])
        python = llvm24()
        if python is None:
            raise RuntimeError("no Python has triton, which has LLVM 24 (tools/fixtures.py)")
        codegen = [python, str(SCRIPTS / "codegen.py"), str(moved), way.processor, features, str(unit)]
        commands.append(codegen)
    else:
        back = ["-x", "ir", *target, "-nogpulib", "-Xclang", "-disable-llvm-passes", f"-{way.level}", "-c", str(text)]
        commands.append(["clang-22", *back, "-o", str(unit)])
    commands.append(["ld.lld-22", "-shared", str(unit), "-o", str(out)])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr.strip()[:300]}")
    return out


# --- Judging ----------------------------------------------------------------------------------------------------------


def judged(way: Way, pattern: str, named: tuple[str, Path | None]) -> list[KernelResult]:
    """Compile a program and judge its kernels."""
    name, source = named
    from dwarfgpu.audits.judge.judgement import Judge
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.launch.launch import launch, machine_for
    from dwarfgpu.execution.launch.made_arguments import made_arguments
    from dwarfgpu.states.program import open_program

    results = []
    with tempfile.TemporaryDirectory(prefix="judged-") as folder:
        try:
            path = str(compiled(way, name, source, Path(folder)))
        except RuntimeError as error:
            return [KernelResult(name, "", 0, 0.0, [], str(error))]
        names = [kernel.name for kernel in open_program(path).file.kernels.kernels]
        for kernel_name in fnmatch.filter(names, pattern):
            begun = time.monotonic()
            program = open_program(path, repair=way.repair)
            try:
                given = list(made_arguments(program, kernel_name, GRID, seed=0).values())
                machine = machine_for(program.file, kernel_name)
                launched = launch(machine, program.file, kernel_name, grid=(GRID,), work_group=(GROUP,), args=given,
                                  private_size=PRIVATE)  # fmt: skip
                judgement = Judge(Running(launched, program=program)).run(LIMIT)
            except DwarfGpuError as error:
                results.append(KernelResult(name, kernel_name, 0, time.monotonic() - begun, [], str(error)))
                continue
            unknown = [each for each in judgement.report.findings if each.idiom is None]  # a known mistake is repaired
            findings = [(each.rule.name, each.place, each.message) for each in unknown]
            problem = "" if judgement.halt.has_ended else str(judgement.halt)
            seconds = time.monotonic() - begun
            results.append(KernelResult(name, kernel_name, judgement.instructions, seconds, findings, problem))
    return results


# --- The run ----------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Judge the kernels."""
    parser = argparse.ArgumentParser(
        prog="tools/dev.py judge_kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compiler", choices=("22", "24"), default="22", help="the LLVM (22)")
    parser.add_argument("--processor", default="gfx1100", metavar="NAME", help="the processor (gfx1100)")
    parser.add_argument("--level", default="O2", help="O0 or O2 (O2)")
    parser.add_argument("--repair", default="auto", help="how variables are read (auto)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--programs", default="*", metavar="PATTERN", help="only such programs")
    parser.add_argument("--kernels", default="*", metavar="PATTERN", help="only such kernels")
    parser.add_argument("--findings", action="store_true", help="show every finding")
    parser.add_argument("--json", metavar="FILE", help="write what is found")
    options = parser.parse_args(argv)
    way = Way(options.compiler, options.processor, options.level, options.repair)
    chosen = [each for each in programs() if fnmatch.fnmatch(each[0], options.programs)]
    if not chosen:
        parser.error(f"no program matches {options.programs!r}: --programs takes the name of one, or a pattern")
    begun = time.monotonic()
    results: list[KernelResult] = []
    judge = partial(judged, way, options.kernels)
    with Pool(options.jobs, maxtasksperchild=8) as pool:  # what a process has learned of programs is forgotten
        for done, of_program in enumerate(pool.imap_unordered(judge, reversed(chosen)), 1):
            results += of_program
            if options.json:
                Path(options.json).write_text(json.dumps([each._asdict() for each in results], indent=1))
            last = results[-1].program if results else ""
            seconds = time.monotonic() - begun
            print(f"{done} of {len(chosen)} programs, {seconds:.0f} s: {last}", file=sys.stderr, flush=True)
        pool.close()
        pool.join()
    report(results, shows_all=options.findings)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{time.monotonic() - begun:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors (compilers included), "
        f"{used.ru_maxrss // 1024} MB in the largest process"
    )
    return 0


def report(results: Sequence[KernelResult], *, shows_all: bool) -> None:
    """Print what was found, by rule."""
    results = sorted(results, key=lambda each: (each.program, each.kernel))
    rules: Counter[str] = Counter()
    kernels: Counter[str] = Counter()
    for each in results:
        names = [rule for rule, _place, _message in each.findings]
        rules.update(names)
        kernels.update(set(names))
        if each.problem:
            print(f"{each.program} {each.kernel}: {each.problem}")
        for rule, place, message in each.findings if shows_all else ():
            print(f"{each.program} {each.kernel}: {rule}: {place}: {message}")
    for rule, count in sorted(rules.items()):
        print(f"{rule:20} {count:5} findings in {kernels[rule]} kernels")
    slowest = max(results, key=lambda each: each.seconds)
    instructions = sum(each.instructions for each in results)
    print(f"{len(results)} kernels, {instructions:,} instructions; {slowest.kernel} takes {slowest.seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
