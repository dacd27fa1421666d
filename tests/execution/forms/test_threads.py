"""Work-groups that run on several threads: they compute what they compute one after the other."""

import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution.forms import compiled_rounds
from dwarfgpu.execution.forms.engine import FormLibrary
from dwarfgpu.execution.forms.program import FormProgram
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_slow
from tests.execution.forms.kernel_runs import KERNELS, assert_same, in_turn, memory, prepared, state

IN_ORDER = {"totals"}
"""The kernels with atomic operations whose results depend on the order of work-groups."""
RACING = {"in_rows"}
"""The kernels in which work-groups access what others write."""
QUICK = (
    ("gfx1100", "O2", "parting"), ("gfx1100", "O2", "counted"), ("gfx90a", "O2", "col"), ("gfx90a", "O2", "totals"),
    ("gfx1200", "O2", "tiles"), ("gfx1100", "O0", "recursive"),
)  # fmt: skip
SOURCE = """
kernel void sums(global uint *narrow, global ulong *wide, global int *least, int rounds) {
  int own = get_global_id(0);
  for (int i = 0; i < rounds; i++) {
    __opencl_atomic_fetch_add((global atomic_uint *)&narrow[own & 1], own + i, __ATOMIC_RELAXED, 2);
    __opencl_atomic_fetch_add((global atomic_ulong *)&wide[i & 1], (ulong)own << 20, __ATOMIC_RELAXED, 2);
    __opencl_atomic_fetch_xor((global atomic_uint *)&narrow[2], own * 7 + i, __ATOMIC_RELAXED, 2);
    __opencl_atomic_fetch_min((global atomic_int *)least, 5 - own, __ATOMIC_RELAXED, 2);
  }
}
kernel void tickets(global uint *count, global uint *taken, int rounds) {
  for (int i = 0; i < rounds; i++)
    taken[__opencl_atomic_fetch_add((global atomic_uint *)count, 1, __ATOMIC_RELAXED, 2)] += 1;
}
kernel void waits(global atomic_uint *flag, global uint *out, int rounds) {
  if (get_local_id(0) == 0) {
    if (get_group_id(0) == 0) __opencl_atomic_store(flag, rounds, __ATOMIC_RELEASE, 2);
    else while (__opencl_atomic_load(flag, __ATOMIC_ACQUIRE, 2) != rounds);
  }
  out[get_global_id(0)] = rounds;
}
kernel void floats(global float *sum, global uint *out, int rounds) {
  for (int i = 0; i < rounds; i++) __opencl_atomic_fetch_add((global atomic_float *)sum, 1, __ATOMIC_RELAXED, 2);
}
"""
COUNT, ROUNDS = 2048, 40


@pytest.fixture
def phases(monkeypatch):
    """Anything is worth several threads; return a list with how many there were each time."""
    found, plain = [], compiled_rounds.CompiledRound._run_at_once

    def run(self, ready):
        found.append(self._threads)
        plain(self, ready)

    monkeypatch.setattr(compiled_rounds, "LEAST", 0)
    monkeypatch.setattr(compiled_rounds, "processors", lambda: 4)
    monkeypatch.setattr(compiled_rounds.CompiledRound, "_run_at_once", run)
    return found


