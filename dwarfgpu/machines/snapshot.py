"""Snapshots: saved machines. A snapshot *is* a machine whose arrays come from files.

Two forms, one schema (docs/snapshots.md): a ``.json`` file, and a ``.dgs`` folder whose arrays are mapped. A file is
never changed: what is written to a snapshot stays in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unread, UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.machines.protocol import Capabilities
from dwarfgpu.machines.snapshot_json import MANIFEST
from dwarfgpu.regular_files import check_output, open_input, read_input, signals_raise
from dwarfgpu.strict_json import Node, NotACase, parse

if TYPE_CHECKING:
    from pathlib import Path

    from dwarfgpu.targets.target import Target

SUFFIX = ".dgs"


class Snapshot(Machine):
    """A machine that is loaded from a file."""

    capabilities = Capabilities(
        name="snapshot",
        summary="a machine that was saved: a JSON file, or a folder of arrays that are mapped",
        many_waves=True,
        writes="stays in memory; the files are never changed",
        unknown="whatever the snapshot leaves out",
        gathered="array operations",
        instances=True,
    )

    def __init__(self, target: Target, folder: str) -> None:
        Machine.__init__(self, target)
        self.folder = folder


# --- Loading ------------------------------------------------------------------------------------------------------


def is_snapshot(document: object) -> bool:
    """Return whether a JSON value claims to be a snapshot: a case or a state has no schema."""
    return isinstance(document, dict) and "schema" in document


def load(path: str | os.PathLike[str], *, force: bool = False) -> Snapshot:
    """Load a snapshot of either form.

    ``force`` accepts code objects that are not those the snapshot was made with.
    """
    place = os.fspath(path)  # a text, because `pathlib` costs start-up time
    folder, name = os.path.split(place)
    if name == MANIFEST and not os.path.isdir(place):
        place = folder or "."
    is_folder = os.path.isdir(place)
    file = os.path.join(place, MANIFEST) if is_folder else place
    try:
        document = parse(read_input(file).decode())
    except UnicodeDecodeError as error:
        message = f"{file}: it is not UTF-8 text ({error.reason} at byte {error.start})"
        raise MalformedFile("unreadable", message) from None
    except NotACase as error:
        raise _bad(place, error.message) from None
    return of_document(document, place if is_folder else folder, place, force=force, is_folder=is_folder)


def of_document(
    document: object, folder: str = ".", name: str = "snapshot", *, force: bool = False, is_folder: bool = False
) -> Snapshot:
    """Return the snapshot in a JSON value, which is a manifest if the arrays are in the folder.

    The paths in it are relative to the folder.
    """
    if is_folder:
        from dwarfgpu.machines.snapshot_folder import read_folder as read
    else:
        from dwarfgpu.machines.snapshot_json import read_machine as read

    if not is_snapshot(document):
        raise _bad(name, "it is not a snapshot: the key 'schema' is missing")
    try:
        machine: Any = read(Node(document), lambda target: Snapshot(target, folder))
    except MalformedFile as error:
        raise _bad(name, error.message, error.hint) from None
    except RecursionError:
        raise _bad(name, "it is nested too deeply") from None
    machine.warnings = [Unread(each.kind, f"{name}: {each.message}", hint=each.hint) for each in machine.warnings]
    machine.find_apertures()
    if not force:
        _compare_code(machine, name)
    return machine  # type: ignore[no-any-return]


def load_document(path: str, read: Callable[[str], str], *, force: bool = False) -> object:
    """Return the snapshot in a file or folder, or the JSON value in a file without one.

    ``read`` returns the text of a file.
    """
    if os.path.isdir(path):
        return load(path, force=force)
    try:
        document = parse(read(path))
    except NotACase as error:
        raise MalformedFile("bad_state", f"{path}: {error.message}") from None
    if is_snapshot(document):
        return of_document(document, os.path.dirname(path), path, force=force)
    return document


def _bad(name: str, what: str, hint: str | None = None) -> MalformedFile:
    return MalformedFile("bad_snapshot", f"{name}: {what}", hint=hint)


# --- Code objects -------------------------------------------------------------------------------------------------


def code_problems(machine: Machine) -> Iterator[tuple[int, str, bool]]:
    """Yield the mismatches with the files: (index of the code object, message, whether the file differs)."""
    for index, code in enumerate(machine.code_objects):
        path = machine.code_path(code)
        try:
            file = open_input(path)
        except DwarfGpuError:
            yield index, f"{code.path} is not there", False
            continue
        with file:
            digest = None if code.sha256 is None else _digest(file)
        if code.sha256 is not None and digest != code.sha256.lower():
            yield index, f"{code.path} has the hash {digest}, not {code.sha256.lower()}", True


def _digest(file: IO[bytes]) -> str:
    import hashlib

    digest = hashlib.sha256()
    while data := file.read(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def _compare_code(machine: Machine, name: str) -> None:
    if not any(code.sha256 for code in machine.code_objects):
        return
    for index, message, is_other in code_problems(machine):
        if is_other:
            hint = "it is not the file the snapshot was made with; use --force to load it anyway"
            raise _bad(name, f"code_objects[{index}].sha256: {message}", hint)


# --- Saving -------------------------------------------------------------------------------------------------------


def save(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Save a machine: as a folder if the name ends in ``.dgs``, else as JSON. It appears whole or not at all.

    >>> import dwarfgpu as dg
    >>> dg.save_snapshot(dg.open_core("blur.core").stopped.machine, "crash.json")
    >>> len(dg.open("blur.co").attach("crash.json"))
    2
    """
    from pathlib import Path

    place = Path(path)
    check_output(str(place))
    if os.path.lexists(place):
        raise UsageError(f"{place} exists", hint="choose another name, or remove it first")
    if any(file.row_count != machine.wave_count for file in machine.files):
        raise UsageError("a snapshot cannot contain registers that each lane has separately")
    is_folder = place.suffix == SUFFIX
    folder = place if is_folder else place.parent
    paths = [
        code.path if os.path.isabs(code.path) else os.path.relpath(machine.code_path(code), folder)
        for code in machine.code_objects
    ]
    passing = place.parent / f".{place.name}.{os.getpid()}.part"
    with signals_raise():
        try:
            if is_folder:
                from dwarfgpu.machines.snapshot_folder import write_folder

                passing.mkdir()
                write_folder(machine, passing, paths)
            else:
                from dwarfgpu.machines.snapshot_json import chunks

                with passing.open("x", encoding="utf-8") as file:
                    file.writelines(chunks(machine, paths))
            passing.rename(place)
        except OSError as error:
            raise UsageError(f"{place} cannot be written: {error.strerror or error}") from None
        finally:
            _remove(passing)


def _remove(path: Path) -> None:
    """Remove what was half written; nothing is there if it is whole, or could not be made."""
    if os.path.isdir(path):  # a name may be too long for `pathlib`
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
