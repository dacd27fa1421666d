"""The types of the registers of x86-64, and the registers that are parts of others."""

from __future__ import annotations

import re

from dwarfgpu.dwarf_constants import DW_ATE_float, DW_ATE_signed, DW_ATE_unsigned
from dwarfgpu.program.types import model as t
from dwarfgpu.targets.target import Target

# Intel 64, volume 1, figures 3-8 (EFLAGS) and 10-3 (MXCSR)
_EFLAGS = {
    "CF": 0, "": 1, "PF": 2, "AF": 4, "ZF": 6, "SF": 7, "TF": 8, "IF": 9, "DF": 10, "OF": 11, "NT": 14, "RF": 16,
    "VM": 17, "AC": 18, "VIF": 19, "VIP": 20, "ID": 21,
}  # fmt: skip
_MXCSR = {
    "IE": 0, "DE": 1, "ZE": 2, "OE": 3, "UE": 4, "PE": 5, "DAZ": 6, "IM": 7, "DM": 8, "ZM": 9, "OM": 10, "UM": 11,
    "PM": 12, "FZ": 15,
}  # fmt: skip
_VECTORS = (
    ("v8_bfloat16", "v8bf16", "bfloat16", DW_ATE_float, 2),
    ("v8_half", "v8h", "half", DW_ATE_float, 2),
    ("v4_float", "v4f", "float", DW_ATE_float, 4),
    ("v2_double", "v2d", "double", DW_ATE_float, 8),
    ("v16_int8", "v16i8", "int8_t", DW_ATE_signed, 1),
    ("v8_int16", "v8i16", "int16_t", DW_ATE_signed, 2),
    ("v4_int32", "v4i32", "int32_t", DW_ATE_signed, 4),
    ("v2_int64", "v2i64", "int64_t", DW_ATE_signed, 8),
)
"""The views of an ``xmm`` register: the member of the union, the name of its type, and its elements."""
_VECTOR_SIZE = 16

_LETTERED = re.compile(r"e([a-d]x|[sd]i|[bs]p)|([a-d]x|[sd]i|bp)|([a-d])([lh])|([sd]i|[bs]p)l|r(\d+)([dwl])")


def type_of(target: Target, name: str) -> t.Type | None:
    """Return the type of a register; None where its size determines it."""
    if target.name != "x86_64":
        return None
    if name == "rflags":
        return t.Base("i386_eflags", DW_ATE_unsigned, 4, flags=tuple(_EFLAGS.items()))
    if name == "mxcsr":
        return t.Base("i386_mxcsr", DW_ATE_unsigned, 4, flags=tuple(_MXCSR.items()))
    if name.startswith("xmm"):
        return _vector()
    if name.startswith("st"):
        return t.Base("i387_ext", DW_ATE_float, 10)
    return None


def _vector() -> t.Type:
    members = []
    for name, kind, element, encoding, size in _VECTORS:
        dimension = t.Dimension(0, count=_VECTOR_SIZE // size)
        array = t.Array(t.Lazy.known(t.Base(element, encoding, size)), (dimension,), is_vector=True)
        members.append(t.Member(name, t.Lazy.known(t.Typedef(kind, t.Lazy.known(array))), 0))
    members.append(t.Member("uint128", t.Lazy.known(t.Base("uint128_t", DW_ATE_unsigned, _VECTOR_SIZE)), 0))
    body = t.Body(members=tuple(members), order=tuple(range(len(members))))
    return t.Struct("union", "vec128", _VECTOR_SIZE, t.Lazy.known(body))


def part_of(target: Target, name: str) -> tuple[str, t.Type, int] | None:
    """Return the whole of ``eax``, ``ax``, ``ah`` or ``r8d``, the type of the part, and its first bit."""
    match = None if target.name != "x86_64" else _LETTERED.fullmatch(name)
    if match is None:
        return None
    wide, half, letter, which, byte, number, suffix = match.groups()
    size = 4 if wide else 2 if half else 1
    whole = f"r{wide or half or byte or f'{letter}x'}"
    if number:
        size, whole = {"d": 4, "w": 2, "l": 1}[suffix], f"r{number}"
        if not 8 <= int(number) <= 15:
            return None
    return whole, t.Base(f"int{8 * size}_t", DW_ATE_signed, size), 8 if which == "h" else 0
