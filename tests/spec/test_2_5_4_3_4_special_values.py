"""A.2.5.4.3.4 Special Value Operations: values that are read from registers, memory and other storages."""

import pytest

from dwarfgpu.expr import locations, types
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.locations import UNDEFINED, Implicit, Memory
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import Value
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, base_types, notation, parsed, run, run_lanes, table
from tests.builders.contexts import Unit
from tests.builders.parameters import every, for_each, told

TYPES = base_types(
    "0x10 signed8, 0x11 signed16, 0x12 signed32, 0x13 signed64, 0x20 unsigned8, 0x21 unsigned16, 0x22 unsigned32, "
    "0x23 unsigned64, 0x24 unsigned128, 0x25 unsigned2048, 0x30 float16, 0x31 float32, 0x32 float64, 0x33 "
    "bfloat1616, 0x40 boolean8, 0x41 address64, 0x42 UTF32, 0x43 signed_char8, 0x50 unsigned1, 0x51 signed7, 0x52 "
    "unsigned24, 0x54 unsigned65, 0x60 unsigned16x4, 0x61 float32x4, 0x62 unsigned32x64, 0x70 complex_float64, "
    "0x53 signed33/8, 0x63 signed32x0"
)
REGISTERS = {"0": 0x1122334455667788, "1": 0xFFFFFFFFFFFFFFFE, "2": 0x3FF8000000000000, "3": 0x100, "5": 5}
DATA = "0102030405060708090a0b0c0d0e0f101112131415161718"
MEMORY = [{"space": 0, "address": 0x100, "bytes": DATA}]
GPU = "amdgcn-gfx90a"


class WithState(Rows):
    """Rows with registers and memory, where they do not choose a target of their own."""

    def row(self, clause, ops, expected, **case):
        if "target" not in case and "address_size" not in case:
            case = {"registers": REGISTERS, "memory": MEMORY, **case}
        return super().row(clause, ops, expected, **case)


rows = WithState("A.2.5.4.3.4", vars(), rules="amd", dialect="llvm-user", base_types=TYPES)
row = rows.row
BIG = {"byte_order": "big"}


def places(*found):
    return [{"kind": "multiple", "places": list(found)}]


def register(number):
    return {"kind": "register", "register": number}


test_regval_type = rows.table("""
    # "equivalent to performing DW_OP_regx R; DW_OP_deref_type DR"
    (1) regval_type 0 0x23 | regx 0; deref_type 8 0x23 -> 1234605616436508552:unsigned64
    regval_type 1 0x13 -> -2:signed64                         regval_type 2 0x32 -> 1.5:float64
    regval_type 3 0x41 -> 256:address64
    regval_type 0 0x60 -> [30600, 21862, 13124, 4386]:unsigned16x4
    # "the, possibly truncated, bit contents of the register is simply interpreted as a value of T": the bits from the
    # bit offset 0 on, which are those of the first bytes in memory order
    regval_type 0 0x22 -> 1432778632:unsigned32               regval_type 0 0x21 -> 30600:unsigned16
    regval_type 1 0x10 -> -2:signed8                          regval_type 1 0x50 -> 0:unsigned1
    regval_type 1 0x51 -> -2:signed7                          regval_type 0 0x52 -> 6715272:unsigned24
    regval_type 1 0x53 -> -2:signed33                         regval_type 5 0x40 -> 5:boolean8
    regval_type 5 0x42 -> 5:UTF32
    regval_type 0 0x23 -> 1234605616436508552:unsigned64 where **BIG
    regval_type 0 0x22 -> 287454020:unsigned32 where **BIG    regval_type 0 0x51 -> 8:signed7 where **BIG
    regval_type 0 0x60 -> [4386, 13124, 21862, 30600]:unsigned16x4 where **BIG
    # Registers of other sizes.
    regval_type 0 0x22 -> 4294967294:unsigned32 where registers={"0": {"bytes": "feffffff"}}
    regval_type 0 0x20 -> 200:unsigned8 where registers={"0": {"bytes": "c8"}}
    regval_type xmm0 0x61 -> [1.0, 2.0, 0.5, -1.0]:float32x4
        where target="x86_64", registers={"xmm0": {"bytes": "0000803f000000400000003f000080bf"}}
    regval_type v1 0x62 -> [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
        53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]:unsigned32x64 where target=GPU, registers={"v1": list(range(64))}
    regval_type v1 0x25 -> 38654705671:unsigned2048 where target=GPU, registers={"v1": [7, 9]}
    regval_type s5 0x12 -> -2:signed32 where target=GPU, registers={"s5": 0xFFFFFFFE}
    # Each lane its own register.
    regval_type 0 0x12 => ["-1:signed32", "0:signed32", "1:signed32"] where lane_count=3, registers={"0": [-1, 0, 1]}
    GNU_regval_type 1 0x13 -> -2:signed64
    # It is an evaluation error if "a register location description ... has less than TS bits remaining".
    regval_type 0 0x24 | regval_type 0 0x54 -> read_past_storage
    regval_type 0 0x23 -> read_past_storage where registers={"0": {"bytes": "feffffff"}}
    regval_type s5 0x23 -> read_past_storage where target=GPU, registers={"s5": 1}
    regval_type v1 0x25 -> read_past_storage where target="amdgcn-gfx1100-wave32", registers={"v1": [1]}
    # A register whose contents nobody knows, and one that the target does not have.
    regval_type 9 0x23 -> register_unavailable
    regval_type 18446744073709551615 0x23 -> 7:unsigned64 where registers={"0xffffffffffffffff": 7}
    regval_type 200 0x23 -> bad_operand where target="x86_64"
    # The type (4).
    regval_type 0 0x99 | regval_type 0 0 | regval_type 0 0x63 | regval_type 0 0xffffffffffffffff -> bad_type
    """)
