"""A.2.5.4.0 Vendor Extension Operations, and the bytes of every operation in every dialect (A.7.7.1)."""

from functools import partial

import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.expr import table as operations
from dwarfgpu.expr.instruction import decode
from tests.builders.cases import Case, answer, full, table
from tests.builders.parameters import in_one_test, told

CONTEXT = {
    "rules": "amd",             "lane": 3,                  "lane_count": 8,            "iteration": 1,
    "iterations": 2,            "registers": {str(number): 0x100 + number for number in range(40)},
    "memory": [{"space": 0, "address": 0x100, "bytes": bytes(range(0x80)).hex()}],      "cfa": 0x7F00,
    "frame_base": 0x7E00,       "object": 0x6000,
    "base_types": {"8": {"encoding": "unsigned", "byte_size": 2}, "9": {"encoding": "signed", "byte_size": 8}},
    "debug_addr": {"0": 0xA0, "300": 0xA3},                 "tls": {"0": 0x9000, "5": 0x9005},
    "entry_values": {"55": 0x77},
    "dies": {"unit:4": {"location": {"ops": "DW_OP_lit4"}}, "info:258": {"location": {"ops": "DW_OP_reg7"}}},
}  # fmt: skip


def row(clause, ops, expected, data, **case):
    """A row whose bytes are evaluated; ``ops`` says what they mean."""
    return Case(clause, ops, expected, expr=data.replace(" ", ""), **{**CONTEXT, **case})


user = partial(row, "A.2.5.4.0 (1)", dialect="llvm-user")
legacy = partial(row, "A.7.7.1", dialect="llvm-legacy")
oldest = partial(row, "A.7.7.1", dialect="amdgpu-2020")
gnu = partial(row, "GCC", dialect="gnu")
mux = partial(row, "LLVM Dwarf.def", dialect="llvm-user")
PREFIX = [
    # "It has at least one operand: a ULEB128 constant identifying a vendor extension operation. The remaining operands
    # are defined by the vendor extension."
    user("lit5; LLVM_nop", "5", "35 e901"),
    user("lit16; lit0; LLVM_form_aspace_address", "mem 0x10", "40 30 e902"),
    user("LLVM_push_lane", "3", "e903"),
    user("addr 0x100; lit4; LLVM_offset", "mem 0x104", "03 0001000000000000 34 e904"),
    user("reg5; LLVM_offset_uconst 4", "r5+32", "55 e905 04"),
    user("addr 0x100; LLVM_offset_uconst 300", "mem 0x22c", "03 0001000000000000 e905 ac02"),
    user("reg5; lit3; LLVM_bit_offset", "r5+3", "55 33 e906"),
    user("LLVM_call_frame_entry_reg 6", "r6", "e907 06", entry_registers={"6": {"kind": "register", "register": 6}}),
    user("LLVM_undefined", "undefined", "e908"),
    user("lit0; LLVM_aspace_bregx 5 -5", "mem 0x100", "30 e909 05 7b"),
    user("reg5; piece 4; LLVM_piece_end; lit2; LLVM_offset", "{32:r5}+16", "55 9304 e90a 32 e904"),
    user("reg5; LLVM_extend 16 3", "{16:r5 16:r5 16:r5}", "55 e90b 10 03"),
    user("reg5; reg6; lit2; LLVM_select_bit_piece 16 3", "{16:r5 16:r6+16 16:r5+32}", "55 56 32 e90c 10 03"),
    # The ULEB128 may be padded, as any other.
    *(user("LLVM_push_lane", "3", data) for data in ("e9 8300", "e9 838000")),
    user("reg5; LLVM_offset_uconst 4", "r5+32", "55 e9 8500 8400"),
    # "The vendor extension opcode 0 is reserved and cannot be used by any vendor extension."
    *(user("", "unknown_operation", data) for data in ("e900", "e9 8000", "e900 01", "35 e900")),
    # What no vendor has taken is no operation either.
    *(user("", "unknown_operation", f"e9 {code:02x}") for code in (0x0E, 0x0F, 0x10, 0x20, 0x7F)),
    *(user("", "unknown_operation", data) for data in ("e9 8001", "e9 ffffffffffffffffff01", "e9 8101")),
    # A constant that is not there, or has no end, or is too large.
    *(user("", "truncated", data) for data in ("e9", "e9 80", "35 e9")),
    user("", "leb128_overflow", "e9 ffffffffffffffffff02"),
    # The operands of DW_OP_LLVM_NVIDIA_mux are known to nobody, so what follows cannot be decoded.
    mux("LLVM_NVIDIA_mux 0x", "DW_OP_LLVM_NVIDIA_mux", "e90d"),
    mux("LLVM_NVIDIA_mux 01", "DW_OP_LLVM_NVIDIA_mux", "e90d 01"),
    mux("lit1; LLVM_NVIDIA_mux 0102", "DW_OP_LLVM_NVIDIA_mux", "31 e90d 01 02"),
    # ... also where a branch goes into it, but what stands before it runs.
    mux("skip 4; LLVM_NVIDIA_mux 012f30", "DW_OP_LLVM_NVIDIA_mux", "2f 0400 e90d 01 2f 30"),
    mux("lit1; lit0; div; LLVM_NVIDIA_mux 0x", "division_by_zero", "31 30 1b e90d"),
    mux("drop; LLVM_NVIDIA_mux 0x", "stack_underflow", "13 e90d"),
    # 0xe9 is a prefix in this dialect alone.
    *(user("", "unknown_operation", "e903", dialect=name) for name in ("dwarf5", "gnu", "dwarf6"))]  # fmt: skip
