"""The demonstration of the README: `dwarfgpu demo`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dwarfgpu.cli import main

if __name__ == "__main__":
    sys.exit(main(["demo"]))
