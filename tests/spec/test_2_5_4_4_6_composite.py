"""A.2.5.4.4.6 Composite location description operations."""

from __future__ import annotations

from typing import Any

from tests.builders.cases import Case, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
FORM = "DW_OP_LLVM_form_aspace_address"

TYPES: dict[str, Any] = {
    "1": {"encoding": "signed", "byte_size": 1},
    "2": {"encoding": "unsigned", "byte_size": 4},
    "3": {"encoding": "float", "byte_size": 4},
    "4": {"encoding": "unsigned", "byte_size": 8},
    "5": {"encoding": "unsigned", "byte_size": 16},
    "6": {"encoding": "unsigned", "byte_size": 1, "bit_size": 3},
    "7": {"encoding": "signed", "byte_size": 4},
}
BOTH = {"kind": "multiple", "places": [{"kind": "register", "register": 5}, {"kind": "memory", "address": 16}]}
END = "DW_OP_LLVM_piece_end"
MINE = "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset"
"""The element of the lane."""
MAX = 8 << 64
"""The size of the largest address space, in bits."""


def row(number: int | None, ops: str, expected: Any, **case: Any) -> Case:
    clause = "A.2.5.4.4.6" if number is None else f"A.2.5.4.4.6 ({number})"
    return Case(clause, ops, expected, **{"rules": "amd", "base_types": TYPES, **case})


def memory(address: int, data: str, space: Any = 0) -> dict[str, Any]:
    return {"space": space, "address": address, "bytes": data}


# --- Composite storages -------------------------------------------------------------------------------------------

