"""Which waves and lanes a text means: numbers, ids, ranges, ``all``.

Waves and threads are numbered from 1, as GDB and ROCgdb number threads; lanes and frames are numbered from 0. A wave is
also named by its id, such as 1:2:1:1, where that is not one of the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dwarfgpu.errors import UnknownItem, UsageError

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import WaveBackend
    from dwarfgpu.targets.target import Target

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
LIST_HINT = "a list is like 0,3,8-11"


# --- Waves --------------------------------------------------------------------------------------------------------


def noun(machine: WaveBackend) -> str:
    """Return what a user calls the threads of a machine: ``wave`` or ``thread``."""
    return "thread" if machine.target.execution_mask is None else "wave"


def wave_named(machine: WaveBackend, name: str) -> int:
    """Return the index of the wave or thread that a number from 1, or else an id, names."""
    if name.isdecimal() and name.isascii() and len(name) < 10 and 1 <= int(name) <= machine.wave_count:
        return int(name) - 1
    index = machine.wave_named(name)
    if index is None:
        raise no_wave(machine, name)
    return index


def no_wave(machine: WaveBackend, name: str) -> UnknownItem:
    """Return the error of a name that no wave has."""
    count = machine.wave_count
    names = ", ".join(f"{number} ({name})" for number, name in enumerate(machine.ids[:3], 1))
    hint = f"there are {count}: {names}{', ...' if count > 3 else ''}"
    return UnknownItem(f"Unknown {noun(machine)} {name[:60]}.", kind="no_wave", hint=hint)


def wave_of(machine: WaveBackend, name: str | None) -> int:
    """Return the index of the wave that a name means; without a name that of the only wave."""
    if name is not None:
        return wave_named(machine, name)
    if machine.wave_count == 1:
        return 0
    raise unchosen_wave(machine)


def unchosen_wave(machine: WaveBackend, crashed: int | None = None) -> UsageError:
    """Return the error of a question about one wave where there are several, and none is chosen."""
    message = f"the state has {machine.wave_count} waves, and none is chosen"
    stop = None if crashed is None else machine.stop_of(crashed)
    hint = "" if crashed is None or stop is None else f"; wave {crashed + 1} has stopped with {stop.name}"
    return UsageError(message, hint=f"choose one with --wave, by its number from 1 or by its id{hint}")


def waves_of(machine: WaveBackend, names: str | None) -> list[int]:
    """Return the indices of the waves that a list, an id or ``all`` means; None is ``all``."""
    if names is None or names == "all":
        return list(range(machine.wave_count))
    if not re.fullmatch(r"[\d,\s-]+", names, re.ASCII) or machine.wave_named(names) is not None:
        return [wave_named(machine, names)]
    indices = [number - 1 for number in numbers_in(names, 1, machine.wave_count, noun(machine))]
    if not indices:
        message = f"No {noun(machine)}s match '{names[:40]}'."
        raise UsageError(message, kind="no_wave", hint=f"they are 1 to {machine.wave_count}")
    return indices


# --- Lanes --------------------------------------------------------------------------------------------------------


def no_lanes(target: Target) -> UsageError:
    """Return the error of a lane of a thread that has none."""
    return UsageError(f"threads of {target.name} have no lanes", hint="leave out the lane")


def lanes_of(text: str, count: int = 1 << 16) -> list[int] | str:
    """Return the lanes that a list such as ``0,3,8-11`` names, or ``all``; ``count`` is how many there are."""
    text = text.strip()
    if text == "all":
        return text
    lanes = numbers_of(text, 0, count - 1, "lane")
    if not lanes:
        raise UsageError(f"{text[:40]!r} names no lane", hint=f"{LIST_HINT}, or all")
    return lanes


# --- Lists of numbers ---------------------------------------------------------------------------------------------


def ranges_in(text: str, what: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each part of a list such as ``1,4-7``."""
    for part in text.replace(",", " ").split():
        if part.startswith("-"):
            raise UsageError(f"Unrecognized option at: {part[:40]}", hint=LIST_HINT)
        match = _RANGE.fullmatch(part)
        if match is None:
            raise UsageError(f"{part[:40]!r} is neither a {what} nor a range", hint=LIST_HINT)
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low:
            raise UsageError("inverted range", hint=f"write {high}-{low}")
        yield low, high


def numbers_in(text: str, first: int, last: int, what: str) -> list[int]:
    """Return the numbers of a list that are from ``first`` to ``last``, in the order of the list."""
    numbers: dict[int, None] = {}
    for low, high in ranges_in(text, what):
        numbers.update(dict.fromkeys(range(max(low, first), min(high, last) + 1)))
    return list(numbers)


def numbers_of(text: str, first: int, last: int, what: str) -> list[int]:
    """Return the numbers of a list, all of which must be from ``first`` to ``last``."""
    for low, high in ranges_in(text, what):
        if low < first or high > last:
            part = str(low) if low == high else f"{low}-{high}"
            raise UsageError(f"there is no {what} {part}", kind=f"no_{what}", hint=f"they are {first} to {last}")
    return numbers_in(text, first, last, what)
