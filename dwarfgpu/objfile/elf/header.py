"""The ELF header and the tables it points to (System V ABI, edition 4.3 draft: "gABI").

Only the header must be whole. What is wrong in a table is kept as a problem, and what can be read of it is read: a
truncated file still shows the sections that are there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder

MAGIC = b"\x7fELF"

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
EM_386 = 3
EM_X86_64 = 62
EM_CUDA = 190
EM_INTELGT = 205
EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = 1, 2, 3, 4
SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 7, 8, 9, 11
SHT_SYMTAB_SHNDX = 18
SHT_CREL = 0x40000014
RELOCATIONS = (SHT_RELA, SHT_REL, SHT_CREL)
SHT_LLVM_OFFLOADING = 0x6FFF4C0B
SHF_ALLOC = 0x2
SHF_EXECINSTR = 0x4
SHF_COMPRESSED = 0x800
SHN_UNDEF, SHN_XINDEX = 0, 0xFFFF
PN_XNUM = 0xFFFF
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
PT_GNU_RELRO = 0x6474E552
PF_X, PF_W = 1, 2

MAX_SECTIONS = 1 << 20
"""A limit on the section headers of one file; each of them costs memory before it is asked for."""

FILE_TYPES = {0: "NONE", 1: "REL", 2: "EXEC", 3: "DYN", 4: "CORE"}
MACHINES = {
    0: "NONE", 3: "386", 20: "PPC", 21: "PPC64", 40: "ARM", 62: "X86_64", 183: "AARCH64", 190: "CUDA", 224: "AMDGPU",
    243: "RISCV",
}  # fmt: skip
OS_ABIS = {0: "SYSV", 3: "GNU", 9: "FREEBSD", 64: "AMDGPU_HSA", 65: "AMDGPU_PAL", 66: "AMDGPU_MESA3D"}
AMDGPU_OS_ABIS = (64, 65, 66)
"""The same numbers mean something else on another machine."""
SECTION_TYPES = {
    0: "NULL", 1: "PROGBITS", 2: "SYMTAB", 3: "STRTAB", 4: "RELA", 5: "HASH", 6: "DYNAMIC", 7: "NOTE", 8: "NOBITS",
    9: "REL", 10: "SHLIB", 11: "DYNSYM", 14: "INIT_ARRAY", 15: "FINI_ARRAY", 16: "PREINIT_ARRAY", 17: "GROUP",
    18: "SYMTAB_SHNDX", 19: "RELR", 0x40000014: "CREL", 0x6FFF4C01: "LLVM_LINKER_OPTIONS",
    0x6FFF4C03: "LLVM_ADDRSIG", 0x6FFF4C09: "LLVM_CALL_GRAPH_PROFILE", 0x6FFF4C0A: "LLVM_BB_ADDR_MAP",
    0x6FFF4C0B: "LLVM_OFFLOADING", 0x6FFF4C0C: "LLVM_LTO", 0x6FFFFFF6: "GNU_HASH", 0x6FFFFFFD: "GNU_VERDEF",
    0x6FFFFFFE: "GNU_VERNEED", 0x6FFFFFFF: "GNU_VERSYM", 0x70000001: "X86_64_UNWIND",
}  # fmt: skip
SEGMENT_TYPES = {
    0: "NULL", 1: "LOAD", 2: "DYNAMIC", 3: "INTERP", 4: "NOTE", 5: "SHLIB", 6: "PHDR", 7: "TLS",
    0x6474E550: "GNU_EH_FRAME", 0x6474E551: "GNU_STACK", 0x6474E552: "GNU_RELRO", 0x6474E553: "GNU_PROPERTY",
}  # fmt: skip


def malformed(
    file: str,
    kind: str,
    message: str,
    *,
    section: str | None = None,
    offset: int | None = None,
    spec: str = "gABI",
    hint: str | None = None,
) -> MalformedFile:
    """Make the error of something broken in ``file``, at an offset of one of its sections or of the file itself."""
    error = MalformedFile(kind, f"{file}: {message}", spec=spec, hint=hint)
    error.at(section=section, offset=offset)
    return error


@frozen
class ElfLayout:
    """How the tables of one class and byte order are laid out; ``section`` and so on are the formats of their rows."""

    address_size: int
    byte_order: ByteOrder
    header: struct.Struct
    section: struct.Struct
    segment: struct.Struct
    symbol: struct.Struct
    rel: struct.Struct
    rela: struct.Struct
    compression: struct.Struct
    word: struct.Struct

    def symbol_row(self, data: bytes, offset: int) -> tuple[int, int, int, int, int, int]:
        """Return a row of a symbol table: name, type and binding, visibility, section, value and size."""
        row = self.symbol.unpack_from(data, offset)
        if self.address_size == 8:
            return row
        name, value, size, info, other, place = row
        return name, info, other, place, value, size

    def relocations(self, data: bytes) -> Iterator[tuple[int, int, int, int]]:
        """Yield the rows of a table of relocations that are whole: offset, number of the symbol, type and addend."""
        row, types = self.rela, 1 << 32 if self.address_size == 8 else 1 << 8
        for offset, info, addend in row.iter_unpack(data[: len(data) // row.size * row.size]):
            yield offset, *divmod(info, types), addend


@frozen
class Header:
    """The fields of the ELF header (gABI, "ELF Header")."""

    layout: ElfLayout
    osabi: int
    abi_version: int
    type: int
    machine: int
    flags: int
    entry: int
    segment_offset: int
    segment_stride: int
    segment_count: int
    section_offset: int
    section_stride: int
    section_count: int
    names_index: int


@frozen
class SectionHeader:
    """One row of the section header table, in the order of a 64-bit file."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


