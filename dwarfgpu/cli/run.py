"""From the words of a command line to a command that runs, and from what it raises to an exit status."""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import nullcontext
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu import __version__, budget
from dwarfgpu.cli.session import Session, is_alone, read_input
from dwarfgpu.compilers import BUILD, SOURCES, is_source
from dwarfgpu.errors import DwarfGpuError, UsageError, exhausted, nearest_hint
from dwarfgpu.immutable import evolve
from dwarfgpu.questions.document import NO_ANSWER, OK, USAGE
from dwarfgpu.questions.registry import CONVERT, FORMS, SHELL_GROUPS, Arguments, check_gone, check_once
from dwarfgpu.questions.selection import STDIN_PART, Selection, select
from dwarfgpu.questions.settings import Settings
from dwarfgpu.questions.table import AT_SHELL
from dwarfgpu.regular_files import check_mappings, open_input
from dwarfgpu.render.layout import WIDTH, folded, wrapped
from dwarfgpu.render.written_text import SafeStream, may_be_left, silence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.cli.debug import ShellCommand
    from dwarfgpu.questions.registry import Argument, Command


SHORT = {"verbose": ("-v",)}
"""Options that have a short name at the shell."""
ARGS = "--args"
"""In front of a program that is debugged as a whole, and its arguments."""
COLORS = ("auto", "always", "never")
CODE_SUFFIXES = (".co", ".hsaco", ".o", ".so", ".out", ".elf")
"""How the names of files of code end."""
TALKING = ("compile", "dap", "debug", "demo", "example", "exec", "hipcc")
"""The commands that talk to a user or a debugger, or write a file of their own: no file can hold their answer."""
TEXT_ONLY = ("completion", "dap", "debug", "demo", "exec", "hipcc")
"""The commands without an answer in JSON."""


HIP_SPELLINGS = {
    "budget": "`dwarfgpu run` has --limit N, and the debugger `set budget N`",
    "block": "--work-group N is the size of a block, and --grid N counts work-items, not blocks",
    **dict.fromkeys(("arch", "offload-arch", "mcpu"), "FILE@gfx90a names the processor of a source"),
}
"""How HIP, its compiler and other commands call what has another name here."""


