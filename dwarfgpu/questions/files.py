"""Commands about files and machines: ``file``, ``core-file``, ``target``, ``save``, what is loaded, the process."""

from __future__ import annotations

import os
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu.demangle import demangled, without_parameters
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code.code_object import CodeObject, check_has_kernels, list_contents, opened, runnable
from dwarfgpu.questions.document import BAD_FILE, Document, Output, listing
from dwarfgpu.questions.selection import Selection, source_of
from dwarfgpu.render.layout import (
    WIDTH,
    Record,
    beside,
    counted,
    fact,
    fitted,
    hexadecimal,
    labelled,
    labels,
    nested,
    plain,
    problem_json,
    room,
    shown,
    style,
    table,
    wrapped,
)
from dwarfgpu.render.source_places import source_text, standing_text
from dwarfgpu.render.written_text import without_styles
from dwarfgpu.states.program import Program, is_state, open_core, paths_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.program.code.loaded import LoadedCode

    Json = dict[str, Any]
    from dwarfgpu.program.code.code_lookup import AtAddress, Named, SymbolInfo
    from dwarfgpu.program.code.code_object import CodeObjectContents, ContainerEntry
    from dwarfgpu.program.code.file_summary import DwarfSummary, FileSummary, SectionInfo, UnitSummary
    from dwarfgpu.states.core_conversion import ConversionSummary
    from dwarfgpu.states.gpu_cores import OpenedCore

    Rows = dict[str, list[dict[str, Any]]]
    from collections.abc import Mapping

    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.states.program import Attached


# --- Opening --------------------------------------------------------------------------------------------------------


def open_code(debugger: Debugger, arguments: Arguments) -> None:
    open_file(debugger, _path(arguments))
    file = debugger.opened.file
    debugger.output.line(f"Reading symbols from {file.name}... ({described(file)})")
    show_problems(debugger, file.problems)


def open_file(debugger: Debugger, path: str) -> None:
    """Open a file, and look at it."""
    if is_state(path):
        raise UsageError(f"{path} is a state, not code", hint=f"`core-file {path}` attaches it")
    reading = debugger.reading()
    file = opened(path, reading["attributes"])
    debugger.use(Program(runnable(file), dialect=reading["dialect"], repair=reading["repair"]), None)


def described(file: CodeObject) -> str:
    """Return what a file is: ``amdgcn gfx90a, DWARF 5``."""
    name = f"amdgcn {file.target.target_id}" if file.is_amdgpu else file.target.target.name
    if not file.has_dwarf:
        return f"{name}, no debugging symbols found"
    versions = sorted({unit.version for unit in (*file.dwarf.units, *file.dwarf.split_units)})
    return f"{name}, DWARF {' and '.join(map(str, versions))}" if versions else name


def attach(debugger: Debugger, arguments: Arguments) -> None:
    arguments.needed()
    paths = [os.path.expanduser(word) for word in arguments.words]
    attach_state(debugger, paths, force=arguments.has("force"))
    machine = debugger.machine

    count = counted(len(machine), debugger.noun)
    debugger.output.line(f"[Attached {machine.stopped.name}: {count} of {machine.state.target.name}]")
    for note in machine.stopped.notes:
        debugger.output.lines(fitted(f"[{note[0].upper()}{note[1:]}]", 1))
    show_problems(debugger, debugger.machine.stopped.found)
    show_focus(debugger)


def attach_state(debugger: Debugger, state: str | Sequence[str], *, force: bool = False) -> None:
    """Attach the machine that files have, and look at its first wave. Without a program it is the one they name."""
    from dwarfgpu.states.opening import names_its_code
    from dwarfgpu.states.stopped import is_about_host

    # The threads of the host are not those of the code object whose waves were selected.
    is_other = debugger.program is not None and debugger.opened.file.is_amdgpu and is_about_host(paths_of(state))
    is_from_state = debugger.program is None or debugger.program is debugger.program_of_state
    moved = {**debugger.moved_files(), **debugger.substituted}
    if (is_from_state or is_other) and names_its_code(paths_of(state), moved):
        attached = open_core(state, repair=debugger.settings["repair"], moved=moved)
        debugger.program_of_state = attached.program
    else:
        attached = debugger.opened.attach(state, force=force, moved=moved)
    debugger.use(attached.program, attached)
    _select_lane(debugger, attached)


def _select_lane(debugger: Debugger, attached: Attached) -> None:
    """Select the lane of the wave that crashed which missed memory, if the access that failed is certain."""
    wave = debugger.wave_number
    stop = None if wave is None or not attached.has_waves else attached.stopped.machine.all_stops()[wave]
    if wave is None or stop is None or not stop.is_crash or stop.lanes:
        return
    from dwarfgpu.audits.faults.wave_faults import certain_lane

    lane = certain_lane(attached.stopped, wave, stop)
    if lane is not None:
        debugger.lanes[wave] = lane