STORAGE = [
    # The parts are contiguous, in the order in which their operations are executed; the size is the sum of theirs.
    row(None, "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2; DW_OP_reg7; DW_OP_piece 1", "{32:r5 16:r6 8:r7}"),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2; {END}; DW_OP_lit5; DW_OP_LLVM_offset",
        "{32:r5 16:r6}+40",
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2; {END}; DW_OP_lit6; DW_OP_LLVM_offset",
        "offset_out_of_storage",
    ),
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 3; DW_OP_reg6; DW_OP_piece 1",
        "88776600",
        read={"bytes": 4},
        registers={"5": 0x1122334455667788, "6": 0x99AABBCCDDEEFF00},
    ),
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 3; DW_OP_reg6; DW_OP_piece 1",
        "11223399",
        read={"bytes": 4},
        registers={"5": 0x1122334455667788, "6": 0x99AABBCCDDEEFF00},
        byte_order="big",
    ),
    # Any kind of location description can be a part, and many kinds in one composite.
    row(
        None,
        f"DW_OP_regx s5; DW_OP_piece 4; DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_piece 4; DW_OP_lit16;"
        f"DW_OP_lit5; {FORM};"
        "DW_OP_piece 4; DW_OP_addr 0x10; DW_OP_piece 4; DW_OP_lit7; DW_OP_stack_value; DW_OP_piece 4;"
        "DW_OP_LLVM_undefined; DW_OP_piece 4; DW_OP_regx v1; DW_OP_lit8; DW_OP_LLVM_offset; DW_OP_piece 4",
        "{32:s5 32:local#0x10 32:private_lane#0x10@3 32:mem 0x10 32:implicit 0700000000000000 32:undefined 32:v1+64}",
        target=WAVE64,
        lane=3,
    ),
    # All bits of a part must be within the storage.
    row(None, "DW_OP_reg5; DW_OP_piece 8", "{64:r5}"),
    row(None, "DW_OP_reg5; DW_OP_piece 9", "bad_piece"),
    row(None, "DW_OP_reg5; DW_OP_piece 5", "bad_piece", address_size=4),
    row(None, "DW_OP_reg5; DW_OP_lit1; DW_OP_LLVM_offset; DW_OP_piece 8", "bad_piece"),
    row(None, "DW_OP_reg5; DW_OP_lit1; DW_OP_LLVM_bit_offset; DW_OP_bit_piece 64 0", "bad_piece"),
    row(None, "DW_OP_implicit_value 010203; DW_OP_piece 4", "bad_piece"),
    row(None, f"DW_OP_const1s -4; DW_OP_lit3; {FORM}; DW_OP_piece 4", "{32:local#0xfffffffc}", target=WAVE64),
    row(None, f"DW_OP_const1s -4; DW_OP_lit3; {FORM}; DW_OP_piece 5", "bad_piece", target=WAVE64),
    row(None, "DW_OP_const1s -4; DW_OP_piece 5", "bad_piece"),
    row(None, f"DW_OP_piece 4; {END}; DW_OP_piece 5", "bad_piece"),
    # ... of each of its places.
    row(None, "DW_OP_piece 8", "{64:r5 | mem 0x10}", initial_stack=[BOTH]),
    row(None, "DW_OP_piece 9", "bad_piece", initial_stack=[BOTH]),
    # The composite must not be larger than the largest address space.
    row(None, f"DW_OP_bit_piece {(1 << 64) - 1} 0; DW_OP_bit_piece 1 0", f"{{{(1 << 64) - 1}:undefined 1:undefined}}"),
    row(None, f"DW_OP_piece {(1 << 64) - 1}; DW_OP_piece 1", f"{{{MAX - 8}:undefined 8:undefined}}"),
    row(None, f"DW_OP_piece {(1 << 64) - 1}; DW_OP_piece 2", "bad_piece"),
    row(None, f"DW_OP_piece {(1 << 64) - 1}; DW_OP_piece 1; DW_OP_bit_piece 1 0", "bad_piece"),
    row(None, "DW_OP_piece 0x100000000", f"{{{8 << 32}:undefined}}", address_size=4),
    row(None, "DW_OP_piece 0x100000001", "bad_piece", address_size=4),
    row(None, "DW_OP_piece 0x100000000; DW_OP_bit_piece 1 0", "bad_piece", address_size=4),
    row(None, "DW_OP_piece 0x100000000", f"{{{8 << 32}:undefined}}", target=WAVE64),
    row(None, f"DW_OP_LLVM_undefined; DW_OP_LLVM_extend {1 << 63} 17", "bad_piece"),
    row(None, f"DW_OP_LLVM_undefined; DW_OP_LLVM_extend {1 << 35} 1", f"{{{1 << 35}:undefined}}", address_size=4),
    row(None, f"DW_OP_LLVM_undefined; DW_OP_LLVM_extend {1 << 34} 3", "bad_piece", address_size=4),
    row(
        None,
        f"DW_OP_LLVM_undefined; DW_OP_LLVM_undefined; DW_OP_lit5; DW_OP_LLVM_select_bit_piece {1 << 34} 3",
        "bad_piece",
        address_size=4,
    ),
    # A zero-sized part is one of them.
    row(None, "DW_OP_reg5; DW_OP_piece 0", "{0:r5}"),
    row(None, "DW_OP_piece 0", "{0:undefined}"),
    row(None, "DW_OP_reg5; DW_OP_piece 0; DW_OP_reg6; DW_OP_piece 4", "{0:r5 32:r6}"),
    row(None, "DW_OP_reg5; DW_OP_bit_piece 0 3; DW_OP_reg6; DW_OP_piece 4", "{0:r5+3 32:r6}"),
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 0; DW_OP_reg6; DW_OP_piece 4",
        "00000007",
        read={"bytes": 4},
        registers={"6": 7 << 24},
    ),
    row(None, f"DW_OP_piece 0; {END}; DW_OP_lit0; DW_OP_LLVM_offset", "offset_out_of_storage"),
    # ... of which nothing is read or written: it may be of a register that cannot be read, or of constant storage.
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 2; DW_OP_reg7; DW_OP_piece 0; DW_OP_reg5; DW_OP_piece 2",
        "34123412",
        read={"bytes": 4},
        registers={"5": 0x1234},
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 2; DW_OP_reg7; DW_OP_piece 0; DW_OP_reg5; DW_OP_piece 2; {END}; DW_OP_deref_size 4",
        str(0x12341234),
        registers={"5": 0x1234},
    ),
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 2; DW_OP_bit_piece 0 3; DW_OP_reg6; DW_OP_piece 2; DW_OP_lit1; DW_OP_stack_value;"
        "DW_OP_piece 0; DW_OP_reg7; DW_OP_piece 1",
        "0102030405",
        write="0102030405",
        read={"bytes": 5},
        registers={"5": 0, "6": 0, "7": 0},
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 2; DW_OP_implicit_pointer 0x10 0; DW_OP_piece 0; DW_OP_reg5; DW_OP_piece 2; {END};"
        "DW_OP_deref_size 4",
        str(0x12341234),
        registers={"5": 0x1234},
        dies={"info:0x10": {}},
    ),
    row(None, f"DW_OP_reg5; DW_OP_piece 0; {END}", "", read={"bytes": 0}),
    # Lanes may read from different bits, of the same part or of others.
    *[
        row(
            None,
            f"DW_OP_regx s5; DW_OP_piece 1; {empty}DW_OP_regx s6; DW_OP_piece 1; {END};"
            "DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_deref_type 1 6",
            [
                *(f"{0x53AC >> lane & 7}:unsigned3" for lane in range(14)),
                *["read_past_storage"] * 2,
                *["offset_out_of_storage"] * 16,
            ],
            registers={"s5": 0xAC, "s6": 0x53},
            target=WAVE32,
        )
        for empty in ("", "DW_OP_bit_piece 0 3; ")
    ],
    row(
        None,
        "DW_OP_regx s5; DW_OP_bit_piece 13 0; DW_OP_regx s6; DW_OP_piece 4; DW_OP_regx s5;"
        f"DW_OP_bit_piece 19 13; {END};"
        "DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_deref_size 4",
        [
            str((0x12345678 & 0x1FFF | 0x9ABCDEF0 << 13 | 0x12345678 >> 13 << 45) >> lane & 0xFFFFFFFF)
            for lane in range(32)
        ],
        registers={"s5": 0x12345678, "s6": 0x9ABCDEF0},
        target=WAVE32,
    ),
    # Composites nest.
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4; {END}; DW_OP_lit2; DW_OP_LLVM_offset; DW_OP_piece 4;"
        "DW_OP_reg7; DW_OP_piece 4",
        "{32:{32:r5 32:r6}+16 32:r7}",
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4; {END}; DW_OP_lit2; DW_OP_LLVM_offset; DW_OP_piece 4;"
        "DW_OP_reg7; DW_OP_piece 4",
        "665588778877",
        read={"bytes": 6},
        registers={"5": 0x55667788, "6": 0x55667788, "7": 0x55667788},
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4; {END}; DW_OP_lit2; DW_OP_LLVM_offset; DW_OP_piece 4;"
        "DW_OP_reg7; DW_OP_piece 4",
        "778855665566",
        read={"bytes": 6},
        registers={str(number): 0x5566778800000000 for number in (5, 6, 7)},
        byte_order="big",
    ),
]

# --- Incomplete composites ----------------------------------------------------------------------------------------

