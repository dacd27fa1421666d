"""What a line that is typed can go on with: commands, options, settings, and what the operands of a command are."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.types.model import Pointer, Qualified, Struct, Type, Typedef
from dwarfgpu.questions.control import LAYOUTS
from dwarfgpu.questions.debugger import Debugger, names
from dwarfgpu.questions.registry import WORD, Arguments, Command
from dwarfgpu.questions.settings import SECTIONS
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Found: TypeAlias = "tuple[int, Iterable[Candidate]]"
    """Where the text begins that a candidate replaces, and the candidates."""
    Complete: TypeAlias = Callable[[Debugger, str, int], Found]


_LIST = re.compile(r"(?:-\w+\s+)*(?:all\s+|[\d,\s-]*\d\s+)(?:-\w+\s+)*")
_LAST_WORD = re.compile(r"\S*$")
_IF = re.compile(r"(?<!\S)if\s+")
CAUGHT = ("fault", "trap")
"""What `catch` gives a number to."""
_REPAIRS = ("auto", "all", "off")
_LANES = ("active", "all")


@frozen
class Candidate:
    """What a word can become."""

    text: str
    meta: str = ""
    """What that is, in a few words."""


def complete(debugger: Debugger, line: str) -> tuple[int, list[Candidate]]:
    """Return what a line, up to the cursor, can go on with: where the text begins that is replaced, and with what."""
    most = debugger.settings["max-completions"]
    try:
        start, found = _command(debugger, line, _past_blanks(line, 0), "")
        unique: dict[str, Candidate] = {}
        for candidate in islice(found, 4 * most):
            unique.setdefault(candidate.text, candidate)
        return start, list(unique.values())[:most]
    except DwarfGpuError:  # what is typed is not complete, so it may well be wrong
        return len(line), []


def show_completions(debugger: Debugger, arguments: Arguments) -> None:
    start, found = complete(debugger, arguments.text)
    for text in sorted(arguments.text[:start] + candidate.text for candidate in found):
        debugger.output.line(shown(text))


# --- Commands -------------------------------------------------------------------------------------------------------


def _command(debugger: Debugger, line: str, at: int, prefix: str) -> Found:
    registry = debugger.registry
    match = WORD.match(line, at)
    end = at if match is None else match.end()
    if end == len(line):
        return at, _commands(debugger, line[at:], prefix)
    if match is None:
        return end, ()
    command, _rest = registry.find(f"{prefix} {match.group()}".lstrip())
    if command.name == prefix:
        raise UsageError(f"{match.group()} is no further word of {prefix}")
    after = _past_blanks(line, end)
    if not registry.is_prefix(command.name) or after == end:
        return _operands(debugger, command, line, end)
    if not command.run:
        return _command(debugger, line, after, command.name)
    try:
        start, inner = _command(debugger, line, after, command.name)
    except UsageError:  # no further word of the name
        return _operands(debugger, command, line, end)
    if start == after:
        own_start, own = _operands(debugger, command, line, end)
        return start, (*inner, *_found(own)) if own_start == start else inner
    return start, inner


def _found(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    with suppress(DwarfGpuError):
        yield from candidates


def _commands(debugger: Debugger, letters: str, prefix: str = "") -> Iterator[Candidate]:
    """Names of commands; what else they are called where the name itself begins otherwise."""
    meant = {name: each for name, each in debugger.registry.names(prefix).items() if name.startswith(letters)}
    in_full = {each.name for name, each in meant.items() if f"{prefix} {name}".lstrip() == each.name}
    for name, command in meant.items():
        if f"{prefix} {name}".lstrip() == command.name or command.name not in in_full:
            yield Candidate(name, command.summary)


def _operands(debugger: Debugger, command: Command, line: str, at: int) -> Found:
    if line[at : at + 1] == "/":
        at = line.find(" ", at)
        if at < 0:
            return len(line), ()
    options = {option.flag: option for option in command.options}
    while True:
        at = _past_blanks(line, at)
        word = line[at:].split(" ", 1)[0]
        if not word.startswith("-") or not options:
            break
        end = at + len(word)
        if end == len(line):
            return at, [Candidate(flag, one.help) for flag, one in options.items() if flag.startswith(word)]
        at = end
        option = options.get(word)
        if option is not None and option.metavar is not None:
            at = _past_blanks(line, at)
            value = line[at:].split(" ", 1)[0]
            if at + len(value) == len(line):
                words = {"LIST": _LANES, "R": _REPAIRS}.get(option.metavar, ())
                return at, _starting(words, value)
            at += len(value)
    if command.completes == "command" and command.operands.startswith("LIST"):
        match = _LIST.match(line, at)
        if match is None:
            return at, [Candidate("all")] if "all".startswith(line[at:]) else ()
        at = match.end()
    kind = KINDS.get(command.completes)
    return (len(line), ()) if kind is None else kind(debugger, line, at)


# --- What operands are ----------------------------------------------------------------------------------------------


def _alias(debugger: Debugger, line: str, at: int) -> Found:
    equals = line.find("=", at)
    if equals < 0:
        return len(line), ()
    return _command(debugger, line, _past_blanks(line, equals + 1), "")


def _starting(words: Iterable[str], letters: str, meta: str = "") -> list[Candidate]:
    return [Candidate(word, meta) for word in words if word.startswith(letters)]


def _last(offered: Callable[[Debugger, str], Iterable[Candidate]]) -> Complete:
    """Return what completes the last word; candidates that begin otherwise are left out."""

    def found(debugger: Debugger, line: str, at: int) -> Found:
        start = _last_word(line, at)
        letters = line[start:]
        return start, (each for each in offered(debugger, letters) if each.text.startswith(letters))

    return found


def _words(words: Iterable[str]) -> Complete:
    """Return what completes one of some words."""
    return _last(lambda _debugger, letters: _starting(words, letters))


def _setting(debugger: Debugger, line: str, at: int) -> Found:
    """Return the name of a setting, its value, or an expression that is assigned to."""
    text = line[at:]
    for name, setting in debugger.settings.declared.items():
        if text.startswith(f"{name} "):
            start = _last_word(line, at + len(name) + 1)
            values = setting.choices or (("on", "off") if isinstance(setting.default, bool) else ())
            if setting.unlimited:
                values = (*values, "unlimited")
            if setting.automatic:
                values = (*values, "auto")
            return start, _starting(values, line[start:])
    start, names = _shown(debugger, line, at)
    found = list(names)
    return (start, found) if found else _expression(debugger, line, at)


def _shown(debugger: Debugger, line: str, at: int) -> Found:
    known = debugger.settings.declared.items()
    return at, [Candidate(name, setting.help) for name, setting in known if name.startswith(line[at:])]


def _path(_debugger: Debugger, line: str, at: int) -> Found:
    start = _last_word(line, at)
    folder, slash, letters = line[start:].rpartition("/")
    place = os.path.expanduser(f"{folder}{slash}" or ".")
    found = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(letters) and (letters or not entry.name.startswith(".")):
                    is_folder = entry.is_dir()
                    found.append(Candidate(f"{entry.name}/" if is_folder else entry.name))
    except (OSError, ValueError):
        return len(line), ()
    return len(line) - len(letters), sorted(found, key=lambda each: each.text)


def _registers(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    """Yield the registers of the target, with a sign before their names if one is typed."""
    sign = "$" if letters.startswith("$") else ""
    for name in ("pc", "sp", "fp", *(register.name for register in debugger.frame.target.registers())):
        yield Candidate(f"{sign}{name}", "register")


def _kernels(debugger: Debugger, letters: str) -> list[Candidate]:
    file = debugger.opened.file
    listed = dict.fromkeys((*file.kernel_names(), *(kernel.name for kernel in file.kernels.kernels)))
    return _starting(listed, letters, "kernel")


_kernel = _last(_kernels)


def _launch(sizes: int) -> Complete:
    """Return what completes a kernel, so many sizes behind it, and then arguments by their names."""

    def found(debugger: Debugger, line: str, at: int) -> Found:
        words = line[at:].split()
        start = _last_word(line, at)
        before = words if start == len(line) else words[:-1]
        if not before:
            return _kernel(debugger, line, at)
        if len(before) <= sizes:
            return len(line), ()
        from dwarfgpu.program.code.kernel_parameters import DescribedKernel, explicit_arguments

        file = debugger.opened.file
        kernel = DescribedKernel(file, file.kernels_named([before[0]])[0]).kernel
        names = [argument.name for argument in explicit_arguments(kernel)]
        given = {word.partition("=")[0] for word in before}
        return start, [
            Candidate(f"{name}=", "argument")
            for name in names
            if name and name not in given and name.startswith(line[start:])
        ]

    return found


def _waves(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    for number, name in enumerate(debugger.machine.stopped.machine.ids, 1):
        if str(number).startswith(letters):
            yield Candidate(str(number), name)
        else:
            yield Candidate(name, f"wave {number}")


def _lanes(debugger: Debugger, _letters: str) -> list[Candidate]:
    if debugger.lane is None:
        return []
    mask = debugger.wave.frame(0).active_mask or 0
    lanes = range(debugger.wave.state.target.lane_count)
    return [Candidate(str(lane), "active" if mask >> lane & 1 else "inactive") for lane in lanes]


def _names(*kinds: str, files: bool = False) -> Complete:
    """Return what completes names of the program of some kinds, and of its source files."""

    def names(debugger: Debugger, letters: str) -> list[Candidate]:
        known = debugger.known_names
        most = debugger.settings["max-completions"]
        candidates = [Candidate(name, kind) for name, kind in known.starting(letters, kinds, most)]
        return candidates + [Candidate(f"{name}:", "file") for name in (known.files(letters) if files else ())]

    return _last(names)


def _stop(debugger: Debugger, line: str, at: int) -> Found:
    match = _IF.search(line, at)
    if match is not None:
        return _expression(debugger, line, match.end())
    start, found = KINDS["place"](debugger, line, at)
    if start == at:
        return start, found
    return start, [Candidate("if", "where a condition is true")] if "if".startswith(line[start:]) else ()


def _breakpoint(debugger: Debugger, line: str, at: int) -> Found:
    """Return the number of a breakpoint; behind that of one whose condition is changed an expression."""
    from dwarfgpu.questions.execution import KernelRun

    points = list(debugger.state_of(KernelRun).points)
    first = line[at:].split(" ", 1)[0]
    if line.split(" ", 1)[0].startswith("cond") and at + len(first) < len(line):
        return _expression(debugger, line, _past_blanks(line, at + len(first)))
    numbers = [Candidate(str(point.number), f"{point.kind} {point.text}") for point in points]
    return _last(lambda _debugger, _letters: numbers)(debugger, line, at)


def _past_blanks(line: str, at: int) -> int:
    return len(line) - len(line[at:].lstrip())


def _last_word(line: str, at: int) -> int:
    match = _LAST_WORD.search(line, at)
    assert match is not None  # noqa: S101 (it matches the empty text)
    return match.start()


# --- What an expression that is typed can go on with --------------------------------------------------

_VARIABLE = re.compile(r"\$(\w*)$")
_MEMBER = re.compile(r"(->|\.\*?)\s*(\w*)$")
_NAME = re.compile(r"(?:\w|::)*$")
_NUMBERED = re.compile(r"\d$")
_BRACKETS = {")": "(", "]": "["}
_KINDS = ("variable", "function", "type", "namespace")
_OPERATORS = ("sizeof", "alignof")
MAX_DEPTH = 20
"""Classes that inherit from each other, and pointers to pointers, deeper than this show no more members."""


def _expression(debugger: Debugger, line: str, at: int) -> Found:
    """Return what the end of an expression can become."""
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
    return at + match.start(), _symbol_names(debugger, match.group())


def _variables(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    known = (f"${name}" for name in names(debugger))
    yield from _starting(known, f"${letters}", "convenience variable")
    yield from (each for each in _registers(debugger, "$") if each.text.startswith(f"${letters}"))


def _symbol_names(debugger: Debugger, letters: str) -> Iterator[Candidate]:
    frame = debugger.frame
    for variable in frame.variables():
        if variable.name.startswith(letters) and not variable.is_shadowed:
            yield Candidate(variable.name, variable.kind)
    is_plain = not _NUMBERED.search(letters)  # of the spaces of single lanes only when a user counts
    for space in frame.target.spaces():
        if letters and space.name.startswith(letters) and not (_NUMBERED.search(space.name) and is_plain):
            yield Candidate(f"{space.name}#", "address space")
    scope, colons, last = letters.rpartition("::")
    most = debugger.settings["max-completions"]
    for name, kind in debugger.known_names.starting(last, _KINDS, most):
        yield Candidate(f"{scope}{colons}{name}", kind)
    if letters:
        yield from _starting(_OPERATORS, letters, "operator")


def operand_before(text: str, end: int) -> str:
    """Return the operand that ends where a member operator begins: ``a->b[1]`` of ``2 * a->b[1]``."""
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
    """Return where the bracket opens that closes at a place; the beginning if it does not."""
    depth = 0
    for position in range(place, -1, -1):
        depth += (text[position] in ")]") - (text[position] in "([")
        if not depth:
            return position
    return 0


def _members_of(debugger: Debugger, base: str, letters: str) -> Iterator[Candidate]:
    kind: Type = debugger.frame.expression(base).type
    yield from _starting(dict.fromkeys(_members(kind, 0, set())), letters, "member")


def _members(kind: Type, depth: int, seen: set[object]) -> Iterator[str]:
    """Yield the names of the members of a type, or of what it points to; those of base classes behind its own."""
    while isinstance(kind, (Pointer, Qualified, Typedef)):
        depth += 1
        if depth > MAX_DEPTH:
            return
        kind = kind.target
    if not isinstance(kind, Struct) or depth > MAX_DEPTH or kind.die in seen:
        return
    seen.add(kind.die)
    try:
        body = kind.body
        for member in (
            *body.members,
            *(member for part in body.variant_parts for variant in part.variants for member in variant.members),
        ):
            if member.name:
                yield member.name
            else:
                yield from _members(member.type, depth + 1, seen)
        yield from (member.name for member in body.statics)
        for base in body.bases:
            yield from _members(base.type, depth + 1, seen)
    except DwarfGpuError:  # what can be read of it is offered
        return


KINDS: dict[str, Complete] = {
    "alias": _alias,
    "breakpoint": _breakpoint,
    "caught": lambda _debugger, line, at: (at, _starting(CAUGHT, line[at:])),
    "command": lambda debugger, line, at: _command(debugger, line, at, ""),
    "expression": _expression,
    "function": _names("function"),
    "kernel": _kernel,
    "lane": _last(_lanes),
    "launch": _launch(2),
    "launch without sizes": _launch(0),
    "macro": lambda debugger, line, at: (at, _starting(debugger.macros, line[at:])),
    "path": _path,
    "place": _names("function", files=True),
    "register": _last(_registers),
    "layout": _words((*LAYOUTS, "next", "prev")),
    "section": _words(SECTIONS),
    "setting": _setting,
    "shown": _shown,
    "stop": _stop,
    "symbol": _names("function", "variable", "type"),
    "wave": _last(_waves),
}
"""What the operands of a command may be (`Command.completes`)."""
