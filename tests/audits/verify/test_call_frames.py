import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.audits.verify import call_frames
from dwarfgpu.audits.verify.call_frames import CallFrameChecks
from dwarfgpu.audits.verify.expressions import ExpressionChecks
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.audits.verify import seeds_frame_headers, seeds_frames
from tests.builders.frames import FrameBuilder
from tests.builders.hostile import CODE, SIZE, gpu
from tests.builders.seeds import FIXTURES, findings_in

FOLDERS = ("amdgpu", "compilers", "features", "host", "llvm24")
"""The folders of what compilers and linkers have made."""
FILES = sorted(path for folder in FOLDERS for path in (FIXTURES / folder).iterdir() if path.is_file())


@pytest.mark.parametrize("order", ["little", "big"])
def test_a_header_that_is_right_breaks_no_rule(order: str) -> None:
    def right(rows: list[tuple[int, int]]) -> bytes:
        return seeds_frame_headers.header(rows, order=order)

    assert findings_in(seeds_frame_headers.made(right, order=order)) == []


@pytest.mark.parametrize("encoding", [0xFF, 0x3B])
def test_a_header_may_have_no_table(encoding: int) -> None:
    def without(_rows: list[tuple[int, int]]) -> bytes:
        return seeds_frame_headers.header([], count=0xFF, table=encoding)

    assert findings_in(seeds_frame_headers.made(without)) == []


def test_a_broken_entry_is_not_reported_for_its_row_again() -> None:
    data = seeds_frame_headers.made(seeds_frame_headers.header)
    broken = data.replace(b"\1\0\1\x78", b"\7\0\1\x78")  # the version of the CIE
    assert broken != data
    assert {finding.rule.name for finding in findings_in(broken)} == {"frame-version"}


@pytest.mark.parametrize(
    "rules, fields",
    [
        ("advance_loc 1; def_cfa_offset 24; offset 3 2; offset 6 3", {}),
        ("advance_loc 3; offset_extended 130 2", {"code": b"\xd5\x10\x50"}),  # push %r16
        ("offset_extended 130 2; advance_loc 3; def_cfa_offset 16", {}),  # saved by the code that jumped here
        ("def_cfa 5 0; offset 3 0; offset 7 6; offset 16 7", {"data": 8, "start": "def_cfa 5 0"}),  # as in longjmp
        ("advance_loc 1; offset 7 1; offset 16 2", {"augmentation": "zS"}),  # the system saves all registers
    ],
)
def test_registers_are_saved_anywhere_else(rules: str, fields: dict[str, Any]) -> None:
    """Beside each other on the stack, in a buffer that any register leads to, or by the system."""
    assert findings_in(seeds_frames.on_host(rules, **fields)) == []


DAMAGED = (
    ("asm/cfi.gfx90a.w64.co", ".debug_frame"),               ("asm/host.x86_64", ".eh_frame"),
    ("asm/host.x86_64", ".eh_frame_hdr"),                    ("host/frames.gcc.O2.v5.x86_64", ".eh_frame"),
    ("llvm24/hip-calls.gfx90a.w64.O0.co", ".debug_frame"))  # fmt: skip


@pytest.mark.parametrize("name, section", DAMAGED)
def test_any_damage_gives_findings_and_no_error(name: str, section: str) -> None:
    data = (FIXTURES / name).read_bytes()
    place = open_image(data, name=name).section(section)
    assert place is not None
    chance = random.Random(f"{name} {section}")
    for count in (1, 1, 1, 1, 4, 4, 40, 400):
        damaged = bytearray(data)
        for _ in range(count):
            at = place.offset + chance.randrange(place.size)
            damaged[at] = chance.choice((0, 0xFF, damaged[at] ^ 1, damaged[at] ^ 0x80, chance.randrange(256)))
        file = CodeObject(open_image(bytes(damaged), name="damaged"))
        list(CallFrameChecks(file, ExpressionChecks(file)).problems())


WHOLE = (
    *("asm/cfi.gfx90a.w64.co", "asm/host.x86_64", "asm/lists.gfx90a.w64.co", "features/debug-names.v5.co"),
    *("host/split.gcc.v5.dwo", "asm/types.powerpc64"),
)


@pytest.mark.parametrize("name", WHOLE)
def test_damage_anywhere_in_a_file_gives_findings_and_no_error(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    chance = random.Random(name)
    for count in (1, 4, 40, 400):
        damaged = bytearray(data)
        for _ in range(count):
            damaged[chance.randrange(len(data))] = chance.choice((0, 0xFF, chance.randrange(256)))
        with suppress(DwarfGpuError):  # the file may be none any more
            findings_in(bytes(damaged))


def test_entries_that_share_a_cie_with_many_rules_are_checked_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the entries is another, and begins with all the rules: their number is that of the bytes, squared."""
    builder = FrameBuilder()
    rules = "; ".join(f"same_value {2560 + number}" for number in range(200))
    cie = builder.cie(f"{seeds_frames.CFA}; {rules}", code=4, data=4)
    for number in range(20):
        builder.fde(cie, CODE + 4 * number, 4 if number < 19 else SIZE - 76, f"undefined {2560 + number}")
    data = gpu(sections={".debug_frame": builder.data})
    assert findings_in(data) == []
    monkeypatch.setattr(call_frames, "MIN_RULES", -call_frames.RULES_OF_BYTE * len(builder.data) + 1000)
    (finding,) = findings_in(data)
    assert finding.rule.name == "frame-unreadable"
    assert "the rows of further entries are not checked" in finding.message


@pytest.mark.parametrize("path", FILES[::9], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_remembered_of_a_program_changes_no_finding(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problems() -> list[tuple[object, ...]]:
        file = opened(str(path), None)
        checks = CallFrameChecks(file, ExpressionChecks(file))
        return [(each.rule.name, each.message, each.section, each.offset) for each in checks.problems()]

    before = problems()
    monkeypatch.setattr(call_frames, "MAX_KNOWN", 0)
    assert problems() == before
