"""Registers that are live at an instruction: those that some lane may read later, before it writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dwarfgpu.errors import Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decoder
from dwarfgpu.isa.instruction import JUMPS, GpuInstruction, GpuOperand, OperandKind

if TYPE_CHECKING:
    from dwarfgpu.program.code.instructions import ListedInstruction

_FILES = {OperandKind.VGPR: ("v", 0), OperandKind.AGPR: ("a", 1024), OperandKind.SGPR: ("s", 2048)}
"""The letter of a file of registers, and its first bit in a set."""
_BITS = 1024
_VECTORS = (1 << 2 * _BITS) - 1
_PRESERVE = 2
_CROSSING = ("readlane", "readfirstlane", "permute", "permlane", "swizzle", "s_swappc")
"""Parts of the names of instructions that read lanes which do not execute them."""
_AND_NOT = ("s_andn2_b", "s_and_not1_b")
_ENDS = JUMPS | {"s_endpgm", "s_endpgm_saved", "s_branch"}


@frozen
class LiveRegisters:
    """What registers are for at an instruction."""

    live: dict[str, tuple[int, ...]]
    """Those that hold what is read there or later, by the letter of their file."""
    read: tuple[str, ...]
    written: tuple[str, ...]
    """Those of the instruction itself."""


@frozen
class _RegisterStep:
    """What an instruction does to the sets of registers that are live."""

    read: int
    killed: int
    from_inactive: int
    """Registers that it reads in lanes that do not execute it, too."""
    narrows: bool
    widens: bool
    """Whether active lanes may become inactive, and the other way round."""

    def before(self, active: int, inactive: int) -> tuple[int, int]:
        """Return what is live before it, in lanes that execute it and in the others, from what is live after it."""
        both = (active | inactive) & _VECTORS
        active, inactive = active | (both if self.narrows else 0), both if self.widens else inactive
        return self.read | (active & ~self.killed), inactive | self.from_inactive


def live_registers(listed: Sequence[ListedInstruction], processor: str, wave_size: int) -> dict[int, LiveRegisters]:
    """Return the live registers of each instruction of a function; nothing for a processor that is not known.

    A vector register is live if any lane may read it later: what lanes write keeps the values of the others. What
    functions that are called read, and callers after a return, is not known.
    """
    if not listed:
        return {}
    try:
        decode = decoder(processor, wave_size).decode
    except Unsupported:
        return {}
    rows = [(each, decode(each.data, 0)) for each in listed if len(each.data) >= 4]
    numbers = {each.address: number for number, (each, _instruction) in enumerate(rows)}
    steps = [_step(instruction) for _each, instruction in rows]
    following: list[list[int]] = []
    for number, (each, instruction) in enumerate(rows):
        goes_on = instruction.name not in _ENDS and number + 1 < len(rows)
        jumped = None if each.target is None else numbers.get(each.target)
        following.append([*([number + 1] if goes_on else ()), *([] if jumped is None else [jumped])])
    live = [(0, 0)] * len(rows)
    is_changed = True
    while is_changed:
        is_changed = False
        for number in reversed(range(len(rows))):
            active = inactive = 0
            for other in following[number]:
                active, inactive = active | live[other][0], inactive | live[other][1]
            found = steps[number].before(active, inactive)
            is_changed |= found != live[number]
            live[number] = found
    return {
        each.address: LiveRegisters(
            _numbers(live[number][0] | live[number][1]),
            _names(part.sources for part in instruction.components or (instruction,)),
            _names(part.destinations for part in instruction.components or (instruction,)),
        )
        for number, (each, instruction) in enumerate(rows)
    }


def _step(instruction: GpuInstruction) -> _RegisterStep:
    parts, name, modifiers = instruction.components or (instruction,), instruction.name, instruction.modifiers
    read = _set(operand for part in parts for operand in part.sources)
    written = _set(each for part in parts for each in part.destinations if each.half is None)
    is_partial = "d16" in name or modifiers.get("op_sel", 0) & 8 or modifiers.get("dst_unused") == _PRESERVE
    if is_partial or instruction.variant.startswith("dpp"):
        written &= ~_VECTORS  # the rest of the register stays, or lanes whose source is not valid keep theirs
    crosses = instruction.variant.startswith("dpp") or any(word in name for word in _CROSSING)
    is_cmpx = name.startswith("v_cmpx")
    changes = is_cmpx or "saveexec" in name or "wrexec" in name
    changes |= any(each.register.startswith("exec") for part in parts for each in part.destinations)
    from_exec = [
        each.register.startswith("exec") for each in instruction.sources if each.register or each.kind in _FILES
    ]
    only_narrows = is_cmpx or name.startswith("s_and_saveexec") or (
        (name.startswith("s_and_b") and any(from_exec)) or (name.startswith(_AND_NOT) and from_exec[:1] == [True])
    )  # fmt: skip
    only_widens = name.startswith("s_or_saveexec") or (name.startswith("s_or_b") and any(from_exec))
    return _RegisterStep(
        read, written, read & _VECTORS if crosses else 0, changes and not only_widens, changes and not only_narrows
    )


def _numbers(registers: int) -> dict[str, tuple[int, ...]]:
    """Return the registers of a set."""
    return {
        letter: tuple(number for number in range(_BITS) if registers >> first + number & 1)
        for letter, first in _FILES.values()
        if registers >> first & (1 << _BITS) - 1
    }


def _set(operands: Iterable[GpuOperand]) -> int:
    found = 0
    for operand in operands:
        if operand.kind in _FILES:
            found |= (1 << max(1, operand.count)) - 1 << _FILES[operand.kind][1] + operand.index
    return found


def _names(operands: Iterable[Iterable[GpuOperand]]) -> tuple[str, ...]:
    named = (_name(each) for part in operands for each in part if each.kind in _FILES)
    return tuple(dict.fromkeys(named))


def _name(operand: GpuOperand) -> str:
    letter, count = _FILES[operand.kind][0], max(1, operand.count)
    return f"{letter}{operand.index}" if count == 1 else f"{letter}[{operand.index}:{operand.index + count - 1}]"
