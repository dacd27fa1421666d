"""Sources of kernels that the clang of this machine compiles, with the built-in functions of compilers/library.

What functions compute is compared with Python; what becomes of lines and names with llvm-dwarfdump.
"""

import json
import math
import re
import shutil
import subprocess
from decimal import Decimal, localcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dwarfgpu
from dwarfgpu.children import PrivateFolder
from dwarfgpu.cli import main
from dwarfgpu.compilers import sources
from dwarfgpu.compilers.clang import find_clang
from dwarfgpu.compilers.sources import Library, NotCompiled, Recipe, compile_source
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run

COPY = """__kernel void copy(__global const float *in, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n)
    out[i] = in[i + 1];
}
"""
IDS = """
__kernel void ids(__global ulong *o) {
  o += 24 * get_global_linear_id();
  for (uint d = 0; d < 3; d++, o += 6) {
    o[0] = get_global_id(d); o[1] = get_local_id(d); o[2] = get_group_id(d); o[3] = get_local_size(d);
    o[4] = get_num_groups(d); o[5] = get_global_size(d);
  }
  o[0] = get_work_dim(); o[1] = get_global_linear_id(); o[2] = get_local_linear_id(); o[3] = get_enqueued_local_size(0);
  o[4] = get_sub_group_id(); o[5] = get_sub_group_local_id();
}
"""
HIP = """#include <cstdio>
#include <hip/hip_runtime.h>
#define CHECK(x) do { if ((x) != hipSuccess) puts(hipGetErrorString(x)); } while (0)
__global__ void reduce(const float *in, float *out, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int s = blockDim.x / 2; s >= warpSize; s /= 2) {
    if (threadIdx.x < s)
      tile[threadIdx.x] += tile[threadIdx.x + s];
    __syncthreads();
  }
  float sum = tile[threadIdx.x];
  for (int s = warpSize / 2; s > 0; s /= 2)
    sum += __shfl_down(sum, s);
  float4 four = make_float4(1, 2, 3, 4) * 2;
  assert(four.y == 4);
  if (threadIdx.x == 0 && atomicAdd(out, sum) == -1)
    printf("never %d\\n", n);
  assert(n < 200);
}
int main() {
  float *in, *out;
  CHECK(hipMalloc(&in, 400));
  CHECK(hipMalloc((void **)&out, 4));
  reduce<<<dim3(2), 64>>>(in, out, 100);
  hipLaunchKernelGGL(reduce, 2, 64, 0, 0, in, out, 100);
  CHECK(hipFree(in));
}
"""


