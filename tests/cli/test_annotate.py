"""``dwarfgpu annotate``: its text, its JSON, its profiles, and what it refuses."""

import gzip
import json

import pytest

from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

SAMPLES = "src/samples/divergent.O2.results.json"
CODE = "amdgpu/hip-kernels.gfx1100.w32.O2.v5.co"


@pytest.fixture(autouse=True)
def _where_the_sources_are(monkeypatch):
    monkeypatch.chdir(ROOT / "fixtures")


def test_text_and_json_have_the_same_rows(run):
    status, out, err = run("annotate", SAMPLES, CODE)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "kernels.hip:110       12  33.3%   62.5%    50.0%  ALU_DEPENDENCY 50%\n      result += step ^ lane;" in out
    assert "\n  inlined into polynomial (src/hip/kernels.hip:82:16)\n" in out
    answer = json.loads(run("annotate", SAMPLES, CODE, "--json")[1])
    assert (answer["samples"], answer["placed"], answer["method"]) == (40, 36, "stochastic")
    assert sum(row["samples"] for row in answer["lines"]) == sum(row["samples"] for row in answer["instructions"]) == 36
    assert answer["lines"][0]["text"].strip() == "result += step ^ lane;"
    assert answer["lines"][0]["stall_reasons"] == {"ALU_DEPENDENCY": 6}
    first = answer["instructions"][0]
    assert first["address"] == "0x1d4c"
    assert {"name": "result", "location": "v1"} in first["variables"]
    rows = [json.loads(line) for line in run("annotate", SAMPLES, CODE, "--jsonl")[1].splitlines()]
    assert [row["line"] for row in rows] == [row["line"] for row in answer["lines"]]


@for_each("kind, begin", ("pprof", b"\x1f\x8b"), ("speedscope", b'{"$schema"'))
def test_profiles(run, tmp_path, kind, begin):
    out = tmp_path / "p"
    assert run("annotate", SAMPLES, CODE, "--profile-format", kind, "-o", out)[:2] == (0, "")
    content = out.read_bytes()
    assert content.startswith(begin)
    if kind == "pprof":
        assert b"stalled: WAITCNT" in gzip.decompress(content)


def test_what_is_wrong_is_said(run, tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_bytes((ROOT / "fixtures" / SAMPLES).read_bytes()[:5000])
    status, out, err = run("annotate", cut, CODE)
    assert (status, out) == (3, "")
    assert "is not a file of samples: it is not JSON" in err
    assert run("annotate", tmp_path / "no.csv", CODE)[0] == 3
    status, out, err = run("annotate", SAMPLES, "amdgpu/cl-kernels.gfx90a.w64.O2.v5.co")
    assert (status, "38 samples of code objects that no CODE is" in out) == (1, True)
    assert "name the file that was sampled" in err
    status, _out, err = run("annotate", SAMPLES, "amdgpu/cl-kernels.gfx90a.w64.O2.v5.co", "--profile-format", "pprof")
    assert (status, "no sample of" in err) == (2, True)
    status, _out, err = run("annotate", SAMPLES, "host/classes.gcc.O2.v5.x86_64")
    assert (status, "is not a code object of a GPU" in err) == (2, True)
