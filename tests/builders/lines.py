"""Bytes of ``.debug_line``: headers of any version, and programs written as instructions.

``program(("set_address", 0x1000), ("special", 0, 1), ("advance_pc", 4), "end_sequence")``
"""

from typing import Any

from dwarfgpu.encoding import encode_signed as sleb
from dwarfgpu.encoding import encode_unsigned as uleb
from tests.builders.lists import number

OPCODE_LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
LINE_BASE, LINE_RANGE, OPCODE_BASE = -5, 14, 13
STANDARD = {
    "copy": (1, ""),                      "advance_pc": (2, "u"),               "advance_line": (3, "s"),
    "set_file": (4, "u"),                 "set_column": (5, "u"),               "negate_stmt": (6, ""),
    "set_basic_block": (7, ""),           "const_add_pc": (8, ""),              "fixed_advance_pc": (9, "2"),
    "set_prologue_end": (10, ""),         "set_epilogue_begin": (11, ""),       "set_isa": (12, "u")}  # fmt: skip
EXTENDED = {"end_sequence": (1, ""), "set_address": (2, "a"), "define_file": (3, "zuuu"), "set_discriminator": (4, "u")}


def operand(how: str, value: Any, size: int, order: str) -> bytes:
    if how == "u":
        return uleb(value)
    if how == "s":
        return sleb(value)
    if how == "z":
        return value.encode() + b"\0"
    return number(value, size if how == "a" else 2, order)


def program(*instructions: Any, size: int = 8, order: str = "little") -> bytes:
    """Instructions by name; ``("special", address advance, line advance)``; bytes stand for themselves."""
    out = bytearray()
    for instruction in instructions:
        if isinstance(instruction, bytes):
            out += instruction
            continue
        name, *values = (instruction,) if isinstance(instruction, str) else instruction
        if name == "special":
            out.append(OPCODE_BASE + (values[1] - LINE_BASE) + values[0] * LINE_RANGE)
        elif name == "extended":
            code, payload = values
            out += b"\0" + uleb(len(payload) + 1) + bytes([code]) + payload
        else:
            code, shape = STANDARD.get(name) or EXTENDED[name]
            block = b"".join(operand(how, v, size, order) for how, v in zip(shape, values, strict=True))
            out += bytes([code]) + block if name in STANDARD else b"\0" + uleb(len(block) + 1) + bytes([code]) + block
    return bytes(out)


def tables_before_5(
    directories: tuple[str, ...] = (), files: tuple[tuple[Any, ...], ...] = (("a.c", 0, 0, 0),)
) -> bytes:
    out = b"".join(name.encode() + b"\0" for name in directories) + b"\0"
    for name, *numbers in files:
        out += name.encode() + b"\0" + b"".join(map(uleb, numbers))
    return out + b"\0"


def table_5(form_of: tuple[tuple[int, int], ...], *rows: tuple[bytes, ...], count: int | None = None) -> bytes:
    """A table of version 5: pairs of content type and form, and rows of encoded values."""
    out = bytes([len(form_of)]) + b"".join(uleb(type_) + uleb(form) for type_, form in form_of)
    return out + uleb(len(rows) if count is None else count) + b"".join(b"".join(row) for row in rows)


def named(*names: str) -> bytes:
    """A table of version 5 with nothing but names (DW_LNCT_path, DW_FORM_string)."""
    return table_5(((1, 8),), *((name.encode() + b"\0",) for name in names))


def table(
    code: bytes = b"",
    *,
    version: int = 5,
    tables: bytes | None = None,
    size: int = 8,
    order: str = "little",
    wide: bool = False,
    min_length: int = 1,
    max_operations: int = 1,
    default_is_stmt: int = 1,
    line_range: int = LINE_RANGE,
    opcode_base: int = OPCODE_BASE,
    lengths: bytes = OPCODE_LENGTHS,
    length: int | None = None,
    header_length: int | None = None,
) -> bytes:
    """A whole table: its header, and a program."""
    if tables is None:
        tables = named("/src") + named("a.c", "b.c") if version >= 5 else tables_before_5()
    header = bytes([min_length])
    if version >= 4:
        header += bytes([max_operations])
    header += bytes([default_is_stmt, LINE_BASE & 0xFF, line_range, opcode_base]) + lengths + tables
    start = number(version, 2, order) + (bytes([size, 0]) if version >= 5 else b"")
    offset_size = 8 if wide else 4
    start += number(len(header) if header_length is None else header_length, offset_size, order)
    body = start + header + code
    length = len(body) if length is None else length
    return (b"\xff" * 4 if wide else b"") + number(length, offset_size, order) + body
