"""NaNs and infinities: kernels that make one, and mended ones; the line, and the operand with its value."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.cli import main
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.control.check_report import check_report, likely_float
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_slow

HERE = Path(__file__).parent
IN_FUNCTIONS = {"ratio_in_function": "part / whole", "member": "sum / number", "of_template": "return log(value)"}
"""Kernels whose fault is in a function that they call, and what its line contains."""
ELSEWHERE = {("component", "O2"), ("power", "O0")}
"""Of one division the compiler keeps the line of its use; a number in a register of the other looks like a NaN."""
ALL = [(target, level) for target in ("gfx942", "gfx90a", "gfx1030", "gfx1100", "gfx1100-wave64", "gfx1200", "gfx1250")
       for level in ("O0", "O2")]  # fmt: skip


def marked(path):
    """By kernel, the line that makes a NaN or an infinity, and the operand."""
    lines, kernel = {}, ""
    text = path.read_text("utf-8").split("\n")
    for number, line in enumerate(text, 1):
        start = re.match(r"KERNEL\((\w+)\)", line)
        kernel = start[1] if start else kernel
        if (mark := re.search(r"/// (\w+)$", line)) and kernel:
            lines.setdefault(kernel, (number, mark[1]))
        elif start and (part := IN_FUNCTIONS.get(kernel)):
            at = next(at for at, line in enumerate(text, 1) if part in line)
            lines[kernel] = at, text[at - 1].split()[-1]
    return lines


LINES = {language: marked(HERE / f"nan.{language}") for language in ("cl", "hip")}


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    require_tool("clang-22")
    folder = tmp_path_factory.mktemp("nan")

    @cache
    def build(language, target, level, *options):
        path = str(folder / f"nan.{language}.{target}.{level}{''.join(options)}.co")
        words = f"--target={target}", f"-O{level[1:]}", "-o", path, "--", *options
        assert main(["compile", str(HERE / f"nan.{language}"), *words]) == 0
        return path

    return build


def run_of(path, kernel, check="nan", **arguments):
    args = {0: "zeros(256, float32)", 1: "arange(256, float32)", 2: "arange(256)", 3: 0.0} | arguments.get("args", {})
    args = {place: args[place] for place in range(arguments.get("count", 4))}
    machine = machine_for(path, kernel)
    running = Running(launch(machine, path, kernel, grid=256, work_group=64, args=args, check=check))
    halt = running.run(limit=2_000_000)
    assert halt.has_ended, halt
    return running


def found(*build, **how):
    return check_report(run_of(*build, **how)).findings


def values_of(row):
    return {each.name: each.value for each in row.operands}


def problems(built, language, target, level, step):
    """What is wrong with what is found of each STEPth kernel of a build."""
    for kernel, (line, operand) in [*LINES[language].items()][::step]:
        rows = [row for row in found(built(language, target, level), kernel) if row.sides[0].line[1] == line]
        if not rows and (kernel, level) not in ELSEWHERE:
            yield kernel, line
        names = {re.split(r"[.\[]", name)[0] for row in rows for name in (each.name for each in row.operands)}
        if level == "O0" and rows and operand not in names:
            yield kernel, operand, names
        mended = found(built(language, target, level, "-DMENDED"), kernel)
        yield from (("mended", kernel, row.message) for row in mended)


@pytest.mark.parametrize(
    "target, level, step", [("gfx90a", "O2", 8), *(pytest.param(*each, 1, marks=pytest.mark.slow) for each in ALL)]
)
@pytest.mark.parametrize("language", LINES)
@pytest.mark.sampled(4)
def test_the_line_and_the_operand_are_found_and_nothing_else(built, language, target, level, step):
    assert [*problems(built, language, target, level, step)] == []


def test_each_kernel_has_a_mark():
    assert sum(map(len, LINES.values())) == 33


TURNS = """
__kernel void of_turns(__global float *out, __global const float *a, __global const float *b, int n, int k) {
  float s = 0;
#pragma unroll 4
  for (int i = 0; i < n; i++)
    BODY
  out[get_global_id(0)] = s;
}
"""


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("body, numbers, certain", [
    ("s += a[get_global_id(0) * n + i] / b[i];", (0, 0), {"a[6]": "0", "b[6]": "0"}),
    ("s += b[i] * a[i];", (np.inf, 0), {"a[6]": "inf", "b[6]": "0", "s": "217"}),
    ("s += b[i] * (float)i / (float)(i - k);", (0, 0), {"b[6]": "0", "i": "6", "k": "6"}),
    ("{ float t = a[i] - 2.0f; s += t / (b[i] - 2.0f * (float)k); }", (3, 12), {"b[6]": "12", "k": "6"}),
])  # fmt: skip
def test_in_an_unrolled_loop_nothing_of_another_turn_is_certain(require_tool, tmp_path, target, body, numbers, certain):
    require_tool("clang-22")
    file, path = tmp_path / "turns.cl", str(tmp_path / "turns.co")
    file.write_text(TURNS.replace("BODY", body))
    assert main(["compile", str(file), f"--target={target}", "-O2", "-o", path]) == 0
    a, b = np.arange(7, 1031, dtype=np.float32), np.arange(1, 17, dtype=np.float32)
    a[6::16], b[6] = numbers
    args, sizes = [np.zeros(64, np.float32), a, b, np.int32(16), np.int32(6)], {"grid": 64, "work_group": 64}
    running = Running(launch(machine_for(path, "of_turns"), path, "of_turns", args=args, check="nan", **sizes))
    assert running.run(limit=100_000).has_ended
    row = check_report(running).findings[0]
    values = {each.name: each.value for each in row.operands if each.is_certain and each.value != "<optimized out>"}
    assert certain.items() <= values.items(), row.message
    assert {name for name in values if not re.match(r"[-|]*[sv]\d", name)} <= {*certain, "n", "t"}
    assert values.get("t", "1") == "1"


DUAL = """
float root(float q, float r) { return sqrt(q) * r; }
__kernel void dual(__global float *in, __global float *out) {
  int g = get_global_id(0); float x = in[g], a = 1.0f;
  for (int i = 0; i < 4; i++) { x = x - 2.0f; a = a * x; if (i == 2) a = a / (x-x); x = x + 1.0f; }
  out[g] = a + root(x - 8.0f, 2.0f);
}
"""


def test_the_line_of_a_dual_instruction_is_that_of_one_half(require_tool, tmp_path):
    """Whose other half makes the divisor: it is not `x`, though the statement of the first half sets that."""
    require_tool("clang-22")
    (tmp_path / "dual.cl").write_text(DUAL)
    assert main(["compile", str(tmp_path / "dual.cl"), "--target=gfx1100", "-O2", "-o", str(tmp_path / "d.co")]) == 0
    args = {0: "full(256, 100.5)", 1: "zeros(256)"}
    row = found(str(tmp_path / "d.co"), "dual", args=args, count=2)[0]
    assert [(each.name, each.value, each.is_certain) for each in row.operands if each.name == "x"] == [
        ("x", "0", False)
    ]


GATE = """
__kernel void gate(__global float *out) {
  int i = get_global_id(0);
  float x = i == 50 ? 60.0f : (i - 32) * 0.25f;
  float y = 2 * x;
  float e = exp(y);
  out[i] = (e - 1) / (e + 1);
}
"""
BY_VALUE = """
typedef struct { float scale, bias; int n; } Params;
__kernel void affine(__global float *out, Params p) {
  int i = get_global_id(0);
  out[i] = i < p.n ? p.scale * i + p.bias : 0;
}
"""


def rows_of(require_tool, folder, source, kernel, *args):
    require_tool("clang-22")
    file, path = folder / "given.cl", str(folder / "given.co")
    file.write_text(source)
    assert main(["compile", str(file), "--target=gfx1100", "-O2", "-o", path]) == 0
    every, sizes = [np.zeros(64, np.float32), *args], {"grid": 64, "work_group": 64}
    running = Running(launch(machine_for(path, kernel), path, kernel, args=every, check="nan", **sizes))
    assert running.run(limit=100_000).has_ended
    return check_report(running).findings


def test_the_only_argument_of_a_function_is_told_where_its_variable_is_optimized_out(require_tool, tmp_path):
    assert values_of(rows_of(require_tool, tmp_path, GATE, "gate")[0]) == {"y": "120"}


def test_a_nan_in_a_structure_that_is_an_argument_came_in(require_tool, tmp_path):
    params = '{"scale": 0.5, "bias": "nan", "n": 50}'
    (row,) = rows_of(require_tool, tmp_path, BY_VALUE, "affine", params)
    assert (row.kind, row.severity) == (f.CAME_IN, "note")


HALVES = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void pair(__global half *out, __global const half *in) {
  int g = get_global_id(0);
  half a = in[2 * g], b = in[2 * g + 1];
  half c = b - b * (half)2.0f;
  out[2 * g] = sqrt(c);
  out[2 * g + 1] = a;
}
__kernel void args(__global float *out, short s, short k, float x) {
  int g = get_global_id(0);
  out[g] = sqrt((float)(g - k));
  out[64 + g] = s + x;
}
__kernel void other(__global half *out, __global const half *a, __global const half *b, half p, half s, half k) {
  int g = get_global_id(0);
  s += ((half)g / (half)g) - s;
  half d = (s - b[g]) - a[g];
  half e = s + (a[g] - p);
  out[g] = (k + (half)g) / (p - (half)g);
  out[64 + g] = s + k + d + e;
}
"""
SHIFTED = """__kernel void shifted(__global float *out, __global const float *in) {
  __local float part[64];
  int g = get_global_id(0);
  part[g] = in[g] / in[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = part[(g + 63) & 63];
}
"""


