"""Variables at a place in the code as columns: found once, then read from the registers and memory of waves.

A question about lanes looks up names and entries, and evaluates locations. At one place in the code all of that stays
the same as long as the scalar registers do from which locations count, such as the frame base. So scalars in a vector
register, in a scalar one, or at one private address of all lanes are remembered with where they are. A condition of
integers is then an operation on arrays (20 times as fast), and a trace of lines reads only what has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import bits as b
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.access_shapes import GLOBAL
from dwarfgpu.execution.batch import UNSET, VCC, VCC_HI, WaveBatch, number_of
from dwarfgpu.execution.control.placed_columns import (
    OPERATIONS,
    Combined,
    Converted,
    LaneNumbers,
    PrivateColumn,
    ScalarColumn,
    Unplaced,
    VectorColumn,
    Viewed,
    constant,
    non_zero,
)
from dwarfgpu.execution.control.watching import PRIVATE, kind_of
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.expr.locations import Implicit, Memory, Register, SingleLocation
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.program.frames.all_waves import frame_of, may_be_apart
from dwarfgpu.program.frames.evaluator import Evaluator, SourceExpression
from dwarfgpu.program.frames.reasons import NOT_SET, Unavailable, unavailable
from dwarfgpu.program.frames.variable import PARAMETER, Variable
from dwarfgpu.program.frames.wave_groups import Cohort
from dwarfgpu.program.language.arithmetic import COMPARISONS
from dwarfgpu.program.language.syntax import Binary, Boolean, Character, Integer, MemberAccess, Name, Subscript, Unary
from dwarfgpu.program.types.model import Array, Pointer, Struct, Type, known_size, resolved
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import MAX_OBJECT, Located

if TYPE_CHECKING:
    from dwarfgpu.execution.device import Device
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.states.program import Attached

_ADDRESS = np.dtype(np.int64)
MOST = 8
"""The values of the registers that one place is remembered for, such as the frame bases of a recursive function."""


@frozen(eq=False)
class Discovery:
    """What was found, which holds while some scalar registers have the values that they had."""

    found: Any
    registers: tuple[tuple[int, int], ...]
    """The registers by their place in a batch; -1 is the execution mask."""

    def holds(self, batch: WaveBatch) -> bool:
        """Return whether waves have these values, and share them."""
        with suppress(Unplaced):
            return all(_register(batch, place) == value for place, value in self.registers)
        return False

    def guard(self, writer: Any) -> None:
        """Write that a `GuardedForm` refuses where this does not hold, or where a lane has the flag that was found."""
        for place, value in self.registers:
            if place < 0:
                writer.refuse_unless_executing(value)
            elif place in (VCC, VCC_HI):
                raise UnknownInstruction("a condition that depends on VCC")
            else:
                writer.refuse_unless_equal(place, value)
        writer.refuse_if_any(self.found.write(writer))


class Discoveries:
    """What a function finds at places in the code, for as long as it holds."""

    def __init__(self, attached: Attached, device: Device, find: Callable[[Frame, LaneSet, Device], Any]) -> None:
        self._attached = attached
        self._device = device
        self._find = find
        self._known: dict[int, list[Discovery] | None] = {}
        """By the address; None where nothing can be found."""

    def at(self, batch: WaveBatch) -> Any:
        """Return what is found where waves are; None where nothing can be."""
        finding = self.discovery(batch)
        return None if finding is None else finding.found

    def discovery(self, batch: WaveBatch) -> Discovery | None:
        """Return what is found where waves are, with how long it holds."""
        known = self._known.setdefault(batch.pc, [])
        if known is None or self._device.machine.has_gaps:
            return None
        for finding in known:
            if finding.holds(batch):
                return finding
        new = self._finding(batch) if len(known) < MOST else None
        if new is None:
            self._known[batch.pc] = None
            return None
        known.append(new)
        return new

    def _finding(self, batch: WaveBatch) -> Discovery | None:
        machine = self._device.written(batch)
        machine.asked = set()
        try:
            frame = frame_of(self._attached, Cohort(batch.waves.tolist(), batch.pc), 0)
            lanes = LaneSet.product(b.array(batch.waves.tolist(), 64), b.array(range(batch.lanes), 64))
            found = self._find(frame, lanes, self._device)
            known = self._device.scalar_places.items()
            places = {register.name: place for place, register in known if isinstance(place, int)} | {"exec": -1}
            registers = [(places[name], _register(batch, places[name])) for name in machine.asked - {"pc"}]
        except (DwarfGpuError, Diverge, LaneFault, Parted, Unplaced, KeyError):
            return None
        return Discovery(found, tuple(registers))


def _register(batch: WaveBatch, place: int) -> int:
    value = batch.exec if place < 0 else batch.scalar[place]
    number = value if isinstance(value, int) else number_of(value)
    if value is UNSET or not isinstance(number, int):
        raise Unplaced
    return number


# --- One variable -------------------------------------------------------------------------------------------------


def column_of(variable: Variable, lanes: LaneSet, device: Device) -> tuple[LaneNumbers, np.dtype[Any]]:
    """Return what reads a scalar in the lanes of waves, and the type of its bits, which have no sign."""
    if may_be_apart(variable.frame, variable):
        raise Unplaced
    found: Object = variable.find(lanes)
    if variable.is_before_declaration:
        raise unavailable(NOT_SET, "nothing has set it yet")
    kind = scalar_of(variable.type)
    location = found.place.storage.location.single if isinstance(found.place.storage, Located) else None
    if kind is None or location is None or kind.bits != kind.storage_bits or kind.bits not in (8, 16, 32, 64):
        raise Unplaced
    offset, size = location.bit_offset + found.place.bit_offset, kind.bits // 8
    storage, type_ = location.storage, np.dtype(f"u{size}")
    if kind.swapped or found.place.storage.byte_order != "little":
        raise Unplaced
    if isinstance(storage, Memory):
        first = int(np.asarray(offset).flat[0])
        if storage.space.name != "private_lane" or first % 8 or not np.all(offset == first):
            raise Unplaced
        return PrivateColumn(device, first // 8, size), type_
    if not isinstance(storage, Register) or storage.lane is not None or size > 4:
        raise Unplaced
    name, number = storage.register.name[:1], storage.register.name[1:]
    is_own_lane = not isinstance(offset, int) and bool((offset == lanes.lane * np.uint64(32)).all())
    if name == "v" and number.isdecimal() and is_own_lane:
        return VectorColumn(int(number), type_), type_
    if name == "s" and number.isdecimal() and isinstance(offset, int) and not offset:
        return ScalarColumn(int(number), type_), type_
    raise Unplaced


# --- The variables of a frame ------------------------------------------------------------------------------------


@frozen(eq=False)
class PlacedVariable:
    """A variable at a place in the code, and how it is read there."""

    die: Die
    name: str
    type: Type
    is_parameter: bool
    is_shadowed: bool
    is_listed: bool
    """Whether its location is one of a list, which need not hold wherever it is in scope."""
    begins_here: bool
    """Whether a location of the list begins there."""
    column: LaneNumbers | None = None
    """What reads its bits; None if only the frame can tell."""
    is_text_of_bits: bool = False
    """Whether its text follows from its bits and the type alone, and not from what a pointer leads to."""
    is_absent: bool = False
    """Whether it has no location there, or has not been declared."""
    memory: tuple[str, int] | None = None
    """The kind of its memory and its address there, if it is in memory and lanes share the address."""
    size: int = 0
    """Its bytes; 0 if they are not known."""
    is_vector: bool = False
    """Whether it is a vector or an array of numbers in private memory, whose text follows from its bytes."""

    @property
    def is_shared(self) -> bool:
        """Whether it is in memory that others also reach."""
        return self.memory is not None and self.memory[0] != PRIVATE

    def holds(self, kind: str, address: int) -> bool:
        """Return whether an address of private memory is in it."""
        first = None if self.memory is None or self.is_absent or self.is_shared else self.memory[1]
        return kind == PRIVATE and first is not None and 0 <= address - first < self.size

    def is_in(self, addresses: set[int]) -> bool:
        """Return whether some of its private addresses are among others."""
        inside = self.addresses
        return (
            not addresses.isdisjoint(inside) if len(inside) < len(addresses) else any(at in inside for at in addresses)
        )

    @property
    def addresses(self) -> range:
        """Its addresses in memory."""
        first = 0 if self.memory is None else self.memory[1]
        return range(first, first + self.size)

    @classmethod
    def of(cls, variable: Variable, **how: Any) -> PlacedVariable:
        """Return a variable of a frame without the frame."""
        facts = variable.kind == PARAMETER, variable.is_shadowed, variable.is_listed, variable.begins_here
        return cls(variable.die, variable.name, variable.type, *facts, size=known_size(variable.type) or 0, **how)


def variables_in(frame: Frame, lanes: LaneSet, device: Device) -> list[PlacedVariable]:
    """Find the variables of a frame, also those that others hide."""
    return [_placed(variable, lanes, device) for variable in frame.variables()]


def _placed(variable: Variable, lanes: LaneSet, device: Device) -> PlacedVariable:
    kind, machine = scalar_of(variable.type), device.machine
    is_pointer = kind is None or kind.kind in ("pointer", "bytes")
    column: LaneNumbers | None = None
    asked = {*machine.asked}
    try:
        column, _bits = column_of(variable, lanes, device)
    except Unavailable:
        return PlacedVariable.of(variable, is_absent=True)
    except (DwarfGpuError, Unplaced):
        pass
    memory, inner = memory_of(variable, lanes), resolved(variable.type)
    is_vector = memory is not None and memory[0] == PRIVATE and _has_numbers(inner)
    is_vector = is_vector and not may_be_apart(variable.frame, variable)
    found = _location_of(variable, lanes)
    if found is not None and isinstance(found[0].storage, Implicit):
        # vector registers have its value, but say nothing of its place
        machine.asked -= {each for each in machine.asked - asked if each[0] == "v" and each[1:].isdecimal()}
    is_text = not is_pointer and column is not None
    how = {"column": column, "is_text_of_bits": is_text, "memory": memory, "is_vector": is_vector}
    return PlacedVariable.of(variable, **how)


def _has_numbers(kind: Type) -> bool:
    """Return whether a type is a vector or an array of numbers, and no part of it depends on an object."""
    if not isinstance(kind, Array) or kind.is_dynamic or not 0 < (known_size(kind) or 0) <= MAX_OBJECT:
        return False
    element = scalar_of(kind.element)
    return element is not None and element.kind not in ("pointer", "bytes")


def has_elements(type_: Type) -> bool:
    """Return whether a type is an array with elements that lines name."""
    kind = resolved(type_)
    return isinstance(kind, Array) and not kind.is_vector


def memory_of(variable: Variable, lanes: LaneSet) -> tuple[str, int] | None:
    """Return the kind of memory that a variable is in, and its address there, if lanes share the address."""
    kind, addresses = _addresses_of(variable, lanes) or ("", np.zeros(0, np.int64))
    return (kind, int(addresses[0])) if len(np.unique(addresses)) == 1 else None


def global_addresses_of(variable: Variable, lanes: LaneSet) -> Any:
    """Return the addresses of a variable in global memory, by lane; None if it is elsewhere."""
    found = _addresses_of(variable, lanes)
    return found[1] if found is not None and found[0] == GLOBAL else None


def _location_of(variable: Variable, lanes: LaneSet) -> tuple[SingleLocation, int] | None:
    """Return the one place of a variable, and the bit there with which it begins."""
    try:
        place = variable.find(lanes).place
    except (DwarfGpuError, Diverge, LaneFault):
        return None
    single = place.storage.location.single if isinstance(place.storage, Located) else None
    return None if single is None else (single, place.bit_offset)


def _addresses_of(variable: Variable, lanes: LaneSet) -> tuple[str, Any] | None:
    location, first = _location_of(variable, lanes) or (None, 0)
    if location is None or not isinstance(location.storage, Memory):
        return None
    offsets = np.asarray(location.bit_offset).reshape(-1) + first
    return kind_of(location.storage.space), offsets // 8


# --- Conditions ---------------------------------------------------------------------------------------------------


def condition_in(text: str, function: Die | str | None = None) -> Callable[[Frame, LaneSet, Device], LaneNumbers]:
    """Return what finds a condition of integers as a column of flags; with a function, only in frames of it."""
    find = number_in(text, function)

    def flags(frame: Frame, lanes: LaneSet, device: Device) -> LaneNumbers:
        return non_zero(find(frame, lanes, device))

    return flags


def number_in(text: str, function: Die | str | None = None) -> Callable[[Frame, LaneSet, Device], LaneNumbers]:
    """Return what finds an expression of integers as a column; with a function, only in frames of it."""

    def find(frame: Frame, lanes: LaneSet, device: Device) -> LaneNumbers:
        if function not in (None, frame.function or frame.name) or (
            frame.state.remembered and frame.state.remembered.macros
        ):
            raise Unplaced  # what a name means may change
        quantity: SourceExpression | Variable | Any = frame.quantity(text)
        terms = _Terms(Evaluator(frame, lanes, text), lanes, device)
        column, _kind = terms.variable(quantity) if isinstance(quantity, Variable) else terms.term(quantity.tree)
        return column

    return find


class PlacedObject:
    """An object in memory at a place in the code: its address as a column, and what is known once it has been found."""

    def __init__(self, column: LaneNumbers) -> None:
        self.column = column
        self.type: Type | None = None
        self.space = ""
        """The kind of its memory; empty as long as nobody has compared the address with that of the frame."""
        self.is_wrong = False
        """Whether these have differed."""

    def address(self, batch: WaveBatch, row: int, lane: int) -> int:
        """Return the address in a lane of a wave; raise `Unplaced` where that is not known."""
        numbers = self.column(batch)
        number = int(numbers[row if numbers.shape[0] > 1 else 0, lane if numbers.shape[1] > 1 else 0])
        return number & (1 << 64) - 1


def object_in(text: str) -> Callable[[Frame, LaneSet, Device], PlacedObject]:
    """Return what finds the object in memory that an expression means: behind a pointer, or an element of an array."""

    def find(frame: Frame, lanes: LaneSet, device: Device) -> PlacedObject:
        if frame.state.remembered and frame.state.remembered.macros:
            raise Unplaced  # what a name means may change
        terms = _Terms(Evaluator(frame, lanes, text), lanes, device)
        return PlacedObject(terms.address(frame.expression(text).tree)[0])

    return find


class _Terms:
    """The parts of an expression as columns, with the arithmetic of C."""

    def __init__(self, evaluator: Evaluator, lanes: LaneSet, device: Device) -> None:
        self._evaluator = evaluator
        self._compute = evaluator.compute
        self._lanes = lanes
        self._device = device

    def variable(self, variable: Any) -> tuple[LaneNumbers, Type]:
        if not isinstance(variable, Variable):
            raise Unplaced
        column, _bits = column_of(variable, self._lanes, self._device)
        return Viewed(column, _number_type(variable.type)), variable.type

    def term(self, node: Any) -> tuple[LaneNumbers, Type]:
        if isinstance(node, Name):
            return self.variable(self._evaluator.meaning(node))
        if isinstance(node, (Integer, Character, Boolean)):
            operand = self._evaluator.operand(node)
            return constant(int(operand.bits), _number_type(operand.type)), operand.type
        if isinstance(node, Unary) and node.operator in ("!", "-", "~", "+"):
            return self._unary(node.operator, *self.term(node.operand))
        if isinstance(node, Binary):
            return self._binary(node.operator, *self.term(node.left), *self.term(node.right))
        raise Unplaced

    def address(self, node: Any) -> tuple[LaneNumbers, Type]:
        """Return the address of an object, and its type."""
        if isinstance(node, Unary) and node.operator == "*":
            return self._pointer(node.operand)
        if isinstance(node, Subscript):
            base, kind = self._pointer(node.operand)
            size = constant(known_size(kind) or 0, _ADDRESS)
            index = Converted(self.term(node.index)[0], _ADDRESS)
            return Combined("+", base, Combined("*", index, size)), kind
        if isinstance(node, MemberAccess) and len(node.name) == 1:
            base, kind = self._pointer(node.operand) if node.is_arrow else self.address(node.operand)
            inner = resolved(kind)
            members = inner.body.members if isinstance(inner, Struct) else ()
            for member in (each for each in members if each.name == node.name[0] and each.bit_size is None):
                if member.bit_offset is not None and not member.bit_offset % 8:
                    return Combined("+", base, constant(member.bit_offset // 8, _ADDRESS)), member.type
        raise Unplaced

    def _pointer(self, node: Any) -> tuple[LaneNumbers, Type]:
        """Return what a pointer points to, or an array of one dimension begins with."""
        variable = self._evaluator.meaning(node) if isinstance(node, Name) else None
        kind = resolved(variable.type) if isinstance(variable, Variable) else None
        if isinstance(variable, Variable) and isinstance(kind, Pointer) and known_size(kind.to.get()):
            column, type_ = column_of(variable, self._lanes, self._device)
            return Converted(Viewed(column, type_), _ADDRESS), kind.to.get()
        if isinstance(variable, Variable) and isinstance(kind, Array) and len(kind.dimensions) == 1:
            memory = memory_of(variable, self._lanes)
            if memory is not None and known_size(kind.element):
                return constant(memory[1], _ADDRESS), kind.element
        raise Unplaced

    def _unary(self, sign: str, column: LaneNumbers, kind: Type) -> tuple[LaneNumbers, Type]:
        if sign == "!":
            return self._flags(Combined("==", column, constant(0, column.type)))
        promoted = self._compute.promoted(kind)
        type_ = _number_type(promoted)
        number = Converted(column, type_)
        if sign == "-":
            return Combined("-", constant(0, type_), number), promoted
        return (number if sign == "+" else Combined("^", number, constant(-1, type_))), promoted

    def _binary(
        self, sign: str, left: LaneNumbers, left_kind: Type, right: LaneNumbers, right_kind: Type
    ) -> tuple[LaneNumbers, Type]:
        if sign not in OPERATIONS:
            raise Unplaced
        if sign in ("&&", "||"):
            return self._flags(Combined(sign, non_zero(left), non_zero(right)))
        kind = self._compute.common(left_kind, right_kind)
        type_ = _number_type(kind)
        column = Combined(sign, Converted(left, type_), Converted(right, type_))
        return self._flags(column) if sign in COMPARISONS else (column, kind)

    def _flags(self, column: LaneNumbers) -> tuple[LaneNumbers, Type]:
        truth = self._compute.model.truth
        return Converted(column, _number_type(truth)), truth


def _number_type(kind: Type) -> np.dtype[Any]:
    """Return the type of numpy for an integer; raise an error for other types."""
    scalar = scalar_of(kind)
    if scalar is None or scalar.kind not in ("integer", "boolean", "character") or scalar.scale is not None:
        raise Unplaced
    if scalar.layout is not None or scalar.bits != scalar.storage_bits or scalar.bits not in (8, 16, 32, 64):
        raise Unplaced
    return np.dtype(f"{'i' if scalar.is_signed else 'u'}{scalar.bits // 8}")
