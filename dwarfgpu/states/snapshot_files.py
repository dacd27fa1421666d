"""Snapshots as files: their contents, whether they are complete, and their conversion to the other form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.columns import names_of
from dwarfgpu.machines.machine import Dispatch, Machine

if TYPE_CHECKING:
    import os

    from dwarfgpu.states.stopped import Stopped

MAX_NAMES = 4
"""How many wave ids a summary lists."""


def load(path: str | os.PathLike[str], *, force: bool = False) -> snapshot.Snapshot:
    """Load a snapshot of either form; look up a program counter that is a name in the code objects of the snapshot.

    ``force`` accepts code objects that have changed since the snapshot was made.

    >>> import dwarfgpu as dg
    >>> machine = dg.load_snapshot("variables.json")
    >>> machine.ids, hex(machine.program_counter(0))
    (['1:1:1:1'], '0x7f0000001548')
    """
    from dwarfgpu.states.opening import find_named_pcs

    machine = snapshot.load(path, force=force)
    find_named_pcs(machine)
    return machine


def summary(path: str) -> dict[str, Any]:
    """Return what is in a snapshot, as JSON has it, with the first wave ids; loading it checks it.

    It is sound if no code object has changed; missing ones do not count.
    """
    machine = load(path, force=True)
    sizes = {
        space.name: [size for _owner, _at, size in machine.memory.extents(space)] for space in machine.memory.spaces
    }
    problems = list(snapshot.code_problems(machine))
    registers = [
        names_of(file.registers).replace(",", ", ") + ("" if file.all_known else " (of some waves)")
        for file in machine.files
    ]
    return {
        "name": path,
        "target": machine.target_name,
        "lane_count": machine.target.lane_count,
        "wave_count": machine.wave_count,
        "registers": ", ".join(registers),
        "dispatches": [dispatch_text(entry) for entry in machine.dispatches],
        "code_objects": [
            entry.path if entry.load_address is None else f"{entry.path} at {entry.load_address:#x}"
            for entry in machine.code_objects
        ],
        "memory": [{"space": name, "extents": len(each), "bytes": sum(each)} for name, each in sizes.items()],
        "problems": [
            *(str(warning) for warning in machine.warnings),
            *(f"code_objects[{index}]: {what}" for index, what, _other in problems),
        ],
        "wave_ids": machine.ids[:MAX_NAMES],
        "is_sound": not any(other for _index, _what, other in problems),
    }


def code_paths(machine: Machine) -> list[str]:
    """Return the paths of the code objects that a snapshot names, if the files exist."""
    import os

    paths = (machine.code_path(code) for code in machine.code_objects)
    return [path for path in paths if os.path.isfile(path)]


def save(stopped: Stopped, destination: str) -> None:
    """Write a machine with all changes made to it to a new file; an existing file is never overwritten."""
    machine: Any = stopped.machine
    if not isinstance(machine, Machine):
        message = f"a machine of {machine.target.name} cannot be saved"
        raise UsageError(message, hint="only GPU waves can be saved as a snapshot; keep the core file instead")
    snapshot.save(machine, destination)


def convert(source: str, destination: str, *, force: bool = False) -> Machine:
    """Write a snapshot in the form that the name of the destination selects."""
    machine = load(source, force=force)
    snapshot.save(machine, destination)
    return machine


def dispatch_text(dispatch: Dispatch) -> str:
    """Return the number, kernel and sizes of a dispatch."""
    text = f"{dispatch.id} {dispatch.kernel}" if dispatch.kernel else str(dispatch.id)
    if dispatch.grid:
        text += f", grid {'x'.join(map(str, dispatch.grid))}"
    if dispatch.work_group:
        text += f", work-groups of {'x'.join(map(str, dispatch.work_group))}"
    return text
