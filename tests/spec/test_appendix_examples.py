"""The examples of the text (chapter 2, appendix D), and what compilers emit, evaluated in a state made for them.

The expressions of the examples stand here as the text has them. Names with ``LLVM`` and without are the same operation.
"""

from __future__ import annotations

from typing import Any

import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.expr import asm
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.verify import verify
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, answer, run_lanes, table

WAVE64 = "amdgcn-gfx90a"
FLAT64 = "amdgcn-gfx942"
WAVE32 = "amdgcn-gfx1100-wave32"


def row(clause: str, ops: str, expected: Any, **case: Any) -> Case:
    return Case(clause, ops, expected, **{"rules": "amd", **case})


def memory(address: int, data: str, space: Any = 0, **more: Any) -> dict[str, Any]:
    return {"space": space, "address": address, "bytes": data, **more}


def words(*numbers: int, size: int = 8, order: Any = "little") -> str:
    return b"".join(number.to_bytes(size, order) for number in numbers).hex()


# --- D.1.3 Location description examples --------------------------------------------------------------------------

D_1_3 = [
    # A structure member is four bytes from the start of the instance, whose location is on the stack already.
    row("D.1.3", "DW_OP_offset_uconst 4", "mem 0x1004", initial_stack=[{"kind": "memory", "address": 0x1000}]),
    row("D.1.3", "DW_OP_offset_uconst 4", "mem 0x1004", initial_stack=[0x1000], want="location"),
    row("D.1.3", "DW_OP_offset_uconst 4", "r5+32", initial_stack=[{"kind": "register", "register": 5}]),
    row(
        "D.1.3",
        "DW_OP_offset_uconst 4",
        "local#0x14",
        initial_stack=[{"kind": "memory", "space": 3, "address": 16}],
        target=WAVE64,
    ),
    # The address is 16 plus the contents of register 5 on entry to the subprogram.
    row("D.1.3", "DW_OP_entry_value 55; DW_OP_offset_uconst 16", "mem 0x1010", entry_values={"DW_OP_reg5": 0x1000}),
    row(
        "D.1.3",
        "DW_OP_entry_value (DW_OP_reg5); DW_OP_offset_uconst 16",
        "mem 0x1010",
        entry_values={"55": 0x1000},
        address_size=4,
        byte_order="big",
    ),
    row("D.1.3", "DW_OP_entry_value (DW_OP_reg5); DW_OP_offset_uconst 16", "frame"),
]

# --- D.2.1 Fortran simple array -----------------------------------------------------------------------------------
# The descriptor: its base (8 bytes), its flags (8), and for each dimension lower and upper bound (8 bytes each).

BASE, FLAGS, DIMS = 0, 8, 16
LOWER, UPPER, SIZEOF_DIM = 0, 8, 16
DESCRIPTOR = words(0x5000, 0b01, 3, 10, (1 << 64) - 2, 4)
DESCRIBED: dict[str, Any] = {"object": 0x1000, "memory": [memory(0x1000, DESCRIPTOR)]}
IN_REGISTERS: dict[str, Any] = {
    "object": {
        "kind": "composite",
        "parts": [{"bit_size": 64, "location": {"kind": "register", "register": number}} for number in range(6)],
    },
    "registers": {str(number): {"bytes": DESCRIPTOR[16 * number : 16 * number + 16]} for number in range(6)},
}
IN_LANES: dict[str, Any] = {
    "target": WAVE64,
    "object": {"kind": "memory", "space": "private_lane", "address": 0x20},
    "memory": [
        memory(0x20, words(0x5000 + lane, lane % 2, lane, 10 * lane), "private_lane", lane=lane) for lane in range(64)
    ],
}


def field(offset: int) -> str:
    return f"DW_OP_push_object_address; DW_OP_lit{offset}; DW_OP_offset; DW_OP_deref"


ASSOCIATED = f"{field(FLAGS)}; DW_OP_lit1; DW_OP_and"
ALLOCATED = f"{field(FLAGS)}; DW_OP_lit2; DW_OP_and"

