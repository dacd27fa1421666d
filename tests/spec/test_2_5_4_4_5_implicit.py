"""A.2.5.4.4.5 Implicit location description operations."""

from functools import partial
from typing import Any

import pytest
from cases_context import DescribedFrame, DescribedUnit
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType
from dwarfgpu.machines.described import DescribedMachine
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, Rows, base_types, memory, parsed, run, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
FORM = "LLVM_form_aspace_address"
MISUSE = "implicit_pointer_misuse"
TYPES = base_types(
    "1 signed8, 2 unsigned16, 3 signed32, 4 unsigned64, 5 float32, 6 float64, 7 boolean8, 8 unsigned128, 9 "
    "address64, 10 unsigned32x3, 11 UTF32, 12 signed_char8, 13 unsigned13, 14 complex_float64, 15 unsigned32"
)
rows = Rows("A.2.5.4.4.5", vars(), rules="amd", base_types=TYPES)
row = rows.row
test_implicit_value = rows.table("""
    # A storage with the literal value V and a size of S, at a bit offset of 0.
    # "Bits accessed ... access the corresponding implicit storage value starting at the bit offset": of 0x1234
    () implicit_value 3412; lit4; LLVM_bit_offset; deref_size 1 => str(0x23)
    (1) implicit_value 0102030405 -> implicit 0102030405
    implicit_value 0102030405 -> implicit 0102030405 where byte_order="big", address_size=4
    implicit_value 0x => "implicit "                          implicit_value {'ab' * 300} => f"implicit {'ab' * 300}"
    (1) implicit_value 01020304 -> implicit 01020304 where want="location"
    implicit_value 01 -> bad_result_kind where want="value"   -> implicit 0102 where expr="9e020102"
    -> truncated where expr="9e030102"
    # the length may be padded
    -> implicit 0102 where expr="9e8280000102"
    # Bits are accessed from the bit offset on.
    implicit_value 0102030405 -> 0102030405 where read={"bytes": 5}
    implicit_value 0102030405 -> 030405 where read={"bytes": 3, "offset": 2}
    implicit_value 0102030405; deref_size 2 => str(0x0201)
    implicit_value 0102030405; deref_size 2 => str(0x0102) where byte_order="big"
    implicit_value 010203; lit4; LLVM_bit_offset; deref_size 2 => str(0x3020)
    implicit_value 010203; lit4; LLVM_bit_offset; deref_size 2 => str(0x1020) where byte_order="big"
    implicit_value 0000c03f; deref_type 4 5 -> 1.5:float32
    implicit_value 3fc00000; deref_type 4 5 -> 1.5:float32 where byte_order="big"
    implicit_value 000102030405060708090a0b0c0d0e0f; LLVM_push_lane; LLVM_offset; deref_size 2
        => [str(lane + (lane + 1 << 8)) for lane in range(15)] + ["read_past_storage"] + ["offset_out_of_storage"] * 16
        where target=WAVE32
    # What is past its end is an evaluation error, as is writing.
    implicit_value 01020304; deref -> read_past_storage
    implicit_value 01020304; deref => str(0x04030201) where address_size=4
    implicit_value 01020304 -> not_writable where write="00"
    """)


def stored(type_number: int, block: str, **case: Any) -> Case:
    """A value of a type holds the bytes that DW_OP_const_type read it from."""
    return row("(2)", f"const_type {type_number} {block}; stack_value", f"implicit {block}", **case)


