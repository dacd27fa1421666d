"""DWARF 2 to 5 (DWARF 5 section 7.7.1, table 7.9)."""

from __future__ import annotations

from dwarfgpu.expr.dialect import Dialect, Encoding

_NAMED = """
    03 addr         06 deref        08 const1u      09 const1s      0a const2u      0b const2s      0c const4u
    0d const4s      0e const8u      0f const8s      10 constu       11 consts       12 dup          13 drop
    14 over         15 pick         16 swap         17 rot          18 xderef       19 abs          1a and
    1b div          1c minus        1d mod          1e mul          1f neg          20 not          21 or
    22 plus         23 plus_uconst  24 shl          25 shr          26 shra         27 xor          28 bra
    29 eq           2a ge           2b gt           2c le           2d lt           2e ne           2f skip
    90 regx         91 fbreg        92 bregx        93 piece        94 deref_size   95 xderef_size  96 nop
    97 push_object_address          98 call2        99 call4        9a call_ref     9b form_tls_address
    9c call_frame_cfa               9d bit_piece    9e implicit_value               9f stack_value
    a0 implicit_pointer             a1 addrx        a2 constx       a3 entry_value  a4 const_type
    a5 regval_type  a6 deref_type   a7 xderef_type  a8 convert      a9 reinterpret
"""


def _encodings() -> list[Encoding]:
    words = _NAMED.split()
    encodings = [Encoding((int(words[i], 16),), f"DW_OP_{words[i + 1]}") for i in range(0, len(words), 2)]
    for start, family in ((0x30, "lit"), (0x50, "reg"), (0x70, "breg")):
        encodings += [Encoding((start + number,), f"DW_OP_{family}{number}") for number in range(32)]
    return encodings


DWARF5 = Dialect("dwarf5", _encodings(), "DWARF 5, table 7.9")


# --- The extensions of GNU (binutils, include/dwarf2.def; GCC wiki, DwarfExtensions) ------------------------------

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
