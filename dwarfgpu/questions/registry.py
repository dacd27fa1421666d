"""Commands, declared once: name, aliases, arguments, help. Prompt, completion, help, pages and GDB read the table."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError, nearest
from dwarfgpu.immutable import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.questions.document import Document
    from dwarfgpu.questions.settings import Setting

    Run = Callable[[Any, "Arguments"], Document | None]


LETTERS = "xduotacfszr"
"""The letters of the formats of values: /FMT at the prompt, --format at the shell."""
SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}
"""The bytes of a unit by the letters of sizes, which ``x`` knows and ``print`` does not."""
WORD = re.compile(r"[!|?]|[A-Za-z_][\w-]*")
"""A word that names a command."""
NOT_HERE = frozenset(
    "attach call checkpoint cuda detach handle hbreak interrupt rb rbreak record signal starti stop strace thbreak "  # noqa: SIM905
    "trace".split()
)
"""Commands of GDB for processes, which dwarfgpu does not have: no similar name is suggested for them."""
PYTHON_DOES = frozenset(("document", "if", "else", "while", "loop_break", "loop_continue"))
"""Commands of GDB's scripts that there are not, because a Python script does the same."""
_CASES = "clone the sources of dwarfgpu, and use `python3 tools/cases.py {} --cases FILE`"
_TOOL = "clone the sources of dwarfgpu, and use `python3 tools/dev.py {}`"
GONE = {
    "judge --fuzz": _TOOL.format("fuzz --kernels --count N"),
    "judge --reduce": _TOOL.format("hunt k.cl"),
    "serve": "use `dwarfgpu dap`, or the GDB plug-in (`dwarfgpu docs gdb`)",
    "lists": _CASES.format("lists"),
    "eval --cases": _CASES.format("eval"),
    "cfi --cases": _CASES.format("cfi"),
    "coverage --compare": "join the rows of `coverage FILE --csv` of both, or use `judge FILE --against OTHER`",
    "coverage --statistics": "use `llvm-dwarfdump --statistics FILE`",
    "run --profile-format callgrind": "use speedscope, chrome or pprof",
    "run --profile-format collapsed": "use speedscope, chrome or pprof",
    **dict.fromkeys(("info proc", "info auxv"), "GDB shows this of the core file: `gdb PROGRAM CORE`"),
    "info program": "use `info waves`: it shows where each wave is, and why it has stopped",
    "info inferiors": "use `info waves` and `info sharedlibrary`",
    "info signals": "use `info waves`: it shows why each wave has stopped",
    "info packets": "use `info queues`, and `maint print structure packet ADDRESS`",
    "packets": "use `dwarfgpu queues`, and `dwarfgpu hsa packet ADDRESS`",
    "info vtbl": "`print *OBJECT` shows the pointer to the table, and `info symbol` a function in it",
    **dict.fromkeys(("info work-groups", "work-groups"), "use `info waves`: it shows the work-group of each wave"),
    **dict.fromkeys(("address", "maint info address-aliases"), "use a cast: `print (char @generic *) &x`"),
    "snapshot template": "`info scope PLACE` in `dwarfgpu debug FILE` shows what each variable needs; "
    "`dwarfgpu docs snapshots` has the form",
    "map --row": "leave it out: a row has as many lanes as fit the work-group and the screen",
    "annotate --compare": "write both with `--profile-format pprof`, and use `pprof -diff_base BEFORE AFTER`",
    "annotate --profile-format callgrind": "use speedscope or pprof",
    "annotate --profile-format collapsed": "use speedscope or pprof",
}
"""What dwarfgpu no longer has, and what to use instead: `COMMAND`, `COMMAND WORD`, `COMMAND --option [VALUE]`."""


