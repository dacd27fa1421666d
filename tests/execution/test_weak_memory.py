"""Memory as weak as the model allows: litmus tests with all steps of their sequences, and without one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.caches import AGENT, OWN_UNIT, SYSTEM, WORK_GROUP, Caches, invalidated_kinds
from dwarfgpu.execution.caches import reach_of_access as reach
from dwarfgpu.execution.device_memory import MemorySegment
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import for_each, share
from tests.execution.litmus import FORBIDDEN, Litmus, every_litmus, steps

KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co"
SAXPY = {"x": "arange(640)", "y": "ones(640)", "a": 0.5, "n": 600}
needs_clang = pytest.mark.skipif(shutil.which("clang-22") is None, reason="clang-22 is not installed")


class Always:
    """Chance that always, or never, lets a cache do what it may."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, count: int | None = None):
        return self.number if count is None else np.full(count, self.number)


def caches(family: str, chance: float, agents: int = 1):
    segment = MemorySegment.of(0x1000, np.zeros(64, np.uint8))
    return Caches(family, agents, [segment], Always(chance)), segment.views[4]


def one(number: int, kind: type = np.int64):
    return np.array([number], kind)


def read(cached: Caches, unit: int, word: int, scope: int) -> int:
    return int(cached.read(one(unit), one(word), scope)[0])


def store(cached: Caches, unit: int, word: int, value: int, scope: int, bits: int = 0xFFFFFFFF) -> None:
    cached.store(one(unit), one(word), one(value, np.uint32), one(bits, np.uint32), scope)


@pytest.mark.parametrize("family", ["GFX9", "GFX90A", "GFX942", "GFX10", "GFX11", "GFX12", "GFX12.5"])
def test_a_cache_is_stale_until_it_is_invalidated(family):
    cached, _memory = caches(family, 0)
    assert read(cached, 0, 3, OWN_UNIT) == 0
    store(cached, 1, 3, 7, OWN_UNIT)
    assert read(cached, 0, 3, OWN_UNIT) == 0
    assert read(cached, 1, 3, OWN_UNIT) == 7
    cached.invalidate(one(0), (0,))
    store(cached, 1, 3, 8, OWN_UNIT)  # what is about to change may be fetched before
    assert read(cached, 0, 3, OWN_UNIT) == 7


@pytest.mark.parametrize("family", ["GFX90A", "GFX942", "GFX12", "GFX12.5"])
def test_stores_stay_in_a_cache_until_they_are_written_back(family):
    cached, memory = caches(family, 0.99, agents=2)
    store(cached, 0, 5, 9, OWN_UNIT)
    assert memory[5] == 0
    assert read(cached, 4, 5, SYSTEM) == 0
    assert read(cached, 0, 5, WORK_GROUP) == 9
    cached.write_back(one(0), SYSTEM)
    assert memory[5] == 9
    assert read(cached, 4, 5, SYSTEM) == 9


def test_stores_of_agents_go_to_memory():
    cached, memory = caches("GFX12", 0.99, agents=2)
    store(cached, 0, 5, 9, OWN_UNIT)
    store(cached, 0, 5, 10, SYSTEM, 0xFFFF)
    assert memory[5] == 10
    cached.clean()
    assert memory[5] == 10
    cached, memory = caches("GFX90A", 0.99, agents=2)
    store(cached, 0, 5, 0x11, OWN_UNIT, 0xFF)
    store(cached, 4, 5, 0x2200, OWN_UNIT, 0xFF00)
    cached.clean()
    assert memory[5] == 0x2211


def test_atomic_operations_of_all_units_count():
    cached, memory = caches("GFX942", 0.3)

    def add(words, place):
        for index in place.tolist():
            words[index] += 1

    for _ in range(5):
        cached.change(np.arange(4), np.full((4, 1), 6), AGENT, add)
    cached.clean()
    assert memory[6] == 20


def test_the_reach_of_an_access():
    assert reach("GFX12", "load", {"scope": 3}) == SYSTEM
    assert reach("GFX942", "store", {"sc0": 1}) == WORK_GROUP
    assert reach("GFX942", "rmw-return", {"sc0": 1}) == AGENT
    assert reach("GFX90A", "load", {"glc": 1}) == AGENT
    assert reach("GFX10", "load", {"glc": 1}) == WORK_GROUP
    assert reach("GFX11", "load", {"glc": 1}) == AGENT
    assert reach("GFX9", "load", {}) == OWN_UNIT
    assert invalidated_kinds("GFX12", "global_inv", {"scope": 3}) == (0, 1)
    assert invalidated_kinds("GFX12", "global_inv", {"scope": 2}) == (0,)
    assert invalidated_kinds("GFX942", "buffer_inv", {"sc1": 1}) == (0, 1)
    assert invalidated_kinds("GFX90A", "buffer_invl2", {}) == (1,)


