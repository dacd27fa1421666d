"""A.2.5.1 DWARF Expression Evaluation Context: what each element gives, and the error of each that is missing."""

from __future__ import annotations

import pytest

from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.expr import locations, types
from dwarfgpu.expr.context import Context, DieInfo
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.storages import Memory, Register
from dwarfgpu.lanes import LaneSet
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, answer, parsed, table


def amd(clause, ops, expected, **case):
    """A row under the rules of the text that the clauses A.* are of."""
    return Case(clause, ops, expected, **{"rules": "amd", "dialect": "llvm-user", **case})


GPU = {"target": "amdgcn-gfx90a"}
U4 = {"encoding": "unsigned", "byte_size": 4}

MISSING = [
    # "If the evaluation requires a context element that is not specified, then the result ... is an error."
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "lane"),
    amd("A.2.5.1 current lane", "DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", "lane", **GPU),
    amd("A.2.5.1 current lane", "DW_OP_lit5; DW_OP_LLVM_aspace_bregx s0 0", "lane", **GPU, registers={"s0": 1}),
    amd("A.2.5.1 current iteration", "DW_OP_LLVM_push_iteration", "iteration"),
    amd("A.2.5.1 current call frame", "DW_OP_call_frame_cfa", "frame"),
    amd("A.2.5.1 current call frame", "DW_OP_fbreg 0", "frame"),
    amd("A.2.5.1 current call frame", "DW_OP_entry_value (DW_OP_lit1)", "frame"),
    amd("A.2.5.1 current call frame", "DW_OP_GNU_parameter_ref 4", "frame"),
    amd("A.2.5.1 current thread", "DW_OP_lit0; DW_OP_form_tls_address", "thread"),
    amd("A.2.5.1 current compilation unit", "DW_OP_constx 0", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_addrx 0", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_const_type 4 01", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_regval_type 0 4", "unit", registers={"0": 1}),
    amd("A.2.5.1 current compilation unit", "DW_OP_lit0; DW_OP_deref_type 4 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_lit0; DW_OP_lit0; DW_OP_xderef_type 4 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_lit0; DW_OP_convert 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_lit0; DW_OP_reinterpret 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_call2 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_call4 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_call_ref 4", "unit"),
    amd("A.2.5.1 current compilation unit", "DW_OP_GNU_variable_value 4", "unit"),
    amd("A.2.5.1 current object", "DW_OP_push_object_address", "object"),
]

