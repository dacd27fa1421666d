"""GDB's screen: what commands write goes through its pager, as wide as it says and in its styles."""

from __future__ import annotations

import os
import sys

import gdb

from dwarfgpu.commands.output import Output
from dwarfgpu.render.layout import plain_style

UNLIMITED = 1 << 12
"""How wide a screen is that GDB calls unlimited."""
STYLES = {
    "name": "variable",
    "address": "address",
    "number": "variable",
    "kind": "function",
    "error": "highlight",
    "hint": "metadata",
    "dim": "metadata",
}
"""Which of GDB's styles (``set style``) each style of the library is shown in."""
_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_INTENSITIES = {"bold": "1", "dim": "2"}


def screen() -> Output:
    """Where commands write; `look` says how large it is now."""
    return Output(write)


def look(output: Output, *, is_typed: bool) -> None:
    """Let an output have GDB's settings. What was not typed may be read by a program, and is plain."""
    width, height = gdb.parameter("width"), gdb.parameter("height")
    output.width = int(width) if width else UNLIMITED
    output.height = int(height) if height else None
    output.style = styled if is_typed and _shows_styles() else plain_style


def write(text: str) -> None:
    """Write a text. What GDB's host has no characters for is written as an escape, not an error."""
    if not text.isascii():
        charset = getattr(gdb, "host_charset", lambda: "utf-8")()
        try:
            text = text.encode(charset, "backslashreplace").decode(charset)
        except LookupError:  # one that Python does not know
            text = text.encode("ascii", "backslashreplace").decode()
    gdb.write(text)


def _shows_styles() -> bool:
    terminal = sys.__stdout__
    return bool(
        gdb.parameter("style enabled")
        and terminal is not None
        and terminal.isatty()
        and os.environ.get("TERM", "dumb") != "dumb"
        and not os.environ.get("NO_COLOR")
    )


def styled(style: str, text: str) -> str:
    """A text as GDB shows what is of its kind."""
    codes = _codes(STYLES.get(style, "metadata"))
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def _codes(style: str) -> str:
    color, intensity = (gdb.parameter(f"style {style} {each}") for each in ("foreground", "intensity"))
    found = [str(30 + _COLORS.index(color))] if color in _COLORS else []
    return ";".join([*found, *filter(None, [_INTENSITIES.get(intensity)])])
