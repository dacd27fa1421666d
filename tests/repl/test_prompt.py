import os
import signal
import threading
from pathlib import Path

import pytest

from dwarfgpu.repl.prompt import toolbar
from dwarfgpu.repl.runner import Interrupts
from tests.builders.folders import ROOT
from tests.repl.sitting import ENTER, INTERRUPT, TAB, Sitting

FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
ESCAPE = "\x1b"
SEARCH = "\x12"
UP = "\x1b[A"


@pytest.fixture(autouse=True)
def _own_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


@pytest.mark.slow
def test_what_is_typed_runs_until_the_user_leaves(sitting: Sitting) -> None:
    assert sitting("echo one\\n", ENTER, "echo two\\n", ENTER) == "one\ntwo\n"
    assert sitting.status == 0
    assert sitting("quit 4", ENTER, "echo no\\n", ENTER) == ""
    assert sitting.status == 4


def test_a_line_fails_repeats_or_is_dropped(sitting: Sitting) -> None:
    assert sitting("pritn", ENTER, "echo on\\n", ENTER) == (
        "error: there is no command `pritn`\nhint: did you mean `print`?\non\n"
    )
    assert sitting("echo no\\n", INTERRUPT, "echo yes\\n", ENTER) == "yes\n"
    assert sitting("history 0", ENTER, "show confirm", ENTER, ENTER).count("confirm  on") == 2


