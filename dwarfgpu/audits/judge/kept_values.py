"""Values of variables that were read, kept for as long as everything that they come from stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.recorded_values import OPTIMIZED_OUT, Leaf, Recorded, RecordedValue, has_fixed_leaves
from dwarfgpu.audits.judge.wave_registers import BatchRegisters, Inputs
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.lists.list_encoding import ListEntry, matching

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.variable import Variable

MAX_KEPT = 1 << 14
"""The variables of waves, in sets of lanes, whose last values are kept."""


@frozen
class ContentSource:
    """What a value is computed by: the same source has the same value where registers and memory are the same."""

    die: Die
    entries: tuple[int, ...]
    """The entries of the location that are valid, by their offsets."""
    is_in_prologue: bool
    """Whether the function has no frame of its own yet."""
    place: int | None = None
    """The address, where it may change the value, too."""


def source_of(variable: Variable, entries: tuple[ListEntry, ...] | None) -> ContentSource:
    """Return what the value of a variable is computed by in its frame."""
    place = variable.frame.place
    valid = () if entries is None else matching(entries, variable.frame.place_in_file)
    prologue = None if place is None else variable.frame.state.sources.prologue(place)
    is_in_prologue = prologue is not None and place in prologue
    is_placeless = bool(valid) and variable.is_placeless and has_fixed_leaves(variable.type)
    offsets = tuple(entry.offset for entry in valid)
    return ContentSource(variable.die, offsets, is_in_prologue, None if is_placeless else place or 0)


class KeptValues:
    """The values that variables of waves had last, and what these have come from."""

    def __init__(self, registers: BatchRegisters) -> None:
        self.registers = registers
        self._kept: dict[tuple[ContentSource, int, tuple[int, ...]], tuple[Inputs, list[Recorded]]] = {}
        self._leaves: dict[tuple[Leaf, ...], tuple[Leaf, ...]] = {}
        self._values: dict[tuple[int, tuple[int | None, ...]], RecordedValue] = {}
        """Each value once, by the identity of its leaves, so that values are compared by identity first."""

    def read(
        self, source: ContentSource, wave: int, lanes: tuple[int, ...], read: Callable[[], list[Recorded]]
    ) -> list[Recorded]:
        """Return what a variable is in some lanes: the values that are known, if nothing has changed."""
        key = source, wave, lanes
        kept = self._kept.get(key)
        if kept is not None and kept[0].are_same():
            return kept[1]
        inputs = self.registers.inputs = Inputs(self.registers)
        try:
            values = [*map(self._one, read())]
        finally:
            self.registers.inputs = None
        is_value = all(isinstance(value, RecordedValue) or value == OPTIMIZED_OUT for value in values)
        if (inputs.is_whole and is_value) if source.place is None else inputs.is_empty:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = inputs, values
        return values

    def _one(self, value: Recorded) -> Recorded:
        """Return the value that is equal to one, and was there first."""
        if not isinstance(value, RecordedValue) or value.elsewhere:
            return value
        leaves = self._leaves.setdefault(value.leaves, value.leaves)
        key = id(leaves), value.patterns
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = RecordedValue(leaves, value.patterns)
        return known
