"""Variables compared with those of another build: what is wrong is found where it begins, and nothing else is."""

import json
import random
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from dwarfgpu.audits.judge.judgement import GpuBuild, Judge, difference, rounded
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.program import open_program
from tests.builders.commands import document, run
from tests.builders.compared_builds import GFX942, GFX1100, ListedPlace, assembled, defects_of, ranges_of, steps_of, v
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each, some_of

PROCESSORS = pytest.mark.parametrize("processor", [GFX942, GFX1100], ids=lambda each: each.name)


def running(path, kernel, args, *, grid=40, work_group=40, repair="auto", private_size=None):
    program = open_program(path, repair=repair)
    launched = launch(
        machine_for(program.file, kernel), program.file, kernel, grid=grid, work_group=work_group, args=list(args),
        private_size=private_size)  # fmt: skip
    return Running(launched, program=program)


def named_build(other):
    """A build that is called as its file is."""
    return GpuBuild(other, other.launched.plan.file.name.rpartition("/")[2])


def compared(path, other, kernel="steps", args=("zeros(40)", 9), *, repair="auto", **sizes):
    """Return the judgement of a build against another one."""
    judged = running(path, kernel, args, repair=repair, **sizes)
    return Judge(judged, named_build(running(other, kernel, args, **sizes))).run()


def of_variables(judgement):
    return [finding for finding in judgement.report.findings if finding.rule.part == "against"]


@pytest.mark.slow
@PROCESSORS
@pytest.mark.parametrize("repair", ["auto", "off"])
def test_nothing_is_found_where_both_builds_are_right(processor, repair, tools, tmp_path):
    other = GFX1100 if processor is GFX942 else GFX942
    judgement = compared(assembled(processor, tools, tmp_path), assembled(other, tools, tmp_path), repair=repair)
    assert [finding.message for finding in judgement.report.findings if finding.rule.part != "lane"] == []
    comparison = judgement.comparison
    assert comparison.aligned == comparison.stops > 0
    assert comparison.total().wrong == comparison.total().missing == 0
    assert {variable.name for variable in comparison.variables} == {
        "out", "limit", "lane", "left", "wide", "both", "stored", "step", "result"}  # fmt: skip


def results_found(path, kernel, args, others, **sizes):
    judgement = Judge(running(path, kernel, args, **sizes), named_build(running(path, kernel, others, **sizes))).run()
    return [each.message for each in judgement.report.findings if each.rule.name == "against-result"]


def test_buffers_that_end_different_are_a_finding():
    path, sizes = ROOT / "dwarfgpu" / "examples" / "kernels.co", {"grid": 64, "work_group": 64}
    same, other = ["zeros(64)", "ones(64)", 2, 60], ["zeros(64)", "ones(64)", 2, 50]
    assert results_found(path, "saxpy", same, same, **sizes) == []
    (found,) = results_found(path, "saxpy", same, other, **sizes)
    assert found == "saxpy+0x0: y[50] is 2.0 at the end, and 0.0 in kernels.co"


@for_each("content, expected, form, wrong, near",
    ([1.0, 2.0], [1.0, 2.0000002], "<f4", None, "[1] is 2.0 at the end, and 2.000000238418579 in other"),
    ([1.0, 2.0], [1.0, 2.5], "<f4", "[1] is 2.0 at the end, and 2.5 in other", None),
    ([0.0], [-0.0], "<f8", ": 32-bit word 1 is 0x0 at the end, and 0x80000000 in other", None),
    ([9.0, 1e-7], [9.0, -1e-7], "<f4", None,
     "[1] is 1.0000000116860974e-07 at the end, and -1.0000000116860974e-07 in other"),
    ([1e6, 1.0], [1e6, 3.0], "<f4", "[1] is 1.0 at the end, and 3.0 in other", None),
    ([1.0, np.nan], [1.0, -np.nan], "<f4", None, "[1] is nan at the end, and nan in other"),
    ([np.nan], [2.0], "<f4", "[0] is nan at the end, and 2.0 in other", None),
    ([1.0, 5.0], [1.0000001, 6.0], "<f4", "[1] is 5.0 at the end, and 6.0 in other", None),
    ([3], [-4], "<i2", "[0] is 3 at the end, and -4 in other", None),
    ([3], [4], "|u1", ": 32-bit word 0 is 0x3 at the end, and 0x4 in other", None))  # fmt: skip
