"""The start of a wave: the facts that the rules of the initial state read.

The rules are in `initial_state`; a caller that launches a kernel, or only explains it, fills in a `Start`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dwarfgpu.targets.amdgpu.geometry import Geometry
    from dwarfgpu.targets.amdgpu.processors import Processor

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
    """The bytes of one wave."""
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


def scratch_descriptor(
    processor: Processor, base: int, size: int, wave_size: int
) -> tuple[int, int, int, int]:
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
