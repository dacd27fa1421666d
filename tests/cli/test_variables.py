import csv
import io
import json
import re

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.cli import main
from tests.builders.dwarf import die
from tests.builders.folders import ROOT
from tests.builders.hostile import Case, bounded, gpu, named, typed
from tests.builders.parameters import for_each

FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ("--state", ROOT / "dwarfgpu/examples/variables.json")


def test_columns(run, tmp_path):
    _, out, _ = run("eval", FILE, "even", "slots", *STATE, "--lane", "2,3", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["expression"], row["lane"], row["state"], row["value"]) for row in rows] == [
        ("even", "2", "active", "14"),                         ("even", "3", "absent", ""),
        ("slots", "2", "active", "{20, 21, 22, 23}"),          ("slots", "3", "error", "")]  # fmt: skip
    path = tmp_path / "out.npz"
    assert run("eval", FILE, "even", "left", *STATE, "--npz", path)[:2] == (0, "")
    with np.load(path) as found:
        assert found["expressions"].tolist() == ["even", "left"]
        assert found["0.value"].tolist()[:3] == [10, 14, 18]
        assert found["1.lane"].tolist()[:3] == [0, 2, 4]


CALLS = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
IN_CALLS = ("--state", ROOT / "dwarfgpu/examples/calls.json", "--wave", "1")
HOST = ROOT / "fixtures/host/frames.gcc.O2.v5.x86_64"


@pytest.mark.parametrize("words", [("eval", "even", "--lane", "2"), ("locals",)])
def test_a_state_on_standard_input(run, monkeypatch, words):
    monkeypatch.chdir(ROOT / "dwarfgpu/examples")  # the path of the code object is relative to the state
    command, *rest = words
    expected = run(command, FILE, *rest, *STATE)
    assert run(command, FILE, *rest, "--state", "-", stdin=STATE[1].read_bytes()) == expected
    assert expected[0] == 0


def test_arrays_on_standard_output(capsysbinary, tmp_path):
    for number, wave in enumerate(("1", "all")):
        words = ["eval", str(FILE), "even", *map(str, STATE), "--lane", "2,4", "--wave", wave, "--npz"]
        path = tmp_path / f"{number}.npz"
        assert main([*words, str(path)]) == main([*words, "-"]) == 0
        shown = np.load(io.BytesIO(capsysbinary.readouterr().out))
        with np.load(path) as file:
            written = dict(file)
        assert sorted(shown) == sorted(written)
        assert all(np.array_equal(shown[key], written[key]) for key in written)


def test_arrays_of_an_assignment_are_those_of_one(run, tmp_path):
    path = tmp_path / "out.npz"
    assert run("eval", FILE, "limit += 1", "limit", *STATE, "--lane", "2", "--npz", path)[0] == 0
    with np.load(path) as arrays:
        assert [arrays[key].tolist() for key in ("0.value", "1.value")] == [[21], [21]]
    assert run("eval", FILE, "unused", *STATE, "--npz", path)[0] == 1


@pytest.mark.parametrize("codes", [[], [{"path": "gone.co", "load_address": "0x7f0000000000"}]])
def test_code_of_another_processor(run, tmp_path, codes):
    """Where the snapshot does not say which contents its code object had."""
    state = json.loads(STATE[1].read_text()) | {"code_objects": codes}
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state))
    assert run("waves", FILE, "--state", path)[0] == 0
    for other in (ROOT / "fixtures/asm/lane-pc.gfx1100.w32.co", HOST):
        status, out, err = run("waves", other, "--state", path)
        assert (status, out) == (3, "")
        assert "and the snapshot is of amdgcn-gfx90a\nhint: --force" in err
        assert run("waves", other, "--state", path, "--force")[0] == 0


def test_threads_of_host_programs_have_no_lanes(run):
    program = dg.open(HOST)
    assert program["1 + 1"].values([0]).array.tolist() == [2]
    with pytest.raises(dg.UsageError, match="threads of x86_64 have no lanes"):
        program["1 + 1"].values([3])


def test_a_trace_of_a_repaired_expression_has_its_operations(run):
    words = ("eval", CALLS, "lane", *IN_CALLS, "--frame", "4", "--lane", "3", "--trace")
    lines = run(*words)[1].splitlines()
    assert max(map(len, lines)) <= 80
    begin = lines.index("in .debug_loclists+0x569, repaired (vector-register):")
    assert [line.split("  ")[4] for line in lines[begin:] if line.startswith("        DW_OP")] == [
        "DW_OP_regx 1577", "DW_OP_LLVM_push_lane", "DW_OP_lit2", "DW_OP_shl", "DW_OP_LLVM_offset"]  # fmt: skip
    (answer,) = json.loads(run(*words, "--json")[1])["answers"]
    assert [each["text"] for each in answer["trace"] if "repairs" in each][:2] == [
        "DW_OP_regx 1577", "DW_OP_LLVM_push_lane"]  # fmt: skip
    assert "repairs" not in answer["trace"][0]