D_2_1 = [
    case
    for state in (DESCRIBED, IN_REGISTERS)
    for case in (
        row("D.2.1", ASSOCIATED, "1", want="value", **state),
        row("D.2.1", ALLOCATED, "0", want="value", **state),
        row("D.2.1", field(BASE), "mem 0x5000", want="location", **state),  # DW_AT_data_location
        row("D.2.1", field(DIMS + LOWER), "3", want="value", **state),
        row("D.2.1", field(DIMS + UPPER), "10", want="value", **state),
        # "for the m'th dimension" only the offset differs
        row(
            "D.2.1",
            field(0).replace("lit0", f"const1u {DIMS + SIZEOF_DIM + LOWER}"),
            str((1 << 64) - 2),
            want="value",
            **state,
        ),
        row("D.2.1", field(0).replace("lit0", f"const1u {DIMS + SIZEOF_DIM + UPPER}"), "4", want="value", **state),
    )
] + [
    # A descriptor of each lane, as GPU code has it in private memory.
    row("D.2.1", ASSOCIATED, [str(lane % 2) for lane in range(64)], **IN_LANES),
    row("D.2.1", field(BASE), [f"mem {0x5000 + lane:#x}" for lane in range(64)], want="location", **IN_LANES),
    row("D.2.1", field(DIMS + UPPER), [str(10 * lane) for lane in range(64)], **IN_LANES),
    row(
        "D.2.1",
        field(4),
        "7",
        want="value",
        object=0x1000,
        memory=[memory(0x1004, words(7, size=4, order="big"))],
        address_size=4,
        byte_order="big",
    ),
]

# --- D.2.3 Fortran 2008 assumed-rank array ------------------------------------------------------------------------
# The rank is on the stack; the descriptor has it in place of the flags.


def bound(offset: int) -> str:
    return (
        f"DW_OP_lit{SIZEOF_DIM}; DW_OP_mul; DW_OP_lit{DIMS}; DW_OP_plus; DW_OP_push_object_address; DW_OP_swap;"
        "DW_OP_offset;"
        f"DW_OP_lit{offset}; DW_OP_offset; DW_OP_deref"
    )


D_2_3 = [
    row("D.2.3", field(FLAGS), "1", want="value", **DESCRIBED),
    row("D.2.3", field(BASE), "mem 0x5000", want="location", **DESCRIBED),
    *[
        row("D.2.3", bound(offset), expected, want="value", initial_stack=[dimension], **state)
        for state in (DESCRIBED, IN_REGISTERS)
        for dimension, offset, expected in (
            (0, LOWER, "3"),
            (0, UPPER, "10"),
            (1, LOWER, str((1 << 64) - 2)),
            (1, UPPER, "4"),
        )
    ],
    row("D.2.3", bound(LOWER), "memory_unavailable", initial_stack=[2], **DESCRIBED),
    row("D.2.3", bound(LOWER), "offset_out_of_storage", initial_stack=[2], **IN_REGISTERS),
]

# --- D.2.6 Ada ----------------------------------------------------------------------------------------------------

D_2_6 = [
    # DW_AT_data_member_location of VEC2: the location of the record is on the stack.
    row("D.2.6", "DW_OP_lit4; DW_OP_offset", "mem 0x1004", initial_stack=[{"kind": "memory", "address": 0x1000}]),
    row("D.2.6", "DW_OP_lit4; DW_OP_offset", "r5+32", initial_stack=[{"kind": "register", "register": 5}]),
    row(
        "D.2.6",
        "DW_OP_lit4; DW_OP_offset",
        [f"private_lane#0x14@{lane}" for lane in range(32)],
        initial_stack=[{"kind": "memory", "space": 5, "address": 16}],
        target=WAVE32,
    ),
]

# --- Chapter 2 ----------------------------------------------------------------------------------------------------

DST = """
    DW_OP_breg0 0;
    DW_OP_reg2;
    DW_OP_breg1 0; DW_OP_lit4; DW_OP_mul;
    DW_OP_lit4;
    DW_OP_LLVM_overlay
"""
"""2.20: dst is at R0, but dst[i] is in R2, where i is R1."""

LOOP: dict[str, Any] = {"address_size": 4, "registers": {"0": 0x1000, "1": 2, "2": 0xAABBCCDD}}

