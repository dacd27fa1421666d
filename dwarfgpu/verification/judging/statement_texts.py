"""The text of statements of the source: the lines that a line belongs to, as far as the files can be found."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dwarfgpu.program.code.source_files import COMPILED, HERE, SourceReader

if TYPE_CHECKING:
    from dwarfgpu.program.running.running import Running

LONGEST_STATEMENT = 12
"""The lines of a statement, at most, that are searched for a name."""
_END = re.compile(r"[;{}:]\s*(//.*)?$")


class StatementTexts:
    """Finds the statements of a kernel's source: where the file says, beside the file, and in the folder above."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.missing: set[str] = set()
        """The source files whose text was not found."""
        self._reader = SourceReader()
        folder = os.path.dirname(running.launched.plan.file.image.path or "")  # noqa: PTH120
        self._reader.directories = (COMPILED, HERE, folder, os.path.join(folder, os.pardir))  # noqa: PTH118
        self._known: dict[tuple[str, int], str | None] = {}
        self._uses: dict[tuple[str, str, int], bool | None] = {}

    def of(self, file: str | None, line: int) -> str | None:
        """Return the lines of the statement that a line belongs to; None where the text is not known."""
        key = str(file), line
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def use_of(self, name: str, file: str, line: int) -> bool | None:
        """Return whether the statement of a line needs a variable, or assigns it; None if it does not name it.

        Without the text every statement counts as one that needs it.
        """
        key = name, file, line
        if key not in self._uses:
            text = self.of(file, line)
            self._uses[key] = True if text is None else _use_in(text, re.escape(name))
        return self._uses[key]

    def _find(self, name: str, line: int) -> str | None:
        files = [file for file in self.running.attached.state.sources.all() if name in (file.name, file.path)]
        text = self._reader.read(files[0]) if files else None
        if text is None or not text.lines:
            self.missing.add(name)
            return None
        first = last = line
        for _count in range(LONGEST_STATEMENT):
            before = text.line(first - 1)
            if before is None or _END.search(before):
                break
            first -= 1
        for _count in range(LONGEST_STATEMENT):
            here = text.line(last)
            if here is None or _END.search(here):
                break
            last += 1
        return "\n".join(text.lines[first - 1 : last])


def _use_in(text: str, word: str) -> bool | None:
    count = len(re.findall(rf"\b{word}\b", text))
    if not count:
        return None
    return count > 1 or not re.search(rf"(?<![.>])\b{word}\s*=(?!=)", text)
