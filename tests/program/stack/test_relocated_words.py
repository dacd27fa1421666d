"""Words that a loader sets, in a file that has not been loaded."""

from __future__ import annotations

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
