"""A.6.4.1: the rules of registers as locations, and the CFA (A.6.4.2.2), each in the top frame and in its caller."""

# ruff: noqa: E501 (a row is one line)

from typing import Any, NamedTuple

import pytest
from attrs import evolve

from dwarfgpu.cfi import rules
from dwarfgpu.cfi.activation import CFA, Activation
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.locations import UNDEFINED
from dwarfgpu.lanes import LaneSet
from tests.builders.activations import START, stack
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each

BASE = "LLVM_def_aspace_cfa $s33 0 6"
"""A CFA at the address in s33, in private_wave."""
X86 = "def_cfa $rbp 16"


class Row(NamedTuple):
    spec: str
    instructions: str
    register: str
    expected: str
    """A location as text, or the kind of an error."""
    setting: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.spec}: {self.instructions or 'nothing'} [{self.register}] -> {self.expected}"


def row(spec: str, instructions: str, register: str, expected: str, **setting: Any) -> Row:
    return Row(spec, instructions, register, expected, setting)


def answer(one: Row, lane: int | None = None) -> str:
    setting = {"registers": {"s33": 0x400, "s32": 0x800}, **one.setting}
    if setting.get("target") == "x86_64":
        setting["registers"] = {"rbp": 0x7000, "rsp": 0x6FF0, "rip": START, **one.setting.get("registers", {})}
    made = stack([one.instructions or None], **setting)
    thread = made.thread
    lanes = thread.lanes if lane is None else LaneSet(1, 0, lane)
    try:
        if one.register == "CFA":
            found = made.top.cfa(lanes)
        else:
            register = thread.target.register_named(one.register)
            found = made.top.entry_register(int(one.register) if register is None else register.number, lanes)
    except DwarfGpuError as error:
        return error.kind
    return TextRenderer(thread.target.byte_order).location(found)


