"""Values of the library as values of GDB: where GDB can reach one it is an lvalue, else a copy of the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.errors import UsageError
from dwarfgpu.gdbplugin.types import NotInGdb, Types, is_dynamic
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Function
from dwarfgpu.program.types.sizes import known_size, resolved
from dwarfgpu.program.variables.reasons import Unavailable
from dwarfgpu.program.variables.variable import Variable

if TYPE_CHECKING:
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.quantity import Quantity

_types = Types()


def value_of(quantity: Quantity, frame: Frame, chosen: Any, lane: int | None = None) -> Any:
    """What a variable or an expression is in a frame and a lane; ``chosen`` is the same frame of GDB."""
    found = quantity.object(lane)
    if isinstance(resolved(found.type), Function):
        return _function(found)
    kind = _type_of(found, quantity, chosen)
    address = found.address
    space = None if address is None else address.space
    if address is not None and space in (None, frame.target.default_space.number):
        return gdb.Value(int(address.value)).cast(kind.pointer()).dereference()
    if found.bit_size is not None:
        return gdb.Value(found.number()).cast(kind)
    register = _register(quantity, found, chosen, kind, lane)
    if register is not None:
        return register
    reading = found.read()
    if reading.undefined:
        reason = quantity.why(lane)
        raise _no_value(found, "a part of it is optimized out") if reason is None else Unavailable(reason)
    return _copied(found, int(reading.bits), kind)


def _type_of(found: Object, quantity: Quantity, chosen: Any) -> Any:
    variable = quantity if isinstance(quantity, Variable) and found.type is quantity.type else None
    try:
        if known_size(found.type) is None and isinstance(resolved(found.type), Array):
            elements = found.array()  # its bounds are those that it has now
            element = _types.of(elements.element, chosen)
            return element.array(elements.lower, elements.lower + elements.length - 1)
        return _types.of(found.type, chosen, variable)
    except NotInGdb as error:
        raise _no_value(found, str(error)) from None


def _no_value(found: Object, why: str) -> UsageError:
    message = f"GDB cannot have this value of the type {safe_text(found.type)}: {why}"
    return UsageError(message, kind="no_type", hint="`dwarfgpu eval` shows it")


def _function(found: Object) -> Any:
    address = found.address
    block = None if address is None else gdb.block_for_pc(int(address.value))
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        raise UsageError("GDB does not know the function", kind="no_type")
    return block.function.value()


def _register(quantity: Quantity, found: Object, chosen: Any, kind: Any, lane: int | None) -> Any:
    """The register, or the lane of it, that the value is; None where it is something else, or of another type."""
    parts = quantity.provenance(lane)
    part = parts[0] if len(parts) == 1 else None
    if part is None or part.register is None or part.bit or part.bit_size != found.bits():
        return None
    try:
        whole = chosen.read_register(part.register)
        value = whole if part.lane is None else whole[part.lane]
        return value if _fits(value.type.strip_typedefs(), kind.strip_typedefs()) else None
    except (gdb.error, ValueError):  # GDB has another name for it
        return None


def _fits(theirs: Any, ours: Any) -> bool:
    """Whether what has one type is shown as if it had the other."""
    if theirs.sizeof != ours.sizeof:
        return False
    if theirs.code == ours.code == gdb.TYPE_CODE_INT:
        return bool(theirs.is_signed == ours.is_signed) and theirs.sizeof > 1
    return bool(theirs == ours)


def _copied(found: Object, bits: int, kind: Any) -> Any:
    if is_dynamic(kind):  # GDB would end with an internal error
        raise _no_value(found, "it reads memory to know where the members are")
    order = found.place.storage.byte_order
    return gdb.Value(bits.to_bytes(kind.sizeof, order), kind)
