"""The listing against llvm-dwarfdump, and the names of the GNU operations against readelf.

One object holds a variable for each program, with the program as its location; other tools print what they read.
"""

import re
import subprocess

import pytest

from dwarfgpu.expr import table
from dwarfgpu.expr.asm import assemble, encode
from dwarfgpu.expr.instruction import decode
from tests.builders.parameters import for_each
from tests.comparison import library, llvm
from tests.expr.programs import AMDGCN, FORM, GNU, LLVM_USER, X86_64, edges, encodable, instruction

BASE_TYPE = 0x0D
"""Where the base type stands in the unit: behind the header and the unit's own entry."""

UNKNOWN_TO_LLVM = {
    "DW_OP_const_type",  # its block is not read
    "DW_OP_deref_type",
    "DW_OP_xderef_type",
    "DW_OP_reinterpret",
    *(name for name in GNU.by_name if name.startswith("DW_OP_GNU_")),
} - {
    "DW_OP_GNU_push_tls_address",
    "DW_OP_GNU_entry_value",
    "DW_OP_GNU_addr_index",
    "DW_OP_GNU_const_index",
    "DW_OP_GNU_implicit_pointer",
}

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
    "(undecoded: e9 0e)",
]

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
    output = run(require_tool("llvm-dwarfdump-22"), str(tmp_path / "a.o"))
    printed = re.findall(r"DW_AT_location\t\((.*)\)", output)
    assert len(printed) == len(programs)
    for program, text in zip(programs, printed, strict=True):
        expression = decode(program, LLVM_USER, FORM)
        assert library.operations_of(expression) == llvm.operations_of(text, target), text
        assert (expression.fault is not None) == ("<decoding error>" in text), text


def test_the_assembler_reads_what_llvm_dwarfdump_prints(tmp_path, require_tool):
    programs = [
        program
        for program in one_of_each(LLVM_USER, UNKNOWN_TO_LLVM)
        if not UNREADABLE & {one.name for one in decode(program, LLVM_USER, FORM).instructions}
    ]
    object_with(programs, tmp_path / "a.o", require_tool("llvm-mc-22"), "amdgcn-amd-amdhsa")
    output = run(require_tool("llvm-dwarfdump-22"), str(tmp_path / "a.o"))
    printed = re.findall(r"DW_AT_location\t\((.*)\)", output)
    assert len(printed) == len(programs)
    for program, text in zip(programs, printed, strict=True):
        assert assemble(text, LLVM_USER, FORM, target=AMDGCN) == program, text


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
