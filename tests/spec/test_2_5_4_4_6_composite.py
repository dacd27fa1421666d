"""A.2.5.4.4.6 Composite location description operations."""

from tests.builders.cases import Rows, base_types, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
FORM = "LLVM_form_aspace_address"
TYPES = base_types("1 signed8, 2 unsigned32, 3 float32, 4 unsigned64, 5 unsigned128, 6 unsigned3, 7 signed32")
BOTH = {"kind": "multiple", "places": [{"kind": "register", "register": 5}, {"kind": "memory", "address": 16}]}
END = "LLVM_piece_end"
"""The element of the lane."""
"""The size of the largest address space, in bits."""

rows = Rows("A.2.5.4.4.6", vars(), rules="amd", base_types=TYPES)
row = rows.row
test_storage = table(
    rows("""
    # The parts are contiguous, in the order in which their operations are executed; the size is the sum of theirs.
    reg5; piece 4; reg6; piece 2; reg7; piece 1 -> {32:r5 16:r6 8:r7}
    reg5; piece 4; reg6; piece 2; LLVM_piece_end; lit5; LLVM_offset -> {32:r5 16:r6}+40
    reg5; piece 4; reg6; piece 2; LLVM_piece_end; lit6; LLVM_offset -> offset_out_of_storage
    reg5; piece 3; reg6; piece 1 -> 88776600 where read={"bytes": 4},
        registers={"5": 0x1122334455667788, "6": 0x99AABBCCDDEEFF00}
    reg5; piece 3; reg6; piece 1 -> 11223399 where read={"bytes": 4},
        registers={"5": 0x1122334455667788, "6": 0x99AABBCCDDEEFF00}, byte_order="big"
    # Any kind of location description can be a part, and many kinds in one composite.
    regx s5; piece 4; lit16; lit3; LLVM_form_aspace_address; piece 4; lit16; lit5; LLVM_form_aspace_address; piece 4;
        addr 0x10; piece 4; lit7; stack_value; piece 4; LLVM_undefined; piece 4; regx v1; lit8; LLVM_offset; piece 4
        -> {32:s5 32:local#0x10 32:private_lane#0x10@3 32:mem 0x10 32:implicit 0700000000000000 32:undefined 32:v1+64}
        where target=WAVE64, lane=3
    # All bits of a part must be within the storage.
    reg5; piece 8 -> {64:r5}
    reg5; piece 9 | reg5; lit1; LLVM_offset; piece 8 | reg5; lit1; LLVM_bit_offset; bit_piece 64 0 |
        implicit_value 010203; piece 4 | const1s -4; piece 5 | piece 4; LLVM_piece_end; piece 5 -> bad_piece
    reg5; piece 5 -> bad_piece where address_size=4
    const1s -4; lit3; LLVM_form_aspace_address; piece 4 -> {32:local#0xfffffffc} where target=WAVE64
    const1s -4; lit3; LLVM_form_aspace_address; piece 5 -> bad_piece where target=WAVE64
    # ... of each of its places.
    piece 8 -> {64:r5 | mem 0x10} where initial_stack=[BOTH]
    piece 9 -> bad_piece where initial_stack=[BOTH]
    # The composite must not be larger than the largest address space.
    bit_piece 0xffffffffffffffff 0; bit_piece 1 0 -> {18446744073709551615:undefined 1:undefined}
    piece 0xffffffffffffffff; piece 1 -> {147573952589676412920:undefined 8:undefined}
    piece 0xffffffffffffffff; piece 2 | piece 0xffffffffffffffff; piece 1; bit_piece 1 0 |
        LLVM_undefined; LLVM_extend 0x8000000000000000 17 -> bad_piece
    piece 0x100000000 | LLVM_undefined; LLVM_extend 0x800000000 1 -> {34359738368:undefined} where address_size=4
    piece 0x100000001 | piece 0x100000000; bit_piece 1 0 | LLVM_undefined; LLVM_extend 0x400000000 3 |
        LLVM_undefined; LLVM_undefined; lit5; LLVM_select_bit_piece 0x400000000 3 -> bad_piece where address_size=4
    piece 0x100000000 -> {34359738368:undefined} where target=WAVE64
    # A zero-sized part is one of them.
    reg5; piece 0 -> {0:r5}      piece 0 -> {0:undefined}     reg5; piece 0; reg6; piece 4 -> {0:r5 32:r6}
    reg5; bit_piece 0 3; reg6; piece 4 -> {0:r5+3 32:r6}
    reg5; piece 0; reg6; piece 4 -> 00000007 where read={"bytes": 4}, registers={"6": 7 << 24}
    piece 0; LLVM_piece_end; lit0; LLVM_offset -> offset_out_of_storage
    # ... of which nothing is read or written: it may be of a register that cannot be read, or of constant storage.
    reg5; piece 2; reg7; piece 0; reg5; piece 2 -> 34123412 where read={"bytes": 4}, registers={"5": 0x1234}
    reg5; piece 2; reg7; piece 0; reg5; piece 2; LLVM_piece_end; deref_size 4 => str(0x12341234)
        where registers={"5": 0x1234}
    reg5; piece 2; bit_piece 0 3; reg6; piece 2; lit1; stack_value; piece 0; reg7; piece 1 -> 0102030405
        where write="0102030405", read={"bytes": 5}, registers={"5": 0, "6": 0, "7": 0}
    reg5; piece 2; implicit_pointer 0x10 0; piece 0; reg5; piece 2; LLVM_piece_end; deref_size 4
        => str(0x12341234) where registers={"5": 0x1234}, dies={"info:0x10": {}}
    reg5; piece 0; LLVM_piece_end -> where read={"bytes": 0}
    """),
    # Lanes may read from different bits, of the same part or of others.
    *[
        row(
            "",
            f"regx s5; piece 1; {empty}regx s6; piece 1; {END};LLVM_push_lane; LLVM_bit_offset; deref_type 1 6",
            [
                *(f"{0x53AC >> lane & 7}:unsigned3" for lane in range(14)),
                *["read_past_storage"] * 2,
                *["offset_out_of_storage"] * 16,
            ],
            registers={"s5": 0xAC, "s6": 0x53},
            target=WAVE32,
        )
        for empty in ("", "bit_piece 0 3; ")
    ],
    rows("""
    regx s5; bit_piece 13 0; regx s6; piece 4; regx s5; bit_piece 19 13; LLVM_piece_end; LLVM_push_lane;
        LLVM_bit_offset; deref_size 4 => [str((0x12345678 & 0x1FFF | 0x9ABCDEF0 << 13 | 0x12345678 >> 13 << 45) >> lane
        & 0xFFFFFFFF) for lane in range(32)] where registers={"s5": 0x12345678, "s6": 0x9ABCDEF0}, target=WAVE32
    # Composites nest.
    reg5; piece 4; reg6; piece 4; LLVM_piece_end; lit2; LLVM_offset; piece 4; reg7; piece 4
        -> {32:{32:r5 32:r6}+16 32:r7}
    reg5; piece 4; reg6; piece 4; LLVM_piece_end; lit2; LLVM_offset; piece 4; reg7; piece 4 -> 665588778877
        where read={"bytes": 6}, registers={"5": 0x55667788, "6": 0x55667788, "7": 0x55667788}
    reg5; piece 4; reg6; piece 4; LLVM_piece_end; lit2; LLVM_offset; piece 4; reg7; piece 4 -> 778855665566
        where read={"bytes": 6}, registers={str(number): 0x5566778800000000 for number in (5, 6, 7)}, byte_order="big"
    """),
)
test_incomplete_composites = table(
    # When the operation expression has completed, the composite on top is converted to a complete one.
    row("", "reg5; piece 4", "{32:r5}"),
    row("", "reg5; piece 4", "{32:r5}", want="location"),
    row("", "reg5; piece 4", "bad_result_kind", want="value"),
    row("", "reg5; piece 4", "07000000", read={"bytes": 4}, registers={"5": 7}),
    # One that is not on top is discarded, as every entry is.
    row("", "reg5; piece 4; reg6", "r6"),
    row("", "reg5; piece 4; lit6", "6"),
    # A stack entry that must be a location description, or anything at all, must not be an incomplete composite; nor
    # may a stack operation access it (A.2.5.4.1).
    *[
        row("", f"reg5; reg5; piece 4; {ops}", "incomplete_composite", registers={"5": 1})
        for ops in f"""
            deref | deref_size 4 | deref_type 4 2 | lit1; LLVM_offset | LLVM_offset_uconst 1 | lit1; LLVM_bit_offset |
            LLVM_extend 8 2 | lit1; LLVM_select_bit_piece 8 2 | reg6; lit1; LLVM_select_bit_piece 8 2 | stack_value |
            lit0; lit4; LLVM_overlay | reg6; lit0; lit4; LLVM_overlay | lit0; lit4; LLVM_bit_overlay | lit1; plus |
            neg | lit0; {FORM} | dup | drop | swap | lit1; swap | over; over | lit1; over | pick 0 | lit1; pick 1 |
            lit1; rot | lit1; lit1; rot""".split("|")
    ],
    rows("""
    # What lies beside it can be used.
    reg6; reg5; piece 4; lit1; pick 2 => ("r6", "{32:r5}", "1", "r6")
    reg5; piece 4; lit1; lit2; plus; drop -> {32:r5}
    reg5; piece 4; lit0; bra @end; reg6; piece 4; end: nop -> {32:r5 32:r6}
    # ... also to make the next part.
    reg5; piece 4; lit16; lit4; plus; LLVM_offset_uconst 4; piece 4 -> {32:r5 32:mem 0x18}
    reg5; piece 1; reg6; piece 1; LLVM_piece_end; reg7; piece 1 => ("{8:r5 8:r6}", "{8:r7}")
    # A call continues the evaluation of the same expression, so what it leaves stays incomplete ...
    call4 0x10; reg6; piece 4 -> {32:r5 32:r6} where dies={"unit:0x10": die("reg5; piece 4")}
    call4 0x10; LLVM_offset_uconst 1 -> incomplete_composite where dies={"unit:0x10": die("reg5; piece 4")}
    reg6; piece 2; call4 0x10; reg6; piece 4 -> {16:r6 32:r5 32:r6} where dies={"unit:0x10": die("reg5; piece 4")}
    # ... while that of a location list is another evaluation.
    call4 0x10; reg6; piece 4 => ("{32:r5}", "{32:r6}")
        where dies={"unit:0x10": {"location": [{"ops": "reg5; piece 4"}]}}
    call4 0x10; LLVM_offset_uconst 1 -> {32:r5}+8 where dies={"unit:0x10": {"location": [{"ops": "reg5; piece 4"}]}}
    """),
)
test_piece = rows.table("""
    # The stack is empty: a new composite, with an undefined part.
    (1) piece 4 | lit1; drop; piece 4 -> {32:undefined}
    # The top is an incomplete composite: an undefined part is appended.
    piece 4; piece 2 -> {32:undefined 16:undefined}
    reg5; piece 4; piece 2; piece 1 -> {32:r5 16:undefined 8:undefined}
    lit1; reg5; piece 4; piece 2 => ("1", "{32:r5 16:undefined}")
    # The top is a location description, with an incomplete composite below it: it is appended to that.
    reg5; piece 4; reg6; piece 2 -> {32:r5 16:r6}             piece 4; reg6; piece 2 -> {32:undefined 16:r6}
    lit1; reg5; piece 4; reg6; piece 2 => ("1", "{32:r5 16:r6}")
    # ... with anything else below it, or nothing: a new composite.
    reg5; piece 4 -> {32:r5}     lit1; reg5; piece 4 => ("1", "{32:r5}")
    reg4; reg5; piece 4 => ("r4", "{32:r5}")
    reg4; piece 4; LLVM_piece_end; reg5; piece 4 => ("{32:r4}", "{32:r5}")
    reg4; piece 4; LLVM_piece_end; piece 2 -> {16:{32:r4}}
    reg4; piece 4; lit1; reg5; piece 4 => ("{32:r4}", "1", "{32:r5}")
    reg4; piece 4; lit1; reg5; piece 4; LLVM_piece_end; drop; drop; piece 1 -> {32:r4 8:undefined}
    # What can be converted to a location description is (A.2.5.4.4.3).
    lit16; piece 4 -> {32:mem 0x10}
    lit16; piece 4; const1u 32; piece 4 -> {32:mem 0x10 32:mem 0x20}
    breg5 4; piece 4 -> {32:mem 0x14} where registers={"5": 16}
    implicit_pointer 0x10 0; deref; piece 4 -> {32:mem 0x30} where dies={"info:0x10": die("addr 0x30")}
    # Otherwise the expression is ill-formed.
    const_type 4 1000000000000000; piece 4 | const_type 3 0000803f; piece 4 | reg5; piece 4; const_type 1 01; piece 4
        -> wrong_kind
    # A displacement other than 0 is computed before.
    reg5; lit4; LLVM_offset; piece 4 -> {32:r5+32}            piece 4 -> {32:r5 | mem 0x10} where initial_stack=[BOTH]
    # For all lanes, each of which has a part of its own.
    regx v1; LLVM_push_lane; lit4; mul; LLVM_offset; piece 4; regx v2; LLVM_push_lane; lit4; mul; LLVM_offset;
        piece 4 => [f"{lane:02x}000000{100 + lane:02x}000000" for lane in range(64)]
        where read={"bytes": 8}, registers={"v1": list(range(64)), "v2": list(range(100, 164))}, target=WAVE64
    LLVM_push_lane; lit1; and; bra @odd; regx s4; piece 4; skip @end; odd: piece 2; regx s5; piece 2; end: nop
        => ["{32:s4}", "{16:undefined 16:s5}"] * 16 where target=WAVE32
    regx s4; LLVM_push_lane; LLVM_bit_offset; bit_piece 24 0
        => ["{24:s4}", *(f"{{24:s4+{lane}}}" for lane in range(1, 9)), *["bad_piece"] * 23] where target=WAVE32
    """)
