"""What an expression may use is bounded, and each bound has its own error: no input is evaluated for ever.

The text has no such bounds (A.2.5.4); exceeding one is an evaluation error of the kind ``limit_exceeded``. What
provably never ends is one of the kind ``cycle``.
"""

from functools import partial

import pytest
from attrs import evolve

from dwarfgpu.expr.context import Context, Limits
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from tests.builders.cases import Rows, answer, die, listed, parsed, short
from tests.builders.contexts import TARGET, Frame, Unit, kind_of

DEFAULTS = Limits()
rows = Rows("A.2.5.4", vars(), rules="amd", dialect="llvm-user")
row = partial(rows.row, "")
FOUR = "lit1; lit2; lit3; lit4"
test_steps = rows.table("""
    # Loops that never end.
    skip -3 | nop; skip -4 | lit1; bra -4 | again: skip @there; there: skip @again | again: lit1; drop; skip @again |
        const8u 0xffffffffffffffff; again: lit1; minus; dup; bra @again -> limit_exceeded
    skip -3 => ["limit_exceeded", "limit_exceeded"] where lane_count=2
    # ... in one lane only
    again: LLVM_push_lane; bra @again; lit5 => ["5", "limit_exceeded"] where lane_count=2
    # Every operation counts once, the end does not.
    lit1; lit2; plus -> 3 where limits={"steps": 3}
    lit1; lit2; plus -> limit_exceeded where limits={"steps": 2}
    -> undefined where limits={"steps": 0}                    nop -> limit_exceeded where limits={"steps": 0}
    lit3; again: lit1; minus; dup; bra @again -> 0 where limits={"steps": 13}
    lit3; again: lit1; minus; dup; bra @again -> limit_exceeded where limits={"steps": 12}
    {'; '.join(['nop'] * DEFAULTS.steps)} -> undefined
    {'; '.join(['nop'] * (DEFAULTS.steps + 1))} -> limit_exceeded
    # The operations of a called expression count, and so do those of one that is evaluated by itself.
    call4 4; call4 4 -> 4 where limits={"steps": 12}, dies={"unit:4": die(FOUR)}
    call4 4; call4 4 -> limit_exceeded where limits={"steps": 9}, dies={"unit:4": die(FOUR)}
    call4 4 -> limit_exceeded where limits={"steps": 3}, dies={"unit:4": listed("nop; nop; nop; reg5")}
    again: call4 4; drop; skip @again -> limit_exceeded where dies={"unit:4": listed("reg5")}
    call4 4 -> limit_exceeded where dies={"unit:4": die("skip -3")}
    call4 4 -> limit_exceeded where dies={"unit:4": listed("skip -3")}
    implicit_pointer 4 0; deref; deref | GNU_variable_value 4 -> limit_exceeded where dies={"info:4": die("skip -3")}
    """)
test_stack = rows.table("""
    () again: lit1; skip @again | lit1; again: dup; skip @again | lit1; again: pick 0; skip @again |
        lit1; lit1; again: over; skip @again | {'; '.join(['lit1'] * (DEFAULTS.stack + 1))} -> limit_exceeded
    lit1; lit2; lit3 | lit1; lit2; lit3; swap; rot -> 3 where limits={"stack": 3}
    lit1; lit2; lit3; lit4 | lit1; lit2; lit3; dup | lit1; lit2; lit3; pick 1 | lit1; lit2; lit3; over -> limit_exceeded
        where limits={"stack": 3}
    lit1; lit2; lit3; plus; lit4 -> 4 where limits={"stack": 3}
    lit1; call4 4 -> limit_exceeded where limits={"stack": 1}, dies={"unit:4": listed("reg5")}
    lit1; call4 4 -> limit_exceeded where limits={"stack": 1}, dies={"unit:4": {"const_value": "01"}}
    lit1; call4 4 -> limit_exceeded where limits={"stack": 1}, dies={"unit:4": die("lit1")}
    lit1; reg5; piece 4 -> {32:r5} where limits={"stack": 2}
    lit1; lit1; piece 0; lit1 -> limit_exceeded where limits={"stack": 2}
    {'; '.join(['lit1'] * DEFAULTS.stack)} -> 1
    """)


def chain(depth, kind, last):
    """Entries that call one another, ``depth`` of them."""
    return {**{f"unit:{i}": kind(f"call4 {i + 1}") for i in range(1, depth)}, f"unit:{depth}": kind(last)}


