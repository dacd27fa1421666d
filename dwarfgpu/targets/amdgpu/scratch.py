"""Private memory: the address of a lane, and the place in the memory of its wave.

AMDGPU usage, "Address Spaces", *Private*: "The lanes of the wavefront access this using dword (4 byte) interleaving."
Address 0 of the wave's view is the first location of its backing memory.

The arithmetic works on ints and on arrays alike (all lanes of many waves in one go). Arrays of addresses and lanes must
have one type, as unsigned 64-bit numbers: mixing signed and unsigned ones makes numpy compute in floating point.
"""

from __future__ import annotations

from typing import Any, overload

DWORD = 4


@overload
def lane_to_wave(address: int, lane: int, wave_size: int) -> int: ...
@overload
def lane_to_wave(address: Any, lane: Any, wave_size: int) -> Any: ...
def lane_to_wave(address: Any, lane: Any, wave_size: int) -> Any:
    """Return the private_wave address of the byte at a private_lane address of a lane ("Address Space Identifier")."""
    return address // DWORD * (wave_size * DWORD) + lane * DWORD + address % DWORD


@overload
def wave_to_lane(address: int, wave_size: int) -> tuple[int, int]: ...
@overload
def wave_to_lane(address: Any, wave_size: int) -> tuple[Any, Any]: ...
def wave_to_lane(address: Any, wave_size: int) -> tuple[Any, Any]:
    """Return the byte of a lane that is at a private_wave address, as (private_lane address, lane)."""
    row = wave_size * DWORD  # one dword of every lane
    return address // row * DWORD + address % DWORD, address % row // DWORD


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
