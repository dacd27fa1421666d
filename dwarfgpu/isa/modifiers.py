"""The modifiers of instructions as text: ``offset:16``, ``op_sel:[1,0]``, ``quad_perm:[0,1,2,3]``, ``scope:SCOPE_DEV``.

A modifier of a row of the tables is named by its key in ``GpuInstruction.modifiers``, where a variant may follow
behind a colon: ``op_sel:2d`` is written for two sources and the destination. Each function below takes the value, the
other modifiers and the major number of the generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dwarfgpu.isa.names import Names, buffer_format_text, image_dimension

Writer = Callable[[int, Mapping[str, int]], str]

ALIASES = {
    "byte_sel:hi": "byte_sel_",
    "op_sel:2da": "op_sel_",
    "a16:r128": "r128",
    "sc0": "glc",
    "nt": "slc",
    "sc1": "scc",
    "neg": "blgp",
}
"""Modifiers whose field has another name in the formats."""

FLAGS = {
    *(
        "clamp",
        "gds",
        "glc",
        "slc",
        "dlc",
        "scc",
        "sc0",
        "sc1",
        "nt",
        "nv",
        "tfe",
        "lwe",
        "lds",
        "da",
        "unorm",
        "r128",
        "a16",
        "d16",
    ),
    *("offen", "idxen", "done", "compr", "vm", "row_en", "high", "scale_offset", "matrix_a_reuse", "matrix_b_reuse"),
}
"""Modifiers of one bit that are written as their name."""

SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
OUTPUT = ("", " mul:2", " mul:4", " div:2")
SCOPES = ("", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS")
LOADS = ("", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT")
MATRIX_FORMATS = ("", *(f"MATRIX_FMT_{name}" for name in ("BF8", "FP6", "BF6", "FP4")))
SCALE_ROWS = ("", "MATRIX_SCALE_ROW1")
SCALE_FORMATS = ("", "MATRIX_SCALE_FMT_E5M3", "MATRIX_SCALE_FMT_E4M3")
STORES = ("", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB")


def sign_extended(value: int, bits: int) -> int:
    """Return the number that so many bits are, of which the highest is the sign."""
    return (value & (1 << bits) - 1) - ((value >> bits - 1 & 1) << bits)


def signed_bits(spec: str) -> int:
    """Return how many bits a modifier has whose highest bit is its sign; 0 for others."""
    key, _, variant = spec.partition(":")
    width = variant.lstrip("xX")
    return int(width) if key == "offset" and width.isdigit() else 0


def bit_list(name: str, count: int, *, has_destination: bool = False, default: int = 0, kept: int = 15) -> Writer:
    """Return a function that writes a mask with a bit for each source, and maybe for the destination."""
    positions = [*range(count), *([3] if has_destination else [])]

    def write(value: int, others: Mapping[str, int]) -> str:
        bits = [(value & kept) >> position & 1 for position in positions]
        if all(bit == default for bit in bits):
            return ""
        return f" {name}:[{','.join(map(str, bits))}]"

    return write


def _flag(name: str) -> Writer:
    text = f" {name}"
    return lambda value, others: text if value else ""


def _number(name: str, text: str = "{}") -> Writer:
    form = f" {name}:{text}"
    return lambda value, others: form.format(value) if value else ""


def _always(name: str, text: str = "{:#x}") -> Writer:
    form = f" {name}:{text}"
    return lambda value, others: form.format(value)


def _signed(name: str, bits: int) -> Writer:
    return lambda value, others: f" {name}:{sign_extended(value, bits)}" if value else ""


def _hexadecimal(name: str, bits: int, *, is_always: bool) -> Writer:
    def write(value: int, others: Mapping[str, int]) -> str:
        if not value and not is_always:
            return ""
        number = sign_extended(value, bits)
        return f" {name}:{'-' * (number < 0)}{abs(number):#x}"

    return write


def _select(name: str) -> Writer:
    return lambda value, others: f" {name}:{SELECTS[value] if value < 7 else value}"


def _scope(value: int, others: Mapping[str, int]) -> str:
    return SCOPES[value]


def _named(name: str, names: tuple[str, ...]) -> Writer:
    return lambda value, others: f" {name}:{names[value] if value < len(names) else value}" if value else ""


def _dpp8(value: int, others: Mapping[str, int]) -> str:
    return f" dpp8:[{','.join(str(value >> 3 * lane & 7) for lane in range(8))}]"


def _dpp_ctrl(major: int, *, has_new_broadcast: bool = False) -> Writer:
    is_new = major >= 10

    def write(value: int, others: Mapping[str, int]) -> str:  # noqa: PLR0911 (one for each kind of control)
        low = value & 15
        if value < 0x100:
            return f" quad_perm:[{','.join(str(value >> 2 * lane & 3) for lane in range(4))}]"
        name = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror"}.get(value & 0x1F0)
        if name and low:
            return f" {name}:{low}"
        if value in {0x130: 0, 0x134: 0, 0x138: 0, 0x13C: 0}:
            name = {0x130: "wave_shl", 0x134: "wave_rol", 0x138: "wave_shr", 0x13C: "wave_ror"}[value]
            return f" /* {name} is not supported starting from GFX10 */" if is_new else f" {name}:1"
        if value == 0x140:
            return " row_mirror"
        if value == 0x141:
            return " row_half_mirror"
        if value in {0x142, 0x143}:
            if is_new:
                return " /* row_bcast is not supported starting from GFX10 */"
            return f" row_bcast:{15 if value == 0x142 else 31}"
        if 0x150 <= value <= 0x15F:
            if has_new_broadcast:
                return f" row_newbcast:{low}"
            if is_new:
                return f" row_share:{low}"
            return "  /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */"
        if 0x160 <= value <= 0x16F:
            if not is_new:
                return " /* row_xmask is not supported on ASICs earlier than GFX10 */"
            return f" row_xmask:{low}"
        return " /* Invalid dpp_ctrl value */"

    return write


def _long_dpp_ctrl(value: int, others: Mapping[str, int]) -> str:
    """Write the control of an operation on 64 bits, which can broadcast only."""
    if 0x150 <= value <= 0x15F:
        return f" row_newbcast:{value & 15}"
    return "  /* 64 bit dpp only supports row_newbcast */"


def _double_dpp_ctrl(value: int, others: Mapping[str, int]) -> str:
    """Write the control of an operation of the double precision unit, which can broadcast only."""
    if 0x150 <= value <= 0x15F:
        return f" row_newbcast:{value & 15}"
    return "  /* DP ALU dpp only supports row_newbcast */"


def _temporal_hint(kind: str) -> Writer:
    def write(value: int, others: Mapping[str, int]) -> str:
        if not value:
            return ""
        scope = others.get("scope", 0)
        if kind == "atomic":
            if value & 4:
                text = f"TH_ATOMIC_CASCADE{'_NT' if value & 2 else '_RT'}" if scope >= 2 else f"TH_ATOMIC_{value:#x}"
            elif value & 2:
                text = "TH_ATOMIC_NT" + ("_RETURN" if value & 1 else "")
            else:
                text = "TH_ATOMIC_RETURN"
        elif value == 3:
            store = kind == "store"
            text = f"TH_{'STORE' if store else 'LOAD'}_" + ("BYPASS" if scope == 3 else "WB" if store else "LU")
        elif kind == "store":
            text = f"TH_STORE_{STORES[value]}"
        else:
            text = f"TH_LOAD_{LOADS[value]}" if value < 7 else f"{value:#x}"
        return f" th:{text}"

    return write


def writer_of(spec: str, major: int, names: Names) -> Writer:
    """Return the function that writes a modifier of a row."""
    key, _, variant = spec.partition(":")
    if key in {"op_sel", "neg_lo", "neg_hi", "op_sel_hi", "neg"}:
        default = int(key == "op_sel_hi" and "z" not in variant)
        kept = {"b": 0b1101, "c": 0b1100, "a": 0b0011}.get(variant[-1], 0b1111)
        return bit_list(key, int(variant[0]), has_destination="d" in variant, default=default, kept=kept)
    if key in FLAGS:
        return _flag(key)
    if key in SIMPLE:
        return SIMPLE[key]
    if key == "dpp_ctrl":
        special = {"64": _long_dpp_ctrl, "dp": _double_dpp_ctrl}.get(variant)
        return special or _dpp_ctrl(major, has_new_broadcast=variant == "new")
    if key == "th":
        return _temporal_hint(variant)
    if key == "offset":
        if variant in {"swizzle", "swizzle8"}:
            return _swizzle if variant == "swizzle" else _old_swizzle
        if variant.startswith(("x", "X")):
            return _hexadecimal(key, int(variant[1:]), is_always=variant[0] == "x")
        return _signed(key, int(variant)) if variant else _number(key)
    if key == "format":
        return lambda value, others: buffer_format_text(value, names)
    raise KeyError(spec)


def _swizzle(value: int, others: Mapping[str, int]) -> str:
    """Write the pattern of ``ds_swizzle_b32``."""
    return "" if not value else f" offset:{_swizzle_pattern(value)}"


def _old_swizzle(value: int, others: Mapping[str, int]) -> str:
    """Write the pattern of ``ds_swizzle_b32`` before GFX9, which has no rotations."""
    return f" offset:{value}" if value & 0x8000 and value & 0xFF00 != 0x8000 else _swizzle(value, others)


def _swizzle_pattern(value: int) -> str:
    if value & 0xFF00 == 0x8000:
        return f"swizzle(QUAD_PERM,{','.join(str(value >> 2 * lane & 3) for lane in range(4))})"
    if value & 0x8000:
        if value & 0xE000 == 0xE000:
            return f"swizzle(FFT,{value & 31})"
        if value & 0xE000 == 0xC000:
            return f"swizzle(ROTATE,{value >> 10 & 1},{value >> 5 & 31})"
        return str(value)
    kept, set_, flipped = value & 31, value >> 5 & 31, value >> 10 & 31
    if kept == 31 and set_ == 0 and flipped.bit_count() == 1:
        return f"swizzle(SWAP,{flipped})"
    if kept == 31 and set_ == 0 and flipped > 0 and not (flipped + 1) & flipped:
        return f"swizzle(REVERSE,{flipped + 1})"
    group = 32 - kept
    if group > 1 and not group & (group - 1) and set_ < group and flipped == 0:
        return f"swizzle(BROADCAST,{group},{set_})"
    low, high = (set_ ^ flipped), ((31 & kept | set_) ^ flipped)
    letters = []
    for position in range(4, -1, -1):
        pair = low >> position & 1, high >> position & 1
        letters.append({(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}[pair])
    return f'swizzle(BITMASK_PERM,"{"".join(letters)}")'


SIMPLE: dict[str, Writer] = {
    "omod": lambda value, others: OUTPUT[value],
    "scope": _scope,
    "offset0": _number("offset0"),
    "offset1": _number("offset1"),
    "dmask": _number("dmask", "{:#x}"),
    "dim": image_dimension,
    "row_mask": _always("row_mask"),
    "bank_mask": _always("bank_mask"),
    "bound_ctrl": _number("bound_ctrl"),
    "fi": _number("fi"),
    "dpp8": _dpp8,
    "dst_sel": _select("dst_sel"),
    "src0_sel": _select("src0_sel"),
    "src1_sel": _select("src1_sel"),
    "dst_unused": lambda value, others: f" dst_unused:{UNUSED[value % 3]}",
    "bitop3": lambda value, others: f" bitop3:{value if value <= 10 else hex(value)}" if value else "",
    "byte_sel": _number("byte_sel"),
    "cbsz": _number("cbsz"),
    "abid": _number("abid"),
    "blgp": _number("blgp"),
    "index_key": _number("index_key"),
    "op_sel_d": lambda value, others: " op_sel:[0,1]" if value else "",
    "scale_sel": _number("scale_sel"),
    "wait_exp": _always("wait_exp", "{}"),
    "wait_vdst": _always("wait_vdst", "{}"),
    "wait_va_vdst": _always("wait_va_vdst", "{}"),
    "wait_vm_vsrc": _always("wait_vm_vsrc", "{}"),
    "matrix_a_fmt": _named("matrix_a_fmt", MATRIX_FORMATS),
    "matrix_b_fmt": _named("matrix_b_fmt", MATRIX_FORMATS),
    "matrix_a_scale": _named("matrix_a_scale", SCALE_ROWS),
    "matrix_b_scale": _named("matrix_b_scale", SCALE_ROWS),
    "matrix_a_scale_fmt": _named("matrix_a_scale_fmt", SCALE_FORMATS),
    "matrix_b_scale_fmt": _named("matrix_b_scale_fmt", SCALE_FORMATS),
}
