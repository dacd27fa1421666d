"""Operations on stack entries and the flow of control, and those that push values and compute with them.

A.2.5.4.0 to A.2.5.4.3, in the order of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import IllFormed, Unsupported
from dwarfgpu.expr import convert, locations, types
from dwarfgpu.expr.arithmetic import computable
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.convert import block_stream, evaluate_location, object_location, value_stream
from dwarfgpu.expr.instruction import TAKEN, Step, decode
from dwarfgpu.expr.locations import Entry, Implicit, IncompleteComposite, Location, pointer_misuse
from dwarfgpu.expr.table import binary, comparison, equivalent, operation, section
from dwarfgpu.expr.types import ImplicitPointerValue, Value
from dwarfgpu.lanes import refuse, uniform_flag

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.targets.target import TargetRegister


section("Stack operations (A.2.5.4.1).")


@operation("DW_OP_dup", "A:any -- A:any A:any", "A.2.5.4.1 (1)")
def dup(_ev: Evaluation, entry: Entry) -> tuple[Entry, Entry]:
    """Duplicate the top entry."""
    return entry, entry


@operation("DW_OP_drop", "A:any --", "A.2.5.4.1 (2)")
def drop(_ev: Evaluation, _entry: Entry) -> None:
    """Discard the top entry."""


@operation("DW_OP_pick", "*", "A.2.5.4.1 (3)", "I:u1")
def pick(ev: Evaluation, index: int) -> None:
    """Push a copy of the entry with index I, counted from the top, which has index 0."""
    if index >= len(ev.stack):
        message = f"the stack has {len(ev.stack)} entries, none with index {index}"
        raise IllFormed("stack_underflow", message, spec="A.2.5.4.1 (3)")
    entry = ev.stack[-1 - index]
    if type(entry) is IncompleteComposite:
        raise IllFormed("incomplete_composite", "a composite cannot be copied before it is complete", spec="A.2.5.4.1")
    ev.stack.append(entry)


equivalent("DW_OP_over", "DW_OP_pick 1", "*", "A.2.5.4.1 (4)")


@operation("DW_OP_swap", "A:any B:any -- B:any A:any", "A.2.5.4.1 (5)")
def swap(_ev: Evaluation, second: Entry, top: Entry) -> tuple[Entry, Entry]:
    """Swap the top two entries."""
    return top, second


@operation("DW_OP_rot", "A:any B:any C:any -- C:any A:any B:any", "A.2.5.4.1 (6)")
def rot(_ev: Evaluation, third: Entry, second: Entry, top: Entry) -> tuple[Entry, Entry, Entry]:
    """Rotate the top three entries: the top becomes the third, the second the top, the third the second."""
    return top, third, second


section("Vendor extension prefix and control flow operations (A.2.5.4.0, A.2.5.4.2; DWARF 5 section 2.5.1.5).")


@operation("DW_OP_LLVM_NVIDIA_mux", "*", "LLVM Dwarf.def", "T:tail", since="NVIDIA")
def nvidia_mux(_ev: Evaluation, _tail: bytes) -> None:
    """Refuse a prefix whose operands are not documented; the rest of the expression cannot be decoded."""
    message = "the operands of DW_OP_LLVM_NVIDIA_mux are not documented"
    raise Unsupported("DW_OP_LLVM_NVIDIA_mux", message, spec="LLVM Dwarf.def")


@operation("DW_OP_nop", "--", "A.2.5.4.2 (1)", since="3", aliases="LLVM_nop")
def nop(_ev: Evaluation) -> None:
    """Do nothing."""


_SIGNED = "B, else 0; the generic type is compared as signed."
comparison("DW_OP_le", f"<= {_SIGNED}", lambda kind, x, y: b.either(kind.less(x, y), kind.equal(x, y)))
comparison("DW_OP_ge", f">= {_SIGNED}", lambda kind, x, y: b.either(kind.less(y, x), kind.equal(x, y)))
comparison("DW_OP_eq", "= B, else 0.", lambda kind, x, y: kind.equal(x, y))
comparison("DW_OP_lt", f"< {_SIGNED}", lambda kind, x, y: kind.less(x, y))
comparison("DW_OP_gt", f"> {_SIGNED}", lambda kind, x, y: kind.less(y, x))
comparison("DW_OP_ne", "differs from B, else 0.", lambda kind, x, y: kind.equal(x, y) ^ True)


@operation("DW_OP_skip", "--", "A.2.5.4.2 (3)", "D:branch")
def skip(_ev: Evaluation, _displacement: int) -> object:
    """Go D bytes forward or backward, counted from the next operation."""
    return TAKEN


@operation("DW_OP_bra", "A:value --", "A.2.5.4.2 (4)", "D:branch")
def bra(_ev: Evaluation, condition: Value, _displacement: int) -> object:
    """Go D bytes forward or backward, counted from the next operation, if A is not 0."""
    return TAKEN if uniform_flag(computable(condition).is_true(condition.bits)) else None


def _call(ev: Evaluation, reference: DieReference) -> object:
    """Perform the location of an entry on the same stack; an entry with a constant pushes where its bytes are."""
    die = ev.need("unit").die(reference)
    location = die.location
    if isinstance(location, tuple):
        if ev.rules.call_of_list == "fresh_stack" or len(location) != 1:
            ev.stack.append(convert.evaluate_location(ev, die))
            return None
        location = location[0]
    if location is not None:
        return ev.call(location, die.unit)
    if die.const_value is not None:
        stream = convert.block_stream(ev, die.const_value)
        ev.stack.append(locations.at(Implicit(stream, 8 * len(die.const_value))))
    return None


@operation("DW_OP_call2", "*", "A.2.5.4.2 (5)", "DR:u2", since="3", needs="unit")
def call2(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in the current unit, on the same stack."""
    return _call(ev, DieReference("unit", offset))


