import random

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, rules, table
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.verify import _MAX_STATES, MAX_DEPTH, Finding, _ExpressionWalk, verify
from dwarfgpu.lanes import LaneSet
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import full
from tests.builders.contexts import Frame, outcome
from tests.builders.parameters import for_each, some_slow, told
from tests.expr.programs import AMDGCN, DIALECTS, FORM, LLVM_USER, X86_64, near_programs, nested
from tests.properties.programs import context

PRESETS = list(rules.PRESETS.values())


def parse(program, dialect, form, **options):
    return asm.parse(full(program), dialect, form, **options)


def found(program, preset=rules.AMD, **options):
    """The findings as words: ``error stack_underflow 0x1``."""
    expression = parse(program, LLVM_USER, options.pop("form", FORM), target=options.get("target"))
    return [f"{one.severity} {one.kind} {one.offset:#x}" for one in verify(expression, rules=preset, **options)]


@pytest.mark.spec("A.2.5.4")
@pytest.mark.parametrize("program, expected", told("""
    lit1; lit2; plus | lit1; lit2; over; drop; drop; drop | lit1; pick 0 |  ->
    plus | dup | pick 255 | deref | stack_value | LLVM_piece_end -> error stack_underflow 0x0
    lit1; plus | lit1; swap | lit1; over | lit1; pick 1 | lit1; LLVM_overlay -> error stack_underflow 0x1
    lit1; lit1; rot | lit1; drop; drop -> error stack_underflow 0x2
    # what follows an underflow is not known, and not reported
    plus; plus; plus -> error stack_underflow 0x0
    # nor is what follows a call
    call2 8; plus; drop | call4 8; LLVM_piece_end ->          plus; call_ref 8 -> error stack_underflow 0x0
    """))  # fmt: skip
def test_depth(program, expected):
    assert ", ".join(found(program)) == expected


@for_each("depth, expected", (0, ["error stack_underflow 0x0"]), (1, ["error stack_underflow 0x1"]), (2, []))
def test_the_initial_stack_counts(depth, expected):
    assert found("drop; drop", initial_depth=depth) == expected


def test_an_initial_entry_may_be_anything():
    for program in ("deref", "lit1; plus", "stack_value", "piece 4", "dup"):
        assert found(program, initial_depth=1) == []


@pytest.mark.spec("A.2.5.4.2 (4)")
@pytest.mark.parametrize("program, expected", told("""
    # one way has an entry less
    lit1; push_lane; bra @x; drop; x: drop -> error stack_underflow 0x7
    lit1; push_lane; bra @x; dup; x: drop ->
    # a literal decides
    lit1; lit1; bra @x; drop; x: drop -> warning unreachable 0x5
    lit1; lit0; bra @x; dup; x: drop ->
    # one way leaves another kind
    lit1; push_lane; bra @x; drop; reg5; x: stack_value -> error wrong_kind 0x8
    # loops
    push_lane; x: dup; bra @x | lit8; x: lit1; minus; dup; bra @x | x: lit0; bra @x | x: push_lane; bra @x ->
    lit1; lit2; x: drop; push_lane; bra @x -> warning stack_underflow 0x2
    x: lit1; skip @x -> warning limit_exceeded 0x1, error limit_exceeded 0x4
    lit1; x: dup; bra @x -> error limit_exceeded 0x5          x: push_lane; dup; bra @x -> warning limit_exceeded 0x3
    x: skip @x -> error limit_exceeded 0x3                    x: lit1; bra @x -> error limit_exceeded 0x4
    """))  # fmt: skip
def test_paths(program, expected):
    assert ", ".join(found(program)) == expected


@pytest.mark.spec("A.2.5.4.2 (3)")
@pytest.mark.parametrize("program, expected", told("""
    skip @end; skip 100; end: -> warning bad_branch 0x3, warning unreachable 0x3
    DW_OP_skip 0; (undecoded: ff) | DW_OP_skip 1; (undecoded: ffff) -> error unknown_operation 0x3
    DW_OP_skip -2; (undecoded: ffff) -> error bad_branch 0x0, error unknown_operation 0x3
    skip 0 ->                    skip 1 | skip -4 | skip -1 -> error bad_branch 0x0
    push_lane; bra 1; const2u 5 -> error bad_branch 0x2
    # a branch that is never taken
    lit0; bra 100 -> error bad_branch 0x1
    """))  # fmt: skip
def test_branches(program, expected):
    assert ", ".join(found(program)) == expected


@pytest.mark.parametrize("count, expected", [(20, ["error stack_underflow 0x8d"]), (60, [])])
def test_where_too_many_ways_meet_the_stack_is_not_known(count, expected):
    assert found("DW_OP_push_lane; DW_OP_push_lane; DW_OP_bra @x; " * count + "x: drop; drop") == expected


def test_operations_that_no_path_reaches_are_reported_once_for_each_run_of_them():
    assert found("skip @a; dup; dup; a: skip @b; dup; b:") == ["warning unreachable 0x3", "warning unreachable 0x8"]


