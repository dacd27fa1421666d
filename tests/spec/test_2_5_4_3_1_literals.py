"""A.2.5.4.3.1 Literal Operations."""

from tests.builders.cases import Rows, base_types, table

TYPES = base_types(
    "1 signed8, 2 unsigned16, 3 float32, 4 signed7, 5 unsigned24, 7 unsigned65, 8 unsigned128, 9 unsigned2040, 10 "
    "unsigned2048, 11 unsigned1, 12 unsigned16x3, 13 boolean8, 14 UTF32, 15 complex_float64, 0x80 signed32, "
    "0xffffffffffffffff signed32, 6 signed33/8"
)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
rows = Rows("A.2.5.4.3.1", vars(), rules="amd", dialect="llvm-user", base_types=TYPES)
row = rows.row
test_lit = table(
    # "an unsigned literal value N from 0 through 31, inclusive ... with the generic type"
    *(row("(1)", f"lit{n}", str(n)) for n in range(32)),
    *(row("(1)", "lit31", "31", address_size=size) for size in SIZES))  # fmt: skip
test_constants = rows.table("""
    # "a single operand that is a 1, 2, 4, or 8-byte unsigned integer constant U"
    (2) const1u 0 | const2u 0 | const4u 0 | const8u 0 -> 0    const1u 127 -> 127           const1u 128 -> 128
    const1u 255 -> 255           const2u 0x7fff -> 32767      const2u 0x8000 -> 32768      const2u 0xffff -> 65535
    const4u 0x7fffffff -> 2147483647                          const4u 0x80000000 -> 2147483648
    const4u 0xffffffff -> 4294967295                          const8u 0x7fffffffffffffff -> 9223372036854775807
    const8u 0x8000000000000000 -> 9223372036854775808         const8u 0xffffffffffffffff -> 18446744073709551615
    # "... signed integer constant S": a generic value is shown unsigned
    (3) const1s 127 -> 127
    const1s -1 | const2s -1 | const4s -1 | const8s -1 => str(2**64 - 1)
    const1s -128 => str(2**64 - 128)                          const2s 32767 -> 32767
    const2s -32768 => str(2**64 - 32768)                      const4s 2147483647 -> 2147483647
    const4s -2147483648 => str(2**64 - 2**31)                 const8s 9223372036854775807 -> 9223372036854775807
    const8s -9223372036854775808 -> 9223372036854775808
    # "a single unsigned LEB128 integer operand N"
    (4) constu 0 -> 0            constu 127 -> 127            constu 128 -> 128
    constu 0xffffffffffffffff -> 18446744073709551615
    # "a single signed LEB128 integer operand N"
    (5) consts 0 -> 0            consts 63 -> 63              consts 64 -> 64              consts -1 => str(2**64 - 1)
    consts -64 => str(2**64 - 64)                             consts -65 => str(2**64 - 65)
    consts 9223372036854775807 -> 9223372036854775807         consts -9223372036854775808 -> 9223372036854775808
    # The bytes of constants stand in the byte order of the target.
    (2) const2u 0x102 -> 258 where expr="0a0201"
    const2u 0x102 -> 258 where expr="0a0102", byte_order="big"
    const4u 0x1020304 -> 16909060 where expr="0c04030201"
    const4u 0x1020304 -> 16909060 where expr="0c01020304", byte_order="big"
    const8u 0x102030405060708 -> 72623859790382856 where expr="0e0807060504030201"
    const8u 0x102030405060708 -> 72623859790382856 where expr="0e0102030405060708", byte_order="big"
    (3) const2s -2 => str(2**64 - 2) where expr="0bfeff"
    const2s -2 => str(2**64 - 2) where expr="0bfffe", byte_order="big"
    const4s -2 => str(2**64 - 2) where expr="0dfffffffe", byte_order="big"
    const8s -2 => str(2**64 - 2) where expr="0ffffffffffffffffe", byte_order="big"
    # ... LEB128 numbers have none.
    (4) constu 300 -> 300 where expr="10ac02", byte_order="big"
    (5) consts -300 => str(2**64 - 300) where expr="11d47d", byte_order="big"
    # Padded LEB128 numbers are numbers (DWARF 5, 7.6).
    (4) constu 1 -> 1 where expr="108100"                     constu 1 -> 1 where expr="1081" + "80" * 20 + "00"
    (5) consts -1 => str(2**64 - 1) where expr="11ff7f"
    consts -1 => str(2**64 - 1) where expr="11" + "ff" * 20 + "7f"
    consts 1 -> 1 where expr="118100"
    """)

