"""Kernels whose waves are ordered by atomics and fences, with each place of a release or an acquire wrong in turn."""

import re
import subprocess
from functools import cache, partial
from pathlib import Path

import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_of

HERE = Path(__file__).parent
SOURCE = HERE / "ordering.cl"
FAULTS = dict(re.findall(r"KERNEL\((\w+)\) \{.*?// (\d+)", SOURCE.read_text("utf-8")))
"""By kernel, the numbers of its places."""
SHORT = "publish", "publish_by_fences", "publish_by_group", "chain", "last_group", "tree"
COMPLETE = {("hand_over", "1"), ("references", "1"), ("stop_of_all", "1"), ("ring", "3")}
"""Releases after reads: a relaxed store comes after them, too, if the code has used what it has read."""
IN_WAVE = {("publish_by_group", "3"), ("publish_by_group", "4"), ("last_group", "4")}
"""Missing barriers of a work-group that is one wave on GFX9."""
BEHIND_BARRIERS = {(kernel, "1") for kernel in (
    "publish_by_group", "stream_k", "split_k", "last_group", "last_group_by_fences", "grid_barrier", "lock_of_group",
    "broadcast")}  # fmt: skip
"""Releases behind barriers that wait for the same; the code may have one more wait, with nothing to wait for."""
LATE = {("seqlock", "1"), ("seqlock", "2")}
"""At -O0 the reader begins when the writer is through."""
NARROW = {("lock_by_cas", "3"), ("ticket_lock_by_fences", "1")}
"""Releases at -O0 whose waits are the same at the scope of the work-group."""
BY_STACK = {(kernel, "1") for kernel in FAULTS if "fences" in kernel} | {("publish_to_system", "1"), ("stack", "1")}
"""At -O0 on gfx90a every load of a variable waits for earlier stores."""


def ordered_anyway(processor: str, level: str) -> set[tuple[str, str]]:
    """Return the faults after which a build still has all that orders it."""
    found = COMPLETE | (IN_WAVE if processor.startswith("gfx9") else BEHIND_BARRIERS)
    found |= LATE | NARROW if level == "O0" else set()
    return found | (BY_STACK if (processor, level) == ("gfx90a", "O0") else set())


BUILDS = [
    (language, processor, level)
    for language in ("cl", "hip")
    for processor in ("gfx90a", "gfx942", "gfx1100", "gfx1200")
    for level in ("O0", "O2")
]
LEAST_FOUND = 0.95


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    clang, folder = require_tool("clang-22"), tmp_path_factory.mktemp("ordering")

    @cache
    def build(language: str, processor: str, level: str, fault: str, kernels: tuple[str, ...] = ()) -> str:
        path = str(folder / f"{language}.{processor}.{level}.{fault}.co")
        if language == "hip":
            source = folder / "ordering.hip"
            source.write_text(SOURCE.read_text("utf-8"))
            words = ["compile", str(source), f"--target={processor}", f"-O{level[1:]}", "-o", path]
            assert main([*words, "--", f"-DFAULT={fault}"]) == 0
            return path
        words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}"]
        words += ["-g", "-w", "-nogpulib", f"-DFAULT={fault}", "-include", str(HERE.parent / "kernels.h")]
        head, *others = re.split(r"^(?=KERNEL\()", SOURCE.read_text("utf-8"), flags=re.MULTILINE)
        text = head + "".join(each for each in others if not kernels or each[7:].partition(")")[0] in kernels)
        subprocess.run([*words, "-", "-o", path], input=text.encode(), check=True, capture_output=True)
        return path

    return build


def found(path: str, kernel: str) -> set[str]:
    """Return the kinds of errors of a run, which ends."""
    args = ["zeros(512)", "zeros(64)", "zeros(512)"]
    machine = machine_for(path, kernel)
    running = Running(launch(machine, path, kernel, grid=256, work_group=64, args=args, check="race"))
    assert running.run(limit=400_000).has_ended, kernel
    return {row.kind for row in running.findings if row.severity == "error"}


def code_of(path: str, tool: str) -> dict[str, str]:
    """The instructions of each kernel."""
    words = [tool, "-d", "--no-show-raw-insn", "--no-leading-addr", path]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    parts = (re.sub(r" *//.*| <.*", "", part).partition(">:") for part in re.split(r"\n<", text))
    codes = {name.lstrip("<"): code.strip() for name, _, code in parts}
    return {name: code + codes.get(f"__clang_ocl_kern_imp_{name}", "") for name, code in codes.items()}


@pytest.mark.slow
def test_releases_and_acquires_that_are_missing_are_races(built):
    """A narrower scope is another instruction on this processor."""
    names, build = {kernel: FAULTS[kernel] for kernel in SHORT}, partial(built, "cl", "gfx942", "O2", kernels=SHORT)
    assert {kernel: rows for kernel in names if (rows := found(build("0"), kernel))} == {}
    pairs = {(kernel, fault) for kernel, faults in names.items() for fault in faults} - IN_WAVE
    assert {pair for pair in pairs if not found(build(pair[1]), pair[0])} == set()


@pytest.mark.slow
@pytest.mark.parametrize("build", some_of(BUILDS, 3), ids="-".join)
def test_the_same_of_all_kernels(require_tool, built, build):
    """A fault that does not change the code is none of the code."""
    tool = require_tool("llvm-objdump-22")
    assert {kernel: rows for kernel in FAULTS if (rows := found(built(*build, "0"), kernel))} == {}
    mended, others, pairs = code_of(built(*build, "0"), tool), ordered_anyway(*build[1:]), set()
    for fault in "1234":
        code = code_of(built(*build, fault), tool)
        pairs |= {(name, fault) for name in FAULTS if fault in FAULTS[name] and code[name] != mended[name]} - others
    missed = {pair for pair in pairs if not found(built(*build, pair[1]), pair[0])}
    assert len(missed) <= (1 - LEAST_FOUND) * len(pairs), missed


@pytest.mark.slow
def test_the_caches_of_a_group_are_invalidated_before_its_barrier(require_tool, tmp_path):
    """What one wave acquires from other groups, its group has behind a barrier if the invalidate is complete."""
    clang, text = require_tool("clang-22"), str(tmp_path / "k.s")
    words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1200", "-O2", "-w"]
    options = ["-x", "cl", "-cl-std=CL2.0", "-nogpulib", "-DFAULT=0", "-include"]
    source = [*options, str(HERE.parent / "kernels.h"), str(SOURCE)]
    subprocess.run([clang, *words, *source, "-S", "-o", text], check=True)
    before, kernel, code = Path(text).read_text("utf-8").partition("\npublish_by_group:")
    wait, count = re.subn(r"(global_inv scope:SCOPE_DEV(?:(?!global_).)*?)s_wait_loadcnt 0x0(?=\s+s_barrier_signal)",
                          r"\1s_nop 0", code, count=1, flags=re.DOTALL)  # fmt: skip
    assert count
    for name, each in (("right", code), ("wrong", wait)):
        Path(text).write_text(before + kernel + each, "utf-8")
        subprocess.run([clang, *words, text, "-o", str(tmp_path / name)], check=True)
    assert [bool(found(str(tmp_path / name), "publish_by_group")) for name in ("right", "wrong")] == [False, True]
