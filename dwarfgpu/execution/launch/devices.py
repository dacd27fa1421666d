"""What a machine is made of, as ROCgdb lists it: agents, their queues, the dispatches in those, and the packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.launch.structures import read_object
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.machines.machine import Dispatch, queue_of
from dwarfgpu.program.code.code_object import target_id
from dwarfgpu.program.frames.wave_positions import waves_of

if TYPE_CHECKING:
    from dwarfgpu.states.stopped import Stopped

_SCOPES = {1: "a", 2: "s"}
"""Of a fence: agent and system."""


@frozen
class Agent:
    """A processor, with the waves it executes."""

    number: str
    architecture: str
    lane_count: int
    waves: tuple[int, ...]


@frozen
class Queue:
    """A queue of an agent."""

    agent: str
    number: str
    address: int | None
    waves: tuple[int, ...]
    kind: str | None = None
    read: int | None = None
    write: int | None = None
    size: int | None = None
    """Bytes of its packets. It and those before are None where the memory of the machine does not have the queue."""
    index: int = 0
    """Its number in a list of queues, from 1."""


@frozen
class QueuedDispatch:
    """A dispatch of a queue."""

    agent: str
    queue: str
    dispatch: Dispatch
    waves: tuple[int, ...]
    fence: str | None
    """``B|Aa|Rs``: a barrier, and the scopes of the acquire and the release fence; None if they are not known."""


def agents(stopped: Stopped) -> list[Agent]:
    """Return the agents that waves are on."""
    machine = waves_of(stopped)
    members: dict[str, list[int]] = {}
    for wave, name in enumerate(machine.ids):
        members.setdefault(queue_of(name)[0], []).append(wave)
    target = machine.target
    return [
        Agent(number, target_id(target), target.lane_count, tuple(waves))
        for number, waves in (members or {"1": []}).items()
    ]


def dispatches(stopped: Stopped) -> list[QueuedDispatch]:
    """Return the dispatches, in the order of the machine."""
    machine = waves_of(stopped)
    members: dict[int, list[int]] = {}
    for wave, owner in enumerate(machine.dispatch.tolist()):
        members.setdefault(owner, []).append(wave)
    rows = []
    for index, dispatch in enumerate(machine.dispatches):
        waves = members.get(index, [])
        agent, queue = queue_of(machine.ids[waves[0]]) if waves else ("1", "1")
        rows.append(QueuedDispatch(agent, queue, dispatch, tuple(waves), _fence(stopped, dispatch)))
    return rows


def queues(stopped: Stopped) -> list[Queue]:
    """Return the queues that dispatches are in."""
    members: dict[tuple[str, str, int | None], list[int]] = {}
    for row in dispatches(stopped):
        members.setdefault((row.agent, row.queue, row.dispatch.queue), []).extend(row.waves)
    found = (_queue(stopped, *key, tuple(waves)) for key, waves in members.items())
    return [evolve(queue, index=index) for index, queue in enumerate(found, 1)]


def _queue(stopped: Stopped, agent: str, number: str, address: int | None, waves: tuple[int, ...]) -> Queue:
    if address is None:
        return Queue(agent, number, None, waves)
    try:
        parts = _read(stopped, "queue", address)
    except DwarfGpuError:
        return Queue(agent, number, address, waves)
    kind = parts["type"].meaning or str(parts["type"].value)
    packets = parts["size"].value * 64
    read, write = parts["read_dispatch_id"].value, parts["write_dispatch_id"].value
    return Queue(agent, number, parts["base_address"].value, waves, kind, read, write, packets)


def _fence(stopped: Stopped, dispatch: Dispatch) -> str | None:
    """Return the fences of the packet, as ROCgdb abbreviates them."""
    if dispatch.packet is None:
        return None
    try:
        bits = {part.name: part.value for part in _read(stopped, "packet", dispatch.packet)["header"].bits}
    except DwarfGpuError:
        return None
    fences = ["B"] if bits["barrier"] else []
    for letter, name in (("A", "acquire_fence_scope"), ("R", "release_fence_scope")):
        scope = _SCOPES.get(bits[name])
        fences += [] if scope is None else [letter + scope]
    return "|".join(fences)


def _read(stopped: Stopped, kind: str, address: int) -> dict[str, Any]:
    machine = stopped.machine
    return {part.name: part for part in read_object(machine, machine.target, kind, address).parts}
