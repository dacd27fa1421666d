"""Variables compared with the text of the source: compiled code in which one thing is changed."""

import json
import os
import re
import subprocess
import time

import pytest

from dwarfgpu.execution.launch.made_arguments import launch_sizes, made_arguments
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.program import open_program
from tests.builders.commands import run
from tests.builders.parameters import for_each

SOURCE = """\
// the first line has no code
#define ID (__builtin_amdgcn_workitem_id_x())
static int twice(int value) {
  return value * 2;
}

kernel void sums(global int *out, global const int *in, int n) {
  int id = ID;
  int limit = (n & 15) + 2;
  int sum = 0;
  for (int i = 0; i < limit; ++i) {
    int v = in[(id + i) & 63];
    sum += v * i;
  }
  int both = twice(limit) + id;
  out[id] = sum + both;
}
"""
WORDS = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib"]


COUNTED = """\
kernel void counted(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  for (int i = 0; i < 6; ++i)
    out[id + 64 * i] = in[id + 64 * i];
}
"""

KNOWN = """\
kernel void known(global float *out, global const float *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  float x = in[id];
  float z = x * 0.5f - 2.0f;
  int least = n < id ? n : id;
  int steps = 1;
  for (int i = 0; i < n; ++i) {
    int v = (int)in[(id + i) & 63];
    steps = steps * 3 + v;
  }
  out[id] = z + (float)(least + steps);
}
"""


TAKEN = """\
static int less(int value) {
  int left = value;
  while (left > 3)
    left = (left >> 1) ^ 1;
  return left;
}
kernel void taken(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int v = in[(id + i) & 63];
    sum += v * less(v);
    if (sum > 1000)
      sum -= v;
  }
  out[id] = sum;
}
"""
"""Variables that change with each round of a loop, and those of a function that is called in it."""


KEPT = """\
#define ADD(value, more) value = value + (more)
static int hidden(int n) {
  int sum = n;
  {
    int n = sum * 3;
    sum += n;
  }
  int after = n + 2;
  return sum * after;
}
kernel void known(global float *out, global float *in, global int *numbers, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int letter = 'a' + n;
  float x = in[id];
  float product = x * 1.0625f;
  float rest = product - x * 1.06249f;
  float more = rest * 3.0f;
  float whole = (float)(int)(x * 3.7f);
  int was = numbers[id];
  numbers[id] = was + 1;
  int now = numbers[id];
  int total = 1;
  for (int i = 0; i < n; ++i)
    ADD(total, was);
  int least = 2;
  ADD(least, now);
  out[id] = more + whole + (float)(least * now + total);
  numbers[id + 64] = letter * hidden(now);
}
"""
"""A macro that changes its argument, a buffer that is written, a name that hides another, and terms that cancel."""


