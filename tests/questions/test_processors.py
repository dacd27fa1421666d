"""`dwarfgpu targets`: processors, registers and address spaces without a file."""

import json
import subprocess

import pytest

from dwarfgpu.questions.target import MEANINGS, runs_of
from dwarfgpu.targets.amdgpu.processors import processors
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run as run_command
from tests.targets.test_target_llvm import OTHER_VERSIONS, uleb128


def asked(*names: str) -> list[dict]:
    done = run_command("targets", *names, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["targets"]


def test_the_processors_are_those_that_clang_lists(require_tool):
    words = [require_tool("clang-22"), "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    theirs = {line.strip() for line in (done.stdout + done.stderr).splitlines() if line.startswith("\t")}
    ours = {name for row in asked() for name in (row["name"], *row["other_names"])}
    assert ours - theirs == OTHER_VERSIONS
    assert {name for name in theirs - ours if name.startswith("gfx")} == set()


@pytest.mark.parametrize("name", ["gfx90a", "gfx1100"])
def test_dwarf_numbers_are_those_of_the_assembler(require_tool, name):
    """llvm-mc has the numbers of waves of 64 lanes; `test_target_llvm` compares both with compiled code."""
    (report,) = asked(name)
    (variant,) = (variant for variant in report["variants"] if variant["lanes"] == 64)
    runs = [run for run in variant["registers"] if run["number"] is not None and run["count"] > 1]
    text, expected = "f:\n.cfi_startproc\n", b""
    for run in runs:
        for register, number in ((run["first"], 0), (run["last"], run["count"] - 1)):
            if name == "gfx1100" or register != "s105":  # which the assembler has since GFX10
                text += f".cfi_undefined {register}\n"
                expected += b"\x07" + uleb128(run["number"] + number)
    command = [require_tool("llvm-mc-22"), "-triple=amdgcn-amd-amdhsa", f"-mcpu={name}", "-filetype=obj"]
    done = subprocess.run(command, input=f"{text}.cfi_endproc\n".encode(), capture_output=True, check=True)
    assert expected in done.stdout
    assert len(runs) >= 6


def test_every_property_of_a_processor_has_a_meaning():
    assert {word for processor in processors() for word in processor.features} == set(MEANINGS)


@pytest.mark.parametrize("row", asked(), ids=lambda row: row["name"])
def test_every_processor_is_described(row):
    (report,) = asked(row["name"])
    assert report.items() >= row.items()
    assert sorted(variant["lanes"] for variant in report["variants"]) == row["wave_sizes"]
    for variant in report["variants"]:
        target = resolve(variant["target"])
        counted = sum(run["count"] for run in variant["registers"] if run["number"] is not None)
        assert counted == len(list(target.registers()))
        assert len(variant["address_spaces"]) == len(list(target.spaces()))
        assert (variant["apertures"] is None) == (target.space_named("generic") is None)
    text = run_command("targets", row["name"]).stdout
    assert f"EF_AMDGPU_MACH {row['mach']:#x}\n" in text


def test_names_stand_for_both_wave_sizes():
    assert "m0                    -         32  same value" in run_command("targets", "gfx803").stdout.splitlines()
    (report,) = asked("amdgcn-gfx1100-wave64")
    assert [variant["target"] for variant in report["variants"]] == ["amdgcn-gfx1100-wave64"]
    (report,) = asked("gfx90a:xnack+")
    assert report["variants"][0]["target"] == "amdgcn-gfx90a:xnack+"
    host, plain = asked("x86_64", "generic")
    assert [run["first"] for run in host["variants"][0]["registers"]][:2] == ["rax", "rdx"]
    assert plain["variants"][0]["address_spaces"][0]["null"] is None


@pytest.mark.parametrize("name, shared", [("gfx90a", 1 << 48), ("gfx803", 1 << 61), ("gfx600", None)])
def test_apertures(name, shared):
    apertures = asked(name)[0]["variants"][0]["apertures"]
    assert (apertures and apertures["shared"]) == shared


def test_runs_end_where_numbers_or_rules_change():
    runs = {run.name: run.numbers for run in runs_of(resolve("gfx1250"))}
    assert (runs["v256-v511"], runs["v512-v1023"]) == ("1792-2047", "3584-4095")
