"""ELF files made in memory, in both classes and byte orders, also such as no linker would write."""

import struct
import zlib
from dataclasses import dataclass

HEADER = {4: "HHIIIIIHHHHHH", 8: "HHIQQQIHHHHHH"}
SECTION = {4: "IIIIIIIIII", 8: "IIQQQQIIQQ"}
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 1, 2, 3, 4, 7, 8, 9
SHF_ALLOC, SHF_COMPRESSED = 0x2, 0x800


@dataclass
class Section:
    name: str
    data: bytes
    type: int = SHT_PROGBITS
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entry_size: int = 0
    size: int | None = None
    offset: int | None = None


@dataclass
class Segment:
    type: int
    flags: int
    address: int
    section: int
    """The section whose bytes it holds."""
    memory_size: int | None = None


class ElfBuilder:
    """Sections are numbered from 1 in the order in which they are added."""

    def __init__(
        self, *, address_size=8, byte_order="little", machine=224, type=3, flags=0, osabi=64, abi_version=4, entry=0
    ):
        self.address_size = address_size
        self.byte_order = byte_order
        self.order = "<" if byte_order == "little" else ">"
        self.machine = machine
        self.type = type
        self.flags = flags
        self.osabi = osabi
        self.abi_version = abi_version
        self.entry = entry
        self.sections: list[Section] = []
        self.segments: list[Segment] = []

    def pack(self, layout: str, *values: int) -> bytes:
        return struct.pack(self.order + layout, *values)

    def section(self, name: str, data: bytes = b"", **fields) -> int:
        self.sections.append(Section(name, data, **fields))
        return len(self.sections)

    def compressed(self, name: str, data: bytes, *, method=1, size=None, stream=None, **fields) -> int:
        """A section with a compression header; 1 is zlib, 2 zstd (then ``stream`` must be given)."""
        size = len(data) if size is None else size
        header = (method, size, 1) if self.address_size == 4 else (method, 0, size, 1)
        layout = "III" if self.address_size == 4 else "IIQQ"
        stream = zlib.compress(data) if stream is None else stream
        return self.section(name, self.pack(layout, *header) + stream, flags=SHF_COMPRESSED, **fields)

    def symbols(self, rows, *, name=".symtab", strings=".strtab", type=SHT_SYMTAB) -> int:
        """A symbol table of (name, value, size, type, bind, section); returns its index."""
        names = b"\0"
        data = bytes(16 if self.address_size == 4 else 24)
        for text, value, size, symbol_type, bind, section in rows:
            at = len(names) if text else 0
            names += text.encode() + b"\0" if text else b""
            info = bind << 4 | symbol_type
            if self.address_size == 4:
                data += self.pack("IIIBBH", at, value, size, info, 0, section)
            else:
                data += self.pack("IBBHQQ", at, info, 0, section, value, size)
        index = self.section(name, data, type=type, link=len(self.sections) + 2, entry_size=len(data))
        self.section(strings, names, type=SHT_STRTAB)
        return index

    def relocations(self, target: int, symbols: int, rows, *, addends=True) -> int:
        """Relocations of (offset, type, symbol, addend) for the section ``target``."""
        data = b""
        for offset, type_, symbol, addend in rows:
            info = symbol << 8 | type_ if self.address_size == 4 else symbol << 32 | type_
            data += self.pack({4: "II", 8: "QQ"}[self.address_size], offset, info)
            if addends:
                data += self.pack({4: "i", 8: "q"}[self.address_size], addend)
        prefix, type_ = (".rela", SHT_RELA) if addends else (".rel", SHT_REL)
        name = prefix + self.sections[target - 1].name
        return self.section(name, data, type=type_, link=symbols, info=target)

    def note(self, owner: bytes, type: int, data: bytes, *, align=4) -> bytes:
        """The bytes of one note."""
        out = self.pack("III", len(owner), len(data), type) + owner
        out += bytes(-len(out) % align) + data
        return out + bytes(-len(out) % align)

    def segment(self, type: int, address: int, section: int, *, flags=4, memory_size=None) -> None:
        self.segments.append(Segment(type, flags, address, section, memory_size))

    def build(self) -> bytes:
        """The file: header, program headers, sections, section headers."""
        wide = self.address_size == 8
        names = b"\0"
        name_offsets = []
        for section in [*self.sections, Section(".shstrtab", b"")]:
            name_offsets.append(len(names))
            names += section.name.encode() + b"\0"
        sections = [*self.sections, Section(".shstrtab", names, type=SHT_STRTAB)]
        header_size = 64 if wide else 52
        segment_size = 56 if wide else 32
        body = b""
        start = header_size + segment_size * len(self.segments)
        offsets = []
        for section in sections:
            body += bytes(-(start + len(body)) % max(1, section.align))
            offsets.append(start + len(body) if section.offset is None else section.offset)
            body += section.data
        body += bytes(-(start + len(body)) % 8)
        table = bytes(struct.calcsize("<" + SECTION[self.address_size]))
        for section, name, offset in zip(sections, name_offsets, offsets, strict=True):
            size = len(section.data) if section.size is None else section.size
            table += self.pack(
                SECTION[self.address_size], name, section.type, section.flags, section.address, offset, size,
                section.link, section.info, section.align, section.entry_size)  # fmt: skip
        programs = b""
        for segment in self.segments:
            section = sections[segment.section - 1]
            size = len(section.data)
            memory = size if segment.memory_size is None else segment.memory_size
            offset, address = offsets[segment.section - 1], segment.address
            if wide:
                programs += self.pack(
                    "IIQQQQQQ", segment.type, segment.flags, offset, address, address, size, memory, 1
                )
            else:
                programs += self.pack(
                    "IIIIIIII", segment.type, offset, address, address, size, memory, segment.flags, 1
                )
        ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if self.byte_order == "little" else 2, 1])
        ident += bytes([self.osabi, self.abi_version]) + bytes(7)
        header = self.pack(
            HEADER[self.address_size], self.type, self.machine, 1, self.entry, header_size if self.segments else 0,
            start + len(body), self.flags, header_size, segment_size, len(self.segments),
            40 if not wide else 64, len(sections) + 1, len(sections))  # fmt: skip
        return ident + header + programs + body + table


def small_elf(**options) -> bytes:
    """A file with one of everything: text, debug sections, compressed ones, symbols, a note, a segment."""
    builder = ElfBuilder(**options)
    text = builder.section(".text", bytes(range(64)), flags=0x6, address=0x1000, align=16)
    builder.section(".debug_info", b"information" * 5)
    builder.compressed(".debug_str", b"string\0" * 30)
    builder.section(".zdebug_line", b"ZLIB" + (300).to_bytes(8, "big") + zlib.compress(b"line\0\0" * 50))
    builder.section(".bss", b"", type=SHT_NOBITS, flags=0x3, address=0x3000, size=0x100)
    note = builder.note(b"GNU\0", 3, bytes.fromhex("00112233")) + builder.note(b"AMD\0", 1, bytes([2, 0, 0, 0] * 2))
    builder.section(".note", note, type=SHT_NOTE, align=4)
    builder.symbols([("first", 0x1000, 16, 2, 0, text), ("second", 0x1010, 8, 2, 1, text)])
    builder.segment(1, 0x1000, text, flags=5, memory_size=80)
    return builder.build()
