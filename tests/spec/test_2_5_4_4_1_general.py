"""A.2.5.4.4.1 General location description operations."""

from tests.builders.cases import Rows, base_types

TYPES = base_types(
    "1 signed8, 2 unsigned8, 3 unsigned64, 4 float32, 5 boolean8, 6 address64, 7 unsigned32x2, 8 signed128"
)
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "register", "register": 5}]}
WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
rows = Rows("A.2.5.4.4.1", vars(), rules="amd", base_types=TYPES)
test_offset = rows.table("""
    # It adds B scaled by 8 to the bit offset of each single location description, of any storage.
    (1) addr 0x10; lit4; LLVM_offset | lit16; lit4; LLVM_offset -> mem 0x14
    addr 0x10; lit0; LLVM_offset -> mem 0x10
    addr 0x10; lit4; LLVM_offset -> mem 0x14 where address_size=4, byte_order="big"
    reg5; lit4; LLVM_offset -> r5+32                          reg5; lit4; LLVM_offset; lit3; LLVM_offset -> r5+56
    implicit_value 0102030405; lit4; LLVM_offset -> implicit 0102030405+32
    lit7; stack_value; lit1; LLVM_offset -> implicit 0700000000000000+8
    reg5; piece 4; reg6; piece 4; LLVM_piece_end; lit4; LLVM_offset -> {32:r5 32:r6}+32
    lit16; lit3; LLVM_form_aspace_address; lit4; LLVM_offset -> local#0x14 where target=WAVE64
    addr 0x10; lit3; LLVM_bit_offset; lit1; LLVM_offset -> mem 0x11.3
    lit4; LLVM_offset -> mem 0x14 | r5+32 where initial_stack=[TWO_PLACES]
    lit4; LLVM_offset; const1s -3; LLVM_offset -> mem 0x11 | r5+8 where initial_stack=[TWO_PLACES]
    # The entries below stay as they are.
    lit1; reg5; lit4; LLVM_offset => ("1", "r5+32")           reg5; dup; lit4; LLVM_offset => ("r5", "r5+32")
    # B is an integral value of any type, and may be negative.
    addr 0x10; const1s -4; LLVM_offset -> mem 0xc
    addr 0x10; const1s -4; LLVM_offset -> mem 0xc where address_size=4
    addr 0x1000; const_type 1 ff; LLVM_offset -> mem 0xfff    addr 0x1000; const_type 2 ff; LLVM_offset -> mem 0x10ff
    addr 0x1000; const_type 3 0000000000000040; LLVM_offset -> mem 0x4000000000001000
    addr 0x1000; const_type 5 01; LLVM_offset -> mem 0x1001
    addr 0x1000; const_type 8 feffffffffffffffffffffffffffffff; LLVM_offset -> mem 0xffe
    # ... which a byte address in the default address space becomes.
    reg5; addr 4; LLVM_offset -> r5+32
    # The second entry must be a location description, the first an integral value.
    addr 0x10; const_type 4 0000803f; LLVM_offset | addr 0x10; const_type 6 0100000000000000; LLVM_offset |
        addr 0x10; const_type 7 0100000000000000; LLVM_offset -> integral_type_required
    addr 0x10; reg5; LLVM_offset | addr 0x10; LLVM_undefined; LLVM_offset |
        const_type 3 1000000000000000; lit4; LLVM_offset | const_type 4 0000803f; lit4; LLVM_offset -> wrong_kind
    reg5; piece 4; lit2; LLVM_offset -> incomplete_composite
    lit4; LLVM_offset | LLVM_offset -> stack_underflow
    # An updated bit offset that is less than 0 or not less than the size of the storage is an evaluation error.
    reg5; lit7; LLVM_offset -> r5+56
    reg5; lit8; LLVM_offset | reg5; const1s -1; LLVM_offset | reg5; lit2; LLVM_offset; const1s -3; LLVM_offset |
        reg5; lit9; LLVM_offset; const1s -9; LLVM_offset | implicit_value 0102; lit2; LLVM_offset |
        implicit_value 0x; lit0; LLVM_offset | addr 0; const1s -1; LLVM_offset | const1s -1; lit1; LLVM_offset |
        reg5; piece 4; piece 4; LLVM_piece_end; lit8; LLVM_offset -> offset_out_of_storage
    reg5; lit3; LLVM_offset -> r5+24 where address_size=4
    reg5; lit4; LLVM_offset | const1s -1; lit1; LLVM_offset -> offset_out_of_storage where address_size=4
    const1s -2; lit1; LLVM_offset -> mem 0xffffffff where address_size=4
    const1s -1; lit3; LLVM_form_aspace_address; lit1; LLVM_offset -> offset_out_of_storage where target=WAVE64
    # ... of any single location description: the register ends, the memory does not.
    lit8; LLVM_offset -> offset_out_of_storage where initial_stack=[TWO_PLACES]
    # It is not the wrap-around of DW_OP_plus (2.4).
    const1s -1; lit1; plus -> 0
    # Each lane has its own displacement.
    regx v4; LLVM_push_lane; lit4; mul; LLVM_offset => ["v4", *(f"v4+{32 * lane}" for lane in range(1, 64))]
        where target=WAVE64
    regx v4; LLVM_push_lane; lit4; mul; LLVM_offset => ["v4", *(f"v4+{32 * lane}" for lane in range(1, 32))]
        where target=WAVE32
    # ... and only the lanes whose offset leaves the storage have the error.
    regx s5; LLVM_push_lane; LLVM_offset => ["s5", "s5+8", "s5+16", "s5+24", *["offset_out_of_storage"] * 28]
        where target=WAVE32
    regx s5; lit2; LLVM_push_lane; minus; LLVM_offset => ["s5+16", "s5+8", "s5", *["offset_out_of_storage"] * 29]
        where target=WAVE32
    """)
