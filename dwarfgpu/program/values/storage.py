"""Storages, from which values are read.

A storage is a stream of bits with a first one, as a location storage of the text is (A.2.5.3). Reading gives a number
whose bits are in storage order, so that it is the value an integer of that size has in the target's byte order. The
evaluator's locations, a file's sections and plain bytes are all storages. `Located` is the storage of a location of
the evaluator: it evaluates what a type computes in the context that the text prescribes (A.5.7.3, A.5.14, A.5.18.1).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu import dialects, regular_files
from dwarfgpu.bits import comparable
from dwarfgpu.dwarf_constants import DW_AT_const_value, DW_AT_location, DW_TAG_member, DW_TAG_variable
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, MissingContext, Unsupported
from dwarfgpu.expr import convert, locations
from dwarfgpu.expr.access import Accessor, Reading, Window
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import Evaluation, evaluate
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.location_operations import at_address
from dwarfgpu.expr.locations import UNDEFINED, Implicit, ImplicitPointer, Location, Memory
from dwarfgpu.expr.pieces import alike_bits
from dwarfgpu.expr.types import Value, generic
from dwarfgpu.immutable import evolve, field, frozen, immutable
from dwarfgpu.lanes import LaneFault
from dwarfgpu.objfile.indexes.lookup import index_of
from dwarfgpu.program.code.loaded import FileUnit, LoadedCode, constant_bytes

if TYPE_CHECKING:
    from dwarfgpu.bits import Array
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.types.model import Dynamic


__all__ = ["Address", "Bytes", "ObjectPlace", "Reading", "Storage", "cannot_access"]


MAX_OBJECT = 1 << 16
"""A larger object, in bytes, is in memory."""


@immutable
class Address:
    """An address, and the number of its address space; None is the default one."""

    space: int | None
    value: b.Bits = field(eq=comparable)


@immutable
class ObjectPlace:
    """A position in a storage: where an object begins."""

    storage: Storage
    bit_offset: int = 0

    def moved(self, bits: int) -> ObjectPlace:
        return ObjectPlace(self.storage, self.bit_offset + bits)

    def read(self, bit_size: int) -> Reading:
        return self.storage.read(self.bit_offset, bit_size)

    def of_object(self, byte_size: int | None) -> ObjectPlace:
        """Return the place of an object of a size, as the rules place one in a storage that is larger or smaller."""
        storage = self.storage
        if not isinstance(storage, Located) or byte_size is None or not 0 < byte_size <= MAX_OBJECT:
            return self
        context = storage.around.context
        location = storage.moved(self.bit_offset)
        placed = convert.object_location(location, 8 * byte_size, context.rules, context.target.byte_order)
        return self if placed is location else ObjectPlace(Located(storage.around, placed))

    @property
    def address(self) -> Address | None:
        """The address; None where it is not a whole number of bytes, or the storage has none."""
        return None if self.bit_offset % 8 else self.storage.address_of(self.bit_offset)


class Storage:
    """A stream of bits that values are read from; without a context pointers lead nowhere, and nothing is computed."""

    __slots__ = ()
    byte_order: Any
    """A `ByteOrder`."""
    is_bounded = False
    """Whether an index outside of an array is an error, as in Python, and not the memory beside it, as in C."""
    without_location = "the value is in no location"
    """Why what it holds cannot be assigned to, if it is not `Located`."""

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        """Read bits, and a mask of those that have no value."""
        raise NotImplementedError

    def at(self, address: Address) -> ObjectPlace:
        """Return the place at an address: the target of a pointer with this value."""
        raise cannot_access(address)

    def implied(self, bit_offset: int, bit_size: int) -> ObjectPlace | None:
        """Return the target of the implicit pointer at a position (A.2.5.4.4.5 (3)); None where there is none."""
        return None

    def address_of(self, bit_offset: int) -> Address | None:
        """Return the address of a position; None where the storage is not memory."""
        return None

    def alike_bits(self, bit_offset: int, bit_size: int, step: int) -> int:
        """Return how many of some bits are alike every ``step`` bits, as far as that is known without reading them."""
        return 0

    def place(self, dynamic: Dynamic, place: ObjectPlace, value: b.Bits | None = None) -> ObjectPlace:
        """Evaluate an expression that gives the place of an object's data, member or base.

        The object of a member or a base is on the initial stack (A.5.7.3), above the value of a pointer to a member
        where there is one (A.5.14). That of a descriptor is the object of the context (A.5.18.1).
        """
        raise _nothing_computes(dynamic)

    def number(self, dynamic: Dynamic, place: ObjectPlace, *stack: int) -> int:
        """Evaluate an expression that gives a number about an object: a bound, a stride, a rank."""
        raise _nothing_computes(dynamic)

    def variable(self, die: Die) -> ObjectPlace | None:
        """Return the place of a variable that a type or a static member names; None if it has none."""
        return None


class Bytes(Storage):
    """Bytes that are an object, without a context: a constant, a register's content."""

    __slots__ = ("_bits", "_size", "_undefined", "byte_order")

    def __init__(self, data: bytes, byte_order: ByteOrder = "little", undefined: bytes = b"") -> None:
        self.byte_order = byte_order
        self._size = len(data) * 8
        self._bits = int.from_bytes(data, byte_order)
        self._undefined = int.from_bytes(undefined, byte_order)

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        if not 0 <= bit_offset <= self._size - bit_size:
            message = f"a read of {bit_size} bits at bit offset {bit_offset} goes past the end of {self._size} bits"
            raise EvaluationError("read_past_storage", message, spec="A.2.5.4.3.4 (4)")
        shift = bit_offset if self.byte_order == "little" else self._size - bit_size - bit_offset
        mask = (1 << bit_size) - 1
        undefined = self._undefined >> shift & mask
        return Reading(self._bits >> shift & mask & ~undefined, undefined)


