"""GPU core files in the debugger and at the shell: they are attached, summarised, made small and written."""

import json
import struct
from pathlib import Path

import pytest

from dwarfgpu.machines import snapshot
from dwarfgpu.machines.gpu_core.writing import CoreForm
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.states.core_writing import write_core
from tests.builders import cores
from tests.builders.commands import outcome as shell
from tests.builders.commands import run as run_command
from tests.builders.gpu_cores import filled, image_of, written
from tests.questions.harness import KERNEL, Run

CORE = "dwarfgpu/examples/crash.core"


@pytest.fixture
def pair(tmp_path):
    """The parts of host and GPU of the crash of the examples."""
    names = write_core(Run(None, CORE).debugger.machine.stopped, str(tmp_path / "core"), "pair").names
    host, gpu = tmp_path / "core.1234", tmp_path / "gpucore.1234"
    Path(names[0]).rename(host)
    Path(names[1]).rename(gpu)
    return str(host), str(gpu)


# --- The debugger -------------------------------------------------------------------------------------------------


def test_code_objects_are_looked_for_where_they_were_moved_to_and_below_the_root(tmp_path):
    image = image_of(open_image(KERNEL), "file:///gone/lane-pc.gfx90a.w64.co", 0x7F40_0000_0000)
    (path,) = written(tmp_path, filled("gfx90a", waves=2), images=(image,))
    run = Run(None)
    warning = "file:///gone/lane-pc.gfx90a.w64.co, which was not found"
    assert warning in " ".join(run(f"core {path}").split())
    run = Run(None)
    run("set substitute-path /gone fixtures/asm")
    assert warning not in " ".join(run(f"core {path}").split())
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/k.co").write_bytes(Path(KERNEL).read_bytes())
    image = image_of(open_image(KERNEL), "file:///opt/k.co", 0x7F40_0000_0000)
    (path,) = written(tmp_path, filled("gfx90a", waves=2), images=(image,))
    result = run_command("core", "info", path, "--sysroot", str(tmp_path))
    assert "by its new path" in result.stdout
    assert "by its new path" not in run_command("core", "info", path).stdout


def test_the_parts_of_host_and_gpu_are_one_state(pair):
    host, gpu = pair
    for words in (f"{host} {gpu}", f"{gpu} {host}", gpu):
        run = Run(None)
        assert "3 waves of amdgcn-gfx90a]" in run(f"core {words}")
    assert "core.1234belongstoit" in "".join(run(f"core {gpu}").split())  # a long path is cut where a line ends
    one, two = shell("waves", "--state", host, "--state", gpu), shell("waves", "--state", gpu)
    assert one == two
    assert one[0] == 0
    status, _out, error = shell("bt", KERNEL, "--state", "dwarfgpu/examples/lanes.json", "--state", CORE)
    assert status != 0
    assert "lanes.json" in error
    status, _out, error = shell("eval", "--ops", "DW_OP_lit0", "--state", CORE, "--state", CORE)
    assert "give one --state" in error


def merged_core(folder, program_path=None):
    """A core file with two waves, and a thread of a host program that the file names by a path."""
    program = Path("fixtures/host/frames.gcc.O0.v5.x86_64")
    image = open_image(str(program))
    code = next(segment for segment in image.segments if segment.type == 1 and segment.flags & 1)
    start, data = code.address & -4096, bytes(image.data[code.offset & -4096 : code.offset + code.file_size])
    name = str(program_path or program.resolve())
    host_notes = (
        cores.note(1, cores.prstatus(cores.Thread(77, {"rip": image.entry, "rsp": 0x7FFE_0000}))),
        cores.note(6, struct.pack("<QQ", 9, image.entry)),
        cores.note(0x46494C45, cores.file_note([(start, start + len(data), code.offset & -4096, name)])),
    )
    (path,) = written(folder, filled("gfx90a", waves=2), form=CoreForm(host_notes=b"".join(host_notes)))
    return path


def test_the_program_of_the_host_is_the_one_that_the_core_file_names(tmp_path):
    path = merged_core(tmp_path)
    run = Run(None)
    assert "1 thread of x86_64]" in run(f"core {path}@host")
    assert "2 waves of amdgcn-gfx90a]" in Run(None)(f"core {path}")
    run = Run(KERNEL)
    assert "1 thread of x86_64]" in run(f"core {path}@host")
    assert "2 waves of amdgcn-gfx90a]" in run(f"core -force {path}@gfx90a")


def test_threads_of_the_host_are_beside_the_waves(tmp_path):
    run = Run(None)
    run(f"core {merged_core(tmp_path)}")
    lines = run("info threads").splitlines()
    assert lines[-2].split() == ["Thread", "of", "the", "host", "Frame"]
    assert lines[-1].split()[:2] == ["LWP", "77"]
    assert "_start ()" in lines[-1]
    assert json.loads(run("info threads --json"))["host_threads"] == [
        {"thread": "77", "frame": lines[-1].split(maxsplit=2)[2]}
    ]
    assert "LWP 77" not in run("info threads 1")
    run("wave 2")
    assert "[Switching to thread 1 (LWP 77)]" in run("thread LWP 77")
    assert "_start ()" in run("bt")
    text = run("info threads")
    assert "* 1  LWP 77" in text
    assert "AMDGPU Wave 1:1:1:1" in text
    assert "Unknown" in run.fails("wave 1:9:9:9").message
    assert "LWP 77" in run("thread")
    assert "[Switching to wave 2" in run("wave 1:1:1:2")
    assert "Unknown" in run.fails("thread LWP 78").message
    assert "wave is 2" in run("wave")


