"""What registers and memory hold, as a person writes it in JSON: numbers, floats by width, typed values, bytes.

A number with a point or an exponent is a float of the width of what holds it. ``{"float64": 1.5}`` says the type, and
``{"bytes": "..."}`` the bytes in the order of memory. ``null`` is what is not known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isinf
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.machines.columns import unit_bits, unit_count
from dwarfgpu.machines.protocol import check_size

if TYPE_CHECKING:
    from dwarfgpu.strict_json import Node
    from dwarfgpu.targets.target import TargetRegister

    Contents = int | bytes | Sequence[int | None]
    """The contents of a register: a number, its bytes in memory order, or one number a lane, None if not known."""

FLOATS = {16: "e", 32: "f", 64: "d"}
"""The widths of floats (IEEE 754 binary16, binary32 and binary64), and how `struct` calls them."""
WIDTHS = {"float": tuple(FLOATS), "signed": (8, 16, 32, 64), "unsigned": (8, 16, 32, 64)}
TYPES = {f"{kind}{bits}": (kind, bits) for kind, widths in WIDTHS.items() for bits in widths}
"""The types that values may be given in."""
BYTES, COMMENT = "bytes", "comment"
FORMS = (BYTES, *TYPES)


@contextmanager
def noting(node: Node) -> Iterator[None]:
    """Raise the errors of what a node describes as errors of the node."""
    try:
        yield
    except DwarfGpuError as error:
        raise node.fail(error.message, hint=error.hint) from error


# --- Numbers and values with a type -------------------------------------------------------------------------------


def float_pattern(node: Node, bits: int) -> int:
    """Return the pattern of a number as a float, rounded to the nearest; a text may be ``inf``, ``nan`` or hex."""
    value = node.value
    if type(value) not in (str, int, float):
        raise node.fail("a number is needed")
    try:
        number = float.fromhex(value) if type(value) is str and "0x" in value.lower() else float(value)
        data = None if isinf(number) and type(value) is float else struct.pack(f"<{FLOATS[bits]}", number)
    except OverflowError:
        data = None
    except ValueError:
        raise node.fail("this string is not a float", hint='write 1.5, "inf", "nan" or "0x1.8p+0"') from None
    if data is None:  # JSON reads 1e999 as an infinity
        raise node.fail(f"the number does not fit a float of {bits} bits")
    return int.from_bytes(data, "little")


def _number(node: Node, bits: int) -> int:
    """Return a number: an integer as it is, a float as its pattern in a width."""
    if type(node.value) is not float:
        return node.integer()
    if bits not in FLOATS:
        raise node.fail(f"there are no floats of {bits} bits", hint='a type says the width: {"float32": 1.5}')
    return float_pattern(node, bits)


def form_of(node: Node, fields: dict[str, Node] | None = None) -> tuple[str, Node]:
    """Return the only one of `FORMS` among the fields of an object; without fields, those and a comment are known."""
    fields = node.fields((), (*FORMS, COMMENT)) if fields is None else fields
    names = [name for name in fields if name in FORMS]
    if len(names) != 1:
        hint = f"write one of {', '.join(FORMS)}"
        raise node.fail("the key 'bytes' is missing" if not names else f"{' and '.join(names)} are given", hint=hint)
    return names[0], fields[names[0]]


def _pattern(node: Node, name: str) -> int:
    kind, bits = TYPES[name]
    if kind == "float":
        return float_pattern(node, bits)
    return (node.signed(bits) & ((1 << bits) - 1)) if kind == "signed" else node.unsigned(bits)


def typed_bytes(name: str, node: Node, byte_order: str) -> bytes:
    """Return the bytes of a value of a type, or of a list of them, one after the other."""
    if name == BYTES:
        return node.bytes()
    nodes = node.items() if node.is_list else [node]
    return b"".join(_bytes_of(_pattern(item, name), TYPES[name][1] // 8, byte_order) for item in nodes)


# --- Registers ----------------------------------------------------------------------------------------------------


def read_contents(node: Node, bits: int, lane_count: int = 0, *, has_gaps: bool = False) -> Contents:
    """Return the contents of a register that JSON describes: an integer, bytes, or one integer a lane.

    ``bits`` are those of the register, or of one lane of it where it has ``lane_count`` of them. With ``has_gaps``
    a lane may be null: it is not known.
    """
    if node.is_object:
        name, value = form_of(node)
        if name == BYTES:
            return value.bytes()
        if TYPES[name][1] != bits:
            what = "a lane has" if lane_count or value.is_list else "the register has"
            raise node.fail(f"{name} does not fit: {what} {bits} bits")
        if not value.is_list:
            pattern = _pattern(value, name)
            return [pattern] * lane_count if lane_count else pattern
        return [None if has_gaps and item.value is None else _pattern(item, name) for item in value.items()]
    if node.is_list:
        return _lanes(node.items(), bits, has_gaps=has_gaps)
    if lane_count and type(node.value) is float:
        hint = f'{{"float{bits}": {node.value}}} is the same in every lane'
        raise node.fail("a vector register needs a list with one number a lane", hint=hint)
    return _number(node, bits)


def _lanes(nodes: list[Node], bits: int, *, has_gaps: bool) -> list[int | None]:
    """Return the numbers of a list. Integers beside floats are refused, as they are patterns."""
    for node in nodes:
        if node.value is None and not has_gaps:
            node.integer()
    has_floats = any(type(node.value) is float for node in nodes)
    for node in nodes:
        if has_floats and type(node.value) is int and node.value:
            hint = f'write {node.value}.0, or {{"float{bits}": [...]}} for all'
            raise node.fail("this integer is in a list with floats", hint=hint)
    return [None if node.value is None else _number(node, bits) for node in nodes]


def register_bytes(contents: Contents, register: TargetRegister, byte_order: str) -> bytes:
    """Return the bytes of a register, or raise an error if the contents do not fit; missing lanes are 0."""
    size = unit_count(register) * unit_bits(register) // 8
    if isinstance(contents, bytes):
        check_size(register, contents, size)
        return contents
    if isinstance(contents, int):
        return _fitted(contents, register.bit_size, size, byte_order, register.name)
    bits = register.lane_bits
    if not bits:
        raise UsageError(f"{register.name} is one register for all lanes, it cannot have a value for each")
    if len(contents) > register.bit_size // bits:
        raise UsageError(f"{register.name} has {register.bit_size // bits} lanes, not {len(contents)}")
    name = f"a lane of {register.name}"
    lanes = [_fitted(number or 0, bits, bits // 8, byte_order, name) for number in contents]
    return b"".join(lanes).ljust(size, b"\0")


def _fitted(number: int, bit_size: int, size: int, byte_order: str, name: str) -> bytes:
    if not -(1 << (bit_size - 1)) <= number < 1 << bit_size:
        raise UsageError(f"{number:#x} does not fit {bit_size} bits, the size of {name}")
    return _bytes_of(number & ((1 << bit_size) - 1), size, byte_order)


def _bytes_of(number: int, size: int, byte_order: str) -> bytes:
    return number.to_bytes(size, "little" if byte_order == "little" else "big")
