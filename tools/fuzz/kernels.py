"""Random kernels on the machine of dwarfgpu and on the host, with what they leave in memory compared.

clang-22 compiles each file of kernels for x86-64 and for a processor: some files as C, where private objects are
reached by flat addresses, and some as OpenCL C; few with -O0, which is eight times the code, more with -O1 and most
with -O2; some of GFX10 and later for waves of 64 lanes. All 128 lanes must give the same bits, and the numbers that
they change together must be the same. A difference is made small by leaving out statements.
"""

from __future__ import annotations

import copy
import ctypes
import itertools
import random
import shutil
import subprocess
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch.argument_values import array_at
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.isa.decoder import decode, text
from dwarfgpu.program.code.code_object import opened
from fuzz.frame import Asking, Chance, Drive, Setting, Steps, Wrong
from fuzz.random_kernels import CELLS, GROUP, GROUPS, INPUTS, Block, Kernel, kernels, source
from fuzz.running import hashed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CLANG = "clang-22"
PROCESSORS = ("gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1200")
LEVELS = ("O0", *("O1",) * 8, *("O2",) * 31)
"""What is compiled how often: code of -O0 is eight times as much."""
IN_FILE = 25
"""The kernels of a file."""
LIMIT = 20_000_000
"""The instructions after which a kernel is taken for one that does not end."""
PRIVATE = 16384
"""The bytes of private memory of each lane, in which functions call themselves."""
HOSTS = itertools.count()
COMMON = ("-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-w")


class Way(NamedTuple):
    """How a file is compiled for a processor."""

    language: str
    level: str
    processor: str
    lanes: int

    def __str__(self) -> str:
        return f"{self.processor} {self.level} {self.language} wave{self.lanes}"

    def words(self) -> list[str]:
        """Return the options of clang."""
        words = ["-x", self.language, "--target=amdgcn-amd-amdhsa", f"-mcpu={self.processor}", "-nogpulib"]
        words += ["-std=gnu2x"] if self.language == "c" else ["-cl-std=CL2.0", "-cl-fp32-correctly-rounded-divide-sqrt"]
        if not self.processor.startswith("gfx9") and self.lanes == 64:
            words.append("-mwavefrontsize64")
        if self.language == "cl" and self.level != "O0":
            words += ["-mllvm", "-amdgpu-internalize-symbols"]  # else the body of each kernel is there twice
        return [*words, f"-{self.level}", *COMMON]


class NotBuilt(RuntimeError):
    """A file that clang does not compile, as it fails itself now and then."""


class Difference(NamedTuple):
    """A kernel that gives something else than on the host."""

    way: Way
    kernel: Kernel
    reason: str


def way_of(name: str, processor: str) -> Way:
    """Return how a file is compiled."""
    numbers = random.Random(f"{name}/{processor}")
    lanes = 64 if processor.startswith("gfx9") or numbers.random() < 0.2 else 32
    return Way(numbers.choice(("c", "cl")), numbers.choice(LEVELS), processor, lanes)