LEGACY = [
    legacy("lit16; lit0; LLVM_form_aspace_address", "mem 0x10", "40 30 e1"),
    legacy("LLVM_push_lane", "3", "e2"),                      legacy("reg5; lit4; LLVM_offset", "r5+32", "55 34 e3"),
    legacy("reg5; LLVM_offset_uconst 4", "r5+32", "55 e4 04"),
    legacy("reg5; lit3; LLVM_bit_offset", "r5+3", "55 33 e5"),
    legacy("LLVM_call_frame_entry_reg 6", "r6", "e6 06", entry_registers={"6": {"kind": "register", "register": 6}}),
    legacy("LLVM_undefined", "undefined", "e7"),
    legacy("lit0; LLVM_aspace_bregx 5 -5", "mem 0x100", "30 e8 05 7b"),
    legacy("lit0; LLVM_aspace_implicit_pointer 0x102 -3", "ptr info:0x102-3", "30 e9 02010000 7d"),
    legacy("lit0; LLVM_aspace_implicit_pointer 0x102 1", "ptr info:0x102+1", "30 e9 0000000000000102 01",
        offset_size=8, byte_order="big"),
    legacy("reg5; piece 4; LLVM_piece_end; lit2; LLVM_offset", "{32:r5}+16", "55 9304 ea 32 e3"),
    legacy("reg5; LLVM_extend 16 3", "{16:r5 16:r5 16:r5}", "55 eb 10 03"),
    legacy("reg5; reg6; lit2; LLVM_select_bit_piece 16 3", "{16:r5 16:r6+16 16:r5+32}", "55 56 32 ec 10 03"),
    legacy("", "unknown_operation", "ed"),                    legacy("GNU_push_tls_address", "mem 0x9005", "35 e0"),
    legacy("GNU_const_index 300", "163", "fc ac02")]  # fmt: skip
OLDEST = [
    oldest("lit16; lit0; LLVM_form_aspace_address", "mem 0x10", "40 30 e7"),
    oldest("reg5; lit4; LLVM_offset", "r5+32", "55 34 e9"),
    oldest("LLVM_push_lane", "3", "ea"),
    oldest("GNU_const_index 300", "163", "fc ac02"),
    *(oldest("", "unknown_operation", f"{n:02x}") for n in {*range(0xE1, 0xED)} - {0xE7, 0xE9, 0xEA})]  # fmt: skip

