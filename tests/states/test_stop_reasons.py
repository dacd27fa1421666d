"""Why a wave has stopped: it stays with the wave in snapshots, core files and conversions, and is shown everywhere."""

import json
from pathlib import Path

import pytest

from dwarfgpu.errors import MalformedFile
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.gpu_core.layout import FAMILIES, family_of
from dwarfgpu.machines.gpu_core.stop_reasons import flags_of, reasons_of
from dwarfgpu.machines.protocol import REASONS, TRAPS, trap_number
from dwarfgpu.states.core_writing import write_core
from dwarfgpu.states.program import open_core, open_program
from dwarfgpu.states.snapshot_files import convert, save
from tests.builders.commands import run
from tests.builders.errors import raised
from tests.builders.parameters import for_each

FILE = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
CRASH = "docs/examples/crash.core"
OPTIONS = {"grid": "64", "work-group": "64"}


@pytest.fixture(scope="module")
def crashed():
    """Waves of saxpy, of which the second reads behind its buffers."""
    words = ["x=arange(32)", "y=ones(32)", "a=2", "n=4000"]
    running = launched_with(open_program(FILE), "saxpy", words, OPTIONS.get)
    assert running.run().kind == "fault"
    return running.attached.stopped


def test_a_fault_has_its_reason_in_the_form_of_the_documentation(crashed, tmp_path):
    waits, fault = (crashed.wave(index).stop for index in range(2))
    assert (fault.reasons, fault.signal, fault.lanes) == (("MEMORY_VIOLATION",), "SIGSEGV", 0xFFFFFFFF)
    assert f"no memory at {fault.address:#x}" in fault.text
    assert waits is None or not waits.reasons
    assert crashed.crashed == 1
    save(crashed, tmp_path / "s.json")
    wave = json.loads((tmp_path / "s.json").read_text())["waves"][1]
    address = hex(crashed.wave(1).stop.address)
    assert wave["stop"] == {
        "reasons": ["MEMORY_VIOLATION"], "signal": "SIGSEGV", "lanes": "0xffffffff", "address": address,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["one.json", "one.dgs"])
def test_snapshots_keep_it_in_both_forms(crashed, tmp_path, name):
    expected = [crashed.machine.stop_of(wave) for wave in range(2)]
    save(crashed, tmp_path / name)
    loaded = snapshot.load(tmp_path / name)
    assert [loaded.stop_of(wave) for wave in range(2)] == expected
    other = tmp_path / ("two.dgs" if name == "one.json" else "two.json")
    convert(str(tmp_path / name), str(other))
    assert [snapshot.load(other).stop_of(wave) for wave in range(2)] == expected


