"""Answers that are kept word for word: what commands, sessions and scripts print about the files of `dwarfgpu example`.

A file in tests/golden/answers holds questions and what they print, each begun by a line with `$`; the lines with `>`
behind it are typed, and in a session those with `>>>` between the answers. `# ...` says what a question shows:

    $ dwarfgpu WORDS...      a command, started in the folder of the examples, at 80 columns (helps: in long lines)
    $ checkout WORDS...      the same, started in the folder of the sources
    $ session FILE STATE N   commands of the debugger, about a file and a state (or -), N columns wide
    $ python                 a script
    $ dap                    requests of an editor: COMMAND {ARGUMENTS} [until EVENT]; answers and awaited events
    $ gdb                    commands of GDB, with dwarfgpu loaded, about host.x86_64

The questions are read from the file itself: to ask another one, write its lines and let `tools/answers.py` answer them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import tempfile
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dwarfgpu.errors import DwarfGpuError
from tests.builders.commands import in_a_folder, run
from tests.builders.dap_client import INITIALIZE, LocalClient
from tests.builders.folders import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = ROOT / "tests" / "golden" / "answers"
EXAMPLES = ROOT / "dwarfgpu" / "examples"
BEGIN = re.compile(r"^\$ (?=dwarfgpu |checkout |session |(?:python|dap|gdb)$)", re.MULTILINE)
TYPED = re.compile(r"^>>> (.*)$", re.MULTILINE)
"""What is typed in a session."""


class Question(NamedTuple):
    """A question, the lines that are typed after it, and what was printed, with the question before it."""

    command: str
    typed: list[str]
    answer: str


def names() -> list[str]:
    """The files of answers."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def questions(name: str) -> Iterator[Question]:
    """The questions of a file."""
    for text in BEGIN.split((FOLDER / f"{name}.txt").read_text())[1:]:
        command, *lines = text.split("\n")
        typed = [line.removeprefix("> ") for line in takewhile(lambda line: line.startswith("> "), lines)]
        typed = TYPED.findall(text) if command.startswith("session ") else typed
        yield Question(command, typed, f"$ {text}")


def answered(question: Question, require_tool: Callable[..., str] | None = None) -> str:
    """The answer of today. ``require_tool`` finds GDB."""
    kind, _, text = question.command.partition(" ")
    words = shlex.split(text, comments=True)
    if kind == "session":
        return f"$ {question.command}\n{_session(*words, typed=question.typed)}\n"
    asked = "\n> ".join([f"$ {question.command}", *question.typed])
    if kind in ("dwarfgpu", "checkout"):
        columns = "2000" if words[-1] == "--help" else "80"  # Pythons break the lines of a usage differently
        done = run(*words, folder=EXAMPLES if kind == "dwarfgpu" else ROOT, env={"COLUMNS": columns})
        said = f"{done.stdout}{done.stderr}= {done.returncode}\n"
    else:
        said = {"python": _script, "dap": _editor, "gdb": _in_gdb}[kind](question.typed, require_tool)
    return f"{asked}\n{said}\n"


def _session(file: str, state: str, width: str, typed: list[str]) -> str:
    from tests.questions.harness import Run

    with in_a_folder(ROOT, {}):
        session = Run(*(None if name == "-" else name for name in (file, state)), width=int(width))
        said = "".join(f">>> {line}\n{_line(session, line)}" for line in typed)
    return said.replace(str(ROOT), "CHECKOUT")


def _line(session: Any, line: str) -> str:
    """What a line of a session prints; an error must not select something else."""
    debugger = session.debugger
    before = debugger.wave_number, debugger.frame_number, dict(debugger.lanes)
    try:
        text = session(line)
    except DwarfGpuError as error:
        hint = f"hint: {error.hint}\n" if error.hint else ""
        is_kept = (debugger.wave_number, debugger.frame_number, debugger.lanes) == before
        text = f"error: {error}\n{hint}{'' if is_kept else 'something else is selected'}"
    return f"{text}\n" if text and not text.endswith("\n") else text


def _script(typed: list[str], _tools: Any) -> str:
    printed, before = io.StringIO(), Path.cwd()
    os.chdir(EXAMPLES)
    try:
        with contextlib.redirect_stdout(printed):
            exec("\n".join(typed), {"__name__": "script"})
    finally:
        os.chdir(before)
    return printed.getvalue()


def _editor(typed: list[str], _tools: Any) -> str:
    client, said = LocalClient(), []
    client.ask("initialize", **INITIALIZE)
    for line in typed:
        found = re.fullmatch(r"(\w+) (\{.*\})(?: until (\w+))?", line)
        assert found is not None, line
        number = client.send(found[1], **json.loads(found[2]))
        if found[1] in ("launch", "attach"):  # its answer comes when the configuration is done
            client.event("initialized")
            continue
        said.append({"command": found[1], **_told(client.answer(number))})
        if found[3]:
            said.append({"event": found[3], "body": client.event(found[3])})
    client.close()
    printed = "".join(json.dumps(each, sort_keys=True) + "\n" for each in said)
    return printed.replace(str(EXAMPLES), "EXAMPLES").replace(str(ROOT), "CHECKOUT")


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: answer[key] for key in ("success", "body") if key in answer}


def _in_gdb(typed: list[str], require_tool: Any) -> str:
    from tests.gdb.running import run_gdb

    with tempfile.TemporaryDirectory() as name:
        host = Path(name) / "host"
        shutil.copy(EXAMPLES / "host.x86_64", host)
        host.chmod(0o755)
        commands = [word for line in typed for word in ("-ex", line)]
        printed = run_gdb(require_tool, "-ex", "break stop_here", "-ex", "run", *commands, program=host)
    return printed[printed.index("\n\n") + 1 :]


def answer_again(name: str) -> list[str]:
    """Ask the questions of a file again, and write down what they print; return those whose answer has changed."""
    asked = list(questions(name))
    answers = [answered(each, lambda tool: shutil.which(tool) or tool) for each in asked]
    (FOLDER / f"{name}.txt").write_text("".join(answers))
    return [each.command for each, answer in zip(asked, answers, strict=True) if answer != each.answer]