KINDS = told("""
    # what is found with the rules dwarf5, amd and dwarf6
    breg7 8; plus_uconst 4; deref | fbreg 8; plus_uconst 4; deref | push_object_address; plus_uconst 4; deref |
        reg5; piece 4 | reg5; GNU_uninit | lit8; lit0; LLVM_form_aspace_address; not |
        const_type 8 0102; const_type 8 0102; lt; deref | const_type 8 0102; convert 0; deref -> ok
    reg5; plus_uconst 4 | regx 5; stack_value | implicit_value 01; neg | lit1; stack_value; not |
        implicit_pointer 8 0; not | reg5; lit5; LLVM_form_aspace_address
        -> after_location, wrong_kind / wrong_kind / wrong_kind
    LLVM_undefined; lit1; eq | LLVM_undefined; bra 0 | lit1; LLVM_extend 8 4; not |
        lit8; lit5; LLVM_form_aspace_address; not | lit5; LLVM_aspace_bregx 5 0; not | const_type 8 0102; deref |
        const_type 8 0102; piece 2 | const_type 8 0102; const_type 8 0102; plus; deref -> wrong_kind
    const_type 8 0102; lit1; plus | lit1; convert 8; lit1; shl -> type_mismatch
    # what is read at an address has the generic type, whatever type the address has
    const_type 8 0102; lit5; breg7 8; xderef; plus -> deprecated, type_mismatch
    lit5; const_type 8 0102; xderef; lit1; plus | lit5; breg7 8; xderef; lit1; plus -> deprecated
    reg5; deref | reg5; dup -> after_location / ok / ok
    # a byte address is a value
    addr 8; lit1; plus -> ok
    # moved locations
    addr 8; LLVM_offset_uconst 4; not | addr 8; lit4; LLVM_offset; not | addr 8; lit8; LLVM_bit_offset; not -> ok
    reg5; LLVM_offset_uconst 4; not -> after_location, wrong_kind / wrong_kind / wrong_kind
    addr 8; lit4; LLVM_bit_offset; not -> wrong_kind
    # composites
    piece 4; piece 4 | reg5; piece 4; reg6; piece 4 | composite; reg5; piece 4 -> ok
    reg5; piece 4; dup | reg5; piece 4; LLVM_offset_uconst 1 -> incomplete_composite / incomplete_composite / ok
    reg5; piece 4; lit0; pick 1 -> bad_piece, incomplete_composite / incomplete_composite / ok
    reg5; piece 4; stack_value -> incomplete_composite / incomplete_composite / wrong_kind
    reg5; piece 4; LLVM_piece_end; dup | addr 8; addr 8; lit0; lit0; overlay; not -> ok / ok / wrong_kind
    lit1; LLVM_piece_end | addr 8; addr 8; multiloc; not -> wrong_kind
    piece 4; reg5 | piece 4; lit1; lit2 -> bad_piece / ok / ok
    lit1; reg5; piece 4 -> ok / ok / bad_piece
    """)


@pytest.mark.spec("A.2.5.4.4.3")
@pytest.mark.spec("A.2.5.4.4.6")
@pytest.mark.parametrize("program, expected", KINDS, ids=[case[0] for case in KINDS])
def test_kinds(program, expected):
    presets = (rules.DWARF5, rules.AMD, rules.DWARF6)
    kinds = [", ".join(sorted(line.split()[1] for line in found(program, preset))) or "ok" for preset in presets]
    assert kinds == (expected.split(" / ") if "/" in expected else [expected] * 3)


@for_each("program, preset, expected",
    # only the type tells
    ("const_type 8 0102; deref", rules.AMD, ["error wrong_kind 0x5"]),
    ("const_type 8 0102; deref", rules.DWARF5, ["warning wrong_kind 0x5"]),
    # only the location tells
    ("LLVM_call_frame_entry_reg 5; not", rules.AMD, ["warning wrong_kind 0x3"]),
    ("lit8; push_lane; LLVM_form_aspace_address; not", rules.AMD, ["warning wrong_kind 0x5"]),
    ("addr 8; addr 8; lit0; push_lane; overlay; not", rules.AMD, ["warning wrong_kind 0x16"]),
    # an implicit pointer is found where it points
    ("fbreg 0; deref; LLVM_offset_uconst 4; not", rules.AMD, ["warning wrong_kind 0x6"]))  # fmt: skip
def test_what_depends_on_the_evaluation_is_a_warning(program, preset, expected):
    assert found(program, preset) == expected


@pytest.mark.parametrize("target, expected", [(X86_64, []), (AMDGCN, ["warning wrong_kind 0x2"]), (None, [])])
def test_where_there_are_several_address_spaces_a_frame_base_may_be_in_another(target, expected):
    assert found("fbreg 8; plus_uconst 4", target=target) == expected


