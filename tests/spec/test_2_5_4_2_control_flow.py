"""A.2.5.4.2 Control Flow Operations: comparisons, branches and calls."""

from __future__ import annotations

import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr import asm
from dwarfgpu.expr.context import Context, DieInfo
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, answer, table

TYPES = {
    "1": {"encoding": "signed", "byte_size": 1},
    "2": {"encoding": "unsigned", "byte_size": 1},
    "3": {"encoding": "float", "byte_size": 4},
    "4": {"encoding": "float", "byte_size": 8},
    "5": {"encoding": "address", "byte_size": 8},
    "6": {"encoding": "boolean", "byte_size": 1},
    "7": {"encoding": "unsigned", "byte_size": 1, "vector_size": 2},
    "8": {"encoding": "signed", "byte_size": 16},
    "9": {"encoding": "unsigned", "byte_size": 16},
    "10": {"encoding": "bfloat16", "byte_size": 2},
    "11": {"encoding": "UTF", "byte_size": 4},
    "12": {"encoding": "signed", "byte_size": 1, "bit_size": 7},
    "13": {"encoding": "signed_char", "byte_size": 1},
    "14": {"encoding": "unsigned_char", "byte_size": 1},
    "15": {"encoding": "complex_float", "byte_size": 8},
}


def row(clause, ops, expected, **case):
    return Case(
        f"A.2.5.4.2 {clause}", ops, expected, **{"rules": "amd", "dialect": "llvm-user", "base_types": TYPES, **case}
    )


NOP = [
    # "It has no effect on the DWARF stack entries."
    row("(1)", "DW_OP_nop", ()),
    row("(1)", "DW_OP_lit1; DW_OP_nop; DW_OP_lit2; DW_OP_nop", ("1", "2")),
    row("(1)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_nop; DW_OP_reg6; DW_OP_piece 4", "{32:r5 32:r6}"),
    row("(1)", "DW_OP_lit1; DW_OP_LLVM_nop", ("1",)),
]

# --- Comparisons ---------------------------------------------------------------------------------------------------

RELATIONS = ("le", "ge", "eq", "lt", "gt", "ne")


def compared(operands, true, **case):
    """A row for each of the six operations: 1 with the generic type for those named in ``true``, else 0."""
    return [
        row("(2)", f"{operands}; DW_OP_{relation}", "1" if relation in true.split() else "0", **case)
        for relation in RELATIONS
    ]


LESS, EQUAL, GREATER, UNORDERED = "le lt ne", "le ge eq", "ge gt ne", "ne"

COMPARISONS = [
    # "former second entry, relational operator, former top entry"
    *compared("DW_OP_lit1; DW_OP_lit2", LESS),
    *compared("DW_OP_lit2; DW_OP_lit2", EQUAL),
    *compared("DW_OP_lit3; DW_OP_lit2", GREATER),
    # "If the operands have the generic type, the comparisons are performed as signed operations."
    *compared("DW_OP_const1s -1; DW_OP_lit0", LESS),
    *compared("DW_OP_const8u 0x8000000000000000; DW_OP_const8u 0x7fffffffffffffff", LESS),
    *compared("DW_OP_const1u 0x80; DW_OP_const1u 0x7f", LESS, address_size=1),
    *compared("DW_OP_const2u 0x8000; DW_OP_lit0", LESS, address_size=2),
    *compared("DW_OP_const4u 0x800000; DW_OP_lit0", LESS, address_size=3),
    *compared("DW_OP_const4u 0x80000000; DW_OP_lit0", LESS, address_size=4),
    *compared("DW_OP_const4u 0x80000000; DW_OP_lit0", GREATER),
    # Values of a base type are compared as its encoding says.
    *compared("DW_OP_const_type 1 ff; DW_OP_const_type 1 00", LESS),
    *compared("DW_OP_const_type 1 80; DW_OP_const_type 1 7f", LESS),
    *compared("DW_OP_const_type 2 ff; DW_OP_const_type 2 00", GREATER),
    *compared("DW_OP_const_type 13 80; DW_OP_const_type 13 7f", LESS),
    *compared("DW_OP_const_type 14 80; DW_OP_const_type 14 7f", GREATER),
    *compared("DW_OP_const_type 6 00; DW_OP_const_type 6 01", LESS),
    *compared("DW_OP_const_type 12 40; DW_OP_const_type 12 3f", LESS),
    *compared("DW_OP_const_type 5 ffffffffffffffff; DW_OP_const_type 5 0000000000000000", GREATER),
    *compared("DW_OP_const_type 11 00f60100; DW_OP_const_type 11 41000000", GREATER),
    *compared(f"DW_OP_const_type 8 {'ff' * 16}; DW_OP_const_type 8 {'00' * 16}", LESS),
    *compared(f"DW_OP_const_type 9 {'ff' * 16}; DW_OP_const_type 9 {'00' * 16}", GREATER),
    *compared(f"DW_OP_const_type 9 {'00' * 15}80; DW_OP_const_type 9 {'00' * 15}80", EQUAL),
    *compared("DW_OP_const_type 3 000080bf; DW_OP_const_type 3 00000000", LESS),
    *compared("DW_OP_const_type 3 0000807f; DW_OP_const_type 3 ffff7f7f", GREATER),
    *compared("DW_OP_const_type 3 00000080; DW_OP_const_type 3 00000000", EQUAL),  # -0.0 and 0.0
    *compared("DW_OP_const_type 3 0000c07f; DW_OP_const_type 3 0000c07f", UNORDERED),  # NaN
    *compared("DW_OP_const_type 4 000000000000f87f; DW_OP_const_type 4 0000000000000000", UNORDERED),
    *compared("DW_OP_const_type 4 000000000000f03f; DW_OP_const_type 4 0000000000000040", LESS),
    *compared("DW_OP_const_type 10 803f; DW_OP_const_type 10 0040", LESS),
    # A byte address in the default address space is converted to a value first (A.2.5.4.4.3).
    *compared("DW_OP_addr 0x10; DW_OP_lit16", EQUAL),
    *compared("DW_OP_addr 0x10; DW_OP_addr 0x11", LESS),
]

