"""`$dwarfgpu` in the languages of GDB: their strings differ, and one has none."""

import subprocess

import pytest

import dwarfgpu
from dwarfgpu.render.values import value_text
from tests.gdb.running import run_gdb, typed

C = "int main(void)\n{\n  int counter = 7;\n  return counter;\n}\n"
RUST = """
struct Pair { a: i32, b: f64 }
#[inline(never)]
fn show(n: i32, p: &Pair) -> i32 {
    let twice = n * 2;
    println!("{} {}", twice, p.b);
    twice + p.a
}
fn main() { std::process::exit(show(4, &Pair { a: 3, b: 1.5 })); }
"""
FORTRAN = """
program main
  integer :: counter, values(3)
  counter = 7
  values = (/ 4, 5, 6 /)
  call show(counter, values)
contains
  subroutine show(n, v)
    integer :: n, v(3), twice
    twice = 2 * n
    print *, twice, v(2)
  end subroutine
end program
"""


def shown(require_tool, program, *commands: str) -> list[str]:
    text = run_gdb(require_tool, *typed(*commands), program=program)
    assert "Traceback" not in text, text
    return [line.partition(" = ")[2] for line in text.splitlines() if line.startswith("$")]


@pytest.mark.slow
def test_every_language_of_gdb(require_tool, tmp_path):
    (tmp_path / "a.c").write_text(C)
    subprocess.run([require_tool("gcc"), "-g", "-O0", tmp_path / "a.c", "-o", tmp_path / "a"], check=True)
    languages = ("ada", "asm", "c", "c++", "d", "fortran", "go", "minimal", "objective-c", "opencl", "rust")
    commands = ["break 4", "run"]
    for language in languages:
        quote = "'" if language == "fortran" else '"'
        commands += [f"set language {language}", f"print $dwarfgpu({quote}counter{quote})"]
    commands += ["set language modula-2", 'with language c -- print $dwarfgpu("counter")']
    assert shown(require_tool, tmp_path / "a", *commands) == ["7"] * (len(languages) + 1)


@pytest.mark.slow
def test_a_program_of_rust(require_tool, tmp_path):
    (tmp_path / "a.rs").write_text(RUST)
    words = [require_tool("rustc"), "-g", "-o", str(tmp_path / "a"), str(tmp_path / "a.rs")]
    subprocess.run(words, check=True, cwd=tmp_path)
    commands = ("break a.rs:6", "run", 'print $dwarfgpu("twice")', 'print *$dwarfgpu("p")', 'print $dwarfgpu("n") + 1')
    assert shown(require_tool, tmp_path / "a", *commands) == ["8", "a::Pair {a: 3, b: 1.5}", "5"]


@pytest.mark.slow
def test_a_program_of_fortran(require_tool, tmp_path):
    (tmp_path / "a.f90").write_text(FORTRAN)
    subprocess.run([require_tool("gfortran"), "-g", tmp_path / "a.f90", "-o", tmp_path / "a"], check=True, cwd=tmp_path)
    commands = ("break 11", "run", *(f"print $dwarfgpu('{text}')" for text in ("n", "twice", "n + twice")))
    assert shown(require_tool, tmp_path / "a", *commands) == ["7", "14", "21"]


NEGATIVE = """
program p
  integer, target :: a(6) = [1, 2, 3, 4, 5, 6], m(3, 4)
  integer, pointer :: back(:), every(:), cross(:, :)
  integer :: i
  do i = 1, 12
    m(mod(i - 1, 3) + 1, (i - 1) / 3 + 1) = i
  end do
  back => a(6:1:-1)
  every => a(5:1:-2)
  cross => m(3:1:-1, 4:1:-2)
  print *, sum(back) + sum(every) + sum(cross)
end program
"""
ENTRY = """
volatile int sink;
__attribute__((noinline)) double leaf(double d, int n) { sink = n; return d > 1 ? n : 2 * n; }
__attribute__((noinline)) double mid(double v, float w, int k) {
  double r = leaf(v * k, k);
  sink = 2;
  return r + k + sink;
}
int main(int argc, char **argv) { return (int)mid(2.5, 1.5f, argc); }
"""
GLOBALS = """
volatile int counter = 7;
int main(void) {
  return counter; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "tool, name, text, options, line, expected",
    [
        ("gfortran", "a.f90", NEGATIVE, ["-O0"], 12, {"back": "{6, 5, 4, 3, 2, 1}", "every": "{5, 3, 1}",
                                                      "cross": "{{12, 11, 10}, {6, 5, 4}}"}),
        ("gcc", "a.c", ENTRY, ["-O2"], 6, {"v": "2.5", "w": "1.5", "k": "1"}),
        ("gcc", "a.c", GLOBALS, ["-O1", "-flto"], 4, {"counter": "7"}),
    ],
    ids=["negative strides", "entry values in floating-point registers", "global variables with -flto"],
)  # fmt: skip
def test_core_files_of_what_gcc_writes(require_tool, tmp_path, tool, name, text, options, line, expected):
    (tmp_path / name).write_text(text)
    subprocess.run([require_tool(tool), "-g", *options, name, "-o", "a"], check=True, cwd=tmp_path)
    core = tmp_path / "core"
    run_gdb(require_tool, *typed(f"break {name}:{line}; run; gcore {core}"), program=tmp_path / "a")
    frame = dwarfgpu.open(tmp_path / "a").attach(core)[0].frame()
    assert {text: value_text(frame[text].object()) for text in expected} == expected
