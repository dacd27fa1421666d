"""Kernels of a code object: their descriptors, what the metadata says about them, and where their code is.

AMDGPU usage, "Kernel Descriptor": 64 bytes at the symbol ``<name>.kd`` since code object V3. Before, 256 bytes of
``amd_kernel_code_t`` (AMDGPU Compute ABI 0.40, "AMD Kernel Code Object") at the kernel's own symbol, with the code
after them; the CLRX assembler writes the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, malformed
from dwarfgpu.objfile.elf.symbols import STT_AMDGPU_HSA_KERNEL, Symbol
from dwarfgpu.objfile.kernels import descriptor_fields as bits
from dwarfgpu.objfile.kernels.metadata import KernelMetadata, Metadata, read_metadata, target_name
from dwarfgpu.objfile.place import parse_target

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image

DESCRIPTOR = struct.Struct("<IIII q 20s III HH I")
DESCRIPTOR_SIZE = 64
CODE = struct.Struct("<II HHHH qqQQ III III Q I HHHHHH HH BBBB I 12s Q 128s")
CODE_SIZE = 256
ENTRY = struct.Struct("<q")
ENTRY_OFFSET = 16
"""Where both have ``kernel_code_entry_byte_offset``."""
ENTRY_ALIGNMENT = 256
MAX_MINOR = 2
POWER_OF_16 = 4
MAX_WAVE_LOG2 = 8
MAX_USER_SGPRS = 16

# The user SGPRs in their order, "Initial Kernel Execution State": the field that asks for them, and how many they are
USER_SGPRS = (
    ("ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 4),
    ("ENABLE_SGPR_DISPATCH_PTR", 2),
    ("ENABLE_SGPR_QUEUE_PTR", 2),
    ("ENABLE_SGPR_KERNARG_SEGMENT_PTR", 2),
    ("ENABLE_SGPR_DISPATCH_ID", 2),
    ("ENABLE_SGPR_FLAT_SCRATCH_INIT", 2),
    ("ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", 1),
    ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_X", 1),
    ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y", 1),
    ("ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z", 1),
)


@frozen
class UserSgprs:
    """Consecutive user SGPRs that hold one thing when a wave starts."""

    name: str
    """``PRIVATE_SEGMENT_BUFFER`` and so on; ``KERNARG_PRELOAD`` for preloaded arguments."""
    first: int
    count: int


class _BitFields:
    """The base of both ways to describe a kernel: bit fields, and the registers that they ask for."""

    __slots__ = ()

    if TYPE_CHECKING:
        fields: tuple[bits.Field, ...]
        generation: int | None
        broken_rules: tuple[bits.Violation, ...]

        @property
        def wavefront_size(self) -> int | None: ...

    @property
    def violations(self) -> tuple[str, ...]:
        """What the text forbids, as sentences."""
        return tuple(violation.message for violation in self.broken_rules)

    def field(self, name: str) -> int | None:
        """Return the value of a bit field, or None if this generation has no such field."""
        return next((field.value for field in self.fields if field.name == name), None)

    @property
    def vgprs(self) -> int | None:
        """The vector registers that are allocated to each lane, with accumulation registers where they share a file."""
        blocks = self.field("GRANULATED_WORKITEM_VGPR_COUNT")
        if self.generation is None or blocks is None:
            return None
        if self.generation == bits.GFX90A:
            block = 8
        elif self.generation < bits.GFX10 or self.wavefront_size == 64:
            block = 4
        else:
            block = 16 if self.generation == bits.GFX125 else 8
        return (blocks + 1) * block

    @property
    def sgprs(self) -> int | None:
        """The scalar registers that are allocated to a wave."""
        blocks = self.field("GRANULATED_WAVEFRONT_SGPR_COUNT")
        if self.generation is None or blocks is None:
            return None
        if self.generation >= bits.GFX10:
            return 128  # "128 SGPRs always allocated"
        return (blocks + 1) * 8 if self.generation <= bits.GFX8 else (blocks // 2 + 1) * 16

    @property
    def user_sgprs(self) -> tuple[UserSgprs, ...]:
        """What the user SGPRs hold when a wave starts: the first 16 that are asked for ("Initial Kernel State")."""
        result = []
        first = 0
        limit = 32 if self.generation == bits.GFX125 else MAX_USER_SGPRS
        preloaded = self.field("KERNARG_PRELOAD_SPEC_LENGTH") or 0
        for name, count in (*USER_SGPRS, ("KERNARG_PRELOAD", preloaded)):
            if count and (name == "KERNARG_PRELOAD" or self.field(name)) and first < limit:
                result.append(UserSgprs(name.removeprefix("ENABLE_SGPR_"), first, min(count, limit - first)))
                first += count
        return tuple(result)

    @property
    def asked_user_sgprs(self) -> int:
        """How many user SGPRs are asked for, which may be more than there are."""
        return sum(count for name, count in USER_SGPRS if self.field(name))


@frozen
class KernelDescriptor(_BitFields):
    """A kernel descriptor of 64 bytes. ``fields`` has every bit of it; None is what only a processor would tell."""

    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    """0 also where the compiler does not write it: it was reserved until LLVM 11."""
    kernel_code_entry_byte_offset: int
    compute_pgm_rsrc1: int
    compute_pgm_rsrc2: int
    compute_pgm_rsrc3: int
    kernel_code_properties: int
    kernarg_preload: int
    generation: int | None
    fields: tuple[bits.Field, ...]
    broken_rules: tuple[bits.Violation, ...]
    """What must be 0 and is not."""

    @property
    def wavefront_size(self) -> int | None:
        """The lanes of a wave."""
        if self.generation is None:
            return None
        return 32 if self.generation >= bits.GFX10 and self.field("ENABLE_WAVEFRONT_SIZE32") else 64

    @property
    def accum_offset(self) -> int | None:
        """The first vector register that is an accumulation register (``ACCUM_OFFSET``, in units of 4)."""
        value = self.field("ACCUM_OFFSET")
        return None if value is None else (value + 1) * 4


@frozen
class KernelCode(_BitFields):
    """An ``amd_kernel_code_t`` of 256 bytes. ``fields`` has every bit of its three words of flags."""

    amd_code_version_major: int
    amd_code_version_minor: int
    amd_machine_kind: int
    amd_machine_version_major: int
    amd_machine_version_minor: int
    amd_machine_version_stepping: int
    kernel_code_entry_byte_offset: int
    kernel_code_prefetch_byte_offset: int
    kernel_code_prefetch_byte_size: int
    max_scratch_backing_memory_byte_size: int
    compute_pgm_rsrc1: int
    compute_pgm_rsrc2: int
    kernel_code_properties: int
    workitem_private_segment_byte_size: int
    workgroup_group_segment_byte_size: int
    gds_segment_byte_size: int
    kernarg_segment_byte_size: int
    workgroup_fbarrier_count: int
    wavefront_sgpr_count: int
    workitem_vgpr_count: int
    reserved_vgpr_first: int
    reserved_vgpr_count: int
    reserved_sgpr_first: int
    reserved_sgpr_count: int
    debug_wavefront_private_segment_offset_sgpr: int
    """The SGPR with the scratch offset of the wave; 0xffff: not used or not known."""
    debug_private_segment_buffer_sgpr: int
    """The first of 4 SGPRs with the scratch buffer descriptor; 0xffff: not used or not known."""
    kernarg_segment_alignment: int
    """The alignments and the wavefront size are exponents of two."""
    group_segment_alignment: int
    private_segment_alignment: int
    wavefront_size_log2: int
    call_convention: int
    runtime_loader_kernel_symbol: int
    control_directives: bytes
    generation: int | None
    fields: tuple[bits.Field, ...]
    broken_rules: tuple[bits.Violation, ...]

    @property
    def processor(self) -> str:
        """The processor's name, such as gfx801."""
        major, minor = self.amd_machine_version_major, self.amd_machine_version_minor
        return f"gfx{major}{minor:x}{self.amd_machine_version_stepping:x}"

    @property
    def wavefront_size(self) -> int | None:
        """The lanes of a wave; None if the exponent is not one of a wave."""
        return 1 << self.wavefront_size_log2 if self.wavefront_size_log2 <= 8 else None


