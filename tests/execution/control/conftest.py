"""Kernels that clang compiles when a test asks for them."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.builders import kept

HERE = Path(__file__).parent
NAMES = HERE.parents[1] / "execution/kernels.h"


@pytest.fixture(scope="session")
def built(require_tool, tmp_path_factory):
    """``built("gfx90a", "O2")`` is the path of the kernels for a processor."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("running")

    @cache
    def build(processor="gfx1100", level="O0", *more):
        options = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}"]
        words = [clang, *options, "-g", "-w", "-nogpulib", *more, "-include", NAMES, HERE / "kernels.cl"]
        return kept.built(words, folder / f"{'.'.join(('kernels', processor, level, *more))}.co")

    return build


@pytest.fixture(scope="session")
def printing(require_tool, tmp_path_factory):
    """``printing("gfx90a", 5)`` is the path of a kernel that prints, of a version of code objects, or of ``"hip"``."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("printing")

    def call(*words):
        subprocess.run([clang, *words], check=True, capture_output=True, cwd=folder)

    def build(processor, version):
        path = str(folder / f"printing.{processor}.{version}.co")
        if version == "hip":
            call(
                "-x", "hip", "--cuda-device-only", "-target", "x86_64-linux-gnu", f"--offload-arch={processor}", "-O1",
                "-g", "-nogpulib", "-nogpuinc", "-mprintf-kind=buffered", "--no-gpu-bundle-output",
                str(HERE / "printing.hip"), "-o", path)  # fmt: skip
            return path
        target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
        options = [
            "-x", "cl", "-cl-std=CL2.0", "-O1", "-g", "-w", f"-mcode-object-version={version}", "-c",
            f"-DPRINTF_OFFSET={24 if version == 4 else 72}"]  # fmt: skip
        for name in ("printing", "allocate"):
            call(*target, *options, str(HERE / f"{name}.cl"), "-o", f"{name}.{processor}.{version}.o")
        call(*target, *(f"{name}.{processor}.{version}.o" for name in ("printing", "allocate")), "-o", path)
        return path

    return build
