"""The format of call frame instructions."""

from __future__ import annotations

from attrs import field, frozen

from dwarfgpu.dwarf_constants import DW_EH_PE_absptr
from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import Bases


@frozen
class FrameFormat:
    """The encoding of the instructions of a common information entry, and of the entries that refer to it."""

    form: Format = field(factory=Format)
    code_alignment: int = 1
    """The factor of advances (code_alignment_factor)."""
    data_alignment: int = 1
    """The factor of factored offsets (data_alignment_factor)."""
    pointers: int = DW_EH_PE_absptr
    """The encoding of addresses."""
    bases: Bases = field(factory=Bases)
    """The bases of relative addresses."""
    segment_size: int = 0
    """Bytes of a segment selector before the first address of an entry."""