CHAPTER_2 = [
    row("2.20", DST, f"{{64:mem 0x1000 32:r2 {(8 << 32) - 8 * 0x100C}:mem 0x100c}}", **LOOP),
    row(
        "2.20",
        DST,
        f"{{32:r2 {(8 << 32) - 8 * 0x1004}:mem 0x1004}}",
        **{**LOOP, "registers": {"0": 0x1000, "1": 0, "2": 7}},
    ),
    *[
        row(
            "2.20",
            DST,
            words(1, 2, 0xAABBCCDD, 4, size=4, order=order),
            **LOOP,
            read={"bytes": 16},
            memory=[memory(0x1000, words(1, 2, 3, 4, size=4, order=order))],
            byte_order=order,
        )
        for order in ("little", "big")
    ],
    # A write to dst[i] goes to the register, one to its neighbour to memory.
    row(
        "2.20",
        f"{DST}; DW_OP_piece 12; DW_OP_reg2; DW_OP_piece 4; DW_OP_breg0 0; DW_OP_piece 12",
        words(5, 6, 7, 7, 5, 6, 3, size=4),
        **LOOP,
        write=words(5, 6, 7, size=4),
        read={"bytes": 28},
        memory=[memory(0x1000, words(1, 2, 3, 4, size=4))],
    ),
    # The promoted slice of a vectorized loop: eight elements in one register, of which an iteration has one (2.19).
    *[
        row(
            "2.20",
            "DW_OP_breg0 0; DW_OP_reg2; DW_OP_breg1 0; DW_OP_lit4; DW_OP_mul; DW_OP_const1u 32; DW_OP_LLVM_overlay;"
            "DW_OP_breg1 0; DW_OP_LLVM_push_iteration; DW_OP_plus; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset;"
            "DW_OP_deref_size 4",
            str(100 + iteration),
            iteration=iteration,
            iterations=8,
            registers={"0": 0x1000, "1": 8, "2": {"bytes": words(*range(100, 108), size=4)}},
        )
        for iteration in (0, 5, 7)
    ],
    # 2.4: DW_OP_plus wraps around, DW_OP_LLVM_offset does not.
    row("2.4", "DW_OP_addr 0xffffffffffffffff; DW_OP_lit2; DW_OP_plus", "1"),
    row("2.4", "DW_OP_addr 0xffffffffffffffff; DW_OP_lit2; DW_OP_LLVM_offset", "offset_out_of_storage"),
    # 2.8: a variable in a register, partially spilled to private memory, and partially to local memory.
    row(
        "2.8",
        "DW_OP_regx v0; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_piece 4;"
        "DW_OP_lit8; DW_OP_lit5; DW_OP_LLVM_form_aspace_address; DW_OP_piece 2;"
        "DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address; DW_OP_piece 2",
        [f"{lane:02x}000000{lane:02x}fe7788" for lane in range(64)],
        read={"bytes": 8},
        target=WAVE64,
        registers={"v0": list(range(64))},
        memory=[
            memory(16, "7788", "local"),
            *(memory(8, f"{lane:02x}fe", "private_lane", lane=lane) for lane in range(64)),
        ],
    ),
    # 2.1: an expression of DWARF 5 means what it always did.
    row(
        "2.1",
        "DW_OP_breg5 8; DW_OP_deref; DW_OP_plus_uconst 4",
        "mem 0x2004",
        want="location",
        registers={"5": 0x1000},
        memory=[memory(0x1008, words(0x2000))],
    ),
    row("2.1", "DW_OP_reg3; DW_OP_piece 4; DW_OP_reg10; DW_OP_piece 2", "{32:r3 16:r10}"),
    row(
        "2.1",
        "DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 4; DW_OP_breg3 0; DW_OP_breg4 0; DW_OP_plus;"
        "DW_OP_stack_value; DW_OP_piece 4",
        "{32:implicit 0100000000000000 32:implicit 0700000000000000}",
        registers={"3": 3, "4": 4},
    ),
]

test_location_descriptions = table(D_1_3)
test_fortran_array = table(D_2_1)
test_fortran_assumed_rank = table(D_2_3)
test_ada_record = table(D_2_6)
test_chapter_2 = table(CHAPTER_2)

# --- The program locations of lanes (2.13; AMDGPU usage, "AMDGPU DW_AT_LLVM_lane_pc") -----------------------------

PC_NOW, LEX_1_START, LEX_1_1_END = 0x1234, 0x1100, 0x1200

ACTIVE = "DW_OP_regx 16; DW_OP_LLVM_extend 64, 64; DW_OP_regval_type 17 1; DW_OP_LLVM_select_bit_piece 64, 64"
DIVERGENT = "DW_OP_LLVM_undefined; DW_OP_LLVM_extend 64, 64"


