"""A.2.5.4 DWARF Operation Expressions: the result of an evaluation, the empty expression, the initial stack, errors."""

import pytest

from tests.builders.cases import Rows, answer, base_types
from tests.builders.parameters import for_each

TYPES = base_types("1 signed32, 2 unsigned64, 3 float64, 4 address64, 5 boolean8, 6 unsigned8x2, 7 signed128, 8 UTF32")
TWO_PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "memory", "address": 32}]}
DIES = {"info:0x4c": {"location": {"ops": "reg7"}}, "info:0x50": {}}
GPU = {"target": "amdgcn-gfx90a"}
rows = Rows("A.2.5.4", vars(), rules="amd", dialect="llvm-user", base_types=TYPES, dies=DIES)
test_a_location_is_wanted = rows.table("""
    # "If the stack is empty, the result is a location description with one undefined location description."
    -> undefined where want="location"                        nop | lit1; drop -> undefined where want="location"
    # "If the top stack entry is a location description, ... then the result is that"
    addr 0x10 -> mem 0x10 where want="location"
    addr 0x10; lit3; LLVM_bit_offset -> mem 0x10.3 where want="location"
    reg5 -> r5 where want="location"
    implicit_value 0102 -> implicit 0102 where want="location"
    lit7; stack_value -> implicit 0700000000000000 where want="location"
    implicit_pointer 0x4c 4 -> ptr info:0x4c+4 where want="location"
    LLVM_undefined -> undefined where want="location"
    reg5; piece 4; LLVM_piece_end -> {32:r5} where want="location"
    lit16; lit3; LLVM_form_aspace_address -> local#0x10 where want="location", **GPU
    nop -> mem 0x10 | mem 0x20 where want="location", initial_stack=[TWO_PLACES]
    # ... also one that is incomplete: it "is converted to a complete composite location description" (A.2.5.4.4.6).
    reg5; piece 4 -> {32:r5} where want="location"
    piece 4; reg5; piece 4 -> {32:undefined 32:r5} where want="location"
    # "... or can be converted to one": a value of the generic type is an address in the default address space,
    lit16 -> mem 0x10 where want="location"
    const1s -1 -> mem 0xffffffffffffffff where want="location"
    const1s -1 -> mem 0xffffff where want="location", address_size=3
    lit16 -> mem 0x10 where want="location", **GPU
    # ... and an implicit pointer value is the location of what it points to.
    implicit_pointer 0x4c 0; deref -> r7 where want="location"
    implicit_pointer 0x4c 4; deref -> r7+32 where want="location"
    # "Any other entries on the stack are discarded."
    lit1; lit2; reg5 -> r5 where want="location"              reg5; piece 4; reg6 -> r6 where want="location"
    # "Otherwise the DWARF expression is ill-formed": a value of another type.
    const_type 1 01000000 | const_type 2 0100000000000000 | const_type 3 0000000000000000 |
        const_type 4 0100000000000000 | const_type 5 01 | const_type 6 0102 |
        const_type 7 00000000000000000000000000000000 | const_type 8 41000000 -> bad_result_kind where want="location"
    # ... it is the top entry that counts.
    reg5; const_type 1 01000000 -> bad_result_kind where want="location"
    # An implicit pointer value whose object has no location is an evaluation error (A.2.5.4.4.5 (3)).
    implicit_pointer 0x50 0; deref -> implicit_pointer_misuse where want="location"
    """)
test_a_value_is_wanted = rows.table("""
    # "If the top stack entry is a value, ... then the result is that"
    lit16 -> 16 where want="value"                            const_type 1 feffffff -> -2:signed32 where want="value"
    const_type 3 000000000000f83f -> 1.5:float64 where want="value"
    const_type 6 0102 -> [1, 2]:unsigned8x2 where want="value"
    # "... or can be converted to one": a byte address in the default address space.
    addr 0x10 -> 16 where want="value"
    addr 0xffffffffffffffff -> 18446744073709551615 where want="value"
    addr 0x10; lit16; LLVM_bit_offset -> 18 where want="value"
    lit16; lit0; LLVM_form_aspace_address -> 16 where want="value", **GPU
    # "Any other entries on the stack are discarded."
    lit1; reg5; lit3 -> 3 where want="value"
    # "Otherwise the DWARF expression is ill-formed": nothing at all,
    -> bad_result_kind where want="value"                     lit1; drop -> bad_result_kind where want="value"
    # ... a bit field, another address space, several places, and every storage but memory.
    addr 0x10; lit3; LLVM_bit_offset | reg5 | LLVM_undefined | implicit_value 0100000000000000 | lit7; stack_value |
        implicit_pointer 0x4c 0 | reg5; piece 4; LLVM_piece_end | reg5; piece 4 -> bad_result_kind where want="value"
    lit16; lit3; LLVM_form_aspace_address -> bad_result_kind where want="value", **GPU
    lit16; lit1; LLVM_form_aspace_address -> bad_result_kind where want="value", **GPU
    nop -> bad_result_kind where want="value", initial_stack=[TWO_PLACES]
    # ... a composite is none of the five, even where its only part is in memory.
    addr 0x10; piece 8; LLVM_piece_end -> bad_result_kind where want="value"
    """)