def cannot_access(address: Address, space_name: str | None = None) -> EvaluationError:
    """Return the error of an address that cannot be read, in GDB's words."""
    space = "" if space_name is None else f"{space_name}#"
    where = f"{space}{address.value:#x}" if isinstance(address.value, int) else "several addresses"
    return EvaluationError("memory_unavailable", f"Cannot access memory at address {where}")


def _nothing_computes(dynamic: Dynamic) -> MissingContext:
    return MissingContext("machine", f"{dynamic.attribute} must be computed, which needs a state")


# --- Locations of the evaluator -----------------------------------------------------------------------------------

_ON_STACK = frozenset(("DW_AT_data_member_location", "DW_AT_use_location", "DW_AT_vtable_elem_location"))
"""The properties whose expressions find the location of the object on the stack, not as the object of the context."""


@frozen
class NotSet:
    """Why an object has no value yet, and in which slots; without flags, in all."""

    error: EvaluationError
    flags: Array | None = None

    def check(self) -> None:
        """Raise the error in the slots that have no value."""
        if self.flags is None:
            raise self.error.with_traceback(None)
        if self.flags.any():
            raise LaneFault(b.positions_of(self.flags), lambda _slot: self.error)

    def select(self, positions: b.Positions) -> NotSet:
        """Return the same for some of the slots."""
        if self.flags is None:
            return self
        flags = self.flags[positions]
        return evolve(self, flags=None if flags.all() else flags)