def region(outer: int, start: int, saved: int) -> str:
    return (
        f"DW_OP_call_ref {outer}; DW_OP_addr {start}; DW_OP_stack_value; DW_OP_LLVM_extend 64, 64;"
        f"DW_OP_call_ref {saved}; DW_OP_deref_type 8 1; DW_OP_LLVM_select_bit_piece 64, 64"
    )


SAVED_1 = 0x00FF_FFFF_FFFF_FF0F
SAVED_2 = 0x0000_FFFF_0000_FF00
EXEC = 0x0000_00FF_0000_0F00
LANE_PC: dict[str, Any] = {
    "target": WAVE64,
    "base_types": {"1": {"encoding": "unsigned", "byte_size": 8}},
    "registers": {
        "pc": PC_NOW,
        "exec": EXEC,
        "s10": SAVED_1 & 0xFFFFFFFF,
        "s11": SAVED_1 >> 32,
        "v40": [0, 0, SAVED_2 & 0xFFFFFFFF, SAVED_2 >> 32],
    },
    "dies": {
        "info:0x100": {"location": {"ops": ACTIVE}},
        "info:0x110": {"location": {"ops": DIVERGENT}},
        "info:0x120": {"location": {"ops": region(0x110, LEX_1_START, 0x180)}},
        "info:0x130": {"location": {"ops": region(0x120, LEX_1_1_END, 0x190)}},
        # The saved masks are variables with location lists: one is in two SGPRs, one in two lanes of a VGPR.
        "info:0x180": {"location": [{"ops": "DW_OP_regx s10; DW_OP_piece 4; DW_OP_regx s11; DW_OP_piece 4"}]},
        "info:0x190": {"location": [{"ops": "DW_OP_regx v40; DW_OP_LLVM_offset_uconst 8"}]},
    },
}


def expected_pc(lane: int, *masks: tuple[int, int]) -> str:
    """The location of the innermost region whose mask has the lane."""
    for mask, address in masks:
        if mask >> lane & 1:
            return str(address)
    return "undefined_read"


@pytest.mark.parametrize(
    "outer, masks",
    [
        (0x110, [(EXEC, PC_NOW)]),
        (0x120, [(EXEC, PC_NOW), (SAVED_1, LEX_1_START)]),
        (0x130, [(EXEC, PC_NOW), (SAVED_2, LEX_1_1_END), (SAVED_1, LEX_1_START)]),
    ],
)
def test_lane_pc(outer, masks):
    """A lane's element is the current program location, the one where it waits, or undefined."""
    vector = f"DW_OP_call_ref {outer}; DW_OP_call_ref 0x100"
    element = "DW_OP_LLVM_push_lane; DW_OP_lit8; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref"

    assert run_lanes(f"{vector}; {element}", **LANE_PC) == [expected_pc(lane, *masks) for lane in range(64)]


def test_lane_pc_as_a_whole():
    """The attribute has one single location description, of 64 elements."""
    found = answer("DW_OP_call_ref 0x120; DW_OP_call_ref 0x100", **LANE_PC, want="location", read={"bytes": 512})
    whole = bytes.fromhex(found["read"]["bytes"])
    undefined = bytes.fromhex(found["read"]["undefined"])

    assert found["result"]["kind"] == "composite"
    assert sum(part["bit_size"] for part in found["result"]["parts"]) == 64 * 64
    for lane in range(64):
        element = slice(8 * lane, 8 * lane + 8)
        wanted = expected_pc(lane, (EXEC, PC_NOW), (SAVED_1, LEX_1_START))
        assert undefined[element] == (b"\xff" * 8 if wanted == "undefined_read" else bytes(8))
        assert int.from_bytes(whole[element], "little") == (0 if wanted == "undefined_read" else int(wanted))


# --- Call frame information of ROCm compilers ---------------------------------------------------------------------


def cfa(address: int) -> dict[str, Any]:
    """What DW_CFA_expression has on the stack at first."""
    return {"kind": "memory", "space": "private_wave", "address": address}


