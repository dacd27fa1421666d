"""Files whose sections of code all begin at 0: objects with a section for each function, cubins and zebins."""

from __future__ import annotations

import struct
import subprocess

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.elf.header import ET_EXEC, ET_REL, SHT_RELA
from dwarfgpu.program.code.code_lookup import at_address, parse_address
from dwarfgpu.verification.reports import check_file

SHT_NULL = 0
SOURCE = "int first(int a) { int t = a * 2; return t; }\nint second(int b) { int k = b + 1; return k * 3; }\n"


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    """``built(type, relocated)`` is an object of two functions; as an executable it is what a cubin is."""
    folder = tmp_path_factory.mktemp("sections")
    (folder / "two.c").write_text(SOURCE)
    command = [require_tool("gcc"), "-c", "-g", "-ffunction-sections", "two.c", "-o", "two.o"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    whole = (folder / "two.o").read_bytes()

    def build(file_type, relocated=True):
        data = bytearray(whole)
        struct.pack_into("<H", data, 16, file_type)
        (table,) = struct.unpack_from("<Q", data, 40)
        (count,) = struct.unpack_from("<H", data, 60)
        for offset in range(table, table + 64 * count, 64):
            if not relocated and struct.unpack_from("<I", data, offset + 4) == (SHT_RELA,):
                struct.pack_into("<I", data, offset + 4, SHT_NULL)
        path = folder / f"two.{file_type}.{relocated}.o"
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


@pytest.mark.parametrize("file_type", [ET_REL, ET_EXEC])
def test_nothing_is_wrong_with_such_a_file(built, file_type):
    assert check_file(built(file_type)).findings == ()


@pytest.mark.parametrize("file_type", [ET_EXEC])
def test_without_relocations_an_address_means_nothing(built, file_type):
    file = built(file_type, relocated=False)
    with pytest.raises(UsageError, match="an address means nothing") as raised:
        at_address(file, 4)
    assert "relocations" in raised.value.hint
    assert "file-addresses" in {finding.rule.name for finding in check_file(file).findings}
