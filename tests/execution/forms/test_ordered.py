"""Kernels whose barriers, waits, races and alignment are checked: as forms the same is found, in the same order."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.device import Device
from tests.builders.parameters import some_slow
from tests.execution.checks import test_checks as races
from tests.execution.checks import test_waits as waits
from tests.execution.checks.pair_builds import pair_build
from tests.execution.forms.checked_runs import assert_all_same, checked
from tests.execution.forms.kernel_runs import KERNELS, in_turn

CHECKS = "wait", "race", "align,barrier", "align,barrier,race,wait"
QUICK = [("gfx1100", "O2", "tiles", "align,barrier,race,wait"), ("gfx90a", "O0", "recursive", "align,barrier")]
OTHERS = ("gfx1100", "O2", "tiles", "race"), ("gfx1200", "O2", "parting", "wait"), ("gfx803", "O0", "col", CHECKS[-1])
CHECKED = ((*each, CHECKS[number % len(CHECKS)]) for number, each in enumerate(in_turn(3)))
RUNS = dict.fromkeys([*QUICK, *OTHERS, *CHECKED])


@pytest.mark.parametrize("processor, level, kernel, check", some_slow(RUNS, quick=QUICK))
def test_what_is_counted_is_the_same(build, monkeypatch, processor, level, kernel, check):
    private = 1024 if kernel == "recursive" else None
    options = {"grid": (256,), "work_group": (128,), "private_size": private}
    assert_all_same(build(processor, level), kernel, KERNELS[kernel], check, **options)
    monkeypatch.setattr("dwarfgpu.execution.forms.followed_waves.LOG_WORDS", 1)  # the log is full at each load
    assert_all_same(build(processor, level), kernel, KERNELS[kernel], check, **options)


PARTS = 10
TARGETS = *races.TARGETS, "gfx900"
QUICK_BUILD = "gfx1100", "O0", "-DFAULTY", 0
PARTS_OF_BUILDS = product(("O0", "O2"), ("-DFAULTY", "-DMENDED"), range(PARTS))
BUILDS = [QUICK_BUILD, *((TARGETS[number % len(TARGETS)], *each) for number, each in enumerate(2 * [*PARTS_OF_BUILDS]))]


@pytest.mark.parametrize("target, level, options, part", some_slow(BUILDS, quick=[QUICK_BUILD]))
def test_findings_are_the_same(require_tool, tmp_path, target, level, options, part):
    clang = require_tool("clang-22")
    for source, kernels in (("pairs.cl", races.RACES), ("waits.cl", waits.KERNELS)):
        path = pair_build(clang, tmp_path, source, target, level, options)
        for number, kernel in enumerate([*kernels][part::PARTS]):
            args = ["zeros(1024)", "arange(512)", *([512] if kernel == "local_argument" else [])]
            for check in dict.fromkeys((CHECKS[(number + part) % len(CHECKS)], *CHECKS[-1:][: bool(part)])):
                assert_all_same(path, kernel, args, check, grid=512, work_group=128)


FEW_WORDS = 1 << 12, 1
LOGGED = product(("gfx1100", "gfx942", "gfx1030", "gfx1201", "gfx803"), ("O0", "O2"), FEW_WORDS, ("race", CHECKS[-1]))
QUICK_LOGGED = "gfx1100", "O2", 1 << 18, "race"


@pytest.mark.parametrize("target, level, words, check", some_slow([QUICK_LOGGED, *LOGGED], quick=[QUICK_LOGGED]))
def test_an_access_finds_what_those_before_have_left(require_tool, tmp_path, monkeypatch, target, level, words, check):
    """Waves have executed many accesses before the check is told of the first one."""
    path = pair_build(require_tool("clang-22"), tmp_path, "logged.cl", target, level)
    numbers = np.random.default_rng(5).integers(0, 4096, 512).astype(np.int32)
    monkeypatch.setattr("dwarfgpu.execution.forms.followed_waves.LOG_WORDS", words)
    for kernel in re.findall(r"kernel void (\w+)", (Path(races.__file__).parent / "logged.cl").read_text()):
        assert_all_same(path, kernel, ["zeros(1024)", numbers], check, grid=(512,), work_group=(128,))


def test_waves_of_both_sizes_have_the_same_code(require_tool, tmp_path):
    for target in ("gfx1100", "gfx1100-64", "gfx1100"):
        path = pair_build(require_tool("clang-22"), tmp_path, "logged.cl", target, "O0")
        checked(path, "counted", 1 << 16, ["zeros(512)", "arange(512)"], "race", grid=(512,), work_group=(128,))


def test_loads_know_the_calls_that_they_are_in(require_tool, tmp_path):
    text = """int __attribute__((noinline)) loaded(global int *at) { return *at; }
    kernel void neighbours(global int *out) {
      out[get_local_id(0)] = 1;
      out[get_local_id(0) + 128] = loaded(out + (get_local_id(0) ^ 64));
    }"""
    source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
    source.write_text(text)
    require_tool("clang-22")
    assert main(["compile", str(source), "--target=gfx1100", "-O2", "-o", path]) == 0
    _device, (_halt, (*_row, calls), *_rest) = checked(
        path, "neighbours", 1, ["zeros(256)"], "race", grid=(128,), work_group=(128,)
    )
    assert sorted(map(len, calls)) == [0, 1]
    assert_all_same(path, "neighbours", ["zeros(256)"], "race", grid=(128,), work_group=(128,))


def test_a_wait_behind_a_load_comes_too_late(require_tool, tmp_path):
    """The load reads what another load, which writes local memory itself, has not written yet."""
    for processor in ("gfx942", "gfx1250"):
        path = pair_build(require_tool("clang-22"), tmp_path, "direct_loads.cl", processor, "O2", "-DFAULT=1")
        assert_all_same(path, "behind", ["zeros(512)", "arange(512)"], "race", grid=256, work_group=64)


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize(
    "check, kinds", [("wait", "s_endpgm"), ("align,barrier", "s_endpgm"), ("race", "swappc|setpc|s_endpgm")]
)
def test_python_executes_only_what_checks_are_told_of(build, monkeypatch, check, kinds, level):
    executed, execute = [], Device.execute

    def noted(device, batch, block):
        executed.extend(device.instruction(address).name for address in block.instructions)
        return execute(device, batch, block)

    monkeypatch.setattr(Device, "execute", noted)
    checked(build("gfx1100", level), "col", 1 << 16, KERNELS["col"], check, grid=(256,), work_group=(128,))
    assert {name for name in executed if not re.search(kinds, name)} == set()
    assert len(executed) < 20
