"""Variables as a file declares them, wherever that is: what can be asked without a machine."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from dwarfgpu.dwarf_constants import DW_TAG_inlined_subroutine, DW_TAG_lexical_block, DW_TAG_subprogram
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.scopes import qualified_name, split_name
from dwarfgpu.program.expressions import findings as found_in
from dwarfgpu.program.expressions import of_frame
from dwarfgpu.program.source.syntax import Name
from dwarfgpu.program.variables import scopes
from dwarfgpu.program.variables.variable import STATIC, Variable, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.machines.loaded import LoadedCode
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.variable import Described

_FUNCTIONS = (DW_TAG_subprogram, DW_TAG_inlined_subroutine, DW_TAG_lexical_block)


@frozen
class Checked:
    """One location of a variable, and what is wrong with it."""

    variable: Variable
    place: Described
    findings: tuple[Finding, ...]


def variables_named(frame: Frame, name: str) -> list[Variable]:
    """The variable that a name means in a frame; if there is none, all of the program that are called so.

    ``fn::x`` means those of a function.
    """
    known = next((each for each in frame.variables() if each.name == name), None)
    if known is not None:
        return [known]
    parts = tuple(split_name(name))
    static = None
    with suppress(DwarfGpuError):  # of a function that no frame is of
        static = variable_called(frame, parts)
    return [static] if static is not None else list(_everywhere(frame, parts))


def variable_called(frame: Frame, parts: tuple[str, ...], file: str | None = None) -> Variable | None:
    """The variable that a name with its scopes means in a frame; None if it means none."""
    names = frame.state.names
    local = names.local(frame, parts[0]) if file is None and len(parts) == 1 else None
    found = names.outer(frame, parts, file) if local is None else local
    return found if isinstance(found, Variable) else None


def _everywhere(frame: Frame, parts: tuple[str, ...]) -> Iterator[Variable]:
    *owners, last = parts
    for code in frame.state.loaded.codes:
        if not code.file.has_dwarf:
            continue
        for unit in code.file.dwarf.index.units_with(last.encode()):
            for each in _of_unit(frame, code, unit):
                if each.name == last and (not owners or _is_in(each.die, owners)):
                    yield each


def all_variables(frame: Frame) -> Iterator[Variable]:
    """Every variable, parameter and constant of the program."""
    for code in frame.state.loaded.codes:
        if code.file.has_dwarf:
            for unit in code.file.dwarf.compile_units():
                yield from _of_unit(frame, code, unit)


def _of_unit(frame: Frame, code: LoadedCode, unit: Unit) -> Iterator[Variable]:
    try:
        for die, _depth in unit.root.walk():
            if die.tag in scopes.DECLARED and die.name:
                is_local = any(owner.tag in _FUNCTIONS for owner in die.ancestors())
                yield Variable(frame, die, code, kind_of(die) if is_local else STATIC)
    except DwarfGpuError as error:
        unit.dwarf.note(error)


def _is_in(die: Die, owners: list[str]) -> bool:
    wanted = "::".join(owners)
    for owner in die.ancestors():
        if owner.tag in (DW_TAG_subprogram, DW_TAG_inlined_subroutine):
            name = qualified_name(owner) or ""
            if name == wanted or split_name(name)[-1] == wanted:
                return True
    return False


def owner_of(variable: Variable) -> str | None:
    """The name of the function that a variable belongs to."""
    for owner in variable.die.ancestors():
        if owner.tag in (DW_TAG_subprogram, DW_TAG_inlined_subroutine):
            return qualified_name(owner)
    return None


def variables_in(frame: Frame, tree: Any) -> list[Variable]:
    """The variables that an expression names, each once."""
    found: dict[Die, Variable] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Name):
            try:
                variable = variable_called(frame, node.parts, node.file)
            except DwarfGpuError:
                variable = None
            if variable is not None:
                found.setdefault(variable.die, variable)
        elif isinstance(node, tuple):
            waiting += reversed(node)
        elif attrs.has(type(node)):
            waiting += [getattr(node, part.name) for part in reversed(attrs.fields(type(node)))]
    return list(found.values())


def checked(variable: Variable) -> list[Checked]:
    """What is wrong with the locations of a variable, without evaluating them."""
    setting = of_frame(variable.frame)
    return [
        Checked(
            variable,
            each,
            tuple(found_in(each.expression, setting, in_cfi=False, depth=0, want="location")),
        )
        for each in variable.locations()
        if each.expression is not None
    ]
