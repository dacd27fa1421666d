#!/usr/bin/env python3
"""Answer a file of cases: questions to the evaluator as JSON objects, one per line, as test suites write them.

    python3 tools/cases.py eval --cases FILE     evaluate expressions
    python3 tools/cases.py cfi --cases FILE      read call frame information
    python3 tools/cases.py lists --cases FILE    read location lists

`-` is standard input. The answers are JSON objects, one per line, in order. The exit status is 3 if a line is not a
case; the message names the line. tests/builders/cases.py writes the tables of tests with the same functions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from attrs import evolve, frozen

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from cases_context import KEYS as CONTEXT_KEYS  # noqa: E402
from cases_context import CaseExpressions, context_of  # noqa: E402
from cases_json import type_of  # noqa: E402
from cases_sections import run_frame_case, run_list_case  # noqa: E402

from dwarfgpu import budget, dialects  # noqa: E402
from dwarfgpu.cli.session import MAX_REPORTED, Session  # noqa: E402
from dwarfgpu.encoding import Format  # noqa: E402
from dwarfgpu.errors import DwarfGpuError, UsageError  # noqa: E402
from dwarfgpu.expr.context import Limits  # noqa: E402
from dwarfgpu.expr.question import ExpressionQuestion, Read  # noqa: E402
from dwarfgpu.expr.rules import PRESETS  # noqa: E402
from dwarfgpu.program.code.encoding_context import EncodingContext  # noqa: E402
from dwarfgpu.questions.document import BAD_FILE, OK  # noqa: E402
from dwarfgpu.regular_files import open_input, unreadable  # noqa: E402
from dwarfgpu.strict_json import Node, NotACase, parse  # noqa: E402
from dwarfgpu.targets.resolve import resolve, with_spaces  # noqa: E402

if TYPE_CHECKING:
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.targets.target import Target


KEYS = (
    *("id", "expr", "ops", "target", "dialect", "rules", "address_size", "byte_order", "offset_size"),
    *("dwarf_version", "want", "lanes", "read", "write", "stack", "limits", "context"),
)


@frozen
class Case:
    """A case: the question that it asks, and its name."""

    id: Any
    question: ExpressionQuestion


def parse_case(value: object, line: int) -> Case:
    """Parse the case in a JSON value; raise `NotACase` if it is no case."""
    try:
        return _parse(Node(value), line)
    except RecursionError:
        raise NotACase("", "it is nested too deeply") from None


def _parse(node: Node, line: int) -> Case:
    fields = node.fields((), KEYS)
    if ("expr" in fields) == ("ops" in fields):
        raise NotACase("", "exactly one of `expr` and `ops` is needed")
    expressions = CaseExpressions(_setting(fields))
    limits = _limits(fields.get("limits"))
    want: Any = fields["want"].choice(("any", "value", "location")) if "want" in fields else "any"
    has_bytes = "expr" in fields
    expression = expressions.decoded(fields["expr"]) if has_bytes else expressions.assembled(fields["ops"])
    read = _read(fields["read"], expressions) if "read" in fields else None
    context, lanes = context_of(fields.get("context"), fields.get("lanes"), expressions)
    context = evolve(context, limits=limits, result_kind=None if want == "any" else want)
    question = ExpressionQuestion(
        expression,
        context,
        lanes=lanes,
        read=read,
        write=fields["write"].bytes() if "write" in fields else None,
        stack=fields["stack"].boolean() if "stack" in fields else False,
        problem=expressions.problem,
    )
    return Case(fields["id"].value if "id" in fields else line, question)


def _setting(fields: dict[str, Node]) -> EncodingContext:
    target = _target(fields)
    dialect_name = fields["dialect"].string() if "dialect" in fields else target.default_dialect
    rules_name = fields["rules"].choice(PRESETS) if "rules" in fields else target.default_rules
    offset_size = fields["offset_size"].unsigned() if "offset_size" in fields else 4
    if offset_size not in (4, 8):
        raise fields["offset_size"].fail(f"an offset has 4 or 8 bytes, not {offset_size}")
    version = fields["dwarf_version"].unsigned() if "dwarf_version" in fields else 5
    if not 2 <= version <= 6:
        raise fields["dwarf_version"].fail(f"there is no DWARF {version} here, only 2 to 6")
    form = Format(target.address_size, offset_size, target.byte_order, version)
    return EncodingContext(target, _dialect(fields.get("dialect"), dialect_name), form, PRESETS[rules_name])


def _target(fields: dict[str, Node]) -> Target:
    size = fields["address_size"].unsigned() if "address_size" in fields else None
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    name = fields["target"].string() if "target" in fields else "generic"
    try:
        target = resolve(name, byte_order=order, address_size=size)
    except UsageError as error:
        key = "target" if "target" in fields else "address_size"
        raise fields[key].fail(error.message, hint=error.hint) from error
    spaces = fields["context"].fields((), CONTEXT_KEYS).get("spaces") if "context" in fields else None
    return target if spaces is None else with_spaces(target, spaces)


def _dialect(node: Node | None, name: str) -> Dialect:
    try:
        return dialects.get(name)
    except UsageError as error:
        raise NotACase("dialect" if node is None else node.path, error.message, hint=error.hint) from error


def _limits(node: Node | None) -> Limits:
    limits = Limits()
    if node is None:
        return limits
    fields = node.fields((), ("steps", "stack", "nesting"))
    return evolve(limits, **{name: field.unsigned(63) for name, field in fields.items()})


def _read(node: Node, expressions: CaseExpressions) -> Read:
    fields = node.fields((), ("bytes", "type", "offset"))
    if ("bytes" in fields) == ("type" in fields):
        raise node.fail("exactly one of `bytes` and `type` is needed")
    offset = fields["offset"].signed(64) if "offset" in fields else 0
    if "bytes" in fields:
        return Read(fields["bytes"].unsigned(63), None, offset)
    make = type_of(fields["type"], expressions.setting.target)
    with expressions.noting():  # an ill-formed type
        return Read(0, make(), offset)
    return Read()


# --- Cases in -----------------------------------------------------------------------------------------------------
# What is wrong with the *form* of a case is a `NotACase`. What is wrong with the expression that it holds,
# or what has no answer in the context that it describes, is part of the answer.


def parse_line(line: str, number: int) -> object:
    """Parse the JSON value in a line; raise `NotACase` if there is none."""
    try:
        return parse(line)
    except NotACase as error:
        raise error.in_line(number) from None


def run_case(value: object, line: int) -> dict[str, Any]:
    """Return the answer to one case. ``line`` is its number, which it has as ``id`` if it names none."""
    try:
        case = parse_case(value, line)
    except NotACase as error:
        raise error.in_line(line) from None
    question = case.question
    return {"id": case.id, **question.json(question.answer(), {})}


# --- The command --------------------------------------------------------------------------------------------------

ANSWERED = {"eval": run_case, "cfi": run_frame_case, "lists": run_list_case}
"""What a case is about, and the function that answers it."""
MAX_LINE = 1 << 26
"""The most bytes that a line of a file may have."""


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for ``-``, each as soon as it can be read."""
    try:
        if path == "-":
            yield from _decoded(sys.stdin.buffer, path)
            return
        with open_input(path) as file:
            yield from _decoded(file, path)
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None


