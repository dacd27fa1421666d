"""A.2.5.4.4.3 Memory location description operations, with A.2.13 (address spaces) and A.3.3.5 (the frame base)."""

from typing import Any

import pytest
from cases_context import DescribedFrame, DescribedUnit

from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Location, Memory
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, Rows, base_types, memory, parsed, run_lanes, table
from tests.builders.errors import raised
from tests.builders.parameters import for_each

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
OTHER64 = "amdgcn-gfx1100-wave64"
TYPES = base_types("1 signed8, 2 unsigned64, 3 float32, 4 unsigned32, 5 signed64, 6 unsigned128, 7 address64")
PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "memory", "address": 32}]}
FORM = "LLVM_form_aspace_address"
rows = Rows("A.2.5.4.4.3", vars(), rules="amd", base_types=TYPES)
row = rows.row


def dwords(*numbers: int, order: str = "little") -> str:
    return b"".join(number.to_bytes(4, order) for number in numbers).hex()


def lanes_of(numbers: Any) -> list[str]:
    return [str(number) for number in numbers]


test_implicit_conversion_to_a_location = rows.table("""
    # A value of the generic type becomes the memory it addresses in the default address space.
    lit16 -> mem 0x10 where want="location"
    const1s -1 -> mem 0xffffffffffffffff where want="location"
    const1s -1 -> mem 0xffffffff where want="location", address_size=4
    lit16 -> mem 0x10 where want="location", target=WAVE64    lit16; piece 4 -> {32:mem 0x10}
    lit16; deref -> 1 where memory=[memory(16, "0100000000000000")]
    lit16; deref -> 1 where memory=[memory(16, "0000000000000001")], byte_order="big"
    lit16; deref -> 1 where memory=[memory(16, "01000000")], address_size=4
    LLVM_push_lane; lit4; mul; deref_size 4 => lanes_of(range(32))
        where memory=[memory(0, dwords(*range(32)))], target=WAVE32
    # ... but a value of another type does not: the expression is ill-formed (A.2.5.4).
    const_type 2 1000000000000000 | const_type 5 1000000000000000 | const_type 7 1000000000000000 -> bad_result_kind
        where want="location"
    const_type 2 1000000000000000; deref | const_type 3 0000803f; piece 4 -> wrong_kind
    const_type 4 10000000; piece 4 -> wrong_kind where address_size=4
    const_type 2 1000000000000000; convert 0 -> mem 0x10 where want="location"
    """)
test_implicit_conversion_to_a_value = rows.table("""
    # One byte address memory location description in the default address space becomes its address.
    addr 0x10 -> 16 where want="value"                        addr 0x10; lit1; plus -> 17
    addr 0x10; lit1; plus -> 17 where address_size=4, byte_order="big"
    breg5 1; lit1; shl -> 12 where registers={"5": 5}         fbreg 4 -> 20 where want="value", frame_base=16
    call_frame_cfa; lit8; minus -> 24 where cfa=32
    lit16; lit0; LLVM_form_aspace_address -> 16 where want="value", target=WAVE64
    addr 0x10; lit4; LLVM_offset; neg => str((1 << 64) - 20)
    addr 0x10; stack_value -> implicit 1000000000000000       addr 0x10; lit0; eq; bra @end; lit7; end: nop -> 7
    # B must be a multiple of 8.
    addr 0x10; lit8; LLVM_bit_offset -> 17 where want="value"
    addr 0x10; lit3; LLVM_bit_offset -> bad_result_kind where want="value"
    addr 0x10; lit3; LLVM_bit_offset; neg -> wrong_kind
    addr 0x10; LLVM_push_lane; LLVM_bit_offset; lit0; plus
        => [str(16 + lane // 8) if lane % 8 == 0 else "wrong_kind" for lane in range(32)] where target=WAVE32
    # The address space must be the default one.
    lit16; lit3; LLVM_form_aspace_address -> bad_result_kind where want="value", target=WAVE64
    lit16; lit1; LLVM_form_aspace_address; neg -> wrong_kind where target=WAVE64
    lit16; lit6; LLVM_form_aspace_address; stack_value -> wrong_kind where target=WAVE64
    # There must be one memory location description.
    neg -> wrong_kind where initial_stack=[PLACES]
    -> bad_result_kind where initial_stack=[PLACES], want="value"
    addr 0x10; piece 8; LLVM_piece_end; neg | implicit_value 0100000000000000; neg | lit1; stack_value; lit1; plus |
        LLVM_undefined; neg -> wrong_kind
    reg5; neg -> wrong_kind where registers={"5": 1}
    """)
