"""``dwarfgpu example``: the files of the documentation."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.immutable import asdict, frozen
from dwarfgpu.questions.document import OK
from dwarfgpu.regular_files import whole_output

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session

FOLDER = Path(__file__).resolve().parents[1] / "examples"
"""The files, as they are installed with the package."""


@frozen
class Example:
    """Files that belong together."""

    name: str
    text: str
    files: tuple[str, ...]
    command: str
    """The command to start with."""


def examples() -> list[Example]:
    """Return the examples that the index lists."""
    lines = [line for line in (FOLDER / "INDEX.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    heads = (line.split(": ", 1) for line in lines[::3])
    rows = zip(heads, lines[1::3], lines[2::3], strict=True)
    return [Example(name, text, tuple(files.split()), command.strip()) for (name, text), files, command in rows]


def example(session: Session, options: Any) -> int:
    """List the examples, or write some of them to a folder."""
    known = {one.name: one for one in examples()}
    unknown = [name for name in options.name if name not in known]
    if unknown:
        raise UsageError(f"no example is called {unknown[0][:60]!r}", hint=nearest_hint(unknown[0], tuple(known), ""))
    chosen = [known[name] for name in options.name] or list(known.values())
    is_written = bool(options.name or options.o is not None)
    folder = Path(options.o or ".")
    if is_written:
        for file in (file for one in chosen for file in one.files):
            _write(FOLDER / file, folder / file)
    if session.wants_json:
        rows = [{**asdict(one), "folder": str(folder) if is_written else None} for one in chosen]
        session.print_json({"examples": rows})
        return OK
    for one in chosen:
        session.print(f"{session.style('name', one.name)}: {one.text}")
        session.print(f"    {one.command}")
    inside = "" if options.o in (None, ".") else f"cd {shlex.quote(options.o)}, then "
    session.hint(
        f"{inside}type one of these commands" if is_written else "`dwarfgpu example -o FOLDER` writes all files"
    )
    return OK


def _write(source: Path, target: Path) -> None:
    """Write a file of an example, but not in place of another file."""
    data = source.read_bytes()
    try:
        if target.exists() and target.read_bytes() != data:
            raise UsageError(f"{target} exists and is another file", hint="choose another folder with -o")
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole_output(str(target)) as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}", kind="unwritable") from None