# "If V is larger than the generic type, then V is truncated to the generic type size and the low-order bits used."
test_values_larger_than_the_generic_type_are_truncated = table(
    row("", "const2u 0x1234", "52", address_size=1),          row("", "const2u 0x1234", "4660", address_size=2),
    row("", "const4u 0x12345678", "120", address_size=1),     row("", "const4u 0x12345678", "22136", address_size=2),
    row("", "const4u 0x12345678", "3430008", address_size=3),
    row("", "const4u 0x12345678", "305419896", address_size=4),
    *(
        row("", f"{operation} 0x7edcba9876543210", str(0x7EDCBA9876543210 % 256**size), address_size=size)
        for operation in ("const8u", "const8s", "constu", "consts")
        for size in SIZES
    ),
    *(
        row("", f"{operation} -2", str(256**size - 2), address_size=size)
        for operation in ("const1s", "const2s", "const4s", "const8s", "consts")
        for size in SIZES
    ),
    *(
        row("", "const8s -9223372036854775808", str(2**63 % 256**size), address_size=size, byte_order="big")
        for size in SIZES
    ))  # fmt: skip
test_constx = rows.table("""
    # "a zero-based index into the .debug_addr section": "It pushes the value N with the generic type."
    (6) constx 0 | GNU_const_index 0 -> 4096 where debug_addr={"0": 0x1000}
    constx 300 -> 7 where debug_addr={"0": 0x1000, "300": 7}
    constx 0 -> 18446744073709551615 where debug_addr={"0": 2**64 - 1}
    constx 0 -> 16777215 where debug_addr={"0": 0xFFFFFF}, address_size=3
    # ... "should not be interpreted ... as a relocatable address": a value, where DW_OP_addrx pushes a location
    constx 0; addrx 0 => ("4096", "mem 0x1000") where debug_addr={"0": 0x1000}
    constx 1 -> bad_operand where debug_addr={"0": 0x1000}    constx 0 -> bad_operand where debug_addr={}
    constx 0xffffffffffffffff -> bad_operand where debug_addr={"0": 0}
    constx 0 -> unit
    """)
test_const_type = rows.table("""
    # "The least significant TS bits of B are interpreted as a value V of the type D. It pushes the value V with the
    # type D."
    (7) const_type 1 ff -> -1:signed8                         const_type 2 0201 -> 258:unsigned16
    const_type 2 0102 -> 258:unsigned16 where byte_order="big"
    const_type 3 0000803f -> 1.0:float32
    const_type 3 3f800000 -> 1.0:float32 where byte_order="big"
    const_type 13 01 -> 1:boolean8                            const_type 14 41000000 -> 65:UTF32
    const_type 12 010002000300 -> [1, 2, 3]:unsigned16x3
    const_type 12 000100020003 -> [1, 2, 3]:unsigned16x3 where byte_order="big"
    const_type 8 0100000000000000ff00000000000000 => f"{0xFF << 64 | 1}:unsigned128"
    const_type 8 000000000000000100000000000000ff => f"{1 << 64 | 0xFF}:unsigned128" where byte_order="big"
    const_type 9 {'ff' * 255} => f"{2**2040 - 1}:unsigned2040"
    # ... "TS is the bit size of the type T": what lies above TS bits in B does not count
    const_type 4 7f | const_type 4 ff -> -1:signed7           const_type 4 80 -> 0:signed7
    const_type 4 bf -> 63:signed7 where byte_order="big"      const_type 11 ff -> 1:unsigned1
    const_type 11 fe -> 0:unsigned1 where byte_order="big"    const_type 5 030201 -> 66051:unsigned24
    const_type 5 010203 -> 66051:unsigned24 where byte_order="big"
    const_type 6 ffffffff03 -> -1:signed33                    const_type 6 00000000fe -> 0:signed33
    const_type 6 fe00000001 -> 1:signed33 where byte_order="big"
    const_type 7 0000000000000000ff => f"{1 << 64}:unsigned65"
    const_type 7 ff0000000000000000 => f"{1 << 64}:unsigned65" where byte_order="big"
    # The generic type has no part in it: neither its size nor its sign.
    const_type 8 ffffffffffffffffffffffffffffffff => f"{2**128 - 1}:unsigned128" where address_size=1
    const_type 15 0000803f00000040; stack_value -> implicit 0000803f00000040
    # DR is an unsigned LEB128 integer.
    const_type 0x80 01000000 -> 1:signed32 where expr="a480010401000000"
    const_type 0xffffffffffffffff 01000000 -> 1:signed32      GNU_const_type 1 ff -> -1:signed8
    # "The DWARF is ill-formed if D is not a DW_TAG_base_type debugging information entry in the current compilation
    # unit"; 0 is the generic type for convert alone
    const_type 0x99 01 | const_type 0 01 | const_type 0xfffffffffffffffe 01 | const_type 0x99 0x -> bad_type
    const_type 1 01 -> bad_type where base_types={}
    # "... or if TS divided by 8 (the byte size) and rounded up to a whole number is not equal to S." 5 bytes hold 33
    # bits, where 8 are the DW_AT_byte_size; one element is not the vector; no operand has the 256 bytes of type 10
    const_type 1 0x | const_type 1 0102 | const_type 2 01 | const_type 2 010203 | const_type 3 0000803f00000000 |
        const_type 4 0x | const_type 6 ffffffff | const_type 6 ffffffffff000000 | const_type 7 0000000000000000 |
        const_type 12 0100 | const_type 10 {'ff' * 255} -> bad_size
    """)
