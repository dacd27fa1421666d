"""Debugging information entries and their attributes (DWARF 5 chapter 2).

A `Die` is a place in a unit with its decoded values; nothing else of the unit is read for it. Children are found one
after the other, parents when they are asked for, and no tree is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.abbrevs import MAX_ATTRIBUTES, Abbreviation
from dwarfgpu.objfile.info.forms import class_of, form_name
from dwarfgpu.objfile.info.readers import FAILURES, truncated
from dwarfgpu.objfile.info.tree import after_children

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.forms import Class
    from dwarfgpu.objfile.info.unit import Unit


FREE_ORIGINS = 4
"""So many steps of a chain cost nothing; longer chains, which a compiler does not write, are paid from the budget."""
MAX_ORIGINS = 16
"""How long a chain of DW_AT_specification and DW_AT_abstract_origin may be; those of compilers have up to 3."""
_INDEXES = range(MAX_ATTRIBUTES)
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
        abbreviation = self.abbreviation
        forms = abbreviation.forms
        if dw.DW_FORM_indirect in forms:
            return tuple(map(self._attribute, range(len(forms))))
        return tuple(map(Attribute, repeat(self), _INDEXES, forms, abbreviation.all_values(self.values)))

    def _attribute(self, index: int) -> Attribute:
        abbreviation = self.abbreviation
        form, value = abbreviation.forms[index], abbreviation.value(index, self.values)
        if form == dw.DW_FORM_indirect:
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

    def origin(self) -> Die | None:
        """Return the entry it completes: its declaration (DW_AT_specification), or its abstract instance."""
        attribute = self.number(dw.DW_AT_specification) or self.number(dw.DW_AT_abstract_origin)
        return None if attribute is None else attribute.reference()

    def origins(self) -> Iterator[Die]:
        """Yield the entry itself, the one it completes, and so on."""
        die: Die | None = self
        for step in range(MAX_ORIGINS):
            if die is None:
                return
            if step >= FREE_ORIGINS:
                budget.spend(64)
            elif step:
                budget.check()
            yield die
            die = die.origin()
        message = f"a chain of DW_AT_specification and DW_AT_abstract_origin is longer than {MAX_ORIGINS}"
        raise self.unit.error(MalformedFile("reference_cycle", message, spec="DWARF 5, 2.13.2"), self.offset)

    def find(self, name: str) -> Attribute | None:
        """Return the attribute with a name, also of the entries this one completes."""
        if name in NOT_INHERITED:
            return self.get(name)
        return next(filter(None, (die.get(name) for die in self.origins())), None)

    def find_number(self, attribute: int) -> Attribute | None:
        """Return the attribute with a number, also of the entries this one completes."""
        found = self.number(attribute)
        return found or next(filter(None, (die.number(attribute) for die in self.origins())), None)

    @property
    def name(self) -> str | None:
        """DW_AT_name, its own or that of the entries it completes."""
        attribute = self.find_number(dw.DW_AT_name)
        return None if attribute is None else attribute.text()

    @property
    def linkage_name(self) -> str | None:
        """DW_AT_linkage_name, or what it was called before version 4."""
        attribute = self.find_number(dw.DW_AT_linkage_name) or self.find_number(dw.DW_AT_MIPS_linkage_name)
        return None if attribute is None else attribute.text()

    @property
    def is_declaration(self) -> bool:
        return self.flag(dw.DW_AT_declaration)

    def type(self) -> Die | None:
        """Return the entry of its type, or None for void. A type unit's signature is followed."""
        attribute = self.find_number(dw.DW_AT_type)
        return None if attribute is None else attribute.reference()

    @property
    def call_file(self) -> int | None:
        """DW_AT_call_file of an inlined call."""
        return self._unsigned(dw.DW_AT_call_file)

    @property
    def call_line(self) -> int | None:
        return self._unsigned(dw.DW_AT_call_line)

    @property
    def call_column(self) -> int | None:
        return self._unsigned(dw.DW_AT_call_column)

    def _unsigned(self, attribute: int) -> int | None:
        number = self.number(attribute)
        return None if number is None else number.unsigned()

    def ranges(self) -> list[tuple[int, int]]:
        """Return the addresses of its code (DWARF 5, 2.17); empty when it has none."""
        from dwarfgpu.objfile.info.scopes import ranges_of

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
        index = self.abbreviation.index_of(dw.DW_AT_sibling)
        if index >= 0 and self.abbreviation.forms[index] in forms.REF_UNIT:
            sibling: int = self.abbreviation.value(index, self.values)
            if end < sibling <= len(self.unit.data):
                return sibling
            message = f"the sibling at {sibling:#x} is not after the entry"
            raise self.unit.error(MalformedFile("bad_sibling", message, spec="DWARF 5, 2.3"), self.offset)
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


_SIGN_BITS = {getattr(dw, f"DW_FORM_data{size}"): 8 * size for size in (1, 2, 4, 8, 16)}

