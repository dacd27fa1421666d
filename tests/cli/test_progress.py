"""The line that shows progress: on a terminal alone, and not before a second has passed."""

from __future__ import annotations

import io

import pytest

from dwarfgpu.cli.session import Progress
from dwarfgpu.render.written_text import SafeStream


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Session:
    def __init__(self, stream):
        self.err = SafeStream(stream)


@pytest.fixture
def clock():
    """A clock that somebody sets."""
    now = [0.0]

    def read():
        return now[0]

    read.now = now
    return read


def test_nothing_is_shown_in_the_first_second(clock):
    stream = Terminal()
    progress = Progress(Session(stream), "waves", 100, clock)
    clock.now[0] = 0.9
    progress.advance(50)
    progress.clear()

    assert stream.getvalue() == ""


def test_the_line_is_shown_changed_and_taken_away(clock):
    stream = Terminal()
    progress = Progress(Session(stream), "waves", 1200, clock)
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


def test_nothing_is_shown_where_no_terminal_is(clock):
    stream = io.StringIO()
    progress = Progress(Session(stream), "waves", 0, clock)
    clock.now[0] = 9.0
    progress.advance(0)

    assert stream.getvalue() == ""
