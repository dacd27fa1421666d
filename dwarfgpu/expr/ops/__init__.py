"""The operations, one module for each section of A.2.5.4, in the order of the text."""

from __future__ import annotations


def load() -> None:
    """Declare all rows, in the order of the text."""
    from dwarfgpu.expr.ops import (  # noqa: F401  isort:skip
        stack,
        control_flow,
        literals,
        arithmetic,
        conversions,
        special_values,
        general_locations,
        undefined,
        memory,
        registers,
        implicit,
        composite,
    )