def compile_with(words: Sequence[str], code: str, path: Path) -> None:
    """Compile a text; raise `NotBuilt` with what clang says if it does not."""
    done = subprocess.run(
        [CLANG, *words, "-", "-o", str(path)], input=code, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotBuilt(f"{CLANG} {' '.join(words)}: {done.stderr[:2000]}")


def inputs(seed: str) -> Any:
    """Return the numbers that kernels read: some random, some small, some at the edges of their types."""
    numbers = np.random.default_rng(sum(seed.encode()))
    words = numbers.integers(0, 1 << 32, INPUTS, np.uint32)
    words[::3] >>= numbers.integers(0, 32, len(words[::3]), np.uint32)
    words[1::7] = numbers.choice(
        np.array([0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x3F800000], np.uint32), len(words[1::7])
    )
    return words


def first_cells() -> Any:
    """Return what the numbers are that lanes change together."""
    cells = np.zeros(CELLS, np.uint64)
    cells[2] = cells[5] = (1 << 64) - 1
    return cells


class Host:
    """A file of kernels on the host."""

    def __init__(self, code: str, folder: Path) -> None:
        path = folder / f"host{next(HOSTS)}.so"  # a process loads each name once
        words = ["-x", "c", "-std=gnu2x", "-O0", "-shared", "-fPIC", "-lm"]
        compile_with([*words, "-Xclang", "-ffloat16-excess-precision=none", *COMMON], code, path)
        self.library = ctypes.CDLL(str(path))

    def run(self, kernel: str, numbers: Any) -> tuple[Any, Any]:
        """Return the results of all lanes, and what they changed together."""
        out, cells, local = np.zeros(GROUP * GROUPS, np.uint64), first_cells(), np.zeros(GROUP + 8, np.uint64)
        arrays = (out, numbers, cells, local)
        getattr(self.library, kernel)(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return out, cells


class Runs:
    """A code object with kernels on one machine."""

    def __init__(self, path: Path, first: str, *, jit: str = "off", is_interpreted: bool = False) -> None:
        self.file = opened(path.read_bytes())
        self.machine = machine_for(self.file, first)
        self.machine.jit, self.machine.keeps_code = jit, False
        self.is_interpreted = is_interpreted
        self.twin = Runs(path, first, jit=jit, is_interpreted=True) if jit != "off" and not is_interpreted else None
        """The same code object, interpreted in the same order, as repeated atomic operations count."""
        self.addresses: list[int] = []
        self.buffers: list[Any] = []

    def run(self, kernel: str, numbers: Any) -> tuple[Any, Any]:
        """Return the results of all lanes, and what they changed together; raise RuntimeError if waves stop."""
        machine = self.machine
        arrays = [np.zeros(GROUP * GROUPS, np.uint64), numbers, first_cells()]
        args = [*(self.addresses or arrays), 8 * (GROUP + 8)]
        launched = launch(
            machine, self.file, kernel, grid=GROUP * GROUPS, work_group=GROUP, args=args, private_size=PRIVATE
        )
        if not self.buffers:
            planned = launched.plan.buffers
            self.addresses = [buffer.address for buffer in planned]
            self.buffers = [array_at(machine.memory, buffer) for buffer in planned]
        for buffer, array in zip(self.buffers, arrays, strict=True):
            buffer[:] = array
        if self.is_interpreted:
            machine.device.use_compiled()
            if machine.device.compiled is not None:
                machine.device.compiled.wait = inf
        halt = machine.run(limit=LIMIT)
        if not halt.has_ended:
            raise RuntimeError(f"{halt}: {self.instruction(halt.pc)}")
        if self.twin is not None:
            self.twin.run(kernel, numbers)
            ends = [(each.device.executed, hashed(each)) for each in (machine, self.twin.machine)]
            if ends[0] != ends[1]:
                raise RuntimeError(f"compiled {ends[0]}, interpreted {ends[1]}")
        return self.buffers[0].copy(), self.buffers[2].copy()

    def instruction(self, address: int | None) -> str:
        """Return the text of an instruction; nothing without an address."""
        if address is None:
            return ""
        target = self.machine.target
        code = bytes(self.machine.memory.read(target.default_space, address, 20, None, None))
        return text(decode(code, 0, target.name.split("-")[1], target.lane_count))


def compared(
    way: Way, code: str, names: Sequence[str], folder: Path, numbers: Any, *, jit: str = "off"
) -> Iterator[tuple[str, str, Any]]:
    """Yield what the kernels give on the machine, or why they did not end: name, reason, results."""
    path = folder / f"{way.processor}.co"
    compile_with(way.words(), code, path)
    runs = Runs(path, names[0], jit=jit)
    for name in names:
        try:
            yield name, "", runs.run(name, numbers)
        except RuntimeError as error:
            yield name, str(error), None
            runs = Runs(path, names[0], jit=jit)


def difference(expected: Any, found: Any) -> str:
    """Return in which lanes and cells results differ."""
    parts = []
    for what, left, right in zip(("lanes", "cells"), expected, found, strict=True):
        wrong = np.nonzero(left != right)[0]
        if len(wrong):
            parts.append(f"{len(wrong)} {what} differ: {wrong[:8].tolist()}")
    return ", ".join(parts)


def differences(name: str, way: Way, folder: Path, *, in_file: int = IN_FILE, jit: str = "off") -> Iterator[Difference]:
    """Compile and run one file of kernels, and yield what is not as on the host."""
    made = kernels(name, in_file)
    code = source(made)
    numbers = inputs(name)
    host = Host(code, folder)
    names = [kernel.name for kernel in made]
    expected = {kernel: host.run(kernel, numbers) for kernel in names}
    runs = compared(way, code, names, folder, numbers, jit=jit)
    for each, (kernel, reason, results) in zip(made, runs, strict=True):
        if reason := reason or difference(expected[kernel], results):
            yield Difference(way, each, reason)


# --- Small kernels ------------------------------------------------------------------------------------------------


def lists_of(statements: list[Any]) -> Iterator[list[Any]]:
    """Yield a list of statements and all lists in it."""
    yield statements
    for statement in statements:
        if isinstance(statement, Block):
            yield from lists_of(statement.body)


def smaller(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the same kernel with something left out: a phase, a statement, a line of a result."""
    for phase, made in enumerate(kernel.phases):
        if len(kernel.phases) > 1:
            yield (less := copy.deepcopy(kernel))
            del less.phases[phase]
        for place, statements in enumerate(lists_of(made.statements)):
            for index in range(len(statements)):
                less = copy.deepcopy(kernel)
                del [*lists_of(less.phases[phase].statements)][place][index]
                yield less
        lines = made.result.split("\n")
        for line in filter(None, lines):
            less = copy.deepcopy(kernel)
            less.phases[phase].result = "\n".join(each for each in lines if each != line)
            yield less


def minimal(name: str, found: Difference, folder: Path) -> Difference:
    """Return the same difference of a kernel with as few statements as will do."""
    numbers = inputs(name)

    def reason_of(kernel: Kernel) -> str:
        code = source([kernel])
        try:
            expected = Host(code, folder).run(kernel.name, numbers)
            ((_name, reason, results),) = compared(found.way, code, [kernel.name], folder, numbers)
        except RuntimeError:  # it cannot be compiled
            return ""
        return reason or difference(expected, results)

    while True:
        for kernel in smaller(found.kernel):
            if reason := reason_of(kernel):
                found = Difference(found.way, kernel, reason)
                break
        else:
            return found


def begin(setting: Setting) -> Steps:
    def steps(chance: Chance) -> Asking:
        name = f"{chance.seed_text}/{chance.number}"
        for processor in setting.only:
            yield processor
            way = way_of(name, processor)
            try:
                for found in differences(name, way, setting.folder, jit=setting.jit):
                    small = found if setting.jit != "off" else minimal(name, found, setting.folder)
                    raise Wrong(f"{way} differs\n{found.kernel.name}: {found.reason}\n{small.kernel.text()}")
            except NotBuilt:
                return "not built"
        return "the same"

    return steps


def processors(names: Sequence[str]) -> Sequence[str]:
    """Return the processors to compile for."""
    if shutil.which(CLANG) is None:
        raise UsageError(f"{CLANG} is not installed")
    return names or PROCESSORS


DRIVE = Drive(begin, processors, seconds=600.0, memory=8 << 30, warm=0)
