#!/usr/bin/env python3
"""Damage the files in fixtures/ and try everything the reader offers with them.

    python3 tools/dev.py fuzz --seconds 60               all fixtures, for a minute
    python3 tools/dev.py fuzz --count 500 --seed 7       the same 500 files each time
    python3 tools/dev.py fuzz --file 'asm/*'             some of the fixtures
    python3 tools/dev.py fuzz --replay NAME EDIT...      what a finding said

Whatever a file holds, each run (`tools/fuzz_drives.py`) must end with answers or with a DwarfGpuError where one is
expected, within a limit of processor time and of memory. What does not is a finding: it is printed once, with a recipe
of as few edits as bring it about, and the exit status is 1. The mutant with a number depends on the seed and on the
chosen files alone. Findings are to become small tests, built with tests/builders.
"""

from __future__ import annotations

import argparse
import fnmatch
import multiprocessing
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import fuzz_drives  # noqa: E402
from fuzz_mutations import Edit, Original, any_kind, parse_edit  # noqa: E402

FOLDER = ROOT / "fixtures"
SOURCES = ("src", "MANIFEST.toml", "README.md")
SPLIT = (".dwo", ".dwp")
SECONDS = 2.0
"""The processor time that one run may take."""
MEMORY = 1 << 30
"""The memory that a worker may get beyond what it has after reading good files."""
PATIENCE = 60.0
"""After so many seconds a worker is taken for one that hangs where no signal reaches it."""
FRAMES = 16
"""How many calls of a failure are shown."""
FORK = multiprocessing.get_context("fork")


class TooLong(BaseException):
    """A run has used up its time. No `except Exception` catches this."""


class Failure(NamedTuple):
    """How a run ended that should have ended otherwise."""

    kind: str
    """The exception's class."""
    place: str
    """The run, and the innermost line of the project; findings of one kind and place are taken for the same."""
    trace: str


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


# --- One mutant ---------------------------------------------------------------------------------------------------


class Bench:
    """A folder for mutants, and limits for what is done with them. It belongs to one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._originals: dict[str, Original] = {}
        self._kinds: dict[str, list[str]] = {}
        signal.signal(signal.SIGPROF, _stop)

    def original(self, name: str) -> Original:
        """A fixture, read once."""
        if name not in self._originals:
            self._originals[name] = Original((FOLDER / name).read_bytes())
        return self._originals[name]

    def kinds(self, names: list[str]) -> dict[str, list[str]]:
        """The kinds of regions in some fixtures, each with those that have it."""
        if not self._kinds:
            for name in names:
                for kind in self.original(name).regions:
                    self._kinds.setdefault(kind, []).append(name)
        return self._kinds

    def run(self, name: str, edits: list[Edit]) -> tuple[float, str, Failure | None]:
        """Try everything with a mutant: the processor time of the longest run, its name, and the first failure."""
        longest, slowest = 0.0, ""
        for source in self._sources(name, self.original(name).apply(edits)):
            for drive, ask in _runs(source):
                started = time.process_time()
                signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)
                try:
                    ask()
                    failure = None
                except (Exception, TooLong, RecursionError) as error:  # noqa: BLE001 (all that can happen is the question)
                    failure = _failure(drive, error)
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                seconds = time.process_time() - started
                if seconds > longest:
                    longest, slowest = seconds, drive
                if failure is not None:
                    return longest, slowest, failure
        return longest, slowest, None

    def _sources(self, name: str, data: bytes) -> Iterator[str | bytes]:
        """What to open: the bytes, or, where programs and split files belong together, files in the folder."""
        path = FOLDER / name
        family = [each for each in sorted(path.parent.glob(f"{path.stem}.*")) if each != path]
        if not any(each.suffix in SPLIT for each in (path, *family)):
            yield data
            return
        for each in self.folder.iterdir():
            each.unlink()
        for each in family:
            shutil.copyfile(each, self.folder / each.name)
        (self.folder / path.name).write_bytes(data)
        yield str(self.folder / path.name)
        if path.suffix in SPLIT:
            yield from (str(self.folder / each.name) for each in family if each.suffix not in SPLIT)


def _runs(source: str | bytes) -> Iterator[tuple[str, Callable[[], object]]]:
    found: list[Callable[[], Any]] = []
    yield "ls", lambda: found.extend(fuzz_drives.images(source))
    for opener in found:
        for drive, ask in fuzz_drives.DRIVES.items():
            yield drive, lambda ask=ask, opener=opener: ask(opener())  # type: ignore[misc]


def _stop(*_: object) -> None:
    raise TooLong(f"more than {SECONDS} s")


def _failure(drive: str, error: BaseException) -> Failure:
    kind = type(error).__name__
    inside = [each for each in traceback.extract_tb(error.__traceback__) if "/dwarfgpu/" in each.filename]
    place = drive
    if inside:  # where exactly time and memory run out is a matter of chance
        line = "" if isinstance(error, (TooLong, MemoryError)) else f":{inside[-1].lineno}"
        place += f", {Path(inside[-1].filename).name}{line} {inside[-1].name}"
    frames = traceback.extract_tb(error.__traceback__)
    steps = [f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[2:]]
    shown = steps if len(steps) <= FRAMES else [*steps[: FRAMES // 2], "  ...", *steps[-FRAMES // 2 :]]
    return Failure(kind, place, "\n".join([f"{kind}: {str(error)[:200]}", *shown]))


# --- Workers ------------------------------------------------------------------------------------------------------


def _work(pipe: Connection, names: list[str], seed: str) -> None:
    """Try the mutants whose numbers come through the pipe, or that are given as name and edits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        bench = Bench(Path(folder))
        for name in names[:3]:  # whatever is imported late is there before the limit counts
            bench.run(name, [])
        _limit_memory()
        while (task := pipe.recv()) is not None:
            number, name, edits = task
            if name is None:
                name, edits = mutant(bench, names, seed, number)
            pipe.send((number, name, edits))
            pipe.send(Result(number, name, edits, *bench.run(name, edits)))