test_deref = table(
    rows("""
    # "S is the bit size of the generic type divided by 8"
    (2) addr 0x100; deref -> 578437695752307201               addr 0x100; deref -> 72623859790382856 where **BIG
    """),
    *(
        row(
            "(2)",
            "const2u 0x10; deref", str(int.from_bytes(bytes(range(1, size + 1)), order)), address_size=size,
            byte_order=order, memory=[{"space": 0, "address": 16, "bytes": DATA}],
        )
        for size in (1, 2, 3, 4, 5, 6, 7, 8)
        for order in ("little", "big")
    ),
    rows("""
    # "It pops one stack entry that must be a location description": of every storage,
    (2) reg3; deref -> 256       reg3; deref; deref -> 578437695752307201
    breg3 8; deref -> 1157159078456920585
    implicit_value 0700000000000000; deref | lit7; stack_value; deref -> 7
    implicit_value 0000000000000007; deref | lit7; stack_value; deref -> 7 where **BIG
    call_frame_cfa; deref -> 578437695752307201 where cfa=0x100
    # ... also a value of the generic type, which is converted to one
    const2u 0x100; deref -> 578437695752307201
    # ... in bits as in bytes
    addr 0x100; lit4; LLVM_bit_offset; deref => str(int.from_bytes(bytes(range(1, 10)), "little") >> 4 & 2**64 - 1)
    addr 0x100; lit4; LLVM_bit_offset; deref => str(int.from_bytes(bytes(range(1, 10)), "big") >> 4 & 2**64 - 1)
        where **BIG
    # "For a composite location description, the retrieved bits are the concatenation of the N bits from each ... part"
    reg0; piece 4; addr 0x100; piece 4; LLVM_piece_end; deref => str(0x0403020155667788)
    reg0; piece 4; addr 0x100; piece 4; LLVM_piece_end; deref => str(0x1122334401020304) where **BIG
    reg0; piece 6; addr 0x100; piece 4; LLVM_piece_end; lit2; LLVM_offset; deref => str(0x0403020133445566)
    addr 0x100; bit_piece 3 1; reg1; bit_piece 61 3; LLVM_piece_end; deref => str(2**64 - 8)
    # "where N is limited to the size of PL": a part of a part of an object
    reg0; piece 8; LLVM_piece_end; piece 8; LLVM_piece_end; deref -> 1234605616436508552
    # "If L ... has more than one single location description, then any one of them can be selected"
    deref -> 5 where initial_stack=places(register(5), {"kind": "implicit", "bytes": "0500000000000000"})
    # A.2.5.3
    deref -> bad_operand where initial_stack=places(register(5), register(3))
    deref -> 5 where initial_stack=places({"kind": "undefined"}, register(5))
    deref -> undefined_read where initial_stack=places({"kind": "undefined"}, {"kind": "undefined"})
    # Each lane its own place.
    LLVM_push_lane; lit8; mul; plus_uconst 0x100; deref => ["578437695752307201", "1157159078456920585"]
        where lane_count=2
    """),
)  # fmt: skip
test_deref_size = table(
    # "TS is the smaller of the generic type bit size and S scaled by 8"; the value "is zero-extended to the generic
    # type"
    *(
        row(
            "(3)",
            f"addr 0x100; deref_size {size}",
            str(int.from_bytes(bytes(range(1, size + 1)), order)),
            byte_order=order,
        )
        for size in (1, 2, 3, 4, 5, 6, 7, 8)
        for order in ("little", "big")
    ),
    row("(3)", "implicit_value ff; deref_size 1", "255"),
    row("(3)", "implicit_value ffff; deref_size 2", "65535", address_size=4),
    row("(3)", "reg1; deref_size 1", "254"),                  row("(3)", "reg0; deref_size 2", "30600"),
    row("(3)", "reg0; deref_size 2", "4386", **BIG),
    # ... with the generic type: it can be added to another
    row("(3)", "reg1; deref_size 1; lit1; plus", "255"),
    # ... "the value is truncated when S is larger"
    row("(3)", "reg0; deref_size 9", "1234605616436508552"),  row("(3)", "reg0; deref_size 255", "1234605616436508552"),
    row("(3)", "implicit_value 01020304; deref_size 8", "67305985", address_size=4),
    row("(3)", "implicit_value 01020304; deref_size 4", "197121", address_size=3),
    row("(3)", "implicit_value 01; deref_size 2", "1", address_size=1),
    # ... which DWARF 5 forbids, and its next version
    row("(3)", "addr 0x100; deref_size 9", "bad_size", rules="dwarf5"),
    row("(3)", "addr 0x100; deref_size 9", "bad_size", rules="dwarf6"),
    row("(3)", "addr 0x100; deref_size 8", "578437695752307201", rules="dwarf5"),
    # Open: no base type has 0 bits.
    row("(3)", "addr 0x100; deref_size 0", "bad_size"),
    row("(3)", "addr 0x100; deref_size 0", "bad_size", rules="dwarf5"))  # fmt: skip
