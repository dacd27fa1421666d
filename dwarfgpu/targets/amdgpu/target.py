"""AMDGPU targets: a processor, a wave size, and the settings of a target ID."""

from __future__ import annotations

from dwarfgpu.targets.amdgpu import numbers
from dwarfgpu.targets.amdgpu.processors import Processor
from dwarfgpu.targets.amdgpu.registers import (
    STACK_POINTER,
    families,
    named_if_changed,
    same_value,
    stack_scale,
    unnumbered,
)
from dwarfgpu.targets.amdgpu.spaces import spaces
from dwarfgpu.targets.target import Target


def target_name(processor: Processor, wave_size: int) -> str:
    """Return the canonical name, with the wave size if the processor has more than one."""
    suffix = f"-wave{wave_size}" if len(processor.wave_sizes) > 1 else ""
    return f"amdgcn-{processor.name}{suffix}"


def amdgpu_target(processor: Processor, wave_size: int, features: tuple[str, ...] = ()) -> Target:
    """Return the target of a processor that executes waves of one of its sizes."""
    return Target(
        name=target_name(processor, wave_size),
        byte_order="little",  # ELFDATA2LSB, table "AMDGPU ELF Header"
        address_size=8,  # "Only 64-bit process address spaces are supported for the amdgcn target"
        lane_count=wave_size,
        default_dialect="llvm-user",
        default_rules="amd",
        families=families(processor, wave_size),
        address_spaces=spaces(processor, wave_size),
        same_value=same_value(processor, wave_size),
        named_if_changed=named_if_changed(processor, wave_size),
        stack_pointer=STACK_POINTER,
        stack_scale=stack_scale(processor, wave_size),
        program_counter=numbers.PC_64,
        execution_mask=numbers.EXEC_32 if wave_size == 32 else numbers.EXEC_64,
        unnumbered=unnumbered(processor),
        features=features,
    )
