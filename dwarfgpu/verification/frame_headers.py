"""The checks of ``.eh_frame_hdr``: the table by which a running program finds the entries of ``.eh_frame``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.frames.fde_index import EH_FRAME_HDR, read_frame_header
from dwarfgpu.verification.findings import ERROR, CheckRule, Problem, rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.frames.fde_index import FrameHeader

_LSB = "LSB 5.0, 10.6.2"
_SORT = "let the linker make the table: `--eh-frame-hdr`"
RULES: dict[str, CheckRule] = rules(
    "frame",
    ("header-version", ERROR, _LSB, "The version of .eh_frame_hdr is 1.", "write 1"),
    ("header-encoding", ERROR, _LSB,
     "The encodings of .eh_frame_hdr are known, and the numbers of its table have one size.",
     "write pcrel sdata4, udata4 and datarel sdata4"),
    ("header-truncated", ERROR, _LSB, "The header .eh_frame_hdr has all of its fields, and as many rows as it says.",
     "write the number of rows"),
    ("header-section", ERROR, _LSB, "The header .eh_frame_hdr says where .eh_frame begins.",
     "write the address of .eh_frame"),
    ("header-order", ERROR, _LSB, "The rows of .eh_frame_hdr are sorted by location.", _SORT),
    ("header-entry", ERROR, _LSB, "A row of .eh_frame_hdr leads to the FDE for its location.", _SORT),
    ("header-missing", ERROR, _LSB, "Each FDE of .eh_frame has a row in .eh_frame_hdr.", _SORT),
)  # fmt: skip

_OF_KINDS = {"bad_version": "header-version", "pointer_encoding": "header-encoding"}


def header_problems(
    image: Image, eh_frame: int, locations: dict[int, int], broken: Collection[int], live: Collection[int]
) -> Iterator[Problem]:
    """Yield the problems of the header of an ``.eh_frame`` at an address.

    ``locations`` are the first addresses of the FDEs by their offsets, ``broken`` the offsets of entries that cannot be
    read, and ``live`` the offsets of FDEs for code that is there.
    """
    section = image.section(EH_FRAME_HDR)
    if section is None or not image.is_linked:
        return
    data, broken_section = section.partial()
    if broken_section is not None or not data:  # which the check of the file reports
        return
    try:
        header = read_frame_header(
            bytes(data), address=section.address, byte_order=image.byte_order, address_size=image.address_size
        )
    except DwarfGpuError as error:
        yield _unreadable(error)
        return
    if header is None:
        if dw.DW_EH_PE_omit not in data[2:4]:
            message = f"the encoding {data[3]:#x} has no fixed size, so that the table cannot be searched"
            yield Problem(RULES["header-encoding"], message, EH_FRAME_HDR, 3)
        return
    indirect = next((at for at in (1, 2, 3) if data[at] != dw.DW_EH_PE_omit and data[at] & dw.DW_EH_PE_indirect), None)
    if indirect is not None:
        message = f"the encoding {data[indirect]:#x} is of the address of a number, not of a number"
        yield Problem(RULES["header-encoding"], message, EH_FRAME_HDR, indirect)
        return
    if header.eh_frame not in (None, eh_frame):
        message = f"the header is for a section at {header.eh_frame:#x}, .eh_frame is at {eh_frame:#x}"
        yield Problem(RULES["header-section"], message, EH_FRAME_HDR, 1)
    try:
        yield from _rows(header, eh_frame, locations, broken, live)
    except DwarfGpuError as error:
        yield _unreadable(error)


def _rows(
    header: FrameHeader, eh_frame: int, locations: dict[int, int], broken: Collection[int], live: Collection[int]
) -> Iterator[Problem]:
    """Yield the problems of the rows of the table."""
    size = (header.end - header.table) // max(header.count, 1)
    before = -1
    listed: set[int] = set()
    for index in range(header.count):
        location, entry = header.row(index)
        at = header.table + index * size
        listed.add(location)
        if location < before:
            message = f"the row for {location:#x} follows the one for {before:#x}"
            yield Problem(RULES["header-order"], message, EH_FRAME_HDR, at)
        before = location
        offset = entry - eh_frame
        known = locations.get(offset)
        if known is None:
            if offset not in broken:
                message = f"the row for {location:#x} leads to {entry:#x}, where no FDE begins"
                yield Problem(RULES["header-entry"], message, EH_FRAME_HDR, at)
        elif known != location:
            message = f"the row for {location:#x} leads to the FDE for {known:#x}"
            yield Problem(RULES["header-entry"], message, EH_FRAME_HDR, at)
    for offset in live:
        if locations[offset] not in listed:
            message = f"no row of .eh_frame_hdr is for the entry for {locations[offset]:#x}"
            yield Problem(RULES["header-missing"], message, ".eh_frame", offset)


def _unreadable(error: DwarfGpuError) -> Problem:
    rule = RULES[_OF_KINDS.get(error.kind, "header-truncated")]
    return Problem(rule, error.message, EH_FRAME_HDR, error.where.offset, clause=error.spec)