NIBBLES = "reg5; bit_piece 4 8; reg5; bit_piece 4 20"
DIGITS = {"5": 0x0123456789ABCDEF}
test_bit_piece = rows.table("""
    # As DW_OP_piece: a part of S bits, at B bits into the location.
    (2) bit_piece 5 0 -> {5:undefined}                        bit_piece 5 3; bit_piece 6 2 -> {5:undefined 6:undefined}
    reg5; bit_piece 5 3 -> {5:r5+3}
    reg5; bit_piece 5 3; bit_piece 2 7 -> {5:r5+3 2:undefined}
    reg5; bit_piece 5 3; reg6; bit_piece 6 2; reg7; piece 1 -> {5:r5+3 6:r6+2 8:r7}
    lit1; reg5; bit_piece 5 3 => ("1", "{5:r5+3}")            lit16; bit_piece 5 11 -> {5:mem 0x11.3}
    reg5; lit2; LLVM_bit_offset; bit_piece 5 3 -> {5:r5+5}
    bit_piece 7 9 -> {7:r5+9 | mem 0x11.1} where initial_stack=[BOTH]
    regx v43; bit_piece 32 96; regx v43; bit_piece 32 128 -> {32:v43+96 32:v43+128} where target=WAVE64
    piece 4; LLVM_piece_end; bit_piece 5 3 -> {5:{32:undefined}+3}
    # The bits count from the start of the storage on.
    {NIBBLES} -> ad where read={"bytes": 1}, registers=DIGITS
    {NIBBLES} -> 25 where read={"bytes": 1}, registers=DIGITS, byte_order="big"
    (2) addr 0x10; bit_piece 12 4; piece 1 -> 2103 undefined 00f0 where read={"bytes": 2}, memory=[memory(16, "1032")]
    addr 0x10; bit_piece 12 4; piece 1 -> 0320 undefined 000f
        where read={"bytes": 2}, memory=[memory(16, "1032")], byte_order="big"
    # B is applied as by DW_OP_LLVM_bit_offset: it must be within the storage, but leaves an undefined location alone.
    reg5; bit_piece 1 63 -> {1:r5+63}
    reg5; bit_piece 1 64 | reg5; bit_piece 0 64 -> offset_out_of_storage
    reg5; bit_piece 1 32 -> offset_out_of_storage where address_size=4
    LLVM_undefined; bit_piece 1 10000 | bit_piece 1 10000 -> {1:undefined}
    # The part must be within the storage.
    reg5; bit_piece 61 3 -> {61:r5+3}                         reg5; bit_piece 62 3 -> bad_piece
    bit_piece 62 3 -> bad_piece where initial_stack=[BOTH]
    reg5; bit_piece 30 3 -> bad_piece where address_size=4, byte_order="big"
    const_type 3 0000803f; bit_piece 8 0 -> wrong_kind
    """)
