import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.expr.asm import assemble, parse
from dwarfgpu.expr.instruction import decode, operands_of, registers_of
from dwarfgpu.expr.listing import MAX_DEPTH, Line, lines, text
from tests.builders.parameters import for_each
from tests.expr.programs import AMDGCN, DIALECTS, DWARF5, FORM, FORMS, GNU, LLVM_USER, X86_64, near_programs, nested


def shown(program, dialect=LLVM_USER, target=None):
    """Each line as its text, and its note behind a bar."""
    listed = lines(parse(program, dialect, FORM, target=target), target)
    return [line.text + (f" | {line.note}" if line.note else "") for line in listed]


@for_each(
    "program, expected",
    ("DW_OP_plus_uconst 0x4", ["DW_OP_plus_uconst 4"]),
    ("DW_OP_constu 65535; DW_OP_constu 65536", ["DW_OP_constu 65535", "DW_OP_constu 0x10000"]),
    ("DW_OP_consts -65536; DW_OP_fbreg -8", ["DW_OP_consts -0x10000", "DW_OP_fbreg -8"]),
    ("DW_OP_addr 16", ["DW_OP_addr 0x10"]),
    ("DW_OP_call4 42; DW_OP_const_type 32 01ff", ["DW_OP_call4 0x2a", "DW_OP_const_type 0x20 01ff"]),
    ("DW_OP_implicit_value 0x0a0b", ["DW_OP_implicit_value 0a0b"]),
    ("DW_OP_implicit_value 0x", ["DW_OP_implicit_value 0x"]),
    ("DW_OP_implicit_pointer 0x2a, -4", ["DW_OP_implicit_pointer 0x2a -4"]),
    ("DW_OP_GNU_encoded_addr 0x9b -8", ["DW_OP_GNU_encoded_addr 0x9b -0x8"]),
    ("DW_OP_bit_piece 4 2", ["DW_OP_bit_piece 4 2"]),
    ("DW_OP_skip 1; DW_OP_dup; x: DW_OP_dup", ["DW_OP_skip +1 | -> 0x4", "DW_OP_dup", "DW_OP_dup"]),
    ("DW_OP_skip 300", ["DW_OP_skip +300 | -> 0x12f"]),
    ("DW_OP_skip -3", ["DW_OP_skip -3 | -> 0x0"]),
    ("DW_OP_entry_value 55", ["DW_OP_entry_value (DW_OP_reg5)"]),
    ("DW_OP_entry_value 0x", ["DW_OP_entry_value ()"]),
    ("DW_OP_entry_value ff", ["DW_OP_entry_value ff"]),
    ("DW_OP_LLVM_user DW_OP_LLVM_extend 32 64", ["DW_OP_LLVM_extend 32 64"]),
    ("", []),
)
def test_operands(program, expected):
    assert shown(program) == expected


@for_each(
    "program, target, expected",
    ("DW_OP_regx 2564", AMDGCN, ["DW_OP_regx 2564 | v4"]),
    ("DW_OP_bregx s32+8", AMDGCN, ["DW_OP_bregx 64 8 | s32"]),
    ("DW_OP_regx 5", AMDGCN, ["DW_OP_regx 5 | no register of amdgcn-gfx90a"]),
    ("DW_OP_reg5; DW_OP_breg7 -8", X86_64, ["DW_OP_reg5 | rdi", "DW_OP_breg7 -8 | rsp"]),
    ("DW_OP_regval_type 1 0x20", X86_64, ["DW_OP_regval_type 1 0x20 | rdx"]),
    ("DW_OP_lit5; DW_OP_pick 5", X86_64, ["DW_OP_lit5", "DW_OP_pick 5"]),
    ("DW_OP_entry_value (DW_OP_reg5)", X86_64, ["DW_OP_entry_value (DW_OP_reg5)"]),
)
def test_registers_are_named_in_notes(program, target, expected):
    assert shown(program, target=target) == expected


def test_a_line_has_offset_bytes_and_name():
    listed = lines(decode(bytes.fromhex("3123049f"), DWARF5, FORM))
    assert listed == [
        Line(0, b"\x31", "DW_OP_lit1"),
        Line(1, b"\x23\x04", "DW_OP_plus_uconst", "4"),
        Line(3, b"\x9f", "DW_OP_stack_value"),
    ]


@pytest.mark.spec("A.7.7.1")
@for_each(
    "data, tail, reason",
    ("31 ff", "(undecoded: ff)", "0xff is not an operation of dialect llvm-user"),
    ("31 e9 0e", "(undecoded: e9 0e)", "0xe9 0x0e is not an operation of dialect llvm-user"),
    ("31 e9 00 12", "(undecoded: e9 00 12)", "the sub-opcode 0 is reserved"),
    ("31 08", "(undecoded: 08)", "1 bytes are needed, 0 are left"),
    ("31 9e 05 01", "(undecoded: 9e 05 01)", "a block of 5 bytes is longer than the 1 left"),
    ("31 10 80", "(undecoded: 10 80)", "a LEB128 number has no last byte"),
    ("31 10" + "ff" * 10 + "01", "(undecoded: 10" + " ff" * 10 + " 01)", "more than 64 bits"),
    ("31 e9 0d 01 02", "(undecoded: e9 0d 01 02)", "DW_OP_LLVM_NVIDIA_mux are not documented"),
)
def test_what_cannot_be_decoded_stands_in_the_listing(data, tail, reason):
    expression = decode(bytes.fromhex(data), LLVM_USER, FORM)
    first, last = lines(expression)
    assert first.text == "DW_OP_lit1"
    assert (last.offset, last.text) == (1, tail)
    assert reason in last.note
    assert last.bytes == bytes.fromhex(data)[1:]
    assert assemble(text(expression), LLVM_USER, FORM) == bytes.fromhex(data)