@pytest.fixture(autouse=True)
def clang(require_tool: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    path: str = require_tool("clang-22", "clang")
    require_tool("ld.lld-22", "ld.lld")
    monkeypatch.setenv("CLANG", path)
    return path


def source(folder: Path, text: str, name: str = "k.cl") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def ids_of(grid: tuple[int, ...], group: tuple[int, ...], wave: int) -> list[list[int]]:
    """What each work-item of a grid is to find, in order."""
    rows = []
    size, most = (*grid, 1, 1)[:3], (*group, 1, 1)[:3]
    for z, y, x in product(*map(range, reversed(size))):
        at = (x, y, z)
        local, block = [a % m for a, m in zip(at, most, strict=True)], [a // m for a, m in zip(at, most, strict=True)]
        inner = [min(m, s - b * m) for m, s, b in zip(most, size, block, strict=True)]
        row = [
            each for d in range(3) for each in (at[d], local[d], block[d], inner[d], -(-size[d] // most[d]), size[d])
        ]
        linear = (local[2] * inner[1] + local[1]) * inner[0] + local[0]
        rows.append([*row, len(grid), len(rows), linear, most[0], linear // wave, linear % wave])
    return rows


def computed(folder: Path, text: str, recipe: Recipe, kernel: str, *, name: str = "k.cl", **given: Any) -> Any:
    """The buffers of a kernel that has ended, by name."""
    path = str(folder / "k.co")
    Path(path).write_bytes(compile_source(str(source(folder, text, name)), recipe).code)
    machine = machine_for(path, kernel)
    launched = launch(machine, path, kernel, **given)
    assert str(machine.run()) == "all waves have ended"
    return launched.buffers


VERSIONS = [(5, "gfx1100", "2"), (4, "gfx90a", "2")]
SLOW = [(5, "gfx1100", "0"), (4, "gfx90a", "0"), (6, "gfx1100-wave64", "2"), (4, "gfx1100", "2"), (5, "gfx90a", "2")]


@pytest.mark.parametrize(
    "version, processor, level", [*VERSIONS, *(pytest.param(*row, marks=pytest.mark.slow) for row in SLOW)]
)
@pytest.mark.parametrize("grid, group", [((80,), (64,)), ((10, 6), (4, 3)), ((7, 5, 3), (2, 2, 2))])
@pytest.mark.sampled(6)
def test_work_items_know_where_they_are(tmp_path, version, processor, level, grid, group):
    recipe = Recipe(processor, level, (f"-mcode-object-version={version}",))
    out = np.zeros(24 * int(np.prod(grid)), "u8")
    found = computed(tmp_path, IDS, recipe, "ids", grid=grid, work_group=group, args=[out])["o"]
    assert found.reshape(-1, 24).tolist() == ids_of(grid, group, resolve(processor).lane_count)


@pytest.mark.parametrize("level", ["0", "2"])
def test_lines_and_names_are_those_of_the_source(tmp_path, require_tool, level):
    path = tmp_path / "k.co"
    path.write_bytes(compile_source(str(source(tmp_path, COPY)), Recipe(level=level)).code)
    tool = require_tool("llvm-dwarfdump-22", "llvm-dwarfdump")
    said = subprocess.run(
        [tool, "--debug-line", "--debug-info", path], capture_output=True, text=True, check=True
    ).stdout
    assert {Path(name).name for name in re.findall(r'^ +name: "(.*)"', said, re.MULTILINE)} == {"k.cl"}
    assert set(re.findall(r'DW_TAG_subprogram\n(?:.*\n)*?.*DW_AT_name\t\("(.*)"\)', said)) == {"copy"}


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx1100", "gfx90a", "gfx1200"])
@pytest.mark.parametrize("level", ["0", "2"])
def test_hip_programs(tmp_path, processor, level):
    given = {"grid": 128, "work_group": 64, "args": {"in": np.arange(100, dtype="f4"), "out": "zeros(1)", "n": 100}}
    found = computed(tmp_path, HIP, Recipe(processor, level), "_Z6reducePKfPfi", name="k.hip", **given)
    assert found["out"].tolist() == [99 * 50]


@pytest.mark.slow
def test_an_assertion_stops_the_wave(tmp_path):
    buffers = ("in=zeros(64)", "out=zeros(1)", "n=400")
    done = run("run", str(source(tmp_path, HIP, "k.hip")), "reduce", "--grid=64", "--work-group=64", *buffers)
    assert "k.hip:21: void reduce(const float *, float *, int): Assertion `n < 200' failed." in done.stdout
    assert done.returncode == 1


# --- As a user types them -----------------------------------------------------------------------------------------

LAUNCH = ("copy", "--grid=64", "--work-group=64", "in=arange(64)", "out=zeros(64)")


@pytest.mark.slow
def test_a_source_can_be_named_in_place_of_its_code_object(tmp_path):
    path = str(source(tmp_path, COPY))
    assert run("run", path, *LAUNCH, "n=63").stdout.startswith("copy: all 2 waves have ended")
    assert "copy: the wave has ended" in run("run", f"{path}@gfx90a", *LAUNCH, "n=63").stdout
    fault = run("run", path, *LAUNCH, "n=64")
    assert (fault.returncode, "just past the end of `in`, which has 256 bytes" in fault.stdout) == (1, True)
    session = (
        "target launch copy 64 64 null null 0",
        "break k.cl:3",
        "continue",
        "print -lane 0-1 i",
        f"file {path}@gfx90a",
    )
    said = run("debug", path, "-q", "-batch", *(word for each in session for word in ("-ex", each))).stdout
    assert "= {[0]=0, [1]=1}" in said
    assert "1 file, 1" in run("verify", path).stdout
    assert dwarfgpu.open(path).file.kernel_names() == ["copy"]
    assert machine_for(path, "copy").target.name.startswith("amdgcn-")
    assert [*tmp_path.iterdir()] == [Path(path)]


def test_compile_writes_a_code_object(tmp_path, monkeypatch):
    path, out = str(source(tmp_path, COPY.replace("64", "SIZE"))), tmp_path / "other.co"
    words = ("-target", "gfx90a:xnack-", "-O2", "--json", "--", "-DSIZE=3")
    told = json.loads(run("compile", path, "-o", str(out), *words).stdout)
    assert (told["path"], told["target"], told["kernels"]) == (str(out), "amdgcn-gfx90a", ["copy"])
    assert "gfx90a:xnack-" in run("info", str(out)).stdout
    monkeypatch.chdir(tmp_path)
    assert main(["compile", path]) == 0
    assert {each.name for each in tmp_path.iterdir()} == {"k.cl", "k.co", "other.co"}


CALLS = "float missing(float);\n__kernel void k(__global float *o) {\n  o[0] = missing(o[1]);\n}\n"
NAMES = "__kernel void k(__global float *o) {\n  o[0] = SIZE;\n}\n"
BAD = [
    pytest.param("k.cl", CALLS, (), "k.cl:3: missing is called, and is not defined", marks=pytest.mark.slow),
    ("k.cl", NAMES, (), "-DSIZE=VALUE defines it, as the host program may do when"),
    ("k.cl", '#include "other.h"\n', (), "k.cl:1:10: fatal error: 'other.h' file not found"),
    ("k.cl", '#include "other.h"\n', (), "hint: the option -I FOLDER says where it is"),
    ("k.cl", "\0\xff", (), "error:"),
    ("k.txt", COPY, (), "k.txt is not a kernel source: its name must end with one of .cl, "),
    ("k.cl", COPY, ("-target", "x86_64"), "x86_64 is not a GPU"),
    ("k.cl", COPY, ("-target", "gfx1"), "there is no target 'gfx1'"),
    ("k.cl", COPY, ("--", "-std=CL7"), "invalid value 'CL7' in '-std=CL7'"),
    ("k.cl", COPY, ("-o", "none/k.co"), "none/k.co cannot be written"),
]


@pytest.mark.parametrize("name, text, options, message", BAD)
def test_what_cannot_be_compiled(tmp_path, name, text, options, message):
    path = source(tmp_path, text, name)
    done = run("compile", str(path), *options)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode > 1
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.slow
def test_each_command_that_compiles_takes_macros_folders_and_a_level(tmp_path):
    """And the hints that name another command say the same words."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "size.h").write_text("#define SIZE (FIRST + 1)\n")
    path = str(source(tmp_path, f'#include "size.h"\n{NAMES}'))
    build = ["-DFIRST=41", "-I", str(tmp_path / "include"), path]
    launch = ["k", "--grid", "1", "--work-group", "1", "zeros(1)"]
    assert "o = {42}" in run("run", *build, *launch, "--print", "o").stdout
    done = run("run", *build, "-O2", *launch, "--break", "k.cl:3")
    assert f"dwarfgpu debug -O2 -DFIRST=41 -I{tmp_path}/include {path} k " in done.stderr
    assert (
        "$1 = 42" in run("debug", *build, *launch, "-batch", "-ex", "break 4", "-ex", "c", "-ex", "print o[0]").stdout
    )
    assert "with -O0" in run("judge", *build, *launch).stderr
    assert "with -O0" not in run("judge", *build, "-O1", *launch).stderr
    assert run("eval", *build, "sizeof(float)").stdout == "sizeof(float) = 4\n"
    assert "use of undeclared identifier" in run("run", path, *build[1:3], *launch).stderr


def test_every_command_prints_all_errors_of_a_source(tmp_path):
    path = str(source(tmp_path, "kernel void k(global int *o) {\n  o[0] = first;\n  o[1] = second;\n}\n", "wrong.cl"))
    for words in (("run", path, "k", "--grid", "1"), ("judge", path), ("compile", path), ("debug", path, "-batch")):
        done = run(*words)
        assert done.returncode == 3
        for line, name in ((2, "first"), (3, "second")):
            assert f"{path}:{line}:10: error: use of undeclared identifier '{name}'" in done.stderr
        assert "      |          ^~~~~" in done.stderr
        assert done.stderr.count("dwarfgpu: error: ") == 1


def test_without_a_clang_the_hint_says_how_to_get_one(tmp_path, monkeypatch):
    for chosen, reason in (
        ("/bin/true", "/bin/true knows no AMD GPUs"),
        ("clang-none", "CLANG=clang-none is not a program"),
    ):
        monkeypatch.setenv("CLANG", chosen)
        done = run("run", str(source(tmp_path, COPY)), *LAUNCH, "n=1")
        assert f"a kernel cannot be compiled: {reason}" in done.stderr
        assert "install" in done.stderr


FAKE = """#!/bin/sh
case "$*" in
  --version) echo "clang version {version}.0.0";;
  -print-targets) echo "    amdgcn - AMD GCN GPUs";;
  *) echo "clang: error: {message}" >&2; exit 1;;
esac
"""
OTHERS = [
    ("12", "", "k.cl", "has version 12, and 13 is the oldest that works"),
    ("14", "Invalid target ID: gfx1100", "k.cl", "cannot compile for amdgcn-gfx1100-wave32"),
    ("24", "unable to find library", "k.cl", "cannot build the built-in functions: clang: error: unable to find"),
    ("16", "", "k.hip", "HIP needs clang 17 or later"),
]


@pytest.mark.parametrize("version, message, name, said", OTHERS)
def test_what_other_versions_of_clang_cannot_do_is_one_sentence(tmp_path, monkeypatch, version, message, name, said):
    tool = tmp_path / "clang"
    tool.write_text(FAKE.format(version=version, message=message))
    tool.chmod(0o755)
    monkeypatch.setenv("CLANG", str(tool))
    done = run("compile", str(source(tmp_path, COPY, name)), "-o", str(tmp_path / "k.co"))
    assert (done.returncode > 1, said in done.stderr, done.stderr.count("error:")) == (
        True,
        True,
        1 + ("error: " in said),
    )
    assert "hint: " in done.stderr


VERSIONS_HERE = [shutil.which(f"clang-{version}") for version in range(13, 25) if shutil.which(f"ld.lld-{version}")]
"""Those that can link; a package may bring a clang as a library without its linker."""


SHIFTED = """kernel void shifted(read_only image2d_t in, write_only image2d_t out) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, p, read_imagef(in, s, p + (int2)(1, 0)));
}
"""
ADD = """#include <hip/hip_runtime.h>
__global__ void add(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __shfl_xor(in[i], 1) + sqrtf(in[i]);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", "02")
@pytest.mark.parametrize("path", [path for path in VERSIONS_HERE if path is not None])
def test_every_clang_of_the_machine(tmp_path, monkeypatch, path, level):
    monkeypatch.setenv("CLANG", path)
    recipe, numbers = Recipe("gfx90a", level), np.arange(128, dtype="f4")
    given = {"grid": 100, "work_group": 64, "args": [numbers[:100], np.zeros(100, "f4"), 99]}
    assert computed(tmp_path, COPY, recipe, "copy", **given)["out"].tolist() == [*range(1, 100), 0]
    image = np.random.default_rng(3).random((4, 8, 4)).astype("f4")
    given = {"grid": (8, 4), "work_group": (8, 1), "args": [image, "image(8x4, rgba, float)"]}
    found = computed(tmp_path, SHIFTED, recipe, "shifted", **given)["out"]
    assert (found == np.concatenate([image[:, 1:], image[:, -1:]], 1)).all()
    if find_clang().version >= 17:
        given = {"grid": 128, "work_group": 64, "args": [numbers, np.zeros(128, "f4"), 128]}
        found = computed(tmp_path, ADD, recipe, "add", name="k.hip", **given)["out"]
        assert (found == numbers.reshape(-1, 2)[:, ::-1].ravel() + np.sqrt(numbers)).all()


def test_a_library_is_for_one_clang_processor_and_set_of_options():
    """Bitcode for another processor links without a word, and computes nonsense."""
    clang = find_clang()
    names = [("gfx90a",), ("gfx90a:xnack+",), ("gfx1100",), ("gfx1100-wave64",), ("gfx1100", "-mcumode"),
             ("gfx1100", "-mcode-object-version=4"), ("gfx942",), ("gfx90a", "-DX=1", "-Wall")]  # fmt: skip
    libraries = [Library(clang, resolve(name), tuple(options)) for name, *options in names]
    for part, alike in (("groups.cl", {(0, 7)}), ("functions.cl", {(0, 1, 6, 7), (2, 3)})):
        keys = [library.key(part) for library in libraries]
        same = {tuple(index for index, key in enumerate(keys) if key == each) for each in keys}
        assert {each for each in same if len(each) > 1} == alike


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx1201", "gfx1030-wave64", "gfx942"])
def test_functions_for_alike_processors_are_those_of_each(processor, monkeypatch, tmp_path):
    body = "o[0] = sin(o[0]) + pow(o[1], 3) + tgamma(o[2]) + convert_int_sat(o[3]) + shuffle(vload4(1, o), (uint4)1).x;"
    path = source(tmp_path, f"__kernel void k(__global float *o) {{ {body} }}")
    codes = []
    for alike in (sources._ALIKE, ()):
        monkeypatch.setattr(sources, "_ALIKE", alike)
        sources._library.cache_clear()
        codes += [[compile_source(str(path), Recipe(processor, level)).code for level in "02"]]
    sources._library.cache_clear()
    assert codes[0] == codes[1]


PARTS = (
    "work_items.cl", "memory.cl", "conversions.cl", "functions.cl", "images.cl", "shuffles.cl", "rare.cl", "groups.cl",
)  # fmt: skip
ABSENT = re.compile("printf|ndrange_|.*(event|queue|marker|reserve_id)")
"""What is not in the library: what clang itself makes, queues of a device, and pipes."""


def test_functions_are_linked_only_where_some_are_missing(require_tool, monkeypatch, tmp_path):
    monkeypatch.setenv("CLANG", require_tool("clang-22", "clang"))
    linked = []
    original = Library.linked

    def link(library, parts, folder):
        linked.append(bool(parts))
        return original(library, parts, folder)

    monkeypatch.setattr(Library, "linked", link)
    alone, copy = tmp_path / "alone.cl", tmp_path / "copy.cl"
    alone.write_text("kernel void alone(global int *out) { *out = 1; }\n")
    copy.write_text(COPY)
    for path, expected in ((alone, [True, False]), (copy, [True, False, True])):
        linked.clear()
        first, second = (compile_source(str(path), Recipe(is_linked=is_linked)) for is_linked in (True, False))
        assert first.code == second.code
        assert linked == expected


LENGTHS = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KERNEL(T) kernel void of_##T(global const T *in, global T *out) { \\
  size_t i = get_global_id(0); T##3 a = vload3(i, in); T##2 b = a.xy, z = 0; T r[7]; \\
  r[0] = length(a); r[1] = length(b); r[2] = distance(b, z); vstore3(normalize(a), 1, r); r[6] = length(a.x); \\
  for (int k = 0; k < 7; k++) out[7 * i + k] = r[k]; }
KERNEL(float) KERNEL(double)
"""


@pytest.mark.parametrize("kind", ["float", "double"])
def test_lengths_neither_overflow_nor_vanish(tmp_path, kind):
    """OpenCL C 3.0, 6.15.5 "Geometric functions": "without overflow or extraordinary precision loss"."""
    dtype = np.dtype({"float": "f4", "double": "f8"}[kind])
    big, small, inf = float(np.finfo(dtype).max) / 4, float(np.finfo(dtype).tiny) * 4, math.inf
    rows = [(3, 4, 12), (big, big, -big), (small, -small, 0), (big, small, 1), (0, 0, 0), (inf, 1, -inf), (-5, 0, 0)]
    given = {"grid": len(rows), "work_group": 1, "args": [np.array(rows, dtype), np.zeros(7 * len(rows), dtype)]}
    found = computed(tmp_path, LENGTHS, Recipe(level="1"), f"of_{kind}", **given)["out"].reshape(-1, 7)
    for row, (whole, flat, apart, *unit, first) in zip(rows, found.tolist(), strict=True):
        assert whole == pytest.approx(math.hypot(*row), rel=1e-6)
        assert flat == apart == pytest.approx(math.hypot(*row[:2]), rel=1e-6)
        assert first == abs(row[0])
        ones = [math.copysign(math.isinf(each), each) for each in row] if inf in row else row
        scale = math.hypot(*ones) or 1
        assert unit == pytest.approx([each / scale for each in ones], rel=1e-6, abs=1e-40)


CALLING = {
    b"out[get_global_id(0)] = 1;": set(),
    b"out[0] = mad_sat(a, b, c);": {"functions.cl"},
    b"vstore4(convert_float4(v), 0, out);": {"memory.cl", "conversions.cl"},
    b"write_imagef(image, at, v);": {"conversions.cl", "functions.cl", "images.cl"},
    b"out[0] = shuffle2(a, b, mask);": {"shuffles.cl"},
    b"vstore_half4(v, 0, out);": {"conversions.cl", "functions.cl", "rare.cl"},
    b"out[0] = sub_group_reduce_add(1);": {"groups.cl", "scratch.c"},
}


@pytest.mark.slow
def test_only_parts_are_linked_that_a_source_calls():
    library = Library(find_clang(), resolve("gfx1100"), ())
    assert library.called(b"") == ["work_items.cl"]
    with PrivateFolder() as folder:
        library.written(PARTS, folder)
    for text, parts in CALLING.items():
        assert {*library.called(text)} == {"work_items.cl", *parts}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["CL1.2", "CL2.0"])
def test_the_library_has_what_clang_declares(require_tool, tmp_path, version):
    nm, clang = require_tool("llvm-nm-22", "llvm-nm"), find_clang()
    with PrivateFolder() as folder:
        Library(clang, resolve("gfx1100"), ()).linked(PARTS, folder)
        files = [str(folder.path / f"{part}.bc") for part in PARTS]
        words = [nm, "--defined-only", "--format=just-symbols", *files]
        has = {*subprocess.run(words, capture_output=True, check=True).stdout.decode().split()}
        headers = Path(clang.run(["-print-resource-dir"], folder)[1].strip()) / "include"
        words = ["-cc1", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", "gfx1100", f"-cl-std={version}",
                 "-ast-dump=json", "-cl-ext=-cl_khr_mipmap_image,-cl_khr_mipmap_image_writes",
                 "-internal-isystem", str(headers), "-finclude-default-header", str(source(tmp_path, ""))]  # fmt: skip
        declared = [each for each in json.loads(clang.run(words, folder)[1])["inner"] if "mangledName" in each]
    missing = {each["name"] for each in declared if each["mangledName"] not in has}
    assert (len(declared) > 11_000, {name for name in missing if not ABSENT.match(name)}) == (True, set())


DIRECTED = """
#define ONE(how, from) o += n; o[i] = convert_##how(from);
#define ALL(R, from) ONE(R##_rtz, from) ONE(R##_rtp, from) ONE(R##_rtn, from)
kernel void k(global const double *a, global const long *b, global double *o, global half *h, int n) {
  int i = get_global_id(0); double x = a[i]; long y = b[i]; ulong z = b[i]; o -= n;
  ALL(float, x) ALL(half, x) ALL(double, y) ALL(double, z) ALL(float, y) ALL(float, z) ALL(half, (int)y)
  vstorea_half3_rtp((double3)(x), 0, h + 4 * i); vstore_half_rtz(clamp(x, -3e38, 3e38), 4 * i + 3, h);
}
"""


VECTORS = """
kernel void k(global const float *a, global float *o, global int *q, global uint *u) {
  int2 t;
  float2 r = remquo((float2)(a[1], -a[1]), (float2)(3.0f, 0.7f), &t);
  o[0] = r.x; o[1] = r.y; q[0] = t.x; q[1] = t.y;
  o[2] = dot(step(0.5f, (float4)(a[0], 0.5f, 0.4f, 1)), (float4)(1, 2, 4, 8));
  o[3] = smoothstep(0.0f, 2.0f, (float3)(a[0], 1, 5)).x;
  q[2] = ilogb((float4)(a[1])).z; q[3] = ldexp((float8)(a[1]), 2).s7 == a[1] * 4;
  u[0] = as_uint(shuffle((uchar8)(0, 1, 2, 3, 4, 5, 6, 7), (uchar4)(7, 0, 9, 3)));
  u[1] = as_uint(shuffle2((uchar4)(10, 11, 12, 13), (uchar4)(20, 21, 22, 23), (uchar4)(0, 4, 7, 3)));
  u[2] = amd_bitalign(0x12345678u, 0x9abcdef0u, 8u); u[3] = amd_sad(0x01020304u, 0x04030201u, 5u);
}
"""


@pytest.mark.slow
def test_functions_of_vectors_that_few_kernels_call(tmp_path):
    args = {"a": [1.25, -7.9], "o": "zeros(4)", "q": "zeros(4)", "u": "zeros(4)"}
    found = computed(tmp_path, VECTORS, Recipe("gfx90a", "2"), "k", grid=1, work_group=1, args=args)
    assert found["o"] == pytest.approx([1.1, 0.2, 11, 0.68359375], abs=1e-6)
    assert found["q"].tolist() == [-3, 11, 2, 1]
    assert found["u"].tolist() == [0x03010007, 0x0D17140A, 0x789ABCDE, 13]


@pytest.mark.slow
def test_conversions_round_as_they_are_told(tmp_path):
    rng = np.random.default_rng(4)
    some = [0, -0.0, 1, 65504, 65519.9, 65520, 7e4, -7e4, 1e-9, 3e-8, 6.1e-5, 3.5e38, -3.5e38, 1e-46, 1 / 3, -1 / 3]
    a = np.concatenate([some, rng.standard_normal(240) * 10.0 ** rng.integers(-9, 9, 240)])
    b = np.concatenate([[0, 1, -1, 1 << 62, (1 << 63) - 1, -1 << 63], rng.integers(-1 << 63, 1 << 63, 250)])
    b = (b.astype("i8") >> rng.integers(0, 60, 256)).astype("i8")
    args = {"a": a, "b": b, "o": np.zeros((21, 256)), "h": np.zeros((256, 4), "f2"), "n": 256}
    found = computed(tmp_path, DIRECTED, Recipe("gfx1100", "2"), "k", grid=256, work_group=64, args=args)
    x, y = a.tolist(), b.tolist()
    unsigned = [each % (1 << 64) for each in y]
    low = [(each + (1 << 31)) % (1 << 32) - (1 << 31) for each in y]
    rows = [(x, "f4"), (x, "f2"), (y, "f8"), (unsigned, "f8"), (y, "f4"), (unsigned, "f4"), (low, "f2")]
    for index, row in enumerate(found["o"].reshape(21, 256)):
        numbers, kind = rows[index // 3]
        for exact, number in zip(numbers, row.astype(kind), strict=True):
            check_directed(exact, number, "zpn"[index % 3])
    for exact, (first, second, _, last) in zip(x, found["h"].reshape(256, 4), strict=True):
        check_directed(exact, first, "p")
        check_directed(min(max(exact, -3e38), 3e38), last, "z")
        assert first == second


def check_directed(exact: float, number: Any, how: str) -> None:
    is_up = how == "p" or (how == "z" and exact < 0)
    with np.errstate(over="ignore"):
        inward = float(np.nextafter(number, number.dtype.type(-np.inf if is_up else np.inf)))
    assert inward < exact <= float(number) if is_up else float(number) <= exact < inward


# --- What functions compute ---------------------------------------------------------------------------------------

ONE = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2",
       "expm1", "log", "log2", "log10", "log1p", "cbrt", "sqrt"]  # fmt: skip
TWO = ["pow", "atan2", "hypot", "fmod"]
INF, NAN = math.inf, math.nan
EDGES = [
    ("powr", 1, NAN, NAN),
    ("powr", 1, INF, NAN),
    ("powr", 0, 0, NAN),
    ("powr", INF, 0, NAN),
    ("powr", NAN, 0, NAN),
    ("powr", -0.0, 3, 0),
    ("powr", -0.0, -3, INF),
    ("powr", 2, 0, 1),
    ("powr", -1, 2, NAN),
    ("half_powr", 1, NAN, NAN),
    ("atan2", 0, -0.0, math.pi),
    ("atan2", -0.0, -0.0, -math.pi),
    ("atan2", -0.0, 1, -0.0),
    ("atan2", 1, -INF, math.pi),
    ("atan2", -INF, -INF, -0.75 * math.pi),
    ("atan2", 0, NAN, NAN),
    ("log1p", -INF, None, NAN),
    ("log1p", -1, None, -INF),
    ("log1p", INF, None, INF),
]
"""OpenCL C 3.0, 7.5.1 "Additional Requirements Beyond C99 TC2"; C99, F.9.1.4, F.9.3.9. Clang folds powr(x, 0) to 1."""


def test_mathematics_at_edges(tmp_path):
    calls = (f"{name}(a[{row}]{'' if y is None else f', b[{row}]'})" for row, (name, _x, y, _value) in enumerate(EDGES))
    text = " ".join(f"o[{row}] = {call};" for row, call in enumerate(calls))
    columns = [np.array([0 if row[column] is None else row[column] for row in EDGES], "f4") for column in (1, 2, 3)]
    args = [*columns[:2], np.zeros(len(EDGES), "f4")]
    parameters = "__global const float *a, __global const float *b, __global float *o"
    source = OF_CL.format(parameters, text)
    found = computed(tmp_path, source, Recipe(level="1"), "f", grid=1, work_group=1, args=args)["o"]
    assert np.array_equal(found, columns[2], equal_nan=True)
    assert (np.signbit(found) == np.signbit(columns[2]))[columns[2] == 0].all()


OF_CL = "__kernel void f({}) {{ int i = get_global_id(0); {} }}"
OF_HIP = """#include <hip/hip_runtime.h>
extern "C" __global__ void f({}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {} }}"""


@pytest.mark.slow
@pytest.mark.parametrize("kind, most", [("float", 0.6), ("double", 2.0)])
@pytest.mark.parametrize("file, frame, level", [("k.cl", OF_CL, "2"), ("k.hip", OF_HIP, "0"), ("k.hip", OF_HIP, "2")])
def test_mathematics(tmp_path, kind, most, file, frame, level):
    """Against the host's `long double`, whose 64 bits are 11 more than those of a double."""
    lines = [f"o[{row} * n + i] = {name}(a[i]);" for row, name in enumerate(ONE)]
    lines += [f"o[{len(ONE) + row} * n + i] = {name}(a[i], b[i]);" for row, name in enumerate(TWO)]
    space = "__global " if file == "k.cl" else ""
    parameters = f"{space}const {kind} *a, {space}const {kind} *b, {space}{kind} *o, int n"
    text = frame.format(parameters, " ".join(lines))
    rng, number = np.random.default_rng(5), {"float": np.float32, "double": np.float64}[kind]
    parts = (
        rng.uniform(-80, 80, 96),
        rng.uniform(-2, 2, 96),
        rng.uniform(-1, 1, 64) * 10.0 ** rng.integers(-20, 20, 64),
    )
    a = np.concatenate(parts).astype(number)
    b = rng.permutation(a)
    args = {"a": a, "b": b, "o": np.zeros(a.size * (len(ONE) + len(TWO)), number), "n": a.size}
    recipe = Recipe("gfx1100", level)
    found = computed(tmp_path, text, recipe, "f", name=file, grid=a.size, work_group=64, args=args)["o"]
    compared = 0
    with np.errstate(all="ignore"):
        for name, row in zip([*ONE, *TWO], found.reshape(-1, a.size), strict=True):
            function = getattr(
                np, {"atan2": "arctan2", "pow": "power"}.get(name, re.sub("^a(?=sin|cos|tan)", "arc", name))
            )
            wide = [each.astype(np.longdouble) for each in ((a, b) if name in TWO else (a,))]
            right = function(*wide)
            usual = np.isfinite(right) & (abs(right) < np.finfo(number).max) & (abs(right) > np.finfo(number).tiny)
            error = abs(row.astype(np.longdouble) - right)[usual] / np.spacing(abs(right[usual]).astype(number))
            assert error.max() <= most, (name, wide[0][usual][error.argmax()])
            assert (np.isnan(row) == np.isnan(right)).all(), name
            compared += usual.sum()
    assert compared > 4000


