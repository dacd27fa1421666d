"""Updates: stores of a number that was computed from what a load has read, as ``x++`` does.

If lanes of one instruction store the same number there, all but one update are lost, unless the operation gives the
same result again: ``x |= 4`` does. The code behind a load is followed as it stands, over branches that are not taken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.instruction import CALLS, JUMPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.isa.instruction import GpuInstruction

Words = frozenset[tuple[int, bool]]
"""The words of the load that a register was computed from, each with whether a second time gives another result."""
MOST_FOLLOWED = 128
"""The instructions behind a load that are looked at."""
_REPEATABLE = re.compile(
    r"[sv]_(dual_)?(pk_)?(and|or|or3|min\w*|max\w*|med3|mov|cmov|cmovk|movk|cndmask|cselect|bfe|bfi|perm\w*|align\w+"
    r"|cvt\w*|pack|readlane|readfirstlane|accvgpr_\w+|and_or|not_or|and_not\d|or_not\d|andn2|orn2|swap)_"
)
"""Operations that change nothing when they are done again with their result."""
_CONDITIONS = re.compile(r"[sv]_cmp|s_bitcmp|v_writelane")
_DATA = ("vdata", "data", "data0", "data1", "sdata")
_PAIRS = re.compile(r"ds_(read2|load_2addr)")
"""Loads of two places."""


def updating_stores(
    load: GpuInstruction, address: int, instruction_at: Callable[[int], GpuInstruction], generation: int
) -> set[tuple[int, int]]:
    """Return the stores of numbers that an operation has made of a word of a load, with the word."""
    known: dict[Any, Words] = {}
    for operand in load.destinations if not _PAIRS.match(load.name) else ():
        known.update((register, frozenset([(at, False)])) for at, register in enumerate(actions.registers_of(operand)))
    found: set[tuple[int, int]] = set()
    at = address + load.size
    for _number in range(MOST_FOLLOWED):
        if not known:
            break
        try:
            instruction = instruction_at(at)
        except MachineFault:
            break
        name = instruction.name
        if name.startswith(("s_endpgm", "s_barrier")) or name in CALLS or name in JUMPS:
            break
        if name == "s_branch" and (instruction.branch or 0) <= 0:
            break
        action = actions.action_of(instruction, generation)
        if action.operation:
            found.update((at, word) for word in _follow_access(known, instruction, action))
        else:
            _follow_operation(known, instruction)
        at += instruction.branch or instruction.size if name == "s_branch" else instruction.size
    return found


def _follow_operation(known: dict[Any, Words], instruction: GpuInstruction) -> None:
    """Follow an operation from its sources to its results."""
    results: dict[Any, Words] = {}
    for part in instruction.components or (instruction,):
        sources = frozenset(
            word for each in part.sources for register in actions.registers_of(each) for word in known.get(register, ())
        )
        changes = not _REPEATABLE.match(part.name)
        words: Words = frozenset((word, is_changed or changes) for word, is_changed in sources)
        if _CONDITIONS.match(part.name):
            words = frozenset()
        for each in part.destinations:
            for register in actions.registers_of(each):
                kept = frozenset() if each.half is None else known.get(register, frozenset())
                results[register] = words | kept
    _put(known, results)


def _follow_access(known: dict[Any, Words], instruction: GpuInstruction, action: actions.MemoryAction) -> set[int]:
    """Follow an access, where private memory keeps what a register had; return the words that a store may update."""
    data = [operand for operand in instruction.operands if operand.name in _DATA]
    registers = [register for operand in data for register in actions.registers_of(operand)]
    places = tuple(operand.text for operand in instruction.operands if operand.name not in (*_DATA, "vdst", "sdst"))
    place = places, instruction.modifiers.get("offset", 0)
    is_private = action.space == actions.PRIVATE
    if action.operation == actions.STORE and is_private:
        _put(known, {(place, number): known.get(register, frozenset()) for number, register in enumerate(registers)})
    elif action.operation == actions.STORE:
        words = (pair for register in registers for pair in known.get(register, ()))
        return {word for word, is_changed in words if is_changed}
    else:
        written = [register for each in instruction.destinations for register in actions.registers_of(each)]
        kept = [
            known.get((place, number), frozenset()) if is_private else frozenset() for number in range(len(written))
        ]
        _put(known, dict(zip(written, kept, strict=True)))
    return set()


def _put(known: dict[Any, Words], results: dict[Any, Words]) -> None:
    known.update(results)
    for register in [each for each, words in results.items() if not words]:
        del known[register]