test_nesting = rows.table("""
    call4 1 -> 5 where limits={"nesting": 3}, dies=chain(3, die, "lit5")
    call4 1 -> limit_exceeded where limits={"nesting": 3}, dies=chain(4, die, "lit5")
    call4 1 -> r5 where limits={"nesting": 3}, dies=chain(3, listed, "reg5")
    call4 1 -> limit_exceeded where limits={"nesting": 3}, dies=chain(4, listed, "reg5")
    call4 1 -> 5 where dies=chain(DEFAULTS.nesting, die, "lit5")
    call4 1 -> limit_exceeded where dies=chain(DEFAULTS.nesting + 1, die, "lit5")
    call4 1 -> r5 where dies=chain(DEFAULTS.nesting, listed, "reg5")
    call4 1 -> limit_exceeded where dies=chain(DEFAULTS.nesting + 1, listed, "reg5")
    # Both together.
    call4 1 -> limit_exceeded where limits={"nesting": 3},
        dies={"unit:1": die("call4 2"), "unit:2": listed("call4 3"), "unit:3": die("call4 4"), "unit:4": listed("reg5")}
    # One call after the other is not nested.
    {'; '.join(['call4 1; drop'] * 100)} -> undefined where limits={"nesting": 1}, dies={"unit:1": die("lit5")}
    {'; '.join(['call4 1; drop'] * 100)} -> undefined where limits={"nesting": 1}, dies={"unit:1": listed("reg5")}
    call4 1 -> limit_exceeded where limits={"nesting": 0}, dies={"unit:1": die("lit5")}
    # A procedure that calls itself may end: the factorial of 5.
    lit1; lit5; call4 4; drop -> 120 where dies={"unit:4": die("dup; lit0; eq; bra @end;dup; rot; mul; swap; lit1;
        minus; call4 4; end:")}
    """)
test_cycles = rows.table("""
    # Calls on the same stack.
    call4 4 -> limit_exceeded where dies={"unit:4": die("call4 4")}
    call4 4 -> limit_exceeded where dies={"unit:4": die("lit1; call4 4")}
    call4 4 -> limit_exceeded where dies={"unit:4": die("call2 8"), "unit:8": die("call2 4")}
    call_ref 4 -> limit_exceeded where dies={"info:4": die("call_ref 4")}
    # Calls of location lists: the same evaluation, on an empty stack, needs its own result.
    call4 4 -> cycle where dies={"unit:4": listed("call4 4")}
    call4 4 -> cycle where dies={"unit:4": listed("call4 8"), "unit:8": listed("call4 4")}
    call4 4 -> cycle where dies={"unit:4": listed("reg5", "call4 4")}
    call4 4 -> cycle where dies={"unit:4": listed("call4 8"), "unit:8": die("call4 4")}
    # Implicit pointers that point to themselves.
    implicit_pointer 4 0 | implicit_pointer 4 0; deref | implicit_pointer 4 0; deref; deref -> ptr info:0x4
        where dies={"info:4": die("implicit_pointer 4 0")}
    implicit_pointer 4 0; deref -> cycle where want="location", dies={"info:4": die("implicit_pointer 4 0; deref")}
    implicit_pointer 4 0; deref; deref -> cycle where dies={"info:4": die("implicit_pointer 8 0;
        deref"), "info:8": die("implicit_pointer 4 0; deref")}
    implicit_pointer 4 0 -> cycle where rules="dwarf6", dies={"info:4": die("implicit_pointer 4 0")}
    # A variable whose value is its own.
    GNU_variable_value 4 -> cycle where dies={"info:4": die("GNU_variable_value 4")}
    """)
test_parts = rows.table("""
    () reg5; LLVM_extend 1 {DEFAULTS.composite_parts + 1} | reg5; LLVM_extend 1 0xffffffffffffffff |
        piece 0; again: piece 0; skip @again -> limit_exceeded
    # Parts of parts.
    reg5; again: LLVM_extend 1 256; skip @again | reg5; again: piece 1; LLVM_piece_end; skip @again |
        {'reg5' + '; piece 1; LLVM_piece_end' * (DEFAULTS.composite_depth + 1)} -> limit_exceeded
    # "The DWARF expression is ill-formed if the size of the contiguous location storage is larger than the size of the
    # memory location storage corresponding to the largest target architecture specific address space" (A.2.5.4.4.6).
    piece 0x10000; piece 1 -> bad_piece where address_size=2
    piece 0xffff; piece 1; drop -> incomplete_composite where address_size=2
    LLVM_undefined; LLVM_extend 0xffffffffffffffff 65536 -> bad_piece
    """)
test_blocks = rows.table("""
    () implicit_value {'00' * (DEFAULTS.block + 1)} -> limit_exceeded
    implicit_value {'00' * (DEFAULTS.block - 8)}0500000000000000; const4u {DEFAULTS.block - 8}; LLVM_offset; deref -> 5
    """)
