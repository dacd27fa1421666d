"""The examples of the text (chapter 2, appendix D), and what compilers emit, evaluated in a state made for them.

The expressions of the examples stand here as the text has them. Names with ``LLVM`` and without are the same operation.
"""

from typing import Any

from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.verify import verify
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, answer, memory, parsed, run_lanes, table
from tests.builders.parameters import for_each

WAVE64 = "amdgcn-gfx90a"
FLAT64 = "amdgcn-gfx942"
WAVE32 = "amdgcn-gfx1100-wave32"
rows = Rows("D.1.3", vars(), rules="amd")
row = rows.row


def words(*numbers: int, size: int = 8, order: Any = "little") -> str:
    return b"".join(number.to_bytes(size, order) for number in numbers).hex()


# --- D.1.3 Location description examples --------------------------------------------------------------------------

test_location_descriptions = rows.table("""
    # A structure member is four bytes from the start of the instance, whose location is on the stack already.
    offset_uconst 4 -> mem 0x1004 where initial_stack=[{"kind": "memory", "address": 0x1000}]
    offset_uconst 4 -> mem 0x1004 where initial_stack=[0x1000], want="location"
    offset_uconst 4 -> r5+32 where initial_stack=[{"kind": "register", "register": 5}]
    offset_uconst 4 -> local#0x14 where initial_stack=[{"kind": "memory", "space": 3, "address": 16}], target=WAVE64
    # The address is 16 plus the contents of register 5 on entry to the subprogram.
    entry_value 55; offset_uconst 16 -> mem 0x1010 where entry_values={"reg5": 0x1000}
    entry_value (reg5); offset_uconst 16 -> mem 0x1010
        where entry_values={"55": 0x1000}, address_size=4, byte_order="big"
    entry_value (reg5); offset_uconst 16 -> frame
    """)

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
    ]}  # fmt: skip


def field(offset: int) -> str:
    return f"push_object_address; lit{offset}; offset; deref"


ASSOCIATED = f"{field(FLAGS)}; lit1; and"
ALLOCATED = f"{field(FLAGS)}; lit2; and"
test_fortran_array = table(
    [
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
                field(0).replace("lit0", f"const1u {DIMS + SIZEOF_DIM + LOWER}"), str((1 << 64) - 2), want="value",
                **state,
            ),
            row("D.2.1", field(0).replace("lit0", f"const1u {DIMS + SIZEOF_DIM + UPPER}"), "4", want="value", **state),
        )
    ],
    # A descriptor of each lane, as GPU code has it in private memory.
    row("D.2.1", ASSOCIATED, [str(lane % 2) for lane in range(64)], **IN_LANES),
    row("D.2.1", field(BASE), [f"mem {0x5000 + lane:#x}" for lane in range(64)], want="location", **IN_LANES),
    row("D.2.1", field(DIMS + UPPER), [str(10 * lane) for lane in range(64)], **IN_LANES),
    row(
        "D.2.1",
        field(4),             "7",                  want="value",         object=0x1000,
        memory=[memory(0x1004, words(7, size=4, order="big"))],           address_size=4,       byte_order="big",
    ))  # fmt: skip

# --- D.2.3 Fortran 2008 assumed-rank array ------------------------------------------------------------------------
# The rank is on the stack; the descriptor has it in place of the flags.


def bound(offset: int) -> str:
    return f"lit{SIZEOF_DIM}; mul; lit{DIMS}; plus; push_object_address; swap;offset;lit{offset}; offset; deref"


test_fortran_assumed_rank = table(
    row("D.2.3", field(FLAGS), "1", want="value", **DESCRIBED),
    row("D.2.3", field(BASE), "mem 0x5000", want="location", **DESCRIBED),
    *[
        row("D.2.3", bound(offset), expected, want="value", initial_stack=[dimension], **state)
        for state in (DESCRIBED, IN_REGISTERS)
        for dimension, offset, expected in (
            (0, LOWER, "3"),     (0, UPPER, "10"),    (1, LOWER, str((1 << 64) - 2)),           (1, UPPER, "4"),
        )
    ],
    row("D.2.3", bound(LOWER), "memory_unavailable", initial_stack=[2], **DESCRIBED),
    row("D.2.3", bound(LOWER), "offset_out_of_storage", initial_stack=[2], **IN_REGISTERS))  # fmt: skip

