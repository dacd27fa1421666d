"""The source files of a program, and where the code of their lines is."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import noting
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.scopes import covers
from dwarfgpu.objfile.line_table import DISCRIMINATOR, IS_STMT, FileEntry, LineMatrix, LineTable
from dwarfgpu.objfile.section_source import decode
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.regular_files import places_of

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode


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
            if unit.name is not None and os.path.basename(unit.name) == os.path.basename(self.path):
                return unit
        return self.parts[0][1] if self.parts else None

    def _entries(self) -> Iterator[FileEntry]:
        entries = (table.file(number) for _, _, table, numbers in self.parts for number in numbers)
        return (entry for entry in entries if entry is not None)

    @property
    def digest(self) -> bytes | None:
        """The MD5 of the file when it was compiled, where a line table has it."""
        return next((entry.md5 for entry in self._entries() if entry.md5 is not None), None)

    def embedded(self) -> str | None:
        """Return its text, where a line table has it (DW_LNCT_LLVM_source)."""
        return next((entry.source for entry in self._entries() if entry.source is not None), None)

    # --- Lines ----------------------------------------------------------------------------------------------------

    def starts(self, line: int, *, at_all: bool = False) -> list[int]:
        """Return the addresses in the running program where a line begins: the first of each block, as in GDB.

        A line of a template or of an inlined function begins in each instance and at each call. ``at_all`` gives each
        place where a statement begins: no row tells a copy in an unrolled loop from code that was moved.
        """
        blocks = self._starts(line).values()
        return sorted(set().union(*blocks) if at_all else map(min, blocks))

    def _starts(self, line: int) -> dict[object, set[int]]:
        """Return where statements of a line begin, by their innermost block or, outside of functions, their unit."""
        found: dict[object, set[int]] = {}
        for code, unit, table, numbers in self.parts:
            for start in self.sources.lines(table).of(line, numbers):
                address = code.in_program(start.address)
                functions = code.functions_at(address)
                block = functions[0].blocks[0] if functions else unit
                found.setdefault((code, block), set()).add(address)
        return found

    def next_line(self, line: int) -> int | None:
        """Return the first line with code, from the given one on."""
        numbered = (self.sources.lines(table).next_line(line, numbers) for _, _, table, numbers in self.parts)
        return min((number for number in numbered if number is not None), default=None)


def short_name(path: str, unit: Unit | None) -> str:
    """Return a path as the compiler was given it: below the directory of the unit, unless that was given in full."""
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

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self._files: dict[tuple[str, str | None], SourceFile] = {}
        self._of_unit: dict[Unit, list[SourceFile]] = {}
        self._lines: dict[LineTable, Lines] = {}
        self._prologues: dict[int, range] = {}
        """By the address at which each begins."""
        self._declarations: dict[Die, int | None] = {}

    def at(self, address: int) -> LineAt | None:
        """Return the line of an address of the running program."""
        code = self.loaded.at(address)
        if code is None or not code.file.has_dwarf:
            return None
        place = code.in_file(address)
        unit = code.file.dwarf.index.unit_at(place)
        table = None if unit is None else self._table(code, unit)
        if unit is None or table is None:
            return None
        start = self.lines(table).at(place)
        if start is None or not start.line:
            return None
        file = self._numbered(code, unit, table, start.file)
        if file is None:
            return None
        entered = self.lines(table).entered_at(start)
        first = entered.line if entered.file == start.file else start.line
        return LineAt(file, start.line, code.in_program(start.address), code.in_program(start.end), first)

    def prologue(self, address: int) -> range | None:
        """Return where the function at an address has its prologue, which ends where its second line begins, as in GDB.

        The addresses are those of the stretch of the function that has the address; None without a function.
        """
        code = self.loaded.at(address)
        die = None if code is None or not code.file.has_dwarf else code.function_at(address)
        if code is None or die is None:
            return None
        place = code.in_file(address)
        span = next(((low, high) for low, high in die.ranges() if low <= place < high), None)
        if span is None:
            return None
        entry = code.in_program(span[0])
        if entry not in self._prologues:
            first, end = self.at(entry), entry
            second = None if first is None else self.at(first.end) or self._behind_again(first, code, die)
            if first is not None and second is not None and second.file is first.file:
                is_inside = any(low <= code.in_file(second.start) < high for low, high in die.ranges())
                end = second.start if is_inside else entry
            self._prologues[entry] = range(entry, end)
        return self._prologues[entry]

    def _behind_again(self, first: LineAt, code: LoadedCode, die: Die) -> LineAt | None:
        """Return the line behind the first one where code without a line parts that in two; None where it does not.

        Triton's kernels begin so: the line of `def`, 256 bytes that hardware skips, and that line again.
        """
        ranges, table = die.ranges(), self._table(code, die.unit)
        starts = () if table is None else self.lines(table).starts
        rows = [row for row in starts if covers(ranges, row.address) and code.in_program(row.address) >= first.end]
        is_again = [row.line for row in rows[:2]] == [0, first.line]
        return self.at(code.in_program(rows[2].address)) if is_again and len(rows) > 2 else None

    def end_of_declaration(self, code: LoadedCode, variable: Die) -> int | None:
        """Return where in the file the code of a declaration ends, within the block of the variable.

        The scope of a variable begins behind its declaration (C11, 6.2.1 (7)), but the block that describes it begins
        earlier, when its memory has whatever was there before.
        """
        if variable not in self._declarations:
            self._declarations[variable] = self._end_of_declaration(code, variable)
        return self._declarations[variable]

    def _end_of_declaration(self, code: LoadedCode, variable: Die) -> int | None:
        number, line = variable.find_number(dw.DW_AT_decl_file), variable.find_number(dw.DW_AT_decl_line)
        table = None if number is None else self._table(code, number.die.unit)
        if number is None or line is None or table is None:
            return None
        file = self._numbered(code, number.die.unit, table, number.unsigned())
        files = next((numbers for _, _, its, numbers in file.parts if its is table), set[int]()) if file else set[int]()
        block = next(variable.ancestors())
        ranges = block.ranges()
        inside = [start for start in self.lines(table).starts if start.file in files and covers(ranges, start.address)]
        if block.tag == dw.DW_TAG_subprogram and inside:
            prologue = self.prologue(code.in_program(inside[0].address)) or ()
            inside = [start for start in inside if code.in_program(start.address) not in prologue]
        declared = line.unsigned()
        own = [start for start in inside if start.line == declared]
        later = [start.address for start in inside if start.line > declared]
        if not own:  # nothing sets it there
            return min(later, default=None)
        # another statement of the line is the condition of a loop
        behind = (
            start.address
            for start in inside
            if start.address > own[0].address and (start.line not in (0, declared) or start.is_statement)
        )
        return next(behind, max(own[-1].address, own[0].address + 1))

    def lines(self, table: LineTable) -> Lines:
        """Return the lines of a table."""
        if table not in self._lines:
            self._lines[table] = Lines(table)
        return self._lines[table]

    def with_path(self, path: str, unit: Unit | None = None) -> SourceFile | None:
        """Return the file with a full path, preferably that of a unit."""
        if unit is not None:
            code = self.loaded.code_of(unit)
            file = next((candidate for candidate in self.of_unit(code, unit) if candidate.path == path), None)
            if file is not None:
                return file
        return next((candidate for candidate in self.all() if candidate.path == path), None)

    def named(self, name: str) -> list[SourceFile]:
        """Return the files with a path, or whose path ends in these components."""
        wanted = tidy(name)
        tail = "/" + wanted.lstrip("/")
        return [
            file
            for file in self.all()
            if file.path == wanted or (not wanted.startswith("/") and f"/{file.path}".endswith(tail))
        ]

    def all(self) -> Iterator[SourceFile]:
        """Yield all files. The tables of all units are read, without their rows."""
        for code, unit in self.units():
            self.of_unit(code, unit)
        yield from list(self._files.values())

    def units(self) -> Iterator[tuple[LoadedCode, Unit]]:
        """Yield all units of code."""
        return ((code, unit) for code in self.loaded.described() for unit in code.file.dwarf.index.units)

    def of_unit(self, code: LoadedCode, unit: Unit) -> list[SourceFile]:
        """Return the files of a unit, in the order of its line table."""
        if unit in self._of_unit:
            return self._of_unit[unit]
        files = self._of_unit[unit] = list[SourceFile]()
        table = self._table(code, unit)
        if table is None:
            return files
        for number, entry in enumerate(table.header.files, table.header.first_file):
            file = self._numbered(code, unit, table, number) if entry.name else None
            if file is not None and file not in files:
                files.append(file)
        return files

    def _numbered(self, code: LoadedCode, unit: Unit, table: LineTable, number: int) -> SourceFile | None:
        directory = unit.directory
        path = table.path(number, directory or "")
        if path is None:
            return None
        key = tidy(path), directory
        file = self._files.get(key)
        if file is None:
            file = self._files[key] = SourceFile(self, *key)
        part = next((candidate for candidate in file.parts if candidate[2] is table), None)
        if part is None:
            part = (code, unit, table, set())
            file.parts.append(part)
        part[3].add(number)
        return file

    def _table(self, code: LoadedCode, unit: Unit) -> LineTable | None:
        with noting(code.file.dwarf.note):
            return line_table(code.file, unit)
        return None


# --- The text of source files -------------------------------------------------------------------------------------

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
    digest: bytes | None = None
    """The MD5 of the file that was read; None for one that the program embeds."""
    missing: str | None = None
    """Why there are no lines: ``No such file or directory``."""

    def line(self, number: int) -> str | None:
        """Return a line, counted from 1; None where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


