"""Where commands write: lines of text, with styles where they are shown."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.regular_files import check_output
from dwarfgpu.render.layout import WIDTH, folded, plain_style
from dwarfgpu.render.written_text import without_styles, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from dwarfgpu.render.layout import Style

    Highlight: TypeAlias = Callable[[str, Sequence[str], str], list[str]]
    """Gives lines of code the styles of its language: kind, lines, name of the file."""
    from collections.abc import Callable

    from dwarfgpu.questions.debugger import Debugger


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


# --- The log ------------------------------------------------------------------------------------------


class Log:
    """Copies the output of a debugger to a file while the setting says so."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._file: IO[str] | None = None
        self._write: Callable[[str], object] | None = None
        debugger.settings.watchers.append(self._changed)

    def _changed(self, name: str) -> None:
        if name != "logging enabled":
            return
        if not self._debugger.settings[name]:
            if self._file is not None:
                path = self._file.name
                self.close()
                self._debugger.output.line(f"Done logging to {path}.")
        elif self._file is None:
            try:
                self._open()
            except UsageError:
                self._debugger.settings.reset(name)
                raise

    def _open(self) -> None:
        settings, output = self._debugger.settings, self._debugger.output
        path = os.path.expanduser(settings["logging file"])  # noqa: PTH111 (`pathlib` costs start-up time)
        check_output(path)
        try:
            mode = "w" if settings["logging overwrite"] else "a"
            self._file = open(path, mode, encoding="utf-8", errors="backslashreplace")  # noqa: PTH123, SIM115 (it stays open)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", kind="unwritable") from None
        output.line(f"{'Redirecting' if settings['logging redirect'] else 'Copying'} output to {path}.")
        self._write = output.write
        output.write = self._copied

    def _copied(self, text: str) -> None:
        assert self._file is not None  # noqa: S101 (it is open as long as this is what writes)
        assert self._write is not None  # noqa: S101
        try:
            self._file.write(written(without_styles(text)))
            self._file.flush()
        except OSError as error:
            path = self._file.name
            with suppress(OSError):  # what waits to be written cannot be written either
                self.close()
            self._debugger.settings.reset("logging enabled")
            raise UsageError(f"{path}: {error.strerror}", kind="unwritable", hint="logging is off now") from None
        if not self._debugger.settings["logging redirect"]:
            self._write(text)

    def close(self) -> None:
        """Write to the file no longer."""
        if self._file is None or self._write is None:
            return
        self._debugger.output.write = self._write
        file, self._file, self._write = self._file, None, None
        file.close()
