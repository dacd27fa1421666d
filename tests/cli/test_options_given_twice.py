"""No option drops a value in silence: a second one is refused, unless the row of the option says that it collects."""

import argparse
from typing import Any

import pytest

from dwarfgpu.cli.run import parsers
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.registry import Argument, Command, read_arguments
from dwarfgpu.questions.table import COMMANDS
from tests.builders.parameters import in_one_test

VALUES = ("1", "2", "64", "x", "y", "32", "little", "big", "dwarf5", "on", "off")


def two_values(read: Any, choices: Any) -> list[str]:
    """Return two values that differ and that an option takes."""
    taken: dict[Any, str] = {}
    for text in [*map(str, choices or ()), *VALUES]:
        try:
            value = text if read is None else read(text)
        except (UsageError, ValueError):
            continue
        if not choices or value in choices:
            taken.setdefault(value, text)
    return list(taken.values())[:2]


AT_SHELL = [
    (name, action.option_strings[0])
    for name, _summary, parser in parsers()
    for action in parser._actions
    if action.option_strings and action.nargs != 0
]


@pytest.fixture(scope="module")
def known_parsers() -> dict[str, argparse.ArgumentParser]:
    return {name: parser for name, _summary, parser in parsers()}


@in_one_test("name, flag", AT_SHELL)
def test_at_the_shell(known_parsers: dict[str, argparse.ArgumentParser], name: str, flag: str) -> None:
    parser = known_parsers[name]
    for action in parser._actions:
        action.required = False
    action = parser._option_string_actions[flag]
    values = two_values(action.type, action.choices)
    if len(values) < 2 or action.nargs == argparse.REMAINDER:  # what is behind it belongs to another program
        return
    words = [f"{flag}={value}" if flag.startswith("--") else f"{flag}{value}" for value in values]
    if isinstance(action, argparse._AppendAction) or (name == "debug" and action.dest == "commands"):
        parser.parse_known_args(words)
        return
    with pytest.raises(UsageError, match=f"{flag} takes one value, but has "):
        parser.parse_known_args(words)


OF_PROMPT = [(command, option) for command in COMMANDS for option in command.options if option.metavar is not None]


@in_one_test("command, option", OF_PROMPT)
def test_at_the_prompt(command: Command, option: Argument) -> None:
    if option.is_bare and not option.choices:
        return  # the word behind it is another argument
    values = two_values(option.value, option.choices)
    if option.setting is not None and isinstance(option.setting.default, bool):
        values = ["on", "off"]
    text = " ".join(f"{option.flag} {value}" for value in values)
    if option.is_many:
        assert read_arguments(command, text).options[option.name] == tuple(map(option.value, values))
        return
    with pytest.raises(UsageError, match=f"{option.flag} takes one value, but has "):
        read_arguments(command, text)