ELEMENTS = [
    # *A current result kind*: "The kind of result required by the DWARF expression evaluation."
    amd("A.2.5.1 current result kind", "DW_OP_lit5", "mem 0x5", want="location"),
    amd("A.2.5.1 current result kind", "DW_OP_lit5", "5", want="value"),
    amd("A.2.5.1 current result kind", "DW_OP_reg5", "r5", want="location", registers={"5": 9}),
    amd("A.2.5.1 current result kind", "DW_OP_reg5", "bad_result_kind", want="value"),
    # *A current lane*: "The 0 based SIMT lane identifier".
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "0", lane=0),
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "7", lane=7, lane_count=8),
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "63", lane=63, **GPU),
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", ["0", "1", "2", "3"], lane_count=4),
    amd(
        "A.2.5.1 current lane",
        "DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
        "private_lane#0x10@9",
        lane=9,
        **GPU,
    ),
    # *A current iteration*: "The 0 based source language iteration instance".
    amd("A.2.5.1 current iteration", "DW_OP_LLVM_push_iteration", "0", iteration=0),
    amd("A.2.5.1 current iteration", "DW_OP_LLVM_push_iteration", "3", iteration=3, iterations=4),
    # *A current call frame*
    amd("A.2.5.1 current call frame", "DW_OP_call_frame_cfa", "mem 0x7f00", cfa=0x7F00),
    amd("A.2.5.1 current call frame", "DW_OP_fbreg -16", "mem 0x7ef0", frame_base=0x7F00),
    amd("A.2.5.1 current call frame", "DW_OP_reg3", "r3"),
    # *A current object*: "The location description of a program object", of every kind.
    amd("A.2.5.1 current object", "DW_OP_push_object_address", "mem 0x40", object=0x40),
    amd("A.2.5.1 current object", "DW_OP_push_object_address", "r4", object={"kind": "register", "register": 4}),
    amd("A.2.5.1 current object", "DW_OP_push_object_address", "undefined", object={"kind": "undefined"}),
    amd(
        "A.2.5.1 current object",
        "DW_OP_push_object_address; DW_OP_lit4; DW_OP_LLVM_offset",
        "mem 0x44 | r5+32",
        object={
            "kind": "multiple",
            "places": [{"kind": "memory", "address": 0x40}, {"kind": "register", "register": 5}],
        },
    ),
    # *An initial stack*: "pushed ... in the order provided before evaluation of an operation expression starts".
    amd("A.2.5.1 initial stack", "DW_OP_nop", ("1", "2", "3"), initial_stack=[1, 2, 3]),
    amd("A.2.5.1 initial stack", "DW_OP_minus", "7", initial_stack=[9, 2]),
    amd(
        "A.2.5.1 initial stack",
        "DW_OP_lit8; DW_OP_LLVM_offset",
        "mem 0x108",
        initial_stack=[{"kind": "memory", "address": 0x100}],
    ),
    amd(
        "A.2.5.1 initial stack",
        "DW_OP_nop",
        ("-5:signed32", "1.5:float64", "[1, 2]:unsigned16x2", "r7+8"),
        initial_stack=[
            {"value": -5, "type": {"encoding": "signed", "byte_size": 4}},
            {"value": 1.5, "type": {"encoding": "float", "byte_size": 8}},
            {"value": [1, 2], "type": {"encoding": "unsigned", "byte_size": 2, "vector_size": 2}},
            {"kind": "register", "register": 7, "bit_offset": 8},
        ],
    ),
    # "In all other cases the initial stack is empty."
    amd("A.2.5.1 initial stack", "DW_OP_nop", ()),
    amd("A.2.5.1 initial stack", "DW_OP_drop", "stack_underflow"),
    # *A current target architecture*: registers, address spaces and the size of addresses are its own.
    amd("A.2.5.1 current target architecture", "DW_OP_reg0", "rax", target="x86_64"),
    amd("A.2.5.1 current target architecture", "DW_OP_reg16", "pc", **GPU),
    amd("A.2.5.1 current target architecture", "DW_OP_regx 2560", "v0", **GPU),
    amd("A.2.5.1 current target architecture", "DW_OP_lit0; DW_OP_not", "65535", address_size=2),
    amd("A.2.5.1 current target architecture", "DW_OP_reg8", "bad_operand", **GPU),  # no such register
    # "If any of the context elements required to create a location description" differ when it is accessed, the storage
    # is that of the elements at creation (A.2.5.3): the memory of lane 3, read in lane 0.
    amd(
        "A.2.5.3",
        "DW_OP_deref_size 4",
        "42",
        **GPU,
        lane=0,
        initial_stack=[{"kind": "memory", "space": 5, "address": 16, "lane": 3}],
        memory=[
            {"space": "private_lane", "lane": 0, "address": 16, "bytes": "01000000"},
            {"space": "private_lane", "lane": 3, "address": 16, "bytes": "2a000000"},
        ],
    ),
    # "the DWARF expression is ill-formed if the object value held in each single location description's position ... is
    # not the same value, except for the parts of the value that are uninitialized" (A.2.5.3).
    amd(
        "A.2.5.3",
        "DW_OP_push_object_address; DW_OP_deref",
        "bad_operand",
        registers={"1": 5, "2": 6},
        object={
            "kind": "multiple",
            "places": [{"kind": "register", "register": 1}, {"kind": "register", "register": 2}],
        },
    ),
    amd(
        "A.2.5.3",
        "DW_OP_push_object_address; DW_OP_deref",
        "5",
        registers={"1": 5, "2": 5},
        object={
            "kind": "multiple",
            "places": [{"kind": "register", "register": 1}, {"kind": "register", "register": 2}],
        },
    ),
    amd(
        "A.2.5.3",
        "DW_OP_push_object_address; DW_OP_deref",
        "5",
        registers={"1": 5},
        object={"kind": "multiple", "places": [{"kind": "undefined"}, {"kind": "register", "register": 1}]},
    ),
]

NOT_CONSISTENT = [
    # A lane "must be consistent with the value of the DW_AT_LLVM_lanes attribute": pushing another is ill-formed.
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "bad_operand", lane=8, lane_count=8),
    amd("A.2.5.1 current lane", "DW_OP_LLVM_push_lane", "bad_operand", lane=1),
    # ... and so an iteration with that of DW_AT_LLVM_iterations, 1 by default.
    amd("A.2.5.1 current iteration", "DW_OP_LLVM_push_iteration", "bad_operand", iteration=1),
    amd("A.2.5.1 current iteration", "DW_OP_LLVM_push_iteration", "bad_operand", iteration=4, iterations=4),
]

test_a_missing_element_has_its_own_error = table(MISSING)
test_elements_are_what_the_operations_give = table(ELEMENTS)
test_elements_must_be_consistent = table(NOT_CONSISTENT)


@pytest.mark.parametrize("case", MISSING, ids=repr)
def test_a_missing_element_is_an_error_of_its_own_class(case):
    error = answer(case.ops, **case.case)["error"]

    assert error["class"] == "missing_context"
    assert error["spec"].startswith("A.2.5")
    assert error["operation"].startswith("DW_OP_")


# --- Elements that only a context without them shows ---------------------------------------------------------------

TARGET = resolve("generic")


class Frame:
    """A frame in which everything is known."""

    def register(self, number, lanes):
        return locations.at(Register(TARGET.register(number)))

    entry_register = register

    def cfa(self, lanes):
        return locations.at(Memory(TARGET.default_space), 8)

    frame_base = cfa

    def caller(self):
        return self

    def entry_value(self, expression, lanes):
        return None

    def thread_local(self, offset, lanes, unit):
        return self.cfa(lanes)


