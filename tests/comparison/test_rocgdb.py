"""What ROCgdb does otherwise (docs/differences.md): the programs of its tests, and of what is known of its source.

ROCgdb is not run here. Each row is what the text says, with the clause that the page names; under `amd`, or under the
rules that decide as ROCgdb does.
"""

from pathlib import Path

import pytest

from tests.builders.cases import Case, table

PAGE = Path(__file__).parents[2] / "docs/differences.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("\n## What ROCgdb does otherwise\n")[2].partition("\n## ")[0]
REGISTERS = {"5": {"bytes": "1122334455667788"}, "6": {"bytes": "99aabbccddeeff00"}}
TWO_PARTS = "DW_OP_reg5; DW_OP_piece 4; DW_OP_reg6; DW_OP_piece 4"
"""A composite under construction."""
END = "DW_OP_LLVM_piece_end"
BYTE = {"bytes": 1}
NINE = [{"space": 0, "address": 8, "bytes": "09"}]
WIDE = {"5": {"bytes": "1000000000000000" + "ff" * 8}}


def row(clause: str, ops: str, expected: str, **case: object) -> Case:
    return Case(clause, ops, expected, **{"rules": "amd", "dialect": "llvm-user", "registers": REGISTERS, **case})


ROWS = [
    # Stack operations and composites under construction.
    row("A.2.5.4.1", f"{TWO_PARTS}; DW_OP_lit1; DW_OP_swap; DW_OP_drop", "incomplete_composite"),
    row("A.2.5.4.1", f"DW_OP_lit1; {TWO_PARTS}; DW_OP_swap", "incomplete_composite"),
    row("A.2.5.4.1", f"{TWO_PARTS}; DW_OP_dup", "incomplete_composite"),
    row("A.2.5.4.1", f"DW_OP_lit1; {TWO_PARTS}; {END}; DW_OP_swap; DW_OP_drop", "{32:r5 32:r6}"),
    # Beyond registers: gdb.dwarf2/access-past-end-reg.exp.
    row("A.2.5.4.3.4 (4)", "DW_OP_reg5", "read_past_storage", read={"bytes": 16}),
    row("A.2.5.4.4.1 (1)", "DW_OP_reg5; DW_OP_constu 8; DW_OP_LLVM_offset", "offset_out_of_storage"),
    row("A.2.5.4.4.1 (3)", "DW_OP_reg5; DW_OP_constu 62; DW_OP_LLVM_bit_offset", "read_past_storage", read=BYTE),
    row("A.2.5.4.4.6", "DW_OP_reg5; DW_OP_piece 16", "bad_piece"),
    row("A.2.5.4.4.6", "DW_OP_reg5; DW_OP_piece 16", "{64:r5 64:undefined}", rules="dwarf5"),
    # Reading a composite over several parts, copies, and negative bit offsets.
    row("A.2.5.4.4.6", f"{TWO_PARTS}; {END}; DW_OP_LLVM_offset_uconst 2; DW_OP_deref_size 4", str(0xAA994433)),
    row("A.2.5.4.1 (3)", "DW_OP_reg5; DW_OP_pick 0; DW_OP_LLVM_offset_uconst 2; DW_OP_drop", "r5"),
    row("A.2.5.4.4.1 (3)", "DW_OP_addr 0x10; DW_OP_const1s -3; DW_OP_LLVM_bit_offset", "mem 0xf.5"),
    # Registers wider than an address.
    row("A.2.5.4.4.3 (7)", "DW_OP_breg5 1", "mem 0x11", registers=WIDE),
    # Any expression may be an entry value.
    row("A.2.5.4.3.4 (8)", "DW_OP_entry_value (DW_OP_breg5 0; DW_OP_lit4; DW_OP_plus)", "7",
        entry_values={"DW_OP_breg5 0; DW_OP_lit4; DW_OP_plus": 7})]  # fmt: skip
UNKNOWN_TO_ROCGDB = [
    row("A.2.5.4.3.4 (5)", "DW_OP_lit0; DW_OP_lit8; DW_OP_xderef_size 1", "9", memory=NINE),
    row("A.2.5.4.3.1 (6)", "DW_OP_constx 3", "77", debug_addr={"3": 77}),
    row("A.2.5.4.2 (5)", "DW_OP_call_ref 0x10; DW_OP_lit1; DW_OP_plus", "6", dies={"info:16": {"location": "35"}}),
]
test_what_the_text_says = table(ROWS)
test_operations_that_rocgdb_does_not_know = table(UNKNOWN_TO_ROCGDB)


@pytest.mark.parametrize("clause", sorted({case.clause for case in ROWS}))
def test_the_page_names_the_clause(clause):
    assert clause in SECTION
