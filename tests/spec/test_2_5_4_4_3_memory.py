"""A.2.5.4.4.3 Memory location description operations, with A.2.13 (address spaces) and A.3.3.5 (the frame base)."""

from __future__ import annotations

from typing import Any

import pytest

from dwarfgpu import dialects
from dwarfgpu.cases.context import DescribedFrame, DescribedUnit
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr import asm
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.storages import Memory
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Case, run_lanes, table

WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
OTHER64 = "amdgcn-gfx1100-wave64"

TYPES = {
    "1": {"encoding": "signed", "byte_size": 1},
    "2": {"encoding": "unsigned", "byte_size": 8},
    "3": {"encoding": "float", "byte_size": 4},
    "4": {"encoding": "unsigned", "byte_size": 4},
    "5": {"encoding": "signed", "byte_size": 8},
    "6": {"encoding": "unsigned", "byte_size": 16},
    "7": {"encoding": "address", "byte_size": 8},
}
PLACES = {"kind": "multiple", "places": [{"kind": "memory", "address": 16}, {"kind": "memory", "address": 32}]}
FORM = "DW_OP_LLVM_form_aspace_address"


def row(number: int | None, ops: str, expected: Any, **case: Any) -> Case:
    clause = "A.2.5.4.4.3" if number is None else f"A.2.5.4.4.3 ({number})"
    return Case(clause, ops, expected, **{"rules": "amd", "base_types": TYPES, **case})


def memory(address: int, data: str, space: Any = 0, **more: Any) -> dict[str, Any]:
    return {"space": space, "address": address, "bytes": data, **more}


def dwords(*numbers: int, order: str = "little") -> str:
    return b"".join(number.to_bytes(4, order) for number in numbers).hex()


def lanes_of(numbers: Any) -> list[str]:
    return [str(number) for number in numbers]


# --- The two implicit conversions ---------------------------------------------------------------------------------

TO_LOCATION = [
    # A value of the generic type becomes the memory it addresses in the default address space.
    row(None, "DW_OP_lit16", "mem 0x10", want="location"),
    row(None, "DW_OP_const1s -1", "mem 0xffffffffffffffff", want="location"),
    row(None, "DW_OP_const1s -1", "mem 0xffffffff", want="location", address_size=4),
    row(None, "DW_OP_lit16", "mem 0x10", want="location", target=WAVE64),
    row(None, "DW_OP_lit16; DW_OP_piece 4", "{32:mem 0x10}"),
    row(None, "DW_OP_lit16; DW_OP_deref", "1", memory=[memory(16, "0100000000000000")]),
    row(None, "DW_OP_lit16; DW_OP_deref", "1", memory=[memory(16, "0000000000000001")], byte_order="big"),
    row(None, "DW_OP_lit16; DW_OP_deref", "1", memory=[memory(16, "01000000")], address_size=4),
    row(
        None,
        "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_deref_size 4",
        lanes_of(range(32)),
        memory=[memory(0, dwords(*range(32)))],
        target=WAVE32,
    ),
    # ... but a value of another type does not: the expression is ill-formed (A.2.5.4).
    row(None, "DW_OP_const_type 2 1000000000000000", "bad_result_kind", want="location"),
    row(None, "DW_OP_const_type 5 1000000000000000", "bad_result_kind", want="location"),
    row(None, "DW_OP_const_type 7 1000000000000000", "bad_result_kind", want="location"),
    row(None, "DW_OP_const_type 2 1000000000000000; DW_OP_deref", "wrong_kind"),
    row(None, "DW_OP_const_type 3 0000803f; DW_OP_piece 4", "wrong_kind"),
    row(None, "DW_OP_const_type 4 10000000; DW_OP_piece 4", "wrong_kind", address_size=4),
    row(None, "DW_OP_const_type 2 1000000000000000; DW_OP_convert 0", "mem 0x10", want="location"),
]

