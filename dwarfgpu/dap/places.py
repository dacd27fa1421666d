"""Source files as clients know them: by a path that is here, or by a number for a text that the program has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from dwarfgpu.errors import NotFound
from dwarfgpu.questions.execution import KernelRun
from dwarfgpu.questions.sources import text_of

if TYPE_CHECKING:
    from dwarfgpu.dap.requests import RequestArguments
    from dwarfgpu.dap.session import DebugSession
    from dwarfgpu.program.code.source_files import SourceFile

    Json = dict[str, Any]


def sources_in(session: DebugSession) -> Iterator[SourceFile]:
    """Yield the source files of the kernel, else of its file; then those of the host, if a whole program runs."""
    debugger = session.debugger
    whole = debugger.state_of(KernelRun).whole
    if whole is None or debugger.attached is not None:
        yield from (debugger.opened if debugger.attached is None else debugger.attached).state.sources.all()
    for program in () if whole is None else whole.programs():
        yield from program.outside.state.sources.all()


def source_body(session: DebugSession, file: SourceFile) -> Json:
    """Return a source file for the client: with a path if it is here, with a number if the program has it."""
    known = session.source_bodies.get(file)
    if known is not None:
        return known
    text = text_of(session.debugger, file)
    path = text.path or file.path
    body: Json = {"name": os.path.basename(file.path)}
    if text.missing is None and text.path is None and not _has_lines(path, text.lines):
        session.sources[len(session.sources) + 1] = file
        body |= {"path": path_out(session, file.path), "sourceReference": len(session.sources)}
        body["origin"] = "the program has this text"
    else:
        body["path"] = path_out(session, os.path.abspath(path))
        if text.missing is not None:
            body |= {"presentationHint": "deemphasize", "origin": text.missing}
    if file.digest is not None:
        body["checksums"] = [{"algorithm": "MD5", "checksum": file.digest.hex()}]
    session.source_bodies[file] = body
    return body


def _has_lines(path: str, lines: tuple[str, ...]) -> bool:
    """Return whether a file has the text that a program embeds."""
    try:
        with open(path, encoding="utf-8", newline=None) as text:
            return text.read().splitlines() == list(lines)
    except (OSError, ValueError):
        return False


def path_out(session: DebugSession, path: str) -> str:
    """Return a path as the client writes it."""
    return f"file://{quote(path)}" if session.client.get("pathFormat") == "uri" else path


def path_in(session: DebugSession, path: str) -> str:
    """Return a path that the client has written."""
    is_uri = session.client.get("pathFormat") == "uri" and path.startswith("file:")
    return unquote(urlsplit(path).path) if is_uri else path


def source_named(session: DebugSession, arguments: RequestArguments) -> SourceFile:
    """Return the source file that the client means: the one that was found there, or one whose path ends alike."""
    number = arguments.number("sourceReference", 0)
    if number in session.sources:
        return session.sources[number]
    given = arguments.maybe_text("path") or arguments.text("name")
    path = path_in(session, given)
    name, real = os.path.basename(path), os.path.realpath(path)
    alike = [file for file in sources_in(session) if os.path.basename(file.path) == name]
    alike.sort(key=lambda file: file.next_line(1) is None)
    for file in alike:
        found = source_body(session, file)
        if os.path.realpath(path_in(session, found["path"])) == real:
            return file
    if not alike:
        raise NotFound("no_file", f"the program has no code of {given[:200]}")
    return max(alike, key=lambda file: _common(path, file.path))


def _common(first: str, second: str) -> int:
    """Return how many parts at the end two paths have in common."""
    count = 0
    for one, other in zip(reversed(first.split("/")), reversed(second.split("/")), strict=False):
        if one != other:
            break
        count += 1
    return count
