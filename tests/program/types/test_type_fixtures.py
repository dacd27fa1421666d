"""The types of fixtures/src/asm/types.s: every variable reads as its DW_AT_description says, in both byte orders."""

import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from dwarfgpu.expr.context import Context
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import LoadedCode
from dwarfgpu.program.types.model import Array, Base, Struct
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import ObjectSurroundings, variable_place
from dwarfgpu.render.values import Look, ValueWriter, value_text
from tests.builders.programs import Dumped

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "asm"
FILES = {
    "types.x86_64": "llvm-user",
    "types.powerpc64": "llvm-user",
    "types.gfx90a.w64.co": "llvm-user",
    "types-legacy.gfx90a.w64.co": "llvm-legacy",
}
RELATIVE = 13  # R_AMDGPU_RELATIVE64
NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


def loaded(path: Path) -> Dumped:
    """The sections of a file at their addresses, with the relocations that need no symbol applied."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        stretches = {
            each["sh_addr"]: bytearray(each.data())
            for each in elf.iter_sections()
            if each["sh_flags"] & 2 and each["sh_type"] != "SHT_NOBITS"
        }
        for section in elf.iter_sections():
            if section["sh_type"] != "SHT_RELA":
                continue
            for each in section.iter_relocations():
                if each["r_info_type"] == RELATIVE:
                    for start, data in stretches.items():
                        at = each["r_offset"] - start
                        if 0 <= at < len(data):
                            data[at : at + 8] = each["r_addend"].to_bytes(8, "little")
    return Dumped([(start, bytes(data)) for start, data in stretches.items()])


class Fixture:
    def __init__(self, name: str) -> None:
        attributes = "llvm-old" if "legacy" in name else None
        self.file = opened(str(FIXTURES / name), attributes=attributes)
        self.target = self.file.target.target
        context = Context(target=self.target, rules=AMD, backend=loaded(FIXTURES / name), lanes=LaneSet(1, 0, 0))
        self.around = ObjectSurroundings(context, LoadedCode(self.file, dialect=FILES[name]))
        self.types = Types()
        dies = [die for unit in self.file.dwarf.compile_units() for die in unit.dies() if die.tag == 0x34]
        self.variables = {die.name: die for die in dies}
        self.look = Look(space_name=lambda number: getattr(self.target.space(number), "name", None))

    def object(self, name: str) -> Object:
        die = self.variables[name]
        return Object(self.types.type_of(die), variable_place(self.around, die))


@pytest.fixture(scope="module", params=FILES)
def fixture(request):
    return Fixture(request.param)


def described(fixture: Fixture, name: str) -> str:
    """A variable in the words of its description."""
    value = fixture.object(name)
    inner = value.inner
    if name.startswith("in_"):
        return ValueWriter(fixture.look, is_cplus=False).address(value.address, symbol=False)
    if isinstance(inner, Array) or (isinstance(inner, Base) and inner.vector_size):
        return described_array(value)
    if isinstance(inner, Base):
        number = value.number()
        return str(int(number)) if number == int(number) else str(number)
    return value_text(value, fixture.look)


def described_array(value: Object) -> str:
    """``(lower:upper,...) elements``, the first dimension first; a vector has no bounds."""
    found = value.array()
    if found.state is not None:
        return f"<{found.state}>"
    bounds, texts = [], []

    def walk(each: Object, depth: int) -> None:
        if not isinstance(each.inner, Array) and not (isinstance(each.inner, Base) and each.inner.vector_size):
            number = each.number()
            texts.append(f"{number:g}" if isinstance(number, float) else str(number))
            return
        parts = each.array()
        if len(bounds) == depth:
            bounds.append(f"{parts.lower}:{parts.lower + parts.length - 1}")
        for position in range(parts.length):
            walk(parts.at(position), depth + 1)

    walk(value, 0)
    shown = " ".join(texts)
    return shown if found.is_vector or isinstance(value.inner, Base) else f"({','.join(bounds[::-1])}) {shown}"


OTHERWISE = {
    "array_unallocated": "<not associated>",
    "obj2b": "{n = 3, vec2 = {7, 8, 9}}",
    "counted": '"hello"',
    "fixed": '"abcdefgh"',
}
"""Descriptions in other words than the library's."""


def numbers(text: str) -> list[int]:
    return [int(each, 16) if each.startswith("0x") else int(each) for each in NUMBER.findall(text)]


def test_every_variable_reads_as_it_says(fixture):
    wrong = {}
    for name, die in fixture.variables.items():
        wanted = OTHERWISE.get(name) or die.get("DW_AT_description").text().replace("..", ":")
        if fixture.target.space(3) is None:  # such a target has no names for address spaces
            wanted = wanted.replace("local#", "aspace3#").replace("private_lane#", "aspace5#")
            if name in ("in_local", "in_private"):
                continue
        found = described(fixture, name)
        found = re.sub(r"table = 0x\w+, ", "", found)
        if numbers(found) != numbers(wanted) or NUMBER.sub("#", found) != NUMBER.sub("#", wanted):
            wrong[name] = (wanted, found)
    assert not wrong
    assert len(fixture.variables) == 21


def test_pointers_have_their_spaces(fixture):
    """A.2.14: DW_AT_LLVM_memory_space is a number of the language beside the address space."""
    members = {each.name: each.type for each in fixture.object("pointers").inner.body.members}
    assert [each.address_space for each in members.values()] == [0, 3, 5]
    if "legacy" not in fixture.file.name:
        assert [each.memory_space for each in members.values()] == [1, 3, 4]


def test_a_pointer_to_a_member_leads_to_it(fixture):
    derived, pointer = fixture.object("derived"), fixture.object("to_in_derived")
    assert derived.through(pointer).number() == 77


def test_members_are_found_by_name_also_in_a_virtual_base(fixture):
    derived = fixture.object("derived")
    assert derived.member("in_base").number() == 88
    assert isinstance(derived.inner, Struct)
    assert fixture.object("obj2b").member("vec2").element(2).number() == 8
