"""Which repairs of expressions are allowed: what a file is opened with, before an expression of it is read."""

from __future__ import annotations

from dwarfgpu.immutable import frozen


@frozen
class Policy:
    """Which repairs are applied: those that the shape and the code around ask for, or named ones, all, or none."""

    auto: bool = True
    names: tuple[str, ...] = ()


OFF = Policy(auto=False)
AUTO = Policy()
