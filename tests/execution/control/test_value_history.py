"""All values of an expression while a kernel runs, against what the source computes."""

import csv
import re
import shlex
from functools import cache

import numpy as np
import pytest

from dwarfgpu.execution.control import value_history
from tests.builders.commands import document, run
from tests.builders.folders import FIXTURES

SOURCE = """__kernel void walk(__global const float *in, __global float *out, int n) {
  int i = get_global_id(0);
  float sum = 0;
  for (int at = i; at < n; at += 3) {
    if (at & 1)
      sum += in[at];
  }
  out[i] = sum;
}
"""
COUNT = 12
SIZES = "--grid=64", "--work-group=64", "in=arange(64)", "out=zeros(64)", f"n={COUNT}"


@pytest.fixture(scope="module")
def compiled(require_tool, tmp_path_factory):
    """``compiled(name, text, *words)`` is the code object of a source, which is compiled once."""
    require_tool("clang-22")
    folder = tmp_path_factory.mktemp("history")

    @cache
    def build(name, text, *words):
        (folder / name).write_text(text)
        path = folder / f"{name.partition('.')[0]}{''.join(words)}.co"
        assert not run("compile", str(folder / name), *words, "-o", str(path)).returncode
        return path

    return build


@pytest.fixture(scope="module")
def source(compiled):
    return compiled("w.cl", SOURCE)


def rows_of(source, text):
    return document("run", str(source), "walk", *SIZES, "--watch", text)["history"]["rows"]


def at_line(rows, line, wave="1:1:1:1"):
    return [row["values"] for row in rows if row["line"] == line and wave in row["waves"]]


def test_an_integer_in_each_turn_of_a_loop(source):
    expected = [[lane + 3 * turn if lane + 3 * turn < COUNT else None for lane in range(32)] for turn in range(4)]
    expected += [[COUNT + lane % 3 if lane < COUNT else lane for lane in range(32)]]  # which ends the loop
    for text, scale in (("at", 1), ("at * 2 + 1", 2)):
        computed = [[None if each is None else each * scale + scale - 1 for each in row] for row in expected]
        assert at_line(rows_of(source, text), 4) == computed


def test_rows_have_the_line_that_wrote(compiled):
    """Where lanes have parted, each lane that of its own side."""
    source = compiled(
        "parts.cl",
        "kernel void parts(global int *out) {\n  int i = get_global_id(0), own = 7;\n  if (i & 1)\n    own = 1;\n"
        "  else\n    own = 2;\n  out[i] = own;\n}\n",
    )
    words = "run", str(source), "parts", "--grid=32", "--work-group=32", "out=zeros(32)", "--watch", "own"
    rows = document(*words)["history"]["rows"]
    assert {row["line"]: {*row["values"]} - {None} for row in rows} == {2: {7}, 4: {1}, 6: {2}}


SHARED = """kernel void wide(global int *v) {
  int i = get_global_id(0);
  int a = i * 2;
  if (i == 40)
    v[0] = 7;
  int b = a + 1;
  v[i + 1] = b;
}
kernel void sides(global int *v) {
  int i = get_global_id(0);
  if (i & 1)
    v[i] = 5;
  else
    v[1] = 9;
  v[i + 64] = i;
}
kernel void shifted(global int *v) {
  local int tile[34];
  local uint count;
  int l = get_local_id(0);
  count = 0;
  tile[l + 1] = l + 50;
  if (l > 29)
    atomic_inc(&count);
  v[l] = tile[l + 2] + count;
}
"""


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_an_element_of_a_buffer_is_that_of_the_launch(compiled, level):
    """Optimized code may have no place for the parameter, and a called function another variable of its name."""
    source = compiled("shared.cl", SHARED, f"-{level}")
    words = "run", str(source), "wide", "--grid=64", "--work-group=64", "v=zeros(128)", "--watch=v[0]"
    history = document(*words)["history"]
    assert history["expression"] == '$_arg("v")[0]'
    assert {value for row in history["rows"] for value in row["values"]} == {0, 7, None}


