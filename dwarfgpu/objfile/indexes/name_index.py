"""The names of one unit: for each name the entries that may have it.

Names are kept as producers encode them, by their offset in the string section, because to decode a hundred thousand
strings takes longer than to read all entries. A look-up of a name finds its offsets first (`name_search`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import MAX_ORIGINS, Die
from dwarfgpu.objfile.info.forms import class_of
from dwarfgpu.objfile.info.readers import FAILURES, truncated
from dwarfgpu.objfile.info.scan import Plan, is_declaration, scan
from dwarfgpu.objfile.info.scopes import ANONYMOUS, is_local, qualified_name

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.unit import Unit

    Kind: TypeAlias = Literal["function", "variable", "type", "namespace", "label"]


Key: TypeAlias = "int | bytes"
"""A name: its offset in ``.debug_str`` of the unit's file, or the name itself where it is not there."""

LINKAGE_NAMES = (dw.DW_AT_linkage_name, dw.DW_AT_MIPS_linkage_name)
ORIGINS = (dw.DW_AT_specification, dw.DW_AT_abstract_origin)
COMPLETED = frozenset(
    (dw.DW_TAG_subprogram, dw.DW_TAG_entry_point, dw.DW_TAG_variable, dw.DW_TAG_constant, dw.DW_TAG_member)
)
"""Functions, entry points, variables, constants and members: what can be declared first and then be completed."""
_FUNCTION = (dw.DW_AT_name, *LINKAGE_NAMES, *ORIGINS)
_VARIABLE = (*_FUNCTION, dw.DW_AT_location)
_OTHER = (dw.DW_AT_name,)


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if not may_be_entry(abbreviation):
        return None
    kind = KIND_OF[abbreviation.tag]
    return _FUNCTION if kind == "function" else _VARIABLE if kind == "variable" else _OTHER


