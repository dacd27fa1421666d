"""Products, calls and references by which a small file asks for very much, and names and sizes that cannot be.

Each is asked about in a process with limits of time, memory and output, and must end with an answer or with one line.
"""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.program.code.code_object import opened
from tests.builders.dwarf import build, die, entry, unit
from tests.builders.elf import ElfBuilder
from tests.builders.frames import cfa
from tests.builders.hostile import GFX90A, Case, bounded, gpu, member, ops, typed, variable
from tests.builders.parameters import for_each, some_slow
from tests.hostile.test_constructions import budget_is_named, checked, one_line


def offsets_of(data: bytes) -> dict[str | None, int]:
    """The offsets in their unit of the entries of a file, by name."""
    return {entry.name: entry.offset for entry in opened(data).dwarf.units[0].dies()}


@pytest.mark.parametrize("words", [("--json",), ("--jsonl", "--lane", "all"), ("--lane", "3")])
@pytest.mark.sampled(6)
def test_parts_of_a_location_times_lanes_are_paid_from_the_budget(tmp_path: Path, words: tuple[str, ...]) -> None:
    structure = entry("structure_type", "S", ("byte_size", "udata", 1 << 16), member("m", "int"), label="S")
    register = "DW_OP_regx v0; DW_OP_LLVM_extend 32 65536"
    case = Case(tmp_path, gpu(variable("a", "S", register), types=[structure]))
    outcome = checked(case("eval", "a", "--location", *words))
    if "--json" in words:
        budget_is_named(outcome)
        assert json.loads(outcome.out)["answers"]


