"""Damaged code objects whose code is checked by both rule sets of the memory model."""

from __future__ import annotations

import json
from contextlib import suppress

from dwarfgpu.audits.memory_model.checker import CheckWish, MemoryCheck
from dwarfgpu.audits.memory_model.file_reports import check_code
from dwarfgpu.audits.memory_model.survey import accesses, outstanding_at
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.memory_model import ACCESS, REPORT, checked_text
from fuzz.damage import Damaged
from fuzz.frame import Asking, Chance, Drive, Setting, Steps

FILES = (
    "amdgpu/ordering.gfx1100.w32.O2.co",
    "amdgpu/ordering.gfx1200.w32.O2.co",
    "amdgpu/ordering.gfx90a.w64.O2.co",
    "llvm24/hip-kernels.gfx942.w64.O0.co",
    "amdgpu/cl-kernels.gfx1100.w32.O0.v5.co",
    "llvm24/hip-calls.gfx1100.w32.O2.o",
)


def begin(setting: Setting) -> Steps:
    subjects = [Damaged(name) for name in FILES]

    def steps(chance: Chance) -> Asking:
        path = setting.folder / "k.co"
        path.write_bytes(chance.choice(subjects).content(chance))
        file = opened(str(path))
        for rule_set in ("llvm22", "text"):
            yield f"check by {rule_set}"
            report = check_code(file, CheckWish(rule_set, search=("fixtures",)))
            list(checked_text([report]))
            json.dumps(REPORT.json(report))
        yield "accesses"
        check = MemoryCheck(file)
        listed = [ACCESS.json(access) for access in accesses(check, None)]
        for access in listed[:5]:
            with suppress(DwarfGpuError):
                outstanding_at(check, int(access["address"], 16))
        return "answered"

    return steps


DRIVE = Drive(begin)
