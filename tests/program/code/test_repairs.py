import re
import subprocess

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import dwarfgpu
from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.expr import asm, listing
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.locations import Composite, Implicit, Memory, Register, Undefined
from dwarfgpu.expr.types import BaseType
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.code.repairs import ALL as EVERY
from dwarfgpu.program.code.repairs import (
    AUTO,
    BY_NAME,
    CONDITIONS,
    OFF,
    REPAIRS,
    UNWRITTEN,
    Repaired,
    Site,
    as_written,
    hint_of,
    policy_of,
    possible_repairs,
    read_as_meant,
    repaired,
    repairs_of,
)
from dwarfgpu.program.frames.lone_wave import TopFrame
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.types.model import Pointer, known_size, stripped
from dwarfgpu.targets.resolve import resolve
from tests.builders.folders import FIXTURES
from tests.builders.parameters import every, for_each, some_slow

CLANG = "Debian clang version 22.1.8 (1~deb12u1)"
ROCM = "AMD clang version 19.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-6.4.0)"
ALL = EVERY
LANE = 5
PRIVATE = "DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
EXTENDED = "DW_OP_dup; DW_OP_constu 7; DW_OP_shr; DW_OP_lit0; DW_OP_not; DW_OP_mul; DW_OP_constu 8; DW_OP_shl; DW_OP_or"
"""How LLVM extends the sign of 8 bits without base types."""
LANE_OF_V4 = "DW_OP_regx v4; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset; DW_OP_deref_size 4"
IN_LANE = "DW_OP_regx v3; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"
TYPES = {
    1: BaseType("unsigned", 32),          2: BaseType("unsigned", 16),          3: BaseType("signed", 64),
    4: BaseType("unsigned", 64),          5: BaseType("float", 32),             6: BaseType("unsigned", 8),
    7: BaseType("unsigned", 8),           8: BaseType("signed", 8),             9: BaseType("unsigned", 8)}  # fmt: skip
"""The base types of the unit, by offset."""


def site(  # noqa: PLR0917
    attribute="DW_AT_location",
    producer=CLANG,
    target="amdgcn-gfx90a",
    address=0x1000,
    base=65,
    kernel=False,
    size=4,
    private_pointer=False,
    shared=False,
    sole=False,
):
    names = {7: "DW_ATE_unsigned_1", 8: "DW_ATE_signed_3", 1: "DW_ATE_unsigned_32", 9: "bool"}
    answers = {
        "frame_base": base, "is_baseless_kernel": kernel, "size": size, "is_private_pointer": private_pointer,
        "is_shared": shared, "is_sole_local": sole, ("address", 9): None, **{("base_type", k): TYPES[k] for k in TYPES},
        **{("type_name", k): name for k, name in names.items()}}  # fmt: skip

    def ask(name, *operands):
        return answers.get((name, *operands) if operands else name, address if name == "address" else None)

    return Site(attribute, producer, resolve(target), ask)


def rewritten(text, where=None, policy=AUTO):
    where = where or site()
    found, used = repaired(asm.parse(text, dialects.get("llvm-user"), Format(), target=where.target), where, policy)
    listed = listing.text(found, where.target).replace("DW_OP_convert 0x", "DW_OP_convert ")
    texts = [statement.split(";")[0] for statement in listed.split("; ")]
    return "; ".join(texts), [repair.name for repair in used]


def operations(text):
    """Operations written without their prefix; the names of constants in braces stand for what they are."""
    spelled = "; ".join(part if part.startswith("{") else f"DW_OP_{part}" for part in text.split("; "))
    return spelled.format_map(globals())


def rows(text):
    """Rows such as ``written -> becomes: the names of its repairs``; an indented line continues the one before."""
    for line in re.sub(r"\n {5,}", " ", text).split("\n"):
        if line.strip():
            written, _arrow, rest = line.strip().partition(" -> ")
            becomes, _colon, names = rest.partition(" : ")
            yield operations(written), operations(becomes), names.split()


REWRITTEN = """
    fbreg -8; lit1; swap; xderef -> fbreg -8; lit5; LLVM_form_aspace_address : private-variable
    fbreg 16; lit5; swap; xderef -> fbreg 16; lit5; LLVM_form_aspace_address : private-variable
    bregx v3 0; lit1; swap; xderef -> {IN_LANE} : vector-register
    bregx v3 0; constu 0xffff; and; lit5; swap; xderef -> {IN_LANE} : half-vector-register
    consts -3; lit1; swap; xderef; stack_value -> consts -3; stack_value : computed-value
    lit20; lit5; swap; xderef; stack_value -> lit20; stack_value : computed-value
    bregx v3 4; lit1; swap; xderef; stack_value
        -> {IN_LANE}; deref_size 4; consts 4; plus; stack_value : computed-value
    addrx 2; lit1; swap; xderef -> addrx 2; lit1; LLVM_form_aspace_address : global-variable
    addr 0x40; lit1; swap; xderef -> addr 0x40; lit1; LLVM_form_aspace_address : global-variable-v4
    addr 0; lit3; swap; xderef -> LLVM_undefined : no-local-address-v4
    piece 4; bregx v3 0; lit5; swap; xderef; piece 4 -> piece 4; {IN_LANE}; piece 4 : vector-register
    bregx v3 0; {PRIVATE}; piece 4; lit1; {PRIVATE}; stack_value; piece 4
        -> {IN_LANE}; piece 4; lit1; stack_value; piece 4 : vector-register computed-value
"""
EXTENSIONS = [
    (f"{value}; lit{space}; swap; xderef; {deref}{conversions}; stack_value{piece} -> "
     f"{becomes}; {conversions}; stack_value{piece} : extended-value")
    for value, becomes in (
        ("bregx v3 0", "{IN_LANE}; deref_size 4"), ("consts -3", "consts -3"),
        ("bregx v3 0; lit5; mul", "{IN_LANE}; deref_size 4; lit5; mul"),
    )
    for space in (1, 5)
    for deref in ("deref; ", "")
    for conversions in ("convert 2; convert 3", "convert 2; convert 1; convert 3")
    for piece in ("", "; piece 4")
]  # fmt: skip