class _Once(argparse.Action):
    """Keeps the value of an option, and refuses another one, which would take its place in silence."""

    is_given = False

    def __call__(self, _parser: Any, namespace: Any, value: Any, _flag: Any = None) -> None:
        if self.option_strings and self.is_given:
            check_once(self.option_strings[0], self.metavar, getattr(namespace, self.dest), value)
        self.is_given = True
        setattr(namespace, self.dest, value)


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser that raises our error instead of printing its own."""

    words: Sequence[str] = ()
    """What it reads, for hints."""

    def error(self, message: str) -> NoReturn:
        unknown = message.partition("unrecognized arguments: ")[2].partition(" ")[0]
        flags = [flag for action in self._actions for flag in action.option_strings]
        if "are required: " in message:  # what is missing may be there, with a name that is not known
            words = self.words[: self.words.index("--")] if "--" in self.words else self.words
            names = (word.partition("=")[0] for word in words if word.startswith("--"))
            unknown = next((name for name in names if name not in flags), "")
            message = f"unrecognized arguments: {unknown}" if unknown else message
        hint = nearest_hint(
            unknown, flags if unknown.startswith("-") else (), f"`{self.prog} --help` shows the options"
        )
        if (usual := HIP_SPELLINGS.get(unknown.lstrip("-").partition("=")[0])) is not None:
            hint = "-target gfx90a names the processor" if "gfx90a" in usual and "--target" in flags else usual
        if unknown.lstrip("-") in FORMS:
            hint = "other commands answer in JSON, such as `dwarfgpu eval FILE EXPR --json`"
        if unknown.startswith(("-D", "-I", "-U", "-O")):
            hint = f"it is an option of clang: `dwarfgpu compile SOURCE -o FILE.co -- {unknown}`, then name FILE.co"
        if "required: --state" in message:
            from dwarfgpu.states.opening import STATE_HINT

            hint = STATE_HINT
        raise UsageError(message, hint=hint)

    def valued_flags(self) -> set[str]:
        """Return the options that have a value."""
        return {flag for action in self._actions if action.nargs is None for flag in action.option_strings}

    def print_help(self, file: Any = None) -> None:  # that of argparse ignores what cannot be written
        (file or sys.stdout).write(self.format_help())
        (file or sys.stdout).flush()

    def format_help(self) -> str:
        help_text = super().format_help().replace(" [=", "[=")  # a value that may be left out
        return "\n".join(part for line in help_text.split("\n") for part in folded(line, _help_width()))


def run(words: Sequence[str]) -> int:
    """Run a command line; return the exit status."""
    shows_traceback = "--debug" in words
    # something takes the place of each stream that was closed before Python started
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (as long as the program runs)
    session = Session(_color(words))
    try:
        options = _parse(list(words))
        if options is None:
            return OK
        session = Session(options.color, options.form)
        status = _run(session, options)
    except DwarfGpuError as error:
        if shows_traceback:
            raise
        return session.report(error)
    except BrokenPipeError:
        silence(sys.stdout)
        return OK
    except (RecursionError, MemoryError) as error:
        if shows_traceback:
            raise
        return session.report(exhausted(error))
    except OSError as error:  # of what `--help` writes itself
        silence(sys.stdout)
        return session.report(UsageError(f"output cannot be written: {error.strerror or error}", kind="unwritable"))
    except SystemExit as stop:  # argparse has printed help
        return stop.code if isinstance(stop.code, int) else USAGE
    return status


def _color(words: Sequence[str]) -> str:
    """Return what the words say of colour, also where they cannot be parsed."""
    apart = " ".join(words).replace("--color=", "--color ").split()
    chosen = apart[apart.index("--color") + 1 :] if "--color" in apart else []
    return chosen[0] if chosen and chosen[0] in COLORS else COLORS[0]


def _run(session: Session, options: Any) -> int:
    """Run a command; its answer goes to the file that `-o` names, if it does."""
    path: str | None = getattr(options, "output", None)
    _check_is_built(options)
    BUILD.choose(*(getattr(options, name, None) for name in ("O", "D", "I")))
    with nullcontext() if path is None else session.written_to(path), session.output().laid_out():
        status: int = options.run(session)
        check_mappings()
    if path is None:
        with may_be_left(sys.stdout):
            session.out.flush()
    return status


def _check_is_built(options: Any) -> None:
    """Refuse options for clang if all that is named is compiled already."""
    given = next((name for name in ("O", "D", "I") if getattr(options, name, None) is not None), None)
    named = getattr(options, "file", None) or ()
    files = [named] if isinstance(named, str) else named
    if given is not None and files and not any(map(is_source, files)):
        hint = f"it is for the sources of kernels, {' and '.join(SOURCES)}"
        raise UsageError(f"-{given} means nothing for {files[0]}, which is compiled already", hint=hint)


def _parse(words: list[str]) -> Any:
    """Return the options of a command, or None when there is nothing to run."""
    if not words:
        raise UsageError("a command is needed", hint="`dwarfgpu --help` lists the commands")
    if words[0] == "help" and len(words) > 1:
        from dwarfgpu.cli.pages import pages

        is_page = words[1] not in summaries() and words[1] in pages()
        words = ["docs", words[1]] if is_page else [words[1], "--help"]
    if words[0] in ("-h", "--help", "help"):
        sys.stdout.write(_overview(is_full=words[0] == "help"))
        sys.stdout.flush()
        return None
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"dwarfgpu {__version__}\n")
        sys.stdout.flush()
        return None
    name = words.pop(0)
    if name.startswith("-"):
        raise UsageError(f"the first word must be a command, not {name}", hint="`dwarfgpu --help` lists the commands")
    check_gone(name, words)
    if name in AT_SHELL:
        return _question(name, AT_SHELL[name], words)
    if name not in _others():
        raise _unknown(name)
    return _other(name, words)


def _others() -> dict[str, ShellCommand]:
    """Return the commands that are no questions; a question does not need them."""
    from dwarfgpu.cli.debug import COMMANDS

    return COMMANDS


def _other_parser(name: str) -> _ArgumentParser:
    """Return the parser of a command that is no question."""
    command = _others()[name]
    parser = _parser(name, command.description, command.examples)
    for argument in command.arguments:
        _add(parser, argument, is_expression=False)
    if name == "debug":
        from dwarfgpu.cli.debug import add_arguments

        add_arguments(parser)
    if name == "completion":
        from dwarfgpu.cli.completion import SCRIPTS

        parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell")
        parser.add_argument(
            "words", nargs="*", default=[], help="after --: print what the last of these words can become"
        )
    forms = () if name in TEXT_ONLY else FORMS if name == "fleet" else ("json", "jsonl")
    _add_common(parser, has_answer=name not in TALKING, forms=forms, is_bounded=name == "fleet")
    return parser


def _other(name: str, words: list[str]) -> Any:
    """Read the words behind the name of a command that is no question."""
    command = _others()[name]
    arguments, rest = command.arguments, list[str]()
    parser = _other_parser(name)
    if command.takes_rest:
        words, rest = _up_to_program(words, parser, arguments)
    if name == "debug" and ARGS in words:
        at = words.index(ARGS)
        words, rest = words[:at], words[at + 1 :]
        if not rest:
            raise UsageError(f"{ARGS} needs a program", hint=f"dwarfgpu debug {ARGS} ./app 1024")
    words = _with_values(words, arguments)
    is_mixed = any(each.is_many and not each.is_option for each in arguments) and not command.takes_rest
    parser.words = words
    given = vars(parser.parse_intermixed_args(words) if is_mixed else parser.parse_args(words))
    options = argparse.Namespace(**{name.removeprefix("operand "): value for name, value in given.items()})
    options.typed, options.rest, options.begin = words, rest, None
    if name == "debug" and rest:
        from dwarfgpu.cli.programs import begin_debugging

        options.begin = partial(begin_debugging, options)
    elif name == "debug" and options.target:
        raise UsageError(
            "--target names the processor of a program that follows --args",
            hint="for a kernel, name the processor with its file: k.cl@gfx90a",
        )
    if name == "exec" and options.break_at_fault:
        from dwarfgpu.cli.programs import words_to_fault

        options = _other("debug", words_to_fault(options))
        options.begin.keywords["is_started"] = True
        return options
    _join_states(options)
    if name == "run":
        from dwarfgpu.cli.running import settle_output

        settle_output(options)

    def run_command(session: Session) -> int:
        try:
            return _others()[name].load()(session, options)
        except UsageError as error:
            for flag, following in _apart(words, arguments):
                if re.search(rf"argument {following!r} is not|no kernel {following!r}", error.message):
                    error.hint = f"did you mean {flag}={following}?"
            raise

    options.run = run_command
    return options


def _up_to_program(
    words: list[str], parser: _ArgumentParser, arguments: Iterable[Argument]
) -> tuple[list[str], list[str]]:
    """Return the words up to the name of another program, and those of that program."""
    bare = {f"-{dashes}{each.name}" for each in arguments if each.bare for dashes in ("", "-")}
    valued = parser.valued_flags() - bare
    at = 0
    if any(each.is_option for each in arguments):
        while at < len(words) and words[at].startswith("-") and words[at] != "--":
            at += 2 if words[at] in valued else 1
    if words[:1] in (["-h"], ["--help"]):
        return words, []
    at += words[at : at + 1] == ["--"]
    return [*(word for word in words[:at] if word != "--"), "--", *words[at : at + 1]], words[at + 1 :]


def _apart(words: list[str], arguments: Iterable[Argument]) -> Iterator[tuple[str, str]]:
    """Yield the options that were given without their value, each with the word behind it, which may be meant by it."""
    bare = [each for each in arguments if each.bare]
    flags = {f"{dashes}{each.name}={each.bare}": f"--{each.name}" for each in bare for dashes in ("-", "--")}
    return ((flags[word], following) for word, following in pairwise(words) if word in flags)


def _with_values(words: list[str], arguments: Iterable[Argument]) -> list[str]:
    """Return words in which an option that may be without its value has what it then means."""
    bare = {f"-{dashes}{each.name}": each.bare for each in arguments if each.bare for dashes in ("", "-")}
    return [f"{word}={bare[word]}" if word in bare else word for word in words]


def completion(session: Session, options: Any) -> int:
    """Print the script of a shell, or what completes the last of some words."""
    from dwarfgpu.cli.completion import SCRIPTS, completed

    if options.words:
        for line in completed(options.shell, options.words, summaries(), parser_of):
            session.print(line)
    else:
        path = Path(__file__).resolve().parents[1] / "share" / SCRIPTS[options.shell]
        session.out.write(path.read_text("utf-8"))
    return OK


def question_words(words: list[str]) -> tuple[dict[str, Any], Arguments, int]:
    """Read the words of a question that is asked elsewhere: what they select, the rest, and what it may cost."""
    command = AT_SHELL[words[0]]
    given = vars(_question(words[0], command, words[1:]))
    return _selected(command, given), _arguments(command, given, ""), _budget(given)


def _parser(name: str, description: str, examples: Sequence[str] = ()) -> _ArgumentParser:
    """Return a parser with the help of a command."""
    parser = _ArgumentParser(
        prog=f"dwarfgpu {name}",
        description=description,
        formatter_class=_HelpFormatter,
        epilog=_EXAMPLES + "\n".join(f"  {example}" for example in examples) if examples else None,
        allow_abbrev=False,
    )
    parser.register("action", None, _Once)  # of options with one value
    return parser


# --- Questions ----------------------------------------------------------------------------------------------------


def _question_parser(name: str, command: Command, *, needs_help: bool = True) -> _ArgumentParser:
    """Return the parser of a question."""
    options = command.shell_options
    about = f"{command.summary[0].upper()}{command.summary[1:]}. {command.help}" if needs_help else ""
    parser = _parser(name, _with_two_dashes(about, options), command.at_shell.examples)
    has_state = _has_state(command)
    for argument in (*command.at_shell.selects, *command.at_shell.operands, *options):
        is_free = has_state and argument.name in ("file", "state")
        told = evolve(argument, help=_with_two_dashes(argument.help, options)) if needs_help else argument
        _add(parser, told, is_expression=command.completes == "expression", is_free=is_free)
    if command.formats:
        parser.add_argument(
            "--format", metavar="F", help=f"how values are written, one of GDB's letters: {command.formats}"
        )
    own = [option.name for option in options]
    _add_common(parser, has_answer="o" not in own, forms=[form for form in FORMS if form not in own])
    return parser


def _has_state(command: Command) -> bool:
    """Whether a question takes FILE and a state, which may name its code."""
    return {"file", "state"} <= {argument.name for argument in command.at_shell.selects}


def _question(name: str, command: Command, words: list[str]) -> Any:
    """Read the words behind the name of a question."""
    parser = _question_parser(name, command, needs_help=not {"-h", "--help"}.isdisjoint(words))
    parser.words = words
    # argparse takes what begins with a dash for an option, unless there is a blank in it
    words = [f" {word}" if word.startswith(STDIN_PART) else word for word in _with_values(words, command.shell_options)]
    if command.completes == "expression":
        build = ("-D", "-I", "-O") if any(map(is_source, words)) else ()
        words = [f" {word}" if _is_negative(word) and not word.startswith(build) else word for word in words]
    # an operand that may be absent would be, for argparse, wherever options are before it
    positional = (*command.at_shell.selects, *command.at_shell.operands)
    is_mixed = any(argument.is_many or not argument.is_required for argument in positional)
    options = parser.parse_intermixed_args(words) if is_mixed else parser.parse_args(words)
    _join_states(options)
    if isinstance(getattr(options, "file", None), list):
        options.file, options.in_file = _files_and_name(options.file)
    elif _has_state(command):
        _settle_file(options, command, parser)
    options.run = lambda session: _ask(session, command, vars(options))
    return options


def _names_its_code(state: str | list[str], root: str | None) -> bool:
    from dwarfgpu.states.opening import names_its_code
    from dwarfgpu.states.program import paths_of  # which a question without a state does not need

    return names_its_code(paths_of(state), {"/": f"{root}/"} if root else None)


def _files_and_name(words: list[str]) -> tuple[str | tuple[str, ...] | None, str | None]:
    """Return FILE, all of the files if there are several, and the name of something in it, if it is no file."""
    if len(words) == 2 and not os.path.exists(words[1].partition("@")[0]):
        return words[0], words[1]
    return tuple(words) if len(words) > 1 else words[0] if words else None, None


def _check_states(states: str | list[str] | None) -> None:
    """Raise an error for a state that is no file: it may be why FILE seems to be missing."""
    if states is None:
        return
    from dwarfgpu.states.program import paths_of

    for path in paths_of(states):
        if path != "-" and not os.path.exists(path.rpartition("@")[0] or path):
            open_input(path).close()


def _settle_file(options: argparse.Namespace, command: Command, parser: _ArgumentParser) -> None:
    """Take a state in place of FILE as the state; where it names its code, FILE is the first operand, else needed."""
    needed = {argument.name for argument in command.at_shell.selects if argument.is_required}
    if options.state is None and options.file is not None:
        from dwarfgpu.states.program import is_state

        if is_state(options.file):
            options.state, options.file = options.file, None
    if options.state is None and "state" in needed:
        _check_states(options.file)
        parser.error("the following arguments are required: --state/-state")
    name: str | None = options.file
    if name is not None and (options.state is None or name == "-" or os.path.exists(name.partition("@")[0])):
        return
    if options.state is None or not _names_its_code(options.state, getattr(options, "sysroot", None)):
        _check_states(options.state)
        if name is None and "file" in needed:
            message = "the following arguments are required: FILE"
            if options.state is not None:
                raise UsageError(message, hint="the state names no code that is here: name it before --state")
            parser.error(message)
        return
    if name is None or "://" in name or not command.at_shell.operands:
        return
    if name.endswith(CODE_SUFFIXES) and (command.completes != "expression" or name.startswith(("/", "."))):
        return  # it is a file that is missing
    operand = command.at_shell.operands[0]
    later = getattr(options, _dest(operand))
    if operand.is_many:
        setattr(options, _dest(operand), [name, *(later or ())])
    elif later is None:
        setattr(options, _dest(operand), name)
    else:
        return
    options.file = None


def _with_two_dashes(text: str, arguments: Sequence[Argument]) -> str:
    """Return a text for the prompt in which the options are spelled as at the shell."""
    if not text:
        return text
    names = "|".join(re.escape(each.name) for each in arguments if each.is_option and len(each.name) > 1)
    return re.sub(rf"(?<![\w-])-(?=(?:{names})(?![\w-]))", "--", text) if names else text


def _add(parser: argparse.ArgumentParser, argument: Argument, *, is_expression: bool, is_free: bool = False) -> None:
    """Declare an argument of a question, which has one dash at the prompt, and one or two here."""
    fields: dict[str, Any] = {"help": argument.help}
    if argument.metavar is None:
        fields["action"] = "store_true"
    else:
        fields |= {"metavar": argument.metavar, "type": argument.value, "choices": argument.choices or None}
        if argument.is_bare:
            fields |= {"nargs": "?", "const": "", "metavar": argument.metavar.strip("[]"), "choices": None}
        if argument.bare:
            fields["metavar"] = f"[={argument.metavar}]"
    if not argument.is_option:
        if argument.is_many:
            fields |= {"nargs": "+"} if argument.is_required else {"nargs": "*", "default": None}
        elif not argument.is_required or is_free:
            fields["nargs"] = "?"
        parser.add_argument(_dest(argument), **fields)
        return
    fields["required"] = argument.is_required and not is_free
    if argument.is_many:
        fields["action"] = "append"
    flags = [argument.flag] if len(argument.name) == 1 else [f"--{argument.name}"]
    if not is_expression and len(argument.name) > 1:
        flags.append(argument.flag)
    flags += SHORT.get(argument.name, ())
    parser.add_argument(*flags, dest=_dest(argument), **fields)


def _join_states(options: argparse.Namespace) -> None:
    """Make the names of a state one text if there is one; several are a tuple."""
    states = getattr(options, "state", None)
    if isinstance(states, list):
        options.state = states[0] if len(states) == 1 else tuple(states)


def _dest(argument: Argument) -> str:
    """Return where the parser keeps a value. An operand may have the name of an option."""
    name = argument.name.replace("-", "_")
    if name in ("break", "if"):  # words of Python
        name += "_"
    return name if argument.is_option or name == "file" else f"operand {name}"


def _ask(session: Session, command: Command, given: dict[str, Any]) -> int:
    """Ask a question, and print the answer."""
    if command.name == "eval" and given["file"] is None and given["state"] not in (None, "-"):
        from dwarfgpu.cli import expression

        given = {**given, "file": expression.file_of_state(given)}
    if command.name == "eval" and is_alone(given):
        from dwarfgpu.cli import expression

        return expression.evaluate(session, given, _budget(given))
    output = session.output()
    output.binary = None if session.out.isatty() else getattr(session.out.raw, "buffer", None)
    selection = Selection(output)
    select(selection, _selected(command, given), read_input)
    arguments = _arguments(command, given, session.form)
    lent = selection.settings.lent(arguments.settings)
    with lent, budget.question(_budget(given)) as cost, session.reading(selection):
        document = command.load()(selection, arguments)
        assert document is not None  # noqa: S101 (it is a question)
        status = session.answer(document, selection)
    if cost.is_spent:
        session.hint(f"{cost.message}; {budget.HINT}")
        status = max(status, NO_ANSWER)
    return status


def _selected(command: Command, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the words of a question select."""
    return {each.name: given[_dest(each)] for each in command.at_shell.selects}


