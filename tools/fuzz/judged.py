"""Damaged code objects whose debugging information is judged: a kernel runs for some hundred instructions."""

from __future__ import annotations

import json

from dwarfgpu.audits.judge.judgement import Judge
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.questions.judging import judgement_json, judgement_text
from dwarfgpu.states.program import open_program
from fuzz.damage import Damaged
from fuzz.frame import Asking, Chance, Drive, Setting, Steps

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


def begin(setting: Setting) -> Steps:
    subjects = [(Damaged(name), kernel, arguments) for name, kernel, arguments in KERNELS]

    def steps(chance: Chance) -> Asking:
        subject, kernel, arguments = chance.choice(subjects)
        path = setting.folder / "k.co"
        path.write_bytes(subject.content(chance))
        yield "judge"
        program = open_program(str(path), repair=chance.choice(("auto", "off")))
        running = launched_with(program, kernel, arguments, {"grid": "64", "work-group": "64"}.get)
        judgement = Judge(running).run(LIMIT)
        list(judgement_text(judgement, judgement.report, shows_all=True))
        json.dumps(judgement_json(judgement, judgement.report, made=(), kernels=[judgement.total(kernel)]))
        return "answered"

    return steps


DRIVE = Drive(begin)