TO_VALUE = [
    # One byte address memory location description in the default address space becomes its address.
    row(None, "DW_OP_addr 0x10", "16", want="value"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit1; DW_OP_plus", "17"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit1; DW_OP_plus", "17", address_size=4, byte_order="big"),
    row(None, "DW_OP_breg5 1; DW_OP_lit1; DW_OP_shl", "12", registers={"5": 5}),
    row(None, "DW_OP_fbreg 4", "20", want="value", frame_base=16),
    row(None, "DW_OP_call_frame_cfa; DW_OP_lit8; DW_OP_minus", "24", cfa=32),
    row(None, f"DW_OP_lit16; DW_OP_lit0; {FORM}", "16", want="value", target=WAVE64),
    row(None, "DW_OP_addr 0x10; DW_OP_lit4; DW_OP_LLVM_offset; DW_OP_neg", str((1 << 64) - 20)),
    row(None, "DW_OP_addr 0x10; DW_OP_stack_value", "implicit 1000000000000000"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit0; DW_OP_eq; DW_OP_bra @end; DW_OP_lit7; end: DW_OP_nop", "7"),
    # B must be a multiple of 8.
    row(None, "DW_OP_addr 0x10; DW_OP_lit8; DW_OP_LLVM_bit_offset", "17", want="value"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset", "bad_result_kind", want="value"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit3; DW_OP_LLVM_bit_offset; DW_OP_neg", "wrong_kind"),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_LLVM_push_lane; DW_OP_LLVM_bit_offset; DW_OP_lit0; DW_OP_plus",
        [str(16 + lane // 8) if lane % 8 == 0 else "wrong_kind" for lane in range(32)],
        target=WAVE32,
    ),
    # The address space must be the default one.
    row(None, f"DW_OP_lit16; DW_OP_lit3; {FORM}", "bad_result_kind", want="value", target=WAVE64),
    row(None, f"DW_OP_lit16; DW_OP_lit1; {FORM}; DW_OP_neg", "wrong_kind", target=WAVE64),
    row(None, f"DW_OP_lit16; DW_OP_lit6; {FORM}; DW_OP_stack_value", "wrong_kind", target=WAVE64),
    # There must be one memory location description.
    row(None, "DW_OP_neg", "wrong_kind", initial_stack=[PLACES]),
    row(None, "", "bad_result_kind", initial_stack=[PLACES], want="value"),
    row(None, "DW_OP_addr 0x10; DW_OP_piece 8; DW_OP_LLVM_piece_end; DW_OP_neg", "wrong_kind"),
    row(None, "DW_OP_reg5; DW_OP_neg", "wrong_kind", registers={"5": 1}),
    row(None, "DW_OP_implicit_value 0100000000000000; DW_OP_neg", "wrong_kind"),
    row(None, "DW_OP_lit1; DW_OP_stack_value; DW_OP_lit1; DW_OP_plus", "wrong_kind"),
    row(None, "DW_OP_LLVM_undefined; DW_OP_neg", "wrong_kind"),
]

# --- Positions in memory ------------------------------------------------------------------------------------------

FIELD = [memory(16, "123456")]

POSITIONS = [
    # A bit offset that is no multiple of 8 is bit B of the byte at address A; bits are accessed from there on.
    row(None, "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset", "mem 0x11.3"),
    row(None, "DW_OP_addr 0x10; DW_OP_lit16; DW_OP_LLVM_bit_offset", "mem 0x12"),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        f"{0x563412 >> 11 & 0xFF:02x}",
        read={"bytes": 1},
        memory=FIELD,
    ),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        f"{0x123456 >> 24 - 11 - 8 & 0xFF:02x}",
        read={"bytes": 1},
        memory=FIELD,
        byte_order="big",
    ),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        str(0x563412 >> 11 & 0x1F),
        read={"type": {"encoding": "unsigned", "byte_size": 1, "bit_size": 5}},
        memory=FIELD,
    ),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        str((0x123456 >> 24 - 11 - 5 & 0x1F) - 32),  # 10001
        read={"type": {"encoding": "signed", "byte_size": 1, "bit_size": 5}},
        memory=FIELD,
        byte_order="big",
    ),
    # The size of a storage is that of the range of its addresses: what lies past its end cannot be accessed.
    row(None, "DW_OP_const1s -4; DW_OP_deref", "read_past_storage"),
    row(None, "DW_OP_const1s -4; DW_OP_deref", "1", address_size=4, memory=[memory((1 << 32) - 4, "01000000")]),
    row(None, "DW_OP_const1s -3; DW_OP_deref", "read_past_storage", address_size=4),
    row(None, f"DW_OP_const1s -4; DW_OP_lit3; {FORM}; DW_OP_deref", "read_past_storage", target=WAVE64),
    row(None, f"DW_OP_const1s -4; DW_OP_lit3; {FORM}", "read_past_storage", target=WAVE64, write="00" * 5),
    # Memory that nobody can read is an evaluation error of the access, not of the location.
    row(None, "DW_OP_addr 0x10", "mem 0x10"),
    row(None, "DW_OP_addr 0x10; DW_OP_deref", "memory_unavailable", memory=[memory(16, "00" * 7)]),
    row(None, "DW_OP_addr 0x10", "memory_unavailable", write="00"),
    row(None, "DW_OP_addr 0x10", "05060708", write="05060708", read={"bytes": 4}, memory=[memory(16, "00" * 4)]),
]

# --- Operations ---------------------------------------------------------------------------------------------------

ADDR = [
    row(1, "DW_OP_addr 0x1234", "mem 0x1234"),
    row(1, "DW_OP_addr 0xffffffffffffffff", "mem 0xffffffffffffffff"),
    row(1, "DW_OP_addr 0xffffffff", "mem 0xffffffff", address_size=4, byte_order="big"),
    row(1, "DW_OP_addr 0x1234", "mem 0x1234", target=WAVE64),
    # The operand has the size of the generic type.
    row(1, "", "mem 0x12345678", expr="0378563412", address_size=4),
    row(1, "", "mem 0x78563412", expr="0378563412", address_size=4, byte_order="big"),
    row(1, "", "mem 0x123456789abcdef0", expr="03f0debc9a78563412"),
    row(1, "", "mem 0x123456789abcdef0", expr="03123456789abcdef0", byte_order="big"),
    row(1, "", "truncated", expr="0378563412"),
]

ADDRX = [
    row(2, "DW_OP_addrx 1", "mem 0x2000", debug_addr={"0": 0x1000, "1": 0x2000}),
    row(2, "DW_OP_addrx 0", "mem 0x1000", debug_addr={"0": 0x1000}, address_size=4, byte_order="big"),
    row(2, "DW_OP_addrx 1; DW_OP_lit4; DW_OP_LLVM_offset", "mem 0x2004", debug_addr={"1": 0x2000}, target=WAVE64),
    # The index is one of the associated compilation unit.
    row(2, "DW_OP_addrx 2", "bad_operand", debug_addr={"0": 0x1000, "1": 0x2000}),
    row(2, "DW_OP_addrx 2", "unit"),
]

