"""Good files in which a few bytes were changed, so that something is wrong with them."""

import struct
from functools import partial

from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject
from tests.builders.dwarf import build, die, unit
from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.hostile import GFX90A, INT, gpu, named, variable
from tests.builders.seeds import Seed, patched

HOST = "host/values.gcc.O0.v5.x86_64"
NAME = b"zz\0"


def offset_of(data: bytes, name: str) -> int:
    """Return where the entry with a name begins in its unit."""
    (unit,) = CodeObject(open_image(data, name="seed")).dwarf.units
    return next(die.offset for die in unit.dies() if die.name == name)


def about(rule: str, name: str, entry: str, before: bytes, after: bytes) -> Seed:
    """A variable whose location has the offset of an entry, in five bytes."""

    def make() -> bytes:
        offset = offset_of(gpu(variable("a", location=bytes([0x96] * (len(before) + 5 + len(after))))), entry)
        padded = bytes([offset & 0x7F | 0x80, offset >> 7 | 0x80, 0x80, 0x80, 0])
        return gpu(variable("a", location=before + padded + after))

    return Seed(f"expression-{rule}", name, make)


def self_call() -> bytes:
    offset = offset_of(gpu(variable("a", location=bytes(5))), "a")
    return gpu(variable("a", location=b"\x99" + offset.to_bytes(4, "little")))


def changed(rule: str, name: str, at: int, value: int) -> Seed:
    """A file in which a byte, counted from the name of a variable, is another."""

    def make() -> bytes:
        data = bytearray(gpu(variable("zz", location="DW_OP_regx v0")))
        data[data.index(NAME) + at] = value
        return bytes(data)

    return Seed(rule, name, make)


def header(rule: str, name: str, at: int, value: bytes, section_name: str = ".debug_info") -> Seed:
    """A file in which bytes of the header of its unit, or of its abbreviations, are others."""

    def make() -> bytes:
        data = gpu(variable("zz", location="DW_OP_regx v0"))
        section = open_image(data, name="seed").section(section_name)
        assert section is not None
        start = section.offset + at
        return data[:start] + value + data[start + len(value) :]

    return Seed(rule, name, make)


def placed(name: str, section: str, offset: int) -> Seed:
    """A file whose header of a section says that it is elsewhere."""

    def make() -> bytes:
        data = bytearray(gpu(variable("zz", location="DW_OP_regx v0")))
        headers = open_image(bytes(data), name="seed").sections
        (start,) = struct.unpack_from("<Q", data, 40)
        (size,) = struct.unpack_from("<H", data, 58)
        index = next(header.index for header in headers if header.name == section)
        struct.pack_into("<Q", data, start + size * index + 24, offset)
        return bytes(data)

    return Seed("file-unreadable", name, make)


def of_4_bytes() -> bytes:
    """A unit whose addresses have 4 bytes, in a file of 8."""
    root = die("compile_unit", named("a"), ("producer", "string", "hand"), ("language", "data2", 0x1D), INT)
    elf = ElfBuilder(flags=GFX90A)
    elf.section(".text", bytes(16), flags=SHF_ALLOC | 4, address=0x1000)
    for name, data in build(unit(root, address_size=4)).sections.items():
        elf.section(name, data)
    return elf.build()


def of_two_sections() -> bytes:
    """A linked file with two sections of code that have the same addresses."""
    elf = ElfBuilder(flags=GFX90A)
    for name in (".text.a", ".text.b"):
        elf.section(name, bytes(16), flags=SHF_ALLOC | 4, address=0)
    root = die("compile_unit", named("a"), ("producer", "string", "hand"), ("language", "data2", 0x1D))
    for name, data in build(unit(root)).sections.items():
        elf.section(name, data)
    return elf.build()


SEEDS = (
    Seed("file-addresses", "two sections at 0", of_two_sections),
    Seed("entry-address-size", "4 bytes of 8", of_4_bytes),
    header("entry-unknown-form", "form 0x7f of a name", 4, b"\x7f", ".debug_abbrev"),
    Seed("expression-leb128-overflow", "a constant of 77 bits",
        partial(gpu, variable("a", location=b"\x10" + b"\xff" * 10 + b"\x7f\x9f"))),
    placed("code behind the end", ".text", 1 << 40),          placed("strings behind the end", ".debug_str", 1 << 40),
    header("entry-unreadable", "version 77", 4, b"\x4d"),
    header("entry-unreadable", "a unit type that is not known", 6, b"\x66"),
    header("entry-unreadable", "addresses of 3 bytes", 7, b"\3"),
    header("entry-unreadable", "a reserved length", 0, b"\xf1\xff\xff\xff"),
    changed("entry-unknown-abbreviation", "the code of an entry", -1, 99),
    changed("entry-truncated", "a block that is too long", len(NAME), 0x7F),
    about("constant-size", "2 bytes of an int", "int", b"\xa4", b"\x02\x01\x02\x9f"),
    about("constant-size", "8 bytes of an int", "int", b"\xa4", b"\x08" + bytes(8) + b"\x9f"),
    about("type-size", "2 bytes of an int", "int", b"\x30\xa6\x02", b"\x9f"),
    about("type-mismatch", "an int and a number", "int", b"\xa4", b"\x04\x01\x00\x00\x00\x31\x22\x9f"),
    about("type-operand", "a function", "k", b"\x30\xa8", b"\x9f"),
    about("type-operand", "a variable", "a", b"\x30\xa8", b"\x9f"),
    Seed("expression-call-cycle", "a call of itself", self_call),
    Seed("expression-after-location", "behind a register",
        partial(patched, HOST, "global_int", "DW_AT_location", b"\x09\x50" + b"\x96" * 8)),
    Seed("entry-symbol-size", "a matrix in a number",
        partial(patched, HOST, "calls", "DW_AT_type", (0x252).to_bytes(4, "little"))),
    Seed("entry-not-in-code", "of an object, past all of its sections",
        partial(patched, "host/values.gcc.O2.v5.o", "add", "DW_AT_high_pc", bytes((0, 0, 16)))),
    Seed("entry-file-number", "of a function", partial(patched, HOST, "program", "DW_AT_decl_file", b"\x63")),
    Seed("entry-file-number", "of a variable", partial(patched, HOST, "inspect", "DW_AT_decl_file", b"\x62")),
)  # fmt: skip
