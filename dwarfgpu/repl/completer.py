"""Completion at the prompt: what `commands.completion` finds, as the editor takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from dwarfgpu.commands.completion import complete
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.repl.runner import errors_are_ours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import RLock

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from dwarfgpu.commands.debugger import Debugger


class CommandCompleter(Completer):
    """Completes the line that the cursor is in."""

    def __init__(self, debugger: Debugger, busy: RLock) -> None:
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
