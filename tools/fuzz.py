#!/usr/bin/env python3
"""Damage the files in fixtures/ and try everything the reader offers with them.

    python3 tools/dev.py fuzz --seconds 60               all fixtures, for a minute
    python3 tools/dev.py fuzz --count 500 --seed 7       the same 500 files each time
    python3 tools/dev.py fuzz --file 'asm/*'             some of the fixtures
    python3 tools/dev.py fuzz --replay NAME EDIT...      what a finding said
    python3 tools/dev.py fuzz --made ...                 inputs made from nothing: see tools/fuzz_made.py
    python3 tools/dev.py fuzz --kernels ...              random kernels, here and on the host: see tools/fuzz_kernels.py
    python3 tools/dev.py fuzz --pages ...                names that steer browsers, terminals: see tools/fuzz_pages.py
    python3 tools/dev.py fuzz --running ...              damaged kernels that run: see tools/fuzz_running.py
    python3 tools/dev.py fuzz --fleet ...                servers and archives that lie: see tools/fuzz_fleet.py
    python3 tools/dev.py fuzz --judge ...              damaged code objects that are judged: see tools/fuzz_judge.py
    python3 tools/dev.py fuzz --memmodel ...           the same, by the memory model: see tools/fuzz_memmodel.py
    python3 tools/dev.py fuzz --cores ...                damaged GPU core files: see tools/fuzz_cores.py

Whatever a file holds, each run (`tools/fuzz_drives.py`) must end with answers or with a DwarfGpuError where one is
expected, within a limit of processor time and of memory. What does not is a finding: it is printed once, with a recipe
of as few edits as bring it about, and the exit status is 1. The mutant with a number depends on the seed and on the
chosen files alone. Findings are to become small tests, built with tests/builders.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import multiprocessing
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fuzz_bench  # noqa: E402
from fuzz_bench import FOLDER, Bench, Failure  # noqa: E402
from fuzz_files import Edit, parse_edit  # noqa: E402
from fuzz_limits import limit_memory  # noqa: E402
from fuzz_mutations import any_kind, mutate  # noqa: E402

SOURCES = ("src", "MANIFEST.toml", "README.md")
PATIENCE = 30
"""After so many times the limit of a question a worker is taken for one that hangs where no signal reaches it."""
FORK = multiprocessing.get_context("fork")


class Result(NamedTuple):
    """What came of one mutant."""

    number: int
    name: str
    edits: list[Edit]
    seconds: float
    """The processor time of its longest run."""
    drive: str
    """The name of that run."""
    failure: Failure | None


# --- Workers ------------------------------------------------------------------------------------------------------


def _work(pipe: Connection, other: Connection, folder: Path, names: list[str], seed: str) -> None:
    """Try the mutants whose numbers come through the pipe, or that are given as name and edits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    other.close()
    bench = Bench(folder)
    for name in names[:3]:  # whatever is imported late is there before the limit counts
        bench.run(name, [])
    limit_memory(fuzz_bench.MEMORY)
    while True:
        try:
            number, name, edits = pipe.recv()
        except EOFError:  # the process that asks has ended
            return
        if name is None:
            name, edits = mutant(bench, names, seed, number)
        pipe.send((number, name, edits))
        pipe.send(Result(number, name, edits, *bench.run(name, edits)))


def mutant(bench: Bench, names: list[str], seed: str, number: int) -> tuple[str, list[Edit]]:
    """Return the mutant with a number: a file, and what is changed in it.

    What few files have is met as often as the rest.
    """
    numbers = random.Random(f"{seed}/{number}")
    kinds = bench.kinds(names)
    kind = any_kind(kinds, numbers)
    name = numbers.choice(kinds[kind])
    return name, mutate(bench.original(name), kind, numbers)


def patience() -> float:
    """Return how long a mutant may take."""
    return PATIENCE * fuzz_bench.SECONDS


class Worker:
    """A process that tries mutants. When it dies or hangs, that is what came of the mutant it was trying."""

    def __init__(self, names: list[str], seed: str) -> None:
        self.pipe, theirs = FORK.Pipe()
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        arguments = (theirs, self.pipe, Path(self.folder.name), names, seed)
        self.process = FORK.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.task: tuple[int, str, list[Edit]] | None = None
        self.since = 0.0

    def give(self, number: int, name: str | None = None, edits: list[Edit] | None = None) -> None:
        """Have a mutant tried."""
        self.pipe.send((number, name, edits))
        self.task = (number, name or "", edits or [])
        self.since = time.monotonic()

    def take(self) -> Result | None:
        """Return what came of it, if that is known already."""
        assert self.task is not None
        try:
            while self.pipe.poll():
                found = self.pipe.recv()
                if isinstance(found, Result):
                    self.task = None
                    return found
                self.task = found
        except EOFError:
            self.process.join()
            return self._lost("Died", f"exit code {self.process.exitcode}")
        if time.monotonic() - self.since > patience():
            self.end()
            return self._lost("Hangs", f"no answer in {patience()} s")
        return None

    def _lost(self, kind: str, what: str) -> Result:
        assert self.task is not None
        return Result(*self.task, patience(), kind, Failure(kind, what, ""))

    def end(self) -> None:
        """Stop the process, and remove its folder."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.folder.cleanup()


def tried(names: list[str], seed: str, name: str, edits: list[Edit]) -> Result:
    """Try one mutant in a new process."""
    worker = Worker(names, seed)
    worker.give(-1, name, edits)
    while (result := worker.take()) is None:
        wait([worker.pipe], 1)
    worker.end()
    return result


# --- The run ------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What has been found so far."""

    tried: int = 0
    slowest: Result | None = None
    findings: dict[tuple[str, str], Result] = field(default_factory=dict)
    times: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, result: Result) -> bool:
        """Count a result; whether it is a new finding."""
        self.tried += 1
        if self.slowest is None or result.seconds > self.slowest.seconds:
            self.slowest = result
        if result.failure is None:
            return False
        key = result.failure[:2]
        self.times[key] += 1
        is_new = key not in self.findings
        self.findings.setdefault(key, result)
        return is_new