@pytest.mark.parametrize("kernel, words, rows", [
    ("wide", ["--grid=64", "--watch=v[0]"], [(None, "1:1:1:1", {0: "all"}), (5, "1:1:1:2", {7: [8]})]),
    ("wide", ["--grid=64", "--watch=v[0]", "--wave=1"],
     [(None, "1:1:1:1", {0: "all"}), (5, "1:1:1:1", {7: "all"}, ["1:1:1:2", [8]])]),
    ("sides", ["--grid=32", "--watch=v[1]"],
     [(None, "1:1:1:1", {0: "all"}), (14, "1:1:1:1", {9: [*range(0, 32, 2)]}), (12, "1:1:1:1", {5: [1]})]),
    ("sides", ["--grid=32", "--watch=v[1]", "--lane=0"],
     [(None, "1:1:1:1", {0: [0]}), (14, "1:1:1:1", {9: [0]}), (12, "1:1:1:1", {5: [0]}, ["1:1:1:1", [1]])]),
    ("shifted", ["--grid=32", "--watch=tile[l + 2]", "--lane=3"],
     [(20, "1:1:1:1", {0: [3]}), (22, "1:1:1:1", {54: [3]}, ["1:1:1:1", [4]])]),
    ("shifted", ["--grid=32", "--watch=count"], [(None, "1:1:1:1", {0: "all"}), (24, "1:1:1:1", {2: [30, 31]})]),
])  # fmt: skip
@pytest.mark.sampled(6)
def test_memory_that_lanes_share_has_a_row_for_each_store(compiled, kernel, words, rows):
    """With the line and the lanes that stored, whichever lanes looked."""
    source = compiled("shared.cl", SHARED)
    sizes = f"--work-group={words[0][-2:]}", "v=zeros(128)"
    found = []
    for row in document("run", str(source), kernel, *words, *sizes)["history"]["rows"]:
        lanes = {}
        for lane, value in enumerate(row["values"]):
            if value is not None:
                lanes.setdefault(value, []).append(lane)
        whole = {value: "all" if len(each) == 32 else each for value, each in lanes.items()}
        found.append((row["line"], *row["waves"], whole, *row.get("writers", ())))
    assert found == rows
    answer = run("run", str(source), kernel, *words, *sizes).stdout
    text = words[1].partition("=")[2]
    text = text.replace("v[", '$_arg("v")[')
    assert f"the values of {text}: a row for each store that changed them" in answer
    assert ("written by" in answer) == any(len(row) > 3 for row in rows)
    assert ("(before)" in answer) == (rows[0][0] is None)
    assert "weak memory" not in answer
    if kernel == "wide":
        weak = run("run", str(source), kernel, *words, *sizes, "--weak-memory=1").stdout
        assert "weak memory: late stores" in " ".join(weak.split())


PART = """kernel void part(global int *out, global const int *in, int n) {
  local int tile[64];
  int i = get_global_id(0), l = get_local_id(0);
  int sum = 0;
  tile[l] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = 0; j < n; j++) {
    sum += tile[(l + j) % 64];
  }
  out[i] = sum;
}
"""


@pytest.mark.parametrize("level", [pytest.param("O0", marks=pytest.mark.slow), "O1", "O2"])
def test_local_memory_is_watched_from_the_first_line_on(compiled, level):
    """It is there before its declaration, which optimized code may have behind all lines."""
    source = compiled(
        "tile.cl",
        "kernel void turn(global int *out, global const int *in) {\n  int i = get_global_id(0), l = get_local_id(0);\n"
        "  local int tile[64];\n  tile[l] = in[i];\n  barrier(CLK_LOCAL_MEM_FENCE);\n  out[i] = tile[63 - l];\n}\n",
        f"-{level}",
    )
    words = "run", str(source), "turn", "--grid=64", "--work-group=64", "zeros(64)", "arange(64)"
    rows = document(*words, "--watch=tile[3]")["history"]["rows"]
    assert [(row["line"], {*row["values"]} - {None}) for row in rows] == [(None, {0}), (4, {3})]
    assert "name a part of it: `tile[0]`" in run(*words, "--watch=tile").stderr


def test_a_value_is_seen_where_its_location_begins_within_a_line(compiled):
    """Here a list of locations ends before the next line begins; the count of lines without a value is not changed."""
    source = compiled("part.cl", PART, "-O2")
    words = "run", str(source), "part", "--grid=64", "--work-group=64", "zeros(64)", "arange(64)", "2"
    history = document(*words, "--watch=l")["history"]
    assert [(row["line"], row["values"]) for row in history["rows"] if "1:1:1:2" in row["waves"]] == [
        (7, [*range(32, 64)])
    ]
    assert re.match(r"l had no value at (\d+) of \1 places where a line began ", history["incomplete"])


