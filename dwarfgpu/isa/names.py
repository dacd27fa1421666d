"""Numbers of encodings that have names: counters, messages, hardware registers, buffer formats, shapes of images.

How a number is written depends on the instruction; a row of the tables names one of ``IMMEDIATES``. Which hardware
registers, messages and buffer formats a processor has is in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Names = Mapping[str, Mapping[int, str]]
"""The names of a processor: of "hwreg", "message" and "format"."""

DELAYS = (
    *(
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
    ),
    *("FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"),
)
SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
DEPENDENCIES = (
    *(
        ("hold_cnt", 7, 1),
        ("sa_sdst", 0, 1),
        ("va_vdst", 12, 4),
        ("va_sdst", 9, 3),
        ("va_ssrc", 8, 1),
        ("va_vcc", 1, 1),
    ),
    ("vm_vsrc", 2, 3),
)
UNUSED_DEPENDENCY_BITS = 0x60
COUNTERS = {
    8: (("vmcnt", ((0, 4),)), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 4),))),
    9: (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 4),))),
    10: (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 6),))),
    11: (("vmcnt", ((10, 6),)), ("expcnt", ((0, 3),)), ("lgkmcnt", ((4, 6),))),
    12: (("vmcnt", ((10, 6),)), ("expcnt", ((0, 3),)), ("lgkmcnt", ((4, 6),))),
}
"""Where the counters of ``s_waitcnt`` are."""
INDEX_MODES = ("SRC0", "SRC1", "SRC2", "DST")
VERSIONS = {0: "UC_VERSION_GFX7", 4: "UC_VERSION_GFX10", 6: "UC_VERSION_GFX11", 9: "UC_VERSION_GFX12"}
VERSION_BITS = ((0x2000, "UC_VERSION_W64_BIT"), (0x4000, "UC_VERSION_W32_BIT"), (0x8000, "UC_VERSION_MDP_BIT"))
DIMENSIONS = ("1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY")


def wait_counters(value: int, major: int) -> dict[str, int]:
    """Return the counters that ``s_waitcnt`` waits for, without those that it does not wait for."""
    counters = {}
    for name, pieces in COUNTERS[major]:
        count = at = 0
        for shift, width in pieces:
            count |= (value >> shift & (1 << width) - 1) << at
            at += width
        if count != (1 << at) - 1:
            counters[name] = count
    return counters


def _wait_counters(value: int, major: int, names: Names) -> str:
    counters = wait_counters(value, major)
    if not counters:
        for name, pieces in COUNTERS[major]:
            counters[name] = (1 << sum(width for _, width in pieces)) - 1
    return " ".join(f"{name}({count})" for name, count in counters.items())


def _dependencies(value: int, major: int, names: Names) -> str:
    if value & UNUSED_DEPENDENCY_BITS:
        return f"{value:#x}"
    return _fields(value, DEPENDENCIES)


def _old_dependencies(value: int, major: int, names: Names) -> str:
    return f"{value:#x}" if value & (UNUSED_DEPENDENCY_BITS | 0x80) else _fields(value, DEPENDENCIES[1:])


def _fields(value: int, table: tuple[tuple[str, int, int], ...]) -> str:
    fields = [(name, value >> shift & (1 << width) - 1, (1 << width) - 1) for name, shift, width in table]
    chosen = [field for field in fields if field[1] != field[2]] or fields
    return " ".join(f"depctr_{name}({number})" for name, number, _ in chosen)


def _delay(value: int, major: int, names: Names) -> str:
    def of(table: tuple[str, ...], number: int, what: str) -> str:
        return table[number] if number < len(table) else f"/* invalid {what} value */"

    first, skip, second = value & 15, value >> 4 & 7, value >> 7 & 15
    parts = []
    if first:
        parts.append(f"instid0({of(DELAYS, first, 'instid')})")
    if skip:
        parts.append(f"instskip({of(SKIPS, skip, 'instskip')})")
    if second:
        parts.append(f"instid1({of(DELAYS, second, 'instid')})")
    return " | ".join(parts) or "0"


def _hardware_register(value: int, major: int, names: Names) -> str:
    number, offset, size = value & 63, value >> 6 & 31, (value >> 11 & 31) + 1
    name = names["hwreg"].get(number, str(number))
    part = f", {offset}, {size}" if offset or size != 32 else ""
    return f"hwreg({name}{part})"


MESSAGE_BITS = 0x37F
"""The bits of a message before GFX11: identity, operation and stream. Later ones have eight bits of identity."""


def _message(value: int, major: int, names: Names) -> str:
    is_new = major >= 11
    text = names["message"].get(value & (0xFF if is_new else MESSAGE_BITS))
    if text is not None:
        return f"sendmsg({text})"
    if is_new:
        return f"sendmsg({value}, 0, 0)" if value < 256 else str(value)
    return str(value) if value & ~MESSAGE_BITS else f"sendmsg({value & 15}, {value >> 4 & 7}, {value >> 8 & 3})"


def _version(value: int, major: int, names: Names) -> str:
    bits = [name for bit, name in VERSION_BITS if value & bit]
    if value & 0x1F00:
        return f"{value:#x}"
    version = value & 0xFF
    text = VERSIONS.get(version) or str(version)
    for number, bit in enumerate(bits):
        text = f"({text})|{bit}" if number else f"{text}|{bit}"
    return text


def _index_mode(value: int, major: int, names: Names) -> str:
    if value & ~15:
        return f"{value:#x}"
    return f"gpr_idx({','.join(name for bit, name in enumerate(INDEX_MODES) if value >> bit & 1)})"


def small_or_hexadecimal(value: int) -> str:
    """Return a number as inline constants are written: in decimal up to 64."""
    return str(value) if value <= 64 else f"{value:#x}"


def _signed_hexadecimal(value: int, bits: int) -> str:
    number = value - ((value >> bits - 1 & 1) << bits)
    return f"-{-number:#x}" if number < 0 else f"{number:#x}"


INTERPOLATED = ("p10", "p20", "p0")

IMMEDIATES: dict[str, Callable[[int, int, Names], str | None]] = {
    "i": lambda value, major, names: small_or_hexadecimal(value),
    "i5": lambda value, major, names: None if value > 31 else str(value),
    "x": lambda value, major, names: f"{value:#x}",
    "x23": lambda value, major, names: None if value >> 23 else f"{value:#x}",
    "d": lambda value, major, names: str(value),
    "end": lambda value, major, names: str(value) if value else "",
    "wait": _wait_counters,
    "depctr": _dependencies,
    "depctr1": _old_dependencies,
    "delay": _delay,
    "hwreg": _hardware_register,
    "message": _message,
    "version": _version,
    "index": _index_mode,
    "s21": lambda value, major, names: _signed_hexadecimal(value, 21),
    "s24": lambda value, major, names: _signed_hexadecimal(value, 24),
    "o20": lambda value, major, names: f"{value & 0xFFFFF:#x}",
    "attr": lambda value, major, names: f"attr{value >> 2}.{'xyzw'[value & 3]}",
    "slot": lambda value, major, names: INTERPOLATED[value] if value < 3 else f"invalid_param_{value}",
    "target": lambda value, major, names: names["target"].get(value, f"invalid_target_{value}"),
}
"""How immediate operands are written; None for numbers that may not stand there."""


def image_dimension(value: int, others: Mapping[str, int]) -> str:
    """Write the shape of an image."""
    return f" dim:SQ_RSRC_IMG_{DIMENSIONS[value]}"


def buffer_format_text(value: int, names: Names) -> str:
    """Write the format of a typed buffer; its default is not written."""
    text = names["format"].get(value, str(value))
    return text and (f" format:{value}" if text.isdigit() else f" format:[{text}]")
