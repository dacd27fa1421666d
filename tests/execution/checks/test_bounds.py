"""Accesses outside of the memory that their pointer came from, misaligned ones: kernels with a fault, and mended."""

import re
import subprocess
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.cli import main
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.checks import provenance as p
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.isa.tables import table
from tests.builders.commands import run
from tests.builders.parameters import few_or_all, some_of
from tests.execution.checks.pair_builds import pair_build

HERE = Path(__file__).parent
BOUNDS, ALIGN = "bounds", "align"
LINES = {check: (HERE / f"{check}.cl").read_text("utf-8").split("\n") for check in (BOUNDS, ALIGN)}
KERNELS = {
    check: [match[1] for line in lines if (match := re.match(r"kernel void (\w+)\(", line))]
    for check, lines in LINES.items()
}
TARGETS = "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1100-64", "gfx1200"
BUILDS = [(target, level) for level in ("O0", "O1", "O2") for target in TARGETS]
SIZES = {"bytes_past": "u1", "shorts_past": "u2", "longs_past": "i8"}
"""The types of numbers, where they are not int."""
LOCAL_ARGUMENTS = {"local_argument": 1, "local_next_argument": 2}
"""How many arguments are 256 bytes of local memory."""
ACTIONS = dict.fromkeys(
    ("add_past", "add_to_const", "add_int", "add_long", "local_add", "local_count"), f.ATOMIC) | dict.fromkeys(
    ("write_past", "write_far", "one_more", "shorts_past", "vector_past", "indirect", "record_past", "in_function",
     "local_write", "local_argument", "local_previous", "local_records", "through_const", "write_int", "write_short",
     "write_int2", "local_int"), f.WRITE)  # fmt: skip
"""What the wrong access does; the others read."""
REACHES = {
    "read_past": ("in[128]", "0 to 252 bytes past the end of `in` (argument 1, 512 bytes)"),
    "read_before": ("in[-8]", "4 to 32 bytes before the start of `in` (argument 1, 512 bytes)"),
    "write_far": ("in[256]", "512 to 1020 bytes past the end of `in` (argument 1, 512 bytes)"),
    "bytes_past": ("in[128]", "just past the end of `in` (argument 1, 128 bytes)"),
    "record_past": ("out[32].values[2]", "12 bytes past the end of `out` (argument 0, 512 bytes)"),
    "through_const": ("in[0]", "`in` (argument 1, 512 bytes) is read-only"),
    "read_int": ("bytes[1]", "1 byte past a multiple of 4, which int needs"),
    "add_long": ("bytes[4]", "4 bytes past a multiple of 8, which an atomic operation needs"),
    "records": ("bytes[6]", "2 bytes past a multiple of 4, which Record.number needs"),
    "local_past": ("tile[64]", "0 to 252 bytes past the end of `tile` (local memory, 256 bytes)"),
    "local_next": ("left[64]", "just past the end of `left` (local memory, 256 bytes)"),
    "local_previous": ("right[-8]", "4 to 32 bytes before the start of `right` (local memory, 256 bytes)"),
    "local_records": ("rows[32].values[1]", "8 bytes past the end of `rows` (local memory, 512 bytes)"),
    "local_next_argument": ("two[-4]", "4 to 16 bytes before the start of `two` (local memory, 256 bytes)"),
    "local_count": ("counts[4]", "0 to 12 bytes past the end of `counts` (local memory, 16 bytes)"),
    "private_neighbour": ("each[4]", "0 to 12 bytes past the end of `each` (private memory, 16 bytes)"),
}  # fmt: skip
"""By kernel, the element and how far outside it is; where lanes differ, of all of them."""


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    compiled = cache(partial(pair_build, require_tool("clang-22"), tmp_path_factory.mktemp("bounds")))
    return lambda check, *build: compiled(f"{check}.cl", *build)