@pytest.mark.slow
def test_sincos_does_not_call_itself_when_clang_joins_sin_and_cos(tmp_path):
    text = "kernel void f(global double *o) { double c; float d; *o = sincos(*o, &c) + c + sincos((float)*o, &d) + d; }"
    for level in "02":
        [found] = computed(tmp_path, text, Recipe("gfx1100", level), "f", grid=1, work_group=1, args=["ones(1)"])["o"]
        assert abs(found - 2 * (math.sin(1) + math.cos(1))) < 1e-6


@pytest.mark.slow
def test_gamma_functions(tmp_path):
    """Of whole numbers and halves, whose values are factorials, and those with the root of pi."""
    root = Decimal("1.7724538509055160272981674833411451827975494561223871282138")
    right = {}
    with localcontext() as context:
        context.prec = 60
        for n in range(1, 150):
            right[float(n)] = Decimal(math.factorial(n - 1))
            right[n + 0.5] = Decimal(math.factorial(2 * n)) / (4**n * math.factorial(n)) * root
        logarithms = [each.ln() for each in right.values()]
    a = np.array([*right])
    text = "kernel void f(global const double *a, global double *o, int n) { int i = get_global_id(0); "
    args = {"a": a, "o": np.zeros(2 * a.size), "n": a.size}
    text += "o[i] = tgamma(a[i]); o[n + i] = lgamma(a[i]); }"
    found = computed(tmp_path, text, Recipe("gfx90a", "2"), "f", grid=a.size, work_group=64, args=args)["o"]
    for number, exact in zip(found.tolist(), [*right.values(), *logarithms], strict=True):
        assert abs(Decimal(number) - exact) <= 2 * Decimal(float(np.spacing(abs(float(exact)))))