def test_floats_that_are_rounded_in_another_way_are_no_error(content, expected, form, wrong, near):
    own, other = (np.array(each, form).tobytes() for each in (content, expected))
    found = rounded(own, other, "other", np.dtype(form))
    if near is None:
        assert found is None
        assert difference(own, other, "other", np.dtype(form)) == wrong
    else:
        assert found == f"{near}; elements that differ by rounding: 1 of 2"


LOOP = """
kernel void k(global int *out, global const int *in, int n)
{
    int i = get_global_id(0), v = in[i];
    for (int j = 0; j != n; ++j)
        v ^= v * 3 + in[j];
    out[i] = v;
}
"""


@pytest.mark.slow
def test_instructions_are_compared_in_lanes_and_rounds_that_no_stride_of_the_data_leaves_out(tmp_path):
    (tmp_path / "k.cl").write_text(LOOP)
    for level in "02":
        words = "--target", "gfx1100", f"-O{level}", "-o", str(tmp_path / f"k{level}.co")
        run("compile", str(tmp_path / "k.cl"), *words)
    args = "zeros(32)", "arange(32)", 20
    own, other = (running(str(tmp_path / f"k{level}.co"), "k", args, grid=32) for level in "20")
    judge = Judge(own, named_build(other))
    judge.run()
    pieces = [stop for between in judge.recorder.history.between.values() for _count, stop in between]
    assert {stop.lanes for stop in pieces} == {(0, 4, 8, 13, 17, 22, 26, 31)}
    assert {stop.visit for stop in pieces} == {1, 2, 4, 8, 16}