@pytest.mark.parametrize("text, becomes, names", [*rows(REWRITTEN), *rows("\n".join(EXTENSIONS))])
def test_what_is_written_and_what_it_becomes(text, becomes, names):
    assert rewritten(text) == (becomes, names)


def test_local_variables_without_an_address_are_undefined():
    text = "DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef"
    assert rewritten(text, site(address=0)) == ("DW_OP_LLVM_undefined", ["no-local-address"])
    assert rewritten(text)[1] == []
    assert rewritten(text.replace("2", "9", 1), site(address=0))[1] == []


@for_each("target, becomes, name",
    ("amdgcn-gfx90a", "DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr", "scaled-frame-base"),
    ("amdgcn-gfx1030-wave32", "DW_OP_deref_size 4; DW_OP_lit5; DW_OP_shr", "scaled-frame-base"),
    ("amdgcn-gfx1030-wave64", "DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr", "scaled-frame-base"),
    ("amdgcn-gfx942", "DW_OP_deref_size 4", "narrow-frame-base"),
    ("amdgcn-gfx1100-wave32", "DW_OP_deref_size 4", "narrow-frame-base"),
    ("amdgcn-gfx1200-wave64", "DW_OP_deref_size 4", "narrow-frame-base"))  # fmt: skip
@pytest.mark.parametrize("register", ["s32", "s33"])
def test_frame_bases(register, target, becomes, name):
    where = site("DW_AT_frame_base", target=target)
    assert rewritten(f"DW_OP_regx {register}", where) == (f"DW_OP_regx {register}; {becomes}", [name])
    assert rewritten("DW_OP_regx s40", where)[1] == []
    assert rewritten(f"DW_OP_regx {register}", site(target=target))[1] == []


@for_each("text",
    "DW_OP_fbreg 8; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
    "DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_nop",
    "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
    "DW_OP_bregx s3 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", "DW_OP_regx s3",
    "DW_OP_bregx s3 0; DW_OP_stack_value",                    "DW_OP_bregx v3 4; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
    "DW_OP_bregx s3 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
    "DW_OP_bregx v3 0; DW_OP_constu 0xff; DW_OP_and; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
    "DW_OP_regx v3; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
    "DW_OP_addr 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
    "DW_OP_bregx v3 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_deref; DW_OP_stack_value",
    "DW_OP_bregx s3 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_deref; DW_OP_convert 2; DW_OP_stack_value",
    "DW_OP_bregx s33 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_deref; DW_OP_convert 2; DW_OP_stack_value",
    "DW_OP_fbreg 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_deref; DW_OP_convert 2; DW_OP_stack_value",
    "DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
    "DW_OP_skip 0; DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
    "")  # fmt: skip
def test_what_is_not_written_like_that_stays_as_it_is(text):
    expression = asm.parse(text, dialects.get("llvm-user"), Format(), target=resolve("amdgcn-gfx90a"))
    found, used = repaired(expression, site(), ALL)
    assert found is expression
    assert used == ()


TEXT = "DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef"


@for_each("producer, applies",
    (CLANG, True),         ("clang version 22.0.0", True),               ("Debian clang version 13.0.1-11+b2", True),
    ("clang version 24.0.0git", True),            ("a compiler that nobody knows", True),       ("triton", True),
    (None, True),          (ROCM, False),
    ("AMD clang version 22.0.0git (https://github.com/ROCm/llvm-project roc-7.0.0)", False))  # fmt: skip
def test_a_producer_only_excludes_what_is_known_to_mean_what_it_says(producer, applies):
    assert bool(rewritten(TEXT, site(producer=producer))[1]) == applies
    assert rewritten(TEXT, site(producer=producer), OFF)[1] == []
    assert rewritten(TEXT, site(producer=producer), policy_of("private-variable"))[1] == ["private-variable"]
    assert rewritten(TEXT, site(producer=producer), policy_of("vector-register"))[1] == []
    assert rewritten(TEXT, site(producer=producer), policy_of("all"))[1] == ["private-variable"]