def test_files_of_another_machine_are_looked_for_below_its_root(tmp_path):
    root = tmp_path / "node7"
    (root / "opt/app").mkdir(parents=True)
    program = root / "opt/app/frames"
    program.write_bytes(Path("fixtures/host/frames.gcc.O0.v5.x86_64").read_bytes())
    path = merged_core(tmp_path, "/opt/app/frames")
    run = Run(None)
    run(f"core {path}")
    assert "_start" not in run("info threads")
    run = Run(None)
    run(f"set sysroot {root}/")
    assert "1 thread of x86_64]" in run(f"core {path}@host")
    assert "_start ()" in run("bt")
    result = run_command("bt", "--state", f"{path}@host", "--sysroot", str(root), "--wave", "1")
    assert "_start ()" in result.stdout
    result = run_command("debug", "--state", path, "--sysroot", str(root), "-batch", "-ex", "info threads")
    assert "_start ()" in result.stdout


def test_a_state_without_waves_says_what_is_missing(pair, tmp_path):
    host, gpu = pair
    Path(host).unlink()
    error = Run(None).fails(f"core {gpu}")
    assert "in none of the files" in error.message
    assert "add its core file" in error.hint


def test_waves_of_one_processor_are_chosen_by_name(tmp_path):
    (path,) = written(tmp_path, [filled("gfx90a"), filled("gfx1100-wave32")])
    run = Run(None)
    assert "none is chosen" in run.fails(f"core {path}").message
    text = " ".join(run(f"core {path}@gfx1100-wave32").split())
    assert "6 waves of amdgcn-gfx1100-wave32" in text
    assert "There are 6 waves of gfx90a as well" in text


def test_a_core_file_is_generated(tmp_path):
    run = Run(KERNEL, "dwarfgpu/examples/lanes.json")
    run("set var $s5 = 77")
    name = tmp_path / "again"
    text = run(f"gcore {name}")
    assert f"Saved corefile {name}" in text
    assert "registers with unknown contents are written as 0" in text
    assert "exists" in run.fails(f"generate-core-file {name}").message
    after = Run(None)
    assert "3 waves" in after(f"core {name}")
    assert "77" in after("p $s5")
    assert f"{name}2 and {name}2.gpu" in run(f"gcore -pair {name}2")
    assert "3 waves" in Run(None)(f"core {name}2.gpu")
    assert f"Saved corefile {name}3" in run(f"gcore -gpu {name}3")


# --- The shell ----------------------------------------------------------------------------------------------------


SAME = [
    *(
        ("launch", "fixtures/containers/tiny.gfx90a.co", words)
        for words in ("waves", "bt", "lanes --wave 1")
    ),
    *(("launch", "fixtures/containers/tiny.gfx90a.co", words) for words in ("agents", "dispatches", "locals --wave 2")),
    *(("variables", KERNEL, words) for words in ("waves", "bt", "lanes", "map", "agents"))]  # fmt: skip


@pytest.mark.parametrize("name, file, words", SAME)
def test_answers_are_those_of_the_snapshot(name, file, words, tmp_path):
    state = f"dwarfgpu/examples/{name}.json"
    run = Run(file, state)
    (core,) = write_core(run.debugger.machine.stopped, str(tmp_path / "core")).names
    command, *rest = words.split()
    if command == "map":
        assert Run(None, core)("map") == run("map")
        return
    before = shell(command, file, *rest, "--state", state)
    for words_of_core in ((file, *rest), rest):
        status, text, errors = shell(command, *words_of_core, "--state", core)
        if command == "waves":  # a core file has a thread of the host, too
            text, _, threads = text.partition("  Thread of the host")
            assert "LWP 4711" in threads
        assert (status, text, errors) == before


def test_core_info_is_text_and_json(pair):
    _host, gpu = pair
    status, out, _error = shell("core", "info", gpu)
    assert status == 0
    assert "(found beside it)" in out
    assert "MEMORY_VIOLATION" in out
    status, out, _error = shell("core", "info", "--json", CORE)
    data = json.loads(out)
    assert [row["stop"] for row in data["waves"]] == ["MEMORY_VIOLATION", "stopped"]
    status, out, _error = shell("core", "info", "--jsonl", CORE)
    assert json.loads(out)["schema"] == 1
    for words, text in (
        (("core", "show", CORE), "show: No such file"),
        (("core", "info", KERNEL), "is not a core file"),
    ):
        status, _out, error = shell(*words)
        assert status != 0
        assert text in error


def test_a_core_file_is_made_small(tmp_path, pair):
    small = tmp_path / "small.dgs"
    status, out, _error = shell("snapshot", "convert", CORE, str(small), "--waves", "1,3", "--memory", "stack,lds")
    assert status == 0
    assert "2 of 3" in out
    assert "kernel arguments" in out
    assert snapshot.load(small).wave_count == 2
    host, gpu = pair
    for number, names in enumerate(((host, gpu), (gpu,))):
        status, out, _error = shell("snapshot", "convert", *names, str(tmp_path / f"pair{number}.dgs"), "--waves", "2")
        assert (status, "1 of 3" in out) == (0, True)
    status, out, _error = shell("snapshot", "convert", "--json", CORE, str(tmp_path / "b.json"), "--waves", "1")
    assert json.loads(out)["waves"] == 1
    status, _out, error = shell(
        "snapshot", "convert", "dwarfgpu/examples/lanes.json", str(tmp_path / "c.dgs"), "--waves", "1"
    )
    assert "goes with the conversion of a GPU core file" in error
    status, _out, error = shell("snapshot", "convert", CORE, str(tmp_path / "d.dgs"), "--waves", "9")
    assert "No waves match" in error
