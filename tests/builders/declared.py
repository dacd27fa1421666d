"""A host program of one function whose entries a test writes down; its data are the bytes 0, 1, 2, ..."""

from pathlib import Path
from typing import Any

import dwarfgpu as dg
from tests.builders.dwarf import build, die, entry, unit
from tests.builders.elf import ElfBuilder

CODE, SIZE, DATA = 0x1000, 0x40, 0x2000
INT = entry("base_type", "int", label="int", encoding=5, byte_size=4)
AT_DATA = ("location", "exprloc", b"\x03" + DATA.to_bytes(8, "little"))


def named(name: str) -> tuple[str, str, str]:
    return ("name", "string", name)


def typed(label: str) -> tuple[str, str, str]:
    return ("type", "ref4", label)


GFX90A = {"machine": 224, "flags": 0x3F, "osabi": 64, "abi_version": 2}
"""The header of a code object for gfx90a."""


def program(
    tmp_path: Path, *entries: Any, locals: tuple[Any, ...] = (), segments: tuple[int, ...] = (), **header: int
) -> Any:
    """A file with a function that declares some entries, and others beside it.

    Its data are also segments of some other types. Without a header it is for x86-64.
    """
    function = entry("subprogram", "f", *locals, low_pc=CODE, high_pc=("data8", SIZE))
    root = die("compile_unit", ("language", "data2", 0x1D), INT, *entries, function)
    elf = ElfBuilder(**(header or {"machine": 62, "flags": 0, "osabi": 0, "abi_version": 0}))
    text = elf.section(".text", bytes(SIZE), flags=0x6, address=CODE, align=16)
    data = elf.section(".data", bytes(range(64)), flags=0x3, address=DATA, align=16)
    for name, content in build(unit(root)).sections.items():
        elf.section(name, content)
    elf.segment(1, CODE, text, flags=5)
    for kind in (1, *segments):
        elf.segment(kind, DATA, data, flags=6)
    path = tmp_path / "program"
    path.write_bytes(elf.build())
    return dg.open(str(path))


def at_data(offset: int) -> tuple[str, str, bytes]:
    """The location of a variable in the data."""
    return ("location", "exprloc", b"\x03" + (DATA + offset).to_bytes(8, "little"))
