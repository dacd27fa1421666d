"""The corpus: 40 small OpenCL and HIP programs, compiled in every way, with each variable read at each statement.

    python3 tools/dev.py corpus [--compilers 13,22] [--programs 'bools*'] [--every-family]

It builds tools/corpus/programs/ with the compilers that the machine has (clang-13, clang-14, clang-16, clang-19,
clang-22, and LLVM 24 of the package `triton`, see tools/fixtures.py), at -O0 to -O2, with DWARF 4 and 5. Each
combination is built for one family of processors, all families in turn, or with --every-family for all of them. What
a program cannot be compiled to is counted as not built.

At each statement a wave is made by hand whose registers and private memory hold a number for each lane, and every
parameter and local variable is read in three lanes. What is read is compared with what `oracle` makes of
the output of llvm-dwarfdump, which shares no code with dwarfgpu; so is the list of the variables that are in scope.
"""

from __future__ import annotations

import argparse
import fnmatch
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus import oracle
from fixtures import llvm24

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
SCRIPTS = ROOT / "fixtures" / "src" / "scripts"

COMPILERS = ("13", "14", "16", "19", "22", "24")
FAMILIES = {
    "gfx803": (8, 64, 0),
    "gfx900": (9, 64, 0),
    "gfx90a": (9, 64, 0),
    "gfx942": (9, 64, 19),
    "gfx1030": (10, 32, 0),
    "gfx1100": (11, 32, 16),
    "gfx1200": (12, 32, 19),
}
"""Processors with their generation, the lanes of a wave, and the first version of clang that knows them."""
LANES = (0, 5, 31)
PRIVATE = 0x800
"""Bytes of private memory of a lane."""


@dataclass(frozen=True, order=True)
class Build:
    """One way to compile one program."""

    program: str
    compiler: str
    processor: str
    level: int
    version: int


# --- Compiling ------------------------------------------------------------------------------------------------------


def has(compiler: str) -> bool:
    """Whether a compiler is installed."""
    if compiler == "24":
        return llvm24() is not None and shutil.which("clang-22") is not None
    return all(shutil.which(f"{tool}-{compiler}") for tool in ("clang", "ld.lld"))


def builds(compilers: Sequence[str], pattern: str, *, every_family: bool) -> Iterator[Build]:
    """Yield what is to be built."""
    names = sorted(path.name for path in PROGRAMS.iterdir() if path.suffix in (".cl", ".hip"))
    for number, program in enumerate(fnmatch.filter(names, pattern)):
        turn = number
        for compiler in compilers:
            known = [name for name, (_, _, first) in FAMILIES.items() if int(compiler) >= first]
            for level in range(3):
                for version in (4, 5):
                    turn += 1
                    for processor in known if every_family else [known[turn % len(known)]]:
                        yield Build(program, compiler, processor, level, version)


def compiled(build: Build, folder: str) -> str | None:
    """Compile a program; return the path of the code object, or None where the compiler refuses it."""
    source = PROGRAMS / build.program
    major = "22" if build.compiler == "24" else build.compiler
    flags = ["-g", f"-gdwarf-{build.version}", f"-O{build.level}", "-nogpulib", "-w", str(source)]
    if source.suffix == ".cl":
        head = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={build.processor}"]
        head += ["-Xclang", "-finclude-default-header"]
    else:
        head = ["-x", "hip", "--cuda-device-only", f"--offload-arch={build.processor}", "-nogpuinc"]
        head += ["--no-gpu-bundle-output"] if int(major) >= 16 else []
    text, moved, unit, out = (f"{folder}/{name}" for name in ("k.ll", "m.ll", "k.o", "k.co"))
    commands = [[f"clang-{major}", *head, *flags, "-S", "-emit-llvm", "-o", text]]
    if build.compiler == "24":
        lanes = FAMILIES[build.processor][1]
        features = f"+wavefrontsize{lanes}" if FAMILIES[build.processor][0] >= 10 else ""
        commands.append([sys.executable, str(SCRIPTS / "move_local_globals.py"), text, moved])
        commands.append([str(llvm24()), str(SCRIPTS / "codegen.py"), moved, build.processor, features, unit])
    else:
        back = ["-x", "ir", "-target", "amdgcn-amd-amdhsa", f"-mcpu={build.processor}", "-nogpulib"]
        back += ["-Xclang", "-disable-llvm-passes"]  # they have run; code generation is left
        commands.append([f"clang-{major}", *back, f"-O{build.level}", "-c", text, "-o", unit])
    commands.append([f"ld.lld-{major}", "-shared", unit, "-o", out])
    for command in commands:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    return out


