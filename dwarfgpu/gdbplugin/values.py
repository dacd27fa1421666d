"""Values of the library as values of GDB: where GDB can reach one it is an lvalue, else a copy of the bytes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.backends.gdb.process import watch
from dwarfgpu.dwarf_constants import DW_AT_decl_line, DW_ATE_float
from dwarfgpu.errors import UsageError
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import (
    Array,
    Base,
    Enumeration,
    Function,
    Pointer,
    Qualified,
    Struct,
    Subrange,
    Typedef,
    Void,
)
from dwarfgpu.program.types.sizes import known_size, resolved
from dwarfgpu.program.variables.reasons import Unavailable
from dwarfgpu.program.variables.variable import Variable

if TYPE_CHECKING:
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.quantity import Quantity


# --- Types of a program as GDB has them ---------------------------------------------------------------
# GDB finds a type by the name that it has where a frame stands; of two with one name it is the one of the
# frame's own unit. What has no name is made of what has one. A type that was found is kept until a file is
# loaded or forgotten.

FLOATS = ("float", "double", "long double")
DEEPEST = 32
"""Through how many types one may go that GDB does not know by a name."""
_KEYWORD = {"class": "struct", "interface": "struct"}


class NotInGdb(Exception):
    """GDB has no such type."""


class GdbTypes:
    """The types that were asked for."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Type, Any]] = {}
        self._files = -1

    def of(self, kind: Type, frame: Any, variable: Variable | None = None) -> Any:
        """GDB's type, seen from one of its frames; that of its symbol for a variable which GDB knows too."""
        if self._files != watch().files:
            self._files = watch().files
            self._known.clear()
        known = self._known.get(id(kind))
        if known is not None:
            return known[1]
        found = None if variable is None else _of_symbol(variable, frame, kind)
        if found is None:
            found = _TypeFinder(frame).found(kind)
        self._known[id(kind)] = kind, found
        return found


def block_of(frame: Any) -> Any:
    """The innermost block in which a frame of GDB stands; None where GDB knows nothing of its code."""
    try:
        return frame.block()
    except (gdb.error, RuntimeError):
        return None


def _of_symbol(variable: Variable, frame: Any, kind: Type) -> Any:
    """The type of the variable that GDB finds by its name, if that has the same size."""
    symbol = None
    block = block_of(frame)
    with suppress(gdb.error):
        symbol = gdb.lookup_symbol(variable.name, block)[0] if block is not None else None
    if symbol is None or symbol.type is None or _has_own_bounds(symbol.type):
        return None
    line = variable.die.find_number(DW_AT_decl_line)
    if line is not None and symbol.line and symbol.line != line.value:
        return None  # one of another block
    return symbol.type if symbol.type.sizeof == known_size(kind) else None


def _has_own_bounds(theirs: Any) -> bool:
    """Whether each value of the type has bounds of its own."""
    return bool(theirs.strip_typedefs().code == gdb.TYPE_CODE_ARRAY and is_dynamic(theirs))


def is_dynamic(theirs: Any) -> bool:
    """Whether GDB reads memory to find out what a value of the type consists of, so that bytes alone are none."""
    return bool(theirs.strip_typedefs().dynamic)


class _TypeFinder:
    """Looks for the types of one frame."""

    def __init__(self, frame: Any) -> None:
        self.block = block_of(frame)
        self.architecture = frame.architecture()

    def found(self, kind: Type, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise NotInGdb(f"the type {safe_text(kind)} leads through too many others")
        if isinstance(kind, Void):
            return self.named("void")
        if isinstance(kind, Qualified):
            inner = self.found(kind.target, depth + 1)
            return {"const": inner.const, "volatile": inner.volatile}.get(kind.word, lambda: inner)()
        size = known_size(kind)
        if isinstance(kind, Pointer):
            return self._pointer(kind, depth)
        if isinstance(kind, Array):
            return self._array(kind, depth)
        for name in _names(kind):
            found = self.named(name)
            if found is not None and found.sizeof == size and not _has_own_bounds(found):
                return found
        if isinstance(kind, Base):
            return self._base(kind, size)
        if isinstance(kind, (Typedef, Subrange)):
            return self.found(kind.target, depth + 1)
        if isinstance(kind, Enumeration):
            return self._integer(size)
        raise NotInGdb(f"GDB has no type {safe_text(kind)}")

    def named(self, name: str) -> Any:
        """The type with a name; None if there is none."""
        for arguments in ((name, self.block), (name,)) if self.block is not None else ((name,),):
            with suppress(gdb.error):
                return gdb.lookup_type(*arguments)
        return None

    def _pointer(self, kind: Pointer, depth: int) -> Any:
        try:
            target = self.found(kind.target, depth + 1)
        except NotInGdb:
            target = self.named("void")
        found = target.reference() if kind.is_reference else target.pointer()
        # one of another address space may be shorter than any that GDB has
        return found if found.sizeof == kind.byte_size else self._integer(kind.byte_size)

    def _array(self, kind: Array, depth: int) -> Any:
        if kind.is_dynamic or kind.column_major:
            raise NotInGdb(f"GDB has no type {safe_text(kind)}")
        found = self.found(kind.element, depth + 1)
        for dimension in reversed(kind.dimensions):
            length, lower = dimension.length, dimension.lower if isinstance(dimension.lower, int) else 0
            if length is None:
                raise NotInGdb(f"GDB has no type {safe_text(kind)}")
            found = found.vector(length - 1) if kind.is_vector else found.array(lower, lower + length - 1)
        return found

    def _base(self, kind: Base, size: int | None) -> Any:
        if kind.vector_size:
            return self.found(kind.element, 1).vector(kind.vector_size - 1)
        if kind.encoding == DW_ATE_float:
            for name in FLOATS:
                found = self.named(name)
                if found is not None and found.sizeof == size:
                    return found
            raise NotInGdb(f"GDB has no type {safe_text(kind)}")
        return self._integer(size, is_signed=kind.encoding in (5, 6))  # DW_ATE_signed, DW_ATE_signed_char

    def _integer(self, size: int | None, *, is_signed: bool = False) -> Any:
        try:
            return self.architecture.integer_type(8 * (size or 0), is_signed)
        except ValueError:
            raise NotInGdb(f"GDB has no integers of {size} bytes") from None


def _names(kind: Any) -> tuple[str, ...]:
    """What GDB may call a type."""
    name = getattr(kind, "name", None)
    if not name:
        return ()
    if isinstance(kind, Struct):
        return (f"{_KEYWORD.get(kind.kind, kind.kind)} {name}", name)
    return (f"enum {name}", name) if isinstance(kind, Enumeration) else (name,)


# --- Values of the library as values of GDB -----------------------------------------------------------

_types = GdbTypes()


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
