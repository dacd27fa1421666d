#!/usr/bin/env python3
"""Damage code objects and judge their debugging information.

    python3 tools/dev.py fuzz --judge --count 20000            that many files
    python3 tools/dev.py fuzz --judge --seconds 300 --seed 7   as many as fit
    python3 tools/dev.py fuzz --judge --replay 7/123           the file with that number again

Bytes of a code object are changed, most of them in its code and its debug sections, and a kernel of it runs for some
hundred instructions. Each file must end with findings or with a DwarfGpuError, within the limits of `fuzz_loop`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fuzz_loop  # noqa: E402
from fuzz_cores import EXTREMES  # noqa: E402

from dwarfgpu.audits.judge.judgement import Judge  # noqa: E402
from dwarfgpu.objfile.elf.image import Image  # noqa: E402
from dwarfgpu.render.judging import judgement_json, judgement_text  # noqa: E402
from dwarfgpu.states.program import open_program  # noqa: E402

if TYPE_CHECKING:
    import random

KERNELS = (
    ("llvm24/hip-calls.gfx1100.w32.O0.co", "_Z5callsPiPfi", ["zeros(4096)", "zeros(4096)", "20"]),
    ("llvm24/hip-calls.gfx90a.w64.O2.co", "_Z5callsPiPfi", ["zeros(4096)", "zeros(4096)", "20"]),
    ("llvm24/hip-kernels.gfx1200.w32.O2.co", "_Z9divergentPii", ["zeros(64)", "40"]),
    ("asm/lane-pc.gfx90a.w64.co", "X", ["zeros(64)", "40"]),
    ("amdgpu/cl-kernels.gfx90a.w64.O2.v5.co", "saxpy", ["zeros(64)", "ones(64)", "2", "64"]),
    ("amdgpu/cl-kernels.gfx1100.w32.O0.v5.co", "saxpy", ["zeros(64)", "ones(64)", "2", "64"]),
)
LIMIT = 600
"""How many instructions are executed."""
PARTS = (".text", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_loclists", ".debug_loc", ".debug_frame")
"""The sections that are damaged most often."""


class Subject:
    """A good code object, and the places in it that are damaged most often."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = (ROOT / "fixtures" / name).read_bytes()
        sections = Image(self.data, name=name).sections
        parts = [(each.offset, each.size) for each in sections if each.name in PARTS and each.size]
        self.parts = [*parts, *parts, (0, len(self.data))]

    def damaged(self, numbers: random.Random) -> bytes:
        """Return the file with some bytes changed."""
        data = bytearray(self.data)
        for _ in range(numbers.choice((1, 1, 2, 4, 16))):
            start, size = numbers.choice(self.parts)
            width = numbers.choice((1, 1, 1, 2, 4, 8))
            at = start + numbers.randrange(size)
            value = numbers.choice(EXTREMES) if numbers.random() < 0.5 else numbers.getrandbits(64)
            if numbers.random() < 0.3:
                value = int.from_bytes(data[at : at + width], "little") ^ 1 << numbers.randrange(8 * width)
            data[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")[: len(data) - at]
        return bytes(data)


def begin(folder: Path) -> fuzz_loop.Try:
    """Return what judges one damaged file."""
    subjects = [(Subject(name), kernel, arguments) for name, kernel, arguments in KERNELS]

    def attempt(numbers: random.Random) -> None:
        subject, kernel, arguments = numbers.choice(subjects)
        path = folder / "k.co"
        path.write_bytes(subject.damaged(numbers))
        judge(str(path), kernel, arguments, repair=numbers.choice(("auto", "off")))

    return attempt


def judge(path: str, kernel: str, arguments: list[str], repair: str) -> None:
    """Judge a kernel, and write what is found as text and as JSON."""
    from dwarfgpu.execution.control.running import launched_with

    program = open_program(path, repair=repair)
    options = {"grid": "64", "work-group": "64"}
    running = launched_with(program, kernel, arguments, options.get)
    judgement = Judge(running).run(LIMIT)
    for _line in judgement_text(judgement, judgement.report, shows_all=True):
        pass
    json.dumps(judgement_json(judgement, judgement.report, made=(), kernels=[judgement.total(kernel)]))


if __name__ == "__main__":
    sys.exit(fuzz_loop.main(__doc__, begin))
