"""How a kernel is launched: what a command line, the configuration of an editor and Python may say of it.

A new option is a field here, and a row with its help in `questions/table.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from operator import index
from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch.argument_values import INTEGER
from dwarfgpu.immutable import field, fields, frozen

MOST_AGENTS = 8
"""More agents show nothing that these do not."""
MAX_DIGITS = 400
"""Of a number in the words of a command: Python needs long for very many."""


def number(text: str, what: str) -> int:
    """Parse a number in decimal or hexadecimal (0x10); ``what`` is its name in messages."""
    if not INTEGER.fullmatch(text) or len(text) > MAX_DIGITS:
        raise UsageError(f"{what} {text[:40]!r} is not a number", hint="write it in decimal, or as 0x10")
    return int(text, 0) if "x" in text.lower() else int(text)


def sizes(text: str, what: str) -> tuple[int, ...]:
    """Parse ``X``, ``X,Y`` or ``X,Y,Z``."""
    if re.fullmatch(r"[1-9]\d*(x[1-9]\d*)+", text):
        raise UsageError(f"{what} {text[:40]!r} is not a number", hint=f"write {text[:40].replace('x', ',')}")
    return tuple(number(part.strip(), what) for part in text.split(","))


def _option(
    read: Callable[[Any, str], Any], default: Any = None, *, convert: Callable[[Any], Any] | None = None
) -> Any:
    """Declare an option: what reads the words of a user, its default, and what converts the value of a script."""
    return field(default=default, metadata={"read": read}, converter=convert)


def _number(given: int, _what: str) -> int:
    return given


def _text(given: str, _what: str) -> str:
    return given


def _flag(_given: Any, _what: str) -> bool:
    return True


def _names(given: Iterable[Any], _what: str) -> tuple[str, ...]:
    return tuple(map(str, given))


def _triple(name: str, given: Any) -> Any:
    """Return one size or several as numbers of Python."""
    try:
        return None if given is None else tuple(map(index, given if isinstance(given, Iterable) else (given,)))
    except TypeError:
        raise UsageError(f"{name} is {given!r:.40}", hint="give 1 to 3 integers, such as 64 or (64, 4)") from None


@frozen
class LaunchOptions:
    """The options of a launch; `control.running.launch` says what each means."""

    grid: tuple[int, ...] = _option(lambda text, _what: sizes(text, "the grid"), (), convert=partial(_triple, "grid"))
    work_group: tuple[int, ...] | None = _option(sizes, convert=partial(_triple, "work_group"))
    cluster: tuple[int, ...] | None = _option(sizes, convert=partial(_triple, "cluster"))
    global_offset: tuple[int, ...] = _option(sizes, (), convert=partial(_triple, "global_offset"))
    private_size: int | None = _option(number)
    dynamic_local: int | None = _option(number)
    padding: int | None = _option(number)
    permissive: bool = _option(_flag, default=False)
    at_once: int | None = _option(_number)
    seed: int | None = _option(_number)
    weak_memory: int | None = _option(_number)
    agents: int = _option(_number, 1)
    fine_grained: tuple[str, ...] = _option(_names, ())
    check: str | None = _option(_text)
    read_only: tuple[str, ...] = _option(_names, ())
    write_only: tuple[str, ...] = _option(_names, ())

    def __attrs_post_init__(self) -> None:
        if len(self.global_offset) > 3 or any(not 0 <= part < 1 << 64 for part in self.global_offset):
            raise UsageError(f"the global offset is {self.global_offset}", hint="give 1 to 3 numbers, such as 64,4")
        if self.at_once is not None and self.at_once < 1:
            raise UsageError(f"{self.at_once} waves at a time: there must be one at least")
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"the seed {self.seed} is negative")
        if self.weak_memory is not None and self.weak_memory < 0:
            raise UsageError(f"the seed {self.weak_memory} of weak memory is negative")
        if not 1 <= self.agents <= MOST_AGENTS:
            raise UsageError(f"{self.agents} agents: there are 1 to {MOST_AGENTS}")
        if self.weak_memory is None and (self.agents > 1 or self.fine_grained):
            hint = "name a seed with --weak-memory"
            raise UsageError("agents and fine-grained buffers go with weak memory", hint=hint)

    @classmethod
    def read(cls, option: Callable[[str], Any]) -> LaunchOptions:
        """Return what a user says: ``option`` returns the text or the number of ``work-group``, for one."""
        given = {}
        for name, read in OPTIONS.items():
            value = option(name)
            if value is not None and value is not False:
                given[name.replace("-", "_")] = read(value, f"--{name}")
        return cls(**given)


OPTIONS: dict[str, Callable[[Any, str], Any]] = {
    each.name.replace("_", "-"): each.metadata["read"] for each in fields(LaunchOptions)
}
"""What reads each option, by the name that a command line has for it."""
NUMBERS = frozenset(name for name, read in OPTIONS.items() if read is _number)
"""The options that are numbers in the configuration of an editor, too."""
LISTS = frozenset(name for name, read in OPTIONS.items() if read is _names)