test_push_lane = rows.table("""
    # "pushes the current lane as a value with the generic type": "the zero-based lane number"
    (8) LLVM_push_lane -> 0 where lane=0                      LLVM_push_lane -> 5 where lane=5, lane_count=64
    LLVM_push_lane -> 63 where lane=63, lane_count=64
    LLVM_push_lane -> 255 where lane=255, lane_count=256, address_size=1
    LLVM_push_lane => [str(lane) for lane in range(8)] where lane_count=8
    LLVM_push_lane => ["6", "1", "3"] where lanes=[6, 1, 3], lane_count=8
    LLVM_push_lane; const1u 3; shl => ["0", "8", "16", "24"] where lane_count=4
    # ... open: where no subprogram is known, its lanes are taken to be those of the target, and not 1 (A.3.3.5 (4))
    LLVM_push_lane => [str(lane) for lane in range(64)] where target="amdgcn-gfx90a"
    LLVM_push_lane => [str(lane) for lane in range(32)] where target="amdgcn-gfx1100-wave32"
    push_lane -> 5 where lane=5, lane_count=64, dialect="dwarf6", rules="dwarf6"
    LLVM_push_lane -> lane
    # "The value must be greater than or equal to 0 and less than the value of the DW_AT_LLVM_lanes attribute,
    # otherwise the DWARF expression is ill-formed."
    LLVM_push_lane -> bad_operand where lane=64, lane_count=64
    LLVM_push_lane -> bad_operand where lane=1, lane_count=1
    LLVM_push_lane -> bad_operand where lane=1
    LLVM_push_lane -> bad_operand where lane=32, target="amdgcn-gfx1100-wave32"
    LLVM_push_lane => ["0", "bad_operand", "1", "bad_operand"] where lanes=[0, 2, 1, 7], lane_count=2
    """)
test_push_iteration = rows.table("""
    # "pushes the current iteration as a value with the generic type"
    (9) LLVM_push_iteration -> 0 where iteration=0            LLVM_push_iteration -> 0 where iteration=0, iterations=1
    LLVM_push_iteration -> 7 where iteration=7, iterations=8
    LLVM_push_iteration; LLVM_push_lane; plus => ["3", "4"] where iteration=3, iterations=4, lane_count=2
    LLVM_push_iteration -> iteration
    LLVM_push_iteration -> iteration where lane=3, lane_count=8
    # "The value must be greater than or equal to 0 and less than the value of the DW_AT_LLVM_iterations attribute,
    # otherwise the DWARF expression is ill-formed."
    LLVM_push_iteration -> bad_operand where iteration=8, iterations=8
    # 1 is the default
    LLVM_push_iteration -> bad_operand where iteration=1
    LLVM_push_iteration -> bad_operand where iteration=2**32 - 1, iterations=8
    """)

# An operand of the assembler that its encoding cannot hold is refused, never cut.
test_operands_out_of_range = table(
    *(row("(2)", f"const{n}u {1 << 8 * n}", "bad_operand") for n in (1, 2, 4, 8)),
    *(row("(2)", f"const{n}u -1", "bad_operand") for n in (1, 2, 4, 8)),
    *(row("(3)", f"const{n}s {1 << 8 * n - 1}", "bad_operand") for n in (1, 2, 4, 8)),
    *(row("(3)", f"const{n}s {-(1 << 8 * n - 1) - 1}", "bad_operand") for n in (1, 2, 4, 8)),
    row("(4)", f"constu {1 << 64}", "bad_operand"),           row("(4)", "constu -1", "bad_operand"),
    row("(5)", f"consts {1 << 63}", "bad_operand"),           row("(5)", f"consts {-(1 << 63) - 1}", "bad_operand"),
    row("(7)", f"const_type 9 {'ff' * 256}", "bad_operand"),  row("(1)", "lit32", "unknown_operation"),
    row("(1)", "lit 1", "unknown_operation"))  # fmt: skip
