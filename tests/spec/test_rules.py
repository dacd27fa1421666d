"""The points on which DWARF 5, the text ("AMD") and the drafts of DWARF 6 differ: every field of `expr.rules`.

A row is one program, with what it gives under each of the three presets. Under every preset the program is the same,
and so are its bytes: rules say what operations mean, not how they are encoded.
"""

from typing import Any

import pytest
from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.rules import AMD, PRESETS, Rules
from dwarfgpu.expr.types import BaseType
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, Rows, answer, base_types, parsed, table

TYPES = base_types("1 signed8, 2 unsigned64, 3 float64")
DIES: dict[str, Any] = {
    "info:0x10": {"location": {"ops": "addr 0x1000"}},       "info:0x11": {"location": {"ops": "lit0; lit0; div"}},
    "unit:0x20": {"location": [{"ops": "lit1; plus"}]},
    "unit:0x21": {"location": [{"ops": "reg5"}, {"ops": "reg6"}]},              "unit:0x22": {"location": []},
}  # fmt: skip
LITTLE = {"5": {"bytes": "8877665544332211"}}
BIG = {"5": {"bytes": "1122334455667788"}}
"""Register 5 holds 0x1122334455667788."""
POINTER = {"kind": "implicit_pointer", "die": "info:0x10"}


class Presets(Rows):
    """Rows of a program under the three presets: ``dwarf5 / amd / dwarf6``, or what all of them give."""

    def row(self, clause: str, ops: str, expected: Any, **case: Any) -> list[Case]:
        registers = BIG if case.get("byte_order") == "big" else LITTLE
        if isinstance(expected, str):
            expected = expected.split(" / ")
        results = zip(PRESETS, expected if len(expected) > 1 else expected * 3, strict=True)
        return [
            Case(clause, ops, each, rules=name, **self.defaults, **{"registers": registers, **case})
            for name, each in results
        ]

    def __call__(self, text: str) -> list[Case]:
        return [case for cases in super().__call__(text) for case in cases]


rows = Presets("", vars(), base_types=TYPES, dies=DIES)

# DWARF 5, 2.6.1.1.3: a register location description stands alone, for an object or a piece of one; 2.6.1.1.4: so does
# an implicit one. AMD A.2.5.4.4.5 (2): DW_OP_stack_value "no longer terminates the DWARF operation expression execution
# as in DWARF Version 5". DWARF 6 (230524.1): it pushes a location.
LOCATION_ENDS_EXPRESSION = rows("""
    [A.2.5.4.4.5 (2)] lit5; stack_value; deref -> after_location / 5 / 5
    [A.2.5.4.4.4 (1)] reg5; deref_size 1 -> after_location / 136 / 136
    [A.2.5.4.4.4 (2)] regx 5; lit1; LLVM_offset -> after_location / r5+8 / r5+8
    [A.2.5.4.4.5 (1)] implicit_value 0102; deref_size 1 -> after_location / 1 / 1
    [A.2.5.4.4.5 (3)] implicit_pointer 0x10 0; nop -> after_location / ptr info:0x10 / ptr info:0x10
    [A.2.5.4.4.4 (1)] reg5; lit1 -> after_location / 1 / 1
    # A piece may follow, and memory is no such location.
    [A.2.5.4.4.6 (1)] reg5; piece 4 -> {32:r5}
    [A.2.5.4.4.6 (2)] lit5; stack_value; bit_piece 8 0 -> {8:implicit 0500000000000000}
    [A.2.5.4.4.3 (7)] breg5 0; plus_uconst 1 => [str(0x1122334455667789)] * 3
    """)

