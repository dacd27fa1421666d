"""Commands about the source: ``list``, ``info line``, ``info source``, and where source files are looked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.code.source_files import COMPILED, HERE, SourceReader
from dwarfgpu.program.stack.linespec import LinespecReader
from dwarfgpu.questions import asking
from dwarfgpu.questions.output import SOURCE
from dwarfgpu.render.layout import fitted, shown
from dwarfgpu.render.source import numbered_line, place_words

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.program.code.source_files import SourceFile, SourceText
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.lanes import LaneStatus
    from dwarfgpu.program.stack.linespec import Linespec
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


class Sources:
    """What commands about the source keep: the texts that were read, and what was listed last."""

    def __init__(self) -> None:
        self.reader = SourceReader()
        self.directories = ""
        self.file: SourceFile | None = None
        """The file that was listed last."""
        self.first = 0
        self.last = 0
        self.focus: Any = None
        """What was looked at then."""
        self.told: set[str] = set()
        """The files that were said to be missing."""


def sources_of(debugger: Debugger) -> Sources:
    """What is kept, brought up to date with the settings."""
    found = debugger.state_of(Sources)
    directories = debugger.settings["directories"]
    if directories != found.directories:
        found.directories = directories
        found.reader.directories = tuple(each for each in directories.split(":") if each)
        found.reader.forget()
    return found


def _focus(debugger: Debugger) -> Any:
    """What is equal as long as the same frame is looked at."""
    return debugger.program, debugger.attached, debugger.wave_number, debugger.frame_number


def file_of(frame: Frame) -> tuple[SourceFile, int] | None:
    """The source file of a frame, and the line where it stands."""
    source = frame.call.source
    if source is None or source.file is None:
        return None
    file = frame.state.sources.with_path(source.file, frame.unit)
    return None if file is None else (file, source.line)


def text_of(debugger: Debugger, file: SourceFile) -> SourceText:
    """The text of a source file."""
    return sources_of(debugger).reader.read(file)


def line_text(debugger: Debugger, frame: Frame) -> str | None:
    """The line of the source where a frame stands, with its number, as `frame` shows it; None if it is not there."""
    found = file_of(frame)
    if found is None or not found[1]:
        return None
    file, number = found
    line = text_of(debugger, file).line(number)
    if line is None:
        return None
    return numbered_line(number, debugger.output.code(SOURCE, [shown_line(line)], file.path)[0])


def shown_line(line: str) -> str:
    """A line of a source file, without what would do something to a terminal."""
    return "\t".join(map(shown, line.split("\t")))


def _missing(debugger: Debugger, file: SourceFile, line: int, text: SourceText) -> str:
    """What stands in the place of a line that is not there: why, the first time."""
    told = sources_of(debugger).told
    if text.missing is None:
        return f"{line}\tin {shown(file.name)}, which has {len(text.lines)} lines"
    if file.path in told:
        return f"{line}\tin {shown(file.name)}"
    told.add(file.path)
    return f"{line}\t{shown(file.name)}: {text.missing}"


def standing_lanes(debugger: Debugger) -> dict[tuple[str, int], int]:
    """The lines at which lanes of the wave stand, by file and line, each with a mask of the lanes."""
    from dwarfgpu.questions.waves import masks_by

    def line_of(lane: LaneStatus) -> tuple[str, int] | None:
        source = None if lane.call is None else lane.call.source
        if source is None or source.file is None or not source.line:
            return None
        return source.file, source.line

    return masks_by(debugger, line_of)


# --- list -----------------------------------------------------------------------------------------------------------


def list_lines(debugger: Debugger, arguments: Arguments) -> None:
    """Without operands: the lines around the frame, then those that follow; `list -` shows those before. `list 15` and
    `list add` show the lines around a line or function, `list 10,20` those from one to another, `list 10,` and
    `list ,20` as many as `set listsize` says. `>` marks the line of the frame, `*` other lines where lanes stand.
    """
    kept = sources_of(debugger)
    focus = _focus(debugger)
    goes_on = kept.file is not None and kept.focus == focus
    text = arguments.text
    count = debugger.settings["listsize"]
    if text == "-":
        if not goes_on:
            file, line = start_of(debugger)
            kept.file, kept.first, kept.last, kept.focus = file, *_around(line, count), focus
        assert kept.file is not None  # noqa: S101 (it was set)
        if kept.first <= 1:
            raise UsageError(f"Already at the start of {shown(kept.file.name)}.", kind="no_line")
        _show(debugger, kept.file, max(1, kept.first - count), kept.first - 1)
    elif text in ("", "+"):
        if goes_on and kept.file is not None:
            _show(debugger, kept.file, kept.last + 1, kept.last + count)
        else:
            file, line = start_of(debugger)
            _show(debugger, file, *_around(line, count))
    elif "," in _outside_brackets(text):
        _list_range(debugger, text, count)
    else:
        places = places_of(debugger).read(text)
        for place in places:
            file = _file_of(place)
            if place.is_address or len(places) > 1:
                debugger.output.line(place_words(place))
            _show(debugger, file, *_around(place.line, count))


def _list_range(debugger: Debugger, text: str, count: int) -> None:
    at = _outside_brackets(text).index(",")
    first, last = text[:at].strip(), text[at + 1 :].strip()
    if not first:
        place = places_of(debugger).read(last)[0]
        _show(debugger, _file_of(place), max(1, place.line - count + 1), place.line)
        return
    place = places_of(debugger).read(first)[0]
    file = _file_of(place)
    if not last:
        _show(debugger, file, place.line, place.line + count - 1)
        return
    end = LinespecReader(debugger.frame, (file, place.line)).read(last)[0]
    if _file_of(end).path != file.path:
        raise UsageError("Specified first and last lines are in different files.", kind="no_line")
    if end.line < place.line:
        raise UsageError(f"the lines {place.line} to {end.line} are none", kind="no_line")
    _show(debugger, file, place.line, end.line)


def _outside_brackets(text: str) -> str:
    """A text with blanks in the place of what is in brackets, such as the arguments of a template."""
    found, depth = [], 0
    for each in text:
        depth += (each in "<([{") - (each in ">)]}")
        found.append(" " if depth > 0 else each)
    return "".join(found)


def _around(line: int, count: int) -> tuple[int, int]:
    first = max(1, line - count // 2)
    return first, first + count - 1


def places_of(debugger: Debugger) -> LinespecReader:
    """What reads places: numbers are lines of the file that was listed last, or of the frame."""
    kept = sources_of(debugger)
    here = None
    if kept.file is not None and kept.focus == _focus(debugger):
        here = kept.file, kept.last
    else:
        try:
            here = start_of(debugger)
        except DwarfGpuError:
            here = None
    return LinespecReader(debugger.frame, here)


def start_of(debugger: Debugger) -> tuple[SourceFile, int]:
    """The line that is listed first: that of the frame; without one that of `main`, or of the first kernel."""
    frame = debugger.frame
    if frame.place is not None:
        found = file_of(frame)
        if found is None:
            message = f"the source of {shown(frame.name or 'the code here')} is not known"
            raise UsageError(message, kind="no_source", hint="it has no line table: compile with -g")
        return found
    places = LinespecReader(frame)
    names = ["main", *(kernel.name for kernel in debugger.opened.file.kernels.kernels)]
    for name in names:
        for span in places.functions(name):
            at = frame.state.sources.at(span.entry)
            if at is not None:
                return at.file, at.line
    for file in frame.state.sources.all():
        line = file.next_line(1)
        if line is not None:
            return file, line
    raise UsageError(
        "the program has no line table", kind="no_source", hint="compile with -g, or open a file that has one"
    )


def _file_of(place: Linespec) -> SourceFile:
    if place.file is None:
        where = "" if place.address is None else f" {place.address:#x}"
        where += f" <{shown(place.function)}>" if place.function else ""
        raise UsageError(f"No line number known for{where}.", kind="no_line")
    return place.file


def _show(debugger: Debugger, file: SourceFile, first: int, last: int) -> None:
    """Write lines of a file, and remember which."""
    kept = sources_of(debugger)
    text = text_of(debugger, file)
    output = debugger.output
    if text.missing is not None:
        output.line(_missing(debugger, file, first, text))
        kept.file, kept.first, kept.last, kept.focus = file, first, last, _focus(debugger)
        return
    if first > len(text.lines):
        count = len(text.lines)
        raise UsageError(f"Line number {first} out of range; {shown(file.name)} has {count} lines.", kind="no_line")
    first = max(1, first)
    last = min(last, len(text.lines))
    lanes = standing_lanes(debugger)
    here = file_of(debugger.frame) if debugger.frame.place is not None else None
    lines = output.code(SOURCE, [shown_line(line) for line in text.lines[first - 1 : last]], file.path)
    for number, line in enumerate(lines, first):
        mark = "*" if (file.path, number) in lanes else ""
        if here is not None and here == (file, number):
            mark = ">"
        output.line(numbered_line(number, line, output.style("kind", mark) if mark else ""))
    kept.file, kept.first, kept.last, kept.focus = file, first, last, _focus(debugger)


# --- info line, info source -----------------------------------------------------------------------------------------


def info_line(debugger: Debugger, arguments: Arguments) -> None:
    """Without operands: the first line that was listed, or where the frame stands. An address shows the line that it
    belongs to. `x/i` then shows the first instruction, whose address is $_.
    """
    text = arguments.text
    if not text:
        kept, frame = sources_of(debugger), debugger.frame
        if kept.file is not None and kept.focus == _focus(debugger):
            _info_line(debugger, kept.file, kept.first)
            return
        if frame.place is None:
            _info_line(debugger, *start_of(debugger))
            return
        text = f"*{frame.place:#x}"
    for place in places_of(debugger).read(text):
        if place.address is not None:
            _info_address(debugger, place.address)
        elif place.file is not None:
            _info_line(debugger, place.file, place.line)


def _info_address(debugger: Debugger, address: int) -> None:
    found = debugger.frame.state.sources.at(address)
    if found is None or not found.line:
        where = named_address(debugger, address)
        debugger.output.line(f"No line number information available for address {where}")
        return
    _write_range(debugger, found.file, found.line, found.start, found.end)


def _info_line(debugger: Debugger, file: SourceFile, line: int) -> None:
    sources = debugger.frame.state.sources
    name = shown(file.name)
    next_line = file.next_line(max(1, line))
    if next_line is None:
        debugger.output.line(f'Line number {line} is out of range for "{name}".')
        return
    functions = set()
    for start in file.starts(next_line):
        function = LinespecReader(debugger.frame).function_at(start)
        entry = None if function is None else function.entry
        if entry in functions:
            continue  # the line is entered there again
        functions.add(entry)
        if next_line != line:
            _write_no_code(debugger, f'Line {line} of "{name}"', start)
            continue
        found = sources.at(start)
        end = start if found is None or found.line != line else found.end
        _write_range(debugger, file, line, start, end)


def _write_range(debugger: Debugger, file: SourceFile, line: int, start: int, end: int) -> None:
    head = f'Line {line} of "{shown(file.name)}"'
    if start >= end:
        _write_no_code(debugger, head, start)
        return
    asking.begin_at(debugger, start)
    first, last = named_address(debugger, start), named_address(debugger, end)
    _write_parts(debugger, head, f" starts at address {first}", f" and ends at {last}.")


def _write_no_code(debugger: Debugger, head: str, start: int) -> None:
    asking.begin_at(debugger, start)
    _write_parts(debugger, head, f" is at address {named_address(debugger, start)}", " but contains no code.")


def _write_parts(debugger: Debugger, first: str, *rest: str) -> None:
    """A sentence that goes on in a further line, where GDB lets it go on, if one does not hold it."""
    line = first
    for part in rest:
        if len(line) + len(part) > debugger.output.width:
            debugger.output.line(line)
            line = " "
        line += part
    debugger.output.line(line)


def named_address(debugger: Debugger, address: int) -> str:
    """An address with the function it is in, and how far: ``0x1518 <add+24>``."""
    name = function_offset(debugger, address)
    return f"{address:#x}" if name is None else f"{address:#x} {name}"


def function_offset(debugger: Debugger, address: int) -> str | None:
    """The function that an address is in, and how far: ``<add+24>``."""
    found = LinespecReader(debugger.frame).function_at(address)
    if found is None:  # data, or code without debugging information
        name = debugger.frame.state.symbol_at(address)
        return None if name is None else f"<{shown(name)}>"
    offset = address - found.entry
    return f"<{shown(found.name)}{f'{offset:+d}' if offset else ''}>"


def info_source(debugger: Debugger, arguments: Arguments) -> None:
    """It is the file of the frame, or the one that was listed last."""
    from dwarfgpu.program.code.source_files import facts_of

    arguments.none()
    kept = sources_of(debugger)
    found = file_of(debugger.frame) if debugger.frame.place is not None else None
    file = kept.file if kept.focus == _focus(debugger) and kept.file is not None else found and found[0]
    facts = None if file is None else facts_of(file)
    output = debugger.output
    if file is None or facts is None:
        output.line("No current source file.")
        return
    text = text_of(debugger, file)
    output.line(f"Current source file is {shown(file.name)}")
    if facts.directory:
        output.line(f"Compilation directory is {shown(facts.directory)}")
    if text.path is not None:
        output.line(f"Located in {shown(os.path.abspath(text.path))}")  # noqa: PTH100 (start-up time)
    elif facts.is_embedded:
        output.line("Its text is in the line table.")
    else:
        output.line(f"Located in {shown(file.path)}: {text.missing}")
    if text.missing is None:
        output.line(f"Contains {len(text.lines)} line{'' if len(text.lines) == 1 else 's'}.")
    if facts.language:
        output.line(f"Source language is {facts.language}.")
    if facts.producer:
        output.lines(fitted(f"Producer is {facts.producer}.", output.width, 2))
    output.line(f"Compiled with DWARF {facts.version} debugging format.")
    output.line(f"{'Includes' if facts.has_macros else 'Does not include'} preprocessor macro info.")


# --- Where source files are -----------------------------------------------------------------------------------------


def directory(debugger: Debugger, arguments: Arguments) -> None:
    """Directories are put before those that are searched already; `show directories` shows all. Without operands
    only $cdir (where a file was compiled) and $cwd (where the debugger runs) are left.
    """
    known = debugger.settings["directories"].split(":")
    if not arguments.text:
        debugger.settings.set("directories", f"{COMPILED}:{HERE}")
    else:
        added = [os.path.expanduser(each) for word in arguments.words for each in word.split(":") if each]  # noqa: PTH111
        rest = [each for each in known if each and each not in added]
        debugger.settings.set("directories", ":".join([*dict.fromkeys(added), *rest]))
    sources_of(debugger).told.clear()
    debugger.output.line(f"Source directories searched: {debugger.settings['directories']}")


def set_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    """Files whose path in the program begins with FROM are looked for where TO says. There may be several rules; the
    longest FROM counts.
    """
    words = arguments.words
    if len(words) != 2 or not words[0]:
        raise arguments.wrong("needs the beginning of a path, and what stands for it")
    kept = sources_of(debugger)
    kept.reader.moved[words[0]] = os.path.expanduser(words[1])  # noqa: PTH111
    kept.reader.forget()
    kept.told.clear()


def unset_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    """Without operands: all rules."""
    kept = sources_of(debugger)
    for each in arguments.words or list(kept.reader.moved):
        if kept.reader.moved.pop(each, None) is None:
            raise UsageError(f"No substitution rule defined for `{each[:80]}'", kind="no_rule")
    kept.reader.forget()


def show_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    """Or the rule for one beginning."""
    moved = sources_of(debugger).reader.moved
    debugger.output.line("List of all source path substitution rules:")
    for start, place in moved.items():
        if not arguments.text or arguments.text.startswith(start):
            debugger.output.line(f"  `{shown(start)}' -> `{shown(place)}'.")