def mutant(bench: Bench, names: list[str], seed: str, number: int) -> tuple[str, list[Edit]]:
    """The mutant with a number: a file, and what is changed in it. What few files have is met as often as the rest."""
    numbers = random.Random(f"{seed}/{number}")
    kinds = bench.kinds(names)
    kind = any_kind(kinds, numbers)
    name = numbers.choice(kinds[kind])
    return name, bench.original(name).mutate(kind, numbers)


def _limit_memory() -> None:
    """Allow so much more than the process has now, where the system tells."""
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text("ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


class Worker:
    """A process that tries mutants. When it dies or hangs, that is what came of the mutant it was trying."""

    def __init__(self, names: list[str], seed: str) -> None:
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=_work, args=(theirs, names, seed), daemon=True)
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
        """What came of it, if that is known already."""
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
        if time.monotonic() - self.since > PATIENCE:
            self.end()
            return self._lost("Hangs", f"no answer in {PATIENCE} s")
        return None

    def _lost(self, kind: str, what: str) -> Result:
        assert self.task is not None
        return Result(*self.task, PATIENCE, kind, Failure(kind, what, ""))

    def end(self) -> None:
        """Stop the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


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
    """The numbers of mutants, up to a count or for some time."""
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
    """The same finding with as few of the edits as will do."""
    for index in reversed(range(len(result.edits))):
        rest = result.edits[:index] + result.edits[index + 1 :]
        found = tried(names, seed, result.name, rest) if rest else None
        if found is not None and found.failure is not None and result.failure is not None:
            result = found if found.failure[:2] == result.failure[:2] else result
    return result


def recipe(result: Result) -> str:
    """What `--replay` takes."""
    return " ".join((result.name, *map(str, result.edits)))


def show(result: Result) -> None:
    """Print a finding."""
    if result.failure is not None:
        print(f"FOUND {result.failure.kind} in {result.failure.place}\n{result.failure.trace}", flush=True)
        print(f"  --replay {recipe(result)}\n", flush=True)


def chosen(patterns: Sequence[str]) -> list[str]:
    """The built fixtures that some patterns name, or all."""
    files = (path for path in FOLDER.rglob("*") if path.is_file())
    names = sorted(path.relative_to(FOLDER).as_posix() for path in files)
    built = [name for name in names if name.split("/", 1)[0] not in SOURCES]
    return [name for name in built if not patterns or any(fnmatch.fnmatch(name, each) for each in patterns)]


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz, or replay a finding."""
    parser = argparse.ArgumentParser(
        prog="tools/fuzz.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seed", default="0", help="what the mutants depend on (0)")
    parser.add_argument(
        "--file", action="append", default=[], metavar="GLOB", help="only such fixtures; repeatable"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes (1)")
    parser.add_argument(
        "--replay", nargs="+", metavar="NAME EDIT", help="a fixture, and edits as a finding shows them"
    )
    options = parser.parse_args(argv)
    names = chosen(options.file)
    if not names:
        parser.error(
            f"no fixture is called {' or '.join(options.file)}: names are such as asm/forms.gfx90a.w64.co"
        )
    if options.replay:
        name, *texts = options.replay
        if name not in chosen([]):
            parser.error(f"no fixture is called {name}")
        try:
            result = tried([name], options.seed, name, [parse_edit(text) for text in texts])
        except ValueError as error:
            parser.error(str(error))
        show(result)
        print(f"fuzz: {result.failure.kind if result.failure else 'nothing found'}; the longest run, "
              f"{result.drive}, took {result.seconds:.2f} s")  # fmt: skip
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
