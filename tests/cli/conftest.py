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
