"""Bytes of ``.debug_addr``, of location lists and of range lists, written as the standard writes their entries.

``loclist(("offset_pair", 0, 4, "50"), "end_of_list")``: a kind, its operands, and the expression in hex.
"""

from typing import Any

from dwarfgpu.encoding import encode_unsigned as uleb

LLE = {
    "end_of_list": (0, ""),               "base_addressx": (1, "u"),            "startx_endx": (2, "uue"),
    "startx_length": (3, "uue"),          "offset_pair": (4, "uue"),            "default_location": (5, "e"),
    "base_address": (6, "a"),             "start_end": (7, "aae"),              "start_length": (8, "aue"),
    "GNU_view_pair": (9, "uu")}  # fmt: skip
RLE = {
    "end_of_list": (0, ""),     "base_addressx": (1, "u"),  "startx_endx": (2, "uu"),   "startx_length": (3, "uu"),
    "offset_pair": (4, "uu"),   "base_address": (5, "a"),   "start_end": (6, "aa"),     "start_length": (7, "au"),
}  # fmt: skip
GNU = {
    "end_of_list": (0, ""),               "base_addressx": (1, "u"),            "startx_endx": (2, "uub"),
    "startx_length": (3, "u4b"),          "offset_pair": (4, "44b")}  # fmt: skip


def number(value: int, size: int, order: str = "little") -> bytes:
    return (value & (1 << 8 * size) - 1).to_bytes(size, order)


def _entries(table: dict[str, tuple[int, str]], entries: tuple[Any, ...], size: int, order: str) -> bytes:
    out = bytearray()
    for entry in entries:
        kind, *operands = (entry,) if isinstance(entry, str) else entry
        code, shape = table[kind]
        out.append(code)
        for how, operand in zip(shape, operands, strict=True):
            if how == "u":
                out += uleb(operand)
            elif how == "a":
                out += number(operand, size, order)
            elif how == "4":
                out += number(operand, 4, order)
            else:
                expression = bytes.fromhex(operand)
                length = len(expression)
                out += (uleb(length) if how == "e" else number(length, 2, order)) + expression
    return bytes(out)


def loclist(*entries: Any, size: int = 8, order: str = "little") -> bytes:
    return _entries(LLE, entries, size, order)


def gnu_loclist(*entries: Any, order: str = "little") -> bytes:
    """Entries of ``.debug_loc.dwo`` before version 5."""
    return _entries(GNU, entries, 8, order)


def rnglist(*entries: Any, size: int = 8, order: str = "little") -> bytes:
    return _entries(RLE, entries, size, order)


def loc(*entries: tuple[Any, ...], size: int = 8, order: str = "little", end: bool = True) -> bytes:
    """Entries of ``.debug_loc``: ``(begin, end, "50")``, and ``(-1, base)`` to select a base address."""
    out = b""
    for begin, stop, *expression in entries:
        out += number(begin, size, order) + number(stop, size, order)
        for block in map(bytes.fromhex, expression):
            out += number(len(block), 2, order) + block
    return out + bytes(2 * size if end else 0)


def ranges(*entries: tuple[int, int], size: int = 8, order: str = "little") -> bytes:
    return loc(*entries, size=size, order=order)


def contribution(
    body: bytes,
    *,
    count: int | None = None,
    version: int = 5,
    size: int = 8,
    segment: int = 0,
    order: str = "little",
    wide: bool = False,
    length: int | None = None,
) -> bytes:
    """A header and what follows it; with ``count`` that of lists, without that of ``.debug_addr``."""
    rest = number(version, 2, order) + bytes([size, segment])
    if count is not None:
        rest += number(count, 4, order)
    rest += body
    length = len(rest) if length is None else length
    return (b"\xff" * 4 + number(length, 8, order) if wide else number(length, 4, order)) + rest


def table_of_lists(*lists: bytes, size: int = 8, order: str = "little", wide: bool = False) -> bytes:
    """A table of lists with their offsets in front."""
    offset_size = 8 if wide else 4
    offsets, position = b"", len(lists) * offset_size
    for item in lists:
        offsets += number(position, offset_size, order)
        position += len(item)
    return contribution(offsets + b"".join(lists), count=len(lists), size=size, order=order, wide=wide)
