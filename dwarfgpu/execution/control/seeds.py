"""A kernel that runs several times, each time in another order: which of its results depend on the order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import progress
from dwarfgpu.execution.halts import INTERRUPT, LIMIT
from dwarfgpu.execution.launch.argument_values import objects_of
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.program.types.model import Type

PRINTED, END = "printed text", "end"
"""The results that are no buffers: what the kernel prints, and how it ends."""


@frozen
class SeedGroup:
    """The seeds with which a result is the same."""

    seeds: tuple[int, ...]
    count: int = 0
    """How many elements are not as with the first seed."""
    element: int | None = None
    """The first of them; None where none is, and of a result that is no buffer."""
    value: Any = None
    first_value: Any = None
    """What it is with the first seed; of a text, the line that differs first."""


@frozen
class SeedResult:
    """What a result is with all seeds: more than one group if it depends on the order."""

    name: str
    groups: tuple[SeedGroup, ...]


@frozen
class SeedReport:
    """What the runs of a kernel with several seeds have come to."""

    kernel: str
    option: str
    """What the seeds are for: the order of waves (``seed``), or memory that is weak (``weak-memory``)."""
    seeds: tuple[int, ...]
    results: tuple[SeedResult, ...]
    ended: int
    """How many runs have ended."""
    is_interrupted: bool = False

    @property
    def differing(self) -> list[SeedResult]:
        """The results that depend on the order."""
        return [result for result in self.results if len(result.groups) > 1]


class SeedResults:
    """The results of runs with several seeds."""

    def __init__(self) -> None:
        self._found: dict[str, _Result] = {}

    def add(self, seed: int, name: str, value: Any, pointed: Type | None = None) -> None:
        """Take note of a result with a seed: a text, or a buffer with elements of a type."""
        self._found.setdefault(name, _Result(value, pointed)).add(value, seed)

    def grouped(self) -> tuple[SeedResult, ...]:
        """Return each result with the seeds that it is the same with."""
        return tuple(
            SeedResult(
                name, tuple(SeedGroup(tuple(seeds), *difference) for difference, seeds in result.groups.values())
            )
            for name, result in self._found.items()
        )


class _Result:
    """A result with the seeds so far; of each that differs only the difference is kept."""

    def __init__(self, first: Any, pointed: Type | None) -> None:
        self.first, self.pointed = first, pointed
        self.groups: dict[bytes, tuple[tuple[Any, ...], list[int]]] = {}

    def add(self, value: Any, seed: int) -> None:
        """Take note of the result with a seed."""
        data = value.tobytes() if isinstance(value, np.ndarray) else value.encode()
        key = hashlib.blake2b(data).digest()
        if key not in self.groups:
            self.groups[key] = self._difference(value), []
        self.groups[key][1].append(seed)

    def _difference(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, np.ndarray):
            lines = zip_longest(value.splitlines(), self.first.splitlines(), fillvalue="")
            return (
                int(value != self.first),
                None,
                *next((each for each in lines if len({*each}) > 1), (value, self.first)),
            )
        new, old = (np.ascontiguousarray(objects_of(each, self.pointed)) for each in (value, self.first))
        bytes_ = (each.view(np.uint8).reshape(len(each), -1) for each in (new, old))
        wrong = np.not_equal(*bytes_).any(axis=1) if len(new) else np.zeros(0, bool)
        if not wrong.any():
            return (0,)
        at = int(wrong.argmax())
        return int(wrong.sum()), at, new[at].tolist(), old[at].tolist()


def run_seeds(
    launched: Callable[[int], Running], seeds: Sequence[int], option: str, limit: int | None = None
) -> SeedReport:
    """Run a kernel with each of some seeds, and compare its buffers, what it prints, and how it ends."""
    found = SeedResults()
    ended, kernel, used, is_interrupted = 0, "", [], False
    line = progress.begin("seeds", len(seeds))
    for seed in seeds:
        running = launched(seed)
        with running.progress_shown(line):
            halt = running.run(limit=limit)
        line.advance()
        if is_interrupted := halt.kind == INTERRUPT:
            break
        used.append(seed)
        kernel, ended = running.launched.plan.kernel.name, ended + halt.has_ended
        end = halt.kind if halt.has_ended or halt.kind == LIMIT else halt.reason
        for name, value, pointed in _results(running, end):
            found.add(seed, name, value, pointed)
    line.end()
    return SeedReport(kernel, option, tuple(used), found.grouped(), ended, is_interrupted)


def _results(running: Running, end: str) -> Iterator[tuple[str, Any, Type | None]]:
    """Yield each result with its name, and of a buffer with the type of its elements."""
    for buffer in running.launched.plan.buffers:
        yield buffer.name, running.launched.buffers[buffer.name].copy(), buffer.pointed
    yield PRINTED, "".join(running.printed()), None
    yield END, end, None