UNOPTIMIZED = ("gfx90a.w64.O0", "gfx942.w64.O0", "gfx1030.w32.O0", "gfx1100.w32.O0", "gfx1200.w32.O0")
INTO_OUT = {"out": "zeros(640)"}
WITHOUT_RACE = [  # fixtures, kernels, arguments; -O0 reaches private memory by flat, scratch and buffer instructions
    *(("cl", build, "saxpy", SAXPY) for build in ("gfx1100.w32.O2", "gfx90a.w64.O2", *UNOPTIMIZED)),
    ("cl", "gfx90a.w64.O0", "divergent", INTO_OUT | {"limit": 40}),
    ("hip", "gfx1100.w32.O0", "divergent", INTO_OUT | {"limit": 8})]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("language, build, kernel, args", WITHOUT_RACE)
def test_a_kernel_without_a_race_computes_the_same(language, build, kernel, args):
    path, results = f"fixtures/amdgpu/{language}-kernels.{build}.v5.co", []
    count, output = (640, "y") if kernel == "saxpy" else (64, "out")
    for options in ({}, {"weak_memory": 0}, {"weak_memory": 3}):
        machine = machine_for(path, kernel)
        done = launch(machine, path, kernel, grid=count, work_group=64, args=args, **options)
        assert machine.run().has_ended
        results.append(done.buffers[output].copy())
    assert all((results[0] == result).all() for result in results[1:])


def test_a_seed_gives_the_same_run_again():
    runs = []
    for _ in range(2):
        machine = machine_for(KERNELS, "saxpy")
        launch(machine, KERNELS, "saxpy", grid=640, work_group=64, args=SAXPY, weak_memory=5)
        machine.run(limit=300)
        runs.append([(machine.program_counter(wave), len(machine.device.outstanding(wave))) for wave in range(20)])
    assert runs[0] == runs[1]
    assert any(count for _pc, count in runs[0])


@for_each("options, message",
    ({"weak_memory": -1}, "negative"),            ({"agents": 2}, "weak memory"),
    ({"weak_memory": 1, "agents": 9}, "1 to 8"),  ({"weak_memory": 1, "fine_grained": ["z"]}, "no buffer"))  # fmt: skip
def test_what_weak_memory_cannot_be(options, message):
    machine = machine_for(KERNELS, "saxpy")
    with pytest.raises(UsageError, match=message):
        launch(machine, KERNELS, "saxpy", grid=64, work_group=64, args=SAXPY, **options)


def outcomes_without(litmus: Litmus, path: Path, kinds: tuple[str, ...], tests: int, seeds: int) -> dict[str, bool]:
    """Return for each step whose text begins with one of some words whether its absence shows."""
    shown = {}
    for step in steps(path, litmus.target):
        if not step.text.startswith(kinds):
            continue
        changed = step.without(path)
        shown[f"{step.text} at {step.offset:#x}"] = any(
            litmus.is_forbidden(outcome) for seed in range(seeds) for outcome in litmus.outcomes(changed, seed, tests)
        )
    return shown


@needs_clang
@for_each("litmus",
    Litmus("mp", "gfx1100", "agent"), Litmus("sb", "gfx900", "agent"), Litmus("mp", "gfx942", "agent"),
    Litmus("mp", "gfx1200", "workgroup", "wgp"), Litmus("mp", "gfx900", "workgroup", "cu", "local global"),
    ids=lambda litmus: litmus.label)  # fmt: skip
@pytest.mark.sampled(6)
def test_what_is_forbidden_does_not_show(litmus, tmp_path):
    outcomes = litmus.outcomes(litmus.build(tmp_path), 0, 160)
    assert outcomes.total() == 160
    assert not [outcome for outcome in outcomes if litmus.is_forbidden(outcome)]


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("litmus", [*every_litmus()][::5], ids=lambda litmus: litmus.label)
def test_what_is_forbidden_shows_in_no_litmus_test(litmus, tmp_path):
    """The graphs of states in ``litmus_graph`` say it for all seeds; this is the machine itself."""
    path = litmus.build(tmp_path)
    for seed in range(share(2, 2)):
        assert not [outcome for outcome in litmus.outcomes(path, seed, share(200, 2)) if litmus.is_forbidden(outcome)]
    assert set(FORBIDDEN) >= {litmus.name}


SHOWING = {
    Litmus("mp", "gfx1200", "system"): ("global_inv", "global_wb", "s_wait_storecnt", "s_wait_loadcnt"),
    Litmus("mp", "gfx1100", "agent"): ("buffer_gl0_inv", "buffer_gl1_inv", "s_waitcnt_vscnt"),
    Litmus("mp", "gfx90a", "system"): ("buffer_invl2", "buffer_wbinvl1_vol", "buffer_wbl2"),
    Litmus("mp", "gfx942", "agent"): ("buffer_inv", "buffer_wbl2"),
    Litmus("mp", "gfx900", "agent"): ("buffer_wbinvl1_vol",)}  # fmt: skip
"""Steps whose absence shows, by the words that their instructions begin with."""


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("litmus", tuple(SHOWING), ids=lambda litmus: litmus.label)
def test_each_missing_step_shows(litmus, tmp_path):
    shown = outcomes_without(litmus, litmus.build(tmp_path), SHOWING[litmus], 1600, 12)
    assert [step for step, does_show in shown.items() if not does_show] == []
