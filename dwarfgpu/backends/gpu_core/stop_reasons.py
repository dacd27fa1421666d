"""The stop reasons of a wave in the registers of its processor: reading them, and writing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.backends.protocol import EXCEPTIONS, REASONS, TRAPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dwarfgpu.backends.gpu_core.layout import CoreFamily

_ENABLED = 12
"""The bit of MODE that enables the first exception of arithmetic; the others follow, then the watchpoints."""

HALT = {"trapsts": ("status", 13), "excp_flag_priv": ("state_priv", 14)}
"""The register and the bit of a wave that is halted."""


def reasons_of(
    family: CoreFamily, trap: int, registers: Mapping[str, int], *, all_enabled: bool = False
) -> tuple[str, ...]:
    """Return the reasons that a trap ID and registers give.

    With ``all_enabled`` exceptions count that the wave has not enabled.
    """
    names: set[str] = set()
    if trap:
        names.add(TRAPS.get(trap, "TRAP"))
    if family.stops == "trapsts":
        enabled = ~0 if all_enabled else registers.get("mode", 0) >> _ENABLED
        names |= _of_trapsts(family, registers.get("trapsts", 0), enabled)
    else:
        enabled = ~0 if all_enabled else registers.get("trap_ctrl", 0)
        names |= _arithmetic(registers.get("excp_flag_user", 0), enabled)
        names |= _of_flags(registers.get("excp_flag_priv", 0), enabled)
    return tuple(name for name in REASONS if name in names)


def _arithmetic(flags: int, enabled: int) -> set[str]:
    """Return the exceptions of arithmetic that are raised and enabled."""
    return {name for bit, name in enumerate(EXCEPTIONS) if flags >> bit & enabled >> bit & 1}


def _of_trapsts(family: CoreFamily, flags: int, enabled: int) -> set[str]:
    """Return the reasons in TRAPSTS. Some of its bits depend on the family."""
    names = _arithmetic(flags, enabled)
    if enabled >> 7 & 1 and flags & (1 << 7 | 7 << 12):
        names.add("WATCHPOINT")
    if flags >> 28 & 1:  # with or without an address error
        names.add("MEMORY_VIOLATION")
    elif flags >> 8 & 1:
        names.add("ADDRESS_ERROR")
    if flags >> 11 & 1:
        names.add("ILLEGAL_INSTRUCTION")
    if any(flags >> bit & 1 for bit in family.begin_end):
        names.add("TRAP")
    if family.single_step is not None and flags >> family.single_step & 1:
        names.add("SINGLE_STEP")
    return names


def _of_flags(flags: int, enabled: int) -> set[str]:
    """Return the reasons in EXCP_FLAG_PRIV."""
    names: set[str] = set()
    if enabled >> 7 & 1 and flags & 0xF:
        names.add("WATCHPOINT")
    if flags >> 12 & 1:
        names.add("MEMORY_VIOLATION")
    elif flags >> 4 & 1:
        names.add("ADDRESS_ERROR")
    if flags >> 6 & 1:
        names.add("ILLEGAL_INSTRUCTION")
    if flags >> 8 & 3:
        names.add("TRAP")
    if flags >> 11 & 1:
        names.add("SINGLE_STEP")
    return names


def flags_of(family: CoreFamily, reasons: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the bits of registers that `reasons_of` reads some reasons from, and the reasons without a bit."""
    arithmetic = sum(1 << bit for bit, name in enumerate(EXCEPTIONS) if name in reasons)
    enabled = arithmetic | ("WATCHPOINT" in reasons) << 7
    known = {*EXCEPTIONS, *TRAPS.values(), "TRAP"}
    if family.stops == "trapsts":
        own = {"WATCHPOINT": 1 << 7, "ADDRESS_ERROR": 1 << 8, "MEMORY_VIOLATION": 1 << 28 | 1 << 8,
               "ILLEGAL_INSTRUCTION": 1 << 11}  # fmt: skip
        if family.single_step is not None:
            own["SINGLE_STEP"] = 1 << family.single_step
        flags = arithmetic | _joined(own, reasons)
        bits = {"trapsts": flags, "mode": enabled << _ENABLED}
    else:
        own = {"WATCHPOINT": 1, "ADDRESS_ERROR": 1 << 4, "MEMORY_VIOLATION": 1 << 12, "ILLEGAL_INSTRUCTION": 1 << 6,
               "SINGLE_STEP": 1 << 11}  # fmt: skip
        bits = {"excp_flag_priv": _joined(own, reasons), "excp_flag_user": arithmetic, "trap_ctrl": enabled}
    return bits, tuple(name for name in reasons if name not in known and name not in own)


def _joined(bits: Mapping[str, int], reasons: tuple[str, ...]) -> int:
    """Return the bits of those reasons that have some."""
    flags = 0
    for name in reasons:
        flags |= bits.get(name, 0)
    return flags
