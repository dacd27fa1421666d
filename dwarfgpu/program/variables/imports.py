"""Names that a scope takes from elsewhere: using directives and declarations, and other names of namespaces.

An imported declaration makes one entry visible, by another name where it has one of its own; an imported module makes
everything visible that a namespace, or a module of Fortran, has (DWARF 5, 3.2.3 to 3.2.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_AT_import,
    DW_TAG_imported_declaration,
    DW_TAG_imported_module,
    DW_TAG_module,
    DW_TAG_namespace,
)
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.scopes import qualified_name, scopes_of, split_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit

MAX_SCOPES = 64
MAX_LOOKUPS = 256
"""A name is looked for in no more scopes than this: directives may lead to each other."""

Path: TypeAlias = "tuple[str, ...]"
"""The parts of a name from the outermost scope on."""


@frozen
class Imported:
    """What one scope takes from elsewhere."""

    declarations: dict[str, list[Path]]
    """What a name means."""
    directives: list[Path]
    """Namespaces whose names are visible."""

    def __bool__(self) -> bool:
        return bool(self.declarations or self.directives)


NOTHING = Imported({}, [])


class Imports:
    """What the scopes of units import, found once for each unit."""

    def __init__(self) -> None:
        self._units: dict[Unit, dict[Path, Imported]] = {}

    def of_unit(self, unit: Unit) -> dict[Path, Imported]:
        """What the namespaces of a unit import, by their names; ``()`` is the outermost scope."""
        found = self._units.get(unit)
        if found is None:
            found = self._units[unit] = {}
            if _may_import(unit):
                try:
                    _collect(unit.root, (), found)
                except DwarfGpuError as error:
                    unit.dwarf.note(error)
        return found

    def paths(self, unit: Unit | None, blocks: Iterable[Die], around: Path, parts: Path) -> Iterator[Path]:
        """What a name can mean in a function, nearest first: qualified names, of which some may name nothing.

        ``blocks`` are the blocks around the place, innermost first, and ``around`` the scopes of the function. What a
        directive makes visible counts as if it were in the nearest namespace around both it and the one that it names
        (C++, [namespace.udir]).
        """
        known = {} if unit is None else self.of_unit(unit)
        directives: list[tuple[int, Path]] = []
        if unit is not None and _may_import(unit):
            for block in blocks:
                local = _of_block(block)
                for target in local.declarations.get(parts[0], ()):
                    yield from self._behind(known, target, parts[1:])
                directives += [(_shared(around, target), target) for target in local.directives]
        for count in range(len(around), -1, -1):
            scope = around[:count]
            directives += [
                (_shared(scope, target), target) for target in known.get(scope, NOTHING).directives
            ]
        for count in range(len(around), -1, -1):
            seen: set[Path] = set()
            yield from self._within(known, around[:count], parts, seen, directs=False)
            for level, target in directives:
                if level == count:
                    yield from self._within(known, target, parts, seen)

    def _within(
        self, known: dict[Path, Imported], scope: Path, parts: Path, seen: set[Path], *, directs: bool = True
    ) -> Iterator[Path]:
        """What a name means in a scope: its own, what it declares, and then what its directives lead to."""
        if scope in seen or len(seen) > MAX_LOOKUPS:
            return
        seen.add(scope)
        imported = known.get(scope, NOTHING)
        if len(parts) > 1:
            yield from self._behind(known, (*scope, parts[0]), parts[1:])
        else:
            yield (*scope, *parts)
        for target in imported.declarations.get(parts[0], ()):
            yield from self._behind(known, target, parts[1:])
        if directs:
            for target in imported.directives:
                yield from self._within(known, target, parts, seen)

    def _behind(self, known: dict[Path, Imported], target: Path, rest: Path) -> Iterator[Path]:
        """What the rest of a name means behind the scope that its beginning names."""
        if rest:
            yield from self._within(known, target, rest, set())
        else:
            yield target


def _may_import(unit: Unit) -> bool:
    """Whether a unit has such entries at all: most have not."""
    return any(each.tag in (DW_TAG_imported_declaration, DW_TAG_imported_module) for each in unit.table.all())


def _shared(one: Path, other: Path) -> int:
    """How many scopes two names have in common."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _collect(owner: Die, scope: Path, found: dict[Path, Imported]) -> None:
    own = found.setdefault(scope, Imported({}, []))
    for die in owner.children():
        if die.tag in (DW_TAG_imported_declaration, DW_TAG_imported_module):
            _add(die, own)
        elif die.tag in (DW_TAG_namespace, DW_TAG_module) and die.has_children and len(scope) < MAX_SCOPES:
            _collect(die, (*split_name(qualified_name(die) or ""),), found)


def _of_block(block: Die) -> Imported:
    """What a block or function imports, as its abstract instance may say as well."""
    found = Imported({}, [])
    for owner in block.origins():
        try:
            for die in owner.children():
                if die.tag in (DW_TAG_imported_declaration, DW_TAG_imported_module):
                    _add(die, found)
        except DwarfGpuError as error:
            owner.unit.dwarf.note(error)
    return found


def _add(die: Die, found: Imported) -> None:
    """Note one import. What is broken hides nothing beside it."""
    try:
        reference = die.number(DW_AT_import)
        if reference is None:
            return
        target = reference.reference()
        name = qualified_name(target)
        if name is None:
            return
        own = target.name if target.name is not None else name
        path = (*(scope for scope, _ in scopes_of(target)), own)
        if die.tag == DW_TAG_imported_declaration:
            found.declarations.setdefault(die.name or own, []).append(path)
            return
        found.directives.append(path)
        for each in die.children():  # entities that are renamed as they are imported
            if each.tag == DW_TAG_imported_declaration:
                _add(each, found)
    except DwarfGpuError as error:
        die.unit.dwarf.note(error)