@frozen
class Kernel:
    """One kernel, from the three places of the file that describe it."""

    name: str
    symbol: Symbol | None
    """The symbol of the descriptor or of the ``amd_kernel_code_t``."""
    descriptor: KernelDescriptor | None
    code: KernelCode | None
    metadata: KernelMetadata | None
    entry: int | None
    """Where its first instruction is: an address, in a relocatable file an offset in the section of its code."""
    size: int | None
    """The bytes of its code, if a symbol tells."""

    @property
    def demangled(self) -> str:
        """The name as C++ has it, with its parameters, if it is a mangled one."""
        from dwarfgpu.demangle import demangled

        return demangled(self.name)

    @property
    def source_name(self) -> str:
        """The name in the source, without parameters: what messages call it."""
        from dwarfgpu.demangle import without_parameters

        return without_parameters(self.demangled)

    @property
    def execution_mode(self) -> str | None:
        """``cu``, ``wgp`` or ``tgsplit`` (AMDGPU usage, WGP_MODE and TG_SPLIT); None without a descriptor."""
        if self.descriptor is None:
            return None
        wgp, split = self.descriptor.field("WGP_MODE"), self.descriptor.field("TG_SPLIT")
        if wgp is not None:
            return "wgp" if wgp else "cu"
        return "tgsplit" if split else "cu"


