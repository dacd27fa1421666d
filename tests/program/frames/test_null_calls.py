"""A call through a null pointer: nothing of the function was executed, so the caller's registers are all there."""

import re
import subprocess

import pytest

from tests.builders.commands import run

BODY = "{\n  int x = a * 3;\n  int y = x + 1;\n  return chosen(y) + x;\n}\n"
HOST = f"""typedef int (*function)(int);
volatile function chosen = 0;
int caller(int a) {BODY}
int main(int argc, char **argv) {{
  int m = argc + 4;
  return caller(m);
}}
"""
HIP = f"""#include <hip/hip_runtime.h>
typedef int (*function)(int);
__device__ function chosen;
__device__ __attribute__((noinline)) int caller(int a) {BODY}
extern "C" __global__ void outer(int *out) {{
  int m = threadIdx.x + 5;
  out[threadIdx.x] = caller(m);
}}
"""
QUESTIONS = [word for text in ("bt", "up", "p x", "p y", "p a", "up", "p m") for word in ("-ex", text)]


def values(shown):
    return re.findall(r"(?m)^\$\d+ = (.*)$", shown)


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_variables_of_a_kernel(require_tool, tmp_path, target):
    require_tool("clang-22")
    path = tmp_path / "calls.hip"
    path.write_text(HIP)
    launched = f"{path}@{target}", "outer", "--grid=4", "--work-group=4", "out=zeros(4)"
    done = run("debug", *launched, "-batch", "-ex", "continue", *QUESTIONS)
    assert values(done.stdout) == ["15", "16", "5", "5"]
    assert "optimized out" not in done.stdout


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_frames_and_variables_of_a_host_program_are_those_of_gdb(require_tool, tmp_path, level):
    source, program, core = (tmp_path / name for name in ("calls.c", "calls", "core"))
    source.write_text(HOST)
    subprocess.run([require_tool("gcc"), level, "-fno-inline", "-g", "-o", str(program), str(source)], check=True)
    names = "x", "y", "$rsp", "$rbx", "$rdi"
    asked = [word for text in ("up", *(f"p/x {name}" for name in names)) for word in ("-ex", text)]
    words = [require_tool("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "run"]
    words += ["-ex", f"generate-core-file {core}", *asked, str(program)]
    theirs = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    own = run("debug", str(program), "--state", str(core), "-batch", "-ex", "bt", *asked).stdout
    assert values(own) == values(theirs)
    assert re.search(r"(?m)^#1  0x\w+ in caller \(", own)
