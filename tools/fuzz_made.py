#!/usr/bin/env python3
"""Build inputs from nothing, by grammar, and watch all that comes of them.

    python3 tools/dev.py fuzz --made --seconds 60         all kinds, for a minute
    python3 tools/dev.py fuzz --made --count 1000000      that many inputs: the small ones are the most
    python3 tools/dev.py fuzz --made --kind tree          one kind
    python3 tools/dev.py fuzz --made --replay tree 17     one input

Where `tools/fuzz.py` damages good files, this builds what no damage leads to: types and references in circles, diamonds
and products, location lists and rows that many share, snapshots, states, core files, scripts and command lines.
An input is a call of the library or a command line with its files (`tools/fuzz_grammar.py`), made from a kind, a seed
and a number. Many run in one process, one after the other. Each must end with an answer or a `DwarfGpuError`, a command
line with a status of the program: without a traceback, without a control character, with valid JSON where JSON was
asked for, within 5 seconds of processor time, 1 GiB of memory and 128 MiB of output, and leave no file behind. What
does not is tried again in a process of its own, and printed once with what repeats it; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import mmap
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzz_grammar import KINDS, Input, Maker  # noqa: E402
from fuzz_limits import TooLong, limit_memory, limited_time  # noqa: E402

from dwarfgpu import budget  # noqa: E402
from dwarfgpu.errors import DwarfGpuError  # noqa: E402

SECONDS, MEMORY, BYTES = 5.0, 1 << 30, 1 << 27
PATIENCE = 600
"""Seconds without progress after which a process is taken for one that hangs where no signal reaches it."""
ROUND = 10_000
"""How many inputs one round through all kinds has."""
FILE_SHARE = 8
"""How many inputs with neighbouring numbers are about the same file."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
FORK = multiprocessing.get_context("fork")


class TooMuch(BaseException):
    """An input has written too much."""


# --- One input ----------------------------------------------------------------------------------------------------


class Written(io.BytesIO):
    """Output that ends."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > BYTES:
            raise TooMuch
        return super().write(data)


class Outcome(NamedTuple):
    """What came of an input."""

    wrong: str
    """What is wrong with it; empty if nothing is. Findings with one such text are taken for the same."""
    seconds: float
    """The processor time that it took."""
    out: str = ""
    err: str = ""


def tried(kind: str, seed: str, number: int, folder: Path) -> Outcome:
    """Make the input with a number and run it in a folder."""
    made = make(kind, seed, number, folder)
    before = set(folder.iterdir())
    started = time.process_time()
    failure = ""
    try:
        with limited_time(SECONDS):
            status, out, err = _called(made) if made.call is not None else _command(made)
    except (Exception, TooLong, TooMuch) as error:  # noqa: BLE001 (what can happen is the question)
        status, out, err, failure = 70, "", traceback.format_exc(), _failure(error)
    seconds = time.process_time() - started
    wrong = failure or judged(made, status, out, err)
    left = sorted(path.name for path in set(folder.iterdir()) - before)
    return Outcome(wrong or (f"files: {', '.join(left)}" if left else ""), seconds, out, err)


def make(kind: str, seed: str, number: int, folder: Path) -> Input:
    """Make the input with a number."""
    key = f"{seed}/file/{kind}/{number // FILE_SHARE}"
    return KINDS[kind].make(Maker(random.Random(f"{seed}/{kind}/{number}"), folder, key))


def _called(made: Input) -> tuple[int, str, str]:
    assert made.call is not None
    with budget.question():
        try:
            return 0, made.call(), ""
        except DwarfGpuError as error:
            return 1, "", str(error)


def _command(made: Input) -> tuple[int, str, str]:
    """Run a command line in this process."""
    from dwarfgpu.cli import main as run

    before = sys.stdin, sys.stdout, sys.stderr
    out, err = Written(), Written()
    given = io.TextIOWrapper(io.BytesIO(made.stdin), "utf-8")
    streams = [io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in (out, err)]
    sys.stdin, sys.stdout, sys.stderr = given, *streams
    try:
        status = run(made.words)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    texts = [stream.getvalue().decode(errors="backslashreplace") for stream in (out, err)]
    return status, texts[0], texts[1]


def _failure(error: BaseException) -> str:
    """Return what an exception is called, and where it was raised."""
    if isinstance(error, TooMuch):
        return f"limit: {BYTES} bytes of output"
    if isinstance(error, TooLong):
        return f"limit: {SECONDS} s of processor time"
    inside = [frame for frame in traceback.extract_tb(error.__traceback__) if "/dwarfgpu/" in frame.filename]
    place = f" {Path(inside[-1].filename).name}:{inside[-1].lineno} {inside[-1].name}" if inside else ""
    return f"exception: {type(error).__name__}{place}"


def judged(made: Input, status: int, out: str, err: str) -> str:
    """Return what is wrong with an outcome; empty if nothing is."""
    text = out + err
    if "not enough memory for the answer" in text:
        return "limit: memory"
    if made.call is not None:
        return ""  # what the library returns is not escaped; the command line does that
    match = re.search(r"internal error: (\w+)", text) or re.search(r"\n(\w+(?:Error|Exception))\b", err)
    if "Traceback" in err or "internal error" in text:
        place = "".join(re.findall(r'/(\w+\.py", line [0-9]+)', err)[-1:])
        return f"exception: {match[1] if match else '?'} {place}"
    if status not in (0, 1, 2, 3, 130):
        return f"status {status}"
    steering = STEERS.search(text)
    if steering:
        return f"control character {steering[0]!r}"
    if out and made.words[0] != "debug" and not {"--json", "--jsonl"}.isdisjoint(made.words):
        try:
            for document in out.splitlines() if "--jsonl" in made.words else [out]:
                json.loads(document)
        except ValueError as error:
            return f"not JSON: {error}"
    return ""


# --- A process for many inputs ------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Inputs of one kind with successive numbers."""

    kind: str
    first: int
    size: int