@pytest.fixture(scope="module", params=[SOURCE])
def assembler(request, tmp_path_factory):
    """The folder of the source, and its code as assembler text."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "k.cl").write_text(request.param)
    command = ["clang-22", "-x", "cl", "-cl-std=CL2.0", *WORDS, "-g", "-O2", "-S", "k.cl", "-o", "k.s"]
    try:
        subprocess.run(command, check=True, cwd=folder)
    except FileNotFoundError:
        pytest.skip("no clang-22")
    return folder, (folder / "k.s").read_text()


_FOUND = "value-changed", "value-source"


@pytest.fixture
def found(assembler, judged):
    """``found(change)`` is what judge says of the source, once a function has changed the assembler text."""
    folder, text = assembler

    def find(change=lambda text: text):
        (folder / "changed.s").write_text(change(text))
        command = ["clang-22", *WORDS, "-x", "assembler", "changed.s", "-o", "k.co"]
        subprocess.run(command, check=True, cwd=folder)
        path = str(folder / "k.co")
        (kernel,) = opened(path).kernel_names()
        grid, group = launch_sizes(opened(path), kernel)
        args = made_arguments(open_program(path), kernel, grid[0], 0)
        judgement = judged(
            path, kernel, grid=grid[0], work_group=group[0], args=[args[index] for index in sorted(args)]
        )
        findings = [(finding.rule.name, finding.message) for finding in judgement.report.findings]
        return [each for each in findings if each[0] in _FOUND]

    return find


@pytest.mark.parametrize("assembler", [SOURCE, KNOWN, KEPT, TAKEN], indirect=True)
@pytest.mark.sampled(6)
def test_nothing_is_found_in_what_the_compiler_wrote(found):
    assert found() == []


def other_register(text):
    """Let the variable `id` of `sums` be in the next register."""
    register = re.search(r"DEBUG_VALUE: sums:id <- .*\$vgpr(\d+)", text)
    assert register is not None
    low = 0x80 | int(register[1])
    return text.replace(f"\t.byte\t{low} ", f"\t.byte\t{low + 1} ")


@pytest.mark.slow
def test_a_source_without_md5_counts_if_it_is_older_than_the_code_and_fits(assembler, found):
    def is_compared():
        findings = found(lambda text: re.sub(r" md5 0x\w+", "", other_register(text)))
        return "value-source" in {rule for rule, _message in findings}

    source = assembler[0] / "k.cl"
    text = source.read_text()
    assert is_compared()
    answer = run("judge", assembler[0] / "k.co")
    assert "the line table has no MD5 of k.cl: what is there now is taken for what was compiled" in answer.stderr
    try:
        os.utime(source, (time.time() + 3600,) * 2)
        assert not is_compared()
        source.write_text(f"\n{text}")
        assert not is_compared()
    finally:
        source.write_text(text)


def test_a_function_whose_symbol_has_no_size_is_named(assembler, found):
    found(lambda text: re.sub(r"\t\.size\t.*", "", text))
    code = assembler[0] / "k.co"
    parts = json.loads(run("judge", code, "sums", "--grid", "64", "--work-group", "64", "made", "--json").stdout)[
        "functions"
    ]
    assert [part["function"] for part in parts] == ["sums"]


ONCE = """\
kernel void once(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int x = in[id];
  int y = in[id + 64];
  int both = x * y;
  int more = both ^ n;
  out[id] = more * x;
  out[id + 64] = more - y;
}
"""


def label_of(text, name):
    """Return the label where a variable comes to be in a register."""
    found = re.search(rf"(\.Ltmp\d+):\n\t;DEBUG_VALUE: once:{name} <-[^\n]*\$vgpr", text)
    assert found is not None
    return found[1]


def ends_late(text):
    first = label_of(text, "y")
    return re.sub(rf"({first}-[^\n]*\n\t\.uleb128 )\.Ltmp\d+", r"\g<1>.Lfunc_end0", text, count=1)


@pytest.mark.parametrize("assembler", [ONCE], indirect=True)
def test_a_variable_that_is_assigned_once_changes_in_no_statement_even_if_it_names_the_variable(found):
    messages = [message for rule, message in found(ends_late) if rule == "value-changed"]
    assert messages
    assert all("y is located in v" in each and "its declaration alone assigns it" in each for each in messages)


def test_a_variable_in_another_register_is_found(found):
    first_lane = "id is 0, and the source makes it 1: "  # as lane 0 has a 0 there, too
    findings = found(other_register)
    assert any(rule == "value-source" and first_lane in message for rule, message in findings), findings


@pytest.mark.parametrize("assembler", [COUNTED], indirect=True)
@for_each("value, other, words",
    (0, 0, ()),
    (2, 9, ("i is 9, which for (int i = 0; i < 6; ++i) never makes it",)),
    (0, 2, ("i goes back from 2 to 1 in for (int i = 0; i < 6; ++i)",)),
    (3, 6, ("i goes back from 6 to 4 in for (int i = 0; i < 6; ++i)",)),
    (3, 8, ("i is 8, which for (int i = 0; i < 6; ++i) never makes it",)))  # fmt: skip
@pytest.mark.sampled(6)
def test_a_counter_has_the_values_of_its_loop_in_turn(found, value, other, words):
    """The loop is unrolled, so that its counter has a constant in each part."""

    def change(text):
        constant = rf"(DW_OP_consts\n\t\.byte\t){value}\b"
        assert re.search(constant, text)
        return re.sub(constant, rf"\g<1>{other}", text)

    findings = found(change)
    assert {rule for rule, _message in findings} == ({"value-source"} if words else set())
    assert all(any(each in message for _rule, message in findings) for each in words), findings


@pytest.mark.parametrize("assembler", [KNOWN], indirect=True)
@for_each("old, new, words",
    (r"(\.byte\t)131 ", r"\g<1>128 ", ("x is ", ", and the source makes it ", ": in[id]")),
    (r"(\.byte\t)130 ", r"\g<1>128 ", ("z is ", ": x * 0.5f - 2.0f")),
    (r"(\.byte\t)128 ", r"\g<1>129 ", ("least is ", ": n < id ? n : id")))  # fmt: skip
@pytest.mark.sampled(6)
def test_variables_have_the_values_that_the_source_gives_them(found, old, new, words):
    """What is made of values that are not shown any more is known, too."""
    findings = found(lambda text: re.sub(old, new, text))
    assert any(all(each in message for each in words) for _rule, message in findings), findings


@pytest.mark.slow
@pytest.mark.parametrize("assembler", [TAKEN], indirect=True)
@for_each("name, old, new",
    ("v", r"(\.byte\t)130 ", r"\g<1>129 "),       ("sum", r"(\.byte\t)129 ", r"\g<1>130 "),
    ("left", r"(\.byte\t)131 ", r"\g<1>128 "))  # fmt: skip
def test_variables_have_only_values_that_the_source_computes(found, name, old, new):
    findings = found(lambda text: re.sub(old, new, text))
    words = f"{name} is ", ", which the source never makes it: it is only "
    assert any(all(each in message for each in words) for _rule, message in findings), findings


ODD = """\
#define KERNEL(name) __attribute__((global)) void name(int *out, int n)
/* é */ KERNEL(made) { int big = 1'000 + n; const char *text = R"(} { " 'a)";
  int left = big; /* ' */ for (int i = 0; i < 3; ++i) left -= i; // it's \\
  left = 7;
  out[__builtin_amdgcn_workitem_id_x()] = left + text[0] + '"'; }
#line 3 "other.hip"
__attribute__((global)) void moved(int *out, int n) {
  int twice = 2 * n;
  out[__builtin_amdgcn_workitem_id_x()] = twice;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("kernel", ["_Z4madePii", "_Z5movedPii"])
def test_texts_that_are_hard_to_read_make_no_findings(kernel, level, require_tool, tmp_path, judged):
    """Digit separators, raw strings, comments that go on, kernels made by macros, and lines with other numbers."""
    (tmp_path / "odd.hip").write_text(ODD)
    words = f"-x hip --offload-device-only -nogpuinc -nogpulib --offload-arch=gfx1100 -std=c++17 -g -{level}"
    words += " --no-gpu-bundle-output odd.hip -o odd.co"
    subprocess.run([require_tool("clang-22"), *words.split()], check=True, cwd=tmp_path)
    found = judged(str(tmp_path / "odd.co"), kernel, grid=64, work_group=64, args=("zeros(64)", 5)).report.findings
    of_text = "value-source", "value-changed", "statement-back"
    assert [each.message for each in found if each.rule.name in of_text] == []
