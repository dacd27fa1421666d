import json
import os
import re
import shlex
import signal
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from dwarfgpu.audits.judge.comparison import ComparedPart, StatementComparison
from dwarfgpu.audits.judge.earlier_judgement import lost_kernels, unknown_before
from dwarfgpu.audits.judge.judgement import JudgedPart
from dwarfgpu.execution.device import Device
from dwarfgpu.questions import judging
from tests.builders.commands import ROOT
from tests.builders.commands import outcome as run
from tests.builders.judged_statements import assembled_loop

SIZES = ("--grid", "64", "--work-group", "64")
RIGHT = ("judge", "fixtures/asm/lane-pc.gfx90a.w64.co", "X", *SIZES, "zeros(64)", "40")
CALLS = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
WRONG = ("judge", CALLS, "_Z5callsPiPfi", *SIZES, "zeros(4096)", "zeros(4096)", "20")
SAXPY = ("judge", "fixtures/amdgpu/cl-kernels.{}.v5.co", "saxpy", *SIZES, "zeros(64)", "ones(64)", "2", "60")
OPTIMIZED = (SAXPY[0], SAXPY[1].format("gfx90a.w64.O2"), *SAXPY[2:])
WHOLE = (*OPTIMIZED[:-1], "64")
OTHER = ("--against", SAXPY[1].format("gfx1100.w32.O0"))
EVERY = ("judge", OPTIMIZED[1], *OTHER, "--grid", "32", "--work-group", "32")


@pytest.fixture(autouse=True)
def _judged_once(request):
    """Tests that patch something judge anew."""
    if "monkeypatch" not in request.fixturenames:
        request.getfixturevalue("judged_once")


@cache
def whole():
    """Return what is judged of all kernels of a file and compared with another build, as the JSON is written."""
    status, out, _err = run(*EVERY, "--json")
    assert status == 3  # a kernel does not end
    return out


ONE_GROUP = f"hint: {judging.ONE_GROUP}\n"


@pytest.mark.slow
def test_files_that_are_right_have_no_findings_once_they_have_ended():
    status, out, err = run(*RIGHT)
    assert (status, err) == (0, ONE_GROUP)
    assert out.splitlines()[-1] == "verdict: no findings"
    assert "26 instructions executed; 166 locations of variables: 80.1% right, 0 wrong," in out
    assert "  X         26 of 26    133      0      33    80.1%     100%   100%" in out
    status, out, err = run(*RIGHT, "--limit", "5")
    assert status == 0
    assert "what it has not executed is not judged" in err
    assert "5 instructions have been executed" in out
    status, _out, err = run(*RIGHT, "--require", "1000")
    assert status == 3
    assert "26 instructions judged, 1000 required" in err
    status, out, err = run(*RIGHT, "--against", "fixtures/asm/lane-pc.gfx1100.w32.co")
    assert (status, err) == (0, ONE_GROUP)
    assert "  against lane-pc.gfx1100.w32.co  values  % available  % of these right" in out
    assert out.splitlines()[-1] == "verdict: no findings"
    assert next(line.split() for line in out.splitlines() if line.startswith("  all "))[2:] == ["100.0%", "100.0%"]
    status, _out, err = run(*OPTIMIZED, *OTHER, "--limit", "100")
    assert status == 0  # a limit is what was asked for
    assert "cl-kernels.gfx1100.w32.O0.v5.co has not ended: 1" in err
    assert "instructions have been executed; what it has not done is not compared" in err


@pytest.mark.slow
def test_what_is_wrong_is_named_with_a_place_that_run_stops_at():
    status, out, err = run(*WRONG)
    assert (status, err) == (1, ONE_GROUP)
    text = " ".join(out.split())
    assert "error: outer(int, int)+0x10 to +0x18: exec of the caller is" in text
    assert "has no rule for exec [A.6.4.1] (unwind-register)" in text
    assert "first: wave 1:1:1:1 at 0x7f0000" in text
    assert "  function " in out
    _status, out, _err = run(*WRONG, "--json")
    place = json.loads(out)["findings"][0]["seen"].partition(" at ")[2].partition(",")[0]
    status, out, _err = run("run", *WRONG[1:], "--until", place)
    assert status == 0
    assert place in out


