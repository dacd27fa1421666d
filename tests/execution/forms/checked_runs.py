"""Kernels that are checked, interpreted and as compiled forms, and what the checks know of their waves then."""

import numpy as np

from dwarfgpu.execution.batch import EXEC, EXEC_HI, VCC_HI
from dwarfgpu.execution.checks import provenance
from dwarfgpu.execution.checks.undefined_registers import UNDEFINED_BITS
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.execution.forms.kernel_runs import assert_same

WAYS = 0, 1 << 16, 1
"""Interpreted, as forms, and as stretches wherever that is possible."""


def checked(path, kernel, hot, args, check, **options):
    """Run a kernel; return its device, how it ends, and what is found."""
    machine = machine_for(path, kernel)
    machine.jit = "on" if hot else "off"
    if not isinstance(args, dict):
        args = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    running = Running(launch(machine, path, kernel, args=args, check=check, **options))
    device = machine.device
    device.use_compiled()
    if hot:
        device.compiled.hot = hot
    halt = running.run(limit=1_000_000)
    assert not hot or (device.compiled.counted()[1] > 5 and not device.compiled.problem)
    rows = check_report(running).findings
    return device, [str(halt), *((str(row), row.count, [each.side.callers for each in row.sides]) for row in rows)]


def known(device):
    """Return what the checks of a device know of its waves and their memory."""
    memory = device.memory
    order = memory.order
    counters = [each.tolist() for each in (order.issued, order.complete, order.emptied)] * memory.is_counted
    # Python alone counts loads of a stack that is a buffer as covered, where nothing told before that it is private.
    covered = [pc for pc in sorted(memory.races.covered) if device.instruction(pc).encoding != "MUBUF"]
    found = {"counters": counters, "covered": covered, "rows": order.rows}
    if memory.bounds is not None and "bounds" in memory.settings.checks:
        found |= _pointers(device, memory.bounds)
    if memory.init_check is not None:
        found |= _marks(device, memory.init_check)
    return found


def _pointers(device, check):
    """Return the provenance of all registers of waves and of their memory, where there is any."""
    found = {}
    for batch, _reason in device.every_batch():
        columns = batch.beside.get("pointers") or provenance.PointerColumns.of(batch)
        for name, file in zip("vas", columns.files, strict=True):
            for number, column in enumerate(file):
                lanes = np.broadcast_to(provenance.known(column), (batch.count, 1 if name == "s" else batch.lanes))
                for wave, row in zip(batch.waves.tolist(), lanes.tolist(), strict=True):
                    if any(row):
                        found[wave, name, number] = row
    shadows = check.shadows | {"local": check.local, "private": check.private}
    for key, shadow in shadows.items():
        if shadow is not None and shadow.words.any():
            found[key] = np.flatnonzero(shadow.words).tolist(), shadow.words[shadow.words != 0].tolist()
    return found


def _marks(device, check):
    """Return the undefined bits of all registers of waves and of their memory, and what has been written in part."""
    found = {}
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
            found |= {("marks", wave, key): each[row].tobytes().hex() for key, each in columns.items()}
    memory = (*check.memory.mapped, check.memory.local, check.memory.scratch)
    found |= {("memory", number): each.data.tobytes() for number, each in enumerate(memory)}
    return found | {"partly": check.partly(batch).tolist()}


def assert_all_same(path, kernel, args, check, **options):
    """Compare a kernel in all `WAYS`."""
    devices, found = zip(*(checked(path, kernel, hot, args, check, **options) for hot in WAYS), strict=True)
    right = known(devices[0])
    for device, findings in zip(devices[1:], found[1:], strict=True):
        assert findings == found[0]
        assert_same(devices[0], device)
        left = known(device)
        assert {key for key in {*left, *right} if left.get(key) != right.get(key)} == set()
