"""The three encodings that the heterogeneous extensions have had.

* ``llvm-user``: the current one, sub-opcodes after DW_OP_LLVM_user (A.7.7.1). LLVM's Dwarf.def is "authoritative and
  exhaustive" and has given 0x0d to NVIDIA. The operations marked TBA in the text have no number.
* ``llvm-legacy``: one byte each, as older LLVM and ROCgdb have them (ROCgdb, include/dwarf2.def). 0xE9 is
  DW_OP_LLVM_aspace_implicit_pointer there, and was free in ROCgdb.
* ``amdgpu-2020``: the first layout, which numbers three operations (AMDGPU usage, 2020, DWARF Operation Encodings).
"""

from __future__ import annotations

from dwarfgpu.dialects.dwarf5 import GNU
from dwarfgpu.expr.dialect import Dialect, encodings_in

_USER = """
    e9.01 LLVM_nop          e9.02 LLVM_form_aspace_address          e9.03 LLVM_push_lane    e9.04 LLVM_offset
    e9.05 LLVM_offset_uconst                                        e9.06 LLVM_bit_offset
    e9.07 LLVM_call_frame_entry_reg                                 e9.08 LLVM_undefined
    e9.09 LLVM_aspace_bregx e9.0a LLVM_piece_end                    e9.0b LLVM_extend
    e9.0c LLVM_select_bit_piece                                     e9.0d LLVM_NVIDIA_mux
"""
LLVM_USER = Dialect("llvm-user", encodings_in(_USER), "AMDGPU DWARF extensions, A.7.7.1", extends=GNU)

# Older tables and a snapshot of LLVM's decoder have the displacement of e8 unsigned; ROCgdb reads it signed.
_LEGACY = """
    e1 LLVM_form_aspace_address             e2 LLVM_push_lane       e3 LLVM_offset          e4 LLVM_offset_uconst
    e5 LLVM_bit_offset                      e6 LLVM_call_frame_entry_reg                    e7 LLVM_undefined
    e8 LLVM_aspace_bregx                    e9 LLVM_aspace_implicit_pointer                 ea LLVM_piece_end
    eb LLVM_extend                          ec LLVM_select_bit_piece
"""
LLVM_LEGACY = Dialect("llvm-legacy", encodings_in(_LEGACY), "ROCgdb, include/dwarf2.def", extends=GNU)

_FIRST = "e7 LLVM_form_aspace_address e9 LLVM_offset ea LLVM_push_lane"
AMDGPU_2020 = Dialect(
    "amdgpu-2020", encodings_in(_FIRST), "AMDGPU usage (2020), DWARF Operation Encodings", extends=GNU
)
