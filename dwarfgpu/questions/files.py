"""Commands about files and machines: ``file``, ``core-file``, ``target``, ``save snapshot``, what is loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.program.code.repairs import policy_of
from dwarfgpu.program.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.stack.stopped import Stopped
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


# --- Opening --------------------------------------------------------------------------------------------------------


def open_code(debugger: Debugger, arguments: Arguments) -> None:
    """FILE is a code object or a host program: FILE, FILE@gfx90a, FILE@2, or a code object URI. A machine that was
    attached is left.
    """
    open_file(debugger, _path(arguments))
    file = debugger.opened.file
    debugger.output.line(f"Reading symbols from {file.name}... ({described(file)})")
    show_problems(debugger, file.problems)


def open_file(debugger: Debugger, path: str) -> None:
    """Open a file, and look at it."""
    from dwarfgpu.program.code.code_object import opened

    debugger.use(Program(opened(path), repair=policy_of(debugger.settings["repair"])), None)


def described(file: CodeObject) -> str:
    """What a file is: ``amdgcn gfx90a, DWARF 5``."""
    name = f"amdgcn {file.target.target_id}" if file.is_amdgpu else file.target.target.name
    if not file.has_dwarf:
        return f"{name}, no debugging symbols found"
    versions = sorted({unit.version for unit in (*file.dwarf.units, *file.dwarf.split_units)})
    return f"{name}, DWARF {' and '.join(map(str, versions))}" if versions else name


def attach(debugger: Debugger, arguments: Arguments) -> None:
    """FILE is a snapshot (.json or .dgs) of waves that execute the file that is open, or a core file of the program."""
    attach_state(debugger, _path(arguments), force=arguments.has("force"))
    machine = debugger.machine
    noun = "wave" if machine.has_waves else "thread"
    count = f"{len(machine)} {noun}{'' if len(machine) == 1 else 's'}"
    debugger.output.line(f"[Attached {machine.stopped.name}: {count} of {machine.state.target.name}]")
    _show_focus(debugger)


def attach_state(debugger: Debugger, path: str, *, force: bool = False) -> None:
    """Attach the machine that a file has, and look at its first wave."""
    debugger.use(debugger.opened, debugger.opened.attach(path, force=force))


def launch(debugger: Debugger, arguments: Arguments) -> None:
    """GRID and WORK-GROUP are one to three sizes in work-items: 256, or 64,64,1. Arguments of the kernel follow, by
    position or as NAME=VALUE: numbers, or bytes such as bytes:0a0b; without any all are 0. A machine that is attached
    already is left.
    """
    from dwarfgpu.program.code.code_object import check_has_kernels
    from dwarfgpu.program.launch.launch import launch as start
    from dwarfgpu.program.launch.launch import machine_for
    from dwarfgpu.program.launch.planning import arguments as values_of
    from dwarfgpu.program.launch.planning import sizes

    words = arguments.words
    if len(words) < 3:
        raise arguments.wrong("needs a kernel, the size of the grid and that of a work-group")
    name, grid, group, *values = words
    file = debugger.opened.file
    check_has_kernels(file)
    machine = machine_for(file, name)
    launched = start(
        machine,
        file,
        name,
        grid=sizes(grid, "GRID"),
        work_group=sizes(group, "WORK-GROUP"),
        args=values_of(values, "ARG"),
    )
    debugger.use(debugger.opened, debugger.opened.attach(machine))
    shape = launched.geometry
    waves = f"{len(launched.waves)} wave{'' if len(launched.waves) == 1 else 's'}"
    groups = f"{shape.group_count} work-group{'' if shape.group_count == 1 else 's'}"
    debugger.output.line(f"[Launched {launched.plan.kernel.name}: {groups}, {waves}]")
    for problem in launched.plan.problems:
        debugger.output.line(debugger.output.style("error", f"warning: {problem}"))
    _show_focus(debugger)


def _show_focus(debugger: Debugger) -> None:
    """What is looked at after a machine was attached, and what is wrong with the machine."""
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.questions.focus import title
    from dwarfgpu.questions.stack import show_frame

    show_problems(debugger, debugger.machine.stopped.found)
    if debugger.wave_number is None:
        return
    debugger.output.line(f"[Current {debugger.noun} is {title(debugger)}]")
    try:
        show_frame(debugger)
    except DwarfGpuError as error:  # the machine is attached all the same
        debugger.output.line(debugger.output.style("error", error.message))


def show_problems(debugger: Debugger, problems: tuple[Exception, ...]) -> None:
    """What is broken in files, each on a line."""
    for problem in problems:
        debugger.output.line(debugger.output.style("error", f"warning: {problem}"))


def _path(arguments: Arguments) -> str:
    """One name of a file."""
    arguments.needed()
    words = arguments.words
    if len(words) != 1:
        raise arguments.wrong("takes one file; a name with blanks stands in quotes")
    return os.path.expanduser(words[0])  # noqa: PTH111 (`pathlib` costs start-up time)


# --- Saving ---------------------------------------------------------------------------------------------------------


def save_snapshot(debugger: Debugger, arguments: Arguments) -> None:
    """A name that ends in .dgs is a folder of arrays, any other name a JSON file. What was written to registers and to
    memory is in it. A file that is there is not overwritten.
    """
    from dwarfgpu.program.stack.snapshot_files import save

    path = _path(arguments)
    machine = debugger.machine
    save(machine.stopped, path)
    count = len(machine)
    debugger.output.line(f"Saved {count} wave{'' if count == 1 else 's'} to {path}")


# --- What is there --------------------------------------------------------------------------------------------------


def info_sharedlibrary(debugger: Debugger, arguments: Arguments) -> None:
    """From and To are where the instructions of each file are. Without a machine: where the file was linked for."""
    from dwarfgpu.render.machines import files_table

    attached, output = debugger.attached, debugger.output
    loaded = debugger.opened.state.loaded if attached is None else attached.stopped.loaded
    codes = loaded.codes
    if arguments.text:
        pattern = arguments.pattern()
        codes = tuple(code for code in codes if pattern.search(code.file.name))
    if not codes:
        output.line("No shared libraries matched.")
        return
    output.lines(files_table(codes, output.width, output.style))


def info_agents(debugger: Debugger, arguments: Arguments) -> None:
    """Each with its architecture, how many lanes its waves have, and how many waves stand there. State A is active."""
    from dwarfgpu.program.stack.devices import agents
    from dwarfgpu.render.machines import agents_table

    arguments.none()
    output = debugger.output
    if not debugger.machine.has_waves:
        output.line("No agents are currently active.")
        return
    found = agents(debugger.machine.stopped)
    output.lines(agents_table(found, debugger.wave_number, output.width, output.style))


def info_queues(debugger: Debugger, arguments: Arguments) -> None:
    """Read and Write are numbers of packets, Size is in bytes: they are known where the memory of the queue is."""
    from dwarfgpu.program.stack.devices import queues
    from dwarfgpu.render.machines import queues_table

    arguments.none()
    _show_active(debugger, "queues", queues, queues_table)


def info_dispatches(debugger: Debugger, arguments: Arguments) -> None:
    """Sizes are in work-items. Fence is what the packet asks for: B a barrier, A and R the acquire and the release
    fence, each with its scope (a agent, s system).
    """
    from dwarfgpu.program.stack.devices import dispatches
    from dwarfgpu.render.machines import dispatches_table

    arguments.none()
    _show_active(debugger, "dispatches", dispatches, dispatches_table)


def _show_active(
    debugger: Debugger, what: str, find: Callable[[Stopped], list[Any]], table: Callable[..., Iterable[str]]
) -> None:
    """A table of what is found in a machine of waves."""
    output = debugger.output
    found = find(debugger.machine.stopped) if debugger.machine.has_waves else []
    if found:
        output.lines(table(found, debugger.wave_number, output.width, output.style))
    else:
        output.line(f"No {what} are currently active.")


def info_kernels(debugger: Debugger, arguments: Arguments) -> None:
    """Registers, memory and arguments of the kernels whose names REGEXP matches."""
    from dwarfgpu.program.code.code_object import check_has_kernels
    from dwarfgpu.render.kernels import kernel_text
    from dwarfgpu.render.layout import fitted

    file, output = debugger.opened.file, debugger.output
    check_has_kernels(file)
    pattern = arguments.pattern()
    found = [each for each in file.kernels.kernels if pattern.search(each.name)]
    if not found:
        what = f"No kernels match '{arguments.text}'." if arguments.text else f"{file.name} has no kernels."
        raise UsageError(what, kind="no_kernel")
    for number, kernel in enumerate(found):
        if number:
            output.line()
        for line in kernel_text(kernel):
            output.lines(fitted(line, output.width))
