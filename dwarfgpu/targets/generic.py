"""The target without an architecture: for expressions by themselves, and for files of targets that have no table."""

from __future__ import annotations

from typing import Literal

from dwarfgpu.targets.target import AddressSpace, RegisterFamily, Scope, Target

ADDRESS_SIZES = range(1, 9)


def generic(byte_order: Literal["little", "big"] = "little", address_size: int = 8) -> Target:
    """Return the generic target: one address space, and a register ``r<number>`` for every number."""
    bits = 8 * address_size
    return Target(
        name="generic",
        byte_order=byte_order,
        address_size=address_size,
        lane_count=1,
        default_dialect="gnu",
        default_rules="dwarf5",
        families=(RegisterFamily(0, 1 << 64, "r", bits),),
        # No ABI says which address is null, and A.6.4.1's default rule holds for every register.
        address_spaces=(AddressSpace(0, "default", bits, None, Scope.PROCESS),),
    )
