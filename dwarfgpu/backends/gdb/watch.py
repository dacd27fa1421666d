"""Changes of the processes of GDB: counters, which its events increment.

An event does nothing else, so that a program that stops ten thousand times costs little.
"""

from __future__ import annotations

from typing import Any

import gdb


class Watch:
    """The counters of events that make cached facts about a process outdated."""

    def __init__(self) -> None:
        self.changes = 0
        """Registers or memory were written."""
        self.files = 0
        """A file was loaded, or all were forgotten."""
        self._runs: dict[int, int] = {}
        self._everywhere = 0
        events = gdb.events
        for event in (events.cont, events.stop, events.exited):
            event.connect(self._moved)
        for event in (events.memory_changed, events.register_changed, events.inferior_call):
            event.connect(self._changed)
        for event in (events.new_objfile, events.clear_objfiles):
            event.connect(self._loaded)
        if hasattr(events, "free_objfile"):  # GDB 13
            events.free_objfile.connect(self._loaded)

    def runs(self, number: int) -> int:
        """Return how often the inferior with a number has begun to run or has stopped."""
        return self._everywhere + self._runs.get(number, 0)

    def _moved(self, event: Any) -> None:
        inferior = getattr(event, "inferior", None)
        thread = getattr(event, "inferior_thread", None)
        if thread is not None:
            inferior = thread.inferior
        if inferior is None:  # all threads, of the selected inferior or of every one
            if gdb.parameter("schedule-multiple"):
                self._everywhere += 1
                return
            inferior = gdb.selected_inferior()
        self._runs[inferior.num] = self._runs.get(inferior.num, 0) + 1

    def _changed(self, _event: Any) -> None:
        self.changes += 1

    def _loaded(self, _event: Any) -> None:
        self.files += 1


_watch: list[Watch] = []


def watch() -> Watch:
    """Return the only watch; the first call starts it."""
    if not _watch:
        _watch.append(Watch())
    return _watch[0]
