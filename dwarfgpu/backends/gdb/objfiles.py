"""The files of code that GDB has loaded, and where. GDB's Python does not say where; its maintenance command does."""

from __future__ import annotations

import re

import gdb

from dwarfgpu.backends.gdb.backend import LoadedFile

COMMAND = "maintenance info sections -all-objects CODE"
_FILE = re.compile(r"\S+ file: [`'](.*)', file type .*\.$")
_SECTION = re.compile(r"\s*\[\d+\]\s+0x([0-9a-f]+)->0x([0-9a-f]+) at 0x[0-9a-f]+: (\S+)(.*)$")


def object_files() -> list[LoadedFile]:
    """Those of the selected program, in GDB's order."""
    return listed(gdb.execute(COMMAND, to_string=True))


def listed(text: str) -> list[LoadedFile]:
    """What the command says. A file with the same sections at the same addresses has the debugging information."""
    found: dict[tuple[tuple[int, int, str], ...], list[tuple[str, bool]]] = {}
    name = ""
    sections: list[tuple[int, int, str]] = []
    has_contents = False

    def close() -> None:
        if sections:
            found.setdefault(tuple(sections), []).append((name, has_contents))

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
    return [_joined(key, files) for key, files in found.items()]


def _joined(sections: tuple[tuple[int, int, str], ...], files: list[tuple[str, bool]]) -> LoadedFile:
    names = [name for name, has_contents in files if has_contents] or [files[0][0]]
    others = [name for name, _ in files if name != names[0]]
    code = tuple((low, high) for low, high, _ in sections)
    start, _, section = sections[0]
    return LoadedFile(names[0], others[0] if others else None, code, section, start)
