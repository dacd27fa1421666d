"""Why a wave has stopped: it stays with the wave in snapshots, core files and conversions, and is shown everywhere."""

import json
import re
import shlex
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
from tests.builders.parameters import few_or_all, for_each

FILE = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
OPTIONS = {"grid": "64", "work-group": "64"}


@pytest.fixture(scope="module")
def crashed():
    """Waves of saxpy, of which the second reads behind its buffers."""
    running = launched_with(open_program(FILE), "saxpy", ["x=arange(32)", "y=ones(32)", "a=2", "n=4000"], OPTIONS.get)
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
        "reasons": ["MEMORY_VIOLATION"], "signal": "SIGSEGV", "lanes": "0xffffffff", "address": address}  # fmt: skip


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
        None, ("MEMORY_VIOLATION",)]  # fmt: skip
    write_core(opened.stopped, str(tmp_path / "core.2"))
    assert [wave.stop.reasons for wave in open_core(str(tmp_path / "core.2"))] == [(), ("MEMORY_VIOLATION",)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_reason_that_registers_can_say_is_read_again(family):
    for reason in REASONS:
        flags, lost = flags_of(family, (reason,))
        read = reasons_of(family, trap_number((reason,), TRAPS), flags)
        is_lost = reason in ("ECC_ERROR", "FATAL_HALT") or (reason == "SINGLE_STEP" and bool(lost))
        assert (read, lost) == (((), (reason,)) if is_lost else ((reason,), ()))


@for_each("version, reason, trap",
    (2, "BREAKPOINT", 7), (2, "DEBUG_TRAP", 3), (2, "TRAP", 4), (3, "BREAKPOINT", 1), (3, "TRAP", 4))  # fmt: skip
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


STATES = """
run.json    run FILE saxpy x=arange(32) y=ones(32) a=2 n=4000 --grid 64 --work-group 64 --state @run.json
saved.dgs   debug FILE --state @run.json --batch -ex 'save snapshot @saved.dgs'
one.json    snapshot convert @saved.dgs @one.json
one.core    debug FILE --state @one.json --batch -ex 'gcore @one.core'
core.dgs    snapshot convert @one.core @core.dgs
two.core    debug FILE --state @core.dgs --batch -ex 'gcore @two.core'
"""
"""States of one crash, each made of the one before."""
SHOWN = """
waves            | 2  32/32  MEMORY_VIOLATION AMDGPU Wave 1:1:1:2
bt               | Stop reason of wave 2: MEMORY_VIOLATION
bt --wave 2      | [Stop reason: MEMORY_VIOLATION
lanes            | wave 2 has stopped with MEMORY_VIOLATION
lanes --wave 2   | [Stop reason: MEMORY_VIOLATION
report           | <main id="content" * <section * Why waves stopped</h2> * MEMORY_VIOLATION * Kernels</h2>
debug --batch    | Program terminated with signal SIGSEGV, Segmentation fault.
debug --batch -ex bt                           | [Stop reason: MEMORY_VIOLATION
debug --batch -ex 'info fault'                 | saxpy (y=0x * at src/opencl/kernels.cl:78: MEMORY_VIOLATION (SIGSEGV
debug --batch -ex 'info threads'               | Frame * 2  32/32  MEMORY_VIOLATION * 1  32/32
debug --batch -ex 'wave find MEMORY_VIOLATION' | Wave 2 has
waves --json          | "waves": [ { "waves": [ "1:1:1:2" ] * "stop": { "reasons": [ "MEMORY_VIOLATION" ]
bt --json             | "stop": { "reasons": [ "MEMORY_VIOLATION" ], "signal": "SIGSEGV"
lanes --wave 2 --json | "stop": { "reasons": [ "MEMORY_VIOLATION" ], "signal": "SIGSEGV"
"""
"""The commands that show the reason, and what they write; ``*`` is anything."""


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    for line in STATES.split("\n")[1:-1]:
        words = shlex.split(line.replace("FILE", FILE).replace("@", f"{folder}/"))
        run(*words[1:])
    return [folder / line.split()[0] for line in STATES.split("\n")[1:-1]]


@for_each("words, text", *(line.split(" | ") for line in SHOWN.split("\n")[1:-1]))
@few_or_all(6)
@pytest.mark.sampled(6)
def test_it_is_shown(states, words, text, every):
    pattern = ".*".join(r"\s+".join(map(re.escape, part.split())) for part in text.split(" * "))
    for state in states[every - 1 :: every]:
        done = run(*shlex.split(words), FILE, "--state", str(state))
        assert re.search(pattern, done.stdout + done.stderr, re.DOTALL), state.name


def test_scripts_have_it(states):
    for state in states:
        wave = open_program(FILE).attach(str(state))[1]
        assert wave.stop.reasons == ("MEMORY_VIOLATION",)
        assert wave.stop_reason.startswith("MEMORY_VIOLATION")


def test_waves_are_the_same_rows_as_text_and_as_data(tmp_path):
    """Waves at the places A, B and A are three rows in both."""
    waves = [{"id": str(index), "pc": pc, "exec": 1} for index, pc in enumerate((0x1540, 0x1548, 0x1540))]
    path = tmp_path / "places.json"
    path.write_text(json.dumps({"schema": 1, "target": "gfx90a", "waves": waves}))
    words = ("waves", "fixtures/asm/lane-pc.gfx90a.w64.co", "--state", str(path))
    assert [row["waves"] for row in json.loads(run(*words, "--json").stdout)["waves"]] == [["0"], ["1"], ["2"]]
    assert run(*words).stdout.count("AMDGPU Wave") == 3


def test_a_long_list_of_waves_is_cut(tmp_path):
    stop = {"stop": {"reasons": ["ILLEGAL_INSTRUCTION"]}}
    waves = [{"id": str(n), "pc": 0x1548, "exec": 1, **(stop if n % 2 else {})} for n in range(100)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"schema": 1, "target": "gfx90a", "waves": waves}))
    done = run("fault", str(path), "fixtures/asm/lane-pc.gfx90a.w64.co")
    assert "waves 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,... (50 in" in done.stdout