def numbers_until(count: int | None, seconds: float) -> Iterator[int]:
    """Yield the numbers of mutants, up to a count or for some time."""
    end = time.monotonic() + seconds
    number = 0
    while number < count if count is not None else time.monotonic() < end:
        yield number
        number += 1


def fuzz(names: list[str], seed: str, numbers: Iterable[int], jobs: int) -> Report:
    """Try mutants in some processes."""
    report = Report()
    left = iter(numbers)
    workers = [Worker(names, seed) for _ in range(jobs)]
    idle = list(workers)
    while True:
        while idle and (number := next(left, None)) is not None:
            idle.pop().give(number)
        busy = [worker for worker in workers if worker.task is not None]
        if not busy:
            break
        wait([worker.pipe for worker in busy], 1)
        for worker in busy:
            result = worker.take()
            if result is None:
                continue
            if report.add(result):
                show(minimal(result, names, seed))
            if result.failure is None:
                idle.append(worker)
                continue
            worker.end()  # what it has left behind must not be taken for the fault of the next mutant
            workers[workers.index(worker)] = new = Worker(names, seed)
            idle.append(new)
    for worker in workers:
        worker.end()
    return report


def minimal(result: Result, names: list[str], seed: str) -> Result:
    """Return the same finding with as few of the edits as will do."""
    for index in reversed(range(len(result.edits))):
        rest = result.edits[:index] + result.edits[index + 1 :]
        found = tried(names, seed, result.name, rest) if rest else None
        if found is not None and found.failure is not None and result.failure is not None:
            result = found if found.failure[:2] == result.failure[:2] else result
    return result


def recipe(result: Result) -> str:
    """Return what `--replay` takes."""
    return " ".join((result.name, *map(str, result.edits)))


def show(result: Result) -> None:
    """Print a finding."""
    if result.failure is not None:
        print(f"FOUND {result.failure.kind} in {result.failure.place}\n{result.failure.trace}", flush=True)
        print(f"  --replay {recipe(result)}\n", flush=True)


def chosen(patterns: Sequence[str]) -> list[str]:
    """Return the built fixtures that some patterns name, or all."""
    files = (path for path in FOLDER.rglob("*") if path.is_file())
    names = sorted(path.relative_to(FOLDER).as_posix() for path in files)
    built = [name for name in names if name.split("/", 1)[0] not in SOURCES]
    return [name for name in built if not patterns or any(fnmatch.fnmatch(name, each) for each in patterns)]


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz, or replay a finding."""
    words = list(sys.argv[1:] if argv is None else argv)
    if "--pages" in words:
        import fuzz_pages

        words.remove("--pages")
        return fuzz_pages.main(words)
    if "--made" in words:
        import fuzz_made

        words.remove("--made")
        return fuzz_made.main(words)
    for word in ("kernels", "running"):
        if f"--{word}" in words:
            words.remove(f"--{word}")
            status: int = importlib.import_module(f"fuzz_{word}").main(words)
            return status
    for word in words:
        if word.startswith("--") and (ROOT / "tools" / f"fuzz_{word[2:]}.py").exists():
            import fuzz_loop

            words.remove(word)
            module = importlib.import_module(f"fuzz_{word[2:]}")
            return fuzz_loop.main(module.__doc__, module.begin, words)
    parser = argparse.ArgumentParser(
        prog="tools/fuzz.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seed", default="0", help="what the mutants depend on (0)")
    parser.add_argument("--file", action="append", default=[], metavar="GLOB", help="only such fixtures; repeatable")
    parser.add_argument(
        "--limit",
        type=float,
        default=fuzz_bench.SECONDS,
        metavar="S",
        help="how long one question may take (%(default)s)",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes (1)")
    parser.add_argument("--replay", nargs="+", metavar="NAME EDIT", help="a fixture, and edits as a finding shows them")
    options = parser.parse_args(argv)
    fuzz_bench.SECONDS = options.limit
    names = chosen(options.file)
    if not names:
        parser.error(f"no fixture is called {' or '.join(options.file)}: names are such as asm/forms.gfx90a.w64.co")
    if options.replay:
        name, *texts = options.replay
        if name not in chosen([]):
            parser.error(f"no fixture is called {name}")
        try:
            edits = [parse_edit(text) for text in texts]
        except ValueError as error:
            parser.error(str(error))
        result = tried([name], options.seed, name, edits)
        show(result)
        found = result.failure.kind if result.failure else "nothing found"
        print(f"fuzz: {found}; the longest run, {result.drive}, took {result.seconds:.2f} s")
        return 1 if result.failure else 0
    report = fuzz(names, options.seed, numbers_until(options.count, options.seconds), options.jobs)
    if report.slowest is not None:
        seconds, drive = report.slowest.seconds, report.slowest.drive
        print(f"fuzz: the longest run, {drive}, took {seconds:.2f} s: {recipe(report.slowest)}")
    print(f"fuzz: {report.tried} mutants of {len(names)} files, {len(report.findings)} findings")
    for key, times in report.times.most_common():
        print(f"  {times:>5} times {' in '.join(key)}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