INCOMPLETE = [
    # When the operation expression has completed, the composite on top is converted to a complete one.
    row(None, "DW_OP_reg5; DW_OP_piece 4", "{32:r5}"),
    row(None, "DW_OP_reg5; DW_OP_piece 4", "{32:r5}", want="location"),
    row(None, "DW_OP_reg5; DW_OP_piece 4", "bad_result_kind", want="value"),
    row(None, "DW_OP_reg5; DW_OP_piece 4", "07000000", read={"bytes": 4}, registers={"5": 7}),
    # One that is not on top is discarded, as every entry is.
    row(None, "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6", "r6"),
    row(None, "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit6", "6"),
    # A stack entry that must be a location description, or anything at all, must not be an incomplete composite.
    *[
        row(None, f"DW_OP_reg5; DW_OP_reg5; DW_OP_piece 4; {ops}", "incomplete_composite", registers={"5": 1})
        for ops in (
            "DW_OP_deref",
            "DW_OP_deref_size 4",
            "DW_OP_deref_type 4 2",
            "DW_OP_lit1; DW_OP_LLVM_offset",
            "DW_OP_LLVM_offset_uconst 1",
            "DW_OP_lit1; DW_OP_LLVM_bit_offset",
            "DW_OP_LLVM_extend 8 2",
            "DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2",
            "DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2",
            "DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_overlay",
            "DW_OP_reg6; DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_overlay",
            "DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_bit_overlay",
            "DW_OP_stack_value",
            "DW_OP_lit1; DW_OP_plus",
            "DW_OP_neg",
            f"DW_OP_lit0; {FORM}",
            # A.2.5.4.1: nor may a stack operation access it.
            "DW_OP_dup",
            "DW_OP_drop",
            "DW_OP_swap",
            "DW_OP_lit1; DW_OP_swap",
            "DW_OP_over; DW_OP_over",
            "DW_OP_lit1; DW_OP_over",
            "DW_OP_pick 0",
            "DW_OP_lit1; DW_OP_pick 1",
            "DW_OP_lit1; DW_OP_rot",
            "DW_OP_lit1; DW_OP_lit1; DW_OP_rot",
        )
    ],
    # What lies beside it can be used.
    row(None, "DW_OP_reg6; DW_OP_reg5; DW_OP_piece 4; DW_OP_lit1; DW_OP_pick 2", ("r6", "{32:r5}", "1", "r6")),
    row(None, "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit1; DW_OP_lit2; DW_OP_plus; DW_OP_drop", "{32:r5}"),
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit0; DW_OP_bra @end; DW_OP_reg6; DW_OP_piece 4; end: DW_OP_nop",
        "{32:r5 32:r6}",
    ),
    # ... also to make the next part.
    row(
        None,
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit16; DW_OP_lit4; DW_OP_plus; DW_OP_LLVM_offset_uconst 4; DW_OP_piece 4",
        "{32:r5 32:mem 0x18}",
    ),
    row(
        None,
        f"DW_OP_reg5; DW_OP_piece 1; DW_OP_reg6; DW_OP_piece 1; {END}; DW_OP_reg7; DW_OP_piece 1",
        ("{8:r5 8:r6}", "{8:r7}"),
    ),
    # A call continues the evaluation of the same expression, so what it leaves stays incomplete ...
    row(
        None,
        "DW_OP_call4 0x10; DW_OP_reg6; DW_OP_piece 4",
        "{32:r5 32:r6}",
        dies={"unit:0x10": {"location": {"ops": "DW_OP_reg5; DW_OP_piece 4"}}},
    ),
    row(
        None,
        "DW_OP_call4 0x10; DW_OP_LLVM_offset_uconst 1",
        "incomplete_composite",
        dies={"unit:0x10": {"location": {"ops": "DW_OP_reg5; DW_OP_piece 4"}}},
    ),
    row(
        None,
        "DW_OP_reg6; DW_OP_piece 2; DW_OP_call4 0x10; DW_OP_reg6; DW_OP_piece 4",
        "{16:r6 32:r5 32:r6}",
        dies={"unit:0x10": {"location": {"ops": "DW_OP_reg5; DW_OP_piece 4"}}},
    ),
    # ... while that of a location list is another evaluation.
    row(
        None,
        "DW_OP_call4 0x10; DW_OP_reg6; DW_OP_piece 4",
        ("{32:r5}", "{32:r6}"),
        dies={"unit:0x10": {"location": [{"ops": "DW_OP_reg5; DW_OP_piece 4"}]}},
    ),
    row(
        None,
        "DW_OP_call4 0x10; DW_OP_LLVM_offset_uconst 1",
        "{32:r5}+8",
        dies={"unit:0x10": {"location": [{"ops": "DW_OP_reg5; DW_OP_piece 4"}]}},
    ),
]

PIECE = [
    # The stack is empty: a new composite, with an undefined part.
    row(1, "DW_OP_piece 4", "{32:undefined}"),
    row(1, "DW_OP_lit1; DW_OP_drop; DW_OP_piece 4", "{32:undefined}"),
    # The top is an incomplete composite: an undefined part is appended.
    row(1, "DW_OP_piece 4; DW_OP_piece 2", "{32:undefined 16:undefined}"),
    row(1, "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 2; DW_OP_piece 1", "{32:r5 16:undefined 8:undefined}"),
    row(1, "DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 2", ("1", "{32:r5 16:undefined}")),
    # The top is a location description, with an incomplete composite below it: it is appended to that.
    row(1, "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2", "{32:r5 16:r6}"),
    row(1, "DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2", "{32:undefined 16:r6}"),
    row(1, "DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2", ("1", "{32:r5 16:r6}")),
    # ... with anything else below it, or nothing: a new composite.
    row(1, "DW_OP_reg5; DW_OP_piece 4", "{32:r5}"),
    row(1, "DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4", ("1", "{32:r5}")),
    row(1, "DW_OP_reg4; DW_OP_reg5; DW_OP_piece 4", ("r4", "{32:r5}")),
    row(1, f"DW_OP_reg4; DW_OP_piece 4; {END}; DW_OP_reg5; DW_OP_piece 4", ("{32:r4}", "{32:r5}")),
    row(1, f"DW_OP_reg4; DW_OP_piece 4; {END}; DW_OP_piece 2", "{16:{32:r4}}"),
    row(1, "DW_OP_reg4; DW_OP_piece 4; DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4", ("{32:r4}", "1", "{32:r5}")),
    row(
        1,
        f"DW_OP_reg4; DW_OP_piece 4; DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4; {END}; DW_OP_drop; DW_OP_drop;"
        "DW_OP_piece 1",
        "{32:r4 8:undefined}",
    ),
    # What can be converted to a location description is (A.2.5.4.4.3).
    row(1, "DW_OP_lit16; DW_OP_piece 4", "{32:mem 0x10}"),
    row(1, "DW_OP_lit16; DW_OP_piece 4; DW_OP_const1u 32; DW_OP_piece 4", "{32:mem 0x10 32:mem 0x20}"),
    row(1, "DW_OP_breg5 4; DW_OP_piece 4", "{32:mem 0x14}", registers={"5": 16}),
    row(
        1,
        "DW_OP_implicit_pointer 0x10 0; DW_OP_deref; DW_OP_piece 4",
        "{32:mem 0x30}",
        dies={"info:0x10": {"location": {"ops": "DW_OP_addr 0x30"}}},
    ),
    # Otherwise the expression is ill-formed.
    row(1, "DW_OP_const_type 4 1000000000000000; DW_OP_piece 4", "wrong_kind"),
    row(1, "DW_OP_const_type 3 0000803f; DW_OP_piece 4", "wrong_kind"),
    row(1, "DW_OP_reg5; DW_OP_piece 4; DW_OP_const_type 1 01; DW_OP_piece 4", "wrong_kind"),
    # A displacement other than 0 is computed before.
    row(1, "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_piece 4", "{32:r5+32}"),
    row(1, "DW_OP_piece 4", "{32:r5 | mem 0x10}", initial_stack=[BOTH]),
    # For all lanes, each of which has a part of its own.
    row(
        1,
        "DW_OP_regx v1; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_piece 4;"
        "DW_OP_regx v2; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_piece 4",
        [f"{lane:02x}000000{100 + lane:02x}000000" for lane in range(64)],
        read={"bytes": 8},
        registers={"v1": list(range(64)), "v2": list(range(100, 164))},
        target=WAVE64,
    ),
    row(
        1,
        "DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_and; DW_OP_bra @odd; DW_OP_regx s4; DW_OP_piece 4; DW_OP_skip @end;"
        "odd: DW_OP_piece 2; DW_OP_regx s5; DW_OP_piece 2; end: DW_OP_nop",
        ["{32:s4}", "{16:undefined 16:s5}"] * 16,
        target=WAVE32,
    ),
    row(
        1,
        "DW_OP_regx s4; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_bit_piece 24 0",
        ["{24:s4}", *(f"{{24:s4+{lane}}}" for lane in range(1, 9)), *["bad_piece"] * 23],
        target=WAVE32,
    ),
]

