#!/usr/bin/env python3
"""The corpus: 40 small OpenCL and HIP programs, compiled in every way, with each variable read at each statement.

    python3 tools/dev.py corpus [--compilers 13,22] [--programs 'bools*'] [--every-family] [--write] [--show N]

It builds tools/corpus_programs/ with the compilers that the machine has (clang-13, clang-14, clang-16, clang-19,
clang-22, and LLVM 24 of the package `triton`, see tools/fixtures.py), at -O0 to -O2, with DWARF 4 and 5. Each
combination is built for one family of processors, all families in turn, or with --every-family for all of them. What
a program cannot be compiled to is counted as not built.

At each statement a wave is made by hand whose registers and private memory hold a number for each lane, and every
parameter and local variable is read in three lanes. What is read is compared with what llvm-dwarfdump prints of the
location and a small reading of LLVM's idioms in this file, which shares no code with dwarfgpu. At -O0 each slot on the
stack and each vector register is also looked for in the disassembly of its function. --write keeps the counts in
tools/corpus_programs/counts.json, from which docs/repairs.md has its table.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PROGRAMS = ROOT / "tools" / "corpus_programs"
COUNTS = PROGRAMS / "counts.json"
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
FRAME = 0x100
"""The private address in s33, and twice that in s32, for a lane."""
PRIVATE = 0x800
"""Bytes of private memory of a lane."""
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Build:
    """One way to compile one program."""

    program: str
    compiler: str
    processor: str
    level: int
    version: int


# --- Compiling ------------------------------------------------------------------------------------------------------


def python_of_llvm24() -> str | None:
    """Return a Python that has triton; None if there is none."""
    python = os.environ.get("LLVM24_PYTHON") or str(ROOT / ".venv" / "llvm24" / "bin" / "python")
    return shutil.which(python)


def has(compiler: str) -> bool:
    """Whether a compiler is installed."""
    if compiler == "24":
        return python_of_llvm24() is not None and shutil.which("clang-22") is not None
    return all(shutil.which(f"{tool}-{compiler}") for tool in ("clang", "ld.lld"))


def builds(compilers: Sequence[str], pattern: str, *, every_family: bool) -> Iterator[Build]:
    """Yield what is to be built."""
    names = sorted(path.name for path in PROGRAMS.iterdir() if path.suffix in (".cl", ".hip"))
    turn = 0
    for program in fnmatch.filter(names, pattern):
        for compiler in compilers:
            known = [name for name, (_, _, first) in FAMILIES.items() if int(compiler) >= first]
            for level in range(3):
                for version in (4, 5):
                    turn += 1
                    for processor in known if every_family else [known[turn % len(known)]]:
                        yield Build(program, compiler, processor, level, version)


def compile_program(build: Build, folder: str) -> str | None:
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
        commands.append([str(python_of_llvm24()), str(SCRIPTS / "codegen.py"), moved, build.processor, features, unit])
    else:
        back = ["-x", "ir", "-target", "amdgcn-amd-amdhsa", f"-mcpu={build.processor}", "-nogpulib"]
        commands.append([f"clang-{major}", *back, f"-O{build.level}", "-c", text, "-o", unit])
    commands.append([f"ld.lld-{major}", "-shared", unit, "-o", out])
    for command in commands:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    return out


# --- What is in the state -------------------------------------------------------------------------------------------


def in_register(number: int, lane: int) -> int:
    """Return what a lane has in a vector register."""
    return (number * 64 + lane + 1) * 2654435761 & MASK


def in_memory(address: int, lane: int) -> bytes:
    """Return the byte that a lane has at a private address."""
    word = (address // 4 * 4 * 97 + lane * 7919 + 3) * 40503 & MASK
    return word.to_bytes(4, "little")[address % 4 : address % 4 + 1]


def machine_of(program: Any) -> Any:
    """Return a machine with one wave."""
    from dwarfgpu.backends.machine import Machine

    lanes = program.target.lane_count
    machine = Machine(program.target)
    machine.add_waves(1)
    for number in range(256):
        machine.set_register(f"v{number}", [[in_register(number, lane) for lane in range(lanes)]])
    scale = lanes if program.target.stack_scale == 1 else 1
    for number in range(102):
        machine.set_register(f"s{number}", number)
    machine.set_register("s33", FRAME * scale)
    machine.set_register("s32", 2 * FRAME * scale)
    machine.set_register("exec", (1 << lanes) - 1)
    memory = b"".join(
        in_memory(address + byte, lane)
        for address in range(0, PRIVATE, 4)
        for lane in range(lanes)
        for byte in range(4)
    )
    machine.memory.map(program.target.space_named("private_wave"), 0, memory)
    return machine


# --- What llvm-dwarfdump prints, and what LLVM means by it ------------------------------------------------------------


_ENTRY = re.compile(r"^(0x[0-9a-f]{8}):( +)(DW_TAG_\w+|NULL)")
_LISTED = re.compile(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\): ?(.*?)\)?$")
_DIRECT = re.compile(r"DW_AT_(location|frame_base)\t\((.*)\)$")


Listed = dict[int, list[tuple[int, int, str, int]]]
"""The locations of every entry, by offset: first and last address, the operations, and the frame base of a lane."""
BASES = {"DW_OP_regx SGPR33": FRAME, "DW_OP_regx SGPR32": 2 * FRAME, "": 0}


def printed(path: str) -> Listed:
    """Return the locations that llvm-dwarfdump prints. A kernel without a frame base has its memory from 0 on."""
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Listed = {}
    offset, is_location = 0, False
    functions: list[list[int]] = []  # the indentation of the functions around an entry, and their frame bases
    for line in text.splitlines():
        if entry := _ENTRY.match(line):
            offset, is_location = int(entry[1], 16), False
            indentation = len(entry[2])
            while functions and functions[-1][0] >= indentation:
                functions.pop()
            if entry[3] == "DW_TAG_subprogram":
                functions.append([indentation, 0])
        if "DW_AT_frame_base" in line and (direct := _DIRECT.search(line)):
            functions[-1][1] = BASES[direct[2]]
        base = functions[-1][1] if functions else 0
        if "DW_AT_" in line:
            is_location = "DW_AT_location" in line
            direct = _DIRECT.search(line)
            if is_location and direct and "loclist" not in line and direct[2][:2] != "0x":
                found.setdefault(offset, []).append((0, 1 << 64, direct[2], base))
        elif is_location and (listed := _LISTED.search(line)):
            found.setdefault(offset, []).append((int(listed[1], 16), int(listed[2], 16), listed[3], base))
    return found


_SUFFIX = re.compile(r"(?:, )?DW_OP_lit[1235], DW_OP_swap, DW_OP_xderef")
_NUMBER = r"[+-]?(?:0x[0-9a-f]+|\d+)"
_BREG = re.compile(rf"DW_OP_bregx (?:(VGPR|SGPR)(\d+)|(0x[0-9a-f]+)) ?({_NUMBER})")
_REG = re.compile(r"DW_OP_regx (?:(VGPR|SGPR)(\d+)|(0x[0-9a-f]+))$")


def register_of(match: re.Match[str]) -> tuple[str, int]:
    """Return the letter and number of a register."""
    if match[1]:
        return match[1][0].lower(), int(match[2])
    number = int(match[3], 16)
    return ("v", number - 0x600) if 0x600 <= number < 0x700 else ("s", number - 32)


class Unjudged(Exception):
    """A location that is not among the idioms below."""


def meant(operations: str, base: int, size: int, lane: int, *, is_private_pointer: bool) -> bytes | None:
    """Return the bytes that LLVM means by a location, in a lane; None where there are none."""
    pieces = re.split(r"(?:^|, )DW_OP_piece (0x[0-9a-f]+)(?:, |$)", operations)
    if len(pieces) == 1:
        return part_meant(operations, base, size, lane, is_private_pointer=is_private_pointer)
    data = b""
    for text, count in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if count:
            part = part_meant(text, base, int(count, 16), lane, is_private_pointer=False)
            if part is None:
                raise Unjudged("a part is missing")
            data += part
    return data


def part_meant(text: str, base: int, size: int, lane: int, *, is_private_pointer: bool) -> bytes | None:
    """Return the bytes that LLVM means by a location without pieces."""
    if not text or (text.startswith("DW_OP_addr") and re.search("DW_OP_lit[23], DW_OP_swap", text)):
        return None
    plain = _SUFFIX.sub("", text)
    if register := _REG.match(plain):
        letter, number = register_of(register)
        if letter != "v" or size > 4:
            raise Unjudged(text)
        return in_register(number, lane).to_bytes(4, "little")[:size]
    if slot := re.fullmatch(rf"DW_OP_fbreg ({_NUMBER})", plain):
        return memory(base + int(slot[1], 0), size, lane)
    if implicit := re.fullmatch(r"DW_OP_implicit_value 0x\w+((?: 0x\w+)+)", plain):
        return bytes(int(byte, 16) for byte in implicit[1].split())[:size]
    if plain.endswith(", DW_OP_stack_value"):
        value = computed(plain.removesuffix(", DW_OP_stack_value"), lane)
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    half = plain.removesuffix(", DW_OP_constu 0xffff, DW_OP_and")
    based = _BREG.fullmatch(half)
    if based is None:
        raise Unjudged(text)
    letter, number = register_of(based)
    if letter == "v":
        if int(based[4], 0):
            raise Unjudged(text)
        return None if size > 4 else in_register(number, lane).to_bytes(4, "little")[:size]
    if number not in (32, 33) or is_private_pointer:
        raise Unjudged(text)
    return memory((FRAME if number == 33 else 2 * FRAME) + int(based[4], 0), size, lane)


def memory(address: int, size: int, lane: int) -> bytes:
    """Return bytes of private memory."""
    return b"".join(in_memory(address + byte, lane) for byte in range(size))


def computed(text: str, lane: int) -> int:
    """Compute the value of operations as LLVM's integers: an operand without a width has that of the other one."""
    stack: list[tuple[int, int, bool]] = []  # number, bits or 0, whether it is signed
    for word in text.split(", "):
        name, _, operand = word.removeprefix("DW_OP_").partition(" ")
        if based := _BREG.match(word):
            letter, number = register_of(based)
            value = in_register(number, lane) if letter == "v" else {32: 2 * FRAME, 33: FRAME}.get(number, number)
            stack.append((value + int(based[4], 0), 0, False))
        elif literal := re.fullmatch(r"lit(\d+)", name):
            stack.append((int(literal[1]), 0, False))
        elif name in ("consts", "constu") or re.fullmatch(r"const\d[su]", name):
            stack.append((int(operand, 0), 0, False))
        elif name == "convert":
            kind = re.search(r"DW_ATE_(unsigned|signed)_(\d+)", operand)
            if kind is None:
                raise Unjudged(text)
            bits = int(kind[2])
            value = stack.pop()[0] & ((1 << bits) - 1)
            if kind[1] == "signed" and value >> (bits - 1):
                value -= 1 << bits
            stack.append((value, bits, kind[1] == "signed"))
        elif name == "plus_uconst":
            value, bits, sign = stack.pop()
            stack.append((value + int(operand, 0), bits, sign))
        elif name == "not":
            value, bits, sign = stack.pop()
            stack.append((~value, bits, sign))
        elif name in ("plus", "minus", "mul", "and", "or", "xor", "shl", "shr", "ne", "eq"):
            (right, width, _), (left, bits, sign) = stack.pop(), stack.pop()
            bits = bits or width
            mask = (1 << (bits or 64)) - 1
            value = {
                "plus": left + right,
                "minus": left - right,
                "mul": left * right,
                "and": left & right,
                "or": left | right,
                "xor": left ^ right,
                "shl": left << (right & 127),
                "shr": (left & mask) >> (right & 127),
                "ne": int(left & mask != right & mask),
                "eq": int(left & mask == right & mask),
            }[name] & mask
            stack.append((value, 0 if name in ("ne", "eq") else bits, sign))
        else:
            raise Unjudged(text)
    return stack[-1][0]


