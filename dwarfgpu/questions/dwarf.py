"""Commands that print debugging information as it is in the file: ``maint print``."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.dump import entries
from dwarfgpu.audits.dump.entries import EntrySelection, Item, ShownUnit
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code.code_lookup import parse_address
from dwarfgpu.program.code.frame_rows import DecodedFrameEntry, Entry, FrameAt, code_name, fdes_of, frames_at
from dwarfgpu.progress import counted
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.render import dump as render
from dwarfgpu.render.dump import at_json, at_text, listed_json, listed_text
from dwarfgpu.render.layout import paragraphs, plain, problem_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection

BLOCK = 64
"""How many entries are written at once."""


def print_die(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.audits.dump import sections

    file = selection.code_file
    chosen = _entries_selected(file, arguments)
    shows_entries = True
    others: list[str] = []
    if arguments.has("section"):
        names = sections.find_sections(file, list(arguments.many("section")))
        of_entries = tuple(name for name in names if sections.base_name(name) in sections.ENTRIES)
        others = [name for name in names if name not in of_entries]
        if others and (chosen.is_filter or chosen.entries or chosen.depth is not None):
            message = f"{others[0]} has no entries: --name, --tag, --die and --depth select entries"
            raise UsageError(message, hint="leave them out, or leave out --section")
        chosen = evolve(chosen, sections=of_entries)
        shows_entries = bool(of_entries)
    dialect = arguments.get("dialect") or _dialect(selection)
    items = entries.EntryDump(file, chosen, dialect) if shows_entries else ()
    return _dump(file, items, others, dialect, chosen.pc)


def _entries_selected(file: CodeObject, arguments: Arguments) -> EntrySelection:
    text, _, behind = arguments.text.partition(" -depth ")
    depth = arguments.get("depth")
    if behind:
        depth = next(option for option in arguments.command.options if option.flag == "-depth").value(behind)
    if depth is not None and depth < 0:
        raise UsageError("--depth is a number of levels, from 0 on")
    names, dies = arguments.many("name"), arguments.many("die")
    if text:
        depth = depth or 0
        if text[0].isdecimal() or text[0] == ".":
            dies = (*dies, text)
        else:
            names = (*names, text)
    pc = arguments.get("pc")
    return entries.EntrySelection(
        tuple(names),
        frozenset(map(entries.tag_number, arguments.many("tag"))),
        tuple(dies),
        None if pc is None else parse_address(file, pc),
        None if depth is None else min(depth, 1000),
    )


def section_names(file: CodeObject) -> list[str]:
    """Return the names of the sections that ``-section all`` shows."""
    from dwarfgpu.audits.dump import sections

    return sections.find_sections(file, [sections.ALL])


def _of_sections(
    file: CodeObject, names: list[str], dialect: str | None, pc: int | None
) -> Iterator[tuple[str, Iterator[Any], Callable[..., Any], Callable[..., Any]]]:
    """Yield the name of each section, its parts, and what writes a part as JSON and as text."""
    if not names:
        return
    from dwarfgpu.audits.dump import sections

    def frame_json(entry: DecodedFrameEntry) -> dict[str, Any]:
        return listed_json(entry, file.frames, name=code_name(file, entry.entry))

    def frame_text(entry: DecodedFrameEntry) -> list[str]:
        return listed_text(entry, file.frames, name=code_name(file, entry.entry))

    dump = sections.SectionDump(file, dialect, pc)
    for name in names:
        if name in sections.FRAMES:
            yield name, counted(dump.frames(name), f"entries of {name}"), frame_json, frame_text
        else:
            yield name, counted(dump.parts(name), f"parts of {name}"), render.part_json, render.part_text


def _units(items: Iterable[Item]) -> Iterator[dict[str, Any]]:
    """Yield units, each with its entries, which have to be asked for before the next unit."""
    known = iter(items)
    unit = next(known, None)

    def of_unit() -> Iterator[dict[str, Any]]:
        nonlocal unit
        for item in known:
            if isinstance(item, ShownUnit):
                unit = item
                return
            yield render.entry_json(item)
        unit = None

    while isinstance(unit, ShownUnit):
        yield {**plain(unit), "entries": of_unit()}


def _dump(file: CodeObject, items: Iterable[Item], names: list[str], dialect: str | None, pc: int | None) -> Document:
    def rows() -> Iterator[dict[str, Any]]:
        for item in items:
            yield {"unit": plain(item)} if isinstance(item, ShownUnit) else {"entry": render.entry_json(item)}
        for _name, of_section, json, _text in _of_sections(file, names, dialect, pc):
            yield from ({"part": json(part)} for part in of_section)

    def text(output: Output) -> Iterator[str]:
        is_first, texts = True, render.EntryTexts()
        for item in items:
            if isinstance(item, ShownUnit):
                yield from () if is_first else ("",)
                is_first = False
                texts = render.EntryTexts()
                yield from render.unit_text(item)
            else:
                yield from texts.text(item).split("\n") if output.fold else (texts.text(item),)
        for _name, of_section, _json, text_of in _of_sections(file, names, dialect, pc):
            for part in of_section:
                yield from () if is_first else ("",)
                is_first = False
                yield from text_of(part)

    of_sections = (
        {"section": name, "parts": map(json, of_section)}
        for name, of_section, json, _text in _of_sections(file, names, dialect, pc)
    )
    data = {"file": file.name, "units": _units(items), "sections": of_sections}
    return Document(
        data, lambda output: text(output) if output.fold else _blocks(text(output)), rows=rows, row={"file": file.name}
    )


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, many of them as one text: that is written faster."""
    waiting: list[str] = []
    try:
        for line in lines:
            waiting.append(line)
            if len(waiting) == BLOCK:
                yield "\n".join(waiting)
                waiting.clear()
    except DwarfGpuError:
        yield from waiting
        raise
    yield from waiting


