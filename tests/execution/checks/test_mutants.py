"""Kernels without one of their barriers or waits: those whose results change under some schedule are reported."""

import pytest

from dwarfgpu.execution.halts import STUCK
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.execution.checks import test_checks

built = test_checks.built
NOTHING = (0xBF800000).to_bytes(4, "little")
"""The instruction that waits for nothing (s_nop 0)."""
SCHEDULES = (*({"seed": seed} for seed in range(4)), *({"weak_memory": seed} for seed in range(4)))
LEAST_REPORTED = 0.95


def outcome(path, kernel, place=None, **options):
    """What a kernel leaves in memory, and the machine; one instruction may be left out."""
    machine = machine_for(path, kernel)
    args = ["zeros(1024)", "arange(512)"] + ([512] if kernel == "local_argument" else [])
    done = launch(machine, path, kernel, grid=512, work_group=128, args=args, **options)
    entry = done.plan.start.entry
    if place is not None:
        segment = machine.device.memory.memory.segment_of(entry + place, entry + place + 3)
        at = entry + place - segment.start
        segment.data[at : at + 4] = list(NOTHING)
    halt = machine.run(limit=400_000)
    return (halt.kind, *(done.buffers[number].tobytes() for number in range(2))), machine


def places(path, kernel):
    """Where the barriers and waits of a kernel are, from its entry on."""
    machine = machine_for(path, kernel)
    args = ["zeros(1024)", "arange(512)"] + ([512] if kernel == "local_argument" else [])
    entry = address = launch(machine, path, kernel, grid=512, work_group=128, args=args).plan.start.entry
    while (instruction := machine.device.instruction(address)).name != "s_endpgm":
        if instruction.name.startswith(("s_barrier", "s_wait")) and instruction.size == 4:
            yield address - entry
        address += instruction.size


def mutants(path, kernels):
    """Yield each mutant whose result changes under some schedule, and whether it is reported."""
    for kernel in kernels:
        right = {outcome(path, kernel, **schedule)[0] for schedule in SCHEDULES}
        for place in places(path, kernel):
            changes = any(outcome(path, kernel, place, **schedule)[0] not in right for schedule in SCHEDULES)
            if changes:
                (end, *_buffers), checked = outcome(path, kernel, place, check="race,barrier,wait")
                yield kernel, place, bool(checked.device.memory.findings) or end == STUCK


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx1100", "gfx1200"])
def test_mutants_whose_results_change_are_reported(built, processor):
    """A barrier of GFX12 is two instructions; without the first its waves wait for ever, and the run says so."""
    found = list(mutants(built(processor, "O1", "-DMENDED"), [*test_checks.RACES][:3]))
    missed = [each for each in found if not each[2]]
    assert len(found) >= 10
    assert len(missed) <= (1 - LEAST_REPORTED) * len(found), missed