# --- Reading --------------------------------------------------------------------------------------------------------


def examine(build: Build) -> dict[str, Any]:
    """Compile a program and read its variables; return counts, and what is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        path = compile_program(build, folder)
        if path is None:
            return {"counts": {"not built": 1}, "repairs": {}, "notes": []}
        return _examined(build, path)


def _examined(build: Build, path: str) -> dict[str, Any]:
    import dwarfgpu

    program = dwarfgpu.open(path)
    machine = machine_of(program)
    listed = printed(path)
    code = _instructions(path) if build.level == 0 else {}
    counts: Counter[str] = Counter({"code objects": 1})
    repairs: Counter[str] = Counter()
    notes: list[str] = []
    for low, high in _functions(program):
        counts["functions"] += 1
        for pc in _statements(program, low, high):
            counts["statements"] += 1
            machine.set_register("pc", pc)
            for frame in program.attach(machine)[0].frames():
                if frame.function is None:
                    break
                for variable in frame.variables():
                    outcome, note = _variable(variable, pc, listed)
                    counts["variables"] += 1
                    counts[outcome] += 1
                    repairs.update(repair.name for repair in variable.repairs)
                    if note:
                        notes.append(f"{build}: {frame.function.name} {variable.name} at {pc:#x}: {outcome}: {note}")
                    if build.level == 0 and outcome == "right":
                        counts[_seen(variable, code.get(low, ""), listed)] += 1
    return {"counts": dict(counts), "repairs": dict(repairs), "notes": notes[:20]}


def _functions(program: Any) -> list[tuple[int, int]]:
    found = []
    for unit in program.file.dwarf.units:
        waiting = [unit.root]
        while waiting:
            die = waiting.pop()
            waiting += die.children()
            if die.tag_name == "DW_TAG_subprogram":
                found += die.ranges()[:1]
    return sorted(found)


def _statements(program: Any, low: int, high: int) -> list[int]:
    from dwarfgpu.program.code.code_lookup import line_table

    table = line_table(program.file, program.file.dwarf.units[0])
    rows = () if table is None else table.rows
    return sorted({row.address for row in rows if low <= row.address < high and row.is_stmt})


def _variable(variable: Any, pc: int, listed: Listed) -> tuple[str, str]:
    """Return what is known of a variable at a statement, and what is to be looked at."""
    from dwarfgpu.program.types.model import Pointer
    from dwarfgpu.program.types.sizes import stripped

    lanes = variable.values(LANES).by_lane
    here = [entry for entry in listed.get(variable.definition.section_offset, ()) if entry[0] <= pc < entry[1]]
    texts = [text for _first, _last, text, _base in here]
    states = {lane.state for lane in lanes}
    if "error" in states:
        reason = next(lane.reason for lane in lanes if lane.state == "error")
        if _is_reference(variable.type) and reason.kind in ("memory_unavailable", "missing_context"):
            return "refers to no memory", ""
        return "error", f"{reason.message}; {texts}"
    if states != {"active"}:
        return "reason of the compiler", ""
    kind = stripped(variable.type)
    space = kind.address_space if isinstance(kind, Pointer) else None
    size = 4 if space in (2, 3, 5) else variable.byte_size()
    if variable.is_constant() or len(texts) != 1:
        return ("constant" if variable.is_constant() else "not judged"), ""
    for lane in lanes:
        reading = lane.value.read()
        data = int(reading.bits).to_bytes(max(size, lane.value.bits() // 8), "little")[:size]
        try:
            wanted = meant(texts[0], here[0][3], size, lane.lane, is_private_pointer=space == 5)
        except Unjudged:
            return "not judged", ""
        if wanted is None:
            return "wrong", f"nothing is meant, {data.hex()} is read; {texts}"
        if data[: len(wanted)] != wanted[:size]:
            return "wrong", f"{wanted.hex()} is meant, {data.hex()} is read in lane {lane.lane}; {texts}"
    return "right", ""


def _is_reference(kind: Any) -> bool:
    from dwarfgpu.program.types.model import Pointer
    from dwarfgpu.program.types.sizes import stripped

    kind = stripped(kind)
    return isinstance(kind, Pointer) and kind.sign != "*"


def _instructions(path: str) -> dict[int, str]:
    """Return the disassembly of each function by its address."""
    command = ["llvm-objdump-22", "-d", path]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {
        int(start, 16): body for start, body in re.findall(r"^([0-9a-f]{16}) <.*>:\n((?:.+\n)*)", text, re.MULTILINE)
    }


def _seen(variable: Any, code: str, listed: Listed) -> str:
    """Return whether the slot of a variable is one that the function's instructions name."""
    texts = listed.get(variable.definition.section_offset, [])
    slots = [re.match(rf"DW_OP_fbreg ({_NUMBER})", text[2]) for text in texts]
    for slot in filter(None, slots):
        number = int(slot[1], 0)
        names = rf"offset:{number}\b|, (?:{number}|{number:#x})\s|v_mov_b32_e32 v\d+, (?:{number}|{number:#x})\b"
        if number == 0 or re.search(names, code):
            return "slot named by an instruction"
        return "slot not named"
    return "no slot"


