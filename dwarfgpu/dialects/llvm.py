"""The three encodings that the heterogeneous extensions have had.

* ``llvm-user``: the current one, sub-opcodes after DW_OP_LLVM_user (A.7.7.1). LLVM's Dwarf.def is "authoritative and
  exhaustive" and has given 0x0d to NVIDIA. The operations marked TBA in the text have no number.
* ``llvm-legacy``: one byte each, as older LLVM and ROCgdb have them (ROCgdb, include/dwarf2.def). 0xE9 is
  DW_OP_LLVM_aspace_implicit_pointer there, and was free in ROCgdb.
* ``amdgpu-2020``: the first layout, which numbers three operations (AMDGPU usage, 2020, DWARF Operation Encodings).
"""

from __future__ import annotations

from dwarfgpu.dialects.dwarf5 import GNU
from dwarfgpu.expr.dialect import Dialect, Encoding

USER_PREFIX = 0xE9
"""DW_OP_LLVM_user."""

LLVM_USER = Dialect(
    "llvm-user",
    [
        Encoding((USER_PREFIX, 0x01), "DW_OP_LLVM_nop"),
        Encoding((USER_PREFIX, 0x02), "DW_OP_LLVM_form_aspace_address"),
        Encoding((USER_PREFIX, 0x03), "DW_OP_LLVM_push_lane"),
        Encoding((USER_PREFIX, 0x04), "DW_OP_LLVM_offset"),
        Encoding((USER_PREFIX, 0x05), "DW_OP_LLVM_offset_uconst"),
        Encoding((USER_PREFIX, 0x06), "DW_OP_LLVM_bit_offset"),
        Encoding((USER_PREFIX, 0x07), "DW_OP_LLVM_call_frame_entry_reg"),
        Encoding((USER_PREFIX, 0x08), "DW_OP_LLVM_undefined"),
        Encoding((USER_PREFIX, 0x09), "DW_OP_LLVM_aspace_bregx"),
        Encoding((USER_PREFIX, 0x0A), "DW_OP_LLVM_piece_end"),
        Encoding((USER_PREFIX, 0x0B), "DW_OP_LLVM_extend"),
        Encoding((USER_PREFIX, 0x0C), "DW_OP_LLVM_select_bit_piece"),
        Encoding((USER_PREFIX, 0x0D), "DW_OP_LLVM_NVIDIA_mux"),
    ],
    "AMDGPU DWARF extensions, A.7.7.1",
    extends=GNU,
)

LLVM_LEGACY = Dialect(
    "llvm-legacy",
    [
        Encoding((0xE1,), "DW_OP_LLVM_form_aspace_address"),
        Encoding((0xE2,), "DW_OP_LLVM_push_lane"),
        Encoding((0xE3,), "DW_OP_LLVM_offset"),
        Encoding((0xE4,), "DW_OP_LLVM_offset_uconst"),
        Encoding((0xE5,), "DW_OP_LLVM_bit_offset"),
        Encoding((0xE6,), "DW_OP_LLVM_call_frame_entry_reg"),
        Encoding((0xE7,), "DW_OP_LLVM_undefined"),
        # Older tables and a snapshot of LLVM's decoder have the displacement unsigned; ROCgdb reads it signed.
        Encoding((0xE8,), "DW_OP_LLVM_aspace_bregx"),
        Encoding((0xE9,), "DW_OP_LLVM_aspace_implicit_pointer"),
        Encoding((0xEA,), "DW_OP_LLVM_piece_end"),
        Encoding((0xEB,), "DW_OP_LLVM_extend"),
        Encoding((0xEC,), "DW_OP_LLVM_select_bit_piece"),
    ],
    "ROCgdb, include/dwarf2.def",
    extends=GNU,
)

AMDGPU_2020 = Dialect(
    "amdgpu-2020",
    [
        Encoding((0xE7,), "DW_OP_LLVM_form_aspace_address"),
        Encoding((0xE9,), "DW_OP_LLVM_offset"),
        Encoding((0xEA,), "DW_OP_LLVM_push_lane"),
    ],
    "AMDGPU usage (2020), DWARF Operation Encodings",
    extends=GNU,
)