@frozen
class Argument:
    """An argument of a command: an option such as ``-lane LIST`` or ``-all``, or an operand."""

    flag: str
    """How it is written: ``-lane``, at the shell also ``--lane``. Of an operand its name."""
    metavar: str | None
    """What its value is called; None if it has none."""
    help: str
    setting: Setting | None = None
    """The setting that has another value while the command runs: ``-elements 3``, ``-pretty``, ``-symbol off``."""
    read: Callable[[str], Any] = str
    """Reads its value: `int`, or a function that raises `UsageError`."""
    choices: tuple[str, ...] = ()
    is_required: bool = False
    """Whether it must be given."""
    is_many: bool = False
    """Whether it may be given more than once; its value is then a tuple."""
    bare: str = ""
    """What it means at the shell without a value; a value is then joined to it by ``=``."""

    @property
    def name(self) -> str:
        """Its name in `Arguments.options`."""
        return self.flag.lstrip("-")

    @property
    def is_option(self) -> bool:
        return self.flag.startswith("-")

    @property
    def is_bare(self) -> bool:
        """Whether it may be given without its value."""
        return self.setting is None and self.metavar is not None and self.metavar.startswith("[")

    @property
    def usage(self) -> str:
        return self.flag if self.metavar is None else f"{self.flag} {self.metavar}"

    def value(self, text: str) -> Any:
        """Read a value."""
        if self.is_bare and not text:
            return text
        try:
            value = self.read(text)
        except ValueError:
            raise UsageError(f"{self.flag} takes a number, not {text[:40]!r}") from None
        if self.choices and value not in self.choices:
            name = self.flag if self.is_option else self.metavar
            raise UsageError(f"{name} is one of {', '.join(self.choices)}, not {text[:40]!r}")
        return value


START, LOOK, EXECUTE = "start here", "look at code, and at waves that have stopped", "run kernels"
JUDGE, CONVERT = "judge what a compiler made", "convert"
SHELL_GROUPS = (START, LOOK, EXECUTE, JUDGE, CONVERT)
"""What commands of the shell are for, in the order in which help shows them."""


@frozen
class Shell:
    """How a command is written at the shell: its names there, and what it needs besides its options."""

    group: str
    """One of `SHELL_GROUPS`."""
    names: tuple[str, ...]
    selects: tuple[Argument, ...] = ()
    """The arguments that say what the question is about: rows of `selection`, such as FILE and ``--wave``."""
    operands: tuple[Argument, ...] = ()
    """What is text at the prompt, word by word."""
    options: tuple[Argument, ...] = ()
    """Options that there are only at the shell, where nothing is selected yet, or output goes to a file."""
    examples: tuple[str, ...] = ()


@frozen
class Command:
    """A row of the table: a question, which has an answer as text and as JSON, or an action."""

    name: str
    """All its words: ``info lanes``."""
    summary: str
    run: str | Run
    """The function that is it, or its module and name: ``values.print_value``.

    The function of a question takes a selection and the arguments and returns a `Document`.
    """
    group: str
    aliases: tuple[str, ...] = ()
    operands: str = ""
    """The operands after the options, as help shows them."""
    options: tuple[Argument, ...] = ()
    formats: str = ""
    """The letters after a slash, as help shows them; empty if there are none."""
    completes: str = ""
    """What its operands are, for completion: a name of `completion.KINDS`."""
    repeats: str = "same"
    """What an empty line does after it: ``same``, ``onwards`` (without its operands) or ``nothing``."""
    gdb: str | None = None
    """Its name behind ``dwarfgpu`` in GDB, if it makes sense there."""
    is_question: bool = False
    shell: Shell | None = None
    help: str = ""
    """What help says below the summary."""

    @property
    def usage(self) -> str:
        """How it is written."""
        parts = [f"{self.name}{f'[/{self.formats}]' if self.formats else ''}"]
        own = (option for option in self.options if option.setting is None or option.metavar is None)
        parts += [option.usage if option.is_required else f"[{option.usage}]" for option in own]
        if any(option.setting is not None and option.metavar is not None for option in self.options):
            parts.append("[-SETTING [VALUE]... --]")
        if self.is_question:
            parts.append("[--json]")
        return " ".join([*parts, self.operands]).strip()

    @property
    def at_shell(self) -> Shell:
        """How a question that is asked at the shell is written there."""
        assert self.shell is not None  # noqa: S101 (its name is one of the shell)
        return self.shell

    @property
    def shell_options(self) -> tuple[Argument, ...]:
        """Its options at the shell, without those that make the selection there."""
        shell = self.at_shell
        selects = [argument.flag for argument in shell.selects]
        return tuple(option for option in (*self.options, *shell.options) if option.flag not in selects)

    def load(self) -> Run:
        """Return the function that is the command; its module is imported only now."""
        if not isinstance(self.run, str):
            return self.run
        from importlib import import_module

        module, _, name = self.run.partition(".")
        run: Run = getattr(import_module(f"dwarfgpu.questions.{module}"), name)
        return run


