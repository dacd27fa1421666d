"""What can be said about an image as a whole: its header, its sections, its notes, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHT_DYNSYM, SHT_SYMTAB
from dwarfgpu.objfile.elf.notes import code_object_version, hsa_notes
from dwarfgpu.objfile.kernels.metadata import target_name

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.notes import HsaNotes, Note
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


@frozen
class ImageInfo:
    """Everything about an image that needs no DWARF."""

    name: str
    path: str | None
    address_size: int
    byte_order: str
    machine: int
    machine_name: str
    osabi: int
    osabi_name: str
    abi_version: int
    type: str
    flags: int
    entry: int
    code_object_version: int | None
    target: str | None
    """The target that the notes name."""
    build_id: str | None
    hsa: HsaNotes | None
    """What notes of code object versions 1 and 2 say."""
    notes: tuple[Note, ...]
    sections: tuple[SectionInfo, ...]
    segments: int
    symbols: int
    missing: tuple[Missing, ...]
    problems: tuple[DwarfGpuError, ...]


def describe(image: Image) -> ImageInfo:
    """Look over an image without reading the content of its sections."""
    is_amdgpu = image.machine == EM_AMDGPU
    notes = image.notes()
    hsa = hsa_notes(image) if is_amdgpu else None
    return ImageInfo(
        image.name,
        image.path,
        image.address_size,
        image.byte_order,
        image.machine,
        image.machine_name,
        image.osabi,
        image.osabi_name,
        image.abi_version,
        image.type_name,
        image.flags,
        image.entry,
        code_object_version(image),
        target_name(image) if is_amdgpu else None,
        image.build_id,
        hsa,
        notes,
        tuple(_section(image, section) for section in image.sections[1:]),
        len(image.segments),
        sum(section.size // image.layout.symbol.size for section in image.sections if section.type == SHT_SYMTAB),
        tuple(_missing(image)),
        (*image.problems, *(hsa.problems if hsa is not None else ())),
    )


def _section(image: Image, section: Section) -> SectionInfo:
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


def _missing(image: Image) -> list[Missing]:
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
