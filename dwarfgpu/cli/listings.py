"""``dwarfgpu disasm``, ``asm`` and ``verify``: expressions by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.evaluate import ENCODING, encoding_keys, hex_digits
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, read_input
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.code.encoding_context import EncodingContext


def _setting(options: Any) -> EncodingContext:
    from dwarfgpu.program.code import encoding_context

    return encoding_context.setting(
        options.target or "generic",
        options.dialect,
        getattr(options, "rules", None),
        **encoding_keys(options),
    )


def _source(words: list[str], what: str) -> str:
    """The words of a command line, or standard input for ``-``."""
    text = " ".join(words)
    if text == "-":
        return read_input("-")
    if not text.strip():
        message = f"{what} must be given"
        raise UsageError(message, hint="`-` reads it from standard input")
    return text


# --- disasm -------------------------------------------------------------------------------------------------------


def _disasm(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import encoding_context
    from dwarfgpu.render import operations as render

    where = _setting(options)
    data = bytes.fromhex(hex_digits(_source(options.bytes, "some bytes in hex")))
    expression = where.decoded(data)
    lines = encoding_context.lines(expression, where)
    fault = expression.fault
    status = {"status": "ok"} if fault is None else {"status": "error", "kind": fault.kind}
    document = {"dialect": where.dialect.name, **status, "operations": map(render.line_json, lines)}
    session.print_rows(document, "operations", render.lines_text(lines, session.style))
    return OK if fault is None else session.report(fault)


# --- asm ----------------------------------------------------------------------------------------------------------


def _asm(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import encoding_context

    where = _setting(options)
    data = encoding_context.assemble(_source(options.text, "an expression as text"), where)
    if session.wants_json:
        session.print_json({"dialect": where.dialect.name, "bytes": data.hex(), "size": len(data)})
    else:
        session.print(data.hex())
    return OK


# --- verify -------------------------------------------------------------------------------------------------------


def _verify(session: Session, options: Any) -> int:
    from dwarfgpu.program.code import encoding_context
    from dwarfgpu.render import operations as render
    from dwarfgpu.render.layout import plain

    if (options.ops is None) == (options.hex is None):
        message = "exactly one of --ops and --hex is needed"
        raise UsageError(message)
    where = _setting(options)
    if options.ops is not None:
        expression = where.parsed(options.ops)
    else:
        expression = where.decoded(bytes.fromhex(hex_digits(options.hex)))
    found = encoding_context.findings(
        expression, where, in_cfi=options.cfi, depth=options.depth, want=options.want
    )
    document = {
        "dialect": where.dialect.name,
        "rules": where.rules.name,
        "findings": map(plain, found),
    }
    session.print_rows(document, "findings", render.findings_text(found, session.style))
    return NO_ANSWER if found else OK


_RULES = argument("--rules", metavar="R", help="dwarf5, amd or dwarf6 (those of the target)")

COMMANDS = {
    "disasm": Command(
        "List the operations of an expression: offset, bytes, operation, and where a branch goes.",
        (argument("bytes", nargs="*", metavar="BYTES", help="in hex; - reads standard input"), *ENCODING),
        _disasm,
        ("dwarfgpu disasm 31 23 04", "dwarfgpu disasm --target amdgcn-gfx90a 90840ae903 34 1e e904"),
    ),
    "asm": Command(
        "Assemble operations, separated by semicolons or lines, to bytes.",
        (argument("text", nargs="*", metavar="TEXT", help="operations; - reads standard input"), *ENCODING),
        _asm,
        (
            'dwarfgpu asm "again: DW_OP_dup; DW_OP_bra @again"',
            'dwarfgpu asm --dialect llvm-user "DW_OP_LLVM_undefined"',
        ),
    ),
    "verify": Command(
        "Check branch targets, stack depth and kinds over every path, operands, and what call frame information\n"
        "forbids. The exit status is 1 when there are findings.",
        (
            argument("--ops", metavar="TEXT", help="the operations"),
            argument("--hex", metavar="BYTES", help="the bytes of the expression"),
            argument("--cfi", action="store_true", help="as an operand of call frame information"),
            argument(
                "--depth", type=int, default=0, metavar="N", help="entries on the stack at the start (0)"
            ),
            argument("--want", choices=("value", "location"), help="the kind the result must have"),
            _RULES,
            *ENCODING,
        ),
        _verify,
        ('dwarfgpu verify --ops "DW_OP_lit1; DW_OP_plus"', "dwarfgpu verify --cfi --hex 9c"),
    ),
}
