"""Inputs: the code and states that words name: files, folders, patterns, lists of pairs and URLs."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import unquote

from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.fleet.remote_files import FOLDER, MANIFEST, expanded, is_url, mirror_of_run
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.regular_files import read_input

LISTS = (".csv", ".tsv", ".txt", ".list")
"""The suffixes of lists."""
CODE, STATE = "code", "state"
HERE = "file://"
"""The beginning of a URL of this machine."""


@frozen
class Input:
    """A file of code, a state, or both, for one question."""

    name: str
    """Its name in answers: the state, or without a state the code."""
    code: str | None = None
    """The file of code; without states, any file that a word named."""
    states: tuple[str, ...] = ()
    """The state: a snapshot, or the core files of one crash."""
    size: int = 0
    """The known bytes of its files."""
    problem: DwarfGpuError | None = None
    """The error of files that cannot be found."""


def find_inputs(words: Iterable[str], code: str | None = None) -> list[Input]:
    """Return the inputs that words name, each once, in the order of the words; ``code`` is the code of all states."""
    inputs: dict[str, Input] = {}
    for word in words:
        for item in _of_word(word, None if code is None else _absolute(code)):
            known = inputs.setdefault(item.name, item)
            if known != item:  # the same state with other code
                inputs.setdefault(f"{item.code} {item.name}", evolve(item, name=f"{item.code} {item.name}"))
    if not inputs:
        raise UsageError("there are no inputs", hint="name files, folders, patterns, lists of pairs or URLs")
    return list(inputs.values())


def _of_word(word: str, code: str | None) -> Iterator[Input]:
    if word.startswith(HERE) and "#" not in word:  # a range names code inside a file
        word = unquote(word.removeprefix(HERE))
    if is_url(word):
        try:
            found = list(expanded(word))
        except MalformedFile as error:
            yield evolve(_alone(word, code, 0), problem=error)
            return
        for name, size in found:
            yield _alone(name, code, size)
        return
    if os.path.exists(word):  # a name may have the characters of a pattern
        yield from _of_path(word, code)
        return
    if has_magic(word):
        paths = sorted(glob(word, recursive=True))
        if not paths:
            raise UsageError(f"{word}: no file matches the pattern", kind="no_file")
        for path in paths:
            yield from _of_path(path, code)
        return
    yield _alone(word, code, 0)  # opening it gives the error


def _of_path(path: str, code: str | None) -> Iterator[Input]:
    if not os.path.isdir(path):
        if path.endswith(LISTS):
            yield from _of_list(path)
        else:
            yield _alone(path, code, _size(path))
    elif is_snapshot_folder(path):
        yield _alone(path, code, _size(path))
    else:
        for name in sorted(_walk(path)):
            yield _alone(name, code, _size(name))


def _walk(folder: str) -> Iterator[str]:
    """Yield the files below a folder; a snapshot that is a folder is one of them."""
    for place, folders, files in os.walk(folder):
        for name in [name for name in folders if is_snapshot_folder(f"{place}/{name}")]:
            folders.remove(name)
            yield f"{place}/{name}"
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (f"{place}/{name}" for name in files if not name.startswith("."))


def is_snapshot_folder(path: str) -> bool:
    """Return whether a folder is a snapshot."""
    return path.rstrip("/").endswith(FOLDER) or os.path.isfile(f"{path}/{MANIFEST}")


def _size(path: str) -> int:
    """Return the bytes of a file, or of the files in a folder; 0 if not known."""
    try:
        if os.path.isdir(path):
            return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
        return os.path.getsize(path)
    except OSError:
        return 0


def _alone(name: str, code: str | None, size: int) -> Input:
    place = _absolute(name)
    return Input(name, place, (), size) if code is None else Input(name, code, (place,), size)


def _absolute(name: str) -> str:
    """Return the absolute name of a file, which a worker in another folder can open."""
    return name if "://" in name else os.path.abspath(name)


# --- Lists ------------------------------------------------------------------------------------------------------------


def _of_list(path: str) -> Iterator[Input]:
    """Yield the inputs of a list: code, state and further core files on each line, with paths relative to the list."""
    try:
        lines = read_input(path).decode().splitlines()
    except UnicodeDecodeError as error:
        raise MalformedFile("unreadable", f"{path}: it is not UTF-8 text ({error.reason})") from None
    if path.endswith((".csv", ".tsv")):
        rows: Iterable[Sequence[str]] = csv.reader(lines, delimiter="\t" if path.endswith(".tsv") else ",")
    else:
        rows = (line.split(",") if "," in line else line.split() for line in lines)
    columns: list[str] | None = None
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if columns is None:
            columns = [cell.lower() for cell in cells] if {CODE, STATE} & {cell.lower() for cell in cells} else []
            if columns:
                continue
        yield _of_cells(cells, columns, os.path.dirname(path))


def _of_cells(cells: list[str], columns: list[str], folder: str) -> Input:
    if columns:
        named = list(zip(columns, cells, strict=False))
        code = next((cell for column, cell in named if column == CODE and cell), None)
        states = [cell for column, cell in named if column == STATE and cell]
    elif len(cells) == 1:
        code, states = cells[0], []
    else:
        code, states = cells[0] or None, [cell for cell in cells[1:] if cell]
    code = None if code is None else _beside(folder, code)
    names = tuple(_beside(folder, name) for name in states)
    if code is None and len(names) == 1:
        return _alone(names[0], None, _size(names[0]))
    size = sum(_size(name) for name in names or (code or "",))
    name = " ".join(names) or code or ""
    return Input(name, None if code is None else _absolute(code), tuple(map(_absolute, names)), size)


def _beside(folder: str, name: str) -> str:
    return name if is_url(name) else os.path.join(folder, name)


@contextmanager
def fetched(item: Input) -> Iterator[Input]:
    """Give an input whose files are copied when they are opened, while the block runs, with those that they name."""
    names = [name for name in (item.code, *item.states) if name is not None]
    if not any(map(is_url, names)):
        yield item
        return
    mirror = mirror_of_run()
    states: list[str] = []

    def here(name: str, *, is_state: bool = True) -> str:
        if not is_url(name):
            return name
        url, part = _without_part(name)
        path = mirror.local(url)
        states.extend([path] * is_state)
        if url.rstrip("/").endswith(FOLDER):
            Path(path).mkdir(parents=True, exist_ok=True)
        else:
            mirror.bring(path, url)
        return path + part

    try:
        try:
            code = None if item.code is None else here(item.code, is_state=not item.states)
            local = evolve(item, code=code, states=tuple(here(name) for name in item.states))
        except DwarfGpuError as error:
            local = evolve(item, problem=error)
        yield local
    finally:
        mirror.end(states)


def _without_part(url: str) -> tuple[str, str]:
    """Return a URL, and which image in its file is meant: ``@gfx90a``."""
    folder, slash, name = url.rpartition("/")
    base, mark, part = name.partition("@")
    return f"{folder}{slash}{base}", mark + part
