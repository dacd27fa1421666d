"""Where objects are: what a value needs of a machine, and no more.

A storage is a stream of bits with a first one, as a location storage of the text is (A.2.5.3). Reading gives a number
whose bits stand in storage order, so that it is the value an integer of that size has in the target's byte order. The
evaluator's locations, a file's sections and plain bytes are all storages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen

from dwarfgpu.bits import comparable
from dwarfgpu.errors import EvaluationError, MissingContext
from dwarfgpu.expr.access import Reading

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.program.types.model import Dynamic

__all__ = ["Address", "Bytes", "Place", "Reading", "Storage", "cannot_access"]


@frozen
class Address:
    """An address, and the number of its address space; None is the default one."""

    space: int | None
    value: Bits = field(eq=comparable)


@frozen
class Place:
    """A position in a storage: where an object begins."""

    storage: Storage
    bit_offset: int = 0

    def moved(self, bits: int) -> Place:
        return Place(self.storage, self.bit_offset + bits)

    def read(self, bit_size: int) -> Reading:
        return self.storage.read(self.bit_offset, bit_size)

    @property
    def address(self) -> Address | None:
        """The address, where it has one that is a whole number of bytes."""
        return None if self.bit_offset % 8 else self.storage.address_of(self.bit_offset)


class Storage(Protocol):
    """What values are read from. Errors are `DwarfGpuError`."""

    @property
    def byte_order(self) -> ByteOrder: ...

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        """Some bits, and a mask of those that have no value."""

    def at(self, address: Address) -> Place:
        """The place an address leads to: what a pointer with this value points to."""

    def implied(self, bit_offset: int, bit_size: int) -> Place | None:
        """What an implicit pointer that stands there leads to (A.2.5.4.4.5 (3)); None where none does."""

    def address_of(self, bit_offset: int) -> Address | None:
        """The address of a position; None where the storage is no memory."""

    def place(self, found: Dynamic, place: Place, value: Bits | None = None) -> Place:
        """What an expression makes of the place of an object: where its data, a member or a base is.

        The object of a member or a base is on the initial stack (A.5.7.3), above the value of a pointer to a member
        where there is one (A.5.14). That of a descriptor is the object of the context (A.5.18.1).
        """

    def number(self, found: Dynamic, place: Place, *stack: int) -> int:
        """The number that an expression makes of the place of an object: a bound, a stride, a rank."""

    def variable(self, die: Die) -> Place | None:
        """Where a variable is that a type or a static member names; None if it is nowhere."""


class Bytes:
    """Bytes that are an object, with nothing around them: a constant, a register's content.

    Pointers in them lead nowhere, and nothing is computed.
    """

    __slots__ = ("_bits", "_size", "_undefined", "byte_order")

    def __init__(self, data: bytes, byte_order: ByteOrder = "little", undefined: bytes = b"") -> None:
        self.byte_order = byte_order
        self._size = len(data) * 8
        self._bits = int.from_bytes(data, byte_order)
        self._undefined = int.from_bytes(undefined, byte_order)

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        if not 0 <= bit_offset <= self._size - bit_size:
            message = f"{bit_size} bits at bit offset {bit_offset} reach past the end of {self._size} bits"
            raise EvaluationError("read_past_storage", message, spec="A.2.5.4.3.4 (4)")
        shift = bit_offset if self.byte_order == "little" else self._size - bit_size - bit_offset
        mask = (1 << bit_size) - 1
        undefined = self._undefined >> shift & mask
        return Reading(self._bits >> shift & mask & ~undefined, undefined)

    def at(self, address: Address) -> Place:
        raise cannot_access(address)

    def implied(self, bit_offset: int, bit_size: int) -> Place | None:
        return None

    def address_of(self, bit_offset: int) -> Address | None:
        return None

    def place(self, found: Dynamic, place: Place, value: Bits | None = None) -> Place:
        raise _nothing_computes(found)

    def number(self, found: Dynamic, place: Place, *stack: int) -> int:
        raise _nothing_computes(found)

    def variable(self, die: Die) -> Place | None:
        return None


def cannot_access(address: Address, space_name: str | None = None) -> EvaluationError:
    """The error of an address that leads nowhere, in GDB's words."""
    space = "" if space_name is None else f"{space_name}#"
    where = f"{space}{address.value:#x}" if isinstance(address.value, int) else "several addresses"
    return EvaluationError("memory_unavailable", f"Cannot access memory at address {where}")


def _nothing_computes(found: Dynamic) -> MissingContext:
    return MissingContext("machine", f"{found.attribute} is computed, and there is no machine to do it on")
