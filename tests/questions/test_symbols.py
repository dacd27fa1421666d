"""``info symbol``, ``address``, ``scope``, ``functions``, ``variables``, ``types``."""

import pytest

from tests.builders.folders import FIXTURES, ROOT
from tests.builders.parameters import for_each
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
CLASSES = FIXTURES / "host/classes.gcc.O0.v5.x86_64"


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(LANES, STATE)


@pytest.fixture(scope="module")
def classes() -> Run:
    return Run(CLASSES)


def test_info_symbol(run, classes):
    where = f"in section .text of {LANES}\n"
    assert run("info symbol $pc") == f"X + 72 {where}"
    assert run("info symbol X") == f"X {where}"
    assert run("info symbol 0x10") == "No symbol matches 0x10.\n"
    assert classes("info symbol &zoo::animals") == "zoo::animals in section .bss\n"
    assert classes("info symbol program+3") == "program + 3 in section .text\n"
    assert "an operand is missing" in str(classes.fails("info symbol 1.5 +"))


def test_addresses_and_scopes_have_location_lists(run):
    assert run("info address even") == (
        'Symbol "even" is multi-location:\n'
        "  Range 0x7f0000001544-0x7f000000154c: a complex DWARF expression:\n"
        "     0: DW_OP_regx 2562 [$v2]\n"
        "     3: DW_OP_LLVM_push_lane\n"
        "     5: DW_OP_lit2\n"
        "     6: DW_OP_shl\n"
        "     7: DW_OP_LLVM_offset\n"
        "\n"
        ".\n"
    )
    text = run("info scope X")
    assert text.startswith("Scope for X:\nSymbol out is multi-location:\n")
    assert "Symbol unused is optimized out.\n" in text
    assert "     0: DW_OP_lit16\n     1: DW_OP_lit5\n     2: DW_OP_LLVM_form_aspace_address\n, length 16.\n" in text
    inner = run("info scope lane-pc.c:14")
    names = [line.split()[1] for line in inner.splitlines() if line.startswith("Symbol ")]
    assert names[:2] == ["even", "left"]
    assert run("info scope *0x7f0000001544") == inner.replace("lane-pc.c:14", "*0x7f0000001544")
    assert run("info scope *0") == "Scope for *0 contains no locals or arguments.\n"
    assert run.fails("info scope").message.endswith("(function, line or *addr) to define a scope")
    assert run.fails("info scope nosuch").message == 'Function "nosuch" not defined.'


@for_each("name, words",
    ("limit", "multi-location:\n  Range 0x7f0000001518-0x7f0000001580: a variable in $s6\n"),
    ("unused", "optimized out"),
    ("X", "a function at address 0x7f0000001500"),
    ("lex_1_then", "at 0x7f0000001528 in a file compiled without debugging"))  # fmt: skip
def test_what_is_where(run, name, words):
    assert run(f"info address {name}") == f'Symbol "{name}" is {words}.\n'


def test_host_names_and_classes(classes):
    words = "is static storage at address 0x403008"
    assert classes("info address zoo::animals") == f'Symbol "zoo::animals" {words}.\n'
    assert classes.fails("info address nosuch").message == 'No symbol "nosuch" in current context.'
    assert classes.fails("info address a + b").message == 'No symbol "a + b" in current context.'
    assert classes.fails("info address").kind == "usage"
    functions = classes("info functions -n zoo")
    assert "13:\tint zoo::Animal::speak() const;\n" in functions
    assert "54:\tvoid zoo::Buffer<short, 4>::push(const short &);\n" in functions
    assert "12:\tvoid zoo::Animal::Animal(int);\n" in functions
    types = classes("info types")
    assert "\nFile src/host/classes.cpp:\n78:\tFields;\n103:\ttypedef long Number;\n" in types
    assert "\tunsigned char\n" in types
    assert "65:\tstatic int zoo::(anonymous namespace)::hidden;\n" in classes("info variables")
    text = Run(FIXTURES / "features/types.v5.co")("info types")
    assert text.endswith("\n\n\tbool\n\tunsigned char\n")
    assert text.count("\tint\n") == 1


def test_frame_bases_and_wave32():
    clang = Run(FIXTURES / "host/values.clang.O0.v5.x86_64")
    assert "Symbol left is a variable at frame base reg $rbp offset 0+-4, length 4.\n" in clang("info scope add")
    wave32 = Run(FIXTURES / "asm/lane-pc.gfx1100.w32.co")
    assert "Symbol __lex_1_save_exec is multi-location:\n  Range 0x151c-0x1580: a variable in $s34\n" in wave32(
        "info scope X"
    )


def test_functions_and_variables(run):
    assert run("info functions") == (
        "All defined functions:\n\n"
        "File src/asm/lane-pc.c:\n"
        "5:\tvoid X(int *, int);\n"
        "28:\tint whole_wave(int);\n\n"
        "Non-debugging symbols:\n"
        "0x00007f000000161c  whole_wave_return\n"
    )
    assert run("info functions ^whole") == (
        'All functions matching regular expression "^whole":\n\n'
        "File src/asm/lane-pc.c:\n28:\tint whole_wave(int);\n\n"
        "Non-debugging symbols:\n0x00007f000000161c  whole_wave_return\n"
    )
    assert "Non-debugging" not in run("info functions -n whole")
    assert run("info functions zzz") == 'All functions matching regular expression "zzz":\n'
    text = run("info variables")
    assert "3:\tstatic int tile[64];\n" in text
    assert text.endswith("0x00007f0000000480  X.kd\n0x00007f0000002620  _DYNAMIC\n")
    assert "regular expression" in run.fails("info types (").message


@for_each("name", "asm/lines.powerpc64", "features/split.v5.co", "features/stripped.v5.co", "host/stripped.gcc.x86_64")
def test_every_kind_of_file(name):
    run = Run(FIXTURES / name)
    for what in ("functions", "variables", "types"):
        assert run(f"info {what}").startswith(f"All defined {what}:\n")
