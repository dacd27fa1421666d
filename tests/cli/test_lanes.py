import json
import re
import shutil

import pytest

from tests.builders.commands import ROOT, document, documents, in_python, run
from tests.builders.parameters import for_each

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/lanes.json"
HOST = "fixtures/host/frames.gcc.O2.v5.x86_64"


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> str:
    """A snapshot in which much is missing."""
    path = tmp_path_factory.mktemp("states") / "other.json"
    waves = [
        {"id": "no mask", "pc": "0x1500"},                     {"id": "no place", "exec": "0x1"},
        {"id": "no saved mask", "pc": "0x154c", "exec": "0x6"},
        {"id": "elsewhere", "pc": "0x10", "exec": "0x6"},      {"id": "all run", "pc": "0x1608", "exec": "0x3"},
    ]  # fmt: skip
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    return str(path)


def test_lanes_of_a_wave_are_described_and_chosen():
    found = document("lanes", KERNEL, "--state", STATE, "--wave", "1:1:1:1", "--all", "--each")
    places = {row["lanes"][0]: (row["state"], (row["source"] or {}).get("line")) for row in found["lanes"]}
    assert (found["wave"], found["dispatch"], found["kernel"], found["work_group"]) == ("1:1:1:1", 1, "X", [0, 0, 0])
    assert (found["lane_count"], found["active"], found["places"]) == (64, "0xaaaaaa", "lane_pc")
    assert places[0] == ("inactive", 19)
    assert places[1] == ("active", 16)
    assert places[24] == ("inactive", 10)
    assert places[40] == ("unused", None)
    assert found["lanes"][39]["work_items"] == [[39, 0, 0]]
    assert found["lanes"][40]["work_items"] == [None]
    words = ("lanes", KERNEL, "--state", STATE, "--wave", "1")
    assert [row["lanes"] for row in documents(*words, "--lane", "40,3,1-2")] == [[1], [2], [3]]
    assert [row["lanes"] for row in documents(*words, "--lane", "40,3,1-2", "--all")] == [[1], [2], [3], [40]]
    assert [row["lanes"] for row in documents(*words, "--active", "--lane", "0-4")] == [[1], [3]]
    assert [row["lanes"] for row in documents(*words, "-inactive", "--lane", "0-4")] == [[0], [2], [4]]
    assert [row["lanes"] for row in documents(*words, "--unused", "--active", "--lane", "39-41,1")] == [[1], [40, 41]]


@for_each("option, rows", ((), 25), (("--all",), 26), (("--group", "-all"), 4), (("--each", "--all"), 64))
def test_rows_are_folded(option, rows):
    done = run("lanes", KERNEL, "--state", STATE, "--wave", "1", *option)
    assert len(re.findall(r"^[* ] \d[\d,-]* +[AIU] ", done.stdout, re.MULTILINE)) == rows
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_what_is_not_known_is_said(other):
    done = run("lanes", KERNEL, "--state", other, "--wave", "no mask")
    assert done.returncode == 1
    assert "1-63 ?     AMDGPU Lane no mask/1-63" in done.stdout
    assert "the contents of register exec are not available" in done.stderr
    found = run("lanes", KERNEL, "--state", other, "--wave", "no saved mask", "--group")
    assert found.returncode == 1
    assert "not known" in found.stdout
    assert "s34" in found.stderr
    assert found.stderr.count("dwarfgpu: error") == 1
    assert "no program counter" in run("lanes", KERNEL, "--state", other, "--wave", "no place").stderr
    assert run("lanes", KERNEL, "--state", other, "--wave", "elsewhere").returncode == 0
    done = run("lanes", KERNEL, "--state", other, "--wave", "all run")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split() == ["2-63", "I", "AMDGPU", "Lane", "all", "run/2-63", "(inactive)"]
    assert "(inactive)" not in run("lanes", KERNEL, "--state", STATE, "--wave", "1").stdout
    assert document("lanes", KERNEL, "--state", other, "--wave", "all run")["places"] == "wave"


def test_lanes_of_host_programs_are_refused(tmp_path):
    done = run("lanes", HOST, "--state", HOST)
    assert done.returncode in (2, 3)
    assert len(done.stderr.splitlines()) <= 2


