"""``dwarfgpu cfi``: call frame information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import BAD_FILE, OK, read_lines
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.codeobject import CodeObject


def _cfi(session: Session, options: Any) -> int:
    if (options.file is None) == (options.cases is None):
        raise UsageError("exactly one of FILE and --cases is needed")
    if options.cases is not None:
        return _cases(session, options.cases)
    file = open_file(options.file)
    if options.dialect is not None:
        file.frames.use_dialect(options.dialect)
    if options.pc or options.function:
        return _look_up(session, file, options)
    return _list(session, file)


def _list(session: Session, file: CodeObject) -> int:
    """All entries, in text and as lines each as soon as it is read."""
    errors: list[DwarfGpuError] = []
    documents = []
    for entry in file.frames.entries():
        if isinstance(entry, DwarfGpuError):
            errors.append(entry)
            continue
        document, error = _show(session, file, entry)
        documents += [document] if session.as_json else []
        errors += [error] if error is not None else []
    if session.as_json:
        session.print_json({**_head(file), "entries": documents, "problems": _problems(file, errors)})
    elif not file.frames.indexes and not session.as_lines:
        session.print("no call frame information")
    return report_problems(session, (*errors, *file.problems))


def _look_up(session: Session, file: CodeObject, options: Any) -> int:
    """The rows at addresses, and the entries of functions."""
    from dwarfgpu.program import frame_lookup
    from dwarfgpu.program.codelookup import parse_address

    errors: list[DwarfGpuError] = []
    addresses, entries = [], []
    for text in options.pc or ():
        try:
            for found in frame_lookup.frames_at(file, parse_address(file, text)):
                addresses.append(_show_address(session, file, found))
                errors += [found.error] if found.error is not None else []
        except UsageError:
            raise
        except DwarfGpuError as error:
            errors.append(error)
    for name in options.function or ():
        try:
            for fde in frame_lookup.fdes_of(file, name):
                document, problem = _show(session, file, fde)
                entries.append(document)
                errors += [problem] if problem is not None else []
        except UsageError:
            raise
        except DwarfGpuError as error:
            errors.append(error)
    if session.as_json:
        problems = _problems(file, errors)
        session.print_json({**_head(file), "addresses": addresses, "entries": entries, "problems": problems})
    return report_problems(session, (*errors, *file.problems))


def _show(session: Session, file: CodeObject, entry: Any) -> tuple[dict[str, Any], DwarfGpuError | None]:
    """Print an entry, unless all are to be one document; that of this one, and what is wrong with it."""
    from dwarfgpu.program.frame_lookup import code_name
    from dwarfgpu.render import frames as render

    found = file.frames.listed(entry)
    name = code_name(file, entry)
    document: dict[str, Any] = {}
    if session.wants_json:
        document = render.listed_json(found, file.frames, name=name)
        if session.as_lines:
            session.print_json({"file": file.name, **document})
    else:
        for line in render.listed_text(found, file.frames, session.style, name=name):
            session.print(line)
    return document, found.error


def _show_address(session: Session, file: CodeObject, found: Any) -> dict[str, Any]:
    from dwarfgpu.program.frame_lookup import code_name
    from dwarfgpu.render import frames as render

    name = code_name(file, found.fde)
    document: dict[str, Any] = {}
    if session.wants_json:
        document = render.at_json(found, file.frames, name=name)
        if session.as_lines:
            session.print_json({"file": file.name, **document})
    else:
        for line in render.at_text(found, file.frames, session.style, name=name):
            session.print(line)
    return document


def _head(file: CodeObject) -> dict[str, Any]:
    frames = file.frames
    return {"file": file.name, "target": frames.target.name, "dialect": frames.dialect.name}


def _problems(file: CodeObject, errors: list[DwarfGpuError]) -> list[dict[str, Any]]:
    from dwarfgpu.render.layout import problem_json

    return [problem_json(error) for error in (*errors, *file.problems)]


def _cases(session: Session, path: str) -> int:
    import json

    from dwarfgpu.program.cases import NotACase, parse_line
    from dwarfgpu.program.frame_cases import run_frame_case

    try:
        for number, line in enumerate(read_lines(path), 1):
            if line.strip():
                session.print(json.dumps(run_frame_case(parse_line(line, number), number)))
    except NotACase as error:
        session.report(error)
        return BAD_FILE
    return OK


COMMANDS = {
    "cfi": Command(
        "cfi",
        "show the call frame information of a file",
        "Show the call frame information of a file: every entry with its instructions, and the rows that they make.\n"
        "A row has what changes in it; the first of an entry is whole.\n\n"
        "With --pc: the whole row that holds at an address. With --function: the entries of a function. With --cases:\n"
        "sections in hex, a case a line, answered as JSON a line.",
        (
            argument(
                "file",
                metavar="FILE",
                nargs="?",
                help="a file, FILE@gfx90a, FILE@2, a code object URI, or -",
            ),
            argument(
                "--pc", metavar="ADDR", action="append", help="a number, SYMBOL or SYMBOL+0x10; repeatable"
            ),
            argument("--function", metavar="NAME", action="append", help="as f, ns::f or _Z1fv; repeatable"),
            argument("--dialect", metavar="D", help="how expressions are encoded (that of the target)"),
            argument("--cases", metavar="FILE", help="a case a line; - for standard input"),
        ),
        _cfi,
        ("dwarfgpu cfi k.co", "dwarfgpu cfi k.co --pc saxpy+0x10", "dwarfgpu cfi k.co --function f --json"),
    ),
}
