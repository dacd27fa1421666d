"""Processes that live in a debugger, without one: files that are opened when somebody asks, wherever they are."""

from pathlib import Path
from typing import Any

import pytest

import dwarfgpu as dg
from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.records import LoadedFile
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.frames.names import Names
from tests.builders.parameters import for_each
from tests.machines.test_conformance import ProcessOfMachine

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
LOAD = 0x7F0000000000
COPY = 0x7E0000000000
"""Where the memory has a copy of the whole file."""


class Process(ProcessOfMachine):
    """A process whose files can be said."""

    def __init__(self, machine: Any, *files: LoadedFile) -> None:
        ProcessOfMachine.__init__(self, machine)
        self.loaded = list(files)
        self.listed = 0

    def files(self) -> list[LoadedFile]:
        self.listed += 1
        return self.loaded


def machine() -> dg.Machine:
    found = dg.load_snapshot(STATE)
    found.memory.map(found.target.default_space, COPY, Path(FILE).read_bytes())
    return found


def place(name: str = FILE, **changes: Any) -> LoadedFile:
    text: Any = open_image(FILE).section(".text")
    start = LOAD + text.address
    facts = {"debug": None, "code": ((start, start + text.size),), "section": ".text", "start": start}
    return LoadedFile(name, **{**facts, **changes})


def attach(process: Process, program: dg.Program | None = None) -> dg.Attached:
    backend = GdbBackend(process.machine.target, process)
    return (program or dg.open(FILE)).attach(backend)


SIZE = Path(FILE).stat().st_size


@for_each(
    "name",
    FILE,
    f"file://{Path(FILE).resolve()}",
    f"memory://17#offset={COPY:#x}&size={SIZE}",
    f"system-supplied DSO at {COPY:#x}",
)
def test_code_is_read_from_where_it_is(name):
    expected = dg.open(FILE).attach(STATE)[0].frame(0)
    found = attach(Process(machine(), place(name)))
    frame = found[0].frame(0)
    assert (frame.name, frame.pc) == (expected.name, expected.pc)
    for variable in expected.variables():
        assert frame[variable.name].values().array.tolist() == variable.values().array.tolist()
    assert found.problems == ()


@for_each("wrong, kind",
    (place("/nowhere/at/all"), "unreadable"),
    (place(section=".other"), "other_file"),
    (place("memory://17#size=5"), "bad_uri"),
    (place(f"memory://17#offset={COPY:#x}&size=0"), "code"),
    (place("memory://17#offset=0x100&size=64"), "memory_unavailable"),
    (place(f"memory://17#offset={COPY + 4:#x}&size=4096"), "not_elf"),
    (place("system-supplied DSO at 0x100"), "memory_unavailable"))  # fmt: skip
def test_a_file_that_cannot_be_opened_is_as_if_it_were_not_there(wrong, kind):
    found = attach(Process(machine(), wrong))
    assert found.problems == ()  # nobody has asked for it
    frame = found[0].frame(0)
    assert frame.function is None
    assert len(found.problems) == 1
    assert found.problems[0].kind == kind
    assert frame.state.loaded.at(frame.pc) is None
    assert len(found.problems) == 1
    with pytest.raises(dg.DwarfGpuError, match="no file with code of the process can be opened"):
        frame.around(frame.lane(0))


def test_files_are_kept_as_long_as_they_stay_the_same(tmp_path):
    copy = tmp_path / "copy.co"
    copy.write_bytes(Path(FILE).read_bytes())
    program = dg.open(FILE)
    process = Process(
        machine(), place(str(copy)), place(f"memory://17#offset={COPY:#x}&size={SIZE}", start=1, code=((1, 2),))
    )
    first = attach(process, program)
    assert first[0].frame(0)["even"].value(4) == 18
    loaded = first.state.loaded
    assert [code.is_open for code in loaded.all_codes] == [True, False]
    second = attach(process, program)
    assert second.state.loaded is loaded
    assert (second.state.types, second.state.part(Names)) == (first.state.types, first.state.part(Names))
    assert process.listed == 1
    process.file_changes += 1  # something was loaded, but no file of it: code in memory may be other code
    third = attach(process, program)
    assert process.listed == 2
    assert third.state.loaded.all_codes[0] is loaded.all_codes[0]
    assert third.state.loaded.all_codes[1] is not loaded.all_codes[1]
    copy.write_bytes(Path(FILE).read_bytes() + b"built anew")
    process.file_changes += 1
    fourth = attach(process, program)
    assert fourth.state.loaded.all_codes[0] is not loaded.all_codes[0]
    assert fourth[0].frame(0)["even"].value(4) == 18


def test_the_files_as_a_sequence():
    codes = attach(Process(machine(), place("/nowhere"), place(), place(code=((1, 2),)))).state.loaded.codes
    assert [code.file.name for code in codes] == [FILE, FILE]
    assert (len(codes), codes[-1].file.name, [each.file.name for each in codes[0:1]]) == (2, FILE, [FILE])
    assert repr(codes[0]) == f"LiveCode({FILE})"
    with pytest.raises(AttributeError):
        codes[0].__nothing__  # noqa: B018


def test_the_debug_file_is_the_one_that_is_said(tmp_path):
    stripped, debug = "fixtures/features/stripped.v5.co", Path("fixtures/features/stripped.v5.debug")
    (tmp_path / "stripped.co").write_bytes(Path(stripped).read_bytes())
    (tmp_path / "away").write_bytes(debug.read_bytes())
    text: Any = open_image(stripped).section(".text")
    where = LoadedFile(
        str(tmp_path / "stripped.co"), str(tmp_path / "away"), ((text.address, text.address + text.size),), ".text",
        text.address)  # fmt: skip
    found = dg.open(str(tmp_path / "stripped.co"))
    code = attach(Process(machine(), where), found).state.loaded.at(text.address)
    assert code.file.has_dwarf
    assert code.file.debug.name == str(tmp_path / "away")


def test_host_programs_may_use_operations_of_the_extension():
    """As its dialect does; in everything else DWARF 5 holds."""
    from attrs import evolve

    from dwarfgpu.expr.rules import DWARF5
    from dwarfgpu.states.gdb_process import rules_of

    rules = rules_of(dg.target("x86_64"))
    assert not rules.location_ends_expression
    assert evolve(rules, location_ends_expression=True) == DWARF5
    assert rules_of(dg.target("gfx90a")) == dg.AMD
