"""The sums of a file against the numbers of ``llvm-dwarfdump --statistics``, where both count the same."""

import json
import subprocess

import pytest

from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.program.code.code_object import opened
from tests.builders.folders import FIXTURES

FILES = (
    *("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "amdgpu/cl-kernels.gfx1030.w32.O0.v5.co"),
    *("amdgpu/hip-two-units.gfx90a.w64.O2.v5.co", "compilers/cl.clang13.gfx803.w64.O0.v5.hsa2.co"),
    *("compilers/hip.clang19.gfx1100.w32.O2.v5.co", "llvm24/hip-calls.gfx942.w64.O2.co"),
    *("host/optimized.gcc.O2.v5.x86_64", "host/optimized.clang.O2.v5.x86_64"),
    "host/classes.clang.O2.v5.x86_64",
)
COVERED_THERE = {"undefined", "empty expression", "ill-formed"}
"""What is a location for llvm-dwarfdump, and none for `coverage`."""


@pytest.mark.parametrize("name", FILES)
def test_scopes_and_locations_have_as_many_bytes(name, require_tool):
    path = str(FIXTURES / name)
    command = [require_tool("llvm-dwarfdump-22", "llvm-dwarfdump"), "--statistics", path]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    own = [each for each in FileAvailability(opened(path)) if each.scope and each.reason != "not in this copy"]
    covered = sum(each.located + sum(n for reason, n in each.missing if reason in COVERED_THERE) for each in own)
    assert [sum(each.size for each in own), covered] == [
        theirs["sum_all_variables(#bytes in parent scope)"],
        theirs["sum_all_variables(#bytes in parent scope covered by DW_AT_location)"],
    ]