test_piece_end = rows.table("""
    # It makes the incomplete composite on top of the stack complete.
    (3) reg5; piece 4; {END} -> {32:r5}
    piece 4; {END}; dup => ("{32:undefined}", "{32:undefined}")
    reg5; piece 4; {END}; deref_size 4 -> 7 where registers={"5": 7}
    reg5; piece 4; {END}; reg6; piece 4 => ("{32:r5}", "{32:r6}")
    lit1; reg5; piece 4; {END}; swap => ("{32:r5}", "1")
    # Anything else on top is ill-formed.
    {END} -> stack_underflow
    lit1; {END} | reg5; {END} | LLVM_undefined; {END} | reg5; piece 4; {END}; {END} | reg5; piece 4; lit1; {END} |
        reg5; LLVM_extend 8 2; {END} -> wrong_kind
    {END} -> wrong_kind where initial_stack=[{"kind": "composite", "parts": [{"bit_size": 8, "location": BOTH}]}]
    """)
test_extend = rows.table("""
    # A complete composite of C identical parts of S bits.
    (4) reg5; LLVM_extend 8 3 -> {8:r5 8:r5 8:r5}             reg5; LLVM_extend 64 1 -> {64:r5}
    reg5; lit3; LLVM_bit_offset; LLVM_extend 5 2 -> {5:r5+3 5:r5+3}
    reg5; LLVM_extend 8 4; deref_size 4 => str(0x07070707) where registers={"5": 7}
    reg5; LLVM_extend 4 4; deref_size 2 => str(0xAAAA) where registers={"5": 0xBA}
    reg5; LLVM_extend 4 4; deref_size 2 => str(0xBBBB) where registers={"5": 0xBA << 56}, byte_order="big"
    reg5; LLVM_extend 12 4; lit4; LLVM_bit_offset; deref_size 2 => str(0xBACB) where registers={"5": 0xCBA}
    lit16; LLVM_extend 8 2 -> {8:mem 0x10 8:mem 0x10}
    LLVM_undefined; LLVM_extend 64 2 -> {64:undefined 64:undefined}
    LLVM_extend 8 2 -> {8:r5 | mem 0x10 8:r5 | mem 0x10} where initial_stack=[BOTH]
    reg5; piece 1; reg6; piece 1; LLVM_piece_end; LLVM_extend 16 2 -> {16:{8:r5 8:r6} 16:{8:r5 8:r6}}
    lit1; reg5; LLVM_extend 8 2 => ("1", "{8:r5 8:r5}")
    reg5; piece 1; reg5; LLVM_extend 8 2; piece 2 -> {8:r5 16:{8:r5 8:r5}}
    reg5; extend 8 2 -> {8:r5 8:r5}
    regx pc; LLVM_extend 64 64; LLVM_push_lane; lit8; mul; LLVM_offset; deref => ["4660"] * 64
        where registers={"pc": 0x1234}, target=WAVE64
    # S and C must not be 0.
    reg5; LLVM_extend 0 2 | reg5; LLVM_extend 8 0 | reg5; LLVM_extend 0 0 -> bad_operand
    # The entry popped must be a complete location description.
    const_type 2 01000000; LLVM_extend 8 2 -> wrong_kind      LLVM_extend 8 2 -> stack_underflow
    # Each part must be within the storage.
    reg5; LLVM_extend 65 2 | reg5; lit1; LLVM_bit_offset; LLVM_extend 64 1 -> bad_piece
    LLVM_extend 65 1 -> bad_piece where initial_stack=[BOTH]
    """)
