"""A code object or any other ELF file as a user sees it: its target, kernels, units and sections, joined.

Every part is read when it is asked for and by itself. What is broken in one is among the `problems`, and hides none of
the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from dwarfgpu.compilers import code_of, is_source
from dwarfgpu.errors import DwarfGpuError, MissingContext, NotFound, UsageError, noting
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import ELFOSABI_AMDGPU_HSA, EM_AMDGPU, ET_CORE, ET_REL, SHT_NOBITS, SHT_SYMTAB
from dwarfgpu.objfile.elf.image import BYTES, Image
from dwarfgpu.objfile.opening import open_container, open_image, open_stream
from dwarfgpu.objfile.place import parse_place
from dwarfgpu.objfile.section_source import ImageSections

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import TrapTable
    from dwarfgpu.objfile.containers.bundle import ContainerEntry as ContainerEntry  # noqa: PLC0414 (re-exported, for types alone)
    from dwarfgpu.objfile.elf.symbols import Symbol
    from dwarfgpu.objfile.indexes.lookup import Dwarf
    from dwarfgpu.objfile.info.split import SplitFile
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.kernels.kernel import Kernel as Kernel  # noqa: PLC0414
    from dwarfgpu.objfile.kernels.kernel import Kernels
    from dwarfgpu.objfile.line_table import LineTable
    from dwarfgpu.program.code.frame_rows import Frames
    from dwarfgpu.program.code.kernel_parameters import KernelParameter
    from dwarfgpu.targets.target import Target

ABI_V2, ABI_V3 = 0, 1
_WITH_HEADER = {"FUNC", "AMDGPU_HSA_KERNEL"}
"""The types of symbols that can begin with an ``amd_kernel_code_t``."""
EMBEDDED = (".hip_fatbin", ".llvm.offloading")
"""The sections of host programs that hold code objects."""


# --- The target ---------------------------------------------------------------------------------------------------


@frozen
class TargetOf:
    """Which target a file is for, and how that is known."""

    target: Target
    reason: str
    is_known: bool = True
    """False where a generic target is used because there is no description of the real one."""

    @property
    def target_id(self) -> str:
        """Processor and fixed features, as in ``gfx90a:sramecc+:xnack-``; for other targets the target's name."""
        return target_id(self.target)


def target_id(target: Target) -> str:
    """Return the target ID of an AMDGPU target; the name of any other."""
    return ":".join((target.processor, *target.features))


def find_target(image: Image, wave_size: int | None = None) -> TargetOf:
    """Return the target of an image; ``wave_size`` is what its kernels say, if they agree.

    The header tells it in every code object version but 1 and 2, which name it in a note.
    """
    from dwarfgpu.targets.resolve import LAST_R600_MACH, resolve, resolve_elf

    if image.machine != EM_AMDGPU:
        try:
            return TargetOf(resolve_elf(image.machine, image.flags), "the ELF header says so")
        except UsageError as error:
            generic = resolve("generic", byte_order=image.byte_order, address_size=image.address_size)
            return TargetOf(generic, error.message, is_known=False)
    is_v2 = image.osabi == ELFOSABI_AMDGPU_HSA and image.abi_version == ABI_V2
    if is_v2:
        noted = _noted_target(image)
        if noted is not None:
            return noted
    # LLVM writes the flags of other systems than HSA, and of version 2, in the form of code object version 3
    abi_version = image.abi_version if image.osabi == ELFOSABI_AMDGPU_HSA and not is_v2 else ABI_V3
    reason = "the ELF header says so"
    if is_v2 and image.flags <= LAST_R600_MACH:  # the flags that version 2 has, without a processor
        abi_version = ABI_V2
    for wave64 in (None if wave_size is None else wave_size == 64, None):
        try:
            return TargetOf(resolve_elf(image.machine, image.flags, wave64, abi_version=abi_version), reason)
        except UsageError as error:
            reason = error.message
    noted = _noted_target(image)
    if noted is not None:
        return noted
    generic = resolve("generic", byte_order=image.byte_order, address_size=image.address_size)
    return TargetOf(generic, reason, is_known=False)


