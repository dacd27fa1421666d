"""The keys of the prompt that the editor does not have by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.key_binding import KeyBindings

from dwarfgpu.commands.scripts import is_open

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyPressEvent

    from dwarfgpu.repl.interrupts import Interrupts


def bindings(interrupts: Interrupts) -> KeyBindings:
    """Enter runs what is complete, and begins a further line of what is not. ^X a shows the full screen."""
    keys = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=editing & completion_is_selected)
    def _take_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("enter", filter=editing & ~completion_is_selected)
    def _run(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_open(buffer.text):
            buffer.cursor_position = len(buffer.text)
            buffer.newline(copy_margin=False)
        else:
            interrupts.forget()  # they were about an earlier command
            buffer.validate_and_handle()

    @keys.add("c-x", "a", filter=editing)
    @keys.add("c-x", "c-a", filter=editing)
    def _full_screen(event: KeyPressEvent) -> None:
        event.current_buffer.text = "tui"
        event.current_buffer.validate_and_handle()

    return keys
