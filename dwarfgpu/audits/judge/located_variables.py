"""The variables with a location at places of frames, by the entries of their locations that are valid there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, noting
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.list_encoding import ListEntry, matching
from dwarfgpu.program.code.loaded import location_list
from dwarfgpu.program.frames.variable import STATIC, Variable

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.scopes import FunctionScope
    from dwarfgpu.program.frames.frame import Frame


Declaration: TypeAlias = "tuple[str, int]"
"""A variable by its name and the line that declares it: copies of an inlined function have the same."""


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
            int, tuple[FunctionScope, list[tuple[Die, tuple[ListEntry, ...] | None]], list[tuple[Die, Declaration]]]
        ] = {}
        """By identity of the scope, which is kept."""

    def in_scope(self, frame: Frame) -> list[tuple[Die, Declaration]]:
        """Return the variables of the scopes around the place of a frame whose value is no constant."""
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
            declared = [each for each in variables if not each.is_artificial and not each.is_constant()]
            places = [(each.die, (each.name, declared_line(each.die))) for each in declared]
            known = self._known[id(scope)] = scope, entries, places
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


def declared_line(die: Die) -> int:
    """Return the line that declares a variable; 0 if it is not known."""
    try:
        line = die.find_number(dw.DW_AT_decl_line)
        return 0 if line is None else line.unsigned()
    except DwarfGpuError:
        return 0


def names_in(function: Die) -> set[str]:
    """Return the names of the variables that a function declares, of those whose value is no constant."""
    names: set[str] = set()
    for die, _depth in function.walk():
        if die.tag in (dw.DW_TAG_variable, dw.DW_TAG_formal_parameter):
            with noting(die.unit.dwarf.note):
                is_constant = die.find_number(dw.DW_AT_location) is None and die.find_number(dw.DW_AT_const_value)
                artificial = die.find_number(dw.DW_AT_artificial)
                if die.name and not is_constant and not (artificial and artificial.value):
                    names.add(die.name)
    return names
