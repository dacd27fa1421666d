import json
import shutil
from pathlib import Path

import pytest

from tests.builders.commands import run

ROOT = Path(__file__).resolve().parents[2]
STOPPED = "docs/examples/stopped.json"
LANE_OF_V1 = "DW_OP_regx v1; DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul; DW_OP_LLVM_offset"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("snapshots") / "stopped.dgs")
    done = run("snapshot", "convert", STOPPED, path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return path


@pytest.mark.parametrize("form", ["json", "dgs"])
def test_text_names_wave_and_lane(form, folder):
    state = STOPPED if form == "json" else folder
    words = ("eval", "--state", state, "--wave", "1:1:1:1", "--read", "unsigned32", "--ops", LANE_OF_V1)
    assert run(*words, "--lane", "2").stdout == "wave 1:1:1:1, lane 2: v1 bit 64 (v1[2]): 66000000 = 102 (unsigned32)\n"
    lines = run(*words, "--lane", "all").stdout.splitlines()
    assert len(lines) == 64
    assert lines[7] == "wave 1:1:1:1, lane  7: v1 bit 224 (v1[7]): 6b000000 = 107 (unsigned32)"
    assert lines[8].endswith("error: the contents of lane 8 of register v1 are not available [A.2.5.4.4.4]")


def test_a_wave_is_named_and_belongs_to_a_snapshot(folder):
    done = run("eval", "--state", folder, "--wave", "1", "--ops", "DW_OP_lit1")
    assert done.stdout == "wave 1:1:1:1: value 1 (generic)\n"
    done = run("eval", "--wave", "1", "--ops", "DW_OP_lit1")
    assert (done.returncode, "--wave chooses a wave" in done.stderr) == (2, True)
    found = json.loads(run("address", "global#0x10004", "--state", STOPPED, "--json").stdout)
    assert (found["wave"], found["address"]["available_bytes"]) == (None, 12)


def test_json_names_wave_and_lane(folder):
    words = ("eval", "--state", folder, "--wave", "1", "--read", "4", "--ops", LANE_OF_V1)
    one = json.loads(run(*words, "--lane", "2", "--json").stdout)
    assert (one["wave"], one["lane"], one["read"]["bytes"]) == ("1:1:1:1", 2, "66000000")
    several = json.loads(run(*words, "--lane", "0-2", "--json").stdout)
    assert several["wave"] == "1:1:1:1"
    assert [lane["read"]["bytes"][:2] for lane in several["lanes"].values()] == ["64", "65", "66"]
    lines = [json.loads(line) for line in run(*words, "--lane", "0-2", "--jsonl").stdout.splitlines()]
    assert [(line["wave"], line["lane"]) for line in lines] == [("1:1:1:1", lane) for lane in range(3)]


def test_memory_is_read_through_the_machine(folder):
    ops = "DW_OP_const1u 0x30; DW_OP_lit5; DW_OP_LLVM_form_aspace_address"
    words = ("eval", "--state", folder, "--wave", "1", "--read", "unsigned32", "--ops", ops)
    assert "2a000000 = 42" in run(*words, "--lane", "5").stdout
    done = run(*words, "--lane", "6")
    assert done.returncode == 1
    assert "memory at private_lane#0x30 are not available" in done.stderr
    ops = "DW_OP_regx s0; DW_OP_deref_size 4; DW_OP_plus_uconst 8; DW_OP_deref_size 4"
    done = run("eval", "--state", folder, "--wave", "1", "--ops", ops)
    assert done.stdout == f"wave 1:1:1:1: value {0x40000000} (generic)\n"


def test_a_snapshot_comes_from_standard_input_too():
    text = (ROOT / STOPPED).read_text()
    words = ("eval", "--state", "-", "--wave", "2", "--lane", "1", "--read", "4", "--ops", "DW_OP_regx v0")
    done = run(*words, stdin=text.encode())
    assert done.stdout == "wave 1:1:1:2, lane 1: v0: 40000000\n"


def test_snapshots_that_are_bad_or_big_endian(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"schema": 1, "target": "gfx90a", "waves": [{"registers": {"v0": [' + "0," * 64 + "0]}}]}")
    done = run("eval", "--state", str(path), "--ops", "DW_OP_lit1")
    assert done.returncode == 3
    assert done.stderr == f"dwarfgpu: error: {path}: waves[0].registers.v0: v0 has 64 lanes, not 65\n"
    path = tmp_path / "big.json"
    state = {
        "schema": 1,
        "target": "generic",
        "byte_order": "big",
        "address_size": 4,
        "waves": [{"registers": {"r3": 513}}],
    }
    path.write_text(json.dumps(state))
    assert run("eval", "--state", str(path), "--read", "4", "--ops", "DW_OP_reg3").stdout == "wave 0: r3: 00000201\n"
    assert run("eval", "--state", str(path), "--ops", "DW_OP_breg3 1").stdout == "wave 0: default#0x202\n"


def test_an_address_is_shown_in_every_space(folder):
    words = ("address", "private_lane#0x30", "--lane", "5")
    by_target = json.loads(run(*words, "--target", "gfx90a", "--json").stdout)
    by_state = json.loads(run(*words, "--state", folder, "--wave", "1", "--json").stdout)
    assert [view["space_name"] for view in by_state["views"]] == ["private_lane5", "private_wave", "generic"]
    assert [view["address"] for view in by_state["views"]] == [0x30, 0xC14, (2 << 48) + 0x30]
    assert by_state["wave"] == "1:1:1:1"
    assert by_state["address"]["available_bytes"] == 8
    assert by_state["views"][1] | {"available_bytes": None} == by_target["views"][1]
    text = run(*words, "--state", folder, "--wave", "1").stdout
    assert text.startswith("private_lane#0x30 of wave 1:1:1:1, lane 5\n")
    assert "0x30 / 4 * 64 * 4 + 5 * 4 + 0x30 % 4" in text


def test_conversions_lose_nothing(tmp_path, folder):
    for name in ("a.json", "b.dgs", "c.json"):
        source = {"a.json": folder, "b.dgs": str(tmp_path / "a.json"), "c.json": str(tmp_path / "b.dgs")}[name]
        assert run("snapshot", "convert", source, str(tmp_path / name)).returncode == 0
    assert (tmp_path / "a.json").read_text() == (tmp_path / "c.json").read_text()
    done = run("snapshot", "convert", folder, str(tmp_path / "a.json"))
    assert (done.returncode, done.stderr.splitlines()[0].endswith("a.json exists")) == (2, True)
    done = run("snapshot", "convert", folder, str(tmp_path / "d.json"), "--json")
    assert json.loads(done.stdout)["waves"] == 2


def test_info_and_check(folder, tmp_path):
    assert "2: 1:1:1:1, 1:1:1:2" in run("snapshot", "info", folder).stdout
    assert json.loads(run("snapshot", "info", folder, "--json").stdout)["wave_count"] == 2
    assert run("snapshot", "check", folder).stdout == f"{folder}: ok\n"
    broken = tmp_path / "broken.dgs"
    shutil.copytree(folder, broken)
    (broken / "pc.npy").unlink()
    done = run("snapshot", "check", str(broken))
    assert (done.returncode, done.stdout) == (3, "")
    assert "data: pc.npy cannot be read" in done.stderr


def test_a_code_object_that_has_changed(tmp_path):
    state = {"schema": 1, "target": "gfx90a", "waves": [{}], "code_objects": [{"path": "k.co", "sha256": "00" * 32}]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(state))
    (tmp_path / "k.co").write_bytes(b"code")
    words = ("eval", "--state", str(path), "--ops", "DW_OP_lit1")
    done = run(*words)
    assert (done.returncode, "code_objects[0].sha256: k.co has the hash" in done.stderr) == (3, True)
    assert run(*words, "--force").stdout == "wave 0: value 1 (generic)\n"
    assert run("snapshot", "check", str(path)).returncode == 3
    assert run("snapshot", "convert", str(path), str(tmp_path / "b.dgs")).returncode == 3
    assert not (tmp_path / "b.dgs").exists()
    assert run("snapshot", "convert", str(path), str(tmp_path / "b.dgs"), "--force").returncode == 0


@pytest.mark.parametrize("words", [("convert", "a"), ("info", "a", "b"), ("check", "a", "b")])
def test_the_number_of_files_is_checked(words):
    assert run("snapshot", *words).returncode == 2
