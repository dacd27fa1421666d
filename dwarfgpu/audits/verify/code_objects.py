"""The checks of code objects: kernel descriptors, ``amd_kernel_code_t``, metadata, and whether they agree.

Most problems are what the reader of kernels collects. Here each gets its rule, and what only the whole file tells is
added: whether the descriptor, the metadata, the symbols and the ELF header say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.audits.verify.findings import ERROR, WARNING, Problem, rules
from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.immutable import evolve
from dwarfgpu.objfile.elf.header import ELFOSABI_AMDGPU_HSA, ET_CORE, ET_EXEC, PF_X, PT_LOAD
from dwarfgpu.objfile.elf.notes import NT_AMD_HSA_METADATA, NT_AMDGPU_METADATA, hsa_notes
from dwarfgpu.objfile.kernels.descriptor_fields import GFX10, GFX11, GFX125
from dwarfgpu.objfile.kernels.kernel import CODE_SIZE, DESCRIPTOR_SIZE, symbol_place
from dwarfgpu.objfile.place import parse_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.verify.findings import Severity
    from dwarfgpu.objfile.kernels.kernel import Kernel, KernelCode, KernelDescriptor
    from dwarfgpu.objfile.kernels.metadata import KernelArgument, KernelMetadata, Metadata
    from dwarfgpu.program.code.code_object import CodeObject

_ELF = 'AMDGPU usage, "Header"'
_SYMBOLS = 'AMDGPU usage, "Symbols"'
_DESCRIPTOR = 'AMDGPU usage, "Kernel Descriptor"'
_METADATA = 'AMDGPU usage, "Code Object Metadata"'
_KERNEL_MAP = 'AMDGPU usage, "Kernel Metadata Map"'
_ARGUMENT_MAP = 'AMDGPU usage, "Kernel Argument Metadata Map"'
_CODE = 'AMDGPU Compute ABI 0.40, "AMD Kernel Code Object"'
_AGREE = "emit both from the same number"
_LEAVE_ZERO = "leave it 0: the packet processor sets it, or will"

RULES = rules(
    "kernel",
    # --- the file ---
    ("file-type", WARNING, _ELF, "The runtime's loader requires a shared object.", "link with -shared",
     "the file is an ET_EXEC, not an ET_DYN"),
    ("file-entry", ERROR, _ELF, "The entry point of the file is 0.", "choose kernels by their descriptors",
     "e_entry is {entry:#x}"),
    # --- metadata ---
    ("metadata-unreadable", ERROR, _METADATA, "The metadata can be read.", "write one document of MessagePack or YAML"),
    ("metadata-key", ERROR, _METADATA, "Each key that is required is there.", "add the key", "{what} has no {keys}"),
    ("metadata-value", ERROR, _METADATA, "A value is of the type and in the range of its key.", "correct the value",
     ".{key} of {what} is {value}, not a power of 2", ".{key} of {what} has {count} integers, not 3"),
    ("metadata-version", ERROR, _METADATA, "The version of the metadata is that of the code object version.",
     "write 1.0 in V2 and V3, 1.1 in V4, 1.2 in V5 and V6",
     "the metadata has version {written}, that of code object V{version} is {expected}"),
    ("metadata-target", ERROR, _METADATA, "The target ID of the metadata is that of e_flags.", _AGREE,
     "the metadata is for {target}, e_flags say {expected}"),
    ("metadata-printf", ERROR, _METADATA, "A printf is ID:N:S[0]:...:S[N-1]:FormatString.", "correct the string"),
    ("undescribed", ERROR, _METADATA, "A kernel has metadata.", "add the kernel to the metadata",
     "the kernel {kernel} has no metadata"),
    ("without-symbol", ERROR, _KERNEL_MAP, "The symbol that the metadata names is defined.",
     "define the symbol of the descriptor, or correct .symbol"),
    ("duplicate", ERROR, _KERNEL_MAP, "Each kernel of the metadata has a name and a symbol of its own.",
     "keep one of the two", "the metadata has two kernels {kernel}"),
    ("workgroup-size", ERROR, _KERNEL_MAP,
     "The required work-group size is positive, and has no more work-items than the maximum.", "correct the sizes",
     ".max_flat_workgroup_size of {kernel} is {largest}", "{kernel} requires work-groups of {size}",
     "{kernel} requires work-groups of {size}, its maximum is {largest} work-items"),
    # --- arguments ---
    ("argument-kind", ERROR, _ARGUMENT_MAP, "The kind of an argument is in the table.", "correct .value_kind",
     "{what} is of kind {kind!r:.40}"),
    ("argument-value", ERROR, _ARGUMENT_MAP, "A qualifier of an argument is in the table.", "correct the word",
     ".{key} of {what} is {word!r:.40}"),
    ("argument-size", ERROR, _ARGUMENT_MAP, "An argument has the size of its kind.", "correct .size",
     "{what} has {size} bytes, one of kind {kind} has {expected}"),
    ("argument-order", ERROR, _ARGUMENT_MAP, "Arguments ascend, and do not overlap.", "lay out the arguments again",
     "{what} is at {offset}, and the arguments before it end at {end}"),
    ("argument-alignment", ERROR, _ARGUMENT_MAP, "The offset of an argument is a multiple of its alignment.",
     "lay out the arguments again", "{what} is at {offset}, not at a multiple of {align}"),
    ("argument-outside", ERROR, _ARGUMENT_MAP, "An argument is inside the kernarg segment.",
     "correct .kernarg_segment_size", "{what} ends at {end}, the kernarg segment at {size}"),
    ("argument-hidden", ERROR, _ARGUMENT_MAP, "Hidden arguments follow those of the program.",
     "place the hidden arguments last", "{what} follows one of kind {hidden}"),
    # --- descriptors ---
    ("symbol", ERROR, _SYMBOLS, "The symbol of a descriptor is an STT_OBJECT of 64 bytes.",
     "emit .type and .size of the symbol",
     "{kernel}: the symbol {symbol.name} is of type {symbol.type} and has {symbol.size} bytes"),
    ("unreadable", ERROR, _DESCRIPTOR, "The descriptor of a kernel is in the file.", "write all of it"),
    ("alignment", ERROR, _DESCRIPTOR, "A descriptor is aligned to 64 bytes.", "align it with .p2align 6"),
    ("entry-alignment", ERROR, _DESCRIPTOR, "The code of a kernel is aligned to 256 bytes.",
     "align it with .p2align 8"),
    ("entry-outside", ERROR, _DESCRIPTOR, "The entry of a kernel is executable code.",
     "correct KERNEL_CODE_ENTRY_BYTE_OFFSET", "{kernel}: there is no code at the entry {entry:#x}"),
    ("entry-descriptor", ERROR, _DESCRIPTOR, "The entry of a kernel is after its descriptor, or before it.",
     "write the offset of the first instruction", "{kernel}: the entry {entry:#x} is in the {what}"),
    ("workitem-id", ERROR, _DESCRIPTOR, "ENABLE_VGPR_WORKITEM_ID is 0, 1 or 2; 3 is undefined.",
     "write 0 for x, 1 for x and y, 2 for all three", "{kernel}: ENABLE_VGPR_WORKITEM_ID is 3, which is undefined"),
    ("entry-symbol", ERROR, _SYMBOLS, "A kernel has a symbol of type STT_FUNC at its entry.",
     "emit the symbol of the code, or correct KERNEL_CODE_ENTRY_BYTE_OFFSET",
     "{kernel}: there is no symbol {kernel} of the code",
     "{kernel}: the symbol {symbol.name} of the code is of type {symbol.type}",
     "{kernel}: the entry is {entry:#x}, the symbol {symbol.name} is at {symbol.value:#x}"),
    ("reserved", ERROR, _DESCRIPTOR, "Reserved bits are 0.", "leave them 0: a later processor gives them a meaning"),
    ("not-zero", ERROR, _DESCRIPTOR, "A field that must be 0 is 0.", _LEAVE_ZERO),
    ("sgpr-blocks", ERROR, _DESCRIPTOR, "The count of SGPR blocks is 0 since GFX10, where all waves have 128.",
     _LEAVE_ZERO),
    ("user-sgpr-count", ERROR, _DESCRIPTOR, "USER_SGPR_COUNT is the number of user SGPRs that are asked for.",
     "count the enabled user SGPRs again",
     "{kernel}: USER_SGPR_COUNT is {written}, and {asked} user SGPRs are enabled (at most {limit})"),
    ("preload-outside", ERROR, 'AMDGPU usage, "Preloaded Kernel Arguments"',
     "What is preloaded is inside the kernarg segment.", "correct KERNARG_PRELOAD_SPEC_OFFSET and LENGTH",
     "{kernel}: bytes {first} to {end} are preloaded of {size}"),
    ("accum-offset", ERROR, _DESCRIPTOR, "Accumulation registers begin inside the registers that are allocated.",
     "correct ACCUM_OFFSET",
     "{kernel}: the accumulation registers begin at v{first}, and {vgprs} vector registers are allocated"),
    # --- what two places say ---
    ("wave-size", ERROR, _KERNEL_MAP, "The processor has the wave size; descriptor and metadata agree.",
     _AGREE, "{kernel}: waves have {lanes} lanes, those of {processor} have {sizes}",
     "{kernel}: waves have {lanes} lanes, the metadata says {metadata}"),
    ("group-size", ERROR, _KERNEL_MAP, "Descriptor and metadata say the same size of the group segment.", _AGREE,
     "{kernel}: the group segment has {size} bytes, the metadata says {metadata}"),
    ("private-size", ERROR, _KERNEL_MAP, "Descriptor and metadata say the same size of the private segment.", _AGREE,
     "{kernel}: the private segment has {size} bytes, the metadata says {metadata}"),
    ("kernarg-size", ERROR, _KERNEL_MAP, "Descriptor and metadata say the same size of the kernarg segment.", _AGREE,
     "{kernel}: the kernarg segment has {size} bytes, the metadata says {metadata}"),
    ("dynamic-stack", ERROR, _KERNEL_MAP, "Descriptor and metadata agree whether the stack is dynamic.", _AGREE,
     "{kernel}: USES_DYNAMIC_STACK is {written}, the metadata says {metadata}"),
    ("workgroup-mode", ERROR, _KERNEL_MAP, "Descriptor and metadata agree whether waves run in WGP mode.", _AGREE,
     "{kernel}: WGP_MODE is {written}, the metadata says {metadata}"),
    ("vgpr-count", ERROR, _DESCRIPTOR, "As many vector registers are allocated as are used.",
     "set GRANULATED_WORKITEM_VGPR_COUNT to max(0, ceil(used / granularity) - 1)",
     "{kernel}: {count} VGPRs are allocated, the metadata says {metadata}"),
    ("sgpr-count", ERROR, _DESCRIPTOR, "As many scalar registers are allocated as are used.",
     "set GRANULATED_WAVEFRONT_SGPR_COUNT to the blocks of those that are used",
     "{kernel}: {count} SGPRs are allocated, the metadata says {metadata}"),
    # --- amd_kernel_code_t ---
    ("code-version", ERROR, _CODE, "The version of an amd_kernel_code_t is 1.0 to 1.2.", "write 1.2"),
    ("code-machine", ERROR, _CODE, "The machine of an amd_kernel_code_t is AMDGPU.", "write kind 1"),
    ("code-registers", ERROR, _CODE, "Registers are named only if they are reserved, or for the debugger if it is on.",
     "leave the fields 0"),
    ("code-alignment", ERROR, _CODE, "The kernarg segment is aligned to 16 bytes or more.", "write 4 or more"),
)  # fmt: skip

_RULE_OF_KIND = {
    "bad_metadata": "metadata-unreadable",
    "bad_yaml": "metadata-unreadable",
    "too_large": "metadata-unreadable",
    "metadata_key": "metadata-key",
    "metadata_value": "metadata-value",
    "bad_printf": "metadata-printf",
    "no_descriptor": "without-symbol",
    "misaligned_entry": "entry-alignment",
    "misaligned_descriptor": "alignment",
}
"""The rules of what the reader of kernels collects; any other problem is a descriptor that cannot be read."""
SGPR_IDIOM = "LLVM before 20 writes the blocks of the SGPRs that are used"
ENTRY_IDIOM = "lld before 14 writes the address of .text"
VERSIONS = {0: (1, 0), 1: (1, 0), 2: (1, 1), 3: (1, 2), 4: (1, 2)}
"""The versions of the metadata by ``EI_ABIVERSION``: code object V2 to V6."""

# "Kernel Argument Metadata Map" of V3, with the additions of V5: the kinds of arguments and their sizes. None is a size
# that the kind does not tell. In V2 and V3 the runtime's arguments have 8 bytes each.
KINDS: dict[str, int | None] = {
    "by_value": None, "global_buffer": 8, "dynamic_shared_pointer": 4, "sampler": 8, "image": 8, "pipe": 8, "queue": 8,
    "hidden_global_offset_x": 8, "hidden_global_offset_y": 8, "hidden_global_offset_z": 8, "hidden_none": None,
    "hidden_printf_buffer": 8, "hidden_hostcall_buffer": 8, "hidden_default_queue": 8, "hidden_completion_action": 8,
    "hidden_multigrid_sync_arg": 8,
    "hidden_block_count_x": 4, "hidden_block_count_y": 4, "hidden_block_count_z": 4,
    "hidden_group_size_x": 2, "hidden_group_size_y": 2, "hidden_group_size_z": 2,
    "hidden_remainder_x": 2, "hidden_remainder_y": 2, "hidden_remainder_z": 2, "hidden_grid_dims": 2,
    "hidden_heap_v1": 8, "hidden_dynamic_lds_size": 4, "hidden_private_base": 4, "hidden_shared_base": 4,
    "hidden_queue_ptr": 8,
}  # fmt: skip
SPACES = ("private", "global", "constant", "local", "generic", "region")
ACCESSES = ("read_only", "write_only", "read_write", "default")
"""``default`` is what V2 adds."""


class KernelChecks:
    """The checks of the kernels of a file for AMDGPU and HSA."""

    def __init__(self, file: CodeObject) -> None:
        self.file = file
        self._note = _metadata_place(file)

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong with the kernels and with what is said about them."""
        image = self.file.image
        is_hsa = self.file.is_amdgpu and image.osabi == ELFOSABI_AMDGPU_HSA
        if not is_hsa or image.type == ET_CORE or self.file.is_debug_only:
            return
        kernels = self.file.kernels
        if image.type == ET_EXEC:
            yield RULES.problem("file-type")
        if image.entry:
            idiom = ENTRY_IDIOM if any(part.address == image.entry for part in image.code_sections) else None
            yield evolve(RULES.problem("file-entry", entry=image.entry), idiom=idiom)
        for error in kernels.problems:
            yield self._collected(error)
        if kernels.metadata is not None:
            yield from self._metadata(kernels.metadata)
        for kernel in kernels.kernels:
            yield from self._kernel(kernel)

    def _collected(self, error: DwarfGpuError) -> Problem:
        rule = RULES[_RULE_OF_KIND.get(error.kind, "unreadable")]
        severity: Severity | None = None
        if isinstance(error, Unsupported):  # a package is missing, which is no defect of the file
            rule, severity = RULES["metadata-unreadable"], WARNING
        section, offset = error.where.section, error.where.offset
        if section is None and rule.name == RULES["without-symbol"].name:
            section, offset = self._note
        message = error.message.removeprefix(f"{self.file.name}: ")
        return Problem(rule, message, section, offset, clause=error.spec, severity=severity)

    def _problem(self, rule: str, /, **values: object) -> Problem:
        """Return a problem of the metadata."""
        return RULES.problem(rule, *self._note, **values)

    # --- The metadata -------------------------------------------------------------------------------------------

    def _metadata(self, metadata: Metadata) -> Iterator[Problem]:
        is_packed = metadata.encoding == "msgpack"
        keys = ("amdhsa.version", "amdhsa.kernels") if is_packed else ("Version", "Kernels")
        for document in metadata.documents:
            missing = [key for key in keys if document.get(key) is None]
            if missing:
                yield self._problem("metadata-key", what="the metadata", keys=", ".join(missing))
        yield from self._version(metadata)
        yield from self._target(metadata)
        names: set[str] = set()
        for kernel in metadata.kernels:
            for name in (kernel.name, kernel.symbol):
                if name is not None and name in names:
                    yield self._problem("duplicate", kernel=name)
                    break
            names |= {name for name in (kernel.name, kernel.symbol) if name is not None}
            yield from self._described(kernel, is_packed=is_packed)

    def _version(self, metadata: Metadata) -> Iterator[Problem]:
        expected = VERSIONS.get(self.file.image.abi_version)
        if metadata.version is None or expected is None:
            return
        if metadata.version != expected:
            written = _dotted(metadata.version)
            version = self.file.image.abi_version + 2
            yield self._problem("metadata-version", written=written, version=version, expected=_dotted(expected))

    def _target(self, metadata: Metadata) -> Iterator[Problem]:
        from dwarfgpu.program.code.code_object import find_target

        known = find_target(self.file.image)
        if metadata.target is None or not known.is_known:
            return
        named = parse_target(metadata.target).text
        if named != known.target_id:
            yield self._problem("metadata-target", target=named, expected=known.target_id)

    def _described(self, kernel: KernelMetadata, *, is_packed: bool) -> Iterator[Problem]:
        name = kernel.name or kernel.symbol or "without a name"
        missing = [key for key in ("sgpr_count", "vgpr_count") if getattr(kernel, key) is None]
        if missing:
            keys = ", ".join(f".{key}" for key in missing)
            yield self._problem("metadata-key", what=f"the kernel {name}", keys=keys)
        for key in ("kernarg_segment_align", "wavefront_size"):
            value = getattr(kernel, key)
            if value is not None and not _is_power_of_2(value):
                yield self._problem("metadata-value", key=key, what=name, value=value)
        yield from self._workgroup(kernel, name)
        yield from self._arguments(kernel, name, is_packed=is_packed)

    def _workgroup(self, kernel: KernelMetadata, name: str) -> Iterator[Problem]:
        largest = kernel.max_flat_workgroup_size
        if largest is not None and largest < 1:
            yield self._problem("workgroup-size", kernel=name, largest=largest)
            return
        for key in ("reqd_workgroup_size", "workgroup_size_hint"):
            size = getattr(kernel, key)
            if size is not None and len(size) != len("xyz"):
                yield self._problem("metadata-value", key=key, what=name, count=len(size))
                return
        size = kernel.reqd_workgroup_size
        if not size or not any(size):
            return
        if min(size) < 1:
            yield self._problem("workgroup-size", kernel=name, size=_by(size))
        elif largest is not None and size[0] * size[1] * size[2] > largest:
            yield self._problem("workgroup-size", kernel=name, size=_by(size), largest=largest)

    # --- Arguments ----------------------------------------------------------------------------------------------

    def _arguments(self, kernel: KernelMetadata, name: str, *, is_packed: bool) -> Iterator[Problem]:
        end = 0
        hidden: str | None = None
        for index, argument in enumerate(kernel.args):
            what = f"argument {index} of {name}"
            kind, offset, size = argument.value_kind, argument.offset, argument.size
            required = {"size": size, "value_kind": kind, "offset" if is_packed else "align": offset}
            missing = [key for key, value in required.items() if value is None]
            if missing:
                yield self._problem("metadata-key", what=what, keys=", ".join(f".{key}" for key in missing))
                continue
            assert kind is not None and offset is not None and size is not None  # noqa: S101, PT018 (for mypy)
            if kind not in KINDS:
                yield self._problem("argument-kind", what=what, kind=kind)
            yield from self._argument(argument, kind, offset, size, what)
            if offset < end:
                yield self._problem("argument-order", what=what, offset=offset, end=end)
            elif kernel.kernarg_segment_size is not None and offset + size > kernel.kernarg_segment_size:
                values = {"end": offset + size, "size": kernel.kernarg_segment_size}
                yield self._problem("argument-outside", what=what, **values)
            end = max(end, offset + size)
            if argument.is_hidden:
                hidden = kind
            elif hidden is not None:
                yield self._problem("argument-hidden", what=what, hidden=hidden)

    def _argument(self, argument: KernelArgument, kind: str, offset: int, size: int, what: str) -> Iterator[Problem]:
        expected = KINDS.get(kind)
        if size < 0 or (expected is not None and size != expected):
            yield self._problem("argument-size", what=what, size=size, kind=kind, expected=expected or 0)
            return
        align = argument.align
        for key, value in (("align", align), ("pointee_align", argument.pointee_align)):
            if value is not None and not _is_power_of_2(value):
                yield self._problem("metadata-value", key=key, what=what, value=value)
                return
        align = align or expected or 1
        if offset % align:
            yield self._problem("argument-alignment", what=what, offset=offset, align=align)
        words = (
            ("address_space", argument.address_space, SPACES),
            ("access", argument.access, ACCESSES),
            ("actual_access", argument.actual_access, ACCESSES),
        )
        for key, word, known in words:
            if word is not None and word not in known:
                yield self._problem("argument-value", key=key, what=what, word=word)

    # --- Descriptors and kernel codes ---------------------------------------------------------------------------

    def _kernel(self, kernel: Kernel) -> Iterator[Problem]:
        described = kernel.descriptor or kernel.code
        if kernel.symbol is None:
            return
        metadata = self.file.kernels.metadata
        version = hsa_notes(self.file.image).code_object_version
        has_none = kernel.code is not None and version is not None and version[0] < 2  # code object V1
        if kernel.metadata is None and not has_none and (metadata is None or metadata.documents):
            section, offset = symbol_place(self.file.image, kernel.symbol)
            yield RULES.problem("undescribed", section, offset, kernel=kernel.name)
        if described is None:  # which is a problem of its own
            return
        for violation in described.broken_rules:
            idiom = SGPR_IDIOM if violation.kind == "sgpr_blocks" and _counts_used_sgprs(kernel) else None
            rule = violation.kind.replace("_", "-")
            place = self._place(kernel, rule, violation.offset)
            yield Problem(RULES[rule], f"{kernel.name}: {violation.message}", *place, idiom)
        yield from self._entry(kernel)
        if described.field("ENABLE_VGPR_WORKITEM_ID") == len("xyz"):
            yield self._of(kernel, "workitem-id", 52)
        yield from self._wave_size(kernel, described)
        yield from self._sizes(kernel)
        if kernel.descriptor is not None:
            if kernel.symbol.type != "OBJECT" or kernel.symbol.size != DESCRIPTOR_SIZE:
                yield self._of(kernel, "symbol", symbol=kernel.symbol)
            yield from self._user_sgprs(kernel, kernel.descriptor)
            yield from self._registers(kernel, kernel.descriptor)
            yield from self._modes(kernel, kernel.descriptor)

    def _place(self, kernel: Kernel, rule: str, offset: int) -> tuple[str | None, int, None, str | None]:
        """Return the section and the offset of a problem of a kernel, no entry, and the clause for its code object."""
        assert kernel.symbol is not None  # noqa: S101 (for mypy)
        section, start = symbol_place(self.file.image, kernel.symbol)
        clause = _CODE if kernel.code is not None and RULES[rule].clause == _DESCRIPTOR else None
        return section, start + offset, None, clause

    def _of(self, kernel: Kernel, rule: str, offset: int = 0, /, **values: object) -> Problem:
        """Return a problem of a kernel, at an offset in its descriptor."""
        return RULES.problem(rule, *self._place(kernel, rule, offset), kernel=kernel.name, **values)

    def _entry(self, kernel: Kernel) -> Iterator[Problem]:
        image, entry = self.file.image, kernel.entry
        assert entry is not None and kernel.symbol is not None  # noqa: S101, PT018 (for mypy)
        size = DESCRIPTOR_SIZE if kernel.descriptor is not None else CODE_SIZE
        # before linking, the addresses of a descriptor and of its kernel, in another section, cannot be compared
        if (image.is_linked or kernel.code is not None) and 0 <= entry - kernel.symbol.value < size:
            what = "descriptor" if kernel.descriptor is not None else "amd_kernel_code_t"
            yield self._of(kernel, "entry-descriptor", 16, entry=entry, what=what)
            return
        code = [(part.address, part.size) for part in image.code_sections] or [
            (segment.address, segment.memory_size)
            for segment in image.segments
            if segment.type == PT_LOAD and segment.flags & PF_X
        ]
        if image.is_linked and not any(start <= entry < start + size for start, size in code):
            yield self._of(kernel, "entry-outside", 16, entry=entry)
            return
        if kernel.descriptor is None:
            return
        symbol = image.symbol_named(kernel.name)
        if symbol is None or not symbol.is_defined:
            yield self._of(kernel, "entry-symbol")
        elif symbol.type != "FUNC":
            yield self._of(kernel, "entry-symbol", symbol=symbol)
        elif symbol.value != entry and not entry % 256:
            yield self._of(kernel, "entry-symbol", 16, entry=entry, symbol=symbol)

    def _wave_size(self, kernel: Kernel, described: KernelDescriptor | KernelCode) -> Iterator[Problem]:
        from dwarfgpu.targets.amdgpu.processors import processor_named

        size = described.wavefront_size
        name = self.file.kernels.processor
        processor = processor_named(name) if name else None
        offset = 56 if kernel.descriptor is not None else 103
        if size is None:
            return
        if processor is not None and size not in processor.wave_sizes:
            sizes = " or ".join(map(str, processor.wave_sizes))
            yield self._of(kernel, "wave-size", offset, lanes=size, processor=processor.name, sizes=sizes)
            return
        told = kernel.metadata.wavefront_size if kernel.metadata is not None else None
        if told is not None and told != size and _is_power_of_2(told):
            yield self._of(kernel, "wave-size", offset, lanes=size, metadata=told)

    def _sizes(self, kernel: Kernel) -> Iterator[Problem]:
        """Yield where a descriptor and the metadata differ about the sizes of segments."""
        metadata, descriptor, code = kernel.metadata, kernel.descriptor, kernel.code
        if metadata is None:
            return
        group, private = metadata.group_segment_fixed_size, metadata.private_segment_fixed_size
        kernarg = metadata.kernarg_segment_size
        rows: tuple[tuple[str, int, int | None, int], ...] = ()
        if descriptor is not None:
            rows = (
                ("group", descriptor.group_segment_fixed_size, group, 0),
                ("private", descriptor.private_segment_fixed_size, private, 4),
                # reserved until LLVM 11
                ("kernarg", descriptor.kernarg_size, kernarg if descriptor.kernarg_size else 0, 8),
            )
        elif code is not None:
            rows = (
                ("private", code.workitem_private_segment_byte_size, private, 60),
                ("group", code.workgroup_group_segment_byte_size, group, 64),
                ("kernarg", code.kernarg_segment_byte_size, kernarg, 72),
            )
        for segment, written, told, offset in rows:
            if told is not None and written != told:
                yield self._of(kernel, f"{segment}-size", offset, size=written, metadata=told)

    def _user_sgprs(self, kernel: Kernel, descriptor: KernelDescriptor) -> Iterator[Problem]:
        written, generation = descriptor.field("USER_SGPR_COUNT"), descriptor.generation
        if written is None or generation is None:
            return
        limit = 32 if generation == GFX125 else 16
        preloaded = descriptor.field("KERNARG_PRELOAD_SPEC_LENGTH") or 0
        asked = descriptor.asked_user_sgprs + preloaded
        # since GFX11 compilers ask for more, so that at least 16 SGPRs are set when a wave starts
        is_right = min(asked, limit) <= written <= limit if generation >= GFX11 else written == min(asked, limit)
        if not is_right:
            yield self._of(kernel, "user-sgpr-count", 52, written=written, asked=asked, limit=limit)
        if not preloaded or not descriptor.kernarg_size:
            return
        first = (descriptor.field("KERNARG_PRELOAD_SPEC_OFFSET") or 0) * 4
        end, size = first + preloaded * 4, descriptor.kernarg_size
        if end > size:
            yield self._of(kernel, "preload-outside", 58, first=first, end=end, size=size)

    def _registers(self, kernel: Kernel, descriptor: KernelDescriptor) -> Iterator[Problem]:
        vgprs, sgprs, first = descriptor.vgprs, descriptor.sgprs, descriptor.accum_offset
        if first is not None and vgprs is not None and first > vgprs:
            yield self._of(kernel, "accum-offset", 44, first=first, vgprs=vgprs)
        metadata = kernel.metadata
        if metadata is None:
            return
        used = metadata.vgpr_count
        if used is not None and vgprs is not None and used > vgprs:
            yield self._of(kernel, "vgpr-count", 48, count=vgprs, metadata=used)
        used = metadata.sgpr_count
        if used is not None and sgprs is not None and used > sgprs and (descriptor.generation or 0) < GFX10:
            yield self._of(kernel, "sgpr-count", 48, count=sgprs, metadata=used)

    def _modes(self, kernel: Kernel, descriptor: KernelDescriptor) -> Iterator[Problem]:
        metadata = kernel.metadata
        if metadata is None:
            return
        for rule, field, told, offset in (
            ("dynamic-stack", "USES_DYNAMIC_STACK", metadata.uses_dynamic_stack, 56),
            ("workgroup-mode", "WGP_MODE", metadata.workgroup_processor_mode, 48),
        ):
            written = descriptor.field(field)
            if written is not None and told is not None and bool(written) != told:
                yield self._of(kernel, rule, offset, written=written, metadata=str(told).lower())


def _metadata_place(file: CodeObject) -> tuple[str | None, int | None]:
    """Return where the first note with metadata is."""
    if not file.is_amdgpu:
        return None, None
    kinds = (("AMDGPU", NT_AMDGPU_METADATA), ("AMD", NT_AMD_HSA_METADATA))
    notes = (note for note in file.image.notes() if (note.owner, note.type) in kinds)
    return next(((note.place, note.offset) for note in notes), (None, None))


def _counts_used_sgprs(kernel: Kernel) -> bool:
    """Return whether a descriptor has the blocks of the SGPRs that the metadata counts, as before GFX10."""
    used = kernel.metadata.sgpr_count if kernel.metadata is not None else None
    if used is None or kernel.descriptor is None:
        return False
    return kernel.descriptor.field("GRANULATED_WAVEFRONT_SGPR_COUNT") == max(0, -(-used // 8) - 1)


def _is_power_of_2(value: int) -> bool:
    return value > 0 and not value & (value - 1)


def _by(size: tuple[int, ...]) -> str:
    return " x ".join(map(str, size))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
