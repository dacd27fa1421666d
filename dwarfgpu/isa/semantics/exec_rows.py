"""Scalar operations that change EXEC: they keep its old value, or write it, in one step.

``exec`` as a source or a result is the mask of the executing lanes, with the size of a wave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dwarfgpu.isa.semantics.numbers import ALL, LOW, Number, flag
from dwarfgpu.isa.semantics.rows import scalar

_MASKS: dict[str, tuple[str, Callable[[Number, Number, int], Number]]] = {
    "and": ("S0 & EXEC", lambda value, lanes, _all: value & lanes),
    "or": ("S0 | EXEC", lambda value, lanes, _all: value | lanes),
    "xor": ("S0 ^ EXEC", lambda value, lanes, _all: value ^ lanes),
    "andn1 and_not0": ("~S0 & EXEC", lambda value, lanes, all_: (value ^ all_) & lanes),
    "andn2 and_not1": ("S0 & ~EXEC", lambda value, lanes, all_: value & (lanes ^ all_)),
    "orn1 or_not0": ("~S0 | EXEC", lambda value, lanes, all_: value ^ all_ | lanes),
    "orn2 or_not1": ("S0 | ~EXEC", lambda value, lanes, all_: value | lanes ^ all_),
    "nand": ("~(S0 & EXEC)", lambda value, lanes, all_: value & lanes ^ all_),
    "nor": ("~(S0 | EXEC)", lambda value, lanes, all_: (value | lanes) ^ all_),
    "xnor": ("~(S0 ^ EXEC)", lambda value, lanes, all_: value ^ lanes ^ all_),
}


def _saving(mask: Callable[[Number, Number, int], Number], all_lanes: int) -> Callable[[Number, Number], Any]:
    def save(value: Number, lanes: Number) -> tuple[Number, Number, Number]:
        new = mask(value, lanes, all_lanes)
        return lanes, new, flag(new != 0)

    return save


def _writing(mask: Callable[[Number, Number, int], Number], all_lanes: int) -> Callable[[Number, Number], Any]:
    def write(value: Number, lanes: Number) -> tuple[Number, Number, Number]:
        new = mask(value, lanes, all_lanes)
        return new, new, flag(new != 0)

    return write


for _words, (_text, _mask) in _MASKS.items():
    for _bits, _all in ((32, LOW), (64, ALL)):
        _types = f"b{_bits} exec -> b{_bits} exec scc"
        _saves = " ".join(f"s_{word}_saveexec_b{_bits}" for word in _words.split())
        scalar(_saves, _types, f"D = EXEC; EXEC = {_text}; SCC = (EXEC != 0)")(_saving(_mask, _all))
        if _words.startswith("andn"):
            _writes = " ".join(f"s_{word}_wrexec_b{_bits}" for word in _words.split())
            scalar(_writes, _types, f"EXEC = {_text}; D = EXEC; SCC = (EXEC != 0)")(_writing(_mask, _all))
