"""Operations that make location descriptions of one storage (A.2.5.4.4.1 to A.2.5.4.4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.dwarf_constants import (
    DW_EH_PE_datarel,
    DW_EH_PE_funcrel,
    DW_EH_PE_indirect,
    DW_EH_PE_pcrel,
    DW_EH_PE_textrel,
)
from dwarfgpu.errors import EvaluationError, IllFormed, MissingContext, Unsupported, shown
from dwarfgpu.expr import convert, locations, types
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.convert import memory, moved, object_location, pointed_to, refuse_entry, to_value
from dwarfgpu.expr.instruction import Expression
from dwarfgpu.expr.locations import (
    UNDEFINED,
    Entry,
    Implicit,
    ImplicitPointer,
    Location,
    Memory,
    Register,
    pointer_misuse,
    union,
)
from dwarfgpu.expr.stack_operations import dereference
from dwarfgpu.expr.table import equivalent, operation, section
from dwarfgpu.expr.types import ImplicitPointerValue, Value
from dwarfgpu.lanes import uniform
from dwarfgpu.targets.target import AddressSpace, Scope

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.expr.evaluation import Evaluation


section("General location description operations (A.2.5.4.4.1).")


@operation("DW_OP_LLVM_offset", "L:location B:integral -- L:location", "A.2.5.4.4.1 (1)")
def offset(ev: Evaluation, location: Location, displacement: Value) -> Location:
    """Move every place of L by B bytes."""
    number = displacement.displacement()
    return moved(ev, location, number * 8 if type(number) is int else b.scaled(number, 8))


equivalent(
    "DW_OP_LLVM_offset_uconst", "DW_OP_constu {B}; DW_OP_LLVM_offset", "L:location -- L:location", "A.2.5.4.4.1 (2)",
    "B:uleb", aliases="LLVM_offset_constu",
)  # fmt: skip


@operation("DW_OP_LLVM_bit_offset", "L:location B:integral -- L:location", "A.2.5.4.4.1 (3)", unit=1)
def bit_offset(ev: Evaluation, location: Location, displacement: Value) -> Location:
    """Move every place of L by B bits."""
    return moved(ev, location, b.scaled(displacement.displacement(), 1), "A.2.5.4.4.1 (3)")


@operation(
    "DW_OP_push_object_address", "-- L:location", "A.2.5.4.4.1 (4)", since="3", needs="object",
    aliases="push_object_location",
)  # fmt: skip
def push_object_address(ev: Evaluation) -> Location:
    """Push the location of the current object."""
    location: Location = ev.need("object")
    return location


@operation("DW_OP_LLVM_call_frame_entry_reg", "-- L:location", "A.2.5.4.4.1 (5)", "R:uleb", needs="frame")
def call_frame_entry_reg(ev: Evaluation, number: int) -> Location:
    """Push the location that holds the value register R had on entry to the subprogram."""
    return ev.frame.entry_register(number, ev.lanes)


@operation("DW_OP_multiloc", "A:location B:location -- L:location", "DWARF 6 (260227.1)", since="6")
def multiloc(ev: Evaluation, first: Location, second: Location) -> Location:
    """Push a location that is in the places of both A and B.

    OPEN: the proposal makes a storage of its own, with an offset of 0, and lets a consumer flatten it. Here it is flat:
    an offset moves each place within its own storage.
    """
    return union((first, second), ev.lanes.count)


section("Undefined location description operations (A.2.5.4.4.2).")


@operation("DW_OP_LLVM_undefined", "-- L:location", "A.2.5.4.4.2 (1)", storage="undefined")
def undefined(_ev: Evaluation) -> Location:
    """Push the undefined location."""
    return UNDEFINED


section("Memory location description operations (A.2.5.4.4.3).")


@operation("DW_OP_addr", "-- L:location", "A.2.5.4.4.3 (1)", "A:address", storage="memory")
def addr(ev: Evaluation, address: int) -> Location:
    """Push the memory at address A of the default address space, relocated to where the code object is loaded."""
    if ev.unit is not None:
        address = ev.unit.relocated(address)
    return memory(ev, address & ev.generic.mask)


@operation(
    "DW_OP_addrx", "-- L:location", "A.2.5.4.4.3 (2)", "I:uleb", since="5", needs="unit", storage="memory",
    aliases="GNU_addr_index",
)  # fmt: skip
def addrx(ev: Evaluation, index: int) -> Location:
    """Push the memory at the address that entry I of .debug_addr holds."""
    return memory(ev, ev.need("unit").address(index) & ev.generic.mask)


def space_of(ev: Evaluation, identifier: Value, spec: str) -> AddressSpace:
    """Return the address space that a value names; raise `Diverge` if slots name different ones."""
    number = uniform(identifier.bits)
    space = ev.target.space(number)
    if space is None:
        raise IllFormed("bad_address_space", f"{shown(number)} is not an address space of {ev.target.name}", spec=spec)
    return space


def at_address(ev: Evaluation, space: AddressSpace, address: Bits) -> Location:
    """Return the memory at an address, which is truncated to the address size of the address space."""
    address = b.resized(address, space.address_bits)
    wave = lane = None  # of the current context: a later access goes to the thread and lane it was made for
    if space.scope not in (Scope.PROCESS, Scope.AGENT):
        wave = ev.need("thread")
    if space.scope == Scope.LANE:
        if ev.lanes.lane is None:
            message = f"the address space {space.name} belongs to a lane, and there is no current lane"
            raise MissingContext("lane", message, spec="A.2.5.4.4.3 (3)")
        lane = ev.lanes.lane
    elif space.scope == Scope.DEPENDS:
        lane = ev.lanes.lane  # such an address may turn out to be one of a lane when it is accessed
    return locations.at(Memory(space, wave, lane), b.settled(b.scaled(address, 8)))


@operation("DW_OP_LLVM_form_aspace_address", "A:any AS:integral -- L:location", "A.2.5.4.4.3 (3)")
def form_aspace_address(ev: Evaluation, entry: Entry, identifier: Value) -> Location:
    """Push the memory at address A of the address space AS."""
    space = space_of(ev, identifier, "A.2.5.4.4.3 (3)")
    if isinstance(entry, ImplicitPointerValue):
        if entry.pointer.space.number != space.number:
            pointee = entry.pointer.space.name
            raise pointer_misuse(f"it points into {pointee}, not into {space.name}")
        return pointed_to(ev, entry.pointer)
    address = to_value(ev, entry)
    if address is None or not address.type.is_integral:
        kind = "wrong_kind" if address is None else "integral_type_required"
        spec = "A.2.5.4.4.3 (3)"
        refuse_entry(
            ev,
            entry,
            lambda description: IllFormed(kind, f"an address is an integral value, found {description}", spec=spec),
        )
    return at_address(ev, space, address.bits)


# DWARF 6 proposal 013 has the address on top, as DW_OP_xderef has.
equivalent(
    "DW_OP_mem", "DW_OP_swap; DW_OP_LLVM_form_aspace_address", "AS:integral A:any -- L:location",
    "DWARF 6 proposal 013", since="6",
)  # fmt: skip


@operation(
    "DW_OP_form_tls_address", "TA:integral -- L:location", "A.2.5.4.4.3 (4)", since="3", needs="thread frame",
    aliases="form_tls_location GNU_push_tls_address",
)  # fmt: skip
def form_tls_address(ev: Evaluation, offset: Value) -> Location:
    """Push the location of the thread-local storage address TA of the current thread."""
    return ev.frame.thread_local(uniform(offset.bits), ev.lanes, ev.context.unit)


@operation("DW_OP_call_frame_cfa", "-- L:location", "A.2.5.4.4.3 (5)", since="3", needs="frame", circular=True)
def call_frame_cfa(ev: Evaluation) -> Location:
    """Push the location of the Canonical Frame Address."""
    return ev.frame.cfa(ev.lanes)


@operation("DW_OP_fbreg", "-- L:location", "A.2.5.4.4.3 (6)", "B:sleb", needs="frame", other_sections=True)
def fbreg(ev: Evaluation, displacement: int) -> Location:
    """Push the location B bytes from the frame base of the subprogram."""
    return moved(ev, frame_base(ev), displacement * 8, "A.2.5.4.4.3 (6)")


def frame_base(ev: Evaluation) -> Location:
    """Return DW_AT_frame_base (A.3.3.5) as one memory location; a register means the address in it."""
    base = ev.frame.frame_base(ev.lanes)
    if isinstance(base, Expression):
        if any(instruction.operation.name == "DW_OP_fbreg" for instruction in base.instructions):
            raise IllFormed("bad_operand", "DW_AT_frame_base must not use DW_OP_fbreg", spec="A.3.3.5 (2)")
        evaluated: Location = ev.evaluate(base, object=None, initial_stack=(), result_kind="location")
        base = evaluated
    place = base.single
    if place is not None and type(place.storage) is Register:  # as DW_OP_bregx R, 0 has it
        size = ev.generic.bit_size
        address = object_location(locations.at(place.storage), size, ev.rules, ev.target.byte_order)
        return memory(ev, ev.read(address, size))
    if place is None or type(place.storage) is not Memory:
        message = "DW_AT_frame_base must be one memory location or one register"
        raise IllFormed("wrong_kind", message, spec="A.3.3.5 (2)")
    return base


def _register_plus(ev: Evaluation, number: int, displacement: int, space: AddressSpace) -> Location:
    """Return the memory at the contents of a register plus a displacement."""
    size = space.address_bits
    value = dereference(ev, ev.frame.register(number, ev.lanes), types.unsigned(size))
    if isinstance(value, ImplicitPointerValue):
        raise pointer_misuse("it has no address to add to")
    mask = (1 << size) - 1
    return at_address(ev, space, b.add(value.bits, displacement & mask, mask))


@operation(
    "DW_OP_breg{N}", "-- L:location", "A.2.5.4.4.3 (7)", "B:sleb", needs="thread frame", storage="memory",
    family=range(32),
)  # fmt: skip
def breg(ev: Evaluation, number: int, displacement: int) -> Location:
    """Push the memory at the contents of the register plus B, in the default address space."""
    return _register_plus(ev, number, displacement, ev.target.default_space)


operation("DW_OP_bregx", "-- L:location", "A.2.5.4.4.3 (8)", "R:uleb B:sleb", needs="thread frame", storage="memory")(
    breg
)


@operation(
    "DW_OP_LLVM_aspace_bregx", "AS:integral -- L:location", "A.2.5.4.4.3 (9)", "R:uleb B:sleb", needs="thread frame"
)
def aspace_bregx(ev: Evaluation, identifier: Value, number: int, displacement: int) -> Location:
    """Push the memory at the contents of register R plus B, in the address space AS."""
    return _register_plus(ev, number, displacement, space_of(ev, identifier, "A.2.5.4.4.3 (9)"))


_APPLICATIONS = {
    DW_EH_PE_pcrel: "pc-relative",
    DW_EH_PE_textrel: "text-relative",
    DW_EH_PE_datarel: "data-relative",
    DW_EH_PE_funcrel: "function-relative",
}


@operation("DW_OP_GNU_encoded_addr", "-- L:location", "GCC, DW_OP_GNU_encoded_addr", "P:encoded", storage="memory")
def encoded_addr(ev: Evaluation, pointer: tuple[int, int]) -> Location:
    """Push the memory at a pointer in the encoding of exception tables."""
    encoding, number = pointer
    application = encoding & 0x70
    if application:
        name = _APPLICATIONS.get(application, f"application {application:#x}")
        message = f"a {name} pointer needs an address that an expression does not have"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    location = addr(ev, number & ev.generic.mask)
    if encoding & DW_EH_PE_indirect:
        return memory(ev, ev.read(location, ev.generic.bit_size))
    return location


section("Register location description operations (A.2.5.4.4.4).")


@operation(
    "DW_OP_regx", "-- L:location", "A.2.5.4.4.4 (2)", "R:uleb", since="3", needs="thread frame", ends_location=True,
    storage="register",
)  # fmt: skip
def regx(ev: Evaluation, number: int) -> Location:
    """Push the location that holds register R in the current call frame."""
    return ev.frame.register(number, ev.lanes)


equivalent(
    "DW_OP_reg{N}", "DW_OP_regx {N}", "-- L:location", "A.2.5.4.4.4 (1)", needs="thread frame", ends_location=True,
    storage="register", family=range(32),
)  # fmt: skip


@operation("DW_OP_GNU_uninit", "--", "GCC, DW_OP_GNU_uninit", follows_location=True)
def uninit(_ev: Evaluation) -> None:
    """Mark the variable as not initialised yet; where it lives does not change."""


section("Implicit location description operations (A.2.5.4.4.5).")


@operation(
    "DW_OP_implicit_value", "-- L:location", "A.2.5.4.4.5 (1)", "V:block", since="4", ends_location=True,
    storage="implicit",
)  # fmt: skip
def implicit_value(ev: Evaluation, block: bytes) -> Location:
    """Push an implicit location that holds the bytes V."""
    limit = ev.context.limits.block
    if len(block) > limit:
        message = f"an implicit value of {len(block)} bytes is larger than the limit of {limit}"
        raise EvaluationError("limit_exceeded", message, hint="raise the limit `block`")
    return locations.at(Implicit(convert.block_stream(ev, block), 8 * len(block)))


@operation("DW_OP_stack_value", "*", "A.2.5.4.4.5 (2)", since="4", ends_location=True)
def stack_value(ev: Evaluation) -> None:
    """Push an implicit location that holds the value popped; of an implicit pointer value, the pointer's location."""
    if not ev.stack:
        raise IllFormed("stack_underflow", "the stack is empty, a value is needed", spec="A.2.5.4.4.5 (2)")
    entry: Entry = ev.stack[-1]
    if type(entry) is ImplicitPointerValue:
        ev.stack[-1] = locations.at(entry.pointer)
        return
    value = entry if type(entry) is Value else convert.to_value(ev, entry)
    if value is None:
        kind = "incomplete_composite" if type(entry) is locations.IncompleteComposite else "wrong_kind"
        convert.refuse_entry(
            ev,
            entry,
            lambda description: IllFormed(kind, f"a value is needed, found {description}", spec="A.2.5.4.4.5 (2)"),
        )
    ev.stack[-1] = convert.implicit(ev, value)