def print_cfi(selection: Selection, arguments: Arguments) -> Document:
    file = selection.code_file
    dialect = arguments.get("dialect") or _dialect(selection)
    if dialect is not None:
        file.frames.use_dialect(dialect)
    addresses: list[str | int] = [*arguments.many("pc")]
    functions = [*arguments.many("function")]
    text = arguments.text
    if text and (text[0].isalpha() or text[0] == "_"):
        (addresses if "+" in text else functions).append(text)
    elif text:
        from dwarfgpu.questions.memory import address_of

        where: Any = address_of(selection, text).value
        code = selection.frame.code or selection.frame.state.loaded.codes[0]
        addresses.append(code.in_file(where))
    elif not addresses and not functions and selection.attached is not None:
        addresses.append(selection.frame.place_in_file)
    return _call_frame_information(file, addresses, functions)


@contextmanager
def _collecting(problems: list[DwarfGpuError]) -> Iterator[None]:
    """Go on behind an error, unless it is one of usage."""
    try:
        yield
    except UsageError:
        raise
    except DwarfGpuError as error:
        problems.append(error)


def _call_frame_information(file: CodeObject, addresses: list[str | int], functions: list[str]) -> Document:
    """Return rows and entries, which are read as they are shown; what is wrong with them is then among the problems."""
    frames = file.frames
    problems: list[DwarfGpuError] = []

    def rows() -> Iterator[tuple[FrameAt, str]]:
        """Yield the rows at addresses, with the name of the code there."""
        for where in addresses:
            with _collecting(problems):
                address = parse_address(file, where) if isinstance(where, str) else where
                for row in frames_at(file, address):
                    yield row, code_name(file, row.fde)
                    problems.extend([row.error] if row.error is not None else [])

    def of_functions() -> Iterator[Entry]:
        for name in functions:
            with _collecting(problems):
                yield from fdes_of(file, name)

    def entries() -> Iterator[tuple[DecodedFrameEntry, str]]:
        """Yield the entries of functions, or all of them, with the name of their code."""
        for entry in of_functions() if addresses or functions else frames.entries():
            if isinstance(entry, DwarfGpuError):
                problems.append(entry)
                continue
            decoded = frames.listed(entry)
            yield decoded, code_name(file, entry)
            problems.extend([decoded.error] if decoded.error is not None else [])

    def texts() -> Iterator[list[str]]:
        for row, name in rows():
            yield at_text(row, frames, name=name)
        for entry, name in entries():
            yield listed_text(entry, frames, name=name)
        if not (frames.indexes or addresses or functions):
            yield ["no call frame information"]

    def all_problems() -> Iterator[dict[str, Any]]:
        yield from map(problem_json, (*problems, *file.problems))

    data: dict[str, Any] = {
        "file": file.name,
        "target": frames.target.name,
        "dialect": frames.dialect.name,
        "addresses": (at_json(row, frames, name=name) for row, name in rows()),
        "entries": (listed_json(entry, frames, name=name) for entry, name in entries()),
        "problems": all_problems(),
    }
    document = Document(
        data,
        lambda _output: paragraphs(texts()),
        rows=lambda: chain(data["addresses"], data["entries"]),
        row={"file": file.name},
    )
    document.problems = problems
    return document


def _dialect(selection: Selection) -> str | None:
    name: str = selection.settings["dialect"]
    return None if name == "auto" else name