def _arguments(command: Command, given: dict[str, Any], form: str) -> Arguments:
    """Return the arguments of a question besides what it selects."""
    words: list[str] = []
    for operand in command.at_shell.operands:
        value = given[_dest(operand)]
        words += [] if value is None else value if operand.is_many else [value]
    if given.get("in_file") is not None:
        words.append(given["in_file"])
    settings: dict[str, str] = {}
    values: dict[str, Any] = {}
    for option in command.shell_options:
        value = given[_dest(option)]
        if value is None or value is False:
            continue
        if option.setting is not None:
            settings[option.setting.name] = "on" if value is True else value
        else:
            many = (value,) if isinstance(value, str) else value
            values[option.name] = "" if value is True else tuple(many) if option.is_many else value
    return Arguments(
        command, (given.get("format") or "").removeprefix("/"), values, " ".join(words), settings, form, tuple(words)
    )


def _budget(given: dict[str, Any]) -> int:
    """Return what the answer may cost."""
    settings = Settings()
    if given["budget"] is not None:
        settings.set("budget", given["budget"])
    size: int = settings["budget"]
    return size


def _is_negative(word: str) -> bool:
    """Whether a word is an expression such as ``-x``: options of commands that read expressions have two dashes."""
    return word[:1] == "-" and word[1:2] not in ("", "-") and word not in ("-h", "-o", *chain(*SHORT.values()))


