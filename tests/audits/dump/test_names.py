import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.audits.dump.entries import EntryDump, EntrySelection, ShownUnit
from dwarfgpu.objfile.indexes.lookup import Index
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.types.declaration import type_name
from dwarfgpu.program.types.reader import TYPES
from dwarfgpu.render.dump import entry_json
from tests.builders.dwarf import die, dwarf, unit
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each, some_slow


def names(fixture: str) -> set[str]:
    dwarf = opened(str(FIXTURES / fixture)).dwarf
    return {type_name(die) for unit in dwarf.compile_units() for die in unit.dies() if die.tag in TYPES}


@for_each("fixture, expected",
    (
        "host/classes.clang.O0.v5.x86_64",
        {"int", "const zoo::Animal *", "zoo::Dog &&", "int (zoo::Dog::*)(const zoo::Dog *)", "int zoo::Dog::*"},
    ),
    (
        "host/values.gcc.O0.v5.x86_64",
        {"int[2][3]", "int (*)(int, int)", "volatile short unsigned int", "Node *", "const char[6]"},
    ),
    ("features/types.v5.co", {"physics::Vec3", "const physics::Vec3 *", "physics::Ring<short, 8>"}),
    ("amdgpu/hip-kernels.gfx90a.w64.O0.v5.co", {"int (*)(int)", "int[64]", "void *"}))  # fmt: skip
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
    found = dwarf(unit(die("compile_unit", index, element, die("array_type", ("type", "ref4", "int"), bounds))))
    assert type_name(next(each for each in found.units[0].dies() if each.tag_name == "DW_TAG_array_type")) == "int[256]"


def test_a_type_without_a_name_is_named_by_its_tag():
    nameless = die("structure_type", label="s")
    constant = die("const_type", ("type", "ref4", "s"), label="c")
    pointer = die("pointer_type", ("type", "ref4", "c"), label="p")
    found = dwarf(unit(die("compile_unit", nameless, constant, pointer, die("const_type", ("type", "ref4", "p")))))
    assert [type_name(each) for each in found.units[0].dies() if each.tag in TYPES] == [
        "(unnamed structure)",
        "const (unnamed structure)",
        "const (unnamed structure) *",
        "const (unnamed structure) *const",
    ]


FILES = (
    *("asm/forms.gfx90a.w64.co", "asm/lane-pc.gfx90a.w64.co", "asm/types-legacy.gfx90a.w64.co"),
    *("amdgpu/hip-two-units.gfx90a.w64.O2.v5.co", "host/classes.clang.O2.v5.x86_64"),
    *("host/classes.gcc.O2.v5.x86_64", "host/debug-names.clang.v5.x86_64"))  # fmt: skip


def selected(path: Path, **selection: Any) -> list[Any]:
    dump = EntryDump(opened(str(path)), EntrySelection(**selection))
    return [entry_json(item) for item in dump if not isinstance(item, ShownUnit)]


def walked(monkeypatch: pytest.MonkeyPatch, path: Path, **selection: Any) -> list[Any]:
    def all_of_them(self: Index, _names: object) -> Iterator[tuple[Any, None]]:
        yield from ((unit, None) for unit in self.units)

    with monkeypatch.context() as patch:
        patch.setattr(Index, "entries_with", all_of_them)
        return selected(path, **selection)


@pytest.mark.parametrize("name", some_slow(FILES, quick=FILES[::3]))
def test_entries_by_name_are_those_of_a_walk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = FIXTURES / name
    dwarf = opened(str(path)).dwarf
    names = sorted({die.name for unit in dwarf.compile_units() for die, _depth in unit.root.walk() if die.name})
    assert names
    for chosen in names[:: max(1, len(names) // 40)]:
        assert selected(path, names=(chosen,)) == walked(monkeypatch, path, names=(chosen,)), chosen
    two = (names[0], names[-1])
    assert selected(path, names=two) == walked(monkeypatch, path, names=two)
    assert selected(path, names=two, depth=1) == walked(monkeypatch, path, names=two, depth=1)


def test_only_the_entry_with_the_name_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "dwarfgpu.audits.dump.entries._root", lambda _unit: pytest.fail("all entries of a unit are walked")
    )
    assert selected(FIXTURES / "asm/lane-pc.gfx90a.w64.co", names=("X",))[0]["tag"] == "DW_TAG_subprogram"
