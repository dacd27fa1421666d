"""Repairs: expressions as their producer means them, for those who ask for it, with what the text alone would say.

Pure: an expression goes in, and one comes out that says which repairs it went through. `rules` has the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import UsageError
from dwarfgpu.expr import table
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.program.repairs.rules import BY_NAME, CONDITIONS, REPAIRS, Repair, Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PIECES = frozenset(("DW_OP_piece", "DW_OP_bit_piece"))
"""What ends a part of a composite; each part is written as a location of its own is."""
_CONSTANTS = ("DW_OP_lit", "DW_OP_const")
_NAMES = "plus plus_uconst minus mul div mod and or xor not neg shl shr shra abs dup"
_ARITHMETIC = frozenset(f"DW_OP_{name}" for name in _NAMES.split())
REGISTER_VALUE = "DW_OP_bregx"


@frozen
class Policy:
    """Which repairs are applied: those that were seen in what the producer writes, or named ones, or none."""

    auto: bool = True
    names: tuple[str, ...] = ()

    def allows(self, repair: Repair, producer: str | None) -> bool:
        """Whether a repair may be applied to what a producer has written."""
        if repair.name in self.names:
            return True
        return self.auto and producer is not None and any(each.includes(producer) for each in repair.seen)


OFF = Policy(auto=False)
AUTO = Policy()


def policy_of(text: str) -> Policy:
    """The policy that ``auto``, ``off`` or a list of names means."""
    if text in ("auto", "off"):
        return AUTO if text == "auto" else OFF
    names = tuple(each.strip() for each in text.split(","))
    for name in names:
        if name not in BY_NAME:
            hint = f"give auto, off, or some of {', '.join(BY_NAME)}"
            raise UsageError(f"there is no repair {name[:80]!r}", hint=hint)
    return Policy(auto=False, names=names)


class Repaired(Expression):
    """An expression that was repaired."""

    __slots__ = ("original", "repairs")

    def __init__(
        self, original: Expression, instructions: tuple[Instruction, ...], repairs: tuple[Repair, ...]
    ) -> None:
        Expression.__init__(
            self,
            original.data,
            instructions,
            original.form,
            original.dialect,
            section=original.section,
            offset=original.offset,
        )
        self.original = original
        """What the text alone says."""
        self.repairs = repairs


def repaired(
    expression: Expression, site: Site, policy: Policy = AUTO
) -> tuple[Expression, tuple[Repair, ...]]:
    """An expression as its producer means it, and the repairs that this took; without any it is the same."""
    allowed = [
        repair
        for repair in REPAIRS
        if repair.attribute == site.attribute and policy.allows(repair, site.producer)
    ]
    # a branch counts bytes, which a rewrite would move; none of the idioms has one
    if (
        not allowed
        or expression.fault is not None
        or any(each.target is not None for each in expression.instructions)
    ):
        return expression, ()
    result: list[Instruction] = []
    used: list[Repair] = []
    for part, piece in _parts(expression.instructions):
        for repair in allowed:
            rewritten = _rewritten(part, repair, site)
            if rewritten is not None:
                result += rewritten
                used.append(repair)
                break
        else:
            result += part
        result += piece
    if not used:
        return expression, ()
    repairs = tuple(dict.fromkeys(used))
    return Repaired(expression, tuple(result), repairs), repairs


def repairs_of(expression: Expression) -> tuple[Repair, ...]:
    """The repairs that an expression went through."""
    return expression.repairs if isinstance(expression, Repaired) else ()


def as_written(expression: Expression) -> Expression:
    """What the text alone says."""
    return expression.original if isinstance(expression, Repaired) else expression


def uses_frame_base(expression: Expression) -> bool:
    """Whether an expression is about the frame base of its function."""
    return any(each.operation.name == "DW_OP_fbreg" for each in expression.instructions)


# --- Matching -------------------------------------------------------------------------------------------------------


def _parts(
    instructions: Sequence[Instruction],
) -> Iterator[tuple[Sequence[Instruction], Sequence[Instruction]]]:
    """The parts of a composite, each with the operation that ends it."""
    first = 0
    for i, each in enumerate(instructions):
        if each.name in PIECES:
            yield instructions[first:i], instructions[i : i + 1]
            first = i + 1
    if first < len(instructions) or not instructions:
        yield instructions[first:], ()


def _rewritten(part: Sequence[Instruction], repair: Repair, site: Site) -> list[Instruction] | None:
    """The operations that a part becomes by a repair; None if it is not written so."""
    operands: dict[str, Any] = {}
    if not _matches(part, _statements(repair.pattern), operands):
        return None
    value = operands.get("VALUE", ())
    vectors = [each for each in value if each.name == REGISTER_VALUE]
    if any(not CONDITIONS["vector"][1](site, {"R": each.operands[0]}) for each in vectors):
        return None
    if not all(CONDITIONS[name][1](site, operands) for name in repair.conditions):
        return None
    operands["WAVE_SHIFT"] = (site.target.lane_count - 1).bit_length()
    start, end = part[0].offset, part[-1].end
    result: list[Instruction] = []
    for words in _statements(repair.becomes):
        if words == ["{VALUE}"]:
            for each in value:
                result += _of_lane(each) if each.name == REGISTER_VALUE else [each]
        else:
            name, *rest = (word.format(**operands) for word in words)
            result.append(_instruction(name, tuple(int(each) for each in rest), start, end))
    return result


def _matches(part: Sequence[Instruction], pattern: list[list[str]], operands: dict[str, Any]) -> bool:
    if pattern and pattern[0] == ["VALUE"]:
        count = len(part) - len(pattern) + 1
        value = part[: max(count, 0)]
        if not value or not all(map(_computes, value)):
            return False
        operands["VALUE"] = value
        part, pattern = part[count:], pattern[1:]
    if len(part) != len(pattern):
        return False
    for instruction, (names, *words) in zip(part, pattern, strict=True):
        if instruction.name not in names.split("|"):
            return False
        if len(words) != len(instruction.operands):
            return False
        operands.update(zip(words, instruction.operands, strict=True))
    return True


def _computes(instruction: Instruction) -> bool:
    """Whether an operation computes with numbers and registers alone."""
    name = instruction.name
    return (
        name == REGISTER_VALUE
        or name in _ARITHMETIC
        or (name.startswith(_CONSTANTS) and not name.startswith(("DW_OP_const_type", "DW_OP_constx")))
    )


def _of_lane(instruction: Instruction) -> list[Instruction]:
    """The value of a vector register in its lane, and what is added to it."""
    register, offset = instruction.operands
    names: list[tuple[str, tuple[int, ...]]] = [
        ("DW_OP_regx", (register,)),
        ("DW_OP_LLVM_push_lane", ()),
        ("DW_OP_lit2", ()),
        ("DW_OP_shl", ()),
        ("DW_OP_LLVM_offset", ()),
        ("DW_OP_deref_size", (4,)),
    ]
    if offset:
        names += [("DW_OP_consts", (offset,)), ("DW_OP_plus", ())]
    return [_instruction(name, operands, instruction.offset, instruction.end) for name, operands in names]


def _instruction(name: str, operands: tuple[int, ...], start: int, end: int) -> Instruction:
    row = table.find(name)
    if row is None:
        raise AssertionError(name)
    return Instruction(row, name, operands, start, end)


def _statements(text: str) -> list[list[str]]:
    return [statement.split() for statement in text.split(";")]
