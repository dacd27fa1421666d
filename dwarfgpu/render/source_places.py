"""Where code is in the source, as text: files, lines, and the functions around an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.code.code_lookup import begins_line, line_before
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.frames.frame import Frame


def place_text(frame: Frame) -> str:
    """Return ``at k3.c:5``; for code without line numbers ``from k3.hsaco``."""
    source = frame.call.source
    if source is None or source.file is None:
        return "" if frame.code is None else f"from {shown(frame.code.file.name)}"
    return f"at {_marked(source, frame.code, frame.place_in_file)}"


def _marked(source: SourceLine, code: LoadedCode | None, address: int, *, short: bool = False) -> str:
    """Return a line; of code that belongs to none, which line is before it."""
    if source.line or code is None:
        return line_text(source, short=short)
    near = line_before(code.file, address)
    return f"{line_text(source, short=short)} (made by the compiler{'' if near is None else f' after line {near}'})"


def line_text(source: SourceLine, *, short: bool = False) -> str:
    """Return ``src/k3.c:5``, or ``k3.c:5`` if it must be short."""
    return f"{file_text(source, short=short)}:{source.line}"


def file_text(source: SourceLine, *, short: bool = False) -> str:
    """Return ``src/k3.c``, or ``k3.c`` if it must be short."""
    name = source.file or "??"
    return shown(name.rpartition("/")[2] if short else name)


def standing_text(loaded: Loaded, pc: int | None, *, short: bool = False) -> str:
    """Return the position of a wave or a lane: ``0x1136 in add () at k3.c:5``."""
    if pc is None:
        return "??"
    call = loaded.calls_at(pc)[0]
    code = loaded.at(pc)
    starts = code is not None and begins_line(code.file, code.in_file(pc))
    where = ""
    if call.source is not None and call.source.file is not None:
        where = f" at {_marked(call.source, code, 0 if code is None else code.in_file(pc), short=short)}"
    return f"{'' if starts else f'{pc:#x} in '}{shown(call.function or '??')} (){where}"


def source_text(source: SourceLine | None) -> str:
    """Return ``file:line:column`` without the parts that are not known."""
    if source is None:
        return "??"
    numbers = [str(number) for number in (source.line, source.column) if number]
    return ":".join([shown(source.file or "??"), *numbers])
