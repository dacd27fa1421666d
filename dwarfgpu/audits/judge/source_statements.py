"""The statements and loops of source files, as their texts have them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.source_files import COMPILED, HERE, SourceFile, SourceTexts
from dwarfgpu.program.language.source_text import has_own_lines, position_of, quiet

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running

LONGEST_STATEMENT = 12
"""The lines of a statement, at most, that are searched for its beginning, and for its end."""
_END = re.compile(r"[;{}:]\s*$")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_SELECTION = re.compile(r"\b(?:if|switch)\b")
_ELSE = re.compile(r"\s*else\b")


@frozen
class SourceLoop:
    """The lines of a loop: from its head to the end of its body."""

    first: int
    last: int


def source_loops(text: str) -> list[SourceLoop]:
    """Return the loops of a text in C, found by their words and brackets."""
    text = quiet(text)
    loops = []
    for match in _LOOP.finditer(text):
        end = end_of_statement(text, match.end())
        loops.append(SourceLoop(text.count("\n", 0, match.start()) + 1, text.count("\n", 0, end) + 1))
    return loops


def _selections(text: str) -> list[tuple[int, int, int]]:
    """Return the selection statements of a text (C11, 6.8.4): where each begins, and where its head and it end."""
    text = quiet(text)
    found = []
    for match in _SELECTION.finditer(text):
        end = end_of_statement(text, match.end())
        while (other := _ELSE.match(text, end + 1)) is not None:
            end = end_of_statement(text, other.end())
        found.append((match.start(), end_of_statement(text, match.end(), closing=")"), end + 1))
    return found


def end_of_statement(text: str, start: int, *, closing: str = "}") -> int:
    """Return where the statement behind a word such as ``while`` ends: at its brace, or at the first semicolon."""
    depth = 0
    for position in range(start, len(text)):
        letter = text[position]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0 or (letter == closing and not depth):
                return position
        elif letter == ";" and not depth:
            return position
    return len(text)


@frozen
class SourceStatement:
    """The lines of a statement."""

    first: int
    last: int
    text: str


def _statement_at(text: str, position: int) -> str:
    """Return the part of a text between two semicolons that has a position in it; those in brackets do not count."""
    depth, start = 0, 0
    for place, letter in enumerate(quiet(text)):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ";" and depth <= 0:
            if place >= position:
                return text[start : place + 1]
            start = place + 1
    return text[start:] if start <= position < len(text) else text


class SourceStatements:
    """The statements of source files, as their texts have them."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.without_text: set[str] = set()
        """The source files whose text was not found."""
        self.unconfirmed: set[str] = set()
        """Those whose text is taken for what was compiled although no line table has its MD5."""
        self._reader = SourceTexts()
        folder = os.path.dirname(running.launched.plan.file.image.path or "")
        self._reader.directories = (COMPILED, HERE, folder, os.path.join(folder, os.pardir))
        self._known: dict[tuple[str, int], SourceStatement | None] = {}
        self._files: dict[str, SourceFile] | None = None
        self._lines: dict[str, tuple[str, ...]] = {}
        self._quiet: dict[str, list[str]] = {}
        """The lines of files without comments and literals."""
        self._loops: dict[str, list[SourceLoop]] = {}
        self._selections: dict[str, list[tuple[int, int, int]]] = {}

    def loop_of(self, file: str, first: int, last: int) -> SourceLoop | None:
        """Return the smallest loop of a file that has two lines in it."""
        if file not in self._loops:
            self._loops[file] = source_loops("\n".join(self._own_lines(file)))
        around = [loop for loop in self._loops[file] if loop.first <= first and last <= loop.last]
        return min(around, key=lambda loop: loop.last - loop.first, default=None)

    def lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file, which may be called by its path or as messages call it; none if it is missing."""
        if self._files is None:
            self._files = {}
            for source in self.running.attached.state.sources.all():
                self._files.setdefault(source.name, source)
                self._files.setdefault(source.path, source)
        source_file = self._files.get(file)
        return () if source_file is None else self._reader.read(source_file).lines

    def _own_lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file; none if `#line` gives them other numbers."""
        if file not in self._lines:
            lines = self.lines(file)
            self._lines[file] = lines if has_own_lines("\n".join(lines)) else ()
        return self._lines[file]

    def compiled_lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file if they are those that were compiled.

        Their MD5 is that of a line table. If none has one, they count if the file is not newer than the code, and if
        all that is declared in it stands in the line of its declaration.
        """
        lines = self._own_lines(file)
        source_file = (self._files or {}).get(file)
        if source_file is None or source_file.embedded() is not None:
            return lines
        digest, text = source_file.digest, self._reader.read(source_file)
        if digest is not None:
            return lines if digest == text.digest else ()
        fits = all(0 < line <= len(lines) and name in lines[line - 1] for name, line in _declared(source_file))
        if not fits or not self._is_older(text.path):
            return ()
        self.unconfirmed.add(source_file.name)
        return lines

    def _is_older(self, path: str | None) -> bool:
        """Return whether a source was not changed since the code was made."""
        code = self.running.launched.plan.file.image.path
        try:
            return path is not None and code is not None and Path(path).stat().st_mtime <= Path(code).stat().st_mtime
        except OSError:
            return False

    def at(self, file: str, line: int) -> SourceStatement | None:
        """Return the statement that a line belongs to; None where the text is not known."""
        key = file, line
        if key not in self._known:
            self._known[key] = self._read(file, line)
        return self._known[key]

    def text_of(self, file: str, line: int, column: int = 0, *, with_branches: bool = False) -> str | None:
        """Return the text of the statement that a line belongs to, or that of a column where it has several.

        ``with_branches`` adds to the head of an ``if`` what it is the head of.
        """
        statement = self.at(file, line)
        if statement is None:
            return None
        lines = self._own_lines(file)
        if with_branches and file not in self._selections:
            self._selections[file] = _selections("\n".join(lines))
        first = last = position_of(lines, line, column or 1)
        if not column:
            last += len("".join(lines[line - 1 : line]))
        for begin, head, end in reversed(self._selections[file] if with_branches else ()):
            if begin <= last and first <= head:
                return "\n".join(lines)[begin:end]
        before = first - position_of(lines, statement.first, 1)
        return _statement_at(statement.text, before) if column else statement.text

    def _read(self, file: str, line: int) -> SourceStatement | None:
        lines = self._own_lines(file)
        if not lines:
            known = (self._files or {}).get(file)
            self.without_text.add(file if known is None else known.name)
            return None
        if file not in self._quiet:
            self._quiet[file] = quiet("\n".join(lines)).split("\n")
        code, first, last = self._quiet[file], line, line
        while line - first < LONGEST_STATEMENT and 1 < first <= len(code) + 1 and not _END.search(code[first - 2]):
            first -= 1
        while last - line < LONGEST_STATEMENT and 0 < last <= len(code) and not _END.search(code[last - 1]):
            last += 1
        return SourceStatement(first, last, "\n".join(lines[first - 1 : last]))


def _declared(file: SourceFile) -> Iterator[tuple[str, int]]:
    """Yield the names that are declared in a file, each with its line."""
    for _code, unit, _table, numbers in file.parts:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            waiting.extend(die.children())
            place, line, name = (die.number(each) for each in (dw.DW_AT_decl_file, dw.DW_AT_decl_line, dw.DW_AT_name))
            if place is not None and line is not None and name is not None and int(place.value) in numbers:
                yield name.text(), int(line.value)