@pytest.fixture(scope="module")
def atomics(require_tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("atomics")
    source = folder / "atomics.cl"
    source.write_text(SOURCE)
    clang, header = require_tool("clang-22"), Path(__file__).parents[1] / "kernels.h"

    def build(processor):
        path = str(folder / f"{processor}.co")
        words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -O2 -g -w -nogpulib -include {header}"
        subprocess.run([clang, *words.split(), source, "-o", path], check=True)
        return path

    return build


def device_of(path, kernel, hot, jobs, args, count=256, *, permissive=False):
    """Return a device whose many small work-groups are about to run."""
    machine = machine_for(path, kernel)
    machine.is_permissive, machine.jobs = permissive, jobs
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    private = 1024 if kernel == "recursive" else None
    options = {"grid": (count,), "work_group": (32,), "private_size": private, "permissive": permissive}
    launched = launch(machine, path, kernel, args=args, **options)
    return prepared(machine, hot), launched


@pytest.mark.parametrize(
    "processor, level, kernel",
    some_slow(in_turn(2, of=[each for each in KERNELS if each not in RACING], also=QUICK), quick=QUICK[::2]),
)
def test_work_groups_do_the_same_at_once(build, phases, processor, level, kernel):
    devices = [device_of(build(processor, level), kernel, hot, None, KERNELS[kernel])[0] for hot in (0, 3, 200)]
    for device in devices:
        device.run(stops_at_faults=True)
        assert_same(devices[0], device)
    assert not phases or kernel not in IN_ORDER
    if kernel not in IN_ORDER and (processor, level, kernel) in QUICK and level == "O2":
        assert phases


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_atomic_operations_of_all_work_groups_are_exact(atomics, phases, processor):
    rounds = 10 * ROUNDS  # as long as threads need to disturb each other
    args = np.zeros(3, np.uint32), np.zeros(2, np.uint64), np.zeros(1, np.int32), rounds
    device, launched = device_of(atomics(processor), "sums", 100, None, args, COUNT)
    device.run()
    own, turn = np.arange(COUNT, dtype=np.uint32)[:, None], np.arange(rounds, dtype=np.uint32)
    narrow = [
        *((own[first::2] + turn).sum(dtype=np.uint32) for first in (0, 1)),
        np.bitwise_xor.reduce(own * 7 + turn, None),
    ]
    assert launched.buffers["narrow"].tolist() == narrow
    assert launched.buffers["wide"].tolist() == [int(own.sum()) * (rounds // 2) << 20] * 2
    assert launched.buffers["least"].tolist() == [6 - COUNT]
    assert phases


def test_global_atomic_operations_are_those_of_the_host(atomics, monkeypatch):
    """Also where threads never disturb each other while a test runs."""
    texts, plain = set(), FormLibrary.compile

    def compiled(self, given, level=0):
        given = [*given]
        texts.update(text for text, _declared in given)
        plain(self, given, level)

    monkeypatch.setattr(FormLibrary, "compile", compiled)
    monkeypatch.setattr(FormProgram, "_forms", {})
    args = np.zeros(3, np.uint32), np.zeros(2, np.uint64), np.zeros(1, np.int32), 2
    device, _ = device_of(atomics("gfx90a"), "sums", 1 << 20, None, args)
    device.run()
    assert sum("cmpxchg" in text for text in texts) == 4


@pytest.mark.parametrize("kernel", ["tickets", "waits", "floats"])
@pytest.mark.parametrize("processor", some_slow(["gfx90a", "gfx942", "gfx1100", "gfx1200"], quick=["gfx1200"]))
def test_threads_are_used_where_order_makes_no_difference_or_if_asked_for(atomics, phases, processor, kernel):
    """What other work-groups have done before is seen by atomics that return it, and by loops that wait for it."""
    size = COUNT * ROUNDS if kernel == "tickets" else COUNT
    args = np.zeros(1, np.float32 if kernel == "floats" else np.uint32), np.zeros(size, np.uint32), ROUNDS
    for jobs in (None, 4):
        device, launched = device_of(atomics(processor), kernel, 100, jobs, args, COUNT)
        device.run()
        assert device.rest().has_ended
        assert bool(phases) == (jobs is not None)
        first, second = launched.buffers[0].tolist(), launched.buffers[1].tolist()
        expected = {"tickets": (COUNT * ROUNDS, 1), "waits": (ROUNDS, ROUNDS), "floats": (COUNT * ROUNDS, 0)}[kernel]
        assert (first, {*second}) == ([expected[0]], {expected[1]})


@pytest.mark.parametrize("is_permissive", [False, True])
def test_faults_are_those_of_one_thread(build, phases, is_permissive):
    args = [np.zeros(256, np.int32), np.arange(256, dtype=np.int32)[:140].copy(), 20]
    devices = [
        device_of(build("gfx1100", "O2"), "in_rows", hot, jobs, args, permissive=is_permissive)[0]
        for hot, jobs in ((0, 1), (3, 1), (3, None))
    ]
    for device in devices:
        device.run(stops_at_faults=True)
        assert_same(devices[0], device)
        assert str(device.halt) == str(devices[0].halt)
        assert [reason for _batch, reason in device.stopped] == [reason for _batch, reason in devices[0].stopped]
    assert phases
    assert devices[0].stopped


def test_an_interrupt_stops_all_threads_and_they_go_on(build, phases, monkeypatch):
    monkeypatch.setattr(compiled_rounds, "SPAN", 500)
    devices = [device_of(build("gfx1100", "O2"), "col", hot, None, KERNELS["col"])[0] for hot in (0, 3)]
    plain, calls = compiled_rounds.CompiledRound._run_turns, []

    def run(self, part, worker, room):
        calls.append(part)
        if len(calls) % 9 == 0:
            devices[1].interrupt()
        plain(self, part, worker, room)

    monkeypatch.setattr(compiled_rounds.CompiledRound, "_run_turns", run)
    halts = []
    while devices[1].batches:
        devices[1].run()
        halts.append(devices[1].halt)
    devices[0].run()
    assert devices[0].executed == devices[1].executed
    assert state(devices[0]) == state(devices[1])
    assert memory(devices[0]) == memory(devices[1])
    assert phases
    assert len(halts) > 3


def test_no_thread_runs_behind_an_interrupt_while_others_are_waited_for(build, phases, monkeypatch):
    device, _ = device_of(build("gfx1100", "O2"), "col", 3, None, KERNELS["col"])
    plain, wait, before = compiled_rounds.CompiledRound._run_turns, threading.Thread.join, threading.active_count()
    is_running, is_waiting, main = threading.Event(), threading.Event(), threading.main_thread()

    def run(self, part, worker, room):
        if threading.current_thread() is not main:
            is_running.set()
            assert is_waiting.wait(60)
        elif phases:
            assert is_running.wait(60)
        plain(self, part, worker, room)

    def join(self, *given):
        if not is_waiting.is_set():
            is_waiting.set()
            raise KeyboardInterrupt
        wait(self, *given)

    monkeypatch.setattr(compiled_rounds.CompiledRound, "_run_turns", run)
    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(KeyboardInterrupt):
        device.run()
    assert threading.active_count() == before


def test_what_fails_in_a_thread_is_raised(build, phases, monkeypatch):
    device, _ = device_of(build("gfx1100", "O2"), "col", 3, None, KERNELS["col"])
    plain = compiled_rounds.CompiledRound._run_turns

    def run(self, part, worker, room):
        if phases:
            raise MemoryError
        plain(self, part, worker, room)

    monkeypatch.setattr(compiled_rounds.CompiledRound, "_run_turns", run)
    with pytest.raises(MemoryError):
        device.run()
