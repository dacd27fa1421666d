"""A corpus of kernels, each run here and on the host, from the same source: the results are equal, bit for bit."""

import ctypes
import itertools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution.launch.argument_values import array_at
from dwarfgpu.execution.launch.launch import launch, machine_for

HERE = Path(__file__).parent / "corpus"
LANGUAGES = ("cl", "hip")
PROCESSORS = (
    "gfx900", "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1200",
    "gfx1201", "gfx1250",
)  # fmt: skip
QUICK = (("gfx90a", "O2", "cl"), ("gfx1100", "O2", "hip"))
GROUP, GROUPS = 64, 3
LIMIT = 5_000_000
COMMON = ("-ffp-contract=off", "-fwrapv", "-fno-math-errno", "-fno-strict-aliasing", "-w")
KERNELS = {
    language: tuple(re.findall(r"^KERNEL\((\w+)\)", (HERE / f"corpus.{language}").read_text(), re.MULTILINE))
    for language in LANGUAGES
}


def numbers(seed):
    """Return what kernels read: random numbers, small ones, and edges."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 1 << 32, 1024, np.uint32)
    words[::3] >>= random.integers(0, 32, len(words[::3]), np.uint32)
    words[::29] = random.choice(np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32), len(words[::29]))
    return words


def outputs():
    """Return the results, four of each lane, and the numbers that all lanes change."""
    cells = np.zeros(64, np.uint32)
    cells[5] = 0x7FFFFFFF
    return np.zeros(4 * GROUP * GROUPS, np.uint64), cells


@pytest.fixture(scope="module")
def host(require_tool, tmp_path_factory):
    """``host("cl", "reduction", 7)`` is what a kernel leaves in memory on the host."""
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("host")
    known = {}

    def call(language, kernel, seed):
        if language not in known:
            path = folder / f"{language}.so"
            kind = ("c", "-std=gnu2x") if language == "cl" else ("c++", "-std=c++20", "-fno-rtti")
            words = ("-O1", "-shared", "-fPIC", "-pthread", "-Xclang", "-ffloat16-excess-precision=none", *COMMON)
            command = [clang, "-x", *kind, *words, str(HERE / f"corpus.{language}"), "-o", str(path), "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            known[language] = ctypes.CDLL(str(path))
        library = known[language]
        out, cells = outputs()
        given = numbers(seed)
        library.run_groups(
            getattr(library, kernel), *(ctypes.c_void_p(array.ctypes.data) for array in (out, given, cells)), GROUPS
        )
        return out, cells

    return call


def built(clang, folder, language, processor, level, *more):
    path = str(folder / f"{language}.{processor}.{level}.co")
    if language == "cl":
        words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}"]
        words += ["-cl-fp32-correctly-rounded-divide-sqrt"]
    else:
        words = ["-x", "hip", "-std=c++20", "--cuda-device-only", "-target", "x86_64-linux-gnu", "-nogpuinc"]
        words += [f"--offload-arch={processor}", "--no-gpu-bundle-output"]
    words += ["-nogpulib", f"-{level}", *COMMON, *more, str(HERE / f"corpus.{language}"), "-o", path]
    subprocess.run([clang, *words], check=True, capture_output=True)
    return path


def assert_as_on_the_host(path, language, host, seed):
    machine = machine_for(path, KERNELS[language][0])
    addresses, buffers, wrong = [], [], []
    for kernel in KERNELS[language]:
        arrays = [outputs()[0], numbers(seed), outputs()[1]]
        launched = launch(
            machine, path, kernel, grid=GROUP * GROUPS, work_group=GROUP, args=addresses or arrays, private_size=8192
        )
        if not buffers:
            addresses = [buffer.address for buffer in launched.plan.buffers]
            buffers = [array_at(machine.memory, buffer) for buffer in launched.plan.buffers]
        for buffer, array in zip(buffers, arrays, strict=True):
            buffer[:] = array
        halt = machine.run(limit=LIMIT)
        assert halt.has_ended, f"{kernel}: {halt}"
        out, cells = host(language, kernel, seed)
        assert out.any() or cells.any()
        differ = np.nonzero(out != buffers[0])[0]
        if len(differ) or (cells != buffers[2]).any():
            wrong.append((kernel, differ[:8].tolist(), np.nonzero(cells != buffers[2])[0].tolist()))
    assert wrong == []


def ways():
    for processor, language in itertools.product(PROCESSORS, LANGUAGES):
        for level in ("O0", "O2"):
            marks = () if (processor, level, language) in QUICK else pytest.mark.slow
            yield pytest.param(processor, level, (), language, marks=marks)
        if processor in ("gfx90a", "gfx1030") and language == "cl":  # a stack is reached with a negative number there
            yield pytest.param(processor, "O1", (), language, marks=pytest.mark.slow)
        if processor in ("gfx1030", "gfx1100", "gfx1200"):
            yield pytest.param(processor, "O2", ("-mwavefrontsize64", "-DWAVE64"), language, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("processor, level, more, language", list(ways()))
def test_kernels_leave_what_they_leave_on_the_host(
    language, processor, level, more, host, require_tool, tmp_path, request
):
    path = built(require_tool("clang-22"), tmp_path, language, processor, level, *more)
    assert_as_on_the_host(path, language, host, sum(request.node.name.encode()))


def test_the_corpus_has_kernels_of_both_languages():
    assert len(KERNELS["cl"]) + len(KERNELS["hip"]) >= 60
    assert min(map(len, KERNELS.values())) >= 20
