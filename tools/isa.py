#!/usr/bin/env python3
"""Write the opcode tables of dwarfgpu/isa by asking LLVM about every opcode of every format, or check them.

    python3 tools/dev.py isa                       write dwarfgpu/isa/gfx*.txt
    python3 tools/dev.py isa --check               compare them with what LLVM says
    python3 tools/dev.py isa --check --random N    and decode N random words for each processor with both
    python3 tools/dev.py isa --only gfx90a         only for some processors (with --check)

The disassembler of libLLVM 22 is asked through ctypes. How an operand is read is found by varying its field: the kind whose texts are the same for
all probed codes is the one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