NIBBLES = "DW_OP_reg5; DW_OP_bit_piece 4 8; DW_OP_reg5; DW_OP_bit_piece 4 20"
DIGITS = {"5": 0x0123456789ABCDEF}

BIT_PIECE = [
    # As DW_OP_piece: a part of S bits, at B bits into the location.
    row(2, "DW_OP_bit_piece 5 0", "{5:undefined}"),
    row(2, "DW_OP_bit_piece 5 3; DW_OP_bit_piece 6 2", "{5:undefined 6:undefined}"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 5 3", "{5:r5+3}"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 5 3; DW_OP_bit_piece 2 7", "{5:r5+3 2:undefined}"),
    row(
        2,
        "DW_OP_reg5; DW_OP_bit_piece 5 3; DW_OP_reg6; DW_OP_bit_piece 6 2; DW_OP_reg7; DW_OP_piece 1",
        "{5:r5+3 6:r6+2 8:r7}",
    ),
    row(2, "DW_OP_lit1; DW_OP_reg5; DW_OP_bit_piece 5 3", ("1", "{5:r5+3}")),
    row(2, "DW_OP_lit16; DW_OP_bit_piece 5 11", "{5:mem 0x11.3}"),
    row(2, "DW_OP_reg5; DW_OP_lit2; DW_OP_LLVM_bit_offset; DW_OP_bit_piece 5 3", "{5:r5+5}"),
    row(2, "DW_OP_bit_piece 7 9", "{7:r5+9 | mem 0x11.1}", initial_stack=[BOTH]),
    row(
        2,
        "DW_OP_regx v43; DW_OP_bit_piece 32 96; DW_OP_regx v43; DW_OP_bit_piece 32 128",
        "{32:v43+96 32:v43+128}",
        target=WAVE64,
    ),
    row(2, f"DW_OP_piece 4; {END}; DW_OP_bit_piece 5 3", "{5:{32:undefined}+3}"),
    # The bits count from the start of the storage on.
    row(2, NIBBLES, "ad", read={"bytes": 1}, registers=DIGITS),
    row(2, NIBBLES, "25", read={"bytes": 1}, registers=DIGITS, byte_order="big"),
    row(
        2,
        "DW_OP_addr 0x10; DW_OP_bit_piece 12 4; DW_OP_piece 1",
        "2103 undefined 00f0",
        read={"bytes": 2},
        memory=[memory(16, "1032")],
    ),
    row(
        2,
        "DW_OP_addr 0x10; DW_OP_bit_piece 12 4; DW_OP_piece 1",
        "0320 undefined 000f",
        read={"bytes": 2},
        memory=[memory(16, "1032")],
        byte_order="big",
    ),
    # B is applied as by DW_OP_LLVM_bit_offset: it must be within the storage, but leaves an undefined location alone.
    row(2, "DW_OP_reg5; DW_OP_bit_piece 1 63", "{1:r5+63}"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 1 64", "offset_out_of_storage"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 0 64", "offset_out_of_storage"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 1 32", "offset_out_of_storage", address_size=4),
    row(2, "DW_OP_LLVM_undefined; DW_OP_bit_piece 1 10000", "{1:undefined}"),
    row(2, "DW_OP_bit_piece 1 10000", "{1:undefined}"),
    # The part must be within the storage.
    row(2, "DW_OP_reg5; DW_OP_bit_piece 61 3", "{61:r5+3}"),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 62 3", "bad_piece"),
    row(2, "DW_OP_bit_piece 62 3", "bad_piece", initial_stack=[BOTH]),
    row(2, "DW_OP_reg5; DW_OP_bit_piece 30 3", "bad_piece", address_size=4, byte_order="big"),
    row(2, "DW_OP_const_type 3 0000803f; DW_OP_bit_piece 8 0", "wrong_kind"),
]

PIECE_END = [
    # It makes the incomplete composite on top of the stack complete.
    row(3, f"DW_OP_reg5; DW_OP_piece 4; {END}", "{32:r5}"),
    row(3, f"DW_OP_piece 4; {END}; DW_OP_dup", ("{32:undefined}", "{32:undefined}")),
    row(3, f"DW_OP_reg5; DW_OP_piece 4; {END}; DW_OP_deref_size 4", "7", registers={"5": 7}),
    row(3, f"DW_OP_reg5; DW_OP_piece 4; {END}; DW_OP_reg6; DW_OP_piece 4", ("{32:r5}", "{32:r6}")),
    row(3, f"DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4; {END}; DW_OP_swap", ("{32:r5}", "1")),
    # Anything else on top is ill-formed.
    row(3, END, "stack_underflow"),
    row(3, f"DW_OP_lit1; {END}", "wrong_kind"),
    row(3, f"DW_OP_reg5; {END}", "wrong_kind"),
    row(3, f"DW_OP_LLVM_undefined; {END}", "wrong_kind"),
    row(3, f"DW_OP_reg5; DW_OP_piece 4; {END}; {END}", "wrong_kind"),
    row(3, f"DW_OP_reg5; DW_OP_piece 4; DW_OP_lit1; {END}", "wrong_kind"),
    row(3, f"DW_OP_reg5; DW_OP_LLVM_extend 8 2; {END}", "wrong_kind"),
    row(3, END, "wrong_kind", initial_stack=[{"kind": "composite", "parts": [{"bit_size": 8, "location": BOTH}]}]),
]

EXTEND = [
    # A complete composite of C identical parts of S bits.
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 8 3", "{8:r5 8:r5 8:r5}"),
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 64 1", "{64:r5}"),
    row(4, "DW_OP_reg5; DW_OP_lit3; DW_OP_LLVM_bit_offset; DW_OP_LLVM_extend 5 2", "{5:r5+3 5:r5+3}"),
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 8 4; DW_OP_deref_size 4", str(0x07070707), registers={"5": 7}),
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 4 4; DW_OP_deref_size 2", str(0xAAAA), registers={"5": 0xBA}),
    row(
        4,
        "DW_OP_reg5; DW_OP_LLVM_extend 4 4; DW_OP_deref_size 2",
        str(0xBBBB),
        registers={"5": 0xBA << 56},
        byte_order="big",
    ),
    row(
        4,
        "DW_OP_reg5; DW_OP_LLVM_extend 12 4; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_deref_size 2",
        str(0xBACB),
        registers={"5": 0xCBA},
    ),
    row(4, "DW_OP_lit16; DW_OP_LLVM_extend 8 2", "{8:mem 0x10 8:mem 0x10}"),
    row(4, "DW_OP_LLVM_undefined; DW_OP_LLVM_extend 64 2", "{64:undefined 64:undefined}"),
    row(4, "DW_OP_LLVM_extend 8 2", "{8:r5 | mem 0x10 8:r5 | mem 0x10}", initial_stack=[BOTH]),
    row(
        4,
        f"DW_OP_reg5; DW_OP_piece 1; DW_OP_reg6; DW_OP_piece 1; {END}; DW_OP_LLVM_extend 16 2",
        "{16:{8:r5 8:r6} 16:{8:r5 8:r6}}",
    ),
    row(4, "DW_OP_lit1; DW_OP_reg5; DW_OP_LLVM_extend 8 2", ("1", "{8:r5 8:r5}")),
    row(4, "DW_OP_reg5; DW_OP_piece 1; DW_OP_reg5; DW_OP_LLVM_extend 8 2; DW_OP_piece 2", "{8:r5 16:{8:r5 8:r5}}"),
    row(4, "DW_OP_reg5; DW_OP_extend 8 2", "{8:r5 8:r5}"),
    row(
        4,
        "DW_OP_regx pc; DW_OP_LLVM_extend 64 64; DW_OP_LLVM_push_lane; DW_OP_lit8; DW_OP_mul;"
        "DW_OP_LLVM_offset; DW_OP_deref",
        ["4660"] * 64,
        registers={"pc": 0x1234},
        target=WAVE64,
    ),
    # S and C must not be 0.
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 0 2", "bad_operand"),
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 8 0", "bad_operand"),
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 0 0", "bad_operand"),
    # The entry popped must be a complete location description.
    row(4, "DW_OP_const_type 2 01000000; DW_OP_LLVM_extend 8 2", "wrong_kind"),
    row(4, "DW_OP_LLVM_extend 8 2", "stack_underflow"),
    # Each part must be within the storage.
    row(4, "DW_OP_reg5; DW_OP_LLVM_extend 65 2", "bad_piece"),
    row(4, "DW_OP_reg5; DW_OP_lit1; DW_OP_LLVM_bit_offset; DW_OP_LLVM_extend 64 1", "bad_piece"),
    row(4, "DW_OP_LLVM_extend 65 1", "bad_piece", initial_stack=[BOTH]),
]

SELECT = [
    # C parts of S bits: part N is at N*S bits from L1 where bit N of the mask is 1, otherwise from L0.
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit10; DW_OP_LLVM_select_bit_piece 8 4", "{8:r5 8:r6+8 8:r5+16 8:r6+24}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_LLVM_select_bit_piece 8 2", "{8:r5 8:r5+8}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit3; DW_OP_LLVM_select_bit_piece 8 2", "{8:r6 8:r6+8}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 3 3", "{3:r6 3:r5+3 3:r5+6}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 64 1", "{64:r6}"),
    row(
        5,
        "DW_OP_reg5; DW_OP_lit2; DW_OP_LLVM_bit_offset; DW_OP_lit16; DW_OP_lit6; DW_OP_LLVM_select_bit_piece 8 4",
        "{8:r5+2 8:mem 0x11 8:mem 0x12 8:r5+26}",
    ),
    # Bits of the mask beyond C mean nothing.
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_const1s -2; DW_OP_LLVM_select_bit_piece 8 2", "{8:r5 8:r6+8}"),
    row(
        5,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit10; DW_OP_LLVM_select_bit_piece 8 4; DW_OP_deref_size 4",
        str(0x11334455),
        registers={"5": 0x22334455, "6": 0x11AA44BB},
    ),
    row(
        5,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit10; DW_OP_LLVM_select_bit_piece 8 4; DW_OP_deref_size 4",
        str(0x22AA44BB),
        registers={"5": 0x22334455, "6": 0x11AA44BB},
        byte_order="big",
        address_size=4,
    ),
    # ... the N-th least significant one, whatever the byte order of the target.
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2", "{8:r6 8:r5+8}", byte_order="big"),
    # The locations can be of any kind, and complete composites themselves.
    row(
        5, "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit5; DW_OP_LLVM_select_bit_piece 8 3", "{8:r6 8:undefined 8:r6+16}"
    ),
    row(
        5,
        "DW_OP_implicit_value 010203; DW_OP_reg6; DW_OP_lit2; DW_OP_LLVM_select_bit_piece 8 3",
        "{8:implicit 010203 8:r6+8 8:implicit 010203+16}",
    ),
    row(
        5,
        f"DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_regx s5; DW_OP_lit2; DW_OP_LLVM_select_bit_piece 8 3",
        "{8:local#0x10 8:s5+8 8:local#0x12}",
        target=WAVE64,
    ),
    row(5, "DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2", "{8:r6 8:r5+8 | mem 0x11}", initial_stack=[BOTH]),
    row(
        5,
        "DW_OP_reg5; DW_OP_LLVM_extend 16 2; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 16 2",
        "{16:r6 16:{16:r5 16:r5}+16}",
    ),
    row(5, "DW_OP_lit7; DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 1", ("7", "{8:r6}")),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_select_bit_piece 8 2", "{8:r6 8:r5+8}"),
    # An input that is too short for a part that is not taken from it does no harm.
    row(
        5,
        "DW_OP_implicit_value 01; DW_OP_reg6; DW_OP_lit6; DW_OP_LLVM_select_bit_piece 8 3",
        "{8:implicit 01 8:r6+8 8:r6+16}",
    ),
    row(5, "DW_OP_implicit_value 01; DW_OP_reg6; DW_OP_lit4; DW_OP_LLVM_select_bit_piece 8 3", "offset_out_of_storage"),
    row(
        5, "DW_OP_reg5; DW_OP_implicit_value 0102; DW_OP_lit7; DW_OP_LLVM_select_bit_piece 8 3", "offset_out_of_storage"
    ),
    row(5, "DW_OP_reg5; DW_OP_implicit_value 0102; DW_OP_lit2; DW_OP_LLVM_select_bit_piece 12 2", "bad_piece"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_LLVM_select_bit_piece 65 1", "bad_piece"),
    # S and C must not be 0.
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 0 2", "bad_operand"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 0", "bad_operand"),
    # The bit size of the mask must not be less than C.
    row(
        5,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 1 05; DW_OP_LLVM_select_bit_piece 8 8",
        "{8:r6 8:r5+8 8:r6+16 8:r5+24 8:r5+32 8:r5+40 8:r5+48 8:r5+56}",
    ),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 1 05; DW_OP_LLVM_select_bit_piece 4 9", "bad_size"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 6 05; DW_OP_LLVM_select_bit_piece 8 3", "{8:r6 8:r5+8 8:r6+16}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 6 05; DW_OP_LLVM_select_bit_piece 8 4", "bad_size"),
    row(5, "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit0; DW_OP_LLVM_select_bit_piece 1 64; DW_OP_drop", "undefined"),
    row(5, "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit0; DW_OP_LLVM_select_bit_piece 1 65", "bad_size"),
    row(
        5, "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit0; DW_OP_LLVM_select_bit_piece 1 33", "bad_size", address_size=4
    ),
    row(
        5,
        "DW_OP_LLVM_undefined; DW_OP_LLVM_undefined; DW_OP_const_type 2 ffffffff; DW_OP_LLVM_select_bit_piece 32 64",
        "bad_size",
        target=WAVE64,
    ),
    row(
        5,
        f"DW_OP_LLVM_undefined; DW_OP_LLVM_undefined; DW_OP_const_type 5 {'ff' * 16};"
        "DW_OP_LLVM_select_bit_piece 1 128; DW_OP_drop",
        "undefined",
    ),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 1 ff; DW_OP_LLVM_select_bit_piece 8 2", "{8:r6 8:r6+8}"),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_addr 2; DW_OP_LLVM_select_bit_piece 8 2", "{8:r5 8:r6+8}"),
    # The mask must be of an integral type, the others location descriptions.
    row(
        5,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 3 0000803f; DW_OP_LLVM_select_bit_piece 8 2",
        "integral_type_required",
    ),
    row(5, "DW_OP_reg5; DW_OP_reg6; DW_OP_reg7; DW_OP_LLVM_select_bit_piece 8 2", "wrong_kind"),
    row(
        5, "DW_OP_reg5; DW_OP_const_type 4 0000000000000000; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2", "wrong_kind"
    ),
    row(
        5, "DW_OP_const_type 4 0000000000000000; DW_OP_reg5; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2", "wrong_kind"
    ),
    row(5, "DW_OP_reg6; DW_OP_lit1; DW_OP_LLVM_select_bit_piece 8 2", "stack_underflow"),
    # Each lane takes its own part; masks may differ from lane to lane.
    row(
        5,
        "DW_OP_regx v1; DW_OP_regx v2; DW_OP_regx exec; DW_OP_deref; DW_OP_LLVM_select_bit_piece 32 64;"
        f"{MINE}; DW_OP_deref_size 4",
        [str(lane + (200 if 0xF0F0F0F0F0F0F0F0 >> lane & 1 else 100)) for lane in range(64)],
        registers={"v1": list(range(100, 164)), "v2": list(range(200, 264)), "exec": 0xF0F0F0F0F0F0F0F0},
        target=WAVE64,
    ),
    row(
        5,
        "DW_OP_regx v1; DW_OP_regx v2; DW_OP_regx exec; DW_OP_deref_size 4; DW_OP_LLVM_select_bit_piece 32 32;"
        f"{MINE}; DW_OP_deref_size 4",
        [str(lane + (200 if 0x80000001 >> lane & 1 else 100)) for lane in range(32)],
        registers={"v1": list(range(100, 132)), "v2": list(range(200, 232)), "exec": 0x80000001},
        target=WAVE32,
    ),
    row(
        5,
        "DW_OP_regx s5; DW_OP_regx s6; DW_OP_LLVM_push_lane; DW_OP_LLVM_select_bit_piece 8 2",
        [f"{{8:{'s6' if lane & 1 else 's5'} 8:{'s6' if lane & 2 else 's5'}+8}}" for lane in range(32)],
        target=WAVE32,
    ),
]