test_offset_uconst = rows.table("""
    # DW_OP_LLVM_offset_uconst B is DW_OP_constu B; DW_OP_LLVM_offset.
    (2) addr 0x10; LLVM_offset_uconst 4 | addr 0x10; LLVM_offset_constu 4 -> mem 0x14
    addr 0x10; LLVM_offset_uconst 0 -> mem 0x10               addr 0x10; LLVM_offset_uconst 0x12345 -> mem 0x12355
    reg5; LLVM_offset_uconst 7 -> r5+56                       reg5; LLVM_offset_uconst 8 -> offset_out_of_storage
    addr 0x10; LLVM_offset_uconst 0x100000004 -> mem 0x14 where address_size=4
    constu 0x100000004; addr 0x10; swap; LLVM_offset -> mem 0x14 where address_size=4
    LLVM_offset_uconst 4 -> mem 0x14 | r5+32 where initial_stack=[TWO_PLACES]
    LLVM_undefined; LLVM_offset_uconst 4 -> undefined
    reg5; piece 4; LLVM_offset_uconst 4 -> incomplete_composite
    const_type 4 0000803f; LLVM_offset_uconst 4 -> wrong_kind
    LLVM_offset_uconst 4 -> stack_underflow
    """)
test_bit_offset = rows.table("""
    # It adds B to the bit offset of each single location description.
    (3) addr 0x10; lit3; LLVM_bit_offset -> mem 0x10.3        addr 0x10; lit8; LLVM_bit_offset -> mem 0x11
    addr 0x10; const1s -1; LLVM_bit_offset -> mem 0xf.7
    addr 0x10; lit3; LLVM_bit_offset; const1s -11; LLVM_bit_offset -> mem 0xf
    reg5; const1u 63; LLVM_bit_offset -> r5+63
    lit5; LLVM_bit_offset -> mem 0x10.5 | r5+5 where initial_stack=[TWO_PLACES]
    implicit_value 0102; lit15; LLVM_bit_offset -> implicit 0102+15
    reg5; bit_piece 3 0; piece 1; LLVM_piece_end; lit10; LLVM_bit_offset -> {3:r5 8:undefined}+10
    addr 0x1000; const_type 2 ff; LLVM_bit_offset -> mem 0x101f.7
    addr 0x1000; const_type 1 ff; LLVM_bit_offset -> mem 0xfff.7
    # The bits count in the direction in which the target numbers them: from the most significant one if big-endian.
    implicit_value 12345678; lit12; LLVM_bit_offset -> 63 where read={"bytes": 1}
    implicit_value 12345678; lit12; LLVM_bit_offset -> 45 where read={"bytes": 1}, byte_order="big"
    # An updated bit offset outside the storage is an evaluation error.
    reg5; const1u 64; LLVM_bit_offset | reg5; const1s -1; LLVM_bit_offset | const1s -1; lit8; LLVM_bit_offset
        -> offset_out_of_storage
    reg5; lit31; LLVM_bit_offset -> r5+31 where address_size=4, byte_order="big"
    reg5; const1u 32; LLVM_bit_offset | const1s -1; lit8; LLVM_bit_offset -> offset_out_of_storage where address_size=4
    const1s -1; lit7; LLVM_bit_offset -> mem 0xffffffff.7 where address_size=4
    const1u 64; LLVM_bit_offset -> offset_out_of_storage where initial_stack=[TWO_PLACES]
    # The second entry must be a location description, the first an integral value.
    reg5; const_type 4 0000803f; LLVM_bit_offset -> integral_type_required
    reg5; reg6; LLVM_bit_offset | const_type 3 1000000000000000; lit4; LLVM_bit_offset -> wrong_kind
    piece 4; lit2; LLVM_bit_offset -> incomplete_composite    lit4; LLVM_bit_offset -> stack_underflow
    addr 0x10; LLVM_push_lane; LLVM_bit_offset => [f"mem {0x10 + lane // 8:#x}" + (f".{lane % 8}" if lane % 8 else "")
        for lane in range(32)] where target=WAVE32
    """)