@pytest.mark.slow
def test_stores_of_several_waves_to_one_element_lead_to_the_check(compiled):
    """Not those of one wave, and no atomic operations, whose order decides nothing."""
    source = compiled(
        "rivals.cl",
        "kernel void rivals(global int *out) {\n  int i = get_global_id(0);\n  out[0] = i;\n  out[i + 1] = i;\n"
        "  atomic_add(&out[100], 1);\n}\n",
    )
    words = "rivals", "--grid=96", "--work-group=32", "out=zeros(128)"
    found = {at: run("run", str(source), *words, f"--watch=out[{at}]").stderr for at in (0, 5, 100)}
    command = f"dwarfgpu run {source} {' '.join(words[:3])} 'out=zeros(128)' --check=race"
    assert f'3 waves stored to $_arg("out")[0]: `{command}` tells whether their order matters' in found[0]
    assert "order" not in found[5] + found[100]
    assert "error: write-write race: `out[0]`" in run(*shlex.split(command)[1:]).stdout


@pytest.mark.slow
def test_several_expressions_are_watched_together(compiled):
    """Each as it is alone, whether lanes share it or not."""
    source = compiled("shared.cl", SHARED)
    words = "run", str(source), "shifted", "--grid=64", "--work-group=32", "v=zeros(128)"
    texts = [f"--watch={text}" for text in ("count", "l", "v[3]", "tile[5]")]
    alone = [document(*words, text)["history"] for text in texts]
    assert document(*words, *texts)["histories"] == alone
    assert document(*words, *texts[::-1])["histories"] == alone[::-1]
    answer = run(*words, *texts)
    assert answer.stdout.count("the values of") == 4
    assert "which stored to tile[5] last" in answer.stderr
    assert "--history needs one --watch EXPR" in run(*words, *texts, "--history=h.csv").stderr


NAMESAKES = """int twice(int v) {
  return v * 2;
}
kernel void namesakes(global int *out) {
  int i = get_global_id(0);
  if (i < 9) {
    int v = twice(i + 100);
    out[i] = v;
  }
  for (int k = 0; k < 2; k++) {
    int v = k + 5;
    out[i] += v;
  }
}
"""


@pytest.mark.slow
def test_variables_of_one_name_are_told_apart(compiled):
    """Each has values from its declaration on only."""
    source = compiled("namesakes.cl", NAMESAKES)
    words = "run", str(source), "namesakes", "--grid=32", "--work-group=32", "out=zeros(32)", "--watch=v"
    rows = document(*words)["history"]["rows"]
    found = [(row["line"], row["declared"], [each for each in row["values"] if each is not None]) for row in rows]
    assert found == [
        (7, "namesakes.cl:1", [*range(100, 109)]), (7, "namesakes.cl:7", [*range(200, 218, 2)]),
        (11, "namesakes.cl:11", [5] * 32), (11, "namesakes.cl:11", [6] * 32),
    ]  # fmt: skip
    rows = document(*words[:-1], "--watch=namesakes::v")["history"]["rows"]  # also in the function that it calls
    assert [(row["line"], row["declared"]) for row in rows] == [(line, f"namesakes.cl:{line}") for line in (7, 11, 11)]
    text = " ".join(run(*words).stdout.split())
    declared = "; ".join(f"namesakes.cl:{line}" for line in (1, 7, 11))
    assert f"v means different variables, declared at {declared} instructions" in text


def test_lanes_that_never_execute_a_declaration_have_no_value(compiled):
    source = compiled(
        "early.cl",
        "kernel void early(global int *out) {\n  int i = get_global_id(0);\n  if (i >= 40)\n    return;\n"
        "  int right = i + 5;\n  out[i] = right;\n}\n",
    )
    words = "run", str(source), "early", "--grid=128", "--work-group=128", "out=zeros(128)", "--watch=right"
    rows = document(*words)["history"]["rows"]
    assert {(wave, row["line"], row["declared"]) for row in rows for wave in row["waves"]} == {
        ("1:1:1:1", 5, "early.cl:5"), ("1:1:1:2", 5, "early.cl:5"),
    }  # fmt: skip
    assert sorted(each for row in rows for each in row["values"] if each is not None) == [*range(5, 45)]


@pytest.mark.slow
def test_what_only_the_frame_can_tell(source):
    rows = rows_of(source, "sum")
    assert (at_line(rows, 1), at_line(rows, 3)) == ([], [[0.0] * 32])
    for lane in (0, 1, 5, 11):
        turns = [range(lane, end, 3) for end in range(lane + 1, COUNT + 1, 3)]
        seen = [row[lane] for row in at_line(rows, 6) if row[lane] is not None]
        assert seen == [sum(at for at in turn if at & 1) for turn in turns if turn[-1] & 1]
    assert at_line(rows_of(source, "in[at]"), 4)[1][:12] == [*map(float, range(3, 12)), None, None, None]


