"""What all commands share: output streams, colour, error reports and exit statuses."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu import progress, regular_files
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unread, UsageError
from dwarfgpu.questions.document import OK, Document, Output, exit_status
from dwarfgpu.regular_files import CHANGED, check_mappings, open_input, read_stream, unreadable, whole_output
from dwarfgpu.render.layout import WIDTH, cut, folded, shown
from dwarfgpu.render.written_text import STYLES, SafeStream, may_be_left, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.questions.document import Json
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.render.written_text import StyleName
    from dwarfgpu.states.program import Program

MAX_REPORTED = 20
"""How many problems of one kind are shown before the rest is only counted."""


def given(options: Any, names: Iterable[str]) -> list[str]:
    """Return which of some options were given, as the user types them (``--lane``)."""
    values = ((name, getattr(options, name)) for name in names)
    return [f"--{name.replace('_', '-')}" for name, value in values if value is not None and value is not False]


class Session:
    """One run of the program: its streams and the options that all commands share."""

    def __init__(self, color: str = "auto", form: str = "") -> None:
        self.out = SafeStream(sys.stdout, has_answers=True)
        self.err = SafeStream(sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            # what a terminal cannot show is written as an escape, not an error
            if isinstance(stream, io.TextIOWrapper):
                with suppress(OSError):  # the pending output cannot be written; the next write reports it
                    stream.reconfigure(errors="backslashreplace")
        progress.is_announced = not sys.stderr.isatty()
        progress.announced.clear()
        if not progress.is_announced:
            progress.show_on(sys.stderr)
        self.form = form
        """How answers are written: one of `registry.FORMS`, or, if it is empty, as text."""
        self._color = color
        self._colors = {stream: _wants_color(color, stream) for stream in (self.out, self.err)}

    @contextmanager
    def written_to(self, path: str) -> Iterator[None]:
        """Redirect standard output to a file, which is replaced only once the output is complete."""
        before = self.out.raw
        with whole_output(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
            try:
                self.out.raw = stream
                self._colors[self.out] = self._color == "always"
                yield
                self.out.flush()
            finally:
                self.out.raw = before
                self._colors[self.out] = _wants_color(self._color, self.out)

    def print(self, text: str = "") -> None:
        """Write a line of data, or several if it is longer than the screen is wide."""
        self.out.write(f"{_folded(text, self.out)}\n")

    def style(self, style: StyleName, text: str, stream: SafeStream | None = None) -> str:
        """Return text in a style, where the stream shows colour."""
        if not text or not self._colors[stream or self.out]:
            return text
        return styled(STYLES[style][0], text)

    def print_json(self, document: Json, rows: str | Callable[[], Iterable[Json]] = "") -> None:
        """Write a JSON document, or its rows if another form is wanted."""
        Document(document, (), rows=rows).write(self.output(), self.form)

    def answer(self, document: Document, selection: Selection) -> int:
        """Write an answer, then report its problems and those of the files; return the exit status."""
        with may_be_left(sys.stdout):
            document.write(selection.output, self.form)
        check_mappings()
        for hint in document.hints:
            self.hint(hint)
        return max(document.status, self.report_problems((*document.problems, *selection.problems)))

    def report_problems(self, problems: Iterable[DwarfGpuError]) -> int:
        """Report problems on standard error, those that differ only in place once; return their exit status."""
        groups: dict[tuple[object, ...], list[DwarfGpuError]] = {}
        for error in problems:
            groups.setdefault((error.error_class, error.kind, error.message, error.where.section), []).append(error)
        for first, *others in list(groups.values())[:MAX_REPORTED]:
            self.report(first)
            if others:
                self._say("error", "dwarfgpu: error:", f"and {len(others)} more of these")
        if len(groups) > MAX_REPORTED:
            self._say("error", "dwarfgpu: error:", f"and {len(groups) - MAX_REPORTED} more, which --json has")
        return max((exit_status(first) for first, *_ in groups.values()), default=OK)

    @contextmanager
    def reading(self, source: Selection | Program) -> Iterator[None]:
        """Read files for an answer. Without an answer, report what is broken in them: that may be why."""
        try:
            yield
        except DwarfGpuError as error:
            others = (each for each in source.problems if each.message != error.message)
            if error.kind == CHANGED or self.report_problems(others) <= exit_status(error):
                raise
            raise MalformedFile(error.kind, error.message, spec=error.spec) from error

    @property
    def wants_json(self) -> bool:
        return bool(self.form)

    def report(self, error: DwarfGpuError, file: str = "") -> int:
        """Show an error, which may be about a file, on standard error; return the exit status for it."""
        self.out.flush()
        if regular_files.lost:  # any other error follows from the lost file contents
            try:
                regular_files.check_lost()
            except MalformedFile as lost:
                error = lost
        for line in error.messages.splitlines():
            self.tell(line)
        text = error.what if error.messages else str(error)
        text = f"{file}: {text}" if file else text
        kind = "warning" if isinstance(error, Unread) else "error"
        self._say("error", f"dwarfgpu: {kind}:", text)
        if error.hint:
            self.hint(error.hint)
        return exit_status(error)

    def tell(self, text: str) -> None:
        """Write a line that another program has said to standard error."""
        self.err.write(f"{shown(text)}\n")

    def hint(self, text: str) -> None:
        """Write a hint to standard error."""
        self.out.flush()
        self._say("hint", "hint:", text)

    def _say(self, style: StyleName, head: str, text: str) -> None:
        """Write one line, or the lines of a terminal that it fills; nothing that a file holds can steer a terminal."""
        line = f"{self.style(style, head, self.err)} {shown(' '.join(map(cut, text.split())))}"
        self.err.write(f"{_folded(line, self.err)}\n")

    def output(self) -> Output:
        """Return where a question writes its answer."""
        return Output(self.out.write, self.style, width=self.out.width or WIDTH, fold=self.out.fold)


def _folded(text: str, stream: SafeStream) -> str:
    columns = stream.fold
    return text if columns is None else "\n".join(folded(text, columns))


def _wants_color(choice: str, stream: SafeStream) -> bool:
    """Whether to colour: an explicit choice, else NO_COLOR and FORCE_COLOR, else whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def read_input(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``."""
    try:
        if path == "-":
            return read_stream(sys.stdin.buffer, "standard input").decode()
        with open_input(path) as file:
            return read_stream(file, path).decode()
    except UnicodeDecodeError as error:
        raise unreadable(path, f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None


# --- Whether eval is about a program ------------------------------------------------------------------------------

ENCODING = ("target", "address_size", "byte_order", "offset_size", "dwarf_version")
ALONE = ("rules", "want", "read", "write", "stack", *ENCODING)
"""The options of an expression that is evaluated without a program."""
OF_SOURCE = ("frame", "pc", "format", "location", "repair", "npz", "csv", "all")
"""The options that need a frame of a program."""


def is_alone(given_options: dict[str, Any]) -> bool:
    """Return whether `eval` runs without a program; refuse options that do not fit."""
    options = SimpleNamespace(**given_options)
    chosen = given(options, ("ops", "hex"))
    if options.file is None and not chosen and options.state is not None:
        from dwarfgpu.states.opening import names_its_code
        from dwarfgpu.states.program import paths_of

        if names_its_code(paths_of(options.state)):  # the state supplies the file
            return False
    if options.file is not None:
        for name in given(options, ALONE):
            raise UsageError(f"{name} is for --ops and --hex without FILE", hint="leave out FILE")
        return False
    if len(chosen) != 1:
        message = "`eval` needs FILE and an expression, or exactly one of --ops and --hex"
        raise UsageError(message, hint="`dwarfgpu eval --help` shows examples")
    for name in given(options, OF_SOURCE):
        raise UsageError(f"{name} is for expressions of the source language", hint="name a FILE for them")
    return True
