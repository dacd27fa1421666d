"""Completion scripts for bash, zsh and fish, and the manual page: made of the parsers that also print the help."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable


@frozen
class ShellOption:
    """An option of a command, as a shell completes it."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None
    """What its value is called; None if it has none."""
    choices: tuple[str, ...] = ()


@frozen
class ShellCommand:
    """A command of the shell with its options."""

    name: str
    summary: str
    options: tuple[ShellOption, ...]
    choices: tuple[str, ...]
    """The words that its operand may be, where it is one of some."""


def commands_of(parsers: Iterable[tuple[str, str, argparse.ArgumentParser]]) -> list[ShellCommand]:
    """Return the commands of the shell, given by name, what they are for, and parser."""
    known = []
    for name, summary, parser in parsers:
        actions = parser._actions  # noqa: SLF001 (argparse has no other way to ask)
        options = tuple(_option(action) for action in actions if action.option_strings)
        operands = [action for action in actions if not action.option_strings and action.choices]
        choices = tuple(map(str, operands[0].choices or ())) if operands else ()
        known.append(ShellCommand(name, summary, options, choices))
    return known


def _option(action: argparse.Action) -> ShellOption:
    metavar = None if action.nargs == 0 else str(action.metavar or action.dest).upper()
    choices = tuple(map(str, action.choices or ()))
    return ShellOption(tuple(action.option_strings), action.help or "", metavar, choices)


def script(shell: str, known: list[ShellCommand]) -> str:
    """Return the completion script of a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](known)


# --- bash ---------------------------------------------------------------------------------------------------------


def _bash(known: list[ShellCommand]) -> str:
    lines = [
        '# dwarfgpu: completion for bash. eval "$(dwarfgpu completion bash)"',
        "_dwarfgpu() {",
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    COMPREPLY=($(compgen -W '{' '.join(command.name for command in known)} help --version' -- \"$word\"))",
        "    return",
        "  fi",
        '  case "$command $before" in',
    ]
    for command in known:
        for option in command.options:
            if option.choices:
                names = "|".join(f"'{command.name} {flag}'" for flag in option.flags)
                lines.append(
                    f"    {names}) COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$word\")); return ;;"
                )
    lines += ["  esac", "  local options= words=", '  case "$command" in']
    for command in known:
        flags = " ".join(_long(option) for option in command.options)
        words = f"; words='{' '.join(command.choices)}'" if command.choices else ""
        lines.append(f"    {command.name}) options='{flags}'{words} ;;")
    lines += [
        "  esac",
        '  case "$word" in',
        '    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;',
        '    *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;',
        "  esac",
        "}",
        "complete -o filenames -F _dwarfgpu dwarfgpu",
    ]
    return "\n".join(lines) + "\n"


def _long(option: ShellOption) -> str:
    """Return the longest way to write an option."""
    return max(option.flags, key=len)


# --- zsh ----------------------------------------------------------------------------------------------------------


def _zsh(known: list[ShellCommand]) -> str:
    lines = ["#compdef dwarfgpu", "_dwarfgpu() {", "  local -a commands", "  commands=("]
    lines += [f"    {_quoted(f'{command.name}:{command.summary}')}" for command in known]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe -t commands command commands",
        "    return",
        "  fi",
        "  local command=${words[2]}",
        '  words=("dwarfgpu $command" "${(@)words[3,-1]}")',
        "  (( CURRENT -= 1 ))",
        "  case $command in",
    ]
    for command in known:
        lines.append(f"    {command.name}) _arguments \\")
        for option in command.options:
            text = option.help.replace("[", "(").replace("]", ")").replace(":", ",")
            value = ""
            if option.metavar is not None:
                action = f"({' '.join(option.choices)})" if option.choices else "_files"
                value = f":{option.metavar}:{action}"
            lines.append(f"      {_quoted(f'{_long(option)}[{text}]{value}')} \\")
        operand = f"({' '.join(command.choices)})" if command.choices else "_files"
        lines.append(f"      {_quoted(f'*::operand:{operand}')} ;;")
    lines += ["  esac", "}", '_dwarfgpu "$@"']
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish ---------------------------------------------------------------------------------------------------------


def _fish(known: list[ShellCommand]) -> str:
    lines = [
        f"complete -c dwarfgpu -n __fish_use_subcommand -f -a {command.name} -d {_escaped(command.summary)}"
        for command in known
    ]
    for command in known:
        head = f"complete -c dwarfgpu -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            parts = [f"-l {flag[2:]}" for flag in option.flags if flag.startswith("--")]
            parts += [f"-s {flag[1:]}" for flag in option.flags if len(flag) == 2]
            if not parts:
                parts = [f"-o {option.flags[0][1:]}"]
            if option.metavar is not None:
                parts.append("-r")
            if option.choices:
                parts.append(f"-f -a {_escaped(' '.join(option.choices))}")
            lines.append(f"{head} {' '.join(parts)} -d {_escaped(option.help)}")
        if command.choices:
            lines.append(f"{head} -f -a {_escaped(' '.join(command.choices))}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Return a text as one word of fish, in which a backslash escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# --- The manual page ----------------------------------------------------------------------------------------------


def manual(version: str, known: list[ShellCommand]) -> str:
    """Return the manual page, as troff reads it."""
    lines = [
        f'.TH DWARFGPU 1 "" "dwarfgpu {version}" "User Commands"',
        ".SH NAME",
        "dwarfgpu \\- evaluate the DWARF debug information that GPU compilers emit, without a GPU",
        ".SH SYNOPSIS",
        ".B dwarfgpu",
        ".I COMMAND",
        "[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]",
        ".SH DESCRIPTION",
        "dwarfgpu reads AMDGPU code objects and host programs, and says what variables, frames and lanes are in a",
        "snapshot, a core file, or a file of code alone. Options have one or two dashes; what begins with a dash",
        "behind",
        ".B \\-\\-",
        "is an operand.",
        ".SH COMMANDS",
    ]
    for command in known:
        lines += [f".SS {command.name}", _roff(f"{command.summary[0].upper()}{command.summary[1:]}.")]
        for option in command.options:
            flags = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in option.flags)
            value = "" if option.metavar is None else f" \\fI{_roff('|'.join(option.choices) or option.metavar)}\\fR"
            lines += [".TP", f"{flags}{value}", _roff(option.help)]
    lines += [
        ".SH EXIT STATUS",
        "0: there is an answer. 1: the question has no answer, or something is wrong with what was checked. 2: the",
        "words of the command line are wrong. 3: an input file is malformed or cannot be read. 130: interrupted.",
        ".SH ENVIRONMENT",
        ".B NO_COLOR, FORCE_COLOR, COLUMNS, XDG_CACHE_HOME, XDG_STATE_HOME",
    ]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Return a text in which nothing is a request or an escape of troff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
