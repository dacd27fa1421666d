from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.formatted_text import fragment_list_to_text
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dwarfgpu.questions.debugger import Quit
from dwarfgpu.render.lanes import lane_table
from dwarfgpu.repl.start import prompt_of
from dwarfgpu.repl.tui import FullScreen, Panels
from tests.builders.errors import raised
from tests.builders.folders import ROOT
from tests.repl.sitting import ENTER, INTERRUPT, LEAVE, Sitting

FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
LEFT, RIGHT, UP, DOWN = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
SHIFT_UP, SHIFT_DOWN = "\x1b[1;2A", "\x1b[1;2B"
BACK = "\x18a"


class Sat(Sitting):
    """A sitting on the full screen."""

    panels: Panels

    def types(self, *keys: str) -> str:
        """Type some keys, the next when the screen shows the last; what the window of the output has then."""
        waiting = [*keys, BACK]
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            prompt = prompt_of(self.runner, input=pipe, output=DummyOutput())
            prompt.session.app.input = pipe
            screen = FullScreen(self.runner, prompt.session)
            self.panels = screen._panels

            def type_next(_app: object) -> None:
                if waiting:
                    pipe.send_text(waiting.pop(0))

            screen.app.input = pipe
            screen.app.after_render += type_next
            try:
                screen.run(prompt.wait_for)
            finally:
                self.runner.close()
        return "\n".join(self.panels.written)


@pytest.fixture
def sat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sat:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sitting = Sat(FILE, STATE)
    sitting.debugger.execute(f"set directories {ROOT}/fixtures")
    return sitting


class TestWindows:
    @pytest.mark.parametrize("width, height", [(80, 8), (200, 20), (20, 3), (1, 1), (80, 0)])
    def test_they_never_show_more_than_there_is_room_for(self, sat: Sat, width: int, height: int) -> None:
        panels = Panels(sat.debugger, sat.terminal)
        panels.write("a long line " * 30 + "\n" + "\n".join(map(str, range(100))) + "\n")
        for lines in (panels.source(width, height), panels.lanes(width, height), panels.output(width, height)):
            assert len(lines) <= max(height, 1)
            assert all(len(fragment_list_to_text(line)) <= max(width, 16) for line in lines)
        if width >= 20:
            for lines in (panels.source(width, height), panels.lanes(width, height)):
                assert all(len(fragment_list_to_text(line)) <= width for line in lines)

    def test_the_source_says_where_lanes_stand(self, sat: Sat) -> None:
        assert [fragment_list_to_text(line) for line in Panels(sat.debugger, sat.terminal).source(60, 6)] == [
            "  10* 12     if ((lane & 1) == 0) {  // c2",
            "      13       int even = left + 10;  // c",
            "      14       result = even;",
            "> 10* 15     } else {",
            "      16       int odd = left - 1;  // d",
            "      17       result = odd * odd;",
        ]

    def test_a_source_that_is_not_there_is_said(self, sat: Sat) -> None:
        sat.debugger.execute("set directories /nowhere")
        lines = Panels(sat.debugger, sat.terminal).source(70, 6)
        assert [fragment_list_to_text(line) for line in lines] == [
            "15 in src/asm/lane-pc.c: No such file or directory."
        ]

    def test_the_lanes_are_those_around_the_one_that_is_looked_at(self, sat: Sat) -> None:
        panels = Panels(sat.debugger, sat.terminal)
        sat.debugger.execute("lane 30")
        lines = panels.lanes(40, 6)
        assert [fragment_list_to_text(line)[:10].rstrip() for line in lines] == [
            *("lane  lane", "28-     28", "29-     29", "30-     30", "31-     31", "32-     32")
        ]  # the block of `even` and `left` is not where lane 30 is
        assert [line[0][0] for line in lines] == [
            "class:title", "class:inactive", "class:inactive", "class:lane", "class:inactive", "class:inactive",
        ]  # fmt: skip

    def test_what_is_equal_in_all_lanes_comes_last(self, sat: Sat) -> None:
        table = lane_table(sat.debugger.frame)
        assert table.names[:4] == ("even", "left", "lane", "slots")
        assert table.names[4:6] == ("out", "limit")
        assert table.head(44).endswith("+6")
        assert table.fitting(1000) == len(table.names)

    def test_without_a_machine(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        sat = Sat(FILE)
        panels = Panels(sat.debugger, sat.terminal)
        assert fragment_list_to_text(panels.source(80, 5)[0]) == "no state, so no frame"
        assert panels.lanes(80, 5) == []
        assert "error" not in sat.types(LEFT, UP, PAGE_UP, "help quit", ENTER)


class TestKeys:
    @pytest.mark.slow
    def test_keys_move_the_lane_and_edit_what_is_typed(self, sat: Sat) -> None:
        sat.types(UP, DOWN, PAGE_UP, PAGE_DOWN)
        assert (sat.debugger.frame_number, sat.debugger.wave_number) == (0, 0)
        sat.types(RIGHT, RIGHT, RIGHT, LEFT)
        assert sat.debugger.lane == 2
        sat.types(LEFT, LEFT, LEFT, LEFT)
        assert sat.debugger.lane == 0

    def test_keys_edit_or_drop_what_is_typed(self, sat: Sat) -> None:
        sat.types("lane 45", LEFT, "\x08", ENTER)
        assert sat.debugger.lane == 5
        assert sat.types("echo no\\n", INTERRUPT, "echo yes\\n", ENTER) == "(dwarfgpu) echo yes\\n\nyes"

    @pytest.mark.parametrize("leaving", [(LEAVE,), ("quit", ENTER), ("tui", ENTER), ("\x18\x01",)])
    def test_they_leave(self, sat: Sat, leaving: tuple[str, ...]) -> None:
        sat.types(*leaving)

    def test_leaving_with_a_status_leaves_the_debugger(self, sat: Sat) -> None:
        assert raised(Quit, sat.types, "quit 3", ENTER).status == 3

    def test_output_scrolls(self, sat: Sat) -> None:
        sat.types("help info", ENTER, SHIFT_UP, SHIFT_UP, SHIFT_DOWN)
        assert sat.panels.scrolled == 5


class TestCommands:
    def test_errors_are_shown_and_nothing_else_changes(self, sat: Sat) -> None:
        text = sat.types("pritn", ENTER, "define say", ENTER)
        assert "there is no command `pritn`\nhint: did you mean `print`?" in text
        assert "a command of several lines cannot be typed here" in text

    def test_a_defect_is_shown_too(self, sat: Sat, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dwarfgpu.questions.control.echo", lambda _debugger, _arguments: int("x"))
        assert "internal error: ValueError" in sat.types("echo", ENTER)

    def test_what_is_assigned_is_shown_and_the_prompt_goes_on_afterwards(self, sat: Sat) -> None:
        sat.types("set var even = 77", ENTER)
        assert "  77 " in fragment_list_to_text(sat.panels.lanes(80, 3)[1])
        sat.types(RIGHT)
        assert sat("lane", ENTER).startswith("[Current")
