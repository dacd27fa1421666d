from typing import Any

import pytest

from dwarfgpu.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command: its exit status, standard output and standard error."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words: Any) -> tuple[int, str, str]:
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said does not depend on how busy the machine is."""
    monkeypatch.setattr("dwarfgpu.audits.faults.last_changes.MOST_SECONDS", 60.0)
    monkeypatch.setattr("dwarfgpu.questions.faults.MOST_SECONDS", 60.0)
