"""The address spaces of AMDGPU.

AMDGPU usage, tables "AMDGPU DWARF Address Space Mapping" (numbers, sizes) and "AMDGPU Address Spaces" (null). The names
are those of ROCgdb (``local#0x10``), the scopes follow from the paragraphs below the first table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, MissingContext
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.targets import amdgpu
from dwarfgpu.targets.amdgpu.processors import Processor
from dwarfgpu.targets.target import AddressSpace, Piece, Scope, Target

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits, Flags


@frozen
class LaneView:
    """private_lane and ``private_lane<n>``: private_wave memory, seen by one lane."""

    fixed_lane: int | None = None
    """The lane of ``private_lane<n>``; None: the lane of the context."""

    def pieces(self, address: int, size: int, lane: int | None, wave_size: int) -> list[Piece]:
        """Return the dwords of the wave's memory that hold a byte range of the lane."""
        if self.fixed_lane is not None:
            lane = self.fixed_lane
        if lane is None:
            raise MissingContext("lane", "a private_lane address means the memory of a lane, and there is no lane")
        if not 0 <= lane < wave_size:
            raise EvaluationError("memory_unavailable", f"lane {lane} does not exist in a wave of {wave_size} lanes")
        segments = lane_segments(address, size, lane, wave_size)
        return [(amdgpu.PRIVATE_WAVE, start, length) for start, length in segments]

    def scope(self, address: int) -> str:
        return Scope.LANE if self.fixed_lane is None else Scope.WAVE


PRIVATE_LANE = LaneView()


@frozen
class GenericView:
    """generic: global memory with windows to local and private memory."""

    apertures: Apertures | None
    """None if they are in the queue (GFX7-GFX8), and are not known."""

    def pieces(self, address: int, size: int, lane: int | None, wave_size: int) -> list[Piece]:
        """Return the global, local or private_wave memory of a byte range, cut where an aperture begins or ends."""
        pieces: list[Piece] = []
        end = address + size
        while address < end:
            length = min(SIZE - address % SIZE, end - address)
            space, start = locate(address, self._apertures())
            if space == amdgpu.PRIVATE_LANE:
                own = self._apertures().lane_of(address, lane)
                pieces.extend(PRIVATE_LANE.pieces(start, length, own, wave_size))
            elif pieces and pieces[-1][0] == space == amdgpu.GLOBAL:
                pieces[-1] = (space, pieces[-1][1], pieces[-1][2] + length)
            else:
                pieces.append((space, start, length))
            address += length
        return pieces

    def scope(self, address: int) -> str:
        space, _start = locate(address, self._apertures())
        if space == amdgpu.LOCAL:
            return Scope.WORKGROUP
        return Scope.LANE if space == amdgpu.PRIVATE_LANE else Scope.PROCESS

    def _apertures(self) -> Apertures:
        if self.apertures is None:
            raise no_apertures()
        return self.apertures


def no_apertures() -> MissingContext:
    """Return the error of a generic address whose meaning is not known."""
    message = "a generic address means nothing without the apertures of the queue"
    return MissingContext("apertures", message, hint="GFX7 and GFX8 keep them in the AQL queue, at bytes 64 and 68")


# --- The apertures ------------------------------------------------------------------------------------------------
# AMDGPU usage, "Address Spaces", *Generic*: "This uses two fixed ranges of virtual addresses (the private
# and local apertures), that are outside the range of addressable global memory [...] In 64-bit address mode
# the aperture sizes are 2^32 bytes and the base is aligned to 2^32".

SIZE = 1 << 32
SEGMENT_MASK = SIZE - 1

# OPEN: AMDGPU usage of 2020 and ROCdbgapi give 0x00000000 as the null of private memory; AMDGPU usage of LLVM 22, the
# ROCm compute ABI and the casts that LLVM generates have -1. As 0 is the address of a kernel's first private variable,
# -1 it is.
SEGMENT_NULL = SIZE - 1
"""The null of local and private memory."""


