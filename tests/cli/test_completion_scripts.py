"""Completion scripts and the manual page say what the parsers say."""

from __future__ import annotations

import os
import subprocess

import pytest

from dwarfgpu.cli import main
from dwarfgpu.cli.completion_scripts import commands_of, manual, script
from dwarfgpu.cli.run import parsers, summaries

KNOWN = commands_of(parsers())


def completed(words, position):
    """Return what bash would offer for a word of a command line."""
    quoted = " ".join(f"'{word}'" for word in words)
    lines = (
        script("bash", KNOWN),
        f"COMP_WORDS=({quoted}); COMP_CWORD={position}; _dwarfgpu",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_values():
    assert completed(["dwarfgpu", "lo"], 1) == ["locals"]
    assert completed(["dwarfgpu", "eval", "--js"], 2) == ["--json", "--jsonl"]
    assert completed(["dwarfgpu", "eval", "--want", ""], 3) == ["value", "location"]
    assert completed(["dwarfgpu", "completion", ""], 2)[:3] == ["bash", "zsh", "fish"]
    assert "README.md" in completed(["dwarfgpu", "info", "READ"], 2)


def test_every_command_and_option_is_in_every_script_and_in_the_manual_page():
    texts = [script("bash", KNOWN), script("zsh", KNOWN), script("fish", KNOWN)]
    page = manual("1.0", KNOWN).replace("\\-", "-")
    assert [command.name for command in KNOWN] == list(summaries())
    for command in KNOWN:
        assert all(command.name in text for text in (*texts, page))
        for option in command.options:
            flag = max(option.flags, key=len)
            assert flag in texts[0]
            assert flag in texts[1]
            assert f" {flag[2:]} " in texts[2] or f" {flag[1:]} " in texts[2]
            assert flag in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed(capsys, shell):
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == script(shell, KNOWN)


def test_help_of_a_command_and_words_that_are_nearly_right(capsys):
    assert main(["help", "dump"]) == 0
    assert capsys.readouterr().out.startswith("usage: dwarfgpu dump ")
    assert main(["locals", "k.co", "--statee", "x"]) == 2
    assert capsys.readouterr().err.endswith("hint: did you mean --state?\n")
    assert main(["lcals"]) == 2
    assert capsys.readouterr().err.endswith("hint: did you mean locals?\n")
