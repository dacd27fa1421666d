"""A.2.5.4.3.4 Special Value Operations: values that are read from registers, memory and other storages."""

from __future__ import annotations

import struct

import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.expr import asm, locations, types
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.locations import UNDEFINED
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.storages import Implicit, Memory
from dwarfgpu.expr.values import Value
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, notation, run, run_lanes, table

TYPES = {
    "0x10": {"encoding": "signed", "byte_size": 1},
    "0x11": {"encoding": "signed", "byte_size": 2},
    "0x12": {"encoding": "signed", "byte_size": 4},
    "0x13": {"encoding": "signed", "byte_size": 8},
    "0x20": {"encoding": "unsigned", "byte_size": 1},
    "0x21": {"encoding": "unsigned", "byte_size": 2},
    "0x22": {"encoding": "unsigned", "byte_size": 4},
    "0x23": {"encoding": "unsigned", "byte_size": 8},
    "0x24": {"encoding": "unsigned", "byte_size": 16},
    "0x25": {"encoding": "unsigned", "byte_size": 256},
    "0x30": {"encoding": "float", "byte_size": 2},
    "0x31": {"encoding": "float", "byte_size": 4},
    "0x32": {"encoding": "float", "byte_size": 8},
    "0x33": {"encoding": "bfloat16", "byte_size": 2},
    "0x40": {"encoding": "boolean", "byte_size": 1},
    "0x41": {"encoding": "address", "byte_size": 8},
    "0x42": {"encoding": "UTF", "byte_size": 4},
    "0x43": {"encoding": "signed_char", "byte_size": 1},
    "0x50": {"encoding": "unsigned", "byte_size": 1, "bit_size": 1},
    "0x51": {"encoding": "signed", "byte_size": 1, "bit_size": 7},
    "0x52": {"encoding": "unsigned", "byte_size": 3},
    "0x53": {"encoding": "signed", "byte_size": 8, "bit_size": 33},
    "0x54": {"encoding": "unsigned", "byte_size": 9, "bit_size": 65},
    "0x60": {"encoding": "unsigned", "byte_size": 2, "vector_size": 4},
    "0x61": {"encoding": "float", "byte_size": 4, "vector_size": 4},
    "0x62": {"encoding": "unsigned", "byte_size": 4, "vector_size": 64},
    "0x63": {"encoding": "signed", "byte_size": 4, "vector_size": 0},
    "0x70": {"encoding": "complex_float", "byte_size": 8},
}
REGISTERS = {"0": 0x1122334455667788, "1": 0xFFFFFFFFFFFFFFFE, "2": 0x3FF8000000000000, "3": 0x100, "5": 5}
DATA = "0102030405060708090a0b0c0d0e0f101112131415161718"
MEMORY = [{"space": 0, "address": 0x100, "bytes": DATA}]
GPU = "amdgcn-gfx90a"


def row(clause, ops, expected, **case):
    defaults = {"rules": "amd", "dialect": "llvm-user", "base_types": TYPES}
    if "target" not in case and "address_size" not in case:
        defaults |= {"registers": REGISTERS, "memory": MEMORY}
    name = f"A.2.5.4.3.4 {clause}" if clause.startswith("(") else clause
    return Case(name, ops, expected, **{**defaults, **case})


BIG = {"byte_order": "big"}


def places(*found):
    return [{"kind": "multiple", "places": list(found)}]


def register(number):
    return {"kind": "register", "register": number}


# --- DW_OP_regval_type ---------------------------------------------------------------------------------------------

REGVAL_TYPE = [
    # "equivalent to performing DW_OP_regx R; DW_OP_deref_type DR"
    row("(1)", "DW_OP_regval_type 0 0x23", "1234605616436508552:unsigned64"),
    row("(1)", "DW_OP_regx 0; DW_OP_deref_type 8 0x23", "1234605616436508552:unsigned64"),
    row("(1)", "DW_OP_regval_type 1 0x13", "-2:signed64"),
    row("(1)", "DW_OP_regval_type 2 0x32", "1.5:float64"),
    row("(1)", "DW_OP_regval_type 3 0x41", "256:address64"),
    row("(1)", "DW_OP_regval_type 0 0x60", "[30600, 21862, 13124, 4386]:unsigned16x4"),
    # "the, possibly truncated, bit contents of the register is simply interpreted as a value of T": the bits from the
    # bit offset 0 on, which are those of the first bytes in memory order
    row("(1)", "DW_OP_regval_type 0 0x22", "1432778632:unsigned32"),
    row("(1)", "DW_OP_regval_type 0 0x21", "30600:unsigned16"),
    row("(1)", "DW_OP_regval_type 1 0x10", "-2:signed8"),
    row("(1)", "DW_OP_regval_type 1 0x50", "0:unsigned1"),
    row("(1)", "DW_OP_regval_type 1 0x51", "-2:signed7"),
    row("(1)", "DW_OP_regval_type 0 0x52", "6715272:unsigned24"),
    row("(1)", "DW_OP_regval_type 1 0x53", "-2:signed33"),
    row("(1)", "DW_OP_regval_type 5 0x40", "5:boolean8"),
    row("(1)", "DW_OP_regval_type 5 0x42", "5:UTF32"),
    row("(1)", "DW_OP_regval_type 0 0x23", "1234605616436508552:unsigned64", **BIG),
    row("(1)", "DW_OP_regval_type 0 0x22", "287454020:unsigned32", **BIG),
    row("(1)", "DW_OP_regval_type 0 0x51", "8:signed7", **BIG),
    row("(1)", "DW_OP_regval_type 0 0x60", "[4386, 13124, 21862, 30600]:unsigned16x4", **BIG),
    # Registers of other sizes.
    row("(1)", "DW_OP_regval_type 0 0x22", "4294967294:unsigned32", registers={"0": {"bytes": "feffffff"}}),
    row("(1)", "DW_OP_regval_type 0 0x20", "200:unsigned8", registers={"0": {"bytes": "c8"}}),
    row(
        "(1)",
        "DW_OP_regval_type xmm0 0x61",
        "[1.0, 2.0, 0.5, -1.0]:float32x4",
        target="x86_64",
        registers={"xmm0": {"bytes": "0000803f000000400000003f000080bf"}},
    ),
    row(
        "(1)",
        "DW_OP_regval_type v1 0x62",
        f"{list(range(64))}:unsigned32x64",
        target=GPU,
        registers={"v1": list(range(64))},
    ),
    row("(1)", "DW_OP_regval_type v1 0x25", f"{7 + (9 << 32)}:unsigned2048", target=GPU, registers={"v1": [7, 9]}),
    row("(1)", "DW_OP_regval_type s5 0x12", "-2:signed32", target=GPU, registers={"s5": 0xFFFFFFFE}),
    # Each lane its own register.
    row(
        "(1)",
        "DW_OP_regval_type 0 0x12",
        ["-1:signed32", "0:signed32", "1:signed32"],
        lane_count=3,
        registers={"0": [-1, 0, 1]},
    ),
    row("(1)", "DW_OP_GNU_regval_type 1 0x13", "-2:signed64"),
    # It is an evaluation error if "a register location description ... has less than TS bits remaining".
    row("(1)", "DW_OP_regval_type 0 0x24", "read_past_storage"),
    row("(1)", "DW_OP_regval_type 0 0x54", "read_past_storage"),
    row("(1)", "DW_OP_regval_type 0 0x23", "read_past_storage", registers={"0": {"bytes": "feffffff"}}),
    row("(1)", "DW_OP_regval_type s5 0x23", "read_past_storage", target=GPU, registers={"s5": 1}),
    row("(1)", "DW_OP_regval_type v1 0x25", "read_past_storage", target="amdgcn-gfx1100-wave32", registers={"v1": [1]}),
    # A register whose contents nobody knows, and one that the target does not have.
    row("(1)", "DW_OP_regval_type 9 0x23", "register_unavailable"),
    row("(1)", "DW_OP_regval_type 18446744073709551615 0x23", "7:unsigned64", registers={"0xffffffffffffffff": 7}),
    row("(1)", "DW_OP_regval_type 200 0x23", "bad_operand", target="x86_64"),
    # The type (4).
    row("(1)", "DW_OP_regval_type 0 0x99", "bad_type"),
    row("(1)", "DW_OP_regval_type 0 0", "bad_type"),
    row("(1)", "DW_OP_regval_type 0 0x63", "bad_type"),
    row("(1)", "DW_OP_regval_type 0 0xffffffffffffffff", "bad_type"),
]

