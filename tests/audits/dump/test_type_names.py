import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.types.declaration import type_name
from dwarfgpu.program.types.reader import TYPES
from tests.builders.dwarf import die, dwarf, unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def names(fixture: str) -> set[str]:
    dwarf = opened(str(FIXTURES / fixture)).dwarf
    return {type_name(die) for unit in dwarf.compile_units() for die in unit.dies() if die.tag in TYPES}


@pytest.mark.parametrize(
    "fixture, expected",
    [
        (
            "host/classes.clang.O0.v5.x86_64",
            {"int", "const zoo::Animal *", "zoo::Dog &&", "int (zoo::Dog::*)(const zoo::Dog *)", "int zoo::Dog::*"},
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


def test_types_without_and_with_themselves_in_their_name():
    assert type_name(None) == "void"
    parameters = [die("formal_parameter", ("type", "ref4", "p")) for _ in range(6)]
    function = die("subroutine_type", *parameters, label="f")
    found = dwarf(unit(die("compile_unit", function, die("pointer_type", ("type", "ref4", "f"), label="p"))))
    name = type_name(next(each for each in found.units[0].dies() if each.tag_name == "DW_TAG_subroutine_type"))
    assert "..." in name
    assert len(name) < 100_000


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


def test_a_bound_is_unsigned_as_its_index_is():
    """GCC writes the bound 255 as one byte, which is no negative number."""
    index = die("base_type", ("encoding", "data1", 7), ("byte_size", "data1", 8), label="index")
    element = die("base_type", ("name", "string", "int"), label="int")
    bounds = die("subrange_type", ("type", "ref4", "index"), ("upper_bound", "data1", 255))
    array = die("array_type", ("type", "ref4", "int"), bounds)
    found = dwarf(unit(die("compile_unit", index, element, array)))
    assert type_name(next(each for each in found.units[0].dies() if each.tag_name == "DW_TAG_array_type")) == "int[256]"


def test_a_type_without_a_name_is_named_by_its_tag():
    nameless = die("structure_type", label="s")
    constant = die("const_type", ("type", "ref4", "s"), label="c")
    pointer = die("pointer_type", ("type", "ref4", "c"), label="p")
    of_pointer = die("const_type", ("type", "ref4", "p"))
    found = dwarf(unit(die("compile_unit", nameless, constant, pointer, of_pointer)))
    names = [type_name(each) for each in found.units[0].dies() if each.tag in TYPES]
    assert names == [
        "(unnamed structure)",
        "const (unnamed structure)",
        "const (unnamed structure) *",
        "const (unnamed structure) *const",
    ]
