"""``dwarfgpu cfi``: call frame information."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.files.codeobject import CodeObject


def _cfi(session: Session, options: Any) -> int:
    if (options.file is None) == (options.cases is None):
        raise UsageError("exactly one of FILE and --cases is needed")
    if options.cases is not None:
        from dwarfgpu.cli.casefile import answer_cases
        from dwarfgpu.program.cases.frame_cases import run_frame_case

        return answer_cases(session, options.cases, run_frame_case)
    file = open_file(options.file)
    if options.dialect is not None:
        file.frames.use_dialect(options.dialect)
    writer = _Writer(session, file)
    if options.pc or options.function:
        _look_up(writer, options)
    else:
        for entry in file.frames.entries():
            writer.entry(entry)
        if not file.frames.indexes and not session.wants_json:
            session.print("no call frame information")
    return writer.close()


def _look_up(writer: _Writer, options: Any) -> None:
    """The rows at addresses, and the entries of functions."""
    from dwarfgpu.program.files import frame_lookup
    from dwarfgpu.program.files.codelookup import parse_address

    file = writer.file
    for text in options.pc or ():
        with writer.collecting():
            for found in frame_lookup.frames_at(file, parse_address(file, text)):
                writer.address(found)
    for name in options.function or ():
        with writer.collecting():
            for fde in frame_lookup.fdes_of(file, name):
                writer.entry(fde)


class _Writer:
    """Writes entries and rows as they come, or, for one JSON document, when all are there."""

    def __init__(self, session: Session, file: CodeObject) -> None:
        self.session = session
        self.file = file
        self.addresses: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []
        self.errors: list[DwarfGpuError] = []
        self._is_first = True

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Go on behind an error, unless it is one of usage."""
        try:
            yield
        except UsageError:
            raise
        except DwarfGpuError as error:
            self.errors.append(error)

    def entry(self, entry: Any) -> None:
        from dwarfgpu.program.files.frame_lookup import code_name
        from dwarfgpu.render import frames as render

        if isinstance(entry, DwarfGpuError):
            self.errors.append(entry)
            return
        frames, name = self.file.frames, code_name(self.file, entry)
        found = frames.listed(entry)
        if self.session.wants_json:
            self._document(self.entries, render.listed_json(found, frames, name=name))
        else:
            self._text(render.listed_text(found, frames, self.session.style, name=name))
        self.errors += [found.error] if found.error is not None else []

    def address(self, found: Any) -> None:
        from dwarfgpu.program.files.frame_lookup import code_name
        from dwarfgpu.render import frames as render

        frames, name = self.file.frames, code_name(self.file, found.fde)
        if self.session.wants_json:
            self._document(self.addresses, render.at_json(found, frames, name=name))
        else:
            self._text(render.at_text(found, frames, self.session.style, name=name))
        self.errors += [found.error] if found.error is not None else []

    def _document(self, documents: list[dict[str, Any]], document: dict[str, Any]) -> None:
        if self.session.as_lines:
            self.session.print_json({"file": self.file.name, **document})
        else:
            documents.append(document)

    def _text(self, lines: list[str]) -> None:
        """Lines below those that are there, with an empty one between."""
        if not self._is_first:
            self.session.print()
        self._is_first = False
        for line in lines:
            self.session.print(line)

    def close(self) -> int:
        """Write what is left; return the exit status."""
        from dwarfgpu.render.layout import problem_json

        problems = (*self.errors, *self.file.problems)
        if self.session.as_json:
            frames = self.file.frames
            self.session.print_json(
                {
                    "file": self.file.name,
                    "target": frames.target.name,
                    "dialect": frames.dialect.name,
                    "addresses": self.addresses,
                    "entries": self.entries,
                    "problems": [problem_json(error) for error in problems],
                }
            )
        return report_problems(self.session, problems)


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
