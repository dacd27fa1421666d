"""The rows of what is in a GPU core file: agents, queues, dispatches, waves, code objects and threads of the host."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.states.snapshot_files import dispatch_text

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.core_waves import GpuCore
    from dwarfgpu.states.gpu_cores import OpenedCore


def core_rows(opened: OpenedCore) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each part of GPU core files."""
    core = opened.core
    per_agent: Counter[int] = Counter()
    for queue in core.queues:
        per_agent[queue.agent] += queue.wave_count
    waves, per_dispatch = _waves(core)
    return {
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
            for found in opened.found
        ],
        "threads": [
            {"pid": thread.pid, "signal": thread.signal,
             "rip": int.from_bytes(thread.registers["rip"], "little") if "rip" in thread.registers else None}
            for thread in opened.files.threads
        ],
    }  # fmt: skip


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
