"""``dwarfgpu disasm``, ``asm`` and ``verify``: expressions by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.evaluate import ENCODING, encoding_keys, hex_digits
from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, read_input
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.program.expressions import Setting


def _setting(options: Any) -> Setting:
    from dwarfgpu.program import expressions

    return expressions.setting(
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
    from dwarfgpu.program import expressions

    where = _setting(options)
    data = bytes.fromhex(hex_digits(_source(options.bytes, "some bytes in hex")))
    expression = expressions.read_bytes(data, where)
    lines = expressions.lines(expression, where)
    if session.wants_json:
        _disasm_json(session, where, lines, expression.fault)
    else:
        width = max((len(line.text) for line in lines), default=0)
        for line in lines:
            session.print(_line_text(session, line, min(width, 40)))
    if expression.fault is not None:
        return session.report(expression.fault)
    return OK


def _line_text(session: Session, line: Any, width: int) -> str:
    name = session.style("name", line.name)
    text = f"{name} {line.operands}" if line.operands else name
    shown = line.bytes[:8].hex(" ") + (" .." if len(line.bytes) > 8 else "")
    note = " " * (width - len(line.text)) + "  " + session.style("dim", f"# {line.note}") if line.note else ""
    return f"{line.offset:#06x}  {shown:26}  {text}{note}".rstrip()


def _disasm_json(session: Session, where: Setting, lines: list[Any], fault: Any) -> None:
    documents = [
        {
            "offset": line.offset,
            "bytes": line.bytes.hex(),
            "operation": line.name,
            "operands": line.operands,
            "note": line.note,
        }
        for line in lines
    ]
    if session.as_lines:
        for document in documents:
            session.print_json(document)
        return
    status = {"status": "ok"} if fault is None else {"status": "error", "kind": fault.kind}
    session.print_json({"dialect": where.dialect.name, **status, "operations": documents})


# --- asm ----------------------------------------------------------------------------------------------------------


def _asm(session: Session, options: Any) -> int:
    from dwarfgpu.program import expressions

    where = _setting(options)
    data = expressions.assemble(_source(options.text, "an expression as text"), where)
    if session.wants_json:
        session.print_json({"dialect": where.dialect.name, "bytes": data.hex(), "size": len(data)})
    else:
        session.print(data.hex())
    return OK


# --- verify -------------------------------------------------------------------------------------------------------


def _verify(session: Session, options: Any) -> int:
    from dwarfgpu.program import expressions

    if (options.ops is None) == (options.hex is None):
        message = "exactly one of --ops and --hex is needed"
        raise UsageError(message)
    where = _setting(options)
    if options.ops is not None:
        expression = expressions.read_text(options.ops, where)
    else:
        expression = expressions.read_bytes(bytes.fromhex(hex_digits(options.hex)), where)
    found = expressions.findings(
        expression, where, in_cfi=options.cfi, depth=options.depth, want=options.want
    )
    documents = [
        {
            "severity": one.severity,
            "kind": one.kind,
            "message": one.message,
            "offset": one.offset,
            "operation": one.operation,
            "spec": one.spec,
        }
        for one in found
    ]
    if session.as_lines:
        for document in documents:
            session.print_json(document)
    elif session.as_json:
        session.print_json({"dialect": where.dialect.name, "rules": where.rules.name, "findings": documents})
    else:
        for one in found:
            severity = session.style("error" if one.severity == "error" else "number", f"{one.severity}:")
            clause = f" [{one.spec}]" if one.spec else ""
            session.print(f"{one.offset:#06x}  {severity} {one.message}{clause}")
        if not found:
            session.print("no findings")
    return NO_ANSWER if found else OK


_RULES = argument("--rules", metavar="R", help="dwarf5, amd or dwarf6 (those of the target)")

COMMANDS = {
    "disasm": Command(
        "disasm",
        "list the operations of an expression",
        "List the operations of an expression: offset, bytes, operation, and where a branch goes.",
        (argument("bytes", nargs="*", metavar="BYTES", help="in hex; - reads standard input"), *ENCODING),
        _disasm,
        ("dwarfgpu disasm 31 23 04", "dwarfgpu disasm --target amdgcn-gfx90a 90840ae903 34 1e e904"),
    ),
    "asm": Command(
        "asm",
        "assemble an expression to bytes",
        "Assemble operations, separated by semicolons or lines, to bytes.",
        (argument("text", nargs="*", metavar="TEXT", help="operations; - reads standard input"), *ENCODING),
        _asm,
        (
            'dwarfgpu asm "again: DW_OP_dup; DW_OP_bra @again"',
            'dwarfgpu asm --dialect llvm-user "DW_OP_LLVM_undefined"',
        ),
    ),
    "verify": Command(
        "verify",
        "check an expression without evaluating it",
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
