"""Offsets in messages about call frame information are offsets in the section."""

from __future__ import annotations

import struct

import pytest

from dwarfgpu.errors import IllFormed
from dwarfgpu.objfile.frames.frame_section import FrameSection


def test_a_cie_before_the_section_is_no_negative_offset():
    """The pointer of an FDE in .eh_frame is a distance backwards, which may lead before the start."""
    data = struct.pack("<IIQQ", 20, 0xFFFFFFFB, 0, 0)
    section = FrameSection(data, ".eh_frame")
    with pytest.raises(IllFormed, match="its CIE would begin 0xfffffff7 bytes before the section") as error:
        section.entry_at(0)
    assert str(error.value.where) == ".eh_frame+0x0"
    assert "-0x" not in str(error.value)
