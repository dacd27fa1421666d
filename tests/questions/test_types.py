"""``ptype`` and ``whatis``; test_data_gdb compares them with gdb."""

import subprocess

import pytest

from tests.builders.parameters import for_each
from tests.questions.harness import Run

CLASSES = "fixtures/host/classes.gcc.O0.v5.x86_64"


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
