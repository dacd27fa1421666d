"""Variants of a source: each is compiled once, and its code judged once, for all findings that are looked for in it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.children import PrivateFolder
from dwarfgpu.states.program import open_program
from hunt.campaign_folder import is_random, text_of
from hunt.host_results import host_kernels
from hunt.source_levels import RESULT, UNOPTIMIZED, RecordedBuild, is_defined, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from dwarfgpu.states.program import Program
    from hunt.host_results import HostKernels
    from hunt.source_levels import LevelVerdict, SourceLevels

ALONE, WITH_PLAIN, WITH_HOST = range(3)
"""What code is compared with: nothing, -O0, and -O0 and the host. A verdict has the findings of those before it."""
CODE = "k.co"
"""The name of a code object, which the command of a report has, too."""


def compared_with(rule: str) -> int:
    """Return what code must be compared with to have findings of a rule."""
    return WITH_HOST if rule == RESULT else ALONE if rule.startswith("value-") else WITH_PLAIN


class SourceVariants:
    """Compiles and judges variants of one kernel of a source, in a folder of its own: use it in a ``with``."""

    def __init__(self, source: SourceLevels, kernel: str) -> None:
        self.source = source
        self.kernel = kernel
        self._home = PrivateFolder()
        self.folder = self._home.path
        self.is_random = is_random(Path(source.path))
        """Whether the host may execute it: variants of it stay within their buffers, too."""
        self.file_name = f"{kernel}.cl" if self.is_random else Path(source.path).name
        self.variant = evolve(source, path=str(self.folder / self.file_name))
        self._code: dict[tuple[str, str, tuple[str, ...]], bytes] = {}
        self._verdicts: dict[tuple[str, bytes], dict[int, LevelVerdict]] = {}
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
        """The text of the kernel, with which the variants begin."""
        return text_of(Path(self.source.path), self.kernel)

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

    def verdict(self, text: str, level: str, code: bytes, compared: int) -> LevelVerdict:
        """Return what comes of the code of a text, compared with other builds of the text."""
        known = self._verdicts.setdefault((text, code), {})
        for more in range(compared, WITH_HOST + 1):
            if more in known:
                return known[more]
        other = self.plain(text).recorded if compared >= WITH_PLAIN else None
        host = self.plain(text).host if compared >= WITH_HOST and self.is_random else None
        known[compared] = judged(open_program(code), self.kernel, level, other, host)
        return known[compared]

    def plain(self, text: str) -> _PlainBuild:
        """Return the build of a text without optimization."""
        if text not in self._plain:
            program = open_program(self.code(text, UNOPTIMIZED))
            self._plain = {text: _PlainBuild(text, program, self.kernel)}
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

    def __init__(self, text: str, program: Program, kernel: str) -> None:
        self._text, self._program, self._kernel = text, program, kernel
        self.recorded = RecordedBuild(program, kernel)

    @cached_property
    def is_defined(self) -> bool:
        """Whether the results of the text are defined."""
        return is_defined(self._program, self._kernel)

    @cached_property
    def host(self) -> HostKernels | None:
        """The text for the host."""
        return host_kernels(self._text)