def _has_one_wave_size(choice: TargetOf) -> bool:
    """Return whether all waves of the processor have the same number of lanes, whatever the kernels say."""
    from dwarfgpu.targets.amdgpu.processors import processor_named

    processor = processor_named(target_id(choice.target).partition(":")[0]) if choice.is_known else None
    return processor is not None and len(processor.wave_sizes) == 1


def has_xnack_v2(flags: int) -> bool:
    """Return whether the flags of code object version 2 ask for xnack (EF_AMDGPU_FEATURE_XNACK_V2).

    Tools that write a processor there, as the text does not say, write the bits of version 3.
    """
    return flags == 1 or bool(flags & 0x100)


def _noted_target(image: Image) -> TargetOf | None:
    from dwarfgpu.objfile.kernels.metadata import target_names
    from dwarfgpu.targets.resolve import resolve_note

    has_xnack = image.abi_version == ABI_V2 and has_xnack_v2(image.flags)
    for name in target_names(image):
        for candidate in (f"{name}:xnack+", name) if has_xnack and "xnack" not in name else (name,):
            try:
                return TargetOf(resolve_note(candidate), "a note says so")
            except UsageError:
                pass
    return None


# --- What a file is opened with -----------------------------------------------------------------------------------


@frozen
class Policy:
    """Which repairs are applied: those that the shape and the code around ask for, or named ones, all, or none."""

    auto: bool = True
    names: tuple[str, ...] = ()


OFF = Policy(auto=False)
AUTO = Policy()


# --- The file -----------------------------------------------------------------------------------------------------


