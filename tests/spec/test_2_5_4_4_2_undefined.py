"""A.2.5.4.4.2 Undefined location description operations."""

from __future__ import annotations

from typing import Any

from tests.builders.cases import Case, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
MAYBE = {"kind": "multiple", "places": [{"kind": "undefined"}, {"kind": "register", "register": 5}]}


def row(ops: str, expected: Any, number: int | None = 1, **case: Any) -> Case:
    clause = "A.2.5.4.4.2" if number is None else f"A.2.5.4.4.2 ({number})"
    return Case(clause, ops, expected, **{"rules": "amd", **case})


def rule(ops: str, expected: Any, **case: Any) -> Case:
    """A row about the text before the operations."""
    return row(ops, expected, None, **case)


UNDEFINED = [
    row("DW_OP_LLVM_undefined", "undefined"),
    row("DW_OP_LLVM_undefined", "undefined", want="location"),
    row("DW_OP_LLVM_undefined", "undefined", address_size=4, byte_order="big"),
    row("DW_OP_LLVM_undefined", ["undefined"] * 64, target=WAVE64),
    row("DW_OP_undefined", "undefined"),
    row("DW_OP_lit1; DW_OP_LLVM_undefined; DW_OP_dup", ("1", "undefined", "undefined")),
    # An empty expression is the same (A.2.5.4), as it is in DWARF 5.
    row("", "undefined"),
    row("", "undefined", want="location"),
    row("DW_OP_lit1; DW_OP_drop", "undefined"),
    # A location without any bits is not the undefined one.
    row("DW_OP_implicit_value 0x", "implicit "),
    # It is not a value and cannot be converted to one (A.2.5.4).
    row("DW_OP_LLVM_undefined", "bad_result_kind", want="value"),
    row("DW_OP_LLVM_undefined; DW_OP_stack_value", "wrong_kind"),
    row("DW_OP_LLVM_undefined; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row("DW_OP_LLVM_undefined; DW_OP_bra @end; end: DW_OP_nop", "wrong_kind"),
    row("DW_OP_LLVM_undefined; DW_OP_lit0; DW_OP_LLVM_form_aspace_address", "wrong_kind"),
]

OFFSETS = [
    # There is no bit offset in it: the offset operations leave it unchanged.
    rule("DW_OP_LLVM_undefined; DW_OP_lit4; DW_OP_LLVM_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_const1s -1; DW_OP_LLVM_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_const8u 0x7fffffffffffffff; DW_OP_LLVM_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_const8u 0x8000000000000000; DW_OP_LLVM_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_const1s -1; DW_OP_LLVM_bit_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_lit3; DW_OP_LLVM_bit_offset", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_LLVM_offset_uconst 0xffffffffffffffff", "undefined"),
    rule("DW_OP_LLVM_undefined; DW_OP_LLVM_push_lane; DW_OP_LLVM_offset", ["undefined"] * 32, target=WAVE32),
    # ... but B must be an integral value all the same.
    rule("DW_OP_LLVM_undefined; DW_OP_reg5; DW_OP_LLVM_offset", "wrong_kind"),
    # Among several places only the others move.
    rule("DW_OP_lit4; DW_OP_LLVM_offset", "undefined | r5+32", initial_stack=[MAYBE]),
    rule("DW_OP_lit8; DW_OP_LLVM_offset", "offset_out_of_storage", initial_stack=[MAYBE]),
    # A composite that has undefined bits has a size.
    rule("DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_lit3; DW_OP_LLVM_offset", "{32:undefined}+24"),
    rule("DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_lit4; DW_OP_LLVM_offset", "offset_out_of_storage"),
]

PARTS = [
    # The piece operations specify it implicitly or explicitly, with any size and offset; all bits of the part are
    # undefined.
    rule("DW_OP_piece 4", "{32:undefined}"),
    rule("DW_OP_bit_piece 5 0", "{5:undefined}"),
    rule("DW_OP_bit_piece 5 1000", "{5:undefined}"),
    rule("DW_OP_LLVM_undefined; DW_OP_piece 4", "{32:undefined}"),
    rule("DW_OP_LLVM_undefined; DW_OP_bit_piece 5 0xffffffffffff", "{5:undefined}"),
    rule("DW_OP_LLVM_undefined; DW_OP_piece 0x1000000000000000", f"{{{1 << 63}:undefined}}"),
    rule("DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 2; DW_OP_reg6; DW_OP_piece 2", "{32:r5 16:undefined 16:r6}"),
    rule("DW_OP_piece 4", "00000000 undefined ffffffff", read={"bytes": 4}),
    rule("DW_OP_LLVM_undefined; DW_OP_bit_piece 8 3", "00 undefined ff", read={"bytes": 1}),
    rule("DW_OP_LLVM_undefined; DW_OP_LLVM_extend 8 4", "00000000 undefined ffffffff", read={"bytes": 4}),
    rule(
        "DW_OP_reg5; DW_OP_piece 1; DW_OP_bit_piece 4 0; DW_OP_reg5; DW_OP_bit_piece 4 0",
        "8770 undefined 000f",
        read={"bytes": 2},
        registers={"5": 0x87},
    ),
    rule(
        "DW_OP_reg5; DW_OP_piece 1; DW_OP_bit_piece 4 0; DW_OP_reg5; DW_OP_bit_piece 4 0",
        "8708 undefined 00f0",
        read={"bytes": 2},
        registers={"5": 0x87 << 56},
        byte_order="big",
    ),
    rule("DW_OP_LLVM_undefined; DW_OP_reg5; DW_OP_lit2; DW_OP_LLVM_select_bit_piece 8 2", "{8:undefined 8:r5+8}"),
]

ACCESS = [
    # Neither reading nor writing it is meaningful (A.2.5.4.3.4 (4): an evaluation error if any bit is undefined).
    rule("DW_OP_LLVM_undefined; DW_OP_deref", "undefined_read"),
    rule("DW_OP_LLVM_undefined; DW_OP_deref_size 1", "undefined_read"),
    rule("DW_OP_LLVM_undefined", "00 undefined ff", read={"bytes": 1}),
    rule("DW_OP_LLVM_undefined", "undefined", read={"type": {"encoding": "signed", "byte_size": 4}}),
    rule("DW_OP_LLVM_undefined", "not_writable", write="00"),
    rule("DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 4", "not_writable", write="01" * 8, registers={"5": 0}),
    rule("DW_OP_lit4; DW_OP_stack_value; DW_OP_piece 4", "not_writable", write="01"),
    # One undefined bit is enough.
    rule(
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref",
        "undefined_read",
        registers={"5": 1},
    ),
    rule(
        "DW_OP_reg5; DW_OP_bit_piece 63 0; DW_OP_bit_piece 1 0; DW_OP_LLVM_piece_end; DW_OP_deref",
        "undefined_read",
        registers={"5": 1},
    ),
    rule(
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref_size 4",
        "305419896",
        registers={"5": 0x12345678},
    ),
    rule(
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref_size 4",
        "305419896",
        registers={"5": 0x12345678 << 32},
        byte_order="big",
    ),
    # In lanes of which only some come from the undefined storage, only these have the error.
    rule(
        "DW_OP_regx v4; DW_OP_LLVM_undefined; DW_OP_lit6; DW_OP_LLVM_select_bit_piece 32 32;"
        "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4",
        ["undefined_read" if lane in (1, 2) else str(100 + lane) for lane in range(32)],
        target=WAVE32,
        registers={"v4": [100 + lane for lane in range(32)]},
    ),
]

test_undefined = table(UNDEFINED)
test_offset_operations = table(OFFSETS)
test_pieces = table(PARTS)
test_access = table(ACCESS)