UNROLLED = """
kernel void k(global const int *in, global int *out)
{
    int i = get_global_id(0);
    int best = 0;
    for (int k = 0; k < 4; k++) {
        int v = in[i * 4 + k];
        int square = v * v;
        best = max(best, square);
    }
    out[i] = best;
}
"""
CANCELLED = """
kernel void k(global const float *in, global float *out)
{
    int i = get_global_id(0);
    float a = in[i] + 1.0f, g = a * 0.5f;
    for (int j = 0; j < 5; ++j)
        g = (g + a / g) * 0.5f;
    float e = g * g - a;
    out[i] = e;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("source, found", [
    (UNROLLED, ["square is 676 while k is 2, which never happens in k.O0; it also contradicts 1 more: best",
                "k goes back from 3 to 2 in for (int k = 0; k < 4; k++)"]),  # its locations are 0, 1, 3, 2, 4
    (CANCELLED, []),
], ids=["rounds of an unrolled loop", "terms that cancel"])  # fmt: skip
def test_different_values_of_right_builds_are_no_errors(source, found, target, tmp_path):
    (tmp_path / "k.cl").write_text(source)
    paths = [tmp_path / f"k.O{level}" for level in "02"]
    for path in paths:
        done = run("compile", str(tmp_path / "k.cl"), "--target", target, f"-{path.suffix[1:]}", "-o", str(path))
        assert done.returncode == 0, done.stderr
    done = run("judge", str(paths[1]), "k", "--against", str(paths[0]), "--ignore", "against-missing", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == bool(found)
    counted = [each for each in answer["findings"] if not each["limit"] and each["severity"] != "note"]
    assert [each["message"].partition(": ")[2] for each in counted] == found
    assert answer["against"]["total"]["wrong"] == 0
    assert answer["against"]["total"]["uncertain"] > 0
    assert ("against-rounding" in {rule["rule"] for rule in answer["rules"]}) == (source is CANCELLED)


INLINED = """
static int mix(int p, int q)
{
    int t = p * 5 + q;
    return t ^ (p >> 1);
}
kernel void k(global const int *in, global int *out)
{
    int i = get_global_id(0);
    int b = mix(in[i], i);
    out[i] = mix(b, 7);
}
"""


def test_variables_of_the_caller_are_compared_in_a_function_that_is_inlined(tmp_path):
    (tmp_path / "k.cl").write_text(INLINED)
    run("compile", str(tmp_path / "k.cl"), "--target", "gfx90a", "-O2", "-o", str(tmp_path / "k.co"))
    args = [1, 2, 3, 4], "zeros(4)"
    own, other = (running(str(tmp_path / "k.co"), "k", args, grid=4, work_group=4) for _build in range(2))
    judge = Judge(own, named_build(other))
    judge.run()
    stops = [stop for between in judge.recorder.history.between.values() for _count, stop in between]
    inlined = [stop for stop in stops if own.line_at(stop.pc).line < 7 and len(stop.context) == 1]
    assert {stop.line for stop in inlined} == {10, 11}
    assert "b" in {key.name for stop in inlined for key in stop.values}


def test_variables_are_compared_behind_a_call_up_to_the_next_statement(tmp_path):
    (tmp_path / "k.cl").write_text(INLINED.replace("static", "__attribute__((noinline)) static"))
    run("compile", str(tmp_path / "k.cl"), "--target", "gfx90a", "-O2", "-o", str(tmp_path / "k.co"))
    own, other = (running(str(tmp_path / "k.co"), "k", ([1, 2], "zeros(2)"), grid=2, work_group=2) for _ in range(2))
    judge = Judge(own, named_build(other))
    judge.run()
    history = judge.recorder.history
    pieces = [
        (history.by_item[item][count - 1], stop) for item in history.between for count, stop in history.between[item]
    ]
    behind = [stop for last, stop in pieces if len(stop.context) == 1 < len(last.context)]
    assert {stop.line for stop in behind} == {11}
    assert "b" in {key.name for stop in behind for key in stop.values}


UNROLLED = """
kernel void k(global int *out, global const int *in, int n)
{
    int i = get_global_id(0);
    int s = in[i];
    for (int j = 0; j < 4; ++j) {
        int v = in[(i + j) & 3];
        s = s * 3 - v;
    }
    out[i] = (s >> 2) + n;
}
"""


def test_a_build_with_location_lists_is_like_itself(tmp_path):
    (tmp_path / "k.cl").write_text(UNROLLED)
    run("compile", str(tmp_path / "k.cl"), "--target", "gfx90a", "-O2", "-o", str(tmp_path / "k.co"))
    args = "zeros(4)", [1, 2, 3, 4], 6
    own, other = (running(str(tmp_path / "k.co"), "k", args, grid=4, work_group=4) for _build in range(2))
    findings = Judge(own, named_build(other)).run().report.findings
    assert not [each.message for each in findings if each.rule.name.startswith("against-")]


ACCESSES = """
kernel void k(global int *out, global const int *in, int n)
{
    int id = __builtin_amdgcn_workitem_id_x();
    int a = in[id];
    int b = in[id + 64];
    for (int i = 0; i < 3; ++i)
        out[id + 64 * i] = a * i + n;
    out[id] = b;
}
"""


@for_each("line, other, words",
    ("", "", None),
    ("5 13", "6 13", "line 6 has the load of in+0x0, which line 5 has in"),
    ("8 26", "9 5", "which line 8 has in"))  # fmt: skip
@pytest.mark.sampled(6)
def test_an_instruction_accesses_what_its_line_accesses_in_another_build(line, other, words, require_tool, tmp_path):
    clang = [require_tool("clang-22"), "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-g"]
    (tmp_path / "k.cl").write_text(ACCESSES)
    source = *clang, "-x", "cl", "-cl-std=CL2.0", "k.cl"
    subprocess.run([*source, "-O0", "-o", "k0.co"], check=True, cwd=tmp_path)
    subprocess.run([*source, "-O2", "-S", "-o", "k.s"], check=True, cwd=tmp_path)
    text = (tmp_path / "k.s").read_text()
    changed = text.replace(f".loc\t0 {line} ", f".loc\t0 {other} ")
    assert bool(line) == (changed != text)
    (tmp_path / "k.s").write_text(changed)
    subprocess.run([*clang, "-x", "assembler", "k.s", "-o", "k.co"], check=True, cwd=tmp_path)
    args = "zeros(192)", "zeros(128)", 6
    judgement = compared(str(tmp_path / "k.co"), str(tmp_path / "k0.co"), "k", args, grid=64, work_group=64)
    found = [each.message for each in judgement.report.findings if each.rule.name == "against-access"]
    assert bool(found) == (words is not None)
    assert not words or any(words in message for message in found), found


UNSET = """
kernel void unset(global int *out, int limit) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value;
  if (id < limit)
    value = id * 3;
  int next = value + 1;
  out[id] = next ^ id;
}
"""


@pytest.mark.slow
@for_each("limit, expected", (64, []), (40, [("against-result", "note")]))
def test_a_result_that_the_kernel_leaves_undefined_is_not_the_fault_of_the_compiler(limit, expected, tmp_path):
    source = tmp_path / "k.cl"
    source.write_text(UNSET)
    sizes = "--grid", "64", "--work-group", "64", "--only", "against-result", "--json"
    found = document("judge", source, "unset", "-O2", "--against", source, "zeros(64)", limit, *sizes)["findings"]
    assert [(each["rule"], each["severity"]) for each in found] == expected
    for each in found:
        assert "; the kernel reads `value` before it is set at k.cl:7 (run --check=init): the b" in each["message"]


CHECKSUM = """
static uint crc_byte(uint crc, uchar byte) {
  crc ^= byte;
  for (int bit = 0; bit < 8; ++bit)
    crc = (crc >> 1) ^ (0xEDB88320u & -(crc & 1));
  return crc;
}
kernel void checksum(global uint *out, global const uchar *data) {
  int id = get_global_id(0);
  uint value = ~0u;
  for (int i = 0; i < 3; ++i)
    value = crc_byte(value, data[id * 3 + i]);
  out[id] = ~value;
}
"""


@pytest.mark.slow
def test_the_code_of_an_inlined_call_is_on_the_line_of_the_call(tmp_path):
    """A piece of the line behind the loop is in front of the last instructions of the call, in which i is still 2."""
    (tmp_path / "k.cl").write_text(CHECKSUM)
    words = f"{tmp_path / 'k.cl'}@gfx1100", "-O2", "checksum", "--grid", 4, "--against", tmp_path / "k.cl", "--json"
    document = json.loads(run("judge", *words).stdout)
    assert document["against"]["between"]["right"] > 900
    assert [each["message"] for each in document["findings"] if each["rule"] == "against-between"] == []


def check_defects(processor, tools, folder, defects):
    right = assembled(GFX942, tools, folder / "right")
    offsets = step_offsets(right if processor is GFX942 else assembled(processor, tools, folder / "right"), processor)
    missed = []
    for defect in defects:
        findings = of_variables(compared(assembled(processor, tools, folder, defect.ranges), right, repair="off"))
        if offsets[defect.step] not in {finding.offset for finding in findings}:
            missed.append((defect.name, hex(offsets[defect.step]), [finding.message for finding in findings]))
    assert not missed


def step_offsets(path, processor):
    from dwarfgpu.isa.decoder import decode

    file = opened(path)
    section = next(each for each in file.image.sections if each.name == ".text")
    offset, offsets = file.image.symbol_named("steps").value - section.address, []
    for _step in steps_of(processor):
        offsets.append(offset)
        offset += decode(bytes(section.data[offset : offset + 20]), 0, processor.name, processor.lanes).size
    return offsets


@pytest.fixture(scope="module")
def right_steps(require_tool, tmp_path_factory):
    """The kernel as it is right, and its judgement."""
    tools = require_tool("llvm-mc-22"), require_tool("ld.lld-22")
    path = assembled(GFX942, tools, tmp_path_factory.mktemp("right"))
    return path, Judge(running(path, "steps", ("zeros(40)", 9))).run()


@pytest.mark.slow
@for_each(
    "place, failed, wrong, missing",
    (ListedPlace("lane", 6, 29, (v(2),)), {"lane": 0x20}, 1627, 0),  # has another value
    (ListedPlace("lane", 6, 29, (v(14),)), {"lane": 0x20}, 0, 1600),  # nothing has written the register
    (ListedPlace("left", 22, 24, (v(8),)), {}, 0, 0),  # has the same value
    (ListedPlace("lane", 6, 29, ()), {}, 0, 0),  # leaves it to the other place
    (ListedPlace("step", 16, 22, (v(2),)), {"step": 0x4C}, 316, 0),
)
def test_each_place_of_entries_that_overlap_has_the_value(place, failed, wrong, missing, right_steps, tools, tmp_path):
    path, other = assembled(GFX942, tools, tmp_path, (*ranges_of(steps_of(GFX942)), place)), right_steps[0]
    own = compared(path, other)
    found = [each for each in own.report.findings if each.rule.name == "value-failed"]
    assert all(each.seen.startswith("lane 1 " if place.pieces == (v(2),) else "lane 0 ") for each in found)
    assert {each.message.split(": ")[1]: each.offset for each in found} == failed
    assert bool(own.total().variables.wrong) == bool(failed)
    assert own.total().variables.missing == right_steps[1].total().variables.missing
    total = own.comparison.total()
    assert (total.wrong, total.missing) == (wrong, missing)


@pytest.mark.slow
@PROCESSORS
def test_every_location_that_is_wrong_is_found_at_its_first_statement(processor, tools, tmp_path):
    (tmp_path / "right").mkdir()
    defects = list(defects_of(processor))
    assert len(defects) >= 60
    check_defects(processor, tools, tmp_path, some_of(defects))


@pytest.mark.slow
@for_each("level, processor, other", ("O0", "gfx90a.w64", "gfx1100.w32"), ("O0", "gfx1200.w32", "gfx1030.w32"))
def test_code_that_is_not_optimized_is_the_same_on_another_processor(level, processor, other):
    paths = [str(ROOT / f"fixtures/amdgpu/cl-kernels.{name}.{level}.v5.co") for name in (processor, other)]
    judgement = compared(*paths, "divergent", ("zeros(64)", 24), grid=40, work_group=40)
    assert of_variables(judgement) == []
    assert judgement.comparison.aligned == judgement.comparison.stops > 500
    assert judgement.comparison.total().right > 1000


@pytest.mark.slow
def test_a_value_that_the_compiler_has_not_followed_is_wrong_in_its_lane():
    """After `result += recurse(...)` LLVM 24 says that result is what it was before, and it is in lanes from 1 on.

    The statement of line 94 has another column in the other build: 50 is right before it, and 55 behind it.
    """
    path = str(ROOT / "fixtures/llvm24/hip-calls.{}.co")
    arguments = ("zeros(4096)", "zeros(4096)", 20)
    judgement = compared(
        path.format("gfx1100.w32.O2"), path.format("gfx1100.w32.O0"), "_Z5callsPiPfi", arguments, grid=2, work_group=2
    )
    (result,) = [each for each in judgement.comparison.variables if (each.function, each.name) == ("calls", "result")]
    assert (result.wrong, result.first_wrong.line, result.first_wrong.lane) == (1, 94, 1)
    assert (result.first_wrong.value, result.first_wrong.other) == ("49", "50 or 55")
    (finding,) = [
        each for each in of_variables(judgement) if each.message.startswith("calls(int*, float*, int)+0x8c: res")
    ]
    assert finding.source == ("src/hip/calls.hip", 94)
    assert finding.seen.startswith("lane 1 of wave 1:1:1:1 at 0x7f")


@pytest.mark.slow
def test_damaged_debugging_information_gives_an_answer_or_an_error(tools, tmp_path):
    """Whichever of the builds is damaged, nothing else comes out."""
    good, other = (assembled(processor, tools, tmp_path) for processor in (GFX942, GFX1100))
    data = Path(good).read_bytes()
    names = (".debug_info", ".debug_line", ".debug_loclists", ".debug_abbrev", ".debug_frame")
    sections = [section for section in opened(good).image.sections if section.name in names]
    damaged = tmp_path / "damaged.co"
    for seed in range(8):
        numbers = random.Random(seed)
        changed = bytearray(data)
        for _count in range(numbers.choice((1, 2, 4))):
            section = numbers.choice(sections)
            changed[section.offset + numbers.randrange(section.size)] = numbers.randrange(256)
        damaged.write_bytes(changed)
        for path, against in ((str(damaged), other), (other, str(damaged))):
            with suppress(DwarfGpuError):
                assert compared(path, against).comparison is not None


@pytest.mark.slow
def test_a_value_of_another_round_of_a_loop_on_one_line_is_not_wrong(require_tool, tmp_path):
    """Optimized code splits the line before the loop, so its visits are not as many as those of the other build."""
    folder = ROOT / "tests" / "execution"
    paths = []
    for processor, level in (("gfx1100", "O2"), ("gfx90a", "O0")):
        paths.append(str(tmp_path / f"{processor}.co"))
        words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}", "-g",
                 "-w", "-nogpulib", "-include", str(folder / "kernels.h"), str(folder / "kernels.cl")]  # fmt: skip
        subprocess.run([require_tool("clang-22"), *words, "-o", paths[-1]], check=True, capture_output=True)
    judgement = compared(*paths, "col", ("zeros(8)", [1, 2, 3, 4, 5, 6, 7, 8]), grid=8, work_group=8)
    assert [finding.message for finding in of_variables(judgement) if finding.rule.name == "against-wrong"] == []
    assert judgement.comparison.total().right >= 8


RECURSIVE = """
__attribute__((noinline)) int factorial(int n) {
  int smaller = n - 1;
  return n < 2 ? 1 : n * factorial(smaller);
}
kernel void recursive(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = factorial(id & 3);
}
"""


def test_a_function_that_has_become_a_loop_is_not_compared_with_its_calls(require_tool, tmp_path):
    """Optimized code calls it once, and n is in each round of the loop what it is in one call of the source."""
    paths = []
    for level in ("O2", "O0"):
        paths.append(str(tmp_path / f"{level}.co"))
        words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", f"-{level}", "-g", "-w",
                 "-nogpulib", "-", "-o", paths[-1]]  # fmt: skip
        subprocess.run([require_tool("clang-22"), *words], input=RECURSIVE, text=True, check=True, cwd=tmp_path)
    judgement = compared(*paths, "recursive", ("zeros(32)",), grid=32, work_group=32, private_size=4096)
    variables = {each.name: each for each in judgement.comparison.variables if each.function == "factorial"}
    assert {name: (each.wrong, each.missing) for name, each in variables.items()} == {"n": (0, 0), "smaller": (0, 0)}
    assert judgement.comparison.aligned < judgement.comparison.stops
    assert variables["n"].right >= 16  # lanes that do not call it again are compared


UNDEFINED = """
kernel void k(global int *out, global int *shared, int n) {
  int i = (int)__builtin_amdgcn_workitem_id_x();
  int good = i * 3 + n;
  int more = good ^ 5;
  int never;
  CODE
  out[i] = bad + more;
  out[i + 64] = good;
}"""
"""`bad` depends on undefined behaviour; `good` and `more` do not."""


@pytest.mark.slow
@for_each("code, doubted",
    ("int bad = never + 1;", {"bad", "out"}),
    ("shared[0] = i; int bad = shared[0] + shared[1]; shared[1] = good;", {"bad", "out"}),
    ("int bad = i; if (never) bad = good;", {"bad", "good", "more", "out"}),
    ("int bad = i;", set()))  # fmt: skip
def test_what_undefined_behaviour_cannot_change_is_an_error(code, doubted, require_tool, tmp_path):
    """`good` and `more` have each other's location; the branch is the last statement, behind which nothing is known."""
    for processor in ("gfx1100", "gfx90a"):
        words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -nogpulib -g -O0 -w -"
        text = UNDEFINED.replace("CODE", code)
        subprocess.run(
            [require_tool("clang-22"), *words.split(), "-o", tmp_path / processor], input=text.encode(), check=True
        )
    path = tmp_path / "gfx1100"
    data, places = bytearray(path.read_bytes()), {}
    with path.open("rb") as file:
        dwarf = ELFFile(file).get_dwarf_info(relocate_dwarf_sections=False)
        start = ELFFile(file).get_section_by_name(".debug_info")["sh_offset"]
        for die in next(dwarf.iter_CUs()).iter_DIEs():
            name, location = (die.attributes.get(f"DW_AT_{each}") for each in ("name", "location"))
            if name is not None and location is not None:
                places[name.value] = start + location.offset + 1, bytes(location.value)
    for one, other in ((b"good", b"more"), (b"more", b"good")):
        at, content = places[one][0], places[other][1]
        data[at : at + len(content)] = content
    path.write_bytes(data)
    words = "k --grid 64 --work-group 64 zeros(128) zeros(2) 9 --against"
    found = [each for each in document("judge", path, *words.split(), tmp_path / "gfx90a", status=1)["findings"]
             if each["rule"].startswith("against")]  # fmt: skip
    names = {severity: {re.search(r"(?:: | to \+\w+: )(\w+)", each["message"])[1] for each in found
                        if each["severity"] == severity} for severity in ("error", "note")}  # fmt: skip
    assert names["error"] == {"good", "more"}
    assert names["note"] <= doubted


