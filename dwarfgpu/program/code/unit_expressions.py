"""Expressions of entries in loaded code: those of an attribute at a program location, and what is around each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu import budget
from dwarfgpu.dwarf_constants import (
    DW_AT_frame_base,
    DW_AT_location,
    DW_END_big,
    DW_END_default,
    DW_END_little,
    DW_TAG_base_type,
    DW_TAG_subprogram,
)
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, MissingContext
from dwarfgpu.expr.context import DieInfo as ExpressionDie
from dwarfgpu.expr.types import ENCODINGS, BaseType
from dwarfgpu.immutable import immutable
from dwarfgpu.objfile.lists.list_encoding import EntryList, read_list
from dwarfgpu.targets.amdgpu.numbers import PRIVATE_LANE

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.expr.context import DieReference
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.objfile.info.dies import Attribute, Block, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import LoadedCode


T = TypeVar("T")
ENCODING_NAMES = {code: name for name, code in ENCODINGS.items() if code is not None}
ORDERS: dict[int, ByteOrder | None] = {DW_END_default: None, DW_END_big: "big", DW_END_little: "little"}
BFLOAT16 = frozenset(("__bf16", "bfloat16", "bf16", "std::bfloat16_t"))
"""What compilers call the type that only its name tells from the half-precision one."""
MAX_SIBLINGS = 5_000
"""How many entries of a function are compared to find one with the same location."""
MAX_CONSTANT = 1 << 16
"""How many bytes an object has whose value is a number; none has more than 16."""


@immutable
class FileUnit:
    """A unit of a file that is loaded, for a program location, which says what of a location list is valid.

    ``pc`` is an address of the running program, in a caller one in the call; None is no program location.
    """

    unit: Unit
    code: LoadedCode
    pc: int | None

    # --- Questions of expressions ---------------------------------------------------------------------------------

    @property
    def reference_size(self) -> int:
        """Size of a reference to another section."""
        return self.unit.format.reference_size

    def base_type(self, offset: int) -> BaseType:
        """Return the type of the DW_TAG_base_type at a unit offset."""
        known = self.code.base_types
        key = self.unit, offset
        base_type = known.get(key)
        if base_type is None:
            base_type = known[key] = base_type_of(self._entry(offset))
        return base_type

    def address(self, index: int) -> int:
        """Return an entry of ``.debug_addr``, relocated."""
        return self.code.in_program(self.unit.tables.address(index))

    def relocated(self, address: int) -> int:
        """Convert an address of the file to an address of the running program."""
        return self.code.in_program(address)

    def die(self, reference: DieReference) -> ExpressionDie:
        """Return what an evaluation needs of an entry of this unit, or of ``.debug_info``."""
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
        """Return an expression of the unit, decoded once."""
        return self.code.expression(block.data, self.unit.format, block.section, block.offset)

    # --- Expressions of attributes --------------------------------------------------------------------------------

    def expressions(self, attribute: Attribute) -> Expression | tuple[Expression, ...]:
        """Return an attribute's expression, or those of its location list for the program location (A.2.5.5)."""
        if attribute.value_class != "loclist":
            block = attribute.block()
            return self.decoded(attribute, block.data, block.section, block.offset)
        if self.pc is None:
            message = "a location list can be read only at a program location"
            raise MissingContext("pc", message)
        entries = location_list(attribute)
        return tuple(
            self.decoded(attribute, entry.expression, entries.section, entry.expression_offset)
            for entry in entries.matching(self.code.in_file(self.pc))
        )

    def decoded(self, attribute: Attribute, data: bytes, section: str, offset: int) -> Expression:
        """Return an expression of an attribute, with the repairs that the code is loaded with."""
        expression = self.code.expression(data, attribute.die.unit.format, section, offset)
        return self.code.repaired(expression, attribute)


FREE_ENTRIES = 256
"""A list of so many entries costs nothing; longer ones, which many variables may share, are paid from the budget."""


def location_list(attribute: Attribute) -> EntryList:
    """Return the location list that an attribute refers to."""
    budget.check()
    unit = attribute.die.unit
    section, offset = attribute.list_place()
    data = unit.tables.list_data(section)
    listed = read_list(data, offset, section=section, context=unit.list_context)
    if len(listed.entries) > FREE_ENTRIES:
        budget.spend(48 * (len(listed.entries) - FREE_ENTRIES))
    return listed


# --- Base types and constants -------------------------------------------------------------------------------------


def base_type_of(die: Die) -> BaseType:
    """Return the type that a DW_TAG_base_type describes (DWARF 5, 5.1; A.5.1)."""
    if die.tag != DW_TAG_base_type:
        message = f"the entry at offset {die.offset:#x} of the unit is a {die.tag_name}, no DW_TAG_base_type"
        raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
    encoding, size, bits, order, vector = (
        _number(die, name)
        for name in ("DW_AT_encoding", "DW_AT_byte_size", "DW_AT_bit_size", "DW_AT_endianity", "DW_AT_LLVM_vector_size")
    )
    if encoding not in ENCODING_NAMES:
        what = "has no encoding" if encoding is None else f"has the encoding {encoding:#x}, which is not known"
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
    attribute = die.find(name)
    return None if attribute is None else attribute.unsigned()


