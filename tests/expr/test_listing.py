import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.expr import table
from dwarfgpu.expr.asm import assemble, encode, parse
from dwarfgpu.expr.instruction import decode, operands_of, registers_of
from dwarfgpu.expr.listing import MAX_DEPTH, Line, lines, text
from tests.builders.parameters import for_each
from tests.comparison import library, llvm
from tests.expr.programs import (
    AMDGCN,
    DIALECTS,
    DWARF5,
    FORM,
    FORMS,
    GNU,
    LLVM_USER,
    X86_64,
    edges,
    encodable,
    instruction,
    near_programs,
    nested,
)


def shown(program, dialect=LLVM_USER, target=None):
    """Each line as its text, and its note behind a bar."""
    listed = lines(parse(program, dialect, FORM, target=target), target)
    return [line.text + (f" | {line.note}" if line.note else "") for line in listed]


@for_each("program, expected",
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
    ("DW_OP_skip 300", ["DW_OP_skip +300 | -> 0x12f"]),       ("DW_OP_skip -3", ["DW_OP_skip -3 | -> 0x0"]),
    ("DW_OP_entry_value 55", ["DW_OP_entry_value (DW_OP_reg5)"]),
    ("DW_OP_entry_value 0x", ["DW_OP_entry_value ()"]),       ("DW_OP_entry_value ff", ["DW_OP_entry_value ff"]),
    ("DW_OP_LLVM_user DW_OP_LLVM_extend 32 64", ["DW_OP_LLVM_extend 32 64"]),
    ("", []))  # fmt: skip
def test_operands(program, expected):
    assert shown(program) == expected


@for_each("program, target, expected",
    ("DW_OP_regx 2564", AMDGCN, ["DW_OP_regx 2564 | v4"]),
    ("DW_OP_bregx s32+8", AMDGCN, ["DW_OP_bregx 64 8 | s32"]),
    ("DW_OP_regx 5", AMDGCN, ["DW_OP_regx 5 | no register of amdgcn-gfx90a"]),
    ("DW_OP_reg5; DW_OP_breg7 -8", X86_64, ["DW_OP_reg5 | rdi", "DW_OP_breg7 -8 | rsp"]),
    ("DW_OP_regval_type 1 0x20", X86_64, ["DW_OP_regval_type 1 0x20 | rdx"]),
    ("DW_OP_lit5; DW_OP_pick 5", X86_64, ["DW_OP_lit5", "DW_OP_pick 5"]),
    ("DW_OP_entry_value (DW_OP_reg5)", X86_64, ["DW_OP_entry_value (DW_OP_reg5)"]))  # fmt: skip
def test_registers_are_named_in_notes(program, target, expected):
    assert shown(program, target=target) == expected


def test_a_line_has_offset_bytes_and_name():
    assert lines(decode(bytes.fromhex("3123049f"), DWARF5, FORM)) == [
        Line(0, b"\x31", "DW_OP_lit1"),
        Line(1, b"\x23\x04", "DW_OP_plus_uconst", "4"),
        Line(3, b"\x9f", "DW_OP_stack_value"),
    ]


@pytest.mark.spec("A.7.7.1")
@for_each("data, tail, reason",
    ("31 ff", "(undecoded: ff)", "0xff is not an operation of dialect llvm-user"),
    ("31 e9 0e", "(undecoded: e9 0e)", "0xe9 0x0e is not an operation of dialect llvm-user"),
    ("31 e9 00 12", "(undecoded: e9 00 12)", "the sub-opcode 0 is reserved"),
    ("31 08", "(undecoded: 08)", "1 bytes are needed, 0 are left"),
    ("31 9e 05 01", "(undecoded: 9e 05 01)", "a block of 5 bytes is longer than the 1 left"),
    ("31 10 80", "(undecoded: 10 80)", "a LEB128 number has no last byte"),
    ("31 10" + "ff" * 10 + "01", "(undecoded: 10" + " ff" * 10 + " 01)", "more than 64 bits"),
    ("31 e9 0d 01 02", "(undecoded: e9 0d 01 02)", "DW_OP_LLVM_NVIDIA_mux are not documented"))  # fmt: skip
def test_what_cannot_be_decoded_stands_in_the_listing(data, tail, reason):
    expression = decode(bytes.fromhex(data), LLVM_USER, FORM)
    first, last = lines(expression)
    assert first.text == "DW_OP_lit1"
    assert (last.offset, last.text) == (1, tail)
    assert reason in last.note
    assert last.bytes == bytes.fromhex(data)[1:]
    assert assemble(text(expression), LLVM_USER, FORM) == bytes.fromhex(data)