FIELD = [memory(16, "123456")]
test_positions = table(
    rows("""
    # A bit offset that is no multiple of 8 is bit B of the byte at address A; bits are accessed from there on.
    addr 0x10; lit11; LLVM_bit_offset -> mem 0x11.3           addr 0x10; lit16; LLVM_bit_offset -> mem 0x12
    addr 0x10; lit11; LLVM_bit_offset -> c6 where read={"bytes": 1}, memory=FIELD
    addr 0x10; lit11; LLVM_bit_offset -> a2 where read={"bytes": 1}, memory=FIELD, byte_order="big"
    addr 0x10; lit11; LLVM_bit_offset => str(0x563412 >> 11 & 0x1F)
        where read={"type": {"encoding": "unsigned", "byte_size": 1, "bit_size": 5}}, memory=FIELD
    """),
    row(
        "",
        "addr 0x10; lit11; LLVM_bit_offset",
        str((0x123456 >> 24 - 11 - 5 & 0x1F) - 32),  # 10001
        read={"type": {"encoding": "signed", "byte_size": 1, "bit_size": 5}}, memory=FIELD, byte_order="big",
    ),
    # The size of a storage is that of the range of its addresses: what lies past its end cannot be accessed.
    row("", "const1s -4; deref", "read_past_storage"),
    row("", "const1s -4; deref", "1", address_size=4, memory=[memory((1 << 32) - 4, "01000000")]),
    row("", "const1s -3; deref", "read_past_storage", address_size=4),
    row("", f"const1s -4; lit3; {FORM}; deref", "read_past_storage", target=WAVE64),
    row("", f"const1s -4; lit3; {FORM}", "read_past_storage", target=WAVE64, write="00" * 5),
    # Memory that nobody can read is an evaluation error of the access, not of the location.
    row("", "addr 0x10", "mem 0x10"),
    row("", "addr 0x10; deref", "memory_unavailable", memory=[memory(16, "00" * 7)]),
    row("", "addr 0x10", "memory_unavailable", write="00"),
    row("", "addr 0x10", "05060708", write="05060708", read={"bytes": 4}, memory=[memory(16, "00" * 4)]))  # fmt: skip
test_addr = rows.table("""
    (1) addr 0x1234 -> mem 0x1234                             addr 0xffffffffffffffff -> mem 0xffffffffffffffff
    addr 0xffffffff -> mem 0xffffffff where address_size=4, byte_order="big"
    addr 0x1234 -> mem 0x1234 where target=WAVE64
    # The operand has the size of the generic type.
    -> mem 0x12345678 where expr="0378563412", address_size=4
    -> mem 0x78563412 where expr="0378563412", address_size=4, byte_order="big"
    -> mem 0x123456789abcdef0 where expr="03f0debc9a78563412"
    -> mem 0x123456789abcdef0 where expr="03123456789abcdef0", byte_order="big"
    -> truncated where expr="0378563412"
    """)
test_addrx = rows.table("""
    (2) addrx 1 -> mem 0x2000 where debug_addr={"0": 0x1000, "1": 0x2000}
    addrx 0 -> mem 0x1000 where debug_addr={"0": 0x1000}, address_size=4, byte_order="big"
    addrx 1; lit4; LLVM_offset -> mem 0x2004 where debug_addr={"1": 0x2000}, target=WAVE64
    # The index is one of the associated compilation unit.
    addrx 2 -> bad_operand where debug_addr={"0": 0x1000, "1": 0x2000}
    addrx 2 -> unit
    """)