test_deref_type = rows.table("""
    # "A value V of TS bits is retrieved ... V is pushed on the stack with the type T."
    (4) addr 0x100; deref_type 1 0x20 -> 1:unsigned8          addr 0x100; deref_type 2 0x11 -> 513:signed16
    addr 0x100; deref_type 2 0x11 -> 258:signed16 where **BIG
    addr 0x100; deref_type 16 0x24 -> 21345817372864405881847059188222722561:unsigned128
    addr 0x100; deref_type 16 0x24 -> 1339673755198158349044581307228491536:unsigned128 where **BIG
    addr 0x100; deref_type 8 0x60 -> [513, 1027, 1541, 2055]:unsigned16x4
    addr 0x100; deref_type 8 0x60 -> [258, 772, 1286, 1800]:unsigned16x4 where **BIG
    implicit_value 0000803f; deref_type 4 0x31 -> 1.0:float32
    implicit_value 803f; deref_type 2 0x33 -> 1.0:bfloat1616
    implicit_value 003c; deref_type 2 0x30 -> 1.0:float16     implicit_value 01; deref_type 1 0x40 -> 1:boolean8
    implicit_value c8; deref_type 1 0x43 -> -56:signed_char8
    implicit_value 0001000000000000; deref_type 8 0x41 -> 256:address64
    implicit_value 41000000; deref_type 4 0x42 -> 65:UTF32    reg1; deref_type 4 0x12 -> -2:signed32
    reg0; lit4; LLVM_offset; deref_type 4 0x22 -> 287454020:unsigned32
    reg0; lit4; LLVM_offset; deref_type 4 0x22 -> 1432778632:unsigned32 where **BIG
    # ... of TS bits, not of whole bytes
    implicit_value ff; deref_type 1 0x51 -> -1:signed7
    implicit_value 7f; deref_type 1 0x51 -> 63:signed7 where **BIG
    implicit_value 80; lit7; LLVM_bit_offset; deref_type 1 0x50 -> 1:unsigned1
    implicit_value 01; lit7; LLVM_bit_offset; deref_type 1 0x50 -> 1:unsigned1 where **BIG
    addr 0x100; lit1; LLVM_bit_offset; deref_type 3 0x52
        => str(int.from_bytes(bytes([1, 2, 3, 4]), "little") >> 1 & 0xFFFFFF) + ":unsigned24"
    implicit_value 0000000001ffffff; deref_type 5 0x53 -> -4294967296:signed33
    implicit_value 0000000000000000ff; deref_type 9 0x54 -> 18446744073709551616:unsigned65
    addr 0x100; deref_type 8 0x70; stack_value -> implicit 0102030405060708
    addr 0x100; GNU_deref_type 1 0x20 -> 1:unsigned8
    # "The DWARF is ill-formed if D is not in the current compilation unit, D is not a DW_TAG_base_type ... entry,
    addr 0x100; deref_type 8 0x99 | addr 0x100; deref_type 8 0 | addr 0x100; deref_type 4 0x63 -> bad_type
    # ... or if TS divided by 8 (the byte size) and rounded up to a whole number is not equal to S."
    addr 0x100; deref_type 0 0x20 | addr 0x100; deref_type 2 0x20 | addr 0x100; deref_type 3 0x22 |
        addr 0x100; deref_type 5 0x22 | addr 0x100; deref_type 0 0x50 | addr 0x100; deref_type 8 0x53 |
        addr 0x100; deref_type 2 0x60 -> bad_size
    # 256 does not fit the operand
    addr 0x100; deref_type 0 0x25 -> bad_size
    """)