test_stack_value = table(
    # A storage with the size and the endianity of the type of V.
    row("(2)", "lit5; stack_value", "implicit 0500000000000000"),
    row("(2)", "lit5; stack_value", "implicit 0000000000000005", byte_order="big"),
    row("(2)", "lit5; stack_value", "implicit 05000000", address_size=4),
    row("(2)", "lit5; stack_value", "implicit 00000005", address_size=4, byte_order="big"),
    row("(2)", "lit5; stack_value", "implicit 0500000000000000", target=WAVE64),
    row("(2)", "lit5; stack_value", "implicit 0500000000000000", want="location"),
    row("(2)", "lit5; stack_value", "bad_result_kind", want="value"),
    *[
        stored(number, block, byte_order=order)
        for order in ("little", "big")
        for number, block in (
            (1, "fe"),       (2, "0102"),     (3, "01020304"), (4, "0102030405060708"),          (5, "0000c03f"),
            (6, "000102030405f03f"),          (7, "01"),       (8, "000102030405060708090a0b0c0d0e0f"),
            (9, "0102030405060708"),          (10, "01000000020000000300000f"), (11, "41000000"),
            (12, "ff"),      (14, "0000803f00000040"),
        )
    ],
    rows("""
    # A value of 13 bits has 13 bits of storage.
    (2) const_type 13 ff1f; stack_value; deref_type 2 13 -> 8191:unsigned13
    const_type 13 0123; stack_value; deref_type 2 13 -> 291:unsigned13 where byte_order="big"
    const_type 13 ff1f; stack_value; deref_type 2 2 -> read_past_storage
    const_type 13 ff1f; stack_value; lit12; LLVM_bit_offset; drop -> undefined
    const_type 13 ff1f; stack_value; lit13; LLVM_bit_offset -> offset_out_of_storage
    # Computed values too.
    const_type 3 fcffffff; const_type 3 02000000; mul; stack_value -> implicit f8ffffff
    lit5; convert 2; stack_value -> implicit 0500
    lit5; convert 2; stack_value -> implicit 0005 where byte_order="big"
    breg5 1; stack_value -> implicit 0800000000000000 where registers={"5": 7}
    addr 0x10; stack_value -> implicit 1000000000000000
    regval_type 5 3; stack_value -> implicit 07000000 where registers={"5": 7}
    LLVM_push_lane; lit3; mul; stack_value => [f"implicit {3 * lane:02x}00000000000000" for lane in range(64)]
        where target=WAVE64
    # The result does not change when what it was computed from does: it is the literal value.
    lit5; stack_value; deref -> 5
    # It does not end the expression.
    lit5; stack_value; lit1; LLVM_offset -> implicit 0500000000000000+8
    lit5; stack_value; lit6; stack_value => ("implicit 0500000000000000", "implicit 0600000000000000")
    # The entry popped must be a value.
    reg5; stack_value -> wrong_kind where registers={"5": 7}
    lit5; stack_value; stack_value -> wrong_kind              implicit_value 01; stack_value -> wrong_kind
    LLVM_undefined; stack_value -> wrong_kind
    lit16; lit3; LLVM_form_aspace_address; stack_value -> wrong_kind where target=WAVE64
    addr 0x10; lit1; LLVM_bit_offset; stack_value -> wrong_kind
    piece 4; LLVM_piece_end; stack_value -> wrong_kind        piece 4; stack_value -> incomplete_composite
    stack_value -> stack_underflow                            lit5; stack_value -> not_writable where write="00"
    """))  # fmt: skip
DIES: dict[str, Any] = {
    "info:0x10": {"location": {"ops": "addr 0x1000"}},
    "info:0x11": {"location": {"ops": "reg5"}},
    "info:0x12": {"const_value": "0102030405060708"},
    "info:0x13": {},
    "info:0x14": {"location": {"ops": "lit16"}},
    "info:0x15": {"location": {"ops": "const_type 4 1000000000000000"}},
    "info:0x16": {"location": {"ops": "push_object_address"}},
    "info:0x17": {"location": {"ops": "lit1; plus"}},
    "info:0x18": {"location": {"ops": "reg5; piece 4; reg6; piece 4"}},
    "info:0x19": {"location": ""},
    "info:0x1a": {"location": []},
    "info:0x1b": {"location": [{"ops": "addr 0x1000"}, {"ops": "reg5"}]},
    "info:0x1c": {"location": {"ops": "addr 0x2000"}, "const_value": "01"},
    "info:0x1d": {"location": {"ops": "implicit_pointer 0x10 8"}},
    "info:0x1e": {"location": {"ops": "implicit_pointer 0x1e 0; deref"}},
    "info:0x1f": {"location": {"ops": "lit0; lit0; div"}},
    "info:0x21": {"location": {"ops": f"lit16; lit3; {FORM}"}},
    "info:0x22": {"location": {"ops": f"lit16; lit5; {FORM}"}},
    "info:0x23": {"location": None, "const_value": "2a"},
    "info:0x24": {"location": {"ops": "lit1; stack_value; lit5; stack_value"}}}  # fmt: skip
GPU_DIES = {**DIES, "info:0x20": {"location": {"ops": "regx v4; LLVM_push_lane; lit4; mul; LLVM_offset"}}}
PTR = "implicit_pointer 0x10 0"


