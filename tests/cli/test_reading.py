import json
from pathlib import Path

from tests.builders.parameters import for_each

HIP_19 = "fixtures/compilers/hip.clang19.gfx900.w64.O0.v5.co"
CL_19 = "fixtures/compilers/cl.clang19.gfx900.w64.O0.v5.co"
LEGACY = "fixtures/asm/lane-pc-legacy.gfx90a.w64.co"
KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ("--state", "dwarfgpu/examples/variables.json")
MIX = ("--pc", "_Z3mixcsbh+0x40")
WRONG = (
    ("--dialect", "there is no dialect"),
    ("--attributes", "there is no attribute dialect"),
    ("--repair", "there is no repair"))  # fmt: skip


@for_each("words",
    ("eval", KERNEL, "even", *STATE), ("locals", KERNEL, *STATE), ("lanes", KERNEL, *STATE),
    ("waves", KERNEL, *STATE), ("bt", KERNEL, *STATE), ("verify", KERNEL),
    ("debug", KERNEL, *STATE, "-nx", "-batch", "-ex", "print even"), ids=lambda words: words[0])  # fmt: skip
def test_every_command_that_reads_dwarf_takes_them(run, words):
    plain = run(*words)
    assert plain[0] == 0
    chosen = ("--dialect", "llvm-user", "--attributes", "llvm-current", "--repair", "auto")
    assert run(words[0], *chosen, *words[1:]) == plain
    for option, value in WRONG:
        status, _, error = run(words[0], option, "klingon", *words[1:])
        assert (status, value in error) == (2, True)


def test_repairs_of_other_producers_are_named_where_they_are_not_applied(run):
    status, text, error = run("locals", HIP_19, *MIX)
    assert (status, error) == (0, "")
    assert "repaired (plain-private-variable)" in text
    assert run("locals", HIP_19, *MIX, "--repair", "all") == (status, text, error)
    status, text, error = run("locals", HIP_19, *MIX, "--repair", "off")
    assert "repaired" not in text
    assert "hint: expressions here have the shape of an idiom of compilers; --repair plain-private-variable" in error
    _, text, _ = run("locals", HIP_19, *MIX, "--repair", "off", "--json")
    (frame,) = json.loads(text)["frames"]
    both = next(variable for variable in frame["variables"] if variable["name"] == "both")
    (location,) = both["locations"]
    assert location["possible_repairs"] == ["plain-private-variable"]
    _, text, _ = run("locals", HIP_19, *MIX, "--json")
    (frame,) = json.loads(text)["frames"]
    both = next(variable for variable in frame["variables"] if variable["name"] == "both")
    assert both["locations"][0]["repairs"] == ["plain-private-variable"]
    assert both["locations"][0]["operations"] == location["operations"]
    assert both["locations"][0]["repaired"] != location["operations"]


def test_a_dialect_and_a_numbering_decide_what_bytes_are(run):
    status, _, error = run("verify", LEGACY)
    assert status != 0 or error
    assert run("verify", LEGACY, "--dialect", "llvm-legacy", "--attributes", "llvm-old")[0] == 0
    assert "DW_AT_address_class  1 (private_lane)" in run("dump", CL_19)[1]
    assert "DW_AT_address_class  1 (generic)" in run("dump", CL_19, "--attributes", "llvm-current")[1]
    assert "DW_AT_address_class  1 (global)" in run("dump", CL_19, "--attributes", "amdgpu-2020")[1]
    status, text, _ = run("info", "fixtures/compilers/cl.clang13.gfx900.w64.O2.v5.hsa2.co")
    assert status == 0
    assert "llvm-21 (the producer is clang version 13; 1 unit)" in " ".join(text.split())
    assert "amdgcn-gfx900:xnack+" in text


def test_the_files_are_there():
    assert all(Path(name).is_file() for name in (HIP_19, CL_19, LEGACY, KERNEL))