test_form_aspace_address = table(
    rows("""
    # The first entry is the address space, the second the address.
    (3) lit16; lit0; {FORM} -> mem 0x10                       lit16; lit0; {FORM} -> mem 0x10 where target=WAVE64
    """),
    *[
        row("(3)", f"lit16; lit{number}; {FORM}", expected, target=target, lane=3)
        for target in (WAVE64, WAVE32, OTHER64)
        for number, expected in enumerate(
            ("mem 0x10", "generic#0x10", "region#0x10", "local#0x10", "bad_address_space", "private_lane#0x10@3")
        )
    ],
    rows("""
    (3) lit16; lit6; {FORM} -> private_wave#0x10 where target=WAVE64
    lit16; lit6; {FORM} -> private_wave#0x10 where target=WAVE32
    """),
    *[
        row("(3)", f"lit16; const1u {0x20 + lane}; {FORM}", f"private_lane{lane}#0x10", target=target)
        for target, lane in ((WAVE64, 0), (WAVE64, 7), (WAVE64, 63), (WAVE32, 0), (WAVE32, 31), (OTHER64, 63))
    ],
    rows("""
    # Both may have any integral type, and a byte address in the default address space is an integral value too.
    (3) const_type 4 10000000; const_type 1 03; LLVM_form_aspace_address | addr 0x10; lit3; LLVM_form_aspace_address |
        lit16; addr 3; LLVM_form_aspace_address -> local#0x10 where target=WAVE64
    const_type 6 10000000000000000000000000000000; lit0; LLVM_form_aspace_address -> mem 0x10
    # A is zero-extended to the S bits of an address, whatever its sign, or its least significant S bits are used.
    const_type 1 ff; lit3; LLVM_form_aspace_address -> local#0xff where target=WAVE64
    const_type 1 ff; lit0; LLVM_form_aspace_address -> mem 0xff where target=WAVE64
    const8u 0x1234500000010; lit3; LLVM_form_aspace_address -> local#0x10 where target=WAVE64
    const8u 0x1234500000010; lit1; LLVM_form_aspace_address -> generic#0x1234500000010 where target=WAVE64
    const1s -1; lit6; LLVM_form_aspace_address -> private_wave#0xffffffff where target=WAVE64
    const1s -1; lit0; LLVM_form_aspace_address -> mem 0xffffffffffffffff where target=WAVE64
    const_type 2 1000000001000000; lit0; LLVM_form_aspace_address -> mem 0x10 where address_size=4
    const_type 6 0000000001000000ffffffffffffffff; lit0; LLVM_form_aspace_address -> mem 0xffffffffffffffff
        where byte_order="big"
    # AS must be one of the values that the target architecture defines.
    lit16; lit1; LLVM_form_aspace_address -> bad_address_space
    lit16; lit7; LLVM_form_aspace_address | lit16; lit31; LLVM_form_aspace_address |
        lit16; const1u 0x60; LLVM_form_aspace_address | lit16; const8u 0x100000003; LLVM_form_aspace_address |
        lit16; const1s -1; LLVM_form_aspace_address | lit16; const_type 1 ff; LLVM_form_aspace_address
        -> bad_address_space where target=WAVE64
    # no flat memory
    lit16; lit1; LLVM_form_aspace_address -> bad_address_space where target="amdgcn-gfx600"
    # Both must be values of integral types.
    const_type 3 0000803f; lit3; LLVM_form_aspace_address -> integral_type_required where target=WAVE64
    const_type 7 1000000000000000; lit3; LLVM_form_aspace_address -> integral_type_required where target=WAVE64
    lit16; const_type 3 0000803f; LLVM_form_aspace_address -> integral_type_required where target=WAVE64
    regx s4; lit3; LLVM_form_aspace_address | lit16; lit3; LLVM_form_aspace_address; lit3; LLVM_form_aspace_address |
        lit16; regx s4; LLVM_form_aspace_address -> wrong_kind where target=WAVE64
    piece 4; lit3; LLVM_form_aspace_address -> incomplete_composite where target=WAVE64
    lit3; LLVM_form_aspace_address -> stack_underflow where target=WAVE64
    # What belongs to a lane is that of the current lane, which is required.
    lit16; lit5; LLVM_form_aspace_address => [f"private_lane#0x10@{lane}" for lane in range(64)] where target=WAVE64
    lit16; lit5; LLVM_form_aspace_address -> lane where target=WAVE64
    lit16; lit5; LLVM_form_aspace_address; drop; lit1 -> lane where target=WAVE64
    lit16; lit5; LLVM_form_aspace_address -> lane where target=WAVE32
    lit16; const1u 0x25; LLVM_form_aspace_address -> private_lane5#0x10 where target=WAVE64
    # Lanes may name different address spaces.
    lit16; LLVM_push_lane; LLVM_form_aspace_address
        => ["mem 0x10", "generic#0x10", "region#0x10", "local#0x10", "bad_address_space", "private_lane#0x10@5",
        "private_wave#0x10", *["bad_address_space"] * 25] where target=WAVE32
    """),
)
LOCAL_BASE = 1 << 48
PRIVATE_BASE = 2 << 48


