"""Variables compared with those of a program of the host, which stock GDB reads."""

import json
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.questions.judging import ONE_GROUP
from tests.builders.commands import ROOT, run

HERE = Path(__file__).parent
SOURCE = ROOT / "fixtures" / "src" / "opencl" / "kernels.cl"
GPU = str(ROOT / "fixtures" / "amdgpu" / "cl-kernels.{}.v5.co")
MAIN = """
#include <stdlib.h>
extern unsigned dwarfgpu_local_id[3], dwarfgpu_group_id[3];
void divergent(int *out, int limit);
int main(int count, char **words) {
  int *out = calloc(64, sizeof(int));
  for (int i = 0; i < ITEMS; ++i) {
    dwarfgpu_local_id[0] = i;
    divergent(out, 20);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def host(require_tool, tmp_path_factory):
    """The kernels of OpenCL as a shared object of the host."""
    require_tool("gdb")
    path = tmp_path_factory.mktemp("host") / "kernels.so"
    compiled(require_tool("clang-22"), path, "-fPIC", "-shared")
    return str(path)


def compiled(clang, path, *words):
    options = ["-x", "cl", "-cl-std=CL2.0", "-target", "x86_64-pc-linux-gnu", "-g", "-O0", "-w", "-Xclang",
               "-finclude-default-header", "-include", str(HERE / "work_items.h")]  # fmt: skip
    subprocess.run([clang, *options, *words, str(SOURCE), "-o", str(path)], check=True, capture_output=True)


def judged(gpu, kernel, other, *args, size="24"):
    words = ("judge", GPU.format(gpu), kernel, "--grid", size, "--work-group", size, *args, "--against", other)
    done = run(*words, "--json")
    document, err = json.loads(done.stdout), done.stderr
    found = [finding for finding in document["findings"] if finding["rule"].startswith("against")]
    return document["against"], found, err


ARGS = {
    "saxpy": ("zeros(24)", "arange(24)", "2", "20"),
    "divergent": ("zeros(64)", "20"),
    "records": ("random(4096,u1,7)", "zeros(1024,u1)", "null", "random(64,f2,3)", "random(256,f4,5)", "3")}  # fmt: skip
QUICK = (("gfx1100.w32.O0", "saxpy"), ("gfx1100.w32.O0", "divergent"), ("gfx90a.w64.O0", "records"))


@pytest.mark.parametrize(
    "gpu, kernel",
    [pytest.param(gpu, kernel, marks=() if (gpu, kernel) in QUICK else pytest.mark.slow)
     for kernel in ARGS for gpu in ("gfx1100.w32.O0", "gfx90a.w64.O0")])  # fmt: skip
def test_code_that_is_not_optimized_has_the_values_of_the_host(host, gpu, kernel):
    against, found, err = judged(gpu, kernel, host, *ARGS[kernel])
    assert found == []
    assert err == f"hint: {ONE_GROUP}\n"
    assert against["aligned"] == against["stops"]
    assert against["total"]["right"] > 500
    assert against["total"]["wrong"] == against["total"]["missing"] == 0
    assert {variable["function"] for variable in against["variables"]} >= {kernel}


def test_what_optimized_code_has_lost_is_missing(host):
    against, found, _err = judged("gfx1100.w32.O2", "saxpy", host, "zeros(24)", "arange(24)", "2", "20")
    assert against["total"]["correctness"] == 1
    assert 0 < against["total"]["availability"] < 0.5
    assert {finding["rule"] for finding in found} == {"against-missing", "against-line"}
    first = next(variable["first_missing"] for variable in against["variables"] if variable["name"] == "n")
    assert (first["line"], first["lane"], first["other"]) == (76, 0, "20")


@pytest.fixture
def executable(require_tool, tmp_path):
    require_tool("gdb")
    clang = require_tool("clang-22")

    def build(items):
        compiled(clang, tmp_path / "kernels.o", "-fPIC", "-c")
        (tmp_path / "main.c").write_text(MAIN)
        path = tmp_path / "program"
        words = [f"-DITEMS={items}", "-g", str(tmp_path / "main.c"), str(tmp_path / "kernels.o"), "-o", str(path)]
        subprocess.run([clang, *words], check=True)
        return str(path)

    return build


@pytest.mark.slow
def test_executables_run_and_have_work_items(executable):
    against, found, err = judged("gfx1100.w32.O0", "divergent", executable(24), "zeros(64)", "20")
    assert (found, err) == ([], f"hint: {ONE_GROUP}\n")
    assert against["aligned"] == against["stops"]
    assert against["total"]["right"] > 1000
    against, _found, err = judged("gfx1100.w32.O0", "divergent", executable(3), "zeros(64)", "20")
    assert "program: it has called the kernel 3 times, not 24" in err
    assert 0 < against["aligned"] < against["stops"]


def test_an_object_that_cannot_be_loaded_is_told(require_tool, tmp_path):
    require_tool("gdb")
    path = tmp_path / "kernels.so"
    compiled(require_tool("clang-22"), path, "-fPIC", "-shared", "-nostdlib", "-Wl,-z,lazy")
    against, found, err = judged("gfx1100.w32.O0", "saxpy", str(path), "zeros(24)", "arange(24)", "2", "20")
    assert "kernels.so: it was not loaded: OSError" in err
    assert against["aligned"] == 0
    assert found == []


def test_a_build_without_debugging_information_is_refused(require_tool, tmp_path):
    (tmp_path / "plain.c").write_text("void saxpy(void) {}\n")
    path = tmp_path / "plain.so"
    words = ["-target", "x86_64-pc-linux-gnu", "-shared", "-fPIC", str(tmp_path / "plain.c"), "-o", str(path)]
    subprocess.run([require_tool("clang-22"), *words], check=True)
    words = ("judge", GPU.format("gfx1100.w32.O0"), "saxpy", "--grid", "24", "--work-group", "24")
    done = run(*words, "zeros(24)", "ones(24)", "2", "20", "--against", str(path))
    assert done.returncode == 2
    assert "plain.so has no debugging information" in done.stderr


def test_the_page_has_the_header_that_is_used_here():
    assert (HERE / "work_items.h").read_text().partition("\n")[2] in (ROOT / "docs" / "judge.md").read_text()
