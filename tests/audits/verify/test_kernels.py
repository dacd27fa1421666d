import random
import struct
from pathlib import Path

import pytest

from dwarfgpu.audits.verify.code_objects import ENTRY_IDIOM, SGPR_IDIOM, KernelChecks
from dwarfgpu.audits.verify.reports import check_file
from dwarfgpu.objfile.elf.notes import NT_AMD_HSA_METADATA
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.audits.verify import seeds_kernels
from tests.builders.folders import FIXTURES
from tests.builders.parameters import in_one_test
from tests.builders.seeds import findings_in

FOLDERS = ("amdgpu", "compilers", "features", "llvm24")
"""The folders of what compilers and linkers have made."""
FILES = sorted(path for folder in FOLDERS for path in (FIXTURES / folder).iterdir() if path.is_file())
IDIOMS = {
    "kernel-sgpr-blocks": (SGPR_IDIOM, ("clang13", "clang14", "clang16", "clang19")),
    "kernel-file-entry": (ENTRY_IDIOM, ("clang13",)),
}
"""What producers are known to write: the rule, the idiom, and the names of those that do."""


def test_the_file_that_the_cases_change_has_no_finding() -> None:
    assert findings_in(seeds_kernels.made()) == []
    for name in (seeds_kernels.V2, seeds_kernels.V3, seeds_kernels.V6):
        assert findings_in((FIXTURES / name).read_bytes()) == []


@in_one_test("path", FILES)
def test_what_compilers_write_breaks_no_rule(path: Path) -> None:
    for problem in KernelChecks(opened(str(path), None)).problems():
        idiom, producers = IDIOMS.get(problem.rule.name, (None, ()))
        assert problem.idiom_name is not None, (problem.rule.name, problem.message)
        assert problem.idiom_name == idiom
        assert path.name.split(".")[1] in producers


def test_a_kernel_of_code_object_v1_has_no_metadata() -> None:
    """CLRX writes such files; since version 2 metadata is required."""
    data = (FIXTURES / "asm" / "clrx.gfx801.co").read_bytes()
    place = data.index(b"AMD\0") + 4  # behind the owner of the first note, which has the version
    assert struct.unpack_from("<II", data, place) == (1, 0)
    later = data[:place] + struct.pack("<II", 2, 1) + data[place + 8 :]
    for content, expected in ((data, []), (later, ["kernel-undescribed"])):
        problems = list(KernelChecks(CodeObject(open_image(content, name="k.co"))).problems())
        assert [problem.rule.name for problem in problems] == expected


def test_a_descriptor_and_a_kernel_that_are_not_linked_have_no_addresses_to_compare() -> None:
    """Each section of a relocatable file begins at 0; a relocation leads to the kernel."""
    data = seeds_kernels.made(type=1, offset=0, rows=(("k.kd", 0, 64, 1, 1, 1), ("k", 0, 64, 2, 1, 2)))
    assert [problem.rule.name for problem in KernelChecks(CodeObject(open_image(data, name="k.o"))).problems()] == []


def test_other_files_are_not_checked() -> None:
    for name in ("host.x86_64", "operations.powerpc64"):
        assert list(KernelChecks(opened(str(FIXTURES / "asm" / name), None)).problems()) == []


def test_a_problem_says_where_the_field_is() -> None:
    (finding,) = findings_in(seeds_kernels.made(private=16))
    assert finding.place == ".rodata+0x4"
    (finding,) = findings_in(seeds_kernels.made(({**seeds_kernels.KERNEL, ".kernarg_segment_align": 3},)))
    assert finding.section == ".note"


@pytest.mark.parametrize("name", [seeds_kernels.V2, seeds_kernels.V3, seeds_kernels.V6, "features/plain.v6.co"])
def test_any_damage_gives_findings_and_no_error(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    chance = random.Random(name)
    for section in [open_image(data, name=name).section(part) for part in (".note", ".rodata", ".text", ".symtab")]:
        if section is None:
            continue
        for _ in range(30):
            damaged = bytearray(data)
            for _ in range(chance.choice((1, 4, 40))):
                damaged[section.offset + chance.randrange(section.size)] = chance.choice(
                    (0, 255, chance.randrange(256))
                )
            list(KernelChecks(CodeObject(open_image(bytes(damaged), name="damaged"))).problems())


def test_code_object_v1_has_no_metadata_and_names_processors_in_its_own_way() -> None:
    """Version 1 has no metadata, and its gfx804 is gfx803 (AMDGPU usage, "Code Object V2 to V3 Target ID")."""
    data = bytearray((FIXTURES / "asm/code-object-v2.gfx803.co").read_bytes())
    image = open_image(bytes(data), name="k.co")
    kernel = CodeObject(image).kernels.kernels[0].symbol
    struct.pack_into("<H", data, kernel.section.offset + kernel.value - kernel.section.address + 14, 4)
    for note in [note for note in image.notes() if note.owner == "AMD"]:
        (section,) = image.sections_named(note.place)
        start = section.offset + note.offset
        if note.type == 1:  # the version of the code object
            struct.pack_into("<I", data, start + 16, 1)
        elif note.type == NT_AMD_HSA_METADATA:
            struct.pack_into("<I", data, start + 8, 77)
    found = [finding.rule.name for finding in check_file(CodeObject(open_image(bytes(data), name="k.co"))).findings]
    assert found == []
