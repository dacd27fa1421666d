"""What the encoding of call frame instructions depends on."""

from __future__ import annotations

from attrs import field, frozen

from dwarfgpu.dwarf_constants import DW_EH_PE_absptr
from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import Bases


@frozen
class FrameFormat:
    """What a common information entry says about the encoding of its instructions and of those that refer to it."""

    form: Format = field(factory=Format)
    code_alignment: int = 1
    """The factor of advances (code_alignment_factor)."""
    data_alignment: int = 1
    """The factor of factored offsets (data_alignment_factor)."""
    pointers: int = DW_EH_PE_absptr
    """How addresses are encoded."""
    bases: Bases = field(factory=Bases)
    """What they count from."""
    segment_size: int = 0
    """Bytes of a segment selector before the first address of an entry."""
