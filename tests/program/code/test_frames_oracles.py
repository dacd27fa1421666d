"""Call frame information against llvm-dwarfdump and readelf: headers, instructions and rows of every fixture with any.

Where they differ, the tables below say why.
"""

import pytest

from dwarfgpu.objfile.call_frames import Fde
from dwarfgpu.program.code import code_object
from tests.builders import compiled, framedump
from tests.builders.folders import FIXTURES

NAMES = (".debug_frame", ".eh_frame", ".zdebug_frame")
UNREAD_BY_LLVM = {
    "asm/cfi-vendor.gfx90a.w64.co": "it gives up the whole section at DW_CFA_MIPS_advance_loc8; readelf does not",
    "features/zdebug.v4.co": "it no longer reads sections compressed in the way of GNU",
    "host/zdebug.gcc.v4.x86_64": "it no longer reads sections compressed in the way of GNU",
    "host/optimized.clang.O0.v5.x32.o": "it does not apply the relocations of x32; readelf does"}  # fmt: skip
"""The files whose call frame information llvm-dwarfdump does not read, and why."""

FORBIDDEN = {"asm/operations.x86_64": "bad_address_space", "asm/operations.x86_64.o": "bad_address_space"}
"""The files with something ill-formed, of which llvm-dwarfdump makes rows all the same: the kind of the error.

Their CFA is in an address space that x86-64 does not define (A.6.4.2.2 (3)).
"""

NAMELESS = {"DW_CFA_GNU_args_size": ""}
"""The instructions that llvm-dwarfdump shows without a name."""


def files():
    found = []
    for path in sorted(FIXTURES.glob("*/*")):
        if path.is_file() and path.parent.name in ("amdgpu", "asm", "features", "host", "llvm24"):
            data = path.read_bytes()
            if data[:4] == b"\x7fELF" and any(name.encode() + b"\0" in data for name in NAMES):
                found.append(str(path.relative_to(FIXTURES)))
    return found


FILES = files()


def by_offset(entries):
    return {(entry.section, entry.offset): entry for entry in entries}


def expected_rows(mine):
    """The rows as llvm-dwarfdump has them: it leaves out the last one if that says nothing."""
    return mine[:-1] if mine and mine[-1][1:] == (None, {}) else mine


def test_every_shape_is_among_the_files():
    assert len([name for name in FILES if name.startswith("llvm24/")]) == 38
    assert set(UNREAD_BY_LLVM) | set(FORBIDDEN) <= set(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name not in UNREAD_BY_LLVM])
def test_llvm_dwarfdump(name, require_tool):
    """The same entries, with the same headers and instructions, and the same rows at the same addresses."""
    tool = require_tool("llvm-dwarfdump-22", "llvm-dwarfdump")
    file = code_object.opened(str(FIXTURES / name))
    target = file.target.target.name
    text = framedump.run(tool, "--debug-frame", "--eh-frame", FIXTURES / name)
    theirs = by_offset(framedump.dumped_by_llvm(text, target))
    mine = by_offset(framedump.listed(file.frames, allowed=FORBIDDEN.get(name)))
    assert mine.keys() == theirs.keys()
    for key, entry in mine.items():
        assert entry.header == theirs[key].header
        assert [(NAMELESS.get(name, name), *rest) for name, *rest in entry.instructions] == theirs[key].instructions
        if name not in FORBIDDEN:
            assert expected_rows(entry.rows) == theirs[key].rows


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_llvm_dwarfdump_lets_pass(name):
    file = code_object.opened(str(FIXTURES / name))
    errors = [file.frames.listed(entry).error for entry in file.frames.entries()]
    assert {error.kind for error in errors} == {FORBIDDEN[name]}


X86_64 = [name for name in FILES if name.startswith("host/")] + ["asm/host.x86_64", "asm/host-legacy.x86_64"]


@pytest.mark.slow
@pytest.mark.parametrize("name", X86_64)
def test_readelf_rows(name, require_tool):
    """The rows of every entry that has instructions of its own: readelf shows no others."""
    compare_rows(FIXTURES / name, require_tool("readelf"), framedump.interpreted_by_readelf)


@pytest.mark.parametrize("options", ["-O2", "-O0", "-O2 -gdwarf-4 -fno-asynchronous-unwind-tables"])
def test_readelf_rows_of_a_big_endian_machine(options, tmp_path, require_tool):
    path = compiled.compiled(tmp_path, require_tool, "ppc64", options)
    compare_rows(path, require_tool("readelf"), lambda text: framedump.interpreted_by_readelf(text, "generic", 65))


def compare_rows(path, tool, interpreted):
    file = code_object.opened(str(path))
    tables = interpreted(framedump.run(tool, "--debug-dump=frames-interp", path))
    fdes = {(entry.section, entry.offset): entry for entry in file.frames.entries() if isinstance(entry, Fde)}
    assert {key for key, table in tables.items() if table.kind == "FDE"} == fdes.keys()
    for key, fde in fdes.items():
        table = tables[key]
        assert (fde.low, fde.high) == table.range
        if not table.rows:
            continue
        rows = [framedump.as_readelf(row, fde, file.frames) for row in file.frames.rows(fde)]
        assert [(start, cfa) for start, cfa, _ in rows] == [(start, cfa) for start, cfa, _ in table.rows]
        for (_, _, registers), (_, _, shown) in zip(rows, table.rows, strict=True):
            assert {number: registers.get(number, "u") for number in shown} == shown
            assert all(rule == "u" for number, rule in registers.items() if number not in shown)
    return sum(len(table.rows) for table in tables.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asm/cfi-vendor.gfx90a.w64.co", "host/zdebug.gcc.v4.x86_64", *X86_64[:3]])
def test_readelf_instructions(name, require_tool):
    """The names of the instructions, and the locations that they advance to."""
    tool = require_tool("readelf")
    file = code_object.opened(str(FIXTURES / name))
    theirs = framedump.listed_by_readelf(framedump.run(tool, "--debug-dump=frames", FIXTURES / name))
    for entry in framedump.listed(file.frames):
        mine = [
            (each, f"{operands[1]:016x}" if "advance" in each else "")
            for each, *operands in entry.instructions
            if each != "DW_CFA_nop"
        ]
        if ("DW_CFA_???", "") in theirs[entry.offset]:  # it does not know those of LLVM, and reads no further
            assert any("LLVM" in each for each, _ in mine)
        else:
            assert mine == theirs[entry.offset]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("llvm24/", "host/frames"))])
def test_the_row_at_every_address(name):
    """One row at a time gives what all rows together say, at the first and the last address of each."""
    file = code_object.opened(str(FIXTURES / name))
    if not file.image.is_linked:
        return
    for entry in file.frames.entries():
        if isinstance(entry, Fde):
            for row in file.frames.rows(entry):
                assert file.frames.row_at(row.start) == row
                assert file.frames.row_at(row.end - 1) == row