test_push_object_address = rows.table("""
    # It pushes the location description of the current object, wherever that is.
    (4) push_object_address | push_object_location -> mem 0x1000 where object=0x1000
    push_object_address; lit8; plus -> 4104 where object=0x1000
    push_object_address -> r5+8 where object={"kind": "register", "register": 5, "bit_offset": 8}
    push_object_address; lit1; LLVM_offset -> implicit 0102+8 where object={"kind": "implicit", "bytes": "0102"}
    push_object_address -> undefined where object={"kind": "undefined"}
    push_object_address; lit2; LLVM_offset -> mem 0x12 | r5+16 where object=TWO_PLACES
    push_object_address; LLVM_offset_uconst 4; deref_size 4 -> 8
        where object={"kind": "composite", "parts": [{"bit_size": 32, "location": {"kind": "register", "register": 1}},
        {"bit_size": 32, "location": {"kind": "register", "register": 2}}]}, registers={"1": 7, "2": 8}
    push_object_address -> local#0x10 where object={"kind": "memory", "space": "local", "address": 16}, target=WAVE64
    # The object of a lane, for all lanes.
    push_object_address; LLVM_offset_uconst 4 => [f"private_lane#0x14@{lane}" for lane in range(32)]
        where object={"kind": "memory", "space": "private_lane", "address": 16}, target=WAVE32
    # It is required: without one, the evaluation is an error (A.2.5.1).
    push_object_address -> object
    lit0; bra @end; lit1; skip @end; push_object_address; end: nop -> 1
    """)
test_call_frame_entry_reg = rows.table("""
    # The location that holds the value of the register on entry, as the call frame information has it.
    (5) LLVM_call_frame_entry_reg 5 -> mem 0x2000 where entry_registers={"5": {"kind": "memory", "address": 0x2000}}
    LLVM_call_frame_entry_reg 5 -> r7 where entry_registers={"5": {"kind": "register", "register": 7}}
    LLVM_call_frame_entry_reg 5; deref -> 9 where entry_registers={"5": {"kind": "register", "register": 7}},
        registers={"5": 1, "7": 9}
    LLVM_call_frame_entry_reg 5 -> implicit 2a00 where entry_registers={"5": {"kind": "implicit", "bytes": "2a00"}}
    LLVM_call_frame_entry_reg 5 -> mem 0x10 | r5 where entry_registers={"5": TWO_PLACES}
    LLVM_call_frame_entry_reg 62; deref_size 4 -> 3735928559 where target=WAVE64, entry_registers={"s30": {"kind":
        "register", "name": "v40", "bit_offset": 96}}, registers={"v40": [1, 2, 3, 0xDEADBEEF]}
    # With the rule undefined, the undefined location description is pushed.
    LLVM_call_frame_entry_reg 5 -> undefined where entry_registers={"5": {"kind": "undefined"}}
    LLVM_call_frame_entry_reg 5; deref -> undefined_read where entry_registers={"5": {"kind": "undefined"}}
    # With the rule same value, a register location description for R is pushed.
    LLVM_call_frame_entry_reg 5 -> r5 where entry_registers={"5": {"kind": "register", "register": 5}}
    # Without call frame information, the default rules of the target architecture are used.
    LLVM_call_frame_entry_reg 5 -> undefined where registers={"5": 1}
    # v1: a callee may change it
    LLVM_call_frame_entry_reg 2561 -> undefined where target=WAVE64
    # a callee preserves v40
    LLVM_call_frame_entry_reg 2600 -> v40 where target=WAVE64
    LLVM_call_frame_entry_reg 1576 -> v40 where target=WAVE32
    LLVM_call_frame_entry_reg exec -> exec where target=WAVE64
    LLVM_call_frame_entry_reg 1; deref_size 4 -> 255 where target=WAVE32, registers={"exec": 255}
    # Whose memory that is, is decided by the lane that asks.
    LLVM_call_frame_entry_reg v40 => [f"private_lane#0x10@{lane}" for lane in range(64)]
        where target=WAVE64, entry_registers={"v40": {"kind": "memory", "space": "private_lane", "address": 16}}
    """)
