"""The names of one unit: for each name the entries that may have it.

Names are kept as producers encode them, by their offset in the string section, because to decode a hundred thousand
strings takes longer than to read all entries. A look-up of a name finds its offsets first (`name_search`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.dwarf_constants import (
    DW_AT_abstract_origin,
    DW_AT_linkage_name,
    DW_AT_location,
    DW_AT_MIPS_linkage_name,
    DW_AT_name,
    DW_AT_specification,
    DW_FORM_indirect,
    DW_FORM_strp,
    DW_TAG_constant,
    DW_TAG_entry_point,
    DW_TAG_member,
    DW_TAG_namespace,
    DW_TAG_subprogram,
    DW_TAG_variable,
)
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries import forms
from dwarfgpu.objfile.entries.dies import MAX_ORIGINS
from dwarfgpu.objfile.entries.forms import class_of
from dwarfgpu.objfile.entries.readers import FAILURES, truncated
from dwarfgpu.objfile.entries.scan import Plan, scan
from dwarfgpu.objfile.entries.scopes import ANONYMOUS
from dwarfgpu.objfile.indexes.entries import KIND_OF, is_static, may_be_entry

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit

Key: TypeAlias = "int | bytes"
"""A name: its offset in ``.debug_str`` of the unit's file, or the name itself where it is not there."""

LINKAGE_NAMES = (DW_AT_linkage_name, DW_AT_MIPS_linkage_name)
ORIGINS = (DW_AT_specification, DW_AT_abstract_origin)
COMPLETED = frozenset(
    (DW_TAG_subprogram, DW_TAG_entry_point, DW_TAG_variable, DW_TAG_constant, DW_TAG_member)
)
"""Functions, entry points, variables, constants and members: what can be declared first and then be completed."""
_FUNCTION = (DW_AT_name, *LINKAGE_NAMES, *ORIGINS)
_VARIABLE = (DW_AT_name, *LINKAGE_NAMES, DW_AT_specification, DW_AT_location)
_OTHER = (DW_AT_name,)


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if not may_be_entry(abbreviation):
        return None
    kind = KIND_OF[abbreviation.tag]
    return _FUNCTION if kind == "function" else _VARIABLE if kind == "variable" else _OTHER


class NameIndex:
    """The names of one unit. An entry with a name may not be an entry of an index (`entries.kind_of`)."""

    __slots__ = ("_inherited", "_readers", "_unit", "names")

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._readers: dict[Abbreviation, _Reader] = {}
        self._inherited: dict[int, tuple[Key, ...]] = {}
        self.names: dict[Key, list[int]] = {}
        """For each name the offsets of the entries in the unit."""
        self._build()
        self._readers.clear()
        self._inherited.clear()

    def _build(self) -> None:
        unit, names = self._unit, self.names
        completed: list[
            tuple[int, int, Any]
        ] = []  # entries that complete others, with form and value of the reference
        for offset, plan, picked in scan(unit, _select):
            reader: _Reader | None = plan.note
            if reader is None:
                reader = plan.note = _Reader(plan, unit.version)
            location = reader.location
            if location >= 0 and picked[location] and not is_static(picked[location]):
                continue
            if reader.origin >= 0:
                completed.append((offset, reader.origin_form, picked[reader.origin]))
            for place, form in reader.names:
                key = picked[place]
                if form != DW_FORM_strp:
                    try:
                        key = key_of(unit, form, key)
                    except DwarfGpuError as error:
                        unit.dwarf.note(unit.error(error, offset))
                        continue
                known = names.get(key)
                if known is None:
                    names[key] = [offset]
                else:
                    known.append(offset)
            if reader.anonymous:
                names.setdefault(ANONYMOUS.encode(), []).append(offset)
        for offset, form, value in completed:
            for key in self._names_of_origin(form, value):
                names.setdefault(key, []).append(offset)

    def _names_of_origin(self, form: int, value: Any) -> tuple[Key, ...]:
        """Return the names of the entry that a reference leads to, and of those that it completes."""
        try:
            if form not in forms.REF_UNIT:
                if form == DW_FORM_indirect:
                    form, value = value.form, value.value
                return tuple(names_of(self._unit.refer(form, value)))
            names = self._inherited.get(value)
            if names is None:
                names = self._inherited[value] = tuple(self._names_at(value))
            return names
        except DwarfGpuError as error:
            self._unit.dwarf.note(error)
            return ()

    def _names_at(self, offset: int) -> list[Key]:
        """Return the names of the entry at an offset, and of those that it completes. The offset is not checked."""
        unit = self._unit
        data, table = unit.data, unit.table
        names: list[Key] = []
        for _ in range(MAX_ORIGINS):
            try:
                abbreviation, start = table.at(data, offset)
                reader = self._readers.get(abbreviation)
                if reader is None:
                    reader = self._readers[abbreviation] = _Reader(
                        Plan(abbreviation, _FUNCTION), unit.version
                    )
                picked = reader.plan.values(data, start)
            except FAILURES:
                raise truncated(unit.offset + offset, unit.section) from None
            names += [key_of(unit, form, picked[place]) for place, form in reader.names]
            if reader.origin < 0:
                break
            if reader.origin_form not in forms.REF_UNIT:
                names += self._names_of_origin(reader.origin_form, picked[reader.origin])
                break
            offset = picked[reader.origin]
        return names


