import os
import subprocess
import sys
from pathlib import Path

import pytest

from dwarfgpu.cli import main
from dwarfgpu.cli.completion import SCRIPTS, _escaped
from dwarfgpu.cli.run import parsers, summaries
from tests.builders.commands import ROOT
from tools.manual import manual

FILE = "fixtures/amdgpu/cl-kernels.gfx1030.w32.O2.v5.co"
PROGRAM = "fixtures/containers/fatbin.x86_64"


def script_of(shell: str) -> str:
    """Return what a shell runs."""
    return (ROOT / "dwarfgpu/share" / SCRIPTS[shell]).read_text("utf-8")


def completed(line: str) -> list[str]:
    """Return what bash offers for the last word of a line, as bash itself divides it into words."""
    script = (
        script_of("bash"),
        "COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=(dwarfgpu); COMP_CWORD=1; _dwarfgpu",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script), "bash", line], capture_output=True, text=True, check=True,
        cwd=ROOT, env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash():
    """It replaces what is behind the last of its own breaks in a word."""
    assert completed("dwarfgpu lo") == ["locals"]
    assert completed(f"dwarfgpu info {PROGRAM}@gfx1") == ["gfx1100"]
    assert completed(f"dwarfgpu run '{FILE}' sax") == ["saxpy"]
    assert completed("dwarfgpu asm --target=gfx90") == ["gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909",
                                                        "gfx90a", "gfx90c"]  # fmt: skip
    assert completed("dwarfgpu info READ") == [], "bash then looks for files"


def test_bash_reads_a_text_back():
    """Readline takes a quote at the beginning in place of the one that is open, and closes it."""
    texts = ["a b", "'a' \"b\" $c `d` !e \\f", "*\u00e9~{a,b}", "'", '"', "!", "\\"]
    shown = [_escaped(text, quote) for quote in ("", "'", '"') for text in texts]
    quotes = [quote for quote in ("", "'", '"') for _ in texts]
    typed = [text if text.startswith(quote) else quote + text for text, quote in zip(shown, quotes, strict=True)]
    line = " ".join(text + quote for text, quote in zip(typed, quotes, strict=True))
    done = subprocess.run(
        ["bash", "--norc", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\0")[:-1] == texts * 3


@pytest.mark.slow
def test_fish(require_tool):
    words = [require_tool("fish"), "--no-config", "-c", f"{script_of('fish')}\ncomplete -C 'dwarfgpu lo'"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | {"PATH": path})
    assert done.stdout == f"locals\t{summaries()['locals']}\n"


@pytest.mark.slow
def test_zsh(require_tool):
    """The script is right for zsh, and its function gives zsh the words with what they are."""
    script = (
        "compdef() { :; }; _files() { print files; }; _describe() { print -l $found; }",
        f"words=(dwarfgpu lo); CURRENT=2; PREFIX=lo; {script_of('zsh')}",
        f"words=(dwarfgpu info {FILE}); CURRENT=3; PREFIX={FILE}; _dwarfgpu",
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = [require_tool("zsh"), "-f", "-c", "\n".join(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | {"PATH": path}, cwd=ROOT)
    assert done.stdout == f"locals:{summaries()['locals']}\nfiles\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed(capsys, shell):
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == script_of(shell)


def test_every_command_and_option_is_in_the_manual_page():
    page = manual("1.0", parsers()).replace("\\-", "-")
    assert [name for name, _, _ in parsers()] == list(summaries())
    for name, _, parser in parsers():
        assert f".SS {name}\n" in page
        for action in parser._actions:
            assert all(f"\\fB{flag}\\fR" in page for flag in action.option_strings)


def test_help_of_a_command_and_words_that_are_nearly_right(capsys):
    assert main(["help", "dump"]) == 0
    assert capsys.readouterr().out.startswith("usage: dwarfgpu dump ")
    assert main(["locals", "k.co", "--statee", "x"]) == 2
    assert capsys.readouterr().err.endswith("hint: did you mean --state?\n")
    assert main(["lcals"]) == 2
    assert capsys.readouterr().err.endswith("hint: did you mean locals?\n")
