"""From the words of a command line to a command that runs, and from what it raises to an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu.cli import debug
from dwarfgpu.cli.session import INTERRUPTED, OK, USAGE, Progress, Session, is_alone, read_input
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions.registry import Arguments
from dwarfgpu.questions.selection import STDIN_PART
from dwarfgpu.questions.table import AT_SHELL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.questions.registry import Argument, Command


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser that raises our error instead of printing its own."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` shows the options")


def run(words: Sequence[str]) -> int:
    """Run a command line; return the exit status."""
    shows_traceback = "--debug" in words
    _have_streams()
    session = Session()
    try:
        options = _parse(list(words))
        if options is None:
            return OK
        session = Session(options.color, as_json=options.json, as_lines=options.jsonl)
        status: int = options.run(session)
        session.out.flush()
    except DwarfGpuError as error:
        if shows_traceback:
            raise
        return session.report(error)
    except BrokenPipeError:
        _silence(sys.stdout)
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as stop:  # argparse has printed help
        return stop.code if isinstance(stop.code, int) else USAGE
    return status


def _have_streams() -> None:
    """Python has nothing in place of a stream that was closed by whoever started it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 (as long as the program runs)


def _parse(words: list[str]) -> Any:
    """The options of a command, or None when there is nothing to run."""
    if not words:
        raise UsageError("a command is needed", hint="`dwarfgpu --help` lists the commands")
    if words[0] in ("-h", "--help", "help"):
        sys.stdout.write(_overview())
        return None
    name = words.pop(0)
    if name.startswith("-"):
        raise UsageError(f"the first word must be a command, not {name}", hint="`dwarfgpu --help` lists the commands")
    if name == "lists" or (name == "cfi" and any(word.partition("=")[0] == "--cases" for word in words)):
        return _cases(name, words)
    if name in AT_SHELL:
        return _question(name, AT_SHELL[name], words)
    if name not in debug.SUMMARIES:
        raise _unknown(name)
    parser = _parser(name, debug.DESCRIPTIONS[name], debug.EXAMPLES[name])
    if name == "debug":
        for argument in debug.SELECTS:
            _add(parser, argument, is_expression=False)
        debug.add_arguments(parser)
    _add_common(parser)
    options = parser.parse_args(words)
    options.run = lambda session: debug.RUN[name](session, options)
    return options


def _parser(name: str, description: str, examples: Sequence[str] = ()) -> _ArgumentParser:
    """Return a parser with the help of a command."""
    return _ArgumentParser(
        prog=f"dwarfgpu {name}",
        description=description,
        formatter_class=_formatter,
        epilog="\n".join(("examples:", *(f"  {example}" for example in examples))) if examples else None,
        allow_abbrev=False,
    )


def _cases(name: str, words: list[str]) -> Any:
    """Read the words of a command that answers a file of cases."""
    from dwarfgpu.cli import cases

    parser = _parser(name, "Read sections in hex, a case a line, and answer each as JSON on a line.")
    parser.add_argument("--cases", metavar="FILE", required=True, help="a case a line; - for standard input")
    _add_common(parser)
    options = parser.parse_args(words)
    options.run = lambda session: cases.sections(session, name, options.cases)
    return options


# --- Questions --------------------------------------------------------------------------------------------------------


def _question(name: str, command: Command, words: list[str]) -> Any:
    """Read the words behind the name of a question."""
    assert command.shell is not None  # noqa: S101 (it is a name that a command has at the shell)
    needs_help = "-h" in words or "--help" in words
    parser = _parser(name, _help(command) if needs_help else "", command.shell.examples)
    is_expression = command.completes == "expression"
    for argument in (*command.shell.selects, *command.shell.operands, *command.shell_options):
        _add(parser, argument, is_expression=is_expression)
    if command.formats:
        parser.add_argument("--format", metavar="F", help=f"how values are written: {command.formats}")
    _add_common(parser)
    # argparse takes what begins with a dash for an option, unless there is a blank in it
    words = [f" {word}" if word.startswith(STDIN_PART) else word for word in words]
    if is_expression:
        words = [f" {word}" if _is_negative(word) else word for word in words]
    is_many = any(operand.is_many for operand in command.shell.operands)
    options = parser.parse_intermixed_args(words) if is_many else parser.parse_args(words)
    options.run = lambda session: _ask(session, command, vars(options))
    return options


