"""Line tables: DWARF 5 section 6.2, DWARF 2 to 4 section 6.2, and A.6.2.4.1."""

import subprocess

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile import line_table as line_header
from dwarfgpu.objfile.line_table import FileEntry, LineTable, join, line_table, line_tables
from tests.builders import compiled
from tests.builders.errors import raised
from tests.builders.lines import named, program, table, table_5, tables_before_5
from tests.builders.lists import number
from tests.builders.parameters import every, for_each

FLAGS = ("is_stmt", "basic_block", "end_sequence", "prologue_end", "epilogue_begin")
LAST = (1 << 64) - 1


def read(*instructions, string_at=None, zero_is_code=False, **options):
    layout = {key: options[key] for key in ("size", "order") if key in options}
    return line_table(
        table(program(*instructions, **layout), **options), 0, byte_order=options.get("order", "little"),
        address_size=options.get("size", 8), string_at=string_at, zero_is_code=zero_is_code)  # fmt: skip


def shown(found):
    """Rows as ``address file:line:column`` and what else is not usual."""
    out = []
    for row in found.rows:
        words = [f"{row.address:x} {row.file}:{row.line}:{row.column}"]
        words += [flag for flag in FLAGS if getattr(row, flag)]
        words += [f"{name}={getattr(row, name)}" for name in ("isa", "discriminator", "op_index") if getattr(row, name)]
        out.append(" ".join(words))
    return out


def rows(*instructions, **options):
    found = read(*instructions, **options)
    assert found.error is None, found.error
    return shown(found)


@for_each("instructions, expected",
    ([], []),                    (["copy"], ["0 1:1:0 is_stmt"]),
    ([("special", 3, 2)], ["3 1:3:0 is_stmt"]),               ([("special", 0, -5), ("special", 1, 8)], ["error"]),
    ([("advance_pc", 300), "copy"], ["12c 1:1:0 is_stmt"]),
    ([("advance_line", 200), ("advance_line", -100), "copy"], ["0 1:101:0 is_stmt"]),
    ([("set_file", 2), "copy"], ["0 2:1:0 is_stmt"]),
    ([("set_column", 5), "copy", ("set_column", 500), "copy"], ["0 1:1:5 is_stmt", "0 1:1:500 is_stmt"]),
    ([("set_column", 5), ("set_file", 2), "copy"], ["0 2:1:5 is_stmt"]),
    (["negate_stmt", "copy", "negate_stmt", "copy"], ["0 1:1:0", "0 1:1:0 is_stmt"]),
    (["const_add_pc", "copy"], ["11 1:1:0 is_stmt"]),
    ([("fixed_advance_pc", 0x1234), "copy"], ["1234 1:1:0 is_stmt"]),
    ([("set_address", 0x1122334455667788), "copy"], ["1122334455667788 1:1:0 is_stmt"]),
    ([("set_isa", 3), "copy", "copy"], ["0 1:1:0 is_stmt isa=3", "0 1:1:0 is_stmt isa=3"]),
    (["set_basic_block", "set_prologue_end", "set_epilogue_begin", ("set_discriminator", 7), "copy", "copy"],
        ["0 1:1:0 is_stmt basic_block prologue_end epilogue_begin discriminator=7", "0 1:1:0 is_stmt"]),
    ([("set_discriminator", 1000), ("special", 0, 0), ("special", 0, 0)],
        ["0 1:1:0 is_stmt discriminator=1000", "0 1:1:0 is_stmt"]),
    ([("set_discriminator", 3), ("set_discriminator", 4), "copy"], ["0 1:1:0 is_stmt discriminator=4"]),
    (["negate_stmt", ("set_discriminator", 3), "set_prologue_end", "copy"], ["0 1:1:0 prologue_end discriminator=3"]),
)  # fmt: skip
@pytest.mark.parametrize("order", ["little", "big"])
def test_every_instruction(instructions, expected, order):
    found = read(*instructions, "end_sequence", order=order)
    if expected == ["error"]:
        assert found.error.kind == "bad_line"
        return
    assert found.error is None
    assert shown(found)[:-1] == expected
    ends = {"end_sequence", "is_stmt end_sequence", "is_stmt end_sequence isa=3"}
    assert " ".join(shown(found)[-1].split()[2:]) in ends


