"""Core files: what the threads of a process and its memory were when it was written (gABI, and the Linux kernel).

The notes of the owner ``CORE`` follow the kernel's ``struct elf_prstatus``, ``struct user_regs_struct`` and
``fs/binfmt_elf.c``. The memory is that of the PT_LOAD segments. What is left out of it because a file has it is in the
files of NT_FILE.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.elf.header import EM_X86_64, ET_CORE, PT_LOAD, malformed

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image
    from dwarfgpu.objfile.elf.notes import Note

NT_PRSTATUS, NT_FPREGSET, NT_PRPSINFO, NT_AUXV = 1, 2, 3, 6
NT_FILE, NT_SIGINFO = 0x46494C45, 0x53494749
AT_SYSINFO_EHDR = 33
"""Where the kernel has put the vDSO, which no file holds."""

PRSTATUS_PID, PRSTATUS_SIGNAL, PRSTATUS_REGISTERS = 32, 12, 112
"""The offsets of ``pr_pid``, ``pr_cursig`` and ``pr_reg`` in ``struct elf_prstatus`` of a 64-bit process."""
PRPSINFO_COMMAND = 56
"""The offset of ``pr_psargs`` in ``struct elf_prpsinfo`` of a 64-bit process: the command, 80 bytes of it."""
SIGINFO_CODE, SIGINFO_ADDRESS = 8, 16
"""The offsets of ``si_code`` and ``si_addr`` in ``siginfo_t``."""
FAULTS = frozenset((4, 5, 7, 8, 11))
"""SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV: their ``siginfo_t`` has the address, unless a process sent them."""
GENERAL = (
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi"),
    *("rdi", "orig_rax", "rip", "cs", "rflags", "rsp", "ss", "fs.base", "gs.base", "ds", "es", "fs", "gs"),
)
"""``struct user_regs_struct`` of x86-64, eight bytes each."""
FXSAVE_ST, FXSAVE_XMM, FXSAVE_SIZE = 32, 160, 512
"""Where the FXSAVE area has the x87 and the SSE registers (Intel SDM, volume 1, 10.5.1)."""
MAX_FILES = 1 << 16


@frozen
class CoreThread:
    """One thread: its registers by name, as bytes in memory order."""

    pid: int
    signal: int
    """The signal that stopped it, or 0."""
    registers: dict[str, bytes]
    fault: int | None = None
    """The address that the signal is about; None of a signal that a process sent."""


@frozen
class Mapping:
    """A part of a file that the process had mapped."""

    start: int
    end: int
    offset: int
    """Where the part begins in the file."""
    path: str


@frozen
class CoreFile:
    """A core file."""

    name: str
    threads: tuple[CoreThread, ...]
    """The threads; first the one that the process ended in."""
    memory: tuple[tuple[int, memoryview], ...]
    """The memory that the file has: addresses and bytes."""
    mappings: tuple[Mapping, ...]
    auxiliary: dict[int, int]
    """The auxiliary vector: values by type."""
    command: str = ""
    """The command line, as far as the core file has it."""
    problems: tuple[DwarfGpuError, ...] = ()


def read_core(image: Image) -> CoreFile:
    """Read the parts of a core file of an x86-64 process. An error in one part leaves the others readable."""
    if image.type != ET_CORE:
        raise MalformedFile("not_a_core", f"{image.name} is not a core file: its type is {image.type_name}")
    if image.machine != EM_X86_64 or image.address_size != 8:
        message = f"{image.name}: core files of {image.machine_name} are not supported"
        raise Unsupported("core", message, hint="use a core file of an x86-64 process")
    problems: list[DwarfGpuError] = []
    threads: list[CoreThread] = []
    mappings: tuple[Mapping, ...] = ()
    auxiliary: dict[int, int] = {}
    notes = [note for note in image.notes() if note.owner == "CORE"]
    commands = [note.data[PRPSINFO_COMMAND:].partition(b"\0")[0] for note in notes if note.type == NT_PRPSINFO]
    for note in notes:
        try:
            if note.type == NT_PRSTATUS:
                threads.append(_thread(note, image))
            elif note.type == NT_FPREGSET and threads:
                threads[-1].registers.update(_vector_registers(note, image))
            elif note.type == NT_FILE:
                mappings = _mappings(note, image)
            elif note.type == NT_AUXV:
                count = len(note.data) // 16
                auxiliary = dict(struct.unpack_from("<QQ", note.data, 16 * i) for i in range(count))
            elif note.type == NT_SIGINFO and threads:
                threads[-1] = evolve(threads[-1], fault=_fault(note, image))
        except MalformedFile as error:
            problems.append(error)
    memory = []
    for segment in image.segments:
        if segment.type == PT_LOAD and segment.file_size:
            data = image.data[segment.offset : segment.offset + segment.file_size]
            if len(data) < segment.file_size:
                message = f"the memory at {segment.address:#x} reaches past the end of the file"
                problems.append(malformed(image.name, "truncated", message, offset=segment.offset))
            memory.append((segment.address, data))
    memory.sort(key=lambda part: part[0])
    command = commands[0].decode("utf-8", "backslashreplace") if commands else ""
    return CoreFile(image.name, tuple(threads), tuple(memory), mappings, auxiliary, command, tuple(problems))


def _thread(note: Note, image: Image) -> CoreThread:
    data = note.data
    end = PRSTATUS_REGISTERS + 8 * len(GENERAL)
    if len(data) < end:
        raise _short(note, image, "NT_PRSTATUS", end)
    registers = {}
    for i, name in enumerate(GENERAL):
        start = PRSTATUS_REGISTERS + 8 * i
        size = 2 if len(name) == 2 and name.endswith("s") else 8  # a segment selector has 16 bits
        registers[name] = data[start : start + size]
    pid = struct.unpack_from("<i", data, PRSTATUS_PID)[0]
    signal = struct.unpack_from("<h", data, PRSTATUS_SIGNAL)[0]
    return CoreThread(pid, signal, registers)


def _fault(note: Note, image: Image) -> int | None:
    if len(note.data) < SIGINFO_ADDRESS + 8:
        raise _short(note, image, "NT_SIGINFO", SIGINFO_ADDRESS + 8)
    (number,), (code,) = (struct.unpack_from("<i", note.data, offset) for offset in (0, SIGINFO_CODE))
    (address,) = struct.unpack_from("<Q", note.data, SIGINFO_ADDRESS)
    return address if number in FAULTS and code > 0 else None


def _vector_registers(note: Note, image: Image) -> dict[str, bytes]:
    data = note.data
    if len(data) < FXSAVE_SIZE:
        raise _short(note, image, "NT_FPREGSET", FXSAVE_SIZE)
    registers = {"fcw": data[:2], "fsw": data[2:4], "mxcsr": data[24:28]}
    for i in range(8):
        start = FXSAVE_ST + 16 * i
        registers[f"st{i}"] = data[start : start + 10]
    for i in range(16):
        start = FXSAVE_XMM + 16 * i
        registers[f"xmm{i}"] = data[start : start + 16]
    return registers


def _mappings(note: Note, image: Image) -> tuple[Mapping, ...]:
    data = note.data
    if len(data) < 16:
        raise _short(note, image, "NT_FILE", 16)
    count, page = struct.unpack_from("<QQ", data)
    names_at = 16 + 24 * count
    if count > MAX_FILES or names_at > len(data):
        message = f"NT_FILE has {count} files, which do not fit its {len(data)} bytes"
        raise malformed(image.name, "truncated", message, section=note.place, offset=note.offset)
    names = data[names_at:].split(b"\0")
    mappings = []
    for i in range(count):
        start, end, offset = struct.unpack_from("<QQQ", data, 16 + 24 * i)
        path = names[i].decode("utf-8", "surrogateescape") if i < len(names) else ""
        mappings.append(Mapping(start, end, offset * page, path))
    return tuple(mappings)


def _short(note: Note, image: Image, name: str, size: int) -> MalformedFile:
    message = f"{name} needs {size} bytes, but has {len(note.data)}"
    return malformed(image.name, "truncated", message, section=note.place, offset=note.offset)
