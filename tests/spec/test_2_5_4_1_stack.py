"""A.2.5.4.1 Stack Operations."""

from __future__ import annotations

from tests.builders.cases import Case, table

TYPES = {
    "1": {"encoding": "signed", "byte_size": 2},
    "2": {"encoding": "float", "byte_size": 8},
    "3": {"encoding": "unsigned", "byte_size": 4, "vector_size": 2},
    "4": {"encoding": "unsigned", "byte_size": 16},
}
DIES = {"info:0x4c": {"location": {"ops": "DW_OP_reg7"}}}
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "register", "register": 5}]}
# The stack of DWARF 5, table D.1 (Appendix D.1.2): 17 on top, then 29, then 1000.
THREE = [1000, 29, 17]


def row(clause, ops, expected, **case):
    return Case(
        f"A.2.5.4.1 {clause}".strip(),
        ops,
        expected,
        **{"rules": "amd", "dialect": "llvm-user", "base_types": TYPES, "dies": DIES, **case},
    )


# Stacks are written bottom first.
EXAMPLES = [
    row("(1)", "DW_OP_dup", ("1000", "29", "17", "17"), initial_stack=THREE),
    row("(2)", "DW_OP_drop", ("1000", "29"), initial_stack=THREE),
    row("(3)", "DW_OP_pick 2", ("1000", "29", "17", "1000"), initial_stack=THREE),
    row("(4)", "DW_OP_over", ("1000", "29", "17", "29"), initial_stack=THREE),
    row("(5)", "DW_OP_swap", ("1000", "17", "29"), initial_stack=THREE),
    row("(6)", "DW_OP_rot", ("17", "1000", "29"), initial_stack=THREE),
]

# "They allow the stack entries to be either a value or location description": each kind of entry is copied as it is.
ENTRIES = {
    "DW_OP_lit17": "17",
    "DW_OP_const_type 1 fdff": "-3:signed16",
    "DW_OP_const_type 2 000000000000f83f": "1.5:float64",
    "DW_OP_const_type 3 0100000002000000": "[1, 2]:unsigned32x2",
    f"DW_OP_const_type 4 {'ff' * 16}": f"{2**128 - 1}:unsigned128",
    "DW_OP_addr 0x10": "mem 0x10",
    "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset": "mem 0x10.3",
    "DW_OP_reg5; DW_OP_lit4; DW_OP_LLVM_offset": "r5+32",
    "DW_OP_implicit_value 0102": "implicit 0102",
    "DW_OP_implicit_pointer 0x4c 4": "ptr info:0x4c+4",
    "DW_OP_implicit_pointer 0x4c 4; DW_OP_deref": "ptr info:0x4c+4",
    "DW_OP_LLVM_undefined": "undefined",
    "DW_OP_reg5; DW_OP_piece 4; DW_OP_LLVM_piece_end": "{32:r5}",
}
KINDS = [
    one
    for ops, entry in ENTRIES.items()
    for one in (
        row("(1)", f"{ops}; DW_OP_dup", (entry, entry)),
        row("(2)", f"DW_OP_lit1; {ops}; DW_OP_drop", ("1",)),
        row("(3)", f"{ops}; DW_OP_lit1; DW_OP_lit2; DW_OP_pick 2", (entry, "1", "2", entry)),
        row("(4)", f"{ops}; DW_OP_lit1; DW_OP_over", (entry, "1", entry)),
        row("(5)", f"DW_OP_lit1; {ops}; DW_OP_swap", (entry, "1")),
        row("(6)", f"DW_OP_lit1; DW_OP_lit2; {ops}; DW_OP_rot", (entry, "1", "2")),
    )
]
SEVERAL_PLACES = [
    row("(1)", "DW_OP_dup", ("mem 0x10 | r5", "mem 0x10 | r5"), initial_stack=[TWO_PLACES]),
    row("(2)", "DW_OP_drop", ("1",), initial_stack=[1, TWO_PLACES]),
    row("(3)", "DW_OP_pick 1", ("mem 0x10 | r5", "1", "mem 0x10 | r5"), initial_stack=[TWO_PLACES, 1]),
    row("(4)", "DW_OP_over", ("mem 0x10 | r5", "1", "mem 0x10 | r5"), initial_stack=[TWO_PLACES, 1]),
    row("(5)", "DW_OP_swap", ("mem 0x10 | r5", "1"), initial_stack=[1, TWO_PLACES]),
    row("(6)", "DW_OP_rot", ("mem 0x10 | r5", "1", "2"), initial_stack=[1, 2, TWO_PLACES]),
    # Entries of different kinds keep theirs when they change places.
    row("(5)", "DW_OP_lit1; DW_OP_reg5; DW_OP_swap", ("r5", "1")),
    row("(6)", "DW_OP_lit1; DW_OP_reg5; DW_OP_const_type 1 0200; DW_OP_rot", ("2:signed16", "1", "r5")),
    row("(6)", "DW_OP_lit1; DW_OP_reg5; DW_OP_lit2; DW_OP_rot; DW_OP_rot; DW_OP_rot", ("1", "r5", "2")),
]

