"""``dwarfgpu ops``: the reference of the operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import OK
from dwarfgpu.dialects import operation_reference
from dwarfgpu.render import operations as render
from dwarfgpu.render.layout import paragraphs

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def _ops(session: Session, options: Any) -> int:
    if options.name:
        found = [one for name in options.name for one in operation_reference.find(name)]
    else:
        found = [
            one for one in operation_reference.references() if not operation_reference.is_repeated(one.name)
        ]
    if options.name:
        text = paragraphs(render.paragraph(one, session.style) for one in found)
    else:
        text = render.overview(found, session.style)
    session.print_rows({"operations": map(render.document, found)}, "operations", text)
    return OK


COMMANDS = {
    "ops": Command(
        "Show what operations do: operands, stack effect, clause, context, encodings. Without a name, list them all.",
        (argument("name", nargs="*", metavar="NAME", help="a name, with or without DW_OP_, or part of one"),),
        _ops,
        ("dwarfgpu ops DW_OP_LLVM_select_bit_piece", "dwarfgpu ops offset", "dwarfgpu ops --json"),
    )
}
