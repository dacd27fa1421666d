"""A.6.4.2: the CFA and the rules of registers, from bytes. What entries have is in tests/objfile/test_frames.py."""

import pytest

from dwarfgpu.cfi import rules
from dwarfgpu.cfi.rows import Tables
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.objfile.call_frames import FrameSection
from dwarfgpu.targets.resolve import resolve
from tests.builders.activations import stack
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder
from tests.builders.parameters import every, for_each

WAVE = {"s33": 0x400, "s32": 0x800}


def last_row(code, initial="0c0708", target=None, order="little"):
    """Return the last row of an entry: code alignment 4, data alignment -8; the CFA is r7 + 8 at first."""
    builder = FrameBuilder(order=order)
    fde = builder.fde(builder.cie(bytes.fromhex(initial), code=4), 0x1000, 0x40, bytes.fromhex(code))
    section = FrameSection(builder.data, byte_order=order, address_size=8)
    *_, last = Tables(target).rows(section.entry_at(fde))
    return last


def cfa(code, initial="0c0708", **options):
    return last_row(code, initial, **options).cfa


def rule(code, register, initial="0c0708"):
    return last_row(code, initial).registers.get(register)


# The clause, the instructions, and the register, displacement and address space of the CFA; it was r7 + 8 before.
@for_each("clause, code, expected",
    ("A.6.4.2.2 (1)", "0c0610", (6, 16, 0)),  # DW_CFA_def_cfa: AS is the default address space
    ("A.6.4.2.2 (1)", "304008060c0610", (6, 16, 0)),
    ("A.6.4.2.2 (2)", "12067e", (6, 16, 0)),  # DW_CFA_def_cfa_sf: -2 * -8
    ("A.6.4.2.2 (2)", "30400806120602", (6, -16, 0)),
    ("A.6.4.2.2 (3)", "30401006", (64, 16, 6)),  # DW_CFA_LLVM_def_aspace_cfa: not factored
    ("A.6.4.2.2 (4)", "31407e06", (64, 16, 6)),  # DW_CFA_LLVM_def_aspace_cfa_sf: signed and factored
    ("A.6.4.2.2 (4)", "31400205", (64, -16, 5)),
    ("A.6.4.2.2 (5)", "0d06", (6, 8, 0)),  # DW_CFA_def_cfa_register: B and AS are the old ones
    ("A.6.4.2.2 (5)", "304010060d06", (6, 16, 6)),
    ("A.6.4.2.2 (6)", "0e10", (7, 16, 0)),  # DW_CFA_def_cfa_offset: R and AS are the old ones, B is not factored
    ("A.6.4.2.2 (6)", "304008060e20", (64, 32, 6)),
    ("A.6.4.2.2 (7)", "137e", (7, 16, 0)),  # DW_CFA_def_cfa_offset_sf: R and AS are the old ones, B is factored
    ("A.6.4.2.2 (7)", "304008061302", (64, -16, 6)),
    ("A.7.24", "30c001800206", (192, 256, 6)),  # operands of register, offset and space, all LEB128
    ("A.7.24", "31c0017e05", (192, 16, 5)))  # fmt: skip
@pytest.mark.parametrize("order", ["little", "big"])
def test_the_cfa(clause, code, expected, order):
    assert cfa(code, order=order) == rules.RegisterOffset(*expected)


@pytest.mark.parametrize("code", ["304010", "31407e"])
def test_a_space_that_the_target_does_not_define_is_ill_formed(code):
    """A.6.4.2.2 (3) and A.6.4.2.2 (4): AS is one of the DW_ASPACE_LLVM values of the architecture."""
    target = resolve("gfx90a")
    for space in (0, 3, 5, 6):
        assert cfa(f"{code}{space:02x}", target=target).space == space
    with pytest.raises(IllFormed):
        cfa(f"{code}04", target=target)  # reserved; 0x20 to 0x5f are the lanes of the private space


@every(code=["0d06", "0e10", "137e"], before=["", "0f027700"])
def test_a_change_of_a_cfa_that_is_no_register_is_ill_formed(before, code):
    """A.6.4.2.2 (5), A.6.4.2.2 (6), A.6.4.2.2 (7): no current CFA rule, or one of DW_CFA_def_cfa_expression."""
    raised(IllFormed, cfa, before + code, "")


