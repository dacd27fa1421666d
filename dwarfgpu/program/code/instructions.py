"""Instructions of a program: those of AMD GPUs are decoded here, others as a disassembler of the machine writes them.

A disassembler is needed for host programs and for the few GPUs whose instructions `dwarfgpu.isa` does not know; users
can choose one for others. Whether it knows a processor is found out by giving it the code. What was asked once is
remembered.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dwarfgpu.children import PrivateFolder
from dwarfgpu.errors import DwarfGpuError, EvaluationError, Unsupported, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHF_ALLOC

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.targets.target import Target


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

    def listing(self, machine: DisassemblyTarget, code: bytes, address: int, mode: int = 0) -> Listing:
        """Return the instructions of some code; the last one may extend beyond it.

        ``mode`` is MODE before it, which on GFX12.5 adds to the numbers of vector registers.
        """
        key = (machine.key, address, code, mode)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._make(machine, code, address, mode)
        return known

    def _make(self, machine: DisassemblyTarget, code: bytes, address: int, mode: int) -> Listing:
        if machine.processor and not self.chosen:
            try:
                return Listing(tuple(_decoded(machine, code, address, mode)))
            except Unsupported:
                pass  # a processor whose instructions are not known here; a disassembler may know it
        try:
            text = self._run(machine, code, address)
            rows = tuple(_instructions(text, machine, code, address))
            if code and not rows:
                name = os.path.basename(self._paths[machine.key])
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
                tried.append(os.path.basename(path))
                continue
            self._paths[machine.key] = path
            return text
        raise NoDisassembler(machine, tried)


def _decoded(machine: DisassemblyTarget, code: bytes, address: int, mode: int) -> Iterator[ListedInstruction]:
    from dwarfgpu.isa.decoder import BankFollower, decoder, text, with_comments

    decode, banks = decoder(machine.processor, machine.wave_size).decode, BankFollower(machine.processor)
    banks.mode = mode
    at = 0
    while at + 4 <= len(code):
        instruction = decode(code, at)
        shown = with_comments(instruction, banks.mode) if banks.mode else instruction
        banks.follow(instruction)
        target = None if instruction.branch is None else address + at + instruction.branch
        yield ListedInstruction(address + at, instruction.data, text(shown), target)
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
        machine = self._machine(code, address)
        return self.disassembler.listing(machine, data, address, self._mode(machine, code, address))

    def _mode(self, machine: DisassemblyTarget, code: LoadedCode, address: int) -> int:
        """Return the bits of MODE that the function has set before an address, in the order of its code."""
        from dwarfgpu.isa.decoder import BankFollower, decoder
        from dwarfgpu.isa.tables import is_gfx12_5

        symbol = code.file.symbol_image.symbol_at(code.in_file(address)) if is_gfx12_5(machine.processor) else None
        banks = BankFollower(machine.processor)
        if symbol is None:
            return banks.mode
        data = self._read(code, code.in_program(symbol.value), code.in_file(address) - symbol.value)
        decode, at = decoder(machine.processor, machine.wave_size).decode, 0
        while at + 4 <= len(data):
            instruction = decode(data, at)
            banks.follow(instruction)
            at += instruction.size
        return banks.mode

    def _read(self, code: LoadedCode, address: int, size: int) -> bytes:
        """Read the bytes at an address, as many as there are: of the file, or else of the machine."""
        if code.holds(address):
            place = code.in_file(address)
            sections = [section for section in code.file.image.sections if section.is_allocated]
            inside = [section for section in sections if 0 <= place - section.address < section.size]
            if inside:
                size = min(size, inside[0].address + inside[0].size - place)
            data = _as_much(lambda count: code.file.image.read(place, count), size)  # the segment may end before
            if data:
                return data
        space = self.state.target.default_space
        return _as_much(lambda count: self.state.backend.read_memory(space, address, count, 0, None), size)

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


def _as_much(read: Callable[[int], bytes], size: int) -> bytes:
    """Return the bytes that can be read, half as many again and again."""
    while size > 0:
        try:
            return read(size)
        except DwarfGpuError:
            size //= 2
    return b""


# --- Disassemblers of the machine -------------------------------------------------------------------------------------


OBJDUMP = "llvm-objdump"
VERSIONS = ("", *(f"-{version}" for version in range(26, 14, -1)))
PLACE = "/opt/rocm/llvm/bin"
"""Where vendors put tools that are not on the search path."""
BINUTILS = "objdump"
SECONDS = 20
"""How long a disassembler may take."""
MAX_OUTPUT = 1 << 28

_VERSION = re.compile(rb"version (\d+(?:\.\d+)*)")
_UNKNOWN = ("not a recognized processor", "can't disassemble", "unable to get target", "not yet supported")
"""What disassemblers say of a machine or a processor that they do not know."""


@frozen
class DisassemblyTarget:
    """What the code is for, as disassemblers want to be told."""

    image: Image
    """The file, whose header says the machine."""
    processor: str
    """``gfx90a``; empty for targets other than AMDGPU."""
    wave_size: int = 0
    """The lanes of a wave, where the processor has waves of several sizes."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.processor or self.image.machine_name

    @property
    def key(self) -> tuple[object, ...]:
        """What is equal for code of one kind."""
        image = self.image
        return image.machine, image.address_size, image.byte_order, self.processor, self.wave_size


