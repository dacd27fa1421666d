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


def test_options_formats_and_lanes(run):
    expected = run("eval", FILE, "even", "left", *STATE, "--lane", "4")
    assert expected == (0, "even = 18\nleft = 8\n", "")
    assert run("eval", FILE, "--lane", "4", "even", *STATE, "left") == expected
    assert run("eval", *STATE, FILE, "--lane", "4", "even", "left") == expected
    assert run("eval", FILE, "lane", *STATE, "--lane", "2,4")[1] == "lane  int\n  lane 2  2\n  lane 4  4\n"
    status, out, _ = run("eval", FILE, "lane", *STATE, "--lane", "3")
    assert (status, out) == (0, "lane = 3  (lane 3 is inactive)\n")
    assert "lanes 56-63" in run("eval", FILE, "lane", *STATE, "--lane", "all")[1]
    assert run("eval", FILE, "lane", *STATE, "--lane", "64")[0] == 2
    assert run("eval", FILE, "limit", *STATE, "--lane", "0", "--format", "x")[1] == "limit = 0x14\n"
    assert run("eval", FILE, "limit", *STATE, "--lane", "0", "--format", "q")[0] == 2
    assert run("eval", FILE, "even", *STATE, "--lane", "2", "--format", "/x")[1] == "even = 0xe\n"


def test_json_has_a_state_for_every_lane(run):
    status, out, _ = run("eval", FILE, "even", "unused", *STATE, "--lane", "2,3", "--json", "--location")
    even, unused = json.loads(out)["answers"]
    assert status == 1
    assert even["type"] == "int"
    assert even["lanes"]["2"]["value"] == 14
    assert [even["lanes"][lane]["state"] for lane in "23"] == ["active", "absent"]
    assert even["lanes"]["3"]["reason"]["kind"] == "not_in_scope"
    assert even["lanes"]["2"]["sources"][0] | {"bit_offset": 0} == {
        "bit_offset": 0, "bit_size": 32, "kind": "register", "register": "v2", "lane": 2, "bit": 0}  # fmt: skip
    assert unused["lanes"]["2"]["state"] == "absent"
    assert unused["lanes"]["2"]["reason"]["kind"] == "optimized_out"
    lines = [json.loads(line) for line in run("eval", FILE, "even", *STATE, "--lane", "2,4", "--jsonl")[1].splitlines()]
    assert [(line["lane"], line["value"]) for line in lines] == [(2, 14), (4, 18)]
    assert {(line["schema"], line["type"]) for line in lines} == {(1, "int")}


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


def test_each_expression_has_its_trace(run):
    status, out, _ = run("eval", FILE, "slots[0]", *STATE, "--lane", "2", "--trace")
    assert status == 0
    assert out.startswith("in .debug_info+")
    assert "DW_OP_LLVM_form_aspace_address" in out
    assert out.endswith("slots[0] = 20\n")
    document = json.loads(run("eval", FILE, "even", *STATE, "--lane", "2", "--trace", "--json")[1])
    assert document["answers"][0]["trace"][0]["expression"].startswith(".debug_loclists+")
    words = ("eval", FILE, "even", "slots[0]", *STATE, "--trace", "--lane")
    assert [line for line in run(*words, "2")[1].splitlines() if not line.startswith("0x")] == [
        "in .debug_loclists+0xe7:", "even = 14", "in .debug_info+0x20f:", "slots[0] = 20"]  # fmt: skip
    expected = [("even", 5), ("slots[0]", 3)]
    answers = json.loads(run(*words, "2", "--json")[1])["answers"]
    assert [(each["expression"], len(each["trace"])) for each in answers] == expected
    by_lane = [json.loads(line) for line in run(*words, "2,4", "--jsonl")[1].splitlines()]
    assert [(each["expression"], len(each["trace"])) for each in by_lane if "trace" in each] == expected
    assert len(by_lane) == 4


