"""Call frame information by address and by the name of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.frames.entries import Fde
from dwarfgpu.program.files.codelookup import named
from dwarfgpu.program.files.codeobject import NotFound

if TYPE_CHECKING:
    from dwarfgpu.cfi.rows import Row
    from dwarfgpu.program.files.codeobject import CodeObject
    from dwarfgpu.program.files.frames import Entry


@frozen
class FrameAt:
    """What an entry says about one address."""

    address: int
    fde: Fde
    row: Row | None
    error: DwarfGpuError | None = None
    """Why there is no row."""


def frames_at(file: CodeObject, address: int) -> list[FrameAt]:
    """The row of every entry for an address; an error if there is no entry."""
    fdes = file.frames.fdes_at(address)
    if not fdes:
        raise nothing_for(file, f"the address {address:#x}")
    found = []
    for fde in fdes:
        try:
            found.append(FrameAt(address, fde, file.frames.row_at(address, fde)))
        except DwarfGpuError as error:
            found.append(FrameAt(address, fde, None, error))
    return found


def fdes_of(file: CodeObject, name: str) -> list[Fde]:
    """The entries for the code of a function; an error if there is none."""
    ranges: dict[tuple[int, int], None] = {}
    for each in named(file, name):
        ranges.update(dict.fromkeys(each.ranges))
        if each.symbol is not None and not each.ranges and each.symbol.section is not None:
            low = each.symbol.address
            ranges[low, low + max(1, each.symbol.size)] = None
    fdes: dict[tuple[str, int], Fde] = {}
    for low, high in ranges:
        fdes.update(((fde.section, fde.offset), fde) for fde in file.frames.fdes_between(low, high))
    if not fdes:
        raise nothing_for(file, name)
    return list(fdes.values())


def nothing_for(file: CodeObject, what: str) -> NotFound:
    """The error where no entry is about something."""
    hint = "no entry is about it, as for code written in assembly" if file.frames.indexes else None
    if hint is None:
        hint = "the file has neither .debug_frame nor .eh_frame: compile it with -g"
    return NotFound("no_unwind_information", f"{file.name}: no unwind information for {what}", hint=hint)


def code_name(file: CodeObject, entry: Entry) -> str:
    """The symbol of the code that an entry is for, as ``<name+0x10>``; empty where no symbol is there."""
    if not isinstance(entry, Fde):
        return ""
    image = file.image
    code = image.code_sections
    if not image.is_linked and len(code) != 1:
        return ""  # every section begins at 0: which one is meant only the relocations knew
    symbol = image.symbol_at(entry.low, None if image.is_linked else code[0])
    if symbol is None or not symbol.name:
        return ""
    offset = entry.low - symbol.value
    return f"<{symbol.name}+{offset:#x}>" if offset else f"<{symbol.name}>"