class SourceTexts:
    """Reads each source file once, until the directories to search change."""

    def __init__(self) -> None:
        self.directories: tuple[str, ...] = (COMPILED, HERE)
        """Where files are looked for that are not where the program says."""
        self.moved: dict[str, str] = {}
        """The beginnings of paths in the program, with what they are here."""
        self.folders: tuple[str, ...] | None = None
        """The folders whose files are read; None: all."""
        self._known: dict[tuple[str, str | None], SourceText] = {}

    def for_page(self, *programs: str) -> SourceTexts:
        """Return what reads the sources for a page about programs, which its user may pass on.

        A line table can name any file of that user, and the directory of a unit any folder. The page may have files
        below the folders of the programs and below the other directories, but none that are hidden.
        """
        page = SourceTexts()
        page.directories, page.moved = self.directories, self.moved
        folders = [os.path.dirname(os.path.realpath(name.partition("@")[0])) for name in programs]
        folders += ["." if each == HERE else each for each in self.directories if each != COMPILED]
        folders += self.moved.values()
        page.folders = tuple(os.path.realpath(os.path.expanduser(each)) for each in folders)
        return page

    def forget(self) -> None:
        """Read all files again when they are asked for."""
        self._known.clear()

    def read(self, file: SourceFile) -> SourceText:
        """Return the text of a file; if it cannot be found, the result says why."""
        key = file.path, file.directory
        text = self._known.get(key)
        if text is None:
            if len(self._known) >= MAX_FILES:
                self._known.clear()
            text = self._known[key] = self._read(file)
        return text

    def _read(self, file: SourceFile) -> SourceText:
        embedded = file.embedded()
        if embedded is not None:
            return SourceText(_lines(embedded))
        reason = "No such file or directory."
        for path in dict.fromkeys(self._places(file)):
            try:
                if "\0" in path or not os.path.exists(path):
                    continue
                if self.folders is not None and not any(_is_below(path, folder) for folder in self.folders):
                    reason = "It is not below the folder of the program, or a folder of `directories`."
                    continue
                if not os.path.isfile(path):  # a device or a pipe could be read for ever
                    reason = "It is not a file."
                elif os.path.getsize(path) > MAX_SIZE:
                    reason = f"It has more than {MAX_SIZE} bytes."
                else:
                    with open(path, "rb") as text:
                        content = text.read(MAX_SIZE)
                    return SourceText(_lines(decode(content)), path, md5_of(content))
            except OSError as error:
                reason = f"{error.strerror}."
        return SourceText(missing=reason)

    def _places(self, file: SourceFile) -> Iterator[str]:
        """Yield where a file may be, the likeliest place first."""
        whole = file.path
        yield self._here(whole)
        inside = whole.lstrip("/")
        if file.directory:  # the part of the path that compilers were given
            folder = file.directory.rstrip("/") + "/"
            inside = whole.removeprefix(folder).lstrip("/")
        for directory in self.directories:
            folder = {COMPILED: self._here(file.directory or ""), HERE: "."}.get(directory, directory)
            folder = os.path.expanduser(folder)
            for name in (inside, os.path.basename(whole)):
                yield os.path.join(folder, name)

    def _here(self, path: str) -> str:
        """Return a path of the program on this computer: its longest beginning that was moved is replaced."""
        return next(places_of(path, self.moved))


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it, and no part of it below that is hidden."""
    path, folder = os.path.realpath(path), folder.rstrip("/")
    return f"{path}/".startswith(f"{folder}/") and "/." not in path[len(folder) :]


def md5_of(content: bytes) -> bytes | None:
    """Return the MD5 of a file, which line tables have (DWARF 5, 6.2.4.1 (5)); None where Python offers none."""
    import hashlib

    try:
        return hashlib.md5(content, usedforsecurity=False).digest()
    except ValueError:
        return None


def _lines(text: str) -> tuple[str, ...]:
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(lines[:-1] if not lines[-1] else lines)


# --- Facts about a source file ------------------------------------------------------------------------------------

_PLAIN = {"C_plus_plus": "c++", "ObjC": "objective-c", "ObjC_plus_plus": "objective-c++", "OpenCL_C": "opencl"}
_CALLED = {"Assembly": "asm", "Mips_Assembler": "asm", "LLVM_HIP": "hip", "CPP_for_OpenCL": "c++ for opencl"}


@frozen
class SourceFacts:
    """A source file and the unit that it is the source of."""

    file: SourceFile
    directory: str | None
    language: str | None
    producer: str | None
    version: int
    has_macros: bool
    is_embedded: bool
    """Whether the line table has its text."""


def facts_of(file: SourceFile) -> SourceFacts | None:
    """Return what is known about a file; None for a file that no unit has."""
    unit = file.unit
    if unit is None:
        return None
    return SourceFacts(
        file,
        file.directory,
        language_of(unit),
        unit.producer,
        unit.version,
        unit.root_value(dw.DW_AT_macros, dw.DW_AT_macro_info, dw.DW_AT_GNU_macros) is not None,
        file.embedded() is not None,
    )


def language_of(unit: Unit) -> str | None:
    """Return the language of a unit as GDB calls it: without the year of its standard."""
    number, kind = unit.root_number(dw.DW_AT_language), "DW_LANG"
    if number is None:
        number, kind = unit.root_number(dw.DW_AT_language_name), "DW_LNAME"
    name = None if number is None else dw.names(kind).get(number)
    if name is None:
        return None
    name = name.removeprefix("DW_LANG_").removeprefix("DW_LNAME_")
    if name in _CALLED:
        return _CALLED[name]
    plain = name.rstrip("0123456789").rstrip("_")
    return _PLAIN.get(plain, plain.lower())


# --- Lines of a table ---------------------------------------------------------------------------------------------
# A table has more rows than that: for columns, for basic blocks, for what is no beginning of a statement.
# The rules here are those of GDB, so that both say the same of an address; but for code that belongs to no
# line (6.2.2), which GDB counts among that of the line before it. Rows for one line that discriminators tell
# apart are one.


@immutable
class LineStart:
    """Where the code of a line begins, or goes on after that of another one."""

    address: int
    end: int
    """Where the next one begins."""
    file: int
    line: int
    """0 for code that belongs to no line (DWARF 5, 6.2.2)."""
    is_statement: bool


class Lines:
    """The lines of one table, by address."""

    def __init__(self, table: LineTable) -> None:
        live = {low for low, _ in table.ranges()}
        starts: list[LineStart] = []
        for sequence in table.rows.sequences:
            if table.rows.addresses[sequence.first] in live:
                starts += _starts(table.rows, sequence.first, sequence.stop - 1)
        starts.sort(key=lambda start: start.address)
        self.starts: tuple[LineStart, ...] = tuple(starts)
        self._addresses = [start.address for start in starts]

    def at(self, address: int) -> LineStart | None:
        """Return the line of an address: of several that begin there the last, preferring statements."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        line = self.starts[index]
        first = bisect_left(self._addresses, line.address)
        if not line.is_statement:
            line = next((earlier for earlier in reversed(self.starts[first:index]) if earlier.is_statement), line)
        return line if address < line.end else None

    def entered_at(self, start: LineStart) -> LineStart:
        """Return the first line at the same address: the brace before the first statement of a function."""
        return self.starts[bisect_left(self._addresses, start.address)]

    def of(self, line: int, files: Collection[int]) -> Iterator[LineStart]:
        """Yield where statements of a line begin."""
        return (start for start in self.starts if start.line == line and start.is_statement and start.file in files)

    def next_line(self, line: int, files: Collection[int]) -> int | None:
        """Return the first line with a statement, from the given one on."""
        lines = (
            start.line for start in self.starts if start.line >= line and start.is_statement and start.file in files
        )
        return min(lines, default=None)


