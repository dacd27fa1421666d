"""Damaged GPU core files, and everything that is asked about them.

The headers, the note, the save areas, the packets and the queue objects of good files are changed, or the files cut.
Waves that are read must be written again as a snapshot and as a core file with the same stop reasons.
"""

from __future__ import annotations

import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.gpu_core.save_area import HEADER
from dwarfgpu.machines.gpu_core.writing import CoreForm
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.frames.wave_groups import wave_runs
from dwarfgpu.questions.files import core_json, core_text
from dwarfgpu.states.core_conversion import convert_core
from dwarfgpu.states.core_summary import core_rows
from dwarfgpu.states.core_writing import write_core
from dwarfgpu.states.gpu_cores import choose, has_gpu_state, open_core_waves
from dwarfgpu.states.stopped import Stopped
from fuzz.damage import EXTREMES
from fuzz.frame import ROOT, Asking, Chance, Drive, Setting, Steps
from tests.builders.core_layout import Bytes, u32, u64
from tests.builders.gpu_cores import filled, image_of, written

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITTEN = 0.1
"""The share of files whose waves are written again, which takes most of the time."""
PROCESSORS = ("gfx90a", "gfx942", "gfx908", "gfx1030-wave64", "gfx1100-wave32", "gfx1200-wave32", "gfx1250")


class Subject:
    """A good core file: its files, and the ranges of them that decide how the rest is read."""

    def __init__(self, folder: Path, processor: str, kind: str, xccs: int) -> None:
        image = opened(str(ROOT / "fixtures/containers/tiny.gfx90a.co")).image
        machine = filled(processor, waves=4, vgprs=6)
        place = folder / f"{processor}-{kind}-{xccs}"
        place.mkdir()
        form = CoreForm(xccs=xccs, engines=2, has_events=True)
        uri = f"file://{image.path}"
        self.names = written(place, machine, kind=kind, form=form, images=(image_of(image, uri, 0x7F40_0000_0000),))
        self.data = [Path(name).read_bytes() for name in self.names]
        self.ranges = list(self._ranges())

    def _ranges(self) -> Iterator[tuple[int, int, int]]:
        """Yield the ranges that matter, as (file, start, size)."""
        memory = Bytes(*self.data)
        for index, data in enumerate(self.data):
            count = struct.unpack_from("<H", data, 56)[0]
            yield index, 0, 64 + 56 * count
            at = data.find(memory.note)
            if at >= 0:
                yield index, at - 20, len(memory.note) + 20
        note = memory.note
        places = [(u64(note, 40), 40)]
        queue = 40 + 16 + u32(note, 24) * u32(note, 28)
        area = u64(note, queue + 32)
        places += [(u64(note, queue + 24) - 128, 256), (u64(note, queue + 8), 64)]
        head = HEADER.unpack(memory.read(area, HEADER.size))
        places += [(area, 40), (area + head[0], head[1])]
        for address, size in places:
            content = memory.read(address, size)
            for index, data in enumerate(self.data):
                at = data.find(content)
                if at >= 0:
                    yield index, at, size


def damaged(subject: Subject, chance: Chance) -> list[bytes]:
    """Return damaged files."""
    files = [bytearray(data) for data in subject.data]
    edits = [edit(subject, chance) for _ in range(chance.choice((1, 1, 1, 2, 3, 8)))]
    for index, at, width, value, step in chance.kept(edits):
        data = files[index]
        if not width:
            del data[at:]
        elif at < len(data):
            number = int.from_bytes(data[at : at + width], "little") + step if step else value
            data[at : at + width] = (number & (1 << 8 * width) - 1).to_bytes(width, "little")
    return [bytes(data) for data in files]


