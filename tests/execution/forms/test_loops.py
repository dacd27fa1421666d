"""Kernels whose loops are one function each, against the same kernels interpreted: every register and every byte."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from dwarfgpu.execution.forms import loops
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_slow
from tests.execution.forms.kernel_runs import assert_same, in_turn, prepared, ready

QUICK = ("gfx1100", "O2", "parting"), ("gfx1200", "O0", "red")


@pytest.fixture
def made(monkeypatch):
    """Any loop is one function, however often it may refuse; yield how many instructions those have that were made."""
    found = Counter()
    write = loops.LoopWriter.write_loop

    def counted(self, blocks, begin, end):
        found["instructions"] += sum(map(len, blocks.values()))
        return write(self, blocks, begin, end)

    monkeypatch.setattr(loops, "SHARE", 0)
    monkeypatch.setattr(loops.LoopWriter, "write_loop", counted)
    return found


@pytest.mark.parametrize("processor, level, kernel", some_slow(in_turn(2, also=QUICK), quick=QUICK[:1]))
def test_loops_do_what_the_interpreter_does(build, made, processor, level, kernel):
    devices = [ready(build(processor, level), kernel, hot)[0] for hot in (0, 3)]
    for device in devices:
        device.run()
    assert_same(*devices)
    assert made["instructions"] or (processor, level, kernel) not in QUICK


@pytest.mark.parametrize(
    "processor, level, kernel, step",
    [
        ("gfx1100", "O2", "parting", 71),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (
            ("gfx90a", "O2", "col", 23), ("gfx1200", "O0", "in_rows", 101), ("gfx90a", "O0", "red", 59),
            ("gfx1100", "O2", "in_rows", 31),
        )),
    ],
)  # fmt: skip
def test_a_limit_ends_a_loop_at_each_of_its_instructions(build, made, processor, level, kernel, step):
    """The same waves are let go on from limit to limit."""
    devices = [ready(build(processor, level), kernel, hot)[0] for hot in (0, 1)]
    for at in range(2000, 2000 + 30 * step, step):
        for device in devices:
            device.run(at)
        assert_same(*devices)
    for device in devices:
        device.run()
    assert_same(*devices)
    assert made["instructions"]


REFUSING = ("gfx1200", "O2", True), ("gfx1100", "O2", False), ("gfx90a", "O0", False)


@pytest.mark.parametrize("processor, level, is_permissive", some_slow(REFUSING, quick=REFUSING[:1]))
def test_a_loop_refuses_where_the_interpreter_stops_waves(build, made, processor, level, is_permissive):
    """After some turns of a loop, lanes reach behind a buffer: what the loop has computed until then is there."""
    devices = []
    for hot in (0, 1):
        machine = machine_for(build(processor, level), "in_rows")
        machine.is_permissive = is_permissive
        args = [np.zeros(256, np.int32), np.arange(256, dtype=np.int32)[:240].copy(), 20]
        launch(machine, build(processor, level), "in_rows", grid=(256,), work_group=(128,), args=args)
        devices.append(prepared(machine, hot))
        devices[-1].run()
    assert devices[0].stopped or is_permissive
    assert_same(*devices)
    assert made["instructions"]


def parts(*jumps, count=40, refusing=()):
    """Return what knows instructions 0, 4, 8 ... of which some are branches."""
    ways = dict(jumps)

    def part(address):
        branch = ways[address] - address if address in ways else None
        way = [address + 4] if branch is None else [ways[address], address + 4]
        form = SimpleNamespace(may_refuse=address in refusing)
        return SimpleNamespace(address=address, ways=way, instruction=SimpleNamespace(branch=branch), form=form)

    return lambda address: part(address) if 0 <= address < 4 * count else None


@pytest.mark.parametrize(
    "known, start, expected",
    [
        (parts((40, 8)), 0, {}),  # not in the loop
        (parts((40, 8)), 44, {}),
        (parts((40, 8)), 20, {8: 9}),  # from its middle on it begins with its head
        (parts((40, 8), (20, 32)), 24, {24: 2, 8: 4, 32: 3}),  # each way to the begin of the loop
        (parts((40, 8), (20, 60)), 24, {24: 5, 8: 4}),  # a way out
        (parts((40, 8), (80, 4)), 24, {8: 9, 4: 1, 44: 10}),  # with the loop around it
        (parts((40, 8), (1000, 4), count=300), 24, {8: 9}),  # that is too long
        (parts((40, 8), (80, 4), refusing=range(44, 64, 4)), 24, {8: 9}),  # without what may refuse
        (parts((120, 8), (400, 4), count=200, refusing=(16, 200, 204, 208, 212, 216, 220)), 24, {8: 29}),
        (parts((8, 8)), 8, {8: 1}),
    ],
)
def test_the_largest_loop_that_pays_is_found(known, start, expected):
    found = loops.loop_around(known, start)
    assert [*((head, len(block)) for head, block in found.items())] == [*expected.items()]