def wave_address(address: int, lane: int, wave_size: int) -> int:
    """The conversion of AMDGPU usage, "Address Space Mapping"."""
    return address // 4 * wave_size * 4 + lane * 4 + address % 4


def swizzled(wave_size: int) -> list[dict[str, Any]]:
    """Two dwords of each lane at private_lane#0x24: 1000 + lane, and 2000 + lane."""
    return [
        memory(wave_address(0x24, 0, wave_size), dwords(*range(1000, 1000 + wave_size)), "private_wave"),
        memory(wave_address(0x28, 0, wave_size), dwords(*range(2000, 2000 + wave_size)), "private_wave"),
    ]


def aliases(target: str, wave_size: int) -> list[Case]:
    lanes, first, last, flat = range(wave_size), 0, wave_size - 1, PRIVATE_BASE + 0x24
    names = {**globals(), **locals()}
    known = Rows(rows.section, names, **rows.defaults, target=target, memory=swizzled(wave_size))
    return known("""
    # The lane's view of the memory of its wave: dwords of the lanes, interleaved.
    const1u 0x24; lit5; {FORM}; deref_size 4 => lanes_of(1000 + i for i in lanes)
    const1u 0x24; lit5; {FORM}; deref => lanes_of(1000 + i + (2000 + i << 32) for i in lanes)
    # ... also where an access begins or ends within a dword.
    const1u 0x25; lit5; {FORM}; deref_size 4 => lanes_of((1000 + i + (2000 + i << 32)) >> 8 & 0xFFFFFFFF for i in lanes)
    const1u 0x27; lit5; {FORM}; deref_size 2 => lanes_of((2000 + i & 0xFF) << 8 for i in lanes)
    # Each lane at its own address, of which the first is not described.
    LLVM_push_lane; lit1; and; lit4; mul; plus_uconst 0x20; lit5; {FORM}; deref_size 4
        => ["memory_unavailable" if i % 2 == 0 else str(1000 + i) for i in lanes]
    # The view of a lane that the address space names.
    const1u 0x24; const1u {0x20 + first}; {FORM}; deref_size 4 => str(1000 + first)
    const1u 0x24; const1u {0x20 + 5}; {FORM}; deref_size 4 => str(1000 + 5)
    const1u 0x24; const1u {0x20 + last}; {FORM}; deref_size 4 => str(1000 + last)
    # ... and the view of the wave: the dwords of all lanes, one after the other.
    const1u 0x24; LLVM_push_lane; plus_uconst 0x20; {FORM}; deref_size 4 |
        const2u {0x24 * wave_size}; lit6; {FORM}; LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4
        => lanes_of(1000 + i for i in lanes)
    # The flat view: private memory is that of the lane.
    constu {flat}; lit1; {FORM}; deref_size 4 => lanes_of(1000 + i for i in lanes)
    constu {flat}; lit1; {FORM}; deref_size 4 => str(1000 + last) where lane=last
    constu {flat}; lit1; {FORM}; deref_size 4 -> lane
    constu {flat}; lit1; {FORM} => f"generic#{flat:#x}@5" where lane=5
    # What is written through one view is read through the others: here the first four bytes are written.
    const1u 0x24; lit5; {FORM}; piece 4; const2u {wave_address(0x24, 5, wave_size)}; lit6; {FORM}; piece 4;
        const1u 0x24; const1u 0x25; {FORM}; piece 4; constu {flat}; lit1; {FORM}; piece 4;
        const1u 0x24; const1u 0x26; {FORM}; piece 4
        => "11223344" * 4 + dwords(1006) where lane=5, write="11223344", read={"bytes": 20}
    const2u {wave_address(0x24, 5, wave_size)}; lit6; {FORM}; piece 8; const1u 0x24; const1u 0x25; {FORM}; piece 4;
        const1u 0x24; const1u 0x26; {FORM}; piece 4
        -> 11223344556677881122334455667788 where write="1122334455667788", read={"bytes": 16}
    """)


