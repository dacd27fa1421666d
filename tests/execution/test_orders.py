"""The orders in which waves run: fair without a seed, and with seeds so different that races show."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders import kept
from tests.builders.parameters import every

HERE = Path(__file__).parent
GROUPS, GROUP = 16, 256
COUNT = GROUPS * GROUP
ITEMS = np.arange(COUNT, dtype=np.int32)
LOCAL = ITEMS % GROUP
SEEDS = range(12)
RACES = {  # by kernel: the arguments, the sizes of the output and of local memory, the right result
    "reversed": (["zeros(4096)", 1024], GROUP - 1 - LOCAL),
    "sum_of_group": (["zeros(16)", 1024], np.full(GROUPS, 255 * 128)),
    "shifted_in_turns": (["zeros(4096)", 1024], LOCAL),       "one_buffer_of_two": (["zeros(4096)", 2048], LOCAL + 6),
    "counted_plainly": (["zeros(1)"], [COUNT // 64]),         "largest": (["zeros(1)", "zeros(1)"], [16]),
    "message": (["ones(16)", "zeros(8)", "zeros(128)"], np.ones(16)),
    "listed": (["zeros(16)", "zeros(1)"], np.ones(GROUPS)),
    "smoothed": (["zeros(4096)", "ones(4096)"], np.full(COUNT, 2)),
    "taken_twice": (["zeros(1)", "zeros(1)"], [1])}  # fmt: skip
PROCESSORS = ("gfx90a", pytest.param("gfx1100", marks=pytest.mark.slow))


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    clang = require_tool("clang-22")
    folder = tmp_path_factory.mktemp("races")

    @cache
    def build(processor: str, *options: str) -> str:
        words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-O2", "-g"]
        words += [*options, "-w", "-nogpulib", "-include", str(HERE / "kernels.h"), str(HERE / "races.cl")]
        return kept.built(words, folder / f"races.{processor}{''.join(options)}.co")

    return build


def result(path, kernel, args, groups=GROUPS, **options):
    machine = machine_for(path, kernel)
    done = launch(machine, path, kernel, grid=groups * GROUP, work_group=GROUP, args=args, **options)
    halt = machine.run(limit=2_000_000)
    assert halt.has_ended, halt
    return next(iter(done.buffers.values())).copy()


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
def test_races_show_within_twelve_seeds(built, processor):
    path = built(processor)
    hidden = [
        kernel
        for kernel, (args, right) in RACES.items()
        if all((result(path, kernel, args, seed=seed) == right).all() for seed in SEEDS)
    ]
    assert len(hidden) <= 1, hidden


@pytest.mark.slow
@every(processor=PROCESSORS, kernel=RACES)
def test_without_the_race_all_orders_give_the_same(built, processor, kernel):
    args, right = RACES[kernel]
    for seed in (None, 0, 1, 2):
        assert (result(built(processor, "-DMENDED"), kernel, args, seed=seed) == right).all()


@pytest.mark.slow
@every(seed=[None, 1], processor=PROCESSORS)
def test_work_groups_that_wait_for_a_lock_all_get_it(built, processor, seed):
    assert result(built(processor), "in_turns", ["zeros(1)", "zeros(1)", 4], groups=6, seed=seed).tolist() == [6]


SIZES = f"--grid={COUNT}", f"--work-group={GROUP}"


@pytest.mark.parametrize("words, option, seeds", [
    (["--seeds=4"], "seed", [0, 1, 2, 3]), (["--seeds=3", "--seed=5"], "seed", [5, 6, 7]),
    (["--seeds=2", "--weak-memory=9"], "weak-memory", [9, 10])])  # fmt: skip
@pytest.mark.sampled(6)
def test_results_that_depend_on_the_order_are_told_by_seeds(built, capsys, words, option, seeds):
    command = "run", built("gfx1100"), "counted_plainly", "zeros(1)", *SIZES
    assert main([*command, *words, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["option"], report["seeds"], report["ended"]) == (option, seeds, len(seeds))
    differing = [result for result in report["results"] if result["differs"]]
    assert len(differing) == 1
    for group in differing[0]["groups"]:
        for seed in group["seeds"]:
            path = built("gfx1100")
            words = {"weak_memory": seed} if option == "weak-memory" else {"seed": seed}
            (value,) = result(path, "counted_plainly", ["zeros(1)"], **words).tolist()
            assert value == (group["value"] if group["differing"] else differing[0]["groups"][1]["first_value"])


def test_results_that_do_not_depend_on_the_order_are_the_same(built, capsys):
    command = "run", built("gfx1100", "-DMENDED"), "reversed", "zeros(4096)", "1024", *SIZES, "--seeds=3"
    assert main([*command]) == 0
    assert "3 runs with seeds 0-2, all have ended\nall results are the same\n" in capsys.readouterr().out
    assert main([*command, "--check"]) == 2
    assert "--check is for one run" in capsys.readouterr().err