def machine_of(image: Image, target: Target) -> DisassemblyTarget:
    """Return what the code of a file is for; ``target`` says the processor and the wave size."""
    if image.machine != EM_AMDGPU:
        return DisassemblyTarget(image, "")
    processor, _, size = target.name.removeprefix("amdgcn-").partition("-wave")
    return DisassemblyTarget(image, processor, int(size or 0))


class NoDisassembler(Unsupported):
    """Nothing on the machine can disassemble the code."""

    def __init__(self, machine: DisassemblyTarget, tried: list[str]) -> None:
        what = f"there is no disassembler for {machine.name} here"
        where = "llvm-objdump of LLVM or ROCm" if machine.processor else "objdump of binutils, or llvm-objdump"
        hint = f"install {where}, or name one with `set disassembler PATH`"
        if tried:
            what = f"{', '.join(tried)} cannot disassemble {machine.name}"
            hint = "a newer one may: install it, or name it with `set disassembler PATH`"
        Unsupported.__init__(self, "no_disassembler", f"{what}: the code is shown as bytes", hint=hint)


class DisassemblerFailed(Unsupported):
    """A disassembler did not do what it is for."""


class UnknownProcessor(Unsupported):
    """A disassembler does not know the processor."""


def candidates(machine: DisassemblyTarget, chosen: str) -> Iterator[str]:
    """Yield the disassemblers that may know a target, the likeliest first; or the one that the user has chosen.

    The newest of LLVM comes first: it knows most processors, and decodes best those it knows. Its
    assembler also reads code, for AMDGPU processors as well as llvm-objdump; for others it does not say
    where branches lead.
    """
    if chosen:
        path = shutil.which(os.path.expanduser(chosen))
        if path is None:
            hint = "`set disassembler` without a name looks for one"
            raise UsageError(f"there is no program {chosen}", kind="no_program", hint=hint)
        yield path
        return
    if not machine.processor:
        path = shutil.which(BINUTILS)
        if path is not None:
            yield path
    for tool in (OBJDUMP, NAME) if machine.processor else (OBJDUMP,):
        names = (*(f"{tool}{version}" for version in VERSIONS), f"{PLACE}/{tool}")
        yield from sorted(dict.fromkeys(filter(None, map(shutil.which, names))), key=_version, reverse=True)


def _version(path: str) -> tuple[int, ...]:
    try:
        with PrivateFolder() as folder:
            done = folder.run([path, "--version"], limit=SECONDS)
    except OSError:
        return ()
    match = _VERSION.search(done.stdout)
    return () if match is None else tuple(map(int, match[1].split(b".")))


def run(path: str, machine: DisassemblyTarget, code: bytes, address: int) -> str:
    """Return what a disassembler writes about some code."""
    name = os.path.basename(path)
    is_assembler = name.startswith(NAME)
    with PrivateFolder() as folder:
        file = folder.path / "code.o"
        # on one line, so that the column of a warning tells the byte
        assembly = "".join(_BYTE % byte for byte in code).encode()
        file.write_bytes(assembly if is_assembler else code_image(code, address, machine.image))
        try:
            words = [path, *_options(name, machine), str(file)]
            done = folder.run(words, limit=SECONDS, variables={"LC_ALL": "C"})
        except TimeoutError:
            raise DisassemblerFailed("timeout", f"{name} took longer than {SECONDS} seconds") from None
        except OSError as error:
            raise DisassemblerFailed("not_run", f"{path}: {error.strerror or error}") from None
    complaint = done.stderr.decode(errors="backslashreplace")
    if any(words in complaint for words in _UNKNOWN):
        raise UnknownProcessor("unknown_processor", f"{name} does not know {machine.name}")
    if done.returncode:
        first = next(iter(complaint.split("\n")), "")[:120]
        raise DisassemblerFailed("failed", f"{name}: exit status {done.returncode}{first and f', {first}'}")
    if len(done.stdout) > MAX_OUTPUT:
        raise DisassemblerFailed("failed", f"{name} wrote {len(done.stdout)} bytes")
    written = done.stdout.decode(errors="backslashreplace")
    return "\n".join(as_objdump(written, complaint, code, address)) if is_assembler else written


