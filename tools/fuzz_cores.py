#!/usr/bin/env python3
"""Damage GPU core files and the text of the debug agent, and ask everything about what is left.

    python3 tools/fuzz_cores.py --count 20000            that many files
    python3 tools/fuzz_cores.py --seconds 300 --seed 7   as many as fit
    python3 tools/fuzz_cores.py --replay 7/123           the file with that number again

Each file must end with answers or with a DwarfGpuError, in 2 s of processor time and 1 GiB of memory beyond what good
files take. What does not is printed once, with its number, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import random
import struct
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzz_limits import TooLong, limit_memory, limited_time  # noqa: E402

from dwarfgpu.backends.gpu_core.save_area import HEADER  # noqa: E402
from dwarfgpu.backends.gpu_core.writing import CoreForm  # noqa: E402
from dwarfgpu.errors import DwarfGpuError  # noqa: E402
from tests.builders.core_layout import Bytes, u32, u64  # noqa: E402

SECONDS = 2.0
MEMORY = 1 << 30
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


def ask(names: list[str]) -> None:
    """Ask everything about a core file."""
    import numpy as np

    from dwarfgpu.program.stack.core_summary import core_summary
    from dwarfgpu.program.stack.gpu_cores import choose, has_gpu_state, open_core_waves
    from dwarfgpu.program.stack.stopped import Stopped
    from dwarfgpu.program.stack.wave_groups import wave_runs
    from dwarfgpu.render.cores import core_json, core_text

    def quietly(function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except DwarfGpuError:
            return None

    has_gpu_state(names)
    summary = quietly(core_summary, names)
    if summary is not None:
        list(core_text(summary))
        core_json(summary)
    opened = quietly(open_core_waves, names)
    if opened is None:
        return
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
        stopped = Stopped(machine, opened.code.loaded(), opened.problems)
        quietly(wave_runs, stopped)
        for wave in range(min(machine.wave_count, 3)):
            quietly(stopped.wave(wave).frames)


def run(numbers_text: str, subjects: list[Subject], folder: Path) -> tuple[float, str | None]:
    """Try one file; return the time it took, and the traceback of what should not have happened."""
    numbers = random.Random(numbers_text)
    subject = numbers.choice(subjects)
    names = []
    for name, data in zip(subject.names, mutant(subject, numbers), strict=True):
        path = folder / Path(name).name
        path.write_bytes(data)
        names.append(str(path))
    started = time.process_time()
    trace = None
    try:
        with suppress(DwarfGpuError), limited_time(SECONDS):
            ask(names)
    except (Exception, TooLong):  # noqa: BLE001 (what can happen is the question)
        trace = traceback.format_exc()
    seconds = time.process_time() - started
    for path in folder.iterdir():
        path.unlink()
    return seconds, trace


def make_subjects(folder: Path, processors: tuple[str, ...] = PROCESSORS) -> list[Subject]:
    """Return good core files."""
    kinds = (("merged", 1), ("pair", 2))
    return [Subject(folder, processor, kind, xccs) for processor in processors for kind, xccs in kinds]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--replay")
    options = parser.parse_args(words)
    seen: dict[str, str] = {}
    longest, count = 0.0, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-cores-") as name:
        place = Path(name)
        (place / "good").mkdir()
        (place / "bad").mkdir()
        subjects = make_subjects(place / "good")
        for subject in subjects[:2]:
            ask(subject.names)
        limit_memory(MEMORY)
        ends = time.monotonic() + options.seconds
        numbers = (
            [options.replay] if options.replay else (f"{options.seed}/{number}" for number in range(options.count))
        )
        for number in numbers:
            seconds, trace = run(number, subjects, place / "bad")
            count += 1
            longest = max(longest, seconds)
            if trace is not None:
                key = "\n".join(trace.splitlines()[-3:])
                if key not in seen:
                    seen[key] = number
                    print(f"--replay {number}\n{trace}", flush=True)
            if time.monotonic() > ends:
                break
    print(f"{count} files, {len(seen)} findings, the longest took {longest:.2f} s")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
