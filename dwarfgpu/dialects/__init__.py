"""The dialects: which bytes are which operation in each encoding in use, with the source of its numbers.

The new operations of the drafts of DWARF 6 have names, but no numbers yet ("TBA"). `Dialect.bind` gives them numbers,
for instance to read the output of an experimental compiler: ``get("dwarf6").bind({"DW_OP_offset": 0xAB})``.
"""

from __future__ import annotations

from functools import lru_cache

from dwarfgpu.errors import UsageError
from dwarfgpu.expr.dialect import Dialect, Path, encodings_in

_DWARF5 = """
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
""" + " ".join(
    f"{start + number:x} {family}{number}"
    for start, family in ((0x30, "lit"), (0x50, "reg"), (0x70, "breg"))
    for number in range(32)
)

_GNU = """
    e0 GNU_push_tls_address f0 GNU_uninit           f1 GNU_encoded_addr     f2 GNU_implicit_pointer
    f3 GNU_entry_value      f4 GNU_const_type       f5 GNU_regval_type      f6 GNU_deref_type
    f7 GNU_convert          f9 GNU_reinterpret      fa GNU_parameter_ref    fb GNU_addr_index
    fc GNU_const_index      fd GNU_variable_value
"""
# Sub-opcodes after DW_OP_LLVM_user. LLVM's Dwarf.def is "authoritative and exhaustive" and has given 0x0d to NVIDIA;
# the operations marked TBA in the text have no number.
_LLVM_USER = """
    e9.01 LLVM_nop          e9.02 LLVM_form_aspace_address          e9.03 LLVM_push_lane    e9.04 LLVM_offset
    e9.05 LLVM_offset_uconst                                        e9.06 LLVM_bit_offset
    e9.07 LLVM_call_frame_entry_reg                                 e9.08 LLVM_undefined
    e9.09 LLVM_aspace_bregx e9.0a LLVM_piece_end                    e9.0b LLVM_extend
    e9.0c LLVM_select_bit_piece                                     e9.0d LLVM_NVIDIA_mux
"""
# One byte each, as older LLVM and ROCgdb have them; 0xE9 was free in ROCgdb. Older tables and a snapshot of LLVM's
# decoder have the displacement of e8 unsigned; ROCgdb reads it signed.
_LLVM_LEGACY = """
    e1 LLVM_form_aspace_address             e2 LLVM_push_lane       e3 LLVM_offset          e4 LLVM_offset_uconst
    e5 LLVM_bit_offset                      e6 LLVM_call_frame_entry_reg                    e7 LLVM_undefined
    e8 LLVM_aspace_bregx                    e9 LLVM_aspace_implicit_pointer                 ea LLVM_piece_end
    eb LLVM_extend                          ec LLVM_select_bit_piece
"""
_AMDGPU_2020 = "e7 LLVM_form_aspace_address e9 LLVM_offset ea LLVM_push_lane"
# 230524.1 renames two.
_DWARF6 = _DWARF5.replace("97 push_object_address", "").replace("9b form_tls_address", "") + (
    " 97 push_object_location 9b form_tls_location"
)

_TABLES: dict[str, tuple[str | None, str, str]] = {
    "dwarf5": (None, _DWARF5, "DWARF 5, table 7.9"),
    "gnu": ("dwarf5", _GNU, "binutils, include/dwarf2.def"),  # and GCC wiki, DwarfExtensions
    "llvm-user": ("gnu", _LLVM_USER, "AMDGPU DWARF extensions, A.7.7.1"),
    "llvm-legacy": ("gnu", _LLVM_LEGACY, "ROCgdb, include/dwarf2.def"),
    "amdgpu-2020": ("gnu", _AMDGPU_2020, "AMDGPU usage (2020), DWARF Operation Encodings"),
    "dwarf6": (None, _DWARF6, "DWARF 6 drafts (230524.1)"),
}
"""The dialect that each extends, its numbers, and where they come from."""
NAMES = tuple(_TABLES)


_MADE: dict[str, Dialect] = {}


def get(name: str) -> Dialect:
    """Return the dialect with a name: the same object each time, in all threads.

    >>> import dwarfgpu as dg
    >>> dg.dialect("llvm-user")
    Dialect(llvm-user)
    """
    if name in _MADE:
        return _MADE[name]
    if name not in _TABLES:
        raise UsageError(f"there is no dialect {name!r}", hint=f"the dialects are {', '.join(NAMES)}")
    extended, numbers, source = _TABLES[name]
    made = Dialect(name, encodings_in(numbers), source, extends=None if extended is None else get(extended))
    return _MADE.setdefault(name, made)


def encoding_in(operation: str) -> tuple[str, ...]:
    """Return the dialects that have a number for an operation."""
    return tuple(name for name in NAMES if operation in get(name).by_name)


@lru_cache(1024)
def known_in(path: Path) -> tuple[str, ...]:
    """Return the dialects that know a path, with the operation it encodes there."""
    dialects = []
    for name in NAMES:
        dialect = get(name)
        encoding = dialect.by_path.get(path)
        if encoding is not None:
            dialects.append(f"{name} ({encoding.name})")
        elif path in dialect.prefixes:
            dialects.append(f"{name} (prefix)")
    return tuple(dialects)
