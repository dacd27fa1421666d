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
STORE, ODD = 116, 115
"""The lines of `rounds` that store a number, and that only some lanes execute."""


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
@pytest.mark.sampled(3)
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
@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=[FILES[4]]))
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
@pytest.mark.sampled(3)
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


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=[FILES[4]]))
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


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=[FILES[4]]))
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


@pytest.mark.parametrize("path", some_slow(FILES[::2], quick=[FILES[4]]))
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

    monkeypatch.setattr(checkpoints, "LEAST_LOOKED_AT", 10)
    monkeypatch.setattr(checkpoints, "LOOK", 1)  # a checkpoint takes as long as nothing
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


# --- Searches of the past -----------------------------------------------------------------------------------------


def rounds_of(path, times, *, jit="on", grid=256):
    """A kernel of several waves with barriers, atomic additions, and lanes that go different ways, with breakpoints."""
    arguments = {"out": f"zeros({grid})", "total": "zeros(1)", "tile": 4 * 128, "times": times}
    machine = machine_for(path, "rounds")
    machine.jit = jit
    debugging = Debugging(launch(machine, path, "rounds", grid=grid, work_group=128, args=arguments))
    debugging.history._spread = 8  # several checkpoints
    return debugging


def stops_of(debugging, step):
    """Where waves stop, one stop after the other: the time, the place, the lanes, and all that waves can see."""
    found = []
    while not (halt := step()).has_ended and not halt.is_at_start:
        found.append((debugging.device.executed, halt.pc, halt.lanes, state_of(debugging.machine)))
    return found


GOING = [(*build, jit) for build in (("gfx90a", "O0"), ("gfx1100", "O0"), ("gfx1100", "O2")) for jit in ("on", "off")]


@pytest.mark.parametrize("processor, level, jit", some_slow(GOING, quick=GOING[:3:2]))
def test_going_back_leads_to_each_stop_that_there_was(built, processor, level, jit):
    debugging = rounds_of(built(processor, level), 40, jit=jit)
    # optimizers leave nothing of k, so that each wave would stop each time
    debugging.break_at(f"kernels.cl:{STORE}", "(k & 15) == 7 && i < 200" if level == "O0" else "i == 200")
    debugging.break_at(f"kernels.cl:{ODD}", "k == 27" if level == "O0" else "i == 31")
    forwards = stops_of(debugging, debugging.go_on)
    assert len(forwards) > 3
    backwards = stops_of(debugging, debugging.reverse_go_on)
    assert debugging.device.executed == 0
    assert [each[:3] for each in backwards[::-1]] == [each[:3] for each in forwards]
    for (*_there, before), (*_here, now) in zip(forwards, backwards[::-1], strict=True):
        assert_same(before, now)
    assert [each[:3] for each in stops_of(debugging, debugging.go_on)] == [each[:3] for each in forwards]


@pytest.mark.parametrize("processor", some_slow(["gfx90a", "gfx1100"], quick=["gfx1100"]))
def test_going_back_leads_to_each_change_of_what_is_watched(built, processor):
    debugging = rounds_of(built(processor), 12)
    debugging.step_line(0)
    debugging.watch("out[70]")
    forwards = stops_of(debugging, debugging.go_on)
    backwards = stops_of(debugging, debugging.reverse_go_on)
    assert len(forwards) == len(backwards) == 12
    # forwards waves stop behind the store, on the way back before it
    assert [pc for _time, pc, *_rest in forwards] == [pc for _time, pc, *_rest in backwards[::-1]]
    assert all(there > here for (there, *_), (here, *_) in zip(forwards, backwards[::-1], strict=True))


def counted_runs(debugging, monkeypatch):
    """The instructions that are executed from now on, and how often breakpoints are asked whether waves stop."""
    device, counts = debugging.device, {"executed": 0, "asked": 0}
    run, breaks = device.run, device._breaks

    def counting_run(*arguments, **options):
        before = device.executed
        run(*arguments, **options)
        counts["executed"] += device.executed - before

    def counting_breaks(batch):
        counts["asked"] += 1
        return breaks(batch)

    monkeypatch.setattr(device, "run", counting_run)
    monkeypatch.setattr(device, "_breaks", counting_breaks)
    return counts


def test_the_start_is_reached_without_executing_anything(built, monkeypatch):
    debugging = rounds_of(built(level="O2"), 1_000, grid=128)
    assert debugging.go_on().has_ended
    assert debugging.device.executed > 50_000
    debugging.break_at(f"kernels.cl:{STORE}")
    debugging.points.by_number[1].is_enabled = False  # nothing can stop waves, so nothing is searched
    counts = counted_runs(debugging, monkeypatch)
    assert debugging.reverse_go_on().is_at_start
    assert debugging.device.executed == 0
    assert counts == {"executed": 0, "asked": 0}


@pytest.mark.slow
def test_a_search_executes_the_past_a_few_times_and_asks_only_where_the_last_stop_was(built, monkeypatch):
    debugging = rounds_of(built(level="O2"), 2_000, grid=128)
    debugging.history._spread = 1 << 20  # as if one checkpoint took long
    assert debugging.go_on().has_ended
    executed = debugging.device.executed
    debugging.break_at(f"kernels.cl:{STORE}")
    counts = counted_runs(debugging, monkeypatch)
    assert not debugging.reverse_go_on().is_at_start
    assert executed < counts["executed"] < 4 * executed
    assert counts["asked"] < 500  # of 8,000 times


@pytest.mark.slow
def test_steps_back_do_not_stop_at_breakpoints(built, monkeypatch):
    debugging = rounds_of(built(), 400)
    assert debugging.go_on().has_ended
    debugging.break_at(f"kernels.cl:{STORE}")
    counts = counted_runs(debugging, monkeypatch)
    debugging.reverse_instruction(0)
    assert not counts["asked"]
    debugging.forget(debugging.points.by_number[1])
    debugging.break_at(f"kernels.cl:{ODD}", "k == 390")  # code that was compiled meanwhile does not pass it
    stops = len(stops_of(debugging, debugging.reverse_go_on))
    assert stops
    assert len(stops_of(debugging, debugging.go_on)) == stops


def test_checkpoints_have_a_bound_of_bytes_and_lead_back_to_the_launch(built, monkeypatch):
    from dwarfgpu.execution.control import checkpoints

    debugging = rounds_of(built(), 300)
    history = debugging.history
    history._spread = 1
    first = history.size
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 5 * first)
    monkeypatch.setattr(checkpoints, "INTERVAL", 200)
    monkeypatch.setattr(history, "keep_after", lambda _seconds: history.keep())
    assert debugging.go_on(limit=40 * history.distance).kind == "limit"
    assert 2 < len(history.checkpoints) < 40
    assert first < history.size <= 5 * first
    assert history.start == 0
    ages = [debugging.device.executed - point.time for point in history.checkpoints]
    assert ages[0] - ages[1] > ages[-3] - ages[-2]  # closer, the later they are
    debugging.break_at(f"kernels.cl:{STORE}", "k == 2")
    assert not debugging.reverse_go_on().is_at_start
