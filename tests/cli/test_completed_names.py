"""TAB and Enter at the shells of users: names of kernels out of a hostile file reach dwarfgpu as they are."""

import os
import pty
import select
import shlex
import signal
import sys
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.builders.folders import ROOT

NAMES = [";>P;", "$(>P)", "`>P`", "*", "?", "$HOME", "\"a'b\"c'\\d", "'a\"$(>P)", "~/>P;", "{a,b}>P;", "!!;>P;", "#>P;",
         "&>P;", "[a-z]", "=ls;>P;", "a=b:c@d;>P", "<P|>P|", "%1;>P;", "é>P;"]  # fmt: skip
REFUSED = ["-o/tmp/P", "a\n>P\nb", "a\x1b[2J", "a\t>P\tb"]
"""What would be an option, or cannot be shown."""
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": 'PS1=; eval "$(dwarfgpu completion bash)"',
    "zsh": 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(dwarfgpu completion zsh)"; compdef _dwarfgpu dwarfgpu',
    "fish": "function fish_prompt; end; dwarfgpu completion fish | source",
}
PROGRAM = """#!/bin/sh
[ "$1" = completion ] && exec {python} -m dwarfgpu "$@"
printf '%s\\0' "$@" >> {folder}/words
printf '\\1' >> {folder}/words
"""
LONGEST = 60
IN_PLACE = "#!/bin/sh\ntouch P\n"


def files(folder: Path) -> list[str]:
    """Write a code object for each name, whose kernel has it; return the names of the files."""
    code = (ROOT / "dwarfgpu/examples/even-first.co").read_bytes()
    for index, name in enumerate([*NAMES, *REFUSED]):
        (folder / f"k{index}.co").write_bytes(code.replace(b"even_first", padded(name).encode()))
    return [f"k{index}.co" for index in range(len(NAMES) + len(REFUSED))]


def padded(name: str) -> str:
    """Return a name with as many bytes as that in the file."""
    return name + "x" * (len("even_first") - len(name.encode()))


def typed(shell: list[str], lines: list[str], folder: Path) -> list[list[str]]:
    """Type lines at a shell in a pseudo-terminal; return the words of each call of dwarfgpu."""
    programs = folder / "bin"
    programs.mkdir()
    text = PROGRAM.format(python=shlex.quote(sys.executable), folder=shlex.quote(str(folder)))
    (programs / "dwarfgpu").write_text(text, "utf-8")
    (folder / "dwarfgpu").write_text(IN_PLACE, "utf-8")
    for path in (programs / "dwarfgpu", folder / "dwarfgpu"):
        path.chmod(0o755)
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        path = f"{programs}:{os.environ['PATH']}"
        variables = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8"}
        os.execvpe(shell[0], shell, variables)
    shown = b""
    os.write(terminal, "".join(f"{line}\r" for line in lines).encode())
    with suppress(OSError):  # which says that the shell has ended
        while select.select([terminal], [], [], LONGEST)[0]:
            shown += os.read(terminal, 65536)
    os.close(terminal)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    written = (folder / "words").read_text("utf-8")
    return [call.split("\0")[:-1] for call in written.split("\1")[:-1]]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_name_is_never_read_by_the_shell(shell: str, tmp_path: Path, require_tool: Any) -> None:
    """Each name is completed behind each quote."""
    require_tool(shell)
    found = files(tmp_path)
    quotes = ["", "'", '"'] if shell != "fish" else [""]  # which leaves a quote open
    chosen = [*product(quotes, range(len(NAMES)))]
    lines = [f"dwarfgpu kernels {found[index]} {quote}\t" for quote, index in chosen]
    lines += [f"dwarfgpu kernels {name} \t" for name in found[len(NAMES) :]]
    in_place = "./dwarfgpu kernels k0.co \t\x15"  # the line is taken back
    calls = typed(SHELLS[shell], [SETUP[shell], in_place, *lines, "exit"], tmp_path)
    names = [padded(NAMES[index]) for _quote, index in chosen]
    if shell == "fish":
        calls[names.index("~/>P;xxxxx")][2] = "~/>P;xxxxx"  # it was the name of the home
    assert [words[2] for words in calls[: len(names)]] == names
    assert [len(words) for words in calls[len(names) :]] == [2] * len(REFUSED)
    assert not (tmp_path / "P").exists()
