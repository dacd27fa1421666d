"""The accesses of work-items to buffers, by which instructions of two builds are compared.

Whatever a compiler moves, a work-item stores the same bytes to the same place of a buffer: so the instruction that does
has the line of the statement that does so in the other build, and one that loads has the line of a statement that
loads. One instruction may access what several statements do, and has the line of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.execution.access_shapes import BUFFER, FLAT, GLOBAL
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running

WorkItem = tuple[tuple[int, int, int], tuple[int, int, int]]
"""A work-item: its work-group, and its place in it."""
MOST_ITEMS = 16
"""The work-items whose accesses are compared."""
MOST_ACCESSES = 4096
"""The accesses of a work-item that are kept, the first ones."""
LOAD, STORE = "load", "store"


@frozen
class BufferAccess:
    """Bytes of a buffer that a work-item accesses."""

    action: str
    buffer: str
    start: int
    end: int
    pc: int
    wave: str
    lane: int

    @property
    def place(self) -> tuple[str, str, int, int]:
        """What is done where."""
        return self.action, self.buffer, self.start, self.end


class BufferAccesses:
    """Records the accesses of some work-items while a kernel runs."""

    def __init__(
        self, running: Running, items_of: Callable[[int], tuple[WorkItem | None, ...]], judged: BufferAccesses | None
    ) -> None:
        self.running = running
        self.by_item: dict[WorkItem, list[BufferAccess]] = {}
        self.is_cut = False
        self._items_of = items_of
        self._wanted = None if judged is None else frozenset(judged.by_item)
        """The work-items that another build has; None to choose some."""
        self._now: tuple[WaveBatch, int] | None = None
        self._buffers = [(each.address, each.address + each.size, each.name) for each in running.launched.plan.buffers]
        running.machine.device.memory.watch = self._access

    def observe(self, batch: WaveBatch) -> None:
        """Take notice of a batch that is about to execute an instruction."""
        self._now = batch, batch.pc

    def end(self) -> None:
        """Record no more."""
        self.running.machine.device.memory.watch = None

    def _access(self, space: str, address: Any, mask: Any, size: int) -> None:
        if self._now is None or space not in (GLOBAL, BUFFER, FLAT):
            return
        batch, pc = self._now
        action, extent = self.running.machine.device.memory.moving
        for row, wave in enumerate(batch.waves.tolist()):
            for lane, item in self._lanes_of(wave):
                if mask is None or mask[row, lane]:
                    start = int(address[row, lane])
                    for first, end, name in self._buffers:
                        if first <= start < end:
                            place = start - first, start - first + max(size, extent)
                            access = BufferAccess(action, name, *place, pc, self.running.machine.ids[wave], lane)
                            kept = self.by_item.setdefault(item, [])
                            if len(kept) < MOST_ACCESSES:
                                kept.append(access)
                            else:
                                self.is_cut = True

    def _lanes_of(self, wave: int) -> Iterator[tuple[int, WorkItem]]:
        """Yield the lanes of a wave that are recorded: at first some of each wave, until there are enough."""
        items = self._items_of(wave)
        step = max(1, len(items) // (MOST_ITEMS // 4))
        for lane, item in enumerate(items):
            if item is None:
                continue
            if self._wanted is not None:
                is_chosen = item in self._wanted
            else:
                is_chosen = item in self.by_item or (len(self.by_item) < MOST_ITEMS and lane % step in (0, step - 1))
            if is_chosen:
                yield lane, item


def judge_lines(own: BufferAccesses, other: BufferAccesses, name: str, rule: CheckRule, sightings: Sightings) -> None:
    """Report instructions whose line accesses other memory in another build, or does so in another way."""
    if own.is_cut or other.is_cut:
        return
    for item, accesses in own.by_item.items():
        there = other.by_item.get(item, [])
        for access, others in _pairs(accesses, there):
            line = _line(own.running, access.pc)
            lines = {_line(other.running, each.pc) for each in others}
            sightings.note(rule, access.pc)
            if line[1] and lines and line not in lines and not any(not number for _file, number in lines):
                texts = " or ".join(str(number) for _file, number in sorted(lines)[:3])
                message = (
                    f"line {line[1]} has the {access.action} of {access.buffer}+{access.start:#x}, which line {texts}"
                )
                message += f" has in {name}"
                sighting = Sighting(message, access.wave, access.lane)
                sightings.add(Subject(rule, f"{line[1]}"), access.pc, sighting)


def _pairs(own: list[BufferAccess], there: list[BufferAccess]) -> Iterator[tuple[BufferAccess, list[BufferAccess]]]:
    """Yield accesses with those that they can be: one where both builds access the same bytes as often."""
    counts: dict[tuple[str, str, int, int], list[BufferAccess]] = {}
    for access in own:
        counts.setdefault(access.place, []).append(access)
    for (action, buffer, start, end), same in counts.items():
        others = [
            each
            for each in there
            if each.buffer == buffer
            and each.start < end
            and start < each.end
            and (each.action == LOAD) is (action == LOAD)
        ]
        is_each = action != LOAD and len(same) == len(others) and all(each.place == same[0].place for each in others)
        for number, access in enumerate(same):
            yield access, [others[number]] if is_each else others


def _line(running: Running, pc: int) -> tuple[str, int]:
    line = running.line_at(pc)
    return ("", 0) if line is None else (line.file.name.rpartition("/")[2], line.line)