# "It is an evaluation error if any bit of the value is retrieved from the undefined location storage or the offset of
# any bit exceeds the size of the location storage LS specified by any single location description SL of L."
test_where_nothing_can_be_retrieved = rows.table("""
    (2) LLVM_undefined; deref -> undefined_read
    (3) LLVM_undefined; deref_size 1 -> undefined_read
    (4) LLVM_undefined; deref_type 1 0x50 -> undefined_read
    (2) reg0; piece 7; piece 1; LLVM_piece_end; deref -> undefined_read
    reg0; bit_piece 63 0; bit_piece 1 0; LLVM_piece_end; deref -> undefined_read
    (3) reg0; piece 7; piece 1; LLVM_piece_end; deref_size 7 => str(0x22334455667788)
    (4) piece 1; reg0; piece 1; LLVM_piece_end; lit1; LLVM_offset; deref_type 1 0x20 -> 136:unsigned8
    (2) implicit_value 01020304; deref | implicit_value 0x; deref -> read_past_storage
    (3) implicit_value 0x; deref_size 1 | implicit_value 01020304; deref_size 5 |
        implicit_value 01020304; lit1; LLVM_bit_offset; deref_size 4 -> read_past_storage
    (4) implicit_value 01; lit2; LLVM_bit_offset; deref_type 1 0x51 -> read_past_storage
    (2) reg0; lit1; LLVM_offset; deref | reg0; piece 4; LLVM_piece_end; deref -> read_past_storage
    (4) reg0; deref_type 16 0x24 -> read_past_storage
    (2) const1s -1; deref | const1s -7; deref -> read_past_storage
    const1s -8; deref -> memory_unavailable
    (3) const1s -1; deref_size 1 -> 7 where memory=[{"space": 0, "address": 2**64 - 1, "bytes": "07"}]
    # S is cut to 1
    const1u 0xff; deref_size 2 -> memory_unavailable where address_size=1
    (2) const2u 0xffff; deref -> read_past_storage where address_size=2
    # Memory and registers that nobody knows.
    addr 0x200; deref | addr 0x111; deref -> memory_unavailable
    addr 0x110; deref => str(0x1817161514131211)              reg9; deref -> register_unavailable
    # Entries that are no location.
    const_type 0x23 0001000000000000; deref | const_type 0x32 0001000000000000; deref -> wrong_kind
    (3) const_type 0x10 01; deref_size 1 -> wrong_kind
    (4) const_type 0x10 01; deref_type 1 0x10 -> wrong_kind
    (2) reg0; piece 8; deref -> incomplete_composite          deref -> stack_underflow
    (3) deref_size 1 -> stack_underflow
    (4) deref_type 1 0x10 -> stack_underflow
    """)

# "special rules concerning implicit location descriptions created by the DW_OP_implicit_pointer ... operations"
test_implicit_pointers = rows.table("""
    (2) implicit_pointer 0x4c 4; deref -> ptr info:0x4c+4
    (3) implicit_pointer 0x4c 4; deref_size 8 -> ptr info:0x4c+4
    (4) implicit_pointer 0x4c 4; deref_type 8 0x23 -> ptr info:0x4c+4
    (2) implicit_pointer 0x4c 4; deref; deref -> 5 where dies={"info:0x4c": {"const_value": "000000000500000000000000"}}
    (3) implicit_pointer 0x4c 4; deref_size 4 -> implicit_pointer_misuse
    (4) implicit_pointer 0x4c 4; deref_type 4 0x22 -> implicit_pointer_misuse
    (2) implicit_pointer 0x4c 4; deref; lit1; plus -> implicit_pointer_misuse
    """)
