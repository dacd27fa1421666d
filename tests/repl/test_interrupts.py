import os
import signal
import threading
from pathlib import Path

import pytest

from dwarfgpu.repl.runner import Interrupts
from tests.repl.sitting import ENTER, INTERRUPT, Sitting


@pytest.fixture(autouse=True)
def _own_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


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
    busy = threading.Event()
    done = threading.Event()

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
