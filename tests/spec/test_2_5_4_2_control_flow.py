"""A.2.5.4.2 Control Flow Operations: comparisons, branches and calls."""

import pytest

from dwarfgpu import dialects
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr.context import Context, DieInfo
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, answer, base_types, parsed, table
from tests.builders.contexts import Unit

TYPES = base_types(
    "1 signed8, 2 unsigned8, 3 float32, 4 float64, 5 address64, 6 boolean8, 7 unsigned8x2, 8 signed128, 9 "
    "unsigned128, 10 bfloat1616, 11 UTF32, 12 signed7, 13 signed_char8, 14 unsigned_char8, 15 complex_float64"
)
rows = Rows("A.2.5.4.2", vars(), rules="amd", dialect="llvm-user", base_types=TYPES)
row = rows.row
test_nop = rows.table("""
    # "It has no effect on the DWARF stack entries."
    (1) nop => ()                lit1; nop; lit2; nop => ("1", "2")
    reg5; piece 4; nop; reg6; piece 4 -> {32:r5 32:r6}        lit1; LLVM_nop => ("1",)
    """)
RELATIONS = ("le", "ge", "eq", "lt", "gt", "ne")


def compared(operands, true, **case):
    """A row for each of the six operations: 1 with the generic type for those named in ``true``, else 0."""
    return [
        row("(2)", f"{operands}; {relation}", "1" if relation in true.split() else "0", **case)
        for relation in RELATIONS
    ]


LESS, EQUAL, GREATER, UNORDERED = "le lt ne", "le ge eq", "ge gt ne", "ne"
test_comparisons = table(
    # "former second entry, relational operator, former top entry"
    *compared("lit1; lit2", LESS),                            *compared("lit2; lit2", EQUAL),
    *compared("lit3; lit2", GREATER),
    # "If the operands have the generic type, the comparisons are performed as signed operations."
    *compared("const1s -1; lit0", LESS),
    *compared("const8u 0x8000000000000000; const8u 0x7fffffffffffffff", LESS),
    *compared("const1u 0x80; const1u 0x7f", LESS, address_size=1),
    *compared("const2u 0x8000; lit0", LESS, address_size=2),  *compared("const4u 0x800000; lit0", LESS, address_size=3),
    *compared("const4u 0x80000000; lit0", LESS, address_size=4),
    *compared("const4u 0x80000000; lit0", GREATER),
    # Values of a base type are compared as its encoding says.
    *compared("const_type 1 ff; const_type 1 00", LESS),      *compared("const_type 1 80; const_type 1 7f", LESS),
    *compared("const_type 2 ff; const_type 2 00", GREATER),   *compared("const_type 13 80; const_type 13 7f", LESS),
    *compared("const_type 14 80; const_type 14 7f", GREATER), *compared("const_type 6 00; const_type 6 01", LESS),
    *compared("const_type 12 40; const_type 12 3f", LESS),
    *compared("const_type 5 ffffffffffffffff; const_type 5 0000000000000000", GREATER),
    *compared("const_type 11 00f60100; const_type 11 41000000", GREATER),
    *compared(f"const_type 8 {'ff' * 16}; const_type 8 {'00' * 16}", LESS),
    *compared(f"const_type 9 {'ff' * 16}; const_type 9 {'00' * 16}", GREATER),
    *compared(f"const_type 9 {'00' * 15}80; const_type 9 {'00' * 15}80", EQUAL),
    *compared("const_type 3 000080bf; const_type 3 00000000", LESS),
    *compared("const_type 3 0000807f; const_type 3 ffff7f7f", GREATER),
    *compared("const_type 3 00000080; const_type 3 00000000", EQUAL),  # -0.0 and 0.0
    *compared("const_type 3 0000c07f; const_type 3 0000c07f", UNORDERED),  # NaN
    *compared("const_type 4 000000000000f87f; const_type 4 0000000000000000", UNORDERED),
    *compared("const_type 4 000000000000f03f; const_type 4 0000000000000040", LESS),
    *compared("const_type 10 803f; const_type 10 0040", LESS),
    # A byte address in the default address space is converted to a value first (A.2.5.4.4.3).
    *compared("addr 0x10; lit16", EQUAL),
    *compared("addr 0x10; addr 0x11", LESS))  # fmt: skip

