"""Files with one defect each, for the checks of files, and what the checks find in them."""

from collections.abc import Callable
from typing import NamedTuple

from dwarfgpu.audits.verify.file_check import FileCheck
from dwarfgpu.audits.verify.findings import FileFinding
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.builders.folders import FIXTURES


class Seed(NamedTuple):
    """One defect: the rule that finds it, what it is in a few words, and what makes the file."""

    rule: str
    name: str
    make: Callable[[], bytes]

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.name}"


LINELESS = ("line-no-table", "line-gap")
"""The rules that most of these files break: they have code, and no lines, or few."""


def findings_in(data: bytes, rule: str | None = None) -> list[FileFinding]:
    """Return what is found in a file that is to break a rule. That it lacks lines counts only for the rules of it."""
    ignored = tuple(name for name in LINELESS if name != rule)
    return list(FileCheck(CodeObject(open_image(data, name="seed")), ignored=ignored))


def patched(path: str, name: str, attribute: str, value: bytes, *, tag: str = "") -> bytes:
    """Return a fixture in which an attribute of the entry with a name begins with other bytes."""
    file = opened(str(FIXTURES / path))
    for unit in file.dwarf.units:
        for die in unit.dies():
            index = next((i for i, each in enumerate(die.attributes) if each.name == attribute), -1)
            if die.name == name and die.tag_name.endswith(tag) and index >= 0:
                section = file.image.section(unit.section)
                assert section is not None
                start = section.offset + unit.offset + unit.positions(die)[index][0]
                data = (FIXTURES / path).read_bytes()
                return data[:start] + value + data[start + len(value) :]
    raise AssertionError(name)
