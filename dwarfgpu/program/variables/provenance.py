"""Where each part of a value comes from: a register and a lane of it, an address, a constant, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.cfi.flat import stretches_of
from dwarfgpu.expr.storages import Implicit, ImplicitPointer, Memory, Register, Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.expr.locations import Location

MAX_SOURCES = 4096
"""More parts than this are not listed."""


@frozen
class Source:
    """Some bits of a value, and where they are."""

    bit_offset: int
    """Of the value."""
    bit_size: int
    kind: str
    """``register``, ``memory``, ``constant``, ``pointer`` (an implicit one) or ``undefined``."""
    register: str | None = None
    lane: int | None = None
    """The lane of a vector register or of private memory, where one is meant."""
    bit: int | None = None
    """The first bit: of the lane of a vector register, else of the register or the constant."""
    space: str | None = None
    address: int | None = None
    """Of memory; ``bit`` says where in the byte it begins, if not at its first bit."""

    def __str__(self) -> str:
        size = f"{self.bit_size // 8} bytes" if not self.bit_size % 8 else f"{self.bit_size} bits"
        bit = f" bit {self.bit}" if self.bit else ""
        if self.kind == "register":
            lane = "" if self.lane is None else f" lane {self.lane}"
            return f"{size} of {self.register}{lane}{bit}"
        if self.kind == "memory":
            return f"{size} at {self.space}#{self.address:#x}{bit}"
        words = {
            "constant": "of a constant",
            "pointer": "of an implicit pointer",
            "undefined": "without a value",
        }
        return f"{size} {words[self.kind]}"


def sources(location: Location, bit_size: int) -> tuple[Source, ...]:
    """Where the first bits of a location are. Of several places that hold the same value it is the first."""
    found: list[Source] = []
    position = 0
    for part, size in stretches_of(location, bit_size):
        for source in _of(part, position, size):
            if len(found) >= MAX_SOURCES:
                return tuple(found)
            found.append(source)
        position += size
    return tuple(found)


def _of(location: Location, position: int, size: int) -> Iterator[Source]:
    place = location.places[0]
    storage: Any = place.storage
    offset = int(place.bit_offset)
    if type(storage) is Memory:
        lane = None if storage.lane is None else int(storage.lane)
        yield Source(position, size, "memory", None, lane, offset % 8, storage.space.name, offset // 8)
    elif type(storage) is Register:
        yield from _of_register(storage, offset, position, size)
    elif type(storage) is Implicit:
        yield Source(position, size, "constant", bit=offset)
    elif type(storage) is ImplicitPointer:
        yield Source(position, size, "pointer", bit=offset)
    elif type(storage) is Undefined:
        yield Source(position, size, "undefined")
    else:  # a composite whose offset differs, or with parts in several places
        yield Source(position, size, "undefined")


def _of_register(storage: Register, offset: int, position: int, size: int) -> Iterator[Source]:
    register = storage.register
    unit = register.lane_bits
    if not unit:
        lane = None if storage.lane is None else int(storage.lane)
        yield Source(position, size, "register", register.name, lane, offset)
        return
    while size > 0:  # of a vector register lane by lane
        lane, bit = divmod(offset, unit)
        length = min(size, unit - bit)
        yield Source(position, length, "register", register.name, lane, bit)
        offset, position, size = offset + length, position + length, size - length
