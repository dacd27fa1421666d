"""What operations of memory move for each lane, and how the atomic ones change it.

The names of operations say everything: ``global_load_dwordx2``, ``global_load_b64``, ``ds_read2st64_b32``,
``buffer_store_short_d16_hi``, ``flat_atomic_add_x2``, ``ds_add_rtn_u32``. `shape_of` reads them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics import floats
from dwarfgpu.isa.semantics.narrow_floats import from_bf16, to_bf16
from dwarfgpu.isa.semantics.numbers import LOW

if TYPE_CHECKING:
    from dwarfgpu.isa.instruction import GpuInstruction

Lanes = Any

GLOBAL, FLAT, SCRATCH, LOCAL, BUFFER = "global", "flat", "scratch", "ds", "buffer"
SCALAR_LOAD = re.compile(r"s_(buffer_)?load_(dword(?:x\d+)?|b\d+)$")


@frozen
class AccessShape:
    """What an operation moves for each lane."""

    action: str
    """``load``, ``store``, or the name of an atomic operation."""
    space: str
    size: int
    """The bytes of one number: 1, 2, 4 or 8."""
    count: int = 1
    """How many follow each other."""
    is_signed: bool = False
    half: int | None = None
    """The half of a register that is loaded or stored, the other is kept."""
    pair: int = 0
    """The unit of the two offsets of operations that have two, else 0."""
    returns: bool = False
    """Whether an atomic operation returns the old number."""
    number: str = "u"
    """How an atomic operation sees it: u, i or f."""


SIZES = {
    "ubyte": (1, 1, False), "sbyte": (1, 1, True), "byte": (1, 1, False), "ushort": (2, 1, False),
    "sshort": (2, 1, True), "short": (2, 1, False), "dword": (4, 1, False), "dwordx2": (4, 2, False),
    "dwordx3": (4, 3, False), "dwordx4": (4, 4, False), "dwordx8": (4, 8, False), "dwordx16": (4, 16, False),
    "u8": (1, 1, False), "i8": (1, 1, True), "b8": (1, 1, False), "u16": (2, 1, False), "i16": (2, 1, True),
    "b16": (2, 1, False), "b32": (4, 1, False),
    "b64": (4, 2, False), "b96": (4, 3, False), "b128": (4, 4, False), "b256": (4, 8, False), "b512": (4, 16, False),
}  # fmt: skip
_MOVE = re.compile(
    r"(global|flat|scratch|buffer|ds)_(load|store|read|write)_(addtid_)?(d16_hi_|d16_)?(\w+?)(_d16_hi|_d16)?$"
)
_PAIR = re.compile(r"ds_(read|write|load|store)_?2(?:addr_)?(st64_|stride64_)?_?(b32|b64)$")
_ATOMIC = re.compile(r"(global|flat|buffer|scratch)_atomic_(\w+?)(_x2)?$")
_LOCAL_ATOMIC = re.compile(
    r"ds_(add|sub|rsub|inc|dec|min|max|min_num|max_num|and|or|xor|mskor|wrxchg|storexchg|cmpst|cmpstore|cmpswap|wrap"
    r"|condxchg32|pk_add|cond_sub|sub_clamp)(_rtn)?_([a-z]+\d+)$"
)
_RENAMED = {
    "wrxchg": "swap", "storexchg": "swap", "cmpst": "cmpst", "cmpstore": "cmpswap", "min_num": "min", "max_num": "max",
}  # fmt: skip
_KIND = re.compile(r"(.*?)_?([uibf]|num_f|bf)(32|64|16)$")


@cache
def shape_of(name: str) -> AccessShape | None:
    """Return what a memory operation of lanes does, or None if its name is of none that is known."""
    pair = _PAIR.match(name)
    if pair:
        size = 4 if pair[3] == "b32" else 8
        action = "load" if pair[1] in ("read", "load") else "store"
        return AccessShape(action, LOCAL, 4, size // 4, pair=size * (64 if pair[2] else 1))
    move = _MOVE.match(name)
    if move and move[5] in SIZES and not move[3]:
        size, count, is_signed = SIZES[move[5]]
        high = move[4] or move[6] or ""
        half = None if not high else 1 if "hi" in high else 0
        action = "load" if move[2] in ("load", "read") else "store"
        return AccessShape(action, move[1], size, count, is_signed, half)
    atomic = _ATOMIC.match(name)
    if atomic:
        return _atomic(atomic[1], atomic[2], 8 if atomic[3] else 4, returns=True)
    local = _LOCAL_ATOMIC.match(name)
    if local:
        return _atomic(LOCAL, f"{_RENAMED.get(local[1], local[1])}_{local[3]}", 4, returns=bool(local[2]))
    return None


def depends_on_order(instruction: GpuInstruction) -> bool:
    """Return whether the result of an atomic operation depends on which lanes and waves come first."""
    shape = shape_of(instruction.name)
    if shape is None or shape.action in ("load", "store"):
        return "atomic" in instruction.name
    return bool(instruction.destinations) or shape.number == "f" or shape.action not in _IN_ANY_ORDER


_IN_ANY_ORDER = ("add", "sub", "min", "max", "and", "or", "xor")
"""The atomic operations that give one result in any order, if their numbers are integers."""


def _atomic(space: str, name: str, size: int, *, returns: bool) -> AccessShape | None:
    typed = _KIND.match(name)
    number = "u"
    if name.startswith("pk_add_"):
        return AccessShape(name, space, 4, returns=returns)
    if typed:
        name, number, size = typed[1], typed[2][-1], int(typed[3]) // 8
    elif name[0] in "us" and name[1:] in ("min", "max"):
        name, number = name[1:], "i" if name[0] == "s" else "u"
    elif name in ("fmin", "fmax", "fcmpswap"):
        name, number = name[1:], "f"
    if (name not in ACTIONS and name not in TWO_SOURCES) or size == 2:
        return None
    return AccessShape(name, space, size, 1, returns=returns, number="u" if number == "b" else number)


def _pairs(add: Any) -> Any:
    """Return an operation on both halves of 32-bit numbers."""

    def run(old: Lanes, data: Lanes) -> Lanes:
        low, high = (add(*((word >> shift & 0xFFFF).astype(np.uint16) for word in (old, data))) for shift in (0, 16))
        return low.astype(np.uint32) | high.astype(np.uint32) << 16

    return run


def _exchange_marked(old: Lanes, data: Lanes) -> Lanes:
    """Replace each half of a 64-bit number by that of another whose highest bit is set, without that bit."""
    result = old & np.uint64(0)
    for shift in (np.uint64(0), np.uint64(32)):
        half, new = old >> shift & np.uint64(LOW), data >> shift & np.uint64(LOW)
        result |= np.where(new >> np.uint64(31) != 0, new & np.uint64(0x7FFFFFFF), half) << shift
    return result


def _arrived(old: Lanes, count: Lanes) -> Lanes:
    """Return a barrier in local memory after arrivals (CDNA 5 ISA document, 11.2.2).

    Bits 28:0 are 1 less than the number of missing arrivals, and bits 31:29 are the phase. When the first would fall
    below 0, the phase changes, and bits 47:32 take their place. HIP and Triton use these widths; others are possible.
    """
    state = (old - count) & np.uint64(LOW)
    again = state & np.uint64(LOW << 29 & LOW) | old >> np.uint64(32) & np.uint64(0xFFFF)
    state = np.where(state >> np.uint64(28) & np.uint64(1), again, state)
    return old & ~np.uint64(LOW) | state


ACTIONS: dict[str, Any] = {
    "arrive": _arrived,
    "pk_add_f16": _pairs(lambda left, right: (left.view(np.float16) + right.view(np.float16)).view(np.uint16)),
    "pk_add_bf16": _pairs(lambda left, right: to_bf16(from_bf16(left) + from_bf16(right))),
    "csub": lambda old, data: np.where(old < data, old.dtype.type(0), old - data),
    "sub_clamp": lambda old, data: np.where(old < data, old.dtype.type(0), old - data),
    "cond_sub": lambda old, data: np.where(old < data, old, old - data),
    "ordered_add": lambda old, data: old + data,
    "condxchg32": _exchange_marked,
    "add": lambda old, data: old + data,
    "sub": lambda old, data: old - data,
    "rsub": lambda old, data: data - old,
    "min": lambda old, data: floats.smaller(old, data) if old.dtype.kind == "f" else np.minimum(old, data),
    "max": lambda old, data: floats.larger(old, data) if old.dtype.kind == "f" else np.maximum(old, data),
    "and": lambda old, data: old & data,
    "or": lambda old, data: old | data,
    "xor": lambda old, data: old ^ data,
    "inc": lambda old, data: np.where(old >= data, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, data: np.where((old == 0) | (old > data), data, old - old.dtype.type(1)),
    "swap": lambda _old, data: data,
}
"""The new number in memory, of the old one and what a lane gives."""


ARRIVAL = AccessShape("arrive", LOCAL, 8, returns=True)
"""An arrival at a barrier in local memory."""

TWO_SOURCES: dict[str, Any] = {
    "cmpswap": lambda old, data, other: np.where(old == other, data, old),
    "cmpst": lambda old, data, other: np.where(old == other, data, old),
    "mskor": lambda old, data, other: old & ~data | other,
    "wrap": lambda old, data, other: np.where(old >= data, old - data, old + other),
}
"""The same of operations that have two numbers from each lane."""


def _compared(numbers: Lanes, compared: Lanes) -> list[int]:
    found: list[int] = numbers[:1].tolist()
    for new, expected in zip(numbers[1:].tolist(), compared.tolist(), strict=True):
        found.append(new if found[-1] == expected else found[-1])
    return found


_IN_A_ROW: dict[str, Any] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum, "cmpswap": _compared, "cmpst": _compared,
}  # fmt: skip
"""The numbers at one place, of the first and of what lanes give: those of all actions but sums are whole numbers."""
FEW_PLACES = 16
"""The places that are changed one after the other, else lane after lane: contended ones have very many lanes."""


def line_bytes(generation: int) -> int:
    """Return the bytes of a line of the vector cache: what one transaction moves."""
    return 128 if generation >= 10 else 64


def changed_in_turn(view: Any, index: Lanes, shape: AccessShape, data: Lanes, other: Lanes) -> Lanes:
    """Do an atomic operation for each lane; of lanes at one place, in their order. Return the old numbers."""
    typed = view.view(f"{shape.number}{shape.size}")
    data = data.view(f"{shape.number}{shape.size}")
    other = None if other is None else other.view(data.dtype)
    order = np.argsort(_narrow(index), kind="stable")
    placed = index[order]
    firsts = np.flatnonzero(np.concatenate(([True], placed[1:] != placed[:-1])))
    if len(firsts) == len(index):
        before = typed[index]
        typed[index] = _changed(before, shape, data, other)
        return before.view(view.dtype)
    old = np.empty_like(view, shape=len(index))
    raw = old.view(typed.dtype)
    counts = np.diff(np.append(firsts, len(placed)))
    if shape.action == "add" and typed.dtype.kind in "ui":  # a running sum, less what it was at each place
        after = np.cumsum(data[order], dtype=typed.dtype)
        before = after - data[order]
        raw[order] = before + np.repeat(typed[placed[firsts]] - before[firsts], counts)
        lasts = firsts + counts - 1
        typed[placed[lasts]] = raw[order[lasts]] + data[order[lasts]]
        return old
    if len(firsts) <= FEW_PLACES and (
        shape.action == "add" or (typed.dtype.kind in "ui" and shape.action in _IN_A_ROW)
    ):
        for lanes in np.split(order, firsts[1:]):
            place, change = index[lanes[0]], _IN_A_ROW[shape.action]
            numbers = np.append(typed[place], data[lanes])
            found = change.accumulate(numbers) if other is None else change(numbers, other[lanes])
            raw[lanes], typed[place] = found[:-1], found[-1]
        return old
    for turn in range(int(counts.max())):
        lanes = order[firsts[counts > turn] + turn]
        places = index[lanes]
        raw[lanes] = typed[places]
        typed[places] = _changed(typed[places], shape, data[lanes], None if other is None else other[lanes])
    return old


def _narrow(index: Lanes) -> Lanes:
    """Return numbers in the same order, of 16 bits if they are near each other: these are sorted 8 times faster."""
    if len(index) < 64:
        return index
    least = index.min()
    return (index - least).astype(np.uint16) if index.max() - least < 1 << 16 else index


def _changed(old: Lanes, shape: AccessShape, data: Lanes, other: Lanes) -> Lanes:
    if shape.action in TWO_SOURCES:
        return TWO_SOURCES[shape.action](old, data, other)
    return ACTIONS[shape.action](old, data)
