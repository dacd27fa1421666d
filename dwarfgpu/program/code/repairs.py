"""Repairs: expressions as their producer means them, with what the text alone says beside them.

Pure: an expression goes in, and one comes out that says which repairs it went through. `REPAIRS` is the table. A repair
is chosen by the shape of an expression and by what is around it, such as the frame base of its function; the producer
can only exclude it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.expr.instruction import (
    BINARY,
    COMPARISONS,
    CONVERSIONS,
    PIECES,
    UNARY,
    Expression,
    Instruction,
    instruction_of,
)
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import AUTO, OFF, Policy
from dwarfgpu.targets.amdgpu.registers import LANE_BITS
from dwarfgpu.targets.target import Target

_CONSTANTS = ("DW_OP_lit", "DW_OP_const")
_MOVES = frozenset(("DW_OP_dup", "DW_OP_swap", "DW_OP_over", "DW_OP_drop", "DW_OP_rot", "DW_OP_nop"))
_WITH_TYPE = CONVERSIONS | {"DW_OP_regval_type", "DW_OP_const_type", "DW_OP_deref_type"}
_WIDTH_SHOWS = frozenset(f"DW_OP_{name}" for name in ("dup", "shra", "shr", "div", "eq", "ne"))
_PLACES = frozenset(("DW_OP_fbreg", "DW_OP_addr", "DW_OP_addrx"))
REGISTER_VALUE = "DW_OP_bregx"
_COMPUTING = BINARY | COMPARISONS | UNARY | CONVERSIONS | _MOVES | _PLACES | {REGISTER_VALUE}


def policy_of(text: str) -> Policy:
    """Parse a policy: ``auto``, ``all``, ``off`` or a list of names."""
    if text in ("auto", "off"):
        return AUTO if text == "auto" else OFF
    if text == "all":
        return ALL
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in BY_NAME:
            hint = f"give auto, all, off, or some of {', '.join(BY_NAME)}"
            raise UsageError(f"there is no repair {name[:80]!r}", hint=hint)
    return Policy(auto=False, names=names)


class Repaired(Expression):
    """An expression that was repaired, or that has the shape of an idiom which the policy does not allow to repair."""

    __slots__ = ("original", "possible", "repairs")

    def __init__(
        self,
        original: Expression,
        instructions: tuple[Instruction, ...],
        repairs: tuple[Repair, ...] = (),
        possible: tuple[Repair, ...] = (),
    ) -> None:
        Expression.__init__(
            self, original.data, instructions, original.form, original.dialect,
            fault=original.fault, tail=original.tail, section=original.section, offset=original.offset,
        )  # fmt: skip
        self.original = original
        """What the text alone says."""
        self.repairs = repairs
        self.possible = possible


def repaired(expression: Expression, site: Site, policy: Policy = AUTO) -> tuple[Expression, tuple[Repair, ...]]:
    """Return an expression with the repairs it needs, and which these were; without any it is unchanged."""
    # a branch counts bytes, which a rewrite would move; none of the idioms has one
    if expression.fault is not None or any(instruction.target is not None for instruction in expression.instructions):
        return expression, ()
    allowed = _allowed(site.attribute, site.producer, policy)
    result: list[Instruction] = []
    used: list[Repair] = []
    for part, piece in _parts(expression.instructions) if site.is_amdgpu else ():
        for repair in _shaped(allowed, _names(part)):
            rewritten = _rewritten(part, piece, repair, site)
            if rewritten is not None:
                result += rewritten
                used.append(repair)
                break
        else:
            result += part
        result += piece
    if not site.is_amdgpu:
        result = list(expression.instructions)
    names = {instruction.operation.name for instruction in result}
    if _needs_exact_arithmetic(names):
        for repair in allowed:
            if repair.change is not None and (site.is_amdgpu or not repair.is_of_lanes):
                changed = repair.change(result, site)
                used += () if changed is None else (repair,)
                result = changed or result
    if not used:
        return expression, ()
    repairs = tuple(dict.fromkeys(used))
    return Repaired(expression, tuple(result), repairs), repairs


def _needs_exact_arithmetic(names: set[str]) -> bool:
    """Return whether operations with these names compute with numbers whose widths and types show."""
    return bool(
        "DW_OP_convert" in names
        or (names & _WITH_TYPE and names & (BINARY | COMPARISONS))
        or ("DW_OP_stack_value" in names and names & _WIDTH_SHOWS)
    )


def may_be_idiom(expression: Expression, attribute: str) -> bool:
    """Return whether the operations of an expression have the shape of an idiom, wherever it is."""
    instructions = expression.instructions
    if _needs_exact_arithmetic({instruction.operation.name for instruction in instructions}):
        return True
    allowed = _allowed(attribute, None, ALL)
    return any(_shaped(allowed, _names(part)) for part, _piece in _parts(instructions))


@cache
def _allowed(attribute: str, producer: str | None, policy: Policy) -> tuple[Repair, ...]:
    return tuple(
        repair for repair in REPAIRS if repair.attribute in (attribute, ANY) and is_allowed(repair, producer, policy)
    )


def is_allowed(repair: Repair, producer: str | None, policy: Policy) -> bool:
    """Return whether a policy allows a repair in the output of a producer."""
    return repair.name in policy.names or (policy.auto and not repair.is_excluded(producer))


@lru_cache(maxsize=4096)
def _shaped(allowed: tuple[Repair, ...], names: str) -> tuple[Repair, ...]:
    """Return the repairs whose pattern operations with some names have."""
    return tuple(repair for repair in allowed if repair.change is None and _shape(repair.pattern).fullmatch(names))


def read_as_meant(expression: Expression, site: Site, policy: Policy) -> Expression:
    """Return an expression with its repairs, or with a note of those that the policy does not allow."""
    result, used = repaired(expression, site, policy)
    if policy != ALL and not used:
        possible = repaired(expression, site, ALL)[1]
        if possible:
            return Repaired(expression, expression.instructions, possible=possible)
    return result


def at_local(expression: Expression, address: int) -> Repaired:
    """Return an expression, which is empty, as the place in local memory that `UNWRITTEN` gives a variable."""
    words = (("DW_OP_constu", (address,)), ("DW_OP_lit3", ()), ("DW_OP_LLVM_form_aspace_address", ()))
    return Repaired(expression, tuple(instruction_of(name, operands, 0, 0) for name, operands in words), (UNWRITTEN,))


def repairs_of(expression: Expression) -> tuple[Repair, ...]:
    """Return the repairs that were applied to an expression."""
    return expression.repairs if isinstance(expression, Repaired) else ()


def possible_repairs(expression: Expression) -> tuple[Repair, ...]:
    """Return the repairs whose shape an expression has and that were not applied."""
    return expression.possible if isinstance(expression, Repaired) else ()


def as_written(expression: Expression) -> Expression:
    """Return the expression without its repairs."""
    return expression.original if isinstance(expression, Repaired) else expression


def hint_of(repairs: Sequence[Repair]) -> str:
    """Return what to do about idioms that were not repaired."""
    names = ",".join(dict.fromkeys(repair.name for repair in repairs))
    return (
        f"expressions here have the shape of an idiom of compilers; --repair {names} reads them as meant "
        f"(at a prompt: set repair {names})"
    )


def uses_frame_base(expression: Expression) -> bool:
    """Whether an expression is about the frame base of its function."""
    return any(instruction.operation.name == "DW_OP_fbreg" for instruction in expression.instructions)


def register_of_base(expression: Expression) -> int | None:
    """Return the register that the expression of a frame base is; None if it is anything else."""
    if expression.fault is not None or len(expression.instructions) != 1:
        return None
    (instruction,) = expression.instructions
    return int(instruction.operands[0]) if instruction.name == "DW_OP_regx" else None


# --- Matching -----------------------------------------------------------------------------------------------------


def _parts(instructions: Sequence[Instruction]) -> Iterator[tuple[Sequence[Instruction], Sequence[Instruction]]]:
    first = 0
    for i, instruction in enumerate(instructions):
        if instruction.name in PIECES:
            yield instructions[first:i], instructions[i : i + 1]
            first = i + 1
    if first < len(instructions) or not instructions:
        yield instructions[first:], ()


def _rewritten(
    part: Sequence[Instruction], piece: Sequence[Instruction], repair: Repair, site: Site
) -> list[Instruction] | None:
    """Return the operations that a repair makes of a part; None if the part does not match."""
    operands: dict[str, Any] = {}
    match = _shape(repair.pattern).fullmatch(_names(part))
    value = part[: match["VALUE"].count(";")] if match is not None and "VALUE" in repair.pattern else ()
    if match is None or not all(map(_computes, value)):
        return None
    if value:
        operands["VALUE"] = value
    else:
        for words, instruction in zip(_statements(repair.pattern), part, strict=True):
            operands.update(zip(words[1:], instruction.operands, strict=True))
    operands["SIZE"] = piece[0].operands[0] if piece and piece[0].name == "DW_OP_piece" else None
    operands["IS_PIECE"] = bool(piece)
    if not all(CONDITIONS[name][1](site, operands) for name in repair.conditions):
        return None
    shift = (site.target.lane_count - 1).bit_length() if site.target.stack_scale == 1 else 0
    operands["WAVE_SHIFT"] = (site.target.lane_count - 1).bit_length()
    start, end = part[0].offset, part[-1].end
    result: list[Instruction] = []
    for words in _statements(repair.becomes):
        if words == ("{VALUE}",):
            for operation in value:
                result += _of_register(operation, site, shift)
        elif words == ("{EXTENSION}",):
            result += [each for each in part[len(value) :] if each.name == "DW_OP_convert"]
        else:
            name, *rest = (word.format(**operands) for word in words)
            result.append(instruction_of(name, tuple(int(operand) for operand in rest), start, end))
    return result


@cache
def _shape(pattern: str) -> re.Pattern[str]:
    """Return a pattern as one of the names of operations, each with a semicolon behind it."""
    special = {"VALUE": "(?P<VALUE>(?:[^;]+;)+)", "EXTENSION": "(?:DW_OP_deref;)?(?:DW_OP_convert;)+"}
    return re.compile("".join(special.get(name, f"(?:{name});") for name, *_words in _statements(pattern)))


def _names(instructions: Sequence[Instruction]) -> str:
    return "".join([f"{instruction.name};" for instruction in instructions])


def _computes(instruction: Instruction) -> bool:
    name = instruction.operation.name
    return name in _COMPUTING or (
        name.startswith(_CONSTANTS) and not name.startswith(("DW_OP_const_type", "DW_OP_constx"))
    )


def _of_register(instruction: Instruction, site: Site, shift: int) -> list[Instruction]:
    """Return the value that is meant by a register in a computation: of the lane, for vectors and for the stack."""
    if instruction.name != REGISTER_VALUE:
        return [instruction]
    register, offset = instruction.operands
    names: list[tuple[str, tuple[int, ...]]] = [("DW_OP_regx", (register,))]
    if _is_vector(site, {"R": register}):
        names += [
            ("DW_OP_LLVM_push_lane", ()),
            ("DW_OP_lit2", ()),
            ("DW_OP_shl", ()),
            ("DW_OP_LLVM_offset", ()),
            ("DW_OP_deref_size", (4,)),
        ]
    elif _is_stack(site, {"R": register}):
        names.append(("DW_OP_deref_size", (4,)))
        names += [(f"DW_OP_lit{shift}", ()), ("DW_OP_shr", ())] if shift else []
    else:
        return [instruction]
    if offset:
        names += [("DW_OP_consts", (offset,)), ("DW_OP_plus", ())]
    return [instruction_of(name, operands, instruction.offset, instruction.end) for name, operands in names]


@cache
def _statements(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(statement.split()) for statement in text.split(";"))


# --- Exact arithmetic -------------------------------------------------------------------------------------------------


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
        near = (*instructions[max(i - 1, 0) : i], *instructions[i + 1 : i + 2])
        is_written = all(each.offset != instruction.offset for each in near)  # else a repair has made several of one
        has_carry |= instruction.name in _CARRYING and (is_written or instruction.name == "DW_OP_plus")
        if is_written and (instruction.name in _SIGNED or (has_carry and instruction.name in _UNSIGNED)):
            is_changed = True
            for _operand in range(2):
                result += _cut(LANE_BITS, instruction, is_signed=instruction.name in _SIGNED)
                result.append(_step("swap", None, instruction))
        result.append(instruction)
    return result if is_changed else None


# --- The repairs --------------------------------------------------------------------------------------------------
# A pattern is a list of operations. A word in capitals is an operand of any value, which has the same name
# in what the pattern becomes; ``A|B`` are alternatives; ``VALUE`` is one or more operations that compute a
# value, and ``EXTENSION`` one or more DW_OP_convert, which a DW_OP_deref may precede. A condition is a fact about the
# operands or the target, named in `CONDITIONS`.


ROCM = r"AMD clang|RadeonOpenCompute|ROCm|roc-\d"
"""The compilers of ROCm, which describe variables with the operations of the heterogeneous extensions."""


LOCATION, FRAME_BASE, ANY = "DW_AT_location", "DW_AT_frame_base", ""


@frozen
class Site:
    """Where an expression is, as far as repairs depend on it."""

    attribute: str
    producer: str | None
    target: Target
    ask: Callable[..., Any]
    """Answers a question about what is around it: the name of a method of `Surroundings`, and its operand."""

    def is_vector(self, register: int) -> bool:
        """Whether a register has an element for each lane."""
        known = self.target.register(register)
        return known is not None and known.lane_bits == 32

    @property
    def is_amdgpu(self) -> bool:
        """Whether registers of the target have lanes."""
        return self.target.execution_mask is not None


@frozen(eq=False)  # each is in the table once
class Repair:
    """One idiom: how it is written, and what it means."""

    name: str
    pattern: str
    becomes: str
    meaning: str
    conditions: tuple[str, ...] = ()
    attribute: str = LOCATION
    seen: str = "clang 22"
    """In whose output it was seen."""
    source: str = ""
    """Who says what it means."""
    not_by: str = ROCM
    """The producers whose output is known to mean what it says, as a pattern of DW_AT_producer."""
    is_of_lanes: bool = True
    """Whether it is about code whose registers have lanes."""
    change: Callable[[Sequence[Instruction], Site], list[Instruction] | None] | None = None
    """Adds the widths and types that a computation lacks, which no pattern tells; None where it lacks nothing."""

    def is_excluded(self, producer: str | None) -> bool:
        """Whether the producer is known to mean what the text says."""
        return bool(self.not_by and producer and re.search(self.not_by, producer))


def _is_vector(site: Site, operands: Mapping[str, Any]) -> bool:
    return site.is_vector(operands["R"])


def _is_stack(site: Site, operands: Mapping[str, Any]) -> bool:
    """Whether a register is the stack pointer, or s33, which LLVM makes the frame pointer."""
    pointer = site.target.stack_pointer
    return operands["R"] in (pointer, None if pointer is None else pointer + 1)


def _has_base_register(site: Site, _operands: Mapping[str, Any]) -> bool:
    base = site.ask("frame_base")
    return base is not None and _is_stack(site, {"R": base})


def _fits_lane(site: Site, operands: Mapping[str, Any]) -> bool:
    """Whether an object, or the piece of one, has at most the 32 bits of a lane; so one of unknown size."""
    size = operands["SIZE"] if operands["IS_PIECE"] else site.ask("size")
    return size is None or size <= 4


def _reads_vector(site: Site, operands: Mapping[str, Any]) -> bool:
    registers = [operation.operands[0] for operation in operands["VALUE"] if operation.name == REGISTER_VALUE]
    return any(_is_vector(site, {"R": register}) for register in registers)


def _reads_known(site: Site, operands: Mapping[str, Any]) -> bool:
    registers = [operation.operands[0] for operation in operands["VALUE"] if operation.name == REGISTER_VALUE]
    return all(_is_vector(site, {"R": register}) or _is_stack(site, {"R": register}) for register in registers)


def _is_number(site: Site, operands: Mapping[str, Any]) -> bool:
    places = _PLACES & {operation.name for operation in operands["VALUE"]}
    return not places and all(
        _is_vector(site, {"R": operation.operands[0]})
        for operation in operands["VALUE"]
        if operation.name == REGISTER_VALUE
    )


CONDITIONS: dict[str, tuple[str, Callable[[Site, Mapping[str, Any]], object]]] = {
    "vector": ("R is a vector register", _is_vector),
    "plain": ("B is 0", lambda _site, operands: operands["B"] == 0),
    "of a lane": ("the object, or its piece, has at most 4 bytes", _fits_lane),
    "larger": (
        "the object has more than 4 bytes, and no pieces",
        lambda site, operands: not operands["IS_PIECE"] and (site.ask("size") or 0) > 4,
    ),
    "low half": ("M is 0xffff", lambda _site, operands: operands["M"] == 0xFFFF),
    "no private pointer": (
        "the variable is not a pointer into private memory",
        lambda site, _operands: not site.ask("is_private_pointer"),
    ),
    "pointer to another": (
        "the variable is a pointer into private memory, and another variable that is not has the same expression",
        lambda site, _operands: site.ask("is_private_pointer") and site.ask("is_shared"),
    ),
    "vector value": ("a vector register is in VALUE", _reads_vector),
    "known registers": ("registers in VALUE are vector registers, s32 or s33", _reads_known),
    "no address": ("registers in VALUE are vector registers, and no address is in it", _is_number),
    "base register": ("the frame base of the function is written as the register s32 or s33", _has_base_register),
    "kernel without frame base": (
        "the function is a kernel, and has no DW_AT_frame_base",
        lambda site, _operands: site.ask("is_baseless_kernel"),
    ),
    "entry 0": ("entry K of .debug_addr is 0", lambda site, operands: site.ask("address", operands["K"]) == 0),
    "entry not 0": (
        "entry K of .debug_addr is not 0",
        lambda site, operands: site.ask("address", operands["K"]) not in (0, None),
    ),
    "sole": (
        "the file has one undefined symbol, and its kernels with local memory have as many bytes of it as the object",
        lambda site, _operands: site.ask("is_sole_local"),
    ),
    "address 0": ("A is 0", lambda _site, operands: operands["A"] == 0),
    "address not 0": ("A is not 0", lambda _site, operands: operands["A"] != 0),
    "buffer scratch": (  # a stack pointer holds addresses of the wave's memory, which interleaves those of lanes
        "the target uses buffer scratch, and R is s32 or s33",
        lambda site, operands: site.target.stack_scale == 1 and _is_stack(site, operands),
    ),
    "flat scratch": (  # it holds addresses of private memory of a lane
        "the target uses flat scratch, and R is s32 or s33",
        lambda site, operands: site.target.stack_scale != 1 and _is_stack(site, operands),
    ),
}

IN_LANE = "DW_OP_regx {R}; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"
SPACE = "DW_OP_lit1|DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
CLANG_CODE = "what the compiled code does with it; every variable of the fixtures that has it"
STORED = f"{CLANG_CODE}: it is stored there by scratch instructions"
COMPUTED = f"{CLANG_CODE}: it is computed in that register"
WITHOUT_REGISTER = "the compiled code, which stores it at that offset without a register"
DBG_VALUES = (
    "LLVM's DBG_VALUE of the pointer has the register, that of the variable the register and DW_OP_deref; "
    "both are written the same way"
)
OF_LANE = "DW_OP_regx {R}; DW_OP_deref_size 4"
OF_WAVE = f"{OF_LANE}; DW_OP_lit{{WAVE_SHIFT}}; DW_OP_shr"
ON_STACK = "DW_OP_consts {N}; DW_OP_plus; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
LDS = (
    "the symbols of local variables, which the loader places, are undefined in the file; clang before 22 calls local "
    "memory 2"
)
AT_LOCAL_0 = "DW_OP_lit0; DW_OP_lit3; DW_OP_LLVM_form_aspace_address"
SOLE = "the kernel descriptors, which say how much local memory there is, and the compiled code, which stores it at 0"
SYMBOL = "the ELF symbol of the variable has that address"

UNWRITTEN = Repair(
    "unwritten-local-variable", "no location", "DW_OP_constu ADDRESS; DW_OP_lit3; DW_OP_LLVM_form_aspace_address",
    "the variable of unoptimized code is in local memory: others of its function are in the frame, and those without "
    "a location fill the local memory of the kernel, in the order in which LLVM places them", seen="clang 22 at -O0",
    source="the kernel descriptor, LLVM's OptimizedStructLayout, and the compiled code, which stores it there",
)  # fmt: skip
REPAIRS: tuple[Repair, ...] = (
    Repair("kernel-private-variable", f"DW_OP_fbreg N; {SPACE}",
           "DW_OP_consts {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
           "the variable is in private memory of the lane, which begins at 0 in a kernel",
           ("kernel without frame base",), seen="clang 22, LLVM 24", source=WITHOUT_REGISTER),
    Repair("plain-kernel-private-variable", "DW_OP_fbreg N",
           "DW_OP_consts {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
           "the same where no address space is written", ("kernel without frame base",), seen="clang 16 to 19",
           source=WITHOUT_REGISTER),
    Repair("private-variable", f"DW_OP_fbreg N; {SPACE}",
           "DW_OP_fbreg {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", "the variable is in private memory of the "
           "lane, at frame base + N; HIP writes the generic address space, and clang before 22 calls private memory 1",
           seen="clang 13 to 22, LLVM 24", source=STORED),
    Repair("plain-private-variable", "DW_OP_fbreg N", "DW_OP_fbreg {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
           "the same where no address space is written", ("base register",), seen="clang 13 to 19", source=STORED),
    Repair("wave-stack-variable", f"DW_OP_bregx R N; {SPACE}", f"{OF_WAVE}; {ON_STACK}",
           "the variable is in private memory of the lane, at N from the address that the register has for the wave",
           ("buffer scratch", "base register", "no private pointer"), source=STORED),
    Repair("stack-variable", f"DW_OP_bregx R N; {SPACE}", f"{OF_LANE}; {ON_STACK}",
           "the variable is in private memory of the lane, at N from the address in the register",
           ("flat scratch", "base register", "no private pointer"), source=STORED),
    Repair("plain-wave-stack-variable", "DW_OP_bregx R N", f"{OF_WAVE}; {ON_STACK}",
           "wave-stack-variable where no address space is written",
           ("buffer scratch", "base register", "no private pointer"), seen="clang 19", source=STORED),
    Repair("plain-stack-variable", "DW_OP_bregx R N", f"{OF_LANE}; {ON_STACK}",
           "stack-variable where no address space is written",
           ("flat scratch", "base register", "no private pointer"), seen="clang 19", source=STORED),
    Repair("wave-stack-pointer", f"DW_OP_bregx R N; {SPACE}",
           f"{OF_WAVE}; DW_OP_consts {{N}}; DW_OP_plus; DW_OP_stack_value",
           "the variable is a pointer to the variable of wave-stack-variable that has the same expression",
           ("buffer scratch", "base register", "pointer to another"), source=DBG_VALUES),
    Repair("stack-pointer", f"DW_OP_bregx R N; {SPACE}",
           f"{OF_LANE}; DW_OP_consts {{N}}; DW_OP_plus; DW_OP_stack_value",
           "the variable is a pointer to the variable of stack-variable that has the same expression",
           ("flat scratch", "base register", "pointer to another"), source=DBG_VALUES),
    Repair("vector-register", f"DW_OP_bregx R B; {SPACE}", IN_LANE,
           "the variable is in vector register R, in the element of its lane", ("vector", "plain", "of a lane"),
           seen="clang 13 to 22, LLVM 24", source=COMPUTED),
    Repair("whole-vector-register", "DW_OP_regx R", IN_LANE,
           "the same where the register is written as a whole, which begins with the element of lane 0",
           ("vector", "of a lane"), seen="clang 14 to 19, Triton (LLVM 24)", source=COMPUTED),
    Repair("pointed-variable", f"DW_OP_bregx R N; {SPACE}", "DW_OP_LLVM_undefined", "the object is larger than an "
           "element of vector register R, which has its address; whether in private memory or in local memory, the "
           "file does not say", ("vector", "larger"), source="the compiled code: LLVM moves arrays from private to "
           "local memory, and keeps the address space 1 or 5"),
    Repair("half-vector-register", f"DW_OP_bregx R B; DW_OP_constu M; DW_OP_and; {SPACE}", IN_LANE,
           "the variable is in the low half of the element of its lane of vector register R",
           ("vector", "plain", "low half"), source=f"{CLANG_CODE}: a variable of 16 bits, computed in that register"),
    Repair("computed-value", f"VALUE; {SPACE}; DW_OP_stack_value", "{VALUE}; DW_OP_stack_value",
           "the variable has no place, and its value is what is computed; a vector register in it means its own "
           "lane, and s32 and s33 an address in private memory of the lane", ("known registers",),
           seen="clang 13 to 22, LLVM 24", source="DW_OP_stack_value at its end, which leaves nothing to dereference"),
    Repair("extended-value", f"VALUE; {SPACE}; EXTENSION; DW_OP_stack_value",
           "{VALUE}; {EXTENSION}; DW_OP_stack_value", "the code keeps fewer bits than the integer has: what is "
           "computed is its value, not its address, and the conversions extend it", ("no address",),
           source="LLVM, replaceAllDbgUsesWith: where a narrower integer takes the place of an integer, "
           "DIExpression::appendExt adds the conversions, and DW_OP_deref before them"),
    Repair("vector-value", "VALUE; DW_OP_stack_value", "{VALUE}; DW_OP_stack_value",
           "a vector register in a computed value means its own lane", ("vector value", "known registers"),
           seen="clang 14 to 19", source="a vector register is wider than an address, so that no operation can read "
           "the whole (A.2.5.4.4.3 (4))"),
    Repair("sole-local-variable", "DW_OP_addrx K; DW_OP_lit2|DW_OP_lit3; DW_OP_swap; DW_OP_xderef", AT_LOCAL_0,
           "the variable is in local memory from its beginning on: it is all local memory that kernels of the file "
           "have", ("entry 0", "sole"), seen="clang 16 to 22, LLVM 24", source=SOLE),
    Repair("sole-local-variable-v4", "DW_OP_addr A; DW_OP_lit2|DW_OP_lit3; DW_OP_swap; DW_OP_xderef", AT_LOCAL_0,
           "sole-local-variable in DWARF 4, where the address is in the expression", ("address 0", "sole"),
           seen="clang 16 to 22, LLVM 24", source=SOLE),
    Repair("no-local-address", "DW_OP_addrx K; DW_OP_lit2|DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
           "DW_OP_LLVM_undefined",
           "the variable is in local memory, at an address that the file does not say: every one has the address 0",
           ("entry 0",), seen="clang 16 to 22, LLVM 24", source=LDS),
    Repair("no-local-address-v4", "DW_OP_addr A; DW_OP_lit2|DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
           "DW_OP_LLVM_undefined",
           "the variable is in local memory, at an address that the file does not say: every one has the address 0",
           ("address 0",), seen="clang 16 to 22, LLVM 24", source=LDS),
    Repair("global-variable", "DW_OP_addrx K; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
           "DW_OP_addrx {K}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
           "the variable is at that generic address, and does not hold its own address", ("entry not 0",),
           seen="clang 22, LLVM 24", source=SYMBOL),
    Repair("global-variable-v4", "DW_OP_addr A; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
           "DW_OP_addr {A}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
           "the same in DWARF 4, where the address is in the expression", ("address not 0",),
           seen="clang 22, LLVM 24", source=SYMBOL),
    Repair("scaled-frame-base", "DW_OP_regx R", OF_WAVE, "the register counts the bytes of the whole wave; an "
           "address in private memory of a lane is that by the lanes", ("buffer scratch",), attribute=FRAME_BASE,
           seen="clang 13 to 22, LLVM 24",
           source="the compiled code shifts it right by as much before it makes an address of a variable of it"),
    Repair("narrow-frame-base", "DW_OP_regx R", OF_LANE,
           "the register holds an address in private memory of a lane, of 32 bits and not of the generic type's 64",
           ("flat scratch",), attribute=FRAME_BASE, seen="clang 13 to 22, LLVM 24",
           source="the compiled code uses it as the address of scratch instructions"),
    Repair("sign-extension", "X; DW_OP_dup; DW_OP_constu B-1; DW_OP_shr; DW_OP_lit0; DW_OP_not; DW_OP_mul; "
           "DW_OP_constu B; DW_OP_shl; DW_OP_or",
           "X; DW_OP_constu MASK; DW_OP_and; DW_OP_constu SIGN; DW_OP_xor; DW_OP_constu SIGN; DW_OP_minus",
           "the sign of the low B bits of X is extended; what else is in the register is not of the variable",
           seen="clang 13 to 16",
           source="LLVM, DwarfExpression::emitLegacySExt: that is how it extends a sign without base types",
           change=with_sign_extension),
    Repair("lane-arithmetic",
           "X; Y; DW_OP_shra, DW_OP_div, DW_OP_shr, DW_OP_eq or DW_OP_ne, in a value computed of vector registers",
           "X and Y with the low 32 bits, and the sign for DW_OP_shra and DW_OP_div, before the operation",
           "what is computed of lanes has their 32 bits, and not the 64 of the generic type", seen="clang 14 to 16",
           source="LLVM, salvageDebugInfo: the operations are those of integers as wide as the register",
           change=with_lane_arithmetic),
    Repair("narrow-type",
           "DW_OP_convert T, where LLVM's name of T says fewer bits than T has: DW_ATE_unsigned_1 of a byte",
           "DW_OP_convert T; DW_OP_convert 0; DW_OP_constu MASK; DW_OP_and; DW_OP_convert T, and the sign of a "
           "signed one",
           "the result has as many bits as the name says; what else is in the register is not of the variable",
           attribute=ANY, seen="clang 14 to 22, LLVM 24, on every target", source="LLVM, DwarfExpression: the name "
           "is made of the bits of the conversion, the size is that in whole bytes", not_by="", is_of_lanes=False,
           change=with_exact_widths),
    Repair("mixed-operands",
           "an operation with two operands, one of the generic type and one of an integral base type T",
           "DW_OP_convert T after what pushes the operand of the generic type",
           "the operand of the generic type is a number of the other operand's type", attribute=ANY,
           seen="clang 13 to 22, on every target", source="LLVM's integers have a width at each operation, and it "
           "writes constants without one; LLDB and GDB 13 compute such values where the type is as wide as the "
           "generic one", not_by="", is_of_lanes=False, change=with_one_type),
    UNWRITTEN,
)  # fmt: skip
"""In the order in which they are tried."""

BY_NAME = {repair.name: repair for repair in REPAIRS}
ALL = Policy(names=tuple(BY_NAME))
