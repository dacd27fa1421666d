"""The text of source files: what a line table embeds, else what is on disk where the program says, or was moved to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.objfile.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.sources.files import SourceFile

MAX_SIZE = 1 << 26
"""A larger file is not taken for source."""
MAX_FILES = 64
"""How many files are remembered."""
COMPILED, HERE = "$cdir", "$cwd"
"""Directories that are not the same for all files: where a file was compiled, and where the debugger runs."""


@frozen
class SourceText:
    """The lines of a source file."""

    lines: tuple[str, ...] = ()
    path: str | None = None
    """Where it was found; None for one that the program embeds, and for one that was not found."""
    missing: str | None = None
    """Why there are none: ``No such file or directory``."""

    def line(self, number: int) -> str | None:
        """A line, counted from 1; None where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


class SourceReader:
    """Reads source files, each once, as long as nobody changes where they are looked for."""

    def __init__(self) -> None:
        self.directories: tuple[str, ...] = (COMPILED, HERE)
        """Where files are looked for that are not where the program says."""
        self.moved: dict[str, str] = {}
        """The beginnings of paths in the program, with what they are here."""
        self._known: dict[tuple[str, str | None], SourceText] = {}

    def forget(self) -> None:
        """Read all files again when they are asked for."""
        self._known.clear()

    def read(self, file: SourceFile) -> SourceText:
        """The text of a file; one that cannot be found says why."""
        key = file.path, file.directory
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_FILES:
                self._known.clear()
            found = self._known[key] = self._read(file)
        return found

    def _read(self, file: SourceFile) -> SourceText:
        embedded = file.embedded()
        if embedded is not None:
            return SourceText(_lines(embedded))
        reason = "No such file or directory."
        for path in dict.fromkeys(self._places(file)):
            try:
                if "\0" in path or not os.path.exists(path):  # noqa: PTH110 (`pathlib` costs start-up time)
                    continue
                if not os.path.isfile(path):  # noqa: PTH113 (a device or a pipe could be read for ever)
                    reason = "It is no file."
                elif os.path.getsize(path) > MAX_SIZE:  # noqa: PTH202
                    reason = f"It has more than {MAX_SIZE} bytes."
                else:
                    with open(path, "rb") as text:  # noqa: PTH123
                        return SourceText(_lines(decode(text.read(MAX_SIZE))), path)
            except OSError as error:
                reason = f"{error.strerror}."
        return SourceText(missing=reason)

    def _places(self, file: SourceFile) -> Iterator[str]:
        """Where a file may be, the likeliest place first."""
        whole = file.path
        yield self._here(whole)
        inside = whole.lstrip("/")
        if file.directory:  # the part of the path that compilers were given
            folder = file.directory.rstrip("/") + "/"
            inside = whole.removeprefix(folder).lstrip("/")
        for each in self.directories:
            folder = {COMPILED: self._here(file.directory or ""), HERE: "."}.get(each, each)
            folder = os.path.expanduser(folder)  # noqa: PTH111
            for name in (inside, os.path.basename(whole)):  # noqa: PTH119
                yield os.path.join(folder, name)  # noqa: PTH118

    def _here(self, path: str) -> str:
        """A path of the program as it is on this machine: the longest beginning that was moved is replaced."""
        for start in sorted(self.moved, key=len, reverse=True):
            rest = path.removeprefix(start)
            if path.startswith(start) and (not rest or rest[0] == "/" or start.endswith("/")):
                return self.moved[start] + rest
        return path


def _lines(text: str) -> tuple[str, ...]:
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(lines[:-1] if not lines[-1] else lines)
