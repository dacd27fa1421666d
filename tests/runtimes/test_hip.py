"""Whole HIP programs: what right ones print, and what is said of wrong ones."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders.folders import ROOT
from tests.builders.forked_commands import forked
from tests.builders.kept import content_of, kept

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = Path(__file__).with_name("programs")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="`exec` needs Linux"),
    pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed"),
]

RIGHT = """\
scaled 7 7 1
mixed 32 2
block 0 of 1, text
variables 45 6 8
reversed 63 0
threads 2560, mapped 7
by address 2566, calls 1, set -1
dwarfgpu 32 gfx1100 hipErrorNotReady
child: hipErrorNoDevice
"""
ORDER = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void last(int *out) { *out = blockIdx.x; }
int main(int count, char **) {
  int *out, host;
  (void)hipMalloc(&out, 4);
  last<<<count > 1 ? 1 : 8, 64>>>(out);
  (void)hipMemcpy(&host, out, 4, hipMemcpyDeviceToHost);
  printf("first\\nlast %d\\n", host);
  (void)hipFree(out);
}
"""
WRONG = {
    "beyond": (
        "MEMORY_VIOLATION",
        "just past the end of `out`, which has 256 bytes",
        "`cells` from wrong.hip:16: 256 bytes",
    ),
    "trap": ("ASSERT_TRAP", "launched at wrong.hip:21 in main"),
    "host-pointer": ("is memory of the host, [stack]: kernels cannot access it", "launched at wrong.hip:22 in main"),
    "freed": ("in `other` from wrong.hip:17, which had 256 bytes and was freed",),
    "copy": (
        "the source of a copy goes beyond `cells` from wrong.hip:16, which has 256 bytes: bytes 0 to 259",
        "at wrong.hip:27 in main",
    ),
    "direction": ("hipMemcpyHostToDevice has a destination that is memory of the host", "at wrong.hip:28 in main"),
    "twice": ("`cells` from wrong.hip:16 is freed twice", "freed first at wrong.hip:29 in main"),
    "unknown": ("is freed, and no buffer begins there", "at wrong.hip:30 in main"),
    "threads": ("written(int*, int) is launched with 2000 threads a block", "at wrong.hip:31 in main"),
    "empty": ("written(int*, int) is launched without threads: 0x1x1x64x1x1", "at wrong.hip:32 in main"),
    "host-access": ("the host accesses byte 12 of `cells` from wrong.hip:16", "at wrong.hip:33 in main"),
    "no-memory": ("error: hipMemcpy: only 96 of 256 bytes at 0x", "can be written at wrong.hip:37 in main"),
    "rows": ("error: the destination of a copy goes beyond all addresses: 4 bytes at 0x1", "at wrong.hip:39 in main"),
    "shared": ("written(int*, int) is launched with 70000 bytes of shared memory", "at wrong.hip:40 in main"),
    "freed-copy": (
        "the source of a copy is `other` from wrong.hip:17, which was freed at wrong.hip:43 in main",
        "freed at wrong.hip:42 in main",
    ),
    "late": ("written(int*, int) is launched after its code was unregistered", "at wrong.hip:11 in Last::~Last"),
    "closed": ("the program has closed its connection to the device",),
    "free-other": ("`pinned` from wrong.hip:49 is freed by hipFree: hipHostFree does that", "at wrong.hip:50 in main"),
    "null-result": (
        "hipGetDevice: only 0 of 4 bytes at 0x0 can be written at wrong.hip:54 in main",
        "hipGetDeviceCount: only 0 of 4 bytes at 0x0 can be written at wrong.hip:55 in main",
    ),
    "leak": ("`other` from wrong.hip:17 was not freed: 256 bytes", "0 kernels, no error, 2 buffers not freed"),
}
"""What is said of each error of ``wrong.hip``."""


def dwarfgpu(*words: str | Path, **fields: object) -> subprocess.CompletedProcess[str]:
    return forked(*words, **fields)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder, known = tmp_path_factory.mktemp("programs"), {}

    def build(name: str) -> Path:
        if name not in known:
            path = folder / name
            words = "-O0", PROGRAMS / f"{name}.hip", "-o", path, "-pthread"

            def make() -> bytes:
                done = dwarfgpu("hipcc", *words)
                assert done.returncode == 0, done.stderr
                return path.read_bytes()

            compiler = content_of(ROOT / "dwarfgpu" / "compilers", ROOT / "dwarfgpu" / "runtimes", PROGRAMS)
            path.write_bytes(kept(make, shutil.which("clang-22"), name, compiler))
            path.chmod(0o755)
            known[name] = path
        return known[name]

    return build


def summary(done: subprocess.CompletedProcess[str]) -> str:
    """Return what `exec` says at the end, in front of a hint."""
    return next(line for line in reversed(done.stderr.splitlines()) if not line.startswith("hint: "))


