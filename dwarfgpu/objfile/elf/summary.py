"""The sections of an image as they are listed, and what is not in it, without reading the content of a section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHT_DYNSYM, SHT_SYMTAB

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.sections import Section


@frozen
class SectionInfo:
    """One section, without its content."""

    index: int
    name: str
    type: str
    flags: str
    address: int
    offset: int
    size: int
    data_size: int | None
    """The bytes of its content once it is decompressed; None if its header is broken."""
    compression: str | None
    relocated_by: tuple[str, ...]
    """The sections whose relocations apply to it."""
    error: str | None
    """Why its content cannot be read, as far as headers tell."""


@frozen
class Missing:
    """Something that is not in the file, what that means, and what can be done."""

    what: str
    consequence: str
    hint: str | None = None


def section_info(image: Image, section: Section) -> SectionInfo:
    """Return what is known of a section without its content."""
    size: int | None = None
    compression = error = None
    try:
        compression, size = section.compression, section.data_size
        len(section.raw)
    except DwarfGpuError as broken:
        error = str(broken)
    return SectionInfo(
        section.index,
        section.name,
        section.type_name,
        section.flag_letters,
        section.address,
        section.offset,
        section.size,
        size,
        compression,
        tuple(other.name for other in image.relocation_sections(section.index)),
        error,
    )


def missing_parts(image: Image) -> list[Missing]:
    """Return what a debugger would like to find in a file that does not have it."""

    def has(*names: str) -> bool:
        return any(image.section(name) is not None for name in names)

    result = []
    if not has(".debug_info", ".debug_info.dwo"):
        consequence = "there is no debug information: only symbols and addresses are known"
        result.append(Missing(".debug_info", consequence, "compile with -g, and do not strip the file"))
    elif not has(".debug_line", ".debug_line.dwo"):
        result.append(Missing(".debug_line", "addresses have no source lines"))
    if not has(".debug_frame", ".eh_frame"):
        result.append(Missing(".debug_frame", "frames cannot be unwound"))
    if has(".debug_info") and not has(".debug_names", ".gdb_index"):
        consequence = "names are found by reading the units"
        result.append(Missing(".debug_names", consequence, "compile with -gpubnames"))
    types = {section.type for section in image.sections}
    if SHT_SYMTAB not in types:
        known = "only exported symbols are known" if SHT_DYNSYM in types else "no symbols are known"
        result.append(Missing(".symtab", known, "do not strip the file"))
    if image.machine == EM_AMDGPU and not any(note.type_name.endswith("_METADATA") for note in image.notes()):
        result.append(Missing("metadata note", "the arguments of kernels are not known"))
    if not image.is_linked:
        consequence = "the file is not linked: an address is an offset in its section"
        if image.are_addresses_lost:
            consequence = "sections of code have the same addresses, so an address means nothing"
        result.append(Missing("addresses", consequence))
    if image.are_sections_placed:
        placed = [f"{section.name} at {section.address:#x}" for section in image.sections if section.moved]
        more = f" and {len(placed) - 3} more" if len(placed) > 3 else ""
        consequence = f"the file gives sections of code the same ones; they are read with {', '.join(placed[:3])}{more}"
        result.append(Missing("addresses", consequence))
    return result