ROWS = [
    # --- undefined ---
    row("undefined", f"{BASE}; undefined $s40", "s40", "undefined"),
    row("undefined", f"{BASE}; undefined $v45", "v45", "undefined"),
    # --- same value: in the top frame the register itself ---
    row("same value", f"{BASE}; same_value $s4", "s4", "s4"), row("same value", f"{BASE}; same_value $v0", "v0", "v0"),
    row("same value", f"{BASE}; same_value 9999", "9999", "bad_operand"),
    # --- offset(N) ---
    row("offset(N)", f"{BASE}; offset_extended $v40 0x100", "v40", "private_wave#0x500"),
    row("offset(N)", f"{BASE}; offset_extended_sf $v40 -0x100", "v40", "private_wave#0x300"),
    row("offset(N)", f"{BASE}; offset_extended_sf $v40 -0x401", "v40", "offset_out_of_storage"),
    row("offset(N)", f"{BASE}; offset_extended 9999 8", "9999", "private_wave#0x408"),
    row("offset(N)", "offset_extended $s40 0", "s40", "no_unwind_information"),
    row("offset(N)", f"{X86}; offset_extended_sf $rbx -24", "rbx", "default#0x6ff8", target="x86_64"),
    # --- val_offset(N) ---
    row("val_offset(N)", f"{BASE}; val_offset $s40 0x20", "s40", "implicit 20040000"),
    row("val_offset(N)", f"{BASE}; val_offset_sf $s40 -4", "s40", "implicit fc030000"),
    row("val_offset(N)", f"{BASE}; val_offset $v40 0", "v40", "bad_size"),
    row("val_offset(N)", f"{BASE}; val_offset $exec 0", "exec", "bad_size"),
    row("val_offset(N)", f"{X86}; val_offset $rsp 8", "rsp", "implicit 1870000000000000", target="x86_64"),
    row("val_offset(N)", f"{X86}; val_offset $xmm0 8", "xmm0", "bad_size", target="x86_64"),
    row("val_offset(N)", f"{X86}; val_offset $cs 8", "cs", "bad_size", target="x86_64"),
    # --- register(R) ---
    row("register(R)", f"{BASE}; register $s40 $s41", "s40", "s41"),
    row("register(R)", f"{BASE}; register $v40 $a3", "v40", "a3"),
    row("register(R)", f"{BASE}; register $s40 $v1", "s40", "bad_size"),
    row("register(R)", f"{BASE}; register $exec $s4", "exec", "bad_size"),
    row("register(R)", f"{BASE}; register $s40 9999", "s40", "bad_operand"),
    row("register(R)", f"{BASE}; register $s40 $s40", "s40", "cycle"),
    row("register(R)", f"{BASE}; register $s40 $s41; register $s41 $s40", "s40", "cycle"),
    row("register(R)", f"{BASE}; register $s40 $s41; register $s41 $s42; register $s42 $s40", "s41", "cycle"),
    row("register(R)", f"{BASE}; register $s40 $s41; register $s41 $s42; register $s42 $s41", "s40", "cycle"),
    row("register(R)", f"{BASE}; register $s40 $s41; register $s41 $s42", "s40", "s41"),
    # what R held before is lost, if no rule says where it went
    row("register(R)", f"{BASE}; register $s33 $s40", "s40", "undefined"),
    # --- expression(E): the CFA is on the stack ---
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_LLVM_offset_uconst 8}}", "s40", "private_wave#0x408"),
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_regx v3, DW_OP_LLVM_offset_uconst 20}}", "s40", "v3 bit 160 (v3[5])"),
    row("expression(E)", f"{BASE}; expression $pc {{DW_OP_regx s30, DW_OP_piece 4, DW_OP_regx s31, DW_OP_piece 4}}", "pc", "{s30: 32 bits, s31: 32 bits}"),
    row("expression(E)", f"{BASE}; expression $pc {{DW_OP_regx v3, DW_OP_bit_piece 32 64, DW_OP_regx v3, DW_OP_bit_piece 32 96}}", "pc", "{v3 bit 64 (v3[2]): 64 bits}"),
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_lit5, DW_OP_stack_value}}", "s40", "implicit 0500000000000000"),
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_LLVM_undefined}}", "s40", "undefined"),
    row("expression(E)", f"{BASE}; expression $s40 {{}}", "s40", "private_wave#0x400"),
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_drop, DW_OP_drop}}", "s40", "stack_underflow"),
    row("expression(E)", f"{BASE}; expression $s40 {{DW_OP_regx s41, DW_OP_deref_size 4, DW_OP_lit3, DW_OP_LLVM_form_aspace_address}}", "s40", "local#0x24", registers={"s33": 0x400, "s41": 0x24}),
    row("expression(E)", "expression $s40 {DW_OP_regx s41}", "s40", "no_unwind_information"),
    # a vector register saved for the lanes that were active on entry
    row(
        "expression(E)",
        f"{BASE}; expression $v40 {{DW_OP_regx v40, DW_OP_swap, DW_OP_LLVM_offset_uconst 256, "
        "DW_OP_LLVM_call_frame_entry_reg exec, DW_OP_deref_size 8, DW_OP_LLVM_select_bit_piece 32 64}",
        "v40",
        "{private_wave#0x500: 1024 bits, v40 bit 1024 (v40[32]): 1024 bits}",
        registers={"s33": 0x400, "exec": 0xFFFFFFFF},
    ),
    # --- val_expression(E) ---
    row("val_expression(E)", f"{X86}; val_expression $rbx {{DW_OP_lit5}}", "rbx", "implicit 0500000000000000", target="x86_64"),
    row("val_expression(E)", f"{X86}; val_expression $rbx {{DW_OP_lit8, DW_OP_plus}}", "rbx", "implicit 1870000000000000", target="x86_64"),
    row("val_expression(E)", f"{X86}; val_expression $xmm0 {{DW_OP_lit5}}", "xmm0", "bad_size", target="x86_64"),
    row("val_expression(E)", f"{X86}; val_expression $cs {{DW_OP_lit5}}", "cs", "bad_size", target="x86_64"),
    row("val_expression(E)", f"{BASE}; val_expression $s40 {{DW_OP_lit5}}", "s40", "bad_size"),
    row("val_expression(E)", f"{BASE}; val_expression $exec {{DW_OP_lit5}}", "exec", "implicit 0500000000000000"),
    row("val_expression(E)", f"{BASE}; val_expression $exec {{DW_OP_regx s4}}", "exec", "bad_result_kind"),
    # --- no rule: the default of the target ---
    row("initial_instructions", BASE, "s40", "s40"),          row("initial_instructions", BASE, "s4", "undefined"),
    row("initial_instructions", BASE, "v0", "undefined"),     row("initial_instructions", BASE, "v40", "v40"),
    row("initial_instructions", BASE, "exec", "exec"),        row("initial_instructions", BASE, "vcc", "undefined"),
    row("initial_instructions", BASE, "s32", "implicit 00040000"),
    row("initial_instructions", BASE, "s32", "implicit 10000000", target="amdgcn-gfx942"),
    row("initial_instructions", X86, "rsp", "implicit 1070000000000000", target="x86_64"),
    row("initial_instructions", X86, "rbx", "rbx", target="x86_64"),
    row("initial_instructions", X86, "rax", "undefined", target="x86_64"),
    # a compiler that names what the function has changed: another register was not
    row("initial_instructions", f"{BASE}; undefined $v1", "v0", "v0"),
    row("initial_instructions", f"{BASE}; undefined $v1", "s4", "s4"),
    row("initial_instructions", f"{BASE}; undefined $v1", "vcc", "undefined"),
    row("initial_instructions", f"{BASE}; undefined $pc", "s4", "undefined"),
    row("initial_instructions", f"{X86}; undefined $rcx", "rax", "undefined", target="x86_64"),
    # no call frame information at all (A.2.5.4.4.1 (5))
    row("A.2.5.4.4.1 (5)", "", "s40", "s40"),                 row("A.2.5.4.4.1 (5)", "", "v0", "undefined"),
    row("A.2.5.4.4.1 (5)", "", "s32", "no_unwind_information"),
    # --- the CFA (A.6.4.2.2) ---
    row("A.6.4.2.2 (1)", "def_cfa $rbp 16", "CFA", "default#0x7010", target="x86_64"),
    row("A.6.4.2.2 (2)", "def_cfa_sf $rbp -16", "CFA", "default#0x6ff0", target="x86_64"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa $s33 16 6", "CFA", "private_wave#0x410"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa $s33 16 3", "CFA", "local#0x410"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa $s33 16 99", "CFA", "bad_address_space"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa 9999 16 6", "CFA", "bad_operand"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa $s40 16 6", "CFA", "register_unavailable"),
    row("A.6.4.2.2 (3)", "LLVM_def_aspace_cfa $s33 0x10 1", "CFA", "read_past_storage"),
    row("A.6.4.2.2 (4)", "LLVM_def_aspace_cfa_sf $s33 -16 6", "CFA", "private_wave#0x3f0"),
    row("A.6.4.2.2 (5)", f"{BASE}; def_cfa_register $s32", "CFA", "private_wave#0x800"),
    row("A.6.4.2.2 (5)", "def_cfa_register $s32", "CFA", "no_cfa_rule"),
    row("A.6.4.2.2 (5)", "def_cfa_expression {DW_OP_lit0}; def_cfa_register $s32", "CFA", "cfa_rule_is_expression"),
    row("A.6.4.2.2 (6)", f"{BASE}; def_cfa_offset 32", "CFA", "private_wave#0x420"),
    row("A.6.4.2.2 (6)", "def_cfa_offset 32", "CFA", "no_cfa_rule"),
    row("A.6.4.2.2 (7)", f"{BASE}; def_cfa_offset_sf -32", "CFA", "private_wave#0x3e0"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_regx s32, DW_OP_deref_size 4, DW_OP_lit6, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}", "CFA", "private_wave#0x20000"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}", "CFA", "private_wave#0x0"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_breg6 8}", "CFA", "default#0x7008", target="x86_64"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_breg6 0, DW_OP_deref}", "CFA", "default#0x1122334455667788", target="x86_64", memory={("default", 0x7000): bytes.fromhex("8877665544332211")}),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_regx s33}", "CFA", "wrong_kind"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_lit5, DW_OP_stack_value}", "CFA", "wrong_kind"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_LLVM_undefined}", "CFA", "wrong_kind"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {}", "CFA", "wrong_kind"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_regx s30, DW_OP_piece 4, DW_OP_regx s31, DW_OP_piece 4}", "CFA", "wrong_kind"),
    row("A.6.4.2.2 (8)", "def_cfa_expression {DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address, DW_OP_lit1, DW_OP_LLVM_bit_offset}", "CFA", "wrong_kind"),
    row("A.6.4.1", "undefined $s40", "CFA", "no_unwind_information"),
    row("A.6.4.1", "", "CFA", "no_unwind_information"),
    # --- what is not allowed (A.6.4.2) ---
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_call_frame_cfa}}", "s40", "not_allowed_in_cfi"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_fbreg 0}}", "s40", "not_allowed_in_cfi"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_LLVM_push_lane}}", "s40", "not_allowed_in_cfi"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_push_object_address}}", "s40", "not_allowed_in_cfi"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_entry_value (DW_OP_reg0)}}", "s40", "not_allowed_in_cfi"),
    row("A.6.4.2", "def_cfa_expression {DW_OP_addrx 0}", "CFA", "not_allowed_in_cfi"),
    row("A.6.4.2", f"{BASE}; val_expression $exec {{DW_OP_constx 0}}", "exec", "not_allowed_in_cfi"),
    # --- circles of DW_OP_LLVM_call_frame_entry_reg (A.6.4.2) ---
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_LLVM_call_frame_entry_reg s40}}", "s40", "cycle"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_LLVM_call_frame_entry_reg s41}}; expression $s41 {{DW_OP_LLVM_call_frame_entry_reg s40}}", "s41", "cycle"),
    row("A.6.4.2", "def_cfa_expression {DW_OP_LLVM_call_frame_entry_reg s40, DW_OP_deref_size 4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}; offset_extended $s40 0", "CFA", "cycle"),
    row("A.6.4.2", "def_cfa_expression {DW_OP_LLVM_call_frame_entry_reg s32, DW_OP_deref_size 4, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}", "CFA", "cycle"),
    row("A.6.4.2", f"{BASE}; expression $s40 {{DW_OP_LLVM_call_frame_entry_reg s41}}; expression $s41 {{DW_OP_LLVM_call_frame_entry_reg s42}}", "s40", "s42"),
]  # fmt: skip