OVERLAY = [
    # DW_OP_LLVM_overlay is DW_OP_LLVM_bit_overlay with sizes in bytes.
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit2; DW_OP_lit3; DW_OP_LLVM_overlay", "{16:r5 24:r6 24:r5+40}"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_lit4; DW_OP_LLVM_overlay", "{32:r6 32:r5+32}"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit4; DW_OP_lit4; DW_OP_LLVM_overlay", "{32:r5 32:r6}"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_lit8; DW_OP_LLVM_overlay", "r6"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_lit0; DW_OP_LLVM_overlay", "r5"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_lit8; DW_OP_LLVM_overlay", "bad_piece"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 1 ff; DW_OP_lit1; DW_OP_LLVM_overlay", "bad_operand"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_const_type 7 ffffffff; DW_OP_LLVM_overlay", "bad_operand"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_lit1; DW_OP_overlay", "{8:r5 8:r6 48:r5+16}"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit2; DW_OP_reg7; DW_OP_LLVM_overlay", "wrong_kind"),
    row(6, "DW_OP_reg6; DW_OP_lit2; DW_OP_lit3; DW_OP_LLVM_overlay", "stack_underflow"),
    # Scaled by 8, nothing is lost.
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 4 0000000000000020; DW_OP_lit1; DW_OP_LLVM_overlay", "bad_piece"),
    row(6, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit1; DW_OP_const_type 4 0000000000000020; DW_OP_LLVM_overlay", "bad_piece"),
    row(
        6,
        "DW_OP_lit0; DW_OP_reg6; DW_OP_const_type 4 0000000000000020; DW_OP_lit1; DW_OP_LLVM_overlay",
        f"{{{1 << 64}:mem 0x0 8:r6 {MAX - (1 << 64) - 8}:mem 0x2000000000000001}}",
    ),
    # The composite is nearly as large as the address space then; each lane reads at its own offset from it.
    row(
        6,
        f"DW_OP_const2u 0x1000; DW_OP_regx v6; DW_OP_lit16; DW_OP_const1u 64; DW_OP_LLVM_overlay; {MINE};"
        "DW_OP_deref_size 4",
        [str(200 + lane - 4 if 4 <= lane < 20 else 100 + lane) for lane in range(32)],
        registers={"v6": list(range(200, 232))},
        memory=[memory(0x1000, "".join(f"{100 + lane:02x}000000" for lane in range(32)))],
        target=WAVE32,
    ),
    row(
        6,
        f"DW_OP_const2u 0x1000; DW_OP_regx v6; DW_OP_lit16; DW_OP_const2u 128; DW_OP_LLVM_overlay; {MINE};"
        "DW_OP_deref_size 4",
        [str(150 + lane - 4 if 4 <= lane < 36 else 100 + lane) for lane in range(64)],
        registers={"v6": list(range(150, 214))},
        memory=[memory(0x1000, "".join(f"{100 + lane:02x}000000" for lane in range(64)))],
        target=WAVE64,
    ),
    # Each lane's own slice.
    row(
        6,
        "DW_OP_const2u 0x1000; DW_OP_regx s6; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_lit4;"
        "DW_OP_LLVM_overlay; DW_OP_lit8;"
        "DW_OP_LLVM_offset; DW_OP_deref_size 4",
        ["3", "3", "9", *["3"] * 29],
        registers={"s6": 9},
        memory=[memory(0x1008, "03000000")],
        target=WAVE32,
    ),
]