def arguments(kernel):
    """The arguments of a kernel."""
    kind = f", {SIZES[kernel]}" if kernel in SIZES else ""
    args = [f"zeros(128{kind})", f"arange(128{kind})"]
    if kernel == "record_past":
        args[0] = "zeros(32)"
    elif kernel in LOCAL_ARGUMENTS:
        args += [256] * LOCAL_ARGUMENTS[kernel]
    elif kernel == "vector_or_four":
        args[1] = "arange(256)"
    elif kernel in KERNELS[ALIGN]:
        args[1] = "arange(2048)"
    return args


def found(path, kernel, check=BOUNDS, padding=0, **options):
    """What is found in a run. Without padding the buffers touch each other, so no access is a fault of the machine."""
    args = arguments(kernel)
    machine = machine_for(path, kernel)
    settings = {"grid": 128, "work_group": 64} | options
    running = Running(launch(machine, path, kernel, args=args, check=check, padding=padding, **settings))
    halt = running.run(limit=500_000)
    assert halt.has_ended or halt.kind == "fault", halt
    return check_report(running).findings


def line_of(kernel):
    """The line of the wrong access."""
    start = "void fill(" if kernel == "in_function" else f"kernel void {kernel}("
    lines = LINES[BOUNDS if kernel in KERNELS[BOUNDS] else ALIGN]
    first = next(number for number, line in enumerate(lines) if line.startswith(start))
    return next(number for number, line in enumerate(lines[first:], first + 1) if line.endswith("//"))


def kind_of(kernel):
    """The kind of the fault."""
    kinds = f.FORBIDDEN if "const" in kernel and "table" not in kernel else f.INVALID
    return (kinds if kernel in KERNELS[BOUNDS] else f.MISALIGNED)[ACTIONS.get(kernel, f.READ)]


def problems(built, check, target, level, padding=0, every=1):
    """What is wrong with what is found of one build."""
    for kernel in [*KERNELS[check]][::every]:
        rows = found(built(check, target, level), kernel, check, padding)
        kinds, lines = {row.kind for row in rows}, {row.sides[0].position.line for row in rows}
        if kinds != {kind_of(kernel)} or lines != {line_of(kernel)}:
            yield kernel, kinds, lines, line_of(kernel)
        if rows and kernel in REACHES and padding == 0 and (rows[0].variable, rows[0].reach) != REACHES[kernel]:
            yield kernel, rows[0].variable, rows[0].reach
        mended = found(built(check, target, level, "-DMENDED"), kernel, "align,bounds", padding)
        yield from (("mended", kernel, row.kind, row.reach) for row in mended)


@few_or_all(8)
@pytest.mark.parametrize("check", [BOUNDS, ALIGN])
def test_each_fault_is_found_and_nothing_else(built, check, every):
    assert [*problems(built, check, "gfx1100", "O2", every=every)] == []


@pytest.mark.slow
@pytest.mark.parametrize("check", [BOUNDS, ALIGN])
def test_the_same_on_other_processors(built, check):
    others = [*some_of(BUILDS[::-1], 4), ("gfx90a", "O0"), ("gfx1200", "O0")]
    assert {build: rows for build in others if (rows := [*problems(built, check, *build)])} == {}
    assert [*problems(built, check, "gfx90a", "O2", padding=1 << 16)] == []


SAME_WORDS = {BOUNDS: ("Invalid ", "exceeds static array size"), ALIGN: ("not aligned to",)}


