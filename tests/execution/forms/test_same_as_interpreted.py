"""Kernels that run as forms, against the same kernels interpreted: every register and every byte."""

import numpy as np
import pytest

from dwarfgpu.execution.breakpoints import Breakpoint
from dwarfgpu.execution.forms import native
from dwarfgpu.execution.forms.compiled_forms import HOT
from dwarfgpu.execution.forms.engine import library
from dwarfgpu.execution.forms.native import CompilerError
from dwarfgpu.execution.forms.program import FormProgram
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.audits.judge.test_frames_by_code import by_hand
from tests.builders.parameters import some_slow
from tests.execution.forms.kernel_runs import (
    CALLED,
    JUMPS,
    KERNELS,
    assert_same,
    in_turn,
    order_of,
    prepared,
    ready,
    state,
)

HALF = 128


WAYS = 0, HOT, 1
"""Interpreted, as forms, and as stretches wherever that is possible."""


def all_ways(path, kernel, count=256, *, in_step=False):
    """Return devices that are about to run a kernel in each way."""
    return [ready(path, kernel, hot, count, in_step=in_step)[0] for hot in WAYS]


in_both_orders = pytest.mark.parametrize("in_step", [False, True], ids=["by wave", "in step"])
"""Waves run one after the other, or all of them an instruction before any goes on."""


def assert_all_same(interpreted, *others):
    for other in others:
        assert_same(interpreted, other)


QUICK = [
    *(("gfx1100", "O2", kernel, False) for kernel in ("red", "tiles", "narrow", "totals")),
    ("gfx803", "O0", "col", False), ("gfx90a", "O2", "tiles", True),
    ("gfx1100", "O0", "recursive", True), ("gfx1200", "O2", "kinds", True),
]  # fmt: skip
OTHERS = ("gfx1100", "O2", "kinds", False), ("gfx90a", "O0", "counted", False)
RUNS = dict.fromkeys([*QUICK, *OTHERS, *((*each, bool(number % 2)) for number, each in enumerate(in_turn(3)))])


@pytest.mark.parametrize("processor, level, kernel, in_step", some_slow(RUNS, quick=QUICK))
def test_three_ways_are_the_same(build, processor, level, kernel, in_step):
    path = build(processor, level)
    devices = all_ways(path, kernel, in_step=in_step)
    for device in devices:
        device.run()
    assert not devices[0].waiting
    assert devices[1].compiled.counted()[1] > 10
    assert_all_same(*devices)