def test_waves_are_listed_with_what_is_known(other):
    found = document("waves", KERNEL, "--state", STATE)["waves"]
    assert [each["waves"] for each in found] == [["1:1:1:1", "1:1:2:1"], ["1:1:3:1"]]
    assert found[0]["work_groups"] == [[0, 0, 0], [1, 0, 0]]
    assert (found[1]["work_group"], found[1]["wave_in_group"]) == ([2, 0, 0], 0)
    assert [each["active"] for each in found] == ["0xaaaaaa", "0xffff000000"]
    assert [each["source"]["line"] for each in found] == [16, 21]
    assert [each["waves"] for each in documents("waves", KERNEL, "--state", STATE, "--each")] == [
        ["1:1:1:1"],
        ["1:1:2:1"],
        ["1:1:3:1"],
    ]
    done = run("waves", KERNEL, "--state", other)
    assert done.returncode == 1
    assert "AMDGPU Wave no mask " in done.stdout
    assert len(done.stderr.splitlines()) == 2


def test_values_of_all_waves_are_shown_and_assigned():
    found = document("eval", KERNEL, "lane", "limit", "--state", STATE, "--wave", "all")["answers"]
    assert [(each["wave"], each["expression"]) for each in found] == [
        *(("1:1:1:1", "lane"), ("1:1:2:1", "lane"), ("1:1:1:1", "limit"), ("1:1:2:1", "limit")),
        *(("1:1:3:1", "lane"), ("1:1:3:1", "limit")),
    ]
    assert found[0]["lanes"] == {str(lane): {"state": "active", "value": lane} for lane in range(1, 25, 2)}
    (whole, *_others) = document("eval", KERNEL, "lane", *ALL, "--lane", "all")["answers"]
    assert [lane.get("value") for lane in whole["lanes"].values()] == [*range(40), *[None] * 24]
    assert [lane["state"] for lane in whole["lanes"].values()][:3] == ["inactive", "active", "inactive"]
    assert whole["lanes"]["40"]["reason"]["kind"] == "not_entered"
    assert found[0]["type"] == "int"
    found = document("eval", KERNEL, "lane = 7", "lane", *ALL, "--lane", "0-3")["answers"]
    lanes = [each["lanes"] for each in found if (each["wave"], each["expression"]) == ("1:1:1:1", "lane")]
    assert [lane["value"] for lane in lanes[0].values()] == [7, 7, 7, 7]  # as --lane says
    found = document("eval", KERNEL, "lane = 7", "lane", *ALL)["answers"]
    assert {lane["value"] for each in found for lane in each["lanes"].values()} == {7}


def test_arrays(tmp_path):
    import numpy as np

    path = tmp_path / "out.npz"
    done = run("eval", KERNEL, "lane", "--state", STATE, "--wave", "all", "--npz", str(path))
    with np.load(path) as file:
        found = dict(file)
    assert (done.returncode, done.stdout) == (0, "")
    assert found["0.0.value"].tolist() == [[*range(40), *[0] * 24]] * 2
    assert set(found["0.0.state"][:, 40:].flat) == {2}  # absent
    assert found["0.0.wave"].tolist() == ["1:1:1:1", "1:1:2:1"]
    assert found["0.1.state"][0].tolist() == [0 if 24 <= lane < 40 else 1 if lane < 40 else 2 for lane in range(64)]


ALL = ("--state", STATE, "--wave", "all")


def test_a_place_has_one_location_and_one_trace():
    (found, *_others) = document("eval", KERNEL, "lane", *ALL, "--lane", "1", "--location")["answers"]
    assert found["lanes"]["1"]["location"] == "v0 bit 32 (v0[1])"
    assert found["lanes"]["1"]["sources"][0]["register"] == "v0"
    found = document("eval", KERNEL, "lane", *ALL, "--trace")["answers"]
    assert [each["wave"] for each in found if "trace" in each] == ["1:1:1:1", "1:1:3:1"]


@pytest.mark.parametrize("letter", [None, "x", "f", "s"])
def test_values_look_as_those_of_one_wave(letter):
    """The cell of each lane is what a question about its wave alone gives."""
    names = ("out", "lane", "limit", "(char) lane", "lane / 4.0")
    look = ("--lane", "all", "--csv", *(() if letter is None else ("--format", letter)))
    together = run("eval", KERNEL, *names, *ALL, *look).stdout.splitlines()[1:]
    alone = []
    for wave in "123":
        done = run("eval", KERNEL, *names, "--state", STATE, "--wave", wave, *look)
        alone += done.stdout.splitlines()[1:]
    assert len(together) == 3 * 64 * len(names)
    assert sorted(together) == sorted(alone)