# "a single unsigned 1-byte operand that represents an index I": "the top of the stack ... has index 0".
PICK = [
    *(
        row("(3)", f"DW_OP_pick {i}", str(255 - i), initial_stack=list(range(256)))
        for i in (0, 1, 2, 63, 64, 127, 128, 254, 255)
    ),
    row("(3)", "DW_OP_pick 0", ("7", "7"), initial_stack=[7]),
    row("(3)", "DW_OP_pick 255", "0", initial_stack=list(range(256))),
    row("(3)", "DW_OP_pick 255", "1", initial_stack=list(range(257))),
    # A copy: what happens to it does not happen to the entry it was copied from.
    row("(3)", "DW_OP_reg5; DW_OP_pick 0; DW_OP_lit1; DW_OP_LLVM_offset", ("r5", "r5+8")),
    row("(1)", "DW_OP_reg5; DW_OP_dup; DW_OP_lit1; DW_OP_LLVM_offset", ("r5", "r5+8")),
    row("(4)", "DW_OP_reg5; DW_OP_lit0; DW_OP_over; DW_OP_lit1; DW_OP_LLVM_offset", ("r5", "0", "r5+8")),
    # DW_OP_over "is equivalent to a DW_OP_pick 1 operation".
    row("(4)", "DW_OP_pick 1", ("1000", "29", "17", "29"), initial_stack=THREE),
    # In bytes.
    row("(3)", "DW_OP_pick 2", "1000", expr="1502", initial_stack=THREE),
    row("(3)", "DW_OP_pick 255", "stack_underflow", expr="15ff", initial_stack=THREE),
]

# Entries that are not there: the expression is ill-formed (A.2.5.4).
UNDERFLOW = [
    row("(1)", "DW_OP_dup", "stack_underflow"),
    row("(2)", "DW_OP_drop", "stack_underflow"),
    row("(2)", "DW_OP_drop; DW_OP_drop", "stack_underflow", initial_stack=[1]),
    row("(3)", "DW_OP_pick 0", "stack_underflow"),
    *(row("(3)", f"DW_OP_pick {i}", "stack_underflow", initial_stack=list(range(i))) for i in (1, 2, 127, 128, 255)),
    row("(4)", "DW_OP_over", "stack_underflow"),
    row("(4)", "DW_OP_over", "stack_underflow", initial_stack=[1]),
    row("(5)", "DW_OP_swap", "stack_underflow"),
    row("(5)", "DW_OP_swap", "stack_underflow", initial_stack=[1]),
    row("(6)", "DW_OP_rot", "stack_underflow"),
    row("(6)", "DW_OP_rot", "stack_underflow", initial_stack=[1]),
    row("(6)", "DW_OP_rot", "stack_underflow", initial_stack=[1, 2]),
]