LOCAL = {
    "target": GPU,
    "memory": [
        {"space": "local", "address": 16, "bytes": "1112131415161718"},
        {"space": "global", "address": 16, "bytes": "2122232425262728"},
        {"space": "private_lane", "lane": 3, "address": 16, "bytes": "31323334"},
        {"space": "private_lane", "lane": 4, "address": 16, "bytes": "41424344"},
        {"space": "private_wave", "address": 8, "bytes": "51525354"},
    ]}  # fmt: skip
test_xderef = rows.table("""
    # "pops two stack entries. The first must be an integral type value that represents an address A. The second must be
    # an integral type value that represents a target architecture specific address space identifier AS."
    (5) lit3; lit16; xderef => str(0x1817161514131211) where **LOCAL
    lit0; lit16; xderef => str(0x2827262524232221) where **LOCAL
    lit9; lit3; lit16; xderef => ("9", str(0x1817161514131211)) where **LOCAL
    (6) lit3; lit16; xderef_size 2 => str(0x1211) where **LOCAL
    lit3; lit16; xderef_size 9 => str(0x1817161514131211) where **LOCAL
    (7) lit3; lit16; xderef_type 2 0x11 -> 4625:signed16 where **LOCAL
    lit3; lit16; xderef_type 4 0x31 -> 7.425166366716395e-27:float32 where **LOCAL
    # ... on a target with one address space
    (5) lit0; const2u 0x100; xderef -> 578437695752307201
    (6) lit0; const2u 0x100; xderef_size 1 -> 1
    (7) lit0; const2u 0x100; xderef_type 1 0x10 -> 1:signed8
    # "equivalent to performing DW_OP_swap; DW_OP_LLVM_form_aspace_address; DW_OP_deref"
    (5) lit3; lit16; swap; LLVM_form_aspace_address; deref => str(0x1817161514131211) where **LOCAL
    (6) lit3; lit16; swap; LLVM_form_aspace_address; deref_size 2 => str(0x1211) where **LOCAL
    # "an integral type value": of any type
    (5) const_type 0x20 03; const_type 0x22 10000000; xderef => str(0x1817161514131211) where **LOCAL
    lit3; addr 0x10; xderef => str(0x1817161514131211) where **LOCAL
    # The memory of the current lane, of the wave, of each lane.
    (6) lit5; lit16; xderef_size 4 => str(0x34333231) where lane=3, **LOCAL
    lit5; lit16; xderef_size 4 => [str(0x34333231), str(0x44434241)] where lanes=[3, 4], **LOCAL
    lit6; lit8; xderef_size 4 => str(0x54535251) where **LOCAL
    lit5; lit16; xderef_size 4 -> lane where **LOCAL
    lit5; lit16; xderef_size 4 -> memory_unavailable where lane=7, **LOCAL
    # What is no address space, no address, or no integral value, is ill-formed.
    (5) lit9; lit16; xderef -> bad_address_space              lit9; lit16; xderef -> bad_address_space where **LOCAL
    (6) const1s -1; lit16; xderef_size 4 -> bad_address_space where **LOCAL
    (7) lit4; lit16; xderef_type 2 0x11 -> bad_address_space where **LOCAL
    (5) lit0; reg0; xderef | reg0; lit0; xderef -> wrong_kind
    lit0; const_type 0x32 0000000000000000; xderef -> integral_type_required
    const_type 0x32 0000000000000000; lit0; xderef -> integral_type_required
    (6) lit0; const_type 0x41 0001000000000000; xderef_size 1 -> integral_type_required
    (5) xderef | lit0; xderef -> stack_underflow
    (6) lit0; xderef_size 1 -> stack_underflow
    (7) lit0; xderef_type 1 0x10 -> stack_underflow
    # The size and the type are those of DW_OP_deref_size and DW_OP_deref_type.
    (6) lit0; const2u 0x100; xderef_size 0 -> bad_size
    lit0; const2u 0x100; xderef_size 9 -> bad_size where rules="dwarf5"
    (7) lit0; const2u 0x100; xderef_type 2 0x10 -> bad_size   lit0; const2u 0x100; xderef_type 1 0x99 -> bad_type
    # The names of the next version, and its operation for the address alone.
    [DWARF 6 proposal 013] lit3; lit16; mem -> local#0x10 where **LOCAL
    lit3; lit16; mem; deref_size 1 -> 17 where **LOCAL        lit9; lit16; mem -> bad_address_space where **LOCAL
    (5) lit0; const2u 0x100; aspace_deref -> 578437695752307201 where dialect="dwarf6"
    (6) lit0; const2u 0x100; aspace_deref_size 1 -> 1 where dialect="dwarf6"
    (7) lit0; const2u 0x100; aspace_deref_type 1 0x10 -> 1:signed8 where dialect="dwarf6"
    """)
