"""A.6.4.2 Call frame instructions: the operations that their expressions may not use."""

from typing import Any

import pytest
from cases_context import DescribedDie, DescribedFrame, DescribedUnit

from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import locations, table, types
from dwarfgpu.expr.context import Context, DieReference
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Memory
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import Value
from dwarfgpu.expr.verify import verify
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import parsed
from tests.builders.errors import raised
from tests.builders.parameters import for_each, in_one_test

pytestmark = pytest.mark.spec("A.6.4.2")
WAVE64 = "amdgcn-gfx90a"
OTHER_SECTIONS = {
    # Call frame information must not depend on other debug sections.
    "DW_OP_addrx": "DW_OP_addrx 1",               "DW_OP_call2": "DW_OP_call2 0x10",
    "DW_OP_call4": "DW_OP_call4 0x10",            "DW_OP_call_ref": "DW_OP_call_ref 0x10",
    "DW_OP_const_type": "DW_OP_const_type 1 0100000000000000",           "DW_OP_constx": "DW_OP_constx 1",
    "DW_OP_convert": "DW_OP_convert 1",           "DW_OP_deref_type": "DW_OP_deref_type 8 1",
    "DW_OP_fbreg": "DW_OP_fbreg 0",               "DW_OP_implicit_pointer": "DW_OP_implicit_pointer 0x10 0",
    "DW_OP_regval_type": "DW_OP_regval_type 16 1",                       "DW_OP_reinterpret": "DW_OP_reinterpret 1",
    "DW_OP_xderef_type": "DW_OP_xderef_type 8 1"}  # fmt: skip
NO_OBJECT = {
    # There is no object context to provide a value to push.
    "DW_OP_push_object_address": "DW_OP_push_object_address"
}
WHOLE_THREAD = {
    # Call frame instructions describe the whole target architecture thread, not its lanes or iterations.
    "DW_OP_LLVM_push_lane": "DW_OP_LLVM_push_lane",
    "DW_OP_LLVM_push_iteration": "DW_OP_LLVM_push_iteration"}  # fmt: skip
CIRCULAR = {
    # Their use would be circular.
    "DW_OP_call_frame_cfa": "DW_OP_call_frame_cfa",
    "DW_OP_entry_value": "DW_OP_entry_value (DW_OP_reg16)"}  # fmt: skip
FORBIDDEN = {**OTHER_SECTIONS, **NO_OBJECT, **WHOLE_THREAD, **CIRCULAR}
NOT_IN_THE_LIST = {
    # Operations that the list of the text lacks, but to which one of its four reasons applies.
    "DW_OP_LLVM_aspace_implicit_pointer": "as DW_OP_implicit_pointer",
    "DW_OP_GNU_variable_value": "it refers to .debug_info",
    "DW_OP_GNU_parameter_ref": "it refers to .debug_info, and to the caller"}  # fmt: skip


def everything() -> dict[str, Any]:
    """A context in which every operation of the list would have an answer, were it not for the restriction."""
    target = resolve(WAVE64)
    machine = DescribedMachine(target)
    machine.describe_register(16, 0x1000)
    machine.describe_register(17, (1 << 64) - 1)
    machine.describe_memory(Region(target.default_space, 0x1000, bytes(8)))
    memory = locations.at(Memory(target.default_space), 8 * 0x1000)
    reg = parse("DW_OP_reg16")
    die = DescribedDie(reg)
    unit = DescribedUnit(
        base_types={1: lambda: types.unsigned(64)},
        debug_addr={1: 0x1000},
        dies={DieReference("unit", 0x10): die, DieReference("info", 0x10): die},
    )
    frame = DescribedFrame(machine, cfa=memory, frame_base=memory, entry_values={reg.data: Value(types.generic(8), 1)})
    return {
        "target": target,     "rules": AMD,         "backend": machine,   "lanes": LaneSet(1, lane=3),
        "iteration": 0,       "frame": frame,       "unit": unit,         "object": memory}  # fmt: skip


def parse(ops: str) -> Any:
    return parsed(ops, WAVE64)


def evaluated(ops: str, **context: Any) -> Any:
    return evaluate(parse(ops), Context(**{**everything(), **context})).one()


BEFORE = {
    "DW_OP_convert": "DW_OP_lit1",                           "DW_OP_reinterpret": "DW_OP_lit1",
    "DW_OP_deref_type": "DW_OP_addr 0x1000",                 "DW_OP_xderef_type": "DW_OP_lit0; DW_OP_const2u 0x1000",
}  # fmt: skip
"""What an operation needs on the stack."""