EXACT = [
    ("lgamma(x)", -2.4570247382208006, "5.61919235895009645091256851695e-17"),
    ("lgamma(x)", -2.505219560573657, "-0.0618717580942018848807979500936"),
    ("lgamma(x)", -2.7476826467274127, "1.73350924402450086109664880252e-16"),
    ("lgamma(x)", -3.14358088834998, "1.69786559061210843022272847964e-15"),
    ("lgamma(x)", -3.5, "-1.30900668499304204636071515208"),
    ("lgamma(x)", -4.991544640560048, "1.76836193508496134514687044485e-14"),
    ("lgamma(x)", -9.000002755714823, "3.44426332839150908016964631289e-11"),
    ("lgamma(x)", -14.999999999999236, "0.00115525491091416550634620392019"),
    ("lgamma(x)", -16.999999999999996, "-0.234008783259503862917452712375"),
    ("lgamma(x)", -30.25, "-74.0223974503554774640427103503"),
    ("lgamma(x)", -41.3, "-113.79634350730475243321086259"),
    ("lgamma(x)", 1.0004669381806794, "-0.000269344749681220562893539249126"),
    ("pow(x, -777.4161956988474)", 1.3962696680900741, "1.98845338819297598424698375292e-113"),
    ("rootn(x, 3)", 1e300, "1.00000000000000001750158675173e+100"),
    ("rootn(x, -7)", -1e300, "-1.38949549437313762670782410196e-43"),
    ("asinpi(x)", -0.5472196960168694, "-0.184313782191457550506668915405"),
    ("acospi(x)", 0.8319734992014687, "0.187211105457850796652504179365"),
    ("expm1(x)", 0.3885015214384562, "0.474769227233630912299938268086"),
    ("tanh(x)", 0.19464566529227856, "0.192224179856521772870221031924"),
]
"""Where a function is near zero or very steep, as mpmath 1.4 computes it with 300 bits."""


