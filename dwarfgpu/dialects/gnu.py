"""DWARF 5 with the GNU extensions (binutils, include/dwarf2.def; GCC wiki, DwarfExtensions)."""

from __future__ import annotations

from dwarfgpu.dialects.dwarf5 import DWARF5
from dwarfgpu.expr.dialect import Dialect, Encoding

GNU = Dialect(
    "gnu",
    [
        Encoding((0xE0,), "DW_OP_GNU_push_tls_address"),
        Encoding((0xF0,), "DW_OP_GNU_uninit"),
        Encoding((0xF1,), "DW_OP_GNU_encoded_addr"),
        Encoding((0xF2,), "DW_OP_GNU_implicit_pointer"),
        Encoding((0xF3,), "DW_OP_GNU_entry_value"),
        Encoding((0xF4,), "DW_OP_GNU_const_type"),
        Encoding((0xF5,), "DW_OP_GNU_regval_type"),
        Encoding((0xF6,), "DW_OP_GNU_deref_type"),
        Encoding((0xF7,), "DW_OP_GNU_convert"),
        Encoding((0xF9,), "DW_OP_GNU_reinterpret"),
        Encoding((0xFA,), "DW_OP_GNU_parameter_ref"),
        Encoding((0xFB,), "DW_OP_GNU_addr_index"),
        Encoding((0xFC,), "DW_OP_GNU_const_index"),
        Encoding((0xFD,), "DW_OP_GNU_variable_value"),
    ],
    "binutils, include/dwarf2.def",
    extends=DWARF5,
)
