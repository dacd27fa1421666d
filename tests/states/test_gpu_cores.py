"""GPU core files with their code: which files belong together, code objects, conversion, the answers of snapshots."""

import json
import shutil
from pathlib import Path

import pytest
from attrs import evolve

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.gpu_core.writing import CoreForm, LoadedImage, core_contents
from dwarfgpu.questions.files import conversion_text, core_json, core_text
from dwarfgpu.render.layout import laid_out
from dwarfgpu.states import gpu_cores
from dwarfgpu.states.core_conversion import convert_core, memory_choice
from dwarfgpu.states.core_summary import core_rows
from dwarfgpu.states.core_writing import write_core
from dwarfgpu.states.gpu_cores import choose, open_core_files, open_core_waves, open_gpu_stopped
from dwarfgpu.states.memory_image import image_in_memory
from dwarfgpu.states.program import open_program
from dwarfgpu.states.stopped import OpenOptions
from tests.builders.errors import raised
from tests.builders.folders import ROOT
from tests.builders.gpu_cores import CRASH, crash_core, filled, image_of, save, written

EXAMPLES = ROOT / "dwarfgpu/examples"
TINY = ROOT / "fixtures/containers/tiny.gfx90a.co"
LANE_PC = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
ADDRESS = 0x7F40_0000_0000
STATES = (("launch", TINY), ("variables", LANE_PC), ("lanes", LANE_PC))


def tiny(folder, *, kind="merged", uri=None, machine=None, form=None, host=None):
    """Core files of a process that has loaded a code object."""
    from dwarfgpu.objfile.opening import open_image

    image = image_of(open_image(str(TINY)), uri if uri is not None else f"file://{TINY}", ADDRESS)
    if host is not None:
        image = LoadedImage(image.uri, image.address, image.segments, host)
    return written(folder, machine or filled("gfx90a", waves=2), kind=kind, images=(image,), form=form)


def said(opened):
    return [str(problem) for problem in opened.problems]


@pytest.mark.parametrize("kind", ["merged", "pair"])
@pytest.mark.parametrize("name, file", STATES)
def test_frames_and_variables_are_those_of_the_snapshot(name, file, kind, tmp_path):
    before = open_program(str(file)).attach(EXAMPLES / f"{name}.json")
    paths = write_core(before.stopped, str(tmp_path / "core"), kind, CoreForm(r_version=12)).names
    after = open_program(str(file)).attach(paths)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert [(frame.name, frame.pc) for frame in new.frames()] == [(frame.name, frame.pc) for frame in old.frames()]
        assert [lane.is_active for lane in new.lanes] == [lane.is_active for lane in old.lanes]
        for old_frame, new_frame in zip(old.frames(), new.frames(), strict=True):
            for variable in old_frame.variables():
                assert value_of(new_frame, variable.name) == value_of(old_frame, variable.name)


def test_calls_are_unwound_as_before(tmp_path):
    file = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
    before = open_program(str(file)).attach(EXAMPLES / "calls.json")
    written_core = write_core(before.stopped, str(tmp_path / "core"), form=CoreForm(r_version=12))
    assert written_core.unknown  # the example has few registers
    for old, new in zip(before, open_program(str(file)).attach(written_core.names), strict=True):
        assert [(frame.name, frame.pc) for frame in new.frames()] == [(frame.name, frame.pc) for frame in old.frames()]


def value_of(frame, name):
    try:
        return frame[name].value()
    except DwarfGpuError as error:
        return "not known" if error.kind in ("register_unavailable", "memory_unavailable") else error.kind


def test_the_host_file_beside_a_gpu_file_is_found_and_has_its_own_memory(tmp_path):
    host, gpu = tiny(tmp_path, kind="pair")
    opened = open_core_waves([gpu])
    assert opened.files.companion == host
    assert opened.core.wave_count == 2
    for name, partner in (
        (f"{tmp_path}/crash.gpu", f"{tmp_path}/crash"),
        (f"{tmp_path}/gpucore.4711.gpu", f"{tmp_path}/core"),
    ):
        Path(gpu).rename(name)
        Path(host).rename(partner)
        assert open_core_files([name]).companion == partner
        host, gpu = partner, name
    host, gpu = tiny(tmp_path, kind="pair")
    files = open_core_files([host, gpu])
    assert files.memory.read(ADDRESS, 4) == b"\x7fELF"
    assert files.has_host
    assert [thread.pid for thread in files.threads] == [4711]


