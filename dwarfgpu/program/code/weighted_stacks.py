"""What was counted at addresses of code, each with the calls around it: what profiles and samples have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.scopes import SourceCall

if TYPE_CHECKING:
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode

UNKNOWN = SourceCall("[unknown callers]", None, None, inlined=False, offset=None)
"""The caller in place of all callers that are not known."""


@frozen
class StackLevel:
    """A function that executes or has called another, with the calls that are inlined there."""

    address: int
    """In its file: of the instruction, or of the last byte of the call. -1 if it is not known."""
    calls: tuple[SourceCall, ...]
    """Innermost first."""


@frozen(eq=False)
class WeightedStack:
    """An address with its callers, innermost first, and what was counted there."""

    levels: tuple[StackLevel, ...]
    weights: tuple[int, ...]

    @property
    def calls(self) -> tuple[SourceCall, ...]:
        """All calls, outermost first."""
        return calls_of(self.levels)


@frozen(eq=False)
class StackProfile:
    """What was counted, in total the sum over its stacks."""

    name: str
    weights: tuple[str, ...]
    """What each weight of a stack counts; the first is the one that matters if a format has only one."""
    stacks: tuple[WeightedStack, ...]
    file: str
    """The file of the code."""
    spans: tuple[int, int]
    """The first address of its code, and the one behind the last."""
    build_id: str | None = None


@frozen(eq=False)
class TimedCalls:
    """Some time that a wave spends in calls, outermost first."""

    calls: tuple[SourceCall, ...]
    instructions: int
    facts: dict[str, object]
    text: str | None = None
    """What is executed there, if it is one instruction."""


@frozen(eq=False)
class WaveTrack:
    """What a wave has done, one thing after the other."""

    wave: int
    id: str
    work_group: tuple[int, int, int]
    parts: tuple[TimedCalls, ...]


def stack_profile(
    name: str, weights: tuple[str, ...], stacks: tuple[WeightedStack, ...], code: LoadedCode
) -> StackProfile:
    """Return what was counted in a file of code."""
    image = code.file.image
    sections = image.code_sections
    low = min((section.address for section in sections), default=0)
    high = max((section.address + section.size for section in sections), default=0)
    return StackProfile(name, weights, stacks, code.file.name, (low, high), image.build_id)


def stack_levels(loaded: Loaded, pc: int, callers: tuple[int, ...] | None = ()) -> tuple[StackLevel, ...]:
    """Return the calls at an address of the running program; ``callers`` are return addresses, innermost first."""
    return tuple(_levels(loaded, pc, callers))


def calls_of(levels: tuple[StackLevel, ...]) -> tuple[SourceCall, ...]:
    """Return all calls, outermost first."""
    return tuple(call for level in reversed(levels) for call in reversed(level.calls))


def _levels(loaded: Loaded, pc: int, callers: tuple[int, ...] | None) -> Iterator[StackLevel]:
    for address in (pc, *(each - 1 for each in callers or ())):
        code = loaded.at(address)
        yield StackLevel(address if code is None else code.in_file(address), loaded.calls_at(address))
    if callers is None:
        yield StackLevel(-1, (UNKNOWN,))