def test_right(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", built("right"))
    assert done.stdout == RIGHT
    assert done.returncode == 3, "that of the program"
    assert summary(done) == "46 launches, 5 kernels, no error"


@pytest.mark.parametrize(
    "name", ["graphs", "memory", "contexts", "rtc", "textures", "references", "small", "heap", "mapped", "together"]
)
@pytest.mark.sampled(10)
def test_functions(built: Callable[[str], Path], name: str) -> None:
    """Programs that name what they print at the end of their source, the last line of `exec` behind it."""
    done = dwarfgpu("exec", built(name))
    assert (done.stdout.splitlines(), summary(done)) == printed(name)


@pytest.mark.slow
def test_what_is_not_mapped(built: Callable[[str], Path]) -> None:
    """Addresses without memory, and memory that may only be read."""
    done = dwarfgpu("exec", built("mapped"), "nowhere")
    assert "`cells` = 0x7ea000200000, where no memory is known" in done.stderr
    assert done.stdout.endswith("hipErrorIllegalAddress\n")
    done = dwarfgpu("exec", "--check=bounds", built("mapped"), "only", "read")
    assert "read-only buffer" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_code_that_a_program_links(built: Callable[[str], Path], tmp_path: Path) -> None:
    """Bitcode of hipRTC, objects and archives; what is missing is named, and code that was unloaded is not used."""
    (tmp_path / "twice.hip").write_text(
        "#include <hip/hip_runtime.h>\n__device__ float twice(float a) { return 2 * a + 1; }\n"
    )
    words = "-c", "--genco", "-fgpu-rdc", "-emit-llvm", "--no-gpu-bundle-output", "twice.hip", "-o", "twice.bc"
    assert dwarfgpu("hipcc", *words, cwd=tmp_path).returncode == 0
    words = "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-nogpulib", "-c", "twice.bc", "-o", "twice.o"
    subprocess.run(["clang-22", *words], cwd=tmp_path, check=True)
    words = "-c", "--genco", "-fgpu-rdc", "-emit-llvm", "twice.hip", "-o", "bundle.bc"
    assert dwarfgpu("hipcc", *words, cwd=tmp_path).returncode == 0
    files = [tmp_path / name for name in ("twice.o", "twice.a", "bundles.a")]
    for archive, member in ("twice.a", "twice.o"), ("bundles.a", "bundle.bc"):
        subprocess.run(["ar", "rc", archive, member], cwd=tmp_path, check=True)
    done = dwarfgpu("exec", built("linked"), *files)
    assert (done.stdout.splitlines(), summary(done)) == printed("linked")
    assert "twice(float) is called, and is not defined at linked.hip:29" in " ".join(done.stderr.split())


def printed(name: str) -> tuple[list[str], str]:
    """Return what a program says that it prints, and the last line of `exec`."""
    source = (PROGRAMS / f"{name}.hip").read_text()
    *lines, last = re.findall("^// (.*)", source.rpartition("// Prints:")[2], re.MULTILINE)
    return lines, last


@pytest.mark.slow
def test_a_program_that_compile_and_make_build(tmp_path: Path) -> None:
    """`compile` makes a program of host and device, and a code object where it is asked for one; `exec` may build."""
    for path in (PROGRAMS / "make").iterdir():
        shutil.copy(path, tmp_path)
    folder = {"cwd": tmp_path, "env": {**os.environ, "HIPCC": f"{sys.executable} -m dwarfgpu hipcc"}}
    done = dwarfgpu("exec", "make", "-s", "test", **folder)
    assert (done.returncode, "1 launch" in done.stderr) == (0, True), done.stderr
    done = dwarfgpu("exec", "--target", "gfx90a", "make", "-s", "-B", "test", **folder)  # built for that processor
    assert (done.returncode, "1 launch" in done.stderr) == (0, True), done.stderr
    (tmp_path / "host.c").write_text("int hipInit(unsigned); int main(void) { return hipInit(0); }\n")
    assert dwarfgpu("exec", "cc", "host.c", "-lamdhip64", "-o", "host", **folder).returncode == 0
    done = dwarfgpu("compile", "app.hip", "-o", "whole", "-O1", "-DFIRST=40", "--", "more.cpp", **folder)
    assert (done.returncode, dwarfgpu("exec", "./whole", **folder).returncode) == (0, 42), done.stderr
    assert "k.co: amdgcn-gfx1100" in dwarfgpu("compile", "app.hip", "-o", "k.co", "-DFIRST=1", **folder).stdout


@pytest.mark.slow
def test_a_source_is_a_program(tmp_path: Path) -> None:
    """It is compiled for the processor that is asked for, and nothing of it is left."""
    (tmp_path / "order.hip").write_text(ORDER)
    (tmp_path / "broken.hip").write_text("int main() { return none; }\n")
    folder = {"cwd": tmp_path, "env": {**os.environ, "TMPDIR": str(tmp_path)}}
    done = dwarfgpu("exec", "--target", "gfx90a", "order.hip", "ordered", **folder)
    assert (done.stdout, done.stderr) == ("first\nlast 0\n", "1 launch, 1 kernel, no error\n")
    assert dwarfgpu("exec", "--seeds=2", "./order.hip", "ordered", **folder).returncode == 0
    done = dwarfgpu("debug", "-batch", "-nx", "-ex", "run", "--args", "order.hip", "ordered", **folder)
    assert "[Launch 1: last(int*), 1 work-group, 2 waves, at order.hip:8 in main]" in done.stdout
    done = dwarfgpu("exec", "broken.hip", **folder)
    assert done.returncode == 2
    assert "undeclared identifier 'none'" in done.stderr
    assert "broken.hip cannot be compiled" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.hip", "order.hip"]


@pytest.mark.slow
def test_code_of_the_device_that_is_linked(tmp_path: Path) -> None:
    """A kernel calls a function of another source; the processor is that of the environment, or executes its code."""
    use = "int main() { int *p; hipHostMalloc(&p, 4); k<<<1, 1>>>(p); hipDeviceSynchronize(); return *p; }"
    kernel = f"__device__ int seven();\n__global__ void k(int *p) {{ *p = seven(); }}\n{use}\n"
    for name, text in ("kernel", kernel), ("seven", "__device__ int seven() { return 7; }\n"):
        (tmp_path / f"{name}.hip").write_text(f"#include <hip/hip_runtime.h>\n{text}")
    for processor, target in ("gfx12-generic", "gfx1201"), ("gfx90a", "gfx90a"):
        folder = {"cwd": tmp_path, "env": {**os.environ, "HCC_AMDGPU_TARGET": processor}}
        for name in "kernel", "seven":
            words = "-w", "-fgpu-rdc", "-c", f"{name}.hip", "-o", f"{name}.o"
            assert dwarfgpu("hipcc", *words, **folder).returncode == 0
        words = "-fgpu-rdc", "--hip-link", "kernel.o", "seven.o", "-o", "app"
        assert dwarfgpu("hipcc", *words, **folder).returncode == 0
        done = dwarfgpu("exec", "--target", target, "./app", **folder)
        assert (done.returncode, "1 launch, 1 kernel, no error" in done.stderr) == (7, True), done.stderr
    done = dwarfgpu("exec", "--target", "gfx906", "./app", **folder)
    text = (
        "k(int*) cannot be launched: the program has code for gfx90a, and the device is gfx906 at kernel.hip:4 in main"
    )
    assert text in " ".join(done.stderr.split())


@pytest.mark.slow
def test_programs_that_call_the_host_and_functions_of_rocm(tmp_path: Path) -> None:
    """They have code for two processors, of which the newest is used unless another is named."""
    processors = "--offload-arch=gfx90a", "--offload-arch=gfx1100"
    for name, words in ("hostcall", ["-mprintf-kind=hostcall"]), ("rocm", ["-I", PROGRAMS / "rocm"]):
        done = dwarfgpu("hipcc", *processors, *words, PROGRAMS / f"{name}.hip", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        lines, last = printed(name)
        for target in ("gfx1100", "gfx90a"):
            chosen = ["--target", target] if target == "gfx90a" else []
            done = dwarfgpu("exec", *chosen, "--check=race,init", tmp_path / name)
            assert done.stdout.splitlines() == [line.replace("gfx1100", target) for line in lines]
            assert summary(done) == f"{last} (init, race)"
            assert ("work-item 3 of a block says so in a text of more" in done.stderr) == (name == "rocm")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.sampled(8)
def test_wrong(built: Callable[[str], Path], name: str) -> None:
    done = dwarfgpu("exec", built("wrong"), name)
    said = " ".join(done.stderr.split())
    for part in WRONG[name]:
        assert part in said
    statuses = {"host-access": 128 + signal.SIGSEGV, **dict.fromkeys(("empty", "leak", "closed", "free-other"), 0)}
    assert done.returncode == statuses.get(name, 1)


@pytest.mark.slow
def test_wrong_under_a_sanitizer(tmp_path: Path) -> None:
    """Lines are those of the program, whose signals and calls go through functions of the sanitizer."""
    words = "-O0", "-Xarch_host", "-fsanitize=address", PROGRAMS / "wrong.hip", "-o", tmp_path / "wrong"
    assert dwarfgpu("hipcc", *words).returncode == 0
    for name in "host-access", "no-memory", "beyond":
        said = " ".join(dwarfgpu("exec", tmp_path / "wrong", name).stderr.split())
        assert all(part in said for part in WRONG[name]), said
        assert "interceptor" not in said.partition("AddressSanitizer")[0]


def test_messages_are_folded(built: Callable[[str], Path]) -> None:
    """Those about the host fit a terminal, as findings of kernels do."""
    lines = dwarfgpu("exec", built("wrong"), "copy").stderr.splitlines()
    assert lines[0] == "error: the source of a copy goes beyond `cells` from wrong.hip:16, which has 256"
    assert lines[1] == "  bytes: bytes 0 to 259"


def test_race(built: Callable[[str], Path]) -> None:
    said = dwarfgpu("exec", "--check=race", built("wrong"), "race").stderr
    assert "lost update: `out[0]`" in said
    assert "\n    8  if (is_atomic) atomicAdd(out, 1); else *out = *out + 1;\n" in said
    assert "launched at wrong.hip:20 in main" in said
    assert re.search("hint: `dwarfgpu exec --break-at-fault --check=race -- .*/wrong race` stops in the debugger", said)


@pytest.mark.slow
def test_lines_and_values_of_launches(built: Callable[[str], Path], tmp_path: Path) -> None:
    """As `run` shows them, for the chosen launches; a name that all lack is an error."""
    done = dwarfgpu("exec", "--trace=lines", "--lane=3", "--launch=1", built("steps"))
    head, _, rest = done.stderr.partition("launch 1, scale:\n")
    assert not head
    assert "    i = 3\n" in rest
    assert "    reads data[i] = 3\n    data[i] = 6\n" in rest
    assert done.stdout == "scaled\n"
    file = tmp_path / "x.csv"
    done = dwarfgpu("exec", "--watch=data[3]", "--launch=2", "--history", file, built("steps"))
    assert re.findall(r"(\(before\)|steps.hip:9) +(.*)", done.stderr) == [("(before)", "6"), ("steps.hip:9", "{[3]=3}")]
    assert len(file.read_text().splitlines()) > 2
    done = dwarfgpu("exec", "--watch=nothing", "--kernel=scale", built("steps"))
    assert done.stderr.count("no variable `nothing` in scale") == 1
    assert dwarfgpu("exec", "--watch=nothing", built("right"), "quick").returncode
    for words, told in (
        (("--history=x.csv", "--watch=i"), "--history writes the values of one launch"),
        (("--lane=3",), "--lane needs --watch EXPR or --trace"),
        (("--seeds=2", "--trace"), "--trace is for one run"),
    ):
        refused = dwarfgpu("exec", *words, built("steps"))
        assert (refused.returncode, told in refused.stderr) == (2, True), refused.stderr


def test_seeds_of_a_program(tmp_path: Path) -> None:
    source = tmp_path / "order.hip"
    source.write_text(ORDER)
    assert dwarfgpu("hipcc", "-O0", source, "-o", tmp_path / "order").returncode == 0
    done = dwarfgpu("exec", "--seeds=4", tmp_path / "order")
    assert done.returncode == 1
    assert re.fullmatch("first\nlast \\d\n", done.stdout)
    assert "order: 4 runs with seeds 0-3, all have ended\noutput differs between seeds\n" in done.stderr
    assert re.search("  seed 1: 'last \\d'\n", done.stderr)
    assert "--check=race without seeds may find the cause" in done.stderr
    done = dwarfgpu("exec", "--seeds=2", tmp_path / "order", "ordered")
    assert done.returncode == 0
    assert "all results are the same\n2 launches, 1 kernel, no error\n" in done.stderr
    leaks = "import os; print('nanobind: leaked 1 instances!\\n - leaked instance', os.getpid())"
    assert "all results are the same" in dwarfgpu("exec", "--seeds=2", sys.executable, "-c", leaks).stderr
    done = dwarfgpu("exec", "--seeds=2", sys.executable, "-c", "import time; print(time.time_ns()); exit(4)")
    assert done.returncode == 4
    assert "they depend on more than the order" in done.stderr


@pytest.mark.slow
def test_race_in_local_memory(tmp_path: Path) -> None:
    """Through pointers without an address space, before anything has called the host."""
    source = (ROOT / "dwarfgpu/examples/sum.hip").read_text()
    for text, told in (source, "`part[32]`"), (source.replace("= in[i];", "= in[i]; __syncthreads();"), "no error"):
        (tmp_path / "sum.hip").write_text(text)
        assert dwarfgpu("hipcc", "sum.hip", "-o", "sum", cwd=tmp_path).returncode == 0
        done = dwarfgpu("exec", "--check=race", "./sum", cwd=tmp_path)
        assert (done.stdout, told in done.stderr) == ("2016\n", True), done.stderr
        assert ("launched at sum.hip:24 in main" in done.stderr) == (text == source)


@pytest.mark.parametrize("name", [*WRONG, "race"])
@pytest.mark.sampled(8)
def test_nothing_is_said_of_right_ones(built: Callable[[str], Path], name: str) -> None:
    done = dwarfgpu("exec", "--check", built("wrong"), name, "right")
    *covered, last = done.stderr.splitlines()
    assert "no error" in last
    assert done.returncode == 0
    is_covered = "memory instructions were executed; not covered: wrong.hip:8" in " ".join(map(str.strip, covered))
    assert is_covered == (name == "race")
    assert len(covered) == 2 * is_covered


@pytest.mark.slow
def test_what_nothing_has_written(built: Callable[[str], Path]) -> None:
    """Undefined bits are followed from launch to launch, through copies and fills of the host."""
    said = dwarfgpu("exec", "--check=init", built("undefined")).stderr
    assert "error: address of an uninitialized value: `from[48]`" in said
    assert "lanes 16-31" in said
    assert "byte 192 of `c` from undefined.hip:9, which has 256 bytes" in said
    assert (
        dwarfgpu("exec", "--check=init", built("undefined"), "right").stderr
        == "2 launches, 2 kernels, no error (init)\n"
    )


@pytest.mark.slow
def test_what_a_user_keeps(built: Callable[[str], Path], tmp_path: Path) -> None:
    """Reports in each form, a profile, and a core file that other commands read."""
    files = [tmp_path / name for name in ("found.json", "found.sarif", "found.html")]
    words = [word for path in files for word in ("--report", path)]
    done = dwarfgpu("exec", *words, "--core", tmp_path, "--profile", built("wrong"), "beyond")
    found = json.loads(files[0].read_text())
    assert (found["launches"], found["errors"], found["warnings"]) == (1, 1, 0)
    (fault,) = found["findings"]
    assert fault["source"]["line"] == 6
    assert [(each["what"], each["frames"][0]["line"]) for each in fault["calls"]] == [
        ("launched", 19),
        ("allocated", 16),
    ]
    (result,) = json.loads(files[1].read_text())["runs"][0]["results"]
    assert result["ruleId"] == "kernel-fault"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 6
    assert "just past the end of `cells` from wrong.hip:16" in files[2].read_text()
    assert "wrong.hip:6" in done.stderr.partition("instructions   share")[2]
    core = tmp_path / "written-1.core"
    assert f"core file: {core}" in done.stderr
    assert "MEMORY_VIOLATION" in dwarfgpu("fault", "--state", core).stdout
    again = dwarfgpu("exec", "--core", tmp_path, built("wrong"), "beyond")
    assert "no core file" in again.stderr
    assert again.returncode == 1


@pytest.mark.slow
def test_which_launches_are_checked(built: Callable[[str], Path]) -> None:
    for words, is_found in (
        (("--kernel", "raced"), True), (("--kernel", "written"), False),
        (("--launch", 1), True), (("--launch", 2, "--launch", 3), False),
    ):  # fmt: skip
        said = dwarfgpu("exec", "--check=race", *words, built("wrong"), "race").stderr
        assert ("lost update" in said) == is_found


def test_a_choice_without_a_launch_is_an_error(built: Callable[[str], Path]) -> None:
    done = dwarfgpu("exec", "--kernel=raced", "--kernel=race", built("wrong"), "race")
    assert done.returncode == 2
    assert "error: --kernel race chose no launch\nhint: the program launched raced (1)" in done.stderr
    assert "--launch 7 chose no launch" in dwarfgpu("exec", "--launch=7", built("wrong"), "race").stderr


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\0no format")
    program.chmod(0o755)
    done = dwarfgpu("exec", program)
    assert "program cannot be started: Exec format error" in done.stderr
    assert done.returncode == 2


@pytest.mark.slow
def test_processors_that_do_not_exist_or_execute_nothing() -> None:
    """They are refused before the program starts."""
    done = dwarfgpu("exec", "--target", "gfx90a", "--target", "gfx9999", "true")
    assert done.returncode == 2
    assert done.stderr.startswith("dwarfgpu: error: there is no target 'gfx9999'\nhint: did you mean")
    for name in "gfx700", "gfx1310", "x86_64":
        done = dwarfgpu("exec", "--target", name, "true")
        assert done.stderr.startswith(f"dwarfgpu: error: the instructions of {name} are not known\nhint: they are")


def test_reports_that_cannot_be_written(tmp_path: Path) -> None:
    for words, text in (
        (("--report", "x.txt"), "ends in none of"),
        (("--sarif", "x.html"), "--sarif takes a file that ends in .sarif, not x.html"),
        (("--report", tmp_path / "none" / "x.json"), "none"),
        (("--core", tmp_path / "none"), "is no folder"),
    ):
        done = dwarfgpu("exec", *words, "true")
        assert done.returncode == 2
        assert text in done.stderr


def test_each_rule_of_programs_is_used() -> None:
    """The table has each rule that the source names, and no other."""
    from dwarfgpu import runtimes
    from dwarfgpu.runtimes.rules import RULES

    assert runtimes.__file__ is not None
    sources = [*Path(runtimes.__file__).parent.rglob("*.py")]
    used = {name for path in sources for name in re.findall(r'(?:problem|Misuse)\(\s*"([a-z-]+)"', path.read_text())}
    assert used | {"kernel-fault", "kernel-refused"} == {*RULES}


@pytest.mark.slow
def test_errors_are_returned(built: Callable[[str], Path]) -> None:
    assert dwarfgpu("exec", built("wrong"), "beyond").stdout == "hipErrorIllegalAddress, then hipErrorIllegalAddress\n"
    assert dwarfgpu("exec", built("wrong"), "threads").stdout == "hipErrorInvalidConfiguration, then hipSuccess\n"
    assert dwarfgpu("exec", built("wrong"), "after").stdout.startswith("700 " * 12)
    assert dwarfgpu("exec", built("wrong"), "after", "right").stdout.startswith("0 " * 12)
    assert dwarfgpu("exec", built("wrong"), "pitch").stdout.startswith("12 12 ")
    assert dwarfgpu("exec", built("wrong"), "pitch", "right").stdout.startswith("0 0 ")


@pytest.mark.parametrize("words, level", [((), "-O3"), (("-g",), "-O3"), (("-O0",), "-O0"), (("-Os", "-c"), "-Os")])
def test_level_of_a_program(tmp_path: Path, words: tuple[str, ...], level: str) -> None:
    """As hipcc of ROCm: -O3 for host and device unless a level is given, also with debug information."""
    (tmp_path / "app.hip").write_text("int main() { return 0; }\n")
    told = dwarfgpu("hipcc", "-###", *words, "app.hip", cwd=tmp_path).stderr
    assert re.findall('"-cc1".*"(-O.)"', told) == [level] * 2


@pytest.mark.slow
def test_headers_of_a_program_come_first(tmp_path: Path) -> None:
    """Several sources, one of them C++, with a header that has the name of one of the library, and comes before it.

    The words of the language are there at once, and templates of <cmath> find functions of the device.
    """
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "common.h").write_text(
        "#include <cmath>\n__host__ __device__ inline double answer(int n) { return std::pow(6.5, n) - 0.25; }\n"
    )
    (tmp_path / "main.hip").write_text(
        '#include "common.h"\n#include <hip/hip_runtime.h>\nint other();\n'
        "__global__ void k(double *out) { *out = answer(2); }\nint main() { return (int)answer(2) - other(); }\n"
    )
    (tmp_path / "other.cc").write_text("int other() { return 40; }\n")
    for words in (
        ("-c", "-Iinclude", "main.hip", "-o", "main.o"),
        ("other.cc", "main.o", "-o", "app"),
        ("-c", "-x", "c++", "other.cc", "-o", "other.o"),
        ("-Iinclude", "main.o", "other.o", "-o", "again"),
    ):
        done = dwarfgpu("hipcc", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert [dwarfgpu("exec", f"./{name}", cwd=tmp_path).returncode for name in ("app", "again")] == [2, 2]


@pytest.mark.parametrize("major, version", [(5, "hip_4.2"), (6, "hip_6.0"), (7, "hip_6.0")])
@pytest.mark.sampled(6)
def test_programs_linked_with_a_library_of_rocm(tmp_path: Path, major: int, version: str) -> None:
    """They name its SONAME and the version of each symbol; nothing is printed about versions."""
    names = [
        "hipMalloc",
        "hipMemcpy",
        "hipFree",
        "hipIpcGetMemHandle",
        "hipCreateChannelDesc",
        "hipGetDeviceProperties",
    ]
    old, new = "hip_4.2 { global: hip*; local: *; };", ""
    if major >= 6:  # a function that is new in a version has that one; the others keep theirs
        names[-1] += "R0600"
        old, new = old.replace("hip*;", "; ".join([*names[:-1], ""])), f"{version} {{ global: {names[-1]}; }} hip_4.2;"
    (tmp_path / "stub.c").write_text("".join(f"int {name}() {{ return 0; }}\n" for name in names))
    (tmp_path / "versions").write_text(old + new)
    linked = [f"-Wl,-soname,libamdhip64.so.{major}", "-Wl,--version-script=versions"]
    subprocess.run(["gcc", "-shared", "-fPIC", *linked, "stub.c", "-o", "libamdhip64.so"], cwd=tmp_path, check=True)
    words = ["-DR0600"] if major >= 6 else []
    app = ["gcc", *words, PROGRAMS / "plain.c", "-o", "app", "-L.", "-lamdhip64"]
    subprocess.run(app, cwd=tmp_path, check=True)
    done = dwarfgpu("exec", "./app", cwd=tmp_path)
    assert done.stdout.startswith("copied 1\n")
    assert done.stdout.endswith("properties 0 gfx1100 32 Z\n")
    assert "version" not in done.stderr


@pytest.mark.slow
def test_code_objects(tmp_path: Path) -> None:
    """Code that a program loads while it runs is built as hipcc does it."""
    (tmp_path / "module.hip").write_text(
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void one(int *out) { *out = 1; }\n'
    )
    done = dwarfgpu("hipcc", "--genco", "module.hip", "-o", "module.co", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert dwarfgpu("run", "module.co", "one", "--grid", 1, "--work-group", 1, "zeros(1)", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_compressed_code(built: Callable[[str], Path], tmp_path: Path, require_tool: Callable[..., str]) -> None:
    """Bundles of two processors as clang-offload-bundler compresses them: versions 2 and 3, also where it has zlib."""
    bundler = require_tool("clang-offload-bundler-22")
    (tmp_path / "one.hip").write_text(
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void one(int *out) { *out = VALUE; }\n'
    )
    inputs = ["-input=/dev/null"]
    for value, processor in enumerate(("gfx1100", "gfx90a"), 5):
        words = f"--offload-arch={processor}", "--genco", "--no-gpu-bundle-output", f"-DVALUE={value}"
        assert dwarfgpu("hipcc", *words, "one.hip", "-o", f"{processor}.co", cwd=tmp_path).returncode == 0
        inputs.append(f"-input={processor}.co")
    targets = ",".join(
        ("host-x86_64-unknown-linux-gnu", *(f"hipv4-amdgcn-amd-amdhsa--{each}" for each in ("gfx1100", "gfx90a")))
    )
    command = [bundler, "-type=o", "-bundle-align=4096", f"-targets={targets}", *inputs]
    subprocess.run([*command, "-output=plain"], cwd=tmp_path, check=True)
    plain = (tmp_path / "plain").read_bytes()
    stream, digest = zlib.compress(plain), hashlib.md5(plain, usedforsecurity=False).digest()[:8]
    for version, sizes in (2, "<II"), (3, "<QQ"):
        variables = {**os.environ, "COMPRESSED_BUNDLE_FORMAT_VERSION": str(version)}
        subprocess.run([*command, "-compress", f"-output=zstd{version}"], cwd=tmp_path, env=variables, check=True)
        head = (tmp_path / f"zstd{version}").read_bytes()[:8]
        assert head == struct.pack("<4sHH", b"CCOB", version, 1)
        whole = len(head) + struct.calcsize(sizes) + len(digest) + len(stream)
        content = struct.pack("<4sHH", b"CCOB", version, 0) + struct.pack(sizes, whole, len(plain)) + digest + stream
        (tmp_path / f"zlib{version}").write_bytes(content)
    files = "plain", "zstd2", "zstd3", "zlib2", "zlib3"
    for value, processor in enumerate(("gfx1100", "gfx90a"), 5):
        done = dwarfgpu("exec", "--target", processor, built("loads"), *files, cwd=tmp_path)
        assert (done.stdout, done.stderr) == (f"0 0 0 {value}\n" * 5, "5 launches, 1 kernel, no error\n")


def test_without_a_device(built: Callable[[str], Path], tmp_path: Path) -> None:
    """The library says how to start a program."""
    from dwarfgpu.runtimes.hip.library import install

    install(tmp_path)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([built("wrong")], capture_output=True, text=True, env=environment, check=False)
    assert "start the program with `dwarfgpu exec`" in done.stderr
    assert done.stdout == "hipErrorNoDevice, then hipErrorNoDevice\n"


@pytest.mark.slow
def test_scripts_and_their_children(built: Callable[[str], Path], tmp_path: Path) -> None:
    done = dwarfgpu("exec", "sh", "-c", 'cat; "$0" beyond; "$0" twice', built("wrong"), input="given\n")
    assert done.stdout.startswith("given\nhipErrorIllegalAddress")
    assert summary(done).startswith("1 launch, 1 kernel, 2 errors")
    assert done.returncode == 1
    missing = dwarfgpu("exec", tmp_path / "nothing")
    assert missing.returncode == 2
    assert "there is no program" in missing.stderr


def test_a_program_that_sends_nonsense(tmp_path: Path) -> None:
    """It loses its connection, and its exit status is what counts."""
    script = tmp_path / "nonsense.py"
    script.write_text(
        "import os, socket, struct\n"
        "def connect():\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect(os.environ['DWARFGPU_DEVICE']); return s\n"
        "for first in (b'', b'x' * 3, b'x' * 400, struct.pack('<4I', 3, os.getpid(), 1, 0) + bytes(4)):\n"
        "    s = connect(); s.sendall(first); s.shutdown(socket.SHUT_WR); s.settimeout(9)\n"
        "    try: s.recv(99)\n"
        "    except ConnectionError: pass\n"
        "s = connect(); s.sendall(struct.pack('<4I', 3, os.getpid(), 1, 0)); s.recv(16)\n"
        "s.sendall(struct.pack('<Q', 1 << 40) + struct.pack('<4I', 1, 99999, 200, 99999))\n"
        "s.settimeout(9)\n"
        "try: assert s.recv(99) == b''\n"
        "except ConnectionError: pass\n"
        "print('done')\n"
    )
    done = dwarfgpu("exec", sys.executable, script)
    assert done.stdout == "done\n", done.stderr
    assert done.returncode == 0


@pytest.mark.slow
def test_the_c_of_the_library(tmp_path: Path) -> None:
    """Compilers have no warning, and sanitizers find nothing in a program that is linked with it."""
    from dwarfgpu.runtimes import doors
    from dwarfgpu.runtimes.hip import library  # noqa: F401 (it declares all functions)
    from dwarfgpu.runtimes.hip.program import API

    folder = Path(doors.__file__).with_name("door")
    (tmp_path / "stubs.c").write_text(API.source())
    sources = [folder / "core.c", folder / "hip.c", tmp_path / "stubs.c", PROGRAMS / "plain.c"]
    words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", folder, "-g", "-pthread", "-o", tmp_path / "plain"]
    for compiler, more in (("clang-22", ()), ("gcc", ("-fsanitize=address,undefined",))):
        done = subprocess.run([compiler, *words, *more, *sources], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    done = dwarfgpu("exec", tmp_path / "plain")
    assert done.stdout == "copied 1\nnot supported 801\nnull (nil)\nformat 32 16 0 2\nproperties 0 gfx1100 32 Z\n"
    assert done.stderr.splitlines()[0] == "warning: hipIpcGetMemHandle is not supported"
    assert "ERROR" not in done.stderr
    assert "runtime error" not in done.stderr


@pytest.mark.slow
def test_what_is_not_there(tmp_path: Path) -> None:
    """Mipmaps, references of modules, memory of other processes, cube maps and second addresses: refused and named."""
    words = "exec", "cc", "-std=c11", PROGRAMS / "lacking.c", "-lamdhip64", "-o", tmp_path / "lacking"
    assert dwarfgpu(*words).returncode == 0
    done = dwarfgpu("exec", tmp_path / "lacking")
    names = re.findall(r"X\((\w+)\)", (PROGRAMS / "lacking.c").read_text())
    *lines, cube, of_driver, mipmap, addresses = done.stdout.splitlines()
    assert lines == [f"{name} 801" for name in names]
    assert (cube, of_driver, mipmap) == ("cube 801", "cube of the driver 801, (nil)", "mipmap 801, (nil)")
    assert addresses == "address 0, second address 801"
    said = done.stderr.splitlines()
    for name in (*names, "an array that is a cube map", "textures of mipmapped arrays", "memory at two addresses"):
        assert any(line.startswith(f"warning: {name}") for line in said), name
    assert done.returncode == 0


@pytest.mark.slow
def test_calls_that_no_program_makes(tmp_path: Path) -> None:
    """Each known function with handles and pointers that mean nothing: an error, or the end of the connection."""
    from dwarfgpu.runtimes.hip import library  # noqa: F401 (it declares all functions)
    from dwarfgpu.runtimes.hip.program import API

    counts = [row.word_count for row, _function in API.rows]
    script = tmp_path / "nonsense.py"
    script.write_text(
        f"import os, random, socket, struct\ncounts = {counts}\n"
        """
def take(size):
    data = b""
    while len(data) < size:
        part = s.recv(size - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data
choose, answered, ended = random.Random(7), 0, 0
for number in range(1, len(counts) + 1):
    for _ in range(3):
        s = socket.socket(socket.AF_UNIX); s.connect(os.environ["DWARFGPU_DEVICE"]); s.settimeout(20)
        s.sendall(struct.pack("<4I", 3, os.getpid(), 1, 0)); take(16); s.sendall(struct.pack("<Q", 0x7ea000000000))
        given = 0, 1, 16, 255, 0x7ea000010000, choose.getrandbits(64)
        words = [choose.choice(given) for _ in range(counts[number - 1])]
        s.sendall(struct.pack(f"<4I{len(words)}Q", 1, number, len(words), 0, *words))
        try:
            while True:
                kind, _, to, source, size = struct.unpack("<IIQQQ", take(32))
                if kind == 1:
                    answered += 1; break
                if kind in (5, 7): take(size)
                if kind in (2, 3, 4, 8):
                    if kind == 4: take(4 * size)
                    if kind == 8: take(8 * size)
                    data = choose.randbytes(min(size, 999))
                    s.sendall(struct.pack("<IIQ", 2, 0, len(data)) + data)
        except ConnectionError:
            ended += 1
        s.close()
print(answered + ended == 3 * len(counts), answered > 500)
"""
    )
    done = dwarfgpu("exec", sys.executable, script)
    assert done.stdout == "True True\n", done.stderr[-2000:]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_nothing_is_left(built: Callable[[str], Path], tmp_path: Path) -> None:
    """The program ends with `exec`, whatever ends that, and its folder goes."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-m", "dwarfgpu", "exec", "sh", "-c", "echo $$; exec sleep 600"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        process.kill()
    for _ in range(600):
        if not Path(f"/proc/{number}").exists() and not [*tmp_path.iterdir()]:
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{number}").exists()
    assert not [*tmp_path.iterdir()]