class Registry:
    """The commands there are, with the aliases and commands that a user has defined."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands: dict[str, Command] = {}
        self._names: dict[str, dict[str, Command]] = {}
        """For each prefix command, and for none, the next words with what they mean."""
        self._shell: dict[str, Command] = {}
        """The names that commands have at the shell, which are names of questions here as well."""
        for command in commands:
            self.add(command)

    def add(self, command: Command) -> None:
        """Add a command, or put another one in its place."""
        self.commands[command.name] = command
        for name in (command.name, *command.aliases):
            prefix, _, word = name.rpartition(" ")
            self._names.setdefault(prefix, {})[word] = command
        if command.shell is not None:
            self._shell.update(dict.fromkeys(command.shell.names, command))

    def names(self, prefix: str = "") -> dict[str, Command]:
        """Return the words that may follow a prefix command (none: that may begin a line), aliases too."""
        return self._names.get(prefix, {})

    def is_prefix(self, name: str) -> bool:
        """Whether there are commands with one more word."""
        return name in self._names

    def find(self, line: str) -> tuple[Command, str]:
        """Return the command that a line names, abbreviated or not, and the text behind it."""
        command, rest = self._next("", line.lstrip())
        while self.is_prefix(command.name) and rest.strip():
            try:
                command, rest = self._next(command.name, rest.lstrip())
            except UsageError:
                if not command.run:  # by itself it only lists what follows
                    raise
                break
        return command, rest

    def _next(self, prefix: str, text: str) -> tuple[Command, str]:
        match = WORD.match(text)
        names = self.names(prefix)
        ask = f"`help {prefix}`".replace(" `", "`")
        if match is None:
            what = f"{text[:40]!r} is not a command{f' of `{prefix}`' if prefix else ''}"
            raise UsageError(what, kind="no_command", hint=f"{ask} lists the commands")
        word = match.group()
        command = names.get(word)
        if command is None and not prefix:
            command = self._shell.get(word)
        if command is None:
            check_gone(f"{prefix} {word}".lstrip(), ())
        if command is None and not prefix and word in NOT_HERE:
            hint = "`help running` lists the commands that run kernels"
            if word == "cuda":
                hint = "`lane [X,Y,Z]` selects a thread of the block, `lane global X,Y,Z` one of the grid"
            raise UsageError(f"dwarfgpu does not have GDB's command `{word}`", kind="no_command", hint=hint)
        if command is None:
            command = self._abbreviated(prefix, word, names, ask)
        return command, text[match.end() :]

    def _abbreviated(self, prefix: str, word: str, names: dict[str, Command], ask: str) -> Command:
        meant = {name: command for name, command in names.items() if name.startswith(word)}
        commands = {command.name: command for command in meant.values()}
        whole = f"{prefix} {word}".lstrip()
        if len(commands) == 1:
            return next(iter(commands.values()))
        if commands:
            raise UsageError(f"`{whole}` is ambiguous: {', '.join(sorted(meant))}", kind="ambiguous_command")
        near = nearest(word, names)
        hint = f"did you mean `{f'{prefix} {near}'.lstrip()}`?" if near else f"{ask} lists the commands"
        if whole in PYTHON_DOES:
            raise python_does(whole)
        raise UsageError(f"there is no command `{whole[:60]}`", kind="no_command", hint=hint)


def python_does(word: str) -> UsageError:
    """Return the error for a part of GDB's script language that Python does here."""
    message = f"there is no `{word[:60]}` here: write it in Python and run it with `source FILE.py`"
    return UsageError(message, kind="no_command")