APART = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void apart(__global half *out, __global const half *in, half z) {
  int g = get_global_id(0);
  half x = in[g] / z;
  half y = in[g + 64] - (half)100.0f;
  half u = x - x;
  half v = sqrt(y);
  out[g] = u;
  out[g + 64] = v;
}
"""
DUAL_HALVES = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void dual(__global half *out, __global const half *in) {
  int g = get_global_id(0);
  half a = in[g], b = in[g + 64];
  half c = a * sqrt(b);
  out[g] = b / a;
  out[g + 64] = a / c;
}
"""
SQUARED = """__kernel void turns(__global float *out, __global const float *in, int n) {
  int g = get_global_id(0);
  float s = in[g];
  for (int i = 0; i < n; ++i)
    s = s * s;
  out[g] = s;
}
__kernel void unrolled(__global float *out, __global const float *in) {
  int g = get_global_id(0);
  float s = in[g];
  for (int i = 0; i < 8; ++i)
    s = s * s;
  out[g] = s;
}
"""


def findings_of(require_tool, folder, target, source, kernel, args, *options):
    require_tool("clang-22")
    (folder / "halves.cl").write_text(source)
    path = str(folder / "halves.co")
    assert main(["compile", str(folder / "halves.cl"), f"--target={target}", *options, "-o", path]) == 0
    running = Running(launch(machine_for(path, kernel), path, kernel, args=args, check="nan", grid=64, work_group=64))
    assert running.run(limit=100_000).has_ended
    return check_report(running).findings


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx942"])
def test_the_half_of_a_register_that_is_read_is_named(require_tool, tmp_path, target):
    args = [np.zeros(128, np.float16), np.arange(128, dtype=np.float16)]
    (row,) = findings_of(require_tool, tmp_path, target, HALVES, "pair", args, "-O2")
    assert values_of(row)["c"] == "-1"
    args = [np.zeros(128, np.float32), np.int16(5), np.int16(7), np.float32(1)]
    (row,) = findings_of(require_tool, tmp_path, target, HALVES, "args", args, "-O2")
    assert values_of(row)["k"] == "7"
    assert "s" not in values_of(row)  # which was loaded with `k`, and is not in the line