def test_frames_of_all_waves_have_their_sources(run):
    state = IN_CALLS[:2]
    words = ("eval", CALLS, "$s32", *state, "--wave", "all", "--frame", "3")
    heads = [line for line in run(*words)[1].splitlines() if re.search(" waves? in ", line)]
    frames = [json.loads(run("locals", CALLS, *state, "--wave", n, "--frame", "3", "--json")[1]) for n in "123"]
    places = [each["frames"][0]["frame"]["pc"] for each in frames]
    assert [head.rpartition(" ")[2] for head in heads] == [f"{pc:#x}" for pc in dict.fromkeys(places)]
    assert [each["pc"] for each in json.loads(run(*words, "--json")[1])["answers"]] == places
    frame = json.loads(run("locals", FILE, *STATE, "--json")[1])["frames"][0]["frame"]
    lane = json.loads(run("lanes", FILE, *STATE, "--lane", "2", "--json")[1])["lanes"][0]
    assert frame["source"] == lane["source"] == {"file": "src/asm/lane-pc.c", "line": 15, "column": 7}


def test_repairs_are_one_footnote_of_an_answer(run, tmp_path):
    """What the file alone says is shown with -v, and in JSON once a variable."""
    path = tmp_path / "state.json"
    waves = [{"id": "0", "pc": "0x1d2c", "exec": "0x3", "registers": {"v0": [0, 1, 2, 3], "v4": [1, 2, 3, 4]}}]
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": waves}))
    words = ("locals", ROOT / "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "--state", path)
    out = run(*words)[1]
    assert out.count("repaired") == 1
    note = "repaired: the compiler misdescribes step, rest, lane, result (-v shows how)"
    assert " ".join(out.splitlines()).endswith(note)
    assert max(map(len, out.splitlines())) <= 80
    assert run(*words, "-v")[1].count("repaired (vector-register); as written: <error>") == 2
    (frame,) = json.loads(run(*words, "--lane", "all", "--json")[1])["frames"]
    repairs = {each["name"]: each["repairs"] for each in frame["variables"] if "repairs" in each}
    assert [each["names"] for each in repairs["rest"]] == [["vector-register"]]
    assert list(repairs["rest"][0]["as_written"]["lanes"]) == ["0"]


OLD_NUMBERS = ROOT / "fixtures/asm/lane-pc-old-numbers.gfx90a.w64.co"


def test_active_lanes_are_those_of_the_attribute(run, tmp_path):
    """Where a function runs all lanes for a moment, `DW_AT_LLVM_active_lane` has those that it is about."""
    symbols = dg.open(OLD_NUMBERS).file.symbol_image.symbols()
    pc = next(each.value for each in symbols if each.name == "whole_wave_begin")
    wave = {"id": "w", "pc": pc, "exec": (1 << 64) - 1, "registers": {"s34": 0b1010, "s35": 0, "v0": [1] * 64}}
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"schema": 1, "target": "amdgcn-amd-amdhsa--gfx90a", "waves": [wave]}))
    assert json.loads(run("lanes", OLD_NUMBERS, "--state", path, "--json")[1])["active"] == "0xa"
    for words in (("--json",), ("--json", "--wave", "all")):
        (answer,) = json.loads(run("eval", OLD_NUMBERS, "$lane", "--state", path, *words)[1])["answers"]
        states = answer["states"] if "states" in answer else [each["state"] for each in answer["lanes"].values()]
        assert states.count("active") == 2
    assert list(json.loads(run("eval", OLD_NUMBERS, "$lane", "--state", path, "--json")[1])["answers"][0]["lanes"]) == [
        "1",
        "3",
    ]
    assert [each.number for each in dg.open(OLD_NUMBERS).attach(path)[0].lanes if each.is_active] == [1, 3]


@for_each("words", ("eval", FILE, "even"), ("eval", FILE, "even", "--wave", "all"), ("locals", FILE), ("waves", FILE))
def test_a_mask_that_is_not_known_is_said(run, tmp_path, words):
    state = json.loads(STATE[1].read_text())
    del state["waves"][0]["exec"]
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state | {"code_objects": [{"path": str(FILE), "load_address": "0x7f0000000000"}]}))
    status, out, err = run(*words, "--state", path)
    assert status == 1
    assert out
    assert "the active lanes of wave 1:1:1:1 are not known: the contents of register exec" in err


def test_how_many_lanes_have_no_value_is_within_the_width(tmp_path):
    case = Case(tmp_path, gpu(die("variable", named("ab"), typed("int"))))
    lines = bounded("locals", case.file, "--state", case.state).out.splitlines()
    expected = ["#0  k", "  ab = <optimized out> it has neither a location nor a constant value", "      (64 lanes)"]
    assert lines == expected
