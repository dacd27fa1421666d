#!/usr/bin/env python3
"""Run random kernels on the machine of dwarfgpu and on the host, and compare what they leave in memory.

    python3 tools/dev.py fuzz --kernels --count 200 --seed 7
    python3 tools/dev.py fuzz --kernels --seed C --first 9 --count 25 --processor gfx1100    file C/9 alone, there
    python3 tools/dev.py fuzz --kernels --compiled --count 50      compiled blocks, against the host and the interpreter

tools/random_kernels.py makes the kernels, some in a file. clang-22 compiles each file for x86-64 and for every
processor: some files as C, where private objects are reached by flat addresses, and some as OpenCL C; few with -O0,
which is eight times the code, more with -O1 and most with -O2; some of GFX10 and later for waves of 64 lanes. All 128
lanes must give the same bits, and the numbers that they change together must be the same. A difference is made small by
leaving out statements, printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import numpy as np  # noqa: E402
from fuzz_running import hashed  # noqa: E402
from random_kernels import CELLS, GROUP, GROUPS, INPUTS, Block, Kernel, kernels, source  # noqa: E402

from dwarfgpu.execution.launch.argument_values import array_at  # noqa: E402
from dwarfgpu.execution.launch.launch import launch, machine_for  # noqa: E402
from dwarfgpu.isa.decoder import decode, text  # noqa: E402
from dwarfgpu.program.code.code_object import opened  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLANG = "clang-22"
PROCESSORS = ("gfx90a", "gfx1030", "gfx1100", "gfx1200")
LEVELS = ("O0", *("O1",) * 8, *("O2",) * 31)
"""What is compiled how often: code of -O0 is eight times as much."""
IN_FILE = 25
"""The kernels of a file."""
LIMIT = 20_000_000
"""The instructions after which a kernel is taken for one that does not end."""
PRIVATE = 16384
"""The bytes of private memory of each lane, in which functions call themselves."""
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


def way_of(seed: str, number: int, processor: str) -> Way:
    """Return how a file is compiled."""
    numbers = random.Random(f"{seed}/{number}/{processor}")
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

    def __init__(self, code: str, folder: Path, name: str) -> None:
        path = folder / f"{name}.so"
        words = [
            "-x",
            "c",
            "-std=gnu2x",
            "-O0",
            "-shared",
            "-fPIC",
            "-lm",
            "-Xclang",
            "-ffloat16-excess-precision=none",
        ]
        compile_with([*words, *COMMON], code, path)
        self.library = ctypes.CDLL(str(path))

    def run(self, kernel: str, numbers: Any) -> tuple[Any, Any]:
        """Return the results of all lanes, and what they changed together."""
        out, cells, local = np.zeros(GROUP * GROUPS, np.uint64), first_cells(), np.zeros(GROUP + 8, np.uint64)
        arrays = (out, numbers, cells, local)
        getattr(self.library, kernel)(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return out, cells


class Runs:
    """A code object with kernels on one machine."""

    def __init__(self, path: Path, first: str, *, is_compiled: bool = False) -> None:
        self.file = opened(path.read_bytes())
        self.machine = machine_for(self.file, first)
        self.machine.jit, self.machine.keeps_code = "on" if is_compiled else "off", False
        self.twin = Runs(path, first) if is_compiled else None
        """The same code object, interpreted."""
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
    way: Way, code: str, names: Sequence[str], folder: Path, numbers: Any, *, is_compiled: bool = False
) -> Iterator[tuple[str, str, Any]]:
    """Yield what the kernels give on the machine, or why they did not end: name, reason, results."""
    path = folder / f"{way.processor}.co"
    compile_with(way.words(), code, path)
    runs = Runs(path, names[0], is_compiled=is_compiled)
    for name in names:
        try:
            yield name, "", runs.run(name, numbers)
        except RuntimeError as error:
            yield name, str(error), None
            runs = Runs(path, names[0], is_compiled=is_compiled)


def difference(expected: Any, found: Any) -> str:
    """Return in which lanes and cells results differ."""
    parts = []
    for what, left, right in zip(("lanes", "cells"), expected, found, strict=True):
        wrong = np.nonzero(left != right)[0]
        if len(wrong):
            parts.append(f"{len(wrong)} {what} differ: {wrong[:8].tolist()}")
    return ", ".join(parts)


def differences(
    seed: str,
    number: int,
    processors: Sequence[str],
    folder: Path,
    *,
    in_file: int = IN_FILE,
    is_compiled: bool = False,
) -> tuple[list[Difference], Counter[str]]:
    """Compile and run one file of kernels; return what is not as on the host, and how many ran on each processor."""
    made = kernels(f"{seed}/{number}", in_file)
    code = source(made)
    numbers = inputs(f"{seed}/{number}")
    host = Host(code, folder, f"host{number}")
    names = [kernel.name for kernel in made]
    expected = {name: host.run(name, numbers) for name in names}
    found = []
    counts: Counter[str] = Counter()
    for processor in processors:
        way = way_of(seed, number, processor)
        try:
            runs = compared(way, code, names, folder, numbers, is_compiled=is_compiled)
            for kernel, (name, reason, results) in zip(made, runs, strict=True):
                counts[processor] += 1
                if reason := reason or difference(expected[name], results):
                    found.append(Difference(way, kernel, reason))
        except NotBuilt as error:
            print(f"file {seed}/{number}, {way} is not built: {str(error)[:300]}", file=sys.stderr)
            counts["not built"] += in_file
    return found, counts


# --- Small kernels ------------------------------------------------------------------------------------------------


def lists_of(statements: list[Any]) -> Iterator[list[Any]]:
    """Yield a list of statements and all lists in it."""
    yield statements
    for statement in statements:
        if isinstance(statement, Block):
            yield from lists_of(statement.body)


def minimal(seed: str, number: int, found: Difference, folder: Path) -> Difference:  # noqa: C901 (three ways)
    """Return the same difference of a kernel with as few statements as will do."""
    numbers = inputs(f"{seed}/{number}")
    tries = 0

    def reason_of(kernel: Kernel) -> str:
        nonlocal tries
        tries += 1
        code = source([kernel])
        try:
            expected = Host(code, folder, f"small{tries}").run(kernel.name, numbers)
            ((_name, reason, results),) = compared(found.way, code, [kernel.name], folder, numbers)
        except RuntimeError:  # it cannot be compiled
            return ""
        return reason or difference(expected, results)

    kernel, reason = found.kernel, reason_of(found.kernel)
    if not reason:
        return found
    changed = True
    while changed:
        changed = False
        for phase in range(len(kernel.phases)):
            for place in range(sum(1 for _ in lists_of(kernel.phases[phase].statements))):
                index = 0
                while True:
                    smaller = copy.deepcopy(kernel)
                    lists = list(lists_of(smaller.phases[phase].statements))
                    if place >= len(lists) or index >= len(lists[place]):
                        break
                    del lists[place][index]
                    if again := reason_of(smaller):
                        kernel, reason, changed = smaller, again, True
                    else:
                        index += 1
            lines = kernel.phases[phase].result.split("\n")
            for line in filter(None, list(lines)):
                smaller = copy.deepcopy(kernel)
                rest = [each for each in lines if each != line]
                smaller.phases[phase].result = "\n".join(rest)
                if again := reason_of(smaller):
                    kernel, reason, changed, lines = smaller, again, True, rest
        if len(kernel.phases) > 1:
            for phase in range(len(kernel.phases)):
                smaller = copy.deepcopy(kernel)
                del smaller.phases[phase]
                if again := reason_of(smaller):
                    kernel, reason, changed = smaller, again, True
                    break
    return Difference(found.way, kernel, reason)


# --- The run ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Compare random kernels."""
    parser = argparse.ArgumentParser(
        prog="tools/fuzz.py --kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, metavar="N", help="how many kernels (100)")
    parser.add_argument("--seed", default="0", help="what the kernels depend on (0)")
    parser.add_argument("--seconds", type=float, metavar="S", help="make no more files after so long")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first file (0)")
    parser.add_argument("--in-file", type=int, default=IN_FILE, metavar="N", help="kernels of a file (%(default)s)")
    parser.add_argument("--processor", action="append", metavar="NAME", help="only such; repeatable")
    parser.add_argument("--compiled", action="store_true", help="compile each block before it is executed")
    parser.add_argument("--whole", action="store_true", help="do not make kernels with a difference small")
    options = parser.parse_args(argv)
    if shutil.which(CLANG) is None:
        parser.error(f"{CLANG} is not installed")
    processors = options.processor or PROCESSORS
    end = None if options.seconds is None else time.monotonic() + options.seconds
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kernels-") as name:
        folder = Path(name)
        for number in range(options.first, options.first + -(-options.count // options.in_file)):
            if end is not None and time.monotonic() > end:
                break
            found, done = differences(
                options.seed, number, processors, folder, in_file=options.in_file, is_compiled=options.compiled
            )
            counts.update(done)
            for each in found:
                counts["differences"] += 1
                small = each if options.whole or options.compiled else minimal(options.seed, number, each, folder)
                print(f"FOUND {each.kernel.name} of file {options.seed}/{number}, {each.way}: {each.reason}")
                print(f"{small.kernel.text()}\n", flush=True)
            sizes = ", ".join(f"{counts[processor]} {processor}" for processor in processors)
            print(f"file {number}: {sizes}, {counts['differences']} differences", file=sys.stderr, flush=True)
    for processor in processors:
        print(f"fuzz: {counts[processor]} kernels on {processor}")
    print(f"fuzz: {counts['not built']} were not built, {counts['differences']} differences")
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
