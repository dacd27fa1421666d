#!/usr/bin/env python3
"""Run damaged code objects and random instructions on the machine of dwarfgpu.

    python3 tools/dev.py fuzz --running --count 100000 --seed 7
    python3 tools/dev.py fuzz --running --replay 1234 --seed 7
    python3 tools/dev.py fuzz --running --compiled --count 100000     every block is compiled before it is executed

A mutant is a kernel of a fixture of which bytes are changed (in the code, the descriptor, the metadata, or anywhere),
or whose arguments are any numbers, or whose code is replaced: by random words, or by valid instructions with random
operands. It is launched with a small grid and executes at most some thousand instructions: alone, with a trace of
instructions or of lines, with a profile, in the order of a seed, or with weak memory. It must end with a stop
reason or with a DwarfGpuError, within a limit of processor time and of memory, and no valid instruction may be refused
because an array operation in it fails. What does not is a finding; the exit status is 1. The mutant with a number
depends on the seed alone. With --compiled eight mutants in a row have the same code; they run without traces, for only
so their blocks are compiled, and each runs a second time interpreted: it must end in the same way, with the same
registers and memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import struct
import sys
import time
import traceback
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import numpy as np  # noqa: E402
from fuzz_limits import TooLong, limit_memory, limited_time  # noqa: E402

from dwarfgpu.errors import DwarfGpuError  # noqa: E402
from dwarfgpu.execution.compiled.regions import MOST_REGIONS, CompiledRegions  # noqa: E402
from dwarfgpu.execution.control.profile import Profile  # noqa: E402
from dwarfgpu.execution.control.report import report  # noqa: E402
from dwarfgpu.execution.control.running import Running  # noqa: E402
from dwarfgpu.execution.control.tracing import StepTrace  # noqa: E402
from dwarfgpu.execution.launch.launch import launch, machine_for  # noqa: E402
from dwarfgpu.isa.decoder import decode, text  # noqa: E402
from dwarfgpu.isa.formats import bits_of, formats, insert  # noqa: E402
from dwarfgpu.isa.tables import generation, table  # noqa: E402
from dwarfgpu.objfile.elf.image import Image  # noqa: E402
from dwarfgpu.program.code.code_object import opened  # noqa: E402
from dwarfgpu.render.profiles import CHROME, FORMATS, chrome_trace, written  # noqa: E402
from dwarfgpu.render.running import STEP, TraceWriter, report_json, report_text  # noqa: E402
from dwarfgpu.render.values import value_text  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.execution.compiled.block_code import BlockCode, CompiledRegion
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
MEMORY = 3 << 30
"""The memory that mutants may get: a dispatch has up to a gigabyte, twice where work-groups follow others."""
SECONDS = 10.0
"""The processor time that a mutant may take."""
REFUSED = "the instruction cannot be executed ("
"""How the reason of a wave begins whose instruction failed inside."""
REGISTERS = 12
"""The vector registers that random instructions have."""
MEMORY_FORMATS = (
    "SMEM",
    "DS",
    "FLAT",
    "GLOBAL",
    "SCRATCH",
    "MUBUF",
    "MTBUF",
    "VBUFFER",
    "VFLAT",
    "VGLOBAL",
    "VSCRATCH",
    "VDS",
)


class Finding(NamedTuple):
    """How a mutant ended that should have ended otherwise."""

    number: int
    what: str
    kind: str
    place: str
    trace: str


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


def mutant(number: int, seed: str, jit: str | None = None) -> tuple[str, Any]:
    """Return what a mutant is, and a function that runs it."""
    numbers = random.Random(f"{seed}/{number if jit is None else number - number % FAMILY}")
    name = numbers.choice(file_names())
    kind = numbers.choice(KINDS if jit is None else COMPILED_KINDS)
    kernel = numbers.choice([each.name for each in fixture(name).kernels.kernels])
    watch = numbers.choice(WATCHES if jit is None else ("",))
    own = numbers if jit is None else random.Random(f"{seed}/{number}/own")
    lanes = own.choice((1, 33, 64, 100))

    def run() -> Any:
        file = opened(damaged(name, kind, numbers)) if kind in (*SECTIONS, "anywhere") else fixture(name)
        chosen = kernel
        machine = machine_for(file, chosen)
        machine.jit, machine.keeps_code = jit or "auto", jit is None
        args = arguments(file, chosen, own) if kind == "arguments" or own.random() < 0.8 else None
        order: dict[str, Any] = {
            "seed": {"seed": number},
            "weak": {"weak_memory": number, "agents": 1 + number % 3},
        }.get(watch, {})
        launched = launch(machine, file, chosen, grid=lanes, work_group=min(lanes, 64), args=args, **order)
        if kind in ("words", "instructions"):
            target = machine.target
            processor = target.name.split("-")[1]
            code = b"".join(
                numbers.randbytes(4) if kind == "words" else instruction(processor, target.lane_count, numbers)
                for _ in range(30)
            )
            entry = launched.plan.start.entry
            place = machine.memory.writable(entry, min(len(code), 256))
            place[:] = code[: len(place)]
        elif kind == "loop":
            code = loop(machine, launched.plan.start.entry, numbers)
            machine.memory.writable(launched.plan.start.entry, len(code))[:] = code
        return machine, watched(launched, watch)

    return f"{name} {kernel} {kind} {watch}".rstrip(), run


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


def compared(number: int, seed: str) -> tuple[str, Any]:
    """Return what a mutant is, and a function that runs it compiled and interpreted."""
    what, run = mutant(number, seed, "on")

    def run_both() -> Any:
        machine, halt = run()
        other, interpreted = mutant(number, seed, "off")[1]()
        ends = [(str(end), each.device.executed, hashed(each)) for end, each in ((halt, machine), (interpreted, other))]
        if ends[0] != ends[1]:
            raise Differs(f"compiled: {ends[0]}\ninterpreted: {ends[1]}")
        return machine, halt

    return what, run_both


def hashed(machine: Gpu) -> str:
    """Return the hash of the registers and the memory of a machine."""
    found = hashlib.sha256()
    for file in machine.files:
        found.update(file.known.tobytes() + np.where(file.known[..., None], file.data, 0).tobytes())
    for store in machine.memory.stores.values():
        for block in store.blocks:
            found.update(block.buffer)
    return found.hexdigest()


def keep_compiled() -> None:
    """Let all machines share what is compiled: of a damaged kernel only the blocks that differ are compiled anew."""
    plain = CompiledRegions._region  # noqa: SLF001
    known: dict[Any, CompiledRegion] = {}

    def region(self: CompiledRegions, blocks: list[BlockCode]) -> CompiledRegion:
        device = self.device
        key = device.processor, device.lanes, frozenset(self.differing), *device.special_sources().values(), *(
            (each.start, each.mode, each.following, each.ending, *(made.data for _at, made in each.instructions))
            for each in blocks
        )  # fmt: skip
        if key not in known:
            if len(known) >= MOST_REGIONS:
                del known[next(iter(known))]
            known[key] = plain(self, blocks)
        return known[key]

    CompiledRegions._region = region  # type: ignore[method-assign]  # noqa: SLF001


class Differs(Exception):
    """A mutant that ends in another way where it is compiled."""


def watched(launched: Launched, watch: str) -> Halt:
    """Run a kernel as `dwarfgpu run` does with an option, and write what it says."""
    running = Running(launched)
    trace = profile = None
    if watch in ("trace", "lines"):
        writer = TraceWriter()
        show = value_text if watch == "lines" else None
        trace = StepTrace(running, lambda step: (list(writer.lines(step)), STEP.json(step)), show=show)
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


def try_mutant(number: int, seed: str, *, is_compiled: bool = False) -> tuple[Finding | None, str]:
    """Run a mutant; return what is wrong, and how it ended."""
    what = ""
    try:
        with limited_time(SECONDS):
            what, run = (compared if is_compiled else mutant)(number, seed)
            machine, halt = run()
    except DwarfGpuError:
        return None, "error"
    except (Exception, TooLong) as error:  # noqa: BLE001 (what can happen is the question)
        inside = [each for each in traceback.extract_tb(error.__traceback__) if "/dwarfgpu/" in each.filename]
        place = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else f"mutant {number}"
        return Finding(number, what, type(error).__name__, place, traceback.format_exc()[-2500:]), "exception"
    if halt.kind not in HALTS or not halt.reason:
        return Finding(number, what, "Halt", halt.kind, str(halt)), halt.kind
    if REFUSED in halt.reason:
        target = machine.target
        code = bytes(machine.memory.read(target.default_space, halt.pc, 20, None, None))
        made = decode(code, 0, target.name.split("-")[1], target.lane_count)
        return Finding(number, what, "Refused", made.name, f"{text(made)}: {halt.reason}"), "refused"
    return None, halt.kind


def fuzz(
    seed: str, first: int, count: int, seconds: float | None = None, *, is_compiled: bool = False
) -> tuple[list[Finding], Counter[str]]:
    """Run mutants; return the findings, each once, and how the mutants ended."""
    end = None if seconds is None else time.monotonic() + seconds
    findings: dict[tuple[str, str], Finding] = {}
    if is_compiled:
        keep_compiled()
    ends: Counter[str] = Counter()
    for number in range(first, first + count):
        if end is not None and time.monotonic() > end:
            break
        finding, how = try_mutant(number, seed, is_compiled=is_compiled)
        ends[how] += 1
        if finding is not None and (finding.kind, finding.place) not in findings:
            findings[finding.kind, finding.place] = finding
            print(f"FOUND {finding.kind} in {finding.place}: {number}, {finding.what}\n{finding.trace}", flush=True)
        if number % 1000 == 999:
            print(f"{number + 1}: {dict(ends)}", file=sys.stderr, flush=True)
    return list(findings.values()), ends


def main(argv: Sequence[str] | None = None) -> int:
    """Run mutants, or one again."""
    parser = argparse.ArgumentParser(
        prog="tools/fuzz.py --running", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="how many mutants (1000)")
    parser.add_argument("--seed", default="0", help="what the mutants depend on (0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first mutant (0)")
    parser.add_argument("--seconds", type=float, metavar="S", help="start no more mutants after so long")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="only this mutant")
    parser.add_argument("--compiled", action="store_true", help="compile each block before it is executed, and compare")
    options = parser.parse_args(argv)
    file_names()
    limit_memory(MEMORY)
    first, count = (options.first, options.count) if options.replay is None else (options.replay, 1)
    findings, ends = fuzz(options.seed, first, count, options.seconds, is_compiled=options.compiled)
    print(f"fuzz: {sum(ends.values())} mutants, {len(findings)} findings")
    for how, times in ends.most_common():
        print(f"  {times:>6} {how}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
