"""The registers of a wave at its first instruction: one table, to explain them and to set them.

The rows follow from the rules and from what a kernel requests (`Start`). The module is independent of a machine: it
computes with numbers, or with arrays with one element a wave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.targets.amdgpu.geometry import Geometry, GridPosition
    from dwarfgpu.targets.amdgpu.processors import Processor

    Words = tuple[Any, ...]
    """32-bit numbers or arrays of them, one a register."""


# --- The start of a wave ------------------------------------------------------------------------------------------
# A caller that launches a kernel, or only explains it, fills in a `Start`.

DWORD = 4


def align(number: int, alignment: int) -> int:
    """Return the next multiple of an alignment."""
    return number + -number % alignment


@frozen
class Scratch:
    """The scratch memory of a dispatch: one block, in which each wave has its part."""

    base: int
    """The address of the block: ``amd_queue_t.scratch_backing_memory_location`` on GFX9 and later."""
    offset: int
    """Of the block from ``SH_HIDDEN_PRIVATE_BASE_VIMID``, which is how GFX7-GFX8 address it."""
    wave_bytes: int
    descriptor: tuple[int, int, int, int]
    """The V# of the block: ``amd_queue_t.scratch_resource_descriptor``."""


@frozen
class Start:
    """A dispatch as the packet processor sees it."""

    processor: Processor
    fields: Mapping[str, int]
    """The fields of the kernel descriptor or of the ``amd_kernel_code_t``, by name."""
    geometry: Geometry
    entry: int
    """The address of the kernel's code."""
    packet: int
    """The address of the dispatch packet."""
    queue: int
    """The address of the ``amd_queue_t``."""
    kernarg: int
    """The address of the kernarg segment."""
    kernarg_bytes: bytes
    """The contents of the kernarg segment, from which registers are preloaded."""
    dispatch_id: int
    private_segment_size: int
    """Bytes of private memory of one work-item, as in the packet."""
    group_segment_size: int
    """Bytes of local memory of one work-group, as in the packet."""
    scratch: Scratch

    def field(self, name: str) -> int:
        """Return the value of a field; 0 if this generation has no such field."""
        return self.fields.get(name, 0)

    @property
    def wave_size(self) -> int:
        return self.geometry.wave_size


def _scratch_unit(processor: Processor) -> int:
    """Return the bytes in which ``COMPUTE_TMPRING_SIZE.WAVESIZE`` counts scratch memory (ROCr, ``AqlQueue``)."""
    return 256 if processor.major >= 11 else 1024


def scratch_wave_bytes(processor: Processor, private_segment_size: int, wave_size: int) -> int:
    """Return the bytes of scratch memory of one wave: whole units."""
    return align(align(private_segment_size, DWORD) * wave_size, _scratch_unit(processor))


def tmpring_size(processor: Processor, wave_bytes: int, waves: int) -> int:
    """Return ``COMPUTE_TMPRING_SIZE``: how many waves have scratch memory (in 12 bits), and how much each."""
    return min(waves, 0xFFF) | wave_bytes // _scratch_unit(processor) << 12 & 0xFFFFFFFF


def scratch_descriptor(processor: Processor, base: int, size: int, wave_size: int) -> tuple[int, int, int, int]:
    """Return the V# of scratch memory: dword elements, swizzled with the wave size as the index stride.

    AMDGPU usage, "Non-Kernel Functions": "Swizzled with dword element size and stride of wavefront size elements". The
    formats are those that ROCr writes (``AqlQueue::InitScratchSRD``). Where flat scratch is architected there is none.
    """
    if processor.has("flat-architected"):
        return 0, 0, 0, 0
    swizzle_enable = 1 << 31
    index_stride = (3 if wave_size == 64 else 2) << 21
    add_thread_id = 1 << 23
    if processor.major >= 10:
        format_32_uint, resource_level, unchecked = 20 << 12, 1 << 24, 2 << 28
        word3 = format_32_uint | resource_level | unchecked
    else:
        uint, data_32 = 4 << 12, 4 << 15
        element_4_bytes = 1 << 19 if processor.major <= 8 else 0
        word3 = uint | data_32 | element_4_bytes
    select_xyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9
    word3 |= select_xyzw | index_stride | add_thread_id
    return base & 0xFFFFFFFF, base >> 32 & 0xFFFF | swizzle_enable, size & 0xFFFFFFFF, word3