def test_what_is_left_in_the_other_half_of_a_register_is_no_cause(require_tool, tmp_path):
    args = [np.zeros(128, np.float16), *(np.full(64, each, np.float16) for each in (4, 1)), *map(np.float16, (0, 2, 3))]
    rows = findings_of(require_tool, tmp_path, "gfx1030", HALVES, "other", args, "-O2")
    made = {(row.kind, row.sides[0].position.line): values_of(row) for row in rows}
    assert made.keys() == {(f.MADE_INFINITY, 19), (f.MADE_NAN, 16)}
    assert "a[0]" not in made[f.MADE_INFINITY, 19]


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx942"])
def test_a_variable_that_a_loop_changes_has_not_its_first_value(require_tool, tmp_path, target):
    args = [np.zeros(64, np.float32), np.full(64, 3, np.float32)]
    (row,) = findings_of(require_tool, tmp_path, target, SQUARED, "turns", [*args, 8], "-O2")
    assert float(values_of(row)["s"]) == pytest.approx(3.0**64, rel=1e-5)
    (row,) = findings_of(require_tool, tmp_path, target, SQUARED, "unrolled", args, "-O2")
    assert [each.is_certain for each in row.operands if each.name == "s"] == [False]  # of which copy?


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201"])
def test_each_result_of_a_dual_instruction_has_its_own_cause(require_tool, tmp_path, target):
    args = [np.zeros(128, np.float16), (np.arange(128) % 11 - 3).astype(np.float16)]
    rows = findings_of(require_tool, tmp_path, target, DUAL_HALVES, "dual", args, "-O2")
    made = {(row.kind, row.sides[0].position.line) for row in rows}
    assert made == {(f.MADE_NAN, 5), (f.MADE_INFINITY, 6), (f.MADE_INFINITY, 7)}


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1201", "gfx942"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_halves_of_a_register_and_of_a_word_have_causes_of_their_own(require_tool, tmp_path, target, level):
    args = [np.zeros(128, np.float16), np.arange(1, 129, dtype=np.float16) % 64 + 1, np.float16(0)]
    rows = findings_of(require_tool, tmp_path, target, APART, "apart", args, level)
    assert {(row.kind, row.sides[0].position.line, row.count) for row in rows} == {
        (f.MADE_INFINITY, 4, 64),
        (f.MADE_NAN, 7, 64),
    }