class _Reader:
    """What the picked values of one plan are."""

    __slots__ = ("anonymous", "location", "names", "origin", "origin_form", "plan")

    def __init__(self, plan: Plan, version: int) -> None:
        self.plan = plan
        abbreviation, places = plan.abbreviation, plan.places
        self.names = [
            (places[number], abbreviation.form_of(number))
            for number in (DW_AT_name, *LINKAGE_NAMES)
            if number in places
        ]
        """The place and form of each name."""
        self.anonymous = not self.names and KIND_OF.get(abbreviation.tag) == "namespace"
        self.origin, self.origin_form = -1, 0
        for number in ORIGINS:
            if number in places:
                self.origin, self.origin_form = places[number], abbreviation.form_of(number)
                break
        self.location = places.get(DW_AT_location, -1)
        if class_of(abbreviation.form_of(DW_AT_location), DW_AT_location, version) != "exprloc":
            self.location = -1


def key_of(unit: Unit, form: int, value: Any) -> Key:
    """Return the key of a name."""
    if form == DW_FORM_indirect:
        form, value = value.form, value.value
    if form == DW_FORM_strp:
        return int(value)
    if form in forms.STRING_INDEX:
        return unit.tables.string_offset(value)
    return unit.string(form, value)


def names_of(die: Die) -> set[bytes]:
    """Return all names of an entry and of those that it completes."""
    attributes = (
        origin.number(number) for origin in die.origins() for number in (DW_AT_name, *LINKAGE_NAMES)
    )
    return {name.string() for name in attributes if name is not None}


def is_named(die: Die, name: bytes) -> bool:
    """Return whether an entry has a name or linkage name: its own, or else that of the nearest entry it completes."""
    missing = {DW_AT_name, DW_AT_linkage_name}
    for _ in range(MAX_ORIGINS):
        for kind, numbers in ((DW_AT_name, (DW_AT_name,)), (DW_AT_linkage_name, LINKAGE_NAMES)):
            attribute = next(filter(None, map(die.number, numbers)), None) if kind in missing else None
            if attribute is not None:
                if attribute.string() == name:
                    return True
                missing.remove(kind)
        reference = next(filter(None, map(die.number, ORIGINS)), None) if missing else None
        if reference is None:
            break
        # that an entry is there has no bearing on a comparison, and to check it would take long
        known = reference.form in forms.REF_UNIT
        die = die.unit.die_known_at(reference.value) if known else reference.reference()
        if die.tag not in COMPLETED:
            break
    return DW_AT_name in missing and die.tag == DW_TAG_namespace and name == ANONYMOUS.encode()
