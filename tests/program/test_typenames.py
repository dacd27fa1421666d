"""Names of types, in the words of C and C++."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.program.codeobject import opened
from dwarfgpu.program.typenames import TYPES, type_name

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def names(fixture: str) -> set[str]:
    dwarf = opened(str(FIXTURES / fixture)).dwarf
    return {type_name(die) for unit in dwarf.compile_units() for die in unit.dies() if die.tag in TYPES}


@pytest.mark.parametrize(
    "fixture, expected",
    [
        (
            "host/classes.clang.O0.v5.x86_64",
            {
                "int",
                "const zoo::Animal *",
                "zoo::Dog &&",
                "int (zoo::Dog::*)(const zoo::Dog *)",
                "int zoo::Dog::*",
            },
        ),
        (
            "host/values.gcc.O0.v5.x86_64",
            {"int[2][3]", "int (*)(int, int)", "volatile short unsigned int", "Node *", "const char[6]"},
        ),
        ("features/types.v5.co", {"physics::Vec3", "const physics::Vec3 *", "physics::Ring<short, 8>"}),
        ("amdgpu/hip-kernels.gfx90a.w64.O0.v5.co", {"int (*)(int)", "int[64]", "void *"}),
    ],
)
def test_names(fixture, expected):
    assert expected <= names(fixture)


def test_nothing_is_void():
    assert type_name(None) == "void"
    assert type_name(None, "*") == "void *"


_REFERENCE = re.compile(r'^ +DW_AT_type \[DW_FORM_(?:ref\w+)\].*\{(0x[0-9a-f]+)\} "(.*)"\)')
# What llvm-dwarfdump leaves out: the scopes of DWARF 4's types, names of unnamed types, parameters that are `this`, and
# arguments of templates that the producer leaves out of names, which it puts together.
_NO_NAME = re.compile(r"\b(structure|class|union|enumeration|base) ")
_OTHER_WORDS = re.compile(r"\(unnamed |decltype|::\*\)\(|^zoo::Buffer\b|^(const )?Pair|^(const )?Point")


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["host/*.x86_64", "amdgpu/hip-*.co", "features/*.co", "llvm24/*.co"])
def test_names_are_those_of_llvm(pattern, require_tool):
    tool = require_tool("llvm-dwarfdump-22", "llvm-dwarfdump")
    compared, differences = 0, []
    for path in sorted(FIXTURES.glob(pattern)):
        command = [tool, "--verbose", "--debug-info", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
        dwarf = opened(str(path)).dwarf
        for line in text.splitlines():
            match = _REFERENCE.match(line)
            if match is None or _NO_NAME.search(match[2]):
                continue
            name = type_name(dwarf.die_at(int(match[1], 16)))
            compared += 1
            if name != match[2] and not _OTHER_WORDS.search(name) and name.split("::")[-1] not in match[2]:
                differences.append((path.name, match[1], match[2], name))
    assert compared > 100
    assert differences == []
