"""The log: what is written, in a file as well (``set logging on``)."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from dwarfgpu.commands.output import without_styles
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.commands.debugger import Debugger


class Log:
    """Copies the output of a debugger to a file while the setting says so."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._file: IO[str] | None = None
        self._write: Callable[[str], object] | None = None
        debugger.settings.watchers.append(self._changed)

    def _changed(self, name: str) -> None:
        if name != "logging enabled":
            return
        if not self._debugger.settings[name]:
            if self._file is not None:
                path = self._file.name
                self.close()
                self._debugger.output.line(f"Done logging to {path}.")
        elif self._file is None:
            try:
                self._open()
            except UsageError:
                self._debugger.settings.reset(name)
                raise

    def _open(self) -> None:
        settings, output = self._debugger.settings, self._debugger.output
        path = os.path.expanduser(settings["logging file"])  # noqa: PTH111 (`pathlib` costs start-up time)
        try:
            mode = "w" if settings["logging overwrite"] else "a"
            self._file = open(path, mode, encoding="utf-8", errors="backslashreplace")  # noqa: PTH123, SIM115 (it stays open)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", kind="unwritable") from None
        output.line(f"{'Redirecting' if settings['logging redirect'] else 'Copying'} output to {path}.")
        self._write = output.write
        output.write = self._copied

    def _copied(self, text: str) -> None:
        assert self._file is not None  # noqa: S101 (it is open as long as this is what writes)
        assert self._write is not None  # noqa: S101
        self._file.write(without_styles(text))
        if not self._debugger.settings["logging redirect"]:
            self._write(text)

    def close(self) -> None:
        """Write to the file no longer."""
        if self._file is None or self._write is None:
            return
        self._debugger.output.write = self._write
        self._file.close()
        self._file, self._write = None, None