# --- DW_OP_deref and DW_OP_deref_size ------------------------------------------------------------------------------

DEREF = [
    # "S is the bit size of the generic type divided by 8"
    row("(2)", "DW_OP_addr 0x100; DW_OP_deref", "578437695752307201"),
    row("(2)", "DW_OP_addr 0x100; DW_OP_deref", "72623859790382856", **BIG),
    *(
        row(
            "(2)",
            "DW_OP_const2u 0x10; DW_OP_deref",
            str(int.from_bytes(bytes(range(1, size + 1)), order)),
            address_size=size,
            byte_order=order,
            memory=[{"space": 0, "address": 16, "bytes": DATA}],
        )
        for size in (1, 2, 3, 4, 5, 6, 7, 8)
        for order in ("little", "big")
    ),
    # "It pops one stack entry that must be a location description": of every storage,
    row("(2)", "DW_OP_reg3; DW_OP_deref", "256"),
    row("(2)", "DW_OP_reg3; DW_OP_deref; DW_OP_deref", "578437695752307201"),
    row("(2)", "DW_OP_breg3 8; DW_OP_deref", "1157159078456920585"),
    row("(2)", "DW_OP_implicit_value 0700000000000000; DW_OP_deref", "7"),
    row("(2)", "DW_OP_implicit_value 0000000000000007; DW_OP_deref", "7", **BIG),
    row("(2)", "DW_OP_lit7; DW_OP_stack_value; DW_OP_deref", "7"),
    row("(2)", "DW_OP_lit7; DW_OP_stack_value; DW_OP_deref", "7", **BIG),
    row("(2)", "DW_OP_call_frame_cfa; DW_OP_deref", "578437695752307201", cfa=0x100),
    # ... also a value of the generic type, which is converted to one
    row("(2)", "DW_OP_const2u 0x100; DW_OP_deref", "578437695752307201"),
    # ... in bits as in bytes
    row(
        "(2)",
        "DW_OP_addr 0x100; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_deref",
        str(int.from_bytes(bytes(range(1, 10)), "little") >> 4 & 2**64 - 1),
    ),
    row(
        "(2)",
        "DW_OP_addr 0x100; DW_OP_lit4; DW_OP_LLVM_bit_offset; DW_OP_deref",
        str(int.from_bytes(bytes(range(1, 10)), "big") >> 4 & 2**64 - 1),
        **BIG,
    ),
    # "For a composite location description, the retrieved bits are the concatenation of the N bits from each ... part"
    row(
        "(2)",
        "DW_OP_reg0; DW_OP_piece 4; DW_OP_addr 0x100; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref",
        str(0x0403020155667788),
    ),
    row(
        "(2)",
        "DW_OP_reg0; DW_OP_piece 4; DW_OP_addr 0x100; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref",
        str(0x1122334401020304),
        **BIG,
    ),
    row(
        "(2)",
        "DW_OP_reg0; DW_OP_piece 6; DW_OP_addr 0x100; DW_OP_piece 4; DW_OP_LLVM_piece_end;"
        "DW_OP_lit2; DW_OP_LLVM_offset; DW_OP_deref",
        str(0x0403020133445566),
    ),
    row(
        "(2)",
        "DW_OP_addr 0x100; DW_OP_bit_piece 3 1; DW_OP_reg1; DW_OP_bit_piece 61 3; DW_OP_LLVM_piece_end; DW_OP_deref",
        str(2**64 - 8),
    ),
    # "where N is limited to the size of PL": a part of a part of an object
    row(
        "(2)",
        "DW_OP_reg0; DW_OP_piece 8; DW_OP_LLVM_piece_end; DW_OP_piece 8; DW_OP_LLVM_piece_end; DW_OP_deref",
        "1234605616436508552",
    ),
    # "If L ... has more than one single location description, then any one of them can be selected"
    row(
        "(2)", "DW_OP_deref", "5", initial_stack=places(register(5), {"kind": "implicit", "bytes": "0500000000000000"})
    ),
    row("(2)", "DW_OP_deref", "bad_operand", initial_stack=places(register(5), register(3))),  # A.2.5.3
    row("(2)", "DW_OP_deref", "5", initial_stack=places({"kind": "undefined"}, register(5))),
    row("(2)", "DW_OP_deref", "undefined_read", initial_stack=places({"kind": "undefined"}, {"kind": "undefined"})),
    # Each lane its own place.
    row(
        "(2)",
        "DW_OP_LLVM_push_lane; DW_OP_lit8; DW_OP_mul; DW_OP_plus_uconst 0x100; DW_OP_deref",
        ["578437695752307201", "1157159078456920585"],
        lane_count=2,
    ),
]