CALLED = """
static __attribute__((noinline)) int scale(int v, int k) {
  int t = v * k;
  int u = t + 7;
  return u ^ t;
}
kernel void called(global int *out) {
  int sum = 0;
  for (int k = 0; k < 4; k++) {
    sum += scale(out[k], k + 1);
  }
  out[0] = sum;
}
"""


@pytest.mark.slow
def test_a_call_needs_no_variable_of_the_call_before(require_tool, tmp_path):
    """Behind its last use a parameter has no location, and the next call of the loop names it again."""
    (tmp_path / "k.cl").write_text(CALLED)
    paths = []
    for level in ("O2", "O0"):
        paths.append(str(tmp_path / level))
        words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx1100 -{level} -g -w -nogpulib k.cl -o {level}"
        subprocess.run([require_tool("clang-22"), *words.split()], check=True, cwd=tmp_path)
    judgement = compared(*paths, "called", ("zeros(32)",), grid=32, work_group=32)
    missing = {each.name: each.missing for each in judgement.comparison.variables if each.function == "scale"}
    assert missing == dict.fromkeys(("v", "k", "t", "u"), 0)


@for_each(
    "change, is_compared",
    ("__scoped_atomic_fetch_max(most, i, {})", True),
    ("__scoped_atomic_fetch_xor((global uint *)most, i, {})", True),
    ("__scoped_atomic_fetch_add((local int *)8, i, {})", True),
    ("out[i + 8] = __scoped_atomic_fetch_add(most, 1, {})", False),
    ("out[i + 8] = __scoped_atomic_fetch_add((local int *)8, 1, {})", False),
    ("__scoped_atomic_exchange_n(most, i, {})", False),
    ("__scoped_atomic_fetch_add((global float *)most, 0.1f, {})", False),
)
@pytest.mark.sampled(6)
def test_buffers_are_compared_unless_the_order_of_atomic_operations_counts(change, is_compared, require_tool, tmp_path):
    clang, target = require_tool("clang-22"), "-target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -g -O2"
    text = f"""kernel void k(global int *out, global int *most) {{
  int i = __builtin_amdgcn_workitem_id_x();
  {change.format("__ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE")};
  out[i] = i + ADDED;
}}"""
    for added in (0, 1):
        words = f"-x cl -cl-std=CL2.0 {target} -DADDED={added} - -o {tmp_path / str(added)}"
        subprocess.run([clang, *words.split()], input=text, text=True, check=True)
    sizes, other = "--grid 8 --work-group 8 --dynamic-local 64", f"--against {tmp_path / '1'}"
    words = f"{tmp_path / '0'} k {sizes} zeros(16) zeros(1) {other}"
    shown = run("judge", *words.split()).stdout
    assert ("out[0] is 0 at the end, and 1 in 1" in shown) == is_compared
    assert ("the buffers at the end are not compared" in shown) != is_compared


