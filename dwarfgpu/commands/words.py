"""What stands behind the name of a command: a format, options, and the rest."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.records import record

if TYPE_CHECKING:
    from dwarfgpu.commands.registry import Command

_WORD = re.compile(r"\s*(\S+)")


@record
class Arguments:
    """The arguments of a command, read as its row says."""

    command: Command
    format: str
    """What stood behind the slash."""
    options: dict[str, str]
    """The options that were given, without their dash; empty for one that takes no argument."""
    text: str
    """The rest: an expression, a name, words."""

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

    def pattern(self) -> re.Pattern[str]:
        """The rest as a regular expression."""
        import warnings

        try:
            with warnings.catch_warnings():  # of what a later Python reads in another way
                warnings.simplefilter("ignore", FutureWarning)
                return re.compile(self.text)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.wrong(f"takes a regular expression: {error}") from None

    def wrong(self, message: str) -> UsageError:
        """An error about the arguments."""
        return UsageError(f"`{self.command.name}` {message}", hint=f"it is written `{self.command.usage}`")


def read_arguments(command: Command, text: str) -> Arguments:
    """Read the text behind the name of a command."""
    form = ""
    if command.formats:  # `p /x 1` as well as `p/x 1`
        text = text.lstrip()
    if text.startswith("/"):
        if not command.formats:
            raise UsageError(f"`{command.name}` has no formats, so no slash", hint=f"`{command.usage}`")
        match = _WORD.match(text)
        form = "" if match is None else match.group(1)[1:]
        text = text[1 + len(form) :]
    options: dict[str, str] = {}
    known = {option.flag: option for option in command.options}
    while known and (match := _WORD.match(text)) is not None and match.group(1).startswith("-"):
        flag = match.group(1)
        if flag == "--":  # what follows is no option, even if it begins with a dash
            text = text[match.end() :]
            break
        meant = [flag] if flag in known else [name for name in known if name.startswith(flag)]
        if flag[1:2].isdecimal():
            break  # a number
        if len(meant) != 1 or not flag[1:2].isalpha():
            if command.completes == "expression" and not meant:
                break  # a minus
            what = f"is {' or '.join(meant)}" if meant else "is no option of it"
            raise UsageError(f"`{command.name}`: {flag[:40]} {what}", hint=f"it is written `{command.usage}`")
        option = known[meant[0]]
        text = text[match.end() :]
        value = ""
        if option.metavar is not None:
            match = _WORD.match(text)
            if match is None:
                raise UsageError(f"`{command.name}`: {option.flag} needs {option.metavar}")
            value = match.group(1)
            text = text[match.end() :]
        options[option.flag[1:]] = value
    return Arguments(command, form, options, text.strip())