test_nothing_is_wanted = rows.table("""
    # "If the stack is empty, the result is a location description with one undefined location description."
    -> undefined                 nop | lit1; drop -> undefined
    # "Otherwise, the top stack entry is returned", as it is.
    lit16 -> 16                  addr 0x10 -> mem 0x10        const_type 1 feffffff -> -2:signed32
    reg5 -> r5                   addr 0x10; lit3; LLVM_bit_offset -> mem 0x10.3
    implicit_pointer 0x4c 4 -> ptr info:0x4c+4
    nop -> mem 0x10 | mem 0x20 where initial_stack=[TWO_PLACES]
    reg5; piece 4 -> {32:r5}
    # "Any other entries on the stack are discarded": the stack of the evaluation still has them.
    lit1; reg5; lit3 | reg5; piece 4; lit3 -> 3               lit1; reg5; lit3 => ("1", "r5", "3")
    """)
test_the_initial_stack = rows.table("""
    # "starts with an empty stack on which the entries from the initial stack ... are pushed in the order provided"
    -> 3 where initial_stack=[1, 2, 3]                        => ("1", "2", "3") where initial_stack=[1, 2, 3]
    -> mem 0x3 where want="location", initial_stack=[1, 2, 3]
    -> 3 where want="value", initial_stack=[1, 2, 3]          drop -> 2 where initial_stack=[1, 2, 3]
    drop; drop; drop -> undefined where initial_stack=[1, 2, 3]
    minus => ("1", "18446744073709551615") where initial_stack=[1, 2, 3]
    -> r5 where want="location", initial_stack=[{"kind": "register", "register": 5}]
    plus_uconst 4 -> 20 where initial_stack=[{"kind": "memory", "address": 16}]
    # A location of the initial stack may be a composite, and is a complete one.
    lit2; LLVM_offset -> {16:r1 16:r2}+16 where initial_stack=[{"kind": "composite", "parts": [{"bit_size": 16,
        "location": {"kind": "register", "register": 1}}, {"bit_size": 16, "location": {"kind": "register",
        "register": 2}}]}]
    """)

# "If the kind of a stack entry does not match the kind required by the operation and is not implicitly convertible to
# the required kind ..., then the DWARF operation expression is ill-formed."
test_entries_of_the_wrong_kind = rows.table("""
    # A value is required, and a byte address in the default address space is converted to one ...
    addr 0x10; lit1; plus -> 17                               lit1; addr 0x10; minus => str(2**64 - 15)
    addr 0x10; neg => str(2**64 - 16)                         addr 0x10; stack_value -> implicit 1000000000000000
    addr 0; bra @end; lit5; end: -> 5
    # ... but no other location is.
    reg5; lit1; plus | lit1; reg5; plus | reg5; neg | reg5; stack_value | reg5; bra @end; end: |
        implicit_value 0100000000000000; lit1; plus | LLVM_undefined; lit1; plus |
        addr 0x10; lit1; LLVM_bit_offset; lit1; plus | reg5; piece 8; LLVM_piece_end; neg -> wrong_kind
    plus -> wrong_kind where initial_stack=[1, TWO_PLACES]
    lit16; lit3; LLVM_form_aspace_address; neg -> wrong_kind where **GPU
    # A location is required, and a value of the generic type is converted to one, but no other value is.
    lit16; lit4; LLVM_offset -> mem 0x14
    const_type 2 1000000000000000; lit4; LLVM_offset | const_type 3 0000000000000000; deref |
        const_type 1 10000000; piece 4 -> wrong_kind
    # An incomplete composite is neither (A.2.5.4.4.6).
    reg5; piece 4; lit1; plus | reg5; piece 4; deref | reg5; piece 4; lit1; LLVM_offset | reg5; piece 4; neg |
        reg5; piece 4; stack_value -> incomplete_composite
    """)