# --- The MODE register --------------------------------------------------------------------------------------------
# A wave starts with the modes of its kernel descriptor (AMDGPU usage, "Kernel Descriptor", compute_pgm_rsrc1
# and compute_pgm_rsrc2). The instruction set documents, "MODE", say where each is in the register.

#   name in the register, its first bit, and the fields of the descriptor from its lowest bit up, with their widths
LAYOUT: tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...] = (
    ("FP_ROUND", 0, (("FLOAT_ROUND_MODE_32", 2), ("FLOAT_ROUND_MODE_16_64", 2))),
    ("FP_DENORM", 4, (("FLOAT_DENORM_MODE_32", 2), ("FLOAT_DENORM_MODE_16_64", 2))),
    ("DX10_CLAMP", 8, (("ENABLE_DX10_CLAMP", 1),)),
    ("IEEE", 9, (("ENABLE_IEEE_MODE", 1),)),
    (
        "EXCP_EN",
        12,
        (
            ("ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION", 1),
            ("ENABLE_EXCEPTION_FP_DENORMAL_SOURCE", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_INEXACT", 1),
            ("ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO", 1),
        ),
    ),
    ("FP16_OVFL", 23, (("FP16_OVFL", 1),)),
)


def mode_fields(fields: Mapping[str, int]) -> tuple[tuple[str, int, int, int], ...]:
    """Return the parts of MODE that a generation has, as (name, first bit, width, value).

    ``fields`` are those of the descriptor. GFX12 has no DX10_CLAMP and IEEE, and keeps the exceptions in another
    register (TRAP_CTRL); there the descriptor has no ENABLE_IEEE_MODE.
    """
    rows = []
    for name, first, parts in LAYOUT:
        if any(part not in fields for part, _ in parts):
            continue
        if name == "EXCP_EN" and "ENABLE_IEEE_MODE" not in fields:
            continue
        value = width = 0
        for part, bits in parts:
            value |= fields[part] << width
            width += bits
        rows.append((name, first, width, value))
    return tuple(rows)


def mode(fields: Mapping[str, int]) -> int:
    """Return the MODE register of a kernel."""
    return sum(value << first for _name, first, _width, value in mode_fields(fields))


# --- The rules ----------------------------------------------------------------------------------------------------
# AMDGPU usage, "Initial Kernel Execution State" and "Kernel Prolog", of 2020 and of LLVM 22; for
# ``amd_kernel_code_t`` the AMDGPU Compute ABI 0.40, "Initial kernel register state". What a
# rule computes is right for one wave and for arrays of waves (`GridPosition`).

STATE = 'AMDGPU usage, "Initial Kernel Execution State"'
PRELOAD = 'AMDGPU usage, "Preloaded Kernel Arguments"'
PROLOG = 'AMDGPU usage, "Kernel Prolog"'
DESCRIPTOR = 'AMDGPU usage, "Kernel Descriptor"'
COMPUTE_ABI = 'AMDGPU Compute ABI 0.40, "Initial kernel register state"'
LLVM = "LLVM 22, GCNSubtarget"

CP = "CP"
ADC = "ADC"
SPI = "SPI"
NOBODY = "nobody"
"""Who sets a register: the packet processor, the dispatch controller, the shader input, or nobody ("The setting of
registers is done by GPU CP/ADC/SPI hardware as follows")."""

MASK = 0xFFFFFFFF


@frozen
class InitialRule:
    """The initial contents of some consecutive registers, and the document that defines them."""

    name: str
    """As the document calls it."""
    enable: str
    """The field of the descriptor that requests it; empty for what is always set."""
    count: int
    """The number of registers it takes."""
    by: str
    """Who sets them."""
    clause: str
    meaning: str
    words: Callable[[Start, GridPosition], Words]
    applies: Callable[[Start], bool] = lambda _start: True
    is_number: bool = True
    """Whether the words are one number, and not one each."""


def _no_words(_start: Start, _place: GridPosition) -> Words:
    """Return no words: the registers are not set, or differ from lane to lane."""
    return ()


def _pair(number: Any) -> Words:
    return number & MASK, number >> 32 & MASK


def _private_size(start: Start, _place: GridPosition) -> Words:
    return (align(start.private_segment_size, DWORD),)


def _group_count(axis: int) -> Callable[[Start, GridPosition], Words]:
    return lambda start, _place: (start.geometry.groups[axis],)


def _preloaded(start: Start, _place: GridPosition) -> Words:
    first = start.field("KERNARG_PRELOAD_SPEC_OFFSET") * DWORD
    length = start.field("KERNARG_PRELOAD_SPEC_LENGTH") * DWORD
    data = start.kernarg_bytes[first : first + length].ljust(length, b"\0")
    return tuple(int.from_bytes(data[at : at + DWORD], "little") for at in range(0, length, DWORD))


USER_SGPRS: tuple[InitialRule, ...] = (
    InitialRule(
        "Private Segment Buffer", "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 4, CP, STATE,
        "V# of the scratch memory of the queue: amd_queue_t.scratch_resource_descriptor",
        lambda start, _: start.scratch.descriptor,
        lambda start: not start.processor.has("flat-architected"), is_number=False,
    ),
    InitialRule(
        "Private Segment Buffer", "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 4, NOBODY,
        f"{PROLOG}, Private Segment Buffer", "not supported by this processor", _no_words,
        lambda start: start.processor.has("flat-architected"),
    ),
    InitialRule(
        "Dispatch Ptr", "ENABLE_SGPR_DISPATCH_PTR", 2, CP, STATE,
        "address of the AQL dispatch packet", lambda start, _: _pair(start.packet),
    ),
    InitialRule(
        "Queue Ptr", "ENABLE_SGPR_QUEUE_PTR", 2, CP, STATE,
        "address of the amd_queue_t", lambda start, _: _pair(start.queue),
    ),
    InitialRule(
        "Kernarg Segment Ptr", "ENABLE_SGPR_KERNARG_SEGMENT_PTR", 2, CP, STATE,
        "address of the kernarg segment: kernarg_address of the packet", lambda start, _: _pair(start.kernarg),
    ),
    InitialRule(
        "Dispatch Id", "ENABLE_SGPR_DISPATCH_ID", 2, CP, STATE,
        "dispatch ID of the packet: its index in the queue", lambda start, _: _pair(start.dispatch_id),
    ),
    InitialRule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, CP, f"{STATE}, GFX7-GFX8",
        "byte offset of the queue's scratch memory from SH_HIDDEN_PRIVATE_BASE_VIMID; bytes of one work-item",
        lambda start, place: (start.scratch.offset, *_private_size(start, place)),
        lambda start: start.processor.has("flat-offset"), is_number=False,
    ),
    InitialRule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, CP, f"{STATE}, GFX9-GFX10",
        "address of the queue's scratch memory", lambda start, _: _pair(start.scratch.base),
        lambda start: start.processor.has("flat-absolute"),
    ),
    InitialRule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, NOBODY, f"{STATE}, Flat Scratch Init",
        "not supported by this processor", _no_words,
        lambda start: not (start.processor.has("flat-offset") or start.processor.has("flat-absolute")),
    ),
    InitialRule(
        "Private Segment Size", "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", 1, CP, STATE,
        "bytes of private memory of one work-item, a multiple of 4", _private_size,
    ),
    *(
        InitialRule(
            f"Grid Work-Group Count {axis}", f"ENABLE_SGPR_GRID_WORKGROUP_COUNT_{axis}", 1, CP, COMPUTE_ABI,
            f"work-groups of the grid in {axis}, with a partial one", _group_count("XYZ".index(axis)),
        )
        for axis in "XYZ"
    ),
)  # fmt: skip