@pytest.mark.parametrize("one", ROWS, ids=lambda one: one.id)
def test_rule(one):
    assert answer(one) == one.expected


def test_an_error_names_the_rule_of_the_text():
    made = stack([f"{BASE}; val_offset $v40 0"], registers={"s33": 0})
    number = made.thread.target.register_named("v40").number
    caught = raised(DwarfGpuError, made.top.entry_register, number, made.thread.lanes)
    assert (caught.error_class, caught.spec) == ("ill_formed", "A.6.4.1")
    assert caught.message == "v40 has 2048 bits, and an address of private_wave has 32"
    assert raised(DwarfGpuError, made.top.entry_register, number, made.thread.lanes) is caught  # it is found once


def test_an_architectural_rule_is_for_whoever_defines_it(monkeypatch):
    made = stack([BASE], registers={"s33": 0})
    information = made.top.information
    changed = evolve(information.row, registers={40: rules.Architectural("ra_sign")})
    monkeypatch.setattr(Activation, "information", evolve(information, row=changed))
    with pytest.raises(DwarfGpuError, match="architectural rule ra_sign") as caught:
        made.top.entry_register(40, made.thread.lanes)
    assert (caught.value.error_class, caught.value.spec) == ("unsupported", "A.6.4.1")


CALLEE = f"{BASE}; val_expression $pc {{DW_OP_const2u {START + 0x110}}}; "


