"""The elements of arrays as text: each by itself, long runs of equal ones folded, characters as strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.sizes import known_size
from dwarfgpu.program.values.arrays import MAX_READ
from dwarfgpu.program.values.scalars import character_prefix
from dwarfgpu.program.values.storage import Reading
from dwarfgpu.render import characters, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.values.arrays import Elements
    from dwarfgpu.render.values import Look, Writer

_BLOCK = 256
"""How many elements are read at once to find out whether they are alike."""
_LONGEST_RUN = 1 << 20
"""How many equal elements are counted before the rest is counted anew."""


def text(writer: Writer, found: Elements, depth: int) -> str:
    """The elements up to the limit; a run counts as so many elements as are not folded yet."""
    look = writer.look
    shown: list[str] = []
    index = counted = 0
    while index < found.length and counted < look.elements and writer.left > 0:
        run = _run(found, index)
        failing = 0 if run else _failing(found, index, look.elements - counted)
        element = _element(writer, found, index, depth)
        writer.left -= 1
        if max(run, failing) > look.repeats:
            shown.append(f"{element} <repeats {run or failing} times>")
            index += run or failing
            counted += failing or look.repeats
        else:
            shown.append(element)
            index += 1
            counted += 1
    return ", ".join(shown) + ("..." if index < found.length else "")


def characters_of(look: Look, found: Elements) -> str | None:
    """An array of characters as a string; None for any other, and for one of which a part has no value."""
    prefix = character_prefix(found.element)
    size = known_size(found.element)
    if prefix is None or not size or found.stride != 8 * size:
        return None
    count = min(found.length, MAX_READ // size)
    reading = found.place.read(count * found.stride)
    if reading.undefined:
        return None
    codes = characters.codes_of(int(reading.bits), count, size, found.place.storage.byte_order)
    if count == found.length and not codes[-1]:
        codes.pop()
    return characters.string(
        codes, size, prefix, limit=look.elements, threshold=look.repeats, is_cut=count < found.length
    )


def _element(writer: Writer, found: Elements, index: int, depth: int) -> str:
    """One element; a character of a vector is a number."""
    element = found.at(index)
    if found.is_vector and writer.look.letter is None:
        scalar = element.scalar
        if scalar is not None and scalar.kind == "character" and not scalar.prefix:
            try:
                return str(element.number())
            except DwarfGpuError as error:
                return values.problem(error)
    return writer.member(element, depth + 1)


def _run(found: Elements, index: int) -> int:
    """How many elements from one on are stored alike; 0 if it cannot be read together with those behind it."""
    size = found.stride
    if not 0 < size <= 8 * MAX_READ:
        return 1
    first: Reading | None = None
    end = index
    count = 8
    while end < found.length and end - index < _LONGEST_RUN:
        count = max(1, min(count * 4, _BLOCK, 8 * MAX_READ // size, found.length - end))
        try:
            readings = list(_split(found, end, count))
        except DwarfGpuError:
            return end - index
        for reading in readings:
            if first is None:
                first = reading
            elif reading != first:
                return end - index
            end += 1
    return end - index


def _failing(found: Elements, index: int, limit: int) -> int:
    """How many elements from one on fail in the same way."""
    kind = None
    for number in range(min(limit, found.length - index)):
        try:
            found.place.moved((index + number) * found.stride).read(found.stride)
        except DwarfGpuError as error:
            kind = kind or error.kind
            if error.kind == kind:
                continue
        return number
    return min(limit, found.length - index)


def _split(found: Elements, index: int, count: int) -> Iterator[Reading]:
    """The stored bits of some elements, read at once."""
    place = found.place.moved(index * found.stride)
    size = found.stride
    reading = place.read(count * size)
    bits, undefined = int(reading.bits), int(reading.undefined)
    mask = (1 << size) - 1
    little = place.storage.byte_order == "little"
    for number in range(count):
        shift = size * (number if little else count - 1 - number)
        yield Reading(bits >> shift & mask, undefined >> shift & mask)
