"""The sizes and the encodings that base types have by their name."""

from __future__ import annotations

import re

from dwarfgpu import dwarf_constants as dw

_POWERS = frozenset((1, 2, 4, 8, 16))
SIZES: dict[int, frozenset[int]] = {
    dw.DW_ATE_address: _POWERS - {16},
    dw.DW_ATE_boolean: _POWERS | {32, 64},  # vectors of them are numbers
    dw.DW_ATE_float: _POWERS | {10, 12},
    dw.DW_ATE_complex_float: frozenset((2, 4, 8, 16, 20, 24, 32)),
    dw.DW_ATE_imaginary_float: _POWERS | {10, 12},
    dw.DW_ATE_decimal_float: frozenset((4, 8, 16)),
    dw.DW_ATE_signed_char: frozenset((1, 2, 4)),
    dw.DW_ATE_unsigned_char: frozenset((1, 2, 4)),
    dw.DW_ATE_UTF: frozenset((1, 2, 4)),
    dw.DW_ATE_ASCII: frozenset((1,)),
    dw.DW_ATE_UCS: frozenset((2, 4)),
    dw.DW_ATE_signed: _POWERS,
    dw.DW_ATE_unsigned: _POWERS,
}
"""The sizes in bytes that values of an encoding usually have."""
_OF_BITS = re.compile(r"DW_ATE_\w+?_(\d+)|(?:unsigned )?_BitInt\((\d+)\)|[iuf](8|16|32|64|128)|_Float(16|32|64|128)")
"""Names that say how many bits values have: of LLVM, of C and of Rust."""
OF_C: dict[str, int] = {
    "_Bool": 1, "bool": 1, "char": 1, "short": 2, "int": 4, "long": 8, "long long": 8, "float": 4, "double": 8,
    "half": 2, "__fp16": 2, "__bf16": 2, "char8_t": 1, "char16_t": 2, "char32_t": 4, "__int128": 16,
}  # fmt: skip
"""The sizes of types of C with pointers of 64 bits (LP64), without `signed`, `unsigned` and a last `int`."""


_INTEGERS = frozenset(("short", "int", "long", "long long", "__int128"))
_OTHERS: dict[str, frozenset[int]] = {
    **dict.fromkeys(("_Bool", "bool"), frozenset((dw.DW_ATE_boolean,))),
    **dict.fromkeys(("float", "double", "half", "__fp16", "__bf16"), frozenset((dw.DW_ATE_float,))),
}
_OF_SIGNED = frozenset((dw.DW_ATE_signed, dw.DW_ATE_signed_char))
_OF_UNSIGNED = frozenset((dw.DW_ATE_unsigned, dw.DW_ATE_unsigned_char))


def has_usual_size(name: str, encoding: int, size: int, is_c: bool) -> bool:  # noqa: FBT001
    """Return whether a base type has a size that its encoding has and, where its name says one, that size."""
    bits = _OF_BITS.fullmatch(name)
    if bits is not None:
        count = int(next(filter(None, bits.groups())))
        return size * 8 >= count and (size * 8 - count < 8 or (size & (size - 1) == 0 or size % 8 == 0))
    plain = _plain(name)
    if is_c and plain in OF_C:
        return size == OF_C[plain]
    return not size or encoding not in SIZES or size in SIZES[encoding]  # `()` of Rust has no bytes


def has_usual_encoding(name: str, encoding: int) -> bool:
    """Return whether a base type of C has the encoding that its name says, if it says one (C11, 6.2.5)."""
    plain = _plain(name)
    if plain in _INTEGERS or (plain == "char" and name != "char"):
        return encoding in (_OF_UNSIGNED if "unsigned" in name.split() else _OF_SIGNED)
    if plain == "char":
        return encoding in _OF_SIGNED | _OF_UNSIGNED
    return encoding in _OTHERS.get(plain, (encoding,))


def _plain(name: str) -> str:
    """Return a name of C without `signed`, `unsigned` and a last `int`."""
    words = [word for word in name.split() if word not in ("signed", "unsigned")]
    return " ".join(words[:-1] if len(words) > 1 and words[-1] == "int" else words) or "int"