# "which have the same type, either the same base type or the generic type": else the expression is ill-formed.
test_operands_of_comparisons = table(
    *(row("(2)", f"lit1; const_type 2 01; {one}", "type_mismatch") for one in RELATIONS),
    row("(2)", "const_type 2 01; lit1; eq", "type_mismatch"),
    row("(2)", "const_type 1 01; const_type 2 01; eq", "type_mismatch"),
    row("(2)", "const_type 1 01; const_type 13 01; eq", "type_mismatch"),
    row("(2)", "const_type 3 00000000; const_type 4 0000000000000000; eq", "type_mismatch"),
    row("(2)", "const_type 5 0000000000000000; lit0; eq", "type_mismatch"),
    # Types that the standard gives no order and no equality.
    *(row("(2)", f"const_type 7 0102; dup; {one}", "unsupported_type_operation") for one in RELATIONS),
    row("(2)", "const_type 15 0000000000000000; dup; eq", "unsupported_type_operation"),
    # Operands that are no values.
    *(row("(2)", f"reg5; reg5; {one}", "wrong_kind") for one in RELATIONS),
    row("(2)", "lit1; reg5; eq", "wrong_kind"),
    *(row("(2)", f"{one}", "stack_underflow") for one in RELATIONS),
    *(row("(2)", f"lit1; {one}", "stack_underflow") for one in RELATIONS))  # fmt: skip
test_branches = table(
    rows("""
    # "the number of bytes ... to skip forward or backward from the current operation, beginning after the 2-byte
    # constant"
    (3) skip 0; lit5 -> 5
    lit1; skip 1; drop; lit2 | lit1; skip 2; drop; drop; lit2 | lit1; skip 3; const2u 0x3030; lit2 => ("1", "2")
    skip @forward; back: lit7; skip @end; forward: skip @back; end: -> 7
    skip 1; nop; lit5 -> 5 where expr="2f00019635", byte_order="big"
    # Past the longest operation, with the largest operand there is.
    skip 32767; implicit_value {'00' * 32763}; lit5 -> 5
    # "If the updated position is at one past the end of the last operation, then the ... evaluation is complete."
    (3) lit5; skip 0 | lit5; skip 2; drop; drop -> 5          skip 0 -> undefined
    (4) lit5; lit1; bra 1; drop -> 5                          lit1; bra 0 -> undefined
    # "This operation pops the top of stack. If the value popped is not the constant 0 ..."
    lit7; lit1; bra 1; drop; lit2 | lit7; const1s -1; bra 1; drop; lit2 => ("7", "2")
    lit7; lit0; bra 1; drop; lit2 => ("2",)
    # ... of any type
    const_type 1 80; bra @end; lit1; end: | const_type 6 01; bra @end; lit1; end: |
        const_type 8 00000000000000000000000000000080; bra @end; lit1; end: |
        const_type 5 0000000000000080; bra @end; lit1; end: | const_type 3 0000003f; bra @end; lit1; end: -> undefined
    const_type 1 00; bra @end; lit1; end: | const_type 8 00000000000000000000000000000000; bra @end; lit1; end: |
        const_type 3 00000000; bra @end; lit1; end: -> 1
    # -0.0 is 0
    const_type 3 00000080; bra @end; lit1; end: -> 1
    # NaN is not
    const_type 3 0000c07f; bra @end; lit1; end: -> undefined
    # ... also an address, which is converted to a value
    addr 0x10; bra @end; lit1; end: -> undefined              addr 0; bra @end; lit1; end: -> 1
    # Loops: the sum of the numbers to 10; 2 to the power of 10.
    lit0; lit10; again: swap; over; plus; swap; lit1; minus; dup; bra @again; drop => ("55",)
    lit1; lit10; again: dup; lit0; eq; bra @done; lit1; minus; swap; lit2; mul; swap; skip @again; done: drop
        => ("1024",)
    """),
    # A branch that is not taken may go anywhere.
    *(row("(4)", f"lit0; bra {to}; lit5", "5") for to in (-1, -2, -4, -5, 2, 100, -32768, 32767)),
)  # fmt: skip