# --- What is in the state -------------------------------------------------------------------------------------------


def machine_of(program: Any) -> Any:
    """Return a machine with one wave."""
    return _machine_of(program.target)


@cache
def _machine_of(target: Any) -> Any:
    from dwarfgpu.machines.machine import Machine

    lanes = target.lane_count
    machine = Machine(target)
    machine.add_waves(1)
    for number in range(256):
        machine.set_register(f"v{number}", [[oracle.in_register(number, lane) for lane in range(lanes)]])
    scale = lanes if target.stack_scale == 1 else 1
    for number in range(102):
        machine.set_register(f"s{number}", number)
    machine.set_register("s33", oracle.FRAME * scale)
    machine.set_register("s32", 2 * oracle.FRAME * scale)
    machine.set_register("exec", (1 << lanes) - 1)
    words = (oracle.in_memory(address, lane) for address in range(0, PRIVATE, 4) for lane in range(lanes))
    data = b"".join(word.to_bytes(4, "little") for word in words)
    machine.memory.map(target.space_named("private_wave"), 0, data)
    return machine


# --- Reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What is known of a variable at a statement."""

    name: str
    """``right``, ``wrong``, a reason of the compiler's, or what else there is."""
    note: str = ""
    """What is to be looked at."""


class Examination:
    """The variables of a code object, read at each statement."""

    def __init__(self, build: Build, path: str) -> None:
        import dwarfgpu

        self.build = build
        self.path = path
        self.program = dwarfgpu.open(path)
        self.entries = oracle.described(path)
        self.code = _instructions(path)
        self.functions = _functions(self.program)
        self.counts: Counter[str] = Counter({"code objects": 1})
        self.repairs: Counter[str] = Counter()
        self.notes: list[str] = []

    def run(self) -> dict[str, Any]:
        """Read every variable at every statement; return counts, and what is not as it should be."""
        machine = machine_of(self.program)
        for low, high in self.functions:
            self.counts["functions"] += 1
            for pc in _statements(self.program, low, high):
                self.counts["statements"] += 1
                machine.set_register("pc", pc)
                self._read_frames(self.program.attach(machine)[0], pc)
        return {"counts": dict(self.counts), "repairs": dict(self.repairs), "notes": self.notes}

    def _read_frames(self, wave: Any, pc: int) -> None:
        """Read the variables of every frame at a statement."""
        from dwarfgpu.program.frames.variable import STATIC

        expected = {
            entry.offset for entry in self.entries.values() if entry.block is not None and entry.block.covers(pc)
        }
        for frame in wave.frames():
            if frame.function is None:
                break
            for variable in frame.variables():
                expected.discard(variable.die.section_offset)
                if variable.kind != STATIC:
                    self._variable(variable, pc)
        for offset in expected:
            self._note(f"{self.entries[offset].name} at {pc:#x} is not among the variables")
            self.counts["not shown"] += 1

    def _variable(self, variable: Any, pc: int) -> None:
        """Read one variable, and count."""
        outcome = self._outcome(variable, pc)
        used = variable.repairs
        self.repairs.update(repair.name for repair in used)
        self.counts["reads"] += 1
        self.counts[outcome.name] += 1
        text = self.entries[variable.die.section_offset].at(pc)
        is_placed = outcome.name == oracle.NO_LOCATION and bool(used)  # in local memory, by the layout of LLVM
        needed = is_placed if text is None else oracle.needs_repair(text)
        self.counts["repaired"] += bool(used)
        if needed and (not used or outcome.name in UNEXPLAINED):
            self.counts["repair missed"] += 1
        if used and (not needed or outcome.name in UNEXPLAINED):
            self.counts["repair applied wrongly"] += 1
        if outcome.note:
            self._note(f"{variable.frame.name} {variable.name} at {pc:#x}: {outcome.name}: {outcome.note}; {text}")

    def _note(self, text: str) -> None:
        self.notes.append(f"{self.build}: {text}")

    def _outcome(self, variable: Any, pc: int) -> Outcome:
        """Return what is known of a variable at a statement, and what is to be looked at."""
        from dwarfgpu.program.types.model import Pointer, stripped

        kind = stripped(variable.type)
        space = kind.address_space if isinstance(kind, Pointer) else None
        size = 4 if space in (2, 3, 5) else variable.byte_size()
        wanted: list[oracle.Bytes] | str
        unknown = ""
        try:
            wanted = [self._wanted(variable, pc, size, lane, is_private_pointer=space == 5) for lane in LANES]
        except oracle.NoValue as error:
            wanted = str(error)
        except oracle.UnknownIdiom as error:
            wanted = []
            unknown = str(error)
        answers = variable.values(LANES).by_lane
        reason = next((answer.reason for answer in answers if answer.value is None), None)
        if reason is not None:
            return self._without_value(variable, reason, wanted)
        if isinstance(wanted, str):
            return Outcome("wrong", f"there is no value because of {wanted}, and one is read")
        if not wanted:
            return Outcome("not known", unknown)
        for answer, data in zip(answers, wanted, strict=True):
            found = _bytes_of(answer.value, size)
            if found != data:
                return Outcome("wrong", f"{data} is meant, {found} is read in lane {answer.lane}")
        return Outcome("right")

    def _wanted(self, variable: Any, pc: int, size: int, lane: int, *, is_private_pointer: bool) -> oracle.Bytes:
        """Return the bytes that the oracle gives a variable."""
        entry = self.entries[variable.die.section_offset]
        if entry.constant is not None and not entry.has_location:
            return list((entry.constant & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
        if not entry.has_location:
            raise oracle.NoValue(oracle.NO_LOCATION)
        text = entry.at(pc)
        if text is None:
            raise oracle.NoValue(oracle.NOT_HERE)
        base = 0 if entry.block is None else entry.block.frame_base()
        if base in (0, oracle.FRAME) and "DW_OP_fbreg" in text and not self._has_frame(pc):
            raise oracle.NoValue(oracle.NO_FRAME)
        return oracle.meant(text, base, size, lane, is_private_pointer=is_private_pointer)

    def _has_frame(self, pc: int) -> bool:
        """Whether a statement follows where its function sets s33, its frame pointer.

        A kernel, whose memory begins at 0, has its arguments there behind the statement at its first instruction.
        """
        function = next(each for each in self.functions if each[0] <= pc < each[1])
        set_at = [at for at, line in self.code if "s_mov_b32 s33, s32" in line and function[0] <= at < function[1]]
        return (set_at or function)[0] < pc

    def _without_value(self, variable: Any, reason: Any, wanted: list[oracle.Bytes] | str) -> Outcome:
        """Return what is known of a variable without a value."""
        name = _reason_of_compiler(reason, variable.repairs)
        if isinstance(wanted, list):
            if name == oracle.PART and any(None in data for data in wanted):
                return Outcome(name)
            if wanted and _is_reference(variable.type) and reason.kind in ("memory_unavailable", "missing_context"):
                return self._reference(variable, wanted)
            return Outcome("error", f"{reason.kind}: {reason.message}")
        if name == wanted:
            return Outcome(name)
        return Outcome("error", f"the reason is {wanted}, and {reason.kind} is given: {reason.message}")

    def _reference(self, variable: Any, wanted: list[oracle.Bytes]) -> Outcome:
        """Return what is known of a reference that leads out of the memory of the state: its address is compared."""
        answers = variable.frame.expression(f"&{variable.name}").values(LANES).by_lane
        for answer, data in zip(answers, wanted, strict=True):
            if answer.value is None:
                return Outcome("error", f"no address: {answer.reason.message}")
            found = _bytes_of(answer.value, len(data))
            if found != data:
                return Outcome("wrong", f"{data} is the address, {found} is read in lane {answer.lane}")
        return Outcome(REFERENCE)


REFERENCE = "reference known by its address"
UNEXPLAINED = ("wrong", "error")


def examine(build: Build) -> dict[str, Any]:
    """Compile a program and read its variables; return counts, and what is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        path = compiled(build, folder)
        if path is None:
            return {"counts": {"not built": 1}, "repairs": {}, "notes": []}
        return Examination(build, path).run()


def _bytes_of(value: Any, size: int) -> oracle.Bytes:
    """Return the bytes of an object; None for those without a value."""
    reading = value.read()
    count = max(size, value.bits() // 8)
    data, undefined = (int(number).to_bytes(count, "little") for number in (reading.bits, reading.undefined))
    return [None if mask else byte for byte, mask in zip(data, undefined, strict=True)][:size]


def _reason_of_compiler(reason: Any, repairs: Sequence[Any]) -> str:
    """Return the reason of the oracle that a reason of dwarfgpu is; empty if it has none."""
    if reason.kind == "optimized_out":
        return oracle.EMPTY if "empty" in reason.message else oracle.NO_LOCATION
    if reason.kind == "undefined_operation" and repairs:
        return oracle.POINTED if repairs[0].name == "pointed-variable" else oracle.LOCAL
    if reason.kind == "memory_unavailable" and any(each.name == "unwritten-local-variable" for each in repairs):
        return oracle.NO_LOCATION
    kinds = {"no_location_here": oracle.NOT_HERE, "undefined": oracle.PART, "register_unset": oracle.NO_FRAME}
    return kinds.get(reason.kind, "")


def _functions(program: Any) -> list[tuple[int, int]]:
    ranges = []
    for unit in program.file.dwarf.units:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            waiting += die.children()
            if die.tag_name == "DW_TAG_subprogram":
                ranges += die.ranges()[:1]
    return sorted(ranges)


def _statements(program: Any, low: int, high: int) -> list[int]:
    from dwarfgpu.program.code.code_lookup import line_table

    table = line_table(program.file, program.file.dwarf.units[0])
    rows = () if table is None else table.rows
    return sorted({row.address for row in rows if low <= row.address < high and row.is_stmt})


def _is_reference(kind: Any) -> bool:
    from dwarfgpu.program.types.model import Pointer, stripped

    kind = stripped(kind)
    return isinstance(kind, Pointer) and kind.sign != "*"


_LINE = re.compile(r"^\t(\S.*?) *// ([0-9A-F]{12}):", re.MULTILINE)
Instructions = list[tuple[int, str]]
"""Instructions with their addresses."""


def _instructions(path: str) -> Instructions:
    """Return the disassembly of a code object."""
    command = ["llvm-objdump-22", "-d", path]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [(int(address, 16), line) for line, address in _LINE.findall(text)]


# --- All ------------------------------------------------------------------------------------------------------------


def main() -> int:
    """Examine what the command line asks for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--programs", default="*")
    parser.add_argument("--every-family", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many notes are printed")
    options = parser.parse_args()
    compilers = [compiler for compiler in options.compilers.split(",") if has(compiler)]
    shuffled = random.Random(1).shuffle  # what is interrupted is a sample
    todo = list(builds(compilers, options.programs, every_family=False))
    shuffled(todo)
    if options.every_family:
        others = sorted(set(builds(compilers, options.programs, every_family=True)) - set(todo))
        shuffled(others)
        todo += others
    totals: dict[str, Counter[str]] = {compiler: Counter() for compiler in compilers}
    repairs: dict[str, Counter[str]] = {compiler: Counter() for compiler in compilers}
    notes: list[str] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        results = pool.map(examine, todo, chunksize=8)
        for number, (build, result) in enumerate(zip(todo, results, strict=True), 1):
            totals[build.compiler].update(result["counts"])
            repairs[build.compiler].update(result["repairs"])
            notes += result["notes"]
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)}", end="", file=sys.stderr)
    for compiler in compilers:
        print(f"{compiler}: {dict(totals[compiler])}")
        print(f"    repairs: {dict(repairs[compiler])}")
    for note in notes[: options.show]:
        print(note)
    return int(any(counts["wrong"] for counts in totals.values()))