def preload_rule(start: Start) -> InitialRule:
    """Return the rule of the preloaded arguments of a kernel."""
    offset = start.field("KERNARG_PRELOAD_SPEC_OFFSET") * DWORD
    meaning = f"the kernarg segment from byte {offset}"
    length = start.field(KERNARG_PRELOAD)
    return InitialRule("Preloaded Kernargs", KERNARG_PRELOAD, length, CP, PRELOAD, meaning, _preloaded, is_number=False)


KERNARG_PRELOAD = "KERNARG_PRELOAD_SPEC_LENGTH"
PADDING = InitialRule(
    "(padding)", "", 0, NOBODY, f"{DESCRIPTOR}, USER_SGPR_COUNT",
    "counted by USER_SGPR_COUNT but enabled by no field", lambda _start, _: (0,) * 64,
)  # fmt: skip


def _group_id(axis: int) -> Callable[[Start, GridPosition], Words]:
    return lambda _start, place: (place.group[axis],)


def _group_info(start: Start, place: GridPosition) -> Words:
    first = (place.wave == 0) * (1 << 31)
    return (first + start.geometry.waves_of(place.group),)  # ordered_append_term is 0: nothing is appended


SYSTEM_SGPRS: tuple[InitialRule, ...] = (
    *(
        InitialRule(
            f"Work-Group Id {axis}", f"ENABLE_SGPR_WORKGROUP_ID_{axis}", 1, ADC, STATE,
            f"work-group ID in {axis}", _group_id("XYZ".index(axis)), lambda start: not start.processor.has("ttmp-ids"),
        )
        for axis in "XYZ"
    ),
    InitialRule(
        "Work-Group Info", "ENABLE_SGPR_WORKGROUP_INFO", 1, ADC, STATE,
        "{first_wavefront, 14'b0000, ordered_append_term[10:0], threadgroup_size_in_wavefronts[5:0]}", _group_info,
    ),
    InitialRule(
        "Scratch Wavefront Offset", "ENABLE_PRIVATE_SEGMENT", 1, SPI, STATE,
        "byte offset of the wave's scratch memory from that of the queue",
        lambda start, place: (place.number * start.scratch.wave_bytes,),
        lambda start: not start.processor.has("flat-architected"),
    ),
)  # fmt: skip


