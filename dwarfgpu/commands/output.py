"""Where commands write: lines of text, with styles where they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.render.layout import WIDTH, plain_style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.render.layout import Style


class Output:
    """Writes lines. ``width`` and ``height`` are those of the screen; without one there is no height."""

    def __init__(
        self,
        write: Callable[[str], object],
        style: Style = plain_style,
        *,
        width: int = WIDTH,
        height: int | None = None,
    ) -> None:
        self.write = write
        """Takes a text with its line ends."""
        self.style = style
        self.width = width
        self.height = height

    def line(self, text: str = "") -> None:
        """Write a line."""
        self.write(f"{text}\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Write some lines."""
        for text in texts:
            self.line(text)
