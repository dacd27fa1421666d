"""``dwarfgpu dump``: all that a file says, or the part of it that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import ATTRIBUTES, FILE, open_file, report_problems
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.dump.entries import Selection
    from dwarfgpu.program.files.codeobject import CodeObject


def _dump(session: Session, options: Any) -> int:
    from dwarfgpu.program.dump import sections

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
    writer = _Writer(session, file)
    if entries:
        writer.entries(selection, options.dialect)
    if others:
        dump = sections.SectionDump(file, options.dialect, selection.pc)
        for name in others:
            if name in sections.FRAMES:
                writer.frames(name, dump.frames(name))
            else:
                writer.section(name, dump.parts(name))
    writer.close()
    return report_problems(session, file.problems)


def _selection(file: CodeObject, options: Any) -> Selection:
    from dwarfgpu.program.dump import entries
    from dwarfgpu.program.files import codelookup

    if options.depth is not None and options.depth < 0:
        message = "--depth is a number of levels, from 0 on"
        raise UsageError(message)
    return entries.Selection(
        tuple(options.name or ()),
        frozenset(map(entries.tag_number, options.tag or ())),
        tuple(options.die or ()),
        None if options.pc is None else codelookup.parse_address(file, options.pc),
        options.depth,
    )


def _in_sections(selection: Selection, chosen: tuple[str, ...], others: list[str]) -> Selection:
    """The selection in some sections. What only entries can have is not asked of other sections."""
    from dwarfgpu.records import replace

    if others and (selection.is_filter or selection.entries or selection.depth is not None):
        message = f"{others[0]} has no entries: --name, --tag, --die and --depth select entries"
        raise UsageError(message, hint="leave them out, or leave out --section")
    return replace(selection, sections=chosen)


class _Writer:
    """Writes items as they come, or, for one JSON document, when all are there."""

    def __init__(self, session: Session, file: CodeObject) -> None:
        self.session = session
        self.file = file
        self.units: list[dict[str, Any]] = []
        self.sections: list[dict[str, Any]] = []
        self._is_first = True

    def entries(self, selection: Selection, dialect: str | None) -> None:
        from dwarfgpu.program.dump.entries import EntryDump, ShownUnit
        from dwarfgpu.render import entries as render

        session = self.session
        for item in EntryDump(self.file, selection, dialect):
            if isinstance(item, ShownUnit):
                if session.as_lines:
                    session.print_json({"file": self.file.name, "unit": render.unit_json(item)})
                elif session.as_json:
                    self.units.append({**render.unit_json(item), "entries": []})
                else:
                    self._text(iter(render.unit_text(item, session.style)))
            elif session.as_lines:
                session.print_json({"file": self.file.name, "entry": render.entry_json(item)})
            elif session.as_json:
                self.units[-1]["entries"].append(render.entry_json(item))
            else:
                for line in render.entry_text(item, session.style):
                    session.print(line)

    def section(self, name: str, parts: Iterator[Any]) -> None:
        from dwarfgpu.render import parts as render

        session = self.session
        document: dict[str, Any] = {"section": name, "parts": []}
        self.sections.append(document)
        for part in parts:
            if session.as_lines:
                session.print_json({"file": self.file.name, "part": render.part_json(part)})
            elif session.as_json:
                document["parts"].append(render.part_json(part))
            else:
                self._text(render.part_text(part, session.style))

    def frames(self, name: str, entries: Iterator[Any]) -> None:
        from dwarfgpu.program.files.frame_lookup import code_name
        from dwarfgpu.render import frames as render

        session, frames = self.session, self.file.frames
        document: dict[str, Any] = {"section": name, "parts": []}
        self.sections.append(document)
        for found in entries:
            symbol = code_name(self.file, found.entry)
            if not session.wants_json:
                self._text(iter(render.listed_text(found, frames, session.style, name=symbol)))
                continue
            part = render.listed_json(found, frames, name=symbol)
            if session.as_lines:
                session.print_json({"file": self.file.name, "part": part})
            else:
                document["parts"].append(part)

    def _text(self, lines: Iterator[str]) -> None:
        """Lines below those that are there, with an empty one between."""
        if not self._is_first:
            self.session.print()
        self._is_first = False
        for line in lines:
            self.session.print(line)

    def close(self) -> None:
        if self.session.as_json:
            document = {"file": self.file.name, "units": self.units, "sections": self.sections}
            self.session.print_json(document)


COMMANDS = {
    "dump": Command(
        "dump",
        "show the entries of the debugging information, and its other sections",
        "Show debugging information entries with what their values mean: expressions\n"
        "disassembled, registers by name, location lists, ranges, references, files.\n"
        "--name, --tag, --die and --pc select entries, each with all that is below it;\n"
        "several of them narrow the selection.\n\n"
        "With --section: what another section holds, such as line, loclists, rnglists,\n"
        "frame, eh_frame, names, aranges, addr, str_offsets, abbrev, str. --section all\n"
        "shows the entries and all sections.",
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