class _HelpFormatter(argparse.HelpFormatter):
    """Writes help as wide as the screen. Words stay whole, and an example that is cut goes on as shells have it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_help_width() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(_EXAMPLES):
            return "\n".join(line for each in text.split("\n") for line in _example(each, width))
        texts = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        return "\n\n".join("\n".join(wrapped(text, width)) for text in texts)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return the flags of an option, without that of the prompt: it has one dash where another has two."""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        flags = ", ".join(flag for flag in action.option_strings if f"-{flag}" not in action.option_strings)
        value = "" if action.nargs == 0 else self._format_args(action, action.dest.upper())
        return f"{flags} {value}".rstrip().replace(" [=", "[=")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width)


_EXAMPLES = "examples:\n"
_SHELL_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")


def _example(line: str, width: int) -> list[str]:
    """Return a line of a shell in lines that fit, each but the last with a backslash at its end."""
    lines = [line[: len(line) - len(line.lstrip())]]
    for word in _SHELL_WORD.findall(line):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > width - 2:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1].strip() or len(lines) > 1 else word
    return lines


def _help_width() -> int:
    """Return how wide help is: argparse would ask `shutil`, which costs start-up time."""
    return SafeStream(sys.stdout).width or WIDTH


def _add_common(
    parser: argparse.ArgumentParser, *, has_answer: bool, forms: Iterable[str], is_bounded: bool = True
) -> None:
    if any(action.dest in ("file", "operand source") for action in parser._actions):  # noqa: SLF001
        build = parser.add_argument_group("if the file is a source")
        build.add_argument("-O", metavar="LEVEL", help="how much clang optimizes: 0, 1, 2, 3, s (0)")
        build.add_argument("-D", metavar="NAME[=VALUE]", action="append", help="define a macro; repeatable")
        build.add_argument("-I", metavar="FOLDER", action="append", help="look for included files there; repeatable")
    common = parser.add_argument_group("output")
    parser.set_defaults(form="")
    one = common.add_mutually_exclusive_group() if forms else common  # argparse cannot have a group without options
    for form in forms:
        one.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=FORMS[form])
    common.add_argument("--color", choices=COLORS, default=COLORS[0], help="use colour (auto)")
    if is_bounded:
        common.add_argument(
            "--budget",
            metavar="N",
            help="stop an answer that takes more than N steps: operations, members, elements (1048576), or `unlimited`",
        )
    if has_answer:
        common.add_argument("-o", "--output", metavar="FILE", help="write the answer to a file, only if it is complete")
    common.add_argument("--debug", action="store_true", help="show the Python traceback of an error")