def constant_bytes(constant: Attribute) -> bytes:
    """Return a DW_AT_const_value as it would be in memory.

    Whether DW_FORM_data1 to DW_FORM_data8 have a sign is left open (DWARF 5, 7.5.5). They are extended with zeros, as
    GDB does (dwarf2_const_value_data): GCC writes 200 of an `int` in DW_FORM_data1, and negative numbers with a sign.
    """
    kind = constant.value_class
    order = constant.die.unit.format.byte_order
    if kind in ("block", "exprloc"):
        return constant.block().data
    if kind == "string":
        return constant.string() + b"\0"
    if kind == "address":
        return constant.address().to_bytes(constant.die.unit.address_size, order)
    value = constant.integer()
    size = byte_size_of(constant.die)
    if size is None:
        size = max(1, (value.bit_length() + 8) // 8)
    if size > MAX_CONSTANT:
        message = f"a number is the value of an object of {size} bytes"
        error = MalformedFile("absurd_size", message, spec="DWARF 5, 4.1")
        raise constant.die.unit.error(error, constant.die.offset)
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, order)


def space_of_pointer(die: Die) -> int | None:
    """Return the address space that a variable points into; None for what is no pointer, or one without a space."""
    from dwarfgpu.program.types.model import Pointer, stripped
    from dwarfgpu.program.types.reader import Types

    kind = stripped(Types().type_of(die))
    return kind.address_space if isinstance(kind, Pointer) else None


def byte_size_of(die: Die) -> int | None:
    """Return the size of the type of an entry; None where nothing says it."""
    from dwarfgpu.program.types.model import known_size
    from dwarfgpu.program.types.reader import Types

    return known_size(Types().type_of(die))


# --- What is around an expression -----------------------------------------------------------------------------------


class Surroundings:
    """What is around an expression of an entry, as repairs ask for it."""

    def __init__(self, code: LoadedCode, die: Die, expression: Expression) -> None:
        self.code = code
        self.die = die
        self.unit = die.unit
        self.expression = expression

    def answer(self, question: str, *operands: int) -> Any:
        """Return what a method says; None where the file is broken there."""
        return _unbroken(lambda: getattr(self, question)(*operands))

    def address(self, index: int) -> int:
        """Return an entry of ``.debug_addr`` as it is in the file."""
        return self.unit.tables.address(index)

    def frame_base(self) -> int | None:
        """Return the register that is the frame base of the function."""
        bases = (entry.find_number(DW_AT_frame_base) for entry in (self.die, *self.die.ancestors()))
        base = next(filter(None, bases), None)
        return None if base is None else self.code.base_register(base)

    def is_baseless_kernel(self) -> bool:
        """Return whether the function is a kernel without a frame base."""
        function = self._function()
        return function is not None and self.code.is_baseless_kernel(function)

    def _function(self) -> Die | None:
        return next((entry for entry in self.die.ancestors() if entry.tag == DW_TAG_subprogram), None)

    def size(self) -> int | None:
        """Return the bytes of the object that the expression is about."""
        number = _unbroken(lambda: space_of_pointer(self.die))
        space = None if number is None else self.code.file.target.target.space(number)
        return byte_size_of(self.die) if space is None else space.address_bits // 8

    def is_private_pointer(self) -> bool:
        """Return whether that object is a pointer into private memory."""
        return space_of_pointer(self.die) == PRIVATE_LANE

    def is_shared(self) -> bool:
        """Return whether another variable of the function has the expression and is no pointer into private memory."""
        function = self._function()
        waiting = [] if function is None else [function]
        for _ in range(MAX_SIBLINGS):
            if not waiting:
                break
            entry = waiting.pop()
            waiting += _unbroken(lambda entry=entry: list(entry.children())) or ()  # type: ignore[misc]
            if _unbroken(lambda entry=entry: self._has_same(entry)):  # type: ignore[misc]
                return True
        return False

    def _has_same(self, entry: Die) -> bool:
        location = entry.find_number(DW_AT_location)
        if location is None or entry == self.die:
            return False
        data = self.expression.data
        if location.value_class == "loclist":
            is_same = any(listed.expression == data for listed in location_list(location).entries)
        else:
            is_same = location.block().data == data
        return is_same and space_of_pointer(entry) != PRIVATE_LANE

    def is_sole_local(self) -> bool:
        """Return whether all kernels with local memory have as much of it as the object is large."""
        size = self.size()
        return size is not None and self.code.local_sizes() == {size}

    def base_type(self, offset: int) -> BaseType:
        """Return the base type at an offset of the unit."""
        return base_type_of(self.unit.die_at(offset))

    def type_name(self, offset: int) -> str | None:
        """Return the name of the base type at an offset of the unit."""
        return self.unit.die_at(offset).name


def _unbroken(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except DwarfGpuError:
        return None
