from __future__ import annotations

import struct
import subprocess
from typing import Any, Literal

import pytest

import dwarfgpu as dg
from dwarfgpu.audits.verify.reports import check_file
from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.objfile.call_frames import Fde
from dwarfgpu.objfile.elf.header import EM_INTELGT, EM_X86_64, ET_EXEC, ET_REL, SHT_RELA
from dwarfgpu.objfile.line_table import line_table
from dwarfgpu.program.code.code_lookup import at_address, at_named_addresses, parse_address
from dwarfgpu.program.code.frame_rows import code_name
from dwarfgpu.program.code.source_files import Lines
from tests.builders.errors import raised
from tests.builders.lines import program, table
from tests.builders.parameters import every


def lines(*instructions: Any, order: Literal["little", "big"] = "little") -> Lines:
    data = table(program(("set_address", 0x100), *instructions, order=order), order=order)
    return Lines(line_table(data, 0, byte_order=order))


def starts(found: Lines) -> list[tuple[int, int, int]]:
    return [(each.address, each.end, each.line) for each in found.starts]


def row(address: int, line: int) -> tuple[str, int, int]:
    """A row so many bytes and lines further on."""
    return ("special", address, line)


@pytest.mark.parametrize("order", ["little", "big"])
def test_each_line_reaches_to_the_next(order):
    found = lines(row(0, 2), row(4, 1), row(4, -2), ("advance_pc", 4), "end_sequence", order=order)
    assert starts(found) == [(0x100, 0x104, 3), (0x104, 0x108, 4), (0x108, 0x10C, 2)]
    assert [found.at(address) and found.at(address).line for address in (0xFF, 0x100, 0x107, 0x10B, 0x10C)] == [
        None, 3, 4, 2, None]  # fmt: skip


def test_rows_that_discriminators_tell_apart_are_one_line():
    plain = lines(row(0, 2), row(4, 0), row(4, 1), ("advance_pc", 4), "end_sequence")
    assert starts(plain) == [(0x100, 0x104, 3), (0x104, 0x108, 3), (0x108, 0x10C, 4)]
    apart = lines(row(0, 2), ("set_discriminator", 1), row(4, 0), row(4, 1), ("advance_pc", 4), "end_sequence")
    assert starts(apart) == [(0x100, 0x108, 3), (0x108, 0x10C, 4)]


def test_a_statement_comes_before_what_is_none():
    found = lines(row(0, 2), "negate_stmt", row(0, 1), row(4, 1), ("advance_pc", 4), "end_sequence")
    at = found.at(0x102)
    assert at is not None
    assert (at.line, at.is_statement) == (3, True)
    assert found.entered_at(at).line == 3
    assert found.next_line(4, {1}) is None
    assert [*found.of(4, {1})] == []


def test_of_several_lines_at_an_address_the_last_counts_and_the_first_is_known():
    found = lines(row(0, 2), row(0, 3), row(4, 1), ("advance_pc", 4), "end_sequence")
    at = found.at(0x100)
    assert at is not None
    assert (at.line, at.end, found.entered_at(at).line) == (6, 0x104, 3)


def test_lines_are_those_of_files():
    found = lines(row(0, 2), ("set_file", 0), row(4, 2), ("advance_pc", 4), "end_sequence")
    assert [each.file for each in found.starts] == [1, 0]
    assert found.next_line(1, {0}) == 5
    assert found.next_line(1, {1}) == 3
    assert found.next_line(4, {1}) is None
    assert [start.address for start in found.of(5, {0})] == [0x104]


def test_sequences_that_are_not_there_are_passed_over():
    gone = (("set_address", 0), row(0, 2), ("advance_pc", 4), "end_sequence")
    assert starts(lines(row(0, 2), ("advance_pc", 4), "end_sequence", *gone)) == [(0x100, 0x104, 3)]


def test_code_of_no_line_is_told_apart():
    found = lines(row(0, 2), ("advance_line", -3), row(4, 0), ("advance_pc", 4), "end_sequence")
    assert starts(found) == [(0x100, 0x104, 3), (0x104, 0x108, 0)]


# --- Files whose sections of code all begin at 0: objects with a section for each function, cubins and zebins -----


