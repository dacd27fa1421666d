"""The figures of GPU core files: thirty thousand waves of eight queues are opened, listed and read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench_input import cache
from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, process, show
from bench_waves import START, code

CRASHING = ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
QUEUES, PER_QUEUE, LANES, VGPRS, SCRATCH = 8, 3750, 64, 16, 4096
CORE_WAVES = QUEUES * PER_QUEUE
RESIDENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import dwarfgpu
from dwarfgpu.program.frames.all_waves import all_waves
attached = dwarfgpu.open(sys.argv[1]).attach(sys.argv[2])
all_waves(attached, "x").array
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) // 1024 for line in status if line.startswith("RssAnon:")))
"""


def big_core() -> Path:
    """Return a core file of 30,000 waves of 64 lanes in 8 queues, about 300 MB with their scratch memory; made once."""
    import numpy as np

    from dwarfgpu.machines.gpu_core.writing import CoreForm, core_contents, write_merged
    from dwarfgpu.machines.machine import Dispatch, Machine
    from dwarfgpu.targets.resolve import resolve
    from tests.builders.gpu_cores import image_of

    path = cache() / "core-1.30000"
    if path.exists():
        return path
    from dwarfgpu.objfile.opening import open_image

    random = np.random.default_rng(3)
    target = resolve("amdgcn-gfx90a")
    machine = Machine(target)
    machine.dispatches += [Dispatch(q + 1, "kernel", (64 * PER_QUEUE, 1, 1), (64, 1, 1)) for q in range(QUEUES)]
    groups = np.zeros((CORE_WAVES, 3), dtype=np.int64)
    groups[:, 0] = np.arange(CORE_WAVES) % PER_QUEUE
    ids = [f"1:{wave // PER_QUEUE + 1}:1:{wave + 1}" for wave in range(CORE_WAVES)]
    machine.add_waves(
        CORE_WAVES, dispatch=np.arange(CORE_WAVES) // PER_QUEUE, work_group=groups, wave_in_group=0, ids=ids
    )
    for index in range(VGPRS):
        machine.set_register(f"v{index}", random.integers(0, 1 << 32, (CORE_WAVES, LANES), dtype=np.uint32))
    for index in range(40):
        machine.set_register(f"s{index}", index)
    machine.set_register("pc", START)
    machine.set_register("exec", (1 << 64) - 1)
    private: Any = target.space_named("private_wave")
    machine.memory.map_rows(private, random.integers(0, 256, (CORE_WAVES, SCRATCH), dtype=np.uint8))
    image = open_image(str(code()))
    contents = core_contents(machine, [image_of(image, f"file://{code()}", 0)], None, CoreForm(engines=8, r_version=12))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".part").open("wb") as file:
        write_merged(file, contents)
    path.with_suffix(".part").rename(path)
    return path


def crashed_core() -> Path:
    """Return a core file of 30,000 waves of a kernel, all of which have read past the end of a buffer; made once."""
    import json

    import numpy as np

    from dwarfgpu.execution.control.running import launched_with
    from dwarfgpu.states.core_writing import write_core
    from dwarfgpu.states.program import open_program
    from dwarfgpu.states.snapshot_files import save

    path, folder = cache() / "core-3.30000", cache() / "core-3.dgs"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    words = "x=arange(64)", "y=ones(64)", "a=2", "n=4000000"
    sizes: dict[str, Any] = {"grid": str(LANES * CORE_WAVES), "work-group": str(LANES), "at-once": 2}
    running = launched_with(open_program(str(CRASHING)), "saxpy", words, sizes.get)
    running.run()
    if not folder.exists():
        save(running.attached.stopped, str(folder))
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in folder.glob("*.npy"):
        if not file.name.startswith("global"):  # the last wave is the one that has crashed
            np.save(file, np.repeat(np.load(file)[-1:], CORE_WAVES, axis=0))
    np.save(folder / "wave-id.npy", np.array([f"1:1:1:{wave + 1}" for wave in range(CORE_WAVES)]))
    groups = np.zeros((CORE_WAVES, 3), dtype=np.int64)
    groups[:, 0] = np.arange(CORE_WAVES)
    np.save(folder / "wave-work-group.npy", groups)
    stop = {"reasons": ["MEMORY_VIOLATION"]}
    manifest["waves"] |= {"count": CORE_WAVES, "stops": [{"wave": wave, "stop": stop} for wave in range(CORE_WAVES)]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_core(open_program(str(CRASHING)).attach(str(folder)).stopped, str(path))
    return path


def cores() -> None:
    """Measure a core file of 30,000 waves: the list of its waves, variables in all lanes, resident memory."""
    import numpy as np

    import dwarfgpu
    from dwarfgpu.program.frames.all_waves import all_waves

    state, file, crash = big_core(), code(), crashed_core()
    compile_all()
    listing = (*DWARFGPU, "waves", str(file), "--state", str(state))
    alone = (*DWARFGPU, "core", "info", str(state))
    why = (*DWARFGPU, "fault", str(crash), str(CRASHING))
    asked_for = [process(*BARE), process(*listing), process(*alone), process(*why)]
    bare, listed, summarised, explained = in_turns(asked_for, rounds=5)
    show("waves of a core of 30,000, cold / python3 -c pass", listed / bare, "at most 60", f"{listed * 1e3:.0f} ms")
    show("fault of 30,000 waves, cold / python3 -c pass", explained / bare, "at most 80", f"{explained * 1e3:.0f} ms")
    show("core info of it, cold / python3 -c pass", summarised / bare, "", f"{summarised * 1e3:.0f} ms")

    attached = dwarfgpu.open(str(file)).attach(str(state))
    machine: Any = attached.stopped.machine
    count = LANES * CORE_WAVES
    wave, lane = np.repeat(np.arange(CORE_WAVES), LANES), np.tile(np.arange(LANES), CORE_WAVES)
    registers = machine.vgpr
    private: Any = machine.target.space_named("private_wave")
    scratch = np.concatenate(
        [np.frombuffer(machine.read_memory(private, 0, SCRATCH, each, None), "<u4") for each in range(CORE_WAVES)]
    ).reshape(CORE_WAVES, -1)

    def gathered() -> Any:
        return registers[wave, 5, lane]

    def spilled() -> Any:
        return scratch[wave, 6 * LANES + lane]

    def asked(name: str) -> Any:
        return all_waves(attached, name).array

    assert (asked("x").view(np.uint32).reshape(-1) == gathered()).all()
    assert (asked("spilled").view(np.uint32).reshape(-1) == spilled()).all()
    for name, what, by_hand in (("x", "an int in a VGPR", gathered), ("spilled", "an int in scratch", spilled)):
        ours, theirs = in_turns([lambda name=name: asked(name), by_hand], rounds=5)  # type: ignore[misc]
        detail = f"{ours * 1e3:.1f} ms, {count / ours / 1e6:.1f} million lanes a second"
        show(f"{what} of a core, {count:,} lanes / numpy's gather", ours / theirs, "at most 6", detail)

    words = [sys.executable, "-c", RESIDENT, str(file), str(state)]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    show("resident memory beside the mapped core, in MB", float(done.stdout), "at most 150", "")
