"""What a function has returned: where the calling convention of AMDGPU puts a value of its type.

LLVM's ``RetCC_AMDGPU_Func`` returns values in the vector registers from v0 on, as clang's ``AMDGPUABIInfo`` wants:

* a number, an enumeration or a pointer in as many registers as it has dwords; a smaller one in the lowest bits of v0;
* a vector with one register (two for 64 bits) for each element, of 16-bit elements two in a register;
* a structure with one element as that element; one of up to 64 bits as it is in memory, in one register or two;
* other structures of up to 16 registers element by element. What is larger, or a C++ class that is not copied as plain
  bytes, is in memory that the caller has provided, whose address is nowhere any more.

A function whose interface the compiler has changed (DW_CC_nocall) has no convention.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Implicit
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.history import Frozen, Kept
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame

REGISTERS = 16
"""The registers of a structure that is returned in them (clang's MaxNumRegsForArgsRet)."""
LARGEST = 32
"""The registers of any value that is returned in them."""


@frozen
class RegisterPart:
    """Bits of a vector register, which are some of the bits of a value."""

    register: int
    register_bit: int
    bit: int
    size: int


@frozen(eq=False)
class ReturnType:
    """The type that a function returns, and where its value is; None if that is not known."""

    type: t.Type
    parts: tuple[RegisterPart, ...] | None

    def values(self, machine: Machine, wave: int) -> Kept | None:
        """Return the values that the lanes of a wave have got; None if they are not known."""
        if self.parts is None:
            return None
        lanes = machine.target.lane_count
        size = 8 * (known_size(self.type) or 0)
        bits = [0] * lanes
        try:
            for part in self.parts:
                column = np.broadcast_to(machine.column(f"v{part.register}")[wave], (lanes,)).tolist()
                for lane, word in enumerate(column):
                    bits[lane] |= (int(word) >> part.register_bit & (1 << part.size) - 1) << part.bit
        except DwarfGpuError:  # the kernel does not have so many registers
            return None
        return Kept({lane: Frozen(self.type, locations.at(Implicit(value, size))) for lane, value in enumerate(bits)})


def return_type(frame: Frame) -> ReturnType | None:
    """Return what the function of a frame returns; None for nothing, and where the debugging information lacks it."""
    die = frame.function
    if die is None or frame.is_inlined:
        return None
    kind = frame.state.types.type_of(die)
    if isinstance(resolved(kind), t.Void):
        return None
    try:
        parts = None if _convention(die) == dw.DW_CC_nocall else parts_of(kind)
    except DwarfGpuError:  # a type that makes no sense
        parts = None
    return ReturnType(kind, parts) if parts != () else None


def _convention(die: Die) -> int | None:
    attribute = die.find_number(dw.DW_AT_calling_convention)
    return None if attribute is None else attribute.number


def parts_of(kind: t.Type) -> tuple[RegisterPart, ...] | None:
    """Return where the value of a type is; None if it is not in registers, nothing for what has no bits."""
    size = known_size(kind)
    type_ = resolved(kind)
    if size is None:
        return None
    if not isinstance(type_, t.Struct):
        elements = list(_elements(type_, 0)) if not isinstance(type_, t.Array) or type_.is_vector else None
        return None if elements is None else _in_turn(elements)
    if type_.die is not None and _convention(type_.die) == dw.DW_CC_pass_by_reference:
        return None
    only = _only_element(type_)
    if only is not None and known_size(only) == size:
        return parts_of(only)
    if size <= 8:
        return tuple(RegisterPart(at // 4, 0, 8 * at, 8 * min(4, size - at)) for at in range(0, size, 4))
    return _in_turn(list(_elements(type_, 0))) if _registers_of(type_) <= REGISTERS else None


@frozen
class _Element:
    """A part of a value that gets registers of its own: its first bit, its size, and whether two share a register."""

    bit: int
    size: int
    shares: bool = False


class _Unarranged(DwarfGpuError):
    """A part of a structure for which the compiler makes elements of its own."""


def _registers_of(type_: t.Type) -> int:
    """Return how many registers clang counts for a value (numRegsForType)."""
    type_ = resolved(type_)
    size = known_size(type_) or 0
    if isinstance(type_, t.Struct):
        return sum(_registers_of(member.type) for member in type_.body.members)
    if isinstance(type_, t.Array) and type_.is_vector:
        element = known_size(type_.element) or 0
        count = type_.dimensions[0].length or 0
        return (count + 1) // 2 if element == 2 else -(-element // 4) * count
    return -(-size // 4)


def _alignment(type_: t.Type) -> int:
    """Return the bytes that a type is aligned to if nothing says otherwise."""
    type_ = resolved(type_)
    if isinstance(type_, t.Struct):
        return max((_alignment(member.type) for member in type_.body.members), default=1)
    if isinstance(type_, t.Array) and not type_.is_vector:
        return _alignment(type_.element)
    return known_size(type_) or 1


def _check_layout(struct: t.Struct) -> None:
    """Refuse a structure with other gaps than those of alignment: the compiler makes elements of them, too."""
    end = 0
    for member in struct.body.members:
        step = 8 * _alignment(member.type)
        end = -(-end // step) * step
        if member.bit_size is not None or member.bit_offset != end:
            raise _Unarranged("unarranged", "a bit field, or a gap")
        end += 8 * (known_size(member.type) or 0)
    step = 8 * _alignment(struct)
    if -(-end // step) * step != 8 * (known_size(struct) or 0):
        raise _Unarranged("unarranged", "a gap at the end")


def _only_element(struct: t.Struct) -> t.Type | None:
    """Return the type of the only member of a structure, also within others."""
    body = struct.body
    if struct.kind == "union" or body.bases or body.variant_parts or len(body.members) != 1:
        return None
    (member,) = body.members
    if member.bit_size is not None:
        return None
    inner = resolved(member.type)
    if isinstance(inner, t.Array) and not inner.is_vector:
        lengths = [dimension.length for dimension in inner.dimensions]
        return inner.element if all(length == 1 for length in lengths) else None
    return inner


def _elements(type_: t.Type, bit: int) -> Iterator[_Element]:
    type_ = resolved(type_)
    size = 8 * (known_size(type_) or 0)
    if isinstance(type_, t.Struct):
        body = type_.body
        if type_.kind == "union" or body.bases or body.variant_parts:
            raise _Unarranged("unarranged", "a union, or a class with bases")
        _check_layout(type_)
        for member in body.members:
            yield from _elements(member.type, bit + (member.bit_offset or 0))
    elif isinstance(type_, t.Array):
        element = 8 * (known_size(type_.element) or 0)
        count = size // element if element else 0
        if type_.is_vector and len(type_.dimensions) == 1:
            count = type_.dimensions[0].length or 0  # a vector of 3 has the size of one of 4
        if count > LARGEST:
            raise _Unarranged("unarranged", "a long array")
        for index in range(count):
            if type_.is_vector:
                yield _Element(bit + index * element, element, shares=element == 16 and index % 2 == 1)
            else:
                yield from _elements(type_.element, bit + index * element)
    elif isinstance(type_, (t.Base, t.Pointer, t.Enumeration)) and size in (8, 16, 32, 64, 128):
        yield _Element(bit, size)
    else:
        raise _Unarranged("unarranged", "a type without a convention")


def _in_turn(elements: list[_Element]) -> tuple[RegisterPart, ...] | None:
    """Return the registers of elements, from v0 on; None if they are too many."""
    parts: list[RegisterPart] = []
    register = 0
    for element in elements:
        if element.shares:
            parts.append(RegisterPart(register - 1, 16, element.bit, 16))
            continue
        for at in range(0, element.size, 32):
            parts.append(RegisterPart(register, 0, element.bit + at, min(32, element.size - at)))
            register += 1
    return tuple(parts) if register <= LARGEST else None
