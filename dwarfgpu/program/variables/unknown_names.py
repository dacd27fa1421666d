"""What to say of a name that means nothing at a place: what it may have been meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.variables.scopes import scope_of_name

if TYPE_CHECKING:
    from dwarfgpu.program.source.syntax import Name
    from dwarfgpu.program.variables.frame import Frame

MANY, FEW = 10, 4
"""How many names, and how many that lead to the same thing, are shown."""


def hint_for(frame: Frame, node: Name) -> str | None:
    """What to do about a name that is not found."""
    code = frame.code
    if code is not None and not code.file.has_dwarf:
        return f"{code.file.name} has no debugging information"
    others = [each for each in _elsewhere(frame, node) if each != node.text]
    if others:
        return f"say which: {_listed(others, FEW)}"
    ranges = _in_other_blocks(frame, node)
    if ranges:
        return f"it is in scope at {_listed([f'{low:#x} to {high:#x}' for low, high in ranges], FEW)}"
    if frame.place is None:
        return "what a function declares needs a place: an address, or a machine that stands in it"
    known = [each.name for each in frame.variables() if not each.is_shadowed]
    return f"there are {_listed(known, MANY)}" if known else None


def _elsewhere(frame: Frame, node: Name) -> list[str]:
    """How what has the name can be called: with its scopes, or with its file."""
    names = frame.state.names
    if node.file is None:
        return names.candidates(node.parts[-1])
    return [f"{file}::{node.parts[-1]}" for file in names.files_of(node.parts[-1])]


def _in_other_blocks(frame: Frame, node: Name) -> list[tuple[int, int]]:
    """Where other blocks of the function have a variable with the name."""
    if frame.code is None or frame.function is None or len(node.parts) != 1:
        return []
    found = scope_of_name(frame.function, node.parts[0])
    return [(frame.code.in_program(low), frame.code.in_program(high)) for low, high in found]


def _listed(found: list[str], count: int) -> str:
    return ", ".join(found[:count]) + (", ..." if len(found) > count else "")
