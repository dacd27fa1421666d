"""What `run --trace=lines` shows of each line: the variables that it has changed, and what it reads."""

import re

import pytest

from tests.builders.commands import run

SOURCE = """kernel void hidden(global int *out, int n) {
  int i = get_global_id(0);
  int v = i + 1;
  {
    int v = 10;
    v += i;
    out[i] = v;
  }
  int s = 0;
  for (int k = 0; k < n; k++)
    s += k;
  out[i] += v + s;
}
kernel void listed(global const int *in, global int *out, int n) {
  int i = get_local_id(0), sum = 0;
  for (int k = i; k < n; k++)
    sum += in[k];
  out[i] = sum;
}
typedef struct { char c; int x, y; } point;
kernel void unset(global int *out, int n) {
  int i = get_global_id(0);
  int late, zero, copy;
  point p;
  int a[3];
  float4 q;
  local int shared[2];
  p.x = i;
  zero = n;
  a[1] = a[0];
  q.y = 2;
  copy = late;
  a[2] = n;
  shared[1] = 5;
  p.c = 'c';
  p.y = i;
  out[i] = p.y + zero + a[2] + copy + shared[1] + q.y;
}
"""


@pytest.fixture(scope="module")
def source(require_tool, tmp_path_factory):
    require_tool("clang-22")
    path = tmp_path_factory.mktemp("lines") / "k.cl"
    path.write_text(SOURCE)
    return path


def steps(source, kernel, *words):
    """Return each line that begins, with what is shown below it."""
    shown = run("run", str(source), kernel, "--grid=8", "--work-group=8", *words, "--trace=lines", "--lane=1").stdout
    found = []
    for line in shown.splitlines():
        if re.match(r"\S+:\d+ in ", line):
            found.append((int(re.search(r":(\d+) in", line)[1]), []))
        elif line.startswith("    "):
            found[-1][1].extend(re.split(r"  +", line.strip()))
    return [(line, [each for each in values if " *)" not in each]) for line, values in found]


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_variables_of_one_name_are_told_apart_and_shown_at_the_end_of_their_scope(source, target):
    found = steps(f"{source}@{target}", "hidden", "out=zeros(8,i4)", "n=2")
    assert found[1:] == [
        (2, ["n = 2", "i = 1"]), (3, ["v = 2"]), (5, ["v = 10"]), (6, ["v = 11"]), (7, ["out[i] = 11"]), (9, ["s = 0"]),
        (10, ["k = 0"]), (11, []), (10, ["k = 1"]), (11, ["s = 1"]), (10, ["k = 2"]),
        (12, ["reads out[i] = 11", "out[i] = 14"]), (13, []),
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_optimized_code_shows_values_whose_locations_hold_within_a_line_and_arguments(source, target):
    found = steps(f"{source}@{target}", "listed", "-O2", "in=arange(8,i4)", "out=zeros(8,i4)", "n=4")
    values = [each for _line, shown in found for each in shown]
    assert "n = 4 (at the launch)" in values
    assert {"i = 1", "sum = 0"} <= {*values}
    assert [each for each in values if each.startswith("sum = ")][-1] in ("sum = 3", "sum = 6")


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a", "gfx1200"])
def test_what_nothing_has_set_is_not_shown_as_a_value(source, target):
    """Neither a copy of it, nor the other parts of a vector that is loaded and stored to set one of them."""
    found = dict(steps(f"{source}@{target}", "unset", "out=zeros(8,i4)", "n=0"))
    no = "<not set yet>"
    assert found[22] == ["n = 0", "i = 1"]
    assert [found[line] for line in range(28, 36)] == [
        [f"p = {{c = {no}, x = 1, y = {no}}}"], ["zero = 0"], [f"reads a[0] = {no}", f"a[1] = {no}"],
        [f"q = {{{no}, 2, {no}, {no}}}"], [], [f"a = {{{no}, {no}, 0}}"], [f"shared = {{{no}, 5}}"],
        [f"p = {{c = 99 'c', x = 1, y = {no}}}"],
    ]  # fmt: skip
    assert found[36] == ["p = {c = 99 'c', x = 1, y = 1}"]
    assert (
        "ERROR"
        not in run(
            "run",
            f"{source}@{target}",
            "unset",
            "--grid=8",
            "--work-group=8",
            "out=zeros(8,i4)",
            "n=0",
            "--trace=lines",
        ).stdout
    )


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_macros_in_a_line_hide_no_objects(source, target):
    source = source.with_name("macros.cl")
    source.write_text(
        "#define AT(i, j) ((i) * 2 + (j))\n#define FIRST in[AT(i, 0)]\n"
        "kernel void macros(global const int *in, global int *out) {\n  int i = get_global_id(0);\n"
        "  out[AT(i, 1)] = in[AT(i, 1)] + FIRST;\n}\n"
    )
    code = source.with_suffix(f".{target}.co")
    run("compile", str(source), "-target", target, "-o", str(code), "--", "-fdebug-macro")
    found = dict(steps(code, "macros", "in=arange(16,i4)", "out=zeros(16,i4)"))
    assert found[5] == ["reads in[AT(i, 1)] = 3", "in[((i) * 2 + (0))] = 2", "out[AT(i, 1)] = 5"]