def test_a_sequence_begins_with_all_registers_anew():
    registers = [("set_address", 0x10), ("set_file", 2), ("set_column", 3), ("advance_line", 9), "negate_stmt"]
    registers += [("set_isa", 1), "set_prologue_end", ("set_discriminator", 4)]
    assert rows(*registers, "end_sequence", "copy", "end_sequence") == [
        "10 2:10:3 end_sequence prologue_end isa=1 discriminator=4",
        "0 1:1:0 is_stmt",
        "0 1:1:0 is_stmt end_sequence",
    ]


def test_statements_may_begin_without_being_one():
    expected = ["0 1:1:0", "0 1:1:0 is_stmt end_sequence", "0 1:1:0", "0 1:1:0 end_sequence"]
    assert rows("copy", "negate_stmt", "end_sequence", "copy", "end_sequence", default_is_stmt=0) == expected


def test_advances_count_instructions_but_fixed_ones_bytes():
    code = [("advance_pc", 2), "copy", ("special", 3, 1), "const_add_pc", ("fixed_advance_pc", 3), "end_sequence"]
    assert rows(*code, min_length=4) == ["8 1:1:0 is_stmt", "14 1:2:0 is_stmt", "5b 1:2:0 is_stmt end_sequence"]


def test_operations_of_wide_instructions():
    """Three operations in an instruction of 16 bytes: an advance is one of operations (6.2.5.1)."""
    code = [("set_address", 0x1001), "copy", ("special", 1, 0), ("advance_pc", 4), "copy", "const_add_pc", "copy"]
    code += [("fixed_advance_pc", 7), "copy", ("advance_pc", 2), "end_sequence", ("special", 4, 0), "end_sequence"]
    assert rows(*code, min_length=16, max_operations=3) == [
        "1001 1:1:0 is_stmt",
        "1001 1:1:0 is_stmt op_index=1",
        "1011 1:1:0 is_stmt op_index=2",
        "1071 1:1:0 is_stmt op_index=1",
        "1078 1:1:0 is_stmt",
        "1078 1:1:0 is_stmt end_sequence op_index=2",
        "10 1:1:0 is_stmt op_index=1",
        "10 1:1:0 is_stmt end_sequence op_index=1",
    ]


LATER = {"opcode_base": 15, "lengths": bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 0))}


@for_each("code, header, expected",
    ([("advance_pc", 3), "copy"], {"max_operations": 0}, "3 1:1:0 is_stmt"),  # no operations at all mean one
    # Standard opcodes of later versions are passed over by their lengths.
    ([b"\x0d\x80\x01\x05", b"\x0e", bytes([15 + 5 + 1])], LATER, "0 1:2:0 is_stmt"),
    # DWARF 2 had nine; what comes after them is special.
    ([bytes([10 + 5 + 1])], {"version": 2, "opcode_base": 10, "lengths": bytes(9)}, "0 1:2:0 is_stmt"))  # fmt: skip
def test_operations_and_opcodes_of_the_header(code, header, expected):
    assert rows(*code, "end_sequence", **header)[0] == expected


@pytest.mark.parametrize("code", [0x80, 0xFF, 0x11, 0x20, 0x05])
def test_extended_opcodes_that_are_not_known_are_passed_over(code):
    assert rows(("extended", code, b"\x01\x02\x03" * 60), "copy", "end_sequence")[0] == "0 1:1:0 is_stmt"


def test_an_extended_instruction_may_be_longer_than_its_operands():
    assert rows(("extended", 4, b"\x85\x00\x00"), "copy", ("extended", 1, b"\x00"))[0].endswith("discriminator=5")


def test_addresses_of_32_bits_wrap_around():
    expected = ["ffffffff 1:1:0 is_stmt", "4 1:1:0 is_stmt"]
    assert rows(("set_address", 0xFFFFFFFF), "copy", ("advance_pc", 5), "copy", "end_sequence", size=4)[:2] == expected


def test_addresses_of_64_bits_wrap_around():
    code = [("set_address", LAST), "copy", ("special", 3, 1), ("advance_pc", 5), "copy", "end_sequence"]
    assert [row.split()[0] for row in rows(*code)] == [f"{LAST:x}", "2", "7", "7"]