@for_each("program, wanted, expected",
    ("", "location", []),       ("", "value", ["error bad_result_kind 0x0"]),           ("lit1", "value", []),
    ("lit1", "location", []),   ("reg5", "location", []),   ("reg5", "value", ["error bad_result_kind 0x1"]),
    ("addr 8", "value", []),    ("lit1; stack_value", "value", ["error bad_result_kind 0x2"]),
    ("piece 4", "location", []),                            ("piece 4", "value", ["error bad_result_kind 0x2"]),
    ("const_type 8 01", "location", ["error bad_result_kind 0x4"]),
    ("const_type 8 01", "value", []),                       ("reg5; call2 4", "value", []),
    ("lit0; push_lane; bra @x; reg5; x:", "value", ["error bad_result_kind 0x7"]))  # fmt: skip
def test_result_kind(program, wanted, expected):
    assert found(program, result_kind=wanted) == expected


@pytest.mark.parametrize("program, expected", told("""
    piece 0x1ffffffffffffff | piece 0x2000000000000000 | bit_piece 0x2000000000000000 0 |
        lit1; LLVM_extend 0x100000000 0x800000000 | lit1; lit1; lit1; LLVM_select_bit_piece 32 64 | lit1; deref_size 8 |
        lit1; deref_type 16 8 ->
    lit1; LLVM_extend 0 4 | lit1; LLVM_extend 8 0 -> error bad_operand 0x1
    lit1; LLVM_extend 0x100000000 0x900000000 -> error bad_piece 0x1
    lit1; lit1; lit1; LLVM_select_bit_piece 0 4 -> error bad_operand 0x3
    lit1; lit1; lit1; LLVM_select_bit_piece 32 65 -> error bad_size 0x3
    lit1; deref_size 0 | lit1; deref_type 0 8 -> error bad_size 0x1
    lit1; lit1; xderef_size 9 -> warning bad_size 0x2, warning deprecated 0x2
    lit1; deref_size 9 -> warning bad_size 0x1
    """))  # fmt: skip
def test_operands(program, expected):
    assert ", ".join(found(program)) == expected


@pytest.mark.spec("A.2.5.4.4.6 (1)")
@pytest.mark.parametrize("form, largest", [(Format(address_size=4), 1 << 32), (Format(address_size=2), 1 << 16)])
def test_a_part_is_no_larger_than_the_largest_address_space(form, largest):
    assert found(f"DW_OP_piece {largest}", form=form) == []
    assert found(f"DW_OP_piece {largest + 1}", form=form) == ["error bad_piece 0x0"]
    assert found(f"DW_OP_bit_piece {8 * largest + 1} 0", form=form) == ["error bad_piece 0x0"]
    assert found(f"DW_OP_piece {largest + 1}", form=form, target=AMDGCN) == []
    assert found(f"DW_OP_piece {largest + 1}", form=form, address_size=8) == []


@pytest.mark.spec("DWARF 5, 2.5.1.3 (8)")
def test_the_size_of_a_value_depends_on_the_address_size_and_the_rules():
    program = "lit1; deref_size 8"
    assert found(program, rules.DWARF5, form=Format(address_size=4)) == ["error bad_size 0x1"]
    assert found(program, rules.AMD, form=Format(address_size=4)) == ["warning bad_size 0x1"]
    assert found(program, rules.DWARF5, form=Format(address_size=4), address_size=8) == []


def test_the_mask_is_as_wide_as_an_address():
    program = "lit1; lit1; lit1; LLVM_select_bit_piece 32 64"
    assert found(program, form=Format(address_size=4)) == ["error bad_size 0x3"]
    assert found(program.replace("lit1; LLVM", "const_type 8 01; LLVM"), form=Format(address_size=4)) == []


@pytest.mark.spec("A.2.5.4.4.3 (3)")
@for_each("program, target, expected",
    ("lit8; lit5; LLVM_form_aspace_address", AMDGCN, []),
    ("lit8; lit4; LLVM_form_aspace_address", AMDGCN, ["error bad_address_space 0x2"]),
    ("lit8; lit4; LLVM_form_aspace_address", None, []),
    ("lit8; lit5; LLVM_form_aspace_address", X86_64, ["error bad_address_space 0x2"]),
    ("lit4; lit8; swap; LLVM_form_aspace_address", AMDGCN, ["error bad_address_space 0x3"]),
    ("lit4; LLVM_aspace_bregx s32+0", AMDGCN, ["error bad_address_space 0x1"]),
    ("lit4; lit8; mem", AMDGCN, ["error bad_address_space 0x2"]),
    ("lit4; lit8; xderef", AMDGCN, ["error bad_address_space 0x2", "warning deprecated 0x2"]),
    ("lit4; aspace_implicit_pointer 8 0", AMDGCN, ["error bad_address_space 0x1"]),
    ("lit8; push_lane; LLVM_form_aspace_address", AMDGCN, []))  # fmt: skip
def test_address_spaces(program, target, expected):
    assert found(program, target=target) == expected


@for_each("program, target, expected",
    ("regx v4", AMDGCN, []),              ("regx 5", AMDGCN, ["error register_unavailable 0x0"]),
    ("reg5", AMDGCN, ["error register_unavailable 0x0"]),
    ("breg5 0", AMDGCN, ["error register_unavailable 0x0"]),                    ("reg5", X86_64, []),
    ("regx 0x10000", X86_64, ["error register_unavailable 0x0"]),               ("regx 0x10000", None, []))  # fmt: skip
