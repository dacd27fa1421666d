"""Values in the locations of the evaluator: any backend, any kind of location, one lane or all of them.

A `Located` is the storage of one location; bit 0 is where the location is. Whatever a type computes is computed by the
engine, in the context that the text gives it (A.5.7.3, A.5.14, A.5.18.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, Unsupported
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import Evaluation
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.ops.memory import at_address
from dwarfgpu.expr.storages import Implicit, ImplicitPointer, Memory
from dwarfgpu.expr.types import generic
from dwarfgpu.expr.values import Value
from dwarfgpu.objfile import attributes as at
from dwarfgpu.program.unit_context import UnitContext
from dwarfgpu.program.values.storage import Address, Place, Reading, cannot_access
from dwarfgpu.records import record, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.objfile.dies import Die
    from dwarfgpu.objfile.units import Unit
    from dwarfgpu.program.types.model import Dynamic

_ON_STACK = frozenset(("DW_AT_data_member_location", "DW_AT_use_location", "DW_AT_vtable_elem_location"))
"""The properties whose expressions find the location of the object on the stack, not as the object of the context."""


@record
class Surroundings:
    """What values are read in: the context of evaluations, and how the file's expressions are read."""

    context: Context
    dialect: Dialect
    bias: int = 0
    variable: Callable[[Die], Location | None] | None = None
    """Where a variable is that depends on a frame; what is static is found without."""
    units: Callable[[Unit], Any] | None = None
    """How units are asked, where somebody knows more of them than dialect and bias."""

    def unit(self, unit: Unit) -> Any:
        return UnitContext(unit, self.dialect, self.bias) if self.units is None else self.units(unit)

    def located(self, location: Location) -> Place:
        """The place that a location denotes."""
        return Place(Located(self, location))

    def memory(self, address: Address) -> Place:
        """The memory at an address."""
        space = (
            self.context.target.default_space
            if address.space is None
            else self.context.target.space(address.space)
        )
        if space is None:
            message = f"{address.space} is not an address space of {self.context.target.name}"
            raise IllFormed("bad_address_space", message, spec="A.5.3")
        return self.located(at_address(_evaluation(self.context), space, address.value))

    def evaluated(self, found: Dynamic, **changes: Any) -> Any:
        """What an expression of a type gives."""
        if found.expression is None:
            message = f"{found.attribute} is a location list, which is not read for types"
            raise Unsupported("location_list", message, spec="DWARF 5, 2.6.2")
        unit = self.unit(found.unit)
        context = replace(self.context, unit=unit, nesting=self.context.nesting + 1, **changes)
        results = evaluate(unit.expression(found.expression), context)
        if len(results.groups) == 1 and not results.groups[0].failed:
            return results.groups[0].result
        for outcome in results:
            if isinstance(outcome, DwarfGpuError):
                raise outcome
        message = f"{found.attribute} differs from lane to lane in more than data"
        raise Unsupported("diverging", message, hint="ask for the lanes one by one")