@frozen
class Apertures:
    """The bases of the apertures of a process, which are multiples of 2^32."""

    shared: int
    """Base of the local memory (LDS) aperture: ``SRC_SHARED_BASE``."""
    private: int
    """Base of the private memory (scratch) aperture: ``SRC_PRIVATE_BASE``."""
    private_bits: int = 32
    """How many bits of a private address are not those of its aperture. More than 32 tell the lane, too."""

    @property
    def tells_lanes(self) -> bool:
        """Whether private addresses tell the lane."""
        return self.private_bits > 32

    def is_local(self, address: Any) -> Any:
        """Return whether generic addresses, an int or an array, mean local memory."""
        return address >> 32 == self.shared >> 32

    def is_private(self, address: Any) -> Any:
        """Return whether generic addresses, an int or an array, mean private memory."""
        return address >> self.private_bits == self.private >> self.private_bits

    def lane_of(self, address: Any, lane: Any) -> Any:
        """Return the lanes that private addresses tell, ints or arrays; else the given ones."""
        return address >> 52 & 31 if self.tells_lanes else lane


GFX9 = Apertures(shared=1 << 48, private=2 << 48)
"""What the Linux driver sets on GFX9 and later, where registers hold the bases."""


# OPEN: no document says where the driver puts them on GFX12.5. Private memory has all addresses with the upper 6 bits
# of its base; bits 52 to 56 are the lane (CDNA 5 ISA document, 10.2). What is below is open, and code cannot tell: LLVM
# adds the lane, shifted by 52, and the register SRC_FLAT_SCRATCH_BASE to a private address of 32 bits, takes the lower
# half of the difference on the way back, and compares the upper 6 bits (addrspacecast, llvm.amdgcn.is.private).
GFX12_5 = Apertures(shared=1 << 57, private=1 << 58, private_bits=58)
"""What dwarfgpu sets on GFX12.5. The wave is in bits 32 to 51 of a private address, which its lower half then is."""

GFX7 = Apertures(shared=1 << 61, private=(1 << 61) + SIZE)
"""What the Linux driver sets on GFX7 and GFX8, where the queue has the bases."""


def of_queue(group_high: int, private_high: int) -> Apertures:
    """Return the apertures of GFX7-GFX8, from the upper halves of the bases.

    The AQL queue has them: ``group_segment_aperture_base_hi`` at byte 64, ``private_segment_aperture_base_hi`` at 68.
    """
    return Apertures(shared=group_high << 32, private=private_high << 32)


def segment_address(address: Any) -> Any:
    """Return the local or private address of a generic address, an int or an array, in an aperture."""
    return address & SEGMENT_MASK


def locate(address: int, apertures: Apertures) -> tuple[int, int]:
    """Return the address space number and the address in it that a generic address means."""
    if apertures.is_local(address):
        return amdgpu.LOCAL, address & SEGMENT_MASK
    if apertures.is_private(address):
        return amdgpu.PRIVATE_LANE, address & SEGMENT_MASK
    return amdgpu.GLOBAL, address


_IN_GENERIC = frozenset((amdgpu.GLOBAL, amdgpu.LOCAL, amdgpu.PRIVATE_LANE))


def convert(source: int, target: int, address: Bits, apertures: Apertures | None) -> tuple[Bits, Flags]:
    """Return addresses of one space as those of another; the flags say which of them are no address there.

    Null becomes null. All other ways lead through the generic space: region and private_wave memory are outside the
    apertures, and no address tells the lane of ``private_lane<n>``. ``apertures`` may be None where no address but
    null needs them.
    """
    if source == target:
        return address, False
    is_null = b.equal(address, null_of(source))
    if b.all_of(is_null):
        return b.choose(is_null, null_of(target), address), False
    converted, lost = _through_generic(source, target, address, apertures)
    return b.choose(is_null, null_of(target), converted), b.both(lost, b.negated(is_null))


def _through_generic(source: int, target: int, address: Bits, apertures: Apertures | None) -> tuple[Bits, Flags]:
    """Convert from or to the generic space; nothing but null is in two of the others."""
    other = target if source == amdgpu.GENERIC else source
    if amdgpu.GENERIC not in (source, target) or other not in _IN_GENERIC:
        return address, True
    if apertures is None:
        if other == amdgpu.GLOBAL:
            return address, False
        raise no_apertures()
    if other == amdgpu.GLOBAL:
        return address, b.either(apertures.is_local(address), apertures.is_private(address))
    is_local = other == amdgpu.LOCAL
    if source == amdgpu.GENERIC:
        is_there = apertures.is_local(address) if is_local else apertures.is_private(address)
        return segment_address(address), b.negated(is_there)
    base = apertures.shared if is_local else apertures.private
    return b.add(address, base, b.MASK64), not is_local and apertures.tells_lanes


