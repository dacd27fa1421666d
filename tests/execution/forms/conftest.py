"""The kernels of the tests, compiled for a processor."""

from functools import cache
from pathlib import Path

import pytest

from tests.builders import kept

OWN = Path(__file__).with_name("loops.cl")
FOLDER = OWN.parents[1]


@pytest.fixture(scope="session")
def build(require_tool, tmp_path_factory):
    clang, folder = require_tool("clang-22"), tmp_path_factory.mktemp("compiled")

    @cache
    def build(processor, level):
        words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -{level} -g -w -nogpulib -include"
        files = [FOLDER / "kernels.h", "-include", OWN, FOLDER / "kernels.cl"]
        return kept.built([clang, *words.split(), *files], folder / f"{processor}.{level}.co")

    return build