test_select_bit_piece = rows.table("""
    # C parts of S bits: part N is at N*S bits from L1 where bit N of the mask is 1, otherwise from L0.
    (5) reg5; reg6; lit10; LLVM_select_bit_piece 8 4 -> {8:r5 8:r6+8 8:r5+16 8:r6+24}
    reg5; reg6; lit0; LLVM_select_bit_piece 8 2 -> {8:r5 8:r5+8}
    reg5; reg6; lit3; LLVM_select_bit_piece 8 2 -> {8:r6 8:r6+8}
    reg5; reg6; lit1; LLVM_select_bit_piece 3 3 -> {3:r6 3:r5+3 3:r5+6}
    reg5; reg6; lit1; LLVM_select_bit_piece 64 1 -> {64:r6}
    reg5; lit2; LLVM_bit_offset; lit16; lit6; LLVM_select_bit_piece 8 4 -> {8:r5+2 8:mem 0x11 8:mem 0x12 8:r5+26}
    # Bits of the mask beyond C mean nothing.
    reg5; reg6; const1s -2; LLVM_select_bit_piece 8 2 -> {8:r5 8:r6+8}
    reg5; reg6; lit10; LLVM_select_bit_piece 8 4; deref_size 4 => str(0x11334455)
        where registers={"5": 0x22334455, "6": 0x11AA44BB}
    reg5; reg6; lit10; LLVM_select_bit_piece 8 4; deref_size 4 => str(0x22AA44BB)
        where registers={"5": 0x22334455, "6": 0x11AA44BB}, byte_order="big", address_size=4
    # ... the N-th least significant one, whatever the byte order of the target.
    reg5; reg6; lit1; LLVM_select_bit_piece 8 2 -> {8:r6 8:r5+8} where byte_order="big"
    # The locations can be of any kind, and complete composites themselves.
    LLVM_undefined; reg6; lit5; LLVM_select_bit_piece 8 3 -> {8:r6 8:undefined 8:r6+16}
    implicit_value 010203; reg6; lit2; LLVM_select_bit_piece 8 3 -> {8:implicit 010203 8:r6+8 8:implicit 010203+16}
    lit16; lit3; LLVM_form_aspace_address; regx s5; lit2; LLVM_select_bit_piece 8 3
        -> {8:local#0x10 8:s5+8 8:local#0x12} where target=WAVE64
    reg6; lit1; LLVM_select_bit_piece 8 2 -> {8:r6 8:r5+8 | mem 0x11} where initial_stack=[BOTH]
    reg5; LLVM_extend 16 2; reg6; lit1; LLVM_select_bit_piece 16 2 -> {16:r6 16:{16:r5 16:r5}+16}
    lit7; reg5; reg6; lit1; LLVM_select_bit_piece 8 1 => ("7", "{8:r6}")
    reg5; reg6; lit1; select_bit_piece 8 2 -> {8:r6 8:r5+8}
    # An input that is too short for a part that is not taken from it does no harm.
    implicit_value 01; reg6; lit6; LLVM_select_bit_piece 8 3 -> {8:implicit 01 8:r6+8 8:r6+16}
    implicit_value 01; reg6; lit4; LLVM_select_bit_piece 8 3 -> offset_out_of_storage
    reg5; implicit_value 0102; lit7; LLVM_select_bit_piece 8 3 -> offset_out_of_storage
    reg5; implicit_value 0102; lit2; LLVM_select_bit_piece 12 2 -> bad_piece
    reg5; reg6; lit0; LLVM_select_bit_piece 65 1 -> bad_piece
    # S and C must not be 0.
    reg5; reg6; lit1; LLVM_select_bit_piece 0 2 | reg5; reg6; lit1; LLVM_select_bit_piece 8 0 -> bad_operand
    # The bit size of the mask must not be less than C.
    reg5; reg6; const_type 1 05; LLVM_select_bit_piece 8 8
        -> {8:r6 8:r5+8 8:r6+16 8:r5+24 8:r5+32 8:r5+40 8:r5+48 8:r5+56}
    reg5; reg6; const_type 1 05; LLVM_select_bit_piece 4 9 | reg5; reg6; const_type 6 05; LLVM_select_bit_piece 8 4 |
        LLVM_undefined; reg6; lit0; LLVM_select_bit_piece 1 65 -> bad_size
    reg5; reg6; const_type 6 05; LLVM_select_bit_piece 8 3 -> {8:r6 8:r5+8 8:r6+16}
    LLVM_undefined; reg6; lit0; LLVM_select_bit_piece 1 64; drop -> undefined
    LLVM_undefined; LLVM_undefined; const_type 5 ffffffffffffffffffffffffffffffff; LLVM_select_bit_piece 1 128; drop
        -> undefined
    LLVM_undefined; reg6; lit0; LLVM_select_bit_piece 1 33 -> bad_size where address_size=4
    LLVM_undefined; LLVM_undefined; const_type 2 ffffffff; LLVM_select_bit_piece 32 64 -> bad_size where target=WAVE64
    reg5; reg6; const_type 1 ff; LLVM_select_bit_piece 8 2 -> {8:r6 8:r6+8}
    reg5; reg6; addr 2; LLVM_select_bit_piece 8 2 -> {8:r5 8:r6+8}
    # The mask must be of an integral type, the others location descriptions.
    reg5; reg6; const_type 3 0000803f; LLVM_select_bit_piece 8 2 -> integral_type_required
    reg5; reg6; reg7; LLVM_select_bit_piece 8 2 | reg5; const_type 4 0000000000000000; lit1; LLVM_select_bit_piece 8 2 |
        const_type 4 0000000000000000; reg5; lit1; LLVM_select_bit_piece 8 2 -> wrong_kind
    reg6; lit1; LLVM_select_bit_piece 8 2 -> stack_underflow
    # Each lane takes its own part; masks may differ from lane to lane.
    regx v1; regx v2; regx exec; deref; LLVM_select_bit_piece 32 64; LLVM_push_lane; lit4; mul; LLVM_offset;
        deref_size 4 => [str(lane + (200 if 0xF0F0F0F0F0F0F0F0 >> lane & 1 else 100)) for lane in range(64)] where
        registers={"v1": list(range(100, 164)), "v2": list(range(200, 264)), "exec": 0xF0F0F0F0F0F0F0F0}, target=WAVE64
    regx v1; regx v2; regx exec; deref_size 4; LLVM_select_bit_piece 32 32; LLVM_push_lane; lit4; mul; LLVM_offset;
        deref_size 4 => [str(lane + (200 if 0x80000001 >> lane & 1 else 100)) for lane in range(32)]
        where registers={"v1": list(range(100, 132)), "v2": list(range(200, 232)), "exec": 0x80000001}, target=WAVE32
    regx s5; regx s6; LLVM_push_lane; LLVM_select_bit_piece 8 2
        => [f"{{8:{'s6' if lane & 1 else 's5'} 8:{'s6' if lane & 2 else 's5'}+8}}" for lane in range(32)]
        where target=WAVE32
    """)
