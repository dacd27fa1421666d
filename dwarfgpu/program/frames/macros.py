"""Macros of the C preprocessor: which are defined at a place of the source, and what a text with them expands to."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.budget import remembered
from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.macros import DEFINE, END_FILE, START_FILE, MacroEvent, macro_events
from dwarfgpu.program.code.code_lookup import line_table, tidy

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.code.scopes import SourceLine

_HEAD = re.compile(r"([^\W\d]\w*)(\(([^()]*)\))?\s?(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"""\s+|(?:L|u8|u|U)?"(?:\\.|[^"\\])*"|(?:L|u8|u|U)?'(?:\\.|[^'\\])*'|\$?[^\W\d]\w*|\$\w+
    |\.?\d(?:[eEpP][+-]|[\w.'])*|\#\#|->\*?|<<=|>>=|\+\+|--|<<|>>|[-<>=!+*/%&|^]=|&&|\|\||::|\.\.\.|.""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"(?<!\w)[^\W\d]\w{0,255}(?!\w)")
MAX_TOKENS = 1 << 14
"""How many tokens an expansion looks at."""
VARIABLE, OPTIONAL = "__VA_ARGS__", "__VA_OPT__"
Files: TypeAlias = "tuple[tuple[str, int], ...]"


@frozen
class Macro:
    """A macro as it is defined at a place."""

    name: str
    parameters: tuple[str, ...] | None
    """None for a macro without parentheses."""
    body: str
    is_variadic: bool
    files: Files
    """Where it is defined: the file and the line, then where that file is included."""
    head: str
    """The name with the parameters, as they are written."""


def macro_of(text: str, files: Files = ()) -> Macro | None:
    """Return the macro of a definition such as ``SQ(x) ((x)*(x))``; None if it is none."""
    match = _HEAD.fullmatch(text)
    if match is None:
        return None
    name, brackets, inner, body = match.groups()
    if brackets is None:
        return Macro(name, None, body, False, files, name)
    words = [word.strip() for word in inner.split(",")] if inner.strip() else []
    is_variadic = bool(words) and words[-1].endswith("...")
    if is_variadic:
        words[-1] = words[-1][:-3].strip() or VARIABLE
    shown = [*words[:-1], f"{words[-1].removesuffix(VARIABLE)}..."] if is_variadic else words
    return Macro(name, tuple(words), body, is_variadic, files, f"{name}({', '.join(shown)})")


BY_USER: Files = (("<user-defined>", -1),)
"""Where GDB says that a macro of ``macro define`` is."""


class Definitions:
    """The macros that are defined at a place, after those of the user. Each is read when it is asked for."""

    def __init__(self, texts: dict[str, tuple[str, Files]], written: Mapping[str, str] | None = None) -> None:
        self._texts = texts
        self._written = written or {}
        self._macros: dict[str, Macro | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._texts or name in self._written

    def with_written(self, written: Mapping[str, str]) -> Definitions:
        """Return these macros after those of the user."""
        return Definitions(self._texts, written) if written else self

    def get(self, name: str) -> Macro | None:
        """Return the macro with a name, if there is one."""
        if name in self._written:
            return macro_of(self._written[name], BY_USER)
        if name not in self._texts:
            return None
        if name not in self._macros:
            self._macros[name] = macro_of(*self._texts[name])
        return self._macros[name]


class Macros:
    """The macros of the units of a program."""

    def __init__(self) -> None:
        self._defined: dict[tuple[Unit, str, int], Definitions] = {}

    def at(self, code: LoadedCode | None, unit: Unit | None, source: SourceLine | None) -> Definitions:
        """Return the macros that are defined at a place of a unit, by name."""
        if unit is None or source is None or source.file is None:
            return Definitions({})
        key = unit, tidy(source.file), source.line
        found = self._defined.get(key)
        if found is None:
            if len(self._defined) > 256:
                self._defined.clear()
            found = self._defined[key] = self._read(code, unit, key[1], key[2])
        return found

    @remembered
    def _events(self, unit: Unit) -> list[MacroEvent]:
        return macro_events(unit)

    def _read(self, code: LoadedCode | None, unit: Unit, path: str, line: int) -> Definitions:
        events = self._events(unit)
        table = None if code is None or not events else line_table(code.file, unit, of_entries=True)
        directory = unit.directory or ""
        names: dict[int, str] = {}

        def name_of(number: int) -> str:
            if number not in names:
                found = None if table is None else table.path(number, directory)
                names[number] = tidy(found or f"file {number}")
            return names[number]

        return defined_at(events, name_of, path, line)


def defined_at(events: Sequence[MacroEvent], name_of: Callable[[int], str], path: str, line: int) -> Definitions:
    """Return the macros that are defined at a line of a file.

    Definitions outside of all files are those of the compiler and of its command line, and come first wherever they
    are written: clang writes them last. A place in no file of the table has only these.
    """
    main = next((name_of(event.file) for event in events if event.kind == START_FILE), path)
    defined: dict[str, tuple[str, Files]] = {}
    inside: list[MacroEvent] = []
    depth = 0
    for event in events:
        depth += event.kind == START_FILE
        if depth:
            inside.append(event)
        elif event.kind != END_FILE:
            _apply(defined, event, ((main, 0),))
        depth = max(0, depth - (event.kind == END_FILE))
    everywhere = dict(defined)
    stack: list[Files] = []
    for event in inside:
        if stack and stack[-1][0][0] == path and (event.kind == END_FILE or event.line > line):
            return Definitions(defined)
        if event.kind == START_FILE:
            around = stack[-1] if stack else ()
            entered = ((around[0][0], event.line), *around[1:]) if around else ()
            stack.append(((name_of(event.file), 0), *entered))
        elif event.kind == END_FILE:
            stack.pop()
        else:
            (name, _), *around_it = stack[-1]
            _apply(defined, event, ((name, event.line), *around_it))
    return Definitions(everywhere)


def _apply(defined: dict[str, tuple[str, Files]], event: MacroEvent, files: Files) -> None:
    match = _NAME.match(event.text)
    if match is None:
        return
    if event.kind == DEFINE:
        defined[match[0]] = event.text, files
    else:
        defined.pop(match[0], None)


# --- Expansion --------------------------------------------------------------------------------------------------------

Word: TypeAlias = "tuple[str, frozenset[str]]"
"""A word of the preprocessor, with the macros that it came from, which are not expanded in it again."""
_NONE: frozenset[str] = frozenset()


def expanded(text: str, macros: Definitions, *, once: bool = False) -> str:
    """Return a text with its macros expanded (C11, 6.10.3); ``once`` leaves the macros that come out of a body."""
    if not any(name in macros for name in _NAME.findall(text)):
        return text
    return _Expansion(macros, once=once).text(text)


class _Expansion:
    def __init__(self, macros: Definitions, *, once: bool = False) -> None:
        self.macros = macros
        self.once = once
        self.work = 0

    def text(self, text: str) -> str:
        written = ""
        last = ""
        for word, _hidden in self.expand([(word, _NONE) for word in _TOKEN.findall(text)]):
            match = _TOKEN.match(last + word)
            if last.strip() and word.strip() and match is not None and match.end() > len(last):
                written += " "
            written += word
            last = word
        return written

    def expand(self, tokens: Sequence[Word]) -> list[Word]:
        """Return tokens with all macros in them expanded."""
        waiting, done = deque(tokens), []
        while waiting:
            self._count(1)
            word, hidden = waiting.popleft()
            macro = None if word in hidden else self.macros.get(word)
            if macro is None:
                if word:
                    done.append((word, hidden))
                continue
            arguments: dict[str, list[Word]] = {}
            if macro.parameters is not None:
                space = [waiting.popleft()] if waiting and waiting[0][0].isspace() else []
                if not waiting or waiting[0][0] != "(":
                    waiting.extendleft(space)
                    done.append((word, hidden))
                    continue
                arguments, closing = self._arguments(macro, waiting)
                hidden &= closing
            body = self._body(macro, arguments, hidden | {word})
            if self.once:
                done += [(each, names) for each, names in body if each]
            else:
                waiting.extendleft(reversed(body))
        return done

    def _count(self, number: int) -> None:
        self.work += number
        if self.work > MAX_TOKENS:
            message = f"macros expand to more than {MAX_TOKENS} tokens"
            raise UsageError(message, kind="too_long", hint="expand a part of the text")

    def _arguments(self, macro: Macro, waiting: deque[Word]) -> tuple[dict[str, list[Word]], frozenset[str]]:
        parameters = macro.parameters or ()
        waiting.popleft()
        found: list[list[Word]] = [[]]
        depth, hidden = 0, _NONE
        while waiting:
            word, hidden = waiting.popleft()
            if word == ")" and not depth:
                break
            depth += (word == "(") - (word == ")")
            is_last = macro.is_variadic and len(found) == len(parameters)
            if word == "," and not depth and not is_last:
                found.append([])
            else:
                found[-1].append((word, hidden))
        else:
            raise UsageError(f"Malformed argument list for macro `{macro.name}'.", kind="bad_macro")
        found = [_stripped(each) for each in found]
        if not parameters and found == [[]]:
            found = []
        if macro.is_variadic and len(found) == len(parameters) - 1:
            found.append([])
        if len(found) != len(parameters):
            count = f"expected {'at least ' if macro.is_variadic else ''}{len(parameters) - macro.is_variadic}"
            message = f"Wrong number of arguments to macro `{macro.name}' ({count}, got {len(found)})."
            raise UsageError(message, kind="bad_macro")
        return dict(zip(parameters, found, strict=True)), hidden

    def _body(self, macro: Macro, arguments: dict[str, list[Word]], hidden: frozenset[str]) -> list[Word]:
        words = _TOKEN.findall(macro.body.strip())
        if OPTIONAL in words:
            words = self._without_optional(macro, arguments, words)
        done: list[Word] = []
        index = 0
        is_pasting = False
        while index < len(words):
            word = words[index]
            index += 1
            after = index + (index < len(words) and words[index].isspace())
            follows = words[after] if after < len(words) else ""
            if word == "##" and done:
                done, is_pasting = _stripped(done), True
                index = after
                continue
            if word == "#" and follows in arguments:
                piece = [(_quoted(arguments[follows]), _NONE)]
                index = after + 1
            elif word in arguments:
                raw = is_pasting or follows == "##"
                piece = (arguments[word] if raw else self.expand(arguments[word])) or [("", _NONE)]
            else:
                piece = [(word, _NONE)]
            self._count(len(piece))
            if is_pasting and done[-1][0] == "," and macro.is_variadic and word == (macro.parameters or ("",))[-1]:
                if piece == [("", _NONE)]:  # as GNU: no comma before no arguments
                    done.pop()
                    piece = []
            elif is_pasting:
                (left, left_hidden), (right, right_hidden) = done.pop(), piece[0]
                piece = [(left + right, left_hidden & right_hidden), *piece[1:]]
            is_pasting = False
            done += piece
        return [(word, names | hidden) for word, names in done]

    def _without_optional(self, macro: Macro, arguments: dict[str, list[Word]], words: list[str]) -> list[str]:
        """Return a body with each ``__VA_OPT__(...)`` as its contents, or empty without variable arguments (C23)."""
        if not macro.is_variadic:
            raise UsageError(f"{OPTIONAL} is only valid in a variadic macro", kind="bad_macro")
        is_kept = any(word.strip() for word, _ in self.expand(arguments[(macro.parameters or ("",))[-1]]))
        done: list[str] = []
        waiting = deque(words)
        while waiting:
            word = waiting.popleft()
            if word != OPTIONAL:
                done.append(word)
                continue
            while waiting and waiting[0].isspace():
                waiting.popleft()
            if not waiting or waiting.popleft() != "(":
                raise UsageError(f"{OPTIONAL} must be followed by an open parenthesis", kind="bad_macro")
            contents, depth = [], 1
            while depth and waiting:
                contents.append(waiting.popleft())
                depth += (contents[-1] == "(") - (contents[-1] == ")")
            if depth:
                raise UsageError(f"Unterminated {OPTIONAL}", kind="bad_macro")
            kept = _stripped([(word, _NONE) for word in contents[:-1]]) if is_kept else []
            done += [word for word, _ in kept] or [""]
        return done


def _stripped(tokens: list[Word]) -> list[Word]:
    first, last = 0, len(tokens)
    while first < last and tokens[first][0].isspace():
        first += 1
    while first < last and tokens[last - 1][0].isspace():
        last -= 1
    return tokens[first:last]


def _quoted(tokens: list[Word]) -> str:
    found = []
    for word, _ in tokens:
        is_literal = word[-1:] in ("'", '"')
        found.append(" " if word.isspace() else re.sub(r'(["\\])', r"\\\1", word) if is_literal else word)
    return f'"{"".join(found)}"'