def test_a_host_file_of_another_crash_is_not_taken(tmp_path):
    _host, gpu = tiny(tmp_path, kind="pair")
    (tmp_path / "other").mkdir()
    from tests.builders.cores import Thread, core_file

    (tmp_path / "core.4711").write_bytes(core_file([Thread(1, {})], {0x1000: bytes(16)}))
    files = open_core_files([gpu])
    assert (files.companion, files.has_host) == (None, False)
    files = open_core_files([str(tmp_path / "core.4711"), gpu])
    assert any("they are not of one crash" in str(problem) for problem in files.problems)


def test_files_with_different_states_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (first,), (second,) = tiny(tmp_path / "a"), tiny(tmp_path / "b", form=CoreForm(runtime_state=2))
    assert "different crashes" in str(raised(MalformedFile, open_core_files, [first, second]))
    open_core_files([first, first])


def test_files_that_are_no_core_files_are_refused(tmp_path):
    assert "is not a core file" in str(raised(MalformedFile, open_core_files, [str(TINY)]))
    from tests.builders.cores import Thread, core_file

    (tmp_path / "core").write_bytes(core_file([Thread(1, {})], {}))
    assert "no note has the state of GPUs" in str(raised(MalformedFile, open_core_files, [str(tmp_path / "core")]))
    raised(MalformedFile, open_core_files, [str(tmp_path / "nothing")])


def test_the_file_or_the_name_chooses_among_processors(tmp_path):
    paths = written(tmp_path, [filled("gfx90a"), filled("gfx1030-wave32"), filled("gfx1030-wave64")])
    core = open_core_waves(paths).core
    caught = raised(UsageError, choose, core, None, None)
    assert "none is chosen" in str(caught)
    assert "@gfx90a" in caught.hint
    assert choose(core, None, "gfx90a").target.name == "amdgcn-gfx90a"
    assert choose(core, None, "gfx1030-wave64").target.lane_count == 64
    assert "none is chosen" in str(raised(UsageError, choose, core, None, "gfx1030"))
    assert "no waves of gfx1100" in str(raised(UsageError, choose, core, None, "gfx1100"))
    assert choose(core, open_program(str(TINY)).file, None).target.name == "amdgcn-gfx90a"
    assert open_gpu_stopped([f"{paths[0]}@gfx1030-wave32"]).machine.target.name == "amdgcn-gfx1030-wave32"


def test_the_part_of_the_gpu_alone_says_what_to_do(tmp_path):
    (gpu,) = tiny(tmp_path, kind="gpu")
    caught = raised(DwarfGpuError, open_gpu_stopped, [gpu])
    assert "none of the files" in str(caught)
    assert "core file" in caught.hint
    (tmp_path / "other").mkdir()
    opened = open_core_waves([gpu])
    with laid_out(200):
        text = "\n".join(core_text(opened, core_rows(opened)))
    assert "GPU alone" in text
    assert "none can be read" in text
    assert "--state core.PID --state gpucore.PID" in text


def test_code_objects_in_memory_are_read_from_the_core_file(tmp_path):
    data = TINY.read_bytes()
    uri = f"memory://4711#offset=0x5500000000&size={len(data):#x}"
    (found,) = open_core_waves(tiny(tmp_path, uri=uri, host=(0x55_0000_0000, data))).found
    assert found.where == "in the core file"
    assert found.file.image.build_id == open_program(str(TINY)).file.image.build_id
    assert found.file.has_dwarf
    files = open_core_files(tiny(tmp_path))
    image = open_program(str(TINY)).file.image
    loaded = image_in_memory(files.memory, ADDRESS, "tiny")
    assert loaded.build_id == image.build_id
    for segment in loaded.segments:
        if segment.type == 1 and segment.flags & 1:
            assert loaded.read(segment.address, segment.file_size) == image.read(segment.address, segment.file_size)
    assert image_in_memory(files.memory, ADDRESS + 4096, "nothing") is None