DEREF_SIZE = [
    # "TS is the smaller of the generic type bit size and S scaled by 8"; the value "is zero-extended to the generic
    # type"
    *(
        row(
            "(3)",
            f"DW_OP_addr 0x100; DW_OP_deref_size {size}",
            str(int.from_bytes(bytes(range(1, size + 1)), order)),
            byte_order=order,
        )
        for size in (1, 2, 3, 4, 5, 6, 7, 8)
        for order in ("little", "big")
    ),
    row("(3)", "DW_OP_implicit_value ff; DW_OP_deref_size 1", "255"),
    row("(3)", "DW_OP_implicit_value ffff; DW_OP_deref_size 2", "65535", address_size=4),
    row("(3)", "DW_OP_reg1; DW_OP_deref_size 1", "254"),
    row("(3)", "DW_OP_reg0; DW_OP_deref_size 2", "30600"),
    row("(3)", "DW_OP_reg0; DW_OP_deref_size 2", "4386", **BIG),
    # ... with the generic type: it can be added to another
    row("(3)", "DW_OP_reg1; DW_OP_deref_size 1; DW_OP_lit1; DW_OP_plus", "255"),
    # ... "the value is truncated when S is larger"
    row("(3)", "DW_OP_reg0; DW_OP_deref_size 9", "1234605616436508552"),
    row("(3)", "DW_OP_reg0; DW_OP_deref_size 255", "1234605616436508552"),
    row("(3)", "DW_OP_implicit_value 01020304; DW_OP_deref_size 8", "67305985", address_size=4),
    row("(3)", "DW_OP_implicit_value 01020304; DW_OP_deref_size 4", "197121", address_size=3),
    row("(3)", "DW_OP_implicit_value 01; DW_OP_deref_size 2", "1", address_size=1),
    # ... which DWARF 5 forbids, and its next version
    row("(3)", "DW_OP_addr 0x100; DW_OP_deref_size 9", "bad_size", rules="dwarf5"),
    row("(3)", "DW_OP_addr 0x100; DW_OP_deref_size 9", "bad_size", rules="dwarf6"),
    row("(3)", "DW_OP_addr 0x100; DW_OP_deref_size 8", "578437695752307201", rules="dwarf5"),
    # Open: no base type has 0 bits.
    row("(3)", "DW_OP_addr 0x100; DW_OP_deref_size 0", "bad_size"),
    row("(3)", "DW_OP_addr 0x100; DW_OP_deref_size 0", "bad_size", rules="dwarf5"),
]

DEREF_TYPE = [
    # "A value V of TS bits is retrieved ... V is pushed on the stack with the type T."
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 1 0x20", "1:unsigned8"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 2 0x11", "513:signed16"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 2 0x11", "258:signed16", **BIG),
    row(
        "(4)",
        "DW_OP_addr 0x100; DW_OP_deref_type 16 0x24",
        f"{int.from_bytes(bytes(range(1, 17)), 'little')}:unsigned128",
    ),
    row(
        "(4)",
        "DW_OP_addr 0x100; DW_OP_deref_type 16 0x24",
        f"{int.from_bytes(bytes(range(1, 17)), 'big')}:unsigned128",
        **BIG,
    ),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0x60", "[513, 1027, 1541, 2055]:unsigned16x4"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0x60", "[258, 772, 1286, 1800]:unsigned16x4", **BIG),
    row("(4)", "DW_OP_implicit_value 0000803f; DW_OP_deref_type 4 0x31", "1.0:float32"),
    row("(4)", "DW_OP_implicit_value 803f; DW_OP_deref_type 2 0x33", "1.0:bfloat1616"),
    row("(4)", "DW_OP_implicit_value 003c; DW_OP_deref_type 2 0x30", "1.0:float16"),
    row("(4)", "DW_OP_implicit_value 01; DW_OP_deref_type 1 0x40", "1:boolean8"),
    row("(4)", "DW_OP_implicit_value c8; DW_OP_deref_type 1 0x43", "-56:signed_char8"),
    row("(4)", "DW_OP_implicit_value 0001000000000000; DW_OP_deref_type 8 0x41", "256:address64"),
    row("(4)", "DW_OP_implicit_value 41000000; DW_OP_deref_type 4 0x42", "65:UTF32"),
    row("(4)", "DW_OP_reg1; DW_OP_deref_type 4 0x12", "-2:signed32"),
    row("(4)", "DW_OP_reg0; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_deref_type 4 0x22", "287454020:unsigned32"),
    row("(4)", "DW_OP_reg0; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_deref_type 4 0x22", "1432778632:unsigned32", **BIG),
    # ... of TS bits, not of whole bytes
    row("(4)", "DW_OP_implicit_value ff; DW_OP_deref_type 1 0x51", "-1:signed7"),
    row("(4)", "DW_OP_implicit_value 7f; DW_OP_deref_type 1 0x51", "63:signed7", **BIG),
    row("(4)", "DW_OP_implicit_value 80; DW_OP_lit7; DW_OP_LLVM_bit_offset; DW_OP_deref_type 1 0x50", "1:unsigned1"),
    row(
        "(4)",
        "DW_OP_implicit_value 01; DW_OP_lit7; DW_OP_LLVM_bit_offset; DW_OP_deref_type 1 0x50",
        "1:unsigned1",
        **BIG,
    ),
    row(
        "(4)",
        "DW_OP_addr 0x100; DW_OP_lit1; DW_OP_LLVM_bit_offset; DW_OP_deref_type 3 0x52",
        str(int.from_bytes(bytes([1, 2, 3, 4]), "little") >> 1 & 0xFFFFFF) + ":unsigned24",
    ),
    row("(4)", "DW_OP_implicit_value 0000000001ffffff; DW_OP_deref_type 5 0x53", "-4294967296:signed33"),
    row("(4)", f"DW_OP_implicit_value {'00' * 8}ff; DW_OP_deref_type 9 0x54", f"{1 << 64}:unsigned65"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0x70; DW_OP_stack_value", "implicit 0102030405060708"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_GNU_deref_type 1 0x20", "1:unsigned8"),
    # "The DWARF is ill-formed if D is not in the current compilation unit, D is not a DW_TAG_base_type ... entry,
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0x99", "bad_type"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0", "bad_type"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 4 0x63", "bad_type"),
    # ... or if TS divided by 8 (the byte size) and rounded up to a whole number is not equal to S."
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 0 0x20", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 2 0x20", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 3 0x22", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 5 0x22", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 0 0x50", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 8 0x53", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 2 0x60", "bad_size"),
    row("(4)", "DW_OP_addr 0x100; DW_OP_deref_type 0 0x25", "bad_size"),  # 256 does not fit the operand
]

