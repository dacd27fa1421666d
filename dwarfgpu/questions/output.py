"""Where commands write: lines of text, with styles where they are shown."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import WIDTH, folded, plain_style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from dwarfgpu.render.layout import Style

    Highlight: TypeAlias = Callable[[str, Sequence[str], str], list[str]]
    """Gives lines of code the styles of its language: kind, lines, name of the file."""


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

    @contextmanager
    def collected(self, width: int | None = None) -> Iterator[list[str]]:
        """Collect what is written, as plain text, instead of writing it."""
        before = self.write, self.style, self.width, self.height, self.fold, self.highlight
        texts: list[str] = []
        self.write, self.style, self.height, self.highlight = texts.append, plain_style, None, plain_code
        self.fold = None
        self.width = self.width if width is None else width
        try:
            yield texts
        finally:
            self.write, self.style, self.width, self.height, self.fold, self.highlight = before