COMPLETES = {
    "EXPR": "expression", "FILE": "path", "PLACE": "place", "FUNCTION": "function", "COMMAND": "command",
    "KERNEL": "kernel", "SETTING": "setting",
}  # fmt: skip
"""What an operand is, for completion, by its name; a command says so itself where it differs."""


def option(usage: str, help: str, **fields: Any) -> Argument:
    """Declare an option: ``-all``, ``-lane LIST``."""
    flag, _, metavar = usage.partition(" ")
    return Argument(flag, metavar or None, help, **fields)


def operand(name: str, help: str, **fields: Any) -> Argument:
    """Declare an operand of the shell: ``FILE``, ``[KERNEL]``, ``[NAME...]``."""
    bare = name.strip("[].")
    return Argument(bare.lower(), bare, help, is_required=not name.startswith("["), is_many="..." in name, **fields)


def setting_option(setting: Setting) -> Argument:
    """Declare an option that is a setting of ``print`` for one command."""
    flag = f"-{setting.name.removeprefix('print ')}"
    metavar = "|".join(setting.choices) or ("[on|off]" if isinstance(setting.default, bool) else "N")
    return Argument(flag, metavar, setting.help, setting)


def command(name: str, summary: str, run: str | Run, **fields: Any) -> Command:
    """Declare a command; ``aliases`` are words of one text, and the first operand says what completes it."""
    prefix = name.rpartition(" ")[0]
    aliases = tuple(
        alias.replace("_", " ") if "_" in alias else f"{prefix} {alias}".lstrip()
        for alias in fields.pop("aliases", "").split()
    )
    first = re.search("[A-Z]+", fields.get("operands", ""))
    fields.setdefault("completes", COMPLETES.get(first[0], "") if first else "")
    return Command(name, summary, run, aliases=aliases, **{"repeats": "nothing", **fields})


def question(name: str, summary: str, run: str | Run, **fields: Any) -> Command:
    """Declare a command that returns a document, which every face writes as text or as JSON."""
    return command(name, summary, run, is_question=True, **{"repeats": "same", **fields})


def shell(
    group: str, names: str, *arguments: Argument, options: Iterable[Argument] = (), examples: Iterable[str] = ()
) -> Shell:
    """Declare how a question is asked at the shell: what it is about first, then its operands."""
    operands = tuple(each for each in arguments if each.flag != "file" and not each.is_option)
    selects = tuple(each for each in arguments if each not in operands)
    return Shell(group, tuple(names.split()), selects, operands, tuple(options), tuple(examples))


# --- What follows the name of a command ---------------------------------------------------------------

