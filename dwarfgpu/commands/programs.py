"""Commands that run other programs: ``shell`` and ``pipe``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments


def shell(debugger: Debugger, arguments: Arguments) -> None:
    """Without a program: a shell. Its exit status is $_shell_exitcode."""
    run_program(debugger, arguments.text or os.environ.get("SHELL") or "/bin/sh", None)


def pipe(debugger: Debugger, arguments: Arguments) -> None:
    """`pipe bt | grep main`, or `| bt | grep main`. With `-d` another word stands between the command and the program,
    so that a bar may be part of the command. The program is run by the shell, and its exit status is
    $_shell_exitcode.
    """
    command, bar, program = arguments.text.partition(arguments.get("d") or "|")
    if not command.strip() or not bar or not program.strip():
        raise arguments.wrong("needs a command, | and a program")
    with debugger.output.collected() as texts:
        debugger.execute(command)
    run_program(debugger, program, "".join(texts))


def run_program(debugger: Debugger, program: str, text: str | None) -> None:
    """Run a program, with a text for it to read if there is one; what it writes goes where output goes."""
    import subprocess

    has_terminal = debugger.output.height is not None and text is None
    result = subprocess.run(  # noqa: S602 (that is what the command is for)
        program,
        shell=True,
        check=False,
        input=None if text is None else text.encode(errors="backslashreplace"),
        stdin=subprocess.DEVNULL if text is None and not has_terminal else None,
        stdout=None if has_terminal else subprocess.PIPE,
        stderr=None if has_terminal else subprocess.STDOUT,
    )
    if result.stdout:
        debugger.output.write(result.stdout.decode(errors="backslashreplace"))
    debugger.shell_status = result.returncode