# "It is an evaluation error if any bit of the value is retrieved from the undefined location storage or the offset of
# any bit exceeds the size of the location storage LS specified by any single location description SL of L."
NOTHING_THERE = [
    row("(2)", "DW_OP_LLVM_undefined; DW_OP_deref", "undefined_read"),
    row("(3)", "DW_OP_LLVM_undefined; DW_OP_deref_size 1", "undefined_read"),
    row("(4)", "DW_OP_LLVM_undefined; DW_OP_deref_type 1 0x50", "undefined_read"),
    row("(2)", "DW_OP_reg0; DW_OP_piece 7; DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_deref", "undefined_read"),
    row(
        "(2)",
        "DW_OP_reg0; DW_OP_bit_piece 63 0; DW_OP_bit_piece 1 0; DW_OP_LLVM_piece_end; DW_OP_deref",
        "undefined_read",
    ),
    row(
        "(3)",
        "DW_OP_reg0; DW_OP_piece 7; DW_OP_piece 1; DW_OP_LLVM_piece_end; DW_OP_deref_size 7",
        str(0x22334455667788),
    ),
    row(
        "(4)",
        "DW_OP_piece 1; DW_OP_reg0; DW_OP_piece 1; DW_OP_LLVM_piece_end;"
        "DW_OP_lit1; DW_OP_LLVM_offset; DW_OP_deref_type 1 0x20",
        "136:unsigned8",
    ),
    row("(2)", "DW_OP_implicit_value 01020304; DW_OP_deref", "read_past_storage"),
    row("(2)", "DW_OP_implicit_value 0x; DW_OP_deref", "read_past_storage"),
    row("(3)", "DW_OP_implicit_value 0x; DW_OP_deref_size 1", "read_past_storage"),
    row("(3)", "DW_OP_implicit_value 01020304; DW_OP_deref_size 5", "read_past_storage"),
    row(
        "(3)",
        "DW_OP_implicit_value 01020304; DW_OP_lit1; DW_OP_LLVM_bit_offset; DW_OP_deref_size 4",
        "read_past_storage",
    ),
    row(
        "(4)",
        "DW_OP_implicit_value 01; DW_OP_lit2; DW_OP_LLVM_bit_offset; DW_OP_deref_type 1 0x51",
        "read_past_storage",
    ),
    row("(2)", "DW_OP_reg0; DW_OP_lit1; DW_OP_LLVM_offset; DW_OP_deref", "read_past_storage"),
    row("(2)", "DW_OP_reg0; DW_OP_piece 4; DW_OP_LLVM_piece_end; DW_OP_deref", "read_past_storage"),
    row("(4)", "DW_OP_reg0; DW_OP_deref_type 16 0x24", "read_past_storage"),
    row("(2)", "DW_OP_const1s -1; DW_OP_deref", "read_past_storage"),
    row("(2)", "DW_OP_const1s -7; DW_OP_deref", "read_past_storage"),
    row("(2)", "DW_OP_const1s -8; DW_OP_deref", "memory_unavailable"),
    row("(3)", "DW_OP_const1s -1; DW_OP_deref_size 1", "7", memory=[{"space": 0, "address": 2**64 - 1, "bytes": "07"}]),
    row("(3)", "DW_OP_const1u 0xff; DW_OP_deref_size 2", "memory_unavailable", address_size=1),  # S is cut to 1
    row("(2)", "DW_OP_const2u 0xffff; DW_OP_deref", "read_past_storage", address_size=2),
    # Memory and registers that nobody knows.
    row("(2)", "DW_OP_addr 0x200; DW_OP_deref", "memory_unavailable"),
    row("(2)", "DW_OP_addr 0x111; DW_OP_deref", "memory_unavailable"),
    row("(2)", "DW_OP_addr 0x110; DW_OP_deref", str(0x1817161514131211)),
    row("(2)", "DW_OP_reg9; DW_OP_deref", "register_unavailable"),
    # Entries that are no location.
    row("(2)", "DW_OP_const_type 0x23 0001000000000000; DW_OP_deref", "wrong_kind"),
    row("(2)", "DW_OP_const_type 0x32 0001000000000000; DW_OP_deref", "wrong_kind"),
    row("(3)", "DW_OP_const_type 0x10 01; DW_OP_deref_size 1", "wrong_kind"),
    row("(4)", "DW_OP_const_type 0x10 01; DW_OP_deref_type 1 0x10", "wrong_kind"),
    row("(2)", "DW_OP_reg0; DW_OP_piece 8; DW_OP_deref", "incomplete_composite"),
    row("(2)", "DW_OP_deref", "stack_underflow"),
    row("(3)", "DW_OP_deref_size 1", "stack_underflow"),
    row("(4)", "DW_OP_deref_type 1 0x10", "stack_underflow"),
]

