"""Litmus tests on machines with weak memory: built by clang, with all steps of their sequences or without one."""

import io
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile

from dwarfgpu.execution.caches import cached_family
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.launch.launch import Launched, launch, machine_for
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decode, decoder, text
from dwarfgpu.isa.memory_actions import INVALIDATES, WRITE_BACKS

SOURCE = Path(__file__).with_name("litmus.cl")
NUMBERS = {"mp": 1, "sb": 2, "lb": 3, "iriw": 4, "coherence": 5, "mp-fences": 6, "mp-rmw": 7}
FORBIDDEN = {
    "mp": {0: 1, 1: 0}, "mp-fences": {0: 1, 1: 0}, "mp-rmw": {0: 1, 1: 0}, "sb": {0: 0, 1: 0}, "lb": {0: 1, 1: 1},
    "iriw": {0: 1, 1: 0, 2: 1, 3: 0}, "coherence": {0: 1, 1: 0}}  # fmt: skip
"""What no run of a test may leave in its results."""
SCOPES = {"workgroup": "WRKGRP", "agent": "DEVICE", "system": "SYSTEM"}
TARGETS = {
    "gfx803": 64, "gfx900": 64, "gfx90a": 64, "gfx942": 64, "gfx1030": 32, "gfx1100": 32, "gfx1200": 32,
    "gfx1250": 32}  # fmt: skip
LANES = 4
"""The tests that the lanes of a wave are, where its work-group is one wave."""
NOP = {4: b"\x00\x00\x80\xbf", 8: b"\x00\x00\x80\xbf" * 2}


