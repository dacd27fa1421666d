"""Symbols, notes and relocations of a file, against what llvm-readobj says."""

import json
import subprocess

import pytest

from dwarfgpu.audits.dump.sections import SectionDump, find_sections
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened

LINKED = "fixtures/asm/code-object-v2.gfx803.co"
FILES = ("fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.o", LINKED, "fixtures/asm/lines.powerpc64")


def rows_of(path, word):
    """The rows of all sections that a word chooses, and the names of these."""
    file = opened(path)
    names = find_sections(file, [word])
    parts = [part for name in names for part in SectionDump(file).parts(name)]
    return [row for part in parts for row in part.tables[0].rows], names


@pytest.fixture
def read(require_tool):
    tool = require_tool("llvm-readobj-22")

    def run(path, *options):
        words = [tool, "--elf-output-style=JSON", *options, path]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]

    return run


@pytest.mark.parametrize("path", FILES)
def test_symbols(path, read):
    theirs = [each["Symbol"] for each in read(path, "--symbols")["Symbols"]]
    found, names = rows_of(path, "symtab")
    assert names == [".symtab"]
    assert [(row[0], row[1], row[2], row[4], row[7]) for row in found] == [
        (index, each["Value"], each["Size"], each["Binding"]["Name"].upper(), each["Name"]["Name"])
        for index, each in enumerate(theirs)
    ]


def test_relocations(read):
    theirs = {
        section["SectionIndex"]: [each["Relocation"] for each in section["Relocs"]]
        for section in read(FILES[0], "--relocations")["Relocations"]
    }
    file = opened(FILES[0])
    for index, rows in theirs.items():
        name = file.image.sections[index].name
        found, names = rows_of(FILES[0], name)
        assert names == [name]
        # a symbol of a section has its name in ours and in theirs
        assert [tuple(row) for row in found] == [
            (each["Offset"], each["Type"]["Name"], each["Addend"], each["Symbol"]["Name"] or None) for each in rows
        ]
    _rows, names = rows_of(FILES[0], "rela")
    assert set(names) == {file.image.sections[index].name for index in theirs}


def test_notes():
    found, names = rows_of(LINKED, "note")
    assert names == [".note"]
    assert [row[1:3] for row in found] == [
        ("AMD", "NT_AMD_HSA_CODE_OBJECT_VERSION"), ("AMD", "NT_AMD_HSA_ISA_VERSION"), ("AMD", "NT_AMD_HSA_ISA_NAME"),
        ("AMD", "NT_AMD_HSA_METADATA"),
    ]  # fmt: skip
    assert [row[4] for row in found] == [
        "0200000001000000", "04000700080000000000000003000000414d4400414d4447505500", "amdgcn-amd-amdhsa--gfx803", None,
    ]  # fmt: skip


def test_a_section_that_is_not_there():
    with pytest.raises(DwarfGpuError) as raised:
        find_sections(opened(LINKED), ["rela"])
    assert raised.value.hint == "there are .note, .dynsym, .symtab; llvm-dwarfdump prints the other sections"
