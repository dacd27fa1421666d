"""The meanings of operations as functions: the rows of `dwarfgpu.isa.formulas`, compiled when they are first used.

A meaning says how an operation computes, and nothing about where its operands are: registers, constants, modifiers,
DPP and SDWA are the same for all and are compiled by `dwarfgpu.execution`. So ``v_add_f32`` is one for six
encodings.

The functions of vectors get arrays with one element for each wave and lane, ``[wave, lane]``; an axis of length 1 means
that all waves or all lanes have the same. The types are those of numpy; a mask is a flag for each lane. Arrays are
never changed in place. The functions of scalars get numbers of `dwarfgpu.isa.semantics.numbers`.

What no function of values can say (branches, memory, lanes that read other lanes) is written by the modules of
`dwarfgpu.execution` that know the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.formulas import CARRYING_ON_GFX8, OTHERS_ON_GFX12, Formula, formulas, single_name
from dwarfgpu.isa.instruction import GpuInstruction
from dwarfgpu.isa.semantics.columns import Columns, clamped_function
from dwarfgpu.isa.semantics.numbers import number_function


@frozen
class InstructionMeaning:
    """One operation."""

    formula: Formula

    @property
    def name(self) -> str:
        """The name of the operation without the suffix of its encoding."""
        return self.formula.name

    @property
    def unit(self) -> str:
        """``vector`` or ``scalar``."""
        return self.formula.unit

    @property
    def sources(self) -> tuple[str, ...]:
        """The types of what it reads."""
        return self.formula.sources

    @property
    def results(self) -> tuple[str, ...]:
        """The types of what it writes."""
        return self.formula.results

    @property
    def function(self) -> Callable[..., Any]:
        """The operation as a function of its sources."""
        return _function(self.formula)

    @property
    def clamped(self) -> Callable[..., Any] | None:
        """The operation with the nearest number where the exact result does not fit its type; None if not known."""
        return _clamped(self.formula) if "clamp" in self.formula.flags else None


_clamped = cache(clamped_function)


@cache
def _function(formula: Formula) -> Callable[..., Any]:
    if formula.unit == "scalar" and formula.sources[0][0] == "b":
        return number_function(formula)
    return Columns().function(formula)


class Meanings(Mapping[str, InstructionMeaning]):
    """All meanings, by the name of the operation."""

    def __getitem__(self, name: str) -> InstructionMeaning:
        return _meaning(name)

    def __iter__(self) -> Iterator[str]:
        return iter(formulas())

    def __len__(self) -> int:
        return len(formulas())


@cache
def _meaning(name: str) -> InstructionMeaning:
    return InstructionMeaning(formulas()[name])


MEANINGS = Meanings()


def meaning_of(instruction: GpuInstruction, generation: int) -> InstructionMeaning | None:
    """Return what an instruction computes on processors of a generation; None if no row says it."""
    name, table = instruction.name, instruction.modifiers.get("bitop3")
    if generation <= 8:
        name = CARRYING_ON_GFX8.get(name, name)
    elif generation >= 12:
        name = OTHERS_ON_GFX12.get(name, name)
    return MEANINGS.get(name if table is None else f"{name}_{table:#04x}")


def meaning_of_half(part: GpuInstruction) -> InstructionMeaning | None:
    """Return what half of a dual instruction computes; None if no row says it."""
    name = part.name
    if name == "v_dual_bitop2_b32":  # the bits of a third source would be 0
        return MEANINGS[f"v_dual_bitop2_b32_{3 * (part.modifiers.get('bitop3', 0) & 0x55):#04x}"]
    return MEANINGS.get(name) or MEANINGS.get(single_name(name))
