"""Lines of the source as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.program.sources.places import Place


def numbered_line(number: int, line: str, mark: str = "") -> str:
    """A line behind its number, as GDB writes it; a mark stands between them."""
    return f"{number}{mark}\t{line}"


def place_words(place: Place) -> str:
    """Where a place is, as it stands before its lines: ``0x401152 is in add (prog.c:20)``."""
    file = "??" if place.file is None else shown(place.file.name)
    function = shown(place.function or "??")
    if place.is_address and place.address is not None:
        return f"{place.address:#x} is in {function} ({file}:{place.line})."
    return f'file: "{file}", line number: {place.line}, symbol: "{function}"'
