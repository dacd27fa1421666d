"""The texts that select waves and lanes: ids, numbers, ranges, ``all``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.program.stack.stopped import Threads
    from dwarfgpu.targets.target import Target


def wave_named(machine: Threads, name: str, noun: str = "wave") -> int:
    """Return the index of the wave (thread) with an id, or with a number from 0."""
    index = machine.wave_named(name)
    if index is None and name.isdecimal() and name.isascii() and len(name) < 10:
        index = int(name)
    if index is None or index >= machine.wave_count:
        raise no_wave(machine, name, noun)
    return index


def no_wave(machine: Threads, name: str, noun: str = "wave") -> UsageError:
    """Return the error of a name that no wave has."""
    examples = ", ".join(machine.ids[:4]) + (", ..." if machine.wave_count > 4 else "")
    return UsageError(f"there is no {noun} {name[:80]!r}", hint=f"there are {machine.wave_count}: {examples}")


def wave_of(machine: Threads, name: str | None) -> int:
    """Return the index of the wave with a name; None is for the only wave there is."""
    if name is not None:
        return wave_named(machine, name)
    if machine.wave_count == 1:
        return 0
    message = f"the snapshot has {machine.wave_count} waves, and none is chosen"
    raise UsageError(message, hint="choose one with --wave, by its id or by its number from 0")


def waves_of(machine: Threads, name: str | None) -> list[int]:
    """Return the indices of the waves or threads that a text names; None is ``all``."""
    if name is None or name == "all":
        return list(range(machine.wave_count))
    return [wave_named(machine, name, "wave or thread")]


def no_lanes(target: Target) -> UsageError:
    """Return the error of a question about lanes where threads have none."""
    return UsageError(f"threads of {target.name} have no lanes", hint="leave out the lane")


def lanes_of(text: str) -> list[int] | str:
    """Return the lanes that a list such as ``0,3,8-11`` names, or ``all``."""
    text = text.strip()
    if text == "all":
        return text
    lanes: dict[int, None] = {}
    for item in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", item)
        if match is None:
            message = f"{text!r} does not name lanes"
            raise UsageError(message, hint="give a number, a list such as 0,3,8-11, or all")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last >= 1 << 16:
            message = f"{item.strip()!r} is not a range of lanes"
            raise UsageError(message, hint="lanes count up from 0")
        lanes.update(dict.fromkeys(range(first, last + 1)))
    return list(lanes)
