import struct
from functools import partial
from typing import Any

from tests.builders.dwarf import build, die, unit
from tests.builders.elf import SHF_ALLOC, ElfBuilder
from tests.builders.hostile import CODE, GFX90A, SIZE, gpu, named
from tests.builders.lines import OPCODE_LENGTHS, program, table, table_5, tables_before_5
from tests.builders.lines import named as names
from tests.builders.seeds import Seed

ROWS = (("set_address", CODE), ("special", 0, 1), ("special", 2, 3), ("advance_pc", 8), "end_sequence")
STRING, LINE_STRP, UDATA, DATA16, DATA1 = 8, 0x1F, 0x0F, 0x1E, 0x0B
PATH, DIRECTORY, TIME, LENGTH, MD5 = 1, 2, 3, 4, 5


def with_table(*tables: bytes, offset: int = 0, **how: Any) -> bytes:
    """A code object of one kernel with line tables; its unit refers to one."""
    form = "sec_offset" if how.get("version", 5) > 3 else "data4"
    return gpu(unit_attributes=[("stmt_list", form, offset)], extra={".debug_line": b"".join(tables)}, **how)


def header(rule: str, name: str, *rows: Any, version: int = 5, **fields: Any) -> Seed:
    made = table(program(*(rows or ROWS)), version=version, **fields)
    return Seed(f"line-{rule}", name, partial(with_table, made, version=version))


def rows(rule: str, name: str, *instructions: Any, **fields: Any) -> Seed:
    return header(rule, name, *instructions, **fields)


def after(*instructions: Any) -> tuple[Any, ...]:
    return *ROWS, *instructions


def formats(rule: str, name: str, *files: bytes) -> Seed:
    return header(rule, name, tables=b"".join(files))


def raw(rule: str, name: str, data: bytes, **how: Any) -> Seed:
    return Seed(f"line-{rule}", name, partial(with_table, data, **how))


GOOD = table(program(*ROWS))


def patched(position: int, layout: str, *values: int) -> bytes:
    data = bytearray(GOOD)
    struct.pack_into(f"<{layout}", data, position, *values)
    return bytes(data)


def two_units(second: int) -> bytes:
    """Two units with a line table, to which the first one refers; the second one refers to some offset."""
    elf = ElfBuilder(flags=GFX90A)
    text = elf.section(".text", bytes(SIZE), flags=SHF_ALLOC | 4, address=CODE, align=16)
    roots = [
        die("compile_unit", named(name), ("stmt_list", "sec_offset", offset), ("low_pc", "addr", CODE + low),
            ("high_pc", "data4", 16), die("subprogram", named(name), ("low_pc", "addr", CODE + low),
                                          ("high_pc", "data4", 16)))
        for name, low, offset in (("a.c", 0, 0), ("b.c", 16, second))
    ]  # fmt: skip
    for name, data in build(*map(unit, roots), extra={".debug_line": GOOD}).sections.items():
        elf.section(name, data)
    elf.symbols([("k", CODE, SIZE, 2, 1, text)])
    elf.segment(1, CODE, text, flags=5)
    return elf.build()


