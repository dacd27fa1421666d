"""``dwarfgpu demo``: what the program does, on its examples."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.examples import FOLDER
from dwarfgpu.cli.run import run
from dwarfgpu.questions.document import OK

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session

LAUNCH = "target launch blur 64 64 random(50) zeros(50) 50"
DEMO = (
    ("Fifty pixels, and a kernel of twelve lines with a mistake. Run it, without a GPU:",
     "dwarfgpu run blur.co blur --grid 64 --work-group 64 'random(50)' 'zeros(50)' 50"),
    ("Lane 17 of wave 2 reads past the end of `in`. The loop stops at `last`: go back to the line that has set it.",
     f"dwarfgpu debug blur.co -q -batch -ex '{LAUNCH}' -ex run -ex 'watch last' -ex reverse-continue"),
    ("Line 7 is wrong: the last pixel has no right neighbour. On a cluster the same crash leaves a core file:",
     "dwarfgpu fault blur.core"),
    ("A variable has a value in every lane. `i` in wave 2, whose lanes from 18 on have already returned:",
     "dwarfgpu eval --state blur.core --wave 2 i"),
    ("Another wave has stopped in nested branches. Where is each of its lanes?",
     "dwarfgpu lanes lane-pc.co --state variables.json --group"),
)  # fmt: skip
"""The steps of the demonstration: what a step shows, and its command."""


def demo(session: Session, _options: Any) -> int:
    """Run the steps of the demonstration; on a terminal wait before each."""
    before = Path.cwd()
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    os.chdir(FOLDER)
    try:
        for number, (text, command) in enumerate(DEMO):
            for line in text.splitlines():
                session.print(line)
            session.print(f"$ {session.style('name', command)}")
            session.out.flush()
            if waits and number:
                input("Press Enter to run it. ")
            run(shlex.split(command)[1:])
            session.print()
    except EOFError:
        session.print()
    finally:
        os.chdir(before)
    session.print("Now type these yourself:")
    for command in ("dwarfgpu example -o examples; cd examples", "dwarfgpu debug blur.co", LAUNCH):
        session.print(f"    {command}")
    return OK