test_address_spaces_that_alias = table(
    *aliases(WAVE64, 64),
    *aliases(WAVE32, 32),
    *aliases(OTHER64, 64),
    rows("""
    # Memory that is described by lane is that of the wave too.
    const2u 2340; lit6; LLVM_form_aspace_address; deref_size 4 -> 7
        where target=WAVE64, memory=[memory(0x24, dwords(7), "private_lane", lane=9)]
    const1u 0x24; lit5; LLVM_form_aspace_address; deref_size 4
        => ["7" if lane == 9 else "memory_unavailable" for lane in range(32)]
        where target=WAVE32, memory=[memory(0x24, dwords(7), "private_lane9")]
    # The local aperture of flat memory, and global memory, which needs no conversion.
    constu 0x1000000000010; lit1; LLVM_form_aspace_address; deref_size 4 -> 7
        where target=WAVE64, memory=[memory(16, dwords(7), "local")]
    lit16; lit3; LLVM_form_aspace_address; deref_size 4 -> 7
        where target=WAVE32, memory=[memory(LOCAL_BASE + 16, dwords(7), "generic")]
    constu 0x1000000000010; deref_size 4 -> memory_unavailable
        where target=WAVE64, memory=[memory(16, dwords(7), "local")]
    const2u 0x1000; lit1; LLVM_form_aspace_address; deref_size 4; const2u 0x1000; deref_size 4 => ("7", "7")
        where target=WAVE64, memory=[memory(0x1000, dwords(7))]
    # Local and global memory are independent.
    lit16; lit3; LLVM_form_aspace_address; deref_size 4; lit16; deref_size 4; lit16; lit2; LLVM_form_aspace_address;
        deref_size 4 => ("1", "2", "3") where target=WAVE64,
        memory=[memory(16, dwords(1), "local"), memory(16, dwords(2)), memory(16, dwords(3), "region")]
    """),
)
test_form_tls_address = rows.table("""
    # The location that corresponds to a thread-local storage address.
    (4) lit16; form_tls_address | const_type 4 10000000; form_tls_address -> mem 0x7000 where tls={"16": 0x7000}
    lit16; form_tls_address; deref -> 1 where tls={"16": 64}, memory=[memory(64, "01" + "00" * 7)]
    constx 0; form_tls_address -> mem 0x7000 where tls={"16": 0x7000}, debug_addr={"0": 16}
    lit16; form_tls_location -> mem 0x7000 where tls={"16": 0x7000}, address_size=4
    # TA must be a value of an integral type.
    const_type 3 0000803f; form_tls_address -> integral_type_required where tls={"16": 0x7000}
    reg5; form_tls_address -> wrong_kind where tls={"16": 0x7000}
    form_tls_address -> stack_underflow where tls={"16": 0x7000}
    # The run-time environment of a thread is needed, and has no block for every address.
    lit16; form_tls_address -> thread
    lit17; form_tls_address -> memory_unavailable where tls={"16": 0x7000}
    """)
test_call_frame_cfa = rows.table("""
    (5) call_frame_cfa -> mem 0x1000 where cfa=0x1000
    call_frame_cfa -> mem 0x1000 where cfa=0x1000, address_size=4, byte_order="big"
    call_frame_cfa -> private_wave#0x40 where cfa={"kind": "memory", "space": 6, "address": 64}, target=WAVE64
    call_frame_cfa; consts -8; LLVM_offset -> mem 0xff8 where cfa=0x1000
    call_frame_cfa; consts -8; plus; deref -> 5 where cfa=0x1000, memory=[memory(0xFF8, "05" + "00" * 7)]
    call_frame_cfa => [f"private_lane#0x40@{lane}" for lane in range(32)]
        where cfa={"kind": "memory", "space": "private_lane", "address": 64}, target=WAVE32
    # The call frame information is required.
    call_frame_cfa -> frame
    """)
test_fbreg = rows.table("""
    # The frame base, updated as by DW_OP_LLVM_offset_uconst B.
    (6) fbreg 8 -> mem 0x1008 where frame_base=0x1000         fbreg 0 -> mem 0x1000 where frame_base=0x1000
    fbreg -8 -> mem 0xff8 where frame_base=0x1000
    fbreg -8 -> mem 0xff8 where frame_base=0x1000, address_size=4, byte_order="big"
    fbreg -8; deref -> 5 where frame_base=0x1000, memory=[memory(0xFF8, "05" + "00" * 7)]
    # It may be in any of the address spaces.
    fbreg 8 -> private_wave#0x48 where frame_base={"kind": "memory", "space": 6, "address": 64}, target=WAVE64
    fbreg 8 => [f"private_lane#0x48@{lane}" for lane in range(64)]
        where frame_base={"kind": "memory", "space": 5, "address": 64}, target=WAVE64
    # An offset does not wrap around: outside the storage it is an evaluation error.
    fbreg -8 -> offset_out_of_storage where frame_base=4
    fbreg 1 -> offset_out_of_storage where frame_base=(1 << 64) - 1
    fbreg 1 -> offset_out_of_storage where frame_base=(1 << 32) - 1, address_size=4
    # The frame base of the current subprogram is required.
    fbreg 8 -> frame
    """)
