"""A real terminal: tmux, whose screen is read until it shows what is expected."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE = 60.0
"""Seconds until what is expected counts as missing."""
STEP = 0.03
AGAIN = 20
"""After so many steps a key is pressed again."""


class Screen:
    """A program in a terminal of a size. `close` ends it, and so does the end of the tests, however they end."""

    def __init__(
        self, tmux: str, folder: Path, command: Sequence[str], columns: int, lines: int, term: str = "screen-256color"
    ) -> None:
        self._tmux = [tmux, "-S", str(folder / "tmux"), "-f", os.devnull]
        self.columns, self.lines = columns, lines
        environment = {**os.environ, "TERM": term, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        start = ["new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(Path.cwd())]
        held = ["/bin/sh", "-c", 'trap : INT; "$@"; echo "status $?"; exec sleep 1000', "sh", *command]
        kill = shlex.join([*self._tmux, "kill-server"])
        guard = f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 1; done; {kill}"
        try:
            self._run("start-server", ";", "set-option", "-g", "default-terminal", term, ";", *start, *held,
                      environment=environment)  # fmt: skip
            self._run("run-shell", "-b", guard)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _run(self, *words: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [*self._tmux, *words], env=environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    # --- What a user does -----------------------------------------------------------------------------------------

    def types(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def presses(self, *keys: str) -> None:
        """Press keys by their names: ``Enter``, ``C-c``, ``Up``."""
        self._run("send-keys", *keys)

    def runs(self, command: str) -> None:
        self.types(command)
        self.shows(command.rsplit(maxsplit=1)[-1])
        self.presses("Enter")

    def leaves(self) -> None:
        """Press ^D until the program has ended with status 0: a terminal that is changing its mode drops the key."""
        presses = 0

        def has_ended(shown: str) -> bool:
            nonlocal presses
            if "\nstatus " not in shown and presses % AGAIN == 0:
                self.presses("C-d")
            presses += 1
            return "\nstatus 0\n" in shown

        self.until(has_ended, "status 0")

    def resizes(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self._run("resize-window", "-x", str(columns), "-y", str(lines))

    # --- What a user sees -----------------------------------------------------------------------------------------

    def text(self) -> str:
        return self._run("capture-pane", "-p")

    def rows(self) -> list[str]:
        return self.text().split("\n")

    def lines_written(self) -> list[str]:
        """All lines since the start; one that the terminal has broken is whole."""
        return [line.rstrip() for line in self._run("capture-pane", "-p", "-J", "-S", "-").split("\n")]

    def colored(self) -> str:
        return self._run("capture-pane", "-p", "-e")

    def shows(self, text: str) -> str:
        return self.until(lambda shown: text in shown, text)

    def until(self, condition: Callable[[str], bool], what: str = "something") -> str:
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.text()
            if condition(shown):
                return shown
            assert time.monotonic() < end, f"the screen never shows {what}:\n{shown}"
            time.sleep(STEP)
