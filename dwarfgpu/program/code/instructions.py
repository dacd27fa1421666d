"""Instructions of a program: those of AMD GPUs are decoded here, others as a disassembler of the machine writes them.

What was asked once is remembered.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, EvaluationError, Unsupported, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.disassemblers import (
    DisassemblerFailed,
    DisassemblyTarget,
    NoDisassembler,
    UnknownProcessor,
    candidates,
    machine_of,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.execution import Execution


LONGEST = 20
"""Bytes of the longest instruction of any processor: image instructions of GFX10 have five words."""
MAX_KNOWN = 256
"""How many listings are remembered."""

_AMDGPU = re.compile(r"\t(.*?)\s*// ([0-9A-F]+):(?: [0-9A-F]{8})+(?: <.*)?$")
"""``\\ts_endpgm    // 000000001500: BF810000``, where a branch may name its target behind it."""
_LLVM = re.compile(r"\s*([0-9a-f]+): (?:[0-9a-f]{2,8} )+\s*(.*)$")
_BINUTILS = re.compile(r"\s*([0-9a-f]+):\t(?:[0-9a-f]{2,8} )+\s*(.*)$")
_BRANCH = re.compile(r"s_(?:c?branch\w*|call_b64 .*,)\s+(\d+)$")
_TARGET = re.compile(r"\b0x([0-9a-f]+)(?: <[^>]*>)?$")
"""Where a branch of another machine goes, or what address a comment tells; a section is named behind it."""


@frozen
class ListedInstruction:
    """One instruction."""

    address: int
    data: bytes
    text: str
    target: int | None = None
    """The address that it names, such as that of a branch."""

    @property
    def size(self) -> int:
        return len(self.data)


@frozen
class Listing:
    """Some code as instructions; as plain numbers where there is no disassembler for it, with the reason."""

    instructions: tuple[ListedInstruction, ...]
    problem: DwarfGpuError | None = None


class Disassembler:
    """Finds instructions. ``chosen`` is the program that the user wants.

    If it is empty, the instructions of AMD GPUs are decoded without a program, and for others one is found.
    """

    def __init__(self, chosen: str = "") -> None:
        self.chosen = chosen
        self._known: dict[tuple[object, ...], Listing] = {}
        self._paths: dict[tuple[object, ...], str] = {}

    def listing(self, machine: DisassemblyTarget, code: bytes, address: int) -> Listing:
        """Return the instructions of some code; the last one may extend beyond it."""
        key = (machine.key, address, code)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._make(machine, code, address)
        return known

    def _make(self, machine: DisassemblyTarget, code: bytes, address: int) -> Listing:
        if machine.processor and not self.chosen:
            try:
                return Listing(tuple(_decoded(machine, code, address)))
            except Unsupported:
                pass  # a processor whose instructions are not known here; a disassembler may know it
        try:
            text = self._run(machine, code, address)
            rows = tuple(_instructions(text, machine, code, address))
            if code and not rows:
                name = os.path.basename(self._paths[machine.key])  # noqa: PTH119 (`pathlib` costs start-up time)
                raise DisassemblerFailed("failed", f"{name} writes nothing that can be understood")
        except DwarfGpuError as error:
            return Listing(tuple(_numbers(machine, code, address)), error)
        return Listing(rows)

    def _run(self, machine: DisassemblyTarget, code: bytes, address: int) -> str:
        known = self._paths.get(machine.key)
        if known is not None:
            return run(known, machine, code, address)
        tried = []
        for path in candidates(machine, self.chosen):
            try:
                text = run(path, machine, code, address)
            except UnknownProcessor:
                tried.append(os.path.basename(path))  # noqa: PTH119
                continue
            self._paths[machine.key] = path
            return text
        raise NoDisassembler(machine, tried)


def _decoded(machine: DisassemblyTarget, code: bytes, address: int) -> Iterator[ListedInstruction]:
    from dwarfgpu.isa.decoder import decoder, text

    decode = decoder(machine.processor, machine.wave_size).decode
    at = 0
    while at + 4 <= len(code):
        instruction = decode(code, at)
        target = None if instruction.branch is None else address + at + instruction.branch
        yield ListedInstruction(address + at, instruction.data, text(instruction), target)
        at += instruction.size
    for start in range(at, len(code)):
        yield ListedInstruction(address + start, code[start : start + 1], f".byte {code[start]:#04x}")


