"""The rules of the initial state: what registers hold at the first instruction, in the order of the documents.

AMDGPU usage, "Initial Kernel Execution State" and "Kernel Prolog", of 2020 and of LLVM 22; for ``amd_kernel_code_t``
the AMDGPU Compute ABI 0.40, "Initial kernel register state". Which registers these are follows in `initial_state`. What
a rule computes is right for one wave and for arrays of waves (`geometry.Place`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.targets.amdgpu.modes import mode
from dwarfgpu.targets.amdgpu.start import DWORD, align

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.targets.amdgpu.geometry import Place
    from dwarfgpu.targets.amdgpu.start import Start

    Words = tuple[Any, ...]
    """32-bit numbers or arrays of them, one a register."""

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
class Rule:
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
    words: Callable[[Start, Place], Words]
    applies: Callable[[Start], bool] = lambda _start: True
    is_number: bool = True
    """Whether the words are one number, and not one each."""


def _no_words(_start: Start, _place: Place) -> Words:
    """Return no words: the registers are not set, or differ from lane to lane."""
    return ()


def _pair(number: Any) -> Words:
    return number & MASK, number >> 32 & MASK


# --- The user SGPRs, set by CP ------------------------------------------------------------------------------------


def _private_size(start: Start, _place: Place) -> Words:
    return (align(start.private_segment_size, DWORD),)


def _group_count(axis: int) -> Callable[[Start, Place], Words]:
    return lambda start, _place: (start.geometry.groups[axis],)


def _preloaded(start: Start, _place: Place) -> Words:
    first = start.field("KERNARG_PRELOAD_SPEC_OFFSET") * DWORD
    length = start.field("KERNARG_PRELOAD_SPEC_LENGTH") * DWORD
    data = start.kernarg_bytes[first : first + length].ljust(length, b"\0")
    return tuple(int.from_bytes(data[at : at + DWORD], "little") for at in range(0, length, DWORD))


USER_SGPRS: tuple[Rule, ...] = (
    Rule(
        "Private Segment Buffer", "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 4, CP, STATE,
        "V# of the scratch memory of the queue: amd_queue_t.scratch_resource_descriptor",
        lambda start, _: start.scratch.descriptor,
        lambda start: not start.processor.has("flat-architected"), is_number=False,
    ),
    Rule(
        "Private Segment Buffer", "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", 4, NOBODY,
        f"{PROLOG}, Private Segment Buffer", "not supported by this processor", _no_words,
        lambda start: start.processor.has("flat-architected"),
    ),
    Rule(
        "Dispatch Ptr", "ENABLE_SGPR_DISPATCH_PTR", 2, CP, STATE,
        "address of the AQL dispatch packet", lambda start, _: _pair(start.packet),
    ),
    Rule(
        "Queue Ptr", "ENABLE_SGPR_QUEUE_PTR", 2, CP, STATE,
        "address of the amd_queue_t", lambda start, _: _pair(start.queue),
    ),
    Rule(
        "Kernarg Segment Ptr", "ENABLE_SGPR_KERNARG_SEGMENT_PTR", 2, CP, STATE,
        "address of the kernarg segment: kernarg_address of the packet", lambda start, _: _pair(start.kernarg),
    ),
    Rule(
        "Dispatch Id", "ENABLE_SGPR_DISPATCH_ID", 2, CP, STATE,
        "dispatch ID of the packet: its index in the queue", lambda start, _: _pair(start.dispatch_id),
    ),
    Rule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, CP, f"{STATE}, GFX7-GFX8",
        "byte offset of the queue's scratch memory from SH_HIDDEN_PRIVATE_BASE_VIMID; bytes of one work-item",
        lambda start, place: (start.scratch.offset, *_private_size(start, place)),
        lambda start: start.processor.has("flat-offset"), is_number=False,
    ),
    Rule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, CP, f"{STATE}, GFX9-GFX10",
        "address of the queue's scratch memory", lambda start, _: _pair(start.scratch.base),
        lambda start: start.processor.has("flat-absolute"),
    ),
    Rule(
        "Flat Scratch Init", "ENABLE_SGPR_FLAT_SCRATCH_INIT", 2, NOBODY, f"{STATE}, Flat Scratch Init",
        "not supported by this processor", _no_words,
        lambda start: not (start.processor.has("flat-offset") or start.processor.has("flat-absolute")),
    ),
    Rule(
        "Private Segment Size", "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE", 1, CP, STATE,
        "bytes of private memory of one work-item, a multiple of 4", _private_size,
    ),
    Rule(
        "Grid Work-Group Count X", "ENABLE_SGPR_GRID_WORKGROUP_COUNT_X", 1, CP, COMPUTE_ABI,
        "work-groups of the grid in X, with a partial one", _group_count(0),
    ),
    Rule(
        "Grid Work-Group Count Y", "ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y", 1, CP, COMPUTE_ABI,
        "work-groups of the grid in Y, with a partial one", _group_count(1),
    ),
    Rule(
        "Grid Work-Group Count Z", "ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z", 1, CP, COMPUTE_ABI,
        "work-groups of the grid in Z, with a partial one", _group_count(2),
    ),
)  # fmt: skip


def preload_rule(start: Start) -> Rule:
    """Return the rule of the preloaded arguments of a kernel."""
    offset = start.field("KERNARG_PRELOAD_SPEC_OFFSET") * DWORD
    meaning = f"the kernarg segment from byte {offset}"
    length = start.field(KERNARG_PRELOAD)
    return Rule(
        "Preloaded Kernargs", KERNARG_PRELOAD, length, CP, PRELOAD, meaning, _preloaded, is_number=False
    )


KERNARG_PRELOAD = "KERNARG_PRELOAD_SPEC_LENGTH"
PADDING = Rule(
    "(padding)", "", 0, NOBODY, f"{DESCRIPTOR}, USER_SGPR_COUNT",
    "counted by USER_SGPR_COUNT but enabled by no field", lambda _start, _: (0,) * 64,
)  # fmt: skip

# --- The system SGPRs, set by ADC and SPI -------------------------------------------------------------------------


def _group_id(axis: int) -> Callable[[Start, Place], Words]:
    return lambda _start, place: (place.group[axis],)


def _group_info(start: Start, place: Place) -> Words:
    first = (place.wave == 0) * (1 << 31)
    return (first + start.geometry.waves_of(place.group),)  # ordered_append_term is 0: nothing is appended


def _wave_offset(start: Start, place: Place) -> Words:
    return (place.number * start.scratch.wave_bytes,)


def _ids_in_sgprs(start: Start) -> bool:
    return not start.processor.has("ttmp-ids")


SYSTEM_SGPRS: tuple[Rule, ...] = (
    *(
        Rule(
            f"Work-Group Id {axis.upper()}", f"ENABLE_SGPR_WORKGROUP_ID_{axis.upper()}", 1, ADC, STATE,
            f"work-group ID in {axis.upper()}", _group_id("xyz".index(axis)), _ids_in_sgprs,
        )
        for axis in "xyz"
    ),
    Rule(
        "Work-Group Info", "ENABLE_SGPR_WORKGROUP_INFO", 1, ADC, STATE,
        "{first_wavefront, 14'b0000, ordered_append_term[10:0], threadgroup_size_in_wavefronts[5:0]}", _group_info,
    ),
    Rule(
        "Scratch Wavefront Offset", "ENABLE_PRIVATE_SEGMENT", 1, SPI, STATE,
        "byte offset of the wave's scratch memory from that of the queue", _wave_offset,
        lambda start: not start.processor.has("flat-architected"),
    ),
)  # fmt: skip


# OPEN: the editions of AMDGPU usage do not mention TTMP registers. These rules are what LLVM's code reads; where the ID
# in Z is not enabled it takes the whole of TTMP7 for the one in Y.


def _ttmp7(start: Start, place: Place) -> Words:
    y = place.group[1] * start.field("ENABLE_SGPR_WORKGROUP_ID_Y")
    z = place.group[2] * start.field("ENABLE_SGPR_WORKGROUP_ID_Z")
    return (y + z * (1 << 16),)


TTMPS: tuple[tuple[int, Rule], ...] = (
    (7, Rule(
        "Work-Group Id Y, Z", "", 1, ADC, f"{LLVM}: hasArchitectedSGPRs",
        "work-group ID in Y in bits 15:0, in Z in bits 31:16; 0 where it is not enabled", _ttmp7,
    )),
    (8, Rule(
        "Wave Id", "", 1, SPI, f"{LLVM}: hasArchitectedSGPRs",
        "number of the wave in its work-group in bits 29:25", lambda _start, place: (place.wave * (1 << 25),),
    )),
    (9, Rule(
        "Work-Group Id X", "ENABLE_SGPR_WORKGROUP_ID_X", 1, ADC, f"{LLVM}: hasArchitectedSGPRs",
        "work-group ID in X", _group_id(0),
    )),
)  # fmt: skip

# --- Vector registers, set by SPI ---------------------------------------------------------------------------------

ITEM_IDS = "ENABLE_VGPR_WORKITEM_ID"


PACKED_IDS = Rule(
    "Work-Item Id X, Y, Z", "", 1, SPI, f"{STATE}, Packed Work-Item ID Method",
    "work-item IDs: X in bits 9:0, Y in bits 19:10, Z in bits 29:20; 0 where it is not enabled", _no_words,
)  # fmt: skip
SEPARATE_IDS: tuple[Rule, ...] = tuple(
    Rule(
        f"Work-Item Id {axis}", ITEM_IDS if axis != "X" else "", 1, SPI, f"{STATE}, VGPR Register Set Up Order",
        f"work-item ID in {axis}", _no_words,
    )
    for axis in "XYZ"
)  # fmt: skip


# --- Other registers ----------------------------------------------------------------------------------------------


def first_instruction(start: Start) -> int:
    """Return the address of the first instruction."""
    skipped = 256 if start.field(KERNARG_PRELOAD) and start.processor.has("preload-prolog") else 0
    return start.entry + skipped


def _exec(start: Start, place: Place) -> Words:
    lanes = start.geometry.lanes_of(place)
    high = (lanes > 32) * (lanes - 32)
    return (1 << (lanes - high)) - 1, (1 << high) - 1


def _flat_scratch(start: Start, place: Place) -> Words:
    return _pair(start.scratch.base + place.number * start.scratch.wave_bytes)


PC = Rule(
    "PC", "", 2, SPI, f"{DESCRIPTOR}, KERNEL_CODE_ENTRY_BYTE_OFFSET",
    "first instruction of the kernel", lambda start, _: _pair(first_instruction(start)),
)  # fmt: skip
PC_PRELOADED = Rule(
    "PC", "", 2, SPI, PRELOAD,
    "entry of the kernel + 256: CP skips what loads the arguments for firmware that does not preload",
    PC.words,
)  # fmt: skip
EXEC = Rule(
    "EXEC", "", 2, SPI, 'AMDGPU usage, "Kernel Dispatch"', "a bit for each lane that has a work-item", _exec
)
MODE = Rule(
    "MODE", "", 1, SPI, f"{DESCRIPTOR}, compute_pgm_rsrc1", "float modes of the descriptor",
    lambda start, _: (mode(start.fields),),
)  # fmt: skip
FLAT_SCRATCH = Rule(
    "FLAT_SCRATCH", "ENABLE_PRIVATE_SEGMENT", 2, SPI, f"{PROLOG}, Flat Scratch: Architected flat scratch",
    "address of the wave's scratch memory", _flat_scratch,
)  # fmt: skip


FLAT_SCRATCH_OFFSET = Rule(
    "FLAT_SCRATCH", "", 2, NOBODY, f"{PROLOG}, Flat Scratch: Offset flat scratch",
    "the prolog sets FLAT_SCRATCH_HI to (Flat Scratch Init[0] + Scratch Wavefront Offset) >> 8 and FLAT_SCRATCH_LO to"
    " Flat Scratch Init[1]",
    _no_words, lambda start: start.processor.has("flat-offset"),
)  # fmt: skip
FLAT_SCRATCH_ABSOLUTE = Rule(
    "FLAT_SCRATCH", "", 2, NOBODY, f"{PROLOG}, Flat Scratch: Absolute flat scratch",
    "the prolog sets it to Flat Scratch Init + Scratch Wavefront Offset",
    _no_words, lambda start: start.processor.has("flat-absolute"),
)  # fmt: skip
M0 = Rule("M0", "", 1, NOBODY, f"{PROLOG}, M0", "not used for range checking LDS accesses", _no_words)
M0_LDS = Rule(
    "M0", "", 1, NOBODY, f"{PROLOG}, M0",
    "the prolog sets it to the LDS size of the packet or above, if LDS is accessed: at most 0x7fff on GFX6, 0xffff on"
    " GFX7-GFX8",
    _no_words,
)  # fmt: skip
VCC = Rule("VCC", "", 2, NOBODY, STATE, "the documents do not mention it", _no_words)
STATUS = Rule("STATUS", "", 1, NOBODY, STATE, "the documents do not mention it; bit 0 is SCC", _no_words)