@for_each(
    "program, expected",
    ("DW_OP_lit1\nDW_OP_plus_uconst 4", "DW_OP_lit1; DW_OP_plus_uconst 4"),
    ("DW_OP_lit1; x: DW_OP_dup; DW_OP_bra @x", "DW_OP_lit1; L1: DW_OP_dup; DW_OP_bra @L1"),
    ("DW_OP_skip @end; DW_OP_dup; end:", "DW_OP_skip @L1; DW_OP_dup; L1:"),
    ("DW_OP_bra @b; a: DW_OP_bra @a; b: DW_OP_skip @b", "DW_OP_bra @L2; L1: DW_OP_bra @L1; L2: DW_OP_skip @L2"),
    ("DW_OP_skip 300", "DW_OP_skip +300"),
    ("DW_OP_skip 1; DW_OP_const2u 5", "DW_OP_skip +1; DW_OP_const2u 5"),
    ("DW_OP_skip 0; (undecoded: ff)", "DW_OP_skip @L1; L1: (undecoded: ff)"),
    ("DW_OP_skip 1; (undecoded: ff)", "DW_OP_skip +1; (undecoded: ff)"),
    ("DW_OP_entry_value (x: DW_OP_dup; DW_OP_bra @x)", "DW_OP_entry_value (L1: DW_OP_dup; DW_OP_bra @L1)"),
    ("", ""),
)
def test_text(program, expected):
    expression = parse(program, LLVM_USER, FORM)
    assert text(expression) == expected
    assert assemble(expected, LLVM_USER, FORM) == expression.data


def test_numbers_longer_than_needed_do_not_move_a_branch():
    expression = decode(bytes.fromhex("2f0300 108500 31"), DWARF5, FORM)  # constu 5 in two bytes
    assert text(expression) == "DW_OP_skip @L1; DW_OP_constu 5; L1: DW_OP_lit1"


def test_an_expression_whose_bytes_are_not_the_shortest_is_shown_as_bytes():
    assert text(decode(bytes.fromhex("a303 108500"), DWARF5, FORM)) == "DW_OP_entry_value 108500"


def test_operations_without_bytes_are_listed():
    expression = parse("DW_OP_lit1; DW_OP_LLVM_overlay; DW_OP_skip 0", GNU, FORM)
    expected = [(0, b"", "DW_OP_lit1"), (1, b"", "DW_OP_LLVM_overlay"), (2, b"", "DW_OP_skip +0")]
    assert [(line.offset, line.bytes, line.text) for line in lines(expression)] == expected


def test_expressions_are_shown_in_expressions_down_to_a_depth():
    assert text(decode(nested(MAX_DEPTH), DWARF5, FORM)).count("(") == MAX_DEPTH
    deeper = nested(MAX_DEPTH + 1)
    assert text(decode(deeper, DWARF5, FORM)).endswith("DW_OP_entry_value 55" + ")" * MAX_DEPTH)
    assert assemble(text(decode(deeper, DWARF5, FORM)), DWARF5, FORM) == deeper


def test_very_deep_nesting_is_no_problem():
    program = nested(1000)
    assert assemble(text(decode(program, DWARF5, FORM)), DWARF5, FORM) == program
    assert len(lines(decode(program, DWARF5, FORM))) == 1


@for_each(
    "program, registers",
    ("DW_OP_reg31", [31]),
    ("DW_OP_breg0 1", [0]),
    ("DW_OP_regx 2564", [2564]),
    ("DW_OP_LLVM_aspace_bregx 7 8", [7]),
    ("DW_OP_LLVM_call_frame_entry_reg 9", [9]),
    ("DW_OP_lit5", []),
    ("DW_OP_fbreg 5", []),
)
def test_registers_of(program, registers):
    (instruction,) = parse(program, LLVM_USER, FORM).instructions
    assert registers_of(instruction) == registers


def test_operands_of():
    (instruction,) = parse("DW_OP_bregx 7 -8", DWARF5, FORM).instructions
    assert [(operand.name, value) for operand, value in operands_of(instruction)] == [("R", 7), ("B", -8)]


@given(st.data(), st.sampled_from(DIALECTS), st.sampled_from(FORMS), st.sampled_from([None, AMDGCN, X86_64]))
def test_any_bytes_have_a_listing(data, dialect, form, target):
    program = data.draw(st.one_of(st.binary(max_size=60), near_programs(dialect)))
    expression = decode(program, dialect, form)
    listed = lines(expression, target)
    assert b"".join(line.bytes for line in listed) == program
    assert [line.offset for line in listed] == sorted({line.offset for line in listed})
    assert all(line.note for line in listed if line.name.startswith("("))
    assert "\n" not in text(expression)