def spill(vgpr: str, offset: int, mask: str, size: int) -> str:
    return (
        f"DW_OP_regx {vgpr}; DW_OP_swap; DW_OP_LLVM_offset_uconst {offset};"
        f"DW_OP_LLVM_call_frame_entry_reg {mask}; DW_OP_deref_size {size}; DW_OP_LLVM_select_bit_piece 32 {8 * size}"
    )


PAIR = "DW_OP_regx s30; DW_OP_piece 4; DW_OP_regx s31; DW_OP_piece 4"
PAIR_IN_LANES = "DW_OP_regx v43; DW_OP_bit_piece 0x20 0x60; DW_OP_regx v43; DW_OP_bit_piece 0x20 0x80"
V43 = [0, 1, 2, 0x11223344, 0x55667788, 5]
KERNEL = "DW_OP_lit0; DW_OP_lit6; DW_OP_LLVM_form_aspace_address"
FLAT_CFA = "DW_OP_regx s32; DW_OP_deref_size 4; DW_OP_lit6; DW_OP_shl; DW_OP_lit6; DW_OP_LLVM_form_aspace_address"
FLAT_CFA_32 = FLAT_CFA.replace("lit6; DW_OP_shl", "lit5; DW_OP_shl")
MUBUF_CFA = "DW_OP_constu 6; DW_OP_aspace_bregx s32 0"
MASK = 0xFFFF0000_0F0F0001


def spilled(lane_count: int, mask: int) -> list[str]:
    """The element of each lane of a register that was saved at CFA+0x500 in the lanes of a mask."""
    return [str((2000 if mask >> lane & 1 else 1000) + lane) for lane in range(lane_count)]