# --- D.2.6 Ada ----------------------------------------------------------------------------------------------------

test_ada_record = rows.table("""
    # DW_AT_data_member_location of VEC2: the location of the record is on the stack.
    [D.2.6] lit4; offset -> mem 0x1004 where initial_stack=[{"kind": "memory", "address": 0x1000}]
    lit4; offset -> r5+32 where initial_stack=[{"kind": "register", "register": 5}]
    lit4; offset => [f"private_lane#0x14@{lane}" for lane in range(32)]
        where initial_stack=[{"kind": "memory", "space": 5, "address": 16}], target=WAVE32
    """)

# --- Chapter 2 ----------------------------------------------------------------------------------------------------

DST = """
    breg0 0;
    reg2;
    breg1 0; lit4; mul;
    lit4;
    LLVM_overlay
"""
"""2.20: dst is at R0, but dst[i] is in R2, where i is R1."""

LOOP: dict[str, Any] = {"address_size": 4, "registers": {"0": 0x1000, "1": 2, "2": 0xAABBCCDD}}
test_chapter_2 = table(
    row("2.20", DST, f"{{64:mem 0x1000 32:r2 {(8 << 32) - 8 * 0x100C}:mem 0x100c}}", **LOOP),
    row("2.20", DST, f"{{32:r2 {(8 << 32) - 8 * 0x1004}:mem 0x1004}}",
        **{**LOOP, "registers": {"0": 0x1000, "1": 0, "2": 7}}),
    *[
        row(
            "2.20",
            DST, words(1, 2, 0xAABBCCDD, 4, size=4, order=order), **LOOP, read={"bytes": 16},
            memory=[memory(0x1000, words(1, 2, 3, 4, size=4, order=order))], byte_order=order,
        )
        for order in ("little", "big")
    ],
    rows("""
    # A write to dst[i] goes to the register, one to its neighbour to memory.
    [2.20] breg0 0; reg2; breg1 0; lit4; mul; lit4; LLVM_overlay; piece 12; reg2; piece 4; breg0 0; piece 12
        => words(5, 6, 7, 7, 5, 6, 3, size=4) where **LOOP, write=words(5, 6, 7, size=4), read={"bytes": 28},
        memory=[memory(0x1000, words(1, 2, 3, 4, size=4))]
    """),
    # The promoted slice of a vectorized loop: eight elements in one register, of which an iteration has one (2.19).
    *[
        row(
            "2.20",
            "breg0 0; reg2; breg1 0; lit4; mul; const1u 32; LLVM_overlay;"
            "breg1 0; LLVM_push_iteration; plus; lit4; mul; LLVM_offset;"
            "deref_size 4",
            str(100 + iteration), iteration=iteration, iterations=8,
            registers={"0": 0x1000, "1": 8, "2": {"bytes": words(*range(100, 108), size=4)}},
        )
        for iteration in (0, 5, 7)
    ],
    rows("""
    # 2.4: DW_OP_plus wraps around, DW_OP_LLVM_offset does not.
    [2.4] addr 0xffffffffffffffff; lit2; plus -> 1
    addr 0xffffffffffffffff; lit2; LLVM_offset -> offset_out_of_storage
    # 2.8: a variable in a register, partially spilled to private memory, and partially to local memory.
    [2.8] regx v0; LLVM_push_lane; lit4; mul; LLVM_offset; piece 4; lit8; lit5; LLVM_form_aspace_address; piece 2;
        lit16; lit3; LLVM_form_aspace_address; piece 2 => [f"{lane:02x}000000{lane:02x}fe7788" for lane in range(64)]
        where read={"bytes": 8}, target=WAVE64, registers={"v0": list(range(64))}, memory=[memory(16, "7788", "local"),
        *(memory(8, f"{lane:02x}fe", "private_lane", lane=lane) for lane in range(64))]
    # 2.1: an expression of DWARF 5 means what it always did.
    [2.1] breg5 8; deref; plus_uconst 4 -> mem 0x2004
        where want="location", registers={"5": 0x1000}, memory=[memory(0x1008, words(0x2000))]
    reg3; piece 4; reg10; piece 2 -> {32:r3 16:r10}
    lit1; stack_value; piece 4; breg3 0; breg4 0; plus; stack_value; piece 4
        -> {32:implicit 0100000000000000 32:implicit 0700000000000000} where registers={"3": 3, "4": 4}
    """),
)  # fmt: skip