@pytest.mark.slow
def test_text_table_and_arrays_have_the_same_rows(source, tmp_path):
    rows = rows_of(source, "at")
    paths = [tmp_path / name for name in ("h.csv", "h.npz")]
    for path in paths:
        text = run("run", str(source), "walk", *SIZES, "--watch=at", f"--history={path}").stdout
        shown = text.partition("the values of at where")[2].splitlines()
        assert len([line for line in shown if "1:1:1:" in line]) == len(rows)
    with paths[0].open() as file:
        table = [*csv.DictReader(file)]
    values = [(row["time"], lane, each) for row in rows for lane, each in enumerate(row["values"]) if each is not None]
    assert [(int(row["time"]), int(row["lane"]), int(row["value"])) for row in table] == values
    with np.load(paths[1]) as arrays:
        assert np.ma.MaskedArray(arrays["value"], ~arrays["has_value"]).tolist() == [row["values"] for row in rows]
        assert arrays["line"].tolist() == [row["line"] for row in rows]


def test_a_pointer_is_an_address(source):
    answer = run("run", str(source), "walk", *SIZES, "--watch", "in")
    assert re.search(r"w\.cl:1 +0x7f[0-9a-f]+\n", answer.stdout)
    assert answer.stderr == "hint: `*in` or `in[0]` is what it points to\n"


WHOLE = """typedef struct { int x; float y; } point;
kernel void whole(global float4 *out) {
  int i = get_global_id(0);
  float4 q = (float4)(i, 3, 0, 1);
  point p = {i, 0.5f};
  int a[3] = {1, 2, i};
  q.y = i * 2;
  p.x += 3;
  if (i == 33)
    a[1] = 7;
  out[i] = q + p.x + a[1];
  float big[20] = {0};
}
"""


@pytest.mark.parametrize("text, rows", [
    ("a", [(6, "{1, 2, 33}"), (10, "{1, 7, 33}")]), ("q", [(4, "{33, 3, 0, 1}"), (7, "{33, 66, 0, 1}")]),
    ("p", [(5, "{x = 33, y = 0.5}"), (8, "{x = 36, y = 0.5}")]), ("out[33]", [(11, "{76, 109, 43, 44}")]),
])  # fmt: skip
@pytest.mark.sampled(6)
def test_a_vector_an_array_or_a_structure_has_whole_values(compiled, text, rows, tmp_path):
    source = compiled("whole.cl", WHOLE)
    words = "run", str(source), "whole", "--grid=64", "--work-group=64", "out=zeros(256)", f"--watch={text}"
    found = document(*words)["history"]["rows"]
    assert [(row["line"], row["values"][1]) for row in found if row["waves"] == ["1:1:1:2"]] == rows
    if text != "q":
        return
    for name in ("h.npz", "h.csv"):
        run(*words, f"--history={tmp_path / name}")
    with np.load(tmp_path / "h.npz") as arrays:
        assert rows[-1][1] in arrays["value"][:, 1]
    assert rows[-1][1] in (tmp_path / "h.csv").read_text()
    assert rows[-1][1] in run(*words, "--lane=1").stdout
    refused = run(*words[:-1], "--watch=big").stderr
    assert "big is float [20], of more than 64 bytes\nhint: name a part of it: `big[0]`" in refused


def test_the_last_value_of_a_variable_is_shown_where_its_scope_has_ended(compiled):
    """In all lanes, which leave a loop in different rounds, and not in one that had none."""
    source = compiled(
        "ends.cl",
        "kernel void ends(global int *out) {\n  int i = get_global_id(0), s = 0;\n  for (int k = 0; k < i; k++)\n"
        "    s += k;\n  if (i & 1) {\n    int t = i;\n    t += 5;\n  } else\n    s = 3;\n  out[i] = s;\n}\n",
    )
    words = "run", str(source), "ends", "--grid=8", "--work-group=8", "out=zeros(8)"
    for text, expected in (("k", [*range(8)]), ("t", [6, 8, 10, 12])):
        last = {}
        for row in document(*words, f"--watch={text}")["history"]["rows"]:
            last |= {lane: value for lane, value in enumerate(row["values"]) if value is not None}
            assert row["line"] in (3, 6, 7)
        assert [last[lane] for lane in sorted(last)] == expected


