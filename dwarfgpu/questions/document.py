"""The answer to a question: its data, which JSON has, and its text, both made of the same result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unread, UsageError
from dwarfgpu.render.layout import WIDTH, laid_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.questions.output import Output

    Json = dict[str, Any]

OK, NO_ANSWER, USAGE, BAD_FILE = range(4)
"""The exit statuses that the program has for answers."""
INTERRUPTED = 130
"""The exit status where ^C has ended it."""


def exit_status(error: DwarfGpuError) -> int:
    """Return the exit status that tells a branch of the errors."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, Unread):
        return OK
    return BAD_FILE if isinstance(error, MalformedFile) else NO_ANSWER


class Document:
    """An answer. Iterators in the data are lists, of which each item is made when it is written.

    Problems, hints and whether the question has failed are known once the document is written.
    """

    def __init__(
        self,
        data: Json,
        text: Callable[[Output], Iterable[str]] | Iterable[str],
        *,
        rows: str | Callable[[], Iterable[Json]] = "",
        row: Json | None = None,
        problems: Iterable[DwarfGpuError] = (),
        has_failed: bool = False,
        is_file: bool = False,
    ) -> None:
        self.data = data
        self._text = text
        self._is_file = is_file
        """Whether the text is a file of some format, such as HTML or CSV, whose lines are as long as they are."""
        self._rows = rows
        self._row = row or {}
        self.problems: list[DwarfGpuError] = list(problems)
        """What is wrong with parts of the answer."""
        self.hints: list[str] = []
        self.is_empty = True
        """Whether no line of its text was written."""
        self.status = NO_ANSWER if has_failed else OK
        """The exit status of the program: whether there is no answer, or the answer is that something is wrong."""

    def json(self) -> Json:
        """Return the one document of ``--json``."""
        return {"schema": 1, **self.data}

    def rows(self) -> Iterator[Json]:
        """Yield the documents of ``--jsonl``, one for each line."""
        rows: Iterable[Json] = [self.data]
        if callable(self._rows):
            rows = self._rows()
        elif self._rows:
            rows = self.data[self._rows]
        for row in rows:
            yield {"schema": 1, **self._row, **row}

    def text(self, output: Output) -> Iterable[str]:
        """Return the lines of the text, for a screen of the width that the output has."""
        return self._text(output) if callable(self._text) else self._text

    def write(self, output: Output, form: str = "") -> None:
        """Write the answer as text, or as ``json`` or ``jsonl``."""
        if form == "json":
            write_json(self.json(), output.write)
        elif form == "jsonl":
            import json

            for row in self.rows():
                output.write(f"{json.dumps(row)}\n")
        else:
            with laid_out(WIDTH if self._is_file else output.width):
                for line in self.text(output):
                    self.is_empty = False
                    if self._is_file:
                        output.write(f"{line}\n")
                    else:
                        output.line(line)


# --- JSON documents that are written while they become known ------------------------------------------

STEP = "  "


def write_json(value: Json, write: Callable[[str], object]) -> None:
    """Write a document over several lines, each item of an iterator when it is there.

    An error that ends an iterator ends all lists, and is raised when the document is whole; or at once where nothing
    has been written.
    """
    writer = _JsonWriter()
    is_begun = False
    for piece in writer.pieces(value, "\n"):
        if writer.error is not None and not is_begun:
            raise writer.error
        is_begun = True
        write(piece)
    write("\n")
    if writer.error is not None:
        raise writer.error


class _JsonWriter:
    """Makes the text of a document piece by piece."""

    def __init__(self) -> None:
        from json import JSONEncoder

        self.error: DwarfGpuError | None = None
        self._encoder = JSONEncoder
        self._dumps = JSONEncoder().encode
        self._flat: dict[str, Callable[[object], str]] = {}
        """How a value without objects and lists inside is written, by what its lines begin with."""

    def pieces(self, value: object, newline: str) -> Iterator[str]:
        """Yield the text of a value, of which lines after the first begin with ``newline``."""
        if isinstance(value, Iterator):
            yield from self._items(value, newline)
        elif _is_lazy(value):
            yield from self._fields(value, newline)  # type: ignore[arg-type]
        else:
            yield self._text(value, newline)

    def _text(self, value: object, newline: str) -> str:
        """Return what `json.dumps` writes with an indent, which is slow there; equal parts in a row are made once."""
        inner = newline + STEP
        items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        if not items:
            return self._dumps(value)
        texts: list[str] = []
        if not any(isinstance(item, (dict, list, tuple)) for item in items):
            if inner not in self._flat:
                self._flat[inner] = self._encoder(separators=("," + inner, ": ")).encode
            texts.append(self._flat[inner](value)[1:-1])
        elif isinstance(value, dict):
            keys = (self._dumps({key: 0})[1:-2] for key in value)
            texts += map(str.__add__, keys, (self._text(item, inner) for item in items))
        else:
            before: object = self
            for item in items:
                texts.append(texts[-1] if item is before else self._text(item, inner))
                before = item
        begin, end = "{}" if isinstance(value, dict) else "[]"
        return f"{begin}{inner}{f',{inner}'.join(texts)}{newline}{end}"

    def _fields(self, value: Json, newline: str) -> Iterator[str]:
        """Yield the text of an object; nothing of it before the first item of its first list is known."""
        inner = newline + STEP
        before = "{"
        for key, field in value.items():
            before += f"{inner}{self._dumps(key)}: "
            for piece in self.pieces(field, inner):
                before += piece
                if _is_lazy(field):
                    yield before
                    before = ""
            before += ","
        yield before.removesuffix(",") + newline + "}"

    def _items(self, values: Iterator[object], newline: str) -> Iterator[str]:
        inner = newline + STEP
        before = "["
        while self.error is None:
            try:
                value = next(values)
            except StopIteration:
                break
            except DwarfGpuError as error:
                self.error = error
                break
            before += inner
            for piece in self.pieces(value, inner):
                yield before + piece
                before = ""
            before = ","
        yield "[]" if before == "[" else newline + "]"


def _is_lazy(value: object) -> bool:
    if isinstance(value, dict):
        return any(isinstance(field, Iterator) for field in value.values())
    return isinstance(value, Iterator)