@pytest.mark.parametrize("name", FORBIDDEN)
def test_an_operation_that_is_not_allowed(name):
    ops = f"{BEFORE.get(name, 'DW_OP_nop')}; {FORBIDDEN[name]}"
    evaluated(ops)  # elsewhere it has an answer
    error = raised(IllFormed, evaluated, ops, in_cfi=True)
    assert (error.kind, error.spec) == ("not_allowed_in_cfi", "A.6.4.2")
    assert error.where.operation == name


@pytest.mark.parametrize("name", FORBIDDEN)
def test_it_is_not_allowed_in_any_context_lanes_or_branch(name):
    """That it is forbidden is said first: not that there is no unit, lane or object."""
    machine = DescribedMachine(resolve(WAVE64))
    context = Context(resolve(WAVE64), AMD, machine, in_cfi=True, frame=DescribedFrame(machine))
    caught = raised(DwarfGpuError, evaluate(parse(f"{BEFORE.get(name, 'DW_OP_nop')}; {FORBIDDEN[name]}"), context).one)
    assert caught.kind == "not_allowed_in_cfi"
    lanes = LaneSet.of(range(4))
    results = evaluate(
        parse(f"{BEFORE.get(name, 'DW_OP_nop')}; {FORBIDDEN[name]}"),
        Context(**{**everything(), "lanes": lanes, "in_cfi": True}),
    )
    assert [getattr(one, "kind", None) for one in results] == ["not_allowed_in_cfi"] * 4
    # An expression uses an operation, whether it comes to it or not.
    program = parse(f"DW_OP_lit1; DW_OP_skip @end; {FORBIDDEN[name]}; end: DW_OP_nop")
    findings = verify(program, rules=AMD, in_cfi=True)
    assert [finding.operation for finding in findings if finding.kind == "not_allowed_in_cfi"] == [name]
    assert not [one for one in verify(program, rules=AMD) if one.kind == "not_allowed_in_cfi"]


def names_of(row: table.Operation) -> set[str]:
    return {row.name, *row.aliases}


ALLOWED = [row.name for row in table.rows() if not names_of(row) & {*FORBIDDEN, *NOT_IN_THE_LIST}]


@in_one_test("name", ALLOWED)
def test_every_other_operation_is_allowed(name):
    row = table.find(name)
    assert row is not None
    assert row.cfi_obstacle is None


@pytest.mark.parametrize("name", NOT_IN_THE_LIST)
def test_operations_to_which_a_reason_applies(name):
    row = table.find(name)
    assert row is not None
    assert row.cfi_obstacle is not None


def test_other_names_of_an_operation_and_lanes_are_not_allowed_either():
    """DW_OP_GNU_entry_value and the like are the operations of DWARF 5 under their first names."""
    for alias in ("DW_OP_GNU_entry_value", "DW_OP_GNU_regval_type", "DW_OP_GNU_addr_index", "DW_OP_push_lane"):
        row = table.find(alias)
        assert row is not None
        assert row.cfi_obstacle is not None
    # Call frame instructions describe the whole thread: there is no lane to form a private_lane address for.
    ops = "DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
    assert raised(DwarfGpuError, evaluated, ops, in_cfi=True, lanes=LaneSet(1), unit=None, object=None).kind == "lane"


@for_each("ops",
    "DW_OP_lit16; DW_OP_lit6; DW_OP_LLVM_form_aspace_address",
    "DW_OP_bregx pc 0; DW_OP_deref",
    "DW_OP_regx exec; DW_OP_deref_size 4",
    "DW_OP_regx pc; DW_OP_piece 4; DW_OP_regx exec; DW_OP_piece 4",
    "DW_OP_LLVM_undefined",
    "DW_OP_LLVM_call_frame_entry_reg exec; DW_OP_deref_size 8",
    "DW_OP_addr 0x1000; DW_OP_LLVM_offset_uconst 4; DW_OP_deref_size 1",
    "DW_OP_implicit_value 00; DW_OP_LLVM_extend 8 2")  # fmt: skip
def test_what_is_allowed_is_evaluated(ops):
    """The operations that the text leaves give the same in call frame information as elsewhere."""
    assert evaluated(ops, in_cfi=True, lanes=LaneSet(1), unit=None, object=None) == evaluated(ops)
