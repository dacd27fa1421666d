"""Files with one defect each, for the checks of files, and what the checks find in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dwarfgpu.objfile.elf.image import open_image
from dwarfgpu.program.code.code_object import CodeObject
from dwarfgpu.verification.file_check import FileCheck

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.verification.findings import FileFinding


class Seed(NamedTuple):
    """One defect: the rule that finds it, what it is in a few words, and what makes the file."""

    rule: str
    name: str
    make: Callable[[], bytes]

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.name}"


def findings_in(data: bytes) -> list[FileFinding]:
    """Return what is found in a file."""
    return list(FileCheck(CodeObject(open_image(data, name="seed"))))
