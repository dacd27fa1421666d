"""What is right only after a repair: an idiom of the producer, and the same for judge, coverage and the debugger."""

import json
import subprocess

import pytest

from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.audits.judge.judgement import Judge
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.states.program import open_program
from tests.builders.commands import run

OPTIMIZED = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
SAXPY = ("judge", OPTIMIZED, "saxpy", "--grid", "64", "--work-group", "64", "zeros(64)", "ones(64)", "2", "64")
SOURCE = """
__attribute__((amdgpu_kernel, device)) void k(int *out, int n) {
  __attribute__((shared, device)) static int t[128];
  __attribute__((shared, device)) static int u[64];
  int own[4];
  int i = __builtin_amdgcn_workitem_id_x();
  for (int j = 0; j < 4; ++j)
    own[j] = i + j;
  t[i] = i * n;
  u[i] = own[n & 3];
  __builtin_amdgcn_s_barrier();
  out[i] = t[127 - i] + u[63 - i] + own[i & 3];
}
"""


@pytest.mark.slow
def test_a_repaired_location_is_an_idiom_that_counts_if_the_user_is_strict():
    done = run(*SAXPY, "--json")
    document = json.loads(done.stdout)
    found = [each for each in document["findings"] if each["rule"] == "value-written"]
    assert {each["idiom"] for each in found} == {"vector-register"}
    assert {each["limit"] for each in found} == {"idiom"}
    assert (done.returncode, document["locations"], document["locations_repaired"]) == (0, 9, 9)
    text = " ".join(run(*SAXPY).stdout.split())
    assert "repaired: the compiler misdescribes i, product: 9 of 9 locations are idioms" in text
    assert "verdict: no findings, apart from idioms in 2 variables, which do not fail (" in text
    assert run(*SAXPY, "--strict", "--only", "idioms").returncode == 1
    assert run(*SAXPY, "--strict", "--ignore", "limits").returncode == 0
    assert "value-written" not in run(*SAXPY, "--repair", "off", "--json").stdout


@pytest.mark.slow
def test_verify_and_judge_count_the_same_variables_with_idioms(require_tool, tmp_path):
    """But for `t` and `u`, for which the file has no location at all."""
    path = str(compiled("cl", "O0", require_tool("clang-22"), tmp_path))
    judged = run("judge", path, "k", "--grid", "64", "--work-group", "64", "zeros(64)", "3", "--json")
    verified = run("verify", path, "--json")
    (of_file,) = json.loads(verified.stdout)["files"]
    assert json.loads(judged.stdout)["idiom_variables"] - len("tu") == of_file["idiom_variables"] == 5
    assert "no findings, apart from idioms in 5 variables, which do not fail (" in " ".join(
        run("verify", path).stdout.split()
    )
    assert json.loads(run("verify", path, "--strict", "--json").stdout)["files"][0]["idiom_variables"] == 0


@pytest.mark.slow
def test_two_variables_of_one_name_are_two(require_tool, tmp_path):
    """One that has a location must not stand for another that has none."""
    require_tool("clang-22")
    parts = []
    for name in ("first", "other"):
        text = f"int first = n + 1;\n{{ int {name} = n + 2; out[n] = {name}; }} out[0] = first;"
        (path := tmp_path / f"{name}.cl").write_text(f"kernel void k(global int *out, int n) {{ {text} }}")
        done = run("judge", str(path), "-O0", "k", "--grid", "64", "--work-group", "64", "zeros(64)", "3", "--json")
        parts.append(json.loads(done.stdout))
    assert parts[0]["variables"] == parts[1]["variables"]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["cl O0", "cl O2", "hip O0", "hip O2", "pointed"])
def test_judge_coverage_and_debugger_say_the_same_of_each_variable(case, require_tool, tmp_path):
    if case == "pointed":
        agree(
            "fixtures/amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "objects", ["zeros(768)", "zeros(64)", 3], {"ring", "i"}
        )
    else:
        file = compiled(*case.split(), require_tool("clang-22"), tmp_path)
        agree(str(file), "k", ["zeros(64)", 3], {"n", "i", "own"})


def compiled(language, level, compiler, folder):
    source = SOURCE
    if language == "cl":
        source = source.replace("__attribute__((amdgpu_kernel, device))", "kernel").replace("(int *", "(global int *")
        source = source.replace("__attribute__((shared, device)) static", "local")
    (path := folder / f"k.{language}").write_text(source)
    words = ["-nogpulib", "-nogpuinc", "-g", f"-{level}", "-w", "-x", language, path, "-o", folder / "k.co"]
    words += ["--cuda-device-only", "--offload-arch=gfx1100", "--no-gpu-bundle-output"] * (language == "hip")
    words += ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100"] * (language == "cl")
    subprocess.run([compiler, *words], check=True)
    return folder / "k.co"


def agree(file, kernel, args, names):
    """Run a kernel, and compare what the three say of each variable at each instruction."""
    program = open_program(file)
    machine = machine_for(program.file, kernel)
    running = Running(launch(machine, program.file, kernel, grid=(64,), work_group=(64,), args=args))
    running.program = program
    covered = {}
    for variable in FileAvailability(program.file):
        covered.setdefault(variable.name, []).extend((each.low, each.high, each.repaired) for each in variable.spans())
    judge, shown = Judge(running), {}
    read = judge.values.judge

    def read_both(arrival, row):
        read(arrival, row)
        for frame in judge.followed.stopped.stack(arrival.wave(row)).call(0):
            for variable in frame.variables():
                places = variable.locations_here() if variable.is_here() else ()
                has = any(each.repaired != "DW_OP_LLVM_undefined" for each in places)
                shown[variable.name, arrival.pc] = has

    judge.values.judge = read_both
    assert judge.run().halt.has_ended
    bias = running.launched.plan.load_address
    located, absent = judge.values.located, judge.values.absent - judge.values.located
    assert {name for name, _line, _pc in located | absent} >= names
    for places, has in ((located, True), (absent, False)):
        for name, _line, pc in places:
            kinds = [kind for low, high, kind in covered[name] if low <= pc - bias < high]
            assert (any(kind is not None for kind in kinds), shown[name, pc]) == (has, has), (name, hex(pc))