@pytest.mark.slow
def test_all_waves_are_documents_as_one_wave_is():
    """Of structures, pointers and numbers, in lanes with and without a value."""
    names = ("out", "lane", "limit", "(char) lane", "lane / 4.0", "slots", "&slots[1]")
    for form, look in (("--json", ()), ("--json", ("--location",)), ("--jsonl", ())):
        together, alone = [], []
        for wave, answers in (("all", together), *((str(number), alone) for number in (1, 2, 3))):
            words = (*names, "--state", STATE, "--wave", wave, "--lane", "all", *look)
            done = run("eval", KERNEL, *words, form)
            found = [json.loads(line) for line in done.stdout.splitlines()] if form == "--jsonl" else None
            answers.extend(json.loads(done.stdout)["answers"] if found is None else found)
        for answer in together:
            assert (answer.pop("pc", 1), answer.pop("function", "X")) != (None, None)
        key = lambda answer: (answer["wave"], answer["expression"], answer.get("lane"))  # noqa: E731
        assert sorted(together, key=key) == sorted(alone, key=key)


def test_one_lane_of_a_folder_needs_no_numpy(tmp_path):
    path = str(tmp_path / "state.dgs")
    assert run("snapshot", "convert", "dwarfgpu/examples/variables.json", path).returncode == 0
    code = (
        "import sys\nfrom dwarfgpu.cli import main\n"
        f"words = ['limit', 'slots[1]', 'out[lane]', '--state', {path!r}, '--wave', '1', '--lane', '2']\n"
        f"status = main(['eval', {KERNEL!r}, *words])\n"
        "print('numpy' in sys.modules, status)"
    )
    assert in_python(code).splitlines()[-4:] == ["limit = 20", "slots[1] = 21", "out[lane] = 102", "False 0"]


HIP = "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co"


@pytest.fixture(scope="module")
def hip(tmp_path_factory) -> str:
    """Two waves in a kernel of LLVM 22 whose variables are in vector registers."""
    path = tmp_path_factory.mktemp("states") / "hip.json"
    registers = {f"v{number}": [1000 * number + lane for lane in range(64)] for number in range(16)}
    registers |= {f"s{number}": number for number in range(48)}
    waves = [{"id": str(n), "pc": "0x1d2c", "exec": "0x3", "registers": registers} for n in range(2)]
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    return str(path)


def test_repairs_are_told_in_one_wave_and_in_all(hip):
    done = run("eval", HIP, "lane", "--state", hip, "--wave", "1", "--lane", "0")
    text = " ".join(run("eval", HIP, "lane", "--state", hip, "--wave", "1", "--lane", "0", "-v").stdout.split())
    off = run("eval", HIP, "lane", "--state", hip, "--wave", "1", "--lane", "0", "--repair", "off")
    named = run("eval", HIP, "lane", "--state", hip, "--wave", "1", "--lane", "0", "--repair", "vector-register")
    found = document("eval", HIP, "lane", "--state", hip, "--wave", "1", "--lane", "0")["answers"][0]
    assert done.returncode == 0
    assert "repaired (vector-register); as written: <error> 8 bytes of memory at generic#" in text
    assert off.returncode == 1
    assert "repaired" not in off.stdout
    assert named.stdout == done.stdout
    assert found["repairs"][0]["names"] == ["vector-register"]
    assert found["repairs"][0]["as_written"]["lanes"]["0"]["state"] == "error"
    done = run("eval", HIP, "lane + 1", "--state", hip, "--wave", "all", "-v")
    found = documents("eval", HIP, "lane + 1", "--state", hip, "--wave", "all")
    assert "lane: repaired (vector-register); as written, in lane 0 of wave 0: <error>" in " ".join(done.stdout.split())
    assert found[0]["repairs"][0]["variable"] == "lane"
    assert "repairs" not in found[1]
    as_written = found[0]["repairs"][0]["as_written"]
    assert as_written["wave"] == "0"
    assert "generic#" in as_written["lanes"]["0"]["reason"]["message"]


STOPPED = "dwarfgpu/examples/stopped.json"
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


def test_a_wave_is_named_in_text_and_json(folder):
    done = run("eval", "--state", folder, "--wave", "1", "--ops", "DW_OP_lit1")
    assert done.stdout == "wave 1:1:1:1: value 1 (generic)\n"
    done = run("eval", "--wave", "1", "--ops", "DW_OP_lit1")
    assert (done.returncode, "--wave chooses a wave" in done.stderr) == (2, True)
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
        "schema": 1,                         "target": "generic",                 "byte_order": "big",
        "address_size": 4,                   "waves": [{"registers": {"r3": 513}}]}  # fmt: skip
    path.write_text(json.dumps(state))
    assert run("eval", "--state", str(path), "--read", "4", "--ops", "DW_OP_reg3").stdout == "wave 0: r3: 00000201\n"
    assert run("eval", "--state", str(path), "--ops", "DW_OP_breg3 1").stdout == "wave 0: default#0x202\n"


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
