"""What `run --trace=lines` shows of each line: the variables that it has changed, and what it reads."""

import re

import pytest

from tests.builders.commands import run
from tests.builders.parameters import some_slow

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


def on_one(target):
    """Run a test on one processor, and a slow one on two others."""
    return pytest.mark.parametrize("target", some_slow(["gfx90a", "gfx1100", "gfx1200"], quick=[target]))


def steps(source, kernel, *words):
    """Return each line that begins, with what is shown below it."""
    shown = run("run", str(source), kernel, "--grid=8", "--work-group=8", *words, "--trace=lines", "--lane=1").stdout
    found = []
    for line in shown.splitlines():
        if re.match(r"\S+:\d+ in ", line):
            found.append((int(re.search(r":(\d+) in", line)[1]), []))
        elif re.match(r"    \D", line) and "lanes " not in line:
            found[-1][1].extend(re.split(r"  +", line.strip()))
    return [(line, [each for each in values if " *)" not in each]) for line, values in found]


@on_one("gfx90a")
def test_variables_of_one_name_are_told_apart_and_shown_at_the_end_of_their_scope(source, target):
    found = steps(f"{source}@{target}", "hidden", "out=zeros(8,i4)", "n=2")
    assert found == [
        (1, ["n = 2"]), (2, ["i = 1"]), (3, ["v = 2"]), (5, ["v = 10"]), (6, ["v = 11"]), (7, ["out[i] = 11"]),
        (9, ["s = 0"]), (10, ["k = 0"]), (11, ["s = 0 (as before)"]), (10, ["k = 1"]), (11, ["s = 1"]), (10, ["k = 2"]),
        (12, ["reads out[i] = 11", "out[i] = 14"]), (13, []),
    ]  # fmt: skip


@on_one("gfx1100")
def test_optimized_code_shows_values_whose_locations_hold_within_a_line_and_arguments(source, target):
    found = steps(f"{source}@{target}", "listed", "-O2", "in=arange(8,i4)", "out=zeros(8,i4)", "n=4")
    values = [each for _line, shown in found for each in shown]
    assert "n = 4 (at the launch)" in values
    assert {"i = 1", "sum = 0"} <= {*values}
    assert [each for each in values if each.startswith("sum = ")][-1] in ("sum = 3", "sum = 6")
    assert re.findall(r"in\[\d\] = \d", " ".join(values)) == [f"in[{k}] = {k}" for k in (1, 2, 3)]
    assert found[-1][1][-1] == "out[1] = 6"
    assert all(shown for _line, shown in found)  # lines without values are left out


@pytest.mark.slow
def test_a_trace_of_optimized_code_says_at_its_beginning_what_may_be_wrong(source):
    words = "--grid=8", "--work-group=8", "in=arange(8,i4)", "out=zeros(8,i4)", "n=4", "--trace=lines"
    shown = [run("run", str(source), "listed", *words, level).stdout for level in ("-O2", "-O0")]
    assert shown[0].startswith("(optimized code: ")
    assert [text.count("optimized code") for text in shown] == [1, 0]


@on_one("gfx1200")
@pytest.mark.slow
def test_what_nothing_has_set_is_not_shown_as_a_value(source, target):
    """Neither a copy of it, nor the other parts of a vector that is loaded and stored to set one of them."""
    found = dict(steps(f"{source}@{target}", "unset", "out=zeros(8,i4)", "n=0"))
    no = "<not set yet>"
    assert (found[21], found[22]) == (["n = 0"], ["i = 1"])
    assert [found[line] for line in range(28, 36)] == [
        [f"p = {{c = {no}, x = 1, y = {no}}}"], ["zero = 0"], [f"reads a[0] = {no}", f"a[1] = {no}"],
        [f"q = {{{no}, 2, {no}, {no}}}"], [f"copy = {no}"], ["a[2] = 0"], ["shared[1] = 5"],
        [f"p = {{c = 99 'c', x = 1, y = {no}}}"],
    ]  # fmt: skip
    assert found[36] == ["p = {c = 99 'c', x = 1, y = 1}"]
    words = ["unset", "--grid=8", "--work-group=8", "out=zeros(8,i4)", "n=0", "--trace=lines"]
    assert "ERROR" not in run("run", f"{source}@{target}", *words).stdout


@on_one("gfx90a")
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