# "special rules concerning implicit location descriptions created by the DW_OP_implicit_pointer ... operations"
POINTERS = [
    row("(2)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref", "ptr info:0x4c+4"),
    row("(3)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref_size 8", "ptr info:0x4c+4"),
    row("(4)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref_type 8 0x23", "ptr info:0x4c+4"),
    row(
        "(2)",
        "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref; DW_OP_deref",
        "5",
        dies={"info:0x4c": {"const_value": "000000000500000000000000"}},
    ),
    row("(3)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref_size 4", "implicit_pointer_misuse"),
    row("(4)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref_type 4 0x22", "implicit_pointer_misuse"),
    row("(2)", "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref; DW_OP_lit1; DW_OP_plus", "implicit_pointer_misuse"),
]

# --- DW_OP_xderef* -------------------------------------------------------------------------------------------------

LOCAL = {
    "target": GPU,
    "memory": [
        {"space": "local", "address": 16, "bytes": "1112131415161718"},
        {"space": "global", "address": 16, "bytes": "2122232425262728"},
        {"space": "private_lane", "lane": 3, "address": 16, "bytes": "31323334"},
        {"space": "private_lane", "lane": 4, "address": 16, "bytes": "41424344"},
        {"space": "private_wave", "address": 8, "bytes": "51525354"},
    ],
}
XDEREF = [
    # "pops two stack entries. The first must be an integral type value that represents an address A. The second must be
    # an integral type value that represents a target architecture specific address space identifier AS."
    row("(5)", "DW_OP_lit3; DW_OP_lit16; DW_OP_xderef", str(0x1817161514131211), **LOCAL),
    row("(5)", "DW_OP_lit0; DW_OP_lit16; DW_OP_xderef", str(0x2827262524232221), **LOCAL),
    row("(5)", "DW_OP_lit9; DW_OP_lit3; DW_OP_lit16; DW_OP_xderef", ("9", str(0x1817161514131211)), **LOCAL),
    row("(6)", "DW_OP_lit3; DW_OP_lit16; DW_OP_xderef_size 2", str(0x1211), **LOCAL),
    row("(6)", "DW_OP_lit3; DW_OP_lit16; DW_OP_xderef_size 9", str(0x1817161514131211), **LOCAL),
    row("(7)", "DW_OP_lit3; DW_OP_lit16; DW_OP_xderef_type 2 0x11", f"{0x1211}:signed16", **LOCAL),
    row(
        "(7)",
        "DW_OP_lit3; DW_OP_lit16; DW_OP_xderef_type 4 0x31",
        f"{struct.unpack('<f', bytes.fromhex('11121314'))[0]}:float32",
        **LOCAL,
    ),
    # ... on a target with one address space
    row("(5)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef", "578437695752307201"),
    row("(6)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_size 1", "1"),
    row("(7)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_type 1 0x10", "1:signed8"),
    # "equivalent to performing DW_OP_swap; DW_OP_LLVM_form_aspace_address; DW_OP_deref"
    row(
        "(5)",
        "DW_OP_lit3; DW_OP_lit16; DW_OP_swap; DW_OP_LLVM_form_aspace_address; DW_OP_deref",
        str(0x1817161514131211),
        **LOCAL,
    ),
    row(
        "(6)",
        "DW_OP_lit3; DW_OP_lit16; DW_OP_swap; DW_OP_LLVM_form_aspace_address; DW_OP_deref_size 2",
        str(0x1211),
        **LOCAL,
    ),
    # "an integral type value": of any type
    row(
        "(5)",
        "DW_OP_const_type 0x20 03; DW_OP_const_type 0x22 10000000; DW_OP_xderef",
        str(0x1817161514131211),
        **LOCAL,
    ),
    row("(5)", "DW_OP_lit3; DW_OP_addr 0x10; DW_OP_xderef", str(0x1817161514131211), **LOCAL),
    # The memory of the current lane, of the wave, of each lane.
    row("(6)", "DW_OP_lit5; DW_OP_lit16; DW_OP_xderef_size 4", str(0x34333231), lane=3, **LOCAL),
    row(
        "(6)", "DW_OP_lit5; DW_OP_lit16; DW_OP_xderef_size 4", [str(0x34333231), str(0x44434241)], lanes=[3, 4], **LOCAL
    ),
    row("(6)", "DW_OP_lit6; DW_OP_lit8; DW_OP_xderef_size 4", str(0x54535251), **LOCAL),
    row("(6)", "DW_OP_lit5; DW_OP_lit16; DW_OP_xderef_size 4", "lane", **LOCAL),
    row("(6)", "DW_OP_lit5; DW_OP_lit16; DW_OP_xderef_size 4", "memory_unavailable", lane=7, **LOCAL),
    # What is no address space, no address, or no integral value, is ill-formed.
    row("(5)", "DW_OP_lit9; DW_OP_lit16; DW_OP_xderef", "bad_address_space"),
    row("(5)", "DW_OP_lit9; DW_OP_lit16; DW_OP_xderef", "bad_address_space", **LOCAL),
    row("(6)", "DW_OP_const1s -1; DW_OP_lit16; DW_OP_xderef_size 4", "bad_address_space", **LOCAL),
    row("(7)", "DW_OP_lit4; DW_OP_lit16; DW_OP_xderef_type 2 0x11", "bad_address_space", **LOCAL),
    row("(5)", "DW_OP_lit0; DW_OP_reg0; DW_OP_xderef", "wrong_kind"),
    row("(5)", "DW_OP_reg0; DW_OP_lit0; DW_OP_xderef", "wrong_kind"),
    row("(5)", "DW_OP_lit0; DW_OP_const_type 0x32 0000000000000000; DW_OP_xderef", "integral_type_required"),
    row("(5)", "DW_OP_const_type 0x32 0000000000000000; DW_OP_lit0; DW_OP_xderef", "integral_type_required"),
    row("(6)", "DW_OP_lit0; DW_OP_const_type 0x41 0001000000000000; DW_OP_xderef_size 1", "integral_type_required"),
    row("(5)", "DW_OP_xderef", "stack_underflow"),
    row("(5)", "DW_OP_lit0; DW_OP_xderef", "stack_underflow"),
    row("(6)", "DW_OP_lit0; DW_OP_xderef_size 1", "stack_underflow"),
    row("(7)", "DW_OP_lit0; DW_OP_xderef_type 1 0x10", "stack_underflow"),
    # The size and the type are those of DW_OP_deref_size and DW_OP_deref_type.
    row("(6)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_size 0", "bad_size"),
    row("(6)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_size 9", "bad_size", rules="dwarf5"),
    row("(7)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_type 2 0x10", "bad_size"),
    row("(7)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_xderef_type 1 0x99", "bad_type"),
    # The names of the next version, and its operation for the address alone.
    row("DWARF 6 proposal 013", "DW_OP_lit3; DW_OP_lit16; DW_OP_mem", "local#0x10", **LOCAL),
    row("DWARF 6 proposal 013", "DW_OP_lit3; DW_OP_lit16; DW_OP_mem; DW_OP_deref_size 1", "17", **LOCAL),
    row("DWARF 6 proposal 013", "DW_OP_lit9; DW_OP_lit16; DW_OP_mem", "bad_address_space", **LOCAL),
    row("(5)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_aspace_deref", "578437695752307201", dialect="dwarf6"),
    row("(6)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_aspace_deref_size 1", "1", dialect="dwarf6"),
    row("(7)", "DW_OP_lit0; DW_OP_const2u 0x100; DW_OP_aspace_deref_type 1 0x10", "1:signed8", dialect="dwarf6"),
]