# 0xe9 means three things: which one is said by whoever names the dialect, and never guessed.
THREE_MEANINGS = [
    user("reg5; lit4; LLVM_offset", "r5+32", "55 34 e904"),
    oldest("reg5; lit4; LLVM_offset", "r5+32", "55 34 e9"),
    legacy("lit4; LLVM_aspace_implicit_pointer", "bad_address_space", "34 e9 02010000 00")]  # fmt: skip
GNU = [
    gnu("lit5; GNU_push_tls_address", "mem 0x9005", "35 e0"), gnu("reg5; GNU_uninit", "r5", "55 f0"),
    gnu("GNU_encoded_addr 0x00 0x100", "mem 0x100", "f1 00 0001000000000000"),
    gnu("GNU_encoded_addr 0x01 0x12c", "mem 0x12c", "f1 01 ac02"),
    gnu("GNU_encoded_addr 0x02 0x102", "mem 0x102", "f1 02 0201"),
    gnu("GNU_encoded_addr 0x02 0x102", "mem 0x102", "f1 02 0102", byte_order="big"),
    gnu("GNU_encoded_addr 0x03 0x102", "mem 0x102", "f1 03 02010000"),
    gnu("GNU_encoded_addr 0x04 0x102", "mem 0x102", "f1 04 0201000000000000"),
    gnu("GNU_encoded_addr 0x09 -1", "mem 0xffffffffffffffff", "f1 09 7f"),
    gnu("GNU_encoded_addr 0x0a -2", "mem 0xfffffffffffffffe", "f1 0a feff"),
    gnu("GNU_encoded_addr 0x0b -2", "mem 0xfffffffe", "f1 0b feffffff", address_size=4),
    gnu("GNU_encoded_addr 0x0c -2", "mem 0xfffffffffffffffe", "f1 0c feffffffffffffff"),
    # DW_EH_PE_indirect: the address stands in memory
    gnu("GNU_encoded_addr 0x82 0x100", "mem 0x706050403020100", "f1 82 0001"),
    # DW_EH_PE_omit and unknown formats; what is relative to something
    gnu("", "pointer_encoding", "f1 ff"),                     gnu("", "pointer_encoding", "f1 05 00"),
    gnu("GNU_encoded_addr 0x12 4", "pointer_encoding", "f1 12 0400"),
    gnu("GNU_encoded_addr 0x50 4", "pointer_encoding", "f1 50 0400000000000000"),
    gnu("GNU_implicit_pointer 0x102 -3", "ptr info:0x102-3", "f2 02010000 7d"),
    gnu("GNU_implicit_pointer 0x102 0", "ptr info:0x102", "f2 0000000000000102 00", offset_size=8, byte_order="big"),
    gnu("GNU_entry_value (reg5)", "119", "f3 01 55"),
    gnu("GNU_const_type 8 0201", "258:unsigned16", "f4 08 02 0201"),
    gnu("GNU_regval_type 5 8", "261:unsigned16", "f5 05 08"),
    gnu("addr 0x100; GNU_deref_type 2 8", "256:unsigned16", "03 0001000000000000 f6 02 08"),
    gnu("const1s -2; GNU_convert 8", "65534:unsigned16", "09 fe f7 08"),
    gnu("const1s -2; GNU_reinterpret 9", "-2:signed64", "09 fe f9 09"),
    gnu("GNU_parameter_ref 4", "frame", "fa 04000000"),       gnu("GNU_addr_index 300", "mem 0xa3", "fb ac02"),
    gnu("GNU_const_index 300", "163", "fc ac02"),             gnu("GNU_variable_value 0x102", "263", "fd 02010000"),
    gnu("GNU_variable_value 0x102", "263", "fd 0000000000000102", offset_size=8, byte_order="big"),
    # A reference has the size of an address in DWARF 2.
    gnu("GNU_variable_value 0x102", "263", "fd 0201000000000000", dwarf_version=2),
    # 0xf8 is an operation of another compiler, which has no description.
    gnu("", "unknown_operation", "f8"),
    *(gnu("", "unknown_operation", f"{code:02x}") for code in (*range(0xE1, 0xF0), 0xFE, 0xFF))]  # fmt: skip

