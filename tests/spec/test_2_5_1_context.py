"""A.2.5.1 DWARF Expression Evaluation Context: what each element gives, and the error of each that is missing."""

import pytest

from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.lanes import LaneSet
from tests.builders.cases import Rows, answer, parsed, table
from tests.builders.contexts import TARGET, outcome

rows = Rows("A.2.5.1", vars(), rules="amd", dialect="llvm-user")
GPU = {"target": "amdgcn-gfx90a"}
MISSING = rows("""
    # "If the evaluation requires a context element that is not specified, then the result ... is an error."
    [A.2.5.1 current lane] LLVM_push_lane -> lane             lit16; lit5; LLVM_form_aspace_address -> lane where **GPU
    lit5; LLVM_aspace_bregx s0 0 -> lane where **GPU, registers={"s0": 1}
    [A.2.5.1 current iteration] LLVM_push_iteration -> iteration
    [A.2.5.1 current call frame] call_frame_cfa | fbreg 0 | entry_value (lit1) | GNU_parameter_ref 4 -> frame
    [A.2.5.1 current thread] lit0; form_tls_address -> thread
    [A.2.5.1 current compilation unit] constx 0 | addrx 0 | const_type 4 01 | lit0; deref_type 4 4 |
        lit0; lit0; xderef_type 4 4 | lit0; convert 4 | lit0; reinterpret 4 | call2 4 | call4 4 | call_ref 4 |
        GNU_variable_value 4 -> unit
    regval_type 0 4 -> unit where registers={"0": 1}
    [A.2.5.1 current object] push_object_address -> object
    """)
test_elements_are_what_the_operations_give = rows.table("""
    # *A current result kind*: "The kind of result required by the DWARF expression evaluation."
    [A.2.5.1 current result kind] lit5 -> mem 0x5 where want="location"
    lit5 -> 5 where want="value"                              reg5 -> r5 where want="location", registers={"5": 9}
    reg5 -> bad_result_kind where want="value"
    # *A current lane*: "The 0 based SIMT lane identifier".
    [A.2.5.1 current lane] LLVM_push_lane -> 0 where lane=0   LLVM_push_lane -> 7 where lane=7, lane_count=8
    LLVM_push_lane -> 63 where lane=63, **GPU                 LLVM_push_lane => ["0", "1", "2", "3"] where lane_count=4
    lit16; lit5; LLVM_form_aspace_address -> private_lane#0x10@9 where lane=9, **GPU
    # *A current iteration*: "The 0 based source language iteration instance".
    [A.2.5.1 current iteration] LLVM_push_iteration -> 0 where iteration=0
    LLVM_push_iteration -> 3 where iteration=3, iterations=4
    # *A current call frame*
    [A.2.5.1 current call frame] call_frame_cfa -> mem 0x7f00 where cfa=0x7F00
    fbreg -16 -> mem 0x7ef0 where frame_base=0x7F00           reg3 -> r3
    # *A current object*: "The location description of a program object", of every kind.
    [A.2.5.1 current object] push_object_address -> mem 0x40 where object=0x40
    push_object_address -> r4 where object={"kind": "register", "register": 4}
    push_object_address -> undefined where object={"kind": "undefined"}
    push_object_address; lit4; LLVM_offset -> mem 0x44 | r5+32 where object={"kind": "multiple", "places": [{"kind":
        "memory", "address": 0x40}, {"kind": "register", "register": 5}]}
    # *An initial stack*: "pushed ... in the order provided before evaluation of an operation expression starts".
    [A.2.5.1 initial stack] nop => ("1", "2", "3") where initial_stack=[1, 2, 3]
    minus -> 7 where initial_stack=[9, 2]
    lit8; LLVM_offset -> mem 0x108 where initial_stack=[{"kind": "memory", "address": 0x100}]
    nop => ("-5:signed32", "1.5:float64", "[1, 2]:unsigned16x2", "r7+8")
        where initial_stack=[{"value": -5, "type": {"encoding": "signed", "byte_size": 4}}, {"value": 1.5,
        "type": {"encoding": "float", "byte_size": 8}}, {"value": [1, 2], "type": {"encoding": "unsigned",
        "byte_size": 2, "vector_size": 2}}, {"kind": "register", "register": 7, "bit_offset": 8}]
    # "In all other cases the initial stack is empty."
    nop => ()                    drop -> stack_underflow
    # *A current target architecture*: registers, address spaces and the size of addresses are its own.
    [A.2.5.1 current target architecture] reg0 -> rax where target="x86_64"
    reg16 -> pc where **GPU      regx 2560 -> v0 where **GPU
    lit0; not -> 65535 where address_size=2
    # no such register
    reg8 -> bad_operand where **GPU
    # "If any of the context elements required to create a location description" differ when it is accessed, the storage
    # is that of the elements at creation (A.2.5.3): the memory of lane 3, read in lane 0.
    [A.2.5.3] deref_size 4 -> 42 where **GPU, lane=0, initial_stack=[{"kind": "memory", "space": 5, "address": 16,
        "lane": 3}], memory=[{"space": "private_lane", "lane": 0, "address": 16, "bytes": "01000000"}, {"space":
        "private_lane", "lane": 3, "address": 16, "bytes": "2a000000"}]
    # "the DWARF expression is ill-formed if the object value held in each single location description's position ... is
    # not the same value, except for the parts of the value that are uninitialized" (A.2.5.3).
    push_object_address; deref -> bad_operand where registers={"1": 5, "2": 6}, object={"kind": "multiple", "places":
        [{"kind": "register", "register": 1}, {"kind": "register", "register": 2}]}
    push_object_address; deref -> 5 where registers={"1": 5, "2": 5}, object={"kind": "multiple", "places": [{"kind":
        "register", "register": 1}, {"kind": "register", "register": 2}]}
    push_object_address; deref -> 5 where registers={"1": 5},
        object={"kind": "multiple", "places": [{"kind": "undefined"}, {"kind": "register", "register": 1}]}
    """)