# --- DW_OP_entry_value ---------------------------------------------------------------------------------------------

ENTRY_VALUE = [
    # A call site may say what a value was on entry (DW_TAG_call_site_parameter).
    row("(8)", "DW_OP_entry_value (DW_OP_reg5)", "119", entry_values={"55": 0x77}),
    row("(8)", "DW_OP_entry_value (DW_OP_reg5)", "119", entry_values={"DW_OP_reg5": 0x77}),
    row("(8)", "DW_OP_lit1; DW_OP_entry_value (DW_OP_reg5); DW_OP_plus", "120", entry_values={"55": 0x77}),
    row("(8)", "DW_OP_GNU_entry_value (DW_OP_reg5)", "119", entry_values={"55": 0x77}),
    row("(8)", "DW_OP_entry_value (DW_OP_reg6)", "frame", entry_values={"55": 0x77}),
    # "a block of bytes, with a length equal S"
    row("(8)", "DW_OP_entry_value (DW_OP_reg5)", "119", expr="a30155", entry_values={"55": 0x77}),
    row("(8)", "", "truncated", expr="a30255"),
    row("(8)", "", "truncated", expr="a3"),
]

GNU = [
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "5", dies={"info:0x4c": {"location": {"ops": "DW_OP_reg5"}}}),
    row(
        "GCC",
        "DW_OP_GNU_variable_value 0x4c",
        "578437695752307201",
        dies={"info:0x4c": {"location": {"ops": "DW_OP_addr 0x100"}}},
    ),
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "5", dies={"info:0x4c": {"location": [{"ops": "DW_OP_reg5"}]}}),
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "7", dies={"info:0x4c": {"const_value": "0700000000000000"}}),
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "undefined_read", dies={"info:0x4c": {"location": []}}),
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "bad_operand", dies={"info:0x4c": {}}),
    row("GCC", "DW_OP_GNU_variable_value 0x4d", "bad_operand", dies={"info:0x4c": {}}),
    row("GCC", "DW_OP_GNU_variable_value 0x4c", "unit"),
    row("GCC", "DW_OP_GNU_parameter_ref 0x4c", "frame"),
]

test_regval_type = table(REGVAL_TYPE)
test_deref = table(DEREF)
test_deref_size = table(DEREF_SIZE)
test_deref_type = table(DEREF_TYPE)
test_where_nothing_can_be_retrieved = table(NOTHING_THERE)
test_implicit_pointers = table(POINTERS)
test_xderef = table(XDEREF)
test_entry_values_of_call_sites = table(ENTRY_VALUE)
test_gnu_operations = table(GNU)

# --- The calling frame ---------------------------------------------------------------------------------------------

GENERIC = resolve("generic")


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
        size = self.target.register(number).bit_size
        return locations.at(Implicit(self.base + number, size))

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


class Unit:
    """A unit whose base types are 32 bits wide."""

    reference_size = 4

    def base_type(self, offset):
        return types.unsigned(32)

    def relocated(self, address):
        return address


def in_frames(ops, want=None, target=GENERIC, **changes):
    """The result, in the notation of rows, in a frame (base 0) whose caller (0x1000) has a caller (0x2000)."""
    frame = Frame(target, 0, Frame(target, 0x1000, Frame(target, 0x2000)))
    code = asm.parse(ops, dialects.get("llvm-user"), Format(), target=target)
    place = locations.at(Memory(target.default_space), 0x40)
    context = Context(target, AMD, Bytes(), frame=frame, unit=Unit(), object=place, result_kind=want, **changes)
    found = evaluate(code, context).of(0)
    return getattr(found, "kind", None) or notation(JsonWriter("little").entry(found))


