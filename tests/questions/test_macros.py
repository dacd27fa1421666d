"""Macros of -g3: which are defined at a place, and what they expand to."""

import json
import subprocess

import pytest

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.macros import DEFINE, END_FILE, START_FILE, UNDEF, MacroEvent, macro_events
from dwarfgpu.program.frames.macros import Definitions, defined_at, expanded
from tests.builders.errors import raised
from tests.builders.parameters import for_each
from tests.questions.harness import Run
from tests.questions.test_against_gdb import asked

MACROS = {
    "SQ": "SQ(x) ((x)*(x))", "INC": "INC 7", "STR": "STR(x) #x", "CAT": "CAT(a,b) a##b", "SELF": "SELF SELF + 1",
    "VAR": "VAR(f,...) f(__VA_ARGS__)", "NEST": "NEST SQ(INC)", "NOARGS": "NOARGS() 5", "NEG": "NEG -1",
    "GNU": "GNU(f,a...) f(0, ## a)", "EMPTY": "EMPTY", "TWICE": "TWICE(x) TWICE2 (x)", "TWICE2": "TWICE2(x) x TWICE(x)",
    "F": "F(x) x(", "OPT": "OPT(...) f(__VA_OPT__(1))", "BOMB": "BOMB(x) x x x x x x x x"}  # fmt: skip
TEXTS = [
    "SQ(INC+1) + NEST", 'CAT(x, y) STR(a  b "c") VAR(SQ, 3) SELF NOARGS() SQ', "xy + 1", "SQ (2) SQ(SQ(2)) SQ((1,2))",
    r'STR( "a\n" ) STR() CAT(,y) CAT(x,)', "-NEG", "VAR(f) VAR(f, 1, 2)", "TWICE(1)", "EMPTY INC EMPTY", "NOARGS",
    "GNU(f) GNU(f, 1, 2)", "CAT(IN,C) CAT(NE,G)", "'INC' \"INC\" INC2"]  # fmt: skip
BROKEN = {"Q": "Q(...) __VA_OPT__ x", "U": "U(...) __VA_OPT__(x", "N": "N(x) __VA_OPT__(x)"}
SOURCE = [
    *("#define EARLY 1", '#include "inc.h"', *(f"#define {text}" for name, text in MACROS.items() if name != "SQ")),
    *("int main(int argc, char **argv){", "int xy = 3, arr[2] = {4, 5};", "#define LATE 9", "int r = SQ(xy) + EARLY;"),
    *("#undef EARLY", "__builtin_trap();", "#define TOO_LATE 1", "return r + arr[1]; }"),
]
NAMES = ["SQ", "EARLY", "LATE", "TOO_LATE", "STR", "VAR", "GNU", "NOARGS", "xy"]
PRINTED = ["SQ(xy) + INC", "CAT(x,y)", "NEST", "arr[NOARGS() - 4]", "sizeof(CAT(i,nt)) + LATE"]
WRITTEN = [
    *("macro list", "macro define INC 8", "macro define A(x, y)   x + y*INC", "macro define B",
        "macro define V(a, ...) a"),
    *("macro define E() 5", "macro define C  3 + A(1,2)", "macro define G(a, r...) a r", "macro list"),
    *("macro expand C INC SQ(INC) V(1,2,3) E() B|", "output C", "macro undef A"),
    *("macro undef A", "macro undef SQ", "macro expand SQ(1) A(1,2)", "macro define B 2", "output C"),
    *("macro undef INC", "output INC", "macro define D(x,x) x", "macro define Q(...) __VA_OPT__ x",
        "macro expand Q(1)"),
    *("macro define U(...) __VA_OPT__(x", "macro expand U(1)", "macro define N(x) __VA_OPT__(x)", "macro expand N(1)"),
    "macro list"]  # fmt: skip


