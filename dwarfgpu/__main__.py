"""``python -m dwarfgpu``."""

from __future__ import annotations

import sys

from dwarfgpu.cli import main

if __name__ == "__main__":
    sys.exit(main())