# "which have the same type, either the same base type or the generic type": else the expression is ill-formed.
TYPES_DIFFER = [
    *(row("(2)", f"DW_OP_lit1; DW_OP_const_type 2 01; DW_OP_{one}", "type_mismatch") for one in RELATIONS),
    row("(2)", "DW_OP_const_type 2 01; DW_OP_lit1; DW_OP_eq", "type_mismatch"),
    row("(2)", "DW_OP_const_type 1 01; DW_OP_const_type 2 01; DW_OP_eq", "type_mismatch"),
    row("(2)", "DW_OP_const_type 1 01; DW_OP_const_type 13 01; DW_OP_eq", "type_mismatch"),
    row("(2)", "DW_OP_const_type 3 00000000; DW_OP_const_type 4 0000000000000000; DW_OP_eq", "type_mismatch"),
    row("(2)", "DW_OP_const_type 5 0000000000000000; DW_OP_lit0; DW_OP_eq", "type_mismatch"),
    # Types that the standard gives no order and no equality.
    *(
        row("(2)", f"DW_OP_const_type 7 0102; DW_OP_dup; DW_OP_{one}", "unsupported_type_operation")
        for one in RELATIONS
    ),
    row("(2)", "DW_OP_const_type 15 0000000000000000; DW_OP_dup; DW_OP_eq", "unsupported_type_operation"),
    # Operands that are no values.
    *(row("(2)", f"DW_OP_reg5; DW_OP_reg5; DW_OP_{one}", "wrong_kind") for one in RELATIONS),
    row("(2)", "DW_OP_lit1; DW_OP_reg5; DW_OP_eq", "wrong_kind"),
    *(row("(2)", f"DW_OP_{one}", "stack_underflow") for one in RELATIONS),
    *(row("(2)", f"DW_OP_lit1; DW_OP_{one}", "stack_underflow") for one in RELATIONS),
]

# --- Branches ------------------------------------------------------------------------------------------------------

