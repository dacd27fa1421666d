"""``dwarfgpu dump``: all that a file says, or the part of it that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dwarfgpu.cli.files import ATTRIBUTES, FILE, open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.frame_rows import DecodedFrameEntry
    from dwarfgpu.program.dump.entries import Item, Selection
    from dwarfgpu.render.layout import Style


def _dump(session: Session, options: Any) -> int:
    from dwarfgpu.program.dump import sections
    from dwarfgpu.program.dump.entries import EntryDump

    file = open_file(options.file, options.attributes)
    selection = _selection(file, options)
    entries = True
    others: list[str] = []
    if options.section:
        found = sections.find_sections(file, options.section)
        chosen = tuple(name for name in found if sections.base_name(name) in sections.ENTRIES)
        others = [name for name in found if name not in chosen]
        selection = _in_sections(selection, chosen, others)
        entries = bool(chosen)
    items = EntryDump(file, selection, options.dialect) if entries else ()
    if session.as_json:
        document = {"file": file.name, "units": _units_json(iter(items))}
        session.print_json(
            {**document, "sections": map(_section_json, _sections(file, others, options, selection))}
        )
        return report_problems(session, file.problems)
    for item in items:
        _print_item(session, file, item)
    for section in _sections(file, others, options, selection):
        for part in section.parts:
            if session.as_lines:
                session.print_json({"file": file.name, "part": section.json(part)})
            else:
                session.print_paragraph(section.text(part, session.style))
    return report_problems(session, file.problems)


def _selection(file: CodeObject, options: Any) -> Selection:
    from dwarfgpu.program.code import code_lookup
    from dwarfgpu.program.dump import entries

    if options.depth is not None and options.depth < 0:
        message = "--depth is a number of levels, from 0 on"
        raise UsageError(message)
    return entries.Selection(
        tuple(options.name or ()),
        frozenset(map(entries.tag_number, options.tag or ())),
        tuple(options.die or ()),
        None if options.pc is None else code_lookup.parse_address(file, options.pc),
        options.depth,
    )


def _in_sections(selection: Selection, chosen: tuple[str, ...], others: list[str]) -> Selection:
    """The selection in some sections. What only entries can have is not asked of other sections."""
    from attrs import evolve

    if others and (selection.is_filter or selection.entries or selection.depth is not None):
        message = f"{others[0]} has no entries: --name, --tag, --die and --depth select entries"
        raise UsageError(message, hint="leave them out, or leave out --section")
    return evolve(selection, sections=chosen)


# --- Entries ------------------------------------------------------------------------------------------------------


def _units_json(items: Iterator[Item]) -> Iterator[dict[str, Any]]:
    """Units, each with its entries, which have to be asked for before the next unit."""
    from dwarfgpu.program.dump.entries import ShownUnit
    from dwarfgpu.render import dump as render
    from dwarfgpu.render.layout import plain

    unit = next(items, None)

    def of_unit() -> Iterator[dict[str, Any]]:
        nonlocal unit
        for item in items:
            if isinstance(item, ShownUnit):
                unit = item
                return
            yield render.entry_json(item)
        unit = None

    while isinstance(unit, ShownUnit):
        yield {**plain(unit), "entries": of_unit()}


def _print_item(session: Session, file: CodeObject, item: Item) -> None:
    from dwarfgpu.program.dump.entries import ShownUnit
    from dwarfgpu.render import dump as render
    from dwarfgpu.render.layout import plain

    if isinstance(item, ShownUnit):
        if session.as_lines:
            session.print_json({"file": file.name, "unit": plain(item)})
        else:
            session.print_paragraph(render.unit_text(item, session.style))
    elif session.as_lines:
        session.print_json({"file": file.name, "entry": render.entry_json(item)})
    else:
        session.print_lines(render.entry_text(item, session.style))


# --- Sections -----------------------------------------------------------------------------------------------------


class _Section(NamedTuple):
    """A section whose parts are to be shown."""

    name: str
    parts: Iterator[Any]
    json: Callable[[Any], dict[str, Any]]
    text: Callable[[Any, Style], Iterable[str]]


def _sections(file: CodeObject, names: list[str], options: Any, selection: Selection) -> Iterator[_Section]:
    if not names:
        return
    from dwarfgpu.program.code.frame_rows import code_name
    from dwarfgpu.program.dump import sections
    from dwarfgpu.render import call_frame_info as render_frames
    from dwarfgpu.render import dump as render_parts

    def frame_json(found: DecodedFrameEntry) -> dict[str, Any]:
        return render_frames.listed_json(found, file.frames, name=code_name(file, found.entry))

    def frame_text(found: DecodedFrameEntry, style: Style) -> list[str]:
        return render_frames.listed_text(found, file.frames, style, name=code_name(file, found.entry))

    dump = sections.SectionDump(file, options.dialect, selection.pc)
    for name in names:
        if name in sections.FRAMES:
            yield _Section(name, dump.frames(name), frame_json, frame_text)
        else:
            yield _Section(name, dump.parts(name), render_parts.part_json, render_parts.part_text)


def _section_json(section: _Section) -> dict[str, Any]:
    return {"section": section.name, "parts": map(section.json, section.parts)}


COMMANDS = {
    "dump": Command(
        "Show debugging information entries with what their values mean: expressions\n"
        "disassembled, registers by name, location lists, ranges, references, files.\n"
        "--name, --tag, --die and --pc select entries, each with all that is below it;\n"
        "several of them narrow the selection.\n\n"
        "With --section: what another section holds: line, loc, loclists, ranges, rnglists,\n"
        "frame, eh_frame, eh_frame_hdr, names, aranges; --section all shows the entries and\n"
        "all of these. llvm-dwarfdump prints the other sections.",
        (
            FILE,
            argument("--name", metavar="NAME", action="append", help="entries called so: f, ns::f or _Z1fv"),
            argument(
                "--tag",
                metavar="TAG",
                action="append",
                help="entries with a tag: DW_TAG_variable or variable",
            ),
            argument(
                "--die", metavar="OFFSET", action="append", help="the entry at 0x2a, or .debug_types+0x2a"
            ),
            argument(
                "--pc",
                metavar="ADDR",
                help="the function at an address (a number, SYMBOL or SYMBOL+0x10), and what is valid there",
            ),
            argument("--depth", type=int, metavar="N", help="how many levels below an entry are shown (all)"),
            argument(
                "--section", metavar="S", action="append", help="a section: .debug_line, line, ..., or all"
            ),
            argument("--dialect", metavar="D", help="the dialect of expressions (that of the target)"),
            ATTRIBUTES,
        ),
        _dump,
        (
            "dwarfgpu dump k.co",
            "dwarfgpu dump k.co --name saxpy --depth 1",
            "dwarfgpu dump k.co --pc saxpy+0x10",
            "dwarfgpu dump k.co --section line --section loclists",
        ),
    )
}
