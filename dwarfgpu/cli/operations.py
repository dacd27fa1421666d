"""``dwarfgpu ops``: the reference of the operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import OK
from dwarfgpu.program import reference
from dwarfgpu.render import reference as render

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def _ops(session: Session, options: Any) -> int:
    if options.name:
        found = [one for name in options.name for one in reference.find(name)]
    else:
        found = [one for one in reference.references() if not reference.is_repeated(one.name)]
    if session.as_lines:
        for one in found:
            session.print_json(render.document(one))
    elif session.as_json:
        session.print_json({"operations": [render.document(one) for one in found]})
    elif options.name:
        for number, one in enumerate(found):
            first, *rest = render.paragraph(one)
            if number:
                session.print()
            session.print(session.style("name", first))
            for line in rest:
                session.print(line)
    else:
        _list(session, found)
    return OK


def _list(session: Session, found: list[reference.Reference]) -> None:
    section = None
    for one in found:
        if one.section != section:
            if section is not None:
                session.print()
            section = one.section
            session.print(session.style("name", section))
        session.print(f"  {render.line(one)}")


COMMANDS = {
    "ops": Command(
        "ops",
        "the reference of all operations",
        "Show what operations do: operands, stack effect, clause, context, encodings. Without a name, list them all.",
        (argument("name", nargs="*", metavar="NAME", help="a name, with or without DW_OP_, or part of one"),),
        _ops,
        ("dwarfgpu ops DW_OP_LLVM_select_bit_piece", "dwarfgpu ops offset", "dwarfgpu ops --json"),
    )
}
