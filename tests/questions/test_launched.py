"""What a kernel was launched with: `info dispatch`, `info kernel-args`, `$_arg`, and in backtraces and locals."""

import json
from pathlib import Path

import pytest

from tests.questions.harness import Run

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
LAUNCH = "target launch saxpy 128 64 y=zeros(100,f4) x=arange(50,f4) a=2.5 n=64"


@pytest.fixture(scope="module")
def run():
    launched = Run(SAXPY)
    launched(LAUNCH)
    return launched


def test_the_dispatch_of_a_wave(run):
    run("wave 2")
    lines = run("info dispatch").splitlines()
    run("wave 1")
    assert lines[0] == "kernel        saxpy"
    assert "grid          128x1x1 work-items, work-groups of 64x1x1: 2x1x1 work-groups" in lines
    assert "wave          1:1:1:2: work-group (1,0,0), wave 0 of it" in lines
    assert "work-items    lanes 0 to 63 are (64,0,0) to (127,0,0) of the grid" in lines
    assert lines[-2:] == ["  a = 2.5", "  n = 64"]
    document = json.loads(run("info dispatch -json"))
    assert document["work_items"][5] == {"lane": 5, "work_item": [5, 0, 0], "global_id": [5, 0, 0]}


def test_where_nothing_is_known_nothing_is_said(tmp_path):
    launched = Run(SAXPY)
    launched(LAUNCH)
    launched(f"save snapshot {tmp_path / 'state.json'}")
    document = json.loads((tmp_path / "state.json").read_text())
    del document["dispatches"][0]["kernarg"], document["dispatches"][0]["packet"]
    for wave in document["waves"]:
        wave["pc"] = hex(int(wave["pc"], 16) + 4)
    (tmp_path / "state.json").write_text(json.dumps(document))
    later = Run(SAXPY)
    later(f"core {tmp_path / 'state.json'}")
    assert "launched with" not in later("bt") + later("info args")
    assert "<unknown>" in later("info kernel-args")
    assert "no dispatch packet is known" in " ".join(later("info kernel-args").split())
    assert "no dispatch packet is known" in later.fails('print $_arg("n")').message