def test_registers(program, target, expected):
    assert found(program, target=target) == expected


SIZED = told("""
    # what is found on gfx90a with the rules amd: where, kind, clause; and the same, evaluated
    lit0; LLVM_aspace_bregx s33 8 -> 0x1 read_past_storage A.2.5.4.3.4 (4)
    bregx exec 8 | regx s1; deref_size 4 | regx s1; deref_type 4 0x10 | regx s1; piece 4 | regx s1; bit_piece 31 1 |
        regx s1; bit_piece 0 31 | implicit_value 01020304; piece 4 | lit1; stack_value; piece 8 |
        regx v0; const2u 255; LLVM_offset; deref_size 1 | regx s1; lit2; LLVM_offset; const1s -2; LLVM_offset; piece 4 |
        const8u 0xffffffffffffffff; deref_size 1 ->
    regx s1; deref | regx s1; deref_size 5 | regx s1; deref_size 9 | regx s1; deref_type 8 0x15
        -> 0x2 read_past_storage A.2.5.4.3.4 (4)
    regx s1; piece 8 | regx s1; bit_piece 32 1 | lit1; stack_value; piece 9 | regx s1; LLVM_extend 64 2
        -> 0x2 bad_piece A.2.5.4.4.6
    regx s1; bit_piece 0 32 -> 0x2 offset_out_of_storage A.2.5.4.4.6 (2)
    implicit_pointer 8 0; piece 9 | regx s1; LLVM_extend 32 2; piece 9 -> 0x6 bad_piece A.2.5.4.4.6
    lit5; aspace_implicit_pointer 8 0; piece 5 -> 0x7 bad_piece A.2.5.4.4.6
    regx v0; const2u 256; LLVM_offset -> 0x6 offset_out_of_storage A.2.5.4.4.1 (1)
    regx v0; const2u 255; LLVM_offset; deref_size 2 | const4u 0xffffffff; lit3; LLVM_form_aspace_address; deref
        -> 0x8 read_past_storage A.2.5.4.3.4 (4)
    regx v0; LLVM_offset_uconst 256 | lit8; const1s -9; LLVM_offset -> 0x3 offset_out_of_storage A.2.5.4.4.1 (1)
    regx v0; const2u 2048; LLVM_bit_offset -> 0x6 offset_out_of_storage A.2.5.4.4.1 (3)
    regx s1; const1s -1; LLVM_offset -> 0x4 offset_out_of_storage A.2.5.4.4.1 (1)
    const8u 0xffffffffffffffff; deref -> 0x9 read_past_storage A.2.5.4.3.4 (4)
    bregx s33 8 -> 0x0 read_past_storage A.2.5.4.3.4 (4)      implicit_value 01; piece 4 -> 0x3 bad_piece A.2.5.4.4.6
    # 32 bits address private_lane
    lit5; LLVM_aspace_bregx s33 8 ->
    # 64 bits of two parts
    regx s1; LLVM_extend 32 2; deref ->
    # sizes go where entries go
    regx s1; dup; drop; deref -> 0x4 read_past_storage A.2.5.4.3.4 (4)
    regx s1; regx exec; swap; deref | regx s1; regx exec; over; deref -> 0x5 read_past_storage A.2.5.4.3.4 (4)
    regx s1; lit0; lit0; rot; rot; deref -> 0x6 read_past_storage A.2.5.4.3.4 (4)
    regx s1; regx exec; pick 0; deref ->
    # constants are computed
    regx v0; lit4; const1u 64; mul; LLVM_offset -> 0x7 offset_out_of_storage A.2.5.4.4.1 (1)
    regx s1; lit1; plus_uconst 3; LLVM_offset -> 0x5 offset_out_of_storage A.2.5.4.4.1 (1)
    lit1; lit2; lit2; minus; div -> 0x4 division_by_zero DWARF 5, 2.5.1.4
    # composites
    regx s1; piece 4; regx s2; piece 4; LLVM_piece_end; deref |
        regx v0; regx v1; push_lane; LLVM_select_bit_piece 32 64 | regx v0; regx s2; lit1; LLVM_select_bit_piece 32 64
        ->
    regx s1; piece 4; piece 3; LLVM_piece_end; deref -> 0x8 read_past_storage A.2.5.4.3.4 (4)
    piece 0xffffffffffffffff; piece 2 -> 0xb bad_piece A.2.5.4.4.6
    regx s1; regx s2; lit1; LLVM_select_bit_piece 32 1; deref_size 5 -> 0x9 read_past_storage A.2.5.4.3.4 (4)
    regx s1; regx s2; push_lane; LLVM_select_bit_piece 32 64 | regx v0; regx s2; lit3; LLVM_select_bit_piece 24 8
        -> 0x6 bad_piece A.2.5.4.4.6 (5)
    regx v0; regx s2; lit3; LLVM_select_bit_piece 32 64 -> 0x6 offset_out_of_storage A.2.5.4.4.6 (5)
    # a mask of 0
    regx v0; regx s2; push_lane; LLVM_select_bit_piece 32 64 ->
    # overlays
    regx exec; regx s1; lit4; lit4; overlay; deref | regx exec; regx s1; push_lane; lit1; overlay; deref ->
    regx exec; regx s1; lit4; lit4; overlay; piece 9 -> 0x7 bad_piece A.2.5.4.4.6
    regx exec; regx s1; lit5; lit4; overlay -> 0x6 bad_piece A.2.5.4.4.6 (7)
    regx exec; regx s1; lit0; lit5; overlay -> 0x6 bad_piece A.2.5.4.4.6
    regx exec; regx s1; lit0; lit8; overlay; deref -> 0x7 read_past_storage A.2.5.4.3.4 (4)
    regx exec; regx s1; const1s -1; lit1; overlay -> 0x7 bad_operand A.2.5.4.4.6 (7)
    regx exec; regx s1; push_lane; const1u 65; bit_overlay -> 0x8 bad_piece A.2.5.4.4.6 (7)
    # nothing is known of what the context gives, of addresses, and of lanes
    LLVM_call_frame_entry_reg s1; deref | push_object_address; deref |
        regx v0; push_lane; lit4; mul; LLVM_offset; deref | LLVM_undefined; lit4; LLVM_offset; piece 8 ->
    """)