def test_a_member_of_an_element_in_several_waves_and_elements_that_are_absent(compiled):
    source = compiled("vectors.cl", "kernel void vectors(global float4 *v) {\n  v[get_global_id(0)].z = 5;\n}\n")
    words = "run", str(source), "vectors", "--grid=64", "--work-group=64", "v=zeros(64)"
    rows = document(*words, "--watch=v[37].z")["history"]["rows"]
    expected = [(None, ["1:1:1:1"], 0), (2, ["1:1:1:2"], 5)]
    assert [(row["line"], row["waves"], row["values"][5]) for row in rows] == expected
    assert "v[64].x is not there: v has 64 elements" in run(*words, "--watch=v[64].x").stdout
    assert "all from there on: v has 64" in " ".join(run(*words, "--print=v[62:80]").stdout.split())


def test_an_element_behind_a_pointer_in_memory_is_another_one_when_that_changes(compiled):
    text = "struct S { int v; global struct S *p; };\nkernel void k(global struct S *a) {\na->p = a + 1;\na[1].v = 5;\n"
    words = str(compiled("chain.cl", text + "a->p = a + 2;\na[2].v = 7;\n}\n")), "k", "--grid=1", "--work-group=1"
    rows = document("run", *words, "a=zeros(4)", "--watch=a[0].p[0].v")["history"]["rows"]
    assert [(row["line"], row["values"][0]) for row in rows if row["line"]] == [(4, 5), (6, 7)]


def test_a_line_is_named_for_lanes_that_executed_it_alone(compiled):
    source = compiled(
        "falls.cl",
        "kernel void falls(global int *out) {\n  int i = get_global_id(0) & 1, own = 7;\n  switch (i) {\n"
        "  case 0:\n    own = 1;\n  case 1:\n    out[i] = own;\n  }\n}\n",
    )
    words = "run", str(source), "falls", "--grid=32", "--work-group=32", "out=zeros(32)", "--watch", "own"
    rows = document(*words)["history"]["rows"]
    assert {row["line"]: row["values"][:2] for row in rows} == {2: [7, 7], 5: [1, None]}


def test_rows_that_are_too_many_are_counted(source, monkeypatch):
    monkeypatch.setattr(value_history, "MOST", 2)
    history = document("run", str(source), "walk", *SIZES, "--watch=at")["history"]
    assert (len(history["rows"]), history["rows_left_out"]) == (2, 4)


@pytest.mark.slow
def test_a_history_with_gaps_says_how_many(source):
    """The optimizer drops locations of the sum."""
    words = str(source.with_suffix(".cl")), "walk", *SIZES, "--watch=sum"
    answer = run("run", "-O2", *words)
    found = re.search(r"sum had no value at (\d+) of (\d+) places where a line\s+began\s", answer.stdout)
    assert 0 < int(found[1]) < int(found[2])
    assert answer.stdout.endswith("history is not complete\n")
    assert ("--watch" in answer.stderr, "compiles it with -O0" in answer.stderr) == (False, True)
    assert document("run", "-O2", *words)["history"]["incomplete"].startswith("sum had no value at")
    assert "incomplete" not in document("run", *words)["history"]


def test_the_present_value_is_the_last_row(source):
    """An instruction of line 6 has changed the sum, and no line has begun since."""
    target = f"target launch walk 64 64 {' '.join(SIZES[2:])}"
    steps = target, "tbreak 6 if at == 7", "continue", "watch sum", "continue", "p sum", "history -wave 1 -lane 7 sum"
    shown = run("debug", str(source), "-batch", *(word for step in steps for word in ("-ex", step))).stdout
    rows = shown.partition("$1 = 7\nthe values of sum where")[2].splitlines()[2:]
    assert [row.split()[1:] for row in rows] == [["1:1:1:1", "w.cl:3", "0"], ["1:1:1:1", "w.cl:6", "7"]]


@pytest.mark.slow
def test_many_rows_are_in_the_file_alone(source, tmp_path):
    path = tmp_path / "h.csv"
    words = "--grid=2048", "--work-group=64", SIZES[2], "out=zeros(2048)", SIZES[4], "--watch=i", f"--history={path}"
    assert run("run", str(source), "walk", *words).stdout.endswith(f"  ... and 54 more rows\nwritten: {path}\n")
    told = "  ... and 44 more rows; --history FILE.csv writes all\n"
    assert told in run("run", str(source), "walk", *words[:-1]).stdout
    assert len({line.split(",")[1] for line in path.read_text().splitlines()[1:]}) == 64


