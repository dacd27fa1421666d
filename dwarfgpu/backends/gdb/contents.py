"""Values of GDB as numbers with their bits, and back.

GDB 13 gives no bytes of a value, and as integers only up to 64 bits of it; as text in hexadecimal it gives every bit of
every type. What is made of bytes is assigned through a convenience variable, for no method does it.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from dwarfgpu.backends.gdb.backend import Refused

_NUMBER = re.compile(r"0x([0-9a-fA-F]+)")
_VARIABLE = "__dwarfgpu"
_UNIONS = (gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_STRUCT)
_FORMAT: dict[str, Any] = {
    "format": "x",
    "raw": True,
    "max_elements": 0,  # all of them
    "repeat_threshold": 0,  # each of them
    "symbols": False,
    "address": False,
}


def number_of(value: Any) -> int:
    """Return the bits of a value, with those of its first element lowest."""
    kind = value.type.strip_typedefs()
    if kind.code in _UNIONS:  # such as those of vector registers: one member has all the bits
        whole = [member for member in kind.fields() if member.type.sizeof == kind.sizeof]
        if not whole:
            raise Refused(f"GDB shows it as {kind}")
        return number_of(value[whole[-1]])
    text = value.format_string(**_FORMAT)
    numbers = [int(member, 16) for member in _NUMBER.findall(text)]
    count, size = _elements(kind)
    if len(numbers) != count:
        raise Refused(text if len(text) < 60 else "a part of it is not available")  # `<unavailable>`
    bits = 0
    for number in reversed(numbers):
        bits = bits << 8 * size | number
    return bits


def _elements(kind: Any) -> tuple[int, int]:
    """Return the total number of elements of a type, and the size of one."""
    inner = kind
    while inner.code == gdb.TYPE_CODE_ARRAY:
        inner = inner.target().strip_typedefs()
    return kind.sizeof // inner.sizeof, inner.sizeof


def assign(name: str, number: int) -> None:
    """Replace the content of a register of the selected frame."""
    kind = gdb.selected_frame().read_register(name).type
    data = (number & (1 << 8 * kind.sizeof) - 1).to_bytes(kind.sizeof, _byte_order())
    gdb.set_convenience_variable(_VARIABLE, gdb.Value(data, kind))
    try:
        gdb.execute(f"set variable ${name} = ${_VARIABLE}", to_string=True)
    finally:
        gdb.set_convenience_variable(_VARIABLE, None)


def _byte_order() -> Any:
    """Return the byte order of the selected frame."""
    return "little" if int(gdb.Value(b"\1\0\0\0", gdb.lookup_type("int"))) == 1 else "big"
