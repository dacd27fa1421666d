"""How bash reads the commands that pages show."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOW = """dwarfgpu() { printf '%s\\0' dwarfgpu "$@"; }"""


def words_of(commands: Sequence[str]) -> list[list[str]]:
    """Return the words that bash makes of each command, which begins with `dwarfgpu`; none where bash refuses it."""
    script = [SHOW, *(f"eval {shlex.quote(command)}\nprintf '\\n\\0'" for command in commands)]
    done = subprocess.run(["bash", "--norc", "-c", "\n".join(script)], stdout=subprocess.PIPE, text=True, check=False)
    found: list[list[str]] = [[]]
    for word in done.stdout.split("\0")[:-1]:
        if word == "\n":
            found.append([])
        else:
            found[-1].append(word)
    return found[:-1]