# "E is evaluated with the current context, except the result kind is unspecified, the call frame is the one that
# called the current frame, ... the object is unspecified, and the initial stack is empty."
ENTRY = [
    # "If the result of E is a location description L, and the last operation executed by E is a DW_OP_reg* for
    # register R with a target architecture specific base type of T, then the contents of the register are retrieved"
    ("DW_OP_entry_value (DW_OP_reg5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_regx 5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_regx 400)", str(0x1000 + 400)),
    ("DW_OP_entry_value (DW_OP_reg31)", str(0x101F)),
    ("DW_OP_GNU_entry_value (DW_OP_reg5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_lit1; DW_OP_reg5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_reg6; DW_OP_reg5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_skip @reg; DW_OP_reg6; reg: DW_OP_reg5)", str(0x1005)),
    ("DW_OP_entry_value (DW_OP_reg8)", str(0x0706050403020100)),  # saved in memory by the frame that was called
    ("DW_OP_entry_value (DW_OP_reg9)", "undefined_read"),
    # "If the result of E is a value V, then V is pushed on the stack."
    ("DW_OP_entry_value (DW_OP_lit5)", "5"),
    ("DW_OP_entry_value (DW_OP_breg5 0xfb; DW_OP_deref)", str(0x0706050403020100)),
    ("DW_OP_entry_value (DW_OP_breg5 0xfb; DW_OP_deref_size 2)", "256"),
    ("DW_OP_entry_value (DW_OP_regval_type 5 1)", "4101:unsigned32"),
    ("DW_OP_entry_value (DW_OP_breg5 0; DW_OP_lit1; DW_OP_plus)", str(0x1006)),
    # "Otherwise, the DWARF expression is ill-formed."
    ("DW_OP_entry_value 0x", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_nop)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_breg5 0)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_addr 0x10)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_call_frame_cfa)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_lit5; DW_OP_stack_value)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_implicit_value 01)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_LLVM_undefined)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_reg5; DW_OP_piece 8)", "bad_result_kind"),
    # ... it is the operation that was executed last that must be a DW_OP_reg*, not the one that stands last
    ("DW_OP_entry_value (DW_OP_reg5; DW_OP_nop)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_reg5; DW_OP_lit1; DW_OP_drop)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_reg5; DW_OP_skip @end; DW_OP_reg6; end:)", "bad_result_kind"),
    ("DW_OP_entry_value (DW_OP_reg5; DW_OP_lit1; DW_OP_bra @end; DW_OP_reg6; end:)", "bad_result_kind"),
    # "The initial stack is empty", "the object is unspecified", and what E leaves is one value.
    ("DW_OP_lit1; DW_OP_entry_value (DW_OP_lit5); DW_OP_plus", "6"),
    ("DW_OP_lit1; DW_OP_lit2; DW_OP_entry_value (DW_OP_plus)", "stack_underflow"),
    ("DW_OP_lit1; DW_OP_entry_value (DW_OP_lit7; DW_OP_lit5); DW_OP_plus", "6"),
    ("DW_OP_entry_value (DW_OP_push_object_address; DW_OP_deref)", "object"),
    ("DW_OP_push_object_address; DW_OP_drop; DW_OP_entry_value (DW_OP_lit1)", "1"),
    # The frame is the caller's only while E is evaluated.
    ("DW_OP_entry_value (DW_OP_reg5); DW_OP_breg5 0; DW_OP_plus", str(0x100A)),
    ("DW_OP_entry_value (DW_OP_call_frame_cfa; DW_OP_deref_size 1)", "0"),
    # E may contain another DW_OP_entry_value: the caller of the caller.
    ("DW_OP_entry_value (DW_OP_entry_value (DW_OP_reg5))", str(0x2005)),
    ("DW_OP_entry_value (DW_OP_breg5 0; DW_OP_entry_value (DW_OP_reg5); DW_OP_plus)", str(0x300A)),
    # A value that the call site states is taken as it is.
    ("DW_OP_entry_value (DW_OP_reg7)", str(0x99)),
    # What is wrong in E.
    ("DW_OP_entry_value (DW_OP_lit1; DW_OP_lit0; DW_OP_div)", "division_by_zero"),
    ("DW_OP_entry_value (DW_OP_skip 1)", "bad_branch"),
    ("DW_OP_entry_value 01", "unknown_operation"),
    ("DW_OP_entry_value 08", "truncated"),
    ("DW_OP_entry_value a30255", "truncated"),
    ("DW_OP_GNU_parameter_ref 4", "5"),
]


@pytest.mark.parametrize("ops, expected", ENTRY)
def test_entry_value_in_the_calling_frame(ops, expected):
    assert in_frames(ops) == expected


def test_the_result_kind_of_an_entry_value_is_unspecified():
    assert in_frames("DW_OP_entry_value (DW_OP_lit5)", want="location") == "mem 0x5"
    assert in_frames("DW_OP_entry_value (DW_OP_reg5)", want="value") == str(0x1005)


def test_the_type_of_a_register_is_the_targets():
    gpu = resolve("amdgcn-gfx90a")

    assert in_frames("DW_OP_entry_value (DW_OP_regx s5)", target=gpu) == f"{0x1000 + 37}:unsigned32"
    vector = in_frames("DW_OP_entry_value (DW_OP_regx v5)", target=gpu)
    assert vector == f"[{0x1000 + 2565}{', 0' * 63}]:unsigned32x64"


def test_an_entry_value_has_the_lanes_of_the_expression():
    code = asm.parse("DW_OP_entry_value (DW_OP_LLVM_push_lane)", dialects.get("llvm-user"), Format())
    frame = Frame(GENERIC, 0, Frame(GENERIC, 0x1000))
    context = Context(GENERIC, AMD, Bytes(), LaneSet.of([2, 0, 1]), lane_count=4, frame=frame, unit=Unit())

    assert [int(one.bits) for one in evaluate(code, context)] == [2, 0, 1]


# A register of a frame that is not the top one is wherever it was saved: it is read from there, or it has no value.
@pytest.mark.parametrize(
    "ops, expected",
    [
        ("DW_OP_regval_type 8 1", "50462976:unsigned32"),
        ("DW_OP_regx 8; DW_OP_deref", str(0x0706050403020100)),
        ("DW_OP_breg8 0", f"mem {0x0706050403020100:#x}"),
        ("DW_OP_regx 8", "mem 0x100"),
        ("DW_OP_regval_type 9 1", "undefined_read"),
        ("DW_OP_breg9 0", "undefined_read"),
        ("DW_OP_regx 9", "undefined"),
    ],
)
def test_registers_of_a_frame_that_is_not_the_top_one(ops, expected):
    assert in_frames(ops) == expected


