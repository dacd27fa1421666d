"""The terminal goes away: the program ends, whatever it does, and whether or not it is told."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

pytestmark = pytest.mark.slow
COMMAND = (
    sys.executable, "-m", "dwarfgpu", "debug", "fixtures/asm/lane-pc.gfx90a.w64.co",
    "--state", "dwarfgpu/examples/variables.json", "-nx")  # fmt: skip
PATIENCE = 60.0
EDITOR = b"\x1b[?2004h"
"""Asks the terminal to mark what is pasted: the editor is there."""
LOOPS = {
    "printing": "while True:\n    print('round', flush=True)\n",
    "busy": "print('round', flush=True)\nwhile True:\n    pass\n",
}
TYPED = {
    "idle": ("", b""),     "printing": ("source {}\r", b"round\r\n"),    "busy": ("source {}\r", b"round\r\n"),
    "page": ("help info\r", b"--Type <RET>"),     "full screen": ("tui\r", b"Left/Right")}  # fmt: skip
"""What is typed, and what the screen shows then."""


class Terminal:
    """The debugger in a terminal that can be closed."""

    def __init__(self, *, is_told: bool) -> None:
        self.child, self._file = pty.fork()
        if not self.child:
            # the shell that runs the tests may ignore it itself, as with nohup
            signal.signal(signal.SIGHUP, signal.SIG_DFL if is_told else signal.SIG_IGN)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.chdir(ROOT)
            environment = {
                **os.environ,    "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1",     "XDG_STATE_HOME": "/dev/null",
            }  # fmt: skip
            os.execve(COMMAND[0], COMMAND, environment)
        self._seen = b""

    def shows(self, text: bytes) -> None:
        end = time.monotonic() + PATIENCE
        while text not in self._seen:
            assert time.monotonic() < end, self._seen
            if select.select([self._file], [], [], 1)[0]:
                self._seen += os.read(self._file, 65536)
        self._seen = b""

    def types(self, text: str) -> None:
        os.write(self._file, text.encode())

    def goes_away(self) -> None:
        os.close(self._file)
        self._file = -1

    def has_ended(self) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if os.waitpid(self.child, os.WNOHANG)[0]:
                self.child = 0
                return True
            time.sleep(0.05)
        return False

    def close(self) -> None:
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        if self._file >= 0:
            os.close(self._file)


@for_each("is_told, does",
    (True, "idle"), (True, "printing"), (True, "busy"), (True, "page"), (True, "full screen"),
    (False, "idle"), (False, "printing"), (False, "page"), (False, "full screen"))  # fmt: skip
def test_it_ends_with_its_terminal(tmp_path: Path, is_told: bool, does: str) -> None:
    (tmp_path / "loop.py").write_text(LOOPS.get(does, ""))
    text, shown = TYPED[does]
    terminal = Terminal(is_told=is_told)
    try:
        terminal.shows(EDITOR)
        terminal.types(text.format(tmp_path / "loop.py"))
        terminal.shows(shown)
        terminal.goes_away()
        assert terminal.has_ended()
    finally:
        terminal.close()