class CodeObject:
    """One ELF file and all its parts. ``attributes`` names the dialect of LLVM's attributes, if that is known."""

    def __init__(self, image: Image, attributes: str | None = None, name: str | None = None) -> None:
        self.image = image
        self.name = image.name if name is None else name
        """What messages call it: of a source that was compiled the name of that."""
        self.sections = ImageSections(image)
        self.line_tables: dict[Unit, LineTable] = {}
        """Those that have been asked for."""
        self.shared_line_tables: dict[Any, LineTable] = {}
        """The line tables by their offsets."""
        self.parameters: dict[int, tuple[KernelParameter, ...] | None] = {}
        """The parameters of kernels that have been asked for, by the entry (`kernel_parameters.DescribedKernel`)."""
        self.buffers: tuple[Any, ...] = ()
        """Those of a kernel of Gluon in shared memory, which only Triton knows: each a `SharedTensor`."""
        self.attributes = attributes
        """How the numbers of attributes are read: a dialect; None is by producer."""
        self._split: list[CodeObject] = []
        self.debug_path: str | None = None
        """The path of the separate file with its debugging information; None when it must be searched for."""
        self._problems: list[DwarfGpuError] = []

    def __repr__(self) -> str:
        return f"CodeObject({self.name!r})"

    @property
    def is_amdgpu(self) -> bool:
        return self.image.machine == EM_AMDGPU

    @cached_property
    def placed(self) -> CodeObject:
        """The file itself; of an object with several sections of code one in which each has addresses of its own."""
        image = self.image
        if image.type != ET_REL or len(image.code_sections) < 2:
            return self
        placed = Image(image.data, name=image.name, path=image.path, places_code=True)
        return CodeObject(placed, self.attributes, self.name)

    @cached_property
    def traps(self) -> TrapTable:
        """What the numbers of ``s_trap`` mean in its code."""
        from dwarfgpu.machines.protocol import traps_of
        from dwarfgpu.targets.amdgpu.processors import processor_named

        processor = processor_named(self.target.target.processor)
        is_hsa = processor is not None and self.image.osabi == ELFOSABI_AMDGPU_HSA
        return traps_of(self.image.abi_version + 2 if is_hsa else None, 0 if processor is None else processor.major)

    @cached_property
    def kernels(self) -> Kernels:
        """The kernels, with what their descriptors and the metadata say."""
        from dwarfgpu.objfile.kernels.kernel import no_kernels, read_kernels

        try:
            known = find_target(self.image)
            is_known = self.is_amdgpu and known.is_known
            kernels = read_kernels(self.image, target_id(known.target).partition(":")[0] if is_known else None)
        except DwarfGpuError as error:
            return no_kernels(self.image, error)
        # that descriptors are not in a file of debugging information is no defect of it
        return evolve(kernels, problems=()) if self.is_debug_only else kernels

    def kernels_named(self, names: list[str]) -> tuple[Kernel, ...]:
        """Return the kernels with the given names, each a symbol or a name in the source."""
        kernels: list[Kernel] = []
        for name in names:
            same = self.kernels.named(name) or self._kernels_called(name)
            if not same:
                raise self._no_kernel(name)
            kernels += [kernel for kernel in same if kernel not in kernels]
        return tuple(kernels)

    def _kernels_called(self, name: str) -> list[Kernel]:
        """Return the kernels with a name of the source: whole, or without parameters, scopes or template arguments.

        Blanks between template arguments do not count.
        """
        from dwarfgpu.demangle import demangled, short_names

        packed = "".join(name.split())

        def called(names: Callable[[str], Iterable[str]]) -> list[Kernel]:
            known = self.kernels.kernels
            return [each for each in known if packed in ("".join(name.split()) for name in names(each.name))]

        return called(lambda own: [demangled(own)]) or called(short_names)

    def kernel_names(self) -> list[str]:
        """Return what users call each kernel: its name without parameters, or its symbol where several have that."""
        from dwarfgpu.demangle import demangled, without_parameters

        symbols = [kernel.name for kernel in self.kernels.kernels]
        names = [without_parameters(demangled(symbol)) for symbol in symbols]
        return [symbol if names.count(name) > 1 else name for symbol, name in zip(symbols, names, strict=True)]

    def _no_kernel(self, name: str) -> NotFound:
        check_has_kernels(self)
        from difflib import get_close_matches

        from dwarfgpu.demangle import short_names

        known = self.kernel_names()
        named = zip(known, self.kernels.kernels, strict=True)
        meant = {short: own for own, kernel in named for short in short_names(kernel.name)} | {
            own: own for own in known
        }
        close = list(dict.fromkeys(meant[each] for each in get_close_matches(name, meant, n=3)))
        more = f" and {len(known) - 12} more" if len(known) > 12 else ""
        hint = (
            f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(known[:12]) or 'no kernels'}{more}"
        )
        return NotFound("no_kernel", f"{self.name} has no kernel {name!r}", hint=hint)

    def behind_header(self, address: int) -> int:
        """Return an address of code; where an ``amd_kernel_code_t`` begins, that of the instructions it describes."""
        if not self.is_amdgpu or self.image.abi_version:
            return address
        from dwarfgpu.objfile.kernels.kernel import CODE_SIZE, instructions_offset

        symbol = self.symbol_image.symbol_at(address)
        if symbol is None or not 0 <= address - symbol.value < symbol.size or symbol.type not in _WITH_HEADER:
            return address
        try:
            offset = instructions_offset(self.image.symbol_bytes(symbol, min(symbol.size, CODE_SIZE)))
        except DwarfGpuError:
            return address
        if offset is None or not address - symbol.value < offset < symbol.size:
            return address
        return symbol.value + offset

    def offset_in(self, symbol: Symbol, address: int) -> int:
        """Return the offset of an address from the first instruction of a symbol, or from its start if before that."""
        start = self.behind_header(symbol.value)
        return address - (start if start <= address else symbol.value)

    @property
    def wave_sizes(self) -> tuple[int, ...]:
        """The lanes of a wave, as kernels say; several when they differ."""
        sizes = set()
        for kernel in self.kernels.kernels:
            for said in (kernel.descriptor, kernel.code, kernel.metadata):
                if said is not None and said.wavefront_size is not None:
                    sizes.add(said.wavefront_size)
                    break
        return tuple(sorted(sizes))

    @cached_property
    def target(self) -> TargetOf:
        """The target, with the wave size of the kernels if they have one in common."""
        target = find_target(self.image)
        if self.is_amdgpu and not _has_one_wave_size(target):
            sizes = self.wave_sizes
            if len(sizes) == 1:
                return find_target(self.image, sizes[0])
        return target

    @cached_property
    def debug(self) -> CodeObject:
        """The file with its debugging information: itself, or the separate one that belongs to it."""
        known = None if self.debug_path is None else self._opened(self.debug_path)
        if known is not None and _has_units(known.image):
            return known
        has_none = not _has_units(self.image) and self.image.path is not None
        return (self._separate(self.image.path or "") if has_none else None) or self

    @property
    def symbol_image(self) -> Image:
        """The file with its symbols: a stripped one has at most those that it exports."""
        has_own = any(section.type == SHT_SYMTAB for section in self.image.sections)
        return self.image if has_own else self.debug.image

    @cached_property
    def dwarf(self) -> Dwarf:
        """The debugging information, with the package and the split files that lie beside the file."""
        from dwarfgpu.objfile.indexes.lookup import Dwarf

        return Dwarf(
            self.debug.sections,
            attributes=self.attributes,
            open_split=self._open_split,
            package=self._package(),
            machine=self.image.machine,
        )

    @cached_property
    def frames(self) -> Frames:
        """The call frame information."""
        from dwarfgpu.program.code.frame_rows import Frames

        return Frames(self)

    @property
    def has_dwarf(self) -> bool:
        """Whether there are units to read."""
        return _has_units(self.debug.image)

    @property
    def is_debug_only(self) -> bool:
        """Whether the content of the program is in another file, as ``objcopy --only-keep-debug`` leaves it."""
        text = self.image.section(".text")
        return text is not None and text.type == SHT_NOBITS and text.size > 0

    @property
    def has_embedded(self) -> bool:
        """Whether it is a host program that holds code objects."""
        names = [section.name for section in self.image.sections]
        return any(name in EMBEDDED or name.startswith("__CLANG_OFFLOAD_BUNDLE__") for name in names)

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """What has been found broken so far."""
        errors = [*self.image.problems, *self.sections.problems, *self._problems]
        read = self.__dict__  # what was asked for: the rest is not read for that
        for part in (*map(read.get, ("kernels", "dwarf", "frames")), *self._split, read.get("debug")):
            errors += () if part in (None, self) else part.problems
        unique: dict[str, DwarfGpuError] = {}
        for error in errors:
            unique.setdefault(str(error), error)
        return tuple(unique.values())

    def read_as(self, attributes: str | None) -> CodeObject:
        """Return the same file, of which nothing has been read yet, with another numbering of attributes."""
        file = CodeObject(self.image, attributes, self.name)
        file.debug_path = self.debug_path
        return file

    # --- Files beside it ------------------------------------------------------------------------------------------

    def _separate(self, path: str) -> CodeObject | None:
        from dwarfgpu.objfile.elf.notes import debug_link

        link = debug_link(self.image)
        for place in () if link is None else link.paths(path):
            other = self._opened(place)
            if other is None or not _has_units(other.image):
                continue
            if link is not None and link.is_for(other.image):
                return other
            message = f"{place} is not the debug file of {self.name}: build ID or checksum differ"
            self._problems.append(MissingContext("debug_file", message))
        return None

    def _package(self) -> ImageSections | None:
        """Return the package of the program: ``FILE.dwp``, or the same name with another suffix."""
        path = self.image.path
        if path is None or self.debug.image.section(".debug_info") is None:
            return None
        return next(filter(None, map(self._beside, _packages(path))), None)

    def _open_split(self, wanted: SplitFile) -> ImageSections | None:
        """Open the file that a skeleton names: where it was compiled, or beside this file."""
        return next(filter(None, map(self._beside, self._split_places(wanted.name, wanted.directory))), None)

    def _split_places(self, name: str, directory: str | None) -> Iterable[str]:
        here = os.path.dirname(self.image.path or "")
        places = (os.path.join(directory or "", name), os.path.join(here, name))
        return dict.fromkeys((*places, os.path.join(here, os.path.basename(name))))

    def split_files(self) -> tuple[str, ...]:
        """Return the files with the entries of skeleton units: the package, or one for each, even if it is missing."""
        inside, places = set[int | None](), list[list[str]]()
        for unit in (*self.dwarf.split_units, *self.dwarf.units):
            with noting(self._problems.append):
                if unit.is_split:
                    inside.add(unit.dwo_id)
                elif unit.is_skeleton and unit.dwo_id not in inside:
                    places.append([*self._split_places(unit.split_name or "", unit.directory)])
        package = next(filter(os.path.isfile, _packages(self.image.path or "")), None)
        if places and package is not None:
            return (package,)
        return tuple(next(filter(os.path.isfile, each), each[0]) for each in places)

    def _beside(self, path: str) -> ImageSections | None:
        other = self._opened(path)
        if other is None:
            return None
        self._split.append(other)
        return other.sections

    def _opened(self, path: str) -> CodeObject | None:
        with noting(self._problems.append):
            if "\0" not in path and os.path.isfile(path):
                return CodeObject(open_image(path), self.attributes)
        return None


