"""Entries that are selected by name are those that a walk over all entries finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.audits.dump.entries import EntryDump, EntrySelection, ShownUnit
from dwarfgpu.objfile.indexes.lookup import Index
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.render.dump import entry_json

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
FILES = (
    "asm/forms.gfx90a.w64.co",
    "asm/lane-pc.gfx90a.w64.co",
    "asm/types-legacy.gfx90a.w64.co",
    "amdgpu/hip-two-units.gfx90a.w64.O2.v5.co",
    "host/classes.clang.O2.v5.x86_64",
    "host/classes.gcc.O2.v5.x86_64",
    "host/debug-names.clang.v5.x86_64",
)


def selected(path: Path, **selection: Any) -> list[Any]:
    dump = EntryDump(opened(str(path)), EntrySelection(**selection))
    return [entry_json(item) for item in dump if not isinstance(item, ShownUnit)]


def walked(monkeypatch: pytest.MonkeyPatch, path: Path, **selection: Any) -> list[Any]:
    def all_of_them(self: Index, _names: object) -> Iterator[tuple[Any, None]]:
        yield from ((unit, None) for unit in self.units)

    with monkeypatch.context() as patch:
        patch.setattr(Index, "entries_with", all_of_them)
        return selected(path, **selection)


@pytest.mark.parametrize("name", FILES)
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