# OPEN: the editions of AMDGPU usage do not mention TTMP registers. These rules are what LLVM's code reads; where the ID
# in Z is not enabled it takes the whole of TTMP7 for the one in Y.


def _ttmp6(start: Start, place: GridPosition) -> Words:
    cluster = start.geometry.cluster
    inside = sum(at % size * (1 << 4 * axis) for axis, (at, size) in enumerate(zip(place.group, cluster, strict=True)))
    most = sum(size - 1 << 4 * axis for axis, size in enumerate((*cluster, start.geometry.cluster_size)))
    return (inside + (most << 12),)


def _ttmp7(start: Start, place: GridPosition) -> Words:
    y = place.group[1] // start.geometry.cluster[1] * start.field("ENABLE_SGPR_WORKGROUP_ID_Y")
    z = place.group[2] // start.geometry.cluster[2] * start.field("ENABLE_SGPR_WORKGROUP_ID_Z")
    return (y + z * (1 << 16),)


TTMPS: tuple[tuple[int, InitialRule], ...] = (
    (6, InitialRule(
        "Work-Group In Cluster", "", 1, ADC, "CDNA5 Instruction Set Architecture, 2.3.1",
        "position in the cluster (4 bits each for X, Y and Z), its size in X, Y and Z minus 1, work-groups minus 1",
        _ttmp6, lambda start: start.geometry.cluster_size > 1,
    )),
    (7, InitialRule(
        "Work-Group Id Y, Z", "", 1, ADC, f"{LLVM}: hasArchitectedSGPRs",
        "work-group ID (or cluster ID) in Y in bits 15:0, in Z in bits 31:16; 0 where it is not enabled", _ttmp7,
    )),
    (8, InitialRule(
        "Wave Id", "", 1, SPI, f"{LLVM}: hasArchitectedSGPRs",
        "number of the wave in its work-group in bits 29:25", lambda _start, place: (place.wave * (1 << 25),),
    )),
    (9, InitialRule(
        "Work-Group Id X", "ENABLE_SGPR_WORKGROUP_ID_X", 1, ADC, f"{LLVM}: hasArchitectedSGPRs",
        "work-group ID (or cluster ID) in X",
        lambda start, place: (place.group[0] // start.geometry.cluster[0],),
    )),
)  # fmt: skip

ITEM_IDS = "ENABLE_VGPR_WORKITEM_ID"


PACKED_IDS = InitialRule(
    "Work-Item Id X, Y, Z", "", 1, SPI, f"{STATE}, Packed Work-Item ID Method",
    "work-item IDs: X in bits 9:0, Y in bits 19:10, Z in bits 29:20; 0 where it is not enabled", _no_words,
)  # fmt: skip
SEPARATE_IDS: tuple[InitialRule, ...] = tuple(
    InitialRule(
        f"Work-Item Id {axis}", ITEM_IDS if axis != "X" else "", 1, SPI, f"{STATE}, VGPR Register Set Up Order",
        f"work-item ID in {axis}", _no_words,
    )
    for axis in "XYZ"
)  # fmt: skip


def first_instruction(start: Start) -> int:
    """Return the address of the first instruction."""
    skipped = 256 if start.field(KERNARG_PRELOAD) and start.processor.has("preload-prolog") else 0
    return start.entry + skipped


def _exec(start: Start, place: GridPosition) -> Words:
    lanes = start.geometry.lanes_of(place)
    high = (lanes > 32) * (lanes - 32)
    return (1 << (lanes - high)) - 1, (1 << high) - 1


def _flat_scratch(start: Start, place: GridPosition) -> Words:
    return _pair(start.scratch.base + place.number * start.scratch.wave_bytes)


PC = InitialRule(
    "PC", "", 2, SPI, f"{DESCRIPTOR}, KERNEL_CODE_ENTRY_BYTE_OFFSET",
    "first instruction of the kernel", lambda start, _: _pair(first_instruction(start)),
)  # fmt: skip
PC_PRELOADED = InitialRule(
    "PC", "", 2, SPI, PRELOAD,
    "entry of the kernel + 256: CP skips what loads the arguments for firmware that does not preload",
    PC.words,
)  # fmt: skip
EXEC = InitialRule(
    "EXEC", "", 2, SPI, 'AMDGPU usage, "Kernel Dispatch"', "a bit for each lane that has a work-item", _exec
)
MODE = InitialRule(
    "MODE", "", 1, SPI, f"{DESCRIPTOR}, compute_pgm_rsrc1", "float modes of the descriptor",
    lambda start, _: (mode(start.fields),),
)  # fmt: skip
FLAT_SCRATCH = InitialRule(
    "FLAT_SCRATCH", "ENABLE_PRIVATE_SEGMENT", 2, SPI, f"{PROLOG}, Flat Scratch: Architected flat scratch",
    "address of the wave's scratch memory", _flat_scratch,
)  # fmt: skip


FLAT_SCRATCH_OFFSET = InitialRule(
    "FLAT_SCRATCH", "", 2, NOBODY, f"{PROLOG}, Flat Scratch: Offset flat scratch",
    "the prolog sets FLAT_SCRATCH_HI to (Flat Scratch Init[0] + Scratch Wavefront Offset) >> 8 and FLAT_SCRATCH_LO to"
    " Flat Scratch Init[1]",
    _no_words, lambda start: start.processor.has("flat-offset"),
)  # fmt: skip
FLAT_SCRATCH_ABSOLUTE = InitialRule(
    "FLAT_SCRATCH", "", 2, NOBODY, f"{PROLOG}, Flat Scratch: Absolute flat scratch",
    "the prolog sets it to Flat Scratch Init + Scratch Wavefront Offset",
    _no_words, lambda start: start.processor.has("flat-absolute"),
)  # fmt: skip
M0 = InitialRule("M0", "", 1, NOBODY, f"{PROLOG}, M0", "not used for range checking LDS accesses", _no_words)
M0_LDS = InitialRule(
    "M0", "", 1, NOBODY, f"{PROLOG}, M0",
    "the prolog sets it to the LDS size of the packet or above, if LDS is accessed: at most 0x7fff on GFX6, 0xffff on"
    " GFX7-GFX8",
    _no_words,
)  # fmt: skip
VCC = InitialRule("VCC", "", 2, NOBODY, STATE, "the documents do not mention it", _no_words)
STATUS = InitialRule("STATUS", "", 1, NOBODY, STATE, "the documents do not mention it; bit 0 is SCC", _no_words)


@frozen
class InitialRegisters:
    """A rule and the registers that it describes."""

    kind: str
    """``s``, ``ttmp`` or ``v`` with a number, or the name of a register that has none."""
    first: int | None
    rule: InitialRule
    count: int
    """32-bit registers; in a register without a number, its words."""

    @property
    def registers(self) -> str:
        """The registers as the assembler writes them."""
        if self.first is None:
            return self.kind
        if self.count == 1:
            return f"{self.kind}{self.first}"
        return f"{self.kind}[{self.first}:{self.first + self.count - 1}]"

    @property
    def is_set(self) -> bool:
        """Whether the documents define what the register holds."""
        return self.rule.by != NOBODY

    def words(self, start: Start, place: GridPosition) -> Words:
        """Return the 32-bit words, lowest first; none if they are not set. A vector register has `item_words`."""
        return self.rule.words(start, place)[: self.count]


def item_words(row: InitialRegisters, start: Start, place: GridPosition, lane: Any) -> Any:
    """Return the word of a lane in a vector register; that of a lane that does not execute has no meaning."""
    x, y, z = start.geometry.item(place, lane)
    if row.rule is not PACKED_IDS:
        return (x, y, z)[SEPARATE_IDS.index(row.rule)]
    enabled = start.field(ITEM_IDS)
    return x + (y * (1 << 10) if enabled > 0 else 0) + (z * (1 << 20) if enabled > 1 else 0)


def rows(start: Start) -> tuple[InitialRegisters, ...]:
    """Return the rows of all registers that the documents define, in their order."""
    return (*_sgprs(start), *_ttmps(start), *_vgprs(start), *_others(start))


def problems(start: Start) -> tuple[str, ...]:
    """Return a message for each request of a descriptor that is not fulfilled."""
    messages = []
    wanted = _user_sgprs(start)
    count, limit = start.field("USER_SGPR_COUNT"), start.processor.user_sgpr_limit
    asked = sum(number for _rule, number in wanted)
    if asked > count:
        messages.append(f"the fields ask for {asked} user SGPRs, and USER_SGPR_COUNT is {count}: they must match")
    if max(asked, count) > limit:
        number = max(asked, count)
        messages.append(f"{number} user SGPRs are more than the {limit} that {start.processor.name} sets")
    for rule, _number in wanted:
        if rule.by == NOBODY:
            messages.append(f"{rule.enable} must be 0: {start.processor.name} does not support it")
    if start.field(ITEM_IDS) == 3:
        messages.append(f"{ITEM_IDS} is 3, which is undefined")
    return tuple(messages)


def _enabled(table: tuple[InitialRule, ...], start: Start) -> Iterator[InitialRule]:
    return (rule for rule in table if start.field(rule.enable) and rule.applies(start))


def _user_sgprs(start: Start) -> list[tuple[InitialRule, int]]:
    """Return the rules of enabled user SGPRs in their order, and how many registers each takes."""
    wanted = [(rule, rule.count) for rule in _enabled(USER_SGPRS, start)]
    preloaded = start.field(KERNARG_PRELOAD)
    return [*wanted, (preload_rule(start), preloaded)] if preloaded else wanted


def _sgprs(start: Start) -> Iterator[InitialRegisters]:
    """Yield the rows of SGPRs, densely from s0; those beyond the user SGPRs that the descriptor counts are not set.

    "The first 16 [...] are then immediately followed by the System SGPRs".
    """
    end = min(start.field("USER_SGPR_COUNT"), start.processor.user_sgpr_limit)
    first = 0
    for rule, count in _user_sgprs(start):
        there = min(count, end - first)
        if there > 0:
            yield InitialRegisters("s", first, rule, there)
            first += there
    if first < end:
        yield InitialRegisters("s", first, PADDING, end - first)
    first = end
    for rule in _enabled(SYSTEM_SGPRS, start):
        yield InitialRegisters("s", first, rule, rule.count)
        first += rule.count


def _ttmps(start: Start) -> Iterator[InitialRegisters]:
    if start.processor.has("ttmp-ids"):
        for number, rule in TTMPS:
            if rule.applies(start) and (not rule.enable or start.field(rule.enable)):
                yield InitialRegisters("ttmp", number, rule, rule.count)


def _vgprs(start: Start) -> Iterator[InitialRegisters]:
    if start.processor.has("packed-ids"):
        yield InitialRegisters("v", 0, PACKED_IDS, 1)
        return
    for number, rule in enumerate(SEPARATE_IDS):
        if number <= min(start.field(ITEM_IDS), 2):
            yield InitialRegisters("v", number, rule, 1)


def _others(start: Start) -> Iterator[InitialRegisters]:
    preloaded = first_instruction(start) != start.entry
    yield InitialRegisters("pc", None, PC_PRELOADED if preloaded else PC, 2)
    words = start.wave_size // 32
    yield InitialRegisters("exec", None, EXEC, words)
    yield InitialRegisters("mode", None, MODE, 1)
    if start.processor.has("flat-architected"):
        if start.field(FLAT_SCRATCH.enable):
            yield InitialRegisters("flat_scratch", None, FLAT_SCRATCH, 2)
    else:
        for rule in (FLAT_SCRATCH_OFFSET, FLAT_SCRATCH_ABSOLUTE):
            if rule.applies(start):
                yield InitialRegisters("flat_scratch", None, rule, 2)
    yield InitialRegisters("m0", None, M0 if start.processor.major >= 9 else M0_LDS, 1)
    yield InitialRegisters("vcc", None, VCC, words)
    yield InitialRegisters("status", None, STATUS, 1)
