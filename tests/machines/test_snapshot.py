"""Snapshots: both forms hold the same machine, files are never changed, and bad files are refused in one line."""

import hashlib
import json
import random
import re
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MalformedFile, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.locations import Register
from dwarfgpu.lanes import LaneFault
from dwarfgpu.machines import snapshot, snapshot_folder, snapshot_json
from dwarfgpu.machines.machine import Dispatch, Machine
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.machines import contents, machines
from tests.builders.parameters import for_each, in_one_test

WHOLE = {
    "schema": 1,
    "target": "amdgcn-amd-amdhsa--gfx90a",
    "dispatches": [{"id": 1, "kernel": "saxpy", "grid": [256, 1, 1], "work_group": [64, 1, 1], "kernarg": "0x1000"}],
    "waves": [{"id": "1:1:1:1",                   "dispatch": 1,                     "work_group": [0, 0, 0],
        "wave_in_group": 0,                "pc": "0x7f0000001234",            "exec": "0xffff",
        "registers": {"s0": 5, "vcc": "0x0", "v0": [0, 1, 2], "a0": {"bytes": "01020304"}, "m0": -1}},
        {"id": "1:1:1:2", "dispatch": 1, "work_group": [1, 0, 0], "registers": {"v0": [7]}}],
    "memory": [
        {"space": "global", "address": "0x1000", "bytes": "0011223344"},
        {"space": "local", "work_group": [0, 0, 0], "address": 0, "bytes": "aabbccdd"},
        {"space": "private_wave", "wave": "1:1:1:1", "address": 0, "bytes": "0102030405060708"},
        {"space": "private_lane", "wave": "1:1:1:1", "lane": 5, "address": 4, "bytes": "0908070605"}]}  # fmt: skip


def changed(**changes):
    """The whole snapshot with some keys replaced, or left out where they are None."""
    return {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}


def read(machine, name, address, size, wave=0, lane=None):
    return machine.read_memory(machine.target.space_named(name), address, size, wave, lane).hex()


def register(machine, name, wave=0):
    return machine.read_register(machine.register_named(name), wave, None)


@pytest.fixture
def folder(tmp_path):
    """The whole snapshot as a folder."""
    path = tmp_path / "whole.dgs"
    snapshot.save(snapshot.of_document(WHOLE), path)
    return path


def test_every_key_of_the_schema_is_read():
    machine = snapshot.of_document(WHOLE)
    assert machine.ids == ["1:1:1:1", "1:1:1:2"]
    assert machine.dispatches == [Dispatch(1, "saxpy", (256, 1, 1), (64, 1, 1), 0x1000)]
    assert machine.program_counter(0) == 0x7F0000001234
    assert machine.program_counter(1) is None
    assert register(machine, "exec") == (0xFFFF).to_bytes(8, "little")
    assert register(machine, "s0") == (5).to_bytes(4, "little")
    assert register(machine, "m0") == b"\xff" * 4
    assert register(machine, "v0") == np.array([0, 1, 2] + [0] * 61, dtype="<u4").tobytes()
    assert register(machine, "a0") == b"\1\2\3\4" + bytes(252)
    assert read(machine, "global", 0x1001, 4) == "11223344"
    assert read(machine, "local", 2, 2) == "ccdd"
    assert read(machine, "private_lane", 0, 4, lane=1) == "05060708"
    assert read(machine, "private_lane", 4, 5, lane=5) == "0908070605"
    assert read(machine, "private_wave", 256 + 20, 4) == "09080706"


@pytest.mark.parametrize("name", ["s0", "exec", "vcc", "pc", "v1"])
def test_what_is_absent_is_unavailable(name):
    with pytest.raises(EvaluationError, match=f"register {name} are not available") as caught:
        register(snapshot.of_document(WHOLE), name, wave=1)
    assert caught.value.kind == "register_unavailable"


def test_memory_that_is_absent_and_apertures_that_are_given():
    machine = snapshot.of_document(changed(memory=None))
    for name in ("global", "local", "region", "private_wave"):
        assert raised(EvaluationError, read, machine, name, 0x1000, 4).kind == "memory_unavailable"
    machine = snapshot.of_document(changed(apertures={"shared": "0x500000000", "private": "0x700000000"}))
    assert read(machine, "generic", 0x500000001, 2) == "bbcc"
    assert read(machine, "generic", 0x700000004, 5, lane=5) == "0908070605"