@pytest.mark.slow
@pytest.mark.parametrize("mended", [False, True])
def test_oclgrind_says_the_same_of_the_same_source(require_tool, tmp_path, mended):
    oclgrind, differing = require_tool("oclgrind-kernel"), []
    for check, kernel in ((check, kernel) for check, kernels in KERNELS.items() for kernel in kernels):
        size = {"u1": 1, "u2": 2, "i8": 8}.get(SIZES.get(kernel, ""), 4)
        name = {1: "uchar", 2: "ushort", 4: "int", 8: "long"}[size]
        more = "<size=256>\n" * LOCAL_ARGUMENTS.get(kernel, 0)
        zeros, numbers = f"<size={128 * size} fill=0 {name}>", f"<size={128 * size} range=0:1:127 {name}>"
        if check == ALIGN:
            zeros = "<size=1024 fill=0 int>"
            numbers = f"<size=2048 uchar>\n{' '.join(str(number & 255) for number in range(2048))}"
        sim = tmp_path / f"{kernel}.sim"
        sim.write_text(f"{HERE / check}.cl\n{kernel}\n128 1 1\n64 1 1\n{zeros}\n{numbers}\n{more}")
        words = [oclgrind, "--build-options", "-DHOST" + " -DMENDED" * mended, str(sim)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        text = done.stdout + done.stderr
        assert "rror" not in text.partition("Invalid")[0], (kernel, text)
        if any(word in text for word in SAME_WORDS[check]) == mended:
            differing.append(kernel)
    # A cast removes const, so it has no opinion on such writes; it looks at the alignment of loads and stores alone
    without = ["through_const", "add_to_const", "add_int", "add_long", "local_add"]
    assert differing == ([] if mended else without)


COUNTS = """kernel void counts(global const int *keys, global int *bins, int n) {
  int own[4] = {0, 0, 0, 0};
  for (int j = get_global_id(0); j < n; j += 64)
    own[(keys[j] & 3) - PAST]++;
  for (int k = 0; k < 4; k++)
    bins[4 * get_global_id(0) + k] = own[k];
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.sampled(4)
def test_a_line_reaches_other_variables_than_its_array(require_tool, tmp_path, target):
    """Unoptimized code reads `keys`, `bins` and `j` in private memory, too, where addresses are spilled."""
    require_tool("clang-22")
    for past in (0, 20):
        source = tmp_path / f"{past}.cl"
        source.write_text(COUNTS.replace("PAST", str(past)))
        machine = machine_for(f"{source}@{target}", "counts")
        args = ["random(999, i4)", "zeros(256)", 999]
        running = Running(
            launch(machine, f"{source}@{target}", "counts", grid=64, work_group=64, args=args, check="bounds")
        )
        running.run()
        names = {row.variable for row in check_report(running).findings}
        assert bool(names) == (past > 0)
        assert names <= {None, *(f"own[{key - past}]" for key in range(4))}


HIP = """#include <hip/hip_runtime.h>
struct Row { float *start; int count; };
__global__ void filled(float *one, float *other) {
  one[threadIdx.x] = other[threadIdx.x] = 1;
}
__global__ void scaled(Row from, Row to, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < from.count)
    to.start[i] = from.start[i] * factor;
}
"""


def test_a_pointer_that_was_preloaded_is_followed(require_tool, tmp_path):
    """Of gfx942, whose waves may begin with arguments in registers; the buffers are side by side."""
    require_tool("clang-22")
    source = "dwarfgpu/examples/smooth.cl"
    options = "--target", "gfx942", "-O2", "-o", tmp_path / "k.co", "--", "-mllvm", "-amdgpu-kernarg-preload-count=4"
    assert run("compile", source, *options).returncode == 0
    launch = tmp_path / "k.co", "smooth", "--grid", 64, "--work-group", 64, "in=ones(64)", "out=zeros(64)"
    done = run("run", *launch, "--padding", 0, "--check=bounds")
    assert "invalid read: `in[64]`, 4 bytes" in done.stdout
    assert "just past the end of `in` (argument 0, 256 bytes)" in done.stdout


@pytest.mark.parametrize("count", [64, 65])
def test_a_pointer_in_a_structure_is_followed_from_an_earlier_launch(require_tool, tmp_path, count):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(HIP)
    file = dg.open(str(tmp_path / "k.hip")).file
    machine = machine_for(file, "filled")
    words = {"work_group": 64, "padding": 0}
    first = launch(machine, file, "filled", grid=64, args=["zeros(64, f4)", "zeros(64, f4)"], **words)
    Running(first).run()
    rows = [{"start": address, "count": count} for address in first.addresses.values()]
    running = Running(launch(machine, file, "scaled", grid=128, args=[*rows, 2.0], check="bounds", **words))
    running.run()
    reaches = [(row.kind, row.reach) for row in running.findings]
    assert reaches == ([] if count == 64 else [
        ("invalid read", "just past the end of `one` (256 bytes)"),
        ("invalid write", "just past the end of `other` (256 bytes)")])  # fmt: skip


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("kernel, bits", [("loaded", 32), ("stored", 32), ("half_loaded", 16)])
@pytest.mark.sampled(6)
def test_elements_of_a_buffer_with_a_format_are_checked(require_tool, tmp_path, processor, kernel, bits):
    path = str(tmp_path / "k.co")
    words = [require_tool("clang-22"), "-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-O2", "-g"]
    subprocess.run([*words, "-w", "-nogpulib", str(HERE / "formats.cl"), "-o", path], check=True)
    name = f"BUF_FMT_{bits}_UINT"
    number = next((each for each, text in table("gfx1100", 32).names["format"].items() if text == name), 0)
    form = 4 << 12 | bits // 8 << 15 if processor == "gfx90a" else number << 12 | 3 << 28  # integers, by bytes
    kind, does = (f.WRITE, "write") if kernel == "stored" else (f.READ, "read")

    def found(shift, array, check):
        args = ["zeros(64)", array, form | 0xFAC, shift]
        running = Running(launch(machine_for(path, kernel), path, kernel, grid=64, work_group=64, args=args,
                                 padding=0, check=check))  # fmt: skip
        running.run()
        return [(row.kind, row.count) for row in running.findings]

    assert found(0, "arange(128)", "all") == []
    misaligned = [] if processor == "gfx90a" else [(f.MISALIGNED[kind], 64)]  # the documents of GFX9 do not ask for it
    assert found(1, "arange(128)", "align") == misaligned
    assert found(2, "arange(128)", "align") == (misaligned if bits == 32 else [])
    assert found(64, "arange(64)", "bounds") == [(f"invalid {does}", 16)]
    assert found(0, "noinit(128)", "init") == [(f.UNDEFINED_STORE, 64)]


ALIGNED = """#include <hip/hip_runtime.h>
struct Record { short tag; int number; };
__global__ void read_int(const char *bytes, int *out) {
  out[threadIdx.x] = *(const int *)(bytes + 4 * threadIdx.x + SHIFT); //
}
__global__ void add_int(char *bytes, int *out) {
  atomicAdd((int *)(bytes + 8 * threadIdx.x + SHIFT), 1); //
}
__global__ void member(const char *bytes, int *out) {
  const Record *from = (const Record *)(bytes + SHIFT);
  out[threadIdx.x] = from[threadIdx.x].number; //
}
"""


@pytest.mark.parametrize("target", ["gfx1100", pytest.param("gfx90a", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernel", ["read_int", "add_int", "member"])
@pytest.mark.sampled(6)
def test_misaligned_accesses_of_hip_are_found_and_aligned_ones_are_not(require_tool, tmp_path, kernel, target):
    require_tool("clang-22")
    for shift in (0, 2):
        source = tmp_path / f"k{shift}.hip"
        source.write_text(ALIGNED.replace("SHIFT", str(shift)))
        file = dg.open(f"{source}@{target}").file
        machine, args = machine_for(file, kernel), ["arange(1024, u1)", "zeros(64)"]
        running = Running(launch(machine, file, kernel, grid=64, work_group=64, args=args, check="align"))
        running.run()
        lines = [number for number, line in enumerate(ALIGNED.split("\n"), 1) if line.endswith("//")]
        line = lines[["read_int", "add_int", "member"].index(kernel)]
        found = [(row.kind.partition(" ")[0], row.sides[0].position.line) for row in running.findings]
        assert found == ([("misaligned", line)] if shift else [])


READ_TOGETHER = """#include <hip/hip_runtime.h>
struct Rows { const int *start; int count; };
struct Both { Rows rows; };
__device__ int length(const Rows &rows, int row) { return rows.start[row + 1] - rows.start[row]; }
__global__ void lengths(Rows rows, int *out) { out[threadIdx.x] = length(rows, threadIdx.x) + rows.count; }
__global__ void inner(Both both, int *out) {
  int i = threadIdx.x;
  out[i] = both.rows.start[i + 1] - both.rows.start[i];
}
"""
"""Clang reads two elements at once, where the line also names the pointer that leads to them."""


@pytest.mark.parametrize("kernel", ["lengths", "inner"])
def test_neighbours_that_clang_reads_at_once_are_aligned_as_one(require_tool, tmp_path, kernel):
    require_tool("clang-22")
    path, code = tmp_path / "k.hip", tmp_path / "k.co"
    path.write_text(READ_TOGETHER)
    assert run("compile", path, "-o", code, "-O2").returncode == 0
    file = dg.open(code).file
    rows = {"start": "arange(20)", "count": 16}
    args = [{"rows": rows} if kernel == "inner" else rows, "zeros(16)"]
    running = Running(launch(machine_for(file, kernel), file, kernel, grid=16, work_group=16, args=args, check="align"))
    running.run()
    assert not running.findings
    assert running.launched.buffers["out"].tolist() == [1 if kernel == "inner" else 17] * 16


ALIGNED_BY_CLANG = """
kernel void copies(global int *out, global const int *in, local int *rows) {
  event_t done[2];
  done[0] = async_work_group_copy(rows, in, 1, 0);
  done[1] = async_work_group_copy(rows + 1, in + 1, 3, 0);
  wait_group_events(2, done);
  out[get_local_id(0)] = rows[get_local_id(0)];
}
struct __attribute__((packed)) Foo { char tag; int number; };
kernel void member(global int *out, struct Foo from) { *out = from.number; }
"""
"""Registers of 64 bits that are saved at a multiple of 4, and a member of a packed variable beside a pointer."""


@pytest.mark.parametrize("level", ["0", "2"])
def test_what_clang_aligns_itself_is_not_misaligned(require_tool, tmp_path, level):
    require_tool("clang-22")
    path, code = tmp_path / "k.cl", tmp_path / f"k{level}.co"
    path.write_text(ALIGNED_BY_CLANG)
    assert run("compile", path, "-o", code, f"-O{level}").returncode == 0
    file = dg.open(code).file
    for kernel, args, out in (
        ("copies", ["zeros(4)", "arange(4)", 16], [0, 1, 2, 3]),
        ("member", ["zeros(4)", bytes((9, 1, 2, 3, 4))], [0x04030201, 0, 0, 0]),
    ):
        done = launch(machine_for(file, kernel), file, kernel, grid=4, work_group=4, args=args, check="align,bounds")
        running = Running(done)
        running.run()
        assert running.findings == ()
        assert done.buffers["out"].tolist() == out


TRITON = "fixtures/llvm24/triton.{}.co"
SCALED = {"x_ptr": "arange(1024)", "y_ptr": "ones(1024)", "out_ptr": "zeros(1024)", "n": 1024, "scale": 2}
OTHERS = {  # by check, what the kernel is given, and what is found then
    "bounds": ({"out_ptr": "zeros(1000)"}, f.INVALID[f.WRITE]), "init": ({"x_ptr": "noinit(1024)"}, f.UNDEFINED_STORE),
    "race": ({"out_ptr": "zeros(1024)"}, None), "wait": ({}, None), "barrier": ({}, None), "align": ({}, None),
}  # fmt: skip


@pytest.mark.parametrize("target", ["gfx942.w64", "gfx1100.w32"])
@pytest.mark.parametrize("check", OTHERS)
def test_a_kernel_of_triton_is_checked_as_others(target, check):
    path, (changed, kind) = TRITON.format(target), OTHERS[check]
    for args, kinds in ((SCALED, set()), (SCALED | changed, {kind} - {None})):
        machine = machine_for(path, "add_scaled")
        size = 256 if "gfx9" in target else 128
        words = {"grid": 4 * size, "work_group": size, "padding": 0, "check": check if kinds else "all"}
        running = Running(launch(machine, path, "add_scaled", args=args, **words))
        running.run()
        assert {row.kind for row in running.findings} == kinds


def test_waves_of_a_debugger_stop_where_something_is_found(require_tool):
    require_tool("clang-22")
    launched = "target launch -padding 0 smooth 64 64 ones(64) zeros(64)"
    steps = ["set check bounds", launched, "continue", "info line", "continue"]
    path = str(Path(dg.__file__).parent / "examples" / "smooth.cl")
    done = run("debug", path, *(word for step in steps for word in ("-ex", step)))
    assert "error: invalid read: `in[64]`, 4 bytes at" in done.stdout
    assert "  just past the end of `in` (argument 0, 256 bytes)\n" in done.stdout
    assert "Line 3 of" in done.stdout
    assert "exited normally" in done.stdout
    assert "no check 'limits'" in run("debug", "-ex", "set check limits").stderr


def test_sums_and_differences_of_pointers_are_what_they_should_be():
    mixed = np.array([[1, 0, 2, -1]], np.int16)
    assert [p.plus(None, 3), p.plus(3, None), p.plus(3, 4), p.plus(3, 3), p.plus(None, None)] == [3, 3, -1, -1, None]
    assert [p.minus(3, None), p.minus(3, 3), p.minus(None, 3), p.minus(3, 4), p.minus(-1, -1)] == [3, None, -1, -1, -1]
    assert p.plus(mixed, 1).tolist() == [[-1, 1, -1, -1]]
    assert p.minus(mixed, 1).tolist() == [[0, -1, -1, -1]]
    assert p.put(np.array([[True, False]]), 5, None).tolist() == [[5, 0]]
    assert [p.other(None), p.other(None, 2), p.same(2, 2), p.masked(4, 0xFFFFFFF0)] == [None, -1, 2, 4]
    assert [p.same(None, 2), p.same(2, 3), p.same(None, None)] == [-1, -1, None]
    assert [p.masked(4, 15), p.masked(4, 0), p.shifted(32, 4, 9, 4), p.shifted(4, 4, 9, 4)] == [-1, None, 4, -1]


@pytest.mark.parametrize(
    "option, kind, line",
    [
        ("--read-only=out", f.FORBIDDEN[f.WRITE], "out"),
        ("--write-only=in", f.FORBIDDEN[f.READ], "in"),
        (None, None, ""),
    ],
)
def test_buffers_that_an_option_closes(built, capsys, option, kind, line):
    words = "run", built(BOUNDS, "gfx1100", "O2", "-DMENDED"), "read_past", "zeros(128)", "arange(128)"
    options = "--grid=128", "--work-group=64", "--check=bounds", *([] if option is None else [option])
    assert main([*words, *options]) == (option is not None)
    text, hints = capsys.readouterr()
    assert (kind is None) == ("error: " not in text)
    if kind is not None:
        access = option[2:].partition("=")[0]
        assert f"error: {kind}: `{line}[0]`" in " ".join(text.split())
        assert f"is {access}" in text
        assert f" --check=bounds {option} " in hints


def test_an_option_names_a_buffer_of_the_kernel(built, capsys):
    words = "run", built(BOUNDS, "gfx1100", "O2", "-DMENDED"), "read_past", "--grid=128", "--work-group=64", "--check"
    assert main([*words, "zeros(128)", "arange(128)", "--read-only=inn"]) == 2
    assert "read_past has no buffer 'inn'" in capsys.readouterr().err


def test_an_address_without_memory_is_found(built):
    """An argument still has the address of a buffer of another machine, which this one does not have."""
    path = built(BOUNDS, "gfx1100", "O2", "-DMENDED")
    machine, words = machine_for(path, "read_past"), {"grid": 128, "work_group": 64}
    first = launch(machine, path, "read_past", args=["zeros(128)", "arange(128)"], **words)
    Running(first).run()
    address, other = first.addresses["in"], machine_for(path, "read_past")
    second = launch(other, path, "read_past", args=["zeros(128)", address], check=BOUNDS, **words)
    running = Running(second)
    assert running.run().kind == "fault"
    (row,) = running.findings
    assert (row.kind, row.address, row.sides[0].position.line) == (f.INVALID[f.READ], address, line_of("read_past"))


FREED = """kernel void keep(global ulong *table, global int *old) {
  table[get_global_id(0)] = (ulong)(old + get_global_id(0));
}
kernel void through(global ulong *table, global int *out) {
  global int *from = (global int *)table[get_global_id(0)];
  out[get_global_id(0)] = *from;
}
kernel void direct(global int *in, global int *out) {
  out[get_global_id(0)] = in[get_global_id(0)];
}
"""


@pytest.mark.parametrize("target", ["gfx1100", pytest.param("gfx90a", marks=pytest.mark.slow)])
@pytest.mark.parametrize("jit", ["off", "on"])
def test_a_buffer_that_was_freed_is_named(require_tool, tmp_path, target, jit):
    """A later launch has its address as an argument, or finds it in memory."""
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(FREED)
    file = dg.open(f"{tmp_path / 'k.cl'}@{target}").file
    for kernel, buffer, name, number in (("through", "table", None, ""), ("direct", "old", "in[0]", "argument 0, ")):
        machine = machine_for(file, "keep")
        machine.jit = jit
        words = {"grid": 64, "work_group": 64}
        first = launch(machine, file, "keep", args=["zeros(64, u8)", "arange(64)"], **words)
        assert machine.run().has_ended
        args = [first.addresses[buffer], "zeros(64)"]
        again = launch(machine, file, kernel, args=args, check=BOUNDS, **words)
        with pytest.raises(dg.DwarfGpuError, match="have not ended"):
            machine.free(first.addresses["old"])
        running = Running(again)
        assert running.run().has_ended
        assert not running.findings
        machine.free(first.addresses["old"])
        assert list(first.buffers) == ["table"]
        halt = (launch(machine, file, kernel, args=args, **words), machine.run())[1]
        assert "(in `old`, which had 256 bytes and was freed)" in str(halt)
        running = Running(launch(machine, file, kernel, args=args, check=BOUNDS, **words))
        running.run()
        (row,) = running.findings
        assert (row.kind, row.variable, row.count) == (f.INVALID[f.READ], name, 64)
        assert row.reach == f"`old` ({number}256 bytes) was freed"
    for address, message in ((first.addresses["old"], "was freed before"), (1, "no buffer begins at 0x1")):
        with pytest.raises(dg.DwarfGpuError, match=message):
            machine.free(address)


def test_a_misaligned_access_of_private_memory_names_the_element(built):
    (row,) = found(built("align", "gfx1100", "O0"), "private_int", "align")
    assert (row.space, row.variable, row.sides[0].position.line) == ("private", "each[13]", line_of("private_int"))


def test_the_value_is_that_of_the_element(require_tool, tmp_path):
    """The first lane does not access the lowest address."""
    require_tool("clang-22")
    source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
    source.write_text(
        "kernel void k(global int *in, global int *out) { int i = get_local_id(0); out[i] = in[95 - i]; }"
    )
    assert main(["compile", str(source), "--target=gfx1100", "-O2", "-o", path]) == 0
    args, sizes = ["arange(64)", "arange(64)"], {"grid": 64, "work_group": 64}
    running = Running(launch(machine_for(path, "k"), path, "k", **sizes, args=args, check=BOUNDS, padding=0))
    assert running.run().has_ended
    (row,) = check_report(running).findings
    assert (row.variable, row.sides[0].side.item, row.sides[0].value) == ("in[95]", (0, 0, 0), 31)
    assert row.reach == "0 to 124 bytes past the end of `in` (argument 0, 256 bytes)"
