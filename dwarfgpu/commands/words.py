"""What stands behind the name of a command: a format, options, and the rest."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.commands.registry import Command, Option

_WORD = re.compile(r"\s*(\S+)")
_END = re.compile(r"(?<!\S)--(?!\S)")
"""What ends options. As in gdb, an expression may begin like the beginning of an option only where this is missing."""
_SWITCH = ("on", "off", "yes", "no", "enable", "disable")


@frozen
class Arguments:
    """The arguments of a command, read as its row says."""

    command: Command
    format: str
    """What stood behind the slash."""
    options: dict[str, str]
    """The options that were given, without their dash; empty for one that takes no argument."""
    text: str
    """The rest: an expression, a name, words."""
    settings: dict[str, str]
    """Settings that are others while the command runs, as options say."""

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.options

    def get(self, name: str) -> str | None:
        """The argument of an option; None if it was not given."""
        return self.options.get(name)

    @property
    def words(self) -> list[str]:
        """The rest as words, in which quotes keep blanks."""
        try:
            return shlex.split(self.text)
        except ValueError as error:
            raise UsageError(f"{self.text[:60]}: {str(error).lower()}", hint="quotes come in pairs") from None

    def none(self) -> None:
        """There must be no rest."""
        if self.text:
            raise self.wrong(f"takes no arguments, and {self.text[:40]!r} is one")

    def needed(self) -> str:
        """The rest, which must not be empty."""
        if not self.text:
            raise self.wrong(f"needs {self.command.operands or 'an argument'}")
        return self.text

    def integer(self) -> int | None:
        """The rest as a number; None if it is empty."""
        if not self.text:
            return None
        try:
            return int(self.text, 0)
        except ValueError:
            raise self.wrong(f"takes a number, and {self.text[:40]!r} is none") from None

    def pattern(self, option: str | None = None) -> re.Pattern[str]:
        """The rest, or what stands behind an option, as a regular expression."""
        import warnings

        text = self.text if option is None else self.options.get(option, "")

        try:
            with warnings.catch_warnings():  # of what a later Python reads in another way
                warnings.simplefilter("ignore", FutureWarning)
                return re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.wrong(f"takes a regular expression: {error}") from None

    def wrong(self, message: str) -> UsageError:
        """An error about the arguments."""
        return UsageError(f"`{self.command.name}` {message}", hint=f"it is written `{self.command.usage}`")


def read_arguments(command: Command, text: str) -> Arguments:
    """Read the text behind the name of a command."""
    form, text = _format(command, text)
    options: dict[str, str] = {}
    settings: dict[str, str] = {}
    while command.options and (match := _WORD.match(text)) is not None and match[1].startswith("-"):
        after = text[match.end() :]
        if match[1] == "--":  # what follows is no option, even if it begins with a dash
            text = after
            break
        option = _option(command, match[1], after)
        if option is None:
            break
        value, text = _value(command, option, after)
        if option.setting is not None:
            settings[option.setting.name] = value
        else:
            options[option.flag[1:]] = value
    if not form:  # gdb has it behind the options
        form, text = _format(command, text)
    return Arguments(command, form, options, text.strip(), settings)


def _format(command: Command, text: str) -> tuple[str, str]:
    """What stands behind a slash, and the text behind it. `p /x 1` is read as well as `p/x 1`."""
    whole = text.lstrip() if command.formats else text
    if not whole.startswith("/"):
        return "", text
    if not command.formats:
        raise UsageError(f"`{command.name}` has no formats, so no slash", hint=f"`{command.usage}`")
    match = _WORD.match(whole)
    form = "" if match is None else match[1][1:]
    return form, whole[1 + len(form) :]


def _option(command: Command, flag: str, after: str) -> Option | None:
    """The option that a word is; None if what begins with it is the operand."""
    known = {option.flag: option for option in command.options}
    if flag in known:
        return known[flag]
    if flag[1:2].isdecimal():
        return None  # a number
    meant = [name for name in known if name.startswith(flag)]
    is_expression = command.completes == "expression"
    if is_expression and not _END.search(after) and (not meant or any(known[each].setting for each in meant)):
        return None  # a minus
    if len(meant) != 1 or not flag[1:2].isalpha():
        what = f"is {' or '.join(meant)}" if meant else "is no option of it"
        raise UsageError(f"`{command.name}`: {flag[:40]} {what}", hint=f"it is written `{command.usage}`")
    return known[meant[0]]


def _value(command: Command, option: Option, after: str) -> tuple[str, str]:
    """The argument of an option, and the text behind it."""
    match = _WORD.match(after)
    if option.metavar is None:
        return "", after
    if option.setting is not None and isinstance(option.setting.default, bool):
        is_said = match is not None and match[1] in _SWITCH
        return (match[1], after[match.end() :]) if match is not None and is_said else ("on", after)
    if match is None or match[1] == "--":
        raise UsageError(f"`{command.name}`: {option.flag} needs {option.metavar}")
    return match[1], after[match.end() :]