@operation("DW_OP_call4", "*", "A.2.5.4.2 (5)", "DR:u4", since="3", needs="unit")
def call4(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in the current unit, on the same stack."""
    return _call(ev, DieReference("unit", offset))


@operation("DW_OP_call_ref", "*", "A.2.5.4.2 (5)", "DR:ref", since="3", needs="unit")
def call_ref(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in .debug_info, on the same stack."""
    return _call(ev, DieReference("info", offset))


section("Literal operations (A.2.5.4.3.1).")


@operation("DW_OP_lit{N}", "-- V:value", "A.2.5.4.3.1 (1)", family=range(32))
def lit(ev: Evaluation, number: int) -> Value:
    """Push a small number with the generic type."""
    return Value(ev.generic, number & ev.generic.mask)


def constant(ev: Evaluation, number: int) -> Value:
    """Push the operand with the generic type, truncated to its size."""
    return Value(ev.generic, number & ev.generic.mask)


operation("DW_OP_const1u", "-- V:value", "A.2.5.4.3.1 (2)", "U:u1")(constant)
operation("DW_OP_const2u", "-- V:value", "A.2.5.4.3.1 (2)", "U:u2")(constant)
operation("DW_OP_const4u", "-- V:value", "A.2.5.4.3.1 (2)", "U:u4")(constant)
operation("DW_OP_const8u", "-- V:value", "A.2.5.4.3.1 (2)", "U:u8")(constant)
operation("DW_OP_const1s", "-- V:value", "A.2.5.4.3.1 (3)", "S:s1")(constant)
operation("DW_OP_const2s", "-- V:value", "A.2.5.4.3.1 (3)", "S:s2")(constant)
operation("DW_OP_const4s", "-- V:value", "A.2.5.4.3.1 (3)", "S:s4")(constant)
operation("DW_OP_const8s", "-- V:value", "A.2.5.4.3.1 (3)", "S:s8")(constant)
operation("DW_OP_constu", "-- V:value", "A.2.5.4.3.1 (4)", "N:uleb")(constant)
operation("DW_OP_consts", "-- V:value", "A.2.5.4.3.1 (5)", "N:sleb")(constant)


@operation(
    "DW_OP_constx", "-- V:value", "A.2.5.4.3.1 (6)", "I:uleb", since="5", needs="unit", aliases="GNU_const_index"
)
def constx(ev: Evaluation, index: int) -> Value:
    """Push entry I of .debug_addr with the generic type, as a plain constant."""
    return Value(ev.generic, ev.need("unit").address(index) & ev.generic.mask)


@operation(
    "DW_OP_const_type", "-- V:value", "A.2.5.4.3.1 (7)", "DR:uleb B:block1", since="5", needs="unit",
    aliases="GNU_const_type",
)  # fmt: skip
def const_type(ev: Evaluation, offset: int, block: bytes) -> Value:
    """Push the value of the base type at DR whose bytes are B."""
    kind = ev.base_type(offset)
    if len(block) != kind.byte_size:
        message = f"the block has {len(block)} bytes, the type {kind} has {kind.byte_size}"
        raise IllFormed("bad_size", message, spec="A.2.5.4.3.1 (7)")
    return Value(kind, int.from_bytes(block, kind.byte_order or ev.target.byte_order) & kind.mask)


def _bounded(number: Bits, count: int, what: str, attribute: str, spec: str) -> None:
    def error_at(position: int) -> IllFormed:
        message = f"the current {what} {b.select(number, position)} is not below {count}, the value of {attribute}"
        return IllFormed("bad_operand", message, spec=spec)

    largest = number if type(number) is int else number.max()  # type: ignore[union-attr]
    if largest >= count:
        refuse(number >= count, error_at)


@operation("DW_OP_LLVM_push_lane", "-- V:value", "A.2.5.4.3.1 (8)", needs="lane")
def push_lane(ev: Evaluation) -> Value:
    """Push the current lane with the generic type."""
    value = ev.lane
    if value is None:
        lane: Bits = ev.lanes.lane  # type: ignore[assignment]
        if type(lane) is not int or lane >= ev.lane_count:
            _bounded(lane, ev.lane_count, "lane", "DW_AT_LLVM_lanes", "A.2.5.4.3.1 (8)")
        value = ev.lane = Value(ev.generic, lane)
    return value


@operation("DW_OP_LLVM_push_iteration", "-- V:value", "A.2.5.4.3.1 (9)", needs="iteration")
def push_iteration(ev: Evaluation) -> Value:
    """Push the current iteration with the generic type."""
    iteration: Bits = ev.need("iteration")
    _bounded(iteration, ev.context.iteration_count, "iteration", "DW_AT_LLVM_iterations", "A.2.5.4.3.1 (9)")
    return Value(ev.generic, iteration)


section("Arithmetic and logical operations (A.2.5.4.3.2; DWARF 5 section 2.5.1.4).")


@operation("DW_OP_abs", "A:value -- R:value", "DWARF 5, 2.5.1.4 (1)")
def abs_(_ev: Evaluation, value: Value) -> Value:
    """Push the absolute value of A; the generic type is read as signed."""
    return Value(value.type, computable(value).abs(value.bits))


binary("DW_OP_and", "integral", 2, "and_", "Push the bitwise and.")
binary("DW_OP_div", "value", 3, "div", "Push A / B; the generic type is read as signed.")
binary("DW_OP_minus", "value", 4, "sub", "Push A - B.")
binary("DW_OP_mod", "integral", 5, "mod", "Push A modulo B; the generic type is unsigned here.")
binary("DW_OP_mul", "value", 6, "mul", "Push A * B.")


@operation("DW_OP_neg", "A:value -- R:value", "DWARF 5, 2.5.1.4 (7)")
def neg(_ev: Evaluation, value: Value) -> Value:
    """Push -A."""
    return Value(value.type, computable(value).neg(value.bits))


@operation("DW_OP_not", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (8)")
def not_(_ev: Evaluation, value: Value) -> Value:
    """Push the bitwise complement."""
    return Value(value.type, b.invert(value.bits, value.type.mask))


binary("DW_OP_or", "integral", 9, "or_", "Push the bitwise or.")
binary("DW_OP_plus", "value", 10, "add", "Push A + B.")


@operation("DW_OP_plus_uconst", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (11)", "N:uleb")
def plus_uconst(_ev: Evaluation, value: Value, number: int) -> Value:
    """Push A + N, where N has the type of A."""
    numbers = computable(value)
    return Value(value.type, numbers.add(value.bits, number & value.type.mask))


binary("DW_OP_shl", "integral", 12, "shl", "Push A shifted left by B bits.")
binary("DW_OP_shr", "integral", 13, "shr", "Push A shifted right by B bits, filling with zeros.")
binary("DW_OP_shra", "integral", 14, "shra", "Push A shifted right by B bits, filling with its sign.")
binary("DW_OP_xor", "integral", 15, "xor", "Push the bitwise exclusive or.")


section("Type conversion operations (A.2.5.4.3.3; DWARF 5 section 2.5.1.6).")


def _target(ev: Evaluation, offset: int) -> BaseType:
    return ev.base_type(offset) if offset else ev.generic


@operation(
    "DW_OP_convert", "A:value -- R:value", "DWARF 5, 2.5.1.6 (1)", "DR:uleb", since="5", needs="unit",
    aliases="GNU_convert",
)  # fmt: skip
def converted(ev: Evaluation, value: Value, offset: int) -> Value:
    """Convert A to the base type at DR, or to the generic type where DR is 0."""
    kind = _target(ev, offset)
    if kind == value.type:
        return value
    if value.type.arithmetic is None or kind.arithmetic is None:
        message = f"the standard defines no conversion from {value.type} to {kind}"
        raise IllFormed("unsupported_type_operation", message, spec="DWARF 5, 2.5.1.6 (1)")
    return Value(kind, value.type.arithmetic.convert_to(kind.arithmetic, value.bits))


@operation(
    "DW_OP_reinterpret", "A:value -- R:value", "DWARF 5, 2.5.1.6 (2)", "DR:uleb", since="5", needs="unit",
    aliases="GNU_reinterpret",
)  # fmt: skip
def reinterpret(ev: Evaluation, value: Value, offset: int) -> Value:
    """Read the bits of A as a value of the base type at DR, or of the generic type where DR is 0."""
    kind = _target(ev, offset)
    if kind.bit_size != value.type.bit_size:
        message = f"the type {value.type} has {value.type.bit_size} bits, the type {kind} has {kind.bit_size}"
        raise IllFormed("bad_size", message, spec="DWARF 5, 2.5.1.6 (2)")
    bits = value_stream(ev, value)
    if kind.byte_order not in (None, ev.target.byte_order):
        bits = b.byte_swapped(bits, kind.byte_size)
    return Value(kind, bits)


section("Special value operations (A.2.5.4.3.4): values read from registers and memory.")


equivalent(
    "DW_OP_regval_type", "DW_OP_regx {R}; DW_OP_deref_type * {DR}", "-- V:value", "A.2.5.4.3.4 (1)", "R:uleb DR:uleb",
    since="5", needs="thread frame unit", aliases="GNU_regval_type",
)  # fmt: skip


def dereference(
    ev: Evaluation, location: Location, kind: BaseType, bit_size: int | None = None
) -> Value | ImplicitPointerValue:
    """Return the value of a type at a location; of some of its low bits only, the others are 0."""
    size = kind.bit_size if bit_size is None else bit_size
    if ev.target.byte_order == "big":
        location = object_location(location, size, ev.rules, "big")
    bits = ev.accessor.read_plain(location, size)
    if bits is None:
        location = object_location(location, size, ev.rules, ev.target.byte_order)
        pointer = ev.accessor.pointer_at(location, size)
        if pointer is not None:
            if ev.rules.implicit_pointer == "eager":
                raise pointer_misuse("it cannot be dereferenced")
            default = pointer.space.number == ev.target.default_space.number
            return ImplicitPointerValue(ev.generic if default else types.unsigned(pointer.bit_size), pointer)
        bits = ev.read(location, size)
    if kind.byte_order is not None and kind.byte_order != ev.target.byte_order:
        bits = b.byte_swapped(bits, kind.byte_size)
    return Value(kind, bits)


@operation("DW_OP_deref", "L:location -- V:value", "A.2.5.4.3.4 (2)")
def deref(ev: Evaluation, location: Location) -> Value | ImplicitPointerValue:
    """Push the value of the generic type at L."""
    return dereference(ev, location, ev.generic)


@operation("DW_OP_deref_size", "L:location -- V:value", "A.2.5.4.3.4 (3)", "S:u1")
def deref_size(ev: Evaluation, location: Location, size: int) -> Value | ImplicitPointerValue:
    """Push the S bytes at L, zero-extended to the generic type."""
    width = size * 8
    if 0 < width < ev.generic.bit_size and ev.target.byte_order == "little":  # as nearly always
        bits = ev.accessor.read_plain(location, width)
        if bits is not None:
            return Value(ev.generic, bits)
    if width >= ev.generic.bit_size:
        if width > ev.generic.bit_size and ev.rules.wide_dereference == "ill_formed":
            message = f"the size {size} is larger than the generic type of {ev.generic.byte_size} bytes"
            raise IllFormed("bad_size", message, spec="DWARF 5, 2.5.1.3 (8)")
        return dereference(ev, location, ev.generic)
    if size == 0:
        raise IllFormed("bad_size", "a value of 0 bytes has no type", spec="A.2.5.4.3.4 (3)")
    return dereference(ev, location, ev.generic, width)


@operation(
    "DW_OP_deref_type", "L:location -- V:value", "A.2.5.4.3.4 (4)", "S:u1 DR:uleb", since="5", needs="unit",
    aliases="GNU_deref_type",
)  # fmt: skip
def deref_type(ev: Evaluation, location: Location, size: int | None, offset: int) -> Value | ImplicitPointerValue:
    """Push the value at L of the base type at DR, which has S bytes."""
    kind = ev.base_type(offset)
    if size is not None and size != kind.byte_size:
        message = f"the size {size} is not that of the type {kind}, {kind.byte_size} bytes"
        raise IllFormed("bad_size", message, spec="A.2.5.4.3.4 (4)")
    return dereference(ev, location, kind)


_XDEREF = "DW_OP_swap; DW_OP_LLVM_form_aspace_address; "

equivalent(
    "DW_OP_xderef", _XDEREF + "DW_OP_deref", "AS:integral A:integral -- V:value", "A.2.5.4.3.4 (5)", deprecated=True,
    aliases="aspace_deref",
)  # fmt: skip
equivalent(
    "DW_OP_xderef_size", _XDEREF + "DW_OP_deref_size {S}", "AS:integral A:integral -- V:value", "A.2.5.4.3.4 (6)",
    "S:u1", deprecated=True, aliases="aspace_deref_size",
)  # fmt: skip
equivalent(
    "DW_OP_xderef_type", _XDEREF + "DW_OP_deref_type {S} {DR}", "AS:integral A:integral -- V:value",
    "A.2.5.4.3.4 (7)", "S:u1 DR:uleb", since="5", needs="unit", deprecated=True, aliases="aspace_deref_type",
)  # fmt: skip


@operation(
    "DW_OP_entry_value", "-- V:value", "A.2.5.4.3.4 (8)", "E:expression", since="5", needs="frame", circular=True,
    deprecated=True, aliases="GNU_entry_value",
)  # fmt: skip
def entry_value(ev: Evaluation, block: bytes) -> Value:
    """Push the value that the expression E had on entry to the subprogram, in the calling frame."""
    frame = ev.frame
    known = frame.entry_value(block, ev.lanes)
    if known is not None:
        return known
    expression = decode(block, ev.expression.dialect, ev.expression.form, section=ev.expression.section)
    caller = frame.caller()
    last: list[Step] = []

    def remember(_ev: Evaluation, _expression: object, step: Step, *_stacks: object) -> None:
        last[:] = [step]

    changes = {"frame": caller, "object": None, "initial_stack": (), "result_kind": None}
    result = ev.evaluate(expression, remember, pc=getattr(caller, "place", None), **changes)
    if type(result) is Value:
        return result
    if type(result) is Location and last and last[0].operation.name == "DW_OP_regx":
        register = _register_of(ev, last[0].operands[-1])
        return Value(register, ev.read(result, register.bit_size))
    message = "the expression of an entry value must give a value, or end with the name of a register"
    raise IllFormed("bad_result_kind", message, spec="A.2.5.4.3.4 (8)")


def _register_of(ev: Evaluation, number: int) -> BaseType:
    """Return the base type of a register: generic if it fits, else unsigned; of a register with lanes, a vector."""
    register: TargetRegister | None = ev.target.register(number)
    if register is None or register.bit_size == ev.generic.bit_size:
        return ev.generic
    if register.lane_bits:
        return types.BaseType("unsigned", register.lane_bits, vector_size=register.bit_size // register.lane_bits)
    return types.unsigned(register.bit_size)


@operation(
    "DW_OP_GNU_parameter_ref", "-- V:value", "GCC, DW_OP_GNU_parameter_ref", "DR:u4", needs="frame unit", circular=True
)
def parameter_ref(ev: Evaluation, offset: int) -> Value:
    """Push the value that the formal parameter at DR had on entry, as the call site describes it."""
    return ev.frame.entry_parameter(DieReference("unit", offset), ev.lanes)


@operation("DW_OP_GNU_variable_value", "-- V:value", "GCC, DW_OP_GNU_variable_value", "DR:ref", needs="unit")
def variable_value(ev: Evaluation, offset: int) -> Value | ImplicitPointerValue:
    """Push the value of the variable at DR in .debug_info, with the generic type."""
    die = ev.need("unit").die(DieReference("info", offset))
    if die.location is not None:
        return dereference(ev, evaluate_location(ev, die), ev.generic)
    if die.const_value is not None:
        return Value(ev.generic, block_stream(ev, die.const_value) & ev.generic.mask)
    message = "the variable has neither a location nor a constant value"
    raise IllFormed("bad_operand", message, spec="GCC, DW_OP_GNU_variable_value")