def _pointer(ev: Evaluation, offset: int, displacement: int, space: AddressSpace) -> Location:
    pointer = ImplicitPointer(DieReference("info", offset), displacement, space, ev.unit, space.address_bits)
    if ev.rules.implicit_pointer == "eager":
        convert.pointed_to(ev, pointer)
    return locations.at(pointer)


@operation(
    "DW_OP_implicit_pointer", "-- L:location", "A.2.5.4.4.5 (3)", "DR:ref B:sleb", since="5", needs="unit",
    ends_location=True, storage="pointer", aliases="GNU_implicit_pointer",
)  # fmt: skip
def implicit_pointer(ev: Evaluation, offset: int, displacement: int) -> Location:
    """Push a pointer that was optimised away, to B bytes into the object of the entry at DR in .debug_info."""
    return _pointer(ev, offset, displacement, ev.target.default_space)


@operation(
    "DW_OP_LLVM_aspace_implicit_pointer", "AS:integral -- L:location", "A.2.5.4.4.5 (4)", "DR:ref B:sleb", needs="unit",
    storage="pointer",
)  # fmt: skip
def aspace_implicit_pointer(ev: Evaluation, identifier: Value, offset: int, displacement: int) -> Location:
    """Push a pointer into the address space AS that was optimised away, as DW_OP_implicit_pointer does."""
    return _pointer(ev, offset, displacement, space_of(ev, identifier, "A.2.5.4.4.5 (4)"))
