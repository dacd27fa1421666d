"""Comparisons of lanes: the result is a flag for each lane. ``v_cmpx`` compares the same and also writes EXEC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics.integer_rows import Lanes
from dwarfgpu.isa.semantics.rows import vector

_ORDERED: dict[str, tuple[str, Callable[[Lanes, Lanes], Lanes]]] = {
    "lt": ("S0 < S1", lambda left, right: left < right),
    "eq": ("S0 == S1", lambda left, right: left == right),
    "le": ("S0 <= S1", lambda left, right: left <= right),
    "gt": ("S0 > S1", lambda left, right: left > right),
    "ge": ("S0 >= S1", lambda left, right: left >= right),
}
_OF_INTEGERS = {
    **_ORDERED,
    "ne": ("S0 != S1", lambda left, right: left != right),
    "f": ("0", lambda left, right: np.zeros((1, 1), bool)),
    "t": ("1", lambda left, right: np.ones((1, 1), bool)),
}
_OF_FLOATS = {
    **_ORDERED,
    "lg": ("S0 <> S1", lambda left, right: (left < right) | (left > right)),
    "o": ("neither S0 nor S1 is a NaN", lambda left, right: (left == left) & (right == right)),
    "u": ("S0 or S1 is a NaN", lambda left, right: (left != left) | (right != right)),
    "nge": ("!(S0 >= S1)", lambda left, right: ~(left >= right)),
    "nlg": ("!(S0 <> S1)", lambda left, right: ~((left < right) | (left > right))),
    "ngt": ("!(S0 > S1)", lambda left, right: ~(left > right)),
    "nle": ("!(S0 <= S1)", lambda left, right: ~(left <= right)),
    "neq": ("!(S0 == S1)", lambda left, right: ~(left == right)),
    "nlt": ("!(S0 < S1)", lambda left, right: ~(left < right)),
    "f": ("0", lambda left, right: np.zeros((1, 1), bool)),
    "tru t": ("1", lambda left, right: np.ones((1, 1), bool)),
}

for _type in ("i16", "u16", "i32", "u32", "i64", "u64"):
    for _word, (_text, _compare) in _OF_INTEGERS.items():
        vector(f"v_cmp_{_word}_{_type} v_cmpx_{_word}_{_type}", f"{_type} {_type} -> mask", f"D[lane] = {_text}")(
            _compare
        )
for _type in ("f16", "f32", "f64"):
    for _words, (_text, _compare) in _OF_FLOATS.items():
        _names = " ".join(f"v_cmp_{word}_{_type} v_cmpx_{word}_{_type}" for word in _words.split())
        vector(_names, f"{_type} {_type} -> mask", f"D[lane] = {_text}")(_compare)

_FRACTIONS = {2: 10, 4: 23, 8: 52}
"""The bits of the fraction, by the bytes of a float."""


def _class(value: Lanes, wanted: Lanes) -> Lanes:
    """Return whether a float is of one of the classes that are bits of a mask."""
    size = value.dtype.itemsize
    bits = value.view(f"u{size}")
    fraction_bits = _FRACTIONS[size]
    one: Any = bits.dtype.type(1)
    fraction = bits & ((one << fraction_bits) - one)
    exponent = bits >> fraction_bits & ((one << (8 * size - 1 - fraction_bits)) - one)
    highest = (one << (8 * size - 1 - fraction_bits)) - one
    negative = bits >> (8 * size - 1) != 0
    is_nan = (exponent == highest) & (fraction != 0)
    quiet = fraction >> (fraction_bits - 1) != 0
    magnitude = np.where(exponent == highest, 0, np.where(exponent != 0, 1, np.where(fraction != 0, 2, 3)))
    # signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, +0, +denormal, +normal, +infinity
    number = np.where(is_nan, np.where(quiet, 1, 0), np.where(negative, 2 + magnitude, 9 - magnitude))
    return (wanted >> number.astype(np.uint32) & 1) != 0


for _type in ("f16", "f32", "f64"):
    _types = f"{_type} {'u16' if _type == 'f16' else 'u32'} -> mask"
    vector(f"v_cmp_class_{_type} v_cmpx_class_{_type}", _types, "D[lane] = the class of S0 is a bit of S1")(_class)