DEPENDS = ("LLVM_call_frame_entry_reg", "push_lane; LLVM_select_bit_piece")
"""The error depends on call frame information, or on the mask."""


@pytest.mark.spec("A.2.5.4.3.4 (4)")
@pytest.mark.spec("A.2.5.4.4.1 (1)")
@pytest.mark.spec("A.2.5.4.4.6")
@pytest.mark.parametrize("program, expected", SIZED, ids=[case[0] for case in SIZED])
def test_sizes_of_storages(program, expected):
    expression = parse(program, LLVM_USER, FORM, target=AMDGCN)
    errors = [one for one in verify(expression, rules=rules.AMD, target=AMDGCN) if one.severity == "error"]
    assert ", ".join(f"{one.offset:#x} {one.kind} {one.spec}" for one in errors) == expected
    for ended in evaluate(expression, evolve(context(random.Random(1), AMDGCN.name, "amd"), result_kind=None)):
        assert isinstance(ended, DwarfGpuError) or not expected
        if isinstance(ended, DwarfGpuError) and not any(part in program for part in DEPENDS):
            known = f"{ended.where.offset:#x} {ended.kind} {ended.spec}"
            assert known == expected or ended.kind in ("register_unavailable", "memory_unavailable")


@pytest.mark.parametrize("program, message", told("""
    bregx s33 8 -> DW_OP_bregx reads 64 bits of s33, which has 32 bits
    regx s1; deref -> DW_OP_deref reads 64 bits of s1, which has 32 bits
    regx s1; deref_type 8 8 -> DW_OP_deref_type reads 8 bytes of s1, which has 32 bits
    regx v0; LLVM_offset_uconst 252; deref -> DW_OP_deref reads 64 bits of v0 from bit 2016 on, which has 2048 bits
    regx s1; piece 8 -> DW_OP_piece takes a part of 64 bits of s1, which has 32 bits
    regx s1; bit_piece 32 8 -> DW_OP_bit_piece takes a part of 32 bits of s1 from bit 8 on, which has 32 bits
    implicit_value 01; piece 4 -> DW_OP_piece takes a part of 32 bits of an implicit value, which has 8 bits
    regx v0; LLVM_offset_uconst 256 -> DW_OP_LLVM_offset_uconst goes to bit 2048 of v0, which has 2048 bits
    regx v0; push_lane; LLVM_offset; LLVM_offset_uconst 300
        -> DW_OP_LLVM_offset_uconst goes by 2400 bits in v0, which has 2048 bits
    const4u 0xffffffff; lit3; LLVM_form_aspace_address; deref
        -> DW_OP_deref reads 64 bits of the address space local from bit 34359738360 on, which has 34359738368 bits
    lit1; lit0; div -> DW_OP_div always fails: the divisor is 0
    piece 0xffffffffffffffff; piece 2
        -> a composite of 147573952589676412936 bits is larger than the largest address space
    """))  # fmt: skip
def test_a_finding_about_a_size_names_the_storage_and_its_size(program, message):
    expression = parse(program, LLVM_USER, FORM, target=AMDGCN)
    assert [one.message for one in verify(expression, rules=rules.AMD, target=AMDGCN)] == [message]


@for_each("program, wave64, wave32",
    ("regx exec; deref", [], ["error read_past_storage 0x2"]),
    ("bregx exec 0", [], ["error read_past_storage 0x0"]),
    ("regx v0; const1u 128; LLVM_offset", [], ["error offset_out_of_storage 0x5"]),
    ("regx v0; const1u 127; LLVM_offset; deref_size 1", [], []),
    ("regx v0; piece 256", [], ["error bad_piece 0x3"]))  # fmt: skip