# "equivalent to performing DW_OP_regx R; DW_OP_deref_type DR" and the like, whatever the value is.
EQUIVALENT = [
    ("DW_OP_regval_type {r} 0x22", "DW_OP_regx {r}; DW_OP_deref_type 4 0x22"),
    ("DW_OP_regval_type {r} 0x51", "DW_OP_regx {r}; DW_OP_deref_type 1 0x51"),
    ("DW_OP_regval_type {r} 0x24", "DW_OP_regx {r}; DW_OP_deref_type 16 0x24"),
    (
        "DW_OP_lit0; DW_OP_breg{r} 0; DW_OP_xderef",
        "DW_OP_breg{r} 0; DW_OP_lit0; DW_OP_LLVM_form_aspace_address; DW_OP_deref",
    ),
    ("DW_OP_lit0; DW_OP_breg{r} 0; DW_OP_xderef_size 3", "DW_OP_breg{r} 0; DW_OP_deref_size 3"),
    ("DW_OP_lit0; DW_OP_breg{r} 0; DW_OP_xderef_type 3 0x52", "DW_OP_breg{r} 0; DW_OP_deref_type 3 0x52"),
    ("DW_OP_breg{r} 0; DW_OP_deref", "DW_OP_breg{r} 0; DW_OP_deref_type 8 0x23; DW_OP_convert 0"),
    ("DW_OP_breg{r} 0; DW_OP_deref_size 2", "DW_OP_breg{r} 0; DW_OP_deref_type 2 0x21; DW_OP_convert 0"),
]


@pytest.mark.parametrize("left, right", EQUIVALENT)
@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("number", [0, 3, 5, 9])
def test_equivalent_operations(left, right, order, number):
    context = {"base_types": TYPES, "registers": REGISTERS, "memory": MEMORY, "byte_order": order, "rules": "amd"}

    assert run(left.format(r=number), **context) == run(right.format(r=number), **context)


# --- Reads that differ from lane to lane ---------------------------------------------------------------------------

STORAGE = bytes((37 * i + 11) % 256 for i in range(48))
WIDTHS = (1, 7, 8, 24, 33, 64, 65, 128)
STORAGES = {
    "memory": "DW_OP_addr 0x100",
    "register": "DW_OP_reg0",
    "implicit": f"DW_OP_implicit_value {STORAGE.hex()}",
    "composite": "DW_OP_addr 0x100; DW_OP_piece 7; DW_OP_reg0; DW_OP_lit7; DW_OP_LLVM_offset; DW_OP_bit_piece 101 0;"
    f"DW_OP_implicit_value {STORAGE.hex()}; DW_OP_const1u 157; DW_OP_LLVM_bit_offset; DW_OP_bit_piece 227 0;"
    "DW_OP_LLVM_piece_end",
}


def bits_at(offset, size, order):
    """The bits of the storage from an offset on, as a number: bit 0 is the least significant one of the first byte on a
    little-endian target, the most significant one on a big-endian target."""
    whole = int.from_bytes(STORAGE, order)
    return whole >> (offset if order == "little" else 8 * len(STORAGE) - offset - size) & (1 << size) - 1


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("storage", STORAGES)
def test_every_lane_reads_its_own_bits(storage, order, width):
    size = -(-width // 8)
    case = {
        "rules": "amd",
        "dialect": "llvm-user",
        "byte_order": order,
        "base_types": {"8": {"encoding": "unsigned", "byte_size": size, "bit_size": width}},
        "memory": [{"space": 0, "address": 0x100, "bytes": STORAGE.hex()}],
        "registers": {"0": {"bytes": STORAGE.hex()}},
    }
    for step in (0, 1, 7, 8, 13):
        offset = f"DW_OP_LLVM_push_lane; DW_OP_const1u {step}; DW_OP_mul; DW_OP_LLVM_bit_offset"
        ops = f"{STORAGES[storage]}; {offset}; DW_OP_deref_type {size} 8"
        expected = [f"{bits_at(step * lane, width, order)}:unsigned{width}" for lane in range(16)]
        assert run_lanes(ops, lane_count=16, **case) == expected, step
        assert run(ops, lane=9, lane_count=16, **case) == expected[9], step


BY_LANE = [
    # Where one lane has nothing to read, the others still have.
    row(
        "(2)",
        "DW_OP_LLVM_push_lane; DW_OP_lit16; DW_OP_mul; DW_OP_plus_uconst 0x100; DW_OP_deref",
        ["578437695752307201", str(0x1817161514131211), "memory_unavailable"],
        lane_count=3,
    ),
    row(
        "(3)",
        "DW_OP_reg0; DW_OP_LLVM_push_lane; DW_OP_lit3; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 2",
        [str(0x7788), str(0x4455), str(0x1122), "offset_out_of_storage"],
        lane_count=4,
    ),
    row(
        "(3)",
        "DW_OP_reg0; DW_OP_LLVM_push_lane; DW_OP_lit3; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 3",
        [str(0x667788), str(0x334455), "read_past_storage", "offset_out_of_storage"],
        lane_count=4,
    ),
    row(
        "(2)",
        "DW_OP_LLVM_push_lane; DW_OP_bra @r; DW_OP_LLVM_undefined; DW_OP_skip @end; r: DW_OP_reg5; end: DW_OP_deref",
        ["undefined_read", "5", "5"],
        lane_count=3,
    ),
    row(
        "(2)",
        "DW_OP_LLVM_push_lane; DW_OP_bra @r; DW_OP_implicit_value 01; DW_OP_skip @end; r: DW_OP_reg5; end: DW_OP_deref",
        ["read_past_storage", "5"],
        lane_count=2,
    ),
    row(
        "(1)",
        "DW_OP_regval_type 0 0x13",
        ["1:signed64", "2:signed64", "register_unavailable"],
        lane_count=3,
        registers={"0": [1, 2]},
    ),
    # ... each with the types and the spaces that it computes.
    row(
        "(6)",
        "DW_OP_LLVM_push_lane; DW_OP_lit3; DW_OP_mul; DW_OP_lit16; DW_OP_xderef_size 2",
        [str(0x2221), str(0x1211), "memory_unavailable", "bad_address_space"],
        lanes=[0, 1, 2, 3],
        **LOCAL,
    ),
    row(
        "(4)",
        """
        DW_OP_LLVM_push_lane; DW_OP_bra @wide;
        DW_OP_reg0; DW_OP_deref_type 2 0x21; DW_OP_skip @end;
        wide: DW_OP_reg0; DW_OP_deref_type 4 0x22;
        end:
        """,
        ["30600:unsigned16", "1432778632:unsigned32"],
        lane_count=2,
    ),
]
test_lanes_that_differ_in_more_than_data = table(BY_LANE)