@pytest.mark.slow
def test_findings_of_one_build_and_of_two_as_sarif():
    status, out, _err = run(*WRONG, "--sarif", "--limit", "300")
    assert status == 1
    (result,) = json.loads(out)["runs"]
    assert {each["ruleId"] for each in result["results"]} <= {each["id"] for each in result["tool"]["driver"]["rules"]}
    assert result["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/hip/calls.hip"
    assert json.loads(run(*OPTIMIZED, *OTHER, "--sarif")[1])["runs"][0]["results"] == []  # they do not count
    status, out, _err = run(*OPTIMIZED, *OTHER, "--sarif", "--strict")
    assert status == 1
    (result,) = json.loads(out)["runs"]
    assert {"against-wrong", "against-missing"} <= {rule["id"] for rule in result["tool"]["driver"]["rules"]}
    found = [each for each in result["results"] if each["ruleId"] == "against-missing"]
    assert found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/opencl/kernels.cl"


@pytest.mark.slow
def test_what_a_repair_reads_as_meant_is_found_without_it():
    rules = {}
    for policy in ("auto", "off"):
        status, out, _err = run(*WHOLE, "--repair", policy, "--json")
        assert status == (policy == "off")  # that there is no call frame information is a limit
        rules[policy] = {finding["rule"] for finding in json.loads(out)["findings"]}
    steps = {"unwind-missing", "statement-back"}  # which no repair is about
    assert rules == {"auto": {*steps, "value-written"}, "off": {*steps, "value-failed"}}
    counts = {}
    for policy in ("auto", "off"):
        _status, out, _err = run(*OPTIMIZED, *OTHER, "--repair", policy, "--json")
        variables = {variable["name"]: variable for variable in json.loads(out)["against"]["variables"]}
        counts[policy] = [variables["i"][result] for result in ("right", "wrong", "missing")]
    assert counts == {"auto": [124, 0, 0], "off": [0, 0, 64]}  # all need it in the condition


def test_a_source_that_is_not_here_is_named(tmp_path):
    path = tmp_path / "moved.co"
    path.write_bytes((ROOT / RIGHT[1]).read_bytes())
    status, _out, err = run("judge", str(path), *RIGHT[2:])
    assert status == 0
    assert (
        "the text of src/asm/lane-pc.c was not found, so changes of variables and steps back there are not judged"
        in err
    )


def test_steps_that_go_back_alone_are_no_failure(require_tool, tmp_path):
    """Optimized code has them almost everywhere; they are told, and are no reason for an exit status of 1."""
    folder = tmp_path / "back"
    folder.mkdir()
    path = assembled_loop((require_tool("llvm-mc-22"), require_tool("ld.lld-22")), folder, called=2)
    words = ("judge", path, "loop", *SIZES)
    status, out, err = run(*words)
    assert (status, err) == (0, ONE_GROUP)
    assert "them): 1 statement-back: the statements of optimized code are in another order" in " ".join(out.split())
    assert out.splitlines()[-1].endswith("no findings (1 finding not counted, no variable was judged)")
    status, out, _err = run(*words, "-v")
    assert ": limit: loop+" in " ".join(out.split())
    assert "not counted: the statements of" in " ".join(out.split())
    assert [run(*words, *more)[0] for more in (["--strict"], ["--strict", "--ignore", "statement"])] == [1, 0]
    known = str(tmp_path / "known.json")
    assert run(*words, "--json", "-o", known)[0] == 0
    document = json.loads(Path(known).read_text())
    severities = [each["severity"] for each in document["findings"]]
    counts = {name: document[f"{name}s"] for name in ("error", "warning", "note", "limit")}
    assert counts == {name: severities.count(name) for name in counts}
    assert [document[name] for name in ("errors", "warnings", "notes", "limits")] == [0, 0, 0, 1]
    status, out, _err = run(*words, "--sarif")
    (result,) = json.loads(out)["runs"]
    assert status == 0
    assert result["results"] == []


def test_statements_are_findings_like_the_others(tmp_path):
    path = str(tmp_path / "known.json")
    assert run(*WHOLE, "--json", "-o", path)[0] == 0
    back = [each for each in json.loads(Path(path).read_text())["findings"] if each["rule"] == "statement-back"]
    assert {each["clause"] for each in back} == {"DWARF 5, 6.2.2"}
    assert all("a step goes back from line" in each["message"] for each in back)
    assert {each["severity"] for each in back} == {"limit"}
    (result,) = json.loads(run(*WHOLE, "--sarif", "--strict")[1])["runs"]
    assert "statement-back" in {each["ruleId"] for each in result["results"]}
    status, out, _err = run(*WHOLE, "--baseline", path)
    assert status == 0
    assert out.splitlines()[-1].startswith("verdict: no findings (")  # but those of the baseline


@pytest.mark.slow
def test_values_between_statements_and_lines_are_compared_with_another_build(tmp_path):
    """A location that goes on for a few instructions is wrong where no statement begins."""
    divergent = ("divergent", *SIZES, "zeros(64)", "40", *OTHER, "--json")
    file = SAXPY[1].format("gfx1100.w32.O2")
    _status, out, _err = run("judge", file, *divergent)
    document = json.loads(out)
    between = document["against"]["between"]
    assert between["right"] > 1000
    assert between["wrong"] == 0
    lines = [each for each in document["findings"] if each["rule"] == "against-line"]
    assert {each["limit"] for each in lines} == {"line-dropped"}
    assert any("line 97 is executed in cl-kernels.gfx1100.w32.O0.v5.co" in each["message"] for each in lines)
    data = bytearray((ROOT / file).read_bytes())
    place = data.index(bytes.fromhex("c80a 07 92810c00 35 16"))  # where result is at last: DW_OP_bregx v1+0
    data[place + 4] = 0x83
    (tmp_path / "cl-kernels.co").write_bytes(data)
    status, out, _err = run("judge", str(tmp_path / "cl-kernels.co"), *divergent)
    found = {each["rule"] for each in json.loads(out)["findings"]}
    assert (status, "against-between" in found, "against-wrong" in found) == (1, True, False)
    assert (json.loads(out)["variables"]["wrong"], json.loads(out)["against"]["total"]["wrong"]) == (9, 0)
    between = next(each for each in json.loads(out)["findings"] if each["rule"] == "against-between")
    lanes = [31 * share // 7 for share in range(8)]  # of those that execute it, which are recorded between statements
    assert between["lanes"] == [{"wave": wave, "lanes": lanes} for wave in ("1:1:1:1", "1:1:1:2")]
    _status, out, _err = run("judge", str(tmp_path / "cl-kernels.co"), *divergent[:-1])
    text = " ".join(out.split())
    assert "324 locations of variables: 42.2% right, 9 wrong, 54.9% absent; 4,838 values at statements: 45.4%" in text
    assert "location: +0x10c to +0x148: DW_OP_bregx v3+0" in text  # to the end of the function
    assert "    seen at least in lanes 0,4,8,13,17,22,26,31 of 2 waves (16 lanes)\n" in out


def test_shares_are_shown_and_every_variable_is_in_the_json():
    status, out, err = run(*OPTIMIZED, *OTHER)
    assert (status, err) == (0, ONE_GROUP)
    assert all(len(line) <= 80 for line in out.splitlines())
    every = run(*OPTIMIZED, *OTHER, "--all", "-v")[1]
    assert "n has no value, and is 60 in cl-kernels.gfx1100.w32.O0.v5.co" in " ".join(every.split())
    table = [line.split() for line in out.splitlines() if line.endswith("100.0%")]
    assert [line[0] for line in table[-3:]] == ["saxpy", "src/opencl/kernels.cl", "all"]
    assert {line[2] for line in table[-3:]} == {"27.3%"}
    _status, out, _err = run(*OPTIMIZED, *OTHER, "--json")
    against = json.loads(out)["against"]
    for percent, status in (("27", 0), ("28", 1)):
        done = run(*OPTIMIZED, *OTHER, "--ignore", "against", "--fail-below", percent)
        assert done[0] == status
        assert ("27.3% of the values are right: less than 28%" in done[2]) == bool(status)
    assert against["other"] == "cl-kernels.gfx1100.w32.O0.v5.co"
    assert against["total"]["correctness"] == 1
    assert [part["name"] for part in against["functions"]] == ["saxpy"]
    variables = {variable["name"]: variable for variable in against["variables"]}
    assert variables["i"]["right"] == 124
    assert variables["n"]["missing"] == 128
    assert variables["n"]["first_missing"] == {
        "name": "n", "file": "src/opencl/kernels.cl", "line": 76, "pc": variables["n"]["first_missing"]["pc"],
        "wave": "1:1:1:1", "lane": 0, "visit": 1, "value": "it has neither a location nor a constant value",
        "other": "60"}  # fmt: skip


def test_a_baseline_of_two_builds_leaves_nothing(tmp_path):
    path = str(tmp_path / "known.json")
    assert run(*OPTIMIZED, *OTHER, "--strict", "--json", "-o", path)[0] == 1
    assert "against-missing" in {finding["rule"] for finding in json.loads(Path(path).read_text())["findings"]}
    status, out, _err = run(*OPTIMIZED, *OTHER, "--strict", "--baseline", path)
    assert status == 0
    assert "no findings" in out


@pytest.mark.parametrize("arguments", [(*SIZES, "zeros(64)", "40"), ()])
def test_a_finding_has_the_location_and_a_command_that_stops_there(arguments):
    """The command can be pasted, in lines or as JSON has it, whether the arguments are the user's or made."""
    words = "judge", OPTIMIZED[1], "divergent", *arguments
    (finding,) = (each for each in json.loads(run(*words, "--json")[1])["findings"] if each["rule"] == "value-lanes")
    location = finding["location"]
    assert (location["reads"], location["start"], location["end"]) == (["v2"], "+0x104", "+0x114")
    assert location["operations"].startswith("DW_OP_bregx v2+0; DW_OP_")
    out = run(*words)[1]
    (line,) = (line.strip() for line in out.splitlines() if "location:" in line)
    assert line.startswith(f"location: +0x104 to +0x114: {location['operations'][:20]}")
    command = finding["command"]
    typed = out[out.index("dwarfgpu debug") : out.index("    seen at least in")]
    assert shlex.split(command) == shlex.split(typed.replace("\\\n", ""))
    assert ("made" in shlex.split(command)) is (not arguments)
    _status, out, _err = run(*shlex.split(command)[1:], "-q", "-batch", "-ex", "print $pc", "-ex", "print result")
    *_rest, pc, value = out.splitlines()
    assert f"<divergent+{int(finding['seen'].split()[-1].partition('+')[2], 16)}>" in pc
    assert value.startswith("$2 = ")
    assert all(part in out for part in finding["seen"].partition(" at ")[0].removeprefix("lane ").split(" of wave "))


def test_a_value_that_optimized_code_has_lost_is_a_limit():
    """It is no wrong statement: the share counts it, and `--fail-below` sets how many may be missing."""
    status, out, _err = run(*OPTIMIZED, *OTHER, "--json")
    found = [each for each in json.loads(out)["findings"] if each["rule"] == "against-missing"]
    assert (status, {(each["severity"], each["limit"]) for each in found}) == (0, {("limit", "value-dropped")})
    assert [run(*OPTIMIZED, *OTHER, *more)[0] for more in (["--strict"], ["--fail-below", "50"])] == [1, 1]
    text = " ".join(run(*OPTIMIZED, *OTHER)[1].split())
    assert f"{len(found)} against-missing: optimized code has no value of a variable that has one in the other" in text


@pytest.mark.slow
def test_every_kernel_is_judged_with_arguments_that_are_made():
    file = SAXPY[1].format("gfx1100.w32.O2")
    status, out, err = run("judge", file)
    assert status == 3  # as for the kernel alone
    assert err == "hint: records: the kernel has not ended: what it has not executed is not judged\n"
    assert [run("judge", file, *more)[0] for more in (["records"], ["records", "--limit", "50000"])] == [3, 3]
    of_other_lanes = "result is located in v2, which divergent+0x9c has written only for other lanes"
    assert of_other_lanes in " ".join(out.split())  # in the other branch, whose lanes have no result
    assert all(len(line) <= 80 for line in out.splitlines())
    table = (line for line in out.splitlines() if re.match(r"  \S", line) and " is " not in line)
    rows = {line.split()[0]: line.split() for line in table}
    assert rows["kernel"][1:] == ["executed", "right", "wrong", "absent", "%", "right", "callers", "lanes"]
    text = " ".join(out.split())
    assert "records is not judged to its end: MEMORY_VIOLATION" in text  # a list of null pointers
    assert f"4 waves; choose its arguments: dwarfgpu judge {file} records --grid 128 --work-group 64 ARG ..." in text
    assert "1 kernel not judged to the end)" in " ".join(out.split())
    _status, out, _err = run("judge", file, "--json")
    document = json.loads(out)
    kernels = {each["kernel"]: each for each in document["kernels"]}
    assert document["entries"] == sum(each["instructions"] for each in kernels.values())
    assert set(kernels) == {"saxpy", "divergent", "spaces", "records"}
    assert [rows[name][1].replace(",", "") for name in kernels] == [
        str(each["instructions"]) for each in kernels.values()
    ]
    assert all(each["right"] > 0 for each in kernels.values())
    assert [name for name, each in kernels.items() if each["wrong"]] == ["divergent"]
    assert [name for name, each in kernels.items() if each["problem"]] == ["records"]
    assert [each["rule"] for each in document["findings"] if each["limit"] is None] == ["value-lanes"]
    assert document["limits"] == len(document["findings"]) - 1 > 0
    whole = RIGHT[1]
    assert [run("judge", whole, "--require", count)[0] for count in ("20", "100000")] == [0, 3]
    assert [run("judge", whole, "--fail-below", percent)[0] for percent in ("10", "90")] == [0, 1]


@pytest.mark.usefixtures("judged_once")
@pytest.mark.slow
def test_variables_without_a_value_are_a_table(monkeypatch):
    """Findings of the same variable, one for each range of instructions, would hide all others."""
    monkeypatch.setattr(judging, "MOST_MISSING", 1)
    words = "judge", OPTIMIZED[1], "divergent", *OTHER, "--strict"
    _status, out, _err = run(*words)
    document = json.loads(run(*words, "--json")[1])
    text, missing = " ".join(out.split()), [each for each in document["rules"] if each["rule"] == "against-missing"]
    assert f"{missing[0]['count']} against-missing: the table of variables counts them (--all shows them)" in text
    assert "executed; --limit 500 executes more" in " ".join(run("judge", OPTIMIZED[1], "--limit", "50")[1].split())
    assert "has no value" not in text
    variables = document["against"]["variables"]
    assert sum(each["missing"] for each in variables) == document["against"]["total"]["missing"]
    (limit,) = (each for each in variables if (each["function"], each["name"]) == ("divergent", "limit"))
    assert f"divergent: limit 84 {limit['right'] + limit['missing']} {limit['right']} 0 {limit['missing']}" in text


def test_without_debugging_information_nothing_is_judged(require_tool, tmp_path):
    require_tool("clang-22")
    source, code = tmp_path / "k.cl", str(tmp_path / "k.co")
    source.write_text("kernel void k(global int *out) { int i = 1; out[0] = i; }\n")
    assert run("compile", str(source), "-o", code, "--", "-g0")[0] == 0
    status, out, err = run("judge", code)
    assert (status, out) == (2, "")
    assert err.endswith("k.co has no debugging information\nhint: compile it with -g\n")


def test_a_file_may_be_called_otherwise_than_in_the_baseline(tmp_path):
    known, renamed = tmp_path / "known.json", tmp_path / "renamed.co"
    renamed.write_bytes((ROOT / OPTIMIZED[1]).read_bytes())
    assert run(*OPTIMIZED, "--strict", "--json", "-o", str(known))[0] == 1
    status, out, _err = run("judge", str(renamed), *OPTIMIZED[2:], "--strict", "--baseline", str(known))
    assert status == 0
    assert "verdict: no findings (4 of the baseline)" in " ".join(out.split())  # without its source there are no steps


@pytest.mark.slow
def test_what_a_kernel_was_launched_with_is_shown():
    _status, out, _err = run("judge", OPTIMIZED[1], "saxpy")
    text = " ".join(out.split())
    assert "saxpy: --grid 128 --work-group 64, y = 1,024 float32, x = 1,024 float32, a = 1.5, n = 128" in text
    _status, out, _err = run("judge", OPTIMIZED[1], "saxpy", "--grid", "96", "--json")
    (launch,) = json.loads(out)["launches"]
    assert [launch[key] for key in ("kernel", "grid", "work_group")] == ["saxpy", "96", "64"]
    assert launch["arguments"]["n"] == "96"
    _status, out, _err = run("judge", OPTIMIZED[1], "--limit", "50", "--json")
    assert [each["kernel"] for each in json.loads(out)["launches"]] == ["saxpy", "divergent", "spaces", "records"]
    assert json.loads(run(*OPTIMIZED, "--json")[1])["launches"] == []  # they were given


@pytest.mark.slow
def test_the_document_of_one_kernel_is_that_of_several():
    one, every = json.loads(run(*OPTIMIZED, *OTHER, "--json")[1]), json.loads(whole())
    assert one.keys() == every.keys()
    assert one["against"].keys() == every["against"].keys()
    for document in (one, every):
        assert sum(each["right"] for each in document["kernels"]) == document["variables"]["right"]
        assert sum(each["right"] for each in document["functions"]) == document["variables"]["right"]
        assert sum(each["values"]["right"] for each in document["kernels"]) == document["against"]["total"]["right"]
    assert [each["kernel"] for each in one["kernels"]] == ["saxpy"]
    assert (one["ended"], every["ended"], every["halt"].partition(":")[0]) == (True, False, "MEMORY_VIOLATION")
    assert "values" not in json.loads(run(*OPTIMIZED, "--json")[1])["kernels"][0]


@pytest.mark.slow
@pytest.mark.parametrize("place", [(Device, "_turn"), (StatementComparison, "run")])
def test_an_interrupt_shows_what_was_judged_so_far(place, monkeypatch, tmp_path):
    """^C comes while the second of four kernels is executed, or compared."""
    attempt, method, begun = judging._attempt, getattr(*place), []

    def interrupted(*arguments):
        if len(begun) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return method(*arguments)

    monkeypatch.setattr(judging, "_attempt", lambda *arguments: begun.append(1) or attempt(*arguments))
    monkeypatch.setattr(*place, interrupted)
    baseline, known = tmp_path / "whole.json", str(tmp_path / "known.json")
    with monkeypatch.context() as other:
        other.setattr(*place, method)
        baseline.write_text(whole())
    is_executed = place[0] is Device
    left = ["spaces", "records"] if is_executed else ["divergent", "spaces", "records"]
    begun.clear()
    status, out, err = run(*EVERY, "--baseline", str(baseline))
    assert (status, len(begun)) == (130, 2)
    assert f"dwarfgpu: error: ^C ended this early; not judged: {', '.join(left)}\n" in err
    assert "less is judged" not in err
    text = " ".join(out.split())
    assert f"verdict: ^C ended this early; not judged: {', '.join(left)}; " in text
    assert ("divergent is not judged to its end: interrupted" in text) == is_executed
    assert f" {2 if is_executed else 1} kernel" in text
    assert "352 values at statements" in text  # of the first one, which is compared
    assert not re.search(r"^  (spaces|records) ", out, re.MULTILINE)
    begun.clear()
    assert run(*EVERY, "--json", "-o", known)[0] == 130
    document = json.loads(Path(known).read_text())
    assert (document["interrupted"], document["ended"], document["halt"]) == (True, False, "interrupted")
    assert [each["kernel"] for each in document["kernels"]] == ["saxpy", "divergent", "spaces", "records"]
    assert [each["problem"] for each in document["kernels"]] == [None, *["interrupted"] * 3]
    status, _out, err = run("judge", OPTIMIZED[1], "--baseline", known)
    assert (status, "is not whole: ^C ended the command that wrote it" in err) == (2, True)
    begun.clear()
    (result,) = json.loads(run(*EVERY, "--sarif")[1])["runs"]
    assert not result["invocations"][0]["executionSuccessful"]


def test_an_interrupt_of_one_kernel_ends_with_its_status(monkeypatch):
    turn = Device._turn
    with monkeypatch.context() as other:
        other.setattr(Device, "_turn", lambda *words: (os.kill(os.getpid(), signal.SIGINT), turn(*words)))
        status, out, err = run(*OPTIMIZED, *OTHER)
        assert (status, "verdict: ^C ended this early; " in out) == (130, True)
        assert "values are compared only with --against" in out  # the other build does not run
        assert "dwarfgpu: error: ^C ended this early\n" in err
        assert json.loads(run(*OPTIMIZED, "--json")[1])["interrupted"]
    monkeypatch.setattr(judging, "_attempt", raised)
    assert run("judge", OPTIMIZED[1]) == (130, "", "dwarfgpu: interrupted\n")


def raised(*_arguments):
    raise KeyboardInterrupt


SOURCE = """
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void fill(read_only image2d_t from, write_only image2d_t to, sampler_t how, int n)
{
    int2 at = (int2)(get_global_id(0) % 8, get_global_id(0) / 8);
    if (at.x < get_image_width(from))
        write_imageui(to, at, (uint4)(n));
}
"""


@pytest.mark.slow
def test_a_source_says_how_it_was_compiled_and_its_images_are_made(require_tool, tmp_path):
    require_tool("clang-22")
    path = tmp_path / "own.cl"
    path.write_text(SOURCE)
    status, out, err = run("judge", str(path))
    assert status == 0
    text = " ".join(out.split())
    images = "from = 64x64x4 float32, to = 64x64x4 uint32, how = sampler(nearest, clamp_to_edge), n = 128"
    assert f"fill: --grid 128,1,1 --work-group 64,1,1, {images}" in text
    assert "not judged to its end" not in text
    assert "own.cl was compiled with -O0" in " ".join(err.split())


@pytest.mark.slow
def test_a_kernel_alone_has_arguments_that_are_made_too():
    status, out, err = run("judge", OPTIMIZED[1], "saxpy", "--seed", "3")
    assert (status, err) == (0, "")
    _status, first, _err = run("judge", OPTIMIZED[1], "saxpy", "--json")
    _status, again, _err = run("judge", OPTIMIZED[1], "saxpy", "--json", "--grid", "128", "--work-group", "64")
    assert json.loads(first)["variables"] == json.loads(again)["variables"]
    status, out, _err = run("judge", OPTIMIZED[1], "saxpy", "--against", OTHER[1])
    assert status == 0
    assert "against cl-kernels.gfx1100.w32.O0.v5.co" in out
    assert run("judge", RIGHT[1], "--against", RIGHT[1], "--json")[0] == 0


def test_less_than_the_baseline_had_is_a_failure(tmp_path):
    """A build without findings passes no more if a kernel of it is gone, hardly executed or hardly described."""
    words, path = ("judge", RIGHT[1]), tmp_path / "known.json"
    again = (*words, "--baseline", str(path))
    assert run(*words, "--json", "-o", str(path))[0] == 0
    assert (run(*again)[0], run(*again)[2]) == (0, "")
    document = json.loads(path.read_text())
    (kernel,) = document["kernels"]
    kernel["by_name"].append({"name": "gone", "right": 0, "wrong": 1, "absent": 4})
    document["kernels"].append({**kernel, "kernel": "other"})
    path.write_text(json.dumps(document))
    status, out, err = run(*again)
    lost = f"less is judged than in {path}: kernel other is gone; X: no location any more of gone"
    assert (status, err) == (3, f"dwarfgpu: error: {lost}\n")
    assert f"verdict: {lost.partition(':')[0].partition(' in ')[0]} in" in " ".join(out.split())
    status, _out, err = run(*again, "X", "--sarif")
    assert (status, "X: no location" in err, "other" in err) == (3, True, False)  # other kernels are not judged
    del document["kernels"]
    path.write_text(json.dumps(document))
    status, _out, err = run(*again)
    assert (status, "does not say how much of the kernels was judged: write it again" in err) == (0, True)


@pytest.mark.parametrize(
    "row, lost",
    [
        ({"instructions": 20}, ""),
        ({"instructions": 21}, "10 instructions judged, 21 before"),
        ({"instructions": "many", "right": [], "by_name": 5, "values": 5}, ""),
        ({"problem": None}, "not judged to its end any more"),
        ({"problem": "LIMIT"}, ""),
        ({"right": 50, "wrong": 0, "absent": 50}, ""),
        ({"right": 50, "wrong": 2, "absent": 48}, "50.0% of the locations are absent, 48.0% before"),
        ({"values": {"right": 1, "missing": 1}}, "values not compared with another build any more"),
        ({"by_name": [{"name": each, "right": 1} for each in "abcdef"]},
         "no location any more of b, c, d, e, 1 more"),
    ],
)  # fmt: skip
def test_what_of_a_kernel_is_lost(row, lost):
    part = JudgedPart("k", 10, by_name=(ComparedPart("a", 5, 0, 0), ComparedPart("b", 0, 0, 5)), problem="LIMIT")
    earlier = {"kernels": [{"kernel": "k", **row}, 5]}
    assert [*lost_kernels(earlier, [part], is_every=True)] == [f"k: {lost}"] * bool(lost)
    compared = evolve(part, values=ComparedPart("", 4, 0, 6))
    values = {"kernel": "k", "values": {"right": 5, "wrong": 0, "missing": 5}}
    (text,) = lost_kernels({"kernels": [values]}, [compared], is_every=True)
    assert text == "k: 60.0% of the values are missing, 50.0% before"
    unknown = "which variables had a location"
    assert unknown_before(earlier, [part]) == (None if "by_name" in row else unknown)


EARLY = """
kernel void early(global int *out, int n) {
    int i = get_global_id(0);
    if (n != 5)
        return;
    int sum = 0, step = n & 3;
    for (int k = 0; k < n; ++k) {
        int term = out[(i + k) & 7] * step;
        sum += term;
    }
    out[i] = sum;
}
"""


@pytest.mark.slow
def test_a_loop_is_compared_as_far_as_its_rounds_are_aligned(require_tool, tmp_path, monkeypatch):
    require_tool("clang-22")
    monkeypatch.setattr("dwarfgpu.audits.judge.alignment.MAX_ALIGNED", 64)
    path = tmp_path / "long.cl"
    path.write_text(EARLY.replace("n != 5", "n < 5"))
    words = "judge", str(path), "-O2", "early", "--grid", "1", "--work-group", "1", "zeros(64)", "40"
    done = run(*words, "--against", str(path))
    assert (done[0], "  against long.cl -O0 " in done[1]) == (0, True)


@pytest.mark.slow
def test_a_kernel_that_is_hardly_executed_is_named(require_tool, tmp_path):
    require_tool("clang-22")
    path = tmp_path / "early.cl"
    path.write_text(EARLY)
    status, out, _err = run("judge", str(path), "-O2", "--against", str(path))
    text = " ".join(out.split())
    (early,) = json.loads(run("judge", str(path), "-O2", "--against", str(path), "--json")[1])["kernels"]
    executed = f"{early['instructions']} of {early['code']}"
    assert (status, 2 * early["instructions"] < early["code"]) == (0, True)
    assert f"early: only {executed} instructions executed, " in text
    assert " of 6 variables compared; choose its arguments: dwarfgpu judge " in text
    assert "less than half judged of early" in text
    given = "early", *SIZES, "zeros(64)", "5"
    _status, out, _err = run("judge", str(path), "-O2", *given, "--against", str(path))
    assert "early: only" not in out
    assert "less than half" not in out


CLANG_MISTAKE = """\
kernel void k(global int *out, global const int *in, int n) {
  int id = get_global_id(0);
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += in[id] * i;
  out[id] = sum + n;
}
"""
"""The loop is one multiplication: `sum` is shown with a value that it never has there."""


@pytest.mark.slow
def test_a_source_is_compared_with_itself_at_o0(require_tool, tmp_path):
    require_tool("clang-22")
    source = tmp_path / "k.cl"
    source.write_text(CLANG_MISTAKE)
    words = "judge", source, "-O2", "k", "--grid", "128", "--work-group", "64", "made"
    status, out, err = run(*words)
    assert status == 1
    assert "(against-wrong)" in out
    assert "against k.cl -O0" in out
    assert f"compared with those of {source} at -O0; `--against none` judges -O2 alone" in err
    _status, out, _err = run(*words, "--against", "none")
    assert "against-" not in out
    assert "against-" not in run(*words[:2], *words[3:])[1]