def summaries() -> dict[str, str]:
    """Return what each command of the shell is for."""
    known = {name: command.summary for name, command in _others().items()}
    known |= {command.at_shell.names[0]: command.summary for command in AT_SHELL.values()}
    return known


def parsers() -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield each command of the shell: its name, what it is for, and its parser."""
    for name, summary in summaries().items():
        parser = parser_of(name)
        assert parser is not None  # noqa: S101 (it is a command)
        yield name, summary, parser


def parser_of(name: str) -> argparse.ArgumentParser | None:
    """Return the parser of a command of the shell, if it is one."""
    if name in AT_SHELL:
        return _question_parser(name, AT_SHELL[name])
    if name in _others():
        return _other_parser(name)
    return None


FEATURED = ("demo", "debug", "fault", "waves", "bt", "eval", "run", "compile", "judge", "verify", "snapshot")
"""The commands that `--help` shows first in their group."""
MOST_SHOWN = 4
"""The lines that a group has in `--help`."""


def _overview(*, is_full: bool) -> str:
    """Return the help of the program: all commands with what they do, or the most needed ones and the other names."""
    known = summaries()
    groups = {name: command.group for name, command in _others().items()}
    groups |= {name: command.at_shell.group for name, command in AT_SHELL.items()}
    width = max(map(len, known))
    lines = ["usage: dwarfgpu COMMAND [OPTION...]", "       dwarfgpu --version", ""]
    lines += ["Debug GPU kernels without a GPU: run, check, step back, read core files, judge debug information.", ""]
    for group in SHELL_GROUPS:
        ranked = dict.fromkeys((*FEATURED, *known))
        names = [name for name in ranked if groups.get(name, CONVERT) == group]
        shown = names if is_full or len(names) <= MOST_SHOWN else names[: MOST_SHOWN - 1]
        others = names[len(shown) :]
        lines += [f"{group}:", *(f"  {name:{width}}  {known[name]}" for name in shown)]
        lines += [f"  {'also':{width}}  {', '.join(others)}"] if others else []
        lines.append("")
    lines += [] if is_full else ["`dwarfgpu help` says what all commands do."]
    lines += ["`dwarfgpu COMMAND --help` shows the options of a command.", "`dwarfgpu docs` lists the documentation."]
    indents = ((line, width + 4 if line.startswith("  ") else 0) for line in lines)
    return "".join(f"{part}\n" for line, indent in indents for part in folded(line, _help_width(), indent))


def _unknown(name: str) -> UsageError:
    if is_source(name):
        hint = f"`dwarfgpu kernels {name}` lists its kernels, `dwarfgpu run {name} KERNEL ...` executes one"
        return UsageError(f"{name} is a source, and the first word must be a command", hint=hint)
    if os.path.exists(name.partition("@")[0]):
        if name.endswith((".json", ".dgs")) or "core" in name.rpartition("/")[2]:
            hint = f"`dwarfgpu fault {name}` says why its waves have crashed, `dwarfgpu debug --state {name}` opens it"
        else:
            hint = f"`dwarfgpu debug {name}` opens it in the debugger, `dwarfgpu info {name}` says what it is"
        return UsageError(f"{name} is a file, and the first word must be a command", hint=hint)
    from dwarfgpu.questions.table import COMMANDS

    names = (*AT_SHELL, *_others(), "help")
    if any(command.name == name for command in COMMANDS):
        near: str | None = f"`dwarfgpu debug FILE KERNEL ... -ex {name!r}` gives it to the debugger, which has it"
    else:
        near = nearest_hint(name, names, f"the commands are {', '.join(names)}")
    return UsageError(f"there is no command {name!r}", hint=near)