test_entry_values_of_call_sites = rows.table("""
    # A call site may say what a value was on entry (DW_TAG_call_site_parameter).
    (8) entry_value (reg5) | GNU_entry_value (reg5) -> 119 where entry_values={"55": 0x77}
    entry_value (reg5) -> 119 where entry_values={"reg5": 0x77}
    lit1; entry_value (reg5); plus -> 120 where entry_values={"55": 0x77}
    entry_value (reg6) -> frame where entry_values={"55": 0x77}
    # "a block of bytes, with a length equal S"
    entry_value (reg5) -> 119 where expr="a30155", entry_values={"55": 0x77}
    -> truncated where expr="a30255"                          -> truncated where expr="a3"
    """)
test_gnu_operations = rows.table("""
    [GCC] GNU_variable_value 0x4c -> 5 where dies={"info:0x4c": die("reg5")}
    GNU_variable_value 0x4c -> 578437695752307201 where dies={"info:0x4c": die("addr 0x100")}
    GNU_variable_value 0x4c -> 5 where dies={"info:0x4c": {"location": [{"ops": "reg5"}]}}
    GNU_variable_value 0x4c -> 7 where dies={"info:0x4c": {"const_value": "0700000000000000"}}
    GNU_variable_value 0x4c -> undefined_read where dies={"info:0x4c": {"location": []}}
    GNU_variable_value 0x4c | GNU_variable_value 0x4d -> bad_operand where dies={"info:0x4c": {}}
    GNU_variable_value 0x4c -> unit                           GNU_parameter_ref 0x4c -> frame
    """)
GENERIC = resolve("generic")
UNIT = Unit(types.unsigned(32))


class Frame:
    """A frame whose registers are constants: R is ``base + R``, but r9 is not known. It was called by another."""

    def __init__(self, target, base, outer=None):
        self.target = target
        self.base = base
        self.outer = outer

    def register(self, number, lanes):
        if number == 9:
            return UNDEFINED
        if number == 8:  # saved in memory
            return locations.at(Memory(self.target.default_space), 8 * 0x100)
        return locations.at(Implicit(self.base + number, self.target.register(number).bit_size))

    def caller(self):
        return self.outer

    def entry_value(self, expression, lanes):
        return Value(types.generic(8), 0x99) if expression == b"\x57" else None

    def entry_parameter(self, die, lanes):
        return Value(types.generic(8), die.offset + 1)

    def cfa(self, lanes):
        return locations.at(Memory(self.target.default_space), 8 * (self.base + 0x100))


class Bytes(Backend):
    """Memory in which each byte is the low byte of its address."""

    def read_memory(self, space, address, size, wave, lane):
        return bytes((address + i) & 0xFF for i in range(size))


def in_frames(ops, want=None, target=GENERIC, **changes):
    """The result, in the notation of rows, in a frame (base 0) whose caller (0x1000) has a caller (0x2000)."""
    frame = Frame(target, 0, Frame(target, 0x1000, Frame(target, 0x2000)))
    code = parsed(ops, target)
    place = locations.at(Memory(target.default_space), 0x40)
    context = Context(target, AMD, Bytes(), frame=frame, unit=UNIT, object=place, result_kind=want, **changes)
    found = evaluate(code, context).of(0)
    return getattr(found, "kind", None) or notation(JsonWriter("little").entry(found))