def _decoded(stream: IO[bytes], path: str) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            raise unreadable(path, f"line {number} has more than {MAX_LINE} bytes")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise unreadable(path, f"line {number} is not UTF-8 text ({error.reason})") from None


def answer_cases(session: Session, path: str, run: Callable[[object, int], dict[str, Any]]) -> int:
    """Answer every case of a file in order, and report lines that are not cases."""
    bad = 0
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip():
            continue
        try:
            with budget.question(budget.DEFAULT):
                session.out.write(f"{json.dumps(run(parse_line(line, number), number))}\n")
        except NotACase as error:
            bad += 1
            if bad <= MAX_REPORTED:
                session.report(error, path)
        session.out.flush()  # a program may wait for the answer before it writes the next case
    if bad > MAX_REPORTED:
        session.err.write(f"dwarfgpu: error: {path}: and {bad - MAX_REPORTED} more lines that are not cases\n")
    return BAD_FILE if bad else OK


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("about", choices=ANSWERED, help="what the cases are about")
    parser.add_argument("--cases", metavar="FILE", required=True, help="a case per line; - for standard input")
    options = parser.parse_args()
    session = Session()
    try:
        return answer_cases(session, options.cases, ANSWERED[options.about])
    except DwarfGpuError as error:
        return session.report(error)


if __name__ == "__main__":
    raise SystemExit(main())
