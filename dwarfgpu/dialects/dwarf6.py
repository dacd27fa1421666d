"""The drafts of DWARF 6. Their new operations have names, but no numbers yet ("TBA").

`Dialect.bind` gives them numbers once some are assigned, for instance to read the output of an experimental
compiler: ``DWARF6.bind({"DW_OP_offset": 0xAB})``.
"""

from __future__ import annotations

from dwarfgpu.dialects.dwarf5 import DWARF5
from dwarfgpu.expr.dialect import Dialect, encodings_in

_RENAMED = encodings_in("97 push_object_location 9b form_tls_location")
"""230524.1; they were DW_OP_push_object_address and DW_OP_form_tls_address."""

UNNUMBERED = (
    "DW_OP_offset",  # 230524.1
    "DW_OP_bit_offset",  # 230524.1
    "DW_OP_undefined",  # 230524.1
    "DW_OP_composite",  # 230524.1
    "DW_OP_push_lane",  # 211206.1
    "DW_OP_overlay",  # 251120.1
    "DW_OP_bit_overlay",  # 251120.1
    "DW_OP_multiloc",  # 260227.1
    "DW_OP_mem",  # proposal 013
    "DW_OP_aspace_bregx",  # proposal 013
    "DW_OP_extend",  # proposal 015
    "DW_OP_select_bit_piece",  # proposal 015
    "DW_OP_call_frame_entry_reg",  # proposal 017
)
"""Operations of the accepted and proposed changes that wait for a number."""

_KEPT = [e for e in DWARF5.by_path.values() if e.path not in {renamed.path for renamed in _RENAMED}]

DWARF6 = Dialect("dwarf6", [*_KEPT, *_RENAMED], "DWARF 6 drafts (230524.1)")