# "E is evaluated with the current context, except the result kind is unspecified, the call frame is the one that
# called the current frame, ... the object is unspecified, and the initial stack is empty."
ENTRY = told("""
    # "If the result of E is a location description L, and the last operation executed by E is a DW_OP_reg* for
    # register R with a target architecture specific base type of T, then the contents of the register are retrieved"
    entry_value (reg5) | entry_value (regx 5) | GNU_entry_value (reg5) | entry_value (lit1; reg5) |
        entry_value (reg6; reg5) | entry_value (skip @reg; reg6; reg: reg5) -> 0x1005
    # reg8: saved in memory by the frame that was called
    entry_value (regx 400) -> 0x1190                          entry_value (reg31) -> 0x101f
    entry_value (reg8) -> 0x706050403020100                   entry_value (reg9) -> undefined_read
    # "If the result of E is a value V, then V is pushed on the stack."
    entry_value (lit5) -> 5      entry_value (breg5 0xfb; deref) -> 0x706050403020100
    entry_value (breg5 0xfb; deref_size 2) -> 256             entry_value (regval_type 5 1) -> 4101:unsigned32
    entry_value (breg5 0; lit1; plus) -> 0x1006
    # "Otherwise, the DWARF expression is ill-formed."
    entry_value 0x | entry_value (nop) | entry_value (breg5 0) | entry_value (addr 0x10) |
        entry_value (call_frame_cfa) | entry_value (lit5; stack_value) | entry_value (implicit_value 01) |
        entry_value (LLVM_undefined) | entry_value (reg5; piece 8) -> bad_result_kind
    # ... it is the operation that was executed last that must be a DW_OP_reg*, not the one that stands last
    entry_value (reg5; nop) | entry_value (reg5; lit1; drop) | entry_value (reg5; skip @end; reg6; end:) |
        entry_value (reg5; lit1; bra @end; reg6; end:) -> bad_result_kind
    # "The initial stack is empty", "the object is unspecified", and what E leaves is one value.
    lit1; entry_value (lit5); plus | lit1; entry_value (lit7; lit5); plus -> 6
    lit1; lit2; entry_value (plus) -> stack_underflow         entry_value (push_object_address; deref) -> object
    push_object_address; drop; entry_value (lit1) -> 1
    # The frame is the caller's only while E is evaluated.
    entry_value (reg5); breg5 0; plus -> 0x100a               entry_value (call_frame_cfa; deref_size 1) -> 0
    # E may contain another DW_OP_entry_value: the caller of the caller.
    entry_value (breg5 0; entry_value (reg5); plus) -> 0x300a
    entry_value (entry_value (reg5)) -> 0x2005
    # A value that the call site states is taken as it is.
    entry_value (reg7) -> 0x99
    # What is wrong in E.
    entry_value (lit1; lit0; div) -> division_by_zero         entry_value (skip 1) -> bad_branch
    entry_value 01 -> unknown_operation                       entry_value 08 | entry_value a30255 -> truncated
    GNU_parameter_ref 4 -> 5
    """)


@pytest.mark.parametrize("ops, expected", ENTRY)
def test_entry_value_in_the_calling_frame(ops, expected):
    assert in_frames(ops) == (str(int(expected, 16)) if expected.startswith("0x") else expected)


def test_the_type_and_the_kind_of_an_entry_value():
    assert in_frames("entry_value (lit5)", want="location") == "mem 0x5"
    assert in_frames("entry_value (reg5)", want="value") == str(0x1005)
    gpu = resolve("amdgcn-gfx90a")
    assert in_frames("entry_value (regx s5)", target=gpu) == f"{0x1000 + 37}:unsigned32"
    assert in_frames("entry_value (regx v5)", target=gpu) == f"[{0x1000 + 2565}{', 0' * 63}]:unsigned32x64"


def test_an_entry_value_has_the_lanes_of_the_expression():
    code = parsed("entry_value (LLVM_push_lane)")
    frame = Frame(GENERIC, 0, Frame(GENERIC, 0x1000))
    context = Context(GENERIC, AMD, Bytes(), LaneSet.of([2, 0, 1]), lane_count=4, frame=frame, unit=UNIT)
    assert [int(one.bits) for one in evaluate(code, context)] == [2, 0, 1]


# A register of a frame that is not the top one is wherever it was saved: it is read from there, or it has no value.
@for_each("ops, expected",
    ("regval_type 8 1", "50462976:unsigned32"),               ("regx 8; deref", str(0x0706050403020100)),
    ("breg8 0", f"mem {0x0706050403020100:#x}"),
    ("regx 8", "mem 0x100"),     ("regval_type 9 1", "undefined_read"),
    ("breg9 0", "undefined_read"),
    ("regx 9", "undefined"))  # fmt: skip
def test_registers_of_a_frame_that_is_not_the_top_one(ops, expected):
    assert in_frames(ops) == expected


# "equivalent to performing DW_OP_regx R; DW_OP_deref_type DR" and the like, whatever the value is.
EQUIVALENT = [
    ("regval_type {r} 0x22", "regx {r}; deref_type 4 0x22"),
    ("regval_type {r} 0x51", "regx {r}; deref_type 1 0x51"),
    ("regval_type {r} 0x24", "regx {r}; deref_type 16 0x24"),
    ("lit0; breg{r} 0; xderef", "breg{r} 0; lit0; LLVM_form_aspace_address; deref"),
    ("lit0; breg{r} 0; xderef_size 3", "breg{r} 0; deref_size 3"),
    ("lit0; breg{r} 0; xderef_type 3 0x52", "breg{r} 0; deref_type 3 0x52"),
    ("breg{r} 0; deref", "breg{r} 0; deref_type 8 0x23; convert 0"),
    ("breg{r} 0; deref_size 2", "breg{r} 0; deref_type 2 0x21; convert 0")]  # fmt: skip