BASE_IN_R5 = {"kind": "register", "register": 5}


def base(ops: str, expected: Any, frame_base: Any, **case: Any) -> Case:
    return Case("A.3.3.5 (2)", ops, expected, **{"rules": "amd", "frame_base": frame_base, **case})


test_frame_base = table(
    # A register location description stands for the memory that DW_OP_bregx R, 0 means.
    base("fbreg 8", "mem 0x1008", BASE_IN_R5, registers={"5": 0x1000}),
    base("fbreg -1", "mem 0xfff", BASE_IN_R5, registers={"5": 0x1000}, byte_order="big"),
    base("fbreg 8", "mem 0x1008", BASE_IN_R5, registers={"5": 0x1000}, address_size=4),
    base("fbreg 0", "mem 0x1000", BASE_IN_R5, registers={"5": {"bytes": "0010000000000000" + "ff" * 8}}),
    base("fbreg 0", "mem 0x10", BASE_IN_R5, registers={"5": {"bytes": "0000000000000010" + "ff" * 8}},
        byte_order="big"),
    base("fbreg 8", "register_unavailable", BASE_IN_R5),
    # ... so the register must hold a whole address of the default address space.
    base("fbreg 8", "read_past_storage", BASE_IN_R5, registers={"5": {"bytes": "00100000"}}),
    base("fbreg 8", "read_past_storage", {"kind": "register", "name": "s33"}, registers={"s33": 64}, target=WAVE64),
    # Otherwise it must be one memory location description.
    base("fbreg 8", "wrong_kind", {"kind": "implicit", "bytes": "00" * 16}),
    base("fbreg 8", "wrong_kind", {"kind": "undefined"}),
    base("fbreg 8", "wrong_kind", PLACES),
    base("fbreg 8", "wrong_kind", {"kind": "composite",
        "parts": [{"bit_size": 64, "location": {"kind": "memory", "address": 0}}]}),
    base("fbreg 8", "wrong_kind", {"kind": "implicit_pointer", "die": "info:0x10"}, dies={"info:0x10": {}}),
)  # fmt: skip
test_breg = table(
    # The contents of the register as an unsigned number of S bits, plus B.
    *[
        row(
            "(7)",
            f"breg{number} 8",
            f"mem {0x1000 * (number + 1) + 8:#x}",
            registers={str(number): 0x1000 * (number + 1)},
        )
        for number in range(32)
    ],
    row("(7)", "breg5 -1", "mem 0xfff", registers={"5": 0x1000}),
    row("(7)", "breg5 0", "mem 0x0", registers={"5": 0}),
    row("(7)", "breg5 1", "mem 0x0", registers={"5": (1 << 64) - 1}),
    row("(7)", "breg5 -1", "mem 0xffffffffffffffff", registers={"5": 0}),
    row("(7)", "breg5 -1", "mem 0xffffffff", registers={"5": 0}, address_size=4, byte_order="big"),
    row("(7)", "breg5 0x100000001", "mem 0x1", registers={"5": 0}, address_size=4),
    row("(7)", "breg5 8; deref", "3", registers={"5": 8}, memory=[memory(16, "03" + "00" * 7)]),
    # A larger register is read from its bit offset 0 on.
    row("(7)", "breg5 0", "mem 0x10", registers={"5": {"bytes": "1000000000000000" + "ff" * 8}}),
    row("(7)", "breg5 0", "mem 0x10", registers={"5": {"bytes": "0000000000000010" + "ff" * 8}}, byte_order="big"),
    row("(7)", "breg5 0", "mem 0x10", registers={"5": {"bytes": "10000000ffffffff"}}, address_size=4),
    row("(7)", "breg5 0", "mem 0x10", registers={"5": {"bytes": "00000010ffffffff"}}, address_size=4, byte_order="big"),
    # A smaller one does not hold an address (A.2.5.4.3.4 (4)).
    row("(7)", "breg5 0", "read_past_storage", registers={"5": {"bytes": "10000000"}}),
    row("(7)", "breg5 0", "register_unavailable"))  # fmt: skip