@pytest.mark.slow
def test_elements_that_fail_in_every_lane_are_paid_from_the_budget(tmp_path: Path) -> None:
    counts = (2, 2, 2, 2, 1 << 24)
    array = die("array_type", typed("int"), *(die("subrange_type", ("count", "udata", count)) for count in counts),
                label="big")  # fmt: skip
    names = [f"v{number}" for number in range(40)]
    case = Case(tmp_path, gpu(*(variable(name, "big", "DW_OP_regx s1") for name in names), types=[array]))
    budget_is_named(checked(case("locals")))
    budget_is_named(checked(case("locals", "--json")))
    checked(case.debug("info locals", "bt -full", "print v1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    some_slow(["remember_state", "remember_state; restore_state", "nop; advance_loc 0"], quick=["remember_state"]),
)
def test_instructions_of_one_byte_are_paid_from_the_budget(tmp_path: Path, rules: str) -> None:
    case = Case(tmp_path, gpu(variable("a"), rules=cfa("def_cfa 64 0") + cfa(rules) * 400_000))
    assert "budget of" in checked(bounded("cfi", case.file)).text
    checked(bounded("cfi", case.file, "--json"))
    checked(bounded("cfi", case.file, "--pc", "0x1010"))
    assert "budget of" in checked(case("bt", "--registers")).text
    checked(case.debug("info frame", "up", "verify", "maint print cfi"))


def test_values_at_entry_in_each_other(tmp_path: Path) -> None:
    data = b"\x30"
    for _ in range(1000):
        data = b"\xa3" + encode_unsigned(len(data)) + data
    case = Case(tmp_path, gpu(variable("a", location=data)))
    assert "computed from the value of a parameter at the" in checked(case("locals", "--lane", "1")).out
    checked(bounded("dump", case.file))
    checked(bounded("verify", case.file))
    checked(bounded("eval", "--hex", data.hex(), "--trace"))
    checked(case.debug("explain a", "info address a", "info scope k", f"maint disasm {data.hex()}"))


def calls(count: int, last: str) -> tuple[Any, ...]:
    """Variables that each call the next one twice; the last has a location of its own, or calls the first."""
    offsets = [0] * count
    for _ in range(2):  # the offsets are known when the entries are written once
        blocks = [b"\x98" + offset.to_bytes(2, "little") for offset in (*offsets[1:], offsets[0])]
        locations = [block * 2 for block in blocks[:-1]] + [ops(last) if last else blocks[-1]]
        made = tuple(
            entry("variable", f"v{number}", type="int", location=data) for number, data in enumerate(locations)
        )
        known = offsets_of(gpu(*made))
        offsets = [known[f"v{number}"] for number in range(count)]
    return made


@for_each("count, last",
    (1, "DW_OP_lit1"), (1, "DW_OP_regx v0"), (1, ""), (15, "DW_OP_regx v0"), (30, ""),
     *(pytest.param(30, last, marks=pytest.mark.slow) for last in ("DW_OP_lit1", "DW_OP_regx v0")))  # fmt: skip
@pytest.mark.sampled(6)
def test_expressions_that_call_each_other(tmp_path: Path, count: int, last: str) -> None:
    case = Case(tmp_path, gpu(*calls(count, last)))
    outcome = checked(case("locals", "--lane", "1"))
    if count > 1:
        assert ("49 deep" if not last else "operations were executed") in " ".join(outcome.out.split())
    checked(case("eval", "v0", "--trace", "--json"))
    checked(case("verify"))
    checked(case.debug("explain v0", "info scope k", "print &v0", "print -all v0"))


def test_pointers_to_variables_that_point_to_each_other(tmp_path: Path) -> None:
    pointer = entry("pointer_type", type="int", byte_size=8, label="p")
    plain = tuple(variable(f"v{number}", "p", b"\xa0" + bytes(4) + b"\0") for number in range(3))
    known = offsets_of(gpu(*plain, types=[pointer]))
    offsets = [known[f"v{(number + 1) % 3}"] for number in range(3)]
    circle = [variable(f"v{number}", "p", b"\xa0" + offset.to_bytes(4, "little") + b"\0")
              for number, offset in enumerate(offsets)]  # fmt: skip
    case = Case(tmp_path, gpu(*circle, types=[pointer]))
    checked(case("locals"))
    checked(case("eval", "v0", "--json", "--location"))
    checked(case.debug("print *v0", "print **(int ***)v0", "explain v0", "print v0 == v1", "x v0", "print $"))


@pytest.mark.parametrize("size", [100, 1 << 28, 1 << 60, (1 << 64) - 1])
@pytest.mark.parametrize(
    "section",
    some_slow([".debug_info", ".debug_str", ".debug_line", ".debug_abbrev"], quick=[".debug_info", ".debug_line"]),
)
@pytest.mark.sampled(8)
def test_sections_that_claim_to_be_large_when_they_are_unpacked(tmp_path: Path, section: str, size: int) -> None:
    packed = zlib.compress(bytes(1 << 24), 9)
    head = (1).to_bytes(4, "little") + bytes(4) + size.to_bytes(8, "little") + (1).to_bytes(8, "little")
    elf = ElfBuilder(flags=GFX90A)
    for name, data in build(unit(entry("compile_unit", "a"))).sections.items():
        if name != section:
            elf.section(name, data)
    elf.section(section, head + packed, flags=0x800)
    file = tmp_path / "packed.co"
    file.write_bytes(elf.build())
    for words in (("info",), ("dump",), ("dump", "--section", "all"), ("verify",), ("kernels",)):
        checked(bounded(words[0], file, *words[1:]))


@pytest.mark.parametrize("name", ["n" * 300, "x" * 5000, "a\0b", "nowhere/x", "/dev/full/x", "\x1b[31m/x"])
@pytest.mark.sampled(6)
def test_files_whose_names_no_system_has(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case(tmp_path, gpu(variable("a")))
    before = sorted(tmp_path.iterdir())
    lines = (
        *(f"save snapshot {name}", f"save snapshot {name}.dgs", f"generate-core-file -gpu {name}", f"file {name}"),
        *(f"core-file {name}", f"source {name}", f"target snapshot {name}"),
    )
    outcome = checked(case.debug(*lines, f"set logging file {name}", "set logging enabled on", "show version"))
    assert outcome.err.count("dwarfgpu: error: ") >= len(lines)
    for words in (("snapshot", "convert", case.state, name), ("info", name)):
        one_line(bounded(*words))
    one_line(case("eval", "a", "--npz", name))
    one_line(bounded("locals", case.file, "--state", name))
    assert sorted(tmp_path.iterdir()) == before
