"""Stopped machines with the code that they execute: a snapshot of waves, or a core file of a host program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.errors import DwarfGpuError, MalformedFile, NotFound, UsageError
from dwarfgpu.objfile.elf.header import MAGIC, PT_LOAD, PT_NOTE
from dwarfgpu.objfile.elf.image import Image, open_image
from dwarfgpu.program.code.code_object import OFF, CodeObject, find_target, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode, own_traps
from dwarfgpu.program.frames.execution import Execution
from dwarfgpu.regular_files import open_input, places_of, read_input, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dwarfgpu.machines.machine import LoadedCodeObject as SnapshotCode
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.machines.protocol import Backend
    from dwarfgpu.program.code.code_object import Policy
    from dwarfgpu.program.frames.call_stack import Stack
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.targets.target import Target, TargetRegister

    class Threads(Protocol):
        """What a machine says of its threads, besides the accesses of a `Backend`."""

        target: Target
        ids: list[str]

        @property
        def wave_count(self) -> int: ...
        def register(self, number: int) -> TargetRegister | None: ...
        def wave_named(self, name: str) -> int | None: ...
        def program_counter(self, wave: int) -> int | None: ...

    class ThreadedBackend(Backend, Threads, Protocol):  # type: ignore[misc]
        """A machine with threads (waves)."""

    from collections.abc import Iterator

    from dwarfgpu.machines.core import CoreMachine
    from dwarfgpu.objfile.elf.core import CoreFile
    from dwarfgpu.objfile.elf.core import Mapping as MappedFile


class Stopped:
    """A machine, and the code that is loaded in it. ``problems`` is what could not be read of either."""

    def __init__(
        self, machine: ThreadedBackend, loaded: Loaded, problems: tuple[DwarfGpuError, ...] = (), *, name: str = ""
    ) -> None:
        self.machine = machine
        self.loaded = loaded
        self.name = name
        """What messages call it."""
        self.found = problems
        self.state = Execution(loaded, machine.target, machine)
        """What all frames share."""
        self.is_in_call = False
        """Whether the innermost call that is known has made a call itself, which something else has unwound."""
        self.notes: tuple[str, ...] = ()
        """What else there is in the files of the state."""
        self.open_beside: Callable[[], Stopped] | None = None
        """Opens the threads of the host beside these waves, or the waves beside these threads."""
        self._waves: dict[int, Wave] = {}

    @property
    def crashed(self) -> int | None:
        """The first wave that a signal has stopped, one of an error before one of a trap; None without one."""
        trapped = None
        for wave in range(self.machine.wave_count):
            stop = self.machine.stop_of(wave)
            signal = None if stop is None else stop.signal
            if signal == "SIGTRAP":
                trapped = wave if trapped is None else trapped
            elif signal is not None:
                return wave
        return trapped

    @property
    def problems(self) -> tuple[DwarfGpuError, ...]:
        """What is broken in the state, and has been found broken in the files so far."""
        return (*self.found, *(error for code in self.loaded.codes for error in code.file.problems))

    def wave(self, index: int) -> Wave:
        """Return a wave (thread) by its index."""
        wave = self._waves.get(index)
        if wave is None:
            from dwarfgpu.program.frames.wave import Wave

            wave = self._waves[index] = Wave(self.state, self, index)
        return wave

    def stack(self, wave: int) -> Stack:
        """Return the frames of a thread."""
        return self.wave(wave).stack


def open_stopped(
    file: CodeObject,
    state: str | Sequence[str],
    read: Callable[[str], str] | None = None,
    *,
    force: bool = False,
    dialect: str | None = None,
    repair: Policy = OFF,
    moved: Mapping[str, str] | None = None,
) -> Stopped:
    """Open a state with its program: code and a snapshot or GPU core files, or a host program and its core file.

    ``read`` returns the text of a file, where it differs from its contents; ``repair`` says which
    compiler bugs are worked around; ``moved`` where files of a core file are (`places_of`).
    """
    states = [state] if isinstance(state, str) else list(state)
    if len(states) > 1 or is_elf(states[0]):
        from dwarfgpu.states.core_names import without_part
        from dwarfgpu.states.gpu_cores import is_about_waves

        if is_about_waves(states, file):
            return open_gpu_stopped(states, file, force=force, dialect=dialect, repair=repair, moved=moved)
        return open_core(file, without_part(states[0]), force=force, dialect=dialect, repair=repair, moved=moved)
    state = states[0]
    if not begins_json(state):
        from dwarfgpu.states.agent_text import is_agent_text

        if is_agent_text(state):
            return open_agent_text(state, file, dialect=dialect, repair=repair)
    hint = "frames need a snapshot, which has a schema, or a core file"
    machine = open_snapshot(state, read, force=force, hint=hint, has_code=True)
    loaded, problems = load_code(machine, file, force=force, dialect=dialect, repair=repair)
    return Stopped(machine, loaded, (*machine.warnings, *problems), name=state)


def open_snapshot(
    state: str, read: Callable[[str], str] | None = None, *, force: bool = False, hint: str, has_code: bool = False
) -> Machine:
    """Open a snapshot by itself; ``hint`` says what needs one.

    With ``has_code`` its code is opened by the caller, which finds the program counters that are names.
    """
    from dwarfgpu.machines import snapshot

    document = snapshot.load_document(state, read or _text_of, force=force)
    if isinstance(document, snapshot.Snapshot):
        if not has_code:
            find_named_pcs(document)
        return document
    if not isinstance(document, dict):
        raise MalformedFile("bad_state", f"{state}: a state is a JSON object")
    raise UsageError(f"{state} is a described state", hint=hint)


def is_elf(path: str) -> bool:
    """Return whether a state is an ELF file, or a part of one such as ``core@gfx90a``."""
    if not os.path.exists(path):  # noqa: PTH110
        path = path.rpartition("@")[0] or path
    try:
        with open_input(path) as file:
            return file.read(4) == MAGIC
    except (MalformedFile, OSError):
        return False  # reading it tells why


def begins_json(path: str) -> bool:
    """Return whether a state is a folder, standard input, or a file that begins as a JSON object does."""
    if path == "-" or os.path.isdir(path):  # noqa: PTH112
        return True
    try:
        with open_input(path) as file:
            return file.read(64).removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"{"
    except (MalformedFile, OSError):
        return True  # reading it tells why


def names_its_code(states: Sequence[str], moved: Mapping[str, str] | None = None) -> bool:
    """Return whether a state names the code that it executes and that is here, so that no file is needed."""
    if len(states) == 1 and not is_elf(states[0]):
        if begins_json(states[0]):
            return bool(_code_of_snapshot(states[0]))
        from dwarfgpu.states.agent_text import is_agent_text

        return is_agent_text(states[0])
    from dwarfgpu.states.core_names import is_about_host, without_part
    from dwarfgpu.states.gpu_cores import is_about_waves

    if is_about_waves(states, None) or is_about_host(states):
        return True
    return len(states) == 1 and program_of_core(without_part(states[0]), moved) is not None


def _code_of_snapshot(state: str) -> list[str]:
    """Return the paths of the code objects that a snapshot names, as far as they are here; its waves are not read."""
    import json
    import re

    from dwarfgpu.machines.snapshot_json import MANIFEST

    is_folder = os.path.isdir(state)  # noqa: PTH112
    folder = state if is_folder else os.path.dirname(state)  # noqa: PTH120
    try:
        text = "" if state == "-" else _text_of(os.path.join(state, MANIFEST) if is_folder else state)  # noqa: PTH118
        match = re.search(r'"code_objects"\s*:\s*(?=\[)', text)
        entries = [] if match is None else json.JSONDecoder().raw_decode(text, match.end())[0]
    except (DwarfGpuError, ValueError, RecursionError):
        return []  # reading it tells why
    names = [entry.get("path") for entry in entries if isinstance(entry, dict)]
    paths = [os.path.join(folder, name) for name in names if isinstance(name, str) and "\0" not in name]  # noqa: PTH118
    return [path for path in paths if os.path.isfile(path)]  # noqa: PTH113


def program_of_core(path: str, moved: Mapping[str, str] | None = None) -> str | None:
    """Return the executable that the core file of a host program names, if it is on this machine."""
    from dwarfgpu.objfile.elf.core import read_core

    try:
        core = read_core(open_image(path))
    except DwarfGpuError:
        return None
    entry = core.auxiliary.get(AT_ENTRY, 0)
    names = [mapping.path for mapping in core.mappings if mapping.start <= entry < mapping.end]
    return next((name for name in (_found(name, moved) for name in names) if name is not None), None)


def _found(path: str, moved: Mapping[str, str] | None) -> str | None:
    """Return where a file of the machine that a core file is from is here; None if it is nowhere."""
    return next(filter(os.path.isfile, places_of(path, moved or {})), None)


def open_with_its_code(
    states: Sequence[str], *, dialect: str | None = None, repair: Policy = OFF, moved: Mapping[str, str] | None = None
) -> Stopped:
    """Open a state that names the code that its waves execute; ``moved`` says where files are that were moved."""
    if len(states) == 1 and not is_elf(states[0]):
        if begins_json(states[0]):
            code = opened(_code_of_snapshot(states[0])[0])
            return open_stopped(code, states, dialect=dialect, repair=repair)
        return open_agent_text(states[0], dialect=dialect, repair=repair)
    from dwarfgpu.states.core_names import without_part
    from dwarfgpu.states.gpu_cores import is_about_waves

    if not is_about_waves(states, None):
        path = without_part(states[0])
        program = program_of_core(path, moved)  # without one frames have no names
        is_alone = program is None
        return open_core(opened(program or path), path, force=is_alone, dialect=dialect, repair=repair, moved=moved)
    return open_gpu_stopped(states, dialect=dialect, repair=repair, moved=moved)


def open_gpu_stopped(
    states: Sequence[str],
    file: CodeObject | None = None,
    *,
    force: bool = False,
    dialect: str | None = None,
    repair: Policy = OFF,
    moved: Mapping[str, str] | None = None,
) -> Stopped:
    """Open the waves of GPU core files; without a file with the code that the process had loaded."""
    from dwarfgpu.states.gpu_cores import core_parts

    parts = core_parts(states, file, force=force, dialect=dialect, repair=repair, moved=moved)
    stopped = Stopped(parts.machine, parts.loaded, parts.problems, name=parts.name)
    stopped.notes = parts.notes
    host = parts.host
    if host is not None:
        stopped.open_beside = lambda: open_with_its_code([f"{host}@host"], repair=repair, moved=moved)
    return stopped


def open_agent_text(
    state: str, file: CodeObject | None = None, *, dialect: str | None = None, repair: Policy = OFF
) -> Stopped:
    """Open the text of the ROCm debug agent; without a file with the code object that it names."""
    from dwarfgpu.states.agent_text import agent_parts

    parts = agent_parts(state, file, dialect=dialect, repair=repair)
    return Stopped(parts.machine, parts.loaded, parts.problems, name=state)


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _text_of(path: str) -> str:
    try:
        return read_input(path).decode()
    except UnicodeDecodeError:
        raise unreadable(path, "it is not UTF-8 text") from None


# --- The code of a snapshot ---------------------------------------------------------------------------------------


def load_code(
    machine: Machine, file: CodeObject, *, force: bool = False, dialect: str | None = None, repair: Policy = OFF
) -> tuple[Loaded, tuple[DwarfGpuError, ...]]:
    """Open the code objects of a snapshot where they are loaded; the file that the user names is one of them.

    With ``force`` the user's file may have other contents.
    """
    problems: list[DwarfGpuError] = []
    if not machine.code_objects:
        only = LoadedCode(file, dialect=dialect, repair=repair)
        if not force:
            _check_target(machine, file)
        set_named_pcs(machine, [only])
        machine.traps = own_traps([only])
        return Loaded([only]), ()
    chosen = _entry_of(machine, file)
    address = machine.code_objects[chosen].load_address or 0
    codes = [LoadedCode(file, address, dialect=dialect, repair=repair)]
    if not force:
        _check_contents(machine, machine.code_objects[chosen], file)
        _check_target(machine, file)
    for index, entry in enumerate(machine.code_objects):
        if index == chosen:
            continue
        try:
            other = opened(os.path.join(machine.folder, entry.path), file.attributes)  # noqa: PTH118
            codes.append(LoadedCode(other, entry.load_address or 0, dialect=dialect, repair=repair))
        except DwarfGpuError as error:  # only the frames in it are not known
            problems.append(error)
    set_named_pcs(machine, codes)
    machine.traps = own_traps(codes)
    return Loaded(codes), tuple(problems)


def find_named_pcs(machine: Machine) -> None:
    """Turn program counters that are names into addresses, with the code objects that the snapshot names."""
    if not machine.named_pcs:
        return
    codes, error = [], None
    for entry in machine.code_objects:
        try:
            file = opened(os.path.join(machine.folder, entry.path))  # noqa: PTH118
            codes.append(LoadedCode(file, entry.load_address or 0))
        except DwarfGpuError as problem:
            error = error or problem
    if not codes:
        _index, name = next(iter(machine.named_pcs.items()))
        why = "the snapshot names no code object" if error is None else str(error.message)
        hint = "name the file in code_objects, or write the address"
        raise MalformedFile("bad_snapshot", f"pc {name[:80]!r}: {why}", hint=hint)
    set_named_pcs(machine, codes)


def set_named_pcs(machine: Machine, codes: Sequence[LoadedCode]) -> None:
    """Turn program counters such as ``k+0x2b0`` or ``k.hip:17`` into addresses in some code."""
    names, machine.named_pcs = machine.named_pcs, {}
    for wave, name in names.items():
        address = _address_named(name.strip(), codes)
        number = machine.target.program_counter
        register = None if number is None else machine.register(number)
        if register is None:
            raise UsageError(f"waves of {machine.target.name} have no program counter")
        machine.allocate_registers([register])
        order: Any = machine.target.byte_order
        machine.write_register(register, address.to_bytes(register.bit_size // 8, order), wave, None)


def _address_named(name: str, codes: Sequence[LoadedCode]) -> int:
    """Return the one address in the running program that a name means."""
    from dwarfgpu.program.code.code_lookup import parse_address

    addresses: dict[int, str] = {}
    error: DwarfGpuError | None = None
    for code in codes:
        try:
            addresses.setdefault(code.in_program(parse_address(code.file, name)), code.file.name)
        except NotFound as missing:
            error = error or missing
        except DwarfGpuError as wrong:
            raise MalformedFile("bad_snapshot", f"pc {name[:80]!r}: {wrong.message}", hint=wrong.hint) from None
    if len(addresses) > 1:
        listed = ", ".join(f"{address:#x} in {file}" for address, file in list(addresses.items())[:8])
        raise MalformedFile("bad_snapshot", f"pc {name[:80]!r} has {len(addresses)} addresses: {listed}")
    if not addresses:
        why, hint = ("", None) if error is None else (error.message, error.hint)
        raise MalformedFile("bad_snapshot", f"pc {name[:80]!r}: {why}", hint=hint)
    return next(iter(addresses))


def _entry_of(machine: Machine, file: CodeObject) -> int:
    """Return which code object of a snapshot a file is: by its contents, by its path, or the only one."""
    entries = machine.code_objects
    if len(entries) == 1:
        return 0
    for test in (_same_contents, _same_path):
        for index, entry in enumerate(entries):
            if test(machine, entry, file):
                return index
    names = ", ".join(entry.path for entry in entries[:4])
    message = f"{file.name} is not among the {len(entries)} code objects of the snapshot"
    raise UsageError(message, hint=f"they are {names}{', ...' if len(entries) > 4 else ''}")


def _check_target(machine: Machine, file: CodeObject) -> None:
    """Refuse code of another processor. Generic targets fit several, and a file may not say which it is for."""
    names = file.target.target.name, machine.target.name
    if not file.target.is_known or any("generic" in name for name in names):
        return
    if names[0].split("-")[:2] != names[1].split("-")[:2]:  # waves of 32 and of 64 lanes are of one processor
        message = f"{file.name} is code of {file.target.target.name}, and the snapshot is of {machine.target.name}"
        raise MalformedFile("other_target", message, hint="--force uses it anyway")


def _check_contents(machine: Machine, entry: SnapshotCode, file: CodeObject) -> None:
    """Refuse a file that is not the one that the snapshot was made with, where it says which that was."""
    if entry.sha256 is None or _same_path(machine, entry, file) or _same_contents(machine, entry, file):
        return  # whether the file at that path is still the same has been checked when the snapshot was opened
    message = f"{file.name} is not the code object that the snapshot was made with: that is {entry.path}"
    hint = "its SHA-256 differs; --force uses it anyway"
    raise MalformedFile("other_code_object", message, hint=hint)


def _same_contents(_machine: Machine, entry: SnapshotCode, file: CodeObject) -> bool:
    from hashlib import sha256

    return entry.sha256 is not None and entry.sha256.lower() == sha256(file.image.data).hexdigest()


def _same_path(machine: Machine, entry: SnapshotCode, file: CodeObject) -> bool:
    if file.image.path is None:
        return False
    there = os.path.join(machine.folder, entry.path)  # noqa: PTH118
    return os.path.realpath(there) == os.path.realpath(file.image.path)


# --- Core files of host programs ----------------------------------------------------------------------------------

AT_PHNUM = 5
"""How many program headers the executable has (<elf.h>)."""
AT_ENTRY = 9
"""Where the program begins: the entry point of its executable (<elf.h>)."""
PAGE = 1 << 12
"""Mappings begin at a multiple of it."""
VDSO = "[vdso]"


def open_core(
    program: CodeObject,
    path: str,
    *,
    force: bool = False,
    dialect: str | None = None,
    repair: Policy = OFF,
    moved: Mapping[str, str] | None = None,
) -> Stopped:
    """Open a core file with the program it is of; with ``force``, also with a program it cannot be of."""
    from dwarfgpu.machines.core import CoreMachine
    from dwarfgpu.objfile.elf.core import read_core
    from dwarfgpu.states.gpu_cores import has_gpu_state

    image = open_image(path)
    core = read_core(image)
    problems = [*image.problems, *core.problems]
    threads = {str(thread.pid): thread.registers for thread in core.threads}
    if not threads:
        raise MalformedFile("no_threads", f"{path}: the core file has no threads")
    mapped = _by_file(core, moved)
    if not force:
        _check_program(program, image, core, mapped)
    codes: list[LoadedCode] = []
    files: list[tuple[int, memoryview]] = []
    for name, mappings in mapped.items():
        try:
            file = program if _is_at(program, name) else CodeObject(open_image(name), program.attributes)
        except DwarfGpuError:
            continue  # a file of data, or one that is not here any more
        bias = bias_of(file.image, mappings)
        if bias is not None:
            codes.append(LoadedCode(file, bias, dialect=dialect, repair=repair))
        files += [
            (mapping.start, file.image.data[mapping.offset : mapping.offset + mapping.end - mapping.start])
            for mapping in mappings
        ]
    if not any(code.file is program for code in codes):
        bias = _guessed_bias(program.image, core)
        codes.insert(0, LoadedCode(program, bias, dialect=dialect, repair=repair))
    machine = CoreMachine(find_target(image).target, threads, core.memory, files)
    codes += _vdso(core, machine, dialect)
    entry = core.auxiliary.get(AT_ENTRY)
    executable = next((code for code in codes if code.in_program(code.file.image.entry) == entry), None)
    stopped = Stopped(machine, Loaded(codes, executable), tuple(problems), name=path)
    if has_gpu_state([path]):
        stopped.open_beside = lambda: open_gpu_stopped([path], repair=repair, moved=moved)
    return stopped


def _check_program(program: CodeObject, image: Image, core: CoreFile, mapped: dict[str, list[MappedFile]]) -> None:
    """Refuse a program that the process cannot have run: its addresses differ, so any answer would be wrong."""
    own = program.image
    why = ""
    mappings = next((mapping for name, mapping in mapped.items() if _is_at(program, name)), None)
    if own.machine != image.machine:
        why = "it is for another architecture"
    elif mappings is not None:
        if _differs(own, min(mappings, key=lambda mapping: mapping.start), core):
            why = "it has changed since"
    elif AT_ENTRY in core.auxiliary:
        bias = core.auxiliary[AT_ENTRY] - own.entry
        count = core.auxiliary.get(AT_PHNUM, len(own.segments))
        if bias % PAGE or (bias and own.type_name == "EXEC") or count != len(own.segments):
            why = "the process began elsewhere"
    if why:
        message = f"{program.name} is not the program that {core.name} is of: {why}"
        raise MalformedFile("other_program", message, hint="--force uses it anyway")


def _is_at(program: CodeObject, name: str) -> bool:
    path = program.image.path
    return path is not None and os.path.realpath(name) == os.path.realpath(path)


def _differs(image: Image, mapping: MappedFile, core: CoreFile) -> bool:
    """Return whether the core file has the beginning of a program, and that is of a different program.

    The entry point, program headers and notes (with the build ID) are compared: neither relocation nor
    `strip` changes them.
    """
    if mapping.offset:
        return False
    for address, data in core.memory:
        if address <= mapping.start < address + len(data):
            begin = mapping.start - address
            there = data[begin : begin + min(PAGE, mapping.end - mapping.start)]
            return any(there[first:end] != image.data[first : min(end, len(there))] for first, end in _identity(image))
    return False


def _identity(image: Image) -> Iterator[tuple[int, int]]:
    """Yield the stretches of a file that identify it."""
    header = image.header
    yield 0, 24 + image.address_size  # up to the entry point (gABI, "ELF Header")
    yield header.segment_offset, header.segment_offset + header.segment_stride * header.segment_count
    for segment in image.segments:
        if segment.type == PT_NOTE:
            yield segment.offset, segment.offset + segment.file_size


def _by_file(core: CoreFile, moved: Mapping[str, str] | None) -> dict[str, list[MappedFile]]:
    """Return what is mapped of each of the files that are here, by where they are."""
    by_path: dict[str, list[MappedFile]] = {}
    places: dict[str, str | None] = {}
    for mapping in core.mappings:
        if mapping.path not in places:
            places[mapping.path] = _found(mapping.path, moved)
        place = places[mapping.path]
        if place is not None:
            by_path.setdefault(place, []).append(mapping)
    return by_path


def bias_of(image: Image, mappings: list[MappedFile]) -> int | None:
    """Return what was added to the addresses of a file, as the mappings of its code show; None without code."""
    for segment in image.segments:
        if segment.type != PT_LOAD:
            continue
        for mapping in mappings:
            if mapping.offset <= segment.offset < mapping.offset + mapping.end - mapping.start:
                return mapping.start + (segment.offset - mapping.offset) - segment.address
    return None


def _guessed_bias(image: Image, core: CoreFile) -> int:
    """Return where a program is that the core file does not name: by the entry point in the auxiliary vector."""
    entry = core.auxiliary.get(AT_ENTRY)
    return 0 if entry is None else entry - image.entry


def _vdso(core: CoreFile, machine: CoreMachine, dialect: str | None) -> Iterator[LoadedCode]:
    """Yield the code that the kernel has put into the process, which only its memory holds."""
    from dwarfgpu.objfile.elf.core import AT_SYSINFO_EHDR

    start = core.auxiliary.get(AT_SYSINFO_EHDR)
    for address, data in core.memory:
        if address != start:
            continue
        try:
            image = Image(data, name=VDSO)
            low = min(segment.address for segment in image.segments if segment.type == PT_LOAD)
            yield LoadedCode(CodeObject(image), address - low, dialect=dialect)
        except (DwarfGpuError, ValueError):
            return  # frames in it are not known then
