"""A question that is asked for many lanes at once, and again for some of them where their answers part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.lanes import Diverge, Group, LaneFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.lanes import LaneSet

T = TypeVar("T")


def each_part(lanes: LaneSet, make: Callable[[LaneSet], T]) -> list[Group[T]]:
    """What ``make`` gives for all lanes together; where they need different answers, for each part of them.

    ``make`` changes nothing, so it can be asked again for the parts of a set that it could not answer as a whole.
    """
    groups: list[Group[T]] = []
    work: list[Any] = [None]
    while work:
        positions = work.pop()
        part = lanes if positions is None else lanes.select(positions)
        try:
            groups.append(Group(positions, make(part), None))
        except Diverge as split:
            work.extend(_within(positions, inner) for inner in reversed(split.parts))
        except LaneFault as fault:
            failed = fault.positions
            groups.append(Group(_within(positions, failed), None, _errors_of(fault)))
            rest = b.complement(failed, part.count)
            if len(rest):
                work.append(_within(positions, rest))
        except DwarfGpuError as error:
            groups.append(Group(positions, None, lambda _index, error=error: error))  # type: ignore[misc]
    return groups


def _errors_of(fault: LaneFault) -> Callable[[int], DwarfGpuError]:
    return lambda index: fault.error_at(int(fault.positions[index]))


def _within(positions: Any, inner: Any) -> Any:
    return inner if positions is None else positions[inner]


def positions_in(group: Group[Any], count: int) -> list[int]:
    """The positions of a group in the set that was asked about."""
    return list(range(count)) if group.positions is None else [int(each) for each in group.positions]
