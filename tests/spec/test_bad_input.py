"""Input that no producer should write: every kind of it ends in an error that says what is wrong, and in nothing else.

The letters are those of the kinds of bad input that other readers have been hit by: (a) operations cut off anywhere,
(b) LEB128 numbers, (d) and (e) entries that are not there, (f) sizes of pieces, (g) lengths of blocks, (h) types,
(i) cycles and nesting, (j) sizes of reads, (k) register numbers.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, locations, types
from dwarfgpu.expr import table as operations
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.locations import Memory, Register
from dwarfgpu.expr.rules import AMD, DWARF5, DWARF6
from dwarfgpu.expr.types import BaseType, Value
from dwarfgpu.lanes import LaneSet
from tests.builders.cases import Case, Rows, answer, base_types, run, short, table
from tests.builders.contexts import TARGET, kind_of, outcome
from tests.builders.parameters import every, in_one_test, some_slow

# --- A context in which everything can be found --------------------------------------------------------------------

LLVM_USER = dialects.get("llvm-user")
FORM = Format()
RULES = {"dwarf5": DWARF5, "amd": AMD, "dwarf6": DWARF6}


def of_bytes(data, dialect=LLVM_USER, form=FORM):
    return decode(bytes.fromhex(data) if isinstance(data, str) else data, dialect, form)


def of_text(ops):
    return asm.parse(ops, LLVM_USER, FORM)


# --- (a) Each operation, cut off behind each of its bytes ----------------------------------------------------------

# Bytes of operands of each kind, written down by hand; a LEB128 number of several bytes can be cut off in the middle.
SAMPLES = {
    "u1": "01", "s1": "ff", "u2": "0102", "s2": "ffff", "u4": "01020304", "s4": "ffffffff", "u8": "0102030405060708",
    "s8": "ffffffffffffffff", "uleb": "808001", "sleb": "ffff7e", "address": "0102030405060708", "ref": "01020304",
    "branch": "0000", "block": "8300010203", "block1": "03010203", "expression": "8300969696", "encoded": "0301020304",
}  # fmt: skip


@pytest.mark.parametrize("name", dialects.NAMES)
def test_a_operations_that_are_cut_off(name):
    dialect = dialects.get(name)
    for encoding in dialect.by_path.values():
        if "tail" in encoding.operand_kinds:
            continue
        data = encoding.opcode + b"".join(bytes.fromhex(SAMPLES[kind]) for kind in encoding.operand_kinds)
        assert of_bytes(data, dialect).fault is None, encoding.name
        for size in range(1, len(data)):
            expression = of_bytes(b"\x96" + data[:size], dialect)
            found = outcome(expression)
            assert kind_of(found) == "truncated", (encoding.name, size)
            assert found.error_class == "ill_formed"
            assert found.where.offset == 1  # the operation, which begins behind a DW_OP_nop
            assert len(expression.instructions) == 1


def test_a_what_stands_before_the_cut_is_evaluated_first():
    assert kind_of(outcome(of_bytes("31301b08"))) == "division_by_zero"
    assert kind_of(outcome(of_bytes("2f000008"))) == "truncated"


# --- (b) LEB128 numbers --------------------------------------------------------------------------------------------


def leb(data, expected):
    return Case("DWARF 5, 7.6", "", expected, expr=data)


ALL = "ffffffffffffffffff"  # nine bytes: 63 bits
LEB128 = [
    # unsigned (DW_OP_constu)
    leb("1000", "0"),           leb("107f", "127"),         leb("108001", "128"),
    leb("10" + ALL + "01", str(2**64 - 1)),                 leb("10" + ALL + "00", str(2**63 - 1)),
    leb("10" + ALL + "02", "leb128_overflow"),              leb("10" + ALL + "7f", "leb128_overflow"),
    leb("10" + ALL + "8100", str(2**64 - 1)),  # a padded number is one
    leb("10" + "80" * 9 + "01", str(2**63)),                leb("10" + "80" * 10 + "01", "leb128_overflow"),
    leb("10" + "80" * 10 + "00", "0"),                      leb("10" + "80" * 1000 + "00", "0"),
    leb("10" + "80" * 1000 + "01", "leb128_overflow"),      leb("10" + "ff" * 1000 + "01", "leb128_overflow"),
    leb("10", "truncated"),     leb("1080", "truncated"),   leb("10" + "80" * 20, "truncated"),
    # signed (DW_OP_consts)
    leb("117f", str(2**64 - 1)),          leb("1140", str(2**64 - 64)),         leb("113f", "63"),
    leb("11c000", "64"),                  leb("11ff7f", str(2**64 - 1)),
    leb("11" + "ff" * 100 + "7f", str(2**64 - 1)),                              leb("11" + "80" * 100 + "00", "0"),
    leb("11" + "80" * 9 + "7f", str(2**63)),  # the least number
    leb("11" + ALL + "00", str(2**63 - 1)),  # the greatest
    leb("11" + ALL + "01", "leb128_overflow"),              leb("11" + "80" * 9 + "01", "leb128_overflow"),
    leb("11" + "80" * 9 + "7e", "leb128_overflow"),         leb("11" + "80" * 9 + "40", "leb128_overflow"),
    leb("11" + "80" * 100 + "01", "leb128_overflow"),       leb("11", "truncated"),     leb("11ff", "truncated"),
    # in other operands
    leb("23" + "ff" * 9 + "02", "leb128_overflow"),          leb("90" + "ff" * 9 + "02", "leb128_overflow"),
    leb("7080", "truncated"),                                leb("70" + "80" * 9 + "01", "leb128_overflow"),
    leb("93" + "ff" * 9 + "02", "leb128_overflow"),          leb("9e" + "ff" * 9 + "02", "leb128_overflow"),
    leb("a3" + "ff" * 9 + "02", "leb128_overflow"),          leb("a8" + "ff" * 9 + "02", "leb128_overflow"),
]  # fmt: skip
test_b_leb128_numbers = table(LEB128)


@pytest.mark.parametrize("byte", ["80", "ff"])
def test_b_a_number_without_an_end_is_no_work(byte):
    assert short(answer("", expr="10" + byte * 200_000)) in ("truncated", "leb128_overflow")
    assert short(answer("", expr="11" + byte * 200_000 + "00")) in ("0", "leb128_overflow")


@given(st.integers(0, 2**64 - 1), st.integers(0, 12))
def test_b_unsigned_numbers_in_any_length(number, padding):
    data = bytearray()
    rest = number
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    if padding:
        data[-1] |= 0x80
        data += b"\x80" * (padding - 1) + b"\x00"
    assert short(answer("", expr="10" + data.hex())) == str(number)


# --- (d) Entries that are not there --------------------------------------------------------------------------------

# How many entries an operation of these sections needs, by the text.
POPS = {
    0: "lit0 lit31 const1u const1s const2u const2s const4u const4s const8u const8s constu consts constx const_type "
    "LLVM_push_lane LLVM_push_iteration nop skip regval_type entry_value call2 call4 call_ref addr addrx reg0 regx "
    "breg0 bregx fbreg call_frame_cfa push_object_address LLVM_undefined implicit_value implicit_pointer "
    "LLVM_call_frame_entry_reg piece bit_piece GNU_uninit GNU_encoded_addr GNU_parameter_ref GNU_variable_value",
    1: "dup drop abs neg not plus_uconst bra convert reinterpret deref deref_size deref_type stack_value "
    "form_tls_address LLVM_offset_uconst LLVM_aspace_bregx LLVM_aspace_implicit_pointer LLVM_extend LLVM_piece_end",
    2: "over swap and div minus mod mul or plus shl shr shra xor le ge eq lt gt ne xderef xderef_size xderef_type "
    "LLVM_offset LLVM_bit_offset LLVM_form_aspace_address mem",
    3: "rot LLVM_select_bit_piece",
    4: "LLVM_overlay LLVM_bit_overlay"}  # fmt: skip
ARITIES = {f"DW_OP_{name}": count for count, names in POPS.items() for name in names.split()}
OPERANDS = {
    "block": "0102030405060708", "block1": "0102030405060708", "expression": "(DW_OP_lit1)", "encoded": "0 1",
    "tail": "0x", "branch": "0"}  # fmt: skip


def statement(row):
    """An operation in text, with operands that do no harm."""
    return " ".join([row.name, *(OPERANDS.get(operand.kind, "8") for operand in row.operands)])


def entries(count):
    return [Value(types.generic(8), 8)] * count


@pytest.mark.parametrize("name", ARITIES)
def test_d_an_operation_needs_as_many_entries_as_the_text_says(name):
    row = operations.find(name)
    for count in range(5):
        kind = kind_of(outcome(of_text(statement(row)), initial_stack=entries(count)))
        assert (kind == "stack_underflow") == (count < ARITIES[name]), (name, count, kind)


@in_one_test("row, rules", product(operations.rows(), RULES.values()))
def test_d_every_row_underflows_below_its_arity(row, rules):
    if row.is_raw or row.name == "DW_OP_LLVM_NVIDIA_mux":
        return
    for count in range(len(row.inputs)):
        found = outcome(of_text(statement(row)), rules, initial_stack=entries(count))
        assert kind_of(found) == "stack_underflow", (row.name, count)
        assert found.error_class == "ill_formed"
        assert found.where.operation == row.name
        assert found.spec


# Every operation on every kind of entry: a result or an error of this project, whatever stands there.
KINDS = {
    "generic": Value(types.generic(8), 8),                    "signed": Value(BaseType("signed", 32), 0xFFFFFFFF),
    "wide": Value(BaseType("unsigned", 200), 1 << 199),       "float": Value(BaseType("float", 64), 1 << 62),
    "odd float": Value(BaseType("float", 80), 1 << 62),
    "vector": Value(BaseType("unsigned", 8, vector_size=4), 1),
    "complex": Value(BaseType("complex_float", 64), 1),       "memory": locations.at(Memory(TARGET.default_space), 64),
    "bit field": locations.at(Memory(TARGET.default_space), 67),
    "register": locations.at(Register(TARGET.register(5))),   "undefined": locations.UNDEFINED,
    "composite": locations.at(locations.EMPTY),
    "incomplete": locations.IncompleteComposite(locations.EMPTY),
    "two places": locations.Location(
        (locations.at(Register(TARGET.register(5))).places[0], locations.at(Memory(TARGET.default_space), 64).places[0])
    )}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_d_every_operation_on_every_kind_of_entry(name):
    for row in operations.rows():
        code = of_text(statement(row))
        for rules in RULES.values():
            for below in ("generic", name):
                stack = [KINDS[below]] * 3 + [KINDS[name]]
                found = outcome(code, rules, initial_stack=stack, lanes=LaneSet.one(0))
                assert isinstance(found, DwarfGpuError) or found is not None, row.name


# --- (e) DW_OP_pick ------------------------------------------------------------------------------------------------


def test_e_pick_of_every_index_and_every_stack():
    for count in (0, 1, 2, 127, 128, 255, 256, 257):
        stack = [Value(types.generic(8), number) for number in range(count)]
        for index in (0, 1, 2, 126, 127, 128, 254, 255):
            found = outcome(of_bytes(f"15{index:02x}"), initial_stack=stack)
            if index < count:
                assert found.bits == count - 1 - index
            else:
                assert kind_of(found) == "stack_underflow"


# --- (f) Sizes of pieces -------------------------------------------------------------------------------------------

# The default address space has 2**64 bytes, which is the largest composite there may be (A.2.5.4.4.6).
test_f_sizes_of_pieces = Rows("A.2.5.4.4.6", {}, rules="amd").table("""
    (1) piece 0x2000000000000000 => f"{{{2**64}:undefined}}"
    piece 0xffffffffffffffff => f"{{{2**67 - 8}:undefined}}"
    piece 0x8000000000000000; piece 0x8000000000000000 => f"{{{2**66}:undefined {2**66}:undefined}}"
    piece 0xffffffffffffffff; piece 1 => f"{{{2**67 - 8}:undefined 8:undefined}}"
    piece 0xffffffffffffffff; piece 2 -> bad_piece
    (2) piece 0xffffffffffffffff; bit_piece 9 0 -> bad_piece
    (1) piece 0xffffffffffffffff; piece 0xffffffffffffffff -> bad_piece
    piece 0x100000001 -> bad_piece where address_size=4
    piece 0x100000000 => f"{{{2**35}:undefined}}" where address_size=4
    piece 257 -> bad_piece where address_size=1
    (2) bit_piece 0xffffffffffffffff 0xffffffffffffffff => f"{{{2**64 - 1}:undefined}}"
    reg5; bit_piece 1 0xffffffffffffffff -> offset_out_of_storage
    reg5; bit_piece 1 64 -> offset_out_of_storage             reg5; bit_piece 1 63 -> {1:r5+63}
    reg5; bit_piece 0xffffffffffffffff 1 -> bad_piece
    # "All the bits must be within the size of LS or the DWARF expression is ill-formed."
    (1) reg5; piece 0x2000000000000000 -> bad_piece
    lit0; piece 0xffffffffffffffff => f"{{{2**67 - 8}:mem 0x0}}"
    lit2; piece 0xffffffffffffffff -> bad_piece
    # Reading or writing that much is another matter.
    lit0; piece 0xffffffffffffffff -> limit_exceeded where read={"bytes": 2**40}
    piece 0xffffffffffffffff -> limit_exceeded where read={"bytes": 2**62}
    """)

# --- (g) Lengths of blocks -----------------------------------------------------------------------------------------


@every(opcode=["9e", "a3", "f3"], length=["01", "02", "7f", "8001", "ffff03", "ffffffffffffffffff01"])
def test_g_blocks_longer_than_what_is_left(opcode, length):
    size = 0
    for byte in reversed(bytes.fromhex(length)):
        size = size << 7 | byte & 0x7F
    for left in range(min(size, 4)):
        assert kind_of(outcome(of_bytes(opcode + length + "96" * left))) == "truncated"


@pytest.mark.parametrize("opcode", ["a4", "f4"])
def test_g_the_length_of_const_type(opcode):
    for length in (1, 2, 8, 127, 128, 255):
        for left in (0, 1, length - 1):
            if left < length:
                assert kind_of(outcome(of_bytes(f"{opcode}01{length:02x}" + "00" * left))) == "truncated"
    assert kind_of(outcome(of_bytes(f"{opcode}0108" + "00" * 8))) == "ok"


def test_g_a_block_that_is_there_is_taken_whole():
    assert kind_of(outcome(of_bytes("9e033131319401"))) == "ok"
    assert kind_of(outcome(of_bytes("9e009401"))) == "read_past_storage"
    assert kind_of(outcome(of_bytes("a300"))) == "bad_result_kind"


# --- (h) Types -----------------------------------------------------------------------------------------------------

TYPES = base_types(
    "8 signed32, 12 unsigned34359738360, 13 unsigned32x4294967295, 14 decimal_float64, 9 signed0, 10 signed9/1, "
    "11 unsigned32x0"
)
USES = [
    "DW_OP_const_type {} 01020304",                           "DW_OP_regval_type 0 {}",
    "DW_OP_lit0; DW_OP_deref_type 4 {}",                      "DW_OP_lit0; DW_OP_lit0; DW_OP_xderef_type 4 {}",
    "DW_OP_lit0; DW_OP_convert {}",
    "DW_OP_lit0; DW_OP_reinterpret {}"]  # fmt: skip
NO_TYPES = (7, 0xFFFFFFFF, 2**64 - 1, 9, 10, 11, 12, 13)


@every(ops=USES, offset=NO_TYPES)
def test_h_what_is_no_base_type(ops, offset):
    error = answer(ops.format(offset), rules="amd", base_types=TYPES, registers={"0": 1})["error"]
    assert (error["class"], error["kind"]) == ("ill_formed", "bad_type")


@pytest.mark.parametrize("ops", USES[:4])
def test_h_no_operation_but_conversions_has_a_type_at_0(ops):
    assert run(ops.format(0), rules="amd", base_types=TYPES, registers={"0": 1}) == "bad_type"


@pytest.mark.parametrize("size", [0, 1, 3, 5, 8, 255])
def test_h_sizes_that_are_not_those_of_the_type(size):
    assert run(f"DW_OP_const_type 8 {'00' * size or '0x'}", base_types=TYPES) == "bad_size"
    assert run(f"DW_OP_lit0; DW_OP_deref_type {size} 8", base_types=TYPES) == "bad_size"
    assert run(f"DW_OP_lit0; DW_OP_lit0; DW_OP_xderef_type {size} 8", base_types=TYPES) == "bad_size"


def test_h_a_bad_type_does_no_harm_to_those_who_do_not_use_it():
    assert run("DW_OP_const_type 8 01000000", base_types=TYPES) == "1:signed32"


# --- (i) Cycles and nesting ----------------------------------------------------------------------------------------


def nested_block(depth, inner=b"\x35"):
    """DW_OP_entry_value in DW_OP_entry_value, as bytes: the text cannot be nested so deep."""
    data = inner
    for _ in range(depth):
        length = bytearray()
        size = len(data)
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        length.append(size)
        data = b"\xa3" + bytes(length) + data
    return data


@pytest.mark.parametrize("depth", [1, 10, 48, 49, 200, 1000, 5000])
def test_i_nested_entry_values(depth):
    assert kind_of(outcome(of_bytes(nested_block(depth)))) == ("ok" if depth <= 48 else "limit_exceeded")


def test_i_nested_entry_values_and_texts_are_cut_off():
    data = nested_block(1000, b"\x08")
    assert kind_of(outcome(of_bytes(data))) in ("truncated", "limit_exceeded")
    assert kind_of(outcome(of_bytes(data[:-1]))) == "truncated"
    assert kind_of(outcome(of_bytes(nested_block(20, b"\x08")))) == "truncated"
    for depth in (10, 64, 65, 1000, 20000):
        assert answer("DW_OP_entry_value (" * depth + "DW_OP_lit1" + ")" * depth)["status"] == "error"
    assert run("DW_OP_entry_value (" * 1000) == "bad_operand"


CYCLES = [
    ("DW_OP_call4 4", {"unit:4": "DW_OP_call4 4"}),
    ("DW_OP_call4 4", {"unit:4": ["DW_OP_call4 4"]}),
    ("DW_OP_call4 4", {"unit:4": "DW_OP_call2 8", "unit:8": ["DW_OP_call4 4"]}),
    ("DW_OP_call4 4", {"unit:4": ["DW_OP_call2 8", "DW_OP_call2 8"], "unit:8": ["DW_OP_call4 4", "DW_OP_call4 4"]}),
    ("DW_OP_call_ref 4", {"info:4": "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref"}),
    ("DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref",
        {"info:4": "DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref"}),
    ("DW_OP_implicit_pointer 4 0; DW_OP_deref; DW_OP_deref", {"info:4": ["DW_OP_call_ref 4"]}),
    ("DW_OP_GNU_variable_value 4", {"info:4": "DW_OP_GNU_variable_value 4"}),
    ("DW_OP_GNU_variable_value 4", {"info:4": ["DW_OP_call_ref 8"], "info:8": "DW_OP_GNU_variable_value 4"}),
]  # fmt: skip


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("ops, found", CYCLES)
def test_i_cycles(ops, found, rules):
    dies = {
        key: {"location": [{"ops": one} for one in value] if isinstance(value, list) else {"ops": value}}
        for key, value in found.items()
    }
    error = answer(ops, rules=rules, dies=dies)["error"]
    if rules == "dwarf5" and "DW_OP_implicit_pointer 4 0; DW_OP_deref" in f"{ops} {found}":
        assert error["kind"] == "after_location"  # where such a location is all there may be
        return
    assert error["class"] == "evaluation_error"
    assert error["kind"] in ("cycle", "limit_exceeded", "implicit_pointer_misuse")


# --- (j) Sizes of reads --------------------------------------------------------------------------------------------


@every(address_size=[1, 2, 3, 4, 8], operation=["DW_OP_deref_size", "DW_OP_lit0; DW_OP_swap; DW_OP_xderef_size"])
@pytest.mark.sampled(6)
def test_j_every_size_of_a_read(operation, address_size):
    memory = [{"space": 0, "address": 8, "bytes": bytes(range(1, 17)).hex()}]
    for size in range(256):
        for rules in RULES:
            found = run(f"DW_OP_lit8; {operation} {size}", rules=rules, address_size=address_size, memory=memory)
            if size == 0 or (size > address_size and rules != "amd"):
                assert found == "bad_size", (size, rules)
            else:
                assert found == str(int.from_bytes(bytes(range(1, min(size, address_size) + 1)), "little")), (
                    size,
                    rules,
                )


@pytest.mark.parametrize("size", range(0, 256, 5))
def test_j_every_size_of_a_typed_read(size):
    kind = {"8": {"encoding": "unsigned", "byte_size": 4}}
    found = run(f"DW_OP_implicit_value 01000000; DW_OP_deref_type {size} 8", rules="amd", base_types=kind)
    assert found == ("1:unsigned32" if size == 4 else "bad_size")


# --- (k) Registers -------------------------------------------------------------------------------------------------

NUMBERS = (0, 31, 32, 127, 128, 2**16 - 1, 2**16, 2**16 + 5, 2**32 - 1, 2**32, 2**32 + 5, 2**63, 2**64 - 1)


@pytest.mark.parametrize("number", NUMBERS)
def test_k_numbers_of_registers_are_never_cut(number):
    case = {"rules": "amd", "dialect": "llvm-user", "registers": {str(number): 7, "5": 9, "0": 0 if number else 7}}
    kind = {"8": {"encoding": "signed", "byte_size": 8}}
    assert run(f"DW_OP_regx {number}", **case) == f"r{number}"
    assert run(f"DW_OP_regx {number}; DW_OP_deref", **case) == "7"
    assert run(f"DW_OP_bregx {number} 4", **case) == "mem 0xb"
    assert run(f"DW_OP_lit0; DW_OP_LLVM_aspace_bregx {number} -4", **case) == "mem 0x3"
    assert run(f"DW_OP_regval_type {number} 8", base_types=kind, **case) == "7:signed64"
    entry = {str(number): {"kind": "register", "register": number}}
    assert run(f"DW_OP_LLVM_call_frame_entry_reg {number}", entry_registers=entry, **case) == f"r{number}"


@every(number=[200, 2**16, 2**16 + 5, 2**32 + 5, 2**64 - 1], target=["x86_64", "amdgcn-gfx90a"])
def test_k_registers_that_a_target_does_not_have(number, target):
    case = {"rules": "amd", "dialect": "llvm-user", "target": target, "base_types": TYPES}
    for ops in (
        f"DW_OP_regx {number}",
        f"DW_OP_bregx {number} 0",
        f"DW_OP_regval_type {number} 8",
        f"DW_OP_LLVM_call_frame_entry_reg {number}",
    ):
        error = answer(ops, **case)["error"]
        assert (error["class"], error["kind"]) == ("ill_formed", "bad_operand"), ops


# --- Anything else -------------------------------------------------------------------------------------------------


# these know what the others know
@pytest.mark.slow
@pytest.mark.parametrize("name", some_slow(["llvm-user", "llvm-legacy", "amdgpu-2020"], quick=["llvm-user"]))
def test_every_opcode_with_every_beginning(name):
    dialect = dialects.get(name)
    tails = ("", "00", "7f", "80", "ff", "0000000000000000", "ffffffffffffffffffff", "7f" * 12, "0180" * 6, "03" * 16)
    for opcode in range(256):
        for head in ("", "313131", "5055", "50930831"):
            for tail in tails:
                found = outcome(of_bytes(f"{head}{opcode:02x}{tail}", dialect), DWARF5 if tail == "00" else AMD)
                assert isinstance(found, DwarfGpuError) or found is not None
