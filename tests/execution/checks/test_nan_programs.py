"""Programs with one NaN or infinity each, and the same programs mended, by an author who did not know the rules.

Each begins with ``////``, the kernel, the grid, the work-group and what came in, then its arguments, in another line
those of the mended program if they differ. The line that makes the number ends with ``///`` and an operand of it.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for

HERE = Path(__file__).parent
QUICK = "histogram", "e5m2_quantize", "row_entropy"
"""A NaN that a conversion loses, an infinity of integer arithmetic, and one that a function of a library returns."""

UNNAMED = "channel_spread", "recentre"
"""Kernels whose optimized code has no name for the operand: a member of a structure, and a copy of an element."""


class Program(NamedTuple):
    language: str
    kernel: str
    sizes: dict
    args: list
    source: str


def programs():
    for language in ("cl", "hip"):
        for text in re.split(r"(?m)^//// (?=\w+ \w+ grid)", (HERE / f"nan_programs.{language}").read_text())[1:]:
            head, *lines = text.split("\n")
            name, kernel, *words = head.split()
            args = [line[5:].split("; ") for line in lines if line.startswith("//// ")]
            source = "\n".join(line for line in lines if not line.startswith("//// "))
            program = Program(language, kernel, dict(word.split("=", 1) for word in words), args, source)
            yield pytest.param(program, id=name, marks=[] if name in QUICK else pytest.mark.slow)


def found(folder, target, level, program, args, *options):
    path, file = str(folder / f"{program.kernel}.co"), folder / f"{program.kernel}.{program.language}"
    file.write_text("#include <hip/hip_runtime.h>\n" * (program.language == "hip") + program.source)
    assert main(["compile", str(file), f"--target={target}", f"-{level}", "-o", path, "--", *options]) == 0
    sizes = {name: tuple(map(int, program.sizes[name].split(","))) for name in ("grid", "work_group")}
    values = [eval(each, {"np": np}) for each in args]
    running = Running(
        launch(machine_for(path, program.kernel), path, program.kernel, args=values, check="nan", **sizes)
    )
    assert running.run(limit=20_000_000).has_ended
    return check_report(running).findings


@pytest.mark.parametrize("target, level", [
    pytest.param(target, level, marks=[] if (target, level) == ("gfx1200", "O0") else pytest.mark.slow)
    for target in ("gfx942", "gfx1100", "gfx1200", "gfx1250") for level in ("O0", "O2")
])  # fmt: skip
@pytest.mark.parametrize("program", [*programs()])
def test_the_line_and_the_operand_of_a_program_by_someone_else(require_tool, tmp_path, target, level, program):
    require_tool("clang-22")
    assert found(tmp_path, target, level, program, program.args[-1], "-DMENDED") == ()
    rows = found(tmp_path, target, level, program, program.args[0])
    if came := program.sizes.get("came"):
        assert came in rows[0].message
        return
    lines = enumerate(program.source.split("\n"), 1 + (program.language == "hip"))
    line, operand = next((number, line.rpartition("/// ")[2]) for number, line in lines if " /// " in line)
    here = [row for row in rows if row.sides[0].line[1] == line]  # of a NaN, another line may make another one
    assert here
    names = {re.split(r"[.\[]", each.name)[0] for row in here for each in row.operands}
    assert operand.partition(".")[0] in names or (level == "O2" and program.kernel in UNNAMED)