@frozen
class Segment:
    """One row of the program header table."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    align: int

    @property
    def type_name(self) -> str:
        return SEGMENT_TYPES.get(self.type, f"{self.type:#x}")


@cache
def layout_of(address_size: int, byte_order: ByteOrder) -> ElfLayout:
    """Return the layout of files with 4 or 8 byte addresses in a byte order."""
    order = "<" if byte_order == "little" else ">"
    formats = (
        ("HHIQQQIHHHHHH", "IIQQQQIIQQ", "IIQQQQQQ", "IBBHQQ", "QQ", "QQq", "IIQQ", "I")
        if address_size == 8
        else ("HHIIIIIHHHHHH", "IIIIIIIIII", "IIIIIIII", "IIIBBH", "II", "IIi", "III", "I")
    )
    return ElfLayout(address_size, byte_order, *(struct.Struct(order + text) for text in formats))


def read_header(data: memoryview, file: str) -> Header:
    """Read the ELF header. Without it nothing can be said about a file."""
    if len(data) < 16:
        raise malformed(file, "truncated", f"an ELF header needs 16 bytes, {len(data)} are left", offset=0)
    if data[:4] != MAGIC:
        raise malformed(file, "not_elf", "not an ELF file", offset=0)
    if data[4] not in (1, 2):
        raise malformed(file, "bad_class", f"ELF class {data[4]} is neither 32 nor 64 bits", offset=4)
    if data[5] not in (1, 2):
        raise malformed(file, "bad_byte_order", f"ELF data encoding {data[5]} is not a byte order", offset=5)
    layout = layout_of(8 if data[4] == 2 else 4, "little" if data[5] == 1 else "big")
    if len(data) < 16 + layout.header.size:
        size = 16 + layout.header.size
        raise malformed(file, "truncated", f"an ELF header needs {size} bytes, {len(data)} are left", offset=0)
    # e_version and e_ehsize tell nothing that a reader could act on
    type_, machine, _, entry, phoff, shoff, flags, _, phstride, phcount, shstride, shcount, names = (
        layout.header.unpack_from(data, 16)
    )
    return Header(
        layout, data[7], data[8], type_, machine, flags, entry,
        phoff, phstride, phcount, shoff, shstride, shcount, names,
    )  # fmt: skip


def read_section_headers(
    data: memoryview, header: Header, file: str
) -> tuple[list[SectionHeader], int, list[MalformedFile]]:
    """Read the section headers that are whole, the index of the section with their names, and what is wrong."""
    start, stride = header.section_offset, header.section_stride
    count, names = header.section_count, header.names_index
    problems: list[MalformedFile] = []
    if not start:
        return [], 0, problems
    row = header.layout.section
    if stride < row.size:
        message = f"section headers of {stride} bytes are too short, {row.size} are needed"
        return [], 0, [malformed(file, "bad_section_table", message, offset=start)]
    first = SectionHeader(*row.unpack_from(data, start)) if start + row.size <= len(data) else None
    if first is not None:
        # "Sections": with 0xff00 sections or more, the first header has their number and the index of the names
        count = count or first.size
        names = first.link if names == SHN_XINDEX else names
    there = min(count, (max(0, len(data) - start - row.size) // stride + 1) if first is not None else 0)
    if there > MAX_SECTIONS:
        message = f"{count} sections, more than the limit of {MAX_SECTIONS}, are not read"
        problems.append(malformed(file, "too_large", message, offset=start))
        there = MAX_SECTIONS
    elif there < count:
        message = f"of {count} section headers, {there} are in the file"
        problems.append(malformed(file, "truncated", message, offset=start, spec='gABI, "Sections"'))
    headers = [SectionHeader(*row.unpack_from(data, start + index * stride)) for index in range(there)]
    return headers, names, problems


def read_segments(
    data: memoryview, header: Header, first_section: SectionHeader | None, file: str
) -> tuple[tuple[Segment, ...], list[MalformedFile]]:
    """Read the program headers that are whole, and what is wrong."""
    start, stride, count = header.segment_offset, header.segment_stride, header.segment_count
    if count == PN_XNUM and first_section is not None:
        count = first_section.info  # "Program Header": the count did not fit
    if not start or not count:
        return (), []
    layout = header.layout
    if stride < layout.segment.size:
        message = f"program headers of {stride} bytes are too short, {layout.segment.size} are needed"
        return (), [malformed(file, "bad_segment_table", message, offset=start)]
    there = max(0, min(count, (len(data) - start - layout.segment.size) // stride + 1, MAX_SECTIONS))
    segments = []
    for index in range(there):
        row = layout.segment.unpack_from(data, start + index * stride)
        if layout.address_size == 8:
            type_, flags, offset, address, _, file_size, memory_size, align = row
        else:
            type_, offset, address, _, file_size, memory_size, flags, align = row
        segments.append(Segment(type_, flags, offset, address, file_size, memory_size, align))
    if there == count:
        return tuple(segments), []
    message = f"of {count} program headers, {there} are in the file"
    return tuple(segments), [malformed(file, "truncated", message, offset=start, spec='gABI, "Program Header"')]


def text_at(table: bytes, offset: int) -> str:
    """Return the zero-terminated name at an offset of a string table; empty if the offset is past its end.

    A byte that is not UTF-8 is shown as a backslash escape, so that every name can be printed.
    """
    end = table.find(b"\0", offset) if 0 <= offset < len(table) else -1
    return table[offset:end].decode("utf-8", "backslashreplace") if end > offset else ""
