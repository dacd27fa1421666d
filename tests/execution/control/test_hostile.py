"""Code that was damaged: waves stop with a reason, whatever the instructions are."""

import random

import pytest

from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import for_each, share, some_slow

FILES = {
    "gfx90a": "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co",
    "gfx942": "fixtures/amdgpu/cl-kernels.gfx942.w64.O2.v5.co",
    "gfx1030": "fixtures/amdgpu/cl-kernels.gfx1030.w32.O2.v5.co",
    "gfx1100": "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co",
    "gfx1200": "fixtures/amdgpu/cl-kernels.gfx1200.w32.O2.v5.co"}  # fmt: skip
KINDS = {"ended", "fault", "trap", "limit", "stuck"}


def started(path):
    args = {"y": "ones(100)", "x": "ones(100)", "a": 2.0, "n": 100}
    machine = machine_for(path, "saxpy")
    launched = launch(machine, path, "saxpy", grid=100, work_group=64, args=args)
    return machine, machine.memory.writable(launched.plan.start.entry, 128)


def run_damaged(path, seed, count):
    numbers = random.Random(seed)
    for _ in range(count):
        machine, code = started(path)
        for _ in range(numbers.randrange(1, 6)):
            at = numbers.randrange(32) * 4
            if numbers.random() < 0.5:
                code[at + numbers.randrange(4)] = numbers.randrange(256)
            else:
                code[at : at + 4] = numbers.randbytes(4)
        halt = machine.run(limit=3000)
        assert halt.kind in KINDS
        assert halt.reason
        assert halt.kind != "fault" or halt.waves


@pytest.mark.parametrize("seed, count", some_slow([(1, 25), (2, share(2000))], quick=[(1, 25)]))
@pytest.mark.parametrize("processor", FILES)
def test_damaged_code_stops_with_a_reason(processor, seed, count):
    run_damaged(FILES[processor], seed, count)


@for_each(
    "words, reason",
    (b"\xff" * 8, "ILLEGAL_INSTRUCTION: no instruction: "),
    (bytes.fromhex("ff02fe7f"), "is not among the"),  # v_mov_b32 of the last register
    (bytes.fromhex("0000a0bf"), None),  # s_nop
)
def test_the_reason_of_an_instruction_that_cannot_be_executed(words, reason):
    machine, code = started(FILES["gfx90a"])
    code[: len(words)] = words
    halt = machine.run()
    assert reason is None or (halt.kind == "fault" and reason in halt.reason)


def test_code_that_goes_on_into_nothing():
    machine, code = started(FILES["gfx1100"])
    nop = bytes.fromhex("000080bf")
    code[:] = nop * (len(code) // 4)
    whole = machine.memory.writable(machine.program_counter(0), 256)
    whole[:] = nop * 64
    assert machine.run(limit=100_000).kind in KINDS
