"""What commands that read a state share."""

from __future__ import annotations

from dwarfgpu.cli.registry import argument

FORCE = argument("--force", action="store_true", help="use a state although its code has changed")