@frozen
class Kernels:
    """The kernels of a code object, and what is wrong with others."""

    kernels: tuple[Kernel, ...]
    """The kernels in the order of the file."""
    metadata: Metadata | None
    processor: str | None
    problems: tuple[DwarfGpuError, ...]
    given: tuple[tuple[str, str | None], ...] = ()
    """The names and types that `with_arguments` has given to the first arguments of each."""

    def with_arguments(self, given: Sequence[tuple[str, str | None]]) -> Kernels:
        """Return them with names and types for the first arguments of each, which a compiler has left out."""

        def named(kernel: Kernel) -> Kernel:
            if kernel.metadata is None:
                return kernel
            known = kernel.metadata.args
            told = (evolve(each, name=name, type_name=kind) for each, (name, kind) in zip(known, given, strict=False))
            args = (*told, *known[len(given) :])
            return evolve(kernel, metadata=evolve(kernel.metadata, args=args))

        return evolve(self, kernels=(*map(named, self.kernels),), given=(*given,))

    def named(self, name: str) -> list[Kernel]:
        """Return the kernels with a name: their own, that of a symbol, or one of those in the metadata."""
        return [
            kernel
            for kernel in self.kernels
            if name == kernel.name
            or (kernel.symbol is not None and name == kernel.symbol.name)
            or (kernel.metadata is not None and name in (kernel.metadata.name, kernel.metadata.symbol))
        ]


def no_kernels(image: Image, *problems: DwarfGpuError) -> Kernels:
    """Return the kernels of a file that has none, or whose kernels cannot be read."""
    return Kernels((), None, None, problems)


def read_kernels(image: Image, processor: str | None = None) -> Kernels:
    """Return all kernels of a code object.

    ``processor`` says how to read bit fields that differ between generations; without it the notes are read, which
    know it in every code object version but 3.
    """
    problems: list[DwarfGpuError] = []
    if image.machine != EM_AMDGPU:
        return no_kernels(image)
    metadata = read_metadata(image)
    if metadata is not None:
        problems += metadata.problems
    if processor is None:
        name = metadata.target if metadata is not None and metadata.target else target_name(image)
        processor = parse_target(name).processor or None if name else None
    generation = bits.generation_of(processor) if processor else None
    known = () if metadata is None else metadata.kernels
    by_symbol = {described.symbol: described for described in known if described.symbol}
    symbols = _kernel_symbols(image, set(by_symbol))
    kernels: list[Kernel] = []
    for name, symbol in symbols.items():
        found = next((by_symbol[key] for key in (f"{name}.kd", f"{name}@kd", name) if key in by_symbol), None)
        kernels.append(_kernel(image, name, symbol, found, generation))
        try:
            problems += _misaligned(image, name, symbol)
        except DwarfGpuError as error:
            problems.append(error)
    for symbol_name, described in by_symbol.items():
        name = _kernel_name(symbol_name)
        if name not in symbols:
            message = f"the kernel {name} has metadata, but there is no symbol {symbol_name}"
            problems.append(malformed(image.name, "no_descriptor", message, spec='AMDGPU usage, "Symbols"'))
            kernels.append(_kernel(image, name, None, described, generation))
    return Kernels(tuple(kernels), metadata, processor, tuple(problems))


def _bytes_of(image: Image, symbol: Symbol) -> bytes:
    is_code = symbol.type_number == STT_AMDGPU_HSA_KERNEL
    return image.symbol_bytes(symbol, CODE_SIZE if is_code else DESCRIPTOR_SIZE)


