"""``dwarfgpu dump``: all that a file says, or the part of it that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.files import FILE, open_file, report_problems
from dwarfgpu.cli.registry import Command, argument

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def _dump(session: Session, options: Any) -> int:
    from dwarfgpu.program import codelookup
    from dwarfgpu.program.dump import entries
    from dwarfgpu.render import entries as render

    file = open_file(options.file, options.attributes)
    selection = entries.Selection(
        tuple(options.name or ()),
        frozenset(map(entries.tag_number, options.tag or ())),
        tuple(options.die or ()),
        None if options.pc is None else codelookup.parse_address(file, options.pc),
        options.depth,
    )
    dump = entries.EntryDump(file, selection, options.dialect)
    documents: list[dict[str, Any]] = []
    for item in dump:
        if isinstance(item, entries.ShownUnit):
            if session.as_lines:
                session.print_json({"unit": render.unit_json(item)})
            elif session.as_json:
                documents.append({**render.unit_json(item), "entries": []})
            else:
                if documents:
                    session.print()
                documents.append({})
                for line in render.unit_text(item, session.style):
                    session.print(line)
        elif session.as_lines:
            session.print_json(render.entry_json(item))
        elif session.as_json:
            documents[-1]["entries"].append(render.entry_json(item))
        else:
            for line in render.entry_text(item, session.style):
                session.print(line)
    if session.as_json:
        session.print_json({"file": file.name, "units": documents})
    return report_problems(session, file.problems)


COMMANDS = {
    "dump": Command(
        "dump",
        "show the entries of the debugging information, and other sections",
        "Show debugging information entries with what their values mean: expressions disassembled, registers by name,\n"
        "location lists, ranges, references and files.\n",
        (
            FILE,
            argument("--name", metavar="NAME", action="append", help="entries with a name, as f or ns::f"),
            argument(
                "--tag",
                metavar="TAG",
                action="append",
                help="entries with a tag, as DW_TAG_variable or variable",
            ),
            argument(
                "--die", metavar="OFFSET", action="append", help="the entry at 0x2a, or at .debug_types+0x2a"
            ),
            argument("--pc", metavar="ADDR", help="the function at an address, and what is valid there"),
            argument("--depth", type=int, metavar="N", help="how many levels below an entry are shown (all)"),
            argument("--dialect", metavar="D", help="the dialect of expressions (that of the target)"),
            argument(
                "--attributes",
                metavar="D",
                help="how the numbers of LLVM's attributes are read: llvm-current or llvm-old (by producer)",
            ),
        ),
        _dump,
        ("dwarfgpu dump k.co --name f",),
    )
}