test_overlay = rows.table("""
    # DW_OP_LLVM_overlay is DW_OP_LLVM_bit_overlay with sizes in bytes.
    (6) reg5; reg6; lit2; lit3; LLVM_overlay -> {16:r5 24:r6 24:r5+40}
    reg5; reg6; lit0; lit4; LLVM_overlay -> {32:r6 32:r5+32}
    reg5; reg6; lit4; lit4; LLVM_overlay -> {32:r5 32:r6}     reg5; reg6; lit0; lit8; LLVM_overlay -> r6
    reg5; reg6; lit8; lit0; LLVM_overlay -> r5                reg5; reg6; lit1; lit8; LLVM_overlay -> bad_piece
    reg5; reg6; const_type 1 ff; lit1; LLVM_overlay -> bad_operand
    reg5; reg6; lit1; const_type 7 ffffffff; LLVM_overlay -> bad_operand
    reg5; reg6; lit1; lit1; overlay -> {8:r5 8:r6 48:r5+16}   reg5; reg6; lit2; reg7; LLVM_overlay -> wrong_kind
    reg6; lit2; lit3; LLVM_overlay -> stack_underflow
    # Scaled by 8, nothing is lost.
    reg5; reg6; const_type 4 0000000000000020; lit1; LLVM_overlay -> bad_piece
    reg5; reg6; lit1; const_type 4 0000000000000020; LLVM_overlay -> bad_piece
    lit0; reg6; const_type 4 0000000000000020; lit1; LLVM_overlay
        -> {18446744073709551616:mem 0x0 8:r6 129127208515966861304:mem 0x2000000000000001}
    # The composite is nearly as large as the address space then; each lane reads at its own offset from it.
    const2u 0x1000; regx v6; lit16; const1u 64; LLVM_overlay; LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4
        => [str(200 + lane - 4 if 4 <= lane < 20 else 100 + lane) for lane in range(32)]
        where registers={"v6": list(range(200, 232))},
        memory=[memory(0x1000, "".join(f"{100 + lane:02x}000000" for lane in range(32)))], target=WAVE32
    const2u 0x1000; regx v6; lit16; const2u 128; LLVM_overlay; LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4
        => [str(150 + lane - 4 if 4 <= lane < 36 else 100 + lane) for lane in range(64)]
        where registers={"v6": list(range(150, 214))},
        memory=[memory(0x1000, "".join(f"{100 + lane:02x}000000" for lane in range(64)))], target=WAVE64
    # Each lane's own slice.
    const2u 0x1000; regx s6; LLVM_push_lane; lit4; mul; lit4; LLVM_overlay; lit8; LLVM_offset; deref_size 4
        => ["3", "3", "9", *["3"] * 29] where registers={"s6": 9}, memory=[memory(0x1008, "03000000")], target=WAVE32
    """)
