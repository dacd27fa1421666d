"""Rows about stopped machines: snapshots and core files of many waves, deep calls, variables of a frame."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.files import VARIABLE
from bench.inputs import cache
from bench.rows import BARE, ROOT, Row, call, dwarfgpu, fixed, processor_seconds, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 0x7F00_0000_1000
"""Where the waves of the snapshot and of the core file are."""
WAVES = 10_000
CRASHING = ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
QUEUES, PER_QUEUE, LANES, VGPRS, SCRATCH = 8, 3750, 64, 16, 4096
CORE_WAVES = QUEUES * PER_QUEUE
SAVED = 48
DEPTHS = (6, 12, 24)


# --- Inputs -------------------------------------------------------------------------------------------------------


def code() -> Path:
    """Return a code object with the variables, which is loaded where the waves are; made once."""
    from tests.builders.spread import code_object

    path = cache() / "spread-1.co"
    if not path.exists():
        path.write_bytes(code_object(START))
    return path


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
    snapshot.save(machine, path)
    return path


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


def long_source() -> str:
    """Return OpenCL C of a function with branches, loops and calls that has 5,200 instructions at -O0."""
    bodies = (
        "if (a > {0}) {{ b += leaf(a + {0}); c ^= b; }} else c += p[{0}] * {0};",
        "for (int i = 0; i < (b & 7); ++i) {{ c += p[i + a] * {0} - b; a ^= c; }}",
        "p[c & 63] = a * b + c / 3 - {0}; b = (a << 3) | (c >> 2);",
        "while (c > {0}) {{ c = (c >> 1) - a % 5; if (c == b) break; p[{0}] += leaf(c); }}",
    )
    body = "\n".join(bodies[at % 4].format(at) for at in range(46))
    return f"""
        __attribute__((noinline)) int leaf(int x) {{ return x * 3; }}
        __attribute__((noinline)) int longer(global int *p, int n) {{
            int a = n, b = p[0], c = 1;
            {body}
            return a + b + c;
        }}
        kernel void k(global int *p, int n) {{ p[n] = longer(p, n); }}
    """


def nested_calls(depth: int, *, narrowing: bool) -> tuple[str, str]:
    """Return a code object, and a snapshot of a wave that is so many frames deep; made once.

    With ``narrowing`` each call is made by fewer lanes than the one before, so a register is in as many places as there
    are frames; else all calls are made by the same lanes.
    """
    import random

    from dwarfgpu.machines import snapshot
    from tests.builders.nested import code_object, nested, with_code

    folder = cache() / "unwind-2"
    code, state = folder / "nested.co", folder / f"nested-{depth}{'-narrowing' if narrowing else ''}.dgs"
    if not state.exists():
        folder.mkdir(parents=True, exist_ok=True)
        code.write_bytes(code_object(SAVED))
        chosen = random.Random(1)
        mask = 0x0F7F_FFFF_8003_FFE1
        masks = [mask]
        while len(masks) < depth:
            mask &= ~(1 << chosen.randrange(64)) if narrowing else mask
            masks.append(mask)
        machine, _ = nested(depth, SAVED, masks=masks)
        snapshot.save(with_code(machine, str(code)), state)
    return str(code), str(state)


# --- Rows ---------------------------------------------------------------------------------------------------------


def in_all_lanes(file: str, state: str, name: str) -> Any:
    """Return what asks for a variable in all lanes of all waves."""
    import dwarfgpu as dg
    from dwarfgpu.program.frames.all_waves import all_waves

    attached = dg.open(file).attach(state)
    return lambda: all_waves(attached, name).array


def waves() -> Iterator[Row]:
    """Yield the rows of a snapshot of ten thousand waves."""
    file, state = str(code()), str(big_snapshot())
    about = f"of {WAVES:,} waves"
    yield Row(f"waves {about}", dwarfgpu("waves", file, "--state", state), *BARE, 40, 5)
    one = dwarfgpu("eval", file, "x", "--state", state, "--wave", "10000", "--lane", "5")
    yield Row(f"eval in one lane {about}", one, *BARE, 15, 10)
    for name, what, seconds in (("x", "an int in a VGPR", 0.02), ("pair", "a struct, half in scratch", 0.05)):
        yield Row(f"{what} in all lanes {about}", call(in_all_lanes(file, state, name)), *fixed(seconds), 1)


def cores() -> Iterator[Row]:
    """Yield the rows of core files of thirty thousand waves."""
    file, state, crash = str(code()), str(big_core()), str(crashed_core())
    about = f"of a core of {CORE_WAVES:,} waves"
    yield Row(f"waves {about}", dwarfgpu("waves", file, "--state", state), *BARE, 60, 5)
    yield Row(f"core info {about}", dwarfgpu("core", "info", state), *BARE, 80, 5)
    yield Row(f"fault {about}", dwarfgpu("fault", crash, str(CRASHING)), *BARE, 80, 5)
    for name, what in (("x", "an int in a VGPR"), ("spilled", "an int in scratch")):
        yield Row(f"{what} {about}, all lanes", call(in_all_lanes(file, state, name)), *fixed(0.1), 1)


def unwind() -> Iterator[Row]:
    """Yield the rows of deep calls, and of code without call frame information."""
    for depth, narrowing in (*((depth, False) for depth in DEPTHS), (12, True)):
        file, state = nested_calls(depth, narrowing=narrowing)
        what = f"bt --registers, {depth} frames of {SAVED} VGPRs{', fewer lanes in each call' if narrowing else ''}"
        yield Row(what, dwarfgpu("bt", file, "--state", state, "--registers"), *BARE, 60, 5)
    yield Row("a stop in 5,000 instructions of -O0 without CFI", first_stop(), *BARE, 16)


def first_stop() -> Any:
    """Return what measures how the caller is found in a long function that is read for the first time."""
    from dwarfgpu.program.code.code_object import opened
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.frames.frame import unwinding_of

    path = cache() / "long-1.co"
    if not path.exists():
        words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-cl-std=CL2.0", "-g", "-O0", "-nogpulib"]
        subprocess.run([tool("clang-22"), *words, "-", "-o", str(path)], input=long_source(), text=True, check=True)

    def measured() -> float:
        file = opened(str(path))
        rules = unwinding_of(Loaded([LoadedCode(file)]), file.target.target)
        longer = next(each for each in file.symbol_image.symbols() if each.name == "longer")
        started = processor_seconds()
        rules.information_at(longer.value + longer.size // 2 & ~3)
        return processor_seconds() - started

    return measured


def variables() -> Iterator[Row]:
    """Yield the rows of a frame in a script: an int in a vector register, by a location list; an expression."""
    import dwarfgpu as dg

    frame = dg.open(VARIABLE[0]).attach(VARIABLE[3])[0].frame()
    asked = frame.expression("even * 2 + left")
    for waits, function, seconds in (
        ('frame["x"].value(4), 1,000 times', lambda: frame["even"].value(4), 0.1),
        ('frame["x"].values(), 1,000 times', lambda: frame["even"].values(), 1.0),  # noqa: PLW0108 (looked up each time)
        ("an expression of two in one lane, 1,000 times", lambda: asked.value(4), 0.3),
        ("an expression of two in all active lanes, 1,000 times", lambda: asked.values("active"), 1.0),
    ):
        yield Row(waits, call(function, 1000), *fixed(seconds), 1)


GROUPS = {"waves": waves, "cores": cores, "unwind": unwind, "variables": variables}