@on_one("gfx1100")
@pytest.mark.slow
def test_what_a_function_has_changed_is_shown_where_it_returns(source, target):
    source = source.with_name("pointers.cl")
    source.write_text(
        "void fill(int *a, int n) { for (int k = 0; k < n; k++) a[k] = k * k; }\n"
        "int peek(global const int *s, int i) { return s[i] + 1; }\n"
        "kernel void pointers(global const int *in, global int *out) {\n  int i = get_global_id(0);\n  int a[3];\n"
        "  fill(a, 3);\n  out[i + 1] = peek(in, i);\n}\n"
    )
    found = steps(f"{source}@{target}", "pointers", "in=arange(16,i4)", "out=zeros(16,i4)")
    assert found[2:] == [
        (6, []), (1, ["n = 3", "k = 3", "a[k] = 0", "a[k] = 1", "a[k] = 4"]), (6, ["a = {0, 1, 4}"]),
        (7, []), (2, ["i = 1", "reads s[i] = 1", "returns 2"]), (7, ["out[i + 1] = 2"]), (8, []),
    ]  # fmt: skip


@pytest.mark.slow
def test_what_a_call_before_has_left_on_the_stack_is_no_value_of_a_variable(source):
    source = source.with_name("late.cl")
    source.write_text(
        "int late(int i)\n{\n  int y;\n  if (i > 2)\n    y = i;\n  int z = 1;\n  return i > 2 ? y : z;\n}\n"
        "kernel void stale(global int *out) {\n  out[0] = late(5);\n  out[1] = late(1);\n}\n"
    )
    found = steps(source, "stale", "out=zeros(8,i4)")
    assert [values for line, values in found if line == 2] == [["i = 5"], ["i = 1"]]
    assert [values for line, values in found if line == 6] == [["z = 1"], ["z = 1"]]
    assert (5, ["y = 5"]) in found


def test_nor_are_the_members_of_a_structure_that_has_one_set(source):
    source = source.with_name("part.cl")
    source.write_text(
        "typedef struct { int sum, most; } Part;\nvoid fill(int *p) { *p = 7; }\nint join(int a) {\n  Part r;\n"
        "  r.sum = a;\n  fill(&r.most);\n  return r.sum + r.most;\n}\n"
        "kernel void joined(global int *out) {\n  out[0] = join(5);\n  out[1] = join(6);\n}\n"
    )
    found = steps(source, "joined", "out=zeros(8,i4)")
    assert [values[0] for line, values in found if line == 5] == [
        f"r = {{sum = {number}, most = <not set yet>}}" for number in (5, 6)
    ]
    assert (7, ["r = {sum = 6, most = 7}", "returns 13"]) in found


@pytest.mark.slow
def test_a_declaration_in_a_loop_shows_the_value_that_it_gives_once_more(source):
    source = source.with_name("again.cl")
    source.write_text(
        "kernel void again(global int *out, int n) {\n  int i = get_local_id(0);\n  for (int j = 0; j < n; j++) {\n"
        "    int c = i * 3;\n    out[j] = c;\n  }\n}\n"
    )
    found = steps(source, "again", "out=zeros(8,i4)", "n=2")
    assert [values for line, values in found if line == 4] == [["c = 3"], ["c = 3 (as before)"]]


@on_one("gfx1100")
def test_an_array_of_a_block_that_is_left_and_entered_again(source, target):
    source = source.with_name("block.cl")
    source.write_text(
        "kernel void block(global int *o, int n) {\n  int i = get_global_id(0);\n  for (int j = 0; j < n; j++) {\n"
        "    { int x[4]; x[j % 4] = j; if (j > 3) x[0] = 1; o[i] = x[j % 4]; }\n  }\n  o[i] += 1;\n}\n"
    )
    found = steps(f"{source}@{target}", "block", "zeros(8,i4)", "2")
    unset = "<not set yet>"
    assert [values for line, values in found if line == 4] == [
        [f"x = {{0, {unset}, {unset}, {unset}}}", "o[i] = 0"], [f"x = {{0, 1, {unset}, {unset}}}", "o[i] = 1"],
    ]  # fmt: skip


def test_a_value_in_several_lines_is_read_once(source):
    source = source.with_name("wide.cl")
    source.write_text(
        "typedef struct { double first, second, third, fourth, fifth; } Wide;\n"
        "kernel void wide(global Wide *in, global double *out) {\n  Wide own = in[1];\n  out[0] = own.first;\n}\n"
    )
    words = "--grid=8", "--work-group=8", "random(99,f8)", "zeros(8,f8)", "--trace=lines", "--lane=1"
    shown = run("run", str(source), "wide", *words).stdout
    assert re.search(r"\n    reads in\[1\] = \{first = 0.*\n          \S", shown)
    assert shown.count("reads in") == 1