def test_exit_statuses(run, tmp_path):
    assert run("eval", FILE, "even", *STATE)[0] == 0
    assert run("eval", FILE, "unused", *STATE)[0] == 1
    assert run("eval", FILE, "slots", *STATE, "--lane", "3")[0] == 0  # a lane that is not active
    assert run("eval", FILE, "1 / 0")[0] == 1
    status, _, err = run("eval", FILE, "even +", *STATE)
    assert status == 2
    assert "at column 7" in err
    assert run("eval", FILE, "nothing", *STATE)[0] == 2
    assert run("eval", FILE)[0] == 2
    assert run("eval", tmp_path / "nothing", "x")[0] == 3
    assert run("eval", FILE, "x", "--ops", "DW_OP_lit1")[0] == 2
    assert run("eval", "--ops", "DW_OP_lit1", "--frame", "1")[0] == 2
    assert run("eval", FILE, "x", "--stack")[0] == 2
    assert run("eval", FILE, "x", "--wave", "1")[0] == 2
    assert run("eval", FILE, "x", *STATE, "--frame", "7")[0] == 2


def test_locals_with_and_without_a_machine(run):
    status, out, err = run("locals", FILE, *STATE, "--lane", "2")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "#0  X at src/asm/lane-pc.c:15"
    assert "  even = 14" in lines
    assert "  slots = {20, 21, 22, 23}" in lines
    (frame,) = json.loads(run("locals", FILE, *STATE, "--lane", "2", "--json")[1])["frames"]
    assert frame["frame"]["function"] == "X"
    assert [each["name"] for each in frame["variables"]][:3] == ["even", "left", "out"]
    assert run("locals", FILE)[0] == 2
    assert "tile" in run("locals", FILE, *STATE, "--lane", "2", "--statics")[1]
    status, out, _ = run("locals", FILE, "--pc", "X", "--all")
    assert status == 0
    assert "limit: int\n    0x1518 to 0x1580: DW_OP_regx s6\n" in out
    (frame,) = json.loads(run("locals", FILE, "--pc", "0x1548", "--json")[1])["frames"]
    assert frame["variables"][0]["locations"][0]["range"] == [0x1544, 0x154C]


def test_a_host_program_and_frames(run):
    status, out, _ = run("eval", ROOT / "fixtures/host/values.gcc.O0.v5.x86_64", "message", "matrix", "global_int + 1")
    assert status == 0
    assert out == 'message = "hello"\nmatrix = {{1, 2, 3}, {4, 5, 6}}\nglobal_int + 1 = 305419897\n'
    assert run("frames", FILE, *STATE) == run("bt", FILE, *STATE)
    assert run("eval", "--ops", "DW_OP_lit1; DW_OP_plus_uconst 4")[0] == 0
    assert run("eval")[0] == 2


CALLS = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
IN_CALLS = ("--state", ROOT / "dwarfgpu/examples/calls.json", "--wave", "1")
HOST = ROOT / "fixtures/host/frames.gcc.O2.v5.x86_64"
ARRAYS = ROOT / "fixtures/asm/types.powerpc64"


@for_each("words, said",
    (("--csv", "--json"), "--csv does not go with --json"),
    (("--csv", "--npz", "-"), "--npz does not go with --csv"),
    (("--jsonl", "--npz", "-"), "--npz does not go with --jsonl"),
    (("--csv", "--trace"), "--csv has no column for --trace"),
    (("--npz", "-", "--location"), "--npz has no column for --location"),
    (("--frame", "-1"), "there is no frame -1"),
    (("--lane", "-1"), "Unrecognized option at: -1"))  # fmt: skip
@pytest.mark.parametrize("wave", ["1", "all"])
def test_what_cannot_be_asked(run, wave, words, said):
    status, out, err = run("eval", FILE, "even", *STATE, "--wave", wave, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"dwarfgpu: error: {said}\nhint: ")


@pytest.mark.parametrize("words", [("eval", "even", "--lane", "2"), ("locals",)])
def test_a_state_on_standard_input(run, monkeypatch, words):
    monkeypatch.chdir(ROOT / "dwarfgpu/examples")  # the path of the code object is relative to the state
    command, *rest = words
    expected = run(command, FILE, *rest, *STATE)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(STATE[1].read_bytes())))
    assert run(command, FILE, *rest, "--state", "-") == expected
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


