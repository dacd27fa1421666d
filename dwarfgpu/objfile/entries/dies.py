"""Debugging information entries and their attributes (DWARF 5 chapter 2).

A `Die` is a place in a unit with its decoded values; nothing else of the unit is read for it. Children are found one
after the other, parents when they are asked for, and no tree is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_abstract_origin,
    DW_AT_call_column,
    DW_AT_call_file,
    DW_AT_call_line,
    DW_AT_declaration,
    DW_AT_linkage_name,
    DW_AT_MIPS_linkage_name,
    DW_AT_name,
    DW_AT_sibling,
    DW_AT_specification,
    DW_AT_type,
    DW_FORM_indirect,
    name_of,
)
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.entries import forms
from dwarfgpu.objfile.entries.readers import FAILURES, truncated
from dwarfgpu.objfile.entries.values import Attribute
from dwarfgpu.objfile.units.tree import after_children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.units.unit import Unit

MAX_ORIGINS = 16
"""How long a chain of DW_AT_specification and DW_AT_abstract_origin may be; those of compilers have up to 3."""
NOT_INHERITED = frozenset(("DW_AT_declaration", "DW_AT_inline", "DW_AT_sibling", "DW_AT_specification"))
"""Attributes that an entry does not take over from its abstract origin (DWARF 5, 3.3.8.1) or declaration (2.13.2)."""


class Die:
    """One entry. ``offset`` counts from the header of its unit."""

    __slots__ = ("abbreviation", "offset", "unit", "values")

    def __init__(self, unit: Unit, offset: int, abbreviation: Abbreviation, values: tuple[Any, ...]) -> None:
        self.unit = unit
        self.offset = offset
        self.abbreviation = abbreviation
        self.values = values
        """The values in the data, in order and not interpreted; `attributes` and `get` give them names."""

    def __repr__(self) -> str:
        return f"Die({self.unit.section}+{self.section_offset:#x}, {self.tag_name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Die) and other.offset == self.offset and other.unit is self.unit

    def __hash__(self) -> int:
        return hash((self.unit.offset, self.offset))

    # --- What it is -----------------------------------------------------------------------------------------------

    @property
    def section_offset(self) -> int:
        """The offset in the section: what DW_FORM_ref_addr counts."""
        return self.unit.offset + self.offset

    @property
    def tag(self) -> int:
        return self.abbreviation.tag

    @property
    def tag_name(self) -> str:
        return name_of("DW_TAG", self.abbreviation.tag)

    @property
    def has_children(self) -> bool:
        """Whether it may own others."""
        return self.abbreviation.has_children

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes, in order."""
        return tuple(map(self._attribute, range(len(self.abbreviation.forms))))

    def _attribute(self, index: int) -> Attribute:
        abbreviation = self.abbreviation
        form, value = abbreviation.forms[index], abbreviation.value(index, self.values)
        if form == DW_FORM_indirect:
            form, value = value.form, value.value
        return Attribute(self, index, form, value)

    def get(self, name: str) -> Attribute | None:
        """Return the attribute with a name such as ``DW_AT_type``; names are those of the unit's dialect."""
        unit = self.unit
        index = self.abbreviation.names(unit.dialect, unit.version).get(name)
        return None if index is None else self._attribute(index)

    def __contains__(self, name: str) -> bool:
        return name in self.abbreviation.names(self.unit.dialect, self.unit.version)

    def number(self, attribute: int) -> Attribute | None:
        """Return the attribute with a number of the standard. This is quicker than `get` and needs no dialect."""
        index = self.abbreviation.index_of(attribute)
        return None if index < 0 else self._attribute(index)

    def flag(self, attribute: int) -> bool:
        """Return whether a flag with a number of the standard is set."""
        attribute_value = self.number(attribute)
        return attribute_value is not None and bool(attribute_value.value)

    # --- What it is together with the entries it refers to ----------------------------------------------------------

    def origin(self) -> Die | None:
        """Return the entry it completes: its declaration (DW_AT_specification), or its abstract instance."""
        attribute = self.number(DW_AT_specification) or self.number(DW_AT_abstract_origin)
        return None if attribute is None else attribute.reference()

    def origins(self) -> Iterator[Die]:
        """Yield the entry itself, the one it completes, and so on."""
        die: Die | None = self
        for _ in range(MAX_ORIGINS):
            if die is None:
                return
            yield die
            die = die.origin()
        error = MalformedFile(
            "reference_cycle",
            f"a chain of DW_AT_specification and DW_AT_abstract_origin is longer than {MAX_ORIGINS}",
            spec="DWARF 5, 2.13.2",
        )
        raise self.unit.error(error, self.offset)

    def find(self, name: str) -> Attribute | None:
        """Return the attribute with a name, also of the entries this one completes."""
        if name in NOT_INHERITED:
            return self.get(name)
        return next(filter(None, (die.get(name) for die in self.origins())), None)

    def find_number(self, attribute: int) -> Attribute | None:
        """Return the attribute with a number, also of the entries this one completes."""
        return next(filter(None, (die.number(attribute) for die in self.origins())), None)

    @property
    def name(self) -> str | None:
        """DW_AT_name, its own or that of the entries it completes."""
        attribute = self.find_number(DW_AT_name)
        return None if attribute is None else attribute.text()

    @property
    def linkage_name(self) -> str | None:
        """DW_AT_linkage_name, or what it was called before version 4."""
        attribute = self.find_number(DW_AT_linkage_name) or self.find_number(DW_AT_MIPS_linkage_name)
        return None if attribute is None else attribute.text()

    @property
    def is_declaration(self) -> bool:
        return self.flag(DW_AT_declaration)

    def type(self) -> Die | None:
        """Return the entry of its type, or None for void. A type unit's signature is followed."""
        attribute = self.find_number(DW_AT_type)
        return None if attribute is None else attribute.reference()

    @property
    def call_file(self) -> int | None:
        """DW_AT_call_file of an inlined call."""
        return self._unsigned(DW_AT_call_file)

    @property
    def call_line(self) -> int | None:
        return self._unsigned(DW_AT_call_line)

    @property
    def call_column(self) -> int | None:
        return self._unsigned(DW_AT_call_column)

    def _unsigned(self, attribute: int) -> int | None:
        number = self.number(attribute)
        return None if number is None else number.unsigned()

    # --- Where it is ----------------------------------------------------------------------------------------------

    def ranges(self) -> list[tuple[int, int]]:
        """Return the addresses of its code (DWARF 5, 2.17); empty when it has none."""
        from dwarfgpu.objfile.entries.pc_ranges import ranges_of

        return ranges_of(self)

    def children(self) -> Iterator[Die]:
        """Yield the entries it owns. A reference to the next sibling, if the producer gives one, is followed."""
        if not self.abbreviation.has_children:
            return
        unit = self.unit
        data = unit.data
        _, _, position = unit.entry(self.offset)
        while position < len(data) and data[position]:
            abbreviation, values, end = unit.entry(position)
            die = Die(unit, position, abbreviation, values)
            yield die
            position = die.after(end)
        unit.ends[self.offset] = min(position + 1, len(data))

    def after(self, end: int) -> int:
        """Return where the entry after it and all it owns begins; ``end`` is where its own data ends."""
        if not self.abbreviation.has_children:
            return end
        known = self.unit.ends.get(self.offset)  # a walk through its children has found it
        if known is not None:
            return known
        index = self.abbreviation.index_of(DW_AT_sibling)
        if index >= 0 and self.abbreviation.forms[index] in forms.REF_UNIT:
            sibling: int = self.abbreviation.value(index, self.values)
            if end < sibling <= len(self.unit.data):
                return sibling
            raise self.unit.error(
                MalformedFile(
                    "bad_sibling", f"the sibling at {sibling:#x} is not after the entry", spec="DWARF 5, 2.3"
                ),
                self.offset,
            )
        unit = self.unit
        try:
            return after_children(unit.data, end, unit.table)
        except FAILURES:
            raise truncated(self.section_offset, unit.section) from None
        except DwarfGpuError as error:
            raise unit.error(error, self.offset) from None

    def parent(self) -> Die | None:
        """Return the entry that owns it, or None for the unit entry."""
        offset = self.unit.tree.parent(self.offset)
        return None if offset is None else self.unit.die_known_at(offset)

    def ancestors(self) -> Iterator[Die]:
        """Yield the entry that owns it, the one that owns that, and so on to the unit entry."""
        die = self.parent()
        while die is not None:
            yield die
            die = die.parent()

    def walk(self) -> Iterator[tuple[Die, int]]:
        """Yield the entry and all below it, in order, each with its depth from here."""
        unit = self.unit
        for offset, depth, abbreviation, values in unit.entries(self.offset):
            yield Die(unit, offset, abbreviation, values), depth