@frozen
class ObjectSurroundings:
    """The context in which values are read: that of evaluations, and the file of the types, as it is loaded."""

    context: Context
    code: LoadedCode
    keeping: Callable[[Attribute, LoadedCode], AbstractContextManager[Any]] | None = None
    """Lets registers count as kept across a call while a location that holds after the call is evaluated."""
    unset: NotSet | None = None
    """Why nothing that is read has a value yet, in some slots."""

    def unit(self, unit: Unit) -> FileUnit:
        """Return a unit of the file, at the program location of the context."""
        return FileUnit(unit, self.code, self.context.pc)

    def located(self, location: Location) -> ObjectPlace:
        """Return the place that a location denotes."""
        return ObjectPlace(Located(self, location))

    def memory(self, address: Address) -> ObjectPlace:
        """Return the place in memory at an address."""
        target = self.context.target
        space = target.default_space if address.space is None else target.space(address.space)
        if space is None:
            message = f"{address.space} is not an address space of {target.name}"
            raise IllFormed("bad_address_space", message, spec="A.5.3")
        return self.located(at_address(_evaluation(self.context), space, address.value))

    def evaluated(self, source: Attribute, **changes: Any) -> Any:
        """Evaluate the expression of an attribute, or all valid expressions of a location list (A.2.5.5)."""
        unit = self.unit(source.die.unit)
        expressions = unit.expressions(source)
        context = evolve(self.context, unit=unit, nesting=self.context.nesting + 1, **changes)
        if not isinstance(expressions, tuple):
            return self._result(expressions, context, source)
        results = [self._result(expression, context, source) for expression in expressions]
        if not results:
            return UNDEFINED
        return results[0] if len(results) == 1 else locations.union(results, context.lanes.count)

    @staticmethod
    def _result(expression: Expression, context: Context, source: Attribute) -> Any:
        results = evaluate(expression, context)
        if len(results.groups) == 1 and not results.groups[0].failed:
            return results.groups[0].result
        for outcome in results:
            if isinstance(outcome, DwarfGpuError):
                raise outcome
        message = f"{source.name} gives locations of different kinds in some lanes"
        raise Unsupported("diverging", message, hint="ask for the lanes one by one")


_INACCESSIBLE = frozenset(("memory_unavailable", "read_past_storage", "offset_out_of_storage"))
"""What goes wrong at an address with no memory; an address space ends behind its last address, which is a null."""


