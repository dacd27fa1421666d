"""The apertures: two ranges of generic addresses that mean local and private memory.

AMDGPU usage, "Address Spaces", *Generic*: "This uses two fixed ranges of virtual addresses (the private and local
apertures), that are outside the range of addressable global memory [...] In 64-bit address mode the aperture sizes are
2^32 bytes and the base is aligned to 2^32".
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from dwarfgpu.targets.amdgpu import numbers

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


GFX9 = Apertures(shared=1 << 48, private=2 << 48)
"""What the Linux driver sets on GFX9 and later, where registers hold the bases."""


GFX7 = Apertures(shared=1 << 61, private=(1 << 61) + SIZE)
"""What the Linux driver sets on GFX7 and GFX8, where the queue has the bases."""


def of_queue(group_high: int, private_high: int) -> Apertures:
    """Return the apertures of GFX7-GFX8, from the upper halves of the bases.

    The AQL queue has them: ``group_segment_aperture_base_hi`` at byte 64, ``private_segment_aperture_base_hi`` at 68.
    """
    return Apertures(shared=group_high << 32, private=private_high << 32)


def contains(base: int, address: Any) -> Any:
    """Return whether generic addresses, an int or an array, lie in the aperture with a base."""
    return address >> 32 == base >> 32


def segment_address(address: Any) -> Any:
    """Return the local or private address of a generic address, an int or an array, in an aperture."""
    return address & SEGMENT_MASK


def locate(address: int, apertures: Apertures) -> tuple[int, int]:
    """Return the address space number and the address in it that a generic address means."""
    if contains(apertures.shared, address):
        return numbers.LOCAL, address & SEGMENT_MASK
    if contains(apertures.private, address):
        return numbers.PRIVATE_LANE, address & SEGMENT_MASK
    return numbers.GLOBAL, address


def to_generic(space: int, address: int, apertures: Apertures) -> int | None:
    """Return the generic address of an address in a space, or None if it has none; null becomes null.

    Region and private_wave memory are outside the apertures, and no address tells the lane of ``private_lane<n>``.
    """
    if space in (numbers.GLOBAL, numbers.GENERIC):
        return address
    if space not in (numbers.LOCAL, numbers.PRIVATE_LANE):
        return None
    if address == SEGMENT_NULL:
        return 0
    return (apertures.shared if space == numbers.LOCAL else apertures.private) | address


def from_generic(space: int, address: int, apertures: Apertures) -> int | None:
    """Return the address in a space that a generic address means, or None if outside; null becomes null."""
    if space == numbers.GENERIC:
        return address
    if address == 0 and space in (numbers.LOCAL, numbers.PRIVATE_LANE):
        return SEGMENT_NULL
    meant, segment = locate(address, apertures)
    return segment if meant == space else None
