"""What an expression may use is bounded, and each bound has its own error: no input is evaluated for ever.

The text has no such bounds (A.2.5.4); exceeding one is an evaluation error of the kind ``limit_exceeded``. What
provably never ends is one of the kind ``cycle``.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, locations
from dwarfgpu.expr.context import Context, Limits
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.storages import Memory
from dwarfgpu.lanes import LaneSet
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, answer, short, table

DEFAULTS = Limits()


def row(ops, expected, **case):
    return Case("A.2.5.4", ops, expected, **{"rules": "amd", "dialect": "llvm-user", **case})


def die(ops):
    return {"location": {"ops": ops}}


def listed(*entries):
    return {"location": [{"ops": ops} for ops in entries]}


FOUR = "DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_lit4"
STEPS = [
    # Loops that never end.
    row("DW_OP_skip -3", "limit_exceeded"),
    row("DW_OP_nop; DW_OP_skip -4", "limit_exceeded"),
    row("DW_OP_lit1; DW_OP_bra -4", "limit_exceeded"),
    row("again: DW_OP_skip @there; there: DW_OP_skip @again", "limit_exceeded"),
    row("again: DW_OP_lit1; DW_OP_drop; DW_OP_skip @again", "limit_exceeded"),
    row(
        "DW_OP_const8u 0xffffffffffffffff; again: DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @again",
        "limit_exceeded",
    ),
    row("DW_OP_skip -3", ["limit_exceeded", "limit_exceeded"], lane_count=2),
    # ... in one lane only
    row("again: DW_OP_LLVM_push_lane; DW_OP_bra @again; DW_OP_lit5", ["5", "limit_exceeded"], lane_count=2),
    # Every operation counts once, the end does not.
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_plus", "3", limits={"steps": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_plus", "limit_exceeded", limits={"steps": 2}),
    row("", "undefined", limits={"steps": 0}),
    row("DW_OP_nop", "limit_exceeded", limits={"steps": 0}),
    row("DW_OP_lit3; again: DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @again", "0", limits={"steps": 13}),
    row(
        "DW_OP_lit3; again: DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @again",
        "limit_exceeded",
        limits={"steps": 12},
    ),
    row("; ".join(["DW_OP_nop"] * DEFAULTS.steps), "undefined"),
    row("; ".join(["DW_OP_nop"] * (DEFAULTS.steps + 1)), "limit_exceeded"),
    # The operations of a called expression count, and so do those of one that is evaluated by itself.
    row("DW_OP_call4 4; DW_OP_call4 4", "4", limits={"steps": 12}, dies={"unit:4": die(FOUR)}),
    row("DW_OP_call4 4; DW_OP_call4 4", "limit_exceeded", limits={"steps": 9}, dies={"unit:4": die(FOUR)}),
    row(
        "DW_OP_call4 4",
        "limit_exceeded",
        limits={"steps": 3},
        dies={"unit:4": listed("DW_OP_nop; DW_OP_nop; DW_OP_nop; DW_OP_reg5")},
    ),
    row("again: DW_OP_call4 4; DW_OP_drop; DW_OP_skip @again", "limit_exceeded", dies={"unit:4": listed("DW_OP_reg5")}),
    row("DW_OP_call4 4", "limit_exceeded", dies={"unit:4": die("DW_OP_skip -3")}),
    row("DW_OP_call4 4", "limit_exceeded", dies={"unit:4": listed("DW_OP_skip -3")}),
    row(
        "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref", "limit_exceeded", dies={"info:4": die("DW_OP_skip -3")}
    ),
    row("DW_OP_GNU_variable_value 4", "limit_exceeded", dies={"info:4": die("DW_OP_skip -3")}),
]

STACK = [
    row("again: DW_OP_lit1; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_lit1; again: DW_OP_dup; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_lit1; again: DW_OP_pick 0; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_lit1; DW_OP_lit1; again: DW_OP_over; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3", "3", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_lit4", "limit_exceeded", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_plus; DW_OP_lit4", "4", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_dup", "limit_exceeded", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_pick 1", "limit_exceeded", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_over", "limit_exceeded", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_swap; DW_OP_rot", "3", limits={"stack": 3}),
    row("DW_OP_lit1; DW_OP_call4 4", "limit_exceeded", limits={"stack": 1}, dies={"unit:4": listed("DW_OP_reg5")}),
    row("DW_OP_lit1; DW_OP_call4 4", "limit_exceeded", limits={"stack": 1}, dies={"unit:4": {"const_value": "01"}}),
    row("DW_OP_lit1; DW_OP_call4 4", "limit_exceeded", limits={"stack": 1}, dies={"unit:4": die("DW_OP_lit1")}),
    row("DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4", "{32:r5}", limits={"stack": 2}),
    row("DW_OP_lit1; DW_OP_lit1; DW_OP_piece 0; DW_OP_lit1", "limit_exceeded", limits={"stack": 2}),
    row("; ".join(["DW_OP_lit1"] * DEFAULTS.stack), "1"),
    row("; ".join(["DW_OP_lit1"] * (DEFAULTS.stack + 1)), "limit_exceeded"),
]


def chain(depth, kind, last):
    """Entries that call one another, ``depth`` of them."""
    found = {f"unit:{i}": kind(f"DW_OP_call4 {i + 1}") for i in range(1, depth)}
    return {**found, f"unit:{depth}": kind(last)}


NESTING = [
    row("DW_OP_call4 1", "5", limits={"nesting": 3}, dies=chain(3, die, "DW_OP_lit5")),
    row("DW_OP_call4 1", "limit_exceeded", limits={"nesting": 3}, dies=chain(4, die, "DW_OP_lit5")),
    row("DW_OP_call4 1", "r5", limits={"nesting": 3}, dies=chain(3, listed, "DW_OP_reg5")),
    row("DW_OP_call4 1", "limit_exceeded", limits={"nesting": 3}, dies=chain(4, listed, "DW_OP_reg5")),
    row("DW_OP_call4 1", "5", dies=chain(DEFAULTS.nesting, die, "DW_OP_lit5")),
    row("DW_OP_call4 1", "limit_exceeded", dies=chain(DEFAULTS.nesting + 1, die, "DW_OP_lit5")),
    row("DW_OP_call4 1", "r5", dies=chain(DEFAULTS.nesting, listed, "DW_OP_reg5")),
    row("DW_OP_call4 1", "limit_exceeded", dies=chain(DEFAULTS.nesting + 1, listed, "DW_OP_reg5")),
    # Both together.
    row(
        "DW_OP_call4 1",
        "limit_exceeded",
        limits={"nesting": 3},
        dies={
            "unit:1": die("DW_OP_call4 2"),
            "unit:2": listed("DW_OP_call4 3"),
            "unit:3": die("DW_OP_call4 4"),
            "unit:4": listed("DW_OP_reg5"),
        },
    ),
    # One call after the other is not nested.
    row(
        "; ".join(["DW_OP_call4 1; DW_OP_drop"] * 100),
        "undefined",
        limits={"nesting": 1},
        dies={"unit:1": die("DW_OP_lit5")},
    ),
    row(
        "; ".join(["DW_OP_call4 1; DW_OP_drop"] * 100),
        "undefined",
        limits={"nesting": 1},
        dies={"unit:1": listed("DW_OP_reg5")},
    ),
    row("DW_OP_call4 1", "limit_exceeded", limits={"nesting": 0}, dies={"unit:1": die("DW_OP_lit5")}),
    # A procedure that calls itself may end: the factorial of 5.
    row(
        "DW_OP_lit1; DW_OP_lit5; DW_OP_call4 4; DW_OP_drop",
        "120",
        dies={
            "unit:4": die(
                "DW_OP_dup; DW_OP_lit0; DW_OP_eq; DW_OP_bra @end;"
                "DW_OP_dup; DW_OP_rot; DW_OP_mul; DW_OP_swap; DW_OP_lit1; DW_OP_minus; DW_OP_call4 4; end:"
            )
        },
    ),
]

CYCLES = [
    # Calls on the same stack.
    row("DW_OP_call4 4", "limit_exceeded", dies={"unit:4": die("DW_OP_call4 4")}),
    row("DW_OP_call4 4", "limit_exceeded", dies={"unit:4": die("DW_OP_lit1; DW_OP_call4 4")}),
    row("DW_OP_call4 4", "limit_exceeded", dies={"unit:4": die("DW_OP_call2 8"), "unit:8": die("DW_OP_call2 4")}),
    row("DW_OP_call_ref 4", "limit_exceeded", dies={"info:4": die("DW_OP_call_ref 4")}),
    # Calls of location lists: the same evaluation, on an empty stack, needs its own result.
    row("DW_OP_call4 4", "cycle", dies={"unit:4": listed("DW_OP_call4 4")}),
    row("DW_OP_call4 4", "cycle", dies={"unit:4": listed("DW_OP_call4 8"), "unit:8": listed("DW_OP_call4 4")}),
    row("DW_OP_call4 4", "cycle", dies={"unit:4": listed("DW_OP_reg5", "DW_OP_call4 4")}),
    row("DW_OP_call4 4", "cycle", dies={"unit:4": listed("DW_OP_call4 8"), "unit:8": die("DW_OP_call4 4")}),
    # Implicit pointers that point to themselves.
    row("DW_OP_implicit_pointer 4 0", "ptr info:0x4", dies={"info:4": die("DW_OP_implicit_pointer 4 0")}),
    row("DW_OP_implicit_pointer 4 0; DW_OP_deref", "ptr info:0x4", dies={"info:4": die("DW_OP_implicit_pointer 4 0")}),
    row(
        "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref",
        "ptr info:0x4",
        dies={"info:4": die("DW_OP_implicit_pointer 4 0")},
    ),
    row(
        "DW_OP_implicit_pointer 4 0; DW_OP_deref",
        "cycle",
        want="location",
        dies={"info:4": die("DW_OP_implicit_pointer 4 0; DW_OP_deref")},
    ),
    row(
        "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref",
        "cycle",
        dies={
            "info:4": die("DW_OP_implicit_pointer 8 0; DW_OP_deref"),
            "info:8": die("DW_OP_implicit_pointer 4 0; DW_OP_deref"),
        },
    ),
    row("DW_OP_implicit_pointer 4 0", "cycle", rules="dwarf6", dies={"info:4": die("DW_OP_implicit_pointer 4 0")}),
    # A variable whose value is its own.
    row("DW_OP_GNU_variable_value 4", "cycle", dies={"info:4": die("DW_OP_GNU_variable_value 4")}),
]

PARTS = [
    row(f"DW_OP_reg5; DW_OP_LLVM_extend 1 {DEFAULTS.composite_parts + 1}", "limit_exceeded"),
    row("DW_OP_reg5; DW_OP_LLVM_extend 1 0xffffffffffffffff", "limit_exceeded"),
    row("DW_OP_piece 0; again: DW_OP_piece 0; DW_OP_skip @again", "limit_exceeded"),
    # Parts of parts.
    row("DW_OP_reg5; again: DW_OP_LLVM_extend 1 256; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_reg5; again: DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_skip @again", "limit_exceeded"),
    row("DW_OP_reg5" + "; DW_OP_piece 1; DW_OP_LLVM_piece_end" * (DEFAULTS.composite_depth + 1), "limit_exceeded"),
    # "The DWARF expression is ill-formed if the size of the contiguous location storage is larger than the size of the
    # memory location storage corresponding to the largest target architecture specific address space" (A.2.5.4.4.6).
    row("DW_OP_piece 0x10000; DW_OP_piece 1", "bad_piece", address_size=2),
    row("DW_OP_piece 0xffff; DW_OP_piece 1; DW_OP_drop", "incomplete_composite", address_size=2),
    row("DW_OP_LLVM_undefined; DW_OP_LLVM_extend 0xffffffffffffffff 65536", "bad_piece"),
]

BLOCKS = [
    row(f"DW_OP_implicit_value {'00' * (DEFAULTS.block + 1)}", "limit_exceeded"),
    row(
        f"DW_OP_implicit_value {'00' * (DEFAULTS.block - 8)}0500000000000000;"
        f"DW_OP_const4u {DEFAULTS.block - 8}; DW_OP_LLVM_offset; DW_OP_deref",
        "5",
    ),
]

test_steps = table(STEPS)
test_stack = table(STACK)
test_nesting = table(NESTING)
test_cycles = table(CYCLES)
test_parts = table(PARTS)
test_blocks = table(BLOCKS)

# --- Each limit has its own error ----------------------------------------------------------------------------------

MESSAGES = [
    ("DW_OP_skip -3", "10000 operations"),
    ("again: DW_OP_lit1; DW_OP_skip @again", "4096 entries"),
    ("DW_OP_call4 4", "calls and nested evaluations"),
    (f"DW_OP_reg5; DW_OP_LLVM_extend 1 {DEFAULTS.composite_parts + 1}", "65536 parts"),
    ("DW_OP_reg5; again: DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_skip @again", "nested more than 64 deep"),
    (f"DW_OP_implicit_value {'00' * (DEFAULTS.block + 1)}", "65537 bytes"),
]


@pytest.mark.parametrize("ops, message", MESSAGES, ids=[message for _, message in MESSAGES])
def test_each_limit_has_its_own_error(ops, message):
    error = answer(ops, rules="amd", dialect="llvm-user", dies={"unit:4": die("DW_OP_call4 4")})["error"]

    assert (error["class"], error["kind"]) == ("evaluation_error", "limit_exceeded")
    assert message in error["message"]
    assert error["operation"].startswith("DW_OP_")


# Evaluations that are nested in one another share what there is: expressions that double the work of the next one do
# not get as many operations as they like.
@pytest.mark.parametrize("kind", ["call", "list", "pointer"])
def test_nested_evaluations_do_not_multiply(kind):
    depth = 15
    if kind == "pointer":
        step = "DW_OP_implicit_pointer {} 0; DW_OP_deref; DW_OP_lit0; DW_OP_LLVM_offset"
        twice = f"{step}; DW_OP_drop; {step}"
        dies = {f"info:{i}": die(twice.format(i + 1, i + 1)) for i in range(1, depth)}
        dies[f"info:{depth}"] = die("DW_OP_reg5")
        program = "DW_OP_implicit_pointer 1 0; DW_OP_deref; DW_OP_lit0; DW_OP_LLVM_offset"
    else:
        make = die if kind == "call" else listed
        dies = {f"unit:{i}": make(f"DW_OP_call4 {i + 1}; DW_OP_drop; DW_OP_call4 {i + 1}") for i in range(1, depth)}
        dies[f"unit:{depth}"] = make("DW_OP_reg5")
        program = "DW_OP_call4 1"

    assert short(answer(program, rules="amd", dies=dies)) == "limit_exceeded"


# --- Limits that only a context sets -------------------------------------------------------------------------------

TARGET = resolve("generic")


class Frame:
    """The outermost frame has called itself."""

    def caller(self):
        return self

    def entry_value(self, expression, lanes):
        return None

    def frame_base(self, lanes):
        return asm.parse("DW_OP_call_frame_cfa", dialects.get("llvm-user"), Format())

    def cfa(self, lanes):
        return locations.at(Memory(TARGET.default_space), 8)


class Unit:
    """A unit without anything."""

    reference_size = 4


def outcome(ops, lanes=None, frame=None, **limits):
    code = asm.parse(ops, dialects.get("llvm-user"), Format())
    context = Context(
        TARGET,
        AMD,
        lanes=lanes or LaneSet(1),
        lane_count=64,
        frame=frame,
        unit=Unit(),
        limits=evolve(DEFAULTS, **limits),
    )
    return evaluate(code, context)


def kind_of(found):
    return found.kind if isinstance(found, DwarfGpuError) else "ok"


def test_the_number_of_parts():
    assert kind_of(outcome("DW_OP_LLVM_undefined; DW_OP_LLVM_extend 1 8", composite_parts=8).of(0)) == "ok"
    assert kind_of(outcome("DW_OP_LLVM_undefined; DW_OP_LLVM_extend 1 9", composite_parts=8).of(0)) == "limit_exceeded"
    assert kind_of(outcome("DW_OP_piece 1; DW_OP_piece 1", composite_parts=2).of(0)) == "ok"
    assert kind_of(outcome("DW_OP_piece 1; DW_OP_piece 1; DW_OP_piece 1", composite_parts=2).of(0)) == "limit_exceeded"
    select = "DW_OP_LLVM_undefined; DW_OP_LLVM_undefined; DW_OP_lit5; DW_OP_LLVM_select_bit_piece 1 {}"
    assert kind_of(outcome(select.format(3), composite_parts=3).of(0)) == "ok"
    assert kind_of(outcome(select.format(4), composite_parts=3).of(0)) == "limit_exceeded"


def test_the_depth_of_composites():
    nested = "DW_OP_LLVM_undefined" + "; DW_OP_piece 1; DW_OP_LLVM_piece_end" * 4

    assert kind_of(outcome(nested, composite_depth=4).of(0)) == "ok"
    assert kind_of(outcome(nested, composite_depth=3).of(0)) == "limit_exceeded"


def test_the_size_of_blocks():
    assert kind_of(outcome("DW_OP_implicit_value 01020304", block=4).of(0)) == "ok"
    assert kind_of(outcome("DW_OP_implicit_value 0102030405", block=4).of(0)) == "limit_exceeded"


def test_how_often_lanes_may_part():
    # the lanes leave the loop one after the other
    program = """
        DW_OP_LLVM_push_lane
        again: DW_OP_dup; DW_OP_bra @more; DW_OP_skip @end
        more: DW_OP_lit1; DW_OP_minus; DW_OP_skip @again
        end:
    """
    lanes = LaneSet.of(range(8))

    assert [kind_of(one) for one in outcome(program, lanes)] == ["ok"] * 8


def test_entry_values_end_where_frames_never_do():
    nested = "DW_OP_lit5"
    for _ in range(40):
        nested = f"DW_OP_entry_value ({nested})"
    assert kind_of(outcome(nested, frame=Frame()).of(0)) == "ok"
    assert kind_of(outcome(nested, frame=Frame(), nesting=39).of(0)) == "limit_exceeded"
    # an entry value in an entry value, each of which is evaluated again and again
    loop = "again: DW_OP_entry_value ({}); DW_OP_drop; DW_OP_skip @again"
    assert kind_of(outcome(loop.format(loop.format("DW_OP_lit5")), frame=Frame()).of(0)) == "limit_exceeded"


def test_limits_do_not_count_what_came_before():
    many = "; ".join(["DW_OP_lit5; DW_OP_drop"] * 2000)
    for _ in range(2):
        assert kind_of(outcome(many).of(0)) == "ok"