test_bregx = rows.table("""
    (8) bregx 5 8 -> mem 0x1008 where registers={"5": 0x1000}
    bregx 1000000 -8 -> mem 0xff8 where registers={"1000000": 0x1000}
    bregx 5 -1 -> mem 0xffffffff where registers={"5": 0}, address_size=4
    bregx pc 4 -> mem 0x1004 where registers={"pc": 0x1000}, target=WAVE64
    # An SGPR does not hold an address of the default address space of amdgcn; two lanes of a VGPR do.
    bregx s4 0 -> read_past_storage where registers={"s4": 0x1000}, target=WAVE64
    bregx v0 0 -> mem 0x200000001 where registers={"v0": [1, 2, 3]}, target=WAVE64
    bregx v0 0 -> mem 0x200000001 where registers={"v0": [1, 2, 3]}, target=WAVE32
    bregx 5 8 -> register_unavailable
    """)
test_aspace_bregx = rows.table("""
    # As DW_OP_breg<N>, in the address space popped, whose address size decides.
    (9) lit0; LLVM_aspace_bregx 5 8 -> mem 0x1008 where registers={"5": 0x1000}
    lit3; LLVM_aspace_bregx s4 8 | const_type 1 03; LLVM_aspace_bregx s4 8 | addr 3; LLVM_aspace_bregx s4 8 |
        lit3; aspace_bregx s4 8 -> local#0x18 where registers={"s4": 16}, target=WAVE64
    lit6; LLVM_aspace_bregx s33 -4 -> private_wave#0xc where registers={"s33": 16}, target=WAVE32
    const1u 0x23; LLVM_aspace_bregx s33+4 -> private_lane3#0x14 where registers={"s33": 16}, target=WAVE64
    lit1; LLVM_aspace_bregx pc 4 -> generic#0x1004 where registers={"pc": 0x1000}, target=WAVE64
    lit5; LLVM_aspace_bregx s33 8 => [f"private_lane#0x18@{lane}" for lane in range(64)]
        where registers={"s33": 16}, target=WAVE64
    # The sum wraps around at the address size.
    lit3; LLVM_aspace_bregx s4 1 -> local#0x0 where registers={"s4": 0xFFFFFFFF}, target=WAVE64
    lit3; LLVM_aspace_bregx s4 -1 -> local#0xffffffff where registers={"s4": 0}, target=WAVE64
    lit3; LLVM_aspace_bregx pc 0 -> local#0x10 where registers={"pc": 0x100000010}, target=WAVE64
    lit3; LLVM_aspace_bregx v0 0 -> local#0x1 where registers={"v0": [1, 2, 3]}, target=WAVE64
    lit1; LLVM_aspace_bregx s4 0 -> read_past_storage where registers={"s4": 16}, target=WAVE64
    # AS must be an integral value, and an address space of the target.
    lit4; LLVM_aspace_bregx s4 8 -> bad_address_space where registers={"s4": 16}, target=WAVE64
    lit1; LLVM_aspace_bregx 5 8 -> bad_address_space where registers={"5": 16}
    const_type 3 0000803f; LLVM_aspace_bregx s4 8 -> integral_type_required where registers={"s4": 16}, target=WAVE64
    regx s5; LLVM_aspace_bregx s4 8 -> wrong_kind where registers={"s4": 16}, target=WAVE64
    LLVM_aspace_bregx s4 8 -> stack_underflow where registers={"s4": 16}, target=WAVE64
    # Private memory of a lane needs a lane.
    lit5; LLVM_aspace_bregx s33 8 -> lane where registers={"s33": 16}, target=WAVE64
    """)


# --- What a case cannot describe ----------------------------------------------------------------------------------


class Loaded(DescribedUnit):
    """A unit whose code object was loaded 0x7000 bytes above its addresses."""

    def relocated(self, address: int) -> int:
        return address + 0x7000


class FrameOf(DescribedFrame):
    """A frame of a subprogram whose DW_AT_frame_base is an expression."""

    def __init__(self, machine: DescribedMachine, ops: str) -> None:
        DescribedFrame.__init__(self, machine, cfa=None)
        self.expression = parse(ops)

    def frame_base(self, lanes: LaneSet) -> Any:
        return self.expression


def parse(ops: str, target: str = "generic") -> Any:
    return parsed(ops, target)