def test_def_cfa_expression_is_the_place_that_the_expression_gives():
    """A.6.4.2.2 (8): DW_OP_breg7 0 is evaluated when the CFA is needed, with nothing on the stack."""
    found = cfa("0f027700")
    assert isinstance(found, rules.CfaExpression)
    assert found.block.data == b"\x77\x00"
    made = stack(["def_cfa_expression {DW_OP_lit16, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}"], registers=WAVE)
    assert TextRenderer(made.thread.target.byte_order).location(made.top.cfa(made.thread.lanes)) == "private_wave#0x10"


@pytest.mark.parametrize("operations", ["DW_OP_regx s33", "DW_OP_lit1, DW_OP_stack_value", "DW_OP_dup"])
def test_a_cfa_expression_that_gives_no_memory_is_ill_formed(operations):
    """A.6.4.2.2 (8): neither a register, an implicit value nor an empty initial stack is a memory byte address."""
    made = stack([f"def_cfa_expression {{{operations}}}"], registers=WAVE)
    raised(IllFormed, made.top.cfa, made.thread.lanes)


AFTER_8301, AFTER_05A81401 = "0c07088301", "0c070805a81401"  # initial instructions: registers 3 and 2600 are at CFA - 8


# The clause, the instructions, the register and its rule, and the initial instructions where it has a rule by them.
@for_each("clause, code, register, expected, initial",
    ("A.6.4.2.3 (1)", "07a814", 2600, rules.UndefinedRule(), ()),
    ("A.6.4.2.3 (2)", "08a814", 2600, rules.SameValue(), ()),
    ("A.6.4.2.3 (3)", "8302", 3, rules.Offset(-16), ()),  # DW_CFA_offset: unsigned and factored
    ("A.6.4.2.3 (3)", "bf7e", 63, rules.Offset(-126 * 8), ()),
    ("A.6.4.2.3 (4)", "05a8147e", 2600, rules.Offset(-126 * 8), ()),  # DW_CFA_offset_extended: the same
    ("A.6.4.2.3 (5)", "11a8147e", 2600, rules.Offset(16), ()),  # DW_CFA_offset_extended_sf: signed
    ("A.6.4.2.3 (6)", "14037e", 3, rules.ValOffset(-126 * 8), ()),  # DW_CFA_val_offset
    ("A.6.4.2.3 (7)", "15037e", 3, rules.ValOffset(16), ()),  # DW_CFA_val_offset_sf: signed
    ("A.6.4.2.3 (8)", "0903a814", 3, rules.RegisterRule(2600), ()),
    ("A.6.4.2.3 (11)", "8302c3", 3, rules.Offset(-8), (AFTER_8301,)),  # DW_CFA_restore: the initial rule is back
    ("A.6.4.2.3 (11)", "8302c3", 3, None, ()),
    ("A.6.4.2.3 (12)", "05a8140206a814", 2600, rules.Offset(-8), (AFTER_05A81401,)),  # DW_CFA_restore_extended
    ("A.6.4.2.3 (12)", "05a8140206a814", 2600, None, ()))  # fmt: skip
def test_the_rule_of_a_register(clause, code, register, expected, initial):
    assert rule(code, register, *initial) == expected


@pytest.mark.parametrize("code, kind", [("1003022308", rules.ExpressionRule), ("1603022308", rules.ValExpression)])
def test_an_expression_gives_the_place_or_the_value_of_the_register(code, kind):
    """A.6.4.2.3 (9), A.6.4.2.3 (10): expression(E) and val_expression(E); E is a block: DW_OP_plus_uconst 8."""
    found = rule(code, 3)
    assert isinstance(found, kind)
    assert found.block.data == b"\x23\x08"


def test_a_value_of_another_size_than_the_register_is_ill_formed():
    """A.6.4.2.3 (10): s40 has 32 bits, and a value of the generic type 64."""
    made = stack(["LLVM_def_aspace_cfa $s33 0 6; val_expression $s40 {DW_OP_lit1}"], registers=WAVE)
    thread = made.thread
    raised(IllFormed, made.top.entry_register, thread.target.register_named("s40").number, thread.lanes)


def test_a_column_without_a_rule_is_undefined():
    """A.6.4.1 (10): the default rule before the initial instructions, here of a register of no ABI's own default."""
    made = stack(["LLVM_def_aspace_cfa $s33 0 6"], registers=WAVE)
    thread = made.thread
    found = made.top.entry_register(thread.target.register_named("v1").number, thread.lanes)
    assert TextRenderer(thread.target.byte_order).location(found) == "undefined"