MESSAGES = [
    ("skip -3", "10000 operations"),
    ("again: lit1; skip @again", "4096 entries"),
    ("call4 4", "calls and nested evaluations"),
    (f"reg5; LLVM_extend 1 {DEFAULTS.composite_parts + 1}", "65536 parts"),
    ("reg5; again: piece 1; LLVM_piece_end; skip @again", "nested more than 64 deep"),
    (f"implicit_value {'00' * (DEFAULTS.block + 1)}", "65537 bytes")]  # fmt: skip


@pytest.mark.parametrize("ops, message", MESSAGES, ids=[message for _, message in MESSAGES])
def test_each_limit_has_its_own_error(ops, message):
    error = answer(ops, rules="amd", dialect="llvm-user", dies={"unit:4": die("call4 4")})["error"]
    assert (error["class"], error["kind"]) == ("evaluation_error", "limit_exceeded")
    assert message in error["message"]
    assert error["operation"].startswith("DW_OP_")


# Evaluations that are nested in one another share what there is: expressions that double the work of the next one do
# not get as many operations as they like.
@pytest.mark.parametrize("kind", ["call", "list", "pointer"])
def test_nested_evaluations_do_not_multiply(kind):
    depth = 15
    if kind == "pointer":
        step = "implicit_pointer {} 0; deref; lit0; LLVM_offset"
        twice = f"{step}; drop; {step}"
        dies = {f"info:{i}": die(twice.format(i + 1, i + 1)) for i in range(1, depth)}
        dies[f"info:{depth}"] = die("reg5")
        program = "implicit_pointer 1 0; deref; lit0; LLVM_offset"
    else:
        make = die if kind == "call" else listed
        dies = {f"unit:{i}": make(f"call4 {i + 1}; drop; call4 {i + 1}") for i in range(1, depth)}
        dies[f"unit:{depth}"] = make("reg5")
        program = "call4 1"
    assert short(answer(program, rules="amd", dies=dies)) == "limit_exceeded"


class OfCfa(Frame):
    """A frame whose base is an expression."""

    def frame_base(self, lanes):
        return parsed("call_frame_cfa")


def outcome(ops, lanes=None, frame=None, **limits):
    code = parsed(ops)
    context = Context(
        TARGET, AMD, lanes=lanes or LaneSet(1), lane_count=64, frame=frame, unit=Unit(),
        limits=evolve(DEFAULTS, **limits))  # fmt: skip
    return evaluate(code, context)


def test_the_number_of_parts():
    assert kind_of(outcome("LLVM_undefined; LLVM_extend 1 8", composite_parts=8).of(0)) == "ok"
    assert kind_of(outcome("LLVM_undefined; LLVM_extend 1 9", composite_parts=8).of(0)) == "limit_exceeded"
    assert kind_of(outcome("piece 1; piece 1", composite_parts=2).of(0)) == "ok"
    assert kind_of(outcome("piece 1; piece 1; piece 1", composite_parts=2).of(0)) == "limit_exceeded"
    select = "LLVM_undefined; LLVM_undefined; lit5; LLVM_select_bit_piece 1 {}"
    assert kind_of(outcome(select.format(3), composite_parts=3).of(0)) == "ok"
    assert kind_of(outcome(select.format(4), composite_parts=3).of(0)) == "limit_exceeded"


def test_depth_of_composites_and_size_of_blocks():
    nested = "LLVM_undefined" + "; piece 1; LLVM_piece_end" * 4
    assert kind_of(outcome(nested, composite_depth=4).of(0)) == "ok"
    assert kind_of(outcome(nested, composite_depth=3).of(0)) == "limit_exceeded"
    assert kind_of(outcome("implicit_value 01020304", block=4).of(0)) == "ok"
    assert kind_of(outcome("implicit_value 0102030405", block=4).of(0)) == "limit_exceeded"


def test_how_often_lanes_may_part():
    # the lanes leave the loop one after the other
    program = """
        LLVM_push_lane
        again: dup; bra @more; skip @end
        more: lit1; minus; skip @again
        end:
    """
    lanes = LaneSet.of(range(8))
    assert [kind_of(one) for one in outcome(program, lanes)] == ["ok"] * 8


def test_entry_values_end_where_frames_never_do():
    nested = "lit5"
    for _ in range(40):
        nested = f"entry_value ({nested})"
    assert kind_of(outcome(nested, frame=OfCfa()).of(0)) == "ok"
    assert kind_of(outcome(nested, frame=OfCfa(), nesting=39).of(0)) == "limit_exceeded"
    # an entry value in an entry value, each of which is evaluated again and again
    loop = "again: entry_value ({}); drop; skip @again"
    assert kind_of(outcome(loop.format(loop.format("lit5")), frame=OfCfa()).of(0)) == "limit_exceeded"


def test_limits_do_not_count_what_came_before():
    many = "; ".join(["lit5; drop"] * 2000)
    for _ in range(2):
        assert kind_of(outcome(many).of(0)) == "ok"
