"""Lanes of one wave that a barrier of the source would order: a warning, where the code has all barriers."""

import json

import pytest

from dwarfgpu.cli import main

KERNELS = """
#define ARGUMENTS (global int *out, global int *in, local int *t)
kernel void tail ARGUMENTS {
  int l = get_local_id(0); t[l] = in[l]; barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s >>= 1) { if (l < s) t[l] += t[l + s]; SYNC }
  if (l == 0) out[0] = t[0];
}
kernel void neighbour ARGUMENTS { int l = get_local_id(0); t[l] = in[l]; SYNC out[l] = t[l ^ 1]; }
kernel void loop ARGUMENTS {
  int l = get_local_id(0), x = l;
  for (int n = 0; n < 3; n++) { t[l] = x; barrier(CLK_LOCAL_MEM_FENCE); x = t[l ^ 1] + n; SYNC }
  out[l] = x;
}
kernel void in_place ARGUMENTS { int l = get_local_id(0); int x = in[l] + in[l + 1]; SYNC in[l] = x; }
kernel void counted ARGUMENTS {  // the later of two lanes reads what both have written
  int l = get_local_id(0); out[l] = l;
  if (__scoped_atomic_fetch_add(&in[l / 2], 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE)) out[64 + l] = out[l ^ 1];
}
"""
FAULTY = "tail", "neighbour", "loop", "in_place"
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"


@pytest.fixture
def found(require_tool, tmp_path, capsys):
    """``found("tail", "", "gfx90a", "2")``: the kinds of findings, each with its severity."""
    require_tool("clang-22")

    def run(kernel, sync, processor, level, attribute=""):
        source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
        source.write_text(KERNELS.replace("SYNC", sync).replace("kernel void", f"kernel {attribute} void"))
        assert main(["compile", str(source), f"--target={processor}", f"-O{level}", "-o", path]) == 0
        capsys.readouterr()
        words = ["--grid=64", "--work-group=64", "zeros(128)", "zeros(65)", "256", "--check=race", "--jit=on", "--json"]
        status = main(["run", path, kernel, *words])
        rows = json.loads(capsys.readouterr().out)["check"]["findings"]
        assert status == bool(rows)
        return {(row["rule"], row["severity"]) for row in rows}

    return run


@pytest.mark.slow
@pytest.mark.parametrize("processor, level", [
    ("gfx90a", "2"), *((each, level) for each in ("gfx942", "gfx1100", "gfx1200") for level in "02"),
])  # fmt: skip
def test_lanes_that_nothing_but_their_wave_orders(found, processor, level):
    warning = ("race-in-wave", "warning")
    assert {kernel for kernel in FAULTY if warning not in found(kernel, "", processor, level)} == set()
    assert {kernel for kernel in (*FAULTY, "counted") if found(kernel, BARRIER, processor, level)} == set()


def test_nothing_is_claimed_where_barriers_leave_no_code(found):
    """The compiler drops those of a work-group that is one wave, and a barrier of a wave is never an instruction."""
    attribute = "__attribute__((reqd_work_group_size(64, 1, 1)))"
    assert found("neighbour", BARRIER, "gfx90a", "2", attribute) == set()
    assert found("neighbour", "__builtin_amdgcn_wave_barrier();", "gfx90a", "2") == set()
