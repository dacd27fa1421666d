"""DWARF 2 to 5 (DWARF 5 section 7.7.1, table 7.9)."""

from __future__ import annotations

from dwarfgpu.expr.dialect import Dialect, encodings_in

_NUMBERS = """
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


_FAMILIES = [
    f"{start + number:x} {family}{number}"
    for start, family in ((0x30, "lit"), (0x50, "reg"), (0x70, "breg"))
    for number in range(32)
]

DWARF5 = Dialect("dwarf5", encodings_in(" ".join([_NUMBERS, *_FAMILIES])), "DWARF 5, table 7.9")


# --- The extensions of GNU (binutils, include/dwarf2.def; GCC wiki, DwarfExtensions) ------------------------------

_GNU_NUMBERS = """
    e0 GNU_push_tls_address f0 GNU_uninit           f1 GNU_encoded_addr     f2 GNU_implicit_pointer
    f3 GNU_entry_value      f4 GNU_const_type       f5 GNU_regval_type      f6 GNU_deref_type
    f7 GNU_convert          f9 GNU_reinterpret      fa GNU_parameter_ref    fb GNU_addr_index
    fc GNU_const_index      fd GNU_variable_value
"""
GNU = Dialect("gnu", encodings_in(_GNU_NUMBERS), "binutils, include/dwarf2.def", extends=DWARF5)