REMOVED = [(0x197, 42), (0x1D8, 9), (0x201, 25)]


@pytest.mark.slow
@pytest.mark.parametrize("entry, instructions", REMOVED)
def test_a_range_that_is_removed_from_a_list_makes_the_shares_lower(entry, instructions, tmp_path):
    """Shares are of the instructions, and statements, at which a variable is in scope, not of those in its ranges."""
    path = ROOT / "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co"
    data = bytearray(path.read_bytes())
    (tmp_path / "whole.co").write_bytes(data)  # without its source, as the other
    with path.open("rb") as file:
        at = ELFFile(file).get_section_by_name(".debug_loclists")["sh_offset"] + entry
    assert data[at] == 4  # DW_LLE_offset_pair, with two numbers of two bytes
    data[at + 3 : at + 5] = data[at + 1 : at + 3]
    (tmp_path / "less.co").write_bytes(data)
    other = str(path).replace("O2", "O0")
    whole, less = (
        compared(str(tmp_path / name), other, "divergent", ("zeros(64)", 40)).total()
        for name in ("whole.co", "less.co")
    )
    assert whole.variables.right - less.variables.right == instructions
    assert less.variables.missing - whole.variables.missing == instructions
    assert less.variables.share_right < whole.variables.share_right
    assert less.values.share_right < whole.values.share_right
    assert less.values.availability < whole.values.availability


def test_the_instructions_of_a_function_are_counted_up_to_some_size(monkeypatch):
    """The symbol of a damaged file can be as large as the file."""
    path = str(ROOT / "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co")
    for size, count in ((1 << 20, 67), (40, 8), (4, 1)):
        monkeypatch.setattr("dwarfgpu.audits.judge.judgement.MAX_CODE", size)
        part = Judge(running(path, "divergent", ("zeros(64)", 40))).run(2).total()
        assert (part.code, part.instructions <= 2) == (max(count, part.instructions), True)
