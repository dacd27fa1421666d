"""What the verifier says of a program, held against what evaluations of it do on random machines."""

import random

import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import asm, listing, table
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.verify import Finding, verify
from tests.builders.parameters import share
from tests.properties.programs import BLOCKED, TARGETS, Writer, context

RULES = ("amd", "amd", *PRESETS)
SIZES = (0, 1, 2, 4, 8, 16, 31, 32, 33, 63, 64, 65, 128)
OFFSETS = (0, 3, 4, 8, 127, 128, 255, 256)
COMPUTES = ("DW_OP_plus", "DW_OP_minus", "DW_OP_mul", "DW_OP_and", "DW_OP_shl", "DW_OP_lt", "DW_OP_plus_uconst 1")
BRANCHES = ("DW_OP_bra", "DW_OP_skip")


def is_of_few(row: table.Operation) -> bool:
    """Whether an operation is one of a few like it: the registers 0 to 31, which no GPU has, are none."""
    name, number = row.name.rstrip("0123456789"), row.fixed
    return (
        row.name not in BLOCKED and name not in ("DW_OP_reg", "DW_OP_breg") and (not number or number[0] in (0, 1, 8))
    )


ROWS = tuple(row for row in table.rows() if is_of_few(row))


class SizedWriter(Writer):
    """Writes programs about parts of registers, implicit values and composites, choosing what fits on the stack."""

    rows = ROWS
    shortcuts = 0.4

    def shortcut(self) -> str:
        return self.sized() if self.chance.random() < 0.6 else super().shortcut()

    def operand(self, name: str, kind: str) -> str:
        registers = (32, 33, 33, 16, self.vector, self.vector + 1, 34)
        return str(self.chance.choice(registers)) if name == "R" else super().operand(name, kind)

    def sized(self) -> str:
        chance = self.chance
        register, other = self.operand("R", "uleb"), self.operand("R", "uleb")
        size, count = chance.choice(SIZES), chance.choice((1, 2, 3, 8, 16, 32, 64))
        location = chance.choice(
            (
                f"DW_OP_regx {register}",
                f"DW_OP_regx {register}",
                f"DW_OP_implicit_value {chance.randbytes(chance.choice((1, 2, 4, 8, 16))).hex()}",
                "DW_OP_lit9; DW_OP_stack_value",
                f"DW_OP_regx {register}; DW_OP_LLVM_extend {size} {count}",
                f"DW_OP_regx {register}; DW_OP_const1u {size}; DW_OP_LLVM_bit_offset",
                f"DW_OP_regx {register}; DW_OP_piece 4; DW_OP_bit_piece {size} 0; DW_OP_LLVM_piece_end",
                f"DW_OP_regx {register}; DW_OP_regx {other}; DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_overlay",
                "DW_OP_const2u 0x1000",
            )
        )
        use = chance.choice(
            (
                "DW_OP_deref",
                f"DW_OP_deref_size {chance.randrange(1, 9)}",
                f"DW_OP_piece {chance.choice((1, 2, 4, 8, 16, 256))}",
                f"DW_OP_bit_piece {size} {chance.choice(SIZES)}",
                f"DW_OP_piece {chance.choice((1, 4, 8))}; DW_OP_LLVM_piece_end",
                f"DW_OP_LLVM_extend {size} {count}",
                f"DW_OP_const2u {chance.choice(OFFSETS)}; DW_OP_LLVM_offset",
                f"DW_OP_LLVM_offset_uconst {chance.choice(OFFSETS)}",
                f"DW_OP_const1u {size}; DW_OP_lit{count % 32}; {chance.choice(COMPUTES)}; DW_OP_LLVM_bit_offset",
                f"DW_OP_const1u {size}; DW_OP_lit{count % 32}; {chance.choice(COMPUTES)}; DW_OP_LLVM_offset",
                f"DW_OP_const1s {chance.choice((-32, -1, 1, 31, 32, 64))}; DW_OP_LLVM_bit_offset",
                f"DW_OP_regx {other}; DW_OP_const1u {size}; DW_OP_LLVM_select_bit_piece {size} {count}",
                f"DW_OP_lit1; DW_OP_const1u {size}; DW_OP_const1u {chance.choice(SIZES)}; DW_OP_LLVM_bit_overlay",
                f"DW_OP_regx {other}; DW_OP_lit{count % 32}; DW_OP_lit4; DW_OP_LLVM_overlay",
                "",
            )
        )
        return "; ".join(part for part in (location, use) if part)


OF_MACHINES = (
    *("DW_OP_LLVM_call_frame_entry_reg", "DW_OP_LLVM_aspace_bregx", "DW_OP_form_tls_address"),
    *("DW_OP_addr", "DW_OP_multiloc", "DW_OP_fbreg"),
)
"""Operations that push what registers hold, an address where code is loaded, or places that may be of any kind."""


def tells_all(row: table.Operation) -> bool:
    """Whether a program alone tells all about what an operation pushes: it reads nothing and asks no unit."""
    reads = row.spec.startswith(("A.2.5.4.3.4", "GCC")) or row.name == "DW_OP_bregx"
    needs_more = bool(row.needs - {"thread", "frame"}) or row.circular
    return not (reads or needs_more or row.name in (*OF_MACHINES, *BRANCHES))


