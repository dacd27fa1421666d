"""Damaged code objects and random instructions that run.

A mutant is a kernel of a fixture of which bytes are changed (in the code, the descriptor, the metadata, or anywhere),
or whose arguments are any numbers, or whose code is replaced: by random words, or by valid instructions with random
operands. It is launched with a small grid and executes at most some thousand instructions: alone, with a trace of
instructions or of lines, with a profile, in the order of a seed, or with weak memory. It must end with a stop reason,
and no valid instruction may be refused because an array operation in it fails. With --jit eight mutants in a row
have the same code; they run without traces, for only so their blocks are compiled, and each runs a second time
interpreted: it must end in the same way, with the same registers and memory.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.control.line_traces import LineTrace
from dwarfgpu.execution.control.profile import Profile
from dwarfgpu.execution.control.report import report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.control.tracing import StepTrace
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.isa.decoder import decode, text
from dwarfgpu.isa.formats import bits_of, formats, insert
from dwarfgpu.isa.tables import generation, table
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.profiles import CHROME, chrome_trace, written
from dwarfgpu.questions.table import FORMATS
from dwarfgpu.render.running import STEP, TraceWriter, report_json, report_text
from dwarfgpu.render.values import value_text
from fuzz.frame import ROOT, Asking, Chance, Drive, Setting, Steps, Wrong

if TYPE_CHECKING:
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.program.code.code_object import CodeObject

FOLDER = ROOT / "fixtures" / "amdgpu"
KINDS = ("text", "descriptor", "metadata", "anywhere", "arguments", "words", "instructions", "instructions")
COMPILED_KINDS = ("text", "text", "arguments", "instructions", "loop", "loop", "loop", "loop")
"""What is tried where blocks are compiled: most mutants execute many instructions before they end."""
FAMILY = 8
"""The mutants that have the same code, with other arguments and lanes: it is compiled once."""
SECTIONS = {"text": ".text", "descriptor": ".rodata", "metadata": ".note"}
WATCHES = ("", "", "trace", "lines", "profile", "seed", "weak")
"""How a mutant runs."""
HALTS = {"ended", "fault", "trap", "limit", "stuck"}
LIMIT = 3000
"""The instructions that a mutant executes."""
REFUSED = "the instruction cannot be executed ("
"""How the reason of a wave begins whose instruction failed inside."""
REGISTERS = 12
"""The vector registers that random instructions have."""
MEMORY_FORMATS = (
    *("SMEM", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "VBUFFER", "VFLAT", "VGLOBAL", "VSCRATCH", "VDS"),
)


@cache
def file_names() -> tuple[str, ...]:
    """Return the fixtures that have kernels."""
    names = []
    for path in sorted((*FOLDER.glob("*.co"), *FOLDER.glob("*.o"))):
        try:
            file = opened(path.read_bytes())
            machine_for(file, next(iter(file.kernels.kernels)).name)
        except (DwarfGpuError, StopIteration):
            continue
        names.append(path.name)
    return tuple(names)


@cache
def contents(name: str) -> bytes:
    """Return the bytes of a fixture."""
    return (FOLDER / name).read_bytes()


@cache
def fixture(name: str) -> CodeObject:
    """Return a fixture, opened."""
    return opened(contents(name))


@cache
def ranges(name: str) -> dict[str, tuple[int, int]]:
    """Return where sections of a fixture are."""
    image = Image(contents(name))
    found = {section.name: (section.offset, section.offset + section.size) for section in image.sections}
    return {kind: found[section] for kind, section in SECTIONS.items() if section in found}


def damaged(name: str, kind: str, numbers: random.Random) -> bytes:
    """Return a fixture of which some bytes are changed."""
    data = bytearray(contents(name))
    start, end = ranges(name).get(kind, (0, len(data)))
    for _ in range(numbers.randrange(1, 9)):
        at = numbers.randrange(start, end)
        roll = numbers.random()
        if roll < 0.5:
            data[at] ^= 1 << numbers.randrange(8)
        elif roll < 0.8:
            data[at] = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
        else:
            data[at : at + 4] = numbers.randbytes(len(data[at : at + 4]))
    return bytes(data)


@cache
def layouts(processor: str, lanes: int) -> tuple[tuple[Any, tuple[int, ...]], ...]:
    """Return the formats of a processor with their opcodes."""
    rows = table(processor, lanes).rows
    found = []
    for key, layout in formats(generation(processor)).items():
        opcodes = rows.get(key.removesuffix("fi"))
        if opcodes:
            found.append((layout, tuple(opcodes)))
    return tuple(found)


def instruction(processor: str, lanes: int, numbers: random.Random) -> bytes:
    """Return a valid instruction with random operands, of registers that waves have."""
    while True:
        layout, opcodes = numbers.choice(layouts(processor, lanes))
        word = numbers.getrandbits(8 * layout.size) if numbers.random() < 0.3 else 0
        for name, pieces in layout.operands.items():
            word &= ~bits_of(pieces)
            size = sum(count for _, count in pieces)
            value = numbers.getrandbits(size)
            if size == 9:
                value = numbers.choice(
                    (256 + numbers.randrange(REGISTERS), numbers.randrange(107), numbers.randrange(124, 256))
                )
            elif size == 8 and ("v" in name or "addr" in name or "data" in name):
                value = numbers.randrange(REGISTERS)
            elif size == 8:
                value = numbers.choice((numbers.randrange(107), numbers.randrange(106, 256)))
            elif size in (6, 7):
                value = numbers.randrange(min(106, 1 << size))
            word |= insert(value, pieces)
        for pieces in layout.modifiers.values():
            if numbers.random() < 0.2:
                word = word & ~bits_of(pieces) | insert(numbers.getrandbits(sum(count for _, count in pieces)), pieces)
        word = word & ~(layout.mask | bits_of(layout.opcode)) | layout.match
        word |= insert(numbers.choice(opcodes), layout.opcode)
        data = word.to_bytes(layout.size, "little") + numbers.randbytes(8)
        made = decode(data, 0, processor, lanes)
        if made.name == ".long" or made.name.startswith("s_endpgm"):
            continue
        if made.encoding.upper().startswith(MEMORY_FORMATS) and numbers.random() < 0.8:
            continue
        if made.branch is not None and numbers.random() < 0.9:
            continue
        return bytes(made.data)


class Mutant:
    """A kernel that runs, with what is wrong in it."""

    def __init__(self, name: str, *, jit: str | None = None) -> None:
        chance = Chance(name)
        self.number, self.jit = chance.number, jit
        self._own = chance
        self._numbers = chance if jit is None else random.Random(f"{chance.kin(FAMILY)}/family")
        self._file = self._numbers.choice(file_names())
        self._kind = self._numbers.choice(KINDS if jit is None else COMPILED_KINDS)
        self._kernel = self._numbers.choice([each.name for each in fixture(self._file).kernels.kernels])
        self._watch = self._numbers.choice(WATCHES) if jit is None else ""
        self._lanes = self._own.choice((1, 33, 64, 100))
        self.about = f"{self._file} {self._kernel} {self._kind} {self._watch}".rstrip()

    def run(self) -> tuple[Gpu, Halt]:
        """Run it; return the machine, and why it has stopped."""
        is_damaged = self._kind in (*SECTIONS, "anywhere")
        file = opened(damaged(self._file, self._kind, self._numbers)) if is_damaged else fixture(self._file)
        machine = machine_for(file, self._kernel)
        machine.jit, machine.keeps_code = self.jit or "auto", self.jit is None
        has_arguments = self._kind == "arguments" or self._own.random() < 0.8
        args = arguments(file, self._kernel, self._own) if has_arguments else None
        order: dict[str, Any] = {
            "seed": {"seed": self.number},
            "weak": {"weak_memory": self.number, "agents": 1 + self.number % 3},
        }.get(self._watch, {})
        group = min(self._lanes, 64)
        launched = launch(machine, file, self._kernel, grid=self._lanes, work_group=group, args=args, **order)
        code = self._code(machine, launched.plan.start.entry)
        place = machine.memory.writable(launched.plan.start.entry, min(len(code), 256))
        place[:] = code[: len(place)]
        return machine, watched(launched, self._watch)

    def _code(self, machine: Gpu, entry: int) -> bytes:
        """Return the code that replaces that of the kernel, if any."""
        processor, lanes = machine.target.name.split("-")[1], machine.target.lane_count
        if self._kind == "loop":
            return loop(machine, entry, self._numbers)
        if self._kind == "words":
            return self._numbers.randbytes(120)
        count = 30 if self._kind == "instructions" else 0
        return b"".join(instruction(processor, lanes, self._numbers) for _ in range(count))


def loop(machine: Gpu, entry: int, numbers: random.Random) -> bytes:
    """Return how a kernel begins, and a loop of random instructions that does not end."""
    processor, lanes = machine.target.name.split("-")[1], machine.target.lane_count
    own, code, body = bytes(machine.memory.writable(entry, 100)), b"", b""
    for _ in range(numbers.randrange(16)):
        made = decode(own[len(code) :] + bytes(20), 0, processor, lanes)
        if made.name == ".long" or made.branch is not None or len(code) > 60:
            break
        code += made.data
    while len(code + body) < 80:
        body += instruction(processor, lanes, numbers)
    back = -(len(body) // 4) - 1 & 0xFFFF
    return code + body + struct.pack("<HH", back, 0xBFA0 if generation(processor) >= 11 else 0xBF82)


def hashed(machine: Gpu) -> str:
    """Return the hash of the registers and the memory of a machine."""
    found = hashlib.sha256()
    for file in machine.files:
        found.update(file.known.tobytes() + np.where(file.known[..., None], file.data, 0).tobytes())
    for store in machine.memory.stores.values():
        for block in store.blocks:
            found.update(block.buffer)
    return found.hexdigest()


def watched(launched: Launched, watch: str) -> Halt:
    """Run a kernel as `dwarfgpu run` does with an option, and write what it says."""
    running = Running(launched)
    trace = profile = None
    if watch in ("trace", "lines"):
        writer = TraceWriter()
        traced = partial(LineTrace, show=value_text) if watch == "lines" else StepTrace
        trace = traced(running, lambda step: (list(writer.lines(step)), STEP.json(step)))
    elif watch == "profile":
        profile = Profile(running.machine.device, running)
    halt = running.run(limit=LIMIT)
    if trace is not None:
        trace.end()
    rows = None
    if profile is not None:
        rows, stacks = tuple(profile.rows(running)), profile.stacks(running)
        chrome_trace(profile.tracks(running), stacks.name)
        for kind in FORMATS:
            if kind != CHROME:
                written(stacks, kind)
    result = report(running, halt, profile=rows)
    list(report_text(result))
    json.dumps(report_json(result, list(running.printed())))
    return halt


def arguments(file: CodeObject, kernel: str, numbers: random.Random) -> list[Any]:
    """Return any numbers as arguments."""
    metadata = file.kernels_named([kernel])[0].metadata
    given: list[Any] = []
    for argument in metadata.args if metadata is not None else ():
        size, kind = argument.size or 0, argument.value_kind or ""
        if kind.startswith("hidden"):
            continue
        if kind == "global_buffer" and numbers.random() < 0.7:
            given.append(bytearray(numbers.randbytes(512)))
        elif 0 < size <= 8:
            given.append(numbers.choice((0, 1, 64, numbers.getrandbits(8 * size), (1 << 8 * size) - 1)))
        else:
            given.append(numbers.randbytes(max(0, min(size, 4096))))
    return given


def checked(machine: Gpu, halt: Halt) -> str:
    """Return how a mutant has ended; raise `Wrong` if it must not end so."""
    if halt.kind not in HALTS or not halt.reason:
        raise Wrong(f"ends with {halt.kind}\n{halt}")
    if REFUSED in halt.reason and halt.pc is not None:
        target = machine.target
        code = bytes(machine.memory.read(target.default_space, halt.pc, 20, None, None))
        made = decode(code, 0, target.name.split("-")[1], target.lane_count)
        raise Wrong(f"{made.name} is refused\n{text(made)}: {halt.reason}")
    return halt.kind


def begin(setting: Setting) -> Steps:
    file_names()

    def steps(chance: Chance) -> Asking:
        name = f"{chance.seed_text}/{chance.number}"
        mutant = Mutant(name, jit=None if setting.jit == "off" else setting.jit)
        chance.about = mutant.about
        yield "run"
        machine, halt = mutant.run()
        if setting.jit != "off":
            yield "compared"
            other, interpreted = Mutant(name, jit="off").run()
            pairs = ((halt, machine), (interpreted, other))
            ends = [(str(end), each.device.executed, hashed(each)) for end, each in pairs]
            if ends[0] != ends[1]:
                raise Wrong(f"compiled code differs\ncompiled: {ends[0]}\ninterpreted: {ends[1]}")
        return checked(machine, halt)

    return steps


DRIVE = Drive(begin, seconds=10.0, memory=3 << 30)
