"""What the encoding of call frame instructions depends on."""

from __future__ import annotations

from dwarfgpu.dwarf_constants import DW_EH_PE_absptr
from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import Bases
from dwarfgpu.records import record


@record
class FrameFormat:
    """What a common information entry says about the encoding of its instructions and of those that refer to it."""

    form: Format = Format()
    code_alignment: int = 1
    """The factor of advances (code_alignment_factor)."""
    data_alignment: int = 1
    """The factor of factored offsets (data_alignment_factor)."""
    pointers: int = DW_EH_PE_absptr
    """How addresses are encoded."""
    bases: Bases = Bases()
    """What they count from."""
    segment_size: int = 0
    """Bytes of a segment selector before the first address of an entry."""
