"""The folder of answers: Parquet files that appear when they are whole, and notes of who works on what."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.fleet.answers import COLUMNS
from dwarfgpu.immutable import frozen
from dwarfgpu.regular_files import whole_output

if TYPE_CHECKING:
    import pyarrow as pa

    from dwarfgpu.fleet.answers import Question, Row

ANSWERS = "answers"
"""The folder with the Parquet files; one folder below it for each question."""
WORK = "_work"
"""The folder of what is needed only while a run goes on."""
RUN_FILE = "fleet.json"
"""What says which question the answers are of."""
FOOTER = b"dwarfgpu"
"""The key of the footer of a part, with what became of each input."""
ROWS = 1 << 14
"""How many rows are kept before they are written."""
CHARACTERS = 1 << 23
"""How many characters are kept at most before they are written."""


def schema(question: str) -> pa.Schema:
    """Return the schema of all parts. Texts that repeat are written once for each part."""
    import pyarrow as pa

    kinds = {"text": pa.string(), "int64": pa.int64(), "uint64": pa.uint64(), "float64": pa.float64()}
    return pa.schema([pa.field(name, kinds[kind]) for name, kind in COLUMNS.items()], {b"question": question.encode()})


@frozen
class InputOutcome:
    """What became of an input."""

    name: str
    status: str
    rows: int
    size: int
    error: str = ""
    """Why there is no answer."""


class PartWriter:
    """Writes the rows of some inputs to a file beside its place; `close` gives it its name."""

    def __init__(self, path: Path, question: Question) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.passing = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.part")
        self.outcomes: list[InputOutcome] = []
        self._schema = schema(question.text)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(self.passing, self._schema, compression="zstd")
        self._columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self._rows = 0
        self._room = CHARACTERS

    def add(self, name: str, row: Row) -> None:
        row["input"] = name
        get = row.get
        for column, values in self._columns.items():
            values.append(get(column))
        self._rows += 1
        self._room -= len(get("answer") or "") + len(get("value") or "") + len(get("message") or "")
        if self._rows >= ROWS or self._room < 0:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        arrays = [pa.array(map(_encodable, self._columns[field.name]), field.type) for field in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._columns = {name: [] for name in COLUMNS}
        self._rows = 0
        self._room = CHARACTERS

    def close(self) -> None:
        """Write the rest, and what became of the inputs, and let the file appear."""
        self._flush()
        outcomes = [[item.name, item.status, item.rows, item.size, item.error] for item in self.outcomes]
        self._writer.add_key_value_metadata({FOOTER: json.dumps(outcomes).encode()})
        self._writer.close()
        self.passing.replace(self.path)

    def discard(self) -> None:
        """Take away what has been written."""
        with suppress(Exception):
            self._writer.close()
        self.passing.unlink(missing_ok=True)


def _encodable(value: Any) -> Any:
    """Return a value that UTF-8 can hold: the name of a file may be any bytes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


# --- The folder -------------------------------------------------------------------------------------------------------


class AnswerFolder:
    """A folder with the answers to one question, of one run, or of several that each went on where one had ended."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).absolute()
        self.answers = self.path / ANSWERS
        self.work = self.path / WORK

    def begin(self, question: Question, token: str, *, resume: bool) -> None:
        """Begin a run: check that the answers that are there are of the same question."""
        try:
            self.work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}", kind="unwritable") from None
        known = self.path / RUN_FILE
        if any(self.parts()):
            if not resume:
                hint = "--resume goes on with them; else name another folder"
                raise UsageError(f"{self.path} has answers already", kind="has_answers", hint=hint)
            asked = json.loads(known.read_text("utf-8"))["question"] if known.exists() else ""
            if asked != question.text:
                message = f"the answers in {self.path} are of another question: {asked[:200]}"
                raise UsageError(message, kind="other_question", hint="name another folder")
        with whole_output(str(known), "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "question": question.text}, file)
        with whole_output(str(self.work / "run"), "w") as file:
            file.write(token)

    def end(self) -> None:
        """End the run: nothing that still works on it lets a part appear any more."""
        (self.work / "run").unlink(missing_ok=True)

    def clean(self) -> None:
        """Take away what only a run needs: notes, and parts that are not whole."""
        shutil.rmtree(self.work, ignore_errors=True)
        for path in self.answers.glob("*/.*.part"):
            path.unlink(missing_ok=True)

    def is_current(self, token: str) -> bool:
        """Return whether a run goes on."""
        try:
            return (self.work / "run").read_text() == token
        except OSError:
            return False

    def part(self, question: Question, batch: str) -> Path:
        """Return the file of a batch."""
        return self.answers / f"question={question.name}" / f"part-{batch}.parquet"

    def parts(self) -> Iterator[Path]:
        """Yield the files that are whole."""
        yield from sorted(self.answers.glob("*/part-*.parquet"))

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of all parts, one part after the other."""
        import pyarrow.parquet as pq

        for path in self.parts():
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=list(columns)):
                    yield from batch.to_pylist()

    def outcomes(self) -> Iterator[InputOutcome]:
        """Yield what became of each input that is done."""
        for path in self.parts():
            yield from outcomes_of(path)


def outcomes_of(path: Path) -> list[InputOutcome]:
    """Return what became of the inputs of a part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = (pq.read_metadata(path).metadata or {}).get(FOOTER, b"[]")
    except (OSError, pa.ArrowException) as error:
        hint = "take the file away, and go on with --resume"
        raise UsageError(f"{path} is not a part of answers: {error}", kind="bad_part", hint=hint) from None
    return [InputOutcome(*fields) for fields in json.loads(footer)]


# --- Who works on what ------------------------------------------------------------------------------------------------


class Journal:
    """Notes of the inputs of a batch that were begun and ended, which outlive a worker that dies.

    An input that was begun more often than it was ended has ended a worker each time.
    """

    def __init__(self, folder: AnswerFolder, batch: str) -> None:
        self.path = folder.work / f"{batch}.journal"

    def deaths(self) -> Counter[int]:
        """Return how many workers ended at each input."""
        counts: Counter[int] = Counter()
        with suppress(OSError):
            for line in self.path.read_text("ascii").split("\n")[:-1]:
                mark, _, number = line.partition(" ")
                counts[int(number)] += 1 if mark == "begin" else -1
        return counts

    @contextmanager
    def noted(self, index: int) -> Iterator[None]:
        """Note that the worker begins with an input, and that it has lived through it."""
        self.write(f"begin {index}\n")
        try:
            yield
        finally:
            self.write(f"end {index}\n")

    def write(self, line: str) -> None:
        """Add a line."""
        number = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(number, line.encode())
        finally:
            os.close(number)  # other machines see what is written when it is closed

    def remove(self) -> None:
        """Take the notes away, once the part is whole."""
        self.path.unlink(missing_ok=True)
