import subprocess
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import Pointer
from dwarfgpu.render.values import Look, ValueWriter, value_text
from tests.builders import hostile
from tests.builders.declared import CODE, SIZE, at_data, named, program, typed
from tests.builders.dwarf import die, entry
from tests.builders.folders import FIXTURES
from tests.builders.gdb_stops import stops
from tests.builders.parameters import every, for_each
from tests.program.frames.test_variables_gdb import aligned, demangled, folded, shown_as_gdb_does

CORPUS = Path(__file__).parent.parent / "corpus"
NOTHING = object()


def variable(name: str, offset: int, *more: Any, **options: Any) -> Any:
    """A variable of four bytes in the data: byte N of it is N."""
    return die("variable", named(name), typed("int"), at_data(offset), *more, **options)


def at(offset: int) -> int:
    return int.from_bytes(bytes(range(offset, offset + 4)), "little")


def imported(label: str, *more: Any) -> Any:
    return die("imported_declaration", ("import", "ref4", label), *more)


def using(label: str, *more: Any) -> Any:
    return die("imported_module", ("import", "ref4", label), *more)


NAMES = (
    "red green shade amount blue nested loud quiet own first second side hidden versioned c::red cd::blue "
    "c::deep::blue sounds::green sounds::again::blue joined::red joined::green joined::blue joined::own "
    "loops::one::second loops::two::first shapes::blue inner::side ::loud ::red blend c::blend member mix "
    "sizeof(Mix) Low High c::Low joined::Low sounds::Low sizeof(c::Mix) (c::Level)4 kept local number colours::shade"
)
UNLIKE_GDB = {
    "inner::side": "an alias counts in the block that it is in; gdb knows it everywhere",
    "sounds::Low": "it is not in that namespace; gdb takes what a declaration of the function means",
}
"""What gdb finds though the language does not."""

MEANT = {
    "shapes::inside": {"red": 1, "shade": 42, "hidden": 43, "::loud": 11, "inner::side": NOTHING},
    "directive": {"red": 1, "shade": 3, "joined::red": 22, "first": 31, "c::shade": 3},
    "local": {"shade": 3, "blue": 5, "own": 21, "joined::shade": 3},
    "small": {"green": 2, "shade": 13, "red": NOTHING},
    "User::method": {"shade": 42, "member": 51, "blue": 5, "red": NOTHING, "sounds::Low": NOTHING},
    "plain": {"red": NOTHING, "shade": NOTHING, "second": 32, "loops::one::second": 32}}  # fmt: skip
"""What C++ says of names in some functions. Of two things that are seen from nowhere none is meant."""