def test_a_wave_needs_nothing_and_comments_are_ignored():
    machine = snapshot.of_document({"schema": 1, "target": "gfx1100", "waves": [{}, {}]})
    assert machine.ids == ["0", "1"]
    assert machine.groups().tolist() == [-1, -1]
    assert "belongs to no known work-group" in str(raised(EvaluationError, read, machine, "local", 0, 4))
    document = changed(comment=["anything", 1.5], waves=[{"id": "1:1:1:1", "comment": {"s0": "n"}}], memory=None)
    document["dispatches"][0] |= {}
    assert snapshot.of_document(document).ids == ["1:1:1:1"]


def test_registers_have_their_other_names_too():
    waves = [{"registers": {"VGPR1": [3], "2562": [4], "EXEC_MASK_64": 1}}]
    machine = snapshot.of_document(changed(waves=waves, memory=None))
    assert register(machine, "v1")[:4] == b"\3\0\0\0"
    assert register(machine, "v2")[:4] == b"\4\0\0\0"
    assert register(machine, "exec")[:1] == b"\1"


def test_the_waves_of_a_work_group_share_local_memory():
    waves = [{"id": str(i), "dispatch": 1, "work_group": [i // 2, 0, 0]} for i in range(4)]
    memory = [{"space": "local", "work_group": [1, 0, 0], "address": 8, "bytes": "0102"}]
    machine = snapshot.of_document(changed(waves=waves, memory=memory))
    assert [read(machine, "local", 8, 2, wave) for wave in (2, 3)] == ["0102"] * 2
    machine.write_memory(machine.target.space_named("local"), 8, b"\7", 3, None)
    assert read(machine, "local", 8, 2, 2) == "0702"
    raised(EvaluationError, read, machine, "local", 8, 2, 0)


@pytest.mark.parametrize("target", ["gfx700", "gfx803"])
def test_apertures_of_gfx7_and_gfx8_are_in_the_queue(target):
    queue = bytes(64) + (0x1111).to_bytes(4, "little") + (0x2222).to_bytes(4, "little")
    dispatches = [{"id": 1}, {"id": 2, "queue": 0x9000}, {"id": 3, "queue": 0x8000}]
    memory = [
        {"space": "global", "address": 0x8000, "bytes": queue.hex()},
        {"space": "private_lane", "wave": "a", "lane": 63, "address": 0, "bytes": "0102"},
    ]
    document = {"schema": 1, "target": target, "dispatches": dispatches, "waves": [{"id": "a"}], "memory": memory}
    machine = snapshot.of_document(document)
    assert read(machine, "generic", 0x2222_0000_0000, 2, lane=63) == "0102"
    assert machine.apertures is None
    assert machine.read_apertures(0x8000).shared == 0x1111 << 32
    assert "64 bytes" in str(raised(UsageError, machine.read_apertures, 0x8004))


def test_byte_order_and_address_size_are_those_of_the_generic_target():
    document = {
        "schema": 1,          "target": "generic",  "byte_order": "big",  "address_size": 4,
        "waves": [{"registers": {"r3": 0x0102}}],   "memory": [{"space": "default", "address": 0, "bytes": "11"}],
    }  # fmt: skip
    machine = snapshot.of_document(document)
    assert register(machine, "r3") == bytes([0, 0, 1, 2])
    assert machine.target.address_size == 4


def test_address_spaces_are_declared_for_the_generic_target(tmp_path):
    document = {
        "schema": 1,                                           "target": "generic",
        "spaces": {"1": {"name": "far", "address_size": 4}},   "waves": [{}],
        "memory": [{"space": "far", "address": 16, "bytes": "07"}, {"space": "default", "address": 16, "bytes": "08"}],
    }  # fmt: skip
    machine = snapshot.of_document(document)
    for name in ("spaces.json", "spaces.dgs"):
        snapshot.save(machine, tmp_path / name)
        loaded = snapshot.load(tmp_path / name)
        assert (read(loaded, "far", 16, 1), read(loaded, "default", 16, 1)) == ("07", "08")
        assert loaded.target.space(1).address_bits == 32
    with pytest.raises(MalformedFile, match=r"spaces: amdgcn-gfx90a has its own address spaces"):
        snapshot.of_document({**document, "target": "amdgcn-gfx90a"})


@given(machine=machines(), forms=st.lists(st.sampled_from(["json", "dgs"]), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_machine_that_is_saved_and_loaded_is_the_same(tmp_path, machine, forms):
    expected = contents(machine)
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    for number, form in enumerate(forms):
        path = place / f"{number}.{form}"
        snapshot.save(machine, path)
        machine = snapshot.load(path, force=True)
        assert contents(machine) == expected
    shutil.rmtree(place)


def test_the_folder_has_a_manifest_and_arrays(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["schema"] == 1
    named = {name for one in manifest["registers"] for key, name in one.items() if key in ("data", "known")}
    named |= {name for one in manifest["memory"] for key, name in one.items() if key != "space"}
    named |= {name for key, name in manifest["waves"].items() if key != "count"}
    assert {path.name for path in folder.iterdir()} == named | {"manifest.json"}
    assert snapshot.load(folder / "manifest.json").ids == snapshot.load(folder).ids


def test_registers_of_one_kind_are_one_array_however_they_were_added(tmp_path):
    machine = Machine(resolve("gfx90a"))
    machine.add_waves(3)
    machine.allocate_registers(machine.register_named(f"v{i}") for i in range(5))
    machine.vgpr[:] = np.arange(3 * 5 * 64).reshape(3, 5, 64)
    for index in range(5):
        machine.set_register(f"v{index}", machine.vgpr[:, index])
    snapshot.save(machine, tmp_path / "a.dgs")
    registers = json.loads((tmp_path / "a.dgs/manifest.json").read_text())["registers"]
    assert registers == [{"names": "v0-v4", "data": "v0.npy"}]
    assert (np.load(tmp_path / "a.dgs/v0.npy") == machine.vgpr).all()
    assert (snapshot.load(tmp_path / "a.dgs").vgpr == machine.vgpr).all()
    machine = Machine(resolve("gfx90a"))
    machine.add_waves(2)
    for index in (5, 3, 4, 64):
        machine.set_register(f"s{index}", [index, index + 1], slice(None))
    machine.set_register("s9", 1, 0)
    snapshot.save(machine, tmp_path / "b.dgs")
    registers = json.loads((tmp_path / "b.dgs/manifest.json").read_text())["registers"]
    assert registers == [{"names": "s3-s5,s9,s64", "data": "s3.npy", "known": "s3-known.npy"}]
    assert contents(snapshot.load(tmp_path / "b.dgs")) == contents(machine)


def test_a_snapshot_is_written_in_memory_only(folder):
    def files():
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    before = files()
    machine = snapshot.load(folder)
    machine.write_register(machine.register_named("v0"), bytes(range(256)), 0, None)
    machine.write_register(machine.register_named("v9"), bytes(range(256)), 1, None)
    machine.write_memory(machine.target.space_named("global"), 0x1000, b"zz", 0, None)
    machine.write_memory(machine.target.space_named("private_lane"), 4, b"zz", 0, 5)
    assert read(machine, "global", 0x1000, 3) == "7a7a22"
    assert register(machine, "v9", 1) == register(machine, "v0") == bytes(range(256))
    assert files() == before
    assert read(snapshot.load(folder), "private_lane", 4, 2, lane=5) == "0908"


def test_code_objects_stay_where_they_are(tmp_path):
    code = tmp_path / "k.co"
    code.write_bytes(b"code")
    digest = hashlib.sha256(b"code").hexdigest()
    path = tmp_path / "a.json"
    path.write_text(json.dumps(changed(code_objects=[{"path": "k.co", "load_address": "0x1000", "sha256": digest}])))
    for name, expected in (("b.dgs", "../k.co"), ("c.json", "k.co")):
        machine = snapshot.load(path)
        path = tmp_path / name
        snapshot.save(machine, path)
        machine = snapshot.load(path)
        assert machine.code_objects[0].path == expected
        assert Path(machine.code_path(machine.code_objects[0])).read_bytes() == b"code"
    code.write_bytes(b"other")
    with pytest.raises(MalformedFile, match=r"code_objects\[0\]\.sha256: k\.co has the hash") as caught:
        snapshot.load(path)
    assert "--force" in caught.value.hint
    assert snapshot.load(path, force=True).wave_count == 2
    code.unlink()  # questions that need no code have answers all the same
    assert snapshot.load(path).wave_count == 2


def test_nothing_is_overwritten_and_nothing_is_left_half_written(tmp_path, folder, monkeypatch):
    machine = snapshot.load(folder)
    for name in ("x.json", "x.dgs"):
        snapshot.save(machine, tmp_path / name)
        assert "exists" in str(raised(UsageError, snapshot.save, machine, tmp_path / name))

    def fails(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot_folder, "write_folder", fails)
    monkeypatch.setattr(snapshot_json, "chunks", fails)
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in ("y.json", "y.dgs"):
        assert "No space left" in str(raised(UsageError, snapshot.save, machine, tmp_path / name))
    assert "cannot be written" in str(raised(UsageError, snapshot.save, machine, tmp_path / "none" / "y.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def registers(**values):
    return snapshot.of_document(changed(waves=[{"registers": values}], memory=None))


def test_floats_have_the_width_of_what_holds_them():
    machine = registers(v0=[1.5, None, 0, -2.0], s0=1.0, exec=0.5, v1={"float32": [1, 2.5, "inf", "0x1.8p0"]}, v2=None)
    assert register(machine, "v0")[:16] == np.array([1.5, 0, 0, -2], "<f4").tobytes()
    assert machine.unknown_lanes(machine.register_named("v0"), 0) & 0xF == 0b0010
    assert register(machine, "s0") == np.float32(1).tobytes()
    assert register(machine, "exec") == np.float64(0.5).tobytes()
    assert register(machine, "v1")[:16] == np.array([1, 2.5, np.inf, 1.5], "<f4").tobytes()
    assert not machine.knows(machine.register_named("v2"), 0)


def test_values_are_rounded_and_those_of_every_lane():
    machine = registers(s0=0.1, s1={"float32": "nan"})
    assert register(machine, "s0") == np.float32(0.1).tobytes()
    assert np.isnan(np.frombuffer(register(machine, "s1"), "<f4")[0])
    machine = registers(v0={"float32": 1.5}, v1={"signed32": -1}, v2={"signed32": [-1, None]})
    assert register(machine, "v0") == np.full(64, 1.5, "<f4").tobytes()
    assert register(machine, "v1") == b"\xff" * 256
    assert machine.unknown_lanes(machine.register_named("v2"), 0) == (1 << 64) - 2
    assert not machine.unknown_lanes(machine.register_named("v0"), 0)


def test_a_double_is_in_two_registers():
    names = {"v[2:3]": [1.5, None, -2.0], "s[4:5]": 1.5, "s[6:7]": {"float64": "inf"}, "s[8:11]": {"bytes": "01" * 16}}
    machine = registers(**names)
    low, high = (np.frombuffer(register(machine, name), "<u4") for name in ("v2", "v3"))
    pairs = (low.astype("u8") | high.astype("u8") << 32).view("f8")
    assert (pairs[0], pairs[2]) == (1.5, -2)
    for name in ("v2", "v3"):
        assert machine.unknown_lanes(machine.register_named(name), 0) & 0b111 == 0b010
    assert register(machine, "s4") + register(machine, "s5") == np.float64(1.5).tobytes()
    assert register(machine, "s6") + register(machine, "s7") == np.float64(np.inf).tobytes()
    assert register(machine, "s11") == b"\1" * 4


def test_the_first_register_of_several_has_the_high_part_on_big_endian_targets():
    document = {"schema": 1, "target": "generic", "byte_order": "big", "address_size": 4, "waves": [{"registers": {
        "r3": 1.5, "r[4:5]": {"float64": 1.5}, "r6": {"unsigned32": 1}}}],
        "memory": [{"space": "default", "address": 0, "float64": [1.5, -2]}]}  # fmt: skip
    machine = snapshot.of_document(document)
    assert register(machine, "r3") == np.array(1.5, ">f4").tobytes()
    assert register(machine, "r4") + register(machine, "r5") == np.array(1.5, ">f8").tobytes()
    assert read(machine, "default", 0, 16) == np.array([1.5, -2], ">f8").tobytes().hex()


def test_memory_is_given_as_values():
    memory = [
        {"space": "global", "address": 0, "float32": [1.5, 2]},
        {"space": "global", "address": 8, "unsigned16": 7, "comment": "a note"},
        {"space": "global", "address": 16, "bytes": None},
        {"space": "private_lane", "wave": "1:1:1:1", "address": 4, "signed32": [-1, None, 3]},
        {"space": "private_lane", "wave": "1:1:1:1", "address": 8, "float32": 1.5},
        {"space": "private_lane", "wave": "1:1:1:1", "address": 12, "float32": [[1.5, 2.0], None, [3.0, 4.0]]},
        {"space": "private_lane", "wave": "1:1:1:1", "address": 20, "float32": None},
    ]
    machine = snapshot.of_document(changed(memory=memory))
    assert read(machine, "global", 0, 10) == (np.array([1.5, 2], "<f4").tobytes() + b"\7\0").hex()
    assert [read(machine, "private_lane", 4, 4, lane=lane) for lane in (0, 2)] == ["ffffffff", "03000000"]
    assert read(machine, "private_lane", 8, 4, lane=63) == np.float32(1.5).tobytes().hex()
    assert read(machine, "private_lane", 12, 8, lane=2) == np.array([3, 4], "<f4").tobytes().hex()
    for lane, address in ((1, 4), (1, 12), (0, 20)):
        raised(EvaluationError, read, machine, "private_lane", address, 4, lane=lane)
    raised(EvaluationError, read, machine, "global", 16, 1)


def wave(**changes):
    return changed(waves=[{**WHOLE["waves"][0], **changes}], memory=None)


def memory(**changes):
    return changed(memory=[{**WHOLE["memory"][2], **changes}])


BAD = [
    ({}, "the key 'schema' is missing"),                      ([], "not a snapshot"),
    (changed(schema=2), "schema: schema 2 is not known"),     (changed(schema="x"), "schema: this string"),
    (changed(target="gfx9999"), "target: there is no target"),
    (changed(target=None), "the key 'target' is missing"),    (changed(waves=None), "the key 'waves' is missing"),
    (changed(waves={}), "waves: an array is needed"),         (changed(byte_order="big"), "target: .* little-endian"),
    (changed(apertures={"shared": 1 << 32}), "apertures: the key 'private'"),
    (changed(apertures={"shared": 5, "private": 1 << 32}), "apertures: .*aligned to 2\\^32"),
    (changed(apertures={"shared": 1 << 32, "private": 1 << 32}), "apertures: both"),
    (changed(code_objects=[{"path": "k.co", "sha256": "ab"}]), r"code_objects\[0\]\.sha256: .* 64 hex digits"),
    (changed(code_objects=[{"path": ""}]), r"code_objects\[0\]\.path"),
    (changed(dispatches=[{"id": 1}, {"id": 1}]), r"dispatches\[1\]: .* id 1"),
    (changed(dispatches=[{"id": 1, "grid": [1, 2]}]), r"dispatches\[0\]\.grid: three numbers"),
    (changed(dispatches=[{"id": 1, "grid": [1, 0, 1]}]), r"dispatches\[0\]\.grid\[1\]"),
    (changed(dispatches=[]), r"waves\[0\]\.dispatch: no dispatch has the id 1"),
    (wave(id=3), r"waves\[0\]\.id: a string is needed"),
    (changed(waves=[{"id": "a"}, {"id": "a"}], memory=None), r"waves\[1\]: the id 'a' is that of waves\[0\]"),
    (wave(id="a\0"), r"waves\[0\]\.id"),
    (wave(work_group=[1, 2]), r"waves\[0\]\.work_group: three"),
    (wave(wave_in_group=-1), r"waves\[0\]\.wave_in_group"),   (wave(exec=1 << 64), r"waves\[0\]\.exec: .* 64 bits"),
    (wave(registers={"v0": [0] * 65}), r"waves\[0\]\.registers\.v0: v0 has 64 lanes, not 65"),
    (wave(registers={"v0": {"bytes": "00" * 257}}), r"registers\.v0: v0 has 256 bytes, not 257"),
    (wave(registers={"s0": {"bytes": "00"}}), r"registers\.s0: s0 has 4 bytes, not 1"),
    (wave(registers={"s0": [1]}), r"registers\.s0: s0 is one register for all lanes"),
    (wave(registers={"s0": 1 << 32}), r"registers\.s0: 0x100000000 does not fit 32 bits"),
    (wave(registers={"s0": 1e999}), r"registers\.s0: the number does not fit a float of 32 bits"),
    (wave(registers={"s0": 1e39}), r"registers\.s0: the number does not fit a float of 32 bits"),
    (wave(registers={"s0": True}), r"registers\.s0: an integer is needed"),
    (wave(registers={"s0": "1.5"}), r"registers\.s0: this string is not an integer"),
    (wave(registers={"s0": {"float32": "x"}}), r"registers\.s0\.float32: this string is not a float"),
    (wave(registers={"s0": {"float32": 1, "bytes": "00"}}), r"registers\.s0: float32 and bytes are given"),
    (wave(registers={"s0": {"float64": 1.5}}), r"registers\.s0: float64 does not fit: the register has 32 bits"),
    (wave(registers={"s[4:5]": {"float32": 1.5}}), r"float32 does not fit: the register has 64 bits"),
    (wave(registers={"s[5:4]": 1}), r"registers\.s\[5:4\]: s\[5:4\] is not 1 to 32 registers"),
    (wave(registers={"s[4:6]": 1.5}), r"registers\.s\[4:6\]: there are no floats of 96 bits"),
    (wave(registers={"s[4:5]": 1, "s5": 1}), r"registers\.s5: register s5 is given twice"),
    (wave(registers={"v0": 1.5}), r"registers\.v0: a vector register needs a list"),
    (wave(registers={"v0": [1.5, 2]}), r"registers\.v0\[1\]: this integer is in a list with floats"),
    (wave(registers={"v0": {"signed32": [1 << 31]}}), r"registers\.v0\.signed32\[0\]: .* signed integer of 32"),
    (wave(registers={"v0": {"float16": [1.5]}}), r"registers\.v0: float16 does not fit: a lane has 32 bits"),
    (memory(bytes=None, float32=[1]), r"memory\[0\]: bytes and float32 are given"),
    (memory(space="private_lane", lane=None, bytes=["00"] * 65), r"memory\[0\]\.(lane|bytes)"),
    (wave(registers={"s106": 0}), r"registers\.s106: .* has no register 's106'"),
    (wave(registers={"q": 0}), r"registers\.q: .* has no register 'q'"),
    (wave(registers={"-1": 0}), r"registers\.-1: .* has no register '-1'"),
    (wave(registers={"s0": 1, "SGPR0": 1}), r"registers\.SGPR0: register s0 is given twice"),
    (wave(registers={"pc": 1}), r"registers\.pc: register pc is given twice"),
    (memory(space="nowhere"), r"memory\[0\]\.space: .* has no such address space"),
    (memory(space="generic"), r"memory\[0\]\.space: .* it is a view"),
    (memory(bytes="0"), r"memory\[0\]\.bytes"),
    (memory(address=(1 << 32) - 4), r"memory\[0\]: .* past the end of the address space"),
    (memory(address=1 << 32), r"memory\[0\]\.address"),
    (memory(wave="x"), r"memory\[0\]\.wave: no wave has the id 'x'"),
    (memory(lane=3), r"memory\[0\]\.lane: private_wave memory does not belong to a lane"),
    (changed(memory=[{"space": "private_lane", "wave": "1:1:1:1", "address": 0, "bytes": ["00"] * 65}]),
        r"memory\[0\]\.bytes: a wave has 64 lanes, not 65"),
    (changed(memory=[{"space": "private_lane", "wave": "1:1:1:1", "address": 0, "bytes": ["00", "0000"] * 3},
        {"space": "private_lane", "wave": "1:1:1:1", "lane": 3, "address": 1, "bytes": "01"}]),
        r"memory\[1\]: it overlaps memory\[0\]"),
    (memory(space="private_lane", lane=64), r"memory\[0\]\.lane: a wave has 64 lanes"),
    (memory(space="private_lane", lane=1, address=1 << 31), r"memory\[0\]: no wave has private memory for"),
    (memory(space="local"), r"memory\[0\]\.wave: local memory does not belong to a wave"),
    (changed(memory=[{"space": "local", "address": 0, "bytes": ""}]), "the key 'work_group' is missing"),
    (changed(memory=[{"space": "local", "work_group": [9, 0, 0], "address": 0, "bytes": ""}]),
        r"memory\[0\]\.work_group: no wave is in the work-group"),
    (changed(memory=[WHOLE["memory"][0], WHOLE["memory"][0]]), r"memory\[1\]: it overlaps memory\[0\]"),
    (changed(memory=[WHOLE["memory"][3], {**WHOLE["memory"][2], "address": 0x116, "bytes": "00"}]),
        r"memory\[1\]: it overlaps memory\[0\]")]  # fmt: skip


@in_one_test("document, message", BAD)
def test_a_bad_document_is_refused_by_key(document, message):
    with pytest.raises(MalformedFile, match=message) as caught:
        snapshot.of_document(document, name="bad.json")
    assert caught.value.message.startswith("bad.json: ")
    assert not re.search(r"(waves\[\S+): \1", caught.value.message), "the path of a key is there once"
    assert "\n" not in str(caught.value)


def test_a_work_group_of_several_dispatches_names_its_dispatch():
    waves = [{"id": str(i), "dispatch": i, "work_group": [0, 0, 0]} for i in (1, 2)]
    region = {"space": "local", "work_group": [0, 0, 0], "address": 0, "bytes": "01"}
    document = changed(dispatches=[{"id": 1}, {"id": 2}], waves=waves, memory=[region])
    assert "the key 'dispatch' is missing" in str(raised(MalformedFile, snapshot.of_document, document))
    document["memory"] = [{**region, "dispatch": 2}]
    assert read(snapshot.of_document(document), "local", 0, 1, wave=1) == "01"


@pytest.mark.slow
def test_many_empty_waves_do_not_fill_the_memory():
    waves = [{"registers": {f"v{i}": 0 for i in range(256)}}, *[{}] * 80_000]
    with pytest.raises(MalformedFile, match="too many for this form"):
        snapshot.of_document(changed(waves=waves, memory=None))


@pytest.mark.parametrize("text", ["", "{", "[1", '{"schema": NaN}', '{"schema": 1, "schema": 1}', "[" * 100_000])
def test_text_that_is_no_json_is_refused(text, tmp_path):
    (tmp_path / "s.json").write_text(text)
    raised(MalformedFile, snapshot.load, tmp_path / "s.json")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "x.dgs").mkdir()
    (tmp_path / "x.json").write_bytes(b"\xff")
    for name in ("none.json", "x.dgs", "x.json"):
        with pytest.raises(MalformedFile, match=name) as caught:
            snapshot.load(tmp_path / name)
        assert caught.value.kind == "unreadable"


def edit(folder, *path, value):
    manifest = json.loads((folder / "manifest.json").read_text())
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))


@for_each(
    "path,value,message",
    (("waves", "count"), 3, r"waves\.id: wave-id\.npy has the shape 2, and 3 is needed"),
    (("waves", "id"), "pc.npy", r"waves\.id: pc\.npy holds <u8, and <U is needed"),
    (("waves", "dispatch"), "wave-id.npy", r"waves\.dispatch: .* <i8 is needed"),
    (("dispatches",), [], r"waves\.dispatch: a number is not in the range"),
    (("registers", 0, "data"), "none.npy", r"registers\[0\]\.data: none\.npy cannot be read"),
    (("registers", 0, "data"), "../x.npy", r"registers\[0\]\.data: .* not the name of a file"),
    (("registers", 0, "data"), "manifest.json", r"registers\[0\]\.data: manifest\.json is not a \.npy file"),
    (("registers", 0, "names"), "m0,mode", r"registers\[0\]\.data: .* has the shape 2x1, and 2x2 is needed"),
    (("registers", 0, "names"), "pc", r"registers\[0\]\.data: .* holds <u4, and <u8 is needed"),
    (("registers", 0, "names"), "s5-s4", r"registers\[0\]\.names: .* not a range"),
    (("registers", 0, "names"), "s0-s4000000000", r"registers\[0\]\.names: these are more than"),
    (("registers", 0, "names"), "s0-v4", r"registers\[0\]\.names: .* not a range"),
    (("registers", 0, "names"), "", r"registers\[0\]\.names: .* no register ''"),
    (("registers", 0, "names"), "s0,v0", r"registers\[0\]\.names: registers of different sizes"),
    (("registers", 0, "names"), "s0,s0", r"registers\[0\]\.names: a register is named twice"),
    (("registers", 0, "names"), "s0", r"registers\[\d\]\.names: register s0 is given twice"),
    (("memory", 0, "space"), "generic", r"memory\[0\]\.space: .* keeps no bytes"),
    (("memory", 1, "space"), "global", r"memory\[1\]\.space: global memory is given twice"),
    (("memory", 0, "extents"), "local-extents.npy", r"memory\[0\]\.extents: .* anyx2 is needed"),
    (("memory", 0, "data"), "local.npy", r"memory\[0\]\.data: local\.npy has the shape 4, and 5 is needed"),
)
def test_a_bad_manifest_is_refused_by_key(folder, path, value, message):
    edit(folder, *path, value=value)
    with pytest.raises(MalformedFile, match=message):
        snapshot.load(folder)


@for_each("name,rows,message",
    ("global-extents", [[0x1000, 3], [0x1002, 2]], r"global#0x1002 is given twice"),
    ("global-extents", [[(1 << 64) - 4, 5]], "past the end of the address space"),
    ("private_wave-extents", [[0, 0, 8], [2, 0, 5]], "there is no wave 2"),
    ("private_wave-extents", [[0, 0, 8], [1, (1 << 32) - 4, 5]], "past the end of the address space"),
    ("local-extents", [[0, 0, 2], [0, 1, 2]], r"local#0x1 is given twice"),
    ("v0", np.zeros((2, 1, 63), dtype="<u4"), "has the shape 2x1x63, and 2x1x64 is needed"),
    ("v0", np.zeros((2, 1, 64), dtype=">u4"), "holds >u4, and <u4 is needed"),
    ("v0", np.asfortranarray(np.zeros((2, 1, 64), dtype="<u4")), "Fortran order"),
    ("wave-id", np.array(["a", "a"]), "two waves have one name"),
    ("wave-work-group", np.full((2, 3), -2), "a number is not in the range"))  # fmt: skip
def test_a_bad_array_is_refused_by_key(folder, name, rows, message):
    array = np.array(rows, dtype=np.uint64) if isinstance(rows, list) else rows
    np.save(folder / f"{name}.npy", array)
    with pytest.raises(MalformedFile, match=message):
        snapshot.load(folder)


def test_a_shorter_file_is_refused(folder):
    for path in sorted(folder.glob("*.npy")):
        data = path.read_bytes()
        path.write_bytes(data[:-1])
        with pytest.raises(MalformedFile, match=path.name):
            snapshot.load(folder)
        path.write_bytes(data)


def test_the_files_of_an_open_snapshot_are_mapped(folder):
    machine = snapshot.load(folder)
    for path in folder.iterdir():
        path.unlink()
    assert register(machine, "s0") == b"\5\0\0\0"
    assert read(machine, "global", 0x1000, 3) == "001122"


def check(load):
    """Load a snapshot and read all of it: any input gives a machine or one error of ours, in one line."""
    try:
        contents(load())
        problem = None
    except DwarfGpuError as error:
        problem = error
    assert problem is None or (isinstance(problem, MalformedFile) and "\n" not in str(problem))


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.sampled(6)
def test_a_folder_with_changed_bytes_is_read_or_refused(folder, seed):
    chooser = random.Random(seed)
    path = chooser.choice(sorted(folder.iterdir()))
    data = bytearray(path.read_bytes())
    for _ in range(chooser.randint(1, 3)):
        data[chooser.randrange(min(len(data), 160))] = chooser.randrange(256)
    path.write_bytes(bytes(data[: chooser.choice([len(data), len(data), chooser.randrange(len(data))])]))
    check(lambda: snapshot.load(folder, force=True))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5)  # fmt: skip


@pytest.mark.slow
@given(data=st.data())
def test_a_document_with_changed_values_is_read_or_refused(data):
    document = json.loads(json.dumps(WHOLE))
    for _ in range(data.draw(st.integers(1, 2))):
        inner = document
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if not isinstance(inner[key], (dict, list)) or data.draw(st.integers(0, 3)) == 0:
                inner[key] = data.draw(VALUES)
                break
            inner = inner[key]
    check(lambda: snapshot.of_document(document, force=True))


def of_lanes(v0, target="amdgcn-amd-amdhsa--gfx90a"):
    document = {"schema": 1, "target": target, "waves": [{"id": "w", "registers": {"v0": v0, "v1": list(range(64))}}]}
    return snapshot.of_document(document, "", "test")


def read_lane(machine, name, lanes):
    register = machine.register_named(name)
    location = locations.at(Register(register, 0), 32 * lanes if isinstance(lanes, int) else lanes * 32)
    return Accessor(machine, "little", 1 if isinstance(lanes, int) else len(lanes)).read(location, 32).bits


def test_lanes_that_a_short_list_leaves_out_are_unavailable(tmp_path):
    machine = of_lanes([7, None, 9])
    for path in (None, tmp_path / "a.json", tmp_path / "a.dgs"):
        if path is not None:
            snapshot.save(machine, path)
            machine = snapshot.load(path)
        assert [read_lane(machine, "v0", lane) for lane in (0, 2)] == [7, 9]
        for lane in (1, 3, 63):
            with pytest.raises(EvaluationError, match=f"the contents of lane {lane} of register v0 are not available"):
                read_lane(machine, "v0", lane)
        caught = raised(LaneFault, read_lane, machine, "v0", np.array([0, 1, 2, 5], dtype=np.uint64))
        assert caught.positions.tolist() == [1, 3]
        assert read_lane(machine, "v1", 63) == 63


def test_many_waves_are_told_which_lanes_they_lack():
    document = {"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a"}
    document["waves"] = [{"id": str(number), "registers": {"v0": [5] * (number + 1)}} for number in range(3)]
    machine = snapshot.of_document(document, "", "test")
    register = machine.register_named("v0")
    offsets, waves = np.repeat(np.arange(3) * 4, 3).astype(np.uint64), np.tile(np.arange(3), 3).astype(np.uint64)
    _data, known = machine.gather_register(register, offsets, 4, waves, None, 9)
    assert known.reshape(3, 3).tolist() == [[True, True, True], [False, True, True], [False, False, True]]


def test_a_lane_that_is_written_is_known_from_then_on():
    machine = of_lanes([7])
    register = machine.register_named("v0")
    Accessor(machine, "little").write(locations.at(Register(register, 0), 64), 32, 5)
    assert read_lane(machine, "v0", 2) == 5
    assert "lane 1 of register v0" in str(raised(EvaluationError, read_lane, machine, "v0", 1))
    machine.set_register("v0", np.zeros((1, 64), dtype=np.uint32))
    assert read_lane(machine, "v0", 1) == 0


def test_a_list_that_is_too_long_is_refused():
    with pytest.raises(DwarfGpuError, match="v0 has 64 lanes, not 65"):
        of_lanes(list(range(65)))
