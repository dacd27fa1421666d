"""The variables with a location at places of frames, by the entries of their locations that are valid there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.lists.list_encoding import ListEntry, matching
from dwarfgpu.program.code.loaded import location_list
from dwarfgpu.program.frames.variable import STATIC

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.scopes import FunctionScope
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable


@frozen
class LocatedVariable:
    """A variable by the entries of its location that are valid somewhere."""

    die: Die
    entries: tuple[int, ...]
    """The offsets of the entries in their section, or the address where they are not known."""


class LocatedVariables:
    """The variables with a location at places of frames; the scopes and the lists are read once for many places."""

    def __init__(self) -> None:
        self._known: dict[
            int, tuple[FunctionScope, list[tuple[Die, tuple[ListEntry, ...] | None]], list[tuple[Die, str]]]
        ] = {}
        """By identity of the scope, which is kept."""

    def in_scope(self, frame: Frame) -> list[tuple[Die, str]]:
        """Return the variables of the scopes around the place of a frame whose value is no constant, with names."""
        scope = frame.scope
        known = None if scope is None else self._known.get(id(scope))
        return [] if known is None else known[2]

    def at(self, frame: Frame) -> list[LocatedVariable]:
        """Return the variables with a location at the place of a frame, in its order."""
        scope = frame.scope
        if scope is None:
            return []
        known = self._known.get(id(scope))
        if known is None:
            variables = [variable for variable in frame.variables() if variable.kind != STATIC]
            entries = [(variable.die, entries_of(variable)) for variable in variables]
            names = [(each.die, each.name) for each in variables if not each.is_artificial and not each.is_constant()]
            known = self._known[id(scope)] = scope, entries, names
        place = frame.place_in_file
        located = []
        for die, of_die in known[1]:
            if of_die is None:
                located.append(LocatedVariable(die, (place,)))
            elif valid := matching(of_die, place):
                located.append(LocatedVariable(die, tuple(entry.offset for entry in valid)))
        return located


def entries_of(variable: Variable) -> tuple[ListEntry, ...] | None:
    """Return the entries of the location of a variable, one for a location without a list; None if it is broken."""
    try:
        location = variable.definition.find_number(dw.DW_AT_location)
        if location is not None and location.value_class == "loclist":
            return location_list(location).entries
        return (ListEntry(0, 1 << 64, 0),) if location is not None or variable.locations() else ()
    except DwarfGpuError:
        return None
