"""The operations, one module for each section of A.2.5.4."""

from __future__ import annotations

MODULES = (
    "stack",
    "control_flow",
    "literals",
    "arithmetic",
    "conversions",
    "special_values",
    "general_locations",
    "undefined",
    "memory",
    "registers",
    "implicit",
    "composite",
)
"""In the order of the text. Importing a module declares its rows."""