class Pointers(Rows):
    """Rows that know entries; for GPUs one of them is in a vector register."""

    def row(self, clause: str, ops: str, expected: Any, **case: Any) -> Case:
        return super().row(clause, ops, expected, **{"dies": GPU_DIES if "target" in case else DIES, **case})


pointers = Pointers("A.2.5.4.4.5", vars(), rules="amd", base_types=TYPES)
ptr = partial(pointers.row, "(3)")
test_implicit_pointer = pointers.table("""
    # A storage of the size of an address, created from an entry and a displacement.
    (3) implicit_pointer 0x10 0 -> ptr info:0x10              implicit_pointer 0x10 4 -> ptr info:0x10+4
    implicit_pointer 0x10 -4 -> ptr info:0x10-4 where want="location"
    implicit_pointer 0x10 4 -> ptr info:0x10+4 where address_size=4, byte_order="big"
    implicit_pointer 0x10 4 -> bad_result_kind where want="value"
    # The reference has the size of an offset: 4 bytes in the 32-bit DWARF format, 8 in the 64-bit one.
    -> ptr info:0x10+4 where expr="a01000000004"
    -> ptr info:0x10-1 where expr="a0000000107f", byte_order="big"
    -> ptr info:0x10+4 where expr="a0100000000000000004", offset_size=8
    -> ptr info:0x10+4 where expr="a0100000000000000004", offset_size=8, address_size=4
    # Nothing is evaluated before the pointer is used: the entry may have nothing, or fail.
    implicit_pointer 0x13 0 -> ptr info:0x13                  implicit_pointer 0x1f 0 -> ptr info:0x1f
    # It is as large as an address.
    {PTR}; lit7; LLVM_offset; drop -> undefined               {PTR}; lit8; LLVM_offset -> offset_out_of_storage
    {PTR}; lit4; LLVM_offset -> offset_out_of_storage where address_size=4
    {PTR}; piece 9 -> bad_piece                               {PTR}; piece 5 -> bad_piece where address_size=4
    """)
test_dereference = pointers.table("""
    # Retrieving the complete contents gives an implicit pointer value ...
    (3) {PTR}; deref; stack_value | {PTR}; deref_size 8; stack_value | {PTR}; deref_type 8 4; stack_value |
        {PTR}; deref; stack_value; deref; stack_value -> ptr info:0x10
    implicit_pointer 0x10 -4; deref; stack_value -> ptr info:0x10-4 where byte_order="big"
    {PTR}; deref; stack_value | {PTR}; deref_size 4; stack_value -> ptr info:0x10 where address_size=4
    {PTR}; deref_type 4 15; stack_value -> ptr info:0x10 where address_size=4, byte_order="big"
    {PTR}; deref; stack_value => ["ptr info:0x10"] * 64 where target=WAVE64
    # ... also where the bits come from several implicit locations of one storage, in ascending order.
    {PTR}; piece 8; LLVM_piece_end; deref; stack_value |
        {PTR}; piece 4; {PTR}; lit4; LLVM_offset; piece 4; LLVM_piece_end; deref; stack_value |
        reg5; piece 4; {PTR}; piece 8; LLVM_piece_end; piece 12; LLVM_piece_end; lit4; LLVM_offset; deref; stack_value |
        {PTR}; LLVM_extend 64 3; lit16; LLVM_offset; deref; stack_value |
        implicit_value {'00' * 16}; {PTR}; lit1; LLVM_select_bit_piece 64 2; deref; stack_value | reg6; piece 8; reg5;
        piece 8; LLVM_piece_end; {PTR}; lit8; lit8; LLVM_overlay; lit8; LLVM_offset; deref; stack_value -> ptr info:0x10
    {PTR}; bit_piece 1 0; {PTR}; bit_piece 30 1; {PTR}; bit_piece 33 31; LLVM_piece_end; deref; stack_value
        -> ptr info:0x10 where byte_order="big"
    # It is an evaluation error to retrieve anything else of it: a part ...
    {PTR}; deref_size 4 | {PTR}; deref_type 4 3 | {PTR}; lit4; LLVM_offset; deref_size 4 |
        {PTR}; bit_piece 63 0; bit_piece 1 0; LLVM_piece_end; deref_size 4 => MISUSE
    {PTR}; deref_size 1 => MISUSE where address_size=4
    # ... or bits that come from another storage too ...
    {PTR}; piece 4; reg5; piece 4; LLVM_piece_end; deref | reg5; piece 4; {PTR}; piece 4; LLVM_piece_end; deref |
        {PTR}; bit_piece 63 0; reg5; bit_piece 1 0; LLVM_piece_end; deref => MISUSE where registers={"5": 0}
    {PTR}; piece 4; implicit_pointer 0x11 0; bit_piece 32 32; LLVM_piece_end; deref |
        {PTR}; piece 4; implicit_pointer 0x10 4; bit_piece 32 32; LLVM_piece_end; deref |
        {PTR}; piece 8; {PTR}; piece 8; LLVM_piece_end; lit4; LLVM_offset; deref |
        {PTR}; piece 8; {PTR}; piece 8; LLVM_piece_end; deref_type 16 8 => MISUSE
    # ... or that are not consecutive and ascending.
    {PTR}; bit_piece 32 32; {PTR}; bit_piece 32 0; LLVM_piece_end; deref | {PTR}; LLVM_extend 32 2; deref |
        {PTR}; LLVM_extend 1 64; deref => MISUSE
    # What lies beside it can be retrieved.
    {PTR}; piece 8; reg5; piece 8; LLVM_piece_end; LLVM_offset_uconst 8; deref |
        reg5; piece 8; {PTR}; piece 8; LLVM_piece_end; deref -> 7 where registers={"5": 7}
    {PTR}; lit4; LLVM_offset; deref -> read_past_storage
    # In some lanes only.
    regx s6; piece 4; regx s7; piece 4; {PTR}; piece 8; LLVM_piece_end; LLVM_push_lane; LLVM_offset; deref; stack_value
        => ["implicit 0700000009000000", *[MISUSE] * 7, "ptr info:0x10", *["read_past_storage"] * 7,
        *["offset_out_of_storage"] * 16] where registers={"s6": 7, "s7": 9}, target=WAVE32
    """)
