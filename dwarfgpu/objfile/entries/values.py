"""Attributes: a value with its form and class, and what it means (DWARF 5 section 2.2 and 7.5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.entries.forms import class_of, form_name

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.entries.forms import Class

_SIGN_BITS = {0x0B: 8, 0x05: 16, 0x06: 32, 0x07: 64, 0x1E: 128}  # DW_FORM_data1, 2, 4, 8, 16


@frozen
class Block:
    """The bytes of a block or an expression, and where they stand: that identifies them."""

    data: bytes
    section: str
    offset: int


class Attribute:
    """One attribute of an entry."""

    __slots__ = ("die", "form", "index", "value")

    def __init__(self, die: Die, index: int, form: int, value: Any) -> None:
        self.die = die
        self.index = index
        """Which of the attributes of its entry."""
        self.form = form
        """DW_FORM_*, by number; for DW_FORM_indirect the one that stands in the data."""
        self.value = value
        """As it is encoded: a number, bytes, or True; for an index into a table the index."""

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
        """A string, decoded."""
        return self.die.unit.text(self.form, self.value)

    def string(self) -> bytes:
        """A string, as bytes."""
        return self.die.unit.string(self.form, self.value)

    def address(self) -> int:
        return self.die.unit.address(self.form, self.value)

    def flag(self) -> bool:
        self._check("flag")
        return bool(self.value)

    def unsigned(self) -> int:
        """A constant where the context is unsigned."""
        self._check("constant")
        value: int = self.value
        if value < 0:
            raise self._wrong("a negative number where none can be")
        return value

    def signed(self) -> int:
        """A constant where the context is signed: then the sign of data1 to data16 is their highest bit (7.5.5)."""
        self._check("constant")
        value: int = self.value
        bits = _SIGN_BITS.get(self.form)
        return value - (1 << bits) if bits is not None and value >> (bits - 1) else value

    def block(self) -> Block:
        """A block or an expression."""
        self._check("block", "exprloc")
        die = self.die
        data: bytes = self.value
        unit = die.unit
        _, end = unit.positions(die)[self.index]
        return Block(data, unit.section, unit.offset + end - len(data))

    def list_place(self) -> tuple[str, int]:
        """Section and offset of a location list or range list."""
        kind = self.value_class
        self._check("loclist", "rnglist")
        return self.die.unit.tables.list_offset(self.form, self.value, kind)

    def reference(self) -> Die:
        """The entry that is referred to; an error when none begins there."""
        if self.value_class != "reference":
            raise self._wrong("no reference")
        return self.die.unit.refer(self.form, self.value)

    def resolved(self) -> Any:
        """What the value means, as far as the reader knows: text, address, bool, number, block, entry or list place."""
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

    def _wrong(self, what: str) -> MalformedFile:
        error = MalformedFile("bad_class", f"{self.name} is {what} ({self.form_name})", spec="DWARF 5, 7.5.5")
        return self.die.unit.error(error, self.die.offset)  # type: ignore[return-value]