class Located(Storage):
    """The storage of one location; bit 0 is where the location is."""

    __slots__ = ("_accessor", "_windows", "around", "byte_order", "location")

    def __init__(self, around: ObjectSurroundings, location: Location) -> None:
        self.around = around
        self.location = location
        context = around.context
        self._accessor = Accessor(context.backend, context.target.byte_order, context.lanes.count)
        self.byte_order = context.target.byte_order
        self._windows: dict[tuple[int, int], Window | None] = {}
        """Where in a register all slots have the bits that were asked for."""

    def moved(self, bit_offset: int) -> Location:
        """Return the location moved by a number of bits."""
        if not bit_offset:
            return self.location
        size = locations.UNDEFINED_BITS
        return locations.moved(self.location, bit_offset, undefined_size=size, spec="A.2.5.4.4.1 (1)")

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        if self.around.unset is not None:
            self.around.unset.check()
        try:
            if self._accessor.count > 1:
                reading = self._read_all(bit_offset, bit_size)
            else:
                reading = self._accessor.read(self.moved(bit_offset), bit_size)
            if regular_files.lost:
                regular_files.check_lost()
            return reading
        except EvaluationError as error:
            address = self.address_of(bit_offset // 8 * 8)
            if error.kind not in _INACCESSIBLE or address is None:
                raise
            space = None if address.space is None else self.around.context.target.space(address.space)
            raise cannot_access(address, None if space is None else space.name) from error

    def _read_all(self, bit_offset: int, bit_size: int) -> Reading:
        """Read for several slots. The place of their bits in a register is searched once."""
        key = bit_offset, bit_size
        if key not in self._windows:
            self._windows[key] = self._accessor.window(self.moved(bit_offset), bit_size)
        window = self._windows[key]
        if window is None:
            return self._accessor.read(self.moved(bit_offset), bit_size)
        return self._accessor.through(window)

    def at(self, address: Address) -> ObjectPlace:
        return self.around.memory(address)

    def implied(self, bit_offset: int, bit_size: int) -> ObjectPlace | None:
        pointer = self._accessor.pointer_at(self.moved(bit_offset), bit_size)
        return None if pointer is None else self.around.located(self._pointed(pointer))

    def _pointed(self, pointer: ImplicitPointer) -> Location:
        try:
            return convert.pointed_to(_evaluation(self.around.context), pointer)
        except EvaluationError as error:
            if error.kind != "implicit_pointer_misuse":
                raise
            return UNDEFINED  # the object has neither a location nor a constant value: nothing is left of it

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

    def alike_bits(self, bit_offset: int, bit_size: int, step: int) -> int:
        return alike_bits(self.location, bit_offset, bit_size, step)

    # --- Computed properties --------------------------------------------------------------------------------------

    def place(self, dynamic: Dynamic, place: ObjectPlace, value: Any = None) -> ObjectPlace:
        return self.around.located(self._evaluated(dynamic, place, value, "location"))

    def number(self, dynamic: Dynamic, place: ObjectPlace, *stack: int) -> int:
        index = generic(self.around.context.target.address_size)
        entries = tuple(Value(index, entry & index.mask) for entry in stack)
        result = self.around.evaluated(
            dynamic.source, object=_location(place), initial_stack=entries, result_kind="value"
        )
        if not isinstance(result, Value) or not isinstance(result.bits, int):
            message = f"{dynamic.attribute} does not give a single number"
            raise EvaluationError("no_number", message, spec="DWARF 5, 2.19")
        return int(result.displacement()) if not result.type.is_generic else b.signed(result.bits, result.type.bit_size)

    def _evaluated(self, dynamic: Dynamic, place: ObjectPlace, value: Any, kind: str) -> Location:
        location = _location(place)
        if dynamic.attribute in _ON_STACK:
            stack: tuple[Any, ...] = (location,)
            if value is not None:
                stack = (Value(generic(self.around.context.target.address_size), value), location)
            result = self.around.evaluated(dynamic.source, object=None, initial_stack=stack, result_kind=kind)
        else:
            result = self.around.evaluated(dynamic.source, object=location, initial_stack=(), result_kind=kind)
        if not isinstance(result, Location):
            raise EvaluationError("no_location", f"{dynamic.attribute} does not give a location", spec="A.5.18.1")
        return result

    def variable(self, die: Die) -> ObjectPlace | None:
        return variable_place(self.around, die)


def variable_place(around: ObjectSurroundings, die: Die) -> ObjectPlace | None:
    """Return the place of a variable: its location or its constant value; None if it has neither.

    A static member is declared in its class and defined elsewhere (DWARF 5, 5.7.7).
    """
    die = definition_of(die)
    location = die.find_number(DW_AT_location)
    if location is not None and location.value not in (None, b""):
        with nullcontext() if around.keeping is None else around.keeping(location, around.code):
            place = around.evaluated(location, object=None, initial_stack=(), result_kind="location")
        return around.located(place)
    constant = die.find_number(DW_AT_const_value)
    return None if constant is None else constant_place(around, constant)


def constant_place(around: ObjectSurroundings, constant: Attribute) -> ObjectPlace:
    """Return the place of the bytes of a DW_AT_const_value."""
    data = constant_bytes(constant)
    stream = int.from_bytes(data, around.context.target.byte_order)
    return around.located(locations.at(Implicit(stream, 8 * len(data))))


def definition_of(die: Die) -> Die:
    """Return the entry that defines what an entry may only declare: ``extern int x;``, or a static member.

    With ``-flto`` GCC describes a global variable in one unit, and says where it is in another one that refers to it.
    """
    if die.number(DW_AT_location) is not None:
        return die
    from dwarfgpu.objfile.info.scopes import is_local, qualified_name

    is_declared = die.is_declaration or die.tag == DW_TAG_member
    if not is_declared and (die.tag != DW_TAG_variable or die.number(DW_AT_const_value) is not None or is_local(die)):
        return die

    name = qualified_name(die)
    if name is None:
        return die
    for entry in index_of(die.unit).find(f"::{name}"):
        if entry.kind == "variable" and entry.die != die and _defines(entry.die, die, is_declared=is_declared):
            return entry.die
    return die


def _defines(die: Die, declaration: Die, *, is_declared: bool) -> bool:
    """Return whether an entry defines what another one with the same name declares, or describes."""
    if is_declared and die.number(DW_AT_location) is not None:
        return True
    return any(origin == declaration for origin in die.origins())


def _location(place: ObjectPlace) -> Location:
    storage = place.storage
    if not isinstance(storage, Located):
        raise EvaluationError("no_location", "the object has no location that expressions can use")
    return storage.moved(place.bit_offset)


def _evaluation(context: Context) -> Evaluation:
    """Return an evaluation that has not begun, for what operations share with the rest."""
    form = Format(context.target.address_size, 4, context.target.byte_order, 5)
    return Evaluation(Expression(b"", (), form, dialects.get("dwarf5")), context, None)
