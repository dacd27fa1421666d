"""The reference of instructions: every operation of the tables, with its encodings, operands and memory access."""

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.isa.formulas import formulas
from dwarfgpu.program.code.instruction_reference import find, names, reference_of
from tests.builders.errors import raised
from tests.builders.parameters import for_each


def test_each_formula_is_of_an_instruction():
    assert formulas().keys() <= set(names())


ENCODINGS = [  # as llvm-mc writes them, for the first and the last generation that has them
    ("v_bfe_u32", (8, "VOP3", "", 0x1C8), (12, "VOP3", "dpp8", 0x210)),
    ("s_and_b32", (8, "SOP2", "", 0xC), (12, "SOP2", "", 0x16)),
    ("global_load_dword", (9, "GLOBAL", "", 0x14), (10, "GLOBAL", "", 0xC)),
    ("s_wait_loadcnt", (12, "SOPP", "", 0x40), (12, "SOPP", "", 0x40)),
]


@pytest.mark.parametrize("name, first, last", ENCODINGS)
def test_encodings(name, first, last):
    found = [(each.generation, each.format, each.variant, each.opcode) for each in reference_of(name).encodings]
    assert (found[0], found[-1]) == (first, last)


@for_each(
    "name, expected",
    ("v_mad_u64_u32", ["vdst dst 64", "sdst dst 32", "src0 src 32", "src1 src 32", "src2 src 64"]),
    ("ds_add_rtn_u32", ["vdst dst 32", "addr src 32", "data0 src 32"]),
    ("s_endpgm", []),
)
def test_operands(name, expected):
    operands = reference_of(name).plain.operands
    assert [f"{each.name} {each.role.value} {each.bits}" for each in operands if each.bits] == expected


@for_each(
    "name, expected",
    ("global_load_dword", ("load", "global", ("vmcnt",))),
    ("global_store_b32", ("store", "global", ("storecnt",))),
    ("ds_add_u32", ("rmw", "local", ("dscnt",))),
    ("s_load_b64", ("load", "scalar", ("kmcnt",))),
    ("v_add_f32", ("", "", ())),
)
def test_memory_access_in_the_latest_generation(name, expected):
    action = reference_of(name).plain.action
    assert (action.operation, action.space, action.counters) == expected


@pytest.mark.parametrize("name", ["v_bfe_u32", "V_BFE_U32", "v_bfe_u32_e64"])
def test_a_name_with_or_without_the_suffix_of_its_encoding(name):
    assert [each.name for each in find(name)] == ["v_bfe_u32"]


def test_part_of_a_name():
    assert [each.name for each in find("bfe_u")] == ["s_bfe_u32", "s_bfe_u64", "v_bfe_u32"]


def test_an_unknown_name_has_a_hint():
    assert "v_bfe_u32" in raised(UsageError, find, "v_bfe_u33").hint