def launch(debugger: Debugger, arguments: Arguments) -> None:
    words = arguments.words
    if len(words) < 3 or any("=" in word for word in words[1:3]):
        raise arguments.wrong("needs a kernel, the size of the grid and that of a work-group")
    name, grid, group, *values = words
    _launch(debugger, name, values or None, arguments.options | {"grid": grid, "work-group": group})


def launch_as_run(debugger: Debugger, words: Sequence[str], options: Mapping[str, Any]) -> None:
    """Launch a kernel with the words and options of ``dwarfgpu run``, some of which are settings here."""
    from dwarfgpu.execution.launch.triton import kernel_and_arguments
    from dwarfgpu.questions.execution import OF_LAUNCHES

    for name in OF_LAUNCHES:
        if options[name] is not None:
            debugger.settings.set(name, str(options[name]))
    _launch(debugger, *kernel_and_arguments(debugger.opened.file, words), options)


def _launch(debugger: Debugger, name: str, values: Sequence[str] | None, options: Mapping[str, Any]) -> None:
    launched = _start(debugger, name, values, options)
    count = launched.geometry.wave_count
    waves = counted(count, "wave")
    if len(launched.waves) < count:  # the numbers of waves are those of the places where they run
        waves += f", {len(launched.waves)} at a time"
    groups = counted(launched.geometry.group_count, "work-group")
    debugger.output.line(f"[Launched {launched.plan.kernel.demangled}: {groups}, {waves}]")
    show_problems(debugger, (*launched.plan.problems, *launched.plan.notes))
    show_problems(debugger, debugger.machine.stopped.found)
    show_focus(debugger)


def _start(debugger: Debugger, name: str, values: Sequence[str] | None, options: Mapping[str, Any]) -> Launched:
    from dwarfgpu.execution.control.running import launched_with
    from dwarfgpu.questions.execution import launched as note_launch

    program, settings = debugger.opened, debugger.settings
    check_has_kernels(program.file)
    check, seed = ({"off": None}.get(settings[each], settings[each]) for each in ("check", "weak-memory"))
    weakness = {"weak-memory": None} if seed is None else {"weak-memory": int(seed), "agents": settings["agents"]}
    running = launched_with(program, name, values, {**options, "check": check, **weakness}.get)
    if running.made:
        debugger.output.line(running.made)
    debugger.use(running.program, running.attached)
    note_launch(debugger, running.launched, partial(_start, debugger, name, values, options))
    return running.launched


def show_focus(debugger: Debugger) -> None:
    """Show the wave that is selected, why it has stopped, and its frame."""
    from dwarfgpu.questions.focus import show_signal, show_stop, title
    from dwarfgpu.questions.stack import show_frame

    if debugger.wave_number is None:
        return
    show_signal(debugger)
    debugger.output.line(f"[Current {debugger.noun} is {title(debugger)}]")
    show_stop(debugger)
    try:
        show_frame(debugger)
    except DwarfGpuError as error:  # the machine is attached nevertheless
        debugger.output.line(debugger.output.style("error", error.message))


def show_problems(debugger: Debugger, problems: Iterable[Any]) -> None:
    """Show what is wrong, each on a line."""
    for problem in problems:
        debugger.output.line(debugger.output.style("error", f"warning: {problem}"))


def _path(arguments: Arguments, default: str | None = None) -> str:
    words = arguments.words or [default or arguments.needed()]
    if len(words) != 1:
        raise arguments.wrong("takes one file; a name with blanks needs quotes")
    return os.path.expanduser(words[0])


# --- Saving ---------------------------------------------------------------------------------------------------------


def save_snapshot(debugger: Debugger, arguments: Arguments) -> None:
    from dwarfgpu.states.snapshot_files import save

    path = _path(arguments)
    machine = debugger.machine
    save(machine.stopped, path)
    debugger.output.line(f"Saved {counted(len(machine), 'wave')} to {path}")


def generate_core_file(debugger: Debugger, arguments: Arguments) -> None:
    from dwarfgpu.states.core_writing import write_core

    path = _path(arguments, f"core.{os.getpid()}")
    kind = "pair" if arguments.has("pair") else "gpu" if arguments.has("gpu") else "merged"
    machine = debugger.machine
    version = arguments.get("version")
    written = write_core(machine.stopped, path, kind, version=None if version is None else int(version))
    debugger.output.line(f"Saved corefile {' and '.join(written.names)}")
    if written.unknown:
        registers = counted(written.unknown, "register")
        show_problems(debugger, [f"{registers} with unknown contents are written as 0"])
    if written.lost:
        reasons = ", ".join(written.lost)
        show_problems(debugger, [f"a core file cannot say the stop reason {reasons}: it is left out"])