MINUS = ("advance_line", -2)
ERRORS = {
    "no_end_sequence": [()],
    "truncated": [(b"\x02",), (b"\x02\x80",), (b"\x09\x01",), (b"\x00",), (b"\x00\x05\x01",),
                  (b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01",), (("extended", 3, b"name\0"),),
                  (("extended", 4, b""),), (b"\x03" + b"\xff" * 5000,)],
    "bad_extended_opcode": [(b"\x00\x00",)],
    "bad_address_size": [(("extended", 2, b"\x01\x02\x03"),), (("extended", 2, b""),)],
    "bad_file": [(("extended", 3, b"name"),)],
    "leb128_overflow": [(b"\x02" + b"\xff" * 10 + b"\x01",), (b"\x02" + b"\xff" * 5000,), (b"\x03" + b"\xfe" * 5000,),
                        (b"\x03" + b"\xff" * 9 + b"\x3f",)],
    "bad_line": [(MINUS, "copy"), (MINUS, ("special", 0, 0)), (MINUS, "end_sequence"),
                 (("advance_line", 1 << 33), "copy"), (("set_address", LAST), MINUS, ("special", 1, 0))],
    "register_overflow": [(("set_column", 1 << 32),), (("set_file", 1 << 32),), (("set_discriminator", 1 << 32),),
                          (("set_isa", 1 << 16),)]}  # fmt: skip


@pytest.mark.parametrize("code, kind", [(["copy", *code], kind) for kind, codes in ERRORS.items() for code in codes])
def test_the_rows_before_an_error_are_good(code, kind):
    found = read(("set_address", 16), *code)
    assert shown(found) == ["10 1:1:0 is_stmt"]
    assert found.error.kind == kind
    assert found.error.where.section == ".debug_line"
    assert found.at(16) == []


@pytest.mark.parametrize("code", [("special", 0, 0), "const_add_pc"])
def test_a_special_opcode_needs_a_line_range(code):
    found = read("copy", code, line_range=0)
    assert (len(found.rows), found.error.kind) == (1, "bad_line_range")


def test_a_number_may_be_padded():
    code = (b"\x02\x85" + b"\x80" * 50 + b"\x00", b"\x03" + b"\xff" * 50 + b"\x7f", ("special", 0, 3), "end_sequence")
    assert rows(*code)[0] == "5 1:3:0 is_stmt"


def test_a_table_longer_than_its_section_has_the_rows_that_are_there():
    found = line_table(table(program("copy", "end_sequence"), length=1000), 0)
    assert len(found.rows) == 2
    assert found.error.kind == "truncated"


@every(version=[2, 3, 4, 5, 6], order=["little", "big"], wide=[False, True], size=[4, 8])
def test_every_version_and_format(version, order, wide, size):
    options = {"version": version, "order": order, "wide": wide, "size": size}
    found = read(("set_address", 0x1000), ("special", 1, 1), ("advance_pc", 2), "end_sequence", **options)
    assert shown(found) == ["1001 1:2:0 is_stmt", "1003 1:2:0 is_stmt end_sequence"]
    expected = (version, 8 if wide else 4, size)
    assert (found.header.version, found.header.offset_size, found.header.address_size) == expected
    assert found.path(1, "/home") == ("/home/a.c" if version < 5 else "/src/b.c")


@pytest.mark.parametrize("version", [2, 3, 4])
def test_files_before_version_5(version):
    tables = tables_before_5(
        ("/usr/include", "sub"),
        (("a.c", 0, 1, 2), ("b.h", 1, 300, 4), ("c.h", 2, 0, 0), ("/d.h", 2, 0, 0), ("e.h", 9, 0, 0)),
    )
    found = read(version=version, tables=tables)
    assert found.file(1) == FileEntry("a.c", 0, 1, 2)
    assert found.file(2) == FileEntry("b.h", 1, 300, 4)
    expected = ["/work/a.c", "/usr/include/b.h", "/work/sub/c.h", "/d.h", "/work/e.h"]
    assert [found.path(number, "/work") for number in range(1, 6)] == expected
    assert found.path(3) == "sub/c.h"
    assert found.file(0) is found.file(6) is found.path(0) is None
    assert found.header.directory(0, "/work") == "/work"


def test_a_program_may_define_files():
    code = [("define_file", "x.c", 1, 2, 3), "copy", "end_sequence"]
    found = read(*code, version=4, tables=tables_before_5(("inc",)))
    assert found.file(2) == FileEntry("x.c", 1, 2, 3)
    assert found.path(2, "/work") == "/work/inc/x.c"
    assert [number for number, _ in found.files()] == [1, 2]


def string_at(form, value):
    return f"{form}:{value:x}".encode()


MD5 = bytes(range(16))


def test_files_of_version_5():
    """A.6.2.4.1 (1), A.6.2.4.1 (2) and A.7.22: 0x2001 is the source text, 0x2002 whether the digest is valid."""
    form_of = ((1, 0x1F), (2, 0x0B), (5, 0x1E), (0x2001, 0x08), (0x2002, 0x0F), (3, 0x0F), (4, 0x06))
    files = table_5(
        form_of,
        (number(16, 4), b"\x01", MD5, b"int x;\n\0", b"\x01", b"\x85\x01", number(9, 4)),
        (number(32, 4), b"\x00", MD5, b"\0", b"\x00", b"\x00", number(0, 4)),
        (number(48, 4), b"\x02", MD5, b"\n\0", b"\x01", b"\x00", number(0, 4)),
    )
    found = read(tables=named("/src", "inc", "/abs") + files, string_at=string_at)
    assert found.file(0) == FileEntry("line_strp:10", 1, 133, 9, MD5, "int x;\n")
    assert found.file(1) == FileEntry("line_strp:20", 0, 0, 0, None, None)  # neither digest nor source
    assert found.file(2).source == "\n"  # the source is there, and empty
    expected = ["/src/inc/line_strp:10", "/src/line_strp:20", "/abs/line_strp:30"]
    assert [found.path(number, "/else") for number in range(3)] == expected
    assert found.file(3) is None


def test_directory_0_is_the_compilation_directory_and_not_relative_to_it():
    files = table_5(((1, 0x1F), (2, 0x0B)), *((number(16, 4), bytes((directory,))) for directory in (0, 1, 2)))
    found = read(tables=named("build", "inc", "/abs") + files, string_at=string_at)
    expected = ["build/line_strp:10", "build/inc/line_strp:10", "/abs/line_strp:10"]
    assert [found.path(number, "build") for number in range(3)] == expected


@for_each("type_, form, value, expected",
    (1, 0x08, b"x.c\0", {"name": "x.c"}),                    (1, 0x0E, number(5, 4), {"name": "strp:5"}),
    (1, 0x1D, number(5, 4), {"name": "strp_sup:5"}),         (1, 0x1F21, number(5, 4), {"name": "strp_sup:5"}),
    (1, 0x1A, b"\x85\x01", {"name": "strx:85"}),             (1, 0x1F02, b"\x05", {"name": "strx:5"}),
    (1, 0x25, b"\x05", {"name": "strx:5"}),                  (1, 0x26, number(5, 2), {"name": "strx:5"}),
    (1, 0x27, number(5, 3), {"name": "strx:5"}),             (1, 0x28, number(5, 4), {"name": "strx:5"}),
    (1, 0x08, b"\xff\0", {"name": "\\xff"}),                 (2, 0x05, number(5, 2), {"directory": 5}),
    (3, 0x07, number(5, 8), {"timestamp": 5}),               (3, 0x09, b"\x02\x05\x00", {"timestamp": 5}),
    (4, 0x0D, b"\x05", {"size": 5}),                         (5, 0x0A, b"\x10" + MD5, {"md5": MD5}),
    (5, 0x0A, b"\x01\x00", {"md5": None}),                   (0x2001, 0x1F, number(5, 4), {"source": "line_strp:5"}),
    (0x3FFF, 0x03, number(3, 2) + b"abc", {}),               (0x2345, 0x04, number(3, 4) + b"abc", {}),
    (0x2345, 0x17, number(3, 4), {}),                        (0x2345, 0x0C, b"\x01", {}))  # fmt: skip
def test_forms_and_content_types(type_, form, value, expected):
    files = table_5(((type_, form), (2 if type_ != 2 else 4, 0x0B)), (value, b"\x07"))
    found = read("copy", "end_sequence", tables=named("/src") + files, string_at=string_at)
    assert found.error is None
    usual = {"name": "", "directory": 7 if type_ != 2 else 0, "size": 7 if type_ == 2 else 0}
    assert found.file(0) == FileEntry(**{**usual, **expected})


def test_a_name_that_cannot_be_read_hides_nothing():
    def no_string(_form, _value):
        raise MalformedFile("truncated", "no such string")

    files = table_5(((1, 0x1F),), (number(5, 4),))
    for reader in (no_string, None):
        found = read("copy", "end_sequence", tables=named("/src") + files, string_at=reader)
        assert (found.file(0).name, found.error, len(found.rows)) == ("<line_strp 0x5>", None, 2)


@for_each("tables, kind",
    (b"\x01\x01\x08\x01/s", "truncated"), (named("/src") + b"\x01\x01\x99\x01\x01abc\0", "bad_form"),
    (named("/src") + table_5(((1, 8),), count=1 << 60), "truncated"),
    (named("/src") + b"\x00\x02\x00\x00", "bad_format"),                        (b"", "truncated"))  # fmt: skip
def test_a_table_of_files_that_is_broken_does_not_hide_the_rows(tables, kind):
    found = read("copy", "end_sequence", tables=tables)
    assert found.error.kind == kind
    assert len(found.rows) == 2


def test_there_are_limits(monkeypatch):
    monkeypatch.setattr(line_header, "MAX_ENTRIES", 2)
    assert read(tables=named("/src") + named("a", "b", "c")).error.kind == "limit_exceeded"
    assert read(version=4, tables=tables_before_5(("a", "b", "c"))).error.kind == "limit_exceeded"
    monkeypatch.setattr(line_header, "MAX_TEXT", 10)
    assert read(tables=named("/src") + named("a" * 10)).error.kind == "limit_exceeded"


def test_one_string_named_often_is_read_once():
    calls = []

    def counting(form, value):
        calls.append((form, value))
        return b"x" * 1000

    files = table_5(((1, 0x1F),), *[(number(5, 4),)] * 100)
    found = read(tables=named("/src") + files, string_at=counting)
    assert (len(found.header.files), calls) == (100, [("line_strp", 5)])


def test_a_table_before_its_section():
    assert "cannot begin" in str(raised(MalformedFile, line_table, table(), -1))


@for_each("data, kind",
    (b"", "truncated"),    (b"\xf0\xff\xff\xff", "bad_length"),          (table(version=1), "line_version"),
    (table(version=7), "line_version"),           (table(size=3), "bad_address_size"),
    (table(header_length=1000), "bad_header_length"),                    (table(header_length=3), "truncated"),
    (table(opcode_base=0, lengths=b""), "bad_opcode_base"),              (table()[:9], "truncated"))  # fmt: skip
def test_a_header_that_cannot_be_read(data, kind):
    assert raised(DwarfGpuError, line_table, data, 0).kind == kind


def test_a_broken_table_does_not_hide_the_next():
    good = table(program("copy", "end_sequence"))
    first, second, third = line_tables(good + table(version=9) + good)
    assert isinstance(first, LineTable)
    assert (second.kind, second.where.offset) == ("line_version", len(good))
    assert len(third.rows) == 2


TWO = (
    ("set_address", 0x2000), ("set_file", 1), ("set_column", 7), ("special", 0, 4), ("special", 4, 1),
    ("special", 0, 1), ("special", 4, -3), ("advance_pc", 8), "end_sequence",
    ("set_address", 0x1000), ("special", 0, 4), ("advance_pc", 4), ("set_file", 0), ("special", 0, 0),
    ("advance_pc", 4), "end_sequence")  # fmt: skip


def lines_at(found, address):
    return [
        f"{span.start:x}-{span.end:x} {span.row.file}:{span.row.line}:{span.row.column}" for span in found.at(address)
    ]


@for_each("address, expected",
    (0x1FFF, []),
    (0x2000, ["2000-2004 1:5:7"]),
    (0x2003, ["2000-2004 1:5:7"]),
    (0x2004, ["2004-2008 1:7:7"]),  # of two rows at an address the last one counts
    (0x2008, ["2008-2010 1:4:7"]),        (0x200F, ["2008-2010 1:4:7"]),        (0x2010, []),
    (0x0FFF, []),                         (0x1000, ["1000-1004 1:5:0"]),        (0x1007, ["1004-1008 0:5:0"]),
    (0x1008, []),                         (0, []),                              (LAST, []))  # fmt: skip
def test_the_row_of_an_address(address, expected):
    assert lines_at(read(*TWO), address) == expected


def test_the_ranges_of_a_table():
    assert read(*TWO).ranges() == [(0x1000, 0x1008), (0x2000, 0x2010)]


def sequence(start, length, line=0):
    return [("set_address", start), ("special", 0, line), ("advance_pc", length), "end_sequence"]


def test_sequences_that_overlap_all_answer():
    found = read(
        *sequence(0x1000, 0x100, 1), *sequence(0x1010, 0x10, 2), *sequence(0x1018, 0x4, 3), *sequence(0x1080, 4, 4)
    )
    assert lines_at(found, 0x1019) == ["1000-1100 1:2:0", "1010-1020 1:3:0", "1018-101c 1:4:0"]
    assert lines_at(found, 0x1050) == ["1000-1100 1:2:0"]
    assert lines_at(found, 0x1081) == ["1000-1100 1:2:0", "1080-1084 1:5:0"]


def test_addresses_that_go_back_are_still_found():
    steps = [("special", 0, 1), ("advance_pc", 4), "end_sequence"]
    code = [("set_address", 0x20), ("special", 0, 0), ("set_address", 0x10), *steps]
    found = read(*code, zero_is_code=True)
    assert lines_at(found, 0x12) == ["10-14 1:2:0"]
    assert lines_at(found, 0x18) == []


@every(size=[4, 8], tombstone=[0, -1, -2])
def test_code_that_the_linker_dropped_answers_nothing(size, tombstone):
    found = read(*sequence(tombstone, 0x100), *sequence(0x40, 4), size=size)
    assert found.error is None
    assert len(found.rows) == 4
    assert found.ranges() == [(0x40, 0x44)]
    assert [span.start for span in found.spans(1, {1})] == [0x40]


def test_in_a_relocatable_object_code_begins_at_0():
    assert read(*sequence(0, 4), zero_is_code=True).ranges() == [(0, 4)]


def test_a_sequence_cut_short_ends_with_its_last_row():
    found = read(("set_address", 0x10), "copy", ("special", 4, 1))
    assert found.error.kind == "no_end_sequence"
    assert lines_at(found, 0x12) == ["10-14 1:1:0"]
    assert lines_at(found, 0x14) == []


def test_memory_is_given_back():
    found = read(*TWO)
    before = lines_at(found, 0x2000)
    found.drop()
    assert found._rows is None
    assert lines_at(found, 0x2000) == before


def spans(found, line, *files, column=None):
    return [(span.start, span.end) for span in found.spans(line, set(files), column)]


def test_the_addresses_of_a_line():
    found = read(*TWO)
    assert spans(found, 5, 1) == [(0x2000, 0x2004), (0x1000, 0x1004)]
    assert spans(found, 5, 0) == [(0x1004, 0x1008)]
    assert spans(found, 5, 0, 1) == [(0x2000, 0x2004), (0x1000, 0x1004), (0x1004, 0x1008)]
    assert spans(found, 5, 0, 1, column=7) == [(0x2000, 0x2004)]
    assert spans(found, 6, 1) == [(0x2004, 0x2004)]  # a row that the next one, at the same address, replaces
    assert spans(found, 9, 1) == spans(found, 5) == []


def test_the_end_of_a_sequence_is_no_line():
    code = [("set_address", 0x10), "copy", ("advance_line", 9), ("advance_pc", 4), "end_sequence"]
    assert spans(read(*code), 10, 1) == []


@pytest.mark.parametrize("line, expected", [(1, 4), (4, 4), (5, 5), (7, 7), (8, None)])
def test_the_next_line_with_code(line, expected):
    assert read(*TWO).next_line(line, {1}) == expected


@for_each("directory, name, path",
    ("/a", "b", "/a/b"),        ("/a/", "b", "/a/b"),       ("", "b", "b"),             ("/a", "", "/a"),
    ("/a", "/b", "/b"),         ("/a", "C:\\b", "C:\\b"),   ("/a", "C:/b", "C:/b"),     ("/", "b", "/b"))  # fmt: skip
def test_paths(directory, name, path):
    assert join(directory, name) == path


def test_embedded_sources_are_kept(tmp_path, require_tool):
    """A.6.2.4.1 (1): the text that clang writes."""
    found = compiled.sections(compiled.compiled(tmp_path, require_tool, "amdgcn", "-gdwarf-5 -gembed-source"))
    first, _ = line_tables(found[".debug_line"], string_at=compiled.string_reader(found))
    assert first.file(0).source == compiled.SOURCE
    assert first.path(0) == str(tmp_path / "first.c")


@every(compiler=["x86-64", "gcc", "amdgcn"], version=[4, 5])
@pytest.mark.parametrize("tombstone", ["", "-z dead-reloc-in-nonalloc=.debug_*=0xffffffffffffffff"])
@pytest.mark.sampled(6)
def test_dropped_functions_of_real_linkers_answer_nothing(compiler, version, tombstone, tmp_path, require_tool):
    options = f"-gdwarf-{version} -O2 -ffunction-sections -fvisibility=hidden"
    path = compiled.compiled(tmp_path, require_tool, compiler, options, link=f"--gc-sections -e third {tombstone}")
    with path.open("rb") as stream:
        text = ELFFile(stream).get_section_by_name(".text").header
    tables = list(line_tables(compiled.sections(path)[".debug_line"]))
    assert all(mine.error is None for mine in tables)
    assert sum(len(mine.rows.sequences) for mine in tables) > sum(len(mine.ranges()) for mine in tables) > 0
    for start, end in (span for mine in tables for span in mine.ranges()):
        assert text.sh_addr <= start < end <= text.sh_addr + text.sh_size


@pytest.mark.parametrize("compiler, options", [("x86-64", "-gdwarf-5 -O2"), ("x86-64", "-gdwarf-4 -O2")])
def test_positions_are_what_the_symbolizer_prints(compiler, options, tmp_path, require_tool):
    symbolizer = require_tool("llvm-symbolizer-22", "llvm-symbolizer")
    path = compiled.compiled(tmp_path, require_tool, compiler, options)
    found = compiled.sections(path)
    tables = list(line_tables(found[".debug_line"], string_at=compiled.string_reader(found)))
    addresses = [a for mine in tables for start, end in mine.ranges() for a in range(start, end)]
    command = [symbolizer, "--no-inlines", "--functions=none", "--obj", path, *map(hex, addresses)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    positions = []
    for address in addresses:
        [[mine, span]] = [[mine, span] for mine in tables for span in mine.at(address)]
        positions.append(f"{mine.path(span.row.file, str(tmp_path))}:{span.row.line}:{span.row.column}")
        assert span in mine.spans(span.row.line, {span.row.file}, span.row.column)
    assert positions == printed


INSTRUCTIONS = st.one_of(
    st.tuples(st.just("special"), st.integers(0, 3), st.integers(-5, 8)),
    st.tuples(st.just("advance_pc"), st.integers(0, 1 << 20)),
    st.tuples(st.just("advance_line"), st.integers(-9, 1 << 33)),
    st.tuples(st.just("set_address"), st.sampled_from((0, 16, 64, LAST))),
    st.tuples(st.just("set_column"), st.integers(0, 1 << 33)),
    st.sampled_from(("copy", "const_add_pc", "negate_stmt", "end_sequence", b"\x00", b"\xff", b"\x80")))  # fmt: skip


@given(
    st.lists(INSTRUCTIONS, max_size=12),  st.integers(2, 6),                    st.integers(0, 3),
    st.integers(0, 5),                    st.sampled_from((4, 8)))  # fmt: skip
def test_any_program_gives_rows(code, version, max_operations, min_length, size):
    found = read(*code, version=version, max_operations=max_operations, min_length=min_length, size=size)
    columns = found.rows
    lengths = {len(column) for column in (columns.addresses, columns.lines, columns.places, columns.marks)}
    assert lengths == {len(columns)}
    assert sum(s.stop - s.first for s in columns.sequences) == len(columns)
    assert all(row.address < 1 << 8 * size for row in columns)
    for start, end in found.ranges():
        assert all(span.start <= start < span.end for span in found.at(start))
        assert found.at(end - 1) or not all(p.ordered for p in found._live())
    for line in {row.line for row in columns}:
        assert all(span.row.line == line for span in found.spans(line, {0, 1, 2}))


@given(st.binary(max_size=120), st.integers(0, 140), st.integers(0, 255), st.sampled_from(("little", "big")))
def test_any_bytes_give_a_table_or_an_error(data, place, byte, order):
    for section in (data, mutated(place, byte, data, order)):
        for found in line_tables(section, byte_order=order):
            if isinstance(found, DwarfGpuError):
                continue
            assert found.error is None or isinstance(found.error, DwarfGpuError)
            found.at(0x1000)
            found.spans(1, {1})
            assert all(isinstance(found.path(number), str) for number, _ in found.files())


def mutated(place, byte, tail, order):
    """A good table with one byte changed, and another one after it."""
    good = bytearray(table(program(*TWO, order=order), order=order))
    good[place % len(good)] = byte
    return bytes(good) + tail