@frozen
class Litmus:
    """One test on one target."""

    name: str
    target: str
    scope: str
    mode: str = "cu"
    spaces: str = "global global"
    """Where x and y are."""

    @property
    def threads(self) -> int:
        return 4 if self.name == "iriw" else 2

    @property
    def lanes(self) -> int:
        return TARGETS[self.target] if self.scope == "workgroup" else LANES

    @property
    def label(self) -> str:
        return f"{self.target}-{self.mode}-{self.name}-{self.scope}-{self.spaces.replace(' ', '-')}"

    def build(self, folder: Path) -> Path:
        """Compile it."""
        output = folder / f"{self.label}.co"
        fence = "" if self.scope == "system" else self.scope
        macros = {
            "LITMUS": NUMBERS[self.name],                        "SCOPE": f"__MEMORY_SCOPE_{SCOPES[self.scope]}",
            "FENCE_SCOPE": f'"{fence}"',                         "WAVE": self.lanes}  # fmt: skip
        if self.scope == "workgroup":
            macros["ONE_GROUP"] = 1
        for name, space in zip("XY", self.spaces.split(), strict=True):
            if space == "local":
                macros[f"LOCAL_{name}"] = 1
        mode = {"wgp": ["-mno-cumode"], "tgsplit": ["-mtgsplit"]}.get(self.mode, [])
        if self.mode == "cu" and self.target.startswith("gfx1") and self.target != "gfx1250":
            mode = ["-mcumode"]
        subprocess.run(
            [
                *("clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={self.target}", "-nogpulib", "-O2", "-g"),
                *("-x", "cl", "-cl-std=CL2.0", *mode, *(f"-D{name}={value}" for name, value in macros.items())),
                *(str(SOURCE), "-o", str(output)),
            ],
            check=True,
            capture_output=True,
        )
        return output

    def outcomes(self, path: Path, seed: int, tests: int) -> Counter[tuple[int, ...]]:
        """Run some tests with a seed; return how often each result came out."""
        machine = machine_for(str(path), "litmus")
        done = self.launched(machine, path, seed, tests)
        halt = machine.run(limit=tests * 40000)
        assert halt.has_ended, halt
        return Counter(map(tuple, done.buffers["out"].reshape(-1, 4)[:tests].tolist()))

    def launched(self, machine: Gpu, path: Path, seed: int, tests: int) -> Launched:
        """Launch some tests on a machine with weak memory."""
        groups = -(-tests // self.lanes)
        group = self.lanes * (self.threads if self.scope == "workgroup" else 1)
        size = groups * self.lanes
        args: dict[str, Any] = {name: np.zeros(size, np.int32) for name in ("xs", "ys")}
        args["out"] = np.full(size * 4, -1, np.int32)
        return launch(
            machine, str(path), "litmus", grid=self.threads * size, work_group=group, args=args, weak_memory=seed,
            agents=2 if self.scope == "system" else 1,
            fine_grained=[name for word, name in enumerate(("xs", "ys")) if self.is_fine_grained(word)])  # fmt: skip

    @property
    def family(self) -> str:
        """The family of its caches."""
        return cached_family(self.target, decoder(self.target, TARGETS[self.target]).major)

    def is_fine_grained(self, word: int) -> bool:
        """Return whether x or y is memory that L2 does not keep, as atomics of system scope on GFX90A need."""
        is_atomic = word == 1 or self.name in ("sb", "iriw", "lb", "coherence")
        return is_atomic and self.target == "gfx90a" and self.scope == "system"

    def is_forbidden(self, outcome: tuple[int, ...]) -> bool:
        """Return whether a result is one that the orderings forbid."""
        return all(outcome[place] == value for place, value in FORBIDDEN[self.name].items())


@frozen
class Step:
    """A step of a sequence that can be left out."""

    text: str
    offset: int
    """In the file."""
    data: bytes
    """What is there without it."""
    kind: str

    def without(self, path: Path) -> Path:
        """Write the file without the step."""
        whole = bytearray(path.read_bytes())
        whole[self.offset : self.offset + len(self.data)] = self.data
        changed = path.with_name(f"{path.stem}.{self.offset:x}.{self.data.hex()[:16]}.co")
        changed.write_bytes(whole)
        return changed


def kernel_place(data: bytes) -> tuple[int, int]:
    """Return where the kernel is in a file, and its size."""
    file = ELFFile(io.BytesIO(data))
    (symbol,) = file.get_section_by_name(".symtab").get_symbol_by_name("litmus")
    section = file.get_section(symbol["st_shndx"])
    return section["sh_offset"] + symbol["st_value"] - section["sh_addr"], symbol["st_size"]


def steps(path: Path, target: str) -> Iterator[Step]:
    """Yield what can be left out of a kernel: a wait, a write-back, an invalidate, a cache bit."""
    data = path.read_bytes()
    start, size = kernel_place(data)
    at, lanes = start, TARGETS[target]
    while at < start + size:
        instruction = decode(data[at : at + 20], 0, target, lanes)
        name = instruction.name
        if name.startswith("s_wait") and not name.startswith("s_wait_alu"):
            yield Step(text(instruction), at, NOP[instruction.size], "wait")
        elif name in (*WRITE_BACKS, *INVALIDATES):
            nop = NOP[4] * (instruction.size // 4)
            yield Step(text(instruction), at, nop, "write-back" if name in WRITE_BACKS else "invalidate")
        elif name.startswith(("global_", "flat_")) and instruction.size >= 8:
            yield from _bits(instruction, at, target, lanes)
        at += instruction.size


def _bits(instruction: Any, at: int, target: str, lanes: int) -> Iterator[Step]:
    """Yield an access without one of its cache bits."""
    bits = ("glc", "dlc", "sc0", "sc1", "scope")
    for bit in range(8 * instruction.size):
        data = bytearray(instruction.data)
        if not data[bit // 8] >> bit % 8 & 1:
            continue
        data[bit // 8] &= ~(1 << bit % 8)
        changed = decode(bytes(data) + bytes(8), 0, target, lanes)
        own, new = dict(instruction.modifiers), dict(changed.modifiers)
        others = [{key: value for key, value in row.items() if key not in bits} for row in (own, new)]
        if changed.name == instruction.name and changed.operands == instruction.operands and others[0] == others[1]:
            if "atomic" in instruction.name and any(own.get(key) != new.get(key) for key in ("glc", "sc0")):
                continue  # it says that the old value is returned
            yield Step(f"{text(instruction)} -> {text(changed)}", at, bytes(data), "bit")


MODES = {"gfx90a": ("cu", "tgsplit"), "gfx942": ("cu", "tgsplit"), "gfx1030": ("cu", "wgp"), "gfx1100": ("cu", "wgp"),
         "gfx1200": ("cu", "wgp")}  # fmt: skip


def every_litmus() -> Iterator[Litmus]:
    """Yield all tests: on each target, in each mode, at each scope and in each space where they mean something."""
    for target in TARGETS:
        for name in NUMBERS:
            for scope in ("agent", "system"):
                yield Litmus(name, target, scope)
            for mode in MODES.get(target, ("cu",)):
                yield Litmus(name, target, "workgroup", mode)
                if mode != "tgsplit" and name in ("mp", "mp-fences", "sb"):  # it has no LDS
                    for spaces in ("global local", "local global", "local local"):
                        yield Litmus(name, target, "workgroup", mode, spaces)