def wave_state(target: str, lane_count: int, mask: int) -> dict[str, Any]:
    return {
        "target": target,
        "initial_stack": [cfa(0x100)],
        "registers": {"v40": [1000 + lane for lane in range(lane_count)], "exec": 0},
        "entry_registers": {"exec": {"kind": "implicit", "bytes": mask.to_bytes(lane_count // 8, "little").hex()}},
        "memory": [memory(0x600, words(*(2000 + lane for lane in range(lane_count)), size=4), "private_wave")],
    }


ELEMENT = "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset; DW_OP_deref_size 4"
FRAMES = "A.6.4.2"

CFI_SHAPES = [
    # The CFA of a kernel, and of functions with flat and with buffer scratch.
    row(FRAMES, KERNEL, "private_wave#0x0", target=WAVE64),
    row(FRAMES, FLAT_CFA, "private_wave#0x400", registers={"s32": 16}, target=FLAT64),
    row(FRAMES, FLAT_CFA_32, "private_wave#0x200", registers={"s32": 16}, target=WAVE32),
    row(FRAMES, MUBUF_CFA, "private_wave#0x10", registers={"s32": 16}, target=WAVE64),
    row(
        FRAMES,
        f"{FLAT_CFA}; DW_OP_consts -64; DW_OP_LLVM_offset",
        "private_wave#0x3c0",
        registers={"s32": 16},
        target=FLAT64,
    ),
    # .cfi_llvm_register_pair: the return address in two SGPRs,
    row(FRAMES, PAIR, "{32:s30 32:s31}", target=WAVE64, initial_stack=[cfa(0)]),
    row(
        FRAMES,
        PAIR,
        "1122334455667788",
        target=WAVE64,
        initial_stack=[cfa(0)],
        read={"bytes": 8},
        registers={"s30": 0x44332211, "s31": 0x88776655},
    ),
    row(
        FRAMES,
        f"{PAIR}; DW_OP_LLVM_piece_end; DW_OP_deref",
        str(0x8877665544332211),
        target=WAVE32,
        registers={"s30": 0x44332211, "s31": 0x88776655},
    ),
    # or .cfi_llvm_vector_registers: in two lanes of a VGPR.
    row(FRAMES, PAIR_IN_LANES, "{32:v43+96 32:v43+128}", target=WAVE64, initial_stack=[cfa(0)]),
    row(
        FRAMES,
        PAIR_IN_LANES,
        "4433221188776655",
        target=WAVE64,
        initial_stack=[cfa(0)],
        registers={"v43": V43},
        read={"bytes": 8},
    ),
    row(
        FRAMES,
        PAIR_IN_LANES,
        "4433221188776655",
        target=WAVE32,
        initial_stack=[cfa(0)],
        registers={"v43": V43},
        read={"bytes": 8},
    ),
    row(
        FRAMES,
        f"{PAIR_IN_LANES}; DW_OP_regx v43; DW_OP_LLVM_offset_uconst 12; DW_OP_piece 8",
        "aabbccddeeff0011" * 2,
        target=WAVE64,
        registers={"v43": V43},
        write="aabbccddeeff0011",
        read={"bytes": 16},
    ),
    # An SGPR in one lane of a VGPR.
    row(FRAMES, "DW_OP_regx v43; DW_OP_LLVM_offset_uconst 4", "v43+32", target=WAVE64, initial_stack=[cfa(0)]),
    row(
        FRAMES,
        "DW_OP_regx v43; DW_OP_LLVM_offset_uconst 12; DW_OP_deref_size 4",
        str(0x11223344),
        target=WAVE64,
        registers={"v43": V43},
    ),
    row(
        FRAMES,
        "DW_OP_regx v43; DW_OP_LLVM_offset_uconst 4",
        "07000000",
        target=WAVE32,
        registers={"v43": V43},
        write="07000000",
        read={"bytes": 4},
    ),
    # .cfi_llvm_vector_offset: a VGPR of which the lanes that were active on entry are in memory.
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}", spilled(64, MASK), **wave_state(WAVE64, 64, MASK)),
    row(
        FRAMES,
        f"{spill('v40', 0x500, 'exec', 4)}; {ELEMENT}",
        spilled(32, 0x0F0F0001),
        **wave_state(WAVE32, 32, 0x0F0F0001),
    ),
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}", spilled(64, 0), **wave_state(WAVE64, 64, 0)),
    row(
        FRAMES,
        f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}",
        spilled(64, (1 << 64) - 1),
        **wave_state(WAVE64, 64, (1 << 64) - 1),
    ),
    # ... which a mask of half the bits cannot select.
    row(
        FRAMES,
        spill("v40", 0x500, "exec", 4).replace("32 32", "32 64"),
        "undefined_read",
        **{**wave_state(WAVE64, 64, 1), "entry_registers": {"exec": {"kind": "undefined"}}},
    ),
    # The whole register, as one location.
    row(
        FRAMES,
        spill("v40", 0x500, "exec", 8),
        words(*(int(element) for element in spilled(64, MASK)), size=4),
        read={"bytes": 256},
        **wave_state(WAVE64, 64, MASK),
    ),
    # .cfi_llvm_vector_register_mask: the lanes that were active are in another VGPR.
    row(
        FRAMES,
        "DW_OP_regx v40; DW_OP_regx v41; DW_OP_LLVM_call_frame_entry_reg exec; DW_OP_deref_size 8;"
        f"DW_OP_LLVM_select_bit_piece 32 64; {ELEMENT}",
        spilled(64, MASK),
        target=WAVE64,
        initial_stack=[cfa(0)],
        registers={"v40": [1000 + lane for lane in range(64)], "v41": [2000 + lane for lane in range(64)]},
        entry_registers={"exec": {"kind": "implicit", "bytes": words(MASK)}},
    ),
    # EXEC as it was on entry may itself have been saved: here in two SGPRs.
    row(
        FRAMES,
        f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}",
        spilled(64, MASK),
        **{
            **wave_state(WAVE64, 64, MASK),
            "registers": {"v40": [1000 + lane for lane in range(64)], "s10": MASK & 0xFFFFFFFF, "s11": MASK >> 32},
            "entry_registers": {
                "exec": {
                    "kind": "composite",
                    "parts": [
                        {"bit_size": 32, "location": {"kind": "register", "name": "s10"}},
                        {"bit_size": 32, "location": {"kind": "register", "name": "s11"}},
                    ],
                }
            },
        },
    ),
]

test_call_frame_information = table(CFI_SHAPES)


@pytest.mark.parametrize(
    "ops", [KERNEL, FLAT_CFA, FLAT_CFA_32, MUBUF_CFA, PAIR, PAIR_IN_LANES, spill("v40", 0x500, "exec", 8)]
)
def test_call_frame_information_uses_what_it_may(ops):
    target = resolve(WAVE64)
    program = asm.parse(ops, dialects.get("llvm-user"), Format(), target=target)
    findings = verify(program, rules=AMD, in_cfi=True, initial_depth=1, target=target)

    assert [finding for finding in findings if finding.severity == "error"] == []


