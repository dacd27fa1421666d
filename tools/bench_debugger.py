"""The figures of the debugger: until its prompt is there, a change of what is selected, completion."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bench_input import cache
from bench_machine import WAVES, big_snapshot
from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, not_measured, process, show
from bench_variables import FILE, STATE
from bench_waves import code

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.questions.debugger import Debugger

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

SYMBOLS = 100_000
PROMPT = b"(dwarfgpu) "
MARK = b"qz"
"""Keys that are nowhere in what the debugger shows by itself."""
PATIENCE = 60.0
ROUNDS = 12
QUESTIONS = 2000
WAITED = 1.0
"""Seconds that a user needs for a line with a name in it."""


def debugger() -> None:
    """Measure the prompt, the focus and completion."""
    compile_all()
    prompt()
    focus()
    completion()
    addresses()


# --- The prompt ---------------------------------------------------------------------------------------------------


def prompt() -> None:
    """Until the prompt is shown, which is when keys are taken; and until the editor shows the first of them."""
    command = (*DWARFGPU, "debug", FILE, "--state", STATE, "-nx", "-q")
    editor = (sys.executable, "-c", "from prompt_toolkit import PromptSession")
    # a prompt has no end to take the time of the processor at
    rounds = [(seconds(process(*BARE)), seconds(process(*editor)), *started(command)) for _ in range(ROUNDS)]
    bare, imported, ready, echoed = (min(column) for column in zip(*rounds, strict=True))
    show("prompt of dwarfgpu debug / python3 -c pass", ready / bare, "at most 12", f"{ready * 1e3:.0f} ms")
    detail = f"{echoed * 1e3:.0f} ms, of which prompt_toolkit {(imported - bare) * 1e3:.0f} ms"
    show("the first key is shown / python3 -c pass", echoed / bare, "", detail)


def seconds(function: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def started(command: tuple[str, ...]) -> tuple[float, float]:
    """Start the debugger in a terminal; the seconds until its prompt is shown, and until keys typed then are."""
    begun = time.perf_counter()
    with closing(Terminal(command)) as terminal:
        terminal.wait_for(PROMPT)
        shown = time.perf_counter() - begun
        terminal.types(MARK)
        terminal.wait_for(MARK)
        return shown, time.perf_counter() - begun


class Terminal:
    """A program in a terminal of 80 columns and 24 lines, which ends with it."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self._child = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment, start_new_session=True
        )
        os.close(theirs)

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._ours)

    def types(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def wait_for(self, text: bytes) -> None:
        """Until a text is shown."""
        seen = b""
        while text not in seen:
            if not select.select([self._ours], [], [], PATIENCE)[0]:
                raise RuntimeError(f"{text!r} does not appear: {seen!r}")
            seen += os.read(self._ours, 65536)

    def wait(self, seconds: float) -> None:
        """So long, whatever is shown."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                os.read(self._ours, 65536)


# --- The focus ----------------------------------------------------------------------------------------------------


def focus() -> None:
    """Another wave of ten thousand, another lane and back, each with the context view."""
    found = opened(str(code()), str(big_snapshot()))
    found.execute("set context on")
    places = iter(range(1, WAVES))

    def wave() -> None:
        found.execute(f"wave {next(places) % WAVES + 1}")

    def lane() -> None:
        found.execute("lane 5")
        found.execute("lane 6")

    (moved,) = in_turns([wave])
    (turned,) = in_turns([lane])
    show(f"another wave of {WAVES:,} with context, milliseconds", moved * 1e3, "below 50", "")
    show("another lane with context, milliseconds", turned / 2 * 1e3, "below 50", "")


def opened(file: str, state: str | None = None) -> Debugger:
    """Return a debugger whose output goes nowhere."""
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.document import Output

    found = Debugger(Output(len))
    found.execute(f"file {file}")
    if state is not None:
        found.execute(f"core-file {state}")
    return found


# --- Completion ---------------------------------------------------------------------------------------------------


def completion() -> None:
    """Names of a program with a hundred thousand of them."""
    from dwarfgpu.questions.completion import complete

    name = "completion with 100,000 symbols, milliseconds"
    try:
        path = symbols()
    except (OSError, subprocess.CalledProcessError) as error:
        not_measured(name, "below 30", str(error))
        return
    found = opened(str(path))
    begun = time.perf_counter()
    complete(found, "print symbol_0")
    reading = time.perf_counter() - begun
    lines: list[Callable[[], object]] = [
        lambda line=line: complete(found, line)  # type: ignore[misc]
        for line in ("print symbol_0499", "print variable_", "list ", "print ", "info li")
    ]
    show(name, max(in_turns(lines)) * 1e3, "below 30", f"the slowest of {len(lines)}")
    first = min(first_completion(str(path)) for _ in range(5))
    detail = f"from Tab to the screen, {WAITED} s after the prompt; to read all names takes {reading * 1e3:.0f}"
    show("the first completion with 100,000 symbols, milliseconds", first * 1e3, "below 30", detail)


def first_completion(path: str) -> float:
    """Return the seconds from the first Tab at the prompt until the names are on the screen."""
    with closing(Terminal((*DWARFGPU, "debug", path, "-nx", "-q"))) as terminal:
        terminal.wait_for(PROMPT)
        terminal.types(b"print symbol_0499")
        terminal.wait(WAITED)
        begun = time.perf_counter()
        terminal.types(b"\t")
        terminal.wait_for(b"symbol_049901")
        return time.perf_counter() - begun


# --- Questions about addresses ------------------------------------------------------------------------------------


def addresses() -> None:
    """Two thousand questions about addresses in one session, against the same script in GDB."""
    figures = {words: f"{QUESTIONS:,} `{words}` / GDB" for words in ("info line *", "info symbol ")}
    gdb, nm = shutil.which("gdb"), shutil.which("nm")
    if gdb is None or nm is None:
        for name in figures.values():
            not_measured(name, "at most 5", "there is no gdb or no nm")
        return
    path = symbols()
    rows = subprocess.run([nm, path], check=True, capture_output=True, text=True).stdout.splitlines()
    places = [int(row.split()[0], 16) for row in rows if " T symbol_" in row]
    for words, name in figures.items():
        script = cache() / f"{words.split()[1]}-questions.gdb"
        step = len(places) // QUESTIONS
        script.write_text("".join(f"{words}{place + 4:#x}\n" for place in places[: step * QUESTIONS : step]))
        options = ("-nx", "-q", "-x", str(script))
        ours, theirs = in_turns(
            [process(*DWARFGPU, "debug", str(path), *options, "--batch"), process(gdb, "-batch", *options, str(path))],
            rounds=3,
        )
        show(name, ours / theirs, "at most 5", f"whole processes: {ours:.2f} s against {theirs:.2f} s")


def symbols() -> Path:
    """Return a program of 50,000 functions and as many variables; made once."""
    path = cache() / "symbols-1"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".c")
    half = SYMBOLS // 2
    lines = [f"int symbol_{number:06d}(int a) {{ return a; }}" for number in range(half)]
    lines += [f"int variable_{number:06d} = {number};" for number in range(half)]
    source.write_text("\n".join([*lines, "int main(void) { return 0; }", ""]))
    subprocess.run(["gcc", "-g", "-o", path, source], check=True, capture_output=True)
    return path
