"""A folder with the sources of a campaign and what came of each: a campaign goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve

from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.compilers.sources import USUAL_PROCESSOR
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import counted
from dwarfgpu.regular_files import read_input, whole_output
from hunt.host_results import host_kernels
from hunt.random_sources import KERNELS, OPTIONS, random_source
from hunt.source_levels import LevelVerdict, SourceFinding, SourceLevels

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSORS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200")
"""Those of random sources, in turn."""
RANDOM_NAME = re.compile(r"random-(-?\d+)-\d+\.cl$")
COMPILER = "compiler.txt"


@frozen
class SourceAnswer:
    """What came of one source."""

    name: str
    """The path from the folder of the campaign."""
    processor: str
    seconds: float
    """The time of the processor, without that of the compiler."""
    verdicts: tuple[LevelVerdict, ...] = ()
    problem: str | None = None
    """Why it was not compiled."""


class CampaignFolder:
    """The folder."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.compiler = find_clang().banner.split("\n")[0]
        named = self.path / COMPILER
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not named.exists():
                write_whole(named, f"{self.compiler}\n")
        except OSError as error:
            message = f"a campaign cannot be kept in {path}: {error.strerror}"
            raise UsageError(
                message, kind="unwritable", hint="--campaign names a folder that can be written"
            ) from error
        known = read_input(str(named)).decode().strip()
        if known != self.compiler:
            hint = "each compiler needs a folder of its own; CLANG names the compiler"
            raise UsageError(f"{path} is a campaign of {known}, and this is {self.compiler}", hint=hint)

    def make_sources(self, seed: int, count: int) -> Iterator[Path]:
        """Yield the files of random sources with so many kernels together, and write those that are missing."""
        for number in range(-(-count // KERNELS)):
            path = self.path / f"random-{seed}-{number:04}.cl"
            if not path.exists():
                first = number * KERNELS
                write_whole(path, random_source(seed, first, min(KERNELS, count - first)) + "\n")
            yield path

    def source(self, name: str) -> Path:
        """Return the file of a source: in the folder, or where it was judged."""
        return self.path / name

    def answers(self) -> Iterator[SourceAnswer]:
        """Yield what came of the sources that are judged."""
        for path in sorted(self.path.glob("*.json")):
            yield answer_of(json.loads(read_input(str(path))))

    def judge(self, path: Path, processor: str | None = None) -> SourceAnswer:
        """Return what comes of a source, which is judged unless the folder knows it."""
        *_parts, whole = self.judging(path, processor)
        return whole

    def judging(self, path: Path, processor: str | None = None) -> Iterator[SourceAnswer]:
        """Yield what has come of a source so far; the last answer is whole, and the folder keeps it."""
        known = self.path / f"{path.stem}.json"
        if known.exists():
            yield answer_of(json.loads(read_input(str(known))))
            return
        found = SourceAnswer("", "", 0.0)
        for answer in growing_answers(path, processor):
            found = evolve(answer, name=os.path.relpath(path, self.path))
            yield found
        write_whole(known, json.dumps(asdict(found)))


def write_whole(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    with whole_output(str(path), "w", encoding="utf-8") as stream:
        stream.write(text)


def is_random(path: Path) -> bool:
    """Return whether `make_sources` has made a file, whose kernels the host may execute."""
    return RANDOM_NAME.match(path.name) is not None


def source_levels(path: Path, processor: str | None) -> SourceLevels:
    """Return how a source is compiled: a random one so that its results are defined."""
    if is_random(path):
        return SourceLevels(str(path), processor or USUAL_PROCESSOR, OPTIONS, calls_library=False)
    return SourceLevels(str(path), processor or USUAL_PROCESSOR)


def text_of(path: Path, kernel: str) -> str:
    """Return the text of a source; of a random one only that of a kernel and its functions."""
    found = RANDOM_NAME.match(path.name)
    if found is None:
        return path.read_text(encoding="utf-8")
    return random_source(int(found[1]), int(kernel.removeprefix("k")), 1) + "\n"


def judge_source(path: Path, processor: str | None = None, only: str | None = None) -> SourceAnswer:
    """Judge the kernels of a source, or only one, at each level."""
    *_parts, whole = growing_answers(path, processor, only)
    return whole


def growing_answers(path: Path, processor: str | None, only: str | None = None) -> Iterator[SourceAnswer]:
    """Judge a source; yield the answer behind each build, and at the end."""
    begun = process_time()
    host = None
    if is_random(path):
        host = host_kernels(path.read_text(encoding="utf-8"))
        processor = processor or PROCESSORS[int(path.stem.rpartition("-")[2]) % len(PROCESSORS)]
    source = source_levels(path, processor)
    answer = SourceAnswer(path.name, source.processor, 0.0)
    try:
        for verdict in counted(source.verdicts(host=host, only=only), "builds judged"):
            seconds = round(process_time() - begun, 2)
            answer = evolve(answer, seconds=seconds, verdicts=(*answer.verdicts, verdict))
            yield answer
    except DwarfGpuError as error:
        answer = evolve(answer, problem=error.message)
    yield answer


def answer_of(document: Any) -> SourceAnswer:
    """Return an answer that was written as JSON."""
    verdicts = []
    for each in document.pop("verdicts"):
        findings = tuple(SourceFinding(**finding) for finding in each.pop("findings"))
        verdicts.append(LevelVerdict(**each, findings=findings))
    return SourceAnswer(**document, verdicts=tuple(verdicts))