def test_vector_registers_and_the_mask_are_as_wide_as_the_wave(program, wave64, wave32):
    assert found(program, target=AMDGCN) == wave64
    assert found(program, target=resolve("amdgcn-gfx1100-wave32")) == wave32


@pytest.mark.parametrize("program", [case[0] for case in SIZED if case[1] and "reg" in case[0]])
def test_without_a_target_registers_have_no_size(program):
    expression = parse(program, LLVM_USER, FORM, target=AMDGCN)
    assert not any("s1" in one.message or "v0" in one.message for one in verify(expression, rules=rules.AMD))


@pytest.mark.spec("A.2.5.4.2 (4)")
@for_each("program, expected",
    # each way has its own size; one that fits is no excuse for the other
    ("regx s1; push_lane; bra @x; drop; regx exec; x: deref", ["error"]),
    ("regx v1; push_lane; bra @x; drop; regx exec; x: deref", []),
    ("regx v0; x: LLVM_offset_uconst 4; push_lane; bra @x; deref_size 4", []),
    ("regx v0; x: LLVM_offset_uconst 64; push_lane; bra @x", ["warning"]),
    # how often a loop is executed is not known, so neither is where the location is
    ("regx s1; x: lit0; LLVM_offset; push_lane; bra @x; deref", ["error"]),
    ("lit0; x: plus_uconst 1; push_lane; bra @x; lit8; swap; div", []),
    ("x: regx s1; LLVM_offset_uconst 1; drop; push_lane; bra @x", []))  # fmt: skip
def test_sizes_on_every_path(program, expected):
    assert [line.split()[0] for line in found(program, target=AMDGCN)] == expected


def test_a_long_loop_keeps_the_kinds_of_entries():
    assert found("regx v0; x: LLVM_offset_uconst 1; push_lane; bra @x; not", target=AMDGCN) == ["error wrong_kind 0xb"]
    counting = "const1u 100; x: lit1; minus; dup; bra @x; stack_value; not"
    assert found(counting, target=AMDGCN) == ["warning wrong_kind 0x9"]


@pytest.mark.parametrize("program", ["regx s1; piece 8", "regx s1; bit_piece 40 8"])
def test_what_a_piece_lacks_is_undefined_in_dwarf_5(program):
    assert found(program, rules.DWARF5, target=AMDGCN) == []
    assert found(program, rules.DWARF6, target=AMDGCN) == ["error bad_piece 0x2"]


BIG = resolve("generic", byte_order="big")
FROM_THE_END = """
    reg5; bit_piece 8 0 | reg5; bit_piece 64 0 | reg5; bit_piece 8 57 | reg5; bit_piece 8 56 | reg5; bit_piece 0 63
    | reg5; bit_piece 0 64 | reg5; lit1; LLVM_offset; bit_piece 8 55 | reg5; lit1; LLVM_offset; bit_piece 8 48 |
    implicit_value 0102; bit_piece 8 9 | implicit_value 0102; bit_piece 16 0 |
    const8u 0xffffffffffffffff; bit_piece 8 8 | const8u 0xffffffffffffffff; bit_piece 0 8 |
    lit0; LLVM_extend 8 2; bit_piece 8 9 | lit0; LLVM_extend 8 2; bit_piece 8 8
"""


@pytest.mark.spec("DWARF 5, 2.6.1.2 (2)")
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
@pytest.mark.parametrize("program", [each.strip() for each in FROM_THE_END.split("|")])
def test_bits_counted_from_the_other_end_are_in_the_storage(program, preset):
    expression = parse(program, LLVM_USER, Format(byte_order="big"), target=BIG)
    sizes = ("bad_piece", "offset_out_of_storage")
    told = {
        (one.offset, one.kind, one.spec) for one in verify(expression, rules=preset, target=BIG) if one.kind in sizes
    }
    machine = evolve(context(random.Random(1), "amdgcn-gfx90a", "amd"), target=BIG, rules=preset, result_kind=None)
    ended = evaluate(expression, evolve(machine, frame=Frame(), lanes=LaneSet.one(0))).of(0)
    is_size = isinstance(ended, DwarfGpuError) and ended.kind in sizes
    assert told == ({(ended.where.offset, ended.kind, ended.spec)} if is_size else set())


