"""The figures of the simulated machine: a snapshot of ten thousand waves is opened, and read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench_input import cache
from bench_measure import ROOT, compile_all, in_turns, show

WAVES = 10_000
SNAPSHOT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from dwarfgpu.machines import snapshot
found = snapshot.load(sys.argv[1])
if len(sys.argv) > 2:
    found.read_register(found.register_named("v5"), 9999, None)
with open("/proc/self/status") as status:  # `getrusage` would count the process that started this one
    print(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:")))
"""


def big_snapshot() -> Path:
    """Return a snapshot of 10,000 waves of 64 lanes with 128 vector registers, 370 MB with its scratch; made once."""
    import numpy as np

    from dwarfgpu.machines import snapshot
    from dwarfgpu.machines.machine import Dispatch, Machine
    from dwarfgpu.targets.resolve import resolve

    path = cache() / "machine-2.dgs"
    if path.exists():
        return path
    random = np.random.default_rng(1)
    target = resolve("amdgcn-gfx90a")
    machine = Machine(target)
    machine.dispatches.append(Dispatch(1, "kernel", (64 * WAVES, 1, 1), (64, 1, 1)))
    groups = np.zeros((WAVES, 3), dtype=np.int64)
    groups[:, 0] = np.arange(WAVES)
    machine.add_waves(WAVES, dispatch=0, work_group=groups, wave_in_group=0)
    machine.allocate_registers(r for r in target.registers() if r.name.startswith("v") and 2560 <= r.number < 2688)
    machine.vgpr[:] = random.integers(0, 1 << 32, machine.vgpr.shape, dtype=np.uint32)
    for index in range(128):
        machine.set_register(f"v{index}", machine.vgpr[:, index])
    for index in range(102):
        machine.set_register(f"s{index}", index)
    machine.set_register("pc", 0x7F00_0000_1000)
    machine.set_register("exec", (1 << 64) - 1)
    scratch = random.integers(0, 256, (WAVES, 16 * 256), dtype=np.uint8)
    wave_space = target.space_named("private_wave")
    assert wave_space is not None
    machine.memory.map_rows(wave_space, scratch)
    path.parent.mkdir(parents=True, exist_ok=True)
    snapshot.save(machine, path)
    return path


def machine() -> None:
    """Measure a snapshot of ten thousand waves: opening it, one register of all waves, scratch of all lanes."""
    import numpy as np

    from dwarfgpu.machines import snapshot

    path = big_snapshot()
    compile_all()

    def process(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout

    bare, opened, used, imported = in_turns(
        [
            lambda: process("-c", "pass"),
            lambda: process("-c", SNAPSHOT, str(path)),
            lambda: process("-c", SNAPSHOT, str(path), "and use it"),
            lambda: process("-c", "import numpy"),
        ],
        rounds=10,
    )
    detail = f"{opened * 1e3:.0f} ms"
    show("opening a .dgs of 10,000 waves / python3 -c pass", opened / bare, "at most 15", detail)
    detail = f"{used * 1e3:.0f} ms, of which `import numpy` {imported * 1e3:.0f} ms"
    show("opening it and reading a register / python3 -c pass", used / bare, "", detail)
    resident = float(process("-c", SNAPSHOT, str(path), "and use it"))
    show("resident memory after that, in MB", resident, "below 150", "")

    loaded = snapshot.load(path)
    target = loaded.target
    v5: Any = target.register_named("v5")
    waves = np.arange(WAVES, dtype=np.uint64)
    column = loaded.vgpr[:, 5]
    ours, copied = in_turns([lambda: loaded.gather_register(v5, 0, 256, waves, None, WAVES), column.copy])
    show("one VGPR of all waves / numpy's copy of it", ours / copied, "at most 3", f"{ours * 1e3:.2f} ms")

    lane_space: Any = target.space_named("private_lane")
    count = 64 * WAVES
    wave, lane = np.repeat(waves, 64), np.tile(np.arange(64, dtype=np.uint64), WAVES)
    addresses = np.random.default_rng(2).integers(0, 16, count).astype(np.uint64) * np.uint64(4)
    dwords = loaded.memory.stores[6].blocks[0].array.view(np.uint32)
    four, row, stride = np.uint64(4), np.uint64(64), np.uint64(16 * 64)
    for name, at in (("an address of its own for each lane", addresses), ("one address for all lanes", 20)):

        def by_hand(at: Any = at) -> Any:
            inner = at // four * row if not isinstance(at, int) else np.uint64(at // 4 * 64)
            return dwords[wave * stride + inner + lane]

        def gathered(at: Any = at) -> Any:
            return loaded.gather_memory(lane_space, at, 4, wave, lane, count)

        rows, found = gathered()
        assert found.all()
        assert (rows.view(np.uint32).reshape(-1) == by_hand()).all()
        ours, theirs = in_turns([gathered, by_hand])
        detail = f"{ours * 1e3:.1f} ms, {name}"
        show(f"a dword of scratch of {count:,} lanes / by hand in numpy", ours / theirs, "at most 4", detail)
