"""What is in a GPU core file, on one screen: agents, queues, dispatches, waves, code, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.states.gpu_cores import open_core_waves
from dwarfgpu.states.snapshot_files import dispatch_text
from dwarfgpu.states.stopped import OpenOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dwarfgpu.machines.gpu_core.core_waves import GpuCore
    from dwarfgpu.program.code.loaded import Loaded


@frozen
class CoreSummary:
    """What is in the files of one crash."""

    names: tuple[str, ...]
    companion: str | None
    has_host: bool
    r_version: int | None
    ioctl: tuple[int, int]
    parts: dict[str, list[dict[str, Any]]]
    """The rows of agents, queues, dispatches, waves, code objects and threads of the host."""
    ranges: int
    bytes_: int
    problems: tuple[DwarfGpuError, ...]
    loaded: Loaded


def core_summary(paths: Sequence[str], moved: Mapping[str, str] | None = None) -> CoreSummary:
    """Return what is in GPU core files; ``moved`` says where the files of their machine are (`places_of`)."""
    opened = open_core_waves(paths, options=OpenOptions(moved=moved or {}))
    files, core = opened.files, opened.core
    per_agent: Counter[int] = Counter()
    for queue in core.queues:
        per_agent[queue.agent] += queue.wave_count
    waves, per_dispatch = _waves(core)
    parts: dict[str, list[dict[str, Any]]] = {
        "agents": [
            {"number": number, "processor": agent.processor, "engines": agent.engines, "xccs": agent.xccs,
             "waves": per_agent[number]}
            for number, agent in enumerate(core.state.agents, 1)
        ],
        "queues": [
            {"number": queue.number, "agent": queue.agent, "kind": queue.entry.kind,
             "packets": queue.memory.packets or queue.entry.ring_size // 64, "read": queue.memory.read,
             "write": queue.memory.write, "waves": queue.wave_count}
            for queue in core.queues
        ],
        "dispatches": [
            {"text": dispatch_text(dispatch), "packet": packet.index, "number": packet.number,
             "waves": per_dispatch[index]}
            for index, (dispatch, packet) in enumerate(zip(core.dispatches, core.packets, strict=True))
        ],
        "waves": waves,
        "code_objects": [
            {"address": found.entry.address, "uri": found.entry.uri, "where": found.where,
             "has_dwarf": None if found.file is None else found.file.has_dwarf}
            for found in opened.code.found
        ],
        "threads": [
            {"pid": thread.pid, "signal": thread.signal, "rip": _number(thread.registers.get("rip"))}
            for thread in files.threads
        ],
    }  # fmt: skip
    return CoreSummary(
        files.names, files.companion, files.has_host, core.r_version, core.state.ioctl, parts,
        len(core.memory.starts), core.memory.size, opened.problems, opened.code.loaded(),
    )  # fmt: skip


def _waves(core: GpuCore) -> tuple[list[dict[str, Any]], Counter[int]]:
    """Return the waves that stopped at one place for one reason, each with the first's id, and those per dispatch."""
    per_dispatch: Counter[int] = Counter()
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for machine in core.machines:
        name = machine.target.name.removeprefix("amdgcn-")
        for wave in range(machine.wave_count):
            dispatch = machine.place_of(wave)[0]
            per_dispatch[dispatch] += 1
            kernel = core.dispatches[dispatch].kernel if dispatch >= 0 else None
            stop = machine.stop_of(wave)
            text, signal = ("", None) if stop is None else (stop.text, stop.signal)
            key = {
                "target": name,
                "kernel": kernel,
                "pc": machine.program_counter(wave),
                "stop": text,
                "signal": signal,
            }
            row = rows.setdefault(tuple(key.values()), {"count": 0, **key, "first": str(machine.ids[wave])})
            row["count"] += 1
    return sorted(rows.values(), key=lambda row: (row["signal"] is None, -row["count"])), per_dispatch


def _number(data: bytes | None) -> int | None:
    return None if data is None else int.from_bytes(data, "little")