VALUE_KINDS = {
    "DW_AT_accessibility": "DW_ACCESS",
    "DW_AT_calling_convention": "DW_CC",
    "DW_AT_decimal_sign": "DW_DS",
    "DW_AT_defaulted": "DW_DEFAULTED",
    "DW_AT_encoding": "DW_ATE",
    "DW_AT_endianity": "DW_END",
    "DW_AT_identifier_case": "DW_ID",
    "DW_AT_inline": "DW_INL",
    "DW_AT_language": "DW_LANG",
    "DW_AT_language_name": "DW_LNAME",
    "DW_AT_LLVM_memory_space": "DW_MSPACE_LLVM",
    "DW_AT_ordering": "DW_ORD",
    "DW_AT_virtuality": "DW_VIRTUALITY",
    "DW_AT_visibility": "DW_VIS",
}
"""The attributes of class constant whose values have names, and of which kind these are (`dwarf_constants.names`)."""


@frozen
class Block:
    """The bytes of a block or an expression, and where they are: that identifies them."""

    data: bytes
    section: str
    offset: int


class Attribute:
    """One attribute of an entry."""

    __slots__ = ("die", "form", "index", "value")

    def __init__(self, die: Die, index: int, form: int, value: Any) -> None:
        self.die = die
        self.index = index
        """Its index among the attributes of its entry."""
        self.form = form
        """DW_FORM_*, by number; for DW_FORM_indirect the one in the data."""
        self.value = value
        """The value as it is encoded: a number, bytes, or True; for an index into a table the index."""

    def __repr__(self) -> str:
        return f"Attribute({self.name}, {self.form_name}, {self.value!r})"

    @property
    def number(self) -> int:
        """DW_AT_*, by number."""
        return self.die.abbreviation.attributes[self.index]

    @property
    def name(self) -> str:
        """The name, in the dialect of the unit."""
        return self.die.unit.dialect.name_of(self.number, class_of(self.form, self.number, self.die.unit.version))

    @property
    def form_name(self) -> str:
        return form_name(self.form)

    @property
    def value_class(self) -> Class:
        """The class of the value, by which it is to be read."""
        return class_of(self.form, self.number, self.die.unit.version, self.name)

    # --- Meanings. Each raises `MalformedFile` when the value has another class. --------------------------------------

    def text(self) -> str:
        """Return a string, decoded."""
        return self.die.unit.text(self.form, self.value)

    def string(self) -> bytes:
        """Return a string, as bytes."""
        return self.die.unit.string(self.form, self.value)

    def address(self) -> int:
        return self.die.unit.address(self.form, self.value)

    def flag(self) -> bool:
        self._check("flag")
        return bool(self.value)

    def unsigned(self) -> int:
        """Return a constant where the context is unsigned."""
        self._check("constant")
        value: int = self.value
        if value < 0:
            raise self._wrong("a negative number where none can be")
        return value

    def integer(self) -> int:
        """Return a constant with the sign that its form has: those of data1 to data16 have none (7.5.5)."""
        self._check("constant")
        return self.value  # type: ignore[no-any-return]

    def signed(self) -> int:
        """Return a constant where the context is signed: the highest bit of data1 to data16 is the sign (7.5.5)."""
        self._check("constant")
        value: int = self.value
        bits = _SIGN_BITS.get(self.form)
        return value - (1 << bits) if bits is not None and value >> (bits - 1) else value

    def block(self) -> Block:
        """Return a block or an expression."""
        self._check("block", "exprloc")
        die = self.die
        data: bytes = self.value
        unit = die.unit
        _, end = unit.positions(die)[self.index]
        return Block(data, unit.section, unit.offset + end - len(data))

    def list_place(self) -> tuple[str, int]:
        """Return section and offset of a location list or range list."""
        kind = self.value_class
        self._check("loclist", "rnglist")
        return self.die.unit.tables.list_offset(self.form, self.value, kind)

    def reference(self) -> Die:
        """Return the entry that is referred to; raise an error if none begins there."""
        self._check("reference")
        return self.die.unit.refer(self.form, self.value)

    def resolved(self) -> Any:
        """Return what the value means: text, address, bool, number, block, entry or list place."""
        kind = self.value_class
        if kind == "string":
            return self.text()
        if kind == "address":
            return self.address()
        if kind == "reference":
            return self.reference()
        if kind in ("block", "exprloc"):
            return self.block()
        if kind in ("loclist", "rnglist"):
            return self.list_place()
        return self.value

    def _check(self, *classes: Class) -> None:
        if self.value_class not in classes:
            raise self._wrong(f"no {' or '.join(classes)}")

    def _wrong(self, problem: str) -> MalformedFile:
        message = f"{self.name} is {problem} ({self.form_name})"
        error = MalformedFile("bad_class", message, spec="DWARF 5, 7.5.5")
        return self.die.unit.error(error, self.die.offset)  # type: ignore[return-value]
