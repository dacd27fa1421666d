"""Kernels whose undefined bits are followed: as forms they have the same marks, and the same findings."""

import numpy as np
import pytest

from dwarfgpu.execution.batch import EXEC, EXEC_HI, VCC_HI
from dwarfgpu.execution.checks.undefined_registers import UNDEFINED_BITS
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.execution.checks.pair_builds import pair_build
from tests.execution.checks.test_undefined import LINES
from tests.execution.forms.kernel_runs import BEFORE_GFX9, KERNELS, PROCESSORS, assert_same

WAYS = 0, 1 << 16, 1
"""Interpreted, as forms, and as stretches wherever that is possible."""


def checked(path, kernel, hot, args, **options):
    """Run a kernel; return its device, how it ends, and what is found."""
    machine = machine_for(path, kernel)
    machine.jit = "on" if hot else "off"
    if isinstance(args, tuple):
        args = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    running = Running(launch(machine, path, kernel, args=args, check="init", **options))
    device = machine.device
    device.use_compiled()
    if hot:
        device.compiled.hot = hot
    halt = running.run(limit=1_000_000)
    assert not hot or device.compiled.counted()[1] > 5
    return device, [str(halt), *map(str, check_report(running).findings)]


def marks(device):
    """Return the undefined bits of all registers of waves and of their memory, and what has been written in part."""
    check = device.memory.init_check
    known = {}
    for batch, _reason in device.every_batch():
        bits = UNDEFINED_BITS.of(batch)
        shape, scalars = (batch.count, batch.lanes), dict(enumerate(bits.scalar)) | {"scc": bits.scc}
        for number in (EXEC, EXEC_HI, *([VCC_HI] if batch.lanes == 64 else [])):  # of which there are none
            del scalars[number]
        columns = {f"v{number}": np.broadcast_to(each, shape) for number, each in enumerate(bits.vector)}
        columns |= {f"a{number}": np.broadcast_to(each, shape) for number, each in enumerate(bits.accumulation)}
        columns |= {
            key: np.broadcast_to(np.asarray(each, np.uint64), (batch.count, 1)) for key, each in scalars.items()
        }
        for row, wave in enumerate(batch.waves.tolist()):
            known |= {(wave, key): each[row].tobytes().hex() for key, each in columns.items()}
    memory = (*check.memory.mapped, check.memory.local, check.memory.scratch)
    known |= {("memory", number): each.data.tobytes() for number, each in enumerate(memory)}
    return known | {"partly": check.partly(batch).tolist()}


def assert_all_same(path, kernel, args, **options):
    devices, found = zip(*(checked(path, kernel, hot, args, **options) for hot in WAYS), strict=True)
    for device, findings in zip(devices[1:], found[1:], strict=True):
        assert findings == found[0]
        assert_same(devices[0], device)
        left, right = marks(device), marks(devices[0])
        assert {key for key in right if left[key] != right[key]} == set()


QUICK = {
    ("gfx1100", "O2", "tiles"),
    ("gfx90a", "O0", "recursive"),
    ("gfx1200", "O0", "parting"),
    ("gfx803", "O0", "col"),
}


@pytest.mark.parametrize(
    "processor, level, kernel",
    [
        pytest.param(processor, level, kernel, marks=() if (processor, level, kernel) in QUICK else pytest.mark.slow)
        for processor in PROCESSORS
        for level in ("O0", "O2")
        for kernel in (sorted(BEFORE_GFX9) if processor == "gfx803" else KERNELS)
    ],
)
def test_marks_are_the_same(build, processor, level, kernel):
    private = 1024 if kernel == "recursive" else None
    args = KERNELS[kernel]
    assert_all_same(build(processor, level), kernel, args, grid=(256,), work_group=(128,), private_size=private)


@pytest.mark.parametrize(
    "processor, level",
    [
        pytest.param(processor, level, marks=() if (processor, level) == ("gfx1100", "O0") else pytest.mark.slow)
        for processor in PROCESSORS
        for level in ("O0", "O2")
    ],
)
def test_findings_are_the_same(require_tool, tmp_path, processor, level):
    path = pair_build(require_tool("clang-22"), tmp_path, "undefined.cl", processor, level)
    for kernel in LINES["cl"]:
        args = {0: "zeros(4096)", 1: "arange(512)", 2: "noinit(512)"} | (
            {3: 1024} if kernel == "local_argument" else {}
        )
        assert_all_same(path, kernel, args, grid=512, work_group=128)