@pytest.mark.spec("DWARF 6 (230524.1), 3.12 (1)")
@pytest.mark.parametrize("program, expected", told("""
    composite; regx s1; piece 4; deref -> error read_past_storage 0x5
    composite; lit0; LLVM_offset -> error offset_out_of_storage 0x2
    composite; regx s1; piece 4; regx s2; piece 4; deref ->   piece 4; piece 3; deref -> error read_past_storage 0x4
    # the undefined storage is as large as the largest one, and has any number of bits
    LLVM_undefined; const1s -1; LLVM_offset -> error offset_out_of_storage 0x4
    LLVM_undefined; const4u 0xffffffff; LLVM_offset; piece 8 ->
    LLVM_undefined; regx s1; const1s -1; lit4; overlay -> error bad_operand 0x7
    # a composite that was moved is a base, too
    piece 4; lit1; LLVM_offset; regx s1; piece 4 | piece 4; lit1; LLVM_offset; piece 4 ->
    piece 4; lit1; LLVM_offset; LLVM_piece_end -> warning wrong_kind 0x5
    regx s1; regx exec; multiloc; deref_size 8 -> error read_past_storage 0x5
    # an overlay may go on after the base
    regx s1; regx s2; lit4; lit4; overlay; deref | lit8; regx s2; const1s -1; lit1; overlay ->
    regx s1; regx s2; lit3; lit4; overlay; deref -> error read_past_storage 0x7
    regx s1; regx s2; lit0; lit5; overlay -> error bad_piece 0x6
    regx s1; regx s2; const1s -1; lit1; overlay -> error bad_operand 0x7
    """))  # fmt: skip
def test_sizes_in_dwarf_6(program, expected):
    assert ", ".join(found(program, rules.DWARF6, target=AMDGCN)) == expected


@pytest.mark.spec("A.2.5.4.3.4 (8)")
@pytest.mark.parametrize("inner, expected", told("""
    reg5 | breg5 0; deref | lit1; reg5 | push_lane; bra @x; lit1; skip @y; x: reg5; y: | entry_value (reg5) ->
    regx 5; reg6; drop | reg5; LLVM_offset_uconst 0 | reg5; skip 0 -> error bad_result_kind 0x6
    reg5; lit1; bra @x; nop; x: -> warning unreachable 0x7, error bad_result_kind 0x8
    reg5; push_lane; bra @x; drop; reg5; x: -> error bad_result_kind 0xa
    reg5; piece 4 | LLVM_call_frame_entry_reg 5 | implicit_value 01 -> error bad_result_kind 0x5
    addr 8; LLVM_offset_uconst 4 -> error bad_result_kind 0xe
    lit1; entry_value (lit1; plus) -> error stack_underflow 0x6
    breg5 0 | reg5; nop -> error bad_result_kind 0x4           -> error bad_result_kind 0x2
    plus -> error stack_underflow 0x2                         reg5; not -> error wrong_kind 0x3
    lit1; skip 5 -> error bad_branch 0x3
    """))  # fmt: skip
def test_entry_values(inner, expected):
    findings = found(f"DW_OP_entry_value ({inner})")
    assert ", ".join(line for line in findings if "deprecated" not in line) == expected


@pytest.mark.spec("A.2.5.4.3.4 (8)")
def test_an_entry_value_that_ends_otherwise_fails():
    for inner in ("reg5; nop", "breg5 0", "reg5; lit0; LLVM_offset"):
        expression = parse(f"DW_OP_entry_value ({inner})", LLVM_USER, FORM)
        findings = [one for one in verify(expression, rules=rules.AMD) if one.severity == "error"]
        reached = outcome(expression)
        assert [(one.kind, one.spec) for one in findings] == [(reached.kind, reached.spec)]


@pytest.mark.spec("A.2.5.4.4.4 (2)")
def test_the_size_of_a_register_of_the_caller_is_a_warning():
    expression = parse("entry_value (regx s1; deref)", LLVM_USER, FORM, target=AMDGCN)
    (finding,) = [one for one in verify(expression, rules=rules.AMD, target=AMDGCN) if one.kind != "deprecated"]
    message = "DW_OP_deref reads 64 bits of s1, which has 32 bits (a caller's register may be elsewhere)"
    assert (finding.severity, finding.kind, finding.message) == ("warning", "read_past_storage", message)
    assert "error read_past_storage 0x5" in found("entry_value (implicit_value 01; deref)", target=AMDGCN)


def test_a_finding_in_an_expression_in_an_expression_names_its_operation():
    expression = parse("DW_OP_entry_value (DW_OP_lit1; (undecoded: ff))", LLVM_USER, FORM)
    (finding,) = [one for one in verify(expression, rules=rules.AMD) if one.severity == "error"]
    assert (finding.kind, finding.offset) == ("unknown_operation", 3)


FORBIDDEN = """
    DW_OP_addrx 0, DW_OP_call2 0, DW_OP_call4 0, DW_OP_call_ref 0, DW_OP_const_type 0 00, DW_OP_constx 0,
    DW_OP_convert 0, DW_OP_deref_type 1 0, DW_OP_fbreg 0, DW_OP_implicit_pointer 0 0, DW_OP_regval_type 0 0,
    DW_OP_reinterpret 0, DW_OP_xderef_type 1 0, DW_OP_push_object_address, DW_OP_LLVM_push_lane,
    DW_OP_LLVM_push_iteration, DW_OP_call_frame_cfa, DW_OP_entry_value 55
"""


@pytest.mark.spec("A.6.4.2")
@pytest.mark.parametrize("operation", [one.strip() for one in FORBIDDEN.split(",")])
def test_what_call_frame_information_must_not_use(operation):
    program = f"{operation}; drop"
    assert "error not_allowed_in_cfi 0x0" in found(program, in_cfi=True, initial_depth=3)
    assert "error not_allowed_in_cfi 0x0" not in found(program, initial_depth=3)


