"""Repairs: expressions as their producer means them, for those who ask for it, with what the text alone would say.

Pure: an expression goes in, and one comes out that says which repairs it went through. `rules` has the table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.expr import table
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dwarfgpu.targets.target import Target


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
        return self.auto and producer is not None and any(compiler.includes(producer) for compiler in repair.seen)


OFF = Policy(auto=False)
AUTO = Policy()


def policy_of(text: str) -> Policy:
    """Parse a policy: ``auto``, ``off`` or a list of names."""
    if text in ("auto", "off"):
        return AUTO if text == "auto" else OFF
    names = tuple(name.strip() for name in text.split(","))
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


def repaired(expression: Expression, site: Site, policy: Policy = AUTO) -> tuple[Expression, tuple[Repair, ...]]:
    """Return an expression with the repairs it needs, and which these were; without any it is unchanged."""
    allowed = [
        repair for repair in REPAIRS if repair.attribute == site.attribute and policy.allows(repair, site.producer)
    ]
    # a branch counts bytes, which a rewrite would move; none of the idioms has one
    if (
        not allowed
        or expression.fault is not None
        or any(instruction.target is not None for instruction in expression.instructions)
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
    """Return the repairs that were applied to an expression."""
    return expression.repairs if isinstance(expression, Repaired) else ()


def as_written(expression: Expression) -> Expression:
    """Return the expression without its repairs."""
    return expression.original if isinstance(expression, Repaired) else expression


def uses_frame_base(expression: Expression) -> bool:
    """Whether an expression is about the frame base of its function."""
    return any(instruction.operation.name == "DW_OP_fbreg" for instruction in expression.instructions)


# --- Matching -------------------------------------------------------------------------------------------------------


def _parts(
    instructions: Sequence[Instruction],
) -> Iterator[tuple[Sequence[Instruction], Sequence[Instruction]]]:
    """Yield the parts of a composite, each with the operation that ends it."""
    first = 0
    for i, instruction in enumerate(instructions):
        if instruction.name in PIECES:
            yield instructions[first:i], instructions[i : i + 1]
            first = i + 1
    if first < len(instructions) or not instructions:
        yield instructions[first:], ()


def _rewritten(part: Sequence[Instruction], repair: Repair, site: Site) -> list[Instruction] | None:
    """Return the operations that a repair makes of a part; None if the part does not match."""
    operands: dict[str, Any] = {}
    if not _matches(part, _statements(repair.pattern), operands):
        return None
    value = operands.get("VALUE", ())
    vectors = [operation for operation in value if operation.name == REGISTER_VALUE]
    if any(not CONDITIONS["vector"][1](site, {"R": operation.operands[0]}) for operation in vectors):
        return None
    if not all(CONDITIONS[name][1](site, operands) for name in repair.conditions):
        return None
    operands["WAVE_SHIFT"] = (site.target.lane_count - 1).bit_length()
    start, end = part[0].offset, part[-1].end
    result: list[Instruction] = []
    for words in _statements(repair.becomes):
        if words == ["{VALUE}"]:
            for operation in value:
                result += _of_lane(operation) if operation.name == REGISTER_VALUE else [operation]
        else:
            name, *rest = (word.format(**operands) for word in words)
            result.append(_instruction(name, tuple(int(operand) for operand in rest), start, end))
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
    """Return the value of a vector register in its lane, and what is added to it."""
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


# --- The repairs --------------------------------------------------------------------------------------------------
# A pattern is a list of operations. A word in capitals is an operand of any value, which has the same name
# in what the pattern becomes; ``A|B`` are alternatives; ``VALUE`` is one or more operations that compute a
# value. A condition is a fact about the operands or the target, named in `CONDITIONS`.


@frozen
class Seen:
    """A compiler in whose output an idiom was seen."""

    name: str
    pattern: str
    """Of DW_AT_producer; its first group is the major version."""
    first: int
    last: int

    def includes(self, producer: str) -> bool:
        """Whether the producer of a unit is this one, in a version in which the idiom was seen."""
        match = re.search(self.pattern, producer)
        return match is not None and self.first <= int(match[1]) <= self.last

    def __str__(self) -> str:
        versions = str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.name} {versions}"


CLANG_22 = Seen("clang", r"(?<!AMD )clang version (\d{1,4})\.", 22, 22)
"""LLVM's own; that of ROCm describes variables in another way."""


@frozen
class Site:
    """Where an expression is, as far as repairs depend on it."""

    attribute: str
    producer: str | None
    target: Target
    address: Callable[[int], int | None]
    """Returns an entry of ``.debug_addr`` as it is in the file; None if there is none."""


@frozen
class Repair:
    """One idiom: how it is written, and what it means."""

    name: str
    attribute: str
    pattern: str
    becomes: str
    meaning: str
    conditions: tuple[str, ...] = ()
    seen: tuple[Seen, ...] = (CLANG_22,)
    source: str = ""
    """Who says what it means."""


def _is_vector(site: Site, operands: Mapping[str, Any]) -> bool:
    register = site.target.register(operands["R"])
    return register is not None and register.lane_bits == 32


