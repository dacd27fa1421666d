"""Programs of the fixtures that GDB can run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.gdb.running import ROOT


@pytest.fixture(scope="session")
def runnable_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose variables stock debuggers cannot read; what is stored cannot be executed."""
    path = tmp_path_factory.mktemp("host") / "host"
    shutil.copy(ROOT / "fixtures" / "asm" / "host.x86_64", path)
    path.chmod(0o755)
    return path
