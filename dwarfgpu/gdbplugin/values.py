"""Values of the library as values of GDB: an lvalue if GDB can reach it, else a copy of the bytes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.dwarf_constants import DW_AT_decl_line, DW_ATE_float
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.gdb.process import selected_frame, watch
from dwarfgpu.program.frames.answers import Quantity, location_of
from dwarfgpu.program.frames.reasons import Unavailable, sources
from dwarfgpu.program.frames.variable import Variable
from dwarfgpu.program.language.arithmetic import generic_address
from dwarfgpu.program.types import model
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import known_size, resolved
from dwarfgpu.questions.settings import MAX_NUMBER

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.storage import Address
    from dwarfgpu.render.values import Look


FLOATS = ("float", "double", "long double")
MAX_KNOWN = 1 << 14
"""How many types are kept: an expression may make a new one each time."""
MAX_PARTS = 4096
"""In a value with more members and elements padding is not told from what is optimized out."""
DEEPEST = 32
"""How many types without a name for GDB a type may lead through."""
_KEYWORD = {"class": "struct", "interface": "struct"}


# --- Types --------------------------------------------------------------------------------------------------------
# GDB finds a type by its name at a frame; of two types with one name it finds that of the frame's own unit.
# A type without a name is made of types that have one.


class NotInGdb(Exception):
    """The error that GDB has no such type."""


class GdbTypes:
    """GDB's types for those of the library, kept until a file is loaded or forgotten."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[model.Type, Any]] = {}
        self._files = -1

    def of(self, kind: model.Type, frame: Any, variable: Variable | None = None) -> Any:
        """Return GDB's type as seen from one of its frames, or that of GDB's symbol for the variable."""

        def find() -> Any:
            theirs = None if variable is None else _of_symbol(variable, frame, kind)
            return theirs or _TypeFinder(block_of(frame), frame.architecture()).of(kind)

        return self._kept(kind, find)

    def at(self, kind: model.Type, pc: int, architecture: Any) -> Any:
        """Return GDB's type as seen from an address of the program."""
        return self._kept(kind, lambda: _TypeFinder(gdb.block_for_pc(pc), architecture).of(kind))

    def _kept(self, kind: model.Type, find: Callable[[], Any]) -> Any:
        if self._files != watch().files or len(self._known) > MAX_KNOWN:
            self._files = watch().files
            self._known.clear()
        if id(kind) not in self._known:
            self._known[id(kind)] = kind, find()
        return self._known[id(kind)][1]


def block_of(frame: Any) -> Any:
    """Return the innermost block of a frame of GDB; None if GDB knows nothing of its code."""
    try:
        return frame.block()
    except (gdb.error, RuntimeError):
        return None


def _of_symbol(variable: Variable, frame: Any, kind: model.Type) -> Any:
    """Return the type of the variable that GDB finds by its name, if that has the same size."""
    symbol = None
    block = block_of(frame)
    with suppress(gdb.error):
        symbol = gdb.lookup_symbol(variable.name, block)[0] if block is not None else None
    if symbol is None or symbol.type is None or _has_own_bounds(symbol.type):
        return None
    line = variable.die.find_number(DW_AT_decl_line)
    if line is not None and symbol.line and symbol.line != line.value:
        return None  # a variable of another block
    return symbol.type if symbol.type.sizeof == known_size(kind) else None


def _has_own_bounds(theirs: Any) -> bool:
    """Whether each value of the type has bounds of its own."""
    return bool(theirs.strip_typedefs().code == gdb.TYPE_CODE_ARRAY and is_dynamic(theirs))


def is_dynamic(theirs: Any) -> bool:
    """Whether GDB reads memory to lay out a value of the type, so that its bytes alone are not enough."""
    return bool(theirs.strip_typedefs().dynamic)