@pytest.mark.slow
def test_functions_where_they_are_near_zero_or_steep(tmp_path):
    lines = " ".join(f"x = a[{row}]; o[{row}] = {call};" for row, (call, *_) in enumerate(EXACT))
    text = f"kernel void f(global const double *a, global double *o) {{ double x; {lines} }}"
    args = {"a": np.array([number for _, number, _ in EXACT]), "o": np.zeros(len(EXACT))}
    found = computed(tmp_path, text, Recipe("gfx90a", "2"), "f", grid=1, work_group=1, args=args)["o"]
    for number, (call, place, right) in zip(found.tolist(), EXACT, strict=True):
        assert abs(Decimal(number) - Decimal(right)) <= 2 * Decimal(float(np.spacing(abs(float(right))))), (call, place)


INTEGERS = """
__kernel void f(__global const uint *a, __global const uint *b, __global ulong *o, int n) {
  int i = get_global_id(0); uint x = a[i], y = b[i]; int s = (int)x, t = (int)y;
  o[i] = mul_hi(x, y); o[n + i] = (uint)add_sat(s, t); o[2 * n + i] = rotate(x, y); o[3 * n + i] = popcount(x);
  o[4 * n + i] = clz(x); o[5 * n + i] = hadd(x, y); o[6 * n + i] = abs_diff(x, y); o[7 * n + i] = convert_uchar_sat(s);
  o[8 * n + i] = (uint)mul24(s, t); o[9 * n + i] = (uint)sub_sat(s, t); o[10 * n + i] = bitselect(x, y, x ^ y);
  uint4 v = vload4(i / 4, a); o[11 * n + i] = v.w;
}
"""