# "If an operation has an evaluation error, or an operation evaluates an expression that has an evaluation error, then
# the result is an evaluation error": whatever kind is wanted, and wherever it happens.
test_errors_are_the_result = rows.table("""
    lit1; lit0; div | lit1; lit0; div; drop; lit1 -> division_by_zero
    lit1; lit0; div -> division_by_zero where want="location"
    lit1; lit0; div -> division_by_zero where want="value"
    call4 4; lit1 -> division_by_zero where dies={"unit:4": die("lit1; lit0; mod")}
    call4 4; lit1 -> division_by_zero where dies={"unit:4": {"location": [{"ops": "lit1; lit0; mod"}]}}
    implicit_pointer 4 0; deref; deref -> division_by_zero where dies={"info:4": die("lit1; lit0; mod")}
    # What is not reached has no error.
    lit1; skip @end; lit0; div; end: -> 1
    # What was computed before an error is not a result.
    lit7; LLVM_undefined; deref -> undefined_read
    """)


# The branch of the error that each sentence of A.2.5.1 to A.2.5.4.3.4 speaks of, and the program that shows it.
CLASSES = """
    ill_formed        stack_underflow             drop
    ill_formed        wrong_kind                  reg5; neg
    ill_formed        type_mismatch               lit1; const_type 1 01000000; plus
    ill_formed        integral_type_required      const_type 3 0000000000000000; not
    ill_formed        unsupported_type_operation  const_type 6 0102; neg
    ill_formed        bad_branch                  skip 1
    ill_formed        incomplete_composite        reg5; piece 4; dup
    ill_formed        bad_address_space           lit9; lit0; xderef
    ill_formed        bad_piece                   reg5; piece 9
    ill_formed        bad_type                    const_type 0x99 01
    ill_formed        bad_size                    const_type 1 01
    ill_formed        bad_operand                 call4 0x99
    evaluation_error  division_by_zero            lit1; lit0; mod
    evaluation_error  undefined_read              LLVM_undefined; deref
    evaluation_error  read_past_storage           implicit_value 01; deref
    evaluation_error  offset_out_of_storage       reg5; lit8; LLVM_offset
    evaluation_error  implicit_pointer_misuse     implicit_pointer 0x4c 0; deref_size 1
    evaluation_error  memory_unavailable          lit0; deref
    evaluation_error  register_unavailable        reg5; deref
    evaluation_error  limit_exceeded              again: skip @again
    missing_context   lane                        LLVM_push_lane
    unsupported       DW_OP_LLVM_NVIDIA_mux       LLVM_NVIDIA_mux 01
"""
CLASS_ROWS = [tuple(line.split(None, 2)) for line in CLASSES.strip().splitlines()]


@pytest.mark.parametrize("name, kind, ops", CLASS_ROWS)
def test_every_kind_of_error_has_its_class(name, kind, ops):
    error = answer(ops, rules="amd", dialect="llvm-user", base_types=TYPES, dies=DIES)["error"]
    assert (error["class"], error["kind"]) == (name, kind)
    assert error["message"]
    assert "we " not in error["message"]


@pytest.mark.parametrize("want, ops", [("value", "reg5"), ("value", ""), ("location", "const_type 5 01")])
def test_a_result_of_the_wrong_kind_is_ill_formed(want, ops):
    error = answer(ops, rules="amd", base_types=TYPES, want=want)["error"]
    assert (error["class"], error["kind"], error["spec"]) == ("ill_formed", "bad_result_kind", "A.2.5.4")


# "truncated", "leb128_overflow" and "unknown_operation" are found before anything runs.
@for_each("kind, data",
    ("truncated", "08"),                                     ("truncated", "1080"),
    ("leb128_overflow", "10" + "ff" * 9 + "02"),             ("unknown_operation", "01"))  # fmt: skip
def test_bytes_that_are_no_operation_are_ill_formed(kind, data):
    error = answer("", expr=data)["error"]
    assert (error["class"], error["kind"], error["offset"]) == ("ill_formed", kind, 0)