@for_each("program, expected",
    ("DW_OP_lit1\nDW_OP_plus_uconst 4", "DW_OP_lit1; DW_OP_plus_uconst 4"),
    ("DW_OP_lit1; x: DW_OP_dup; DW_OP_bra @x", "DW_OP_lit1; L1: DW_OP_dup; DW_OP_bra @L1"),
    ("DW_OP_skip @end; DW_OP_dup; end:", "DW_OP_skip @L1; DW_OP_dup; L1:"),
    ("DW_OP_bra @b; a: DW_OP_bra @a; b: DW_OP_skip @b", "DW_OP_bra @L2; L1: DW_OP_bra @L1; L2: DW_OP_skip @L2"),
    ("DW_OP_skip 300", "DW_OP_skip +300"),
    ("DW_OP_skip 1; DW_OP_const2u 5", "DW_OP_skip +1; DW_OP_const2u 5"),
    ("DW_OP_skip 0; (undecoded: ff)", "DW_OP_skip @L1; L1: (undecoded: ff)"),
    ("DW_OP_skip 1; (undecoded: ff)", "DW_OP_skip +1; (undecoded: ff)"),
    ("DW_OP_entry_value (x: DW_OP_dup; DW_OP_bra @x)", "DW_OP_entry_value (L1: DW_OP_dup; DW_OP_bra @L1)"),
    ("", ""))  # fmt: skip
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


@for_each("program, registers",
    ("DW_OP_reg31", [31]),                ("DW_OP_breg0 1", [0]),               ("DW_OP_regx 2564", [2564]),
    ("DW_OP_LLVM_aspace_bregx 7 8", [7]), ("DW_OP_LLVM_call_frame_entry_reg 9", [9]),
    ("DW_OP_lit5", []),                   ("DW_OP_fbreg 5", []))  # fmt: skip
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


# --- The listing against llvm-dwarfdump, and the names of the GNU operations against readelf ----------------------
# One object holds a variable for each program, with the program as its location; other tools print what they read.


BASE_TYPE = 0x0D
"""Where the base type stands in the unit: behind the header and the unit's own entry."""

UNKNOWN_TO_LLVM = {
    "DW_OP_const_type",  # its block is not read
    "DW_OP_deref_type",                   "DW_OP_xderef_type",                  "DW_OP_reinterpret",
    *(name for name in GNU.by_name if name.startswith("DW_OP_GNU_")),
} - {
    "DW_OP_GNU_push_tls_address", "DW_OP_GNU_entry_value", "DW_OP_GNU_addr_index", "DW_OP_GNU_const_index",
    "DW_OP_GNU_implicit_pointer"}  # fmt: skip
PROGRAMS = [
    "DW_OP_lit1; DW_OP_bra 3; DW_OP_dup; DW_OP_dup; DW_OP_dup",
    "DW_OP_lit1; DW_OP_skip -3",
    "DW_OP_breg7 8; DW_OP_deref; DW_OP_breg7 -8; DW_OP_plus_uconst 128; DW_OP_stack_value",
    "DW_OP_bregx 2564 8; DW_OP_bregx 2564 -8; DW_OP_regx 2564; DW_OP_regx 70000",
    "DW_OP_lit6; DW_OP_LLVM_form_aspace_address; DW_OP_LLVM_offset_uconst 16; DW_OP_piece 4",
    """
    DW_OP_regx 2600; DW_OP_swap; DW_OP_LLVM_offset_uconst 256; DW_OP_LLVM_call_frame_entry_reg 17
    DW_OP_deref_size 8; DW_OP_LLVM_select_bit_piece 32 64
    """,
    "DW_OP_implicit_value 01020304; DW_OP_implicit_pointer 0x2a -4",
    "DW_OP_entry_value (DW_OP_reg5); DW_OP_stack_value",
    "(undecoded: e9 0e)"]  # fmt: skip

# An abbreviation each for DW_TAG_compile_unit, DW_TAG_base_type (DW_AT_name as DW_FORM_string) and DW_TAG_variable
# (DW_AT_location as DW_FORM_exprloc), and a unit with one base type.
ASSEMBLY = """
    .section .debug_abbrev,"",@progbits
    .uleb128 1, 0x11
    .byte 1, 0, 0
    .uleb128 2, 0x24
    .byte 0
    .uleb128 3, 8, 0, 0
    .uleb128 3, 0x34
    .byte 0
    .uleb128 2, 0x18, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
    .long .Lend - .Lbegin
.Lbegin:
    .short 5
    .byte 1, 8
    .long .debug_abbrev
    .uleb128 1
    .uleb128 2
    .asciz "int"
    {variables}
    .byte 0
.Lend:
"""


