"""Lists of version 5 read quickly, for who reads all lists of a file.

These functions read what compilers write, and give None for all else: an entry of an unknown kind, a dropped function,
an address that is missing, a range that ends before it begins, the end of the section. Then `read_location_list` and
`read_range_list` have the answer, and say what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    DW_RLE_base_address,
    DW_RLE_base_addressx,
    DW_RLE_end_of_list,
    DW_RLE_offset_pair,
    DW_RLE_start_end,
    DW_RLE_start_length,
    DW_RLE_startx_endx,
    DW_RLE_startx_length,
)
from dwarfgpu.objfile.lists.list_encoding import MAX_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.objfile.lists.list_encoding import ListContext


def quick_ranges(
    data: bytes, position: int, context: ListContext, addresses: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Return the ranges of a list of ``.debug_rnglists`` that are not empty, in its order."""
    ranges: list[tuple[int, int]] = []
    base = -1 if context.base is None else context.base
    last = (1 << 8 * context.address_size) - 1
    size, order = context.address_size, context.byte_order
    stop = position + 2 * MAX_ENTRIES  # an entry has two bytes and more
    try:
        while True:
            kind = data[position]
            position += 1
            if kind == DW_RLE_end_of_list:
                return ranges if position <= stop else None
            if kind == DW_RLE_start_end or kind == DW_RLE_start_length or kind == DW_RLE_base_address:
                if position + size > len(data):
                    return None
                first = int.from_bytes(data[position : position + size], order)
                position += size
            else:
                first = data[position]
                position += 1
                if first > 127:
                    first, position = _uleb(data, position, first)
            if kind == DW_RLE_base_address or kind == DW_RLE_base_addressx:
                base = first if kind == DW_RLE_base_address else addresses[first]
                continue
            if kind == DW_RLE_start_end:
                if position + size > len(data):
                    return None
                second = int.from_bytes(data[position : position + size], order)
                position += size
            else:
                second = data[position]
                position += 1
                if second > 127:
                    second, position = _uleb(data, position, second)
            if kind == DW_RLE_offset_pair:
                if base < 0 or base == last:
                    return None
                first += base
                second += base
            elif kind == DW_RLE_startx_length:
                first = addresses[first]
                second += first
            elif kind == DW_RLE_start_length:
                second += first
            elif kind == DW_RLE_startx_endx:
                first, second = addresses[first], addresses[second]
            elif kind != DW_RLE_start_end:
                return None
            if first < second:
                if second > last:
                    return None
                ranges.append((first, second))
            elif first > second or first >= last:
                return None
    except IndexError:
        return None


def quick_locations(
    data: bytes, position: int, context: ListContext, addresses: Sequence[int]
) -> list[tuple[int, int, int, int]] | None:
    """Return the entries of a list of ``.debug_loclists``: start, end, and where the expression begins and ends.

    An entry that is valid wherever no other is has the end -1.
    """
    entries: list[tuple[int, int, int, int]] = []
    base = -1 if context.base is None else context.base
    last = (1 << 8 * context.address_size) - 1
    size, order, end = context.address_size, context.byte_order, len(data)
    first = second = 0
    stop = position + MAX_ENTRIES
    try:
        while True:
            kind = data[position]
            position += 1
            if kind == DW_LLE_end_of_list:
                return entries if position <= stop else None
            if kind == DW_LLE_offset_pair or kind == DW_LLE_startx_length or kind == DW_LLE_startx_endx:
                first = data[position]
                position += 1
                if first > 127:
                    first, position = _uleb(data, position, first)
                second = data[position]
                position += 1
                if second > 127:
                    second, position = _uleb(data, position, second)
                if kind == DW_LLE_offset_pair:
                    if base < 0 or base == last:
                        return None
                    first += base
                    second += base
                elif kind == DW_LLE_startx_length:
                    first = addresses[first]
                    second += first
                else:
                    first, second = addresses[first], addresses[second]
            elif kind == DW_LLE_base_addressx:
                first = data[position]
                position += 1
                if first > 127:
                    first, position = _uleb(data, position, first)
                base = addresses[first]
                continue
            elif kind == DW_LLE_default_location:
                first, second = 0, -1
            elif kind == DW_LLE_base_address or kind == DW_LLE_start_length or kind == DW_LLE_start_end:
                first = int.from_bytes(data[position : position + size], order)
                position += size
                if kind == DW_LLE_base_address:
                    base = first
                    continue
                if kind == DW_LLE_start_end:
                    second = int.from_bytes(data[position : position + size], order)
                    position += size
                else:
                    second = data[position]
                    position += 1
                    if second > 127:
                        second, position = _uleb(data, position, second)
                    second += first
            else:
                return None
            if (first > second and second >= 0) or second > last or first >= last:
                return None
            length = data[position]
            position += 1
            if length > 127:
                length, position = _uleb(data, position, length)
            if position + length > end:
                return None
            entries.append((first, second, position, position + length))
            position += length
    except IndexError:
        return None


def _uleb(data: bytes, position: int, value: int) -> tuple[int, int]:
    """Return the rest of a number that has more than a byte, and the position behind it."""
    value &= 127
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise IndexError  # the reader that checks everything says what is wrong
    if value >> 64:
        raise IndexError
    return value, position
