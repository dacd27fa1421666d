"""Location storages (A.2.5.3): linear streams of bits that can hold values.

Bit 0 of a storage is the least significant bit of its first byte on little-endian targets, the most significant one
on big-endian targets: the direction in which the target numbers the bits of memory.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError
from dwarfgpu.immutable import immutable

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits, Positions
    from dwarfgpu.expr.context import DieReference, UnitInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.targets.target import AddressSpace, TargetRegister


@immutable
class Memory:
    """The memory of an address space, with the wave and lane it belongs to if each has its own (A.2.5.4.4.3)."""

    space: AddressSpace
    wave: Bits | None = field(default=None, eq=b.comparable)
    lane: Bits | None = field(default=None, eq=b.comparable)

    @property
    def bit_size(self) -> int:
        return 8 << self.space.address_bits

    def select(self, positions: Positions) -> Memory:
        if self.wave is None and self.lane is None:
            return self
        return Memory(self.space, _select(self.wave, positions), _select(self.lane, positions))


@immutable
class Register:
    """A register of a thread (A.2.5.4.4.4), with the ``lane`` where a described machine has one for each lane."""

    register: TargetRegister
    wave: Bits = field(default=0, eq=b.comparable)
    lane: Bits | None = field(default=None, eq=b.comparable)

    @property
    def bit_size(self) -> int:
        return self.register.bit_size

    def select(self, positions: Positions) -> Register:
        if type(self.wave) is int and (self.lane is None or type(self.lane) is int):
            return self
        return Register(self.register, b.select(self.wave, positions), _select(self.lane, positions))


@immutable
class Implicit:
    """A fixed value (A.2.5.4.4.5): the stream of its bits, as a number."""

    data: Bits = field(eq=b.comparable)
    bit_size: int

    def select(self, positions: Positions) -> Implicit:
        return self if type(self.data) is int else Implicit(b.select(self.data, positions), self.bit_size)


@immutable
class ImplicitPointer:
    """A pointer that was optimised away, to an object that can be described (A.2.5.4.4.5 (3))."""

    die: DieReference
    byte_offset: int
    space: AddressSpace
    unit: UnitInfo | None
    """The unit of the operation, in which the reference is looked up."""
    bit_size: int

    def select(self, _positions: Positions) -> ImplicitPointer:
        return self


def pointer_misuse(why: str) -> EvaluationError:
    """Return the error of a use of an implicit pointer that the text does not allow."""
    return EvaluationError("implicit_pointer_misuse", f"an implicit pointer was used: {why}", spec="A.2.5.4.4.5 (3)")


@immutable
class Undefined:
    """Storage without a value (A.2.5.4.4.2). It has a size only in DWARF 6, that of the largest storage."""

    bit_size: int

    def select(self, _positions: Positions) -> Undefined:
        return self


@immutable
class Part:
    """``count`` neighbouring parts of ``bit_size`` bits each; number i is ``i * stride`` bits into ``location``.

    Operations that make hundreds of parts (DW_OP_LLVM_select_bit_piece of a wavefront) make them as a few runs.
    """

    location: Location
    bit_size: int
    count: int = 1
    stride: int = 0

    @property
    def total(self) -> int:
        return self.bit_size * self.count

    @property
    def is_contiguous(self) -> bool:
        """Whether the run is one stretch of its location, readable at once."""
        return self.count == 1 or self.stride == self.bit_size

    def select(self, positions: Positions) -> Part:
        location = self.location.select(positions)
        return self if location is self.location else Part(location, self.bit_size, self.count, self.stride)


@immutable
class Composite:
    """Bits that come from other storages, part by part without gaps (A.2.5.4.4.6)."""

    parts: tuple[Part, ...] = ()
    bit_size: int = 0
    count: int = 0
    """The number of parts, each run counted in full."""
    weight: int = 0
    """The number of runs of parts in it and in all composites it is made of, counted once for each use."""
    depth: int = 1
    """The depth of the composites nested in it."""
    has_pointer: bool = False
    """Whether an implicit pointer is somewhere in it."""

    def select(self, positions: Positions) -> Composite:
        parts = tuple([part.select(positions) for part in self.parts])
        if all(map(is_, parts, self.parts)):
            return self
        return Composite(parts, self.bit_size, self.count, self.weight, self.depth, self.has_pointer)


Storage: TypeAlias = "Memory | Register | Implicit | ImplicitPointer | Undefined | Composite"


def _select(bits: Any, positions: Positions) -> Any:
    return None if bits is None else b.select(bits, positions)
