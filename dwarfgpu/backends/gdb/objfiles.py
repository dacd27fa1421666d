"""The files of code that GDB has loaded, and where. GDB's Python does not say where; its maintenance command does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import gdb

from dwarfgpu.backends.gdb.backend import LoadedFile

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = "maintenance info sections -all-objects CODE"
_FILE = re.compile(r"\S+ file: [`'](.*)', file type .*\.$")
_SYMBOLS = re.compile(r"^Symbols from [\"`'](.*)[\"']\.$", re.MULTILINE)
_PROGRAM = re.compile(r"^Local exec file:\n\s+[`'](.*)', file type .*\.$", re.MULTILINE)
_SECTION = re.compile(r"\s*\[\d+\]\s+0x([0-9a-f]+)->0x([0-9a-f]+) at 0x[0-9a-f]+: (\S+)(.*)$")


def object_files() -> list[LoadedFile]:
    """Return the files of the selected program, in GDB's order."""
    return listed(gdb.execute(COMMAND, to_string=True), lambda: gdb.execute("info files", to_string=True))


def listed(text: str, files: Callable[[], str]) -> list[LoadedFile]:
    """Parse the output of the commands. A file with equal sections at equal addresses has the debugging information.

    Symbols that were read from such a file by itself (``symbol-file``) hide the program, which is then added.
    """
    by_sections: dict[tuple[tuple[int, int, str], ...], list[tuple[str, bool]]] = {}
    name = ""
    sections: list[tuple[int, int, str]] = []
    has_contents = False

    def close() -> None:
        if sections:
            by_sections.setdefault(tuple(sections), []).append((name, has_contents))

    for line in text.splitlines():
        head = _FILE.match(line)
        if head is not None:
            close()
            name, sections, has_contents = head[1], [], False
            continue
        row = _SECTION.match(line)
        if row is not None and int(row[1], 16) < int(row[2], 16):
            sections.append((int(row[1], 16), int(row[2], 16), row[3]))
            has_contents = has_contents or " HAS_CONTENTS" in row[4]
    close()
    return [_joined(key, names, files) for key, names in by_sections.items()]


def _joined(
    sections: tuple[tuple[int, int, str], ...], same: list[tuple[str, bool]], files: Callable[[], str]
) -> LoadedFile:
    names = [name for name, has_contents in same if has_contents]
    if not names:
        symbols, program = _SYMBOLS.search(files()), _PROGRAM.search(files())
        is_program = symbols is not None and program is not None and symbols[1] == same[0][0]
        names = [program[1] if program is not None and is_program else same[0][0]]
    others = [name for name, _ in same if name != names[0]]
    code = tuple((low, high) for low, high, _ in sections)
    start, _, section = sections[0]
    return LoadedFile(names[0], others[0] if others else None, code, section, start)