@dataclass
class Figures:
    """What is counted of the inputs of one kind."""

    inputs: int = 0
    seconds: float = 0.0
    longest: tuple[float, int] = (0.0, 0)
    """The processor time of the slowest input, and its number."""
    written: tuple[int, int] = (0, 0)
    """The characters of the longest answer, and the number of its input."""
    memory: int = 0
    """The bytes by which a process has grown at most."""
    answers: int = 0
    """How many inputs had another answer than an error."""

    def add(self, other: Figures) -> None:
        """Count the inputs of another batch."""
        self.inputs += other.inputs
        self.seconds += other.seconds
        self.answers += other.answers
        self.longest = max(self.longest, other.longest)
        self.written = max(self.written, other.written)
        self.memory = max(self.memory, other.memory)


@dataclass
class Report:
    """What has come of a batch: figures, and the input that ended it if one did."""

    figures: Figures = field(default_factory=Figures)
    failed: int | None = None
    outcome: Outcome | None = None


def _work(pipe: Connection, progress: mmap.mmap, folder: str, seed: str, batch: Batch) -> None:
    """Try the inputs of a batch until one fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place, here = Path(folder) / "inputs", Path(folder) / "here"
    place.mkdir()
    here.mkdir()
    os.chdir(here)  # where some commands are told to write files
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ["COLUMNS"] = "80"
    limit_memory(MEMORY)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = Report()
    figures = report.figures
    for number in range(batch.first, batch.first + batch.size):
        progress[:8] = number.to_bytes(8, "little")
        outcome = tried(batch.kind, seed, number, place)
        figures.inputs += 1
        figures.seconds += outcome.seconds
        figures.answers += bool(outcome.out) and '"status": "error"' not in outcome.out
        figures.longest = max(figures.longest, (outcome.seconds, number))
        figures.written = max(figures.written, (len(outcome.out), number))
        if outcome.wrong:
            report.failed, report.outcome = number, outcome
            break
        for path in (*place.iterdir(), *here.iterdir()):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    figures.memory = 1024 * max(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown)
    pipe.send(report)
    pipe.close()
    os._exit(0)


def ran(seed: str, batch: Batch) -> Report:
    """Run a batch in a process of its own. When it dies or hangs, that is what came of the input it was trying."""
    pipe, theirs = FORK.Pipe(duplex=False)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 (what is written there is read at once)
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as folder, mmap.mmap(-1, 8) as progress:
        process = FORK.Process(target=_work, args=(theirs, progress, folder, seed, batch))
        process.start()
        theirs.close()
        last = -1
        try:
            while not pipe.poll(PATIENCE):
                now = int.from_bytes(progress[:8], "little")
                if now == last:
                    break
                last = now
        except KeyboardInterrupt:
            process.kill()
            process.join()
            raise
        try:
            report: Report | None = pipe.recv() if pipe.poll() else None
            wrong = "hangs"
        except EOFError:
            report, wrong = None, "died"
        if report is None:
            process.kill()
        process.join()
        if report is None:
            number = int.from_bytes(progress[:8], "little")
            wrong += f" with status {process.exitcode}" if wrong == "died" else ""
            report = Report(Figures(number + 1 - batch.first), number, Outcome(wrong, float(PATIENCE)))
        pipe.close()
        return report


# --- The run ------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """An input that failed, and the one where the batch began in which it did."""

    kind: str
    number: int
    first: int
    outcome: Outcome
    is_alone: bool
    """Whether it fails in a process of its own, too."""


class Run:
    """Tries inputs of some kinds, and keeps what came of them."""

    def __init__(self, seed: str, kinds: Sequence[str]) -> None:
        self.seed = seed
        self.figures = {kind: Figures() for kind in kinds}
        self.findings: dict[str, list[Finding]] = {}

    def round(self, count: int = ROUND) -> None:
        """Try so many more inputs of all kinds together."""
        for kind, share in self._shares(count).items():
            figures = self.figures[kind]
            first, end = figures.inputs, figures.inputs + share
            while first < end:
                report = ran(self.seed, Batch(kind, first, end - first))
                figures.add(report.figures)
                if report.failed is not None and report.outcome is not None:
                    self._note(kind, report.failed, first, report.outcome)
                first += report.figures.inputs

    def _shares(self, count: int) -> dict[str, int]:
        """Divide a number of inputs among the kinds."""
        whole = sum(KINDS[kind].share for kind in self.figures)
        shares = {kind: max(1, count * KINDS[kind].share // whole) for kind in self.figures}
        most = max(shares, key=lambda kind: shares[kind])
        shares[most] = max(1, shares[most] + count - sum(shares.values()))
        return shares

    def _note(self, kind: str, number: int, first: int, outcome: Outcome) -> None:
        again = ran(self.seed, Batch(kind, number, 1)).outcome
        if outcome.wrong.startswith("limit"):  # where exactly it is met is a matter of chance
            with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
                made = make(kind, self.seed, number, Path(folder))
            about = " ".join(word for word in made.words if word == made.words[0] or word.startswith("--"))
            outcome = outcome._replace(wrong=f"{outcome.wrong}: {about}")
            again = again and again._replace(wrong=outcome.wrong)
        if again is None and outcome.wrong.startswith("limit"):
            return  # what others had left in memory, or the machine was slow
        finding = Finding(kind, number, first, again or outcome, again is not None)
        known = self.findings.setdefault(finding.outcome.wrong, [])
        known.append(finding)
        if len(known) == 1:
            print(f"FOUND {finding.outcome.wrong}\n{finding.outcome.err[-3000:]}")
            after = "" if finding.is_alone else f"  only after {kind} {first} to {number - 1}\n"
            print(f"{after}  --made --seed {self.seed} --replay {kind} {number}\n", flush=True)

    def summary(self) -> Iterator[str]:
        """Yield the lines that say what was tried and found."""
        yield f"fuzz: {sum(figures.inputs for figures in self.figures.values())} inputs, {len(self.findings)} findings"
        yield "  kind          inputs  answers  seconds  longest (number)   memory  longest answer"
        for kind, figures in self.figures.items():
            longest, number = figures.longest
            share = 100 * figures.answers // max(1, figures.inputs)
            yield (
                f"  {kind:<10} {figures.inputs:>9} {share:>7}% {figures.seconds:>8.1f} {longest:>8.2f} s "
                f"{f'({number})':<10}{figures.memory >> 20:>4} MiB {figures.written[0]:>9} ({figures.written[1]})"
            )
        for wrong, known in self.findings.items():
            numbers = ", ".join(f"{finding.kind} {finding.number}" for finding in known[:6])
            yield f"  {len(known):>5} times {wrong}: {numbers}"


def replay(kind: str, seed: str, number: int) -> int:
    """Run one input, and show it and what comes of it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        made = make(kind, seed, number, Path(folder))
    print(" ".join(made.words), made.stdin.decode(errors="backslashreplace"), sep="\n")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        (place := Path(folder) / "inputs").mkdir()
        os.chdir(folder)
        outcome = tried(kind, seed, number, place)
        os.chdir("/")
    print(repr(outcome.out[-1500:]), outcome.err[-3000:], sep="\n")
    print(f"{outcome.seconds:.2f} s: {outcome.wrong or 'nothing wrong'}")
    return 1 if outcome.wrong else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Make inputs, or replay one."""
    parser = argparse.ArgumentParser(prog="tools/fuzz_made.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seed", default="0", help="what the inputs depend on (0)")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS), help="only this kind; repeatable")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "NUMBER"), help="run one input and show what comes of it")
    options = parser.parse_args(argv)
    import numpy  # noqa: F401, ICN001 (the children inherit what is imported)

    import dwarfgpu.questions.variables  # noqa: F401

    if options.replay:
        if options.replay[0] not in KINDS:
            parser.error(f"no kind is called {options.replay[0]}: there are {', '.join(KINDS)}")
        return replay(options.replay[0], options.seed, int(options.replay[1]))
    run = Run(options.seed, options.kind or list(KINDS))
    for kind in run.figures:  # what is imported late is there before the memory counts
        for number in range(20):
            _warm(kind, number)
    gc.collect()
    gc.freeze()
    started = time.monotonic()
    left = options.count
    size = ROUND if left is not None else ROUND // 20
    with contextlib.suppress(KeyboardInterrupt):  # what has been tried until then is said
        while left is None or left > 0:
            count = size if left is None else min(size, left)
            run.round(count)
            left = None if left is None else left - count
            if left is not None and not left // ROUND % 10:
                print(f"{options.count - left} inputs, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            if left is None and time.monotonic() - started > options.seconds:
                break
    print(*run.summary(), sep="\n")
    print(f"  {time.monotonic() - started:.0f} s in all")
    return 1 if run.findings else 0


def _warm(kind: str, number: int) -> None:
    """Run an input of a seed of its own, whatever comes of it."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        (place := Path(folder) / "inputs").mkdir()
        os.chdir(folder)
        tried(kind, "warm", number, place)
        os.chdir(here)


if __name__ == "__main__":
    sys.exit(main())
