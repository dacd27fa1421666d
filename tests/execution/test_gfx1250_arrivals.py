"""Barriers in local memory of GFX12.5: arrivals as the CDNA5 document says (11.2.2), and kernels that wait for them."""

import numpy as np
import pytest

from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.instruction_bench import InstructionBench
from tests.builders.parameters import for_each

LANES = 32


def arrived(state, count):
    """A barrier after an arrival: 29 bits that are missing, less 1; the phase above; and what they are again."""
    missing, phase, again = state % 2**29, state // 2**29 % 8, state // 2**32 % 2**16
    missing -= count
    if missing < 0:
        missing, phase = again, (phase - 1) % 8
    return state // 2**48 << 48 | again << 32 | phase << 29 | missing


@pytest.mark.parametrize("seed", range(5))
def test_arrivals(require_tool, seed):
    it = InstructionBench(require_tool("llvm-mc-22"), "gfx1250", LANES)
    chance = np.random.default_rng(seed)
    cells = it.local[0].view(np.uint64)
    states = [int(chance.integers(4)) << 32 | int(chance.integers(8)) << 29 | int(chance.integers(9)) for _ in range(8)]
    cells[:8] = states
    at, counts = chance.integers(0, 7, LANES), chance.integers(1, 4, LANES)
    it.vectors(*(each.astype(np.uint32) for each in (8 * at, at, counts, np.full(LANES, 77))))
    it.batch.set_exec(0x7FFFFFFD)
    it.run("ds_atomic_barrier_arrive_rtn_b64 v[4:5], v0, v[2:3] offset:8\ns_wait_dscnt 0x0")
    for lane in range(LANES):
        if 0x7FFFFFFD >> lane & 1:  # the upper half of what is given does not count
            place = int(at[lane]) + 1
            assert int(it.read(4)[0][lane]) | int(it.read(5)[0][lane]) << 32 == states[place]
            states[place] = arrived(states[place], int(counts[lane]))
    assert cells[:8].tolist() == states
    it.run("ds_atomic_async_barrier_arrive_b64 v0\ns_wait_asynccnt 0x0")
    for lane in range(LANES):
        if 0x7FFFFFFD >> lane & 1:
            states[int(at[lane])] = arrived(states[int(at[lane])], 1)
    assert cells[:8].tolist() == states


KERNEL = """
@cells = internal addrspace(3) global [64 x i32] poison, align 16
@barriers = internal addrspace(3) global [2 x i64] poison, align 16
define protected amdgpu_kernel void @k(ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="64,64" {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = lshr i32 %id, 5
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wide)
  %is.first = icmp eq i32 %id, 0
  br i1 %is.first, label %set, label %ready
set:
  store i64 133143986207, ptr addrspace(3) @barriers
  store i64 133143986207, ptr addrspace(3) getelementptr (i64, ptr addrspace(3) @barriers, i32 1)
  br label %ready
ready:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %own = getelementptr i64, ptr addrspace(3) @barriers, i32 %wave
  %other.wave = xor i32 %wave, 1
  %other = getelementptr i64, ptr addrspace(3) @barriers, i32 %other.wave
  %cell = getelementptr i32, ptr addrspace(3) @cells, i32 %id
  %other.id = xor i32 %id, 32
  %other.cell = getelementptr i32, ptr addrspace(3) @cells, i32 %other.id
  br label %loop
loop:
  %round = phi i32 [ 0, %ready ], [ %next, %met ]
  %sum = phi i32 [ 0, %ready ], [ %more, %met ]
  %given = add i32 %id, %round
  store i32 %given, ptr addrspace(3) %cell
  fence syncscope("workgroup") release
  ARRIVE
  br label %poll
poll:
  %state = load volatile i64, ptr addrspace(3) %other
  %phase = lshr i64 %state, 29
  %bit = trunc i64 %phase to i32
  %parity = and i32 %bit, 1
  %turn = and i32 %round, 1
  %is.over = icmp ne i32 %parity, %turn
  br i1 %is.over, label %met, label %poll
met:
  fence syncscope("workgroup") acquire
  %got = load i32, ptr addrspace(3) %other.cell
  %more = add i32 %sum, %got
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %next = add i32 %round, 1
  %goes = icmp ult i32 %next, 4
  br i1 %goes, label %loop, label %end
end:
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %more, ptr addrspace(1) %to
  ret void
}
"""
"""Each lane of a wave arrives, and the other wave waits for its 32: both counts of the barriers are 31."""
RETURNING = "%old = call i64 @llvm.amdgcn.ds.atomic.barrier.arrive.rtn.b64(ptr addrspace(3) %own, i64 1)"
LATER = "call void @llvm.amdgcn.ds.atomic.async.barrier.arrive.b64(ptr addrspace(3) %own)"


@pytest.fixture
def compiled(compile_text):
    return lambda text: compile_text("gfx1250", text, "-O1")


@for_each("arrive", RETURNING, LATER)
@for_each("options", {}, {"seed": 1}, {"seed": 2})
@for_each("jit", "off", "on")
def test_waves_wait_for_a_phase(compiled, arrive, options, jit):
    assert 133143986207 == 31 << 32 | 31
    code = compiled(KERNEL.replace("ARRIVE", arrive))
    machine, out = machine_for(code, "k"), np.zeros(64, np.int32)
    machine.jit = jit
    launched = launch(machine, code, "k", grid=(64,), work_group=(64,), args=[out], **options)
    assert machine.run(limit=100_000).has_ended
    assert (launched.buffers["out"] == 4 * (np.arange(64) ^ 32) + 6).all()


@for_each("options", {}, *({"weak_memory": seed} for seed in range(4)))
def test_a_later_arrival_is_behind_what_was_loaded_before(compiled, options):
    """CDNA 5, 11.2.2: it arrives when earlier asynchronous copies of the wave are complete."""
    stored = 'store i32 %given, ptr addrspace(3) %cell\n  fence syncscope("workgroup") release\n  ARRIVE'
    loaded = """%from = getelementptr i32, ptr addrspace(1) %out, i32 %id
  call void @llvm.amdgcn.global.load.async.to.lds.b32(ptr addrspace(1) %from, ptr addrspace(3) %cell, i32 0, i32 0)
  """
    assert stored in KERNEL
    code = compiled(KERNEL.replace(stored, loaded + LATER))
    machine, out = machine_for(code, "k"), np.arange(64, dtype=np.int32)
    launched = launch(machine, code, "k", grid=(64,), work_group=(64,), args=[out], **options)
    assert machine.run(limit=100_000).has_ended
    assert (launched.buffers["out"] == 4 * (np.arange(64) ^ 32)).all()


def test_races_are_not_looked_for_behind_such_barriers(compiled):
    code = compiled(KERNEL.replace("ARRIVE", RETURNING))
    machine = machine_for(code, "k")
    launch(machine, code, "k", grid=(64,), work_group=(64,), args=[np.zeros(64, np.int32)], check="race")
    assert "races are not looked for between waves that meet at a barrier in local memory" in machine.run().reason