BRANCHES = [
    # "the number of bytes ... to skip forward or backward from the current operation, beginning after the 2-byte
    # constant"
    row("(3)", "DW_OP_skip 0; DW_OP_lit5", "5"),
    row("(3)", "DW_OP_lit1; DW_OP_skip 1; DW_OP_drop; DW_OP_lit2", ("1", "2")),
    row("(3)", "DW_OP_lit1; DW_OP_skip 2; DW_OP_drop; DW_OP_drop; DW_OP_lit2", ("1", "2")),
    row("(3)", "DW_OP_skip @forward; back: DW_OP_lit7; DW_OP_skip @end; forward: DW_OP_skip @back; end:", "7"),
    row("(3)", "DW_OP_lit1; DW_OP_skip 3; DW_OP_const2u 0x3030; DW_OP_lit2", ("1", "2")),
    row("(3)", "DW_OP_skip 1; DW_OP_nop; DW_OP_lit5", "5", expr="2f00019635", byte_order="big"),
    # Past the longest operation, with the largest operand there is.
    row("(3)", f"DW_OP_skip 32767; DW_OP_implicit_value {'00' * 32763}; DW_OP_lit5", "5"),
    # "If the updated position is at one past the end of the last operation, then the ... evaluation is complete."
    row("(3)", "DW_OP_lit5; DW_OP_skip 0", "5"),
    row("(3)", "DW_OP_lit5; DW_OP_skip 2; DW_OP_drop; DW_OP_drop", "5"),
    row("(3)", "DW_OP_skip 0", "undefined"),
    row("(4)", "DW_OP_lit5; DW_OP_lit1; DW_OP_bra 1; DW_OP_drop", "5"),
    row("(4)", "DW_OP_lit1; DW_OP_bra 0", "undefined"),
    # "This operation pops the top of stack. If the value popped is not the constant 0 ..."
    row("(4)", "DW_OP_lit7; DW_OP_lit1; DW_OP_bra 1; DW_OP_drop; DW_OP_lit2", ("7", "2")),
    row("(4)", "DW_OP_lit7; DW_OP_lit0; DW_OP_bra 1; DW_OP_drop; DW_OP_lit2", ("2",)),
    row("(4)", "DW_OP_lit7; DW_OP_const1s -1; DW_OP_bra 1; DW_OP_drop; DW_OP_lit2", ("7", "2")),
    # ... of any type
    row("(4)", "DW_OP_const_type 1 80; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", "DW_OP_const_type 1 00; DW_OP_bra @end; DW_OP_lit1; end:", "1"),
    row("(4)", "DW_OP_const_type 6 01; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", f"DW_OP_const_type 8 {'00' * 15}80; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", f"DW_OP_const_type 8 {'00' * 16}; DW_OP_bra @end; DW_OP_lit1; end:", "1"),
    row("(4)", "DW_OP_const_type 5 0000000000000080; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", "DW_OP_const_type 3 0000003f; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", "DW_OP_const_type 3 00000000; DW_OP_bra @end; DW_OP_lit1; end:", "1"),
    row("(4)", "DW_OP_const_type 3 00000080; DW_OP_bra @end; DW_OP_lit1; end:", "1"),  # -0.0 is 0
    row("(4)", "DW_OP_const_type 3 0000c07f; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),  # NaN is not
    # ... also an address, which is converted to a value
    row("(4)", "DW_OP_addr 0x10; DW_OP_bra @end; DW_OP_lit1; end:", "undefined"),
    row("(4)", "DW_OP_addr 0; DW_OP_bra @end; DW_OP_lit1; end:", "1"),
    # Loops: the sum of the numbers to 10; 2 to the power of 10.
    row(
        "(4)",
        """
        DW_OP_lit0; DW_OP_lit10;
        again: DW_OP_swap; DW_OP_over; DW_OP_plus; DW_OP_swap; DW_OP_lit1; DW_OP_minus;
        DW_OP_dup; DW_OP_bra @again; DW_OP_drop
        """,
        ("55",),
    ),
    row(
        "(4)",
        """
        DW_OP_lit1; DW_OP_lit10;
        again: DW_OP_dup; DW_OP_lit0; DW_OP_eq; DW_OP_bra @done;
        DW_OP_lit1; DW_OP_minus; DW_OP_swap; DW_OP_lit2; DW_OP_mul; DW_OP_swap; DW_OP_skip @again;
        done: DW_OP_drop
        """,
        ("1024",),
    ),
    # A branch that is not taken may go anywhere.
    *(row("(4)", f"DW_OP_lit0; DW_OP_bra {to}; DW_OP_lit5", "5") for to in (-1, -2, -4, -5, 2, 100, -32768, 32767)),
]

# "Otherwise, the DWARF expression is ill-formed if the updated operation position is not in the range of the first to
# last operation inclusive, or not at the start of an operation."
# Positions: lit1 at 0, skip at 1, const2u at 4, lit2 at 7, the end is 8; a displacement counts from 4.
SKIP = "DW_OP_lit1; DW_OP_skip {}; DW_OP_const2u 0x3030; DW_OP_lit2"
BRA = "DW_OP_lit1; DW_OP_bra {}; DW_OP_const2u 0x3030; DW_OP_lit2"
BAD_BRANCHES = [
    # before the first operation
    row("(3)", SKIP.format(-5), "bad_branch"),
    row("(3)", SKIP.format(-32768), "bad_branch"),
    row("(4)", BRA.format(-5), "bad_branch"),
    row("(4)", BRA.format(-32768), "bad_branch"),
    # beyond the end
    row("(3)", SKIP.format(5), "bad_branch"),
    row("(3)", SKIP.format(32767), "bad_branch"),
    row("(4)", BRA.format(5), "bad_branch"),
    row("(4)", BRA.format(32767), "bad_branch"),
    # into its own operand
    row("(3)", SKIP.format(-1), "bad_branch"),
    row("(3)", SKIP.format(-2), "bad_branch"),
    row("(4)", BRA.format(-1), "bad_branch"),
    row("(4)", BRA.format(-2), "bad_branch"),
    # into an operand of another operation, also where its bytes look like operations
    row("(3)", SKIP.format(1), "bad_branch"),
    row("(3)", SKIP.format(2), "bad_branch"),
    row("(4)", BRA.format(1), "bad_branch"),
    row("(4)", BRA.format(2), "bad_branch"),
    # behind the prefix of an operation of two bytes
    row("(3)", "DW_OP_skip 1; DW_OP_LLVM_undefined", "bad_branch"),
    # what is in range
    row("(3)", SKIP.format(0), ("1", "12336", "2")),
    row("(3)", SKIP.format(3), ("1", "2")),
    row("(3)", SKIP.format(4), ("1",)),
    # An expression ends where it ends: not in the expression that called it, and not in one nested in it.
    row("(3)", "DW_OP_call4 4; DW_OP_lit1", "bad_branch", dies={"unit:4": {"location": "2f0100"}}),
    row("(3)", "DW_OP_call4 4; DW_OP_lit1", "1", dies={"unit:4": {"location": "2f0000"}}),
    row("(3)", "DW_OP_call4 4; DW_OP_lit1", "bad_branch", dies={"unit:4": {"location": ["2f0100"]}}),
    row("(3)", "DW_OP_lit1; DW_OP_call4 4", "bad_branch", dies={"unit:4": {"location": "2ffcff"}}),
    row("(3)", "DW_OP_skip 2; DW_OP_entry_value (DW_OP_lit1)", "bad_branch"),
    # Bytes that cannot be decoded are no operation to go to, and make the expression ill-formed where they are met.
    row("(3)", "", "unknown_operation", expr="2f01003001"),
    row("(3)", "", "truncated", expr="2f01003008"),
]

BRANCH_KINDS = [
    # The value that DW_OP_bra pops must be one.
    row("(4)", "DW_OP_bra 0", "stack_underflow"),
    row("(4)", "DW_OP_reg5; DW_OP_bra 0", "wrong_kind"),
    row("(4)", "DW_OP_LLVM_undefined; DW_OP_bra 0", "wrong_kind"),
    row("(4)", "DW_OP_implicit_value 01; DW_OP_bra 0", "wrong_kind"),
    row("(4)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_bra 0", "incomplete_composite"),
    row("(4)", "DW_OP_const_type 7 0102; DW_OP_bra 0", "unsupported_type_operation"),
    # DW_OP_skip pops nothing.
    row("(3)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_skip 0; DW_OP_reg6; DW_OP_piece 4", "{32:r5 32:r6}"),
]

# Lanes that branch differently go on by themselves, each as it would alone.
LANES = [
    row(
        "(4)",
        """
        DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_lt; DW_OP_bra @low;
        DW_OP_lit9; DW_OP_skip @end;
        low: DW_OP_lit7;
        end: DW_OP_LLVM_push_lane; DW_OP_plus
        """,
        ["7", "8", "11", "12"],
        lane_count=4,
    ),
    row(
        "(4)",
        """
        DW_OP_lit0; DW_OP_LLVM_push_lane;
        again: DW_OP_dup; DW_OP_lit0; DW_OP_eq; DW_OP_bra @done;
        DW_OP_swap; DW_OP_lit3; DW_OP_plus; DW_OP_swap; DW_OP_lit1; DW_OP_minus; DW_OP_skip @again;
        done: DW_OP_drop
        """,
        ["0", "3", "6", "9", "12"],
        lane_count=5,
    ),
    row(
        "(4)", "DW_OP_LLVM_push_lane; DW_OP_bra 1; DW_OP_drop; DW_OP_lit5", ["stack_underflow", "5", "5"], lane_count=3
    ),
    row("(4)", "DW_OP_LLVM_push_lane; DW_OP_bra 100; DW_OP_lit5", ["5", "bad_branch"], lane_count=2),
    row(
        "(4)",
        "DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_eq; DW_OP_bra @r; DW_OP_lit4; DW_OP_skip @end; r: DW_OP_reg5; end:",
        ["4", "r5", "4"],
        lane_count=3,
    ),
    row(
        "(4)",
        "DW_OP_LLVM_push_lane; DW_OP_convert 4; DW_OP_bra @end; DW_OP_lit5; end:",
        ["5", "undefined", "undefined"],
        lane_count=3,
    ),
    row(
        "(5)",
        "DW_OP_LLVM_push_lane; DW_OP_bra @end; DW_OP_call4 4; DW_OP_lit2; DW_OP_plus; end:",
        ["7", "undefined"],
        lane_count=2,
        dies={"unit:4": {"location": {"ops": "DW_OP_lit5"}}},
    ),
    row(
        "(5)",
        "DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_plus; DW_OP_call4 4; DW_OP_lit1; DW_OP_plus",
        ["6", "11", "16"],
        lane_count=3,
        dies={"unit:4": {"location": {"ops": "DW_OP_lit5; DW_OP_mul"}}},
    ),
    row(
        "(5)",
        "DW_OP_LLVM_push_lane; DW_OP_call4 4; DW_OP_lit1; DW_OP_plus",
        ["10", "9", "stack_underflow"],
        lane_count=3,
        dies={
            "unit:4": {
                "location": {
                    "ops": "DW_OP_dup; DW_OP_lit2; DW_OP_eq; DW_OP_bra @gone; DW_OP_lit9; DW_OP_swap; DW_OP_minus;"
                    "DW_OP_skip @end; gone: DW_OP_drop; end:"
                }
            }
        },
    ),
    row("(2)", "DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_le", ["1", "1", "0"], lane_count=3),
]

# --- Calls ---------------------------------------------------------------------------------------------------------


def die(ops):
    """An entry whose DW_AT_location is an operation expression (class exprloc)."""
    return {"location": {"ops": ops}}


def listed(*entries):
    """An entry whose DW_AT_location is a location list of which these entries match."""
    return {"location": [{"ops": ops} for ops in entries]}


CALLS = [
    # DW_OP_call2 and DW_OP_call4: "a 2-byte or 4-byte unsigned offset DR ... relative to the ... current compilation
    # unit"
    row("(5)", "DW_OP_call2 4", "5", dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call2 0xffff", "5", dies={"unit:0xffff": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 4", "5", dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 0xffffffff", "5", dies={"unit:0xffffffff": die("DW_OP_lit5")}),
    # DW_OP_call_ref: "a 4-byte unsigned value in the 32-bit DWARF format, or an 8-byte unsigned value in the 64-bit"
    row("(5)", "DW_OP_call_ref 0xffffffff", "5", dies={"info:0xffffffff": die("DW_OP_lit5")}),
    row(
        "(5)",
        "DW_OP_call_ref 0xffffffffffffffff",
        "5",
        offset_size=8,
        dies={"info:0xffffffffffffffff": die("DW_OP_lit5")},
    ),
    row("(5)", "DW_OP_call_ref 0x102", "5", expr="9a02010000", dies={"info:0x102": die("DW_OP_lit5")}),
    row(
        "(5)",
        "DW_OP_call_ref 0x102",
        "5",
        expr="9a0000000000000102",
        offset_size=8,
        byte_order="big",
        dies={"info:0x102": die("DW_OP_lit5")},
    ),
    # ... "relative to the beginning of the .debug_info section": not to the unit
    row("(5)", "DW_OP_call_ref 4", "6", dies={"unit:4": die("DW_OP_lit5"), "info:4": die("DW_OP_lit6")}),
    row("(5)", "DW_OP_call4 4", "5", dies={"unit:4": die("DW_OP_lit5"), "info:4": die("DW_OP_lit6")}),
    # "execution continues with the operation following the call operation"
    row("(5)", "DW_OP_lit1; DW_OP_call4 4; DW_OP_lit2", ("1", "5", "2"), dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 4; DW_OP_call4 4", ("5", "5"), dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 4; DW_OP_lit2", ("2",), dies={"unit:4": die("DW_OP_nop")}),
    row("(5)", "DW_OP_call4 4; DW_OP_lit2", ("2",), dies={"unit:4": {"location": ""}}),
    # "E can use, and/or remove entries already on the stack, and can add new entries to the stack"
    row("(5)", "DW_OP_lit3; DW_OP_lit4; DW_OP_call4 4", ("7",), dies={"unit:4": die("DW_OP_plus")}),
    row("(5)", "DW_OP_lit3; DW_OP_call4 4", ("3", "3"), dies={"unit:4": die("DW_OP_dup")}),
    row("(5)", "DW_OP_lit3; DW_OP_lit4; DW_OP_call4 4", ("3",), dies={"unit:4": die("DW_OP_drop")}),
    row(
        "(5)",
        "DW_OP_lit3; DW_OP_call4 4",
        ("6", "r5", "1"),
        dies={"unit:4": die("DW_OP_lit2; DW_OP_mul; DW_OP_reg5; DW_OP_lit1")},
    ),
    row("(5)", "DW_OP_call4 4", "3", initial_stack=[1, 2], dies={"unit:4": die("DW_OP_plus")}),
    # ... but only those: an entry it does not find is not there
    row("(5)", "DW_OP_lit3; DW_OP_call4 4", "stack_underflow", dies={"unit:4": die("DW_OP_plus")}),
    # A whole procedure: the absolute difference of two values.
    row(
        "(5)",
        "DW_OP_lit3; DW_OP_lit9; DW_OP_call4 4; DW_OP_lit9; DW_OP_lit3; DW_OP_call4 4",
        ("6", "6"),
        dies={"unit:4": die("DW_OP_over; DW_OP_over; DW_OP_gt; DW_OP_bra @end; DW_OP_swap; end: DW_OP_minus")},
    ),
    # "Operations of E are evaluated with the same current context": registers, lane, object.
    row("(5)", "DW_OP_call4 4", "r5", dies={"unit:4": die("DW_OP_reg5")}),
    row("(5)", "DW_OP_call4 4", "mem 0x40", object=0x40, dies={"unit:4": die("DW_OP_push_object_address")}),
    row(
        "(5)",
        "DW_OP_call4 4; DW_OP_lit1; DW_OP_plus",
        ["1", "2", "3"],
        lane_count=3,
        dies={"unit:4": die("DW_OP_LLVM_push_lane")},
    ),
    # The result kind is that of the whole evaluation, which has not ended.
    row("(5)", "DW_OP_call4 4; DW_OP_drop; DW_OP_lit1", "1", want="value", dies={"unit:4": die("DW_OP_reg5")}),
    row("(5)", "DW_OP_call4 4", "mem 0x5", want="location", dies={"unit:4": die("DW_OP_lit5")}),
    # "Such executions are not a separate evaluation": a composite stays incomplete (A.2.5.4.4.6).
    row(
        "(5)",
        "DW_OP_call4 4; DW_OP_reg6; DW_OP_piece 4",
        "{32:r5 32:r6}",
        dies={"unit:4": die("DW_OP_reg5; DW_OP_piece 4")},
    ),
    row(
        "(5)", "DW_OP_call4 4; DW_OP_piece 2", "{32:r5 16:undefined}", dies={"unit:4": die("DW_OP_reg5; DW_OP_piece 4")}
    ),
    row("(5)", "DW_OP_call4 4; DW_OP_dup", "incomplete_composite", dies={"unit:4": die("DW_OP_reg5; DW_OP_piece 4")}),
    row(
        "(5)",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_call4 4; DW_OP_piece 4",
        "{32:r5 32:r6}",
        dies={"unit:4": die("DW_OP_reg6")},
    ),
    # A branch in E that goes to its end returns; so does reaching it in a nested call.
    row(
        "(5)",
        "DW_OP_call4 4; DW_OP_lit9",
        ("5", "9"),
        dies={"unit:4": die("DW_OP_lit5; DW_OP_skip @end; DW_OP_drop; end:")},
    ),
    row(
        "(5)",
        "DW_OP_call4 4; DW_OP_lit9",
        ("1", "2", "3", "9"),
        dies={"unit:4": die("DW_OP_lit1; DW_OP_call2 8; DW_OP_lit3"), "unit:8": die("DW_OP_lit2")},
    ),
    # E may call an entry of the section, and loop around calls.
    row(
        "(5)",
        """
        DW_OP_lit1; DW_OP_lit5;
        again: DW_OP_swap; DW_OP_call4 4; DW_OP_swap; DW_OP_lit1; DW_OP_minus; DW_OP_dup; DW_OP_bra @again;
        DW_OP_drop
        """,
        ("243",),
        dies={"unit:4": die("DW_OP_call_ref 0x100"), "info:0x100": die("DW_OP_lit3; DW_OP_mul")},
    ),
    # An entry that is not there.
    row("(5)", "DW_OP_call2 5", "bad_operand", dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 5", "bad_operand", dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call_ref 4", "bad_operand", dies={"unit:4": die("DW_OP_lit5")}),
    row("(5)", "DW_OP_call4 0", "bad_operand", dies={}),
    # What is wrong in E is wrong where it is reached.
    row("(5)", "DW_OP_call4 4", "unknown_operation", dies={"unit:4": {"location": "01"}}),
    row("(5)", "DW_OP_call4 4", "truncated", dies={"unit:4": {"location": "3008"}}),
    row("(5)", "DW_OP_lit5; DW_OP_skip @end; DW_OP_call4 4; end:", "5", dies={"unit:4": {"location": "01"}}),
]

LISTS = [
    # "the specified location list expression E is evaluated ... The location description result is pushed on the
    # stack."
    row("(5)", "DW_OP_call4 4", ("r5",), dies={"unit:4": listed("DW_OP_reg5")}),
    row("(5)", "DW_OP_call2 4", ("r5",), dies={"unit:4": listed("DW_OP_reg5")}),
    row("(5)", "DW_OP_call_ref 4", ("r5",), dies={"info:4": listed("DW_OP_reg5")}),
    row("(5)", "DW_OP_lit1; DW_OP_call4 4; DW_OP_lit2", ("1", "r5", "2"), dies={"unit:4": listed("DW_OP_reg5")}),
    # ... with all its places: "That location description may have more than one single location description."
    row("(5)", "DW_OP_call4 4", ("r5 | r6",), dies={"unit:4": listed("DW_OP_reg5", "DW_OP_reg6")}),
    row(
        "(5)",
        "DW_OP_call4 4",
        ("r5 | mem 0x10 | r6",),
        dies={"unit:4": listed("DW_OP_reg5", "DW_OP_addr 16", "DW_OP_reg6")},
    ),
    row(
        "(5)",
        "DW_OP_call4 4; DW_OP_lit4; DW_OP_LLVM_offset",
        "r5+32 | mem 0x14",
        dies={"unit:4": listed("DW_OP_reg5", "DW_OP_addr 16")},
    ),
    row("(5)", "DW_OP_call4 4", ("undefined",), dies={"unit:4": listed()}),
    # "the result kind is a location description": what E leaves is converted to one, or ill-formed
    row("(5)", "DW_OP_call4 4", ("mem 0x10",), dies={"unit:4": listed("DW_OP_lit16")}),
    row("(5)", "DW_OP_call4 4", ("undefined",), dies={"unit:4": listed("")}),
    row("(5)", "DW_OP_call4 4", ("{32:r5}",), dies={"unit:4": listed("DW_OP_reg5; DW_OP_piece 4")}),
    row(
        "(5)", "DW_OP_call4 4; DW_OP_dup", ("{32:r5}", "{32:r5}"), dies={"unit:4": listed("DW_OP_reg5; DW_OP_piece 4")}
    ),
    row("(5)", "DW_OP_call4 4", "bad_result_kind", dies={"unit:4": listed("DW_OP_const_type 1 01")}),
    row("(5)", "DW_OP_call4 4; DW_OP_drop; DW_OP_lit1", "1", want="value", dies={"unit:4": listed("DW_OP_reg5")}),
    # "the initial stack is empty": E neither sees nor leaves anything else.
    row("(5)", "DW_OP_lit3; DW_OP_lit4; DW_OP_call4 4", "stack_underflow", dies={"unit:4": listed("DW_OP_plus")}),
    row("(5)", "DW_OP_lit3; DW_OP_call4 4", "stack_underflow", dies={"unit:4": listed("DW_OP_dup")}),
    row("(5)", "DW_OP_call4 4", ("r7",), dies={"unit:4": listed("DW_OP_reg5; DW_OP_reg6; DW_OP_reg7")}),
    row("(5)", "DW_OP_call4 4", "stack_underflow", initial_stack=[1], dies={"unit:4": listed("DW_OP_drop")}),
    # "The evaluation of E uses the current context": but "the object is unspecified" (A.2.5.5).
    row("(5)", "DW_OP_call4 4", "r5", registers={"5": 1}, dies={"unit:4": listed("DW_OP_reg5")}),
    row("(5)", "DW_OP_call4 4", "object", object=0x40, dies={"unit:4": listed("DW_OP_push_object_address")}),
    row(
        "(5)",
        "DW_OP_call4 4",
        ["mem 0x10", "mem 0x11", "mem 0x12"],
        lane_count=3,
        dies={"unit:4": listed("DW_OP_LLVM_push_lane; DW_OP_plus_uconst 16")},
    ),
    row(
        "(5)",
        "DW_OP_call4 4",
        ["r5", "r6", "r6"],
        lane_count=3,
        dies={
            "unit:4": listed(
                "DW_OP_LLVM_push_lane; DW_OP_bra @other; DW_OP_reg5; DW_OP_skip @end; other: DW_OP_reg6; end:"
            )
        },
    ),
    row(
        "(5)",
        "DW_OP_call4 4",
        ["division_by_zero", "mem 0x8", "mem 0x4"],
        lane_count=3,
        dies={"unit:4": listed("DW_OP_lit8; DW_OP_LLVM_push_lane; DW_OP_div")},
    ),
    # Lists that call lists.
    row(
        "(5)",
        "DW_OP_call4 4",
        ("r5 | r6 | r7",),
        dies={"unit:4": listed("DW_OP_call4 8", "DW_OP_reg7"), "unit:8": listed("DW_OP_reg5", "DW_OP_reg6")},
    ),
]

CONSTANTS = [
    # "If D has a DW_AT_const_value attribute with a value V, then it is as if a DW_OP_implicit_value V ... was
    # executed."
    row("(5)", "DW_OP_call4 4", ("implicit 0102",), dies={"unit:4": {"const_value": "0102"}}),
    row("(5)", "DW_OP_call_ref 4", ("implicit 0102",), dies={"info:4": {"const_value": "0102"}}),
    row("(5)", "DW_OP_call4 4; DW_OP_deref_size 2", "513", dies={"unit:4": {"const_value": "0102"}}),
    row("(5)", "DW_OP_call4 4; DW_OP_deref_size 2", "258", byte_order="big", dies={"unit:4": {"const_value": "0102"}}),
    row("(5)", "DW_OP_lit1; DW_OP_call4 4", ("1", "implicit "), dies={"unit:4": {"const_value": ""}}),
    # ... if it has no DW_AT_location
    row("(5)", "DW_OP_call4 4", ("r5",), dies={"unit:4": {"const_value": "0102", **die("DW_OP_reg5")}}),
    row("(5)", "DW_OP_call4 4", ("r5",), dies={"unit:4": {"const_value": "0102", **listed("DW_OP_reg5")}}),
    row("(5)", "DW_OP_call4 4", ("implicit 0102",), dies={"unit:4": {"const_value": "0102", "location": None}}),
    # "Otherwise, there is no effect and no changes are made to the stack."
    row("(5)", "DW_OP_call4 4", (), dies={"unit:4": {}}),
    row("(5)", "DW_OP_lit1; DW_OP_call4 4; DW_OP_lit2", ("1", "2"), dies={"unit:4": {}}),
    row("(5)", "DW_OP_lit1; DW_OP_call4 4", ("1",), dies={"unit:4": {"location": None}}),
    row("(5)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_call4 4; DW_OP_piece 4", "{32:r5 32:undefined}", dies={"unit:4": {}}),
]

# Nothing but the operand of a call is needed to call: neither a value nor a location.
CALL_OPERANDS = [
    row("(5)", "DW_OP_call2 4", "unit"),
    row("(5)", "DW_OP_call4 4", "unit"),
    row("(5)", "DW_OP_call_ref 4", "unit"),
    row("(5)", "", "truncated", expr="9800"),
    row("(5)", "", "truncated", expr="99000000"),
    row("(5)", "", "truncated", expr="9a00000000000000", offset_size=8),
]

test_nop = table(NOP)
test_comparisons = table(COMPARISONS)
test_operands_of_comparisons = table(TYPES_DIFFER)
test_branches = table(BRANCHES)
test_branches_that_go_nowhere = table(BAD_BRANCHES)
test_what_branches_pop = table(BRANCH_KINDS)
test_lanes_branch_by_themselves = table(LANES)
test_calls = table(CALLS)
test_calls_of_location_lists = table(LISTS)
test_calls_of_constants_and_of_nothing = table(CONSTANTS)
test_operands_of_calls = table(CALL_OPERANDS)


@pytest.mark.parametrize("operation", ["DW_OP_skip", "DW_OP_bra"])
def test_every_displacement_of_a_small_program(operation):
    program = f"DW_OP_lit1; {operation} {{}}; DW_OP_const2u 0x3030; DW_OP_lit2"
    starts = {0, 1, 4, 7, 8}
    for displacement in range(-12, 13):
        one = answer(program.format(displacement), rules="amd", limits={"steps": 100, "stack": 50})
        kind = one.get("error", {}).get("kind")
        if 4 + displacement not in starts:
            assert kind == "bad_branch", displacement
        elif displacement >= 0:
            assert one["status"] == "ok", displacement
        else:  # back to the first operations again and again
            assert kind in ("limit_exceeded", "stack_underflow"), displacement


# --- The compilation unit of a called expression -------------------------------------------------------------------

TARGET = resolve("generic")
LLVM_USER = dialects.get("llvm-user")


class Unit:
    """A unit whose entry at 1 is a base type of its own."""

    reference_size = 4

    def __init__(self, bits, units):
        self.bits = bits
        self.units = units

    def base_type(self, offset):
        return BaseType("unsigned", self.bits)

    def die(self, reference):
        location = self.units.locations[reference.base, reference.offset]
        unit = self if reference.base == "unit" else self.units.other
        return DieInfo(unit, location)


class Units:
    """Two units: the current one, and another one, which holds all entries that are found by .debug_info offset."""

    def __init__(self, **found):
        self.current = Unit(8, self)
        self.other = Unit(16, self)
        self.locations = {(key.partition("_")[0], int(key.partition("_")[2])): code(ops) for key, ops in found.items()}


def code(ops):
    if isinstance(ops, tuple):
        return tuple(asm.parse(one, LLVM_USER, Format()) for one in ops)
    return asm.parse(ops, LLVM_USER, Format())


def result(ops, **found):
    return evaluate(code(ops), Context(TARGET, AMD, unit=Units(**found).current)).of(0)


def test_a_called_expression_is_evaluated_in_the_unit_that_contains_it():
    # "... except current compilation unit is the one that contains D"
    assert result("DW_OP_call_ref 4", info_4="DW_OP_const_type 1 0100").type.bit_size == 16
    assert result("DW_OP_call4 4", unit_4="DW_OP_const_type 1 01").type.bit_size == 8
    # ... and after the call it is the one of the call again
    assert result("DW_OP_call_ref 4; DW_OP_const_type 1 01", info_4="DW_OP_const_type 1 0100").type.bit_size == 8
    assert isinstance(result("DW_OP_call_ref 4; DW_OP_const_type 1 0100", info_4="DW_OP_nop"), IllFormed)


def test_references_in_a_called_expression_are_relative_to_its_unit():
    found = result("DW_OP_call_ref 4", info_4="DW_OP_call4 8", unit_8="DW_OP_const_type 1 0100")

    assert found.type.bit_size == 16


def test_a_called_location_list_is_evaluated_in_the_unit_that_contains_it():
    entries = ("DW_OP_const_type 1 0100; DW_OP_stack_value",)

    assert result("DW_OP_call_ref 4", info_4=entries).places[0].storage.bit_size == 16
    assert isinstance(result("DW_OP_call4 4", unit_4=entries), IllFormed)


def test_an_error_in_a_called_expression_says_what_called_it():
    error = result("DW_OP_nop; DW_OP_call4 4", unit_4="DW_OP_lit1; DW_OP_call4 8", unit_8="DW_OP_plus")

    assert error.kind == "stack_underflow"
    assert error.where.operation == "DW_OP_plus"
    assert error.where.trail == ("DW_OP_call4", "DW_OP_call4")
