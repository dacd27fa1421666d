"""What the verifier says of a program, held against what evaluations of it do on random machines."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import asm, listing, table
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.verify import verify
from dwarfgpu.targets.resolve import resolve
from tests.properties.programs import TARGETS, Writer, context

if TYPE_CHECKING:
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.verify import Finding

RULES = [*PRESETS]
SIZES = (0, 1, 2, 4, 8, 16, 31, 32, 33, 63, 64, 65, 128)
SIZE_KINDS = frozenset(("read_past_storage", "offset_out_of_storage", "bad_piece"))


class SizedWriter(Writer):
    """Writes programs about parts of registers, implicit values and composites."""

    def shortcut(self) -> str:
        if self.chance.random() < 0.4:
            return super().shortcut()
        self.depth += 1
        return self.sized()

    def sized(self) -> str:
        """Some operations that fit the storage they are about, or do not."""
        chance = self.chance
        size, count = chance.choice(SIZES), chance.choice((1, 2, 3, 8, 16, 32, 64))
        register = chance.choice((32, 33, 33, 16, self.vector, self.vector + 1))
        location = chance.choice(
            (
                f"DW_OP_regx {register}",
                f"DW_OP_regx {register}",
                f"DW_OP_implicit_value {chance.randbytes(chance.choice((1, 2, 4, 8, 16))).hex()}",
                "DW_OP_lit9; DW_OP_stack_value",
                f"DW_OP_regx {register}; DW_OP_LLVM_extend {size} {count}",
                f"DW_OP_regx {register}; DW_OP_const1u {size}; DW_OP_LLVM_bit_offset",
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
                f"DW_OP_const2u {chance.choice((0, 3, 4, 8, 127, 128, 255, 256))}; DW_OP_LLVM_offset",
                f"DW_OP_LLVM_offset_uconst {chance.choice((0, 3, 4, 8, 127, 128, 255, 256))}",
                f"DW_OP_const1s {chance.choice((-32, -1, 1, 31, 32, 64))}; DW_OP_LLVM_bit_offset",
                f"DW_OP_regx {self.vector}; DW_OP_const1u {size}; DW_OP_LLVM_select_bit_piece {size} {count}",
                f"DW_OP_lit1; DW_OP_const1u {size}; DW_OP_const1u {chance.choice(SIZES)}; DW_OP_LLVM_bit_overlay",
                f"DW_OP_regx 32; DW_OP_lit{count % 32}; DW_OP_lit4; DW_OP_LLVM_overlay",
                "",
            )
        )
        return "; ".join(part for part in (location, use) if part)


def known(row: table.Operation) -> bool:
    """Whether the program alone tells all that matters of what an operation pushes."""
    pushes_read = row.spec.startswith(("A.2.5.4.3.4", "GCC")) or row.spec in ("A.2.5.4.4.3 (7)", "A.2.5.4.4.3 (8)")
    others = ("DW_OP_LLVM_call_frame_entry_reg", "DW_OP_LLVM_aspace_bregx", "DW_OP_multiloc", "DW_OP_form_tls_address")
    kinds = {operand.kind for operand in row.operands}
    needs_more = bool(row.needs - {"thread", "frame"}) or row.circular or row.name in others
    return not (pushes_read or needs_more or "tail" in kinds or "branch" in kinds)


KNOWN_ROWS = [row for row in table.rows() if known(row)]
READS = (
    *("DW_OP_deref", "DW_OP_deref_size 1", "DW_OP_deref_size 4", "DW_OP_deref_size 8", "DW_OP_dup; DW_OP_deref"),
    *("DW_OP_bregx 32 0", "DW_OP_bregx 16 8", "DW_OP_lit3; DW_OP_LLVM_aspace_bregx 33 4"),
)


class KnownWriter(SizedWriter):
    """Writes straight programs whose constants, kinds and sizes follow from the program alone."""

    def operation(self) -> str:
        chance = self.chance
        if chance.random() < 0.15:
            return f"{chance.choice(READS)}; DW_OP_drop"
        if chance.random() < 0.35:
            self.depth += 1
            text = self.sized()
            return f"{text}; DW_OP_drop" if "deref" in text else text
        fitting = [row for row in KNOWN_ROWS if not row.is_raw and len(row.inputs) <= self.depth]
        row = chance.choice(fitting if chance.random() < 0.8 else KNOWN_ROWS)
        self.depth = max(0, self.depth - len(row.inputs)) + (1 if row.is_raw else len(row.outputs))
        return " ".join([row.name, *(self.operand(operand.name, operand.kind) for operand in row.operands)])


def program_of(writer: Writer) -> Expression:
    """Write a program; a straight one ends where a branch would be."""
    target = resolve("amdgcn-gfx1100-wave32" if writer.vector == 1536 else "amdgcn-gfx90a")
    text = writer.program(writer.chance.randrange(1, 9))
    return asm.parse(text, dialects.get("llvm-user"), Format(), target=target)


def question(seed: int, kind: type[Writer]) -> tuple[Expression, Context, list[Finding]]:
    """Return a program, a machine for it and what is wrong with the program."""
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    program = program_of(kind(chance, target))
    wave = context(chance, target, chance.choice(RULES))
    return program, wave, verify(program, rules=wave.rules, target=wave.target, result_kind=wave.result_kind)


def shown(program: Expression, wave: Context, outcome: object) -> str:
    return f"{listing.text(program)}\n{wave.target.name}, {wave.rules.name}, {wave.result_kind}: {outcome}"


# --- What is passed does not fail ---------------------------------------------------------------------------------

OF_TYPES = frozenset(("integral_type_required", "type_mismatch", "unsupported_type_operation", "bad_size", "bad_type"))
"""Errors that depend on base types, which a unit has."""


def is_beyond_the_program(outcome: DwarfGpuError, program: Expression) -> bool:
    """Whether an error depends on entries of a unit, on a lane, on what was read, or on what an operation calls."""
    before = [one for one in program.instructions if one.offset <= (outcome.where.offset or 0)]
    operands = {operand.kind if operand.name == "DR" else operand.name for one in program.instructions for operand in one.operation.operands}
    has_branch = any(one.target is not None for one in program.instructions)
    calls = any(one.operation.is_raw and one.operation.needs for one in (program.instructions if has_branch else before))
    at = next((one for one in before if one.offset == outcome.where.offset), None)
    if calls or outcome.where.trail or operands & {"ref", "u2", "u4", "E"}:
        return True
    if at is None:
        return "uleb" in operands
    if outcome.kind in OF_TYPES and "uleb" in operands:
        return True
    by_number = {"bad_address_space": "AS", "bad_operand": "O", "bad_piece": "S"}
    if at.operation.name in ("DW_OP_LLVM_push_lane", "DW_OP_LLVM_push_iteration"):
        return True
    return outcome.kind in by_number


def check_passed(seed: int) -> None:
    """An ill-formed program is found, unless that takes what only an evaluation knows."""
    program, wave, findings = question(seed, SizedWriter)
    told = {(finding.offset, finding.kind) for finding in findings}
    for outcome in evaluate(program, wave):
        if not isinstance(outcome, IllFormed) or is_beyond_the_program(outcome, program):
            continue
        assert (outcome.where.offset, outcome.kind) in told, shown(program, wave, outcome)


def check_known(seed: int) -> None:
    """Of a program that tells all, each error about kinds, sizes and constants is found."""
    program, wave, findings = question(seed, KnownWriter)
    told = {(finding.offset, finding.kind) for finding in findings}
    for outcome in evaluate(program, wave):
        if isinstance(outcome, IllFormed) or (isinstance(outcome, DwarfGpuError) and outcome.kind in (*SIZE_KINDS, "division_by_zero")):
            assert (outcome.where.offset, outcome.kind) in told, shown(program, wave, outcome)


# --- What is an error fails ---------------------------------------------------------------------------------------


def check_errors(seed: int) -> None:
    """A straight program with an error fails in every lane, there or before."""
    program, wave, findings = question(seed, SizedWriter if seed % 2 else KnownWriter)
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors or any(one.target is not None for one in program.instructions):
        return
    first = errors[0]
    kinds = {finding.kind for finding in findings if finding.offset == first.offset}
    for outcome in evaluate(program, wave):
        text = f"{shown(program, wave, outcome)}\n{first}"

        assert isinstance(outcome, DwarfGpuError), text
        if not outcome.where.trail:
            assert (outcome.where.offset or 0) <= first.offset, text
        if outcome.where.offset == first.offset and isinstance(outcome, IllFormed):
            assert outcome.kind in kinds | {"bad_operand"}, text


CHECKS = [check_passed, check_known, check_errors]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_programs(check):
    for seed in range(1_500):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_100_000_programs(check, part):
    for seed in range(10_000 + part * 9_000, 10_000 + (part + 1) * 9_000):
        check(seed)