@pytest.mark.slow
def test_integers_and_copies(tmp_path):
    rng, most = np.random.default_rng(3), 1 << 32
    a = np.concatenate([[0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFF, 255, 256], rng.integers(0, most, 56)])
    b = rng.permutation(a)
    args = {"a": a.astype("u4"), "b": b.astype("u4"), "o": np.zeros(12 * 64, "u8"), "n": 64}
    found = computed(tmp_path, INTEGERS, Recipe("gfx1100"), "f", grid=64, work_group=64, args=args)["o"].reshape(12, 64)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        s, t = (each - most * (each >> 31) for each in (x, y))
        short = [(each & 0xFFFFFF) - (1 << 24) * (each >> 23 & 1) for each in (x, y)]
        low, high = -(1 << 31), (1 << 31) - 1
        turn = y % 32
        assert found[:, i].tolist() == [
            x * y >> 32, min(max(s + t, low), high) % most, (x << turn | x >> (32 - turn)) % most, x.bit_count(),
            32 - x.bit_length(), x + y >> 1, abs(x - y), min(max(s, 0), 255), short[0] * short[1] % most,
            min(max(s - t, low), high) % most, x & ~(x ^ y) | y & (x ^ y), a[i // 4 * 4 + 3],
        ]  # fmt: skip


INCLUDED = "#include <hip/hip_runtime.h>\n"


@pytest.mark.parametrize("name, text", [
    ("k.cl", "kernel void add(global int *in, global int *out, int n) {\n  int i = get_global_id(0);\n"),
    ("k.hip", INCLUDED + "__global__ void add(int *in, int *out, int n) {\n  int i = threadIdx.x;\n"),
])  # fmt: skip
@pytest.mark.sampled(4)
def test_a_snapshot_is_of_the_code_that_its_source_compiles_to_again(require_tool, tmp_path, name, text):
    require_tool("clang-22")
    path, state = source(tmp_path, text + "  out[i] = in[i + n];\n}\n", name), tmp_path / "state.json"
    words = "add", "--grid=64", "--work-group=64", "arange(64)", "zeros(64)", "1", f"--state={state}"
    assert run("run", path, *words).returncode == 1
    assert "in[i + n]" in run("fault", state, path).stdout
    assert "#0 " in run("debug", path, "--state", state, "-batch", "-ex", "bt").stdout


def test_checks_that_find_nothing_say_what_they_cannot_find(tmp_path):
    """Compilers drop the barriers of a group that is one wave, and choose what an undefined value is."""
    head = "kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k(global int *o) {\n  local int t[32];\n"
    text = f"{head}  int i = get_local_id(0), x;\n  if (o[i] > 7)\n"
    path = source(tmp_path, f"{text}    x = 3;\n  t[i] = i;\n  o[i] = t[31 - i] + x;\n}}\n")
    words = ["k", "--grid", "32", "--work-group", "32", "zeros(32)", "--check"]
    optimized = run("run", str(path), "-O2", *words)
    assert "error summary: 0 errors" in optimized.stdout
    assert "hint: a work-group is one wave here, so the code has no barriers: a missing one" in optimized.stderr
    assert "hint: the code is optimized: the compiler may have removed uninitialized values" in optimized.stderr
    assert "error summary: 1 error" in run("run", str(path), *words).stdout


def test_a_clang_that_crashes_is_one_sentence_and_what_it_wrote_is_kept(tmp_path):
    path = source(tmp_path, "kernel void k(global int *o) {\n#pragma clang __debug crash\n}")
    with pytest.raises(NotCompiled, match=r"clang \d+ \(.*\) has crashed: .*k\.cl") as raised:
        compile_source(str(path))
    kept = re.match(r"(\S+) has the command and its output; another level", raised.value.hint or "")
    assert kept is not None
    assert f" {path}\n" in Path(kept[1]).read_text("utf-8")
    assert "Stack dump:" in Path(kept[1]).read_text("utf-8")
    assert raised.value.messages == ""


def test_names_of_hip_without_its_header(tmp_path):
    path = source(tmp_path, "__global__ void k(float *o) { o[threadIdx.x] = 1; }", "k.hip")
    with pytest.raises(NotCompiled) as raised:
        compile_source(str(path))
    assert raised.value.hint == "the names of HIP need #include <hip/hip_runtime.h> at the top of the file"


def test_generic_pointers_are_told_apart(tmp_path):
    """OpenCL C 3.0, 6.15.11: the functions return null where the address is in other memory."""
    path = tmp_path / "apart.cl"
    path.write_text(
        "kernel void apart(global int *out, local int *tmp) {\n  size_t g = get_global_id(0);\n  int own = 3;\n"
        "  int *p = g % 3 == 0 ? (int *)out : g % 3 == 1 ? (int *)tmp : &own;\n"
        "  out[g] = (to_global(p) != 0) + 2 * (to_local(p) != 0) + 4 * (to_private(p) != 0);\n}\n"
    )
    done = run("run", str(path), "apart", "--grid=6", "--work-group=6", "out=zeros(6)", "tmp=64", "--print=out")
    assert "out = {1, 2, 4, 1, 2, 4}" in done.stdout
