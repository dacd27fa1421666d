"""Names of C++ that GDB knows: static members, overloads in quotes, member functions."""

import re
import subprocess

import pytest

from tests.questions.harness import Run
from tests.questions.test_against_gdb import asked

SOURCE = """\
namespace N {
int over(int x) { return x + 1; }
double over(double x) { return x * 2; }
int over(unsigned char a, const char *b) { return a + b[0]; }
int only(int x) { return x; }
}
struct A {
  static int sc; static constexpr int ce = 9; int m = 5;
  int get() const { return m; }
  int get(int k) { return m + k; }
  static int stat(int x) { return x + sc; }
  virtual int virt() { return 1; }
  struct Inner { static long deep; int z; int zed() { return z; } };
  template <class T> T conv(T t) { return t + m; }
};
int A::sc = 42; long A::Inner::deep = 77;
struct B : A { int virt() override { return 2; } int own() { return sc + m; } };
int main() {
  A a; B b; A::Inner in{3};
  N::over(1); N::over(2.0); N::over(1, "a"); N::only(3); a.get(); a.get(1); A::stat(1); in.zed(); b.own(); b.virt();
  a.conv(1); a.conv(2L);
  __builtin_trap();
  return A::ce;
}
"""
LINES = [
    *("print A::sc", "print A::ce", "print &A::sc", "print B::sc", "print b.sc", "print B::ce", "print A::Inner::deep"),
    *(f"print {sign}'N::over({types})'" for sign in ("", "&", "*") for types in ("int", "double")),
    *("print 'N::over(unsigned char, char const*)'", "print 'N::over(unsigned char,const char *)'", "print N::only"),
    *("print 'A::get(int)'", "print 'A::get() const'", "print A::stat", "print B::stat", "print b.virt", "print b.own"),
    *("print in.zed", "print A::Inner::zed", "print 'A::sc'", "ptype 'N::over(double)'", "whatis 'A::get() const'"),
    *("whatis A::sc", "list N::over(double)", "list 'N::over(int)'", "list A::get(int)", "print 'N::over(float)'"),
    *("print 'A::get()'", "print 'A::conv<int>(int)'", "print a.get"),
]
ERRORS = ["print 'N::over(float)'", "print 'A::get()'", "print a.get"]


@pytest.mark.slow
def test_names_are_those_of_gdb(require_tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cpp").write_text(SOURCE)
    command = [require_tool("g++"), "-g", "-gdwarf-5", "-std=c++17", "-no-pie", "-o", "a", "a.cpp"]
    subprocess.run(command, check=True)
    gdb = require_tool("gdb")
    words = [gdb, "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "a"]
    subprocess.run(words, check=True, capture_output=True)
    theirs = asked(gdb, ["a", "core"], LINES, tmp_path)
    run = Run(tmp_path / "a", tmp_path / "core", width=1000)
    for line, expected in zip(LINES, theirs, strict=True):
        if line in ERRORS:
            assert not expected
            run.fails(line)
            continue
        assert plain(run(line)) == plain(expected), line


def plain(text: str) -> str:
    """A value without its number; the return type of an instance of a template is left out by GDB alone."""
    return re.sub(r"^\$\d+ = ", "", text).replace("<int A::conv", "<A::conv")