def _is_stack(site: Site, operands: Mapping[str, Any]) -> bool:
    """Whether a register is the stack pointer, or s33, which LLVM makes the frame pointer."""
    pointer = site.target.stack_pointer
    return operands["R"] in (pointer, None if pointer is None else pointer + 1)


CONDITIONS: dict[str, tuple[str, Callable[[Site, Mapping[str, Any]], bool]]] = {
    "vector": ("R is a vector register", _is_vector),
    "plain": ("B is 0", lambda _site, operands: bool(operands["B"] == 0)),
    "low half": ("M is 0xffff", lambda _site, operands: bool(operands["M"] == 0xFFFF)),
    "entry 0": ("entry K of .debug_addr is 0", lambda site, operands: site.address(operands["K"]) == 0),
    "entry not 0": (
        "entry K of .debug_addr is not 0",
        lambda site, operands: site.address(operands["K"]) not in (0, None),
    ),
    "address 0": ("A is 0", lambda _site, operands: bool(operands["A"] == 0)),
    "address not 0": ("A is not 0", lambda _site, operands: bool(operands["A"] != 0)),
    "buffer scratch": (  # a stack pointer holds addresses of the wave's memory, which interleaves those of lanes
        "the target uses buffer scratch, and R is s32 or s33",
        lambda site, operands: site.target.stack_scale == 1 and _is_stack(site, operands),
    ),
    "flat scratch": (  # it holds addresses of private memory of a lane
        "the target uses flat scratch, and R is s32 or s33",
        lambda site, operands: site.target.stack_scale != 1 and _is_stack(site, operands),
    ),
}

LOCATION, FRAME_BASE = "DW_AT_location", "DW_AT_frame_base"
IN_LANE = "DW_OP_regx {R}; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"
SPACE = "DW_OP_lit1|DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
CLANG_CODE = "what the compiled code does with it; every variable of the fixtures that has it"

REPAIRS: tuple[Repair, ...] = (
    Repair(
        "private-variable",
        LOCATION,
        f"DW_OP_fbreg N; {SPACE}",
        "DW_OP_fbreg {N}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
        "the variable is in private memory of the lane, at frame base + N; HIP writes the generic address space",
        source=f"{CLANG_CODE}: it is stored there by scratch instructions",
    ),
    Repair(
        "vector-register",
        LOCATION,
        f"DW_OP_bregx R B; {SPACE}",
        IN_LANE,
        "the variable is in vector register R, in the element of its lane",
        ("vector", "plain"),
        source=f"{CLANG_CODE}: it is computed in that register",
    ),
    Repair(
        "half-vector-register",
        LOCATION,
        f"DW_OP_bregx R B; DW_OP_constu M; DW_OP_and; {SPACE}",
        IN_LANE,
        "the variable is in the low half of the element of its lane of vector register R",
        ("vector", "plain", "low half"),
        source=f"{CLANG_CODE}: a variable of 16 bits, computed in that register",
    ),
    Repair(
        "computed-value",
        LOCATION,
        f"VALUE; {SPACE}; DW_OP_stack_value",
        "{VALUE}; DW_OP_stack_value",
        "the variable has no place, and its value is what is computed; a vector register in it means its own lane",
        source="DW_OP_stack_value at its end, which leaves nothing to dereference",
    ),
    Repair(
        "no-local-address",
        LOCATION,
        "DW_OP_addrx K; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "DW_OP_LLVM_undefined",
        "the variable is in local memory, at an address that the file does not say: every one has the address 0",
        ("entry 0",),
        source="the symbols of local variables, which the loader places, are undefined in the file",
    ),
    Repair(
        "no-local-address-v4",
        LOCATION,
        "DW_OP_addr A; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "DW_OP_LLVM_undefined",
        "the same in DWARF 4, where the address is in the expression",
        ("address 0",),
        source="the symbols of local variables, which the loader places, are undefined in the file",
    ),
    Repair(
        "global-variable",
        LOCATION,
        "DW_OP_addrx K; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_addrx {K}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
        "the variable is at that generic address, and does not hold its own address",
        ("entry not 0",),
        source="the ELF symbol of the variable has that address",
    ),
    Repair(
        "global-variable-v4",
        LOCATION,
        "DW_OP_addr A; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_addr {A}; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
        "the same in DWARF 4, where the address is in the expression",
        ("address not 0",),
        source="the ELF symbol of the variable has that address",
    ),
    Repair(
        "scaled-frame-base",
        FRAME_BASE,
        "DW_OP_regx R",
        "DW_OP_regx {R}; DW_OP_deref_size 4; DW_OP_lit{WAVE_SHIFT}; DW_OP_shr",
        "the register counts the bytes of the whole wave; an address in private memory of a lane is that by the lanes",
        ("buffer scratch",),
        source="the compiled code shifts it right by as much before it makes an address of a variable of it",
    ),
    Repair(
        "narrow-frame-base",
        FRAME_BASE,
        "DW_OP_regx R",
        "DW_OP_regx {R}; DW_OP_deref_size 4",
        "the register holds an address in private memory of a lane, of 32 bits and not of the generic type's 64",
        ("flat scratch",),
        source="the compiled code uses it as the address of scratch instructions",
    ),
)
"""In the order in which they are tried."""

BY_NAME = {repair.name: repair for repair in REPAIRS}