# "If any stack entry accessed by a stack operation is an incomplete composite location description ..., then the DWARF
# expression is ill-formed."
OPEN = "DW_OP_reg5; DW_OP_piece 4"
INCOMPLETE = [
    row("(1)", f"{OPEN}; DW_OP_dup", "incomplete_composite"),
    row("(2)", f"{OPEN}; DW_OP_drop", "incomplete_composite"),
    row("(3)", f"{OPEN}; DW_OP_pick 0", "incomplete_composite"),
    row("(3)", f"{OPEN}; DW_OP_lit1; DW_OP_pick 1", "incomplete_composite"),
    row("(4)", f"{OPEN}; DW_OP_lit1; DW_OP_over", "incomplete_composite"),
    row("(5)", f"DW_OP_lit1; {OPEN}; DW_OP_swap", "incomplete_composite"),
    row("(5)", f"{OPEN}; DW_OP_lit1; DW_OP_swap", "incomplete_composite"),
    row("(6)", f"DW_OP_lit1; DW_OP_lit2; {OPEN}; DW_OP_rot", "incomplete_composite"),
    row("(6)", f"DW_OP_lit1; {OPEN}; DW_OP_lit2; DW_OP_rot", "incomplete_composite"),
    row("(6)", f"{OPEN}; DW_OP_lit1; DW_OP_lit2; DW_OP_rot", "incomplete_composite"),
    # "accessed": one that is only passed over does no harm.
    row("(1)", f"{OPEN}; DW_OP_lit1; DW_OP_dup", ("{32:r5}", "1", "1")),
    row("(2)", f"{OPEN}; DW_OP_lit1; DW_OP_drop", "{32:r5}"),
    row("(3)", f"DW_OP_lit1; {OPEN}; DW_OP_lit2; DW_OP_pick 2", ("1", "{32:r5}", "2", "1")),
    row("(3)", f"{OPEN}; DW_OP_lit1; DW_OP_pick 0", ("{32:r5}", "1", "1")),
    row("(4)", f"{OPEN}; DW_OP_lit1; DW_OP_lit2; DW_OP_over", ("{32:r5}", "1", "2", "1")),
    row("(5)", f"{OPEN}; DW_OP_lit1; DW_OP_lit2; DW_OP_swap", ("{32:r5}", "2", "1")),
    row("(6)", f"{OPEN}; DW_OP_lit1; DW_OP_lit2; DW_OP_lit3; DW_OP_rot", ("{32:r5}", "3", "1", "2")),
    # ... and a complete one may be used like any other location.
    row("(5)", f"{OPEN}; DW_OP_LLVM_piece_end; DW_OP_lit1; DW_OP_swap", ("1", "{32:r5}")),
]

# Entries that differ from lane to lane move like others.
LANES = [
    row("(1)", "DW_OP_LLVM_push_lane; DW_OP_dup; DW_OP_plus", ["0", "2", "4", "6"], lane_count=4),
    row("(3)", "DW_OP_LLVM_push_lane; DW_OP_lit9; DW_OP_pick 1", ["0", "1", "2"], lane_count=3),
    row("(4)", "DW_OP_LLVM_push_lane; DW_OP_lit9; DW_OP_over; DW_OP_minus", ["9", "8", "7"], lane_count=3),
    row("(5)", "DW_OP_LLVM_push_lane; DW_OP_lit9; DW_OP_swap; DW_OP_minus", ["9", "8", "7"], lane_count=3),
    row("(6)", "DW_OP_LLVM_push_lane; DW_OP_lit8; DW_OP_lit9; DW_OP_rot; DW_OP_drop", ["0", "1"], lane_count=2),
]

test_the_example_of_the_standard = table(EXAMPLES)
test_every_kind_of_entry = table(KINDS)
test_entries_of_several_places = table(SEVERAL_PLACES)
test_pick = table(PICK)
test_entries_that_are_not_there = table(UNDERFLOW)
test_incomplete_composites = table(INCOMPLETE)
test_entries_that_differ_from_lane_to_lane = table(LANES)
