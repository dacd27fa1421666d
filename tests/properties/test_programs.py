"""Properties of all programs: nothing but a result or a `DwarfGpuError`, and all lanes at once as each lane alone."""

import random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, listing, table
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.instruction import Expression, Instruction, decode, steps_of
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.verify import verify
from dwarfgpu.lanes import LaneSet
from tests.builders.machines import in_columns
from tests.builders.parameters import examples, share
from tests.properties.programs import LANES, REGIONS, TARGETS, Writer, context, expression

SEEDS = st.integers(0, (1 << 64) - 1)


def outcome(one: object) -> object:
    return (type(one), str(one), one.where.trail) if isinstance(one, DwarfGpuError) else one


def check_lanes(program: Expression, seed: int, target: str, rules: str) -> None:
    """All lanes at once give what each lane gives alone."""
    wave = context(random.Random(seed), target, rules)
    together = list(evaluate(program, wave))
    for lane in range(LANES):
        alone = evaluate(program, evolve(wave, lanes=LaneSet.one(lane))).of(0)
        assert outcome(together[lane]) == outcome(alone), (lane, listing.text(program))


def check_program(seed: int) -> None:
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    check_lanes(expression(chance, target), seed, target, chance.choice([*PRESETS]))


def check_bytes(seed: int, dialect: str) -> None:
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    known = [path for path in dialects.get(dialect).by_path if len(path) == 1]
    data = bytearray(chance.randbytes(chance.randrange(0, 24)))
    for position in range(len(data)):  # bytes that are operations lead further than others
        if chance.random() < 0.5:
            data[position] = chance.choice(known)[0]
    program = decode(bytes(data), dialects.get(dialect), Format(chance.choice([4, 8])), known_in=dialects.known_in)
    listing.text(program)
    listing.lines(program)
    verify(program, rules=PRESETS[chance.choice([*PRESETS])], in_cfi=chance.random() < 0.5)
    check_lanes(program, seed, target, chance.choice([*PRESETS]))


@examples(1_000)
@given(seed=SEEDS)
@pytest.mark.slow
def test_programs(seed: int) -> None:
    check_program(seed)


@pytest.mark.parametrize("dialect", dialects.NAMES)
@examples(300)
@given(seed=SEEDS)
@pytest.mark.sampled(6)
def test_bytes(dialect: str, seed: int) -> None:
    check_bytes(seed, dialect)


def essence(one: object) -> object:
    """What two machines must agree on; the message of an error may tell what each knows."""
    return (type(one), one.kind, one.spec, str(one.where)) if isinstance(one, DwarfGpuError) else one


@examples(500)
@given(seed=SEEDS)
def test_a_machine_in_columns_gives_what_a_described_one_gives(seed: int) -> None:
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    program = expression(chance, target)
    described = context(random.Random(seed), target, chance.choice([*PRESETS]))
    columns = evolve(described, backend=in_columns(described.backend, REGIONS))
    for lanes in (described.lanes, LaneSet.one(chance.randrange(LANES))):
        expected = evaluate(program, evolve(described, lanes=lanes))
        found = evaluate(program, evolve(columns, lanes=lanes))
        assert [essence(one) for one in found] == [essence(one) for one in expected], listing.text(program)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_programs(part: int) -> None:
    @settings(max_examples=share(5_000, 10))
    @given(seed=st.integers(part << 60, ((part + 1) << 60) - 1))
    def run(seed: int) -> None:
        check_program(seed)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", dialects.NAMES)
def test_many_byte_strings(dialect: str) -> None:
    @settings(max_examples=share(16_700, 10))
    @given(seed=SEEDS)
    def run(seed: int) -> None:
        check_bytes(seed, dialect)

    run()


PUSHES = ("DW_OP_lit5; DW_OP_lit3; DW_OP_lit0", "DW_OP_lit0; DW_OP_addr 0x1004", "DW_OP_regx 32", "")
EQUIVALENT = [row for row in table.rows() if row.to is not None]


def expanded(program: Expression) -> Expression:
    """A program with each operation that the text defines as others replaced by these, as instructions of their own."""
    instructions = []
    for instruction in program.instructions:
        for step in steps_of(instruction):
            row = step.operation
            operands = step.operands[len(row.fixed) :]
            instructions.append(Instruction(row, row.name, operands, instruction.offset, instruction.end))
    return Expression(b"", tuple(instructions), program.form, program.dialect)


def outcomes(program: Expression, wave: Context) -> list[object]:
    return [one.kind if isinstance(one, DwarfGpuError) else one for one in evaluate(program, wave)]


@pytest.mark.parametrize("row", EQUIVALENT, ids=lambda row: row.name)
@pytest.mark.sampled(6)
def test_a_row_is_its_expansion(row: table.Operation) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        target = chance.choice(TARGETS)
        writer = Writer(chance, target)
        operands = [writer.operand(operand.name, operand.kind) for operand in row.operands]
        text = "; ".join(part for part in (chance.choice(PUSHES), " ".join([row.name, *operands])) if part)
        program = asm.parse(text, dialects.get("llvm-user"), Format())
        wave = evolve(context(random.Random(seed), target, "amd"), result_kind=None)
        assert outcomes(program, wave) == outcomes(expanded(program), wave), text