# --- What is there --------------------------------------------------------------------------------------------------


def info_sharedlibrary(selection: Selection, arguments: Arguments) -> Document:
    attached, pattern = selection.attached, arguments.pattern()
    loaded = selection.opened.state.loaded if attached is None else attached.stopped.loaded
    codes = [code for code in loaded.codes if pattern.search(code.file.name)]
    return listing("files", FILES, codes, files_table, empty="No shared libraries matched.")


def info_agents(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.execution.launch import devices

    what = arguments.command.name.removeprefix("info ")
    machine = selection.machine
    parts = list(getattr(devices, what)(machine.stopped)) if machine.has_waves else []
    ids, record = machine.stopped.machine.ids, DEVICES[what]

    named = [evolve(part, waves=tuple(ids[wave] for wave in part.waves)) for part in parts]
    text = lambda _named: record.screen(parts, lambda part: selection.wave_number in part.waves)  # noqa: E731
    return listing(what, record, named, text, empty=f"No {what} are currently active.")


def info_kernels(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.program.code.kernel_parameters import DescribedKernel
    from dwarfgpu.render.kernels import kernel_json, kernels_text, printf_text

    file = selection.opened.file
    check_has_kernels(file)
    known = _kernels_named(file, arguments) if arguments.words else file.kernels.kernels
    kernels = [DescribedKernel(file, kernel) for kernel in known]
    fields = bool(arguments.words) or arguments.has("fields")

    def text(output: Output) -> Iterable[str]:
        lines = chain(kernels_text(kernels, fields=fields), printf_text(file.kernels.metadata))
        is_wide = output.width >= WIDTH
        return lines if is_wide else (part for line in lines for part in fitted(without_styles(line)))

    data = {
        "file": file.name,
        "target": file.target.target.name,
        "target_id": file.target.target_id,
        "printf": [] if file.kernels.metadata is None else [plain(entry) for entry in file.kernels.metadata.printf],
        "kernels": map(kernel_json, kernels),
    }
    return Document(data, text, rows="kernels", row={"file": file.name})


def _kernels_named(file: CodeObject, arguments: Arguments) -> tuple[Any, ...]:
    """Return the kernels with some names, or those whose names a regular expression is found in."""
    try:
        return file.kernels_named(arguments.words)
    except NotFound:
        pattern = arguments.pattern()
        kernels = tuple(
            kernel for kernel in file.kernels.kernels if pattern.search(kernel.name) or pattern.search(kernel.demangled)
        )
        if not kernels:
            raise
        return kernels


def info_file(selection: Selection, arguments: Arguments) -> Document:
    file = selection.opened.file
    if arguments.has("pc") or arguments.has("name"):
        return _look_up(file, arguments)
    from dwarfgpu.program.code import file_summary

    summary, units = file_summary.summary(file), arguments.has("units")
    return Document(
        summary_json(summary, units=units),
        lambda _output: summary_text(summary, units=units),
        problems=summary.problems,
    )


def _look_up(file: CodeObject, arguments: Arguments) -> Document:
    from dwarfgpu.program.code import code_lookup

    addresses: list[Any] = []
    names: list[Any] = []
    errors: list[DwarfGpuError] = []
    for text in arguments.many("pc"):
        try:
            addresses += code_lookup.at_named_addresses(file, text)
        except NotFound as error:
            errors.append(error)
    for name in arguments.many("name"):
        try:
            names += code_lookup.named(file, name)
        except NotFound as error:
            errors.append(error)

    def lines(output: Output) -> Iterator[str]:
        for address in addresses:
            yield from address_text(address)
        yield from named_text(names)

    data: dict[str, Any] = {"file": file.name, "addresses": [*map(plain, addresses)], "names": [*map(plain, names)]}
    rows = (*data["addresses"], *data["names"])
    return Document(data, lines, rows=lambda: rows, row={"file": file.name}, problems=errors)


def info_images(selection: Selection, arguments: Arguments) -> Document:

    path = arguments.words[0] if arguments.words else selection.opened.file.image.path
    if path is None:
        raise arguments.wrong("needs a FILE")
    if os.path.isdir(path):
        return _kernels_in(path)
    contents = list_contents(**source_of(path))
    return Document(
        contents_json(contents),
        lambda _output: contents_text(contents),
        rows="entries",
        row={"file": contents.name},
        problems=contents.problems,
    )


_KERNEL = Record("name:Kernel target=file.target.target_id:Target file=file.name:File")


def _kernels_in(folder: str) -> Document:
    """List the kernels of a folder such as Triton's cache, the newest first."""
    rows: list[Any] = []
    problems: list[DwarfGpuError] = []
    paths = [path for end in ("hsaco", "co") for path in Path(folder).rglob(f"*.{end}") if path.is_file()]
    for path in sorted(paths, key=lambda path: (-path.stat().st_mtime, path)):
        try:
            file = opened(str(path))
            rows += (SimpleNamespace(name=name, file=file) for name in file.kernel_names())
        except DwarfGpuError as error:
            problems.append(error)
    return listing("kernels", _KERNEL, rows, empty="no kernels: no file ends with .hsaco or .co", problems=problems)


# --- Snapshots by themselves ------------------------------------------------------------------------------------------


def snapshot(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.states import snapshot_files
    from dwarfgpu.states.gpu_cores import has_gpu_state

    action, *files = arguments.words or [""]
    if action not in ("convert", "check", "info"):
        raise arguments.wrong(f"does convert, check or info, not {action[:40]!r}")
    if action == "convert" and len(files) > 1 and has_gpu_state(files[:-1]):
        return _convert_core(files[:-1], files[-1], selection, arguments)
    if len(files) != (2 if action == "convert" else 1):
        names = "the names of a snapshot and of the new file" if action == "convert" else "one name"
        raise UsageError(f"`snapshot {action}` needs {names}")
    for option in ("waves", "memory"):
        if option in arguments.options:
            raise UsageError(f"--{option} goes with the conversion of a GPU core file")
    if action == "convert":
        machine = snapshot_files.convert(*files, force=arguments.has("force"))
        return Document({"written": files[1], "waves": machine.wave_count}, ())
    summary = snapshot_files.summary(files[0])

    def text(output: Output) -> Iterable[str]:
        if action == "info":
            return snapshot_text(summary)
        return [f"{summary['name']}: {problem}" for problem in summary["problems"] or ("ok",)]

    data = {key: value for key, value in summary.items() if key not in ("wave_ids", "is_sound")}
    document = Document(data, text)
    if action == "check" and not summary["is_sound"]:
        document.status = BAD_FILE
    return document


def _convert_core(sources: list[str], destination: str, selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.states.core_conversion import convert_core
    from dwarfgpu.states.gpu_cores import choose, open_core_waves
    from dwarfgpu.states.stopped import OpenOptions, part_of

    opened = open_core_waves(sources, options=OpenOptions(moved=selection.moved_files() or {}))
    machine = choose(opened.core, None, part_of(sources), opened.problems)
    options = arguments.options
    summary = convert_core(opened, machine, destination, options.get("waves"), options.get("memory"))
    data: dict[str, Any] = plain(summary)
    data["bytes"] = data.pop("bytes_")
    return Document(data, lambda _output: conversion_text(summary), problems=opened.problems)


def core(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.states.core_summary import core_rows
    from dwarfgpu.states.gpu_cores import open_core_waves
    from dwarfgpu.states.stopped import OpenOptions

    arguments.needed()
    files = arguments.words[arguments.words[0] == "info" and len(arguments.words) > 1 :]
    opened = open_core_waves(files, options=OpenOptions(moved=selection.moved_files() or {}))
    rows = core_rows(opened)
    document = Document(core_json(opened, rows), lambda _output: core_text(opened, rows))
    if not rows["waves"]:
        document.status = BAD_FILE
    return document


# --- Core files as text and JSON --------------------------------------------------------------------------------------


MAX_ROWS = 12
"""The rows of one part that are shown."""


def core_text(opened: OpenedCore, parts: Rows) -> Iterator[str]:
    """Yield what is in GPU core files, of which `core_rows` gives the rows."""
    files, core, loaded = opened.files, opened.core, opened.loaded()
    for name in files.names:
        note = " (found beside it)" if name == files.companion else ""
        yield style("kind", shown(name)) + note
    version = "not known" if core.r_version is None else str(core.r_version)
    kind = "host and GPU" if files.has_host else "GPU alone"
    major, minor = core.state.ioctl
    ranges = counted(len(core.memory.starts), "range")
    yield from labelled("memory", f"{kind}, {core.memory.size:,} bytes in {ranges}")
    yield from labelled("runtime", f"r_version {version}, kernel interface {major}.{minor}")
    for name, (title, record) in TABLES.items():
        rows = [SimpleNamespace(**row, loaded=loaded) for row in parts[name]]
        if rows:
            yield style("name", title)
            yield from record.lines(rows, MAX_ROWS, width=room())
    if not parts["waves"]:
        yield from labelled("waves", "none can be read")
    if opened.problems:
        yield style("name", "What is missing or wrong")
        for problem in opened.problems:
            yield from (style("error", line) for line in fitted(f"  {problem}", 4))
            if problem.hint:
                yield from (style("hint", line) for line in fitted(f"    hint: {problem.hint}", 6))


def _found(row: Any) -> str:
    return f"{row.where}{', no DWARF' if row.has_dwarf is False else ''}"


TABLES = {
    "agents": ("Agents", Record("number:Id processor:Processor engines:Engines xccs:XCCs waves:Waves")),
    "queues": (
        "Queues", Record("number:Id agent:Agent kind:Type packets:Packets read:Read write:Write waves:Waves")
    ),
    "dispatches": (
        "Dispatches",
        Record(
            fact("", "Packet", lambda row: row.packet if row.number is None else row.number),
            "waves:Waves text:Dispatch",
        ),
    ),
    "waves": (
        "Waves",
        Record(
            "count:Count target:Target first:First stop:Stop signal:Signal",
            fact("", "Frame", lambda row: standing_text(row.loaded, row.pc, short=True)),
        ),
    ),
    "code_objects": ("Code objects", Record("address#:Address", fact("", "Found", _found), "uri:URI")),
    "threads": ("Threads of the host", Record("pid:Pid signal?:Signal rip#:Rip")),
}  # fmt: skip
"""The title of each part, and its columns."""


def core_json(opened: OpenedCore, parts: Rows) -> dict[str, Any]:
    """Return what is in GPU core files as plain values."""
    plain_parts, loaded = plain(parts), opened.loaded()
    for row in plain_parts["waves"]:
        row["frame"] = standing_text(loaded, row["pc"])
    return {**CORE.json(opened), **plain_parts, "problems": [*map(PROBLEM.json, opened.problems)]}


CORE = Record(
    "files=files.names companion=files.companion has_host=files.has_host r_version=core.r_version",
    "kernel_interface=core.state.ioctl bytes=core.memory.size",
    fact("ranges", value=lambda opened: len(opened.core.memory.starts)),
)
PROBLEM = Record("kind message hint")


def conversion_text(summary: ConversionSummary) -> Iterator[str]:
    """Yield what a small snapshot has, and what was left out."""
    yield style("kind", shown(summary.written))
    yield from labelled("waves", f"{summary.waves} of {summary.all_waves}")
    yield from labelled("memory", f"{summary.bytes_:,} bytes")
    if summary.dispatches:
        yield from labelled("dispatches", "; ".join(summary.dispatches))
    yield from labelled("code objects", ", ".join(summary.code_objects) or "none")
    yield from labelled("left out", "; ".join(summary.left_out) or "nothing")


# --- Files as text and JSON -------------------------------------------------------------------------------------------


MANY_SECTIONS = 60
TYPES = {
    "REL": "relocatable, not linked",
    "EXEC": "executable",
    "DYN": "shared object or position-independent program",
    "CORE": "core file",
}


# --- Listings -----------------------------------------------------------------------------------------------------


def contents_text(contents: CodeObjectContents) -> list[str]:
    """Return a line for each image of a file, below the place where it is stored."""
    places: dict[str, list[ContainerEntry]] = {}
    for entry in contents.entries:
        places.setdefault(entry.note, []).append(entry)
    rows = iter(table([_entry_row(entry) for group in places.values() for entry in group], "lllrrl"))
    lines = []
    for place, group in places.items():
        lines += [style("kind", line) for line in wrapped(place)]
        for entry in group:
            row, index = next(rows), f"@{entry.index}"
            lines.append(row.replace(index, style("number", index), 1))
    return lines


def _entry_row(entry: ContainerEntry) -> tuple[str, ...]:
    # an image without a URI is in compressed data: its offset counts from the start of that
    offset = f"{'+' if entry.format == 'compressed' else ''}{entry.offset:#x}" if entry.size else ""
    target = entry.target_id or entry.triple or "-"
    return f"@{entry.index}", entry.kind or "-", target, offset, str(entry.size), entry.format


def contents_json(contents: CodeObjectContents) -> dict[str, Any]:
    """Return all images of a file as a JSON object."""
    return {
        "file": contents.name,
        "entries": plain(contents.entries),
        "problems": [problem_json(error) for error in contents.problems],
    }


# --- Summaries ----------------------------------------------------------------------------------------------------


def summary_text(summary: FileSummary, *, units: bool = False) -> list[str]:
    """Return the summary of a file as lines."""
    image = summary.image
    bits = f"{image.address_size * 8}-bit {image.byte_order}-endian"
    kind = image.type_name
    pairs: list[tuple[str, str | None]] = [
        ("target", _target(summary)),
        ("machine", f"{image.machine_name}, ELF {bits}, OS ABI {image.osabi_name}"),
        ("type", f"{kind} ({TYPES[kind]})" if kind in TYPES else kind),
    ]
    flags, made = summary.flags, None if summary.hsa is None else summary.hsa.producer
    generic = f", generic version {flags.generic_version}" if flags is not None and flags.generic_version else ""
    names = ", ".join(shown(without_parameters(demangled(name))) for name in summary.kernels)
    pairs += [
        ("code object", None if summary.code_object_version is None else f"version {summary.code_object_version}"),
        (
            "flags",
            None if flags is None else f"{image.flags:#x}: xnack {flags.xnack}, sramecc {flags.sramecc}{generic}",
        ),
        ("compiled to", None if image.name == summary.name else image.path),
        ("made by", None if made is None else f"{made.name} {made.major}.{made.minor}"),
        ("build ID", image.build_id or "none"),
        ("kernels", f"{len(summary.kernels)}: {names}" if names else None),
        ("debug file", summary.debug_file),
        ("holds", "code objects: `dwarfgpu ls` lists them" if summary.has_embedded else None),
        *(() if summary.dwarf is None else _dwarf(summary.dwarf)),
    ]
    lines = [style("kind", shown(summary.name)), *labels(pairs)]
    if units and summary.dwarf is not None:
        lines += [style("name", "units"), *(line for unit in summary.dwarf.units for line in _unit(unit))]
    lines += _sections(summary.sections)
    notes = image.notes()
    if notes:
        lines.append(style("name", "notes"))
        rows = [(shown(note.owner), note.type_name, counted(len(note.data), "byte"), note.place) for note in notes]
        lines += table(rows, "llrl", indent=2)
    if summary.missing:
        lines.append(style("name", "missing"))
    for missing in summary.missing:
        hint = f" ({missing.hint})" if missing.hint else ""
        lines += beside("  ", wrapped(f"{missing.what}: {missing.consequence}{hint}", 76), 4)
    return lines


def _target(summary: FileSummary) -> str:
    target = summary.target
    if not target.is_known:
        return f"not known: {target.reason}"
    lanes = ""
    if target.target.lane_count > 1:
        sizes = summary.wave_sizes
        if len(sizes) > 1:
            lanes = f", waves of {' and '.join(map(str, sizes))} lanes"
        else:
            lanes = f", waves of {target.target.lane_count} lanes"
            lanes += "" if sizes else " (its default: no kernel says)"
    name = target.target.name
    return f"{name}{''.join(f':{feature}' for feature in target.target.features)}{lanes}"


def _dwarf(dwarf: DwarfSummary) -> list[tuple[str, str]]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in dwarf.kinds.items())
    total = f"{len(dwarf.units)}: " if len(dwarf.kinds) > 1 else ""
    pairs = [("units", f"{total}{kinds}" if dwarf.units else "not readable")]
    if dwarf.units:
        sizes = " and ".join(f"{size}-byte" for size in sorted(dwarf.address_sizes))
        versions = _share({f"version {version}": count for version, count in sorted(dwarf.versions.items())})
        pairs.append(("DWARF", f"{versions}; {_share(dwarf.formats)}, {sizes} addresses"))
    pairs += [("producer", f"{text} ({counted(count, 'unit')})") for text, count in dwarf.producers.items()]
    pairs += [
        ("attributes", f"{name} ({reason}; {counted(count, 'unit')})")
        for (name, reason), count in dwarf.dialects.items()
    ]
    pairs += [("augmentation", f"{text} ({counted(count, 'unit')})") for text, count in dwarf.augmentations.items()]
    return pairs


def _share(counts: dict[str, int]) -> str:
    """Return ``A``, or ``A (2), B (1)`` if there are several."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{text} ({count})" for text, count in counts.items())


def _unit(unit: UnitSummary) -> list[str]:
    head = f"  {unit.section}+{unit.offset:#x}  {unit.kind}, version {unit.version}"
    lines = [head, *(f"    {line}" for line in wrapped(unit.name or "(no name)", 76))]
    if unit.split_name:
        lines += [f"    {line}" for line in wrapped(f"entries in {unit.split_name}", 76)]
    return lines


def _sections(sections: tuple[SectionInfo, ...]) -> list[str]:
    if not sections:
        return labelled("sections", "none")
    listed = list(sections)
    if len(listed) > MANY_SECTIONS:
        names = (".eh_frame", ".text")
        listed = [section for section in listed if "debug_" in section.name or section.name in names]
        listed = listed[:MANY_SECTIONS]
    rows = [("", "type", "flags", "address", "offset", "bytes", "")]
    for section in listed:
        packed = f"{section.compression}, {section.data_size}" if section.compression else ""
        place = f"{section.address:#x}", f"{section.offset:#x}", str(section.size)
        rows.append((section.name, section.type, section.flags, *place, packed))
    first, *lines = table(rows, "lllrrrl", longest=24)
    lines = [style("name", "sections") + style("dim", first.ljust(12)[8:]), *lines]
    if len(listed) < len(sections):
        lines.append(f"  and {len(sections) - len(listed)} more, which --json has")
    for section in sections:
        if section.error:
            lines += [f"    {line}" for line in wrapped(section.error, 76)]
    return lines


def summary_json(summary: FileSummary, *, units: bool = False) -> dict[str, Any]:
    """Return the summary of a file as a JSON object. ``units`` lists each unit."""
    document = SUMMARY.json(summary)
    if units and summary.dwarf is not None:
        document["units"] = plain(summary.dwarf.units)
    return document


def _rows(name: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    return [{name: text, "units": count} for text, count in counts.items()]


DWARF = Record(
    fact("units", value=lambda dwarf: len(dwarf.units)),
    "kinds versions formats address_sizes",
    fact("producers", value=lambda dwarf: _rows("producer", dwarf.producers)),
    fact("attribute_dialects", value=lambda dwarf: [
        {"dialect": name, "reason": reason, "units": count} for (name, reason), count in dwarf.dialects.items()
    ]),
    fact("augmentations", value=lambda dwarf: _rows("text", dwarf.augmentations)),
)  # fmt: skip
SUMMARY = Record(
    "file=name path=image.path address_size=image.address_size byte_order=image.byte_order "
    "machine=image.machine machine_name=image.machine_name osabi=image.osabi osabi_name=image.osabi_name "
    "abi_version=image.abi_version type=image.type_name flags=image.flags entry=image.entry "
    "code_object_version build_id=image.build_id",
    fact("segments", value=lambda summary: len(summary.image.segments)),
    "symbols target=target.target.name target_id=target.target_id target_known=target.is_known "
    "target_reason=target.reason noted_target wave_sizes settings=flags kernels hsa",
    fact("notes", value=lambda summary: summary.image.notes()),
    "debug_file has_embedded",
    nested("dwarf", DWARF),
    "sections missing",
    fact("problems", value=lambda summary: [*map(problem_json, summary.problems)]),
)


# --- Addresses and names ------------------------------------------------------------------------------------------


def address_text(place: AtAddress) -> list[str]:
    """Return what is at an address as lines: the calls there, the innermost first."""
    where = [symbol_text(place.symbol)] if place.symbol is not None else []
    where += [place.section] if place.section else []
    lines = [style("number", f"{place.address:#x}") + f"  {shown(' in '.join(where))}".rstrip()]
    for frame in place.frames:
        lines.append(f"  {style('name', shown(frame.function or '??'))} at {source_text(frame.source)}")
        if frame.inlined:
            lines[-1] += style("dim", "  (inlined)")
    if not place.frames and place.source is not None:
        lines.append(f"  at {source_text(place.source)}")
    lines += [
        f"  variable {style('name', shown(variable.name))} declared at {source_text(variable.declared)}"
        for variable in place.variables
    ]
    if place.text is not None:
        lines.append(f"  {place.source.line if place.source else 0:>6}  {shown(place.text.expandtabs(4))}")
    if place.range is not None:
        low, high = place.range
        stop = "a statement begins here" if place.is_statement and low == place.address else ""
        lines.append(style("dim", f"  line range {low:#x} to {high:#x}{'; ' + stop if stop else ''}"))
    if place.unit is not None:
        lines.append(style("dim", f"  unit {shown(place.unit)}"))
    return lines


def symbol_text(symbol: SymbolInfo) -> str:
    """Return ``<name+4>``."""
    return f"<{symbol.name}+{symbol.offset:#x}>" if symbol.offset else f"<{symbol.name}>"


def named_text(meanings: Sequence[Named]) -> list[str]:
    """Return what a name means; a type that many units repeat is shown once."""
    groups: dict[tuple[object, ...], list[Named]] = {}
    for named in meanings:
        declared = named.declared
        place = None if declared is None else (declared.file, declared.line, declared.column)
        key = (named.kind, named.tag, named.name, named.linkage_name, place, named.byte_size, named.ranges)
        groups.setdefault(key, []).append(named)
    return [line for group in groups.values() for line in _named(group)]


def _named(group: list[Named]) -> list[str]:
    named = group[0]
    kind = named.kind if named.tag is None else f"{named.kind} ({named.tag})"
    lines = [f"{style('name', shown(named.name))}  {kind}"]
    declared, symbol = named.declared, named.symbol
    code = ", ".join(f"{low:#x} to {high:#x}" for low, high in named.ranges)
    is_elsewhere = named.kind == "function" and symbol is None
    unit = f" in unit {named.unit}" if named.unit else ""
    more = f" and {len(group) - 1} more" if len(group) > 1 else ""
    pairs = [
        ("linkage", named.linkage_name if named.linkage_name and named.linkage_name != named.name else None),
        ("declared", None if declared is None else source_text(declared)),
        ("code", code or ("none in this file" if is_elsewhere else None)),
        ("symbol", None if symbol is None else _symbol(symbol)),
        ("size", f"{named.byte_size} bytes" if named.byte_size is not None and symbol is None else None),
        ("entry", None if named.offset is None else f"{named.section}+{named.offset:#x}{unit}{more}"),
    ]
    return lines + labels(pairs, indent=2)


def _symbol(symbol: SymbolInfo) -> str:
    where = f" in {symbol.section}" if symbol.section else " (undefined)"
    if symbol.address is None:
        memory = "in local memory" if symbol.is_local_memory else "common"
        size = counted(symbol.size, "byte")
        return f"{symbol.bind} {symbol.type} {memory}, {size} aligned to {symbol.alignment}: the loader places it"
    return f"{symbol.bind} {symbol.type} at {symbol.address:#x}, {counted(symbol.size, 'byte')}{where}"


# --- Snapshots ----------------------------------------------------------------------------------------------------


def snapshot_text(summary: Json) -> list[str]:
    """Return the contents of a snapshot as lines."""
    memory = [
        (row["space"], f"{counted(row['bytes'], 'byte')} in {counted(row['extents'], 'extent')}")
        for row in summary["memory"]
    ]
    ids, count = summary["wave_ids"], summary["wave_count"]
    names = ", ".join(ids) + (", ..." if 0 < len(ids) < count else "")
    pairs = [
        ("target", f"{summary['target']}, waves of {summary['lane_count']} lanes"),
        ("waves", f"{count}: {names}" if names else str(count)),
        ("registers", summary["registers"] or "none"),
        ("dispatches", "; ".join(summary["dispatches"]) or "none"),
        ("code objects", "; ".join(summary["code_objects"]) or "none"),
        *(memory or [("memory", "none")]),
    ]
    problems = [style("error", problem) for problem in summary["problems"]]
    return [style("kind", shown(summary["name"])), *labels(pairs), *problems]


# --- Agents, queues, dispatches and files -------------------------------------------------------------------------


def _sizes(sizes: tuple[int, int, int] | None) -> str:
    return "?" if sizes is None else f"[{','.join(map(str, sizes))}]"


def _count(waves: Sequence[int]) -> str:
    return str(len(waves))


AGENTS = Record(
    "number:Id",
    fact("", "State", lambda _agent: "A"),  # stopped, as in ROCgdb
    fact("", "Target Id", lambda agent: f"AMDGPU Agent {agent.number}"),
    "architecture:Architecture",
    fact("lane_count", "Lanes", text="wave{}".format),
    fact("waves", "Waves", text=_count),
)
QUEUES = Record(
    fact("", "Id", lambda queue: queue.index),
    fact("", "Target Id", lambda queue: f"AMDGPU Queue {queue.agent}:{queue.number}"),
    "agent number address waves kind:Type read:Read write:Write size:Size",
    fact("", "Address", lambda queue: hexadecimal(queue.address)),
)
"""A value that is not in the memory of the machine is left blank."""
DISPATCHES = Record(
    fact("", "Id", lambda row: row.dispatch.id),
    fact("", "Target Id", lambda row: f"AMDGPU Dispatch {row.agent}:{row.queue}:{row.dispatch.id}"),
    "agent queue dispatch",
    fact("", "Grid", lambda row: _sizes(row.dispatch.grid)),
    fact("", "Workgroup", lambda row: _sizes(row.dispatch.work_group)),
    fact("", "Fence", lambda row: row.fence),
    fact("waves", "Waves", text=_count),
    fact("", "Kernel Function", lambda row: row.dispatch.kernel or "??"),
    "fence",
)
DEVICES = {"agents": AGENTS, "queues": QUEUES, "dispatches": DISPATCHES}


def _address(which: int) -> Callable[[LoadedCode], str]:
    def value(code: LoadedCode) -> str:
        return "" if code.text is None else f"{code.text[which]:#0{2 + 2 * code.file.image.address_size}x}"

    return value


FILES = Record(
    "file=file.name",
    fact("from", value=lambda code: code.text and code.text[0]),
    fact("to", value=lambda code: code.text and code.text[1]),
    fact("", "From", _address(0)),
    fact("", "To", _address(1)),
    fact("has_dwarf=file.has_dwarf", "Syms Read", text=lambda has_dwarf: "Yes" if has_dwarf else "Yes (*)"),
    fact("", "File", lambda code: code.file.name),
)
"""The loaded files of code, with the addresses of their instructions."""


def files_table(codes: Sequence[LoadedCode]) -> Iterator[str]:
    """Yield the loaded files of code."""
    yield from FILES.screen(codes)
    if not all(code.file.has_dwarf for code in codes):
        yield from fitted("(*): the file has no debugging information.")
