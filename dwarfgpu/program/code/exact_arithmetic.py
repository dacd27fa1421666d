"""What expressions compute, as LLVM means it: the widths and the types of its integers.

LLVM's integers have a width at each operation. DWARF has the width of an address, or that of a base type, and compilers
write neither where they should. Each function takes the operations of an expression, and returns them with what they
lack, or None where they lack nothing; the table of `repairs` names them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.expr.instruction import BINARY, COMPARISONS, CONVERSIONS, PIECES, UNARY, Instruction, instruction_of
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.amdgpu.registers import LANE_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.code.repairs import Site

# --- Types of fewer bits than their bytes have --------------------------------------------------------------------

_NAMED_WIDTH = re.compile(r"DW_ATE_(un)?signed_(\d{1,2})$")
"""The names of the base types that LLVM makes for the integers of its expressions."""


def with_exact_widths(instructions: Sequence[Instruction], site: Site) -> list[Instruction] | None:
    """Cut the results of conversions to the bits that the names of their types say; None if nothing needs that."""
    result: list[Instruction] = []
    is_changed = False
    for instruction in instructions:
        result.append(instruction)
        operand = instruction.operands[0] if instruction.operation.name == "DW_OP_convert" else 0
        kind = site.ask("base_type", operand) if operand else None
        named = _NAMED_WIDTH.match(site.ask("type_name", operand) or "") if kind is not None else None
        if kind is None or named is None or not kind.is_integral or not 0 < int(named[2]) < min(kind.bit_size, 64):
            continue
        is_changed = True
        bits = int(named[2])
        result += [_step("convert", 0, instruction), *_cut(bits, instruction, is_signed=not named[1])]
        result.append(_step("convert", operand, instruction))
    return result if is_changed else None


# --- Operands of different types ----------------------------------------------------------------------------------


@frozen
class _Entry:
    """What is known of an entry of the stack."""

    type: int
    """The offset of its base type in the unit; 0 is the generic type."""
    made_by: int
    """The index of the operation that pushed it."""
    is_copied: bool = False
    """Whether another entry is the same value, so that a conversion would change that, too."""


_TYPED = {
    "DW_OP_convert": 0,
    "DW_OP_reinterpret": 0,
    "DW_OP_regval_type": 1,
    "DW_OP_const_type": 0,
    "DW_OP_deref_type": 1,
}
"""The operations with a base type, and the index of the operand that is its offset."""
_PUSHED = ("DW_OP_lit", "DW_OP_const", "DW_OP_breg", "DW_OP_reg", "DW_OP_addr", "DW_OP_fbreg", "DW_OP_LLVM_push_lane")


def with_one_type(instructions: Sequence[Instruction], site: Site) -> list[Instruction] | None:
    """Convert an operand of the generic type to the integral type of the other one; None if nothing needs that."""
    if not any(instruction.operation.name in _TYPED for instruction in instructions):
        return None
    converted: dict[int, int] = {}
    stack: list[_Entry] = []
    try:
        for i, instruction in enumerate(instructions):
            _type_step(instruction, i, stack, converted, site)
    except (IndexError, _Unclear):
        return None
    if not converted:
        return None
    result: list[Instruction] = []
    for i, instruction in enumerate(instructions):
        result.append(instruction)
        if i in converted:
            result.append(instruction_of("DW_OP_convert", (converted[i],), instruction.offset, instruction.end))
    return result


class _Unclear(Exception):
    """The types of the entries are not known any more."""


def _type_step(instruction: Instruction, i: int, stack: list[_Entry], converted: dict[int, int], site: Site) -> None:
    name = instruction.operation.name
    if name in _TYPED:
        if name not in ("DW_OP_regval_type", "DW_OP_const_type"):
            stack.pop()
        stack.append(_Entry(instruction.operands[_TYPED[name]], i))
    elif name in UNARY:
        stack.append(_Entry(stack.pop().type, i))
    elif name in BINARY or name in COMPARISONS:
        right, left = stack.pop(), stack.pop()
        kind = _common(left, right, converted, site)
        stack.append(_Entry(kind if name in BINARY else 0, i))
    elif name == "DW_OP_dup":
        stack[-1:] = [_Entry(stack[-1].type, i, is_copied=True)] * 2
    elif name == "DW_OP_swap":
        stack[-2:] = [stack[-1], stack[-2]]
    elif name == "DW_OP_drop":
        stack.pop()
    elif name in ("DW_OP_deref", "DW_OP_deref_size", "DW_OP_LLVM_offset_uconst"):
        stack[-1] = _Entry(0, i)
    elif name in ("DW_OP_LLVM_offset", "DW_OP_LLVM_form_aspace_address"):
        stack.pop()
        stack[-1] = _Entry(0, i)
    elif name.startswith(_PUSHED):
        stack.append(_Entry(0, i))
    elif name in PIECES:
        stack.clear()
    elif name not in ("DW_OP_stack_value", "DW_OP_nop"):
        raise _Unclear


def _common(left: _Entry, right: _Entry, converted: dict[int, int], site: Site) -> int:
    if left.type == right.type:
        return left.type
    types = [None if entry.type == 0 else site.ask("base_type", entry.type) for entry in (left, right)]
    for entry, kind in zip((left, right), types, strict=True):
        if entry.type and (kind is None or not kind.is_integral):
            raise _Unclear
    one, other = types
    if one is not None and other is not None and (one == other or one.bit_size != other.bit_size):
        if one == other:
            return left.type
        raise _Unclear
    keeps, changes = (right, left) if left.type == 0 else (left, right)
    if changes.is_copied or (changes.type, keeps.type) == (0, 0):
        raise _Unclear
    converted[changes.made_by] = keeps.type
    return keeps.type


# --- Sign extension -----------------------------------------------------------------------------------------------

_EXTENSION = ("dup", "N", "shr", "lit0", "not", "mul", "N", "shl", "or")
"""How LLVM writes the extension of a sign without base types (DwarfExpression::emitLegacySExt)."""


def with_sign_extension(instructions: Sequence[Instruction], _site: Site) -> list[Instruction] | None:
    """Cut what is extended to the bits that the extension is from; None if nothing needs that."""
    result: list[Instruction] = []
    is_changed = False
    i = 0
    while i < len(instructions):
        bits = _extended_from(instructions[i : i + len(_EXTENSION)])
        last = result[-1] if result else None
        is_cut = last is not None and last.name == "DW_OP_deref_size" and 8 * last.operands[0] <= (bits or 0)
        if bits is None or is_cut:
            result.append(instructions[i])
            i += 1
            continue
        is_changed = True
        result += _cut(bits, instructions[i])
        i += len(_EXTENSION)
    return result if is_changed else None


def _extended_from(part: Sequence[Instruction]) -> int | None:
    """Return how many bits an extension begins with; None if the operations are none."""
    if len(part) < len(_EXTENSION):
        return None
    numbers = []
    for instruction, word in zip(part, _EXTENSION, strict=True):
        if word == "N":
            numbers.append(_number(instruction))
        elif instruction.name != f"DW_OP_{word}":
            return None
    sign, bits = numbers
    return bits if sign is not None and bits is not None and sign + 1 == bits and 1 < bits < 64 else None


def _number(instruction: Instruction) -> int | None:
    """Return the number that an operation pushes, as LLVM writes small unsigned ones."""
    if instruction.name == "DW_OP_constu":
        return int(instruction.operands[0])
    match = re.fullmatch(r"DW_OP_lit(\d+)", instruction.name)
    return None if match is None else int(match[1])


def _cut(bits: int, at: Instruction, *, is_signed: bool = True) -> list[Instruction]:
    """Return the operations that cut a number to its low bits, and extend their sign."""
    sign = 1 << (bits - 1)
    steps: list[tuple[str, int | None]] = [("constu", 2 * sign - 1), ("and", None)]
    if is_signed:
        steps += [("constu", sign), ("xor", None), ("constu", sign), ("minus", None)]
    return [_step(name, number, at) for name, number in steps]


def _step(name: str, number: int | None, at: Instruction) -> Instruction:
    return instruction_of(f"DW_OP_{name}", () if number is None else (number,), at.offset, at.end)


# --- Arithmetic of lanes ------------------------------------------------------------------------------------------

_SIGNED = frozenset(("DW_OP_shra", "DW_OP_div"))
_UNSIGNED = frozenset(("DW_OP_shr", "DW_OP_eq", "DW_OP_ne"))
_CARRYING = frozenset(
    f"DW_OP_{name}" for name in ("plus", "minus", "mul", "shl", "plus_uconst", "not", "neg", "consts")
)
"""Operations whose results may have bits above those of a lane."""
_WIDE = CONVERSIONS | {"DW_OP_dup", "DW_OP_LLVM_extend"}
"""What a computation has that leaves the width of a lane."""


def with_lane_arithmetic(instructions: Sequence[Instruction], site: Site) -> list[Instruction] | None:
    """Cut operands to the bits of a lane where their higher bits would show in the result; None if none are."""
    size = site.ask("size")
    names = {instruction.name for instruction in instructions}
    if size is None or 8 * size > LANE_BITS or names & (_WIDE | PIECES) or not names & (_SIGNED | _UNSIGNED):
        return None
    if not any(
        site.is_vector(instruction.operands[0]) for instruction in instructions if instruction.name == "DW_OP_regx"
    ):
        return None
    result: list[Instruction] = []
    is_changed = has_carry = False
    for i, instruction in enumerate(instructions):
        is_written = not _is_of_repair(instructions, i)
        has_carry |= instruction.name in _CARRYING and (is_written or instruction.name == "DW_OP_plus")
        if is_written and (instruction.name in _SIGNED or (has_carry and instruction.name in _UNSIGNED)):
            is_changed = True
            for _operand in range(2):
                result += _cut(LANE_BITS, instruction, is_signed=instruction.name in _SIGNED)
                result.append(_step("swap", None, instruction))
        result.append(instruction)
    return result if is_changed else None


def _is_of_repair(instructions: Sequence[Instruction], i: int) -> bool:
    """Return whether an operation is one of several that a repair has made of one."""
    at = instructions[i].offset
    return any(0 <= j < len(instructions) and instructions[j].offset == at for j in (i - 1, i + 1))


CHANGES = {
    "sign-extension": with_sign_extension,
    "lane-arithmetic": with_lane_arithmetic,
    "narrow-type": with_exact_widths,
    "mixed-operands": with_one_type,
}
"""The repairs of this module by name, in the order in which they are tried."""