# The single bytes of 0xe9 and its neighbours are free in DWARF 5 and in its drafts.
STANDARD = [
    row("DWARF 5, 7.7.1", "form_tls_address", "mem 0x9005", "35 9b", dialect="dwarf5"),
    row("DWARF 6 (230524.1)", "form_tls_location", "mem 0x9005", "35 9b", dialect="dwarf6"),
    row("DWARF 5, 7.7.1", "push_object_address", "mem 0x6000", "97", dialect="dwarf5"),
    row("DWARF 6 (230524.1)", "push_object_location", "mem 0x6000", "97", dialect="dwarf6"),
    # "TBA": an operation without a number can be written in text, and evaluated.
    Case("DWARF 6 (230524.1)", "push_lane", "3", **CONTEXT, dialect="dwarf6"),
    Case("DWARF 6 (230524.1)", "undefined", "undefined", **CONTEXT, dialect="dwarf6"),
    Case("A.7.7.1", "LLVM_push_iteration", "1", **CONTEXT, dialect="llvm-user"),
    Case("A.7.7.1", "LLVM_push_iteration", "1", **CONTEXT, dialect="dwarf5"),
    # The prefix is implied by the name, and may be written.
    Case("A.2.5.4.0 (1)", "DW_OP_LLVM_user DW_OP_LLVM_push_lane", "3", **CONTEXT, dialect="llvm-user"),
    Case("A.2.5.4.0 (1)", "LLVM_user", "unknown_operation", **CONTEXT, dialect="llvm-user"),
    Case("A.2.5.4.0 (1)", "LLVM_user 3", "unknown_operation", **CONTEXT, dialect="llvm-user")]  # fmt: skip
test_the_prefix = table(PREFIX)
test_the_single_bytes = table(LEGACY)
test_the_oldest_layout = table(OLDEST)
test_three_meanings_of_one_byte = table(THREE_MEANINGS)
test_gnu_operations = table(GNU)
test_standard_operations = table(STANDARD)

