"""Structures in memory: tables of fields, from which objects are both written and read.

A table covers every byte of its structure: what a document reserves is a row too, so that writing sets it to 0 and
reading can tell when it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import frozen

from dwarfgpu.errors import UsageError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    Kind = Literal["number", "signed", "address", "words", "reserved"]


@frozen
class BitRange:
    """Some bits of a field that have a meaning of their own."""

    name: str
    shift: int
    width: int
    meanings: tuple[tuple[int, str], ...] = ()


@frozen
class StructureField:
    """One row of a structure."""

    offset: int
    size: int
    name: str
    """Empty for what is reserved."""
    kind: Kind
    meaning: str
    clause: str
    bits: tuple[BitRange, ...] = ()
    meanings: tuple[tuple[int, str], ...] = ()
    """The meanings of some values."""


@frozen
class FieldValue:
    """A field of one object."""

    field: StructureField
    value: int

    @property
    def meaning(self) -> str | None:
        """The meaning of the value, if the document has a word for it."""
        return dict(self.field.meanings).get(self.value)

    @property
    def parts(self) -> tuple[tuple[BitRange, int, str | None], ...]:
        """The bit ranges of the field, with their values and what these mean."""
        ranges = []
        for bit_range in self.field.bits:
            value = self.value >> bit_range.shift & ((1 << bit_range.width) - 1)
            ranges.append((bit_range, value, dict(bit_range.meanings).get(value)))
        return tuple(ranges)


@frozen
class Structure:
    """A structure: its name in the document, its size and alignment in bytes, and its rows."""

    name: str
    size: int
    alignment: int
    clause: str
    fields: tuple[StructureField, ...]

    def field(self, name: str) -> StructureField:
        """Return the row with a name."""
        for field in self.fields:
            if field.name == name and name:
                return field
        raise UsageError(f"{self.name} has no field {name!r}")

    def encode(self, values: Mapping[str, int]) -> bytes:
        """Encode an object with some values; all other fields are 0."""
        data = bytearray(self.size)
        for name, value in values.items():
            field = self.field(name)
            bits = field.size * 8
            low = -(1 << (bits - 1)) if field.kind == "signed" else 0
            if not low <= value < 1 << bits:
                message = f"{self.name}.{name} has {field.size} bytes, which {shown(value)} does not fit"
                raise UsageError(message)
            data[field.offset : field.offset + field.size] = (value % (1 << bits)).to_bytes(
                field.size, "little"
            )
        return bytes(data)

    def decode(self, data: bytes) -> tuple[FieldValue, ...]:
        """Decode all fields of an object, in their order."""
        fields = []
        for field in self.fields:
            content = data[field.offset : field.offset + field.size]
            fields.append(FieldValue(field, int.from_bytes(content, "little", signed=field.kind == "signed")))
        return tuple(fields)

    def violations(self, values: tuple[FieldValue, ...]) -> tuple[str, ...]:
        """Return a message for each reserved field that is not 0."""
        return tuple(
            f"reserved bytes {value.field.offset} to {value.field.offset + value.field.size - 1} must be 0"
            for value in values
            if value.field.kind == "reserved" and value.value
        )
