"""A.2.5.4.4.1 General location description operations."""

from __future__ import annotations

from typing import Any

from tests.builders.cases import Case, table

TYPES = {
    "1": {"encoding": "signed", "byte_size": 1},
    "2": {"encoding": "unsigned", "byte_size": 1},
    "3": {"encoding": "unsigned", "byte_size": 8},
    "4": {"encoding": "float", "byte_size": 4},
    "5": {"encoding": "boolean", "byte_size": 1},
    "6": {"encoding": "address", "byte_size": 8},
    "7": {"encoding": "unsigned", "byte_size": 4, "vector_size": 2},
    "8": {"encoding": "signed", "byte_size": 16},
}
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "register", "register": 5}]}
WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"


def row(number: int, ops: str, expected: Any, **case: Any) -> Case:
    return Case(f"A.2.5.4.4.1 ({number})", ops, expected, **{"rules": "amd", "base_types": TYPES, **case})


OFFSET = [
    # It adds B scaled by 8 to the bit offset of each single location description, of any storage.
    row(1, "DW_OP_addr 0x10; DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x14"),
    row(1, "DW_OP_addr 0x10; DW_OP_lit0; DW_OP_LLVM_offset", "mem 0x10"),
    row(1, "DW_OP_addr 0x10; DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x14", address_size=4, byte_order="big"),
    row(1, "DW_OP_lit16; DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x14"),
    row(1, "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset", "r5+32"),
    row(1, "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_lit3; DW_OP_LLVM_offset", "r5+56"),
    row(1, "DW_OP_implicit_value 0102030405; DW_OP_lit4; DW_OP_LLVM_offset", "implicit 0102030405+32"),
    row(1, "DW_OP_lit7; DW_OP_stack_value; DW_OP_lit1; DW_OP_LLVM_offset", "implicit 0700000000000000+8"),
    row(
        1,
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_lit4; DW_OP_LLVM_offset",
        "{32:r5 32:r6}+32",
    ),
    row(
        1,
        "DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_lit4; DW_OP_LLVM_offset",
        "local#0x14",
        target=WAVE64,
    ),
    row(1, "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset; DW_OP_lit1; DW_OP_LLVM_offset", "mem 0x11.3"),
    row(1, "DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x14 | r5+32", initial_stack=[TWO_PLACES]),
    row(
        1,
        "DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_const1s -3; DW_OP_LLVM_offset",
        "mem 0x11 | r5+8",
        initial_stack=[TWO_PLACES],
    ),
    # The entries below stay as they are.
    row(1, "DW_OP_lit1; DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset", ("1", "r5+32")),
    row(1, "DW_OP_reg5; DW_OP_dup; DW_OP_lit4; DW_OP_LLVM_offset", ("r5", "r5+32")),
    # B is an integral value of any type, and may be negative.
    row(1, "DW_OP_addr 0x10; DW_OP_const1s -4; DW_OP_LLVM_offset", "mem 0xc"),
    row(1, "DW_OP_addr 0x10; DW_OP_const1s -4; DW_OP_LLVM_offset", "mem 0xc", address_size=4),
    row(1, "DW_OP_addr 0x1000; DW_OP_const_type 1 ff; DW_OP_LLVM_offset", "mem 0xfff"),
    row(1, "DW_OP_addr 0x1000; DW_OP_const_type 2 ff; DW_OP_LLVM_offset", "mem 0x10ff"),
    row(1, "DW_OP_addr 0x1000; DW_OP_const_type 3 0000000000000040; DW_OP_LLVM_offset", "mem 0x4000000000001000"),
    row(1, "DW_OP_addr 0x1000; DW_OP_const_type 5 01; DW_OP_LLVM_offset", "mem 0x1001"),
    row(1, "DW_OP_addr 0x1000; DW_OP_const_type 8 feffffffffffffffffffffffffffffff; DW_OP_LLVM_offset", "mem 0xffe"),
    # ... which a byte address in the default address space becomes.
    row(1, "DW_OP_reg5; DW_OP_addr 4; DW_OP_LLVM_offset", "r5+32"),
    # The second entry must be a location description, the first an integral value.
    row(1, "DW_OP_addr 0x10; DW_OP_const_type 4 0000803f; DW_OP_LLVM_offset", "integral_type_required"),
    row(1, "DW_OP_addr 0x10; DW_OP_const_type 6 0100000000000000; DW_OP_LLVM_offset", "integral_type_required"),
    row(1, "DW_OP_addr 0x10; DW_OP_const_type 7 0100000000000000; DW_OP_LLVM_offset", "integral_type_required"),
    row(1, "DW_OP_addr 0x10; DW_OP_reg5; DW_OP_LLVM_offset", "wrong_kind"),
    row(1, "DW_OP_addr 0x10; DW_OP_LLVM_undefined; DW_OP_LLVM_offset", "wrong_kind"),
    row(1, "DW_OP_const_type 3 1000000000000000; DW_OP_lit4; DW_OP_LLVM_offset", "wrong_kind"),
    row(1, "DW_OP_const_type 4 0000803f; DW_OP_lit4; DW_OP_LLVM_offset", "wrong_kind"),
    row(1, "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit2; DW_OP_LLVM_offset", "incomplete_composite"),
    row(1, "DW_OP_lit4; DW_OP_LLVM_offset", "stack_underflow"),
    row(1, "DW_OP_LLVM_offset", "stack_underflow"),
    # An updated bit offset that is less than 0 or not less than the size of the storage is an evaluation error.
    row(1, "DW_OP_reg5; DW_OP_lit7; DW_OP_LLVM_offset", "r5+56"),
    row(1, "DW_OP_reg5; DW_OP_lit8; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_reg5; DW_OP_lit3; DW_OP_LLVM_offset", "r5+24", address_size=4),
    row(1, "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset", "offset_out_of_storage", address_size=4),
    row(1, "DW_OP_reg5; DW_OP_const1s -1; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_reg5; DW_OP_lit2; DW_OP_LLVM_offset; DW_OP_const1s -3; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_reg5; DW_OP_lit9; DW_OP_LLVM_offset; DW_OP_const1s -9; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_implicit_value 0102; DW_OP_lit2; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_implicit_value 0x; DW_OP_lit0; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_addr 0; DW_OP_const1s -1; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_const1s -1; DW_OP_lit1; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row(1, "DW_OP_const1s -1; DW_OP_lit1; DW_OP_LLVM_offset", "offset_out_of_storage", address_size=4),
    row(1, "DW_OP_const1s -2; DW_OP_lit1; DW_OP_LLVM_offset", "mem 0xffffffff", address_size=4),
    row(
        1,
        "DW_OP_const1s -1; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_lit1; DW_OP_LLVM_offset",
        "offset_out_of_storage",
        target=WAVE64,
    ),
    row(
        1,
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_lit8; DW_OP_LLVM_offset",
        "offset_out_of_storage",
    ),
    # ... of any single location description: the register ends, the memory does not.
    row(1, "DW_OP_lit8; DW_OP_LLVM_offset", "offset_out_of_storage", initial_stack=[TWO_PLACES]),
    # It is not the wrap-around of DW_OP_plus (2.4).
    row(1, "DW_OP_const1s -1; DW_OP_lit1; DW_OP_plus", "0"),
    # Each lane has its own displacement.
    row(
        1,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset",
        ["v4", *(f"v4+{32 * lane}" for lane in range(1, 64))],
        target=WAVE64,
    ),
    row(
        1,
        "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset",
        ["v4", *(f"v4+{32 * lane}" for lane in range(1, 32))],
        target=WAVE32,
    ),
    # ... and only the lanes whose offset leaves the storage have the error.
    row(
        1,
        "DW_OP_regx s5; DW_OP_LLVM_push_lane; DW_OP_LLVM_offset",
        ["s5", "s5+8", "s5+16", "s5+24", *["offset_out_of_storage"] * 28],
        target=WAVE32,
    ),
    row(
        1,
        "DW_OP_regx s5; DW_OP_lit2; DW_OP_LLVM_push_lane; DW_OP_minus; DW_OP_LLVM_offset",
        ["s5+16", "s5+8", "s5", *["offset_out_of_storage"] * 29],
        target=WAVE32,
    ),
]

OFFSET_UCONST = [
    # DW_OP_LLVM_offset_uconst B is DW_OP_constu B; DW_OP_LLVM_offset.
    row(2, "DW_OP_addr 0x10; DW_OP_LLVM_offset_uconst 4", "mem 0x14"),
    row(2, "DW_OP_addr 0x10; DW_OP_LLVM_offset_uconst 0", "mem 0x10"),
    row(2, "DW_OP_addr 0x10; DW_OP_LLVM_offset_uconst 0x12345", "mem 0x12355"),
    row(2, "DW_OP_addr 0x10; DW_OP_LLVM_offset_constu 4", "mem 0x14"),
    row(2, "DW_OP_reg5; DW_OP_LLVM_offset_uconst 7", "r5+56"),
    row(2, "DW_OP_reg5; DW_OP_LLVM_offset_uconst 8", "offset_out_of_storage"),
    row(2, "DW_OP_addr 0x10; DW_OP_LLVM_offset_uconst 0x100000004", "mem 0x14", address_size=4),
    row(2, "DW_OP_constu 0x100000004; DW_OP_addr 0x10; DW_OP_swap; DW_OP_LLVM_offset", "mem 0x14", address_size=4),
    row(2, "DW_OP_LLVM_offset_uconst 4", "mem 0x14 | r5+32", initial_stack=[TWO_PLACES]),
    row(2, "DW_OP_LLVM_undefined; DW_OP_LLVM_offset_uconst 4", "undefined"),
    row(2, "DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_offset_uconst 4", "incomplete_composite"),
    row(2, "DW_OP_const_type 4 0000803f; DW_OP_LLVM_offset_uconst 4", "wrong_kind"),
    row(2, "DW_OP_LLVM_offset_uconst 4", "stack_underflow"),
]

BIT_OFFSET = [
    # It adds B to the bit offset of each single location description.
    row(3, "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", "mem 0x10.3"),
    row(3, "DW_OP_addr 0x10; DW_OP_lit8; DW_OP_LLVM_bit_offset", "mem 0x11"),
    row(3, "DW_OP_addr 0x10; DW_OP_const1s -1; DW_OP_LLVM_bit_offset", "mem 0xf.7"),
    row(3, "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset; DW_OP_const1s -11; DW_OP_LLVM_bit_offset", "mem 0xf"),
    row(3, "DW_OP_reg5; DW_OP_const1u 63; DW_OP_LLVM_bit_offset", "r5+63"),
    row(3, "DW_OP_lit5; DW_OP_LLVM_bit_offset", "mem 0x10.5 | r5+5", initial_stack=[TWO_PLACES]),
    row(3, "DW_OP_implicit_value 0102; DW_OP_lit15; DW_OP_LLVM_bit_offset", "implicit 0102+15"),
    row(
        3,
        "DW_OP_reg5; DW_OP_bit_piece 3 0; DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_lit10; DW_OP_LLVM_bit_offset",
        "{3:r5 8:undefined}+10",
    ),
    row(3, "DW_OP_addr 0x1000; DW_OP_const_type 2 ff; DW_OP_LLVM_bit_offset", "mem 0x101f.7"),
    row(3, "DW_OP_addr 0x1000; DW_OP_const_type 1 ff; DW_OP_LLVM_bit_offset", "mem 0xfff.7"),
    # The bits count in the direction in which the target numbers them: from the most significant one if big-endian.
    row(3, "DW_OP_implicit_value 12345678; DW_OP_lit12; DW_OP_LLVM_bit_offset", "63", read={"bytes": 1}),
    row(
        3,
        "DW_OP_implicit_value 12345678; DW_OP_lit12; DW_OP_LLVM_bit_offset",
        "45",
        read={"bytes": 1},
        byte_order="big",
    ),
    # An updated bit offset outside the storage is an evaluation error.
    row(3, "DW_OP_reg5; DW_OP_const1u 64; DW_OP_LLVM_bit_offset", "offset_out_of_storage"),
    row(3, "DW_OP_reg5; DW_OP_lit31; DW_OP_LLVM_bit_offset", "r5+31", address_size=4, byte_order="big"),
    row(3, "DW_OP_reg5; DW_OP_const1u 32; DW_OP_LLVM_bit_offset", "offset_out_of_storage", address_size=4),
    row(3, "DW_OP_reg5; DW_OP_const1s -1; DW_OP_LLVM_bit_offset", "offset_out_of_storage"),
    row(3, "DW_OP_const1s -1; DW_OP_lit7; DW_OP_LLVM_bit_offset", "mem 0xffffffff.7", address_size=4),
    row(3, "DW_OP_const1s -1; DW_OP_lit8; DW_OP_LLVM_bit_offset", "offset_out_of_storage", address_size=4),
    row(3, "DW_OP_const1s -1; DW_OP_lit8; DW_OP_LLVM_bit_offset", "offset_out_of_storage"),
    row(3, "DW_OP_const1u 64; DW_OP_LLVM_bit_offset", "offset_out_of_storage", initial_stack=[TWO_PLACES]),
    # The second entry must be a location description, the first an integral value.
    row(3, "DW_OP_reg5; DW_OP_const_type 4 0000803f; DW_OP_LLVM_bit_offset", "integral_type_required"),
    row(3, "DW_OP_reg5; DW_OP_reg6; DW_OP_LLVM_bit_offset", "wrong_kind"),
    row(3, "DW_OP_const_type 3 1000000000000000; DW_OP_lit4; DW_OP_LLVM_bit_offset", "wrong_kind"),
    row(3, "DW_OP_piece 4; DW_OP_lit2; DW_OP_LLVM_bit_offset", "incomplete_composite"),
    row(3, "DW_OP_lit4; DW_OP_LLVM_bit_offset", "stack_underflow"),
    row(
        3,
        "DW_OP_addr 0x10; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset",
        [f"mem {0x10 + lane // 8:#x}" + (f".{lane % 8}" if lane % 8 else "") for lane in range(32)],
        target=WAVE32,
    ),
]

OBJECT = [
    # It pushes the location description of the current object, wherever that is.
    row(4, "DW_OP_push_object_address", "mem 0x1000", object=0x1000),
    row(4, "DW_OP_push_object_address; DW_OP_lit8; DW_OP_plus", "4104", object=0x1000),
    row(4, "DW_OP_push_object_location", "mem 0x1000", object=0x1000),
    row(4, "DW_OP_push_object_address", "r5+8", object={"kind": "register", "register": 5, "bit_offset": 8}),
    row(
        4,
        "DW_OP_push_object_address; DW_OP_lit1; DW_OP_LLVM_offset",
        "implicit 0102+8",
        object={"kind": "implicit", "bytes": "0102"},
    ),
    row(4, "DW_OP_push_object_address", "undefined", object={"kind": "undefined"}),
    row(4, "DW_OP_push_object_address; DW_OP_lit2; DW_OP_LLVM_offset", "mem 0x12 | r5+16", object=TWO_PLACES),
    row(
        4,
        "DW_OP_push_object_address; DW_OP_LLVM_offset_uconst 4; DW_OP_deref_size 4",
        "8",
        object={
            "kind": "composite",
            "parts": [
                {"bit_size": 32, "location": {"kind": "register", "register": 1}},
                {"bit_size": 32, "location": {"kind": "register", "register": 2}},
            ],
        },
        registers={"1": 7, "2": 8},
    ),
    row(
        4,
        "DW_OP_push_object_address",
        "local#0x10",
        object={"kind": "memory", "space": "local", "address": 16},
        target=WAVE64,
    ),
    # The object of a lane, for all lanes.
    row(
        4,
        "DW_OP_push_object_address; DW_OP_LLVM_offset_uconst 4",
        [f"private_lane#0x14@{lane}" for lane in range(32)],
        object={"kind": "memory", "space": "private_lane", "address": 16},
        target=WAVE32,
    ),
    # It is required: without one, the evaluation is an error (A.2.5.1).
    row(4, "DW_OP_push_object_address", "object"),
    row(4, "DW_OP_lit0; DW_OP_bra @end; DW_OP_lit1; DW_OP_skip @end; DW_OP_push_object_address; end: DW_OP_nop", "1"),
]

ENTRY_REGISTER = [
    # The location that holds the value of the register on entry, as the call frame information has it.
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg 5",
        "mem 0x2000",
        entry_registers={"5": {"kind": "memory", "address": 0x2000}},
    ),
    row(5, "DW_OP_LLVM_call_frame_entry_reg 5", "r7", entry_registers={"5": {"kind": "register", "register": 7}}),
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg 5; DW_OP_deref",
        "9",
        entry_registers={"5": {"kind": "register", "register": 7}},
        registers={"5": 1, "7": 9},
    ),
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg 5",
        "implicit 2a00",
        entry_registers={"5": {"kind": "implicit", "bytes": "2a00"}},
    ),
    row(5, "DW_OP_LLVM_call_frame_entry_reg 5", "mem 0x10 | r5", entry_registers={"5": TWO_PLACES}),
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg 62; DW_OP_deref_size 4",
        "3735928559",
        target=WAVE64,
        entry_registers={"s30": {"kind": "register", "name": "v40", "bit_offset": 96}},
        registers={"v40": [1, 2, 3, 0xDEADBEEF]},
    ),
    # With the rule undefined, the undefined location description is pushed.
    row(5, "DW_OP_LLVM_call_frame_entry_reg 5", "undefined", entry_registers={"5": {"kind": "undefined"}}),
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg 5; DW_OP_deref",
        "undefined_read",
        entry_registers={"5": {"kind": "undefined"}},
    ),
    # With the rule same value, a register location description for R is pushed.
    row(5, "DW_OP_LLVM_call_frame_entry_reg 5", "r5", entry_registers={"5": {"kind": "register", "register": 5}}),
    # Without call frame information, the default rules of the target architecture are used.
    row(5, "DW_OP_LLVM_call_frame_entry_reg 5", "undefined", registers={"5": 1}),
    row(5, "DW_OP_LLVM_call_frame_entry_reg 2561", "undefined", target=WAVE64),  # v1: a callee may change it
    row(5, "DW_OP_LLVM_call_frame_entry_reg 2600", "v40", target=WAVE64),  # a callee preserves v40
    row(5, "DW_OP_LLVM_call_frame_entry_reg 1576", "v40", target=WAVE32),
    row(5, "DW_OP_LLVM_call_frame_entry_reg exec", "exec", target=WAVE64),
    row(5, "DW_OP_LLVM_call_frame_entry_reg 1; DW_OP_deref_size 4", "255", target=WAVE32, registers={"exec": 255}),
    # Whose memory that is, is decided by the lane that asks.
    row(
        5,
        "DW_OP_LLVM_call_frame_entry_reg v40",
        [f"private_lane#0x10@{lane}" for lane in range(64)],
        target=WAVE64,
        entry_registers={"v40": {"kind": "memory", "space": "private_lane", "address": 16}},
    ),
]

test_offset = table(OFFSET)
test_offset_uconst = table(OFFSET_UCONST)
test_bit_offset = table(BIT_OFFSET)
test_push_object_address = table(OBJECT)
test_call_frame_entry_reg = table(ENTRY_REGISTER)