# AMD A.2.5.4.4.6: "If a stack entry is required to be a location description L, but L has an incomplete composite
# location description, then the DWARF expression is ill-formed", and a piece leaves what is below it. DWARF 6
# (230524.1, 3.12): composites are always complete; a piece needs a composite below its operand, and starts one by
# itself only where the operand is all there is on the stack. DWARF 5, 2.6.1.2: an expression of pieces, nothing else.
INCOMPLETE_COMPOSITES = rows("""
    [A.2.5.4.4.6] reg5; piece 4; LLVM_offset_uconst 1 -> incomplete_composite / incomplete_composite / {32:r5}+8
    reg5; piece 4; deref_size 4 => ["incomplete_composite", "incomplete_composite", str(0x55667788)]
    [A.2.5.4.1] reg5; piece 4; dup; drop -> incomplete_composite / incomplete_composite / {32:r5}
    [A.2.5.4.4.6 (1)] lit1; reg5; piece 4 => [("1", "{32:r5}"), ("1", "{32:r5}"), "bad_piece"]
    reg5; piece 4; reg6; piece 2 -> {32:r5 16:r6}
    # A composite that was moved takes more pieces in DWARF 6, and stays where it is; for AMD it is complete, so that
    # a piece makes it a part of another one.
    [DWARF 6 (230524.1), 3.12 (2)] composite; reg5; piece 4; LLVM_offset_uconst 1; reg6; piece 2
        -> incomplete_composite / incomplete_composite / {32:r5 16:r6}+8
    [DWARF 6 (230524.1), 3.12] reg5; piece 4; LLVM_offset_uconst 1; piece 2
        -> incomplete_composite / incomplete_composite / {32:r5 16:undefined}+8
    [A.2.5.4.4.6 (1)] push_object_address; piece 2 -> {16:{32:r5}+8} / {16:{32:r5}+8} / {32:r5 16:undefined}+8
        where object={"kind": "composite", "bit_offset": 8, "parts": [{"bit_size": 32, "location": {"kind": "register",
        "register": 5}}]}
    [A.2.5.4.4.6 (3)] reg5; piece 4; LLVM_piece_end; LLVM_offset_uconst 1; LLVM_piece_end
        -> wrong_kind / wrong_kind / {32:r5}+8
    [A.2.5.4.4.6 (1)] reg5; piece 4; piece 2 -> {32:r5 16:undefined}
    piece 4 -> {32:undefined}
    [DWARF 6 (230524.1), 3.12 (1)] composite; reg5; piece 4; reg6; piece 2 -> {32:r5 16:r6}
    lit1; composite; reg5; piece 4 => [("1", "{}", "{32:r5}"), ("1", "{}", "{32:r5}"), ("1", "{32:r5}")]
    """)

# DWARF 5, 2.6.1.2: locations and composition operations alternate, the operation last. AMD A.2.5.4 and DWARF 6
# (230524.1): the top stack entry is the result, other entries are discarded.
LOCATION_AFTER_PIECES = rows("""
    [A.2.5.4] reg5; piece 4; reg6 -> bad_piece / r6 / r6
    reg5; piece 4; lit16 -> bad_piece / mem 0x10 / mem 0x10 where want="location"
    reg5; piece 4; piece 2 -> {32:r5 16:undefined}
    """)

# AMD A.2.5.4.4.6: "All the bits must be within the size of LS or the DWARF expression is ill-formed"; so in the
# reference implementation of DWARF 6. DWARF 5, 2.6.1.2 says nothing: its debuggers show what is missing as unavailable.
PART_BEYOND_STORAGE = rows("""
    [A.2.5.4.4.6] reg5; piece 9 -> {64:r5 8:undefined} / bad_piece / bad_piece
    reg5; bit_piece 62 3 -> {61:r5+3 1:undefined} / bad_piece / bad_piece
    implicit_value 01; piece 2 -> 0100 undefined 00ff / bad_piece / bad_piece where read={"bytes": 2}
    lit5; stack_value; piece 8 -> {64:implicit 0500000000000000}
    reg5; piece 8; reg5; piece 16 -> {64:r5 64:r5 64:undefined} / bad_piece / bad_piece
    """)