# DWARF 5, table 7.9: bytes on a little-endian target with addresses of 8 bytes and offsets of 4.
TABLE_7_9 = """
    03 0807060504030201 -> addr 0x102030405060708             06 -> deref                  08 ff -> const1u 255
    09 ff -> const1s -1          0a 0201 -> const2u 0x102     0b feff -> const2s -2
    0c 04030201 -> const4u 0x1020304                          0d fdffffff -> const4s -3
    0e 0807060504030201 -> const8u 0x102030405060708          0f fcffffffffffffff -> const8s -4
    10 ac02 -> constu 300        11 d47d -> consts -300       12 -> dup                    13 -> drop
    14 -> over                   15 02 -> pick 2              16 -> swap                   17 -> rot
    18 -> xderef                 19 -> abs                    1a -> and                    1b -> div
    1c -> minus                  1d -> mod                    1e -> mul                    1f -> neg
    20 -> not                    21 -> or                     22 -> plus                   23 ac02 -> plus_uconst 300
    24 -> shl                    25 -> shr                    26 -> shra                   27 -> xor
    28 feff -> bra -2            29 -> eq                     2a -> ge                     2b -> gt
    2c -> le                     2d -> lt                     2e -> ne                     2f 0201 -> skip 258
    30 -> lit0                   4f -> lit31                  50 -> reg0                   6f -> reg31
    70 7e -> breg0 -2            8f ac02 -> breg31 300        90 80808001 -> regx 0x200000
    91 40 -> fbreg -64           92 ac02 d47d -> bregx 300 -300                            93 04 -> piece 4
    94 08 -> deref_size 8        95 ff -> xderef_size 255     96 -> nop                    97 -> push_object_address
    98 0201 -> call2 0x102       99 04030201 -> call4 0x1020304
    9a 04030201 -> call_ref 0x1020304                         9b -> form_tls_address       9c -> call_frame_cfa
    9d ac02 7f -> bit_piece 300 127                           9e 03 010203 -> implicit_value 010203
    9f -> stack_value            a0 04030201 7f -> implicit_pointer 0x1020304 -1           a1 ac02 -> addrx 300
    a2 ac02 -> constx 300        a3 02 7504 -> entry_value (breg5 4)
    a4 ac02 02 0102 -> const_type 300 0102                    a5 ac02 ad02 -> regval_type 300 301
    a6 02 ac02 -> deref_type 2 300                            a7 02 ac02 -> xderef_type 2 300
    a8 ac02 -> convert 300       a9 00 -> reinterpret 0
"""
# ... and on a big-endian one with addresses and offsets of 8 bytes, where they differ.
BIG = """
    03 0102030405060708 -> addr 0x102030405060708             0a 0102 -> const2u 0x102     0b fffe -> const2s -2
    0c 01020304 -> const4u 0x1020304                          0d fffffffd -> const4s -3
    0e 0102030405060708 -> const8u 0x102030405060708          0f fffffffffffffffc -> const8s -4
    10 ac02 -> constu 300        11 d47d -> consts -300       28 fffe -> bra -2            2f 0102 -> skip 258
    98 0102 -> call2 0x102       99 01020304 -> call4 0x1020304
    9a 0102030405060708 -> call_ref 0x102030405060708
    a0 0102030405060708 7f -> implicit_pointer 0x102030405060708 -1
"""
# A.7.7.1, and the layouts before it.
LLVM_USER = """
    e901 -> LLVM_nop             e902 -> LLVM_form_aspace_address                          e903 -> LLVM_push_lane
    e904 -> LLVM_offset          e905 ac02 -> LLVM_offset_uconst 300                       e906 -> LLVM_bit_offset
    e907 80808001 -> LLVM_call_frame_entry_reg 0x200000       e908 -> LLVM_undefined
    e909 ac02 d47d -> LLVM_aspace_bregx 300 -300              e90a -> LLVM_piece_end
    e90b 20 40 -> LLVM_extend 32 64                           e90c 20 40 -> LLVM_select_bit_piece 32 64
    e90d 0102 -> LLVM_NVIDIA_mux 0102
"""
LLVM_LEGACY = """
    e1 -> LLVM_form_aspace_address                            e2 -> LLVM_push_lane         e3 -> LLVM_offset
    e4 ac02 -> LLVM_offset_uconst 300                         e5 -> LLVM_bit_offset
    e6 80808001 -> LLVM_call_frame_entry_reg 0x200000         e7 -> LLVM_undefined
    e8 ac02 d47d -> LLVM_aspace_bregx 300 -300
    e9 04030201 7f -> LLVM_aspace_implicit_pointer 0x1020304 -1                            ea -> LLVM_piece_end
    eb 20 40 -> LLVM_extend 32 64                             ec 20 40 -> LLVM_select_bit_piece 32 64
"""
AMDGPU_2020 = """
    e7 -> LLVM_form_aspace_address                            e9 -> LLVM_offset            ea -> LLVM_push_lane
"""
GNU_BYTES = """
    e0 -> GNU_push_tls_address   f0 -> GNU_uninit             f1 02 0201 -> GNU_encoded_addr 2 258
    f2 04030201 7f -> GNU_implicit_pointer 0x1020304 -1       f3 02 7504 -> GNU_entry_value (breg5 4)
    f4 ac02 02 0102 -> GNU_const_type 300 0102                f5 ac02 ad02 -> GNU_regval_type 300 301
    f6 02 ac02 -> GNU_deref_type 2 300                        f7 ac02 -> GNU_convert 300   f9 00 -> GNU_reinterpret 0
    fa 04030201 -> GNU_parameter_ref 0x1020304                fb ac02 -> GNU_addr_index 300
    fc ac02 -> GNU_const_index 300                            fd 04030201 -> GNU_variable_value 0x1020304
"""
# Addresses of every size.
ADDRESSES = {
    1: ("03 ff", "DW_OP_addr 0xff"),                         2: ("03 feff", "DW_OP_addr 0xfffe"),
    3: ("03 fdfeff", "DW_OP_addr 0xfffefd"),                 4: ("03 fcfdfeff", "DW_OP_addr 0xfffefdfc")}  # fmt: skip
