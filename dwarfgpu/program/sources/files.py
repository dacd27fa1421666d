"""The source files of a program, and where the code of their lines is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.files.codelookup import line_table, tidy
from dwarfgpu.program.sources.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.lines.table import LineTable
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.machines.loaded import LoadedCode
    from dwarfgpu.program.variables.state import State


class SourceFile:
    """A source file, as the line tables of some units know it."""

    def __init__(self, sources: SourceFiles, path: str, directory: str | None) -> None:
        self.sources = sources
        self.path = path
        """Its whole path, as far as the program tells it."""
        self.directory = directory
        """Where it was compiled."""
        self.parts: list[tuple[LoadedCode, Unit, LineTable, set[int]]] = []
        """The units that have code or declarations of it, with its numbers in the tables."""

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r})"

    @property
    def name(self) -> str:
        """What messages call it: its path as the compiler was given it, below the directory it worked in."""
        return short_name(self.path, self.unit)

    @property
    def unit(self) -> Unit | None:
        """The unit that it is the source of, or else one that includes it."""
        for _, unit, _, _ in self.parts:
            if unit.name is not None and os.path.basename(unit.name) == os.path.basename(self.path):  # noqa: PTH119
                return unit
        return self.parts[0][1] if self.parts else None

    def embedded(self) -> str | None:
        """Its text, where a line table has it (DW_LNCT_LLVM_source)."""
        for _, _, table, numbers in self.parts:
            for number in numbers:
                entry = table.file(number)
                if entry is not None and entry.source is not None:
                    return entry.source
        return None

    # --- Lines ----------------------------------------------------------------------------------------------------

    def starts(self, line: int) -> list[int]:
        """The addresses in the running program at which a statement of a line begins, the first of each unit."""
        found = set()
        for code, _, table, numbers in self.parts:
            start = self.sources.lines(table).first(line, numbers)
            if start is not None:
                found.add(code.in_program(start.address))
        return sorted(found)

    def next_line(self, line: int) -> int | None:
        """The first line from one on that has code."""
        found = (self.sources.lines(table).next_line(line, numbers) for _, _, table, numbers in self.parts)
        return min((each for each in found if each is not None), default=None)


def short_name(path: str, unit: Unit | None) -> str:
    """A path as the compiler was given it: below the directory of the unit, unless that was given a whole path."""
    if unit is None or not unit.directory or (unit.name or "").startswith("/"):
        return path
    return path.removeprefix(unit.directory.rstrip("/") + "/")


@frozen
class LineAt:
    """The line of an address: which addresses around it belong to it."""

    file: SourceFile
    line: int
    start: int
    end: int
    first: int
    """The first line that begins at the same address."""


class SourceFiles:
    """The source files of a program. What is asked for is found, and nothing else is read."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._files: dict[tuple[str, str | None], SourceFile] = {}
        self._of_unit: dict[Unit, list[SourceFile]] = {}
        self._lines: dict[LineTable, Lines] = {}

    def at(self, address: int) -> LineAt | None:
        """The line of an address of the running program."""
        code = self.state.loaded.at(address)
        if code is None or not code.file.has_dwarf:
            return None
        place = code.in_file(address)
        unit = code.file.dwarf.index.unit_at(place)
        table = None if unit is None else self._table(code, unit)
        if unit is None or table is None:
            return None
        found = self.lines(table).at(place)
        if found is None or not found.line:
            return None
        file = self._numbered(code, unit, table, found.file)
        if file is None:
            return None
        entered = self.lines(table).entered_at(found)
        first = entered.line if entered.file == found.file else found.line
        return LineAt(file, found.line, code.in_program(found.address), code.in_program(found.end), first)

    def lines(self, table: LineTable) -> Lines:
        """The lines of a table."""
        found = self._lines.get(table)
        if found is None:
            found = self._lines[table] = Lines(table)
        return found

    def with_path(self, path: str, unit: Unit | None = None) -> SourceFile | None:
        """The file with a whole path; the one that a unit knows, where it knows it."""
        if unit is not None:
            code = self.state.code_of(unit)
            found = next((each for each in self.of_unit(code, unit) if each.path == path), None)
            if found is not None:
                return found
        return next((each for each in self.all() if each.path == path), None)

    def named(self, name: str) -> list[SourceFile]:
        """The files with a path, or whose path ends in these components."""
        wanted = tidy(name)
        tail = "/" + wanted.lstrip("/")
        return [
            each
            for each in self.all()
            if each.path == wanted or (not wanted.startswith("/") and f"/{each.path}".endswith(tail))
        ]

    def all(self) -> Iterator[SourceFile]:
        """All files. The tables of all units are read, without their rows."""
        for code, unit in self.units():
            self.of_unit(code, unit)
        yield from list(self._files.values())

    def units(self) -> Iterator[tuple[LoadedCode, Unit]]:
        """All units of code."""
        for code in self.state.loaded.codes:
            if code.file.has_dwarf:
                for unit in code.file.dwarf.index.units:
                    yield code, unit

    def of_unit(self, code: LoadedCode, unit: Unit) -> list[SourceFile]:
        """The files of a unit, in the order of its line table."""
        known = self._of_unit.get(unit)
        if known is not None:
            return known
        found: list[SourceFile] = []
        self._of_unit[unit] = found
        table = self._table(code, unit)
        if table is None:
            return found
        for number, entry in enumerate(table.header.files, table.header.first_file):
            file = self._numbered(code, unit, table, number) if entry.name else None
            if file is not None and file not in found:
                found.append(file)
        return found

    def _numbered(self, code: LoadedCode, unit: Unit, table: LineTable, number: int) -> SourceFile | None:
        """The file with a number in the table of a unit."""
        directory = unit.directory
        path = table.path(number, directory or "")
        if path is None:
            return None
        key = tidy(path), directory
        file = self._files.get(key)
        if file is None:
            file = self._files[key] = SourceFile(self, *key)
        part = next((each for each in file.parts if each[2] is table), None)
        if part is None:
            part = (code, unit, table, set())
            file.parts.append(part)
        part[3].add(number)
        return file

    def _table(self, code: LoadedCode, unit: Unit) -> LineTable | None:
        try:
            return line_table(code.file, unit)
        except DwarfGpuError as error:
            code.file.dwarf.note(error)
            return None