# "Otherwise, the DWARF expression is ill-formed if the updated operation position is not in the range of the first to
# last operation inclusive, or not at the start of an operation."
# Positions: lit1 at 0, skip at 1, const2u at 4, lit2 at 7, the end is 8; a displacement counts from 4.
test_branches_that_go_nowhere = rows.table("""
    # before the first operation
    (3) lit1; skip -5; const2u 0x3030; lit2 | lit1; skip -32768; const2u 0x3030; lit2 -> bad_branch
    (4) lit1; bra -5; const2u 0x3030; lit2 | lit1; bra -32768; const2u 0x3030; lit2 -> bad_branch
    # beyond the end
    (3) lit1; skip 5; const2u 0x3030; lit2 | lit1; skip 32767; const2u 0x3030; lit2 -> bad_branch
    (4) lit1; bra 5; const2u 0x3030; lit2 | lit1; bra 32767; const2u 0x3030; lit2 -> bad_branch
    # into its own operand
    (3) lit1; skip -1; const2u 0x3030; lit2 | lit1; skip -2; const2u 0x3030; lit2 -> bad_branch
    (4) lit1; bra -1; const2u 0x3030; lit2 | lit1; bra -2; const2u 0x3030; lit2 -> bad_branch
    # into an operand of another operation, also where its bytes look like operations
    (3) lit1; skip 1; const2u 0x3030; lit2 | lit1; skip 2; const2u 0x3030; lit2 -> bad_branch
    (4) lit1; bra 1; const2u 0x3030; lit2 | lit1; bra 2; const2u 0x3030; lit2 -> bad_branch
    # behind the prefix of an operation of two bytes
    (3) skip 1; LLVM_undefined -> bad_branch
    # what is in range
    lit1; skip 0; const2u 0x3030; lit2 => ("1", "12336", "2")
    lit1; skip 3; const2u 0x3030; lit2 => ("1", "2")          lit1; skip 4; const2u 0x3030; lit2 => ("1",)
    # An expression ends where it ends: not in the expression that called it, and not in one nested in it.
    call4 4; lit1 -> bad_branch where dies={"unit:4": {"location": "2f0100"}}
    call4 4; lit1 -> 1 where dies={"unit:4": {"location": "2f0000"}}
    call4 4; lit1 -> bad_branch where dies={"unit:4": {"location": ["2f0100"]}}
    lit1; call4 4 -> bad_branch where dies={"unit:4": {"location": "2ffcff"}}
    skip 2; entry_value (lit1) -> bad_branch
    # Bytes that cannot be decoded are no operation to go to, and make the expression ill-formed where they are met.
    -> unknown_operation where expr="2f01003001"              -> truncated where expr="2f01003008"
    """)
test_what_branches_pop = rows.table("""
    # The value that DW_OP_bra pops must be one.
    (4) bra 0 -> stack_underflow
    reg5; bra 0 | LLVM_undefined; bra 0 | implicit_value 01; bra 0 -> wrong_kind
    reg5; piece 4; bra 0 -> incomplete_composite              const_type 7 0102; bra 0 -> unsupported_type_operation
    # DW_OP_skip pops nothing.
    (3) reg5; piece 4; skip 0; reg6; piece 4 -> {32:r5 32:r6}
    """)

# Lanes that branch differently go on by themselves, each as it would alone.
test_lanes_branch_by_themselves = rows.table("""
    (4) LLVM_push_lane; lit2; lt; bra @low; lit9; skip @end; low: lit7; end: LLVM_push_lane; plus
        => ["7", "8", "11", "12"] where lane_count=4
    lit0; LLVM_push_lane; again: dup; lit0; eq; bra @done; swap; lit3; plus; swap; lit1; minus; skip @again;
        done: drop => ["0", "3", "6", "9", "12"] where lane_count=5
    LLVM_push_lane; bra 1; drop; lit5 => ["stack_underflow", "5", "5"] where lane_count=3
    LLVM_push_lane; bra 100; lit5 => ["5", "bad_branch"] where lane_count=2
    LLVM_push_lane; lit1; eq; bra @r; lit4; skip @end; r: reg5; end: => ["4", "r5", "4"] where lane_count=3
    LLVM_push_lane; convert 4; bra @end; lit5; end: => ["5", "undefined", "undefined"] where lane_count=3
    (5) LLVM_push_lane; bra @end; call4 4; lit2; plus; end: => ["7", "undefined"]
        where lane_count=2, dies={"unit:4": die("lit5")}
    LLVM_push_lane; lit1; plus; call4 4; lit1; plus => ["6", "11", "16"]
        where lane_count=3, dies={"unit:4": die("lit5; mul")}
    LLVM_push_lane; call4 4; lit1; plus => ["10", "9", "stack_underflow"] where lane_count=3, dies={"unit:4": die("dup;
        lit2; eq; bra @gone; lit9; swap; minus;skip @end; gone: drop; end:")}
    (2) LLVM_push_lane; lit1; le => ["1", "1", "0"] where lane_count=3
    """)