def test_core_files_keep_it_in_both_directions(crashed, tmp_path):
    write_core(crashed, str(tmp_path / "core.1"))
    opened = open_core(str(tmp_path / "core.1"))
    assert [wave.stop.reasons for wave in opened] == [(), ("MEMORY_VIOLATION",)]
    assert run("snapshot", "convert", str(tmp_path / "core.1"), str(tmp_path / "s.json")).returncode == 0
    assert [stop and stop.reasons for stop in map(snapshot.load(tmp_path / "s.json").stop_of, range(2))] == [
        None, ("MEMORY_VIOLATION",),
    ]  # fmt: skip
    write_core(opened.stopped, str(tmp_path / "core.2"))
    assert [wave.stop.reasons for wave in open_core(str(tmp_path / "core.2"))] == [(), ("MEMORY_VIOLATION",)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_reason_that_registers_can_say_is_read_again(family):
    for reason in REASONS:
        flags, lost = flags_of(family, (reason,))
        read = reasons_of(family, trap_number((reason,), TRAPS), flags)
        is_lost = reason in ("ECC_ERROR", "FATAL_HALT") or (reason == "SINGLE_STEP" and bool(lost))
        assert (read, lost) == (((), (reason,)) if is_lost else ((reason,), ()))


@for_each(
    "version, reason, trap",
    (2, "BREAKPOINT", 7), (2, "DEBUG_TRAP", 3), (2, "TRAP", 4), (3, "BREAKPOINT", 1), (3, "TRAP", 4),
)  # fmt: skip
def test_a_core_file_has_the_numbers_of_traps_of_its_code(version, reason, trap, tmp_path):
    """AMDGPU usage of 2020, "Trap Handler ABI": of code objects up to version 2, s_trap 7 is the breakpoint."""
    data = bytearray(Path("fixtures/asm/lane-pc.gfx90a.w64.co").read_bytes())
    data[8] = version - 2
    (tmp_path / "x.co").write_bytes(data)
    waves = [{"id": "1", "pc": "0x1548", "exec": 1, "dispatch": 1, "work_group": [0, 0, 0], "wave_in_group": 0,
              "stop": {"reasons": [reason]}}]  # fmt: skip
    document = {"schema": 1, "target": "gfx90a", "waves": waves, "dispatches": [{"id": 1}]}
    (tmp_path / "s.json").write_text(json.dumps(document))
    write_core(open_program(str(tmp_path / "x.co")).attach(str(tmp_path / "s.json")).stopped, str(tmp_path / "core.1"))
    stop = open_core(str(tmp_path / "core.1"))[0].stop
    assert (stop.reasons, stop.trap) == ((reason,), trap)


def test_a_core_file_says_which_reason_it_cannot_hold():
    assert flags_of(family_of("gfx90a"), ("FATAL_HALT", "MEMORY_VIOLATION"))[1] == ("FATAL_HALT",)


WHOLE = {"schema": 1, "target": "gfx90a", "waves": [{"stop": {"reasons": ["MEMORY_VIOLATION"]}}]}


@for_each(
    "stop, message",
    ({}, "waves[0].stop: the key 'reasons' is missing"),
    ({"reasons": ["CRASH"]}, "waves[0].stop.reasons[0]: 'CRASH' is not one of"),
    ({"reasons": [], "lanes": 1 << 64}, "waves[0].stop.lanes: "),
    ({"reasons": [], "address": -1}, "waves[0].stop.address: "),
    ({"reasons": ["ILLEGAL_INSTRUCTION"], "signal": "SIGSEGV"}, "waves[0].stop.signal: the signal of these"),
)
def test_a_wrong_reason_is_an_error(stop, message):
    assert message in raised(MalformedFile, snapshot.of_document, {**WHOLE, "waves": [{"stop": stop}]}).message


def test_unknown_keys_are_warnings_and_the_rest_is_read():
    waves = [{"stop": {"reasons": ["TRAP"], "lane": 3}, "registesr": {}, "pc": 8}]
    machine = snapshot.of_document({**WHOLE, "waves": waves, "extra": 1})
    assert machine.stop_of(0).reasons == ("TRAP",)
    assert machine.program_counter(0) == 8
    assert [(warning.message, warning.hint) for warning in machine.warnings] == [
        ("snapshot: extra: this key is not known", machine.warnings[0].hint),
        ("snapshot: waves[0].registesr: this key is not known", "did you mean 'registers'?"),
        ("snapshot: waves[0].stop.lane: this key is not known", "did you mean 'lanes'?"),
    ]


SHOWN = [
    (("waves",), "3   16/64  MEMORY_VIOLATION AMDGPU Wave 1:1:1:3"),
    (("bt", "--wave", "3"), "[Stop reason: MEMORY_VIOLATION]\n#0"),
    (("bt",), "Wave 3 (1:1:1:3):\n[Stop reason: MEMORY_VIOLATION]"),
    (("lanes", "--wave", "3"), "[Stop reason: MEMORY_VIOLATION]"),
    (("report",), "MEMORY_VIOLATION (SIGSEGV)"),
    (("debug", "--batch", "-ex", "wave find MEMORY_VIOLATION"), "Wave 3 has"),
    (("debug", "--batch", "-ex", "info threads"), "* 3   16/64  MEMORY_VIOLATION"),
    (("debug", "--batch"), "Program terminated with signal SIGSEGV, Segmentation fault."),
]


@pytest.mark.parametrize("words, text", SHOWN, ids=lambda each: " ".join(each) if isinstance(each, tuple) else "")
def test_it_is_shown(words, text):
    assert text in run(*words, "--state", CRASH).stdout


@pytest.mark.parametrize("command, rows", [("waves", "waves"), ("bt", "stacks"), ("lanes", "lanes")])
def test_it_is_data(command, rows):
    wave = () if rows == "waves" else ("--wave", "3")
    text = json.dumps(json.loads(run(command, *wave, "--json", "--state", CRASH).stdout))
    assert '"stop": {"reasons": ["MEMORY_VIOLATION"], "signal": "SIGSEGV"}' in text


def test_waves_are_the_same_rows_as_text_and_as_data(tmp_path):
    """Waves at the places A, B and A are three rows in both."""
    waves = [{"id": str(index), "pc": pc, "exec": 1} for index, pc in enumerate((0x1540, 0x1548, 0x1540))]
    path = tmp_path / "places.json"
    path.write_text(json.dumps({"schema": 1, "target": "gfx90a", "waves": waves}))
    words = ("waves", "fixtures/asm/lane-pc.gfx90a.w64.co", "--state", str(path))
    assert [row["waves"] for row in json.loads(run(*words, "--json").stdout)["waves"]] == [["0"], ["1"], ["2"]]
    assert run(*words).stdout.count("AMDGPU Wave") == 3
