"""What atomic operations make of a number in memory, as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.semantics.llvm import Vectors

Change = Callable[..., str]


def _binary(operation: str) -> Change:
    return lambda one, kind, old, data: one.operate(operation, kind, old, data)


def _extreme(name: str) -> Change:
    return lambda one, kind, old, data: one.intrinsic(f"{kind[0].replace('i', 's')}{name}", kind, old, data)


def _increased(one: Vectors, kind: str, old: str, data: str) -> str:
    more = one.operate("add", kind, old, one.constant(1, kind))
    return one.choose(one.operate("icmp uge", kind, old, data), kind, one.constant(0, kind), more)


def _decreased(one: Vectors, kind: str, old: str, data: str) -> str:
    is_none = one.operate("icmp eq", kind, old, one.constant(0, kind))
    starts = one.operate("or", FLAG, is_none, one.operate("icmp ugt", kind, old, data))
    return one.choose(starts, kind, data, one.operate("sub", kind, old, one.constant(1, kind)))


def _compared(one: Vectors, kind: str, old: str, data: str, other: str) -> str:
    relation = "fcmp oeq" if kind[0] == "f" else "icmp eq"
    return one.choose(one.operate(relation, kind, old, other), kind, data, old)


CHANGES: dict[str, Change] = {
    "add": _binary("add"), "sub": _binary("sub"), "and": _binary("and"), "or": _binary("or"), "xor": _binary("xor"),
    "rsub": lambda one, kind, old, data: one.operate("sub", kind, data, old),
    "min": _extreme("min"), "max": _extreme("max"), "inc": _increased, "dec": _decreased,
    "swap": lambda _one, _kind, _old, data: data, "add f": _binary("fadd"), "cmpswap": _compared, "cmpst": _compared,
    "min f": lambda one, kind, old, data: one.extreme(old, data, kind, "olt"),
    "max f": lambda one, kind, old, data: one.extreme(old, data, kind, "ogt"),
}  # fmt: skip
"""The new number in memory, of the old one and what a lane gives."""
