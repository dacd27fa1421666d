"""A.2.5.4.1 Stack Operations."""

from tests.builders.cases import Rows, base_types, table

TYPES = base_types("1 signed16, 2 float64, 3 unsigned32x2, 4 unsigned128")
DIES = {"info:0x4c": {"location": {"ops": "reg7"}}}
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "register", "register": 5}]}
# The stack of DWARF 5, table D.1 (Appendix D.1.2): 17 on top, then 29, then 1000.
THREE = [1000, 29, 17]
rows = Rows("A.2.5.4.1", vars(), rules="amd", dialect="llvm-user", base_types=TYPES, dies=DIES)
row = rows.row

# Stacks are written bottom first.
test_the_example_of_the_standard = rows.table("""
    (1) dup => ("1000", "29", "17", "17") where initial_stack=THREE
    (2) drop => ("1000", "29") where initial_stack=THREE
    (3) pick 2 => ("1000", "29", "17", "1000") where initial_stack=THREE
    (4) over => ("1000", "29", "17", "29") where initial_stack=THREE
    (5) swap => ("1000", "17", "29") where initial_stack=THREE
    (6) rot => ("17", "1000", "29") where initial_stack=THREE
    """)

# "They allow the stack entries to be either a value or location description": each kind of entry is copied as it is.
ENTRIES = {
    "lit17": "17",                                           "const_type 1 fdff": "-3:signed16",
    "const_type 2 000000000000f83f": "1.5:float64",          "const_type 3 0100000002000000": "[1, 2]:unsigned32x2",
    f"const_type 4 {'ff' * 16}": f"{2**128 - 1}:unsigned128",
    "addr 0x10": "mem 0x10",                                 "addr 0x10; lit3; LLVM_bit_offset": "mem 0x10.3",
    "reg5; lit4; LLVM_offset": "r5+32",                      "implicit_value 0102": "implicit 0102",
    "implicit_pointer 0x4c 4": "ptr info:0x4c+4",            "implicit_pointer 0x4c 4; deref": "ptr info:0x4c+4",
    "LLVM_undefined": "undefined",                           "reg5; piece 4; LLVM_piece_end": "{32:r5}"}  # fmt: skip
test_every_kind_of_entry = table(
    one
    for ops, entry in ENTRIES.items()
    for one in (
        row("(1)", f"{ops}; dup", (entry, entry)),             row("(2)", f"lit1; {ops}; drop", ("1",)),
        row("(3)", f"{ops}; lit1; lit2; pick 2", (entry, "1", "2", entry)),
        row("(4)", f"{ops}; lit1; over", (entry, "1", entry)), row("(5)", f"lit1; {ops}; swap", (entry, "1")),
        row("(6)", f"lit1; lit2; {ops}; rot", (entry, "1", "2")),
    )
)  # fmt: skip
test_entries_of_several_places = rows.table("""
    (1) dup => ("mem 0x10 | r5", "mem 0x10 | r5") where initial_stack=[TWO_PLACES]
    (2) drop => ("1",) where initial_stack=[1, TWO_PLACES]
    (3) pick 1 => ("mem 0x10 | r5", "1", "mem 0x10 | r5") where initial_stack=[TWO_PLACES, 1]
    (4) over => ("mem 0x10 | r5", "1", "mem 0x10 | r5") where initial_stack=[TWO_PLACES, 1]
    (5) swap => ("mem 0x10 | r5", "1") where initial_stack=[1, TWO_PLACES]
    (6) rot => ("mem 0x10 | r5", "1", "2") where initial_stack=[1, 2, TWO_PLACES]
    # Entries of different kinds keep theirs when they change places.
    (5) lit1; reg5; swap => ("r5", "1")
    (6) lit1; reg5; const_type 1 0200; rot => ("2:signed16", "1", "r5")
    lit1; reg5; lit2; rot; rot; rot => ("1", "r5", "2")
    """)