BIT_OVERLAY = [
    # BL, with BS bits of it, from BO on, replaced by those at OL.
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit3; DW_OP_lit5; DW_OP_LLVM_bit_overlay", "{3:r5 5:r6 56:r5+8}"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_lit5; DW_OP_LLVM_bit_overlay", "{5:r6 59:r5+5}"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_const1u 59; DW_OP_lit5; DW_OP_LLVM_bit_overlay", "{59:r5 5:r6}"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit3; DW_OP_const1u 61; DW_OP_LLVM_bit_overlay", "{3:r5 61:r6}"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit3; DW_OP_lit5; DW_OP_bit_overlay", "{3:r5 5:r6 56:r5+8}"),
    # The base and the overlay begin at their own bit offsets.
    row(
        7,
        "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_reg6; DW_OP_lit7; DW_OP_LLVM_bit_offset;"
        "DW_OP_lit3; DW_OP_lit5;"
        "DW_OP_LLVM_bit_overlay",
        "{3:r5+4 5:r6+7 52:r5+12}",
    ),
    row(
        7,
        "DW_OP_lit16; DW_OP_reg6; DW_OP_lit8; DW_OP_const1u 64; DW_OP_LLVM_bit_overlay",
        f"{{8:mem 0x10 64:r6 {MAX - 128 - 72}:mem 0x19}}",
    ),
    row(
        7,
        "DW_OP_lit16; DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        f"{{8:mem 0x10 8:r6 {(8 << 32) - 128 - 16}:mem 0x12}}",
        address_size=4,
    ),
    row(
        7,
        f"DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_regx s6; DW_OP_lit0; DW_OP_lit16; DW_OP_LLVM_bit_overlay",
        f"{{16:s6 {(8 << 32) - 128 - 16}:local#0x12}}",
        target=WAVE64,
    ),
    # The result is complete.
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit4; DW_OP_lit4; DW_OP_LLVM_bit_overlay; DW_OP_deref",
        str(0x12345678_9ABCDE0F & ~0xF0 | 0x50),
        registers={"5": 0x123456789ABCDE0F, "6": 5},
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit4; DW_OP_lit4; DW_OP_LLVM_bit_overlay; DW_OP_deref",
        str(0x153456789ABCDE0F),
        registers={"5": 0x123456789ABCDE0F, "6": 5 << 60},
        byte_order="big",
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit4; DW_OP_lit4; DW_OP_LLVM_bit_overlay; DW_OP_reg7; DW_OP_piece 1",
        ("{4:r5 4:r6 56:r5+8}", "{8:r7}"),
    ),
    row(
        7,
        "DW_OP_lit1; DW_OP_reg5; DW_OP_reg6; DW_OP_lit4; DW_OP_lit4; DW_OP_LLVM_bit_overlay",
        ("1", "{4:r5 4:r6 56:r5+8}"),
    ),
    # An overlay of an overlay.
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay; DW_OP_reg7; DW_OP_lit12;"
        "DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "{12:{8:r5 8:r6 48:r5+16} 8:r7 44:{8:r5 8:r6 48:r5+16}+20}",
    ),
    # If BS is 0, the result is BL,
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit3; DW_OP_lit0; DW_OP_LLVM_bit_overlay", "r5"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_lit0; DW_OP_LLVM_bit_overlay", "r5"),
    row(
        7,
        "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_reg6; DW_OP_const1u 60; DW_OP_lit0;"
        "DW_OP_LLVM_bit_overlay",
        "r5+4",
    ),
    row(7, "DW_OP_reg6; DW_OP_lit3; DW_OP_lit0; DW_OP_LLVM_bit_overlay", "r5 | mem 0x10", initial_stack=[BOTH]),
    # if it covers all that is left of BL, the result is OL,
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_const1u 64; DW_OP_LLVM_bit_overlay", "r6"),
    row(
        7,
        "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_reg6; DW_OP_lit0; DW_OP_const1u 60;"
        "DW_OP_LLVM_bit_overlay",
        "r6",
    ),
    row(
        7,
        "DW_OP_implicit_value 01; DW_OP_implicit_value 0203; DW_OP_lit0; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "implicit 0203",
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_implicit_value 01; DW_OP_lit0; DW_OP_const1u 64; DW_OP_LLVM_bit_overlay",
        "implicit 01",  # before the bits of the overlay are looked at
    ),
    # ... what is left of the place with the least.
    row(7, "DW_OP_reg6; DW_OP_lit0; DW_OP_const1u 64; DW_OP_LLVM_bit_overlay", "r6", initial_stack=[BOTH]),
    row(
        7,
        "DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "{8:r5 | mem 0x10 8:r6 48:r5+16 | mem 0x12}",
        initial_stack=[BOTH],
    ),
    row(7, "DW_OP_reg6; DW_OP_lit8; DW_OP_const1u 57; DW_OP_LLVM_bit_overlay", "bad_piece", initial_stack=[BOTH]),
    row(
        7,
        "DW_OP_reg5; DW_OP_swap; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "{8:r5 8:r5 | mem 0x10 48:r5+16}",
        initial_stack=[BOTH],
    ),
    # An undefined base shows nothing but the overlay.
    row(
        7,
        "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "000700 undefined ff00ff",
        read={"bytes": 3},
        registers={"6": 7},
    ),
    row(
        7,
        "DW_OP_LLVM_undefined; DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "000700 undefined ff00ff",
        read={"bytes": 3},
        registers={"6": 7},
        address_size=4,
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_LLVM_undefined; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "{8:r5 8:undefined 48:r5+16}",
    ),
    # BO and BS must not be negative.
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 1 ff; DW_OP_lit8; DW_OP_LLVM_bit_overlay", "bad_operand"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_const_type 1 ff; DW_OP_LLVM_bit_overlay", "bad_operand"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 7 ffffffff; DW_OP_lit0; DW_OP_LLVM_bit_overlay", "bad_operand"),
    # What is left of BL must not be less than BO plus BS.
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_const1u 57; DW_OP_LLVM_bit_overlay", "bad_piece"),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_const1u 65; DW_OP_lit0; DW_OP_LLVM_bit_overlay", "bad_piece"),
    row(
        7,
        "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_reg6; DW_OP_lit0; DW_OP_const1u 61;"
        "DW_OP_LLVM_bit_overlay",
        "bad_piece",
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 4 ffffffffffffffff; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "bad_piece",
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_lit25; DW_OP_LLVM_bit_overlay",
        "bad_piece",
        address_size=4,
        byte_order="big",
    ),
    # The part of the overlay must be within its storage.
    row(7, "DW_OP_reg5; DW_OP_implicit_value 01; DW_OP_lit8; DW_OP_lit9; DW_OP_LLVM_bit_overlay", "bad_piece"),
    # Two integral values and two location descriptions.
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_const_type 3 0000803f; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "integral_type_required",
    ),
    row(
        7,
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit8; DW_OP_const_type 3 0000803f; DW_OP_LLVM_bit_overlay",
        "integral_type_required",
    ),
    row(7, "DW_OP_reg5; DW_OP_reg6; DW_OP_reg7; DW_OP_lit8; DW_OP_LLVM_bit_overlay", "wrong_kind"),
    row(
        7,
        "DW_OP_reg5; DW_OP_const_type 4 1000000000000000; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "wrong_kind",
    ),
    row(
        7,
        "DW_OP_const_type 4 1000000000000000; DW_OP_reg5; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay",
        "wrong_kind",
    ),
    row(7, "DW_OP_reg6; DW_OP_lit8; DW_OP_lit8; DW_OP_LLVM_bit_overlay", "stack_underflow"),
    # In each lane at another position.
    row(
        7,
        "DW_OP_regx s5; DW_OP_regx s6; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_LLVM_bit_overlay; DW_OP_deref_size 4",
        [*(str(0xFFFFFFFF & ~(0xF << lane)) for lane in range(29)), *["bad_piece"] * 3],
        registers={"s5": 0xFFFFFFFF, "s6": 0},
        target=WAVE32,
    ),
    row(
        7,
        "DW_OP_regx s5; DW_OP_regx s6; DW_OP_lit4; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_overlay",
        [
            "s5",
            *(f"{{4:s5 {lane}:s6 {28 - lane}:s5+{4 + lane}}}" for lane in range(1, 28)),
            "{4:s5 28:s6}",
            *["bad_piece"] * 3,
        ],
        target=WAVE32,
    ),
]

test_storage = table(STORAGE)
test_incomplete_composites = table(INCOMPLETE)
test_piece = table(PIECE)
test_bit_piece = table(BIT_PIECE)
test_piece_end = table(PIECE_END)
test_extend = table(EXTEND)
test_select_bit_piece = table(SELECT)
test_overlay = table(OVERLAY)
test_bit_overlay = table(BIT_OVERLAY)