def caller(callee: str, instructions: str, **setting: Any) -> Any:
    """The caller of the top frame; both have a CFA."""
    setting = {"registers": {"s33": 0x400, "s34": 0x900, "s41": 7, "v1": [5] * 64}, **setting}
    found = stack([CALLEE + callee, instructions], **setting).at(1)
    assert found is not None
    return found


@for_each("callee, instructions, register, expected",
    # same value, and no rule: where the callee has put the register of its caller
    ("offset_extended $s40 16", f"{BASE}; same_value $s40", "s40", "private_wave#0x410"),
    ("offset_extended $s40 16", BASE, "s40", "private_wave#0x410"),
    ("register $s40 $s41", f"{BASE}; same_value $s40", "s40", "s41"),
    ("undefined $s40", f"{BASE}; same_value $s40", "s40", "undefined"),
    ("", f"{BASE}; same_value $s40", "s40", "s40"),
    # register: where the other register of this frame is
    ("offset_extended $s41 32", f"{BASE}; register $s40 $s41", "s40", "private_wave#0x420"),
    ("register $s41 $s40", f"{BASE}; register $s40 $s41", "s40", "s40"),
    # an expression sees the registers of this frame, and its CFA
    ("offset_extended $v40 64", f"{BASE}; expression $s40 {{DW_OP_regx v40, DW_OP_LLVM_offset_uconst 4}}", "s40",
     "private_wave#0x444"),
    ("register $s33 $s34", f"{BASE}; expression $s40 {{}}", "s40", "private_wave#0x900"),
    ("register $s33 $s34", f"{BASE}; offset_extended $s40 4", "s40", "private_wave#0x904"),
    ("undefined $s33", f"{BASE}; offset_extended $s40 4", "s40", "undefined_read"),
    # what a register holds that the caller has elsewhere
    ("expression $s33 {DW_OP_regx v1, DW_OP_LLVM_offset_uconst 8}", BASE, "s32", "implicit 05000000"))  # fmt: skip