def compiled(tools: Any, folder: Path, compiler: str, source: str) -> Path:
    made = folder / "program"
    flags = ["-g", "-O0", "-static", "-w"]
    subprocess.run([tools(compiler), *flags, "-o", str(made), str(CORPUS / source)], check=True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++-22"])
def test_imported_names_equal_those_of_gdb(tmp_path, require_tool, compiler):
    """What gdb finds is found, in every frame; where it finds nothing the language decides."""
    made = compiled(require_tool, tmp_path, compiler, "imports.cpp")
    symbols = dg.open(made).file.symbol_image.symbols()
    names = demangled(require_tool, {each.name for each in symbols if each.name[:2] == "_Z"})
    wrong = []
    compared = 0
    checked = set()
    for stop in stops(require_tool, made, tmp_path, expressions=tuple(NAMES.split())):
        (wave, *_others) = dg.open(made).attach(stop.core)
        for theirs, frame in aligned(stop.frames, wave.frames()):
            for text, expected in theirs["expressions"].items():
                if expected.startswith("<error: No symbol") or text in UNLIKE_GDB:
                    continue
                mine = shown_as_gdb_does(frame, text, names)
                compared += 1
                if folded(mine) != folded(expected):
                    wrong.append(f"{frame.name}: {text}: gdb has {expected}, the library {mine}")
            for text, value in MEANT.get(frame.name, {}).items():
                checked.add(frame.name)
                if value is NOTHING:
                    with pytest.raises(dg.DwarfGpuError, match="no variable"):
                        frame[text].value()
                else:
                    assert frame[text].value() == value, (frame.name, text)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert compared > 900
    assert checked == {*MEANT}


CASTS = (
    *("(A*)&c", "(B*)&c", "(*(B*)&c).b", "(C*)pb", "(D*)pa", "(*(D*)pb).d", "(*(C*)pc).c", "(B*)null", "(A*)&v"),
    *("(B*)pv", "*(A*)pv", "(V*)pv", "(C*)any", "(B*)(C*)any", "(char*)pb == (char*)&d", "(B*)array[0]"),
    *("(A*)array[1]", "(*(W*)pv).w", "(long)(B*)&d - (long)&d", "(D*)pb == &d", "(int*)pb"))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++-22"])
def test_pointers_to_classes_are_cast_as_gdb_does(tmp_path, require_tool, compiler):
    """To a base, also a virtual one, the address moves; to a derived class it moves back; null stays null."""
    made = compiled(require_tool, tmp_path, compiler, "casts.cpp")
    (stop, *_others) = stops(require_tool, made, tmp_path, expressions=CASTS)
    (wave, *_others) = dg.open(made).attach(stop.core)
    frame = wave.frame(1)
    assert frame.name == "main"
    assert {text: shown_as_gdb_does(frame, text, {}) for text in CASTS} == stop.frames[1]["expressions"]


def test_a_name_that_is_two_things_elsewhere_says_which(tmp_path):
    spaces = [entry("namespace", name, variable("x", offset)) for name, offset in (("one", 0), ("two", 4))]
    (frame,) = program(tmp_path, *spaces).at(CODE)
    with pytest.raises(dg.DwarfGpuError, match="no variable `x` in f") as caught:
        frame["x"].value()
    assert caught.value.hint == "did you mean one::x, two::x?"


SPACE = entry("namespace", "space", variable("x", 8), label="space")


@for_each("entries, locals, name, value",
    ([SPACE, variable("x", 0)], [], "x", at(0)),
    ([SPACE, variable("x", 0)], [imported("x8")], "x", at(8)),
    ([SPACE, variable("x", 0)], [imported("x8", named("y"))], "y", at(8)),
    ([SPACE, variable("x", 0)], [imported("space", named("alias"))], "alias::x", at(8)),
    ([SPACE, variable("x", 0)], [die("lexical_block", imported("x8"))], "x", at(0)),
    ([SPACE, variable("y", 0), using("space")], [variable("x", 4)], "x", at(4)),
    # renamed as it is imported (a `use` of Fortran with a list)
    ([SPACE], [using("space", imported("x8", named("z")))], "z", at(8)))  # fmt: skip
def test_imports_of_a_function(tmp_path, entries, locals, name, value):
    space = entry("namespace", "space", variable("x", 8, label="x8"), label="space")
    entries = [space if each is SPACE else each for each in entries]
    (frame,) = program(tmp_path, *entries, locals=tuple(locals)).at(CODE)
    assert frame[name].value() == value


def test_directives_that_lead_to_each_other_end(tmp_path):
    one = entry("namespace", "one", using("two"), using("one"), label="one")
    two = entry("namespace", "two", using("one"), variable("x", 12), label="two")
    (frame,) = program(tmp_path, one, two, using("one")).at(CODE)
    assert frame["one::x"].value() == frame["x"].value() == at(12)
    with pytest.raises(dg.DwarfGpuError, match="no variable `one::y`"):
        frame["one::y"].value()


def test_without_a_function_what_a_unit_imports_counts(tmp_path):
    space = entry("namespace", "space", entry("namespace", "deep", variable("x", 8), label="deep"))
    found = program(tmp_path, space, entry("namespace", "deep"), imported("deep", named("alias")))
    assert found["alias::x"].value() == at(8)


def test_an_import_of_nothing_hides_nothing(tmp_path):
    (frame,) = program(tmp_path, die("imported_module", ("import", "ref4", "nowhere")), SPACE, using("space")).at(CODE)
    assert frame["x"].value() == at(8)


def test_an_enumerator_of_a_near_scope_comes_before_a_variable_of_a_far_one(tmp_path):
    colours = entry(
        "enumeration_type", "colour", entry("enumerator", "red", ("const_value", "sdata", 7)), type="int", byte_size=4
    )
    (frame,) = program(tmp_path, entry("namespace", "space", variable("red", 0)), colours).at(CODE)
    assert frame["red"].value() == 7
    assert frame["space::red"].value() == at(0)


@pytest.mark.parametrize("start, seen_from", [(0, 0), (0x10, 0x10), (SIZE, SIZE)])
def test_a_variable_is_visible_where_its_scope_begins(tmp_path, start, seen_from):
    late = variable("x", 4, ("start_scope", "data1", start))
    found = program(tmp_path, variable("x", 0), locals=(late,))
    for offset in range(0, SIZE, 8):
        (frame,) = found.at(CODE + offset)
        assert frame["x"].value() == (at(4) if offset >= seen_from else at(0))
        assert [each.name for each in frame.variables()] == (["x"] if offset >= seen_from else [])


def test_it_counts_from_the_block_that_declares_it(tmp_path):
    block = entry(
        "lexical_block", None, variable("x", 4, ("start_scope", "data1", 8)), low_pc=CODE + 0x10, high_pc=0x20
    )
    found = program(tmp_path, locals=(variable("x", 0), block))
    assert [found.at(CODE + offset)[0]["x"].value() for offset in (0, 0x10, 0x18, 0x2F, 0x30)] == [
        *(at(0), at(0), at(4), at(4), at(0))
    ]


def test_a_type_has_a_scope_too(tmp_path):
    size = ("byte_size", "data1", 2)
    odd = entry("base_type", "odd", encoding=5, byte_size=8)
    found = program(tmp_path, odd, locals=(entry("base_type", "odd", size, encoding=5, start_scope=8),))
    assert [found.at(CODE + offset)[0]["sizeof(odd)"].value() for offset in (0, 8)] == [8, 2]


def test_entry_points_are_names_of_the_function_with_parameters(tmp_path):
    second = entry(
        "entry_point", "again", entry("formal_parameter", "count", at_data(4), type="int"), low_pc=CODE + 0x10
    )
    (frame,) = program(tmp_path, locals=(variable("x", 0), second)).at(CODE)
    assert frame.names == ("f", "again")
    assert [(each.name, each.kind) for each in frame.variables()] == [("x", "local"), ("count", "parameter")]
    assert frame["count"].value() == at(4)
    assert frame.expression("&again").value() == CODE + 0x10


def test_a_name_of_another_block_says_where_it_is_in_scope(tmp_path):
    block = entry("lexical_block", None, variable("x", 0), low_pc=CODE + 8, high_pc=8)
    found = program(tmp_path, locals=(variable("y", 0), block))
    for frame, hint in (
        (found.at(CODE)[0], f"it is in scope at {CODE + 8:#x} to {CODE + 16:#x}"),
        (found.outside, "locals need a frame: give an address, or attach a state"),
    ):
        with pytest.raises(dg.DwarfGpuError, match="no variable `x`") as caught:
            frame["x"].value()
        assert caught.value.hint == hint
    with pytest.raises(dg.DwarfGpuError, match="no variable `z` in f") as caught:
        found.at(CODE)[0]["z"].value()
    assert caught.value.hint == "there are y"


def test_a_type_that_is_not_found_has_its_column(tmp_path):
    (frame,) = program(tmp_path).at(CODE)
    for text, column in (("1 + sizeof(struct none *)", 12), ("(union none *) 0", 2), ("{struct none} 8", 2)):
        with pytest.raises(dg.DwarfGpuError, match=f"named none, at column {column} of"):
            frame[text].value()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@for_each("text, shown",
    ("&zoo::Dog::tricks", "&zoo::Dog::tricks"),
    ("&zoo::Dog::legs", "&zoo::Animal::legs"),  # it is one of the class that has the member
    ("&zoo::Bottom::in_base", "&zoo::Base::in_base"),
    ("&Value::fraction", "&Value::number"),  # GDB knows an offset by the first member there, too
    ("&zoo::Dog::legs == &zoo::Animal::legs", "true"),
    ("sizeof(&zoo::Dog::tricks)", "8"),
    ("sizeof(&zoo::Dog::Dog)", "16"))  # fmt: skip
def test_the_address_of_a_member_without_an_object(compiler, text, shown):
    program = dg.open(FIXTURES / f"host/classes.{compiler}.O0.v5.x86_64")
    place = next(each for each in program.file.dwarf.index.find("zoo::Dog::speak") if each.kind == "function")
    (frame, *_) = program.at(place.die.number(0x11).address())
    value = frame.expression(text).object()
    assert ValueWriter(Look(), is_cplus=True).text(value, 0) == shown


def test_the_program_counter_points_to_what_takes_nothing():
    """In C++ that is said."""
    for name, function, shown in (
        ("classes", "zoo::Dog::speak", "void (*)(void)"),
        ("values", "program", "void (*)()"),
    ):
        program = dg.open(FIXTURES / f"host/{name}.gcc.O0.v5.x86_64")
        found = next(each for each in program.file.dwarf.index.find(function) if each.kind == "function")
        (frame, *_) = program.at(found.die.number(0x11).address())
        assert type_text(frame["$pc"].type, is_cplus=name == "classes") == shown


def test_what_has_no_pointer_to_it():
    program = dg.open(FIXTURES / "host/classes.gcc.O0.v5.x86_64")
    assert isinstance(program["&zoo::Animal::count"].type, Pointer)  # all objects share it
    assert isinstance(program["&zoo::Dog::speak"].type, Pointer)  # which is meant depends on the object
    for text, said in (
        ("&Fields::small", "a bit-field has no address, at column 1"),
        ("&zoo::Dog::nothing", "no variable `zoo::Dog::nothing` in this scope, at column 2"),
        ("*&zoo::Dog::tricks", "is not a pointer"),
    ):
        with pytest.raises(dg.UsageError, match=said):
            program[text].value()


@pytest.mark.parametrize("argument", ["short", "short int"])
def test_template_arguments_may_be_spelled_as_gdb_or_as_gcc_does(argument):
    program = dg.open(str(FIXTURES / "host/classes.gcc.O0.v5.x86_64"))
    assert program.eval(f"sizeof(zoo::Buffer<{argument}, 4>)") == 12


# --- Constants of DW_FORM_data1 to DW_FORM_data8, whose sign DWARF leaves open (DWARF 5, 7.5.5): as GDB reads them ---


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


@every(options=[("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-gstrict-dwarf")], compiler=["gcc", "clang-22"])
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
    ("int", "data1", 200, 200),           ("int", "data2", 40000, 40000),       ("int", "data4", 0xFFFFFFF0, -16),
    ("int", "data8", 0xFFFFFFF0, -16),    ("int", "sdata", -56, -56),           ("int", "udata", 200, 200),
    ("uint", "data1", 200, 200),          ("uint", "sdata", -56, 0xFFFFFFC8),   ("char", "data1", 200, -56),
    ("char", "data2", 200, -56),          ("long", "data4", 0xFFFFFFF0, 0xFFFFFFF0),
    ("long", "data8", (1 << 64) - 16, -16),                  ("ulong", "data8", (1 << 64) - 16, (1 << 64) - 16),
]  # fmt: skip


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
    ("int", 4, "data1", 200, 200),                           ("int", 4, "data4", 0xFFFFFFF0, -16),
    ("uint", 4, "data4", 0xFFFFFFF0, 0xFFFFFFF0),            ("uint", 4, "sdata", -16, 0xFFFFFFF0),
    ("char", 1, "data1", 200, -56),                          ("long", 8, "data4", 0xFFFFFFF0, 0xFFFFFFF0),
    ("long", None, "data1", 200, 200),                       (None, 4, "data1", 200, 200),
    (None, None, "data1", 200, 200),                         (None, 4, "sdata", -16, -16)]  # fmt: skip


