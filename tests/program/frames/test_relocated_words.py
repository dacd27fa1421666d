import subprocess

from tests.builders.commands import run

SOURCE = """
__constant int x = 7;
__constant int *__constant pp = &x;
kernel void k(global int *o, int i) { *o = ((__constant int *__constant *)&pp)[i] ? *pp : x; }
"""


def test_a_pointer_of_a_file_has_the_address_that_the_loader_gives_it(require_tool, tmp_path):
    """The addend of R_AMDGPU_RELATIVE64 is in .rela.dyn, and the word itself is 0 in the file."""
    (tmp_path / "k.cl").write_text(SOURCE)
    words = [require_tool("clang-22"), "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib", "-g"]
    subprocess.run([*words, "-O1", "k.cl", "-o", "k.co"], cwd=tmp_path, check=True, capture_output=True)
    shown = subprocess.run(
        [require_tool("llvm-readelf-22"), "-r", "k.co"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    (addend,) = [int(line.split()[-1], 16) for line in shown.splitlines() if "R_AMDGPU_RELATIVE64" in line]
    lines = run("eval", str(tmp_path / "k.co"), "pp", "*pp").stdout.splitlines()
    assert lines == [f"pp = (int *) {addend:#x} <x>", "*pp = 7"]


HIP = """
__attribute__((device)) int counter = 42, zeroed[2];
__attribute__((device)) int *inside = &counter;
__attribute__((device, visibility("default"))) int *open = &zeroed[1];
__attribute__((device, visibility("default"))) int **opened = &open;
__attribute__((global)) void k(int *o) { *o = *inside + *open + **opened + counter; counter = 3; }
"""


def test_variables_of_the_device_have_the_values_of_the_file(require_tool, tmp_path):
    (tmp_path / "k.hip").write_text(HIP)
    words = ["-x", "hip", "--offload-device-only", "-nogpuinc", "-nogpulib", "--no-gpu-bundle-output"]
    words = [require_tool("clang-22"), *words, "--offload-arch=gfx1030", "-O1", "-g", "k.hip", "-o", "k.co"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    names = ["counter", "zeroed", "*inside", "*open", "**opened"]
    lines = run("eval", str(tmp_path / "k.co"), *names).stdout.splitlines()
    assert lines[:5] == ["counter = 42", "zeroed = {0, 0}", "*inside = 42", "*open = 0", "**opened = 0"]


def test_words_of_a_host_program_that_other_files_define(require_tool, tmp_path):
    source = "extern void free(void *); extern char **environ; int x; void *both[2] = {&x, (void *)free};"
    (tmp_path / "h.c").write_text(source + "int main(void) { return environ == both[1]; }")
    subprocess.run([require_tool("gcc"), "-g", "-no-pie", "h.c", "-o", "h"], cwd=tmp_path, check=True)
    shown = run("eval", str(tmp_path / "h"), "both").stdout
    assert "<x>, <error: the loader sets what is at 0x" in shown
    assert "R_X86_64_64 needs `free" in shown
