"""A kernel that goes back is what it was: every register and every byte of memory of all waves."""

import random

import numpy as np
import pytest

from dwarfgpu.execution import halts
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.isa.decoder import decode
from tests.builders.parameters import every, some_slow

FILES = (
    "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co", "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co",
    "fixtures/amdgpu/cl-kernels.gfx1030.w32.O0.v5.co", "fixtures/amdgpu/cl-kernels.gfx1030.w32.O2.v5.co",
    "fixtures/amdgpu/cl-kernels.gfx1200.w32.O0.v5.co", "fixtures/amdgpu/cl-kernels.gfx1200.w32.O2.v5.co")  # fmt: skip
QUICK = (FILES[0], FILES[1], FILES[4], FILES[5])
KERNELS = {
    "divergent": {"out": "zeros(192)", "limit": 40},
    "spaces": {"out": "zeros(192)", "shared_by_host": 256, "table": "arange(64,i4)", "n": 5},
}


def debugging_of(path, kernel, grid=192, seed=None):
    machine = machine_for(path, kernel)
    machine.seed = seed
    return Debugging(launch(machine, path, kernel, grid=grid, work_group=64, args=KERNELS[kernel]))


def state_of(machine):
    """All that waves can see: registers as far as they are known, and memory."""
    registers = []
    for file in machine.files:
        known = file.known
        data = np.array(file.data)
        data[~np.broadcast_to(known.reshape(known.shape + (1,) * (data.ndim - 2)), data.shape)] = 0
        registers.append((known.copy(), data))
    memory = [bytes(block.buffer) for store in machine.memory.stores.values() for block in store.blocks]
    return registers, memory, dict(machine.stops)


def assert_same(state, other):
    for (known, data), (other_known, other_data) in zip(state[0], other[0], strict=False):
        assert (known == other_known).all()
        assert (data == other_data).all()
    for known, _ in other[0][len(state[0]) :]:  # registers that nothing had written then
        assert not known.any()
    assert state[1:] == other[1:]


@every(kernel=KERNELS, path=some_slow(FILES, quick=QUICK))
def test_as_many_steps_back_as_forwards_lead_to_the_same_state(path, kernel):
    chosen = random.Random(f"{path} {kernel}")
    debugging = debugging_of(path, kernel, seed=chosen.choice((None, 7)))
    wave = chosen.randrange(debugging.machine.wave_count)
    debugging.step_instruction(wave)
    states = []
    for _ in range(chosen.randrange(20, 50)):
        states.append(state_of(debugging.machine))
        if debugging.step_instruction(wave).kind != "step":
            break
    while states:
        assert not debugging.reverse_instruction(wave).is_at_start
        assert_same(states.pop(), state_of(debugging.machine))


@pytest.mark.slow
@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=(FILES[0], FILES[4])))
def test_steps_of_lines_and_runs_can_be_taken_back_one_instruction_after_the_other(path):
    chosen = random.Random(path)
    debugging = debugging_of(path, "spaces")
    debugging.break_at("weigh")
    debugging.go_on()
    wave = debugging.machine.wave_count - 1
    debugging.step_line(wave)
    times = {}
    for _ in range(12):
        times[debugging.device.executed] = state_of(debugging.machine)
        chosen.choice((debugging.step_instruction, debugging.step_line))(wave)
    while times:
        debugging.reverse_instruction(wave)
        state = times.pop(debugging.device.executed, None)
        if state is not None:
            assert_same(state, state_of(debugging.machine))
    assert debugging.go_on().has_ended


@every(seed=[None, 3], path=some_slow(FILES, quick=QUICK))
def test_a_kernel_that_went_back_ends_as_one_that_did_not(path, seed):
    straight = debugging_of(path, "spaces", seed=seed)
    while not straight.has_ended:
        straight.go_on()
    other = debugging_of(path, "spaces", seed=seed)
    point = other.break_at("kernels.cl:117", "n == 5")
    while not other.has_ended:
        stop = other.go_on()
        if not stop.has_ended and point.hits < 20:
            other.step_line(min(stop.lanes))
            other.reverse_instruction(min(stop.lanes))
    assert (straight.running.buffer("out") == other.running.buffer("out")).all()
    assert straight.device.executed == other.device.executed


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=(FILES[0], FILES[4])))
def test_breakpoints_and_observers_do_not_change_the_order_of_waves(path):
    straight = debugging_of(path, "spaces")
    straight.go_on()
    other = debugging_of(path, "spaces")
    for place, condition in (("weigh", None), ("kernels.cl:117", "n == 5"), ("kernels.cl:59", "length == 8")):
        other.break_at(place, condition)
    for point in other.points:
        point.ignored = 7
    other.go_on(lambda _batch: False)
    while not other.has_ended:
        other.go_on()
    assert_same(state_of(straight.machine), state_of(other.machine))


