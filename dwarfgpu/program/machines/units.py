"""Compilation units of loaded files, as expressions ask for them: base types, addresses, other entries (A.2.5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_END_big, DW_END_default, DW_END_little, DW_TAG_base_type
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, MissingContext
from dwarfgpu.expr.context import Die as ExpressionDie
from dwarfgpu.expr.types import ENCODINGS, BaseType
from dwarfgpu.objfile.lists.encoding import ListContext
from dwarfgpu.objfile.lists.location_lists import read_location_list

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.expr.context import DieReference
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.entries.values import Attribute, Block
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.machines.loaded import LoadedCode

ENCODING_NAMES = {code: name for name, code in ENCODINGS.items() if code is not None}
ORDERS: dict[int, ByteOrder | None] = {DW_END_default: None, DW_END_big: "big", DW_END_little: "little"}
BFLOAT16 = frozenset(("__bf16", "bfloat16", "bf16", "std::bfloat16_t"))
"""What compilers call the type that only its name tells from the half-precision one."""
MAX_CONSTANT = 1 << 16
"""How many bytes an object has whose value is a number; none has more than 16."""


class FileUnit:
    """A unit of a file that is loaded, for a program location, which says what of a location list is valid.

    ``pc`` is an address of the running program, in a caller one in the call; None is no program location.
    """

    __slots__ = ("code", "pc", "unit")

    def __init__(self, unit: Unit, code: LoadedCode, pc: int | None) -> None:
        self.unit = unit
        self.code = code
        self.pc = pc

    def __repr__(self) -> str:
        return f"FileUnit({self.unit!r}, {self.code!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FileUnit)
            and other.unit is self.unit
            and other.code is self.code
            and other.pc == self.pc
        )

    def __hash__(self) -> int:
        return hash((id(self.unit), id(self.code), self.pc))

    # --- What an expression asks ----------------------------------------------------------------------------------

    @property
    def reference_size(self) -> int:
        """Size of a reference to another section."""
        return self.unit.format.reference_size

    def base_type(self, offset: int) -> BaseType:
        """The type of the DW_TAG_base_type at a unit offset."""
        known = self.code.base_types
        key = self.unit, offset
        found = known.get(key)
        if found is None:
            found = known[key] = base_type_of(self._entry(offset))
        return found

    def address(self, index: int) -> int:
        """An entry of ``.debug_addr``, relocated."""
        return self.code.in_program(self.unit.tables.address(index))

    def relocated(self, address: int) -> int:
        """An address of the file as it is in the running program."""
        return self.code.in_program(address)

    def die(self, reference: DieReference) -> ExpressionDie:
        """What an evaluation needs of an entry of this unit, or of ``.debug_info``."""
        if reference.base == "unit":
            die = self._entry(reference.offset)
        else:
            die = self.unit.dwarf.die_at(reference.offset, ".debug_info" + self.unit.suffix)
        unit = self if die.unit is self.unit else FileUnit(die.unit, self.code, self.pc)
        location = die.find("DW_AT_location")
        constant = die.find("DW_AT_const_value")
        return ExpressionDie(
            unit,
            None if location is None else unit.expressions(location),
            None if constant is None else constant_bytes(constant),
        )

    def _entry(self, offset: int) -> Die:
        try:
            return self.unit.die_at(offset)
        except DwarfGpuError as error:
            if error.kind != "bad_reference":
                raise
            message = f"no debugging information entry begins at offset {offset:#x} of the unit"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.2 (5)") from None

    def expression(self, block: Block) -> Expression:
        """An expression of the unit, decoded once."""
        return self.code.expression(block.data, self.unit.format, block.section, block.offset)

    # --- What attributes hold -------------------------------------------------------------------------------------

    def expressions(self, attribute: Attribute) -> Expression | tuple[Expression, ...]:
        """An attribute's expression, or those of its location list that are valid at the program location (A.2.5.5)."""
        owner = attribute.die.unit
        if attribute.value_class != "loclist":
            block = attribute.block()
            return self.decoded(attribute, block.data, block.section, block.offset)
        if self.pc is None:
            message = "a location list is valid at program locations, and there is none"
            raise MissingContext("pc", message)
        section, offset = attribute.list_place()
        context = ListContext(owner.address_size, owner.format.byte_order, owner.low_pc, owner.tables.address)
        found = read_location_list(owner.tables.list_data(section), offset, section=section, context=context)
        return tuple(
            self.decoded(attribute, entry.expression, section, entry.expression_offset)
            for entry in found.matching(self.code.in_file(self.pc))
        )

    def decoded(self, attribute: Attribute, data: bytes, section: str, offset: int) -> Expression:
        """An expression of an attribute, with the repairs that the code is loaded with."""
        expression = self.code.expression(data, attribute.die.unit.format, section, offset)
        return self.code.repaired(expression, attribute)