def test_machines_and_frames_that_are_missing(run):
    status, out, err = run("eval", FILE, "even", "--pc", "0x1548")
    assert (status, out.splitlines()[0][:14]) == (1, "even = <error>")
    assert err.startswith("hint: --state names a snapshot or a core file")
    assert run("eval", FILE, "even", "--pc", "0x1548", "--location")[2] == ""
    for command in ("locals", "lanes"):
        status, out, err = run(command, FILE, *STATE, "--frame", "-1")
        assert (status, out) == (2, "")
        assert "there is no frame -1\nhint: frames count from 0" in err


def test_callers_have_reasons_places_and_tables(run):
    status, out, _ = run("eval", CALLS, "$v0", "$v0[3]", "x", *IN_CALLS, "--frame", "1", "--lane", "0", "--json")
    found = [each["lanes"]["0"]["reason"] for each in json.loads(out)["answers"]]
    assert status == 1
    assert {each["kind"] for each in found} == {"undefined_rule"}
    assert len({each["message"] for each in found}) == 1
    words = ("eval", CALLS, "$v41", "$v41[3]", *IN_CALLS, "--frame", "1", "--lane", "0-3", "--location")
    places = [line.strip() for line in run(*words)[1].splitlines() if line.startswith("    at")]
    assert places == ["at v41", "at v41 bit 96 (v41[3])"]
    lines = run("locals", CALLS, *IN_CALLS, "--frame", "4")[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert "    lanes 12-15   -1413478772 -1413478771 -1413478770 -1413478769" in lines


def test_an_array_without_its_bounds_is_no_value(run):
    status, out, _ = run("eval", ARRAYS, "array_ptr", "--json")
    (found,) = json.loads(out)["answers"]
    assert (status, found["state"], found["reason"]["error"]["kind"]) == (1, "error", "unknown_operation")
    status, out, _ = run("eval", ARRAYS, "array_ptr", "array_unallocated", "--dialect", "llvm-user")
    assert (status, out) == (0, "array_ptr = {1, 2, 3, 4}\narray_unallocated = <not associated>\n")


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


def test_what_is_wrong_with_expressions_or_their_options(run):
    texts = ("&even", "nosuch", "1 +", "even")
    status, out, err = run("eval", FILE, *texts, *STATE, "--lane", "2", "--json")
    answers = json.loads(out)["answers"]
    assert (status, err, [each["expression"] for each in answers]) == (1, "", [*texts])
    kinds = [each["lanes"]["2"]["reason"]["error"]["kind"] for each in answers[:3]]
    assert (kinds, answers[3]["lanes"]["2"]["value"]) == (["no_address", "no_name", "bad_expression"], 14)
    assert run("eval", FILE, *texts, *STATE, "--lane", "2")[1].splitlines()[-1] == "even = 14"
    assert run("eval", FILE, "&even", *STATE, "--lane", "2", "--json")[:2] == (2, "")
    for words in (("--frame", "0"), ("--csv",), ("--format", "x"), ("--location",)):
        status, out, err = run("eval", "--ops", "DW_OP_lit1", *words)
        assert (status, out) == (2, "")
        assert f"{words[0]} is for expressions of the source language" in err
    for words in (("--address-size", "8"), ("--dwarf-version", "5"), ("--stack",), ("--read", "4")):
        status, out, err = run("eval", FILE, "even", *STATE, *words)
        assert (status, out) == (2, "")
        assert f"{words[0]} is for --ops and --hex" in err


def test_tables_of_lanes_have_reasons_and_no_empty_colours(run):
    out = run("eval", FILE, "*(int *)(0x10000 + lane * 16)", "--all", *STATE)[1].splitlines()
    assert out[1] == "  lanes 0-7       100 (104)     -     -     -     -     -     -"
    assert out[-2:] == [
        "  -  lanes 2-63: <error> Cannot access memory at address 0x10020: the machine",
        "     state does not have it (in lane 2; the others alike)",
    ]
    assert "\x1b[2m\x1b[0m" not in run("locals", FILE, *STATE, "--lane", "2", "--color", "always")[1]


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


def test_locations_without_a_machine_fit_and_tell_their_repairs(run):
    for words in (("locals", FILE, "--pc", "X"), ("eval", FILE, "even", "--pc", "X+0x48", "--location")):
        status, out, err = run(*words)
        assert (status, err) == (0, "")
        assert max(map(len, out.splitlines())) <= 80
    assert "there is no frame 1 at X, the last one is 0" in run("locals", FILE, "--pc", "X", "--frame", "1")[2]
    words = ("locals", ROOT / "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "--pc", "0x1d2c")
    repaired, written = (
        {
            each["name"]: each["locations"]
            for each in json.loads(run(*words, "--json", *more)[1])["frames"][0]["variables"]
        }
        for more in ((), ("--repair", "off"))
    )
    for name, locations in repaired.items():
        for one, text in zip(locations, written[name], strict=True):
            assert one["operations"] == text["operations"]
            assert "repairs" not in text
            assert "repaired" not in text
    assert repaired["rest"][0]["repairs"] == ["vector-register"]
    out = run(*words)[1]
    assert max(map(len, out.splitlines())) <= 80
    assert "    0x1d2c to 0x1de0: DW_OP_bregx v4+0; DW_OP_lit1; DW_OP_swap; DW_OP_xderef\n" in out
    assert "      repaired (vector-register): DW_OP_regx v4; DW_OP_LLVM_push_lane;\n" in out


def test_locations_at_an_address_are_those_that_hold_there(run):
    """Others are counted, and --all shows them."""
    words = ("locals", ROOT / "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "--pc", "0x1d2c")
    (here,), (everywhere,) = (json.loads(run(*words, "--json", *more)[1])["frames"] for more in ((), ("--all",)))
    counts = [[len(each["locations"]) for each in frame["variables"]] for frame in (here, everywhere)]
    assert max(counts[0]) == 1
    assert max(counts[1]) > 3
    for variable in here["variables"]:
        for location in variable["locations"]:
            low, high = location["range"]
            assert low <= 0x1D2C < high
    others = sum(counts[1]) - sum(counts[0])
    assert run(*words)[1].endswith(f"\n{others} other locations elsewhere; --all shows every location\n")
    assert "other location" not in run(*words, "--all")[1]
    assert "  result: int  (no location here)\n" in run("locals", words[1], "--pc", "0x1de8")[1]
    assert run("eval", words[1], "step", "--pc", "0x1d2c", "--location")[1].count("0x1d") == 2


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


PLACE_OF_EVEN = "DW_OP_regx 2562; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset"


def test_operations_are_evaluated_in_the_frame_of_a_file(run):
    status, out, _ = run("eval", FILE, "--ops", PLACE_OF_EVEN, *STATE, "--lane", "2,3", "--json")
    document = json.loads(out)
    assert (status, document["schema"], document["rules"]) == (0, 1, "amd")
    assert {lane: answer["result"]["bit_offset"] for lane, answer in document["lanes"].items()} == {"2": 64, "3": 96}
    status, out, _ = run("eval", FILE, "--ops", PLACE_OF_EVEN, *STATE, "--lane", "2,3", "--jsonl")
    assert [json.loads(line)["lane"] for line in out.splitlines()] == [2, 3]
    assert run("eval", FILE, "--ops", "DW_OP_lit1; DW_OP_plus_uconst 4; DW_OP_stack_value")[1] == (
        "implicit 0500000000000000\n"
    )
    assert run("eval", FILE, "even", "--ops", "DW_OP_lit1", *STATE)[0] == 2
    status, out, _ = run("eval", FILE, "--ops", "DW_OP_lit1; DW_OP_lit0; DW_OP_div", *STATE, "--lane", "2", "--json")
    (answer,) = json.loads(out)["lanes"].values()
    assert (status, answer["error"]["kind"]) == (1, "division_by_zero")


def test_how_many_lanes_have_no_value_is_within_the_width(tmp_path):
    case = Case(tmp_path, gpu(die("variable", named("ab"), typed("int"))))
    lines = bounded("locals", case.file, "--state", case.state).out.splitlines()
    expected = ["#0  k", "  ab = <optimized out> it has neither a location nor a constant value", "      (64 lanes)"]
    assert lines == expected