test_elements_must_be_consistent = rows.table("""
    # A lane "must be consistent with the value of the DW_AT_LLVM_lanes attribute": pushing another is ill-formed.
    [A.2.5.1 current lane] LLVM_push_lane -> bad_operand where lane=8, lane_count=8
    LLVM_push_lane -> bad_operand where lane=1
    # ... and so an iteration with that of DW_AT_LLVM_iterations, 1 by default.
    [A.2.5.1 current iteration] LLVM_push_iteration -> bad_operand where iteration=1
    LLVM_push_iteration -> bad_operand where iteration=4, iterations=4
    """)
test_a_missing_element_has_its_own_error = table(MISSING)


@pytest.mark.parametrize("case", MISSING, ids=repr)
def test_a_missing_element_is_an_error_of_its_own_class(case):
    error = answer(case.ops, **case.case)["error"]
    assert error["class"] == "missing_context"
    assert error["spec"].startswith("A.2.5")
    assert error["operation"].startswith("DW_OP_")


FRAME = """
    reg0
    reg31
    regx 40
    breg0 0
    breg31 0
    bregx 40 0
    lit0; LLVM_aspace_bregx 40 0
    regval_type 0 1
    fbreg 0
    call_frame_cfa
    LLVM_call_frame_entry_reg 0
    entry_value (lit1)
"""
UNIT = """
    constx 0
    addrx 0
    const_type 1 0102030405060708
    regval_type 0 1
    lit0; deref_type 8 1
    lit0; lit0; xderef_type 8 1
    lit0; convert 1
    lit0; reinterpret 1
    call2 0
    call4 0
    call_ref 0
    implicit_pointer 0 0
    lit0; LLVM_aspace_implicit_pointer 0 0
"""
# Required "for operations that are related to target architecture threads", such as DW_OP_regval_type, as which
# DW_OP_breg* and bregx retrieve their register (A.2.5.4.4.3 (7)).
THREAD = """
    reg0
    regx 40
    regval_type 0 1
    breg0 0
    bregx 40 0
    lit0; LLVM_aspace_bregx 40 0
    lit0; form_tls_address
"""
REQUIRED = [
    *(("frame", line.strip()) for line in FRAME.strip().splitlines()),
    *(("unit", line.strip()) for line in UNIT.strip().splitlines()),
    *(("thread", line.strip()) for line in THREAD.strip().splitlines()),        ("lane", "LLVM_push_lane"),
    ("iteration", "LLVM_push_iteration"), ("object", "push_object_address")]  # fmt: skip
NOT_SPECIFIED = {"thread": {"lanes": LaneSet(1, None, 0)}, "lane": {"lanes": LaneSet(1, 0, None)}}


@pytest.mark.parametrize("element, ops", REQUIRED)
def test_an_operation_requires_the_elements_it_is_about(element, ops):
    changes = NOT_SPECIFIED.get(element, {element: None})
    assert not isinstance(outcome(parsed(ops, TARGET)), DwarfGpuError)
    error = outcome(parsed(ops, TARGET), **changes)
    assert isinstance(error, MissingContext), error
    assert error.kind == element


def test_the_frame_base_needs_no_unit():
    """A.2.5.4.4.3 (6): it is that of the subprogram of the call frame."""
    assert outcome(parsed("fbreg 8"), unit=None) == outcome(parsed("fbreg 8"))
    assert not isinstance(outcome(parsed("fbreg 8")), DwarfGpuError)


# "A DWARF expression for a location description may be able to be evaluated without a thread, lane, call frame, program
# location, or architecture context."
NOTHING = {"lanes": LaneSet(1, None, None), "iteration": None, "frame": None, "unit": None, "object": None, "pc": None}
FREE = """
    addr 16
    lit1; lit2; plus
    addr 16; deref; lit8; LLVM_offset
    implicit_value 01; piece 1; LLVM_undefined; piece 3
    lit5; stack_value
    lit1; bra @end; LLVM_push_lane; end:
"""


@pytest.mark.parametrize("ops", [line.strip() for line in FREE.strip().splitlines()])
def test_what_needs_no_element_works_without_any(ops):
    assert not isinstance(outcome(parsed(ops, TARGET), **NOTHING), DwarfGpuError)
