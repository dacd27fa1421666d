"""The barriers of GFX12: signals and waits, as the RDNA4 document says."""

from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution import halts
from dwarfgpu.execution.barriers import GroupBarriers
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders import kept
from tests.builders.instruction_bench import InstructionBench
from tests.builders.parameters import for_each

SOURCE = Path(__file__).parent / "split_barriers.cl"
SIZE, GROUPS = 128, 3


@pytest.fixture(scope="module", params=["O0", "O2"])
def code(request, require_tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("barriers") / "split.co"
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1200"]
    return kept.built([*words, f"-{request.param}", "-g", "-nogpulib", "-w", SOURCE], path)


def run(code, kernel, *buffers, size=SIZE, seed=None):
    machine = machine_for(code, kernel)
    launched = launch(machine, code, kernel, grid=(size * GROUPS,), work_group=(size,), args=list(buffers), seed=seed)
    return machine.run(limit=3_000_000), launched


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.sampled(6)
def test_waves_signal_wait_and_go_on_again(code, seed):
    halt, launched = run(code, "first", np.zeros(SIZE * GROUPS, np.int32), seed=seed)
    assert halt.has_ended
    assert (launched.buffers["out"].reshape(GROUPS, 4, 32).sum(axis=(1, 2)) == 32).all()
    halt, launched = run(code, "ahead", np.zeros(GROUPS, np.int32), np.zeros(SIZE * GROUPS, np.int32), seed=seed)
    assert halt.has_ended
    assert launched.buffers["out"].reshape(GROUPS, 4, 32)[:, :, 0].tolist() == [[7, 1, 1, 1]] * GROUPS
    halt, launched = run(code, "turns", np.zeros(SIZE * GROUPS, np.int32), seed=seed)
    assert halt.has_ended
    assert (launched.buffers["out"] == 100).all()


def test_waves_that_have_ended_and_the_state_of_a_barrier(code):
    halt, launched = run(code, "leaving", np.zeros(SIZE * GROUPS, np.int32))
    assert halt.has_ended
    assert launched.buffers["out"].reshape(GROUPS, 4, 32)[:, :, 0].tolist() == [[1, 1, 1, 0]] * GROUPS
    halt, launched = run(code, "state", np.zeros(SIZE * GROUPS, np.int32))  # members from bit 4 on, and validity
    assert halt.has_ended
    assert (launched.buffers["out"] == (4 << 4 | 1)).all()
    halt, launched = run(code, "state", np.zeros(32 * GROUPS, np.int32), size=32)  # a group of one wave has none
    assert (launched.buffers["out"][:32] == 0).all()


def test_signals_are_counted_as_the_document_says():
    barriers = GroupBarriers()
    alive = np.array([3])
    barriers.use(np.array([0, 0, 0]), alive)
    released = []
    barriers.on_complete = lambda: released.append(True)
    first, others = WaveBatch([1], 32, 0, 0), WaveBatch([0, 2], 32, 0, 0)
    assert barriers.signal(first) == 1
    assert barriers.state(first, is_group=True) == 1 << 16 | 3 << 4 | 1
    assert barriers.state(first, is_group=False) == 3 << 4 | 1
    assert barriers.go_on(others).tolist() == [False, False]
    saved = barriers.saved()
    assert (barriers.signal(others), released) == (0, [True])
    assert barriers.signals.tolist() == [0]
    assert barriers.go_on(others).tolist() == [True, True]
    assert barriers.go_on(others).tolist() == [False, False]
    barriers.restore(saved, alive)
    alive[0] = 1  # the others end
    barriers.check()
    assert barriers.go_on(first).tolist() == [True]


def test_waves_wait_for_ever_but_not_at_barriers_of_traps(require_tool, compile_text):
    path = compile_text("gfx1200", "kernel void k() { __builtin_amdgcn_s_barrier_wait(-1); }", "-x", "cl")
    machine = machine_for(path, "k")
    launch(machine, path, "k", grid=(64,), work_group=(64,), args=[])
    assert machine.run().kind == halts.STUCK
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1200", 32)
    it.batch.scc = 1
    it.run("s_barrier_signal -2\ns_barrier_signal_isfirst -2\ns_barrier_wait -2\ns_barrier_signal 0")
    assert it.batch.scc == 0


@for_each("text", "s_barrier_signal 1", "s_barrier_signal m0", "s_barrier_wait 3",
                                  "s_get_barrier_state s0, 2")  # fmt: skip
def test_named_barriers_stop_the_wave(require_tool, text):
    with pytest.raises(UnknownInstruction, match="of a named barrier"):
        InstructionBench(require_tool("llvm-mc-22"), "gfx1200", 32).run(text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 5])
def test_the_way_back_leads_through_barriers(code, seed):
    """What waves have signalled is part of what a checkpoint keeps."""
    from dwarfgpu.execution.control.debugging import Debugging

    machine = machine_for(code, "turns")
    out = np.zeros(SIZE * GROUPS, np.int32)
    launched = launch(machine, code, "turns", grid=(SIZE * GROUPS,), work_group=(SIZE,), args=[out], seed=seed)
    debugging = Debugging(launched)
    for limit in (100, 150):
        debugging.go_on(limit=limit)
    debugging.history.keep(is_fixed=True)
    signals = debugging.device.barriers.signals.copy()
    time = debugging.device.executed
    assert debugging.go_on().has_ended
    assert (launched.buffers["out"] == 100).all()
    debugging.history.go_to(time)
    assert (debugging.device.barriers.signals == signals).all()
    assert debugging.go_on().has_ended
    assert (launched.buffers["out"] == 100).all()
    assert debugging.reverse_go_on().is_at_start
    assert not debugging.device.barriers.signals.any()
    assert debugging.go_on().has_ended
    assert (launched.buffers["out"] == 100).all()
