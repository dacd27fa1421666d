"""The address spaces of AMDGPU.

AMDGPU usage, tables "AMDGPU DWARF Address Space Mapping" (numbers, sizes) and "AMDGPU Address Spaces" (null). The names
are those of ROCgdb (``local#0x10``), the scopes follow from the paragraphs below the first table.
"""

from __future__ import annotations

from attrs import evolve

from dwarfgpu.targets.amdgpu import numbers
from dwarfgpu.targets.amdgpu.alias import PRIVATE_LANE, GenericView, LaneView
from dwarfgpu.targets.amdgpu.apertures import GFX9, SEGMENT_NULL, Apertures
from dwarfgpu.targets.amdgpu.processors import Processor
from dwarfgpu.targets.target import AddressSpace, Scope, Target

#                           number           name           bits null          scope
GLOBAL = AddressSpace(numbers.GLOBAL, "global", 64, 0, Scope.PROCESS)
GENERIC = AddressSpace(numbers.GENERIC, "generic", 64, 0, Scope.DEPENDS, GenericView(GFX9))
REGION = AddressSpace(numbers.REGION, "region", 32, SEGMENT_NULL, Scope.AGENT)  # null: ROCdbgapi's
LOCAL = AddressSpace(numbers.LOCAL, "local", 32, SEGMENT_NULL, Scope.WORKGROUP)
LANE = AddressSpace(numbers.PRIVATE_LANE, "private_lane", 32, SEGMENT_NULL, Scope.LANE, PRIVATE_LANE)
WAVE = AddressSpace(numbers.PRIVATE_WAVE, "private_wave", 32, SEGMENT_NULL, Scope.WAVE)


def lane_space(lane: int) -> AddressSpace:
    """Return ``private_lane<lane>``: "the private address space corresponding to a specific lane"."""
    # The lane is in the number, so an access needs the thread alone.
    number = numbers.PRIVATE_LANE_0 + lane
    return AddressSpace(number, f"private_lane{lane}", 32, SEGMENT_NULL, Scope.WAVE, LaneView(lane))


def spaces(processor: Processor, wave_size: int) -> tuple[AddressSpace, ...]:
    """Return the address spaces of a processor, with a ``private_lane<n>`` for each lane of a wave."""
    generic: tuple[AddressSpace, ...] = ()
    if processor.has("generic"):
        in_queue = processor.has("queue-apertures")
        generic = (evolve(GENERIC, alias=GenericView(None)) if in_queue else GENERIC,)
    lanes = tuple(lane_space(lane) for lane in range(wave_size))
    return (GLOBAL, *generic, REGION, LOCAL, LANE, WAVE, *lanes)


def with_apertures(target: Target, apertures: Apertures) -> Target:
    """Return the target with the apertures of a process, as a queue or a dump gives them."""
    changed = tuple(
        evolve(space, alias=GenericView(apertures)) if space.number == numbers.GENERIC else space
        for space in target.address_spaces
    )
    return evolve(target, address_spaces=changed)