@pytest.mark.slow
def test_the_debugger_shows_what_the_run_shows(source, tmp_path):
    target = f"target launch walk 64 64 {' '.join(SIZES[2:])}"
    path = tmp_path / "h.csv"
    steps = (
        target,
        "break 8",
        "continue",
        "history -all at",
        f"history -all -to {path} at",
        "print sum",
        "history nothere",
    )
    words = [word for step in steps for word in ("-ex", step)]
    answer = run("debug", str(source), "-batch", *words)
    shown = run("run", str(source), "walk", *SIZES, "--watch=at").stdout.partition("the values of at where")[2]
    assert answer.stdout.count(shown) == 2
    assert "$1 = 12\n" in answer.stdout
    assert path.read_text().count("\n") > 12
    assert "error: no variable `nothere` in walk, at column 1" in answer.stderr


def test_the_debugger_shows_the_history_of_the_selected_lane(source):
    """As `print` does; several waves and lanes are asked for."""
    steps = f"target launch walk 64 64 {' '.join(SIZES[2:])}", "break 8", "continue", "lane 7"
    steps += "history at", "history -lane 9 at", "history -wave 1 i", "history out[3]"
    shown = run("debug", str(source), "-batch", *(word for step in steps for word in ("-ex", step))).stdout
    lane_7, lane_9, wave, element = (part.splitlines()[2:] for part in shown.split("the values of ")[1:])
    assert [row.split()[1:] for row in lane_7] == [["1:1:1:1", "w.cl:4", each] for each in ("7", "10", "13")]
    assert [row.split()[1:] for row in lane_9] == [["1:1:1:1", "w.cl:4", each] for each in ("9", "12")]
    assert [row.split()[1:3] for row in wave if "w.cl" in row] == [["1:1:1:1", "w.cl:2"]]
    assert "[31]=31}" in " ".join(wave)
    assert [row.split()[1:3] for row in element] == [["1:1:1:1", "(before)"]]


@pytest.mark.slow
def test_equal_waves_are_one_row_of_text_and_of_json(source):
    rows = rows_of(source, "n")
    assert [row["waves"] for row in rows] == [["1:1:1:1", "1:1:1:2"]]
    assert "  1:1:1:1, 1:1:1:2  w.cl:" in run("run", str(source), "walk", *SIZES, "--watch=n").stdout


def test_a_nan_is_one_value_which_stays_as_it_is(tmp_path):
    (source := tmp_path / "w.cl").write_text("""kernel void roots(global float *out, float low) {
  float root = sqrt(low);
  int i = get_global_id(0);
  out[i] = root + i;
}""")
    sizes = "--grid", 64, "--work-group", 64, "--watch=root"
    lines = run("run", str(source), "roots", *sizes, "zeros(64)", "low=-1", "--jit=off").stdout.splitlines()
    assert [" ".join(line.split()[-2:]) for line in lines if "1:1:1:1" in line] == ["w.cl:2 nan"]


@pytest.mark.parametrize("words, status, message", [
    (["--watch=at = 3"], 2, "is an assignment"), (["--watch=at +"], 2, "an operand is missing"),
    (["--watch=nothere"], 2, "no variable `nothere`"), (["--history=x.csv"], 2, "--history needs --watch"),
    (["--watch=at", "--history=x.txt"], 2, "name FILE.csv"), (["--watch=at", "--history=/none/x.csv"], 2, "/none"),
])  # fmt: skip
def test_what_cannot_be_watched_is_refused(source, words, status, message):
    answer = run("run", str(source), "walk", *SIZES, *words)
    assert answer.returncode == status
    assert message in answer.stdout + answer.stderr


@pytest.mark.slow
def test_a_trace_of_lines_shows_no_variable_before_its_declaration(source):
    text = run("run", str(source), "walk", *SIZES, "--trace=lines", "--lane=1").stdout
    lines = text.splitlines()
    assert "    sum = 0" in lines
    assert "    i = 0" not in text
    assert "at = 0" not in text


TWICE = """#include <hip/hip_runtime.h>
template <typename T> __device__ T twice(T a) { T v = a;
  v = v * 2;
  return v; }
__global__ void both(int *out) { int i = threadIdx.x;
  out[i] = twice<int>(7) + (int)twice<float>(8); }
"""


@pytest.mark.slow
def test_instances_of_a_template_have_variables_of_their_own(compiled):
    """Equal waves are one row of the text; where a lane has no value, lanes are named."""
    source = compiled("twice.hip", TWICE)
    words = "run", str(source), "both", "--grid=72", "--work-group=72", "out=zeros(72)", "--watch=v"
    rows = document(*words)["history"]["rows"]
    found = [(row["declared"], row["values"][0]) for row in rows if "1:1:1:1" in row["waves"]]
    names = [f"twice.hip:2 in twice<{name}>" for name in ("int", "float")]
    assert found == [(names[0], 7), (names[0], 14), (names[1], 8.0), (names[1], 16.0)]
    text = " ".join(run(*words).stdout.split())
    assert f"1:1:1:1, 1:1:1:2 twice.hip:2 {names[0]} 7 " in text
    assert f"1:1:1:3 twice.hip:2 {names[0]} {{[0-7]=7}} " in text


