"""The answer to a question, as text and as JSON of the same data, and the output that it is written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unread, UsageError
from dwarfgpu.render.layout import WIDTH, Record, Style, folded, laid_out, plain_style

if TYPE_CHECKING:
    Json = dict[str, Any]
    Highlight: TypeAlias = Callable[[str, Sequence[str], str], list[str]]
    """Gives lines of code the styles of its language: kind, lines, name of the file."""

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


SOURCE, ASSEMBLY, OPERATIONS = "source", "assembly", "operations"
"""The kinds of code that output shows: source, whose file tells its language; instructions; DWARF expressions."""


def plain_code(_kind: str, lines: Sequence[str], _file: str) -> list[str]:
    """Return code as it is."""
    return list(lines)


class Output:
    """Writes lines. ``width`` and ``height`` are those of the screen; a stream without a screen has no height."""

    def __init__(
        self,
        write: Callable[[str], object],
        style: Style = plain_style,
        *,
        width: int = WIDTH,
        height: int | None = None,
        fold: int | None = None,
        highlight: Highlight = plain_code,
    ) -> None:
        self.write = write
        """Takes a text with its line ends."""
        self.style = style
        self.width = width
        self.height = height
        self.fold = fold
        """The columns that no line exceeds; None where a line may have any length."""
        self.rows = 0
        """How many rows of the screen the command has filled so far."""
        self.highlight = highlight
        self.binary: Any = None
        """The file that bytes are written to; None where the output is a screen."""

    def line(self, text: str = "") -> None:
        """Write a line, or several if it is longer than the screen is wide."""
        if self.fold is not None:
            text = "\n".join(folded(text, self.fold))
        self.write(f"{text}\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Write some lines."""
        for text in texts:
            self.line(text)

    def code(self, kind: str, lines: Sequence[str], file: str = "") -> list[str]:
        """Return lines of code with the styles of its language, where they are shown. They stay as many and as long.

        ``kind`` is `SOURCE`, `ASSEMBLY` or `OPERATIONS`; ``file`` is the name of a source file. Cut lines before.
        """
        return self.highlight(kind, lines, file) if lines else []

    def laid_out(self) -> AbstractContextManager[None]:
        """Lay out texts for the screen."""
        return laid_out(self.width, self.style)

    @contextmanager
    def collected(self, width: int | None = None) -> Iterator[list[str]]:
        """Collect what is written, as plain text, instead of writing it."""
        before = self.write, self.style, self.width, self.height, self.fold, self.highlight
        texts: list[str] = []
        self.write, self.style, self.height, self.highlight = texts.append, plain_style, None, plain_code
        self.fold = None
        self.width = self.width if width is None else width
        try:
            with laid_out(self.width):
                yield texts
        finally:
            self.write, self.style, self.width, self.height, self.fold, self.highlight = before


class Document:
    """An answer; iterators in its data, and so its problems, hints and status, are made when it is written."""

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

    def table(self) -> list[tuple[Any, ...]]:
        """Return the documents of ``--jsonl`` as rows, below the names of the columns: ``source.file``."""
        rows = [dict(_flat(row)) for row in self.rows()]
        names = tuple(name for name in dict.fromkeys(name for row in rows for name in row) if name != "schema")
        return [names, *(tuple(row.get(name) for name in names) for row in rows)]

    def html(self) -> Iterator[str]:
        """Yield a page with the rows of ``--jsonl`` as a table."""
        from dwarfgpu.render.report import PageSection, grid, page

        names, *rows = self.table()
        cells = (["" if cell is None else str(cell) for cell in row] for row in rows)
        title = self._rows if isinstance(self._rows, str) else ""
        section = PageSection("rows", title or "answer", "row", 1 << 30, count=len(rows))
        section.add(grid(names, cells, len(names)))
        return page(title or "answer", (), [section], "Answer of dwarfgpu")

    def text(self, output: Output) -> Iterable[str]:
        """Return the lines of the text, for a screen of the width that the output has."""
        return self._text(output) if callable(self._text) else self._text

    def write(self, output: Output, form: str = "") -> None:
        """Write the answer as text, or in one of `registry.FORMS`."""
        if form == "json":
            write_json(self.json(), output.write)
        elif form == "html":
            output.write("\n".join((*self.html(), "")))
        elif form == "csv":
            from csv import writer

            writer(output, lineterminator="\n").writerows(self.table())
        elif form == "jsonl":
            import json

            for row in self.rows():
                output.write(f"{json.dumps(row)}\n")
        else:
            with laid_out(WIDTH) if self._is_file else output.laid_out():
                for line in self.text(output):
                    self.is_empty = False
                    if self._is_file:
                        output.write(f"{line}\n")
                    else:
                        output.line(line)


def _flat(value: object, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in a document by their paths; a list without objects is one value."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif not isinstance(value, (list, tuple)):
        yield name, value
    elif any(isinstance(part, (dict, list, tuple)) for part in value):
        from json import dumps

        yield name, dumps(value)
    else:
        yield name, " ".join(map(str, value))


def listing(
    key: str,
    record: Record | Callable[[Any], Json],
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    text: Callable[[Sequence[Any]], Iterable[str]] | None = None,
    *,
    around: Json | None = None,
    empty: str = "",
    **options: Any,
) -> Document:
    """Return an answer that is a list: one record makes its text, JSON, CSV and HTML.

    The text is the table of the record, or what ``text`` makes of the rows.
    ``around`` is more of the JSON object; the rows are where it has their key, else last.
    """

    def known() -> Iterable[Any]:
        return rows() if callable(rows) else rows

    def lines(_output: Output) -> Iterator[str]:
        found = list(known())
        if empty and not found:
            yield empty
        elif text is not None:
            yield from text(found)
        elif isinstance(record, Record):
            yield from record.lines(found, indent=0)

    def documents() -> Iterator[Json]:
        yield from map(record.json if isinstance(record, Record) else record, known())

    return Document({**(around or {}), key: documents()}, lines, rows=key, **options)


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
            texts += (self._key(key) + self._text(item, inner) for key, item in value.items())
        else:
            before: object = self
            for item in items:
                texts.append(texts[-1] if item is before else self._text(item, inner))
                before = item
        begin, end = "{}" if isinstance(value, dict) else "[]"
        return f"{begin}{inner}{f',{inner}'.join(texts)}{newline}{end}"

    def _key(self, key: object) -> str:
        """Return the key of an object as `json.dumps` writes it, a number as a text, with the colon behind it."""
        return self._dumps({key: 0})[1:-2]

    def _fields(self, value: Json, newline: str) -> Iterator[str]:
        """Yield the text of an object; nothing of it before the first item of its first list is known."""
        inner = newline + STEP
        before = "{"
        for key, field in value.items():
            before += inner + self._key(key)
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
