"""The names of a program in order, so that those that begin with some letters are found at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, nearest, noting

if TYPE_CHECKING:
    from dwarfgpu.program.code.code_object import CodeObject

_SYMBOLS = {"FUNC": "function", "GNU_IFUNC": "function", "AMDGPU_HSA_KERNEL": "function", "OBJECT": "variable"}


MOST_READ = 1 << 20
"""Entries of more bytes are not read for a name that is like another."""
MOST_COMPARED = 20_000
STEP = 500
"""So many names are read between two looks at the clock."""


class KnownNames:
    """The names of functions, variables, types, namespaces and labels, read when they are asked for, or bit by bit."""

    def __init__(self, files: Collection[CodeObject]) -> None:
        self._files = files
        self._kinds: dict[str, set[str]] = {}
        self._names: list[str] = []
        self._sources: list[str] = []
        self._unread: Iterator[None] | None = self._reading()

    @cached_property
    def size(self) -> int:
        """How many bytes the entries are that have the names."""
        return sum(
            unit.header.end - unit.offset for file in self._files if file.has_dwarf for unit in file.dwarf.index.units
        )

    def starting(self, letters: str, kinds: Collection[str], count: int) -> list[tuple[str, str]]:
        """Return the first names of some kinds that begin with some letters, each with its kind."""
        return list(islice(self._starting(letters, kinds), count))

    def _starting(self, letters: str, kinds: Collection[str]) -> Iterator[tuple[str, str]]:
        self.read()
        for place in range(bisect_left(self._names, letters), len(self._names)):
            name = self._names[place]
            if not name.startswith(letters):
                return
            kind = next((kind for kind in kinds if kind in self._kinds[name]), None)
            if kind is not None:
                yield name, kind

    def read(self, seconds: float | None = None) -> bool:
        """Read them, or go on reading for about so long; whether all are read."""
        if self._unread is not None:
            end = None if seconds is None else monotonic() + seconds
            for _ in self._unread:
                if end is not None and monotonic() >= end:
                    return False
            self._unread = None
            self._names = sorted(self._kinds)
            self._sources.sort()
        return True

    def _reading(self) -> Iterator[None]:
        known = self._kinds
        for file in self._files:
            if file.has_dwarf:
                names: Iterator[tuple[str, str]] = file.dwarf.index.names_with_kinds()
                self._sources += set(_sources(file)).difference(self._sources)
            else:
                names = _symbols(file)
            for number, (name, kind) in enumerate(names, 1):
                kinds = known.get(name)
                if kinds is None:
                    known[name] = {kind}
                else:
                    kinds.add(kind)
                if not number % STEP:
                    yield

    def near(self, word: str, kinds: Collection[str] = ()) -> str | None:
        """Return the name of some kinds (all) that is most like a word, if one is."""
        self.read()
        alike = (
            name
            for name in self._names
            if abs(len(name) - len(word)) <= 1 + len(word) // 3
            and (not kinds or not self._kinds[name].isdisjoint(kinds))
        )
        return nearest(word, islice(alike, MOST_COMPARED))

    def files(self, letters: str) -> list[str]:
        """Return the source files whose names begin with some letters, without their folders."""
        self.read()
        return [name for name in self._sources if name.startswith(letters)]


def did_you_mean(files: Collection[CodeObject], word: str, kinds: Collection[str] = ()) -> str | None:
    """Return the hint of a name that is nearly one of some files; None where none is like it."""
    try:
        names = KnownNames(files)
        near = names.near(word, kinds) if names.size <= MOST_READ else None
    except DwarfGpuError:  # the names cannot be read, which other questions say
        return None
    return None if near is None or near == word else f"did you mean {near}?"


def _sources(file: CodeObject) -> Iterator[str]:
    for unit in file.dwarf.index.units:
        with noting(file.dwarf.note):
            if unit.name:
                yield unit.name.rpartition("/")[2]


def _symbols(file: CodeObject) -> Iterator[tuple[str, str]]:
    with suppress(DwarfGpuError):  # the names that can be read are those that are offered
        for symbol in file.symbol_image.symbols():
            if symbol.type in _SYMBOLS and symbol.name and symbol.is_defined:
                yield symbol.name, _SYMBOLS[symbol.type]
