"""Opening the state that a user names, with its code: a snapshot, a core file, or the text of the debug agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, NotFound, UsageError
from dwarfgpu.objfile.elf.header import MAGIC
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode, own_traps
from dwarfgpu.regular_files import open_input, read_input, unreadable
from dwarfgpu.states.stopped import USUAL, OpenOptions, Stopped, is_about_host, without_part

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import LoadedCodeObject as SnapshotCode
    from dwarfgpu.machines.machine import Machine

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STATE_HINT = "a state is a core file, or a snapshot that `dwarfgpu run --state` writes"
SNAPSHOT, AGENT_TEXT, HOST, WAVES = "snapshot", "agent text", "host", "waves"


def kind_of_state(states: Sequence[str], file: CodeObject | None = None) -> str | None:
    """Return the kind of a state: a snapshot, the debug agent's text, core files of a host or of waves; else None."""
    if len(states) > 1 or is_elf(states[0]):
        from dwarfgpu.states.gpu_cores import is_about_waves

        return WAVES if is_about_waves(states, file) else HOST
    if begins_json(states[0]):
        return SNAPSHOT
    from dwarfgpu.states.agent_text import is_agent_text

    return AGENT_TEXT if is_agent_text(states[0]) else None


def open_stopped(
    file: CodeObject, state: str | Sequence[str], read: Callable[[str], str] | None = None, options: OpenOptions = USUAL
) -> Stopped:
    """Open a state with its program: code and a snapshot or GPU core files, or a host program and its core file.

    ``read`` returns the text of a file, which may differ from what is on disk.
    """
    states = [state] if isinstance(state, str) else list(state)
    kind = kind_of_state(states, file)
    if kind not in (SNAPSHOT, None):
        return _opened(kind, states, file, options)
    hint = "frames need a snapshot, which has a schema, or a core file"
    machine = open_snapshot(states[0], read, force=options.force, hint=hint, has_code=True)
    loaded, problems = load_code(machine, file, options)
    return Stopped(machine, loaded, (*machine.warnings, *problems), name=states[0])


def _opened(kind: str | None, states: Sequence[str], file: CodeObject | None, options: OpenOptions) -> Stopped:
    """Open a state other than a snapshot; without a file, with the code that the state names."""
    if kind == WAVES:
        from dwarfgpu.states.gpu_cores import open_gpu_stopped

        return open_gpu_stopped(states, file, options)
    if kind == HOST:
        from dwarfgpu.states.host_cores import open_core
        from dwarfgpu.states.stopped import without_part

        return open_core(file, without_part(states[0]), options)
    from dwarfgpu.states.agent_text import open_agent_text

    return open_agent_text(states[0], file, options)


def open_snapshot(
    state: str, read: Callable[[str], str] | None = None, *, force: bool = False, hint: str, has_code: bool = False
) -> Machine:
    """Open a snapshot without code; ``hint`` is that of the error for JSON that is no snapshot.

    With ``has_code`` the caller opens the code, and finds program counters that are given as names.
    """
    from dwarfgpu.machines import snapshot

    if not begins_json(state):
        raise MalformedFile("bad_state", f"{state} is neither a core file nor a snapshot", hint=STATE_HINT)
    document = snapshot.load_document(state, read or _text_of, force=force)
    if isinstance(document, snapshot.Snapshot):
        if not has_code:
            find_named_pcs(document)
        return document
    if not isinstance(document, dict):
        raise MalformedFile("bad_state", f"{state}: a state is a JSON object")
    raise MalformedFile("bad_state", f"{state} is not a snapshot: the key 'schema' is missing", hint=hint)


def is_elf(path: str) -> bool:
    """Return whether a state is an ELF file, or a part of one such as ``core@gfx90a``."""
    if not os.path.exists(path):
        path = path.rpartition("@")[0] or path
    try:
        with open_input(path) as file:
            return file.read(4) == MAGIC
    except (MalformedFile, OSError):
        return False  # opening it later tells why


def begins_json(path: str) -> bool:
    """Return whether a state is a folder, standard input, or a file that begins as a JSON object does."""
    if path == "-" or os.path.isdir(path):
        return True
    try:
        with open_input(path) as file:
            return file.read(64).removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"{"
    except (MalformedFile, OSError):
        return True  # opening it later tells why


def names_its_code(states: Sequence[str], moved: Mapping[str, str] | None = None) -> bool:
    """Return whether a state names its code and that code is here, so that no file is needed."""
    kind = kind_of_state(states)
    if kind == SNAPSHOT:
        return bool(_code_of_snapshot(states[0]))
    if kind != HOST:
        return kind is not None
    from dwarfgpu.states.host_cores import program_of_core

    return is_about_host(states) or (len(states) == 1 and program_of_core(without_part(states[0]), moved) is not None)


def open_with_its_code(states: Sequence[str], options: OpenOptions = USUAL) -> Stopped:
    """Open a state with the code that it names."""
    kind = kind_of_state(states)
    if kind == SNAPSHOT:
        return open_stopped(opened(_code_of_snapshot(states[0])[0]), states, options=options)
    return _opened(kind, states, None, options)


def without_code(states: Sequence[str]) -> UsageError:
    """Return the error of a state that is opened without a file, and whose code is not here."""
    names = _code_named_by(states[0]) if kind_of_state(states) == SNAPSHOT else []
    what = f"its code object {names[0]} is not here" if names else "it names no code that is here"
    return UsageError(f"{' and '.join(states)}: {what}", hint="name the code with it: a file of the same build")


