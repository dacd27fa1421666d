"""Macros: every kind of entry, both formats and byte orders, broken units, and what llvm-dwarfdump says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.encoding.leb128 import encode_unsigned as uleb
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.macros import MACINFO, MacroEntry, read_macro_unit, read_macro_units
from dwarfgpu.program.dump.macros import parts
from dwarfgpu.program.files.codeobject import opened

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def string_at(form: str, value: int) -> str:
    return f"{form}:{value}"


def unit(body: bytes, *, version: int = 5, flags: int = 0, order: str = "little", head: bytes = b"") -> bytes:
    return version.to_bytes(2, order) + bytes([flags]) + head + body + b"\0"


def entries(data: bytes, **options) -> tuple[MacroEntry, ...]:
    found = read_macro_unit(data, 0, string_at=string_at, **options)
    assert found.error is None
    assert found.end == len(data)
    return found.entries


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("size", [4, 8])
def test_every_kind(order, size):
    """DWARF 5, 6.3.2 and 7.23."""
    offset = (0x1234).to_bytes(size, order)
    body = b"".join(
        [
            b"\x01" + uleb(300) + b"A(x) x\0", b"\x02\x05B\0", b"\x03\x00\x02", b"\x04", b"\x05\x07" + offset,
            b"\x06\x07" + offset, b"\x07" + offset, b"\x08\x09" + offset, b"\x09\x09" + offset, b"\x0a" + offset,
            b"\x0b\x01\x05", b"\x0c\x01\x06",
        ]
    )  # fmt: skip
    data = unit(body, flags=size == 8, order=order)

    assert [
        (each.kind, each.line, each.text, each.file, each.unit) for each in entries(data, byte_order=order)
    ] == [
        ("DW_MACRO_define", 300, "A(x) x", None, None),
        ("DW_MACRO_undef", 5, "B", None, None),
        ("DW_MACRO_start_file", 0, None, 2, None),
        ("DW_MACRO_end_file", None, None, None, None),
        ("DW_MACRO_define_strp", 7, "strp:4660", None, None),
        ("DW_MACRO_undef_strp", 7, "strp:4660", None, None),
        ("DW_MACRO_import", None, None, None, 0x1234),
        ("DW_MACRO_define_sup", 9, "strp_sup:4660", None, None),
        ("DW_MACRO_undef_sup", 9, "strp_sup:4660", None, None),
        ("DW_MACRO_import_sup", None, None, None, 0x1234),
        ("DW_MACRO_define_strx", 1, "strx:5", None, None),
        ("DW_MACRO_undef_strx", 1, "strx:6", None, None),
    ]


def test_the_header():
    """DWARF 5, 6.3.1: the line table, and the operands of kinds that only the producer knows."""
    head = (0x40).to_bytes(4, "little") + b"\x01\xe0\x02\x0b\x08"  # one kind, 0xe0: data1 and string
    found = read_macro_unit(unit(b"\xe0\x07text\0\x02\x01A\0", flags=6, head=head), 0)

    assert (found.version, found.offset_size, found.lines) == (5, 4, 0x40)
    assert [each.kind for each in found.entries] == ["DW_MACRO_unknown_0xe0", "DW_MACRO_undef"]


def test_the_names_of_gnu():
    """Version 4 has other names, and the numbers up to 0x0a."""
    data = unit(b"\x05\x01\x02\0\0\0\x07\x03\0\0\0\x01\x01A\0", version=4)

    assert [each.kind for each in entries(data)] == [
        "DW_MACRO_GNU_define_indirect",
        "DW_MACRO_GNU_transparent_include",
        "DW_MACRO_GNU_define",
    ]


def test_macinfo():
    """DWARF 4, 6.3: no header, and an entry for vendors."""
    data = b"\x03\x00\x01\x01\x02A 1\0\xff\x05word\0\x02\x03A\0\x04\0"

    assert [(each.kind, each.line, each.text, each.file) for each in entries(data, section=MACINFO)] == [
        ("DW_MACINFO_start_file", 0, None, 1),
        ("DW_MACINFO_define", 2, "A 1", None),
        ("DW_MACINFO_vendor_ext", None, "word", None),
        ("DW_MACINFO_undef", 3, "A", None),
        ("DW_MACINFO_end_file", None, None, None),
    ]


@pytest.mark.parametrize(
    "data, kind",
    [
        (unit(b"\x7f"), "unknown_entry_kind"),
        (unit(b"\x01\x01A\0\x0d"), "unknown_entry_kind"),
        (unit(b"\x01\x01A")[:-1], "truncated"),
        (unit(b"\x05\x01\x02")[:-1], "truncated"),
        (unit(b"\x01" + b"\xff" * 12 + b"\x01"), "leb128_overflow"),
        (unit(b"")[:-1], "truncated"),
    ],
)
def test_what_is_broken_keeps_the_entries_before(data, kind):
    found = read_macro_unit(data, 0)

    assert found.error is not None
    assert found.error.kind == kind
    assert len(found.entries) == (b"A\0\x0d" in data)


@pytest.mark.parametrize("data", [b"", b"\x05", unit(b"", version=3), unit(b"", flags=4)[:3]])
def test_a_broken_header_is_an_error(data):
    with pytest.raises(DwarfGpuError):
        read_macro_unit(data, 0)


def test_units_stand_one_behind_the_other():
    data = unit(b"\x01\x01A\0") + unit(b"\x02\x01B\0") + unit(b"\x7f") + unit(b"")
    found = list(read_macro_units(data))

    assert [(each.offset, len(each.entries), each.error is None) for each in found] == [
        (0, 1, True),
        (8, 1, True),
        (16, 0, False),
    ]


@given(st.binary(max_size=60), st.sampled_from([".debug_macro", ".debug_macinfo"]))
def test_any_bytes(data, section):
    for found in read_macro_units(data, section=section):
        assert isinstance(found, DwarfGpuError) or found.end <= len(data)


# --- llvm-dwarfdump -----------------------------------------------------------------------------------------------

_ENTRY = re.compile(
    r"^ *(DW_MAC\w+)(?: - (?:lineno: (\d+) (?:macro: (.*)|filenum: (\d+))|import offset: (0x[0-9a-f]+)))?$"
)
SOURCE = "#define ONE 1\n#define F(a, b) a##b\n#undef ONE\nint x = F(1, 2);\n"


def said_by_llvm(tool: str, path: Path) -> list[tuple[str, int | None, str | None, int | None]]:
    command = [tool, "--debug-macro", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            number = int(match[2]) if match[2] else None
            found.append((match[1], number, match[3], int(match[5], 16) if match[5] else None))
    return found


def said_by_us(path: Path, section: str) -> list[tuple[str, int | None, str | None, int | None]]:
    rows = [row for part in parts(opened(str(path)), section) for row in part.tables[0].rows]
    return [
        (kind, line, None if kind.endswith("start_file") else text, unit)
        for _, kind, line, unit, text in rows
    ]


@pytest.mark.parametrize("name", ["features/macro.v5.co", "host/macro.gcc.v5.x86_64"])
def test_fixtures(name, require_tool):
    path = FIXTURES / name
    theirs = said_by_llvm(require_tool("llvm-dwarfdump-22", "llvm-dwarfdump"), path)

    assert said_by_us(path, ".debug_macro") == theirs
    assert len(theirs) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "compiler, options, section",
    [
        ("gcc", "-g3 -gdwarf-4", ".debug_macro"),
        ("gcc", "-g3 -gdwarf-5 -gdwarf64", ".debug_macro"),
        ("gcc", "-g3 -gdwarf-4 -gstrict-dwarf", ".debug_macinfo"),
        ("clang-22", "-g -gdwarf-4 -fdebug-macro", ".debug_macinfo"),
        ("clang-22", "-g -gdwarf-5 -fdebug-macro", ".debug_macro"),
    ],
)
def test_compilers(compiler, options, section, tmp_path, require_tool):
    (tmp_path / "a.c").write_text(SOURCE, "utf-8")
    command = [require_tool(compiler), *options.split(), "-shared", "-nostdlib", "a.c", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    path = tmp_path / "a.so"
    theirs = said_by_llvm(require_tool("llvm-dwarfdump-22", "llvm-dwarfdump"), path)
    ours = said_by_us(path, section)

    assert ours == theirs
    assert {text for _, _, text, _ in ours} >= {"ONE 1", "ONE"}
    rows = [row for part in parts(opened(str(path)), section) for row in part.tables[0].rows]
    assert any(row[1].endswith("start_file") and str(row[4]).endswith("a.c") for row in rows)