def _options(name: str, machine: DisassemblyTarget) -> list[str]:
    if not machine.processor:
        return ["-d", "-z"] if "llvm" in name else ["-d", "-z", "-w"]
    how = OPTIONS if name.startswith(NAME) else ("-d", "-z")
    arguments = [*how, "--triple=amdgcn-amd-amdhsa", f"--mcpu={machine.processor}"]
    if machine.wave_size:
        other = 96 - machine.wave_size
        features = f"+wavefrontsize{machine.wave_size},-wavefrontsize{other}"
        features += ",+real-true16" if machine.processor.startswith("gfx12") else ""  # LLVM 22 drops the halves without
        arguments.append(f"--mattr={features}")
    return arguments


# --- An ELF file with one section of code -------------------------------------------------------------------------
# So the code of a bundle, of a compressed file and of a running program are all handed over in the same way,
# and what symbols and sections of the real file might do to a disassembler does not matter.

_ET_EXEC, _SHT_PROGBITS, _SHT_STRTAB, _SHF_EXECINSTR = 2, 1, 3, 4
_NAMES = b"\0.text\0.shstrtab\0"
_TEXT, _SHSTRTAB = _NAMES.index(b".text"), _NAMES.index(b".shstrtab")


def code_image(code: bytes, address: int, image: Image) -> bytes:
    """Return a file with some code at an address, for the processor of another file."""
    order = "<" if image.byte_order == "little" else ">"
    is_wide = image.address_size == 8
    header = struct.Struct(order + ("16sHHIQQQIHHHHHH" if is_wide else "16sHHIIIIIHHHHHH"))
    section = struct.Struct(order + ("IIQQQQIIQQ" if is_wide else "IIIIIIIIII"))
    names = header.size + len(code)
    table = -(-(names + len(_NAMES)) // 8) * 8
    identity = bytes((*b"\x7fELF", 2 if is_wide else 1, 1 if order == "<" else 2, 1, image.osabi, image.abi_version))
    head = header.pack(
        *(identity, _ET_EXEC, image.machine, 1, 0, 0, table, image.flags), *(header.size, 0, 0, section.size, 3, 2)
    )
    sections = (
        bytes(section.size),
        section.pack(_TEXT, _SHT_PROGBITS, SHF_ALLOC | _SHF_EXECINSTR, address, header.size, len(code), 0, 0, 4, 0),
        section.pack(_SHSTRTAB, _SHT_STRTAB, 0, 0, names, len(_NAMES), 0, 0, 1, 0),
    )
    body = head + code + _NAMES
    return body + bytes(table - len(body)) + b"".join(sections)


# --- ``llvm-mc --disassemble`` ------------------------------------------------------------------------------------

NAME = "llvm-mc"
OPTIONS = ("--disassemble", "--show-encoding")
WORD = 4
"""It passes over so many bytes that are no instruction."""

_BYTE = "0x%02x "
_WRITTEN = re.compile(r"\t(.*?)\s*; encoding: \[((?:0x[0-9a-f]{2},?)+)\]")
_INVALID = re.compile(r":1:(\d+): warning: (?:invalid|potentially undefined) instruction encoding")


def as_objdump(written: str, warnings: str, code: bytes, address: int) -> Iterator[str]:
    """Yield the assembler's lines as ``llvm-objdump`` writes them: with addresses, and with bytes that are not code."""
    size = len(_BYTE % 0)
    invalid = {(int(column) - 1) // size for column in _INVALID.findall(warnings)}
    at = 0
    for text, encoding in [*_WRITTEN.findall(written), ("", "")]:
        while at in invalid:
            word = int.from_bytes(code[at : at + WORD], "little")
            yield _line(f".long {word:#010x}", address + at, WORD)
            at += WORD
        if not text:
            break
        length = len(encoding.split(","))
        yield _line(text, address + at, length)
        at += length


def _line(text: str, address: int, length: int) -> str:
    return f"\t{text} // {address:012X}:{' 00000000' * (length // WORD)}"