def _packages(path: str) -> tuple[str, str]:
    return f"{path}.dwp", f"{os.path.splitext(path)[0]}.dwp"


def _has_units(image: Image) -> bool:
    names = (".debug_info", ".debug_types", ".debug_info.dwo")
    return any(image.section(name) is not None for name in names)


# --- Opening ------------------------------------------------------------------------------------------------------


def target_name_of(image: Image) -> str | None:
    """Return the target ID of a code object that was not named."""
    known = find_target(image)
    return known.target_id if known.is_known and image.machine == EM_AMDGPU else None


def opened(
    source: str | bytes | IO[bytes],
    attributes: str | None = None,
    select: str | None = None,
    *,
    name: str | None = None,
) -> CodeObject:
    """Open a FILE, FILE@gfx90a, FILE@2, a code object URI, or an open file with ``select`` for what follows the @.

    A source is compiled. ``name`` is what messages call the file, if not by its own name.
    """
    if not isinstance(source, (str, bytes)):
        return CodeObject(open_stream(source, target_of=target_name_of), attributes)
    if isinstance(source, str) and is_source(source):
        source, name = code_of(source), name or source
    return CodeObject(open_image(source, select, name=name or BYTES, target_of=target_name_of), attributes, name)


def runnable(file: CodeObject) -> CodeObject:
    """Return a code object that can be loaded: a file that is not linked is, if all symbols are in it."""
    if file.image.type != ET_REL or file.image.machine != EM_AMDGPU:
        return file
    from dwarfgpu.objfile.elf.linking import linked

    return CodeObject(Image(linked(file.image), name=file.image.name), file.attributes, file.name)


