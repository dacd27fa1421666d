"""dwarfgpu: evaluate the DWARF that GPU compilers emit, without a GPU.

Nothing is imported until it is used, so that ``import dwarfgpu`` and short commands start at once.
"""

from __future__ import annotations

__version__ = "0.1.0"