@pytest.mark.slow
def test_commands_lead_from_a_wrong_element_to_the_lines_of_the_lane_that_stored_it(compiled):
    source = compiled(
        "turn.cl",
        "kernel void turn(global const int *in, global int *out) {\n  int i = get_global_id(0);\n"
        "  int from = i == 37 ? 3 : 63 - i;\n  out[i] = in[from] - from;\n}\n",
    )
    words = "turn", "--grid=64", "--work-group=64", "in=arange(64)", "out=zeros(64)"
    hints = [run("run", str(source), *words, f"--print={part}").stderr for part in ("out", "out[2:4]", "out[37]")]
    assert [re.findall(r"--watch \S+", hint) for hint in hints] == [
        ["--watch 'out[N]'"], ["--watch 'out[N]'"], ["--watch 'out[37]'"],
    ]  # fmt: skip
    watched = run("run", str(source), *words, "--watch=out[37]")
    assert "  the last store, at turn.cl:4, changed nothing: 1:1:1:2 lane 5\n" in watched.stdout
    command = re.search(r"`dwarfgpu (.*?)` shows each line of wave 2, lane 5, which stored there last", watched.stderr)
    trace = run(*shlex.split(command[1])).stdout
    assert "turn.cl:3 in turn, lanes 0-31\n3\tint from = i == 37 ? 3 : 63 - i;\n    from = 3\n" in trace
    assert "4\tout[i] = in[from] - from;\n    reads in[from] = 3\n    out[i] = 0\n" in trace


@pytest.mark.parametrize("words, rows", [
    ((), [(["1:1:1:1"], "(before)", "", 0), (["1:1:1:2"], "last.cl:2", "1:1:1:1 lane 3; 1:1:1:2 lane 3", 35)]),
    (("--at-once=1",), [(["1:1:1:1"], "(before)", "", 0), (["1:1:1:1"], "last.cl:2", "", 3),
                        (["1:1:1:2"], "last.cl:2", "", 35)]),
])  # fmt: skip
@pytest.mark.sampled(4)
def test_of_waves_that_store_at_once_the_last_one_has_stored_the_value(compiled, words, rows):
    source = compiled("last.cl", "kernel void last(global int *out) {\n  out[get_local_id(0)] = get_global_id(0);\n}\n")
    asked = "run", str(source), "last", "--grid=64", "--work-group=32", "out=zeros(32)", "--watch=out[3]", *words
    found = [
        (
            row["waves"],
            f"{row['file'].rpartition('/')[2]}:{row['line']}" if row["line"] else "(before)",
            "; ".join(f"{wave} lane {lanes[0]}" for wave, lanes in row.get("writers") or ()),
            next(filter(None, row["values"]), 0),
        )
        for row in document(*asked)["history"]["rows"]
    ]
    assert found == rows
    hint = re.search(r"each line of wave (\d), lane (\d)", run(*asked).stderr)
    assert (hint and hint.groups()) == (None if words else ("2", "3"))


@pytest.mark.slow
def test_a_trace_of_optimized_code_names_the_command_that_does_not_optimize(source):
    words = "run", str(source.with_suffix(".cl")), "walk", *SIZES, "--trace=lines", "--lane=1"
    assert "-O0" not in run(*words).stderr
    assert re.search(r"w\.cl walk \.\.\. --trace=lines` compiles it with -O0", run(*words, "-O2").stderr)


@pytest.mark.slow
def test_an_element_that_no_lane_stores_to_is_said_to_be_one(compiled):
    source = compiled(
        "skips.cl", "kernel void skips(global int *o, int n) { int i = get_global_id(0); if (i != n) o[i] = 0; }"
    )
    words = "run", str(source), "skips", "--grid=64", "--work-group=64", "o=zeros(64)", "n=3"
    shown = [run(*words, f"--watch=o[{element}]").stdout for element in (3, 4)]
    assert "  the last store, at skips.cl:1, changed nothing: 1:1:1:1 lane 4\n" in shown[1]
    said = ["nothing was stored to $_arg" in each for each in shown]
    assert said == [True, False]