# AMD A.2.5.4.4.6 (2): B is applied "as if the DW_OP_constu B; DW_OP_LLVM_bit_offset operations were applied", so bits
# count in storage order. DWARF 5, 2.6.1.2 (2): in a register from the least significant bit on, in an
# implicit value too; so in DWARF 6 (230524.1). That is the other end of the storage on big-endian targets.
PIECE_OF_VALUE_BITS = [
    *rows("""
    [A.2.5.4.4.6 (1)] reg5; piece 2 -> {16:r5+48} / {16:r5} / {16:r5+48} where byte_order="big"
    [A.2.5.4.4.6 (2)] reg5; bit_piece 4 3 -> {4:r5+57} / {4:r5+3} / {4:r5+57} where byte_order="big"
    [A.2.5.4.4.6 (1)] reg5; piece 2 -> 7788 / 1122 / 7788 where byte_order="big", read={"bytes": 2}
    lit5; stack_value; piece 2 -> 0005 / 0000 / 0005 where byte_order="big", read={"bytes": 2}
    [A.2.5.4.4.6 (2)] implicit_value 01020304; bit_piece 8 8 -> 03 / 02 / 03 where byte_order="big", read={"bytes": 1}
    """),
    *[
        Case("A.2.5.4.4.6 (2)", "reg5; bit_piece 8 60", "bad_piece", rules=rules, byte_order="big")
        for rules in ("amd", "dwarf6")
    ],
    # Memory and composites are in storage order for all of them, and on a little-endian target everything is.
    *rows("""
    [A.2.5.4.4.6 (2)] addr 0x10; bit_piece 4 3 -> {4:mem 0x10.3} where byte_order="big"
    reg5; bit_piece 4 3 -> {4:r5+3}
    implicit_value 01020304; bit_piece 8 8 -> 02 where read={"bytes": 1}
    """),
]

# AMD A.2.5.4.4.2: "There is no concept of the size of the undefined location storage, nor of a bit offset", the offset
# operations leave it unchanged. DWARF 6 (230524.1): it has the size of the largest address space or register, and the
# offset operations are checked as for every storage.
UNDEFINED_HAS_SIZE = rows("""
    [A.2.5.4.4.2] LLVM_undefined; const1s -1; LLVM_offset -> undefined / undefined / offset_out_of_storage
    LLVM_undefined; lit4; LLVM_offset; const1s -5; LLVM_offset -> undefined / undefined / offset_out_of_storage
    LLVM_undefined; lit4; LLVM_offset | LLVM_undefined; lit4; LLVM_offset; const1s -4; LLVM_offset -> undefined
    LLVM_undefined; const_type 2 ffffffff00000000; LLVM_offset; lit1; LLVM_offset
        -> undefined / undefined / offset_out_of_storage where address_size=4
    LLVM_undefined; const_type 2 ffffffff00000000; LLVM_offset -> undefined where address_size=4
    """)