# --- The program locations of lanes (2.13; AMDGPU usage, "AMDGPU DW_AT_LLVM_lane_pc") -----------------------------

PC_NOW, LEX_1_START, LEX_1_1_END = 0x1234, 0x1100, 0x1200
ACTIVE = "regx 16; LLVM_extend 64, 64; regval_type 17 1; LLVM_select_bit_piece 64, 64"
DIVERGENT = "LLVM_undefined; LLVM_extend 64, 64"


def region(outer: int, start: int, saved: int) -> str:
    return (
        f"call_ref {outer}; addr {start}; stack_value; LLVM_extend 64, 64;"
        f"call_ref {saved}; deref_type 8 1; LLVM_select_bit_piece 64, 64"
    )


SAVED_1 = 0x00FF_FFFF_FFFF_FF0F
SAVED_2 = 0x0000_FFFF_0000_FF00
EXEC = 0x0000_00FF_0000_0F00
LANE_PC: dict[str, Any] = {
    "target": WAVE64,
    "base_types": {"1": {"encoding": "unsigned", "byte_size": 8}},
    "registers": {
        "pc": PC_NOW,                        "exec": EXEC,                        "s10": SAVED_1 & 0xFFFFFFFF,
        "s11": SAVED_1 >> 32,                "v40": [0, 0, SAVED_2 & 0xFFFFFFFF, SAVED_2 >> 32],
    },
    "dies": {
        "info:0x100": {"location": {"ops": ACTIVE}},
        "info:0x110": {"location": {"ops": DIVERGENT}},
        "info:0x120": {"location": {"ops": region(0x110, LEX_1_START, 0x180)}},
        "info:0x130": {"location": {"ops": region(0x120, LEX_1_1_END, 0x190)}},
        # The saved masks are variables with location lists: one is in two SGPRs, one in two lanes of a VGPR.
        "info:0x180": {"location": [{"ops": "regx s10; piece 4; regx s11; piece 4"}]},
        "info:0x190": {"location": [{"ops": "regx v40; LLVM_offset_uconst 8"}]}}}  # fmt: skip


def expected_pc(lane: int, *masks: tuple[int, int]) -> str:
    """The location of the innermost region whose mask has the lane."""
    for mask, address in masks:
        if mask >> lane & 1:
            return str(address)
    return "undefined_read"


@for_each("outer, masks",
    (0x110, [(EXEC, PC_NOW)]),
    (0x120, [(EXEC, PC_NOW), (SAVED_1, LEX_1_START)]),
    (0x130, [(EXEC, PC_NOW), (SAVED_2, LEX_1_1_END), (SAVED_1, LEX_1_START)]))  # fmt: skip
def test_lane_pc(outer, masks):
    """A lane's element is the current program location, the one where it waits, or undefined."""
    vector = f"call_ref {outer}; call_ref 0x100"
    element = "LLVM_push_lane; lit8; mul; LLVM_offset; deref"
    assert run_lanes(f"{vector}; {element}", **LANE_PC) == [expected_pc(lane, *masks) for lane in range(64)]


def test_lane_pc_as_a_whole():
    """The attribute has one single location description, of 64 elements."""
    found = answer("call_ref 0x120; call_ref 0x100", **LANE_PC, want="location", read={"bytes": 512})
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
    return {"kind": "memory", "space": "private_wave", "address": address}


def spill(vgpr: str, offset: int, mask: str, size: int) -> str:
    return (
        f"regx {vgpr}; swap; LLVM_offset_uconst {offset};"
        f"LLVM_call_frame_entry_reg {mask}; deref_size {size}; LLVM_select_bit_piece 32 {8 * size}"
    )


PAIR = "regx s30; piece 4; regx s31; piece 4"
PAIR_IN_LANES = "regx v43; bit_piece 0x20 0x60; regx v43; bit_piece 0x20 0x80"
V43 = [0, 1, 2, 0x11223344, 0x55667788, 5]
KERNEL = "lit0; lit6; LLVM_form_aspace_address"
FLAT_CFA = "regx s32; deref_size 4; lit6; shl; lit6; LLVM_form_aspace_address"
FLAT_CFA_32 = FLAT_CFA.replace("lit6; shl", "lit5; shl")
MUBUF_CFA = "constu 6; aspace_bregx s32 0"
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


