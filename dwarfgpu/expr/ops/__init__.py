"""The operations: a module for each part of A.2.5.4, with the sections of the text in it."""

from __future__ import annotations

MODULES = ("control_flow", "value_operations", "location_operations", "composite")
"""In the order of the text. Importing a module declares its rows."""