class KnownWriter(SizedWriter):
    """Writes straight programs whose constants, kinds and sizes follow from the program alone."""

    rows = tuple(row for row in ROWS if tells_all(row))
    reads = (
        *("DW_OP_deref", "DW_OP_deref_size 1", "DW_OP_deref_size 4", "DW_OP_deref_size 8", "DW_OP_dup; DW_OP_deref"),
        *("DW_OP_bregx 32 0", "DW_OP_bregx 16 8", "DW_OP_lit3; DW_OP_LLVM_aspace_bregx 33 4"),
    )

    def shortcut(self) -> str:
        text = self.sized() if self.chance.random() < 0.6 else self.chance.choice(self.reads)
        return f"{text}; DW_OP_drop" if text in self.reads or "deref" in text else text


def question(seed: int, kind: type[SizedWriter]) -> tuple[Expression, Context, list[Finding]]:
    """Return a program, a machine for it and what is wrong with the program."""
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    text = kind(chance, target).program(chance.randrange(1, 9))
    wave = context(chance, target, chance.choice(RULES))
    program = asm.parse(text, dialects.get("llvm-user"), Format(), target=wave.target)
    return program, wave, verify(program, rules=wave.rules, target=wave.target, result_kind=wave.result_kind)


def shown(program: Expression, wave: Context, outcome: object) -> str:
    return f"{listing.text(program)}\n{wave.target.name}, {wave.rules.name}, {wave.result_kind}: {outcome}"


def place_of(error: DwarfGpuError, program: Expression) -> Instruction | None:
    """The operation of the program at which it failed; None at its end, or in what an operation calls."""
    for one in program.instructions:
        if not error.where.trail and (one.offset, one.name) == (error.where.offset, error.where.operation):
            return one
    return None


OF_TYPES = frozenset(("integral_type_required", "type_mismatch", "unsupported_type_operation", "bad_size", "bad_type"))
"""Errors that depend on base types, which a unit has."""
OF_NUMBERS = frozenset(("bad_address_space", "bad_operand", "bad_piece"))
"""Errors that depend on numbers, which may be read or come from the lane."""
ENTRIES = frozenset(("ref", "u2", "u4", "expression"))
"""Operands that lead to other expressions."""


def is_beyond(error: DwarfGpuError, program: Expression) -> bool:
    """Whether an error is about entries of a unit, about what was read, or in what an operation calls."""
    at = place_of(error, program)
    rows = [one.operation for one in program.instructions]
    operands = [operand for row in rows for operand in row.operands]
    leads_elsewhere = any(operand.name in ("DR", "E") and operand.kind in ENTRIES for operand in operands)
    has_types = any(operand.name == "DR" and operand.kind == "uleb" for operand in operands)
    if leads_elsewhere or (has_types and (error.kind in OF_TYPES or at is None)):
        return True
    if at is None or error.kind not in OF_NUMBERS:
        return False
    return not all(tells_all(row) or row.name in BRANCHES for row in rows)


def check_passed(seed: int) -> None:
    """An ill-formed program is found, unless that takes what only an evaluation knows."""
    program, wave, findings = question(seed, SizedWriter)
    told = {(finding.offset, finding.kind) for finding in findings}
    for outcome in evaluate(program, wave):
        if isinstance(outcome, IllFormed) and not is_beyond(outcome, program):
            assert (outcome.where.offset, outcome.kind) in told, shown(program, wave, outcome)


KNOWN = frozenset(("read_past_storage", "offset_out_of_storage", "division_by_zero"))
"""Evaluation errors that constants and sizes decide."""


def check_known(seed: int) -> None:
    """Of a program that tells all, each error about kinds, sizes and constants is found.

    An operation that is wrong in two ways ends with the one that is found first.
    """
    program, wave, findings = question(seed, KnownWriter)
    told = {(finding.offset, finding.kind) for finding in findings}
    certain = {finding.offset for finding in findings if finding.severity == "error"}
    for outcome in evaluate(program, wave):
        if isinstance(outcome, DwarfGpuError) and (isinstance(outcome, IllFormed) or outcome.kind in KNOWN):
            is_told = (outcome.where.offset, outcome.kind) in told or outcome.where.offset in certain
            assert is_told, shown(program, wave, outcome)


def check_errors(seed: int) -> None:
    """A straight program with an error fails in every lane, there or before."""
    program, wave, findings = question(seed, SizedWriter if seed % 2 else KnownWriter)
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors or any(one.target is not None for one in program.instructions):
        return
    first = errors[0]
    has_calls = any(one.operation.is_raw and one.operation.needs for one in program.instructions)
    kinds = {finding.kind for finding in findings if finding.offset == first.offset}
    for outcome in evaluate(program, wave):
        text = f"{shown(program, wave, outcome)}\n{first}"
        assert isinstance(outcome, DwarfGpuError), text
        at = place_of(outcome, program)
        if at is not None:
            assert at.offset <= first.offset, text
            if at.offset == first.offset and isinstance(outcome, IllFormed) and not has_calls:
                assert outcome.kind in kinds | OF_TYPES | OF_NUMBERS, text


CHECKS = (check_passed, check_known, check_errors)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.sampled(6)
def test_programs(check):
    for seed in range(250):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_many_programs(check, part):
    for seed in range(10_000 * part, 10_000 * part + share(10_000, 10)):
        check(seed)