def edit(subject: Subject, chance: Chance) -> tuple[int, int, int, int, int]:
    """Return a change: file, place, size (0 cuts the file there), the new number, or what is added to the old one."""
    kind = chance.random()
    index, start, size = chance.choice(subject.ranges)
    if kind < 0.2:
        index = chance.randrange(len(subject.data))
        start, size = 0, len(subject.data[index])
    at = start + chance.randrange(max(1, size))
    if kind < 0.1:
        return index, at, 0, 0, 0
    width = chance.choice((1, 1, 2, 4, 4, 8))
    at -= at % width if kind > 0.5 else 0
    value = chance.choice(EXTREMES) if chance.random() < 0.6 else chance.getrandbits(64)
    step = chance.choice((-8, -4, -1, 1, 4, 8, 64, 4096)) if chance.random() < 0.3 else 0
    return index, at, width, value, step


def given(function: Any, *arguments: Any) -> Any:
    """Return an answer, or None for an error."""
    with suppress(DwarfGpuError):
        return function(*arguments)
    return None


def ask(names: list[str], *, writes: bool = False) -> Iterator[str]:
    """Ask everything about a core file; with ``writes`` its waves are written again, too."""
    yield "open"
    has_gpu_state(names)
    core = open_core_waves(names)
    yield "core info"
    rows = core_rows(core)
    list(core_text(core, rows))
    core_json(core, rows)
    yield "registers and memory"
    for machine in core.core.machines:
        count = min(machine.wave_count, 50)
        waves = np.arange(count, dtype=np.uint64)
        for name in ("v0", "v5", "a1", "s0", "s99", "exec", "vcc", "ttmp6", "flat_scratch", "xnack_mask"):
            register = machine.register_named(name)
            if register is None:
                continue
            machine.gather_register(register, 0, 4, waves, None, count)
            for wave in range(min(count, 5)):
                given(machine.read_register, register, wave, None)
        for name in ("global", "local", "private_wave", "private_lane", "generic"):
            space: Any = machine.target.space_named(name)
            for address in (0, 64, 0x7F40_0000_0000):
                given(machine.read_memory, space, address, 16, 0, 1)
                given(machine.gather_memory, space, address, 8, waves, 1, count)
    yield "frames"
    machine = choose(core.core, None, None)
    stopped = Stopped(machine, core.loaded(), tuple(core.problems))
    given(wave_runs, stopped)
    for wave in range(min(machine.wave_count, 3)):
        given(stopped.wave(wave).frames)
    if writes:
        yield "written again"
        write_again(core, stopped)


def write_again(core: Any, stopped: Any) -> None:
    """Write the waves as a snapshot and as a core file; they must have the same stop reasons there."""
    machine = stopped.machine
    reasons = [machine.stop_of(wave).reasons for wave in range(machine.wave_count)]
    with tempfile.TemporaryDirectory(prefix="fuzz-again-") as folder:
        convert_core(core, machine, f"{folder}/x.json")
        small = snapshot.load(f"{folder}/x.json", force=True)
        stops = map(small.stop_of, range(small.wave_count))
        assert [() if stop is None else stop.reasons for stop in stops] == reasons
        write_core(stopped, f"{folder}/core")
        (again,) = open_core_waves([f"{folder}/core"]).core.machines
        assert again.wave_count == machine.wave_count


def begin(setting: Setting) -> Steps:
    good, bad = (setting.folder / name for name in ("good", "bad"))
    good.mkdir()
    bad.mkdir()
    kinds = (("merged", 1), ("pair", 2))
    subjects = [Subject(good, processor, *kind) for processor in setting.only for kind in kinds]

    def steps(chance: Chance) -> Asking:
        subject = chance.choice(subjects)
        for path in bad.iterdir():
            path.unlink()
        names = [str(bad / Path(name).name) for name in subject.names]
        for name, data in zip(names, damaged(subject, chance), strict=True):
            Path(name).write_bytes(data)
        yield from ask(names, writes=chance.random() < WRITTEN)
        return "answered"

    return steps


DRIVE = Drive(begin, lambda names: names or PROCESSORS)
