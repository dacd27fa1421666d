"""The code objects that GDB reads through its remote protocol (GDB manual, "Host I/O Packets").

GDB refuses a file of another architecture than its process has. Waves are shown as threads of x86-64, so what GDB reads
says x86-64 where the file says AMDGPU. Only the files of the machine can be read.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.objfile.elf.header import EM_X86_64
from dwarfgpu.serve.packets import MAX_PACKET, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.objfile.elf.image import Image

OSABI_OFFSET, MACHINE_OFFSET, ENTRY_OFFSET = 7, 18, 24
"""Where an ELF header has ``e_ident[EI_OSABI]``, ``e_machine`` and ``e_entry`` (gABI, "ELF Header")."""
SECTION_HEADER = 64
SHT_NULL, SHF_ALLOC = 0, 2
FLAGS = SHF_ALLOC | 4
"""Whether a section is in memory and has code (SHF_EXECINSTR)."""
FRAMES = (".debug_frame", ".eh_frame")
ENOENT, EBADF = 2, 9
"""The numbers of errors in the protocol, which are its own ("Errno Values")."""
_READ_ONLY_FILE = 0o100444
_LONGEST_PART = MAX_PACKET // 2 - 64
"""How many bytes a part of a file has at most, all of which may be escaped."""


class ServedFiles:
    """The files that one GDB can open."""

    def __init__(self, contents: Iterable[tuple[str, memoryview]]) -> None:
        self._contents = dict(contents)
        self._open: dict[int, memoryview] = {}

    def answer(self, packet: bytes) -> bytes:
        """Return the answer to a packet, which begins behind ``vFile:``; an empty one if it is not known."""
        action, _, text = packet.partition(b":")
        words = text.split(b",")
        if action == b"setfs":
            return b"F0"
        if action == b"open":
            return self._opened(bytes.fromhex(words[0].decode("ascii")).decode("utf-8", "surrogateescape"))
        if action not in (b"fstat", b"pread", b"close"):
            return b""
        number = int(words[0], 16)
        data = self._open.get(number)
        if data is None:
            return _error(EBADF)
        if action == b"fstat":
            return _attached(_status(len(data)))
        if action == b"pread":
            count, start = int(words[1], 16), int(words[2], 16)
            return _attached(data[start : start + min(count, _LONGEST_PART)])
        del self._open[number]
        return b"F0"

    def _opened(self, path: str) -> bytes:
        data = self._contents.get(path)
        if data is None:
            return _error(ENOENT)
        number = next(number for number in range(len(self._open) + 1) if number not in self._open)
        self._open[number] = data
        return b"F%x" % number


def as_host_code(image: Image) -> memoryview:
    """Return an ELF file with x86-64 as its machine, and without call frame information.

    The information of AMD GPUs ends stock GDB with an internal error. An entry point, which GDB looks for, is in no
    function: stacks end in the one that has it.
    """
    changed = bytearray(image.data)
    changed[OSABI_OFFSET] = 0
    struct.pack_into("<H", changed, MACHINE_OFFSET, EM_X86_64)
    data = next((section for section in image.sections if section.flags & FLAGS == SHF_ALLOC and section.address), None)
    if data is not None and not image.entry:
        struct.pack_into("<Q", changed, ENTRY_OFFSET, data.address)
    for section in image.sections:
        place = image.header.section_offset + section.index * image.header.section_stride
        if section.name in FRAMES and place + SECTION_HEADER <= len(changed):
            struct.pack_into("<II", changed, place, 0, SHT_NULL)  # neither a name nor a type
    return memoryview(changed).toreadonly()


def _attached(data: bytes | memoryview) -> bytes:
    return b"F%x;%b" % (len(data), escaped(bytes(data)))


def _status(size: int) -> bytes:
    """Return the ``struct stat`` of the protocol."""
    blocks = -(-size // 512)
    return struct.pack(">7I3Q3I", 0, 0, _READ_ONLY_FILE, 1, 0, 0, 0, size, 512, blocks, 0, 0, 0)


def _error(number: int) -> bytes:
    return b"F-1,%x" % number