def test_rule_of_a_caller(callee, instructions, register, expected):
    found = caller(callee, instructions)
    thread = found.thread
    number = thread.target.register_named(register).number
    try:
        text = TextRenderer("little").location(found.entry_register(number, thread.lanes))
    except DwarfGpuError as error:
        text = error.kind
    assert text == expected


def test_registers_of_a_caller_are_remembered_beside_the_cfa():
    found = caller("offset_extended $s40 16", BASE)
    number = found.thread.target.register_named("s40").number
    assert found.register(number, found.thread.lanes) is found.register(number, LaneSet.one(3))
    made = stack([BASE], registers={"s33": 0x400})
    assert CFA < 0
    assert made.top.entry_register(36, made.thread.lanes) == UNDEFINED


def test_a_cfa_in_memory_of_a_lane_is_found_for_the_lanes_that_ask():
    made = stack(["LLVM_def_aspace_cfa $s33 8 5; offset_extended $s40 4"], registers={"s33": 0x40})
    thread, top = made.thread, made.top
    caught = raised(DwarfGpuError, top.cfa, thread.lanes)
    assert (caught.error_class, caught.kind) == ("missing_context", "lane")
    text = TextRenderer("little")
    assert text.location(top.cfa(LaneSet.one(5))) == "private_lane#0x48 (lane 5)"
    number = thread.target.register_named("s40").number
    assert text.location(top.entry_register(number, LaneSet.one(7))) == "private_lane#0x4c (lane 7)"
    assert top.cfa(LaneSet.of([1, 2])).single.storage.lane.tolist() == [1, 2]
    made = stack(["def_cfa_expression {DW_OP_const8u 0x2000000000010, DW_OP_lit1, DW_OP_LLVM_form_aspace_address}"])
    assert made.top.cfa(made.thread.lanes).single.storage.lane is None
    assert made.top.cfa(LaneSet.one(9)).single.storage.lane == 9


@every(order=["little", "big"], size=[4, 8])
def test_targets_without_address_spaces(order, size):
    made = stack(
        ["def_cfa 7 8; offset_extended 16 0; val_offset 3 0; register 4 5"], target="generic", byte_order=order,
        address_size=size, registers={"r7": 0x100}, memory={("default", 0x108): (0x1010).to_bytes(size, order)},
    )  # fmt: skip
    assert [each.pc for each in made] == [START, 0x1010]
    assert made.end is not None
    assert made.end.kind == "error"  # r7 is lost, so the caller has no CFA
    text = TextRenderer(order)
    assert text.location(made.top.entry_register(16, made.thread.lanes)) == "default#0x108"
    assert (
        text.location(made.top.entry_register(3, made.thread.lanes)) == f"implicit {0x108.to_bytes(size, order).hex()}"
    )
    assert text.location(made.top.entry_register(4, made.thread.lanes)) == "r5"