@pytest.mark.spec("A.6.4.2")
def test_what_call_frame_information_must_not_use_anywhere():
    program = "skip @x; push_lane; x: LLVM_call_frame_entry_reg 5"
    assert found(program, in_cfi=True) == ["error not_allowed_in_cfi 0x3", "warning unreachable 0x3"]


@pytest.mark.spec("A.6.4.2")
def test_what_compilers_emit_for_a_spilled_register_is_right():
    program = """
        regx v40; swap; LLVM_offset_uconst 256
        LLVM_call_frame_entry_reg exec; deref_size 8
        LLVM_select_bit_piece 32 64
    """
    assert found(program, in_cfi=True, initial_depth=1, result_kind="location", target=AMDGCN) == []


@for_each("program, expected",
    ("DW_OP_lit1; (undecoded: ff)", ["error unknown_operation 0x1"]),
    ("lit1; (undecoded: 08)", ["error truncated 0x1"]),
    ("DW_OP_lit1; (undecoded: e9 00)", ["error unknown_operation 0x1"]),
    ("lit1; (undecoded: 10 ffffffffffffffffffff01)", ["error leb128_overflow 0x1"]),
    ("lit1; LLVM_NVIDIA_mux 0102", ["warning DW_OP_LLVM_NVIDIA_mux 0x1"]))  # fmt: skip
def test_faults(program, expected):
    assert found(program) == expected


@pytest.mark.parametrize("row", [row for row in table.rows() if row.deprecated], ids=lambda row: row.name)
def test_deprecated_operations(row):
    operands = {"expression": "55", "u1": "8", "uleb": "8"}
    program = " ".join([row.name, *[operands[operand.kind] for operand in row.operands]])
    assert f"warning deprecated {2:#x}" in found(f"lit0; lit8; {program}")


def test_a_finding_says_what_where_and_which_rule():
    expression = parse("lit1; reg5; plus", LLVM_USER, FORM)
    message = "DW_OP_plus needs a value, found a register location"
    assert verify(expression, rules=rules.AMD) == [
        Finding("error", "wrong_kind", message, 2, "DW_OP_plus", "A.2.5.4.4.3")
    ]


@given(
    st.data(),                  st.sampled_from(DIALECTS),  st.sampled_from(PRESETS),
    st.sampled_from([None, AMDGCN, X86_64]),                st.booleans(),              st.integers(0, 3))  # fmt: skip
def test_any_bytes_can_be_verified(data, dialect, preset, target, in_cfi, depth):
    program = data.draw(st.one_of(st.binary(max_size=60), near_programs(dialect)))
    expression = decode(program, dialect, FORM)
    findings = verify(expression, rules=preset, target=target, in_cfi=in_cfi, initial_depth=depth)
    assert [one.offset for one in findings] == sorted(one.offset for one in findings)
    assert all(0 <= one.offset <= len(program) for one in findings)
    assert all(one.severity in ("error", "warning") and one.kind and one.message for one in findings)
    if expression.fault is not None:
        assert (expression.end, expression.fault.kind) in {(one.offset, one.kind) for one in findings}


def branches(seed):
    """A hundred kilobytes of branches to anywhere, over a deep stack."""
    source = random.Random(seed)
    chunks = [b"\x70\x00"] * 2_000
    for _ in range(30_000):
        branch = b"\x28" + source.randrange(1 << 16).to_bytes(2, "little")
        chunks.append(source.choice([branch, branch, b"\x70\x00", b"\x12", b"\x16", b"\x70\x04", b"\x20"]))
    return b"".join(chunks)


HOSTILE = {
    "literals": b"\x31" * 100_000,        "a deep stack copied": b"\x31" * 300 + b"\x15\xff" * 50_000,
    "branches to anywhere": branches(1),  "every branch doubles the paths": b"\x70\x00\x28\x01\x00\x31" * 17_000,
    "every branch goes back": b"\x70\x00\x31\x28\xf0\xff" * 17_000,
    "one loop that drops": b"\x31" * 30_000 + (b"\x13" * 2_000 + b"\x70\x00\x28\x2b\xf8") * 30,
    "expressions": b"\xa3\x01\x55\x13" * 25_000,                                "pieces": b"\x93\x04" * 50_000,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    some_slow(HOSTILE, quick=("branches to anywhere", "every branch doubles the paths", "every branch goes back",
                              "expressions")))  # fmt: skip
def test_hostile_programs_do_not_multiply_the_work(name):
    expression = decode(HOSTILE[name], LLVM_USER, FORM)
    walk = _ExpressionWalk(expression, rules.AMD, AMDGCN, 8)
    walk.findings(0, None)
    assert sum(map(len, walk.seen)) <= (_MAX_STATES + 1) * (len(expression.instructions) + 1)


def test_very_deep_nesting_is_no_problem():
    findings = verify(decode(nested(1000), LLVM_USER, FORM), rules=rules.AMD)
    assert len(findings) == MAX_DEPTH + 1  # a deprecated operation in each