# --- All ------------------------------------------------------------------------------------------------------------


SAVED = 20
"""After so many builds the counts are written, so that an interrupted run leaves what it has."""


def save(totals: dict[str, Counter[str]], repairs: dict[str, Counter[str]]) -> None:
    """Write the counts."""
    document = {
        compiler: {"counts": dict(sorted(counts.items())), "repairs": dict(sorted(repairs[compiler].items()))}
        for compiler, counts in totals.items()
    }
    COUNTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Examine what the command line asks for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--programs", default="*")
    parser.add_argument("--every-family", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many notes are printed")
    options = parser.parse_args()
    compilers = [compiler for compiler in options.compilers.split(",") if has(compiler)]
    todo = list(builds(compilers, options.programs, every_family=options.every_family))
    random.Random(1).shuffle(todo)  # what is interrupted is a sample
    totals: dict[str, Counter[str]] = {compiler: Counter() for compiler in compilers}
    repairs: dict[str, Counter[str]] = {compiler: Counter() for compiler in compilers}
    notes: list[str] = []
    with ProcessPoolExecutor(2) as pool:
        for number, (build, result) in enumerate(zip(todo, pool.map(examine, todo, chunksize=2), strict=True), 1):
            totals[build.compiler].update(result["counts"])
            repairs[build.compiler].update(result["repairs"])
            notes += result["notes"]
            if sys.stderr.isatty():
                print(f"\r{number} of {len(todo)}", end="", file=sys.stderr)
            if options.write and number % SAVED == 0:
                save(totals, repairs)
    for compiler in compilers:
        print(f"{compiler}: {dict(totals[compiler])}")
        print(f"    repairs: {dict(repairs[compiler])}")
    for note in notes[: options.show]:
        print(note)
    if options.write:
        save(totals, repairs)
    return int(any(counts["wrong"] for counts in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