def _instructions(written: str, machine: DisassemblyTarget, code: bytes, address: int) -> Iterator[ListedInstruction]:
    rows: list[tuple[int, str]] = []
    end = address + len(code)
    for line in written.split("\n"):
        match = _AMDGPU.match(line)
        if match is not None:
            row = int(match[2], 16), match[1]
        elif (match := _LLVM.match(line) or _BINUTILS.match(line)) is not None:
            row = int(match[1], 16), match[2]
        else:
            continue
        if address <= row[0] < end and (not rows or rows[-1][0] < row[0]):
            rows.append(row)
    stops = [start for start, _ in rows][1:] + [end] * bool(rows)
    for (start, words), stop in zip(rows, stops, strict=True):
        text = words.replace("\t", " ").rstrip()
        where = _target(text, start, machine)
        if where is not None and not machine.processor:  # the name of the section says nothing there
            text = _TARGET.sub(f"{where:#x}", text)
        yield ListedInstruction(start, code[start - address : stop - address], text, where)


def _target(text: str, address: int, machine: DisassemblyTarget) -> int | None:
    if not machine.processor:
        match = _TARGET.search(text)
        return None if match is None or "$" in text[match.start() - 1 : match.start()] else int(match[1], 16)
    match = _BRANCH.match(text)
    if match is None:
        return None
    count = int(match[1])  # of words from the next instruction on, as a signed number of 16 bits
    return address + 4 + 4 * (count - (count & 0x8000) * 2)


def _numbers(machine: DisassemblyTarget, code: bytes, address: int) -> Iterator[ListedInstruction]:
    """Yield code as what an assembler takes for it, word by word or byte by byte."""
    unit = 4 if machine.processor and not (len(code) | address) % 4 else 1
    for start in range(0, len(code), unit):
        data = code[start : start + unit]
        number = int.from_bytes(data, machine.image.byte_order)
        text = f".long {number:#010x}" if unit == 4 else f".byte {number:#04x}"
        yield ListedInstruction(address + start, data, text)


# --- The code of a program ----------------------------------------------------------------------------------------

MAX_CODE = 1 << 20
"""More bytes are not disassembled at once."""


@frozen
class ProgramCode:
    """Finds the instructions at addresses of the running program."""

    state: Execution
    disassembler: Disassembler

    def between(self, low: int, high: int) -> Listing:
        """Return the instructions that begin from ``low`` up to ``high``."""
        if high - low > MAX_CODE:
            message = f"{high - low} bytes of code are too many to disassemble at once: the limit is {MAX_CODE}"
            raise UsageError(message, kind="too_large")
        if low >= high:
            return Listing(())
        disassembly = self._listing(low, high - low + LONGEST, high - low)
        chosen = tuple(instruction for instruction in disassembly.instructions if instruction.address < high)
        return evolve(disassembly, instructions=chosen)

    def some(self, address: int, count: int) -> Listing:
        """Return ``count`` instructions from an address on; fewer where the code ends."""
        if count <= 0:
            return Listing(())
        disassembly = self._listing(address, min(count * LONGEST, MAX_CODE), 1)
        return evolve(disassembly, instructions=disassembly.instructions[:count])

    def _listing(self, address: int, size: int, least: int) -> Listing:
        code = self.state.loaded.at(address) or self.state.loaded.codes[0]
        data = self._read(code, address, size)
        if not data or len(data) < min(least, size):
            missing = address + len(data)
            raise EvaluationError("memory_unavailable", f"Cannot access memory at address {missing:#x}")
        return self.disassembler.listing(self._machine(code, address), data, address)

    def _read(self, code: LoadedCode, address: int, size: int) -> bytes:
        """Read the bytes at an address, as many as there are: of the file, or else of the machine."""
        if code.holds(address):
            place = code.in_file(address)
            sections = [section for section in code.file.image.sections if section.is_allocated]
            inside = [section for section in sections if 0 <= place - section.address < section.size]
            if inside:
                size = min(size, inside[0].address + inside[0].size - place)
            while size > 0:
                try:
                    return code.file.image.read(place, size)
                except DwarfGpuError:
                    size //= 2  # the segment ends before
        return self._read_memory(address, size)

    def _read_memory(self, address: int, size: int) -> bytes:
        space = self.state.target.default_space
        while size > 0:
            try:
                return self.state.backend.read_memory(space, address, size, 0, None)
            except DwarfGpuError:
                size //= 2
        return b""

    def _machine(self, code: LoadedCode, address: int) -> DisassemblyTarget:
        """Return what the code at an address is for. Where kernels differ in their wave size, each has its own."""
        file = code.file
        is_running = self.state.target.execution_mask is not None and file.is_amdgpu
        target = machine_of(file.image, self.state.target if is_running else file.target.target)
        if target.wave_size and len(file.wave_sizes) > 1:
            symbol = file.symbol_image.symbol_at(code.in_file(address))
            for kernel in () if symbol is None else file.kernels.kernels:
                said = kernel.descriptor or kernel.code
                if kernel.name == symbol.name and said is not None and said.wavefront_size:  # type: ignore[union-attr]
                    return evolve(target, wave_size=said.wavefront_size)
        return target
