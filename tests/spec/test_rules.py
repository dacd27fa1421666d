"""The points on which DWARF 5, the text ("AMD") and the drafts of DWARF 6 differ: every field of `expr.rules`.

A row is one program, with what it gives under each of the three presets. Under every preset the program is the same,
and so are its bytes: rules say what operations mean, not how they are encoded.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.asm import parse
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD, PRESETS, Rules
from dwarfgpu.expr.types import BaseType
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, answer, table

TYPES: dict[str, Any] = {
    "1": {"encoding": "signed", "byte_size": 1},
    "2": {"encoding": "unsigned", "byte_size": 8},
    "3": {"encoding": "float", "byte_size": 8},
}
DIES: dict[str, Any] = {
    "info:0x10": {"location": {"ops": "DW_OP_addr 0x1000"}},
    "info:0x11": {"location": {"ops": "DW_OP_lit0; DW_OP_lit0; DW_OP_div"}},
    "unit:0x20": {"location": [{"ops": "DW_OP_lit1; DW_OP_plus"}]},
    "unit:0x21": {"location": [{"ops": "DW_OP_reg5"}, {"ops": "DW_OP_reg6"}]},
    "unit:0x22": {"location": []},
}
LITTLE = {"5": {"bytes": "8877665544332211"}}
BIG = {"5": {"bytes": "1122334455667788"}}
"""Register 5 holds 0x1122334455667788."""
POINTER = {"kind": "implicit_pointer", "die": "info:0x10"}


def rule(clause: str, ops: str, dwarf5: Any, amd: Any, dwarf6: Any, **case: Any) -> list[Case]:
    """One program under the three presets."""
    registers = BIG if case.get("byte_order") == "big" else LITTLE
    settings = {"base_types": TYPES, "dies": DIES, "registers": registers, **case}
    expected = {"dwarf5": dwarf5, "amd": amd, "dwarf6": dwarf6}
    return [Case(clause, ops, result, rules=name, **settings) for name, result in expected.items()]


# DWARF 5, 2.6.1.1.3: a register location description stands alone, for an object or a piece of one; 2.6.1.1.4: so does
# an implicit one. AMD A.2.5.4.4.5 (2): DW_OP_stack_value "no longer terminates the DWARF operation expression execution
# as in DWARF Version 5". DWARF 6 (230524.1): it pushes a location.
LOCATION_ENDS_EXPRESSION = [
    *rule("A.2.5.4.4.5 (2)", "DW_OP_lit5; DW_OP_stack_value; DW_OP_deref", "after_location", "5", "5"),
    *rule("A.2.5.4.4.4 (1)", "DW_OP_reg5; DW_OP_deref_size 1", "after_location", "136", "136"),
    *rule("A.2.5.4.4.4 (2)", "DW_OP_regx 5; DW_OP_lit1; DW_OP_LLVM_offset", "after_location", "r5+8", "r5+8"),
    *rule("A.2.5.4.4.5 (1)", "DW_OP_implicit_value 0102; DW_OP_deref_size 1", "after_location", "1", "1"),
    *rule(
        "A.2.5.4.4.5 (3)",
        "DW_OP_implicit_pointer 0x10 0; DW_OP_nop",
        "after_location",
        "ptr info:0x10",
        "ptr info:0x10",
    ),
    *rule("A.2.5.4.4.4 (1)", "DW_OP_reg5; DW_OP_lit1", "after_location", "1", "1"),
    # A piece may follow, and memory is no such location.
    *rule("A.2.5.4.4.6 (1)", "DW_OP_reg5; DW_OP_piece 4", *["{32:r5}"] * 3),
    *rule(
        "A.2.5.4.4.6 (2)", "DW_OP_lit5; DW_OP_stack_value; DW_OP_bit_piece 8 0", *["{8:implicit 0500000000000000}"] * 3
    ),
    *rule("A.2.5.4.4.3 (7)", "DW_OP_breg5 0; DW_OP_plus_uconst 1", *[str(0x1122334455667789)] * 3),
]

# AMD A.2.5.4.4.6: "If a stack entry is required to be a location description L, but L has an incomplete composite
# location description, then the DWARF expression is ill-formed", and a piece leaves what is below it. DWARF 6
# (230524.1, 3.12): composites are always complete; a piece needs a composite below its operand, and starts one by
# itself only where the operand is all there is on the stack. DWARF 5, 2.6.1.2: an expression of pieces, nothing else.
INCOMPLETE_COMPOSITES = [
    *rule(
        "A.2.5.4.4.6",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_offset_uconst 1",
        "incomplete_composite",
        "incomplete_composite",
        "{32:r5}+8",
    ),
    *rule(
        "A.2.5.4.4.6",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_deref_size 4",
        "incomplete_composite",
        "incomplete_composite",
        str(0x55667788),
    ),
    *rule(
        "A.2.5.4.1",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_dup; DW_OP_drop",
        "incomplete_composite",
        "incomplete_composite",
        "{32:r5}",
    ),
    *rule("A.2.5.4.4.6 (1)", "DW_OP_lit1; DW_OP_reg5; DW_OP_piece 4", ("1", "{32:r5}"), ("1", "{32:r5}"), "bad_piece"),
    *rule("A.2.5.4.4.6 (1)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2", *["{32:r5 16:r6}"] * 3),
    # A composite that was moved takes more pieces in DWARF 6, and stays where it is; for AMD it is complete, so that
    # a piece makes it a part of another one.
    *rule(
        "DWARF 6 (230524.1), 3.12 (2)",
        "DW_OP_composite; DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_offset_uconst 1; DW_OP_reg6; DW_OP_piece 2",
        "incomplete_composite",
        "incomplete_composite",
        "{32:r5 16:r6}+8",
    ),
    *rule(
        "DWARF 6 (230524.1), 3.12",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_offset_uconst 1; DW_OP_piece 2",
        "incomplete_composite",
        "incomplete_composite",
        "{32:r5 16:undefined}+8",
    ),
    *rule(
        "A.2.5.4.4.6 (1)",
        "DW_OP_push_object_address; DW_OP_piece 2",
        "{16:{32:r5}+8}",
        "{16:{32:r5}+8}",
        "{32:r5 16:undefined}+8",
        object={
            "kind": "composite",
            "bit_offset": 8,
            "parts": [{"bit_size": 32, "location": {"kind": "register", "register": 5}}],
        },
    ),
    *rule(
        "A.2.5.4.4.6 (3)",
        "DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_LLVM_offset_uconst 1; DW_OP_LLVM_piece_end",
        "wrong_kind",
        "wrong_kind",
        "{32:r5}+8",
    ),
    *rule("A.2.5.4.4.6 (1)", "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 2", *["{32:r5 16:undefined}"] * 3),
    *rule("A.2.5.4.4.6 (1)", "DW_OP_piece 4", *["{32:undefined}"] * 3),
    *rule(
        "DWARF 6 (230524.1), 3.12 (1)",
        "DW_OP_composite; DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 2",
        *["{32:r5 16:r6}"] * 3,
    ),
    *rule(
        "DWARF 6 (230524.1), 3.12 (1)",
        "DW_OP_lit1; DW_OP_composite; DW_OP_reg5; DW_OP_piece 4",
        ("1", "{}", "{32:r5}"),
        ("1", "{}", "{32:r5}"),
        ("1", "{32:r5}"),
    ),
]

# DWARF 5, 2.6.1.2: locations and composition operations alternate, the operation last. AMD A.2.5.4 and DWARF 6
# (230524.1): the top stack entry is the result, other entries are discarded.
LOCATION_AFTER_PIECES = [
    *rule("A.2.5.4", "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6", "bad_piece", "r6", "r6"),
    *rule("A.2.5.4", "DW_OP_reg5; DW_OP_piece 4; DW_OP_lit16", "bad_piece", "mem 0x10", "mem 0x10", want="location"),
    *rule("A.2.5.4", "DW_OP_reg5; DW_OP_piece 4; DW_OP_piece 2", *["{32:r5 16:undefined}"] * 3),
]

# AMD A.2.5.4.4.6: "All the bits must be within the size of LS or the DWARF expression is ill-formed"; so in the
# reference implementation of DWARF 6. DWARF 5, 2.6.1.2 says nothing: its debuggers show what is missing as unavailable.
PART_BEYOND_STORAGE = [
    *rule("A.2.5.4.4.6", "DW_OP_reg5; DW_OP_piece 9", "{64:r5 8:undefined}", "bad_piece", "bad_piece"),
    *rule("A.2.5.4.4.6", "DW_OP_reg5; DW_OP_bit_piece 62 3", "{61:r5+3 1:undefined}", "bad_piece", "bad_piece"),
    *rule(
        "A.2.5.4.4.6",
        "DW_OP_implicit_value 01; DW_OP_piece 2",
        "0100 undefined 00ff",
        "bad_piece",
        "bad_piece",
        read={"bytes": 2},
    ),
    *rule("A.2.5.4.4.6", "DW_OP_lit5; DW_OP_stack_value; DW_OP_piece 8", *["{64:implicit 0500000000000000}"] * 3),
    *rule(
        "A.2.5.4.4.6",
        "DW_OP_reg5; DW_OP_piece 8; DW_OP_reg5; DW_OP_piece 16",
        "{64:r5 64:r5 64:undefined}",
        "bad_piece",
        "bad_piece",
    ),
]

# AMD A.2.5.4.4.6 (2): B is applied "as if the DW_OP_constu B; DW_OP_LLVM_bit_offset operations were applied", so bits
# count in storage order. DWARF 5, 2.6.1.2 (2): in a register from the least significant bit on, in an
# implicit value too; so in DWARF 6 (230524.1). That is the other end of the storage on big-endian targets.
PIECE_OF_VALUE_BITS = [
    *rule("A.2.5.4.4.6 (1)", "DW_OP_reg5; DW_OP_piece 2", "{16:r5+48}", "{16:r5}", "{16:r5+48}", byte_order="big"),
    *rule("A.2.5.4.4.6 (2)", "DW_OP_reg5; DW_OP_bit_piece 4 3", "{4:r5+57}", "{4:r5+3}", "{4:r5+57}", byte_order="big"),
    *rule("A.2.5.4.4.6 (1)", "DW_OP_reg5; DW_OP_piece 2", "7788", "1122", "7788", byte_order="big", read={"bytes": 2}),
    *rule(
        "A.2.5.4.4.6 (1)",
        "DW_OP_lit5; DW_OP_stack_value; DW_OP_piece 2",
        "0005",
        "0000",
        "0005",
        byte_order="big",
        read={"bytes": 2},
    ),
    *rule(
        "A.2.5.4.4.6 (2)",
        "DW_OP_implicit_value 01020304; DW_OP_bit_piece 8 8",
        "03",
        "02",
        "03",
        byte_order="big",
        read={"bytes": 1},
    ),
    *[
        Case("A.2.5.4.4.6 (2)", "DW_OP_reg5; DW_OP_bit_piece 8 60", "bad_piece", rules=rules, byte_order="big")
        for rules in ("amd", "dwarf6")
    ],
    # Memory and composites are in storage order for all of them, and on a little-endian target everything is.
    *rule("A.2.5.4.4.6 (2)", "DW_OP_addr 0x10; DW_OP_bit_piece 4 3", *["{4:mem 0x10.3}"] * 3, byte_order="big"),
    *rule("A.2.5.4.4.6 (2)", "DW_OP_reg5; DW_OP_bit_piece 4 3", *["{4:r5+3}"] * 3),
    *rule("A.2.5.4.4.6 (2)", "DW_OP_implicit_value 01020304; DW_OP_bit_piece 8 8", *["02"] * 3, read={"bytes": 1}),
]

# AMD A.2.5.4.4.2: "There is no concept of the size of the undefined location storage, nor of a bit offset", the offset
# operations leave it unchanged. DWARF 6 (230524.1): it has the size of the largest address space or register, and the
# offset operations are checked as for every storage.
UNDEFINED_HAS_SIZE = [
    *rule(
        "A.2.5.4.4.2",
        "DW_OP_LLVM_undefined; DW_OP_const1s -1; DW_OP_LLVM_offset",
        "undefined",
        "undefined",
        "offset_out_of_storage",
    ),
    *rule("A.2.5.4.4.2", "DW_OP_LLVM_undefined; DW_OP_lit4; DW_OP_LLVM_offset", *["undefined"] * 3),
    *rule(
        "A.2.5.4.4.2",
        "DW_OP_LLVM_undefined; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_const1s -4; DW_OP_LLVM_offset",
        *["undefined"] * 3,
    ),
    *rule(
        "A.2.5.4.4.2",
        "DW_OP_LLVM_undefined; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_const1s -5; DW_OP_LLVM_offset",
        "undefined",
        "undefined",
        "offset_out_of_storage",
    ),
    *rule(
        "A.2.5.4.4.2",
        "DW_OP_LLVM_undefined; DW_OP_const_type 2 ffffffff00000000; DW_OP_LLVM_offset; DW_OP_lit1; DW_OP_LLVM_offset",
        "undefined",
        "undefined",
        "offset_out_of_storage",
        address_size=4,
    ),
    *rule(
        "A.2.5.4.4.2",
        "DW_OP_LLVM_undefined; DW_OP_const_type 2 ffffffff00000000; DW_OP_LLVM_offset",
        *["undefined"] * 3,
        address_size=4,
    ),
]

# AMD A.2.5.4.4.6 (6): "ill-formed if BO or BS are negative values", or if less than BO plus BS is left of the base; the
# composite begins at the base. DWARF 6 (251120.1): the whole base storage stays visible, the result keeps the offset of
# the base, the overlay may begin before it and end past the end of the storage; a gap is undefined.
OVERLAY = [
    *rule(
        "A.2.5.4.4.6 (6)",
        "DW_OP_reg5; DW_OP_reg6; DW_OP_lit2; DW_OP_lit3; DW_OP_LLVM_overlay",
        "after_location",
        *["{16:r5 24:r6 24:r5+40}"] * 2,
    ),
    *rule(
        "A.2.5.4.4.6 (6)",
        "DW_OP_addr 0x10; DW_OP_addr 0x40; DW_OP_lit2; DW_OP_lit3; DW_OP_LLVM_overlay",
        f"{{16:mem 0x10 24:mem 0x40 {(8 << 32) - 128 - 40}:mem 0x15}}",
        f"{{16:mem 0x10 24:mem 0x40 {(8 << 32) - 128 - 40}:mem 0x15}}",
        f"{{144:mem 0x0 24:mem 0x40 {(8 << 32) - 128 - 40}:mem 0x15}}+128",
        address_size=4,
    ),
    *rule(
        "A.2.5.4.4.6 (6)",
        "DW_OP_addr 0x10; DW_OP_addr 0x40; DW_OP_const1s -2; DW_OP_lit3; DW_OP_LLVM_overlay",
        "bad_operand",
        "bad_operand",
        f"{{112:mem 0x0 24:mem 0x40 {(8 << 32) - 136}:mem 0x11}}+128",
        address_size=4,
    ),
    *rule(
        "A.2.5.4.4.6 (6)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_lit7; DW_OP_lit2; DW_OP_LLVM_overlay",
        "bad_piece",
        "bad_piece",
        "{56:r5 16:mem 0x40}",
        object={"kind": "register", "register": 5},
    ),
    *rule(
        "A.2.5.4.4.6 (6)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_lit9; DW_OP_lit2; DW_OP_LLVM_overlay",
        "bad_piece",
        "bad_piece",
        "{64:r5 8:undefined 16:mem 0x40}",
        object={"kind": "register", "register": 5},
    ),
    *rule(
        "A.2.5.4.4.6 (7)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_lit0; DW_OP_const1u 64; DW_OP_LLVM_bit_overlay",
        "mem 0x40",
        "mem 0x40",
        "{64:mem 0x40}",
        object={"kind": "register", "register": 5},
    ),
    *rule(
        "A.2.5.4.4.6 (7)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_const1s -5; DW_OP_lit4; DW_OP_LLVM_bit_overlay",
        "bad_operand",
        "bad_operand",
        "{3:r5 4:mem 0x40 57:r5+7}+8",
        object={"kind": "register", "register": 5, "bit_offset": 8},
    ),
    # Nothing is laid over the base with a size of 0, and nothing can be laid before its storage.
    *rule(
        "A.2.5.4.4.6 (7)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_lit3; DW_OP_lit0; DW_OP_LLVM_bit_overlay",
        *["r5+8"] * 3,
        object={"kind": "register", "register": 5, "bit_offset": 8},
    ),
    *rule(
        "A.2.5.4.4.6 (7)",
        "DW_OP_push_object_address; DW_OP_addr 0x40; DW_OP_const1s -9; DW_OP_lit4; DW_OP_LLVM_bit_overlay",
        *["bad_operand"] * 3,
        object={"kind": "register", "register": 5, "bit_offset": 8},
    ),
]

# AMD A.2.5.4.4.3: only "a value V with the generic type" is implicitly converted to a memory location description.
# DWARF 6 (230524.1) converts "a value", and the debuggers of DWARF 5 any integer.
VALUE_AS_LOCATION = [
    *rule(
        "A.2.5.4.4.3",
        "DW_OP_const_type 2 1000000000000000; DW_OP_piece 4",
        "{32:mem 0x10}",
        "wrong_kind",
        "{32:mem 0x10}",
    ),
    *rule(
        "A.2.5.4.4.3", "DW_OP_const_type 2 1000000000000000", "mem 0x10", "bad_result_kind", "mem 0x10", want="location"
    ),
    *rule(
        "A.2.5.4.4.3",
        "DW_OP_const_type 2 1000000000000000; DW_OP_deref_size 1",
        "7",
        "wrong_kind",
        "7",
        memory=[{"space": 0, "address": 16, "bytes": "07"}],
    ),
    *rule(
        "A.2.5.4.4.3",
        "DW_OP_const_type 2 1000000001000000",
        "mem 0x10",
        "bad_result_kind",
        "mem 0x10",
        want="location",
        address_size=4,
    ),
    *rule("A.2.5.4.4.3", "DW_OP_lit16", *["mem 0x10"] * 3, want="location"),
    *rule("A.2.5.4.4.3", "DW_OP_const_type 3 000000000000f03f", *["bad_result_kind"] * 3, want="location"),
]

# AMD A.2.5.4.3.4 (3): TS is "the smaller of the generic type bit size and S scaled by 8", with the note that
# "truncating the value when S is larger than the generic type matches what GDB does". DWARF 5, 2.5.1.3 (8): S may
# not be larger than the generic type; so in DWARF 6 (230524.1).
EIGHT = [{"space": 0, "address": 16, "bytes": "0102030405060708"}]
WIDE_DEREFERENCE = [
    *rule(
        "A.2.5.4.3.4 (3)",
        "DW_OP_addr 0x10; DW_OP_deref_size 9",
        "bad_size",
        str(0x0807060504030201),
        "bad_size",
        memory=EIGHT,
    ),
    *rule(
        "A.2.5.4.3.4 (3)",
        "DW_OP_addr 0x10; DW_OP_deref_size 8",
        "bad_size",
        str(0x04030201),
        "bad_size",
        memory=EIGHT,
        address_size=4,
    ),
    *rule(
        "A.2.5.4.3.4 (3)",
        "DW_OP_addr 0x10; DW_OP_deref_size 8",
        "bad_size",
        str(0x01020304),
        "bad_size",
        memory=EIGHT,
        address_size=4,
        byte_order="big",
    ),
    *rule(
        "A.2.5.4.3.4 (6)",
        "DW_OP_lit0; DW_OP_addr 0x10; DW_OP_xderef_size 9",
        "bad_size",
        str(0x0807060504030201),
        "bad_size",
        memory=EIGHT,
    ),
    *rule("A.2.5.4.3.4 (3)", "DW_OP_addr 0x10; DW_OP_deref_size 8", *[str(0x0807060504030201)] * 3, memory=EIGHT),
]

# AMD A.2.5.4.4.5 (3): the entry is evaluated when its implicit pointer value is used, "with the context of the
# expression accessing IPV". DWARF 6 (230524.1, 3.11): when the pointer is made; its own texts contradict each other on
# DW_OP_deref, which is an error in its reference. DWARF 5, 2.6.1.1.4: the consumer follows it when it is asked to.
IMPLICIT_POINTER = [
    *rule("A.2.5.4.4.5 (3)", "DW_OP_implicit_pointer 0x11 0", "ptr info:0x11", "ptr info:0x11", "division_by_zero"),
    *rule("A.2.5.4.4.5 (3)", "DW_OP_implicit_pointer 0x10 4", *["ptr info:0x10+4"] * 3),
    *rule(
        "A.2.5.4.4.5 (3)",
        "DW_OP_deref; DW_OP_LLVM_offset_uconst 4",
        "mem 0x1004",
        "mem 0x1004",
        "implicit_pointer_misuse",
        initial_stack=[POINTER],
    ),
    *rule(
        "A.2.5.4.4.5 (3)",
        "DW_OP_deref; DW_OP_stack_value",
        "ptr info:0x10",
        "ptr info:0x10",
        "implicit_pointer_misuse",
        initial_stack=[POINTER],
    ),
]

# AMD A.2.5.4.2 (5): the list is evaluated with an empty initial stack, and the location description that results, the
# union of all matches, is pushed. DWARF 5, 2.5.1.5: the called expression uses the stack of the caller, which one match
# can do; several are places of one object (2.6.2). The drafts of DWARF 6 list several answers without choosing one.
CALL_OF_LIST = [
    *rule("A.2.5.4.2 (5)", "DW_OP_lit7; DW_OP_call4 0x20", "8", "stack_underflow", "stack_underflow"),
    *rule("A.2.5.4.2 (5)", "DW_OP_call4 0x21", "r5 | r6", "r5 | r6", "r5 | r6"),
    *rule("A.2.5.4.2 (5)", "DW_OP_call2 0x22", *["undefined"] * 3),
]

# DWARF 5, 2.5.1.4: operands "must have the same type, either the same base type or the generic type", which
# neither AMD A.2.5.4.3.2 nor DWARF 6 changes. What debuggers compute has a field, and no preset.
MIXED_OPERANDS = [
    *rule("A.2.5.4.3.2", "DW_OP_const_type 2 0300000000000000; DW_OP_lit8; DW_OP_mul", *["type_mismatch"] * 3),
    *rule("A.2.5.4.3.2", "DW_OP_lit8; DW_OP_const_type 2 0300000000000000; DW_OP_lt", *["type_mismatch"] * 3),
    *rule("A.2.5.4.3.2", "DW_OP_lit3; DW_OP_convert 2; DW_OP_convert 0; DW_OP_lit8; DW_OP_mul", *["24"] * 3),
]

# AMD A.2.5.3: a location is the position "within the location storage where the program object starts", so an object at
# offset 0 has the first bits in storage order. DWARF 5 and the drafts of DWARF 6 name the register or give the value as
# a whole; GDB and drgn take the least significant part, which on big-endian targets is the other end.
SMALL = {"byte_order": "big", "read": {"bytes": 2}}
WIDE = {"5": {"bytes": "0000000000000010" + "0000000000000020"}}
"""A register of two addresses."""
OBJECT_OF_VALUE_BITS = [
    *rule("A.2.5.3", "DW_OP_reg5", "7788", "1122", "7788", **SMALL),
    *rule("A.2.5.3", "DW_OP_lit5; DW_OP_stack_value", "0005", "0000", "0005", **SMALL),
    *rule("A.2.5.3", "DW_OP_implicit_value 01020304", "0304", "0102", "0304", **SMALL),
    *rule("A.2.5.3", "DW_OP_reg5", *["1122334455667788"] * 3, byte_order="big", read={"bytes": 8}),
    *rule(
        "A.2.5.3",
        "DW_OP_reg5",
        "-120",
        "17",
        "-120",
        byte_order="big",
        read={"type": {"encoding": "signed", "byte_size": 1}},
    ),
    # What is read of the object moves with it.
    *rule("A.2.5.3", "DW_OP_reg5", "88", "22", "88", byte_order="big", read={"bytes": 1, "offset": 1}),
    # What is written is the same part.
    *rule(
        "A.2.5.3",
        "DW_OP_reg5",
        "112233445566aabb",
        "aabb334455667788",
        "112233445566aabb",
        byte_order="big",
        write="aabb",
        read={"bytes": 8},
    ),
    # A register of a type, or as an address, is the value it holds (GDB, value_from_register).
    *rule(
        "A.2.5.4.3.4 (1)", "DW_OP_regval_type 5 1", *["-120:signed8", "17:signed8", "-120:signed8"], byte_order="big"
    ),
    *rule("A.2.5.4.3.4 (3)", "DW_OP_reg5; DW_OP_deref_size 2", "after_location", "4386", str(0x7788), byte_order="big"),
    *rule("A.2.5.4.4.3 (7)", "DW_OP_breg5 1", "mem 0x21", "mem 0x11", "mem 0x21", byte_order="big", registers=WIDE),
    *rule("A.2.5.4.4.3 (8)", "DW_OP_bregx 5 1", "mem 0x21", "mem 0x11", "mem 0x21", byte_order="big", registers=WIDE),
    *rule(
        "A.2.5.4.4.3 (6)",
        "DW_OP_fbreg 1",
        "mem 0x21",
        "mem 0x11",
        "mem 0x21",
        byte_order="big",
        registers=WIDE,
        frame_base={"kind": "register", "register": 5},
    ),
    *rule("A.2.5.4.4.3 (7)", "DW_OP_breg5 1", *["mem 0x1000000000000001"] * 3, registers=WIDE),
    # An offset says where the object is, and memory, composites and little-endian targets have one order.
    *rule("A.2.5.4.4.1 (1)", "DW_OP_reg5; DW_OP_lit2; DW_OP_LLVM_offset", "after_location", *["3344"] * 2, **SMALL),
    *rule(
        "A.2.5.3", "DW_OP_addr 0x10", *["0102"] * 3, memory=[{"space": 0, "address": 16, "bytes": "01020304"}], **SMALL
    ),
    *rule("A.2.5.3", "DW_OP_reg5; DW_OP_piece 8", *["1122"] * 3, **SMALL),
    *rule("A.2.5.3", "DW_OP_reg5", *["8877"] * 3, read={"bytes": 2}),
]

# AMD A.2.5.4.3.4 (4): "It is an evaluation error if ... the offset of any bit exceeds the size of the location
# storage".
# DWARF 6 (230524.1): the rest of an object that is larger than its composite is undefined. DWARF 5, 2.6.1.2 is silent;
# GDB and drgn show the rest as unavailable.
OBJECT_BEYOND_COMPOSITE = [
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_reg5; DW_OP_piece 4",
        "8877665500000000 undefined 00000000ffffffff",
        "read_past_storage",
        "8877665500000000 undefined 00000000ffffffff",
        read={"bytes": 8},
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_reg5; DW_OP_piece 4",
        "5566778800000000 undefined 00000000ffffffff",
        "read_past_storage",
        "5566778800000000 undefined 00000000ffffffff",
        byte_order="big",
        read={"bytes": 8},
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_reg5; DW_OP_piece 4",
        "5500 undefined 00ff",
        "read_past_storage",
        "5500 undefined 00ff",
        read={"bytes": 2, "offset": 3},
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_reg5; DW_OP_piece 4",
        "0000 undefined ffff",
        "offset_out_of_storage",
        "0000 undefined ffff",
        read={"bytes": 2, "offset": 8},
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_composite; DW_OP_reg5; DW_OP_piece 4; DW_OP_deref_size 8",
        "incomplete_composite",
        "incomplete_composite",
        "undefined_read",
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_push_object_address; DW_OP_deref",
        "undefined_read",
        "read_past_storage",
        "undefined_read",
        object={"kind": "composite", "parts": [{"bit_size": 32, "location": {"kind": "register", "register": 5}}]},
    ),
    *rule(
        "A.2.5.4.3.4 (4)",
        "DW_OP_reg5; DW_OP_piece 4",
        "not_writable",
        "read_past_storage",
        "not_writable",
        write="0102030405",
    ),
    *rule("A.2.5.4.3.4 (4)", "DW_OP_reg5", *["read_past_storage"] * 3, read={"bytes": 9}),
    *rule("A.2.5.4.3.4 (4)", "DW_OP_lit5; DW_OP_stack_value", *["read_past_storage"] * 3, read={"bytes": 9}),
]

# AMD A.2.5.4.4.1 (1): it is an evaluation error if the updated offset is "greater than or equal to the size of the
# location storage". DWARF 6 (230524.1), 3.12 (1): DW_OP_composite pushes an empty composite "with an offset of 0".
OFFSET_OF_EMPTY_COMPOSITE = [
    *rule("A.2.5.4.4.1 (1)", "DW_OP_composite; DW_OP_lit0; DW_OP_LLVM_offset", *["offset_out_of_storage"] * 2, "{}"),
    *rule(
        "A.2.5.4.4.1 (3)", "DW_OP_composite; DW_OP_lit0; DW_OP_LLVM_bit_offset", *["offset_out_of_storage"] * 2, "{}"
    ),
    *rule("A.2.5.4.4.1 (2)", "DW_OP_composite; DW_OP_LLVM_offset_uconst 0", *["offset_out_of_storage"] * 2, "{}"),
    *rule("A.2.5.4.4.1 (1)", "DW_OP_composite; DW_OP_lit1; DW_OP_LLVM_offset", *["offset_out_of_storage"] * 3),
    *rule("A.2.5.4.4.1 (1)", "DW_OP_composite; DW_OP_const1s -1; DW_OP_LLVM_offset", *["offset_out_of_storage"] * 3),
    *rule(
        "DWARF 6 (230524.1), 3.12 (2)",
        "DW_OP_composite; DW_OP_lit0; DW_OP_LLVM_offset; DW_OP_reg5; DW_OP_piece 4",
        *["offset_out_of_storage"] * 2,
        "{32:r5}",
    ),
]

# AMD A.2.5.1 current lane: it "is required for operations that are related to SIMT lanes". DWARF 6 (241011.1): if the
# program "is not using a SIMD/SIMT execution model, the current lane is always 0".
LANE_WITHOUT_SIMT = [
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "lane", "lane", "0"),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "lane", "lane", "0", lane_count=1),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "lane", "lane", "0", target="x86_64", registers={}),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", *["lane"] * 3, lane_count=8),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", *["lane"] * 3, target="amdgcn-gfx90a", registers={}),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", *["3"] * 3, lane_count=8, lane=3),
    *rule("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", *["bad_operand"] * 3, lane=1),
]

ROWS: dict[str, list[Case]] = {
    "location_ends_expression": LOCATION_ENDS_EXPRESSION,
    "incomplete_composites": INCOMPLETE_COMPOSITES,
    "location_after_pieces": LOCATION_AFTER_PIECES,
    "part_beyond_storage": PART_BEYOND_STORAGE,
    "piece_of_value_bits": PIECE_OF_VALUE_BITS,
    "object_of_value_bits": OBJECT_OF_VALUE_BITS,
    "object_beyond_composite": OBJECT_BEYOND_COMPOSITE,
    "offset_of_empty_composite": OFFSET_OF_EMPTY_COMPOSITE,
    "lane_without_simt": LANE_WITHOUT_SIMT,
    "undefined_has_size": UNDEFINED_HAS_SIZE,
    "overlay": OVERLAY,
    "value_as_location": VALUE_AS_LOCATION,
    "mixed_operands": MIXED_OPERANDS,
    "wide_dereference": WIDE_DEREFERENCE,
    "implicit_pointer": IMPLICIT_POINTER,
    "call_of_list": CALL_OF_LIST,
}
"""The tables by field of the rules."""

test_location_ends_expression = table(LOCATION_ENDS_EXPRESSION)
test_incomplete_composites = table(INCOMPLETE_COMPOSITES)
test_location_after_pieces = table(LOCATION_AFTER_PIECES)
test_part_beyond_storage = table(PART_BEYOND_STORAGE)
test_piece_of_value_bits = table(PIECE_OF_VALUE_BITS)
test_object_of_value_bits = table(OBJECT_OF_VALUE_BITS)
test_object_beyond_composite = table(OBJECT_BEYOND_COMPOSITE)
test_offset_of_empty_composite = table(OFFSET_OF_EMPTY_COMPOSITE)
test_lane_without_simt = table(LANE_WITHOUT_SIMT)
test_undefined_has_size = table(UNDEFINED_HAS_SIZE)
test_overlay = table(OVERLAY)
test_value_as_location = table(VALUE_AS_LOCATION)
test_mixed_operands = table(MIXED_OPERANDS)
test_wide_dereference = table(WIDE_DEREFERENCE)
test_implicit_pointer = table(IMPLICIT_POINTER)
test_call_of_list = table(CALL_OF_LIST)


BINARY = [
    "and",
    "div",
    "minus",
    "mod",
    "mul",
    "or",
    "plus",
    "shl",
    "shr",
    "shra",
    "xor",
    "eq",
    "ge",
    "gt",
    "le",
    "lt",
    "ne",
]
SIGNED_64, UNSIGNED_128, SIGNED_32 = BaseType("signed", 64), BaseType("unsigned", 128), BaseType("signed", 32)


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("kind", [SIGNED_64, UNSIGNED_128, SIGNED_32, BaseType("float", 64)])
def test_operands_of_two_types_where_the_rules_give_them_one(operation, kind):
    """As LLDB: the generic one is converted to an integral base type that is at least as wide."""
    is_wide = kind in (SIGNED_64, UNSIGNED_128)
    for row in (f"DW_OP_const1u 9; DW_OP_lit2; DW_OP_{operation}", f"DW_OP_lit9; DW_OP_const1u 2; DW_OP_{operation}"):
        same = computed(row, AMD, None)
        for converted in (0, 1):
            for rules in (AMD, evolve(AMD, mixed_operands="wide_integral")):
                if is_wide and rules is not AMD:
                    result = computed(row, rules, kind, converted)
                    assert int(result.bits) == int(same.bits)
                    is_flag = operation in ("eq", "ge", "gt", "le", "lt", "ne")
                    assert result.type.is_generic if is_flag else result.type == kind
                else:
                    with pytest.raises(IllFormed, match=r"same type|integral"):
                        computed(row, rules, kind, converted)


def computed(text, rules, kind, converted=0):
    """Evaluate a row of two constants and an operation, one of the constants converted to a type."""
    left, right, operation = text.split("; ")
    parts = [left, right]
    if kind is not None:
        parts[converted] += "; DW_OP_convert 7"
    expression = parse("; ".join((*parts, operation)), dialects.get("llvm-user"), Format(), target=resolve("generic"))
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
    found = answer(
        "DW_OP_reg5; DW_OP_bit_piece 8 60", rules="dwarf5", byte_order="big", registers=BIG, read={"bytes": 1}
    )

    assert int(found["read"].get("undefined", "0"), 16).bit_count() == 4


FIELDS = [name for name in Rules.__annotations__ if name != "name"]


def test_every_field_has_a_table():
    assert list(ROWS) == FIELDS


@pytest.mark.parametrize("field", FIELDS)
def test_every_preset_has_a_row_of_the_field(field):
    assert {case.case["rules"] for case in ROWS[field]} == set(PRESETS)


@pytest.mark.parametrize("field", FIELDS)
def test_presets_that_differ_in_a_field_differ_in_a_row(field):
    """... and those that agree in it agree in every row, except where another field decides."""
    results: dict[str, list[Any]] = {}
    for case in ROWS[field]:
        results.setdefault(case.case["rules"], []).append(case.expected)
    for one, other in (("dwarf5", "amd"), ("amd", "dwarf6"), ("dwarf5", "dwarf6")):
        if getattr(PRESETS[one], field) != getattr(PRESETS[other], field):
            assert results[one] != results[other], (one, other)