def _misaligned(image: Image, name: str, symbol: Symbol) -> Iterator[DwarfGpuError]:
    entry = symbol.value + ENTRY.unpack_from(_bytes_of(image, symbol), ENTRY_OFFSET)[0]
    is_descriptor = symbol.type_number != STT_AMDGPU_HSA_KERNEL
    if not entry % ENTRY_ALIGNMENT and not (is_descriptor and symbol.value % DESCRIPTOR_SIZE):
        return
    section, offset = symbol_place(image, symbol)
    spec = 'AMDGPU usage, "Kernel Descriptor"'
    if entry % ENTRY_ALIGNMENT:
        message = f"the code of the kernel {name} at {entry:#x} is not aligned to 256 bytes"
        yield malformed(image.name, "misaligned_entry", message, section=section, offset=offset, spec=spec)
    if is_descriptor and symbol.value % DESCRIPTOR_SIZE:
        message = f"the descriptor {symbol.name} at {symbol.value:#x} is not aligned to 64 bytes"
        yield malformed(image.name, "misaligned_descriptor", message, section=section, offset=offset, spec=spec)


def symbol_place(image: Image, symbol: Symbol) -> tuple[str | None, int]:
    """Return the section of a symbol and the offset in it."""
    section = symbol.section
    if section is None:
        return None, symbol.value
    return section.name, symbol.value - section.symbol_base


def parse_descriptor(data: bytes, generation: int | None) -> KernelDescriptor:
    """Read the 64 bytes of a kernel descriptor."""
    group, private, kernarg, reserved0, offset, reserved1, *flags, reserved3 = DESCRIPTOR.unpack(data)
    rsrc3, rsrc1, rsrc2, properties, preload = flags
    words = dict(zip(bits.WORDS, (rsrc1, rsrc2, rsrc3, properties, preload), strict=True))
    wrong = list(bits.violations("descriptor", words, generation))
    reserved = ((12, reserved0), (24, int.from_bytes(reserved1, "little")), (60, reserved3))
    wrong += [
        bits.Violation("reserved", place, f"reserved bytes at {place} must be 0, found {value:#x}")
        for place, value in reserved
        if value
    ]
    return KernelDescriptor(
        group, private, kernarg, offset, rsrc1, rsrc2, rsrc3, properties, preload,
        generation, bits.decode("descriptor", words, generation), tuple(wrong),
    )  # fmt: skip


def instructions_offset(data: bytes) -> int | None:
    """Return where the instructions behind an ``amd_kernel_code_t`` begin; None if the bytes are not one."""
    if len(data) < CODE_SIZE:
        return None
    major, minor, machine_kind, *_versions, offset = CODE.unpack(data)[:7]
    is_header = (major, machine_kind) == (1, 1) and minor <= 2
    return offset if is_header and offset >= CODE_SIZE and offset % ENTRY_ALIGNMENT == 0 else None


def parse_kernel_code(data: bytes) -> KernelCode:
    """Read the 256 bytes of an ``amd_kernel_code_t``; its generation is that of the machine version in it."""
    *head, reserved, loader_symbol, directives = CODE.unpack(data)
    major, minor, stepping = head[3:6]
    generation = bits.generation_of(f"gfx{major}{minor:x}{stepping:x}")
    words = {bits.RSRC1: head[10], bits.RSRC2: head[11], bits.PROPERTIES: head[12]}
    wrong = list(bits.violations("code", words, generation, bits.MAY_BE_SET))
    if any(reserved):
        message = f"reserved bytes at 108 must be 0, found {int.from_bytes(reserved, 'little'):#x}"
        wrong.append(bits.Violation("reserved", 108, message))
    if loader_symbol:
        message = f"runtime_loader_kernel_symbol must be 0 in a file, found {loader_symbol:#x}"
        wrong.append(bits.Violation("not_zero", 120, message))
    fields = bits.decode("code", words, generation)
    values: list[Any] = [*head, loader_symbol, directives, generation, fields, tuple(wrong)]
    code = KernelCode(*values)
    return evolve(code, broken_rules=(*wrong, *_code_violations(code)))


