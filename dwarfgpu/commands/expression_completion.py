"""What an expression that is typed can go on with: variables, members, registers, names of the program, spaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.commands.completion import Candidate, registers
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.model import Pointer, Qualified, Struct, Typedef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.commands.completion import Found
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.program.types.model import Type

_VARIABLE = re.compile(r"\$(\w*)$")
_MEMBER = re.compile(r"(->|\.\*?)\s*(\w*)$")
_NAME = re.compile(r"(?:\w|::)*$")
_NUMBERED = re.compile(r"\d$")
_BRACKETS = {")": "(", "]": "["}
_KINDS = ("variable", "function", "type", "namespace")
_OPERATORS = ("sizeof", "alignof")
MAX_DEPTH = 20
"""Classes that inherit from each other, and pointers to pointers, deeper than this show no more members."""


def complete_expression(debugger: Debugger, line: str, at: int) -> Found:
    """What the end of an expression can become."""
    text = line[at:]
    match = _VARIABLE.search(text)
    if match is not None:
        return at + match.start(), _variables(debugger, match.group(1))
    match = _MEMBER.search(text)
    if match is not None and match.start():
        base = operand_before(text, match.start())
        if base.isdecimal():
            return len(line), ()
        if base:
            return at + match.start(2), _members_of(debugger, base, match.group(2))
    match = _NAME.search(text)
    assert match is not None  # noqa: S101 (it matches the empty text)
    return at + match.start(), _names(debugger, match.group())


def _variables(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    """Convenience variables and registers."""
    from dwarfgpu.commands.convenience import names

    for name in names(debugger):
        if name.startswith(letters):
            yield Candidate(f"${name}", "convenience variable")
    yield from registers(debugger, letters, "$")


def _names(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    frame = debugger.frame
    for variable in frame.variables():
        if variable.name.startswith(letters) and not variable.is_shadowed:
            yield Candidate(variable.name, variable.kind)
    is_plain = not _NUMBERED.search(letters)  # of the spaces of single lanes only when somebody counts
    for space in frame.target.spaces():
        if letters and space.name.startswith(letters) and not (_NUMBERED.search(space.name) and is_plain):
            yield Candidate(f"{space.name}#", "address space")
    scope, colons, last = letters.rpartition("::")
    most = debugger.settings["max-completions"]
    for name, kind in debugger.known_names.starting(last, _KINDS, most):
        yield Candidate(f"{scope}{colons}{name}", kind)
    for name in _OPERATORS:
        if letters and name.startswith(letters):
            yield Candidate(name, "operator")


def operand_before(text: str, end: int) -> str:
    """The operand that ends where a member operator begins: ``a->b[1]`` of ``2 * a->b[1]``."""
    start = end
    while True:
        while start and text[start - 1].isspace():
            start -= 1
        if start and text[start - 1] in _BRACKETS:
            start = _opening(text, start - 1)
            if start and (text[start - 1].isalnum() or text[start - 1] in "_])"):
                continue
        else:
            word = re.search(r"[\w$:]*$", text[:start])
            assert word is not None  # noqa: S101 (it matches the empty text)
            start = word.start()
        before = text[:start].rstrip()
        if before.endswith("->"):
            start = len(before) - 2
        elif before.endswith("."):
            start = len(before) - 1
        else:
            return text[start:end].strip()


def _opening(text: str, place: int) -> int:
    """Where the bracket opens that closes at a place; the beginning if it does not."""
    depth = 0
    for position in range(place, -1, -1):
        depth += (text[position] in ")]") - (text[position] in "([")
        if not depth:
            return position
    return 0


def _members_of(debugger: Debugger, base: str, letters: str) -> Iterator[Candidate]:
    kind: Type = debugger.frame.expression(base).type
    for name in dict.fromkeys(_members(kind)):
        if name.startswith(letters):
            yield Candidate(name, "member")


def _members(kind: Type, depth: int = 0) -> Iterator[str]:
    """The names of the members of a type, or of what it points to; those of base classes behind its own."""
    while isinstance(kind, (Pointer, Qualified, Typedef)):
        depth += 1
        if depth > MAX_DEPTH:
            return
        kind = kind.target
    if not isinstance(kind, Struct) or depth > MAX_DEPTH:
        return
    try:
        body = kind.body
        for member in (
            *body.members,
            *(
                member
                for part in body.variant_parts
                for variant in part.variants
                for member in variant.members
            ),
        ):
            if member.name:
                yield member.name
            else:
                yield from _members(member.type, depth + 1)
        yield from (member.name for member in body.statics)
        for base in body.bases:
            yield from _members(base.type, depth + 1)
    except DwarfGpuError:  # what can be read of it is offered
        return
