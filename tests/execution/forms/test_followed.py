"""Kernels whose pointers are followed: as forms they have the same provenance, and the same findings."""

from itertools import product

import numpy as np
import pytest

from dwarfgpu.execution.checks import provenance
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import few_or_all, some_slow
from tests.execution.checks import test_bounds as bounds
from tests.execution.checks.pair_builds import pair_build
from tests.execution.forms.kernel_runs import BEFORE_GFX9, KERNELS, PROCESSORS, assert_same

WAYS = 0, 1 << 16, 1
"""Interpreted, as forms, and as stretches wherever that is possible."""


def checked(path, kernel, hot, args, **options):
    """Run a kernel; return its device, how it ends, and what is found."""
    machine = machine_for(path, kernel)
    machine.jit = "on" if hot else "off"
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    running = Running(launch(machine, path, kernel, args=args, check="bounds", **options))
    device = machine.device
    device.use_compiled()
    if hot:
        device.compiled.hot = hot
    halt = running.run(limit=1_000_000)
    assert not hot or device.compiled.counted()[1] > 5
    return device, [str(halt), *((str(row), row.count) for row in check_report(running).findings)]


def pointers(device):
    """Return the provenance of all registers of waves and of their memory, where there is any."""
    check, found = device.memory.bounds, {}
    for batch, _reason in device.every_batch():
        columns = batch.beside.get("pointers") or provenance.PointerColumns.of(batch)
        for name, file in zip("vas", columns.files, strict=True):
            for number, column in enumerate(file):
                lanes = np.broadcast_to(provenance.known(column), (batch.count, 1 if name == "s" else batch.lanes))
                for wave, row in zip(batch.waves.tolist(), lanes.tolist(), strict=True):
                    if any(row):
                        found[wave, name, number] = row
    shadows = check.shadows | {"local": check.local, "private": check.private}
    found |= {key: np.flatnonzero(each.words).tolist() for key, each in shadows.items() if each is not None}
    found |= {(key, 1): each.words[each.words != 0].tolist() for key, each in shadows.items() if each is not None}
    return {key: row for key, row in found.items() if row}


def assert_all_same(path, kernel, args, **options):
    devices, found = zip(*(checked(path, kernel, hot, args, **options) for hot in WAYS), strict=True)
    for device, findings in zip(devices[1:], found[1:], strict=True):
        assert findings == found[0]
        assert_same(devices[0], device)
        left, right = pointers(device), pointers(devices[0])
        assert {key for key in {*left, *right} if left.get(key) != right.get(key)} == set()


QUICK = {
    ("gfx1100", "O2", "tiles"),
    ("gfx90a", "O0", "recursive"),
    ("gfx1200", "O0", "parting"),
    ("gfx803", "O0", "col"),
}


RUNS = [
    (processor, level, kernel)
    for processor, level in product(PROCESSORS, ("O0", "O2"))
    for kernel in (sorted(BEFORE_GFX9) if processor == "gfx803" else KERNELS)
]


@pytest.mark.parametrize("processor, level, kernel", some_slow(RUNS, quick=QUICK))
def test_provenance_is_the_same(build, processor, level, kernel):
    private = 1024 if kernel == "recursive" else None
    args = KERNELS[kernel]
    assert_all_same(build(processor, level), kernel, args, grid=(256,), work_group=(128,), private_size=private)


BUILDS = [*product((*bounds.TARGETS, "gfx900"), ("O0", "O2"), ("-DFAULTY", "-DMENDED"))]


@few_or_all(12)
@pytest.mark.parametrize("target, level, options", some_slow(BUILDS, quick=[("gfx1100", "O0", "-DFAULTY")]))
def test_findings_are_the_same(require_tool, tmp_path, target, level, options, every):
    """With buffers that touch each other, and with those that are apart."""
    path = pair_build(require_tool("clang-22"), tmp_path, "bounds.cl", target, level, options)
    for number, kernel in enumerate(bounds.KERNELS[bounds.BOUNDS][::every]):
        args, padding = bounds.arguments(kernel), 4096 * (number % 2)
        assert_all_same(path, kernel, args, grid=128, work_group=64, padding=padding)