USE = "deref; LLVM_offset_uconst 0"
test_pointee = table(
    # An implicit pointer value that must be a location becomes that of the entry, moved by the displacement.
    ptr(f"{PTR}; {USE}", "mem 0x1000"),                       ptr(f"{PTR}; deref", "mem 0x1000", want="location"),
    ptr("implicit_pointer 0x10 4; deref", "mem 0x1004", want="location"),
    ptr("implicit_pointer 0x10 -4; deref", "mem 0xffc", want="location", address_size=4),
    ptr("implicit_pointer 0x11 4; deref", "r5+32", want="location"),
    ptr("implicit_pointer 0x11 4; deref; deref_size 4", "1", registers={"5": 1 << 32 | 2}),
    ptr("implicit_pointer 0x10 4; deref; deref_size 4", "7", memory=[memory(0x1004, "07000000")]),
    ptr("implicit_pointer 0x14 4; deref", "mem 0x14", want="location"),
    ptr("implicit_pointer 0x18 6; deref", "{32:r5 32:r6}+48", want="location"),
    ptr("implicit_pointer 0x24 1; deref", "implicit 0500000000000000+8", want="location"),
    ptr("implicit_pointer 0x21 4; deref", "local#0x14", want="location", target=WAVE64),
    ptr(f"{PTR}; deref; piece 4", "{32:mem 0x1000}"),
    ptr(f"{PTR}; deref; lit2; LLVM_bit_offset", "mem 0x1000.2"),
    ptr(f"reg6; {PTR}; deref; lit1; LLVM_select_bit_piece 8 2", "{8:mem 0x1000 8:r6+8}"),
    ptr(f"{PTR}; deref", "07", read={"bytes": 1}, memory=[memory(0x1000, "07")]),
    # A location list gives the union of what matches, or an undefined location.
    ptr(f"implicit_pointer 0x1b 2; {USE}", "mem 0x1002 | r5+16"),
    ptr(f"implicit_pointer 0x1a 2; {USE}", "undefined"),      ptr(f"implicit_pointer 0x19 2; {USE}", "undefined"),
    ptr("implicit_pointer 0x1a 2; deref; deref", "undefined_read"),
    # A constant value gives an implicit storage of its size.
    ptr(f"implicit_pointer 0x12 0; {USE}", "implicit 0102030405060708"),
    ptr(f"implicit_pointer 0x12 4; {USE}", "implicit 0102030405060708+32"),
    ptr("implicit_pointer 0x12 4; deref; deref_size 2", str(0x0605)),
    ptr("implicit_pointer 0x12 4; deref; deref_size 2", str(0x0506), byte_order="big"),
    ptr(f"implicit_pointer 0x23 0; {USE}", "implicit 2a"),
    ptr("implicit_pointer 0x23 0; deref; deref", "read_past_storage"),
    ptr(f"implicit_pointer 0x1c 0; {USE}", "mem 0x2000"),  # the first rule that applies
    # An entry with neither is an evaluation error.
    ptr(f"implicit_pointer 0x13 0; {USE}", MISUSE),
    ptr("implicit_pointer 0x13 0; deref", MISUSE, want="location"),
    ptr(f"implicit_pointer 0x99 0; {USE}", "bad_operand"),  # there is no such entry
    row("(3)", f"{PTR}; {USE}", "unit"),  # entries are not described at all
    # The displacement ends within the storage.
    ptr(f"implicit_pointer 0x11 8; {USE}", "offset_out_of_storage"),
    ptr(f"implicit_pointer 0x11 -1; {USE}", "offset_out_of_storage"),
    ptr(f"implicit_pointer 0x12 8; {USE}", "offset_out_of_storage"),
    # The result kind of the entry's expression is a location description,
    ptr(f"implicit_pointer 0x15 0; {USE}", "bad_result_kind"),
    # the object is unspecified,
    ptr(f"implicit_pointer 0x16 0; {USE}", "object", object=0x3000),
    # and the initial stack is empty.
    ptr(f"lit1; lit2; implicit_pointer 0x17 0; {USE}", "stack_underflow"),
    # Its own error is that of the use.
    ptr(f"implicit_pointer 0x1f 0; {USE}", "division_by_zero"),
    # It is evaluated in the context of the use: for its lane, its frame and its machine.
    ptr(f"implicit_pointer 0x20 2; {USE}", [f"v4+{32 * lane + 16}" for lane in range(64)], target=WAVE64),
    ptr(
        "implicit_pointer 0x20 0; deref; deref_size 4",
        [str(lane + 1) for lane in range(32)], target=WAVE32, registers={"v4": list(range(1, 33))},
    ),
    ptr(f"implicit_pointer 0x20 0; {USE}", "lane", target=WAVE32),
    ptr(USE, "v4+160", initial_stack=[{"kind": "implicit_pointer", "die": "info:0x20"}], target=WAVE64, lane=5),
    ptr(f"implicit_pointer 0x22 4; {USE}", [f"private_lane#0x14@{lane}" for lane in range(32)], target=WAVE32),
    # A pointer to a pointer.
    ptr("implicit_pointer 0x1d 0; deref", "ptr info:0x10+8", want="location"),
    ptr("implicit_pointer 0x1d 0; deref; deref", "mem 0x1008", want="location"),
    ptr("implicit_pointer 0x1d 0; deref; deref; deref", "9", memory=[memory(0x1008, "09" + "00" * 7)]),
    ptr("implicit_pointer 0x1d 4; deref; deref", "read_past_storage"),
    # A pointer to what it points to itself never comes to an end.
    ptr(f"implicit_pointer 0x1e 0; {USE}", "cycle"))  # fmt: skip