def run(tool, *arguments, text=""):
    done = subprocess.run([tool, *arguments], input=text, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def object_with(programs, path, tool, triple):
    """An object whose variables have the programs as their locations."""
    variables = "\n".join(
        f".uleb128 3, {len(program)}" + "".join(f"\n.byte {byte}" for byte in program) for program in programs
    )
    run(tool, f"-triple={triple}", "-filetype=obj", "-o", path, text=ASSEMBLY.format(variables=variables))


def operand_edges(encoding, operand, kind):
    """The edges of an operand, as far as other tools read them."""
    if kind == "expression":
        return [b"\x55"]
    if operand.name == "DR" and kind == "uleb":
        return [BASE_TYPE]
    if encoding.name == "DW_OP_LLVM_aspace_bregx":  # llvm-dwarfdump reads the displacement as unsigned
        return [number for number in edges(kind, FORM) if number >= 0]
    return edges(kind, FORM)


def one_of_each(dialect, unknown):
    """A program for each operation of a dialect, with the edges of its operands."""
    programs = []
    for encoding in encodable(dialect):
        if encoding.name in unknown:
            continue
        pairs = zip(table.find(encoding.name).operands, encoding.operand_kinds, strict=True)
        choices = [operand_edges(encoding, operand, kind) for operand, kind in pairs]
        for number in range(max((len(choice) for choice in choices), default=1)):
            values = [choice[number % len(choice)] for choice in choices]
            programs.append(encode(instruction(encoding, values), dialect, FORM))
    return programs


@pytest.mark.spec("A.7.7.1")
@for_each("triple, target", ("amdgcn-amd-amdhsa", AMDGCN), ("x86_64-linux-gnu", X86_64), ids=["amdgcn", "x86_64"])
def test_llvm_dwarfdump_prints_the_same(triple, target, tmp_path, require_tool):
    programs = one_of_each(LLVM_USER, UNKNOWN_TO_LLVM)
    programs += [assemble(program, LLVM_USER, FORM) for program in PROGRAMS]
    object_with(programs, tmp_path / "a.o", require_tool("llvm-mc-22"), triple)
    printed = re.findall(r"DW_AT_location\t\((.*)\)", run(require_tool("llvm-dwarfdump-22"), str(tmp_path / "a.o")))
    assert len(printed) == len(programs)
    for program, shown in zip(programs, printed, strict=True):
        expression = decode(program, LLVM_USER, FORM)
        assert library.operations_of(expression) == llvm.operations_of(shown, target), shown
        assert (expression.fault is not None) == ("<decoding error>" in shown), shown


def test_the_assembler_reads_what_llvm_dwarfdump_prints(tmp_path, require_tool):
    programs = [
        program
        for program in one_of_each(LLVM_USER, UNKNOWN_TO_LLVM)
        if not UNREADABLE & {one.name for one in decode(program, LLVM_USER, FORM).instructions}
    ]
    object_with(programs, tmp_path / "a.o", require_tool("llvm-mc-22"), "amdgcn-amd-amdhsa")
    printed = re.findall(r"DW_AT_location\t\((.*)\)", run(require_tool("llvm-dwarfdump-22"), str(tmp_path / "a.o")))
    assert len(printed) == len(programs)
    for program, shown in zip(programs, printed, strict=True):
        assert assemble(shown, LLVM_USER, FORM, target=AMDGCN) == program, shown


UNREADABLE = {
    "DW_OP_convert",  # the type is printed by its offset in the section, not by that in the unit
    "DW_OP_regval_type",
    "DW_OP_implicit_value",  # one without bytes is printed as `0x0`, which is a word of one and a half bytes
}
"""Operations whose operands llvm-dwarfdump does not print as they are."""


def test_readelf_prints_the_same_names_for_gnu_operations(tmp_path, require_tool):
    unknown = set(GNU.by_name) - {name for name in GNU.by_name if name.startswith("DW_OP_GNU_")}
    programs = one_of_each(GNU, unknown)
    object_with(programs, tmp_path / "a.o", require_tool("llvm-mc-22"), "x86_64-linux-gnu")
    output = run(require_tool("readelf"), "--debug-dump=info", str(tmp_path / "a.o"))
    printed = re.findall(r"DW_AT_location[^(]*\((DW_OP_\w+)", output)
    assert printed == [decode(program, GNU, FORM).instructions[0].name for program in programs]
