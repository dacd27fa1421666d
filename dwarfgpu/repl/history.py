"""The lines of earlier times, in a file: one a line, with a backslash before each line end within."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from prompt_toolkit.history import History

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.commands.settings import Settings


class LinesOfFile(History):
    """The history of the prompt. What cannot be written is kept for this time alone."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    @property
    def path(self) -> str:
        """The file."""
        chosen: str = self._settings["history filename"]
        if chosen:
            return os.path.expanduser(chosen)  # noqa: PTH111 (`pathlib` costs start-up time)
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
        return os.path.join(folder, "dwarfgpu", "history")  # noqa: PTH118

    def lines(self) -> list[str]:
        """What the file has, the newest first."""
        try:
            with open(self.path, encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
                text = file.read()
        except OSError:
            return []
        entries = text.replace("\\\n", "\0").splitlines()
        return [entry.replace("\0", "\n") for entry in reversed(entries[-self._settings["history size"] :])]

    def load_history_strings(self) -> Iterable[str]:
        return self.lines() if self._settings["history save"] else []

    def append_string(self, string: str) -> None:
        if string.strip() and (not self._loaded_strings or self._loaded_strings[0] != string):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        if self._settings["history save"]:
            self._write([string], "a")

    def trim(self) -> None:
        """Keep no more lines than the user wants."""
        size = self._settings["history size"]
        if not self._settings["history save"]:
            return
        try:
            with open(self.path, encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
                count = sum(not line.endswith("\\\n") for line in file)
        except OSError:
            return
        if count > size:
            self._write(reversed(self.lines()), "w")

    def _write(self, entries: Iterable[str], mode: str) -> None:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
            flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "a" else os.O_TRUNC)
            file = os.open(self.path, flags, 0o600)
            with open(file, mode, encoding="utf-8", errors="backslashreplace") as stream:  # noqa: PTH123
                stream.writelines(entry.replace("\n", "\\\n") + "\n" for entry in entries)