class Located:
    """The storage that one location is."""

    __slots__ = ("_accessor", "around", "location")

    def __init__(self, around: Surroundings, location: Location) -> None:
        self.around = around
        self.location = location
        context = around.context
        self._accessor = Accessor(context.backend, context.target.byte_order, context.lanes.count)

    @property
    def byte_order(self) -> ByteOrder:
        return self.around.context.target.byte_order

    def moved(self, bit_offset: int) -> Location:
        """The location that is so many bits further on."""
        if not bit_offset:
            return self.location
        size = locations.UNDEFINED_BITS
        return locations.moved(self.location, bit_offset, undefined_size=size, spec="A.2.5.4.4.1 (1)")

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        try:
            return self._accessor.read(self.moved(bit_offset), bit_size)
        except EvaluationError as error:
            address = self.address_of(bit_offset // 8 * 8)
            if error.kind != "memory_unavailable" or address is None:
                raise
            raise self._inaccessible(address) from error

    def _inaccessible(self, address: Address) -> DwarfGpuError:
        space = None if address.space is None else self.around.context.target.space(address.space)
        return cannot_access(address, None if space is None else space.name)

    def at(self, address: Address) -> Place:
        return self.around.memory(address)

    def implied(self, bit_offset: int, bit_size: int) -> Place | None:
        pointer = self._accessor.pointer_at(self.moved(bit_offset), bit_size)
        return None if pointer is None else self.around.located(self._pointed(pointer))

    def _pointed(self, pointer: ImplicitPointer) -> Location:
        from dwarfgpu.expr.convert import pointed_to

        try:
            return pointed_to(_evaluation(self.around.context), pointer)
        except EvaluationError as error:
            if error.kind != "implicit_pointer_misuse":
                raise
            return (
                locations.UNDEFINED
            )  # the object has neither a location nor a constant value: nothing is left of it

    def address_of(self, bit_offset: int) -> Address | None:
        place = self.location.single
        if place is None or not isinstance(place.storage, Memory):
            return None
        offset = place.bit_offset + bit_offset
        if isinstance(offset, int):
            if offset % 8:
                return None
        elif (offset & 7).any():
            return None
        number = place.storage.space.number
        default = self.around.context.target.default_space.number
        return Address(None if number == default else number, offset >> 3)

    # --- What is computed -----------------------------------------------------------------------------------------

    def place(self, found: Dynamic, place: Place, value: Any = None) -> Place:
        return self.around.located(self._evaluated(found, place, value, "location"))

    def number(self, found: Dynamic, place: Place, *stack: int) -> int:
        index = generic(self.around.context.target.address_size)
        entries = tuple(Value(index, each & index.mask) for each in stack)
        result = self.around.evaluated(
            found, object=_location(place), initial_stack=entries, result_kind="value"
        )
        if not isinstance(result, Value) or not isinstance(result.bits, int):
            message = f"{found.attribute} gives no single number"
            raise EvaluationError("no_number", message, spec="DWARF 5, 2.19")
        return (
            int(result.displacement())
            if not result.type.is_generic
            else b.signed(result.bits, result.type.bit_size)
        )

    def _evaluated(self, found: Dynamic, place: Place, value: Any, kind: str) -> Location:
        location = _location(place)
        if found.attribute in _ON_STACK:
            stack: tuple[Any, ...] = (location,)
            if value is not None:
                # The text has the value of the pointer first and the location of the object second (A.5.14), so that
                # the location is on top; an expression that adds the two needs them the other way round for
                # DW_OP_LLVM_offset, so producers that use it write for the reverse order.
                number = Value(generic(self.around.context.target.address_size), value)
                stack = (location, number) if _is_offset(self.around, found) else (number, location)
            result = self.around.evaluated(found, object=None, initial_stack=stack, result_kind=kind)
        else:
            result = self.around.evaluated(found, object=location, initial_stack=(), result_kind=kind)
        if not isinstance(result, Location):
            message = f"{found.attribute} gives no location"
            raise EvaluationError("no_location", message, spec="A.5.18.1")
        return result

    def variable(self, die: Die) -> Place | None:
        return variable_place(self.around, die)


def variable_place(around: Surroundings, die: Die) -> Place | None:
    """Where a variable is: at its location, or in its constant value; None if it is nowhere.

    A static member is declared in its class and defined elsewhere (DWARF 5, 5.7.7).
    """
    die = _defined(die)
    location = die.find_number(at.LOCATION)
    if location is not None and location.value_class in ("exprloc", "block") and location.value:
        from dwarfgpu.program.types.bounds import bound_of

        found: Any = bound_of(location)
        result = around.evaluated(found, object=None, initial_stack=(), result_kind="location")
        return around.located(result)
    if around.variable is not None:
        known = around.variable(die)
        if known is not None:
            return around.located(known)
    constant = die.find_number(at.CONST_VALUE)
    return None if constant is None else constant_place(around, die, constant)


def constant_place(around: Surroundings, die: Die, constant: Any) -> Place:
    """The value of DW_AT_const_value as a place of its own (DWARF 5, 4.1 (10))."""
    from dwarfgpu.program.types.reader import Types
    from dwarfgpu.program.types.sizes import byte_size

    size = byte_size(Types().type_of(die))
    order = around.context.target.byte_order
    kind = constant.value_class
    if kind in ("block", "exprloc"):
        data: bytes = constant.block().data
    elif kind == "string":
        data = constant.string() + b"\0"
    else:
        if not 0 < size <= 1 << 16:
            message = f"a constant of {size} bytes cannot be a number"
            raise die.unit.error(EvaluationError("bad_constant", message, spec="DWARF 5, 4.1"), die.offset)
        data = (constant.signed() & ((1 << 8 * size) - 1)).to_bytes(size, order)
    storage = Implicit(int.from_bytes(data, order), 8 * len(data))
    return around.located(locations.at(storage))


def _defined(die: Die) -> Die:
    """The definition of a variable that an entry only declares."""
    if die.number(at.LOCATION) is not None or die.number(at.CONST_VALUE) is not None:
        return die
    if not (die.is_declaration or die.tag == 0x0D):
        return die
    from dwarfgpu.objfile.scopes import qualified_name

    name = qualified_name(die)
    if name is None:
        return die
    for entry in die.unit.dwarf.index.find(f"::{name}"):
        if entry.kind == "variable" and any(each == die for each in entry.die.origins()):
            return entry.die
    return die


def _is_offset(around: Surroundings, found: Dynamic) -> bool:
    """Whether an expression begins by moving the location below a number on the stack."""
    if found.expression is None:
        return False
    first = around.unit(found.unit).expression(found.expression).instructions[:1]
    return bool(first) and first[0].operation.name == "DW_OP_LLVM_offset"


def _location(place: Place) -> Location:
    storage = place.storage
    if not isinstance(storage, Located):
        raise EvaluationError("no_location", "the object is in no location that can be computed with")
    return storage.moved(place.bit_offset)


def _evaluation(context: Context) -> Evaluation:
    """An evaluation that has not begun, for what operations share with the rest."""
    from dwarfgpu import dialects
    from dwarfgpu.encoding.operands import Format

    form = Format(context.target.address_size, 4, context.target.byte_order, 5)
    return Evaluation(Expression(b"", (), form, dialects.get("dwarf5")), context, None)
