"""Core files of x86-64 processes: the notes of threads, mappings and the auxiliary vector, and memory."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ORDER = [
    *("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi"),
    *("rdi", "orig_rax", "rip", "cs", "rflags", "rsp", "ss", "fs.base", "gs.base", "ds", "es", "fs", "gs"),
]
PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_FPREGSET, NT_AUXV, NT_FILE = 1, 2, 6, 0x46494C45


@dataclass
class Thread:
    pid: int
    registers: Mapping[str, int]
    signal: int = 0
    xmm: Mapping[int, int] = field(default_factory=dict)


def note(type_: int, data: bytes, owner: bytes = b"CORE\0") -> bytes:
    head = struct.pack("<III", len(owner), len(data), type_) + owner
    head += bytes(-len(head) % 4)
    return head + data + bytes(-len(data) % 4)


def prstatus(thread: Thread) -> bytes:
    data = bytearray(336)
    struct.pack_into("<h", data, 12, thread.signal)
    struct.pack_into("<i", data, 32, thread.pid)
    for index, name in enumerate(ORDER):
        struct.pack_into("<Q", data, 112 + 8 * index, thread.registers.get(name, 0))
    return bytes(data)


def fpregset(thread: Thread) -> bytes:
    data = bytearray(512)
    for index, value in thread.xmm.items():
        data[160 + 16 * index : 176 + 16 * index] = value.to_bytes(16, "little")
    return bytes(data)


def file_note(mappings: Sequence[tuple[int, int, int, str]], page: int = 4096) -> bytes:
    data = struct.pack("<QQ", len(mappings), page)
    for start, end, offset, _ in mappings:
        data += struct.pack("<QQQ", start, end, offset // page)
    return data + b"".join(path.encode() + b"\0" for *_, path in mappings)


def core_file(
    threads: Sequence[Thread],
    memory: Mapping[int, bytes],
    mappings: Sequence[tuple[int, int, int, str]] = (),
    auxiliary: Mapping[int, int] | None = None,
    *,
    extra: bytes = b"",
    type_: int = 4,
    machine: int = 62,
) -> bytes:
    """A core file. ``mappings`` are (start, end, offset in the file, path); ``extra`` stands behind the notes."""
    notes = b"".join(note(NT_PRSTATUS, prstatus(each)) + note(NT_FPREGSET, fpregset(each)) for each in threads)
    notes += note(NT_AUXV, b"".join(struct.pack("<QQ", *pair) for pair in (auxiliary or {}).items()))
    if mappings:
        notes += note(NT_FILE, file_note(mappings))
    notes += extra
    count = 1 + len(memory)
    position = 64 + 56 * count
    headers = struct.pack("<IIQQQQQQ", PT_NOTE, 0, position, 0, 0, len(notes), 0, 4)
    body = notes
    for address, data in memory.items():
        headers += struct.pack("<IIQQQQQQ", PT_LOAD, 6, position + len(body), address, 0, len(data), len(data), 1)
        body += data
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    head = struct.pack("<HHIQQQIHHHHHH", type_, machine, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    return ident + head + headers + body