# AMD A.2.5.4.4.6 (6): "ill-formed if BO or BS are negative values", or if less than BO plus BS is left of the base; the
# composite begins at the base. DWARF 6 (251120.1): the whole base storage stays visible, the result keeps the offset of
# the base, the overlay may begin before it and end past the end of the storage; a gap is undefined.
OVERLAY = rows("""
    [A.2.5.4.4.6 (6)] reg5; reg6; lit2; lit3; LLVM_overlay
        -> after_location / {16:r5 24:r6 24:r5+40} / {16:r5 24:r6 24:r5+40}
    addr 0x10; addr 0x40; lit2; lit3; LLVM_overlay -> {16:mem 0x10 24:mem 0x40 34359738200:mem 0x15} / {16:mem 0x10
        24:mem 0x40 34359738200:mem 0x15} / {144:mem 0x0 24:mem 0x40 34359738200:mem 0x15}+128 where address_size=4
    addr 0x10; addr 0x40; const1s -2; lit3; LLVM_overlay
        -> bad_operand / bad_operand / {112:mem 0x0 24:mem 0x40 34359738232:mem 0x11}+128 where address_size=4
    push_object_address; addr 0x40; lit7; lit2; LLVM_overlay -> bad_piece / bad_piece / {56:r5 16:mem 0x40}
        where object={"kind": "register", "register": 5}
    push_object_address; addr 0x40; lit9; lit2; LLVM_overlay
        -> bad_piece / bad_piece / {64:r5 8:undefined 16:mem 0x40} where object={"kind": "register", "register": 5}
    [A.2.5.4.4.6 (7)] push_object_address; addr 0x40; lit0; const1u 64; LLVM_bit_overlay
        -> mem 0x40 / mem 0x40 / {64:mem 0x40} where object={"kind": "register", "register": 5}
    push_object_address; addr 0x40; const1s -5; lit4; LLVM_bit_overlay
        -> bad_operand / bad_operand / {3:r5 4:mem 0x40 57:r5+7}+8
        where object={"kind": "register", "register": 5, "bit_offset": 8}
    # Nothing is laid over the base with a size of 0, and nothing can be laid before its storage.
    push_object_address; addr 0x40; lit3; lit0; LLVM_bit_overlay -> r5+8
        where object={"kind": "register", "register": 5, "bit_offset": 8}
    push_object_address; addr 0x40; const1s -9; lit4; LLVM_bit_overlay -> bad_operand
        where object={"kind": "register", "register": 5, "bit_offset": 8}
    """)

# AMD A.2.5.4.4.3: only "a value V with the generic type" is implicitly converted to a memory location description.
# DWARF 6 (230524.1) converts "a value", and the debuggers of DWARF 5 any integer.
VALUE_AS_LOCATION = rows("""
    [A.2.5.4.4.3] const_type 2 1000000000000000; piece 4 -> {32:mem 0x10} / wrong_kind / {32:mem 0x10}
    const_type 2 1000000000000000 -> mem 0x10 / bad_result_kind / mem 0x10 where want="location"
    const_type 2 1000000000000000; deref_size 1 -> 7 / wrong_kind / 7
        where memory=[{"space": 0, "address": 16, "bytes": "07"}]
    const_type 2 1000000001000000 -> mem 0x10 / bad_result_kind / mem 0x10 where want="location", address_size=4
    lit16 -> mem 0x10 where want="location"
    const_type 3 000000000000f03f -> bad_result_kind where want="location"
    """)

# AMD A.2.5.4.3.4 (3): TS is "the smaller of the generic type bit size and S scaled by 8", with the note that
# "truncating the value when S is larger than the generic type matches what GDB does". DWARF 5, 2.5.1.3 (8): S may
# not be larger than the generic type; so in DWARF 6 (230524.1).
EIGHT = [{"space": 0, "address": 16, "bytes": "0102030405060708"}]
WIDE_DEREFERENCE = rows("""
    [A.2.5.4.3.4 (3)] addr 0x10; deref_size 9 => ["bad_size", str(0x0807060504030201), "bad_size"] where memory=EIGHT
    addr 0x10; deref_size 8 => ["bad_size", str(0x04030201), "bad_size"] where memory=EIGHT, address_size=4
    addr 0x10; deref_size 8 => ["bad_size", str(0x01020304), "bad_size"]
        where memory=EIGHT, address_size=4, byte_order="big"
    [A.2.5.4.3.4 (6)] lit0; addr 0x10; xderef_size 9 => ["bad_size", str(0x0807060504030201), "bad_size"]
        where memory=EIGHT
    [A.2.5.4.3.4 (3)] addr 0x10; deref_size 8 => [str(0x0807060504030201)] * 3 where memory=EIGHT
    """)

