"""The frame of the fuzzers: it tries inputs in other processes, with limits, and reports what must not happen.

An input has a name: ``SEED/NUMBER``, with ``~STEP`` for each step that is left out of it. A drive makes the input from
the random numbers of that name, and asks about it in a generator: before each question it yields what the question is
called. A question must end within limits of processor time and memory, with an answer or a `DwarfGpuError`.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
WARM = "warm"
"""The seed of inputs in which nothing is damaged: with them what is imported late is there before memory counts."""
PATIENCE = 30
"""After so many times the limit of a question a process counts as hanging where no signal reaches it."""
FRAMES = 16
"""Calls of a failure that are shown."""
FORK = multiprocessing.get_context("fork")


class Wrong(Exception):
    """An answer that must not be; the first line of the message says what kind it is of."""


class Limit(BaseException):
    """A question has used up its time or its output. No `except Exception` catches this."""


class Chance(random.Random):
    """The random numbers of an input."""

    def __init__(self, name: str) -> None:
        text, *left_out = name.split("~")
        super().__init__(text)
        self.seed_text, _, number = text.rpartition("/")
        self.number = int(number)
        self.about = ""
        """What the input is, for the report of a finding."""
        self.steps = 0
        self._left_out = frozenset(map(int, left_out))

    def kept(self, steps: Iterable[T]) -> list[T]:
        """Return the steps by which an input is made, without those that its name leaves out."""
        found = [*enumerate(steps, self.steps)]
        self.steps += len(found)
        return [step for number, step in found if number not in self._left_out and self.seed_text != WARM]

    def kin(self, count: int) -> str:
        """Return a name that so many inputs with neighbouring numbers share."""
        return f"{self.seed_text}/{self.number // count}"


Asking = Generator[str, None, str]
"""The names of questions, each before it is asked; at the end a word for how the input ended."""
Steps = Callable[[Chance], Asking]
"""Makes an input and asks about it."""


class Setting(NamedTuple):
    """What a drive is given."""

    folder: Path
    only: tuple[str, ...] = ()
    """The fixtures, kinds or processors that inputs are about."""
    jit: str = "off"


class Drive(NamedTuple):
    """A way to make inputs."""

    begin: Callable[[Setting], Steps]
    select: Callable[[Sequence[str]], Sequence[str]] = tuple
    """Returns the fixtures, kinds or processors that some names mean, or all for none; refuses other names."""
    seconds: float = 5.0
    """The processor time that one question may take."""
    memory: int = 1 << 30
    """The memory that inputs may take beyond what good ones do."""
    may_refuse: bool = True
    """Whether a `DwarfGpuError` is an answer wherever it is raised."""
    warm: int = 3
    """How many inputs are tried before the limit of memory counts."""


class Failure(NamedTuple):
    """How a question ended that should have ended otherwise."""

    kind: str
    place: str
    """The question, and the innermost line of the project. Findings of one kind and place count as the same."""
    trace: str


class Result(NamedTuple):
    """What came of an input."""

    name: str
    about: str
    steps: int
    longest: tuple[float, str]
    """The processor time of the slowest question, and its name."""
    end: str
    """How the input ended, in a word."""
    failure: Failure | None


# --- One input ----------------------------------------------------------------------------------------------------


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Raise `Limit` after so many seconds of processor time."""

    def stop(*_: object) -> None:
        raise Limit(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory(size: int) -> None:
    """Allow so many bytes more than the process has now, where the system tells."""
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text("ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + size, resource.RLIM_INFINITY))


def tried(drive: Drive, steps: Steps, name: str) -> Result:
    """Try an input in this process."""
    chance = Chance(name)
    asking, question, end, longest = steps(chance), "the input", "", (0.0, "")
    failure = None
    while not end:
        started, following = time.process_time(), question
        try:
            with limited_time(drive.seconds):
                following = next(asking)
        except StopIteration as stop:
            end = stop.value
        except (Exception, Limit) as error:  # noqa: BLE001 (what can happen is the question)
            end = "error"
            if not drive.may_refuse or not isinstance(error, DwarfGpuError):
                failure, end = failed(question, error), "failed"
        longest = max(longest, (time.process_time() - started, question))
        question = following
    return Result(name, chance.about, chance.steps, longest, end, failure)


def results(drive: Drive, setting: Setting, names: Iterable[str]) -> Iterator[Result]:
    """Try inputs in this process."""
    steps = drive.begin(setting._replace(only=tuple(drive.select(setting.only))))
    for name in names:
        yield tried(drive, steps, name)


def failed(question: str, error: BaseException) -> Failure:
    """Return what an exception says about a question."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    if isinstance(error, Wrong):
        kind, _, text = str(error).partition("\n")
        return Failure(kind, question, text)
    kind, place = type(error).__name__, question
    inside = [frame for frame in frames if "/dwarfgpu/" in frame.filename]
    if inside:  # where exactly time and memory run out is a matter of chance
        line = "" if isinstance(error, (Limit, MemoryError)) else f":{inside[-1].lineno}"
        place += f", {Path(inside[-1].filename).name}{line} {inside[-1].name}"
    shown = [f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    if len(shown) > FRAMES:
        shown[FRAMES // 2 : -FRAMES // 2] = ["  ..."]
    return Failure(kind, place, "\n".join([f"{kind}: {str(error)[:2000]}", *shown]))


# --- Processes ----------------------------------------------------------------------------------------------------


def _work(pipe: Connection, other: Connection, drive: Drive, setting: Setting) -> None:
    """Try the inputs whose names come through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    other.close()
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ["COLUMNS"] = "80"
    steps = drive.begin(setting)
    for number in range(drive.warm):
        tried(drive, steps, f"{WARM}/{number}")
    limit_memory(drive.memory)
    while True:
        try:
            name = pipe.recv()
        except EOFError:  # the process that asks has ended
            return
        pipe.send(tried(drive, steps, name))


class Worker:
    """A process that tries inputs. If it dies or hangs, that is what came of its input."""

    def __init__(self, drive: Drive, setting: Setting) -> None:
        self._drive, self._setting = drive, setting
        self.name = ""
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = FORK.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        setting = self._setting._replace(folder=Path(self._folder.name))
        self._process: Any = FORK.Process(target=_work, args=(theirs, self.pipe, self._drive, setting), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, name: str) -> None:
        """Have an input tried."""
        self.name, self._since = name, time.monotonic()
        with suppress(ConnectionError):  # it has died, as `take` tells
            self.pipe.send(name)

    def take(self) -> Result | None:
        """Return what came of it, if that is known already; after a failure the process is a new one."""
        patience = PATIENCE * self._drive.seconds
        lost = None
        try:
            if self.pipe.poll():
                found: Result = self.pipe.recv()
                if found.failure is not None:  # what it has left behind must not be taken for the fault of the next
                    self.end()
                    self._start()
                return found
            if time.monotonic() - self._since > patience:
                lost = Failure("Hangs", "", f"no answer in {patience} s")
        except (EOFError, ConnectionError):
            self._process.join()
            lost = Failure("Died", "", f"exit code {self._process.exitcode}")
        if lost is None:
            return None
        self.end()
        self._start()
        return Result(self.name, "", 0, (patience, ""), "failed", lost)

    def wait(self) -> Result:
        """Return what came of it."""
        while (found := self.take()) is None:
            wait([self.pipe], 1)
        return found

    def end(self) -> None:
        """Stop the process, and remove its folder."""
        self._process.kill()
        self._process.join()
        self.pipe.close()
        self._folder.cleanup()


class Run:
    """Tries inputs in some processes, and keeps what came of them."""

    def __init__(self, drive: Drive, setting: Setting, jobs: int) -> None:
        self._drive, self._setting = drive, setting
        self._workers = [Worker(drive, setting) for _ in range(jobs)]
        self.ends: Counter[str] = Counter()
        self.times: Counter[tuple[str, str]] = Counter()
        """How often each finding was made."""
        self.longest = (0.0, "", "")

    def all(self, names: Iterable[str]) -> None:
        """Try inputs."""
        left, idle = iter(names), [*self._workers]
        while True:
            while idle and (name := next(left, None)) is not None:
                idle.pop().give(name)
            busy = [worker for worker in self._workers if worker not in idle]
            if not busy:
                break
            wait([worker.pipe for worker in busy], 1)
            for worker in busy:
                if (result := worker.take()) is not None:
                    self._count(result)
                    idle.append(worker)
        for worker in self._workers:
            worker.end()

    def _count(self, result: Result) -> None:
        self.ends[result.end] += 1
        self.longest = max(self.longest, (*result.longest, result.name))
        if result.failure is None:
            return
        key = result.failure[:2]
        self.times[key] += 1
        if self.times[key] == 1:
            small = self._smaller(result)
            print(f"FOUND {key[0]} in {key[1]}\n{result.failure.trace}\n  {(small or result).about}", flush=True)
            print(f"  --replay {(small or result).name}{'' if small else ' (only after other inputs)'}\n", flush=True)

    def _smaller(self, result: Result) -> Result | None:
        """Return the same finding with as few steps as will do; None if the input alone does not make it."""
        worker = Worker(self._drive, self._setting)

        def same(name: str) -> Result | None:
            worker.give(name)
            found = worker.wait()
            return found if found.failure and result.failure and found.failure[:2] == result.failure[:2] else None

        small = same(result.name)
        for step in reversed(range(result.steps if small else 0)):
            small = same(f"{small.name}~{step}") or small  # type: ignore[union-attr]
        worker.end()
        return small