test_calls = rows.table("""
    # DW_OP_call2 and DW_OP_call4: "a 2-byte or 4-byte unsigned offset DR ... relative to the ... current compilation
    # unit"
    (5) call2 4 | call4 4 -> 5 where dies={"unit:4": die("lit5")}
    call2 0xffff -> 5 where dies={"unit:0xffff": die("lit5")}
    call4 0xffffffff -> 5 where dies={"unit:0xffffffff": die("lit5")}
    # DW_OP_call_ref: "a 4-byte unsigned value in the 32-bit DWARF format, or an 8-byte unsigned value in the 64-bit"
    call_ref 0xffffffff -> 5 where dies={"info:0xffffffff": die("lit5")}
    call_ref 0xffffffffffffffff -> 5 where offset_size=8, dies={"info:0xffffffffffffffff": die("lit5")}
    call_ref 0x102 -> 5 where expr="9a02010000", dies={"info:0x102": die("lit5")}
    call_ref 0x102 -> 5 where expr="9a0000000000000102", offset_size=8, byte_order="big",
        dies={"info:0x102": die("lit5")}
    # ... "relative to the beginning of the .debug_info section": not to the unit
    call_ref 4 -> 6 where dies={"unit:4": die("lit5"), "info:4": die("lit6")}
    call4 4 -> 5 where dies={"unit:4": die("lit5"), "info:4": die("lit6")}
    # "execution continues with the operation following the call operation"
    lit1; call4 4; lit2 => ("1", "5", "2") where dies={"unit:4": die("lit5")}
    call4 4; call4 4 => ("5", "5") where dies={"unit:4": die("lit5")}
    call4 4; lit2 => ("2",) where dies={"unit:4": die("nop")}
    call4 4; lit2 => ("2",) where dies={"unit:4": {"location": ""}}
    # "E can use, and/or remove entries already on the stack, and can add new entries to the stack"
    lit3; lit4; call4 4 => ("7",) where dies={"unit:4": die("plus")}
    lit3; call4 4 => ("3", "3") where dies={"unit:4": die("dup")}
    lit3; lit4; call4 4 => ("3",) where dies={"unit:4": die("drop")}
    lit3; call4 4 => ("6", "r5", "1") where dies={"unit:4": die("lit2; mul; reg5; lit1")}
    call4 4 -> 3 where initial_stack=[1, 2], dies={"unit:4": die("plus")}
    # ... but only those: an entry it does not find is not there
    lit3; call4 4 -> stack_underflow where dies={"unit:4": die("plus")}
    # A whole procedure: the absolute difference of two values.
    lit3; lit9; call4 4; lit9; lit3; call4 4 => ("6", "6")
        where dies={"unit:4": die("over; over; gt; bra @end; swap; end: minus")}
    # "Operations of E are evaluated with the same current context": registers, lane, object.
    call4 4 -> r5 where dies={"unit:4": die("reg5")}
    call4 4 -> mem 0x40 where object=0x40, dies={"unit:4": die("push_object_address")}
    call4 4; lit1; plus => ["1", "2", "3"] where lane_count=3, dies={"unit:4": die("LLVM_push_lane")}
    # The result kind is that of the whole evaluation, which has not ended.
    call4 4; drop; lit1 -> 1 where want="value", dies={"unit:4": die("reg5")}
    call4 4 -> mem 0x5 where want="location", dies={"unit:4": die("lit5")}
    # "Such executions are not a separate evaluation": a composite stays incomplete (A.2.5.4.4.6).
    call4 4; reg6; piece 4 -> {32:r5 32:r6} where dies={"unit:4": die("reg5; piece 4")}
    call4 4; piece 2 -> {32:r5 16:undefined} where dies={"unit:4": die("reg5; piece 4")}
    call4 4; dup -> incomplete_composite where dies={"unit:4": die("reg5; piece 4")}
    reg5; piece 4; call4 4; piece 4 -> {32:r5 32:r6} where dies={"unit:4": die("reg6")}
    # A branch in E that goes to its end returns; so does reaching it in a nested call.
    call4 4; lit9 => ("5", "9") where dies={"unit:4": die("lit5; skip @end; drop; end:")}
    call4 4; lit9 => ("1", "2", "3", "9") where dies={"unit:4": die("lit1; call2 8; lit3"), "unit:8": die("lit2")}
    # E may call an entry of the section, and loop around calls.
    lit1; lit5; again: swap; call4 4; swap; lit1; minus; dup; bra @again; drop => ("243",)
        where dies={"unit:4": die("call_ref 0x100"), "info:0x100": die("lit3; mul")}
    # An entry that is not there.
    call2 5 | call4 5 | call_ref 4 -> bad_operand where dies={"unit:4": die("lit5")}
    call4 0 -> bad_operand where dies={}
    # What is wrong in E is wrong where it is reached.
    call4 4 -> unknown_operation where dies={"unit:4": {"location": "01"}}
    call4 4 -> truncated where dies={"unit:4": {"location": "3008"}}
    lit5; skip @end; call4 4; end: -> 5 where dies={"unit:4": {"location": "01"}}
    """)