def test_a_code_object_is_found_beside_the_core_file_and_where_it_was_moved_to(tmp_path):
    shutil.copy(TINY, tmp_path / "tiny.gfx90a.co")
    opened = open_core_waves(tiny(tmp_path, uri="file:///gone/away/tiny.gfx90a.co"))
    assert opened.found[0].where == "by its name, in another folder"
    (tmp_path / "new/sub").mkdir(parents=True)
    shutil.copy(TINY, tmp_path / "new/sub/k.co")
    paths = tiny(tmp_path, uri="file:///gone/away/sub/k.co")
    opened = open_core_waves(
        paths, options=OpenOptions(moved={"/gone": "/nowhere", "/gone/away": str(tmp_path / "new")})
    )
    assert opened.found[0].where == "by its new path"


def test_a_code_object_of_that_name_with_other_contents_is_refused(tmp_path):
    data = bytearray(TINY.read_bytes())
    image = open_program(str(TINY)).file.image
    text = image.section(".text")
    data[text.header.offset] ^= 0xFF
    if image.build_id is not None:
        place = bytes(data).index(bytes.fromhex(image.build_id))
        data[place] ^= 0xFF
    (tmp_path / "tiny.gfx90a.co").write_bytes(data)
    opened = open_core_waves(tiny(tmp_path, uri="file:///gone/away/tiny.gfx90a.co"))
    assert opened.found[0].where == "loaded image only"
    assert any("is not the code object at" in text for text in said(opened))


def test_without_a_file_the_loaded_image_has_code_and_symbols(tmp_path):
    opened = open_core_waves(tiny(tmp_path, uri="file:///gone/away/k.co"))
    (found,) = opened.found
    assert found.where == "loaded image only"
    assert any(symbol.name == "tiny.kd" for symbol in found.file.image.symbols())
    assert any("only the code in memory is known" in text for text in said(opened))


def test_only_some_of_many_lost_code_objects_are_named(tmp_path):
    images = tuple(LoadedImage(f"file:///gone/{number}.co", 0x1000 * number) for number in range(1, 31))
    opened = open_core_waves(written(tmp_path, filled("gfx90a", waves=2), images=images))
    lost = [text for text in said(opened) if "not found" in text]
    assert len(lost) == 9
    assert lost[-1] == "22 other code objects were not found either"
    assert len(opened.found) == 30


def test_another_file_is_refused_unless_it_is_forced(tmp_path):
    paths = tiny(tmp_path)
    other = open_program(str(LANE_PC)).file
    assert "is not among the 1 code objects" in str(raised(UsageError, open_gpu_stopped, paths, other))
    assert open_gpu_stopped(paths, other, OpenOptions(force=True)).loaded.codes[0].file is other


def test_the_list_of_code_objects_may_be_broken(tmp_path):
    files = open_core_files(tiny(tmp_path))
    from dwarfgpu.machines.gpu_core.runtime import read_objects

    r_debug = files.state.r_debug
    item = files.memory.number(r_debug + 8, 8)
    for place, value, text in (
        (item + 24, item, "has no end"),
        (item + 24, 0x10, "goes on at 0x10"),
        (item + 8, 0x20, "the URI of a code object is at 0x20"),
        (r_debug + 24, 1, "was being changed"),
    ):
        before = files.memory.read(place, 8)
        files.memory.write(place, value.to_bytes(8, "little"))
        _version, objects, problems = read_objects(files.memory, r_debug)
        assert any(text in str(problem) for problem in problems), text
        assert len(objects) == 1
        files.memory.write(place, before)
    assert read_objects(files.memory, 0)[0] is None


def test_waves_outside_of_all_code_are_a_problem(tmp_path):
    machine = filled("gfx90a", waves=2)
    text = "2 waves of amdgcn-gfx90a are at addresses that are in no code object"
    assert text in said(open_core_waves(tiny(tmp_path, machine=machine)))


