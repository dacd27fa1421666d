"""The bits of objects that belong to members: the others are padding, which kernels copy without having written it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dwarfgpu.execution.checks.findings import CountedBits, Padding
from dwarfgpu.program.types.model import Array, BaseClass, Member, Struct, Type, element_bits, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.launch.argument_values import PlannedBuffer

MOST_DEPTH = 8
LARGEST = 1 << 16
"""The bytes of an object that are looked at."""


def padding_of(buffers: Iterable[PlannedBuffer]) -> Padding:
    """Return the buffers whose elements have padding, as far as the types of pointers say."""
    return padding_in((buffer.address, buffer.size, buffer.pointed) for buffer in buffers if buffer.pointed is not None)


def padding_in(objects: Iterable[tuple[int, int, Type]]) -> Padding:
    """Return the padding of objects: the address and the size of each, and the type of it or of its elements."""
    found, has_padding = [], False
    for address, room, type_ in objects:
        size = known_size(type_) or 0
        if 0 < size <= LARGEST:
            bits = counted_bits(type_)
            has_padding |= bits != (1 << 8 * size) - 1
            found.append(CountedBits(address, address + room, bits.to_bytes(size, "little")))
    return Padding(tuple(found) if has_padding else ())


def counted_bits(type: Type, depth: int = 0) -> int:
    """Return the bits of an object that count, as a number: of a union those that are in all of its members."""
    kind, size = resolved(type), known_size(type) or 0
    everything = (1 << 8 * size) - 1
    if depth > MOST_DEPTH or size > LARGEST:
        return everything
    if isinstance(kind, Array) and (step := element_bits(kind)):
        one, count = counted_bits(kind.element, depth + 1), 1
        for dimension in kind.dimensions:
            count *= dimension.length or 0
        return sum(one << step * number for number in range(count)) if count * step <= 8 * size else everything
    if not isinstance(kind, Struct) or kind.body.variant_parts:
        return everything
    parts: list[Member | BaseClass] = [*kind.body.members, *kind.body.bases]
    if any(part.bit_offset is None for part in parts):
        return everything
    found = everything if kind.kind == "union" else 0
    for part in parts:
        width = getattr(part, "bit_size", None)
        bits = (1 << width) - 1 if width is not None else counted_bits(part.to.get(), depth + 1)
        bits <<= part.bit_offset or 0
        found = found & bits if kind.kind == "union" else found | bits
    return found
