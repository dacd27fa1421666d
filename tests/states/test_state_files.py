import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu as dg
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.machines import snapshot
from dwarfgpu.states.opening import names_its_code
from dwarfgpu.states.program import open_core, open_program
from tests.builders.commands import run
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES, ROOT
from tests.builders.parameters import for_each

CRASH = "dwarfgpu/examples/crash.core"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A snapshot that was made from a core file, with its code object beside it."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("x.json", "x.dgs"):
        assert run("snapshot", "convert", CRASH, str(folder / name)).returncode == 0
    return folder


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The core files of host and GPU of one crash."""
    folder = tmp_path_factory.mktemp("parts")
    run("debug", "--batch", "--state", CRASH, "-ex", f"generate-core-file -pair {folder / 'core'}")
    return folder


@pytest.mark.parametrize("name", ["x.json", "x.dgs"])
def test_a_snapshot_that_names_its_code_needs_no_file(small, name):
    done = run("bt", "--state", str(small / name), "--wave", "3")
    assert (done.returncode, done.stdout.splitlines()[-1][:5]) == (0, "#0  X")


@pytest.mark.parametrize("name", ["x.json", "x.dgs"])
def test_what_opens_code_says_what_opens_a_state(small, name):
    error = raised(MalformedFile, open_program, str(small / name))
    assert (str(error).endswith(f"{name} is a state, not code"), "dwarfgpu.open_core" in error.hint) == (True, True)


def test_states_that_name_their_code_or_need_a_file(small, tmp_path):
    shutil.copy(small / "x.json", tmp_path)
    done = run("waves", "--state", str(tmp_path / "x.json"))
    assert (done.returncode, "required: FILE" in done.stderr) == (2, True)
    path = small / "mark.json"
    path.write_bytes(b"\xef\xbb\xbf" + (small / "x.json").read_bytes())
    done = run("waves", "--state", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    words = ("-ex", f"core-file {CRASH}", "-ex", f"target snapshot {small / 'x.json'}", "-ex", f"core {CRASH}")
    done = run("debug", "--batch", *words)
    assert (done.returncode, done.stdout.count("[Attached")) == (0, 3)


@pytest.mark.parametrize("words", [("waves",), ("bt",), ("waves", "--json"), ("lanes", "--wave", "1")])
def test_a_state_that_is_missing_is_what_is_said(words, tmp_path):
    path = tmp_path / "nothere"
    done = run(*words, "--state", str(path))
    assert (done.returncode, done.stderr) == (3, f"dwarfgpu: error: {path}: No such file or directory\n")


def test_texts_that_are_too_large_and_hosts_alone(tmp_path, parts):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(1 << 40)
    done = run("waves", "fixtures/asm/lane-pc.gfx90a.w64.co", "--state", str(path))
    assert (done.returncode, "it has 1099511627776 bytes, more than" in done.stderr) == (3, True)
    shutil.copy(parts / "core", tmp_path / "core.4711")
    done = run("core", "info", str(tmp_path / "core.4711"))
    assert (done.returncode, "no note has the state of GPUs" in done.stderr) == (3, True)


NAMES = [
    ("core.4711", "gpucore.4711"),                           ("core.4711", "core.4711.gpu"),
    ("core.app.4711", "core.app.4711.gpu"),                  ("core.1234", "gpucore.1234.gpu"),
    ("core.app.4711.1764000000", "core.app.4711.1764000007.gpu"),
    ("1764000000-app-4711", "gpu-4711-1764000003")]  # fmt: skip


@pytest.mark.parametrize("host, gpu", NAMES)
def test_each_part_of_a_crash_finds_the_other(host, gpu, parts, tmp_path):
    shutil.copy(parts / "core", tmp_path / host)
    shutil.copy(parts / "core.gpu", tmp_path / gpu)
    whole = run("waves", "--json", "--state", str(tmp_path / host), "--state", str(tmp_path / gpu))
    assert len(json.loads(whole.stdout)["waves"]) == 2
    for name in (host, gpu):
        assert run("waves", "--json", "--state", str(tmp_path / name)).stdout == whole.stdout
        assert "(found beside it)" in run("core", "info", str(tmp_path / name)).stdout


FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/lanes.json"


def printed(machine, *, uri=f"file://{FILE}", stops=("MEMORY_VIOLATION", "NONE", "ASSERT_TRAP")):
    lines = []
    address = machine.code_objects[0].load_address
    for wave in range(machine.wave_count):
        pc = machine.program_counter(wave)
        _dispatch, (x, y, z), number = machine.place_of(wave)
        lines += ["-" * 56, f"wave_{wave + 1}: pc=0x{pc:x} (stopped, reason: {stops[wave]})", "", "system registers:"]
        ttmps = {4: 0, 5: 0, 6: 0, 7: 0, 8: x, 9: y, 10: z, 11: number, 13: 0}
        lines.append("".join(f"{f'ttmp{index}: '.rjust(16)}{value:08x}" for index, value in ttmps.items()))
        for file in machine.files:
            for register in file.registers:
                if not machine.knows(register, wave) or register.name == "pc":
                    continue
                data = machine.read_register(register, wave, None)
                if register.lane_bits:
                    words = struct.unpack(f"<{len(data) // 4}I", data)
                    text = " ".join(f"[{lane}] {word:08x}" for lane, word in enumerate(words))
                else:
                    text = f"{int.from_bytes(data, 'little'):0{2 * len(data)}x}"
                lines.append(f"{register.name + ': ':>16}{text}")
        lines += ["", "Local memory content:", "    0x0000: 00000001 00000002 00000003 00000004"]
        lines += ["", "Disassembly for function X:", f"    code object: {uri}"]
        lines.append(f"    loaded at: [0x{address:x}-0x{address + 0x2000:x}]")
        lines.append(f"    => 0x{pc:x}:    s_nop 0")
    return "\n".join([*lines, "End of disassembly.", ""])


@pytest.fixture
def machine():
    return open_program(str(FILE)).attach(STATE).stopped.machine


@pytest.mark.parametrize("with_file", [True, False])
def test_frames_and_variables_are_those_of_the_machine(machine, with_file, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text("Some words before.\n" + printed(machine))
    assert names_its_code([str(path)])
    before = open_program(str(FILE)).attach(STATE)
    after = open_program(str(FILE)).attach(str(path)) if with_file else open_core(path)
    assert len(after) == len(before) == 3
    for old, new in zip(before, after, strict=True):
        assert [(frame.name, frame.pc) for frame in new.frames()] == [(frame.name, frame.pc) for frame in old.frames()]
        assert [lane.is_active for lane in new.lanes] == [lane.is_active for lane in old.lanes]
        for lane in range(0, 64, 9):
            assert text_of(new, lane) == text_of(old, lane)
    assert [wave.stop_reason for wave in after] == ["MEMORY_VIOLATION", "stopped", "ASSERT_TRAP"]
    assert after.stopped.machine.read_memory(after.state.target.space_named("local"), 4, 4, 1, None) == b"\2\0\0\0"
    assert after.stopped.machine.place_of(2) == (0, (2, 0, 0), 0)


def text_of(wave, lane):
    try:
        return wave.frame(0)["lane"].value(lane=lane)
    except DwarfGpuError as error:
        return error.kind


def test_a_code_object_that_the_agent_has_saved_is_found_beside_the_text(machine, tmp_path):
    uri = "file:///gone/k.co#offset=16&size=32"
    path = tmp_path / "report.txt"
    path.write_text(printed(machine, uri=uri))
    caught = raised(UsageError, open_core, path)
    assert "does not name the processor" in str(caught)
    assert uri in caught.hint
    shutil.copy(FILE, tmp_path / "3_file____gone_k.co_offset_16_size_32")
    assert open_core(path)[0].frame(0).name == "X"


def test_a_file_that_is_named_is_used_where_the_text_names_another(machine, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text(printed(machine, uri="file:///gone/k.co"))
    attached = open_program(str(FILE)).attach(str(path))
    assert attached[0].frame(0).name == "X"
    for missing in ("code object", "loaded at"):
        path.write_text("\n".join(line for line in printed(machine).splitlines() if missing not in line))
        attached = open_program(str(FILE)).attach(str(path))
        assert any("does not say where" in str(problem) for problem in attached.problems)


def test_other_texts_are_no_states(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("nothing of interest")
    assert not names_its_code([str(path)])
    assert "neither a core file nor a snapshot" in str(raised(MalformedFile, open_core, path))
    source = tmp_path / "k.cl"
    source.write_text("kernel void k() {}")
    assert str(raised(MalformedFile, open_core, source)) == f"{source} is a source, not a state"


LANE_PC = FIXTURES / "asm/lane-pc.gfx90a.w64.co"


def named(place: str, **code: Any) -> Any:
    return {
        "schema": 1,
        "target": "gfx90a",
        "code_objects": [{"path": str(LANE_PC), "load_address": "0x7f0000000000", **code}],
        "waves": [{"id": "a", "pc": place}],
    }


@pytest.mark.parametrize("place", ["X+0x48", " X+72", "lane-pc.c:15"])
def test_a_program_counter_is_a_place_in_a_code_object(tmp_path: Path, place: str) -> None:
    path = tmp_path / "named.json"
    path.write_text(json.dumps(named(place)), "utf-8")
    machine = dg.load_snapshot(path)
    pc = machine.program_counter(0)
    assert pc is not None
    assert pc >> 40 == 0x7F
    attached = open_program(LANE_PC).attach(path)
    assert attached[0].pc == pc
    assert attached[0].frame(0).name == "X"
    snapshot.save(machine, tmp_path / "saved.dgs")
    assert snapshot.load(tmp_path / "saved.dgs").program_counter(0) == pc


def test_a_file_that_the_user_names_has_the_place_too(tmp_path: Path) -> None:
    path = tmp_path / "named.json"
    document = named("X+0x48")
    del document["code_objects"]
    path.write_text(json.dumps(document), "utf-8")
    assert open_program(LANE_PC).attach(path)[0].pc == 0x1548
    with pytest.raises(DwarfGpuError, match=r"pc 'X\+0x48': the snapshot names no code object"):
        dg.load_snapshot(path)


@for_each("place,code,message",
    ("Y+0x48", {}, "has no symbol 'Y'"),          ("X+0xzz", {}, "is not an address"),
    ("lane-pc.c:999", {}, "line 999 of lane-pc.c has no code"),          ("X", {"path": "nowhere.co"}, "nowhere.co"),
)  # fmt: skip
def test_a_place_that_is_not_there_is_an_error(tmp_path: Path, place: str, code: Any, message: str) -> None:
    path = tmp_path / "named.json"
    path.write_text(json.dumps(named(place, **code)), "utf-8")
    with pytest.raises(DwarfGpuError, match=message):
        dg.load_snapshot(path)
