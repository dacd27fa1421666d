"""Variants of a source: each is compiled once, and its code judged once, for all findings that are looked for in it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.children import PrivateFolder
from dwarfgpu.states.program import open_program
from hunt.source_levels import UNOPTIMIZED, RecordedBuild, is_defined, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from dwarfgpu.states.program import Program
    from hunt.source_levels import LevelVerdict, SourceLevels

CODE = "k.co"
"""The name of a code object, which the command of a report has, too."""


def is_compared(rule: str) -> bool:
    """Return whether code must be compared with its -O0 build to have findings of a rule."""
    return not rule.startswith("value-")


class SourceVariants:
    """Compiles and judges variants of one kernel of a source, in a folder of its own: use it in a ``with``."""

    def __init__(self, source: SourceLevels, kernel: str) -> None:
        self.source = source
        self.kernel = kernel
        self._home = PrivateFolder()
        self.folder = self._home.path
        self.file_name = Path(source.path).name
        self.variant = evolve(source, path=str(self.folder / self.file_name))
        self._code: dict[tuple[str, str, tuple[str, ...]], bytes] = {}
        self._verdicts: dict[tuple[str, bytes, bool], LevelVerdict] = {}
        self._plain: dict[str, _PlainBuild] = {}
        """The build without optimization of the last text that needed it."""
        self._messages: dict[tuple[str, str, tuple[str, ...]], str] = {}
        """What the compiler has written about the last build that was made for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._home.end()

    @cached_property
    def text(self) -> str:
        """The text with which the variants begin."""
        return Path(self.source.path).read_text(encoding="utf-8")

    def code(self, text: str, level: str, options: Sequence[str] = ()) -> bytes:
        """Return the code object of a text; one that is not compiled raises an error."""
        key = text, level, tuple(options)
        if key not in self._code:
            self._write(text)
            self._code[key] = self.variant.compiled(level, options).code
        return self._code[key]

    def messages(self, text: str, level: str, options: Sequence[str]) -> str:
        """Return what the compiler writes about a text with options that make it print."""
        key = text, level, tuple(options)
        if key not in self._messages:
            self._write(text)
            self._messages = {key: self.variant.compiled(level, options).messages}
        return self._messages[key]

    def verdict(self, text: str, level: str, code: bytes, *, is_compared: bool) -> LevelVerdict:
        """Return what comes of the code of a text, compared with the -O0 build of the text or alone."""
        key = text, code, True
        if key not in self._verdicts and not is_compared:
            key = text, code, False
        if key not in self._verdicts:
            other = self.plain(text).recorded if is_compared else None
            self._verdicts[key] = judged(open_program(code), self.kernel, level, other)
        return self._verdicts[key]

    def plain(self, text: str) -> _PlainBuild:
        """Return the build of a text without optimization."""
        if text not in self._plain:
            program = open_program(self.code(text, UNOPTIMIZED))
            self._plain = {text: _PlainBuild(program, self.kernel)}
        return self._plain[text]

    def span(self, text: str, level: str, options: Sequence[str], function: str) -> range:
        """Return the addresses of a function in the code object of a text; none if there is no symbol."""
        symbol = open_program(self.code(text, level, options)).file.symbol_image.symbol_named(function)
        return range(0) if symbol is None else range(symbol.value, symbol.value + symbol.size)

    def _write(self, text: str) -> None:
        Path(self.variant.path).write_text(text, encoding="utf-8")

    def code_file(self, text: str, level: str, options: Sequence[str] = ()) -> str:
        """Return the name of a file with the code object of a text."""
        path = self.folder / CODE
        path.write_bytes(self.code(text, level, options))
        return str(path)


class _PlainBuild:
    """The build of a text without optimization."""

    def __init__(self, program: Program, kernel: str) -> None:
        self._program, self._kernel = program, kernel
        self.recorded = RecordedBuild(program, kernel)

    @cached_property
    def is_defined(self) -> bool:
        """Whether the results of the text are defined."""
        return is_defined(self._program, self._kernel)