class Unit:
    """A unit in which every offset holds what is looked for."""

    reference_size = 4

    def base_type(self, offset):
        return types.unsigned(64)

    def address(self, index):
        return index

    def relocated(self, address):
        return address

    def die(self, reference):
        return DieInfo(self)


class Zeros:
    """Memory and registers full of zeros."""

    has_gaps = False

    def read_memory(self, space, address, size, wave, lane):
        return bytes(size)

    def read_register(self, register, wave, lane):
        return bytes(register.bit_size // 8)


def outcome(ops, **changes):
    """The result in a context in which every element is specified, but those that are changed to None."""
    elements = {
        "lanes": LaneSet.one(0),
        "iteration": 0,
        "frame": Frame(),
        "unit": Unit(),
        "object": locations.at(Memory(TARGET.default_space)),
        "pc": 0,
    }
    code = parsed(ops, TARGET)
    return evaluate(code, Context(TARGET, AMD, Zeros(), **{**elements, **changes})).of(0)


FRAME = """
    DW_OP_reg0
    DW_OP_reg31
    DW_OP_regx 40
    DW_OP_breg0 0
    DW_OP_breg31 0
    DW_OP_bregx 40 0
    DW_OP_lit0; DW_OP_LLVM_aspace_bregx 40 0
    DW_OP_regval_type 0 1
    DW_OP_fbreg 0
    DW_OP_call_frame_cfa
    DW_OP_LLVM_call_frame_entry_reg 0
    DW_OP_entry_value (DW_OP_lit1)
"""
UNIT = """
    DW_OP_constx 0
    DW_OP_addrx 0
    DW_OP_const_type 1 0102030405060708
    DW_OP_regval_type 0 1
    DW_OP_lit0; DW_OP_deref_type 8 1
    DW_OP_lit0; DW_OP_lit0; DW_OP_xderef_type 8 1
    DW_OP_lit0; DW_OP_convert 1
    DW_OP_lit0; DW_OP_reinterpret 1
    DW_OP_call2 0
    DW_OP_call4 0
    DW_OP_call_ref 0
    DW_OP_implicit_pointer 0 0
    DW_OP_lit0; DW_OP_LLVM_aspace_implicit_pointer 0 0
"""
# Required "for operations that are related to target architecture threads", such as DW_OP_regval_type, as which
# DW_OP_breg* and DW_OP_bregx retrieve their register (A.2.5.4.4.3 (7)).
THREAD = """
    DW_OP_reg0
    DW_OP_regx 40
    DW_OP_regval_type 0 1
    DW_OP_breg0 0
    DW_OP_bregx 40 0
    DW_OP_lit0; DW_OP_LLVM_aspace_bregx 40 0
    DW_OP_lit0; DW_OP_form_tls_address
"""
REQUIRED = [
    *(("frame", line.strip()) for line in FRAME.strip().splitlines()),
    *(("unit", line.strip()) for line in UNIT.strip().splitlines()),
    *(("thread", line.strip()) for line in THREAD.strip().splitlines()),
    ("lane", "DW_OP_LLVM_push_lane"),
    ("iteration", "DW_OP_LLVM_push_iteration"),
    ("object", "DW_OP_push_object_address"),
]
NOT_SPECIFIED = {"thread": {"lanes": LaneSet(1, None, 0)}, "lane": {"lanes": LaneSet(1, 0, None)}}


@pytest.mark.parametrize("element, ops", REQUIRED)
def test_an_operation_requires_the_elements_it_is_about(element, ops):
    changes = NOT_SPECIFIED.get(element, {element: None})

    assert not isinstance(outcome(ops), DwarfGpuError)
    error = outcome(ops, **changes)
    assert isinstance(error, MissingContext), error
    assert error.kind == element


def test_the_frame_base_needs_no_unit():
    """A.2.5.4.4.3 (6): it is that of the subprogram of the call frame."""
    assert outcome("DW_OP_fbreg 8", unit=None) == outcome("DW_OP_fbreg 8")
    assert not isinstance(outcome("DW_OP_fbreg 8"), DwarfGpuError)


# "A DWARF expression for a location description may be able to be evaluated without a thread, lane, call frame, program
# location, or architecture context."
NOTHING = {"lanes": LaneSet(1, None, None), "iteration": None, "frame": None, "unit": None, "object": None, "pc": None}
FREE = """
    DW_OP_addr 16
    DW_OP_lit1; DW_OP_lit2; DW_OP_plus
    DW_OP_addr 16; DW_OP_deref; DW_OP_lit8; DW_OP_LLVM_offset
    DW_OP_implicit_value 01; DW_OP_piece 1; DW_OP_LLVM_undefined; DW_OP_piece 3
    DW_OP_lit5; DW_OP_stack_value
    DW_OP_lit1; DW_OP_bra @end; DW_OP_LLVM_push_lane; end:
"""


@pytest.mark.parametrize("ops", [line.strip() for line in FREE.strip().splitlines()])
def test_what_needs_no_element_works_without_any(ops):
    assert not isinstance(outcome(ops, **NOTHING), DwarfGpuError)