class _TypeFinder:
    """Finds GDB's types for one frame."""

    def __init__(self, block: Any, architecture: Any) -> None:
        self.block = block
        self.architecture = architecture

    def of(self, kind: model.Type, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise NotInGdb(f"the type {safe_text(kind)} leads through too many others")
        if isinstance(kind, model.Void):
            return self.named("void")
        if isinstance(kind, model.Qualified):
            inner = self.of(kind.target, depth + 1)
            return {"const": inner.const, "volatile": inner.volatile}.get(kind.word, lambda: inner)()
        size = known_size(kind)
        if isinstance(kind, model.Pointer):
            return self._pointer(kind, depth)
        if isinstance(kind, model.Array):
            return self._array(kind, depth)
        for name in _names(kind):
            theirs = self.named(name)
            if theirs is not None and theirs.sizeof == size and not _has_own_bounds(theirs):
                return theirs
        if isinstance(kind, model.Base):
            return self._base(kind, size)
        if isinstance(kind, (model.Typedef, model.Subrange)):
            return self.of(kind.target, depth + 1)
        if isinstance(kind, model.Enumeration):
            return self._integer(size)
        raise NotInGdb(f"GDB has no type {safe_text(kind)}")

    def named(self, name: str) -> Any:
        """Return the type with a name; None if GDB has none."""
        for arguments in ((name, self.block), (name,)) if self.block is not None else ((name,),):
            with suppress(gdb.error):
                return gdb.lookup_type(*arguments)
        return None

    def _pointer(self, kind: model.Pointer, depth: int) -> Any:
        try:
            target = self.of(kind.target, depth + 1)
        except NotInGdb:
            target = self.named("void")
        pointer = target.reference() if kind.is_reference else target.pointer()
        # a pointer of another address space may be shorter than GDB's
        return pointer if pointer.sizeof == kind.byte_size else self._integer(kind.byte_size)

    def _array(self, kind: model.Array, depth: int) -> Any:
        if kind.is_dynamic or kind.column_major:
            raise NotInGdb(f"GDB has no type {safe_text(kind)}")
        array = self.of(kind.element, depth + 1)
        for dimension in reversed(kind.dimensions):
            length, lower = dimension.length, dimension.lower if isinstance(dimension.lower, int) else 0
            if length is None:
                raise NotInGdb(f"GDB has no type {safe_text(kind)}")
            array = array.vector(length - 1) if kind.is_vector else array.array(lower, lower + length - 1)
        return array

    def _base(self, kind: model.Base, size: int | None) -> Any:
        if kind.vector_size:
            return self.of(kind.element, 1).vector(kind.vector_size - 1)
        if kind.encoding == DW_ATE_float:
            for name in FLOATS:
                theirs = self.named(name)
                if theirs is not None and theirs.sizeof == size:
                    return theirs
            raise NotInGdb(f"GDB has no type {safe_text(kind)}")
        return self._integer(size, is_signed=kind.encoding in (5, 6))  # DW_ATE_signed, DW_ATE_signed_char

    def _integer(self, size: int | None, *, is_signed: bool = False) -> Any:
        try:
            return self.architecture.integer_type(8 * (size or 0), is_signed)
        except ValueError:
            raise NotInGdb(f"GDB has no integers of {size} bytes") from None


def _names(kind: Any) -> tuple[str, ...]:
    name = getattr(kind, "name", None)
    if not name:
        return ()
    if isinstance(kind, model.Struct):
        return (f"{_KEYWORD.get(kind.kind, kind.kind)} {name}", name)
    return (f"enum {name}", name) if isinstance(kind, model.Enumeration) else (name,)


# --- Values -------------------------------------------------------------------------------------------------------

gdb_types = GdbTypes()


def value_of(quantity: Quantity, frame: Frame, chosen: Any, lane: int | None = None) -> Any:
    """Return a variable or an expression as a value of GDB; ``chosen`` is GDB's frame for ``frame``."""
    content = quantity.object(lane)
    if isinstance(resolved(content.type), model.Function):
        return _function(content)
    kind = _type_of(content, quantity, chosen)
    address = content.address
    space = None if address is None else address.space
    if address is not None and space in (None, frame.target.default_space.number):
        return gdb.Value(int(address.value)).cast(kind.pointer()).dereference()
    if content.bit_size is not None:
        return gdb.Value(content.number()).cast(kind)
    inner = resolved(content.type)
    if isinstance(inner, model.Pointer) and inner.address_space:
        return _pointer_into_space(content, inner, chosen, frame)
    if frame.has_lanes and not _is_alike(inner, kind):
        raise _no_value(content, "GDB has no pointers as wide as those in it")
    lvalue = _in_space(address, kind, frame, lane)
    if lvalue is not None:
        return lvalue
    register = _register(content, chosen, kind)
    if register is not None:
        return register
    bits = _defined_bits(content)
    if bits is None:
        reason = quantity.why(lane)
        raise _no_value(content, "a part of it is optimized out") if reason is None else Unavailable(reason)
    return _copied(content, bits, kind)


def _defined_bits(content: Object) -> int | None:
    """Return the bits of a value; None if some that belong to it are not defined. Padding is zero where it is not."""
    reading = content.read()
    if not reading.undefined:
        return int(reading.bits)
    try:
        return int(reading.bits) & ~int(reading.undefined) if _is_defined(content, [MAX_PARTS]) else None
    except DwarfGpuError:
        return None


def _is_defined(value: Object, left: list[int]) -> bool:
    """Whether all that a value consists of is defined, whatever is between its members."""
    left[0] -= 1
    if left[0] < 0:
        return False
    inner = resolved(value.type)
    if isinstance(inner, model.Struct):
        parts = (*map(value.base, inner.body.bases), *map(value.field, value.members()))
        return all(_is_defined(part, left) for part in parts)
    if isinstance(inner, model.Array):
        elements = value.array()
        return all(_is_defined(elements.at(position), left) for position in range(elements.length))
    if value.scalar is not None and value.parts() is None:
        return not value.pattern().undefined
    return not value.read().undefined


def _pointer_into_space(content: Object, inner: model.Pointer, chosen: Any, frame: Frame) -> Any:
    """Return a pointer into an address space.

    ROCgdb has such pointers. Another GDB has the generic address, which contains the address space where it is one of
    local or private memory.
    """
    pointer = content.pointer()
    try:
        target = gdb_types.of(inner.target, chosen)
    except NotInGdb:
        target = gdb.lookup_type("void")
    space = frame.target.space(inner.address_space or 0)
    if space is None:
        raise _no_value(content, f"{frame.target.name} has no address space {inner.address_space}")
    number = _address_in_gdb(space.name, int(pointer.value))
    if number is None:
        try:
            number = gdb.Value(generic_address(frame.target, space.number, int(pointer.value), null=inner.null))
        except UsageError as error:
            raise _no_value(content, error.message) from None
    value = number.cast(target.pointer())
    if f"{int(number):#x}" not in value.format_string(symbols=False, max_elements=0):
        # GDB takes the code of a GPU for that of a processor with short addresses, and cuts pointers to its types
        value = number.cast(gdb.lookup_type("void").pointer())
    return value.dereference().reference_value() if inner.is_reference else value


def _in_space(address: Address | None, kind: Any, frame: Frame, lane: int | None) -> Any:
    """Return what is at an address of an address space, where GDB knows the space and means the same lane."""
    space = None if address is None else frame.target.space(address.space or 0)
    if address is None or space is None or lane not in (None, frame.selected_lane):
        return None
    number = _address_in_gdb(space.name, int(address.value))
    pointer = kind.pointer()
    if number is None or int(number) >> 8 * pointer.sizeof:
        return None
    return number.cast(pointer).dereference()


def _address_in_gdb(space: str, address: int) -> Any:
    """Return ``local#0x10`` as a value of GDB; None for a GDB without address spaces."""
    try:
        return gdb.parse_and_eval(f"{space}#{address:#x}")
    except gdb.error:
        return None


def _is_alike(kind: model.Type, theirs: Any, depth: int = 0) -> bool:
    """Whether GDB has the pointers in a type in the width that they have."""
    inner, theirs = resolved(kind), theirs.strip_typedefs()
    if depth > DEEPEST:
        return False
    if isinstance(inner, model.Pointer):
        return bool(theirs.code != gdb.TYPE_CODE_INT and theirs.sizeof == inner.byte_size)
    if isinstance(inner, model.Array):
        for _dimension in inner.dimensions:
            theirs = theirs.target()
        return _is_alike(inner.element, theirs, depth + 1)
    if isinstance(inner, model.Struct):
        ours = {part.name: part.type for part in inner.body.members}
        fields = [field for field in theirs.fields() if field.name in ours]
        bases = [field.type for field in theirs.fields() if field.is_base_class]
        pairs = [(ours[field.name], field.type) for field in fields]
        pairs += zip((base.type for base in inner.body.bases), bases, strict=False)
        return all(_is_alike(part, other, depth + 1) for part, other in pairs)
    return True


def _type_of(content: Object, quantity: Quantity, chosen: Any) -> Any:
    variable = quantity if isinstance(quantity, Variable) and content.type is quantity.type else None
    try:
        if known_size(content.type) is None and isinstance(resolved(content.type), model.Array):
            elements = content.array()  # its bounds are those that it has now
            element = gdb_types.of(elements.element, chosen)
            return element.array(elements.lower, elements.lower + elements.length - 1)
        return gdb_types.of(content.type, chosen, variable)
    except NotInGdb as error:
        raise _no_value(content, str(error)) from None


def _no_value(content: Object, why: str) -> UsageError:
    message = f"GDB cannot have this value of the type {safe_text(content.type)}: {why}"
    return UsageError(message, kind="no_type", hint="`dwarfgpu eval` shows it")


def _function(content: Object) -> Any:
    address = content.address
    block = None if address is None else gdb.block_for_pc(int(address.value))
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        raise UsageError("GDB does not know the function", kind="no_type")
    return block.function.value()


def _register(content: Object, chosen: Any, kind: Any) -> Any:
    """Return the register, or lane of it, that the value is; None if it is elsewhere or of another type."""
    parts = sources(location_of(content), content.bits())
    part = parts[0] if len(parts) == 1 else None
    if part is None or part.register is None or part.bit or part.bit_size != content.bits():
        return None
    try:
        whole = chosen.read_register(part.register)
        value = whole if part.lane is None else whole[part.lane]
        return value if _fits(value.type.strip_typedefs(), kind.strip_typedefs()) else None
    except (gdb.error, ValueError):  # GDB has another name for it
        return None


def _fits(theirs: Any, ours: Any) -> bool:
    """Whether a value of one type is shown as one of the other."""
    if theirs.sizeof != ours.sizeof:
        return False
    if theirs.code == ours.code == gdb.TYPE_CODE_INT:
        return bool(theirs.is_signed == ours.is_signed) and theirs.sizeof > 1
    return bool(theirs == ours)


def _copied(content: Object, bits: int, kind: Any) -> Any:
    if is_dynamic(kind):  # GDB would end with an internal error
        raise _no_value(content, "it reads memory to know where the members are")
    order = content.place.storage.byte_order
    return gdb.Value(bits.to_bytes(kind.sizeof, order), kind)


# --- Values as text -----------------------------------------------------------------------------------------------

_WRITTEN_HERE = (model.Function, model.MemberPointer, model.Void)


def value_printer(frame: Frame) -> Callable[[Object, Look, int], str | None]:
    """Return what writes values of a frame as GDB does, with its pretty-printers and as ``set print`` says.

    Values of host programs are written by GDB wherever it can have them; of those of waves, whose address spaces GDB
    may not know, only those with a pretty-printer.
    """

    def write(value: Object, look: Look, depth: int) -> str | None:
        inner = resolved(value.type)
        if isinstance(inner, _WRITTEN_HERE) or (frame.has_lanes and not isinstance(inner, model.Struct)):
            return None
        if isinstance(inner, model.Pointer) and inner.is_reference:  # GDB leaves out what it refers to
            return None
        try:
            kind = gdb_types.at(value.type, frame.place or 0, selected_frame().architecture())
            theirs = None if is_dynamic(kind) or value.bit_size is not None else _whole(value, kind, frame)
            if theirs is None or (frame.has_lanes and gdb.default_visualizer(theirs) is None):
                return None
            text = theirs.format_string(**_format(look, depth))
        except (DwarfGpuError, NotInGdb, gdb.error, RuntimeError, ValueError):
            return None
        return str(text).replace("\n", f"\n{'  ' * depth}")

    return write


def _whole(value: Object, kind: Any, frame: Frame) -> Any:
    """Return a value of GDB; None if GDB cannot have it."""
    address = value.address
    is_plain = address is not None and address.space in (None, frame.target.default_space.number)
    if address is not None and is_plain and isinstance(address.value, int):
        return gdb.Value(address.value).cast(kind.pointer()).dereference()
    if known_size(value.type) != kind.sizeof:
        return None
    bits = _defined_bits(value)
    return None if bits is None else gdb.Value(bits.to_bytes(kind.sizeof, value.place.storage.byte_order), kind)


def _format(look: Look, depth: int) -> dict[str, Any]:
    """Return how GDB is to write a value; what the library has no setting for is as in GDB."""

    def limit(number: int, unlimited: int) -> int:
        return unlimited if number >= MAX_NUMBER else number

    return {
        "max_elements": limit(look.elements, 0),
        "repeat_threshold": limit(look.repeats, 0),
        "max_depth": limit(look.depth, -1) if look.depth >= MAX_NUMBER else max(0, look.depth - depth),
        "static_members": look.static_members,
        "pretty_structs": look.is_pretty,
        "symbols": look.symbol is not None,
    }