SHT_NULL = 0
SOURCE = "int first(int a) { int t = a * 2; return t; }\nint second(int b) { int k = b + 1; return k * 3; }\n"


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    """``built(type, relocated)`` is an object of two functions; as an executable it is what a cubin is.

    With the machine of Intel's GPUs its relocations are those of a zebin: 1 for 64 bits and 2 for 32.
    """
    folder = tmp_path_factory.mktemp("sections")
    (folder / "two.c").write_text(SOURCE)
    command = [require_tool("gcc"), "-c", "-g", "-ffunction-sections", "two.c", "-o", "two.o"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    whole = (folder / "two.o").read_bytes()

    def build(file_type, relocated=True, machine=EM_X86_64):
        data = bytearray(whole)
        struct.pack_into("<HH", data, 16, file_type, machine)
        (table,) = struct.unpack_from("<Q", data, 40)
        (count,) = struct.unpack_from("<H", data, 60)
        for offset in range(table, table + 64 * count, 64):
            (kind,), (start, size) = (
                struct.unpack_from("<I", data, offset + 4),
                struct.unpack_from("<QQ", data, offset + 24),
            )
            if not relocated and kind == SHT_RELA:
                struct.pack_into("<I", data, offset + 4, SHT_NULL)
            for row in range(start, start + size, 24) if kind == SHT_RELA and machine == EM_INTELGT else ():
                (number,) = struct.unpack_from("<I", data, row + 8)
                struct.pack_into("<I", data, row + 8, {1: 1, 10: 2}.get(number, 0))  # R_X86_64_64, R_X86_64_32
        path = folder / f"two.{file_type}.{relocated}.{machine}.o"
        path.write_bytes(data)
        return dg.open(str(path)).file

    return build


@pytest.mark.parametrize("file_type", [ET_EXEC])
@pytest.mark.parametrize("name, line", [("first", 1), ("second", 2)])
def test_a_function_its_symbol_its_section_and_its_line_agree(built, file_type, name, line):
    file = built(file_type)
    found = at_address(file, parse_address(file, name))
    assert (found.symbol.name, found.frames[0].function, found.source.line) == (name, name, line)
    if file_type == ET_EXEC:
        assert found.section == f".text.{name}"
    symbol = file.symbol_image.symbol_named(name)
    assert file.image.symbol_bytes(symbol, 4) == bytes(symbol.section.raw[:4])
    inside = at_address(file, symbol.value + symbol.size - 1)
    assert (inside.symbol.name, inside.frames[0].function, inside.source.line) == (name, name, line)


@every(machine=[EM_X86_64, EM_INTELGT], file_type=[ET_REL, ET_EXEC])
def test_nothing_is_wrong_with_such_a_file(built, file_type, machine):
    findings = check_file(built(file_type, machine=machine)).findings
    assert [each for each in findings if machine == EM_X86_64 or "frame" not in (each.section or "")] == []


@pytest.mark.parametrize("machine", [EM_X86_64, EM_INTELGT])
def test_an_offset_in_an_object_is_in_each_section_that_has_it(built, machine):
    file = built(ET_REL, machine=machine)
    found = [(at.address, at.section, at.symbol.name, at.frames[0].function, at.source.line, at.range[0] <= 0x10)
             for at in at_named_addresses(file, "0x10")]  # fmt: skip
    assert found == [
        (0x10, ".text.first", "first", "first", 1, True), (0x10, ".text.second", "second", "second", 2, True),
    ]  # fmt: skip
    for text in ("second+4", "two.c:2"):
        (only,) = at_named_addresses(file, text)
        expected = (".text.second", "second", 0, 2)
        assert (only.section, only.symbol.name, only.symbol.address, only.source.line) == expected
    assert "the file has nothing at the address 0x100" in str(raised(NotFound, at_named_addresses, file, "0x100"))
    entries = [entry for entry in file.frames.entries() if isinstance(entry, Fde)]
    if machine == EM_X86_64:  # a zebin has no relocations relative to their place
        assert [code_name(file, entry) for entry in entries] == ["<first>", "<second>"]


def test_an_offset_in_an_object_without_relocations_means_nothing(built):
    assert "addresses are ambiguous" in str(raised(UsageError, at_named_addresses, built(ET_REL, relocated=False), "4"))


@pytest.mark.parametrize("file_type", [ET_EXEC])
def test_without_relocations_an_address_means_nothing(built, file_type):
    file = built(file_type, relocated=False)
    error = raised(UsageError, at_address, file, 4)
    assert "addresses are ambiguous" in str(error)
    assert "relocations" in error.hint
    assert "file-addresses" in {finding.rule.name for finding in check_file(file).findings}