LOCAL_PTR = "lit3; LLVM_aspace_implicit_pointer 0x21 4"
test_other_address_spaces = pointers.table("""
    # DW_OP_LLVM_form_aspace_address with the address space of the pointer.
    (3) {PTR}; deref; lit0; {FORM} -> mem 0x1000
    implicit_pointer 0x11 4; deref; const_type 1 00; {FORM} -> r5+32
    # ... which DW_OP_xderef performs too (A.2.5.4.3.4 (5)).
    lit0; {PTR}; deref; xderef -> 7 where memory=[memory(0x1000, "07" + "00" * 7)]
    lit1; {PTR}; deref; xderef => MISUSE where target=WAVE64
    (4) lit3; LLVM_aspace_implicit_pointer 0x21 4 -> ptr info:0x21+4 in 3 where target=WAVE64
    lit0; LLVM_aspace_implicit_pointer 0x10 4 -> ptr info:0x10+4
    lit3; aspace_implicit_pointer 0x21 -4 -> ptr info:0x21-4 in 3 where target=WAVE64
    lit6; LLVM_aspace_implicit_pointer 0x21 0 => ["ptr info:0x21 in 6"] * 32 where target=WAVE32
    lit3; LLVM_aspace_implicit_pointer 0x21 4; deref_size 4; lit3; LLVM_form_aspace_address |
        lit3; LLVM_aspace_implicit_pointer 0x21 4; deref_type 4 15; lit3; LLVM_form_aspace_address | lit3;
        LLVM_aspace_implicit_pointer 0x21 4; deref_size 4; stack_value; deref_size 4; lit3; LLVM_form_aspace_address
        -> local#0x14 where target=WAVE64
    lit3; LLVM_aspace_implicit_pointer 0x21 4; deref_type 4 15; stack_value -> ptr info:0x21+4 in 3 where target=WAVE32
    # The pointer is as large as an address of its space.
    lit3; LLVM_aspace_implicit_pointer 0x21 4; deref -> read_past_storage where target=WAVE64
    lit3; LLVM_aspace_implicit_pointer 0x21 4; deref_size 2 => MISUSE where target=WAVE64
    lit3; LLVM_aspace_implicit_pointer 0x21 4; lit4; LLVM_offset -> offset_out_of_storage where target=WAVE64
    lit1; LLVM_aspace_implicit_pointer 0x10 0; deref; lit1; LLVM_form_aspace_address -> mem 0x1000 where target=WAVE64
    # What the pointer points to may be anywhere, and no lane is needed to have the pointer.
    lit5; LLVM_aspace_implicit_pointer 0x12 0; deref_size 4; lit5; LLVM_form_aspace_address
        -> implicit 0102030405060708 where target=WAVE64
    # Another address space is an access "in any other manner".
    (3) {PTR}; deref; lit1; {FORM} => MISUSE where target=WAVE64
    (4) {LOCAL_PTR}; deref_size 4; lit6; {FORM} | {LOCAL_PTR}; deref_size 4; lit0; {FORM} => MISUSE where target=WAVE64
    # ... and only pointers into the default address space are converted implicitly.
    {LOCAL_PTR}; deref_size 4; lit1; LLVM_offset | {LOCAL_PTR}; deref_size 4; deref_size 4 => MISUSE where target=WAVE64
    {LOCAL_PTR}; deref_size 4 => MISUSE where target=WAVE64, want="location"
    # AS must be an integral value, and an address space of the target.
    lit4; LLVM_aspace_implicit_pointer 0x10 0 -> bad_address_space where target=WAVE64
    lit1; LLVM_aspace_implicit_pointer 0x10 0 -> bad_address_space
    const_type 5 0000803f; LLVM_aspace_implicit_pointer 0x10 0 -> integral_type_required
    reg5; LLVM_aspace_implicit_pointer 0x10 0 -> wrong_kind   LLVM_aspace_implicit_pointer 0x10 0 -> stack_underflow
    """)
