"""What a kernel was launched with: `info dispatch`, `info kernel-args`, `$_arg`, and in backtraces and locals."""

import json
from pathlib import Path

from tests.questions.harness import Run

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
LAUNCH = "target launch saxpy 128 64 y=zeros(100,f4) x=arange(50,f4) a=2.5 n=64"


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
