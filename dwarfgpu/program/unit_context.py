"""A compilation unit of a file as expressions ask for it: the `UnitInfo` of the evaluator (A.2.5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dialects
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.context import Die as ContextDie
from dwarfgpu.expr.decode import decode
from dwarfgpu.expr.types import ENCODINGS, BaseType
from dwarfgpu.objfile import attributes as at

if TYPE_CHECKING:
    from dwarfgpu.expr.context import DieReference
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.objfile.dies import Die
    from dwarfgpu.objfile.units import Unit
    from dwarfgpu.objfile.values import Block

_BASE, _ENCODING, _BIT_SIZE, _ENDIANITY = 0x24, 0x3E, 0x0D, 0x65
_NAMES = {number: name for name, number in ENCODINGS.items() if number is not None}
_ORDERS = {1: "big", 2: "little"}


class UnitContext:
    """One unit. ``bias`` is what is added to the addresses of the file to get those of the running program."""

    __slots__ = ("_expressions", "_types", "bias", "dialect", "unit")

    def __init__(self, unit: Unit, dialect: Dialect, bias: int = 0) -> None:
        self.unit = unit
        self.dialect = dialect
        self.bias = bias
        self._types: dict[int, BaseType] = {}
        self._expressions: dict[tuple[str, int], Expression] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnitContext) and other.unit is self.unit and other.bias == self.bias

    def __hash__(self) -> int:
        return hash((self.unit.offset, self.bias))

    @property
    def reference_size(self) -> int:
        return self.unit.format.reference_size

    def base_type(self, offset: int) -> BaseType:
        found = self._types.get(offset)
        if found is None:
            die = self.unit.die_at(offset)
            if die.tag != _BASE:
                message = f"the entry at {offset:#x} of the unit is {die.tag_name}, not DW_TAG_base_type"
                raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
            found = self._types[offset] = base_type_of(die)
        return found

    def address(self, index: int) -> int:
        return self.relocated(self.unit.tables.address(index))

    def relocated(self, address: int) -> int:
        return address + self.bias

    def die(self, reference: DieReference) -> ContextDie:
        unit = self.unit
        found = (
            unit.die_at(reference.offset) if reference.base == "unit" else unit.dwarf.die_at(reference.offset)
        )
        owner = self if found.unit is unit else UnitContext(found.unit, self.dialect, self.bias)
        location = found.find_number(at.LOCATION)
        constant = found.find_number(at.CONST_VALUE)
        expression = None
        if location is not None and location.value_class in ("exprloc", "block"):
            expression = owner.expression(location.block())
        data = None
        if expression is None and constant is not None and constant.value_class in ("block", "string"):
            data = constant.string() + b"\0" if constant.value_class == "string" else constant.block().data
        return ContextDie(owner, expression, data)

    def expression(self, block: Block) -> Expression:
        """An expression of the unit, decoded once."""
        key = (block.section, block.offset)
        found = self._expressions.get(key)
        if found is None:
            found = self._expressions[key] = decode(
                block.data,
                self.dialect,
                self.unit.format,
                section=block.section,
                offset=block.offset,
                known_in=dialects.known_in,
            )
        return found


def base_type_of(die: Die) -> BaseType:
    """The base type that an entry describes, as expressions have it (A.2.5.2)."""
    encoding, size = die.number(_ENCODING), die.number(at.BYTE_SIZE)
    bits = die.number(_BIT_SIZE)
    name = None if encoding is None else _NAMES.get(encoding.unsigned())
    if name is None:
        error: DwarfGpuError = IllFormed(
            "bad_type", "a base type has an encoding that is not known", spec="A.2.5.2"
        )
        raise die.unit.error(error, die.offset)
    bit_size = (
        8 * size.unsigned() if bits is None and size is not None else 0 if bits is None else bits.unsigned()
    )
    if name == "float" and bit_size == 16 and "bf" in (die.name or "").lower():
        name = "bfloat16"
    vector = die.get("DW_AT_LLVM_vector_size")
    endianity = die.number(_ENDIANITY)
    order = None if endianity is None else _ORDERS.get(endianity.unsigned())
    count = None if vector is None else vector.unsigned()
    return BaseType(name, bit_size, vector_size=count, byte_order=order)  # type: ignore[arg-type]