SWAPPED = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void swapped(__global half *out, __global const half *in, half z) {
  int g = get_global_id(0);
  half2 v = (half2)(in[g], in[g + 64]);
  half x = v.x / z;
  half y = sqrt(v.y - (half)100.0f);
  half2 w = (half2)(y, x) + (half2)(1, 1);
  out[g] = w.PART;
}
__kernel void chosen(__global half *out, __global const half *in, half z) {
  int g = get_global_id(0);
  half a = in[g] / z, b = sqrt(in[g + 64] - (half)100.0f);
  out[g] = g & 1 ? a : b;
  out[g + 64] = g & 1 ? b : (half)3;
}
"""


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx942"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_packed_and_chosen_halves_have_the_causes_of_what_they_are_made_of(require_tool, tmp_path, target, level):
    args = [np.zeros(128, np.float16), np.arange(1, 129, dtype=np.float16) % 64 + 1, np.float16(0)]

    def found(kernel, part="x"):
        source = SWAPPED.replace("PART", part)
        rows = findings_of(require_tool, tmp_path, target, source, kernel, args, level)
        return {(row.kind, row.count) for row in rows}

    assert found("swapped") == {(f.MADE_NAN, 64)}
    assert found("swapped", "y") == {(f.MADE_INFINITY, 64)}
    assert found("chosen") == {(f.MADE_INFINITY, 32), (f.MADE_NAN, 64)}


def test_the_work_item_is_that_of_the_lane(require_tool, tmp_path):
    numbers = np.ones(64, np.float32)
    numbers[2:4] = 0  # lane 3 is the first one that has made a NaN and stores one, which lane 2 has made
    args = [np.zeros(64, np.float32), numbers]
    (row,) = findings_of(require_tool, tmp_path, "gfx942", SHIFTED, "shifted", args)
    assert row.sides[0].side.item == (row.sides[0].side.lane, 0, 0)


@pytest.mark.slow
def test_a_double_that_is_a_literal_is_followed(built):
    """GFX1250 moves the NaN of a library with one instruction, and others its halves."""
    rows = found(built("cl", "gfx1250", "O2"), "logarithm")
    assert {row.kind for row in rows} == {f.MADE_NAN, f.MADE_INFINITY}  # of negative numbers, and of 0
    assert {row.sides[0].line[1] for row in rows} == {LINES["cl"]["logarithm"][0]}


@pytest.mark.parametrize("kernel, kind, operands", [
    ("mean", f.MADE_NAN, {"s": "0", "n": "0"}),
    ("reciprocal", f.MADE_INFINITY, {"x": "0"}),
    ("to_integer", f.TOO_LARGE, {"x": "3e+09"}),
])  # fmt: skip
def test_the_message_has_the_values_of_the_lane(built, kernel, kind, operands):
    (row, *_others) = found(built("cl", "gfx942", "O2"), kernel)
    assert (row.check, row.kind, values_of(row)) == ("nan", kind, operands)
    assert row.message.startswith(f"{kind}: ")
    (read,) = {side.side.action for side in row.sides[:1]}
    assert read == f.MAKE


def test_what_changed_the_operands_last_is_named(built):
    (row,) = found(built("cl", "gfx942", "O0"), "mean")
    assert {each.name: each.changed.line for each in row.operands} == {"s": 17, "n": 17}
    assert row.message.endswith("n = 0 (last changed at nan.cl:17)")


def test_a_conversion_that_loses_a_nan_has_a_side(built):
    (row,) = found(built("cl", "gfx942", "O2"), "converted")
    assert [side.side.action for side in row.sides] == [f.MAKE, f.LOSE, f.WRITE]


def test_a_branch_on_a_lost_nan_is_found_where_the_nan_was_made(built):
    (row,) = found(built("cl", "gfx1100", "O0"), "compared")
    line, _operand = LINES["cl"]["compared"]
    assert row.sides[0].line[1] == line


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kernel", ["root", "product", "fused", "power", "logarithm", "by_array"])
def test_nothing_is_blamed_for_what_came_in(built, kernel, value):
    args = {"args": {1: np.full(256, value, np.float32)}}
    rows = found(built("cl", "gfx90a", "O2", "-DMENDED"), kernel, **args)
    told = [(row.kind, row.severity, re.sub(r"\d+", "N", row.variable)) for row in rows]
    is_told = bool(np.isnan(value)) and kernel != "by_array"  # which does not read it
    assert told == [(f.CAME_IN, "note", "in[N]")] * is_told


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O0", "O2"])
def test_infinities_on_purpose_are_no_finding(built, level):
    assert found(built("cl", "gfx942", level), "softmax") == ()


LATER = """
#define KERNEL(NAME) kernel void NAME(global float *out, global const float *in) { int i = get_global_id(0);
KERNEL(handled)
  float r = (in[i] - in[i]) / in[i];
  out[i] = isnan(r) ? 0 : r;
}
KERNEL(limited)
  float r = 1.0f / in[i];
  if (!isfinite(r)) r = 0;
  out[i] = r;
}
KERNEL(meant)
  volatile float big = INFINITY;
  out[i] = big / (in[i] + 1.0f);
}
KERNEL(becomes)
  float r = exp(in[i] * 50.0f);
  out[i] = r / r;
}
KERNEL(of_library)
  float r = log(in[i]);
  out[i] = -2.0f * r;
}
KERNEL(given)
  float r = in[i] * 0.0f;
  out[i] = r;
}
"""


@pytest.mark.parametrize("target, level", some_slow([("gfx942", "O0"), ("gfx1200", "O2")], quick=[("gfx1200", "O2")]))
def test_what_becomes_of_infinities_later(require_tool, tmp_path, target, level):
    require_tool("clang-22")
    source, path = tmp_path / "later.cl", str(tmp_path / "later.co")
    source.write_text(LATER)
    assert main(["compile", str(source), "-o", path, f"--target={target}", f"-{level}"]) == 0
    lines = LATER.split("\n")
    first = next(number for number, line in enumerate(lines, 1) if "exp(" in line)
    infinite = np.where(np.arange(64) == 9, np.inf, np.arange(64)).astype(np.float32)

    def of(kernel, numbers="arange(64, float32)"):
        args = ["zeros(64, float32)", numbers]
        running = Running(launch(machine_for(path, kernel), path, kernel, grid=64, work_group=64, args=args,
                                 check="nan"))  # fmt: skip
        assert running.run().has_ended
        rows = check_report(running).findings
        return [(row.kind, [(side.side.action, side.line[1]) for side in row.sides]) for row in rows], rows

    assert [of(kernel)[0] for kernel in ("handled", "limited", "meant")] == [[], [], []]
    becomes = (f.MADE_INFINITY, [(f.MAKE, first), (f.TURN, first + 1), (f.WRITE, first + 1)])
    assert [each for each in of("becomes")[0] if each != becomes] == []
    line = next(number for number, line in enumerate(lines, 1) if "log(" in line)
    assert of("of_library")[0] == [(f.MADE_INFINITY, [(f.MAKE, line), (f.WRITE, line + 1)])]
    sides, (row,) = of("given", infinite)
    assert [kind for kind, _sides in sides] == [f.MADE_NAN]
    assert [each.came_in for each in row.operands if each.came_in] == ["in[9]"]


MATRIX = """
typedef float f4 __attribute__((ext_vector_type(4)));
kernel void tile(global float *out) {
  int i = get_local_id(0);
  float x = i == 21 ? 2e38f : 1.0f;
  f4 c = (f4)(3e38f);
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(x, 1.0f, c, 0, 0, 0);
  out[i] = c.y;
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
def test_a_finding_of_a_matrix_names_the_element(require_tool, tmp_path, level):
    require_tool("clang-22")
    source, path = tmp_path / "tile.cl", str(tmp_path / "tile.co")
    source.write_text(MATRIX)
    assert main(["compile", str(source), "-o", path, "--target=gfx942", f"-O{level}"]) == 0
    running = Running(launch(machine_for(path, "tile"), path, "tile", grid=64, work_group=64,
                             args=["zeros(64, float32)"], check="nan"))  # fmt: skip
    running.run()
    (row,) = check_report(running).findings
    assert (row.kind, values_of(row)["element"], row.count) == (f.MADE_INFINITY, "D[5][0]", 16)


def test_all_checks_do_not_contain_it_and_it_goes_with_others(built):
    path = built("cl", "gfx942", "O2")
    assert found(path, "mean", check="all") == ()
    both = found(path, "mean", check="init,nan,bounds")
    assert [row.check for row in both] == ["nan"]


def test_the_debugger_stops_where_it_counts(built, capsys):
    path = built("cl", "gfx942", "O0")
    words = "target launch mean 256 64 out=zeros(256,float32) in=arange(256,float32) count=arange(256) zero=0"
    assert main(["debug", path, "-ex", "set check nan", "-batch", "-ex", words, "-ex", "continue"]) == 0
    assert "n = 0 (last changed at nan.cl:17)" in " ".join(capsys.readouterr().out.split())


PRELOADED = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void scale(global float *out, float rate) { int i = get_local_id(0); out[i] = i * rate; }
kernel void ratio(global double *out, float n) { int i = get_local_id(0); out[i] = (i - 5) * (double)n / (i - 5); }
"""


def test_an_argument_in_a_register_and_a_double(require_tool, tmp_path, capsys):
    """A NaN in an argument that waves begin with is told, and a debugger stops where it counts; a double is one."""
    require_tool("clang-22")
    path, source = str(tmp_path / "preloaded.co"), tmp_path / "preloaded.cl"
    source.write_text(PRELOADED)
    words = "--target=gfx942", "-O2", "-o", path, "--", "-mllvm", "-amdgpu-kernarg-preload-count=4"
    assert main(["compile", str(source), *words]) == 0
    (row,) = found(path, "scale", args={1: np.float32(np.nan)}, count=2)
    assert (row.kind, row.variable, row.sides[0].line[1]) == (f.CAME_IN, "rate", 3)
    (row,) = found(path, "ratio", args={0: "zeros(256, float64)", 1: 1.0}, count=2)
    assert (row.kind, row.count) == (f.MADE_NAN, 4)
    launch_it = "target launch scale 64 64 out=zeros(64,float32) rate=nan"
    main(["debug", path, "-ex", "set check nan", "-batch", "-ex", launch_it, "-ex", "continue"])
    assert "NaN came in: `rate`" in " ".join(capsys.readouterr().out.split())


def test_python_has_the_operands(built):
    running = dg.launch(built("cl", "gfx942", "O2"), "mean", grid=256, work_group=64, check="nan", args=[
        np.zeros(256, np.float32), np.arange(256, dtype=np.float32), np.arange(256, dtype=np.int32), 0.0])  # fmt: skip
    running.run()
    (row,) = running.findings
    assert values_of(row) == {"s": "0", "n": "0"}


GIVEN = """
kernel void masked(global float *out, global const float *mask, global const int *count, float none) {
  float least = 0;
  for (int k = 0; k < count[0]; k++)
    least = fmin(least, mask[k * 256 + get_global_id(0)]);
  float s = least < 0 ? 0.0f : 1.0f;
  out[get_global_id(0)] = s / s;
}
kernel void inverse(global float *out, global const float *in, global const int *n, float none) {
  float inv = 1.0f / (n[0] - 1);
  for (int k = 0; k < 4; k++)
    out[4 * get_global_id(0) + k] = in[get_global_id(0)] * inv;
}
kernel void unit(global float *out, global const float *in, global const int *n, float none) {
  out[get_global_id(0)] = clamp(in[get_global_id(0)] / (n[0] - 1), 0.0f, 1.0f);
}
"""


def test_many_infinities_of_an_argument_hide_nothing(require_tool, tmp_path):
    """A mask of infinities; a reciprocal of the source, which makes one in a line of its own; one that is clamped."""
    require_tool("clang-22")
    path, source = str(tmp_path / "given.co"), tmp_path / "given.cl"
    source.write_text(GIVEN)
    assert main(["compile", str(source), "--target=gfx1200", "-O2", "-o", path]) == 0
    (row,) = found(path, "masked", args={1: np.full(300 * 256, -np.inf, np.float32), 2: "full(1, 300)"})
    assert (row.kind, row.sides[0].line[1], row.count) == (f.MADE_NAN, 7, 256)
    (row,) = found(path, "inverse", args={0: "zeros(1024, float32)", 2: "ones(1)"})
    assert (row.kind, row.sides[0].line[1]) == (f.MADE_INFINITY, 10)
    assert not found(path, "unit", args={1: "ones(256, float32)", 2: "ones(1)"})


NARROW = """
#define KERNEL(NAME) kernel void NAME(global uint *out, global const float *in) { \\
    int i = get_local_id(0); float x = in[i];
KERNEL(pair)
  out[i] = __builtin_amdgcn_cvt_pk_fp8_f32(x, 1.0f, 0, 0);
}
KERNEL(upper)
  out[i] = __builtin_amdgcn_cvt_pk_bf8_f32(1.0f, x * 128.0f, 0, 1);
}
KERNEL(by_chance)
  out[i] = __builtin_amdgcn_cvt_sr_bf8_f32(x * 128.0f, i, 0, 2);
}
KERNEL(saturating)
  __builtin_amdgcn_s_setreg(1 | 23 << 6, 1);  // MODE.FP16_OVFL
  out[i] = __builtin_amdgcn_cvt_pk_fp8_f32(x * 1000.0f, 1.0f, 0, 0);
}
#ifdef SCALED
typedef short s2 __attribute__((ext_vector_type(2)));
KERNEL(with_scale)
  out[i] = as_uint(__builtin_amdgcn_cvt_scalef32_pk_fp8_f32((s2)(0, 0), 1.0f, x * 4.0f, 4.0f, 0));
}
#endif
"""


@pytest.mark.parametrize("target", some_slow(["gfx942", "gfx950", "gfx1200", "gfx1250"], quick=["gfx1200"]))
def test_a_number_that_is_too_large_for_8_bits(require_tool, tmp_path, target):
    """A mended one fits; one that was infinite is not blamed, nor one that saturates; a NaN came in."""
    require_tool("clang-22")
    path, source = str(tmp_path / "narrow.co"), tmp_path / "narrow.cl"
    source.write_text(NARROW)
    options = ["-DSCALED"] * (target == "gfx950")
    assert main(["compile", str(source), f"--target={target}", "-O2", "-o", path, "--", *options]) == 0
    kinds = {"pair": f.MADE_NAN, "with_scale": f.MADE_NAN}
    other = f.MADE_NAN if target == "gfx942" else f.MADE_INFINITY  # whose formats have no infinity
    lanes = 64 if target.startswith("gfx9") else 32
    for kernel in ("pair", "upper", "by_chance", "saturating", *(["with_scale"] * len(options))):
        for value, is_wrong in ((100.0, False), (1000.0, kernel != "saturating"), (np.inf, False), (np.nan, False)):
            numbers = np.ones(lanes, np.float32)
            numbers[5] = value
            args = [np.zeros(lanes, np.uint32), numbers]
            running = Running(launch(machine_for(path, kernel), path, kernel, grid=lanes, work_group=lanes, args=args,
                                     check="nan"))  # fmt: skip
            assert running.run(limit=10_000).has_ended
            rows = check_report(running).findings
            kind = f.CAME_IN if value != value else kinds.get(kernel, other)  # noqa: PLR0124 (it is a NaN)
            assert [row.kind for row in rows] == [kind] * (is_wrong or kind == f.CAME_IN), (kernel, value)
            for row in rows:
                assert row.sides[0].side.lane == 5


ON_ONE_LINE = """
kernel void parts(global float *out, global const float *in, global const int *n, float none) {
  float a = in[0];
  float s = in[1];
  float n0 = in[2];
  float q = a + 1.0f; float r = s / n0; out[get_global_id(0)] = q * r; /* none of these: a / q */
}
kernel void scaled(global float *out, global const float *in, global const int *n, float none) {
  int e = n[0] + 1;
  out[get_global_id(0)] = ldexp(in[get_global_id(0)], e);
}
"""


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_columns_tell_statements_of_one_line_apart(require_tool, tmp_path, capsys, level):
    """And all work-groups are counted; an operand without a line that has changed it has none in JSON."""
    require_tool("clang-22")
    path, source = str(tmp_path / "parts.co"), tmp_path / "parts.cl"
    source.write_text(ON_ONE_LINE)
    assert main(["compile", str(source), "--target=gfx1200", f"-{level}", "-o", path]) == 0
    (row,) = found(path, "parts", args={1: "zeros(256, float32)"})
    names = ["s", "n0"] if level == "O0" else ["in[1]", "in[2]"]
    assert (row.sides[0].line[1], values_of(row), len(row.groups)) == (6, dict.fromkeys(names, "0"), 4)
    capsys.readouterr()
    words = "--grid", "256", "--work-group", "64", "out=zeros(256, float32)", "in=zeros(256, float32)", "zeros(1)", "0"
    main(["run", path, "parts", *words, "--check=nan", "--json"])
    (operand, *_) = json.loads(capsys.readouterr().out)["check"]["findings"][0]["operands"]
    assert (operand["name"], operand["value"]) == (names[0], "0")
    main(["run", path, "parts", *words, "--check=nan"])
    assert "256 numbers in 4 work-groups" in " ".join(capsys.readouterr().out.split())
    # an exponent with the bits of an infinite half is not to blame for a number that came in
    infinite = np.full(256, np.inf, np.float32)
    assert found(path, "scaled", args={1: infinite, 2: np.full(1, 0x7BFF, np.int32)}) == ()


@pytest.mark.parametrize("value, number", [(np.float32(1), 1), (np.float32(-2.5e5), -2.5e5), (np.uint32(5), None),
    (np.float32(1e-20), None), (np.float64(1), None), (np.float32(np.inf), None)])  # fmt: skip
def test_a_value_without_a_type_may_be_a_float(value, number):
    assert likely_float(value.tobytes()) == number
