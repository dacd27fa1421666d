import threading

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dwarfgpu.objfile.indexes import lookup
from dwarfgpu.program.code import completion_index
from dwarfgpu.repl import prompt
from dwarfgpu.repl.prompt import CommandCompleter, NameIndexer, toolbar
from dwarfgpu.repl.tui import Panel, Panels
from tests.builders.folders import ROOT
from tests.questions.harness import Run
from tests.repl.sitting import Sitting

FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"


@pytest.fixture
def run() -> Run:
    return Run(FILE, STATE)


def read(run: Run) -> None:
    reader = NameIndexer(run.debugger, threading.RLock())
    reader.start()
    assert reader._thread is not None
    reader._thread.join(60)
    reader.close()


def broken(*_arguments: object) -> None:
    raise ZeroDivisionError


class TestReading:
    def test_what_is_read_bit_by_bit_is_the_same(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(completion_index, "STEP", 1)
        at_once = run.debugger.known_names.starting("", ("function", "variable", "type"), 1000)
        run.debugger._known_names = None
        names = run.debugger.known_names
        steps = 1
        while not names.read(0):
            steps += 1
        assert steps > len(at_once)
        assert names.starting("", ("function", "variable", "type"), 1000) == at_once
        assert names.files("lane") == ["lane-pc.c"]

    def test_names_that_nobody_types_are_left_out(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        kinds = ("function", "variable", "type")
        names = {name for name, _ in run.debugger.known_names.starting("", kinds, 1000)}
        monkeypatch.setattr(lookup, "LONGEST", 5)
        run.debugger._known_names = None
        short = {name for name, _ in run.debugger.known_names.starting("", kinds, 1000)}
        assert short == {name for name in names if len(name) < 5}
        assert len(short) < len(names)

    def test_a_program_is_read_in_a_thread_and_the_next_one_too(self, run: Run) -> None:
        names = run.debugger.known_names
        read(run)
        assert names._unread is None
        read(run)  # once more, which is nothing
        read(run)
        run(f"file {FILE}")
        names = run.debugger.known_names
        read(run)
        assert names._unread is None

    def test_not_what_is_large(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(prompt, "LARGE", 100)
        names = run.debugger.known_names
        assert names.size > 100
        read(run)
        assert names._unread is not None

    def test_nothing_without_a_program(self) -> None:
        read(Run(None))

    def test_not_behind_the_end(self, run: Run) -> None:
        reader = NameIndexer(run.debugger, threading.RLock())
        reader.close()
        reader.start()
        assert reader._thread is None

    def test_a_defect_is_met_by_nobody(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dwarfgpu.program.code.completion_index._sources", broken)
        read(run)


class TestDefects:
    """The prompt and the full screen stay, whatever is wrong with what they show."""

    def test_defects_are_met_by_nobody_who_types(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        found = CommandCompleter(run.debugger, threading.RLock())
        document, event = Document("show vers"), CompleteEvent()
        assert [each.text for each in found.get_completions(document, event)] == ["version"]
        monkeypatch.setattr("dwarfgpu.repl.prompt.complete", broken)
        assert list(found.get_completions(document, event)) == []
        monkeypatch.setattr("dwarfgpu.repl.terminal.shown", broken)
        assert toolbar(run.debugger, 200) == " internal error "

    def test_on_the_full_screen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sitting = Sitting(FILE, STATE)
        panels = Panels(sitting.debugger, sitting.terminal)
        monkeypatch.setattr("dwarfgpu.repl.tui.file_of", broken)
        monkeypatch.setattr("dwarfgpu.render.lanes.lane_table", broken)
        for lines in (panels.source, panels.lanes):
            shown = Panel(lines).create_content(200, 5)
            assert (shown.line_count, shown.get_line(0)[0][1].count("internal error: ZeroDivisionError")) == (1, 1)