FORM = Format()
BIG_FORM = Format(address_size=8, offset_size=8, byte_order="big")


def encodings(text):
    return ((data.replace(" ", ""), full(ops)) for data, ops in told(text))


ENCODINGS = [
    *(("dwarf5", FORM, *pair) for pair in encodings(TABLE_7_9)),
    *(("dwarf5", BIG_FORM, *pair) for pair in encodings(BIG)),
    *(("dwarf5", Format(address_size=size), data.replace(" ", ""), ops) for size, (data, ops) in ADDRESSES.items()),
    *((name, FORM, f"{0x30 + n:02x}", f"DW_OP_lit{n}") for name in ("dwarf5", "dwarf6") for n in range(32)),
    *((name, FORM, f"{0x50 + n:02x}", f"DW_OP_reg{n}") for name in ("dwarf5", "dwarf6") for n in range(32)),
    *((name, FORM, f"{0x70 + n:02x}7f", f"DW_OP_breg{n} -1") for name in ("dwarf5", "dwarf6") for n in range(32)),
    *(("llvm-user", FORM, *pair) for pair in encodings(LLVM_USER)),
    *(("llvm-legacy", FORM, *pair) for pair in encodings(LLVM_LEGACY)),
    *(("amdgpu-2020", FORM, *pair) for pair in encodings(AMDGPU_2020)),
    *(("gnu", FORM, *pair) for pair in encodings(GNU_BYTES))]  # fmt: skip


@pytest.mark.parametrize("name", ["gnu", "llvm-user", "llvm-legacy", "amdgpu-2020"])
def test_every_dialect_knows_what_it_extends(name):
    for path, encoding in dialects.get("dwarf5").by_path.items():
        assert dialects.get(name).by_path[path] == encoding


@in_one_test("name, form, data, ops", ENCODINGS)
def test_text_and_bytes_are_the_same_program(name, form, data, ops):
    dialect = dialects.get(name)
    assert asm.assemble(ops, dialect, form).hex() == data
    decoded = decode(bytes.fromhex(data), dialect, form)
    assert decoded.fault is None or "NVIDIA" in ops
    assembled = asm.parse(ops, dialect, form).instructions
    assert [(one.name, one.operands, one.offset) for one in decoded.instructions] == [
        (one.name, one.operands, one.offset) for one in assembled
    ]


ASSIGNED = {
    "dwarf5": {0x03, 0x06, *range(0x08, 0xAA)},              "gnu": {0xE0, *range(0xF0, 0xFE)} - {0xF8},
    "llvm-user": {0xE9},                                     "llvm-legacy": set(range(0xE1, 0xED)),
    "amdgpu-2020": {0xE7, 0xE9, 0xEA},                       "dwarf6": {0x03, 0x06, *range(0x08, 0xAA)}}  # fmt: skip
EXTENDS = {"gnu": "dwarf5", "llvm-user": "gnu", "llvm-legacy": "gnu", "amdgpu-2020": "gnu"}


def assigned(name):
    return ASSIGNED[name] | (assigned(EXTENDS[name]) if name in EXTENDS else set())


@pytest.mark.parametrize("name", dialects.NAMES)
def test_every_other_byte_is_unknown(name):
    for code in range(256):
        found = answer("", expr=f"{code:02x}", dialect=name)
        kind = found.get("error", {}).get("kind")
        assert (kind == "unknown_operation") == (code not in assigned(name)), (name, hex(code), found)


def test_every_number_means_an_operation_and_others_name_their_dialects():
    error = answer("", expr="e903", dialect="gnu")["error"]
    assert error["class"] == "ill_formed"
    assert "0xe9" in error["message"]
    assert "gnu" in error["message"]
    for name in dialects.NAMES:
        for encoding in dialects.get(name).by_path.values():
            assert operations.find(encoding.name) is not None
