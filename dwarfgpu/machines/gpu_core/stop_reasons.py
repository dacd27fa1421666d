"""The stop reasons of a wave in the registers of its processor: reading them, and writing them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.machines.protocol import EXCEPTIONS, REASONS, TRAP_REASONS, TRAPS, UNKNOWN_TRAP

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.layout import CoreFamily
    from dwarfgpu.machines.protocol import TrapTable

HALT = {"trapsts": ("status", 13), "excp_flag_priv": ("state_priv", 14)}
"""The register and the bit of a wave that is halted."""

IN_BARRIER = ("status", 12)
"""The register and the bit of a wave that waits at a barrier, before GFX12."""
BARRIER_COMPLETE, BARRIER_VALID = ("state_priv", 2), ("barrier_state", 0)
"""Those of a wave that need not wait any more, and of the barrier of its work-group, from GFX12 on."""
BARRIER_BITS = {name: 1 << bit for name, bit in (IN_BARRIER, BARRIER_COMPLETE, BARRIER_VALID)}
BARRIER_WAIT = b"\xff\xff\x94\xbf"
"""`s_barrier_wait -1`, at which a wave that waits stands on GFX12: what restores it executes it again."""

STOP_REGISTERS = "trapsts", "mode", "trap_ctrl", "excp_flag_priv", "excp_flag_user", *BARRIER_BITS
"""The registers that say why a wave has stopped, or that it waits."""

_ENABLES = {"trapsts": ("mode", 12), "excp_flag_priv": ("trap_ctrl", 0)}
"""The register and the bit that enables the first exception of arithmetic; the others follow, then the watchpoints."""


@frozen
class ReasonBits:
    """The bits of a register that say one reason."""

    register: str
    reason: str
    bits: int
    """One of them says it."""
    written: int
    """Those that are written for it; 0 where another number says it as well."""
    enable: int | None = None
    """Which of the bits that enable exceptions it needs."""


def _reason_bits(family: CoreFamily) -> tuple[ReasonBits, ...]:
    """Return where the registers of a family say reasons."""
    return _rows(family.stops, family.begin_end, family.single_step)


@cache
def _rows(where: str, begins: tuple[int, ...], single_step: int | None) -> tuple[ReasonBits, ...]:
    if where == "trapsts":
        begin_end = sum(1 << bit for bit in begins)
        step = 0 if single_step is None else 1 << single_step
        rows = (
            ("WATCHPOINT", 1 << 7 | 7 << 12, 1 << 7, 7), ("MEMORY_VIOLATION", 1 << 28, 1 << 28 | 1 << 8, None),
            ("ADDRESS_ERROR", 1 << 8, 1 << 8, None), ("ILLEGAL_INSTRUCTION", 1 << 11, 1 << 11, None),
            ("TRAP", begin_end, 0, None), ("SINGLE_STEP", step, step, None),
        )  # fmt: skip
    else:
        rows = (
            ("WATCHPOINT", 0xF, 1, 7), ("MEMORY_VIOLATION", 1 << 12, 1 << 12, None),
            ("ADDRESS_ERROR", 1 << 4, 1 << 4, None), ("ILLEGAL_INSTRUCTION", 1 << 6, 1 << 6, None),
            ("TRAP", 3 << 8, 0, None), ("SINGLE_STEP", 1 << 11, 1 << 11, None),
        )  # fmt: skip
    arithmetic = "trapsts" if where == "trapsts" else "excp_flag_user"
    return (
        *(ReasonBits(arithmetic, name, 1 << bit, 1 << bit, bit) for bit, name in enumerate(EXCEPTIONS)),
        *(ReasonBits(where, *row) for row in rows if row[1]),
    )


def reasons_of(
    family: CoreFamily, trap: int, registers: Mapping[str, int], *, traps: TrapTable = TRAPS
) -> tuple[str, ...]:
    """Return the reasons that a trap ID and registers give; ``traps`` are those of the code that the wave executes."""
    register, first = _ENABLES[family.stops]
    enabled = registers.get(register, 0) >> first
    names = {traps.get(trap, UNKNOWN_TRAP).reason} if trap else set()
    for row in _reason_bits(family):
        if registers.get(row.register, 0) & row.bits and (row.enable is None or enabled >> row.enable & 1):
            names.add(row.reason)
    if "MEMORY_VIOLATION" in names:  # with or without an address error
        names.discard("ADDRESS_ERROR")
    return tuple(name for name in REASONS if name in names)


def is_waiting(family: CoreFamily, registers: Mapping[str, int], code: bytes | None) -> bool:
    """Return whether registers say that a wave waits at a barrier, with the code at its program counter on GFX12."""
    in_barrier, is_complete, is_valid = (bool(registers.get(name, 0) & bit) for name, bit in BARRIER_BITS.items())
    return in_barrier if family.stops == "trapsts" else code == BARRIER_WAIT and is_valid and not is_complete


def flags_of(family: CoreFamily, reasons: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the bits of registers that `reasons_of` reads some reasons from, and the reasons without a bit."""
    rows = _reason_bits(family)
    register, first = _ENABLES[family.stops]
    flags = dict.fromkeys((register, *(row.register for row in rows)), 0)
    for row in rows:
        if row.reason in reasons:
            flags[row.register] |= row.written
            if row.enable is not None:
                flags[register] |= 1 << row.enable + first
    known = {row.reason for row in rows} | TRAP_REASONS
    return flags, tuple(name for name in reasons if name not in known)