IPV = f"{PTR}; deref"
test_other_uses = pointers.table("""
    # It is an evaluation error if the storage or the value is accessed in any other manner.
    (3) {IPV}; lit1; plus | lit1; {IPV}; plus | {IPV}; plus_uconst 1 | {IPV}; neg | {IPV}; lit0; eq | {IPV}; {IPV}; eq |
        {IPV}; bra @end; end: nop | {IPV}; convert 4 | {IPV}; convert 0 | {IPV}; reinterpret 4 |
        reg5; {IPV}; LLVM_offset | lit0; {IPV}; {FORM} | reg5; reg6; {IPV}; LLVM_select_bit_piece 8 2 |
        reg5; reg6; lit0; {IPV}; LLVM_overlay | {IPV}; LLVM_aspace_implicit_pointer 0x10 0 => MISUSE
    {IPV}; form_tls_address => MISUSE where tls={"0": 0}
    {IPV}; LLVM_aspace_bregx 5 0 => MISUSE where registers={"5": 0}
    # The pointer itself is not a value, nor the location of memory.
    {PTR}; lit1; plus | {PTR}; stack_value | {PTR}; lit0; {FORM} -> wrong_kind
    {PTR} => MISUSE where read={"bytes": 8}                   {PTR} => MISUSE where read={"bytes": 1}
    {PTR} -> not_writable where write="00" * 8
    reg5; piece 8; {PTR}; piece 8 => "00" * 8 where read={"bytes": 8}, registers={"5": 0}
    reg5; piece 8; {PTR}; piece 8 => MISUSE where read={"bytes": 9}, registers={"5": 0}
    # A value result is the value on top of the stack (A.2.5.4), which an implicit pointer value is.
    {IPV} -> ptr info:0x10 where want="value"                 {IPV} -> ptr info:0x10
    """)
