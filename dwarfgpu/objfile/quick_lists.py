"""Lists of version 5 read quickly, for who reads all lists of a file.

These functions read what compilers write, and give None for all else: an entry of an unknown kind, a dropped function,
an address that is missing, a range that ends before it begins, the end of the section. Then `read_list` has the
answer, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from dwarfgpu.dwarf_constants import (
    DW_LLE_base_address,
    DW_LLE_base_addressx,
    DW_LLE_default_location,
    DW_LLE_end_of_list,
    DW_LLE_offset_pair,
    DW_LLE_start_end,
    DW_LLE_start_length,
    DW_LLE_startx_endx,
    DW_LLE_startx_length,
    DW_RLE_end_of_list,
    DW_RLE_offset_pair,
)
from dwarfgpu.objfile.list_encoding import MAX_ENTRIES, ListContext


class UnusualList(Exception):
    """What is read is not what compilers write. It never leaves this module."""


def quick_ranges(
    data: bytes, position: int, context: ListContext, addresses: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """Return where the ranges of a list of ``.debug_rnglists`` begin and end, in its order, without empty ones."""
    lows: list[int] = []
    highs: list[int] = []
    base = -1 if context.base is None else context.base
    last = context.last
    stop = position + 2 * MAX_ENTRIES  # an entry has two bytes and more
    try:
        while True:
            kind = data[position]
            position += 1
            if kind == DW_RLE_offset_pair and 0 <= base < last:
                first, position = _uleb(data, position)
                second, position = _uleb(data, position)
                low, high = base + first, base + second
            elif kind == DW_RLE_end_of_list:
                return (lows, highs) if position <= stop else None
            else:
                if kind >= DW_LLE_default_location:
                    kind += 1  # range lists have no default entry
                low, high, position = _bounds(data, position, kind, context, addresses)
                if high < 0:
                    base = low
                    continue
            if low < high <= last:
                lows.append(low)
                highs.append(high)
            elif low != high or low >= last:
                return None
    except (IndexError, UnusualList):
        return None


def quick_locations(
    data: bytes, position: int, context: ListContext, addresses: Sequence[int]
) -> list[tuple[int, int, bytes]] | None:
    """Return the entries of a list of ``.debug_loclists``: start, end and expression.

    An entry that is valid wherever no other is has the end -1.
    """
    entries: list[tuple[int, int, bytes]] = []
    base = -1 if context.base is None else context.base
    last, end = context.last, len(data)
    stop = position + MAX_ENTRIES
    try:
        while True:
            kind = data[position]
            position += 1
            if kind == DW_LLE_offset_pair and 0 <= base < last:
                first, position = _uleb(data, position)
                second, position = _uleb(data, position)
                low, high = base + first, base + second
            elif kind == DW_LLE_end_of_list:
                return entries if position <= stop else None
            elif kind == DW_LLE_default_location:
                low, high = 0, -1
            else:
                low, high, position = _bounds(data, position, kind, context, addresses)
                if high < 0:
                    base = low
                    continue
            if (low > high >= 0) or high > last or low >= last:
                return None
            length, position = _uleb(data, position)
            if position + length > end:
                return None
            entries.append((low, high, data[position : position + length]))
            position += length
    except (IndexError, UnusualList):
        return None


def _bounds(
    data: bytes, position: int, kind: int, context: ListContext, addresses: Sequence[int]
) -> tuple[int, int, int]:
    """Return the addresses of an entry and the position behind it; for a base address this, and -1.

    ``kind`` is that of an entry of a location list.
    """
    if kind == DW_LLE_base_addressx:
        index, position = _uleb(data, position)
        return addresses[index], -1, position
    if kind == DW_LLE_base_address:
        base, position = _address(data, position, context)
        return base, -1, position
    if kind == DW_LLE_startx_length:
        index, position = _uleb(data, position)
        length, position = _uleb(data, position)
        return addresses[index], addresses[index] + length, position
    if kind == DW_LLE_startx_endx:
        index, position = _uleb(data, position)
        other, position = _uleb(data, position)
        return addresses[index], addresses[other], position
    if kind == DW_LLE_start_length:
        low, position = _address(data, position, context)
        length, position = _uleb(data, position)
        return low, low + length, position
    if kind == DW_LLE_start_end:
        low, position = _address(data, position, context)
        high, position = _address(data, position, context)
        return low, high, position
    raise UnusualList


def _address(data: bytes, position: int, context: ListContext) -> tuple[int, int]:
    end = position + context.address_size
    if end > len(data):
        raise UnusualList
    return int.from_bytes(data[position:end], context.byte_order), end


def _uleb(data: bytes, position: int) -> tuple[int, int]:
    byte = data[position]
    if byte < 128:
        return byte, position + 1
    second = data[position + 1]
    if second < 128:
        return byte + (second << 7) - 128, position + 2
    third = data[position + 2]
    if third < 128:
        return byte + (second << 7) + (third << 14) - (128 + (128 << 7)), position + 3
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    if value >> 64 or shift > 63:
        raise UnusualList
    return value, position
