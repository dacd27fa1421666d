"""The manual page, made of the parsers that also print the help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


def manual(version: str, known: Iterable[tuple[str, str, argparse.ArgumentParser]]) -> str:
    """Return the manual page of commands, as troff reads it: of each the name, what it is for, and its parser."""
    lines = [
        f'.TH DWARFGPU 1 "" "dwarfgpu {version}" "User Commands"',
        ".SH NAME",
        "dwarfgpu \\- debug GPU kernels without a GPU, and judge their debugging information",
        ".SH SYNOPSIS",
        ".B dwarfgpu",
        ".I COMMAND",
        "[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]",
        ".SH DESCRIPTION",
        "dwarfgpu reads AMDGPU code objects and host programs, and says what variables, frames and lanes are in a",
        "snapshot, a core file, or a file of code alone. It also compiles kernels, executes them and checks them.",
        "Options have one or two dashes; a word that begins with a dash after",
        ".B \\-\\-",
        "is an operand. The pages of the documentation are printed by",
        '.BR "dwarfgpu docs" .',
        ".SH COMMANDS",
    ]
    for name, summary, parser in known:
        lines += [f".SS {name}", _roff(f"{summary[0].upper()}{summary[1:]}.")]
        for action in parser._actions:  # noqa: SLF001 (argparse has no other way to ask)
            if not action.option_strings:
                continue
            flags = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in action.option_strings)
            words = "|".join(map(str, action.choices or ())) or str(action.metavar or action.dest).upper()
            value = "" if action.nargs == 0 else f" \\fI{_roff(words)}\\fR"
            lines += [".TP", f"{flags}{value}", _roff(action.help or "")]
    lines += [
        ".SH EXIT STATUS",
        "0: there is an answer. 1: the question has no answer, or something is wrong with what was checked. 2: the",
        "words of the command line are wrong. 3: an input file is malformed or cannot be read. 130: interrupted.",
        "While Python itself starts, which took 18 ms where it was measured, ^C ends it in Python's own words.",
        ".SH ENVIRONMENT",
        ".B NO_COLOR, FORCE_COLOR, COLUMNS, XDG_CACHE_HOME, XDG_STATE_HOME",
    ]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Return a text in which nothing is a request or an escape of troff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
