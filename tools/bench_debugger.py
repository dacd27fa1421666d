"""The figures of the debugger: until its prompt is there, a change of what is looked at, completion."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_input import cache
from bench_machine import WAVES, big_snapshot
from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, not_measured, process, show
from bench_variables import FILE, STATE
from bench_waves import code

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.commands.debugger import Debugger

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

SYMBOLS = 100_000
PROMPT = b"(dwarfgpu) "
MARK = b"qz"
"""Keys that are nowhere in what the debugger shows by itself."""
PATIENCE = 60.0


def debugger() -> None:
    """The prompt, the focus, completion."""
    compile_all()
    prompt()
    focus()
    completion()


# --- The prompt ---------------------------------------------------------------------------------------------------


def prompt() -> None:
    """Until the prompt is shown, which is when keys are taken; and until the editor shows the first of them."""
    command = (*DWARFGPU, "debug", FILE, "--state", STATE, "-nx", "-q")
    times: dict[str, list[float]] = {"prompt": [], "echo": []}

    def once() -> None:
        shown, echoed = started(command)
        times["prompt"].append(shown)
        times["echo"].append(echoed)

    editor = (sys.executable, "-c", "from prompt_toolkit import PromptSession")
    bare, _, imported = in_turns([process(*BARE), once, process(*editor)], rounds=10)
    ready, echoed = min(times["prompt"]), min(times["echo"])
    show("prompt of dwarfgpu debug / python3 -c pass", ready / bare, "at most 12", f"{ready * 1e3:.0f} ms")
    detail = f"{echoed * 1e3:.0f} ms, of which prompt_toolkit {(imported - bare) * 1e3:.0f} ms"
    show("the first key is shown / python3 -c pass", echoed / bare, "", detail)


def started(command: tuple[str, ...]) -> tuple[float, float]:
    """Start the debugger in a terminal; the seconds until its prompt is shown, and until keys typed then are."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
    begun = time.perf_counter()
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment, start_new_session=True
    )
    os.close(theirs)
    seen = b""

    def wait_for(text: bytes) -> float:
        nonlocal seen
        while text not in seen:
            if not select.select([ours], [], [], PATIENCE)[0]:
                raise RuntimeError(f"{text!r} does not appear: {seen!r}")
            seen += os.read(ours, 65536)
        return time.perf_counter() - begun

    try:
        shown = wait_for(PROMPT)
        os.write(ours, MARK)
        return shown, wait_for(MARK)
    finally:
        child.kill()
        child.wait()
        os.close(ours)


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
    """A debugger whose output goes nowhere."""
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.output import Output

    found = Debugger(Output(len))
    found.execute(f"file {file}")
    if state is not None:
        found.execute(f"core-file {state}")
    return found


# --- Completion ---------------------------------------------------------------------------------------------------


def completion() -> None:
    """Names of a program with a hundred thousand of them, from the first question on."""
    from dwarfgpu.commands.completion import complete

    name = "completion with 100,000 symbols, milliseconds"
    try:
        path = symbols()
    except (OSError, subprocess.CalledProcessError) as error:
        not_measured(name, "below 30", str(error))
        return
    found = opened(str(path))
    begun = time.perf_counter()
    complete(found, "print symbol_0")
    first = time.perf_counter() - begun
    lines: list[Callable[[], object]] = [
        lambda line=line: complete(found, line)  # type: ignore[misc]
        for line in ("print symbol_0499", "print variable_", "list ", "print ", "info li")
    ]
    slowest = max(in_turns(lines))
    show(
        name,
        slowest * 1e3,
        "below 30",
        f"the slowest of {len(lines)}; the first, in a thread: {first * 1e3:.0f}",
    )


def symbols() -> Path:
    """A program of 50,000 functions and as many variables; made once."""
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