def test_a_defect_is_one_line_too(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dwarfgpu.questions.control.echo", lambda _debugger, _arguments: int("x"))
    text = sitting("echo", ENTER, "show confirm", ENTER)
    assert text.startswith("error: internal error: ValueError: invalid literal for int")
    assert "confirm  on\n" in text
    assert "Traceback" not in text
    text = sitting("set debug on", ENTER, "echo", ENTER, "show confirm", ENTER)
    assert "Traceback" in text
    assert "ValueError" in text
    assert "confirm  on\n" in text


def test_interrupting_a_command_ends_the_command(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_debugger: object, _arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([signal.SIGUSR1], 60)

    monkeypatch.setattr("dwarfgpu.questions.control.show_version", interrupted)
    assert sitting("show version", ENTER, "echo on\\n", ENTER) == "Quit\non\n"


class TestSeveralLines:
    def test_a_backslash_goes_on(self, sitting: Sitting) -> None:
        assert sitting("echo a\\", ENTER, "b\\n", ENTER) == "ab\n"
        assert sitting.debugger.typed == ["echo a\\\nb\\n"]

    def test_a_definition_is_typed_as_one(self, sitting: Sitting) -> None:
        text = sitting("define say", ENTER, "echo $argc\\n", ENTER, "echo $arg0\\n", ENTER, "end", ENTER,
                       "say x", ENTER)  # fmt: skip
        assert "1\nx\n" in text
        assert sitting.debugger.macros == {"say": ("echo $argc\\n", "echo $arg0\\n")}
        assert len(sitting.debugger.typed) == 2

    def test_several_lines_are_dropped_or_belong_to_an_alias(self, sitting: Sitting) -> None:
        sitting("define say", ENTER, "echo x", ENTER, INTERRUPT)
        assert sitting.debugger.macros == {}
        sitting("alias de = define", ENTER, "de say", ENTER, "echo x\\n", ENTER, "end", ENTER)
        assert sitting.debugger.macros == {"say": ("echo x\\n",)}

    def test_lines_that_are_pasted_are_run_one_by_one(self, sitting: Sitting) -> None:
        assert sitting("\x1b[200~echo a\\n\necho b\\n\x1b[201~", ENTER) == "a\nb\n"


class TestEditing:
    def test_tab_completes_and_vi_keys_edit(self, sitting: Sitting) -> None:
        assert sitting("show confir", TAB, ENTER).startswith("confirm  on")
        assert "editing-mode  emacs" in sitting("show ed", TAB, ENTER)
        assert sitting("show logging ", TAB, TAB, TAB, ENTER, ENTER).startswith("logging file  dwarfgpu.txt")
        assert sitting(*("set editing-mode vi", ENTER, "xecho a\\n", ESCAPE, "0", "x", ENTER)) == "a\n"
        assert sitting("set editing-mode emacs", ENTER, "echo b\\nX", "\x02", "\x04", ENTER) == "b\n"

    def test_lines_come_back_by_keys_and_by_search(self, sitting: Sitting) -> None:
        assert sitting("echo one\\n", ENTER, UP, ENTER) == "one\none\n"
        keys = ("echo first\\n", ENTER, "echo second\\n", ENTER, SEARCH, "fir", ENTER, ENTER)
        assert sitting(*keys) == "first\nsecond\nfirst\n"

    def test_the_full_screen_has_a_key(self, sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
        shown: list[str] = []
        monkeypatch.setattr("dwarfgpu.repl.prompt.Prompt.show_full_screen", lambda _prompt: shown.append("x"))
        sitting("\x18a")
        assert shown == ["x"]


class TestHistory:
    def test_lines_are_kept_for_the_next_time(self, sitting: Sitting, tmp_path: Path) -> None:
        sitting("echo one\\n", ENTER, "define say", ENTER, "echo x", ENTER, "end", ENTER)
        path = tmp_path / "dwarfgpu" / "history"
        assert path.read_text() == "echo one\\n\ndefine say\\\necho x\\\nend\n"
        assert path.stat().st_mode & 0o777 == 0o600
        assert Sitting()(UP, UP, UP, UP, ENTER) == "one\n"

    def test_not_where_the_user_does_not_want_it(self, sitting: Sitting, tmp_path: Path) -> None:
        sitting("set history save off", ENTER, "echo x\\n", ENTER)
        assert (tmp_path / "dwarfgpu" / "history").read_text() == "set history save off\n"

    def test_history_is_of_the_size_and_at_the_place_that_a_user_wants(self, sitting: Sitting, tmp_path: Path) -> None:
        path = tmp_path / "dwarfgpu" / "history"
        sitting("set history size 3", ENTER, *(f"echo {number}\\n\r" for number in range(5)))
        assert path.read_text() == "echo 2\\n\necho 3\\n\necho 4\\n\n"
        sitting(f"set history filename {tmp_path}/mine", ENTER, "echo x\\n", ENTER)
        assert "echo x" in (tmp_path / "mine").read_text()

    def test_what_cannot_be_written_does_not_matter(self, sitting: Sitting) -> None:
        assert sitting("set history filename /proc/nothing/x", ENTER, "echo x\\n", ENTER, UP, ENTER) == "x\nx\n"

    def test_the_command_shows_those_of_earlier_times(self, sitting: Sitting) -> None:
        sitting("echo one\\n", ENTER)
        assert Sitting()("history", ENTER) == "    1  echo one\\n\n    2  history\n"


class TestQuestions:
    @pytest.mark.parametrize("answer, expected", [("y", "2"), ("n", "1"), ("what? yes", "2")])
    def test_they_are_asked_until_they_are_answered(self, sitting: Sitting, answer: str, expected: str) -> None:
        sitting("define say", ENTER, "echo 1", ENTER, "end", ENTER)
        answers = answer.split()
        asked: list[str] = []

        def ask(question: str) -> str:
            asked.append(question)
            return answers[len(asked) - 1]

        sitting.terminal.ask = ask
        text = sitting("define say", ENTER, "echo 2", ENTER, "end", ENTER, "say", ENTER)
        assert set(asked) == {'Redefine command "say"? (y or n) '}
        assert text.endswith(expected)

    def test_the_end_of_input_is_no(self, sitting: Sitting) -> None:
        def ask(_question: str) -> str:
            raise EOFError

        sitting.terminal.ask = ask
        sitting("define say", ENTER, "echo 1", ENTER, "end", ENTER)
        assert "say stays as it was" in sitting("define say", ENTER, "echo 2", ENTER, "end", ENTER)


class TestToolbar:
    def test_the_toolbar_says_what_is_looked_at_and_fits(self) -> None:
        sitting = Sitting(FILE, STATE)
        sitting("lane 5", ENTER)
        assert toolbar(sitting.debugger, 80) == (" wave 1 of 1 (1:1:1:1) | lane 5 | frame 0 | X at lane-pc.c:12 ")
        assert toolbar(Sitting(FILE, STATE).debugger, 20) == " wave 1 of 1 (1:1..."
        assert toolbar(Sitting(FILE).debugger, 80) == " lane-pc.gfx90a.w64.co | no state "
        assert toolbar(Sitting().debugger, 80) == " no file "


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    signal.sigtimedwait([signal.SIGUSR1], 0)  # the handler runs before this returns


def test_it_ends_what_runs_and_leaves_the_handler() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts().raised():
        interrupt()
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().remembered():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    interrupts = Interrupts()
    with interrupts.remembered():
        interrupt()
        interrupts.forget()
        with interrupts.raised():
            pass


def test_what_comes_before_ends_it_before_it_begins() -> None:
    interrupts, done = Interrupts(), []
    with interrupts.remembered():
        interrupt()
        with pytest.raises(KeyboardInterrupt), interrupts.raised():
            done.append("no")
        with interrupts.raised():  # once
            done.append("yes")
    assert done == ["yes"]


def test_a_key_right_behind_the_line_ends_its_command() -> None:
    sitting = Sitting()
    assert sitting(f"echo no\\n{ENTER}{INTERRUPT}", "echo yes\\n", ENTER) == "Quit\nyes\n"
    assert sitting(f"echo no\\n{ENTER}dropped{INTERRUPT}echo kept\\n{ENTER}") == "Quit\nkept\n"


def test_waiting_for_the_program_can_be_interrupted() -> None:
    sitting = Sitting()
    busy, done = threading.Event(), threading.Event()

    def asks_the_program(lock: threading.RLock) -> None:
        with lock:
            busy.set()
            done.wait(60)

    def begin(_debugger: object, _arguments: object) -> None:
        raise AssertionError("it waits")

    def ask(prompt: object) -> str | None:
        if busy.is_set():
            done.set()
            return None
        threading.Thread(target=asks_the_program, args=(sitting.prompt._busy,)).start()
        busy.wait(60)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        return "show version"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dwarfgpu.questions.control.show_version", begin)
        patch.setattr("dwarfgpu.repl.prompt.Prompt._ask", ask)
        assert sitting() == "Quit\n"