FILES_OF_A = table_5(((PATH, STRING),), (b"a.c\0",), (b"b.c\0",))
SEEDS = (
    raw("version", "1", patched(4, "H", 1)),                  raw("version", "7", patched(4, "H", 7)),
    raw("truncated", "longer than its section", patched(0, "I", 0x1000)),
    raw("truncated", "ends in its header", patched(0, "I", 3)[:7]),
    raw("truncated", "ends in an instruction", table(program(*after(b"\x00\x09\x02")))),
    raw("truncated", "ends in an operand", table(program(*after(b"\x02\x80")))),
    raw("unreadable", "a reserved length", patched(0, "I", 0xFFFFFFF1)),
    raw("unreadable", "an operand of 80 bits", table(program(*after(b"\x02" + b"\xff" * 11 + b"\x01", "copy")))),
    raw("header-length", "behind the table", table(program(*ROWS), header_length=0x1000)),
    raw("header-length", "before the end of the tables", table(program(*ROWS), header_length=20)),
    raw("header-length", "an instruction too far", table(program("negate_stmt", *ROWS), header_length=len(
        table()) - 12 + 1)),
    header("address-size", "4 bytes of 8", ("advance_line", 1), size=4),
    header("address-size", "3 bytes", size=3),                raw("segment-size", "4 bytes", patched(7, "B", 4)),
    header("instruction-length", "0", ("set_address", CODE), ("special", 0, 1), ("fixed_advance_pc", 8), "end_sequence",
           min_length=0),
    header("gap", "behind the first 8 bytes"),
    header("operations", "0 in version 5", max_operations=0),
    header("operations", "0 in version 4", version=4, max_operations=0),
    header("range", "0", line_range=0),
    header("range", "0 without special opcodes", ("set_address", CODE), "copy", ("advance_pc", 8), "end_sequence",
           line_range=0),
    header("opcode-base", "0", opcode_base=0, lengths=b""),
    header("opcode-lengths", "of advance_pc", lengths=bytes((0, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))),
    header("opcode-lengths", "of copy in version 3", version=3, lengths=b"\1" + OPCODE_LENGTHS[1:]),
    formats("format", "directories without a path", table_5(((TIME, UDATA),), (b"\1",)), FILES_OF_A),
    formats("format", "files without a path", names("/src"), table_5(((DIRECTORY, UDATA),), (b"\0",), (b"\0",))),
    formats("format", "a path twice", names("/src"),
            table_5(((PATH, STRING), (PATH, STRING)), *[(b"a\0", b"b\0")] * 2)),
    formats("format", "files without a format", names("/src"), b"\0\2\0\0"),
    formats("form", "a path of udata", names("/src"), table_5(((PATH, UDATA),), (b"\1",), (b"\1",))),
    formats("form", "a directory of data4", names("/src"),
            table_5(((PATH, STRING), (DIRECTORY, 6)), *[(b"a\0", bytes(4))] * 2)),
    formats("form", "a size of sdata", names("/src"),
            table_5(((PATH, STRING), (LENGTH, 0x0D)), *[(b"a\0", b"\1")] * 2)),
    formats("form", "a path of an address", names("/src"), table_5(((PATH, 1),), (bytes(8),), (bytes(8),))),
    formats("content", "the number 9", names("/src"), table_5(((PATH, STRING), (9, UDATA)), *[(b"a\0", b"\1")] * 2)),
    formats("md5", "of 8 bytes", names("/src"), table_5(((PATH, STRING), (MD5, 7)), *[(b"a\0", bytes(8))] * 2)),
    formats("md5", "in a block", names("/src"),
            table_5(((PATH, STRING), (MD5, 0x0A)), *[(b"a\0", b"\x10" + bytes(16))] * 2)),
    formats("directory", "3 of 1", names("/src"),
            table_5(((PATH, STRING), (DIRECTORY, UDATA)), (b"a\0", b"\0"), (b"b\0", b"\3"))),
    header("directory", "2 of 1 in version 4", version=4, tables=tables_before_5(("/a",), (("a.c", 2, 0, 0),))),
    rows("directory", "of a file that the program defines", *after(("define_file", "c.c", 3, 0, 0)), version=4),
    formats("string", "behind .debug_line_str", names("/src"),
            table_5(((PATH, LINE_STRP),), (b"\xff\xff\0\0",), (b"\xff\xff\0\0",))),
    formats("string", "by index without a table", names("/src"), table_5(((PATH, 0x25),), (b"\7",), (b"\7",))),
    rows("file", "9 of 2", ("set_address", CODE), ("set_file", 9), ("special", 0, 1), ("advance_pc", 8),
         "end_sequence"),
    rows("file", "0 in version 4", ("set_address", CODE), ("set_file", 0), ("special", 0, 1), ("advance_pc", 8),
         "end_sequence", version=4),
    rows("number", "minus one", ("set_address", CODE), ("advance_line", -2), "copy", ("advance_pc", 8), "end_sequence"),
    rows("number", "of 33 bits", ("set_address", CODE), ("advance_line", 1 << 32), "copy", ("advance_pc", 8),
         "end_sequence"),
    rows("register", "a column of 40 bits", *after(("set_column", 1 << 40))),
    rows("register", "an instruction set of 20 bits", *after(("set_isa", 1 << 20))),
    rows("unknown-opcode", "0x44", *after(("extended", 0x44, b"abc"))),
    rows("unknown-opcode", "of a vendor", *after(("extended", 0x80, b""))),
    rows("unknown-opcode", "define_file in version 5", *after(("define_file", "c.c", 0, 0, 0))),
    rows("opcode-size", "an end of 2 bytes", *ROWS[:-1], ("extended", 1, b"\0")),
    rows("opcode-size", "an address of 4 bytes", ("extended", 2, struct.pack("<I", CODE)), *ROWS[1:]),
    rows("opcode-size", "an address of 3 bytes", *after(("extended", 2, b"\0\0\0"))),
    rows("opcode-size", "a discriminator with more behind it", *after(("extended", 4, b"\1\1"))),
    rows("opcode-size", "no opcode", *after(b"\0\0")),
    rows("decreasing", "by an address", ("set_address", CODE + 16), ("special", 0, 1), ("set_address", CODE),
         ("special", 0, 1), ("advance_pc", 32), "end_sequence"),
    rows("decreasing", "at the end", ("set_address", CODE + 16), ("special", 0, 1), ("set_address", CODE),
         "end_sequence"),
    rows("no-end", "no instruction", *ROWS[:-1]),
    rows("no-end", "of the second", *after(("set_address", CODE + 64), ("special", 0, 1), ("special", 1, 1))),
    rows("empty", "one row", ("set_address", CODE), "end_sequence"),
    rows("empty", "two rows", *after(("set_address", CODE + 32), ("special", 0, 1), "end_sequence")),
    rows("overlap", "twice the same", *ROWS, *ROWS),
    rows("overlap", "one within another", *ROWS, ("set_address", CODE + 4), ("special", 0, 1), ("advance_pc", 4),
         "end_sequence"),
    rows("not-in-code", "of nowhere", ("set_address", 0x900000), ("special", 0, 1), ("advance_pc", 8), "end_sequence"),
    rows("not-in-code", "past the end", ("set_address", CODE), ("special", 0, 1), ("advance_pc", SIZE + 4),
         "end_sequence"),
    Seed("line-offset", "without a section", partial(with_table, offset=0)),
    Seed("line-offset", "behind the section", partial(two_units, 0x1000)),
    Seed("line-offset", "into a table", partial(two_units, 8)),
    Seed("line-shared", "two units", partial(two_units, 0)),  Seed("line-no-table", "a unit with code", gpu),
    Seed("line-unused", "a second table", partial(with_table, GOOD, table(program(
        ("set_address", CODE + 64), ("special", 0, 1), ("advance_pc", 8), "end_sequence")))))  # fmt: skip
