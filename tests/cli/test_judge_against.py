import json
from pathlib import Path

import pytest

from tests.builders.commands import run as run_command

SIZES = ("--grid", "64", "--work-group", "64")
RIGHT = ("judge", "fixtures/asm/lane-pc.gfx90a.w64.co", "X", *SIZES, "zeros(64)", "40")
SAXPY = ("judge", "fixtures/amdgpu/cl-kernels.{}.v5.co", "saxpy", *SIZES, "zeros(64)", "ones(64)", "2", "60")
OPTIMIZED = (SAXPY[0], SAXPY[1].format("gfx90a.w64.O2"), *SAXPY[2:])
OTHER = ("--against", SAXPY[1].format("gfx1100.w32.O0"))


def run(*words):
    done = run_command(*words)
    return done.returncode, done.stdout, done.stderr


def test_builds_that_are_right_and_one_that_has_not_ended():
    status, out, err = run(*RIGHT, "--against", "fixtures/asm/lane-pc.gfx1100.w32.co")
    assert (status, err) == (0, "")
    assert "  against lane-pc.gfx1100.w32.co  values  available  correct" in out
    assert out.splitlines()[-1].endswith("instructions executed: no findings")
    assert next(line.split() for line in out.splitlines() if line.startswith("  all "))[2:] == ["100.0%", "100.0%"]
    status, _out, err = run(*OPTIMIZED, *OTHER, "--limit", "100")
    assert status == 1
    assert "cl-kernels.gfx1100.w32.O0.v5.co has not ended: 1" in err
    assert "instructions have been executed; what it has not done is not compared" in err


def test_shares_are_shown_by_function_and_file():
    status, out, err = run(*OPTIMIZED, *OTHER)
    assert (status, err) == (1, "")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "n has no value, and is 60 in cl-kernels.gfx1100.w32.O0.v5.co" in " ".join(out.split())
    table = [line.split() for line in out.splitlines() if line.endswith("100.0%")]
    assert [line[0] for line in table[-3:]] == ["saxpy", "src/opencl/kernels.cl", "all"]
    assert {line[2] for line in table[-3:]} == {"13.1%"}


def test_every_variable_is_in_the_json():
    _status, out, _err = run(*OPTIMIZED, *OTHER, "--json")
    against = json.loads(out)["against"]
    assert against["other"] == "cl-kernels.gfx1100.w32.O0.v5.co"
    assert against["total"]["correctness"] == 1
    assert [part["name"] for part in against["functions"]] == ["saxpy"]
    variables = {variable["name"]: variable for variable in against["variables"]}
    assert variables["i"]["right"] == 64
    assert variables["n"]["missing"] == 64
    assert variables["n"]["first_missing"] == {
        "name": "n", "file": "src/opencl/kernels.cl", "line": 76, "pc": variables["n"]["first_missing"]["pc"],
        "wave": "1:1:1:1", "lane": 0, "visit": 1, "value": "it has neither a location nor a constant value",
        "other": "60",
    }  # fmt: skip


def test_a_baseline_leaves_nothing(tmp_path):
    path = str(tmp_path / "known.json")
    assert run(*OPTIMIZED, *OTHER, "--json", "-o", path)[0] == 1
    rules = {finding["rule"] for finding in json.loads(Path(path).read_text())["findings"]}
    assert "against-missing" in rules
    status, out, _err = run(*OPTIMIZED, *OTHER, "--baseline", path)
    assert status == 0
    assert "no findings" in out


def test_findings_as_sarif():
    status, out, _err = run(*OPTIMIZED, *OTHER, "--sarif")
    assert status == 1
    (result,) = json.loads(out)["runs"]
    assert {"against-wrong", "against-missing"} <= {rule["id"] for rule in result["tool"]["driver"]["rules"]}
    found = [each for each in result["results"] if each["ruleId"] == "against-missing"]
    assert found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/opencl/kernels.cl"


def test_what_a_repair_reads_as_meant_is_found_without_it():
    counts = {}
    for policy in ("auto", "off"):
        _status, out, _err = run(*OPTIMIZED, *OTHER, "--repair", policy, "--json")
        variables = {variable["name"]: variable for variable in json.loads(out)["against"]["variables"]}
        counts[policy] = [variables["i"][result] for result in ("right", "wrong", "missing")]
    assert counts == {"auto": [64, 0, 0], "off": [0, 0, 60]}  # the last statement of the four others needs it no more


@pytest.mark.parametrize(
    "other, status, message",
    [
        ("fixtures/none.co", 3, "none.co"),
        ("fixtures/features/stripped.v5.co", 1, "has no kernel 'saxpy'"),
        ("fixtures/asm/lane-pc.gfx90a.w64.co", 1, "saxpy"),
        ("fixtures/host/values.gcc.O0.v5.x86_64", 2, "has no function saxpy"),
        ("fixtures/asm/lists.powerpc", 2, "lists.powerpc is for"),
    ],
)
def test_another_build_that_is_none_is_refused(other, status, message):
    found, out, err = run(*OPTIMIZED, "--against", other)
    assert (found, out) == (status, "")
    assert message in err
