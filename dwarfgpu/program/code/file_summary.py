"""What there is to say about a file as a whole: header, DWARF, kernels, sections, and what is missing for what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_UT_partial
from dwarfgpu.encoding import dwarf_format
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import ELFOSABI_AMDGPU_HSA, SHT_SYMTAB
from dwarfgpu.objfile.elf.notes import HsaNotes, code_object_version, hsa_notes
from dwarfgpu.objfile.elf.summary import Missing, SectionInfo, missing_parts, section_info
from dwarfgpu.objfile.kernels.metadata import target_name
from dwarfgpu.objfile.section_source import decode
from dwarfgpu.program.code.code_object import ABI_V2, ABI_V3, CodeObject, TargetOf, has_xnack_v2

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.indexes.lookup import Dwarf
    from dwarfgpu.objfile.info.unit import Unit

__all__ = ["SectionInfo"]

_SETTINGS = ("unsupported", "any", "off", "on")


@frozen
class FlagsSummary:
    """``e_flags`` of a code object: the settings, in words."""

    xnack: str
    sramecc: str
    generic_version: int | None
    """Of code for a generic processor, from code object version 6 on."""


@frozen
class UnitSummary:
    """One unit."""

    section: str
    offset: int
    version: int
    kind: str
    """``compile``, ``type``, ``partial``, ``skeleton``, ``split`` or ``split type``."""
    name: str | None
    producer: str | None
    dialect: str | None
    """How the numbers of its vendor attributes are read."""
    dialect_reason: str | None
    augmentation: str | None
    split_name: str | None
    """Of a skeleton: the file with its entries."""
    error: str | None
    """Why its entries cannot be read."""


@frozen
class DwarfSummary:
    """All units together. The counts are by what they have in common."""

    units: tuple[UnitSummary, ...]
    kinds: dict[str, int]
    versions: dict[int, int]
    formats: dict[str, int]
    address_sizes: dict[int, int]
    producers: dict[str, int]
    dialects: dict[tuple[str, str], int]
    augmentations: dict[str, int]
    missing: tuple[Missing, ...]
    """The files with the entries of skeletons that are not there."""


@frozen
class FileSummary:
    """A file as a whole."""

    name: str
    image: Image
    code_object_version: int | None
    noted_target: str | None
    """The target that the notes name."""
    hsa: HsaNotes | None
    """What notes of code object versions 1 and 2 say."""
    sections: tuple[SectionInfo, ...]
    symbols: int
    target: TargetOf
    wave_sizes: tuple[int, ...]
    """As kernels say."""
    flags: FlagsSummary | None
    kernels: tuple[str, ...]
    dwarf: DwarfSummary | None
    missing: tuple[Missing, ...]
    debug_file: str | None
    """The separate file that debugging information was read from."""
    has_embedded: bool
    """Whether code objects are packed in it."""
    problems: tuple[DwarfGpuError, ...]


def summary(file: CodeObject) -> FileSummary:
    """Look over a file."""
    image = file.image
    hsa = hsa_notes(image) if file.is_amdgpu else None
    sections = tuple(section_info(image, section) for section in image.sections[1:])
    dwarf = _dwarf(file.dwarf) if file.has_dwarf else None
    kernels = tuple(kernel.name for kernel in file.kernels.kernels) if file.is_amdgpu else ()
    target = file.target
    missing = [_with_link(part, file) for part in missing_parts(image) if not _is_elsewhere(part, file)]
    if not sections:  # then nothing can be said about each of them
        consequence = "sections, symbols and debug information cannot be found"
        missing = [Missing("section headers", consequence)]
    missing += () if dwarf is None else dwarf.missing
    if file.is_debug_only:
        consequence = "this file has debug information only: code and kernel descriptors are in the program"
        missing.append(Missing("contents", consequence))
    if file.image.section(".gnu_debugaltlink") is not None:
        missing.append(Missing("supplementary file", "what dwz moved there is not known"))
    noted = hsa.problems if hsa is not None else ()
    problems = {str(error): error for error in (*image.problems, *noted, *file.problems)}
    return FileSummary(
        file.name,
        image,
        code_object_version(image),
        target_name(image) if file.is_amdgpu else None,
        hsa,
        sections,
        sum(section.size // image.layout.symbol.size for section in image.sections if section.type == SHT_SYMTAB),
        target,
        file.wave_sizes if file.is_amdgpu else (),
        _flags(file) if file.is_amdgpu else None,
        kernels,
        dwarf,
        tuple(missing),
        file.debug.name if file.debug is not file else None,
        file.has_embedded,
        tuple(problems.values()),
    )


def _flags(file: CodeObject) -> FlagsSummary:
    """Return the flags in words (AMDGPU usage, "Header"): versions 2 and 3 do not distinguish "any" from "on"."""
    flags, image = file.image.flags, file.image
    abi_version = image.abi_version if image.osabi == ELFOSABI_AMDGPU_HSA else ABI_V3
    if abi_version == ABI_V2:
        xnack = "on or any" if has_xnack_v2(flags) else "off or unsupported"
        is_on = "xnack+" in file.target.target.features  # as the stepping in the note says
        return FlagsSummary("on" if is_on and not has_xnack_v2(flags) else xnack, "not recorded", None)
    if abi_version == ABI_V3:
        xnack, sramecc = ("on or any" if flags & bit else "off or unsupported" for bit in (0x100, 0x200))
        return FlagsSummary(xnack, sramecc, None)
    return FlagsSummary(_SETTINGS[flags >> 8 & 3], _SETTINGS[flags >> 10 & 3], flags >> 24 or None)


# --- DWARF --------------------------------------------------------------------------------------------------------


def _dwarf(dwarf: Dwarf) -> DwarfSummary:
    units = [*dwarf.units, *dwarf.split_units]
    missing: dict[str, Missing] = {}
    infos = tuple(_unit(unit, missing) for unit in units)
    return DwarfSummary(
        infos,
        Counter(info.kind for info in infos),
        Counter(unit.version for unit in units),
        Counter(dwarf_format(unit.offset_size) for unit in units),
        Counter(unit.address_size for unit in units),
        Counter(info.producer for info in infos if info.producer),
        Counter((info.dialect, info.dialect_reason) for info in infos if info.dialect and info.dialect_reason),
        Counter(info.augmentation for info in infos if info.augmentation),
        tuple(missing.values()),
    )


def _unit(unit: Unit, missing: dict[str, Missing]) -> UnitSummary:
    """Return the summary of a unit; for a skeleton, with what its full unit says."""
    kind = kind_of_unit(unit)
    name = producer = augmentation = split_name = error = dialect = reason = None
    try:
        if unit.is_skeleton:
            kind, split_name = "skeleton", unit.split_name
        name, producer = unit.name, unit.producer
        dialect, reason = unit.dialect.name, unit.dialect_reason
        augmentation = unit.augmentation
        if kind == "skeleton":
            full = _full_unit(unit, split_name or "split file", missing)
            name, producer = full.name or name, full.producer or producer
            dialect, reason = full.dialect.name, full.dialect_reason
    except DwarfGpuError as problem:
        error = str(problem)
        unit.dwarf.note(problem)
    return UnitSummary(
        unit.section, unit.offset, unit.version, kind, name, producer, dialect, reason, augmentation, split_name, error
    )


def kind_of_unit(unit: Unit) -> str:
    """Return ``compile``, ``type``, ``partial``, ``split`` or ``split type``, as the header says."""
    header = unit.header
    if unit.is_split:
        return "split type" if header.is_type_unit else "split"
    return "type" if header.is_type_unit else "partial" if header.unit_type == DW_UT_partial else "compile"


def _full_unit(skeleton: Unit, file: str, missing: dict[str, Missing]) -> Unit:
    try:
        return skeleton.dwarf.split_unit(skeleton)
    except MissingContext as error:
        consequence = "the variables and types of its unit are not known"
        missing.setdefault(file, Missing(file, consequence, error.hint))
        return skeleton


# --- Missing parts ------------------------------------------------------------------------------------------------


def _is_elsewhere(missing: Missing, file: CodeObject) -> bool:
    image = file.debug.image
    return image is not file.image and (
        image.section(missing.what) is not None or (missing.what == ".debug_info" and file.has_dwarf)
    )


def _with_link(missing: Missing, file: CodeObject) -> Missing:
    """Return a missing part, with where a stripped file says that its debug information is."""
    section = file.image.section(".gnu_debuglink")
    if section is None or missing.what != ".debug_info":
        return missing
    name = decode(bytes(section.partial()[0]).split(b"\0", 1)[0])
    return evolve(missing, hint=f"it is in the file {name}, as .gnu_debuglink says, which is not here")
