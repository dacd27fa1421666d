"""The kernels of the tests, compiled for a processor."""

import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def build(require_tool, tmp_path_factory):
    clang, folder, known = require_tool("clang-22"), tmp_path_factory.mktemp("compiled"), {}

    def build(processor, level):
        path = str(folder / f"{processor}.{level}.co")
        if path not in known:
            words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -{level} -g -w -nogpulib -include"
            own = str(Path(__file__).with_name("loops.cl"))
            files = [str(FOLDER / "kernels.h"), "-include", own, str(FOLDER / "kernels.cl"), "-o", path]
            subprocess.run([clang, *words.split(), *files], check=True, capture_output=True)
            known[path] = True
        return path

    return build