STACK = f"DW_OP_bregx s33 8; {PRIVATE}"
EACH = {
    "kernel-private-variable": (TEXT, {"kernel": True}),
    "plain-kernel-private-variable": ("DW_OP_fbreg 8", {"kernel": True, "base": None}),
    "private-variable": (TEXT, {}),                           "plain-private-variable": ("DW_OP_fbreg 8", {}),
    "wave-stack-variable": (STACK, {}),                       "stack-variable": (STACK, {"target": "amdgcn-gfx942"}),
    "plain-wave-stack-variable": ("DW_OP_bregx s32 8", {}),
    "plain-stack-variable": ("DW_OP_bregx s32 8", {"target": "amdgcn-gfx942"}),
    "wave-stack-pointer": (STACK, {"private_pointer": True, "shared": True}),
    "stack-pointer": (STACK, {"private_pointer": True, "shared": True, "target": "amdgcn-gfx942"}),
    "vector-register": (f"DW_OP_bregx v3 0; {PRIVATE}", {}),  "whole-vector-register": ("DW_OP_regx v3", {}),
    "pointed-variable": (f"DW_OP_bregx v3 0; {PRIVATE}", {"size": 20}),
    "half-vector-register": (f"DW_OP_bregx v3 0; DW_OP_constu 0xffff; DW_OP_and; {PRIVATE}", {}),
    "computed-value": (f"DW_OP_consts -3; {PRIVATE}; DW_OP_stack_value", {}),
    "extended-value": (f"DW_OP_bregx v3 0; {PRIVATE}; DW_OP_deref; DW_OP_convert 2; DW_OP_stack_value", {}),
    "vector-value": ("DW_OP_bregx v3 -1; DW_OP_stack_value", {}),
    "sole-local-variable": ("DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {"address": 0, "sole": True}),
    "sole-local-variable-v4": ("DW_OP_addr 0; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {"sole": True}),
    "no-local-address": ("DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {"address": 0}),
    "no-local-address-v4": ("DW_OP_addr 0; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {}),
    "global-variable": ("DW_OP_addrx 2; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", {}),
    "global-variable-v4": ("DW_OP_addr 0x40; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", {}),
    "scaled-frame-base": ("DW_OP_regx s33", {"attribute": "DW_AT_frame_base"}),
    "narrow-frame-base": ("DW_OP_regx s33", {"attribute": "DW_AT_frame_base", "target": "amdgcn-gfx942"}),
    "sign-extension": (f"DW_OP_lit3; {EXTENDED}; DW_OP_stack_value", {}),
    "lane-arithmetic": (f"{LANE_OF_V4}; DW_OP_lit3; DW_OP_shra; DW_OP_stack_value", {}),
    "narrow-type": ("DW_OP_lit3; DW_OP_convert 7; DW_OP_stack_value", {}),
    "mixed-operands": ("DW_OP_lit3; DW_OP_convert 3; DW_OP_lit8; DW_OP_mul; DW_OP_stack_value", {})}  # fmt: skip
"""What each repair is for: an expression, and where it stands."""


@pytest.mark.parametrize("name", EACH)
def test_each_repair_by_auto_all_off_and_its_name(name):
    text, where = EACH[name]
    other = next(each for each in BY_NAME if each != name)
    assert rewritten(text, site(**where))[1] == [name]
    assert rewritten(text, site(**where), ALL)[1] == [name]
    assert rewritten(text, site(**where), OFF)[1] == []
    assert rewritten(text, site(**where), policy_of(other))[1] == []
    for producer in ("clang version 21.1.8", "clang version 24.0.0", "triton", None):
        assert rewritten(text, site(producer=producer, **where))[1] == [name]
    excluded = [] if BY_NAME[name].not_by else [name]
    assert rewritten(text, site(producer=ROCM, **where))[1] == excluded
    assert rewritten(text, site(producer=ROCM, **where), policy_of(f"{other},{name}"))[1] == [name]


@pytest.mark.parametrize("name", EACH)
def test_a_shape_that_is_not_repaired_names_the_option(name):
    text, where = EACH[name]
    here = site(**where)
    expression = asm.parse(text, dialects.get("llvm-user"), Format(), target=here.target)
    for policy in (OFF, policy_of(next(each for each in BY_NAME if each != name))):
        result = read_as_meant(expression, here, policy)
        assert possible_repairs(result) == (BY_NAME[name],)
        assert repairs_of(result) == ()
        assert as_written(result) is expression
        assert f"--repair {name} " in hint_of(possible_repairs(result))
    for policy in (AUTO, ALL):
        result = read_as_meant(expression, here, policy)
        assert repairs_of(result) == (BY_NAME[name],)
        assert possible_repairs(result) == ()


def test_policies():
    assert policy_of("auto") is AUTO
    assert policy_of("off") is OFF
    assert policy_of("all") is ALL
    assert policy_of("vector-register, private-variable").names == ("vector-register", "private-variable")
    with pytest.raises(UsageError, match="there is no repair 'every'") as caught:
        policy_of("every")
    assert "auto, all, off, or some of kernel-private-variable" in str(caught.value.hint)


WIDENED = "DW_OP_convert 1; DW_OP_convert 3"
LANE_OF_V5 = LANE_OF_V4.replace("v4", "v5")
COMPUTED = """
    bregx v4 0; convert 1; convert 6 -> {LANE_OF_V4}; convert 1; convert 6
    bregx v4 0; lit0; ne; convert 1; convert 6 -> {LANE_OF_V4}; lit0; ne; convert 1; convert 6
    bregx v4 0; lit16; shr; convert 1; convert 2 -> {LANE_OF_V4}; lit16; shr; convert 1; convert 2
    bregx v4 0; convert 1; convert 2; lit3; mul -> {LANE_OF_V4}; convert 1; convert 2; lit3; convert 2; mul
        : mixed-operands
    bregx v4 0; bregx v5 0; convert 1; plus -> {LANE_OF_V4}; convert 1; {LANE_OF_V5}; convert 1; plus : mixed-operands
    bregx v4 0; {WIDENED}; bregx v5 0; {WIDENED}; mul -> {LANE_OF_V4}; {WIDENED}; {LANE_OF_V5}; {WIDENED}; mul
    bregx v4 0; convert 3; bregx v5 0; convert 4; mul
        -> {LANE_OF_V4}; convert 3; {LANE_OF_V5}; convert 4; convert 3; mul : mixed-operands
    bregx s33 16 -> regx s33; deref_size 4; lit6; shr; consts 16; plus
"""


@pytest.mark.parametrize("value, becomes, names", [*rows(COMPUTED)])
def test_computed_values_are_read_through_conversions(value, becomes, names):
    found = rewritten(f"{value}; {PRIVATE}; DW_OP_stack_value")
    assert found == (f"{becomes}; DW_OP_stack_value", ["computed-value", *names])
    if "v4" in value:  # as HIP has it since clang 14
        assert rewritten(f"{value}; DW_OP_stack_value") == (found[0], ["vector-value", *names])


@for_each(
    "text",
    "DW_OP_lit3; DW_OP_convert 5; DW_OP_lit8; DW_OP_mul; DW_OP_stack_value",  # float
    "DW_OP_lit3; DW_OP_convert 1; DW_OP_lit8; DW_OP_convert 3; DW_OP_mul; DW_OP_stack_value",  # two widths
    "DW_OP_lit3; DW_OP_convert 17; DW_OP_lit8; DW_OP_mul; DW_OP_stack_value",  # no base type
    "DW_OP_lit8; DW_OP_dup; DW_OP_lit3; DW_OP_convert 3; DW_OP_mul; DW_OP_plus; DW_OP_stack_value",  # copied
    "DW_OP_convert 3; DW_OP_mul; DW_OP_stack_value",  # nothing on the stack
)
@pytest.mark.parametrize("target", ["amdgcn-gfx90a", "x86_64"])
def test_operands_without_a_common_integral_type_stay(text, target):
    assert rewritten(text, site(target=target), ALL)[1] == []


LOW_BIT = "DW_OP_convert 0; DW_OP_constu 1; DW_OP_and"
LOW_THREE = LOW_BIT.replace("1", "7")
SIGN = "DW_OP_constu 4; DW_OP_xor; DW_OP_constu 4; DW_OP_minus"


@for_each("text, becomes",
    (
        "DW_OP_lit3; DW_OP_convert 7; DW_OP_convert 6; DW_OP_stack_value",
        f"DW_OP_lit3; DW_OP_convert 7; {LOW_BIT}; DW_OP_convert 7; DW_OP_convert 6; DW_OP_stack_value",
    ),
    (
        "DW_OP_lit3; DW_OP_convert 8; DW_OP_stack_value",
        f"DW_OP_lit3; DW_OP_convert 8; {LOW_THREE}; {SIGN}; DW_OP_convert 8; DW_OP_stack_value"))  # fmt: skip
@pytest.mark.parametrize("target", ["amdgcn-gfx90a", "x86_64"])
def test_conversions_to_fewer_bits_than_a_byte_are_cut(text, becomes, target):
    assert rewritten(text, site(target=target)) == (becomes, ["narrow-type"])
    for other in ("DW_OP_convert 1", "DW_OP_convert 9", "DW_OP_convert 0"):
        assert rewritten(f"DW_OP_lit3; {other}; DW_OP_stack_value", site(target=target))[1] == []


@pytest.mark.parametrize("number, value", [(0, 0), (3, 3), (4, -4), (7, -1), (0x1F, -1), (0x14, -4)])
def test_what_is_cut_has_its_sign(number, value):
    where = site()
    expression = asm.parse(
        f"DW_OP_const1u {number}; DW_OP_convert 8; DW_OP_stack_value",
        dialects.get("llvm-user"),
        Format(),
        target=where.target,
    )
    location = evaluate(repaired(expression, where)[0], Context(target=where.target, unit=Unit())).of(0)
    assert told(location) == ("value", value % 256)


class Unit:
    """A unit that has the base types alone."""

    reference_size = 4
    base_type = staticmethod(TYPES.__getitem__)


def test_operands_of_host_programs_get_one_type():
    text = "DW_OP_lit3; DW_OP_convert 3; DW_OP_lit8; DW_OP_mul; DW_OP_lit1; DW_OP_plus; DW_OP_stack_value"
    found, names = rewritten(text, site(target="x86_64"))
    assert names == ["mixed-operands"]
    assert found == (
        "DW_OP_lit3; DW_OP_convert 3; DW_OP_lit8; DW_OP_convert 3; DW_OP_mul; DW_OP_lit1; DW_OP_convert 3; DW_OP_plus; "
        "DW_OP_stack_value"
    )


CUT = "DW_OP_constu 255; DW_OP_and; DW_OP_constu 128; DW_OP_xor; DW_OP_constu 128; DW_OP_minus"


@for_each("text, becomes, names",
    (f"DW_OP_bregx v4 0; {EXTENDED}; DW_OP_stack_value", f"{LANE_OF_V4}; {CUT}; DW_OP_stack_value", True),
    # a lane has no more than the 32 bits that are extended
    (
        f"DW_OP_bregx v4 0; {EXTENDED.replace('7', '31').replace('8', '32')}; DW_OP_stack_value",
        f"{LANE_OF_V4}; {EXTENDED.replace('7', '31').replace('8', '32')}; DW_OP_stack_value",
        False,
    ),
    # no extension: the numbers do not belong together
    (
        f"DW_OP_bregx v4 0; {EXTENDED.replace('7', '6')}; DW_OP_stack_value",
        f"{LANE_OF_V4}; {EXTENDED.replace('7', '6')}; DW_OP_stack_value",
        False))  # fmt: skip
def test_the_extension_of_a_sign_reads_the_bits_that_it_extends(text, becomes, names):
    assert rewritten(text) == (becomes, ["vector-value", *(["sign-extension"] if names else [])])
    assert rewritten(f"DW_OP_lit3; {EXTENDED}; DW_OP_stack_value", site(target="x86_64"), ALL)[1] == []


def value_of(text, elements, **around):
    """Compute a value in lane 5 of a wave whose vector registers have these elements."""
    program = resolve("amdgcn-gfx90a")
    machine = Machine(program)
    machine.add_waves(1)
    for number, element in elements.items():
        machine.set_register(f"v{number}", [[element if lane == LANE else 0xDEAD for lane in range(64)]])
    meant = repaired(asm.parse(text, dialects.get("llvm-user"), Format(), target=program), site(**around))[0]
    context = Context(target=program, unit=Unit(), backend=machine, lanes=LaneSet.one(LANE), frame=TopFrame(machine))
    return told(evaluate(meant, context).of(0))[1]


@pytest.mark.parametrize("number, value", [(0x7F, 127), (0x80, -128), (0xABCD80, -128), (0xFFFFFF05, 5)])
def test_what_is_extended_has_its_sign_whatever_is_above_it(number, value):
    assert value_of(f"DW_OP_bregx v4 0; {EXTENDED}; DW_OP_stack_value", {4: number}) & 0xFFFFFFFF == value & 0xFFFFFFFF


@for_each("left, right, operation, value",
    (0xFFFFFFF8, 0, "DW_OP_lit3; DW_OP_shra", -1),  # (int)-8 >> 3
    (0x7FFFFFFF, 1, "DW_OP_lit3; DW_OP_shra", -(1 << 28)),  # the sum has no bit above a lane
    (0xFFFFFFFF, 9, "DW_OP_lit2; DW_OP_shr", 2),  (0xFFFFFFFF, 1, "DW_OP_not; DW_OP_lit4; DW_OP_shr", 0x0FFFFFFF),
    (0xFFFFFFF8, 0, "DW_OP_lit2; DW_OP_div", -4), (0xFFFFFFFF, 1, "DW_OP_lit0; DW_OP_eq", 1),
    (0xFFFFFFFF, 1, "DW_OP_lit0; DW_OP_ne", 0),   (24, 8, "DW_OP_lit3; DW_OP_shra", 4))  # fmt: skip
def test_what_is_computed_of_lanes_has_their_32_bits(left, right, operation, value):
    text = f"DW_OP_bregx v4 0; DW_OP_bregx v5 0; DW_OP_plus; {operation}; DW_OP_stack_value"
    assert rewritten(text)[1] == ["vector-value", "lane-arithmetic"]
    assert value_of(text, {4: left, 5: right}) & 0xFFFFFFFF == value & 0xFFFFFFFF


def test_what_is_added_to_a_lane_counts_as_computed():
    assert value_of("DW_OP_bregx v4 9; DW_OP_lit2; DW_OP_shr; DW_OP_stack_value", {4: 0xFFFFFFFF}) == 2


@for_each(
    "text, around",
    ("DW_OP_bregx v4 0; DW_OP_lit3; DW_OP_shl; DW_OP_stack_value", {}),  # higher bits do not show
    ("DW_OP_bregx v4 0; DW_OP_lit0; DW_OP_ne; DW_OP_stack_value", {}),  # a lane and 0 have no higher bits
    ("DW_OP_bregx v4 9; DW_OP_lit3; DW_OP_shr; DW_OP_stack_value", {"size": 8}),
    ("DW_OP_bregx v4 0; DW_OP_convert 1; DW_OP_convert 6; DW_OP_stack_value", {}),
    (f"DW_OP_bregx s33 8; {PRIVATE}; DW_OP_stack_value", {}),  # the shift is of the repair
)
def test_other_values_are_computed_as_they_are_written(text, around):
    assert "lane-arithmetic" not in rewritten(text, site(**around))[1]


def test_variables_on_the_stack_of_the_wave_are_at_the_address_of_the_lane():
    scaled = "DW_OP_regx s33; DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr; DW_OP_consts 8; DW_OP_plus; DW_OP_lit5"
    assert rewritten(STACK)[0] == f"{scaled}; DW_OP_LLVM_form_aspace_address"
    flat = rewritten(STACK, site(target="amdgcn-gfx1100-wave32"))
    assert flat[0] == f"{scaled.replace('DW_OP_lit6; DW_OP_shr; ', '')}; DW_OP_LLVM_form_aspace_address"


@every(text=["DW_OP_fbreg 8", STACK, "DW_OP_bregx s32 8"], base=[None, 70])
def test_the_stack_is_meant_where_the_frame_base_is_a_stack_register(text, base):
    assert rewritten(text)[1]
    assert rewritten(text, site(base=base), ALL)[1] == []


def test_a_pointer_with_the_place_of_another_variable_points_to_it():
    """... and one that shares its place with none may be there itself: nothing tells."""
    assert rewritten(STACK, site(private_pointer=True), ALL)[1] == []
    assert rewritten(STACK, site(private_pointer=True, shared=True))[1] == ["wave-stack-pointer"]
    assert rewritten(STACK, site(shared=True))[1] == ["wave-stack-variable"]


@pytest.mark.parametrize("text", ["DW_OP_regx v3", f"DW_OP_bregx v3 0; {PRIVATE}"])
def test_objects_larger_than_a_lane_of_a_register_are_not_in_one(text):
    assert rewritten(text, site(size=8), ALL)[1] == (["pointed-variable"] if "bregx" in text else [])
    assert rewritten(text, site(size=None))[1] == rewritten(text)[1]
    assert rewritten(f"{text}; DW_OP_piece 4", site(size=8))[1]
    assert rewritten(f"{text}; DW_OP_piece 8", site(size=8))[1] == []


def test_the_table_is_in_order():
    assert [*EACH, UNWRITTEN.name] == [*BY_NAME]
    assert len(BY_NAME) == len(REPAIRS)
    for repair in REPAIRS:
        assert repair.source
        assert repair.meaning
        assert set(repair.conditions) <= set(CONDITIONS)


def test_a_repaired_expression_keeps_what_was_written():
    expression = asm.parse(TEXT, dialects.get("llvm-user"), Format(), target=resolve("amdgcn-gfx90a"))
    found, used = repaired(expression, site())
    assert isinstance(found, Repaired)
    assert as_written(found) is expression
    assert repairs_of(found) == used
    assert repairs_of(expression) == ()
    assert as_written(expression) is expression
    assert [(each.offset, each.end) for each in found.instructions] == [(0, 5)] * 3


@given(st.binary(max_size=24), st.sampled_from(["DW_AT_location", "DW_AT_frame_base"]))
def test_any_bytes_are_repaired_or_not(data, attribute):
    expression = decode(data, dialects.get("llvm-user"), Format())
    found, used = repaired(expression, site(attribute), ALL)
    assert as_written(found) is expression
    assert bool(used) == isinstance(found, Repaired)
    assert found.code


COMPILED = sorted(
    f"amdgpu/{each.name}"
    for each in (FIXTURES / "amdgpu").glob("*.co")
    if re.match(r"(hip|cl)-(kernels|two-units)", each.name)
)
OF_OTHERS = sorted(
    f"{each.parent.name}/{each.name}"
    for pattern in ("compilers/*.co", "llvm24/hip-*.co", "llvm24/triton.*.co")
    for each in FIXTURES.glob(pattern)
)


def machine_of(program):
    """A wave with a number of its own in each register and each lane."""
    machine = Machine(program.target)
    machine.add_waves(1)
    lanes = program.target.lane_count
    for number in range(106):
        machine.set_register(f"s{number}", 0x1000 * lanes if number in (32, 33) else number)
    numbers = np.arange(lanes, dtype=np.uint32)[None]
    for number in range(256):
        machine.set_register(f"v{number}", numbers + 1000 * number)
    machine.set_register("exec", (1 << lanes) - 1)
    return machine


def machine_at(program, pc):
    machine = machine_of(program)
    machine.set_register("pc", pc)
    return machine


def meant(operations, scaled, program):
    """What producers mean by the operations of a location, by the form alone; None for what needs no repair."""
    base = 0x1000 if scaled else 0x1000 * program.target.lane_count
    if found := re.fullmatch(r"DW_OP_regx v(\d+)", operations):
        return f"v{found[1]}", LANE * 4
    if found := re.fullmatch(r"DW_OP_fbreg (-?\d+)", operations):
        return "private_lane", base + int(found[1])
    if found := re.fullmatch(r"DW_OP_bregx s3[23] (-?\d+)(; DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef)?", operations):
        return "private_lane", base + int(found[1])
    if found := re.fullmatch(r"DW_OP_bregx v(\d+) (-?\d+); DW_OP_stack_value", operations):
        return "value", (1000 * int(found[1]) + LANE + int(found[2])) % (1 << 64)
    if found := re.fullmatch(r"DW_OP_fbreg (-?\d+); DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef", operations):
        return "private_lane", base + int(found[1])
    if found := re.fullmatch(
        r"DW_OP_bregx v(\d+) 0; (DW_OP_constu 65535; DW_OP_and; )?DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef", operations
    ):
        return f"v{found[1]}", LANE * 4
    if found := re.fullmatch(
        r"DW_OP_(?:consts |lit)(-?\d+); DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value", operations
    ):
        return "value", int(found[1]) % (1 << 64)
    if found := re.fullmatch(
        r"DW_OP_bregx v(\d+) 0; DW_OP_bregx v(\d+) 0; DW_OP_plus; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; "
        r"DW_OP_stack_value",
        operations,
    ):
        return "value", 1000 * (int(found[1]) + int(found[2])) + 2 * LANE
    if re.fullmatch(r"DW_OP_addrx? \S+; DW_OP_lit[23]; DW_OP_swap; DW_OP_xderef", operations):
        return "undefined", 0
    return None


def told(location):
    """A location in the same words."""
    place = location.single
    storage = place.storage
    if isinstance(storage, Memory):
        return storage.space.name, place.bit_offset // 8
    if isinstance(storage, Register):
        return storage.register.name, place.bit_offset // 8
    if isinstance(storage, Implicit):
        return "value", storage.data
    assert isinstance(storage, Undefined)
    return "undefined", 0


LOCAL = sorted(
    path.relative_to(FIXTURES).as_posix() for path in FIXTURES.glob("*/*.co") if b"tile\0" in path.read_bytes()
)


@pytest.mark.parametrize("name", some_slow(LOCAL, quick=LOCAL[::4]))
def test_a_local_variable_is_at_0_where_it_is_all_the_local_memory_of_the_kernels(name, require_tool):
    """As llvm-readelf tells: the undefined symbols are those of local variables, the notes have the bytes."""
    tool = require_tool("llvm-readelf-22")
    done = subprocess.run(
        [tool, "--dyn-syms", "--notes", str(FIXTURES / name)], capture_output=True, text=True, check=True
    )
    undefined = set(re.findall(r" UND (\S+)", done.stdout))
    sizes = {int(size) for size in re.findall(r"(?i)group_?segment_?fixed_?size: *(\d+)", done.stdout)} - {0}
    program = dwarfgpu.open(str(FIXTURES / name))
    for function in functions_of(program):
        if not any(name_of(entry) == "tile" for entry in function.children()):
            continue
        frame = program.attach(machine_at(program, function.ranges()[0][0]))[0].frame().outer
        variable = next(variable for variable in frame.variables() if variable.name == "tile")
        if not variable.locations() or "DW_OP_xderef" not in variable.locations()[0].operations:
            continue
        is_sole = len(undefined) == 1 and sizes == {known_size(variable.type)}
        (repair,) = variable.repairs
        assert repair.name.startswith("sole-local-variable" if is_sole else "no-local-address")
        assert told(variable.location(LANE)) == (("local", 0) if is_sole else ("undefined", 0))


def name_of(entry):
    origin = entry.find("DW_AT_abstract_origin")
    return entry.name if origin is None else origin.reference().name


def functions_of(program):
    for unit in program.file.dwarf.units:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            if die.tag == 0x2E and die.ranges():
                yield die
            waiting += die.children()


@pytest.mark.parametrize("name", some_slow(COMPILED, quick=COMPILED[::10]))
def test_every_variable_of_the_compiled_kernels_is_where_its_producer_means(name):
    """At every address where some location begins: what the form of the operations means, in one lane."""
    assert compared(name) > 10


@pytest.mark.parametrize("name", some_slow(OF_OTHERS, quick=OF_OTHERS[::10]))
def test_every_variable_of_other_versions_is_where_its_producer_means(name):
    """clang 13 to 19, LLVM 24 and Triton: the same idioms in other words."""
    assert compared(name) > 0 or re.search(r"hip.clang13.*O2", name)  # which has no locations


def compared(name):
    """Compare all variables of a file; how many locations that were."""
    program = dwarfgpu.open(str(FIXTURES / name))
    written = dwarfgpu.open(str(FIXTURES / name), repair="off")
    scaled = program.target.stack_scale == 1
    machine = machine_of(program)
    checked = 0
    for function in functions_of(program):
        low, high = function.ranges()[0]
        body = body_of(program, low)
        starts = {low, body}
        for frame in written.at(low)[-1:]:
            for variable in frame.variables():
                starts |= {each.range[0] for each in variable.locations() if each.range}
        for pc in sorted(each for each in starts if low <= each < high):
            machine.set_register("pc", pc)
            attached = program.attach(machine)
            plain = written.at(pc)
            for frame, other in zip(attached[0].frames(), plain, strict=False):
                for variable, text in zip(frame.variables(), other.variables(), strict=True):
                    checked += check(variable, text, pc, scaled, program, pc < body)
    return checked


def body_of(program, pc):
    """Where the body of the function of an address begins, behind its prologue."""
    prologue = program.attach(machine_at(program, pc)).state.sources.prologue(pc)
    return pc if prologue is None else prologue.stop


def larger_than_lane(kind):
    """Whether a type has more than 32 bits; a pointer into a space of 32 bits has not."""
    kind = stripped(kind)
    if isinstance(kind, Pointer) and kind.address_space in (2, 3, 5, 6):
        return False
    return known_size(kind) > 4


def check(variable, text, pc, scaled, program, is_early):
    """Compare one variable at one place; how many locations were compared."""
    listed = [each for each in text.locations() if each.range is None or each.range[0] <= pc < each.range[1]]
    if len(listed) != 1:
        return 0
    parts = re.split(r"(?:; )?DW_OP_piece \S+(?:; )?", names_of_registers(listed[0].operations, program))
    wanted = [meant(part, scaled, program) for part in parts if part]
    if not wanted or None in wanted:
        return 0
    if "bregx" in parts[0] and len(parts) == 1 and larger_than_lane(variable.type) and wanted[0][0].startswith("v"):
        wanted = [("undefined", 0)]
    if variable.repairs and variable.repairs[0].name.startswith("sole-local-variable"):
        wanted = [("local", 0)]  # the test of local variables says where that is right
    if "fbreg" in listed[0].operations and variable.frame.outer.function.find("DW_AT_frame_base") is None:
        return 0  # what remains of a function that was inlined everywhere
    if is_early and "DW_OP_fbreg" in listed[0].operations:
        with pytest.raises(Unavailable, match="the function has not set up its frame yet"):
            variable.location(LANE)
        return 0
    location = variable.location(LANE)
    assert variable.repairs
    storage = location.single.storage
    if isinstance(storage, Composite):
        assert [told(part.location) for part in storage.parts if told(part.location)[0] != "undefined"] == wanted
    else:
        assert [told(location)] == wanted
    return len(wanted)


def names_of_registers(operations, program):
    """The listing with vector registers by name and numbers in decimal."""

    def register(found):
        known = program.target.register(int(found[2], 0))
        return f"DW_OP_{found[1]} {known.name if known else found[2]}"

    operations = re.sub(r" \[\$\w+\]", "", operations)
    operations = re.sub(r"DW_OP_(bregx|regx) (\d\w*)", register, operations)
    operations = re.sub(r"(DW_OP_bregx \w+|DW_OP_fbreg|DW_OP_consts) ?\+?(-?\d+)", r"\1 \2", operations)
    return operations.replace("0xffff", "65535")


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in COMPILED if ".O0." in each and "kernels" in each])
def test_private_variables_are_where_the_code_looks_for_them(name, require_tool):
    """What functions add to s33, after they have shifted it where it counts bytes of the wave, is what fbreg adds."""
    objdump = require_tool("llvm-objdump-22", "llvm-objdump")
    path = FIXTURES / name
    program = dwarfgpu.open(str(path), repair="off")
    code = subprocess.run([objdump, "-d", path], capture_output=True, text=True, check=True).stdout
    shift = (program.target.lane_count - 1).bit_length()
    address = r"s_add(?:_co)?_i32 s\d+, s33, (\d+|0x[0-9a-f]+)"
    if program.target.stack_scale == 1:
        assert f", s33, {shift} " in code
        address = rf"s_lshr_b32 (?:s\d+), s33, {shift} .*\n\s*s_add(?:_co)?_i32 s\d+, s\d+, (\d+|0x[0-9a-f]+)"
    used = {int(found[1], 0) for found in re.finditer(address, code)}
    accesses = re.finditer(r"(?:buffer|scratch)_(?:store|load)_.* s33(?: offset:(\d+))?", code)
    used |= {int(found[1] or 0) for found in accesses} | {0}
    told_offsets = set()
    for function in functions_of(program):
        if program.file.image.symbol_named(f"{function.linkage_name or function.name}.kd") is not None:
            continue  # in a kernel s33 is 0, and so is not added to
        for variable in program.at(function.ranges()[0][0])[-1].variables():
            for each in variable.locations():
                if found := re.match(r"DW_OP_fbreg \+?(\d+); DW_OP_lit", each.operations):
                    told_offsets.add(int(found[1]))
    assert len(told_offsets) > 5
    assert told_offsets <= used


def test_a_variable_tells_its_repairs_and_what_the_text_says():
    program = dwarfgpu.open(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"))
    pc = body_of(program, next(die for die in functions_of(program) if die.name == "square").ranges()[0][0])
    variable = program.attach(machine_at(program, pc))[0].frame()["base"]
    assert [repair.name for repair in variable.repairs] == ["private-variable", "scaled-frame-base"]
    assert told(variable.location(LANE)) == ("private_lane", 0x1000 + 4)
    alone = variable.as_written()
    assert alone.repairs == ()
    past = "the read of 64 bits at bit offset 0 goes past the end of s33, which has 32 bits"
    with pytest.raises(DwarfGpuError, match=past):
        alone.location(LANE)
    off = dwarfgpu.open(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"), repair="off")
    assert off.attach(machine_at(program, pc))[0].frame()["base"].repairs == ()


def test_files_of_other_producers_are_left_alone():
    program = dwarfgpu.open(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    frame = program.attach(machine_at(program, program.file.image.symbol_named("lex_1_1_else").value))[0].frame()
    assert all(variable.repairs == () for variable in frame.variables())


def test_values_of_extended_variables_are_those_that_the_kernel_computes():
    path = str(FIXTURES / "amdgpu/extended.gfx1030.w32.O2.co")
    numbers = (np.arange(34) * 37 % 256 - 128).astype(np.int8)
    args = {"out": np.zeros(256, np.int16), "in": numbers, "un": numbers.astype(np.uint8)}
    machine = machine_for(path, "narrow")
    launched = launch(machine, path, "narrow", grid=(32,), work_group=(32,), args=args)
    program = dwarfgpu.open(path)
    wanted = {"t": {tuple(numbers[:32].tolist()), (7,) * 32}, "l": {tuple(numbers[1:33].tolist())}}
    found: dict[str, set[tuple[int, ...]]] = {"t": set(), "l": set()}
    while (halt := machine.step(0)).kind == "step":
        for variable in program.attach(machine)[0].frames()[0].variables():
            if variable.name in found and variable.locations_here():
                found[variable.name].add(tuple(int(value) for value in variable.values().array))
    assert halt.has_ended
    assert found == wanted
    assert launched.buffers["out"][:32].tolist() == numbers[:32].tolist()