@pytest.mark.slow
def test_lanes_whose_last_value_has_no_location_are_named(compiled):
    """The location of the sum ends behind the instruction that adds, so only lanes that go on show what it added."""
    text = (
        "kernel void leaves(global int *out, global const int *in) {\n  int g = get_global_id(0);\n  int s = 0;\n"
        "  for (int i = 0; i < in[g] % 5; i++)\n    s = s * 3 + in[(g + i) & 63];\n  out[g] = s;\n}\n"
    )
    words = "leaves", "--grid=64", "--work-group=64", "out=zeros(64)", "in=arange(64)", "--watch=s"
    plain, optimized = (str(compiled("leaves.cl", text, level, "--target=gfx942")) for level in ("-O0", "-O2"))
    history = document("run", optimized, *words)["history"]
    assert history["last_value_missing"] == [{"waves": ["1:1:1:1"], "lanes": [n for n in range(64) if n % 5]}]
    assert "the last value may be missing in lanes 1-4,6-9," in " ".join(run("run", optimized, *words).stdout.split())
    assert "last_value_missing" not in document("run", plain, *words)["history"]


STORED = """kernel void stored(global int *out, int n) {
  int i = get_global_id(0);
  int sum = 0;
  for (int k = 0; k < n; k++) {
    sum += (k ^ i) % 7;
    if (k % 20 == i)
      out[3] = sum;
    if ((k & 31) == 0 && i % 5 == 2)
      atomic_add((volatile global int *)&out[3], i);
  }
  out[i] = sum;
}
"""
LACKS_LINES = """__attribute__((noinline, nodebug)) void put(global int *to, int v) {
  *to = v;
}
kernel void stored(global int *out, int n) {
  for (int k = 0; k < n; k++)
    put(out + (k & 3), k);
}
"""


@pytest.mark.parametrize("target, level", [
    ("gfx1100", "O2"),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in [("gfx1100", "O0"), ("gfx90a", "O2"), ("gfx90a", "O0")]),
])  # fmt: skip
@pytest.mark.parametrize("text, words, is_compiled", [
    (STORED, ("--watch=out[3]",), True),
    (STORED, ("--watch=out[3]", "--watch=out[70]"), True),
    (STORED, ("--watch=out[3]", "--at-once=64"), True),
    (STORED, ("--watch=out[3]", "--wave=2", "--lane=12"), True),
    (STORED, ("--watch=out[256]", "--at-once=64"), True),
    (STORED, ("--watch=out[3]", "--watch=sum"), False),
    (LACKS_LINES, ("--watch=out[3]",), False),
], ids=range(7))  # fmt: skip
@pytest.mark.sampled(5)
def test_an_element_of_a_buffer_is_watched_while_compiled_code_runs(
    compiled, monkeypatch, target, level, text, words, is_compiled
):
    """The rows are those of the interpreter, or none of an absent element; stores without lines are looked at."""
    source = compiled(f"stored{text == STORED}.cl", text, f"-{level}", "--target", target)
    sizes = "--grid=128", "--work-group=64", "out=zeros(256)", "n=40"
    looked, original = [0], value_history.ValueHistory.__call__

    def counted(self, batch):
        looked[0] += 1
        return original(self, batch)

    monkeypatch.setattr(value_history.ValueHistory, "__call__", counted)
    interpreted = run("run", str(source), "stored", *sizes, *words, "--jit=off", "--json")
    looks, looked[0] = looked[0], 0
    answer = run("run", str(source), "stored", *sizes, *words, "--jit=on", "--json")
    assert (interpreted.stdout, interpreted.stderr) == (answer.stdout, answer.stderr)
    assert ('"line": ' in answer.stdout) == ("--watch=out[256]" not in words)
    assert (looked[0] < looks / 2) == is_compiled


@pytest.mark.parametrize("name", ["lane", "result", "slots"])
def test_lanes_at_places_of_their_own_in_several_waves(name):
    """Waves that go together are asked together; `slots` is in private memory."""
    path, found = str(FIXTURES / "asm/lane-pc.gfx90a.w64.co"), []
    for grid in (64, 256):
        sizes = f"--grid={grid}", "--work-group=64", f"out=zeros({grid})", "limit=40"
        rows = document("run", path, "X", *sizes, "--watch", name)["history"]["rows"]
        found.append([(row["line"], row["values"]) for row in rows if "1:1:1:1" in row["waves"]])
    assert found[0] == found[1] != []
    traces = (run("run", path, "X", *sizes, "--trace=lines", f"--wave={wave}", "--lane=50") for wave in (1, 3))
    assert all("rest = 10" in trace.stdout and "result = -10" in trace.stdout for trace in traces)