def evaluated(ops: str, target: str = "generic", **context: Any) -> Any:
    chosen = resolve(target)
    context.setdefault("backend", DescribedMachine(chosen))
    return evaluate(parse(ops, target), Context(chosen, AMD, **context)).one()


def error_of(ops: str, **context: Any) -> DwarfGpuError:
    return raised(DwarfGpuError, evaluated, ops, **context)


def test_addresses_are_relocated():
    """DW_OP_addr (1): A is adjusted by where the code object is loaded."""
    place = evaluated("addr 0x10", unit=Loaded()).single
    assert place.bit_offset == 8 * 0x7010
    assert isinstance(place.storage, Memory)


def frame(ops: str) -> FrameOf:
    machine = DescribedMachine(resolve("generic"))
    machine.describe_register(5, 0x1000)
    return FrameOf(machine, ops)


@for_each("ops, address",
    ("addr 0x20", 0x28),                  ("lit16", 0x18),                      ("breg5 -8", 0x1000),
    ("reg5", 0x1008),                     ("lit1; lit16; lit3; LLVM_offset", 0x1B))  # fmt: skip
def test_a_frame_base_is_evaluated_to_a_location(ops, address):
    """A.3.3.5 (2): with the result kind location description."""
    base = frame(ops)
    found = evaluated("fbreg 8", frame=base, unit=DescribedUnit(), backend=base.machine)
    assert isinstance(found, Location)
    assert found.single is not None
    assert found.single.bit_offset == 8 * address


@for_each(
    "ops, kind",
    ("fbreg 8", "bad_operand"),  # E must not contain fbreg
    ("lit16; skip @end; fbreg 8; end: nop", "bad_operand"),  # even where none is executed
    ("LLVM_undefined", "wrong_kind"),  # SL must be a register or a memory location description
    ("", "wrong_kind"),                   ("lit16; stack_value", "wrong_kind"), ("reg5; piece 8", "wrong_kind"),
    ("push_object_address", "object"),  # the object is not specified
    ("drop; lit16", "stack_underflow"),  # the initial stack is empty
)  # fmt: skip
def test_what_a_frame_base_must_not_be(ops, kind):
    base = frame(ops)
    elsewhere = evaluated("addr 0x40")
    error = error_of("lit1; fbreg 8", frame=base, unit=DescribedUnit(), backend=base.machine, object=elsewhere)
    assert error.kind == kind


@pytest.mark.parametrize("space", [1, 3, 5, 6, 0x25])
def test_memory_of_a_thread_needs_a_thread(space):
    """A.2.5.1: the current thread is required for an address space that is specific to it."""
    ops = f"lit16; const1u {space}; {FORM}"
    assert error_of(ops, target=WAVE64, lanes=LaneSet(1, wave=None, lane=3)).kind == "thread"


@pytest.mark.parametrize("space", [0, 2])
def test_memory_of_the_process_or_the_agent_needs_no_thread(space):
    found = evaluated(f"lit16; lit{space}; {FORM}", WAVE64, lanes=LaneSet(1, wave=None))
    assert found.single.bit_offset == 128


def test_thread_local_storage_needs_a_thread_and_a_frame():
    ops = "lit16; form_tls_address"
    described = DescribedFrame(DescribedMachine(resolve("generic")), tls={16: 0x7000})
    assert evaluated(ops, frame=described).single.bit_offset == 8 * 0x7000
    assert error_of(ops, frame=described, lanes=LaneSet(1, wave=None)).kind == "thread"
    assert error_of(ops).kind == "frame"


@pytest.mark.parametrize("ops", ["breg5 0", "bregx 5 0", "fbreg 0", "call_frame_cfa"])
def test_registers_and_the_frame_base_need_a_frame(ops):
    """A.2.5.1: the current call frame is required for operations that specify registers."""
    assert error_of(ops, unit=DescribedUnit()).kind == "frame"


def test_lanes_evaluate_their_own_frame_base():
    """A frame base in the memory of a lane, from the register that the lane's wave has."""
    found = run_lanes(
        "fbreg 8; deref_size 4",
        rules="amd", target=WAVE64, frame_base={"kind": "memory", "space": "private_lane", "address": 0x1C},
        memory=swizzled(64))  # fmt: skip
    assert found == lanes_of(range(1000, 1064))


def test_a_bad_address_space_is_ill_formed():
    error = error_of(f"lit16; lit4; {FORM}", target=WAVE64)
    assert isinstance(error, IllFormed)
    assert error.spec == "A.2.5.4.4.3 (3)"
