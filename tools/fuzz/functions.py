"""Random functions of LLVM IR on the machine of dwarfgpu and on the host, with what they return compared.

clang-22 compiles a file of functions for x86-64 with -O0, where nothing is folded, and for a processor with -O0 to -O2.
A difference is a mistake of LLVM's folding, of its code, or of the machine.
"""

from __future__ import annotations

import ctypes
import random
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dwarfgpu.execution.launch.argument_values import array_at
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.program.code.code_object import opened
from fuzz.frame import Asking, Chance, Drive, Setting, Steps, Wrong
from fuzz.kernels import HOSTS, LIMIT, NotBuilt, compile_with, inputs, processors
from fuzz.random_functions import WORDS, Function

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PROCESSORS = ("gfx950", "gfx1250")
LANES, IN_FILE = 64, 25
"""The work-items, and the functions of a file."""


class Comparison(NamedTuple):
    """How functions are compared."""

    folder: Path
    processor: str
    level: str
    words: Any

    def on_host(self, functions: Sequence[Function], only: str) -> Any:
        """Return what functions return on the host, a row of each."""
        path = self.folder / f"host{next(HOSTS)}.so"  # a process loads each name once
        text = "\n".join(each.text(is_host=True, only=only) for each in functions)
        compile_with(["-x", "ir", "-O0", "-w", "-shared", "-fPIC", "--rtlib=compiler-rt", "-lm"], text, path)
        library, results = ctypes.CDLL(str(path)), np.zeros((len(functions), LANES), np.uint64)
        for function, row in zip(functions, results, strict=True):
            pointers = ctypes.c_void_p(self.words.ctypes.data), ctypes.c_void_p(row.ctypes.data)
            for lane in range(LANES):
                getattr(library, function.name)(*pointers, lane)
        path.unlink()
        return results

    def on_machine(self, functions: Sequence[Function], only: str) -> Iterator[Any]:
        """Yield what each function returns on the machine, or why it did not end."""
        path = self.folder / f"{self.processor}.functions.co"
        options = ["-x", "ir", f"-{self.level}", "-w", "--target=amdgcn-amd-amdhsa", f"-mcpu={self.processor}"]
        compile_with(
            [*options, "-nogpulib"], "\n".join(each.text(is_host=False, only=only) for each in functions), path
        )
        file = opened(path.read_bytes())
        for each in functions:
            machine, args = machine_for(file, each.name), [self.words, np.zeros(LANES, np.uint64)]
            launched = launch(machine, file, each.name, grid=LANES, work_group=LANES, args=args)
            halt = machine.run(limit=LIMIT)
            yield array_at(machine.memory, launched.plan.buffers[1]).view(np.uint64) if halt.has_ended else str(halt)

    def reasons(self, functions: Sequence[Function], only: str = "") -> Iterator[str]:
        """Yield for each function how its results differ; nothing if they are the same."""
        expected = self.on_host(functions, only)
        for right, found in zip(expected, self.on_machine(functions, only), strict=True):
            wrong = [] if isinstance(found, str) else np.flatnonzero(found != right).tolist()
            yield f"{len(wrong)} lanes differ: {wrong[:8]}" if wrong else found if isinstance(found, str) else ""

    def first(self, function: Function) -> str:
        """Return the first value that differs if the function returns it alone."""
        known = {name for names in function.values.values() for name in names}
        names = [line.split()[0] for line in function.lines if line.split()[0] in known]
        return next((name for name in names if any(self.reasons([function], name))), "no value alone")


def differences(name: str, processor: str, folder: Path, *, in_file: int = IN_FILE) -> Iterator[tuple[Function, str]]:
    """Compile and run a file of functions; yield those that differ, each with the level, how, and the first value."""
    functions = [Function(f"f{number}", random.Random(f"{name}/{number}")) for number in range(in_file)]
    level = random.Random(f"{name}/{processor}").choice(("O0", "O1", "O2", "O2"))
    for function in functions if level == "O0" else ():  # "an unsigned quotient of negative numbers at -O0"
        function.lines = [re.sub(" udiv | urem ", " sub ", line) for line in function.lines]
    comparison = Comparison(folder, processor, level, inputs(name)[: WORDS * LANES])
    for function, reason in zip(functions, comparison.reasons(functions), strict=True):
        if reason:
            yield function, f"{level} {function.name}: {reason}; the first is {comparison.first(function)}"


def begin(setting: Setting) -> Steps:
    def steps(chance: Chance) -> Asking:
        name = f"{chance.seed_text}/{chance.number}"
        for processor in setting.only:
            yield processor
            try:
                for function, reason in differences(name, processor, setting.folder):
                    raise Wrong(f"{processor} differs\n{reason}\n{function.text(is_host=False)}")
            except NotBuilt as error:
                return f"not built: {error}"
        return "the same"

    return steps


DRIVE = Drive(begin, lambda names: processors(names or PROCESSORS), seconds=600.0, memory=8 << 30, warm=0)