@pytest.mark.parametrize("path", some_slow(FILES, quick=QUICK))
def test_breakpoints_are_hit_at_every_instruction_of_code_that_has_run(path):
    debugging = debugging_of(path, "divergent", grid=64)
    addresses = set()
    debugging.go_on(lambda batch: bool(halts.executing(batch).any() and addresses.add(batch.pc)))
    assert debugging.has_ended
    debugging = debugging_of(path, "divergent", grid=64)
    assert debugging.go_on().has_ended  # now its code is compiled, in pieces that are as long as they can be
    device = debugging.device
    names = {address: decode(device.code_at(address), 0, device.processor, device.lanes).name for address in addresses}
    nothing = [address for address in sorted(addresses) if names[address].startswith(("s_wait", "s_nop", "s_delay"))]
    for address in (*nothing[::-1][:4], *random.Random(path).sample(sorted(addresses), 3)):
        point = debugging.break_at(f"*{address:#x}")
        assert debugging.reverse_go_on().pc == address
        debugging.forget(point)
        assert debugging.go_on().has_ended


@pytest.mark.parametrize("path", some_slow(FILES, quick=QUICK))
def test_the_step_back_from_a_fault_leads_to_the_instruction_before_it(path):
    args = {"x": "zeros(64)", "y": "zeros(8)", "a": 0.5, "n": 64}
    machine = machine_for(path, "saxpy")
    debugging = Debugging(launch(machine, path, "saxpy", grid=64, work_group=64, args=args))
    places = []
    debugging.go_on(lambda batch: bool(0 in batch.waves and places.append((debugging.device.executed, batch.pc))))
    assert debugging.device.stopped
    machine = machine_for(path, "saxpy")
    debugging = Debugging(launch(machine, path, "saxpy", grid=64, work_group=64, args=args))
    assert debugging.go_on().kind == halts.FAULT
    assert machine.program_counter(0) == places[-1][1]
    debugging.reverse_instruction(0)
    assert (debugging.device.executed, machine.program_counter(0)) == places[-2]


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=(FILES[0], FILES[4])))
def test_a_wave_that_runs_alone_goes_back_alone(path):
    debugging = debugging_of(path, "divergent")
    debugging.step_line(1)
    debugging.only = 1
    states = []
    for _ in range(60):
        states.append(state_of(debugging.machine))
        debugging.step_instruction(1)
    others = [debugging.machine.program_counter(wave) for wave in (0, 2)]
    for _ in range(60):
        debugging.reverse_instruction(1)
        assert_same(states.pop(), state_of(debugging.machine))
        assert [debugging.machine.program_counter(wave) for wave in (0, 2)] == others
    debugging.reverse_instruction(1)  # to where all waves ran
    debugging.only = None
    assert debugging.go_on().has_ended


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=(FILES[0], FILES[4])))
def test_what_a_user_has_changed_is_not_lost_on_the_way_back(path):
    debugging = debugging_of(path, "divergent")
    debugging.break_at("kernels.cl:102")
    debugging.go_on()
    machine = debugging.machine
    machine.set_register("v1", np.full_like(machine.column("v1").copy(), 77), np.arange(machine.wave_count))
    machine.changes += 1
    for _ in range(3):
        debugging.step_instruction(0)
    for _ in range(3):
        debugging.reverse_instruction(0)
    assert (machine.column("v1")[0] == 77).all()
    debugging.reverse_instruction(0)
    assert not (machine.column("v1")[0] == 77).all()


def test_an_interrupted_way_back_stays_where_it_was():
    debugging = debugging_of(FILES[0], "divergent")
    debugging.break_at("kernels.cl:102")
    debugging.go_on()
    state, executed = state_of(debugging.machine), debugging.device.executed

    def raise_it(_batch):
        raise KeyboardInterrupt

    debugging.history.changed()
    with pytest.raises(KeyboardInterrupt), debugging.history.staying():
        for _ in debugging.history.stretches(raise_it):
            pass
    assert debugging.device.executed == executed
    assert_same(state, state_of(debugging.machine))
    assert debugging.go_on().has_ended


def test_many_checkpoints_are_thinned_and_still_lead_everywhere(monkeypatch):
    from dwarfgpu.execution.control import checkpoints

    monkeypatch.setattr(checkpoints, "INTERVAL", 10)
    monkeypatch.setattr(checkpoints, "MOST", 8)
    debugging = debugging_of(FILES[2], "divergent", grid=64)
    debugging.break_at("kernels.cl:100")
    times, states = [], []
    for _ in range(8):
        debugging.go_on()
        times.append(debugging.device.executed)
        states.append(state_of(debugging.machine))
    assert len(debugging.history.checkpoints) <= 9
    debugging.go_on()
    for time, state in zip(reversed(times), reversed(states), strict=True):
        while debugging.device.executed > time:
            assert not debugging.reverse_go_on().is_at_start
        assert debugging.device.executed == time
        assert_same(state, state_of(debugging.machine))


def test_checkpoints_far_apart_are_divided_on_the_way_back(monkeypatch):
    from dwarfgpu.execution.control import checkpoints

    monkeypatch.setattr(checkpoints, "INTERVAL", 10)
    debugging = debugging_of(FILES[2], "divergent", grid=64)
    debugging.history._spread = 1 << 20
    debugging.go_on(limit=1000)
    before, times = debugging.device.executed, []

    def observe(_batch):
        times.append(debugging.device.executed)

    firsts = []
    for _ in debugging.history.stretches(observe):
        assert times == sorted(times)
        firsts.append((times[0], times[-1]))
        times.clear()
    assert len(firsts) > 30  # the latest first, without a hole
    assert all(last < then for (_first, last), (then, _last) in zip(firsts[1:], firsts, strict=False))
    assert firsts[-1][0] == 0 < before - firsts[0][1] <= 8
    assert len(debugging.history.checkpoints) == 2
