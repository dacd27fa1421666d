"""GPU core files of machines: launched waves with their code objects, written in each form."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dwarfgpu.machines.gpu_core.writing import (
    CoreContents,
    CoreForm,
    LoadedImage,
    core_contents,
    write_gpu,
    write_host,
    write_merged,
)
from dwarfgpu.machines.machine import Dispatch, Machine
from dwarfgpu.machines.protocol import WaveStop
from dwarfgpu.objfile.elf.header import PT_LOAD
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.targets.resolve import resolve
from tests.builders.folders import ROOT

LOAD_ADDRESS = 0x7F12_3400_0000
KERNARG = 0x7F55_0000_1000
PROCESSORS = (
    *("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"),
    *("gfx1010-wave32", "gfx1010-wave64", "gfx1030-wave32", "gfx1030-wave64", "gfx1100-wave32", "gfx1100-wave64"),
    *("gfx1200-wave32", "gfx1200-wave64", "gfx1250"))  # fmt: skip
"""Every family, with each size of its waves."""


def filled(
    name: str, waves: int = 6, *, group: int = 2, vgprs: int = 12, lds: int = 768, scratch: int = 3072
) -> Machine:
    """A machine of waves whose every register and byte of memory is another number."""
    target = resolve(f"amdgcn-{name}")
    machine = Machine(target)
    lanes = target.lane_count
    machine.dispatches.append(Dispatch(1, "k", (waves * lanes, 1, 1), (group * lanes, 1, 1), KERNARG))
    machine.add_waves(
        waves, dispatch=0, work_group=[(wave // group, 0, 0) for wave in range(waves)],
        wave_in_group=[wave % group for wave in range(waves)], ids=[f"1:1:1:{wave + 1}" for wave in range(waves)],
    )  # fmt: skip
    number, lane = np.arange(waves, dtype=np.uint64), np.arange(lanes, dtype=np.uint64)
    for index in range(vgprs):
        machine.set_register(f"v{index}", (number[:, None] << 20 | np.uint64(index << 8) | lane).astype(np.uint32))
        if target.register_named("a0") is not None:
            machine.set_register(
                f"a{index}", (0xA << 28 | number[:, None] << 20 | np.uint64(index << 8) | lane).astype(np.uint32)
            )
    for index in range(100):
        machine.set_register(f"s{index}", (0x5000_0000 + number * 256 + index).astype(np.uint32))
    for position, name_ in enumerate(("status", "mode", "m0", "vcc", "exec")):
        machine.set_register(name_, (0x0100 * position + number) | (0xFFFF_0000 if name_ == "exec" else 0))
    machine.set_register("pc", LOAD_ADDRESS + 0x1000 + 8 * number)
    space = target.default_space
    machine.memory.map(space, KERNARG, bytes(range(64)))
    machine.memory.map(space, LOAD_ADDRESS, bytes(index * 7 & 0xFF for index in range(0x2000)))
    local: Any = target.space_named("local")
    for wave in range(0, waves, group):
        machine.memory.map(local, 0, bytes((wave + index * 3) & 0xFF for index in range(lds)), instance=wave)
    private: Any = target.space_named("private_wave")
    for wave in range(waves) if scratch else ():
        machine.memory.map(private, 0, bytes((wave * 5 + index) & 0xFF for index in range(scratch)), instance=wave)
    return machine


def written(
    folder: Path,
    machines: Machine | list[Machine],
    *,
    form: CoreForm | None = None,
    kind: str = "merged",
    images: tuple[LoadedImage, ...] = (),
    stops: Callable[[int, int], WaveStop] | None = None,
    kernels: dict[str, int] | None = None,
) -> list[str]:
    """Write machines as core files of a kind; return the names of the files."""
    return save(folder, core_contents(machines, images, stops, form, kernels), kind)


def save(folder: Path, contents: CoreContents, kind: str) -> list[str]:
    """Write the contents of core files: ``merged``, ``pair``, ``gpu`` or ``host``."""
    pid = contents.form.pid
    names = {
        "merged": [(f"core.{pid}", write_merged)],
        "pair": [(f"core.{pid}", write_host), (f"gpucore.{pid}", write_gpu)],
        "gpu": [(f"gpucore.{pid}", write_gpu)],
        "host": [(f"core.{pid}", write_host)],
    }
    paths = []
    for name, write in names[kind]:
        with (folder / name).open("wb") as file:
            write(file, contents)
        paths.append(str(folder / name))
    return paths


def image_of(image: Image, uri: str, address: int) -> LoadedImage:
    """Return a code object as it is loaded: its segments."""
    segments = tuple(
        (
            address + segment.address,
            bytes(image.data[segment.offset : segment.offset + segment.file_size]).ljust(segment.memory_size, b"\0"),
        )
        for segment in image.segments
        if segment.type == PT_LOAD and segment.memory_size
    )
    return LoadedImage(uri, address, segments)


CRASH = ROOT / "dwarfgpu/examples/crash.core"


def crash_core() -> bytes:
    """Return the core file of the examples: three waves, and their code object; the last wave has violated memory."""
    import io

    from dwarfgpu.states.core_writing import images_of, kernel_objects
    from dwarfgpu.states.program import open_program

    attached = open_program(str(ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co")).attach(
        ROOT / "dwarfgpu/examples/lanes.json"
    )
    machine: Any = attached.stopped.machine
    machine.set_register("trapsts", np.array([0, 0, 1 << 28 | 1 << 8]))
    stops = (WaveStop(), WaveStop(), WaveStop())
    images = tuple(images_of(attached.stopped, embeds=True))
    form = CoreForm(r_version=12, pid=1234, engines=8)
    contents = core_contents(
        machine, images, lambda _machine, wave: stops[wave], form, kernel_objects(attached.stopped)
    )
    file = io.BytesIO()
    write_merged(file, contents)
    return file.getvalue()
