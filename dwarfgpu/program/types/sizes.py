"""The sizes of types, and the types behind names and qualifiers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MalformedFile, shown
from dwarfgpu.program.types import model as t
from dwarfgpu.targets.resolve import EM_AMDGPU

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.targets.target import AddressSpace

MAX_DEPTH = 64
"""How many types a type may go through: typedefs, qualifiers, arrays of arrays. A broken file may have a cycle."""
MAX_BYTES = 1 << 62
"""The largest size that is accepted; a larger one is an error in the file."""

_NAMED = (t.Typedef, t.Qualified)
_NAMED_OR_PART = (*_NAMED, t.Subrange)


def stripped(kind: t.Type) -> t.Type:
    """Return a type without the names and qualifiers in front of it."""
    return _behind(kind, _NAMED) if isinstance(kind, _NAMED) else kind


def resolved(kind: t.Type) -> t.Type:
    """Return the stored type: without names and qualifiers, and for a subrange the type it is a part of."""
    return _behind(kind, _NAMED_OR_PART) if isinstance(kind, _NAMED_OR_PART) else kind


def hidden(kind: t.Type) -> t.Hidden | None:
    """Return the type in front of a type that says where the data of its objects are, or whether they have some."""
    if not isinstance(kind, _NAMED_OR_PART):
        return None
    wrapper: t.Type = kind
    for _ in range(MAX_DEPTH):
        if isinstance(wrapper, t.Hidden) or not isinstance(wrapper, _NAMED_OR_PART):
            return wrapper if isinstance(wrapper, t.Hidden) else None
        wrapper = wrapper.target
    return None


def _behind(kind: Any, wrappers: Any) -> t.Type:
    start = kind
    for _ in range(MAX_DEPTH):
        if not isinstance(kind, wrappers):
            return kind  # type: ignore[no-any-return]
        kind = kind.target
    raise cycle(start)


def cycle(type: t.Type) -> DwarfGpuError:
    """Return the error of a type that goes through too many others."""
    message = f"a type leads through more than {MAX_DEPTH} others, or back to itself"
    return _at(MalformedFile("type_cycle", message, spec="DWARF 5, 5.3"), type)


def byte_size(type: t.Type) -> int:
    """Return the bytes of an object; raise an error if the size depends on the object or is unknown."""
    size = known_size(type)
    if size is None:
        message = f"the size of {_what(type)} is unknown"
        raise _at(EvaluationError("unknown_size", message, spec="DWARF 5, 2.21"), type)
    return size


MAX_NUMBER = 1 << 16
"""More bytes than a number has: a register of a wave has 256."""


def number_size(type: t.Type) -> int:
    """Return the bytes of a number; raise an error for more than any has, before they are read."""
    size = byte_size(type)
    if size > MAX_NUMBER:
        message = f"{_what(type)} has {shown(size)} bytes, and a number has at most {MAX_NUMBER}"
        raise _at(MalformedFile("absurd_size", message, spec="DWARF 5, 5.1"), type)
    return size


def known_size(type: t.Type, depth: int = 0) -> int | None:
    """Return the bytes of an object; None if the size depends on the object or is unknown."""
    if depth > MAX_DEPTH:
        raise cycle(type)
    if isinstance(type, (t.Typedef, t.Qualified)):
        return known_size(stripped(type), depth + 1)
    if isinstance(type, t.Base):
        return None if type.byte_size is None else checked(type.byte_size * (type.vector_size or 1), type)
    if isinstance(type, (t.Pointer, t.MemberPointer)):
        return checked(type.byte_size, type)
    if isinstance(type, t.Array):
        return _array_size(type, depth)
    if isinstance(type, t.Struct):
        return None if type.is_incomplete else _declared(type)
    if isinstance(type, t.Enumeration):
        if type.byte_size is None and type.underlying is not None:
            return known_size(type.underlying.get(), depth + 1)
        return None if type.byte_size is None else checked(type.byte_size, type)
    if isinstance(type, t.Subrange):
        return known_size(type.target, depth + 1) if type.byte_size is None else checked(type.byte_size, type)
    if isinstance(type, (t.String, t.Opaque)):
        return _declared(type)
    # as GNU C has it, so that pointers to them can be moved
    return 1 if isinstance(type, (t.Void, t.Function)) else None


def _declared(type: t.Struct | t.String | t.Opaque) -> int | None:
    size = type.byte_size
    return None if size is None or isinstance(size, t.Dynamic) else checked(size, type)


def address_space(die: Die, number: int | None) -> AddressSpace | None:
    """Return the address space that a number means in the file of an entry; None where nothing is known of it."""
    if number is None or die.unit.dwarf.machine != EM_AMDGPU:
        return None
    from dwarfgpu.targets.amdgpu.address_spaces import space_numbered

    return space_numbered(number)


def contradiction(type: t.Type) -> DwarfGpuError | None:
    """Return the error of a pointer, or of an array of them, that is wider or narrower than its address space has it.

    Such a pointer is read in the size that its entry states.
    """
    kind = type
    for _ in range(MAX_DEPTH):
        if not isinstance(kind, t.Array):
            break
        kind = resolved(kind.element)
    if not isinstance(kind, t.Pointer) or kind.die is None:
        return None
    space = address_space(kind.die, kind.address_space)
    if space is None or 8 * kind.byte_size == space.address_bits:
        return None
    sizes = f"has {shown(kind.byte_size)} bytes, and an address there has {space.address_bits // 8}"
    return _at(MalformedFile("bad_size", f"a pointer into {space.name} {sizes}", spec="A.5.3"), kind)


def has_dynamic_parts(type: t.Type) -> bool:
    """Return whether expressions describe bounds or places of an object or of what is in it."""
    left, seen = [type], set()
    while left:
        inner = resolved(left.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, t.Array):
            if inner.is_dynamic:
                return True
            left.append(inner.element)
        elif isinstance(inner, t.Struct):
            parts: list[t.Member | t.BaseClass] = [*inner.body.members, *inner.body.bases]
            if any(part.location is not None for part in parts):
                return True
            for part in parts:
                with suppress(DwarfGpuError):  # what is wrong with a member is shown in its place
                    left.append(part.to.get())
    return False


def _array_size(type: t.Array, depth: int) -> int | None:
    if isinstance(type.byte_size, int):
        return checked(type.byte_size, type)
    if type.is_dynamic:
        return None
    bits = element_bits(type, depth)
    if bits is None:
        return None
    for dimension in reversed(type.dimensions if not type.column_major else type.dimensions[::-1]):
        stride = dimension.bit_stride
        bits = (dimension.length or 0) * (abs(stride) if isinstance(stride, int) else bits)
    return checked((bits + 7) // 8, type)


def element_bits(type: t.Array, depth: int = 0) -> int | None:
    """Return how many bits an element takes in an array."""
    if isinstance(type.bit_stride, int):
        return type.bit_stride
    size = known_size(type.element, depth + 1)
    return None if size is None else size * 8


def checked(size: int, type: t.Type) -> int:
    """Return a size that an object can have; raise an error for any other."""
    if not 0 <= size <= MAX_BYTES:
        message = f"{_what(type)} has an impossible size of {shown(size)} bytes"
        raise _at(MalformedFile("absurd_size", message, spec="DWARF 5, 2.21"), type)
    return size


def _what(type: t.Type) -> str:
    if type.name:
        return f"the type {type.name}"
    if isinstance(type, t.UnspecifiedType):
        return "an unspecified type"
    word = type.__class__.__name__.lower()
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word} type"


def _at(error: DwarfGpuError, type: t.Type) -> DwarfGpuError:
    return error if type.die is None else type.die.unit.error(error, type.die.offset)