#                           number           name           bits null          scope
GLOBAL = AddressSpace(amdgpu.GLOBAL, "global", 64, 0, Scope.PROCESS)
GENERIC = AddressSpace(amdgpu.GENERIC, "generic", 64, 0, Scope.DEPENDS, GenericView(GFX9))
REGION = AddressSpace(amdgpu.REGION, "region", 32, SEGMENT_NULL, Scope.AGENT)  # null: ROCdbgapi's
LOCAL = AddressSpace(amdgpu.LOCAL, "local", 32, SEGMENT_NULL, Scope.WORKGROUP)
LANE = AddressSpace(amdgpu.PRIVATE_LANE, "private_lane", 32, SEGMENT_NULL, Scope.LANE, PRIVATE_LANE)
WAVE = AddressSpace(amdgpu.PRIVATE_WAVE, "private_wave", 32, SEGMENT_NULL, Scope.WAVE)


MAX_LANES = 64
_BY_NUMBER = {space.number: space for space in (GLOBAL, GENERIC, REGION, LOCAL, LANE, WAVE)}


def lane_space(lane: int) -> AddressSpace:
    """Return ``private_lane<lane>``: "the private address space corresponding to a specific lane"."""
    # The lane is in the number, so an access needs the thread alone.
    number = amdgpu.PRIVATE_LANE_0 + lane
    return AddressSpace(number, f"private_lane{lane}", 32, SEGMENT_NULL, Scope.WAVE, LaneView(lane))


def space_numbered(number: int) -> AddressSpace | None:
    """Return the address space with a number, which is the same on every processor that has it; None without one."""
    if amdgpu.PRIVATE_LANE_0 <= number < amdgpu.PRIVATE_LANE_0 + MAX_LANES:
        return lane_space(number - amdgpu.PRIVATE_LANE_0)
    return _BY_NUMBER.get(number)


def null_of(number: int) -> int:
    """Return the null address of an address space; 0 if AMDGPU has no such space."""
    space = space_numbered(number)
    return 0 if space is None or space.null is None else space.null


def spaces(processor: Processor, wave_size: int) -> tuple[AddressSpace, ...]:
    """Return the address spaces of a processor, with a ``private_lane<n>`` for each lane of a wave."""
    generic: tuple[AddressSpace, ...] = ()
    if processor.has("generic"):
        in_queue = processor.has("queue-apertures")
        apertures = None if in_queue else GFX12_5 if processor.has("lane-addresses") else GFX9
        generic = (evolve(GENERIC, alias=GenericView(apertures)),)
    lanes = tuple(lane_space(lane) for lane in range(wave_size))
    return (GLOBAL, *generic, REGION, LOCAL, LANE, WAVE, *lanes)


def with_apertures(target: Target, apertures: Apertures) -> Target:
    """Return the target with the apertures of a process, as a queue or a dump gives them."""

    def changed_view(view: Any) -> GenericView:
        bits = 32 if view.apertures is None else view.apertures.private_bits
        return GenericView(evolve(apertures, private_bits=bits))

    changed = tuple(
        evolve(space, alias=changed_view(space.alias)) if space.number == amdgpu.GENERIC else space
        for space in target.address_spaces
    )
    return evolve(target, address_spaces=changed)


# --- Private memory -----------------------------------------------------------------------------------------------
# AMDGPU usage, "Address Spaces", *Private*: "The lanes of the wavefront access this using dword (4 byte)
# interleaving." Address 0 of the wave's view is the first location of its backing memory.
#
# The arithmetic works on ints and on arrays alike (all lanes of many waves in one go). Arrays of addresses
# and lanes must have one type, as unsigned 64-bit numbers: mixing signed and unsigned ones makes numpy
# compute in floating point.

DWORD = 4


@overload
def lane_to_wave(address: int, lane: int, wave_size: int) -> int: ...
@overload
def lane_to_wave(address: Any, lane: Any, wave_size: int) -> Any: ...
def lane_to_wave(address: Any, lane: Any, wave_size: int) -> Any:
    """Return the private_wave address of the byte at a private_lane address of a lane ("Address Space Identifier")."""
    return address // DWORD * (wave_size * DWORD) + lane * DWORD + address % DWORD


def lane_segments(address: int, size: int, lane: int, wave_size: int) -> list[tuple[int, int]]:
    """Return the private_wave ranges, as (address, byte size), that hold a byte range of one lane, in its order.

    The bytes of a dword are adjacent; the next dword of the lane is one row of the wave later.
    """
    segments = []
    end = address + size
    while address < end:
        length = min(DWORD - address % DWORD, end - address)
        segments.append((lane_to_wave(address, lane, wave_size), length))
        address += length
    return segments