test_bit_overlay = table(
    rows("""
    # BL, with BS bits of it, from BO on, replaced by those at OL.
    (7) reg5; reg6; lit3; lit5; LLVM_bit_overlay | reg5; reg6; lit3; lit5; bit_overlay -> {3:r5 5:r6 56:r5+8}
    reg5; reg6; lit0; lit5; LLVM_bit_overlay -> {5:r6 59:r5+5}
    reg5; reg6; const1u 59; lit5; LLVM_bit_overlay -> {59:r5 5:r6}
    reg5; reg6; lit3; const1u 61; LLVM_bit_overlay -> {3:r5 61:r6}
    # The base and the overlay begin at their own bit offsets.
    reg5; lit4; LLVM_bit_offset; reg6; lit7; LLVM_bit_offset; lit3; lit5; LLVM_bit_overlay -> {3:r5+4 5:r6+7 52:r5+12}
    lit16; reg6; lit8; const1u 64; LLVM_bit_overlay -> {8:mem 0x10 64:r6 147573952589676412728:mem 0x19}
    lit16; reg6; lit8; lit8; LLVM_bit_overlay -> {8:mem 0x10 8:r6 34359738224:mem 0x12} where address_size=4
    lit16; lit3; LLVM_form_aspace_address; regx s6; lit0; lit16; LLVM_bit_overlay
        -> {16:s6 34359738224:local#0x12} where target=WAVE64
    # The result is complete.
    reg5; reg6; lit4; lit4; LLVM_bit_overlay; deref => str(0x12345678_9ABCDE0F & ~0xF0 | 0x50)
        where registers={"5": 0x123456789ABCDE0F, "6": 5}
    reg5; reg6; lit4; lit4; LLVM_bit_overlay; deref => str(0x153456789ABCDE0F)
        where registers={"5": 0x123456789ABCDE0F, "6": 5 << 60}, byte_order="big"
    reg5; reg6; lit4; lit4; LLVM_bit_overlay; reg7; piece 1 => ("{4:r5 4:r6 56:r5+8}", "{8:r7}")
    lit1; reg5; reg6; lit4; lit4; LLVM_bit_overlay => ("1", "{4:r5 4:r6 56:r5+8}")
    # An overlay of an overlay.
    reg5; reg6; lit8; lit8; LLVM_bit_overlay; reg7; lit12; lit8; LLVM_bit_overlay
        -> {12:{8:r5 8:r6 48:r5+16} 8:r7 44:{8:r5 8:r6 48:r5+16}+20}
    # If BS is 0, the result is BL,
    reg5; reg6; lit3; lit0; LLVM_bit_overlay | reg5; reg6; lit0; lit0; LLVM_bit_overlay -> r5
    reg5; lit4; LLVM_bit_offset; reg6; const1u 60; lit0; LLVM_bit_overlay -> r5+4
    reg6; lit3; lit0; LLVM_bit_overlay -> r5 | mem 0x10 where initial_stack=[BOTH]
    # if it covers all that is left of BL, the result is OL,
    reg5; reg6; lit0; const1u 64; LLVM_bit_overlay -> r6
    reg5; lit4; LLVM_bit_offset; reg6; lit0; const1u 60; LLVM_bit_overlay -> r6
    implicit_value 01; implicit_value 0203; lit0; lit8; LLVM_bit_overlay -> implicit 0203
    """),
    row(
        "(7)",
        "reg5; implicit_value 01; lit0; const1u 64; LLVM_bit_overlay",
        "implicit 01",  # before the bits of the overlay are looked at
    ),
    rows("""
    # ... what is left of the place with the least.
    (7) reg6; lit0; const1u 64; LLVM_bit_overlay -> r6 where initial_stack=[BOTH]
    reg6; lit8; lit8; LLVM_bit_overlay -> {8:r5 | mem 0x10 8:r6 48:r5+16 | mem 0x12} where initial_stack=[BOTH]
    reg6; lit8; const1u 57; LLVM_bit_overlay -> bad_piece where initial_stack=[BOTH]
    reg5; swap; lit8; lit8; LLVM_bit_overlay -> {8:r5 8:r5 | mem 0x10 48:r5+16} where initial_stack=[BOTH]
    # An undefined base shows nothing but the overlay.
    LLVM_undefined; reg6; lit8; lit8; LLVM_bit_overlay -> 000700 undefined ff00ff
        where read={"bytes": 3}, registers={"6": 7}
    LLVM_undefined; reg6; lit8; lit8; LLVM_bit_overlay -> 000700 undefined ff00ff
        where read={"bytes": 3}, registers={"6": 7}, address_size=4
    reg5; LLVM_undefined; lit8; lit8; LLVM_bit_overlay -> {8:r5 8:undefined 48:r5+16}
    # BO and BS must not be negative.
    reg5; reg6; const_type 1 ff; lit8; LLVM_bit_overlay | reg5; reg6; lit8; const_type 1 ff; LLVM_bit_overlay |
        reg5; reg6; const_type 7 ffffffff; lit0; LLVM_bit_overlay -> bad_operand
    # What is left of BL must not be less than BO plus BS.
    reg5; reg6; lit8; const1u 57; LLVM_bit_overlay | reg5; reg6; const1u 65; lit0; LLVM_bit_overlay |
        reg5; lit4; LLVM_bit_offset; reg6; lit0; const1u 61; LLVM_bit_overlay |
        reg5; reg6; const_type 4 ffffffffffffffff; lit8; LLVM_bit_overlay -> bad_piece
    reg5; reg6; lit8; lit25; LLVM_bit_overlay -> bad_piece where address_size=4, byte_order="big"
    # The part of the overlay must be within its storage.
    reg5; implicit_value 01; lit8; lit9; LLVM_bit_overlay -> bad_piece
    # Two integral values and two location descriptions.
    reg5; reg6; const_type 3 0000803f; lit8; LLVM_bit_overlay -> integral_type_required
    reg5; reg6; lit8; const_type 3 0000803f; LLVM_bit_overlay -> integral_type_required
    reg5; reg6; reg7; lit8; LLVM_bit_overlay | reg5; const_type 4 1000000000000000; lit8; lit8; LLVM_bit_overlay |
        const_type 4 1000000000000000; reg5; lit8; lit8; LLVM_bit_overlay -> wrong_kind
    reg6; lit8; lit8; LLVM_bit_overlay -> stack_underflow
    # In each lane at another position.
    regx s5; regx s6; LLVM_push_lane; lit4; LLVM_bit_overlay; deref_size 4
        => [*(str(0xFFFFFFFF & ~(0xF << lane)) for lane in range(29)), *["bad_piece"] * 3]
        where registers={"s5": 0xFFFFFFFF, "s6": 0}, target=WAVE32
    regx s5; regx s6; lit4; LLVM_push_lane; LLVM_bit_overlay => ["s5", *(f"{{4:s5 {lane}:s6 {28 - lane}:s5+{4 + lane}}}"
        for lane in range(1, 28)), "{4:s5 28:s6}", *["bad_piece"] * 3] where target=WAVE32
    """),
)