ELEMENT = "LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4"
FRAMES = "A.6.4.2"
test_call_frame_information = table(
    # The CFA of a kernel, and of functions with flat and with buffer scratch.
    row(FRAMES, KERNEL, "private_wave#0x0", target=WAVE64),
    row(FRAMES, FLAT_CFA, "private_wave#0x400", registers={"s32": 16}, target=FLAT64),
    row(FRAMES, FLAT_CFA_32, "private_wave#0x200", registers={"s32": 16}, target=WAVE32),
    rows("""
    [A.6.4.2] constu 6; aspace_bregx s32 0 -> private_wave#0x10 where registers={"s32": 16}, target=WAVE64
    regx s32; deref_size 4; lit6; shl; lit6; LLVM_form_aspace_address; consts -64; LLVM_offset
        -> private_wave#0x3c0 where registers={"s32": 16}, target=FLAT64
    """),
    # .cfi_llvm_register_pair: the return address in two SGPRs,
    row(FRAMES, PAIR, "{32:s30 32:s31}", target=WAVE64, initial_stack=[cfa(0)]),
    row(FRAMES, PAIR, "1122334455667788", target=WAVE64, initial_stack=[cfa(0)], read={"bytes": 8},
        registers={"s30": 0x44332211, "s31": 0x88776655}),
    rows("""
    [A.6.4.2] regx s30; piece 4; regx s31; piece 4; LLVM_piece_end; deref => str(0x8877665544332211)
        where target=WAVE32, registers={"s30": 0x44332211, "s31": 0x88776655}
    """),
    # or .cfi_llvm_vector_registers: in two lanes of a VGPR.
    row(FRAMES, PAIR_IN_LANES, "{32:v43+96 32:v43+128}", target=WAVE64, initial_stack=[cfa(0)]),
    row(FRAMES, PAIR_IN_LANES, "4433221188776655", target=WAVE64, initial_stack=[cfa(0)], registers={"v43": V43},
        read={"bytes": 8}),
    row(FRAMES, PAIR_IN_LANES, "4433221188776655", target=WAVE32, initial_stack=[cfa(0)], registers={"v43": V43},
        read={"bytes": 8}),
    rows("""
    [A.6.4.2] regx v43; bit_piece 0x20 0x60; regx v43; bit_piece 0x20 0x80; regx v43; LLVM_offset_uconst 12; piece 8
        => "aabbccddeeff0011" * 2 where target=WAVE64, registers={"v43": V43}, write="aabbccddeeff0011",
        read={"bytes": 16}
    # An SGPR in one lane of a VGPR.
    regx v43; LLVM_offset_uconst 4 -> v43+32 where target=WAVE64, initial_stack=[cfa(0)]
    regx v43; LLVM_offset_uconst 12; deref_size 4 => str(0x11223344) where target=WAVE64, registers={"v43": V43}
    regx v43; LLVM_offset_uconst 4 -> 07000000 where target=WAVE32, registers={"v43": V43}, write="07000000",
        read={"bytes": 4}
    """),
    # .cfi_llvm_vector_offset: a VGPR of which the lanes that were active on entry are in memory.
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}", spilled(64, MASK), **wave_state(WAVE64, 64, MASK)),
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 4)}; {ELEMENT}", spilled(32, 0x0F0F0001),
        **wave_state(WAVE32, 32, 0x0F0F0001)),
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}", spilled(64, 0), **wave_state(WAVE64, 64, 0)),
    row(FRAMES, f"{spill('v40', 0x500, 'exec', 8)}; {ELEMENT}", spilled(64, (1 << 64) - 1),
        **wave_state(WAVE64, 64, (1 << 64) - 1)),
    rows("""
    # ... which a mask of half the bits cannot select.
    [A.6.4.2] regx v40; swap; LLVM_offset_uconst 1280; LLVM_call_frame_entry_reg exec; deref_size 4;
        LLVM_select_bit_piece 32 64 -> undefined_read
        where **{**wave_state(WAVE64, 64, 1), "entry_registers": {"exec": {"kind": "undefined"}}}
    """),
    # The whole register, as one location.
    row(
        FRAMES, spill("v40", 0x500, "exec", 8), words(*(int(element) for element in spilled(64, MASK)), size=4),
        read={"bytes": 256}, **wave_state(WAVE64, 64, MASK),
    ),
    rows("""
    # .cfi_llvm_vector_register_mask: the lanes that were active are in another VGPR.
    [A.6.4.2] regx v40; regx v41; LLVM_call_frame_entry_reg exec; deref_size 8; LLVM_select_bit_piece 32 64;
        LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4 => spilled(64, MASK)
        where target=WAVE64, initial_stack=[cfa(0)], registers={"v40": [1000 + lane for lane in range(64)],
        "v41": [2000 + lane for lane in range(64)]}, entry_registers={"exec": {"kind": "implicit",
        "bytes": words(MASK)}}
    """),
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
            }}))  # fmt: skip