# --- Base types and constants ---------------------------------------------------------------------------------------


def base_type_of(die: Die) -> BaseType:
    """The type that a DW_TAG_base_type describes (DWARF 5, 5.1; A.5.1)."""
    if die.tag != DW_TAG_base_type:
        message = f"the entry at offset {die.offset:#x} of the unit is a {die.tag_name}, no DW_TAG_base_type"
        raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
    encoding, size, bits, order, vector = (
        _number(die, name)
        for name in (
            "DW_AT_encoding",
            "DW_AT_byte_size",
            "DW_AT_bit_size",
            "DW_AT_endianity",
            "DW_AT_LLVM_vector_size",
        )
    )
    if encoding not in ENCODING_NAMES:
        what = (
            "has no encoding" if encoding is None else f"has the encoding {encoding:#x}, which is not known"
        )
        raise IllFormed("bad_type", f"the base type {die.name or ''} {what}", spec="DWARF 5, 5.1")
    if size is None and bits is None:
        raise IllFormed("bad_type", f"the base type {die.name or ''} has no size", spec="DWARF 5, 5.1")
    if size is not None and bits is not None and bits > 8 * size:
        message = f"a base type of {bits} bits does not fit its {size} bytes"
        raise IllFormed("bad_type", message, spec="DWARF 5, 5.1")
    whole = 8 * (size or 0) if bits is None else bits  # of a vector, that of one element
    name = ENCODING_NAMES[encoding]
    if name == "float" and whole == 16 and die.name in BFLOAT16:
        name = "bfloat16"
    byte_order = ORDERS.get(order or 0)
    if byte_order == die.unit.format.byte_order:
        byte_order = None  # what the target has anyway: the same type (A.2.5.2)
    return BaseType(name, whole, vector_size=vector, byte_order=byte_order)


def _number(die: Die, name: str) -> int | None:
    found = die.find(name)
    return None if found is None else found.unsigned()


def constant_bytes(constant: Attribute) -> bytes:
    """A DW_AT_const_value as it would stand in memory."""
    kind = constant.value_class
    order = constant.die.unit.format.byte_order
    if kind in ("block", "exprloc"):
        return constant.block().data
    if kind == "string":
        return constant.string() + b"\0"
    if kind == "address":
        return constant.address().to_bytes(constant.die.unit.address_size, order)
    value = constant.signed()
    size = byte_size_of(constant.die)
    if size is None:
        size = max(1, (value.bit_length() + 8) // 8)
    if size > MAX_CONSTANT:
        message = f"a number is the value of an object of {size} bytes"
        error = MalformedFile("absurd_size", message, spec="DWARF 5, 4.1")
        raise constant.die.unit.error(error, constant.die.offset)
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, order)


def byte_size_of(die: Die) -> int | None:
    """The size of the type of an entry; None where nothing says it."""
    from dwarfgpu.program.types.reader import Types
    from dwarfgpu.program.types.sizes import known_size

    return known_size(Types().type_of(die))