_WORD = re.compile(r"\s*(\S+)")
_QUOTED = re.compile(r"""\s*(["'])(.*?)\1(?!\S)""")
_OPENING = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<![^\s=])[{\[]""", re.DOTALL)
"""Quotes, or where JSON begins outside of them."""
_END = re.compile(r"(?<!\S)--(?!\S)")
"""What ends options. As in gdb, an expression may begin like the beginning of an option only where this is missing."""
FORMS = {
    "json": "print one JSON document", "jsonl": "print one JSON document per line",
    "csv": "print the rows as CSV", "html": "print the rows as an HTML page",
}  # fmt: skip
"""The forms of an answer that is data: options of every question, with their help."""
_SWITCH = ("on", "off", "yes", "no", "enable", "disable")


def _split(text: str) -> list[str]:
    """Split a text as a shell does, but leave JSON outside of quotes as it is, with its own quotes."""
    from json import JSONDecoder  # short commands do not need it

    parts, at = [], 0
    while (match := _OPENING.search(text, at)) is not None:
        start, end = match.span()
        if match[0] in "{[":
            try:
                _value, end = JSONDecoder().raw_decode(text, start)
            except (ValueError, RecursionError):
                parts.append(text[at:end])
            else:
                parts += [text[at:start], shlex.quote(text[start:end])]
        else:
            parts.append(text[at:end])
        at = end
    return shlex.split("".join((*parts, text[at:])))


@frozen
class Arguments:
    """The arguments of a command, read as its row says."""

    command: Command
    format: str
    """What was behind the slash."""
    options: dict[str, Any]
    """The values of the options that were given, by name; empty for one that takes no argument."""
    text: str
    """The rest: an expression, a name, words."""
    settings: dict[str, str] = field(factory=dict)
    """Settings that have other values while the command runs, as options say."""
    form: str = ""
    """One of `FORMS` where the answer is to be written so; else it is text."""
    operands: tuple[str, ...] | None = None
    """The rest word by word, where a shell has split it."""

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.options

    def get(self, name: str) -> Any:
        """Return the value of an option; None if it was not given."""
        return self.options.get(name)

    def many(self, name: str) -> tuple[Any, ...]:
        """Return the values of an option that may be given more than once."""
        values: tuple[Any, ...] = self.options.get(name, ())
        return values

    @property
    def words(self) -> list[str]:
        """The rest as words, in which quotes keep blanks."""
        if self.operands is not None:
            return list(self.operands)
        try:
            return _split(self.text)
        except ValueError as error:
            raise UsageError(f"{self.text[:60]}: {str(error).lower()}", hint="quotes come in pairs") from None

    def none(self) -> None:
        """Raise an error if there is a rest."""
        if self.text:
            raise self.wrong(f"takes no arguments, and {self.text[:40]!r} is one")

    def needed(self) -> str:
        """Return the rest, which must not be empty."""
        if not self.text:
            raise self.wrong(f"needs {self.command.operands or 'an argument'}")
        return self.text

    def integer(self) -> int | None:
        """Return the rest as a number; None if it is empty."""
        if not self.text:
            return None
        try:
            return int(self.text, 0)
        except ValueError:
            raise self.wrong(f"takes a number, not {self.text[:40]!r}") from None

    def pattern(self, option: str | None = None) -> re.Pattern[str]:
        """Return the rest, or the operand of an option, as a regular expression."""
        import warnings

        text = self.text if option is None else self.options.get(option, "")

        try:
            with warnings.catch_warnings():  # of what a later Python reads in another way
                warnings.simplefilter("ignore", FutureWarning)
                return re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.wrong(f"takes a regular expression: {error}") from None

    @property
    def letter(self) -> str | None:
        """The letter behind the slash of a command that shows values."""
        text, name = self.format, self.command.name
        if text[:1].isdecimal() or text[:1] == "-":
            raise UsageError(f'Item count other than 1 is meaningless in "{name}" command.', kind="bad_format")
        chosen: str | None = None
        for letter in text:
            if letter in SIZES:
                raise UsageError(f'Size letters are meaningless in "{name}" command.', kind="bad_format")
            if letter == "i":
                raise UsageError(f'Format letter "i" is meaningless in "{name}" command.', kind="bad_format")
            if letter not in LETTERS:
                hint = f"the formats are {', '.join(LETTERS)}"
                raise UsageError(f'Undefined output format "{letter[:1]}".', kind="bad_format", hint=hint)
            if letter != "r" or chosen is None:
                chosen = letter
        return chosen

    def wrong(self, message: str) -> UsageError:
        """Return an error about the arguments."""
        if self.operands is not None and self.command.shell is not None:
            name = f"dwarfgpu {self.command.shell.names[0]}"
            return UsageError(f"`{name}` {message}", hint=f"`{name} --help` shows the options")
        return UsageError(f"`{self.command.name}` {message}", hint=f"it is written `{self.command.usage}`")


TWICE = {
    "until": "--break PLACE may be repeated",
    "if": "write --break 'PLACE if EXPR' for each",
    "history": "run once for each",
}
"""What takes the place of a second value of an option that has one."""


def check_once(flag: str, metavar: object, before: object, value: object) -> None:
    """Refuse the second value of an option that takes one: no value is dropped in silence."""
    if before == value:
        return
    is_list = str(metavar).strip("[=]") in ("LIST", "KINDS")
    hint = "separate several values by commas" if is_list else TWICE.get(flag.lstrip("-"))
    raise UsageError(f"{flag} takes one value, but has {before} and {value}", hint=hint)


def check_gone(name: str, words: Iterable[str]) -> None:
    """Refuse a command, an option or a value of an option that dwarfgpu no longer has, and name its successor."""
    typed = [name]
    for word in (part for each in words for part in each.split("=", 1)):
        if word == "--":
            break
        typed.append(f"{name} --{word.lstrip('-')}" if word.startswith("-") else f"{typed[-1]} {word}")
    for each in typed:
        if each in GONE:
            raise UsageError(f"`{each}` is gone", kind="gone", hint=GONE[each])


def read_arguments(command: Command, text: str) -> Arguments:
    """Read the text behind the name of a command."""
    for name in (command.name, *(command.shell.names if command.shell is not None else ())):
        check_gone(name, text.split())
    form, text = _format(command, text)
    options: dict[str, Any] = {}
    settings: dict[str, str] = {}
    written_as = ""
    while (
        (command.options or command.is_question)
        and (match := _WORD.match(text)) is not None
        and match[1].startswith("-")
        and match[1] != "-"
    ):
        after = text[match.end() :]
        if match[1] == "--":  # what follows is no option, even if it begins with a dash
            text = after
            break
        word = match[1].lstrip("-")
        if command.is_question and word in FORMS and all(word != own.name for own in command.options):
            written_as, text = word, after
            continue
        option = _option(command, match[1], after)
        if option is None:
            break
        value, text = _value(command, option, after)
        if option.is_many:
            options[option.name] = (*options.get(option.name, ()), option.value(value))
            continue
        known, name = (options, option.name) if option.setting is None else (settings, option.setting.name)
        new = value if option.setting is not None or option.metavar is None else option.value(value)
        if name in known:
            check_once(option.flag, option.metavar, known[name], new)
        known[name] = new
    if not form:  # gdb has it behind the options
        form, text = _format(command, text)
    arguments = Arguments(command, form, options, text.strip(), settings, written_as)
    if not command.operands:
        arguments.none()
    return arguments


def _format(command: Command, text: str) -> tuple[str, str]:
    """Return the letters after a slash, and the text after them. `p /x 1` is read as well as `p/x 1`."""
    whole = text.lstrip() if command.formats else text
    if not whole.startswith("/"):
        return "", text
    if not command.formats:
        raise UsageError(f"`{command.name}` takes no format", hint=f"`{command.usage}`")
    match = _WORD.match(whole)
    form = "" if match is None else match[1][1:]
    return form, whole[1 + len(form) :]


def _option(command: Command, flag: str, after: str) -> Argument | None:
    """Return the option that a word is; None if what begins with it is the operand."""
    known = {option.flag: option for option in command.options}
    if flag[flag.startswith("--") :] in known:
        return known[flag[flag.startswith("--") :]]
    if flag[1:2].isdecimal():
        return None  # a number
    meant = [name for name in known if name.startswith(flag)]
    is_expression = command.completes == "expression"
    if is_expression and not _END.search(after) and (not meant or any(known[each].setting for each in meant)):
        return None  # a minus
    if len(meant) != 1 or not flag[1:2].isalpha():
        what = f"is {' or '.join(meant)}" if meant else "is not an option"
        near = None if meant else nearest(flag, known)
        hint = f"it is written `{command.usage}`" if near is None else f"did you mean {near}?"
        raise UsageError(f"`{command.name}`: {flag[:40]} {what}", hint=hint)
    return known[meant[0]]


def _value(command: Command, option: Argument, after: str) -> tuple[str, str]:
    match = _WORD.match(after)
    if option.metavar is None:
        return "", after
    if option.setting is not None and isinstance(option.setting.default, bool):
        is_said = match is not None and match[1] in _SWITCH
        return (match[1], after[match.end() :]) if match is not None and is_said else ("on", after)
    if option.is_bare and (match is None or match[1] not in option.choices):
        return "", after
    quoted = _QUOTED.match(after)
    if quoted is not None:
        return quoted[2], after[quoted.end() :]
    if match is None or match[1] == "--":
        raise UsageError(f"`{command.name}`: {option.flag} needs {option.metavar}")
    return match[1], after[match.end() :]