def _add(parser: argparse.ArgumentParser, argument: Argument, *, is_expression: bool) -> None:
    """Declare an argument of a question, which has one dash at the prompt, and one or two here."""
    fields: dict[str, Any] = {"help": argument.help}
    if argument.metavar is None:
        fields["action"] = "store_true"
    else:
        fields |= {"metavar": argument.metavar, "type": argument.value}
    if not argument.is_option:
        if argument.is_many:
            fields["nargs"] = "+" if argument.is_required else "*"
        elif not argument.is_required:
            fields["nargs"] = "?"
        parser.add_argument(_dest(argument), **fields)
        return
    if argument.is_many:
        fields["action"] = "append"
    flags = [argument.flag] if len(argument.name) == 1 else [f"--{argument.name}"]
    if not is_expression and len(argument.name) > 1:
        flags.append(argument.flag)
    parser.add_argument(*flags, dest=_dest(argument), required=argument.is_required, **fields)


def _dest(argument: Argument) -> str:
    """Return where the parser keeps a value. An operand may have the name of an option."""
    name = argument.name.replace("-", "_")
    return name if argument.is_option or name == "file" else f"operand {name}"


def _help(command: Command) -> str:
    """Return what help says above the options."""
    from dwarfgpu.render.layout import WIDTH, wrapped

    summary = f"{command.summary[0].upper()}{command.summary[1:]}. {command.details}"
    texts = [" ".join(paragraph.split()) for paragraph in summary.split("\n\n")]
    return "\n\n".join("\n".join(wrapped(text, WIDTH - 2)) for text in texts)


def _ask(session: Session, command: Command, given: dict[str, Any]) -> int:
    """Ask a question, and print the answer."""
    from dwarfgpu.questions.output import Output
    from dwarfgpu.questions.selection import Selection, select

    assert command.shell is not None  # noqa: S101 (it was asked at the shell)
    if command.name == "eval" and is_alone(given):
        from dwarfgpu.cli import cases

        return cases.evaluate(session, given)
    output = Output(session.out.write, session.style)
    output.progress = partial(Progress, session)
    output.binary = None if session.out.isatty() else getattr(session.out, "buffer", None)
    selection = Selection(output)
    select(selection, {each.name: given[_dest(each)] for each in command.shell.selects}, read_input)
    words: list[str] = []
    for operand in command.shell.operands:
        value = given[_dest(operand)]
        words += [] if value is None else value if operand.is_many else [value]
    settings: dict[str, str] = {}
    values: dict[str, Any] = {}
    for option in command.shell_options:
        value = given[_dest(option)]
        if value is None or value is False:
            continue
        if option.setting is not None:
            settings[option.setting.name] = "on" if value is True else value
        else:
            values[option.name] = "" if value is True else tuple(value) if option.is_many else value
    arguments = Arguments(
        command,
        (given.get("format") or "").removeprefix("/"),
        values,
        " ".join(words),
        settings,
        session.form,
        tuple(words),
    )
    with selection.settings.lent(settings):
        document = command.load()(selection, arguments)
        assert document is not None  # noqa: S101 (it is a question)
        return session.answer(document, selection)


def _is_negative(word: str) -> bool:
    """Whether a word is an expression such as ``-x``: options of commands that read expressions have two dashes."""
    return word[:1] == "-" and word[1:2] not in ("", "-") and word != "-h"


def _formatter(prog: str) -> argparse.HelpFormatter:
    """What argparse writes help with. It would ask `shutil` for the width, which costs start-up time."""
    try:
        width = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        width = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=width - 2)


def _add_common(parser: argparse.ArgumentParser) -> None:
    common = parser.add_argument_group("output")
    form = common.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument("--jsonl", action="store_true", help="print one JSON document a line")
    common.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="use colour (auto)")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _overview() -> str:
    known = dict(debug.SUMMARIES)
    known |= {command.shell.names[0]: command.summary for command in AT_SHELL.values() if command.shell}
    known["lists"] = "read location lists from a file of cases"
    width = max(map(len, known))
    lines = [f"  {name:{width}}  {summary}" for name, summary in known.items()]
    return "\n".join(
        [
            "usage: dwarfgpu COMMAND [OPTION...]",
            "       dwarfgpu --version",
            "",
            "Evaluate the DWARF that GPU compilers emit, without a GPU.",
            "",
            "commands:",
            *lines,
            "",
            "`dwarfgpu COMMAND --help` shows the options of a command.",
            "",
        ]
    )


def _unknown(name: str) -> UsageError:
    from difflib import get_close_matches

    names = (*AT_SHELL, *debug.SUMMARIES)
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(names)}"
    return UsageError(f"there is no command {name!r}", hint=hint)


def _silence(stream: Any) -> None:
    """Point a stream whose reader has gone at nothing, so that closing it at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
