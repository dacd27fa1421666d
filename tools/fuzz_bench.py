"""Where `tools/fuzz.py` tries a damaged file: a folder, limits of time and memory, and what is said about a failure."""

from __future__ import annotations

import shutil
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fuzz_drives
from fuzz_files import Edit, Original
from fuzz_limits import TooLong, limited_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
SPLIT = (".dwo", ".dwp")
SECONDS = 2.0
"""The processor time that one run may take."""
MEMORY = 1 << 30
"""The memory that a process may get beyond what it has after reading good files."""
FRAMES = 16
"""How many calls of a failure are shown."""


class Failure(NamedTuple):
    """How a run ended that should have ended otherwise."""

    kind: str
    """The exception's class."""
    place: str
    """The run, and the innermost line of the project; findings of one kind and place are taken for the same."""
    trace: str


class Bench:
    """A folder for mutants, and limits for what is done with them. It belongs to one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._originals: dict[str, Original] = {}
        self._kinds: dict[str, list[str]] = {}

    def original(self, name: str) -> Original:
        """Return a fixture, read once."""
        if name not in self._originals:
            self._originals[name] = Original((FOLDER / name).read_bytes())
        return self._originals[name]

    def kinds(self, names: list[str]) -> dict[str, list[str]]:
        """Return the kinds of regions in some fixtures, each with those that have it."""
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
                failure = None
                try:
                    with limited_time(SECONDS):
                        ask()
                except (Exception, TooLong) as error:  # noqa: BLE001 (what can happen is the question)
                    failure = _failure(drive, error)
                seconds = time.process_time() - started
                if seconds > longest:
                    longest, slowest = seconds, drive
                if failure is not None:
                    return longest, slowest, failure
        return longest, slowest, None

    def _sources(self, name: str, data: bytes) -> Iterator[str | bytes]:
        """Yield what to open: the bytes, or, where programs and split files belong together, files in the folder."""
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