# --- Variables as upstream LLVM describes them --------------------------------------------------------------------
# The text gives these expressions a meaning that their producer did not intend; it is the text's that holds here.

FLAT_S33: dict[str, Any] = {"frame_base": {"kind": "register", "name": "s33"}, "registers": {"s33": 0}}
PRODUCERS = "A.2.5.4.3.4 (5)"

VARIABLES = [
    # -O0: an address space is forced upon the address in the default one, and the memory there is read.
    row(
        PRODUCERS,
        "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
        "7",
        target=WAVE64,
        lane=3,
        frame_base=0,
        memory=[memory(8, words(7), "private_lane", lane=3)],
    ),
    row(
        PRODUCERS,
        "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
        "mem 0x7",
        want="location",
        target=WAVE64,
        lane=3,
        frame_base=0,
        memory=[memory(8, words(7), "private_lane", lane=3)],
    ),
    row(
        PRODUCERS,
        "DW_OP_fbreg 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "7",
        target=WAVE64,
        frame_base=0x1000,
        memory=[memory(0x1008, words(7))],
    ),
    row(PRODUCERS, "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_swap; DW_OP_xderef", "lane", target=WAVE64, frame_base=0),
    # ... where DW_AT_frame_base is an SGPR, which does not hold an address of the default address space.
    row(
        "A.3.3.5 (2)",
        "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_swap; DW_OP_xderef",
        "read_past_storage",
        target=WAVE64,
        **FLAT_S33,
    ),
    # -O2: the first two lanes of a VGPR as an address.
    row(
        PRODUCERS,
        "DW_OP_bregx v8 0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        ["7"] * 32,
        target=WAVE32,
        registers={"v8": [0x2000, 1]},
        memory=[memory(0x1_00002000, words(7))],
    ),
    row(
        PRODUCERS,
        "DW_OP_bregx v4 0; DW_OP_lit5; DW_OP_swap; DW_OP_xderef; DW_OP_piece 4; DW_OP_bregx v5 0; DW_OP_lit5;"
        "DW_OP_swap;"
        "DW_OP_xderef; DW_OP_piece 4",
        "{32:mem 0x70 32:mem 0x80}",
        target=WAVE64,
        lane=1,
        registers={"v4": [16, 0], "v5": [24, 0]},
        memory=[memory(16, words(0x70), "private_lane", lane=1), memory(24, words(0x80), "private_lane", lane=1)],
    ),
    # A constant is taken for an address too.
    row(
        PRODUCERS,
        "DW_OP_consts 8; DW_OP_lit1; DW_OP_swap; DW_OP_xderef; DW_OP_stack_value",
        "implicit 0700000000000000",
        target=WAVE64,
        memory=[memory(8, words(7))],
    ),
    # Every variable in LDS is at address 0.
    row(
        PRODUCERS,
        "DW_OP_addrx 2; DW_OP_lit3; DW_OP_swap; DW_OP_xderef",
        "7",
        target=WAVE64,
        debug_addr={"2": 0},
        memory=[memory(0, words(7), "local")],
    ),
    row(
        PRODUCERS,
        "DW_OP_addrx 2; DW_OP_lit1; DW_OP_swap; DW_OP_xderef",
        "7",
        target=WAVE64,
        debug_addr={"2": 0x1000},
        memory=[memory(0x1000, words(7))],
    ),
    # Registers and pieces of them mean what they say.
    row("A.2.5.4.4.4 (2)", "DW_OP_regx v5", "v5", target=WAVE64),
    row(
        "A.2.5.4.4.6 (1)", "DW_OP_regx s4; DW_OP_piece 4; DW_OP_regx s5; DW_OP_piece 4", "{32:s4 32:s5}", target=WAVE64
    ),
    row("A.2.5.4.4.5 (2)", "DW_OP_constu 5; DW_OP_stack_value", "implicit 0500000000000000", target=WAVE64),
    row(
        "A.2.5.4.4.5 (2)",
        "DW_OP_breg0 0; DW_OP_convert 1; DW_OP_convert 2; DW_OP_stack_value",
        "implicit feffffff",
        registers={"0": 0xFE},
        base_types={"1": {"encoding": "signed", "byte_size": 1}, "2": {"encoding": "signed", "byte_size": 4}},
    ),
]

test_variables_of_upstream_llvm = table(VARIABLES)
