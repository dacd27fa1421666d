import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.builders.folders import ROOT

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


pytestmark = pytest.mark.slow
FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
PROMPT = "(dwarfgpu)"
TOOLBAR = "wave 1 of 1 (1:1:1:1) | lane"
SIZES = [(80, 24), (200, 50)]


@pytest.fixture
def start(
    require_tool: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Screen]]:
    monkeypatch.chdir(ROOT)
    screens: list[Screen] = []

    def begin(columns: int = 80, lines: int = 24, *words: str, term: str = "screen-256color") -> Screen:
        command = [sys.executable, "-m", "dwarfgpu", "debug", FILE, "--state", STATE, *words]
        screens.append(Screen(require_tool("tmux"), tmp_path, command, columns, lines, term))
        return screens[-1]

    yield begin
    for screen in screens:
        screen.close()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_sitting(start: Callable[..., Screen], columns: int, lines: int) -> None:
    screen = start(columns, lines)
    screen.shows(TOOLBAR)
    assert TOOLBAR in screen.rows()[lines - 1]
    screen.runs("lane 5")
    screen.shows("(AMDGPU Lane 1:1:1:1/5 ")
    screen.shows("| lane 5 |")
    screen.types("info lan")
    screen.presses("Tab")
    screen.shows("info lanes")
    screen.presses("C-c")
    screen.runs("pritn x")
    screen.shows("did you mean `print`?")
    screen.leaves()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_a_change_of_focus_shows_all_around_it(start: Callable[..., Screen], columns: int, lines: int) -> None:
    screen = start(columns, lines, "-ex", f"set directories {ROOT}/fixtures")
    shown = screen.shows(TOOLBAR)
    assert "=> 15      } else {" in shown
    assert "-- locals in lane 0 -" in shown
    screen.runs("display even")
    screen.runs("lane 4")
    shown = screen.until(lambda shown: "| lane 4 |" in shown, "lane 4")
    below = shown[shown.rindex("[Switching to wave 1, lane 4 ") :]
    for text in ("=> 15      } else {", "-- locals in lane 4 -", "-- lanes of", "=> #0  X at", "1: even = 18"):
        assert text in below
    screen.runs("set context off")
    screen.runs("lane 6")
    screen.shows("| lane 6 |")
    assert "locals in lane 6" not in screen.text()


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_menu_of_completions(start: Callable[..., Screen], columns: int, lines: int) -> None:
    screen = start(columns, lines)
    screen.shows(TOOLBAR)
    screen.types("set p")
    screen.presses("Tab")
    assert "whether long output stops" in screen.shows("print max-depth")
    assert all(len(row) <= columns for row in screen.rows())
    screen.presses("Tab", "Enter")
    screen.shows(f"{PROMPT} set pagination")
    screen.types(" ")
    screen.presses("Tab")
    screen.shows("off")
    screen.presses("C-c")
    screen.leaves()


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_nothing_is_wider_than_the_screen(start: Callable[..., Screen], columns: int) -> None:
    commands = ["set pagination off", "help", "help info", "info locals", "info lanes", "context", "lane 5", "bt -full"]
    commands += ["info registers pc exec", "info frame", "x/4i $pc", "ptype even", "pritn", "echo done\\n"]
    screen = start(columns, 50, *(word for command in commands for word in ("-ex", command)))
    screen.until(lambda shown: "\ndone\n" in shown, "done")
    lines = screen.lines_written()
    assert "Traceback" not in "".join(lines)
    assert [line for line in lines if len(line) > columns and len(line.split()) > 1] == []
    screen.shows(PROMPT)
    screen.types("set p")
    screen.presses("Tab")
    screen.shows(" print ")
    for narrower in (columns // 2, 20, 10, columns):
        screen.resizes(narrower, 30)
        screen.presses("C-c")
        screen.types("info locals")
        screen.presses("Enter")
    screen.leaves()
    assert "Traceback" not in "".join(screen.lines_written())


def test_keys_that_come_before_the_editor_wait_for_it(start: Callable[..., Screen]) -> None:
    screen = start()
    screen.shows(PROMPT)
    screen.types("echo ear")
    screen.types("ly\\n")
    screen.presses("Enter")
    shown = screen.until(lambda shown: "\nearly\n" in shown, "early")
    assert shown.count("echo") == 1


def test_interrupting_a_command_leaves_the_prompt(start: Callable[..., Screen], tmp_path: Path) -> None:
    screen = start()
    screen.shows(TOOLBAR)
    screen.runs("shell echo begun; sleep 1000")
    screen.shows("begun\n")
    screen.presses("C-c")
    screen.runs("echo more\\n")
    screen.shows("\nmore\n")
    screen.runs("set pagination off")
    script = tmp_path / "rounds.py"
    script.write_text("while True:\n    print('round')\n")
    screen.types(f"source {script}")  # too long for one row, so it is not awaited whole
    screen.presses("Enter")
    screen.shows("\nround\nround\n")
    screen.presses("C-c")
    screen.shows("Quit")
    screen.runs("echo again\\n")
    screen.shows("\nagain\n")
    screen.presses("C-c", "C-c")
    screen.leaves()


def test_long_output_stops_at_each_page_of_the_size_there_is(start: Callable[..., Screen]) -> None:
    screen = start(80, 24)
    screen.shows(TOOLBAR)
    screen.runs("help info")
    screen.shows("--Type <RET> for more, q to quit, c to continue without paging--")
    screen.presses("q", "Enter")
    screen.shows("Quit")
    screen.runs("set pagination off")
    screen.runs("help info")
    screen.shows("info address-spaces")
    screen.shows(TOOLBAR)
    screen = start(80, 24)
    screen.shows(TOOLBAR)
    screen.resizes(120, 30)
    screen.until(lambda _shown: TOOLBAR in screen.rows()[29], "the toolbar at the bottom")
    screen.runs("pipe show width | tail -1")
    screen.until(lambda shown: shown.count(PROMPT) == 2 and "Columns" in shown, "the next prompt")
    screen.resizes(60, 20)
    screen.until(lambda _shown: TOOLBAR in screen.rows()[19], "the toolbar at the bottom")
    screen.runs("help pagination")
    screen.shows("no command")


@pytest.mark.parametrize("columns, lines", SIZES)
def test_the_full_screen(start: Callable[..., Screen], tmp_path: Path, columns: int, lines: int) -> None:
    screen = start(columns, lines, "-ex", f"set directories {ROOT}/fixtures")
    screen.shows(TOOLBAR)
    screen.runs("tui")
    screen.shows("Left/Right lane")
    full_screen_is_whole(screen)
    screen.presses("Right", "Right", "Right", "Right")
    screen.until(lambda _shown: "| lane 4 |" in screen.rows()[0], "lane 4")
    screen.runs("print even")
    screen.shows("$1 = 18")
    full_screen_is_whole(screen)
    for size in ((100, 30), (60, 16), (40, 12), (columns, lines)):
        screen.resizes(*size)
        screen.until(lambda _shown: is_whole(screen), "the full screen")
    screen.types("info lan")
    screen.presses("Tab")
    screen.shows("info lanes")
    screen.presses("C-c")
    screen.runs(f"shell touch {tmp_path}/begun; sleep 1000")
    screen.until(lambda _shown: (tmp_path / "begun").exists(), "that the program has begun")
    screen.presses("C-c")
    screen.shows("Quit")
    screen.presses("C-x", "a")
    screen.until(lambda shown: "Left/Right" not in shown and TOOLBAR in shown, "the prompt")
    screen.runs("lane")
    screen.shows(" 4 (AMDGPU Lane")
    screen.leaves()


def full_screen_is_whole(screen: Screen) -> None:
    """The first row has what is selected, the last one the keys, and none is longer than the screen."""
    assert is_whole(screen), screen.text()
    assert any(row.startswith(">") for row in screen.rows())
    assert any(row.startswith("lane  even") for row in screen.rows())
    assert all(len(row) <= screen.columns for row in screen.rows())


def is_whole(screen: Screen) -> bool:
    rows = screen.rows()
    return (
        len(rows) > screen.lines - 1
        and rows[0].startswith(" wave 1 of 1 (1:1:1:1)")
        and rows[screen.lines - 1].startswith("Left/Right lane")
        and rows[screen.lines - 2].startswith(PROMPT)
    )


def test_a_terminal_without_a_cursor(start: Callable[..., Screen]) -> None:
    screen = start(80, 24, term="dumb")
    screen.shows(PROMPT)
    screen.runs("lane 5")
    shown = screen.until(lambda shown: shown.rstrip().endswith(PROMPT) and "1/5 " in shown, "the next prompt")
    assert TOOLBAR not in shown
    assert "\x1b" not in screen.colored()
    screen.runs("tui")
    screen.shows("there is no terminal for a full screen")
    screen.leaves()


def test_no_colours_where_nobody_wants_them(start: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = start(80, 24)
    screen.shows(TOOLBAR)
    screen.runs("help data")
    screen.shows("info display")
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7])m", screen.colored())


def test_the_terminal_is_as_it_was(start: Callable[..., Screen], tmp_path: Path) -> None:
    screen = start(200, 24, "-ex", f"shell stty -a > {tmp_path}/before")
    screen.shows(TOOLBAR)
    screen.runs(f"shell stty -a > {tmp_path}/after")
    screen.runs("echo done\\n")
    screen.shows("\ndone\n")
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()
