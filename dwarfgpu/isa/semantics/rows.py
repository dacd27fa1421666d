"""The table of meanings: a function for each operation, with the types of what it reads and writes.

A row says how an operation computes, and nothing about where its operands are: registers, constants, modifiers, DPP
and SDWA are the same for all and are compiled by `dwarfgpu.backends.running`. So ``v_add_f32`` is one row for six
encodings:

    @vector("v_add_f32", "f32 f32 -> f32", "Vector ALU: D.f = S0.f + S1.f")
    def add_float(left, right):
        return left + right

**Vector rows** get arrays with one element for each wave and lane, ``[wave, lane]``; an axis of length 1 means that
all waves or all lanes have the same. The types are those of numpy (``u32``, ``i32``, ``f32``, ``u16``, ``f16``,
``u64``, ``f64``, ...); ``mask`` is a flag for each lane, which a scalar register holds as a bit. An operation that
also reads its destination gets it first. Arrays are never changed in place.

**Scalar rows** get numbers of ``b32`` or ``b64``: a Python integer if all waves have the same, else an array of
unsigned 64-bit integers ``[wave, 1]``. `dwarfgpu.isa.semantics.numbers` works on both. ``scc`` is 0 or 1, as a source
or as a result; ``nonzero`` as a result says that SCC tells whether the first result is not 0.

What no function of values can say (branches, memory, lanes that read other lanes) has rows in the modules of
`dwarfgpu.backends.running` that know the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dwarfgpu.immutable import frozen

Function = TypeVar("Function", bound=Callable[..., Any])


@frozen
class InstructionMeaning:
    """One operation."""

    name: str
    unit: str
    """``vector`` or ``scalar``."""
    sources: tuple[str, ...]
    results: tuple[str, ...]
    function: Callable[..., Any]
    document: str
    """What the ISA documents say, in their words for operands: S0, S1, D."""


MEANINGS: dict[str, InstructionMeaning] = {}
"""All rows, by the name of the operation without the suffix of its encoding."""


def vector(names: str, types: str, document: str) -> Callable[[Function], Function]:
    """Declare the meaning of vector operations; names of one operation on several processors are given together."""
    return _declare("vector", names, types, document)


def scalar(names: str, types: str, document: str) -> Callable[[Function], Function]:
    """Declare the meaning of scalar operations."""
    return _declare("scalar", names, types, document)


def _declare(unit: str, names: str, types: str, document: str) -> Callable[[Function], Function]:
    left, _, right = types.partition("->")

    def keep(function: Function) -> Function:
        for name in names.split():
            if name in MEANINGS:
                raise AssertionError(f"{name} has two rows")
            MEANINGS[name] = InstructionMeaning(
                name, unit, tuple(left.split()), tuple(right.split()), function, document
            )
        return function

    return keep