@for_each("ops", KERNEL, FLAT_CFA, FLAT_CFA_32, MUBUF_CFA, PAIR, PAIR_IN_LANES, spill("v40", 0x500, "exec", 8))
def test_call_frame_information_uses_what_it_may(ops):
    target = resolve(WAVE64)
    findings = verify(parsed(ops, target), rules=AMD, in_cfi=True, initial_depth=1, target=target)
    assert [finding for finding in findings if finding.severity == "error"] == []


# --- Variables as upstream LLVM describes them --------------------------------------------------------------------
# The text gives these expressions a meaning that their producer did not intend; it is the text's that holds here.

FLAT_S33: dict[str, Any] = {"frame_base": {"kind": "register", "name": "s33"}, "registers": {"s33": 0}}
test_variables_of_upstream_llvm = rows.table("""
    # -O0: an address space is forced upon the address in the default one, and the memory there is read.
    [A.2.5.4.3.4 (5)] fbreg 8; lit5; swap; xderef -> 7
        where target=WAVE64, lane=3, frame_base=0, memory=[memory(8, words(7), "private_lane", lane=3)]
    fbreg 8; lit5; swap; xderef -> mem 0x7 where want="location", target=WAVE64, lane=3, frame_base=0,
        memory=[memory(8, words(7), "private_lane", lane=3)]
    fbreg 8; lit1; swap; xderef -> 7 where target=WAVE64, frame_base=0x1000, memory=[memory(0x1008, words(7))]
    fbreg 8; lit5; swap; xderef -> lane where target=WAVE64, frame_base=0
    # ... where DW_AT_frame_base is an SGPR, which does not hold an address of the default address space.
    [A.3.3.5 (2)] fbreg 8; lit5; swap; xderef -> read_past_storage where target=WAVE64, **FLAT_S33
    # -O2: the first two lanes of a VGPR as an address.
    [A.2.5.4.3.4 (5)] bregx v8 0; lit1; swap; xderef => ["7"] * 32
        where target=WAVE32, registers={"v8": [0x2000, 1]}, memory=[memory(0x1_00002000, words(7))]
    bregx v4 0; lit5; swap; xderef; piece 4; bregx v5 0; lit5; swap; xderef; piece 4 -> {32:mem 0x70 32:mem 0x80}
        where target=WAVE64, lane=1, registers={"v4": [16, 0], "v5": [24, 0]},
        memory=[memory(16, words(0x70), "private_lane", lane=1), memory(24, words(0x80), "private_lane", lane=1)]
    # A constant is taken for an address too.
    consts 8; lit1; swap; xderef; stack_value -> implicit 0700000000000000
        where target=WAVE64, memory=[memory(8, words(7))]
    # Every variable in LDS is at address 0.
    addrx 2; lit3; swap; xderef -> 7 where target=WAVE64, debug_addr={"2": 0}, memory=[memory(0, words(7), "local")]
    addrx 2; lit1; swap; xderef -> 7 where target=WAVE64, debug_addr={"2": 0x1000}, memory=[memory(0x1000, words(7))]
    # Registers and pieces of them mean what they say.
    [A.2.5.4.4.4 (2)] regx v5 -> v5 where target=WAVE64
    [A.2.5.4.4.6 (1)] regx s4; piece 4; regx s5; piece 4 -> {32:s4 32:s5} where target=WAVE64
    [A.2.5.4.4.5 (2)] constu 5; stack_value -> implicit 0500000000000000 where target=WAVE64
    breg0 0; convert 1; convert 2; stack_value -> implicit feffffff where registers={"0": 0xFE}, base_types={"1":
        {"encoding": "signed", "byte_size": 1}, "2": {"encoding": "signed", "byte_size": 4}}
    """)