test_calls_of_location_lists = rows.table("""
    # "the specified location list expression E is evaluated ... The location description result is pushed on the
    # stack."
    (5) call4 4 | call2 4 => ("r5",) where dies={"unit:4": listed("reg5")}
    call_ref 4 => ("r5",) where dies={"info:4": listed("reg5")}
    lit1; call4 4; lit2 => ("1", "r5", "2") where dies={"unit:4": listed("reg5")}
    # ... with all its places: "That location description may have more than one single location description."
    call4 4 => ("r5 | r6",) where dies={"unit:4": listed("reg5", "reg6")}
    call4 4 => ("r5 | mem 0x10 | r6",) where dies={"unit:4": listed("reg5", "addr 16", "reg6")}
    call4 4; lit4; LLVM_offset -> r5+32 | mem 0x14 where dies={"unit:4": listed("reg5", "addr 16")}
    call4 4 => ("undefined",) where dies={"unit:4": listed()}
    # "the result kind is a location description": what E leaves is converted to one, or ill-formed
    call4 4 => ("mem 0x10",) where dies={"unit:4": listed("lit16")}
    call4 4 => ("undefined",) where dies={"unit:4": listed("")}
    call4 4 => ("{32:r5}",) where dies={"unit:4": listed("reg5; piece 4")}
    call4 4; dup => ("{32:r5}", "{32:r5}") where dies={"unit:4": listed("reg5; piece 4")}
    call4 4 -> bad_result_kind where dies={"unit:4": listed("const_type 1 01")}
    call4 4; drop; lit1 -> 1 where want="value", dies={"unit:4": listed("reg5")}
    # "the initial stack is empty": E neither sees nor leaves anything else.
    lit3; lit4; call4 4 -> stack_underflow where dies={"unit:4": listed("plus")}
    lit3; call4 4 -> stack_underflow where dies={"unit:4": listed("dup")}
    call4 4 => ("r7",) where dies={"unit:4": listed("reg5; reg6; reg7")}
    call4 4 -> stack_underflow where initial_stack=[1], dies={"unit:4": listed("drop")}
    # "The evaluation of E uses the current context": but "the object is unspecified" (A.2.5.5).
    call4 4 -> r5 where registers={"5": 1}, dies={"unit:4": listed("reg5")}
    call4 4 -> object where object=0x40, dies={"unit:4": listed("push_object_address")}
    call4 4 => ["mem 0x10", "mem 0x11", "mem 0x12"]
        where lane_count=3, dies={"unit:4": listed("LLVM_push_lane; plus_uconst 16")}
    call4 4 => ["r5", "r6", "r6"] where lane_count=3,
        dies={"unit:4": listed("LLVM_push_lane; bra @other; reg5; skip @end; other: reg6; end:")}
    call4 4 => ["division_by_zero", "mem 0x8", "mem 0x4"]
        where lane_count=3, dies={"unit:4": listed("lit8; LLVM_push_lane; div")}
    # Lists that call lists.
    call4 4 => ("r5 | r6 | r7",) where dies={"unit:4": listed("call4 8", "reg7"), "unit:8": listed("reg5", "reg6")}
    """)