HELPERS = """#include <hip/hip_runtime.h>
__device__ int clampi(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
__device__ int idx(int i, int j) { return i * 4 + j; }
__device__ int nest(int a) { return clampi(idx(a, 1), 0, 6); }
template <typename T> __device__ T twice(T x) { return x + x; }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ float counted(float x)
{
  static int calls = 0;
  return x += 1;
}
struct Matrix {
  float *p; int w;
  __device__ float &at(int i, int j) { return p[i * w + j]; }
  __device__ float operator()(int i, int j) const { return p[i * w + j]; }
};
extern "C" __global__ void helpers(float *out, const float *in) {
  int i = threadIdx.x;
  out[idx(0, i)] = twice(in[idx(0, i)]) + twice(1.5f);
  int d = nest(i) + nest(i + 1);
  Matrix A{out, 4};
  A.at(1, i) = 3.0f;
  float s = A(1, i);
  int f = fib(2);
  s = counted(s);
}
extern "C" __global__ void shared_places(int *out, const int *in) {
  int i = threadIdx.x;
  __shared__ int one[2];
  out[0] = i;
  one[1] = i;
  int v = out[0];
  atomicAdd(&out[1], i);
  int &r = out[i + 2];
  r = 7;
  v += r;
  v += 0;
  if (i > 4)
    v = in[i];
  for (int k = 0; k < 2; k++)
    v = i > 0 ? v : in[k];
}
"""


@pytest.fixture(scope="module")
def helpers(require_tool, tmp_path_factory):
    require_tool("clang-22")
    path = tmp_path_factory.mktemp("helpers-in-a-folder-whose-name-is-long") / "h.hip"
    path.write_text(HELPERS)
    return path


@on_one("gfx90a")
@pytest.mark.slow
def test_functions_show_their_arguments_and_what_they_return(helpers, target):
    found = steps(f"{helpers}@{target}", "helpers", "out=zeros(16)", "in=arange(16)")
    found = [(line, values) for line, values in found if not values[:1] or not values[0].startswith("A = ")]
    assert found[2:] == [
        (19, []), (3, ["i = 0", "j = 1", "returns 1"]), (19, ["reads in[1] = 1"]), (5, ["x = 1", "returns 2"]),
        (19, []), (5, ["x = 1.5", "returns 3"]), (19, []), (3, ["i = 0", "j = 1", "returns 1"]), (19, ["out[1] = 5"]),
        (20, []), (4, ["a = 1"]), (3, ["i = 1", "j = 1", "returns 5"]), (4, []),
        (2, ["v = 5", "lo = 0", "hi = 6", "returns 5"]), (4, ["returns 5"]), (20, []), (4, ["a = 2"]),
        (3, ["i = 2", "j = 1", "returns 9"]), (4, []), (2, ["v = 9", "lo = 0", "hi = 6", "returns 6"]),
        (4, ["returns 6"]), (20, ["d = 11"]),
        (22, []), (14, ["i = 1", "j = 1", "returns out[5]"]), (22, ["out[5] = 3"]),
        (23, []), (15, ["i = 1", "j = 1", "reads p[i * w + j] = 3", "returns 3"]), (23, ["s = 3"]),
        (24, []), (6, ["n = 2"]), (6, ["n = 1", "returns 1"]), (6, []), (6, ["n = 0", "returns 0"]),
        (6, ["returns 1"]), (24, ["f = 1"]), (25, []), (8, ["x = 3"]), (10, ["x = 4", "returns 4"]), (25, ["s = 4"]),
        (26, []),
    ]  # fmt: skip


@on_one("gfx1100")
@pytest.mark.slow
def test_a_lane_has_what_it_loads_and_stores_itself(helpers, target):
    """Where lanes store to one place, the last one wins; a lane that does not execute an access has none."""
    found = steps(f"{helpers}@{target}", "shared_places", "out=zeros(16,i4)", "in=arange(16,i4)")
    found = [(line, values) for line, values in found if line != 34]
    assert found[2:] == [
        (30, ["out[0] = 1"]), (31, ["one[1] = 1"]), (32, ["reads out[0] = 7", "v = 7"]),
        (33, ["out[1] = 1 (atomic, was 0)"]), (35, ["r = 7"]), (36, ["reads r = 7", "v = 14"]), (38, ["reads i = 1"]),
        (40, ["k = 0"]), (41, ["v = 14 (as before)"]), (40, ["k = 1"]), (41, ["v = 14 (as before)"]), (40, ["k = 2"]),
        (42, []),
    ]  # fmt: skip
