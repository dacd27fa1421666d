"""``ptype`` and ``whatis``; test_data_gdb compares them with gdb."""

import subprocess

import pytest

from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, Run

CLASSES = "fixtures/host/classes.gcc.O0.v5.x86_64"


@for_each("line, text",
    ("whatis left", "int"),               ("whatis left + 1.5", "double"),      ("whatis slots", "int [4]"),
    ("whatis &slots", "int (*)[4]"),      ("whatis out", "int *"),              ("whatis int *", "int *"),
    ("whatis unused", "int"),             ("whatis $v3", "int [64]"),           ("whatis $v3[1]", "int"),
    ("whatis $pc", "void (*)()"),         ("whatis $nobody", "void"),
    ("whatis local#0", "void *"),
    ("ptype slots", "int [4]"),
    ("ptype unsigned", "unsigned int"),
    ("ptype/o left", "int"))  # fmt: skip
def test_types_of_expressions_and_names(run, line, text):
    assert run(line) == f"type = {text}\n"


def test_nothing_is_assigned_and_the_last_value_has_a_type(run):
    run("whatis left = 5", "ptype $x = 3")
    assert run("print left", "print $x") == "$1 = 0\n$2 = void\n"
    run("print slots")
    assert run("whatis", "ptype") == "type = int [4]\ntype = int [4]\n"


def test_types_and_offsets_without_a_machine():
    run = Run(KERNEL)
    assert run("whatis left", "whatis X::slots", "ptype out") == ("type = int\ntype = int [4]\ntype = int *\n")
    assert "no variable `zork`" in str(run.fails("whatis zork"))
    run = Run(CLASSES)
    assert "/*     12      |       1 */    zoo::Size size;" in run("ptype/o zoo::Animal")
    text = run("ptype/o zoo::Bottom")
    assert text.startswith("/* offset      |    size */  type = struct zoo::Bottom : public zoo::Left")
    assert "/* XXX 16-byte padding   */\n\n" in text
    union = run("ptype/o Value").splitlines()
    assert union[1:4] == [
        "/*                     4 */    int number;",
        "/*                     4 */    float fraction;",
        "/*                     8 */    char *text;",
    ]
    assert run("whatis zoo::Buffer<short, 4>") == "type = zoo::Buffer<short, 4>\n"
    assert "T items[4];" in run("ptype/o zoo::Buffer<short, 4>")


@pytest.mark.slow
@for_each("name",
    *("zoo::Named", "zoo::Dog", "zoo::Bottom", "zoo::Base", "zoo::Left", "zoo::Buffer<short, 4>"),
    *("Fields", "Value"))  # fmt: skip
def test_classes_are_laid_out_as_gdb_has_them(require_tool, name):
    command = [require_tool("gdb"), "-nx", "-batch", "-ex", f"ptype/o {name}", CLASSES]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert Run(CLASSES)(f"ptype/o {name}") == theirs.stdout


@for_each("text, shown",
    ("out", "int *"),  # neither global nor constant memory has a number in the file
    ("l", "local int *"),        ("lc", "local const int * volatile"),
    ("qq", "private int * private *"),                        ("rows", "local int (*)[4]"),
    ("struct S", "struct S {\n    local int *a;\n    lp b;\n}"),
    ("lp", "local float *"),
    ("k", "void (int *, local int *, local const int * volatile, local int (*)[4])"))  # fmt: skip
def test_pointers_of_opencl_have_the_address_space_of_the_file(opencl_types, text, shown):
    assert opencl_types(f"ptype {text}") == f"type = {shown}\n"


@pytest.fixture(scope="module")
def opencl_types(require_tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("opencl")
    (folder / "k.cl").write_text("""
typedef local float *lp;
struct S { local int *a; lp b; };
kernel void k(global int *out, local int *l, local const int *volatile lc, local int (*rows)[4]) {
  struct S s = {l, 0}; private int q = 3; private int *private p = &q; private int *private *qq = &p;
  out[0] = **qq + *lc + rows[0][1] + s.a[0];
}
""")
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL1.2", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100"]
    subprocess.run(
        [*words, "-nogpulib", "-g", "-O0", "k.cl", "-o", "k.co"], cwd=folder, check=True, capture_output=True
    )
    return Run(folder / "k.co")