def _code_violations(code: KernelCode) -> Iterator[bits.Violation]:
    """Yield what an ``amd_kernel_code_t`` must be and is not, beyond bits that must be 0."""
    if code.amd_code_version_major != 1:
        message = f"amd_code_version_major must be 1, found {code.amd_code_version_major}"
        yield bits.Violation("code_version", 0, message)
        return  # another layout
    if code.amd_code_version_minor > MAX_MINOR:
        message = f"amd_code_version_minor must be at most {MAX_MINOR}, found {code.amd_code_version_minor}"
        yield bits.Violation("code_version", 4, message)
    if code.amd_machine_kind != 1:
        yield bits.Violation("code_machine", 8, f"amd_machine_kind must be 1 (AMDGPU), found {code.amd_machine_kind}")
    for kind, offset in (("vgpr", 88), ("sgpr", 92)):
        first, count = getattr(code, f"reserved_{kind}_first"), getattr(code, f"reserved_{kind}_count")
        if first and not count:
            message = f"reserved_{kind}_first must be 0 as reserved_{kind}_count is, found {first}"
            yield bits.Violation("code_registers", offset, message)
    for name, offset in (
        ("debug_wavefront_private_segment_offset_sgpr", 96),
        ("debug_private_segment_buffer_sgpr", 98),
    ):
        register = getattr(code, name)
        if register and not code.field("IS_DEBUG_ENABLED"):
            message = f"{name} must be 0 as IS_DEBUG_ENABLED is, found {register:#x}"
            yield bits.Violation("code_registers", offset, message)
    if code.kernarg_segment_alignment < POWER_OF_16:
        message = f"kernarg_segment_alignment must be at least 4 (16 bytes), found {code.kernarg_segment_alignment}"
        yield bits.Violation("code_alignment", 100, message)
    if code.wavefront_size_log2 > MAX_WAVE_LOG2:
        message = f"wavefront_size must be at most 8 (256 lanes), found {code.wavefront_size_log2}"
        yield bits.Violation("wave_size", 103, message)
    asked, told = code.asked_user_sgprs, code.field("USER_SGPR_COUNT")
    if told is not None and told != min(asked, MAX_USER_SGPRS) and told != asked:
        message = f"USER_SGPR_COUNT must be {asked}, the number that is enabled, found {told}"
        yield bits.Violation("user_sgpr_count", bits.WORD_OFFSETS[bits.RSRC2], message)
    for kind, used in (("sgpr", code.wavefront_sgpr_count), ("vgpr", code.workitem_vgpr_count)):
        allocated = code.sgprs if kind == "sgpr" else code.vgprs
        if allocated is not None and used > allocated and (kind == "vgpr" or (code.generation or 0) < bits.GFX10):
            message = f"COMPUTE_PGM_RSRC1 allocates {allocated} {kind}s, and must match the {used} that are used"
            yield bits.Violation(f"{kind}_count", bits.WORD_OFFSETS[bits.RSRC1], message)


def _kernel_symbols(image: Image, described: set[str]) -> dict[str, Symbol]:
    symbols: dict[str, Symbol] = {}
    for symbol in image.symbols_marked(".kd", STT_AMDGPU_HSA_KERNEL):
        if symbol.section is None:
            continue
        is_descriptor = symbol.name.endswith(".kd") and (symbol.size == DESCRIPTOR_SIZE or symbol.name in described)
        if is_descriptor or symbol.type_number == STT_AMDGPU_HSA_KERNEL:
            symbols.setdefault(_kernel_name(symbol.name), symbol)
    return symbols


def _kernel_name(symbol: str) -> str:
    """Return the name of the kernel that a descriptor's symbol belongs to; the metadata of V2 writes ``name@kd``."""
    return symbol.removesuffix(".kd").removesuffix("@kd")


def _kernel(
    image: Image, name: str, symbol: Symbol | None, described: KernelMetadata | None, generation: int | None
) -> Kernel:
    """Return a kernel; one that cannot be read has a name, and what the metadata says."""
    try:
        data = None if symbol is None else _bytes_of(image, symbol)
    except DwarfGpuError:  # which is a problem of the file
        data = None
    if symbol is None or data is None:
        return Kernel(name, symbol, None, None, described, None, None)
    descriptor = code = None
    if symbol.type_number == STT_AMDGPU_HSA_KERNEL:
        code = parse_kernel_code(data)
        offset = code.kernel_code_entry_byte_offset
        size = symbol.size - offset if 0 < offset < symbol.size else None
    else:
        descriptor = parse_descriptor(data, generation)
        offset = descriptor.kernel_code_entry_byte_offset
        function = image.symbol_named(name)
        size = function.size if function is not None and function.is_defined else None
    # in a relocatable file the relocation of the offset has made the sum an offset in the section of the code
    return Kernel(name, symbol, descriptor, code, described, symbol.value + offset, size)