def _starts(rows: LineMatrix, first: int, last: int) -> Iterator[LineStart]:
    """Yield the rows of a sequence that begin a line; the last row only ends it."""
    addresses, lines = rows.addresses, rows.lines
    kept: list[tuple[int, int, int, bool]] = []
    file_before = line_before = address_before = kept_line = -1
    is_told_apart = has_statement = False
    for index in range(first, last):
        address, line, file, mark = addresses[index], lines[index], rows.places[index] >> 32, rows.marks[index]
        is_statement = bool(mark & IS_STMT)
        is_told_apart = bool(mark >> DISCRIMINATOR) or (line_before == line and is_told_apart)
        is_same_file, at_same_address = file_before == file, address_before == address
        has_statement = has_statement and at_same_address
        is_shadowed = not is_same_file and at_same_address and not is_statement and has_statement
        goes_on = is_same_file and kept_line == line and is_told_apart
        if not is_shadowed and not goes_on:
            kept.append((address, file, line, is_statement))
            kept_line = line
        has_statement = has_statement or is_statement
        file_before, line_before, address_before = file, line, address
    ends = sorted({row[0] for row in kept} | {addresses[last]})
    following = dict(zip(ends, [*ends[1:], ends[-1]], strict=True))
    for address, file, line, is_statement in kept:
        yield LineStart(address, following[address], file, line, is_statement)