@pytest.mark.slow
@for_each("compiler", "gcc -g3 -gdwarf-5", "gcc -g3 -gdwarf-4 -gstrict-dwarf", "clang-22 -g -gdwarf-5 -fdebug-macro")
def test_macros_are_those_of_gdb(compiler, require_tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc.h").write_text(f"#define {MACROS['SQ']}\n")
    (tmp_path / "m.c").write_text("\n".join(SOURCE) + "\n")
    tool, *options = compiler.split()
    subprocess.run([require_tool(tool), *options, "-O0", "-DCMD=4", "-o", "m", "m.c"], check=True)
    gdb = require_tool("gdb")
    subprocess.run(
        [gdb, "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "m"], check=True, capture_output=True
    )
    names = [*NAMES, *(["CMD"] if tool == "gcc" else [])]  # GDB drops what clang writes behind the files
    lines = [f"info macro {name}" for name in names] + [f"macro expand {text}" for text in TEXTS]
    lines += [f"output {text}" for text in PRINTED] + WRITTEN
    run = Run("m", "core")
    for line, theirs in zip(lines, asked(gdb, ["m", "core"], lines, tmp_path), strict=True):
        try:
            ours = run(line)
        except DwarfGpuError as error:
            ours = error.message if line.startswith("info macro") else ""
        assert " ".join(ours.split()) == " ".join(theirs.replace("/./", "/").split()), line
    assert "-DCMD=4" in run("info macro CMD")
    assert json.loads(run("info macro --json SQ"))["macro"]["defined_at"][1]["line"] == 2


@for_each("text, problem",
    ("SQ(1,2)", "expected 1, got 2"),     ("SQ(1", "Malformed"),                ("F(SQ) 1", "Malformed"),
    ("Q(1)", "__VA_OPT__ must be followed by an open parenthesis"),             ("U(1)", "Unterminated __VA_OPT__"),
    ("N(1)", "__VA_OPT__ is only valid in a variadic macro"))  # fmt: skip
def test_what_cannot_be_expanded(text, problem):
    with pytest.raises(DwarfGpuError, match=problem):
        expanded(text, Definitions({name: (definition, ()) for name, definition in (MACROS | BROKEN).items()}))


OPTIONAL = {
    "A": "A(f,...) f(1 __VA_OPT__(,) __VA_ARGS__)", "B": "B(...) g(__VA_OPT__((a,b) x) end)", "EMPTY": "EMPTY",
    "C": "C(a,...) a ## __VA_OPT__( b ) z", "D": "D(x,...) h(__VA_OPT__(x ## x __VA_ARGS__ A(2)))",
    "E": "E(a, r...) __VA_OPT__(r |) a __VA_OPT__() ;"}  # fmt: skip
WITH_OPTIONAL = [
    *("A(f)", "A(f,)", "A(f, 2)", "A(f, EMPTY)", "B()", "B(1)", "C(q)", "C(q, 1)", "D(y, 2, 3)", "D(y)", "E(1,2)")
]


def test_optional_arguments_are_those_of_the_preprocessor(require_tool, tmp_path):
    macros = Definitions({name: (definition, ()) for name, definition in OPTIONAL.items()})
    source = "\n".join([*(f"#define {text}" for text in OPTIONAL.values()), *WITH_OPTIONAL, ""])
    command = [require_tool("gcc"), "-E", "-P", "-std=gnu2x", "-"]
    theirs = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [expanded(text, macros) for text in WITH_OPTIONAL]
    assert ["".join(text.split()) for text in ours] == ["".join(text.split()) for text in theirs]


def test_macros_are_expanded_once_and_not_for_ever():
    macros = Definitions({name: (definition, ()) for name, definition in MACROS.items()})
    texts = {"NEST + INC": "SQ(INC) + 7", "SQ(INC)": "((7)*(7))", "SQ(NEST)": "((SQ(INC))*(SQ(INC)))"}
    assert {text: expanded(text, macros, once=True) for text in texts} == texts
    with pytest.raises(DwarfGpuError, match="more than"):
        expanded("BOMB(" * 12 + "1" + ")" * 12, Definitions({"BOMB": (MACROS["BOMB"], ())}))


def test_definitions_of_the_user_and_outside_of_files():
    run = Run("fixtures/features/macro.v5.co")
    run("macro define TWICE(x) ((x) * 2)")
    assert run("macro expand TWICE(3)") == "expands to: ((3) * 2)\n"
    assert run("output TWICE(4)") == "8"
    assert run("info macro TWICE") == "Defined at <user-defined>:-1\n#define TWICE(x) ((x) * 2)\n"
    for text in ("A(x 2", "A(1) 2", "1x", "A(x,) 2"):
        assert "takes a macro" in str(run.fails(f"macro define {text}"))
    assert "No frame selected" in str(Run("fixtures/features/macro.v5.co").fails("info macro ITEM"))
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


TABLE = bytes.fromhex("050000")


@for_each("data, kind",
    (b"", "bad_offset"),   (b"\x07\0\0", "bad_version"),                 (b"\x05\0\x04", "vendor_macros"),
    (TABLE, "truncated"),  (TABLE + b"\x07\0\0\0\0", "bad_import"),      (TABLE + b"\x07\0\1\0\0", "bad_offset"),
    (TABLE + b"\3\0\1" * 201, "limit_exceeded"),
    (
        b"".join(TABLE + (b"\7" + (14 * i).to_bytes(4, "little")) * 2 + b"\0" for i in range(1, 40)) + TABLE + b"\0",
        "bad_import",
    ),
    (TABLE + b"\x0a\0\0\0\0", "supplementary_file"),         (TABLE + b"\x01\0abc", "truncated"),
    (TABLE + b"\x05\0\xff\xff\xff\x7f", "bad_string"),       (TABLE + b"\x0b\0\xff\xff\x7f", "index_out_of_range"),
    (TABLE + b"\x40", "bad_macro"))  # fmt: skip
def test_a_broken_table_is_one_error(data, kind, monkeypatch):
    (unit, *_) = Run("fixtures/features/macro.v5.co").debugger.opened.file.dwarf.index.units
    read = unit.source.data
    monkeypatch.setattr(unit.source, "data", lambda name: data if name == ".debug_macro" else read(name))
    assert raised(DwarfGpuError, macro_events, unit).kind == kind


OLD = b"\xff\1vendor\0\3\0\1\1\2A 1\0\2\4A\0\4\0"
"""Of `.debug_macinfo`: what a vendor says, a file that is entered, A defined at line 2 and undefined at line 4."""


@for_each("data, found",
    (OLD, [(START_FILE, 0, "", 1), (DEFINE, 2, "A 1", 0), (UNDEF, 4, "A", 0), (END_FILE, 0, "", 0)]),
    (b"", "bad_offset"),                  (b"\1\2A", "truncated"),              (b"\3\0\1", "truncated"),
    (b"\7\0", "bad_macro"),               (b"\3\0\1" * 201, "limit_exceeded"))  # fmt: skip
def test_macros_of_dwarf_4_have_no_header(data, found, monkeypatch):
    (unit, *_) = Run("fixtures/features/macro.v5.co").debugger.opened.file.dwarf.index.units
    monkeypatch.setattr(unit, "root_number", lambda *numbers: 0 if numbers == (dw.DW_AT_macro_info,) else None)
    monkeypatch.setattr(unit.source, "data", {".debug_macinfo": data}.__getitem__)
    if isinstance(found, list):
        assert [(event.kind, event.line, event.text, event.file) for event in macro_events(unit)] == found
        return
    assert raised(DwarfGpuError, macro_events, unit).kind == found
