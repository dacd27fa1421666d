"""The numbers of ``llvm-dwarfdump --statistics`` against the program itself, and against the sums of this package."""

import json
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.audits.coverage.dwarfdump_statistics import VERSION, statistics
from dwarfgpu.program.code.code_object import opened
from tests.builders.dwarf import die
from tests.builders.hostile import CODE, SIZE, gpu, named, ops, typed, variable
from tests.builders.lists import loclist
from tests.builders.parameters import for_each, some_slow

FIXTURES = Path("fixtures")
NOT_READ = {
    "features/plain.v6.co": "it does not read version 6",
    "features/split.v4.co": "it looks for split units in the current folder",
    "features/split.v4.o": "as above",
    "features/split.v5.co": "as above",
    "features/split.v5.o": "as above",
    "host/split.gcc.v4.x86_64": "as above",
    "host/split.gcc.v5.x86_64": "as above",
    "features/stripped.v5.co": "it does not look for the file with the debugging information",
    "host/stripped.gcc.x86_64": "as above",
    "host/zdebug.gcc.v4.x86_64": "it does not read the sections compressed in the way of GNU",
    "features/zdebug.v4.co": "as above",
    "host/optimized.clang.O0.v5.x32.o": "it does not apply the relocations of x32, so that names are those at offset 0",
}
"""The fixtures that llvm-dwarfdump reads otherwise than dwarfgpu, and why."""
SEVERAL_UNITS = ("host/types.gcc.v5.x86_64", "features/types.v5.co")
"""Fixtures with copies of abstract instances behind the first unit, whose variables llvm-dwarfdump does not find."""
OF_COPIES = ("processed by location statistics", "with 0% of parent scope")
SAMPLES = (
    *("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "amdgpu/cl-kernels.gfx1030.w32.O0.v5.co"),
    *("amdgpu/hip-two-units.gfx90a.w64.O2.v5.co", "compilers/cl.clang13.gfx803.w64.O0.v5.hsa2.co"),
    *("compilers/hip.clang19.gfx1100.w32.O2.v5.co", "llvm24/hip-calls.gfx942.w64.O2.co"),
    *("host/optimized.gcc.O2.v5.x86_64", "host/classes.clang.O2.v5.x86_64", "features/types.v5.co"))  # fmt: skip
FOLDERS = ("amdgpu", "compilers", "llvm24", "host", "asm", "features")
EVERY = [f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((FIXTURES / folder).iterdir())]


def compare(tool: str, path: Path, *, is_known: str = "") -> None:
    done = subprocess.run([tool, "--statistics", str(path)], capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        pytest.skip(f"llvm-dwarfdump: {done.stderr[:100]}")
    theirs = json.loads(done.stdout)
    if theirs["version"] != VERSION:
        pytest.skip(f"llvm-dwarfdump counts by version {theirs['version']} of the definitions")
    ours = statistics(opened(str(path)))
    different = {name: (number, theirs.get(name)) for name, number in ours.items() if theirs.get(name) != number}
    if is_known in SEVERAL_UNITS:
        assert different
        assert all(any(words in name for words in OF_COPIES) for name in different), different
    else:
        assert different == {}


@pytest.mark.parametrize("name", some_slow([name for name in EVERY if name not in NOT_READ], quick=SAMPLES))
def test_the_numbers_are_those_of_llvm_dwarfdump(name, require_tool):
    compare(require_tool("llvm-dwarfdump-22", "llvm-dwarfdump"), FIXTURES / name, is_known=name)


@pytest.mark.parametrize("name", ["amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "host/optimized.clang.O2.v5.x86_64"])
def test_sums_and_statistics_agree_where_nothing_is_undefined(name):
    file = opened(str(FIXTURES / name))
    numbers = statistics(file)
    # the statistics know nothing of the bytes of variables that a copy lacks, and call each location covered
    own = [record for record in FileAvailability(file) if record.scope and record.reason != "not in this copy"]
    said = {"undefined", "empty expression", "ill-formed"}
    assert sum(record.size for record in own) == numbers["sum_all_variables(#bytes in parent scope)"]
    assert (
        sum(record.located + sum(count for reason, count in record.missing if reason in said) for record in own)
        == numbers["sum_all_variables(#bytes in parent scope covered by DW_AT_location)"]
    )


@for_each("locals,extra",
    # entries that overlap count twice, and so the scope is covered by more than it has
    (
        [die("variable", named("x"), typed("int"), ("location", "sec_offset", 0))],
        loclist(("start_end", CODE, CODE + 0x20, "50"), ("start_end", CODE, CODE + 0x30, "51"), ("end_of_list",)),
    ),
    # a block without code lends a list nothing
    (
        [die("lexical_block", die("variable", named("x"), typed("int"), ("location", "sec_offset", 0)))],
        loclist(("start_end", CODE, CODE + 0x20, "50"), ("end_of_list",)),
    ),
    ([variable("x", location=b"")], b""),
    ([variable("x", location=ops("DW_OP_entry_value 50; DW_OP_stack_value"))], b""),
    ([die("variable", named("x"), typed("int"), ("const_value", "data1", 1))], b""),
    ([die("variable", named("x"), ("artificial", "flag_present"), typed("int"))], b""),
    ([die("formal_parameter", named("x")), die("formal_parameter", named("x"))], b""))  # fmt: skip
def test_single_rules_of_the_definitions(locals, extra, tmp_path, require_tool):
    path = tmp_path / "built.co"
    path.write_bytes(gpu(*locals, extra={".debug_loclists": extra} if extra else None))
    compare(require_tool("llvm-dwarfdump-22", "llvm-dwarfdump"), path)
    assert statistics(opened(str(path)))["#bytes within functions"] == SIZE
