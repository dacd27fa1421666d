"""The names of a program in order, so that those that begin with some letters are found at once."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dwarfgpu.program.files.codeobject import CodeObject

_SYMBOLS = {
    "FUNC": "function",
    "GNU_IFUNC": "function",
    "AMDGPU_HSA_KERNEL": "function",
    "OBJECT": "variable",
}


class KnownNames:
    """The names of functions, variables, types, namespaces and labels in some files. They are read when first asked."""

    def __init__(self, files: Collection[CodeObject]) -> None:
        self._files = files
        self._kinds: dict[str, set[str]] | None = None
        self._names: list[str] = []
        self.sources: list[str] = []
        """The source files of the units, without their folders."""

    def starting(self, letters: str, kinds: Collection[str], count: int) -> list[tuple[str, str]]:
        """The first names that begin with some letters and are of some kinds, each with its kind."""
        return list(islice(self._starting(letters, kinds), count))

    def _starting(self, letters: str, kinds: Collection[str]) -> Iterator[tuple[str, str]]:
        known = self._read()
        for place in range(bisect_left(self._names, letters), len(self._names)):
            name = self._names[place]
            if not name.startswith(letters):
                return
            kind = next((kind for kind in kinds if kind in known[name]), None)
            if kind is not None:
                yield name, kind

    def _read(self) -> dict[str, set[str]]:
        if self._kinds is None:
            found: dict[str, set[str]] = {}
            files = set()
            for file in self._files:
                if file.has_dwarf:
                    for name, kinds in file.dwarf.index.names_with_kinds().items():
                        found.setdefault(name, set()).update(kinds)
                    files |= set(_sources(file))
                else:
                    for name, kind in _symbols(file):
                        found.setdefault(name, set()).add(kind)
            self._names = sorted(found)
            self.sources = sorted(files)
            self._kinds = found
        return self._kinds

    def files(self, letters: str) -> list[str]:
        """The source files whose names begin with some letters."""
        self._read()
        return [name for name in self.sources if name.startswith(letters)]


def _sources(file: CodeObject) -> Iterator[str]:
    for unit in file.dwarf.index.units:
        try:
            if unit.name:
                yield unit.name.rpartition("/")[2]
        except DwarfGpuError as error:
            file.dwarf.note(error)


def _symbols(file: CodeObject) -> Iterator[tuple[str, str]]:
    """The symbols of a file without debugging information."""
    try:
        for symbol in file.symbol_image.symbols():
            if symbol.type in _SYMBOLS and symbol.name and symbol.is_defined:
                yield symbol.name, _SYMBOLS[symbol.type]
    except DwarfGpuError:  # the names that can be read are those that are offered
        return