@pytest.mark.parametrize("kind, size, form, value, number", ENUMERATIONS)
def test_the_sign_of_an_enumerator_is_that_of_the_underlying_type(tmp_path, kind, size, form, value, number):
    attributes = [*([typed(kind)] if kind else []), *([("byte_size", "data1", size)] if size else [])]
    entry = die(
        "enumeration_type", named("E"), *attributes, die("enumerator", named("X"), ("const_value", form, value))
    )
    enumeration = program(tmp_path, *TYPES, entry).outside.type("enum E")
    assert [enumerator.value for enumerator in enumeration.enumerators] == [number]


def test_parameters_without_a_copy_in_an_inlined_function_keep_their_place(tmp_path):
    declared = [entry("formal_parameter", name, typed("int"), label=f"own-{name}") for name in "abc"]
    kept = entry("formal_parameter", None, abstract_origin="own-b", location=hostile.ops("DW_OP_regx v0"))
    span = {"low_pc": hostile.CODE, "high_pc": ("data8", hostile.SIZE)}
    call = entry("inlined_subroutine", None, kept, abstract_origin="f", **span)
    file = hostile.gpu(call, types=[entry("subprogram", "f", *declared, label="f", inline=1)])
    case = hostile.Case(tmp_path, file)
    frame = dg.open(str(case.file)).attach(str(case.state))[0].frame(0)
    assert (frame.name, [variable.name for variable in frame.variables()]) == ("f", ["a", "b", "c"])


TEMPLATES = """#include <hip/hip_runtime.h>
template <int N> struct Ring {
  int at;
  template <short STEP> __device__ __attribute__((noinline)) int next() {
    at = at + STEP;
    return at % N;
  }
};
__global__ void k(int *out) { Ring<12> ring = {-1}; out[0] = ring.next<-3>(); }
"""


def test_a_name_may_be_that_of_an_argument_of_a_template(require_tool, tmp_path):
    require_tool("clang-22")
    (path := tmp_path / "ring.hip").write_text(TEMPLATES)
    kernel = dg.launch(str(path), "k", ["zeros(1)"], grid=1, work_group=1)
    kernel.run(until="ring.hip:6")
    frame = kernel[0].frame(0)
    assert [frame[text].value(0) for text in ("N", "STEP", "N + STEP")] == [12, -3, 9]
    with pytest.raises(dg.DwarfGpuError, match="no variable `STEP` in k"):
        kernel[0].frame(1).eval("STEP")
