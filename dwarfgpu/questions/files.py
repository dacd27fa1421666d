"""Commands about files and machines: ``file``, ``core-file``, ``target``, ``save``, what is loaded, the process."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.program.code.code_object import CodeObject, check_has_kernels, list_contents, opened, runnable
from dwarfgpu.questions.document import BAD_FILE, Document, Output, listing
from dwarfgpu.questions.selection import Selection, source_of
from dwarfgpu.regular_files import whole_output
from dwarfgpu.render.backtrace import standing_text
from dwarfgpu.render.layout import WIDTH, counted, fitted, labelled, plain, room, shown, style
from dwarfgpu.render.records import Record, fact
from dwarfgpu.render.written_text import without_styles
from dwarfgpu.states.program import Program, is_state, open_core, open_program, paths_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.states.core_conversion import ConversionSummary
    from dwarfgpu.states.gpu_cores import OpenedCore

    Rows = dict[str, list[dict[str, Any]]]
    from collections.abc import Iterable, Mapping, Sequence

    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.states.program import Attached
    from dwarfgpu.states.stopped import Stopped


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
    paths = [os.path.expanduser(word) for word in arguments.words]  # noqa: PTH111 (`pathlib` costs start-up time)
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
    return os.path.expanduser(words[0])  # noqa: PTH111 (`pathlib` costs start-up time)


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


def info_agents(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.execution.launch import devices
    from dwarfgpu.render import machines as render

    arguments.none()
    what = arguments.command.name.removeprefix("info ")
    machine = selection.machine
    parts = list(getattr(devices, what)(machine.stopped)) if machine.has_waves else []
    ids, record = machine.stopped.machine.ids, getattr(render, what.upper())

    def text(_named: Any) -> Iterator[str]:
        yield from record.screen(parts, lambda part: selection.wave_number in part.waves)
        if what == "packets":
            yield from render.packet_problems(parts)

    named = [evolve(part, waves=tuple(ids[wave] for wave in part.waves)) for part in parts]
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
    arguments.none()
    file = selection.opened.file
    if arguments.has("pc") or arguments.has("name"):
        return _look_up(file, arguments)
    from dwarfgpu.program.code import file_summary
    from dwarfgpu.render import files as render

    summary, units = file_summary.summary(file), arguments.has("units")
    return Document(
        render.summary_json(summary, units=units),
        lambda _output: render.summary_text(summary, units=units),
        problems=summary.problems,
    )


def _look_up(file: CodeObject, arguments: Arguments) -> Document:
    from dwarfgpu.program.code import code_lookup
    from dwarfgpu.render import files as render

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
            yield from render.address_text(address)
        yield from render.named_text(names)

    data: dict[str, Any] = {"file": file.name, "addresses": [*map(plain, addresses)], "names": [*map(plain, names)]}
    rows = (*data["addresses"], *data["names"])
    return Document(data, lines, rows=lambda: rows, row={"file": file.name}, problems=errors)


def info_images(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.render.files import contents_json, contents_text

    path = arguments.words[0] if arguments.words else selection.opened.file.image.path
    if path is None:
        raise arguments.wrong("needs a FILE")
    contents = list_contents(**source_of(path))
    return Document(
        contents_json(contents),
        lambda _output: contents_text(contents),
        rows="entries",
        row={"file": contents.name},
        problems=contents.problems,
    )


# --- Snapshots by themselves ------------------------------------------------------------------------------------------


def snapshot(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.render import machines as render
    from dwarfgpu.states import snapshot_files
    from dwarfgpu.states.gpu_cores import has_gpu_state

    action, *files = arguments.words or [""]
    if action not in ("convert", "check", "info", "template"):
        raise arguments.wrong(f"does convert, check, info or template, not {action[:40]!r}")
    if action == "template":
        return _template(files, arguments)
    for option in ("pc", "state", "o"):
        if option in arguments.options:
            raise UsageError(f"--{option} goes with `snapshot template`")
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
            return render.summary_text(summary)
        return [f"{summary['name']}: {problem}" for problem in summary["problems"] or ("ok",)]

    data = {key: value for key, value in summary.items() if key not in ("wave_ids", "is_sound")}
    document = Document(data, text)
    if action == "check" and not summary["is_sound"]:
        document.status = BAD_FILE
    return document


def _template(files: list[str], arguments: Arguments) -> Document:
    from dwarfgpu.states.state_template import template
    from dwarfgpu.states.state_template import text as text_of

    if len(files) != 1:
        raise UsageError("`snapshot template` needs the name of a file of code")
    for option in ("waves", "memory", "force"):
        if option in arguments.options:
            raise UsageError(f"--{option} does not go with `snapshot template`")
    output = arguments.get("o")
    state = template(open_program(files[0]), arguments.get("pc"), arguments.get("state"), output)
    if output is None:
        return Document(state, [text_of(state).rstrip("\n")], is_file=True)
    with whole_output(output, "w", encoding="utf-8") as file:
        file.write(text_of(state))
    return Document({"written": output}, ())


def _convert_core(sources: list[str], destination: str, selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.states.core_conversion import convert_core
    from dwarfgpu.states.gpu_cores import choose, open_core_waves
    from dwarfgpu.states.stopped import OpenOptions, part_of

    opened = open_core_waves(sources, options=OpenOptions(moved=selection.moved_files() or {}))
    machine = choose(opened.core, None, part_of(sources), opened.problems)
    options = arguments.options
    summary = convert_core(opened, machine, destination, options.get("waves"), options.get("memory"))
    return Document(conversion_json(summary), lambda _output: conversion_text(summary), problems=opened.problems)


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


# --- What is debugged -----------------------------------------------------------------------------------------------


def info_program(debugger: Debugger, arguments: Arguments) -> Document:
    from dwarfgpu.questions.focus import signal_of_wave

    arguments.none()
    if debugger.attached is None:
        lines = ["The program being debugged is not being run.", "Variables have the values that are in its file."]
        return Document({"program": None}, lines)
    stop, pc = debugger.wave.stop, debugger.wave.frame(0).pc
    reasons = () if stop is None else stop.reasons
    lines = [f"{debugger.noun.capitalize()} {shown(debugger.wave.id)} stopped at {pc or 0:#x}."]
    text = signal_of_wave(debugger)
    if text is not None:
        lines.append(f"It stopped with signal {text}.")
    elif reasons:
        lines.append(f"It stopped: {', '.join(map(str, reasons))}.")
    core = debugger.machine.stopped.core
    fault = next((each.fault for each in core.threads if str(each.pid) == debugger.wave.id), None) if core else None
    if fault is not None:
        lines.append(f"The signal is about the address {fault:#x}.")
    program = {debugger.noun: debugger.wave.id, "pc": pc, "reasons": [*map(str, reasons)]}
    return Document({"program": program}, lines)


def info_signals(debugger: Debugger, arguments: Arguments) -> Document:
    from dwarfgpu.render.lanes import signals

    wanted = arguments.text.upper()
    known = signals()
    chosen = [row for row in known if wanted in ("", row[0])]
    if not chosen:
        hint = f"the signals are {', '.join(name for name, *_ in known)}"
        raise UsageError(f"no wave stops with a signal {wanted[:40]!r}", kind="no_name", hint=hint)
    counts: Counter[str | None] | None = None
    if debugger.attached is not None and debugger.noun == "wave":
        machine = debugger.attached.stopped.machine
        counts = Counter(stop.signal for stop in map(machine.stop_of, range(machine.wave_count)) if stop is not None)
    waves = fact("waves", "Waves", lambda row: None if counts is None else counts[row[0]], side="r")
    record = Record("signal=0:Signal description=1:Description", waves, fact("reasons=2", "Stop reasons"))
    return listing("signals", record, chosen, lambda rows: record.lines(rows, indent=0, width=room()))


def info_inferiors(debugger: Debugger, arguments: Arguments) -> Document:
    arguments.none()
    attached, opened = debugger.attached, debugger.program
    kind = "no state" if attached is None else attached.stopped.machine.capabilities.name
    name = None if opened is None else opened.file.name
    row = {"number": 1, "connection": kind, "executable": name}
    core = None if attached is None else attached.stopped.core
    what = "<null>" if attached is None else "machine" if core is None else f"process {core.threads[0].pid}"
    text = f"* 1    {what:<18}{kind:<21}{shown(name or '')}".rstrip()
    return Document(
        {"inferiors": [row]}, ["  Num  Description       Connection           Executable", text], rows="inferiors"
    )


AUXILIARY: dict[int, tuple[str, ...]] = {
    0: ("AT_NULL", "End of vector"),
    1: ("AT_IGNORE", "Entry should be ignored"),
    2: ("AT_EXECFD", "File descriptor of program", "d"),
    3: ("AT_PHDR", "Program headers for program"),
    4: ("AT_PHENT", "Size of program header entry", "d"),
    5: ("AT_PHNUM", "Number of program headers", "d"),
    6: ("AT_PAGESZ", "System page size", "d"),
    7: ("AT_BASE", "Base address of interpreter"),
    8: ("AT_FLAGS", "Flags"),
    9: ("AT_ENTRY", "Entry point of program"),
    10: ("AT_NOTELF", "Program is not ELF", "d"),
    11: ("AT_UID", "Real user ID", "d"),
    12: ("AT_EUID", "Effective user ID", "d"),
    13: ("AT_GID", "Real group ID", "d"),
    14: ("AT_EGID", "Effective group ID", "d"),
    15: ("AT_PLATFORM", "String identifying platform", "s"),
    16: ("AT_HWCAP", "Machine-dependent CPU capability hints"),
    17: ("AT_CLKTCK", "Frequency of times()", "d"),
    23: ("AT_SECURE", "Boolean, was exec setuid-like?", "d"),
    24: ("AT_BASE_PLATFORM", "String identifying base platform", "s"),
    25: ("AT_RANDOM", "Address of 16 random bytes"),
    26: ("AT_HWCAP2", "Extension of AT_HWCAP"),
    31: ("AT_EXECFN", "File name of executable", "s"),
    33: ("AT_SYSINFO_EHDR", "System-supplied DSO's ELF header"),
    51: ("AT_MINSIGSTKSZ", "Minimum stack size for signal delivery"),
}
"""The types that GDB names, and their meaning; ``d`` is a decimal number, ``s`` the address of a text, the rest hex."""
LONGEST = 4096


def info_proc(debugger: Debugger, arguments: Arguments) -> Document:
    if arguments.text not in ("", "mappings"):
        raise arguments.wrong("shows `mappings`; a core file has nothing else of a process")
    core = debugger.machine.stopped.process
    if not arguments.text:
        command = core.command.partition(" ")[0]
        return Document(
            {"process": {"pid": core.threads[0].pid, "command": core.command}}, [f"exe = '{shown(command)}'"]
        )
    head = ["Mapped address spaces:", "", f"  {'Start Addr':>18} {'End Addr':>18} {'Size':>10} {'Offset':>10} objfile"]
    return listing("mappings", MAPPING, core.mappings, lambda rows: chain(head, map(_mapping, rows)))


MAPPING = Record("start end offset file=path")


def _mapping(each: Any) -> str:
    size = each.end - each.start
    return f"  {each.start:#18x} {each.end:#18x} {size:#10x} {each.offset:#10x} {shown(each.path)}"


def info_auxv(debugger: Debugger, arguments: Arguments) -> Document:
    arguments.none()
    stopped = debugger.machine.stopped

    def line(row: tuple[int, int]) -> str:
        number, value = row
        name, meaning, *form = AUXILIARY.get(number, ("???", ""))
        text = str(value) if form == ["d"] else f"{value:#x}"
        text += f' "{shown(_text_at(stopped, value))}"' if form == ["s"] else ""
        return f"{number:<4} {name:<20} {meaning:<30} {text}"

    name = fact("name", value=lambda row: AUXILIARY.get(row[0], ("???",))[0])
    record = Record("type=0", name, "value=1")
    return listing("auxiliary_vector", record, stopped.process.auxiliary.items(), partial(map, line))


def _text_at(stopped: Stopped, address: int) -> str:
    """Return the text at an address; empty where its memory is not in the core file."""
    machine, data = stopped.machine, bytearray()
    try:
        while len(data) < LONGEST and not data.endswith(b"\0"):
            data += machine.read_memory(machine.target.default_space, address + len(data), 1, 0, None)
    except DwarfGpuError:
        return ""
    return data.rstrip(b"\0").decode(errors="backslashreplace")


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
            yield from record.lines(rows[:MAX_ROWS], width=room())
            if len(rows) > MAX_ROWS:
                yield f"  ... and {len(rows) - MAX_ROWS} more (--json has all)"
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
    return {**SUMMARY.json(opened), **plain_parts, "problems": [*map(PROBLEM.json, opened.problems)]}


SUMMARY = Record(
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


def conversion_json(summary: ConversionSummary) -> dict[str, Any]:
    """Return what a small snapshot has as plain values."""
    data: dict[str, Any] = plain(summary)
    data["bytes"] = data.pop("bytes_")
    return data