# AMD A.2.5.4.4.5 (3): the entry is evaluated when its implicit pointer value is used, "with the context of the
# expression accessing IPV". DWARF 6 (230524.1, 3.11): when the pointer is made; its own texts contradict each other on
# DW_OP_deref, which is an error in its reference. DWARF 5, 2.6.1.1.4: the consumer follows it when it is asked to.
IMPLICIT_POINTER = rows("""
    [A.2.5.4.4.5 (3)] implicit_pointer 0x11 0 -> ptr info:0x11 / ptr info:0x11 / division_by_zero
    implicit_pointer 0x10 4 -> ptr info:0x10+4
    deref; LLVM_offset_uconst 4 -> mem 0x1004 / mem 0x1004 / implicit_pointer_misuse where initial_stack=[POINTER]
    deref; stack_value -> ptr info:0x10 / ptr info:0x10 / implicit_pointer_misuse where initial_stack=[POINTER]
    """)

# AMD A.2.5.4.2 (5): the list is evaluated with an empty initial stack, and the location description that results, the
# union of all matches, is pushed. DWARF 5, 2.5.1.5: the called expression uses the stack of the caller, which one match
# can do; several are places of one object (2.6.2). The drafts of DWARF 6 list several answers without choosing one.
CALL_OF_LIST = rows("""
    [A.2.5.4.2 (5)] lit7; call4 0x20 -> 8 / stack_underflow / stack_underflow
    call4 0x21 -> r5 | r6 / r5 | r6 / r5 | r6                 call2 0x22 -> undefined
    """)

# DWARF 5, 2.5.1.4: operands "must have the same type, either the same base type or the generic type", which
# neither AMD A.2.5.4.3.2 nor DWARF 6 changes. What debuggers compute has a field, and no preset.
MIXED_OPERANDS = rows("""
    [A.2.5.4.3.2] const_type 2 0300000000000000; lit8; mul | lit8; const_type 2 0300000000000000; lt -> type_mismatch
    lit3; convert 2; convert 0; lit8; mul -> 24
    """)

# AMD A.2.5.3: a location is the position "within the location storage where the program object starts", so an object at
# offset 0 has the first bits in storage order. DWARF 5 and the drafts of DWARF 6 name the register or give the value as
# a whole; GDB and drgn take the least significant part, which on big-endian targets is the other end.
SMALL = {"byte_order": "big", "read": {"bytes": 2}}
WIDE = {"5": {"bytes": "0000000000000010" + "0000000000000020"}}
"""A register of two addresses."""
OBJECT_OF_VALUE_BITS = [
    *rows("""
    [A.2.5.3] reg5 -> 7788 / 1122 / 7788 where **SMALL        lit5; stack_value -> 0005 / 0000 / 0005 where **SMALL
    implicit_value 01020304 -> 0304 / 0102 / 0304 where **SMALL
    reg5 -> 1122334455667788 where byte_order="big", read={"bytes": 8}
    reg5 -> -120 / 17 / -120 where byte_order="big", read={"type": {"encoding": "signed", "byte_size": 1}}
    # What is read of the object moves with it.
    reg5 -> 88 / 22 / 88 where byte_order="big", read={"bytes": 1, "offset": 1}
    # What is written is the same part.
    reg5 -> 112233445566aabb / aabb334455667788 / 112233445566aabb
        where byte_order="big", write="aabb", read={"bytes": 8}
    # A register of a type, or as an address, is the value it holds (GDB, value_from_register).
    [A.2.5.4.3.4 (1)] regval_type 5 1 -> -120:signed8 / 17:signed8 / -120:signed8 where byte_order="big"
    [A.2.5.4.3.4 (3)] reg5; deref_size 2 => ["after_location", "4386", str(0x7788)] where byte_order="big"
    [A.2.5.4.4.3 (7)] breg5 1 -> mem 0x21 / mem 0x11 / mem 0x21 where byte_order="big", registers=WIDE
    [A.2.5.4.4.3 (8)] bregx 5 1 -> mem 0x21 / mem 0x11 / mem 0x21 where byte_order="big", registers=WIDE
    [A.2.5.4.4.3 (6)] fbreg 1 -> mem 0x21 / mem 0x11 / mem 0x21
        where byte_order="big", registers=WIDE, frame_base={"kind": "register", "register": 5}
    [A.2.5.4.4.3 (7)] breg5 1 -> mem 0x1000000000000001 where registers=WIDE
    # An offset says where the object is, and memory, composites and little-endian targets have one order.
    [A.2.5.4.4.1 (1)] reg5; lit2; LLVM_offset -> after_location / 3344 / 3344 where **SMALL
    [A.2.5.3] addr 0x10 -> 0102 where memory=[{"space": 0, "address": 16, "bytes": "01020304"}], **SMALL
    reg5; piece 8 -> 1122 where **SMALL                       reg5 -> 8877 where read={"bytes": 2}
    """)
]

