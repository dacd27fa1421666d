#!/usr/bin/env python3
"""Damage code objects and check how their code orders memory.

    python3 tools/dev.py fuzz --memmodel --count 20000            that many files
    python3 tools/dev.py fuzz --memmodel --replay 7/123           the file with that number again

Bytes are changed as in `fuzz_judge`. Each file is checked by both rule sets, and its accesses are listed; that must end
with an answer or with a DwarfGpuError, within the limits of `fuzz_loop`.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import fuzz_judge  # which finds the package of this checkout
import fuzz_loop

from dwarfgpu.audits.memory_model.checker import CheckWish, MemoryCheck
from dwarfgpu.audits.memory_model.file_reports import check_code
from dwarfgpu.audits.memory_model.survey import accesses, outstanding_at
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.render.memory_model import ACCESS, REPORT, checked_text

if TYPE_CHECKING:
    import random
    from pathlib import Path

FILES = (
    "amdgpu/ordering.gfx1100.w32.O2.co",
    "amdgpu/ordering.gfx1200.w32.O2.co",
    "amdgpu/ordering.gfx90a.w64.O2.co",
    "llvm24/hip-kernels.gfx942.w64.O0.co",
    "amdgpu/cl-kernels.gfx1100.w32.O0.v5.co",
    "llvm24/hip-calls.gfx1100.w32.O2.o",
)


def begin(folder: Path) -> fuzz_loop.Try:
    """Return what checks one damaged file."""
    subjects = [fuzz_judge.Subject(name) for name in FILES]

    def attempt(numbers: random.Random) -> None:
        path = folder / "k.co"
        path.write_bytes(numbers.choice(subjects).damaged(numbers))
        file = opened(str(path))
        for rule_set in ("llvm22", "text"):
            report = check_code(file, CheckWish(rule_set, search=("fixtures",)))
            list(checked_text([report]))
            json.dumps(REPORT.json(report))
        check = MemoryCheck(file)
        listed = [ACCESS.json(access) for access in accesses(check, None)]
        for access in listed[:5]:
            with suppress(DwarfGpuError):
                outstanding_at(check, int(access["address"], 16))

    return attempt


if __name__ == "__main__":
    sys.exit(fuzz_loop.main(__doc__, begin))