# "a single unsigned 1-byte operand that represents an index I": "the top of the stack ... has index 0".
test_pick = table(
    *(
        row("(3)", f"pick {i}", str(255 - i), initial_stack=list(range(256)))
        for i in (0, 1, 2, 63, 64, 127, 128, 254, 255)
    ),
    row("(3)", "pick 0", ("7", "7"), initial_stack=[7]),
    row("(3)", "pick 255", "0", initial_stack=list(range(256))),
    row("(3)", "pick 255", "1", initial_stack=list(range(257))),
    # A copy: what happens to it does not happen to the entry it was copied from.
    row("(3)", "reg5; pick 0; lit1; LLVM_offset", ("r5", "r5+8")),
    row("(1)", "reg5; dup; lit1; LLVM_offset", ("r5", "r5+8")),
    row("(4)", "reg5; lit0; over; lit1; LLVM_offset", ("r5", "0", "r5+8")),
    # DW_OP_over "is equivalent to a DW_OP_pick 1 operation".
    row("(4)", "pick 1", ("1000", "29", "17", "29"), initial_stack=THREE),
    # In bytes.
    row("(3)", "pick 2", "1000", expr="1502", initial_stack=THREE),
    row("(3)", "pick 255", "stack_underflow", expr="15ff", initial_stack=THREE))  # fmt: skip

# Entries that are not there: the expression is ill-formed (A.2.5.4).
test_entries_that_are_not_there = table(
    row("(1)", "dup", "stack_underflow"), row("(2)", "drop", "stack_underflow"),
    row("(2)", "drop; drop", "stack_underflow", initial_stack=[1]), row("(3)", "pick 0", "stack_underflow"),
    *(row("(3)", f"pick {i}", "stack_underflow", initial_stack=list(range(i))) for i in (1, 2, 127, 128, 255)),
    row("(4)", "over", "stack_underflow"), row("(4)", "over", "stack_underflow", initial_stack=[1]),
    row("(5)", "swap", "stack_underflow"), row("(5)", "swap", "stack_underflow", initial_stack=[1]),
    row("(6)", "rot", "stack_underflow"), row("(6)", "rot", "stack_underflow", initial_stack=[1]),
    row("(6)", "rot", "stack_underflow", initial_stack=[1, 2]))  # fmt: skip

# "If any stack entry accessed by a stack operation is an incomplete composite location description ..., then the DWARF
# expression is ill-formed."
OPEN = "reg5; piece 4"
test_incomplete_composites = rows.table("""
    (1) reg5; piece 4; dup -> incomplete_composite
    (2) reg5; piece 4; drop -> incomplete_composite
    (3) reg5; piece 4; pick 0 | reg5; piece 4; lit1; pick 1 -> incomplete_composite
    (4) reg5; piece 4; lit1; over -> incomplete_composite
    (5) lit1; reg5; piece 4; swap | reg5; piece 4; lit1; swap -> incomplete_composite
    (6) lit1; lit2; reg5; piece 4; rot | lit1; reg5; piece 4; lit2; rot | reg5; piece 4; lit1; lit2; rot
        -> incomplete_composite
    # "accessed": one that is only passed over does no harm.
    (1) reg5; piece 4; lit1; dup => ("{32:r5}", "1", "1")
    (2) reg5; piece 4; lit1; drop -> {32:r5}
    (3) lit1; reg5; piece 4; lit2; pick 2 => ("1", "{32:r5}", "2", "1")
    reg5; piece 4; lit1; pick 0 => ("{32:r5}", "1", "1")
    (4) reg5; piece 4; lit1; lit2; over => ("{32:r5}", "1", "2", "1")
    (5) reg5; piece 4; lit1; lit2; swap => ("{32:r5}", "2", "1")
    (6) reg5; piece 4; lit1; lit2; lit3; rot => ("{32:r5}", "3", "1", "2")
    # ... and a complete one may be used like any other location.
    (5) reg5; piece 4; LLVM_piece_end; lit1; swap => ("1", "{32:r5}")
    """)

# Entries that differ from lane to lane move like others.
test_entries_that_differ_from_lane_to_lane = rows.table("""
    (1) LLVM_push_lane; dup; plus => ["0", "2", "4", "6"] where lane_count=4
    (3) LLVM_push_lane; lit9; pick 1 => ["0", "1", "2"] where lane_count=3
    (4) LLVM_push_lane; lit9; over; minus => ["9", "8", "7"] where lane_count=3
    (5) LLVM_push_lane; lit9; swap; minus => ["9", "8", "7"] where lane_count=3
    (6) LLVM_push_lane; lit8; lit9; rot; drop => ["0", "1"] where lane_count=2
    """)