def _code_of_snapshot(state: str) -> list[str]:
    """Return the paths of the existing code objects that a snapshot names."""
    return [path for path in _code_named_by(state) if os.path.isfile(path)]


def _code_named_by(state: str) -> list[str]:
    """Return the paths of the code objects that a snapshot names, without reading its waves."""
    import json
    import re

    from dwarfgpu.machines.snapshot_json import MANIFEST

    is_folder = os.path.isdir(state)
    folder = state if is_folder else os.path.dirname(state)
    try:
        text = "" if state == "-" else _text_of(os.path.join(state, MANIFEST) if is_folder else state)
        match = re.search(r'"code_objects"\s*:\s*(?=\[)', text)
        entries = [] if match is None else json.JSONDecoder().raw_decode(text, match.end())[0]
    except (DwarfGpuError, ValueError, RecursionError):
        return []  # opening it later tells why
    names = [entry.get("path") for entry in entries if isinstance(entry, dict)]
    return [os.path.join(folder, name) for name in names if isinstance(name, str) and "\0" not in name]


def _text_of(path: str) -> str:
    try:
        return read_input(path).decode()
    except UnicodeDecodeError:
        raise unreadable(path, "it is not UTF-8 text") from None


# --- The code of a snapshot ---------------------------------------------------------------------------------------


def load_code(
    machine: Machine, file: CodeObject, options: OpenOptions = USUAL
) -> tuple[Loaded, tuple[DwarfGpuError, ...]]:
    """Open the code objects of a snapshot at their addresses; the file that the user names is one of them."""
    chosen = _entry_of(machine, file) if machine.code_objects else -1
    entry = machine.code_objects[chosen] if machine.code_objects else None
    own = options.code(file, 0 if entry is None else entry.load_address or 0)
    if not options.force:
        if entry is not None:
            _check_contents(machine, entry, file)
        _check_target(machine, file)
    others, problems = codes_of(machine, options, file.attributes, without=chosen)
    codes = [own, *others]
    set_named_pcs(machine, codes)
    machine.traps = own_traps(codes)
    return Loaded(codes), tuple(problems)


def codes_of(
    machine: Machine, options: OpenOptions = USUAL, attributes: str | None = None, without: int = -1
) -> tuple[list[LoadedCode], list[DwarfGpuError]]:
    """Open all code objects of a snapshot but one; return those, and the errors of the others."""
    codes: list[LoadedCode] = []
    problems: list[DwarfGpuError] = []
    for index, entry in enumerate(machine.code_objects):
        if index != without:
            try:
                codes.append(options.code(opened(machine.code_path(entry), attributes), entry.load_address or 0))
            except DwarfGpuError as error:
                problems.append(error)
    return codes, problems


def find_named_pcs(machine: Machine) -> None:
    """Replace program counters that are names by addresses, with the code objects that the snapshot names."""
    if not machine.named_pcs:
        return
    codes, problems = codes_of(machine)
    if not codes:
        _index, name = next(iter(machine.named_pcs.items()))
        why = str(problems[0].message) if problems else "the snapshot names no code object"
        hint = "name the file in code_objects, or write the address"
        raise MalformedFile("bad_snapshot", f"pc {name[:80]!r}: {why}", hint=hint)
    set_named_pcs(machine, codes)


def set_named_pcs(machine: Machine, codes: Sequence[LoadedCode]) -> None:
    """Replace program counters such as ``k+0x2b0`` or ``k.hip:17`` by addresses in some code."""
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
    """Return the index of a file among the code objects of a snapshot: by contents, by path, or the only one."""
    entries = machine.code_objects
    if len(entries) == 1:
        return 0
    for tests in ((_same_path, _same_contents), (_same_contents,), (_same_path,)):  # one code can be loaded twice
        for index, entry in enumerate(entries):
            if all(test(machine, entry, file) for test in tests):
                return index
    names = ", ".join(entry.path for entry in entries[:4])
    message = f"{file.name} is not among the {len(entries)} code objects of the snapshot"
    raise UsageError(message, hint=f"they are {names}{', ...' if len(entries) > 4 else ''}")


def _check_target(machine: Machine, file: CodeObject) -> None:
    """Refuse code of another processor. Generic targets fit several processors, and a file may not name its own."""
    names = file.target.target.name, machine.target.name
    if not file.target.is_known or any("generic" in name for name in names):
        return
    if names[0].split("-")[:2] != names[1].split("-")[:2]:  # waves of 32 and 64 lanes fit one processor
        message = f"{file.name} is code of {file.target.target.name}, and the snapshot is of {machine.target.name}"
        raise MalformedFile("other_target", message, hint="--force uses it anyway")


def _check_contents(machine: Machine, entry: SnapshotCode, file: CodeObject) -> None:
    """Refuse a file whose contents differ from the file that the snapshot recorded."""
    if entry.sha256 is None or _same_path(machine, entry, file) or _same_contents(machine, entry, file):
        return  # opening the snapshot has checked the file at that path
    message = f"{file.name} is not the code object that the snapshot was made with: that is {entry.path}"
    raise MalformedFile("other_code_object", message, hint="its SHA-256 differs; --force uses it anyway")


def _same_contents(_machine: Machine, entry: SnapshotCode, file: CodeObject) -> bool:
    from hashlib import sha256

    return entry.sha256 is not None and entry.sha256.lower() == sha256(file.image.data).hexdigest()


def _same_path(machine: Machine, entry: SnapshotCode, file: CodeObject) -> bool:
    if file.image.path is None:  # code in memory, such as that of a whole program, has a name of its own
        return entry.path == file.image.name
    return os.path.realpath(machine.code_path(entry)) == os.path.realpath(file.image.path)
