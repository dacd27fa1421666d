"""What is in a GPU core file, on one screen: agents, queues, dispatches, waves, code, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.states.gpu_cores import open_core_waves
from dwarfgpu.states.snapshot_files import dispatch_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dwarfgpu.program.code.loaded import Loaded


@frozen
class CoreAgent:
    """One processor."""

    number: int
    processor: str
    engines: int
    xccs: int
    waves: int


@frozen
class CoreQueue:
    """One queue."""

    number: int
    agent: int
    kind: str
    packets: int
    read: int | None
    write: int | None
    waves: int


@frozen
class CoreDispatch:
    """One dispatch."""

    text: str
    packet: int
    number: int | None
    """Counted from the first packet of its queue."""
    waves: int


@frozen
class CoreWaves:
    """Waves of one kernel at one place that have stopped for one reason."""

    count: int
    target: str
    kernel: str | None
    pc: int | None
    stop: str
    signal: str | None
    first: str
    """The id of the first of them."""


@frozen
class CoreCodeObject:
    """One code object of the process."""

    address: int
    uri: str
    where: str
    has_dwarf: bool | None


@frozen
class CoreThreadRow:
    """One thread of the host."""

    pid: int
    signal: int
    rip: int | None


@frozen
class CoreSummary:
    """What is in the files of one crash."""

    names: tuple[str, ...]
    companion: str | None
    has_host: bool
    r_version: int | None
    ioctl: tuple[int, int]
    agents: tuple[CoreAgent, ...]
    queues: tuple[CoreQueue, ...]
    dispatches: tuple[CoreDispatch, ...]
    waves: tuple[CoreWaves, ...]
    code_objects: tuple[CoreCodeObject, ...]
    threads: tuple[CoreThreadRow, ...]
    ranges: int
    bytes_: int
    problems: tuple[DwarfGpuError, ...]
    loaded: Loaded


def core_summary(paths: Sequence[str], moved: Mapping[str, str] | None = None) -> CoreSummary:
    """Return what is in GPU core files; ``moved`` says where the files of their machine are (`places_of`)."""
    opened = open_core_waves(paths, moved=moved)
    files, core = opened.files, opened.core
    per_agent: dict[int, int] = {}
    for queue in core.queues:
        per_agent[queue.agent] = per_agent.get(queue.agent, 0) + queue.wave_count
    per_dispatch: dict[int, int] = {}
    rows: dict[tuple[str, str | None, int | None, str, str | None], list[str | int]] = {}
    for machine in core.machines:
        name = machine.target.name.removeprefix("amdgcn-")
        for wave in range(machine.wave_count):
            dispatch = machine.place_of(wave)[0]
            per_dispatch[dispatch] = per_dispatch.get(dispatch, 0) + 1
            kernel = core.dispatches[dispatch].kernel if dispatch >= 0 else None
            stop = machine.stop_of(wave)
            text, signal = ("", None) if stop is None else (stop.text, stop.signal)
            row = rows.setdefault((name, kernel, machine.program_counter(wave), text, signal), [0, machine.ids[wave]])
            row[0] = int(row[0]) + 1
    waves = [
        CoreWaves(int(count), target, kernel, pc, stop, signal, str(first))
        for (target, kernel, pc, stop, signal), (count, first) in rows.items()
    ]
    waves.sort(key=lambda row: (row.signal is None, -row.count))
    store = core.memory.store
    return CoreSummary(
        files.names,
        files.companion,
        files.has_host,
        core.r_version,
        core.state.ioctl,
        tuple(
            CoreAgent(number, agent.processor, agent.engines, agent.xccs, per_agent.get(number, 0))
            for number, agent in enumerate(core.state.agents, 1)
        ),
        tuple(
            CoreQueue(
                queue.number,
                queue.agent,
                queue.entry.kind,
                queue.memory.packets or queue.entry.ring_size // 64,
                queue.memory.read,
                queue.memory.write,
                queue.wave_count,
            )
            for queue in core.queues
        ),
        tuple(
            CoreDispatch(dispatch_text(dispatch), packet.index, packet.number, per_dispatch.get(index, 0))
            for index, (dispatch, packet) in enumerate(zip(core.dispatches, core.packets, strict=True))
        ),
        tuple(waves),
        tuple(
            CoreCodeObject(
                found.entry.address, found.entry.uri, found.where, None if found.file is None else found.file.has_dwarf
            )
            for found in opened.code.found
        ),
        tuple(CoreThreadRow(thread.pid, thread.signal, _rip(thread.registers)) for thread in files.threads),
        len(store.starts),
        sum(last - first + 1 for first, last in zip(store.starts, store.lasts, strict=True)),
        opened.problems,
        opened.code.loaded(),
    )


def _rip(registers: dict[str, bytes]) -> int | None:
    data = registers.get("rip")
    return None if data is None else int.from_bytes(data, "little")