def test_kernels_are_named_and_a_summary_is_one_screen(tmp_path):
    paths = write_core(open_program(str(TINY)).attach(EXAMPLES / "launch.json").stopped, str(tmp_path / "core")).names
    assert [dispatch.kernel for dispatch in open_core_waves(paths).core.dispatches] == ["tiny"]
    before = open_program(str(LANE_PC)).attach(EXAMPLES / "variables.json")
    stopped = open_gpu_stopped(write_core(before.stopped, str(tmp_path / "other"), form=CoreForm(r_version=12)).names)
    assert stopped.wave(0).frame(0).name == before[0].frame(0).name
    assert stopped.loaded.codes[0].file.image.path == str(LANE_PC)
    before = open_program(str(TINY)).attach(EXAMPLES / "launch.json")
    opened = open_core_waves(write_core(before.stopped, str(tmp_path / "summary"), "pair").names)
    lines = list(core_text(opened, core_rows(opened)))
    assert len(lines) < 40
    text = "\n".join(lines)
    for part in ("gfx90a", "compute (AQL)", "grid 128x1x1", "tiny () at tiny.hip:", "as named", "4711"):
        assert part in text
    data = json.loads(json.dumps(core_json(opened, core_rows(opened))))
    assert data["waves"][0]["count"] == 2
    assert data["agents"][0]["processor"] == "gfx90a"


@pytest.mark.parametrize("suffix", [".dgs", ".json"])
def test_a_small_snapshot_has_what_debugging_needs(suffix, tmp_path):
    before = open_program(str(LANE_PC)).attach(EXAMPLES / "lanes.json")
    opened = open_core_waves(write_core(before.stopped, str(tmp_path / "core"), form=CoreForm(r_version=12)).names)
    machine = choose(opened.core, None, None)
    place = tmp_path / f"small{suffix}"
    summary = convert_core(opened, machine, str(place), waves="1,3")
    assert (summary.waves, summary.all_waves) == (2, 3)
    text = "\n".join(conversion_text(summary))
    assert "2 of 3" in text
    assert "1 wave of amdgcn-gfx90a" in text
    assert "1 thread of the host" in text
    assert snapshot.load(place).ids == [machine.ids[0], machine.ids[2]]
    code = place / "code-0.co" if suffix == ".dgs" else tmp_path / "small-code-0.co"
    assert code.read_bytes() == LANE_PC.read_bytes()
    after = open_program(str(code)).attach(place)
    for index, wave in enumerate((0, 2)):
        assert [frame.name for frame in after[index].frames()] == [frame.name for frame in before[wave].frames()]
    assert "exists" in str(raised(UsageError, convert_core, opened, machine, str(place)))


def test_the_memory_of_a_small_snapshot_is_chosen(tmp_path):
    machine = filled("gfx90a", waves=4)
    (tmp_path / "a").mkdir()
    opened = open_core_waves(written(tmp_path / "a", machine))
    found = choose(opened.core, None, None)
    spaces = {}
    for number, words in enumerate(("none", "stack", "lds", "args", "args,reachable:1", None)):
        convert_core(opened, found, str(tmp_path / f"{number}.json"), "1-2", words)
        small = snapshot.load(tmp_path / f"{number}.json")
        spaces[words] = {
            small.target.space(space).name: sum(row[2] for row in small.memory.extents(small.target.space(space)))
            for space in small.memory.stores
        }
    assert not any(spaces["none"].values())
    assert spaces["stack"]["private_wave"] == 2 * 3072
    assert spaces["lds"]["local"] == 1024
    assert spaces["args"]["global"] == 64 + 256 + 64  # the packet, the queue object and the arguments
    assert spaces["args,reachable:1"]["global"] >= spaces["args"]["global"]
    assert {"private_wave", "local", "global"} <= spaces[None].keys()