# AMD A.2.5.4.3.4 (4): "It is an evaluation error if ... the offset of any bit exceeds the size of the location
# storage".
# DWARF 6 (230524.1): the rest of an object that is larger than its composite is undefined. DWARF 5, 2.6.1.2 is silent;
# GDB and drgn show the rest as unavailable.
OBJECT_BEYOND_COMPOSITE = rows("""
    [A.2.5.4.3.4 (4)] reg5; piece 4 -> 8877665500000000 undefined 00000000ffffffff / read_past_storage /
        8877665500000000 undefined 00000000ffffffff where read={"bytes": 8}
    reg5; piece 4 -> 5566778800000000 undefined 00000000ffffffff / read_past_storage / 5566778800000000 undefined
        00000000ffffffff where byte_order="big", read={"bytes": 8}
    reg5; piece 4 -> 5500 undefined 00ff / read_past_storage / 5500 undefined 00ff where read={"bytes": 2, "offset": 3}
    reg5; piece 4 -> 0000 undefined ffff / offset_out_of_storage / 0000 undefined ffff
        where read={"bytes": 2, "offset": 8}
    composite; reg5; piece 4; deref_size 8 -> incomplete_composite / incomplete_composite / undefined_read
    push_object_address; deref -> undefined_read / read_past_storage / undefined_read
        where object={"kind": "composite", "parts": [{"bit_size": 32, "location": {"kind": "register", "register": 5}}]}
    reg5; piece 4 -> not_writable / read_past_storage / not_writable where write="0102030405"
    reg5 | lit5; stack_value -> read_past_storage where read={"bytes": 9}
    """)

# AMD A.2.5.4.4.1 (1): it is an evaluation error if the updated offset is "greater than or equal to the size of the
# location storage". DWARF 6 (230524.1), 3.12 (1): DW_OP_composite pushes an empty composite "with an offset of 0".
OFFSET_OF_EMPTY_COMPOSITE = rows("""
    [A.2.5.4.4.1 (1)] composite; lit0; LLVM_offset -> offset_out_of_storage / offset_out_of_storage / {}
    [A.2.5.4.4.1 (3)] composite; lit0; LLVM_bit_offset -> offset_out_of_storage / offset_out_of_storage / {}
    [A.2.5.4.4.1 (2)] composite; LLVM_offset_uconst 0 -> offset_out_of_storage / offset_out_of_storage / {}
    [A.2.5.4.4.1 (1)] composite; lit1; LLVM_offset | composite; const1s -1; LLVM_offset -> offset_out_of_storage
    [DWARF 6 (230524.1), 3.12 (2)] composite; lit0; LLVM_offset; reg5; piece 4
        -> offset_out_of_storage / offset_out_of_storage / {32:r5}
    """)

