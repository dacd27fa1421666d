"""`$dwarfgpu` in the languages of GDB: their strings differ, and one has none."""

from __future__ import annotations

import subprocess

import pytest

from tests.gdb.running import run_gdb

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
    words = [word for command in commands for word in ("-ex", command)]
    text = run_gdb(require_tool, *words, program=program)
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