def test_what_was_read_can_be_written_again(tmp_path):
    (tmp_path / "a").mkdir()
    stopped = open_gpu_stopped(tiny(tmp_path / "a"))
    again = open_gpu_stopped(write_core(stopped, str(tmp_path / "again")).names)
    for name in ("v3", "s7", "exec", "pc"):
        register = stopped.machine.register_named(name)
        assert again.machine.read_register(register, 1, None) == stopped.machine.read_register(register, 1, None)
    assert "exists" in str(raised(UsageError, write_core, stopped, str(tmp_path / "again")))


def test_a_machine_of_another_processor_cannot_be_a_core_file(tmp_path):
    machine = filled("gfx90a")
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.targets.resolve import resolve

    old = Machine(resolve("gfx803"))
    old.add_waves(1)
    assert "gfx803 cannot be saved as a core file" in str(raised(UsageError, written, tmp_path, old))
    assert machine.wave_count


def test_the_core_file_of_the_examples_is_the_one_that_is_written():
    assert CRASH.read_bytes() == crash_core()


def test_parts_of_names_and_kinds_of_memory(tmp_path):
    (path,) = tiny(tmp_path)
    assert gpu_cores.without_part(f"{path}@gfx90a") == path
    assert gpu_cores.part_of([path]) is None
    odd = tmp_path / "core@home"
    odd.write_bytes(b"x")
    assert gpu_cores.without_part(str(odd)) == str(odd)
    assert memory_choice("stack,reachable:2").reachable == 2
    for text in ("heap", "reachable", "reachable:x", "stack:3", "reachable:0"):
        assert "there is no memory" in str(raised(UsageError, memory_choice, text))


def test_a_core_file_has_the_latest_version_or_that_of_its_origin(tmp_path):
    before = open_program(str(TINY)).attach(EXAMPLES / "launch.json")
    write_core(before.stopped, str(tmp_path / "new"))
    write_core(before.stopped, str(tmp_path / "old"), version=9)
    write_core(open_gpu_stopped([str(tmp_path / "old")]), str(tmp_path / "again"))
    assert [open_core_waves([str(tmp_path / name)]).core.r_version for name in ("new", "old", "again")] == [12, 9, 9]


def test_the_used_size_of_a_save_area_is_not_taken_for_the_distance(tmp_path):
    """Some versions of the runtime write the size in use of one area where the size of an area should be."""
    machine = filled("gfx942", waves=8)
    contents = core_contents(machine, form=CoreForm(xccs=4))
    (queue,) = contents.state.queues
    contents.state = evolve(contents.state, queues=(evolve(queue, save_area_size=64),))
    opened = open_core_waves(save(tmp_path, contents, "merged"))
    assert opened.core.wave_count == machine.wave_count
    assert not [problem for problem in opened.problems if "save" in problem.kind]


def test_two_work_groups_at_one_position_are_two_dispatches_of_a_small_snapshot(tmp_path):
    opened = open_core_waves(tiny(tmp_path, machine=filled("gfx90a", waves=4)))
    (source,) = opened.core.machines
    columns = source.columns
    columns.groups[:] = [columns.groups[0]] * len(columns.groups)  # as if the ring had wrapped around
    source.places["work_group"] = source.places["work_group"].with_rows(0)
    source.places["work_group"].array[:] = source.places["work_group"].array[0]
    convert_core(opened, source, str(tmp_path / "small.json"))
    small = snapshot.load(tmp_path / "small.json")
    assert small.wave_count == 4
    groups = list(dict.fromkeys(source.group_numbers))
    assert [small.place_of(wave)[0] for wave in range(4)] == [groups.index(number) for number in source.group_numbers]
    local = small.target.space_named("local")
    for wave in range(4):
        assert small.read_memory(local, 0, 64, wave, None) == source.read_memory(local, 0, 64, wave, None)


def test_code_in_the_cache_of_the_user_is_copied_into_the_core_file(tmp_path, monkeypatch):
    """The cache may be emptied, or be on another machine, when the core file is read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = CodeCache("code").keep("k.co", TINY.read_bytes())
    stopped = open_program(str(kept)).attach(EXAMPLES / "launch.json").stopped
    paths = write_core(stopped, str(tmp_path / "core")).names
    kept.unlink()
    (found,) = open_core_waves(paths).found
    assert (found.where, found.file is not None) == ("in the core file", True)
