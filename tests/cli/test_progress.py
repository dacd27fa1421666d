"""The line that shows progress: on a terminal alone, and not before a second has passed."""

import io
import re
import subprocess
import sys

import pytest

from dwarfgpu import progress
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.control.seeds import run_seeds
from dwarfgpu.progress import Progress
from dwarfgpu.render.written_text import SafeStream
from dwarfgpu.states.program import open_program
from tests.builders.commands import PseudoTerminal
from tests.builders.hostile import Case, gpu, state, variable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 1.0)
    now = [0.0]

    def read():
        return now[0]

    read.now = now
    return read


def test_nothing_is_shown_in_the_first_second(clock):
    stream = Terminal()
    progress = Progress("waves", 100, stream, clock)
    clock.now[0] = 0.9
    progress.advance(50)
    progress.clear()
    assert stream.getvalue() == ""


def test_nothing_is_shown_where_no_terminal_is(terminal):
    stream = io.StringIO()
    progress.show_on(stream)
    assert list(progress.counted(range(3), "waves", 3)) == [0, 1, 2]
    assert stream.getvalue() == ""


def test_the_line_is_shown_changed_and_taken_away(clock):
    stream = Terminal()
    progress = Progress("waves", 1200, stream, clock)
    clock.now[0] = 1.0
    progress.advance(600)
    clock.now[0] = 1.05
    progress.advance(100)  # too soon for a change
    clock.now[0] = 1.2
    progress.advance(500)
    progress.clear()
    progress.clear()
    assert stream.getvalue() == (
        f"\r[{'#' * 15}{'.' * 15}] 600 of 1,200 waves\x1b[K\r[{'#' * 30}] 1,200 of 1,200 waves\x1b[K\r\x1b[K"
    )


def test_the_line_is_shorter_than_the_terminal(clock, monkeypatch):
    """A line that is full goes on in the next one, and is not taken away."""
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    progress = Progress("waves, 1,002,434,952 instructions a second", 2, stream, clock)
    for clock.now[0], progress.note in ((1.0, ""), (2.0, " and so on" * 8)):
        progress.advance()
    short, long = stream.getvalue().replace("\x1b[K", "").split("\r")[1:]
    assert short == f"[{'#' * 13}{'.' * 14}] 1 of 2 waves, 1,002,434,952 instructions a second"
    assert len(short) == len(long) == 79


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on which progress is shown at once."""
    stream = Terminal()
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    progress.show_on(stream)
    yield stream
    progress.show_on(None)


def test_the_outermost_task_alone_is_shown(terminal):
    for _unit in progress.counted(range(2), "units", 2):
        list(progress.counted(range(5), "waves", 5))
    assert "waves" not in terminal.getvalue()
    assert "2 of 2 units" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    list(progress.counted(range(5), "waves"))
    assert "\r5 waves\x1b[K" in terminal.getvalue()


def test_a_run_with_seeds_shows_both_the_seeds_and_the_waves(terminal):
    program = open_program("fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co")
    sizes = {"grid": "640", "work-group": "64"}

    def launched(seed):
        return launched_with(program, "saxpy", ["zeros(640)", "ones(640)", "2", "640"], {**sizes, "seed": seed}.get)

    report = run_seeds(launched, range(3), "seed")
    assert report.ended == 3
    assert re.search(r"2 of 3 seeds, \d+ of 10 waves, [\d,]+ instructions a second", terminal.getvalue())
    assert "3 of 3 seeds" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_the_line_goes_before_something_else_is_written_and_after_a_failure(terminal):
    for _unit in progress.counted(range(2), "units", 2):
        SafeStream(terminal).write("line\n")
    assert terminal.getvalue().count("\r\x1b[Kline\n") == 1  # the first line comes before anything is done
    assert terminal.getvalue().endswith("2 of 2 units\x1b[K\r\x1b[K")
    with pytest.raises(ZeroDivisionError):
        sum(1 // (1 - unit) for unit in progress.counted(range(2), "units", 2))
    assert terminal.getvalue().endswith("\r\x1b[K")


def at_terminal(*words):
    """The status of a command, what it writes to a pipe, and what it writes to the terminal behind standard error."""
    terminal = PseudoTerminal()
    code = (
        "from dwarfgpu import progress; progress.DELAY = progress.INTERVAL = 0.0;"
        "import sys; from dwarfgpu.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal.stream, check=False)
    return done.returncode, done.stdout.decode(), terminal.close()


COMMANDS = {
    "dump": ("dump", "{file}"),                              "lines": ("dump", "{file}", "--section", "frame"),
    "verify": ("verify", "{file}"),                          "convert": ("snapshot", "convert", "{state}", "{new}"),
    "eval": ("eval", "{file}", "a", "--wave", "all", "--state", "{state}"),
    "bt": ("bt", "{file}", "--wave", "all", "--state", "{state}")}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sampled(6)
def test_what_takes_long_shows_progress_at_a_terminal(tmp_path, name):
    case = Case(tmp_path, gpu(variable("a"), rules="def_cfa 64 0; undefined 16"))
    state(case.state, case.file, waves=[f"1:{wave}" for wave in range(40)])
    places = {"file": case.file, "state": case.state, "new": tmp_path / "new.json"}
    status, out, shown = at_terminal(*(word.format(**places) for word in COMMANDS[name]))
    assert status in (0, 1), shown  # there may be no call frame information
    assert "\x1b" not in out
    assert shown.startswith("\r")
    assert shown.endswith("\r\x1b[K")
    before, _, _after = shown.partition("\x1b[K")
    assert any(noun in before for noun in ("waves", "units", "variables", "entries of .debug_frame"))


def test_a_gpu_core_file_shows_progress_at_a_terminal(tmp_path):
    case = Case(tmp_path, gpu(variable("a")))
    words = ("debug", case.file, "--state", case.state, "-nx", "-batch", "-ex", f"generate-core-file {tmp_path / 'c'}")
    status, _out, shown = at_terminal(*words)
    assert status == 0, shown
    assert "work-groups" in shown
    assert shown.endswith("\r\x1b[K")


@pytest.mark.slow
def test_judging_a_file_shows_the_kernels_and_the_waves_of_each_at_a_terminal():
    status, _out, shown = at_terminal("judge", "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co")
    assert status == 3  # a kernel cannot run with arguments that are made
    assert re.search(r"0 of 4 kernels, \d of 4 waves, [\d,]+ instructions a second", shown)
    assert "4 of 4 kernels" in shown
    assert "\r\x1b[K\x1b[36mhint:\x1b[0m records: the kernel has not ended" in shown