def check_attributes(name: str) -> None:
    """Refuse a dialect of attributes that does not exist."""
    from dwarfgpu.objfile.info.forms import dialect

    dialect(name)


def check_has_kernels(file: CodeObject) -> None:
    """Refuse a file that can have no kernels."""
    if not file.is_amdgpu or file.image.type == ET_CORE:
        hint = "`dwarfgpu ls` lists the code objects in it: name one, as in FILE@gfx90a" if file.has_embedded else None
        kind = f"for the machine {file.image.machine_name}"
        if file.image.type == ET_CORE:
            kind, hint = "a core file", f"`dwarfgpu fault {file.name}` says why its waves have crashed"
        raise UsageError(f"{file.name} is {kind}: it is not a code object with kernels", kind="no_kernels", hint=hint)


@frozen
class CodeObjectContents:
    """What a file holds, and what is wrong with the rest."""

    name: str
    entries: tuple[ContainerEntry, ...]
    problems: tuple[DwarfGpuError, ...]


def list_contents(source: str | bytes, select: str | None = None, *, name: str = BYTES) -> CodeObjectContents:
    """Return the images of a file: itself, if it is an ELF file, and those packed in it; or only the named one."""
    if isinstance(source, str) and is_source(source):
        return evolve(list_contents(code_of(source), select), name=source)
    container = open_container(source, name=name, target_of=target_name_of)
    if isinstance(source, str):
        select = parse_place(source).select
    chosen = container.entries if select is None else (container.select(select),)
    entries = tuple(_with_target(entry, container.image) for entry in chosen)
    return CodeObjectContents(container.name, entries, tuple(container.problems))


def _with_target(entry: ContainerEntry, image: Callable[[ContainerEntry], Image]) -> ContainerEntry:
    """Return the entry of the file itself with its target, which no container names."""
    if entry.id or entry.target_id:
        return entry
    try:
        known = find_target(image(entry))
    except DwarfGpuError:
        return entry
    return evolve(entry, target_id=known.target_id) if known.is_known else entry
