"""The format of call frame instructions."""

from __future__ import annotations

from dwarfgpu.encoding.operands import Format
from dwarfgpu.encoding.pointers import ABSOLUTE, Bases
from dwarfgpu.records import record


@record
class FrameFormat:
    """The encoding of the instructions of a common information entry, and of the entries that refer to it."""

    form: Format = Format()
    code_alignment: int = 1
    """The factor of advances (code_alignment_factor)."""
    data_alignment: int = 1
    """The factor of factored offsets (data_alignment_factor)."""
    pointers: int = ABSOLUTE
    """The encoding of addresses."""
    bases: Bases = Bases()
    """The bases of relative addresses."""
    segment_size: int = 0
    """Bytes of a segment selector before the first address of an entry."""
