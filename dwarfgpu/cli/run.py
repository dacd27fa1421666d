"""From the words of a command line to a command that runs, and from what it raises to an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu.cli import registry
from dwarfgpu.cli.session import INTERRUPTED, OK, STDIN_PART, USAGE, Session
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser that raises our error instead of printing its own."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` shows the options")


def run(words: Sequence[str]) -> int:
    """Run a command line; return the exit status."""
    debug = "--debug" in words
    _have_streams()
    session = Session()
    try:
        options = _parse(list(words))
        if options is None:
            return OK
        session = Session(options.color, as_json=options.json, as_lines=options.jsonl)
        status: int = options.command.run(session, options)
        session.out.flush()
    except DwarfGpuError as error:
        if debug:
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
        message = f"the first word must be a command, not {name}"
        raise UsageError(message, hint="`dwarfgpu --help` lists the commands")
    if name not in registry.ROWS:
        raise _unknown(name)
    command = registry.load(name)
    parser = _ArgumentParser(
        prog=f"dwarfgpu {name}",
        description=command.description,
        formatter_class=_formatter,
        epilog="examples:\n" + "\n".join(f"  {example}" for example in command.examples),
        allow_abbrev=False,
    )
    for declared in command.arguments:
        parser.add_argument(*declared.flags, **declared.options)
    _add_common(parser)
    # argparse takes what begins with a dash for an option, unless there is a blank in it
    words = [f" {word}" if word.startswith(STDIN_PART) else word for word in words]
    many = any(declared.options.get("nargs") == "*" for declared in command.arguments)
    if any(declared.flags == ("expressions",) for declared in command.arguments):
        words = [f" {word}" if _is_negative(word) else word for word in words]
    options = parser.parse_intermixed_args(words) if many else parser.parse_args(words)
    options.command = command
    return options


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
    common.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="use colour (auto)"
    )
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _overview() -> str:
    width = max(map(len, registry.ROWS))
    lines = [f"  {name:{width}}  {row.summary}" for name, row in registry.ROWS.items()]
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

    close = get_close_matches(name, registry.ROWS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(registry.ROWS)}"
    return UsageError(f"there is no command {name!r}", hint=hint)


def _silence(stream: Any) -> None:
    """Point a stream whose reader has gone at nothing, so that closing it at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
