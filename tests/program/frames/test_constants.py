"""Constants of DW_FORM_data1 to DW_FORM_data8, whose sign DWARF leaves open (DWARF 5, 7.5.5): as GDB reads them."""

import subprocess

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.render.values import value_text
from tests.builders.declared import named, program, typed
from tests.builders.dwarf import die

SOURCE = """
enum e { A = 200, B = 70000, C = -3 };
enum u { U = 200, V = 0xfffffff0u };
enum __attribute__((packed)) p { P = 100, Q = -100 };
enum __attribute__((packed)) q { R = 100, S = 200 };
enum l { K = 200, L = 0x123456789a, M = -0x123456789a };
enum e ea = A, ec = C; enum u uv = V; enum p pq = Q; enum q qs = S; enum l lk = K, ll = L, lm = M;
int g(int);
int main(void) {
  const int c = 200; const unsigned u = 200; const signed char s = -56; const unsigned char b = 200;
  const short h = 200; const unsigned short uh = 40000; const long l = 0xfffffff0L; const long m = -5;
  const unsigned long ul = 0xfffffffffffffff0UL; const int n = -200; const int k2 = 40000;
  const unsigned k4 = 0xfffffff0u; const _Bool t = 1; const char ch = (char)200; const int w = -40000;
  const enum e ee = A; const enum e eb = C; const enum u v = V; const double d = 1.5; const float f = -2.5f;
  return g(c) + g(u) + s + b + h + uh + l + m + ul + n + k2 + k4 + t + ch + w + ee + eb + v + d + f;
}
int g(int x) { return x; }
"""
LOCALS = ("c", "u", "s", "b", "h", "uh", "l", "m", "ul", "n", "k2", "k4", "t", "ch", "w", "ee", "eb", "v", "d", "f")
OTHERS = (
    *("ea", "ec", "uv", "pq", "qs", "lk", "ll", "lm", "(enum e)200", "(enum e)-3", "(enum u)200", "(enum q)200"),
    *("(int)A", "(long)C", "(long)V", "(int)Q", "(int)S", "(long)K", "(long)L", "(long)M", "A + 1", "S - 1"),
)


@pytest.mark.parametrize("options", [("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-gstrict-dwarf")])
@pytest.mark.parametrize("compiler", ["gcc", "clang-22"])
def test_constants_and_enumerators_are_those_of_gdb(tmp_path, require_tool, compiler, options):
    (tmp_path / "constants.c").write_text(SOURCE)
    built = tmp_path / "constants"
    command = [require_tool(compiler), "-O2", "-w", *options, str(tmp_path / "constants.c"), "-o", str(built)]
    subprocess.run(command, check=True, capture_output=True)
    asked = [*(f"main::{name}" for name in LOCALS), *OTHERS]
    words = [word for text in asked for word in ("-ex", f"output {text}", "-ex", r"echo \n")]
    run = [require_tool("gdb"), "-batch", "-nx", "-iex", "set debuginfod enabled off", *words, str(built)]
    theirs = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()

    opened = dg.open(str(built))

    assert {text: shown(opened, text) for text in asked} == dict(zip(asked, theirs, strict=True))


def shown(opened: dg.Program, text: str) -> str:
    try:
        return value_text(opened[text].object())
    except DwarfGpuError as error:
        return error.message


TYPES = [
    die("base_type", named(name), ("encoding", "data1", encoding), ("byte_size", "data1", size), label=name)
    for name, encoding, size in (("char", 6, 1), ("uint", 7, 4), ("long", 5, 8), ("ulong", 7, 8))
]
CONSTANTS = [
    ("int", "data1", 200, 200),
    ("int", "data2", 40000, 40000),
    ("int", "data4", 0xFFFFFFF0, -16),
    ("int", "data8", 0xFFFFFFF0, -16),
    ("int", "sdata", -56, -56),
    ("int", "udata", 200, 200),
    ("uint", "data1", 200, 200),
    ("uint", "sdata", -56, 0xFFFFFFC8),
    ("char", "data1", 200, -56),
    ("char", "data2", 200, -56),
    ("long", "data4", 0xFFFFFFF0, 0xFFFFFFF0),
    ("long", "data8", (1 << 64) - 16, -16),
    ("ulong", "data8", (1 << 64) - 16, (1 << 64) - 16),
]


@pytest.mark.parametrize("kind, form, value, number", CONSTANTS)
def test_the_sign_of_a_constant_is_that_of_its_type(tmp_path, require_tool, kind, form, value, number):
    """DWARF 5, 7.5.5: whether DW_FORM_data<n> has a sign is left to the context; GDB extends with zeros."""
    entry = die("variable", named("constant"), typed(kind), ("const_value", form, value))
    assert program(tmp_path, *TYPES, entry)["constant"].value() == number
    run = [require_tool("gdb"), "-batch", "-nx", "-ex", "output (long) constant", str(tmp_path / "program")]
    theirs = int(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert (theirs - number) % (1 << 64) == 0
    assert theirs == number or kind == "ulong"


ENUMERATIONS = [
    # underlying type, size, form, value, number
    ("int", 4, "data1", 200, 200),
    ("int", 4, "data4", 0xFFFFFFF0, -16),
    ("uint", 4, "data4", 0xFFFFFFF0, 0xFFFFFFF0),
    ("uint", 4, "sdata", -16, 0xFFFFFFF0),
    ("char", 1, "data1", 200, -56),
    ("long", 8, "data4", 0xFFFFFFF0, 0xFFFFFFF0),
    ("long", None, "data1", 200, 200),
    (None, 4, "data1", 200, 200),
    (None, None, "data1", 200, 200),
    (None, 4, "sdata", -16, -16),
]


@pytest.mark.parametrize("kind, size, form, value, number", ENUMERATIONS)
def test_the_sign_of_an_enumerator_is_that_of_the_underlying_type(tmp_path, kind, size, form, value, number):
    attributes = [*([typed(kind)] if kind else []), *([("byte_size", "data1", size)] if size else [])]
    entry = die(
        "enumeration_type", named("E"), *attributes, die("enumerator", named("X"), ("const_value", form, value))
    )
    enumeration = program(tmp_path, *TYPES, entry).outside.type("enum E")
    assert [enumerator.value for enumerator in enumeration.enumerators] == [number]