class NameIndex:
    """The names of one unit. An entry with a name may not be an entry of an index (`kind_of`)."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._readers: dict[Abbreviation, _NameFields] = {}
        self._inherited: dict[int, tuple[Key, ...]] = {}
        self.names: dict[Key, list[int]] = {}
        """For each name the offsets of the entries in the unit."""
        self._build()
        self._readers.clear()
        self._inherited.clear()

    def _build(self) -> None:
        unit, names = self._unit, self.names
        completed: list[tuple[int, int, Any]] = []  # what completes others, with form and value of the reference
        for offset, plan, picked in scan(unit, _select):
            reader: _NameFields | None = plan.note
            if reader is None:
                reader = plan.note = _NameFields(plan, unit.version)
            location = reader.location
            if location >= 0 and picked[location] and not is_static(picked[location]):
                continue
            if reader.origin >= 0:
                completed.append((offset, reader.origin_form, picked[reader.origin]))
            for place, form in reader.names:
                key = picked[place]
                if form != dw.DW_FORM_strp:
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
                if form == dw.DW_FORM_indirect:
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
                    reader = self._readers[abbreviation] = _NameFields(Plan(abbreviation, _FUNCTION), unit.version)
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


class _NameFields:
    """What the picked values of one plan are."""

    __slots__ = ("anonymous", "location", "names", "origin", "origin_form", "plan")

    def __init__(self, plan: Plan, version: int) -> None:
        self.plan = plan
        abbreviation, places = plan.abbreviation, plan.places
        self.names = [
            (places[number], abbreviation.form_of(number))
            for number in (dw.DW_AT_name, *LINKAGE_NAMES)
            if number in places
        ]
        """The place and form of each name."""
        self.anonymous = not self.names and KIND_OF.get(abbreviation.tag) == "namespace"
        self.origin, self.origin_form = -1, 0
        for number in ORIGINS:
            if number in places:
                self.origin, self.origin_form = places[number], abbreviation.form_of(number)
                break
        self.location = places.get(dw.DW_AT_location, -1)
        if class_of(abbreviation.form_of(dw.DW_AT_location), dw.DW_AT_location, version) != "exprloc":
            self.location = -1


def key_of(unit: Unit, form: int, value: Any) -> Key:
    """Return the key of a name."""
    if form == dw.DW_FORM_indirect:
        form, value = value.form, value.value
    if form == dw.DW_FORM_strp:
        return int(value)
    if form in forms.STRING_INDEX:
        return unit.tables.string_offset(value)
    return unit.string(form, value)


def names_of(die: Die) -> set[bytes]:
    """Return all names of an entry and of those that it completes."""
    attributes = (origin.number(number) for origin in die.origins() for number in (dw.DW_AT_name, *LINKAGE_NAMES))
    return {name.string() for name in attributes if name is not None}


def is_named(die: Die, name: bytes) -> bool:
    """Return whether an entry has a name or linkage name: its own, or else that of the nearest entry it completes."""
    missing = {dw.DW_AT_name, dw.DW_AT_linkage_name}
    for _ in range(MAX_ORIGINS):
        for kind, numbers in ((dw.DW_AT_name, (dw.DW_AT_name,)), (dw.DW_AT_linkage_name, LINKAGE_NAMES)):
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
    return dw.DW_AT_name in missing and die.tag == dw.DW_TAG_namespace and name == ANONYMOUS.encode()


# --- What an index is about ---------------------------------------------------------------------------------------
# The rule is that of ``.debug_names`` (DWARF 5 section 6.1.1.1, A.6.1.1.1), with three differences. Inlined
# calls are not entries of their own: the function they are calls of is. A function or a variable at
# namespace scope without code or location is one too, because "it was optimized out" is an answer. And a
# local variable belongs to it if its location begins with an address or a constant, so that it does not
# depend on a frame.

KINDS: tuple[Kind, ...] = ("function", "variable", "type", "namespace", "label")

_TAGS: dict[Kind, tuple[int, ...]] = {
    "function": (dw.DW_TAG_subprogram, dw.DW_TAG_entry_point),
    "variable": (dw.DW_TAG_variable, dw.DW_TAG_constant),
    "type": (
        *(tag for tag, name in dw.names("DW_TAG").items() if name.endswith("_type") and tag < dw.DW_TAG_lo_user),
        *(dw.DW_TAG_typedef, dw.DW_TAG_template_alias, dw.DW_TAG_generic_subrange),
    ),  # all types of DWARF 5; only those with a name count
    "namespace": (dw.DW_TAG_namespace, dw.DW_TAG_module),
    "label": (dw.DW_TAG_label,),
}
KIND_OF: dict[int, Kind] = {tag: kind for kind, tags in _TAGS.items() for tag in tags}

ADDRESS_OPERATIONS = b"\x03\xa1\xfb"
"""DW_OP_addr, DW_OP_addrx and DW_OP_GNU_addr_index, which are the same in every dialect."""
# const*, lit*, constx, GNU_const_index
_CONSTANTS = bytes((*range(0x08, 0x12), *range(0x30, 0x50), 0xA2, 0xFC))
_STACK_VALUE = 0x9F
_NAMED = (dw.DW_AT_name, dw.DW_AT_specification, dw.DW_AT_linkage_name, dw.DW_AT_MIPS_linkage_name)


@frozen
class IndexEntry:
    """One entry of an index."""

    kind: Kind
    die: Die

    @property
    def name(self) -> str | None:
        return self.die.name

    @property
    def qualified_name(self) -> str | None:
        """The name with its scopes, such as ``ns::f``."""
        return qualified_name(self.die)


def is_static(location: bytes) -> bool:
    """Return whether a location does not depend on a frame.

    It begins with an address, or with a constant and is a location.
    """
    if not location:
        return False
    return location[0] in ADDRESS_OPERATIONS or (location[0] in _CONSTANTS and location[-1] != _STACK_VALUE)


def may_be_entry(abbreviation: Abbreviation) -> bool:
    """Return whether entries of an abbreviation can be entries of an index."""
    kind = KIND_OF.get(abbreviation.tag)
    if kind is None or is_declaration(abbreviation):
        return False
    known = abbreviation.attributes
    if kind == "variable":
        if dw.DW_AT_abstract_origin in known:  # in its own unit it is a variable of an inlined call
            form = abbreviation.form_of(dw.DW_AT_abstract_origin)
            return dw.DW_AT_location in known and form not in forms.REF_UNIT
        return any(number in known for number in _NAMED)
    if kind == "function":
        return dw.DW_AT_abstract_origin in known or any(number in known for number in _NAMED)
    if kind == "label":
        return dw.DW_AT_name in known and dw.DW_AT_low_pc in known
    return kind == "namespace" or dw.DW_AT_name in known


def kind_of(die: Die) -> Kind | None:
    """Return the kind of an entry in an index, or None if the index leaves it out."""
    if not may_be_entry(die.abbreviation) or die.is_declaration:
        return None
    kind = KIND_OF[die.tag]
    if kind == "variable":
        location = die.number(dw.DW_AT_location)
        if location is not None and location.value_class == "exprloc" and location.value:
            return kind if is_static(location.value) else None
        return None if is_local(die) else kind
    return kind
