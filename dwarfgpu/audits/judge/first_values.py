"""Values of variables before the loop that alone changes them.

An instruction of the loop may stand in front of it, and a location may change with that instruction. So a value counts
as one before the loop only if a branch that is no jump back follows before the first instruction with a line of the
loop, and if the wave comes to the loop at all: a compiler can compute what a whole loop does, and leave it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
    from dwarfgpu.isa.instruction import GpuInstruction

SourceLines = frozenset[tuple[str, int]]
"""Lines with their files."""
_BRANCHES = ("s_branch", "s_cbranch", "s_call", "s_setpc", "s_swappc")


@define
class FirstValue:
    """A value that is not the one that a variable has before a loop."""

    loop: SourceLines
    subject: Subject
    pc: int
    sighting: Sighting
    is_settled: bool = False
    """Whether a branch was executed behind it."""


@define
class WavePath:
    """What a wave has executed, as long as it has not jumped back."""

    pc: int = 0
    lines: set[tuple[str, int]] | None = field(factory=set)
    """None behind a jump back."""
    wrong: list[FirstValue] = field(factory=list)


class FirstValues:
    """Reports wrong values once waves come to the loops."""

    def __init__(self, sightings: Sightings) -> None:
        self.sightings = sightings
        self._paths: dict[int, WavePath] = {}

    def observe(self, wave: int, pc: int, instruction: GpuInstruction, lines: tuple[tuple[str, int], ...]) -> None:
        """Take notice of an instruction that a wave is about to execute, with the lines that are known of it."""
        path = self._paths.setdefault(wave, WavePath())
        if pc < path.pc:
            path.lines = None
        path.pc = pc
        if path.lines is None:
            return
        path.lines.update(lines)
        for value in path.wrong:
            if not value.loop.isdisjoint(lines) and value.is_settled:
                self.sightings.add(value.subject, value.pc, value.sighting)
            value.is_settled |= instruction.name.startswith(_BRANCHES)
        path.wrong = [value for value in path.wrong if value.loop.isdisjoint(lines)]

    def end(self, wave: int) -> None:
        """Forget a wave that ends."""
        self._paths.pop(wave, None)

    def is_before(self, wave: int, loop: SourceLines) -> bool:
        """Return whether a wave is known to have executed no instruction of a loop."""
        path = self._paths.get(wave)
        return path is not None and path.lines is not None and loop.isdisjoint(path.lines)

    def add(self, wave: int, value: FirstValue) -> None:
        """Add a value that is wrong if it is one before the loop."""
        self._paths[wave].wrong.append(value)
