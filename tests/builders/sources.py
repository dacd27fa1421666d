"""Programs in C, C++ and OpenCL C, and a way to compile them."""

import subprocess
from pathlib import Path
from typing import Any

from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.objfile.section_source import ImageSections

C = """
struct S { int a; unsigned b:3; int c:5; struct S *next; double d[4]; };
enum E { A = -1, B = 200, C = 70000 };
typedef int (*fn)(struct S *, enum E);
static const char msg[] = "hello";
_Thread_local int tls = 4;
static inline int inl(int x) { static int hits; hits++; return x * 3; }
int global_var = 5;
extern int external_one;
union U { long long l; float f; };
int f(int a, union U u, enum E e) {
  struct S s = {a};
  for (int i = 0; i < a; i++) { int j = i * 2; s.a += j + inl(i) + msg[i]; }
  return s.a + u.f + e + tls + external_one;
}
volatile unsigned long big = 0xfedcba9876543210;
_Complex double cd;
void variadic(const char *fmt, ...) { lab: if (fmt) goto lab; }
int main(int argc, char **argv) {
  int vla[argc];
  vla[0] = f(argc, (union U){1}, B);
  fn p = 0;
  return p ? vla[0] : global_var;
}
"""
CXX = """
namespace ns {
struct Base { virtual ~Base(); int base; static int count; };
int Base::count = 3;
template <class T, int N> struct Box : Base { T value[N]; T get(int i) const; enum class Kind : short { one, two }; };
template <class T, int N> T Box<T, N>::get(int i) const { return value[i]; }
namespace { int hidden = 4; int secret(int x) { return x + hidden; } }
inline namespace v1 { int versioned(int x) { static int calls; return calls++ + x; } }
}
struct Outer { struct Inner { int deep; }; Inner in; int method(int Inner::*m) &&; };
int Outer::method(int Inner::*m) && { return in.*m; }
template <class... Ts> int pack(Ts... ts) { return sizeof...(ts); }
int operator+(const Outer &a, int b) { auto lambda = [&](int c) { return c + b; }; return lambda(a.in.deep); }
ns::Box<float, 3> box;
extern "C" int entry(int n) {
  using namespace ns;
  auto k = ns::Box<float, 3>::Kind::one;
  return box.get(n) + secret(n) + versioned(n) + pack(1, 2.0, 'c') + (Outer{} + n) + int(k);
}
"""
OPENCL = """
typedef struct { int a; float b; } S;
int helper(global int *p, int n) { int l[4]; for (int i = 0; i < 4; i++) l[i] = p[i] * n; return l[n & 3]; }
kernel void k(global int *out, local int *lds, S s) { lds[0] = helper(out, s.a); out[0] = lds[0]; }
"""
SOURCES = {"c": C, "cpp": CXX, "cl": OPENCL}


def compile_source(
    folder: Path, compiler: str, options: list[str], language: str = "c", name: str = "unit", *, link: bool = False
) -> Path:
    """Compile one of the sources; returns the object file, or a shared library."""
    source = folder / f"{name}.{language}"
    source.write_text(SOURCES[language], "utf-8")
    out = folder / (f"{name}.so" if link else f"{name}.o")
    if language == "cl":
        target = "-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -Xclang -finclude-default-header"
        options = [*target.split(), *options]
    command = [compiler, *options, *(["-shared", "-fPIC"] if link else ["-c"]), source.name, "-o", out.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return out


def opened(path: Path, **options: Any) -> Dwarf:
    """The debugging information of a file. Split files are looked for beside it."""

    def open_split(wanted: Any) -> ImageSections | None:
        found = path.parent / wanted.name
        return ImageSections(open_image(found)) if found.exists() else None

    return Dwarf(ImageSections(open_image(path)), open_split=open_split, **options)


def with_split_files(path: Path) -> list[Path]:
    """A file, and the split files that its units name."""
    named = [unit.split_name for unit in opened(path).units if unit.is_skeleton]
    return [path, *dict.fromkeys(path.parent / name for name in named if name is not None)]
