"""Commands about the source: its lines, its files, and where those are looked for."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.instruction import Expression, Instruction, decode, operands_of, registers_of
from dwarfgpu.expr.listing import MAX_DEPTH, lines
from dwarfgpu.expr.listing import text as operations_text
from dwarfgpu.program.code.repairs import as_written, repairs_of, uses_frame_base
from dwarfgpu.program.code.source_files import COMPILED, HERE, SourceTexts, facts_of
from dwarfgpu.program.frames.linespec import Linespec, Linespecs
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, BaseClass, Enumeration, Member, Struct, Type, known_size, resolved
from dwarfgpu.questions.document import SOURCE, Document, Output
from dwarfgpu.questions.examined import begin_at
from dwarfgpu.render.layout import counted, fitted, packed, room, shown
from dwarfgpu.render.variables import repaired_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.program.code.declarations import Declared
    from dwarfgpu.program.code.instructions import ListedInstruction
    from dwarfgpu.program.code.source_files import SourceFile, SourceText
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.lanes import LaneStatus
    from dwarfgpu.program.frames.linespec import CodeSpan, Linespec
    from dwarfgpu.program.frames.variable import Described
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.targets.target import Target

    Json = dict[str, Any]


class Sources:
    """What commands about the source keep: the texts that were read, and what was listed last."""

    def __init__(self) -> None:
        self.reader = SourceTexts()
        self.directories = ""
        self.file: SourceFile | None = None
        """The file that was listed last."""
        self.first = 0
        self.last = 0
        self.focus: Any = None
        """What was selected then."""
        self.told: set[str] = set()
        """The files that were said to be missing."""


def sources_of(debugger: Selection) -> Sources:
    """Return what is kept, brought up to date with the settings."""
    sources = debugger.state_of(Sources)
    sources.reader.moved = debugger.substituted
    directories = debugger.settings["directories"]
    if directories != sources.directories:
        sources.directories = directories
        sources.reader.directories = tuple(folder for folder in directories.split(":") if folder)
        sources.reader.forget()
    return sources


def _focus(debugger: Debugger) -> Any:
    return debugger.program, debugger.attached, debugger.wave_number, debugger.frame_number


def file_of(frame: Frame) -> tuple[SourceFile, int] | None:
    """Return the source file of a frame, and its line; of code that the compiler has made, the line before."""
    source = frame.call.source
    if source is None or source.file is None:
        return None
    file = frame.state.sources.with_path(source.file, frame.unit)
    return None if file is None else (file, frame.nearest_line or 0)


def text_of(debugger: Debugger, file: SourceFile) -> SourceText:
    """Return the text of a source file."""
    return sources_of(debugger).reader.read(file)


def line_text(debugger: Debugger, frame: Frame) -> str | None:
    """Return the source line of a frame with its number, as `frame` shows it; None if it cannot be read."""
    place = file_of(frame)
    number = frame.nearest_line
    if place is None or number is None:
        return None
    return next(iter(numbered_lines(debugger, place[0], number, number)), None)


def numbered_lines(debugger: Debugger, file: SourceFile, first: int, last: int) -> list[str]:
    """Return the lines of a source file that there are, with their numbers."""
    text = text_of(debugger, file)
    known = [(number, line) for number in range(max(1, first), last + 1) if (line := text.line(number)) is not None]
    lines = debugger.output.code(SOURCE, [shown_line(line) for _number, line in known], file.path)
    return [numbered_line(number, line) for (number, _line), line in zip(known, lines, strict=True)]


def shown_line(line: str) -> str:
    """Return a line of a source file, without what would do something to a terminal."""
    return "\t".join(map(shown, line.split("\t")))


def _missing(debugger: Debugger, file: SourceFile, line: int, text: SourceText) -> str:
    """Return the text in place of a line that cannot be read: the reason, the first time."""
    told = sources_of(debugger).told
    if text.missing is None:
        return f"{line}\tin {shown(file.name)}, which has {len(text.lines)} lines"
    if file.path in told:
        return f"{line}\tin {shown(file.name)}"
    told.add(file.path)
    return f"{line}\t{shown(file.name)}: {text.missing}"


def standing_lanes(debugger: Debugger) -> dict[tuple[str, int], int]:
    """Return the lines at which lanes of the wave are, by file and line, each with a mask of the lanes."""
    from dwarfgpu.questions.waves import masks_by

    def line_of(lane: LaneStatus) -> tuple[str, int] | None:
        source = None if lane.call is None else lane.call.source
        if source is None or source.file is None or not source.line:
            return None
        return source.file, source.line

    return masks_by(debugger, line_of)


def list_lines(debugger: Debugger, arguments: Arguments) -> Document:
    def lines(output: Output) -> Iterator[str]:
        for place, file, first, last in _stretches(debugger, arguments.text):
            if place is not None:
                yield place_words(place)
            yield from _listing_lines(debugger, _listing(debugger, file, first, last), output)

    def documents() -> Iterator[Json]:
        for place, file, first, last in _stretches(debugger, arguments.text):
            where = {} if place is None else {"function": place.function, "address": place.address}
            yield {**where, **_listing(debugger, file, first, last)}

    return Document({"listings": documents()}, lines, rows="listings")


def _stretches(debugger: Debugger, text: str) -> Iterator[tuple[Linespec | None, SourceFile, int, int]]:
    """Yield what is to be listed: file, first and last line, and the place where it must be said which one it is."""
    kept = sources_of(debugger)
    focus = _focus(debugger)
    goes_on = kept.file is not None and kept.focus == focus
    count = debugger.settings["listsize"]
    if text == "-":
        if not goes_on:
            file, line = start_of(debugger)
            kept.file, kept.first, kept.last, kept.focus = file, *_around(line, count), focus
        assert kept.file is not None  # noqa: S101 (it was set)
        if kept.first <= 1:
            raise UsageError(f"Already at the start of {shown(kept.file.name)}.", kind="no_line")
        yield None, kept.file, max(1, kept.first - count), kept.first - 1
    elif text in ("", "+"):
        if goes_on and kept.file is not None:
            yield None, kept.file, kept.last + 1, kept.last + count
        else:
            file, line = start_of(debugger)
            yield None, file, *_around(line, count)
    elif "," in _outside_brackets(text):
        yield None, *_range(debugger, text, count)
    else:
        places = places_of(debugger).read(text)
        stretches = {(_file_of(place).path, *_around(place.line, count)): place for place in reversed(places)}
        for (_path, first, last), place in reversed(stretches.items()):  # a kernel and its stub are at one line
            is_said = place.is_address or len(stretches) > 1
            yield (place if is_said else None), _file_of(place), first, last


def _range(debugger: Debugger, text: str, count: int) -> tuple[SourceFile, int, int]:
    at = _outside_brackets(text).index(",")
    first, last = text[:at].strip(), text[at + 1 :].strip()
    if not first:
        place = places_of(debugger).read(last)[0]
        return _file_of(place), max(1, place.line - count + 1), place.line
    place = places_of(debugger).read(first)[0]
    file = _file_of(place)
    if not last:
        return file, place.line, place.line + count - 1
    end = Linespecs(debugger.frame, lambda: (file, place.line)).read(last)[0]
    if _file_of(end).path != file.path:
        raise UsageError("Specified first and last lines are in different files.", kind="no_line")
    if end.line < place.line:
        raise UsageError(f"line {end.line}, the last one, is before line {place.line}, the first one", kind="no_line")
    return file, place.line, end.line


def _outside_brackets(text: str) -> str:
    """Return a text with blanks in the place of what is in brackets, such as the arguments of a template."""
    pieces, depth = [], 0
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        pieces.append(" " if depth > 0 else character)
    return "".join(pieces)


def _around(line: int, count: int) -> tuple[int, int]:
    first = max(1, line - count // 2)
    return first, first + count - 1


def places_of(debugger: Debugger) -> Linespecs:
    """Return what reads places: numbers are lines of the file that was listed last, or of the frame."""

    def here() -> tuple[SourceFile, int] | None:
        kept = sources_of(debugger)
        if kept.file is not None and kept.focus == _focus(debugger):
            return kept.file, kept.last
        try:
            return start_of(debugger)
        except DwarfGpuError:
            return None

    return Linespecs(debugger.frame, here)


def start_of(debugger: Debugger) -> tuple[SourceFile, int]:
    """Return the line that is listed first: that of the frame; without one that of `main`, or of the first kernel."""
    frame = debugger.frame
    if frame.place is not None:
        place = file_of(frame)
        if place is None:
            message = f"the source of {shown(frame.name or 'the code here')} is not known"
            raise UsageError(message, kind="no_source", hint="it has no line table: compile with -g")
        return place
    places = Linespecs(frame)
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


def _listing(debugger: Debugger, file: SourceFile, first: int, last: int) -> Json:
    """Return lines of a file, with the lanes that are at them, and remember which."""
    kept = sources_of(debugger)
    text = text_of(debugger, file)
    data: Json = {"file": file.name, "path": file.path, "found": text.path, "first": first, "lines": []}
    if text.missing is not None:
        data["missing"] = text.missing
    elif first > len(text.lines):
        count = len(text.lines)
        raise UsageError(f"Line number {first} out of range; {shown(file.name)} has {count} lines.", kind="no_line")
    else:
        first = max(1, first)
        last = min(last, len(text.lines))
        lanes = standing_lanes(debugger)
        here = file_of(debugger.frame) if debugger.frame.place is not None else None
        for number, line in enumerate(text.lines[first - 1 : last], first):
            mask = lanes.get((file.path, number), 0)
            stands = {"lanes": f"{mask:#x}"} if mask else {}
            data["lines"].append({"line": number, "text": line, "is_frame": here == (file, number), **stands})
    kept.file, kept.first, kept.last, kept.focus = file, first, last, _focus(debugger)
    return data


def _listing_lines(debugger: Debugger, listing: Json, output: Output) -> Iterator[str]:
    if "missing" in listing:
        file = sources_of(debugger).file
        assert file is not None  # noqa: S101 (it was listed)
        yield _missing(debugger, file, listing["first"], text_of(debugger, file))
        return
    rows = listing["lines"]
    texts = output.code(SOURCE, [shown_line(row["text"]) for row in rows], listing["path"])
    for row, text in zip(rows, texts, strict=True):
        mark = ">" if row["is_frame"] else "*" if "lanes" in row else ""
        yield numbered_line(row["line"], text, output.style("kind", mark) if mark else "")


def info_line(debugger: Debugger, arguments: Arguments) -> Document:
    rows = list(_code_of_lines(debugger, arguments.text))
    for row in rows:
        if "start" in row:
            begin_at(debugger, row["start"])
    return Document(
        {"lines": rows},
        lambda output: chain.from_iterable(_code_text(debugger, row, output.width) for row in rows),
        rows="lines",
    )


def _code_of_lines(debugger: Debugger, text: str) -> Iterator[Json]:
    """Yield lines with the code they have, or addresses with their lines."""
    if not text:
        kept, frame = sources_of(debugger), debugger.frame
        if kept.file is not None and kept.focus == _focus(debugger):
            yield from _code_of_line(debugger, kept.file, kept.first)
            return
        if frame.place is None:
            yield from _code_of_line(debugger, *start_of(debugger))
            return
        text = f"*{frame.place:#x}"
    for place in places_of(debugger).read(text):
        if place.address is not None:
            source = debugger.frame.state.sources.at(place.address)
            if source is None or not source.line:
                yield {"address": place.address, **function_json(debugger, place.address)}
            else:
                yield _code_json(debugger, source.file, source.line, source.start, source.end)
        elif place.file is not None:
            yield from _code_of_line(debugger, place.file, place.line)


def _code_of_line(debugger: Debugger, file: SourceFile, line: int) -> Iterator[Json]:
    sources = debugger.frame.state.sources
    next_line = file.next_line(max(1, line))
    if next_line is None:
        yield {"file": file.name, "path": file.path, "line": line}
        return
    functions = set()
    for start in file.starts(next_line):
        function = Linespecs(debugger.frame).function_at(start)
        entry = None if function is None else function.entry
        if entry in functions:
            continue  # the line is entered there again
        functions.add(entry)
        row = sources.at(start)
        end = start if next_line != line or row is None or row.line != line else row.end
        yield _code_json(debugger, file, line, start, end)


def _code_json(debugger: Debugger, file: SourceFile, line: int, start: int, end: int) -> Json:
    return {
        "file": file.name,
        "path": file.path,
        "line": line,
        "start": start,
        "end": max(start, end),
        **function_json(debugger, start),
    }


def _code_text(debugger: Debugger, row: Json, width: int) -> Iterator[str]:
    """Yield a sentence about a line, which goes on in a further line, where GDB lets it go on, if one is too short."""
    if "file" not in row:
        yield f"No line number information available for address {named_address(debugger, row['address'])}"
        return
    if "start" not in row:
        yield f'Line number {row["line"]} is out of range for "{shown(row["file"])}".'
        return
    line = f'Line {row["line"]} of "{shown(row["file"])}"'
    first, last = (named_address(debugger, row[key]) for key in ("start", "end"))
    parts = [f" is at address {first}", " but contains no code."]
    if row["start"] < row["end"]:
        parts = [f" starts at address {first}", f" and ends at {last}."]
    for part in parts:
        if len(line) + len(part) > width:
            yield line
            line = " "
        line += part
    yield line


def named_address(debugger: Debugger, address: int) -> str:
    """Return an address with the function it is in, and how far: ``0x1518 <add+24>``."""
    name = function_offset(debugger, address)
    return f"{address:#x}" if name is None else f"{address:#x} {name}"


def function_offset(debugger: Debugger, address: int) -> str | None:
    """Return the function that an address is in, and how far: ``<add+24>``."""
    function = Linespecs(debugger.frame).function_at(address)
    if function is None:  # data, or code without debugging information
        name = debugger.frame.state.symbol_at(address)
        return None if name is None else f"<{shown(name)}>"
    offset = address - function.entry
    return f"<{shown(function.name)}{f'{offset:+d}' if offset else ''}>"


def function_json(debugger: Debugger, address: int) -> Json:
    """Return the function, or the symbol of data, that an address is in, and how far from its entry it is."""
    function = Linespecs(debugger.frame).function_at(address)
    if function is None:
        return {"function": None, "symbol": debugger.frame.state.symbol_at(address)}
    return {"function": function.name, "offset": address - function.entry}


def info_source(debugger: Debugger, arguments: Arguments) -> Document:
    kept = sources_of(debugger)
    place = file_of(debugger.frame) if debugger.frame.place is not None else None
    file = kept.file if kept.focus == _focus(debugger) and kept.file is not None else place and place[0]
    facts = None if file is None else facts_of(file)
    if file is None or facts is None:
        return Document({"source": None}, ["No current source file."])
    text = text_of(debugger, file)
    source = {
        "file": file.name,
        "path": file.path,
        "directory": facts.directory,
        "found": None if text.path is None else os.path.abspath(text.path),
        "missing": text.missing,
        "is_embedded": facts.is_embedded,
        "lines": None if text.missing is not None else len(text.lines),
        "language": facts.language,
        "producer": facts.producer,
        "dwarf_version": facts.version,
        "has_macros": facts.has_macros,
    }
    return Document({"source": source}, lambda output: _source_lines(source, output.width))


def _source_lines(source: Json, width: int) -> Iterator[str]:
    yield f"Current source file is {shown(source['file'])}"
    if source["directory"]:
        yield f"Compilation directory is {shown(source['directory'])}"
    if source["found"] is not None:
        yield f"Located in {shown(source['found'])}"
    elif source["is_embedded"]:
        yield "Its text is in the line table."
    else:
        yield f"Located in {shown(source['path'])}: {source['missing']}"
    if source["lines"] is not None:
        yield f"Contains {counted(source['lines'], 'line')}."
    if source["language"]:
        yield f"Source language is {source['language']}."
    if source["producer"]:
        yield from fitted(f"Producer is {source['producer']}.", 2)
    yield f"Compiled with DWARF {source['dwarf_version']} debugging format."
    yield f"{'Includes' if source['has_macros'] else 'Does not include'} preprocessor macro info."


# --- Where source files are -----------------------------------------------------------------------------------------


def directory(debugger: Debugger, arguments: Arguments) -> None:
    known = debugger.settings["directories"].split(":")
    if not arguments.text:
        debugger.settings.set("directories", f"{COMPILED}:{HERE}")
    else:
        added = [os.path.expanduser(folder) for word in arguments.words for folder in word.split(":") if folder]
        rest = [folder for folder in known if folder and folder not in added]
        debugger.settings.set("directories", ":".join([*dict.fromkeys(added), *rest]))
    sources_of(debugger).told.clear()
    debugger.output.line(f"Source directories searched: {debugger.settings['directories']}")


def set_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    words = arguments.words
    if len(words) != 2 or not words[0]:
        raise arguments.wrong("needs the beginning of a path, and its replacement")
    kept = sources_of(debugger)
    kept.reader.moved[words[0]] = os.path.expanduser(words[1])
    kept.reader.forget()
    kept.told.clear()


def unset_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    kept = sources_of(debugger)
    for path in arguments.words or list(kept.reader.moved):
        if kept.reader.moved.pop(path, None) is None:
            raise UsageError(f"No substitution rule defined for `{path[:80]}'", kind="no_rule")
    kept.reader.forget()


def show_substitute_path(debugger: Debugger, arguments: Arguments) -> None:
    moved = sources_of(debugger).reader.moved
    debugger.output.line("List of all source path substitution rules:")
    for start, place in moved.items():
        if not arguments.text or arguments.text.startswith(start):
            debugger.output.line(f"  `{shown(start)}' -> `{shown(place)}'.")


# --- Source as text and JSON ------------------------------------------------------------------------------------------


_ADDRESSES = ("DW_OP_addr", "DW_OP_addrx", "DW_OP_GNU_addr_index")
_TLS = ("DW_OP_form_tls_address", "DW_OP_GNU_push_tls_address")
_SPACE = ("DW_OP_LLVM_form_aspace_address", "DW_OP_xderef", "DW_OP_swap")


class LocationWords:
    """Says where a variable is, with the frame base of its function and its ``address`` in memory."""

    def __init__(self, target: Target, frame_base: Expression | None = None, address: str | None = None) -> None:
        self.target = target
        self.frame_base = frame_base
        self.address = address

    def text(self, locations: Sequence[Described]) -> str:
        """Return what follows ``is``: one location, or those of a list with their ranges."""
        if len(locations) == 1 and locations[0].range is None:
            return self._place(locations[0])
        texts = []
        for place in locations:
            where = "Elsewhere" if place.range is None else f"Range {place.range[0]:#x}-{place.range[1]:#x}"
            texts.append(f"  {where}: {self._place(place)}\n")
        return f"multi-location:\n{''.join(texts)}" if texts else "optimized out"

    def _place(self, place: Described) -> str:
        """Return a location as the file has it, and below it as it is repaired."""
        notes = []
        if place.repaired is not None and place.expression is not None:
            notes.append(f"{repaired_head(place)}{self._simple(place.expression) or place.repaired}")
        if self.frame_base is not None and place.written is not None and uses_frame_base(place.written):
            repairs = repairs_of(self.frame_base)
            if repairs:
                names = ", ".join(repair.name for repair in repairs)
                notes.append(f"frame base repaired ({names}): {operations_text(self.frame_base, self.target)}")
        if not notes or place.written is None:
            return self._one(place.written)
        text = self._operations(place.written) if place.repaired is not None else self._one(place.written)
        lines = [line for note in notes for line in packed(note.replace("; ", ";\n").split("\n"), room(4))]
        return "\n".join([text.removesuffix("\n"), *(f"    {line}" for line in lines), ""])

    def _one(self, expression: Expression | None) -> str:
        if expression is None or not expression.data:
            return "optimized out"
        return self._simple(expression) or self._operations(expression)

    def _simple(self, expression: Expression) -> str | None:
        """Return a location that needs no operations to be understood; None for any other."""
        first, *rest = expression.instructions or (None,)
        if first is None or expression.fault is not None:
            return None
        name = first.name
        others = [operation.name for operation in rest]
        if not rest:
            if name.startswith("DW_OP_reg"):
                return f"a variable in {self._register(first)}"
            if name.startswith("DW_OP_breg"):
                offset = first.operands[-1]
                return f"a variable at offset {offset} from base reg {self._register(first)}"
            if name == "DW_OP_fbreg":
                return self._in_frame(int(first.operands[0]))
            if name == "DW_OP_implicit_value":
                return f"the constant {first.operands[0].hex() or 'without bytes'}"
        if name in _ADDRESSES and all(operation in _SPACE or _literal(operation) for operation in others):
            return None if self.address is None else f"static storage at address {self.address}"
        if len(rest) == 1 and others[0] in _TLS:
            offset = first.operands[0] if first.operands else 0
            return f"a thread-local variable at offset {offset:#x} of the thread-local storage"
        if others == ["DW_OP_stack_value"] and name.startswith("DW_OP_lit"):
            return f"the constant {name.removeprefix('DW_OP_lit')}"
        return None

    def _in_frame(self, offset: int) -> str | None:
        base = None if self.frame_base is None else as_written(self.frame_base)
        first = base.instructions[0] if base is not None and len(base.instructions) == 1 else None
        if first is None or not first.name.startswith(("DW_OP_reg", "DW_OP_breg")):
            return None
        start = first.operands[-1] if first.name.startswith("DW_OP_breg") else 0
        return f"a variable at frame base reg {self._register(first)} offset {start}+{offset}"

    def _register(self, instruction: Instruction) -> str:
        number = registers_of(instruction)[0]
        register = self.target.register(number)
        return f"register {number}" if register is None else f"${register.name}"

    def _operations(self, expression: Expression) -> str:
        """Return the operations, each after the offset of its first byte."""
        return "a complex DWARF expression:\n" + "".join(f"{line}\n" for line in self._lines(expression, 0, 0))

    def _lines(self, expression: Expression, start: int, depth: int) -> Iterator[str]:
        """Yield the operations of an expression; ``start`` is its offset in the outermost one."""
        inner = {instruction.offset: _inner(instruction) for instruction in expression.instructions}
        for line in lines(expression, self.target):
            block = inner.get(line.offset) if depth < MAX_DEPTH else None
            text = line.name if block is not None else line.text
            note = line.note
            if note and " " not in note.replace(", ", ""):
                note = ", ".join(f"${register}" for register in note.split(", "))
            head = f"  {start + line.offset:{4 + 2 * depth}d}: {shown(text)}"
            yield f"{head} [{note}]" if note else head
            if block is not None:
                behind = start + line.offset + len(line.bytes) - len(block)
                yield from self._lines(decode(block, expression.dialect, expression.form), behind, depth + 1)


def _inner(instruction: Instruction) -> bytes | None:
    """Return the expression that is an operand; None if there is none."""
    return next((bytes(value) for operand, value in operands_of(instruction) if operand.kind == "expression"), None)


def _literal(name: str) -> bool:
    return name.startswith(("DW_OP_lit", "DW_OP_const")) and name != "DW_OP_constx"


def type_json(type: Type, text: str) -> dict[str, Any]:
    """Return a type with its declaration, its size, and its members, enumerators or dimensions."""
    inner = resolved(type)
    document: dict[str, Any] = {
        "type": safe_text(type),
        "kind": inner.kind if isinstance(inner, Struct) else inner.__class__.__name__.lower(),
        "byte_size": known_size(type),
        "declaration": text,
    }
    if isinstance(inner, Struct) and not inner.is_incomplete:
        document["bases"] = [_part_json(base) for base in inner.body.bases]
        document["members"] = [
            {"name": member.name, **_part_json(member), "bit_size": member.bit_size} for member in inner.body.members
        ]
    elif isinstance(inner, Enumeration):
        document["enumerators"] = {enumerator.name: enumerator.value for enumerator in inner.enumerators}
    elif isinstance(inner, Array):
        document["element"] = safe_text(inner.element)
        document["counts"] = [dimension.length for dimension in inner.dimensions]
    return document


def _part_json(part: Member | BaseClass) -> dict[str, Any]:
    """Return the type of a part of a structure, and where it is; null where an object tells."""
    return {"type": safe_text(part.type), "bit_offset": part.bit_offset, "byte_size": known_size(part.type)}


def declarations(listed: Iterable[Declared]) -> Iterator[str]:
    """Yield declarations by file with their lines: ``File k.c:`` and ``15:<TAB>int add(int, int);``."""
    by_file: dict[str, list[Declared]] = {}
    for declared in listed:
        by_file.setdefault(declared.file or "", []).append(declared)
    known = {declared.text for file, members in by_file.items() if file for declared in members}
    for file, members in sorted(by_file.items(), key=lambda item: (not item[0], item[0])):
        chosen = [declared for declared in members if file or declared.text not in known]
        if chosen:
            yield ""
            if file:  # declarations of type units have no file
                yield f"File {shown(file)}:"
        # what other files can use comes first, as in GDB
        for declared in sorted(chosen, key=lambda each: (each.text.startswith("static "), each.name, each.line or 0)):
            yield f"{'' if declared.line is None else f'{declared.line}:'}\t{shown(declared.text)}"


def symbol_lines(symbols: Iterable[tuple[int, str]], address_size: int) -> Iterator[str]:
    """Yield symbols without debugging information after their addresses."""
    for address, name in symbols:
        yield f"{address:#0{2 + 2 * address_size}x}  {shown(name)}"


# --- Lines of the source ------------------------------------------------------------------------------------------


def numbered_line(number: int, line: str, mark: str = "") -> str:
    """Return a line after its number as GDB writes it, with a mark between them."""
    return f"{number}{mark}\t{line}"


def place_words(place: Linespec) -> str:
    """Return a place as it is written before its lines: ``0x401152 is in add (prog.c:20)``."""
    file = "??" if place.file is None else shown(place.file.name)
    function = shown(place.function or "??")
    if place.is_address and place.address is not None:
        return f"{place.address:#x} is in {function} ({file}:{place.line})."
    return f'file: "{file}", line number: {place.line}, symbol: "{function}"'


# --- Instructions -------------------------------------------------------------------------------------------------


class InstructionLines:
    """Writes instructions; ``named`` returns the function at an address, ``<add+92>``, or None.

    In a listing of one function, addresses only say how far they are from its start.
    """

    def __init__(self, address_size: int, named: Callable[[int], str | None], function: CodeSpan | None = None) -> None:
        self.digits = 2 + 2 * address_size
        self.named = named
        self.function = function

    def head(self, address: int) -> str:
        """Return what is written before an instruction: ``0x0000000000401152 <+0>:``."""
        if self.function is not None:
            return f"{address:#0{self.digits}x} <{address - self.function.entry:+d}>:"
        name = self.named(address)
        if name is not None and not name.endswith(">"):
            name = None
        if name is not None and "+" not in name.rpartition("::")[2]:
            name = f"{name[:-1]}+0>"
        return f"{address:#0{self.digits}x}{'' if name is None else f' {name}'}:"

    def text(self, instruction: ListedInstruction) -> str:
        """Return the instruction, with the name of the function that it refers to."""
        text = shown(instruction.text)
        target = instruction.target
        if target is None:
            return text
        name = self.named(target)
        behind = "" if name is None else f" {name}"
        return f"{text}{behind}" if f"{target:#x}" in text else f"{text}  # {target:#x}{behind}"


def padded_bytes(instructions: Sequence[ListedInstruction]) -> list[str]:
    """Return the bytes of instructions, padded to the same width."""
    texts = [instruction.data.hex(" ") for instruction in instructions]
    width = max(map(len, texts), default=0)
    return [f"{text.ljust(width)}\t" for text in texts]
