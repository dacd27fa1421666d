"""How many instructions have a text, effects and a meaning: the same as the first page says, and all that LLVM has."""

import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.isa.decoder import text
from dwarfgpu.program.code.instruction_coverage import coverage_of, coverages, examples
from tests.builders.commands import document, outcome
from tools.isa_meanings import GOLDEN

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_first_page_has_the_figures_of_the_command():
    rows = document("targets", "gfx950", "gfx1100", "gfx1200", "gfx1250", "--coverage")["coverage"]
    page = (ROOT / "README.md").read_text("utf-8")
    for row in rows:
        assert f"{row['meaning']:,} of {row['text']:,}" in page, row["processors"]
        assert row["effects"] + len(row["without_effects"]) == row["text"]
        assert row["meaning"] + len(row["without_meaning"]) == row["text"]
    listed = [line.split(" | ") for line in GOLDEN.read_text("utf-8").splitlines() if not line.startswith("#")]
    names = {name for _title, where, names in listed if {"gfx950", "all"} & {*where.split()} for name in names.split()}
    assert set(rows[0]["without_meaning"]) == names


@pytest.mark.slow
def test_all_processors_whose_instructions_are_known_have_a_row():
    rows = coverages()
    assert [row.processors[0] for row in rows if "gfx942" in row.processors] == ["gfx942"]
    assert len({name for row in rows for name in row.processors}) == sum(len(row.processors) for row in rows) > 40
    assert all(row.effects > 0.99 * row.text for row in rows)
    assert all(row.meaning > 0.84 * row.text for row in rows)
    _status, _out, refused = outcome("targets", "gfx1310", "--coverage")
    assert "the instructions of gfx1310 are not known" in refused


def taken_by(assembler, texts, processor):
    """The numbers of the lines that the assembler takes."""
    words = [assembler, "-triple=amdgcn", f"-mcpu={processor}", "-o", "/dev/null"]
    done = subprocess.run(words, input="\n".join(texts), capture_output=True, text=True, check=False)
    refused = {int(number) - 1 for number in re.findall(r"<stdin>:(\d+):\d+: error", done.stderr)}
    return [number for number in range(len(texts)) if number not in refused]


@pytest.mark.slow
def test_each_instruction_of_gfx950_that_the_assembler_takes(require_tool):
    """What has no meaning is what no document tells, or what only trap handlers and pixels need."""
    made = [each for instructions in examples("gfx950", 64) for each in instructions]
    texts = [re.sub(r"^(v_dot2_.*?) op_sel.*", r"\1", text(each)) for each in made]  # of which it takes no op_sel
    taken = {made[number].name for number in taken_by(require_tool("llvm-mc-22"), texts, "gfx950")}
    row = coverage_of(["gfx950"], 64)
    assert taken == {*row.names}
    assert {*row.without_effects} == {"s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_setvskip"}
    assert {re.sub("_dword.*|_b64|_b32", "", name) for name in {*row.without_meaning} - {*row.without_effects}} == {
        "s_rfe", "s_rfe_restore", "s_scratch_load", "s_scratch_store", "s_setkill", "v_mfma_ld_scale",
        "v_screen_partition_4se",
    }  # fmt: skip