# AMD A.2.5.1 current lane: it "is required for operations that are related to SIMT lanes". DWARF 6 (241011.1): if the
# program "is not using a SIMD/SIMT execution model, the current lane is always 0".
LANE_WITHOUT_SIMT = rows("""
    [A.2.5.1 current lane] LLVM_push_lane -> lane / lane / 0
    LLVM_push_lane -> lane / lane / 0 where lane_count=1
    LLVM_push_lane -> lane / lane / 0 where target="x86_64", registers={}
    LLVM_push_lane -> lane where lane_count=8
    LLVM_push_lane -> lane where target="amdgcn-gfx90a", registers={}
    LLVM_push_lane -> 3 where lane_count=8, lane=3            LLVM_push_lane -> bad_operand where lane=1
    """)
FIELDS = [name for name in Rules.__annotations__ if name != "name"]
ROWS = {field: globals()[field.upper()] for field in FIELDS}
"""The tables by field of the rules."""
test_rules = table(*ROWS.values())
FLAGS = ["eq", "ge", "gt", "le", "lt", "ne"]
BINARY = [*FLAGS, "and", "div", "minus", "mod", "mul", "or", "plus", "shl", "shr", "shra", "xor"]
SIGNED_64, UNSIGNED_128, SIGNED_32 = BaseType("signed", 64), BaseType("unsigned", 128), BaseType("signed", 32)


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("kind", [SIGNED_64, UNSIGNED_128, SIGNED_32, BaseType("float", 64)])
def test_operands_of_two_types_where_the_rules_give_them_one(operation, kind):
    """As LLDB: the generic one is converted to an integral base type that is at least as wide."""
    is_wide = kind in (SIGNED_64, UNSIGNED_128)
    for row in (f"const1u 9; lit2; {operation}", f"lit9; const1u 2; {operation}"):
        same = computed(row, AMD, None)
        for converted in (0, 1):
            for rules in (AMD, evolve(AMD, mixed_operands="wide_integral")):
                if is_wide and rules is not AMD:
                    result = computed(row, rules, kind, converted)
                    assert int(result.bits) == int(same.bits)
                    assert result.type.is_generic if operation in FLAGS else result.type == kind
                else:
                    with pytest.raises(IllFormed, match=r"same type|integral"):
                        computed(row, rules, kind, converted)


def computed(text, rules, kind, converted=0):
    """Evaluate a row of two constants and an operation, one of the constants converted to a type."""
    left, right, operation = text.split("; ")
    parts = [left, right]
    if kind is not None:
        parts[converted] += "; convert 7"
    expression = parsed("; ".join((*parts, operation)), "generic")
    context = Context(target=resolve("generic"), rules=rules, unit=Types({7: kind}), result_kind="value")
    result = evaluate(expression, context).of(0)
    if isinstance(result, DwarfGpuError):
        raise result
    return result


class Types:
    """A unit that has base types alone."""

    reference_size = 4

    def __init__(self, types):
        self.base_type = types.__getitem__


def test_bits_that_a_register_does_not_have_are_undefined_in_dwarf_5():
    """DW_OP_bit_piece 8 60 of 64 bits, from the least significant one on, has four bits that are not there."""
    found = answer("reg5; bit_piece 8 60", rules="dwarf5", byte_order="big", registers=BIG, read={"bytes": 1})
    assert int(found["read"].get("undefined", "0"), 16).bit_count() == 4


@pytest.mark.parametrize("field", FIELDS)
def test_every_preset_has_a_row_of_the_field_and_differs_where_others_do(field):
    assert {case.case["rules"] for case in ROWS[field]} == set(PRESETS)
    # ... and those that agree in it agree in every row, except where another field decides.
    results: dict[str, list[Any]] = {}
    for case in ROWS[field]:
        results.setdefault(case.case["rules"], []).append(case.expected)
    for one, other in (("dwarf5", "amd"), ("amd", "dwarf6"), ("dwarf5", "dwarf6")):
        if getattr(PRESETS[one], field) != getattr(PRESETS[other], field):
            assert results[one] != results[other], (one, other)
