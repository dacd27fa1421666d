import json
import subprocess
import sys

from tests.builders.commands import ROOT, run
from tests.cli.test_files import document

HIP = "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co"


def test_text_of_all_sections():
    text = run("dump", HIP, "--section", "all").stdout
    for section in (".debug_info", ".debug_line", ".debug_loclists", ".debug_rnglists"):
        assert f"{section}+0x" in text
    assert ".debug_str+0x" not in text
    assert text.index("DW_TAG_compile_unit") < text.index("line table")


def test_entries_and_sections_as_json():
    found = document("dump", HIP, "--name", "physics::gravity")
    (unit,) = found["units"]
    (entry,) = unit["entries"]
    by_name = {each["name"]: each for each in entry["attributes"]}
    assert (found["schema"], found["file"], found["sections"]) == (1, HIP, [])
    assert (unit["version"], unit["attributes"], unit["expressions"]) == (5, "llvm-current", "llvm-user")
    assert (entry["offset"], entry["parent"], entry["tag"]) == (0x2D, 0x2B, "DW_TAG_variable")
    expected = {"name": "DW_AT_type", "form": "DW_FORM_ref4", "class": "reference", "value": 0x200, "note": "float"}
    assert by_name["DW_AT_type"] == expected
    expected = {"bytes": "a100", "text": "DW_OP_addrx 0", "notes": ["index 0: 0xbc0"]}
    assert by_name["DW_AT_location"]["expression"] == expected
    line, lists = document("dump", HIP, "--section", "line", "--section", "loclists")["sections"]
    assert (line["section"], lists["section"]) == (".debug_line", ".debug_loclists")
    (part,) = line["parts"]
    assert part["facts"]["line_range"] == 14
    assert part["tables"][2]["rows"][0] == {
        "address": 0x1C00, "line": 90, "column": 0, "file": 0, "isa": 0, "discriminator": 0, "op_index": 0,
        "flags": "is_stmt"}  # fmt: skip
    assert lists["parts"][0]["title"] == "location list table"
    assert lists["parts"][1]["tables"][0]["rows"][0]["expression"]["bytes"].startswith("9280")


def test_files_without_entries_and_status():
    assert run("dump", "README.md").returncode == 3
    done = run("dump", "fixtures/host/split.gcc.v5.dwo")
    assert done.returncode == 1
    assert done.stderr.count("\n") <= 4  # one line for all lists that count from what is not there
    lines = run("dump", HIP, "--tag", "namespace", "--depth", "1", "--jsonl").stdout.splitlines()
    documents = [json.loads(line) for line in lines]
    assert [set(each) - {"schema", "file"} for each in documents][:2] == [{"unit"}, {"entry"}]
    assert {each["entry"]["depth"] for each in documents[1:]} == {0, 1}


def test_a_reader_that_goes_away_ends_it_quietly():
    command = [sys.executable, "-m", "dwarfgpu", "dump", HIP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
