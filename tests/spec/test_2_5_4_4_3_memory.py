"""A.2.5.4.4.3 Memory location description operations, with A.2.13 (address spaces) and A.3.3.5 (the frame base)."""

from __future__ import annotations

from typing import Any

from tests.builders.cases import Case

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
PLACES = {
    "kind": "multiple",
    "places": [{"kind": "memory", "address": 16}, {"kind": "memory", "address": 32}],
}
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

POSITIONS = [
    # A bit offset that is no multiple of 8 is a bit field: bit B of the byte at A.
    row(None, "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset", "mem 0x11.3"),
    row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        "e6",  # 0x563412 >> 11 is 0xac6
        read={"bytes": 1},
        memory=[memory(16, "123456")],
    )
    if False
    else row(
        None,
        "DW_OP_addr 0x10; DW_OP_lit11; DW_OP_LLVM_bit_offset",
        "c6",  # 0x563412 >> 11 is 0xac6
        read={"bytes": 1},
        memory=[memory(16, "123456")],
    ),
]
