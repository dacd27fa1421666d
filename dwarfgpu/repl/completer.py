"""Completion at the prompt: what `commands.completion` finds, and names that are read while the user types."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from dwarfgpu.commands.completion import complete
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.repl.runner import errors_are_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from dwarfgpu.commands.debugger import Debugger

SLICE, PAUSE = 0.01, 0.002
"""Seconds of reading, and of leaving the program to commands."""
LARGE = 1 << 26
"""With more bytes of debugging information than this, names are read only when somebody asks for them."""


class CommandCompleter(Completer):
    """Completes the line that the cursor is in."""

    def __init__(self, debugger: Debugger, busy: threading.RLock) -> None:
        self._debugger = debugger
        self._busy = busy

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        line = document.current_line_before_cursor
        try:
            with self._busy, errors_are_ours():
                start, found = complete(self._debugger, line)
        except DwarfGpuError:  # a defect, which is worth no more than that nothing is offered
            return
        for each in found:
            yield Completion(each.text, start - len(line), display_meta=each.meta)


class NameReader:
    """Reads the names of the program in a thread, whenever nothing else asks the program."""

    def __init__(self, debugger: Debugger, busy: threading.RLock) -> None:
        self._debugger = debugger
        self._busy = busy
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def start(self) -> None:
        """Begin, or go on with another program."""
        if not self._is_closed and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Read no more."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.join(1.0)

    def _read(self) -> None:
        try:
            with errors_are_ours():
                while not self._is_closed and self._goes_on():
                    time.sleep(PAUSE)
        except DwarfGpuError:  # whoever completes a line is going to meet it again
            return

    def _goes_on(self) -> bool:
        with self._busy:
            if self._debugger.program is None:
                return False
            names = self._debugger.known_names
            return names.size <= LARGE and not names.read(SLICE)
