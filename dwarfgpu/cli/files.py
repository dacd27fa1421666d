"""``dwarfgpu ls``, ``info``, ``kernels`` and ``lists``: what is in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import OK, STDIN_PART, exit_status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.cli.session import Session
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.program.code.code_object import CodeObject

MAX_REPORTED = 20

FILE = argument("file", metavar="FILE", help="a file, FILE@gfx90a, FILE@2, a code object URI, or - (-@2)")
ATTRIBUTES = argument(
    "--attributes",
    metavar="D",
    help="how the numbers of LLVM's attributes are read: llvm-current or llvm-old (by producer)",
)


def _source(name: str) -> dict[str, Any]:
    """What to open: a name, or what standard input holds and what of that is meant."""
    part = name.lstrip()
    if name == "-" or part.startswith(STDIN_PART):
        select = None if name == "-" else part.removeprefix(STDIN_PART)
        return {"source": sys.stdin.buffer.read(), "select": select, "name": "<stdin>"}
    return {"source": name}


def open_file(name: str, attributes: str | None = None) -> CodeObject:
    """Open the file, or the image in one, that a command line names."""
    from dwarfgpu.program.code import code_object

    return code_object.opened(**_source(name), attributes=attributes)


def report_problems(session: Session, problems: Iterable[DwarfGpuError]) -> int:
    """Show what was found broken beside the data; return the exit status for it.

    Of problems that differ in nothing but their place the first is shown, and how many there are.
    """
    groups: dict[tuple[object, ...], list[DwarfGpuError]] = {}
    for error in problems:
        key = (error.error_class, error.kind, error.message, error.where.section)
        groups.setdefault(key, []).append(error)
    statuses = [exit_status(first) for first, *_ in groups.values()]
    for first, *others in list(groups.values())[:MAX_REPORTED]:
        session.report(first)
        if others:
            session.err.write(f"dwarfgpu: error: and {len(others)} more of these\n")
    if len(groups) > MAX_REPORTED:
        session.err.write(f"dwarfgpu: error: and {len(groups) - MAX_REPORTED} more, which --json has\n")
    return max(statuses, default=OK)


# --- ls -----------------------------------------------------------------------------------------------------------


def _ls(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import code_object
    from dwarfgpu.render import files as render

    found = code_object.list_contents(**_source(options.file))
    text = render.contents_text(found, session.style)
    session.print_rows(render.contents_json(found), "entries", text, row={"file": found.name})
    return report_problems(session, found.problems)


# --- info ---------------------------------------------------------------------------------------------------------


def _info(session: Session, options: Any) -> int:
    file = open_file(options.file, options.attributes)
    if options.pc or options.name:
        return _look_up(session, file, options)
    from dwarfgpu.program.code import file_summary as filesummary
    from dwarfgpu.render import files as render

    found = filesummary.summary(file)
    if session.wants_json:
        session.print_json(render.summary_json(found, units=options.units))
    else:
        session.print_lines(render.summary_text(found, session.style, units=options.units))
    return report_problems(session, found.problems)


def _look_up(session: Session, file: CodeObject, options: Any) -> int:
    from dwarfgpu.errors import NotFound
    from dwarfgpu.program.code import code_lookup
    from dwarfgpu.render import files as render
    from dwarfgpu.render.layout import plain

    addresses: list[Any] = []
    names: list[Any] = []
    errors: list[DwarfGpuError] = []
    for text in options.pc or ():
        try:
            addresses.append(code_lookup.at_address(file, code_lookup.parse_address(file, text)))
        except NotFound as error:
            errors.append(error)
    for name in options.name or ():
        try:
            names += code_lookup.named(file, name)
        except NotFound as error:
            errors.append(error)
    documents = [plain(each) for each in addresses]
    named = [plain(each) for each in names]
    if session.as_lines:
        for document in (*documents, *named):
            session.print_json({"file": file.name, **document})
    elif session.as_json:
        session.print_json({"file": file.name, "addresses": documents, "names": named})
    else:
        for each in addresses:
            session.print_lines(render.address_text(each, session.style))
        session.print_lines(render.named_text(names, session.style))
    return report_problems(session, (*errors, *file.problems))


# --- kernels ------------------------------------------------------------------------------------------------------


def _kernels(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import code_object
    from dwarfgpu.render import kernels as render

    file = open_file(options.file)
    code_object.check_has_kernels(file)
    found = file.kernels_named(options.name) if options.name else file.kernels.kernels
    document = {
        "file": file.name,
        "target": file.target.target.name,
        "target_id": file.target.target_id,
        "kernels": map(render.kernel_json, found),
    }
    text = render.kernels_text(found, session.style, fields=bool(options.name) or options.fields)
    session.print_rows(document, "kernels", text, row={"file": file.name})
    return report_problems(session, file.problems)


# --- lists --------------------------------------------------------------------------------------------------------


def _lists(session: Session, options: Any) -> int:
    from dwarfgpu.cases.section_cases import run_list_case
    from dwarfgpu.cli.session import answer_cases

    return answer_cases(session, options.cases, run_list_case)


COMMANDS = {
    "ls": Command(
        "List the images in a file: index, kind, target, offset, size and format of each. The index or the target\n"
        "behind an @ names one of them to every command that reads a FILE.\n\n"
        "The offset of what is compressed has a +: it counts in the bundle once that is decompressed.",
        (FILE,),
        _ls,
        ("dwarfgpu ls a.out", "dwarfgpu ls --json a.out", "dwarfgpu info a.out@gfx90a"),
    ),
    "info": Command(
        "Show target, versions, units, producers and sections of a file, and what is missing in it for what.\n\n"
        "With --pc: function, source line and inlined calls at an address, the innermost call first. With --name:\n"
        "the functions, variables, types and symbols with a name.",
        (
            FILE,
            argument(
                "--pc", metavar="ADDR", action="append", help="a number, SYMBOL or SYMBOL+0x10; repeatable"
            ),
            argument(
                "--name", metavar="NAME", action="append", help="a name, as f, ns::f or _Z1fv; repeatable"
            ),
            argument("--units", action="store_true", help="also list the units"),
            ATTRIBUTES,
        ),
        _info,
        ("dwarfgpu info k.co", "dwarfgpu info a.out@gfx90a --pc saxpy+0x10", "dwarfgpu info k.co --name f"),
    ),
    "kernels": Command(
        "Show the kernels of a code object: arguments, registers and segments. With a NAME, or with --fields, also\n"
        "every field of the descriptor and the arguments that the runtime passes.",
        (
            FILE,
            argument("name", nargs="*", metavar="NAME", help="the name or symbol of a kernel"),
            argument("--fields", action="store_true", help="show every field of the descriptors"),
        ),
        _kernels,
        ("dwarfgpu kernels k.co", "dwarfgpu kernels k.co saxpy", "dwarfgpu kernels a.out@gfx90a --json"),
    ),
    "lists": Command(
        "Read location lists: a case a line, each with a list in hex, answered as JSON a line with its entries, or\n"
        "with those that apply at a program location.",
        (
            argument(
                "--cases",
                metavar="FILE",
                required=True,
                help="a case a line, answered as JSON a line; - for standard input",
            ),
        ),
        _lists,
        ("dwarfgpu lists --cases lists.jsonl",),
    ),
}
