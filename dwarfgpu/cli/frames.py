"""``dwarfgpu cfi``: call frame information."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.frame_rows import DecodedFrameEntry, Entry, FrameAt
    from dwarfgpu.render.layout import Style


def _cfi(session: Session, options: Any) -> int:
    if (options.file is None) == (options.cases is None):
        raise UsageError("exactly one of FILE and --cases is needed")
    if options.cases is not None:
        from dwarfgpu.cases.section_cases import run_frame_case
        from dwarfgpu.cli.session import answer_cases

        return answer_cases(session, options.cases, run_frame_case)
    file = open_file(options.file)
    if options.dialect is not None:
        file.frames.use_dialect(options.dialect)
    answer = _Answer(file, options)
    if session.as_json:
        session.print_json(answer.document())
    elif session.as_lines:
        for document in chain(answer.addresses_json(), answer.entries_json()):
            session.print_json({"file": file.name, **document})
    else:
        for lines in answer.texts(session.style):
            session.print_paragraph(lines)
    return report_problems(session, answer.problems)


class _Answer:
    """What was asked for, found as it is shown; what went wrong is then among the problems."""

    def __init__(self, file: CodeObject, options: Any) -> None:
        self.file = file
        self.options = options
        self._errors: list[DwarfGpuError] = []

    @property
    def problems(self) -> list[DwarfGpuError]:
        return [*self._errors, *self.file.problems]

    def document(self) -> dict[str, Any]:
        return {
            "file": self.file.name,
            "target": self.file.frames.target.name,
            "dialect": self.file.frames.dialect.name,
            "addresses": self.addresses_json(),
            "entries": self.entries_json(),
            "problems": self._problems_json(),
        }

    def addresses_json(self) -> Iterator[dict[str, Any]]:
        from dwarfgpu.render.call_frame_info import at_json

        for found, name in self._addresses():
            yield at_json(found, self.file.frames, name=name)

    def entries_json(self) -> Iterator[dict[str, Any]]:
        from dwarfgpu.render.call_frame_info import listed_json

        for found, name in self._entries():
            yield listed_json(found, self.file.frames, name=name)

    def _problems_json(self) -> Iterator[dict[str, Any]]:
        from dwarfgpu.render.layout import problem_json

        yield from map(problem_json, self.problems)

    def texts(self, style: Style) -> Iterator[list[str]]:
        from dwarfgpu.render.call_frame_info import at_text, listed_text

        frames = self.file.frames
        for at, name in self._addresses():
            yield at_text(at, frames, style, name=name)
        for listed, name in self._entries():
            yield listed_text(listed, frames, style, name=name)
        if not (frames.indexes or self.options.pc or self.options.function):
            yield ["no call frame information"]

    def _addresses(self) -> Iterator[tuple[FrameAt, str]]:
        """The rows at addresses, with the name of the code there."""
        from dwarfgpu.program.code.code_lookup import parse_address
        from dwarfgpu.program.code.frame_rows import code_name, frames_at

        for text in self.options.pc or ():
            with self._collecting():
                for found in frames_at(self.file, parse_address(self.file, text)):
                    yield found, code_name(self.file, found.fde)
                    self._errors += [found.error] if found.error is not None else []

    def _entries(self) -> Iterator[tuple[DecodedFrameEntry, str]]:
        """The entries of functions, or all of them, with the name of their code."""
        from dwarfgpu.program.code.frame_rows import code_name

        for entry in (
            self._asked() if self.options.pc or self.options.function else self.file.frames.entries()
        ):
            if isinstance(entry, DwarfGpuError):
                self._errors.append(entry)
                continue
            found = self.file.frames.listed(entry)
            yield found, code_name(self.file, entry)
            self._errors += [found.error] if found.error is not None else []

    def _asked(self) -> Iterator[Entry]:
        from dwarfgpu.program.code.frame_rows import fdes_of

        for name in self.options.function or ():
            with self._collecting():
                yield from fdes_of(self.file, name)

    @contextmanager
    def _collecting(self) -> Iterator[None]:
        """Go on behind an error, unless it is one of usage."""
        try:
            yield
        except UsageError:
            raise
        except DwarfGpuError as error:
            self._errors.append(error)


COMMANDS = {
    "cfi": Command(
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