test_calls_of_constants_and_of_nothing = rows.table("""
    # "If D has a DW_AT_const_value attribute with a value V, then it is as if a DW_OP_implicit_value V ... was
    # executed."
    (5) call4 4 => ("implicit 0102",) where dies={"unit:4": {"const_value": "0102"}}
    call_ref 4 => ("implicit 0102",) where dies={"info:4": {"const_value": "0102"}}
    call4 4; deref_size 2 -> 513 where dies={"unit:4": {"const_value": "0102"}}
    call4 4; deref_size 2 -> 258 where byte_order="big", dies={"unit:4": {"const_value": "0102"}}
    lit1; call4 4 => ("1", "implicit ") where dies={"unit:4": {"const_value": ""}}
    # ... if it has no DW_AT_location
    call4 4 => ("r5",) where dies={"unit:4": {"const_value": "0102", **die("reg5")}}
    call4 4 => ("r5",) where dies={"unit:4": {"const_value": "0102", **listed("reg5")}}
    call4 4 => ("implicit 0102",) where dies={"unit:4": {"const_value": "0102", "location": None}}
    # "Otherwise, there is no effect and no changes are made to the stack."
    call4 4 => () where dies={"unit:4": {}}
    lit1; call4 4; lit2 => ("1", "2") where dies={"unit:4": {}}
    lit1; call4 4 => ("1",) where dies={"unit:4": {"location": None}}
    reg5; piece 4; call4 4; piece 4 -> {32:r5 32:undefined} where dies={"unit:4": {}}
    """)

# Nothing but the operand of a call is needed to call: neither a value nor a location.
test_operands_of_calls = rows.table("""
    (5) call2 4 | call4 4 | call_ref 4 -> unit                -> truncated where expr="9800"
    -> truncated where expr="99000000"                        -> truncated where expr="9a00000000000000", offset_size=8
    """)


@pytest.mark.parametrize("operation", ["skip", "bra"])
def test_every_displacement_of_a_small_program(operation):
    program = f"lit1; {operation} {{}}; const2u 0x3030; lit2"
    starts = {0, 1, 4, 7, 8}
    for displacement in range(-12, 13):
        one = answer(program.format(displacement), rules="amd", limits={"steps": 100, "stack": 50})
        kind = one.get("error", {}).get("kind")
        if 4 + displacement not in starts:
            assert kind == "bad_branch", displacement
        elif displacement >= 0:
            assert one["status"] == "ok", displacement
        else:  # back to the first operations again and again
            assert kind in ("limit_exceeded", "stack_underflow"), displacement


TARGET = resolve("generic")
LLVM_USER = dialects.get("llvm-user")


class UnitOfTwo(Unit):
    """A unit whose entry at 1 is a base type of its own."""

    def __init__(self, bits, units):
        super().__init__(BaseType("unsigned", bits))
        self.units = units

    def die(self, reference):
        location = self.units.locations[reference.base, reference.offset]
        return DieInfo((self if reference.base == "unit" else self.units.other), location)


class Units:
    """Two units: the current one, and another one, which holds all entries that are found by .debug_info offset."""

    def __init__(self, **found):
        self.current = UnitOfTwo(8, self)
        self.other = UnitOfTwo(16, self)
        self.locations = {(key.partition("_")[0], int(key.partition("_")[2])): code(ops) for key, ops in found.items()}


def code(ops):
    if isinstance(ops, tuple):
        return tuple(parsed(one) for one in ops)
    return parsed(ops)


def result(ops, **found):
    return evaluate(code(ops), Context(TARGET, AMD, unit=Units(**found).current)).of(0)


def test_called_expressions_are_evaluated_in_their_unit_and_name_their_callers():
    # "... except current compilation unit is the one that contains D"
    assert result("call_ref 4", info_4="const_type 1 0100").type.bit_size == 16
    assert result("call4 4", unit_4="const_type 1 01").type.bit_size == 8
    # ... and after the call it is the one of the call again
    assert result("call_ref 4; const_type 1 01", info_4="const_type 1 0100").type.bit_size == 8
    assert isinstance(result("call_ref 4; const_type 1 0100", info_4="nop"), IllFormed)
    error = result("nop; call4 4", unit_4="lit1; call4 8", unit_8="plus")
    assert error.kind == "stack_underflow"
    assert error.where.operation == "DW_OP_plus"
    assert error.where.trail == ("DW_OP_call4", "DW_OP_call4")


def test_references_of_called_expressions_are_relative_to_their_unit():
    assert result("call_ref 4", info_4="call4 8", unit_8="const_type 1 0100").type.bit_size == 16
    entries = ("const_type 1 0100; stack_value",)
    assert result("call_ref 4", info_4=entries).places[0].storage.bit_size == 16
    assert isinstance(result("call4 4", unit_4=entries), IllFormed)
