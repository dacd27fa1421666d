"""A.2.5.4.4.2 Undefined location description operations."""

from tests.builders.cases import Rows

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
MAYBE = {"kind": "multiple", "places": [{"kind": "undefined"}, {"kind": "register", "register": 5}]}
rows = Rows("A.2.5.4.4.2", vars(), rules="amd")
test_undefined = rows.table("""
    (1) LLVM_undefined | undefined -> undefined               LLVM_undefined -> undefined where want="location"
    LLVM_undefined -> undefined where address_size=4, byte_order="big"
    LLVM_undefined => ["undefined"] * 64 where target=WAVE64
    lit1; LLVM_undefined; dup => ("1", "undefined", "undefined")
    # An empty expression is the same (A.2.5.4), as it is in DWARF 5.
    -> undefined                 -> undefined where want="location"                        lit1; drop -> undefined
    # A location without any bits is not the undefined one.
    implicit_value 0x => "implicit "
    # It is not a value and cannot be converted to one (A.2.5.4).
    LLVM_undefined -> bad_result_kind where want="value"
    LLVM_undefined; stack_value | LLVM_undefined; lit1; plus | LLVM_undefined; bra @end; end: nop |
        LLVM_undefined; lit0; LLVM_form_aspace_address -> wrong_kind
    """)
test_offset_operations = rows.table("""
    # There is no bit offset in it: the offset operations leave it unchanged.
    LLVM_undefined; lit4; LLVM_offset | LLVM_undefined; const1s -1; LLVM_offset |
        LLVM_undefined; const8u 0x7fffffffffffffff; LLVM_offset |
        LLVM_undefined; const8u 0x8000000000000000; LLVM_offset | LLVM_undefined; const1s -1; LLVM_bit_offset |
        LLVM_undefined; lit3; LLVM_bit_offset | LLVM_undefined; LLVM_offset_uconst 0xffffffffffffffff -> undefined
    LLVM_undefined; LLVM_push_lane; LLVM_offset => ["undefined"] * 32 where target=WAVE32
    # ... but B must be an integral value all the same.
    LLVM_undefined; reg5; LLVM_offset -> wrong_kind
    # Among several places only the others move.
    lit4; LLVM_offset -> undefined | r5+32 where initial_stack=[MAYBE]
    lit8; LLVM_offset -> offset_out_of_storage where initial_stack=[MAYBE]
    # A composite that has undefined bits has a size.
    piece 4; LLVM_piece_end; lit3; LLVM_offset -> {32:undefined}+24
    piece 4; LLVM_piece_end; lit4; LLVM_offset -> offset_out_of_storage
    """)
test_pieces = rows.table("""
    # The piece operations specify it implicitly or explicitly, with any size and offset; all bits of the part are
    # undefined.
    piece 4 | LLVM_undefined; piece 4 -> {32:undefined}
    bit_piece 5 0 | bit_piece 5 1000 | LLVM_undefined; bit_piece 5 0xffffffffffff -> {5:undefined}
    LLVM_undefined; piece 0x1000000000000000 -> {9223372036854775808:undefined}
    reg5; piece 4; piece 2; reg6; piece 2 -> {32:r5 16:undefined 16:r6}
    piece 4 | LLVM_undefined; LLVM_extend 8 4 -> 00000000 undefined ffffffff where read={"bytes": 4}
    LLVM_undefined; bit_piece 8 3 -> 00 undefined ff where read={"bytes": 1}
    reg5; piece 1; bit_piece 4 0; reg5; bit_piece 4 0 -> 8770 undefined 000f
        where read={"bytes": 2}, registers={"5": 0x87}
    reg5; piece 1; bit_piece 4 0; reg5; bit_piece 4 0 -> 8708 undefined 00f0
        where read={"bytes": 2}, registers={"5": 0x87 << 56}, byte_order="big"
    LLVM_undefined; reg5; lit2; LLVM_select_bit_piece 8 2 -> {8:undefined 8:r5+8}
    """)
test_access = rows.table("""
    # Neither reading nor writing it is meaningful (A.2.5.4.3.4 (4): an evaluation error if any bit is undefined).
    LLVM_undefined; deref | LLVM_undefined; deref_size 1 -> undefined_read
    LLVM_undefined -> 00 undefined ff where read={"bytes": 1}
    LLVM_undefined -> undefined where read={"type": {"encoding": "signed", "byte_size": 4}}
    LLVM_undefined -> not_writable where write="00"
    reg5; piece 4; piece 4 -> not_writable where write="01" * 8, registers={"5": 0}
    lit4; stack_value; piece 4 -> not_writable where write="01"
    # One undefined bit is enough.
    reg5; piece 4; piece 4; LLVM_piece_end; deref -> undefined_read where registers={"5": 1}
    reg5; bit_piece 63 0; bit_piece 1 0; LLVM_piece_end; deref -> undefined_read where registers={"5": 1}
    reg5; piece 4; piece 4; LLVM_piece_end; deref_size 4 -> 305419896 where registers={"5": 0x12345678}
    reg5; piece 4; piece 4; LLVM_piece_end; deref_size 4 -> 305419896
        where registers={"5": 0x12345678 << 32}, byte_order="big"
    # In lanes of which only some come from the undefined storage, only these have the error.
    regx v4; LLVM_undefined; lit6; LLVM_select_bit_piece 32 32; LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4
        => ["undefined_read" if lane in (1, 2) else str(100 + lane) for lane in range(32)]
        where target=WAVE32, registers={"v4": [100 + lane for lane in range(32)]}
    """)