@pytest.mark.slow
@pytest.mark.parametrize("processor, level, kernel", [
    ("gfx90a", "O2", "sub"), ("gfx1100", "O0", "red"), ("gfx90a", "O0", "quotients"), ("gfx1200", "O2", "bytes"),
])  # fmt: skip
def test_each_instruction_leaves_the_same_state(build, processor, level, kernel):
    """A breakpoint at each address in turn: what waves have when they first come there."""
    path = build(processor, level)
    probe, _ = ready(path, kernel, HOT)
    probe.run()
    addresses = [
        address for program in probe.compiled._programs.values() for address in range(program.start, program.end, 4)
        if program._content[(address - program.start) // 4].any()
    ]  # fmt: skip
    assert len(addresses) > 20
    for number, address in enumerate(addresses):
        devices = all_ways(path, kernel)[: 2 if number % 29 else 3]  # other stretches end before each breakpoint
        for device in devices:
            device.add_breakpoint(Breakpoint(1, [address]))
            device.run()
        assert_all_same(*devices)
        assert len({device.halt is None for device in devices}) == 1


@pytest.mark.parametrize(
    "level, kernel, step, in_step",
    [
        ("O2", "parting", 499, True), ("O0", "recursive", 4019, True), ("O2", "tiles", 61, False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (
            ("O2", "parting", 499, False), ("O0", "recursive", 4019, False), ("O2", "tiles", 61, True),
        )),
    ],
)  # fmt: skip
def test_limits_and_turns_are_the_same(build, level, kernel, step, in_step):
    devices = all_ways(build("gfx1100", level), kernel, in_step=in_step)
    for at in range(step, 12 * step, step):
        for device in devices:
            device.run(at)
        assert_all_same(*devices)
        assert not in_step or [order_of(device) for device in devices] == [order_of(devices[0])] * len(devices)
    for device in devices:
        device.run()
    assert_all_same(*devices)


def test_a_breakpoint_stops_waves_and_can_be_removed(build):
    devices = all_ways(build("gfx1100", "O2"), "col", in_step=True)
    points = []
    for device in devices:
        device.run(10_000)
        points.append(Breakpoint(1, [device.batches[0].pc]))
        device.add_breakpoint(points[-1])
    for _ in range(6):
        for device in devices:
            device.run()
        assert len({device.halt.pc for device in devices}) == 1
        assert_all_same(*devices)
    for device, point in zip(devices, points, strict=True):
        device.remove_breakpoint(point)
        device.run()
    assert_all_same(*devices)


@pytest.mark.parametrize("processor", ["gfx1100", "gfx90a"])
@pytest.mark.parametrize("is_permissive", [False, True])
@in_both_orders
def test_faults_are_the_same(build, processor, is_permissive, in_step):
    """Some waves reach behind a buffer; nothing of their instruction is done, and the others go on."""
    path, devices = build(processor, "O2"), []
    for hot in WAYS:
        machine = machine_for(path, "saxpy")
        machine.is_permissive = is_permissive
        small = np.ones(100, np.float32)
        launch(machine, path, "saxpy", grid=(4096,), work_group=(128,), args=[small, small.copy(), 2.0, 4096])
        devices.append(prepared(machine, hot, in_step=in_step))
        devices[-1].run(stops_at_faults=True)
    assert [reason for _batch, reason in devices[0].stopped] == [reason for _batch, reason in devices[1].stopped]
    assert devices[0].stopped
    assert_all_same(*devices)


@pytest.mark.parametrize("processor, size", [("gfx1100", 200), ("gfx90a", 300)])
@in_both_orders
def test_waves_that_leave_their_private_memory_are_the_same(build, processor, size, in_step):
    """Waves go alone through private memory, so others have gone on when one refuses."""
    path, devices = build(processor, "O0"), []
    depths = (np.arange(256) // 32 * 3 + 1).astype(np.int32)
    for hot in WAYS:
        machine, args = machine_for(path, "recursive"), [np.zeros(256, np.int32), depths]
        launch(machine, path, "recursive", grid=(256,), work_group=(128,), args=args, private_size=size)
        devices.append(prepared(machine, hot, in_step=in_step))
        devices[-1].run()
    assert devices[0].stopped
    assert_all_same(*devices)
    assert [device.stops for device in devices] == [devices[0].stops] * 3


@in_both_orders
def test_what_python_changes_is_seen_by_forms(build, in_step):
    devices = all_ways(build("gfx1100", "O2"), "col", in_step=in_step)
    for device in devices:
        device.run(5_000)
        device.write_back()
        device.machine.set_register("v1", 3)
        device.run(9_000)
        device.batches[0].scalar[3] = 77
        device.batches[0].vector[1] = np.full((1, 1), 2, np.uint32)
        device.run(12_000)
    assert_all_same(*devices)
    saved = [device.saved() for device in devices]
    before = [state(device) for device in devices]
    for device in devices:
        device.run(15_000)
    assert_all_same(*devices)
    for device, each in zip(devices, saved, strict=True):
        device.restore(each)
    assert [state(device) for device in devices] == before


def test_python_executes_all_where_nothing_can_be_compiled(build, monkeypatch):
    def fail(*_arguments):
        raise CompilerError(RuntimeError("no memory that can be executed"))

    monkeypatch.setattr(FormProgram, "fill", fail)
    devices = all_ways(build("gfx1100", "O2"), "red")
    for device in devices:
        device.run()
    assert devices[1].compiled.problem == "no memory that can be executed"
    assert_all_same(*devices)


@in_both_orders
def test_calls_and_returns_are_noted_and_a_far_branch_is_no_return(compile_text, in_step):
    path = compile_text("gfx1100", by_hand(JUMPS, CALLED), "-x", "assembler")
    KERNELS["kernel"] = ()
    for step in (1, 7, 200):
        devices = all_ways(path, "kernel", 64, in_step=in_step)
        for limit in range(step, 200, step):
            for device in devices:
                device.run(limit)
            assert_all_same(*devices)


def test_what_is_compiled_is_kept_on_disk(build, tmp_path, monkeypatch):
    """The second process that runs a kernel has nothing to compile; a library is in place of a process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    devices = []
    for _process in range(2):
        library.cache_clear()
        devices = all_ways(build("gfx1100", "O2"), "col")
        for device in devices:
            device.run()
        assert_all_same(*devices)
        monkeypatch.setattr(native, "_writer", None)
    assert not any(device.compiled.problem for device in devices[1:])
