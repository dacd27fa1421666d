"""Why a wave has stopped, in the words of ROCgdb's library (``amd_dbgapi_wave_stop_reasons_t``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dwarfgpu.backends.gpu_core.layout import CoreFamily

REASONS = (
    "BREAKPOINT", "WATCHPOINT", "SINGLE_STEP", "FP_INPUT_DENORMAL", "FP_DIVIDE_BY_0", "FP_OVERFLOW", "FP_UNDERFLOW",
    "FP_INEXACT", "FP_INVALID_OPERATION", "INT_DIVIDE_BY_0", "DEBUG_TRAP", "ASSERT_TRAP", "TRAP", "MEMORY_VIOLATION",
    "ADDRESS_ERROR", "ILLEGAL_INSTRUCTION", "ECC_ERROR", "FATAL_HALT",
)  # fmt: skip
"""The reasons in the order of their bits."""
_EXCEPTIONS = (
    "FP_INVALID_OPERATION", "FP_INPUT_DENORMAL", "FP_DIVIDE_BY_0", "FP_OVERFLOW", "FP_UNDERFLOW", "FP_INEXACT",
    "INT_DIVIDE_BY_0",
)  # fmt: skip
"""The exceptions of arithmetic, bits 0 to 6 of TRAPSTS and of EXCP_FLAG_USER."""
TRAPS = {1: "BREAKPOINT", 2: "ASSERT_TRAP", 3: "DEBUG_TRAP"}
"""The reasons of ``s_trap``, by its number; of others it is TRAP."""
TRAP_REASONS = frozenset((*TRAPS.values(), "TRAP"))
"""The reasons of waves that have executed ``s_trap``."""
_ENABLED = 12
"""The bit of MODE that enables the first exception of arithmetic; the others follow, then the watchpoints."""

HALT = {"trapsts": ("status", 13), "excp_flag_priv": ("state_priv", 14)}
"""The register and the bit of a wave that is halted."""
SIGNALS = (
    (frozenset(("MEMORY_VIOLATION", "ADDRESS_ERROR")), "SIGSEGV"),
    (frozenset(("ILLEGAL_INSTRUCTION",)), "SIGILL"),
    (frozenset(_EXCEPTIONS), "SIGFPE"),
    (frozenset(("ECC_ERROR",)), "SIGBUS"),
    (frozenset(("ASSERT_TRAP", "FATAL_HALT")), "SIGABRT"),
    (TRAP_REASONS | {"WATCHPOINT", "SINGLE_STEP"}, "SIGTRAP"),
)  # fmt: skip
"""The signals that ROCgdb shows for reasons; the first that fits."""


@frozen
class WaveStop:
    """The state of a wave."""

    is_stopped: bool
    """Whether a trap handler or a debugger has stopped it; else it was saved while it ran."""
    reasons: tuple[str, ...]
    """Why; of a wave that was not stopped what its registers say has been raised."""
    was_halted: bool = False
    """Whether it was halted before it was stopped."""
    never_ran: bool = False
    """Whether it was launched halted and has executed nothing."""

    @property
    def text(self) -> str:
        """The reasons as a text."""
        names = "|".join(self.reasons)
        if self.never_ran:
            return "launched halted, never ran"
        if self.is_stopped:
            return names or "stopped"
        return f"not stopped, raised {names}" if names else "not stopped"

    @property
    def signal(self) -> str | None:
        """The signal that ROCgdb shows."""
        return next((name for reasons, name in SIGNALS if reasons & set(self.reasons)), None)


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
    return {name for bit, name in enumerate(_EXCEPTIONS) if flags >> bit & enabled >> bit & 1}


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