@pytest.mark.parametrize("left, right", EQUIVALENT)
@every(order=["little", "big"], number=[0, 3, 5, 9])
def test_equivalent_operations(left, right, order, number):
    context = {"base_types": TYPES, "registers": REGISTERS, "memory": MEMORY, "byte_order": order, "rules": "amd"}
    assert run(left.format(r=number), **context) == run(right.format(r=number), **context)


STORAGE = bytes((37 * i + 11) % 256 for i in range(48))
WIDTHS = (1, 7, 8, 24, 33, 64, 65, 128)
STORAGES = {
    "memory": "addr 0x100",     "register": "reg0",         "implicit": f"implicit_value {STORAGE.hex()}",
    "composite": "addr 0x100; piece 7; reg0; lit7; LLVM_offset; bit_piece 101 0;"
    f"implicit_value {STORAGE.hex()}; const1u 157; LLVM_bit_offset; bit_piece 227 0;"
    "LLVM_piece_end"}  # fmt: skip


def bits_at(offset, size, order):
    """The bits of the storage from an offset on, as a number: bit 0 is the least significant one of the first byte on a
    little-endian target, the most significant one on a big-endian target."""
    whole = int.from_bytes(STORAGE, order)
    return whole >> (offset if order == "little" else 8 * len(STORAGE) - offset - size) & (1 << size) - 1


@every(width=WIDTHS, order=["little", "big"], storage=STORAGES)
def test_every_lane_reads_its_own_bits(storage, order, width):
    size = -(-width // 8)
    case = {
        "rules": "amd",                      "dialect": "llvm-user",              "byte_order": order,
        "base_types": {"8": {"encoding": "unsigned", "byte_size": size, "bit_size": width}},
        "memory": [{"space": 0, "address": 0x100, "bytes": STORAGE.hex()}],
        "registers": {"0": {"bytes": STORAGE.hex()}}}  # fmt: skip
    for step in (0, 1, 7, 8, 13):
        offset = f"LLVM_push_lane; const1u {step}; mul; LLVM_bit_offset"
        ops = f"{STORAGES[storage]}; {offset}; deref_type {size} 8"
        expected = [f"{bits_at(step * lane, width, order)}:unsigned{width}" for lane in range(16)]
        assert run_lanes(ops, lane_count=16, **case) == expected, step
        assert run(ops, lane=9, lane_count=16, **case) == expected[9], step


test_lanes_that_differ_in_more_than_data = rows.table("""
    # Where one lane has nothing to read, the others still have.
    (2) LLVM_push_lane; lit16; mul; plus_uconst 0x100; deref
        => ["578437695752307201", str(0x1817161514131211), "memory_unavailable"] where lane_count=3
    (3) reg0; LLVM_push_lane; lit3; mul; LLVM_offset; deref_size 2
        => [str(0x7788), str(0x4455), str(0x1122), "offset_out_of_storage"] where lane_count=4
    reg0; LLVM_push_lane; lit3; mul; LLVM_offset; deref_size 3
        => [str(0x667788), str(0x334455), "read_past_storage", "offset_out_of_storage"] where lane_count=4
    (2) LLVM_push_lane; bra @r; LLVM_undefined; skip @end; r: reg5; end: deref => ["undefined_read", "5", "5"]
        where lane_count=3
    LLVM_push_lane; bra @r; implicit_value 01; skip @end; r: reg5; end: deref => ["read_past_storage", "5"]
        where lane_count=2
    (1) regval_type 0 0x13 => ["1:signed64", "2:signed64", "register_unavailable"]
        where lane_count=3, registers={"0": [1, 2]}
    # ... each with the types and the spaces that it computes.
    (6) LLVM_push_lane; lit3; mul; lit16; xderef_size 2
        => [str(0x2221), str(0x1211), "memory_unavailable", "bad_address_space"] where lanes=[0, 1, 2, 3], **LOCAL
    (4) LLVM_push_lane; bra @wide; reg0; deref_type 2 0x21; skip @end; wide: reg0; deref_type 4 0x22; end:
        => ["30600:unsigned16", "1432778632:unsigned32"] where lane_count=2
    """)