FORM_ADDRESS = [
    # The first entry is the address space, the second the address.
    row(3, f"DW_OP_lit16; DW_OP_lit0; {FORM}", "mem 0x10"),
    row(3, f"DW_OP_lit16; DW_OP_lit0; {FORM}", "mem 0x10", target=WAVE64),
    *[
        row(3, f"DW_OP_lit16; DW_OP_lit{number}; {FORM}", expected, target=target, lane=3)
        for target in (WAVE64, WAVE32, OTHER64)
        for number, expected in enumerate(
            ("mem 0x10", "generic#0x10", "region#0x10", "local#0x10", "bad_address_space", "private_lane#0x10@3")
        )
    ],
    row(3, f"DW_OP_lit16; DW_OP_lit6; {FORM}", "private_wave#0x10", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit6; {FORM}", "private_wave#0x10", target=WAVE32),
    *[
        row(3, f"DW_OP_lit16; DW_OP_const1u {0x20 + lane}; {FORM}", f"private_lane{lane}#0x10", target=target)
        for target, lane in ((WAVE64, 0), (WAVE64, 7), (WAVE64, 63), (WAVE32, 0), (WAVE32, 31), (OTHER64, 63))
    ],
    # Both may have any integral type, and a byte address in the default address space is an integral value too.
    row(3, f"DW_OP_const_type 4 10000000; DW_OP_const_type 1 03; {FORM}", "local#0x10", target=WAVE64),
    row(3, f"DW_OP_const_type 6 10000000000000000000000000000000; DW_OP_lit0; {FORM}", "mem 0x10"),
    row(3, f"DW_OP_addr 0x10; DW_OP_lit3; {FORM}", "local#0x10", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_addr 3; {FORM}", "local#0x10", target=WAVE64),
    # A is zero-extended to the S bits of an address, whatever its sign, or its least significant S bits are used.
    row(3, f"DW_OP_const_type 1 ff; DW_OP_lit3; {FORM}", "local#0xff", target=WAVE64),
    row(3, f"DW_OP_const_type 1 ff; DW_OP_lit0; {FORM}", "mem 0xff", target=WAVE64),
    row(3, f"DW_OP_const8u 0x1234500000010; DW_OP_lit3; {FORM}", "local#0x10", target=WAVE64),
    row(3, f"DW_OP_const8u 0x1234500000010; DW_OP_lit1; {FORM}", "generic#0x1234500000010", target=WAVE64),
    row(3, f"DW_OP_const1s -1; DW_OP_lit6; {FORM}", "private_wave#0xffffffff", target=WAVE64),
    row(3, f"DW_OP_const1s -1; DW_OP_lit0; {FORM}", "mem 0xffffffffffffffff", target=WAVE64),
    row(3, f"DW_OP_const_type 2 1000000001000000; DW_OP_lit0; {FORM}", "mem 0x10", address_size=4),
    row(
        3,
        f"DW_OP_const_type 6 0000000001000000ffffffffffffffff; DW_OP_lit0; {FORM}",
        "mem 0xffffffffffffffff",
        byte_order="big",
    ),
    # AS must be one of the values that the target architecture defines.
    row(3, f"DW_OP_lit16; DW_OP_lit1; {FORM}", "bad_address_space"),
    row(3, f"DW_OP_lit16; DW_OP_lit7; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit31; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const1u 0x60; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const8u 0x100000003; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const1s -1; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const_type 1 ff; {FORM}", "bad_address_space", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit1; {FORM}", "bad_address_space", target="amdgcn-gfx600"),  # no flat memory
    # Both must be values of integral types.
    row(3, f"DW_OP_const_type 3 0000803f; DW_OP_lit3; {FORM}", "integral_type_required", target=WAVE64),
    row(3, f"DW_OP_const_type 7 1000000000000000; DW_OP_lit3; {FORM}", "integral_type_required", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const_type 3 0000803f; {FORM}", "integral_type_required", target=WAVE64),
    row(3, f"DW_OP_regx s4; DW_OP_lit3; {FORM}", "wrong_kind", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_lit3; {FORM}", "wrong_kind", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_regx s4; {FORM}", "wrong_kind", target=WAVE64),
    row(3, f"DW_OP_piece 4; DW_OP_lit3; {FORM}", "incomplete_composite", target=WAVE64),
    row(3, f"DW_OP_lit3; {FORM}", "stack_underflow", target=WAVE64),
    # What belongs to a lane is that of the current lane, which is required.
    row(3, f"DW_OP_lit16; DW_OP_lit5; {FORM}", [f"private_lane#0x10@{lane}" for lane in range(64)], target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit5; {FORM}", "lane", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_lit5; {FORM}", "lane", target=WAVE32),
    row(3, f"DW_OP_lit16; DW_OP_lit5; {FORM}; DW_OP_drop; DW_OP_lit1", "lane", target=WAVE64),
    row(3, f"DW_OP_lit16; DW_OP_const1u 0x25; {FORM}", "private_lane5#0x10", target=WAVE64),
    # Lanes may name different address spaces.
    row(
        3,
        f"DW_OP_lit16; DW_OP_LLVM_push_lane; {FORM}",
        [
            "mem 0x10",
            "generic#0x10",
            "region#0x10",
            "local#0x10",
            "bad_address_space",
            "private_lane#0x10@5",
            "private_wave#0x10",
            *["bad_address_space"] * 25,
        ],
        target=WAVE32,
    ),
]


# --- Address spaces that alias ------------------------------------------------------------------------------------

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
    state: dict[str, Any] = {"target": target, "memory": swizzled(wave_size)}
    lanes = range(wave_size)
    first, last = 0, wave_size - 1
    flat = PRIVATE_BASE + 0x24
    return [
        # The lane's view of the memory of its wave: dwords of the lanes, interleaved.
        row(
            None,
            f"DW_OP_const1u 0x24; DW_OP_lit5; {FORM}; DW_OP_deref_size 4",
            lanes_of(1000 + i for i in lanes),
            **state,
        ),
        row(
            None,
            f"DW_OP_const1u 0x24; DW_OP_lit5; {FORM}; DW_OP_deref",
            lanes_of(1000 + i + (2000 + i << 32) for i in lanes),
            **state,
        ),
        # ... also where an access begins or ends within a dword.
        row(
            None,
            f"DW_OP_const1u 0x25; DW_OP_lit5; {FORM}; DW_OP_deref_size 4",
            lanes_of((1000 + i + (2000 + i << 32)) >> 8 & 0xFFFFFFFF for i in lanes),
            **state,
        ),
        row(
            None,
            f"DW_OP_const1u 0x27; DW_OP_lit5; {FORM}; DW_OP_deref_size 2",
            lanes_of((2000 + i & 0xFF) << 8 for i in lanes),
            **state,
        ),
        # Each lane at its own address, of which the first is not described.
        row(
            None,
            f"DW_OP_LLVM_push_lane; DW_OP_lit1; DW_OP_and; DW_OP_lit4; DW_OP_mul; DW_OP_plus_uconst 0x20; DW_OP_lit5;"
            f"{FORM}; DW_OP_deref_size 4",
            ["memory_unavailable" if i % 2 == 0 else str(1000 + i) for i in lanes],
            **state,
        ),
        # The view of a lane that the address space names.
        *[
            row(
                None,
                f"DW_OP_const1u 0x24; DW_OP_const1u {0x20 + i}; {FORM}; DW_OP_deref_size 4",
                str(1000 + i),
                **state,
            )
            for i in (first, 5, last)
        ],
        row(
            None,
            f"DW_OP_const1u 0x24; DW_OP_LLVM_push_lane; DW_OP_plus_uconst 0x20; {FORM}; DW_OP_deref_size 4",
            lanes_of(1000 + i for i in lanes),
            **state,
        ),
        # The view of the wave: the dwords of all lanes, one after the other.
        row(
            None,
            f"DW_OP_const2u {0x24 * wave_size}; DW_OP_lit6; {FORM}; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul;"
            "DW_OP_LLVM_offset; DW_OP_deref_size 4",
            lanes_of(1000 + i for i in lanes),
            **state,
        ),
        # The flat view: private memory is that of the lane.
        row(
            None,
            f"DW_OP_constu {flat}; DW_OP_lit1; {FORM}; DW_OP_deref_size 4",
            lanes_of(1000 + i for i in lanes),
            **state,
        ),
        row(None, f"DW_OP_constu {flat}; DW_OP_lit1; {FORM}; DW_OP_deref_size 4", str(1000 + last), **state, lane=last),
        row(None, f"DW_OP_constu {flat}; DW_OP_lit1; {FORM}; DW_OP_deref_size 4", "lane", **state),
        row(None, f"DW_OP_constu {flat}; DW_OP_lit1; {FORM}", f"generic#{flat:#x}@5", **state, lane=5),
        # What is written through one view is read through the others: here the first four bytes are written.
        row(
            None,
            f"DW_OP_const1u 0x24; DW_OP_lit5; {FORM}; DW_OP_piece 4;"
            f"DW_OP_const2u {wave_address(0x24, 5, wave_size)}; DW_OP_lit6; {FORM}; DW_OP_piece 4;"
            f"DW_OP_const1u 0x24; DW_OP_const1u 0x25; {FORM}; DW_OP_piece 4;"
            f"DW_OP_constu {flat}; DW_OP_lit1; {FORM}; DW_OP_piece 4;"
            f"DW_OP_const1u 0x24; DW_OP_const1u 0x26; {FORM}; DW_OP_piece 4",
            "11223344" * 4 + dwords(1006),
            **state,
            lane=5,
            write="11223344",
            read={"bytes": 20},
        ),
        row(
            None,
            f"DW_OP_const2u {wave_address(0x24, 5, wave_size)}; DW_OP_lit6; {FORM}; DW_OP_piece 8;"
            f"DW_OP_const1u 0x24; DW_OP_const1u 0x25; {FORM}; DW_OP_piece 4;"
            f"DW_OP_const1u 0x24; DW_OP_const1u 0x26; {FORM}; DW_OP_piece 4",
            "11223344556677881122334455667788",
            **state,
            write="1122334455667788",
            read={"bytes": 16},
        ),
    ]


ALIASES = [
    *aliases(WAVE64, 64),
    *aliases(WAVE32, 32),
    *aliases(OTHER64, 64),
    # Memory that is described by lane is that of the wave too.
    row(
        None,
        f"DW_OP_const2u {wave_address(0x24, 9, 64)}; DW_OP_lit6; {FORM}; DW_OP_deref_size 4",
        "7",
        target=WAVE64,
        memory=[memory(0x24, dwords(7), "private_lane", lane=9)],
    ),
    row(
        None,
        f"DW_OP_const1u 0x24; DW_OP_lit5; {FORM}; DW_OP_deref_size 4",
        ["7" if lane == 9 else "memory_unavailable" for lane in range(32)],
        target=WAVE32,
        memory=[memory(0x24, dwords(7), "private_lane9")],
    ),
    # The local aperture of flat memory, and global memory, which needs no conversion.
    row(
        None,
        f"DW_OP_constu {LOCAL_BASE + 16}; DW_OP_lit1; {FORM}; DW_OP_deref_size 4",
        "7",
        target=WAVE64,
        memory=[memory(16, dwords(7), "local")],
    ),
    row(
        None,
        f"DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_deref_size 4",
        "7",
        target=WAVE32,
        memory=[memory(LOCAL_BASE + 16, dwords(7), "generic")],
    ),
    row(
        None,
        f"DW_OP_constu {LOCAL_BASE + 16}; DW_OP_deref_size 4",
        "memory_unavailable",
        target=WAVE64,
        memory=[memory(16, dwords(7), "local")],
    ),
    row(
        None,
        f"DW_OP_const2u 0x1000; DW_OP_lit1; {FORM}; DW_OP_deref_size 4; DW_OP_const2u 0x1000; DW_OP_deref_size 4",
        ("7", "7"),
        target=WAVE64,
        memory=[memory(0x1000, dwords(7))],
    ),
    # Local and global memory are independent.
    row(
        None,
        f"DW_OP_lit16; DW_OP_lit3; {FORM}; DW_OP_deref_size 4; DW_OP_lit16; DW_OP_deref_size 4;"
        f"DW_OP_lit16; DW_OP_lit2; {FORM}; DW_OP_deref_size 4",
        ("1", "2", "3"),
        target=WAVE64,
        memory=[memory(16, dwords(1), "local"), memory(16, dwords(2)), memory(16, dwords(3), "region")],
    ),
]

TLS = [
    # The location that corresponds to a thread-local storage address.
    row(4, "DW_OP_lit16; DW_OP_form_tls_address", "mem 0x7000", tls={"16": 0x7000}),
    row(4, "DW_OP_const_type 4 10000000; DW_OP_form_tls_address", "mem 0x7000", tls={"16": 0x7000}),
    row(
        4, "DW_OP_lit16; DW_OP_form_tls_address; DW_OP_deref", "1", tls={"16": 64}, memory=[memory(64, "01" + "00" * 7)]
    ),
    row(4, "DW_OP_constx 0; DW_OP_form_tls_address", "mem 0x7000", tls={"16": 0x7000}, debug_addr={"0": 16}),
    row(4, "DW_OP_lit16; DW_OP_form_tls_location", "mem 0x7000", tls={"16": 0x7000}, address_size=4),
    # TA must be a value of an integral type.
    row(4, "DW_OP_const_type 3 0000803f; DW_OP_form_tls_address", "integral_type_required", tls={"16": 0x7000}),
    row(4, "DW_OP_reg5; DW_OP_form_tls_address", "wrong_kind", tls={"16": 0x7000}),
    row(4, "DW_OP_form_tls_address", "stack_underflow", tls={"16": 0x7000}),
    # The run-time environment of a thread is needed, and has no block for every address.
    row(4, "DW_OP_lit16; DW_OP_form_tls_address", "thread"),
    row(4, "DW_OP_lit17; DW_OP_form_tls_address", "memory_unavailable", tls={"16": 0x7000}),
]

CFA = [
    row(5, "DW_OP_call_frame_cfa", "mem 0x1000", cfa=0x1000),
    row(5, "DW_OP_call_frame_cfa", "mem 0x1000", cfa=0x1000, address_size=4, byte_order="big"),
    row(
        5, "DW_OP_call_frame_cfa", "private_wave#0x40", cfa={"kind": "memory", "space": 6, "address": 64}, target=WAVE64
    ),
    row(5, "DW_OP_call_frame_cfa; DW_OP_consts -8; DW_OP_LLVM_offset", "mem 0xff8", cfa=0x1000),
    row(
        5,
        "DW_OP_call_frame_cfa; DW_OP_consts -8; DW_OP_plus; DW_OP_deref",
        "5",
        cfa=0x1000,
        memory=[memory(0xFF8, "05" + "00" * 7)],
    ),
    row(
        5,
        "DW_OP_call_frame_cfa",
        [f"private_lane#0x40@{lane}" for lane in range(32)],
        cfa={"kind": "memory", "space": "private_lane", "address": 64},
        target=WAVE32,
    ),
    # The call frame information is required.
    row(5, "DW_OP_call_frame_cfa", "frame"),
]

FBREG = [
    # The frame base, updated as by DW_OP_LLVM_offset_uconst B.
    row(6, "DW_OP_fbreg 8", "mem 0x1008", frame_base=0x1000),
    row(6, "DW_OP_fbreg 0", "mem 0x1000", frame_base=0x1000),
    row(6, "DW_OP_fbreg -8", "mem 0xff8", frame_base=0x1000),
    row(6, "DW_OP_fbreg -8", "mem 0xff8", frame_base=0x1000, address_size=4, byte_order="big"),
    row(6, "DW_OP_fbreg -8; DW_OP_deref", "5", frame_base=0x1000, memory=[memory(0xFF8, "05" + "00" * 7)]),
    # It may be in any of the address spaces.
    row(
        6, "DW_OP_fbreg 8", "private_wave#0x48", frame_base={"kind": "memory", "space": 6, "address": 64}, target=WAVE64
    ),
    row(
        6,
        "DW_OP_fbreg 8",
        [f"private_lane#0x48@{lane}" for lane in range(64)],
        frame_base={"kind": "memory", "space": 5, "address": 64},
        target=WAVE64,
    ),
    # An offset does not wrap around: outside the storage it is an evaluation error.
    row(6, "DW_OP_fbreg -8", "offset_out_of_storage", frame_base=4),
    row(6, "DW_OP_fbreg 1", "offset_out_of_storage", frame_base=(1 << 64) - 1),
    row(6, "DW_OP_fbreg 1", "offset_out_of_storage", frame_base=(1 << 32) - 1, address_size=4),
    # The frame base of the current subprogram is required.
    row(6, "DW_OP_fbreg 8", "frame"),
]

BASE_IN_R5 = {"kind": "register", "register": 5}


def base(ops: str, expected: Any, frame_base: Any, **case: Any) -> Case:
    return Case("A.3.3.5 (2)", ops, expected, **{"rules": "amd", "frame_base": frame_base, **case})


FRAME_BASE = [
    # A register location description stands for the memory that DW_OP_bregx R, 0 means.
    base("DW_OP_fbreg 8", "mem 0x1008", BASE_IN_R5, registers={"5": 0x1000}),
    base("DW_OP_fbreg -1", "mem 0xfff", BASE_IN_R5, registers={"5": 0x1000}, byte_order="big"),
    base("DW_OP_fbreg 8", "mem 0x1008", BASE_IN_R5, registers={"5": 0x1000}, address_size=4),
    base("DW_OP_fbreg 0", "mem 0x1000", BASE_IN_R5, registers={"5": {"bytes": "0010000000000000" + "ff" * 8}}),
    base(
        "DW_OP_fbreg 0",
        "mem 0x10",
        BASE_IN_R5,
        registers={"5": {"bytes": "0000000000000010" + "ff" * 8}},
        byte_order="big",
    ),
    base("DW_OP_fbreg 8", "register_unavailable", BASE_IN_R5),
    # ... so the register must hold a whole address of the default address space.
    base("DW_OP_fbreg 8", "read_past_storage", BASE_IN_R5, registers={"5": {"bytes": "00100000"}}),
    base(
        "DW_OP_fbreg 8", "read_past_storage", {"kind": "register", "name": "s33"}, registers={"s33": 64}, target=WAVE64
    ),
    # Otherwise it must be one memory location description.
    base("DW_OP_fbreg 8", "wrong_kind", {"kind": "implicit", "bytes": "00" * 16}),
    base("DW_OP_fbreg 8", "wrong_kind", {"kind": "undefined"}),
    base("DW_OP_fbreg 8", "wrong_kind", PLACES),
    base(
        "DW_OP_fbreg 8",
        "wrong_kind",
        {"kind": "composite", "parts": [{"bit_size": 64, "location": {"kind": "memory", "address": 0}}]},
    ),
    base("DW_OP_fbreg 8", "wrong_kind", {"kind": "implicit_pointer", "die": "info:0x10"}, dies={"info:0x10": {}}),
]

BREG = [
    # The contents of the register as an unsigned number of S bits, plus B.
    *[
        row(
            7,
            f"DW_OP_breg{number} 8",
            f"mem {0x1000 * (number + 1) + 8:#x}",
            registers={str(number): 0x1000 * (number + 1)},
        )
        for number in range(32)
    ],
    row(7, "DW_OP_breg5 -1", "mem 0xfff", registers={"5": 0x1000}),
    row(7, "DW_OP_breg5 0", "mem 0x0", registers={"5": 0}),
    row(7, "DW_OP_breg5 1", "mem 0x0", registers={"5": (1 << 64) - 1}),
    row(7, "DW_OP_breg5 -1", "mem 0xffffffffffffffff", registers={"5": 0}),
    row(7, "DW_OP_breg5 -1", "mem 0xffffffff", registers={"5": 0}, address_size=4, byte_order="big"),
    row(7, "DW_OP_breg5 0x100000001", "mem 0x1", registers={"5": 0}, address_size=4),
    row(7, "DW_OP_breg5 8; DW_OP_deref", "3", registers={"5": 8}, memory=[memory(16, "03" + "00" * 7)]),
    # A larger register is read from its bit offset 0 on.
    row(7, "DW_OP_breg5 0", "mem 0x10", registers={"5": {"bytes": "1000000000000000" + "ff" * 8}}),
    row(7, "DW_OP_breg5 0", "mem 0x10", registers={"5": {"bytes": "0000000000000010" + "ff" * 8}}, byte_order="big"),
    row(7, "DW_OP_breg5 0", "mem 0x10", registers={"5": {"bytes": "10000000ffffffff"}}, address_size=4),
    row(
        7, "DW_OP_breg5 0", "mem 0x10", registers={"5": {"bytes": "00000010ffffffff"}}, address_size=4, byte_order="big"
    ),
    # A smaller one does not hold an address (A.2.5.4.3.4 (4)).
    row(7, "DW_OP_breg5 0", "read_past_storage", registers={"5": {"bytes": "10000000"}}),
    row(7, "DW_OP_breg5 0", "register_unavailable"),
]

BREGX = [
    row(8, "DW_OP_bregx 5 8", "mem 0x1008", registers={"5": 0x1000}),
    row(8, "DW_OP_bregx 1000000 -8", "mem 0xff8", registers={"1000000": 0x1000}),
    row(8, "DW_OP_bregx 5 -1", "mem 0xffffffff", registers={"5": 0}, address_size=4),
    row(8, "DW_OP_bregx pc 4", "mem 0x1004", registers={"pc": 0x1000}, target=WAVE64),
    # An SGPR does not hold an address of the default address space of amdgcn; two lanes of a VGPR do.
    row(8, "DW_OP_bregx s4 0", "read_past_storage", registers={"s4": 0x1000}, target=WAVE64),
    row(8, "DW_OP_bregx v0 0", "mem 0x200000001", registers={"v0": [1, 2, 3]}, target=WAVE64),
    row(8, "DW_OP_bregx v0 0", "mem 0x200000001", registers={"v0": [1, 2, 3]}, target=WAVE32),
    row(8, "DW_OP_bregx 5 8", "register_unavailable"),
]

ASPACE_BREGX = [
    # As DW_OP_breg<N>, in the address space popped, whose address size decides.
    row(9, "DW_OP_lit0; DW_OP_LLVM_aspace_bregx 5 8", "mem 0x1008", registers={"5": 0x1000}),
    row(9, "DW_OP_lit3; DW_OP_LLVM_aspace_bregx s4 8", "local#0x18", registers={"s4": 16}, target=WAVE64),
    row(9, "DW_OP_lit6; DW_OP_LLVM_aspace_bregx s33 -4", "private_wave#0xc", registers={"s33": 16}, target=WAVE32),
    row(
        9,
        "DW_OP_const1u 0x23; DW_OP_LLVM_aspace_bregx s33+4",
        "private_lane3#0x14",
        registers={"s33": 16},
        target=WAVE64,
    ),
    row(9, "DW_OP_lit1; DW_OP_LLVM_aspace_bregx pc 4", "generic#0x1004", registers={"pc": 0x1000}, target=WAVE64),
    row(9, "DW_OP_const_type 1 03; DW_OP_LLVM_aspace_bregx s4 8", "local#0x18", registers={"s4": 16}, target=WAVE64),
    row(9, "DW_OP_addr 3; DW_OP_LLVM_aspace_bregx s4 8", "local#0x18", registers={"s4": 16}, target=WAVE64),
    row(9, "DW_OP_lit3; DW_OP_aspace_bregx s4 8", "local#0x18", registers={"s4": 16}, target=WAVE64),
    row(
        9,
        "DW_OP_lit5; DW_OP_LLVM_aspace_bregx s33 8",
        [f"private_lane#0x18@{lane}" for lane in range(64)],
        registers={"s33": 16},
        target=WAVE64,
    ),
    # The sum wraps around at the address size.
    row(9, "DW_OP_lit3; DW_OP_LLVM_aspace_bregx s4 1", "local#0x0", registers={"s4": 0xFFFFFFFF}, target=WAVE64),
    row(9, "DW_OP_lit3; DW_OP_LLVM_aspace_bregx s4 -1", "local#0xffffffff", registers={"s4": 0}, target=WAVE64),
    row(9, "DW_OP_lit3; DW_OP_LLVM_aspace_bregx pc 0", "local#0x10", registers={"pc": 0x100000010}, target=WAVE64),
    row(9, "DW_OP_lit3; DW_OP_LLVM_aspace_bregx v0 0", "local#0x1", registers={"v0": [1, 2, 3]}, target=WAVE64),
    row(9, "DW_OP_lit1; DW_OP_LLVM_aspace_bregx s4 0", "read_past_storage", registers={"s4": 16}, target=WAVE64),
    # AS must be an integral value, and an address space of the target.
    row(9, "DW_OP_lit4; DW_OP_LLVM_aspace_bregx s4 8", "bad_address_space", registers={"s4": 16}, target=WAVE64),
    row(9, "DW_OP_lit1; DW_OP_LLVM_aspace_bregx 5 8", "bad_address_space", registers={"5": 16}),
    row(
        9,
        "DW_OP_const_type 3 0000803f; DW_OP_LLVM_aspace_bregx s4 8",
        "integral_type_required",
        registers={"s4": 16},
        target=WAVE64,
    ),
    row(9, "DW_OP_regx s5; DW_OP_LLVM_aspace_bregx s4 8", "wrong_kind", registers={"s4": 16}, target=WAVE64),
    row(9, "DW_OP_LLVM_aspace_bregx s4 8", "stack_underflow", registers={"s4": 16}, target=WAVE64),
    # Private memory of a lane needs a lane.
    row(9, "DW_OP_lit5; DW_OP_LLVM_aspace_bregx s33 8", "lane", registers={"s33": 16}, target=WAVE64),
]

test_implicit_conversion_to_a_location = table(TO_LOCATION)
test_implicit_conversion_to_a_value = table(TO_VALUE)
test_positions = table(POSITIONS)
test_addr = table(ADDR)
test_addrx = table(ADDRX)
test_form_aspace_address = table(FORM_ADDRESS)
test_address_spaces_that_alias = table(ALIASES)
test_form_tls_address = table(TLS)
test_call_frame_cfa = table(CFA)
test_fbreg = table(FBREG)
test_frame_base = table(FRAME_BASE)
test_breg = table(BREG)
test_bregx = table(BREGX)
test_aspace_bregx = table(ASPACE_BREGX)


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
    return asm.parse(ops, dialects.get("llvm-user"), Format(), target=resolve(target))


def evaluated(ops: str, target: str = "generic", **context: Any) -> Any:
    chosen = resolve(target)
    context.setdefault("backend", DescribedMachine(chosen))
    return evaluate(parse(ops, target), Context(chosen, AMD, **context)).one()


def error_of(ops: str, **context: Any) -> DwarfGpuError:
    with pytest.raises(DwarfGpuError) as caught:
        evaluated(ops, **context)
    return caught.value


def test_addresses_are_relocated():
    """DW_OP_addr (1): A is adjusted by where the code object is loaded."""
    place = evaluated("DW_OP_addr 0x10", unit=Loaded()).single

    assert place.bit_offset == 8 * 0x7010
    assert isinstance(place.storage, Memory)


def frame(ops: str) -> FrameOf:
    machine = DescribedMachine(resolve("generic"))
    machine.describe_register(5, 0x1000)
    return FrameOf(machine, ops)


@pytest.mark.parametrize(
    "ops, address",
    [
        ("DW_OP_addr 0x20", 0x28),
        ("DW_OP_lit16", 0x18),
        ("DW_OP_breg5 -8", 0x1000),
        ("DW_OP_reg5", 0x1008),
        ("DW_OP_lit1; DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_offset", 0x1B),
    ],
)
def test_a_frame_base_is_evaluated_to_a_location(ops, address):
    """A.3.3.5 (2): with the result kind location description."""
    base = frame(ops)

    found = evaluated("DW_OP_fbreg 8", frame=base, unit=DescribedUnit(), backend=base.machine)

    assert isinstance(found, Location)
    assert found.single is not None
    assert found.single.bit_offset == 8 * address


@pytest.mark.parametrize(
    "ops, kind",
    [
        ("DW_OP_fbreg 8", "bad_operand"),  # E must not contain DW_OP_fbreg
        ("DW_OP_lit16; DW_OP_skip @end; DW_OP_fbreg 8; end: DW_OP_nop", "bad_operand"),  # even where none is executed
        ("DW_OP_LLVM_undefined", "wrong_kind"),  # SL must be a register or a memory location description
        ("", "wrong_kind"),
        ("DW_OP_lit16; DW_OP_stack_value", "wrong_kind"),
        ("DW_OP_reg5; DW_OP_piece 8", "wrong_kind"),
        ("DW_OP_push_object_address", "object"),  # the object is not specified
        ("DW_OP_drop; DW_OP_lit16", "stack_underflow"),  # the initial stack is empty
    ],
)
def test_what_a_frame_base_must_not_be(ops, kind):
    base = frame(ops)
    elsewhere = evaluated("DW_OP_addr 0x40")

    error = error_of(
        "DW_OP_lit1; DW_OP_fbreg 8", frame=base, unit=DescribedUnit(), backend=base.machine, object=elsewhere
    )

    assert error.kind == kind


@pytest.mark.parametrize("space", [1, 3, 5, 6, 0x25])
def test_memory_of_a_thread_needs_a_thread(space):
    """A.2.5.1: the current thread is required for an address space that is specific to it."""
    ops = f"DW_OP_lit16; DW_OP_const1u {space}; {FORM}"

    assert error_of(ops, target=WAVE64, lanes=LaneSet(1, wave=None, lane=3)).kind == "thread"


@pytest.mark.parametrize("space", [0, 2])
def test_memory_of_the_process_or_the_agent_needs_no_thread(space):
    found = evaluated(f"DW_OP_lit16; DW_OP_lit{space}; {FORM}", WAVE64, lanes=LaneSet(1, wave=None))

    assert found.single.bit_offset == 128


def test_thread_local_storage_needs_a_thread_and_a_frame():
    ops = "DW_OP_lit16; DW_OP_form_tls_address"
    machine = DescribedMachine(resolve("generic"))
    described = DescribedFrame(machine, tls={16: 0x7000})

    assert evaluated(ops, frame=described).single.bit_offset == 8 * 0x7000
    assert error_of(ops, frame=described, lanes=LaneSet(1, wave=None)).kind == "thread"
    assert error_of(ops).kind == "frame"


@pytest.mark.parametrize("ops", ["DW_OP_breg5 0", "DW_OP_bregx 5 0", "DW_OP_fbreg 0", "DW_OP_call_frame_cfa"])
def test_registers_and_the_frame_base_need_a_frame(ops):
    """A.2.5.1: the current call frame is required for operations that specify registers."""
    assert error_of(ops, unit=DescribedUnit()).kind == "frame"


def test_lanes_evaluate_their_own_frame_base():
    """A frame base in the memory of a lane, from the register that the lane's wave has."""
    found = run_lanes(
        "DW_OP_fbreg 8; DW_OP_deref_size 4",
        rules="amd",
        target=WAVE64,
        frame_base={"kind": "memory", "space": "private_lane", "address": 0x1C},
        memory=swizzled(64),
    )

    assert found == lanes_of(range(1000, 1064))


def test_a_bad_address_space_is_ill_formed():
    error = error_of(f"DW_OP_lit16; DW_OP_lit4; {FORM}", target=WAVE64)

    assert isinstance(error, IllFormed)
    assert error.spec == "A.2.5.4.4.3 (3)"
