"""Attributes: a value with its form and class, and what it means (DWARF 5 section 2.2 and 7.5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_FORM_data1,
    DW_FORM_data2,
    DW_FORM_data4,
    DW_FORM_data8,
    DW_FORM_data16,
)
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.entries.forms import class_of, form_name

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.entries.forms import Class

_SIGN_BITS = {DW_FORM_data1: 8, DW_FORM_data2: 16, DW_FORM_data4: 32, DW_FORM_data8: 64, DW_FORM_data16: 128}

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
        return self.die.unit.dialect.name_of(
            self.number, class_of(self.form, self.number, self.die.unit.version)
        )

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
        if self.value_class != "reference":
            raise self._wrong("no reference")
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
        error = MalformedFile(
            "bad_class", f"{self.name} is {problem} ({self.form_name})", spec="DWARF 5, 7.5.5"
        )
        return self.die.unit.error(error, self.die.offset)  # type: ignore[return-value]
