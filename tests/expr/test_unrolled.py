"""The function of an expression that runs often does what the loop of the evaluator does, step by step."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from dwarfgpu import budget, dialects
from dwarfgpu.dialects import get
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError
from dwarfgpu.expr import asm, evaluation, listing, types
from dwarfgpu.expr.context import Context, Limits
from dwarfgpu.expr.convert import result_of
from dwarfgpu.expr.evaluation import Evaluation
from dwarfgpu.expr.instruction import Expression, decode
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.unrolled import unrolled
from dwarfgpu.expr.values import Value
from dwarfgpu.lanes import LaneSet
from dwarfgpu.targets.resolve import resolve
from tests.builders.parameters import every, examples, for_each, share
from tests.properties.programs import LANES, TARGETS, context, expression

GENERIC = types.generic(8)
TARGET = resolve("amdgcn-gfx90a")


class Ended:
    """The end of an evaluation: its result, the operations it may still execute, and its stack."""

    def __init__(self, result: Any, left: int, stack: tuple[Any, ...]) -> None:
        self.result = result
        self.left = left
        self.stack = stack

    @staticmethod
    def of(ev: Evaluation) -> Ended:
        return Ended(result_of(ev), ev.budget - ev.spent, tuple(ev.stack))

    def select(self, slot: Any) -> tuple[Any, ...]:
        return self.result.select(slot), self.left, [entry.select(slot) for entry in self.stack]


def outcomes(program: Expression, state: Context, trace: Any = None) -> list[object]:
    """What each slot gives: all there is to know of its end, or of its error."""
    with budget.question(5_000) as question:
        ends: list[object] = []
        for end in evaluate(program, state, trace, Ended.of):
            if isinstance(end, DwarfGpuError):
                where = end.where
                text = (end.kind, str(end), end.spec, end.hint)
                ends.append((type(end), *text, where.section, where.offset, where.operation, where.trail))
            else:
                ends.append(end)
        return [*ends, question.left]


def copy_of(program: Expression) -> Expression:
    """The same expression, which has never been run."""
    return Expression(
        program.data, program.instructions, program.form, program.dialect, fault=program.fault, tail=program.tail,
        section=program.section, offset=program.offset)  # fmt: skip


def check_ways(program: Expression, state: Context) -> None:
    """The loop without checks, the loop with them and the function give the same."""
    fast = copy_of(program)
    fast.function = unrolled(Evaluation(fast, state, None))
    expected = outcomes(copy_of(program), state)
    assert outcomes(copy_of(program), state, lambda *_: None) == expected, listing.text(program)
    assert outcomes(fast, state) == expected, listing.text(program)


def state_of(chance: random.Random, target: str) -> Context:
    """A random state, for one lane, some of them or none in particular, within wide or narrow limits."""
    state = context(chance, target, chance.choice([*PRESETS]))
    one = LaneSet.one(chance.randrange(LANES))
    lanes = [state.lanes, state.lanes, one, one, LaneSet.one(), LaneSet(1, None, None)]
    limits = [*[state.limits] * 8, Limits(steps=chance.randrange(9)), Limits(stack=chance.randrange(5))]
    pushed = (Value(GENERIC, 3), Value(GENERIC, 0x1000), Value(types.unsigned(32), 4))[: chance.randrange(4)]
    return evolve(
        state, lanes=chance.choice(lanes), limits=chance.choice(limits), initial_stack=pushed,
        unit=chance.choice([*[state.unit] * 9, None]), frame=chance.choice([*[state.frame] * 9, None]),
        in_cfi=chance.random() < 0.05)  # fmt: skip


def check_program(seed: int) -> None:
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    check_ways(expression(chance, target), state_of(chance, target))


def check_bytes(seed: int) -> None:
    chance = random.Random(seed)
    target = chance.choice(TARGETS)
    dialect = get(chance.choice(dialects.NAMES))
    known = [path for path in dialect.by_path if len(path) == 1]
    data = bytes(chance.choice(known)[0] if chance.random() < 0.6 else chance.randrange(256) for _ in range(20))
    check_ways(decode(data, dialect, Format()), state_of(chance, target))


@examples(1_500)
@given(seed=st.integers(0, (1 << 64) - 1))
def test_random_programs(seed: int) -> None:
    check_program(seed)


@examples(500)
@given(seed=st.integers(0, (1 << 64) - 1))
def test_random_bytes(seed: int) -> None:
    check_bytes(seed)


@pytest.mark.slow
@settings(max_examples=share(20_000, 10))
@given(seed=st.integers(0, (1 << 64) - 1))
def test_many_random_programs(seed: int) -> None:
    check_program(seed)


@pytest.mark.slow
@settings(max_examples=share(20_000, 10))
@given(seed=st.integers(0, (1 << 64) - 1))
def test_many_random_byte_strings(seed: int) -> None:
    check_bytes(seed)


def parse(text: str) -> Expression:
    return asm.parse(text, get("llvm-user"), Format(), target=TARGET)


@for_each(
    "text",
    "",
    "DW_OP_plus",
    "DW_OP_lit1; DW_OP_plus",
    "DW_OP_lit1; DW_OP_lit0; DW_OP_div; DW_OP_lit3",
    "DW_OP_lit1; DW_OP_lit2; DW_OP_swap; DW_OP_minus; DW_OP_dup; DW_OP_rot",
    "DW_OP_LLVM_push_lane; DW_OP_bra +1; DW_OP_lit3; DW_OP_lit4",
    "DW_OP_lit2; DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra -6",
    "DW_OP_lit4; DW_OP_call4 0x40; DW_OP_lit1; DW_OP_plus",
    "DW_OP_call4 0x41; DW_OP_deref",
    "DW_OP_lit0; DW_OP_implicit_pointer 0x44 0; DW_OP_deref; DW_OP_deref; DW_OP_plus",
    "DW_OP_const_type 0x12 0000803f; DW_OP_const_type 0x13 0000803f00000000; DW_OP_and",
    "DW_OP_piece 4; DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 4; DW_OP_lit1; DW_OP_plus",
    "DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 9",
    "DW_OP_regx v0; DW_OP_LLVM_push_lane; DW_OP_const2u 300; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4",
)
@every(rules=PRESETS, target=TARGETS)
def test_programs_that_end_in_many_ways(text: str, rules: str, target: str) -> None:
    state = context(random.Random(text), target, rules)
    for lanes in (state.lanes, LaneSet.one(3), LaneSet.one()):
        check_ways(parse(text), evolve(state, lanes=lanes))


def test_an_expression_has_a_function_after_many_runs() -> None:
    program = parse("DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul")
    state = Context(TARGET, lanes=LaneSet.one(5))
    for _ in range(evaluation.OFTEN):
        evaluate(program, state)
    assert program.function is None
    evaluate(program, state)
    assert program.function is not None
    assert evaluate(program, state).one() == Value(GENERIC, 20)


def test_runs_with_checks_do_not_count() -> None:
    program = parse("DW_OP_lit4")
    for _ in range(evaluation.OFTEN + 2):
        evaluate(program, Context(TARGET), lambda *_: None)
    assert program.function is None


def test_a_long_expression_stays_in_the_loop() -> None:
    program = parse("DW_OP_lit4; " * evaluation.MAX_STEPS + "DW_OP_lit5")
    for _ in range(evaluation.OFTEN + 2):
        evaluate(program, Context(TARGET))
    assert program.function is None


def test_a_function_is_for_one_generic_type() -> None:
    program = parse("DW_OP_lit1; DW_OP_lit2; DW_OP_minus")
    program.function = unrolled(Evaluation(program, Context(TARGET), None))
    assert evaluate(program, Context(TARGET)).one() == Value(GENERIC, (1 << 64) - 1)
    assert evaluate(program, Context(evolve(TARGET, address_size=4))).one() == Value(types.generic(4), (1 << 32) - 1)


def test_expressions_with_a_function_can_be_sent_to_another_process() -> None:
    program = parse("DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul")
    state = Context(TARGET, lanes=LaneSet.one(5))
    program.function = unrolled(Evaluation(program, state, None))
    sent = pickle.loads(pickle.dumps(program))
    assert sent.function is None
    assert evaluate(sent, state).one() == evaluate(program, state).one() == Value(GENERIC, 20)


def test_a_function_may_be_interrupted_anywhere() -> None:
    """The state is that before the step, with the entries in the order in which they were pushed."""
    program = parse("DW_OP_lit7; DW_OP_LLVM_push_lane; DW_OP_lit9; DW_OP_lit0; DW_OP_div; DW_OP_lit1")
    current = Evaluation(program, Context(TARGET, lanes=LaneSet.one(5)), None)
    program.function = unrolled(current)
    with pytest.raises(EvaluationError, match="the divisor is 0"):
        current.run_on()
    assert [entry.bits for entry in current.stack] == [7, 5, 9, 0]  # type: ignore[union-attr]
    assert (current.index, current.budget) == (4, current.context.limits.steps - 5)
