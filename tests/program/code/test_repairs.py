"""Repairs: what each rewrites, when, and that it means what the compiled code does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import dwarfgpu
from dwarfgpu import dialects
from dwarfgpu.backends.machine import Machine
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr import asm, listing
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.storages import Composite, Implicit, Memory, Register, Undefined
from dwarfgpu.program.code.repairs import (
    AUTO,
    BY_NAME,
    CONDITIONS,
    OFF,
    REPAIRS,
    Policy,
    Repaired,
    Site,
    as_written,
    policy_of,
    repaired,
    repairs_of,
)
from dwarfgpu.targets.resolve import resolve

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
CLANG = "Debian clang version 22.1.8 (1~deb12u1)"
ALL = Policy(auto=False, names=tuple(BY_NAME))
LANE = 5

PRIVATE = "DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
IN_LANE = "DW_OP_regx v3; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"


def site(attribute="DW_AT_location", producer=CLANG, target="amdgcn-gfx90a", address=0x1000):
    return Site(attribute, producer, resolve(target), lambda index: None if index == 9 else address)


def rewritten(text, where=None, policy=AUTO):
    where = where or site()
    expression = asm.parse(text, dialects.get("llvm-user"), Format(), target=where.target)
    found, used = repaired(expression, where, policy)
    texts = [statement.split(";")[0] for statement in listing.text(found, where.target).split("; ")]
    return "; ".join(texts), [repair.name for repair in used]


# --- The table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, becomes, names",
    [
        (
            "DW_OP_fbreg -8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
            "DW_OP_fbreg -8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
            ["private-variable"],
        ),
        (
            "DW_OP_fbreg 16; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
            "DW_OP_fbreg 16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
            ["private-variable"],
        ),
        ("DW_OP_bregx v3 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", IN_LANE, ["vector-register"]),
        (
            "DW_OP_bregx v3 0; DW_OP_constu 0xffff; DW_OP_and; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
            IN_LANE,
            ["half-vector-register"],
        ),
        (
            "DW_OP_consts -3; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
            "DW_OP_consts -3; DW_OP_stack_value",
            ["computed-value"],
        ),
        (
            "DW_OP_lit20; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
            "DW_OP_lit20; DW_OP_stack_value",
            ["computed-value"],
        ),
        (
            "DW_OP_bregx v3 4; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
            f"{IN_LANE}; DW_OP_deref_size 4; DW_OP_consts 4; DW_OP_plus; DW_OP_stack_value",
            ["computed-value"],
        ),
        (
            "DW_OP_addrx 2; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
            "DW_OP_addrx 2; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
            ["global-variable"],
        ),
        (
            "DW_OP_addr 0x40; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
            "DW_OP_addr 0x40; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
            ["global-variable-v4"],
        ),
        (
            "DW_OP_addr 0; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
            "DW_OP_LLVM_undefined",
            ["no-local-address-v4"],
        ),
        (
            "DW_OP_piece 4; DW_OP_bregx v3 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_piece 4",
            f"DW_OP_piece 4; {IN_LANE}; DW_OP_piece 4",
            ["vector-register"],
        ),
        (
            f"DW_OP_bregx v3 0; {PRIVATE}; DW_OP_piece 4; DW_OP_lit1; {PRIVATE}; DW_OP_stack_value; DW_OP_piece 4",
            f"{IN_LANE}; DW_OP_piece 4; DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 4",
            ["vector-register", "computed-value"],
        ),
    ],
)
def test_what_is_written_and_what_it_becomes(text, becomes, names):
    assert rewritten(text) == (becomes, names)


def test_local_variables_without_an_address_are_undefined():
    text = "DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef"
    assert rewritten(text, site(address=0)) == ("DW_OP_LLVM_undefined", ["no-local-address"])
    assert rewritten(text)[1] == []
    assert rewritten(text.replace("2", "9", 1), site(address=0))[1] == []


@pytest.mark.parametrize(
    "target, becomes, name",
    [
        ("amdgcn-gfx90a", "DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr", "scaled-frame-base"),
        ("amdgcn-gfx1030-wave32", "DW_OP_deref_size 4; DW_OP_lit5; DW_OP_shr", "scaled-frame-base"),
        ("amdgcn-gfx1030-wave64", "DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shr", "scaled-frame-base"),
        ("amdgcn-gfx942", "DW_OP_deref_size 4", "narrow-frame-base"),
        ("amdgcn-gfx1100-wave32", "DW_OP_deref_size 4", "narrow-frame-base"),
        ("amdgcn-gfx1200-wave64", "DW_OP_deref_size 4", "narrow-frame-base"),
    ],
)
@pytest.mark.parametrize("register", ["s32", "s33"])
def test_frame_bases(register, target, becomes, name):
    where = site("DW_AT_frame_base", target=target)
    assert rewritten(f"DW_OP_regx {register}", where) == (f"DW_OP_regx {register}; {becomes}", [name])
    assert rewritten("DW_OP_regx s40", where)[1] == []
    assert rewritten(f"DW_OP_regx {register}", site(target=target))[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "DW_OP_fbreg 8; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_nop",
        "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address",
        "DW_OP_bregx s3 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_bregx v3 4; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_bregx s3 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
        "DW_OP_bregx v3 0; DW_OP_constu 0xff; DW_OP_and; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
        "DW_OP_regx v3; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
        "DW_OP_addr 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
        "DW_OP_skip 0; DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "",
    ],
)
def test_what_is_not_written_like_that_stays_as_it_is(text):
    expression = asm.parse(text, dialects.get("llvm-user"), Format(), target=resolve("amdgcn-gfx90a"))
    found, used = repaired(expression, site(), ALL)

    assert found is expression
    assert used == ()


# --- Who is meant ---------------------------------------------------------------------------------------------------

TEXT = "DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef"


@pytest.mark.parametrize(
    "producer, applies",
    [
        (CLANG, True),
        ("clang version 22.0.0", True),
        ("Ubuntu clang version 22.1.1 (1)", True),
        ("clang version 21.1.0", False),
        ("clang version 23.0.0git", False),
        ("AMD clang version 22.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.0.0)", False),
        ("triton", False),
        ("clang version 99999999999999999999.1", False),
        (None, False),
    ],
)
def test_auto_asks_for_the_producer_and_its_version(producer, applies):
    assert bool(rewritten(TEXT, site(producer=producer))[1]) == applies
    assert rewritten(TEXT, site(producer=producer), OFF)[1] == []
    assert rewritten(TEXT, site(producer=producer), policy_of("private-variable"))[1] == ["private-variable"]
    assert rewritten(TEXT, site(producer=producer), policy_of("vector-register"))[1] == []


EACH = {
    "private-variable": (TEXT, {}),
    "vector-register": (f"DW_OP_bregx v3 0; {PRIVATE}", {}),
    "half-vector-register": (f"DW_OP_bregx v3 0; DW_OP_constu 0xffff; DW_OP_and; {PRIVATE}", {}),
    "computed-value": (f"DW_OP_consts -3; {PRIVATE}; DW_OP_stack_value", {}),
    "no-local-address": ("DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {"address": 0}),
    "no-local-address-v4": ("DW_OP_addr 0; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", {}),
    "global-variable": ("DW_OP_addrx 2; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", {}),
    "global-variable-v4": ("DW_OP_addr 0x40; DW_OP_lit1; DW_OP_swap; DW_OP_xderef", {}),
    "scaled-frame-base": ("DW_OP_regx s33", {"attribute": "DW_AT_frame_base"}),
    "narrow-frame-base": ("DW_OP_regx s33", {"attribute": "DW_AT_frame_base", "target": "amdgcn-gfx942"}),
}
"""What each repair is for: an expression, and where it stands."""


@pytest.mark.parametrize("name", BY_NAME)
def test_each_repair_asks_who_is_meant(name):
    """auto, off, by its name and by that of another one; by a producer of another name or version."""
    text, where = EACH[name]
    other = next(each for each in BY_NAME if each != name)
    assert rewritten(text, site(**where))[1] == [name]
    assert rewritten(text, site(**where), OFF) == rewritten(text, site(producer=None, **where))
    assert rewritten(text, site(**where), OFF)[1] == []
    assert rewritten(text, site(**where), policy_of(other))[1] == []
    for producer in ("clang version 21.1.8", "clang version 24.0.0", "GNU C17 12.2.0", "triton", None):
        assert rewritten(text, site(producer=producer, **where))[1] == []
        assert rewritten(text, site(producer=producer, **where), policy_of(f"{other},{name}"))[1] == [name]


def test_policies():
    assert policy_of("auto") is AUTO
    assert policy_of("off") is OFF
    assert policy_of("vector-register, private-variable").names == ("vector-register", "private-variable")
    with pytest.raises(UsageError, match="there is no repair 'all'") as caught:
        policy_of("all")
    assert "private-variable" in str(caught.value.hint)


def test_the_table_is_in_order():
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


# --- What the compiler means ------------------------------------------------------------------------------------------

COMPILED = sorted(
    each.name for each in (FIXTURES / "amdgpu").glob("*.co") if re.match(r"(hip|cl)-(kernels|two-units)", each.name)
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
    if found := re.fullmatch(r"DW_OP_fbreg (-?\d+); DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef", operations):
        return "private_lane", base + int(found[1])
    if found := re.fullmatch(
        r"DW_OP_bregx v(\d+) 0; (DW_OP_constu 65535; DW_OP_and; )?DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef",
        operations,
    ):
        return f"v{found[1]}", LANE * 4
    if found := re.fullmatch(
        r"DW_OP_(?:consts |lit)(-?\d+); DW_OP_lit[15]; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
        operations,
    ):
        return "value", int(found[1]) % (1 << 64)
    if found := re.fullmatch(
        r"DW_OP_bregx v(\d+) 0; DW_OP_bregx v(\d+) 0; DW_OP_plus; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; "
        r"DW_OP_stack_value",
        operations,
    ):
        return "value", 1000 * (int(found[1]) + int(found[2])) + 2 * LANE
    if re.fullmatch(r"DW_OP_addrx? \S+; DW_OP_lit3; DW_OP_swap; DW_OP_xderef", operations):
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


def functions_of(program):
    for unit in program.file.dwarf.units:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            if die.tag == 0x2E and die.ranges():
                yield die
            waiting += die.children()


@pytest.mark.parametrize("name", COMPILED)
def test_every_variable_of_the_compiled_kernels_is_where_its_producer_means(name):
    """At every address where some location begins: what the form of the operations means, in one lane."""
    program = dwarfgpu.open(str(FIXTURES / "amdgpu" / name))
    written = dwarfgpu.open(str(FIXTURES / "amdgpu" / name), repair="off")
    scaled = program.target.stack_scale == 1
    machine = machine_of(program)
    checked = 0
    for function in functions_of(program):
        low, high = function.ranges()[0]
        starts = {low}
        for frame in written.at(low)[-1:]:
            for variable in frame.variables():
                starts |= {each.range[0] for each in variable.locations() if each.range}
        for pc in sorted(each for each in starts if low <= each < high):
            machine.set_register("pc", pc)
            attached = program.attach(machine)
            plain = written.at(pc)
            for frame, other in zip(attached[0].frames(), plain, strict=False):
                for variable, text in zip(frame.variables(), other.variables(), strict=True):
                    checked += check(variable, text, pc, scaled, program)
    assert checked > 10


def check(variable, text, pc, scaled, program):
    """Compare one variable at one place; how many locations were compared."""
    listed = [each for each in text.locations() if each.range is None or each.range[0] <= pc < each.range[1]]
    if len(listed) != 1:
        return 0
    parts = re.split(r"(?:; )?DW_OP_piece \S+(?:; )?", names_of_registers(listed[0].operations, program))
    wanted = [meant(part, scaled, program) for part in parts if part]
    if not wanted or None in wanted:
        return 0
    if "fbreg" in listed[0].operations and variable.frame.outer.function.find("DW_AT_frame_base") is None:
        return 0  # what remains of a function that was inlined everywhere
    location = variable.location(LANE)
    assert variable.repairs
    storage = location.single.storage
    if isinstance(storage, Composite):
        found = [told(part.location) for part in storage.parts if told(part.location)[0] != "undefined"]
        assert found == wanted
    else:
        assert [told(location)] == wanted
    return len(wanted)


def names_of_registers(operations, program):
    """The listing with vector registers by name and numbers in decimal."""

    def name(found):
        register = program.target.register(int(found[1], 0))
        return f"DW_OP_bregx {register.name if register else found[1]} {int(found[2])}"

    operations = re.sub(r"DW_OP_bregx (\d\S*) ([+-]?\d+)", name, operations)
    operations = re.sub(r"(DW_OP_bregx v\d+) ?\+?(\d+)", r"\1 \2", operations)
    operations = re.sub(r"DW_OP_(fbreg|consts) \+?(-?\d+)", r"DW_OP_\1 \2", operations)
    return operations.replace("0xffff", "65535")


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in COMPILED if ".O0." in each and "kernels" in each])
def test_private_variables_are_where_the_code_looks_for_them(name, require_tool):
    """What functions add to s33, after they have shifted it where it counts bytes of the wave, is what fbreg adds."""
    objdump = require_tool("llvm-objdump-22", "llvm-objdump")
    path = FIXTURES / "amdgpu" / name
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


# --- Answers ----------------------------------------------------------------------------------------------------------


def test_a_variable_tells_its_repairs_and_what_the_text_says():
    program = dwarfgpu.open(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"))
    pc = next(die for die in functions_of(program) if die.name == "square").ranges()[0][0] + 8
    variable = program.attach(machine_at(program, pc))[0].frame()["base"]

    assert [repair.name for repair in variable.repairs] == ["private-variable", "scaled-frame-base"]
    assert told(variable.location(LANE)) == ("private_lane", 0x1000 + 4)
    alone = variable.as_written()
    assert alone.repairs == ()
    with pytest.raises(DwarfGpuError, match="64 bits at bit offset 0 reach past the end of the storage of 32 bits"):
        alone.location(LANE)
    off = dwarfgpu.open(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"), repair="off")
    assert off.attach(machine_at(program, pc))[0].frame()["base"].repairs == ()


def test_files_of_other_producers_are_left_alone():
    program = dwarfgpu.open(str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"))
    symbol = program.file.image.symbol_named("lex_1_1_else")
    frame = program.attach(machine_at(program, symbol.value))[0].frame()
    assert all(variable.repairs == () for variable in frame.variables())