SOURCES = {"A": "implicit_pointer 0x10 0", "B": "implicit_pointer 0x11 0", "r": "reg5"}
R5 = 0x0123456789ABCDEF


@st.composite
def mixtures(draw):
    """Parts of two pointers and of a register, some of which go on where the one before ended; and where to read."""
    parts = [("r", 0, 64)] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 4))):
        source = draw(st.sampled_from("AABr"))
        goes_on = bool(parts) and parts[-1][0] == source and draw(st.booleans())
        start = sum(parts[-1][1:]) if goes_on else draw(st.sampled_from([0, 0, 0, 8, 32]))
        if start < 64:
            parts.append((source, start, 64 - start if draw(st.booleans()) else draw(st.integers(1, 64 - start))))
    total = sum(size for _, _, size in parts)
    size = min(draw(st.sampled_from([64, 64, 64, 32, 8])), total)
    edges = [sum(size for _, _, size in parts[:count]) for count in range(len(parts))]
    return parts, min(draw(st.sampled_from([*edges, 0])), total - size), size


@pytest.mark.parametrize("order", ["little", "big"])
def test_only_the_complete_contents_of_a_pointer_can_be_retrieved(order):
    @given(mixtures())
    def check(drawn):
        parts, offset, size = drawn
        bits = [(source, start + i) for source, start, length in parts for i in range(length)][offset : offset + size]
        pointers = [bit for bit in bits if bit[0] != "r"]
        if not pointers:
            number = sum(
                (R5 >> (bit if order == "little" else 63 - bit) & 1) << (i if order == "little" else size - 1 - i)
                for i, (_, bit) in enumerate(bits)
            )
            expected = f"{number}:unsigned{size}"
        elif bits == [(pointers[0][0], i) for i in range(64)]:
            expected = f"ptr info:{'0x10' if pointers[0][0] == 'A' else '0x11'}"
        else:
            expected = MISUSE
        ops = "; ".join(f"{SOURCES[source]}; bit_piece {length} {start}" for source, start, length in parts)
        found = run(
            f"{ops}; LLVM_piece_end; constu {offset}; LLVM_bit_offset;deref_type {-(-size // 8)} 1",
            rules="amd",
            byte_order=order,
            registers={"5": R5},
            dies=DIES,
            base_types={"1": {"encoding": "unsigned", "byte_size": -(-size // 8), "bit_size": size}},
        )
        assert found == expected, ops

    check()


# --- Types with an endianity of their own (DW_AT_endianity) -------------------------------------------------------


def evaluated(ops: str, order: str, kind: BaseType) -> tuple[Any, DescribedMachine]:
    target = resolve("generic", byte_order=order)
    machine = DescribedMachine(target)
    machine.describe_register(5, bytes(range(1, 9)))
    expression = parsed(ops, target, byte_order=order)  # type: ignore[arg-type]
    unit = DescribedUnit(base_types={1: lambda: kind})
    return evaluate(expression, Context(target, AMD, machine, frame=DescribedFrame(machine), unit=unit)).one(), machine


def bytes_at(ops: str, order: Any, kind: BaseType, size: int) -> str:
    location, machine = evaluated(ops, order, kind)
    return Accessor(machine, order).read(location, 8 * size).bits.to_bytes(size, order).hex()


BIG32 = BaseType("unsigned", 32, byte_order="big")
LITTLE32 = BaseType("unsigned", 32, byte_order="little")


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("kind, data", [(BIG32, "00000102"), (LITTLE32, "02010000")])
def test_a_stack_value_has_the_endianity_of_its_type(order, kind, data):
    ops = "const2u 0x102; convert 1; stack_value"
    assert bytes_at(ops, order, kind, 4) == data


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("kind", [BIG32, LITTLE32])
@pytest.mark.parametrize("ops", ["const_type 1 01020304; stack_value", "regval_type 5 1; stack_value"])
def test_what_is_read_with_an_endianity_is_stored_with_it(order, kind, ops):
    assert bytes_at(ops, order, kind, 4) == "01020304"


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("kind, number", [(BIG32, 0x01020304), (LITTLE32, 0x04030201)])
def test_a_value_is_read_in_the_endianity_of_its_type(order, kind, number):
    ops = "implicit_value 01020304; deref_type 4 1"
    assert evaluated(ops, order, kind)[0].bits == number
