"""Commands about files and machines: ``file``, ``core-file``, ``target``, ``save snapshot``, what is loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.program.code.repairs import policy_of
from dwarfgpu.program.program import Program
from dwarfgpu.questions.document import BAD_FILE, Document
from dwarfgpu.questions.selection import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.stack.stopped import Stopped
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


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


def info_sharedlibrary(selection: Selection, arguments: Arguments) -> Document:
    """From and To are where the instructions of each file are. Without a state: where the file was linked for."""
    from dwarfgpu.render.machines import files_table, loaded_file_json

    attached = selection.attached
    loaded = selection.opened.state.loaded if attached is None else attached.stopped.loaded
    codes = loaded.codes
    if arguments.text:
        pattern = arguments.pattern()
        codes = tuple(code for code in codes if pattern.search(code.file.name))

    def text(output: Output) -> Iterable[str]:
        return files_table(codes, output.width, output.style) if codes else ["No shared libraries matched."]

    return Document({"files": map(loaded_file_json, codes)}, text, rows="files")


def info_agents(selection: Selection, arguments: Arguments) -> Document:
    """Each with its architecture, how many lanes its waves have, and how many waves there are. State A is active."""
    from dwarfgpu.program.launch.devices import agents
    from dwarfgpu.render.machines import agents_table

    return _active(selection, arguments, "agents", agents, agents_table)


def info_queues(selection: Selection, arguments: Arguments) -> Document:
    """Read and Write are numbers of packets, Size is in bytes: they are known where the memory of the queue is."""
    from dwarfgpu.program.launch.devices import queues
    from dwarfgpu.render.machines import queues_table

    return _active(selection, arguments, "queues", queues, queues_table)


def info_dispatches(selection: Selection, arguments: Arguments) -> Document:
    """Sizes are in work-items. Fence is what the packet asks for: B a barrier, A and R the acquire and the release
    fence, each with its scope (a agent, s system).
    """
    from dwarfgpu.program.launch.devices import dispatches
    from dwarfgpu.render.machines import dispatches_table

    return _active(selection, arguments, "dispatches", dispatches, dispatches_table)


def _active(
    selection: Selection,
    arguments: Arguments,
    what: str,
    find: Callable[[Stopped], list[Any]],
    table: Callable[..., Iterable[str]],
) -> Document:
    """Return what a machine of waves is made of, as a table."""
    from dwarfgpu.render.layout import plain

    arguments.none()
    machine = selection.machine
    parts = find(machine.stopped) if machine.has_waves else []
    ids = machine.stopped.machine.ids

    def text(output: Output) -> Iterable[str]:
        if not parts:
            return [f"No {what} are currently active."]
        return table(parts, selection.wave_number, output.width, output.style)

    rows = ({**plain(part), "waves": [ids[wave] for wave in part.waves]} for part in parts)
    return Document({what: rows}, text, rows=what)


def info_kernels(selection: Selection, arguments: Arguments) -> Document:
    """Their arguments, registers and segments. With a NAME, or with -fields, also every field of the descriptor and the
    arguments that the runtime passes. NAME is the name or the symbol of a kernel, or a regular expression that is
    searched in all names.
    """
    from dwarfgpu.program.code.code_object import check_has_kernels
    from dwarfgpu.render.kernels import kernel_json, kernels_text
    from dwarfgpu.render.layout import WIDTH, fitted

    file = selection.opened.file
    check_has_kernels(file)
    kernels = _kernels_named(file, arguments) if arguments.words else file.kernels.kernels
    fields = bool(arguments.words) or arguments.has("fields")

    def text(output: Output) -> Iterable[str]:
        if output.width >= WIDTH:
            return kernels_text(kernels, output.style, fields=fields)
        return (part for line in kernels_text(kernels, fields=fields) for part in fitted(line, output.width))

    data = {
        "file": file.name,
        "target": file.target.target.name,
        "target_id": file.target.target_id,
        "kernels": map(kernel_json, kernels),
    }
    return Document(data, text, rows="kernels", row={"file": file.name})


def _kernels_named(file: CodeObject, arguments: Arguments) -> tuple[Any, ...]:
    """Return the kernels with some names, or those whose names a regular expression is found in."""
    try:
        return file.kernels_named(arguments.words)
    except NotFound:
        pattern = arguments.pattern()
        kernels = tuple(kernel for kernel in file.kernels.kernels if pattern.search(kernel.name))
        if not kernels:
            raise
        return kernels


def info_file(selection: Selection, arguments: Arguments) -> Document:
    """Target, versions, units, producers and sections, and what is missing in it for what.

    With -pc: function, source line and inlined calls at an address, the innermost call first. With -name: the
    functions, variables, types and symbols with a name.
    """
    from dwarfgpu.program.code import file_summary
    from dwarfgpu.render import files as render

    arguments.none()
    file = selection.opened.file
    if arguments.has("pc") or arguments.has("name"):
        return _look_up(file, arguments)
    summary, units = file_summary.summary(file), arguments.has("units")
    return Document(
        render.summary_json(summary, units=units),
        lambda output: render.summary_text(summary, output.style, units=units),
        problems=summary.problems,
    )


def _look_up(file: CodeObject, arguments: Arguments) -> Document:
    """Return what is at addresses, and what names mean."""
    from dwarfgpu.program.code import code_lookup
    from dwarfgpu.render import files as render
    from dwarfgpu.render.layout import plain

    addresses: list[Any] = []
    names: list[Any] = []
    errors: list[DwarfGpuError] = []
    for text in arguments.many("pc"):
        try:
            addresses.append(code_lookup.at_address(file, code_lookup.parse_address(file, text)))
        except NotFound as error:
            errors.append(error)
    for name in arguments.many("name"):
        try:
            names += code_lookup.named(file, name)
        except NotFound as error:
            errors.append(error)

    def lines(output: Output) -> Iterator[str]:
        for address in addresses:
            yield from render.address_text(address, output.style)
        yield from render.named_text(names, output.style)

    data: dict[str, Any] = {
        "file": file.name,
        "addresses": [*map(plain, addresses)],
        "names": [*map(plain, names)],
    }
    rows = (*data["addresses"], *data["names"])
    return Document(data, lines, rows=lambda: rows, row={"file": file.name}, problems=errors)


def info_images(selection: Selection, arguments: Arguments) -> Document:
    """Their index, kind, target, offset, size and format. The index or the target behind an @ names one of them
    wherever a FILE is named.

    The offset of what is compressed has a +: it counts in the bundle once that is decompressed.
    """
    from dwarfgpu.program.code.code_object import list_contents
    from dwarfgpu.render.files import contents_json, contents_text

    path = arguments.words[0] if arguments.words else selection.opened.file.image.path
    if path is None:
        raise arguments.wrong("needs a FILE")
    contents = list_contents(**source_of(path))
    return Document(
        contents_json(contents),
        lambda output: contents_text(contents, output.style),
        rows="entries",
        row={"file": contents.name},
        problems=contents.problems,
    )


# --- Snapshots by themselves ------------------------------------------------------------------------------------------


def snapshot(_selection: Selection, arguments: Arguments) -> Document:
    """`convert FILE NEW` writes its other form, `check FILE` says what is wrong with it, `info FILE` what it has.

    A name that ends in .dgs is a folder of arrays, any other name a JSON file. The source is never changed, and the
    destination appears whole or not at all.
    """
    from dwarfgpu.program.stack import snapshot_files
    from dwarfgpu.render import machines as render

    action, *files = arguments.words or [""]
    if action not in ("convert", "check", "info"):
        raise arguments.wrong(f"does convert, check or info, not {action[:40]!r}")
    if len(files) != (2 if action == "convert" else 1):
        names = "two names, of a snapshot and of what is to be written" if action == "convert" else "one name"
        raise UsageError(f"`snapshot {action}` needs {names}")
    if action == "convert":
        machine = snapshot_files.convert(*files, force=arguments.has("force"))
        return Document({"written": files[1], "waves": machine.wave_count}, ())
    summary = snapshot_files.summary(files[0])

    def text(output: Output) -> Iterable[str]:
        if action == "info":
            return render.summary_text(summary, output.style)
        return [f"{summary.name}: {problem}" for problem in summary.problems or ("ok",)]

    document = Document(render.summary_json(summary), text)
    if action == "check" and not summary.is_sound:
        document.status = BAD_FILE
    return document
