"""Macros of -g3: which are defined at a place, and what they expand to."""

from __future__ import annotations

import json
import subprocess

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.macros import DEFINE, END_FILE, START_FILE, UNDEF, MacroEvent, macro_events
from dwarfgpu.program.frames.macros import Definitions, defined_at, expanded
from tests.questions.harness import Run
from tests.questions.test_against_gdb import asked

MACROS = {
    "SQ": "SQ(x) ((x)*(x))", "INC": "INC 7", "STR": "STR(x) #x", "CAT": "CAT(a,b) a##b", "SELF": "SELF SELF + 1",
    "VAR": "VAR(f,...) f(__VA_ARGS__)", "NEST": "NEST SQ(INC)", "NOARGS": "NOARGS() 5", "NEG": "NEG -1",
    "GNU": "GNU(f,a...) f(0, ## a)", "EMPTY": "EMPTY", "TWICE": "TWICE(x) TWICE2 (x)", "TWICE2": "TWICE2(x) x TWICE(x)",
    "F": "F(x) x(", "OPT": "OPT(...) f(__VA_OPT__(1))", "BOMB": "BOMB(x) x x x x x x x x",
}  # fmt: skip
TEXTS = [
    "SQ(INC+1) + NEST", 'CAT(x, y) STR(a  b "c") VAR(SQ, 3) SELF NOARGS() SQ', "xy + 1", "SQ (2) SQ(SQ(2)) SQ((1,2))",
    r'STR( "a\n" ) STR() CAT(,y) CAT(x,)', "-NEG", "VAR(f) VAR(f, 1, 2)", "TWICE(1)", "EMPTY INC EMPTY", "NOARGS",
    "GNU(f) GNU(f, 1, 2)", "CAT(IN,C) CAT(NE,G)", "'INC' \"INC\" INC2",
]  # fmt: skip
SOURCE = [
    *("#define EARLY 1", '#include "inc.h"', *(f"#define {text}" for name, text in MACROS.items() if name != "SQ")),
    *("int main(int argc, char **argv){", "int xy = 3, arr[2] = {4, 5};", "#define LATE 9", "int r = SQ(xy) + EARLY;"),
    *("#undef EARLY", "__builtin_trap();", "#define TOO_LATE 1", "return r + arr[1]; }"),
]
NAMES = ["SQ", "EARLY", "LATE", "TOO_LATE", "STR", "VAR", "GNU", "NOARGS", "xy"]
PRINTED = ["SQ(xy) + INC", "CAT(x,y)", "NEST", "arr[NOARGS() - 4]", "sizeof(CAT(i,nt)) + LATE"]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc -g3", "clang-22 -g -fdebug-macro"])
def test_macros_are_those_of_gdb(compiler, require_tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc.h").write_text(f"#define {MACROS['SQ']}\n")
    (tmp_path / "m.c").write_text("\n".join(SOURCE) + "\n")
    tool, *options = compiler.split()
    subprocess.run([require_tool(tool), *options, "-gdwarf-5", "-O0", "-DCMD=4", "-o", "m", "m.c"], check=True)
    gdb = require_tool("gdb")
    subprocess.run(
        [gdb, "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "m"], check=True, capture_output=True
    )
    names = [*NAMES, *(["CMD"] if tool == "gcc" else [])]  # GDB drops what clang writes behind the files
    lines = [f"info macro {name}" for name in names] + [f"macro expand {text}" for text in TEXTS]
    lines += [f"output {text}" for text in PRINTED]
    run = Run("m", "core")
    for line, theirs in zip(lines, asked(gdb, ["m", "core"], lines, tmp_path), strict=True):
        try:
            ours = run(line)
        except DwarfGpuError as error:
            ours = error.message if "macro" in line else ""
        assert " ".join(ours.split()) == " ".join(theirs.replace("/./", "/").split()), line
    assert "-DCMD=4" in run("info macro CMD")
    assert json.loads(run("info macro --json SQ"))["macro"]["defined_at"][1]["line"] == 2


@pytest.mark.parametrize(
    "text, problem",
    [("SQ(1,2)", "expected 1, got 2"), ("SQ(1", "Malformed"), ("OPT(1)", "__VA_OPT__"), ("F(SQ) 1", "Malformed")],
)
def test_what_cannot_be_expanded(text, problem):
    with pytest.raises(DwarfGpuError, match=problem):
        expanded(text, Definitions({name: (definition, ()) for name, definition in MACROS.items()}))


def test_an_expansion_has_an_end():
    with pytest.raises(DwarfGpuError, match="more than"):
        expanded("BOMB(" * 12 + "1" + ")" * 12, Definitions({"BOMB": (MACROS["BOMB"], ())}))


def test_definitions_outside_files_come_first():
    events = [
        *(MacroEvent(START_FILE, file=1), MacroEvent(DEFINE, 2, "A 2"), MacroEvent(UNDEF, 4, "B")),
        *(MacroEvent(START_FILE, 6, file=2), MacroEvent(DEFINE, 1, "C 1"), MacroEvent(END_FILE), MacroEvent(END_FILE)),
        *(MacroEvent(END_FILE), MacroEvent(DEFINE, 0, "A 1"), MacroEvent(DEFINE, 0, "B 1")),
    ]
    found = {
        (path, line): "".join(name for name in "ABC" if name in defined_at(events, str, path, line))
        for path, line in (("1", 1), ("1", 4), ("1", 7), ("2", 1), ("3", 1))
    }
    assert found == {("1", 1): "AB", ("1", 4): "A", ("1", 7): "AC", ("2", 1): "AC", ("3", 1): "AB"}


def test_without_a_place_there_is_no_macro():
    assert "No frame selected" in str(Run("fixtures/features/macro.v5.co").fails("info macro ITEM"))


TABLE = bytes.fromhex("050000")


@pytest.mark.parametrize(
    "data, kind",
    [
        (b"", "bad_offset"),
        (b"\x07\0\0", "bad_version"),
        (b"\x05\0\x04", "vendor_macros"),
        (TABLE, "truncated"),
        (TABLE + b"\x07\0\0\0\0", "bad_import"),
        (TABLE + b"\x07\0\1\0\0", "bad_offset"),
        (TABLE + b"\3\0\1" * 201, "limit_exceeded"),
        (
            b"".join(TABLE + (b"\7" + (14 * i).to_bytes(4, "little")) * 2 + b"\0" for i in range(1, 40))
            + TABLE
            + b"\0",
            "bad_import",
        ),
        (TABLE + b"\x0a\0\0\0\0", "supplementary_file"),
        (TABLE + b"\x01\0abc", "truncated"),
        (TABLE + b"\x05\0\xff\xff\xff\x7f", "bad_string"),
        (TABLE + b"\x0b\0\xff\xff\x7f", "index_out_of_range"),
        (TABLE + b"\x40", "bad_macro"),
    ],
)
def test_a_broken_table_is_one_error(data, kind, monkeypatch):
    (unit, *_) = Run("fixtures/features/macro.v5.co").debugger.opened.file.dwarf.index.units
    read = unit.source.data
    monkeypatch.setattr(unit.source, "data", lambda name: data if name == ".debug_macro" else read(name))
    with pytest.raises(DwarfGpuError) as raised:
        macro_events(unit)
    assert raised.value.kind == kind
