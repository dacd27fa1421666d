"""Which repairs of expressions are allowed: what a file is opened with, before an expression of it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.program.code.repairs import Repair


@frozen
class Policy:
    """Which repairs are applied: those that the shape and the code around ask for, or named ones, all, or none."""

    auto: bool = True
    names: tuple[str, ...] = ()

    def allows(self, repair: Repair, producer: str | None) -> bool:
        """Whether a repair may be applied to an expression of a producer."""
        if repair.name in self.names:
            return True
        return self.auto and not repair.is_excluded(producer)


OFF = Policy(auto=False)
AUTO = Policy()
