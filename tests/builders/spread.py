"""A kernel whose variables are in vector registers and in scratch memory, in one or half in each."""

from collections.abc import Iterable

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.expr import asm
from dwarfgpu.targets.resolve import resolve
from tests.builders.dwarf import build, die, entry, unit
from tests.builders.elf import ElfBuilder

TARGET = "amdgcn-gfx90a"
GFX90A = 0x3F
SIZE = 0x1000
IN_LANE = "DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"
SCRATCH = "DW_OP_const1u {}; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
HALVES = f"DW_OP_regx v6; {IN_LANE}; DW_OP_piece 4; {SCRATCH.format(20)}; DW_OP_piece 4"
VARIABLES = (
    ("x", "int", f"DW_OP_regx v5; {IN_LANE}"),
    ("pair", "Pair", HALVES),
    ("four", "Four", f"{HALVES}; DW_OP_regx v7; {IN_LANE}; DW_OP_piece 4; {SCRATCH.format(28)}; DW_OP_piece 4"),
    ("spilled", "int", SCRATCH.format(24)),
    ("partly", "Pair", f"DW_OP_regx v6; {IN_LANE}; DW_OP_piece 4; DW_OP_piece 4"))  # fmt: skip
"""Name, type and location."""


def expression(text: str, target: str = TARGET) -> bytes:
    return asm.assemble(text, dialects.get("llvm-user"), Format(), target=resolve(target))


def _struct(name: str, *members: str) -> object:
    inner = [
        entry("member", each, ("data_member_location", "data1", 4 * i), type="int") for i, each in enumerate(members)
    ]
    size = 4 * len(members)
    return entry("structure_type", name, ("byte_size", "data1", size), *inner, label=name)


def code_object(
    address: int, variables: Iterable[tuple[str, str, str]] = VARIABLES, target: str = TARGET, flags: int = GFX90A
) -> bytes:
    """The file; the code is at an address. ``flags`` are those of the ELF header for the target."""
    entries = [
        entry("variable", name, ("type", "ref4", kind), location=expression(location, target))
        for name, kind, location in variables
    ]
    tree = die(
        "compile_unit",
        ("producer", "string", "tests"),
        ("name", "string", "spread.c"),
        ("low_pc", "addr", address),
        ("high_pc", "data4", SIZE),
        entry("base_type", "int", label="int", encoding=5, byte_size=4),
        _struct("Pair", "first", "second"),
        _struct("Four", "a", "b", "c", "d"),
        entry("subprogram", "kernel", *entries, low_pc=address, high_pc=SIZE),
    )
    elf = ElfBuilder(flags=flags)
    text = elf.section(".text", bytes(SIZE), flags=0x6, address=address)
    for name, data in build(unit(tree)).sections.items():
        elf.section(name, data)
    elf.symbols([("kernel", address, SIZE, 2, 1, text)])
    elf.segment(1, address, text, flags=5)
    return elf.build()
