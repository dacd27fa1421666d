"""Damage GPU core files, and ask everything about what is left.

    python3 tools/dev.py fuzz --cores --seconds 60
    python3 tools/dev.py fuzz --cores --replay 7/123

The headers, the note, the save areas, the packets and the queue objects of good files are changed, or the files cut.
Each file must end with answers or with a DwarfGpuError; waves that are read must be written again as a snapshot and as
a core file with the same stop reasons.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fuzz_loop  # noqa: E402

from dwarfgpu.errors import DwarfGpuError  # noqa: E402
from dwarfgpu.machines.gpu_core.save_area import HEADER  # noqa: E402
from dwarfgpu.machines.gpu_core.writing import CoreForm  # noqa: E402
from tests.builders.core_layout import Bytes, u32, u64  # noqa: E402

WRITTEN = 0.1
"""The share of files whose waves are written again, which takes most of the time."""
EXTREMES = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    (1 << 63) - 1,
    (1 << 64) - 1,
    1 << 48,
)
PROCESSORS = ("gfx90a", "gfx942", "gfx908", "gfx1030-wave64", "gfx1100-wave32", "gfx1200-wave32", "gfx1250")


class Subject:
    """A good core file: its files, and the ranges of them that decide how the rest is read."""

    def __init__(self, folder: Path, processor: str, kind: str, xccs: int) -> None:
        from dwarfgpu.program.code.code_object import opened
        from tests.builders.gpu_cores import filled, image_of, written

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


def mutant(subject: Subject, numbers: random.Random) -> list[bytes]:
    """Return damaged files."""
    files = [bytearray(data) for data in subject.data]
    for _ in range(numbers.choice((1, 1, 1, 2, 3, 8))):
        kind = numbers.random()
        if kind < 0.1:
            index = numbers.randrange(len(files))
            del files[index][numbers.randrange(len(files[index]) + 1) :]
            continue
        if kind < 0.2:
            index, start, size = numbers.randrange(len(files)), 0, 0
            size = len(files[index])
        else:
            index, start, size = numbers.choice(subject.ranges)
        data = files[index]
        if not size or start >= len(data):
            continue
        width = numbers.choice((1, 1, 2, 4, 4, 8))
        at = start + numbers.randrange(size)
        at -= at % width if kind > 0.5 else 0
        value = numbers.choice(EXTREMES) if numbers.random() < 0.6 else numbers.getrandbits(64)
        if numbers.random() < 0.3 and at + width <= len(data):
            value = int.from_bytes(data[at : at + width], "little") + numbers.choice((-8, -4, -1, 1, 4, 8, 64, 4096))
        data[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    return [bytes(data) for data in files]


def ask(names: list[str], *, writes: bool = False) -> None:
    """Ask everything about a core file; with ``writes`` its waves are written again, too."""
    import numpy as np

    from dwarfgpu.program.frames.wave_groups import wave_runs
    from dwarfgpu.render.cores import core_json, core_text
    from dwarfgpu.states.core_summary import core_rows
    from dwarfgpu.states.gpu_cores import choose, has_gpu_state, open_core_waves
    from dwarfgpu.states.stopped import Stopped

    def quietly(function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except DwarfGpuError:
            return None

    has_gpu_state(names)
    opened = quietly(open_core_waves, names)
    if opened is None:
        return
    rows = core_rows(opened)
    list(core_text(opened, rows))
    core_json(opened, rows)
    for machine in opened.core.machines:
        count = min(machine.wave_count, 50)
        waves = np.arange(count, dtype=np.uint64)
        for name in ("v0", "v5", "a1", "s0", "s99", "exec", "vcc", "ttmp6", "flat_scratch", "xnack_mask"):
            register = machine.register_named(name)
            if register is None:
                continue
            machine.gather_register(register, 0, 4, waves, None, count)
            for wave in range(min(count, 5)):
                quietly(machine.read_register, register, wave, None)
        for name in ("global", "local", "private_wave", "private_lane", "generic"):
            space: Any = machine.target.space_named(name)
            for address in (0, 64, 0x7F40_0000_0000):
                quietly(machine.read_memory, space, address, 16, 0, 1)
                quietly(machine.gather_memory, space, address, 8, waves, 1, count)
    machine = quietly(choose, opened.core, None, None)
    if machine is not None:
        stopped = Stopped(machine, opened.loaded(), tuple(opened.problems))
        quietly(wave_runs, stopped)
        for wave in range(min(machine.wave_count, 3)):
            quietly(stopped.wave(wave).frames)
        if writes:
            quietly(write_again, opened, stopped)


def write_again(opened: Any, stopped: Any) -> None:
    """Write the waves as a snapshot and as a core file; they must have the same stop reasons there."""
    from dwarfgpu.machines import snapshot
    from dwarfgpu.states.core_conversion import convert_core
    from dwarfgpu.states.core_writing import write_core
    from dwarfgpu.states.gpu_cores import open_core_waves

    machine = stopped.machine
    reasons = [machine.stop_of(wave).reasons for wave in range(machine.wave_count)]
    with tempfile.TemporaryDirectory(prefix="fuzz-again-") as folder:
        convert_core(opened, machine, f"{folder}/x.json")
        small = snapshot.load(f"{folder}/x.json", force=True)
        stops = map(small.stop_of, range(small.wave_count))
        assert [() if stop is None else stop.reasons for stop in stops] == reasons
        write_core(stopped, f"{folder}/core")
        (again,) = open_core_waves([f"{folder}/core"]).core.machines
        assert again.wave_count == machine.wave_count


def attempt_of(subjects: Sequence[Subject], folder: Path) -> fuzz_loop.Try:
    """Return what tries one damaged file, written into a folder."""

    def attempt(numbers: random.Random) -> None:
        subject = numbers.choice(subjects)
        names = []
        for name, data in zip(subject.names, mutant(subject, numbers), strict=True):
            path = folder / Path(name).name
            path.write_bytes(data)
            names.append(str(path))
        try:
            ask(names, writes=numbers.random() < WRITTEN)
        finally:
            for path in folder.iterdir():
                path.unlink()

    return attempt


def make_subjects(folder: Path, processors: tuple[str, ...] = PROCESSORS) -> list[Subject]:
    """Return good core files."""
    kinds = (("merged", 1), ("pair", 2))
    return [Subject(folder, processor, kind, xccs) for processor in processors for kind, xccs in kinds]


def begin(folder: Path) -> fuzz_loop.Try:
    """Return what tries one damaged file."""
    for name in ("good", "bad"):
        (folder / name).mkdir()
    subjects = make_subjects(folder / "good")
    ask(subjects[0].names)
    return attempt_of(subjects, folder / "bad")


if __name__ == "__main__":
    sys.exit(fuzz_loop.main(__doc__, begin))
