"""The kernels with a fault as threads of the host: its sanitizers find the same in the same lines."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.execution.checks import test_bounds, test_checks, test_undefined

HERE = Path(__file__).parent
TOGETHER = "between_groups", "one_for_all", "total"
"""The kernels whose fault is between work-groups, and that have no local memory, which all work-groups share here."""
RACE, ACCESS = r"#0 [^\n]*\.cl:(\d+).*?#0 [^\n]*\.cl:(\d+)", r"#\d [^\n]*\.cl:(\d+)"
"""The lines in reports: the places of both sides, and the innermost place in a kernel."""
MOST_RUNS = 8
UNSEEN = {
    "thread": {"fence_of_local", "last_group"},  # a barrier of the host orders all memory, and so does the next group
    "address": {"through_const", "add_to_const", "local_both"},  # 64 bytes behind an array are looked at, no const is
    "memory": {"local_array", "local_branch", "local_address", "local_bytes", "counter", "exchanged", "added_to"},
}  # local memory has contents on the host, and what an atomic operation writes counts as initialized


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    clang, gcc, folder = require_tool("clang-22"), require_tool("gcc"), tmp_path_factory.mktemp("host")

    @cache
    def build(sanitizer: str, source: str, *options: str) -> str:
        code, program = (str(folder / f"{source}{''.join(options)}.{end}") for end in ("o", "exe"))
        words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "x86_64-linux-gnu", "-O1", "-g", "-w", *options]
        linker, sanitized = gcc, [f"-fsanitize={sanitizer}"]
        if sanitizer == "memory":  # gcc has none, and clang misses races with threads that have ended
            linker, sanitized = clang, [*sanitized, "-fsanitize-memory-track-origins", "-DMEMORY"]
        words += [*sanitized, "-include", str(HERE / "host.h"), "-c", str(HERE / f"{source}.cl")]
        subprocess.run([*words, "-o", code], check=True)
        words = [linker, "-g", *sanitized, "-rdynamic", str(HERE / "host.c"), code, "-o", program]
        subprocess.run([*words, "-lpthread", "-ldl"], check=True)
        return program

    return build


def lines_found(pattern, program, *words):
    """The lines of the first report of a sanitizer: of both sides of a race, of an access."""
    options = {"ASAN_OPTIONS": "redzone=2048:detect_leaks=0"}
    words = [program, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | options, check=False, timeout=300)
    found = re.search(pattern, done.stderr, re.DOTALL)
    assert (found is not None) == (done.returncode != 0), done.stderr
    return set() if found is None else {*map(int, found.groups())}


def lines_of_race(program, kernel, runs=1):
    """The lines of both sides, in the first run that reports them: which races are noticed depends on the schedule."""
    numbers = {"bytes": 512, "wide": 4096}.get(kernel, 2048)
    local = [512] if kernel == "local_argument" else []
    words = program, kernel, 4, 128, int(kernel in TOGETHER), 8192, numbers, *local
    return next(filter(None, (lines_found(RACE, *words) for _run in range(runs))), set())


def lines_of_access(program, kernel):
    size = 128 * int(test_bounds.SIZES.get(kernel, "i4")[1])
    sizes = size, 1024 if kernel == "vector_or_four" else size
    local = [256] * test_bounds.LOCAL_ARGUMENTS.get(kernel, 0)
    return lines_found(ACCESS, program, kernel, 2, 64, 0, *sizes, *local)


@pytest.mark.slow
def test_the_sanitizer_of_threads_finds_the_same_races(built):
    races = {kernel for kernel, kind in test_checks.RACES.items() if "race" in kind}
    for kernel in races:
        is_seen = kernel not in UNSEEN["thread"]
        found = lines_of_race(built("thread", "pairs"), kernel, MOST_RUNS if is_seen else 1)
        assert (kernel, found) == (kernel, test_checks.lines_of(kernel) if is_seen else set())
        assert (kernel, lines_of_race(built("thread", "pairs", "-DMENDED"), kernel)) == (kernel, set())


@pytest.mark.slow
def test_the_sanitizer_of_addresses_finds_the_same_accesses(built):
    for kernel in test_bounds.KERNELS["bounds"]:
        expected = set() if kernel in UNSEEN["address"] else {test_bounds.line_of(kernel)}
        assert (kernel, lines_of_access(built("address", "bounds"), kernel)) == (kernel, expected)
        assert (kernel, lines_of_access(built("address", "bounds", "-DMENDED"), kernel)) == (kernel, set())


def lines_of_use(program, kernel):
    """The line of the use, or of the store to the first buffer."""
    local = [-1024] if kernel == "local_argument" else []
    return lines_found(ACCESS, program, kernel, 4, 128, 0, 16384, 2048, -2048, *local)


@pytest.mark.slow
def test_the_sanitizer_of_memory_finds_the_same_uses(built):
    for kernel, line in test_undefined.LINES["cl"].items():
        expected = set() if kernel in UNSEEN["memory"] else {line}
        assert (kernel, lines_of_use(built("memory", "undefined"), kernel)) == (kernel, expected)
        expected = {line} if "padding" in kernel else set()  # a copy of it counts as a use
        assert (kernel, lines_of_use(built("memory", "undefined", "-DMENDED"), kernel)) == (kernel, expected)
